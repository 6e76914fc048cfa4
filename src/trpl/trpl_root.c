/*
 * Wasserstein-2 projection in its commuting form [TRPL], on symmetric roots S = Sigma^(1/2), S_o:
 *
 *     d = |S_o^-1 (S - S_o)|_F^2 = |L_o^-1 X|_F^2,  X = S - S_o
 *     d > bound:  t = sqrt(bound/d) = 1/(1 + omega),  S~ = S_o + t X,  L~ L~' = S~ S~
 *
 * The roots come from singular vectors of the factors and L~ from a triangular form of S~: no
 * product is squared, so the condition of S and not of Sigma counts.
 *
 *     d_S~ = d_Sigma~ S~ + S~ d_Sigma~
 *     d_S = t (d_S~ - Z <d_S~, X>/d),  Z = sym(Sigma_o^-1 X)
 *     d_Sigma: S d_Sigma + d_Sigma S = d_S, in the eigenbasis (q_i' d_S q_j)/(s_i + s_j)
 */
#include <math.h>
#include <string.h>

#include "linalg/linalg.h"
#include "trpl/internal.h"

/* out = sum_i values_i q_i q_i', full; Q has the q_i in its rows; scratch [P, P] */
static void root_from(size_t P, const double *Q, const double *values, double *scratch, double *out)
{
    for (size_t i = 0; i < P; i++) {
        const double root = sqrt(values[i]);
        for (size_t j = 0; j < P; j++)
            scratch[i * P + j] = root * Q[i * P + j];
    }
    tce__syrk_lower(TCE__TRANS, P, P, 1.0, scratch, P, 0.0, out, P);
    tce__mirror_lower(P, out, P);
}

/* A <- (A + A')/2 */
static void symmetrise(size_t P, double *A)
{
    for (size_t i = 0; i < P; i++)
        for (size_t j = 0; j < i; j++) {
            const double mean = 0.5 * (A[i * P + j] + A[j * P + i]);
            A[i * P + j] = mean;
            A[j * P + i] = mean;
        }
}

tce_status tce__w2_project(size_t P, const double *old_L, double bound, tce__cov *cov, double *work)
{
    double *Q_old = work;
    double *S_old = Q_old + P * P;
    double *old_values = S_old + P * P;
    double *rest = old_values + P;

    /* S and S_o */
    if (tce__left_singular(P, cov->L, P, cov->Q, cov->values, rest) != 0 ||
        tce__left_singular(P, old_L, P, Q_old, old_values, rest) != 0)
        return tce_fail(TCE_E_NO_CONVERGE, "no singular vectors of a factor could be computed");
    root_from(P, cov->Q, cov->values, rest, cov->root);
    root_from(P, Q_old, old_values, rest, S_old);

    /* d = |L_o^-1 X|^2 */
    for (size_t k = 0; k < P * P; k++)
        cov->X[k] = cov->root[k] - S_old[k];
    memcpy(cov->Z, cov->X, P * P * sizeof *cov->Z);
    tce__solve_lower(TCE__LEFT, TCE__NO_TRANS, P, P, 1.0, old_L, P, cov->Z, P);
    const tce_status status = tce__cov_outside(tce__dot(P * P, cov->Z, cov->Z), bound, cov);
    if (status != TCE_OK)
        return status;
    if (!cov->active) {
        memcpy(cov->projected, cov->L, P * P * sizeof *cov->L);
        return TCE_OK;
    }

    /* S~ = S_o + t X, and its factor */
    tce__cov_shorten(bound, cov);
    for (size_t k = 0; k < P * P; k++)
        cov->root[k] = S_old[k] + cov->step * cov->X[k];
    memcpy(cov->projected, cov->root, P * P * sizeof *cov->root);
    if (tce__lower_of_rows(P, P, cov->projected, P, rest) != 0)
        return tce_fail(TCE_E_NO_CONVERGE,
                        "no triangular form of the projected root could be computed");

    /* Z = sym(Sigma_o^-1 X) */
    tce__solve_lower(TCE__LEFT, TCE__TRANS, P, P, 1.0, old_L, P, cov->Z, P);
    symmetrise(P, cov->Z);
    return TCE_OK;
}

void tce__root_backward(size_t P, const double *Q, const double *values, const double *L,
                        double weight, double *d_S, double *out_d_L, double *work)
{
    /* q_i' d_S q_j / (s_i + s_j) */
    tce__gemm(TCE__NO_TRANS, TCE__NO_TRANS, P, P, P, weight, Q, P, d_S, P, 0.0, work, P);
    tce__gemm(TCE__NO_TRANS, TCE__TRANS, P, P, P, 1.0, work, P, Q, P, 0.0, d_S, P);
    for (size_t i = 0; i < P; i++)
        for (size_t j = 0; j < P; j++)
            d_S[i * P + j] /= values[i] + values[j];

    /* d_Sigma = Q' (.) Q, d_L = 2 tril(d_Sigma L) */
    tce__gemm(TCE__TRANS, TCE__NO_TRANS, P, P, P, 2.0, Q, P, d_S, P, 0.0, work, P);
    tce__gemm(TCE__NO_TRANS, TCE__NO_TRANS, P, P, P, 1.0, work, P, Q, P, 0.0, out_d_L, P);
    tce__multiply_lower(TCE__RIGHT, TCE__NO_TRANS, P, P, 1.0, L, P, out_d_L, P);
    tce__clear_upper(P, out_d_L, P);
}

void tce__w2_backward(size_t P, const tce__cov *cov, const double *d_L, double *out_d_L,
                      double *work)
{
    double *d_sigma = out_d_L;
    double *d_S = work;
    double *rest = work + P * P;

    if (!cov->active) {
        memcpy(out_d_L, d_L, P * P * sizeof *d_L);
        tce__clear_upper(P, out_d_L, P);
        return;
    }

    /* d_S~ = d_Sigma~ S~ + its transpose */
    tce__cholesky_backward(P, cov->projected, P, d_L, P, d_sigma, P);
    tce__gemm(TCE__NO_TRANS, TCE__NO_TRANS, P, P, P, 2.0, d_sigma, P, cov->root, P, 0.0, d_S, P);
    symmetrise(P, d_S);

    /* d_S = t (d_S~ - Z <d_S~, X>/d) */
    const double along = tce__dot(P * P, d_S, cov->X) / cov->distance;
    for (size_t k = 0; k < P * P; k++)
        d_S[k] -= along * cov->Z[k];
    tce__root_backward(P, cov->Q, cov->values, cov->L, cov->step, d_S, out_d_L, rest);
}
