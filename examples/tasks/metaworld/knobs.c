/*
 * Faucets, a dial and a lever: things to turn. extra is where the dial or lever is pushed at the
 * start of the episode.
 */
#include "metaworld.h"

#include <math.h>

#define PI 3.14159265358979323846

/* ---- faucet-open, faucet-close --------------------------------------------------------------- */

static void reset_faucet_open(mw_env *env, const double *v)
{
    mw_copy(env->o0, v);
    mw_put_fixture(env);
    mw_offset(env->T, v, 0.175, 0.0, 0.125);
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
    mw_offset(handle, s->p, -0.04, 0.0, 0.03);
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
    mw_offset(env->T, v, -0.175, 0.0, 0.125);
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
    mw_offset(out, part(env, DIAL), 0.05 * sin(angle), -0.05 * cos(angle), 0.0);
}

/* Where to push the dial. */
static void dial_push(const double *dial, double *out)
{
    mw_offset(out, dial, 0.05, 0.02, 0.09);
}

static void reset_dial_turn(mw_env *env, const double *v)
{
    double dial[3];
    mw_copy(env->o0, v);
    mw_offset(env->T, v, 0.0, 0.03, 0.03);
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
    mw_offset(env->extra, v, 0.12, -0.2, 0.25);
    mw_offset(env->T, v, 0.12, 0.0, 0.45);
}

/*
 * The joint ends at 0 ... 1.57, so success means to press the lever through its soft limit and to
 * hold it there: as in the original.
 */
static void reward_lever_pull(mw_env *env, const mw_scene *s, mw_result *out)
{
    static const double S[3] = { 4.0, 1.0, 4.0 };
    double finger[3], finger0[3];
    mw_offset(finger, s->h, 0.0, 0.055, 0.07);
    mw_offset(finger0, s->c0, 0.0, 0.055, 0.07);
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
