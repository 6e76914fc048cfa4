/*
 * returns: generalised advantage estimation, Monte-Carlo returns, normalisation, rewards moved to
 * an event, the surrogate loss.
 */
#include <check.h>
#include <math.h>

#include <tce/returns.h>

#include "support.h"

#define SENTINEL 12345.0

/* Two ways of computing the same sum: a few hundred roundings of numbers of size 1 to 100. */
#define TOL_ROUNDING 1e-11

#define N_SEEDS 20

enum { E = 6, T = 50 };

/* what outputs hold before a call */
static void fill_sentinel(size_t n, double *x)
{
    for (size_t i = 0; i < n; i++)
        x[i] = SENTINEL;
}

static void all_equal(size_t n, const double *x, double want)
{
    for (size_t i = 0; i < n; i++)
        ck_assert_msg(isnan(want) ? isnan(x[i]) : x[i] == want, "entry %zu is %g", i, x[i]);
}

/* ---- property -------------------------------------------------------------------------------- */

START_TEST(gae_with_lambda_one_is_monte_carlo)
{
    double rewards[E * T], values[E * (T + 1)], gae[2][E * T], carlo[2][E * T];
    uint8_t ends[E * T];
    tce_random random;

    tce_random_start(&random, (uint64_t)_i, 1, 0, 0);
    tce_random_normals(&random, E * T, rewards);
    tce_random_normals(&random, E * (T + 1), values);
    for (size_t i = 0; i < E * T; i++)
        ends[i] = tce_random_uniform(&random) < 0.05;
    ok(tce_returns_gae(E, T, rewards, values, ends, 0.97, 1.0, gae[0], gae[1]));
    ok(tce_returns_monte_carlo(E, T, rewards, values, ends, 0.97, carlo[0], carlo[1]));
    test_assert_close(gae[0], carlo[0], E * T, TOL_ROUNDING);
    test_assert_close(gae[1], carlo[1], E * T, TOL_ROUNDING);
}
END_TEST

START_TEST(gae_with_lambda_zero_is_the_temporal_difference)
{
    const double rewards[3] = { 1.0, 2.0, 3.0 };
    const double values[4] = { 0.5, 0.25, 4.0, 8.0 };
    const uint8_t ends[3] = { 0, 1, 0 };
    const double want[3] = { 1.0 + 0.5 * 0.25 - 0.5, 2.0 - 0.25, 3.0 + 0.5 * 8.0 - 4.0 };
    double got[3];

    ok(tce_returns_gae(1, 3, rewards, values, ends, 0.5, 0.0, got, NULL));
    test_assert_close(got, want, 3, TOL_ROUNDING);
}
END_TEST

START_TEST(normalised_numbers_have_mean_zero_and_deviation_one)
{
    double x[T], sum = 0.0, squares = 0.0, single = 3.0;
    const uint8_t one[3] = { 0, 1, 0 };
    double three[3] = { 1.0, 2.0, 3.0 };
    tce_random random;

    tce_random_start(&random, (uint64_t)_i, 3, 0, 0);
    tce_random_normals(&random, T, x);
    for (size_t i = 0; i < T; i++)
        x[i] = 1e3 + 5.0 * x[i];
    tce_returns_normalise(T, NULL, x);
    for (size_t i = 0; i < T; i++)
        sum += x[i];
    for (size_t i = 0; i < T; i++)
        squares += x[i] * x[i];
    ck_assert_double_eq_tol(sum, 0.0, 1e-9);
    ck_assert_double_eq_tol(squares / (T - 1), 1.0, 1e-8);

    /* fewer than two stay */
    tce_returns_normalise(1, NULL, &single);
    ck_assert_double_eq(single, 3.0);
    tce_returns_normalise(3, one, three);
    ck_assert_double_eq(three[1], 2.0);
}
END_TEST

START_TEST(rewards_move_to_the_deciding_event)
{
    const uint8_t events[4][5] = {
        { 0, 0, 1, 1, 1 }, { 1, 1, 1, 1, 1 }, { 0, 0, 0, 0, 0 }, { 0, 0, 0, 0, 1 }
    };
    const double expected[4][5] = {
        { 1, 2, 12, 0, 0 }, { 1, 2, 3, 4, 5 }, { 1, 2, 3, 4, 5 }, { 1, 2, 3, 4, 5 }
    };
    double rewards[4][5];

    for (int i = 0; i < 20; i++)
        rewards[i / 5][i % 5] = i % 5 + 1;
    tce_returns_to_event(4, 5, events[0], rewards[0]);
    ck_assert_mem_eq(rewards, expected, sizeof rewards);
    tce_returns_to_event(0, 5, NULL, NULL);
}
END_TEST

