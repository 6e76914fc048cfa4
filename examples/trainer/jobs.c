/*
 * Several seeds: each run is this program again, quiet, with its share of the cores; this process starts, watches, stops and tells.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#include "commands.h"
#include "run.h"

#define MAX_SEEDS 10000
#define PROGRAM_ARGUMENTS 12

/* One run. */
typedef struct job {
    uint64_t seed;
    pid_t process;      /* 0: not running */
    int ended, code;    /* exit status */
    double started, seconds;
    FILE *messages;     /* its stderr */
    char folder[RUN_PATH];
} job;

/* ---- seeds ------------------------------------------------------------------------------------- */

static const char *read_seed(const char *text, uint64_t *out)
{
    char *end;
    if (*text < '0' || *text > '9')
        return NULL;
    errno = 0;
    *out = strtoull(text, &end, 10);
    return errno ? NULL : end;
}

tce_status seeds_parse(const char *text, uint64_t **out, size_t *n)
{
    *n = 0;
    *out = calloc(MAX_SEEDS, sizeof **out);
    if (!*out)
        return tce_fail(TCE_E_NOMEM, "no memory for a list of seeds");
    const char *at = text;
    do {
        uint64_t first = 0, last = 0;
        at = read_seed(at, &first);
        last = first;
        if (at && *at == '-')
            at = read_seed(at + 1, &last);
        if (!at || (*at != '\0' && *at != ',') || last < first || last - first >= MAX_SEEDS - *n)
            break;
        for (uint64_t seed = first; seed - first <= last - first; seed++) {
            (*out)[(*n)++] = seed;
            if (seed == last)
                break;
        }
        if (*at == '\0')
            return TCE_OK;
        at++;
    } while (1);
    free(*out);
    *out = NULL;
    *n = 0;
    return tce_fail(TCE_E_VALUE, "--seeds %s, must be numbers and ranges like 1-5,25, at most %d seeds", text, MAX_SEEDS);
}

/* ---- what a run has come to -------------------------------------------------------------------- */

typedef struct outcome {
    long long iteration, env_steps;
    double success, value; /* of the last evaluation; NaN: none */
} outcome;

/* Column number of a name in a header line, or -1. */
static int find_column(const char *header, const char *name)
{
    const size_t length = strlen(name);
    int column = 0;
    for (const char *at = header; *at; at += strcspn(at, ",\n"), at += *at != '\0', column++)
        if (strncmp(at, name, length) == 0 && strchr(",\n", at[length]))
            return column;
    return -1;
}

/* A row's number in a column; NaN where it is empty. */
static double number_in(const char *row, int column)
{
    const char *at = row;
    for (int i = 0; i < column; i++) {
        at += strcspn(at, ",");
        at += *at == ',';
    }
    char *end;
    const double value = strtod(at, &end);
    return column < 0 || end == at ? NAN : value;
}

static outcome read_outcome(const char *folder)
{
    outcome result = { 0, 0, NAN, NAN };
    char path[RUN_PATH], header[8192], row[8192];
    FILE *file = run_path(folder, "progress.csv", path) == TCE_OK ? fopen(path, "r") : NULL;
    if (!file)
        return result;
    if (fgets(header, sizeof header, file)) {
        const int success = find_column(header, "eval_success"), value = find_column(header, "eval_return");
        while (fgets(row, sizeof row, file)) {
            const double evaluated = number_in(row, value);
            result.iteration = (long long)number_in(row, 0);
            result.env_steps = (long long)number_in(row, 1);
            if (!isnan(evaluated)) {
                result.value = evaluated;
                result.success = number_in(row, success);
            }
        }
    }
    fclose(file);
    return result;
}

static const char *verdict(const job *j)
{
    if (!j->ended)
        return "not started";
    return j->code == EXIT_FINE ? "done" : j->code == EXIT_INTERRUPTED ? "stopped" : "failed";
}

