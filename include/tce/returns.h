/*
 * returns: returns and advantages of single steps, and the surrogate loss of a policy update.
 *
 * Index order is [E, T]: E episodes (or environments) of T steps; values have one more column, for
 * the observation after the last step. Nothing here needs a handle, and nothing allocates.
 * Mathematics: docs/api/returns.md.
 */
#ifndef TCE_RETURNS_H
#define TCE_RETURNS_H

#include <tce/status.h>

TCE_BEGIN_C

/* ---- returns and advantages ------------------------------------------------------------------ */

/*
 * Generalised advantage estimation. rewards, ends [E, T], values [E, T+1]; outputs [E, T];
 * out_returns = advantages + values; either output may be NULL.
 *
 * ends: 1 where an episode ended with this step, whether it was terminated or truncated; the value
 * after it is not used. To bootstrap at a truncation, add gamma V(terminal observation) to the
 * reward of its step before this call.
 * TCE_E_VALUE: gamma or lambda outside [0, 1], or a number that is not finite.   Since 0.2.
 */
TCE_API TCE_NODISCARD tce_status tce_returns_gae(size_t E, size_t T, const double *rewards,
                                                 const double *values, const uint8_t *ends,
                                                 double gamma, double lambda,
                                                 double *out_advantages, double *out_returns);

/*
 * Monte-Carlo returns R_t, with V_T after the last step, and advantages A_t = R_t - V_t; same
 * shapes and statuses.   Since 0.2.
 */
TCE_API TCE_NODISCARD tce_status tce_returns_monte_carlo(size_t E, size_t T, const double *rewards,
                                                         const double *values, const uint8_t *ends,
                                                         double gamma, double *out_advantages,
                                                         double *out_returns);

/*
 * Subtracts the mean and divides by the sample standard deviation + 1e-8, in place, over the
 * entries with mask != 0 (mask NULL: all). Fewer than two entries stay as they are.   Since 0.2.
 */
TCE_API void tce_returns_normalise(size_t n, const uint8_t *mask, double *x);

/*
 * Moves rewards [E, T] to the deciding event [tasks 1.7], in place; events [E, T]. Let e be an
 * episode's first flagged step, e > 0: its reward becomes the sum of all rewards from e on, and the
 * rewards after it become 0. Without such a step nothing changes.   Since 0.2.
 */
TCE_API void tce_returns_to_event(size_t E, size_t T, const uint8_t *events, double *rewards);

/* ---- surrogate loss -------------------------------------------------------------------------- */

/* Statistics of a surrogate loss; start it from TCE_INIT(tce_returns_stats). */
typedef struct tce_returns_stats {
    size_t struct_size;
    double loss; /* -mean(ratio * advantage), clipped or not */
    double ratio_mean;
    double ratio_max;
    double fraction_clipped; /* share with |ratio - 1| > clip; 0 without clipping */
    double approx_kl;        /* mean of ratio - 1 - log ratio */
} tce_returns_stats;

/*
 * Surrogate loss -mean(rho A), or with clip > 0 -mean(min(rho A, clip(rho, 1-clip, 1+clip) A)), rho
 * = exp(log_prob - log_prob_old), over the entries with mask != 0 (mask NULL: all). Overwrites
 * out_d_log_prob [n] with the gradient of the loss; out_stats and out_d_log_prob may be NULL.
 * TCE_E_VALUE: clip < 0, or a number that counts is not finite.  TCE_E_NOT_FINITE: a ratio
 * overflowed; outputs are NaN.   Since 0.2.
 */
TCE_API TCE_NODISCARD tce_status tce_returns_surrogate(
    size_t n, const double *log_prob, const double *log_prob_old, const double *advantages,
    const uint8_t *mask, double clip, tce_returns_stats *out_stats, double *out_d_log_prob);

TCE_END_C

#endif
