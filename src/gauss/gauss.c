/*
 * Gaussians N(m, L L') by their lower Cholesky factors. With z = L^-1 (x - m) and u = L^-T z:
 *
 *     log N(x)  = -1/2 |z|^2 - sum_i log L_ii - P/2 log 2 pi
 *     d log N   = u' dm - u' dx + tril(u z') : dL - sum_i dL_ii / L_ii
 *     H         = P/2 log(2 pi e) + sum_i log L_ii
 *
 * One factor for all contexts turns the solves into triangular solves with n right-hand sides and
 * the gradient of L into one product U' diag(d_out) Z.
 */
#include <math.h>
#include <string.h>

#include "gauss/internal.h"
#include "linalg/linalg.h"

size_t tce_gauss_work(size_t n, size_t dim)
{
    /* two residual batches, two matrices */
    return 2 * n * dim + 2 * dim * dim;
}

static tce_status check_shape(size_t n, size_t dim, size_t n_cov, const char *name)
{
    if (dim == 0)
        return tce_fail(TCE_E_SHAPE, "dim = 0, must be at least 1");
    if (n_cov != 1 && n_cov != n)
        return tce_fail(TCE_E_SHAPE, "%s = %zu, must be 1 or n = %zu", name, n_cov, n);
    return TCE_OK;
}

static tce_status check_log_prob(size_t n, size_t dim, size_t n_cov, const double *x,
                                 const double *mean, const double *L, const double *work)
{
    tce_status status = check_shape(n, dim, n_cov, "n_cov");
    if (status == TCE_OK)
        status = tce__check_finite("x", n * dim, x);
    if (status == TCE_OK)
        status = tce__check_finite("mean", n * dim, mean);
    if (status == TCE_OK)
        status = tce__check_factors("L", n_cov, dim, 0, L);
    if (status == TCE_OK)
        status = tce__check_pointer("work", work);
    return status;
}

/* rows of z [n, dim] <- L_i^-1 z_i, or L_i^-T z_i with TCE__TRANS */
static void solve_rows(tce__trans trans, size_t n, size_t dim, size_t n_cov, const double *L,
                       double *z)
{
    if (n_cov == 1) {
        /* z_i' L^-T, all rows at once */
        const tce__trans right = trans == TCE__TRANS ? TCE__NO_TRANS : TCE__TRANS;
        tce__solve_lower(TCE__RIGHT, right, n, dim, 1.0, L, dim, z, dim);
        return;
    }
    for (size_t i = 0; i < n; i++)
        tce__solve_lower_vector(trans, dim, L + i * dim * dim, dim, z + i * dim);
}

/* z_i = L_i^-1 (x_i - mean_i) */
static void residuals(size_t n, size_t dim, size_t n_cov, const double *x, const double *mean,
                      const double *L, double *z)
{
    for (size_t k = 0; k < n * dim; k++)
        z[k] = x[k] - mean[k];
    solve_rows(TCE__NO_TRANS, n, dim, n_cov, L, z);
}

