/*
 * Box Pushing with random start, dense and temporally sparse: a seven-joint arm with a rod, inside
 * a tray of 10 cm, has to move it to a random target pose within 2 s. Model and numbers of
 * fancy_gym; written from the published description of the task.
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
#include "box_pushing.h"

#include <math.h>
#include <string.h>

#include "arm_search.h"
#include "shared/task.h"

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

#define PI 3.14159265358979323846
#define ACTION_SCALE 10.0 /* N m */

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

static const char *const METRICS[] = { "success", "box_goal_pos_dist", "box_goal_rot_dist",
                                       "episode_energy" };
static const int32_t CONTEXT[] = { 0,  1,  2,  3,  4,  5,  6,  14, 15, 16, 17,
                                   18, 19, 20, 21, 22, 23, 24, 25, 26, 27 };

typedef struct box_pushing {
    mujoco_env base;
    int random_start; /* option */
    int box, rod, rod_tip, hand;
    double effort; /* E of the last step */
    box_pushing_state s;
} box_pushing;

/* the variants */
static const char DENSE[] = "dense", SPARSE[] = "sparse";

static const task_option OPTIONS[] = {
    TASK_FLAG(box_pushing, random_start, 1),
    { "whole", offsetof(box_pushing, base.whole), 1, 0.0, 0.0, 1.0 },
};
static const mujoco_part PARTS[] = {
    TASK_PART(box_pushing, box, mjOBJ_BODY, "box_0"),
    TASK_PART(box_pushing, rod, mjOBJ_BODY, "push_rod"),
    TASK_PART(box_pushing, rod_tip, mjOBJ_SITE, "rod_tip"),
    TASK_PART(box_pushing, hand, mjOBJ_BODY, "tcp"),
};

/* ---- what is seen and paid ------------------------------------------------------------------- */

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

/* What the last physics step has derived, and what rewards are made of. */
static void measure(box_pushing *env)
{
    const mjData *data = env->base.data;
    box_pushing_state *s = &env->s;
    memcpy(s->bias, data->qfrc_bias, sizeof s->bias);
    memcpy(s->box, data->xpos + 3 * env->box, 3 * sizeof *s->box);
    memcpy(s->box + 3, data->xquat + 4 * env->box, 4 * sizeof *s->box);
    s->distance = separation(s->box, s->target);
    s->angle = angle(s->box + 3, s->target + 3);
    s->tilt = angle(data->xquat + 4 * env->rod, DOWN);
    s->limits = limits(data->qpos, data->qvel);
}

static int success(const box_pushing *env)
{
    return mujoco_is_last(&env->base) && env->s.distance < 0.05 && env->s.angle < 0.5;
}

/* ---- the five functions ---------------------------------------------------------------------- */

/* Sine and cosine are the other way round than usual, as in the original: the yaw is pi - theta. */
static void draw_pose(const mujoco_env *env, tce_random *random, double *out)
{
    for (int i = 0; i < 3; i++)
        out[i] = mujoco_draw(env, random, LOW[i], HIGH[i]);
    const double theta = mujoco_draw(env, random, 0.0, 2.0 * PI);
    out[3] = sin(theta / 2.0);
    out[4] = 0.0;
    out[5] = 0.0;
    out[6] = cos(theta / 2.0);
}

static void reset(void *instance, tce_random *random)
{
    box_pushing *env = instance;
    mjData *data = env->base.data;
    double *box = data->qpos + QPOS_BOX, *target = env->s.target;
    memcpy(data->qpos, START, sizeof START);
    mujoco_forward(&env->base);

    /* box, then targets until one is far enough */
    if (env->random_start)
        draw_pose(&env->base, random, box);
    else
        memcpy(box, FIXED_BOX, sizeof FIXED_BOX);
    do
        draw_pose(&env->base, random, target);
    while (hypot(target[0] - box[0], target[1] - box[1]) < MIN_DISTANCE);
    mju_normalize4(target + 3);

    /* the arm, above the box */
    const double goal[3] = { box[0], box[1], box[2] + ARM_HEIGHT };
    arm_search search = { .body = env->hand };
    arm_search_run(&search, env->base.model, data, goal, DOWN);
    env->s.search_rounds = search.rounds;
    env->s.search_tries = search.tries;
    env->s.search_error = search.error;
    mujoco_forward(&env->base);
    env->s.energy = 0.0;
    measure(env);
}

