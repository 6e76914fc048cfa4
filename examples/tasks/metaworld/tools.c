/*
 * Tasks with a tool or a peg: a nut over a peg and off it, a hammer and a nail, a peg into a hole
 * and out of it, a stick that moves a container.
 */
#include "metaworld.h"

#include <math.h>

/* ---- assembly, disassemble ------------------------------------------------------------------- */

enum { NUT };

static const double NUT_UPRIGHT[4] = { 0.707, 0.0, 0.0, 0.707 };

/* The handle of a tool is long: the grip may be anywhere within `reach` of its middle along x. */
static void along_handle(const mw_scene *s, double reach, double *out)
{
    mw_copy(out, s->p);
    if (fabs(s->p[0] - s->h[0]) < reach)
        out[0] = s->h[0];
}

static void reset_assembly(mw_env *env, const double *v)
{
    mw_copy(env->o0, v);
    mw_copy(env->T, v + 3);
    mw_place_free(env, env->o0);
    mw_put_fixture(env);
}

static void reward_assembly(mw_env *env, const mw_scene *s, mw_result *out)
{
    static const double S[3] = { 1.0, 1.0, 3.0 };
    static const double ZERO[3] = { 0.0, 0.0, 0.0 };
    const double *nut = part(env, NUT);
    double handle[3];
    along_handle(s, 0.01, handle);
    const double held = mw_cage(s, &env->task->cage, handle, s->o0);

    /* way of the nut over a funnel around the peg */
    double way[3] = { s->T[0] - nut[0], s->T[1] - nut[1], s->T[2] - nut[2] };
    const double r = mw_distance_xy(s->T, nut);
    out->success = r < 0.02 && way[2] > 0.0;
    const double inner = out->success ? 0.02 : 0.01;
    way[2] = mw_funnel(r, inner, 0.02, 0.2) - nut[2];
    const double in_place = 0.1 * (nut[2] > 0.02 || r < inner) +
                            0.9 * mw_near(mw_distance_scaled(S, way, ZERO), 0.02, 0.4);
    out->reward = out->success ? 10.0
                               : (2.0 * held + 6.0 * in_place) * mw_upright(s->q, NUT_UPRIGHT, 0.4);
}

const mw_task mw_assembly = {
    .xml = "sawyer_assembly_peg.xml",
    .hand = { 0.0, 0.6f, 0.2f },
    .n_random = 6,
    .low = { 0.0, 0.6, 0.02, -0.1, 0.75, 0.1 },
    .high = { 0.0, 0.6, 0.02, 0.1, 0.85, 0.1 },
    .apart = 0.1,
    .goal = MW_GOAL_SECOND,
    .objects = { { .at = MW_SITE("RoundNut-8"), .turn = MW_TURN_BODY, .of = MW_BODY("RoundNut") } },
    .parts = { [NUT] = MW_SITE("RoundNut") },
    .fixture = "peg",
    .fixture_from = MW_FROM_SECOND,
    .fixture_offset = { 0.0, 0.0, -0.05 },
    .cage = { 0.015, 0.02, 0.01, 0.01, 1.0, MW_MEDIUM },
    .context = MW_SEES_GOAL,
    .reset = reset_assembly,
    .reward = reward_assembly,
};

static void reset_disassemble(mw_env *env, const double *v)
{
    mw_copy(env->o0, v);
    mw_offset(env->T, v, 0.0, 0.0, 0.15);
    mw_put_fixture(env);
    mw_forward(env);
    mw_place_free(env, env->o0);
}

static void reward_disassemble(mw_env *env, const mw_scene *s, mw_result *out)
{
    const double *nut = part(env, NUT);
    double handle[3], lifted[3];
    along_handle(s, 0.01, handle);
    mw_offset(lifted, s->T, 0.0, 0.0, 0.1);
    const double held = mw_cage(s, &env->task->cage, handle, s->o0);
    const double in_place = 0.1 * (nut[2] > 0.02) +
                            0.9 * mw_near(mw_distance(lifted, nut), 0.02, 0.2);
    out->success = s->p[2] > s->T[2];
    out->reward = out->success ? 10.0
                               : (2.0 * held + 6.0 * in_place) * mw_upright(s->q, NUT_UPRIGHT, 0.4);
}

