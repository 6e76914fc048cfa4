/*
 * Forty iterations of TCE from the library's handles: the return rises.   Run: make check-examples
 *
 * The movement itself is the task: one joint has to stay near a random goal. Each block below is a
 * step of the algorithm; `tce train` adds environments, schedules, evaluation and files.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tce/tce.h>

enum {
    E = 32,
    T = 50,
    K = 10,
    B = 3,
    P = B + 1,
    O = 3,
    MAX_J = T,
    N_ITERATIONS = 40,
    N_EPOCHS = 20
};
#define DT 0.02
#define GAMMA 1.0
#define LAMBDA 0.95

typedef struct learner {
    tce_mp *mp;
    tce_policy *policy;
    tce_net *critic;
    tce_normaliser *normaliser;
    tce_trpl *trpl;
    tce_segment *segment;
    tce_random random;
} learner;

static void check(tce_status status)
{
    if (status != TCE_OK) {
        fprintf(stderr, "%s: %s\n", tce_status_name(status), tce_error_message());
        exit(EXIT_FAILURE);
    }
}

static void create(learner *l)
{
    tce_random_start(&l->random, 1, 0, 0, 0);
    tce_mp_options mp;
    tce_mp_options_init(&mp, sizeof mp);
    mp.n_basis = B, mp.dt = DT, mp.weights_scale = 0.1;
    check(tce_mp_create(&mp, NULL, &l->mp));

    /* the policy sees the goal, the critic also time and position */
    tce_policy_options policy;
    tce_policy_options_init(&policy, sizeof policy);
    policy.n_dims = P, policy.max_batch = E;
    check(tce_policy_create(&policy, NULL, &l->policy));
    check(tce_policy_start(l->policy, &l->random));
    tce_net_options critic;
    tce_net_options_init(&critic, sizeof critic);
    const int32_t hidden[2] = { 32, 32 };
    critic.n_in = O, critic.max_batch = E * (T + 1), critic.hidden = hidden;
    check(tce_net_create(&critic, NULL, &l->critic));
    check(tce_net_start(l->critic, &l->random));
    tce_normaliser_options normaliser;
    tce_normaliser_options_init(&normaliser, sizeof normaliser);
    normaliser.n_columns = O;
    check(tce_normaliser_create(&normaliser, NULL, &l->normaliser));

    tce_trpl_options trpl;
    tce_trpl_options_init(&trpl, sizeof trpl);
    trpl.dim = P, trpl.max_batch = E;
    check(tce_trpl_create(&trpl, NULL, &l->trpl));
    tce_segment_options segment;
    tce_segment_options_init(&segment, sizeof segment);
    segment.mp = l->mp, segment.max_episodes = E, segment.max_steps = T, segment.max_pairs = MAX_J;
    check(tce_segment_create(&segment, NULL, &l->segment));
}

static void destroy(learner *l)
{
    tce_segment_free(l->segment);
    tce_trpl_free(l->trpl);
    tce_normaliser_free(l->normaliser);
    tce_net_free(l->critic);
    tce_policy_free(l->policy);
    tce_mp_free(l->mp);
}

/* arrays of an iteration; the factors are shared by all contexts */
static double goal[E], mean[E * P], L[P * P], old_mean[E * P], old_L[P * P], near_mean[E * P],
    near_L[P * P], d_mean[E * P], d_L[P * P];
static double params[E * P], times[T], pos[E * T], vel[E * T], obs[E * (T + 1) * O], rewards[E * T],
    values[E * (T + 1)], returns[E * T];
static double inputs[E * T * O], advantages[E * MAX_J], old_log_prob[E * MAX_J];
static uint8_t dones[E * T];

