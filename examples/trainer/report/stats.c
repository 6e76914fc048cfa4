/*
 * Aggregates over runs with stratified bootstrap intervals [Agarwal et al. 2021], and jerk of a
 * movement.
 *
 *   IQM          mean of x sorted, without floor(n/4) values at each end; no interpolation
 *   interval     percentiles of the IQM over resampled matrices; runs are drawn within each task
 *   profile      F(tau) = #{x > tau}/n
 *   jerk         j_t = (v_{t+2} - 2 v_{t+1} + v_t)/dt^2
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/stats.h"

/* What the streams of resampling are for, beside the purposes of training. */
#define PURPOSE_BOOTSTRAP 100

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* ---- aggregates ------------------------------------------------------------------------------ */

double stats_mean(size_t n, const double *x)
{
    double sum = 0.0;
    for (size_t i = 0; i < n; i++)
        sum += x[i];
    return sum / (double)n;
}

double stats_iqm(size_t n, double *x)
{
    const size_t cut = n / 4;
    qsort(x, n, sizeof *x, ascending);
    return stats_mean(n - 2 * cut, x + cut);
}

/* Mean over runs of task k. */
static double task_mean(size_t R, size_t K, const double *x, size_t k)
{
    double sum = 0.0;
    for (size_t r = 0; r < R; r++)
        sum += x[r * K + k];
    return sum / (double)R;
}

double stats_median(size_t R, size_t K, const double *x, double *work)
{
    for (size_t k = 0; k < K; k++)
        work[k] = task_mean(R, K, x, k);
    qsort(work, K, sizeof *work, ascending);
    return stats_percentile(K, work, 0.5);
}

double stats_optimality_gap(size_t n, const double *x)
{
    double sum = 0.0;
    for (size_t i = 0; i < n; i++)
        sum += x[i] < 1.0 ? x[i] : 1.0;
    return 1.0 - sum / (double)n;
}

double stats_percentile(size_t n, const double *sorted, double q)
{
    const double position = q * (double)(n - 1);
    const size_t below = (size_t)position;
    const double part = position - (double)below;
    return part > 0.0 ? sorted[below] + part * (sorted[below + 1] - sorted[below]) : sorted[below];
}

/* ---- performance profile --------------------------------------------------------------------- */

double stats_profile(size_t n, const double *x, double tau)
{
    size_t above = 0;
    for (size_t i = 0; i < n; i++)
        above += x[i] > tau;
    return (double)above / (double)n;
}

double stats_profile_mean(size_t R, size_t K, const double *x, double tau)
{
    size_t above = 0;
    for (size_t k = 0; k < K; k++)
        above += task_mean(R, K, x, k) > tau;
    return (double)above / (double)K;
}

/* ---- stratified bootstrap -------------------------------------------------------------------- */

void stats_draw_runs(size_t R, size_t K, tce_random *random, uint32_t *out)
{
    for (size_t i = 0; i < R * K; i++)
        out[i] = (uint32_t)tce_random_below(random, R);
}

void stats_resample(size_t R, size_t K, const double *x, const uint32_t *runs, double *out)
{
    for (size_t r = 0; r < R; r++)
        for (size_t k = 0; k < K; k++)
            out[r * K + k] = x[(size_t)runs[r * K + k] * K + k];
}

interval stats_interval(size_t n, double *values, double coverage)
{
    const double tail = 0.5 * (1.0 - coverage);
    qsort(values, n, sizeof *values, ascending);
    const interval found = { stats_percentile(n, values, tail),
                             stats_percentile(n, values, 1.0 - tail) };
    return found;
}

/*
 * What a resampling loop needs: the drawn runs, the resampled scores and one row of results for
 * each statistic.
 */
typedef struct bootstrap {
    size_t R, K, repetitions;
    const double *x;
    tce_random random;
    uint32_t *runs; /* [R, K] */
    double *drawn;  /* [R, K] */
    double *values; /* [n_values, repetitions] */
} bootstrap;

static void bootstrap_end(bootstrap *b)
{
    free(b->runs);
    free(b->drawn);
    free(b->values);
}

