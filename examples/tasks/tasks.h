/*
 * The tasks of libtce_tasks.so, one table each; those of Metaworld are in metaworld/list.h.
 */
#ifndef TASKS_TASKS_H
#define TASKS_TASKS_H

#include <tce/env.h>

/* What the library exports, a tce_tasks_function; physics.h has the other symbol. */
const tce_env_vtable *const *tce_tasks(int32_t *abi, size_t *n);

extern const tce_env_vtable TASK_BOX_PUSHING_DENSE;
extern const tce_env_vtable TASK_BOX_PUSHING_SPARSE;
extern const tce_env_vtable TASK_HOPPER_JUMP;
extern const tce_env_vtable TASK_POINT_VIA;
extern const tce_env_vtable TASK_REACHER5;
extern const tce_env_vtable TASK_TABLE_TENNIS;

#endif
