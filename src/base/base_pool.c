/*
 * The thread pool: workers wait for a call, take chunks by number from a shared counter, and report
 * when none is left.
 *
 * Which worker gets which chunk is left to chance; what a chunk computes, and in which order parts
 * are added, is not. The caller works too, as worker 0, so a pool of one thread has no workers at
 * all.
 *
 * A pool serves one run at a time. A second caller waits for it, unless it is itself inside an item
 * of some pool: then it does its chunks in its own thread. So nobody who is waited for ever waits
 * for a pool, and no nesting of pools and threads can lock up.
 */
#ifdef __linux__
#define _GNU_SOURCE /* sched_getaffinity */
#include <sched.h>
#endif

#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "base/internal.h"

#define MAX_THREADS 1024
#define MAX_RANKS 65536
#define FAILURE_SIZE 1024
/*
 * How often a thread looks for its next call, or for the end of the others, before it sleeps: about
 * 20 us, which a wake-up takes.
 */
#define LOOKS 600

/*
 * Work of fewer multiplications than this, in small matrices a tenth of a millisecond, is done
 * sooner by the calling thread alone: handing over costs more than it saves (measured on the
 * segment objective, which hands over four times).
 */
#define WORTH_WAKING 65536

/* A call of tce_pool_run, shared by all workers while it lasts. */
typedef struct pool_call {
    tce_pool_work work;
    void *context;
    size_t n_items;
    size_t chunk_size;
    size_t n_chunks;
    size_t next;      /* the chunk to hand out next; atomic */
    size_t bad_chunk; /* lowest failing chunk, SIZE_MAX when none */
    tce_status status;
} pool_call;

typedef struct worker {
    tce_pool *pool;
    pthread_t thread;
    int32_t index;
} worker;

struct tce_pool {
    tce_hooks hooks;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    pthread_cond_t done;
    pthread_cond_t idle;
    tce__ranks ranks;
    pid_t process;   /* that created the pool */
    worker *workers; /* [n_threads - 1] */
    int32_t n_threads;
    int32_t n_started;
    int32_t n_busy; /* workers that may touch the call; changes under the lock, looked at without */
    int32_t n_sleeping; /* workers that wait for `wake` */
    int32_t stop;
    int32_t running;     /* a caller has the workers */
    uint64_t generation; /* counts calls, so that a worker joins each at most once; as n_busy */
    pool_call call;
    char failure[FAILURE_SIZE]; /* message of the lowest failing chunk */
};

/*
 * A run that this thread is inside of. Frames lie on the thread's stack; the innermost one comes
 * first.
 */
typedef struct frame {
    const tce_pool *pool; /* whose workers run it; NULL: none, the calling thread does all */
    const struct frame *outer;
    int32_t worker;
} frame;

static __thread const frame *innermost;

/* This thread's frame of that pool, at any depth, or NULL. */
static const frame *find_frame(const tce_pool *pool)
{
    const frame *f = innermost;

    while (f && f->pool != pool)
        f = f->outer;
    return f;
}

/* A moment's rest between two looks. */
static void pause_briefly(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ __volatile__("yield");
#endif
}

/* One chunk of work, whose failure has a message in any case. */
static tce_status run_work(tce_pool_work work, void *context, size_t chunk, size_t begin,
                           size_t end, int32_t index)
{
    const uint64_t before = tce__n_failures();
    const tce_status status = work(context, chunk, begin, end, index);
    return tce__returned(status, before, "work", "items", begin, end);
}

/* Runs one chunk and keeps the failure of the lowest one. */
static void run_chunk(tce_pool *pool, size_t chunk, int32_t index)
{
    pool_call *call = &pool->call;
    const size_t begin = chunk * call->chunk_size;
    const size_t rest = call->n_items - begin;
    const size_t end = begin + (rest < call->chunk_size ? rest : call->chunk_size);
    const tce_status status = run_work(call->work, call->context, chunk, begin, end, index);

    if (status == TCE_OK)
        return;
    pthread_mutex_lock(&pool->lock);
    if (chunk < call->bad_chunk) {
        call->bad_chunk = chunk;
        call->status = status;
        const char *message = tce_error_message();
        memcpy(pool->failure, message, strlen(message) + 1);
    }
    pthread_mutex_unlock(&pool->lock);
}

