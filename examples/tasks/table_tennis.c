/*
 * table_tennis: an arm with seven joints returns a ball to a random place on the other half of the
 * table. Model of fancy_gym.
 *
 * A = least distance of ball and bat, B = least distance of ball and goal in the plane, over the
 * track of the ball; miss = distance of the ball's landing after the hit and the goal; f(s) = 1 -
 * tanh(s). An action of 7 torques is held for 4 substeps; contacts are looked at after each
 * substep.
 *     per step (default)      0.005 f(A^2) before the hit, 2 in the step of the hit,
 *                             0.02 f(B^2) while the ball flies, 4 f(miss^2) + [landing x < 0]
 *                             in the step of the landing, 0 afterwards; the track starts again
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
#include "table_tennis.h"

#include <math.h>
#include <string.h>

#include "shared/task.h"

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
    mujoco_env base;
    int terminal, random_arm, markov, whole_path; /* options */
    int ball_body, ball, bat, bat_back, floor, table;
    int hit_now, landed_now; /* whether that came with the last step */
    table_tennis_state s;
} table_tennis;

enum { AS_THE_VARIANT = -1 };

static const task_option OPTIONS[] = {
    TASK_FLAG(table_tennis, terminal, 0),
    TASK_FLAG(table_tennis, random_arm, AS_THE_VARIANT),
    TASK_FLAG(table_tennis, markov, 0),
    TASK_FLAG(table_tennis, whole_path, 0),
};
static const mujoco_part PARTS[] = {
    TASK_PART(table_tennis, ball_body, mjOBJ_BODY, "target_ball"),
    TASK_PART(table_tennis, ball, mjOBJ_GEOM, "target_ball_contact"),
    TASK_PART(table_tennis, bat, mjOBJ_GEOM, "bat"),
    TASK_PART(table_tennis, bat_back, mjOBJ_GEOM, "bat_back"),
    TASK_PART(table_tennis, floor, mjOBJ_GEOM, "floor"),
    TASK_PART(table_tennis, table, mjOBJ_GEOM, "table_tennis_table"),
};
static const char *const METRICS[] = { "success", "hit_ball", "ball_returned_success",
                                       "land_dist_error", "num_steps" };
/* the arm's start, x and y of the ball, the goal; without the arm where that does not change */
static const int32_t CONTEXT[] = { 0,        1,           2, 3, 4, 5, 6, OBS_BALL, OBS_BALL + 1,
                                   OBS_GOAL, OBS_GOAL + 1 };

static tce_status configure(void *instance)
{
    table_tennis *env = instance;
    tce_env_spec *spec = &env->base.spec;
    if (env->terminal && env->markov)
        return tce_fail(
            TCE_E_VALUE,
            "table_tennis: terminal=1 and markov=1 are two different rewards: give one of them");
    /* what is not given depends on the variant */
    if (env->random_arm == AS_THE_VARIANT)
        env->random_arm = !env->terminal;
    if (env->terminal) {
        env->whole_path = 1;
        spec->n_steps = N_STEPS_TERMINAL;
    }
    if (!env->random_arm) {
        spec->n_context -= N_JOINTS;
        spec->context += N_JOINTS;
    }
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
        const double noise = START_NOISE * mujoco_draw(&env->base, random, -1.0, 1.0);
        out[j] = fmin(fmax(START[j] + noise * (JOINT_HIGH[j] - JOINT_LOW[j]), JOINT_LOW[j]),
                      JOINT_HIGH[j]);
    }
    for (int j = 0; j < N_JOINTS; j++)
        mujoco_draw(&env->base, random, -1.0, 1.0);
}

static void clear_tracks(table_tennis *env)
{
    env->s.near_bat = FAR_AWAY;
    env->s.near_goal = FAR_AWAY;
}

static void reset(void *instance, tce_random *random)
{
    table_tennis *env = instance;
    double *qpos = env->base.data->qpos;
    env->s = (table_tennis_state){ 0 };
    clear_tracks(env);

    /* ball, goal, arm */
    do {
        qpos[BALL] = mujoco_draw(&env->base, random, X_LOW, X_HIGH);
        qpos[BALL + 1] = mujoco_draw(&env->base, random, Y_LOW, Y_HIGH);
    } while (!ball_is_playable(qpos[BALL], qpos[BALL + 1]));
    qpos[BALL + 2] = BALL_Z;
    memcpy(env->base.data->qvel + BALL, BALL_VELOCITY, sizeof BALL_VELOCITY);
    env->s.goal[0] = mujoco_draw(&env->base, random, X_LOW, X_HIGH);
    env->s.goal[1] = mujoco_draw(&env->base, random, Y_LOW, Y_HIGH);
    if (env->random_arm)
        draw_arm(env, random, qpos);
    else
        memcpy(qpos, START, sizeof START);
    mujoco_forward(&env->base);
}

