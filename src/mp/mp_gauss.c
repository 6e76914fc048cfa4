/*
 * Gaussians over parameters, w ~ N(mean, L L'): the path's covariance, conditioning on via-points.
 *
 *     Cov = H Sigma H' = A A',  A = H L,  H block diagonal over the DoFs   [TCE eq. promp]
 *
 * Conditioning takes one scalar at a time, v = o + h . w with standard deviation sigma, and stays
 * with the Cholesky factor:
 *
 *     a = L' h,   S = sigma^2 + a'a,   mean += L a (v - o - h . mean)/S,
 *     L <- L M,   M M' = I - a a'/S
 *
 * With s_j = sigma^2 + sum_{i>=j} a_i^2, summed from the last so that nothing cancels, the lower M
 * is M_jj = sqrt(s_{j+1}/s_j), M_ij = -a_i a_j/sqrt(s_j s_{j+1}).
 */
#include <string.h>

#include "linalg/linalg.h"
#include "mp/mp.h"

/* rows of times and columns of L in one block of A: 2 x 16 kB on the stack */
enum { BLOCK_ROWS = 32, BLOCK_COLUMNS = 64 };

/* What the blocks of a covariance need. */
typedef struct covariance {
    const tce_mp *mp;
    const tce__mp_start *start;
    size_t T;
    const double *times; /* [T] */
    const double *L;     /* [P, P] */
    size_t order;
    size_t step; /* rows in a block */
} covariance;

/* rows of times t ... t + n - 1, [n, 2 + C] */
static void block_rows(const covariance *cov, size_t t, size_t n, double *space)
{
    double *const rows[TCE__MP_ORDERS] = { cov->order == 0 ? space : NULL,
                                           cov->order == 1 ? space : NULL, NULL };
    tce__mp_rows(cov->mp, cov->start, cov->T, cov->times, t, n, rows);
}

/* A [n, columns] = rows L of DoF d, columns from k on */
static void block_times_factor(const covariance *cov, size_t d, size_t n, const double *rows,
                               size_t k, size_t columns, double *A)
{
    const tce_mp *const mp = cov->mp;
    tce__gemm(TCE__NO_TRANS, TCE__NO_TRANS, n, columns, mp->C, 1.0, rows + 2, tce__mp_row_size(mp),
              cov->L + d * mp->C * mp->P + k, mp->P, 0.0, A, columns);
}

/* block (d, t; d2, t2) of the covariance into out, stride ld */
static void covariance_block(const covariance *cov, size_t d, size_t n, const double *rows,
                             size_t d2, size_t n2, const double *rows2, double *out, size_t ld)
{
    /* L is lower: columns beyond those of the lower DoF are 0 */
    const size_t columns = (d2 < d ? d2 + 1 : d + 1) * cov->mp->C;
    double A[BLOCK_ROWS * BLOCK_COLUMNS], A2[BLOCK_ROWS * BLOCK_COLUMNS];
    for (size_t k = 0; k < columns; k += BLOCK_COLUMNS) {
        const size_t width = columns - k < BLOCK_COLUMNS ? columns - k : BLOCK_COLUMNS;
        block_times_factor(cov, d, n, rows, k, width, A);
        block_times_factor(cov, d2, n2, rows2, k, width, A2);
        tce__gemm(TCE__NO_TRANS, TCE__TRANS, n, n2, width, 1.0, A, width, A2, width,
                  k > 0 ? 1.0 : 0.0, out, ld);
    }
}

/* lower triangle in blocks, then its mirror */
static void fill_covariance(const covariance *cov, double *out)
{
    const size_t n_all = cov->mp->D * cov->T;
    double rows[TCE__MP_TILE], rows2[TCE__MP_TILE];
    for (size_t t = 0; t < cov->T; t += cov->step) {
        const size_t n = cov->T - t < cov->step ? cov->T - t : cov->step;
        block_rows(cov, t, n, rows);
        for (size_t t2 = 0; t2 < cov->T; t2 += cov->step) {
            const size_t n2 = cov->T - t2 < cov->step ? cov->T - t2 : cov->step;
            block_rows(cov, t2, n2, rows2);
            for (size_t d = 0; d < cov->mp->D; d++)
                for (size_t d2 = 0; d2 <= d; d2++)
                    covariance_block(cov, d, n, rows, d2, n2, rows2,
                                     out + (d * cov->T + t) * n_all + d2 * cov->T + t2, n_all);
        }
    }
    tce__mirror_lower(n_all, out, n_all);
}

