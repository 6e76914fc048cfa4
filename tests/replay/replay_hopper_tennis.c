/*
 * hopper_jump and table_tennis of libtce_tasks.so: steps from given states, and starts from given
 * random numbers.
 *
 * A state is injected through get_state and set_state: the task's numbers first, then qpos, qvel,
 * warm start, ctrl, time (state_layout.h).
 */
#include "../../examples/tasks/hopper_jump.h"
#include "../../examples/tasks/shared/state_layout.h"
#include "../../examples/tasks/table_tennis.h"
#include "replay.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_OBS = 32, MAX_METRICS = 16 };

#define TOL_DRAW 1e-12 /* also of the count: 0 would not tell how near */

/* What differs between the two. */
typedef struct kind {
    const char *name;
    const char *reward; /* the default one, which `moved` is made of */
    size_t n_obs, nq, nu;
    size_t qpos; /* where the state has it */
    size_t n_goal;
    const char *events[2];
    size_t flags[2]; /* where the state has them */
} kind;

static const kind HOPPER = { "hopper_jump",
                             "sparse",
                             16,
                             HOPPER_NQ,
                             HOPPER_NU,
                             STATE_QPOS(hopper_jump_state),
                             1,
                             { "left_floor", "landed" },
                             { STATE_AT(hopper_jump_state, left),
                               STATE_AT(hopper_jump_state, landed) } };
static const kind TENNIS = { "table_tennis",
                             "reward",
                             19,
                             TENNIS_NQ,
                             TENNIS_NU,
                             STATE_QPOS(table_tennis_state),
                             2,
                             { "hit", "returned" },
                             { STATE_AT(table_tennis_state, hit),
                               STATE_AT(table_tennis_state, returned) } };

/* An environment of the case and its last state. */
typedef struct player {
    const kind *kind;
    replay_environment env;
    double *state;
} player;

static const double *qpos_of(const player *p)
{
    return p->state + p->kind->qpos;
}

static const double *qvel_of(const player *p)
{
    return qpos_of(p) + p->kind->nq;
}

/* What the motors were given: the action, or what the controller made of the desired path. */
static const double *ctrl_of(const player *p)
{
    return qpos_of(p) + 3 * p->kind->nq;
}

static void read_state(replay_case *c, player *p)
{
    replay_ok(c, p->env.vtable->get_state(p->env.instance, p->state));
}

static void open_player(replay_case *c, const kind *k, replay_draws *draws, player *p)
{
    const size_t n = k->qpos + 3 * k->nq + k->nu + 1;
    p->kind = k;
    replay_open_environment(c, k->name, NULL, draws, &p->env);
    if (p->env.n_state != n || p->env.spec.n_obs != (int32_t)k->n_obs)
        replay_fail(c, "%s has another state than this program knows", k->name);
    p->state = replay_zeros(c, n);
}

/* ---- steps from a given state ---------------------------------------------------------------- */

/* Writes the case's start over the state of a reset. */
static void inject(replay_case *c, const json_t *given, player *p, double *out_obs)
{
    const kind *k = p->kind;
    const json_t *flags = replay_get(c, given, "start_flags");
    double pos[MAX_OBS], vel[MAX_OBS];
    tce_random random;

    tce_random_start(&random, 1, 1, 0, 0);
    replay_ok(c, p->env.vtable->reset(p->env.instance, &random, out_obs, pos, vel));
    read_state(c, p);

    p->state[STATE_DERIVE] = 1.0;
    p->state[STATE_STEP] = replay_number_or(c, given, "start_step", 0.0);
    memcpy(p->state + STATE_AT(hopper_jump_state, goal),
           replay_array(c, given, "context", k->n_goal), k->n_goal * sizeof(double));
    if (flags != NULL && k == &HOPPER) {
        p->state[STATE_AT(hopper_jump_state, touched)] = replay_number_or(c, flags, "touched", 0.0);
        p->state[STATE_AT(hopper_jump_state, left)] = replay_number_or(c, flags, "left", 0.0);
        p->state[STATE_AT(hopper_jump_state, landed)] = replay_number_or(c, flags, "landed", 0.0);
        p->state[STATE_AT(hopper_jump_state, top)] = replay_number_or(c, flags, "top", 0.0);
    } else if (flags != NULL) {
        p->state[STATE_AT(table_tennis_state, hit)] = replay_number_or(c, flags, "hit", 0.0);
    }
    double *physics = p->state + k->qpos;
    memset(physics, 0, (3 * k->nq + k->nu + 1) * sizeof *physics);
    memcpy(physics, replay_array(c, given, "qpos", k->nq), k->nq * sizeof *physics);
    memcpy(physics + k->nq, replay_array(c, given, "qvel", k->nq), k->nq * sizeof *physics);
    replay_ok(c, p->env.vtable->set_state(p->env.instance, p->state, out_obs));
}

