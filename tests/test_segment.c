/*
 * segment: time pairs, segment advantages, segment likelihood, surrogate.
 */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tce/segment.h>

#include "support.h"

#define SENTINEL 12345.0

/* Two ways of computing the same sum: a few hundred roundings of numbers of size 1 to 100. */
#define TOL_ROUNDING 1e-11
/*
 * Central differences with step eps^(1/3): about eps^(2/3) = 4e-11 times third derivatives, which
 * reach 1e3 here.
 */
#define TOL_DIFFERENCE 2e-7

#define N_SEEDS 20

/* what outputs hold before a call */
static void fill_sentinel(size_t n, double *x)
{
    for (size_t i = 0; i < n; i++)
        x[i] = SENTINEL;
}

/* ---- calls in one line ----------------------------------------------------------------------- */

static tce_status seg_advantage(int32_t kind, size_t n_E, size_t n_T, size_t n_J,
                                const double *rewards, const double *values, const double *steps,
                                const int32_t *pairs, const int32_t *lengths, double gamma,
                                int32_t normalise, double *out, uint8_t *out_mask)
{
    const tce_segment_steps batch = { sizeof batch, n_E,     n_T,     n_J,     kind,
                                      normalise,    gamma,   rewards, values,  steps,
                                      pairs,        lengths, out,     out_mask };
    return tce_segment_advantage(&batch);
}

static tce_status seg_log_prob(tce_segment *seg, size_t n_E, const double *positions,
                               const double *mean, const double *L, const double *init_pos,
                               const double *init_vel, double *out)
{
    const tce_segment_paths batch = { .struct_size = sizeof batch,
                                      .E = n_E,
                                      .clip = NAN, /* not read, as the mask */
                                      .positions = positions,
                                      .mean = mean,
                                      .L = L,
                                      .init_pos = init_pos,
                                      .init_vel = init_vel,
                                      .mask = (const uint8_t *)"",
                                      .out_log_prob = out };
    return tce_segment_log_prob(seg, &batch);
}

static tce_status seg_surrogate(tce_segment *seg, size_t n_E, const double *positions,
                                const double *mean, const double *L, const double *init_pos,
                                const double *init_vel, const double *log_prob_old,
                                const double *advantages, const uint8_t *mask, double clip,
                                tce_returns_stats *stats, double *log_prob, double *d_mean,
                                double *d_L)
{
    const tce_segment_paths batch = { sizeof batch, n_E,        clip,     positions,
                                      mean,         L,          init_pos, init_vel,
                                      log_prob_old, advantages, mask,     log_prob,
                                      d_mean,       d_L };
    return tce_segment_surrogate(seg, &batch, stats);
}

/* ---- a random batch -------------------------------------------------------------------------- */

enum { E = 6, T = 50, D = 2, C = 4, P = D * C, J = 9, K = J + 1 };

typedef struct batch {
    tce_mp *mp;
    double times[E * T]; /* of every episode; the first row alone is a common grid */
    double init_time[E];
    int32_t pairs[2 * J];
    double init_pos[E * D];
    double init_vel[E * D];
    double mean[E * P];
    double L[E * P * P]; /* the first alone is a shared factor */
    double positions[E * T * D];
    double old[E * J];
    double advantages[E * J];
    uint8_t mask[E * J];
} batch;

/* What a surrogate call returns. */
typedef struct result {
    tce_returns_stats stats;
    double log_prob[E * J];
    double d_mean[E * P];
    double d_L[E * P * P];
} result;

static tce_mp *create_mp(int32_t kind, double delay)
{
    tce_mp_options options;
    tce_mp *mp = NULL;

    tce_mp_options_init(&options, sizeof options);
    options.kind = kind;
    options.n_dof = D;
    options.n_basis = kind == TCE_MP_PROMP ? C : C - 1;
    options.dt = 0.02;
    options.alpha = 10.0;
    options.delay = delay;
    options.relative_goal = kind == TCE_MP_PRODMP;
    ok(tce_mp_create(&options, NULL, &mp));
    return mp;
}

static void fill_positions(batch *b, size_t n_grids, const double *params)
{
    tce_mp_grid grid = TCE_INIT(tce_mp_grid);
    grid.E = E;
    grid.T = T;
    grid.n_time_rows = grid.n_init_times = n_grids;
    grid.times = b->times;
    grid.init_time = b->init_time;
    grid.init_pos = b->init_pos;
    grid.init_vel = b->init_vel;
    ok(tce_mp_trajectory(b->mp, &grid, params, b->positions, NULL, NULL));
}

/* seeded inputs; with `spread` > 0 the episodes start at different times */
static batch *create_batch(uint64_t seed, double spread)
{
    batch *const b = calloc(1, sizeof *b);
    double params[E * P];
    tce_random random;
    size_t n_pairs;

    tce_random_start(&random, seed, 0, 0, 0);
    b->mp = create_mp(TCE_MP_PRODMP, 0.0);
    for (size_t i = 0; i < E * T; i++)
        b->times[i] = 0.02 * (double)(i % T + 1) + spread * (double)(i / T);
    for (size_t e = 0; e < E; e++)
        b->init_time[e] = spread * (double)e;
    ok(tce_segment_choose_pairs(TCE_SEGMENT_POINTS_INTERVAL, T, K, 4, NULL, b->pairs, &n_pairs));
    ck_assert_uint_eq(n_pairs, J);

    tce_random_normals(&random, E * D, b->init_pos);
    tce_random_normals(&random, E * D, b->init_vel);
    tce_random_normals(&random, E * P, b->mean);
    tce_random_normals(&random, E * J, b->advantages);
    tce_random_normals(&random, E * P, params);
    for (size_t e = 0; e < E; e++)
        test_random_cholesky(&random, P, 10.0, 1.0, b->L + e * P * P);
    for (size_t i = 0; i < E * P; i++)
        params[i] = b->mean[i] + 0.7 * params[i];
    for (size_t i = 0; i < E * J; i++)
        b->mask[i] = tce_random_uniform(&random) < 0.7;
    fill_positions(b, spread > 0.0 ? E : 1, params);
    return b;
}

static void free_batch(batch *b)
{
    tce_mp_free(b->mp);
    free(b);
}

static tce_segment *create_segment(const tce_mp *mp, int32_t shared, int32_t grids, double reg,
                                   tce_pool *pool, const tce_hooks *hooks)
{
    tce_segment_options options;
    tce_segment *seg = NULL;

    tce_segment_options_init(&options, sizeof options);
    options.mp = mp;
    options.max_episodes = E;
    options.max_steps = T;
    options.max_pairs = J;
    options.shared_cov = shared;
    options.max_grids = grids;
    options.reg = reg;
    options.pool = pool;
    ok(tce_segment_create(&options, hooks, &seg));
    return seg;
}

/* a handle with the pairs of the batch */
static tce_segment *prepare(const batch *b, int32_t shared, int32_t grids, double reg,
                            tce_pool *pool)
{
    tce_segment *const seg = create_segment(b->mp, shared, grids, reg, pool, NULL);

    ok(tce_segment_set_pairs(seg, (size_t)grids, T, b->times, b->init_time, J, b->pairs));
    return seg;
}

/* old log-likelihoods from a mean a little off, so that ratios are near 1 but not 1 */
static void fill_old(batch *b, tce_segment *seg)
{
    double mean[E * P];

    for (size_t i = 0; i < E * P; i++)
        mean[i] = b->mean[i] + 0.05 * sin((double)i);
    ok(seg_log_prob(seg, E, b->positions, mean, b->L, b->init_pos, b->init_vel, b->old));
}

static void evaluate(const batch *b, tce_segment *seg, const uint8_t *mask, double clip,
                     result *out)
{
    out->stats = TCE_INIT(tce_returns_stats);
    fill_sentinel(E * J, out->log_prob);
    fill_sentinel(E * P, out->d_mean);
    fill_sentinel(E * P * P, out->d_L);
    ok(seg_surrogate(seg, E, b->positions, b->mean, b->L, b->init_pos, b->init_vel, b->old,
                     b->advantages, mask, clip, &out->stats, out->log_prob, out->d_mean, out->d_L));
}

/* ---- property: pairs, advantages ------------------------------------------------------------- */

