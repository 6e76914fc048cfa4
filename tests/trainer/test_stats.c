/*
 * Statistics over runs and smoothness against the numbers of rliable and NumPy, and what those
 * leave open: scores equal to tau, scores above 1, joints at rest, variance 0.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <check.h>

#include "report/stats.h"
#include "support.h"

/* Sums of at most some thousand terms, in another order. */
#define TOLERANCE 1e-12

#define STATS "../trainer/golden/rivals_stats.json"
#define SMOOTHNESS "../trainer/golden/rivals_smoothness.json"

static double number(const json_t *object, const char *key)
{
    double *one = test_field(object, key, 1);
    const double value = one[0];
    free(one);
    return value;
}

static void assert_number(const json_t *object, const char *key, double got)
{
    const double want = number(object, key);
    test_assert_close(&got, &want, 1, TOLERANCE);
}

/* A case of rivals_stats: scores [R, K] and the resamplings in it, [n_draws, R, K]. */
typedef struct score_case {
    const json_t *json;
    size_t R, K, n_draws, n_tau;
    double *x, *taus, *work, *values;
    uint32_t *draws;
} score_case;

static score_case read_scores(const json_t *json)
{
    score_case c = { .json = json };
    size_t n = 0;
    c.x = test_array(json_object_get(json, "scores"), &n);
    c.R = json_array_size(json_object_get(json, "scores"));
    c.K = n / c.R;
    c.taus = test_array(json_object_get(json, "taus"), &c.n_tau);
    c.n_draws = json_array_size(json_object_get(json, "indices"));
    double *draws = test_field(json, "indices", c.n_draws * n);
    c.draws = malloc(c.n_draws * n * sizeof *c.draws);
    for (size_t i = 0; i < c.n_draws * n; i++)
        c.draws[i] = (uint32_t)draws[i];
    free(draws);
    c.work = calloc(n, sizeof(double));
    c.values = calloc(c.n_draws, sizeof(double));
    return c;
}

static void free_scores(score_case *c)
{
    free(c->x);
    free(c->taus);
    free(c->draws);
    free(c->work);
    free(c->values);
}

/* Calls `check` for every case of a kind and fails when there is none. */
static void each_case(const char *file, const char *kind, void (*check)(const json_t *))
{
    json_t *cases = test_golden(file);
    size_t i, seen = 0;
    json_t *c;
    json_array_foreach(cases, i,
                       c) if (strcmp(json_string_value(json_object_get(c, "kind")), kind) == 0)
    {
        check(c);
        seen++;
    }
    ck_assert_uint_gt(seen, 0);
    json_decref(cases);
}

/* ---- golden ---------------------------------------------------------------------------------- */

static void check_aggregates(const json_t *json)
{
    score_case c = read_scores(json);
    const size_t n = c.R * c.K;
    assert_number(json, "mean", stats_mean(n, c.x));
    assert_number(json, "median", stats_median(c.R, c.K, c.x, c.work));
    assert_number(json, "optimality_gap", stats_optimality_gap(n, c.x));
    memcpy(c.work, c.x, n * sizeof *c.x);
    assert_number(json, "iqm", stats_iqm(n, c.work));
    free_scores(&c);
}

START_TEST(aggregates_are_those_of_rliable)
{
    each_case(STATS, "iqm_bootstrap", check_aggregates);
}
END_TEST

static void check_given_draws(const json_t *json)
{
    score_case c = read_scores(json);
    const size_t n = c.R * c.K;
    double *want = test_field(json, "bootstrap_iqm", c.n_draws);
    for (size_t i = 0; i < c.n_draws; i++) {
        stats_resample(c.R, c.K, c.x, c.draws + i * n, c.work);
        c.values[i] = stats_iqm(n, c.work);
    }
    test_assert_close(c.values, want, c.n_draws, TOLERANCE);
    free(want);

    const interval found = stats_interval(c.n_draws, c.values, BOOTSTRAP_COVERAGE);
    want = test_field(json, "interval_for_indices", 2);
    test_assert_close(&found.low, want, 1, TOLERANCE);
    test_assert_close(&found.high, want + 1, 1, TOLERANCE);
    free(want);

    want = test_field(json, "profile_interval_for_indices", 2 * c.n_tau);
    for (size_t t = 0; t < c.n_tau; t++) {
        for (size_t i = 0; i < c.n_draws; i++) {
            stats_resample(c.R, c.K, c.x, c.draws + i * n, c.work);
            c.values[i] = stats_profile(n, c.work, c.taus[t]);
        }
        const interval at = stats_interval(c.n_draws, c.values, BOOTSTRAP_COVERAGE);
        test_assert_close(&at.low, want + t, 1, TOLERANCE);
        test_assert_close(&at.high, want + c.n_tau + t, 1, TOLERANCE);
    }
    free(want);
    free_scores(&c);
}

