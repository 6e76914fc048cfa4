/*
 * (x - mean) / (s + 1e-8) with the sample standard deviation s, mean and squares of deviations in
 * one pass:
 *
 *   mean_n = mean_{n-1} + (x - mean_{n-1}) / n
 *   squares_n = squares_{n-1} + (x - mean_{n-1})(x - mean_n)
 */
#include "returns/internal.h"

/* Added to a standard deviation before dividing by it. */
#define STD_EPSILON 1e-8

void tce__moments_add(tce__moments *m, double x)
{
    const double deviation = x - m->mean;

    m->n += 1.0;
    m->mean += deviation / m->n;
    m->squares += deviation * (x - m->mean);
}

double tce__moments_normalised(const tce__moments *m, double x)
{
    if (m->n < 2.0)
        return x;
    return (x - m->mean) / (sqrt(m->squares / (m->n - 1.0)) + STD_EPSILON);
}

void tce_returns_normalise(size_t n, const uint8_t *mask, double *x)
{
    tce__moments m = { 0.0, 0.0, 0.0 };

    for (size_t i = 0; i < n; i++) {
        if (!mask || mask[i])
            tce__moments_add(&m, x[i]);
    }
    for (size_t i = 0; i < n; i++) {
        if (!mask || mask[i])
            x[i] = tce__moments_normalised(&m, x[i]);
    }
}
