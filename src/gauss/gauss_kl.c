/*
 * KL( N(m, L L') || N(m_o, L_o L_o') ) in two parts. With z = L_o^-1 (m - m_o) and B = L_o^-1 L,
 * lower:
 *
 *     mean part        1/2 |z|^2
 *     covariance part  1/2 (|B|_F^2 - P) - sum_i log B_ii
 *     gradients        d_m = L_o^-T z,    d_L = tril(L_o^-T B) - diag(1 / L_ii)
 */
#include <math.h>
#include <string.h>

#include "gauss/internal.h"
#include "linalg/linalg.h"

/* The arguments that forward and backward share. */
typedef struct pair {
    size_t n;
    size_t dim;
    size_t n_cov;
    const double *mean; /* [n, dim] */
    const double *L;    /* [n_cov, dim, dim] */
    size_t n_other_cov;
    const double *other_mean; /* [n, dim] */
    const double *other_L;    /* [n_other_cov, dim, dim] */
} pair;

static tce_status check_pair(const pair *p, const double *work)
{
    if (p->dim == 0)
        return tce_fail(TCE_E_SHAPE, "dim = 0, must be at least 1");
    if (p->n_cov != 1 && p->n_cov != p->n)
        return tce_fail(TCE_E_SHAPE, "n_cov = %zu, must be 1 or n = %zu", p->n_cov, p->n);
    if (p->n_other_cov != 1 && p->n_other_cov != p->n)
        return tce_fail(TCE_E_SHAPE, "n_other_cov = %zu, must be 1 or n = %zu", p->n_other_cov,
                        p->n);

    tce_status status = tce__check_finite("mean", p->n * p->dim, p->mean);
    if (status == TCE_OK)
        status = tce__check_finite("other_mean", p->n * p->dim, p->other_mean);
    if (status == TCE_OK)
        status = tce__check_factors("L", p->n_cov, p->dim, 0, p->L);
    if (status == TCE_OK)
        status = tce__check_factors("other_L", p->n_other_cov, p->dim, 0, p->other_L);
    if (status == TCE_OK)
        status = tce__check_pointer("work", work);
    return status;
}

static const double *factor(size_t n_cov, size_t dim, const double *L, size_t i)
{
    return n_cov == 1 ? L : L + i * dim * dim;
}

/* z_i = L_o^-1 (m_i - m_o,i) */
static void whiten(const pair *p, double *z)
{
    for (size_t k = 0; k < p->n * p->dim; k++)
        z[k] = p->mean[k] - p->other_mean[k];
    if (p->n_other_cov == 1)
        tce__solve_lower(TCE__RIGHT, TCE__TRANS, p->n, p->dim, 1.0, p->other_L, p->dim, z, p->dim);
    for (size_t i = 0; i < p->n && p->n_other_cov > 1; i++)
        tce__solve_lower_vector(TCE__NO_TRANS, p->dim,
                                factor(p->n_other_cov, p->dim, p->other_L, i), p->dim,
                                z + i * p->dim);
}

/* B = L_o^-1 L of Gaussian i */
static void whiten_factor(const pair *p, size_t i, double *B)
{
    tce__copy_lower(p->dim, factor(p->n_cov, p->dim, p->L, i), B);
    tce__solve_lower(TCE__LEFT, TCE__NO_TRANS, p->dim, p->dim, 1.0,
                     factor(p->n_other_cov, p->dim, p->other_L, i), p->dim, B, p->dim);
}

