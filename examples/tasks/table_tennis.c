/*
 * table_tennis: an arm with seven joints returns a ball to a random place on the other half of the
 * table. Model of fancy_gym 0.3.0.
 *
 * A = least distance of ball and bat, B = least distance of ball and goal in the plane, over the
 * track of the ball; miss = distance of the ball's landing after the hit and the goal; f(s) = 1 -
 * tanh(s). An action of 7 torques is held for 4 substeps; contacts are looked at after each
 * substep.
 *     per step (default)      0.005 f(A^2) before the hit, 2 in the step of the hit,
 *                             0.02 f(B^2) while the ball flies, 4 f(miss^2) + [landing x < 0]
 *                             in the step of the landing, 0 afterwards; the track begins anew
 *                             with the hit. 300 steps.
 *     terminal=1              nothing until the ball has landed or 350 steps are over, then
 *                             0.2 f(A^2) without a hit, 2 f(A^2) + f(B^2) without a landing,
 *                             2 f(A^2) + 4 f(miss^2) + [landing x < 0]. The arm starts at
 *                             one place.
 *     markov=1 (raw actions)  the step in which ball and bat part simulates the rest of the
 *                             episode without torque and pays for it.
 * The deciding event is the hit. Positions and contacts are those that a substep derived before its
 * end, as in the original.
 *
 * A desired position outside of the joint limits: this and all later steps of the episode earn
 * minus the mean excess of their own desired position instead. With whole_path=1 (always so with
 * terminal=1), for methods that see nothing but the return, the rewards sum to minus the mean
 * excess over all steps, as if the path had been refused before it began: the first step outside
 * takes back what was earned, and the rest is not simulated.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "hopper_tennis.h"
#include "shared/options.h"
#include "tasks.h"

enum {
    N_JOINTS = TENNIS_NU,
    NQ = TENNIS_NQ,
    BALL = N_JOINTS,
    N_STEPS = 300,
    N_STEPS_TERMINAL = 350,
    N_SUB = 4
};
/* where the parts of an observation begin */
enum {
    OBS_POSITION = 0,
    OBS_VELOCITY = N_JOINTS,
    OBS_BALL = 2 * N_JOINTS,
    OBS_GOAL = OBS_BALL + 3,
    N_OBS = OBS_GOAL + 2
};

#define MODEL_PATH "fancy_gym/envs/mujoco/table_tennis/assets/xml/table_tennis_env.xml"
#define DT 0.008
#define GRAVITY 9.81

/* places are drawn from this rectangle on the far half: m */
#define X_LOW -1.0
#define X_HIGH -0.2
#define Y_LOW -0.65
#define Y_HIGH 0.65
#define BALL_Z 1.75     /* slide coordinate */
#define BALL_OFFSET 0.1 /* world height = slide coordinate + this */
#define TABLE_TOP 0.77
#define NET_HEIGHT 0.1
#define NET_X 0.05    /* the ball must be beyond when it has fallen to the height of the net */
#define LANDING_X 1.1 /* and come down before this, with |y| up to LANDING_Y */
#define LANDING_Y 0.6
#define START_NOISE 0.1 /* of the joints' ranges */

#define MISS_NEVER 10.0 /* counts as the distance of a landing that did not happen */
#define SUCCESS_MISS 0.2
#define FAR_AWAY 1e300 /* least distance, squared, over an empty track */

static const double BALL_VELOCITY[3] = { 2.5, 0.0, 0.5 };
static const double START[N_JOINTS] = { 0.0, 0.0, 0.0, 1.5, 0.0, 0.0, 1.5 };
static const double JOINT_LOW[N_JOINTS] = { -2.6, -2.0, -2.8, -0.9, -4.8, -1.6, -2.2 };
static const double JOINT_HIGH[N_JOINTS] = { 2.6, 2.0, 2.8, 3.1, 1.3, 1.6, 2.2 };
static const double KP[N_JOINTS] = { 0.5, 2.0, 1.0, 2.0, 0.5, 2.0, 0.5 };
static const double KD[N_JOINTS] = { 0.05, 0.2, 0.1, 0.2, 0.05, 0.2, 0.05 };
static const double ACTION_LOW[N_JOINTS] = { -1.0, -1.0, -1.0, -1.0, -1.0, -1.0, -1.0 };
static const double ACTION_HIGH[N_JOINTS] = { 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0 };

