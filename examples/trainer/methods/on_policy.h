/*
 * What PPO, gSDE and step-based TRPL are made of: a Gaussian over actions, a value network, running
 * normalisers, and a rollout of S steps in N environments that continues where the last one
 * stopped. A method adds its update.
 *
 * Samples of a rollout are numbered environment * S + step.
 */
#ifndef TRAINER_ON_POLICY_H
#define TRAINER_ON_POLICY_H

#include "collect/stepping.h"
#include "methods/methods.h"
#include "methods/step_update.h"
#include "methods/time_limit.h"
#include "methods/trpl_step.h"

/*
 * Settings of these methods, in `own`; those of groups that others use too are where they always
 * are.
 */
typedef struct on_policy_settings {
    int32_t steps;      /* S */
    int32_t time_limit; /* TIME_LIMIT_… */
    int32_t normalise_observations, normalise_rewards;
    double observation_clip, reward_clip; /* 0: none */
    double return_discount;               /* of those that rewards are normalised by; 0: gamma */
    double initial_std, min_std;
    double policy_rate, critic_rate, adam_epsilon;
    int32_t rate_schedule; /* SCHEDULE_… */
    int32_t epochs, critic_epochs;
    int32_t minibatches, batch_size; /* batch_size > 0 decides */
    double ratio_clip, critic_clip, clip_last;
    int32_t clip_schedule; /* SCHEDULE_… */
    double value_coefficient, entropy_coefficient, max_norm;
    int32_t normalise_advantages;              /* ADVANTAGES_… */
    int32_t sde_every, spread, full_std;       /* of gSDE */
    double mean_bound, cov_bound, coefficient; /* of TRPL */
    int32_t projection, set_variance;
    int64_t schedule_steps; /* length of the schedules in environment steps; 0: that of the run */
} on_policy_settings;

/* Of a number over the run: as it is; to 0; over the first quarter to clip_last. */
enum { SCHEDULE_CONSTANT = 0, SCHEDULE_LINEAR = 1, SCHEDULE_FIRST_QUARTER = 2 };
enum { ADVANTAGES_RAW = 0, ADVANTAGES_MINIBATCH = 1, ADVANTAGES_ROLLOUT = 2 };

/* Rows of these settings, in groups by purpose. A method lists those that it has. */
extern const settings_group ON_POLICY_COLLECT, ON_POLICY_NORMALISE, ON_POLICY_CRITIC_EPOCHS;
extern const settings_group ON_POLICY_POLICY, ON_POLICY_CRITIC, ON_POLICY_UPDATE, ON_POLICY_CLIP;
extern const settings_group ON_POLICY_NORM;
extern const settings_group ON_POLICY_NOISE, ON_POLICY_SOFTPLUS, ON_POLICY_PROJECTION;

const on_policy_settings *on_policy_settings_of(const settings *s);

/* Phases of an iteration, and numbers that all of these methods log. */
enum { STEP_PHASE_SIMULATION, STEP_PHASE_ACTING, STEP_PHASE_UPDATE };
extern const char *const ON_POLICY_PHASES[];
extern const char *const ON_POLICY_COLUMNS[];

/*
 * Where the numbers come from that a rollout and its updates draw. Those of a run are functions of
 * its seed and of what they are for; a test has others.
 */
typedef struct on_policy_draws {
    void *context;
    /* standard normals of step `step` of iteration i */
    void (*normals)(void *context, int64_t i, int64_t step, size_t n, double *out);
    /*
     * order of samples in epoch `epoch` of iteration i; what: 0 policy (and critic), 1 critic alone
     */
    void (*permutation)(void *context, int64_t i, int32_t what, int32_t epoch, size_t n,
                        uint32_t *out);
} on_policy_draws;

