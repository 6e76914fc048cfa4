/*
 * The projection layer: options, memory, and the order of things. For each Gaussian
 *
 *     [entropy control]  ->  trust region (mean and covariance apart)  ->  [entropy control]
 *
 * with one of the two entropy controls at most; backward runs it in reverse. One covariance for all
 * is projected once; otherwise Gaussians are independent and spread over the pool.
 */
#include <math.h>
#include <string.h>

#include "gauss/internal.h"
#include "linalg/linalg.h"
#include "trpl/internal.h"

/*
 * Gaussians a chunk when each has its own covariance: each is work enough to be worth a hand-over.
 */
#define CHUNK 2

#define MAX_DIM 16384
#define MAX_BATCH (1 << 24)

static const tce_trpl_options DEFAULTS = {
    .kind = TCE_TRPL_KL, .dim = 1, .max_batch = 1, .shared_cov = 1
};

void tce_trpl_options_init(tce_trpl_options *options, size_t struct_size)
{
    tce__struct_init(options, struct_size, &DEFAULTS, sizeof DEFAULTS);
}

static tce_status check_options(const tce_trpl_options *opt)
{
    tce_status status = tce__check_int("kind", opt->kind, TCE_TRPL_KL, TCE_TRPL_IDENTITY);
    if (status == TCE_OK)
        status = tce__check_int("dim", opt->dim, 1, MAX_DIM);
    if (status == TCE_OK)
        status = tce__check_int("max_batch", opt->max_batch, 1, MAX_BATCH);
    if (status == TCE_OK)
        status = tce__check_int("shared_cov", opt->shared_cov, 0, 1);
    if (status == TCE_OK)
        status = tce__check_int("diagonal", opt->diagonal, 0, 1);
    if (status == TCE_OK)
        status = tce__check_int("entropy", opt->entropy, TCE_TRPL_ENTROPY_NONE,
                                TCE_TRPL_ENTROPY_EQUAL);
    if (status == TCE_OK)
        status = tce__check_int("entropy_first", opt->entropy_first, 0, 1);
    if (status == TCE_OK)
        status = tce__check_reserved("tce_trpl_options", opt->reserved);
    return status;
}

/* matrices that the kind keeps of each covariance */
static void layout_cov(const tce_trpl *tr, tce__arena *arena, tce__cov *cov)
{
    const size_t P = tr->P;
    const size_t size = tr->opt.diagonal ? P : P * P;
    const int32_t kind = tr->opt.kind;
    const int full = !tr->opt.diagonal;

    cov->L = tce__arena_doubles(arena, size);
    cov->projected = tce__arena_doubles(arena, size);
    cov->values = tce__arena_doubles(arena, P);
    if (full && kind == TCE_TRPL_KL)
        cov->C = tce__arena_doubles(arena, size);
    if (kind == TCE_TRPL_W2 || kind == TCE_TRPL_FROBENIUS)
        cov->X = tce__arena_doubles(arena, size);
    if (full && kind == TCE_TRPL_W2) {
        cov->Z = tce__arena_doubles(arena, size);
        cov->Q = tce__arena_doubles(arena, size);
        cov->root = tce__arena_doubles(arena, size);
    }
}

static tce_trpl *layout(tce_trpl *tr, tce__arena *arena)
{
    const size_t n = (size_t)tr->opt.max_batch;
    const size_t P = tr->P;
    const size_t n_cov = tr->opt.shared_cov ? 1 : n;
    const size_t threads = tr->opt.shared_cov ? 1 : (size_t)tce_pool_n_threads(tr->opt.pool);

    tce_trpl *handle = tce__arena_take(arena, 1, sizeof *handle);
    tr->delta = tce__arena_doubles(arena, n * P);
    tr->w = tce__arena_doubles(arena, n * P);
    tr->mean = tce__arena_doubles(arena, n * P);
    tr->rows = tce__arena_doubles(arena, n * P);
    tr->solve_work = tce__arena_doubles(arena, tr->opt.shared_cov ? tce__solve_rows_work(n) : 0);
    tr->mean_distance = tce__arena_doubles(arena, n);
    tr->mean_square = tce__arena_doubles(arena, n);
    tr->mean_step = tce__arena_doubles(arena, n);
    tr->loss = tce__arena_doubles(arena, n);
    tr->cov = tce__arena_take(arena, n_cov, sizeof *tr->cov);

    /* four matrices and two vectors of a kind's own, and what linalg asks for */
    tr->work_size = tr->opt.diagonal ? 4 * P : 4 * P * P + 2 * P + tce__factor_work(P);
    tr->work = tce__arena_doubles(arena, threads * tr->work_size);
    for (size_t e = 0; e < n_cov; e++) {
        tce__cov measured = { 0 };
        layout_cov(tr, arena, tr->cov ? &tr->cov[e] : &measured);
    }
    return handle;
}

