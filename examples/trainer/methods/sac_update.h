/*
 * One gradient step of soft actor-critic [rivals 5.2]: temperature, critics, actor, targets, in
 * this order, on a minibatch with the noise of its actions given.
 *
 *     L_alpha = -log alpha mean(log pi + H),   y = r + (1 - end) gamma (min_j Q'_j - alpha log pi')
 *     L_Q = 1/2 sum_j mean (Q_j - y)^2,        L_pi = mean(alpha log pi - min_j Q_j)
 *
 * The actor is a squashed Gaussian with its mean and log sigma as two heads on one body; two
 * critics see [o, a], and where there is something to bootstrap from, targets follow them. No
 * settings, no files, no allocation after sac_create. The critics are two items of one call of the
 * pool.
 *
 * Shapes: M rows of a minibatch, O inputs of the actor, A actions.
 */
#ifndef TRAINER_SAC_UPDATE_H
#define TRAINER_SAC_UPDATE_H

#include <tce/tce.h>

#include "tools/memory.h"

typedef struct sac_options {
    int32_t n_obs, n_actions;
    int32_t n_hidden, n_critic_hidden;
    const int32_t *hidden, *critic_hidden;
    int32_t activation, critic_activation;
    int32_t precision, start;
    double log_std_low, log_std_high;
    double first_log_alpha;
    int32_t batch_size; /* M */
    int32_t max_rows;   /* most observations that the actor judges at once */
    int32_t bootstrap;  /* 0: every transition ends, there are no targets */
    tce_pool *pool;
} sac_options;

/* What an update needs to know. */
typedef struct sac_rates {
    tce_adam_options actor, critic; /* critic: of log alpha too */
    double gamma, polyak, target_entropy;
    int32_t fixed_alpha; /* the temperature does not learn */
} sac_rates;

/* A minibatch, and the standard normals of its actions. Actions are in [-1, 1]. */
typedef struct sac_batch {
    double *obs;        /* [M, O] */
    double *actions;    /* [M, A] */
    double *rewards;    /* [M] */
    double *next_obs;   /* [M, O]; unused without bootstrap, as is all that follows but noise */
    double *ends;       /* [M] 0 or 1 */
    double *next_noise; /* [M, A] */
    double *noise;      /* [M, A] */
} sac_batch;

typedef struct sac {
    tce_policy *actor;
    tce_net *critic[2], *target[2]; /* targets NULL without bootstrap */
    double log_alpha, first_log_alpha;
    double alpha_moments[2]; /* Adam's, of log alpha */
    uint64_t n_alpha_steps;
    size_t M, O, A;
    tce_pool *pool;

    sac_batch batch;                                 /* arrays for the caller to fill */
    double *mean, *std, *d_mean, *d_std, *d_actions; /* [M, A] */
    double *policy_actions, *log_prob;               /* [M, A], [M] at o */
    double *next_actions, *next_log_prob;            /* at o' */
    double *inputs, *next_inputs, *policy_inputs;    /* [M, O + A] */
    double *y, *d_log_prob;                          /* [M] */
    double *q[2], *next_q[2], *policy_q[2], *d_q[2]; /* [M] */
    double *d_inputs[2];                             /* [M, O + A] */
    double *work[2];                                 /* of targets' evaluation */
    double *gauss_work;
} sac;

/* Losses and means of an update. */
typedef struct sac_report {
    double alpha; /* before its step, as all losses have it */
    double alpha_loss, critic_loss, actor_loss;
    double entropy; /* -mean log pi */
    double value;   /* mean of the first critic */
} sac_report;

/*
 * Handles, then the arrays, which are m's. Networks are without weights: sac_start. sac_free also
 * after a failure.
 */
tce_status sac_create(sac *s, const sac_options *options, memory *m);
/* Counts in m what it will take. */
tce_status sac_measure(const sac_options *options, memory *m);
void sac_free(sac *s);

/* First weights: the actor's from one stream, the critics', drawn apart, from another. */
tce_status sac_start(sac *s, tce_random *actor, tce_random *critics);

/* One gradient step on s->batch. */
tce_status sac_update(sac *s, const sac_rates *rates, sac_report *out);

/*
 * What a transition stores as its end [rivals 1.3]: terminated, whatever truncated says; with
 * time_limit_ends the time limit is an end too.
 */
static inline double sac_end(int terminated, int truncated, int time_limit_ends)
{
    return terminated || (time_limit_ends && truncated) ? 1.0 : 0.0;
}

/*
 * The parts of it that have no networks. y [n] from the targets' values and the log-densities at
 * o'; the step of log alpha, from its loss's gradient, which is returned.
 */
void sac_target(size_t n, const double *const next_q[2], const double *next_log_prob,
                const double *rewards, const double *ends, double gamma, double alpha, double *out);
tce_status sac_temperature(sac *s, const sac_rates *rates, size_t n, const double *log_prob,
                           double *out_loss, double *out_gradient);

/* Everything that a checkpoint needs, under "<prefix>.…". */
tce_status sac_save(const sac *s, tce_store *store, const char *prefix);
tce_status sac_load(sac *s, const tce_store *store, const char *prefix);

#endif
