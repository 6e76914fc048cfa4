/*
 * The machinery of the fifty tasks. One control step is five physics steps, 0.0125 s. The action
 * moves the mocap body by 1 cm at most along each axis and the hand, welded to it, follows; its
 * fourth number is the gripper's force, 1 closes.
 *
 * Observation (39): frame, frame of the step before, goal. Frame (18): hand, opening of the
 * gripper, up to two objects with position and quaternion.
 *
 * Two profiles. 3: as the package metaworld does it. 2: as the version that the TCE paper
 * ran: positions lag one physics step behind because there is no mj_forward after a step, and a
 * reset finds the fixture where the episode before had put it, so an environment carries state from
 * episode to episode.
 */
#include "metaworld.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "list.h"

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

static const task_option OPTIONS[] = { TASK_NUMBER(mw_env, profile, 3.0, 2.0, 3.0),
                                       TASK_FLAG(mw_env, hidden_goal, 0) };

/* ---- life ------------------------------------------------------------------------------------ */

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

static tce_status configure(void *instance)
{
    mw_env *env = instance;
    tce_env_spec *spec = &env->base.spec;
    if (env->profile != 2.0 && env->profile != 3.0)
        return tce_fail(TCE_E_VALUE, "%s: profile = %g, must be 2 or 3", env->base.name,
                        env->profile);
    env->task = env->base.variant;
    choose_boxes(env);
    env->s.n_extra = env->task->n_extra;
    env->T = env->s.T;
    env->c0 = env->s.c0;
    env->o0 = env->s.o0;
    env->extra = env->s.extra;
    if (env->task->context == MW_SEES_HAND_GOAL) {
        spec->context = SEES_HAND_GOAL;
    } else if (env->task->context == MW_SEES_GOAL) {
        spec->context += 3;
        spec->n_context = 3;
    }
    spec->carries_state = env->profile == 2.0 && env->task->fixture;
    return TCE_OK;
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
 * The shared model with arrays of its own where an environment writes; meshes and textures, twenty
 * megabytes of them, stay shared.
 */
static tce_status open_model(mw_env *env)
{
    char path[256];
    static_culling *c = &env->base.culling;
    snprintf(path, sizeof path, MODELS "%s", env->task->xml);
    const tce_status status = model_open(path, NULL, NULL, &c->whole);
    if (status != TCE_OK)
        return status;
    const mjModel *m = c->whole;
    if (m->neq != 1 || m->nmocap != 1 || m->nu != 2)
        return tce_fail(
            TCE_E_ENV,
            "%s: %s is not a model of the metaworld that `make deps` fetches; run it again",
            env->base.name, env->task->xml);
    const size_t n_pos = 3 * (size_t)m->nbody, n_eq = mjNEQDATA * (size_t)m->neq;
    env->body_pos = malloc(n_pos * sizeof *env->body_pos);
    env->eq_data = malloc(n_eq * sizeof *env->eq_data);
    if (!env->body_pos || !env->eq_data)
        return tce_fail(TCE_E_NOMEM, "%s: no memory", env->base.name);
    memcpy(env->body_pos, m->body_pos, n_pos * sizeof *env->body_pos);
    memcpy(env->eq_data, m->eq_data, n_eq * sizeof *env->eq_data);
    memcpy(env->eq_data, WELD, sizeof WELD);
    env->model = *m;
    env->model.body_pos = env->body_pos;
    env->model.eq_data = env->eq_data;
    env->mocap_body = find_mocap(m);
    c->model = &env->model;
    return data_create(c->model, &c->data);
}

static void close_env(void *instance)
{
    mw_env *env = instance;
    free(env->body_pos);
    free(env->eq_data);
}

/* Where data has the position of a part, or the coordinate of a joint. */
static tce_status find_position(mw_env *env, const mw_part *part, const double **out)
{
    const mjData *d = env->data;
    int id = 0;
    const tce_status status = model_find(&env->model, (int)part->type, part->name, &id);
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
    const tce_status status = model_find(&env->model, (int)object->of.type, object->of.name, &id);
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
        status = model_find(&env->model, mjOBJ_BODY, task->fixture, &env->fixture);
    if (status == TCE_OK && task->fixture)
        mw_copy(env->s.fixture, env->body_pos + 3 * env->fixture);
    return status;
}

static tce_status open_env(void *instance)
{
    mw_env *env = instance;
    const tce_status status = open_model(env);
    env->data = env->base.culling.data;
    return status == TCE_OK ? find_parts(env) : status;
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
    /* a whole step elsewhere, and where MuJoCo has met a bad number and reset the data */
    if (mjVERSION_HEADER != COMPARED_MUJOCO || d->time != time) {
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

static void step(void *instance, const double *action)
{
    mw_env *env = instance;
    double mocap[3];
    memcpy(env->s.action, action, sizeof env->s.action);
    mw_copy(mocap, env->data->mocap_pos);
    mw_move_mocap(action, env->mocap_low, env->mocap_high, mocap);
    mw_put_mocap(env, mocap);
    env->data->ctrl[0] = action[3];
    env->data->ctrl[1] = -action[3];

    /* what forward found is the first half of the next step, and counts as part of it */
    const int forwarded = env->forwarded;
    env->forwarded = 0;
    if (forwarded) {
        const double start = step_clock();
        step_after_forward(&env->model, env->data, env->mocap_body);
        step_count(start, 1);
    }
    step_as_original(&env->model, env->data, MW_N_SUB - forwarded);
    if (env->profile != 2.0) {
        const double start = step_clock();
        mw_forward(env);
        step_count(start, 0);
        env->forwarded = env->mocap_body > 0;
    }
    memcpy(env->s.before, env->s.frame, sizeof env->s.before);
    mw_read_frame(env, env->s.frame);
}

static void reward(void *instance, const double *action, tce_env_result *out)
{
    mw_env *env = instance;
    (void)action;
    mw_judge(env);
    out->reward = env->s.reward;
}

static void metrics(const void *instance, double *out)
{
    const mw_env *env = instance;
    out[0] = env->s.success;
    out[1] = env->s.distance;
}

/* ---- paths ----------------------------------------------------------------------------------- */

/* The hand follows the desired position; the velocity is not used. */
static tce_status follow(void *instance, const double *pos, const double *vel, double *out_obs,
                         tce_env_result *out)
{
    const mw_env *env = instance;
    double action[MW_N_ACTION];
    (void)vel;
    mw_follow(pos, env->data->mocap_pos, action);
    return mujoco_step_action(instance, action, out_obs, out);
}

static void path_start(const void *instance, double *out_pos)
{
    const mw_env *env = instance;
    mw_copy(out_pos, env->data->mocap_pos);
    out_pos[3] = *env->finger;
}

/* ---- states and pictures --------------------------------------------------------------------- */

/* First the model: positions are derived from it. */
static void restore(void *instance)
{
    mw_env *env = instance;
    env->forwarded = 0;
    if (env->fixture >= 0)
        mw_copy(env->body_pos + 3 * env->fixture, env->s.fixture);
}

static void derive(void *instance)
{
    mw_env *env = instance;
    mw_read_frame(env, env->s.frame);
    mw_judge(env);
}

/* The mark at the goal is a site of most models. */
static void mark(const void *instance, mjModel *model)
{
    const mw_env *env = instance;
    const int goal = mj_name2id(model, mjOBJ_SITE, "goal");
    if (goal >= 0 && model->site_bodyid[goal] == 0)
        mw_copy(model->site_pos + 3 * goal, env->T);
    if (env->fixture >= 0)
        mw_copy(model->body_pos + 3 * env->fixture, env->s.fixture);
}

const mujoco_task METAWORLD = {
    TASK_STRUCT(mw_env),
    .spec = { .n_obs = MW_N_OBS,
              .n_steps = MW_N_STEPS,
              .dt = 0.0125,
              TASK_ACTIONS(MW_N_ACTION, ACTION_LOW, ACTION_HIGH),
              TASK_METRICS(METRICS),
              TASK_CONTEXT(SEES_OBJECT_GOAL) },
    TASK_OPTIONS(OPTIONS),
    /* the table from the right of the arm: the models' own cameras stand on their heads */
    .view = { .center = { 0.0, 0.65, 0.1 }, .extent = 1.0, .azimuth = 145.0F, .elevation = -30.0F },
    .reset = mw_reset,
    .observe = mw_observe,
    .step = step,
    .reward = reward,
    .metrics = metrics,
    .configure = configure,
    .derive = derive,
    .mark = mark,
    .follow = follow,
    .path_start = path_start,
    .open = open_env,
    .close = close_env,
    .restore = restore,
};

#define TABLE(NAME, WHAT)                                     \
    extern const mw_task mw_##NAME;                           \
    MUJOCO_TASK_VARIANT(metaworld_##NAME, "metaworld_" #NAME, \
                        "Sawyer arm (MuJoCo, Metaworld): " WHAT, &METAWORLD, &mw_##NAME);

METAWORLD_TASKS(TABLE)
