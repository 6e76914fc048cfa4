/*
 * Faucets, a dial, a lever, handles and windows: things to turn, press, pull and slide. What they
 * have in common is extra, the place of the handle at the start of the episode.
 */
#include "metaworld.h"

#include <math.h>

#define PI 3.14159265358979323846

/* ---- faucet-open, faucet-close --------------------------------------------------------------- */

static void reset_faucet_open(mw_env *env, const double *v)
{
    mw_copy(env->o0, v);
    mw_put_fixture(env);
    mw_set(env->T, v, 0.175, 0.0, 0.125);
}

/* The handle to the target. */
static void turn_faucet(const mw_scene *s, const double *handle, mw_result *out)
{
    const double d = mw_distance(handle, s->T);
    const double in_place = mw_near(d, 0.07, fabs(mw_distance(s->o0, s->T) - 0.07));
    const double near = mw_near_gauss(mw_distance(handle, s->c), 0.01,
                                      fabs(mw_distance(s->o0, s->c0) - 0.01));
    out->success = d <= 0.07;
    out->reward = out->success ? 10.0 : 4.0 * near + 6.0 * in_place;
    out->distance = d;
}

static void reward_faucet_open(mw_env *env, const mw_scene *s, mw_result *out)
{
    (void)env;
    double handle[3];
    mw_set(handle, s->p, -0.04, 0.0, 0.03);
    turn_faucet(s, handle, out);
}

const mw_task mw_faucet_open = {
    .xml = "sawyer_faucet.xml",
    .hand = { 0.0, 0.4, 0.2 },
    .mocap_low = { -0.5, 0.4, -0.15 },
    .n_random = 3,
    .low = { -0.05, 0.8, 0.0 },
    .high = { 0.05, 0.85, 0.0 },
    .objects = { { .at = MW_SITE("handleStartOpen"),
                   .offset = { 0.0, 0.0, -0.01 },
                   .turn = MW_TURN_BODY,
                   .of = MW_BODY("faucetBase") } },
    .fixture = "faucetBase",
    .fixture_from = MW_FROM_FIRST,
    .v2_forward = 1,
    .reset = reset_faucet_open,
    .reward = reward_faucet_open,
};

static void reset_faucet_close(mw_env *env, const double *v)
{
    mw_copy(env->o0, v);
    mw_put_fixture(env);
    mw_set(env->T, v, -0.175, 0.0, 0.125);
    mw_forward(env);
}

static void reward_faucet_close(mw_env *env, const mw_scene *s, mw_result *out)
{
    (void)env;
    turn_faucet(s, s->p, out);
}

const mw_task mw_faucet_close = {
    .xml = "sawyer_faucet.xml",
    .hand = { 0.0, 0.4, 0.2 },
    .mocap_low = { -0.5, 0.4, -0.15 },
    .n_random = 3,
    .low = { -0.1, 0.8, 0.0 },
    .high = { 0.1, 0.85, 0.0 },
    .objects = { { .at = MW_SITE("handleStartClose"),
                   .offset = { 0.0, 0.0, -0.01 },
                   .turn = MW_TURN_BODY,
                   .of = MW_BODY("faucetBase") } },
    .fixture = "faucetBase",
    .fixture_from = MW_FROM_FIRST,
    .reset = reset_faucet_close,
    .reward = reward_faucet_close,
};

/* ---- dial-turn ------------------------------------------------------------------------------- */

enum { DIAL, KNOB_JOINT };

/* The mark on the dial's rim. */
static void locate_dial(const mw_env *env, double *out)
{
    const double angle = *part(env, KNOB_JOINT);
    mw_set(out, part(env, DIAL), 0.05 * sin(angle), -0.05 * cos(angle), 0.0);
}

/* Where to push the dial. */
static void dial_push(const double *dial, double *out)
{
    mw_set(out, dial, 0.05, 0.02, 0.09);
}

