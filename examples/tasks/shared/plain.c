/*
 * What the tasks without simulator share; see plain.h.
 */
#include "plain.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_ACTION = 16 };

static double *state_of(plain_env *env)
{
    return (double *)((char *)env + env->task->state);
}

static int is_over(plain_env *env)
{
    return state_of(env)[env->task->step_at] >= env->task->spec.n_steps;
}

/* ---- life ------------------------------------------------------------------------------------ */

tce_status plain_create(const char *name, const plain_task *task, const char *settings, void **out)
{
    plain_env *env = calloc(1, task->size);
    if (!env)
        return tce_fail(TCE_E_NOMEM, "%s: no memory", name);
    env->task = task;
    env->name = name;
    const tce_status status = task_options_read(name, settings, 1, task->option, env);
    if (status != TCE_OK) {
        free(env);
        return status;
    }
    /* as after an end */
    state_of(env)[task->step_at] = task->spec.n_steps;
    *out = env;
    return TCE_OK;
}

void plain_destroy(void *instance)
{
    free(instance);
}

tce_status plain_spec(void *instance, tce_env_spec *out)
{
    const plain_env *env = instance;
    const size_t size = out->struct_size;
    memcpy(out, &env->task->spec, size < sizeof *out ? size : sizeof *out);
    out->struct_size = size;
    return TCE_OK;
}

/* ---- episodes -------------------------------------------------------------------------------- */

tce_status plain_reset(void *instance, tce_random *random, double *out_obs, double *out_pos,
                       double *out_vel)
{
    plain_env *env = instance;
    const plain_task *task = env->task;
    memset(state_of(env), 0, task->n_state * sizeof(double));
    task->reset(env, random);
    task->observe(env, out_obs);
    for (int32_t d = 0; d < task->spec.n_dof; d++)
        out_pos[d] = out_vel[d] = 0.0;
    return TCE_OK;
}

tce_status plain_step_action(void *instance, const double *action, double *out_obs,
                             tce_env_result *out)
{
    plain_env *env = instance;
    const tce_status status = task_check_running(env->name, is_over(env));
    if (status != TCE_OK)
        return status;
    state_of(env)[env->task->step_at] += 1.0;
    memset(out, 0, sizeof *out);
    out->truncated = is_over(env);
    env->task->step(env, action, out);
    env->task->observe(env, out_obs);
    return TCE_OK;
}

tce_status plain_step(void *instance, const double *pos, const double *vel, double *out_obs,
                      tce_env_result *out)
{
    const plain_env *env = instance;
    double action[MAX_ACTION];
    env->task->control(env, pos, vel, action);
    return plain_step_action(instance, action, out_obs, out);
}

tce_status plain_metrics(void *instance, double *out)
{
    const plain_env *env = instance;
    env->task->metrics(env, out);
    return TCE_OK;
}

/* ---- states and pictures --------------------------------------------------------------------- */

size_t plain_n_state(void *instance)
{
    const plain_env *env = instance;
    return env->task->n_state;
}

tce_status plain_get_state(void *instance, double *out)
{
    plain_env *env = instance;
    memcpy(out, state_of(env), env->task->n_state * sizeof *out);
    return TCE_OK;
}

tce_status plain_set_state(void *instance, const double *state, double *out_obs)
{
    plain_env *env = instance;
    memcpy(state_of(env), state, env->task->n_state * sizeof *state);
    env->task->observe(env, out_obs);
    return TCE_OK;
}

tce_status plain_render(void *instance, int32_t width, int32_t height, uint8_t *rgb)
{
    const plain_env *env = instance;
    flat_shape shapes[PLAIN_SHAPES];
    const size_t n = env->task->draw(env, shapes);
    flat_picture_draw(n, shapes, env->task->view, width, height, rgb);
    return TCE_OK;
}
