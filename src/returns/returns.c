/*
 * Returns and advantages of single steps, backwards over an episode; V has one more entry than r.
 *
 *   generalised advantage estimation   delta_t = r_t + gamma (1 - end_t) V_{t+1} - V_t
 *                                      A_t = delta_t + gamma lambda (1 - end_t) A_{t+1}
 *                                      R_t = A_t + V_t
 *   Monte Carlo                        R_t = r_t + gamma (1 - end_t) R_{t+1},   R_T = V_T
 *                                      A_t = R_t - V_t
 *
 * end is termination or time limit; to bootstrap there, the caller adds gamma V to the reward.
 */
#include <tce/returns.h>

#include "base/internal.h"

static tce_status check_discount(const char *name, double value)
{
    if (!(value >= 0.0 && value <= 1.0))
        return tce_fail(TCE_E_VALUE, "%s = %g, must be in [0, 1]", name, value);
    return TCE_OK;
}

static tce_status check_steps(size_t E, size_t T, const double *rewards, const double *values,
                              const uint8_t *ends, double gamma)
{
    tce_status status = tce__check_finite("rewards", E * T, rewards);
    if (status == TCE_OK)
        status = tce__check_finite("values", E * (T + 1), values);
    if (status == TCE_OK && E * T > 0)
        status = tce__check_pointer("ends", ends);
    if (status == TCE_OK)
        status = check_discount("gamma", gamma);
    return status;
}

tce_status tce_returns_gae(size_t E, size_t T, const double *rewards, const double *values,
                           const uint8_t *ends, double gamma, double lambda, double *out_advantages,
                           double *out_returns)
{
    tce_status status = check_steps(E, T, rewards, values, ends, gamma);
    if (status == TCE_OK)
        status = check_discount("lambda", lambda);
    if (status != TCE_OK)
        return status;

    for (size_t e = 0; e < E; e++) {
        const double *const V = values + e * (T + 1);
        double next = 0.0;

        /* A_t = r_t + gamma (1 - end) V_{t+1} - V_t + gamma lambda (1 - end) A_{t+1} */
        for (size_t t = T; t-- > 0;) {
            const size_t i = e * T + t;
            const double go_on = ends[i] ? 0.0 : 1.0;
            const double delta = rewards[i] + gamma * go_on * V[t + 1] - V[t];
            next = delta + gamma * lambda * go_on * next;
            if (out_advantages)
                out_advantages[i] = next;
            if (out_returns)
                out_returns[i] = next + V[t];
        }
    }
    return TCE_OK;
}

tce_status tce_returns_monte_carlo(size_t E, size_t T, const double *rewards, const double *values,
                                   const uint8_t *ends, double gamma, double *out_advantages,
                                   double *out_returns)
{
    const tce_status status = check_steps(E, T, rewards, values, ends, gamma);
    if (status != TCE_OK)
        return status;

    for (size_t e = 0; e < E; e++) {
        const double *const V = values + e * (T + 1);
        double next = V[T];

        /* R_t = r_t + gamma (1 - end) R_{t+1} */
        for (size_t t = T; t-- > 0;) {
            const size_t i = e * T + t;
            next = rewards[i] + (ends[i] ? 0.0 : gamma * next);
            if (out_advantages)
                out_advantages[i] = next - V[t];
            if (out_returns)
                out_returns[i] = next;
        }
    }
    return TCE_OK;
}

/*
 * With e the first step whose event flag is set: if e > 0, r_e <- sum_{t >= e} r_t and r_t <- 0 for
 * t > e. Without an event, or with e = 0, nothing changes [tasks 1.7].
 */
void tce_returns_to_event(size_t E, size_t T, const uint8_t *events, double *rewards)
{
    for (size_t episode = 0; episode < E; episode++) {
        const uint8_t *flags = events + episode * T;
        double *r = rewards + episode * T;
        size_t e = 0;

        while (e < T && !flags[e])
            e++;
        if (e == 0)
            continue;
        for (size_t t = e + 1; t < T; t++) {
            r[e] += r[t];
            r[t] = 0.0;
        }
    }
}
