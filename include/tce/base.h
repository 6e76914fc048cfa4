/*
 * base: what every other header stands on: statuses and their messages, hooks for memory, random
 * streams, and the thread pool.
 *
 * A function that can fail returns tce_status; tce_error_message() then says, for the calling
 * thread, which argument was wrong, its value and its limit. libtce never prints, exits or aborts.
 *
 * A function that cannot fail and reads a handle takes NULL for one that is empty: it returns 0,
 * NULL or "" (or what its comment says), and leaves its outputs untouched.
 */
#ifndef TCE_BASE_H
#define TCE_BASE_H

#include <tce/version.h>

TCE_BEGIN_C

/* ---- statuses: 0 or a negative number that never changes meaning ----------------------------- */

typedef int32_t tce_status;

enum {
    TCE_OK = 0,

    /* arguments: outputs are untouched */
    TCE_E_ARGUMENT = -1,    /* a pointer that may not be NULL, or an unknown enumerator */
    TCE_E_SHAPE = -2,       /* sizes that do not fit each other or the handle */
    TCE_E_VALUE = -3,       /* a number out of range, NaN or infinite */
    TCE_E_VERSION = -4,     /* a struct or file from a newer libtce */
    TCE_E_STATE = -5,       /* a call out of order, e.g. backward before forward */
    TCE_E_UNSUPPORTED = -6, /* a combination of options that has no meaning */

    /* resources */
    TCE_E_NOMEM = -10,
    TCE_E_IO = -11,        /* the system refused to read or write; the message has its reason */
    TCE_E_CORRUPT = -12,   /* a file that is damaged or is not what it claims to be */
    TCE_E_NOT_FOUND = -13, /* no such file, array, task or symbol */
    TCE_E_THREAD = -14,    /* a thread could not be started */

    /* numerics: outputs are NaN */
    TCE_E_NOT_PD = -20,      /* a matrix is not positive definite */
    TCE_E_NO_CONVERGE = -21, /* an iteration gave up */
    TCE_E_NOT_FINITE = -22,  /* a result overflowed or is NaN */
    TCE_E_SINGULAR = -23,    /* a system has no unique solution */

    /* environments */
    TCE_E_ENV = -30,     /* an environment failed; the message has its index and reason */
    TCE_E_ENV_NAN = -31, /* an environment returned NaN or infinity */
    TCE_E_LIBRARY = -32  /* a task library could not be loaded */
};

/*
 * "TCE_E_NOT_PD", and a sentence for people; constant strings, also for unknown numbers.   Since
 * 0.1.
 */
TCE_API const char *tce_status_name(tce_status status);
TCE_API const char *tce_status_text(tce_status status);

/*
 * What the last failing call in this thread said; "" before the first. Valid until the next
 * failure.   Since 0.1.
 */
TCE_API const char *tce_error_message(void);

/*
 * For callbacks written by the caller (environments, losses): stores the message for this thread
 * and returns status, which travels up through libtce.   Since 0.1.
 */
TCE_API tce_status tce_fail(tce_status status, const char *format, ...) TCE_PRINTF(2, 3);

/* ---- hooks ----------------------------------------------------------------------------------- */

/*
 * How libtce gets memory. NULL instead of a tce_hooks, or NULL for both functions, means the
 * default: aligned memory from the C library. Hooks are copied at create.
 */
typedef struct tce_hooks {
    size_t struct_size;
    void *user;
    void *(*allocate)(void *user, size_t size, size_t alignment); /* NULL when there is none */
    void (*release)(void *user, void *block);
} tce_hooks;

TCE_API void tce_hooks_init(tce_hooks *hooks, size_t struct_size);

/* ---- random streams -------------------------------------------------------------------------- */

/*
 * A Philox 4x64-10 stream, keyed by what it is for. Two streams with different keys are
 * independent, so results do not depend on which thread draws, or in which order. A plain value:
 * copy it to keep it.
 */