tce_status tce_trpl_create(const tce_trpl_options *options, const tce_hooks *hooks, tce_trpl **out)
{
    tce_status status = tce__check_pointer("out", out);
    if (status != TCE_OK)
        return status;
    *out = NULL;

    tce_trpl tr = { .opt = DEFAULTS };
    status = tce__struct_read(options, "tce_trpl_options", sizeof tr.opt, &tr.opt);
    if (status == TCE_OK)
        status = check_options(&tr.opt);
    if (status != TCE_OK)
        return status;
    tr.P = (size_t)tr.opt.dim;

    tce__arena arena = { NULL, 0 };
    layout(&tr, &arena);
    status = tce__block_create(hooks, "tce_trpl", &arena, &tr.hooks);
    if (status != TCE_OK)
        return status;
    tce_trpl *handle = layout(&tr, &arena);
    *handle = tr;
    *out = handle;
    return TCE_OK;
}

void tce_trpl_free(tce_trpl *tr)
{
    if (tr)
        tce__block_free(&tr->hooks, tr);
}

/* ---- project --------------------------------------------------------------------------------- */

tce_status tce__cov_outside(double distance, double bound, tce__cov *cov)
{
    cov->distance = distance;
    cov->eta = 0.0;
    cov->step = 1.0;
    cov->active = !(distance <= bound);
    if (!isfinite(distance))
        return tce_fail(TCE_E_NOT_FINITE, "the distance from the old covariance is %g", distance);
    return TCE_OK;
}

void tce__cov_shorten(double bound, tce__cov *cov)
{
    cov->step = sqrt(bound / cov->distance);
    cov->eta = 1.0 / cov->step - 1.0;
}

/* The arguments of a call, for the pool's workers. */
typedef struct call {
    tce_trpl *tr;
    const double *mean;
    const double *L;
    const double *old_mean;
    const double *old_L;
    tce_trpl_bounds bounds;
    double *out_mean;
    double *out_L;
} call;

/* number of doubles of a kept factor: a matrix or a vector of diagonals */
static size_t kept_size(const tce_trpl *tr)
{
    return tr->opt.diagonal ? tr->P : tr->P * tr->P;
}

static void read_factor(const tce_trpl *tr, const double *L, double *kept)
{
    if (tr->opt.diagonal)
        memcpy(kept, L, tr->P * sizeof *kept);
    else
        tce__copy_lower(tr->P, L, kept);
}

static tce_status project_trust_region(const tce_trpl *tr, const double *old_L, double bound,
                                       tce__cov *cov, double *work)
{
    if (tr->opt.diagonal) {
        memcpy(cov->values, old_L, tr->P * sizeof *old_L);
        return tce__diagonal_project(tr->P, tr->opt.kind, bound, cov, work);
    }
    switch (tr->opt.kind) {
    case TCE_TRPL_W2:
        return tce__w2_project(tr->P, old_L, bound, cov, work);
    case TCE_TRPL_FROBENIUS:
        return tce__frobenius_project(tr->P, old_L, bound, cov, work);
    default:
        return tce__kl_project(tr->P, old_L, bound, cov, work);
    }
}

