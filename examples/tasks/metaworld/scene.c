/*
 * What is seen of the simulation, by the policy and by the rewards: frames, observations, contacts.
 */
#include <string.h>

#include "metaworld.h"

/* where the parts of frame and observation begin */
enum {
    AT_HAND = 0,
    AT_OPENING = 3,
    AT_OBJECT = 4,
    N_OBJECT = 7,
    AT_TURN = 3,
    AT_GOAL = 2 * MW_N_FRAME
};

#define OPENING_SCALE 0.1 /* m between the claws that count as 1 */

/* what is observed of the hand */
static const double HAND_LOW[3] = { -0.525, 0.348, -0.0525 };
static const double HAND_HIGH[3] = { 0.525, 1.025, 0.7 };

static void locate(const mw_env *env, int i, double *out)
{
    const mw_object *object = &env->task->objects[i];
    if (object->locate)
        object->locate(env, out);
    else
        mw_offset(out, env->object_at[i], object->offset[0], object->offset[1], object->offset[2]);
}

void mw_locate(const mw_env *env, double *out)
{
    locate(env, 0, out);
}

void mw_read_frame(const mw_env *env, double *out)
{
    memset(out, 0, MW_N_FRAME * sizeof *out);
    mw_copy(out + AT_HAND, env->hand);
    out[AT_OPENING] = mw_clip(mw_distance(env->claw[0], env->claw[1]) / OPENING_SCALE, 0.0, 1.0);
    for (int i = 0; i < 2; i++) {
        const mw_object *object = &env->task->objects[i];
        double *to = out + AT_OBJECT + N_OBJECT * i;
        if (!object->at.name && !object->locate)
            break;
        locate(env, i, to);
        if (object->turn == MW_TURN_UNIT)
            to[AT_TURN] = 1.0;
        else if (object->turn == MW_TURN_BODY)
            memcpy(to + AT_TURN, env->object_turn[i], 4 * sizeof *to);
        else if (object->turn == MW_TURN_MATRIX)
            mw_quaternion_xyzw(env->object_turn[i], to + AT_TURN);
    }
}

void mw_observe(const void *instance, double *out)
{
    const mw_env *env = instance;
    memcpy(out, env->s.frame, sizeof env->s.frame);
    memcpy(out + MW_N_FRAME, env->s.before, sizeof env->s.before);
    for (int i = 0; i < 3; i++)
        out[AT_GOAL + i] = env->hidden_goal ? 0.0 : env->T[i];
    if (env->base.step == 0.0)
        return;
    for (int i = 0; i < 3; i++) {
        out[i] = mw_clip(out[i], HAND_LOW[i], HAND_HIGH[i]);
        out[MW_N_FRAME + i] = mw_clip(out[MW_N_FRAME + i], HAND_LOW[i], HAND_HIGH[i]);
        if (!env->hidden_goal)
            out[AT_GOAL + i] = mw_clip(out[AT_GOAL + i], env->goal_low[i], env->goal_high[i]);
    }
}

void mw_tool_centre(const mw_env *env, double *out)
{
    for (int i = 0; i < 3; i++)
        out[i] = (env->tool[0][i] + env->tool[1][i]) / 2.0;
}

void mw_judge(mw_env *env)
{
    double obs[MW_N_OBS];
    mw_result result = { 0 };
    mw_observe(env, obs);
    mw_scene s = {
        .h = obs + AT_HAND,
        .g = obs[AT_OPENING],
        .p = obs + AT_OBJECT,
        .q = obs + AT_OBJECT + AT_TURN,
        .p2 = obs + AT_OBJECT + N_OBJECT,
        .grip = env->s.action[3],
        .left = env->pad[0],
        .right = env->pad[1],
        .c0 = env->c0,
        .o0 = env->o0,
        .T = env->T,
    };
    mw_tool_centre(env, s.c);
    env->task->reward(env, &s, &result);
    env->s.reward = result.reward;
    env->s.success = result.success;
    env->s.distance = result.distance;
}

int mw_both_pads_press(const mw_env *env, const char *geom)
{
    static const char *const PADS[] = { "leftpad_geom", "rightpad_geom" };
    const mjData *d = env->data;
    const int object = mj_name2id(&env->model, mjOBJ_GEOM, geom);
    int both = 1;
    for (int k = 0; k < 2; k++) {
        const int pad = mj_name2id(&env->model, mjOBJ_GEOM, PADS[k]);
        double force = 0.0;
        for (int i = 0; i < d->ncon; i++) {
            const mjContact *contact = &d->contact[i];
            const int pair = (contact->geom[0] == pad && contact->geom[1] == object) ||
                             (contact->geom[1] == pad && contact->geom[0] == object);
            if (pair && contact->efc_address >= 0)
                force += d->efc_force[contact->efc_address];
        }
        both = both && force > 0.0;
    }
    return both;
}
