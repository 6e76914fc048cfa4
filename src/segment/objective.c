/*
 * The segment objective over a batch: log-likelihoods [E, J], and the surrogate loss with its
 * gradients
 *
 *   l = -1/n sum_ej rho_ej A_ej,   rho = exp(log p - log p_old)     [TCE eq. learning_obj]
 *
 * The regulariser is options.reg times the largest diagonal entry of all H Sigma H' of the call, so
 * every segment waits for that maximum. Then:
 *
 *   shared covariance, one grid   all episodes are one group; segments are spread over the pool:
 *                                 J factorisations serve E J likelihoods
 *   otherwise                     each episode is a group, and episodes are spread over the pool
 *
 * Every array entry is written by one thread, and sums over segments or episodes run in a fixed
 * order, whatever the number of threads.
 */
#include <string.h>

#include "segment/internal.h"

/*
 * Time points that a thread takes at once: rows enough for a matrix product, chunks enough for the
 * threads.
 */
#define POINTS_A_CHUNK 8

/* ---- checks ---------------------------------------------------------------------------------- */

/* before the delay the path rests: a start velocity would contradict it */
static tce_status check_rest(const tce__segment_call *call)
{
    const tce_segment *const seg = call->seg;

    for (size_t i = 0; call->init_vel && i < call->E * seg->D; i++) {
        const size_t g = seg->n_basis > 1 ? i / seg->D : 0;
        if (seg->rests[g] && call->init_vel[i] != 0.0)
            return tce_fail(TCE_E_VALUE,
                            "init_vel[%zu,%zu] = %g, must be 0: the path starts before the delay",
                            i / seg->D, i % seg->D, call->init_vel[i]);
    }
    return TCE_OK;
}

static tce_status check_factor(const tce__segment_call *call)
{
    const size_t P = call->seg->P;
    const size_t n_L = call->seg->shared_cov ? 1 : call->E;
    const tce_status status = tce__check_finite("L", n_L * P * P, call->L);

    for (size_t i = 0; status == TCE_OK && i < n_L * P; i++) {
        const double d = call->L[i * P + i % P];
        if (!(d > 0.0))
            return tce_fail(TCE_E_NOT_PD, "L[%zu,%zu,%zu] = %g, must be > 0", i / P, i % P, i % P,
                            d);
    }
    return status;
}

static tce_status check_call(const tce__segment_call *call)
{
    const tce_segment *const seg = call->seg;

    if (seg->J == 0)
        return tce_fail(TCE_E_STATE, "no pairs: call tce_segment_set_pairs first");
    if (call->E == 0 || call->E > seg->max_E)
        return tce_fail(TCE_E_SHAPE, "E = %zu, must be in 1 .. max_episodes = %zu", call->E,
                        seg->max_E);
    if (seg->n_grids != 1 && seg->n_grids != call->E)
        return tce_fail(TCE_E_SHAPE, "E = %zu, but the pairs were set for %zu grids", call->E,
                        seg->n_grids);
    tce_status status = tce__check_pointer("positions", call->positions);
    if (status == TCE_OK)
        status = tce__check_finite("mean", call->E * seg->P, call->mean);
    if (status == TCE_OK && call->init_pos)
        status = tce__check_finite("init_pos", call->E * seg->D, call->init_pos);
    if (status == TCE_OK && call->init_vel)
        status = tce__check_finite("init_vel", call->E * seg->D, call->init_vel);
    if (status == TCE_OK)
        status = check_rest(call);
    return status;
}

static tce_status set_regulariser(tce__segment_call *call, size_t n)
{
    double largest = 0.0;

    for (size_t i = 0; i < n; i++) {
        if (!(call->seg->largest[i] <= largest))
            largest = call->seg->largest[i];
    }
    if (largest == 0.0)
        return tce_fail(TCE_E_SINGULAR, "all variances are 0: every segment lies before the delay");
    if (!isfinite(largest))
        return tce_fail(TCE_E_NOT_FINITE, "largest variance of a position is %g", largest);
    call->reg = call->seg->reg * largest;
    return TCE_OK;
}

/* ---- all episodes in one group --------------------------------------------------------------- */

static tce_status rows_work(void *context, size_t chunk, size_t begin, size_t end, int32_t worker)
{
    const tce__segment_call *const call = context;

    (void)chunk;
    (void)worker;
    for (size_t d = begin; d < end; d++)
        call->seg->largest[d] = tce__segment_rows(call->seg, &call->seg->all, d);
    return TCE_OK;
}

static tce_status residual_work(void *context, size_t chunk, size_t begin, size_t end,
                                int32_t worker)
{
    const tce__segment_call *const call = context;

    (void)chunk;
    (void)worker;
    return tce__segment_residual(call, &call->seg->all, begin, end);
}

static tce_status score_work(void *context, size_t chunk, size_t begin, size_t end, int32_t worker)
{
    const tce__segment_call *const call = context;
    tce_status status = TCE_OK;

    (void)chunk;
    for (size_t j = begin; j < end && status == TCE_OK; j++)
        status = tce__segment_score(call, &call->seg->all, j, call->seg->scratch + worker,
                                    call->seg->sums + j);
    return status;
}

