/*
 * The machinery of the fifty tasks. One control step is five physics steps, 0.0125 s. The action
 * moves the mocap body by 1 cm at most along each axis and the hand, welded to it, follows; its
 * fourth number is the gripper's force, 1 closes.
 *
 * Observation (39): frame, frame of the step before, goal. Frame (18): hand, opening of the
 * gripper, up to two objects with position and quaternion.
 *
 * Two profiles. 3: as the package metaworld 3.1.1 does it. 2: as the version that the TCE paper
 * ran: positions lag one physics step behind because there is no mj_forward after a step, and a
 * reset finds the fixture where the episode before had put it, so an environment carries state from
 * episode to episode.
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../shared/options.h"
#include "../shared/state.h"
#include "metaworld.h"

#define DT 0.0125
#define MODELS "metaworld/assets/sawyer_xyz/"
#define N_WELD 11

static const double MOCAP_LOW[3] = { -0.5, 0.4, 0.05 };
static const double MOCAP_HIGH[3] = { 0.5, 1.0, 0.5 };
/*
 * weld of hand and mocap body: anchor, relative position and quaternion, torque scale. With the
 * values of the files, made for MuJoCo 2, the hand settles askew.
 */
static const double WELD[N_WELD] = { 0, 0, 0, 0, 0, 0, -1, 0, 0, 0, 5 };

static const double ACTION_LOW[MW_N_ACTION] = { -1.0, -1.0, -1.0, -1.0 };
static const double ACTION_HIGH[MW_N_ACTION] = { 1.0, 1.0, 1.0, 1.0 };
static const char *const METRICS[] = { "success", "distance" };
static const int32_t SEES_OBJECT_GOAL[] = { 4, 5, 6, 36, 37, 38 };
static const int32_t SEES_HAND_GOAL[] = { 0, 1, 2, 36, 37, 38 };

/* ---- life ------------------------------------------------------------------------------------ */

void mw_destroy(void *instance)
{
    mw_env *env = instance;
    mujoco_renderer_free(env->renderer);
    mj_deleteData(env->data);
    if (env->shared)
        mujoco_model_close(env->shared);
    free(env->body_pos);
    free(env->eq_data);
    free(env);
}

static tce_status read_options(mw_env *env, const char *settings)
{
    const task_option options[] = { { "profile", &env->profile, 2.0, 3.0 },
                                    { "hidden_goal", &env->hidden_goal, 0.0, 1.0 } };
    env->profile = 3.0;
    const tce_status status = task_options_read(env->name, settings,
                                                sizeof options / sizeof options[0], options);
    if (status == TCE_OK && env->profile != 2.0 && env->profile != 3.0)
        return tce_fail(TCE_E_VALUE, "%s: profile = %g, must be 2 or 3", env->name, env->profile);
    return status;
}

/*
 * The mocap body, when nothing can touch it and steps are made of the parts that step_after_forward
 * knows; else 0.
 */
static int find_mocap(const mjModel *m)
{
    int body = 0;
    for (int i = 0; i < m->nbody; i++)
        if (m->body_mocapid[i] == 0)
            body = i;
    for (int i = 0; i < m->ngeom; i++)
        if (m->geom_bodyid[i] == body && (m->geom_contype[i] || m->geom_conaffinity[i]))
            return 0;
    const int simple = m->opt.integrator == mjINT_EULER && m->opt.enableflags == 0 &&
                       m->nsensor == 0 && m->ntendon == 0 && m->nflex == 0;
    return simple ? body : 0;
}

/*
 * Pictures show the table from the right of the arm: the models' own cameras stand on their heads.
 */
static void set_view(mjModel *model)
{
    static const double CENTRE[3] = { 0.0, 0.65, 0.1 };
    mju_copy3(model->stat.center, CENTRE);
    model->stat.extent = 1.0;
    model->vis.global.azimuth = 145.0f;
    model->vis.global.elevation = -30.0f;
    model->vis.global.offwidth = 1280;
    model->vis.global.offheight = 960;
}

/*
 * The shared model with arrays of its own where an environment writes; meshes and textures, twenty
 * megabytes of them, stay shared.
 */
