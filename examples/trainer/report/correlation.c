/*
 * Action correlation matrices, index d T + t: tile (i, j) is action (or DoF) i against j.
 *
 * Of an episodic policy: positions y = offset + H w, w ~ N(mu, L L'), at the T control times have
 * covariance H L L' H' whatever the start, so the correlation is exact, without samples. Of a
 * policy that acts step by step: the correlation of its exploration noise along one episode.
 */
#include <math.h>
#include <string.h>

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

void correlation_of_samples(size_t S, size_t T, size_t D, const double *samples, double *work,
                            double *out)
{
    const size_t n = D * T;

    /*
     * work [n]: the mean beyond the first sample, so that what never changes has a variance of 0;
     * then one sample without it
     */
    memset(out, 0, n * n * sizeof *out);
    double *mean = work, *x = work + n;
    for (size_t i = 0; i < n; i++) {
        const size_t at = i % T * D + i / T;
        mean[i] = 0.0;
        for (size_t s = 0; s < S; s++)
            mean[i] += (samples[s * n + at] - samples[at]) / (double)S;
    }
    for (size_t s = 0; s < S; s++) {
        for (size_t i = 0; i < n; i++) {
            const size_t at = i % T * D + i / T;
            x[i] = samples[s * n + at] - samples[at] - mean[i];
        }
        for (size_t i = 0; i < n; i++)
            for (size_t k = 0; k <= i; k++)
                out[i * n + k] += x[i] * x[k];
    }
    correlation_of_covariance(n, out);
}

void correlation_white(size_t T, size_t D, double *out)
{
    const size_t n = D * T;
    memset(out, 0, n * n * sizeof *out);
    for (size_t i = 0; i < n; i++)
        out[i * n + i] = 1.0;
}

/* cov of (t, d), (t', d) = sum_f z_f(t) z_f(t') s_fd^2 while the matrix is held; 0 between d's */
void correlation_held(size_t T, size_t D, size_t F, const double *features, const double *std,
                      size_t every, double *out)
{
    const size_t n = D * T;
    memset(out, 0, n * n * sizeof *out);
    for (size_t d = 0; d < D; d++)
        for (size_t t = 0; t < T; t++)
            for (size_t u = t / every * every; u <= t; u++) {
                const double *z = features + t * F, *y = features + u * F;
                double sum = 0.0;
                for (size_t f = 0; f < F; f++)
                    sum += z[f] * y[f] * std[f * D + d] * std[f * D + d];
                out[(d * T + t) * n + d * T + u] = sum;
            }
    correlation_of_covariance(n, out);
}

void correlation_of_lags(size_t T, size_t D, const double *covariance, double *out)
{
    const size_t n = D * T;
    memset(out, 0, n * n * sizeof *out);
    for (size_t d = 0; d < D; d++)
        for (size_t t = 0; t < T; t++)
            for (size_t u = 0; u <= t; u++)
                out[(d * T + t) * n + d * T + u] = covariance[t - u];
    correlation_of_covariance(n, out);
}
