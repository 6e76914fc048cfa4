/*
 * Tasks with an object that lies free on the table: reach, push, pick, insert, sweep, kick.
 */
#include "metaworld.h"

#include <math.h>

/* The object at the first part of v, the target at the second. */
static void put_first_target_second(mw_env *env, const double *v)
{
    mw_copy(env->o0, v);
    mw_copy(env->T, v + 3);
    mw_place_free(env, env->o0);
}

/* The same at the height z where the object has settled. */
static void put_at_height(mw_env *env, const double *v, double z)
{
    mw_point(env->o0, v[0], v[1], z);
    mw_point(env->T, v[3], v[4], z);
    mw_place_free(env, env->o0);
}

/* ---- reach, reach-wall ----------------------------------------------------------------------- */

static void reward_reach(mw_env *env, const mw_scene *s, mw_result *out)
{
    const double d = mw_distance(s->c, s->T);
    out->reward = 10.0 * mw_near(d, 0.05, mw_distance(env->task->hand, s->T));
    out->success = d <= 0.05;
    out->distance = d;
}

const mw_task mw_reach = {
    .xml = "sawyer_reach_v3.xml",
    .hand = { 0.0, 0.6, 0.2 },
    .n_random = 6,
    .low = { -0.1, 0.6, 0.02, -0.1, 0.8, 0.05 },
    .high = { 0.1, 0.7, 0.02, 0.1, 0.9, 0.3 },
    .apart = 0.15,
    .goal = MW_GOAL_SECOND,
    .objects = { { .at = MW_BODY("obj"), .turn = MW_TURN_MATRIX, .of = MW_GEOM("objGeom") } },
    .v2_forward = 1,
    .reset = put_first_target_second,
    .reward = reward_reach,
};

const mw_task mw_reach_wall = {
    .xml = "sawyer_reach_wall_v3.xml",
    .hand = { 0.0, 0.6, 0.2 },
    .n_random = 6,
    .low = { -0.05, 0.6, 0.015, -0.05, 0.85, 0.05 },
    .high = { 0.05, 0.65, 0.015, 0.05, 0.9, 0.3 },
    .apart = 0.15,
    .goal = MW_GOAL_SECOND,
    .objects = { { .at = MW_BODY("obj"), .turn = MW_TURN_MATRIX, .of = MW_GEOM("objGeom") } },
    .reset = put_first_target_second,
    .reward = reward_reach,
};

/* ---- push, push-wall, push-back -------------------------------------------------------------- */

/* At the height that the observed object has settled at. */
static void reset_push(mw_env *env, const double *v)
{
    double object[3];
    mw_locate(env, object);
    put_at_height(env, v, object[2]);
}

static void reward_push(mw_env *env, const mw_scene *s, mw_result *out)
{
    const double d = mw_distance(s->p, s->T);
    const double in_place = mw_near(d, 0.05, mw_distance(s->o0, s->T));
    const double held = mw_cage(s, &env->task->cage, s->p, s->o0);
    out->reward = 2.0 * held;
    if (mw_distance(s->p, s->c) < 0.02 && s->g > 0.0)
        out->reward = 4.0 * held + 1.0 + 5.0 * in_place;
    if (d < 0.05)
        out->reward = 10.0;
    out->success = d <= 0.05;
    out->distance = d;
}

const mw_task mw_push = {
    .xml = "sawyer_push_v3.xml",
    .hand = { 0.0, 0.6, 0.2 },
    .n_random = 6,
    .low = { -0.1, 0.6, 0.02, -0.1, 0.8, 0.01 },
    .high = { 0.1, 0.7, 0.02, 0.1, 0.9, 0.02 },
    .apart = 0.15,
    .goal = MW_GOAL_SECOND,
    .objects = { { .at = MW_BODY("obj"), .turn = MW_TURN_MATRIX, .of = MW_GEOM("objGeom") } },
    .cage = { 0.015, 0.05, 0.01, 0.005, 1.0, MW_HIGH },
    .reset = reset_push,
    .reward = reward_push,
};

static void reward_push_wall(mw_env *env, const mw_scene *s, mw_result *out)
{
    static const double S[3] = { 3.0, 1.0, 1.0 };
    const double middle[3] = { -0.05, 0.77, s->p[2] };
    const double d = mw_distance(s->p, s->T);
    const double on_the_way = mw_near(mw_distance_scaled(S, s->p, middle), 0.05,
                                      mw_distance_scaled(S, s->o0, middle));
    const double in_place = mw_near(d, 0.05, mw_distance(s->o0, s->T));
    const double held = mw_cage(s, &env->task->cage, s->p, s->o0);
    out->reward = 2.0 * held;
    if (mw_distance(s->p, s->c) < 0.02 && s->g > 0.0)
        out->reward = s->p[1] > 0.75 ? 2.0 * held + 5.0 + 3.0 * in_place
                                     : 2.0 * held + 1.0 + 4.0 * on_the_way;
    if (d < 0.05)
        out->reward = 10.0;
    out->success = d <= 0.07;
    out->distance = d;
}

