/*
 * PPO [rivals 2], and gSDE [rivals 3], which is PPO with another noise.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "methods/on_policy.h"
#include "methods/schedules.h"

enum {
    COLUMN_POLICY_LOSS,
    COLUMN_VALUE_LOSS,
    COLUMN_ENTROPY,
    COLUMN_NORM,
    COLUMN_CLIPPED,
    COLUMN_KL,
    COLUMN_WIDTH,
    N_COLUMNS
};
static const char *const OWN[N_COLUMNS] = { "policy_loss",      "value_loss",
                                            "entropy",          "policy_gradient_norm",
                                            "fraction_clipped", "approx_kl",
                                            "ratio_clip" };

static step_update_options options_of(const on_policy *l)
{
    const on_policy_settings *o = l->o;
    const double done = on_policy_done(l);
    const double factor = step_schedule(o->rate_schedule, 1.0, 0.0, done);
    step_update_options u = {
        .ratio_clip = step_schedule(o->clip_schedule, o->ratio_clip, o->clip_last, done),
        .critic_clip = o->critic_clip > 0.0
                           ? step_schedule(o->clip_schedule, o->critic_clip, o->clip_last, done)
                           : 0.0,
        .value_coefficient = o->value_coefficient,
        .entropy_coefficient = o->entropy_coefficient,
        .max_norm = o->max_norm,
        .normalise_advantages = o->normalise_advantages == ADVANTAGES_MINIBATCH,
        .apart = 1
    };
    tce_adam_options_init(&u.policy_adam, sizeof u.policy_adam);
    u.policy_adam.epsilon = o->adam_epsilon;
    u.critic_adam = u.policy_adam;
    u.policy_adam.learning_rate = factor * o->policy_rate;
    u.critic_adam.learning_rate = factor * o->critic_rate;
    return u;
}

/*
 * Adds what a minibatch found to the columns, which are means over all; the divergence's last
 * epoch.
 */
static void add_report(const step_report *r, int last_epoch, double *sums)
{
    sums[COLUMN_POLICY_LOSS] += r->policy_loss;
    sums[COLUMN_VALUE_LOSS] += r->value_loss;
    sums[COLUMN_ENTROPY] += r->entropy;
    sums[COLUMN_NORM] += r->gradient_norm;
    sums[COLUMN_CLIPPED] += r->clip_fraction;
    sums[COLUMN_KL] += last_epoch ? r->approx_kl : 0.0;
}

static tce_status update(on_policy *l, int64_t i, double *out)
{
    const step_update_options options = options_of(l);
    const step_samples samples = on_policy_samples(l);
    const int32_t epochs = l->o->epochs;
    double sums[N_COLUMNS] = { 0.0 };
    size_t n = 0, n_last = 0;

    /* at the end of a schedule the width is 0, and no update is made */
    out[COLUMN_WIDTH] = options.ratio_clip;
    if (!(options.ratio_clip > 0.0))
        return TCE_OK;
    for (int32_t epoch = 0; epoch < epochs; epoch++) {
        const minibatches cut = on_policy_shuffle(l, i, 0, epoch);
        for (size_t k = 0; k < cut.count; k++) {
            const size_t begin = minibatch_begin(&cut, k), end = minibatch_begin(&cut, k + 1);
            step_report report;
            const tce_status status = step_update_run(&l->update, &samples, end - begin,
                                                      l->rows + begin, &options, &report);
            if (status != TCE_OK)
                return status;
            add_report(&report, epoch == epochs - 1, sums);
            n++;
            n_last += epoch == epochs - 1;
        }
    }
    for (size_t c = 0; n > 0 && c < COLUMN_WIDTH; c++)
        out[c] = sums[c] / (double)(c == COLUMN_KL ? n_last : n);
    return TCE_OK;
}

/* ---- rows of the registry -------------------------------------------------------------------- */

static tce_status create_ppo(const method_context *c, void **out)
{
    const on_policy_way way = { update, N_COLUMNS, OWN, TCE_POLICY_EXP, 0, 0 };
    return on_policy_create(c, &way, out);
}

static tce_status create_gsde(const method_context *c, void **out)
{
    const on_policy_way way = { update, N_COLUMNS, OWN, TCE_POLICY_EXP, 1, 0 };
    return on_policy_create(c, &way, out);
}

static void label_ppo(const settings *s, char *out, size_t size)
{
    (void)s;
    snprintf(out, size, "PPO");
}

static void label_gsde(const settings *s, char *out, size_t size)
{
    (void)s;
    snprintf(out, size, "gSDE");
}

static const char *const DEFAULTS[] = { "policy.activation=tanh",
                                        "critic.activation=tanh",
                                        "policy.hidden=[128, 128]",
                                        "critic.hidden=[128, 128]",
                                        "objective.gamma=0.99",
                                        "collect.environments=16",
                                        NULL };

static const settings_group *const PPO_GROUPS[] = { &SETTINGS_RUN,
                                                    &SETTINGS_TASK,
                                                    &SETTINGS_ENVIRONMENTS,
                                                    &ON_POLICY_COLLECT,
                                                    &SETTINGS_EVALUATE,
                                                    &ON_POLICY_NORMALISE,
                                                    &SETTINGS_POLICY_NETWORK,
                                                    &ON_POLICY_POLICY,
                                                    &SETTINGS_CRITIC_NETWORK,
                                                    &ON_POLICY_CRITIC,
                                                    &SETTINGS_RETURNS,
                                                    &ON_POLICY_UPDATE,
                                                    &ON_POLICY_CLIP,
                                                    &ON_POLICY_NORM,
                                                    NULL };
static const settings_group *const GSDE_GROUPS[] = {
    &SETTINGS_RUN,      &SETTINGS_TASK,           &SETTINGS_ENVIRONMENTS,   &ON_POLICY_COLLECT,
    &SETTINGS_EVALUATE, &ON_POLICY_NORMALISE,     &SETTINGS_POLICY_NETWORK, &ON_POLICY_POLICY,
    &ON_POLICY_NOISE,   &SETTINGS_CRITIC_NETWORK, &ON_POLICY_CRITIC,        &SETTINGS_RETURNS,
    &ON_POLICY_UPDATE,  &ON_POLICY_CLIP,          &ON_POLICY_NORM,          NULL
};

const method METHOD_TABLE_PPO = { .settings = { "ppo", PPO_GROUPS, DEFAULTS, NULL },
                                  ON_POLICY_ROW,
                                  .label = label_ppo,
                                  .create = create_ppo };
const method METHOD_TABLE_GSDE = { .settings = { "gsde", GSDE_GROUPS, DEFAULTS, NULL },
                                   ON_POLICY_ROW,
                                   .label = label_gsde,
                                   .create = create_gsde };