/* When a run ends. */
static void print_line(const job *j)
{
    const outcome o = read_outcome(j->folder);
    char spent[32];
    display_duration(j->seconds, spent, sizeof spent);
    printf("seed %" PRIu64 " %s after %lld iterations, %s", j->seed, verdict(j), o.iteration, spent);
    if (!isnan(o.value))
        printf(": success %.3f, return %.4g", o.success, o.value);
    printf("\n");
    fflush(stdout);
}

static void print_table(const job *jobs, size_t n)
{
    printf("\n%6s  %-11s  %7s  %10s  %10s  %11s  %8s  %s\n", "seed", "result", "success", "return", "iterations", "env steps", "time", "folder");
    for (size_t i = 0; i < n; i++) {
        const job *j = &jobs[i];
        const outcome o = read_outcome(j->folder);
        char spent[32], success[32] = "-", value[32] = "-";
        display_duration(j->seconds, spent, sizeof spent);
        if (!isnan(o.value)) {
            snprintf(success, sizeof success, "%.3f", o.success);
            snprintf(value, sizeof value, "%.4g", o.value);
        }
        printf("%6" PRIu64 "  %-11s  %7s  %10s  %10lld  %11lld  %8s  %s\n", j->seed, verdict(j), success, value, o.iteration, o.env_steps,
               j->ended ? spent : "-", j->folder);
    }
}

/* What a failed run said. */
static void print_messages(const job *j)
{
    char line[4096];
    if (!j->messages)
        return;
    rewind(j->messages);
    while (fgets(line, sizeof line, j->messages))
        fprintf(stderr, "seed %" PRIu64 ": %s%s", j->seed, line, strchr(line, '\n') ? "" : "\n");
}

/* ---- processes --------------------------------------------------------------------------------- */

/* In the child: this program with the run's own arguments. Does not return. */
static void become(const job *j, const jobs_options *o, int threads)
{
    char seed[32], share[32], program[TEXT_SIZE];
    char **list = calloc((size_t)o->n_arguments + PROGRAM_ARGUMENTS, sizeof *list);
    const ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    if (!list || length <= 0)
        _exit(EXIT_FAILED);
    program[length] = '\0';
    snprintf(seed, sizeof seed, "run.seed=%" PRIu64, j->seed);
    snprintf(share, sizeof share, "run.threads=%d", threads);

    int n = 0;
    list[n++] = "tce";
    list[n++] = "train";
    for (int i = 0; i < o->n_arguments; i++)
        list[n++] = o->arguments[i];
    list[n++] = seed;
    list[n++] = share;
    list[n++] = "--quiet";
    list[n++] = "--out";
    list[n++] = (char *)j->folder;

    /* a group of its own: Ctrl-C reaches it once, through its parent; and it does not outlive that */
    setpgid(0, 0);
#ifdef __linux__
    prctl(PR_SET_PDEATHSIG, SIGTERM);
#endif
    const int nothing = open("/dev/null", O_RDWR);
    dup2(nothing, STDIN_FILENO);
    dup2(nothing, STDOUT_FILENO);
    dup2(fileno(j->messages), STDERR_FILENO);
    execv(program, list);
    _exit(EXIT_FAILED);
}

static tce_status start_job(job *j, const jobs_options *o, int threads)
{
    settings s = *o->s;
    s.run.seed = j->seed;
    run_folder_name(&s, o->parent, j->folder, sizeof j->folder);
    j->started = now_seconds();
    j->messages = tmpfile();
    if (!j->messages)
        return tce_fail(TCE_E_IO, "cannot make a temporary file for the messages of a run: %s", strerror(errno));
    fflush(NULL);
    j->process = fork();
    if (j->process == 0)
        become(j, o, threads);
    if (j->process < 0) {
        j->process = 0;
        return tce_fail(TCE_E_THREAD, "cannot start a process: %s; lower --jobs", strerror(errno));
    }
    return TCE_OK;
}

