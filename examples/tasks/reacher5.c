/*
 * reacher5: an arm of five links in the horizontal plane has to hold its tip at a random goal when
 * the time is up. The model is ours and is compiled in.
 *
 * Joint angles q, velocities q' (5 numbers each), tip x(q), goal g. A step of 0.02 s is N_SUB
 * physics steps under torques held constant,
 *     u = clip(Kp (p - q) + Kd (w - q'), -u_max, u_max)
 * for the desired position p and velocity w. Reward of each step: -control_cost * mean_i (u_i /
 * u_max,i)^2; of the last one in addition -GOAL_WEIGHT |x - g| - SPEED_WEIGHT |q'|. So nothing
 * tells an agent about its goal before the last step. Success: |x - g| < tolerance then.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "shared/guard.h"
#include "shared/options.h"
#include "tasks.h"

enum { N_JOINTS = 5, N_STEPS = 100, N_SUB = 2 };
/* where the parts of an observation begin */
enum { OBS_SIN = 0, OBS_COS = 5, OBS_VELOCITY = 10, OBS_GOAL = 15, OBS_TIP = 17, N_OBS = 19 };
/*
 * the task's own part of the state, after MuJoCo's: steps taken, goal, sum of the squared torques
 * so far
 */
enum { STATE_STEP, STATE_GOAL, STATE_EFFORT = 3, N_TASK_STATE };

#define DT 0.02
#define GOAL_WEIGHT 10.0
#define SPEED_WEIGHT 0.1
#define PI 3.14159265358979323846

/* The links get lighter and the motors weaker towards the tip, as in most arms. */
static const double MAX_TORQUE[N_JOINTS] = { 10.0, 7.0, 4.0, 2.0, 1.0 };
static const double KP[N_JOINTS] = { 100.0, 60.0, 30.0, 15.0, 8.0 };
static const double KD[N_JOINTS] = { 10.0, 6.0, 3.0, 1.5, 0.8 };
static const double MIN_TORQUE[N_JOINTS] = { -10.0, -7.0, -4.0, -2.0, -1.0 };
/* bent, so that the tip can move to all sides: rad */
static const double START[N_JOINTS] = { -1.2, 0.6, 0.6, 0.6, 0.6 };