static void reset_dial_turn(mw_env *env, const double *v)
{
    double dial[3];
    mw_copy(env->o0, v);
    mw_set(env->T, v, 0.0, 0.03, 0.03);
    mw_put_fixture(env);
    mw_locate(env, dial);
    dial_push(dial, env->extra);
}

static void reward_dial_turn(mw_env *env, const mw_scene *s, mw_result *out)
{
    double dial[3], push[3];
    mw_locate(env, dial);
    dial_push(dial, push);
    const double d = mw_distance(dial, s->T);
    const double in_place = mw_near(d, 0.07, fabs(mw_distance(env->extra, s->T) - 0.07));
    const double near = mw_near_gauss(mw_distance(push, s->c), 0.005,
                                      fabs(mw_distance(env->extra, s->c0) - 0.005));
    out->reward = 10.0 * mw_hamacher(mw_hamacher(near, mw_clip(s->grip, 0.0, 1.0)), in_place);
    out->success = d <= 0.07;
    out->distance = d;
}

const mw_task mw_dial_turn = {
    .xml = "sawyer_dial.xml",
    .hand = { 0.0, 0.6f, 0.2f },
    .n_random = 3,
    .low = { -0.1, 0.7, 0.0 },
    .high = { 0.1, 0.8, 0.0 },
    .goal = MW_GOAL_BOX,
    .goal_low = { -0.1, 0.73, 0.0299 },
    .goal_high = { 0.1, 0.83, 0.0301 },
    .objects = { { .locate = locate_dial, .turn = MW_TURN_BODY, .of = MW_BODY("dial") } },
    .parts = { [DIAL] = MW_BODY("dial"), [KNOB_JOINT] = MW_JOINT("knob_Joint_1") },
    .fixture = "dial",
    .fixture_from = MW_FROM_FIRST,
    .n_extra = 3,
    .v2_forward = 1,
    .reset = reset_dial_turn,
    .reward = reward_dial_turn,
};

/* ---- lever-pull ------------------------------------------------------------------------------ */

enum { LEVER_JOINT };

static void reset_lever_pull(mw_env *env, const double *v)
{
    mw_copy(env->o0, v);
    mw_put_fixture(env);
    mw_set(env->extra, v, 0.12, -0.2, 0.25);
    mw_set(env->T, v, 0.12, 0.0, 0.45);
}

/*
 * The joint ends at 0 ... 1.57, so success means to press the lever through its soft limit and to
 * hold it there: as in the original.
 */
static void reward_lever_pull(mw_env *env, const mw_scene *s, mw_result *out)
{
    static const double S[3] = { 4.0, 1.0, 4.0 };
    double finger[3], finger0[3];
    mw_set(finger, s->h, 0.0, 0.055, 0.07);
    mw_set(finger0, s->c0, 0.0, 0.055, 0.07);
    out->distance = mw_distance_scaled(S, finger, s->p);
    const double near = mw_near(out->distance, 0.02, mw_distance_scaled(S, finger0, env->extra));
    const double in_place = mw_near(mw_distance(s->p, s->T), 0.04, mw_distance(env->extra, s->T));
    out->reward = 10.0 * mw_hamacher(near, in_place);
    out->success = fabs(-*part(env, LEVER_JOINT) - PI / 2.0) <= PI / 24.0;
}

const mw_task mw_lever_pull = {
    .xml = "sawyer_lever_pull.xml",
    .hand = { 0.0, 0.4f, 0.2f },
    .mocap_low = { -0.5, 0.4, -0.15 },
    .n_random = 3,
    .low = { -0.1, 0.7, 0.0 },
    .high = { 0.1, 0.8, 0.0 },
    .objects = { { .at = MW_SITE("leverStart"),
                   .turn = MW_TURN_MATRIX,
                   .of = MW_GEOM("objGeom") } },
    .parts = { [LEVER_JOINT] = MW_JOINT("LeverAxis") },
    .fixture = "lever",
    .fixture_from = MW_FROM_FIRST,
    .n_extra = 3,
    .v2_forward = 1,
    .reset = reset_lever_pull,
    .reward = reward_lever_pull,
};

