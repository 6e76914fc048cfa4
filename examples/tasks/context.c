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
    double state[N_STATE];
    int grid; /* option */
} context;

static const double ACTION_LOW[] = { -1.0, -1.0, -1.0, -1.0 };
static const double ACTION_HIGH[] = { 1.0, 1.0, 1.0, 1.0 };

static tce_status create(void *user, const char *settings, void **out)
{
    static const task_option OPTION = TASK_FLAG(context, grid, 0);
    const tce_status status = plain_create("context", sizeof(context), settings, &OPTION, out);
    (void)user;
    if (status == TCE_OK)
        ((context *)*out)->state[STEP] = N_STEPS;
    return status;
}

static tce_status spec(void *instance, tce_env_spec *out)
{
    (void)instance;
    out->n_obs = N_OBS;
    out->n_action = N_ACTION;
    out->n_steps = N_STEPS;
    out->dt = 1.0;
    out->action_low = ACTION_LOW;
    out->action_high = ACTION_HIGH;
    return TCE_OK;
}

static tce_status reset(void *instance, tce_random *random, double *out_obs, double *out_pos,
                        double *out_vel)
{
    (void)out_pos; /* no desired paths */
    (void)out_vel;
    context *env = instance;
    double *s = env->state;
    const uint64_t k = (random->counter[1] + random->counter[2]) % (GRID_SIDE * GRID_SIDE);
    const uint64_t place[N_OBS] = { k / GRID_SIDE, k % GRID_SIDE };
    for (int i = 0; i < N_OBS; i++)
        s[C + i] = env->grid ? FIRST + SPACING * (double)place[i]
                             : 2.0 * tce_random_uniform(random) - 1.0;
    s[STEP] = 0.0;
    memcpy(out_obs, s + C, N_OBS * sizeof *s);
    return TCE_OK;
}

static tce_status step_action(void *instance, const double *action, double *out_obs,
                              tce_env_result *out)
{
    double *s = ((context *)instance)->state;
    const double *c = s + C;
    const tce_status status = task_check_running("context", s[STEP] >= N_STEPS);
    if (status != TCE_OK)
        return status;
    const double best[N_ACTION] = { 2.0 * c[0], 2.0 * c[1], 2.0 * c[0] * c[1], 1.0 - c[0] * c[0] };

    memset(out, 0, sizeof *out);
    for (int i = 0; i < N_ACTION; i++) {
        const double miss = SCALE * fmin(fmax(action[i], -1.0), 1.0) - best[i];
        out->reward -= miss * miss;
    }
    s[STEP] += 1.0;
    out->terminated = 1;
    memcpy(out_obs, c, N_OBS * sizeof *c);
    return TCE_OK;
}

PLAIN_STATE(context)

static tce_status set_state(void *instance, const double *state, double *out_obs)
{
    double *s = ((context *)instance)->state;
    memcpy(s, state, N_STATE * sizeof *s);
    memcpy(out_obs, s + C, N_OBS * sizeof *s);
    return TCE_OK;
}

const tce_env_vtable TASK_context = {
    PLAIN_ENTRIES,
    .name = "context",
    .description = "one step: the best of four parameters for a context of two numbers",
};
