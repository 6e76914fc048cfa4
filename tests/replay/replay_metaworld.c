/*
 * Cases of the Metaworld tasks: an environment is reset with a given random vector and stepped by
 * given actions; single states, "probes", are put into it; and the formulas of the rewards by
 * themselves.
 *
 * A reset of profile 2 depends on the vector of the reset before it, which a case does not say: it
 * was made on a fresh environment, or on that of an earlier case of the file, or (kind again) by a
 * second reset with its own vector. Of these the one is taken whose reset comes nearest to the
 * case's; all comparisons are made with that one.
 *
 * The cases were made on x86-64. MuJoCo's library for another kind of processor rounds differently,
 * and two things magnify that. The frame of a mesh, which it finds by an iteration for eigenvalues
 * when it compiles the model, differs by 2e-9 (the door's handle). And the puck of three tasks
 * rocks on the table while a reset lets it settle, so that its position differs by 4e-5 and its
 * rotation by 1e-3. Elsewhere than on x86-64 the puck is therefore compared with a tolerance of
 * its own, and its speed and acceleration not at all; the arm and the probes are compared as ever.
 */
#include "../../examples/tasks/metaworld/rewards.h"
#include "../../examples/tasks/metaworld/state.h"
#include "../../examples/tasks/shared/state_layout.h"
#include "replay.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MAX_RANDOM = 6, MAX_NAME = 96 };

#if defined(__x86_64__)
#define TOL_OBS 1e-9 /* and states, targets, distances */
enum { SAME_MACHINE = 1 };
#else
#define TOL_OBS 1e-8
enum { SAME_MACHINE = 0 };
#endif
#define TOL_ROCKING 5e-3 /* of a puck that rocks on the table, and of what is measured from it */
#define TOL_REWARD 1e-8
#define TOL_FLAG 1e-12
#define TOL_FORMULA 1e-12

/* An environment of a case, its last observation and state. */
typedef struct world {
    replay_draws *draws;
    replay_environment env;
    size_t nq, nv;
    int rocks; /* the object, and not on the machine of the cases */
    double obs[MW_N_OBS];
    double *state;
} world;

/* ---- parts of a state ------------------------------------------------------------------------ */

static double *qpos_of(const world *w)
{
    return w->state + STATE_QPOS(mw_state);
}

static double *qvel_of(const world *w)
{
    return qpos_of(w) + w->nq;
}

static double *ctrl_of(const world *w)
{
    return qvel_of(w) + 2 * w->nv;
}

static double *mocap_of(const world *w)
{
    return ctrl_of(w) + 2;
}

/* The arm and the fingers come first in positions and speeds, the hand in an observation. */
enum { N_ARM = 9, N_HAND = 4 };

/* The first n_firm numbers as everywhere, the others as those of a puck that rocks on the table. */
static void compare_parts(replay_case *c, const world *w, const char *key, size_t n_firm, size_t n,
                          const double *got, const double *want, double tol, double tol_rocking)
{
    if (!w->rocks || n_firm > n)
        n_firm = n;
    if (n_firm > 0)
        replay_compare_with(c, key, n_firm, got, want, tol);
    if (n_firm < n)
        replay_compare_with(c, key, n - n_firm, got + n_firm, want + n_firm, tol_rocking);
}

/* ---- resets ---------------------------------------------------------------------------------- */

static void open_world(replay_case *c, world *w)
{
    const char *task = replay_text(c, c->root, "task");
    const char *profile = replay_text(c, c->root, "profile");
    char name[MAX_NAME];
    const int second = profile != NULL && strcmp(profile, "v2") == 0;

    if (task == NULL)
        replay_fail(c, "\"task\" is missing");
    if (profile != NULL && !second && strcmp(profile, "v3") != 0)
        replay_fail(c, "\"profile\" %s is unknown", profile);
    snprintf(name, sizeof name, "metaworld_%s", task);
    for (char *dash; (dash = strchr(name, '-')) != NULL;)
        *dash = '_';
    static const char *const ROCKING[] = { "reach", "push", "pick-place" };
    w->rocks = 0;
    for (size_t i = 0; i < sizeof ROCKING / sizeof ROCKING[0]; i++)
        w->rocks |= !SAME_MACHINE && strcmp(task, ROCKING[i]) == 0;
    w->draws = replay_block(c, 1, sizeof *w->draws);
    w->draws->exact = 1; /* looked at when the environment is made */
    replay_open_environment(c, name, second ? "profile=2" : "profile=3", w->draws, &w->env);
    w->state = replay_zeros(c, w->env.n_state);
}

