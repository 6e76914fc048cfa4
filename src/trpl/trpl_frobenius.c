/*
 * Frobenius projection of the covariance [TRPL]:
 *
 *     X = Sigma - Sigma_o,  d = |X|_F^2
 *     d > bound:  t = sqrt(bound/d) = 1/(1 + omega),  Sigma~ = Sigma_o + t X
 *     d_Sigma = t (d_Sigma~ - X <d_Sigma~, X>/d),  d_L = 2 tril(d_Sigma L)
 *
 * X = sym((L - L_o)(L + L_o)') keeps its digits when L is near L_o.
 */
#include <math.h>
#include <string.h>

#include "gauss/internal.h"
#include "linalg/linalg.h"
#include "trpl/internal.h"

/*
 * L~ from Sigma~ = (1 - t) Sigma_o + t Sigma without forming it: when the sum is too
 * ill-conditioned
 */
static tce_status factor_of_blend(size_t P, const double *old_L, tce__cov *cov, double *work)
{
    /* rows [sqrt(1 - t) L_o, sqrt(t) L] */
    const double of_old = sqrt(1.0 - cov->step);
    const double of_new = sqrt(cov->step);
    memset(work, 0, 2 * P * P * sizeof *work);
    for (size_t i = 0; i < P; i++)
        for (size_t j = 0; j <= i; j++) {
            work[i * 2 * P + j] = of_old * old_L[i * P + j];
            work[i * 2 * P + P + j] = of_new * cov->L[i * P + j];
        }
    if (tce__lower_of_rows(P, 2 * P, work, 2 * P, work + 2 * P * P) != 0)
        return tce_fail(TCE_E_NO_CONVERGE,
                        "no triangular form of the projected covariance could be computed");
    for (size_t i = 0; i < P; i++)
        memcpy(cov->projected + i * P, work + i * 2 * P, P * sizeof *work);
    return TCE_OK;
}

tce_status tce__frobenius_project(size_t P, const double *old_L, double bound, tce__cov *cov,
                                  double *work)
{
    double *difference = work;
    double *sum = work + P * P;
    double *product = cov->projected;

    /* X, full */
    memset(work, 0, 2 * P * P * sizeof *work);
    for (size_t i = 0; i < P; i++)
        for (size_t j = 0; j <= i; j++) {
            difference[i * P + j] = cov->L[i * P + j] - old_L[i * P + j];
            sum[i * P + j] = cov->L[i * P + j] + old_L[i * P + j];
        }
    memcpy(product, difference, P * P * sizeof *product);
    tce__multiply_lower(TCE__RIGHT, TCE__TRANS, P, P, 1.0, sum, P, product, P);
    for (size_t i = 0; i < P; i++)
        for (size_t j = 0; j < P; j++)
            cov->X[i * P + j] = 0.5 * (product[i * P + j] + product[j * P + i]);

    const tce_status status = tce__cov_outside(tce__dot(P * P, cov->X, cov->X), bound, cov);
    if (status != TCE_OK)
        return status;
    if (!cov->active) {
        memcpy(cov->projected, cov->L, P * P * sizeof *cov->L);
        return TCE_OK;
    }

    /* Sigma~ = Sigma_o + t X, and its factor */
    tce__cov_shorten(bound, cov);
    tce__copy_lower(P, old_L, sum);
    memcpy(cov->projected, cov->X, P * P * sizeof *cov->X);
    tce__syrk_lower(TCE__NO_TRANS, P, P, 1.0, sum, P, cov->step, cov->projected, P);
    tce__clear_upper(P, cov->projected, P);
    return tce__cholesky(P, cov->projected, P) == 0 ? TCE_OK : factor_of_blend(P, old_L, cov, work);
}

void tce__frobenius_backward(size_t P, const tce__cov *cov, const double *d_L, double *out_d_L,
                             double *work)
{
    double *d_sigma = work;
    if (!cov->active) {
        tce__copy_lower(P, d_L, out_d_L);
        return;
    }

    tce__cholesky_backward(P, cov->projected, P, d_L, P, d_sigma, P);
    const double along = tce__dot(P * P, d_sigma, cov->X) / cov->distance;
    for (size_t k = 0; k < P * P; k++)
        out_d_L[k] = 2.0 * cov->step * (d_sigma[k] - along * cov->X[k]);
    tce__multiply_lower(TCE__RIGHT, TCE__NO_TRANS, P, P, 1.0, cov->L, P, out_d_L, P);
    tce__clear_upper(P, out_d_L, P);
}
