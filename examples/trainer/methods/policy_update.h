/*
 * What TCE and BBRL share: the policy with its trust region and one way to update it [TCE, one
 * iteration, step 7]. They differ in the likelihood, which a callback gives.
 */
#ifndef TRAINER_POLICY_UPDATE_H
#define TRAINER_POLICY_UPDATE_H

#include "methods/methods.h"

/*
 * A policy, its projection, and the arrays of an update. n_factors is 1 when the covariance is
 * shared, else E.
 */
typedef struct policy_learner {
    tce_policy *policy;
    tce_trpl *trpl;
    size_t E, P, n_factors;
    double initial_entropy;     /* H_0 of the entropy schedule; NaN before the first iteration */
    double *mean, *L;           /* [E, P], [n_factors, P, P]: the network's own */
    double *proj_mean, *proj_L; /* the same, projected */
    double *d_mean, *d_L;
    double *entropy; /* [n_factors] */
} policy_learner;

tce_status policy_learner_create(policy_learner *pl, const settings *s, tce_pool *pool,
                                 size_t n_inputs, size_t P, size_t max_batch);
/* Bytes that it will take. */
tce_status policy_learner_bytes(const settings *s, tce_pool *pool, size_t n_inputs, size_t P,
                                size_t max_batch, double *out);
void policy_learner_free(policy_learner *pl);
tce_status policy_learner_save(const policy_learner *pl, tce_store *store);
tce_status policy_learner_load(policy_learner *pl, const tce_store *store);

/* Surrogate loss of (mean [E, P], L [n_factors, P, P]) and its gradients, overwritten. */
typedef tce_status (*surrogate)(void *context, const double *mean, const double *L,
                                tce_segment_stats *stats, double *d_mean, double *d_L);

/*
 * The policy epochs of iteration i: predict, project against (old_mean, old_L), surrogate,
 * gradients back, Adam; afterwards "set variance". inputs [E, O_net]. Reports losses as means over
 * the epochs, entropy, distances and the rest of the last one.
 */
tce_status policy_learner_update(policy_learner *pl, const settings *s, int64_t i,
                                 const double *inputs, const double *old_mean, const double *old_L,
                                 surrogate loss, void *context, metrics *m);

#endif
