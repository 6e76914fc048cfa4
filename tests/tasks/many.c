/*
 * A task library for the tests: a dozen tasks with names that are like each other.
 */
#include "point.h"

#define TASK(number) static const tce_env_vtable TASK_##number = POINT_TASK("task_" #number)

TASK(01);
TASK(02);
TASK(03);
TASK(04);
TASK(05);
TASK(06);
TASK(07);
TASK(08);
TASK(09);
TASK(10);
TASK(11);
TASK(12);
static const tce_env_vtable *const TABLES[] = { &TASK_01, &TASK_02, &TASK_03, &TASK_04,
                                                &TASK_05, &TASK_06, &TASK_07, &TASK_08,
                                                &TASK_09, &TASK_10, &TASK_11, &TASK_12 };

TCE_API const tce_env_vtable *const *tce_tasks(int32_t *abi, size_t *n);

TCE_API const tce_env_vtable *const *tce_tasks(int32_t *abi, size_t *n)
{
    *abi = TCE_ENV_ABI;
    *n = sizeof TABLES / sizeof TABLES[0];
    return TABLES;
}