START_TEST(interval_pairs_are_consecutive_and_within_their_bound)
{
    int32_t pairs[2 * T];
    size_t n;

    for (size_t t = 2; t <= T; t++) {
        for (size_t k = 2; k <= t; k++) {
            const size_t most = tce_segment_max_pairs(t, k);
            ck_assert_uint_ge(most, k - 1);
            for (size_t first = 0; first < t / k + t % k; first++) {
                ok(tce_segment_choose_pairs(TCE_SEGMENT_POINTS_INTERVAL, t, k, first, NULL, pairs,
                                            &n));
                ck_assert_msg(n >= k - 1 && n <= most, "T %zu, K %zu, first %zu: %zu pairs", t, k,
                              first, n);
                ck_assert_int_eq(pairs[0], (int32_t)first);
                for (size_t j = 0; j < n; j++) {
                    ck_assert_int_eq(pairs[2 * j + 1] - pairs[2 * j], (int32_t)(t / k));
                    ck_assert(j == 0 || pairs[2 * j] == pairs[2 * j - 1]);
                }
                ck_assert_int_lt(pairs[2 * n - 1], (int32_t)t);
                ck_assert_int_ge(pairs[2 * n - 1] + (int32_t)(t / k), (int32_t)t);
            }
        }
    }
    ck_assert_uint_eq(tce_segment_max_pairs(10, 1), 0);
    ck_assert_uint_eq(tce_segment_max_pairs(10, 11), 0);
}
END_TEST

START_TEST(every_first_index_is_drawn)
{
    int32_t pairs[60];
    int seen[7] = { 0 };
    tce_random random;
    size_t n;

    tce_random_start(&random, 5, 0, 0, 0);
    for (int i = 0; i < 700; i++) {
        ok(tce_segment_choose_pairs(TCE_SEGMENT_POINTS_INTERVAL, 103, 25, 0, &random, pairs, &n));
        ck_assert_int_lt(pairs[0], 7);
        seen[pairs[0]]++;
    }

    /* 100 expected, standard deviation 9.3 */
    for (int i = 0; i < 7; i++)
        ck_assert_msg(seen[i] > 50 && seen[i] < 150, "first %d: %d of 700", i, seen[i]);
}
END_TEST

START_TEST(random_points_are_sorted_distinct_and_unbiased)
{
    enum { TRIALS = 6000, STEPS = 6, POINTS = 3, SETS = 20 };
    int32_t pairs[2 * STEPS];
    int seen[1 << STEPS] = { 0 };
    int sets = 0;
    tce_random random;
    size_t n;

    tce_random_start(&random, 6, 0, 0, 0);
    for (int i = 0; i < TRIALS; i++) {
        ok(tce_segment_choose_pairs(TCE_SEGMENT_POINTS_RANDOM, STEPS, POINTS, 0, &random, pairs,
                                    &n));
        ck_assert_uint_eq(n, POINTS - 1);
        ck_assert(0 <= pairs[0] && pairs[0] < pairs[1] && pairs[1] == pairs[2] &&
                  pairs[2] < pairs[3] && pairs[3] < STEPS);
        seen[1 << pairs[0] | 1 << pairs[1] | 1 << pairs[3]]++;
    }

    /* each of the 20 sets: 300 expected, standard deviation 17 */
    for (int i = 0; i < 1 << STEPS; i++) {
        sets += seen[i] > 0;
        ck_assert_msg(seen[i] == 0 || (seen[i] > 200 && seen[i] < 400), "set %x: %d", (unsigned)i,
                      seen[i]);
    }
    ck_assert_int_eq(sets, SETS);

    /* all points, and only two of them */
    ok(tce_segment_choose_pairs(TCE_SEGMENT_POINTS_RANDOM, STEPS, STEPS, 0, &random, pairs, &n));
    ck_assert_uint_eq(n, STEPS - 1);
    ok(tce_segment_choose_pairs(TCE_SEGMENT_POINTS_RANDOM, STEPS, 2, 0, &random, pairs, &n));
    ck_assert_uint_eq(n, 1);
}
END_TEST

START_TEST(undiscounted_segments_add_up_to_the_whole)
{
    double rewards[T], values[T + 1], parts[J], whole;
    int32_t pairs[2 * J];
    tce_random random;
    size_t n;

    tce_random_start(&random, (uint64_t)_i, 2, 0, 0);
    tce_random_normals(&random, T, rewards);
    tce_random_normals(&random, T + 1, values);
    ok(tce_segment_choose_pairs(TCE_SEGMENT_POINTS_INTERVAL, T, K, 3, NULL, pairs, &n));
    ok(seg_advantage(TCE_SEGMENT_VALUE, 1, T, J, rewards, values, NULL, pairs, NULL, 1.0, 0, parts,
                     NULL));
    const int32_t ends[2] = { pairs[0], pairs[2 * J - 1] };
    ok(seg_advantage(TCE_SEGMENT_VALUE, 1, T, 1, rewards, values, NULL, ends, NULL, 1.0, 0, &whole,
                     NULL));

    double sum = 0.0;
    for (size_t j = 0; j < J; j++)
        sum += parts[j];
    test_assert_close(&sum, &whole, 1, TOL_ROUNDING);
}
END_TEST

/* two episodes of six steps, the second of which ends after three */
static const double END_REWARDS[12] = { 1, 2, 3, 4, 5, 6, 1, 2, 4, 100, 100, 100 };
static const double END_VALUES[14] = { 1, 2, 3, 4, 5, 6, 7, 10, 20, 30, 40, 50, 60, 70 };
static const int32_t END_PAIRS[8] = { 0, 2, 1, 3, 2, 4, 3, 5 };
static const int32_t END_LENGTHS[2] = { 6, 3 };

START_TEST(an_early_end_leaves_out_what_comes_after_it)
{
    /* gamma 0.5; the second episode: (1, 3) and (2, 4) reach the end, (3, 5) starts there */
    const double want[8] = { 1 + 1 + 0.25 * 3 - 1,
                             2 + 1.5 + 0.25 * 4 - 2,
                             3 + 2 + 0.25 * 5 - 3,
                             4 + 2.5 + 0.25 * 6 - 4,
                             1 + 1 + 0.25 * 30 - 10,
                             2 + 2 - 20,
                             4 - 30,
                             0 };
    const uint8_t want_mask[8] = { 1, 1, 1, 1, 1, 1, 1, 0 };
    double got[8];
    uint8_t mask[8];

    ok(seg_advantage(TCE_SEGMENT_VALUE, 2, 6, 4, END_REWARDS, END_VALUES, NULL, END_PAIRS,
                     END_LENGTHS, 0.5, 0, got, mask));
    test_assert_close(got, want, 8, TOL_ROUNDING);
    ck_assert_mem_eq(mask, want_mask, 8);

    /* normalised over the seven that count */
    ok(seg_advantage(TCE_SEGMENT_VALUE, 2, 6, 4, END_REWARDS, END_VALUES, NULL, END_PAIRS,
                     END_LENGTHS, 0.5, 1, got, mask));
    double seven[8];
    memcpy(seven, want, sizeof seven);
    tce_returns_normalise(7, NULL, seven);
    test_assert_close(got, seven, 8, TOL_ROUNDING);
}
END_TEST

START_TEST(rewards_and_step_sums_stop_at_an_early_end)
{
    double steps[12], got[8];
    uint8_t mask[8];

    /* reward: the mean over the one episode that is left is the reward itself */
    const double reward[8] = { 0, -0.25, 0.5, 0, 0, 0.25, -0.5, 0 };
    ok(seg_advantage(TCE_SEGMENT_REWARD, 2, 6, 4, END_REWARDS, NULL, NULL, END_PAIRS, END_LENGTHS,
                     0.5, 1, got, mask));
    test_assert_close(got, reward, 8, TOL_ROUNDING);

    /* sum: nine steps are normalised, then summed over a ... b */
    memcpy(steps, END_REWARDS, sizeof steps);
    tce_returns_normalise(9, NULL, steps);
    const double sum[8] = { steps[0] + steps[1] + steps[2],
                            steps[1] + steps[2] + steps[3],
                            steps[2] + steps[3] + steps[4],
                            steps[3] + steps[4] + steps[5],
                            steps[6] + steps[7] + steps[8],
                            steps[7] + steps[8],
                            steps[8],
                            0 };
    ok(seg_advantage(TCE_SEGMENT_SUM, 2, 6, 4, NULL, NULL, END_REWARDS, END_PAIRS, END_LENGTHS, 0.5,
                     0, got, mask));
    test_assert_close(got, sum, 8, TOL_ROUNDING);
}
END_TEST