static const char MODEL[] =
    "<mujoco model='reacher5'>"
    "<compiler angle='radian'/>"
    "<option timestep='0.01' gravity='0 0 0' integrator='implicitfast'>"
    "<flag contact='disable' autoreset='disable'/></option>"
    "<visual><global offwidth='1280' offheight='960'/><quality shadowsize='2048' offsamples='4'/>"
    "<headlight ambient='.36 .36 .36' diffuse='.16 .16 .16' specular='0 0 0'/><map znear='0.1' "
    "zfar='30'/></visual>"
    "<asset>"
    "<texture name='sky' type='skybox' builtin='gradient' rgb1='.96 .97 .99' rgb2='.80 .85 .91' "
    "width='256'"
    " height='256'/>"
    "<texture name='floor' type='2d' builtin='checker' rgb1='.88 .89 .905' rgb2='.835 .85 .87'"
    " mark='edge' markrgb='.76 .78 .81' width='512' height='512'/>"
    "<material name='floor' texture='floor' texrepeat='2.5 2.5' texuniform='true' reflectance='0' "
    "specular='0'/>"
    "<material name='link' rgba='.13 .42 .72 1' specular='.35' shininess='.5'/>"
    "<material name='joint' rgba='.86 .87 .90 1' specular='.4' shininess='.6'/>"
    "<material name='base' rgba='.25 .27 .30 1' specular='.3'/>"
    "<material name='tip' rgba='.95 .60 .12 1' specular='.4'/>"
    "<material name='goal' rgba='.85 .16 .20 .9' specular='.2' emission='.2'/>"
    "<material name='zone' rgba='.85 .16 .20 .30' specular='0'/>"
    "</asset>"
    "<default>"
    "<joint type='hinge' axis='0 0 1' damping='0.1'/>"
    "<geom contype='0' conaffinity='0' material='link' density='800'/>"
    "<default class='deco'><geom density='0' material='joint'/></default>"
    "</default>"
    "<worldbody>"
    "<light pos='-1 -1.6 3.6' dir='0.33 0.44 -1' cutoff='42' exponent='1' diffuse='.55 .55 .55'"
    " specular='.2 .2 .2' castshadow='true'/>"
    "<camera name='view' fovy='35' pos='0.2 -1.15 2.55' xyaxes='1 0 0 0 0.9116 0.4111'/>"
    "<geom name='floor' type='plane' size='4 4 .1' material='floor'/>"
    "<geom class='deco' type='cylinder' size='.065 .03' pos='0 0 .03' material='base'/>"
    "<body name='link1' pos='0 0 .09'><joint name='joint1' armature='0.3'/>"
    "<geom type='capsule' size='.030' fromto='0 0 0 .2 0 0'/><geom class='deco' type='cylinder' "
    "size='.040 .034'/>"
    "<body name='link2' pos='.2 0 0'><joint name='joint2' armature='0.2'/>"
    "<geom type='capsule' size='.027' fromto='0 0 0 .2 0 0'/><geom class='deco' type='cylinder' "
    "size='.036 .031'/>"
    "<body name='link3' pos='.2 0 0'><joint name='joint3' armature='0.1'/>"
    "<geom type='capsule' size='.024' fromto='0 0 0 .2 0 0'/><geom class='deco' type='cylinder' "
    "size='.032 .028'/>"
    "<body name='link4' pos='.2 0 0'><joint name='joint4' armature='0.06'/>"
    "<geom type='capsule' size='.021' fromto='0 0 0 .2 0 0'/><geom class='deco' type='cylinder' "
    "size='.028 .025'/>"
    "<body name='link5' pos='.2 0 0'><joint name='joint5' armature='0.03'/>"
    "<geom type='capsule' size='.018' fromto='0 0 0 .2 0 0'/><geom class='deco' type='cylinder' "
    "size='.024 .022'/>"
    "<geom class='deco' type='sphere' size='.026' pos='.2 0 0' material='tip'/>"
    "<site name='tip' pos='.2 0 0' size='.001' rgba='0 0 0 0'/>"
    "</body></body></body></body></body>"
    "<body name='goal' mocap='true'>"
    "<geom type='cylinder' size='.05 .002' pos='0 0 .003' material='zone'/>"
    "<geom type='cylinder' size='.006 .045' pos='0 0 .045' material='goal'/>"
    "<geom type='sphere' size='.02' pos='0 0 .09' material='goal'/>"
    "</body>"
    "</worldbody>"
    "<actuator>"
    "<motor joint='joint1'/><motor joint='joint2'/><motor joint='joint3'/>"
    "<motor joint='joint4'/><motor joint='joint5'/>"
    "</actuator>"
    "</mujoco>";

typedef struct reacher5 {
    const mjModel *model;
    mjData *data;
    mujoco_renderer *renderer;
    int tip;
    double task[N_TASK_STATE];
    double tolerance, control_cost;
    double goal_near, goal_far, goal_angle; /* goals lie in a sector: m, m, degrees to each side */
} reacher5;

static const char *const METRICS[] = { "success", "distance", "speed", "effort" };
/* the goal: all that changes between episodes */
static const int32_t CONTEXT[] = { OBS_GOAL, OBS_GOAL + 1 };

/* ---- life ------------------------------------------------------------------------------------ */

static void destroy(void *instance)
{
    reacher5 *env = instance;
    mujoco_renderer_free(env->renderer);
    mj_deleteData(env->data);
    if (env->model)
        mujoco_model_close(env->model);
    free(env);
}

