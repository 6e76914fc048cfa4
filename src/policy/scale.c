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

#include "base/exponential.h"
#include "base/internal.h"

size_t tce__scale_n_raw(size_t P, int diagonal)
{
    return diagonal ? P : P * (P + 1) / 2;
}

size_t tce__scale_size(size_t P, int diagonal)
{
    return diagonal ? P : P * P;
}

/* max(v, 0) + log(1 + e^-|v|) + least: neither end overflows or loses its digits */
static TCE__VECTOR void softplus(size_t n, double least, const double *restrict v,
                                 double *restrict out)
{
    for (size_t i = 0; i < n; i++) {
        const double e = tce__exp(v[i] < 0.0 ? v[i] : -v[i]);
        out[i] = (v[i] > 0.0 ? v[i] : 0.0) + tce__log_1_plus(e) + least;
    }
}

static TCE__VECTOR void softplus_slope(size_t n, const double *restrict v, double *restrict out)
{
    for (size_t i = 0; i < n; i++) {
        const double e = tce__exp(v[i] < 0.0 ? v[i] : -v[i]);
        out[i] = (v[i] >= 0.0 ? 1.0 : e) / (1.0 + e);
    }
}

static TCE__VECTOR void exponential(size_t n, double low, double high, const double *restrict v,
                                    double *restrict out)
{
    for (size_t i = 0; i < n; i++)
        out[i] = tce__exp(v[i] < low ? low : v[i] > high ? high : v[i]);
}

static TCE__VECTOR void clipped_slope(size_t n, double low, double high, const double *restrict v,
                                      double *restrict out)
{
    for (size_t i = 0; i < n; i++) {
        const double e = tce__exp(v[i]);
        out[i] = v[i] >= low && v[i] <= high ? e : 0.0;
    }
}

/* [P] standard deviations, or the diagonal of a factor */
static void spread_forward(const tce__spread *s, size_t P, const double *v, double *sigma)
{
    if (s->kind == TCE_POLICY_SOFTPLUS)
        softplus(P, s->min_std, v, sigma);
    else if (s->kind == TCE_POLICY_EXP)
        exponential(P, -INFINITY, INFINITY, v, sigma);
    else
        exponential(P, s->low, s->high, v, sigma);
}

/* their derivatives, [P] */
static void spread_slope(const tce__spread *s, size_t P, const double *v, double *slope)
{
    if (s->kind == TCE_POLICY_SOFTPLUS)
        softplus_slope(P, v, slope);
    else if (s->kind == TCE_POLICY_EXP)
        exponential(P, -INFINITY, INFINITY, v, slope);
    else
        clipped_slope(P, s->low, s->high, v, slope);
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
    spread_forward(s, P, raw, scale);
    if (s->diagonal)
        return;

    /* the diagonal lies in the first row until the others have theirs */
    for (size_t i = P; i-- > 0;) {
        const double *lower = raw + P + i * (i - 1) / 2;
        double *row = scale + i * P;
        row[i] = scale[i];
        for (size_t j = 0; j < i; j++)
            row[j] = lower[j];
        for (size_t j = i + 1; j < P; j++)
            row[j] = 0.0;
    }
}

void tce__scale_backward(const tce__spread *s, size_t P, const double *raw, const double *d_scale,
                         double *d_raw)
{
    double *d_lower = d_raw + P;

    spread_slope(s, P, raw, d_raw);
    for (size_t i = 0; s->diagonal && i < P; i++)
        d_raw[i] *= d_scale[i];
    for (size_t i = 0; !s->diagonal && i < P; i++) {
        const double *d_row = d_scale + i * P;
        for (size_t j = 0; j < i; j++)
            *d_lower++ = d_row[j];
        d_raw[i] *= d_row[i];
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
