/*
 * Your own environment as a table of functions: after one second, a cart has to be at a random
 * goal. Run: make check-examples. As a task library, to check it and to train on it:
 *     cc -shared -fPIC -Iinclude -o cart.so examples/03_custom_env.c && tce tasks --check ./cart.so
 *     tce train point_via/bbrl --task-library ./cart.so task.name=cart
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <tce/tce.h>

enum { T = 50 };               /* steps per episode */
static const double DT = 0.02; /* seconds per step */

typedef struct cart {
    double y, v, goal; /* what is observed, in this order */
    int left;          /* steps until the end; 0: no episode */
} cart;

static tce_status cart_create(void *user, const char *settings, void **out)
{
    (void)user, (void)settings;
    *out = calloc(1, sizeof(cart));
    return *out ? TCE_OK : tce_fail(TCE_E_NOMEM, "no memory for a cart");
}

static tce_status cart_spec(void *instance, tce_env_spec *out)
{
    static const char *const METRICS[] = { "success" };
    (void)instance;
    out->n_obs = 3, out->n_dof = 1, out->n_steps = T, out->dt = DT;
    return out->n_metrics = 1, out->metric_names = METRICS, TCE_OK;
}

/* a new episode: what is observed, and where desired paths start */
static tce_status cart_reset(void *at, tce_random *random, double *obs, double *pos, double *vel)
{
    cart *c = at;
    *c = (cart){ .goal = 2.0 * tce_random_uniform(random) - 1.0, .left = T };
    return obs[0] = c->y, obs[1] = c->v, obs[2] = c->goal, *pos = *vel = 0.0, TCE_OK;
}

/* one step, in which the cart's own controller tracks a desired position and velocity */
static tce_status cart_step(void *at, const double *pos, const double *vel, double *obs,
                            tce_env_result *out)
{
    cart *c = at;
    if (c->left == 0)
        return tce_fail(TCE_E_STATE, "no episode: reset the cart");
    c->v += DT * (200.0 * (*pos - c->y) + 28.0 * (*vel - c->v));
    c->y += DT * c->v;
    out->truncated = --c->left == 0;
    out->reward = out->truncated ? -(c->y - c->goal) * (c->y - c->goal) : 0.0;
    obs[0] = c->y, obs[1] = c->v, obs[2] = c->goal;
    return TCE_OK;
}

static tce_status cart_metrics(void *at, double *out)
{
    const cart *c = at;
    return *out = c->left == 0 && fabs(c->y - c->goal) < 0.05, TCE_OK;
}

/* clang-format off */
static const tce_env_vtable CART = {
    .struct_size = sizeof CART, .abi = TCE_ENV_ABI, .name = "cart", .description = "cart, goal",
    .create = cart_create, .destroy = free, .spec = cart_spec, .reset = cart_reset,
    .step = cart_step, .metrics = cart_metrics };
/* clang-format on */

/* what a task library exports */
TCE_API const tce_env_vtable *const *tce_tasks(int32_t *abi, size_t *n)
{
    static const tce_env_vtable *const TASKS[] = { &CART };
    return *abi = TCE_ENV_ABI, *n = 1, TASKS;
}

static void check(tce_status status)
{
    if (status != TCE_OK)
        fprintf(stderr, "%s\n", tce_error_message()), exit(EXIT_FAILURE);
}

int main(void)
{
    double obs[3], pos[T], vel[T] = { 0 }, rewards[T], success;
    const tce_rollout_paths paths = { sizeof paths, .rewards = rewards, .metrics = &success };
    const tce_rollout_options options = { sizeof options, .vtable = &CART, .n_envs = 1 };
    tce_rollout *rollout;
    check(tce_rollout_create(&options, NULL, &rollout));
    check(tce_rollout_reset(rollout, 1, 0, obs, NULL, NULL));
    for (int t = 0; t < T; t++)
        pos[t] = obs[2]; /* at the goal from the first step on; a policy would have to learn this */
    check(tce_rollout_run(rollout, 1, T, pos, vel, &paths));
    printf("goal %.3f, last reward %.2e, success %g\n", obs[2], rewards[T - 1], success);
    tce_rollout_free(rollout);
    return success == 1.0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