/* The start with a random vector. */
static void reset_world(replay_case *c, world *w, const json_t *vector)
{
    double pos[MW_N_OBS], vel[MW_N_OBS], values[MAX_RANDOM];
    const size_t n = json_array_size(vector);
    tce_random random;

    if (n != 3 && n != MAX_RANDOM)
        replay_fail(c, "a random vector must have 3 or 6 numbers");
    for (size_t i = 0; i < n; i++)
        values[i] = json_number_value(json_array_get(vector, i));
    *w->draws = (replay_draws){ values, n, 0, 1 };
    tce_random_start(&random, 1, 0, 0, 0);
    replay_ok(c, w->env.vtable->reset(w->env.instance, &random, w->obs, pos, vel));
    if (w->draws->used != n)
        replay_fail(c, "a random vector has %zu numbers, the task draws %zu", n, w->draws->used);
    replay_ok(c, w->env.vtable->get_state(w->env.instance, w->state));
}

/* The further number or point that a task keeps; its name differs from task to task. */
static const json_t *extra_of(replay_case *c, const json_t *reset, const world *w)
{
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)replay_get(c, reset, "extra"), key,
                        value) if (!json_is_null(value) &&
                                   (json_is_array(value) ? json_array_size(value) : 1) ==
                                       (size_t)w->state[STATE_AT(mw_state, n_extra)]) return value;
    return NULL;
}

/* reset[key], when it is there; see compare_parts. */
static void compare_field(replay_case *c, const world *w, const json_t *reset, const char *key,
                          size_t n_firm, size_t n, const double *got, double tol_rocking)
{
    if (replay_get(c, reset, key) != NULL)
        compare_parts(c, w, key, n_firm, n, got, replay_array(c, reset, key, n), TOL_OBS,
                      tol_rocking);
}

static void compare_reset(replay_case *c, const json_t *reset, const world *w)
{
    compare_field(c, w, reset, "qpos", N_ARM, w->nq, qpos_of(w), TOL_ROCKING);
    compare_field(c, w, reset, "qvel", N_ARM, w->nv, qvel_of(w), INFINITY);
    compare_field(c, w, reset, "qacc_warmstart", N_ARM, w->nv, qvel_of(w) + w->nv, INFINITY);
    replay_compare(c, reset, "ctrl", 2, ctrl_of(w), TOL_OBS);
    replay_compare(c, reset, "mocap_pos", 3, mocap_of(w), TOL_OBS);
    replay_compare(c, reset, "mocap_quat", 4, mocap_of(w) + 3, TOL_OBS);
    replay_compare(c, reset, "time", 1, mocap_of(w) + 7, TOL_OBS);
    compare_field(c, w, reset, "target", 0, 3, w->state + STATE_AT(mw_state, T), TOL_ROCKING);
    replay_compare(c, reset, "init_tcp", 3, w->state + STATE_AT(mw_state, c0), TOL_OBS);
    compare_field(c, w, reset, "obj_init", 0, 3, w->state + STATE_AT(mw_state, o0), TOL_ROCKING);
    compare_field(c, w, reset, "obs", N_HAND, MW_N_OBS, w->obs, TOL_ROCKING);
    const json_t *extra = extra_of(c, reset, w);
    if (extra != NULL) {
        const size_t n = (size_t)w->state[STATE_AT(mw_state, n_extra)];
        double want[3] = { json_number_value(extra) };
        for (size_t i = 0; json_is_array(extra) && i < n; i++)
            want[i] = json_number_value(json_array_get(extra, i));
        replay_compare_with(c, "extra", n, w->state + STATE_AT(mw_state, extra), want, TOL_OBS);
    }
}

