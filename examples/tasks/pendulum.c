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
    plain_env base;
    double state[N_STATE];
    int grid; /* option */
} pendulum;

static const double ACTION_LOW[] = { -MAX_TORQUE };
static const double ACTION_HIGH[] = { MAX_TORQUE };
static const task_option OPTION = TASK_FLAG(pendulum, grid, 0);

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

static void reset(void *instance, tce_random *random)
{
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
}

static void observe(const void *instance, double *out)
{
    const double *s = ((const pendulum *)instance)->state;
    out[0] = cos(s[ANGLE]);
    out[1] = sin(s[ANGLE]);
    out[2] = s[SPEED];
}

static void step(void *instance, const double *action, tce_env_result *out)
{
    double *s = ((pendulum *)instance)->state;
    const double u = clip(action[0], MAX_TORQUE), q = wrap(s[ANGLE]), w = s[SPEED];
    const double pull = 1.5 * GRAVITY / LENGTH * sin(s[ANGLE]);
    const double push = 3.0 / (MASS * LENGTH * LENGTH) * u;

    out->reward = -(q * q + SPEED_COST * w * w + TORQUE_COST * u * u);
    s[SPEED] = clip(w + (pull + push) * DT, MAX_SPEED);
    s[ANGLE] += s[SPEED] * DT;
}

static size_t draw(const void *instance, flat_shape *out)
{
    const double *s = ((const pendulum *)instance)->state;
    const double x = -LENGTH * sin(s[ANGLE]), y = LENGTH * cos(s[ANGLE]);
    const flat_shape shapes[] = {
        { { 0.0, LENGTH }, { 0.0, LENGTH }, 0.16, { 0.83, 0.15, 0.18 }, 0.35 },
        { { 0.0, 0.0 }, { x, y }, 0.08, { 0.13, 0.42, 0.72 }, 1.0 },
        { { 0.0, 0.0 }, { 0.0, 0.0 }, 0.04, { 0.25, 0.25, 0.28 }, 1.0 },
    };
    memcpy(out, shapes, sizeof shapes);
    return sizeof shapes / sizeof shapes[0];
}

static const plain_task PENDULUM = {
    PLAIN_STRUCT(pendulum, STEP),
    .spec = { .n_obs = N_OBS,
              .n_action = 1,
              .n_steps = N_STEPS,
              .dt = DT,
              .action_low = ACTION_LOW,
              .action_high = ACTION_HIGH },
    .option = &OPTION,
    .view = 1.35 * LENGTH,
    .reset = reset,
    .observe = observe,
    .step = step,
    .draw = draw,
};

PLAIN_TASK(pendulum, "swing a rod up and balance it, by its torque alone (Gymnasium's Pendulum-v1)",
           &PENDULUM, PLAIN_ACTIONS, PLAIN_PICTURE);