static void observe(const void *instance, double *out)
{
    const box_pushing *env = instance;
    const mjData *data = env->base.data;
    memcpy(out + OBS_POSITION, data->qpos, N_JOINTS * sizeof *out);
    memcpy(out + OBS_VELOCITY, data->qvel, N_JOINTS * sizeof *out);
    memcpy(out + OBS_BOX, env->s.box, sizeof env->s.box);
    memcpy(out + OBS_TARGET, env->s.target, sizeof env->s.target);
}

static void step(void *instance, const double *action)
{
    box_pushing *env = instance;
    env->effort = 0.0;
    for (int i = 0; i < N_JOINTS; i++) {
        const double torque = ACTION_SCALE * fmin(fmax(action[i], -1.0), 1.0);
        env->base.data->ctrl[i] = fmin(fmax(torque + env->s.bias[i], -MAX_TORQUE[i]),
                                       MAX_TORQUE[i]);
        env->effort += torque * torque;
    }
    static_culling_step(&env->base.culling, N_SUB);
    env->s.energy += env->effort;
    measure(env);
}

static void reward(void *instance, const double *action, tce_env_result *out)
{
    const box_pushing *env = instance;
    const mjData *data = env->base.data;
    const box_pushing_state *s = &env->s;
    const int last = mujoco_is_last(&env->base);
    const double reach = separation(s->box, data->site_xpos + 3 * env->rod_tip);
    double sum = s->limits - 2.0 * fmin(fmax(reach, 0.05), 100.0);
    (void)action;
    if (s->tilt > PI / 4.0)
        sum -= s->tilt / PI;
    if (env->base.variant == DENSE) {
        sum = sum - 3.5 * s->distance - s->angle / PI - 0.0005 * env->effort;
    } else {
        sum -= 0.02 * env->effort;
        if (last) {
            double speed = 0.0;
            for (int i = 0; i < N_JOINTS; i++)
                speed += data->qvel[i] * data->qvel[i];
            sum -= 350.0 * s->distance + 100.0 * s->angle / PI + 50.0 * sqrt(speed);
        }
    }
    out->reward = sum;
    out->terminated = success(env);
    out->truncated = last && !success(env);
}

/* Of the state reached; success is known at the last step only. */
static void metrics(const void *instance, double *out)
{
    const box_pushing *env = instance;
    out[0] = success(env);
    out[1] = env->s.distance;
    out[2] = env->s.angle;
    out[3] = env->s.energy;
}

/* ---- states and pictures --------------------------------------------------------------------- */

static void derive(void *instance)
{
    box_pushing *env = instance;
    mju_normalize4(env->s.target + 3);
    measure(env);
}

/* Two marks, one on the other. */
static void mark(const void *instance, mjModel *model)
{
    const double *target = ((const box_pushing *)instance)->s.target;
    picture_place(model, "target_pos", target, target + 3);
    picture_place(model, "replan_target_pos", target, target + 3);
}

static const mujoco_task BOX_PUSHING = {
    TASK_STRUCT(box_pushing),
    .spec = { .n_obs = N_OBS,
              .n_steps = N_STEPS,
              .dt = 0.02,
              TASK_ACTIONS(N_JOINTS, ACTION_LOW, ACTION_HIGH),
              TASK_METRICS(METRICS),
              TASK_CONTEXT(CONTEXT),
              .velocity_end = OBS_VELOCITY + N_JOINTS },
    .model = "fancy_gym/envs/mujoco/box_pushing/assets/box_pushing.xml",
    .blank = " collision=\"all\"", /* the default of MuJoCo 2, unknown to MuJoCo 3 */
    .sizes = { NQ, NV, N_JOINTS },
    TASK_OPTIONS(OPTIONS),
    TASK_PARTS(PARTS),
    .gains = { KP, KD },
    .spaces = SPACES,
    .n_spaces = TASK_COUNT(SPACES),
    .view = { .center = { 0.35, 0.0, 0.2 }, .extent = 1.0, .azimuth = 140.0F, .elevation = -35.0F },
    TASK_FUNCTIONS,
    .derive = derive,
    .mark = mark,
};

MUJOCO_TASK_VARIANT(
    box_pushing_dense, "box_pushing_dense",
    "Panda arm pushes a box to a random pose (MuJoCo, fancy_gym's model); a reward each step",
    &BOX_PUSHING, DENSE);
MUJOCO_TASK_VARIANT(box_pushing_sparse, "box_pushing_sparse",
                    "the same; where the box is counts at the last step only", &BOX_PUSHING,
                    SPARSE);