static void observe(const void *instance, double *out)
{
    const table_tennis *env = instance;
    const mjData *data = env->base.data;
    memcpy(out + OBS_POSITION, data->qpos, N_JOINTS * sizeof *out);
    memcpy(out + OBS_VELOCITY, data->qvel, N_JOINTS * sizeof *out);
    memcpy(out + OBS_BALL, data->qpos + BALL, 3 * sizeof *out);
    memcpy(out + OBS_GOAL, env->s.goal, sizeof env->s.goal);
}

/* ---- the ball -------------------------------------------------------------------------------- */

static const double *ball_place(const table_tennis *env)
{
    return env->base.data->xpos + 3 * env->ball_body;
}

static int ball_touches(const table_tennis *env, int geom)
{
    return mujoco_touching(env->base.data, env->ball, geom);
}

static int ball_touches_bat(const table_tennis *env)
{
    return ball_touches(env, env->bat) || ball_touches(env, env->bat_back);
}

static void land(table_tennis *env)
{
    memcpy(env->s.landing, ball_place(env), sizeof env->s.landing);
    env->s.has_landing = 1.0;
    env->s.over = 1.0;
}

/*
 * Hit, and the first contact with floor or table after it; a bounce before the hit and the net are
 * not looked at.
 */
static void follow_ball(table_tennis *env)
{
    table_tennis_state *s = &env->s;
    if (!s->hit) {
        s->hit = ball_touches_bat(env);
        if (!s->hit && ball_touches(env, env->floor))
            land(env);
    }
    if (s->hit && !s->after_hit) {
        const int on_floor = ball_touches(env, env->floor);
        const int on_table = !on_floor && ball_touches(env, env->table);
        if (on_floor || on_table) {
            land(env);
            s->after_hit = 1.0;
        }
        if (on_table && s->landing[0] < 0.0)
            s->returned = 1.0;
    }
}

/* The least distances, squared, with the present place of the ball. */
static void extend_tracks(table_tennis *env)
{
    const double *ball = ball_place(env);
    const double *bat = env->base.data->geom_xpos + 3 * env->bat;
    const double to_goal[2] = { ball[0] - env->s.goal[0], ball[1] - env->s.goal[1] };
    double bat_square = 0.0;
    for (int i = 0; i < 3; i++)
        bat_square += (ball[i] - bat[i]) * (ball[i] - bat[i]);
    env->s.near_bat = fmin(env->s.near_bat, bat_square);
    env->s.near_goal = fmin(env->s.near_goal, to_goal[0] * to_goal[0] + to_goal[1] * to_goal[1]);
}

static double miss(const table_tennis *env)
{
    const table_tennis_state *s = &env->s;
    if (!s->has_landing)
        return MISS_NEVER;
    return hypot(s->landing[0] - s->goal[0], s->landing[1] - s->goal[1]);
}

/* f(s) of the file's head. */
static double near(double square)
{
    return 1.0 - tanh(square);
}

/* 4 f(miss^2) + [landing x < 0], whatever it was that the ball touched. */
static double landing_reward(const table_tennis *env)
{
    return 4.0 * near(miss(env) * miss(env)) + (env->s.landing[0] < 0.0);
}

static double step_reward(const table_tennis *env, int now, int down)
{
    const table_tennis_state *s = &env->s;
    if (!s->hit)
        return 0.005 * near(s->near_bat);
    if (now)
        return 2.0;
    if (!s->has_landing)
        return 0.02 * near(s->near_goal);
    return down ? landing_reward(env) : 0.0;
}

