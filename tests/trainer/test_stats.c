/*
 * Statistics over runs, smoothness and correlation: scores equal to tau, scores above 1, joints at
 * rest, variance 0, and correlations against samples. The numbers of rliable and NumPy are compared
 * by `make replay`.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <check.h>

#include "collect/coloured_noise.h"
#include "report/stats.h"
#include "support.h"

/* Sums of at most some thousand terms, in another order. */
#define TOLERANCE 1e-12

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
    ok(stats_bootstrap_iqm(5, 1, x, 100, 1, &found));
    ck_assert_double_eq_tol(found.low, 0.3, TOLERANCE);
    ck_assert_double_eq_tol(found.high, 0.3, TOLERANCE);
}
END_TEST

START_TEST(the_same_seed_gives_the_same_interval)
{
    const double x[] = { 0.1, 0.5, 0.6, 0.9, 0.3, 0.7 };
    interval a, b, other;
    ok(stats_bootstrap_iqm(6, 1, x, 501, 3, &a));
    ok(stats_bootstrap_iqm(6, 1, x, 501, 3, &b));
    ok(stats_bootstrap_iqm(6, 1, x, 501, 4, &other));
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
    ok(tce_mp_create(&options, NULL, &mp));
    const size_t P = tce_mp_n_params(mp);
    const double times[T] = { 0.2, 0.4, 0.6, 0.8, 1.0 };
    double *L = calloc(P * P, sizeof *L), *zero = calloc(P, sizeof *zero),
           *w = calloc(P, sizeof *w);
    double got[n * n], sampled[n * n] = { 0 }, y[T * D];
    tce_random random;
    tce_random_start(&random, 5, 1, 0, 0);
    test_random_cholesky(&random, P, 10.0, 1.0, L);
    ok(action_correlation(mp, T, times, L, got));

    /* paths start at 0 with mean 0: the second moments are the covariance */
    tce_mp_grid grid = TCE_INIT(tce_mp_grid);
    grid.E = 1;
    grid.T = T;
    grid.n_time_rows = 1;
    grid.n_init_times = 1;
    grid.times = times;
    tce_gauss gaussian = TCE_INIT(tce_gauss);
    gaussian.n = gaussian.n_scales = 1, gaussian.dim = P;
    gaussian.mean = zero, gaussian.scale = L;
    for (int s = 0; s < N; s++) {
        tce_random_normals(&random, P, w);
        ok(tce_gauss_sample(&gaussian, w, w));
        ok(tce_mp_trajectory(mp, &grid, w, y, NULL, NULL));
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

/* Correlation of N sampled rows of noise [T, D] that `draw` makes. */
static void sample_correlation(void (*draw)(tce_random *random, double *out), size_t T, size_t D,
                               size_t n_samples, double *out)
{
    double *samples = calloc(n_samples * T * D, sizeof *samples);
    double *work = calloc(2 * T * D, sizeof *work);
    tce_random random;
    ck_assert(samples && work);
    tce_random_start(&random, 7, 0, 0, 0);
    for (size_t s = 0; s < n_samples; s++)
        draw(&random, samples + s * T * D);
    correlation_of_samples(n_samples, T, D, samples, work, out);
    free(samples);
    free(work);
}

enum { HELD_T = 7, HELD_D = 2, HELD_F = 3, HELD_EVERY = 3, N_SAMPLES = 40000 };

/* features of the last step are 0: no noise there */
static const double FEATURES[HELD_T][HELD_F] = {
    { 0.5, -0.3, 0.9 }, { 0.4, 0.1, 0.8 },  { -0.2, 0.6, 0.1 }, { 0.9, 0.9, -0.4 },
    { 0.1, 0.7, 0.2 },  { 0.3, -0.8, 0.5 }, { 0.0, 0.0, 0.0 },
};
static const double STD[HELD_F][HELD_D] = { { 1.0, 0.2 }, { 0.5, 1.5 }, { 0.8, 0.1 } };

/* A matrix of noise times the features, drawn again every HELD_EVERY steps. */
static void draw_held(tce_random *random, double *out)
{
    double matrix[HELD_F * HELD_D];
    for (int t = 0; t < HELD_T; t++) {
        if (t % HELD_EVERY == 0)
            tce_random_normals(random, HELD_F * HELD_D, matrix);
        for (int d = 0; d < HELD_D; d++) {
            out[t * HELD_D + d] = 0.0;
            for (int f = 0; f < HELD_F; f++)
                out[t * HELD_D + d] += FEATURES[t][f] * STD[f][d] * matrix[f * HELD_D + d];
        }
    }
}

START_TEST(correlation_of_held_noise_is_that_of_its_samples)
{
    enum { n = HELD_D * HELD_T };
    double got[n * n], want[n * n];
    correlation_held(HELD_T, HELD_D, HELD_F, &FEATURES[0][0], &STD[0][0], HELD_EVERY, got);
    sample_correlation(draw_held, HELD_T, HELD_D, N_SAMPLES, want);
    ck_assert_double_le(test_difference(n * n, got, want), 5.0 / sqrt((double)N_SAMPLES));
    /* exactly 0 between draws and between actions, and where there is no noise */
    ck_assert_double_eq(got[2 * n + 3], 0.0);
    ck_assert_double_eq(got[0 * n + HELD_T], 0.0);
    ck_assert_double_eq(got[6 * n + 6], 1.0);
    /* steps 0 and 1 of the first action */
    const double *z = FEATURES[0], *y = FEATURES[1];
    double zy = 0.0, zz = 0.0, yy = 0.0;
    for (int f = 0; f < HELD_F; f++) {
        zy += z[f] * y[f] * STD[f][0] * STD[f][0];
        zz += z[f] * z[f] * STD[f][0] * STD[f][0];
        yy += y[f] * y[f] * STD[f][0] * STD[f][0];
    }
    ck_assert_double_eq_tol(got[1], zy / sqrt(zz * yy), TOLERANCE);
}
END_TEST

static noise_spectrum pink;
static fft_complex *pink_work;

/* Five steps of two actions from the beginning of chunks of their own. */
static void draw_pink(tce_random *random, double *out)
{
    double normals[2 * 9], chunk[16];
    for (int d = 0; d < 2; d++) {
        tce_random_normals(random, 2 * pink.K, normals);
        noise_sequence(&pink, normals, normals + pink.K, chunk, pink_work);
        for (int t = 0; t < 5; t++)
            out[2 * t + d] = chunk[t];
    }
}

START_TEST(correlation_of_pink_noise_is_that_of_its_samples)
{
    enum { T = 5, D = 2, n = T * D };
    double covariance[T], got[n * n], want[n * n];
    memory m = { 0 };
    ok(noise_spectrum_create(&pink, 1.0, 16, 0, &m));
    pink_work = memory_take(&m, noise_spectrum_work(&pink), sizeof *pink_work);
    for (size_t t = 0; t < T; t++)
        covariance[t] = noise_autocovariance(&pink, t);
    correlation_of_lags(T, D, covariance, got);
    sample_correlation(draw_pink, T, D, N_SAMPLES, want);
    ck_assert_double_le(test_difference(n * n, got, want), 5.0 / sqrt((double)N_SAMPLES));
    ck_assert_double_eq_tol(got[3], covariance[3] / covariance[0], TOLERANCE);
    ck_assert_double_eq(got[T], 0.0);
    memory_free(&m);
}
END_TEST

static void draw_white(tce_random *random, double *out)
{
    tce_random_normals(random, 6, out);
}

START_TEST(white_noise_correlates_with_itself_only)
{
    double got[36], want[36];
    correlation_white(3, 2, got);
    sample_correlation(draw_white, 3, 2, N_SAMPLES, want);
    ck_assert_double_le(test_difference(36, got, want), 5.0 / sqrt((double)N_SAMPLES));
    ck_assert(got[0] == 1.0 && got[1] == 0.0);
}
END_TEST

/* Whatever the numbers: their means over the samples must not differ from them by rounding. */
START_TEST(actions_that_never_change_correlate_with_themselves_only)
{
    enum { S = 10, T = 4 };
    double samples[S * T], work[2 * T], got[T * T];
    for (int s = 0; s < S; s++) {
        samples[s * T] = 0.1;
        samples[s * T + 1] = -1.0;
        samples[s * T + 2] = s;
        samples[s * T + 3] = s * s;
    }
    correlation_of_samples(S, T, 1, samples, work, got);
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < T; j++)
            ck_assert_double_eq(got[i * T + j], i == j ? 1.0 : 0.0);
    ck_assert(got[2 * T + 3] > 0.9 && got[2 * T + 3] < 1.0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("stats");

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
    tcase_add_test(property, correlation_of_held_noise_is_that_of_its_samples);
    tcase_add_test(property, correlation_of_pink_noise_is_that_of_its_samples);
    tcase_add_test(property, white_noise_correlates_with_itself_only);
    tcase_add_test(property, actions_that_never_change_correlate_with_themselves_only);

    return test_run(suite);
}
