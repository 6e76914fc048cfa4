/*
 * A task library for the tests: no task in it.
 */
#include <tce/env.h>

TCE_API const tce_env_vtable *const *tce_tasks(int32_t *abi, size_t *n);

TCE_API const tce_env_vtable *const *tce_tasks(int32_t *abi, size_t *n)
{
    *abi = TCE_ENV_ABI;
    *n = 0;
    return NULL;
}