tce_status tce_gauss_log_prob(size_t n, size_t dim, size_t n_cov, const double *x,
                              const double *mean, const double *L, double *work, double *out)
{
    tce_status status = check_log_prob(n, dim, n_cov, x, mean, L, work);
    if (status == TCE_OK)
        status = tce__check_pointer("out", out);
    if (status != TCE_OK || n == 0)
        return status;

    residuals(n, dim, n_cov, x, mean, L, work);

    /* -1/2 |z|^2 - sum log L_ii - P/2 log 2 pi */
    double log_det = tce__log_diagonal(dim, L);
    for (size_t i = 0; i < n; i++) {
        const double *z = work + i * dim;
        if (i > 0 && n_cov > 1)
            log_det = tce__log_diagonal(dim, L + i * dim * dim);
        out[i] = -0.5 * tce__dot(dim, z, z) - log_det - 0.5 * (double)dim * TCE__LOG_2PI;
    }
    return TCE_OK;
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

tce_status tce_gauss_log_prob_backward(size_t n, size_t dim, size_t n_cov, const double *x,
                                       const double *mean, const double *L, const double *d_out,
                                       double *work, double *out_d_x, double *out_d_mean,
                                       double *out_d_L)
{
    tce_status status = check_log_prob(n, dim, n_cov, x, mean, L, work);
    if (status == TCE_OK)
        status = tce__check_finite("d_out", n, d_out);
    if (status != TCE_OK)
        return status;
    if (n == 0) {
        if (out_d_L)
            memset(out_d_L, 0, n_cov * dim * dim * sizeof *out_d_L);
        return TCE_OK;
    }

    /* z = L^-1 (x - m); g u = d_out L^-T z */
    double *z = work;
    double *gu = work + n * dim;
    double total = 0.0;
    residuals(n, dim, n_cov, x, mean, L, z);
    for (size_t i = 0; i < n; i++) {
        total += d_out[i];
        for (size_t k = 0; k < dim; k++)
            gu[i * dim + k] = d_out[i] * z[i * dim + k];
    }
    solve_rows(TCE__TRANS, n, dim, n_cov, L, gu);

    /* d_m = g u, d_x = -g u */
    if (out_d_mean)
        memcpy(out_d_mean, gu, n * dim * sizeof *gu);
    if (out_d_x)
        for (size_t k = 0; k < n * dim; k++)
            out_d_x[k] = -gu[k];

    /* d_L = tril(g u z') - g diag(1 / L_ii) */
    if (out_d_L && n_cov == 1)
        factor_gradient(n, dim, gu, z, total, L, out_d_L);
    if (out_d_L && n_cov > 1)
        for (size_t i = 0; i < n; i++)
            factor_gradient(1, dim, gu + i * dim, z + i * dim, d_out[i], L + i * dim * dim,
                            out_d_L + i * dim * dim);
    return TCE_OK;
}

tce_status tce_gauss_entropy(size_t n_cov, size_t dim, const double *L, double *out)
{
    tce_status status = check_shape(n_cov, dim, n_cov, "n_cov");
    if (status == TCE_OK)
        status = tce__check_factors("L", n_cov, dim, 1, L);
    if (status == TCE_OK)
        status = tce__check_pointer("out", out);
    if (status != TCE_OK)
        return status;

    for (size_t e = 0; e < n_cov; e++)
        out[e] = 0.5 * (double)dim * (1.0 + TCE__LOG_2PI) +
                 tce__log_diagonal(dim, L + e * dim * dim);
    return TCE_OK;
}

tce_status tce_gauss_entropy_backward(size_t n_cov, size_t dim, const double *L,
                                      const double *d_out, double *out_d_L)
{
    tce_status status = check_shape(n_cov, dim, n_cov, "n_cov");
    if (status == TCE_OK)
        status = tce__check_factors("L", n_cov, dim, 1, L);
    if (status == TCE_OK)
        status = tce__check_finite("d_out", n_cov, d_out);
    if (status == TCE_OK)
        status = tce__check_pointer("out_d_L", out_d_L);
    if (status != TCE_OK)
        return status;

    /* d H / d L = diag(1 / L_ii) */
    for (size_t e = 0; e < n_cov; e++) {
        double *d_L = out_d_L + e * dim * dim;
        memset(d_L, 0, dim * dim * sizeof *d_L);
        for (size_t k = 0; k < dim; k++)
            d_L[k * dim + k] = d_out[e] / L[(e * dim + k) * dim + k];
    }
    return TCE_OK;
}

tce_status tce_gauss_sample(size_t n, size_t dim, size_t n_cov, const double *mean, const double *L,
                            tce_random *random, double *work, double *out)
{
    tce_status status = check_shape(n, dim, n_cov, "n_cov");
    if (status == TCE_OK)
        status = tce__check_finite("mean", n * dim, mean);
    if (status == TCE_OK)
        status = tce__check_factors("L", n_cov, dim, 0, L);
    if (status == TCE_OK)
        status = tce__check_pointer("random", random);
    if (status == TCE_OK)
        status = tce__check_pointer("work", work);
    if (status == TCE_OK)
        status = tce__check_pointer("out", out);
    if (status != TCE_OK || n == 0)
        return status;

    /* z ~ N(0, I) in order of the rows, then L z */
    tce_random_normals(random, n * dim, work);
    if (n_cov == 1)
        tce__multiply_lower(TCE__RIGHT, TCE__TRANS, n, dim, 1.0, L, dim, work, dim);
    for (size_t i = 0; i < n && n_cov > 1; i++)
        tce__multiply_lower_vector(TCE__NO_TRANS, dim, L + i * dim * dim, dim, work + i * dim);

    for (size_t k = 0; k < n * dim; k++)
        out[k] = mean[k] + work[k];
    return TCE_OK;
}
