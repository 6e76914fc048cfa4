/*
 * Likelihood of the segments of a group of n episodes that share L and the rows H_k, and its
 * gradient.
 *
 * Segment j looks at x = (y(t_a), y(t_b)), 2D numbers. They are ordered time by time here, which
 * leaves the density as it is and makes the rows of a segment neighbours in memory. With G = H L
 * [2D, P] (one DoF after the other, zero where L is) and r = x - m:     [TCE eq. local_likelihood]
 *
 *   S = G G' + reg I = A A',   z = A^-1 r,   log p = -1/2 |z|^2 - sum_i log A_ii - D log 2 pi
 *
 * and with c_e = dl / dlog p of episode e, reg a constant:
 *
 *   dl/dm = S^-1 r c = A^-T z c
 *   dl/dS = 1/2 A^-T (sum_e c_e z_e z_e' - sum_e c_e I) A^-1,   dl/dG = 2 dl/dS G
 *
 * Both go back to mu and L through m = ... + H mu and G = H L at the end, summed over the segments
 * of a time point first. Arrays over episodes have the episode as their last index, so that one
 * factorisation serves whole rows of them.
 */
#include <string.h>

#include "linalg/linalg.h"
#include "segment/internal.h"

double tce__segment_rows(const tce_segment *seg, const tce__segment_group *group, size_t d)
{
    const size_t D = seg->D;
    const size_t C = seg->C;
    const size_t P = seg->P;
    double *const rows = group->rows + d * P;
    double largest = 0.0;

    /*
     * L is lower triangular: the rows of DoF d end with its own columns, and the rest is 0 since
     * create
     */
    const size_t used = (d + 1) * C;
    tce__gemm(TCE__NO_TRANS, TCE__NO_TRANS, seg->K, used, C, 1.0, group->basis, C,
              group->L + d * C * P, P, 0.0, rows, D * P);
    for (size_t k = 0; k < seg->K; k++) {
        const double *const row = rows + k * D * P;

        /* a NaN is passed on: every comparison with it is false */
        const double variance = tce__dot(used, row, row);
        if (!(variance <= largest))
            largest = variance;
    }
    return largest;
}

/* x - o y_b - q v_b at time point k */
static void subtract_start(const tce__segment_call *call, const tce__segment_group *group, size_t k)
{
    const size_t D = call->seg->D;
    const size_t n = group->n;
    const size_t t = (size_t)call->seg->point[k];
    const double from_pos = group->from_pos[k];
    const double from_vel = group->from_vel[k];
    double *const out = group->residual + k * D * n;

    for (size_t e = 0; e < n; e++) {
        const size_t episode = group->begin + e;
        const double *const x = call->positions + (episode * call->seg->T + t) * D;
        const double *const y = call->init_pos ? call->init_pos + episode * D : call->seg->zeros;
        const double *const v = call->init_vel ? call->init_vel + episode * D : call->seg->zeros;
        for (size_t d = 0; d < D; d++)
            out[d * n + e] = x[d] - from_pos * y[d] - from_vel * v[d];
    }
}

/* the segment that makes a bad residual matter; masked ones do not */
static tce_status explain_residual(const tce__segment_call *call, const tce__segment_group *group,
                                   size_t begin, size_t end)
{
    const tce_segment *const seg = call->seg;
    const size_t D = seg->D;

    for (size_t i = 0; i < 2 * seg->J * group->n * D; i++) {
        const size_t d = i % D;
        const size_t e = i / D % group->n;
        const size_t j = i / D / group->n / 2;
        const size_t k = seg->first[j] + i / D / group->n % 2;
        const size_t episode = group->begin + e;

        if (k < begin || k >= end || isfinite(group->residual[(k * D + d) * group->n + e]))
            continue;
        if (call->mask && !call->mask[episode * seg->J + j])
            continue;
        const double x = call->positions[(episode * seg->T + (size_t)seg->point[k]) * D + d];
        return tce_fail(TCE_E_VALUE,
                        "positions[%zu,%d,%zu] = %g is not finite or too far from the mean path",
                        episode, (int)seg->point[k], d, x);
    }
    return TCE_OK;
}

