/*
 * hopper_jump: a one-legged hopper falls from 0.25 m, jumps once as high as it can and lands at a
 * goal. Model hopper_jump.xml of fancy_gym 0.3.0.
 *
 * z height of the torso, top its maximum, D = |foot - goal|, cost = 0.001 |a|^2 for the action a of
 * 3 torques. An action is held for 4 substeps.
 *     sparse (default)   -cost;  at the last step also
 *                      -3 D + 10 top - 2 (D at landing, or 5 when it has not landed) + 2 [healthy]
 *     dense (dense=1)    -3 D + 3 z + [healthy] - cost
 * The controller is a = clip(p - q + 0.1 (w - q'), -1, 1) for the desired position p and velocity w
 * of the three joints. The deciding event is that the foot leaves the floor. Heights, distances and
 * contacts are those that the last substep derived before its end, as in the original.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "hopper_tennis.h"
#include "shared/options.h"
#include "tasks.h"

enum { N_JOINTS = HOPPER_NU, NQ = HOPPER_NQ, FIRST_JOINT = 3, N_STEPS = 250, N_SUB = 4 };
/* where the parts of an observation begin */
enum { OBS_POSITION = 0, OBS_VELOCITY = NQ, OBS_FOOT = 2 * NQ, OBS_GOAL = OBS_FOOT + 3, N_OBS };

#define MODEL_PATH "fancy_gym/envs/mujoco/hopper_jump/assets/hopper_jump.xml"
#define DT 0.008
#define KP 1.0
#define KD 0.1

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

static const double START_LOW[NQ] = { 0.0, 1.5, 0.0, -0.5, -0.2, 0.0 };
static const double START_HIGH[NQ] = { 0.0, 1.5, 0.0, 0.0, 0.0, 0.785 };
static const double ACTION_LOW[N_JOINTS] = { -1.0, -1.0, -1.0 };
static const double ACTION_HIGH[N_JOINTS] = { 1.0, 1.0, 1.0 };

typedef struct hopper_jump {
    const mjModel *model;
    mjData *data;
    const task_draws *draws;
    picture picture;
    int torso, goal_body, floor, foot_geom, foot_site;
    double dense; /* option */
    double task[HOPPER_N_TASK];
} hopper_jump;

static const char *const METRICS[] = { "max_height",     "goal_dist",    "height_rew",
                                       "healthy_reward", "contact_dist", "has_left_floor" };
/* start angles and the goal: all that changes between episodes */
static const int32_t CONTEXT[] = { FIRST_JOINT, FIRST_JOINT + 1, FIRST_JOINT + 2, OBS_GOAL };

/* ---- life ------------------------------------------------------------------------------------ */

static void destroy(void *instance)
{
    hopper_jump *env = instance;
    picture_free(&env->picture);
    mj_deleteData(env->data);
    if (env->model)
        mujoco_model_close(env->model);
    free(env);
}

static tce_status find_parts(hopper_jump *env)
{
    const mujoco_part parts[] = {
        { mjOBJ_BODY, "torso", &env->torso },
        { mjOBJ_BODY, "goal_site_body", &env->goal_body },
        { mjOBJ_GEOM, "floor", &env->floor },
        { mjOBJ_GEOM, "foot_geom", &env->foot_geom },
        { mjOBJ_SITE, "foot_site", &env->foot_site },
    };
    const tce_status status = mujoco_check_sizes(env->model, "hopper_jump", NQ, NQ, N_JOINTS);
    return status == TCE_OK ? mujoco_find_parts(env->model, sizeof parts / sizeof parts[0], parts)
                            : status;
}

static tce_status create(void *user, const char *settings, void **out)
{
    hopper_jump *env = calloc(1, sizeof *env);
    if (!env)
        return tce_fail(TCE_E_NOMEM, "hopper_jump: no memory");
    env->draws = user;
    const task_option options[] = { { "dense", &env->dense, 0.0, 1.0 } };
    tce_status status = task_options_read("hopper_jump", settings,
                                          sizeof options / sizeof options[0], options);
    if (status == TCE_OK)
        status = models_open(MODEL_PATH, NULL, &env->model);
    if (status == TCE_OK)
        status = mujoco_data_create(env->model, &env->data);
    if (status == TCE_OK)
        status = find_parts(env);
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
    out->action_low = ACTION_LOW;
    out->action_high = ACTION_HIGH;
    return TCE_OK;
}

