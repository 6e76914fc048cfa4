/*
 * What all MuJoCo tasks do the same way: from a description to an environment.
 */
#include "task.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- life ------------------------------------------------------------------------------------ */

void mujoco_destroy(void *instance)
{
    mujoco_env *env = instance;
    picture_free(env->picture);
    static_culling_close(&env->culling);
    if (env->task->close)
        env->task->close(env);
    free(env);
}

static tce_status open_model(mujoco_env *env)
{
    const mujoco_task *task = env->task;
    static_culling *c = &env->culling;
    if (task->open)
        return task->open(env);
    if (task->model)
        return static_culling_open(c, task->model, task->blank, env->whole ? 0 : task->n_spaces,
                                   task->spaces);
    const tce_status status = model_open_text(env->name, task->xml, &c->whole);
    c->model = c->whole;
    return status == TCE_OK ? data_create(c->model, &c->data) : status;
}

static tce_status find_parts(mujoco_env *env)
{
    const mujoco_task *task = env->task;
    tce_status status = TCE_OK;
    if (task->sizes.nq > 0)
        status = model_check_sizes(env->model, env->name, task->sizes.nq, task->sizes.nv,
                                   task->sizes.nu);
    for (size_t i = 0; status == TCE_OK && i < task->n_parts; i++) {
        const mujoco_part *part = &task->parts[i];
        status = model_find(env->model, part->type, part->name,
                            (int *)(void *)((char *)env + part->offset));
    }
    return status;
}

tce_status mujoco_create(const char *name, const mujoco_task *task, const void *variant, void *user,
                         const char *settings, void **out)
{
    mujoco_env *env = calloc(1, task->size);
    if (!env)
        return tce_fail(TCE_E_NOMEM, "%s: no memory", name);
    env->task = task;
    env->name = name;
    env->variant = variant;
    env->spec = task->spec;
    env->draws = user;
    tce_status status = task_options_read(name, settings, task->n_options, task->options, env);
    if (status == TCE_OK && task->configure)
        status = task->configure(env);
    if (status == TCE_OK)
        status = open_model(env);
    env->model = env->culling.model;
    env->data = env->culling.data;
    if (status == TCE_OK)
        status = find_parts(env);
    if (status != TCE_OK) {
        mujoco_destroy(env);
        return status;
    }
    env->step = env->spec.n_steps;
    *out = env;
    return TCE_OK;
}

/* A caller with an older spec gets as much of it as it has. */
tce_status mujoco_spec(void *instance, tce_env_spec *out)
{
    const mujoco_env *env = instance;
    const size_t size = out->struct_size < sizeof *out ? out->struct_size : sizeof *out;
    const size_t given = out->struct_size;
    memcpy(out, &env->spec, size);
    out->struct_size = given;
    return TCE_OK;
}

/* ---- episodes -------------------------------------------------------------------------------- */

double mujoco_draw(const mujoco_env *env, tce_random *random, double low, double high)
{
    return task_draw(env->draws, random, low, high);
}

void mujoco_forward(mujoco_env *env)
{
    static_culling_forward(&env->culling);
}

int mujoco_is_last(const mujoco_env *env)
{
    return env->step >= env->spec.n_steps;
}

int mujoco_touching(const mjData *data, int geom_a, int geom_b)
{
    for (int i = 0; i < data->ncon; i++) {
        const int *geom = data->contact[i].geom;
        if ((geom[0] == geom_a && geom[1] == geom_b) || (geom[0] == geom_b && geom[1] == geom_a))
            return 1;
    }
    return 0;
}

/* The arguments of the guarded calls. */
typedef struct task_job {
    mujoco_env *env;
    tce_random *random;
    const double *action, *state;
    double *out_obs;
    tce_env_result *out;
} task_job;

static void begin(void *context)
{
    const task_job *job = context;
    mujoco_env *env = job->env;
    mj_resetData(env->model, env->data);
    env->step = 0.0;
    env->task->reset(env, job->random);
    env->task->observe(env, job->out_obs);
}

tce_status mujoco_reset(void *instance, tce_random *random, double *out_obs, double *out_pos,
                        double *out_vel)
{
    mujoco_env *env = instance;
    task_job job = { .env = env, .random = random, .out_obs = out_obs };
    const size_t n = (size_t)env->spec.n_dof;
    const tce_status status = mujoco_try(begin, &job);
    if (status != TCE_OK) {
        env->step = env->spec.n_steps;
        return status;
    }
    if (env->task->path_start)
        env->task->path_start(env, out_pos);
    else
        memcpy(out_pos, env->data->qpos + env->task->first_joint, n * sizeof *out_pos);
    memset(out_vel, 0, n * sizeof *out_vel);
    return TCE_OK;
}

static void act(void *context)
{
    const task_job *job = context;
    mujoco_env *env = job->env;
    env->task->step(env, job->action);
    env->step += 1.0;
    env->task->observe(env, job->out_obs);
    *job->out = (tce_env_result){ .truncated = mujoco_is_last(env) };
    env->task->reward(env, job->action, job->out);
}

