/*
 * KL( N(m, L L') || N(m_o, L_o L_o') ) in two parts. With z = L_o^-1 (m - m_o) and B = L_o^-1 L,
 * lower; in the diagonal form all of these are diagonal:
 *
 *     mean part        1/2 |z|^2
 *     covariance part  1/2 (|B|_F^2 - P) - sum_i log B_ii
 *     gradients        d_m = L_o^-T z,    d_L = tril(L_o^-T B) - diag(1 / L_ii)
 */
#include <math.h>
#include <string.h>

#include "gauss/internal.h"

/* Checks of both Gaussians, and copies of them. */
static tce_status read_pair(const tce_gauss *p, const tce_gauss *other, const double *work,
                            tce_gauss *out_p, tce_gauss *out_other)
{
    tce_status status = tce__gauss_read(p, 0, TCE__GAUSS_ALL, out_p);
    if (status == TCE_OK)
        status = tce__gauss_read(other, 1, TCE__GAUSS_ALL, out_other);
    if (status != TCE_OK)
        return status;
    if (out_other->n != out_p->n || out_other->dim != out_p->dim)
        return tce_fail(TCE_E_SHAPE, "other has n = %zu and dim = %zu, must be %zu and %zu",
                        out_other->n, out_other->dim, out_p->n, out_p->dim);
    if (out_other->form != out_p->form)
        return tce_fail(TCE_E_SHAPE, "other.form = %d, must be the form of the first Gaussian, %d",
                        (int)out_other->form, (int)out_p->form);
    return tce__check_pointer("work", work);
}

/* B = L_o^-1 L of Gaussian i */
static void whiten_factor(const tce_gauss *p, const tce_gauss *other, size_t i, double *B)
{
    tce__copy_lower(p->dim, tce__gauss_scale(p, i), B);
    tce__solve_lower(TCE__LEFT, TCE__NO_TRANS, p->dim, p->dim, 1.0, tce__gauss_scale(other, i),
                     p->dim, B, p->dim);
}

/* 1/2 (|B|^2 - P) - sum log B_ii of Gaussian i */
static double covariance_part(const tce_gauss *p, const tce_gauss *other, size_t i, double *B)
{
    if (p->form == TCE_GAUSS_DIAGONAL)
        return tce__excess_diagonal(p->dim, tce__gauss_scale(p, i), tce__gauss_scale(other, i));
    whiten_factor(p, other, i, B);
    return tce__excess_lower(p->dim, B, p->dim);
}

tce_status tce_gauss_kl(const tce_gauss *g, const tce_gauss *other, double *work,
                        double *out_mean_part, double *out_cov_part)
{
    tce_gauss p, o;
    const tce_status status = read_pair(g, other, work, &p, &o);
    if (status != TCE_OK)
        return status;

    /* 1/2 |z|^2, z = L_o^-1 (m - m_o) */
    if (out_mean_part && p.n > 0)
        tce__gauss_whiten(&o, p.mean, work);
    for (size_t i = 0; i < p.n && out_mean_part; i++)
        out_mean_part[i] = 0.5 * tce__dot(p.dim, work + i * p.dim, work + i * p.dim);

    /* the covariance part once when both scales are shared */
    const int once = p.n_scales == 1 && o.n_scales == 1;
    for (size_t i = 0; i < p.n && out_cov_part; i++)
        out_cov_part[i] = i > 0 && once ? out_cov_part[0] : covariance_part(&p, &o, i, work);
    return TCE_OK;
}

/* d_L += weight (tril(L_o^-T B) - diag(1 / L_ii)) of Gaussian i */
static void add_scale_gradient(const tce_gauss *p, const tce_gauss *other, size_t i, double weight,
                               double *B, double *d_scale)
{
    const size_t dim = p->dim;
    const double *const scale = tce__gauss_scale(p, i);
    const double *const other_scale = tce__gauss_scale(other, i);
    if (p->form == TCE_GAUSS_DIAGONAL) {
        for (size_t k = 0; k < dim; k++)
            d_scale[k] += weight * (scale[k] / (other_scale[k] * other_scale[k]) - 1.0 / scale[k]);
        return;
    }

    whiten_factor(p, other, i, B);
    tce__solve_lower(TCE__LEFT, TCE__TRANS, dim, dim, weight, other_scale, dim, B, dim);
    for (size_t r = 0; r < dim; r++) {
        tce__axpy(r + 1, 1.0, B + r * dim, d_scale + r * dim);
        d_scale[r * dim + r] -= weight / scale[r * dim + r];
    }
}

tce_status tce_gauss_kl_backward(const tce_gauss *g, const tce_gauss *other,
                                 const double *d_mean_part, const double *d_cov_part, double *work,
                                 double *out_d_mean, double *out_d_scale)
{
    tce_gauss p, o;
    tce_status status = read_pair(g, other, work, &p, &o);
    if (status == TCE_OK && d_mean_part)
        status = tce__check_finite("d_mean_part", p.n, d_mean_part);
    if (status == TCE_OK && d_cov_part)
        status = tce__check_finite("d_cov_part", p.n, d_cov_part);
    if (status != TCE_OK)
        return status;

    /* d_m = d_mean_part L_o^-T z */
    if (out_d_mean && !d_mean_part)
        memset(out_d_mean, 0, p.n * p.dim * sizeof *out_d_mean);
    if (out_d_mean && d_mean_part && p.n > 0) {
        tce__gauss_whiten(&o, p.mean, work);
        for (size_t i = 0; i < p.n; i++)
            tce__scale(p.dim, d_mean_part[i], work + i * p.dim);
        tce__gauss_solve(TCE__TRANS, &o, work);
        memcpy(out_d_mean, work, p.n * p.dim * sizeof *out_d_mean);
    }
    if (!out_d_scale)
        return TCE_OK;

    /* d_S, summed over the Gaussians that share it; one product when both scales are shared */
    const size_t size = tce__gauss_scale_size(&p);
    memset(out_d_scale, 0, p.n_scales * size * sizeof *out_d_scale);
    if (!d_cov_part)
        return TCE_OK;
    if (p.n_scales == 1 && o.n_scales == 1) {
        double total = 0.0;
        for (size_t i = 0; i < p.n; i++)
            total += d_cov_part[i];
        add_scale_gradient(&p, &o, 0, total, work, out_d_scale);
        return TCE_OK;
    }
    for (size_t i = 0; i < p.n; i++)
        add_scale_gradient(&p, &o, i, d_cov_part[i], work,
                           out_d_scale + (p.n_scales == 1 ? 0 : i * size));
    return TCE_OK;
}