START_TEST(a_full_length_is_no_early_end)
{
    const int32_t full[2] = { 6, 6 };
    double with[8], without[8];
    uint8_t mask[8];

    for (int32_t kind = TCE_SEGMENT_VALUE; kind <= TCE_SEGMENT_REWARD; kind++) {
        ok(seg_advantage(kind, 2, 6, 4, END_REWARDS, END_VALUES, END_REWARDS, END_PAIRS, full, 0.9,
                         1, with, mask));
        ok(seg_advantage(kind, 2, 6, 4, END_REWARDS, END_VALUES, END_REWARDS, END_PAIRS, NULL, 0.9,
                         1, without, NULL));
        ck_assert_mem_eq(with, without, sizeof with);
        for (size_t i = 0; i < 8; i++)
            ck_assert_uint_eq(mask[i], 1);
    }
}
END_TEST

/* ---- property: likelihood -------------------------------------------------------------------- */

/* log N(r; 0, S), S destroyed: an elimination written out */
static double dense_log_density(size_t n, double *S, double *r)
{
    double sum = -0.5 * (double)n * log(2.0 * 3.14159265358979323846);

    for (size_t k = 0; k < n; k++) {
        const double pivot = S[k * n + k];
        sum -= 0.5 * log(pivot) + 0.5 * r[k] * r[k] / pivot;
        for (size_t i = k + 1; i < n; i++) {
            const double f = S[i * n + k] / pivot;
            r[i] -= f * r[k];
            for (size_t j = k; j < n; j++)
                S[i * n + j] -= f * S[k * n + j];
        }
    }
    return sum;
}

/* episode e and segment j alone, from the primitive's own covariance and path */
static double dense_segment(const batch *b, size_t e, size_t j, double reg)
{
    const double times[2] = { b->times[b->pairs[2 * j]], b->times[b->pairs[2 * j + 1]] };
    double cov[4 * D * D], path[2 * D], r[2 * D];
    tce_mp_grid grid;

    ok(tce_mp_covariance(b->mp, 2, times, 0.0, b->L, reg, 0, cov, NULL));
    grid = TCE_INIT(tce_mp_grid);
    grid.E = 1;
    grid.T = 2;
    grid.n_time_rows = grid.n_init_times = 1;
    grid.times = times;
    grid.init_time = b->init_time;
    grid.init_pos = b->init_pos + e * D;
    grid.init_vel = b->init_vel + e * D;
    ok(tce_mp_trajectory(b->mp, &grid, b->mean + e * P, path, NULL, NULL));
    for (size_t d = 0; d < D; d++) {
        for (size_t s = 0; s < 2; s++)
            r[2 * d + s] = b->positions[(e * T + (size_t)b->pairs[2 * j + s]) * D + d] -
                           path[s * D + d];
    }
    return dense_log_density(2 * D, cov, r);
}

START_TEST(likelihood_is_that_of_the_dense_gaussian)
{
    batch *const b = create_batch((uint64_t)_i, 0.0);
    tce_segment *const seg = create_segment(b->mp, 1, 1, 1e-4, NULL, NULL);

    /* one segment per call, so that the regulariser is its own */
    for (size_t j = 0; j < J; j++) {
        double got[E], want[E];
        ok(tce_segment_set_pairs(seg, 1, T, b->times, b->init_time, 1, b->pairs + 2 * j));
        ok(seg_log_prob(seg, E, b->positions, b->mean, b->L, b->init_pos, b->init_vel, got));
        for (size_t e = 0; e < E; e++)
            want[e] = dense_segment(b, e, j, 1e-4);
        test_assert_close(got, want, E, 1e-9);
    }
    tce_segment_free(seg);
    free_batch(b);
}
END_TEST

/* without a regulariser the segments do not know of each other, whatever their order and overlap */
START_TEST(pairs_may_come_in_any_order_and_overlap)
{
    static const int32_t PAIRS[2 * J] = { 20, 40, 5,  20, 20, 21, 21, 49, 30,
                                          48, 48, 49, 5,  49, 5,  20, 20, 40 };
    batch *const b = create_batch((uint64_t)_i, 0.0);
    tce_segment *const seg = create_segment(b->mp, 1, 1, 0.0, NULL, NULL);
    double all[E * J], one[E];

    ok(tce_segment_set_pairs(seg, 1, T, b->times, b->init_time, J, PAIRS));
    ok(seg_log_prob(seg, E, b->positions, b->mean, b->L, b->init_pos, b->init_vel, all));
    for (size_t j = 0; j < J; j++) {
        ok(tce_segment_set_pairs(seg, 1, T, b->times, b->init_time, 1, PAIRS + 2 * j));
        ok(seg_log_prob(seg, E, b->positions, b->mean, b->L, b->init_pos, b->init_vel, one));
        for (size_t e = 0; e < E; e++)
            ck_assert_double_eq_tol(all[e * J + j], one[e], 1e-8 * fmax(1.0, fabs(one[e])));
    }
    tce_segment_free(seg);
    free_batch(b);
}
END_TEST

START_TEST(copies_of_a_shared_factor_give_the_shared_result)
{
    batch *const b = create_batch((uint64_t)_i, 0.0);
    tce_segment *const shared = prepare(b, 1, 1, 1e-4, NULL);
    tce_segment *const apart = prepare(b, 0, 1, 1e-4, NULL);
    static result want, got;

    for (size_t e = 1; e < E; e++)
        memcpy(b->L + e * P * P, b->L, P * P * sizeof(double));
    fill_old(b, shared);
    evaluate(b, shared, b->mask, 0.0, &want);
    evaluate(b, apart, b->mask, 0.0, &got);

    test_assert_close(got.log_prob, want.log_prob, E * J, TOL_ROUNDING);
    test_assert_close(&got.stats.loss, &want.stats.loss, 1, TOL_ROUNDING);
    test_assert_close(&got.stats.approx_kl, &want.stats.approx_kl, 1, TOL_ROUNDING);
    test_assert_close(got.d_mean, want.d_mean, E * P, TOL_ROUNDING);
    for (size_t e = 1; e < E; e++) {
        for (size_t i = 0; i < P * P; i++)
            got.d_L[i] += got.d_L[e * P * P + i];
    }
    test_assert_close(got.d_L, want.d_L, P * P, TOL_ROUNDING);
    tce_segment_free(shared);
    tce_segment_free(apart);
    free_batch(b);
}
END_TEST

START_TEST(equal_grids_are_one_grid)
{
    batch *const b = create_batch((uint64_t)_i, 0.0);
    tce_segment *const one = prepare(b, 1, 1, 1e-4, NULL);
    tce_segment *const many = prepare(b, 1, E, 1e-4, NULL);
    static result want, got;

    fill_old(b, one);
    evaluate(b, one, NULL, 0.0, &want);
    evaluate(b, many, NULL, 0.0, &got);
    ck_assert_mem_eq(&got, &want, sizeof got);
    tce_segment_free(one);
    tce_segment_free(many);
    free_batch(b);
}
END_TEST

/*
 * without a regulariser a batch of own grids is the sum of its episodes, each of which takes the
 * shared path alone
 */
