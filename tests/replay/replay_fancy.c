/*
 * Cases of the robot tasks: an environment of the task library is put into a given state and
 * stepped by given actions or along a given path, or reset with given uniform numbers. libtce has
 * no MuJoCo in it, so the library is loaded at run time.
 */
#include "replay.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../examples/tasks/box_pushing.h"
#include "../../examples/tasks/shared/draw.h"
#include "../../examples/tasks/shared/state_layout.h"

/* where a state has positions and velocities, and its size */
enum {
    BOX_QPOS = STATE_QPOS(box_pushing_state),
    BOX_QVEL = BOX_QPOS + BOX_NQ,
    BOX_N_STATE = BOX_QVEL + 2 * BOX_NV + BOX_NU + 1
};

enum { MAX_STEPS = 100000, PATH_SIZE = 4096, N_JOINTS = 7, N_OBS = 28 };

#define TOL_STATE 1e-9 /* or a thousand times what a start moved by 1e-11 does */
#define TOL_DRAW 1e-12 /* also of counts and flags: 0 would not tell how near */
#define TOL_SEARCH 1e-9
/* A case more sensitive than this is compared only until its first event. */
#define MAX_SPREAD 1e-6
#define GOLDEN 0.61803398874989485

/* ---- environments ---------------------------------------------------------------------------- */

static void free_library(void *library)
{
    tce_env_library_free(library);
}

/* An instance, and the function that ends it. */
typedef struct open_instance {
    const tce_env_vtable *vtable;
    void *instance;
} open_instance;

static void free_instance(void *block)
{
    open_instance *open = block;
    if (open->instance)
        open->vtable->destroy(open->instance);
    free(open);
}

static double next_draw(void *context)
{
    replay_draws *draws = context;
    const size_t i = draws->used++;
    return i < draws->n ? draws->values[i] : fmod(GOLDEN * (double)(i + 1), 1.0);
}

static const char *library_path(replay_case *c)
{
    const char *given = getenv("TCE_TASKS");
    if (given != NULL && *given != '\0')
        return given;
    char *path = replay_block(c, PATH_SIZE + 32, 1);
    const ssize_t n = readlink("/proc/self/exe", path, PATH_SIZE);
    path[n > 0 ? n : 0] = '\0';
    char *slash = strrchr(path, '/');
    snprintf(slash != NULL ? slash : path, 32, "/bin/libtce_tasks.so");
    return path;
}

void replay_open_environment(replay_case *c, const char *task, const char *settings,
                             replay_draws *draws, replay_environment *out)
{
    tce_env_library *library = NULL;
    replay_ok(c, tce_env_library_open(library_path(c), NULL, &library));
    replay_keep(c, library, free_library);
    memset(out, 0, sizeof *out);
    replay_ok(c, tce_env_library_find(library, task, &out->vtable));

    task_draws *source = NULL;
    if (draws != NULL) {
        source = replay_block(c, 1, sizeof *source);
        source->next = next_draw;
        source->context = draws;
        source->exact = draws->exact;
    }
    open_instance *open = calloc(1, sizeof *open);
    if (open == NULL)
        replay_fail(c, "out of memory");
    replay_keep(c, open, free_instance);
    open->vtable = out->vtable;
    replay_ok(c, out->vtable->create(source, settings, &open->instance));
    out->instance = open->instance;
    out->spec.struct_size = sizeof out->spec;
    replay_ok(c, out->vtable->spec(out->instance, &out->spec));
    out->n_state = out->vtable->n_state(out->instance);
}

double replay_task_tolerance(replay_case *c, const json_t *run, size_t *out_last)
{
    const double spread = replay_number_or(c, run, "spread_1e-11", INFINITY);
    const json_t *events = replay_get(c, run, "events");
    const char *name;
    json_t *event;

    *out_last = SIZE_MAX;
    if (spread <= MAX_SPREAD)
        return fmax(TOL_STATE, 1000.0 * spread);
    /* too sensitive: what comes before the first event, and with none only the start */
    double first = INFINITY;
    json_object_foreach((json_t *)events, name, event) if (json_is_integer(event))
        first = fmin(first, json_number_value(event));
    *out_last = isfinite(first) && first >= 1.0 ? (size_t)first - 1 : 0;
    return TOL_STATE;
}

