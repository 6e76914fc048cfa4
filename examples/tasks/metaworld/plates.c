/*
 * A plate that slides along two axes to a goal, four ways.
 */
#include "metaworld.h"

/* The slides as given; the task may have put its fixture before. */
static void put_plate(mw_env *env, const double *v, double x, double y)
{
    const double slides[2] = { x, y };
    mw_copy(env->o0, v);
    mw_copy(env->T, v + 3);
    mw_put_fixture(env);
    mw_place(env, MW_FIRST, 2, slides, 0, 0);
}

static void reset_plate(mw_env *env, const double *v)
{
    put_plate(env, v, 0.0, 0.0);
}

static void reward_plate_slide(mw_env *env, const mw_scene *s, mw_result *out)
{
    (void)env;
    const double d = mw_distance(s->p, s->T);
    const double in_place = mw_near(d, 0.05, mw_distance(s->o0, s->T));
    const double near = mw_near(mw_distance(s->c, s->p), 0.05, mw_distance(s->c0, s->o0));
    out->reward = d < 0.05 ? 10.0 : 8.0 * mw_hamacher(near, in_place);
    out->success = d <= 0.07;
    out->distance = d;
}

const mw_task mw_plate_slide = {
    .xml = "sawyer_plate_slide.xml",
    .hand = { 0.0, 0.6f, 0.2f },
    .n_random = 6,
    .low = { 0.0, 0.6, 0.0, -0.1, 0.85, 0.0 },
    .high = { 0.0, 0.6, 0.0, 0.1, 0.9, 0.0 },
    .goal = MW_GOAL_SECOND,
    .objects = { { .at = MW_GEOM("puck"), .turn = MW_TURN_MATRIX, .of = MW_GEOM("puck") } },
    .fixture = "puck_goal",
    .fixture_from = MW_FROM_SECOND,
    .context = MW_SEES_GOAL,
    .reset = reset_plate,
    .reward = reward_plate_slide,
};

/* The hand down onto the plate first. */
static void reward_plate_drag(mw_env *env, const mw_scene *s, mw_result *out)
{
    (void)env;
    const double d = mw_distance(s->p, s->T);
    const double in_place = mw_near(d, 0.05, mw_distance(s->o0, s->T) - 0.05);
    const double to_plate = mw_distance(s->c, s->p);
    out->reward = 1.5 * mw_near(to_plate, 0.05, mw_distance(s->c0, s->o0) - 0.05);
    if (s->c[2] <= 0.03 && to_plate < 0.07)
        out->reward = 2.0 + 7.0 * in_place;
    if (d < 0.05)
        out->reward = 10.0;
    out->success = d <= 0.07;
    out->distance = d;
}

/* The goal's frame stays where the model has it. */
const mw_task mw_plate_slide_side = {
    .xml = "sawyer_plate_slide_sideway.xml",
    .hand = { 0.0, 0.6f, 0.2f },
    .n_random = 6,
    .low = { 0.0, 0.6, 0.0, -0.3, 0.54, 0.0 },
    .high = { 0.0, 0.6, 0.0, -0.25, 0.66, 0.0 },
    .goal = MW_GOAL_SECOND,
    .objects = { { .at = MW_GEOM("puck"), .turn = MW_TURN_MATRIX, .of = MW_GEOM("puck") } },
    .context = MW_SEES_GOAL,
    .reset = reset_plate,
    .reward = reward_plate_drag,
};

static void reset_plate_back(mw_env *env, const double *v)
{
    put_plate(env, v, 0.0, 0.15);
}

const mw_task mw_plate_slide_back = {
    .xml = "sawyer_plate_slide.xml",
    .hand = { 0.0, 0.6f, 0.2f },
    .n_random = 6,
    .low = { 0.0, 0.85, 0.0, -0.1, 0.6, 0.015 },
    .high = { 0.0, 0.85, 0.0, 0.1, 0.6, 0.015 },
    .goal = MW_GOAL_SECOND,
    .objects = { { .at = MW_GEOM("puck"), .turn = MW_TURN_MATRIX, .of = MW_GEOM("puck") } },
    .context = MW_SEES_GOAL,
    .reset = reset_plate_back,
    .reward = reward_plate_drag,
};

static void reset_plate_back_side(mw_env *env, const double *v)
{
    put_plate(env, v, -0.15, 0.0);
}

const mw_task mw_plate_slide_back_side = {
    .xml = "sawyer_plate_slide_sideway.xml",
    .hand = { 0.0, 0.6f, 0.2f },
    .n_random = 6,
    .low = { -0.25, 0.6, 0.0, -0.05, 0.6, 0.015 },
    .high = { -0.25, 0.6, 0.0, 0.15, 0.6, 0.015 },
    .goal = MW_GOAL_SECOND,
    .objects = { { .at = MW_GEOM("puck"), .turn = MW_TURN_MATRIX, .of = MW_GEOM("puck") } },
    .fixture = "puck_goal",
    .fixture_from = MW_FROM_FIRST,
    .context = MW_SEES_GOAL,
    .reset = reset_plate_back_side,
    .reward = reward_plate_drag,
};
