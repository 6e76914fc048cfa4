/*
 * Box Pushing with random start, dense and temporally sparse: a seven-joint arm with a rod, inside
 * a tray of 10 cm, has to move it to a random target pose within 2 s. Model and numbers of
 * fancy_gym 0.3.0; written from the published description of the task.
 *
 * q, q' angles and velocities of the arm; b, beta position and quaternion of the box; g, gamma
 * those of the target; r tip of the rod, rho its quaternion. A step of 0.02 s is ten physics steps
 * under torques held constant,
 *     u = clip(a + bias(q, q'), +-u_max),   a = 10 clip(action, +-1),
 *     and for trajectories   action = Kp (p - q) + Kd (w - q')
 * with bias, gravity and Coriolis forces, from the physics step before. All but q and q' in reward
 * and observation is that old, as in the original. With d = |b - g|, phi = angle(beta, gamma),
 * omega = angle(rho, straight down), E = sum a^2, L the violation of joint limits:
 *     common   c = L - 2 clip(|b - r|, 0.05, 100) - [omega > pi/4] omega / pi
 *     dense    c - 3.5 d - phi / pi - 0.0005 E
 *     sparse   c - 0.02 E, and at the last step - 350 d - 100 phi / pi - 50 |q'|
 * Success: d < 0.05 m and phi < 0.5 rad at the last step.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "arm_search.h"
#include "box_pushing.h"
#include "shared/static_culling.h"
#include "shared/model.h"
#include "shared/options.h"
#include "tasks.h"

enum {
    N_JOINTS = ARM_JOINTS,
    N_STEPS = 100,
    N_SUB = 10,
    NQ = BOX_NQ,
    NV = BOX_NV,
    N_POSE = 7,
    QPOS_BOX = 9
};
/* where the parts of an observation begin; a pose is position and quaternion */
enum { OBS_POSITION = 0, OBS_VELOCITY = 7, OBS_BOX = 14, OBS_TARGET = 21, N_OBS = 28 };

#define DT 0.02
#define PI 3.14159265358979323846
#define ACTION_SCALE 10.0 /* N m */
#define MODEL "fancy_gym/envs/mujoco/box_pushing/assets/box_pushing.xml"
/* the default of MuJoCo 2, unknown to MuJoCo 3 */
#define MODEL_BLANK " collision=\"all\""

static const double KP[N_JOINTS] = { 1.2, 1.2, 1.2, 1.2, 0.5, 0.3, 0.1 };
static const double KD[N_JOINTS] = { 0.1, 0.1, 0.1, 0.1, 0.06, 0.05, 0.03 };
static const double MAX_TORQUE[N_JOINTS] = { 90.0, 90.0, 90.0, 90.0, 12.0, 12.0, 12.0 };
static const double MAX_SPEED[N_JOINTS] = { 2.175, 2.175, 2.175, 2.175, 2.61, 2.61, 2.61 };
static const double ACTION_LOW[N_JOINTS] = { -1, -1, -1, -1, -1, -1, -1 };
static const double ACTION_HIGH[N_JOINTS] = { 1, 1, 1, 1, 1, 1, 1 };
/* arm, fingers, box before the draws */
static const double START[NQ] = { 0, 0, 0, -1.5, 0, 1.5, 0, 0, 0, 0.6, 0.45, 0, 1, 0, 0, 0 };
static const double FIXED_BOX[N_POSE] = { 0.4, 0.3, -0.01, 0, 0, 0, 1 };
/* the rod points down */
static const double DOWN[4] = { 0, 1, 0, 0 };
/* poses are drawn from here, m; targets at least MIN_DISTANCE from the box in the plane */
static const double LOW[3] = { 0.3, -0.45, -0.01 };
static const double HIGH[3] = { 0.6, 0.45, -0.01 };
#define MIN_DISTANCE 0.3
#define ARM_HEIGHT 0.15

/*
 * Between the posts of the frame that the table stands in: above the table's edge, and between its
 * front and back beam. Nothing of the frame is there but what the box can touch.
 */
static const static_culling_space SPACES[] = {
    { { -10.0, -0.96, -0.02 }, { 10.0, 0.96, 1.24 } },
    { { -0.27, -0.96, -0.445 }, { 10.0, 0.96, 1.24 } },
};
enum { N_SPACES = sizeof SPACES / sizeof SPACES[0] };

static const char *const METRICS[] = { "success", "box_goal_pos_dist", "box_goal_rot_dist",
                                       "episode_energy" };