/* The first n of the `all` numbers that the case has. */
static void compare_array(replay_case *c, const json_t *object, const char *key, size_t all,
                          size_t n, const double *got, double tol)
{
    if (replay_get(c, object, key) != NULL)
        replay_compare_absolute(c, key, n, got, replay_array(c, object, key, all), tol);
}

/* Flags must be equal, so any tolerance below 1 does. */
static void compare_info(replay_case *c, const player *p, const json_t *info,
                         const tce_env_result *result, double tol)
{
    double m[MAX_METRICS];
    replay_ok(c, p->env.vtable->metrics(p->env.instance, m));
    if (p->kind == &HOPPER) {
        replay_compare_number(c, info, "height", p->state[STATE_AT(hopper_jump_state, height)],
                              tol);
        replay_compare_number(c, info, "max_height", m[0], tol);
        replay_compare_number(c, info, "goal_dist", m[1], tol);
        replay_compare_number(c, info, "healthy", m[3] / 2.0, tol);
        replay_compare_number(c, info, "contact_dist", m[4], tol);
        replay_compare_number(c, info, "left_floor", m[5], tol);
        replay_compare_number(c, info, "landed", p->state[STATE_AT(hopper_jump_state, landed)],
                              tol);
    } else {
        replay_compare_number(c, info, "success", m[0], tol);
        replay_compare_number(c, info, "hit", m[1], tol);
        replay_compare_number(c, info, "returned", m[2], tol);
        replay_compare_number(c, info, "miss", m[3], tol);
        replay_compare_number(c, info, "end", result->terminated, tol);
        if ((replay_get(c, info, "landing") != NULL) !=
            (p->state[STATE_AT(table_tennis_state, has_landing)] != 0.0))
            replay_fail(c, "\"landing\" is there in one of both only");
        compare_array(c, info, "landing", 3, 3, p->state + STATE_AT(table_tennis_state, landing),
                      tol);
    }
}

/* What the case has of the state after step k. */
static void compare_state(replay_case *c, player *p, const json_t *states, size_t k,
                          const double *obs, const tce_env_result *result, double tol)
{
    const kind *kind = p->kind;
    for (size_t i = 0; i < json_array_size(states); i++) {
        const json_t *want = json_array_get(states, i);
        if (replay_number(c, want, "step") != (double)k)
            continue;
        compare_array(c, want, "obs", kind->n_obs, kind->n_obs, obs, tol);
        compare_array(c, want, "qpos", kind->nq, kind->nq, qpos_of(p), tol);
        compare_array(c, want, "qvel", kind->nq, kind->nq, qvel_of(p), tol);
        compare_array(c, want, "action", kind->nu, kind->nu, ctrl_of(p), tol);
        if (replay_get(c, want, "info") != NULL)
            compare_info(c, p, replay_get(c, want, "info"), result, tol);
    }
}

/* Rewards [T] and their sum, as far as the tolerance holds. */
static void compare_rewards(replay_case *c, const json_t *run, const char *name, size_t T,
                            size_t last, const double *rewards, double tol)
{
    const json_t *all = replay_get(c, run, "rewards");
    const json_t *sums = replay_get(c, run, "return");
    double sum = 0.0;
    for (size_t t = 0; t < T; t++)
        sum += rewards[t];
    if (all != NULL)
        compare_array(c, all, name, T, last < T ? last : T, rewards, tol);
    if (sums != NULL && last >= T)
        replay_compare_number(c, sums, name, sum, tol);
}

/* Events come at the steps of the case; 0: never. */
static void compare_events(replay_case *c, const json_t *run, const kind *k, const size_t *came)
{
    const json_t *events = replay_get(c, run, "events");
    for (size_t i = 0; events != NULL && i < 2; i++) {
        const double want = replay_number_or(c, events, k->events[i], 0.0);
        if (json_object_get(events, k->events[i]) != NULL && want != (double)came[i])
            replay_fail(c, "%s at step %zu, expected at %g (0: never)", k->events[i], came[i],
                        want);
    }
}

static void destroy_player(void *block)
{
    player *p = block;
    p->env.vtable->destroy(p->env.instance);
    free(p);
}

