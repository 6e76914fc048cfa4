/*
 * A task library for the tests: compiled for another contract, and lists what may not be looked at.
 */
#include <tce/env.h>

TCE_API const tce_env_vtable *const *tce_tasks(int32_t *abi, size_t *n);

TCE_API const tce_env_vtable *const *tce_tasks(int32_t *abi, size_t *n)
{
    *abi = TCE_ENV_ABI + 1;
    *n = 1000;
    return (const tce_env_vtable *const *)(uintptr_t)1;
}
