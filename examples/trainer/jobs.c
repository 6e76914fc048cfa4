/*
 * Working through a queue: each run is this program again, quiet, with its share of the cores; this process starts, watches, stops and tells.
 *
 * A run is marked as running before its process begins and as done after that has ended: whenever this process is killed, what the queue calls done is
 * done, and what it calls running goes on from its own last checkpoint.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#include "commands.h"
#include "jobs.h"

/* All that a run's process needs to know. */
typedef struct work {
    queue *q;
    job *jobs;    /* [q->n] */
    size_t n_jobs;
    int threads;
    jobs_display display;
} work;

/* ---- what a run said ---------------------------------------------------------------------------- */

/* How a run that did not say why has failed: the beginning of the queue's own message. */
static const char UNTOLD[] = "ended ";

/* Its messages, each line with the run's name. */
static void print_messages(const work *w, const job *j)
{
    char line[4096], name[TASK_NAME + 32];
    job_name(&w->display, j, name, sizeof name);
    rewind(j->messages);
    while (fgets(line, sizeof line, j->messages))
        fprintf(stderr, "%s: %s%s", name, line, strchr(line, '\n') ? "" : "\n");
    if (strncmp(j->entry->message, UNTOLD, sizeof UNTOLD - 1) == 0)
        fprintf(stderr, "%s: %s\n", name, j->entry->message);
}

/* The first line that is no warning goes into the queue. */
static void keep_message(const job *j, int signal_number)
{
    char line[4096];
    queue_entry *entry = j->entry;
    snprintf(entry->message, sizeof entry->message, "%swithout a word", UNTOLD);
    if (signal_number)
        snprintf(entry->message, sizeof entry->message, "%sby signal %d", UNTOLD, signal_number);
    rewind(j->messages);
    while (fgets(line, sizeof line, j->messages))
        if (strncmp(line, "tce: ", 5) == 0 && strncmp(line, "tce: warning: ", 14) != 0) {
            line[strcspn(line, "\n")] = '\0';
            snprintf(entry->message, sizeof entry->message, "%.*s", QUEUE_TEXT - 1, line + 5);
            return;
        }
}

/* ---- processes --------------------------------------------------------------------------------- */

/* In the child: this program with the run's own arguments. Does not return. */
static void become(const job *j, const work *w, pid_t parent)
{
    char seed[32], share[32], task_name[TASK_NAME + 16], config[RUN_PATH], program[TEXT_SIZE];
    const ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    if (length <= 0 || run_path(w->q->folder, "queue.yaml", config) != TCE_OK)
        _exit(EXIT_FAILED);
    program[length] = '\0';
    snprintf(task_name, sizeof task_name, "task.name=%s", j->entry->task);
    snprintf(seed, sizeof seed, "run.seed=%" PRIu64, j->entry->seed);
    snprintf(share, sizeof share, "run.threads=%d", w->threads);
    char *const list[] = { "tce", "train", config, task_name, seed, share, "--quiet", "--resume", (char *)j->folder, NULL };

    /* a group of its own: Ctrl-C reaches it once, through its parent; and it does not outlive that */
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
    execv(program, list);
    _exit(EXIT_FAILED);
}

static tce_status start_process(work *w, job *j)
{
    j->started = now_seconds();
    j->messages = tmpfile();
    if (!j->messages)
        return tce_fail(TCE_E_IO, "cannot make a temporary file for the messages of a run: %s", strerror(errno));
    fflush(NULL);
    const pid_t parent = getpid();
    j->process = fork();
    if (j->process == 0)
        become(j, w, parent);
    if (j->process < 0) {
        j->process = 0;
        return tce_fail(TCE_E_THREAD, "cannot start a process: %s; lower --jobs", strerror(errno));
    }
    return TCE_OK;
}

