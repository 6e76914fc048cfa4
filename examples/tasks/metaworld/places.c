/*
 * Tasks that bring an object into, onto or over a thing whose place changes: basket, bin, shelf,
 * box.
 */
#include "metaworld.h"

#include <math.h>

/* ---- basketball ------------------------------------------------------------------------------ */

/*
 * Profile 2 wrote the ball's place into three joints of the arm, because the arm came first in its
 * model: the ball stays where it is, the hand does not.
 */
static void reset_basketball(mw_env *env, const double *v)
{
    mw_point(env->o0, v[0], v[1], 0.03f);
    mw_put_fixture(env);
    if (env->profile == 2.0)
        mw_place(env, 2, 3, env->o0, 3, MW_N_FREE);
    else
        mw_place_free(env, env->o0);
    mw_offset(env->T, v + 3, 0.0, -0.083, 0.25);
}

static void reward_basketball(mw_env *env, const mw_scene *s, mw_result *out)
{
    static const double S[3] = { 1.0, 1.0, 2.0 };
    const double target[3] = { s->T[0], s->T[1], 0.3 };
    const double d = mw_distance_scaled(S, s->p, target);
    const double in_place = mw_near(d, 0.08, mw_distance_scaled(S, s->o0, target));
    const int lifted = mw_distance(s->p, s->c) < 0.035 && s->g > 0.0 && s->p[2] - 0.01 > s->o0[2];
    const double held = lifted ? 1.0 : mw_cage(s, &env->task->cage, s->p, s->o0);
    out->reward = mw_hamacher(held, in_place);
    if (lifted)
        out->reward += 1.0 + 5.0 * in_place;
    if (d < 0.08)
        out->reward = 10.0;
    out->success = d <= 0.08;
    out->distance = d;
}

const mw_task mw_basketball = {
    .xml = "sawyer_basketball.xml",
    .hand = { 0.0, 0.6f, 0.2f },
    .n_random = 6,
    .low = { -0.1, 0.6, 0.0299, -0.1, 0.85, 0.0 },
    .high = { 0.1, 0.7, 0.0301, 0.1, 0.9 + 1e-7, 0.0 },
    .apart = 0.15,
    .goal = MW_GOAL_BOX,
    .goal_low = { -0.1, 0.767, 0.2499 },
    .goal_high = { 0.1, 0.817 + 1e-7, 0.2501 },
    .objects = { { .at = MW_BODY("bsktball"), .turn = MW_TURN_BODY, .of = MW_BODY("bsktball") } },
    .fixture = "basket_goal",
    .fixture_from = MW_FROM_SECOND,
    .cage = { 0.025, 0.06, 0.01, 0.005, 1.0, MW_HIGH },
    .context = MW_SEES_HAND_GOAL,
    .reset = reset_basketball,
    .reward = reward_basketball,
};

/* ---- bin-picking ----------------------------------------------------------------------------- */

enum { BIN_GOAL };
#define NOT_YET (-1.0)

/* The distance that the object has to go is taken at the first step: extra[0]. */
static void reset_bin_picking(mw_env *env, const double *v)
{
    mw_point(env->o0, v[0], v[1], env->object_at[0][2]);
    mw_place_free(env, env->o0);
    mw_copy(env->T, part(env, BIN_GOAL));
    mw_point(env->extra, NOT_YET, 0.0, 0.0);
}

/* Funnels above both bins keep the hand from moving through their walls. */
static void reward_bin_picking(mw_env *env, const mw_scene *s, mw_result *out)
{
    const double d = mw_distance(s->p, s->T);
    if (env->extra[0] == NOT_YET)
        env->extra[0] = d;
    const double in_place = mw_near(d, 0.05, env->extra[0]);
    const double funnel = fmin(mw_funnel(mw_distance_xy(s->h, s->o0), 0.03, 0.02, 0.2),
                               mw_funnel(mw_distance_xy(s->h, s->T), 0.03, 0.02, 0.2));
    const double above = s->h[2] >= funnel ? 1.0 : mw_near(funnel - s->h[2], 0.01, 0.05);
    const double held = mw_cage(s, &env->task->cage, s->p, s->o0);
    out->reward = mw_hamacher(held, in_place);
    if (mw_distance(s->p, s->h) < 0.04 && s->p[2] - 0.02 > s->o0[2] && s->g >= 0.43)
        out->reward += 1.0 + 5.0 * mw_hamacher(above, in_place);
    if (d < 0.05)
        out->reward = 10.0;
    out->success = d <= 0.05;
    out->distance = d;
}

const mw_task mw_bin_picking = {
    .xml = "sawyer_bin_picking.xml",
    .hand = { 0.0, 0.6, 0.2 },
    .mocap_low = { -0.5, 0.4, 0.07 },
    .n_random = 6,
    .low = { -0.21, 0.65, 0.02, 0.1199, 0.699, -0.001 },
    .high = { -0.03, 0.75, 0.02, 0.1201, 0.701, 0.001 },
    .goal = MW_GOAL_SECOND,
    .objects = { { .at = MW_BODY("obj"), .turn = MW_TURN_BODY, .of = MW_BODY("obj") } },
    .parts = { [BIN_GOAL] = MW_BODY("bin_goal") },
    .n_extra = 1,
    .cage = { 0.015, 0.05, 0.01, 0.01, 0.7, MW_HIGH },
    .reset = reset_bin_picking,
    .reward = reward_bin_picking,
};

