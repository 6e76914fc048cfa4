/*
 * point_via: a point mass in the plane that has to pass a via-point at half time and rest at a goal
 * at the end. Pure C, no simulator: it serves the tests and shows what an environment needs.
 *
 * State: position y, velocity v (2 numbers each), unit mass. One step of dt is N_SUB semi-implicit
 * Euler steps of h,
 *     v <- v + h a,   y <- y + h v,
 *     a = clip(Kp (p - y) + Kd (w - v), -MAX_FORCE, MAX_FORCE), held over the step,
 * for the desired position p and velocity w. Reward of each step: -ACTION_COST |a|^2; after step
 * T/2 in addition -WEIGHT |y - via|^2, after step T -WEIGHT |y - goal|^2 - SPEED_COST |v|^2.
 * Success: both within the tolerance.
 */
#include <math.h>
#include <string.h>

#include "shared/plain.h"
#include "tasks.h"

#define N_STEPS 50
#define VIA_STEP 25
#define N_SUB 4
#define DT 0.02
#define KP 400.0
#define KD 40.0
#define MAX_FORCE 200.0
#define WEIGHT 10.0
#define SPEED_COST 0.1
#define ACTION_COST 1e-6

/* y, v, via, goal, step, distance to the via-point when passing it */
enum { Y = 0, V = 2, VIA = 4, GOAL = 6, STEP = 8, PASSED = 9, N_STATE = 10 };
enum { N_OBS = 8 };

typedef struct point_via {
    plain_env base;
    double state[N_STATE];
    double tolerance;
} point_via;

static const char *const METRICS[] = { "success", "via_distance", "goal_distance" };
static const double ACTION_LOW[] = { -MAX_FORCE, -MAX_FORCE };
static const double ACTION_HIGH[] = { MAX_FORCE, MAX_FORCE };
/* via-point and goal: all that changes between episodes */
static const int32_t CONTEXT[] = { 4, 5, 6, 7 };
static const task_option OPTION = TASK_NUMBER(point_via, tolerance, 0.1, 1e-6, 10.0);

static double distance(const double *a, const double *b)
{
    return hypot(a[0] - b[0], a[1] - b[1]);
}

/* The mass starts at rest in the origin; via-point to one side, goal farther out, both drawn. */
static void reset(void *instance, tce_random *random)
{
    double *s = ((point_via *)instance)->state;
    for (int i = 0; i < 2; i++) {
        s[VIA + i] = 2.0 * tce_random_uniform(random) - 1.0;
        s[GOAL + i] = 2.0 * tce_random_uniform(random) - 1.0;
    }
    s[PASSED] = INFINITY;
}

static void observe(const void *instance, double *out)
{
    memcpy(out, ((const point_via *)instance)->state, N_OBS * sizeof *out);
}

static void control(const void *instance, const double *pos, const double *vel, double *out)
{
    const double *s = ((const point_via *)instance)->state;
    for (int i = 0; i < 2; i++)
        out[i] = KP * (pos[i] - s[Y + i]) + KD * (vel[i] - s[V + i]);
}

/* Integrates one step with a force held over it, and pays for it. */
static void step(void *instance, const double *action, tce_env_result *out)
{
    double *s = ((point_via *)instance)->state;
    double force[2];
    double cost = 0.0;
    for (int i = 0; i < 2; i++) {
        force[i] = fmin(fmax(action[i], -MAX_FORCE), MAX_FORCE);
        cost += force[i] * force[i];
    }
    for (int sub = 0; sub < N_SUB; sub++)
        for (int i = 0; i < 2; i++) {
            s[V + i] += DT / N_SUB * force[i];
            s[Y + i] += DT / N_SUB * s[V + i];
        }

    out->reward = -ACTION_COST * cost;
    if (s[STEP] == VIA_STEP) {
        s[PASSED] = distance(s + Y, s + VIA);
        out->reward -= WEIGHT * s[PASSED] * s[PASSED];
    }
    if (s[STEP] >= N_STEPS) {
        const double rest = distance(s + Y, s + GOAL);
        out->reward -= WEIGHT * rest * rest + SPEED_COST * (s[V] * s[V] + s[V + 1] * s[V + 1]);
    }
}

static void metrics(const void *instance, double *out)
{
    const point_via *env = instance;
    const double *s = env->state;
    const double rest = distance(s + Y, s + GOAL);
    out[0] = s[STEP] >= N_STEPS && s[PASSED] < env->tolerance && rest < env->tolerance;
    out[1] = isfinite(s[PASSED]) ? s[PASSED] : distance(s + Y, s + VIA);
    out[2] = rest;
}

static size_t draw(const void *instance, flat_shape *out)
{
    const point_via *env = instance;
    const double *s = env->state;
    const flat_shape discs[] = {
        { { s[VIA], s[VIA + 1] },
          { s[VIA], s[VIA + 1] },
          env->tolerance,
          { 0.95, 0.62, 0.10 },
          0.35 },
        { { s[GOAL], s[GOAL + 1] },
          { s[GOAL], s[GOAL + 1] },
          env->tolerance,
          { 0.83, 0.15, 0.18 },
          0.35 },
        { { s[VIA], s[VIA + 1] }, { s[VIA], s[VIA + 1] }, 0.02, { 0.95, 0.62, 0.10 }, 1.0 },
        { { s[GOAL], s[GOAL + 1] }, { s[GOAL], s[GOAL + 1] }, 0.02, { 0.83, 0.15, 0.18 }, 1.0 },
        { { s[Y], s[Y + 1] }, { s[Y], s[Y + 1] }, 0.05, { 0.13, 0.42, 0.72 }, 1.0 },
    };
    memcpy(out, discs, sizeof discs);
    return sizeof discs / sizeof discs[0];
}

static const plain_task POINT_VIA = {
    PLAIN_STRUCT(point_via, STEP),
    .spec = { .n_obs = N_OBS,
              .n_dof = 2,
              .n_action = 2,
              .n_steps = N_STEPS,
              .n_metrics = 3,
              .n_context = 4,
              .dt = DT,
              .metric_names = METRICS,
              .context = CONTEXT,
              .action_low = ACTION_LOW,
              .action_high = ACTION_HIGH,
              .velocity_end = 4 },
    .option = &OPTION,
    .view = 1.35,
    .reset = reset,
    .observe = observe,
    .step = step,
    .control = control,
    .metrics = metrics,
    .draw = draw,
};

PLAIN_TASK(point_via,
           "point mass in the plane: pass a via-point at half time, rest at a goal at the end",
           &POINT_VIA, PLAIN_ACTIONS, PLAIN_PATHS, PLAIN_METRICS, PLAIN_PICTURE);