/* one iteration; returns the mean return of its episodes */
static double iterate(learner *l)
{
    /* 1: goals -> Gaussians -> movements -> rewards; row t of obs is what is known before step t */
    for (int e = 0; e < E; e++)
        goal[e] = 2.0 * tce_random_uniform(&l->random) - 1.0;
    tce_mp_grid grid = TCE_INIT(tce_mp_grid);
    grid.E = E, grid.T = T, grid.times = times;
    check(tce_policy_predict(l->policy, E, goal, old_mean, old_L));
    tce_gauss policy = TCE_INIT(tce_gauss);
    policy.n = E, policy.dim = P, policy.n_scales = 1, policy.mean = old_mean, policy.scale = old_L;
    tce_random_normals(&l->random, E * P, params);
    check(tce_gauss_sample(&policy, params, params));
    check(tce_mp_trajectory(l->mp, &grid, params, pos, vel, NULL));
    double sum = 0.0;
    for (int e = 0; e < E; e++) {
        for (int t = 0; t <= T; t++) {
            double *o = obs + (e * (T + 1) + t) * O;
            o[0] = goal[e], o[1] = t * DT, o[2] = t == 0 ? 0.0 : pos[e * T + t - 1];
        }
        for (int t = 0; t < T; t++) {
            const double distance = pos[e * T + t] - goal[e];
            rewards[e * T + t] = -distance * distance;
            dones[e * T + t] = t == T - 1;
            sum += rewards[e * T + t];
        }
    }

    /* 2, 3: values of all states, normalised, and returns of all steps */
    check(tce_normaliser_update(l->normaliser, E * (T + 1), obs, NULL));
    check(tce_normaliser_apply(l->normaliser, E * (T + 1), obs, obs));
    check(tce_net_forward(l->critic, E * (T + 1), obs, values));
    for (int e = 0; e < E; e++)
        memcpy(inputs + e * T * O, obs + e * (T + 1) * O, T * O * sizeof *obs);
    check(tce_returns_gae(E, T, rewards, values, dones, GAMMA, LAMBDA, NULL, returns));

    /* 4, 5: segments and their advantages */
    int32_t pairs[2 * MAX_J];
    size_t J;
    const double start = 0.0;
    check(tce_segment_choose_pairs(TCE_SEGMENT_POINTS_INTERVAL, T, K, 0, &l->random, pairs, &J));
    tce_segment_steps steps = TCE_INIT(tce_segment_steps);
    steps.E = E, steps.T = T, steps.J = J, steps.kind = TCE_SEGMENT_VALUE, steps.normalise = 1;
    steps.gamma = GAMMA, steps.rewards = rewards, steps.values = values, steps.pairs = pairs;
    steps.out_advantages = advantages;
    check(tce_segment_advantage(&steps));

    /* 6: how likely the old policy made them */
    check(tce_segment_set_pairs(l->segment, 1, T, times, &start, J, pairs));
    tce_segment_paths paths = TCE_INIT(tce_segment_paths);
    paths.E = E, paths.positions = pos, paths.mean = old_mean, paths.L = old_L;
    paths.out_log_prob = old_log_prob;
    check(tce_segment_log_prob(l->segment, &paths));

    /* 7: critic and policy learn, the policy inside its trust region */
    tce_adam_options adam;
    tce_adam_options_init(&adam, sizeof adam);
    adam.learning_rate = 3e-3;
    for (int epoch = 0; epoch < N_EPOCHS; epoch++) {
        check(tce_net_pass_mse(l->critic, E * T, inputs, returns, NULL, NULL));
        check(tce_net_adam_step(l->critic, &adam));
    }
    const tce_trpl_bounds bounds = { sizeof bounds, 0.05, 0.01, 0.0 };
    paths.mean = near_mean;
    paths.L = near_L;
    paths.log_prob_old = old_log_prob;
    paths.advantages = advantages;
    paths.out_log_prob = NULL;
    paths.out_d_mean = d_mean;
    paths.out_d_L = d_L;
    for (int epoch = 0; epoch < N_EPOCHS; epoch++) {
        double trust_loss;
        check(tce_policy_predict(l->policy, E, goal, mean, L));
        check(tce_trpl_project(l->trpl, E, mean, L, old_mean, old_L, &bounds, near_mean, near_L));
        check(tce_segment_surrogate(l->segment, &paths, NULL));
        check(tce_trpl_backward(l->trpl, E, d_mean, d_L, d_mean, d_L));
        check(tce_trpl_regression_add(l->trpl, E, mean, L, 1.0, 1, &trust_loss, d_mean, d_L));
        check(tce_policy_backward(l->policy, E, d_mean, d_L));
        check(tce_policy_adam_step(l->policy, &adam));
    }
    return sum / E;
}

int main(void)
{
    learner l = { 0 };
    tce_blas_set_threads(1); /* the fastest for matrices of this size */
    create(&l);
    for (int t = 0; t < T; t++)
        times[t] = DT * (t + 1);
    double first = 0.0, last = 0.0;
    for (int i = 1; i <= N_ITERATIONS; i++) {
        last = iterate(&l);
        first = i == 1 ? last : first;
        if (i == 1 || i % 10 == 0)
            printf("iteration %2d  mean return %8.3f\n", i, last);
    }
    destroy(&l);
    /* returns are negative: at least halved */
    return last > 0.5 * first ? EXIT_SUCCESS : EXIT_FAILURE;
}
