/*
 * Surrogate loss over n likelihood ratios rho = exp(log p - log p_old):
 *
 *   importance ratio   l = -1/n sum rho A
 *   clipped (PPO)      l = -1/n sum min(rho A, clip(rho, 1 - eps, 1 + eps) A)
 *
 * dl/dlog p = -rho A / n, and 0 where the clipped term is the smaller one:
 * (A > 0 and rho > 1 + eps) or (A < 0 and rho < 1 - eps). Only entries with mask != 0 count.
 */
#include "returns/internal.h"

size_t tce__count_mask(size_t n, const uint8_t *mask)
{
    size_t count = 0;

    if (mask == NULL)
        return n;
    for (size_t i = 0; i < n; i++)
        count += mask[i] != 0;
    return count;
}

tce_status tce__check_unmasked(const char *name, size_t n, const uint8_t *mask, const double *x)
{
    if (mask == NULL)
        return tce__check_finite(name, n, x);
    if (x == NULL && n > 0)
        return tce__check_pointer(name, x);
    for (size_t i = 0; i < n; i++) {
        if (mask[i] && !isfinite(x[i]))
            return tce_fail(TCE_E_VALUE, "%s[%zu] = %g, must be finite", name, i, x[i]);
    }
    return TCE_OK;
}

double tce__ratio_term(double log_prob, double log_prob_old, double advantage, double clip,
                       tce__ratio_sums *sums)
{
    const double log_ratio = log_prob - log_prob_old;
    const double ratio = exp(log_ratio);
    double term = ratio * advantage;
    double derivative = term;

    /* the clipped term where it is smaller; it does not depend on the ratio */
    if (clip > 0.0) {
        if (advantage > 0.0 && ratio > 1.0 + clip) {
            term = (1.0 + clip) * advantage;
            derivative = 0.0;
        } else if (advantage < 0.0 && ratio < 1.0 - clip) {
            term = (1.0 - clip) * advantage;
            derivative = 0.0;
        }
        sums->clipped += fabs(ratio - 1.0) > clip ? 1.0 : 0.0;
    }

    sums->loss -= term;
    sums->ratio += ratio;
    sums->ratio_max = ratio > sums->ratio_max ? ratio : sums->ratio_max;
    sums->kl += ratio - 1.0 - log_ratio;
    return -derivative;
}

void tce__ratio_add(const tce__ratio_sums *part, tce__ratio_sums *sums)
{
    sums->loss += part->loss;
    sums->ratio += part->ratio;
    sums->ratio_max = part->ratio_max > sums->ratio_max ? part->ratio_max : sums->ratio_max;
    sums->clipped += part->clipped;
    sums->kl += part->kl;
}

void tce__ratio_stats(const tce__ratio_sums *sums, size_t n, tce_returns_stats *out)
{
    const double factor = n > 0 ? 1.0 / (double)n : 0.0;
    tce_returns_stats stats = { .struct_size = sizeof stats };

    stats.loss = factor * sums->loss;
    stats.ratio_mean = factor * sums->ratio;
    stats.ratio_max = sums->ratio_max;
    stats.fraction_clipped = factor * sums->clipped;
    stats.approx_kl = factor * sums->kl;
    if (out)
        tce__struct_write(out, &stats, sizeof stats);
}

/* NaN everywhere, after a ratio overflowed */
static void fail_outputs(size_t n, tce_returns_stats *out_stats, double *out_d_log_prob)
{
    const tce__ratio_sums sums = { NAN, NAN, NAN, NAN, NAN };

    tce__ratio_stats(&sums, 1, out_stats);
    for (size_t i = 0; out_d_log_prob && i < n; i++)
        out_d_log_prob[i] = NAN;
}

tce_status tce_returns_surrogate(size_t n, const double *log_prob, const double *log_prob_old,
                                 const double *advantages, const uint8_t *mask, double clip,
                                 tce_returns_stats *out_stats, double *out_d_log_prob)
{
    tce_status status = tce__check_unmasked("log_prob", n, mask, log_prob);
    if (status == TCE_OK)
        status = tce__check_unmasked("log_prob_old", n, mask, log_prob_old);
    if (status == TCE_OK)
        status = tce__check_unmasked("advantages", n, mask, advantages);
    if (status == TCE_OK && !(clip >= 0.0 && isfinite(clip)))
        status = tce_fail(TCE_E_VALUE, "clip = %g, must be finite and >= 0", clip);
    if (status == TCE_OK && out_stats)
        status = tce__struct_check(out_stats, "tce_returns_stats");
    if (status != TCE_OK)
        return status;

    const size_t count = tce__count_mask(n, mask);
    tce__ratio_sums sums = { 0.0, 0.0, 0.0, 0.0, 0.0 };

    for (size_t i = 0; i < n; i++) {
        const int on = !mask || mask[i];
        const double d = on ? tce__ratio_term(log_prob[i], log_prob_old[i], advantages[i], clip,
                                              &sums) /
                                  (double)count
                            : 0.0;
        if (!isfinite(sums.ratio) || !isfinite(sums.loss)) {
            fail_outputs(n, out_stats, out_d_log_prob);
            return tce_fail(TCE_E_NOT_FINITE,
                            "ratio of entry %zu overflowed: log_prob %g, log_prob_old %g", i,
                            log_prob[i], log_prob_old[i]);
        }
        if (out_d_log_prob)
            out_d_log_prob[i] = d;
    }
    tce__ratio_stats(&sums, count, out_stats);
    return TCE_OK;
}
