/*
 * sigma_i from v_i, by one of
 *     softplus(v) + min_std,    softplus(v) = log(1 + e^v), its derivative is 1/(1 + e^-v)
 *     e^v
 *     e^min(max(v, low), high), whose derivative is 0 where v is outside [low, high]
 * Factors: L_ii = sigma_i,  L_ij = v_k for i > j.
 */
#include "policy/scale.h"

#include <math.h>

#include <tce/policy.h>

size_t tce__scale_n_raw(size_t P, int diagonal)
{
    return diagonal ? P : P * (P + 1) / 2;
}

size_t tce__scale_size(size_t P, int diagonal)
{
    return diagonal ? P : P * P;
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

static double sigma_of(const tce__spread *s, double v)
{
    if (s->kind == TCE_POLICY_SOFTPLUS)
        return softplus(v) + s->min_std;
    if (s->kind == TCE_POLICY_EXP)
        return exp(v);
    return exp(v < s->low ? s->low : v > s->high ? s->high : v);
}

static double sigma_derivative(const tce__spread *s, double v)
{
    if (s->kind == TCE_POLICY_SOFTPLUS)
        return softplus_derivative(v);
    if (s->kind == TCE_POLICY_EXP)
        return exp(v);
    return v >= s->low && v <= s->high ? exp(v) : 0.0;
}

double tce__scale_start(const tce__spread *s, double sigma)
{
    if (s->kind != TCE_POLICY_SOFTPLUS)
        return log(sigma);
    /* log(e^sigma - 1) = sigma + log(1 - e^-sigma) */
    return sigma + log(-expm1(-sigma));
}

void tce__scale_forward(const tce__spread *s, size_t P, const double *raw, double *scale)
{
    const double *lower = raw + P;

    for (size_t i = 0; s->diagonal && i < P; i++)
        scale[i] = sigma_of(s, raw[i]);
    for (size_t i = 0; !s->diagonal && i < P; i++) {
        double *row = scale + i * P;
        for (size_t j = 0; j < i; j++)
            row[j] = *lower++;
        row[i] = sigma_of(s, raw[i]);
        for (size_t j = i + 1; j < P; j++)
            row[j] = 0.0;
    }
}

void tce__scale_backward(const tce__spread *s, size_t P, const double *raw, const double *d_scale,
                         double *d_raw)
{
    double *d_lower = d_raw + P;

    for (size_t i = 0; s->diagonal && i < P; i++)
        d_raw[i] = d_scale[i] * sigma_derivative(s, raw[i]);
    for (size_t i = 0; !s->diagonal && i < P; i++) {
        const double *d_row = d_scale + i * P;
        for (size_t j = 0; j < i; j++)
            *d_lower++ = d_row[j];
        d_raw[i] = d_row[i] * sigma_derivative(s, raw[i]);
    }
}

void tce__scale_inverse(const tce__spread *s, size_t P, const double *scale, double *raw)
{
    const double min_std = s->kind == TCE_POLICY_SOFTPLUS ? s->min_std : 0.0;
    double *lower = raw + P;

    for (size_t i = 0; i < P; i++) {
        const double *row = scale + i * P;
        for (size_t j = 0; !s->diagonal && j < i; j++)
            *lower++ = row[j];
        const double sigma = s->diagonal ? scale[i] : row[i];
        raw[i] = tce__scale_start(s, fmax(sigma - min_std, TCE__SCALE_LEAST));
    }
}
