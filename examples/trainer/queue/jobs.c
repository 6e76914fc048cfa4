/*
 * Working through a queue: each run is this program again, quiet, with its share of the cores; this
 * process starts, watches, stops and tells.
 *
 * A run is marked as running before its process begins and as done after that has ended: whenever
 * this process is killed, what the queue calls done is done, and what it calls running continues
 * from its own last checkpoint.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#include "queue/jobs.h"
#include "queue/signals.h"
#include "tools/clock.h"
#include "tools/program.h"
#include "tools/shell.h"
#include "tools/temporary.h"

/*
 * All that a run's process needs to know. However many runs there are, one file is open for each
 * run that is running, and one for failures.
 */
typedef struct work {
    queue *q;
    const settings *s;
    queue_job *jobs; /* [q->n] */
    size_t n_jobs;
    int threads;
    FILE *failures; /* what the failed runs said, one after the other */
    jobs_display display;
} work;

/* ---- what a run said ------------------------------------------------------------------------- */

/* How a run that did not say why has failed: the beginning of the queue's own message. */
static const char UNTOLD[] = "ended ";

/* Its messages to another file, each line with the run's name. */
static void copy_messages(const work *w, const queue_job *j, FILE *out)
{
    char line[4096], name[TASK_NAME + 32];
    job_name(&w->display, j, name, sizeof name);
    rewind(j->messages);
    while (fgets(line, sizeof line, j->messages))
        fprintf(out, "%s: %s%s", name, line, strchr(line, '\n') ? "" : "\n");
    if (strncmp(j->entry->message, UNTOLD, sizeof UNTOLD - 1) == 0)
        fprintf(out, "%s: %s\n", name, j->entry->message);
}

/* What all failed runs said, in the order in which they ended. */
static void print_failures(const work *w)
{
    char line[4096];
    rewind(w->failures);
    while (fgets(line, sizeof line, w->failures))
        fputs(line, stderr);
}

/* What a line of the program says after "tce: " or "tce train: "; NULL: it is another's. */
static const char *said_in(const char *line)
{
    static const char *const BEGINNINGS[] = { "tce: ", "tce train: " };
    for (size_t i = 0; i < sizeof BEGINNINGS / sizeof BEGINNINGS[0]; i++)
        if (strncmp(line, BEGINNINGS[i], strlen(BEGINNINGS[i])) == 0)
            return line + strlen(BEGINNINGS[i]);
    return NULL;
}

/* The first line that is no warning goes into the queue. */
static void keep_message(const queue_job *j, int signal_number)
{
    char line[4096];
    queue_entry *entry = j->entry;
    snprintf(entry->message, sizeof entry->message, "%swithout a word", UNTOLD);
    if (signal_number)
        snprintf(entry->message, sizeof entry->message, "%sby signal %d", UNTOLD, signal_number);
    rewind(j->messages);
    while (fgets(line, sizeof line, j->messages)) {
        const char *said = said_in(line);
        if (said && strncmp(said, "warning: ", 9) != 0) {
            line[strcspn(line, "\n")] = '\0';
            snprintf(entry->message, sizeof entry->message, "%.*s", QUEUE_TEXT - 1, said);
            return;
        }
    }
}

/* ---- processes ------------------------------------------------------------------------------- */

/* In the child: this program with the run's own arguments. Does not return. */
static void become(const queue_job *j, const work *w, pid_t parent)
{
    char seed[32], share[32], task_name[TASK_NAME + 16], config[RUN_PATH];
    char library[TEXT_SIZE + 32];
    if (run_path(w->q->folder, "queue.yaml", config) != TCE_OK)
        _exit(EXIT_FAILED);
    snprintf(task_name, sizeof task_name, "task.name=%s", j->entry->task);
    snprintf(seed, sizeof seed, "run.seed=%" PRIu64, j->entry->seed);
    snprintf(share, sizeof share, "run.threads=%d", w->threads);
    /* queue.yaml is data, and a library in it would not be loaded: the queue's own is passed on */
    snprintf(library, sizeof library, "--task-library=%s", w->s->task.library);
    /* a folder may be called as an option is */
    char *const list[] = { "tce", "train", library,   "--quiet", "--resume", (char *)j->folder,
                           "--",  config,  task_name, seed,      share,      NULL };

    /*
     * a group of its own: Ctrl-C reaches it once, through its parent; and it does not outlive that
     */
    setpgid(0, 0);
#ifdef __linux__
    prctl(PR_SET_PDEATHSIG, SIGTERM);
#endif
    if (getppid() != parent)
        _exit(EXIT_INTERRUPTED);
    const int nothing = open("/dev/null", O_RDWR);
    dup2(nothing, STDIN_FILENO);
    dup2(nothing, STDOUT_FILENO);
    dup2(fileno(j->messages), STDERR_FILENO);
    /*
     * not by its path: all runs are of this program, even if it has been rebuilt or removed since
     */
    char path[PROGRAM_PATH];
    const char *program = program_file(path);
    if (program)
        execv(program, list);
    fprintf(stderr, "tce: cannot start this program again: %s\n", strerror(errno));
    _exit(EXIT_FAILED);
}