/* The second part of v is only there to be drawn. */
const mw_task mw_disassemble = {
    .xml = "sawyer_assembly_peg.xml",
    .hand = { 0.0, 0.4f, 0.2f },
    .n_random = 6,
    .low = { 0.0, 0.6, 0.025, -0.1, 0.6, 0.1699 },
    .high = { 0.1, 0.75, 0.02501, 0.1, 0.75, 0.1701 },
    .apart = 0.1,
    .goal = MW_GOAL_BOX,
    .goal_low = { -0.1, 0.6, 0.1749 },
    .goal_high = { 0.1, 0.75, 0.1751 },
    .objects = { { .at = MW_SITE("RoundNut-8"), .turn = MW_TURN_BODY, .of = MW_BODY("RoundNut") } },
    .parts = { [NUT] = MW_SITE("RoundNut") },
    .fixture = "peg",
    .fixture_from = MW_FROM_FIRST,
    .fixture_offset = { 0.0, 0.0, 0.03 },
    .cage = { 0.015, 0.02, 0.01, 0.01, 1.0, MW_HIGH },
    .reset = reset_disassemble,
    .reward = reward_disassemble,
};

/* ---- hammer ---------------------------------------------------------------------------------- */

enum { NAIL_GOAL, NAIL_JOINT };

static void reset_hammer(mw_env *env, const double *v)
{
    mw_put_fixture(env);
    mw_copy(env->T, part(env, NAIL_GOAL));
    mw_copy(env->o0, v);
    mw_place_free(env, env->o0);
}

static void reward_hammer(mw_env *env, const mw_scene *s, mw_result *out)
{
    static const double LEVEL[4] = { 1.0, 0.0, 0.0, 0.0 };
    double handle[3], head[3];
    mw_offset(head, s->p, 0.16, 0.06, 0.0);
    along_handle(s, 0.07, handle);
    const double held = mw_cage(s, &env->task->cage, handle, s->o0);
    const double in_place = 0.1 * (head[2] > 0.02) +
                            0.9 * mw_near(mw_distance(s->T, head), 0.02, 0.2);
    out->reward = (2.0 * held + 6.0 * in_place) * mw_upright(s->q, LEVEL, 0.4);
    out->success = *part(env, NAIL_JOINT) > 0.09;
    if (out->success && out->reward > 5.0)
        out->reward = 10.0;
}

const mw_task mw_hammer = {
    .xml = "sawyer_hammer.xml",
    .hand = { 0.0, 0.4, 0.2 },
    .n_random = 3,
    .low = { -0.1, 0.4, 0.0 },
    .high = { 0.1, 0.5, 0.0 },
    .goal = MW_GOAL_BOX,
    .goal_low = { 0.2399, 0.7399, 0.109 },
    .goal_high = { 0.2401, 0.7401, 0.111 },
    .objects = { { .at = MW_BODY("hammer"), .turn = MW_TURN_BODY, .of = MW_BODY("hammer") },
                 { .at = MW_BODY("nail_link"), .turn = MW_TURN_BODY, .of = MW_BODY("nail_link") } },
    .parts = { [NAIL_GOAL] = MW_SITE("goal"), [NAIL_JOINT] = MW_JOINT("NailSlideJoint") },
    .fixture = "box",
    .fixture_offset = { 0.24, 0.85, 0.0 },
    .cage = { 0.015, 0.02, 0.01, 0.01, 1.0, MW_HIGH },
    .reset = reset_hammer,
    .reward = reward_hammer,
};

/* ---- peg-insert-side, peg-unplug-side -------------------------------------------------------- */

enum { PEG_HEAD, LOWER_1, UPPER_1, LOWER_2, UPPER_2, PEG_END = 0 };

/* extra: the peg's head before the peg is put, as in the original. */
static void reset_peg_insert_side(mw_env *env, const double *v)
{
    mw_copy(env->o0, v);
    mw_copy(env->extra, part(env, PEG_HEAD));
    mw_place_free(env, env->o0);
    mw_put_fixture(env);
    mw_offset(env->T, v + 3, 0.03, 0.0, 0.13);
}

static void reward_peg_insert_side(mw_env *env, const mw_scene *s, mw_result *out)
{
    static const double S[3] = { 1.0, 2.0, 2.0 };
    const double *head = part(env, PEG_HEAD);
    const double d = mw_distance_scaled(S, head, s->T);

    /* the head must not go through the two blocks beside the hole */
    const double block_1 = mw_prism(head, part(env, LOWER_1), part(env, UPPER_1));
    const double block_2 = mw_prism(head, part(env, LOWER_2), part(env, UPPER_2));
    const double in_place = mw_hamacher(mw_near(d, 0.07, mw_distance_scaled(S, env->extra, s->T)),
                                        mw_hamacher(block_2, block_1));

    const int lifted = mw_distance(s->p, s->c) < 0.08 && s->g > 0.0 && s->p[2] - 0.01 > s->o0[2];
    const double held = lifted ? 1.0 : mw_cage(s, &env->task->cage, s->p, s->o0);
    out->reward = mw_hamacher(held, in_place);
    if (lifted)
        out->reward += 1.0 + 5.0 * in_place;
    if (d <= 0.07)
        out->reward = 10.0;
    out->success = d <= 0.07;
    out->distance = d;
}