void replay_read_commands(replay_case *c, const json_t *given, size_t D, replay_commands *out)
{
    const int is_path = replay_get(c, given, "desired_pos") != NULL;
    size_t shape[REPLAY_MAX_RANK];
    memset(out, 0, sizeof *out);
    if (is_path && replay_get(c, given, "actions") != NULL)
        replay_fail(c, "the case has both \"actions\" and \"desired_pos\"");
    replay_shape(c, given, is_path ? "desired_pos" : "actions", shape);
    out->n = shape[0];
    out->D = D;
    if (is_path) {
        out->pos = replay_array(c, given, "desired_pos", out->n * D);
        out->vel = replay_array(c, given, "desired_vel", out->n * D);
    } else {
        out->actions = replay_array(c, given, "actions", out->n * D);
    }
}

void replay_command(replay_case *c, const tce_env_vtable *vtable, void *instance,
                    const replay_commands *commands, size_t t, double *out_obs, tce_env_result *out)
{
    const size_t at = t * commands->D;
    const tce_env_result before = { .event = commands->actions != NULL ? 0 : out->event };
    *out = before;
    if (commands->actions != NULL)
        replay_ok(c, vtable->step_action(instance, commands->actions + at, out_obs, out));
    else
        replay_ok(c, vtable->step(instance, commands->pos + at, commands->vel + at, out_obs, out));
}

/* ---- Box Pushing ----------------------------------------------------------------------------- */

/* A case while it runs. */
typedef struct box_run {
    const json_t *run;
    const json_t *states;
    const char *reward; /* "dense", "sparse" */
    double tolerance;
    size_t last;
} box_run;

static void compare_array(replay_case *c, const json_t *object, const char *key, size_t n,
                          const double *got, double tol)
{
    if (replay_get(c, object, key) != NULL)
        replay_compare_absolute(c, key, n, got, replay_array(c, object, key, n), tol);
}

/* What a case has of the state after step k. */
static void compare_state(replay_case *c, const box_run *b, size_t k, const replay_environment *env,
                          const double *obs, const tce_env_result *result)
{
    double state[BOX_N_STATE];
    replay_ok(c, env->vtable->get_state(env->instance, state));
    for (size_t i = 0; i < json_array_size(b->states); i++) {
        const json_t *want = json_array_get(b->states, i);
        if (replay_number(c, want, "step") != (double)k)
            continue;
        compare_array(c, want, "obs", N_OBS, obs, b->tolerance);
        compare_array(c, want, "qpos", BOX_NQ, state + BOX_QPOS, b->tolerance);
        compare_array(c, want, "qvel", BOX_NV, state + BOX_QVEL, b->tolerance);
        const json_t *info = replay_get(c, want, "info");
        if (info == NULL)
            continue;
        replay_compare_number(c, info, "dist", state[STATE_AT(box_pushing_state, distance)],
                              b->tolerance);
        replay_compare_number(c, info, "rot", state[STATE_AT(box_pushing_state, angle)],
                              b->tolerance);
        replay_compare_number(c, info, "tilt", state[STATE_AT(box_pushing_state, tilt)],
                              b->tolerance);
        replay_compare_number(c, info, "limit", state[STATE_AT(box_pushing_state, limits)],
                              b->tolerance);
        replay_compare_number(c, info, "energy", state[STATE_AT(box_pushing_state, energy)],
                              b->tolerance);
        replay_compare_number(c, info, "end", result->terminated || result->truncated, TOL_DRAW);
        replay_compare_number(c, info, "success", result->terminated, TOL_DRAW);
    }
}

/* All steps of the case with one of the rewards. */
static void run_box(replay_case *c, const json_t *given, const box_run *b)
{
    char task[64];
    double state[BOX_N_STATE] = { 0 }, obs[N_OBS];
    replay_commands commands;
    replay_environment env;

    snprintf(task, sizeof task, "box_pushing_%s", b->reward);
    replay_open_environment(c, task, NULL, NULL, &env);
    if (env.n_state != BOX_N_STATE || env.spec.n_obs != N_OBS)
        replay_fail(c, "%s has %zu numbers in its state and %d in its observation", task,
                    env.n_state, (int)env.spec.n_obs);

    /* the given start; what follows from it is derived */
    memcpy(state + BOX_QPOS, replay_array(c, given, "qpos", BOX_NQ), BOX_NQ * sizeof *state);
    memcpy(state + BOX_QVEL, replay_array(c, given, "qvel", BOX_NV), BOX_NV * sizeof *state);
    memcpy(state + STATE_AT(box_pushing_state, target), replay_array(c, given, "context", 7),
           7 * sizeof *state);
    state[STATE_STEP] = replay_number_or(c, given, "start_step", 0.0);
    state[STATE_DERIVE] = 1.0;
    replay_ok(c, env.vtable->set_state(env.instance, state, obs));
    compare_array(c, b->run, "initial_obs", N_OBS, obs, b->tolerance);

    replay_read_commands(c, given, N_JOINTS, &commands);
    const size_t n = commands.n;
    double *rewards = replay_zeros(c, n);
    double sum = 0.0;
    tce_env_result result = { 0 };
    for (size_t k = 0; k < n; k++) {
        replay_command(c, env.vtable, env.instance, &commands, k, obs, &result);
        rewards[k] = result.reward;
        sum += result.reward;
        if (k < b->last)
            compare_state(c, b, k + 1, &env, obs, &result);
    }

    /* rewards as far as the tolerance holds, their sum when it holds throughout */
    const size_t n_held = n < b->last ? n : b->last;
    const json_t *all = replay_get(c, b->run, "rewards");
    if (replay_get(c, all, b->reward) != NULL)
        replay_compare_absolute(c, b->reward, n_held, rewards, replay_array(c, all, b->reward, n),
                                b->tolerance);
    const json_t *sums = replay_get(c, b->run, "return");
    if (n_held == n && replay_get(c, sums, b->reward) != NULL)
        replay_compare_number(c, sums, b->reward, sum, (double)n * b->tolerance);
}

