/*
 * rollout: many environments of one task on the thread pool. Desired paths or actions go in,
 * transitions come out; it needs no policy.
 *
 * Every episode has a random stream of its own, so results do not depend on threads: environment i
 * draws episode k from (seed, purpose, first_env + i, k), or from a stream that the caller keys.
 * Step n_steps of the spec ends an episode: where the task has not terminated it there, it is
 * truncated, whether or not the task says so. A fault in one environment is reported with its
 * number, first_env + i, and does not affect the others.
 */
#ifndef TCE_ROLLOUT_H
#define TCE_ROLLOUT_H

#include <tce/env.h>
#include <tce/pool.h>

TCE_BEGIN_C

typedef struct tce_rollout tce_rollout;

/*
 * A fault is a callback's status other than TCE_OK, or NaN or infinity in an observation, position,
 * velocity or reward (TCE_E_ENV_NAN). All other environments of the call still finish and their
 * outputs are valid; the lost one's outputs are replaced, see below.
 * FAIL: the call returns the status and message of the faulty environment with the lowest index.
 * DROP: the call returns TCE_OK; tce_rollout_status tells which environments were lost.
 */
enum { TCE_ROLLOUT_FAIL = 0, TCE_ROLLOUT_DROP = 1 };

typedef struct tce_rollout_options {
    size_t struct_size;
    const tce_env_vtable *vtable; /* must outlive the handle */
    void *user;                   /* given to vtable->create */
    const char *settings;         /* given to vtable->create; not needed afterwards */
    uint64_t seed;
    uint64_t purpose; /* keeps training and evaluation streams apart */
    int32_t n_envs;   /* 1 */
    int32_t on_fault; /* TCE_ROLLOUT_FAIL */
    tce_pool *pool;   /* NULL */
    /* 0; global number of environment 0, where one run's environments are split over handles */
    uint64_t first_env;
} tce_rollout_options;

TCE_API void tce_rollout_options_init(tce_rollout_options *options, size_t struct_size);
/*
 * Also creates the environments, one after the other, and copies the spec of the first. When a
 * callback fails, its status is returned with the environment's index in the message; positive
 * values become TCE_E_ENV. A spec that makes no sense is refused with the status of the check that
 * it fails, and one whose sizes differ from the first one's with TCE_E_ENV. After a failure all
 * environments made so far are destroyed.   Since 0.2.
 */
TCE_API TCE_NODISCARD tce_status tce_rollout_create(const tce_rollout_options *options,
                                                    const tce_hooks *hooks, tce_rollout **out);
TCE_API void tce_rollout_free(tce_rollout *rollout);

/* The task's spec; lives as long as the handle. */
TCE_API const tce_env_spec *tce_rollout_spec(const tce_rollout *rollout);

/*
 * Status of environment i in the last call that worked on it, and its message ("" when fine). A
 * lost environment keeps its status through run, step and metrics until it is reset.   Since 0.2.
 */
TCE_API tce_status tce_rollout_status(const tce_rollout *rollout, size_t i);
TCE_API const char *tce_rollout_message(const tce_rollout *rollout, size_t i);

/*
 * Starts episode `episode` in the first n environments: out_obs [n, O], out_pos, out_vel [n, D];
 * each may be NULL. Rows of lost environments are 0. The episode number keys the random stream; the
 * caller increments it.
 * TCE_E_SHAPE: n too large.  Faults: see on_fault.   No allocation of its own.   Since 0.2.
 */
TCE_API TCE_NODISCARD tce_status tce_rollout_reset(tce_rollout *rollout, size_t n, uint64_t episode,
                                                   double *out_obs, double *out_pos,
                                                   double *out_vel);

/*
 * Starts episodes in n environments at once: environment which[k] (ascending; NULL: k) draws its
 * episode from streams[k], which advances, and row k of the outputs belongs to it. For callers that
 * key episodes in their own way, such as tce_random_start(&streams[k], seed, purpose, index,
 * episode); messages name an episode by the last number of its key.
 * TCE_E_SHAPE: n or an entry of which too large.  TCE_E_VALUE: which is not ascending.  Else as
 * tce_rollout_reset.   Since 0.2.
 */
TCE_API TCE_NODISCARD tce_status tce_rollout_reset_where(tce_rollout *rollout, size_t n,
                                                         const size_t *which, tce_random *streams,
                                                         double *out_obs, double *out_pos,
                                                         double *out_vel);

