/*
 * Doors and their locks.
 */
#include "metaworld.h"

#include <math.h>

#define PI 3.14159265358979323846

/* ---- door-open, door-close ------------------------------------------------------------------- */

enum { DOOR_JOINT };

static void reset_door_open(mw_env *env, const double *v)
{
    static const double SHUT = 0.0;
    mw_copy(env->o0, v);
    mw_offset(env->T, v, -0.3, -0.45, 0.0);
    mw_put_fixture(env);
    mw_set_joint(env, SHUT);
}

static void reward_door_open(mw_env *env, const mw_scene *s, mw_result *out)
{
    const double angle = *part(env, DOOR_JOINT);
    const double grip = (mw_clip(s->grip, -1.0, 1.0) + 1.0) / 2.0;
    double door[3], handle[3];
    mw_offset(door, s->p, -0.05, 0.0, 0.0);
    mw_offset(handle, door, 0.05, 0.03, -0.01);

    /* over the handle from above, then turn */
    const double funnel = mw_funnel(mw_distance_xy(s->h, door), 0.12, 0.04, 0.4);
    const double above = s->h[2] >= funnel ? 1.0 : mw_near(funnel - s->h[2], 0.01, funnel / 2.0);
    const double ready = mw_hamacher(above, mw_near(mw_distance(s->h, handle), 0.06, 0.5));
    const double opened = 0.2 * (angle < -PI / 90.0) +
                          0.8 * mw_near(2.0 * PI / 3.0 + angle, 0.5, PI / 3.0);
    out->success = fabs(s->p[0] - s->T[0]) <= 0.08;
    out->reward = out->success ? 10.0 : 2.0 * mw_hamacher(ready, grip) + 8.0 * opened;
}

const mw_task mw_door_open = {
    .xml = "sawyer_door_pull.xml",
    .hand = { 0.0, 0.6, 0.2 },
    .n_random = 3,
    .low = { 0.0, 0.85, 0.15 },
    .high = { 0.1, 0.95, 0.15 },
    .goal = MW_GOAL_BOX,
    .goal_low = { -0.3, 0.4, 0.1499 },
    .goal_high = { -0.2, 0.5, 0.1501 },
    .objects = { { .at = MW_GEOM("handle"), .turn = MW_TURN_MATRIX, .of = MW_GEOM("handle") } },
    .parts = { [DOOR_JOINT] = MW_JOINT("doorjoint") },
    .fixture = "door",
    .fixture_from = MW_FROM_FIRST,
    .reset = reset_door_open,
    .reward = reward_door_open,
};

static void reset_door_close(mw_env *env, const double *v)
{
    static const double OPEN = -1.5708;
    mw_copy(env->o0, v);
    mw_offset(env->T, v, 0.2, -0.2, 0.0);
    mw_put_fixture(env);
    mw_set_joint(env, OPEN);
}

static void reward_door_close(mw_env *env, const mw_scene *s, mw_result *out)
{
    const double d = mw_distance(s->p, s->T);
    const double in_place = mw_near_gauss(d, 0.05, mw_distance(s->o0, s->T));
    const double near = mw_near_gauss(mw_distance(s->c, s->T), 0.0125,
                                      mw_distance(env->task->hand, s->p) + 0.1);
    out->reward = d < 0.05 ? 10.0 : 3.0 * near + 6.0 * in_place;
    out->success = d <= 0.08;
    out->distance = d;
}

const mw_task mw_door_close = {
    .xml = "sawyer_door_pull.xml",
    .hand = { -0.5, 0.6f, 0.2f },
    .n_random = 3,
    .low = { 0.0, 0.85, 0.15 },
    .high = { 0.1, 0.95, 0.15 },
    .goal = MW_GOAL_BOX,
    .goal_low = { 0.2, 0.65, 0.1499 },
    .goal_high = { 0.3, 0.75, 0.1501 },
    .objects = { { .at = MW_GEOM("handle"), .turn = MW_TURN_MATRIX, .of = MW_GEOM("handle") } },
    .fixture = "door",
    .fixture_from = MW_FROM_FIRST,
    .reset = reset_door_close,
    .reward = reward_door_close,
};

