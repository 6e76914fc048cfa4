/*
 * Tasks for the tests of training: move a point to where the task wants it. Three have names that
 * begin alike. In environment 0, in training, from a given episode on, a task may return NaN or
 * fail:
 *
 *   gives_nan, fails         from the episode that the options name ("from=12"), else from the
 *                            first
 *   family_…, stranger       from the first, when the options name the task ("fails=family_two"),
 *                            else never
 *   many_metrics             likewise; it has as many metrics as a run has to keep apart from
 *                            its own numbers
 *
 * named has its second metric called as its options say ("metric=return").
 * unmarked is family_one, but its last step does not say that it is one.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tce/env.h>

enum { TRAINING = 3, N_STEPS = 10, N_MANY = 80, LONG_NAME = 90 };

typedef struct point {
    double target, pos;
    uint64_t from; /* episode; UINT64_MAX: never */
    int wrong, step;
    char metric[64]; /* the second metric's name, where the options tell it */
    const char *names[2];
} point;

static const char *const METRICS[] = { "success", "distance" };

static tce_status create_as(const char *name, double target, uint64_t from, const char *settings,
                            void **out)
{
    point *env = calloc(1, sizeof *env);
    if (!env)
        return TCE_E_NOMEM;
    env->target = target;
    env->from = from;
    if (settings && strncmp(settings, "from=", 5) == 0)
        env->from = strtoull(settings + 5, NULL, 10);
    if (settings && strncmp(settings, "fails=", 6) == 0 && strcmp(settings + 6, name) == 0)
        env->from = 0;
    if (settings && strncmp(settings, "metric=", 7) == 0)
        snprintf(env->metric, sizeof env->metric, "%s", settings + 7);
    *out = env;
    return TCE_OK;
}

static tce_status spec(void *instance, tce_env_spec *out)
{
    (void)instance;
    out->n_obs = 1;
    out->n_dof = 1;
    out->n_steps = N_STEPS;
    out->n_metrics = 2;
    out->dt = 0.1;
    out->metric_names = METRICS;
    return TCE_OK;
}

static tce_status spec_named(void *instance, tce_env_spec *out)
{
    point *env = instance;
    const tce_status status = spec(instance, out);
    env->names[0] = METRICS[0];
    env->names[1] = env->metric;
    out->metric_names = env->names;
    return status;
}

static tce_status spec_many(void *instance, tce_env_spec *out)
{
    static char names[N_MANY][LONG_NAME + 1];
    static const char *pointers[N_MANY];
    for (int i = 0; i < N_MANY; i++) {
        memset(names[i], 'm', LONG_NAME);
        snprintf(names[i] + LONG_NAME - 2, 3, "%02d", i);
        pointers[i] = names[i];
    }
    const tce_status status = spec(instance, out);
    out->n_metrics = N_MANY;
    out->metric_names = pointers;
    return status;
}

static tce_status reset(void *instance, tce_random *random, double *out_obs, double *out_pos,
                        double *out_vel)
{
    point *env = instance;
    env->wrong = random->key[1] == TRAINING && random->counter[1] == 0 &&
                 random->counter[2] >= env->from;
    env->step = 0;
    env->pos = *out_obs = *out_pos = *out_vel = 0.0;
    return TCE_OK;
}

static tce_status step(void *instance, const double *pos, const double *vel, double *out_obs,
                       tce_env_result *out)
{
    point *env = instance;
    (void)vel;
    env->pos = *out_obs = *pos;
    out->reward = -(*pos - env->target) * (*pos - env->target);
    out->truncated = ++env->step == N_STEPS;
    return env->wrong ? TCE_E_ENV : TCE_OK;
}

static tce_status step_nan(void *instance, const double *pos, const double *vel, double *out_obs,
                           tce_env_result *out)
{
    if (step(instance, pos, vel, out_obs, out) != TCE_OK)
        out->reward = NAN;
    return TCE_OK;
}

static tce_status step_unmarked(void *instance, const double *pos, const double *vel,
                                double *out_obs, tce_env_result *out)
{
    const tce_status status = step(instance, pos, vel, out_obs, out);
    out->truncated = 0;
    return status;
}

static tce_status metrics(void *instance, double *out)
{
    const point *env = instance;
    out[1] = fabs(env->pos - env->target);
    out[0] = out[1] < 0.1;
    return TCE_OK;
}

static tce_status metrics_many(void *instance, double *out)
{
    (void)instance;
    for (int i = 0; i < N_MANY; i++)
        out[i] = i;
    return TCE_OK;
}

#define TASK_WITH(symbol, target, from, task_step, task_spec, task_metrics)               \
    static tce_status create_##symbol(void *user, const char *settings, void **out)       \
    {                                                                                     \
        (void)user;                                                                       \
        return create_as(#symbol, target, from, settings, out);                           \
    }                                                                                     \
    static const tce_env_vtable TABLE_##symbol = { .struct_size = sizeof(tce_env_vtable), \
                                                   .abi = TCE_ENV_ABI,                    \
                                                   .name = #symbol,                       \
                                                   .description = "reach a point",        \
                                                   .create = create_##symbol,             \
                                                   .destroy = free,                       \
                                                   .spec = task_spec,                     \
                                                   .reset = reset,                        \
                                                   .step = task_step,                     \
                                                   .metrics = task_metrics };

#define TASK(symbol, target, from, task_step) \
    TASK_WITH(symbol, target, from, task_step, spec, metrics)

TASK(gives_nan, 0.5, 0, step_nan)
TASK(fails, 0.5, 0, step)
TASK(family_one, 0.1, UINT64_MAX, step)
TASK(family_two, 0.3, UINT64_MAX, step)
TASK(family_three_far, 0.6, UINT64_MAX, step)
TASK(stranger, 0.2, UINT64_MAX, step)
TASK(unmarked, 0.1, UINT64_MAX, step_unmarked)
TASK_WITH(named, 0.2, UINT64_MAX, step, spec_named, metrics)
TASK_WITH(many_metrics, 0.2, UINT64_MAX, step, spec_many, metrics_many)

static const tce_env_vtable *const TABLES[] = { &TABLE_gives_nan,  &TABLE_fails,
                                                &TABLE_family_one, &TABLE_family_two,
                                                &TABLE_stranger,   &TABLE_family_three_far,
                                                &TABLE_unmarked,   &TABLE_many_metrics,
                                                &TABLE_named };

TCE_API const tce_env_vtable *const *tce_tasks(int32_t *abi, size_t *n);

TCE_API const tce_env_vtable *const *tce_tasks(int32_t *abi, size_t *n)
{
    *abi = TCE_ENV_ABI;
    *n = sizeof TABLES / sizeof TABLES[0];
    return TABLES;
}