/* ---- shelf-place ----------------------------------------------------------------------------- */

static void reset_shelf_place(mw_env *env, const double *v)
{
    mw_point(env->o0, v[0], v[1], env->object_at[0][2]);
    mw_put_fixture(env);
    mw_forward(env);
    mw_copy(env->T, v + 3);
    mw_place_free(env, env->o0);
}

/* Less, down to nothing, for an object that goes under the shelf. */
static void reward_shelf_place(mw_env *env, const mw_scene *s, mw_result *out)
{
    const double *p = s->p, *T = s->T;
    const double d = mw_distance(p, T);
    double in_place = mw_near(d, 0.05, mw_distance(s->o0, T));
    out->reward = mw_hamacher(mw_cage(s, &env->task->cage, p, s->o0), in_place);

    const int under = p[2] > 0.0 && p[2] < 0.24 && fabs(p[0] - T[0]) < 0.15;
    if (under && p[1] > T[1] - 0.15 && p[1] < T[1])
        in_place = mw_clip(
            in_place - mw_hamacher((p[1] - T[1] + 0.15) / 0.15, (0.24 - p[2]) / 0.24), 0.0, 1.0);
    else if (under && p[1] > T[1])
        in_place = 0.0;
    if (mw_distance(p, s->c) < 0.025 && s->g > 0.0 && p[2] - 0.01 > s->o0[2])
        out->reward += 1.0 + 5.0 * in_place;
    if (d < 0.05)
        out->reward = 10.0;
    out->success = d <= 0.07;
    out->distance = d;
}

const mw_task mw_shelf_place = {
    .xml = "sawyer_shelf_placing.xml",
    .hand = { 0.0, 0.6f, 0.2f },
    .n_random = 6,
    .low = { -0.1, 0.5, 0.019, -0.1, 0.8, 0.299 },
    .high = { 0.1, 0.6, 0.021, 0.1, 0.9, 0.301 },
    .apart = 0.1,
    .goal = MW_GOAL_SECOND,
    .objects = { { .at = MW_BODY("obj"), .turn = MW_TURN_MATRIX, .of = MW_GEOM("objGeom") } },
    .fixture = "shelf",
    .fixture_from = MW_FROM_SECOND,
    .fixture_offset = { 0.0, 0.0, -0.3 },
    .cage = { 0.02, 0.05, 0.01, 0.01, 1.0, MW_PLAIN },
    .reset = reset_shelf_place,
    .reward = reward_shelf_place,
};

/* ---- box-close ------------------------------------------------------------------------------- */

static void reset_box_close(mw_env *env, const double *v)
{
    mw_point(env->o0, v[0], v[1], 0.02f);
    mw_copy(env->T, v + 3);
    mw_put_fixture(env);
    mw_settle(env);
    mw_place_free(env, env->o0);
}

static void reward_box_close(mw_env *env, const mw_scene *s, mw_result *out)
{
    static const double S[3] = { 1.0, 1.0, 3.0 };
    static const double UPRIGHT[4] = { 0.707, 0.0, 0.0, 0.707 };
    (void)env;
    double lid[3];
    mw_offset(lid, s->p, 0.0, 0.0, 0.02);
    const double grip = (mw_clip(s->grip, -1.0, 1.0) + 1.0) / 2.0;
    const double funnel = mw_funnel(mw_distance_xy(s->h, lid), 0.02, 0.04, 0.4);
    const double above = s->h[2] >= funnel ? 1.0 : mw_near(funnel - s->h[2], 0.01, funnel / 2.0);
    const double ready = mw_hamacher(above, mw_near(mw_distance(s->h, lid), 0.02, 0.5));
    const double lifted = 0.2 * (lid[2] > 0.04) +
                          0.8 * mw_near(mw_distance_scaled(S, s->T, lid), 0.05, 0.25);
    out->success = mw_distance(s->p, s->T) < 0.08;
    out->reward = out->success ? 10.0 : 2.0 * mw_hamacher(grip, ready) + 8.0 * lifted;
    out->reward *= mw_upright(s->q, UPRIGHT, 0.2);
}

const mw_task mw_box_close = {
    .xml = "sawyer_box.xml",
    .hand = { 0.0, 0.6f, 0.2f },
    .n_random = 6,
    .low = { -0.05, 0.5, 0.02, -0.1, 0.7, 0.133 },
    .high = { 0.05, 0.55, 0.02, 0.1, 0.8, 0.133 },
    .apart = 0.25,
    .goal = MW_GOAL_SECOND,
    .objects = { { .at = MW_BODY("top_link"), .turn = MW_TURN_BODY, .of = MW_BODY("top_link") } },
    .fixture = "boxbody",
    .fixture_from = MW_FROM_SECOND,
    .fixture_offset = { 0.0, 0.0, -0.133 }, /* onto the table */
    .reset = reset_box_close,
    .reward = reward_box_close,
};
