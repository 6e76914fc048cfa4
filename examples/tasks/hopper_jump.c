/*
 * hopper_jump: a one-legged hopper falls from 0.25 m, jumps once as high as it can and lands at a
 * goal. Model hopper_jump.xml of fancy_gym.
 *
 * z height of the torso, top its maximum, D = |foot - goal|, cost = 0.001 |a|^2 for the action a of
 * 3 torques. An action is held for 4 substeps.
 *     sparse (default)   -cost;  at the last step also
 *                      -3 D + 10 top - 2 (D at landing, or 5 when it has not landed) + 2 [healthy]
 *     dense (dense=1)    -3 D + 3 z + [healthy] - cost
 *     markov (markov=1)  as sparse, for step-based methods: the step in which the foot leaves the
 *                        floor simulates the rest of the episode without torque, pays what its last
 *                        step would, and ends it.
 * The controller is a = clip(p - q + 0.1 (w - q'), -1, 1) for the desired position p and velocity w
 * of the three joints. The deciding event is that the foot leaves the floor. Heights, distances and
 * contacts are those that the last substep derived before its end, as in the original.
 */
#include "hopper_jump.h"

#include <math.h>
#include <string.h>

#include "shared/task.h"

enum { N_JOINTS = HOPPER_NU, NQ = HOPPER_NQ, FIRST_JOINT = 3, N_STEPS = 250, N_SUB = 4 };
/* where the parts of an observation begin */
enum { OBS_POSITION = 0, OBS_VELOCITY = NQ, OBS_FOOT = 2 * NQ, OBS_GOAL = OBS_FOOT + 3, N_OBS };

#define GOAL_LOW 0.3
#define GOAL_HIGH 1.35
#define COST_WEIGHT 0.001
#define GOAL_WEIGHT 3.0
#define TOP_WEIGHT 10.0
#define HEIGHT_WEIGHT 3.0
#define LAND_WEIGHT 2.0
#define LAND_NEVER 5.0 /* counts as the distance of a landing that did not happen */
#define HEALTHY_SPARSE 2.0
#define HEALTHY_DENSE 1.0
#define HEALTHY_STATE \
    100.0 /* angles and velocities must stay below, the torso above HEALTHY_HEIGHT */
#define HEALTHY_HEIGHT 0.5
#define MAX_SEEN_VELOCITY 10.0

static const double KP[N_JOINTS] = { 1.0, 1.0, 1.0 };
static const double KD[N_JOINTS] = { 0.1, 0.1, 0.1 };
static const double START_LOW[NQ] = { 0.0, 1.5, 0.0, -0.5, -0.2, 0.0 };
static const double START_HIGH[NQ] = { 0.0, 1.5, 0.0, 0.0, 0.0, 0.785 };
static const double ACTION_LOW[N_JOINTS] = { -1.0, -1.0, -1.0 };
static const double ACTION_HIGH[N_JOINTS] = { 1.0, 1.0, 1.0 };

typedef struct hopper_jump {
    mujoco_env base;
    int dense, markov; /* options */
    int torso, floor, foot_geom, foot_site;
    hopper_jump_state s;
} hopper_jump;

static const task_option OPTIONS[] = { TASK_FLAG(hopper_jump, dense, 0),
                                       TASK_FLAG(hopper_jump, markov, 0) };
static const mujoco_part PARTS[] = {
    TASK_PART(hopper_jump, torso, mjOBJ_BODY, "torso"),
    TASK_PART(hopper_jump, floor, mjOBJ_GEOM, "floor"),
    TASK_PART(hopper_jump, foot_geom, mjOBJ_GEOM, "foot_geom"),
    TASK_PART(hopper_jump, foot_site, mjOBJ_SITE, "foot_site"),
};
static const char *const METRICS[] = { "max_height",     "goal_dist",    "height_rew",
                                       "healthy_reward", "contact_dist", "has_left_floor" };
/* start angles and the goal: all that changes between episodes */
static const int32_t CONTEXT[] = { FIRST_JOINT, FIRST_JOINT + 1, FIRST_JOINT + 2, OBS_GOAL };

static tce_status configure(void *instance)
{
    const hopper_jump *env = instance;
    if (env->dense && env->markov)
        return tce_fail(TCE_E_VALUE,
                        "hopper_jump: dense=1 pays at every step, and markov=1 for the "
                        "whole flight at once: give one of them");
    return TCE_OK;
}

/* Vector from the goal, on the floor, to the foot. */
static void foot_from_goal(const hopper_jump *env, double *out)
{
    memcpy(out, env->s.foot, sizeof env->s.foot);
    out[0] -= env->s.goal;
}

static double goal_distance(const hopper_jump *env)
{
    double d[3];
    foot_from_goal(env, d);
    return sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
}

static int is_healthy(const hopper_jump *env)
{
    const mjData *data = env->base.data;
    int fine = data->qpos[1] > HEALTHY_HEIGHT;
    for (int i = 0; i < NQ; i++)
        fine = fine && (i < 2 || fabs(data->qpos[i]) < HEALTHY_STATE) &&
               fabs(data->qvel[i]) < HEALTHY_STATE;
    return fine;
}

/* Height and foot as they are derived now. */
static void derive(void *instance)
{
    hopper_jump *env = instance;
    env->s.height = env->base.data->xpos[3 * env->torso + 2];
    memcpy(env->s.foot, env->base.data->site_xpos + 3 * env->foot_site, sizeof env->s.foot);
}

