/*
 * The tasks of libtce_tasks.so: those without simulator are in it, those on MuJoCo in
 * libtce_tasks_mujoco.so beside it, with Metaworld's, which metaworld/list.h has. A task called
 * swing has the table TASK_swing, and a line here.
 */
#ifndef TASKS_TASKS_H
#define TASKS_TASKS_H

#include <tce/env.h>

#define TASKS_PLAIN(X) \
    X(point_via)       \
    X(pendulum)        \
    X(context)

#define TASKS_MUJOCO(X)   \
    X(reacher5)           \
    X(swing)              \
    X(box_pushing_dense)  \
    X(box_pushing_sparse) \
    X(hopper_jump)        \
    X(table_tennis)

#define TASKS_DECLARE(NAME) extern const tce_env_vtable TASK_##NAME;
TASKS_PLAIN(TASKS_DECLARE)
TASKS_MUJOCO(TASKS_DECLARE)

/*
 * What each of the two libraries exports, a tce_tasks_function: libtce_tasks.so all tasks,
 * libtce_tasks_mujoco.so its own. shared/step_cost.h has the other symbol of the second.
 */
const tce_env_vtable *const *tce_tasks(int32_t *abi, size_t *n);

#endif
