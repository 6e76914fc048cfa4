/*
 * Tasks with a button, and those with the coffee machine.
 */
#include "metaworld.h"

#include <math.h>

enum { HOLE, BUTTON_START };

/* ---- button-press, button-press-wall --------------------------------------------------------- */

/* extra[0]: the way that the button has to go. */
static void reset_button(mw_env *env, const double *v)
{
    static const double OUT = 0.0;
    mw_copy(env->o0, v);
    mw_put_fixture(env);
    mw_place(env, MW_FIRST, 1, &OUT, MW_FIRST, 1);
    mw_copy(env->T, part(env, HOLE));
    env->extra[0] = fabs(env->T[1] - part(env, BUTTON_START)[1]);
}

static void reward_button_press(mw_env *env, const mw_scene *s, mw_result *out)
{
    const double d = fabs(s->T[1] - s->p[1]);
    const double to_button = mw_distance(s->p, s->c);
    const double near = mw_near(to_button, 0.05, mw_distance(s->p, s->c0));
    out->reward = 2.0 * mw_hamacher(fmax(s->g, 0.0), near);
    if (to_button <= 0.05)
        out->reward += 8.0 * mw_near(d, 0.005, env->extra[0]);
    out->success = d <= 0.02;
    out->distance = d;
}

const mw_task mw_button_press = {
    .xml = "sawyer_button_press.xml",
    .hand = { 0.0, 0.4f, 0.2f },
    .n_random = 3,
    .low = { -0.1, 0.85, 0.115 },
    .high = { 0.1, 0.9, 0.115 },
    .objects = { { .at = MW_BODY("button"),
                   .offset = { 0.0, -0.193, 0.0 },
                   .turn = MW_TURN_BODY,
                   .of = MW_BODY("button") } },
    .parts = { [HOLE] = MW_SITE("hole"), [BUTTON_START] = MW_SITE("buttonStart") },
    .fixture = "box",
    .fixture_from = MW_FROM_FIRST,
    .n_extra = 1,
    .reset = reset_button,
    .reward = reward_button_press,
};

static void reward_button_press_wall(mw_env *env, const mw_scene *s, mw_result *out)
{
    const double d = fabs(s->T[1] - s->p[1]);
    const double to_button = mw_distance(s->p, s->c);
    if (to_button > 0.07) {
        out->reward = 2.0 * mw_hamacher((1.0 - s->g) / 2.0,
                                        mw_near(to_button, 0.01, mw_distance(s->p, s->c0)));
    } else {
        const double pressed = mw_near(d, 0.005, env->extra[0]);
        out->reward = 2.0 + 2.0 * (1.0 + s->g) + 4.0 * pressed * pressed;
    }
    out->success = d <= 0.03;
    out->distance = d;
}

const mw_task mw_button_press_wall = {
    .xml = "sawyer_button_press_wall.xml",
    .hand = { 0.0, 0.4f, 0.2f },
    .n_random = 3,
    .low = { -0.05, 0.85, 0.1149 },
    .high = { 0.05, 0.9, 0.1151 },
    .objects = { { .at = MW_BODY("button"),
                   .offset = { 0.0, -0.193, 0.0 },
                   .turn = MW_TURN_BODY,
                   .of = MW_BODY("button") } },
    .parts = { [HOLE] = MW_SITE("hole"), [BUTTON_START] = MW_SITE("buttonStart") },
    .fixture = "box",
    .fixture_from = MW_FROM_FIRST,
    .n_extra = 1,
    .reset = reset_button,
    .reward = reward_button_press_wall,
};

/* ---- button-press-topdown, button-press-topdown-wall ----------------------------------------- */

static void reset_button_topdown(mw_env *env, const double *v)
{
    mw_copy(env->o0, v);
    mw_put_fixture(env);
    mw_forward(env);
    mw_copy(env->T, part(env, HOLE));
    env->extra[0] = fabs(env->T[2] - part(env, BUTTON_START)[2]);
}

static void press_down(const mw_env *env, const mw_scene *s, double grip, mw_result *out)
{
    const double d = fabs(s->T[2] - s->p[2]);
    const double to_button = mw_distance(s->p, s->c);
    out->reward = 5.0 * mw_hamacher(grip, mw_near(to_button, 0.01, mw_distance(s->p, s->c0)));
    if (to_button <= 0.03)
        out->reward += 5.0 * mw_near(d, 0.005, env->extra[0]);
    out->success = d <= 0.024;
    out->distance = d;
}

static void reward_button_topdown(mw_env *env, const mw_scene *s, mw_result *out)
{
    press_down(env, s, 1.0 - s->g, out);
}

const mw_task mw_button_press_topdown = {
    .xml = "sawyer_button_press_topdown.xml",
    .hand = { 0.0, 0.4f, 0.2f },
    .n_random = 3,
    .low = { -0.1, 0.8, 0.115 },
    .high = { 0.1, 0.9, 0.115 },
    .objects = { { .at = MW_BODY("button"),
                   .offset = { 0.0, 0.0, 0.193 },
                   .turn = MW_TURN_BODY,
                   .of = MW_BODY("button") } },
    .parts = { [HOLE] = MW_SITE("hole"), [BUTTON_START] = MW_SITE("buttonStart") },
    .fixture = "box",
    .fixture_from = MW_FROM_FIRST,
    .n_extra = 1,
    .reset = reset_button_topdown,
    .reward = reward_button_topdown,
};

/* Profile 3 wants the gripper open here, profile 2 closed. */
static void reward_button_topdown_wall(mw_env *env, const mw_scene *s, mw_result *out)
{
    press_down(env, s, env->profile == 2.0 ? 1.0 - s->g : fmax(s->g, 0.0), out);
}

const mw_task mw_button_press_topdown_wall = {
    .xml = "sawyer_button_press_topdown_wall.xml",
    .hand = { 0.0, 0.4f, 0.2f },
    .n_random = 3,
    .low = { -0.1, 0.8, 0.115 },
    .high = { 0.1, 0.9, 0.115 },
    .objects = { { .at = MW_BODY("button"),
                   .offset = { 0.0, 0.0, 0.193 },
                   .turn = MW_TURN_BODY,
                   .of = MW_BODY("button") } },
    .parts = { [HOLE] = MW_SITE("hole"), [BUTTON_START] = MW_SITE("buttonStart") },
    .fixture = "box",
    .fixture_from = MW_FROM_FIRST,
    .n_extra = 1,
    .reset = reset_button_topdown,
    .reward = reward_button_topdown_wall,
};

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
    mw_set(mug, v, 0.0, -0.22, 0.0);
    place_mug(env, mug);
    mw_set(env->T, v, 0.0, -0.19, 0.3);
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
    .reward = reward_button_press,
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