START_TEST(intervals_of_given_draws_are_those_of_rliable)
{
    each_case(STATS, "iqm_bootstrap", check_given_draws);
}
END_TEST

static void check_profile(const json_t *json)
{
    score_case c = read_scores(json);
    double *want = test_field(json, "profile", c.n_tau);
    double *want_mean = test_field(json, "profile_mean", c.n_tau);
    for (size_t t = 0; t < c.n_tau; t++) {
        const double got = stats_profile(c.R * c.K, c.x, c.taus[t]);
        const double got_mean = stats_profile_mean(c.R, c.K, c.x, c.taus[t]);
        test_assert_close(&got, want + t, 1, TOLERANCE);
        test_assert_close(&got_mean, want_mean + t, 1, TOLERANCE);
    }
    free(want);
    free(want_mean);
    free_scores(&c);
}

START_TEST(profiles_are_those_of_rliable)
{
    each_case(STATS, "iqm_bootstrap", check_profile);
}
END_TEST

static void check_bootstrap(const json_t *json)
{
    score_case c = read_scores(json);
    double *low = test_field(json, "interval_low_range", 2);
    double *high = test_field(json, "interval_high_range", 2);
    interval found;
    ck_assert_int_eq(
        stats_bootstrap_iqm(c.R, c.K, c.x, (size_t)number(json, "interval_repetitions"), 7, &found),
        TCE_OK);
    ck_assert_double_ge(found.low, low[0] - 1e-9);
    ck_assert_double_le(found.low, low[1] + 1e-9);
    ck_assert_double_ge(found.high, high[0] - 1e-9);
    ck_assert_double_le(found.high, high[1] + 1e-9);

    /* the profile takes values that are a quantum apart */
    const double quantum = 1.0 / (double)(c.R * c.K);
    double *want = test_field(json, "profile_interval_in_distribution", 2 * c.n_tau);
    interval *at = calloc(c.n_tau, sizeof *at);
    ck_assert_int_eq(stats_bootstrap_profile(c.R, c.K, c.x, c.n_tau, c.taus,
                                             (size_t)number(json, "profile_repetitions"), 7, at),
                     TCE_OK);
    for (size_t t = 0; t < c.n_tau; t++) {
        ck_assert_double_le(fabs(at[t].low - want[t]), quantum + 1e-9);
        ck_assert_double_le(fabs(at[t].high - want[c.n_tau + t]), quantum + 1e-9);
    }
    free(at);
    free(want);
    free(low);
    free(high);
    free_scores(&c);
}

START_TEST(own_draws_land_where_rliables_do)
{
    each_case(STATS, "iqm_bootstrap", check_bootstrap);
}
END_TEST

static void check_jerk(const json_t *json)
{
    size_t size = 0;
    double *velocity = test_array(json_object_get(json, "velocity"), &size);
    const size_t n = json_array_size(json_object_get(json, "velocity"));
    smoothness found;
    stats_smoothness(n, size / n, velocity, number(json, "dt"), &found);
    assert_number(json, "maximum_jerk", found.maximum_jerk);
    assert_number(json, "mean_squared_jerk", found.mean_squared_jerk);
    assert_number(json, "dimensionless_jerk", found.dimensionless_jerk);
    assert_number(json, "dimensionless_jerk_integral", found.dimensionless_jerk_integral);
    free(velocity);
}

START_TEST(jerk_has_the_published_definition)
{
    each_case(SMOOTHNESS, "jerk", check_jerk);
}
END_TEST

/* Covariance of samples [S, T, D], index d T + t. */
static void check_correlation(const json_t *json)
{
    size_t size = 0;
    const json_t *samples = json_object_get(json, "samples");
    double *y = test_array(samples, &size);
    const size_t S = json_array_size(samples), T = json_array_size(json_array_get(samples, 0)),
                 D = size / (S * T), n = D * T;
    double *matrix = calloc(n * n, sizeof *matrix);
    double *mean = calloc(n, sizeof *mean);
    for (size_t i = 0; i < n; i++)
        for (size_t s = 0; s < S; s++)
            mean[i] += y[s * n + i % T * D + i / T] / (double)S;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            for (size_t s = 0; s < S; s++)
                matrix[i * n + j] += (y[s * n + i % T * D + i / T] - mean[i]) *
                                     (y[s * n + j % T * D + j / T] - mean[j]);
    correlation_of_covariance(n, matrix);
    double *want = test_field(json, "matrix", n * n);
    test_assert_close(matrix, want, n * n, TOLERANCE);
    free(want);
    free(mean);
    free(matrix);
    free(y);
}

