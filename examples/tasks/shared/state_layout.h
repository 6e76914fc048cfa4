/*
 * Where the numbers of a MuJoCo task's state lie, without MuJoCo's types: two numbers that all
 * tasks have, the task's own struct of doubles (hopper_jump.h, ...), then qpos, qvel, the solver's
 * warm start, ctrl, position and quaternion of each mocap body, time.
 */
#ifndef TASKS_STATE_LAYOUT_H
#define TASKS_STATE_LAYOUT_H

#include <stddef.h>

enum {
    /*
     * 1 in a state that was put together: what follows from qpos and qvel is derived, the task's
     * numbers among it, and the warm start is the one that mj_forward finds. get_state gives 0.
     */
    STATE_DERIVE,
    STATE_STEP, /* steps taken */
    STATE_TASK  /* where the task's own numbers begin */
};

/* How many doubles a struct of them has, and where qpos begins behind it. */
#define STATE_COUNT(TYPE) (sizeof(TYPE) / sizeof(double))
#define STATE_QPOS(TYPE) (STATE_TASK + STATE_COUNT(TYPE))
/* Where a task's number lies in a state. */
#define STATE_AT(TYPE, FIELD) (STATE_TASK + offsetof(TYPE, FIELD) / sizeof(double))

#endif
