/*
 * Rows of settings, and what they mean for an update.
 */
#include "methods/off_policy_settings.h"

#include <float.h>
#include <math.h>

#include "methods/schedules.h"
#include "methods/time_limit.h"

/* an iteration of the default number of rounds has at least this many environment steps */
#define LEAST_STEPS 1000

#define OWN(field) SETTINGS_OWN(off_policy_settings, field)

static const setting_choice TEMPERATURES[] = { { "auto", TEMPERATURE_AUTO },
                                               { "fixed", TEMPERATURE_FIXED },
                                               { NULL, 0 } };
static const setting_choice RATE_SCHEDULES[] = { { "constant", 0 }, { "linear", 1 }, { NULL, 0 } };

static const setting_row COLLECT_ROWS[] = {
    { "collect", "number_samples", SETTING_INT, OWN(number_samples), "1", 1, 1e8, NULL, 0,
      "environment steps per round, of all environments together; gradient steps follow each "
      "round" },
    { "collect", "rounds", SETTING_INT, OWN(rounds), "0", 0, 1e9, NULL, 0,
      "rounds per iteration; 0: as many as take at least 1,000 environment steps" },
    { "collect", "learning_starts", SETTING_INT64, OWN(learning_starts), "10000", 0, 1e12, NULL, 0,
      "environment steps with uniform actions and without updates" },
    { "collect", "time_limit", SETTING_CHOICE, OWN(time_limit), "auto", 0, 0, TIME_LIMITS, 0,
      TIME_LIMIT_HELP },
};
static const setting_row EPISODE_ROWS[] = {
    { "collect", "rounds", SETTING_INT, OWN(rounds), "0", 0, 1e9, NULL, 0,
      "rounds of collect.episodes per iteration; 0: as many as take at least 1,000 environment "
      "steps" },
    { "collect", "learning_starts", SETTING_INT64, OWN(learning_starts), "1000", 0, 1e12, NULL, 0,
      "episodes with uniform parameters and without updates" },
    { "collect", "reward_scale", SETTING_REAL, OWN(reward_scale), "0.01", SETTING_POSITIVE,
      SETTING_ANY, NULL, 0, "scale of the returns that the critics learn" },
};
static const setting_row SCALE_ROWS[] = {
    { "policy", "action_scale", SETTING_REAL, OWN(action_scale), "3", SETTING_POSITIVE, SETTING_ANY,
      NULL, 0, "the primitive's parameters are squashed into plus and minus this number" },
};
static const setting_row POLICY_ROWS[] = {
    { "policy", "learning_rate", SETTING_REAL, OWN(policy_rate), "3e-4", 0, SETTING_ANY, NULL, 0,
      "learning rate of Adam" },
    { "policy", "log_std_low", SETTING_REAL, OWN(log_std_low), "-20", -700, 700, NULL, 0,
      "lower limit to which logarithms of standard deviations are clipped" },
    { "policy", "log_std_high", SETTING_REAL, OWN(log_std_high), "2", -700, 700, NULL, 0,
      "upper limit to which logarithms of standard deviations are clipped" },
};
static const setting_row CRITIC_ROWS[] = {
    { "critic", "learning_rate", SETTING_REAL, OWN(critic_rate), "3e-4", 0, SETTING_ANY, NULL, 0,
      "learning rate of Adam, for both critics and the temperature" },
};
static const setting_row TARGET_ROWS[] = {
    { "critic", "polyak", SETTING_REAL, OWN(polyak), "0.005", 0, 1, NULL, 0,
      "share of the critics that is mixed into their targets after each gradient step" },
    { "objective", "gamma", SETTING_REAL, OWN(gamma), "0.99", 0, 1, NULL, 0, "discount" },
};
static const setting_row UPDATE_ROWS[] = {
    { "update", "gradient_steps", SETTING_INT, OWN(gradient_steps), "1", 0, 1e8, NULL, 0,
      "gradient steps after each round" },
    { "update", "batch_size", SETTING_INT, OWN(batch_size), "256", 1, 1e6, NULL, 0,
      "transitions per gradient step" },
    { "update", "replay_size", SETTING_INT64, OWN(replay_size), "1000000", 1, 4e9, NULL, 0,
      "transitions that the replay keeps" },
    { "update", "target_entropy", SETTING_REAL, OWN(target_entropy), "0", -SETTING_ANY, SETTING_ANY,
      NULL, 0, "entropy at which the temperature keeps the policy" },
    { "update", "target_entropy_auto", SETTING_BOOL, OWN(target_entropy_auto), "true", 0, 1, NULL,
      0, "a target_entropy of 0 means minus the number of actions" },
    { "update", "entropy_coefficient", SETTING_CHOICE, OWN(temperature), "auto", 0, 0, TEMPERATURES,
      0, "the temperature follows the target entropy (auto), or stays at alpha (fixed)" },
    { "update", "alpha", SETTING_REAL, OWN(alpha), "1", SETTING_POSITIVE, SETTING_ANY, NULL, 0,
      "initial temperature" },
    { "update", "rate_schedule", SETTING_CHOICE, OWN(rate_schedule), "constant", 0, 0,
      RATE_SCHEDULES, 0,
      "schedule of both learning rates: constant; linear: to 0 at the end of the run" },
    { "update", "schedule_steps", SETTING_INT64, OWN(schedule_steps), "0", 0, 1e15, NULL, 0,
      "environment steps over which the schedule runs; 0: those of the whole run as it was begun" },
    { "update", "adam_epsilon", SETTING_REAL, OWN(adam_epsilon), "1e-8", SETTING_POSITIVE, 1, NULL,
      0, "epsilon in Adam's denominator" },
};
static const setting_row NOISE_ROWS[] = {
    { "noise", "beta", SETTING_REAL, OWN(noise_beta), "1", 0, 10, NULL, 0,
      "the noise's power falls as frequency^-beta: 0 is white, 1 pink, 2 red" },
    { "noise", "chunk", SETTING_INT64, OWN(noise_chunk), "10000", 0, 1e8, NULL, 0,
      "steps whose noise is drawn together; 0: a whole episode" },
    { "noise", "max_period", SETTING_INT64, OWN(noise_max_period), "10000", 0, 1e12, NULL, 0,
      "frequencies with a longer period have the power of the one with this period; 0: no limit" },
};

