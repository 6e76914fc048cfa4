/*
 * What hopper_jump and table_tennis share: contacts, pictures with a mark at the goal.
 */
#include "hopper_tennis.h"

int touching(const mjData *data, int geom_a, int geom_b)
{
    for (int i = 0; i < data->ncon; i++) {
        const int *geom = data->contact[i].geom;
        if ((geom[0] == geom_a && geom[1] == geom_b) || (geom[0] == geom_b && geom[1] == geom_a))
            return 1;
    }
    return 0;
}

/* ---- pictures -------------------------------------------------------------------------------- */

typedef struct copy_job {
    const mjModel *model;
    mjModel *copy;
} copy_job;

static void copy_model(void *context)
{
    copy_job *job = context;
    job->copy = mj_copyModel(NULL, job->model);
}

/* Camera and mark, in the picture's own model. */
static void arrange(mjModel *model, const picture_view *view, int mark)
{
    mju_copy3(model->stat.center, view->center);
    model->stat.extent = view->extent;
    model->vis.global.azimuth = view->azimuth;
    model->vis.global.elevation = view->elevation;
    for (int i = 0; i < model->nsite; i++)
        if (model->site_bodyid[i] == mark)
            mju_scl3(model->site_size + 3 * i, model->site_size + 3 * i, view->mark);
    for (int i = 0; i < model->ngeom; i++)
        if (model->geom_bodyid[i] == mark)
            mju_scl3(model->geom_size + 3 * i, model->geom_size + 3 * i, view->mark);
}

tce_status picture_draw(picture *p, const mjModel *model, mjData *data, const picture_view *view,
                        int mark, const double *place, int32_t width, int32_t height, uint8_t *rgb)
{
    if (!p->model) {
        copy_job job = { model, NULL };
        const tce_status status = mujoco_try(copy_model, &job);
        if (status != TCE_OK)
            return status;
        if (!job.copy)
            return tce_fail(TCE_E_NOMEM, "no memory for the model of a picture");
        p->model = job.copy;
        arrange(p->model, view, mark);
    }
    mju_copy3(p->model->body_pos + 3 * mark, place);
    return mujoco_render(&p->renderer, p->model, data, NULL, width, height, rgb);
}

void picture_free(picture *p)
{
    mujoco_renderer_free(p->renderer);
    mj_deleteModel(p->model);
}
