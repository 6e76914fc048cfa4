/*
 * A minibatch update of step-based TRPL [rivals 4]: the update of the methods with paths
 * (policy_update.h), where a row is a state and its parameters are the action. All states share
 * their deviations, and each has a trust region of its own for its mean.
 */
#ifndef TRAINER_TRPL_STEP_H
#define TRAINER_TRPL_STEP_H

#include "methods/policy_update.h"
#include "methods/step_update.h"

typedef struct trpl_step {
    policy_update update; /* its policy and projection are the caller's, both diagonal */
    size_t O, A;
    double *obs, *actions, *old_mean;                          /* [M, O], [M, A] */
    double *old_log_prob, *advantages, *log_prob, *d_log_prob; /* [M] */
    double *work;                                              /* of tce_gauss */
} trpl_step;

void trpl_step_take(trpl_step *t, memory *m, size_t max_rows, size_t O, size_t A);

/*
 * Loss and gradients of n samples, which wait in the policy; s->means and s->deviations are the
 * rollout's. The projection is that of these samples then.
 */
tce_status trpl_step_gradient(trpl_step *t, const step_samples *s, size_t n, const uint32_t *rows,
                              const policy_update_options *o, int normalise_advantages,
                              policy_gradient *out);

/*
 * Set variance: the policy takes over the projected deviations. After the last gradient of n
 * samples, whose arrays are still there.
 */
tce_status trpl_step_settle(trpl_step *t, size_t n, const step_samples *s,
                            const policy_update_options *o);

#endif