static const int32_t CONTEXT[] = { 0,  1,  2,  3,  4,  5,  6,  14, 15, 16, 17,
                                   18, 19, 20, 21, 22, 23, 24, 25, 26, 27 };

/* What rewards are made of, for the state reached. */
typedef struct box_terms {
    double distance, angle, tilt, limits; /* d, phi, omega, L */
} box_terms;

typedef struct box_pushing {
    const char *name;
    const task_draws *draws;
    tce_random *random; /* during a reset */
    static_culling culling;
    const mjModel *model; /* and data: those of the culling, which steps them */
    mjData *data;
    mjModel *picture_model; /* the whole one */
    mjData *picture_data;
    mujoco_renderer *renderer;
    arm_search search;
    int sparse;
    int box, rod, rod_tip, target[2];
    double random_start, whole;
    double pose[N_POSE]; /* of the target */
    double step, energy;
    box_terms terms;
} box_pushing;

/* ---- life ------------------------------------------------------------------------------------ */

static void destroy(void *instance)
{
    box_pushing *env = instance;
    mujoco_renderer_free(env->renderer);
    mj_deleteData(env->picture_data);
    mj_deleteModel(env->picture_model);
    static_culling_close(&env->culling);
    free(env);
}

static tce_status find_parts(box_pushing *env)
{
    const mujoco_part parts[] = {
        { mjOBJ_BODY, "box_0", &env->box },
        { mjOBJ_BODY, "push_rod", &env->rod },
        { mjOBJ_SITE, "rod_tip", &env->rod_tip },
        { mjOBJ_BODY, "tcp", &env->search.body },
    };
    const mujoco_part marks[] = {
        { mjOBJ_BODY, "target_pos", &env->target[0] },
        { mjOBJ_BODY, "replan_target_pos", &env->target[1] },
    };
    tce_status status = mujoco_check_sizes(env->model, env->name, NQ, NV, N_JOINTS);
    if (status == TCE_OK)
        status = mujoco_find_parts(env->model, sizeof parts / sizeof parts[0], parts);
    return status == TCE_OK
               ? mujoco_find_parts(env->culling.whole, sizeof marks / sizeof marks[0], marks)
               : status;
}

static tce_status create(const char *name, int sparse, const task_draws *draws,
                         const char *settings, void **out)
{
    box_pushing *env = calloc(1, sizeof *env);
    if (!env)
        return tce_fail(TCE_E_NOMEM, "%s: no memory", name);
    env->name = name;
    env->sparse = sparse;
    env->draws = draws;
    env->random_start = 1.0;
    const task_option options[] = { { "random_start", &env->random_start, 0.0, 1.0 },
                                    { "whole", &env->whole, 0.0, 1.0 } };
    tce_status status = task_options_read(name, settings, sizeof options / sizeof options[0],
                                          options);
    if (status == TCE_OK)
        status = static_culling_open(&env->culling, MODEL, MODEL_BLANK,
                                     env->whole != 0.0 ? 0 : N_SPACES, SPACES);
    env->model = env->culling.model;
    env->data = env->culling.data;
    if (status == TCE_OK)
        status = find_parts(env);
    if (status != TCE_OK) {
        destroy(env);
        return status;
    }
    env->step = N_STEPS;
    *out = env;
    return TCE_OK;
}

static tce_status create_dense(void *user, const char *settings, void **out)
{
    return create("box_pushing_dense", 0, user, settings, out);
}

static tce_status create_sparse(void *user, const char *settings, void **out)
{
    return create("box_pushing_sparse", 1, user, settings, out);
}

static tce_status spec(void *instance, tce_env_spec *out)
{
    (void)instance;
    out->n_obs = N_OBS;
    out->n_dof = N_JOINTS;
    out->n_action = N_JOINTS;
    out->n_steps = N_STEPS;
    out->n_metrics = sizeof METRICS / sizeof METRICS[0];
    out->n_context = sizeof CONTEXT / sizeof CONTEXT[0];
    out->dt = DT;
    out->metric_names = METRICS;
    out->context = CONTEXT;
    out->action_low = ACTION_LOW;
    out->action_high = ACTION_HIGH;
    out->velocity_end = OBS_VELOCITY + N_JOINTS;
    return TCE_OK;
}

/* ---- what is seen and paid ------------------------------------------------------------------- */

