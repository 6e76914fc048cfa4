/*
 * The three covariance projections for diagonal factors, element by element: l = L_ii, o = L_o,ii.
 *
 *     KL         lambda = o^2/l^2,  l~ = o sqrt((1 + eta)/(lambda + eta)),
 *                eta by the dual with M = diag(lambda)
 *     W2         x = l - o,         d = sum (x/o)^2,  l~ = o + t x
 *     Frobenius  x = l^2 - o^2,     d = sum x^2,      l~^2 = o^2 + t x,     t = sqrt(bound/d)
 */
#include <math.h>
#include <string.h>

#include "gauss/internal.h"
#include "trpl/internal.h"

/* distance from the old diagonal cov->values; cov->X is set for W2 and Frobenius */
static double distance(size_t P, int32_t kind, tce__cov *cov)
{
    double sum = 0.0;
    for (size_t i = 0; i < P; i++) {
        const double l = cov->L[i];
        const double o = cov->values[i];
        const double x = l - o;
        if (kind == TCE_TRPL_KL) {
            /* 1/2 (s - 1 - log s) of s = l^2/o^2, from s - 1 near 1 */
            const double d = (x / o) * (l / o + 1.0);
            sum += 0.5 * (d > -0.5 ? tce__excess(d) : d - 2.0 * log(l / o));
            continue;
        }
        cov->X[i] = kind == TCE_TRPL_W2 ? x : x * (l + o);
        const double term = kind == TCE_TRPL_W2 ? x / o : cov->X[i];
        sum += term * term;
    }
    return sum;
}

tce_status tce__diagonal_project(size_t P, int32_t kind, double bound, tce__cov *cov, double *work)
{
    /* inside the bound everything stays */
    tce_status status = tce__cov_outside(distance(P, kind, cov), bound, cov);
    if (status != TCE_OK)
        return status;
    memcpy(cov->projected, cov->L, P * sizeof *cov->L);
    if (!cov->active)
        return TCE_OK;

    if (kind == TCE_TRPL_KL) {
        double *lambda = work;
        double *zero = work + P;
        for (size_t i = 0; i < P; i++) {
            const double ratio = cov->values[i] / cov->L[i];
            lambda[i] = ratio * ratio;
            zero[i] = 0.0;
        }
        status = tce__dual_solve(P, lambda, zero, bound, &cov->eta);
        for (size_t i = 0; i < P && status == TCE_OK; i++)
            cov->projected[i] = cov->values[i] * sqrt((1.0 + cov->eta) / (lambda[i] + cov->eta));
        return status;
    }

    tce__cov_shorten(bound, cov);
    for (size_t i = 0; i < P; i++) {
        const double o = cov->values[i];
        cov->projected[i] = kind == TCE_TRPL_W2 ? o + cov->step * cov->X[i]
                                                : sqrt(o * o + cov->step * cov->X[i]);
    }
    return TCE_OK;
}

void tce__diagonal_backward(size_t P, int32_t kind, const tce__cov *cov, const double *d_L,
                            double *out_d_L, double *work)
{
    const double *o = cov->values;
    double *y = work;             /* gradient with respect to what is moved on a line or surface */
    double *normal = y + P;       /* gradient of the distance there, up to a factor */
    double *through = normal + P; /* from y back to l */

    if (!cov->active) {
        memmove(out_d_L, d_L, P * sizeof *d_L);
        return;
    }

    /*
     * each kind: d_l = through (y - direction <y, dual>/<direction, dual>), with direction and dual
     * as in the full forms
     */
    double along = 0.0;
    double square = 0.0;
    for (size_t i = 0; i < P; i++) {
        const double l = cov->L[i];
        const double moved = cov->projected[i];
        if (kind == TCE_TRPL_KL) {
            /* y = l~ d_l~ / 2, r = (l~/o)^2 - 1, d_l = 2/(1 + eta) (l~/l)^2 / l y_ */
            const double c = moved / o[i];
            y[i] = 0.5 * moved * d_L[i];
            normal[i] = (c - 1.0) * (c + 1.0);
            through[i] = 2.0 / (1.0 + cov->eta) * (moved / l) * (moved / l) / l;
            along += y[i] * normal[i];
            square += normal[i] * normal[i];
        } else if (kind == TCE_TRPL_W2) {
            /* d_l = t (d_l~ - x/o^2 <d_l~, x>/d) */
            y[i] = d_L[i];
            normal[i] = cov->X[i] / (o[i] * o[i]);
            through[i] = cov->step;
            along += y[i] * cov->X[i];
        } else {
            /* d_l = 2 l t (d_s - x <d_s, x>/d), d_s = d_l~/(2 l~) */
            y[i] = d_L[i] / (2.0 * moved);
            normal[i] = cov->X[i];
            through[i] = 2.0 * l * cov->step;
            along += y[i] * cov->X[i];
        }
    }
    along /= kind == TCE_TRPL_KL ? square : cov->distance;
    for (size_t i = 0; i < P; i++)
        out_d_L[i] = through[i] * (y[i] - along * normal[i]);
}
