/*
 * Runs as processes of this machine: each is this program again, quiet, with its share of the cores.
 * However many runs there are, one file is open for each that is running, and one for failures.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#include "queue/jobs.h"
#include "queue/signals.h"
#include "tools/program.h"
#include "tools/temporary.h"

/* ---- what a run said ------------------------------------------------------------------------- */

/* How a run that did not say why has failed: the beginning of the queue's own message. */
static const char UNTOLD[] = "ended ";

/* Its messages to another file, each line with the run's name. */
static void copy_messages(const jobs *w, const queue_job *j, FILE *out)
{
    char line[4096], name[JOB_NAME];
    job_name(&w->display, j, name, sizeof name);
    rewind(j->messages);
    while (fgets(line, sizeof line, j->messages))
        fprintf(out, "%s: %s%s", name, line, strchr(line, '\n') ? "" : "\n");
    if (strncmp(j->entry->message, UNTOLD, sizeof UNTOLD - 1) == 0)
        fprintf(out, "%s: %s\n", name, j->entry->message);
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

/* The first line that is not a warning goes into the queue. */
static void keep_message(const queue_job *j, int signal_number)
{
    char line[4096];
    queue_entry *entry = j->entry;
    snprintf(entry->message, sizeof entry->message, "%swithout a message", UNTOLD);
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

/* The runs of a queue as processes. */
typedef struct processes {
    jobs w;
    const char *log; /* where they write their iterations as JSON; NULL: nowhere */
} processes;

/* In the child: this program with the run's own arguments. Does not return. */
static void become(const queue_job *j, const processes *p, pid_t parent)
{
    char seed[32], share[32], task_name[TASK_NAME + 16], name[QUEUE_FILE], config[RUN_PATH];
    char library[TEXT_SIZE + 32], log[RUN_PATH + 32];
    const settings *s = job_settings(&p->w, j);
    queue_settings_name(j->entry->variant, name, sizeof name);
    if (run_path(p->w.q->folder, name, config) != TCE_OK)
        _exit(EXIT_FAILED);
    snprintf(task_name, sizeof task_name, "task.name=%s", j->entry->task);
    snprintf(seed, sizeof seed, "run.seed=%" PRIu64, j->entry->seed);
    snprintf(share, sizeof share, "run.threads=%d", job_threads(&p->w, s));
    /* queue.yaml is data, and a library in it would not be loaded: the queue's own is passed on */
    snprintf(library, sizeof library, "--task-library=%s", s->task.library);
    snprintf(log, sizeof log, "--log-json=%s", p->log ? p->log : "");
    /* a folder may be called as an option is */
    char *const list[] = {
        "tce", "train", library,   log,  "--quiet", "--resume", (char *)j->folder,
        "--",  config,  task_name, seed, share,     NULL
    };

    /*
     * a group of its own: Ctrl-C reaches it once, through its parent; and it does not outlive that
     */
    setpgid(0, 0);
#ifdef __linux__
    prctl(PR_SET_PDEATHSIG, SIGTERM);
#endif
    /*
     * a signal that arrives before the program catches it again ends it: the handler that this
     * process has from its parent would swallow it
     */
    signals_release();
    if (getppid() != parent || signals_caught())
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

static tce_status start_process(void *context, queue_job *j)
{
    const processes *p = context;
    const tce_status status = temporary_open(&j->messages);
    if (status != TCE_OK)
        return status;
    fflush(NULL);
    const pid_t parent = getpid();
    j->process = fork();
    if (j->process == 0)
        become(j, p, parent);
    if (j->process < 0) {
        j->process = 0;
        close_messages(j);
        return tce_fail(TCE_E_THREAD, "cannot start a process: %s; lower --jobs", strerror(errno));
    }
    return TCE_OK;
}

/* Warnings are passed on at once, failures at the end. */
static void end_process(jobs *w, queue_job *j, int status)
{
    /* one that was asked to stop before it could listen has stopped too */
    const int code = WIFEXITED(status)                                 ? WEXITSTATUS(status)
                     : WTERMSIG(status) == SIGTERM && signals_caught() ? EXIT_INTERRUPTED
                                                                       : EXIT_FAILED;
    const int state = code == EXIT_FINE          ? QUEUE_DONE
                      : code == EXIT_INTERRUPTED ? QUEUE_STOPPED
                                                 : QUEUE_FAILED;
    j->process = 0;
    if (state == QUEUE_FAILED)
        keep_message(j, WIFSIGNALED(status) ? WTERMSIG(status) : 0);
    job_ended(w, j, state);
    if (state != QUEUE_STOPPED)
        copy_messages(w, j, state == QUEUE_DONE ? stderr : w->failures);
    close_messages(j);
}

static tce_status collect_processes(void *context, int *ended)
{
    jobs *w = &((processes *)context)->w;
    int status;
    for (pid_t process; (process = waitpid(-1, &status, WNOHANG)) > 0;)
        for (size_t i = 0; i < w->q->n; i++)
            if (w->list[i].process == process) {
                end_process(w, &w->list[i], status);
                *ended = 1;
            }
    return TCE_OK;
}

/* By the signal that a background job of a shell, deaf to Ctrl-C, still hears. */
static void stop_processes(void *context)
{
    const jobs *w = &((const processes *)context)->w;
    for (size_t i = 0; i < w->q->n; i++)
        if (w->list[i].process > 0)
            kill(w->list[i].process, SIGTERM);
}

/* ---- files ----------------------------------------------------------------------------------- */

/*
 * Open files beside those of running runs: the standard ones, lock, failures, queue.csv,
 * a run's progress.csv, and what the program's libraries keep open.
 */
#define OTHER_FILES 16

/* Raises the limit on open files where so many runs at once need it. */
static tce_status allow_files(size_t n)
{
    struct rlimit limit;
    const rlim_t need = (rlim_t)n + OTHER_FILES;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= need)
        return TCE_OK;
    const rlim_t before = limit.rlim_cur;
    limit.rlim_cur = need;
    if (need <= limit.rlim_max && setrlimit(RLIMIT_NOFILE, &limit) == 0)
        return TCE_OK;
    return tce_fail(TCE_E_VALUE,
                    "%zu runs at once need %llu open files, the limit is %llu: lower "
                    "--jobs, or raise the limit (ulimit -n)",
                    n, (unsigned long long)need, (unsigned long long)before);
}

/* ---- the queue ------------------------------------------------------------------------------- */

tce_status jobs_run(queue *q, int quiet, const char *log, int *out)
{
    const int cores = program_cores();
    const int n_jobs = q->n_jobs ? q->n_jobs : cores;
    const int share = cores > n_jobs ? cores / n_jobs : 1;
    processes p = { .log = log };
    const job_runner runner = { (size_t)n_jobs, &p, start_process, collect_processes,
                                stop_processes };
    *out = EXIT_FAILED;
    tce_status status = jobs_open(&p.w, q, share);
    if (status == TCE_OK)
        status = allow_files((size_t)n_jobs < q->n ? (size_t)n_jobs : q->n);
    if (status == TCE_OK)
        status = jobs_work_through(&p.w, &runner, quiet, out);
    jobs_close(&p.w);
    return status;
}
