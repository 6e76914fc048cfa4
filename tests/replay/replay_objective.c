/*
 * The objective: returns, time points, segment advantages, segment likelihood, surrogate loss and
 * its gradients.
 */
#include "replay.h"

#include <string.h>

enum {
    MAX_STEPS = 1 << 20,
    /*
     * draws for each possible first index, so that the smallest and the largest are surely among
     * them
     */
    DRAWS_PER_INDEX = 40
};

/* ---- shared ---------------------------------------------------------------------------------- */

static void free_segment(void *seg)
{
    tce_segment_free(seg);
}

size_t replay_distinct_rows(size_t E, size_t n, const double *x)
{
    for (size_t e = 1; e < E; e++)
        if (memcmp(x, x + e * n, n * sizeof *x) != 0)
            return E;
    return 1;
}

int32_t *replay_pairs(replay_case *c, size_t *out_J)
{
    size_t shape[REPLAY_MAX_RANK];

    if (replay_shape(c, c->root, "pairs", shape) != 2 || shape[1] != 2)
        replay_fail(c, "\"pairs\" is not [J, 2]");
    *out_J = shape[0];
    return replay_ints(c, c->root, "pairs", shape[0] * 2);
}

tce_segment *replay_segment(replay_case *c, const replay_segment_setup *setup)
{
    tce_segment_options opt;
    tce_segment *seg;

    tce_segment_options_init(&opt, sizeof opt);
    opt.mp = setup->mp;
    opt.max_episodes = (int32_t)setup->E;
    opt.max_steps = (int32_t)setup->T;
    opt.max_pairs = (int32_t)setup->J;
    opt.max_grids = (int32_t)setup->n_grids;
    opt.shared_cov = setup->shared_cov;
    replay_ok(c, tce_segment_create(&opt, NULL, &seg));
    replay_keep(c, seg, free_segment);
    replay_ok(c, tce_segment_set_pairs(seg, setup->n_grids, setup->T, setup->times,
                                       setup->init_time, setup->J, setup->pairs));
    return seg;
}

/* ---- time points ----------------------------------------------------------------------------- */

void replay_time_points(replay_case *c)
{
    const size_t T = (size_t)replay_int(c, c->root, "T", 1, MAX_STEPS);
    const size_t K = (size_t)replay_int(c, c->root, "K", 0, MAX_STEPS);
    const size_t first = (size_t)replay_int(c, c->root, "first", 0, MAX_STEPS);
    int32_t *pairs = replay_zeros_int(c, 2 * tce_segment_max_pairs(T, K));
    size_t J;

    /* the indices behind the pairs */
    replay_ok(c,
              tce_segment_choose_pairs(TCE_SEGMENT_POINTS_INTERVAL, T, K, first, NULL, pairs, &J));
    double *indices = replay_zeros(c, J + 1);
    for (size_t j = 0; j < J; j++) {
        indices[j] = pairs[2 * j];
        indices[j + 1] = pairs[2 * j + 1];
    }
    replay_compare(c, c->root, "indices", J + 1, indices, TOL_NUMBERS);

    /* drawn first indices fill [lowest, end) */
    if (replay_get(c, c->root, "first_is_drawn_from") == NULL)
        return;
    const int32_t *range = replay_ints(c, c->root, "first_is_drawn_from", 2);
    double drawn[2] = { (double)T, 0.0 };
    tce_random random;
    tce_random_start(&random, 0, 0, 0, 0);
    for (int32_t i = 0; i < DRAWS_PER_INDEX * (range[1] - range[0]); i++) {
        replay_ok(
            c, tce_segment_choose_pairs(TCE_SEGMENT_POINTS_INTERVAL, T, K, 0, &random, pairs, &J));
        drawn[0] = pairs[0] < drawn[0] ? pairs[0] : drawn[0];
        drawn[1] = pairs[0] + 1 > drawn[1] ? pairs[0] + 1 : drawn[1];
    }
    replay_compare(c, c->root, "first_is_drawn_from", 2, drawn, TOL_NUMBERS);

    /* and given ones may be any of these and no other */
    replay_ok(c, tce_segment_choose_pairs(TCE_SEGMENT_POINTS_INTERVAL, T, K, (size_t)range[1] - 1,
                                          NULL, pairs, &J));
    if (tce_segment_choose_pairs(TCE_SEGMENT_POINTS_INTERVAL, T, K, (size_t)range[1], NULL, pairs,
                                 &J) != TCE_E_VALUE)
        replay_fail(c, "the end of \"first_is_drawn_from\" was not refused");
}

/* ---- returns and advantages ------------------------------------------------------------------ */