START_TEST(correlation_is_that_of_numpy)
{
    each_case(SMOOTHNESS, "correlation", check_correlation);
}
END_TEST

/* ---- property -------------------------------------------------------------------------------- */

START_TEST(a_score_equal_to_tau_is_not_above_it)
{
    const double x[] = { 0.5, 0.5, 0.2, 0.9 };
    ck_assert_double_eq(stats_profile(4, x, 0.5), 0.25);
    ck_assert_double_eq(stats_profile(4, x, 0.2), 0.75);
    ck_assert_double_eq(stats_profile_mean(2, 2, x, 0.35), 0.5);
}
END_TEST

START_TEST(scores_above_one_close_no_gap)
{
    const double x[] = { 3.0, 0.5 };
    ck_assert_double_eq(stats_optimality_gap(2, x), 0.25);
}
END_TEST

START_TEST(few_scores_are_all_in_the_iqm)
{
    double x[] = { 3.0, 1.0, 2.0 };
    ck_assert_double_eq(stats_iqm(3, x), 2.0);
    ck_assert_double_eq(stats_iqm(1, x), 1.0);
}
END_TEST

START_TEST(resampling_stays_within_a_task)
{
    /* run r of task k scores 10 k + r */
    enum { R = 4, K = 3 };
    double x[R * K], drawn[R * K];
    uint32_t runs[R * K];
    size_t seen[R] = { 0 };
    for (size_t i = 0; i < R * K; i++)
        x[i] = (double)(10 * (i % K) + i / K);
    tce_random random;
    tce_random_start(&random, (uint64_t)_i, 1, 0, 0);
    for (int repeat = 0; repeat < 100; repeat++) {
        stats_draw_runs(R, K, &random, runs);
        stats_resample(R, K, x, runs, drawn);
        for (size_t i = 0; i < R * K; i++) {
            ck_assert_uint_lt(runs[i], R);
            ck_assert_double_eq(drawn[i], (double)(10 * (i % K) + runs[i]));
            seen[runs[i]]++;
        }
    }
    for (size_t r = 0; r < R; r++)
        ck_assert_uint_gt(seen[r], 0);
}
END_TEST

START_TEST(equal_scores_have_an_interval_of_no_width)
{
    const double x[] = { 0.3, 0.3, 0.3, 0.3, 0.3 };
    interval found;
    ck_assert_int_eq(stats_bootstrap_iqm(5, 1, x, 100, 1, &found), TCE_OK);
    ck_assert_double_eq_tol(found.low, 0.3, TOLERANCE);
    ck_assert_double_eq_tol(found.high, 0.3, TOLERANCE);
}
END_TEST

START_TEST(the_same_seed_gives_the_same_interval)
{
    const double x[] = { 0.1, 0.5, 0.6, 0.9, 0.3, 0.7 };
    interval a, b, other;
    ck_assert_int_eq(stats_bootstrap_iqm(6, 1, x, 501, 3, &a), TCE_OK);
    ck_assert_int_eq(stats_bootstrap_iqm(6, 1, x, 501, 3, &b), TCE_OK);
    ck_assert_int_eq(stats_bootstrap_iqm(6, 1, x, 501, 4, &other), TCE_OK);
    ck_assert(memcmp(&a, &b, sizeof a) == 0);
    ck_assert(memcmp(&a, &other, sizeof a) != 0);
}
END_TEST

START_TEST(a_joint_at_rest_does_not_count)
{
    const double one[] = { 0.0, 1.0, -1.0, 2.0 };
    const double two[] = { 0.0, 0.0, 1.0, 0.0, -1.0, 0.0, 2.0, 0.0 };
    const double still[8] = { 0 };
    smoothness alone, beside;
    stats_smoothness(4, 1, one, 0.1, &alone);
    stats_smoothness(4, 2, two, 0.1, &beside);
    ck_assert_double_eq(alone.dimensionless_jerk, beside.dimensionless_jerk);
    ck_assert_double_eq(alone.maximum_jerk, beside.maximum_jerk);
    ck_assert_double_eq_tol(alone.mean_squared_jerk, 2.0 * beside.mean_squared_jerk, 1e-6);
    stats_smoothness(4, 2, still, 0.1, &beside);
    ck_assert_double_eq(beside.dimensionless_jerk, 0.0);
    stats_smoothness(2, 1, one, 0.1, &beside);
    ck_assert_double_eq(beside.maximum_jerk, 0.0);
}
END_TEST

