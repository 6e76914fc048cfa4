/*
 * The tasks of libtce_tasks.so, one table each.
 */
#ifndef TASKS_TASKS_H
#define TASKS_TASKS_H

#include <tce/env.h>

extern const tce_env_vtable TASK_POINT_VIA;
extern const tce_env_vtable TASK_REACHER5;

#endif