typedef struct table_tennis {
    const mjModel *model;
    mjData *data;
    const task_draws *draws;
    picture picture;
    int ball_body, goal_body, ball, bat, bat_back, floor, table;
    double terminal, random_arm, markov, whole_path; /* options */
    double task[TENNIS_N_TASK];
} table_tennis;

static const char *const METRICS[] = { "success", "hit_ball", "ball_returned_success",
                                       "land_dist_error", "num_steps" };
/* the arm's start, x and y of the ball, the goal; without the arm where that does not change */
static const int32_t CONTEXT[] = { 0,        1,           2, 3, 4, 5, 6, OBS_BALL, OBS_BALL + 1,
                                   OBS_GOAL, OBS_GOAL + 1 };

/* ---- life ------------------------------------------------------------------------------------ */

static void destroy(void *instance)
{
    table_tennis *env = instance;
    picture_free(&env->picture);
    mj_deleteData(env->data);
    if (env->model)
        mujoco_model_close(env->model);
    free(env);
}

static tce_status read_options(table_tennis *env, const char *settings)
{
    env->random_arm = -1.0;
    const task_option options[] = {
        { "terminal", &env->terminal, 0.0, 1.0 },
        { "random_arm", &env->random_arm, 0.0, 1.0 },
        { "markov", &env->markov, 0.0, 1.0 },
        { "whole_path", &env->whole_path, 0.0, 1.0 },
    };
    const tce_status status = task_options_read("table_tennis", settings,
                                                sizeof options / sizeof options[0], options);
    if (status != TCE_OK)
        return status;
    if (env->terminal != 0.0 && env->markov != 0.0)
        return tce_fail(
            TCE_E_VALUE,
            "table_tennis: terminal=1 and markov=1 are two different rewards: give one of them");
    /* what is not given depends on the variant */
    if (env->random_arm < 0.0)
        env->random_arm = env->terminal == 0.0;
    if (env->terminal != 0.0)
        env->whole_path = 1.0;
    return TCE_OK;
}

static tce_status find_parts(table_tennis *env)
{
    const mujoco_part parts[] = {
        { mjOBJ_BODY, "target_ball", &env->ball_body },
        { mjOBJ_BODY, "target_point", &env->goal_body },
        { mjOBJ_GEOM, "target_ball_contact", &env->ball },
        { mjOBJ_GEOM, "bat", &env->bat },
        { mjOBJ_GEOM, "bat_back", &env->bat_back },
        { mjOBJ_GEOM, "floor", &env->floor },
        { mjOBJ_GEOM, "table_tennis_table", &env->table },
    };
    const tce_status status = mujoco_check_sizes(env->model, "table_tennis", NQ, NQ, N_JOINTS);
    return status == TCE_OK ? mujoco_find_parts(env->model, sizeof parts / sizeof parts[0], parts)
                            : status;
}

static tce_status create(void *user, const char *settings, void **out)
{
    table_tennis *env = calloc(1, sizeof *env);
    if (!env)
        return tce_fail(TCE_E_NOMEM, "table_tennis: no memory");
    env->draws = user;
    tce_status status = read_options(env, settings);
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
    env->task[STATE_STEP] = N_STEPS_TERMINAL;
    *out = env;
    return TCE_OK;
}

static int n_steps(const table_tennis *env)
{
    return env->terminal != 0.0 ? N_STEPS_TERMINAL : N_STEPS;
}

static tce_status spec(void *instance, tce_env_spec *out)
{
    const table_tennis *env = instance;
    const int first = env->random_arm != 0.0 ? 0 : N_JOINTS;
    out->n_obs = N_OBS;
    out->n_dof = N_JOINTS;
    out->n_action = N_JOINTS;
    out->n_steps = n_steps(env);
    out->n_metrics = sizeof METRICS / sizeof METRICS[0];
    out->n_context = (int32_t)(sizeof CONTEXT / sizeof CONTEXT[0]) - first;
    out->dt = DT;
    out->metric_names = METRICS;
    out->context = CONTEXT + first;
    out->action_low = ACTION_LOW;
    out->action_high = ACTION_HIGH;
    out->velocity_end = OBS_VELOCITY + N_JOINTS;
    return TCE_OK;
}

