/*
 * The dual of the KL projection [TRPL]: eta >= 0 with f(eta) = bound, where M = L_o' Sigma^-1 L_o
 * and
 *
 *     f(eta) = 1/2 (tr W - P - log det W),    W = (1 + eta) (M + eta I)^-1
 *
 * Eigenvalues are not needed: f does not change when M is made tridiagonal by an orthogonal
 * similarity, and for a tridiagonal M = T it costs O(P). With T + eta I = B D B', B unit lower
 * bidiagonal with l_j below its diagonal, W has the factor C = sqrt(1 + eta) B^-T D^(-1/2) and
 *
 *     f = 1/2 sum_j [ x_j - log(1 + x_j) + (1 + x_j) k_j ],
 *     1 + x_j = (1 + eta) / D_j,    k_j = l_j^2 (1 + k_{j-1}) = |row j of B^-1|^2 - 1
 *
 * a sum of non-negative terms. x_j = (1 - T_jj + l_j^2 D_{j-1}) / D_j is formed without subtracting
 * numbers of the size of eta.
 */
#include <math.h>

#include "gauss/internal.h"
#include "trpl/internal.h"

/* More than Newton (about 5) and a bisection of the whole exponent range need together. */
#define MAX_ITERATIONS 400

/* Relative deviation from the bound, and relative step, at which rounding has taken over. */
#define VALUE_TOLERANCE 4e-15
#define STEP_TOLERANCE 4e-16

/* While no upper end of the bracket is known, 1 + eta grows by at most this factor per step. */
#define GROWTH 16.0

int tce__dual_value(size_t P, const double *diagonal, const double *off_diagonal, double eta,
                    double *out_f, double *out_slope)
{
    double f = 0.0;
    double slope = 0.0;
    double D = 1.0;       /* D_{j-1} */
    double D_slope = 0.0; /* its derivative by eta */
    double k = 0.0;
    double k_slope = 0.0;

    for (size_t j = 0; j < P; j++) {
        /* l = e / D_{j-1}, and the parts of k_j = l^2 (1 + k_{j-1}) */
        const double e = j > 0 ? off_diagonal[j - 1] : 0.0;
        const double l = e / D;
        const double square = l * l;
        const double rise = 1.0 + k;
        k_slope = square * (k_slope - 2.0 * rise * D_slope / D);
        k = square * rise;

        /* D_j = T_jj + eta - l e; dD_j = 1 + l^2 dD_{j-1} */
        const double fall = square * D_slope;
        D_slope = 1.0 + fall;
        D = diagonal[j] + eta - l * e;
        if (!(D > 0.0))
            return 0;

        /* x = (1 + eta - D)/D; dx = -(x + (1 + x) l^2 dD_{j-1})/D */
        const double ratio = (1.0 + eta) / D;
        const double x = (1.0 - diagonal[j] + l * e) / D;
        const double x_slope = -(x + ratio * fall) / D;
        f += (x > -0.5 ? tce__excess(x) : x - log(ratio)) + ratio * k;
        slope += x_slope * (x / ratio + k) + ratio * k_slope;
    }
    *out_f = 0.5 * f;
    *out_slope = 0.5 * slope;
    return isfinite(f) && isfinite(slope);
}

double tce__dual_step(double f, double slope, double bound)
{
    /* g = f^(-1/2): (bound^(-1/2) - g) / g',  g' = -1/2 f^(-3/2) f' */
    return -2.0 * (f / slope) * (sqrt(f / bound) - 1.0);
}

tce_status tce__dual_solve(size_t P, const double *diagonal, const double *off_diagonal,
                           double bound, double *out_eta)
{
    double low = 0.0; /* f(low) > bound */
    double high = INFINITY;

    /* first guess from f ~ 1/4 |I - M|^2 / (1 + eta)^2, exact for small bounds */
    double square = 0.0;
    for (size_t j = 0; j < P; j++) {
        const double e = j > 0 ? off_diagonal[j - 1] : 0.0;
        square += (1.0 - diagonal[j]) * (1.0 - diagonal[j]) + 2.0 * e * e;
    }
    double eta = fmax(0.0, 0.5 * sqrt(square / bound) - 1.0);
    if (!isfinite(eta))
        return tce_fail(TCE_E_NO_CONVERGE,
                        "the projection's dual has no start: |I - M|^2 = %g, bound %g", square,
                        bound);

    for (int i = 0; i < MAX_ITERATIONS; i++) {
        double f = INFINITY;
        double slope = -1.0;
        const int finite = tce__dual_value(P, diagonal, off_diagonal, eta, &f, &slope);
        if (finite && fabs(f / bound - 1.0) <= VALUE_TOLERANCE) {
            *out_eta = eta;
            return TCE_OK;
        }

        /* keep the bracket, take Newton's step inside it */
        if (!finite || f > bound)
            low = eta;
        else
            high = eta;
        double next = finite ? eta + tce__dual_step(f, slope, bound) : NAN;
        if (!(next > low && next < high)) {
            next = isfinite(high) ? sqrt((1.0 + low) * (1.0 + high)) - 1.0
                                  : GROWTH * (1.0 + low) - 1.0;
            if (!(next > low && next < high))
                next = 0.5 * (low + high);
        }
        const double step = fabs(next - eta);
        eta = next;
        if ((finite && step <= STEP_TOLERANCE * (1.0 + eta)) || !(eta > low && eta < high)) {
            *out_eta = eta;
            return TCE_OK;
        }
    }
    return tce_fail(TCE_E_NO_CONVERGE,
                    "the projection's dual gave up after %d steps at eta = %g, bound %g",
                    MAX_ITERATIONS, eta, bound);
}