/* ---- episodes -------------------------------------------------------------------------------- */

/* Vector from the goal, on the floor, to the foot. */
static void foot_from_goal(const hopper_jump *env, double *out)
{
    memcpy(out, env->task + HOPPER_FOOT, 3 * sizeof *out);
    out[0] -= env->task[HOPPER_GOAL];
}

static double goal_distance(const hopper_jump *env)
{
    double d[3];
    foot_from_goal(env, d);
    return sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
}

static int is_healthy(const hopper_jump *env)
{
    const mjData *data = env->data;
    int fine = data->qpos[1] > HEALTHY_HEIGHT;
    for (int i = 0; i < NQ; i++)
        fine = fine && (i < 2 || fabs(data->qpos[i]) < HEALTHY_STATE) &&
               fabs(data->qvel[i]) < HEALTHY_STATE;
    return fine;
}

static void observe(const hopper_jump *env, double *out)
{
    for (int i = 0; i < NQ; i++) {
        out[OBS_POSITION + i] = env->data->qpos[i];
        out[OBS_VELOCITY + i] = fmin(fmax(env->data->qvel[i], -MAX_SEEN_VELOCITY),
                                     MAX_SEEN_VELOCITY);
    }
    foot_from_goal(env, out + OBS_FOOT);
    out[OBS_GOAL] = env->task[HOPPER_GOAL];
}

/* Height and foot as they are derived now. */
static void read_derived(hopper_jump *env)
{
    env->task[HOPPER_HEIGHT] = env->data->xpos[3 * env->torso + 2];
    memcpy(env->task + HOPPER_FOOT, env->data->site_xpos + 3 * env->foot_site, 3 * sizeof(double));
}

/* Draws the goal, then all six coordinates: the first three have an empty range. */
static tce_status reset(void *instance, tce_random *random, double *out_obs, double *out_pos,
                        double *out_vel)
{
    static const double AT_REST[NQ] = { 0 };
    hopper_jump *env = instance;
    double qpos[NQ];
    memset(env->task, 0, sizeof env->task);
    env->task[STATE_FRESH] = 1.0;
    env->task[HOPPER_GOAL] = task_draw(env->draws, random, GOAL_LOW, GOAL_HIGH);
    for (int i = 0; i < NQ; i++)
        qpos[i] = task_draw(env->draws, random, START_LOW[i], START_HIGH[i]);

    const tce_status status = start_from(env->model, env->data, qpos, AT_REST);
    if (status != TCE_OK)
        return status;
    read_derived(env);
    observe(env, out_obs);
    memcpy(out_pos, qpos + FIRST_JOINT, N_JOINTS * sizeof *out_pos);
    memset(out_vel, 0, N_JOINTS * sizeof *out_vel);
    return TCE_OK;
}

/*
 * Touched, left, landed, in this order, looked at once a step. The contact list is not asked any
 * more after landing.
 */
static void follow_jump(hopper_jump *env)
{
    double *task = env->task;
    const int was_landed = task[HOPPER_LANDED] != 0.0;
    const int contact = !was_landed && touching(env->data, env->floor, env->foot_geom);
    if (task[HOPPER_TOUCHED] == 0.0)
        task[HOPPER_TOUCHED] = contact;
    if (task[HOPPER_TOUCHED] != 0.0 && task[HOPPER_LEFT] == 0.0)
        task[HOPPER_LEFT] = !contact;
    if (task[HOPPER_LEFT] != 0.0 && !was_landed)
        task[HOPPER_LANDED] = contact;
    if (task[HOPPER_LANDED] != 0.0 && !was_landed)
        task[HOPPER_LAND_DIST] = goal_distance(env);
}

static double step_reward(const hopper_jump *env, double cost)
{
    const double *task = env->task;
    const double distance = goal_distance(env);
    if (env->dense != 0.0)
        return -GOAL_WEIGHT * distance + HEIGHT_WEIGHT * task[HOPPER_HEIGHT] +
               HEALTHY_DENSE * is_healthy(env) - cost;
    if (task[STATE_STEP] < N_STEPS)
        return -cost;
    const double landing = task[HOPPER_LAND_DIST] != 0.0 ? task[HOPPER_LAND_DIST] : LAND_NEVER;
    return -cost - GOAL_WEIGHT * distance + TOP_WEIGHT * task[HOPPER_TOP] - LAND_WEIGHT * landing +
           HEALTHY_SPARSE * is_healthy(env);
}

