/*
 * pendulum: a rod on a motor that is too weak to lift it at once has to be swung up and balanced.
 * The classic test of step-based methods, equal to Gymnasium's Pendulum-v1. Pure C, no simulator.
 *
 * Angle q, 0 when upright, speed w. A step of dt under a torque u = clip(a, -2, 2):
 *     reward = -(wrap(q)^2 + 0.1 w^2 + 0.001 u^2), wrap into [-pi, pi), of the state before,
 *     w <- clip(w + dt (3/2 g/l sin q + 3/(m l^2) u), -8, 8),   q <- q + dt w (the new w).
 * An episode starts at an angle and a speed drawn uniformly, and is cut after 200 steps.
 *
 * The option `grid` starts episodes on a grid of 10 angles by 5 speeds instead: number k = 5 i + j
 * at angle -pi + (i + 1/2) 2 pi / 10 and speed -0.8 + 0.4 j, where k is the sum of the two counters
 * of the reset's stream. Episodes 0 … 49 of an evaluation are the whole grid, each start once.
 */
#include <math.h>
#include <string.h>

#include "shared/flat_picture.h"
#include "shared/plain.h"
#include "tasks.h"

enum { N_STEPS = 200 };
enum { N_ANGLES = 10, N_SPEEDS = 5 };
enum { ANGLE, SPEED, STEP, N_STATE };
enum { N_OBS = 3 };

#define PI 3.14159265358979323846
#define DT 0.05
#define MAX_TORQUE 2.0
#define MAX_SPEED 8.0
#define GRAVITY 10.0
#define LENGTH 1.0
#define MASS 1.0
#define SPEED_COST 0.1
#define TORQUE_COST 0.001
/* of the grid */
#define FIRST_SPEED -0.8
#define SPEED_STEP 0.4

typedef struct pendulum {
    double state[N_STATE];
    int grid; /* option */
} pendulum;

static const double ACTION_LOW[] = { -MAX_TORQUE };
static const double ACTION_HIGH[] = { MAX_TORQUE };

static double clip(double x, double most)
{
    return fmin(fmax(x, -most), most);
}

/* Into [-pi, pi). */
static double wrap(double angle)
{
    double rest = fmod(angle + PI, 2.0 * PI);
    if (rest < 0.0)
        rest += 2.0 * PI;
    return rest - PI;
}

static tce_status create(void *user, const char *settings, void **out)
{
    static const task_option OPTION = TASK_FLAG(pendulum, grid, 0);
    const tce_status status = plain_create("pendulum", sizeof(pendulum), settings, &OPTION, out);
    (void)user;
    if (status == TCE_OK)
        ((pendulum *)*out)->state[STEP] = N_STEPS;
    return status;
}

static tce_status spec(void *instance, tce_env_spec *out)
{
    (void)instance;
    out->n_obs = N_OBS;
    out->n_action = 1;
    out->n_steps = N_STEPS;
    out->dt = DT;
    out->action_low = ACTION_LOW;
    out->action_high = ACTION_HIGH;
    return TCE_OK;
}

static void observe(const double *s, double *out)
{
    out[0] = cos(s[ANGLE]);
    out[1] = sin(s[ANGLE]);
    out[2] = s[SPEED];
}

static tce_status reset(void *instance, tce_random *random, double *out_obs, double *out_pos,
                        double *out_vel)
{
    (void)out_pos; /* no desired paths */
    (void)out_vel;
    pendulum *env = instance;
    double *s = env->state;
    if (env->grid) {
        const uint64_t k = (random->counter[1] + random->counter[2]) % (N_ANGLES * N_SPEEDS);
        s[ANGLE] = -PI + ((double)(k / N_SPEEDS) + 0.5) * 2.0 * PI / N_ANGLES;
        s[SPEED] = FIRST_SPEED + SPEED_STEP * (double)(k % N_SPEEDS);
    } else {
        s[ANGLE] = PI * (2.0 * tce_random_uniform(random) - 1.0);
        s[SPEED] = 2.0 * tce_random_uniform(random) - 1.0;
    }
    s[STEP] = 0.0;
    observe(s, out_obs);
    return TCE_OK;
}

static tce_status step_action(void *instance, const double *action, double *out_obs,
                              tce_env_result *out)
{
    double *s = ((pendulum *)instance)->state;
    const tce_status status = task_check_running("pendulum", s[STEP] >= N_STEPS);
    if (status != TCE_OK)
        return status;
    const double u = clip(action[0], MAX_TORQUE), q = wrap(s[ANGLE]), w = s[SPEED];
    const double pull = 1.5 * GRAVITY / LENGTH * sin(s[ANGLE]);
    const double push = 3.0 / (MASS * LENGTH * LENGTH) * u;

    memset(out, 0, sizeof *out);
    out->reward = -(q * q + SPEED_COST * w * w + TORQUE_COST * u * u);
    s[SPEED] = clip(w + (pull + push) * DT, MAX_SPEED);
    s[ANGLE] += s[SPEED] * DT;
    s[STEP] += 1.0;
    out->truncated = s[STEP] >= N_STEPS;
    observe(s, out_obs);
    return TCE_OK;
}

PLAIN_STATE(pendulum)

static tce_status set_state(void *instance, const double *state, double *out_obs)
{
    double *s = ((pendulum *)instance)->state;
    memcpy(s, state, N_STATE * sizeof *s);
    observe(s, out_obs);
    return TCE_OK;
}

static tce_status render(void *instance, int32_t width, int32_t height, uint8_t *rgb)
{
    const double *s = ((const pendulum *)instance)->state;
    const double x = -LENGTH * sin(s[ANGLE]), y = LENGTH * cos(s[ANGLE]);
    const flat_shape shapes[] = {
        { { 0.0, LENGTH }, { 0.0, LENGTH }, 0.16, { 0.83, 0.15, 0.18 }, 0.35 },
        { { 0.0, 0.0 }, { x, y }, 0.08, { 0.13, 0.42, 0.72 }, 1.0 },
        { { 0.0, 0.0 }, { 0.0, 0.0 }, 0.04, { 0.25, 0.25, 0.28 }, 1.0 },
    };
    flat_picture_draw(sizeof shapes / sizeof shapes[0], shapes, 1.35 * LENGTH, width, height, rgb);
    return TCE_OK;
}

const tce_env_vtable TASK_pendulum = {
    PLAIN_ENTRIES,
    .name = "pendulum",
    .description = "swing a rod up and balance it, by its torque alone (Gymnasium's Pendulum-v1)",
    .render = render,
};