/* ---- door-lock, door-unlock ------------------------------------------------------------------ */

enum { LOCK };

static const double LOCK_SCALE[3] = { 0.25, 1.0, 0.5 };

static void reset_door_lock(mw_env *env, const double *v)
{
    (void)v;
    mw_put_fixture(env);
    mw_settle(env);
    mw_offset(env->T, part(env, LOCK), 0.0, -0.04, -0.1);
}

/*
 * The margin is the present distance of the pad, so nearness is a constant away from the lock: as
 * in the original.
 */
static void reward_door_lock(mw_env *env, const mw_scene *s, mw_result *out)
{
    (void)env;
    const double to_lock = mw_distance_scaled(LOCK_SCALE, s->p, s->left);
    const double d = fabs(s->T[2] - s->p[2]);
    out->reward = 2.0 * mw_hamacher(fmax(s->g, 0.0), mw_near(to_lock, 0.01, to_lock)) +
                  8.0 * mw_near(d, 0.005, 0.1);
    out->success = d <= 0.02;
    out->distance = d;
}

const mw_task mw_door_lock = {
    .xml = "sawyer_door_lock.xml",
    .hand = { 0.0, 0.6f, 0.2f },
    .mocap_low = { -0.5, 0.4, -0.15 },
    .n_random = 3,
    .low = { -0.1, 0.8, 0.15 },
    .high = { 0.1, 0.85, 0.15 },
    .objects = { { .at = MW_SITE("lockStartLock"),
                   .turn = MW_TURN_BODY,
                   .of = MW_BODY("door_link") } },
    .parts = { [LOCK] = MW_BODY("lock_link") },
    .fixture = "door",
    .fixture_from = MW_FROM_FIRST,
    .reset = reset_door_lock,
    .reward = reward_door_lock,
};

static void reset_door_unlock(mw_env *env, const double *v)
{
    static const double LOCKED = 1.5708;
    (void)v;
    mw_put_fixture(env);
    mw_set_joint(env, LOCKED);
    mw_offset(env->T, part(env, LOCK), 0.1, -0.04, 0.0);
}

static void reward_door_unlock(mw_env *env, const mw_scene *s, mw_result *out)
{
    double finger[3], finger0[3];
    mw_offset(finger, s->h, 0.0, 0.055, 0.07);
    mw_offset(finger0, s->c0, 0.0, 0.055, 0.07);
    const double near = mw_near(mw_distance_scaled(LOCK_SCALE, finger, s->p), 0.02,
                                mw_distance_scaled(LOCK_SCALE, finger0, part(env, LOCK)));
    const double d = fabs(s->T[0] - s->p[0]);
    out->reward = 2.0 * near + 8.0 * mw_near(d, 0.005, 0.1);
    out->success = d <= 0.02;
    out->distance = d;
}

const mw_task mw_door_unlock = {
    .xml = "sawyer_door_lock.xml",
    .hand = { 0.0, 0.6f, 0.2f },
    .mocap_low = { -0.5, 0.4, -0.15 },
    .n_random = 3,
    .low = { -0.1, 0.8, 0.15 },
    .high = { 0.1, 0.85, 0.15 },
    .goal = MW_GOAL_BOX,
    .goal_low = { 0.0, 0.64, 0.21 },
    .goal_high = { 0.2, 0.7, 0.2111 },
    .objects = { { .at = MW_SITE("lockStartUnlock"),
                   .turn = MW_TURN_BODY,
                   .of = MW_BODY("door_link") } },
    .parts = { [LOCK] = MW_BODY("lock_link") },
    .fixture = "door",
    .fixture_from = MW_FROM_FIRST,
    .reset = reset_door_unlock,
    .reward = reward_door_unlock,
};
