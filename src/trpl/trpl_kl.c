/*
 * KL covariance projection [TRPL], with M = L_o' Sigma^-1 L_o = A'A, A = L^-1 L_o:
 *
 *     Sigma~^-1 = (Sigma^-1 + eta Sigma_o^-1) / (1 + eta)
 *     Sigma~ = (1 + eta) L_o N^-1 L_o',    N = M + eta I
 *
 * With N = U U', U upper, C = sqrt(1 + eta) U^-T is lower and L~ = L_o C is the factor wanted:
 * nothing is factored twice. The condition of N is limited by the bound, not by the inputs: every
 * eigenvalue s of C C', s = (1 + eta)/(lambda + eta), has s - 1 - log s <= 2 bound.
 *
 * Gradient. The implicit function theorem and the chain through both triangles collapse to a
 * projection: with Y = sym Phi(L~' d_L~) (Phi: lower triangle, halved diagonal), R = C'C - I and D
 * = L^-1 L~,
 *
 *     Y_ = Y - R <Y, R> / <R, R>,    d_L = 2/(1 + eta) tril( L^-T D Y_ D' )
 *
 * R is the gradient of f in that basis: what would leave the bound is taken out of Y.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "gauss/internal.h"
#include "linalg/linalg.h"
#include "trpl/internal.h"

/*
 * The factor meets the bound to this plus what rounding leaves of entries near 1, some
 * eps/sqrt(bound).
 */
#define BOUND_TOLERANCE 1e-11
#define ROUNDING 16.0

/*
 * One or two in practice; a bisection of eta down to its last place when the inputs leave few
 * digits.
 */
#define MAX_CORRECTIONS 80

/* While no eta inside the bound is known, 1 + eta grows by this factor. */
#define GROWTH 1.001

/*
 * C = sqrt(1 + eta) U^-T, U U' = M + eta I; M lower, scratch [P, P]. 0: not positive definite in
 * double.
 */
static int whitened_factor(size_t P, const double *M, double eta, double *scratch, double *C)
{
    /* the mirror image J N J of N has the ordinary factor J U J */
    for (size_t i = 0; i < P; i++) {
        double *row = scratch + i * P;
        for (size_t j = 0; j <= i; j++)
            row[j] = M[(P - 1 - j) * P + P - 1 - i];
        row[i] += eta;
    }
    if (tce__cholesky(P, scratch, P) != 0)
        return 0;

    memset(C, 0, P * P * sizeof *C);
    const double root = sqrt(1.0 + eta);
    for (size_t i = 0; i < P; i++)
        C[i * P + i] = root;
    tce__lower_solve(P, scratch, P, C, P);

    /* U^-T = J (.)' J: reflect the lower triangle at its other diagonal, in place */
    for (size_t i = 0; i < P; i++)
        for (size_t j = 0; j <= i && i + j < P - 1; j++) {
            double *a = C + i * P + j;
            double *b = C + (P - 1 - j) * P + P - 1 - i;
            const double swap = *a;
            *a = *b;
            *b = swap;
        }
    return 1;
}

/*
 * C at cov->eta, with eta corrected until f(C) itself, not that of the tridiagonal form, meets the
 * bound
 */
static tce_status factor_at_bound(size_t P, const double *M, const double *diagonal,
                                  const double *off_diagonal, double bound, double *scratch,
                                  tce__cov *cov)
{
    const double tolerance = BOUND_TOLERANCE + ROUNDING * DBL_EPSILON / sqrt(bound);
    double low = 0.0; /* outside the bound */
    double high = INFINITY;
    double eta = cov->eta;

    for (int i = 0; i < MAX_CORRECTIONS; i++) {
        const int formed = whitened_factor(P, M, eta, scratch, cov->C);
        const double f = formed ? tce__excess_lower(P, cov->C, P) : INFINITY;
        cov->eta = eta;
        if (fabs(f / bound - 1.0) <= tolerance)
            return TCE_OK;
        if (f < bound)
            high = eta;
        else
            low = eta;

        /* Newton's step inside the bracket, else halve it */
        double value;
        double slope;
        double next = NAN;
        if (formed && tce__dual_value(P, diagonal, off_diagonal, eta, &value, &slope))
            next = eta + tce__dual_step(f, slope, bound);
        if (!(next > low && next < high))
            next = isfinite(high) ? sqrt((1.0 + low) * (1.0 + high)) - 1.0
                                  : GROWTH * (1.0 + low) - 1.0;
        if (!(next > low && next < high))
            break;
        eta = next;
    }

    /* no closer in double: the side within the bound */
    cov->eta = high;
    if (!isfinite(high) || !whitened_factor(P, M, high, scratch, cov->C))
        return tce_fail(TCE_E_NO_CONVERGE,
                        "no eta near %g keeps the covariance within its bound %g", eta, bound);
    return TCE_OK;
}

