#include "methods/trpl_step.h"

#include <string.h>

void trpl_step_take(trpl_step *t, memory *m, size_t max_rows, size_t O, size_t A)
{
    const policy_update_sizes sizes = {
        .max_rows = max_rows, .n_scales = 1, .P = A, .diagonal = 1, .deviations = 1
    };
    memset(t, 0, sizeof *t);
    policy_update_take(&t->update, m, &sizes);
    t->O = O;
    t->A = A;
    t->obs = memory_doubles(m, max_rows * O);
    t->actions = memory_doubles(m, max_rows * A);
    t->old_mean = memory_doubles(m, max_rows * A);
    t->old_log_prob = memory_doubles(m, max_rows);
    t->advantages = memory_doubles(m, max_rows);
    t->log_prob = memory_doubles(m, max_rows);
    t->d_log_prob = memory_doubles(m, max_rows);
    t->work = memory_doubles(m, tce_gauss_work_size(max_rows, A));
}

static void gather(trpl_step *t, const step_samples *s, size_t n, const uint32_t *rows)
{
    for (size_t i = 0; i < n; i++) {
        const size_t row = rows[i];
        memcpy(t->obs + i * t->O, s->obs + row * t->O, t->O * sizeof *t->obs);
        memcpy(t->actions + i * t->A, s->actions + row * t->A, t->A * sizeof *t->actions);
        memcpy(t->old_mean + i * t->A, s->means + row * t->A, t->A * sizeof *t->old_mean);
        t->old_log_prob[i] = s->log_prob[row];
        t->advantages[i] = s->advantages[row];
    }
}

tce_status trpl_step_gradient(trpl_step *t, const step_samples *s, size_t n, const uint32_t *rows,
                              const policy_update_options *o, int normalise_advantages,
                              policy_gradient *out)
{
    parameter_likelihood likelihood = { .n = n,
                                        .n_factors = 1,
                                        .P = t->A,
                                        .form = TCE_GAUSS_DIAGONAL,
                                        .params = t->actions,
                                        .old_log_prob = t->old_log_prob,
                                        .advantages = t->advantages,
                                        .log_prob = t->log_prob,
                                        .d_log_prob = t->d_log_prob,
                                        .work = t->work };
    const policy_rows batch = { n,          t->obs, t->old_mean, s->deviations, parameter_surrogate,
                                &likelihood };
    gather(t, s, n, rows);
    if (normalise_advantages)
        tce_returns_normalise(n, NULL, t->advantages);
    out->stats = TCE_INIT(tce_returns_stats);
    return policy_update_gradient(&t->update, &batch, o, out);
}

tce_status trpl_step_settle(trpl_step *t, size_t n, const step_samples *s,
                            const policy_update_options *o)
{
    const policy_rows batch = { n, t->obs, t->old_mean, s->deviations, NULL, NULL };
    const tce_status status = policy_update_project(&t->update, &batch, &o->bounds);
    return status == TCE_OK ? tce_policy_set_covariance(t->update.policy, t->update.proj_L)
                            : status;
}
