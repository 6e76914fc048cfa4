/*
 * Where the numbers of a Metaworld environment's state lie, for tests that put one together: the
 * task's own numbers, then those of packed.h: qpos, qvel, warm start, ctrl, mocap position and
 * quaternion, time.
 */
#ifndef METAWORLD_STATE_H
#define METAWORLD_STATE_H

enum { MW_N_FRAME = 18, MW_N_OBS = 2 * MW_N_FRAME + 3, MW_N_STEPS = 500 };

enum {
    /*
     * 1: what follows from the physics (present frame, reward, success, distance) is derived, as if
     * a step with `action` had just ended here; the warm start is not looked at. get_state gives 0.
     */
    MW_STATE_DERIVE,
    MW_STATE_STEP, /* steps taken */
    /* where the reset put the fixture of the task; it stays there until the next */
    MW_STATE_FIXTURE,
    MW_STATE_TARGET = MW_STATE_FIXTURE + 3, /* T */
    MW_STATE_TOOL = MW_STATE_TARGET + 3,    /* c0 */
    MW_STATE_OBJECT = MW_STATE_TOOL + 3,    /* o0 */
    /* a further point or number that the task keeps, and how many numbers it has */
    MW_STATE_EXTRA = MW_STATE_OBJECT + 3,
    MW_STATE_N_EXTRA = MW_STATE_EXTRA + 3,
    MW_STATE_ACTION,                       /* the last action */
    MW_STATE_REWARD = MW_STATE_ACTION + 4, /* what it brought */
    MW_STATE_SUCCESS,
    MW_STATE_DISTANCE,
    MW_STATE_FRAME, /* present frame and the one before, not clipped */
    MW_STATE_BEFORE = MW_STATE_FRAME + MW_N_FRAME,
    MW_N_TASK = MW_STATE_BEFORE + MW_N_FRAME
};

#endif
