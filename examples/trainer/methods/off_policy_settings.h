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
    int32_t time_limit;      /* TIME_LIMIT_… of time_limit.h */
    int64_t replay_size;
    int32_t batch_size, gradient_steps;
    double policy_rate, critic_rate, adam_epsilon;
    double gamma, polyak, target_entropy;
    int32_t target_entropy_auto; /* 0 means minus the number of actions */
    int32_t temperature;         /* TEMPERATURE_… */
    double alpha;                /* the first temperature */
    int32_t rate_schedule;       /* SCHEDULE_… */
    int64_t schedule_steps;      /* 0: those of the run */
    double log_std_low, log_std_high;
    double noise_beta;
    int64_t noise_chunk, noise_max_period; /* chunk 0: one per episode */
    double action_scale, reward_scale;     /* on movement primitives */
} off_policy_settings;

enum { TEMPERATURE_AUTO = 0, TEMPERATURE_FIXED = 1 };

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

/*
 * Length of the rates' schedule in environment steps, an iteration having so many; 0: rates are
 * constant. Of the run as it begins: checkpoints keep it.
 */
int64_t off_policy_schedule(const settings *s, int64_t steps_per_iteration);
/* Rates when `done` of these are over: both learning rates fall to 0. */
sac_rates off_policy_rates_at(const sac_rates *first, int64_t done, int64_t length);
/* The length in a checkpoint, where there is a schedule. */
tce_status off_policy_save_schedule(tce_store *store, int64_t length);
tce_status off_policy_load_schedule(const tce_store *store, int64_t *length);

/* Rounds of an iteration, of this many environment steps each. */
int64_t off_policy_rounds(const settings *s, int64_t steps);

#endif
