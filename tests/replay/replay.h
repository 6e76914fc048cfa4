/*
 * replay: case files in, one verdict a case out. What the families of cases share.
 *
 * A family is one file replay_<family>.c of functions that take a case, compute it through libtce's
 * public API, and compare every expected field; the table in replay.c says which kind goes to which
 * function. Everything here that cannot continue (a field is missing or malformed, a call of the
 * library fails) ends the case by a jump back to its start, so a replay function reads as a
 * straight line. What a case allocates or creates is kept in its list and released when it ends,
 * however it ends.
 */
#ifndef TCE_REPLAY_H
#define TCE_REPLAY_H

#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include <tce/tce.h>

/*
 * Tolerances of the comparison rule |a - b| <= tol * max(1, max |b|), for gradients |a - b| <= tol
 * * max |b|.
 */
#define TOL_TRAJECTORY 1e-9
#define TOL_NUMBERS 1e-8 /* likelihoods, projections, updates */
#define TOL_GRADIENT 1e-6
#define TOL_RIVALS 1e-10

enum {
    REPLAY_MAX_RANK = 4,
    REPLAY_MAX_SEEN = 64,
    REPLAY_MAX_REASON = 400,
    /*
     * no case needs more numbers in one array; larger ones are refused before memory is asked for
     */
    REPLAY_MAX_NUMBERS = 1 << 26
};

/* Something to be released when the case ends. */
typedef struct replay_kept replay_kept;

typedef struct replay_case {
    const json_t *root; /* the case */
    replay_kept *kept;
    jmp_buf end;                    /* where replay_fail and replay_ok jump to */
    tce_status status;              /* of the call that failed, TCE_OK otherwise */
    char reason[REPLAY_MAX_REASON]; /* why it failed; "" so far */

    /*
     * the comparison nearest to its limit, or farthest beyond: difference as the tolerance measures
     * it
     */
    size_t n_compared;
    double used; /* difference / tolerance */
    double difference;
    double tolerance;
    const char *field;

    /* fields of root that were read or compared */
    const char *seen[REPLAY_MAX_SEEN];
    size_t n_seen;
} replay_case;

typedef void (*replay_function)(replay_case *c);

/* ---- running --------------------------------------------------------------------------------- */

/* Ends the case as failed. Does not return. */
#if defined(__GNUC__)
__attribute__((noreturn, format(printf, 2, 3)))
#endif
void replay_fail(replay_case *c, const char *format, ...);

/* Ends the case as failed when a call of the library did. */
void replay_ok(replay_case *c, tce_status status);

/* Releases block by destroy when the case ends; NULL is fine. */
void replay_keep(replay_case *c, void *block, void (*destroy)(void *block));
void replay_release(replay_case *c);

/* ---- reading --------------------------------------------------------------------------------- */

/* object[key], NULL when absent or null; and whether that field of the case was ever asked for. */
const json_t *replay_get(replay_case *c, const json_t *object, const char *key);
int replay_was_read(const replay_case *c, const char *key);
const json_t *replay_object(replay_case *c, const json_t *object, const char *key);

double replay_number(replay_case *c, const json_t *object, const char *key);
double replay_number_or(replay_case *c, const json_t *object, const char *key, double otherwise);
int32_t replay_int(replay_case *c, const json_t *object, const char *key, int32_t least,
                   int32_t most);
int32_t replay_int_or(replay_case *c, const json_t *object, const char *key, int32_t otherwise);
/* Whether "time_limit" is "bootstrap" or missing; 0 where it is "terminal". */
int replay_bootstraps(replay_case *c);
/* NULL when it is not there or not a text. */
const char *replay_text(replay_case *c, const json_t *object, const char *key);

/*
 * Lengths of the nested arrays of object[key] into shape [REPLAY_MAX_RANK], ones beyond; returns
 * the rank (0: a number).
 */
size_t replay_shape(replay_case *c, const json_t *object, const char *key, size_t *shape);

/* The n numbers of object[key] in reading order; a missing field or another count ends the case. */
double *replay_array(replay_case *c, const json_t *object, const char *key, size_t n);
/* The same with 0 where the case has null: "does not apply". */
double *replay_array_or_zeros(replay_case *c, const json_t *object, const char *key, size_t n);
int32_t *replay_ints(replay_case *c, const json_t *object, const char *key, size_t n);
uint8_t *replay_flags(replay_case *c, const json_t *object, const char *key, size_t n);

