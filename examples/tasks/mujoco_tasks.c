/*
 * What libtce_tasks_mujoco.so exports: the list of the tasks that need MuJoCo.
 */
#include "metaworld/list.h"
#include "tasks.h"

#define ADDRESS(NAME) &TASK_##NAME,
#define METAWORLD_ADDRESS(NAME, WHAT) &TASK_metaworld_##NAME,

static const tce_env_vtable *const TASKS[] = { TASKS_MUJOCO(ADDRESS) /* */
                                               METAWORLD_TASKS(METAWORLD_ADDRESS) };

__attribute__((visibility("default"))) const tce_env_vtable *const *tce_tasks(int32_t *abi,
                                                                              size_t *n)
{
    *abi = TCE_ENV_ABI;
    *n = sizeof TASKS / sizeof TASKS[0];
    return TASKS;
}
