/*
 * Buttons to press, on a wall and from above.
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
    mw_set_joint(env, OUT);
    mw_copy(env->T, part(env, HOLE));
    env->extra[0] = fabs(env->T[1] - part(env, BUTTON_START)[1]);
}

void mw_reward_button_press(mw_env *env, const mw_scene *s, mw_result *out)
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
    .reward = mw_reward_button_press,
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