/* ---- start ----------------------------------------------------------------------------------- */

/*
 * Whether a ball that flies from (x, y, BALL_Z) passes the net and meets the near half: it is at
 * height z' over the table at
 *     t = v_z / g + sqrt(v_z^2 / g^2 + 2 (h - z') / g),    h its first height over the table.
 */
static int ball_is_playable(double x, double y)
{
    const double h = BALL_Z + BALL_OFFSET - TABLE_TOP;
    const double rise = BALL_VELOCITY[2] / GRAVITY;
    const double at_net = rise + sqrt(rise * rise + 2.0 * (h - NET_HEIGHT) / GRAVITY);
    const double at_table = rise + sqrt(rise * rise + 2.0 * h / GRAVITY);
    return x <= X_HIGH && BALL_VELOCITY[0] >= 0.0 && x + BALL_VELOCITY[0] * at_net >= NET_X &&
           x + BALL_VELOCITY[0] * at_table <= LANDING_X &&
           fabs(y + BALL_VELOCITY[1] * at_table) <= LANDING_Y;
}

/* Seven numbers for the arm, seven more for a velocity that is always 0. */
static void draw_arm(const table_tennis *env, tce_random *random, double *out)
{
    for (int j = 0; j < N_JOINTS; j++) {
        const double noise = START_NOISE * task_draw(env->draws, random, -1.0, 1.0);
        out[j] = fmin(fmax(START[j] + noise * (JOINT_HIGH[j] - JOINT_LOW[j]), JOINT_LOW[j]),
                      JOINT_HIGH[j]);
    }
    for (int j = 0; j < N_JOINTS; j++)
        task_draw(env->draws, random, -1.0, 1.0);
}

static void clear_tracks(table_tennis *env)
{
    env->task[TENNIS_NEAR_BAT] = FAR_AWAY;
    env->task[TENNIS_NEAR_GOAL] = FAR_AWAY;
}

static void observe(const table_tennis *env, double *out)
{
    memcpy(out + OBS_POSITION, env->data->qpos, N_JOINTS * sizeof *out);
    memcpy(out + OBS_VELOCITY, env->data->qvel, N_JOINTS * sizeof *out);
    memcpy(out + OBS_BALL, env->data->qpos + BALL, 3 * sizeof *out);
    memcpy(out + OBS_GOAL, env->task + TENNIS_GOAL, 2 * sizeof *out);
}

static tce_status reset(void *instance, tce_random *random, double *out_obs, double *out_pos,
                        double *out_vel)
{
    table_tennis *env = instance;
    double qpos[NQ], qvel[NQ] = { 0 };
    memset(env->task, 0, sizeof env->task);
    env->task[STATE_FRESH] = 1.0;
    clear_tracks(env);

    /* ball, goal, arm */
    do {
        qpos[BALL] = task_draw(env->draws, random, X_LOW, X_HIGH);
        qpos[BALL + 1] = task_draw(env->draws, random, Y_LOW, Y_HIGH);
    } while (!ball_is_playable(qpos[BALL], qpos[BALL + 1]));
    qpos[BALL + 2] = BALL_Z;
    memcpy(qvel + BALL, BALL_VELOCITY, sizeof BALL_VELOCITY);
    env->task[TENNIS_GOAL] = task_draw(env->draws, random, X_LOW, X_HIGH);
    env->task[TENNIS_GOAL + 1] = task_draw(env->draws, random, Y_LOW, Y_HIGH);
    if (env->random_arm != 0.0)
        draw_arm(env, random, qpos);
    else
        memcpy(qpos, START, sizeof START);

    const tce_status status = start_from(env->model, env->data, qpos, qvel);
    if (status != TCE_OK)
        return status;
    observe(env, out_obs);
    memcpy(out_pos, qpos, N_JOINTS * sizeof *out_pos);
    memset(out_vel, 0, N_JOINTS * sizeof *out_vel);
    return TCE_OK;
}

/* ---- the ball -------------------------------------------------------------------------------- */

static const double *ball_place(const table_tennis *env)
{
    return env->data->xpos + 3 * env->ball_body;
}

static int ball_touches(const table_tennis *env, int geom)
{
    return touching(env->data, env->ball, geom);
}