static void close_messages(queue_job *j)
{
    fclose(j->messages);
    j->messages = NULL;
}

static tce_status start_process(work *w, queue_job *j)
{
    j->started = now_seconds();
    const tce_status status = temporary_open(&j->messages);
    if (status != TCE_OK)
        return status;
    fflush(NULL);
    const pid_t parent = getpid();
    j->process = fork();
    if (j->process == 0)
        become(j, w, parent);
    if (j->process < 0) {
        j->process = 0;
        close_messages(j);
        return tce_fail(TCE_E_THREAD, "cannot start a process: %s; lower --jobs", strerror(errno));
    }
    return TCE_OK;
}

static tce_status start_job(work *w, queue_job *j)
{
    j->entry->state = QUEUE_RUNNING;
    tce_status status = queue_save(w->q);
    if (status == TCE_OK)
        status = start_process(w, j);
    if (status != TCE_OK)
        j->entry->state = QUEUE_WAITING;
    return status;
}

/* Takes note of a run that has ended. Warnings are passed on at once, failures at the end. */
static void end_job(work *w, queue_job *j, int status)
{
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILED;
    j->process = 0;
    j->ended = 1;
    j->seconds = now_seconds() - j->started;
    j->entry->state = code == EXIT_FINE          ? QUEUE_DONE
                      : code == EXIT_INTERRUPTED ? QUEUE_STOPPED
                                                 : QUEUE_FAILED;
    if (j->entry->state == QUEUE_FAILED)
        keep_message(j, WIFSIGNALED(status) ? WTERMSIG(status) : 0);
    job_progress_update(&j->progress, j->folder);
    jobs_display_ended(&w->display, j);
    if (j->entry->state != QUEUE_STOPPED)
        copy_messages(w, j, j->entry->state == QUEUE_DONE ? stderr : w->failures);
    close_messages(j);
}

static tce_status collect_ended(work *w)
{
    int status, ended = 0;
    for (pid_t process; (process = waitpid(-1, &status, WNOHANG)) > 0;)
        for (size_t i = 0; i < w->q->n; i++)
            if (w->jobs[i].process == process) {
                end_job(w, &w->jobs[i], status);
                ended = 1;
            }
    return ended ? queue_save(w->q) : TCE_OK;
}

static size_t count_running(const work *w)
{
    size_t running = 0;
    for (size_t i = 0; i < w->q->n; i++)
        running += w->jobs[i].process > 0;
    return running;
}

/*
 * The first run that waits, other than those that a process of a killed queue is still saving.
 * *waiting: whether there is any.
 */
static queue_job *next_job(work *w, int *waiting)
{
    *waiting = 0;
    for (size_t i = 0; i < w->q->n; i++) {
        queue_job *j = &w->jobs[i];
        if (j->entry->state != QUEUE_WAITING)
            continue;
        *waiting = 1;
        if (run_lock_holder(j->folder) == 0)
            return j;
    }
    return NULL;
}

static tce_status fill(work *w, int *waiting)
{
    tce_status status = TCE_OK;
    *waiting = 1;
    while (status == TCE_OK && *waiting && count_running(w) < w->n_jobs) {
        queue_job *j = next_job(w, waiting);
        if (!j)
            break;
        status = start_job(w, j);
    }
    return status;
}

/* By the signal that a background job of a shell, deaf to Ctrl-C, still hears. */
static void stop_all(const work *w)
{
    for (size_t i = 0; i < w->q->n; i++)
        if (w->jobs[i].process > 0)
            kill(w->jobs[i].process, SIGTERM);
}

/* Keeps n_jobs running until all are done, or a signal has been passed on and obeyed. */
static tce_status watch(work *w)
{
    const struct timespec pause = { 0, 20 * 1000 * 1000 };
    tce_status status = TCE_OK;
    int forwarded = 0, waiting = 1;
    while (1) {
        const tce_status saved = collect_ended(w);
        if (status == TCE_OK)
            status = saved;
        if (status == TCE_OK && !signals_caught())
            status = fill(w, &waiting);
        if (signals_caught() && !forwarded++)
            stop_all(w);
        if (count_running(w) == 0 && (!waiting || status != TCE_OK || signals_caught()))
            return status;
        jobs_display_update(&w->display);
        nanosleep(&pause, NULL);
    }
}

