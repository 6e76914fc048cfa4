/*
 * Noise of exploration: Fourier transforms against the direct sum, and streams of coloured noise
 * that depend on seed, environment and chunk alone and continue from a checkpoint with the same
 * bytes. Sequences and moments are compared with those of published code by `make replay`.
 */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <tce/tce.h>

#include "collect/coloured_noise.h"
#include "support.h"

#define TWO_PI 6.28318530717958647692
/* Rounding of n terms of size 1, in any order. */
#define ROUNDING 1e-15

static memory arrays;

static void begin(void)
{
    arrays = (memory){ 0 };
}

static void end(void)
{
    memory_free(&arrays);
}

/* ---- Fourier transforms ---------------------------------------------------------------------- */

/* x_t by the formula itself, with the angle reduced to one turn first. */
static fft_complex direct(size_t n, const fft_complex *X, size_t t)
{
    fft_complex sum = { 0.0, 0.0 };
    for (size_t k = 0; k < n; k++) {
        const double angle = TWO_PI * (double)(k * t % n) / (double)n;
        sum.re += X[k].re * cos(angle) - X[k].im * sin(angle);
        sum.im += X[k].re * sin(angle) + X[k].im * cos(angle);
    }
    return sum;
}

/* Both transforms of length n; every `step`-th number is compared. */
static void check_length(size_t n, size_t step)
{
    fft f;
    const size_t K = n / 2 + 1;
    double *normals = test_normals(n, 2 * n);
    fft_complex *X = memory_take(&arrays, n, sizeof *X), *x = memory_take(&arrays, n, sizeof *x);
    double *real = memory_doubles(&arrays, n);
    fft_create(&f, n, &arrays);
    fft_complex *work = memory_take(&arrays, f.n_work, sizeof *work);
    ck_assert_int_eq(arrays.failed, 0);
    const double limit = 8.0 * ROUNDING * (double)n;

    for (size_t k = 0; k < n; k++)
        X[k] = (fft_complex){ normals[2 * k], normals[2 * k + 1] };
    fft_inverse(&f, X, x, work);
    for (size_t t = 0; t < n; t += step) {
        const fft_complex want = direct(n, X, t);
        ck_assert_msg(hypot(x[t].re - want.re, x[t].im - want.im) <= limit,
                      "n = %zu, number %zu: %g %g, expected %g %g", n, t, x[t].re, x[t].im, want.re,
                      want.im);
    }

    /* parts that cannot be in the spectrum of a real sequence must not count */
    fft_inverse_real(&f, X, real, work);
    X[0].im = 0.0;
    for (size_t k = 1; k < K; k++)
        if (2 * k == n)
            X[k].im = 0.0;
        else
            X[n - k] = (fft_complex){ X[k].re, -X[k].im };
    for (size_t t = 0; t < n; t += step) {
        const fft_complex want = direct(n, X, t);
        ck_assert_double_le(fabs(want.im), limit);
        ck_assert_msg(fabs(real[t] - want.re) <= limit, "n = %zu, number %zu: %g, expected %g", n,
                      t, real[t], want.re);
    }
    free(normals);
}

START_TEST(transforms_of_any_length_are_the_direct_sum)
{
    for (size_t n = 1; n <= 130; n++)
        check_length(n, 1);
    static const size_t MORE[] = { 200, 243, 250, 256, 300, 500, 625, 997, 1000, 1001, 1024 };
    for (size_t i = 0; i < sizeof MORE / sizeof MORE[0]; i++)
        check_length(MORE[i], 1);
    check_length(10000, 613);
}
END_TEST

/* ---- streams --------------------------------------------------------------------------------- */

enum { N = 3, D = 2, CHUNK = 20 };

static const noise_stream_options OPTIONS = {
    .beta = 1.0, .chunk = CHUNK, .n_envs = N, .n_actions = D, .seed = 5, .purpose = 6
};

static noise_stream create(const noise_stream_options *options)
{
    noise_stream s;
    ok(noise_stream_create(&s, options, &arrays));
    return s;
}

START_TEST(a_chunk_is_a_function_of_seed_purpose_environment_and_its_number)
{
    enum { STEPS = 2 * CHUNK };
    double noise[STEPS][N * D], other[N * D];
    noise_stream s = create(&OPTIONS);
    for (int t = 0; t < STEPS; t++)
        noise_stream_next(&s, noise[t]);

    /* more environments, and ends, change nothing of the first ones */
    noise_stream_options more = OPTIONS;
    more.n_envs = N + 1;
    s = create(&more);
    for (int t = 0; t < STEPS; t++) {
        double wider[(N + 1) * D];
        noise_stream_next(&s, wider);
        ck_assert_mem_eq(wider, noise[t], sizeof noise[t]);
        if (t % 7 == 3)
            noise_stream_end(&s, 1);
    }

    /* environments, actions and chunks differ, and so do seeds and purposes */
    for (int i = 1; i < N * D; i++)
        ck_assert_double_ne(noise[0][i], noise[0][0]);
    ck_assert_double_ne(noise[CHUNK][0], noise[0][0]);
    noise_stream_options changed = OPTIONS;
    changed.seed++;
    s = create(&changed);
    noise_stream_next(&s, other);
    ck_assert_double_ne(other[0], noise[0][0]);
    changed = OPTIONS;
    changed.purpose++;
    s = create(&changed);
    noise_stream_next(&s, other);
    ck_assert_double_ne(other[0], noise[0][0]);
}
END_TEST