static void observe(const box_pushing *env, double *out)
{
    const mjData *data = env->data;
    memcpy(out + OBS_POSITION, data->qpos, N_JOINTS * sizeof *out);
    memcpy(out + OBS_VELOCITY, data->qvel, N_JOINTS * sizeof *out);
    memcpy(out + OBS_BOX, data->xpos + 3 * env->box, 3 * sizeof *out);
    memcpy(out + OBS_BOX + 3, data->xquat + 4 * env->box, 4 * sizeof *out);
    memcpy(out + OBS_TARGET, env->pose, sizeof env->pose);
}

static double separation(const double *a, const double *b)
{
    const double d[3] = { a[0] - b[0], a[1] - b[1], a[2] - b[2] };
    return sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
}

/* Angle between two orientations, 2 acos |p . q|; a product above 1 is rounding. */
static double angle(const double *p, const double *q)
{
    const double product = fabs(p[0] * q[0] + p[1] * q[1] + p[2] * q[2] + p[3] * q[3]);
    return 2.0 * acos(fmin(product, 1.0));
}

/* L: how far angles and speeds are beyond the arm's limits, negative. */
static double limits(const double *q, const double *v)
{
    double sum = 0.0;
    for (int i = 0; i < N_JOINTS; i++) {
        sum += fmax(q[i] - ARM_HIGH[i], 0.0) + fmax(ARM_LOW[i] - q[i], 0.0);
        sum += fmax(fabs(v[i]) - MAX_SPEED[i], 0.0);
    }
    return -sum;
}

static void measure(box_pushing *env)
{
    const mjData *data = env->data;
    env->terms.distance = separation(data->xpos + 3 * env->box, env->pose);
    env->terms.angle = angle(data->xquat + 4 * env->box, env->pose + 3);
    env->terms.tilt = angle(data->xquat + 4 * env->rod, DOWN);
    env->terms.limits = limits(data->qpos, data->qvel);
}

/* Of the step that measure() saw; effort is E. */
static double reward(const box_pushing *env, double effort, int end)
{
    const mjData *data = env->data;
    const box_terms *t = &env->terms;
    const double reach = separation(data->xpos + 3 * env->box, data->site_xpos + 3 * env->rod_tip);
    double sum = t->limits - 2.0 * fmin(fmax(reach, 0.05), 100.0);
    if (t->tilt > PI / 4.0)
        sum -= t->tilt / PI;
    if (!env->sparse)
        return sum - 3.5 * t->distance - t->angle / PI - 0.0005 * effort;
    sum -= 0.02 * effort;
    if (end) {
        double speed = 0.0;
        for (int i = 0; i < N_JOINTS; i++)
            speed += data->qvel[i] * data->qvel[i];
        sum -= 350.0 * t->distance + 100.0 * t->angle / PI + 50.0 * sqrt(speed);
    }
    return sum;
}

static int success(const box_pushing *env)
{
    return env->step >= N_STEPS && env->terms.distance < 0.05 && env->terms.angle < 0.5;
}

/* ---- episodes -------------------------------------------------------------------------------- */

/* Sine and cosine are the other way round than usual, as in the original: the yaw is pi - theta. */
static void draw_pose(box_pushing *env, double *out)
{
    for (int i = 0; i < 3; i++)
        out[i] = task_draw(env->draws, env->random, LOW[i], HIGH[i]);
    const double theta = task_draw(env->draws, env->random, 0.0, 2.0 * PI);
    out[3] = sin(theta / 2.0);
    out[4] = 0.0;
    out[5] = 0.0;
    out[6] = cos(theta / 2.0);
}

/* The model is shared, so the target is kept here; there it would only be marks to look at. */
static void set_target(box_pushing *env, const double *pose)
{
    memcpy(env->pose, pose, sizeof env->pose);
    mju_normalize4(env->pose + 3);
}

static void begin(void *context)
{
    box_pushing *env = context;
    mjData *data = env->data;
    mj_resetData(env->model, data);
    memcpy(data->qpos, START, sizeof START);
    static_culling_forward(&env->culling);

    /* box, then targets until one is far enough */
    double pose[N_POSE];
    double *box = data->qpos + QPOS_BOX;
    if (env->random_start != 0.0)
        draw_pose(env, box);
    else
        memcpy(box, FIXED_BOX, sizeof FIXED_BOX);
    do
        draw_pose(env, pose);
    while (hypot(pose[0] - box[0], pose[1] - box[1]) < MIN_DISTANCE);
    set_target(env, pose);

    /* the arm, above the box */
    const double goal[3] = { box[0], box[1], box[2] + ARM_HEIGHT };
    arm_search_run(&env->search, env->model, data, goal, DOWN);
    static_culling_forward(&env->culling);
    env->step = 0.0;
    env->energy = 0.0;
    measure(env);
}

