/*
 * Steps of a model without its far furniture, checked afterwards.
 */
#include "static_culling.h"

#include <stdlib.h>

#include "guard.h"
#include "step.h"

/*
 * Touching is told from not touching with this to spare, m: far above rounding, far below what
 * matters.
 */
#define SPARE 1e-6

/*
 * What a step starts from; xfrc_applied, whose size depends on the number of bodies, is not used.
 */
enum { STEP_STATE = mjSTATE_PHYSICS | mjSTATE_TIME | mjSTATE_WARMSTART | mjSTATE_CTRL };

/* ---- what can be left out -------------------------------------------------------------------- */

/* Whether the box around a geom of the whole model overlaps a space. */
static int in_spaces(const static_culling *c, int geom)
{
    const mjData *data = c->whole_data;
    /* centre and half sizes in the geom's frame */
    const mjtNum *box = c->whole->geom_aabb + 6 * geom;
    const mjtNum *R = data->geom_xmat + 9 * geom;
    double centre[3], half[3];
    for (int i = 0; i < 3; i++) {
        centre[i] = data->geom_xpos[3 * geom + i];
        half[i] = 0.0;
        for (int j = 0; j < 3; j++) {
            centre[i] += R[3 * i + j] * box[j];
            half[i] += mju_abs(R[3 * i + j]) * box[3 + j];
        }
    }
    for (int s = 0; s < c->n_spaces; s++) {
        int apart = 0;
        for (int i = 0; i < 3; i++)
            apart = apart || centre[i] + half[i] < c->spaces[s].low[i] + 0.5 * SPARE ||
                    centre[i] - half[i] > c->spaces[s].high[i] - 0.5 * SPARE;
        if (!apart)
            return 1;
    }
    return 0;
}

/*
 * A body that never moves, carries nothing but geoms, touches only what it meets, and has no geom
 * in a space.
 */
static int can_go(const static_culling *c, int body)
{
    const mjModel *model = c->whole;
    if (body == 0 || model->body_weldid[body] != 0 || model->body_geomnum[body] == 0 ||
        model->body_margin[body] != 0.0)
        return 0;
    for (int b = 0; b < model->nbody; b++)
        if (b != body && model->body_parentid[b] == body)
            return 0;
    for (int s = 0; s < model->nsite; s++)
        if (model->site_bodyid[s] == body)
            return 0;
    for (int g = 0; g < model->body_geomnum[body]; g++)
        if (in_spaces(c, model->body_geomadr[body] + g))
            return 0;
    return model->names[model->name_bodyadr[body]] != '\0';
}

/* Names of all bodies that can go, NULL after the last; NULL without memory. */
static const char **names_to_drop(const static_culling *c)
{
    const char **names = calloc((size_t)c->whole->nbody + 1, sizeof *names);
    int n = 0;
    for (int b = 0; names && b < c->whole->nbody; b++)
        if (can_go(c, b))
            names[n++] = c->whole->names + c->whole->name_bodyadr[b];
    return names;
}

static int moves(const mjModel *model, int geom)
{
    return model->body_weldid[model->geom_bodyid[geom]] != 0 &&
           (model->geom_contype[geom] || model->geom_conaffinity[geom]);
}

/* ---- life ------------------------------------------------------------------------------------ */

static void derive(void *context)
{
    const static_culling *c = context;
    mj_kinematics(c->whole, c->whole_data);
}

/* The smaller model, and its list of geoms to watch. */
static tce_status open_smaller(static_culling *c, const char *path, const char *blank)
{
    tce_status status = data_create(c->whole, &c->whole_data);
    if (status == TCE_OK)
        status = mujoco_try(derive, c);
    if (status != TCE_OK)
        return status;
    const char **names = names_to_drop(c);
    status = names ? model_open(path, blank, names, &c->smaller) : TCE_E_NOMEM;
    free(names);
    if (status != TCE_OK)
        return status;

    c->before = calloc((size_t)mj_stateSize(c->smaller, STEP_STATE), sizeof *c->before);
    c->moving = calloc((size_t)c->smaller->ngeom, sizeof *c->moving);
    if (!c->before || !c->moving)
        return tce_fail(TCE_E_NOMEM, "no memory for a model without its furniture");
    for (int g = 0; g < c->smaller->ngeom; g++)
        if (moves(c->smaller, g))
            c->moving[c->n_moving++] = g;
    return TCE_OK;
}