const mw_task mw_push_wall = {
    .xml = "sawyer_push_wall_v3.xml",
    .hand = { 0.0, 0.6, 0.2 },
    .n_random = 6,
    .low = { -0.05, 0.6, 0.015, -0.05, 0.85, 0.01 },
    .high = { 0.05, 0.65, 0.015, 0.05, 0.9, 0.02 },
    .apart = 0.15,
    .goal = MW_GOAL_SECOND,
    .objects = { { .at = MW_GEOM("objGeom"), .turn = MW_TURN_MATRIX, .of = MW_GEOM("objGeom") } },
    .cage = { 0.015, 0.05, 0.01, 0.005, 1.0, MW_HIGH },
    .reset = reset_push,
    .reward = reward_push_wall,
};

static void reward_push_back(mw_env *env, const mw_scene *s, mw_result *out)
{
    (void)env;
    const double d = mw_distance(s->p, s->T);
    const double d0 = mw_distance(s->o0, s->T);
    const double in_place = mw_near(d, 0.05, d0);
    const double held = mw_cage_push(s, s->p, 0.007, 0.003, 0.01);
    out->reward = mw_hamacher(held, in_place);
    if (mw_distance(s->p, s->c) < 0.01 && s->g > 0.0 && s->g < 0.55 && d0 - d > 0.01)
        out->reward += 1.0 + 5.0 * in_place;
    if (d < 0.05)
        out->reward = 10.0;
    out->success = d <= 0.07;
    out->distance = d;
}

const mw_task mw_push_back = {
    .xml = "sawyer_push_back_v3.xml",
    .hand = { 0.0, 0.6f, 0.2f },
    .n_random = 6,
    .low = { -0.1, 0.8, 0.02, -0.1, 0.6, 0.0199 },
    .high = { 0.1, 0.85, 0.02, 0.1, 0.7, 0.0201 },
    .apart = 0.15,
    .goal = MW_GOAL_SECOND,
    .objects = { { .at = MW_GEOM("objGeom"), .turn = MW_TURN_MATRIX, .of = MW_GEOM("objGeom") } },
    .reset = reset_push,
    .reward = reward_push_back,
};

/* ---- pick-place, pick-place-wall, pick-out-of-hole ------------------------------------------- */

static void reward_pick_place(mw_env *env, const mw_scene *s, mw_result *out)
{
    (void)env;
    const double d = mw_distance(s->p, s->T);
    const double in_place = mw_near(d, 0.05, mw_distance(s->o0, s->T));
    const double held = mw_cage_pick(s, s->p);
    out->reward = mw_hamacher(held, in_place);
    if (mw_distance(s->p, s->c) < 0.02 && s->g > 0.0 && s->p[2] - 0.01 > s->o0[2])
        out->reward += 1.0 + 5.0 * in_place;
    if (d < 0.05)
        out->reward = 10.0;
    out->success = d <= 0.07;
    out->distance = d;
}

const mw_task mw_pick_place = {
    .xml = "sawyer_pick_place_v3.xml",
    .hand = { 0.0, 0.6, 0.2 },
    .n_random = 6,
    .low = { -0.1, 0.6, 0.02, -0.1, 0.8, 0.05 },
    .high = { 0.1, 0.7, 0.02, 0.1, 0.9, 0.3 },
    .apart = 0.15,
    .goal = MW_GOAL_SECOND,
    .objects = { { .at = MW_BODY("obj"), .turn = MW_TURN_MATRIX, .of = MW_GEOM("objGeom") } },
    .reset = put_first_target_second,
    .reward = reward_pick_place,
};

static void reward_pick_place_wall(mw_env *env, const mw_scene *s, mw_result *out)
{
    static const double S[3] = { 1.0, 1.0, 3.0 };
    const double middle[3] = { s->T[0], 0.77, 0.25 };
    const double d = mw_distance(s->p, s->T);
    const double on_the_way = mw_near(mw_distance_scaled(S, s->p, middle), 0.05,
                                      mw_distance_scaled(S, s->o0, middle));
    const double in_place = mw_near(d, 0.05, mw_distance(s->o0, s->T));
    const double base = mw_hamacher(mw_cage(s, &env->task->cage, s->p, s->o0), on_the_way);
    out->reward = base;
    if (mw_distance(s->p, s->c) < 0.02 && s->g > 0.0 && s->p[2] - 0.015 > s->o0[2])
        out->reward = s->p[1] > 0.75 ? base + 5.0 + 3.0 * in_place : base + 1.0 + 4.0 * on_the_way;
    if (d < 0.05)
        out->reward = 10.0;
    out->success = d <= 0.07;
    out->distance = d;
}

