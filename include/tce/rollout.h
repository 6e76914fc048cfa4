/*
 * rollout: many environments of one task on the thread pool. Desired paths or actions go in, transitions come out; it knows no policy.
 *
 * Environment i draws episode k from the random stream (seed, purpose, i, k), whatever thread runs it. A fault in one environment is reported with
 * its index and loses nothing of the others. Every environment is reset at the start of an iteration, then run.
 */
#ifndef TCE_ROLLOUT_H
#define TCE_ROLLOUT_H

#include <tce/env.h>

TCE_BEGIN_C

typedef struct tce_rollout tce_rollout;

/* FAIL: a fault makes the call return its status. DROP: the episode is marked as dropped (status[i] != 0) and the call goes on. */
enum { TCE_ROLLOUT_FAIL = 0, TCE_ROLLOUT_DROP = 1 };

typedef struct tce_rollout_options {
    size_t struct_size;
    const tce_env_vtable *vtable; /* must outlive the handle */
    void *user;                   /* given to vtable->create */
    const char *settings;         /* given to vtable->create; copied */
    uint64_t seed;
    uint64_t purpose;             /* keeps training and evaluation streams apart */
    int32_t n_envs;               /* 1 */
    int32_t on_fault;             /* TCE_ROLLOUT_FAIL */
    tce_pool *pool;               /* NULL */
} tce_rollout_options;

TCE_API void tce_rollout_options_init(tce_rollout_options *options, size_t struct_size);
/* Creates the environments too. TCE_E_ENV and what the table returns, with the environment's index.   Since 0.1. */
TCE_API TCE_NODISCARD tce_status tce_rollout_create(const tce_rollout_options *options, const tce_hooks *hooks, tce_rollout **out);
TCE_API void tce_rollout_free(tce_rollout *rollout);

TCE_API size_t tce_rollout_num_envs(const tce_rollout *rollout);
/* The task's spec; lives as long as the handle. */
TCE_API const tce_env_spec *tce_rollout_spec(const tce_rollout *rollout);

/* Status of environment i in the last call, and its message ("" when fine).   Since 0.1. */
TCE_API tce_status tce_rollout_status(const tce_rollout *rollout, size_t i);
TCE_API const char *tce_rollout_message(const tce_rollout *rollout, size_t i);

/*
 * Starts episode `episode` in the first n environments: out_obs [n, O], out_pos, out_vel [n, D].
 * The episode number keys the random stream; the caller counts it up.   No allocation of its own.   Since 0.1.
 */
TCE_API TCE_NODISCARD tce_status tce_rollout_reset(tce_rollout *rollout, size_t n, uint64_t episode, double *out_obs, double *out_pos, double *out_vel);

/* Where tce_rollout_run writes; any pointer but rewards may be NULL. */
typedef struct tce_rollout_paths {
    size_t struct_size;
    double *obs;       /* [n, T+1, O]: row 0 is written by the caller's reset, rows 1 … T here */
    double *rewards;   /* [n, T] */
    uint8_t *dones;    /* [n, T]: terminated or truncated */
    uint8_t *events;   /* [n, T] */
    int32_t *lengths;  /* [n]: steps taken; after an early end rewards are 0, dones 1 and the last observation is repeated */
    double *metrics;   /* [n, M], after the last step */
} tce_rollout_paths;

TCE_API void tce_rollout_paths_init(tce_rollout_paths *paths, size_t struct_size);

/*
 * Runs the episodes of the last reset along desired paths pos, vel [n, T, D], whole episodes on the pool. Dropped episodes have length 0, rewards 0.
 * TCE_E_STATE before reset.  TCE_E_ENV_NAN, TCE_E_ENV: see on_fault.   Since 0.1.
 */
TCE_API TCE_NODISCARD tce_status tce_rollout_run(tce_rollout *rollout, size_t n, size_t T, const double *pos, const double *vel, const tce_rollout_paths *out);

/*
 * One step of the first n environments with raw actions [n, n_action] (step-based methods); no automatic reset. out_obs [n, O],
 * out_results [n].   TCE_E_UNSUPPORTED: the task has no step_action.   Since 0.1.
 */
TCE_API TCE_NODISCARD tce_status tce_rollout_step(tce_rollout *rollout, size_t n, const double *actions, double *out_obs, tce_env_result *out_results);

/* Resets environment i alone, to its episode number `episode`. Rows as in tce_rollout_reset, of this environment only. */
TCE_API TCE_NODISCARD tce_status tce_rollout_reset_one(tce_rollout *rollout, size_t i, uint64_t episode, double *out_obs, double *out_pos, double *out_vel);

/* Metrics of the first n environments, [n, M]. */
TCE_API TCE_NODISCARD tce_status tce_rollout_metrics(tce_rollout *rollout, size_t n, double *out);

/* The instance behind environment i, for rendering and state injection. */
TCE_API void *tce_rollout_instance(tce_rollout *rollout, size_t i);

/* Rewards moved to the deciding event [tasks 1.7], in place: rewards [E, T], events [E, T].   No allocation.   Since 0.1. */
TCE_API void tce_rewards_to_event(size_t E, size_t T, const uint8_t *events, double *rewards);

TCE_END_C

#endif
