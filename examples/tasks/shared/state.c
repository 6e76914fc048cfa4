/*
 * The state of the physics as an array of numbers.
 */
#include "state.h"

#include <math.h>

tce_status check_finite(const char *task, const char *what, size_t n, const double *x)
{
    for (size_t i = 0; i < n; i++)
        if (!isfinite(x[i]))
            return tce_fail(TCE_E_VALUE, "%s: %s[%zu] = %g, must be finite", task, what, i, x[i]);
    return TCE_OK;
}

/* Where the parts lie: one after the other. */
typedef struct parts {
    size_t qvel, warmstart, ctrl, mocap_pos, mocap_quat, time;
} parts;

static parts find_parts(const mjModel *model)
{
    parts at;
    at.qvel = (size_t)model->nq;
    at.warmstart = at.qvel + (size_t)model->nv;
    at.ctrl = at.warmstart + (size_t)model->nv;
    at.mocap_pos = at.ctrl + (size_t)model->nu;
    at.mocap_quat = at.mocap_pos + 3 * (size_t)model->nmocap;
    at.time = at.mocap_quat + 4 * (size_t)model->nmocap;
    return at;
}

size_t physics_size(const mjModel *model)
{
    return find_parts(model).time + 1;
}

void physics_get(const mjModel *model, const mjData *data, double *out)
{
    const parts at = find_parts(model);
    mju_copy(out, data->qpos, model->nq);
    mju_copy(out + at.qvel, data->qvel, model->nv);
    mju_copy(out + at.warmstart, data->qacc_warmstart, model->nv);
    mju_copy(out + at.ctrl, data->ctrl, model->nu);
    mju_copy(out + at.mocap_pos, data->mocap_pos, 3 * model->nmocap);
    mju_copy(out + at.mocap_quat, data->mocap_quat, 4 * model->nmocap);
    out[at.time] = data->time;
}

void physics_put(const mjModel *model, mjData *data, const double *physics)
{
    const parts at = find_parts(model);
    mj_resetData(model, data);
    mju_copy(data->qpos, physics, model->nq);
    mju_copy(data->qvel, physics + at.qvel, model->nv);
    mju_copy(data->ctrl, physics + at.ctrl, model->nu);
    mju_copy(data->mocap_pos, physics + at.mocap_pos, 3 * model->nmocap);
    mju_copy(data->mocap_quat, physics + at.mocap_quat, 4 * model->nmocap);
    data->time = physics[at.time];
}

void physics_put_back(const mjModel *model, mjData *data, const double *physics)
{
    mju_copy(data->qpos, physics, model->nq);
    mju_copy(data->qacc_warmstart, physics + find_parts(model).warmstart, model->nv);
}
