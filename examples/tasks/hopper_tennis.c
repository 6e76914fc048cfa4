/*
 * What hopper_jump and table_tennis share: contacts, states, pictures with a mark at the goal.
 */
#include "hopper_tennis.h"

#include <math.h>
#include <string.h>

int touching(const mjData *data, int geom_a, int geom_b)
{
    for (int i = 0; i < data->ncon; i++) {
        const int *geom = data->contact[i].geom;
        if ((geom[0] == geom_a && geom[1] == geom_b) || (geom[0] == geom_b && geom[1] == geom_a))
            return 1;
    }
    return 0;
}

tce_status check_finite(const char *task, const char *what, size_t n, const double *x)
{
    for (size_t i = 0; i < n; i++)
        if (!isfinite(x[i]))
            return tce_fail(TCE_E_VALUE, "%s: %s[%zu] = %g, must be finite", task, what, i, x[i]);
    return TCE_OK;
}

/* ---- states -------------------------------------------------------------------------------------- */

/* Arguments of the guarded calls. */
typedef struct state_job {
    const mjModel *model;
    mjData *data;
    const double *qpos, *qvel;
    const double *warmstart, *ctrl; /* NULL: as mj_forward and mj_resetData leave them */
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
    mj_forward(m, d);
    if (job->warmstart)
        mju_copy(d->qacc_warmstart, job->warmstart, m->nv);
}

tce_status start_from(const mjModel *model, mjData *data, const double *qpos, const double *qvel)
{
    state_job job = { model, data, qpos, qvel, NULL, NULL, 0.0 };
    return mujoco_try(put, &job);
}

size_t packed_size(const mjModel *model, size_t n)
{
    return n + (size_t)(model->nq + 2 * model->nv + model->nu) + 1;
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
    out[model->nu] = data->time;
}

tce_status packed_set(const char *name, const mjModel *model, mjData *data, size_t n, double *task, const double *state)
{
    const double *qpos = state + n;
    const double *qvel = qpos + model->nq;
    const double *warmstart = qvel + model->nv;
    const double *ctrl = warmstart + model->nv;
    const int fresh = state[STATE_FRESH] != 0.0;
    state_job job = { model, data, qpos, qvel, fresh ? NULL : warmstart, ctrl, ctrl[model->nu] };
    tce_status status = check_finite(name, "state", packed_size(model, n), state);
    if (status == TCE_OK)
        status = mujoco_try(put, &job);
    if (status == TCE_OK)
        memcpy(task, state, n * sizeof *task);
    return status;
}

/* ---- pictures ------------------------------------------------------------------------------------ */

typedef struct copy_job {
    const mjModel *model;
    mjModel *copy;
} copy_job;

static void copy_model(void *context)
{
    copy_job *job = context;
    job->copy = mj_copyModel(NULL, job->model);
}

tce_status picture_draw(picture *p, const mjModel *model, mjData *data, const char *camera, int mark, const double *place, int32_t width,
                        int32_t height, uint8_t *rgb)
{
    if (!p->model) {
        copy_job job = { model, NULL };
        const tce_status status = mujoco_try(copy_model, &job);
        if (status != TCE_OK)
            return status;
        if (!job.copy)
            return tce_fail(TCE_E_NOMEM, "no memory for the model of a picture");
        p->model = job.copy;
    }
    mju_copy3(p->model->body_pos + 3 * mark, place);
    return mujoco_render(&p->renderer, p->model, data, camera, width, height, rgb);
}

void picture_free(picture *p)
{
    mujoco_renderer_free(p->renderer);
    mj_deleteModel(p->model);
}