/*
 * Where tce_rollout_run writes; start it from TCE_INIT(tce_rollout_paths). Any pointer but rewards
 * may be NULL. After an early end rewards are 0, terminated, truncated and events stay as they
 * were, and the last observation is repeated. A lost episode has length 0, rewards 0, terminated 1,
 * truncated 0, events 0, metrics 0, and row 0 of obs repeated.
 */
typedef struct tce_rollout_paths {
    size_t struct_size;
    double *obs; /* [n, T+1, O]: row 0 is the caller's, from reset; rows 1 … T are written here */
    double *rewards;     /* [n, T] */
    uint8_t *terminated; /* [n, T]: the task is over */
    uint8_t *truncated;  /* [n, T]: the time is up */
    uint8_t *events;     /* [n, T] */
    int32_t *lengths;    /* [n]: steps taken */
    double *metrics;     /* [n, M], after the last step; not checked for NaN */
} tce_rollout_paths;

/*
 * Runs the episodes of the last reset along desired paths pos, vel [n, T, D], each until it ends or
 * for T steps, at most n_steps of the spec. Each item of the pool is a whole episode.
 * TCE_E_UNSUPPORTED: the task has no degrees of freedom or no step.  TCE_E_STATE: an environment
 * was not reset since its last run or the end of its episode.  TCE_E_SHAPE: n or T.
 * TCE_E_VALUE: NaN or infinity in a path.  Faults: see on_fault. No allocation of its own.   Since
 * 0.2.
 */
TCE_API TCE_NODISCARD tce_status tce_rollout_run(tce_rollout *rollout, size_t n, size_t T,
                                                 const double *pos, const double *vel,
                                                 const tce_rollout_paths *out);

/*
 * One step of the first n environments with raw actions [n, n_action] (step-based methods); no
 * automatic reset. out_obs [n, O], out_results [n]. A lost environment is terminated with reward 0
 * and its last good observation, until it is reset. An environment whose episode is over is not
 * stepped: until it is reset, its reward is 0, and its flags and observation are those of its last
 * step.
 * TCE_E_UNSUPPORTED: the task has no step_action.  TCE_E_STATE: an environment was never reset, or
 * tce_rollout_run took it to its end.  TCE_E_SHAPE, TCE_E_VALUE as in run.  Faults: see on_fault.
 * No allocation of its own.   Since 0.2.
 */
TCE_API TCE_NODISCARD tce_status tce_rollout_step(tce_rollout *rollout, size_t n,
                                                  const double *actions, double *out_obs,
                                                  tce_env_result *out_results);

/*
 * Metrics of the first n environments, [n, M]; 0 for lost ones. Does nothing when M is 0.   Since
 * 0.2.
 */
TCE_API TCE_NODISCARD tce_status tce_rollout_metrics(tce_rollout *rollout, size_t n, double *out);

/*
 * The instance behind environment i, for rendering and state injection; NULL when i is too large.
 * Since 0.2.
 */
TCE_API void *tce_rollout_instance(tce_rollout *rollout, size_t i);

/*
 * The states of the first n environments, [n, S], for checkpoints; S = tce_rollout_n_state, 0 when
 * the task has none. A row is the task's own state, as its get_state gives it, followed by a few
 * numbers that say where the environment is in its episode. After set_states, environments continue
 * as if they had never been interrupted, in mid-episode too; out_obs [n, O] (or NULL) gets their
 * observations. An environment that was lost must be reset after its state was set.
 * TCE_E_SHAPE: n too large.  TCE_E_UNSUPPORTED: S is 0.  TCE_E_ENV: environments with different S.
 * TCE_E_VALUE: the numbers do not come from tce_rollout_get_states. When a callback fails, its
 * status is returned with the environment's index in the message, and the environments before it
 * have their new states.   No allocation of its own.   Since 0.2.
 */
TCE_API size_t tce_rollout_n_state(const tce_rollout *rollout);
TCE_API TCE_NODISCARD tce_status tce_rollout_get_states(tce_rollout *rollout, size_t n,
                                                        double *out);
TCE_API TCE_NODISCARD tce_status tce_rollout_set_states(tce_rollout *rollout, size_t n,
                                                        const double *states, double *out_obs);

TCE_END_C

#endif