tce_status tce__segment_residual(const tce__segment_call *call, const tce__segment_group *group,
                                 size_t begin, size_t end)
{
    const tce_segment *const seg = call->seg;
    const size_t D = seg->D;
    const size_t C = seg->C;
    const size_t n = group->n;
    double *const residual = group->residual + begin * D * n;

    for (size_t k = begin; k < end; k++)
        subtract_start(call, group, k);

    /* minus H mu, one DoF at a time */
    for (size_t d = 0; d < D; d++)
        tce__gemm(TCE__NO_TRANS, TCE__TRANS, end - begin, n, C, -1.0, group->basis + begin * C, C,
                  call->mean + group->begin * seg->P + d * C, seg->P, 1.0, residual + d * n, D * n);

    const size_t size = (end - begin) * D * n;
    return tce__first_not_finite(size, residual) < size ? explain_residual(call, group, begin, end)
                                                        : TCE_OK;
}

/* S <- A^-1 for S = G G' + reg I = A A'; out_log_det = log det A */
static tce_status factor_segment(const tce_segment *seg, size_t j, const double *G, double reg,
                                 double *S, double *out_log_det)
{
    const size_t dim = 2 * seg->D;
    double log_det = 0.0;

    tce__syrk_lower(TCE__NO_TRANS, dim, seg->P, 1.0, G, seg->P, 0.0, S, dim);
    for (size_t i = 0; i < dim; i++)
        S[i * dim + i] += reg;
    const int row = tce__cholesky(dim, S, dim);
    if (row > 0)
        return tce_fail(TCE_E_NOT_PD,
                        "covariance of segment %zu is not positive definite at row %d; reg adds %g",
                        j, row - 1, reg);

    for (size_t i = 0; i < dim; i++)
        log_det += log(S[i * dim + i]);
    *out_log_det = log_det;

    /* the inverse is small, and a product with it is several times as fast as a solve */
    tce__invert_lower(dim, S, dim);
    tce__clear_upper(dim, S, dim);
    return TCE_OK;
}

/* out_e = -1/2 |z_e|^2 - constant */
static TCE__VECTOR void log_densities(size_t dim, size_t n, const double *z, double constant,
                                      double *out)
{
    for (size_t e = 0; e < n; e++)
        out[e] = 0.0;
    for (size_t i = 0; i < dim; i++) {
        for (size_t e = 0; e < n; e++)
            out[e] += z[i * n + e] * z[i * n + e];
    }
    for (size_t e = 0; e < n; e++)
        out[e] = -0.5 * out[e] - constant;
}

/* out_ie = z_ie c_e */
static TCE__VECTOR void weight_columns(size_t dim, size_t n, const double *z, const double *c,
                                       double *out)
{
    for (size_t i = 0; i < dim; i++) {
        for (size_t e = 0; e < n; e++)
            out[i * n + e] = z[i * n + e] * c[e];
    }
}

/*
 * log p in, c = dl / dlog p out; a masked episode gets c = 0, and z = 0 since it may hold anything
 */
static tce_status ratio_terms(const tce__segment_call *call, const tce__segment_group *group,
                              size_t j, double *z, double *values, tce__ratio_sums *sums)
{
    const size_t J = call->seg->J;
    const size_t n = group->n;

    for (size_t e = 0; e < n; e++) {
        const size_t i = (group->begin + e) * J + j;

        if (call->mask && !call->mask[i]) {
            for (size_t row = 0; row < 2 * call->seg->D; row++)
                z[row * n + e] = 0.0;
            values[e] = 0.0;
            continue;
        }
        const double log_prob = values[e];
        values[e] = call->weight * tce__ratio_term(log_prob, call->log_prob_old[i],
                                                   call->advantages[i], call->clip, sums);
        if (!isfinite(sums->ratio) || !isfinite(sums->loss))
            return tce_fail(
                TCE_E_NOT_FINITE,
                "ratio of episode %zu, segment %zu overflowed: log-likelihood %g, old %g",
                group->begin + e, j, log_prob, call->log_prob_old[i]);
    }
    return TCE_OK;
}

