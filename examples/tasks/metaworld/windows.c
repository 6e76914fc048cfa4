/*
 * A window, to slide open and shut. extra is the place of its handle at the start of the episode.
 */
#include "metaworld.h"

#include <math.h>

enum { HANDLE };

/* ---- window-open, window-close --------------------------------------------------------------- */

/* No forward after the slide has moved: the first observation does not show it. */
static void reset_window_open(mw_env *env, const double *v)
{
    mw_copy(env->o0, v);
    mw_offset(env->T, v, 0.2, 0.0, 0.0);
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
    mw_offset(env->extra, part(env, HANDLE), 0.2, 0.0, 0.0);
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
