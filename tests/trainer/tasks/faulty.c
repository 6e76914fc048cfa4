/*
 * Tasks that go wrong in training, from the episode on that their options name ("from=12"), in environment 0 only: one returns NaN, one fails.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <tce/env.h>

enum { TRAINING = 3, N_STEPS = 10 };

typedef struct faulty {
    uint64_t from;
    int wrong, step;
    double pos;
} faulty;

static const char *const METRICS[] = { "success" };

static tce_status create(void *user, const char *settings, void **out)
{
    (void)user;
    faulty *env = calloc(1, sizeof *env);
    if (!env)
        return TCE_E_NOMEM;
    env->from = settings && strncmp(settings, "from=", 5) == 0 ? strtoull(settings + 5, NULL, 10) : 0;
    *out = env;
    return TCE_OK;
}

static tce_status spec(void *instance, tce_env_spec *out)
{
    (void)instance;
    out->n_obs = 1;
    out->n_dof = 1;
    out->n_steps = N_STEPS;
    out->n_metrics = 1;
    out->dt = 0.1;
    out->metric_names = METRICS;
    return TCE_OK;
}

static tce_status reset(void *instance, tce_random *random, double *out_obs, double *out_pos, double *out_vel)
{
    faulty *env = instance;
    env->wrong = random->key[1] == TRAINING && random->counter[1] == 0 && random->counter[2] >= env->from;
    env->step = 0;
    env->pos = *out_obs = *out_pos = *out_vel = 0.0;
    return TCE_OK;
}

static tce_status step(void *instance, const double *pos, const double *vel, double *out_obs, tce_env_result *out)
{
    faulty *env = instance;
    (void)vel;
    env->pos = *out_obs = *pos;
    out->reward = -(*pos - 0.5) * (*pos - 0.5);
    out->truncated = ++env->step == N_STEPS;
    return TCE_OK;
}

static tce_status step_nan(void *instance, const double *pos, const double *vel, double *out_obs, tce_env_result *out)
{
    const tce_status status = step(instance, pos, vel, out_obs, out);
    if (((faulty *)instance)->wrong)
        out->reward = NAN;
    return status;
}

static tce_status step_fail(void *instance, const double *pos, const double *vel, double *out_obs, tce_env_result *out)
{
    const tce_status status = step(instance, pos, vel, out_obs, out);
    return ((faulty *)instance)->wrong ? TCE_E_ENV : status;
}

static tce_status metrics(void *instance, double *out)
{
    *out = fabs(((faulty *)instance)->pos - 0.5) < 0.1;
    return TCE_OK;
}

#define TASK(task_name, task_step)                                                                                                       \
    {                                                                                                                                    \
        .struct_size = sizeof(tce_env_vtable), .abi = TCE_ENV_ABI, .name = task_name, .description = "goes wrong", .create = create,     \
        .destroy = free, .spec = spec, .reset = reset, .step = task_step, .metrics = metrics                                             \
    }

static const tce_env_vtable GIVES_NAN = TASK("gives_nan", step_nan);
static const tce_env_vtable FAILS = TASK("fails", step_fail);
static const tce_env_vtable *const TABLES[] = { &GIVES_NAN, &FAILS };

TCE_API const tce_env_vtable *const *tce_tasks(int32_t *abi, size_t *n);

TCE_API const tce_env_vtable *const *tce_tasks(int32_t *abi, size_t *n)
{
    *abi = TCE_ENV_ABI;
    *n = sizeof TABLES / sizeof TABLES[0];
    return TABLES;
}