/* Takes chunks until none is left. */
static void work_on_call(tce_pool *pool, int32_t index)
{
    const frame here = { .pool = pool, .outer = innermost, .worker = index };
    size_t chunk;

    innermost = &here;
    while ((chunk = __atomic_fetch_add(&pool->call.next, 1, __ATOMIC_RELAXED)) <
           pool->call.n_chunks)
        run_chunk(pool, chunk, index);
    innermost = here.outer;
}

static void *worker_main(void *argument)
{
    worker *self = argument;
    tce_pool *pool = self->pool;
    uint64_t seen = 0;

    for (;;) {
        /* a call often follows the one before at once */
        for (int i = 0; i < LOOKS && __atomic_load_n(&pool->generation, __ATOMIC_RELAXED) == seen;
             i++)
            pause_briefly();

        pthread_mutex_lock(&pool->lock);
        while (!pool->stop && pool->generation == seen) {
            pool->n_sleeping++;
            pthread_cond_wait(&pool->wake, &pool->lock);
            pool->n_sleeping--;
        }
        const int stop = pool->stop;
        seen = pool->generation;
        __atomic_add_fetch(&pool->n_busy, !stop, __ATOMIC_RELAXED);
        pthread_mutex_unlock(&pool->lock);
        if (stop)
            return NULL;

        /* all chunks may be taken already, and the run may be over: then there is nothing to do */
        work_on_call(pool, self->index);

        pthread_mutex_lock(&pool->lock);
        if (__atomic_sub_fetch(&pool->n_busy, 1, __ATOMIC_RELEASE) == 0)
            pthread_cond_signal(&pool->done);
        pthread_mutex_unlock(&pool->lock);
    }
}

/* Waits for the workers that have joined a call. `lock` is held on entry and exit. */
static void wait_for_workers(tce_pool *pool)
{
    while (pool->n_busy > 0)
        pthread_cond_wait(&pool->done, &pool->lock);
}

/*
 * Every chunk in this thread, in order: no pool, a pool of one, a run inside a run, a forked child.
 */
static tce_status run_here(int32_t index, size_t n_items, size_t chunk_size, tce_pool_work work,
                           void *context)
{
    const frame here = { .pool = NULL, .outer = innermost, .worker = index };
    tce_status first = TCE_OK;
    char message[FAILURE_SIZE];

    innermost = &here;
    size_t begin = 0;
    for (size_t chunk = 0; begin < n_items; chunk++) {
        const size_t rest = n_items - begin;
        const size_t end = begin + (rest < chunk_size ? rest : chunk_size);
        const tce_status status = run_work(work, context, chunk, begin, end, index);
        if (status != TCE_OK && first == TCE_OK) {
            first = status;
            memcpy(message, tce_error_message(), strlen(tce_error_message()) + 1);
        }
        begin = end;
    }
    innermost = here.outer;
    return first == TCE_OK ? TCE_OK : tce_fail(first, "%s", message);
}

/*
 * Whether this process is a forked child of the one that created the pool. The workers are not
 * there, and the lock and the conditions are as the fork found them, perhaps held or waited for by
 * a thread that is gone: they must not be touched, not even destroyed.
 */
static int is_forked(const tce_pool *pool)
{
    return pool->process != getpid();
}

void tce_pool_options_init(tce_pool_options *options, size_t struct_size)
{
    const tce_pool_options defaults = { .n_threads = 0 };
    tce__struct_init(options, struct_size, &defaults, sizeof defaults);
}