static tce_status start_job(work *w, job *j)
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
static void end_job(work *w, job *j, int status)
{
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILED;
    j->process = 0;
    j->ended = 1;
    j->seconds = now_seconds() - j->started;
    j->entry->state = code == EXIT_FINE ? QUEUE_DONE : code == EXIT_INTERRUPTED ? QUEUE_STOPPED : QUEUE_FAILED;
    if (j->entry->state == QUEUE_FAILED)
        keep_message(j, WIFSIGNALED(status) ? WTERMSIG(status) : 0);
    job_progress_update(&j->progress, j->folder);
    jobs_display_ended(&w->display, j);
    if (j->entry->state == QUEUE_DONE)
        print_messages(w, j);
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

/* The first run that waits, other than those that a process of a killed queue is still saving. *waiting: whether there is any. */
static job *next_job(work *w, int *waiting)
{
    *waiting = 0;
    for (size_t i = 0; i < w->q->n; i++) {
        job *j = &w->jobs[i];
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
        job *j = next_job(w, waiting);
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
        if (status == TCE_OK && !run_signal())
            status = fill(w, &waiting);
        if (run_signal() && !forwarded++)
            stop_all(w);
        if (count_running(w) == 0 && (!waiting || status != TCE_OK || run_signal()))
            return status;
        jobs_display_update(&w->display);
        nanosleep(&pause, NULL);
    }
}

/* ---- the whole ----------------------------------------------------------------------------------- */

/* What is not done waits again, and so does what was done and is gone. */
static tce_status prepare(work *w)
{
    tce_status status = TCE_OK;
    for (size_t i = 0; status == TCE_OK && i < w->q->n; i++) {
        job *j = &w->jobs[i];
        j->entry = &w->q->entries[i];
        status = queue_run_path(w->q, j->entry, j->folder);
        if (j->entry->state != QUEUE_DONE || !run_exists(j->folder)) {
            j->entry->state = QUEUE_WAITING;
            j->entry->message[0] = '\0';
        }
        job_progress_update(&j->progress, j->folder);
    }
    return status == TCE_OK ? queue_save(w->q) : status;
}

/* What failed and how to go on, on stderr. Returns the exit status. */
static int report(const work *w)
{
    size_t n[N_QUEUE_STATES] = { 0 };
    for (size_t i = 0; i < w->q->n; i++) {
        const job *j = &w->jobs[i];
        n[j->entry->state]++;
        if (j->entry->state == QUEUE_FAILED)
            print_messages(w, j);
    }
    if (n[QUEUE_DONE] == w->q->n)
        return EXIT_FINE;
    fprintf(stderr, "tce: %zu of %zu runs are not done; go on with:  tce train --resume %s\n", w->q->n - n[QUEUE_DONE], w->q->n, w->q->folder);
    return n[QUEUE_FAILED] ? EXIT_FAILED : EXIT_INTERRUPTED;
}

int jobs_run(queue *q, const settings *s, int quiet)
{
    const long cores = sysconf(_SC_NPROCESSORS_ONLN) > 0 ? sysconf(_SC_NPROCESSORS_ONLN) : 1;
    const int n_jobs = q->n_jobs ? q->n_jobs : (int)cores;
    const int share = cores > n_jobs ? (int)(cores / n_jobs) : 1;
    work w = { q, calloc(q->n, sizeof(job)), (size_t)n_jobs, s->run.threads > 0 ? (int)s->run.threads : share, { 0 } };
    tce_status status = w.jobs ? prepare(&w) : tce_fail(TCE_E_NOMEM, "no memory for %zu runs", q->n);
    int code = EXIT_FAILED;
    if (status == TCE_OK) {
        if (!quiet)
            printf("%zu runs in %s, %d at once with %d thread%s each\n", q->n, q->folder, n_jobs, w.threads, w.threads > 1 ? "s" : "");
        jobs_display_init(&w.display, s, q->n, w.jobs, quiet);
        status = watch(&w);
        jobs_display_table(&w.display);
        code = report(&w);
    }
    if (status != TCE_OK)
        code = fail();
    for (size_t i = 0; w.jobs && i < q->n; i++)
        if (w.jobs[i].messages)
            fclose(w.jobs[i].messages);
    free(w.jobs);
    return code;
}