/* entropy control, trust region, entropy control of factor e */
static tce_status project_factor(const call *c, size_t e, double *work)
{
    tce_trpl *tr = c->tr;
    tce__cov *cov = &tr->cov[e];
    const size_t P = tr->P;
    const size_t stride = tr->opt.diagonal ? 1 : P + 1;
    const int32_t first = tr->opt.entropy_first ? tr->opt.entropy : TCE_TRPL_ENTROPY_NONE;
    const int32_t after = tr->opt.entropy_first ? TCE_TRPL_ENTROPY_NONE : tr->opt.entropy;

    read_factor(tr, c->L + e * kept_size(tr), cov->L);
    cov->first = tce__entropy_factor(P, cov->L, stride, c->bounds.entropy, first,
                                     &cov->scaled_first);
    if (cov->scaled_first)
        tce__scale(kept_size(tr), cov->first, cov->L);

    const tce_status status = project_trust_region(tr, c->old_L + e * kept_size(tr), c->bounds.cov,
                                                   cov, work);
    if (status != TCE_OK)
        return status;
    cov->after = tce__entropy_factor(P, cov->projected, stride, c->bounds.entropy, after,
                                     &cov->scaled_after);
    return TCE_OK;
}

static tce_status project_chunk(void *context, size_t chunk, size_t begin, size_t end,
                                int32_t worker)
{
    const call *c = context;
    tce_trpl *tr = c->tr;
    (void)chunk;
    for (size_t e = begin; e < end; e++) {
        tce__mean_project(tr, e, e + 1, c->mean, c->old_mean, c->old_L + e * kept_size(tr),
                          c->bounds.mean);
        const tce_status status = project_factor(c, e, tr->work + (size_t)worker * tr->work_size);
        if (status != TCE_OK)
            return status;
    }
    return TCE_OK;
}

/* Copies the bounds into the call. */
static tce_status read_bounds(call *c, const tce_trpl_bounds *bounds)
{
    const tce_trpl_options *opt = &c->tr->opt;
    if (opt->kind == TCE_TRPL_IDENTITY)
        return TCE_OK;
    tce_status status = tce__struct_read(bounds, "tce_trpl_bounds", sizeof c->bounds, &c->bounds);
    if (status == TCE_OK)
        status = tce__check_positive("bounds.mean", c->bounds.mean);
    if (status == TCE_OK)
        status = tce__check_positive("bounds.cov", c->bounds.cov);
    if (status == TCE_OK && opt->entropy != TCE_TRPL_ENTROPY_NONE)
        status = tce__check_entropy_bound("bounds.entropy", c->bounds.entropy);
    return status;
}

static tce_status check_project(const call *c, size_t n)
{
    const tce_trpl *tr = c->tr;
    tce_status status = tce__check_pointer("tr", tr);
    if (status != TCE_OK)
        return status;
    const size_t P = tr->P;
    const size_t n_cov = tr->opt.shared_cov ? 1 : n;
    if (n == 0 || n > (size_t)tr->opt.max_batch)
        return tce_fail(TCE_E_SHAPE, "n = %zu, must be in 1 ... max_batch = %d", n,
                        tr->opt.max_batch);

    status = tce__check_finite("mean", n * P, c->mean);
    if (status == TCE_OK)
        status = tce__check_finite("old_mean", n * P, c->old_mean);
    if (status == TCE_OK)
        status = tce__check_scales(tr, "L", n_cov, c->L);
    if (status == TCE_OK)
        status = tce__check_scales(tr, "old_L", n_cov, c->old_L);
    if (status == TCE_OK)
        status = tce__check_pointer("out_mean", c->out_mean);
    if (status == TCE_OK)
        status = tce__check_pointer("out_L", c->out_L);
    return status;
}

/* NaN into everything that project writes */
static void publish_failure(const call *c, size_t n, size_t n_cov)
{
    const size_t P = c->tr->P;
    for (size_t k = 0; k < n * P; k++)
        c->out_mean[k] = NAN;
    for (size_t k = 0; k < n_cov * kept_size(c->tr); k++)
        c->out_L[k] = NAN;
}

/* whether what was written is */
static int are_finite(const call *c, size_t n, size_t n_cov)
{
    const size_t n_mean = n * c->tr->P, n_L = n_cov * kept_size(c->tr);
    return tce__first_not_finite(n_mean, c->out_mean) == n_mean &&
           tce__first_not_finite(n_L, c->out_L) == n_L;
}

