/*
 * pool: the threads of a program, shared by all handles that take a pool in their options.
 */
#ifndef TCE_POOL_H
#define TCE_POOL_H

#include <tce/status.h>

TCE_BEGIN_C

/*
 * Workers for the handles that take a pool in their options. Work is cut into chunks of a fixed
 * size and sums over chunks are added in a fixed order, so every result has the same bytes for any
 * n_threads. NULL is a valid pool: everything runs in the calling thread. The pool must outlive its
 * users.
 */
typedef struct tce_pool tce_pool;

/*
 * Experimental: how the processes of one computation, its ranks, exchange bytes (MPI_Alltoallv and
 * MPI_Allgatherv). Every rank makes the same calls in the same order.
 *
 * exchange   piece s of send, send[send_at[s]] … send[send_at[s+1]-1], goes to rank s; what rank s
 *            sent here becomes piece s of receive. Offsets are [n_ranks + 1]
 * gather     before the call, rank s has filled its own piece all[at[s]] … all[at[s+1]-1];
 *            afterwards every rank has all pieces
 */
typedef tce_status (*tce_pool_exchange)(void *user, const void *send, const size_t *send_at,
                                        void *receive, const size_t *receive_at);
typedef tce_status (*tce_pool_gather)(void *user, void *all, const size_t *at);

/*
 * With n_ranks > 1 the pool spans processes that all do the same work on the same data: passes of
 * networks over many rows are split among them, everything else is repeated by each. The results
 * have the same bytes on all ranks, and the bytes of one process. One thread of each process makes
 * the calls that exchange, in the same order everywhere; the callbacks run in that thread. What
 * runs inside an item of a pool never exchanges. When a rank fails in a pass that is split, the
 * pass has the status and message of the lowest failing rank on all of them.
 */
typedef struct tce_pool_options {
    size_t struct_size;
    /* the calling thread counts as one; 0: as many as there are cores that the process may use */
    int32_t n_threads;
    int32_t reserved;
    int32_t rank;               /* experimental: 0 … n_ranks-1 */
    int32_t n_ranks;            /* experimental: 0 and 1 mean one process, without callbacks */
    void *user;                 /* experimental: given to the callbacks */
    tce_pool_exchange exchange; /* experimental */
    tce_pool_gather gather;     /* experimental */
} tce_pool_options;

TCE_API void tce_pool_options_init(tce_pool_options *options, size_t struct_size);
/* TCE_E_VALUE, TCE_E_NOMEM, TCE_E_THREAD.   Since 0.2. */
TCE_API TCE_NODISCARD tce_status tce_pool_create(const tce_pool_options *options,
                                                 const tce_hooks *hooks, tce_pool **out);
TCE_API void tce_pool_free(tce_pool *pool);
/* Number of threads, 1 for NULL. */
TCE_API int32_t tce_pool_n_threads(const tce_pool *pool);

/*
 * Works on the items begin … end-1, which are chunk number `chunk`. worker is in 0 … n_threads-1;
 * within one call of tce_pool_run no two threads have the same worker number at the same time, so
 * that context may hold scratch space for each.
 */
typedef tce_status (*tce_pool_work)(void *context, size_t chunk, size_t begin, size_t end,
                                    int32_t worker);

/*
 * Calls work for every chunk of n_items items and waits for all of them. All chunks run even when
 * one fails; the status and message are those of the failing chunk with the lowest number, so work
 * should fail through tce_fail. No allocation.   Since 0.2.
 *
 * The pool serves one call at a time; a call from another thread waits until that one has ended. A
 * call from inside `work` never waits: when its pool is busy, or runs the work that the call comes
 * from (at any depth), all chunks run in the calling thread. Pools may therefore be nested in any
 * way. Do not hold a lock that `work` takes during this call.
 *
 * In a forked child the pool has no threads: the calling thread runs all chunks, and tce_pool_free
 * only frees the memory.
 */
TCE_API TCE_NODISCARD tce_status tce_pool_run(tce_pool *pool, size_t n_items, size_t chunk_size,
                                              tce_pool_work work, void *context);

/*
 * Sets how many threads OpenBLAS itself uses in this process; with another BLAS it does nothing.
 * libtce never changes this number by itself. Only when it is 1 are results the same bytes for any
 * number of pool threads; 1 is also the fastest for matrices of the sizes that occur here.
 * Since 0.2.
 */
TCE_API void tce_blas_set_threads(int32_t n_threads);

/*
 * Multiplies small matrices with the BLAS, in double and in float, and compares the products with
 * those of plain loops, which takes a millisecond. Some builds of OpenBLAS multiply wrongly on one
 * kind of processor: call this once, before you rely on any result. TCE_E_LIBRARY: a product is
 * wrong.   No allocation.   Since 0.2.
 */
TCE_API TCE_NODISCARD tce_status tce_blas_check(void);

TCE_END_C

#endif
