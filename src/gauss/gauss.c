/*
 * Gaussians N(m, S S') by their scales S, lower Cholesky factors or standard deviations. With
 * z = S^-1 (x - m) and u = S^-T z:
 *
 *     log N(x)  = -1/2 |z|^2 - sum_i log S_ii - P/2 log 2 pi
 *     d log N   = u' dm - u' dx + tril(u z') : dS - sum_i dS_ii / S_ii
 *     H         = P/2 log(2 pi e) + sum_i log S_ii
 *
 * One factor for all contexts turns the solves into triangular solves with n right-hand sides and
 * the gradient of S into one product U' diag(d_out) Z.
 */
#include <math.h>
#include <string.h>

#include "gauss/internal.h"

size_t tce_gauss_work_size(size_t n, size_t dim)
{
    /* two residual batches, two matrices */
    return 2 * n * dim + 2 * dim * dim;
}

tce_status tce__gauss_read(const tce_gauss *given, int other, int what, tce_gauss *out)
{
    const char *const prefix = other ? "other." : "";
    const char *const scale = other ? "other.scale" : "scale";
    tce_gauss g = { 0 };
    tce_status status = tce__struct_read(given, "tce_gauss", sizeof g, &g);
    if (status == TCE_OK)
        status = tce__check_reserved("tce_gauss", g.reserved);
    if (status == TCE_OK && g.form != TCE_GAUSS_FULL && g.form != TCE_GAUSS_DIAGONAL)
        status = tce_fail(TCE_E_ARGUMENT, "%sform = %d is not a TCE_GAUSS_ form", prefix,
                          (int)g.form);
    if (status == TCE_OK && g.dim == 0)
        status = tce_fail(TCE_E_SHAPE, "%sdim = 0, must be at least 1", prefix);
    if (status == TCE_OK && g.n_scales != 1 && g.n_scales != g.n)
        status = tce_fail(TCE_E_SHAPE, "%sn_scales = %zu, must be 1 or n = %zu", prefix, g.n_scales,
                          g.n);
    if (status == TCE_OK && what == TCE__GAUSS_ALL)
        status = tce__check_finite(other ? "other.mean" : "mean", g.n * g.dim, g.mean);
    if (status == TCE_OK && g.form == TCE_GAUSS_DIAGONAL)
        status = tce__check_deviations(scale, g.n_scales, g.dim, g.scale);
    if (status == TCE_OK && g.form == TCE_GAUSS_FULL)
        status = tce__check_factors(scale, g.n_scales, g.dim, what == TCE__GAUSS_DETERMINANTS,
                                    g.scale);
    if (status == TCE_OK)
        *out = g;
    return status;
}

size_t tce__gauss_scale_size(const tce_gauss *g)
{
    return g->form == TCE_GAUSS_DIAGONAL ? g->dim : g->dim * g->dim;
}

const double *tce__gauss_scale(const tce_gauss *g, size_t i)
{
    return g->n_scales == 1 ? g->scale : g->scale + i * tce__gauss_scale_size(g);
}

/* sum over the diagonal of log S_kk of scale i */
static double log_det(const tce_gauss *g, size_t i)
{
    const double *const scale = tce__gauss_scale(g, i);
    if (g->form == TCE_GAUSS_FULL)
        return tce__log_diagonal(g->dim, scale);

    double sum = 0.0;
    for (size_t k = 0; k < g->dim; k++)
        sum += log(scale[k]);
    return sum;
}

void tce__gauss_solve(tce__trans trans, const tce_gauss *g, double *z)
{
    const size_t dim = g->dim;
    if (g->form == TCE_GAUSS_FULL && g->n_scales == 1) {
        /* z_i' L^-T, all rows at once */
        const tce__trans right = trans == TCE__TRANS ? TCE__NO_TRANS : TCE__TRANS;
        tce__solve_lower(TCE__RIGHT, right, g->n, dim, 1.0, g->scale, dim, z, dim);
        return;
    }
    for (size_t i = 0; i < g->n; i++) {
        const double *const scale = tce__gauss_scale(g, i);
        if (g->form == TCE_GAUSS_FULL)
            tce__solve_lower_vector(trans, dim, scale, dim, z + i * dim);
        for (size_t k = 0; k < dim && g->form == TCE_GAUSS_DIAGONAL; k++)
            z[i * dim + k] /= scale[k];
    }
}