static tce_status gather_work(void *context, size_t chunk, size_t begin, size_t end, int32_t worker)
{
    const tce__segment_call *const call = context;

    (void)chunk;
    (void)worker;
    for (size_t d = begin; d < end; d++)
        tce__segment_gather(call->seg, &call->seg->all, d, call->out_d_mean, call->out_d_L);
    return TCE_OK;
}

static tce_status run_together(tce__segment_call *call)
{
    tce_segment *const seg = call->seg;
    tce_pool *const pool = seg->pool;
    const size_t size = call->E * seg->J * seg->D * seg->D;

    seg->all.n = call->E;
    seg->all.begin = 0;
    seg->all.basis = seg->basis;
    seg->all.from_pos = seg->from_pos;
    seg->all.from_vel = seg->from_vel;
    seg->all.L = call->L;

    /* what the segments share, then the segments, then back to the parameters */
    tce_status status = tce__pool_run_sized(pool, size, seg->D, 1, rows_work, call);
    if (status == TCE_OK)
        status = tce__pool_run_sized(pool, size, seg->K, POINTS_A_CHUNK, residual_work, call);
    if (status == TCE_OK)
        status = set_regulariser(call, seg->D);
    if (status == TCE_OK)
        status = tce__pool_run_sized(pool, size, seg->J, 1, score_work, call);
    if (status == TCE_OK && (call->out_d_mean || call->out_d_L)) {
        if (call->out_d_L)
            memset(call->out_d_L, 0, seg->P * seg->P * sizeof(double));
        status = tce__pool_run_sized(pool, size, seg->D, 1, gather_work, call);
    }
    return status;
}

/* ---- each episode a group of its own --------------------------------------------------------- */

/*
 * the group of episode e in a worker's memory, with its rows and residuals; returns the largest
 * variance
 */
static tce_status load_episode(const tce__segment_call *call, size_t e, tce__segment_group *group,
                               double *out_largest)
{
    const tce_segment *const seg = call->seg;
    const size_t g = seg->n_basis > 1 ? e : 0;
    double largest = 0.0;

    group->n = 1;
    group->begin = e;
    group->basis = seg->basis + g * seg->K * seg->C;
    group->from_pos = seg->from_pos + g * seg->K;
    group->from_vel = seg->from_vel + g * seg->K;
    group->L = call->L + (seg->shared_cov ? 0 : e * seg->P * seg->P);
    for (size_t d = 0; d < seg->D; d++) {
        const double variance = tce__segment_rows(seg, group, d);
        if (!(variance <= largest))
            largest = variance;
    }
    *out_largest = largest;
    return tce__segment_residual(call, group, 0, seg->K);
}

/* largest variance of each episode, and the check of its positions before anything is written */
static tce_status measure_work(void *context, size_t chunk, size_t begin, size_t end,
                               int32_t worker)
{
    const tce__segment_call *const call = context;
    tce_status status = TCE_OK;

    (void)chunk;
    for (size_t e = begin; e < end && status == TCE_OK; e++)
        status = load_episode(call, e, call->seg->one + worker, call->seg->largest + e);
    return status;
}

/*
 * all segments of each episode; the gradient of a shared factor is summed within the chunk, as one
 * part
 */
static tce_status episode_work(void *context, size_t chunk, size_t begin, size_t end,
                               int32_t worker)
{
    const tce__segment_call *const call = context;
    tce_segment *const seg = call->seg;
    tce__segment_group *const group = seg->one + worker;
    const size_t size = seg->P * seg->P;
    double *const part = seg->shared_cov ? seg->parts + chunk * size : NULL;
    tce_status status = TCE_OK;

    if (part)
        memset(part, 0, size * sizeof(double));
    for (size_t e = begin; e < end && status == TCE_OK; e++) {
        double *const d_mean = call->out_d_mean ? call->out_d_mean + e * seg->P : NULL;
        double *d_L = call->out_d_L ? part : NULL;

        status = load_episode(call, e, group, seg->largest + e);
        for (size_t j = 0; j < seg->J && status == TCE_OK; j++)
            status = tce__segment_score(call, group, j, seg->scratch + worker, seg->sums + e);
        if (call->out_d_L && !part) {
            d_L = call->out_d_L + e * size;
            memset(d_L, 0, size * sizeof(double));
        }
        for (size_t d = 0; d < seg->D && status == TCE_OK && (d_mean || d_L); d++)
            tce__segment_gather(seg, group, d, d_mean, d_L);
    }
    return status;
}

static tce_status run_apart(tce__segment_call *call)
{
    tce_segment *const seg = call->seg;
    const size_t chunk_size = (call->E + TCE__SEGMENT_PARTS - 1) / TCE__SEGMENT_PARTS;
    const size_t n_chunks = (call->E + chunk_size - 1) / chunk_size;

    tce_status status = tce_pool_run(seg->pool, call->E, chunk_size, measure_work, call);
    if (status == TCE_OK)
        status = set_regulariser(call, call->E);
    if (status == TCE_OK)
        status = tce_pool_run(seg->pool, call->E, chunk_size, episode_work, call);
    const tce__parts chunks = tce__parts_here(seg->pool, n_chunks);
    if (status == TCE_OK && call->out_d_L && seg->shared_cov)
        status = tce__parts_sum(&chunks, seg->P * seg->P, seg->parts, call->out_d_L);
    return status;
}

