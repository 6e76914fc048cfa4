/*
 * Parts: how a batch of rows is cut, and how sums over its parts are added.
 *
 * The number of parts is a power of two that depends on the number of rows alone, and parts are
 * added by a balanced binary tree, column by column:
 *     ((p_0 + p_1) + (p_2 + p_3)) + ((p_4 + p_5) + (p_6 + p_7))
 * So any aligned group of parts can be added anywhere, by any thread or process, and the bytes of a
 * sum depend on the batch only.
 *
 * Rank r of R computes the parts P r/R ... P (r+1)/R - 1 and adds them up to the largest aligned
 * groups inside that range. The tree is the same for every column, so rank s finishes it for slice
 * s of the columns, and the slices are gathered: each rank sends and receives about twice the size
 * of the sum, however many ranks there are.
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

/*
 * A batch is split among ranks from so many multiplications on: half a millisecond of a core,
 * beside four messages of some 10 us each.
 */
#define WORTH_SENDING ((size_t)1 << 22)

/* Sums of fewer columns are finished by every rank: one message instead of two. */
#define FEW_COLUMNS 1024

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

tce__parts tce__parts_here(tce_pool *pool, size_t n)
{
    return (tce__parts){ .pool = pool, .n = n, .last = n };
}

/* The first of n things that are a rank's. */
static size_t begin_of(const tce__ranks *ranks, size_t n, int32_t rank)
{
    return tce__parts_begin(n, (size_t)ranks->n, (size_t)rank);
}

tce__parts tce__parts_of(tce_pool *pool, size_t n_rows, size_t row_work)
{
    const tce__ranks *ranks = tce__pool_ranks(pool);
    tce__parts parts = tce__parts_here(pool, tce__parts_count(n_rows));

    parts.n_rows = n_rows;
    if (!ranks || parts.n == 1 || n_rows * row_work < WORTH_SENDING || tce__pool_inside())
        return parts;
    parts.ranks = ranks;
    parts.first = begin_of(ranks, parts.n, ranks->rank);
    parts.last = begin_of(ranks, parts.n, ranks->rank + 1);
    return parts;
}

/* ---- running --------------------------------------------------------------------------------- */

/* The work of this process's parts. */
typedef struct own_work {
    const tce__parts *parts;
    tce_pool_work work;
    void *context;
} own_work;

static tce_status run_own(void *context, size_t chunk, size_t begin, size_t end, int32_t worker)
{
    const own_work *own = context;
    const size_t first = own->parts->first;

    return own->work(own->context, first + chunk, first + begin, first + end, worker);
}

tce_status tce__parts_run(const tce__parts *parts, tce_pool_work work, void *context)
{
    own_work own = { parts, work, context };
    const tce_status status = tce_pool_run(parts->pool, parts->last - parts->first, 1, run_own,
                                           &own);

    return parts->ranks ? tce__ranks_agree(parts->ranks, status) : status;
}