/* A reset of a new environment, after one with the vector `before` when that is not NULL. */
static void start_world(replay_case *c, const json_t *before, world *w)
{
    const json_t *reset = replay_get(c, c->root, "reset");

    open_world(c, w);
    w->nq = (size_t)replay_int_or(c, c->root, "nq",
                                  (int32_t)json_array_size(replay_get(c, reset, "qpos")));
    w->nv = (size_t)replay_int_or(c, c->root, "nv",
                                  (int32_t)json_array_size(replay_get(c, reset, "qvel")));
    if (w->env.n_state != STATE_QPOS(mw_state) + w->nq + 2 * w->nv + 2 + 7 + 1)
        replay_fail(c, "the model has other sizes than the case: nq %zu, nv %zu", w->nq, w->nv);
    if (before != NULL)
        reset_world(c, w, before);
    reset_world(c, w, replay_get(c, c->root, "rand_vec"));
}

/* How far a start is from the case's, in tolerances. */
static double distance_of(replay_case *c, const world *w)
{
    const size_t n_compared = c->n_compared;
    const double used = c->used, difference = c->difference, tolerance = c->tolerance;
    const char *field = c->field;

    c->n_compared = 0;
    c->used = 0.0;
    compare_reset(c, replay_get(c, c->root, "reset"), w);
    const double result = c->used;
    c->n_compared = n_compared;
    c->used = used;
    c->difference = difference;
    c->tolerance = tolerance;
    c->field = field;
    return result;
}

/*
 * Takes the start after a reset with `before` for *best when it is nearer to the case's than that.
 */
static void try_start(replay_case *c, const json_t *before, double *distance, world *best)
{
    world w;

    start_world(c, before, &w);
    const double d = distance_of(c, &w);
    if (*distance < 0.0 || d < *distance) {
        *distance = d;
        *best = w;
    }
}