/* The dense reward of the hopper, by an environment of its own. */
static void replay_dense(replay_case *c, const json_t *given, const json_t *run, size_t last,
                         const replay_commands *commands, double tol)
{
    const size_t T = commands->n;
    double obs[MAX_OBS];
    player main, *p = calloc(1, sizeof *p);
    if (p == NULL)
        replay_fail(c, "out of memory");
    open_player(c, &HOPPER, NULL, &main);
    *p = main;
    const tce_status status = main.env.vtable->create(NULL, "dense=1", &p->env.instance);
    if (status == TCE_OK)
        replay_keep(c, p, destroy_player);
    else
        free(p);
    replay_ok(c, status);

    inject(c, given, p, obs);
    double *rewards = replay_zeros(c, T);
    tce_env_result result = { 0 };
    for (size_t t = 0; t < T; t++) {
        replay_command(c, p->env.vtable, p->env.instance, commands, t, obs, &result);
        rewards[t] = result.reward;
    }
    compare_rewards(c, run, "dense", T, last, rewards, tol);
}

static void replay_steps(replay_case *c, const kind *k)
{
    const json_t *given = replay_object(c, c->root, "case");
    const json_t *run = replay_object(c, c->root, "run");
    size_t last, came[2] = { 0, 0 };
    double obs[MAX_OBS];
    replay_commands commands;
    player p;

    const double tol = replay_task_tolerance(c, run, &last);
    replay_read_commands(c, given, k->nu, &commands);
    const size_t T = commands.n;
    open_player(c, k, NULL, &p);
    inject(c, given, &p, obs);
    compare_array(c, run, "initial_obs", k->n_obs, k->n_obs, obs, tol);

    double *rewards = replay_zeros(c, T);
    uint8_t *flags = replay_block(c, T, sizeof *flags);
    tce_env_result result = { 0 };
    for (size_t t = 0; t < T; t++) {
        replay_command(c, p.env.vtable, p.env.instance, &commands, t, obs, &result);
        read_state(c, &p);
        rewards[t] = result.reward;
        flags[t] = result.event != 0;
        for (size_t i = 0; i < 2; i++)
            if (came[i] == 0 && p.state[k->flags[i]] != 0.0)
                came[i] = t + 1;
        if (t < last)
            compare_state(c, &p, replay_get(c, run, "states"), t + 1, obs, &result, tol);
    }
    if (last >= T)
        compare_events(c, run, k, came);

    /* rewards as they came, and moved to the deciding event, which gathers what comes later */
    compare_rewards(c, run, k->reward, T, last, rewards, tol);
    tce_returns_to_event(1, T, flags, rewards);
    compare_rewards(c, run, "moved", T, last, rewards, tol);
    if (k == &HOPPER)
        replay_dense(c, given, run, last, &commands, tol);
}

void replay_hopper_jump(replay_case *c)
{
    replay_steps(c, &HOPPER);
}

void replay_table_tennis(replay_case *c)
{
    replay_steps(c, &TENNIS);
}

/* ---- starts from given numbers --------------------------------------------------------------- */

static void replay_start(replay_case *c, const kind *k)
{
    const json_t *given = replay_object(c, c->root, "case");
    const json_t *run = replay_object(c, c->root, "run");
    double obs[MAX_OBS], pos[MAX_OBS], vel[MAX_OBS];
    size_t shape[REPLAY_MAX_RANK];
    tce_random random;
    player p;

    replay_shape(c, given, "uniforms", shape);
    replay_draws draws = { replay_array(c, given, "uniforms", shape[0]), shape[0], 0, 0 };
    tce_random_start(&random, 1, 0, 0, 0);
    open_player(c, k, &draws, &p);
    replay_ok(c, p.env.vtable->reset(p.env.instance, &random, obs, pos, vel));
    read_state(c, &p);
    replay_compare_number(c, run, "used", (double)draws.used, TOL_DRAW);
    compare_array(c, run, "qpos", k->nq, k->nq, qpos_of(&p), TOL_DRAW);
    compare_array(c, run, "qvel", k->nq, k->nq, qvel_of(&p), TOL_DRAW);
    if (k->n_goal == 1)
        replay_compare_number(c, run, "goal", p.state[STATE_AT(hopper_jump_state, goal)], TOL_DRAW);
    else
        compare_array(c, run, "goal", k->n_goal, k->n_goal,
                      p.state + STATE_AT(table_tennis_state, goal), TOL_DRAW);
}

void replay_hopper_draw(replay_case *c)
{
    replay_start(c, &HOPPER);
}

void replay_tennis_draw(replay_case *c)
{
    replay_start(c, &TENNIS);
}
