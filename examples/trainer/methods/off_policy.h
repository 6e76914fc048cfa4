/*
 * Off-policy learning step by step: SAC [rivals 5], and PINK [rivals 6], which is SAC with another
 * noise. A round collects some steps of N environments into the replay and then makes some gradient
 * steps; an iteration is a fixed number of rounds.
 *
 * What is drawn comes through callbacks, so that recorded runs can be repeated; those of a run are
 * functions of its seed and of counters, which checkpoints hold.
 */
#ifndef TRAINER_OFF_POLICY_H
#define TRAINER_OFF_POLICY_H

#include "collect/coloured_noise.h"
#include "collect/stepping.h"
#include "methods/methods.h"
#include "methods/replay.h"
#include "methods/sac_update.h"

typedef struct off_policy off_policy;

/* Where the numbers come from that a run draws; NULL functions: from the seed. */
typedef struct off_policy_draws {
    void *context;
    /* actions [N, A] in [-1, 1] of step `step` of the warm-up; steps are those of an environment */
    void (*warm_up)(void *context, int64_t step, size_t n, double *out);
    /* standard normals [N, A] of the policy's actions in this step */
    void (*normals)(void *context, int64_t step, size_t n, double *out);
    /* places [M] of gradient step `update`, and normals [M, A] for o and o' */
    tce_status (*minibatch)(void *context, int64_t update, off_policy *l, replay_place *out_places,
                            double *out_noise, double *out_next_noise);
} off_policy_draws;

typedef struct off_policy_options {
    uint64_t seed;
    int64_t steps;           /* of each environment in a round */
    int32_t gradient_steps;  /* after it */
    int64_t learning_starts; /* environment steps */
    int32_t time_limit_ends; /* a truncated step is an end, and not bootstrapped */
    int32_t coloured;        /* normals are those of `noise` */
    size_t replay_size;
    sac_options sac;            /* n_obs, n_actions, max_rows and pool are filled in */
    sac_rates rates;            /* at the start */
    int64_t schedule_steps;     /* over which they fall to 0; 0: never */
    noise_stream_options noise; /* n_envs, n_actions, seed and purpose are filled in */
} off_policy_options;

struct off_policy {
    off_policy_options o;
    off_policy_draws draws;
    stepping env;
    sac sac;
    replay replay;
    noise_stream noise;
    memory arrays;
    size_t N, O, A, width;  /* of a record: o, a, r, o', end */
    int64_t steps, updates; /* of each environment; gradient steps so far */
    int warming_up;         /* the present round's actions are uniform */
    double *actions;        /* [N, A] in [-1, 1] */
    double *normals;        /* [N, A] */
    double *mean, *std;     /* [N, A] */
    double *records;        /* [N, width] */
    replay_place *places;   /* [M] */
};

/*
 * All but the environments, l->env, which stepping_create has made; its arrays too. off_policy_free
 * also after a failure.
 */
tce_status off_policy_create(off_policy *l, const off_policy_options *options);
void off_policy_free(off_policy *l);
/* Bytes that it will take, environments apart. */
tce_status off_policy_measure(const stepping *env, const off_policy_options *options, memory *m);

/* What a number of rounds brought. */
typedef struct off_policy_sum {
    int64_t n;                 /* gradient steps */
    sac_report report;         /* summed over them */
    double simulation, update; /* seconds */
} off_policy_sum;

/* One gradient step more. */
void off_policy_add(off_policy_sum *sum, const sac_report *report);

/* What a method of the family reports: its columns, NULL behind them, and its phases, likewise. */
enum { OFF_POLICY_COLUMNS = 7 };
extern const char *const OFF_POLICY_COLUMN_NAMES[OFF_POLICY_COLUMNS + 1];
extern const char *const OFF_POLICY_PHASES[];
/* Seconds of the phases, and the columns into `values`: means over the gradient steps, if any. */
void off_policy_report(const off_policy_sum *sum, double *values, progress *out);

/* A round: its steps, then, once there is enough to learn from, its gradient steps. */
tce_status off_policy_round(off_policy *l, off_policy_sum *sum);

/* The two halves of a round, and whether the second one is due. */
tce_status off_policy_collect(off_policy *l, off_policy_sum *sum);
int off_policy_learns(const off_policy *l);
/* One gradient step on a minibatch of the replay. */
tce_status off_policy_learn(off_policy *l, sac_report *out);

/* What a run has counted, in a checkpoint: steps or rounds, and gradient steps. */
tce_status off_policy_save_counters(tce_store *store, int64_t collected, int64_t updates);
tce_status off_policy_load_counters(const tce_store *store, int64_t out_counters[2]);

tce_status off_policy_save(const off_policy *l, tce_store *store);
tce_status off_policy_load(off_policy *l, const tce_store *store);

#endif
