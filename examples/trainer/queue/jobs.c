/*
 * Working through a queue: whoever carries runs out starts them and tells when they have ended; what
 * is here chooses the next, keeps the queue's files, stops and tells.
 *
 * A run is marked as running before it begins and as done after it has ended: whenever this process
 * is killed, what the queue calls done is done, and what it calls running continues from its own
 * last checkpoint.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "queue/jobs.h"
#include "queue/signals.h"
#include "tools/clock.h"
#include "tools/program.h"
#include "tools/shell.h"
#include "tools/temporary.h"

/* ---- runs ------------------------------------------------------------------------------------ */

/* What all failed runs said, in the order in which they ended. */
static void print_failures(const jobs *w)
{
    char line[4096];
    rewind(w->failures);
    while (fgets(line, sizeof line, w->failures))
        fputs(line, stderr);
}

static tce_status start_job(jobs *w, const job_runner *runner, queue_job *j)
{
    j->entry->state = QUEUE_RUNNING;
    j->started = now_seconds();
    tce_status status = queue_save(w->q);
    if (status == TCE_OK)
        status = runner->start(runner->context, j);
    j->running = status == TCE_OK;
    if (status != TCE_OK)
        j->entry->state = QUEUE_WAITING;
    return status;
}

void job_ended(jobs *w, queue_job *j, int state)
{
    j->running = 0;
    j->ended = 1;
    j->seconds = now_seconds() - j->started;
    j->entry->state = state;
    job_progress_update(&j->progress, j->folder);
    jobs_display_ended(&w->display, j);
}

static size_t count_running(const jobs *w)
{
    size_t running = 0;
    for (size_t i = 0; i < w->q->n; i++)
        running += (size_t)w->list[i].running;
    return running;
}

/*
 * The first run that waits, other than those that a process of a killed queue is still saving.
 * *waiting: whether there is any.
 */
static queue_job *next_job(jobs *w, int *waiting)
{
    *waiting = 0;
    for (size_t i = 0; i < w->q->n; i++) {
        queue_job *j = &w->list[i];
        if (j->entry->state != QUEUE_WAITING)
            continue;
        *waiting = 1;
        if (run_lock_holder(j->folder) == 0)
            return j;
    }
    return NULL;
}

static tce_status fill(jobs *w, const job_runner *runner, int *waiting)
{
    tce_status status = TCE_OK;
    *waiting = 1;
    while (status == TCE_OK && *waiting && count_running(w) < runner->n) {
        queue_job *j = next_job(w, waiting);
        if (!j)
            break;
        status = start_job(w, runner, j);
    }
    return status;
}

static tce_status collect(jobs *w, const job_runner *runner)
{
    int ended = 0;
    const tce_status status = runner->collect(runner->context, &ended);
    const tce_status saved = ended ? queue_save(w->q) : TCE_OK;
    return status == TCE_OK ? saved : status;
}

/* Keeps so many running until all are done, or a signal has been passed on and obeyed. */
static tce_status watch(jobs *w, const job_runner *runner)
{
    const struct timespec pause = { 0, 20 * 1000 * 1000 };
    tce_status status = TCE_OK;
    int forwarded = 0, waiting = 1;
    while (1) {
        const tce_status collected = collect(w, runner);
        if (status == TCE_OK)
            status = collected;
        if (status == TCE_OK && !signals_caught())
            status = fill(w, runner, &waiting);
        if (signals_caught() && !forwarded++)
            runner->stop(runner->context);
        if (count_running(w) == 0 && (!waiting || status != TCE_OK || signals_caught()))
            return status;
        jobs_display_update(&w->display);
        nanosleep(&pause, NULL);
    }
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* What is not done waits again, and so does what was done and is gone. */
static tce_status prepare(jobs *w)
{
    tce_status status = TCE_OK;
    for (size_t i = 0; status == TCE_OK && i < w->q->n; i++) {
        queue_job *j = &w->list[i];
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
static int report(const jobs *w)
{
    size_t n[N_QUEUE_STATES] = { 0 };
    for (size_t i = 0; i < w->q->n; i++)
        n[w->list[i].entry->state]++;
    print_failures(w);
    if (n[QUEUE_DONE] == w->q->n)
        return EXIT_FINE;
    char library[SHELL_WORD + 32], word[SHELL_WORD], part[64] = "";
    if (w->q->part.count)
        snprintf(part, sizeof part, " --array %d/%d", w->q->part.number, w->q->part.count);
    fprintf(stderr,
            "tce: %zu of %zu runs are not done; continue with:  tce train --resume %s%s%s\n",
            w->q->n - n[QUEUE_DONE], w->q->n, shell_word(w->q->folder, word, sizeof word), part,
            task_library_words(&w->q->variants[0].s, library, sizeof library));
    return n[QUEUE_FAILED] ? EXIT_FAILED : EXIT_INTERRUPTED;
}

static void print_plan(const jobs *w, const job_runner *runner)
{
    const int threads = job_threads(w, &w->q->variants[0].s);
    char part[64] = "";
    if (w->q->part.count)
        snprintf(part, sizeof part, "part %d of %d: ", w->q->part.number, w->q->part.count);
    printf("%s%zu runs in %s, %zu at once with %d thread%s each\n", part, w->q->n, w->q->folder,
           runner->n, threads, threads > 1 ? "s" : "");
}

tce_status jobs_work_through(jobs *w, const job_runner *runner, int quiet, int *out)
{
    *out = EXIT_FAILED;
    tce_status status = queue_save_settings(w->q);
    if (status == TCE_OK)
        status = prepare(w);
    if (status != TCE_OK)
        return status;
    if (!quiet)
        print_plan(w, runner);
    jobs_display_init(&w->display, w->q, w->list, quiet);
    status = watch(w, runner);
    jobs_display_table(&w->display);
    /* a part knows its own runs alone */
    if (status == TCE_OK && w->q->part.count == 0)
        status = jobs_best(&w->display);
    *out = report(w);
    return status;
}

const settings *job_settings(const jobs *w, const queue_job *j)
{
    return &w->q->variants[j->entry->variant].s;
}

int job_threads(const jobs *w, const settings *s)
{
    return s->run.threads > 0 ? (int)s->run.threads : w->threads;
}

tce_status jobs_open(jobs *w, queue *q, int threads)
{
    memset(w, 0, sizeof *w);
    w->q = q;
    w->threads = threads;
    w->list = calloc(q->n, sizeof *w->list);
    return w->list ? temporary_open(&w->failures)
                   : tce_fail(TCE_E_NOMEM, "no memory for %zu runs", q->n);
}

void jobs_close(jobs *w)
{
    if (w->failures)
        fclose(w->failures);
    free(w->list);
}