START_TEST(a_straight_velocity_has_no_jerk)
{
    double v[20];
    smoothness found;
    for (int i = 0; i < 20; i++)
        v[i] = 0.25 * i;
    stats_smoothness(20, 1, v, 0.5, &found);
    ck_assert_double_eq(found.maximum_jerk, 0.0);
}
END_TEST

START_TEST(variance_zero_correlates_with_itself_only)
{
    double c[] = { 0.0, 0.0, 0.0, 0.0, 4.0, -1.0, 0.0, -1.0, 1.0 };
    const double want[] = { 1.0, 0.0, 0.0, 0.0, 1.0, -0.5, 0.0, -0.5, 1.0 };
    correlation_of_covariance(3, c);
    test_assert_close(c, want, 9, TOLERANCE);
}
END_TEST

START_TEST(policy_correlation_is_that_of_its_sampled_paths)
{
    enum { D = 2, T = 5, N = 20000, n = D * T };
    tce_mp_options options;
    tce_mp_options_init(&options, sizeof options);
    options.n_dof = D;
    options.n_basis = 3;
    tce_mp *mp = NULL;
    ck_assert_int_eq(tce_mp_create(&options, NULL, &mp), TCE_OK);
    const size_t P = tce_mp_n_params(mp);
    const double times[T] = { 0.2, 0.4, 0.6, 0.8, 1.0 };
    double *L = calloc(P * P, sizeof *L), *zero = calloc(P, sizeof *zero),
           *w = calloc(P, sizeof *w);
    double got[n * n], sampled[n * n] = { 0 }, y[T * D];
    tce_random random;
    tce_random_start(&random, 5, 1, 0, 0);
    test_random_cholesky(&random, P, 10.0, 1.0, L);
    ck_assert_int_eq(action_correlation(mp, T, times, L, got), TCE_OK);

    /* paths start at 0 with mean 0: the second moments are the covariance */
    tce_mp_grid grid;
    tce_mp_grid_init(&grid, sizeof grid);
    grid.E = 1;
    grid.T = T;
    grid.n_time_rows = 1;
    grid.n_init_times = 1;
    grid.times = times;
    for (int s = 0; s < N; s++) {
        ck_assert_int_eq(tce_mp_sample(mp, &grid, zero, L, &random, w, y, NULL), TCE_OK);
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++)
                sampled[i * n + j] += y[i % T * D + i / T] * y[j % T * D + j / T];
    }
    correlation_of_covariance(n, sampled);
    /* the error of a correlation of N samples is below 1/sqrt(N): five of these */
    ck_assert_double_le(test_difference(n * n, got, sampled), 5.0 / sqrt((double)N));
    free(L);
    free(zero);
    free(w);
    tce_mp_free(mp);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("stats");

    TCase *golden = test_case(suite, "golden", 0);
    tcase_add_test(golden, aggregates_are_those_of_rliable);
    tcase_add_test(golden, intervals_of_given_draws_are_those_of_rliable);
    tcase_add_test(golden, profiles_are_those_of_rliable);
    tcase_add_test(golden, own_draws_land_where_rliables_do);
    tcase_add_test(golden, jerk_has_the_published_definition);
    tcase_add_test(golden, correlation_is_that_of_numpy);

    TCase *property = test_case(suite, "property", 0);
    tcase_add_test(property, a_score_equal_to_tau_is_not_above_it);
    tcase_add_test(property, scores_above_one_close_no_gap);
    tcase_add_test(property, few_scores_are_all_in_the_iqm);
    tcase_add_loop_test(property, resampling_stays_within_a_task, 0, 10);
    tcase_add_test(property, equal_scores_have_an_interval_of_no_width);
    tcase_add_test(property, the_same_seed_gives_the_same_interval);
    tcase_add_test(property, a_joint_at_rest_does_not_count);
    tcase_add_test(property, a_straight_velocity_has_no_jerk);
    tcase_add_test(property, variance_zero_correlates_with_itself_only);
    tcase_add_test(property, policy_correlation_is_that_of_its_sampled_paths);

    return test_run(suite);
}