static tce_pool *layout(tce_pool *pool, tce__arena *arena)
{
    tce_pool *handle = tce__arena_take(arena, 1, sizeof *handle);
    const size_t n_ranks = (size_t)pool->ranks.n;

    pool->workers = tce__arena_take(arena, (size_t)pool->n_threads, sizeof *pool->workers);
    pool->ranks.send_at = tce__arena_take(arena, n_ranks + 1, sizeof(size_t));
    pool->ranks.receive_at = tce__arena_take(arena, n_ranks + 1, sizeof(size_t));
    pool->ranks.statuses = tce__arena_take(arena, n_ranks, sizeof(int32_t));
    pool->ranks.message = tce__arena_take(arena, TCE__RANKS_MESSAGE, 1);
    return handle;
}

static tce_status check_options(const tce_pool_options *o)
{
    tce_status status = tce__check_int("n_threads", o->n_threads, 0, MAX_THREADS);
    if (status == TCE_OK)
        status = tce__check_int("n_ranks", o->n_ranks, 0, MAX_RANKS);
    if (status == TCE_OK)
        status = tce__check_int("rank", o->rank, 0, o->n_ranks > 1 ? o->n_ranks - 1 : 0);
    if (status == TCE_OK)
        status = tce__check_reserved("tce_pool_options", o->reserved);
    if (status != TCE_OK || o->n_ranks <= 1)
        return status;
    status = tce__check_pointer("exchange", (const void *)(uintptr_t)o->exchange);
    if (status == TCE_OK)
        status = tce__check_pointer("gather", (const void *)(uintptr_t)o->gather);
    return status;
}

/* As many as there are cores that this process may use. */
static int32_t default_threads(void)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
#ifdef __linux__
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        cores = CPU_COUNT(&set);
#endif
    return cores < 1 ? 1 : cores > MAX_THREADS ? MAX_THREADS : (int32_t)cores;
}

tce_status tce_pool_create(const tce_pool_options *options, const tce_hooks *hooks, tce_pool **out)
{
    tce_status status = tce__check_pointer("out", out);
    if (status != TCE_OK)
        return status;
    *out = NULL;

    tce_pool_options opt = { 0 };
    status = tce__struct_read(options, "tce_pool_options", sizeof opt, &opt);
    if (status == TCE_OK)
        status = check_options(&opt);
    if (status != TCE_OK)
        return status;

    tce_pool pool = { .n_threads = opt.n_threads > 0 ? opt.n_threads : default_threads(),
                      .process = getpid() };
    if (opt.n_ranks > 1)
        pool.ranks = (tce__ranks){ .rank = opt.rank,
                                   .n = opt.n_ranks,
                                   .user = opt.user,
                                   .exchange = opt.exchange,
                                   .gather = opt.gather };
    tce__arena arena = { NULL, 0 };
    layout(&pool, &arena);
    status = tce__block_create(hooks, "tce_pool", &arena, &pool.hooks);
    if (status != TCE_OK)
        return status;
    tce_pool *handle = layout(&pool, &arena);
    *handle = pool;
    pthread_mutex_init(&handle->lock, NULL);
    pthread_cond_init(&handle->wake, NULL);
    pthread_cond_init(&handle->done, NULL);
    pthread_cond_init(&handle->idle, NULL);

    /* the caller is worker 0 */
    for (int32_t i = 1; i < handle->n_threads; i++) {
        worker *w = &handle->workers[i - 1];
        w->pool = handle;
        w->index = i;
        const int error = pthread_create(&w->thread, NULL, worker_main, w);
        if (error != 0) {
            tce_pool_free(handle);
            return tce_fail(TCE_E_THREAD, "thread %d of %d could not be started: %s", (int)i,
                            (int)pool.n_threads, strerror(error));
        }
        handle->n_started++;
    }
    *out = handle;
    return TCE_OK;
}

