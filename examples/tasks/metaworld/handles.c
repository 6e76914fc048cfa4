/*
 * Handles to press down and to pull up. extra is the place of the handle at the start of the
 * episode.
 */
#include "metaworld.h"

#include <math.h>

/* ---- handle-press, handle-press-side --------------------------------------------------------- */

enum { HANDLE, HANDLE_GOAL };

static void reset_handle_press(mw_env *env, const double *v)
{
    static const double UP = -0.001;
    mw_copy(env->o0, v);
    mw_put_fixture(env);
    mw_set_joint(env, UP);
    mw_copy(env->T, part(env, HANDLE_GOAL));
    mw_copy(env->extra, part(env, HANDLE));
}

static void reward_handle_press(mw_env *env, const mw_scene *s, mw_result *out)
{
    const double *handle = part(env, HANDLE);
    const double d = fabs(handle[2] - s->T[2]);
    const double in_place = mw_near(d, 0.02, fabs(fabs(env->extra[2] - s->T[2]) - 0.02));
    const double near = mw_near(mw_distance(handle, s->c), 0.02,
                                fabs(mw_distance(env->extra, s->c0) - 0.02));
    out->success = d <= 0.02;
    out->reward = 10.0 * (out->success ? 1.0 : mw_hamacher(near, in_place));
    out->distance = d;
}

const mw_task mw_handle_press = {
    .xml = "sawyer_handle_press.xml",
    .hand = { 0.0, 0.6, 0.2 },
    .n_random = 3,
    .low = { -0.1, 0.8, -0.001 },
    .high = { 0.1, 0.9, 0.001 },
    .goal = MW_GOAL_BOX,
    .goal_low = { -0.1, 0.55, 0.04 },
    .goal_high = { 0.1, 0.7, 0.08 },
    .objects = { { .at = MW_SITE("handleStart") } },
    .parts = { [HANDLE] = MW_SITE("handleStart"), [HANDLE_GOAL] = MW_SITE("goalPress") },
    .fixture = "box",
    .fixture_from = MW_FROM_FIRST,
    .n_extra = 3,
    .reset = reset_handle_press,
    .reward = reward_handle_press,
};

const mw_task mw_handle_press_side = {
    .xml = "sawyer_handle_press_sideways.xml",
    .hand = { 0.0, 0.6, 0.2 },
    .n_random = 3,
    .low = { -0.35, 0.65, -0.001 },
    .high = { -0.25, 0.75, 0.001 },
    .objects = { { .at = MW_SITE("handleStart") } },
    .parts = { [HANDLE] = MW_SITE("handleStart"), [HANDLE_GOAL] = MW_SITE("goalPress") },
    .fixture = "box",
    .fixture_from = MW_FROM_FIRST,
    .n_extra = 3,
    .reset = reset_handle_press,
    .reward = reward_handle_press,
};

/* ---- handle-pull, handle-pull-side ----------------------------------------------------------- */

static const double DOWN = -0.1;

static void reset_handle_pull(mw_env *env, const double *v)
{
    mw_copy(env->o0, v);
    mw_put_fixture(env);
    mw_set_joint(env, DOWN);
    mw_copy(env->T, part(env, HANDLE_GOAL));
}

/* The handle up; more when the gripper is around it and it has moved. */
static void pull_handle(const mw_env *env, const mw_scene *s, double d, double in_place, int moved,
                        mw_result *out)
{
    out->reward = mw_hamacher(mw_cage(s, &env->task->cage, s->p, s->o0), in_place);
    if (mw_distance(s->p, s->c) < 0.035 && s->g > 0.0 && moved)
        out->reward += 1.0 + 5.0 * in_place;
    if (d < 0.05)
        out->reward = 10.0;
    out->distance = d;
}

/* Compares y with a height: as in the original, and nearly always true. */
static void reward_handle_pull(mw_env *env, const mw_scene *s, mw_result *out)
{
    const double d = fabs(s->T[2] - s->p[2]);
    const double in_place = mw_near(d, 0.05, fabs(s->T[2] - s->o0[2]));
    pull_handle(env, s, d, in_place, s->p[1] - 0.01 > s->o0[2], out);
    out->success = d <= 0.05;
}

const mw_task mw_handle_pull = {
    .xml = "sawyer_handle_press.xml",
    .hand = { 0.0, 0.6, 0.2 },
    .n_random = 3,
    .low = { -0.1, 0.8, -0.001 },
    .high = { 0.1, 0.9, 0.001 },
    .goal = MW_GOAL_BOX,
    .goal_low = { -0.1, 0.55, 0.04 },
    .goal_high = { 0.1, 0.7, 0.18 },
    .objects = { { .at = MW_SITE("handleRight") } },
    .parts = { [HANDLE_GOAL] = MW_SITE("goalPull") },
    .fixture = "box",
    .fixture_from = MW_FROM_FIRST,
    .cage = { 0.022, 0.05, 0.01, 0.01, 1.0, MW_HIGH },
    .reset = reset_handle_pull,
    .reward = reward_handle_pull,
};

static void reset_handle_pull_side(mw_env *env, const double *v)
{
    reset_handle_pull(env, v);
    mw_locate(env, env->o0);
}

static void reward_handle_pull_side(mw_env *env, const mw_scene *s, mw_result *out)
{
    const double d = mw_distance(s->p, s->T);
    const double in_place = mw_near(d, 0.05, mw_distance(s->o0, s->T));
    pull_handle(env, s, d, in_place, s->p[2] - 0.01 > s->o0[2], out);
    out->success = d <= 0.08;
}

const mw_task mw_handle_pull_side = {
    .xml = "sawyer_handle_press_sideways.xml",
    .hand = { 0.0, 0.6, 0.2 },
    .n_random = 3,
    .low = { -0.35, 0.65, 0.0 },
    .high = { -0.25, 0.75, 0.0 },
    .objects = { { .at = MW_SITE("handleCenter") } },
    .parts = { [HANDLE_GOAL] = MW_SITE("goalPull") },
    .fixture = "box",
    .fixture_from = MW_FROM_FIRST,
    .cage = { 0.032, 0.06, 0.01, 0.01, 1.0, MW_HIGH },
    .reset = reset_handle_pull_side,
    .reward = reward_handle_pull_side,
};
