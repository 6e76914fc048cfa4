/*
 * The tasks of libtce_tasks.so; those of Metaworld are in metaworld/list.h. A task called swing has
 * the table TASK_swing, and a line here.
 */
#ifndef TASKS_TASKS_H
#define TASKS_TASKS_H

#include <tce/env.h>

#define TASKS_LIST(X)     \
    X(reacher5)           \
    X(point_via)          \
    X(swing)              \
    X(pendulum)           \
    X(context)            \
    X(box_pushing_dense)  \
    X(box_pushing_sparse) \
    X(hopper_jump)        \
    X(table_tennis)

#define TASKS_DECLARE(NAME) extern const tce_env_vtable TASK_##NAME;
TASKS_LIST(TASKS_DECLARE)

/* What the library exports, a tce_tasks_function; shared/step_cost.h has the other symbol. */
const tce_env_vtable *const *tce_tasks(int32_t *abi, size_t *n);

#endif
