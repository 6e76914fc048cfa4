/*
 * Which segments of movements were good, how likely they were, and the gradient of TCE's objective.
 * Run: make check-examples
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <tce/gauss.h>
#include <tce/segment.h>

enum { E = 16, T = 50, K = 10, D = 2, B = 4, P = D * (B + 1), MAX_J = T };

static void check(tce_status status)
{
    if (status != TCE_OK) {
        fprintf(stderr, "%s: %s\n", tce_status_name(status), tce_error_message());
        exit(EXIT_FAILURE);
    }
}

static double mean[E * P], L[P * P], params[E * P], pos[E * T * D], vel[E * T * D], times[T],
    rewards[E * T];
static double advantages[E * MAX_J], log_prob[E * MAX_J], d_mean[E * P], d_L[P * P];

int main(void)
{
    tce_mp_options mp_options;
    tce_mp *mp = NULL;
    tce_mp_options_init(&mp_options, sizeof mp_options);
    mp_options.n_dof = D;
    mp_options.n_basis = B;
    mp_options.dt = 0.02;
    check(tce_mp_create(&mp_options, NULL, &mp));

    /* E movements drawn from one Gaussian; the first joint should be at 1 at all times */
    tce_random random;
    tce_random_start(&random, 1, 0, 0, 0);
    for (int i = 0; i < P; i++)
        L[i * P + i] = 0.5;
    for (int t = 0; t < T; t++)
        times[t] = 0.02 * (t + 1);
    tce_mp_grid grid = TCE_INIT(tce_mp_grid);
    grid.E = E, grid.T = T, grid.times = times;
    tce_gauss policy = TCE_INIT(tce_gauss);
    policy.n = E, policy.dim = P, policy.n_scales = 1, policy.mean = mean, policy.scale = L;
    tce_random_normals(&random, E * P, params);
    check(tce_gauss_sample(&policy, params, params));
    check(tce_mp_trajectory(mp, &grid, params, pos, vel, NULL));
    for (int i = 0; i < E * T; i++)
        rewards[i] = -fabs(pos[i * D] - 1.0);

    /* segments between K time points, and the reward of each beyond the mean of all movements */
    int32_t pairs[2 * MAX_J];
    size_t J;
    check(tce_segment_choose_pairs(TCE_SEGMENT_POINTS_INTERVAL, T, K, 0, &random, pairs, &J));
    tce_segment_steps steps = TCE_INIT(tce_segment_steps);
    steps.E = E, steps.T = T, steps.J = J, steps.kind = TCE_SEGMENT_REWARD, steps.gamma = 1.0;
    steps.rewards = rewards, steps.pairs = pairs, steps.out_advantages = advantages;
    check(tce_segment_advantage(&steps));

    /* how likely the policy made the two positions at the ends of each segment */
    tce_segment_options options;
    tce_segment *segment = NULL;
    tce_segment_options_init(&options, sizeof options);
    options.mp = mp;
    options.max_episodes = E;
    options.max_steps = T;
    options.max_pairs = MAX_J;
    check(tce_segment_create(&options, NULL, &segment));
    const double start = 0.0;
    check(tce_segment_set_pairs(segment, 1, T, times, &start, J, pairs));
    tce_segment_paths paths = TCE_INIT(tce_segment_paths);
    paths.E = E, paths.positions = pos, paths.mean = mean, paths.L = L;
    paths.out_log_prob = log_prob;
    check(tce_segment_log_prob(segment, &paths));
    printf("segment   steps   log-likelihood  advantage   (movement 0)\n");
    for (size_t j = 0; j < J; j++)
        printf("%7zu  %2d … %2d  %14.4f  %9.4f\n", j, pairs[2 * j], pairs[2 * j + 1], log_prob[j],
               advantages[j]);

    /*
     * the objective and its gradient; a small step against it raises the likelihood of the good
     * segments
     */
    tce_returns_stats before = TCE_INIT(tce_returns_stats), after = TCE_INIT(tce_returns_stats);
    paths.log_prob_old = log_prob, paths.advantages = advantages, paths.out_log_prob = NULL;
    paths.out_d_mean = d_mean, paths.out_d_L = d_L;
    check(tce_segment_surrogate(segment, &paths, &before));
    for (int i = 0; i < E * P; i++)
        mean[i] -= 0.1 * d_mean[i];
    check(tce_segment_surrogate(segment, &paths, &after));
    printf("loss %.6f -> %.6f, largest ratio %.3f\n", before.loss, after.loss, after.ratio_max);

    tce_segment_free(segment);
    tce_mp_free(mp);
    return after.loss < before.loss ? EXIT_SUCCESS : EXIT_FAILURE;
}
