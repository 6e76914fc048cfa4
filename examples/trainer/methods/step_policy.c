/*
 * Densities and entropies are those of tce_gauss in its diagonal form, with one scale for all rows
 * or one per row.
 */
#include "methods/step_policy.h"

#include <math.h>
#include <string.h>

void step_policy_take(step_policy *p, memory *m, size_t max_rows, size_t A, size_t F)
{
    const size_t n_scales = F > 0 ? max_rows : 1;
    memset(p, 0, sizeof *p);
    p->A = A;
    p->F = F;
    p->mean = memory_doubles(m, max_rows * A);
    p->deviations = memory_doubles(m, n_scales * A);
    p->hidden = memory_doubles(m, max_rows * F);
    p->d_mean = memory_doubles(m, max_rows * A);
    p->d_deviations = memory_doubles(m, n_scales * A);
    p->entropy = memory_doubles(m, n_scales);
    p->d_entropy = memory_doubles(m, n_scales);
    p->d_bonus = memory_doubles(m, n_scales * A);
    p->zeros = memory_doubles(m, A);
    p->work = memory_doubles(m, tce_gauss_work_size(max_rows, A));
}

tce_status step_policy_predict(step_policy *p, size_t n, const double *obs)
{
    tce_status status = tce_policy_predict(p->policy, n, obs, p->mean, p->deviations);
    if (status == TCE_OK && p->noise) {
        status = tce_policy_hidden(p->policy, n, p->hidden);
        if (status == TCE_OK)
            gsde_deviations(p->noise, n, p->hidden, p->deviations);
    }
    p->now = (tce_gauss){ .struct_size = sizeof p->now,
                          .n = n,
                          .dim = p->A,
                          .n_scales = p->noise ? n : 1,
                          .form = TCE_GAUSS_DIAGONAL,
                          .mean = p->mean,
                          .scale = p->deviations };
    return status;
}

tce_status step_policy_log_prob(const step_policy *p, const double *actions, double *out)
{
    return tce_gauss_log_prob(&p->now, actions, p->work, out);
}

tce_status step_policy_entropy(step_policy *p, double *out)
{
    const tce_status status = tce_gauss_entropy(&p->now, p->entropy);
    *out = 0.0;
    for (size_t k = 0; status == TCE_OK && k < p->now.n_scales; k++)
        *out += p->entropy[k] / (double)p->now.n_scales;
    return status;
}

/* Adds the gradient of -bonus * mean entropy to d_deviations. */
static tce_status add_bonus(step_policy *p, double bonus)
{
    const size_t n = p->now.n_scales;
    for (size_t k = 0; k < n; k++)
        p->d_entropy[k] = -bonus / (double)n;
    const tce_status status = tce_gauss_entropy_backward(&p->now, p->d_entropy, p->d_bonus);
    for (size_t k = 0; status == TCE_OK && k < n * p->A; k++)
        p->d_deviations[k] += p->d_bonus[k];
    return status;
}

tce_status step_policy_backward(step_policy *p, const double *actions, const double *d_log_prob,
                                double bonus)
{
    tce_status status = tce_gauss_log_prob_backward(&p->now, actions, d_log_prob, p->work, NULL,
                                                    p->d_mean, p->d_deviations);
    if (status == TCE_OK && bonus > 0.0)
        status = add_bonus(p, bonus);
    if (status != TCE_OK)
        return status;
    if (!p->noise)
        return tce_policy_backward(p->policy, p->now.n, p->d_mean, p->d_deviations);
    gsde_backward(p->noise, p->now.n, p->hidden, p->deviations, p->d_deviations, NULL);
    return tce_policy_backward(p->policy, p->now.n, p->d_mean, p->zeros);
}

double step_policy_gradient_norm(const step_policy *p)
{
    const double norm = tce_policy_gradient_norm(p->policy);
    return p->noise ? hypot(norm, gsde_gradient_norm(p->noise)) : norm;
}

void step_policy_scale_gradient(step_policy *p, double factor)
{
    tce_policy_scale_gradient(p->policy, factor);
    if (p->noise)
        gsde_scale_gradient(p->noise, factor);
}

tce_status step_policy_adam_step(step_policy *p, const tce_adam_options *adam)
{
    const tce_status status = tce_policy_adam_step(p->policy, adam);
    return status == TCE_OK && p->noise ? gsde_adam_step(p->noise, adam) : status;
}
