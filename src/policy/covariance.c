/*
 * L_ii = softplus(v_i) + min_std,  L_ij = v_k for i > j;
 * softplus(v) = log(1 + e^v), its derivative is 1/(1 + e^-v).
 */
#include "policy/covariance.h"

#include <math.h>

size_t tce__covariance_size(size_t P, int diagonal)
{
    return diagonal ? P : P * (P + 1) / 2;
}

/* max(v, 0) + log(1 + e^-|v|): neither end overflows or loses its digits */
static double softplus(double v)
{
    return fmax(v, 0.0) + log1p(exp(-fabs(v)));
}

static double softplus_derivative(double v)
{
    const double e = exp(-fabs(v));
    return (v >= 0.0 ? 1.0 : e) / (1.0 + e);
}

/* v = log(e^y - 1) = y + log(1 - e^-y) */
double tce__inverse_softplus(double y)
{
    return y + log(-expm1(-y));
}

void tce__covariance_forward(size_t P, int diagonal, double min_std, const double *raw, double *L)
{
    const double *lower = raw + P;

    for (size_t i = 0; i < P; i++) {
        double *row = L + i * P;
        for (size_t j = 0; j < i; j++)
            row[j] = diagonal ? 0.0 : *lower++;
        row[i] = softplus(raw[i]) + min_std;
        for (size_t j = i + 1; j < P; j++)
            row[j] = 0.0;
    }
}

void tce__covariance_backward(size_t P, int diagonal, const double *raw, const double *d_L,
                              double *d_raw)
{
    double *d_lower = d_raw + P;

    for (size_t i = 0; i < P; i++) {
        const double *d_row = d_L + i * P;
        for (size_t j = 0; !diagonal && j < i; j++)
            *d_lower++ = d_row[j];
        d_raw[i] = d_row[i] * softplus_derivative(raw[i]);
    }
}

void tce__covariance_inverse(size_t P, int diagonal, double min_std, const double *L, double *raw)
{
    double *lower = raw + P;

    for (size_t i = 0; i < P; i++) {
        const double *row = L + i * P;
        for (size_t j = 0; !diagonal && j < i; j++)
            *lower++ = row[j];
        raw[i] = tce__inverse_softplus(fmax(row[i] - min_std, TCE__COVARIANCE_LEAST));
    }
}