tce_status tce_gauss_kl(size_t n, size_t dim, size_t n_cov, const double *mean, const double *L,
                        size_t n_other_cov, const double *other_mean, const double *other_L,
                        double *work, double *out_mean_part, double *out_cov_part)
{
    const pair p = { n, dim, n_cov, mean, L, n_other_cov, other_mean, other_L };
    const tce_status status = check_pair(&p, work);
    if (status != TCE_OK)
        return status;

    /* 1/2 |z|^2 */
    if (out_mean_part && n > 0)
        whiten(&p, work);
    for (size_t i = 0; i < n && out_mean_part; i++)
        out_mean_part[i] = 0.5 * tce__dot(dim, work + i * dim, work + i * dim);

    /* 1/2 (|B|^2 - P) - sum log B_ii, once when both factors are shared */
    const int once = n_cov == 1 && n_other_cov == 1;
    for (size_t i = 0; i < n && out_cov_part; i++) {
        if (i > 0 && once) {
            out_cov_part[i] = out_cov_part[0];
            continue;
        }
        whiten_factor(&p, i, work);
        out_cov_part[i] = tce__excess_lower(dim, work, dim);
    }
    return TCE_OK;
}

/* d_L += weight (tril(L_o^-T B) - diag(1 / L_ii)) of Gaussian i */
static void add_factor_gradient(const pair *p, size_t i, double weight, double *B, double *d_L)
{
    const size_t dim = p->dim;
    const double *L = factor(p->n_cov, dim, p->L, i);
    whiten_factor(p, i, B);
    tce__solve_lower(TCE__LEFT, TCE__TRANS, dim, dim, weight,
                     factor(p->n_other_cov, dim, p->other_L, i), dim, B, dim);
    for (size_t r = 0; r < dim; r++) {
        tce__axpy(r + 1, 1.0, B + r * dim, d_L + r * dim);
        d_L[r * dim + r] -= weight / L[r * dim + r];
    }
}

tce_status tce_gauss_kl_backward(size_t n, size_t dim, size_t n_cov, const double *mean,
                                 const double *L, size_t n_other_cov, const double *other_mean,
                                 const double *other_L, const double *d_mean_part,
                                 const double *d_cov_part, double *work, double *out_d_mean,
                                 double *out_d_L)
{
    const pair p = { n, dim, n_cov, mean, L, n_other_cov, other_mean, other_L };
    tce_status status = check_pair(&p, work);
    if (status == TCE_OK && d_mean_part)
        status = tce__check_finite("d_mean_part", n, d_mean_part);
    if (status == TCE_OK && d_cov_part)
        status = tce__check_finite("d_cov_part", n, d_cov_part);
    if (status != TCE_OK)
        return status;

    /* d_m = d_mean_part L_o^-T z */
    if (out_d_mean && !d_mean_part)
        memset(out_d_mean, 0, n * dim * sizeof *out_d_mean);
    if (out_d_mean && d_mean_part && n > 0) {
        whiten(&p, work);
        for (size_t i = 0; i < n; i++)
            tce__scale(dim, d_mean_part[i], work + i * dim);
        if (n_other_cov == 1)
            tce__solve_lower(TCE__RIGHT, TCE__NO_TRANS, n, dim, 1.0, other_L, dim, work, dim);
        for (size_t i = 0; i < n && n_other_cov > 1; i++)
            tce__solve_lower_vector(TCE__TRANS, dim, other_L + i * dim * dim, dim, work + i * dim);
        memcpy(out_d_mean, work, n * dim * sizeof *out_d_mean);
    }
    if (!out_d_L)
        return TCE_OK;

    /* d_L, summed over the Gaussians that share it; one product when both factors are shared */
    memset(out_d_L, 0, n_cov * dim * dim * sizeof *out_d_L);
    if (!d_cov_part)
        return TCE_OK;
    if (n_cov == 1 && n_other_cov == 1) {
        double total = 0.0;
        for (size_t i = 0; i < n; i++)
            total += d_cov_part[i];
        add_factor_gradient(&p, 0, total, work, out_d_L);
        return TCE_OK;
    }
    for (size_t i = 0; i < n; i++)
        add_factor_gradient(&p, i, d_cov_part[i], work, out_d_L + (n_cov == 1 ? 0 : i * dim * dim));
    return TCE_OK;
}