START_TEST(episodes_with_their_own_grids_add_up)
{
    batch *const b = create_batch((uint64_t)_i, 0.01);
    tce_segment *const many = prepare(b, 1, E, 0.0, NULL);
    tce_segment *const one = create_segment(b->mp, 1, 1, 0.0, NULL, NULL);
    double d_mean[E * P], d_L[P * P] = { 0 }, part[P * P], loss = 0.0;
    static result got;

    /* every other time, the starts alone differ */
    for (size_t e = 1; e < E && _i % 2 == 1; e++)
        memcpy(b->times + e * T, b->times, T * sizeof(double));
    ok(tce_segment_set_pairs(many, E, T, b->times, b->init_time, J, b->pairs));
    fill_old(b, many);
    evaluate(b, many, NULL, 0.0, &got);
    for (size_t e = 0; e < E; e++) {
        tce_returns_stats stats;
        stats = TCE_INIT(tce_returns_stats);
        ok(tce_segment_set_pairs(one, 1, T, b->times + e * T, b->init_time + e, J, b->pairs));
        ok(seg_surrogate(one, 1, b->positions + e * T * D, b->mean + e * P, b->L,
                         b->init_pos + e * D, b->init_vel + e * D, b->old + e * J,
                         b->advantages + e * J, NULL, 0.0, &stats, NULL, d_mean + e * P, part));
        loss += stats.loss / E;
        for (size_t i = 0; i < P * P; i++)
            d_L[i] += part[i] / E;
        for (size_t i = 0; i < P; i++)
            d_mean[e * P + i] /= E;
    }
    test_assert_close(&got.stats.loss, &loss, 1, 1e-9);
    test_assert_close(got.d_mean, d_mean, E * P, 1e-9);
    test_assert_close(got.d_L, d_L, P * P, 1e-9);
    tce_segment_free(many);
    tce_segment_free(one);
    free_batch(b);
}
END_TEST

/* A kind of batch: shared or contextual covariance, one grid or one per episode. */
typedef struct form {
    int32_t shared;
    int32_t grids;
    double spread;
} form;

static const form FORMS[4] = { { 1, 1, 0.0 }, { 0, 1, 0.0 }, { 1, E, 0.01 }, { 0, E, 0.01 } };

START_TEST(a_call_leaves_no_trace_in_the_next_one)
{
    const form *const f = FORMS + _i;
    batch *const b = create_batch(1, f->spread);
    tce_segment *const seg = prepare(b, f->shared, f->grids, 1e-4, NULL);
    static result want, got;

    fill_old(b, seg);
    evaluate(b, seg, b->mask, 0.2, &want);

    /* other options and other pairs in between */
    const int32_t other[4] = { 10, 20, 30, 40 };
    evaluate(b, seg, NULL, 0.0, &got);
    ck_assert_mem_ne(&got, &want, sizeof got);
    ok(tce_segment_set_pairs(seg, (size_t)f->grids, T, b->times, b->init_time, 2, other));
    evaluate(b, seg, NULL, 0.0, &got);
    ok(tce_segment_set_pairs(seg, (size_t)f->grids, T, b->times, b->init_time, J, b->pairs));
    evaluate(b, seg, b->mask, 0.2, &got);
    ck_assert_mem_eq(&got, &want, sizeof got);

    /* a new handle has no past at all */
    tce_segment *const fresh = prepare(b, f->shared, f->grids, 1e-4, NULL);
    evaluate(b, fresh, b->mask, 0.2, &want);
    ck_assert_mem_eq(&got, &want, sizeof got);
    tce_segment_free(seg);
    tce_segment_free(fresh);
    free_batch(b);
}
END_TEST

START_TEST(one_two_and_five_threads_give_the_same_bytes)
{
    static const int32_t THREADS[3] = { 1, 2, 5 };
    static result want, got;

    for (const form *f = FORMS; f < FORMS + 4; f++) {
        batch *const b = create_batch((uint64_t)_i, f->spread);
        for (size_t i = 0; i < 3; i++) {
            tce_pool *const pool = test_pool(THREADS[i]);
            tce_segment *const seg = prepare(b, f->shared, f->grids, 1e-4, pool);

            if (i == 0)
                fill_old(b, seg);
            evaluate(b, seg, b->mask, 0.2, &got);
            if (i == 0)
                want = got;
            ck_assert_mem_eq(&got, &want, sizeof got);
            tce_segment_free(seg);
            tce_pool_free(pool);
        }
        free_batch(b);
    }
}
END_TEST

/*
 * A batch that the pool is woken for also where all episodes are one group: 7 joints, 80 episodes,
 * 24 segments.
 */
START_TEST(a_large_batch_gives_the_same_bytes_on_one_and_three_threads)
{
    enum {
        LARGE_D = 7,
        LARGE_E = 80,
        LARGE_T = 100,
        LARGE_K = 25,
        LARGE_J = LARGE_K - 1,
        LARGE_P = LARGE_D * 9
    };
    static double times[LARGE_T], mean[LARGE_E * LARGE_P], L[LARGE_P * LARGE_P],
        start[LARGE_E * LARGE_D], rest[LARGE_E * LARGE_D];
    static double positions[LARGE_E * LARGE_T * LARGE_D], old[LARGE_E * LARGE_J],
        advantages[LARGE_E * LARGE_J];
    static double d_mean[2][LARGE_E * LARGE_P], d_L[2][LARGE_P * LARGE_P];
    static int32_t pairs[2 * LARGE_J];
    tce_returns_stats stats[2];
    const double start_time = 0.0;
    size_t n_pairs;
    tce_random random;

    tce_mp_options primitive;
    tce_mp *mp = NULL;
    tce_mp_options_init(&primitive, sizeof primitive);
    primitive.n_dof = LARGE_D;
    primitive.n_basis = 8;
    ok(tce_mp_create(&primitive, NULL, &mp));
    for (size_t t = 0; t < LARGE_T; t++)
        times[t] = 0.01 * (double)(t + 1);
    tce_random_start(&random, (uint64_t)_i, 0, 0, 0);
    tce_random_normals(&random, LARGE_E * LARGE_D, start);
    tce_random_normals(&random, LARGE_E * LARGE_P, mean);
    tce_random_normals(&random, LARGE_E * LARGE_J, advantages);
    test_random_cholesky(&random, LARGE_P, 10.0, 1.0, L);
    ok(tce_segment_choose_pairs(TCE_SEGMENT_POINTS_INTERVAL, LARGE_T, LARGE_K, 1, NULL, pairs,
                                &n_pairs));
    ck_assert_uint_eq(n_pairs, LARGE_J);

    tce_mp_grid grid = TCE_INIT(tce_mp_grid);
    grid.E = LARGE_E;
    grid.T = LARGE_T;
    grid.n_time_rows = grid.n_init_times = 1;
    grid.times = times;
    grid.init_time = &start_time;
    grid.init_pos = start;
    grid.init_vel = rest;
    ok(tce_mp_trajectory(mp, &grid, mean, positions, NULL, NULL));
    for (size_t i = 0; i < LARGE_E * LARGE_P; i++)
        mean[i] *= 1.01;

    for (size_t i = 0; i < 2; i++) {
        tce_pool *const pool = test_pool(i == 0 ? 1 : 3);
        tce_segment_options options;
        tce_segment *seg = NULL;
        tce_segment_options_init(&options, sizeof options);
        options.mp = mp;
        options.max_episodes = LARGE_E;
        options.max_steps = LARGE_T;
        options.max_pairs = LARGE_J;
        options.shared_cov = 1;
        options.pool = pool;
        ok(tce_segment_create(&options, NULL, &seg));
        ok(tce_segment_set_pairs(seg, 1, LARGE_T, times, &start_time, LARGE_J, pairs));
        if (i == 0)
            ok(seg_log_prob(seg, LARGE_E, positions, mean, L, start, rest, old));
        for (size_t k = 0; i == 0 && k < LARGE_E * LARGE_J; k++)
            old[k] -= 0.1;
        stats[i] = TCE_INIT(tce_returns_stats);
        ok(seg_surrogate(seg, LARGE_E, positions, mean, L, start, rest, old, advantages, NULL, 0.0,
                         &stats[i], NULL, d_mean[i], d_L[i]));
        tce_segment_free(seg);
        tce_pool_free(pool);
    }
    tce_mp_free(mp);
    ck_assert_mem_eq(&stats[0], &stats[1], sizeof stats[0]);
    ck_assert_mem_eq(d_mean[0], d_mean[1], sizeof d_mean[0]);
    ck_assert_mem_eq(d_L[0], d_L[1], sizeof d_L[0]);
}
END_TEST