/*
 * The action is not clipped here, as in the original: the motors do that, but its cost is that of
 * what was asked for.
 */
static tce_status step_action(void *instance, const double *action, double *out_obs,
                              tce_env_result *out)
{
    hopper_jump *env = instance;
    double cost = 0.0;
    tce_status status = check_finite("hopper_jump", "action", N_JOINTS, action);
    if (status == TCE_OK)
        status = task_check_running("hopper_jump", env->task[STATE_STEP] >= N_STEPS);
    if (status != TCE_OK)
        return status;
    for (int i = 0; i < N_JOINTS; i++) {
        env->data->ctrl[i] = action[i];
        cost += COST_WEIGHT * action[i] * action[i];
    }
    status = step_as_original(env->model, env->data, N_SUB);
    if (status != TCE_OK)
        return status;

    env->task[STATE_FRESH] = 0.0;
    env->task[STATE_STEP] += 1.0;
    read_derived(env);
    env->task[HOPPER_TOP] = fmax(env->task[HOPPER_TOP], env->task[HOPPER_HEIGHT]);
    follow_jump(env);
    out->reward = step_reward(env, cost);
    out->terminated = 0;
    out->truncated = env->task[STATE_STEP] >= N_STEPS;
    out->event = env->task[HOPPER_LEFT] != 0.0;
    observe(env, out_obs);
    return TCE_OK;
}

static tce_status step(void *instance, const double *pos, const double *vel, double *out_obs,
                       tce_env_result *out)
{
    const mjData *data = ((const hopper_jump *)instance)->data;
    double action[N_JOINTS];
    tce_status status = check_finite("hopper_jump", "desired position", N_JOINTS, pos);
    if (status == TCE_OK)
        status = check_finite("hopper_jump", "desired velocity", N_JOINTS, vel);
    if (status != TCE_OK)
        return status;
    for (int i = 0; i < N_JOINTS; i++) {
        const double a = KP * (pos[i] - data->qpos[FIRST_JOINT + i]) +
                         KD * (vel[i] - data->qvel[FIRST_JOINT + i]);
        action[i] = fmin(fmax(a, -1.0), 1.0);
    }
    return step_action(instance, action, out_obs, out);
}

static tce_status metrics(void *instance, double *out)
{
    const hopper_jump *env = instance;
    out[0] = env->task[HOPPER_TOP];
    out[1] = goal_distance(env);
    out[2] = env->task[HOPPER_TOP];
    out[3] = (env->dense != 0.0 ? HEALTHY_DENSE : HEALTHY_SPARSE) * is_healthy(env);
    out[4] = env->task[HOPPER_LAND_DIST];
    out[5] = env->task[HOPPER_LEFT];
    return TCE_OK;
}

/* ---- state and picture ----------------------------------------------------------------------- */

static size_t n_state(void *instance)
{
    return packed_size(((const hopper_jump *)instance)->model, HOPPER_N_TASK);
}

static tce_status get_state(void *instance, double *out)
{
    const hopper_jump *env = instance;
    packed_get(env->model, env->data, HOPPER_N_TASK, env->task, out);
    return TCE_OK;
}

static tce_status set_state(void *instance, const double *state, double *out_obs)
{
    hopper_jump *env = instance;
    const tce_status status = packed_set("hopper_jump", env->model, env->data, HOPPER_N_TASK,
                                         env->task, state);
    if (status != TCE_OK)
        return status;
    if (env->task[STATE_FRESH] != 0.0)
        read_derived(env);
    observe(env, out_obs);
    return TCE_OK;
}

static tce_status render(void *instance, int32_t width, int32_t height, uint8_t *rgb)
{
    /* from the side, wide enough for every goal and a jump of two metres */
    static const picture_view VIEW = { { 0.5, 0.0, 0.9 }, 2.4, 90.0F, -12.0F, 2.5 };
    hopper_jump *env = instance;
    const double goal[3] = { env->task[HOPPER_GOAL], 0.0, 0.0 };
    return picture_draw(&env->picture, env->model, env->data, &VIEW, env->goal_body, goal, width,
                        height, rgb);
}

const tce_env_vtable TASK_HOPPER_JUMP = {
    .struct_size = sizeof(tce_env_vtable),
    .abi = TCE_ENV_ABI,
    .name = "hopper_jump",
    .description = "one-legged hopper (MuJoCo): jump once, high, and land at a random goal",
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