/* Takes note of runs that have ended. */
static void collect_ended(job *jobs, size_t n, int quiet)
{
    int status;
    for (pid_t process; (process = waitpid(-1, &status, WNOHANG)) > 0;)
        for (size_t i = 0; i < n; i++) {
            job *j = &jobs[i];
            if (j->process != process)
                continue;
            j->process = 0;
            j->ended = 1;
            j->seconds = now_seconds() - j->started;
            j->code = WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILED;
            if (!quiet)
                print_line(j);
            if (WIFSIGNALED(status))
                fprintf(stderr, "seed %" PRIu64 ": ended by signal %d; go on with:  tce train --resume %s\n", j->seed, WTERMSIG(status), j->folder);
            print_messages(j);
        }
}

static size_t count_running(const job *jobs, size_t n)
{
    size_t running = 0;
    for (size_t i = 0; i < n; i++)
        running += jobs[i].process > 0;
    return running;
}

/* Keeps n_jobs running until all are done, or a signal has been passed on and obeyed. */
static tce_status watch(job *jobs, const jobs_options *o, size_t n_jobs, int threads)
{
    const struct timespec pause = { 0, 20 * 1000 * 1000 };
    tce_status status = TCE_OK;
    size_t next = 0;
    int forwarded = 0;
    while (1) {
        collect_ended(jobs, o->n_seeds, o->quiet);
        while (status == TCE_OK && !run_signal() && next < o->n_seeds && count_running(jobs, o->n_seeds) < n_jobs)
            status = start_job(&jobs[next++], o, threads);
        if (run_signal() && !forwarded++)
            for (size_t i = 0; i < o->n_seeds; i++)
                if (jobs[i].process > 0)
                    kill(jobs[i].process, SIGINT);
        if (count_running(jobs, o->n_seeds) == 0 && (next == o->n_seeds || status != TCE_OK || run_signal()))
            return status;
        nanosleep(&pause, NULL);
    }
}

int jobs_run(const jobs_options *o)
{
    const long cores = sysconf(_SC_NPROCESSORS_ONLN) > 0 ? sysconf(_SC_NPROCESSORS_ONLN) : 1;
    const int n_jobs = o->n_jobs ? o->n_jobs : (int)cores;
    const int share = cores > n_jobs ? (int)(cores / n_jobs) : 1;
    const int threads = o->s->run.threads > 0 ? (int)o->s->run.threads : share;
    job *jobs = calloc(o->n_seeds, sizeof *jobs);
    if (!jobs) {
        (void)tce_fail(TCE_E_NOMEM, "no memory for %zu runs", o->n_seeds);
        return fail();
    }
    for (size_t i = 0; i < o->n_seeds; i++)
        jobs[i].seed = o->seeds[i];
    if (!o->quiet)
        printf("%zu runs in %s, %d at once with %d thread%s each\n", o->n_seeds, o->parent, n_jobs, threads, threads > 1 ? "s" : "");

    const tce_status status = watch(jobs, o, (size_t)n_jobs, threads);
    size_t n_done = 0, n_failed = 0;
    if (!o->quiet)
        print_table(jobs, o->n_seeds);
    for (size_t i = 0; i < o->n_seeds; i++) {
        n_done += jobs[i].ended && jobs[i].code == EXIT_FINE;
        n_failed += jobs[i].ended && jobs[i].code != EXIT_FINE && jobs[i].code != EXIT_INTERRUPTED;
        if (jobs[i].messages)
            fclose(jobs[i].messages);
    }
    if (!o->quiet)
        printf("%zu of %zu done, %zu failed\n", n_done, o->n_seeds, n_failed);
    free(jobs);
    if (status != TCE_OK)
        return fail();
    return n_failed ? EXIT_FAILED : run_signal() ? EXIT_INTERRUPTED : EXIT_FINE;
}