/* results out of the handle; TCE_E_NOT_FINITE when one overflowed */
static tce_status publish(const call *c, size_t n, size_t n_cov)
{
    const tce_trpl *tr = c->tr;
    const size_t P = tr->P;
    int finite = tce__first_not_finite(n, tr->mean_distance) == n;
    for (size_t e = 0; e < n_cov; e++) {
        const tce__cov *cov = &tr->cov[e];
        finite = finite && isfinite(cov->after) &&
                 tce__first_not_finite(kept_size(tr), cov->projected) == kept_size(tr);
    }
    if (!finite)
        return tce_fail(TCE_E_NOT_FINITE,
                        "the projected Gaussians overflow: the inputs differ too much in size");

    memcpy(c->out_mean, tr->mean, n * P * sizeof *tr->mean);
    for (size_t e = 0; e < n_cov; e++) {
        double *out = c->out_L + e * kept_size(tr);
        memcpy(out, tr->cov[e].projected, kept_size(tr) * sizeof *out);
        if (tr->cov[e].scaled_after)
            tce__scale(kept_size(tr), tr->cov[e].after, out);
    }
    return TCE_OK;
}

/* TCE_TRPL_IDENTITY: copies, and nothing to remember but that */
static void project_nothing(const call *c, size_t n, size_t n_cov)
{
    tce_trpl *tr = c->tr;
    const size_t P = tr->P;
    memcpy(tr->mean, c->mean, n * P * sizeof *tr->mean);
    for (size_t i = 0; i < n; i++) {
        tr->mean_distance[i] = 0.0;
        tr->mean_step[i] = 1.0;
    }
    for (size_t e = 0; e < n_cov; e++) {
        tce__cov *cov = &tr->cov[e];
        read_factor(tr, c->L + e * kept_size(tr), cov->projected);
        cov->first = 1.0;
        cov->after = 1.0;
    }
}

tce_status tce_trpl_project(tce_trpl *tr, size_t n, const double *mean, const double *L,
                            const double *old_mean, const double *old_L,
                            const tce_trpl_bounds *bounds, double *out_mean, double *out_L)
{
    call c = { tr, mean, L, old_mean, old_L, TCE_INIT(tce_trpl_bounds), out_mean, out_L };
    tce_status status = check_project(&c, n);
    if (status == TCE_OK)
        status = read_bounds(&c, bounds);
    if (status != TCE_OK)
        return status;

    /* work into the handle, so that outputs may be inputs */
    const size_t n_cov = tr->opt.shared_cov ? 1 : n;
    tr->n = 0;
    if (tr->opt.kind == TCE_TRPL_IDENTITY) {
        project_nothing(&c, n, n_cov);
    } else if (tr->opt.shared_cov) {
        tce__mean_project(tr, 0, n, mean, old_mean, old_L, c.bounds.mean);
        status = project_factor(&c, 0, tr->work);
    } else {
        status = tce_pool_run(tr->opt.pool, n, CHUNK, project_chunk, &c);
    }

    if (status == TCE_OK)
        status = publish(&c, n, n_cov);
    if (status != TCE_OK) {
        publish_failure(&c, n, n_cov);
        return status;
    }
    tr->n = n;
    tr->n_cov = n_cov;
    return TCE_OK;
}

/* ---- backward -------------------------------------------------------------------------------- */

/*
 * entropy control, trust region, entropy control of factor e, in reverse; c->L is d_L, c->out_L
 * out_d_L
 */
