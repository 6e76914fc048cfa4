/*
 * The numbers of Box Pushing's state, as get_state and set_state have them.
 *
 * Those before BOX_STATE_WARM say all about an episode. Those from there on are what the last
 * physics step left behind, without which the next one would differ in its last digits; a NaN at
 * BOX_STATE_WARM in set_state means: derive them, as after a reset.
 */
#ifndef TASKS_BOX_PUSHING_H
#define TASKS_BOX_PUSHING_H

enum { BOX_NQ = 16, BOX_NV = 15 };

enum {
    BOX_STATE_QPOS = 0,                       /* arm 7, fingers 2, box 7: position and quaternion */
    BOX_STATE_QVEL = BOX_STATE_QPOS + BOX_NQ, /* arm 7, fingers 2, box 6 */
    BOX_STATE_TARGET = BOX_STATE_QVEL + BOX_NV, /* position and quaternion */
    BOX_STATE_STEP = BOX_STATE_TARGET + 7,      /* steps taken */
    BOX_STATE_ENERGY,                           /* sum of squared torques so far */
    BOX_STATE_WARM,                             /* where the solver starts */
    BOX_STATE_BIAS = BOX_STATE_WARM + BOX_NV,   /* gravity and Coriolis forces of the arm */
    BOX_STATE_BOX = BOX_STATE_BIAS + 7,         /* pose of the box as last observed */
    BOX_STATE_TERMS = BOX_STATE_BOX + 7, /* distance, angle, tilt of the rod, violation of limits */
    BOX_STATE_SEARCH = BOX_STATE_TERMS + 4, /* arm start: rounds, tries, error */
    BOX_N_STATE = BOX_STATE_SEARCH + 3
};

#endif