void replay_returns(replay_case *c)
{
    size_t shape[REPLAY_MAX_RANK];

    if (replay_shape(c, c->root, "rewards", shape) != 2)
        replay_fail(c, "\"rewards\" is not [E, T]");
    const size_t E = shape[0];
    const size_t T = shape[1];
    const double *rewards = replay_array(c, c->root, "rewards", E * T);
    const double *values = replay_array(c, c->root, "values", E * (T + 1));
    const uint8_t *dones = replay_flags(c, c->root, "dones", E * T);
    const double gamma = replay_number(c, c->root, "gamma");
    double *advantages = replay_zeros(c, E * T);
    double *returns = replay_zeros(c, E * T);

    if (replay_get(c, c->root, "gae_lambda") != NULL) {
        const double lambda = replay_number(c, c->root, "gae_lambda");
        replay_ok(
            c, tce_returns_gae(E, T, rewards, values, dones, gamma, lambda, advantages, returns));
        replay_compare(c, c->root, "gae_advantages", E * T, advantages, TOL_NUMBERS);
        replay_compare(c, c->root, "gae_returns", E * T, returns, TOL_NUMBERS);
    }

    replay_ok(c, tce_returns_monte_carlo(E, T, rewards, values, dones, gamma, advantages, returns));
    replay_compare(c, c->root, "monte_carlo_advantages", E * T, advantages, TOL_NUMBERS);
    replay_compare(c, c->root, "monte_carlo_returns", E * T, returns, TOL_NUMBERS);
}

void replay_segment_advantages(replay_case *c)
{
    static const struct {
        const char *key;
        int32_t kind;
        int32_t normalise;
    } results[] = {
        { "value_subtraction", TCE_SEGMENT_VALUE, 0 },
        { "value_subtraction_normalised", TCE_SEGMENT_VALUE, 1 },
        { "sum_of_normalised_steps", TCE_SEGMENT_SUM, 0 },
        { "sum_of_normalised_steps_normalised", TCE_SEGMENT_SUM, 1 },
        { "accumulated_reward_centred", TCE_SEGMENT_REWARD, 0 },
        { "accumulated_reward_centred", TCE_SEGMENT_REWARD, 1 }, /* never normalised */
    };
    size_t shape[REPLAY_MAX_RANK];
    size_t J;

    if (replay_shape(c, c->root, "rewards", shape) != 2)
        replay_fail(c, "\"rewards\" is not [E, T]");
    const size_t E = shape[0];
    const size_t T = shape[1];
    const double *rewards = replay_array(c, c->root, "rewards", E * T);
    const double *values = replay_array(c, c->root, "values", E * (T + 1));
    const double *steps = NULL;
    if (replay_get(c, c->root, "step_advantages") != NULL)
        steps = replay_array(c, c->root, "step_advantages", E * T);
    const int32_t *lengths = NULL;
    if (replay_get(c, c->root, "lengths") != NULL)
        lengths = replay_ints(c, c->root, "lengths", E);
    const int32_t *pairs = replay_pairs(c, &J);
    const double gamma = replay_number(c, c->root, "gamma");
    double *out = replay_zeros(c, E * J);

    for (size_t i = 0; i < sizeof results / sizeof results[0]; i++) {
        if (replay_get(c, c->root, results[i].key) == NULL)
            continue;
        const tce_segment_steps asked = { .struct_size = sizeof asked,
                                          .E = E,
                                          .T = T,
                                          .J = J,
                                          .kind = results[i].kind,
                                          .normalise = results[i].normalise,
                                          .gamma = gamma,
                                          .rewards = rewards,
                                          .values = values,
                                          .step_advantages = steps,
                                          .pairs = pairs,
                                          .lengths = lengths,
                                          .out_advantages = out };
        replay_ok(c, tce_segment_advantage(&asked));
        replay_compare(c, c->root, results[i].key, E * J, out, TOL_NUMBERS);
    }
}

/* ---- surrogate ------------------------------------------------------------------------------- */

/*
 * Steps 3 to 5 of an iteration: step advantages, and the segments' normalised ones, which are
 * returned.
 */
static double *replay_advantages(replay_case *c, size_t E, size_t T, size_t J, const int32_t *pairs)
{
    /* some cases give the segments' advantages instead of rewards */
    if (replay_get(c, c->root, "rewards") == NULL)
        return replay_array(c, c->root, "advantages", E * J);

    const double *rewards = replay_array(c, c->root, "rewards", E * T);
    const double *values = replay_array(c, c->root, "values", E * (T + 1));
    const uint8_t *dones = replay_flags(c, c->root, "dones", E * T);
    const double gamma = replay_number(c, c->root, "gamma");
    const double lambda = replay_number(c, c->root, "gae_lambda");
    double *advantages = replay_zeros(c, E * T);
    double *returns = replay_zeros(c, E * T);
    double *segment = replay_zeros(c, E * J);
    tce_segment_steps steps = { .struct_size = sizeof steps,
                                .E = E,
                                .T = T,
                                .J = J,
                                .kind = TCE_SEGMENT_VALUE,
                                .gamma = gamma,
                                .rewards = rewards,
                                .values = values,
                                .pairs = pairs,
                                .out_advantages = segment };

    replay_ok(c, tce_returns_gae(E, T, rewards, values, dones, gamma, lambda, advantages, returns));
    replay_compare(c, c->root, "advantages", E * T, advantages, TOL_NUMBERS);
    replay_compare(c, c->root, "returns", E * T, returns, TOL_NUMBERS);
    replay_ok(c, tce_segment_advantage(&steps));
    replay_compare(c, c->root, "segment_advantage", E * J, segment, TOL_NUMBERS);
    steps.normalise = 1;
    replay_ok(c, tce_segment_advantage(&steps));
    replay_compare(c, c->root, "segment_advantage_normalised", E * J, segment, TOL_NUMBERS);
    return segment;
}