const mw_task mw_pick_place_wall = {
    .xml = "sawyer_pick_place_wall_v3.xml",
    .hand = { 0.0, 0.6, 0.2 },
    .n_random = 6,
    .low = { -0.05, 0.6, 0.015, -0.05, 0.85, 0.05 },
    .high = { 0.05, 0.65, 0.015, 0.05, 0.9, 0.3 },
    .apart = 0.15,
    .goal = MW_GOAL_SECOND,
    .objects = { { .at = MW_GEOM("objGeom"), .turn = MW_TURN_MATRIX, .of = MW_GEOM("objGeom") } },
    .cage = { 0.015, 0.05, 0.01, 0.005, 1.0, MW_PLAIN },
    .reset = put_first_target_second,
    .reward = reward_pick_place_wall,
};

/* A funnel around the hole keeps the tool from cutting the corner. */
static void reward_pick_out_of_hole(mw_env *env, const mw_scene *s, mw_result *out)
{
    const double d = mw_distance(s->p, s->T);
    const double funnel = mw_funnel(mw_distance_xy(s->c, s->o0), 0.03, 0.015, 0.15);
    const double above = s->c[2] >= funnel ? 1.0 : mw_near(fmax(funnel - s->c[2], 0.0), 0.01, 0.02);
    const double held = mw_cage(s, &env->task->cage, s->p, s->o0);
    const double in_place = mw_near(d, 0.02, mw_distance(s->o0, s->T));
    out->reward = mw_hamacher(held, in_place);
    if (mw_distance(s->p, s->c) < 0.04 && s->p[2] - 0.02 > s->o0[2] && s->g >= 0.33)
        out->reward += 1.0 + 5.0 * mw_hamacher(in_place, above);
    if (d < 0.05)
        out->reward = 10.0;
    out->success = d <= 0.07;
    out->distance = d;
}

const mw_task mw_pick_out_of_hole = {
    .xml = "sawyer_pick_out_of_hole.xml",
    .hand = { 0.0, 0.6, 0.2 },
    .mocap_low = { -0.5, 0.4, -0.05 },
    .n_random = 6,
    .low = { 0.0, 0.75, 0.02, -0.1, 0.5, 0.15 },
    .high = { 0.0, 0.75, 0.02, 0.1, 0.6, 0.3 },
    .apart = 0.15,
    .goal = MW_GOAL_SECOND,
    .objects = { { .at = MW_BODY("obj"), .turn = MW_TURN_BODY, .of = MW_BODY("obj") } },
    .cage = { 0.015, 0.02, 0.01, 0.03, 0.1, MW_HIGH },
    .context = MW_SEES_GOAL,
    .reset = put_first_target_second,
    .reward = reward_pick_out_of_hole,
};

/* ---- hand-insert ----------------------------------------------------------------------------- */

static void reset_hand_insert(mw_env *env, const double *v)
{
    mw_point(env->o0, v[0], v[1], 0.05);
    mw_copy(env->T, v + 3);
    mw_place_free(env, env->o0);
}

static void reward_hand_insert(mw_env *env, const mw_scene *s, mw_result *out)
{
    const double d = mw_distance(s->p, s->T);
    const double in_place = mw_near(d, 0.05, mw_distance(s->o0, s->T));
    const double held = mw_cage(s, &env->task->cage, s->p, s->o0);
    out->reward = mw_hamacher(held, in_place);
    if (mw_distance(s->p, s->c) < 0.02 && s->g > 0.0)
        out->reward += 1.0 + 7.0 * in_place;
    if (d < 0.05)
        out->reward = 10.0;
    out->success = d <= 0.05;
    out->distance = d;
}

const mw_task mw_hand_insert = {
    .xml = "sawyer_table_with_hole.xml",
    .hand = { 0.0, 0.6f, 0.2f },
    .mocap_low = { -0.5, 0.4, -0.15 },
    .n_random = 6,
    .low = { -0.1, 0.6, 0.05, -0.04, 0.8, -0.0201 },
    .high = { 0.1, 0.7, 0.05, 0.04, 0.88, -0.0199 },
    .apart = 0.15,
    .goal = MW_GOAL_SECOND,
    .objects = { { .at = MW_BODY("obj"), .turn = MW_TURN_BODY, .of = MW_BODY("obj") } },
    .cage = { 0.015, 0.05, 0.01, 0.005, 1.0, MW_HIGH },
    .reset = reset_hand_insert,
    .reward = reward_hand_insert,
};

/* ---- sweep, sweep-into, soccer --------------------------------------------------------------- */

static void reset_sweep(mw_env *env, const double *v)
{
    mw_point(env->o0, v[0], v[1], 0.02);
    mw_point(env->T, 0.5, v[1], 0.01);
    mw_place_free(env, env->o0);
}