/* variances alone, out [T, D] */
static void fill_variances(const covariance *cov, double *out)
{
    const tce_mp *const mp = cov->mp;
    double rows[TCE__MP_TILE], A[BLOCK_ROWS * BLOCK_COLUMNS];
    for (size_t t = 0; t < cov->T; t += cov->step) {
        const size_t n = cov->T - t < cov->step ? cov->T - t : cov->step;
        block_rows(cov, t, n, rows);
        for (size_t d = 0; d < mp->D; d++) {
            const size_t columns = (d + 1) * mp->C;
            for (size_t k = 0; k < columns; k += BLOCK_COLUMNS) {
                const size_t width = columns - k < BLOCK_COLUMNS ? columns - k : BLOCK_COLUMNS;
                block_times_factor(cov, d, n, rows, k, width, A);
                for (size_t i = 0; i < n; i++) {
                    double *const variance = &out[(t + i) * mp->D + d];
                    *variance = (k > 0 ? *variance : 0.0) +
                                tce__dot(width, A + i * width, A + i * width);
                }
            }
        }
    }
}

/* reg times the largest variance onto the diagonal, and the standard deviations */
static void regularise(const covariance *cov, double reg, double *out_cov, double *out_std)
{
    const size_t D = cov->mp->D;
    const size_t n_all = D * cov->T;
    double largest = 0.0;
    for (size_t r = 0; r < n_all; r++)
        largest = fmax(largest, out_cov ? out_cov[r * (n_all + 1)] : out_std[r]);

    for (size_t r = 0; out_cov && r < n_all; r++) {
        out_cov[r * (n_all + 1)] += reg * largest;
        if (out_std)
            out_std[r % cov->T * D + r / cov->T] = sqrt(out_cov[r * (n_all + 1)]);
    }
    for (size_t r = 0; !out_cov && r < n_all; r++)
        out_std[r] = sqrt(out_std[r] + reg * largest);
}

tce_status tce_mp_covariance(const tce_mp *mp, size_t T, const double *times, double init_time,
                             const double *L, double reg, int32_t order, double *out_cov,
                             double *out_std)
{
    tce_status status = tce__mp_check_rows(mp, "tce_mp_covariance", T, times, init_time,
                                           order == 1);
    if (status == TCE_OK)
        status = tce__check_int("order", order, 0, 1);
    if (status == TCE_OK)
        status = tce__check_finite("L", mp->P * mp->P, L);
    if (status == TCE_OK && (!(reg >= 0.0) || !isfinite(reg)))
        status = tce_fail(TCE_E_VALUE, "reg = %g, must be finite and >= 0", reg);

    tce__mp_start start;
    if (status == TCE_OK)
        status = tce__mp_start_at(mp, NULL, init_time, &start);
    if (status != TCE_OK) {
        const size_t n = status <= TCE_E_NOT_PD ? mp->D * T : 0;
        tce__mp_spoil(status, n * n, out_cov);
        tce__mp_spoil(status, n, out_std);
        return status;
    }

    const size_t tile = tce__mp_tile_rows(mp);
    const covariance cov = {
        .mp = mp,
        .start = &start,
        .T = T,
        .times = times,
        .L = L,
        .order = (size_t)order,
        .step = tile < BLOCK_ROWS ? tile : BLOCK_ROWS,
    };
    if (out_cov)
        fill_covariance(&cov, out_cov);
    else if (out_std)
        fill_variances(&cov, out_std);
    if (out_cov || out_std)
        regularise(&cov, reg, out_cov, out_std);
    return TCE_OK;
}

/* All via-points, before anything is written. */
static tce_status check_vias(const tce_mp *mp, size_t n_via, const tce_mp_via *via,
                             double init_time)
{
    for (size_t i = 0; i < n_via; i++) {
        const tce_mp_via *const v = &via[i];
        if (v->dof < 0 || (size_t)v->dof >= mp->D)
            return tce_fail(TCE_E_VALUE, "via[%zu].dof = %d, must be in 0 ... %zu", i, (int)v->dof,
                            mp->D - 1);
        if (v->order != 0 && v->order != 1)
            return tce_fail(TCE_E_VALUE, "via[%zu].order = %d, must be 0 or 1", i, (int)v->order);
        if (!isfinite(v->time) || !isfinite(v->value))
            return tce_fail(TCE_E_VALUE, "via[%zu] = %g at time %g, must be finite", i, v->value,
                            v->time);
        if (!(v->tolerance * v->tolerance > 0.0) || !isfinite(v->tolerance * v->tolerance) ||
            v->tolerance < 0.0)
            return tce_fail(TCE_E_VALUE,
                            "via[%zu].tolerance = %g, its square must be finite and > 0", i,
                            v->tolerance);
        const tce_status status = tce__mp_check_time(mp, NULL, init_time, "via.time", i, v->time);
        if (status != TCE_OK)
            return status;
    }
    return TCE_OK;
}

