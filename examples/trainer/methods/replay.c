/*
 * The ring of transitions of SAC and its kin: row k of all rows is at k mod
 * capacity. A record is `width` numbers and a mark, 0 where it is lost.
 */
#include "methods/replay.h"

#include <string.h>

#define KEPT 1.0
#define LOST 0.0

size_t replay_number_size(int32_t precision)
{
    return precision == TCE_NET_DOUBLE ? sizeof(double) : sizeof(float);
}

tce_status replay_create(replay *r, const replay_options *options, memory *m)
{
    memset(r, 0, sizeof *r);
    const size_t N = options->n_envs, capacity = options->size / N;
    if (capacity < 1)
        return tce_fail(TCE_E_VALUE,
                        "a replay of %zu transitions is too small for a row of %zu environments",
                        options->size, N);
    if (capacity > UINT32_MAX)
        return tce_fail(TCE_E_VALUE, "a replay of %zu rows is too long, the limit is %u", capacity,
                        UINT32_MAX);
    r->N = N;
    r->width = options->width;
    r->number = replay_number_size(options->precision);
    r->rows.capacity = (int64_t)capacity;
    r->rows.size = N * (r->width + 1) * r->number;
    r->rows.ring = memory_take(m, capacity, r->rows.size);
    return m->failed ? tce_fail(TCE_E_NOMEM,
                                "no memory for a replay of %zu transitions: lower its "
                                "size",
                                options->size)
                     : TCE_OK;
}

size_t replay_filled(const replay *r)
{
    return (size_t)(r->rows.written < r->rows.capacity ? r->rows.written : r->rows.capacity);
}

size_t replay_position(const replay *r)
{
    return (size_t)(r->rows.written % r->rows.capacity);
}

/* ---- records --------------------------------------------------------------------------------- */

static unsigned char *record_at(const replay *r, size_t row, size_t env)
{
    return r->rows.ring + row * r->rows.size + env * (r->width + 1) * r->number;
}

/* n numbers into a record, and out of it. */
static void put(const replay *r, unsigned char *record, size_t n, const double *x)
{
    if (r->number == sizeof(double)) {
        memcpy(record, x, n * sizeof *x);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        const float rounded = (float)x[i];
        memcpy(record + i * sizeof rounded, &rounded, sizeof rounded);
    }
}

static void get(const replay *r, const unsigned char *record, size_t n, double *out)
{
    if (r->number == sizeof(double)) {
        memcpy(out, record, n * sizeof *out);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        float x;
        memcpy(&x, record + i * sizeof x, sizeof x);
        out[i] = x;
    }
}

static double mark_of(const replay *r, size_t row, size_t env)
{
    double mark;
    get(r, record_at(r, row, env) + r->width * r->number, 1, &mark);
    return mark;
}

/* Marks that rows from a checkpoint have brought. */
static void count_lost(replay *r)
{
    const size_t filled = replay_filled(r);
    if (r->counted == r->rows.written)
        return;
    r->lost = 0;
    for (size_t row = 0; row < filled; row++)
        for (size_t i = 0; i < r->N; i++)
            r->lost += mark_of(r, row, i) != KEPT;
    r->counted = r->rows.written;
}

void replay_write(replay *r, const double *records, const uint8_t *lost)
{
    const size_t row = replay_position(r);
    const int overwrites = replay_filled(r) == (size_t)r->rows.capacity;
    count_lost(r);
    for (size_t i = 0; i < r->N; i++) {
        unsigned char *record = record_at(r, row, i);
        const int is_lost = lost && lost[i];
        const double mark = is_lost ? LOST : KEPT;
        if (overwrites)
            r->lost -= mark_of(r, row, i) != KEPT;
        r->lost += is_lost;
        /* what a fault left may be anything */
        if (is_lost)
            memset(record, 0, r->width * r->number);
        else
            put(r, record, r->width, records + i * r->width);
        put(r, record + r->width * r->number, 1, &mark);
    }
    r->counted = ++r->rows.written;
}

/* ---- drawing --------------------------------------------------------------------------------- */

tce_status replay_sample(replay *r, tce_random *random, size_t n, replay_place *out)
{
    const size_t filled = replay_filled(r);
    count_lost(r);
    if (filled == 0)
        return tce_fail(TCE_E_STATE, "the replay is empty: there is nothing to learn from");
    if (r->lost == (int64_t)(filled * r->N))
        return tce_fail(TCE_E_STATE,
                        "all %zu transitions of the replay were lost to faults of "
                        "their environments",
                        filled * r->N);
    for (size_t i = 0; i < n;) {
        out[i].row = (uint32_t)tce_random_below(random, filled);
        out[i].env = (uint32_t)tce_random_below(random, r->N);
        i += r->lost == 0 || mark_of(r, out[i].row, out[i].env) == KEPT;
    }
    return TCE_OK;
}

void replay_gather(const replay *r, size_t n, const replay_place *places, size_t first,
                   size_t count, double *out, size_t stride)
{
    for (size_t i = 0; i < n; i++)
        get(r, record_at(r, places[i].row, places[i].env) + first * r->number, count,
            out + i * stride);
}