START_TEST(masked_segments_take_part_in_nothing)
{
    batch *const b = create_batch((uint64_t)_i, 0.0);
    static result want, got;

    for (int32_t shared = 0; shared < 2; shared++) {
        tce_segment *const seg = prepare(b, shared, 1, 1e-4, NULL);
        const size_t last = (E - 1) * J;

        /* the last episode is masked from its third segment on, everything else counts */
        memset(b->mask, 1, E * J);
        memset(b->mask + last + 2, 0, J - 2);
        fill_old(b, seg);
        evaluate(b, seg, b->mask, 0.0, &want);

        /* what it holds there does not matter; the path after the last point that counts neither */
        const size_t from = (size_t)b->pairs[2 * 1 + 1] + 1;
        double *const tail = b->positions + ((E - 1) * T + from) * D;
        const size_t n_tail = (T - from) * D;
        double kept[T * D];
        memcpy(kept, tail, n_tail * sizeof(double));
        for (size_t i = 0; i < n_tail; i++)
            tail[i] = NAN;
        for (size_t i = last + 2; i < E * J; i++)
            b->old[i] = b->advantages[i] = NAN;
        evaluate(b, seg, b->mask, 0.0, &got);
        ck_assert_mem_eq(got.d_mean, want.d_mean, sizeof got.d_mean);
        ck_assert_mem_eq(got.d_L, want.d_L, sizeof got.d_L);
        ck_assert_mem_eq(&got.stats, &want.stats, sizeof got.stats);
        ck_assert_mem_eq(got.log_prob, want.log_prob, (last + 2) * sizeof(double));

        /* a NaN that counts is refused */
        tail[-1] = NAN;
        fails(seg_surrogate(seg, E, b->positions, b->mean, b->L, b->init_pos, b->init_vel, b->old,
                            b->advantages, b->mask, 0.0, NULL, NULL, NULL, NULL),
              TCE_E_VALUE, "positions[5,");
        memcpy(tail, kept, n_tail * sizeof(double));
        tail[-1] = 0.0;
        for (size_t i = last + 2; i < E * J; i++)
            b->advantages[i] = 1.0;
        tce_segment_free(seg);
    }
    free_batch(b);
}
END_TEST

START_TEST(a_mask_of_zeros_gives_zeros)
{
    batch *const b = create_batch(1, 0.0);
    tce_segment *const seg = prepare(b, 1, 1, 1e-4, NULL);
    static result got;

    fill_old(b, seg);
    memset(b->mask, 0, sizeof b->mask);
    evaluate(b, seg, b->mask, 0.0, &got);
    ck_assert_double_eq(got.stats.loss, 0.0);
    ck_assert_double_eq(test_largest(E * P, got.d_mean), 0.0);
    ck_assert_double_eq(test_largest(P * P, got.d_L), 0.0);
    tce_segment_free(seg);
    free_batch(b);
}
END_TEST

START_TEST(at_the_old_parameters_every_ratio_is_one)
{
    batch *const b = create_batch((uint64_t)_i, 0.0);
    tce_segment *const seg = prepare(b, 1, 1, 1e-4, NULL);
    static result got;
    double mean = 0.0;

    ok(seg_log_prob(seg, E, b->positions, b->mean, b->L, b->init_pos, b->init_vel, b->old));
    evaluate(b, seg, NULL, 0.2, &got);
    for (size_t i = 0; i < E * J; i++)
        mean += b->advantages[i] / (E * J);
    ck_assert_mem_eq(got.log_prob, b->old, sizeof b->old);
    ck_assert_double_eq_tol(got.stats.loss, -mean, TOL_ROUNDING);
    ck_assert_double_eq_tol(got.stats.ratio_mean, 1.0, TOL_ROUNDING);
    ck_assert_double_eq_tol(got.stats.ratio_max, 1.0, TOL_ROUNDING);
    ck_assert_double_eq(got.stats.fraction_clipped, 0.0);
    ck_assert_double_eq_tol(got.stats.approx_kl, 0.0, TOL_ROUNDING);
    tce_segment_free(seg);
    free_batch(b);
}
END_TEST

START_TEST(both_surrogates_agree)
{
    batch *const b = create_batch((uint64_t)_i, 0.0);
    tce_segment *const seg = prepare(b, 1, 1, 1e-4, NULL);
    static result want;
    tce_returns_stats stats;
    double d[E * J];

    fill_old(b, seg);
    for (int clipped = 0; clipped < 2; clipped++) {
        evaluate(b, seg, b->mask, 0.1 * clipped, &want);
        stats = TCE_INIT(tce_returns_stats);
        ok(tce_returns_surrogate(E * J, want.log_prob, b->old, b->advantages, b->mask,
                                 0.1 * clipped, &stats, d));
        test_assert_close(&stats.loss, &want.stats.loss, 5, TOL_ROUNDING);
        ck_assert(clipped == (stats.fraction_clipped > 0.0));
    }
    tce_segment_free(seg);
    free_batch(b);
}
END_TEST

START_TEST(a_promp_has_no_start_and_is_scored_all_the_same)
{
    batch *const b = create_batch(3, 0.0);
    double with[E * J], without[E * J];

    tce_mp_free(b->mp);
    b->mp = create_mp(TCE_MP_PROMP, 0.0);
    tce_segment *const seg = prepare(b, 1, 1, 1e-4, NULL);
    ok(seg_log_prob(seg, E, b->positions, b->mean, b->L, b->init_pos, b->init_vel, with));
    ok(seg_log_prob(seg, E, b->positions, b->mean, b->L, NULL, NULL, without));
    ck_assert_mem_eq(with, without, sizeof with);
    tce_segment_free(seg);
    free_batch(b);
}
END_TEST

/* ---- gradient -------------------------------------------------------------------------------- */

/* The loss as a function of a few of its inputs. */
typedef struct loss_context {
    batch *b;
    tce_segment *seg;
    double *target; /* where the varied numbers go */
    size_t n;
    double clip;
    const uint8_t *mask;
} loss_context;

static double loss_of(void *context, const double *x)
{
    const loss_context *const c = context;
    tce_returns_stats stats;

    stats = TCE_INIT(tce_returns_stats);
    memmove(c->target, x, c->n * sizeof(double));
    ok(seg_surrogate(c->seg, E, c->b->positions, c->b->mean, c->b->L, c->b->init_pos,
                     c->b->init_vel, c->b->old, c->b->advantages, c->mask, c->clip, &stats, NULL,
                     NULL, NULL));
    return stats.loss;
}

/*
 * gradients of the first n_L factors and of all means against differences; above the diagonal there
 * is nothing
 */
static void check_gradient(batch *b, tce_segment *seg, size_t n_L, const uint8_t *mask, double clip)
{
    static result got;
    double x[E * P * P], want[E * P * P];
    loss_context c = { b, seg, b->mean, E * P, clip, mask };

    evaluate(b, seg, mask, clip, &got);
    memcpy(x, b->mean, sizeof b->mean);
    test_finite_difference(loss_of, &c, E * P, x, want);
    memcpy(b->mean, x, sizeof b->mean);
    test_assert_close_gradient(got.d_mean, want, E * P, TOL_DIFFERENCE);

    c.target = b->L;
    c.n = n_L * P * P;
    memcpy(x, b->L, c.n * sizeof(double));
    test_finite_difference(loss_of, &c, c.n, x, want);
    memcpy(b->L, x, c.n * sizeof(double));
    for (size_t i = 0; i < c.n; i++) {
        if (i % P > i / P % P) {
            ck_assert_double_eq(got.d_L[i], 0.0);
            want[i] = 0.0;
        }
    }
    test_assert_close_gradient(got.d_L, want, c.n, TOL_DIFFERENCE);
}

START_TEST(gradients_of_a_shared_factor_are_the_central_differences)
{
    batch *const b = create_batch((uint64_t)_i, 0.0);
    tce_segment *const seg = prepare(b, 1, 1, 0.0, NULL);

    fill_old(b, seg);
    check_gradient(b, seg, 1, b->mask, 0.0);
    check_gradient(b, seg, 1, NULL, 0.5);
    tce_segment_free(seg);
    free_batch(b);
}
END_TEST

START_TEST(gradients_with_own_grids_are_the_central_differences)
{
    batch *const b = create_batch((uint64_t)_i, 0.01);
    tce_segment *const seg = prepare(b, 1, E, 0.0, NULL);

    fill_old(b, seg);
    check_gradient(b, seg, 1, b->mask, 0.0);
    tce_segment_free(seg);
    free_batch(b);
}
END_TEST

