/*
 * The squashed Gaussian a = tanh(u), u = m + S z, with z the caller's normals [SAC eq. 26]:
 *
 *     log pi(a) = log N(u) - sum_d log(1 - a_d^2 + epsilon)
 *
 * epsilon = 1e-6 is part of the published implementations' density. With s_d = 1 - a_d^2,
 * gradients along u = m + S z (z fixed, so that log N changes with S alone) are
 *
 *     d_u = d_a s + d_log_pi 2 a s/(s + epsilon),
 *     d_m = d_u,    d_S = tril(d_u z') - d_log_pi diag(1 / S_ii)
 *
 * and with a fixed they are those of log N at u = atanh(a).
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "gauss/internal.h"

#define EPSILON 1e-6

/* The largest action whose atanh is finite; the published implementations stop there. */
#define LARGEST_ACTION (1.0 - DBL_EPSILON)

/* 1 - tanh(u)^2 = 4 e/(1 + e)^2 with e = exp(-2 |u|), which does not cancel */
static double slope(double u)
{
    const double e = exp(-2.0 * fabs(u));
    return 4.0 * e / ((1.0 + e) * (1.0 + e));
}

tce_status tce_gauss_squash(const tce_gauss *g, const double *normals, double *out_actions,
                            double *out_log_prob)
{
    tce_gauss known;
    tce_status status = tce__gauss_read(g, 0, TCE__GAUSS_ALL, &known);
    if (status == TCE_OK)
        status = tce__check_finite("normals", known.n * known.dim, normals);
    if (status == TCE_OK)
        status = tce__check_pointer("out_actions", out_actions);
    if (status != TCE_OK || known.n == 0)
        return status;

    /* log N first: out_actions may be the normals */
    const size_t dim = known.dim;
    if (out_log_prob)
        tce__gauss_density(&known, normals, out_log_prob);
    tce__gauss_move(&known, normals, out_actions);
    for (size_t i = 0; i < known.n; i++) {
        double sum = 0.0;
        for (size_t k = 0; k < dim; k++) {
            double *const a = &out_actions[i * dim + k];
            if (out_log_prob)
                sum += log(slope(*a) + EPSILON);
            *a = tanh(*a);
        }
        if (out_log_prob)
            out_log_prob[i] -= sum;
    }
    return TCE_OK;
}

tce_status tce_gauss_squash_backward(const tce_gauss *g, const double *normals,
                                     const double *d_actions, const double *d_log_prob,
                                     double *work, double *out_d_mean, double *out_d_scale)
{
    tce_gauss known;
    tce_status status = tce__gauss_read(g, 0, TCE__GAUSS_ALL, &known);
    if (status == TCE_OK)
        status = tce__check_finite("normals", known.n * known.dim, normals);
    if (status == TCE_OK && d_actions)
        status = tce__check_finite("d_actions", known.n * known.dim, d_actions);
    if (status == TCE_OK && d_log_prob)
        status = tce__check_finite("d_log_prob", known.n, d_log_prob);
    if (status == TCE_OK)
        status = tce__check_pointer("work", work);
    if (status != TCE_OK)
        return status;

    /* d_u in the place of u; no gradient to log pi is one of zeros */
    const size_t dim = known.dim;
    double *const d_u = work;
    double *const d_log = work + known.n * dim;
    if (known.n > 0)
        tce__gauss_move(&known, normals, d_u);
    for (size_t i = 0; i < known.n; i++) {
        d_log[i] = d_log_prob ? d_log_prob[i] : 0.0;
        for (size_t k = 0; k < dim; k++) {
            const double u = d_u[i * dim + k];
            const double s = slope(u);
            const double d_a = d_actions ? d_actions[i * dim + k] : 0.0;
            d_u[i * dim + k] = d_a * s + d_log[i] * 2.0 * tanh(u) * s / (s + EPSILON);
        }
    }

    if (out_d_mean)
        memcpy(out_d_mean, d_u, known.n * dim * sizeof *d_u);
    if (out_d_scale)
        tce__gauss_scale_gradient(&known, d_u, normals, d_log, out_d_scale);
    return TCE_OK;
}

/* Checks for given actions; u = atanh(a) into u [n, dim]. */
static tce_status unsquash(const tce_gauss *g, const double *actions, double *u, tce_gauss *known)
{
    tce_status status = tce__gauss_read(g, 0, TCE__GAUSS_ALL, known);
    if (status == TCE_OK)
        status = tce__check_finite("actions", known->n * known->dim, actions);
    if (status == TCE_OK)
        status = tce__check_pointer("work", u);
    if (status != TCE_OK)
        return status;

    const size_t size = known->n * known->dim;
    for (size_t k = 0; k < size; k++)
        if (fabs(actions[k]) > 1.0)
            return tce_fail(TCE_E_VALUE, "actions[%zu] = %g, must be in -1 ... 1", k, actions[k]);
    for (size_t k = 0; k < size; k++)
        u[k] = atanh(fmax(-LARGEST_ACTION, fmin(LARGEST_ACTION, actions[k])));
    return TCE_OK;
}

tce_status tce_gauss_squash_log_prob(const tce_gauss *g, const double *actions, double *work,
                                     double *out)
{
    tce_gauss known;
    tce_status status = tce__check_pointer("out", out);
    if (status == TCE_OK)
        status = unsquash(g, actions, work, &known);
    if (status != TCE_OK || known.n == 0)
        return status;

    const size_t dim = known.dim;
    tce__gauss_whiten(&known, work, work);
    tce__gauss_density(&known, work, out);
    for (size_t i = 0; i < known.n; i++)
        for (size_t k = 0; k < dim; k++) {
            const double a = actions[i * dim + k];
            out[i] -= log((1.0 - a) * (1.0 + a) + EPSILON);
        }
    return TCE_OK;
}

tce_status tce_gauss_squash_log_prob_backward(const tce_gauss *g, const double *actions,
                                              const double *d_out, double *work, double *out_d_mean,
                                              double *out_d_scale)
{
    tce_gauss known;
    tce_status status = unsquash(g, actions, work, &known);
    if (status == TCE_OK)
        status = tce__check_finite("d_out", known.n, d_out);
    if (status != TCE_OK)
        return status;

    double *const z = work;
    double *const gu = work + known.n * known.dim;
    if (known.n > 0)
        tce__gauss_residuals(&known, work, d_out, z, gu);
    if (out_d_mean)
        memcpy(out_d_mean, gu, known.n * known.dim * sizeof *gu);
    if (out_d_scale)
        tce__gauss_scale_gradient(&known, gu, z, d_out, out_d_scale);
    return TCE_OK;
}