static tce_status open_model(mw_env *env)
{
    char path[256];
    snprintf(path, sizeof path, MODELS "%s", env->task->xml);
    const tce_status status = models_open(path, NULL, &env->shared);
    if (status != TCE_OK)
        return status;
    const mjModel *m = env->shared;
    if (m->neq != 1 || m->nmocap != 1 || m->nu != 2)
        return tce_fail(TCE_E_ENV, "%s: %s is not a model of metaworld 3.1.1; run `make deps`",
                        env->name, env->task->xml);
    const size_t n_pos = 3 * (size_t)m->nbody, n_eq = mjNEQDATA * (size_t)m->neq;
    env->body_pos = malloc(n_pos * sizeof *env->body_pos);
    env->eq_data = malloc(n_eq * sizeof *env->eq_data);
    if (!env->body_pos || !env->eq_data)
        return tce_fail(TCE_E_NOMEM, "%s: no memory", env->name);
    memcpy(env->body_pos, m->body_pos, n_pos * sizeof *env->body_pos);
    memcpy(env->eq_data, m->eq_data, n_eq * sizeof *env->eq_data);
    memcpy(env->eq_data, WELD, sizeof WELD);
    env->model = *m;
    env->model.body_pos = env->body_pos;
    env->model.eq_data = env->eq_data;
    env->mocap_body = find_mocap(m);
    set_view(&env->model);
    return mujoco_data_create(&env->model, &env->data);
}

/* Where data has the position of a part, or the coordinate of a joint. */
static tce_status find_position(mw_env *env, const mw_part *part, const double **out)
{
    const mjData *d = env->data;
    int id = 0;
    const tce_status status = mujoco_find(&env->model, (int)part->type, part->name, &id);
    if (status != TCE_OK)
        return status;
    switch (part->type) {
    case mjOBJ_BODY:
        *out = d->xpos + 3 * id;
        break;
    case mjOBJ_SITE:
        *out = d->site_xpos + 3 * id;
        break;
    case mjOBJ_GEOM:
        *out = d->geom_xpos + 3 * id;
        break;
    default:
        *out = d->qpos + env->model.jnt_qposadr[id];
    }
    return TCE_OK;
}

static tce_status find_turn(mw_env *env, const mw_object *object, const double **out)
{
    const mjData *d = env->data;
    int id = 0;
    const tce_status status = mujoco_find(&env->model, (int)object->of.type, object->of.name, &id);
    if (status != TCE_OK)
        return status;
    if (object->turn == MW_TURN_BODY)
        *out = d->xquat + 4 * id;
    else if (object->of.type == mjOBJ_BODY)
        *out = d->xmat + 9 * id;
    else
        *out = (object->of.type == mjOBJ_SITE ? d->site_xmat : d->geom_xmat) + 9 * id;
    return TCE_OK;
}

static tce_status find_parts(mw_env *env)
{
    const mw_task *task = env->task;
    const struct {
        mw_part part;
        const double **out;
    } common[] = {
        { MW_BODY("hand"), &env->hand },
        { MW_BODY("rightclaw"), &env->claw[0] },
        { MW_BODY("leftclaw"), &env->claw[1] },
        { MW_BODY("leftpad"), &env->pad[0] },
        { MW_BODY("rightpad"), &env->pad[1] },
        { MW_SITE("rightEndEffector"), &env->tool[0] },
        { MW_SITE("leftEndEffector"), &env->tool[1] },
        { MW_JOINT("r_close"), &env->finger },
    };
    tce_status status = TCE_OK;
    for (size_t i = 0; status == TCE_OK && i < sizeof common / sizeof common[0]; i++)
        status = find_position(env, &common[i].part, common[i].out);
    for (int i = 0; status == TCE_OK && i < MW_MAX_PARTS; i++)
        if (task->parts[i].name)
            status = find_position(env, &task->parts[i], &env->part[i]);
    for (int i = 0; status == TCE_OK && i < 2; i++) {
        if (task->objects[i].at.name)
            status = find_position(env, &task->objects[i].at, &env->object_at[i]);
        if (status == TCE_OK && task->objects[i].turn >= MW_TURN_BODY)
            status = find_turn(env, &task->objects[i], &env->object_turn[i]);
    }
    env->fixture = -1;
    if (status == TCE_OK && task->fixture)
        status = mujoco_find(&env->model, mjOBJ_BODY, task->fixture, &env->fixture);
    return status;
}

static void choose_boxes(mw_env *env)
{
    const mw_task *task = env->task;
    env->mocap_low = task->mocap_low[1] != 0.0 ? task->mocap_low : MOCAP_LOW;
    env->mocap_high = MOCAP_HIGH;
    env->goal_low = task->goal == MW_GOAL_MOCAP    ? env->mocap_low
                    : task->goal == MW_GOAL_SECOND ? task->low + 3
                                                   : task->goal_low;
    env->goal_high = task->goal == MW_GOAL_MOCAP    ? env->mocap_high
                     : task->goal == MW_GOAL_SECOND ? task->high + 3
                                                    : task->goal_high;
}

