/*
 * The policy of an episodic method as the settings describe it: its handles, its schedules, and
 * the update of an iteration.
 */
#ifndef TRAINER_POLICY_LEARNER_H
#define TRAINER_POLICY_LEARNER_H

#include "methods/methods.h"
#include "methods/policy_update.h"

typedef struct policy_learner {
    policy_update update; /* with policy and projection, which are owned */
    size_t E, P;
    size_t n_factors;       /* 1 when the covariance is shared, else E */
    double initial_entropy; /* H_0 of the entropy schedule; NaN before the first iteration */
} policy_learner;

/* Arrays are taken from m. policy_learner_free also after a failure. */
tce_status policy_learner_create(policy_learner *pl, const settings *s, tce_pool *pool,
                                 size_t n_inputs, size_t P, size_t max_batch, memory *m);
/* Counts in m what it will take. */
tce_status policy_learner_measure(const settings *s, tce_pool *pool, size_t n_inputs, size_t P,
                                  size_t max_batch, memory *m);
void policy_learner_free(policy_learner *pl);
tce_status policy_learner_save(const policy_learner *pl, tce_store *store);
tce_status policy_learner_load(policy_learner *pl, const tce_store *store);

/* The policy epochs of iteration i, and what they report: out [POLICY_COLUMNS]. */
enum { POLICY_COLUMNS = 9 };
extern const char *const POLICY_COLUMN_NAMES[POLICY_COLUMNS];
tce_status policy_learner_update(policy_learner *pl, const settings *s, int64_t i,
                                 const policy_rows *rows, double *out);

#endif
