/*
 * Environments stepped by raw actions, all together: once per step the learner is called back for
 * all of them.
 *
 *     choose   observations [N, O] -> actions [N, A]
 *     step     every environment, and where an episode ended or was lost its reset, in one pool
 *              item
 *     seen     what the step brought
 *
 * Collection continues across iterations: stepping_run takes up the episodes where they are.
 * Episode k of environment i draws from the stream (seed, purpose, i, k), where k counts that
 * environment's own episodes, so that nothing depends on threads or on when other environments end.
 *
 * Ranks share the environments, and gather after each step what it brought: `choose` and `seen` are
 * called on all ranks with the same rows, which are those of one process.
 */
#ifndef TRAINER_STEPPING_H
#define TRAINER_STEPPING_H

#include "collect/collect.h"

typedef struct stepping stepping;

/*
 * What one step brought. A step that was lost to a fault is not a transition: it has reward 0,
 * terminated 1, and `reached` repeats the observation before. Whatever led to that observation ends
 * there; the lost step itself is left out (masked by on-policy methods, flagged in a replay by
 * others).
 */
typedef struct stepping_seen {
    const double *obs;         /* [N, O] that were acted on */
    const double *actions;     /* [N, A] */
    const double *rewards;     /* [N] */
    const uint8_t *terminated; /* [N] */
    const uint8_t *truncated;  /* [N]; both may be set, and then the step counts as terminated */
    const uint8_t *lost;       /* [N] */
    const double *reached;     /* [N, O] before any reset: at an end the terminal observation */
    const double *next;        /* [N, O] acted on next: after an end the next episode's first one */
} stepping_seen;

typedef struct stepping_learner {
    void *context;
    tce_status (*choose)(void *context, const stepping *st, const double *obs, double *out_actions);
    tce_status (*seen)(void *context, const stepping *st, const stepping_seen *what); /* or NULL */
} stepping_learner;

typedef struct stepping_options {
    int32_t n_envs;
    uint64_t purpose; /* of the environments' streams */
} stepping_options;

struct stepping {
    const tce_env_vtable *vtable;
    const tce_env_spec *spec;
    tce_pool *pool;
    size_t N, O, A, T, M;
    ranks *ranks;      /* or NULL */
    size_t *shares;    /* [ranks + 1] environments that each rank steps */
    size_t begin, end; /* those of this process */
    /*
     * [end - begin], one at least: a rollout of one environment each, so that an item has its own
     */
    tce_rollout **envs;
    size_t n_envs;
    char task_options[TEXT_SIZE];
    uint64_t seed;
    int begun;      /* all were reset once, or come from a checkpoint */
    uint64_t clock; /* steps since the run began */

    double *obs;       /* [N, O] present observations */
    uint64_t *numbers; /* [N] of the present episodes */
    double *returns;   /* [N] so far, undiscounted */
    int32_t *lengths;  /* [N] steps of the present episodes so far */
    uint8_t *waiting;  /* [N] the last reset failed: the next step is lost and resets again */
    /*
     * [N, T, A] of the present episodes, where the task has no states to continue from; else NULL
     */
    double *taken;

    /* of a step; those of an episode's end hold where `ended` */
    double *actions, *reached, *next, *rewards;
    uint8_t *terminated, *truncated, *lost, *ended;
    double *end_metrics, *end_returns; /* [N, M], [N] */
    int32_t *end_lengths;              /* [N] */

    /* since the last report */
    int64_t n_steps; /* environment steps, those of lost ones among them */
    int64_t n_ended, n_dropped;
    double *sums;       /* [M + 2] of ended episodes, as `names` calls them */
    const char **names; /* [M + 2]: return, the task's metrics, length */
};

/* Creates the environments; they run on the task's pool where it has one. */
tce_status stepping_create(stepping *st, const task *t, const settings *s, tce_pool *pool,
                           const stepping_options *options);
/* The arrays, which are m's to free. */
tce_status stepping_allocate(stepping *st, memory *m);
/* Bytes that they will take. */
double stepping_bytes(const stepping *st);
void stepping_free(stepping *st);

/*
 * Resets all environments at the beginning of a run: *out_fresh (may be NULL) says whether it did,
 * and st->obs has the first observations then. stepping_run calls it too.
 */
tce_status stepping_begin(stepping *st, int *out_fresh);

/*
 * Standard normals for the actions of the present step, to be drawn in `choose`: out [N, A], a
 * function of the seed, the environment and the number of the step.
 */
void stepping_white_noise(const stepping *st, double *out);

/*
 * n_steps steps of all environments. TCE_E_ENV and others: a fault, unless collect.on_fault is
 * drop; then an error only when no environment is left that can be stepped.
 */
tce_status stepping_run(stepping *st, int64_t n_steps, const stepping_learner *learner);

/*
 * Means over the episodes that ended since the last report, as `names` calls them: out [M + 2], NaN
 * when there were none. Counters and sums start at 0.
 */
void stepping_report(stepping *st, double *out);

/*
 * Into a checkpoint and back, under "<name>.…", in mid-episode: from the states of the task, or,
 * where it has none, by the actions since the last reset once more. Once per iteration, after the
 * report. load: TCE_E_STATE: the task does not continue where it was, since it or its options have
 * changed.
 */
tce_status stepping_save(const stepping *st, tce_store *store, const char *name);
tce_status stepping_load(stepping *st, const tce_store *store, const char *name);

#endif