/* Zeros that live as long as the case: n elements of `size` bytes, doubles, integers. */
void *replay_block(replay_case *c, size_t n, size_t size);
double *replay_zeros(replay_case *c, size_t n);
int32_t *replay_zeros_int(replay_case *c, size_t n);

/* ---- comparing ------------------------------------------------------------------------------- */

/* got [n] against object[key], when that is there: limit tol * max(1, max |want|). */
void replay_compare(replay_case *c, const json_t *object, const char *key, size_t n,
                    const double *got, double tol);
/* Limit tol * max(1e-7, max |want|), tol being grad_tolerance of the case or TOL_GRADIENT. */
void replay_compare_gradient(replay_case *c, const json_t *object, const char *key, size_t n,
                             const double *got);
/* The same as replay_compare, against numbers that are already there. */
void replay_compare_with(replay_case *c, const char *key, size_t n, const double *got,
                         const double *want, double tol);
/* Limit tol itself, whatever the size of the numbers. */
void replay_compare_absolute(replay_case *c, const char *key, size_t n, const double *got,
                             const double *want, double tol);
/* The same for one number, where the case has it. */
void replay_compare_number(replay_case *c, const json_t *object, const char *key, double got,
                           double tol);
/*
 * Limit tol * max |want| + 1e-14, tol being the case's "tolerance" or TOL_RIVALS: the rule of the
 * step-based methods' cases, whose arrays are compared by their own size.
 */
void replay_compare_rivals(replay_case *c, const json_t *object, const char *key, size_t n,
                           const double *got);
/* Ends the case unless got and want have the same bytes. */
void replay_same(replay_case *c, const char *what, size_t n, const double *got, const double *want);

/* ---- shared between families ----------------------------------------------------------------- */

/* The primitive of a case's "config", for kind TCE_MP_…, and the options it was made with. */
tce_mp *replay_mp(replay_case *c, int32_t kind, tce_mp_options *out_options);

/*
 * Starts and times of E paths: fields "times", "init_time", "init_pos", "init_vel" with their
 * defaults.
 */
void replay_grid(replay_case *c, size_t E, size_t D, tce_mp_grid *out);

/*
 * Uniform numbers for an environment's reset, one by one; when they run out others follow, and
 * `used` tells.
 */
typedef struct replay_draws {
    const double *values;
    size_t n;
    size_t used;
    int exact; /* the numbers drawn themselves, instead of their places in their ranges */
} replay_draws;

/*
 * An environment of the task library (TCE_TASKS, or bin/libtce_tasks.so beside this program) that
 * lives as long as the case.
 */
typedef struct replay_environment {
    const tce_env_vtable *vtable;
    void *instance;
    tce_env_spec spec;
    size_t n_state;
} replay_environment;

/*
 * settings: of the task, or NULL; draws: NULL, or what its resets take instead of random numbers.
 */
void replay_open_environment(replay_case *c, const char *task, const char *settings,
                             replay_draws *draws, replay_environment *out);
/*
 * Cases of tasks are {"case": what is given, "run": what came out}; their tolerance, and the last
 * step that it holds for.
 */
double replay_task_tolerance(replay_case *c, const json_t *run, size_t *out_last);

/* What drives an episode: raw actions, or a desired path that the task's own controller tracks. */
typedef struct replay_commands {
    size_t n, D;
    const double *actions;   /* [n, D], or NULL */
    const double *pos, *vel; /* [n, D] without actions */
} replay_commands;

/* "actions" of what is given, or "desired_pos" and "desired_vel". */
void replay_read_commands(replay_case *c, const json_t *given, size_t D, replay_commands *out);
/*
 * Step t with them, `step_action` or `step`; *out: what the step before left there, zeros before
 * the first.
 */
void replay_command(replay_case *c, const tce_env_vtable *vtable, void *instance,
                    const replay_commands *commands, size_t t, double *out_obs,
                    tce_env_result *out);

/* A segment handle with its times and pairs set. times [n_grids, T], init_time [n_grids]. */
typedef struct replay_segment_setup {
    const tce_mp *mp;
    size_t E;
    size_t T;
    size_t n_grids;
    const double *times;
    const double *init_time;
    int32_t shared_cov;
    size_t J;
    const int32_t *pairs;
} replay_segment_setup;

