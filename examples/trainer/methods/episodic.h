/*
 * An episodic learner: primitive, environments for training and evaluation, critic, policy. TCE and
 * BBRL add their own arrays in `own` and say how an iteration goes; the rest of their method tables
 * is here.
 */
#ifndef TRAINER_EPISODIC_H
#define TRAINER_EPISODIC_H

#include "methods/methods.h"
#include "methods/policy_learner.h"
#include "tools/memory.h"

struct learner {
    settings s;
    memory arrays; /* all but those of handles */
    tce_mp *mp;
    tce_critic *critic;
    policy_learner policy;
    episodes train, test;
    double *returns;      /* [E] undiscounted, before any moving of rewards */
    double *test_returns; /* [E of test] */
    void *own;            /* the method's, from arrays */
};

/* How the parts of a method differ. */
typedef struct episodic_options {
    int32_t normalise; /* TCE_CRITIC_… of the critic */
    int step_values;   /* the critic judges every state, not only the first of each episode */
    /* Counts the memory of the method's own data, for P parameters. */
    tce_status (*measure)(const learner *l, tce_pool *pool, size_t P, memory *m);
} episodic_options;

tce_status episodic_create(const settings *s, const task *t, tce_pool *pool,
                           const episodic_options *options, learner **out);
/* Frees all but the handles in `own`. */
void episodic_destroy(learner *l);

/* Step 1 of iteration i, with its report. hook gets the learner. */
tce_status episodic_collect(learner *l, int64_t i, after_round hook, metrics *m, timings *spent);

/* The critic epochs of iteration i on n rows. */
tce_status episodic_train_critic(learner *l, int64_t i, size_t n, const double *inputs,
                                 const double *targets, metrics *m);

/* Entries of a method table. */
tce_status episodic_evaluate(learner *l, uint64_t number, metrics *m, timings *spent);
tce_status episodic_save(const learner *l, tce_store *store);
tce_status episodic_load(learner *l, const tce_store *store);
tce_status episodic_export(const learner *l, tce_store *store);

#endif