void tce__gauss_move(const tce_gauss *g, const double *z, double *out)
{
    const size_t dim = g->dim;
    memmove(out, z, g->n * dim * sizeof *out);
    for (size_t i = 0; i < g->n; i++) {
        const double *const scale = tce__gauss_scale(g, i);
        double *const row = out + i * dim;
        if (g->form == TCE_GAUSS_FULL)
            tce__multiply_lower(TCE__RIGHT, TCE__TRANS, 1, dim, 1.0, scale, dim, row, dim);
        for (size_t k = 0; k < dim && g->form == TCE_GAUSS_DIAGONAL; k++)
            row[k] *= scale[k];
        for (size_t k = 0; k < dim; k++)
            row[k] = g->mean[i * dim + k] + row[k];
    }
}

/* d_L <- tril(U' Z) - total diag(1 / L_ii) over the rows of U, Z [rows, dim] */
static void factor_gradient(size_t rows, size_t dim, const double *U, const double *Z, double total,
                            const double *L, double *d_L)
{
    tce__gemm(TCE__TRANS, TCE__NO_TRANS, dim, dim, rows, 1.0, U, dim, Z, dim, 0.0, d_L, dim);
    tce__clear_upper(dim, d_L, dim);
    for (size_t k = 0; k < dim; k++)
        d_L[k * dim + k] -= total / L[k * dim + k];
}

/* The same for standard deviations: d_std_k <- sum U_k Z_k - total / std_k. */
static void deviation_gradient(size_t rows, size_t dim, const double *U, const double *Z,
                               double total, const double *std, double *d_std)
{
    memset(d_std, 0, dim * sizeof *d_std);
    for (size_t i = 0; i < rows; i++)
        for (size_t k = 0; k < dim; k++)
            d_std[k] += U[i * dim + k] * Z[i * dim + k];
    for (size_t k = 0; k < dim; k++)
        d_std[k] -= total / std[k];
}

void tce__gauss_scale_gradient(const tce_gauss *g, const double *U, const double *Z,
                               const double *d_out, double *out_d_scale)
{
    const size_t dim = g->dim;
    const size_t size = tce__gauss_scale_size(g);

    if (g->n == 0) {
        memset(out_d_scale, 0, g->n_scales * size * sizeof *out_d_scale);
        return;
    }

    /* rows that share a scale: all, or one each */
    const size_t rows = g->n_scales == 1 ? g->n : 1;
    for (size_t e = 0; e < g->n_scales; e++) {
        double total = 0.0;
        for (size_t i = 0; i < rows; i++)
            total += d_out[e + i];
        const double *const scale = tce__gauss_scale(g, e);
        double *const d_scale = out_d_scale + e * size;
        if (g->form == TCE_GAUSS_FULL)
            factor_gradient(rows, dim, U + e * dim, Z + e * dim, total, scale, d_scale);
        else
            deviation_gradient(rows, dim, U + e * dim, Z + e * dim, total, scale, d_scale);
    }
}

void tce__gauss_density(const tce_gauss *g, const double *z, double *out)
{
    /* -1/2 |z|^2 - sum log S_ii - P/2 log 2 pi */
    const size_t dim = g->dim;
    double log_det_i = log_det(g, 0);
    for (size_t i = 0; i < g->n; i++) {
        if (i > 0 && g->n_scales > 1)
            log_det_i = log_det(g, i);
        out[i] = -0.5 * tce__dot(dim, z + i * dim, z + i * dim) - log_det_i -
                 0.5 * (double)dim * TCE__LOG_2PI;
    }
}

void tce__gauss_whiten(const tce_gauss *g, const double *x, double *z)
{
    for (size_t k = 0; k < g->n * g->dim; k++)
        z[k] = x[k] - g->mean[k];
    tce__gauss_solve(TCE__NO_TRANS, g, z);
}

void tce__gauss_residuals(const tce_gauss *g, const double *x, const double *d_out, double *z,
                          double *gu)
{
    const size_t dim = g->dim;
    tce__gauss_whiten(g, x, z);
    for (size_t i = 0; i < g->n; i++)
        for (size_t k = 0; k < dim; k++)
            gu[i * dim + k] = d_out[i] * z[i * dim + k];
    tce__gauss_solve(TCE__TRANS, g, gu);
}