tce_segment *replay_segment(replay_case *c, const replay_segment_setup *setup);
/* 1 when all E rows of x [E, n] are the same, else E. */
size_t replay_distinct_rows(size_t E, size_t n, const double *x);

/* "pairs" [J, 2] of the case. */
int32_t *replay_pairs(replay_case *c, size_t *out_J);

/* TCE_NET_… of the case's "activation". */
int32_t replay_activation(replay_case *c);

/* A list of layers {"weight": [out, in], "bias": [out]}. */
typedef struct replay_layers {
    size_t n; /* number of layers */
    size_t n_in;
    size_t n_out;
    int32_t *hidden; /* [n - 1] */
    size_t n_parameters;
    double *parameters; /* layer by layer: weights, then biases */
} replay_layers;

void replay_read_layers(replay_case *c, const json_t *object, const char *key, replay_layers *out);
/*
 * Parameters or gradients in libtce's order against such a list, each weight matrix and bias vector
 * by its own scale.
 */
void replay_compare_layers(replay_case *c, const json_t *object, const char *key, size_t n,
                           const double *got);
void replay_compare_layers_gradient(replay_case *c, const json_t *object, const char *key, size_t n,
                                    const double *got);

/* ---- families -------------------------------------------------------------------------------- */

void replay_trajectory_prodmp(replay_case *c);
void replay_trajectory_promp(replay_case *c);
void replay_trajectory_dmp(replay_case *c);
void replay_fit_prodmp(replay_case *c);
void replay_fit_promp(replay_case *c);
void replay_fit_dmp(replay_case *c);
void replay_trajectory_covariance(replay_case *c);
void replay_phases(replay_case *c);

void replay_projection(replay_case *c);
void replay_kl_cov(replay_case *c);
void replay_kl_mean(replay_case *c);
void replay_frobenius_cov(replay_case *c);
void replay_w2_cov(replay_case *c);
void replay_entropy_control(replay_case *c);
void replay_entropy_schedule(replay_case *c);

void replay_squashed_gaussian(replay_case *c);
void replay_squashed_clipped(replay_case *c);
void replay_mlp_adam(replay_case *c);

void replay_time_points(replay_case *c);
void replay_returns(replay_case *c);
void replay_segment_advantages(replay_case *c);
void replay_objective(replay_case *c);

void replay_policy_update(replay_case *c);

void replay_box_pushing(replay_case *c);
void replay_box_draw(replay_case *c);
void replay_arm_pose(replay_case *c);
void replay_hopper_jump(replay_case *c);
void replay_hopper_draw(replay_case *c);
void replay_table_tennis(replay_case *c);
void replay_tennis_draw(replay_case *c);
void replay_metaworld(replay_case *c);
void replay_metaworld_helpers(replay_case *c);

void replay_gae(replay_case *c);
void replay_iqm_bootstrap(replay_case *c);
void replay_jerk(replay_case *c);
void replay_correlation(replay_case *c);

void replay_pendulum(replay_case *c);
void replay_coloured_exact(replay_case *c);
void replay_coloured_statistics(replay_case *c);
void replay_coloured_theory(replay_case *c);
void replay_pink_stream(replay_case *c);
void replay_replay_buffer(replay_case *c);
void replay_sac_updates(replay_case *c);
void replay_sac_target(replay_case *c);
void replay_sac_run(replay_case *c);
void replay_entropy_coefficient(replay_case *c);
void replay_sac_mp_updates(replay_case *c);

void replay_ppo_updates(replay_case *c);
void replay_ppo_minibatch_updates(replay_case *c);
void replay_clip_surrogate(replay_case *c);
void replay_schedule(replay_case *c);
void replay_schedule_iterations(replay_case *c);
void replay_gsde_distribution(replay_case *c);
void replay_gsde_updates(replay_case *c);
void replay_gsde_minibatch_updates(replay_case *c);
void replay_ppo_run(replay_case *c);
void replay_gsde_run(replay_case *c);
void replay_trpl_step_updates(replay_case *c);
void replay_trpl_step_minibatches(replay_case *c);
void replay_bbrl_clip_updates(replay_case *c);
void replay_policy_action(replay_case *c);

/* A normaliser with the statistics obs_mean and obs_var [O] of a case. */
tce_normaliser *replay_normaliser(replay_case *c, size_t O, double epsilon, double clip);
void replay_vecnormalize(replay_case *c);
void replay_vecnormalize_frozen(replay_case *c);

#endif