static tce_status bootstrap_begin(bootstrap *b, size_t R, size_t K, const double *x,
                                  size_t repetitions, size_t n_values, uint64_t seed)
{
    b->R = R;
    b->K = K;
    b->x = x;
    b->repetitions = repetitions;
    tce_random_start(&b->random, seed, PURPOSE_BOOTSTRAP, 0, 0);
    b->runs = calloc(R * K, sizeof *b->runs);
    b->drawn = calloc(R * K, sizeof *b->drawn);
    b->values = calloc(n_values * repetitions, sizeof *b->values);
    if (b->runs && b->drawn && b->values)
        return TCE_OK;
    bootstrap_end(b);
    return tce_fail(TCE_E_NOMEM, "no memory for %zu resamplings of %zu scores", repetitions, R * K);
}

static void bootstrap_draw(bootstrap *b)
{
    stats_draw_runs(b->R, b->K, &b->random, b->runs);
    stats_resample(b->R, b->K, b->x, b->runs, b->drawn);
}

tce_status stats_bootstrap_iqm(size_t R, size_t K, const double *x, size_t repetitions,
                               uint64_t seed, interval *out)
{
    bootstrap b;
    const tce_status status = bootstrap_begin(&b, R, K, x, repetitions, 1, seed);
    if (status != TCE_OK)
        return status;
    for (size_t i = 0; i < repetitions; i++) {
        bootstrap_draw(&b);
        b.values[i] = stats_iqm(R * K, b.drawn);
    }
    *out = stats_interval(repetitions, b.values, BOOTSTRAP_COVERAGE);
    bootstrap_end(&b);
    return TCE_OK;
}

tce_status stats_bootstrap_profile(size_t R, size_t K, const double *x, size_t n_tau,
                                   const double *taus, size_t repetitions, uint64_t seed,
                                   interval *out)
{
    bootstrap b;
    const tce_status status = bootstrap_begin(&b, R, K, x, repetitions, n_tau, seed);
    if (status != TCE_OK)
        return status;
    for (size_t i = 0; i < repetitions; i++) {
        bootstrap_draw(&b);
        for (size_t t = 0; t < n_tau; t++)
            b.values[t * repetitions + i] = stats_profile(R * K, b.drawn, taus[t]);
    }
    for (size_t t = 0; t < n_tau; t++)
        out[t] = stats_interval(repetitions, b.values + t * repetitions, BOOTSTRAP_COVERAGE);
    bootstrap_end(&b);
    return TCE_OK;
}

/* ---- movements ------------------------------------------------------------------------------- */

/*
 * dimensionless jerk = mean over joints of [sum_t j_t^2] (n dt)^3 / (max_t |v_t|)^2. The integral
 * [Hogan & Sternad 2009] has sum_t j_t^2 dt in its place; the published tables do not. A joint that
 * never moves is left out of the mean.
 */
void stats_smoothness(size_t n, size_t D, const double *velocity, double dt, smoothness *out)
{
    memset(out, 0, sizeof *out);
    if (n < 3 || D == 0)
        return;
    const double duration = (double)n * dt;
    double largest = 0.0, total = 0.0, dimensionless = 0.0;
    size_t moving = 0;
    for (size_t d = 0; d < D; d++) {
        double sum = 0.0, peak = 0.0;
        for (size_t t = 0; t < n; t++)
            peak = fmax(peak, fabs(velocity[t * D + d]));
        for (size_t t = 0; t + 2 < n; t++) {
            const double *v = velocity + t * D + d;
            const double j = (v[2 * D] - 2.0 * v[D] + v[0]) / (dt * dt);
            largest = fmax(largest, fabs(j));
            sum += j * j;
        }
        total += sum;
        if (peak > 0.0) {
            dimensionless += sum * duration * duration * duration / (peak * peak);
            moving++;
        }
    }
    out->maximum_jerk = largest;
    out->mean_squared_jerk = total / (double)((n - 2) * D);
    out->dimensionless_jerk = moving ? dimensionless / (double)moving : 0.0;
    out->dimensionless_jerk_integral = out->dimensionless_jerk * dt;
}