START_TEST(clipping_stops_the_gradient_on_the_side_of_the_advantage_only)
{
    const double log_prob[6] = { 0.5, 0.5, -0.5, -0.5, 0.1, -0.1 };
    const double old[6] = { 0 };
    const double advantages[6] = { 2, -2, 2, -2, 2, -2 };
    const double want[6] = { 0, 2 * exp(0.5) / 6,  -2 * exp(-0.5) / 6,
                             0, -2 * exp(0.1) / 6, 2 * exp(-0.1) / 6 };
    tce_returns_stats stats;
    double d[6];

    stats = TCE_INIT(tce_returns_stats);
    ok(tce_returns_surrogate(6, log_prob, old, advantages, NULL, 0.2, &stats, d));
    test_assert_close(d, want, 6, TOL_ROUNDING);
    const double loss =
        -(2 * 1.2 - 2 * exp(0.5) + 2 * exp(-0.5) - 2 * 0.8 + 2 * exp(0.1) - 2 * exp(-0.1)) / 6;
    ck_assert_double_eq_tol(stats.loss, loss, TOL_ROUNDING);
    ck_assert_double_eq_tol(stats.fraction_clipped, 4.0 / 6.0, TOL_ROUNDING);
    ck_assert_double_eq_tol(stats.ratio_max, exp(0.5), TOL_ROUNDING);
}
END_TEST

/* ---- errors ---------------------------------------------------------------------------------- */

START_TEST(bad_returns_arguments_are_refused)
{
    const double rewards[2] = { 1.0, 2.0 }, values[3] = { 1.0, 2.0, 3.0 },
                 bad[3] = { 1.0, NAN, 3.0 };
    const uint8_t ends[2] = { 0, 0 };
    double out[2];

    fill_sentinel(2, out);
    fails(tce_returns_gae(1, 2, NULL, values, ends, 0.9, 0.9, out, out), TCE_E_ARGUMENT, "rewards");
    fails(tce_returns_gae(1, 2, rewards, values, NULL, 0.9, 0.9, out, out), TCE_E_ARGUMENT, "ends");
    fails(tce_returns_gae(1, 2, bad, values, ends, 0.9, 0.9, out, out), TCE_E_VALUE, "rewards[1]");
    fails(tce_returns_gae(1, 2, rewards, bad, ends, 0.9, 0.9, out, out), TCE_E_VALUE, "values[1]");
    fails(tce_returns_gae(1, 2, rewards, values, ends, 1.1, 0.9, out, out), TCE_E_VALUE, "gamma");
    fails(tce_returns_gae(1, 2, rewards, values, ends, 0.9, -0.1, out, out), TCE_E_VALUE, "lambda");
    fails(tce_returns_monte_carlo(1, 2, rewards, bad, ends, 0.9, out, out), TCE_E_VALUE,
          "values[1]");
    fails(tce_returns_monte_carlo(1, 2, rewards, values, ends, NAN, out, out), TCE_E_VALUE,
          "gamma");
    tce_returns_stats unstarted = { 0 };
    fails(tce_returns_surrogate(2, rewards, values, rewards, NULL, 0.0, &unstarted, out),
          TCE_E_ARGUMENT, "TCE_INIT(tce_returns_stats)");
    all_equal(2, out, SENTINEL);
}
END_TEST

START_TEST(an_overflow_in_the_plain_surrogate_is_reported)
{
    double log_prob[3] = { 0.0, 1000.0, 0.0 }, old[3] = { 0 }, advantages[3] = { 1.0, 1.0, 1.0 },
           d[3];
    const uint8_t mask[3] = { 1, 0, 1 };
    tce_returns_stats stats;

    stats = TCE_INIT(tce_returns_stats);
    fails(tce_returns_surrogate(3, log_prob, old, advantages, NULL, 0.0, &stats, d),
          TCE_E_NOT_FINITE, "entry 1");
    all_equal(3, d, NAN);
    all_equal(5, &stats.loss, NAN);
    ok(tce_returns_surrogate(3, log_prob, old, advantages, mask, 0.0, &stats, d));
    ck_assert_double_eq(stats.loss, -1.0);
    ck_assert_double_eq(d[1], 0.0);
    fill_sentinel(3, d);
    fails(tce_returns_surrogate(3, log_prob, NULL, advantages, NULL, 0.0, &stats, d),
          TCE_E_ARGUMENT, "log_prob_old");
    fails(tce_returns_surrogate(3, log_prob, old, advantages, NULL, NAN, &stats, d), TCE_E_VALUE,
          "clip");
    advantages[0] = NAN;
    fails(tce_returns_surrogate(3, log_prob, old, advantages, mask, 0.0, &stats, d), TCE_E_VALUE,
          "advantages[0]");
    all_equal(3, d, SENTINEL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("returns");
    TCase *property = test_case(suite, "property", 0);
    TCase *errors = test_case(suite, "errors", 0);

    tcase_add_loop_test(property, gae_with_lambda_one_is_monte_carlo, 0, N_SEEDS);
    tcase_add_test(property, gae_with_lambda_zero_is_the_temporal_difference);
    tcase_add_loop_test(property, normalised_numbers_have_mean_zero_and_deviation_one, 0, N_SEEDS);
    tcase_add_test(property, rewards_move_to_the_deciding_event);
    tcase_add_test(property, clipping_stops_the_gradient_on_the_side_of_the_advantage_only);

    tcase_add_test(errors, bad_returns_arguments_are_refused);
    tcase_add_test(errors, an_overflow_in_the_plain_surrogate_is_reported);

    return test_run(suite);
}
