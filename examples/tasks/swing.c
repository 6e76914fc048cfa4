/*
 * swing: a pendulum that hangs still has to be at a random angle, and rest there, when the time is
 * up. The smallest MuJoCo task there is: docs/own-mujoco-task.md goes through it. The model is
 * swing.xml.
 *
 * Angle q, 0 when it hangs, velocity q', goal g. A step of 0.02 s is two physics steps under a
 * torque held constant,
 *     u = clip(Kp (p - q) + Kd (w - q'), +-u_max)
 * for the desired position p and velocity w. Reward of each step: -0.01 (u / u_max)^2; of the last
 * one in addition -10 |q - g| - |q'|, with the difference of angles in +-pi. Success: |q - g| <
 * tolerance then.
 */
#include <math.h>

#include "shared/task.h"

enum { N_STEPS = 100, N_SUB = 2 };
/* where the parts of an observation begin */
enum { OBS_SIN, OBS_COS, OBS_VELOCITY, OBS_GOAL, N_OBS = OBS_GOAL + 2 };

#define PI 3.14159265358979323846
#define LENGTH 0.5   /* m, from the hinge to the tip */
#define FARTHEST 2.5 /* goals lie up to this angle to each side, rad */
#define TORQUE_COST 0.01
#define GOAL_WEIGHT 10.0
#define SPEED_WEIGHT 1.0

static const double KP[] = { 30.0 };
static const double KD[] = { 3.0 };
static const double MIN_TORQUE[] = { -6.0 };
static const double MAX_TORQUE[] = { 6.0 };

/* What a state has beside the physics: doubles only. */
typedef struct swing_state {
    double goal; /* angle, rad */
} swing_state;

typedef struct swing {
    mujoco_env base;
    double tolerance; /* option */
    swing_state s;
} swing;

static const task_option OPTIONS[] = { TASK_NUMBER(swing, tolerance, 0.1, 1e-6, 3.0) };
static const char *const METRICS[] = { "success", "distance", "speed" };
/* the goal: all that changes between episodes */
static const int32_t CONTEXT[] = { OBS_GOAL, OBS_GOAL + 1 };

static double distance(const swing *env)
{
    return fabs(remainder(env->base.data->qpos[0] - env->s.goal, 2.0 * PI));
}

static void reset(void *instance, tce_random *random)
{
    swing *env = instance;
    env->s.goal = mujoco_draw(&env->base, random, -FARTHEST, FARTHEST);
    env->base.data->mocap_pos[0] = LENGTH * sin(env->s.goal);
    env->base.data->mocap_pos[2] = -LENGTH * cos(env->s.goal);
    mujoco_forward(&env->base);
}

static void observe(const void *instance, double *out)
{
    const swing *env = instance;
    out[OBS_SIN] = sin(env->base.data->qpos[0]);
    out[OBS_COS] = cos(env->base.data->qpos[0]);
    out[OBS_VELOCITY] = env->base.data->qvel[0];
    out[OBS_GOAL] = sin(env->s.goal);
    out[OBS_GOAL + 1] = cos(env->s.goal);
}

static void step(void *instance, const double *action)
{
    swing *env = instance;
    env->base.data->ctrl[0] = fmin(fmax(action[0], MIN_TORQUE[0]), MAX_TORQUE[0]);
    step_checked(env->base.model, env->base.data, N_SUB);
}

static void reward(void *instance, const double *action, tce_env_result *out)
{
    const swing *env = instance;
    const double share = env->base.data->ctrl[0] / MAX_TORQUE[0];
    (void)action;
    out->reward = -TORQUE_COST * share * share;
    if (mujoco_is_last(&env->base))
        out->reward -= GOAL_WEIGHT * distance(env) + SPEED_WEIGHT * fabs(env->base.data->qvel[0]);
}

static void metrics(const void *instance, double *out)
{
    const swing *env = instance;
    out[0] = mujoco_is_last(&env->base) && distance(env) < env->tolerance;
    out[1] = distance(env);
    out[2] = fabs(env->base.data->qvel[0]);
}

static const char MODEL[] = {
#include "swing.xml.h"
};

static const mujoco_task SWING = {
    TASK_STRUCT(swing),
    .spec = { .n_obs = N_OBS,
              .n_steps = N_STEPS,
              .dt = 0.02,
              TASK_ACTIONS(1, MIN_TORQUE, MAX_TORQUE),
              TASK_METRICS(METRICS),
              TASK_CONTEXT(CONTEXT),
              .velocity_end = OBS_VELOCITY + 1 },
    .xml = MODEL,
    .sizes = { 1, 1, 1 },
    TASK_OPTIONS(OPTIONS),
    .gains = { KP, KD },
    .view = { .camera = "view" },
    TASK_FUNCTIONS,
};

MUJOCO_TASK(swing, "pendulum (MuJoCo): rest at a random angle when the time is up", &SWING);
