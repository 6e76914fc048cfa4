/*
 * A point on a line that goes where it is told: the smallest task there can be, for task libraries
 * that the tests load.
 */
#ifndef TCE_TESTS_TASKS_POINT_H
#define TCE_TESTS_TASKS_POINT_H

#include <stdlib.h>

#include <tce/env.h>

static tce_status point_create(void *user, const char *settings, void **out)
{
    (void)user;
    (void)settings;
    *out = calloc(1, sizeof(double));
    return *out ? TCE_OK : TCE_E_NOMEM;
}

static tce_status point_spec(void *instance, tce_env_spec *out)
{
    (void)instance;
    out->n_obs = 1;
    out->n_dof = 1;
    out->n_steps = 10;
    out->dt = 0.1;
    return TCE_OK;
}

static tce_status point_reset(void *instance, tce_random *random, double *out_obs, double *out_pos,
                              double *out_vel)
{
    (void)random;
    *(double *)instance = *out_obs = *out_pos = *out_vel = 0.0;
    return TCE_OK;
}

static tce_status point_step(void *instance, const double *pos, const double *vel, double *out_obs,
                             tce_env_result *out)
{
    (void)vel;
    *(double *)instance = *out_obs = *pos;
    out->reward = -*pos * *pos;
    return TCE_OK;
}

/* A complete table. */
#define POINT_TASK(task_name)                                                                  \
    {                                                                                          \
        .struct_size = sizeof(tce_env_vtable), .abi = TCE_ENV_ABI, .name = task_name,          \
        .description = "a point", .create = point_create, .destroy = free, .spec = point_spec, \
        .reset = point_reset, .step = point_step                                               \
    }

#endif
