/*
 * Running a trained policy: the newest policy of a run folder, its primitive, and environments of
 * its task.
 */
#ifndef TRAINER_POLICY_RUNNER_H
#define TRAINER_POLICY_RUNNER_H

#include "collect/collect.h"
#include "tools/files.h"

/*
 * Collections of training count iterations from 0; those of policy runners are beyond all of them.
 */
#define POLICY_RUNNER_COLLECTION ((uint64_t)1 << 40)

typedef struct policy_runner {
    settings s;
    task t;
    const task *given;    /* NULL, or what the caller has opened: t is a copy of it */
    char path[FILE_PATH]; /* of the policy file */
    tce_store *store;     /* its content */
    agent agent;          /* of the store */
    memory arrays;        /* of the episodes */
    episodes ep;          /* of the last policy_runner_run */
} policy_runner;

/*
 * Reads config.yaml and policy.safetensors of a run folder, or another policy in it that is named. p->s may be changed afterwards (seed).
 * library: the task library that the command line names, or NULL; one that only config.yaml names
 * is not loaded. given: the task itself, which outlives the runner, or NULL. policy_runner_close
 * also after a failure. TCE_E_NOT_FOUND: not a run folder, or nothing trained yet.
 */
tce_status policy_runner_load(policy_runner *p, const char *run,
                              const settings_table *const *methods, const char *library,
                              const task *given);
/*
 * Creates policy, primitive and environments for n_episodes. TCE_E_SHAPE, TCE_E_VALUE: the file's
 * parts do not fit each other or config.yaml, or the task has changed since.
 */
tce_status policy_runner_create(policy_runner *p, int32_t n_episodes, tce_pool *pool);
void policy_runner_close(policy_runner *p);

/* Called after each round of environments: how many of all episodes have been played. */
typedef void (*policy_runner_played)(void *context, size_t done, size_t total);

/*
 * Episodes with the mean policy on resets that training never saw. The same seed gives the same
 * episodes. played: NULL, or told how far it is.
 */
tce_status policy_runner_run(policy_runner *p, policy_runner_played played, void *context);

#endif