typedef struct tce_random {
    uint64_t key[2];     /* seed, purpose */
    uint64_t counter[4]; /* block, a, b, 0 */
    uint64_t block[4];   /* the numbers of the current block */
    uint32_t used;       /* how many of them are spent */
    uint32_t has_spare;  /* whether `spare` holds the second normal of a pair */
    double spare;
} tce_random;

TCE_API void tce_random_start(tce_random *random, uint64_t seed, uint64_t purpose, uint64_t a,
                              uint64_t b);
TCE_API uint64_t tce_random_bits(tce_random *random);
/* In [0, 1), 53 bits. */
TCE_API double tce_random_uniform(tce_random *random);
/* Standard normal. */
TCE_API double tce_random_normal(tce_random *random);
TCE_API void tce_random_normals(tce_random *random, size_t n, double *out);
/* Uniform in 0 … n-1, without bias; 0 when n is 0. */
TCE_API uint64_t tce_random_below(tce_random *random, uint64_t n);
/* A uniform permutation of 0 … n-1 into out[n]. */
TCE_API void tce_random_permutation(tce_random *random, size_t n, uint32_t *out);

/* ---- thread pool ----------------------------------------------------------------------------- */

/*
 * Workers for the handles that take a pool in their options. Work is cut into chunks of a fixed
 * size and sums over chunks are added in a fixed order, so every result has the same bytes for any
 * n_threads. NULL is a valid pool: everything runs in the calling thread. The pool must outlive its
 * users.
 */
typedef struct tce_pool tce_pool;

typedef struct tce_pool_options {
    size_t struct_size;
    int32_t n_threads; /* the calling thread counts as one; 0: as many as the machine has cores */
    int32_t reserved;
} tce_pool_options;

TCE_API void tce_pool_options_init(tce_pool_options *options, size_t struct_size);
/* TCE_E_VALUE, TCE_E_NOMEM, TCE_E_THREAD.   Since 0.1. */
TCE_API TCE_NODISCARD tce_status tce_pool_create(const tce_pool_options *options,
                                                 const tce_hooks *hooks, tce_pool **out);
TCE_API void tce_pool_free(tce_pool *pool);
/* Number of threads, 1 for NULL. */
TCE_API int32_t tce_pool_threads(const tce_pool *pool);

/*
 * Items begin … end-1 are chunk number `chunk`; worker is in 0 … n_threads-1. Within one call of
 * tce_pool_run, no two threads have the same worker number at once: context may hold one place for
 * each.
 */
typedef tce_status (*tce_pool_work)(void *context, size_t chunk, size_t begin, size_t end,
                                    int32_t worker);

/*
 * Calls work for every chunk of n_items items and waits for all of them. All chunks run even when
 * one fails; the status and message are those of the failing chunk with the lowest number. No
 * allocation.   Since 0.1.
 *
 * The pool serves one call at a time: a call from another thread waits for it to end. A call from
 * inside work never waits for a pool: when the pool is that of the work around it, at any depth, or
 * is busy, all chunks run in the calling thread. So pools may be nested in any way. Do not hold a
 * lock during the call that work takes.
 *
 * In a forked child the pool has no threads: the calling thread runs all chunks, and tce_pool_free
 * only frees the memory.
 */
TCE_API TCE_NODISCARD tce_status tce_pool_run(tce_pool *pool, size_t n_items, size_t chunk_size,
                                              tce_pool_work work, void *context);

/*
 * How many threads OpenBLAS itself uses, for the whole process. libtce never changes it on its own;
 * its promise of equal bytes needs 1, which is also the fastest for matrices of this size.   Since
 * 0.1.
 */
TCE_API void tce_blas_set_threads(int32_t n_threads);
TCE_API int32_t tce_blas_threads(void);

/*
 * OpenBLAS chooses its kernels by the processor when it is loaded. For one that is newer than
 * itself it takes those of 2004, at a third of the speed or less. Then this is what the environment
 * variable OPENBLAS_CORETYPE should be set to before the program starts; NULL when the choice was
 * good, or was made by that variable.   Since 0.1.
 */
TCE_API const char *tce_blas_better_kernels(void);

TCE_END_C

#endif
