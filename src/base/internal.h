/*
 * What the modules share: argument checks, options structs, the one-block memory of a handle, sums
 * over chunks.
 *
 * A create function reads its options, lays its arrays out twice with the same function (once to
 * measure, once to carve) and asks for one block:
 *
 *     tce_status status = tce__struct_read(options, "tce_x_options", sizeof opt, &opt);
 *     (opt preset by options_init)
 *     struct tce_x x = { ... sizes ... };
 *     tce__arena arena = { NULL, 0 };
 *     layout(&x, &arena);                             measures: every pointer is NULL
 *     status = tce__block_create(hooks, "tce_x", &arena, &x.hooks);
 *     tce_x *handle = layout(&x, &arena);             carves: pointers are real, memory is zero
 *     *handle = x;
 */
#ifndef TCE_BASE_INTERNAL_H
#define TCE_BASE_INTERNAL_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>

#include <tce/pool.h>
#include <tce/random.h>

/* Alignment of every array of a handle: a cache line, and enough for any vector unit. */
#define TCE__ALIGNMENT 64

#define TCE__PI 3.14159265358979323846
#define TCE__LOG_2PI 1.83787706640934548356

/*
 * Compiled for AVX2 and AVX-512 as well where the library can choose when it is loaded, which takes
 * the dynamic linker of glibc: musl's refuses such a library. No contraction, and sums have a fixed
 * number of lanes, so the bytes are the same.
 */
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define TCE__VECTOR __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define TCE__VECTOR
#endif

/* ---- checks ---------------------------------------------------------------------------------- */

/* Index of the first NaN or infinity in x[n]; n when all are finite. */
size_t tce__first_not_finite(size_t n, const double *x);

/* TCE_OK, or TCE_E_VALUE naming `name[i]`; NULL with n > 0 is TCE_E_ARGUMENT. */
tce_status tce__check_finite(const char *name, size_t n, const double *x);

/* TCE_OK, or TCE_E_ARGUMENT naming the argument. */
tce_status tce__check_pointer(const char *name, const void *pointer);

/* TCE_OK, or TCE_E_VALUE with the limits. */
tce_status tce__check_int(const char *name, int64_t value, int64_t least, int64_t most);

/* TCE_OK, or TCE_E_VALUE: value must be finite and > 0. */
tce_status tce__check_positive(const char *name, double value);

/* ---- messages -------------------------------------------------------------------------------- */

/* Makes text the message of this thread, as it stands; "" costs next to nothing. */
void tce__message_set(const char *text);

/*
 * How often tce_fail was called in this thread. Taken before a callback, it tells tce__returned
 * whether the callback left a message of its own.
 */
uint64_t tce__n_failures(void);

/*
 * The status that a callback returned for `items` begin to end - 1. One that failed without
 * tce_fail gets a message that names it and them.
 */
tce_status tce__returned(tce_status status, uint64_t n_failures_before, const char *callback,
                         const char *items, size_t begin, size_t end);

/* ---- growing structs ------------------------------------------------------------------------- */

/*
 * For x_init: zeroes *out for the caller's struct_size, copies as much of the defaults as fits,
 * sets its struct_size.
 */
void tce__struct_init(void *out, size_t struct_size, const void *defaults, size_t known_size);

/*
 * For create: copies the caller's struct over *out, which the caller has preset with defaults. A
 * shorter one leaves the rest as preset; a longer one is TCE_E_VERSION unless its tail is zero;
 * NULL and a struct_size that nobody set are TCE_E_ARGUMENT naming `what`_init or TCE_INIT(`what`).
 */
tce_status tce__struct_read(const void *given, const char *what, size_t known_size, void *out);

/*
 * TCE_OK, or TCE_E_VERSION: the field `reserved` of the struct `what`, which newer versions may
 * use, is 0 for this one.
 */
tce_status tce__check_reserved(const char *what, int32_t value);

/* For results, before anything is written: TCE_E_ARGUMENT when nobody set the struct_size. */
tce_status tce__struct_check(const void *out, const char *what);

/*
 * For results: writes as much of *result as the caller's struct has room for, keeping its
 * struct_size.
 */
void tce__struct_write(void *out, const void *result, size_t known_size);

/* ---- one-block memory ------------------------------------------------------------------------ */