tce_status tce__parts_rows(const tce__parts *parts, size_t row_size, void *rows)
{
    const tce__ranks *ranks = parts->ranks;

    if (!ranks)
        return TCE_OK;
    for (int32_t r = 0; r <= ranks->n; r++)
        ranks->send_at[r] = row_size *
                            tce__parts_begin(parts->n_rows, parts->n, begin_of(ranks, parts->n, r));
    return ranks->gather(ranks->user, rows, ranks->send_at);
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
#define ADD_ROW add_row_double
#define ADD_COLUMNS add_columns_double
#include "base/parts_impl.h"
#undef REAL
#undef ADD_ROW
#undef ADD_COLUMNS
#define REAL float
#define ADD_ROW add_row_float
#define ADD_COLUMNS add_columns_float
#include "base/parts_impl.h"

/* A sum of n columns in one precision. */
typedef struct summation {
    const tce__parts *parts;
    size_t n;
    size_t size; /* bytes of a number */
    unsigned char *x;
    unsigned char *out;
    void (*add_row)(size_t n, const void *part, void *sum);
    tce_pool_work add_columns;
} summation;

static unsigned char *row_of(const summation *s, size_t part)
{
    return s->x + part * s->n * s->size;
}

/* Parts first ... first + n_parts - 1 into out. */
static void add_tree(const summation *s, size_t first, size_t n_parts, void *out)
{
    tree t = { .n_parts = n_parts, .n = s->n, .parts = row_of(s, first), .out = out };

    /* adding cannot fail */
    (void)!tce_pool_run(s->parts->pool, s->n, COLUMNS, s->add_columns, &t);
}

/* The parts of the largest aligned group that begins at `first` and ends at `last` or before. */
static size_t group_size(size_t first, size_t last)
{
    size_t n = 1;

    while (first % (2 * n) == 0 && first + 2 * n <= last)
        n *= 2;
    return n;
}

/* Groups of the parts first ... last - 1. */
static size_t count_groups(size_t first, size_t last)
{
    size_t n = 0;

    for (; first < last; first += group_size(first, last))
        n++;
    return n;
}

/* Groups of all ranks before `rank`. */
static size_t groups_before(const tce__ranks *ranks, size_t n_parts, int32_t rank)
{
    size_t n = 0;

    for (int32_t r = 0; r < rank; r++)
        n += count_groups(begin_of(ranks, n_parts, r), begin_of(ranks, n_parts, r + 1));
    return n;
}

size_t tce__parts_room(const tce_pool *pool, size_t n_parts)
{
    const tce__ranks *ranks = tce__pool_ranks(pool);

    if (!ranks || n_parts <= 1)
        return n_parts;
    const size_t own = count_groups(begin_of(ranks, n_parts, ranks->rank),
                                    begin_of(ranks, n_parts, ranks->rank + 1));
    const size_t all = groups_before(ranks, n_parts, ranks->n);

    /* what is sent, and a slice of every group: slices differ by one column, of 1024 or more */
    return n_parts + own + all / (size_t)ranks->n + 2;
}

/* Adds this rank's groups up and lays their slices out as they are sent: by rank, then by group. */
static void pack_groups(const summation *s, unsigned char *send)
{
    const tce__parts *parts = s->parts;
    const tce__ranks *ranks = parts->ranks;
    size_t n_groups = 0;
    size_t size;

    for (size_t p = parts->first; p < parts->last; p += size, n_groups++) {
        size = group_size(p, parts->last);
        add_tree(s, p, size, row_of(s, p));
    }
    for (int32_t r = 0; r <= ranks->n; r++)
        ranks->send_at[r] = n_groups * begin_of(ranks, s->n, r) * s->size;
    for (int32_t r = 0; r < ranks->n; r++) {
        const size_t begin = begin_of(ranks, s->n, r) * s->size;
        const size_t slice = begin_of(ranks, s->n, r + 1) * s->size - begin;
        unsigned char *to = send + ranks->send_at[r];
        for (size_t p = parts->first; p < parts->last; p += group_size(p, parts->last)) {
            memcpy(to, row_of(s, p) + begin, slice);
            to += slice;
        }
    }
}

/*
 * The rest of the tree for rows [groups, width] of all groups in their order, into the first: two
 * neighbours of one size are added as soon as they are the halves of a larger group.
 */
static void add_groups(const summation *s, size_t width, unsigned char *rows)
{
    const tce__ranks *ranks = s->parts->ranks;
    size_t sizes[8 * sizeof(size_t)];
    unsigned char *sums[8 * sizeof(size_t)];
    size_t depth = 0;
    size_t first = 0;

    for (int32_t r = 0; r < ranks->n; r++) {
        const size_t last = begin_of(ranks, s->parts->n, r + 1);
        for (; first < last; rows += width * s->size) {
            sizes[depth] = group_size(first, last);
            sums[depth] = rows;
            first += sizes[depth++];
            for (; depth > 1 && sizes[depth - 2] == sizes[depth - 1]; depth--) {
                s->add_row(width, sums[depth - 1], sums[depth - 2]);
                sizes[depth - 2] *= 2;
            }
        }
    }
}

/* The sum of parts that ranks have split. */
static tce_status sum_split(const summation *s)
{
    const tce__parts *parts = s->parts;
    const tce__ranks *ranks = parts->ranks;
    const size_t begin = begin_of(ranks, s->n, ranks->rank);
    const size_t width = begin_of(ranks, s->n, ranks->rank + 1) - begin;
    unsigned char *send = row_of(s, parts->n);
    unsigned char *received = send + s->n * s->size * count_groups(parts->first, parts->last);

    pack_groups(s, send);
    for (int32_t r = 0; r <= ranks->n; r++)
        ranks->receive_at[r] = groups_before(ranks, parts->n, r) * width * s->size;
    const tce_status status = ranks->exchange(ranks->user, send, ranks->send_at, received,
                                              ranks->receive_at);
    if (status != TCE_OK)
        return status;
    add_groups(s, width, received);
    memcpy(s->out + begin * s->size, received, width * s->size);
    for (int32_t r = 0; r <= ranks->n; r++)
        ranks->send_at[r] = begin_of(ranks, s->n, r) * s->size;
    return ranks->gather(ranks->user, s->out, ranks->send_at);
}

static tce_status sum(const summation *s)
{
    const tce__parts *parts = s->parts;
    const tce__ranks *ranks = parts->ranks;
    tce_status status = TCE_OK;

    if (ranks && s->n >= FEW_COLUMNS)
        return sum_split(s);
    if (ranks) {
        for (int32_t r = 0; r <= ranks->n; r++)
            ranks->send_at[r] = begin_of(ranks, parts->n, r) * s->n * s->size;
        status = ranks->gather(ranks->user, s->x, ranks->send_at);
    }
    if (status == TCE_OK)
        add_tree(s, 0, parts->n, s->out);
    return status;
}

/* `how` has the operations of a precision. */
static tce_status sum_in(summation how, const tce__parts *parts, size_t n, void *x, void *out)
{
    how.parts = parts;
    how.n = n;
    how.x = x;
    how.out = out;
    return sum(&how);
}

tce_status tce__parts_sum(const tce__parts *parts, size_t n, double *x, double *out)
{
    const summation how = { .size = sizeof *x,
                            .add_row = add_row_double,
                            .add_columns = add_columns_double };
    return sum_in(how, parts, n, x, out);
}

tce_status tce__parts_sum_float(const tce__parts *parts, size_t n, float *x, float *out)
{
    const summation how = { .size = sizeof *x,
                            .add_row = add_row_float,
                            .add_columns = add_columns_float };
    return sum_in(how, parts, n, x, out);
}