/* ---- files ----------------------------------------------------------------------------------- */

/*
 * Open files beside those of running runs: the standard ones, lock, failures, queue.csv,
 * a run's progress.csv, and what the program's libraries keep open.
 */
#define OTHER_FILES 16

/* Raises the limit on open files where so many runs at once need it. */
static tce_status allow_files(const work *w)
{
    struct rlimit limit;
    const rlim_t need = (rlim_t)(w->n_jobs < w->q->n ? w->n_jobs : w->q->n) + OTHER_FILES;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= need)
        return TCE_OK;
    const rlim_t before = limit.rlim_cur;
    limit.rlim_cur = need;
    if (need <= limit.rlim_max && setrlimit(RLIMIT_NOFILE, &limit) == 0)
        return TCE_OK;
    return tce_fail(TCE_E_VALUE,
                    "%zu runs at once need %llu open files, the limit is %llu: lower "
                    "--jobs, or raise the limit (ulimit -n)",
                    w->n_jobs, (unsigned long long)need, (unsigned long long)before);
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* What is not done waits again, and so does what was done and is gone. */
static tce_status prepare(work *w)
{
    tce_status status = TCE_OK;
    for (size_t i = 0; status == TCE_OK && i < w->q->n; i++) {
        queue_job *j = &w->jobs[i];
        j->entry = &w->q->entries[i];
        status = queue_run_path(w->q, j->entry, j->folder);
        if (j->entry->state != QUEUE_DONE || !run_exists(j->folder)) {
            j->entry->state = QUEUE_WAITING;
            j->entry->message[0] = '\0';
        }
        job_progress_update(&j->progress, j->folder);
    }
    if (status == TCE_OK)
        status = queue_save(w->q);
    if (status == TCE_OK && w->q->part.count == 0)
        queue_remove_parts(w->q);
    return status;
}

/* What failed and how to continue, on stderr. Returns the exit status. */
static int report(const work *w)
{
    size_t n[N_QUEUE_STATES] = { 0 };
    for (size_t i = 0; i < w->q->n; i++)
        n[w->jobs[i].entry->state]++;
    print_failures(w);
    if (n[QUEUE_DONE] == w->q->n)
        return EXIT_FINE;
    char library[SHELL_WORD + 32], word[SHELL_WORD], part[64] = "";
    if (w->q->part.count)
        snprintf(part, sizeof part, " --array %d/%d", w->q->part.number, w->q->part.count);
    fprintf(stderr,
            "tce: %zu of %zu runs are not done; continue with:  tce train --resume %s%s%s\n",
            w->q->n - n[QUEUE_DONE], w->q->n, shell_word(w->q->folder, word, sizeof word), part,
            task_library_words(w->s, library, sizeof library));
    return n[QUEUE_FAILED] ? EXIT_FAILED : EXIT_INTERRUPTED;
}

static void print_plan(const work *w)
{
    char part[64] = "";
    if (w->q->part.count)
        snprintf(part, sizeof part, "part %d of %d: ", w->q->part.number, w->q->part.count);
    printf("%s%zu runs in %s, %zu at once with %d thread%s each\n", part, w->q->n, w->q->folder,
           w->n_jobs, w->threads, w->threads > 1 ? "s" : "");
}

tce_status jobs_run(queue *q, const settings *s, int quiet, int *out)
{
    const int cores = program_cores();
    const int n_jobs = q->n_jobs ? q->n_jobs : cores;
    const int share = cores > n_jobs ? cores / n_jobs : 1;
    work w = { q,
               s,
               calloc(q->n, sizeof(queue_job)),
               (size_t)n_jobs,
               s->run.threads > 0 ? (int)s->run.threads : share,
               NULL,
               { 0 } };
    tce_status status = w.jobs ? allow_files(&w)
                               : tce_fail(TCE_E_NOMEM, "no memory for %zu runs", q->n);
    if (status == TCE_OK)
        status = temporary_open(&w.failures);
    if (status == TCE_OK)
        status = queue_save_settings(q, s);
    if (status == TCE_OK)
        status = prepare(&w);
    *out = EXIT_FAILED;
    if (status == TCE_OK) {
        if (!quiet)
            print_plan(&w);
        jobs_display_init(&w.display, s, q->n, w.jobs, quiet);
        status = watch(&w);
        jobs_display_table(&w.display);
        *out = report(&w);
    }
    if (w.failures)
        fclose(w.failures);
    free(w.jobs);
    return status;
}