#define GROUP(rows)                              \
    {                                            \
        sizeof rows / sizeof rows[0], rows, NULL \
    }
const settings_group OFF_POLICY_COLLECT = GROUP(COLLECT_ROWS);
const settings_group OFF_POLICY_EPISODES = GROUP(EPISODE_ROWS);
const settings_group OFF_POLICY_POLICY = GROUP(POLICY_ROWS);
const settings_group OFF_POLICY_SCALE = GROUP(SCALE_ROWS);
const settings_group OFF_POLICY_CRITIC = GROUP(CRITIC_ROWS);
const settings_group OFF_POLICY_TARGETS = GROUP(TARGET_ROWS);
const settings_group OFF_POLICY_UPDATE = GROUP(UPDATE_ROWS);
const settings_group OFF_POLICY_NOISE = GROUP(NOISE_ROWS);

const off_policy_settings *off_policy_settings_of(const settings *s)
{
    return (const off_policy_settings *)(const void *)s->own.bytes;
}

tce_status off_policy_check(const settings *s)
{
    const off_policy_settings *o = off_policy_settings_of(s);
    if (!(o->log_std_low < o->log_std_high))
        return tce_fail(TCE_E_VALUE, "policy.log_std_low = %g must be below log_std_high = %g",
                        o->log_std_low, o->log_std_high);
    return TCE_OK;
}

sac_options off_policy_networks(const settings *s)
{
    const off_policy_settings *o = off_policy_settings_of(s);
    const sac_options networks = { .n_hidden = s->policy.hidden.n,
                                   .n_critic_hidden = s->critic.hidden.n,
                                   .hidden = s->policy.hidden.v,
                                   .critic_hidden = s->critic.hidden.v,
                                   .activation = s->policy.options.activation,
                                   .critic_activation = s->critic.activation,
                                   .precision = s->policy.options.precision,
                                   .start = s->policy.options.start,
                                   .log_std_low = o->log_std_low,
                                   .log_std_high = o->log_std_high,
                                   .first_log_alpha = log(o->alpha),
                                   .batch_size = o->batch_size };
    return networks;
}

sac_rates off_policy_rates(const settings *s, size_t A)
{
    const off_policy_settings *o = off_policy_settings_of(s);
    sac_rates rates = { .gamma = o->gamma,
                        .polyak = o->polyak,
                        .fixed_alpha = o->temperature == TEMPERATURE_FIXED,
                        .target_entropy = o->target_entropy };
    if (o->target_entropy == 0.0 && o->target_entropy_auto)
        rates.target_entropy = -(double)A;
    tce_adam_options_init(&rates.actor, sizeof rates.actor);
    rates.actor.epsilon = o->adam_epsilon;
    rates.critic = rates.actor;
    rates.actor.learning_rate = o->policy_rate;
    rates.critic.learning_rate = o->critic_rate;
    return rates;
}

int64_t off_policy_schedule(const settings *s, int64_t steps_per_iteration)
{
    const off_policy_settings *o = off_policy_settings_of(s);
    if (!o->rate_schedule)
        return 0;
    return o->schedule_steps > 0 ? o->schedule_steps : s->run.iterations * steps_per_iteration;
}

sac_rates off_policy_rates_at(const sac_rates *first, int64_t done, int64_t length)
{
    const double factor = linear_schedule((uint64_t)done, (uint64_t)length, 0.0);
    sac_rates now = *first;
    now.actor.learning_rate *= factor;
    now.critic.learning_rate *= factor;
    return now;
}

tce_status off_policy_save_schedule(tce_store *store, int64_t length)
{
    return length > 0 ? tce_store_put(store, "trainer.schedule", TCE_STORE_I64, 0, NULL, &length)
                      : TCE_OK;
}

tce_status off_policy_load_schedule(const tce_store *store, int64_t *length)
{
    int64_t then;
    if (*length == 0)
        return TCE_OK;
    const tce_status status = tce_store_read(store, "trainer.schedule", TCE_STORE_I64, 1, &then);
    if (status == TCE_OK && then < 1)
        return tce_fail(TCE_E_CORRUPT, "trainer.schedule = %lld, must be positive",
                        (long long)then);
    if (status == TCE_OK)
        *length = then;
    return status;
}

int64_t off_policy_rounds(const settings *s, int64_t steps)
{
    const int32_t rounds = off_policy_settings_of(s)->rounds;
    return rounds > 0 ? rounds : (LEAST_STEPS + steps - 1) / steps;
}