static tce_status reset(void *instance, tce_random *random, double *out_obs, double *out_pos,
                        double *out_vel)
{
    box_pushing *env = instance;
    env->random = random;
    const tce_status status = mujoco_try(begin, env);
    env->random = NULL;
    if (status != TCE_OK)
        return status;
    observe(env, out_obs);
    memcpy(out_pos, env->data->qpos, N_JOINTS * sizeof *out_pos);
    memset(out_vel, 0, N_JOINTS * sizeof *out_vel);
    return TCE_OK;
}

static tce_status step_action(void *instance, const double *action, double *out_obs,
                              tce_env_result *out)
{
    box_pushing *env = instance;
    mjData *data = env->data;
    double effort = 0.0;
    tce_status status = task_check_running(env->name, env->step >= N_STEPS);
    if (status != TCE_OK)
        return status;
    for (int i = 0; i < N_JOINTS; i++)
        if (!isfinite(action[i]))
            return tce_fail(TCE_E_VALUE, "%s: action[%d] = %g, must be finite", env->name, i,
                            action[i]);
    for (int i = 0; i < N_JOINTS; i++) {
        const double torque = ACTION_SCALE * fmin(fmax(action[i], -1.0), 1.0);
        data->ctrl[i] = fmin(fmax(torque + data->qfrc_bias[i], -MAX_TORQUE[i]), MAX_TORQUE[i]);
        effort += torque * torque;
    }
    status = static_culling_step(&env->culling, N_SUB);
    if (status != TCE_OK)
        return status;
    env->step += 1.0;
    env->energy += effort;
    measure(env);

    const int end = env->step >= N_STEPS;
    memset(out, 0, sizeof *out);
    out->reward = reward(env, effort, end);
    out->terminated = end && success(env);
    out->truncated = end && !success(env);
    observe(env, out_obs);
    return TCE_OK;
}

static tce_status step(void *instance, const double *pos, const double *vel, double *out_obs,
                       tce_env_result *out)
{
    const mjData *data = ((const box_pushing *)instance)->data;
    double action[N_JOINTS];
    for (int i = 0; i < N_JOINTS; i++)
        action[i] = KP[i] * (pos[i] - data->qpos[i]) + KD[i] * (vel[i] - data->qvel[i]);
    return step_action(instance, action, out_obs, out);
}

/* Of the state reached; success is known at the last step only. */
static tce_status metrics(void *instance, double *out)
{
    const box_pushing *env = instance;
    out[0] = success(env);
    out[1] = env->terms.distance;
    out[2] = env->terms.angle;
    out[3] = env->energy;
    return TCE_OK;
}

/* ---- state and picture ----------------------------------------------------------------------- */

static size_t n_state(void *instance)
{
    (void)instance;
    return BOX_N_STATE;
}

static tce_status get_state(void *instance, double *out)
{
    const box_pushing *env = instance;
    const mjData *data = env->data;
    memcpy(out + BOX_STATE_QPOS, data->qpos, NQ * sizeof *out);
    memcpy(out + BOX_STATE_QVEL, data->qvel, NV * sizeof *out);
    memcpy(out + BOX_STATE_TARGET, env->pose, sizeof env->pose);
    out[BOX_STATE_STEP] = env->step;
    out[BOX_STATE_ENERGY] = env->energy;
    memcpy(out + BOX_STATE_WARM, data->qacc_warmstart, NV * sizeof *out);
    memcpy(out + BOX_STATE_BIAS, data->qfrc_bias, N_JOINTS * sizeof *out);
    memcpy(out + BOX_STATE_BOX, data->xpos + 3 * env->box, 3 * sizeof *out);
    memcpy(out + BOX_STATE_BOX + 3, data->xquat + 4 * env->box, 4 * sizeof *out);
    const double rest[] = { env->terms.distance, env->terms.angle,   env->terms.tilt,
                            env->terms.limits,   env->search.rounds, env->search.tries,
                            env->search.error };
    memcpy(out + BOX_STATE_TERMS, rest, sizeof rest);
    return TCE_OK;
}

/* The arguments of put_state. */
typedef struct state_job {
    box_pushing *env;
    const double *state;
} state_job;

static void put_physics(mjData *data, const double *state)
{
    memcpy(data->qpos, state + BOX_STATE_QPOS, NQ * sizeof *state);
    memcpy(data->qvel, state + BOX_STATE_QVEL, NV * sizeof *state);
}