tce_status mujoco_act(mujoco_env *env, const double *action, double *out_obs, tce_env_result *out)
{
    task_job job = { .env = env, .action = action, .out_obs = out_obs, .out = out };
    return mujoco_try(act, &job);
}

tce_status mujoco_step_action(void *instance, const double *action, double *out_obs,
                              tce_env_result *out)
{
    mujoco_env *env = instance;
    const int over = mujoco_is_last(env) || (env->task->is_over && env->task->is_over(env));
    tce_status status = check_finite(env->name, "action", (size_t)env->spec.n_action, action);
    if (status == TCE_OK)
        status = task_check_running(env->name, over);
    return status == TCE_OK ? mujoco_act(env, action, out_obs, out) : status;
}

void mujoco_track(const mujoco_env *env, const double *pos, const double *vel, double *out)
{
    const mujoco_task *task = env->task;
    const double *q = env->data->qpos + task->first_joint, *v = env->data->qvel + task->first_joint;
    for (int32_t i = 0; i < env->spec.n_dof; i++) {
        const double a = task->gains.kp[i] * (pos[i] - q[i]) + task->gains.kd[i] * (vel[i] - v[i]);
        out[i] = fmin(fmax(a, env->spec.action_low[i]), env->spec.action_high[i]);
    }
}

tce_status mujoco_step(void *instance, const double *pos, const double *vel, double *out_obs,
                       tce_env_result *out)
{
    enum { MAX_ACTION = 32 };
    mujoco_env *env = instance;
    const size_t n = (size_t)env->spec.n_dof;
    double action[MAX_ACTION];
    tce_status status = check_finite(env->name, "desired position", n, pos);
    if (status == TCE_OK)
        status = check_finite(env->name, "desired velocity", n, vel);
    if (status == TCE_OK && n > MAX_ACTION)
        status = tce_fail(TCE_E_ENV, "%s: %zu joints, at most %d", env->name, n, MAX_ACTION);
    if (status != TCE_OK)
        return status;
    if (env->task->follow)
        return env->task->follow(env, pos, vel, out_obs, out);
    mujoco_track(env, pos, vel, action);
    return mujoco_step_action(env, action, out_obs, out);
}

tce_status mujoco_metrics(void *instance, double *out)
{
    ((const mujoco_env *)instance)->task->metrics(instance, out);
    return TCE_OK;
}

/* ---- states ---------------------------------------------------------------------------------- */

/* The task's own numbers. */
static double *own_state(mujoco_env *env)
{
    return (double *)(void *)((char *)env + env->task->state);
}

size_t mujoco_n_state(void *instance)
{
    const mujoco_env *env = instance;
    return STATE_TASK + env->task->n_state + physics_size(env->model);
}

tce_status mujoco_get_state(void *instance, double *out)
{
    mujoco_env *env = instance;
    const size_t n = env->task->n_state;
    out[STATE_DERIVE] = 0.0;
    out[STATE_STEP] = env->step;
    memcpy(out + STATE_TASK, own_state(env), n * sizeof *out);
    physics_get(env->model, env->data, out + STATE_TASK + n);
    return TCE_OK;
}

static void put_state(void *context)
{
    const task_job *job = context;
    mujoco_env *env = job->env;
    const mujoco_task *task = env->task;
    const double *physics = job->state + STATE_TASK + task->n_state;
    memcpy(own_state(env), job->state + STATE_TASK, task->n_state * sizeof *job->state);
    env->step = job->state[STATE_STEP];
    if (task->restore)
        task->restore(env);
    physics_put(env->model, env->data, physics);
    mujoco_forward(env);
    if (job->state[STATE_DERIVE] == 0.0)
        physics_put_back(env->model, env->data, physics);
    else if (task->derive)
        task->derive(env);
    task->observe(env, job->out_obs);
}

tce_status mujoco_set_state(void *instance, const double *state, double *out_obs)
{
    mujoco_env *env = instance;
    task_job job = { .env = env, .state = state, .out_obs = out_obs };
    const int n_steps = env->spec.n_steps;
    const tce_status status = check_finite(env->name, "state", mujoco_n_state(env), state);
    if (status != TCE_OK)
        return status;
    if (!(state[STATE_STEP] >= 0.0 && state[STATE_STEP] <= n_steps))
        return tce_fail(TCE_E_VALUE, "%s: state[%d] = %g, the step, must be in 0 ... %d", env->name,
                        STATE_STEP, state[STATE_STEP], n_steps);
    return mujoco_try(put_state, &job);
}

/* ---- pictures -------------------------------------------------------------------------------- */

tce_status mujoco_render(void *instance, int32_t width, int32_t height, uint8_t *rgb)
{
    mujoco_env *env = instance;
    tce_status status = TCE_OK;
    if (!env->picture)
        status = picture_open(env->culling.whole, &env->task->view, &env->picture);
    if (status != TCE_OK)
        return status;
    if (env->task->mark)
        env->task->mark(env, picture_model(env->picture));
    return picture_draw(env->picture, env->data, width, height, rgb);
}
