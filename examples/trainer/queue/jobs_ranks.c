/*
 * Runs over the ranks of a job: the first one hands them out by messages, a run to each rank that
 * has none, and carries out some itself. No rank looks at a file to know what to do.
 *
 * Each run is trained by a thread inside its rank, since processes of an MPI job should start no
 * others. The thread that called ranks_begin, which alone may call them, looks for messages and
 * signals meanwhile.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "queue/jobs.h"
#include "queue/signals.h"
#include "tools/program.h"

/* ---- the thread that trains ------------------------------------------------------------------ */

/* A run of this rank. */
typedef struct trainer {
    job_train *train;
    void *context;
    job_order order; /* state and message of its entry: how it ended */
    int busy;
    pthread_t thread;
    pthread_mutex_t lock;
    int stop, done; /* under the lock */
} trainer;

static void trainer_init(trainer *t, job_train *train, void *context)
{
    memset(t, 0, sizeof *t);
    t->train = train;
    t->context = context;
    pthread_mutex_init(&t->lock, NULL);
}

static int trainer_read(trainer *t, const int *flag)
{
    pthread_mutex_lock(&t->lock);
    const int value = *flag;
    pthread_mutex_unlock(&t->lock);
    return value;
}

static void trainer_set(trainer *t, int *flag)
{
    pthread_mutex_lock(&t->lock);
    *flag = 1;
    pthread_mutex_unlock(&t->lock);
}

static int wish(void *context)
{
    trainer *t = context;
    return signals_caught() || trainer_read(t, &t->stop) ? RUN_STOP : RUN_GO_ON;
}

static void warn(void *context, const char *sentence)
{
    const trainer *t = context;
    fprintf(stderr, "%s: tce: warning: %s\n", t->order.entry.folder, sentence);
}

static void *train(void *context)
{
    trainer *t = context;
    run_result result;
    const run_observer observer = { .say = { t, NULL, warn }, .context = t, .wish = wish };
    const tce_status status = t->train(t->context, &t->order, &observer, &result);
    t->order.entry.state = status != TCE_OK     ? QUEUE_FAILED
                           : result.interrupted ? QUEUE_STOPPED
                                                : QUEUE_DONE;
    snprintf(t->order.entry.message, sizeof t->order.entry.message, "%.*s", QUEUE_TEXT - 1,
             status == TCE_OK ? "" : tce_error_message());
    trainer_set(t, &t->done);
    return NULL;
}

static tce_status trainer_start(trainer *t, const job_order *order)
{
    t->order = *order;
    t->stop = t->done = 0;
    t->busy = pthread_create(&t->thread, NULL, train, t) == 0;
    return t->busy ? TCE_OK : tce_fail(TCE_E_THREAD, "cannot start a thread");
}

/* Whether the run has ended since it was asked last. */
static int trainer_has_ended(trainer *t)
{
    if (!t->busy || !trainer_read(t, &t->done))
        return 0;
    pthread_join(t->thread, NULL);
    t->busy = 0;
    return 1;
}

/* ---- messages -------------------------------------------------------------------------------- */

/* To a rank: train this, save and end what you train, all runs are done. From one: it has ended. */
enum { TO_TRAIN, TO_STOP, TO_LEAVE, HAS_ENDED };

typedef struct message {
    int32_t kind, told_to_end; /* a signal came to the rank that sends */
    job_order order;
} message;

static tce_status send_kind(ranks *r, int32_t to, int32_t kind, const job_order *order)
{
    message m;
    memset(&m, 0, sizeof m);
    m.kind = kind;
    m.told_to_end = signals_caught() != 0;
    if (order)
        m.order = *order;
    return ranks_send(r, to, &m, sizeof m);
}

/* Whether a message was there, and has been received. */
static tce_status receive_next(ranks *r, message *m, int32_t *from, int *there)
{
    tce_status status = ranks_waiting(r, there);
    return status == TCE_OK && *there ? ranks_receive(r, -1, m, sizeof *m, from) : status;
}

/* ---- ranks after the first ------------------------------------------------------------------- */

/* A run that cannot even begin has failed like any other. */
static tce_status begin_or_tell(ranks *r, trainer *own, job_order *order)
{
    queue_entry *entry = &order->entry;
    if (trainer_start(own, order) == TCE_OK)
        return TCE_OK;
    entry->state = QUEUE_FAILED;
    snprintf(entry->message, sizeof entry->message, "%.*s", QUEUE_TEXT - 1, tce_error_message());
    return send_kind(r, 0, HAS_ENDED, order);
}

