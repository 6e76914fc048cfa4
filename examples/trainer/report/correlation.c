/*
 * Action correlation matrix of an episodic policy: positions y = offset + H w, w ~ N(mu, L L'), at
 * the T control times have covariance H L L' H' whatever the start, so the correlation is exact,
 * without samples.   Index d T + t: tile (i, j) is DoF i against DoF j.
 */
#include <math.h>

#include "report/stats.h"

void correlation_of_covariance(size_t n, double *matrix)
{
    /* the diagonal comes last: every row reads it */
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < i; j++) {
            const double scale = sqrt(matrix[i * n + i]) * sqrt(matrix[j * n + j]);
            const double r = scale > 0.0 ? matrix[i * n + j] / scale : 0.0;
            matrix[i * n + j] = matrix[j * n + i] = fmin(1.0, fmax(-1.0, r));
        }
    for (size_t i = 0; i < n; i++)
        matrix[i * n + i] = 1.0;
}

tce_status action_correlation(const tce_mp *mp, size_t T, const double *times, const double *L,
                              double *out)
{
    const tce_status status = tce_mp_covariance(mp, T, times, 0.0, L, 0.0, 0, out, NULL);
    if (status == TCE_OK)
        correlation_of_covariance(tce_mp_n_dof(mp) * T, out);
    return status;
}