void tce_pool_free(tce_pool *pool)
{
    if (!pool)
        return;
    if (is_forked(pool)) {
        tce__block_free(&pool->hooks, pool);
        return;
    }
    pthread_mutex_lock(&pool->lock);
    pool->stop = 1;
    pthread_cond_broadcast(&pool->wake);
    pthread_mutex_unlock(&pool->lock);
    for (int32_t i = 0; i < pool->n_started; i++)
        pthread_join(pool->workers[i].thread, NULL);

    pthread_cond_destroy(&pool->idle);
    pthread_cond_destroy(&pool->done);
    pthread_cond_destroy(&pool->wake);
    pthread_mutex_destroy(&pool->lock);
    tce__block_free(&pool->hooks, pool);
}

int32_t tce_pool_n_threads(const tce_pool *pool)
{
    return pool ? pool->n_threads : 1;
}

const tce__ranks *tce__pool_ranks(const tce_pool *pool)
{
    return pool && pool->ranks.n > 1 ? &pool->ranks : NULL;
}

int tce__pool_inside(void)
{
    return innermost != NULL;
}

tce_status tce_pool_run(tce_pool *pool, size_t n_items, size_t chunk_size, tce_pool_work work,
                        void *context)
{
    tce_status status = tce__check_pointer("work", (const void *)(uintptr_t)work);
    if (status != TCE_OK)
        return status;
    if (chunk_size == 0)
        return tce_fail(TCE_E_VALUE, "chunk_size = 0, must be > 0");
    if (n_items == 0)
        return TCE_OK;

    const size_t n_chunks = n_items / chunk_size + (n_items % chunk_size != 0);
    const frame *inside = pool ? find_frame(pool) : NULL;
    if (inside)
        return run_here(inside->worker, n_items, chunk_size, work, context);
    if (!pool || pool->n_threads == 1 || n_chunks == 1 || is_forked(pool))
        return run_here(0, n_items, chunk_size, work, context);

    /* another run is waited for, but not from inside an item, which somebody waits for in turn */
    pthread_mutex_lock(&pool->lock);
    while (pool->running && !innermost)
        pthread_cond_wait(&pool->idle, &pool->lock);
    if (pool->running) {
        pthread_mutex_unlock(&pool->lock);
        const frame here = { .pool = pool, .outer = innermost, .worker = 0 };
        innermost = &here;
        status = run_here(0, n_items, chunk_size, work, context);
        innermost = here.outer;
        return status;
    }

    /*
     * publish the call when the last one's stragglers are gone, help with it, wait for the others
     */
    pool->running = 1;
    wait_for_workers(pool);
    const pool_call next = { .work = work,
                             .context = context,
                             .n_items = n_items,
                             .chunk_size = chunk_size,
                             .n_chunks = n_chunks,
                             .bad_chunk = SIZE_MAX,
                             .status = TCE_OK };
    pool->call = next;
    __atomic_add_fetch(&pool->generation, 1, __ATOMIC_RELAXED);
    if (pool->n_sleeping > 0)
        pthread_cond_broadcast(&pool->wake);
    pthread_mutex_unlock(&pool->lock);
    work_on_call(pool, 0);
    for (int i = 0; i < LOOKS && __atomic_load_n(&pool->n_busy, __ATOMIC_ACQUIRE) > 0; i++)
        pause_briefly();
    pthread_mutex_lock(&pool->lock);
    wait_for_workers(pool);

    /* the message is read before the next run can overwrite it */
    status = pool->call.status;
    if (status != TCE_OK)
        (void)tce_fail(status, "%s", pool->failure);
    pool->running = 0;
    pthread_cond_signal(&pool->idle);
    pthread_mutex_unlock(&pool->lock);
    return status;
}

tce_status tce__pool_run_sized(tce_pool *pool, size_t n_multiplications, size_t n_items,
                               size_t chunk_size, tce_pool_work work, void *context)
{
    return tce_pool_run(n_multiplications < WORTH_WAKING ? NULL : pool, n_items, chunk_size, work,
                        context);
}
