/*
 * TRPL, step by step [rivals 4]: the policy learns from the likelihood of its actions under the
 * projected Gaussians, and the value network apart from it, with orders of its own.
 */
#include <stdio.h>
#include <string.h>

#include "methods/on_policy.h"
#include "methods/schedules.h"

enum {
    COLUMN_POLICY_LOSS,
    COLUMN_TRUST,
    COLUMN_NORM,
    COLUMN_VALUE_LOSS,
    COLUMN_ENTROPY,
    COLUMN_KL_MEAN,
    COLUMN_KL_COV,
    N_COLUMNS
};
static const char *const OWN[N_COLUMNS] = {
    "policy_loss", "trust_region_loss", "policy_gradient_norm", "value_loss", "entropy", "kl_mean",
    "kl_cov"
};

static double rate_factor(const on_policy *l)
{
    return step_schedule(l->o->rate_schedule, 1.0, 0.0, on_policy_done(l));
}

static policy_update_options options_of(const on_policy *l)
{
    const on_policy_settings *o = l->o;
    policy_update_options u = { .clip_norm = o->max_norm,
                                .bounds = { sizeof u.bounds, o->mean_bound, o->cov_bound, 0.0 },
                                .entropy_bonus = o->entropy_coefficient,
                                .regression = o->coefficient,
                                .regress_cov = !o->set_variance };
    tce_adam_options_init(&u.adam, sizeof u.adam);
    u.adam.epsilon = o->adam_epsilon;
    u.adam.learning_rate = rate_factor(l) * o->policy_rate;
    return u;
}

static double mean_of(size_t n, const double *x)
{
    double sum = 0.0;
    for (size_t i = 0; i < n; i++)
        sum += x[i] / (double)n;
    return sum;
}

/* All epochs; losses are means over their minibatches, the distances those of the last one. */
static tce_status update_policy(on_policy *l, int64_t i, double *out)
{
    const policy_update_options options = options_of(l);
    const step_samples samples = on_policy_samples(l);
    const int normalise = l->o->normalise_advantages == ADVANTAGES_MINIBATCH;
    policy_update *u = &l->trpl.update;
    double sums[COLUMN_VALUE_LOSS] = { 0.0 };
    size_t n = 0, last = 0;
    tce_status status = TCE_OK;
    for (int32_t epoch = 0; status == TCE_OK && epoch < l->o->epochs; epoch++) {
        const minibatches cut = on_policy_shuffle(l, i, 0, epoch);
        for (size_t k = 0; status == TCE_OK && k < cut.count; k++) {
            const size_t begin = minibatch_begin(&cut, k);
            policy_gradient gradient = { .regression = 0.0 };
            double norm = 0.0;
            last = minibatch_begin(&cut, k + 1) - begin;
            status = trpl_step_gradient(&l->trpl, &samples, last, l->rows + begin, &options,
                                        normalise, &gradient);
            if (status == TCE_OK)
                status = policy_update_step(u, &options, &norm);
            sums[COLUMN_POLICY_LOSS] += gradient.stats.loss;
            sums[COLUMN_TRUST] += gradient.regression;
            sums[COLUMN_NORM] += norm;
            n++;
        }
    }
    for (size_t c = 0; status == TCE_OK && n > 0 && c < COLUMN_VALUE_LOSS; c++)
        out[c] = sums[c] / (double)n;
    if (status != TCE_OK || n == 0)
        return status;
    status = policy_update_entropy(u, last, u->L, &out[COLUMN_ENTROPY]);
    if (status == TCE_OK)
        status = tce_trpl_distances(u->trpl, last, u->mean_distance, u->cov_distance, NULL);
    out[COLUMN_KL_MEAN] = mean_of(last, u->mean_distance);
    out[COLUMN_KL_COV] = u->cov_distance[0];
    return status == TCE_OK && l->o->set_variance
               ? trpl_step_settle(&l->trpl, last, &samples, &options)
               : status;
}