void replay_box_pushing(replay_case *c)
{
    static const char *const REWARDS[] = { "dense", "sparse" };
    const json_t *given = replay_object(c, c->root, "case");
    box_run b = { .run = replay_object(c, c->root, "run") };

    b.tolerance = replay_task_tolerance(c, b.run, &b.last);
    b.states = replay_get(c, b.run, "states");
    for (size_t i = 0; i < sizeof REWARDS / sizeof REWARDS[0]; i++) {
        b.reward = REWARDS[i];
        run_box(c, given, &b);
    }
}

/* The state after a reset with these draws. */
static void reset_box(replay_case *c, replay_draws *draws, double *out_state)
{
    double obs[N_OBS], pos[N_JOINTS], vel[N_JOINTS];
    replay_environment env;
    tce_random random;

    tce_random_start(&random, 1, 0, 0, 0);
    replay_open_environment(c, "box_pushing_dense", NULL, draws, &env);
    if (env.n_state != BOX_N_STATE || env.spec.n_obs != N_OBS)
        replay_fail(c, "box_pushing_dense has another state than this program knows");
    replay_ok(c, env.vtable->reset(env.instance, &random, obs, pos, vel));
    replay_ok(c, env.vtable->get_state(env.instance, out_state));
}

void replay_box_draw(replay_case *c)
{
    const json_t *given = replay_object(c, c->root, "case");
    const json_t *run = replay_object(c, c->root, "run");
    double state[BOX_N_STATE];
    size_t shape[REPLAY_MAX_RANK];

    replay_shape(c, given, "uniforms", shape);
    replay_draws draws = { replay_array(c, given, "uniforms", shape[0]), shape[0], 0, 0 };
    reset_box(c, &draws, state);
    replay_compare_number(c, run, "used", (double)draws.used, TOL_DRAW);
    compare_array(c, run, "box_pose", 7, state + BOX_QPOS + 9, TOL_DRAW);
    compare_array(c, run, "target_pose", 7, state + STATE_AT(box_pushing_state, target), TOL_DRAW);
}

/* The box is put where the case says by draws that lead there; its height is not drawn. */
void replay_arm_pose(replay_case *c)
{
    const json_t *given = replay_object(c, c->root, "case");
    const json_t *run = replay_object(c, c->root, "run");
    const double *xyz = replay_array(c, given, "box_xyz", 3);
    double state[BOX_N_STATE];

    if (fabs(xyz[2] + 0.01) > TOL_DRAW)
        replay_fail(c, "a box at height %g, it starts at -0.01", xyz[2]);
    const double uniforms[] = { (xyz[0] - 0.3) / (0.6 - 0.3), (xyz[1] + 0.45) / (0.45 + 0.45) };
    replay_draws draws = { uniforms, 2, 0, 0 };
    reset_box(c, &draws, state);
    compare_array(c, run, "q", N_JOINTS, state + BOX_QPOS, TOL_SEARCH);
    replay_compare_number(c, run, "rounds", state[STATE_AT(box_pushing_state, search_rounds)],
                          TOL_DRAW);
    replay_compare_number(c, run, "forward_tries", state[STATE_AT(box_pushing_state, search_tries)],
                          TOL_DRAW);
    replay_compare_number(c, run, "err", state[STATE_AT(box_pushing_state, search_error)],
                          TOL_SEARCH);
}