static double terminal_reward(const table_tennis *env)
{
    const table_tennis_state *s = &env->s;
    if (!s->hit)
        return 0.2 * near(s->near_bat);
    if (!s->has_landing)
        return 2.0 * near(s->near_bat) + near(s->near_goal);
    return 2.0 * near(s->near_bat) + landing_reward(env);
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* One step of physics under the action; hit_now and landed_now say what came with it. */
static void step(void *instance, const double *action)
{
    table_tennis *env = instance;
    const int hit = env->s.hit != 0.0, landed = env->s.has_landing != 0.0;
    memcpy(env->base.data->ctrl, action, N_JOINTS * sizeof *action);
    for (int i = 0; i < N_SUB; i++) {
        step_as_original(env->base.model, env->base.data, 1);
        if (env->terminal || !env->s.over)
            follow_ball(env);
        extend_tracks(env);
    }
    env->hit_now = !hit && env->s.hit;
    env->landed_now = !landed && env->s.has_landing;
}

/*
 * The rest of the episode without torque, once ball and bat have parted: 2 and what its steps earn.
 */
static double fly_to_the_end(table_tennis *env)
{
    static const double NO_TORQUE[N_JOINTS] = { 0 };
    double sum = 2.0;
    clear_tracks(env);
    while (!mujoco_is_last(&env->base)) {
        step(env, NO_TORQUE);
        env->base.step += 1.0;
        sum += step_reward(env, 0, env->landed_now);
    }
    return sum;
}

static void reward(void *instance, const double *action, tce_env_result *out)
{
    table_tennis *env = instance;
    const int last = mujoco_is_last(&env->base);
    (void)action;
    out->truncated = 0;
    if (env->terminal) {
        out->terminated = env->s.over || last;
        out->reward = out->terminated ? terminal_reward(env) : 0.0;
    } else if (env->markov && env->s.hit && !ball_touches_bat(env)) {
        out->reward = fly_to_the_end(env);
        out->truncated = 1;
        out->terminated = env->s.has_landing != 0.0;
    } else if (env->markov) {
        out->reward = step_reward(env, 0, 0);
        out->truncated = last;
        out->terminated = last && env->s.has_landing;
    } else {
        if (env->hit_now)
            clear_tracks(env);
        out->reward = step_reward(env, env->hit_now, env->landed_now);
        out->terminated = last;
    }
    out->event = env->s.hit != 0.0;
}

/* Once the rally is over so is a terminal episode. */
static int is_over(const void *instance)
{
    const table_tennis *env = instance;
    return env->terminal && env->s.over;
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

/* A step that is not simulated: the time runs on to the last step. */
static void stand_still(table_tennis *env, double *out_obs, tce_env_result *out)
{
    env->base.step += 1.0;
    observe(env, out_obs);
    out->reward = 0.0;
    out->terminated = mujoco_is_last(&env->base);
    out->truncated = 0;
    out->event = !env->s.invalid && env->s.hit;
}

/*
 * With whole_path every step of the path is looked at, so the episode does not end early; a path
 * that leaves the limits sums to minus the mean of its excess over all steps.
 */
static tce_status follow(void *instance, const double *pos, const double *vel, double *out_obs,
                         tce_env_result *out)
{
    table_tennis *env = instance;
    table_tennis_state *s = &env->s;
    const int over = mujoco_is_last(&env->base) || (!env->whole_path && is_over(env));
    tce_status status = task_check_running("table_tennis", over);
    if (status != TCE_OK)
        return status;
    const double outside = excess(pos);
    const int first = outside > 0.0 && !s->invalid;
    if (outside > 0.0)
        s->invalid = 1.0;

    if (env->whole_path && (s->invalid || is_over(env))) {
        stand_still(env, out_obs, out);
    } else {
        double action[N_JOINTS];
        mujoco_track(&env->base, pos, vel, action);
        status = mujoco_act(&env->base, action, out_obs, out);
        if (env->whole_path && env->terminal)
            out->terminated = mujoco_is_last(&env->base);
    }
    if (s->invalid && env->whole_path)
        out->reward = -outside / env->base.spec.n_steps - (first ? s->sum : 0.0);
    else if (s->invalid)
        out->reward = -outside;
    s->sum += out->reward;
    return status;
}

/* A path that was refused as a whole has hit nothing, in one step. */
static void metrics(const void *instance, double *out)
{
    const table_tennis *env = instance;
    const int refused = env->whole_path && env->s.invalid;
    const double distance = refused ? MISS_NEVER : miss(env);
    out[1] = !refused && env->s.hit;
    out[2] = !refused && env->s.returned;
    out[0] = out[2] != 0.0 && distance < SUCCESS_MISS;
    out[3] = distance;
    out[4] = refused ? 1.0 : env->base.step;
}

static void mark(const void *instance, mjModel *model)
{
    const double *goal = ((const table_tennis *)instance)->s.goal;
    const double place[3] = { goal[0], goal[1], TABLE_TOP };
    picture_place(model, "target_point", place, NULL);
}

static const mujoco_task TABLE_TENNIS = {
    TASK_STRUCT(table_tennis),
    .spec = { .n_obs = N_OBS,
              .n_steps = N_STEPS,
              .dt = 0.008,
              TASK_ACTIONS(N_JOINTS, ACTION_LOW, ACTION_HIGH),
              TASK_METRICS(METRICS),
              TASK_CONTEXT(CONTEXT),
              .velocity_end = OBS_VELOCITY + N_JOINTS },
    .model = "fancy_gym/envs/mujoco/table_tennis/assets/xml/table_tennis_env.xml",
    .sizes = { NQ, NQ, N_JOINTS },
    TASK_OPTIONS(OPTIONS),
    TASK_PARTS(PARTS),
    .gains = { KP, KD },
    /* along the net, from above */
    .view = { .center = { 0.55, 0.0, 1.0 },
              .extent = 2.8,
              .azimuth = 75.0F,
              .elevation = -42.0F,
              .mark = "target_point",
              .mark_scale = 2.5,
              .light_ground = 16.8 },
    TASK_FUNCTIONS,
    .configure = configure,
    .is_over = is_over,
    .follow = follow,
    .mark = mark,
};

MUJOCO_TASK(table_tennis,
            "arm with seven joints (MuJoCo): return a table tennis ball to a random goal",
            &TABLE_TENNIS);