static tce_status read_options(reacher5 *env, const char *settings)
{
    env->tolerance = 0.05;
    env->control_cost = 0.01;
    env->goal_near = 0.3;
    env->goal_far = 0.9;
    env->goal_angle = 90.0;
    const task_option options[] = {
        { "tolerance", &env->tolerance, 1e-6, 2.0 },
        { "control_cost", &env->control_cost, 0.0, 1e3 },
        { "goal_near", &env->goal_near, 0.0, 1.0 },
        { "goal_far", &env->goal_far, 0.0, 1.0 },
        { "goal_angle", &env->goal_angle, 0.0, 180.0 },
    };
    const tce_status status = task_options_read("reacher5", settings,
                                                sizeof options / sizeof options[0], options);
    if (status == TCE_OK && env->goal_near > env->goal_far)
        return tce_fail(TCE_E_VALUE, "reacher5: goal_near = %g is farther than goal_far = %g",
                        env->goal_near, env->goal_far);
    return status;
}

static tce_status create(void *user, const char *settings, void **out)
{
    (void)user;
    reacher5 *env = calloc(1, sizeof *env);
    if (!env)
        return tce_fail(TCE_E_NOMEM, "reacher5: no memory");
    tce_status status = read_options(env, settings);
    if (status == TCE_OK)
        status = mujoco_model_open("reacher5", MODEL, &env->model);
    if (status == TCE_OK)
        status = mujoco_data_create(env->model, &env->data);
    if (status == TCE_OK)
        status = mujoco_find(env->model, mjOBJ_SITE, "tip", &env->tip);
    if (status != TCE_OK) {
        destroy(env);
        return status;
    }
    env->task[STATE_STEP] = N_STEPS;
    *out = env;
    return TCE_OK;
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
    out->action_low = MIN_TORQUE;
    out->action_high = MAX_TORQUE;
    out->velocity_end = OBS_VELOCITY + N_JOINTS;
    return TCE_OK;
}

/* ---- episodes -------------------------------------------------------------------------------- */

/* Vector from the goal to the tip. */
static void difference(const reacher5 *env, double *out)
{
    const double *tip = env->data->site_xpos + 3 * env->tip;
    for (int i = 0; i < 2; i++)
        out[i] = tip[i] - env->task[STATE_GOAL + i];
}

static double distance(const reacher5 *env)
{
    double d[2];
    difference(env, d);
    return hypot(d[0], d[1]);
}

static double speed(const reacher5 *env)
{
    double sum = 0.0;
    for (int i = 0; i < N_JOINTS; i++)
        sum += env->data->qvel[i] * env->data->qvel[i];
    return sqrt(sum);
}

static void observe(const reacher5 *env, double *out)
{
    for (int i = 0; i < N_JOINTS; i++) {
        out[OBS_SIN + i] = sin(env->data->qpos[i]);
        out[OBS_COS + i] = cos(env->data->qpos[i]);
        out[OBS_VELOCITY + i] = env->data->qvel[i];
    }
    out[OBS_GOAL] = env->task[STATE_GOAL];
    out[OBS_GOAL + 1] = env->task[STATE_GOAL + 1];
    difference(env, out + OBS_TIP);
}

static void set_start(void *context)
{
    reacher5 *env = context;
    memcpy(env->data->qpos, START, sizeof START);
    env->data->mocap_pos[0] = env->task[STATE_GOAL];
    env->data->mocap_pos[1] = env->task[STATE_GOAL + 1];
}

/* The arm rests bent; the goal is uniform over a sector of a ring, by area. */
static tce_status reset(void *instance, tce_random *random, double *out_obs, double *out_pos,
                        double *out_vel)
{
    reacher5 *env = instance;
    const double near = env->goal_near * env->goal_near;
    const double far = env->goal_far * env->goal_far;
    const double radius = sqrt(near + (far - near) * tce_random_uniform(random));
    const double angle = (2.0 * tce_random_uniform(random) - 1.0) * env->goal_angle * PI / 180.0;
    env->task[STATE_STEP] = 0.0;
    env->task[STATE_GOAL] = radius * cos(angle);
    env->task[STATE_GOAL + 1] = radius * sin(angle);
    env->task[STATE_EFFORT] = 0.0;

    const tce_status status = mujoco_restart(env->model, env->data, set_start, env);
    if (status != TCE_OK)
        return status;
    observe(env, out_obs);
    memcpy(out_pos, START, sizeof START);
    memset(out_vel, 0, N_JOINTS * sizeof *out_vel);
    return TCE_OK;
}