/* ---- public calls ---------------------------------------------------------------------------- */

static void fill_nan(size_t n, double *x)
{
    for (size_t i = 0; x && i < n; i++)
        x[i] = NAN;
}

/* Runs the call; after a numerical failure its arrays are NaN. */
static tce_status run(tce__segment_call *call)
{
    const tce_segment *const seg = call->seg;
    const size_t size_L = (seg->shared_cov ? 1 : call->E) * seg->P * seg->P;
    const size_t size_mean = call->E * seg->P;

    memset(seg->sums, 0, (seg->J > call->E ? seg->J : call->E) * sizeof *seg->sums);
    tce_status status = check_factor(call);
    if (status == TCE_OK)
        status = seg->shared_cov && seg->n_basis == 1 ? run_together(call) : run_apart(call);

    /* finite ratios can still overflow in a gradient */
    if (status == TCE_OK && call->out_d_mean &&
        tce__first_not_finite(size_mean, call->out_d_mean) < size_mean)
        status = tce_fail(TCE_E_NOT_FINITE, "gradient of the mean overflowed");
    if (status == TCE_OK && call->out_d_L && tce__first_not_finite(size_L, call->out_d_L) < size_L)
        status = tce_fail(TCE_E_NOT_FINITE, "gradient of L overflowed");

    if (status <= TCE_E_NOT_PD) {
        fill_nan(call->E * seg->J, call->out_log_prob);
        fill_nan(size_mean, call->out_d_mean);
        fill_nan(size_L, call->out_d_L);
    }
    return status;
}

/* The caller's paths as a call; the surrogate's part of it is left out unless asked for. */
static tce_status read_paths(tce_segment *seg, const tce_segment_paths *paths, int with_surrogate,
                             tce__segment_call *call)
{
    tce_segment_paths given = { .struct_size = sizeof given };
    tce_status status = tce__check_pointer("seg", seg);
    if (status == TCE_OK)
        status = tce__struct_read(paths, "tce_segment_paths", sizeof given, &given);
    if (status != TCE_OK)
        return status;

    *call = (tce__segment_call){ .seg = seg,
                                 .E = given.E,
                                 .positions = given.positions,
                                 .mean = given.mean,
                                 .L = given.L,
                                 .init_pos = given.init_pos,
                                 .init_vel = given.init_vel,
                                 .out_log_prob = given.out_log_prob };
    if (with_surrogate) {
        call->log_prob_old = given.log_prob_old;
        call->advantages = given.advantages;
        call->mask = given.mask;
        call->clip = given.clip;
        call->out_d_mean = given.out_d_mean;
        call->out_d_L = given.out_d_L;
    }
    return check_call(call);
}

tce_status tce_segment_log_prob(tce_segment *seg, const tce_segment_paths *paths)
{
    tce__segment_call call;
    tce_status status = read_paths(seg, paths, 0, &call);
    if (status == TCE_OK)
        status = tce__check_pointer("out_log_prob", call.out_log_prob);
    return status == TCE_OK ? run(&call) : status;
}

tce_status tce_segment_surrogate(tce_segment *seg, const tce_segment_paths *paths,
                                 tce_returns_stats *out_stats)
{
    tce__segment_call call;
    tce_status status = read_paths(seg, paths, 1, &call);
    if (status != TCE_OK)
        return status;
    const size_t n = call.E * seg->J;
    status = tce__check_unmasked("log_prob_old", n, call.mask, call.log_prob_old);
    if (status == TCE_OK)
        status = tce__check_unmasked("advantages", n, call.mask, call.advantages);
    if (status == TCE_OK && !(call.clip >= 0.0 && isfinite(call.clip)))
        status = tce_fail(TCE_E_VALUE, "clip = %g, must be finite and >= 0", call.clip);
    if (status == TCE_OK && out_stats)
        status = tce__struct_check(out_stats, "tce_returns_stats");
    if (status != TCE_OK)
        return status;

    const size_t count = tce__count_mask(n, call.mask);
    call.weight = count > 0 ? 1.0 / (double)count : 0.0;
    status = run(&call);

    /* sums of segments or of episodes, in their order; the unused ones are zero */
    tce__ratio_sums sums = { 0.0, 0.0, 0.0, 0.0, 0.0 };
    for (size_t i = 0; i < (seg->J > call.E ? seg->J : call.E); i++)
        tce__ratio_add(seg->sums + i, &sums);
    if (status <= TCE_E_NOT_PD)
        sums = (tce__ratio_sums){ NAN, NAN, NAN, NAN, NAN };
    if (status == TCE_OK || status <= TCE_E_NOT_PD)
        tce__ratio_stats(&sums, count, out_stats);
    return status;
}