tce_status mw_create(const char *name, const mw_task *task, void *user, const char *settings,
                     void **out)
{
    mw_env *env = calloc(1, sizeof *env);
    if (!env)
        return tce_fail(TCE_E_NOMEM, "%s: no memory", name);
    env->name = name;
    env->task = task;
    env->draws = user;
    tce_status status = read_options(env, settings);
    if (status == TCE_OK)
        status = open_model(env);
    if (status == TCE_OK)
        status = find_parts(env);
    if (status != TCE_OK) {
        mw_destroy(env);
        return status;
    }
    choose_boxes(env);
    env->step = MW_N_STEPS;
    *out = env;
    return TCE_OK;
}

tce_status mw_spec(void *instance, tce_env_spec *out)
{
    const mw_env *env = instance;
    const mw_context context = env->task->context;
    out->n_obs = MW_N_OBS;
    out->n_dof = MW_N_ACTION;
    out->n_action = MW_N_ACTION;
    out->n_steps = MW_N_STEPS;
    out->n_metrics = sizeof METRICS / sizeof METRICS[0];
    out->n_context = context == MW_SEES_GOAL ? 3 : 6;
    out->dt = DT;
    out->metric_names = METRICS;
    out->context = context == MW_SEES_HAND_GOAL
                       ? SEES_HAND_GOAL
                       : SEES_OBJECT_GOAL + (context == MW_SEES_GOAL ? 3 : 0);
    out->action_low = ACTION_LOW;
    out->action_high = ACTION_HIGH;
    if (out->struct_size >= offsetof(tce_env_spec, carries_state) + sizeof out->carries_state)
        out->carries_state = env->profile == 2.0 && env->fixture >= 0;
    return TCE_OK;
}

/* ---- steps ----------------------------------------------------------------------------------- */

/*
 * mj_step after mj_forward and a move of the mocap body, which touches nothing: all that depends on
 * positions is as forward found it but for that body and the constraints, and more than half of the
 * time is saved. The same bytes as mj_step, for the MuJoCo that this was compared with.
 */
static void step_after_forward(const mjModel *m, mjData *d, int mocap_body)
{
    const double time = d->time;
    mj_checkPos(m, d);
    mj_checkVel(m, d);
    /* a whole step elsewhere, and where MuJoCo has met a bad number and begun anew */
    if (mjVERSION_HEADER != 330 || d->time != time) {
        mj_step(m, d);
        return;
    }
    mju_copy3(d->xpos + 3 * mocap_body, d->mocap_pos);
    mj_makeConstraint(m, d);
    mj_projectConstraint(m, d);
    mj_forwardSkip(m, d, mjSTAGE_POS, 1);
    mj_checkAcc(m, d);
    mj_Euler(m, d);
}

static void advance(void *context)
{
    mw_env *env = context;
    double mocap[3];
    mw_copy(mocap, env->data->mocap_pos);
    mw_move_mocap(env->action, env->mocap_low, env->mocap_high, mocap);
    mw_put_mocap(env, mocap);
    env->data->ctrl[0] = env->action[3];
    env->data->ctrl[1] = -env->action[3];
    const int forwarded = env->forwarded;
    env->forwarded = 0;
    if (forwarded)
        step_after_forward(&env->model, env->data, env->mocap_body);
    physics_step(&env->model, env->data, MW_N_SUB - forwarded);
    if (env->profile != 2.0) {
        mw_forward(env);
        env->forwarded = env->mocap_body > 0;
    }
}

tce_status mw_step_action(void *instance, const double *action, double *out_obs,
                          tce_env_result *out)
{
    mw_env *env = instance;
    tce_status status = check_finite(env->name, "action", MW_N_ACTION, action);
    if (status == TCE_OK)
        status = task_check_running(env->name, env->step >= MW_N_STEPS);
    if (status != TCE_OK)
        return status;
    memcpy(env->action, action, sizeof env->action);
    status = mujoco_try(advance, env);
    if (status != TCE_OK)
        return status;

    env->step++;
    memcpy(env->before, env->frame, sizeof env->before);
    mw_read_frame(env, env->frame);
    mw_observe_clipped(env, out_obs);
    mw_judge(env, out_obs);
    out->reward = env->result.reward;
    out->truncated = env->step >= MW_N_STEPS;
    return TCE_OK;
}

/* The hand follows the desired position; the velocity is not used. */
tce_status mw_step(void *instance, const double *pos, const double *vel, double *out_obs,
                   tce_env_result *out)
{
    const mw_env *env = instance;
    double action[MW_N_ACTION];
    (void)vel;
    const tce_status status = check_finite(env->name, "desired position", MW_N_ACTION, pos);
    if (status != TCE_OK)
        return status;
    mw_follow(pos, env->data->mocap_pos, action);
    return mw_step_action(instance, action, out_obs, out);
}