static int ball_touches_bat(const table_tennis *env)
{
    return ball_touches(env, env->bat) || ball_touches(env, env->bat_back);
}

static void land(table_tennis *env)
{
    memcpy(env->task + TENNIS_LANDING, ball_place(env), 3 * sizeof(double));
    env->task[TENNIS_HAS_LANDING] = 1.0;
    env->task[TENNIS_OVER] = 1.0;
}

/*
 * Hit, and the first contact with floor or table after it; a bounce before the hit and the net are
 * not looked at.
 */
static void follow_ball(table_tennis *env)
{
    double *task = env->task;
    if (task[TENNIS_HIT] == 0.0) {
        task[TENNIS_HIT] = ball_touches_bat(env);
        if (task[TENNIS_HIT] == 0.0 && ball_touches(env, env->floor))
            land(env);
    }
    if (task[TENNIS_HIT] != 0.0 && task[TENNIS_AFTER_HIT] == 0.0) {
        const int on_floor = ball_touches(env, env->floor);
        const int on_table = !on_floor && ball_touches(env, env->table);
        if (on_floor || on_table) {
            land(env);
            task[TENNIS_AFTER_HIT] = 1.0;
        }
        if (on_table && task[TENNIS_LANDING] < 0.0)
            task[TENNIS_RETURNED] = 1.0;
    }
}

/* The least distances, squared, with the present place of the ball. */
static void extend_tracks(table_tennis *env)
{
    const double *ball = ball_place(env);
    const double *bat = env->data->geom_xpos + 3 * env->bat;
    const double to_goal[2] = { ball[0] - env->task[TENNIS_GOAL],
                                ball[1] - env->task[TENNIS_GOAL + 1] };
    double bat_square = 0.0;
    for (int i = 0; i < 3; i++)
        bat_square += (ball[i] - bat[i]) * (ball[i] - bat[i]);
    env->task[TENNIS_NEAR_BAT] = fmin(env->task[TENNIS_NEAR_BAT], bat_square);
    env->task[TENNIS_NEAR_GOAL] = fmin(env->task[TENNIS_NEAR_GOAL],
                                       to_goal[0] * to_goal[0] + to_goal[1] * to_goal[1]);
}

static double miss(const table_tennis *env)
{
    const double *task = env->task;
    if (task[TENNIS_HAS_LANDING] == 0.0)
        return MISS_NEVER;
    return hypot(task[TENNIS_LANDING] - task[TENNIS_GOAL],
                 task[TENNIS_LANDING + 1] - task[TENNIS_GOAL + 1]);
}

/* f(s) of the file's head. */
static double near(double square)
{
    return 1.0 - tanh(square);
}

/* 4 f(miss^2) + [landing x < 0], whatever it was that the ball touched. */
static double landing_reward(const table_tennis *env)
{
    return 4.0 * near(miss(env) * miss(env)) + (env->task[TENNIS_LANDING] < 0.0);
}

static double step_reward(const table_tennis *env, int now, int down)
{
    const double *task = env->task;
    if (task[TENNIS_HIT] == 0.0)
        return 0.005 * near(task[TENNIS_NEAR_BAT]);
    if (now)
        return 2.0;
    if (task[TENNIS_HAS_LANDING] == 0.0)
        return 0.02 * near(task[TENNIS_NEAR_GOAL]);
    return down ? landing_reward(env) : 0.0;
}

