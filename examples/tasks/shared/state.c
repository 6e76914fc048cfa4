/*
 * States of physics and task as arrays of numbers.
 */
#include "state.h"

#include <math.h>
#include <string.h>

tce_status check_finite(const char *task, const char *what, size_t n, const double *x)
{
    for (size_t i = 0; i < n; i++)
        if (!isfinite(x[i]))
            return tce_fail(TCE_E_VALUE, "%s: %s[%zu] = %g, must be finite", task, what, i, x[i]);
    return TCE_OK;
}

/* Arguments of the guarded calls. */
typedef struct state_job {
    const mjModel *model;
    mjData *data;
    const double *qpos, *qvel;
    const double *warmstart, *ctrl, *mocap; /* NULL: as mj_forward and mj_resetData leave them */
    double time;
} state_job;

static void put(void *context)
{
    const state_job *job = context;
    const mjModel *m = job->model;
    mjData *d = job->data;
    mj_resetData(m, d);
    mju_copy(d->qpos, job->qpos, m->nq);
    mju_copy(d->qvel, job->qvel, m->nv);
    d->time = job->time;
    if (job->ctrl)
        mju_copy(d->ctrl, job->ctrl, m->nu);
    if (job->mocap) {
        mju_copy(d->mocap_pos, job->mocap, 3 * m->nmocap);
        mju_copy(d->mocap_quat, job->mocap + 3 * m->nmocap, 4 * m->nmocap);
    }
    mj_forward(m, d);
    if (!job->warmstart)
        return;
    /* forward may have normalised quaternions */
    mju_copy(d->qpos, job->qpos, m->nq);
    mju_copy(d->qacc_warmstart, job->warmstart, m->nv);
}

tce_status start_from(const mjModel *model, mjData *data, const double *qpos, const double *qvel)
{
    state_job job = { model, data, qpos, qvel, NULL, NULL, NULL, 0.0 };
    return mujoco_try(put, &job);
}

size_t packed_size(const mjModel *model, size_t n)
{
    return n + (size_t)(model->nq + 2 * model->nv + model->nu + 7 * model->nmocap) + 1;
}

void packed_get(const mjModel *model, const mjData *data, size_t n, const double *task, double *out)
{
    memcpy(out, task, n * sizeof *out);
    out += n;
    mju_copy(out, data->qpos, model->nq);
    out += model->nq;
    mju_copy(out, data->qvel, model->nv);
    out += model->nv;
    mju_copy(out, data->qacc_warmstart, model->nv);
    out += model->nv;
    mju_copy(out, data->ctrl, model->nu);
    out += model->nu;
    mju_copy(out, data->mocap_pos, 3 * model->nmocap);
    out += 3 * model->nmocap;
    mju_copy(out, data->mocap_quat, 4 * model->nmocap);
    out[4 * model->nmocap] = data->time;
}

tce_status packed_set(const char *name, const mjModel *model, mjData *data, size_t n, double *task,
                      const double *state)
{
    const double *qpos = state + n;
    const double *qvel = qpos + model->nq;
    const double *warmstart = qvel + model->nv;
    const double *ctrl = warmstart + model->nv;
    const double *mocap = ctrl + model->nu;
    const int fresh = state[STATE_FRESH] != 0.0;
    state_job job = {
        model, data, qpos, qvel, fresh ? NULL : warmstart, ctrl, mocap, mocap[7 * model->nmocap]
    };
    tce_status status = check_finite(name, "state", packed_size(model, n), state);
    if (status == TCE_OK)
        status = mujoco_try(put, &job);
    if (status == TCE_OK)
        memcpy(task, state, n * sizeof *task);
    return status;
}