/* Draws the goal, then all six coordinates: the first three have an empty range. */
static void reset(void *instance, tce_random *random)
{
    hopper_jump *env = instance;
    env->s = (hopper_jump_state){ .goal = mujoco_draw(&env->base, random, GOAL_LOW, GOAL_HIGH) };
    for (int i = 0; i < NQ; i++)
        env->base.data->qpos[i] = mujoco_draw(&env->base, random, START_LOW[i], START_HIGH[i]);
    mujoco_forward(&env->base);
    derive(env);
}

static void observe(const void *instance, double *out)
{
    const hopper_jump *env = instance;
    const mjData *data = env->base.data;
    for (int i = 0; i < NQ; i++) {
        out[OBS_POSITION + i] = data->qpos[i];
        out[OBS_VELOCITY + i] = fmin(fmax(data->qvel[i], -MAX_SEEN_VELOCITY), MAX_SEEN_VELOCITY);
    }
    foot_from_goal(env, out + OBS_FOOT);
    out[OBS_GOAL] = env->s.goal;
}

/*
 * Touched, left, landed, in this order, looked at once a step. The contact list is not asked any
 * more after landing.
 */
static void follow_jump(hopper_jump *env)
{
    hopper_jump_state *s = &env->s;
    const int was_landed = s->landed != 0.0;
    const int contact = !was_landed && mujoco_touching(env->base.data, env->floor, env->foot_geom);
    if (!s->touched)
        s->touched = contact;
    if (s->touched && !s->left)
        s->left = !contact;
    if (s->left && !was_landed)
        s->landed = contact;
    if (s->landed && !was_landed)
        s->land_distance = goal_distance(env);
}

/* The action is not clipped here, as in the original: the motors do that. */
static void step(void *instance, const double *action)
{
    hopper_jump *env = instance;
    memcpy(env->base.data->ctrl, action, N_JOINTS * sizeof *action);
    step_as_original(env->base.model, env->base.data, N_SUB);
    derive(env);
    env->s.top = fmax(env->s.top, env->s.height);
    follow_jump(env);
}

/* The rest of the episode without torque. */
static void fly_to_the_end(hopper_jump *env)
{
    static const double NO_TORQUE[N_JOINTS] = { 0.0 };
    while (!mujoco_is_last(&env->base)) {
        step(env, NO_TORQUE);
        env->base.step += 1.0;
    }
}

/* The cost is that of what was asked for. */
static void reward(void *instance, const double *action, tce_env_result *out)
{
    hopper_jump *env = instance;
    const hopper_jump_state *s = &env->s;
    double cost = 0.0;
    for (int i = 0; i < N_JOINTS; i++)
        cost += COST_WEIGHT * action[i] * action[i];
    out->event = s->left != 0.0;
    out->reward = -cost;
    if (env->markov && s->left) {
        fly_to_the_end(env);
        out->terminated = 1;
    }
    const double distance = goal_distance(env);
    if (env->dense) {
        out->reward = -GOAL_WEIGHT * distance + HEIGHT_WEIGHT * s->height +
                      HEALTHY_DENSE * is_healthy(env) - cost;
    } else if (mujoco_is_last(&env->base)) {
        const double landing = s->land_distance != 0.0 ? s->land_distance : LAND_NEVER;
        out->reward = -cost - GOAL_WEIGHT * distance + TOP_WEIGHT * s->top - LAND_WEIGHT * landing +
                      HEALTHY_SPARSE * is_healthy(env);
    }
}

static void metrics(const void *instance, double *out)
{
    const hopper_jump *env = instance;
    out[0] = env->s.top;
    out[1] = goal_distance(env);
    out[2] = env->s.top;
    out[3] = (env->dense ? HEALTHY_DENSE : HEALTHY_SPARSE) * is_healthy(env);
    out[4] = env->s.land_distance;
    out[5] = env->s.left;
}

static void mark(const void *instance, mjModel *model)
{
    const double goal[3] = { ((const hopper_jump *)instance)->s.goal, 0.0, 0.0 };
    picture_place(model, "goal_site_body", goal, NULL);
}

static const mujoco_task HOPPER_JUMP = {
    TASK_STRUCT(hopper_jump),
    .spec = { .n_obs = N_OBS,
              .n_steps = N_STEPS,
              .dt = 0.008,
              TASK_ACTIONS(N_JOINTS, ACTION_LOW, ACTION_HIGH),
              TASK_METRICS(METRICS),
              TASK_CONTEXT(CONTEXT) },
    .model = "fancy_gym/envs/mujoco/hopper_jump/assets/hopper_jump.xml",
    .sizes = { NQ, NQ, N_JOINTS },
    TASK_OPTIONS(OPTIONS),
    TASK_PARTS(PARTS),
    .configure = configure,
    .gains = { KP, KD },
    .first_joint = FIRST_JOINT,
    /* from the side, wide enough for every goal and a jump of two metres */
    .view = { .center = { 0.5, 0.0, 0.85 },
              .extent = 2.1,
              .azimuth = 80.0F,
              .elevation = -20.0F,
              .mark = "goal_site_body",
              .mark_scale = 2.5,
              .light_ground = 3.0 },
    TASK_FUNCTIONS,
    .derive = derive,
    .mark = mark,
};

MUJOCO_TASK(hopper_jump, "one-legged hopper (MuJoCo): jump once, high, and land at a random goal",
            &HOPPER_JUMP);