static double terminal_reward(const table_tennis *env)
{
    const double *task = env->task;
    if (task[TENNIS_HIT] == 0.0)
        return 0.2 * near(task[TENNIS_NEAR_BAT]);
    if (task[TENNIS_HAS_LANDING] == 0.0)
        return 2.0 * near(task[TENNIS_NEAR_BAT]) + near(task[TENNIS_NEAR_GOAL]);
    return 2.0 * near(task[TENNIS_NEAR_BAT]) + landing_reward(env);
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* One step of physics under the action; *now and *down: hit, landing came with it. */
static tce_status advance(table_tennis *env, const double *action, int *now, int *down)
{
    double *task = env->task;
    const double hit = task[TENNIS_HIT];
    const double landed = task[TENNIS_HAS_LANDING];
    memcpy(env->data->ctrl, action, N_JOINTS * sizeof *action);
    for (int i = 0; i < N_SUB; i++) {
        const tce_status status = step_as_original(env->model, env->data, 1);
        if (status != TCE_OK)
            return status;
        if (env->terminal != 0.0 || task[TENNIS_OVER] == 0.0)
            follow_ball(env);
        extend_tracks(env);
    }
    task[STATE_FRESH] = 0.0;
    task[STATE_STEP] += 1.0;
    *now = hit == 0.0 && task[TENNIS_HIT] != 0.0;
    *down = landed == 0.0 && task[TENNIS_HAS_LANDING] != 0.0;
    return TCE_OK;
}

/*
 * The rest of the episode without torque, once ball and bat have parted: 2 and what its steps earn.
 */
static tce_status fly_to_the_end(table_tennis *env, double *reward)
{
    static const double NO_TORQUE[N_JOINTS] = { 0 };
    clear_tracks(env);
    *reward = 2.0;
    while (env->task[STATE_STEP] < N_STEPS) {
        int now, down;
        const tce_status status = advance(env, NO_TORQUE, &now, &down);
        if (status != TCE_OK)
            return status;
        *reward += step_reward(env, 0, down);
    }
    return TCE_OK;
}

/* One step of the simulation, its reward and end. */
static tce_status simulate(table_tennis *env, const double *action, double *out_obs,
                           tce_env_result *out)
{
    int now, down;
    tce_status status = advance(env, action, &now, &down);
    if (status != TCE_OK)
        return status;
    observe(env, out_obs);

    out->terminated = 0;
    out->truncated = 0;
    const int landed = env->task[TENNIS_HAS_LANDING] != 0.0;
    if (env->terminal != 0.0) {
        out->terminated = env->task[TENNIS_OVER] != 0.0 ||
                          env->task[STATE_STEP] >= N_STEPS_TERMINAL;
        out->reward = out->terminated ? terminal_reward(env) : 0.0;
    } else if (env->markov != 0.0 && env->task[TENNIS_HIT] != 0.0 && !ball_touches_bat(env)) {
        status = fly_to_the_end(env, &out->reward);
        out->truncated = 1;
        out->terminated = env->task[TENNIS_HAS_LANDING] != 0.0;
    } else if (env->markov != 0.0) {
        out->reward = step_reward(env, 0, 0);
        out->truncated = env->task[STATE_STEP] >= N_STEPS;
        out->terminated = out->truncated && landed;
    } else {
        if (now)
            clear_tracks(env);
        out->reward = step_reward(env, now, down);
        out->terminated = env->task[STATE_STEP] >= N_STEPS;
    }
    out->event = env->task[TENNIS_HIT] != 0.0;
    return status;
}

/*
 * Once the rally is over so is a terminal episode, but for paths of which every step is looked at.
 */
static tce_status check_running(const table_tennis *env, int whole)
{
    const int rally_over = env->terminal != 0.0 && !whole && env->task[TENNIS_OVER] != 0.0;
    return task_check_running("table_tennis", rally_over || env->task[STATE_STEP] >= n_steps(env));
}

static tce_status step_action(void *instance, const double *action, double *out_obs,
                              tce_env_result *out)
{
    tce_status status = check_finite("table_tennis", "action", N_JOINTS, action);
    if (status == TCE_OK)
        status = check_running(instance, 0);
    return status == TCE_OK ? simulate(instance, action, out_obs, out) : status;
}

/* mean_j max(p_j - high_j, 0) + mean_j max(low_j - p_j, 0) */
static double excess(const double *pos)
{
    double above = 0.0, below = 0.0;
    for (int j = 0; j < N_JOINTS; j++) {
        above += fmax(pos[j] - JOINT_HIGH[j], 0.0);
        below += fmax(JOINT_LOW[j] - pos[j], 0.0);
    }
    return (above + below) / N_JOINTS;
}

/* A step that is not simulated: the time goes on, up to the last step. */
static void stand_still(table_tennis *env, double *out_obs, tce_env_result *out)
{
    env->task[STATE_STEP] += 1.0;
    observe(env, out_obs);
    out->reward = 0.0;
    out->terminated = env->task[STATE_STEP] >= n_steps(env);
    out->truncated = 0;
    out->event = env->task[TENNIS_INVALID] == 0.0 && env->task[TENNIS_HIT] != 0.0;
}

/*
 * With whole_path every step of the path is looked at, so the episode does not end early; a path
 * that leaves the limits sums to minus the mean of its excess over all steps.
 */
static tce_status step(void *instance, const double *pos, const double *vel, double *out_obs,
                       tce_env_result *out)
{
    table_tennis *env = instance;
    double *task = env->task;
    const int whole = env->whole_path != 0.0;
    tce_status status = check_finite("table_tennis", "desired position", N_JOINTS, pos);
    if (status == TCE_OK)
        status = check_finite("table_tennis", "desired velocity", N_JOINTS, vel);
    if (status == TCE_OK)
        status = check_running(env, whole);
    if (status != TCE_OK)
        return status;
    const double outside = excess(pos);
    const int first = outside > 0.0 && task[TENNIS_INVALID] == 0.0;
    if (outside > 0.0)
        task[TENNIS_INVALID] = 1.0;

    if (whole &&
        (task[TENNIS_INVALID] != 0.0 || (env->terminal != 0.0 && task[TENNIS_OVER] != 0.0))) {
        stand_still(env, out_obs, out);
    } else {
        double action[N_JOINTS];
        for (int j = 0; j < N_JOINTS; j++) {
            const double a = KP[j] * (pos[j] - env->data->qpos[j]) +
                             KD[j] * (vel[j] - env->data->qvel[j]);
            action[j] = fmin(fmax(a, -1.0), 1.0);
        }
        status = simulate(env, action, out_obs, out);
        if (whole && env->terminal != 0.0)
            out->terminated = task[STATE_STEP] >= N_STEPS_TERMINAL;
    }
    if (task[TENNIS_INVALID] != 0.0 && whole)
        out->reward = -outside / n_steps(env) - (first ? task[TENNIS_SUM] : 0.0);
    else if (task[TENNIS_INVALID] != 0.0)
        out->reward = -outside;
    task[TENNIS_SUM] += out->reward;
    return status;
}

/* A path that was refused as a whole has hit nothing, in one step. */
static tce_status metrics(void *instance, double *out)
{
    const table_tennis *env = instance;
    const int refused = env->whole_path != 0.0 && env->task[TENNIS_INVALID] != 0.0;
    const double distance = refused ? MISS_NEVER : miss(env);
    out[1] = !refused && env->task[TENNIS_HIT] != 0.0;
    out[2] = !refused && env->task[TENNIS_RETURNED] != 0.0;
    out[0] = out[2] != 0.0 && distance < SUCCESS_MISS;
    out[3] = distance;
    out[4] = refused ? 1.0 : env->task[STATE_STEP];
    return TCE_OK;
}

/* ---- state and picture ----------------------------------------------------------------------- */

static size_t n_state(void *instance)
{
    return packed_size(((const table_tennis *)instance)->model, TENNIS_N_TASK);
}

static tce_status get_state(void *instance, double *out)
{
    const table_tennis *env = instance;
    packed_get(env->model, env->data, TENNIS_N_TASK, env->task, out);
    return TCE_OK;
}

static tce_status set_state(void *instance, const double *state, double *out_obs)
{
    table_tennis *env = instance;
    const tce_status status = packed_set("table_tennis", env->model, env->data, TENNIS_N_TASK,
                                         env->task, state);
    if (status == TCE_OK)
        observe(env, out_obs);
    return status;
}

static tce_status render(void *instance, int32_t width, int32_t height, uint8_t *rgb)
{
    /* along the net, from above: no sky in this model */
    static const picture_view VIEW = { { 0.55, 0.0, 1.0 }, 2.8, 75.0F, -42.0F, 2.5 };
    table_tennis *env = instance;
    const double goal[3] = { env->task[TENNIS_GOAL], env->task[TENNIS_GOAL + 1], TABLE_TOP };
    return picture_draw(&env->picture, env->model, env->data, &VIEW, env->goal_body, goal, width,
                        height, rgb);
}

const tce_env_vtable TASK_TABLE_TENNIS = {
    .struct_size = sizeof(tce_env_vtable),
    .abi = TCE_ENV_ABI,
    .name = "table_tennis",
    .description = "arm with seven joints (MuJoCo): return a table tennis ball to a random goal",
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