/* The value network's own passes, towards the returns. */
static tce_status update_critic(on_policy *l, int64_t i, double *out)
{
    const value_samples samples = { l->rollout.obs, l->rollout.returns, NULL };
    double sum = 0.0;
    size_t n = 0;
    tce_status status = TCE_OK;
    tce_adam_options adam;
    tce_adam_options_init(&adam, sizeof adam);
    adam.epsilon = l->o->adam_epsilon;
    adam.learning_rate = rate_factor(l) * l->o->critic_rate;
    for (int32_t epoch = 0; status == TCE_OK && epoch < l->o->critic_epochs; epoch++) {
        const minibatches cut = on_policy_shuffle(l, i, 1, epoch);
        for (size_t k = 0; status == TCE_OK && k < cut.count; k++) {
            const size_t begin = minibatch_begin(&cut, k), end = minibatch_begin(&cut, k + 1);
            value_report report = { 0.0, 0.0 };
            status = value_gradient(l->critic, &samples, end - begin, l->rows + begin, 1.0, 0.0,
                                    &report);
            if (status == TCE_OK)
                status = tce_net_adam_step(l->critic, &adam);
            sum += report.loss;
            n++;
        }
    }
    if (n > 0)
        out[COLUMN_VALUE_LOSS] = sum / (double)n;
    return status;
}

static tce_status update(on_policy *l, int64_t i, double *out)
{
    const tce_status status = update_policy(l, i, out);
    return status == TCE_OK ? update_critic(l, i, out) : status;
}

/* ---- row of the registry --------------------------------------------------------------------- */

static tce_status create(const method_context *c, void **out)
{
    const on_policy_way way = { update, N_COLUMNS, OWN, TCE_POLICY_SOFTPLUS, 0, 1 };
    return on_policy_create(c, &way, out);
}

/* sigma = softplus(v) + min_std, with a v for which it is initial_std */
static tce_status check_settings(const settings *s)
{
    const on_policy_settings *o = on_policy_settings_of(s);
    if (o->initial_std > o->min_std)
        return TCE_OK;
    return tce_fail(TCE_E_VALUE,
                    "policy.initial_std = %g must be above policy.min_std = %g, below which no "
                    "deviation can fall",
                    o->initial_std, o->min_std);
}

static void label(const settings *s, char *out, size_t size)
{
    (void)s;
    snprintf(out, size, "TRPL");
}

static const char *const DEFAULTS[] = { "policy.activation=tanh",
                                        "critic.activation=tanh",
                                        "policy.hidden=[128, 128]",
                                        "critic.hidden=[128, 128]",
                                        "objective.gamma=0.99",
                                        "collect.environments=16",
                                        "normalise.rewards=false",
                                        "normalise.observation_clip=0",
                                        "policy.epochs=20",
                                        "policy.learning_rate=5e-5",
                                        "update.minibatches=64",
                                        "update.normalise_advantages=rollout",
                                        "update.adam_epsilon=1e-8",
                                        "update.clip_norm=0",
                                        NULL };

static const settings_group *const GROUPS[] = { &SETTINGS_RUN,
                                                &SETTINGS_TASK,
                                                &SETTINGS_ENVIRONMENTS,
                                                &ON_POLICY_COLLECT,
                                                &SETTINGS_EVALUATE,
                                                &ON_POLICY_NORMALISE,
                                                &SETTINGS_POLICY_NETWORK,
                                                &ON_POLICY_POLICY,
                                                &ON_POLICY_SOFTPLUS,
                                                &SETTINGS_CRITIC_NETWORK,
                                                &ON_POLICY_CRITIC,
                                                &ON_POLICY_CRITIC_EPOCHS,
                                                &ON_POLICY_PROJECTION,
                                                &SETTINGS_RETURNS,
                                                &ON_POLICY_UPDATE,
                                                &ON_POLICY_NORM,
                                                NULL };

const method METHOD_TABLE_TRPL = { .settings = { "trpl", GROUPS, DEFAULTS, check_settings },
                                   ON_POLICY_ROW,
                                   .label = label,
                                   .create = create };