static void put_state(void *context)
{
    const state_job *job = context;
    box_pushing *env = job->env;
    mjData *data = env->data;
    const double *state = job->state;
    mj_resetData(env->model, data);
    put_physics(data, state);
    set_target(env, state + BOX_STATE_TARGET);
    env->step = state[BOX_STATE_STEP];
    env->energy = state[BOX_STATE_ENERGY];
    data->time = DT * env->step;
    static_culling_forward(&env->culling);
    measure(env);
    if (isnan(state[BOX_STATE_WARM]))
        return;

    /*
     * what the last physics step left; forward has normalised the quaternion, so the positions too
     */
    put_physics(data, state);
    memcpy(env->pose, state + BOX_STATE_TARGET, sizeof env->pose);
    memcpy(data->qacc_warmstart, state + BOX_STATE_WARM, NV * sizeof *state);
    memcpy(data->qfrc_bias, state + BOX_STATE_BIAS, N_JOINTS * sizeof *state);
    memcpy(data->xpos + 3 * env->box, state + BOX_STATE_BOX, 3 * sizeof *state);
    memcpy(data->xquat + 4 * env->box, state + BOX_STATE_BOX + 3, 4 * sizeof *state);
    const double *terms = state + BOX_STATE_TERMS;
    env->terms = (box_terms){ terms[0], terms[1], terms[2], terms[3] };
    env->search.rounds = state[BOX_STATE_SEARCH];
    env->search.tries = state[BOX_STATE_SEARCH + 1];
    env->search.error = state[BOX_STATE_SEARCH + 2];
}

static tce_status set_state(void *instance, const double *state, double *out_obs)
{
    state_job job = { instance, state };
    for (int i = 0; i < BOX_STATE_WARM; i++)
        if (!isfinite(state[i]))
            return tce_fail(TCE_E_VALUE, "%s: state[%d] = %g, must be finite", job.env->name, i,
                            state[i]);
    const tce_status status = mujoco_try(put_state, &job);
    if (status == TCE_OK)
        observe(job.env, out_obs);
    return status;
}

/*
 * Pictures have a model and data of their own: the target stands in that model, and drawing leaves
 * the episode as it was.
 */
static tce_status open_picture(box_pushing *env)
{
    env->picture_model = mj_copyModel(NULL, env->culling.whole);
    if (!env->picture_model)
        return tce_fail(TCE_E_NOMEM, "%s: no memory for pictures", env->name);
    mjModel *model = env->picture_model;
    model->vis.global.offwidth = 1280;
    model->vis.global.offheight = 960;
    model->vis.global.azimuth = 140.0f;
    model->vis.global.elevation = -35.0f;
    model->stat.center[0] = 0.35;
    model->stat.center[1] = 0.0;
    model->stat.center[2] = 0.2;
    model->stat.extent = 1.0;
    return mujoco_data_create(model, &env->picture_data);
}

static tce_status render(void *instance, int32_t width, int32_t height, uint8_t *rgb)
{
    box_pushing *env = instance;
    tce_status status = env->picture_data ? TCE_OK : open_picture(env);
    if (status != TCE_OK)
        return status;
    for (int i = 0; i < 2; i++) {
        memcpy(env->picture_model->body_pos + 3 * env->target[i], env->pose, 3 * sizeof *env->pose);
        memcpy(env->picture_model->body_quat + 4 * env->target[i], env->pose + 3,
               4 * sizeof *env->pose);
    }
    memcpy(env->picture_data->qpos, env->data->qpos, NQ * sizeof *env->data->qpos);
    return mujoco_render(&env->renderer, env->picture_model, env->picture_data, NULL, width, height,
                         rgb);
}

#define BOX_TABLE(NAME, DESCRIPTION, CREATE)                                                  \
    {                                                                                         \
        .struct_size = sizeof(tce_env_vtable), .abi = TCE_ENV_ABI, .name = NAME,              \
        .description = DESCRIPTION, .create = CREATE, .destroy = destroy, .spec = spec,       \
        .reset = reset, .step = step, .step_action = step_action, .metrics = metrics,         \
        .n_state = n_state, .get_state = get_state, .set_state = set_state, .render = render, \
    }

const tce_env_vtable TASK_BOX_PUSHING_DENSE = BOX_TABLE(
    "box_pushing_dense",
    "Panda arm pushes a box to a random pose (MuJoCo, fancy_gym's model); a reward each step",
    create_dense);
const tce_env_vtable TASK_BOX_PUSHING_SPARSE = BOX_TABLE(
    "box_pushing_sparse", "the same; where the box is counts at the last step only", create_sparse);