/*
 * Walks a block; with base NULL it only measures. `size` becomes SIZE_MAX on overflow, which create
 * turns into TCE_E_NOMEM.
 */
typedef struct tce__arena {
    unsigned char *base;
    size_t size;
} tce__arena;

/* The next `count` elements of `size` bytes, aligned; NULL while measuring. */
void *tce__arena_take(tce__arena *arena, size_t count, size_t size);
double *tce__arena_doubles(tce__arena *arena, size_t count);

/*
 * Asks the hooks (NULL: defaults) for the block that the arena measured, zeroes it, and rewinds the
 * arena onto it. out_hooks: what tce__block_free needs later, to be kept in the handle. TCE_E_NOMEM
 * names `what` and the size.
 */
tce_status tce__block_create(const tce_hooks *hooks, const char *what, tce__arena *arena,
                             tce_hooks *out_hooks);
void tce__block_free(const tce_hooks *hooks, void *block);

/* Resolves hooks to complete ones (defaults filled in); TCE_E_VERSION as for any struct. */
tce_status tce__hooks_read(const tce_hooks *hooks, tce_hooks *out);

/* ---- small work ------------------------------------------------------------------------------ */

/*
 * tce_pool_run for work of about so many multiplications in all: the calling thread does alone what
 * is not worth waking others for. Results do not depend on that.
 */
tce_status tce__pool_run_sized(tce_pool *pool, size_t n_multiplications, size_t n_items,
                               size_t chunk_size, tce_pool_work work, void *context);

/* ---- ranks ----------------------------------------------------------------------------------- */

/* The other processes that a pool spans, and room for one exchange with them. */
typedef struct tce__ranks {
    int32_t rank;
    int32_t n;
    void *user;
    tce_pool_exchange exchange;
    tce_pool_gather gather;
    size_t *send_at;    /* [n + 1] */
    size_t *receive_at; /* [n + 1] */
    int32_t *statuses;  /* [n] */
    char *message;      /* [TCE__RANKS_MESSAGE] */
} tce__ranks;

#define TCE__RANKS_MESSAGE 1024

/* NULL where the pool is of one process. */
const tce__ranks *tce__pool_ranks(const tce_pool *pool);

/*
 * Whether the calling thread is inside an item of some pool. Then it must not exchange: other ranks
 * may work on their items in another order.
 */
int tce__pool_inside(void);

/* The status and message of the lowest failing rank; TCE_OK when none failed. */
tce_status tce__ranks_agree(const tce__ranks *ranks, tce_status status);

/* ---- parts of a batch ------------------------------------------------------------------------ */

/*
 * How many parts a batch has: a power of two that depends on its rows alone and never falls as they
 * grow.
 */
size_t tce__parts_count(size_t n_rows);

/* The first row of a part; that of part n_parts is n_rows. */
size_t tce__parts_begin(size_t n_rows, size_t n_parts, size_t part);

/* The parts of one batch, and which of them this process computes. */
typedef struct tce__parts {
    tce_pool *pool;
    const tce__ranks *ranks; /* that split the batch; NULL: all parts are computed here */
    size_t n_rows;
    size_t n;     /* parts in all */
    size_t first; /* this process computes first ... last - 1 */
    size_t last;
} tce__parts;

/*
 * The parts of n_rows rows, each of which takes row_work multiplications: ranks split them where
 * that is worth an exchange.
 */
tce__parts tce__parts_of(tce_pool *pool, size_t n_rows, size_t row_work);

/* n parts that are computed here. */
tce__parts tce__parts_here(tce_pool *pool, size_t n);

/*
 * Calls work for each part of this process, as chunk number `part`; the status is that of all
 * ranks.
 */
tce_status tce__parts_run(const tce__parts *parts, tce_pool_work work, void *context);

/* rows [n_rows] of row_size bytes, of which this process has those of its parts: all of them. */
tce_status tce__parts_rows(const tce__parts *parts, size_t row_size, void *rows);

/*
 * x [n_parts, n], of which this process has its parts, -> out [n], added by a binary tree; x is
 * used up. `out` may be the first part. tce__parts_room: rows that the array x must have.
 */
tce_status tce__parts_sum(const tce__parts *parts, size_t n, double *x, double *out);
tce_status tce__parts_sum_float(const tce__parts *parts, size_t n, float *x, float *out);
size_t tce__parts_room(const tce_pool *pool, size_t n_parts);

#endif
