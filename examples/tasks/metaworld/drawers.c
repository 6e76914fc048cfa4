/*
 * A drawer, to push in and to pull out.
 */
#include "metaworld.h"

#include <math.h>

/* ---- drawer-close, drawer-open --------------------------------------------------------------- */

static void reset_drawer_close(mw_env *env, const double *v)
{
    static const double PULLED_OUT = -0.15;
    mw_put_fixture(env);
    mw_offset(env->T, v, 0.0, -0.16, 0.09);
    mw_place(env, MW_FIRST, 1, &PULLED_OUT, 0, 0);
    mw_locate(env, env->o0);
}

static void reward_drawer_close(mw_env *env, const mw_scene *s, mw_result *out)
{
    (void)env;
    const double d = mw_distance(s->p, s->T);
    const double in_place = mw_near(d, 0.05, fabs(mw_distance(s->o0, s->T) - 0.05));
    const double near = mw_near_gauss(mw_distance(s->p, s->c), 0.005,
                                      fabs(mw_distance(s->o0, s->c0) - 0.005));
    const double ready = mw_hamacher(near, mw_clip(s->grip, 0.0, 1.0));
    out->success = d <= 0.065;
    out->reward = out->success ? 10.0 : 10.0 * mw_hamacher(ready, in_place);
    out->distance = d;
}

const mw_task mw_drawer_close = {
    .xml = "sawyer_drawer.xml",
    .hand = { 0.0, 0.6f, 0.2f },
    .n_random = 3,
    .low = { -0.1, 0.9, 0.0 },
    .high = { 0.1, 0.9, 0.0 },
    .objects = { { .at = MW_BODY("drawer_link"), .offset = { 0.0, -0.16, 0.05 } } },
    .fixture = "drawer",
    .fixture_from = MW_FROM_FIRST,
    .reset = reset_drawer_close,
    .reward = reward_drawer_close,
};

static void reset_drawer_open(mw_env *env, const double *v)
{
    mw_copy(env->o0, v);
    mw_put_fixture(env);
    mw_offset(env->T, v, 0.0, -0.36, 0.09);
}

static void reward_drawer_open(mw_env *env, const mw_scene *s, mw_result *out)
{
    static const double S[3] = { 3.0, 3.0, 1.0 };
    (void)env;
    double handle0[3];
    mw_offset(handle0, s->T, 0.0, 0.2, 0.0);
    const double d = mw_distance(s->p, s->T);
    const double near = mw_near(mw_distance_scaled(S, s->p, s->h), 0.01,
                                mw_distance_scaled(S, handle0, s->c0));
    out->reward = 5.0 * (near + mw_near(d, 0.02, 0.2));
    out->success = d <= 0.03;
    out->distance = d;
}

const mw_task mw_drawer_open = {
    .xml = "sawyer_drawer.xml",
    .hand = { 0.0, 0.6f, 0.2f },
    .n_random = 3,
    .low = { -0.1, 0.9, 0.0 },
    .high = { 0.1, 0.9, 0.0 },
    .objects = { { .at = MW_BODY("drawer_link"),
                   .offset = { 0.0, -0.16, 0.0 },
                   .turn = MW_TURN_BODY,
                   .of = MW_BODY("drawer_link") } },
    .fixture = "drawer",
    .fixture_from = MW_FROM_FIRST,
    .v2_forward = 1,
    .reset = reset_drawer_open,
    .reward = reward_drawer_open,
};
