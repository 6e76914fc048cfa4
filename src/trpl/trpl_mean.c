/*
 * The mean's part of the projection [TRPL], which only differs by the factor 1/2 for KL:
 *
 *     delta = mu - mu_o,  z = L_o^-1 delta,  w = L_o^-T z
 *     m = 1/2 |z|^2 (KL) or |z|^2;
 *     m > bound:  t = sqrt(bound/m) = 1/(1 + omega),  mu~ = mu_o + t delta
 *     d_mu = t (d_mu~ - w <d_mu~, delta>/|z|^2)
 */
#include <math.h>
#include <string.h>

#include "linalg/linalg.h"
#include "trpl/internal.h"

/*
 * The largest double below 1: a mean outside the bound has a step below 1 even when the root rounds
 * to it.
 */
#define BELOW_ONE (1.0 - 0x1p-53)

void tce__solve_rows(const tce_trpl *tr, tce__trans trans, size_t n, const double *L, double *x)
{
    const size_t P = tr->P;
    if (tr->opt.diagonal) {
        for (size_t i = 0; i < n; i++)
            for (size_t k = 0; k < P; k++)
                x[i * P + k] /= L[k];
    } else if (n == 1) {
        tce__solve_lower_vector(trans, P, L, P, x);
    } else {
        const tce__trans right = trans == TCE__TRANS ? TCE__NO_TRANS : TCE__TRANS;
        tce__solve_lower_rows(right, n, P, L, P, x, tr->solve_work);
    }
}

void tce__mean_project(tce_trpl *tr, size_t begin, size_t end, const double *mean,
                       const double *old_mean, const double *old_L, double bound)
{
    const size_t P = tr->P;
    const double half = tr->opt.kind == TCE_TRPL_KL ? 0.5 : 1.0;
    double *delta = tr->delta + begin * P;
    double *w = tr->w + begin * P;

    /* z = L_o^-1 delta */
    for (size_t k = 0; k < (end - begin) * P; k++) {
        delta[k] = mean[begin * P + k] - old_mean[begin * P + k];
        w[k] = delta[k];
    }
    tce__solve_rows(tr, TCE__NO_TRANS, end - begin, old_L, w);

    /* distances, steps and means; a mean inside the bound is copied */
    int active = 0;
    for (size_t i = begin; i < end; i++) {
        const double *z = tr->w + i * P;
        const double *x = mean + i * P;
        double *out = tr->mean + i * P;
        const double square = tce__dot(P, z, z);
        const double m = half * square;
        const int inside = m <= bound;
        tr->mean_square[i] = square;
        tr->mean_distance[i] = m;
        tr->mean_step[i] = inside ? 1.0 : fmin(sqrt(bound / m), BELOW_ONE);
        active |= !inside;
        if (inside)
            memcpy(out, x, P * sizeof *out);
        else
            for (size_t k = 0; k < P; k++)
                out[k] = old_mean[i * P + k] + tr->mean_step[i] * tr->delta[i * P + k];
    }

    /* w = L_o^-T z, for backward */
    if (active)
        tce__solve_rows(tr, TCE__TRANS, end - begin, old_L, w);
}

void tce__mean_backward(const tce_trpl *tr, size_t begin, size_t end, const double *d_mean,
                        double *out_d_mean)
{
    const size_t P = tr->P;
    for (size_t i = begin; i < end; i++) {
        const double *d = d_mean + i * P;
        const double *w = tr->w + i * P;
        double *out = out_d_mean + i * P;
        const int active = tr->mean_step[i] < 1.0;
        if (!active) {
            memmove(out, d, P * sizeof *out);
            continue;
        }
        const double t = tr->mean_step[i];
        const double along = tce__dot(P, d, tr->delta + i * P) / tr->mean_square[i];
        for (size_t k = 0; k < P; k++)
            out[k] = t * (d[k] - along * w[k]);
    }
}
