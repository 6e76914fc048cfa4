/*
 * context: one action for a context, which is all of an episode: the smallest task with an optimum
 * that depends on what is seen. Pure C, no simulator.
 *
 * Context c uniform in [-1, 1]^2; action a in [-1, 1]^4, clipped; w = 3 a. The best parameters are
 *     w*(c) = (2 c_1, 2 c_2, 2 c_1 c_2, 1 - c_1^2),   and the reward is -|w - w*(c)|^2.
 * The episode terminates after its one step.
 *
 * The option `grid` starts episodes on a grid of 7 by 7 contexts instead, 0.3 apart in
 * [-0.9, 0.9]^2: number k = 7 i + j at (-0.9 + 0.3 i, -0.9 + 0.3 j), where k is the sum of the two
 * counters of the reset's stream. Episodes 0 … 48 of an evaluation are the whole grid.
 */
#include <math.h>
#include <string.h>

#include "shared/plain.h"
#include "tasks.h"

enum { N_OBS = 2, N_ACTION = 4, N_STEPS = 1 };
enum { GRID_SIDE = 7 };
enum { C = 0, STEP = N_OBS, N_STATE };

#define SCALE 3.0
/* of the grid */
#define FIRST -0.9
#define SPACING 0.3

typedef struct context {
    plain_env base;
    double state[N_STATE];
    int grid; /* option */
} context;

static const double ACTION_LOW[] = { -1.0, -1.0, -1.0, -1.0 };
static const double ACTION_HIGH[] = { 1.0, 1.0, 1.0, 1.0 };

static const task_option OPTION = TASK_FLAG(context, grid, 0);

static void reset(void *instance, tce_random *random)
{
    context *env = instance;
    const uint64_t k = (random->counter[1] + random->counter[2]) % (GRID_SIDE * GRID_SIDE);
    const uint64_t place[N_OBS] = { k / GRID_SIDE, k % GRID_SIDE };
    for (int i = 0; i < N_OBS; i++)
        env->state[C + i] = env->grid ? FIRST + SPACING * (double)place[i]
                                      : 2.0 * tce_random_uniform(random) - 1.0;
}

static void observe(const void *instance, double *out)
{
    memcpy(out, ((const context *)instance)->state + C, N_OBS * sizeof *out);
}

static void step(void *instance, const double *action, tce_env_result *out)
{
    const double *c = ((const context *)instance)->state + C;
    const double best[N_ACTION] = { 2.0 * c[0], 2.0 * c[1], 2.0 * c[0] * c[1], 1.0 - c[0] * c[0] };
    for (int i = 0; i < N_ACTION; i++) {
        const double miss = SCALE * fmin(fmax(action[i], -1.0), 1.0) - best[i];
        out->reward -= miss * miss;
    }
    out->terminated = 1;
    out->truncated = 0;
}

static const plain_task CONTEXT = {
    PLAIN_STRUCT(context, STEP),
    .spec = { .n_obs = N_OBS,
              .n_action = N_ACTION,
              .n_steps = N_STEPS,
              .dt = 1.0,
              .action_low = ACTION_LOW,
              .action_high = ACTION_HIGH },
    .option = &OPTION,
    .reset = reset,
    .observe = observe,
    .step = step,
};

PLAIN_TASK(context, "one step: the best of four parameters for a context of two numbers", &CONTEXT,
           PLAIN_ACTIONS);
