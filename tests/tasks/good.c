/*
 * A task library for the tests: three good tasks.
 */
#include "point.h"

static const tce_env_vtable POINT = POINT_TASK("point");
static const tce_env_vtable REACHER = POINT_TASK("reacher5");
static const tce_env_vtable BOX = POINT_TASK("box_pushing_dense");
static const tce_env_vtable *const TABLES[] = { &POINT, &REACHER, &BOX };

TCE_API const tce_env_vtable *const *tce_tasks(int32_t *abi, size_t *n);

TCE_API const tce_env_vtable *const *tce_tasks(int32_t *abi, size_t *n)
{
    *abi = TCE_ENV_ABI;
    *n = sizeof TABLES / sizeof TABLES[0];
    return TABLES;
}
