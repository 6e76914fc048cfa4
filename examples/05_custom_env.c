/*
 * Your own environment: a table of four functions, learnt by searching over movements.   Run: make check-examples
 *
 * A cart has to stand at a drawn goal after one second. The policy's mean learns the goal parameter from returns alone, with TCE's policy, trust
 * region and surrogate on the parameters' likelihood (BBRL); `tce train` does the same with settings, checkpoints and curves.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tce/tce.h>

enum { E = 32, T = 50, B = 3, P = B + 1 };

typedef struct cart {
    double y, v, goal;
    int step;
} cart;

static tce_status cart_create(void *user, const char *settings, void **out)
{
    (void)user, (void)settings;
    *out = calloc(1, sizeof(cart));
    return *out ? TCE_OK : tce_fail(TCE_E_NOMEM, "no memory for a cart");
}

static tce_status cart_spec(void *env, tce_env_spec *out)
{
    (void)env;
    out->n_obs = 3, out->n_dof = 1, out->n_steps = T, out->dt = 0.02;
    return TCE_OK;
}

static tce_status cart_reset(void *env, tce_random *random, double *obs, double *pos, double *vel)
{
    cart *c = env;
    *c = (cart){ .goal = 2.0 * tce_random_uniform(random) - 1.0 };
    obs[0] = c->y, obs[1] = c->v, obs[2] = c->goal;
    *pos = *vel = 0.0;
    return TCE_OK;
}

static tce_status cart_step(void *env, const double *pos, const double *vel, double *obs, tce_env_result *out)
{
    cart *c = env;
    c->v += 0.02 * (200.0 * (*pos - c->y) + 28.0 * (*vel - c->v)); /* its controller */
    c->y += 0.02 * c->v;
    memset(out, 0, sizeof *out);
    out->truncated = ++c->step == T;
    out->reward = out->truncated ? -(c->y - c->goal) * (c->y - c->goal) : 0.0;
    obs[0] = c->y, obs[1] = c->v, obs[2] = c->goal;
    return TCE_OK;
}

static const tce_env_vtable CART = { .struct_size = sizeof CART, .abi = TCE_ENV_ABI, .name = "cart", .description = "a cart and a goal",
    .create = cart_create, .destroy = free, .spec = cart_spec, .reset = cart_reset, .step = cart_step };

static void check(tce_status status)
{
    if (status != TCE_OK) {
        fprintf(stderr, "%s: %s\n", tce_status_name(status), tce_error_message());
        exit(EXIT_FAILURE);
    }
}

static double obs[E * 3], init_pos[E], init_vel[E], mean[E * P], L[P * P], old_mean[E * P], old_L[P * P], d_mean[E * P], d_L[P * P];
static double params[E * P], pos[E * T], vel[E * T], rewards[E * T], gain[E], log_prob[E], old_log_prob[E], d_log_prob[E], work[E * P * 4 + P * P * 2];

int main(void)
{
    tce_rollout *rollout = NULL;
    tce_rollout_options ro;
    tce_rollout_options_init(&ro, sizeof ro);
    ro.vtable = &CART, ro.n_envs = E, ro.seed = 1;
    check(tce_rollout_create(&ro, NULL, &rollout));
    tce_mp *mp = NULL;
    tce_mp_options mo;
    tce_mp_options_init(&mo, sizeof mo);
    mo.num_basis = B, mo.dt = 0.02, mo.weights_scale = 0.1;
    check(tce_mp_create(&mo, NULL, &mp));
    tce_policy *policy = NULL;
    tce_policy_options po;
    tce_policy_options_init(&po, sizeof po);
    po.n_obs = 3, po.n_params = P, po.max_batch = E;
    check(tce_policy_create(&po, NULL, &policy));
    tce_trpl *trpl = NULL;
    tce_trpl_options to;
    tce_trpl_options_init(&to, sizeof to);
    to.dim = P, to.max_batch = E, to.cov_bound = 0.01;
    check(tce_trpl_create(&to, NULL, &trpl));
    tce_adam_options adam;
    tce_adam_options_init(&adam, sizeof adam);
    adam.learning_rate = 3e-3;
    tce_random random;
    tce_random_start(&random, 1, 1, 0, 0);
    check(tce_policy_start(policy, &random));

    double times[T], start = 0.0, first = 0.0, last = 0.0;
    for (int t = 0; t < T; t++)
        times[t] = 0.02 * (t + 1);
    tce_mp_grid grid = { sizeof grid, E, T, 1, 1, times, &start, init_pos, init_vel };
    tce_rollout_paths paths;
    tce_rollout_paths_init(&paths, sizeof paths);
    paths.rewards = rewards;
    tce_segment_stats stats;
    tce_segment_stats_init(&stats, sizeof stats);

    for (int i = 0; i < 150; i++) {
        /* episodes: context -> parameters -> path -> return */
        check(tce_rollout_reset(rollout, E, (uint64_t)i, obs, init_pos, init_vel));
        check(tce_policy_predict(policy, E, obs, old_mean, old_L));
        check(tce_mp_sample(mp, &grid, old_mean, old_L, &random, params, pos, vel));
        check(tce_rollout_run(rollout, E, T, pos, vel, &paths));
        last = 0.0;
        for (int e = 0; e < E; e++)
            last += (gain[e] = rewards[e * T + T - 1]) / E;
        first = i == 0 ? last : first;
        tce_normalise(E, NULL, gain);
        check(tce_gauss_log_prob(E, P, 1, params, old_mean, old_L, work, old_log_prob));

        /* update inside the trust region */
        for (int epoch = 0; epoch < 10; epoch++) {
            double loss;
            check(tce_policy_predict(policy, E, obs, mean, L));
            check(tce_trpl_project(trpl, E, mean, L, old_mean, old_L, 0.0, d_mean, d_L));
            check(tce_gauss_log_prob(E, P, 1, params, d_mean, d_L, work, log_prob));
            check(tce_surrogate(E, log_prob, old_log_prob, gain, NULL, 0.0, &stats, d_log_prob));
            check(tce_gauss_log_prob_backward(E, P, 1, params, d_mean, d_L, d_log_prob, work, NULL, d_mean, d_L));
            check(tce_trpl_backward(trpl, E, d_mean, d_L, d_mean, d_L));
            check(tce_trpl_regression(trpl, E, mean, L, 1.0, 1, &loss, d_mean, d_L));
            check(tce_policy_backward(policy, E, d_mean, d_L));
            check(tce_policy_adam_step(policy, &adam, 1.0, 0.0, NULL));
        }
        if (i % 25 == 0 || i == 149)
            printf("iteration %3d  mean return %8.4f\n", i, last);
    }
    tce_policy_free(policy);
    tce_trpl_free(trpl);
    tce_mp_free(mp);
    tce_rollout_free(rollout);
    return last > 0.5 * first ? EXIT_SUCCESS : EXIT_FAILURE; /* at least halved the loss */
}
