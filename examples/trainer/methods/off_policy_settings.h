/*
 * Settings that SAC, PINK and SAC on movement primitives have beside the shared groups.
 */
#ifndef TRAINER_OFF_POLICY_SETTINGS_H
#define TRAINER_OFF_POLICY_SETTINGS_H

#include "methods/sac_update.h"
#include "settings/settings.h"

/* In `own`. */
typedef struct off_policy_settings {
    int32_t number_samples, rounds;
    int64_t learning_starts; /* environment steps; on movement primitives episodes */
    int32_t time_limit;      /* TIME_LIMIT_… */
    int64_t replay_size;
    int32_t batch_size, gradient_steps;
    double policy_rate, critic_rate, adam_epsilon;
    double gamma, polyak, target_entropy;
    double log_std_low, log_std_high;
    double noise_beta;
    int64_t noise_chunk, noise_max_period; /* chunk 0: one per episode */
    double action_scale, reward_scale;     /* on movement primitives */
} off_policy_settings;

enum { OFF_POLICY_BOOTSTRAP = 0, OFF_POLICY_TERMINAL = 1 };

/* Rows of them, section by section. */
extern const settings_group OFF_POLICY_COLLECT, OFF_POLICY_EPISODES, OFF_POLICY_POLICY;
extern const settings_group OFF_POLICY_SCALE, OFF_POLICY_CRITIC, OFF_POLICY_TARGETS;
extern const settings_group OFF_POLICY_UPDATE, OFF_POLICY_NOISE;

const off_policy_settings *off_policy_settings_of(const settings *s);

/* Limits of log sigma that are none. */
tce_status off_policy_check(const settings *s);

/* Networks and rates for A actions. */
sac_options off_policy_networks(const settings *s);
sac_rates off_policy_rates(const settings *s, size_t A);

/* Rounds of an iteration, of so many environment steps each. */
int64_t off_policy_rounds(const settings *s, int64_t steps);

#endif