/* The object to `target`, with the pads around it. */
static void sweep_to(const mw_scene *s, const double *target, double held, mw_result *out)
{
    const double d = mw_distance(s->p, target);
    const double in_place = mw_near(d, 0.05, mw_distance(s->o0, target));
    out->reward = 2.0 * held + 6.0 * mw_hamacher(held, in_place);
    if (d < 0.05)
        out->reward = 10.0;
    out->success = d <= 0.05;
    out->distance = d;
}

static void reward_sweep(mw_env *env, const mw_scene *s, mw_result *out)
{
    (void)env;
    sweep_to(s, s->T, mw_cage_push(s, s->p, 0.02, 0.01, 0.005), out);
}

const mw_task mw_sweep = {
    .xml = "sawyer_sweep_v3.xml",
    .hand = { 0.0, 0.6, 0.2 },
    .n_random = 3,
    .low = { -0.1, 0.6, 0.02 },
    .high = { 0.1, 0.7, 0.02 },
    .goal = MW_GOAL_BOX,
    .goal_low = { 0.49, 0.6, 0.0 },
    .goal_high = { 0.51, 0.7, 0.02 },
    .objects = { { .at = MW_BODY("obj"), .turn = MW_TURN_BODY, .of = MW_BODY("obj") } },
    .reset = reset_sweep,
    .reward = reward_sweep,
};

static const double HOLE[3] = { 0.0, 0.84, 0.02 };

static void reset_sweep_into(mw_env *env, const double *v)
{
    mw_copy(env->T, HOLE);
    mw_point(env->o0, v[0], v[1], env->object_at[0][2]);
    mw_place_free(env, env->o0);
}

/* Heights do not count: the object may fall into the hole. */
static void reward_sweep_into(mw_env *env, const mw_scene *s, mw_result *out)
{
    (void)env;
    const double target[3] = { s->T[0], s->T[1], s->p[2] };
    sweep_to(s, target, mw_cage_push(s, s->p, 0.02, 0.005, 0.01), out);
}

const mw_task mw_sweep_into = {
    .xml = "sawyer_table_with_hole.xml",
    .hand = { 0.0, 0.6, 0.2 },
    .n_random = 6,
    .low = { -0.1, 0.6, 0.02, -0.001, 0.8399, 0.0199 },
    .high = { 0.1, 0.7, 0.02, 0.001, 0.8401, 0.0201 },
    .apart = 0.15,
    .apart_from = HOLE,
    .goal = MW_GOAL_SECOND,
    .objects = { { .at = MW_BODY("obj"), .turn = MW_TURN_MATRIX, .of = MW_GEOM("objGeom") } },
    .reset = reset_sweep_into,
    .reward = reward_sweep_into,
};

static void reset_soccer(mw_env *env, const double *v)
{
    mw_copy(env->T, v + 3);
    mw_point(env->o0, v[0], v[1], 0.03);
    mw_put_fixture(env);
    mw_place_free(env, env->o0);
}

/*
 * The margin is the way that the ball has gone, not the one that it had before it: as in the
 * original.
 */
static void reward_soccer(mw_env *env, const mw_scene *s, mw_result *out)
{
    static const double S[3] = { 3.0, 1.0, 1.0 };
    (void)env;
    const double d = mw_distance_scaled(S, s->p, s->T);
    const double line = s->T[1] - 0.1;
    double in_place = mw_near(d, 0.07, mw_distance_scaled(S, s->p, s->o0));
    if (s->p[1] > line && fabs(s->p[0] - s->T[0]) > 0.1)
        in_place = mw_clip(in_place - 2.0 * (s->p[1] - line) / (1.0 - line), 0.0, 1.0);
    out->reward = 3.0 * mw_cage_push(s, s->p, 0.013, 0.01, 0.005) + 6.5 * in_place;
    if (d < 0.07)
        out->reward = 10.0;
    out->distance = mw_distance(s->p, s->T);
    out->success = out->distance <= 0.07;
}

const mw_task mw_soccer = {
    .xml = "sawyer_soccer.xml",
    .hand = { 0.0, 0.6, 0.2 },
    .n_random = 6,
    .low = { -0.1, 0.6, 0.03, -0.1, 0.8, 0.0 },
    .high = { 0.1, 0.7, 0.03, 0.1, 0.9, 0.0 },
    .apart = 0.15,
    .goal = MW_GOAL_SECOND,
    .objects = { { .at = MW_BODY("soccer_ball"),
                   .turn = MW_TURN_MATRIX,
                   .of = MW_BODY("soccer_ball") } },
    .fixture = "goal_whole",
    .fixture_from = MW_FROM_SECOND,
    .reset = reset_soccer,
    .reward = reward_soccer,
};
