/*
 * Running mean and variance of rows: divisor n in [rivals 1.4], n - 1 in [tasks 1.6].
 */
#include <tce/normaliser.h>

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/internal.h"
#include "store/field.h"

struct tce_normaliser {
    tce_hooks hooks;
    size_t n_columns;
    int32_t divisor;
    int32_t centre;
    double epsilon;
    double clip;
    double count;
    double *mean;         /* [n_columns] */
    double *variance;     /* [n_columns] */
    double *std;          /* [n_columns] sqrt(variance + epsilon) */
    double *new_mean;     /* [n_columns] scratch of update and load */
    double *new_variance; /* [n_columns] */
};

/* ---- life cycle ------------------------------------------------------------------------------ */

void tce_normaliser_options_init(tce_normaliser_options *options, size_t struct_size)
{
    const tce_normaliser_options defaults = {
        .n_columns = 1,
        .divisor = TCE_NORMALISER_ROWS,
        .centre = 1,
        .epsilon = 1e-8,
        .first_count = 1e-4,
    };
    tce__struct_init(options, struct_size, &defaults, sizeof defaults);
}

static tce_status check_options(const tce_normaliser_options *o)
{
    tce_status status = tce__check_int("n_columns", o->n_columns, 1, INT32_MAX);
    if (status == TCE_OK)
        status = tce__check_int("divisor", o->divisor, TCE_NORMALISER_ROWS,
                                TCE_NORMALISER_ROWS_LESS_ONE);
    if (status == TCE_OK)
        status = tce__check_positive("epsilon", o->epsilon);
    if (status == TCE_OK && !(o->clip >= 0.0 && isfinite(o->clip)))
        status = tce_fail(TCE_E_VALUE, "clip = %g, must be finite and at least 0", o->clip);
    if (status == TCE_OK)
        status = tce__check_positive("first_count", o->first_count);
    if (status == TCE_OK)
        status = tce__check_reserved("tce_normaliser_options", o->reserved);
    return status;
}

static tce_normaliser *layout(tce_normaliser *plan, tce__arena *arena)
{
    tce_normaliser *normaliser = tce__arena_take(arena, 1, sizeof *normaliser);

    plan->mean = tce__arena_doubles(arena, plan->n_columns);
    plan->variance = tce__arena_doubles(arena, plan->n_columns);
    plan->std = tce__arena_doubles(arena, plan->n_columns);
    plan->new_mean = tce__arena_doubles(arena, plan->n_columns);
    plan->new_variance = tce__arena_doubles(arena, plan->n_columns);
    return normaliser;
}

/* publishes new_mean and new_variance */
static void take_statistics(tce_normaliser *z, double count)
{
    for (size_t i = 0; i < z->n_columns; i++) {
        z->mean[i] = z->new_mean[i];
        z->variance[i] = z->new_variance[i];
        z->std[i] = sqrt(z->variance[i] + z->epsilon);
    }
    z->count = count;
}

tce_status tce_normaliser_create(const tce_normaliser_options *options, const tce_hooks *hooks,
                                 tce_normaliser **out)
{
    tce_status status = tce__check_pointer("out", out);
    if (status != TCE_OK)
        return status;
    *out = NULL;

    tce_normaliser_options opt;
    tce_normaliser_options_init(&opt, sizeof opt);
    status = tce__struct_read(options, "tce_normaliser_options", sizeof opt, &opt);
    if (status == TCE_OK)
        status = check_options(&opt);
    if (status != TCE_OK)
        return status;

    tce_normaliser plan = {
        .n_columns = (size_t)opt.n_columns,
        .divisor = opt.divisor,
        .centre = opt.centre != 0,
        .epsilon = opt.epsilon,
        .clip = opt.clip,
    };
    tce__arena arena = { NULL, 0 };
    layout(&plan, &arena);
    status = tce__block_create(hooks, "tce_normaliser", &arena, &plan.hooks);
    if (status != TCE_OK)
        return status;
    *out = layout(&plan, &arena);
    **out = plan;
    for (size_t i = 0; i < plan.n_columns; i++) {
        plan.new_mean[i] = 0.0;
        plan.new_variance[i] = 1.0;
    }
    take_statistics(*out, opt.first_count);
    return TCE_OK;
}

void tce_normaliser_free(tce_normaliser *normaliser)
{
    if (normaliser)
        tce__block_free(&normaliser->hooks, normaliser);
}

/* ---- statistics ------------------------------------------------------------------------------ */

static int counts(const uint8_t *mask, size_t row)
{
    return !mask || mask[row];
}

static tce_status check_rows(const tce_normaliser *z, size_t n, const double *x,
                             const uint8_t *mask, size_t *out_rows)
{
    size_t rows = 0;

    for (size_t r = 0; r < n; r++) {
        if (!counts(mask, r))
            continue;
        const double *row = x + r * z->n_columns;
        const size_t bad = tce__first_not_finite(z->n_columns, row);
        if (bad < z->n_columns)
            return tce_fail(TCE_E_VALUE, "x[%zu,%zu] = %g, must be finite", r, bad, row[bad]);
        rows++;
    }
    *out_rows = rows;
    return TCE_OK;
}