/*
 * the last episode has the largest variance and is masked: the others vary under a constant
 * regulariser
 */
START_TEST(gradients_hold_the_regulariser_constant)
{
    batch *const b = create_batch((uint64_t)_i, 0.01);
    tce_segment *const seg = prepare(b, 0, E, 1e-3, NULL);

    for (size_t i = 0; i < P * P; i++)
        b->L[(E - 1) * P * P + i] *= 10.0;
    fill_old(b, seg);
    memset(b->mask + (E - 1) * J, 0, J);
    check_gradient(b, seg, E - 1, b->mask, 0.0);
    tce_segment_free(seg);
    free_batch(b);
}
END_TEST

/* ---- errors ---------------------------------------------------------------------------------- */

static void all_equal(size_t n, const double *x, double want)
{
    for (size_t i = 0; i < n; i++)
        ck_assert_msg(isnan(want) ? isnan(x[i]) : x[i] == want, "entry %zu is %g", i, x[i]);
}

START_TEST(bad_time_points_are_refused)
{
    int32_t pairs[20] = { -7 };
    tce_random random;
    size_t n = 99;

    tce_random_start(&random, 1, 0, 0, 0);
    fails(tce_segment_choose_pairs(2, 10, 5, 0, &random, pairs, &n), TCE_E_ARGUMENT, "selection");
    fails(tce_segment_choose_pairs(TCE_SEGMENT_POINTS_INTERVAL, 10, 1, 0, &random, pairs, &n),
          TCE_E_VALUE, "K = 1");
    fails(tce_segment_choose_pairs(TCE_SEGMENT_POINTS_RANDOM, 10, 11, 0, &random, pairs, &n),
          TCE_E_VALUE, "K = 11");
    fails(tce_segment_choose_pairs(TCE_SEGMENT_POINTS_RANDOM, 10, 5, 0, NULL, pairs, &n),
          TCE_E_ARGUMENT, "random");
    fails(tce_segment_choose_pairs(TCE_SEGMENT_POINTS_RANDOM, 10, 5, 0, &random, NULL, &n),
          TCE_E_ARGUMENT, "out_pairs");
    fails(tce_segment_choose_pairs(TCE_SEGMENT_POINTS_INTERVAL, 10, 5, 2, NULL, pairs, &n),
          TCE_E_VALUE, "first = 2");
    fails(tce_segment_choose_pairs(TCE_SEGMENT_POINTS_INTERVAL, 10, 5, 0, NULL, pairs, NULL),
          TCE_E_ARGUMENT, "out_J");
    ck_assert_int_eq(pairs[0], -7);
    ck_assert_uint_eq(n, 99);
}
END_TEST

START_TEST(bad_advantage_arguments_are_refused)
{
    const int32_t outside[2] = { 2, 6 }, backwards[2] = { 2, 2 }, negative[2] = { -1, 2 },
                  pair[2] = { 0, 1 };
    const int32_t long_one[1] = { 7 };
    double out[1] = { SENTINEL };
    double bad[6] = { 0, 0, 0, INFINITY, 0, 0 };

    fails(seg_advantage(3, 1, 6, 1, END_REWARDS, END_VALUES, NULL, pair, NULL, 1, 1, out, NULL),
          TCE_E_ARGUMENT, "kind");
    fails(seg_advantage(0, 1, 6, 1, END_REWARDS, END_VALUES, NULL, NULL, NULL, 1, 1, out, NULL),
          TCE_E_ARGUMENT, "pairs");
    fails(seg_advantage(0, 1, 6, 1, END_REWARDS, END_VALUES, NULL, outside, NULL, 1, 1, out, NULL),
          TCE_E_VALUE, "pairs[0]");
    fails(
        seg_advantage(0, 1, 6, 1, END_REWARDS, END_VALUES, NULL, backwards, NULL, 1, 1, out, NULL),
        TCE_E_VALUE, "(2, 2)");
    fails(seg_advantage(0, 1, 6, 1, END_REWARDS, END_VALUES, NULL, negative, NULL, 1, 1, out, NULL),
          TCE_E_VALUE, "(-1, 2)");
    fails(seg_advantage(0, 1, 6, 1, END_REWARDS, END_VALUES, NULL, pair, long_one, 1, 1, out, NULL),
          TCE_E_VALUE, "lengths[0]");
    fails(seg_advantage(0, 1, 6, 1, END_REWARDS, END_VALUES, NULL, pair, NULL, 2, 1, out, NULL),
          TCE_E_VALUE, "gamma");
    fails(seg_advantage(0, 1, 6, 1, bad, END_VALUES, NULL, pair, NULL, 1, 1, out, NULL),
          TCE_E_VALUE, "rewards[3]");
    fails(seg_advantage(0, 1, 6, 1, END_REWARDS, NULL, NULL, pair, NULL, 1, 1, out, NULL),
          TCE_E_ARGUMENT, "values");
    fails(seg_advantage(1, 1, 6, 1, NULL, NULL, NULL, pair, NULL, 1, 1, out, NULL), TCE_E_ARGUMENT,
          "step_advantages");
    fails(seg_advantage(0, 1, 6, 1, END_REWARDS, END_VALUES, NULL, pair, NULL, 1, 1, NULL, NULL),
          TCE_E_ARGUMENT, "out");
    all_equal(1, out, SENTINEL);
}
END_TEST

static void refuse_options(tce_segment_options options, tce_status want, const char *word)
{
    tce_segment *seg = (tce_segment *)&options;

    fails(tce_segment_create(&options, NULL, &seg), want, word);
    ck_assert_ptr_null(seg);
}

START_TEST(structs_without_a_size_or_from_a_newer_version_are_refused)
{
    struct {
        tce_segment_paths paths;
        double appended;
    } newer = { .paths = { .struct_size = sizeof newer }, .appended = 1.0 };
    const tce_segment_paths no_paths = { 0 };
    const tce_segment_steps no_steps = { 0 };
    batch *const b = create_batch(1, 0.01);
    tce_segment *const seg = prepare(b, 1, E, 1e-4, NULL);

    fails(tce_segment_advantage(NULL), TCE_E_ARGUMENT, "tce_segment_steps is NULL");
    fails(tce_segment_advantage(&no_steps), TCE_E_ARGUMENT, "tce_segment_steps.struct_size = 0");
    fails(tce_segment_log_prob(seg, NULL), TCE_E_ARGUMENT, "tce_segment_paths is NULL");
    fails(tce_segment_log_prob(seg, &no_paths), TCE_E_ARGUMENT, "struct_size = 0");
    fails(tce_segment_surrogate(seg, &newer.paths, NULL), TCE_E_VERSION, "tce_segment_paths");
    tce_segment_free(seg);
    free_batch(b);
}
END_TEST

START_TEST(bad_options_are_refused)
{
    tce_mp *const mp = create_mp(TCE_MP_PRODMP, 0.0);
    tce_mp *const dmp = create_mp(TCE_MP_DMP, 0.0);
    tce_segment *seg = NULL;
    tce_segment_options good, bad;

    tce_segment_options_init(&good, sizeof good);
    good.mp = mp;
    good.max_episodes = 4;
    good.max_steps = 10;

    bad = good, bad.mp = NULL, refuse_options(bad, TCE_E_ARGUMENT, "mp");
    bad = good, bad.max_episodes = 0, refuse_options(bad, TCE_E_VALUE, "max_episodes");
    bad = good, bad.max_steps = 1, refuse_options(bad, TCE_E_VALUE, "max_steps");
    bad = good, bad.max_pairs = -1, refuse_options(bad, TCE_E_VALUE, "max_pairs");
    bad = good, bad.shared_cov = 2, refuse_options(bad, TCE_E_VALUE, "shared_cov");
    bad = good, bad.max_grids = 3, refuse_options(bad, TCE_E_VALUE, "max_grids");
    bad = good, bad.reg = -1.0, refuse_options(bad, TCE_E_VALUE, "reg");
    bad = good, bad.reg = INFINITY, refuse_options(bad, TCE_E_VALUE, "reg");
    bad = good, bad.struct_size = 0, refuse_options(bad, TCE_E_ARGUMENT, "struct_size");
    bad = good, bad.reserved = 1, refuse_options(bad, TCE_E_VERSION, "reserved");
    bad = good, bad.mp = dmp, refuse_options(bad, TCE_E_UNSUPPORTED, "");
    fails(tce_segment_create(NULL, NULL, &seg), TCE_E_ARGUMENT, "tce_segment_options");
    fails(tce_segment_create(&good, NULL, NULL), TCE_E_ARGUMENT, "out");

    /* a longer struct from a newer version sets something unknown */
    struct {
        tce_segment_options options;
        double more;
    } newer = { good, 1.0 };
    newer.options.struct_size = sizeof newer;
    fails(tce_segment_create(&newer.options, NULL, &seg), TCE_E_VERSION, "tce_segment_options");
    newer.more = 0.0;
    ok(tce_segment_create(&newer.options, NULL, &seg));
    tce_segment_free(seg);
    tce_segment_free(NULL);
    tce_mp_free(mp);
    tce_mp_free(dmp);
}
END_TEST

