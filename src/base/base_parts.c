/*
 * Parts: how a batch of rows is cut, and how sums over its parts are added.
 *
 * The number of parts is a power of two that depends on the number of rows alone, and parts are
 * added by a balanced binary tree, column by column:
 *     ((p_0 + p_1) + (p_2 + p_3)) + ((p_4 + p_5) + (p_6 + p_7))
 * So any aligned group of parts can be added anywhere, by any thread, and the bytes of a sum depend
 * on the batch only.
 */
#include <string.h>

#include "base/internal.h"

/*
 * Columns that are added while they are in the first-level cache, and those that a thread takes at
 * once.
 */
enum { BLOCK = 512, COLUMNS = 4096 };

/*
 * At least so many rows are a part (measured on one core: a layer of 256 x 256 at 256 rows takes
 * 676 us in one part, 821 in four), and at most so many parts are a batch, since each has a
 * gradient of its own.
 */
#define LEAST_ROWS 256
#define MOST_PARTS 64

size_t tce__parts_count(size_t n_rows)
{
    size_t n = 1;

    while (n < MOST_PARTS && n_rows / (2 * n) >= LEAST_ROWS)
        n *= 2;
    return n;
}

size_t tce__parts_begin(size_t n_rows, size_t n_parts, size_t part)
{
    /* floor(n_rows part / n_parts) without overflow */
    return n_rows / n_parts * part + n_rows % n_parts * part / n_parts;
}

tce_status tce__parts_run(tce_pool *pool, size_t n_parts, tce_pool_work work, void *context)
{
    return tce_pool_run(pool, n_parts, 1, work, context);
}

/* ---- the tree -------------------------------------------------------------------------------- */

/* Parts [n_parts, n] of floats or doubles, added into `out` [n]. */
typedef struct tree {
    size_t n_parts;
    size_t n;
    void *parts;
    void *out;
} tree;

#define REAL double
#define ADD_COLUMNS add_columns_double
#include "base/parts_impl.h"
#undef REAL
#undef ADD_COLUMNS
#define REAL float
#define ADD_COLUMNS add_columns_float
#include "base/parts_impl.h"

void tce__parts_sum(tce_pool *pool, size_t n_parts, size_t n, double *parts, double *out)
{
    tree t = { .n_parts = n_parts, .n = n, .parts = parts, .out = out };

    /* adding cannot fail */
    (void)!tce_pool_run(pool, n, COLUMNS, add_columns_double, &t);
}

void tce__parts_sum_float(tce_pool *pool, size_t n_parts, size_t n, float *parts, float *out)
{
    tree t = { .n_parts = n_parts, .n = n, .parts = parts, .out = out };

    (void)!tce_pool_run(pool, n, COLUMNS, add_columns_float, &t);
}