static tce_status step_action(void *instance, const double *action, double *out_obs,
                              tce_env_result *out)
{
    reacher5 *env = instance;
    double effort = 0.0;
    tce_status status = task_check_running("reacher5", env->task[STATE_STEP] >= N_STEPS);
    if (status != TCE_OK)
        return status;
    for (int i = 0; i < N_JOINTS; i++) {
        const double torque = fmin(fmax(action[i], MIN_TORQUE[i]), MAX_TORQUE[i]);
        const double share = torque / MAX_TORQUE[i];
        env->data->ctrl[i] = torque;
        effort += share * share / N_JOINTS;
    }
    status = step_checked(env->model, env->data, N_SUB);
    if (status != TCE_OK)
        return status;
    env->task[STATE_STEP] += 1.0;
    env->task[STATE_EFFORT] += effort;

    memset(out, 0, sizeof *out);
    out->reward = -env->control_cost * effort;
    if (env->task[STATE_STEP] >= N_STEPS) {
        out->reward -= GOAL_WEIGHT * distance(env) + SPEED_WEIGHT * speed(env);
        out->truncated = 1;
    }
    observe(env, out_obs);
    return TCE_OK;
}

static tce_status step(void *instance, const double *pos, const double *vel, double *out_obs,
                       tce_env_result *out)
{
    const mjData *data = ((const reacher5 *)instance)->data;
    double torque[N_JOINTS];
    for (int i = 0; i < N_JOINTS; i++)
        torque[i] = KP[i] * (pos[i] - data->qpos[i]) + KD[i] * (vel[i] - data->qvel[i]);
    return step_action(instance, torque, out_obs, out);
}

/* Of the state reached; effort is the mean over the steps so far. */
static tce_status metrics(void *instance, double *out)
{
    const reacher5 *env = instance;
    const double steps = env->task[STATE_STEP];
    out[0] = steps >= N_STEPS && distance(env) < env->tolerance;
    out[1] = distance(env);
    out[2] = speed(env);
    out[3] = steps > 0.0 ? env->task[STATE_EFFORT] / steps : 0.0;
    return TCE_OK;
}

/* ---- state and picture ----------------------------------------------------------------------- */

static size_t n_state(void *instance)
{
    return mujoco_n_state(((const reacher5 *)instance)->model) + N_TASK_STATE;
}

static tce_status get_state(void *instance, double *out)
{
    const reacher5 *env = instance;
    mujoco_get_state(env->model, env->data, out);
    memcpy(out + mujoco_n_state(env->model), env->task, sizeof env->task);
    return TCE_OK;
}

static tce_status set_state(void *instance, const double *state, double *out_obs)
{
    reacher5 *env = instance;
    const tce_status status = mujoco_set_state(env->model, env->data, state);
    if (status != TCE_OK)
        return status;
    memcpy(env->task, state + mujoco_n_state(env->model), sizeof env->task);
    observe(env, out_obs);
    return TCE_OK;
}

static tce_status render(void *instance, int32_t width, int32_t height, uint8_t *rgb)
{
    reacher5 *env = instance;
    return mujoco_render(&env->renderer, env->model, env->data, "view", width, height, rgb);
}

const tce_env_vtable TASK_REACHER5 = {
    .struct_size = sizeof(tce_env_vtable),
    .abi = TCE_ENV_ABI,
    .name = "reacher5",
    .description = "arm of five links in the plane (MuJoCo): hold the tip at a random goal when "
                   "the time is up",
    .create = create,
    .destroy = destroy,
    .spec = spec,
    .reset = reset,
    .step = step,
    .step_action = step_action,
    .metrics = metrics,
    .n_state = n_state,
    .get_state = get_state,
    .set_state = set_state,
    .render = render,
};
