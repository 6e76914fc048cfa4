/*
 * Minibatch updates of step-based methods, on what a rollout left behind: of PPO [rivals 2.2],
 * which gSDE shares, and of a value network alone.
 */
#ifndef TRAINER_STEP_UPDATE_H
#define TRAINER_STEP_UPDATE_H

#include <tce/tce.h>

#include "methods/step_policy.h"
#include "methods/value_loss.h"
#include "tools/memory.h"

/* Samples of a rollout; a minibatch is a list of their numbers. */
typedef struct step_samples {
    size_t O, A;
    const double *obs;        /* [*, O] as the networks see them */
    const double *actions;    /* [*, A] as they were drawn */
    const double *log_prob;   /* [*] of the rollout's policy, as the two below of its networks */
    const double *values;     /* [*] */
    const double *advantages; /* [*] */
    const double *returns;    /* [*] */
    const double *means;      /* [*, A] of the rollout's policy, for TRPL */
    const double *deviations; /* [A] */
} step_samples;

typedef struct step_update_options {
    double ratio_clip;  /* > 0 */
    double critic_clip; /* of values around the rollout's; 0: none */
    double value_coefficient, entropy_coefficient;
    double max_norm;              /* of all gradients together; 0: none */
    int32_t normalise_advantages; /* over each minibatch */
    int32_t apart; /* policy and value network are two items of one call of the pool */
    tce_adam_options policy_adam, critic_adam;
} step_update_options;

/* What one minibatch found. */
typedef struct step_report {
    double policy_loss, value_loss, entropy, gradient_norm, clip_fraction, approx_kl;
} step_report;

/* Networks, which are the caller's, and the arrays of a minibatch. */
typedef struct step_update {
    step_policy *policy;
    tce_net *critic;
    tce_pool *pool;
    size_t O, A;
    double *obs, *actions;                                     /* [M, O], [M, A] */
    double *log_prob, *old_log_prob, *advantages, *d_log_prob; /* [M] */
} step_update;

void step_update_take(step_update *u, memory *m, size_t max_rows, size_t O, size_t A);

/* Loss and gradients of n samples `rows`, which wait in the networks. */
tce_status step_update_gradient(step_update *u, const step_samples *s, size_t n,
                                const uint32_t *rows, const step_update_options *o,
                                step_report *out);
/* The same, the clip of the joint norm, and Adam. */
tce_status step_update_run(step_update *u, const step_samples *s, size_t n, const uint32_t *rows,
                           const step_update_options *o, step_report *out);

/*
 * Cuts of a permutation of n samples: part k of n_parts, the first (n mod n_parts) one longer; or,
 * with a batch size, parts of that size and a shorter last one.
 */
typedef struct minibatches {
    size_t n, count, size; /* size 0: equal parts */
} minibatches;
minibatches minibatches_of(size_t n, size_t count, size_t size);
/* Where part k begins; k = count: n. */
size_t minibatch_begin(const minibatches *m, size_t k);

#endif