START_TEST(bad_pairs_are_refused)
{
    batch *const b = create_batch(1, 0.0);
    tce_segment *const seg = create_segment(b->mp, 1, 1, 1e-4, NULL, NULL);
    const int32_t outside[2] = { 3, T }, backwards[2] = { 5, 4 };
    double far[T], out[E * J];

    fill_sentinel(E * J, out);
    fails(seg_log_prob(seg, E, b->positions, b->mean, b->L, NULL, NULL, out), TCE_E_STATE,
          "set_pairs");
    fails(tce_segment_set_pairs(NULL, 1, T, b->times, b->init_time, J, b->pairs), TCE_E_ARGUMENT,
          "seg");
    fails(tce_segment_set_pairs(seg, 1, T, b->times, b->init_time, J, NULL), TCE_E_ARGUMENT,
          "pairs");
    fails(tce_segment_set_pairs(seg, 1, T, NULL, b->init_time, J, b->pairs), TCE_E_ARGUMENT,
          "times");
    fails(tce_segment_set_pairs(seg, 1, T, b->times, NULL, J, b->pairs), TCE_E_ARGUMENT,
          "init_time");
    fails(tce_segment_set_pairs(seg, E, T, b->times, b->init_time, J, b->pairs), TCE_E_SHAPE,
          "n_grids");
    fails(tce_segment_set_pairs(seg, 1, T + 1, b->times, b->init_time, J, b->pairs), TCE_E_SHAPE,
          "T = 51");
    fails(tce_segment_set_pairs(seg, 1, T, b->times, b->init_time, J + 1, b->pairs), TCE_E_SHAPE,
          "J = 10");
    fails(tce_segment_set_pairs(seg, 1, T, b->times, b->init_time, 0, b->pairs), TCE_E_SHAPE,
          "J = 0");
    fails(tce_segment_set_pairs(seg, 1, T, b->times, b->init_time, 1, outside), TCE_E_VALUE,
          "(3, 50)");
    fails(tce_segment_set_pairs(seg, 1, T, b->times, b->init_time, 1, backwards), TCE_E_VALUE,
          "(5, 4)");

    /* a time beyond the table is the primitive's to refuse; the old pairs are gone then */
    ok(tce_segment_set_pairs(seg, 1, T, b->times, b->init_time, J, b->pairs));
    for (size_t t = 0; t < T; t++)
        far[t] = 100.0 + (double)t;
    ck_assert_int_eq(tce_segment_set_pairs(seg, 1, T, far, b->init_time, J, b->pairs), TCE_E_VALUE);
    fails(seg_log_prob(seg, E, b->positions, b->mean, b->L, NULL, NULL, out), TCE_E_STATE,
          "set_pairs");
    all_equal(E * J, out, SENTINEL);
    ok(tce_segment_set_pairs(seg, 1, T, b->times, b->init_time, J, b->pairs));
    ok(seg_log_prob(seg, E, b->positions, b->mean, b->L, NULL, NULL, out));
    tce_segment_free(seg);
    free_batch(b);
}
END_TEST

START_TEST(bad_batches_are_refused_and_outputs_stay)
{
    batch *const b = create_batch(1, 0.01);
    tce_segment *const seg = prepare(b, 1, E, 1e-4, NULL);
    double out[E * J];

    fill_old(b, seg);
    fill_sentinel(E * J, out);
    fails(seg_log_prob(NULL, E, b->positions, b->mean, b->L, NULL, NULL, out), TCE_E_ARGUMENT,
          "seg");
    fails(seg_log_prob(seg, E, NULL, b->mean, b->L, NULL, NULL, out), TCE_E_ARGUMENT, "positions");
    fails(seg_log_prob(seg, E, b->positions, NULL, b->L, NULL, NULL, out), TCE_E_ARGUMENT, "mean");
    fails(seg_log_prob(seg, E, b->positions, b->mean, NULL, NULL, NULL, out), TCE_E_ARGUMENT, "L");
    fails(seg_log_prob(seg, E, b->positions, b->mean, b->L, NULL, NULL, NULL), TCE_E_ARGUMENT,
          "out");
    fails(seg_log_prob(seg, E + 1, b->positions, b->mean, b->L, NULL, NULL, out), TCE_E_SHAPE,
          "E = 7");
    fails(seg_log_prob(seg, 0, b->positions, b->mean, b->L, NULL, NULL, out), TCE_E_SHAPE, "E = 0");
    fails(seg_log_prob(seg, E - 1, b->positions, b->mean, b->L, NULL, NULL, out), TCE_E_SHAPE,
          "grids");
    fails(seg_surrogate(seg, E, b->positions, b->mean, b->L, NULL, NULL, b->old, b->advantages,
                        NULL, -0.1, NULL, out, NULL, NULL),
          TCE_E_VALUE, "clip");
    fails(seg_surrogate(seg, E, b->positions, b->mean, b->L, NULL, NULL, NULL, b->advantages, NULL,
                        0.0, NULL, out, NULL, NULL),
          TCE_E_ARGUMENT, "log_prob_old");
    tce_returns_stats no_stats = { 0 };
    fails(seg_surrogate(seg, E, b->positions, b->mean, b->L, NULL, NULL, b->old, b->advantages,
                        NULL, 0.0, &no_stats, out, NULL, NULL),
          TCE_E_ARGUMENT, "TCE_INIT(tce_returns_stats)");
    b->advantages[3] = INFINITY;
    fails(seg_surrogate(seg, E, b->positions, b->mean, b->L, NULL, NULL, b->old, b->advantages,
                        NULL, 0.0, NULL, out, NULL, NULL),
          TCE_E_VALUE, "advantages[3]");
    b->mean[2] = NAN;
    fails(seg_log_prob(seg, E, b->positions, b->mean, b->L, NULL, NULL, out), TCE_E_VALUE,
          "mean[2]");
    b->mean[2] = 0.0;
    b->init_vel[1] = NAN;
    fails(seg_log_prob(seg, E, b->positions, b->mean, b->L, NULL, b->init_vel, out), TCE_E_VALUE,
          "init_vel[1]");
    b->positions[((E - 1) * T + (size_t)b->pairs[0]) * D] = NAN;
    fails(seg_log_prob(seg, E, b->positions, b->mean, b->L, NULL, NULL, out), TCE_E_VALUE,
          "positions[5,4,0]");
    all_equal(E * J, out, SENTINEL);
    tce_segment_free(seg);
    free_batch(b);
}
END_TEST

/*
 * runs a surrogate that has to fail numerically, and looks for NaN in all that it should have
 * written
 */
static void fails_with_nan(const batch *b, tce_segment *seg, size_t n_L, tce_status want,
                           const char *word)
{
    static result got;

    fill_sentinel(E * P * P, got.d_L);
    got.stats = TCE_INIT(tce_returns_stats);
    fails(seg_surrogate(seg, E, b->positions, b->mean, b->L, b->init_pos, b->init_vel, b->old,
                        b->advantages, NULL, 0.0, &got.stats, got.log_prob, got.d_mean, got.d_L),
          want, word);
    all_equal(5, &got.stats.loss, NAN);
    all_equal(E * J, got.log_prob, NAN);
    all_equal(E * P, got.d_mean, NAN);
    all_equal(n_L * P * P, got.d_L, NAN);
}