/* One rollout, as the updates see it; samples number * S + step. */
typedef struct step_rollout {
    double *obs;                  /* [N, S, O] normalised */
    double *actions;              /* [N, S, A] as drawn */
    double *log_prob;             /* [N, S] */
    double *values;               /* [N, S] */
    double *rewards;              /* [N, S] normalised, with what a time limit adds */
    uint8_t *ends;                /* [N, S] */
    uint8_t *lost;                /* [N, S] steps that are not transitions */
    double *advantages, *returns; /* [N, S] */
    double *means;                /* [N, S, A] of the rollout's policy, for TRPL */
    double *deviations;           /* [A] */
    size_t n_valid;
    uint32_t *valid; /* [n_valid] samples that are not lost */
} step_rollout;

typedef struct on_policy on_policy;

/* How a method updates: after rollout i, out [n_own] as its own columns. */
typedef struct on_policy_way {
    tce_status (*update)(on_policy *l, int64_t i, double *out);
    size_t n_own; /* columns of the method, after the shared ones */
    const char *const *own;
    int32_t spread;    /* TCE_POLICY_… of deviations */
    int32_t gsde;      /* state-dependent noise */
    int32_t projected; /* a trust region around the rollout's policy, whose means are kept */
} on_policy_way;

struct on_policy {
    settings s;
    const on_policy_settings *o;
    on_policy_way way;
    memory arrays;
    tce_pool *pool;
    stepping env;
    on_policy_draws draws;
    size_t N, S, O, A, F, n; /* n = N S */
    size_t max_rows;         /* of a network at once: the largest minibatch, or N */
    tce_policy *mean;        /* of the actor */
    gsde noise;              /* with way.gsde */
    step_policy actor;
    tce_net *critic;
    tce_trpl *projection;                    /* with way.projected */
    tce_normaliser *seen_obs, *seen_returns; /* NULL: not normalised */
    step_update update;
    trpl_step trpl; /* with way.projected */
    step_rollout rollout;
    agent agent;

    int64_t iteration;      /* the one under way */
    double acting;          /* seconds that it has spent on networks */
    int64_t step;           /* of the rollout */
    int64_t total_steps;    /* that schedules count to */
    int64_t n_steps;        /* environment steps of the run so far */
    double *obs;            /* [N, O] as the networks see what is acted on */
    double *terminal;       /* [N, O] and values of terminal observations */
    double *next_values;    /* [N] */
    double *discounted;     /* [N] running discounted returns */
    double *normals;        /* [N, A], or [N, F, A] */
    double *matrices;       /* [N, F, A] of gSDE */
    double *all_values;     /* [N, S+1] for the advantages */
    double *work;           /* of the value network */
    uint8_t *mask;          /* [N] */
    size_t *which;          /* [N] */
    uint32_t *order, *rows; /* [n] a permutation, and samples in its order */
    const char **columns;
    size_t n_columns, shared_column, own_column;
};

/*
 * A number after a share `done` of the run, by its schedule: constant; first (1 - done);
 * or from first to last over the first quarter.
 */
double step_schedule(int32_t kind, double first, double last, double done);

/* Steps all environments into l->rollout, advantages and returns included (on_policy_rollout.c). */
tce_status on_policy_roll_out(on_policy *l, int64_t i);

/* Share of the schedules' length that is over, with the rollout just collected. */
double on_policy_done(const on_policy *l);

/* Samples of the rollout in the order of an epoch: l->rows, and how they are cut. */
minibatches on_policy_shuffle(on_policy *l, int64_t i, int32_t what, int32_t epoch);
step_samples on_policy_samples(const on_policy *l);

tce_status on_policy_create(const method_context *c, const on_policy_way *way, void **out);
void on_policy_destroy(void *learner);
size_t on_policy_columns(const void *learner, const char *const **names);
const agent *on_policy_agent(const void *learner);
tce_status on_policy_iterate(void *learner, int64_t i, progress *out);
tce_status on_policy_save(const void *learner, tce_store *store);
tce_status on_policy_load(void *learner, const tce_store *store);

/* What the rows of these methods have alike. */
#define ON_POLICY_ROW                                                                           \
    .phases = ON_POLICY_PHASES, .destroy = on_policy_destroy, .own_columns = ON_POLICY_COLUMNS, \
    .columns = on_policy_columns, .agent = on_policy_agent, .iterate = on_policy_iterate,       \
    .save = on_policy_save, .load = on_policy_load

#endif
