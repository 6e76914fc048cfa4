/*
 * An episodic learner: an agent with its primitive, environments to train in, critic, policy. TCE
 * and BBRL add their own arrays in `own` and say how an iteration goes; the rest of their method
 * tables is here.
 */
#ifndef TRAINER_EPISODIC_H
#define TRAINER_EPISODIC_H

#include "methods/critic.h"
#include "methods/methods.h"
#include "methods/policy_learner.h"
#include "tools/memory.h"

/* Phases of an iteration, and their names. */
enum { PHASE_SIMULATION, PHASE_CRITIC, PHASE_POLICY };
extern const char *const EPISODIC_PHASES[];
extern const char *const EPISODIC_COLUMNS[];

typedef struct learner {
    settings s;
    memory arrays; /* all but those of handles */
    tce_mp *mp;
    critic critic;
    policy_learner policy;
    agent agent; /* of mp and policy */
    episodes train;
    const char **columns; /* [n_columns]: those of the episodes, dropped, steps, critic, policy */
    size_t n_columns;
    size_t critic_column, policy_column, own_column; /* where theirs begin */
    void *own;                                       /* the method's, from arrays */
} learner;

/* How the parts of a method differ; all zero for one that adds nothing. */
typedef struct episodic_options {
    int step_values; /* the critic judges every state, not only the first of each episode */
    /* Refuses settings that make no sense for a task; NULL: primitive_check does. */
    tce_status (*check)(const settings *s, const tce_env_spec *spec);
    /* Counts the memory of the method's own data, for P parameters; NULL: it has none. */
    tce_status (*measure)(const learner *l, tce_pool *pool, size_t P, memory *m);
    const char *const *columns; /* names of its own numbers, up to NULL; or NULL */
} episodic_options;

tce_status episodic_create(const method_context *c, const episodic_options *options, learner **out);

/* Step 1 of iteration i, with its report. hook gets the learner. */
tce_status episodic_collect(learner *l, int64_t i, after_round hook, progress *out);

/* The critic epochs of iteration i on n rows. */
tce_status episodic_train_critic(learner *l, int64_t i, size_t n, const double *inputs,
                                 const double *targets, progress *out);
/* The policy epochs of iteration i. */
tce_status episodic_train_policy(learner *l, int64_t i, surrogate loss, void *likelihood,
                                 progress *out);

/* Frees all but the handles in `own`. */
void episodic_destroy(void *learner);
size_t episodic_columns(const void *learner, const char *const **names);
const agent *episodic_agent(const void *learner);
tce_status episodic_save(const void *learner, tce_store *store);
tce_status episodic_load(void *learner, const tce_store *store);

/* What the rows of these methods have alike. */
#define EPISODIC_ROW                                                                             \
    .phases = EPISODIC_PHASES, .plans = 1, .columns = episodic_columns, .agent = episodic_agent, \
    .save = episodic_save, .load = episodic_load

#endif
