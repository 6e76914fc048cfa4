/*
 * What libtce_tasks.so exports: the list of its tasks.
 */
#include "metaworld/list.h"
#include "tasks.h"

#define ADDRESS(NAME, WHAT) &TASK_METAWORLD_##NAME,

static const tce_env_vtable *const TASKS[] = { &TASK_REACHER5,          &TASK_POINT_VIA,
                                               &TASK_BOX_PUSHING_DENSE, &TASK_BOX_PUSHING_SPARSE,
                                               &TASK_HOPPER_JUMP,       &TASK_TABLE_TENNIS,
                                               METAWORLD_TASKS(ADDRESS) };

__attribute__((visibility("default"))) const tce_env_vtable *const *tce_tasks(int32_t *abi,
                                                                              size_t *n)
{
    *abi = TCE_ENV_ABI;
    *n = sizeof TASKS / sizeof TASKS[0];
    return TASKS;
}