tce_status static_culling_open(static_culling *c, const char *path, const char *blank, int n_spaces,
                               const static_culling_space *spaces)
{
    c->spaces = spaces;
    c->n_spaces = n_spaces;
    tce_status status = model_open(path, blank, NULL, &c->whole);
    if (status == TCE_OK && n_spaces > 0)
        status = open_smaller(c, path, blank);
    c->model = c->smaller ? c->smaller : c->whole;
    return status == TCE_OK ? data_create(c->model, &c->data) : status;
}

void static_culling_close(static_culling *c)
{
    mj_deleteData(c->whole_data);
    mj_deleteData(c->data);
    if (c->whole)
        model_close(c->whole);
    if (c->smaller)
        model_close(c->smaller);
    free(c->moving);
    free(c->before);
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* Whether a ball lies in one of the spaces. */
static int is_clear(const static_culling *c, const mjtNum *centre, double radius)
{
    for (int s = 0; s < c->n_spaces; s++) {
        const static_culling_space *space = &c->spaces[s];
        int inside = 1;
        for (int i = 0; i < 3; i++)
            inside = inside && centre[i] - radius > space->low[i] &&
                     centre[i] + radius < space->high[i];
        if (inside)
            return 1;
    }
    return 0;
}

/* Whether nothing was near what was left out, where contacts of the last step were looked for. */
static int was_clear(const static_culling *c)
{
    const mjModel *model = c->model;
    for (int i = 0; i < c->n_moving; i++) {
        const int g = c->moving[i];
        if (!is_clear(c, c->data->geom_xpos + 3 * g,
                      model->geom_rbound[g] + model->geom_margin[g] + SPARE))
            return 0;
    }
    return 1;
}

/* Whether MuJoCo has reset the data after a bad number: the positions before that are lost. */
static int was_reset(const mjData *data)
{
    return data->warning[mjWARN_BADQPOS].number + data->warning[mjWARN_BADQVEL].number +
               data->warning[mjWARN_BADQACC].number >
           0;
}

/* mj_step or mj_forward. */
typedef void (*static_culling_work)(const mjModel *model, mjData *data);

/*
 * The work once more, from `before`, with everything there. What is derived depends on the
 * furniture only when one of the two was reset.
 */
static void do_whole(static_culling *c, static_culling_work work)
{
    mj_setState(c->whole, c->whole_data, c->before, STEP_STATE);
    for (int i = 0; i < mjNWARNING; i++)
        c->whole_data->warning[i].number = 0;
    work(c->whole, c->whole_data);
    if (was_reset(c->whole_data)) {
        mj_resetData(c->model, c->data);
        mj_forward(c->model, c->data);
    } else if (was_reset(c->data)) {
        mj_setState(c->model, c->data, c->before, STEP_STATE);
        mj_forward(c->model, c->data);
    }
    mj_getState(c->whole, c->whole_data, c->before, STEP_STATE);
    mj_setState(c->model, c->data, c->before, STEP_STATE);
}

static void do_checked(static_culling *c, static_culling_work work)
{
    mj_getState(c->model, c->data, c->before, STEP_STATE);
    work(c->model, c->data);
    if (was_reset(c->data) || !was_clear(c))
        do_whole(c, work);
}

void static_culling_forward(static_culling *c)
{
    if (c->smaller)
        do_checked(c, mj_forward);
    else
        mj_forward(c->model, c->data);
}

static void one_step(const mjModel *model, mjData *data)
{
    step_as_original(model, data, 1);
}

void static_culling_step(static_culling *c, int n)
{
    if (!c->smaller) {
        step_as_original(c->model, c->data, n);
        return;
    }
    for (int i = 0; i < n; i++)
        do_checked(c, one_step);
}
