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

#include "shared/flat_picture.h"
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
    double state[N_STATE];
    double tolerance;
} point_via;

static const char *const METRICS[] = { "success", "via_distance", "goal_distance" };
static const double ACTION_LOW[] = { -MAX_FORCE, -MAX_FORCE };
static const double ACTION_HIGH[] = { MAX_FORCE, MAX_FORCE };
/* via-point and goal: all that changes between episodes */
static const int32_t CONTEXT[] = { 4, 5, 6, 7 };

static double distance(const double *a, const double *b)
{
    return hypot(a[0] - b[0], a[1] - b[1]);
}

static tce_status create(void *user, const char *settings, void **out)
{
    static const task_option OPTION = TASK_NUMBER(point_via, tolerance, 0.1, 1e-6, 10.0);
    const tce_status status = plain_create("point_via", sizeof(point_via), settings, &OPTION, out);
    (void)user;
    if (status == TCE_OK)
        ((point_via *)*out)->state[STEP] = N_STEPS;
    return status;
}

static tce_status spec(void *instance, tce_env_spec *out)
{
    (void)instance;
    out->n_obs = N_OBS;
    out->n_dof = 2;
    out->n_action = 2;
    out->n_steps = N_STEPS;
    out->n_metrics = 3;
    out->n_context = 4;
    out->dt = DT;
    out->metric_names = METRICS;
    out->context = CONTEXT;
    out->action_low = ACTION_LOW;
    out->action_high = ACTION_HIGH;
    out->velocity_end = 4;
    return TCE_OK;
}

/* The mass starts at rest in the origin; via-point to one side, goal farther out, both drawn. */
static tce_status reset(void *instance, tce_random *random, double *out_obs, double *out_pos,
                        double *out_vel)
{
    double *s = ((point_via *)instance)->state;
    memset(s, 0, N_STATE * sizeof *s);
    for (int i = 0; i < 2; i++) {
        s[VIA + i] = 2.0 * tce_random_uniform(random) - 1.0;
        s[GOAL + i] = 2.0 * tce_random_uniform(random) - 1.0;
    }
    s[PASSED] = INFINITY;
    memcpy(out_obs, s, N_OBS * sizeof *s);
    memset(out_pos, 0, 2 * sizeof *out_pos);
    memset(out_vel, 0, 2 * sizeof *out_vel);
    return TCE_OK;
}

/* Integrates one step with a force held over it, and pays for it. */
static tce_status step_action(void *instance, const double *action, double *out_obs,
                              tce_env_result *out)
{
    double *s = ((point_via *)instance)->state;
    double force[2];
    double cost = 0.0;
    const tce_status status = task_check_running("point_via", s[STEP] >= N_STEPS);
    if (status != TCE_OK)
        return status;
    for (int i = 0; i < 2; i++) {
        force[i] = fmin(fmax(action[i], -MAX_FORCE), MAX_FORCE);
        cost += force[i] * force[i];
    }
    for (int sub = 0; sub < N_SUB; sub++)
        for (int i = 0; i < 2; i++) {
            s[V + i] += DT / N_SUB * force[i];
            s[Y + i] += DT / N_SUB * s[V + i];
        }
    s[STEP] += 1.0;

    memset(out, 0, sizeof *out);
    out->reward = -ACTION_COST * cost;
    if (s[STEP] == VIA_STEP) {
        s[PASSED] = distance(s + Y, s + VIA);
        out->reward -= WEIGHT * s[PASSED] * s[PASSED];
    }
    if (s[STEP] >= N_STEPS) {
        const double rest = distance(s + Y, s + GOAL);
        out->reward -= WEIGHT * rest * rest + SPEED_COST * (s[V] * s[V] + s[V + 1] * s[V + 1]);
        out->truncated = 1;
    }
    memcpy(out_obs, s, N_OBS * sizeof *s);
    return TCE_OK;
}

static tce_status step(void *instance, const double *pos, const double *vel, double *out_obs,
                       tce_env_result *out)
{
    const double *s = ((const point_via *)instance)->state;
    double force[2];
    for (int i = 0; i < 2; i++)
        force[i] = KP * (pos[i] - s[Y + i]) + KD * (vel[i] - s[V + i]);
    return step_action(instance, force, out_obs, out);
}

static tce_status metrics(void *instance, double *out)
{
    const point_via *env = instance;
    const double *s = env->state;
    const double rest = distance(s + Y, s + GOAL);
    out[0] = s[STEP] >= N_STEPS && s[PASSED] < env->tolerance && rest < env->tolerance;
    out[1] = isfinite(s[PASSED]) ? s[PASSED] : distance(s + Y, s + VIA);
    out[2] = rest;
    return TCE_OK;
}

PLAIN_STATE(point_via)

static tce_status set_state(void *instance, const double *state, double *out_obs)
{
    memcpy(((point_via *)instance)->state, state, N_STATE * sizeof *state);
    memcpy(out_obs, state, N_OBS * sizeof *state);
    return TCE_OK;
}

/* Half the height of what is in view. */
#define VIEW 1.35

static tce_status render(void *instance, int32_t width, int32_t height, uint8_t *rgb)
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
    flat_picture_draw(sizeof discs / sizeof discs[0], discs, VIEW, width, height, rgb);
    return TCE_OK;
}

const tce_env_vtable TASK_point_via = {
    PLAIN_ENTRIES,
    .name = "point_via",
    .description =
        "point mass in the plane: pass a via-point at half time, rest at a goal at the end",
    .step = step,
    .metrics = metrics,
    .render = render,
};