/* mean and variance of the columns of the rows that count, N of them, into new_… */
static void batch_statistics(tce_normaliser *z, size_t n, const double *x, const uint8_t *mask,
                             size_t N)
{
    const size_t C = z->n_columns;
    double *mean = z->new_mean;
    double *variance = z->new_variance;
    const size_t divisor = z->divisor == TCE_NORMALISER_ROWS ? N : N - 1;

    for (size_t i = 0; i < C; i++)
        mean[i] = variance[i] = 0.0;
    for (size_t r = 0; r < n; r++)
        for (size_t i = 0; counts(mask, r) && i < C; i++)
            mean[i] += x[r * C + i];
    for (size_t i = 0; i < C; i++)
        mean[i] /= (double)N;

    for (size_t r = 0; r < n; r++) {
        for (size_t i = 0; counts(mask, r) && i < C; i++) {
            const double d = x[r * C + i] - mean[i];
            variance[i] += d * d;
        }
    }
    for (size_t i = 0; divisor > 0 && i < C; i++)
        variance[i] /= (double)divisor;
}

tce_status tce_normaliser_update(tce_normaliser *normaliser, size_t n, const double *x,
                                 const uint8_t *mask)
{
    size_t rows = 0;
    tce_normaliser *z = normaliser;
    tce_status status = tce__check_pointer("normaliser", z);
    if (status == TCE_OK && n > 0)
        status = tce__check_pointer("x", x);
    if (status == TCE_OK)
        status = check_rows(z, n, x, mask, &rows);
    if (status != TCE_OK || rows == 0)
        return status;

    /* old and new together, in scratch */
    const double N = (double)rows;
    const double total = z->count + N;
    batch_statistics(z, n, x, mask, rows);
    for (size_t i = 0; i < z->n_columns; i++) {
        const double d = z->new_mean[i] - z->mean[i];
        const double shift = d * d * z->count * N / total;
        z->new_mean[i] = z->mean[i] + d * N / total;
        z->new_variance[i] = (z->variance[i] * z->count + z->new_variance[i] * N + shift) / total;
        if (!isfinite(z->new_variance[i]))
            return tce_fail(TCE_E_VALUE, "column %zu of x is too large, its variance overflows", i);
    }
    take_statistics(z, total);
    return TCE_OK;
}

tce_status tce_normaliser_apply(const tce_normaliser *normaliser, size_t n, const double *x,
                                double *out)
{
    const tce_normaliser *z = normaliser;
    tce_status status = tce__check_pointer("normaliser", z);
    if (status == TCE_OK)
        status = tce__check_pointer("x", x);
    if (status == TCE_OK)
        status = tce__check_pointer("out", out);
    if (status != TCE_OK)
        return status;

    for (size_t r = 0; r < n; r++) {
        for (size_t i = 0; i < z->n_columns; i++) {
            const size_t at = r * z->n_columns + i;
            double y = (z->centre ? x[at] - z->mean[i] : x[at]) / z->std[i];
            if (z->clip > 0.0)
                y = y > z->clip ? z->clip : y < -z->clip ? -z->clip : y;
            out[at] = y;
        }
    }
    return TCE_OK;
}

void tce_normaliser_statistics(const tce_normaliser *normaliser, double *out_mean,
                               double *out_variance, double *out_count)
{
    if (!normaliser)
        return;
    if (out_mean)
        memcpy(out_mean, normaliser->mean, normaliser->n_columns * sizeof *out_mean);
    if (out_variance)
        memcpy(out_variance, normaliser->variance, normaliser->n_columns * sizeof *out_variance);
    if (out_count)
        *out_count = normaliser->count;
}

/* ---- store ----------------------------------------------------------------------------------- */

tce_status tce_normaliser_save(const tce_normaliser *normaliser, tce_store *store,
                               const char *prefix)
{
    const tce_normaliser *z = normaliser;
    tce_status status = tce__check_pointer("normaliser", z);
    if (status == TCE_OK)
        status = tce__check_pointer("store", store);
    if (status == TCE_OK)
        status = tce__field_put(store, prefix, "mean", TCE_STORE_F64, z->n_columns, 0, z->mean);
    if (status == TCE_OK)
        status = tce__field_put(store, prefix, "variance", TCE_STORE_F64, z->n_columns, 0,
                                z->variance);
    if (status == TCE_OK)
        status = tce__field_put(store, prefix, "count", TCE_STORE_F64, 1, 0, &z->count);
    return status;
}

tce_status tce_normaliser_load(tce_normaliser *normaliser, const tce_store *store,
                               const char *prefix)
{
    tce_normaliser *z = normaliser;
    tce_status status = tce__check_pointer("normaliser", z);
    if (status == TCE_OK)
        status = tce__check_pointer("store", store);

    /* everything is checked before anything changes */
    if (status == TCE_OK)
        status = tce__field_check(store, prefix, "mean", z->n_columns, 0, -DBL_MAX, DBL_MAX);
    if (status == TCE_OK)
        status = tce__field_check(store, prefix, "variance", z->n_columns, 0, 0.0, DBL_MAX);
    if (status == TCE_OK)
        status = tce__field_check(store, prefix, "count", 1, 0, DBL_MIN, DBL_MAX);
    if (status != TCE_OK)
        return status;

    double count;
    status = tce__field_read(store, prefix, "mean", TCE_STORE_F64, z->n_columns, z->new_mean);
    if (status == TCE_OK)
        status = tce__field_read(store, prefix, "variance", TCE_STORE_F64, z->n_columns,
                                 z->new_variance);
    if (status == TCE_OK)
        status = tce__field_read(store, prefix, "count", TCE_STORE_F64, 1, &count);
    if (status == TCE_OK)
        take_statistics(z, count);
    return status;
}