/*
 * One scalar: h [C] are the columns of DoF d, residual = v - o - h . mean. L [P, P] and mean [P] in
 * place; work [3 P].
 */
static void update(const tce_mp *mp, size_t d, const double *h, double residual, double sigma,
                   double *mean, double *L, double *work)
{
    const size_t P = mp->P;
    double *const a = work;
    double *const keep = work + P;       /* M_jj */
    double *const spread = work + 2 * P; /* a_j / sqrt(s_j s_{j+1}) */

    /* a = L' h, then s_j from the last to the first */
    tce__gemv(TCE__TRANS, mp->C, P, 1.0, L + d * mp->C * P, P, h, 0.0, a);
    double s_next = sigma * sigma;
    for (size_t j = P; j-- > 0;) {
        const double s = s_next + a[j] * a[j];
        keep[j] = sqrt(s_next / s);
        spread[j] = a[j] / (sqrt(s) * sqrt(s_next));
        s_next = s;
    }

    /* row by row, g = sum_{i>j} a_i L_ri: L_rj <- M_jj L_rj - spread_j g; in the end g = (L a)_r */
    for (size_t r = 0; r < P; r++) {
        double *const row = L + r * P;
        double g = 0.0;
        for (size_t j = r + 1; j-- > 0;) {
            const double l = row[j];
            row[j] = keep[j] * l - spread[j] * g;
            g += a[j] * l;
        }
        mean[r] += g * (residual / s_next);
    }
}

tce_status tce_mp_condition(const tce_mp *mp, size_t n_via, const tce_mp_via *via, double init_time,
                            const double *init_pos, const double *init_vel, const double *mean,
                            const double *L, double *work, double *out_mean, double *out_L)
{
    tce_status status = tce__mp_check_rows(mp, "tce_mp_condition", 1, &init_time, init_time, 0);
    if (status == TCE_OK && n_via > 0)
        status = tce__check_pointer("via", via);
    if (status == TCE_OK && init_pos)
        status = tce__check_finite("init_pos", mp->D, init_pos);
    if (status == TCE_OK && init_vel)
        status = tce__check_finite("init_vel", mp->D, init_vel);
    if (status == TCE_OK)
        status = tce__mp_check_clock(mp, NULL, init_time, init_vel, 0);
    if (status == TCE_OK)
        status = tce__check_finite("mean", mp->P, mean);
    if (status == TCE_OK)
        status = tce__check_finite("L", mp->P * mp->P, L);
    if (status == TCE_OK)
        status = tce__check_pointer("work", work);
    if (status == TCE_OK)
        status = tce__check_pointer("out_mean", out_mean);
    if (status == TCE_OK)
        status = tce__check_pointer("out_L", out_L);
    if (status == TCE_OK)
        status = check_vias(mp, n_via, via, init_time);
    if (status != TCE_OK && status > TCE_E_NOT_PD)
        return status;

    tce__mp_start start;
    const size_t P = mp->P;
    for (size_t i = 0; i < P && status == TCE_OK; i++)
        if (!(L[i * P + i] > 0.0))
            status = tce_fail(TCE_E_NOT_PD, "L[%zu,%zu] = %g, must be > 0", i, i, L[i * P + i]);
    if (status == TCE_OK)
        status = tce__mp_start_at(mp, NULL, init_time, &start);
    if (status != TCE_OK) {
        tce__mp_spoil(status, P, out_mean);
        tce__mp_spoil(status, P * P, out_L);
        return status;
    }

    memmove(out_mean, mean, P * sizeof *out_mean);
    memmove(out_L, L, P * P * sizeof *out_L);
    tce__clear_upper(P, out_L, P);
    double space[TCE__MP_ROW];
    for (size_t i = 0; i < n_via; i++) {
        const size_t d = (size_t)via[i].dof;
        double *const rows[TCE__MP_ORDERS] = { via[i].order == 0 ? space : NULL,
                                               via[i].order == 1 ? space : NULL, NULL };
        tce__mp_rows_at(mp, &start, via[i].time, rows);
        const double offset = space[0] * (init_pos ? init_pos[d] : 0.0) +
                              space[1] * (init_vel ? init_vel[d] : 0.0);
        const double now = offset + tce__dot(mp->C, space + 2, out_mean + d * mp->C);
        update(mp, d, space + 2, via[i].value - now, via[i].tolerance, out_mean, out_L, work);
    }
    return TCE_OK;
}
