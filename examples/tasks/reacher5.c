/*
 * reacher5: an arm of five links in the horizontal plane has to hold its tip at a random goal when
 * the time is up. The model is ours, reacher5.xml, and is compiled in.
 *
 * Joint angles q, velocities q' (5 numbers each), tip x(q), goal g. A step of 0.02 s is N_SUB
 * physics steps under torques held constant,
 *     u = clip(Kp (p - q) + Kd (w - q'), -u_max, u_max)
 * for the desired position p and velocity w. Reward of each step: -control_cost * mean_i (u_i /
 * u_max,i)^2; of the last one in addition -GOAL_WEIGHT |x - g| - SPEED_WEIGHT |q'|. So nothing
 * tells an agent about its goal before the last step. Success: |x - g| < tolerance then.
 */
#include "reacher5.h"

#include <math.h>
#include <string.h>

#include "shared/task.h"

enum { N_JOINTS = 5, N_STEPS = 100, N_SUB = 2 };
/* where the parts of an observation begin */
enum { OBS_SIN = 0, OBS_COS = 5, OBS_VELOCITY = 10, OBS_GOAL = 15, OBS_TIP = 17, N_OBS = 19 };

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

static const char MODEL[] = {
#include "reacher5.xml.h"
};

typedef struct reacher5 {
    mujoco_env base;
    double tolerance, control_cost;         /* options */
    double goal_near, goal_far, goal_angle; /* goals lie in a sector: m, m, degrees to each side */
    int tip;
    double effort; /* of the last step */
    reacher5_state s;
} reacher5;

static const task_option OPTIONS[] = {
    TASK_NUMBER(reacher5, tolerance, 0.05, 1e-6, 2.0),
    TASK_NUMBER(reacher5, control_cost, 0.01, 0.0, 1e3),
    TASK_NUMBER(reacher5, goal_near, 0.3, 0.0, 1.0),
    TASK_NUMBER(reacher5, goal_far, 0.9, 0.0, 1.0),
    TASK_NUMBER(reacher5, goal_angle, 90.0, 0.0, 180.0),
};
static const mujoco_part PARTS[] = { TASK_PART(reacher5, tip, mjOBJ_SITE, "tip") };
static const char *const METRICS[] = { "success", "distance", "speed", "effort" };
/* the goal: all that changes between episodes */
static const int32_t CONTEXT[] = { OBS_GOAL, OBS_GOAL + 1 };

static tce_status configure(void *instance)
{
    const reacher5 *env = instance;
    if (env->goal_near > env->goal_far)
        return tce_fail(TCE_E_VALUE, "reacher5: goal_near = %g is farther than goal_far = %g",
                        env->goal_near, env->goal_far);
    return TCE_OK;
}

/* Vector from the goal to the tip. */
static void difference(const reacher5 *env, double *out)
{
    const double *tip = env->base.data->site_xpos + 3 * env->tip;
    for (int i = 0; i < 2; i++)
        out[i] = tip[i] - env->s.goal[i];
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
        sum += env->base.data->qvel[i] * env->base.data->qvel[i];
    return sqrt(sum);
}

/* The arm rests bent; the goal is uniform over a sector of a ring, by area. */
static void reset(void *instance, tce_random *random)
{
    reacher5 *env = instance;
    const double near = env->goal_near * env->goal_near;
    const double far = env->goal_far * env->goal_far;
    const double radius = sqrt(near + (far - near) * tce_random_uniform(random));
    const double angle = (2.0 * tce_random_uniform(random) - 1.0) * env->goal_angle * PI / 180.0;
    env->s = (reacher5_state){ .goal = { radius * cos(angle), radius * sin(angle) } };
    memcpy(env->base.data->qpos, START, sizeof START);
    memcpy(env->base.data->mocap_pos, env->s.goal, sizeof env->s.goal);
    mujoco_forward(&env->base);
}

static void observe(const void *instance, double *out)
{
    const reacher5 *env = instance;
    for (int i = 0; i < N_JOINTS; i++) {
        out[OBS_SIN + i] = sin(env->base.data->qpos[i]);
        out[OBS_COS + i] = cos(env->base.data->qpos[i]);
        out[OBS_VELOCITY + i] = env->base.data->qvel[i];
    }
    memcpy(out + OBS_GOAL, env->s.goal, sizeof env->s.goal);
    difference(env, out + OBS_TIP);
}

static void step(void *instance, const double *action)
{
    reacher5 *env = instance;
    env->effort = 0.0;
    for (int i = 0; i < N_JOINTS; i++) {
        const double torque = fmin(fmax(action[i], MIN_TORQUE[i]), MAX_TORQUE[i]);
        const double share = torque / MAX_TORQUE[i];
        env->base.data->ctrl[i] = torque;
        env->effort += share * share / N_JOINTS;
    }
    step_checked(env->base.model, env->base.data, N_SUB);
    env->s.effort += env->effort;
}

static void reward(void *instance, const double *action, tce_env_result *out)
{
    const reacher5 *env = instance;
    (void)action;
    out->reward = -env->control_cost * env->effort;
    if (mujoco_is_last(&env->base))
        out->reward -= GOAL_WEIGHT * distance(env) + SPEED_WEIGHT * speed(env);
}

/* Of the state reached; effort is the mean over the steps so far. */
static void metrics(const void *instance, double *out)
{
    const reacher5 *env = instance;
    const double steps = env->base.step;
    out[0] = mujoco_is_last(&env->base) && distance(env) < env->tolerance;
    out[1] = distance(env);
    out[2] = speed(env);
    out[3] = steps > 0.0 ? env->s.effort / steps : 0.0;
}

static const mujoco_task REACHER5 = {
    TASK_STRUCT(reacher5),
    .spec = { .n_obs = N_OBS,
              .n_steps = N_STEPS,
              .dt = 0.02,
              TASK_ACTIONS(N_JOINTS, MIN_TORQUE, MAX_TORQUE),
              TASK_METRICS(METRICS),
              TASK_CONTEXT(CONTEXT),
              .velocity_end = OBS_VELOCITY + N_JOINTS },
    .xml = MODEL,
    TASK_OPTIONS(OPTIONS),
    TASK_PARTS(PARTS),
    .gains = { KP, KD },
    .view = { .camera = "view" },
    TASK_FUNCTIONS,
    .configure = configure,
};

MUJOCO_TASK(
    reacher5,
    "arm of five links in the plane (MuJoCo): hold the tip at a random goal when the time is up",
    &REACHER5);