START_TEST(an_end_begins_a_chunk_where_chunks_are_by_episode)
{
    double first[N * D], step[N * D];
    noise_stream_options options = OPTIONS;
    options.by_episode = 1;
    noise_stream s = create(&options);
    /* an end before the first number does not end a chunk: uniform actions need no noise */
    noise_stream_end(&s, 0);
    noise_stream_next(&s, first);
    ck_assert_int_eq(s.chunks[0], 1);
    noise_stream_end(&s, 0);
    noise_stream_next(&s, step);
    ck_assert_int_eq(s.chunks[0], 2);
    ck_assert_int_eq(s.chunks[1], 1);
    /* an episode longer than a chunk continues with another one */
    for (int t = 0; t < CHUNK; t++)
        noise_stream_next(&s, step);
    ck_assert_int_eq(s.chunks[0], 3);
    ck_assert_int_eq(s.chunks[1], 2);
}
END_TEST

/* Some steps, with ends. */
static void advance(noise_stream *s, int from, int to, double *out)
{
    for (int t = from; t < to; t++) {
        noise_stream_next(s, out);
        if (t % 11 == 4)
            noise_stream_end(s, (size_t)t % N);
    }
}

START_TEST(a_stream_goes_on_from_a_checkpoint_with_the_same_bytes)
{
    for (int by_episode = 0; by_episode < 2; by_episode++)
        for (int at = 0; at <= 2 * CHUNK + 1; at++) {
            double want[N * D], got[N * D];
            noise_stream_options options = OPTIONS;
            options.by_episode = by_episode;
            tce_store *store;
            noise_stream s = create(&options);
            ok(tce_store_create(NULL, &store));
            advance(&s, 0, at, want);
            ok(noise_stream_save(&s, store, "noise"));
            advance(&s, at, at + 15, want);

            noise_stream again = create(&options);
            advance(&again, 0, 5, got);
            ok(noise_stream_load(&again, store, "noise"));
            advance(&again, at, at + 15, got);
            ck_assert_mem_eq(got, want, sizeof got);
            tce_store_free(store);
        }
}
END_TEST

START_TEST(places_that_no_stream_can_have_are_refused)
{
    static const int64_t WRONG[][2] = {
        { -1, CHUNK }, { 0, 3 }, { 1, 0 }, { 1, -1 }, { 2, CHUNK + 1 }
    };
    const size_t n = N;
    double first[N * D], step[N * D];
    noise_stream s = create(&OPTIONS);
    noise_stream_next(&s, first);
    for (size_t i = 0; i < sizeof WRONG / sizeof WRONG[0]; i++) {
        int64_t chunks[N] = { 1, 1, 1 }, positions[N] = { 1, 1, 1 };
        tce_store *store;
        ok(tce_store_create(NULL, &store));
        chunks[1] = WRONG[i][0];
        positions[1] = WRONG[i][1];
        ok(tce_store_put(store, "noise.chunks", TCE_STORE_I64, 1, &n, chunks));
        ok(tce_store_put(store, "noise.positions", TCE_STORE_I64, 1, &n, positions));
        fails(noise_stream_load(&s, store, "noise"), TCE_E_CORRUPT, "environment 1");
        /* and it can still be used, from the beginning */
        noise_stream_next(&s, step);
        ck_assert_mem_eq(step, first, sizeof step);
        tce_store_free(store);
    }
}
END_TEST

START_TEST(settings_without_meaning_are_refused)
{
    noise_spectrum n;
    fails(noise_spectrum_create(&n, 1.0, 1, 0, &arrays), TCE_E_VALUE, "at least 2");
    fails(noise_spectrum_create(&n, 1.0, 100, 1, &arrays), TCE_E_VALUE, "at least 2");
    fails(noise_spectrum_create(&n, -0.5, 100, 0, &arrays), TCE_E_VALUE, "0 ... 10");
    fails(noise_spectrum_create(&n, NAN, 100, 0, &arrays), TCE_E_VALUE, "0 ... 10");
}
END_TEST

START_TEST(memory_can_be_measured_before_it_is_taken)
{
    noise_stream s;
    memory counted = { .measure = 1 };
    ok(noise_stream_create(&s, &OPTIONS, &counted));
    ok(noise_stream_create(&s, &OPTIONS, &arrays));
    ck_assert_double_eq(counted.bytes, arrays.bytes);
    ck_assert_double_gt(counted.bytes, N * D * CHUNK * 8.0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("noise");
    TCase *golden = test_case(suite, "golden", 60);
    tcase_add_checked_fixture(golden, begin, end);
    tcase_add_test(golden, transforms_of_any_length_are_the_direct_sum);
    TCase *property = test_case(suite, "property", 0);
    tcase_add_checked_fixture(property, begin, end);
    tcase_add_test(property, a_chunk_is_a_function_of_seed_purpose_environment_and_its_number);
    tcase_add_test(property, an_end_begins_a_chunk_where_chunks_are_by_episode);
    tcase_add_test(property, a_stream_goes_on_from_a_checkpoint_with_the_same_bytes);
    TCase *errors = test_case(suite, "errors", 0);
    tcase_add_checked_fixture(errors, begin, end);
    tcase_add_test(errors, places_that_no_stream_can_have_are_refused);
    tcase_add_test(errors, settings_without_meaning_are_refused);
    tcase_add_test(errors, memory_can_be_measured_before_it_is_taken);
    return test_run(suite);
}