void replay_objective(replay_case *c)
{
    tce_mp_options opt;
    tce_mp_grid grid;
    tce_returns_stats stats;
    size_t shape[REPLAY_MAX_RANK];
    size_t J;
    const tce_mp *mp = replay_mp(c, TCE_MP_PRODMP, &opt);
    const size_t D = tce_mp_n_dof(mp);
    const size_t P = tce_mp_n_params(mp);

    /* the sampled paths */
    const size_t E = replay_shape(c, c->root, "sampled_params", shape) > 1 ? shape[0] : 1;
    const double *params = replay_array(c, c->root, "sampled_params", E * P);
    replay_grid(c, E, D, &grid);
    double *positions = replay_zeros(c, E * grid.T * D);
    replay_ok(c, tce_mp_trajectory(mp, &grid, params, positions, NULL, NULL));

    /* one grid when all start together, and one factor or one per episode */
    const size_t n_starts = grid.n_init_times == 1 ? 1 : replay_distinct_rows(E, 1, grid.init_time);
    const size_t n_rows = grid.n_time_rows == 1 ? 1 : replay_distinct_rows(E, grid.T, grid.times);
    const size_t n_grids = n_starts == 1 && n_rows == 1 ? 1 : E;
    if (n_grids > 1 && (grid.n_init_times == 1 || grid.n_time_rows == 1))
        replay_fail(c, "\"times\" and \"init_time\" must both have one row per episode");
    const size_t n_cov = replay_shape(c, c->root, "new_chol", shape) > 2 ? shape[0] : 1;
    const int32_t *pairs = replay_pairs(c, &J);
    const replay_segment_setup setup = { mp,         E, grid.T, n_grids, grid.times, grid.init_time,
                                         n_cov == 1, J, pairs };
    tce_segment *seg = replay_segment(c, &setup);

    const double *advantages = replay_advantages(c, E, grid.T, J, pairs);

    /* old likelihood: computed from the rollout's Gaussian where that is given */
    double *log_prob = replay_zeros(c, E * J);
    tce_segment_paths paths = { .struct_size = sizeof paths,
                                .E = E,
                                .positions = positions,
                                .init_pos = grid.init_pos,
                                .init_vel = grid.init_vel,
                                .advantages = advantages };
    if (replay_get(c, c->root, "old_mean") != NULL) {
        paths.mean = replay_array(c, c->root, "old_mean", E * P);
        paths.L = replay_array(c, c->root, "old_chol", n_cov * P * P);
        paths.out_log_prob = log_prob;
        replay_ok(c, tce_segment_log_prob(seg, &paths));
        replay_compare(c, c->root, "log_prob_old", E * J, log_prob, TOL_NUMBERS);
    }
    paths.log_prob_old = log_prob;
    if (replay_get(c, c->root, "log_prob_old") != NULL)
        paths.log_prob_old = replay_array(c, c->root, "log_prob_old", E * J);

    /* new likelihood, loss and gradients */
    paths.mean = replay_array(c, c->root, "new_mean", E * P);
    paths.L = replay_array(c, c->root, "new_chol", n_cov * P * P);
    paths.clip = replay_number_or(c, c->root, "clip", 0.0);
    double *log_prob_new = replay_zeros(c, E * J);
    double *d_mean = replay_zeros(c, E * P);
    double *d_L = replay_zeros(c, n_cov * P * P);
    stats = TCE_INIT(tce_returns_stats);
    paths.out_log_prob = log_prob_new;
    paths.out_d_mean = d_mean;
    paths.out_d_L = d_L;
    replay_ok(c, tce_segment_surrogate(seg, &paths, &stats));
    replay_compare(c, c->root, "log_prob_new", E * J, log_prob_new, TOL_NUMBERS);
    paths.out_log_prob = log_prob;
    replay_ok(c, tce_segment_log_prob(seg, &paths));
    replay_compare(c, c->root, "log_prob_new", E * J, log_prob, TOL_NUMBERS);
    replay_compare(c, c->root, "loss", 1, &stats.loss, TOL_NUMBERS);
    replay_compare(c, c->root, "fraction_clipped", 1, &stats.fraction_clipped, TOL_NUMBERS);
    replay_compare_gradient(c, c->root, "grad_mean", E * P, d_mean);
    replay_compare_gradient(c, c->root, "grad_chol", n_cov * P * P, d_L);
}