tce_status tce_gauss_log_prob(const tce_gauss *g, const double *x, double *work, double *out)
{
    tce_gauss known;
    tce_status status = tce__gauss_read(g, 0, TCE__GAUSS_ALL, &known);
    if (status == TCE_OK)
        status = tce__check_finite("x", known.n * known.dim, x);
    if (status == TCE_OK)
        status = tce__check_pointer("work", work);
    if (status == TCE_OK)
        status = tce__check_pointer("out", out);
    if (status != TCE_OK || known.n == 0)
        return status;

    tce__gauss_whiten(&known, x, work);
    tce__gauss_density(&known, work, out);
    return TCE_OK;
}

tce_status tce_gauss_log_prob_backward(const tce_gauss *g, const double *x, const double *d_out,
                                       double *work, double *out_d_x, double *out_d_mean,
                                       double *out_d_scale)
{
    tce_gauss known;
    tce_status status = tce__gauss_read(g, 0, TCE__GAUSS_ALL, &known);
    if (status == TCE_OK)
        status = tce__check_finite("x", known.n * known.dim, x);
    if (status == TCE_OK)
        status = tce__check_finite("d_out", known.n, d_out);
    if (status == TCE_OK)
        status = tce__check_pointer("work", work);
    if (status != TCE_OK)
        return status;

    /* z = S^-1 (x - m), g u = d_out S^-T z: d_m = g u, d_x = -g u */
    const size_t size = known.n * known.dim;
    double *const z = work;
    double *const gu = work + size;
    if (size > 0)
        tce__gauss_residuals(&known, x, d_out, z, gu);
    if (out_d_mean)
        memcpy(out_d_mean, gu, size * sizeof *gu);
    for (size_t k = 0; k < size && out_d_x; k++)
        out_d_x[k] = -gu[k];

    /* d_S = tril(g u z') - g diag(1 / S_ii) */
    if (out_d_scale)
        tce__gauss_scale_gradient(&known, gu, z, d_out, out_d_scale);
    return TCE_OK;
}

tce_status tce_gauss_entropy(const tce_gauss *g, double *out)
{
    tce_gauss known;
    tce_status status = tce__gauss_read(g, 0, TCE__GAUSS_DETERMINANTS, &known);
    if (status == TCE_OK)
        status = tce__check_pointer("out", out);
    if (status != TCE_OK)
        return status;

    for (size_t e = 0; e < known.n_scales; e++)
        out[e] = 0.5 * (double)known.dim * (1.0 + TCE__LOG_2PI) + log_det(&known, e);
    return TCE_OK;
}

tce_status tce_gauss_entropy_backward(const tce_gauss *g, const double *d_out, double *out_d_scale)
{
    tce_gauss known;
    tce_status status = tce__gauss_read(g, 0, TCE__GAUSS_DETERMINANTS, &known);
    if (status == TCE_OK)
        status = tce__check_finite("d_out", known.n_scales, d_out);
    if (status == TCE_OK)
        status = tce__check_pointer("out_d_scale", out_d_scale);
    if (status != TCE_OK)
        return status;

    /* d H / d S = diag(1 / S_ii) */
    const size_t size = tce__gauss_scale_size(&known);
    const size_t step = known.form == TCE_GAUSS_FULL ? known.dim + 1 : 1;
    memset(out_d_scale, 0, known.n_scales * size * sizeof *out_d_scale);
    for (size_t e = 0; e < known.n_scales; e++)
        for (size_t k = 0; k < known.dim; k++)
            out_d_scale[e * size + k * step] = d_out[e] / known.scale[e * size + k * step];
    return TCE_OK;
}

tce_status tce_gauss_sample(const tce_gauss *g, const double *normals, double *out)
{
    tce_gauss known;
    tce_status status = tce__gauss_read(g, 0, TCE__GAUSS_ALL, &known);
    if (status == TCE_OK)
        status = tce__check_finite("normals", known.n * known.dim, normals);
    if (status == TCE_OK)
        status = tce__check_pointer("out", out);
    if (status != TCE_OK || known.n == 0)
        return status;

    tce__gauss_move(&known, normals, out);
    return TCE_OK;
}