/* The start of the case: the nearest of those that it may have been made with. */
static void start_case(replay_case *c, const char *kind, world *out)
{
    static const char *const PREVIOUS[] = { "previous_rand_vec", "first_rand_vec" };
    const json_t *earlier = replay_get(c, c->root, "before");
    double distance = -1.0;

    for (size_t i = 0; i < sizeof PREVIOUS / sizeof PREVIOUS[0]; i++)
        if (replay_get(c, c->root, PREVIOUS[i]) != NULL)
            try_start(c, replay_get(c, c->root, PREVIOUS[i]), &distance, out);
    if (distance < 0.0 && strcmp(kind, "again") != 0)
        try_start(c, NULL, &distance, out);
    for (size_t i = 0; i < json_array_size(earlier) && (distance < 0.0 || distance > 1.0); i++)
        try_start(c, json_array_get(earlier, i), &distance, out);
    if (strcmp(kind, "again") == 0 && (distance < 0.0 || distance > 1.0))
        try_start(c, replay_get(c, c->root, "rand_vec"), &distance, out);
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* Row i of the case's key, when there is one; see compare_parts. */
static void compare_row(replay_case *c, const world *w, const char *key, size_t i, size_t n_firm,
                        size_t n, const double *got, double tol, double tol_rocking)
{
    const json_t *row = json_array_get(replay_get(c, c->root, key), i);
    double want[MW_N_OBS];

    if (row == NULL || json_is_null(row))
        return;
    if (n > MW_N_OBS || (json_is_array(row) ? json_array_size(row) : 1) != n)
        replay_fail(c, "row %zu of \"%s\" has not %zu numbers", i, key, n);
    for (size_t k = 0; k < n; k++) {
        const json_t *value = json_is_array(row) ? json_array_get(row, k) : row;
        want[k] = json_is_boolean(value) ? (double)json_is_true(value) : json_number_value(value);
    }
    compare_parts(c, w, key, n_firm, n, got, want, tol, tol_rocking);
}

static void run_actions(replay_case *c, world *w)
{
    size_t shape[REPLAY_MAX_RANK];

    if (replay_shape(c, c->root, "actions", shape) != 2)
        replay_fail(c, "\"actions\" must be a list of actions");
    const size_t T = shape[0];
    const double *actions = replay_array(c, c->root, "actions", T * MW_N_ACTION);
    for (size_t t = 0; t < T; t++) {
        tce_env_result result = { 0 };
        double metrics[2];
        replay_ok(c, w->env.vtable->step_action(w->env.instance, actions + MW_N_ACTION * t, w->obs,
                                                &result));
        replay_ok(c, w->env.vtable->metrics(w->env.instance, metrics));
        replay_ok(c, w->env.vtable->get_state(w->env.instance, w->state));
        compare_row(c, w, "obs", t, N_HAND, MW_N_OBS, w->obs, TOL_OBS, TOL_ROCKING);
        compare_row(c, w, "reward", t, 0, 1, &result.reward, TOL_REWARD, TOL_ROCKING);
        compare_row(c, w, "success", t, 1, 1, &metrics[0], TOL_FLAG, TOL_FLAG);
        compare_row(c, w, "obj_to_target", t, 0, 1, &metrics[1], TOL_OBS, TOL_ROCKING);
        compare_row(c, w, "qpos", t, N_ARM, w->nq, qpos_of(w), TOL_OBS, TOL_ROCKING);
        compare_row(c, w, "qvel", t, N_ARM, w->nv, qvel_of(w), TOL_OBS, INFINITY);
        compare_row(c, w, "mocap_pos", t, 3, 3, mocap_of(w), TOL_OBS, TOL_OBS);
    }
}

/* ---- probes ---------------------------------------------------------------------------------- */

/* Constants of an episode as the case has them; those that it leaves out stay. */
static void put_point(replay_case *c, const json_t *object, const char *key, double *to)
{
    if (replay_get(c, object, key) != NULL)
        memcpy(to, replay_array(c, object, key, 3), 3 * sizeof *to);
}

static void run_probes(replay_case *c, const world *like)
{
    const json_t *probes = replay_get(c, c->root, "probes");
    const json_t *reset = replay_get(c, c->root, "probe_reset");
    world w = *like;

    if (probes == NULL)
        return;
    if (reset == NULL)
        replay_fail(c, "\"probes\" without \"probe_reset\"");
    open_world(c, &w);
    reset_world(c, &w, replay_get(c, reset, "rand_vec"));
    put_point(c, reset, "target", w.state + STATE_AT(mw_state, T));
    put_point(c, reset, "init_tcp", w.state + STATE_AT(mw_state, c0));
    put_point(c, reset, "obj_init", w.state + STATE_AT(mw_state, o0));
    const json_t *extra = extra_of(c, reset, &w);
    for (size_t i = 0; extra != NULL && i < (size_t)w.state[STATE_AT(mw_state, n_extra)]; i++)
        w.state[STATE_AT(mw_state, extra) + i] = json_number_value(
            json_is_array(extra) ? json_array_get(extra, i) : extra);

    for (size_t i = 0; i < json_array_size(probes); i++) {
        const json_t *probe = json_array_get(probes, i);
        w.state[STATE_DERIVE] = 1.0;
        w.state[STATE_STEP] = replay_number_or(c, probe, "step", 1.0);
        memcpy(w.state + STATE_AT(mw_state, action), replay_array(c, probe, "action", MW_N_ACTION),
               MW_N_ACTION * sizeof(double));
        memcpy(w.state + STATE_AT(mw_state, before), replay_array(c, probe, "prev18", MW_N_FRAME),
               MW_N_FRAME * sizeof(double));
        memcpy(qpos_of(&w), replay_array(c, probe, "qpos", w.nq), w.nq * sizeof(double));
        memcpy(qvel_of(&w), replay_array(c, probe, "qvel", w.nv), w.nv * sizeof(double));
        memcpy(mocap_of(&w), replay_array(c, probe, "mocap_pos", 3), 3 * sizeof(double));
        replay_ok(c, w.env.vtable->set_state(w.env.instance, w.state, w.obs));
        replay_ok(c, w.env.vtable->get_state(w.env.instance, w.state));
        replay_compare(c, probe, "obs", MW_N_OBS, w.obs, TOL_OBS);
        replay_compare(c, probe, "reward", 1, w.state + STATE_AT(mw_state, reward), TOL_REWARD);
        replay_compare(c, probe, "success", 1, w.state + STATE_AT(mw_state, success), TOL_FLAG);
        replay_compare(c, probe, "obj_to_target", 1, w.state + STATE_AT(mw_state, distance),
                       TOL_OBS);
    }
}

void replay_metaworld(replay_case *c)
{
    world w;

    start_case(c, replay_text(c, c->root, "kind"), &w);
    compare_reset(c, replay_get(c, c->root, "reset"), &w);
    if (replay_get(c, c->root, "actions") != NULL)
        run_actions(c, &w);
    run_probes(c, &w);
}

/* ---- formulas -------------------------------------------------------------------------------- */

static void compare_tolerance(replay_case *c, const json_t *row)
{
    static const char *const NAMES[] = {
        [MW_LONG_TAIL] = "long_tail",   [MW_GAUSSIAN] = "gaussian",
        [MW_HYPERBOLIC] = "hyperbolic", [MW_RECIPROCAL] = "reciprocal",
        [MW_COSINE] = "cosine",         [MW_LINEAR] = "linear",
        [MW_QUADRATIC] = "quadratic",   [MW_TANH_SQUARED] = "tanh_squared"
    };
    const char *name = replay_text(c, row, "sigmoid");
    size_t i = 0;

    while (i < sizeof NAMES / sizeof NAMES[0] && (name == NULL || strcmp(NAMES[i], name) != 0))
        i++;
    if (i == sizeof NAMES / sizeof NAMES[0])
        replay_fail(c, "\"sigmoid\" %s is unknown", name != NULL ? name : "(none)");
    const double got = mw_tolerance((mw_sigmoid)i, replay_number(c, row, "x"),
                                    replay_number(c, row, "lower"), replay_number(c, row, "upper"),
                                    replay_number(c, row, "margin"));
    replay_compare(c, row, "value", 1, &got, TOL_FORMULA);
}

static void compare_hamacher(replay_case *c, const json_t *row)
{
    const double got = mw_hamacher(replay_number(c, row, "a"), replay_number(c, row, "b"));
    replay_compare(c, row, "value", 1, &got, TOL_FORMULA);
}

static void compare_prism(replay_case *c, const json_t *row)
{
    const double got = mw_prism(replay_array(c, row, "curr", 3), replay_array(c, row, "zero", 3),
                                replay_array(c, row, "one", 3));
    replay_compare(c, row, "value", 1, &got, TOL_FORMULA);
}

static void compare_quaternion(replay_case *c, const json_t *row)
{
    double got[4];
    mw_quaternion_xyzw(replay_array(c, row, "mat_row_major", 9), got);
    replay_compare(c, row, "quat_xyzw", 4, got, TOL_FORMULA);
}

static void compare_controller(replay_case *c, const json_t *row)
{
    double action[MW_N_ACTION], *mocap = replay_array(c, row, "mocap", 3);
    mw_follow(replay_array(c, row, "desired", MW_N_ACTION), mocap, action);
    replay_compare(c, row, "action", MW_N_ACTION, action, TOL_FORMULA);
    mw_move_mocap(action, replay_array(c, row, "mocap_low", 3),
                  replay_array(c, row, "mocap_high", 3), mocap);
    replay_compare(c, row, "mocap_next", 3, mocap, TOL_FORMULA);
}

void replay_metaworld_helpers(replay_case *c)
{
    static const struct {
        const char *key;
        void (*compare)(replay_case *c, const json_t *row);
    } LISTS[] = { { "tolerance", compare_tolerance },
                  { "hamacher", compare_hamacher },
                  { "rect_prism", compare_prism },
                  { "mat_to_quat_xyzw", compare_quaternion },
                  { "mp_controller", compare_controller } };

    for (size_t i = 0; i < sizeof LISTS / sizeof LISTS[0]; i++) {
        const json_t *list = replay_get(c, c->root, LISTS[i].key);
        for (size_t k = 0; k < json_array_size(list); k++)
            LISTS[i].compare(c, json_array_get(list, k));
    }
}