const mw_task mw_peg_insert_side = {
    .xml = "sawyer_peg_insertion_side.xml",
    .hand = { 0.0, 0.6, 0.2 },
    .n_random = 6,
    .low = { 0.0, 0.5, 0.02, -0.35, 0.4, -0.001 },
    .high = { 0.2, 0.7, 0.02, -0.25, 0.7, 0.001 },
    .apart = 0.1,
    .goal = MW_GOAL_BOX,
    .goal_low = { -0.32, 0.4, 0.129 },
    .goal_high = { -0.22, 0.7, 0.131 },
    .objects = { { .at = MW_SITE("pegGrasp"), .turn = MW_TURN_MATRIX, .of = MW_SITE("pegGrasp") } },
    .parts = { [PEG_HEAD] = MW_SITE("pegHead"),
               [LOWER_1] = MW_SITE("bottom_right_corner_collision_box_1"),
               [UPPER_1] = MW_SITE("top_left_corner_collision_box_1"),
               [LOWER_2] = MW_SITE("bottom_right_corner_collision_box_2"),
               [UPPER_2] = MW_SITE("top_left_corner_collision_box_2") },
    .fixture = "box",
    .fixture_from = MW_FROM_SECOND,
    .n_extra = 3,
    .cage = { 0.0075, 0.03, 0.01, 0.005, 1.0, MW_HIGH },
    .reset = reset_peg_insert_side,
    .reward = reward_peg_insert_side,
};

static void reset_peg_unplug_side(mw_env *env, const double *v)
{
    double plug[7] = { 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0 };
    mw_put_fixture(env);
    mw_offset(plug, v, 0.044, 0.0, 0.131);
    mw_place(env, MW_FIRST, 7, plug, MW_FIRST, 3);
    mw_copy(env->o0, part(env, PEG_END));
    mw_offset(env->T, plug, 0.15, 0.0, 0.0);
}

static void reward_peg_unplug_side(mw_env *env, const mw_scene *s, mw_result *out)
{
    const double d = mw_distance(s->p, s->T);
    const double held = mw_cage(s, &env->task->cage, s->p, s->o0);
    const double in_place = mw_near(d, 0.05, mw_distance(s->o0, s->T));
    out->reward = 2.0 * held;
    if (s->g > 0.5 && s->p[0] - s->o0[0] > 0.015 && mw_distance(s->p, s->c) < 0.035)
        out->reward = 1.0 + 2.0 * held + 5.0 * in_place;
    if (d <= 0.05)
        out->reward = 10.0;
    out->success = d <= 0.07;
    out->distance = d;
}

const mw_task mw_peg_unplug_side = {
    .xml = "sawyer_peg_unplug_side.xml",
    .hand = { 0.0, 0.6, 0.2 },
    .n_random = 3,
    .low = { -0.25, 0.6, -0.001 },
    .high = { -0.15, 0.8, 0.001 },
    .goal = MW_GOAL_BOX,
    .goal_low = { -0.25 + 0.194, 0.6, -0.001 + 0.131 },
    .goal_high = { -0.15 + 0.194, 0.8, 0.001 + 0.131 },
    .objects = { { .at = MW_SITE("pegEnd"), .turn = MW_TURN_BODY, .of = MW_BODY("plug1") } },
    .parts = { [PEG_END] = MW_SITE("pegEnd") },
    .fixture = "box",
    .fixture_from = MW_FROM_FIRST,
    .cage = { 0.025, 0.05, 0.01, 0.005, 0.8, MW_HIGH },
    .reset = reset_peg_unplug_side,
    .reward = reward_peg_unplug_side,
};

/* ---- stick-push, stick-pull ------------------------------------------------------------------ */

enum { INSERTION, CONTAINER, STICK_END };
enum { AT_CONTAINER = 16 }; /* its two slides in qpos */

/*
 * The stick at the first part of v, the container's slides as given. extra: the stick's place; o0:
 * the container's.
 */
static void put_stick(mw_env *env, const double *v, const double *slides)
{
    mw_point(env->extra, v[0], v[1], 0.02);
    mw_place_free(env, env->extra);
    mw_place(env, AT_CONTAINER, 2, slides, AT_CONTAINER, 1);
    mw_copy(env->o0, part(env, CONTAINER));
}

static void reset_stick_push(mw_env *env, const double *v)
{
    static const double SLIDES[2] = { 0.0, 0.0 };
    mw_point(env->T, v[3], v[4], part(env, INSERTION)[2]);
    put_stick(env, v, SLIDES);
}