/* dl/dm and dl/dG of segment j from z and c */
static void score_backward(const tce_segment *seg, const tce__segment_group *group, size_t j,
                           const double *G, const tce__segment_scratch *scratch)
{
    const size_t dim = 2 * seg->D;
    const size_t n = group->n;
    const double *const inverse = scratch->S;
    double total = 0.0;

    /* dl/dm = A^-T (z c) */
    weight_columns(dim, n, scratch->z, scratch->values, scratch->weighted);
    tce__gemm(TCE__TRANS, TCE__NO_TRANS, dim, n, dim, 1.0, inverse, dim, scratch->weighted, n, 0.0,
              group->d_points + j * dim * n, n);

    /* 2 dl/dS = A^-T (sum_e c_e z_e z_e' - sum_e c_e I) A^-1 */
    tce__gemm(TCE__NO_TRANS, TCE__TRANS, dim, dim, n, 1.0, scratch->weighted, n, scratch->z, n, 0.0,
              scratch->d_S, dim);
    for (size_t e = 0; e < n; e++)
        total += scratch->values[e];
    for (size_t i = 0; i < dim; i++)
        scratch->d_S[i * dim + i] -= total;
    tce__multiply_lower(TCE__LEFT, TCE__TRANS, dim, dim, 1.0, inverse, dim, scratch->d_S, dim);
    tce__multiply_lower(TCE__RIGHT, TCE__NO_TRANS, dim, dim, 1.0, inverse, dim, scratch->d_S, dim);

    /* dl/dG = 2 dl/dS G */
    tce__gemm(TCE__NO_TRANS, TCE__NO_TRANS, dim, seg->P, dim, 1.0, scratch->d_S, dim, G, seg->P,
              0.0, group->d_rows + j * dim * seg->P, seg->P);
}

tce_status tce__segment_score(const tce__segment_call *call, const tce__segment_group *group,
                              size_t j, const tce__segment_scratch *scratch, tce__ratio_sums *sums)
{
    const tce_segment *const seg = call->seg;
    const size_t dim = 2 * seg->D;
    const size_t n = group->n;
    const double *const G = group->rows + seg->first[j] * seg->D * seg->P;
    const double *const r = group->residual + seg->first[j] * seg->D * n;
    double log_det = 0.0;

    tce_status status = factor_segment(seg, j, G, call->reg, scratch->S, &log_det);
    if (status != TCE_OK)
        return status;

    /* z = A^-1 r, log p */
    tce__gemm(TCE__NO_TRANS, TCE__NO_TRANS, dim, n, dim, 1.0, scratch->S, dim, r, n, 0.0,
              scratch->z, n);
    log_densities(dim, n, scratch->z, log_det + (double)seg->D * TCE__LOG_2PI, scratch->values);
    for (size_t e = 0; call->out_log_prob && e < n; e++)
        call->out_log_prob[(group->begin + e) * seg->J + j] = scratch->values[e];
    if (call->log_prob_old == NULL)
        return TCE_OK;

    status = ratio_terms(call, group, j, scratch->z, scratch->values, sums);
    if (status == TCE_OK && (call->out_d_mean || call->out_d_L))
        score_backward(seg, group, j, G, scratch);
    return status;
}

/*
 * sums rows of DoF d from segments, [J, 2D, width], into time points, [K, D, width]; `used` numbers
 * each
 */
static void sum_segments(const tce_segment *seg, size_t d, size_t width, size_t used,
                         const double *by_segment, double *by_point)
{
    const size_t D = seg->D;

    for (size_t k = 0; k < seg->K; k++)
        memset(by_point + (k * D + d) * width, 0, used * sizeof(double));
    for (size_t j = 0; j < seg->J; j++) {
        double *const a = by_point + (seg->first[j] * D + d) * width;
        tce__axpy(used, 1.0, by_segment + (2 * j * D + d) * width, a);
        tce__axpy(used, 1.0, by_segment + ((2 * j + 1) * D + d) * width, a + D * width);
    }
}

void tce__segment_gather(const tce_segment *seg, const tce__segment_group *group, size_t d,
                         double *d_mean, double *d_L)
{
    const size_t D = seg->D;
    const size_t C = seg->C;
    const size_t P = seg->P;
    const size_t n = group->n;

    /* dl/dmu_d = sum_k dl/dm_kd H_k */
    if (d_mean) {
        sum_segments(seg, d, n, n, group->d_points, group->residual);
        tce__gemm(TCE__TRANS, TCE__NO_TRANS, n, C, seg->K, 1.0, group->residual + d * n, D * n,
                  group->basis, C, 0.0, d_mean + d * C, P);
    }

    /* dl/dL_d = sum_k H_k' dl/dG_kd, lower triangle */
    if (d_L) {
        const size_t used = (d + 1) * C;
        sum_segments(seg, d, P, used, group->d_rows, group->rows);
        tce__gemm(TCE__TRANS, TCE__NO_TRANS, C, used, seg->K, 1.0, group->basis, C,
                  group->rows + d * P, D * P, 1.0, d_L + d * C * P, P);
        for (size_t i = d * C; i < used; i++)
            memset(d_L + i * P + i + 1, 0, (P - i - 1) * sizeof(double));
    }
}
