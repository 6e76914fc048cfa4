/*
 * A task library for the tests: the second task cannot be stepped.
 */
#include "point.h"

static const tce_env_vtable POINT = POINT_TASK("point");
static const tce_env_vtable STATUE = {
    .struct_size = sizeof(tce_env_vtable),
    .abi = TCE_ENV_ABI,
    .name = "statue",
    .description = "never moves",
    .create = point_create,
    .destroy = free,
    .spec = point_spec,
    .reset = point_reset,
};
static const tce_env_vtable *const TABLES[] = { &POINT, &STATUE };

TCE_API const tce_env_vtable *const *tce_tasks(int32_t *abi, size_t *n);

TCE_API const tce_env_vtable *const *tce_tasks(int32_t *abi, size_t *n)
{
    *abi = TCE_ENV_ABI;
    *n = sizeof TABLES / sizeof TABLES[0];
    return TABLES;
}