/* ---- handle-press, handle-press-side --------------------------------------------------------- */

enum { HANDLE, HANDLE_GOAL };

static void reset_handle_press(mw_env *env, const double *v)
{
    static const double UP = -0.001;
    mw_copy(env->o0, v);
    mw_put_fixture(env);
    mw_place(env, MW_FIRST, 1, &UP, MW_FIRST, 1);
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
    mw_place(env, MW_FIRST, 1, &DOWN, MW_FIRST, 1);
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

/* ---- window-open, window-close --------------------------------------------------------------- */

/* No forward after the slide has moved: the first observation does not show it. */
static void reset_window_open(mw_env *env, const double *v)
{
    mw_copy(env->o0, v);
    mw_set(env->T, v, 0.2, 0.0, 0.0);
    mw_put_fixture(env);
    mw_copy(env->extra, part(env, HANDLE));
    env->data->qpos[MW_FIRST] = 0.0;
}

static void reward_window_open(mw_env *env, const mw_scene *s, mw_result *out)
{
    const double *handle = part(env, HANDLE);
    const double d = fabs(handle[0] - s->T[0]);
    const double in_place = mw_near(d, 0.05, fabs(fabs(s->o0[0] - s->T[0]) - 0.05));
    const double near = mw_near(mw_distance(handle, s->c), 0.02,
                                fabs(mw_distance(env->extra, s->c0) - 0.02));
    out->reward = 10.0 * mw_hamacher(near, in_place);
    out->success = d <= 0.05;
    out->distance = d;
}

const mw_task mw_window_open = {
    .xml = "sawyer_window_horizontal.xml",
    .hand = { 0.0, 0.4f, 0.2f },
    .n_random = 3,
    .low = { -0.1, 0.7, 0.16 },
    .high = { 0.1, 0.9, 0.16 },
    .objects = { { .at = MW_SITE("handleOpenStart") } },
    .parts = { [HANDLE] = MW_SITE("handleOpenStart") },
    .fixture = "window",
    .fixture_from = MW_FROM_FIRST,
    .n_extra = 3,
    .v2_forward = 1,
    .reset = reset_window_open,
    .reward = reward_window_open,
};

static void reset_window_close(mw_env *env, const double *v)
{
    mw_copy(env->o0, v);
    mw_copy(env->T, v);
    mw_put_fixture(env);
    mw_set(env->extra, part(env, HANDLE), 0.2, 0.0, 0.0);
    env->data->qpos[MW_FIRST] = 0.2;
}

static void reward_window_close(mw_env *env, const mw_scene *s, mw_result *out)
{
    const double *handle = part(env, HANDLE);
    const double d = fabs(handle[0] - s->T[0]);
    const double in_place = mw_near(d, 0.05, fabs(fabs(env->extra[0] - s->T[0]) - 0.05));
    const double near = mw_near_gauss(mw_distance(handle, s->c), 0.02,
                                      fabs(mw_distance(env->extra, s->c0) - 0.02));
    out->reward = 10.0 * mw_hamacher(near, in_place);
    out->success = d <= 0.05;
    out->distance = d;
}

const mw_task mw_window_close = {
    .xml = "sawyer_window_horizontal.xml",
    .hand = { 0.0, 0.4f, 0.2f },
    .n_random = 3,
    .low = { 0.0, 0.75, 0.2 },
    .high = { 0.0, 0.9, 0.2 },
    .objects = { { .at = MW_SITE("handleCloseStart") } },
    .parts = { [HANDLE] = MW_SITE("handleCloseStart") },
    .fixture = "window",
    .fixture_from = MW_FROM_FIRST,
    .n_extra = 3,
    .v2_forward = 1,
    .reset = reset_window_close,
    .reward = reward_window_close,
};