static void reward_stick_push(mw_env *env, const mw_scene *s, mw_result *out)
{
    const double *s0 = env->extra;
    double stick[3];
    mw_offset(stick, s->p, 0.015, 0.0, 0.0);
    const double in_place = mw_near(mw_distance(stick, s->T), 0.12, mw_distance(s0, s->T) - 0.12);
    const double d = mw_distance(s->p2, s->T);
    const double pushed = mw_near(d, 0.12, mw_distance(s->o0, s->T) - 0.12);
    out->reward = mw_cage(s, &env->task->cage, stick, s0);
    if (mw_distance(stick, s->c) < 0.02 && s->g > 0.0 && stick[2] - 0.01 > s0[2])
        out->reward = d <= 0.12 ? 10.0 : 2.0 + 5.0 * in_place + 3.0 * pushed;
    out->success = d <= 0.12 && s->g > 0.0 && s->p[2] - 0.01 > s0[2] &&
                   (env->profile == 2.0 || mw_both_pads_press(env, "objGeom"));
    out->distance = d;
}

const mw_task mw_stick_push = {
    .xml = "sawyer_stick_obj.xml",
    .hand = { 0.0, 0.6, 0.2 },
    .n_random = 6,
    .low = { -0.08, 0.58, 0.0, 0.399, 0.55, 0.1319 },
    .high = { -0.03, 0.62, 0.001, 0.401, 0.6, 0.1321 },
    .apart = 0.1,
    .goal = MW_GOAL_SECOND,
    .objects = { { .at = MW_BODY("stick"), .turn = MW_TURN_MATRIX, .of = MW_BODY("stick") },
                 { .at = MW_SITE("insertion"), .offset = { 0.0, 0.09, 0.0 } } },
    .parts = { [INSERTION] = MW_SITE("insertion"), [CONTAINER] = MW_BODY("object") },
    .n_extra = 3,
    .cage = { 0.04, 0.05, 0.01, 0.01, 1.0, MW_HIGH },
    .reset = reset_stick_push,
    .reward = reward_stick_push,
};

static void reset_stick_pull(mw_env *env, const double *v)
{
    static const double SLIDES[2] = { 0.0, 0.09 };
    mw_point(env->T, v[3], v[4], 0.02);
    put_stick(env, v, SLIDES);
}

/* The cage is measured from the container's place, not from the stick's: as in the original. */
static void reward_stick_pull(mw_env *env, const mw_scene *s, mw_result *out)
{
    static const double S[3] = { 1.0, 1.0, 2.0 };
    const double *s0 = env->extra, *handle = s->p2, *end = part(env, STICK_END);
    double container[3], container0[3];
    mw_offset(container, handle, 0.05, 0.0, 0.0);
    mw_offset(container0, s->o0, 0.05, 0.0, 0.0);
    const double at_container = mw_near(mw_distance_scaled(S, s->p, container), 0.05,
                                        mw_distance_scaled(S, s0, container0));
    const double stick_in_place = mw_near(mw_distance(s->p, s->T), 0.05, mw_distance(s0, s->T));
    const double pulled = mw_near(mw_distance(container, s->T), 0.05, mw_distance(s->o0, s->T));
    const double d = mw_distance(handle, s->T);
    const int lifted = mw_distance(s->p, s->c) < 0.02 && s->g > 0.0 && s->p[2] - 0.01 > s0[2];
    const int inserted = end[0] >= handle[0] && fabs(end[1] - handle[1]) <= 0.04 &&
                         fabs(end[2] - handle[2]) <= 0.06;

    const double base = mw_hamacher(lifted ? 1.0 : mw_cage(s, &env->task->cage, s->p, s->o0),
                                    at_container);
    out->reward = base;
    if (lifted)
        out->reward = 1.0 + base + 5.0 * at_container;
    if (lifted && inserted)
        out->reward = d <= 0.12 ? 10.0 : 6.0 + base + 2.0 * stick_in_place + pulled;
    out->success = d <= 0.12 && inserted;
    out->distance = d;
}

const mw_task mw_stick_pull = {
    .xml = "sawyer_stick_obj.xml",
    .hand = { 0.0, 0.6, 0.2 },
    .mocap_low = { -0.5, 0.35, 0.05 },
    .n_random = 6,
    .low = { -0.1, 0.55, 0.0, 0.35, 0.45, 0.0199 },
    .high = { 0.0, 0.65, 0.001, 0.45, 0.55, 0.0201 },
    .apart = 0.1,
    .goal = MW_GOAL_SECOND,
    .objects = { { .at = MW_BODY("stick"), .turn = MW_TURN_MATRIX, .of = MW_BODY("stick") },
                 { .at = MW_SITE("insertion") } },
    .parts = { [CONTAINER] = MW_BODY("object"), [STICK_END] = MW_SITE("stick_end") },
    .n_extra = 3,
    .cage = { 0.014, 0.05, 0.01, 0.01, 1.0, MW_HIGH },
    .reset = reset_stick_pull,
    .reward = reward_stick_pull,
};