tce_status tce__kl_project(size_t P, const double *old_L, double bound, tce__cov *cov, double *work)
{
    double *A = work;
    double *M = A + P * P;
    double *T = A;
    double *diagonal = M + P * P;
    double *off_diagonal = diagonal + P;
    double *rest = off_diagonal + P;

    /* f(0) from L_o^-1 L; inside the bound everything stays */
    memcpy(cov->C, cov->L, P * P * sizeof *cov->C);
    tce__lower_solve(P, old_L, P, cov->C, P);
    tce_status status = tce__cov_outside(tce__excess_lower(P, cov->C, P), bound, cov);
    if (status != TCE_OK)
        return status;
    if (!cov->active) {
        memcpy(cov->projected, cov->L, P * P * sizeof *cov->L);
        return TCE_OK;
    }

    /* M = A'A, and its tridiagonal form */
    tce__copy_lower(P, old_L, A);
    tce__lower_solve(P, cov->L, P, A, P);
    memcpy(M, A, P * P * sizeof *M);
    tce__lower_multiply_transposed(P, A, P, M, P);
    memcpy(T, M, P * P * sizeof *T);
    if (tce__tridiagonal(P, T, P, diagonal, off_diagonal, rest) != 0)
        return tce_fail(TCE_E_NO_CONVERGE,
                        "no tridiagonal form of the whitened precision could be computed");

    /* f(eta) = bound, and C */
    status = tce__dual_solve(P, diagonal, off_diagonal, bound, &cov->eta);
    if (status != TCE_OK)
        return status;
    status = factor_at_bound(P, M, diagonal, off_diagonal, bound, T, cov);
    if (status != TCE_OK)
        return status;

    /* L~ = L_o C */
    memcpy(cov->projected, cov->C, P * P * sizeof *cov->C);
    tce__lower_multiply(P, old_L, P, cov->projected, P);
    return TCE_OK;
}

void tce__kl_backward(size_t P, const tce__cov *cov, const double *d_L, double *out_d_L,
                      double *work)
{
    double *Y = out_d_L;
    double *R = work;
    double *D = work;

    tce__copy_lower(P, d_L, Y);
    if (!cov->active)
        return;

    /* Y = sym Phi(L~' d_L~), times 2 throughout: the lower triangle of L~' d_L~ */
    tce__lower_multiply_transposed(P, cov->projected, P, Y, P);

    /* R = C'C - I; <Y, R> and <R, R> over full symmetric matrices */
    memcpy(R, cov->C, P * P * sizeof *R);
    tce__lower_multiply_transposed(P, cov->C, P, R, P);
    double YR = 0.0;
    double RR = 0.0;
    for (size_t i = 0; i < P; i++) {
        const double *y = Y + i * P;
        double *r = R + i * P;
        r[i] -= 1.0;
        YR += 2.0 * tce__dot(i, y, r) + y[i] * r[i];
        RR += 2.0 * tce__dot(i, r, r) + r[i] * r[i];
    }

    /* Y_ = (Y - R <Y, R>/<R, R>)/(1 + eta), both triangles */
    const double along = YR / RR;
    const double scale = 1.0 / (1.0 + cov->eta);
    for (size_t i = 0; i < P; i++)
        for (size_t j = 0; j <= i; j++)
            Y[i * P + j] = scale * (Y[i * P + j] - along * R[i * P + j]);
    tce__mirror_lower(P, Y, P);

    /* tril(L^-T D Y_ D'), D = L^-1 L~ */
    memcpy(D, cov->projected, P * P * sizeof *D);
    tce__lower_solve(P, cov->L, P, D, P);
    tce__lower_congruence(P, D, P, Y, P);
    tce__lower_solve_transposed(P, cov->L, P, Y, P);
    tce__clear_upper(P, Y, P);
}
