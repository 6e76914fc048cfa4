/*
 * The coffee machine: its button, and a mug to pull away from it and to push under it.
 */
#include "metaworld.h"

/* ---- coffee-button, coffee-pull, coffee-push ------------------------------------------------- */

/*
 * The mug comes first in this model; the velocities that become zero are, as in the original, not
 * its own.
 */
static void place_mug(mw_env *env, const double *x)
{
    mw_place(env, 0, 3, x, MW_FIRST, MW_N_FREE);
}

static void reset_coffee_button(mw_env *env, const double *v)
{
    double mug[3];
    mw_copy(env->o0, v);
    mw_put_fixture(env);
    mw_offset(mug, v, 0.0, -0.22, 0.0);
    place_mug(env, mug);
    mw_offset(env->T, v, 0.0, -0.19, 0.3);
    env->extra[0] = 0.03;
}

const mw_task mw_coffee_button = {
    .xml = "sawyer_coffee.xml",
    .hand = { 0.0, 0.4, 0.2 },
    .n_random = 3,
    .low = { -0.1, 0.8, -0.001 },
    .high = { 0.1, 0.9, 0.001 },
    .goal = MW_GOAL_BOX,
    .goal_low = { -0.101, 0.61, 0.298 },
    .goal_high = { 0.101, 0.71, 0.302 },
    .objects = { { .at = MW_SITE("buttonStart"), .turn = MW_TURN_UNIT } },
    .fixture = "coffee_machine",
    .fixture_from = MW_FROM_FIRST,
    .n_extra = 1,
    .reset = reset_coffee_button,
    .reward = mw_reward_button_press,
};

static void reset_coffee_mug(mw_env *env, const double *v)
{
    mw_copy(env->o0, v);
    mw_copy(env->T, v + 3);
    place_mug(env, env->o0);
    mw_put_fixture(env);
}

static void reward_coffee_mug(mw_env *env, const mw_scene *s, mw_result *out)
{
    static const double S[3] = { 2.0, 2.0, 1.0 };
    const double d = mw_distance_scaled(S, s->p, s->T);
    const double in_place = mw_near(d, 0.05, mw_distance_scaled(S, s->o0, s->T));
    out->reward = mw_hamacher(mw_cage(s, &env->task->cage, s->p, s->o0), in_place);
    if (mw_distance(s->p, s->c) < 0.04 && s->g > 0.0)
        out->reward += 1.0 + 5.0 * in_place;
    if (d < 0.05)
        out->reward = 10.0;
    out->distance = mw_distance(s->p, s->T);
    out->success = out->distance <= 0.07;
}

const mw_task mw_coffee_pull = {
    .xml = "sawyer_coffee.xml",
    .hand = { 0.0, 0.4, 0.2 },
    .n_random = 6,
    .low = { -0.05, 0.7, -0.001, -0.1, 0.55, -0.001 },
    .high = { 0.05, 0.75, 0.001, 0.1, 0.65, 0.001 },
    .apart = 0.15,
    .goal = MW_GOAL_SECOND,
    .objects = { { .at = MW_BODY("obj"), .turn = MW_TURN_MATRIX, .of = MW_GEOM("mug") } },
    .fixture = "coffee_machine",
    .fixture_from = MW_FROM_FIRST,
    .fixture_offset = { 0.0, 0.22, 0.0 },
    .cage = { 0.02, 0.05, 0.04, 0.05, 0.7, MW_MEDIUM },
    .reset = reset_coffee_mug,
    .reward = reward_coffee_mug,
};

const mw_task mw_coffee_push = {
    .xml = "sawyer_coffee.xml",
    .hand = { 0.0, 0.4, 0.2 },
    .n_random = 6,
    .low = { -0.1, 0.55, -0.001, -0.05, 0.7, -0.001 },
    .high = { 0.1, 0.65, 0.001, 0.05, 0.75, 0.001 },
    .apart = 0.15,
    .goal = MW_GOAL_SECOND,
    .objects = { { .at = MW_BODY("obj"), .turn = MW_TURN_MATRIX, .of = MW_GEOM("mug") } },
    .fixture = "coffee_machine",
    .fixture_from = MW_FROM_SECOND,
    .fixture_offset = { 0.0, 0.22, 0.0 },
    .cage = { 0.02, 0.05, 0.04, 0.05, 0.7, MW_MEDIUM },
    .reset = reset_coffee_mug,
    .reward = reward_coffee_mug,
};