static void backward_factor(const call *c, size_t e, double *work)
{
    const tce_trpl *tr = c->tr;
    const tce__cov *cov = &tr->cov[e];
    const size_t P = tr->P;
    const size_t columns = tr->opt.diagonal ? 1 : P;
    double *d_L = work;
    double *result = work + P * columns;
    double *rest = result + P * columns;

    read_factor(tr, c->L + e * kept_size(tr), d_L);
    if (cov->scaled_after)
        tce__entropy_backward(P, columns, cov->projected, cov->after, d_L);

    if (!cov->active) {
        memcpy(result, d_L, P * columns * sizeof *d_L);
    } else if (tr->opt.diagonal) {
        tce__diagonal_backward(P, tr->opt.kind, cov, d_L, d_L, result);
        memcpy(result, d_L, P * sizeof *d_L);
    } else if (tr->opt.kind == TCE_TRPL_W2) {
        tce__w2_backward(P, cov, d_L, result, rest);
    } else if (tr->opt.kind == TCE_TRPL_FROBENIUS) {
        tce__frobenius_backward(P, cov, d_L, result, rest);
    } else {
        tce__kl_backward(P, cov, d_L, result, rest);
    }

    if (cov->scaled_first)
        tce__entropy_backward(P, columns, cov->L, cov->first, result);
    memcpy(c->out_L + e * kept_size(tr), result, kept_size(tr) * sizeof *result);
}

static tce_status backward_chunk(void *context, size_t chunk, size_t begin, size_t end,
                                 int32_t worker)
{
    const call *c = context;
    (void)chunk;
    tce__mean_backward(c->tr, begin, end, c->mean, c->out_mean);
    for (size_t e = begin; e < end; e++)
        backward_factor(c, e, c->tr->work + (size_t)worker * c->tr->work_size);
    return TCE_OK;
}

static tce_status check_gradient(const tce_trpl *tr, size_t n_cov, const double *d_L)
{
    const tce_status status = tce__check_pointer("d_L", d_L);
    if (status != TCE_OK)
        return status;
    const size_t P = tr->P;
    if (tr->opt.diagonal)
        return tce__check_finite("d_L", n_cov * P, d_L);
    for (size_t row = 0; row < n_cov * P; row++) {
        const size_t i = row % P;
        const size_t bad = tce__first_not_finite(i + 1, d_L + row * P);
        if (bad <= i)
            return tce_fail(TCE_E_VALUE, "d_L[%zu,%zu,%zu] = %g, must be finite", row / P, i, bad,
                            d_L[row * P + bad]);
    }
    return TCE_OK;
}

tce_status tce__check_scales(const tce_trpl *tr, const char *name, size_t n_cov, const double *L)
{
    return tr->opt.diagonal ? tce__check_deviations(name, n_cov, tr->P, L)
                            : tce__check_factors(name, n_cov, tr->P, 0, L);
}

tce_status tce__check_projected(const tce_trpl *tr, size_t n)
{
    const tce_status status = tce__check_pointer("tr", tr);
    if (status != TCE_OK)
        return status;
    if (tr->n == 0)
        return tce_fail(TCE_E_STATE, "no successful tce_trpl_project before this call");
    if (n != tr->n)
        return tce_fail(TCE_E_SHAPE, "n = %zu, the last project had %zu", n, tr->n);
    return TCE_OK;
}

tce_status tce_trpl_backward(tce_trpl *tr, size_t n, const double *d_mean, const double *d_L,
                             double *out_d_mean, double *out_d_L)
{
    tce_status status = tce__check_projected(tr, n);
    if (status == TCE_OK)
        status = tce__check_finite("d_mean", n * tr->P, d_mean);
    if (status == TCE_OK)
        status = check_gradient(tr, tr->n_cov, d_L);
    if (status == TCE_OK)
        status = tce__check_pointer("out_d_mean", out_d_mean);
    if (status == TCE_OK)
        status = tce__check_pointer("out_d_L", out_d_L);
    if (status != TCE_OK)
        return status;

    call c = { .tr = tr, .mean = d_mean, .L = d_L, .out_mean = out_d_mean, .out_L = out_d_L };
    if (tr->opt.shared_cov) {
        tce__mean_backward(tr, 0, n, d_mean, out_d_mean);
        backward_factor(&c, 0, tr->work);
    } else {
        status = tce_pool_run(tr->opt.pool, n, CHUNK, backward_chunk, &c);
    }
    if (status != TCE_OK || are_finite(&c, n, tr->n_cov))
        return status;
    publish_failure(&c, n, tr->n_cov);
    return tce_fail(
        TCE_E_NOT_FINITE,
        "the gradients overflow: the bounds are too small, or d_mean and d_L too large");
}
