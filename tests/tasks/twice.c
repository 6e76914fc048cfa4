/*
 * A task library for the tests: two tasks of one name.
 */
#include "point.h"

static const tce_env_vtable FIRST = POINT_TASK("point");
static const tce_env_vtable SECOND = POINT_TASK("point");
static const tce_env_vtable *const TABLES[] = { &FIRST, &SECOND };

TCE_API const tce_env_vtable *const *tce_tasks(int32_t *abi, size_t *n);

TCE_API const tce_env_vtable *const *tce_tasks(int32_t *abi, size_t *n)
{
    *abi = TCE_ENV_ABI;
    *n = sizeof TABLES / sizeof TABLES[0];
    return TABLES;
}
