/*
 * Rows of the step-based on-policy methods. Defaults are those of the paper where all
 * tasks agree, and those of PPO on Metaworld where they do not.
 */
#include "methods/on_policy.h"

#include <stddef.h>

#define OWN(field) SETTINGS_OWN(on_policy_settings, field)
#define ANY SETTING_ANY

static const setting_choice RATE_SCHEDULES[] = { { "constant", SCHEDULE_CONSTANT },
                                                 { "linear", SCHEDULE_LINEAR },
                                                 { NULL, 0 } };
static const setting_choice CLIP_SCHEDULES[] = { { "constant", SCHEDULE_CONSTANT },
                                                 { "linear", SCHEDULE_LINEAR },
                                                 { "first_quarter", SCHEDULE_FIRST_QUARTER },
                                                 { NULL, 0 } };
static const setting_choice ADVANTAGES[] = { { "none", ADVANTAGES_RAW },
                                             { "minibatch", ADVANTAGES_MINIBATCH },
                                             { "rollout", ADVANTAGES_ROLLOUT },
                                             { NULL, 0 } };
static const setting_choice SPREADS[] = { { "exp", GSDE_EXP },
                                          { "expln", GSDE_EXPLN },
                                          { NULL, 0 } };
static const setting_choice PROJECTIONS[] = {
    { "kl", TCE_TRPL_KL }, { "w2", TCE_TRPL_W2 }, { "frobenius", TCE_TRPL_FROBENIUS }, { NULL, 0 }
};

static const setting_row COLLECT_ROWS[] = {
    { "collect", "steps", SETTING_INT, OWN(steps), "1000", 1, 1e8, NULL, 0,
      "steps of each environment per iteration; the next iteration continues where it stopped" },
    { "collect", "time_limit", SETTING_CHOICE, OWN(time_limit), "auto", 0, 0, TIME_LIMITS, 0,
      TIME_LIMIT_HELP },
};

static const setting_row NORMALISE_ROWS[] = {
    { "normalise", "observations", SETTING_BOOL, OWN(normalise_observations), "true", 0, 1, NULL, 0,
      "normalise observations by their running mean and variance" },
    { "normalise", "observation_clip", SETTING_REAL, OWN(observation_clip), "10", 0, ANY, NULL, 0,
      "largest normalised observation; 0: no limit" },
    { "normalise", "rewards", SETTING_BOOL, OWN(normalise_rewards), "true", 0, 1, NULL, 0,
      "normalise rewards by the running variance of discounted returns" },
    { "normalise", "reward_clip", SETTING_REAL, OWN(reward_clip), "10", 0, ANY, NULL, 0,
      "largest normalised reward; 0: no limit" },
    { "normalise", "return_discount", SETTING_REAL, OWN(return_discount), "0", 0, 1, NULL, 0,
      "discount of the returns whose variance normalises rewards; 0: objective.gamma" },
};

static const setting_row POLICY_ROWS[] = {
    { "policy", "initial_std", SETTING_REAL, OWN(initial_std), "1", 1e-12, ANY, NULL, 0,
      "initial standard deviations; for gsde those of the entries of its noise matrix" },
    { "policy", "learning_rate", SETTING_REAL, OWN(policy_rate), "3e-4", 0, ANY, NULL, 0,
      "learning rate of Adam" },
    { "policy", "entropy_coefficient", SETTING_REAL, OWN(entropy_coefficient), "0", 0, ANY, NULL, 0,
      "weight of the bonus on the entropy" },
    { "policy", "epochs", SETTING_INT, OWN(epochs), "10", 0, 1e6, NULL, 0,
      "passes over all samples per iteration, each in a new order" },
};

static const setting_row SOFTPLUS_ROWS[] = {
    { "policy", "min_std", SETTING_REAL, OWN(min_std), "1e-5", 0, ANY, NULL, 0,
      "smallest standard deviation" },
    { "policy", "set_variance", SETTING_BOOL, OWN(set_variance), "false", 0, 1, NULL, 0,
      "overwrite the deviations by the projected ones after the last epoch; the regression then "
      "leaves them out" },
};

static const setting_row NOISE_ROWS[] = {
    { "policy", "sde_every", SETTING_INT, OWN(sde_every), "4", 1, 1e9, NULL, 0,
      "steps of a rollout after which the noise matrices are drawn again" },
    { "policy", "spread", SETTING_CHOICE, OWN(spread), "exp", 0, 0, SPREADS, 0,
      "how deviations follow from their logarithms: by exp, or by expln, which grows slowly above "
      "1" },
    { "policy", "full_std", SETTING_BOOL, OWN(full_std), "true", 0, 1, NULL, 0,
      "one deviation per feature and action; false: one per feature" },
};

static const setting_row CRITIC_ROWS[] = {
    { "critic", "learning_rate", SETTING_REAL, OWN(critic_rate), "3e-4", 0, ANY, NULL, 0,
      "learning rate of Adam" },
};

