/*
 * A task library for the tests: needs a function that nobody has.
 */
#include <tce/env.h>

const tce_env_vtable *const *tce_test_function_that_nobody_has(void);

TCE_API const tce_env_vtable *const *tce_tasks(int32_t *abi, size_t *n);

TCE_API const tce_env_vtable *const *tce_tasks(int32_t *abi, size_t *n)
{
    *abi = TCE_ENV_ABI;
    *n = 1;
    return tce_test_function_that_nobody_has();
}
