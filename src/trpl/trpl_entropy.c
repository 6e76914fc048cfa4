/*
 * Entropy control [TRPL]. With H = P/2 log(2 pi e) + sum_i log L_ii,
 *
 *     L <- a L,  a = exp((H_min - H)/P), where H < H_min or, by the equality option, always
 *     d_L = a (d_out - <d_out, L>/P diag(1/L_ii))
 */
#include <math.h>
#include <string.h>

#include "gauss/internal.h"
#include "linalg/linalg.h"
#include "trpl/internal.h"

double tce__entropy_factor(size_t P, const double *L, size_t stride, double bound, int32_t mode,
                           int32_t *out_acts)
{
    *out_acts = 0;
    if (mode == TCE_TRPL_ENTROPY_NONE || bound == -INFINITY)
        return 1.0;
    double entropy = 0.5 * (double)P * (1.0 + TCE__LOG_2PI);
    for (size_t i = 0; i < P; i++)
        entropy += log(L[i * stride]);
    if (mode == TCE_TRPL_ENTROPY_AT_LEAST && !(entropy < bound))
        return 1.0;
    *out_acts = 1;
    return exp((bound - entropy) / (double)P);
}

void tce__entropy_backward(size_t P, size_t columns, const double *L, double factor, double *d_L)
{
    /* d_L <- a (d_L - <d_L, L>/P diag(1/L_ii)) over lower triangles, or vectors of diagonals */
    double along = 0.0;
    for (size_t i = 0; i < P; i++)
        along += columns == 1 ? d_L[i] * L[i] : tce__dot(i + 1, d_L + i * P, L + i * P);
    along /= (double)P;
    for (size_t i = 0; i < P; i++) {
        const size_t at = columns == 1 ? i : i * P + i;
        d_L[at] -= along / L[at];
    }
    tce__scale(P * columns, factor, d_L);
}

tce_status tce__check_entropy_bound(const char *name, double bound)
{
    if (isnan(bound) || bound == INFINITY)
        return tce_fail(TCE_E_VALUE, "%s = %g, must be a number or minus infinity", name, bound);
    return TCE_OK;
}