tce_status mw_metrics(void *instance, double *out)
{
    const mw_env *env = instance;
    out[0] = env->result.success;
    out[1] = env->result.distance;
    return TCE_OK;
}

/* ---- states ---------------------------------------------------------------------------------- */

size_t mw_n_state(void *instance)
{
    return packed_size(&((const mw_env *)instance)->model, MW_N_TASK);
}

tce_status mw_get_state(void *instance, double *out)
{
    const mw_env *env = instance;
    double task[MW_N_TASK] = { 0 };
    task[MW_STATE_STEP] = env->step;
    if (env->fixture >= 0)
        mw_copy(task + MW_STATE_FIXTURE, env->body_pos + 3 * env->fixture);
    mw_copy(task + MW_STATE_TARGET, env->T);
    mw_copy(task + MW_STATE_TOOL, env->c0);
    mw_copy(task + MW_STATE_OBJECT, env->o0);
    mw_copy(task + MW_STATE_EXTRA, env->extra);
    task[MW_STATE_N_EXTRA] = env->task->n_extra;
    memcpy(task + MW_STATE_ACTION, env->action, sizeof env->action);
    task[MW_STATE_REWARD] = env->result.reward;
    task[MW_STATE_SUCCESS] = env->result.success;
    task[MW_STATE_DISTANCE] = env->result.distance;
    memcpy(task + MW_STATE_FRAME, env->frame, sizeof env->frame);
    memcpy(task + MW_STATE_BEFORE, env->before, sizeof env->before);
    packed_get(&env->model, env->data, MW_N_TASK, task, out);
    return TCE_OK;
}

tce_status mw_set_state(void *instance, const double *state, double *out_obs)
{
    mw_env *env = instance;
    double task[MW_N_TASK];
    tce_status status = check_finite(env->name, "state", mw_n_state(env), state);
    if (status == TCE_OK && !(state[MW_STATE_STEP] >= 0.0 && state[MW_STATE_STEP] <= MW_N_STEPS))
        status = tce_fail(TCE_E_VALUE, "%s: state[%d] = %g, the step, must be in 0 ... %d",
                          env->name, MW_STATE_STEP, state[MW_STATE_STEP], MW_N_STEPS);
    if (status != TCE_OK)
        return status;
    /* first the model: positions are derived from it */
    env->forwarded = 0;
    if (env->fixture >= 0)
        mw_copy(env->body_pos + 3 * env->fixture, state + MW_STATE_FIXTURE);
    status = packed_set(env->name, &env->model, env->data, MW_N_TASK, task, state);
    if (status != TCE_OK)
        return status;

    env->step = (int)task[MW_STATE_STEP];
    mw_copy(env->T, task + MW_STATE_TARGET);
    mw_copy(env->c0, task + MW_STATE_TOOL);
    mw_copy(env->o0, task + MW_STATE_OBJECT);
    mw_copy(env->extra, task + MW_STATE_EXTRA);
    memcpy(env->action, task + MW_STATE_ACTION, sizeof env->action);
    env->result = (mw_result){ task[MW_STATE_REWARD], task[MW_STATE_SUCCESS] != 0.0,
                               task[MW_STATE_DISTANCE] };
    memcpy(env->frame, task + MW_STATE_FRAME, sizeof env->frame);
    memcpy(env->before, task + MW_STATE_BEFORE, sizeof env->before);
    if (task[MW_STATE_DERIVE] != 0.0)
        mw_read_frame(env, env->frame);
    if (env->step == 0)
        mw_observe(env, out_obs);
    else
        mw_observe_clipped(env, out_obs);
    if (task[MW_STATE_DERIVE] != 0.0)
        mw_judge(env, out_obs);
    return TCE_OK;
}

/* ---- pictures -------------------------------------------------------------------------------- */

/*
 * The mark at the goal is a site of most models; it stands at the target while a picture is taken.
 */
tce_status mw_render(void *instance, int32_t width, int32_t height, uint8_t *rgb)
{
    mw_env *env = instance;
    mjModel *m = &env->model;
    const int goal = mj_name2id(m, mjOBJ_SITE, "goal");
    double *const shared = m->site_pos;
    double *own = NULL;
    if (goal >= 0 && m->site_bodyid[goal] == 0) {
        own = malloc(3 * (size_t)m->nsite * sizeof *own);
        if (!own)
            return tce_fail(TCE_E_NOMEM, "%s: no memory for a picture", env->name);
        memcpy(own, shared, 3 * (size_t)m->nsite * sizeof *own);
        mw_copy(own + 3 * goal, env->T);
        m->site_pos = own;
    }
    env->forwarded = 0;
    const tce_status status = mujoco_render(&env->renderer, m, env->data, NULL, width, height, rgb);
    m->site_pos = shared;
    free(own);
    return status;
}