START_TEST(numerical_failures_fill_the_outputs_with_nan)
{
    batch *const b = create_batch(1, 0.0);
    static result got;

    for (int32_t shared = 0; shared < 2; shared++) {
        tce_segment *const seg = prepare(b, shared, 1, 1e-4, NULL);
        const size_t n_L = shared ? 1 : E;

        fill_old(b, seg);
        const double diagonal = b->L[P + 1];
        b->L[P + 1] = 0.0;
        fails_with_nan(b, seg, n_L, TCE_E_NOT_PD, "L[0,1,1]");
        b->L[P + 1] = diagonal;

        const double old = b->old[2 * J + 4];
        b->old[2 * J + 4] = -1000.0;
        fails_with_nan(b, seg, n_L, TCE_E_NOT_FINITE, "episode 2, segment 4");
        b->old[2 * J + 4] = old;

        /* the handle works again */
        evaluate(b, seg, NULL, 0.0, &got);
        ck_assert(isfinite(got.stats.loss));
        tce_segment_free(seg);
    }
    free_batch(b);
}
END_TEST

START_TEST(equal_times_without_a_regulariser_are_not_positive_definite)
{
    batch *const b = create_batch(1, 0.0);

    b->times[b->pairs[1]] = b->times[b->pairs[0]];
    tce_segment *const seg = prepare(b, 1, 1, 0.0, NULL);
    fails_with_nan(b, seg, 1, TCE_E_NOT_PD, "segment 0");
    tce_segment_free(seg);
    free_batch(b);
}
END_TEST

START_TEST(segments_before_the_delay_are_singular_and_have_no_velocity)
{
    batch *const b = create_batch(1, 0.0);
    double out[E * J];

    tce_mp_free(b->mp);
    b->mp = create_mp(TCE_MP_PRODMP, 2.0);
    tce_segment *const seg = prepare(b, 1, 1, 1e-4, NULL);
    fill_sentinel(E * J, out);
    fails(seg_log_prob(seg, E, b->positions, b->mean, b->L, b->init_pos, b->init_vel, out),
          TCE_E_VALUE, "init_vel[0,0]");
    all_equal(E * J, out, SENTINEL);
    fails(seg_log_prob(seg, E, b->positions, b->mean, b->L, b->init_pos, NULL, out), TCE_E_SINGULAR,
          "delay");
    all_equal(E * J, out, NAN);
    tce_segment_free(seg);
    free_batch(b);
}
END_TEST

/* ---- memory ---------------------------------------------------------------------------------- */

START_TEST(a_failing_allocator_fails_create_and_leaks_nothing)
{
    tce_mp *const mp = create_mp(TCE_MP_PRODMP, 0.0);
    test_memory memory = { .budget = 0 };
    tce_segment_options options;
    tce_segment *seg = NULL;
    tce_hooks hooks;
    size_t budget = 0;

    tce_segment_options_init(&options, sizeof options);
    options.mp = mp;
    options.max_steps = 10;
    for (;; budget++) {
        memory.budget = budget;
        test_hooks(&memory, &hooks);
        const tce_status status = tce_segment_create(&options, &hooks, &seg);
        if (status == TCE_OK)
            break;
        ck_assert_int_eq(status, TCE_E_NOMEM);
        ck_assert_ptr_null(seg);
        ck_assert_uint_eq(memory.live, 0);
    }
    ck_assert_uint_eq(budget, 1);
    tce_segment_free(seg);
    ck_assert_uint_eq(memory.live, 0);

    /* sizes that no memory holds */
    options.max_episodes = options.max_steps = options.max_pairs = INT32_MAX;
    options.max_grids = INT32_MAX;
    fails(tce_segment_create(&options, NULL, &seg), TCE_E_NOMEM, "tce_segment");
    ck_assert_ptr_null(seg);
    tce_mp_free(mp);
}
END_TEST

START_TEST(nothing_is_allocated_after_create)
{
    batch *const b = create_batch(1, 0.01);
    test_memory memory = { .budget = SIZE_MAX };
    static result got;
    tce_hooks hooks;

    test_hooks(&memory, &hooks);
    for (int32_t shared = 0; shared < 2; shared++) {
        tce_segment *const seg = create_segment(b->mp, shared, E, 1e-4, NULL, &hooks);
        const size_t before = memory.n_alloc;

        for (int i = 0; i < 3; i++) {
            ok(tce_segment_set_pairs(seg, i == 1 ? 1 : E, T, b->times, b->init_time, J, b->pairs));
            fill_old(b, seg);
            evaluate(b, seg, b->mask, 0.2, &got);
        }
        ck_assert_uint_eq(memory.n_alloc, before);
        tce_segment_free(seg);
    }
    ck_assert_uint_eq(memory.live, 0);
    free_batch(b);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("segment");
    TCase *property = test_case(suite, "property", 0);
    TCase *gradient = test_case(suite, "gradient", 0);
    TCase *errors = test_case(suite, "errors", 0);
    TCase *memory = test_case(suite, "memory", 0);

    tcase_add_test(property, interval_pairs_are_consecutive_and_within_their_bound);
    tcase_add_test(property, every_first_index_is_drawn);
    tcase_add_test(property, random_points_are_sorted_distinct_and_unbiased);
    tcase_add_loop_test(property, undiscounted_segments_add_up_to_the_whole, 0, N_SEEDS);
    tcase_add_test(property, an_early_end_leaves_out_what_comes_after_it);
    tcase_add_test(property, rewards_and_step_sums_stop_at_an_early_end);
    tcase_add_test(property, a_full_length_is_no_early_end);
    tcase_add_loop_test(property, likelihood_is_that_of_the_dense_gaussian, 0, N_SEEDS);
    tcase_add_loop_test(property, pairs_may_come_in_any_order_and_overlap, 0, N_SEEDS);
    tcase_add_loop_test(property, copies_of_a_shared_factor_give_the_shared_result, 0, N_SEEDS);
    tcase_add_loop_test(property, equal_grids_are_one_grid, 0, N_SEEDS);
    tcase_add_loop_test(property, episodes_with_their_own_grids_add_up, 0, N_SEEDS);
    tcase_add_loop_test(property, a_call_leaves_no_trace_in_the_next_one, 0, 4);
    tcase_add_loop_test(property, one_two_and_five_threads_give_the_same_bytes, 0, N_SEEDS);
    tcase_add_loop_test(property, a_large_batch_gives_the_same_bytes_on_one_and_three_threads, 0,
                        3);
    tcase_add_loop_test(property, masked_segments_take_part_in_nothing, 0, N_SEEDS);
    tcase_add_test(property, a_mask_of_zeros_gives_zeros);
    tcase_add_loop_test(property, at_the_old_parameters_every_ratio_is_one, 0, N_SEEDS);
    tcase_add_loop_test(property, both_surrogates_agree, 0, N_SEEDS);
    tcase_add_test(property, a_promp_has_no_start_and_is_scored_all_the_same);

    tcase_add_loop_test(gradient, gradients_of_a_shared_factor_are_the_central_differences, 0,
                        N_SEEDS);
    tcase_add_loop_test(gradient, gradients_with_own_grids_are_the_central_differences, 0, N_SEEDS);
    tcase_add_loop_test(gradient, gradients_hold_the_regulariser_constant, 0, N_SEEDS);

    tcase_add_test(errors, bad_time_points_are_refused);
    tcase_add_test(errors, bad_advantage_arguments_are_refused);
    tcase_add_test(errors, structs_without_a_size_or_from_a_newer_version_are_refused);
    tcase_add_test(errors, bad_options_are_refused);
    tcase_add_test(errors, bad_pairs_are_refused);
    tcase_add_test(errors, bad_batches_are_refused_and_outputs_stay);
    tcase_add_test(errors, numerical_failures_fill_the_outputs_with_nan);
    tcase_add_test(errors, equal_times_without_a_regulariser_are_not_positive_definite);
    tcase_add_test(errors, segments_before_the_delay_are_singular_and_have_no_velocity);

    tcase_add_test(memory, a_failing_allocator_fails_create_and_leaks_nothing);
    tcase_add_test(memory, nothing_is_allocated_after_create);

    return test_run(suite);
}
