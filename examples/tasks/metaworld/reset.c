/*
 * Resets: the random vector of the episode, the way of the hand to its place, and what the tasks'
 * own parts of it are made of.
 *
 * Profile 3: the fixture is put, the simulation reset, the hand brought to its place by 250 physics
 * steps, then comes what the task does. Profile 2 puts the fixture only there, so that the hand is
 * brought while the fixture stands where the episode before had it.
 */
#include <string.h>

#include "metaworld.h"

enum { N_HAND_RESET = 50, MAX_TRIES = 10000 };

/* pointing down; MuJoCo normalises it */
static const double HAND_TURN[4] = { 1.0, 0.0, 1.0, 0.0 };

void mw_put_fixture(mw_env *env)
{
    static const double NOWHERE[3] = { 0.0, 0.0, 0.0 };
    const mw_task *task = env->task;
    const double *from = task->fixture_from == MW_FROM_FIRST    ? env->v
                         : task->fixture_from == MW_FROM_SECOND ? env->v + 3
                                                                : NOWHERE;
    if (env->fixture < 0)
        return;
    mw_offset(env->s.fixture, from, task->fixture_offset[0], task->fixture_offset[1],
              task->fixture_offset[2]);
    mw_copy(env->body_pos + 3 * env->fixture, env->s.fixture);
}

void mw_forward(mw_env *env)
{
    mj_forward(&env->model, env->data);
}

void mw_settle(mw_env *env)
{
    for (int i = 0; i < MW_N_SUB; i++)
        mj_step(&env->model, env->data);
}

void mw_place(mw_env *env, int at, int n, const double *x, int still, int m)
{
    mju_copy(env->data->qpos + at, x, n);
    mju_zero(env->data->qvel + still, m);
    mw_forward(env);
}

void mw_put_mocap(mw_env *env, const double *position)
{
    mju_copy(env->data->mocap_pos, position, 3);
    mju_copy(env->data->mocap_quat, HAND_TURN, 4);
}

/* One number of the box; profile 2 keeps its boxes in single precision. */
static double draw(mw_env *env, tce_random *random, int i)
{
    const mw_task *task = env->task;
    const int single = env->profile == 2.0;
    return mujoco_draw(&env->base, random, single ? (float)task->low[i] : task->low[i],
                       single ? (float)task->high[i] : task->high[i]);
}

/* Draws v, again while its parts are too near each other. */
static void draw_vector(mw_env *env, tce_random *random)
{
    const mw_task *task = env->task;
    const task_draws *draws = env->base.draws;
    for (int tries = 0; tries < MAX_TRIES; tries++) {
        for (int i = 0; i < task->n_random; i++)
            env->v[i] = draw(env, random, i);
        if ((draws && draws->exact) ||
            mw_distance_xy(env->v, task->apart_from ? task->apart_from : env->v + 3) >= task->apart)
            return;
    }
    mujoco_stop("%s: object and goal were too near each other in %d draws", env->base.name,
                MAX_TRIES);
}

static void bring_hand(mw_env *env)
{
    for (int i = 0; i < N_HAND_RESET; i++) {
        mw_put_mocap(env, env->task->hand);
        env->data->ctrl[0] = -1.0;
        env->data->ctrl[1] = 1.0;
        mw_settle(env);
    }
    mw_tool_centre(env, env->c0);
}

void mw_reset(void *instance, tce_random *random)
{
    mw_env *env = instance;
    draw_vector(env, random);
    env->forwarded = 0;
    memset(env->s.action, 0, sizeof env->s.action);
    env->s.reward = 0.0;
    env->s.success = 0.0;
    env->s.distance = 0.0;
    if (env->profile != 2.0)
        mw_put_fixture(env);
    bring_hand(env);
    env->task->reset(env, env->v);
    if (env->profile == 2.0 && env->task->v2_forward)
        mw_forward(env);
    mw_read_frame(env, env->s.frame);
    memcpy(env->s.before, env->s.frame, sizeof env->s.before);
}