tce_status jobs_serve(ranks *r, job_train *train_one, void *context)
{
    const struct timespec pause = { 0, 20 * 1000 * 1000 };
    tce_status status = TCE_OK;
    int leave = 0;
    trainer own;
    trainer_init(&own, train_one, context);
    while (status == TCE_OK && !leave) {
        message m;
        int there = 0;
        if (trainer_has_ended(&own))
            status = send_kind(r, 0, HAS_ENDED, &own.order);
        if (status == TCE_OK)
            status = receive_next(r, &m, NULL, &there);
        if (status == TCE_OK && there && m.kind == TO_TRAIN)
            status = begin_or_tell(r, &own, &m.order);
        else if (status == TCE_OK && there && m.kind == TO_STOP)
            trainer_set(&own, &own.stop);
        leave = there && m.kind == TO_LEAVE;
        if (!there)
            nanosleep(&pause, NULL);
    }

    /* only a failure leaves a run behind: it saves what it has */
    trainer_set(&own, &own.stop);
    if (own.busy)
        pthread_join(own.thread, NULL);
    pthread_mutex_destroy(&own.lock);
    return status;
}

/* ---- the first rank -------------------------------------------------------------------------- */

typedef struct spread {
    jobs w;
    ranks *r;
    trainer own;
    queue_job **of; /* [ranks] what each has; NULL: nothing */
} spread;

static tce_status start_on_rank(void *context, queue_job *j)
{
    spread *p = context;
    int32_t rank = 0;
    while (p->of[rank])
        rank++;
    j->rank = rank;
    job_order order = { .entry = *j->entry,
                        .threads = (int32_t)job_settings(&p->w, j)->run.threads };
    snprintf(order.library, sizeof order.library, "%s", job_settings(&p->w, j)->task.library);
    const tce_status status = rank == 0 ? trainer_start(&p->own, &order)
                                        : send_kind(p->r, rank, TO_TRAIN, &order);
    if (status == TCE_OK)
        p->of[rank] = j;
    return status;
}

static void take_end(spread *p, int32_t rank, const queue_entry *ended)
{
    char name[JOB_NAME];
    queue_job *j = p->of[rank];
    p->of[rank] = NULL;
    if (!j)
        return;
    memcpy(j->entry->message, ended->message, sizeof j->entry->message);
    job_ended(&p->w, j, ended->state);
    job_name(&p->w.display, j, name, sizeof name);
    if (ended->state == QUEUE_FAILED)
        fprintf(p->w.failures, "%s: tce: on rank %d: %s\n", name, (int)rank, ended->message);
}

/* The job has fallen apart: nobody knows any more what ranks do. */
static void give_up(spread *p)
{
    for (int32_t rank = 0; rank < ranks_count(p->r); rank++)
        if (p->of[rank]) {
            job_ended(&p->w, p->of[rank], QUEUE_STOPPED);
            p->of[rank] = NULL;
        }
}

static tce_status collect_from_ranks(void *context, int *ended)
{
    spread *p = context;
    message m;
    int32_t from = 0;
    int there = 1;
    tce_status status = TCE_OK;
    if (trainer_has_ended(&p->own)) {
        take_end(p, 0, &p->own.order.entry);
        *ended = 1;
    }
    while (there) {
        status = receive_next(p->r, &m, &from, &there);
        if (status != TCE_OK) {
            give_up(p);
            return status;
        }
        if (!there)
            break;
        take_end(p, from, &m.order.entry);
        *ended = 1;
        /* where one rank is told to end, all of them are */
        if (m.told_to_end && !signals_caught())
            raise(SIGTERM);
    }
    return TCE_OK;
}

static void stop_ranks(void *context)
{
    spread *p = context;
    trainer_set(&p->own, &p->own.stop);
    for (int32_t rank = 1; rank < ranks_count(p->r); rank++)
        if (p->of[rank])
            (void)!send_kind(p->r, rank, TO_STOP, NULL);
}

tce_status jobs_run_on_ranks(queue *q, ranks *r, job_train *train_one, void *context, int quiet,
                             int *out)
{
    spread p;
    const int32_t n = ranks_count(r);
    const job_runner runner = { (size_t)n, &p, start_on_rank, collect_from_ranks, stop_ranks };
    *out = EXIT_FAILED;
    p.r = r;
    p.of = calloc((size_t)n, sizeof *p.of);
    trainer_init(&p.own, train_one, context);
    tce_status status = jobs_open(&p.w, q, program_cores());
    if (status == TCE_OK && !p.of)
        status = tce_fail(TCE_E_NOMEM, "no memory for %d ranks", (int)n);
    if (status == TCE_OK)
        status = jobs_work_through(&p.w, &runner, quiet, out);

    /* after a failure too: they wait for this */
    for (int32_t rank = 1; rank < n; rank++)
        (void)!send_kind(r, rank, TO_LEAVE, NULL);
    trainer_set(&p.own, &p.own.stop);
    if (p.own.busy)
        pthread_join(p.own.thread, NULL);
    pthread_mutex_destroy(&p.own.lock);
    jobs_close(&p.w);
    free(p.of);
    return status;
}