static const setting_row CRITIC_EPOCH_ROWS[] = {
    { "critic", "epochs", SETTING_INT, OWN(critic_epochs), "10", 0, 1e6, NULL, 0,
      "passes over all samples per iteration, each in a new order" },
};

static const setting_row CLIP_ROWS[] = {
    { "update", "ratio_clip", SETTING_REAL, OWN(ratio_clip), "0.2", SETTING_POSITIVE, ANY, NULL, 0,
      "likelihood ratios are clipped to 1 plus and minus this width" },
    { "update", "critic_clip", SETTING_REAL, OWN(critic_clip), "0", 0, ANY, NULL, 0,
      "values are clipped to this width around those of the rollout; 0: no clipping" },
    { "update", "clip_schedule", SETTING_CHOICE, OWN(clip_schedule), "constant", 0, 0,
      CLIP_SCHEDULES, 0,
      "schedule of both widths: constant; linear: to 0 at the end of the run; first_quarter: to "
      "clip_last over the first quarter of the run. An iteration with width 0 makes no update" },
    { "update", "clip_last", SETTING_REAL, OWN(clip_last), "0.01", SETTING_POSITIVE, ANY, NULL, 0,
      "both widths after the first quarter" },
    { "update", "value_coefficient", SETTING_REAL, OWN(value_coefficient), "0.5", 0, ANY, NULL, 0,
      "coefficient of the value loss beside the policy's" },
};

static const setting_row NORM_ROWS[] = {
    { "update", "clip_norm", SETTING_REAL, OWN(max_norm), "0.5", 0, ANY, NULL, 0,
      "largest norm of the gradient of all weights together, for trpl of the policy's; 0: no "
      "clipping" },
};

static const setting_row PROJECTION_ROWS[] = {
    { "projection", "kind", SETTING_CHOICE, OWN(projection), "kl", 0, 0, PROJECTIONS, 0,
      "trust region" },
    { "projection", "mean_bound", SETTING_REAL, OWN(mean_bound), "0.005", SETTING_POSITIVE, ANY,
      NULL, 0, "bound on each state's mean" },
    { "projection", "cov_bound", SETTING_REAL, OWN(cov_bound), "0.0005", SETTING_POSITIVE, ANY,
      NULL, 0, "bound on the covariance" },
    { "projection", "coefficient", SETTING_REAL, OWN(coefficient), "10", 0, ANY, NULL, 0,
      "coefficient of the trust-region regression loss" },
};

static const setting_row UPDATE_ROWS[] = {
    { "update", "minibatches", SETTING_INT, OWN(minibatches), "32", 1, 1e6, NULL, 0,
      "number of minibatches in an epoch, where batch_size is 0" },
    { "update", "batch_size", SETTING_INT, OWN(batch_size), "0", 0, 1e8, NULL, 0,
      "samples per minibatch, the last one may have fewer; 0: update.minibatches decides" },
    { "update", "normalise_advantages", SETTING_CHOICE, OWN(normalise_advantages), "minibatch", 0,
      0, ADVANTAGES, 0,
      "normalise advantages over each minibatch, over the whole rollout, or not at all" },
    { "update", "adam_epsilon", SETTING_REAL, OWN(adam_epsilon), "1e-5", SETTING_POSITIVE, 1, NULL,
      0, "epsilon in Adam's denominator" },
    { "update", "rate_schedule", SETTING_CHOICE, OWN(rate_schedule), "constant", 0, 0,
      RATE_SCHEDULES, 0,
      "schedule of both learning rates: constant; linear: to 0 at the end of the run" },
    { "update", "schedule_steps", SETTING_INT64, OWN(schedule_steps), "0", 0, 1e15, NULL, 0,
      "environment steps over which schedules run; 0: those of the whole run as it was begun" },
};

#define GROUP(rows)                                \
    {                                              \
        sizeof(rows) / sizeof(rows)[0], rows, NULL \
    }

const settings_group ON_POLICY_COLLECT = GROUP(COLLECT_ROWS);
const settings_group ON_POLICY_NORMALISE = GROUP(NORMALISE_ROWS);
const settings_group ON_POLICY_POLICY = GROUP(POLICY_ROWS);
const settings_group ON_POLICY_SOFTPLUS = GROUP(SOFTPLUS_ROWS);
const settings_group ON_POLICY_NOISE = GROUP(NOISE_ROWS);
const settings_group ON_POLICY_CRITIC = GROUP(CRITIC_ROWS);
const settings_group ON_POLICY_CRITIC_EPOCHS = GROUP(CRITIC_EPOCH_ROWS);
const settings_group ON_POLICY_CLIP = GROUP(CLIP_ROWS);
const settings_group ON_POLICY_NORM = GROUP(NORM_ROWS);
const settings_group ON_POLICY_PROJECTION = GROUP(PROJECTION_ROWS);
const settings_group ON_POLICY_UPDATE = GROUP(UPDATE_ROWS);

const on_policy_settings *on_policy_settings_of(const settings *s)
{
    return (const on_policy_settings *)(const void *)&s->own;
}
