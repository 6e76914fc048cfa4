/*
 * normaliser: running statistics, both divisors, masks, clip, store.
 */
#include <check.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <tce/normaliser.h>

#include "support.h"

/* Seconds a test may take; sanitizers on a busy machine need more than Check's 4. */
#define TIMEOUT 120
/* Sums of a few thousand numbers in two orders. */
#define TOL_ROUNDING 1e-12

enum { O = 5 };

static tce_normaliser *made(int32_t divisor, int32_t centre, double clip)
{
    tce_normaliser_options options;
    tce_normaliser *normaliser = NULL;

    tce_normaliser_options_init(&options, sizeof options);
    options.n_columns = O;
    options.divisor = divisor;
    options.centre = centre;
    options.clip = clip;
    ok(tce_normaliser_create(&options, NULL, &normaliser));
    return normaliser;
}

/* rows whose columns have different means and spreads */
static double *rows_of(uint64_t seed, size_t n)
{
    double *x = test_normals(seed, n * O);

    for (size_t i = 0; i < n * O; i++)
        x[i] = 3.0 * (double)(i % O) + x[i] * pow(10.0, (double)(i % O) - 2.0);
    return x;
}

/* ---- golden ---------------------------------------------------------------------------------- */

/* the update of rivals.md 1.4, written down for one column; less 1 is the divisor of tasks 1.6 */
static void reference_update(size_t n, const double *x, size_t column, int less, double *mean,
                             double *var, double *count)
{
    double m = 0.0;
    double v = 0.0;

    for (size_t r = 0; r < n; r++)
        m += x[r * O + column] / (double)n;
    for (size_t r = 0; r < n; r++)
        v += pow(x[r * O + column] - m, 2.0) / (less && n > 1 ? (double)(n - 1) : (double)n);
    const double delta = m - *mean;
    const double total = *count + (double)n;
    *mean += delta * (double)n / total;
    *var = (*var * *count + v * (double)n + delta * delta * *count * (double)n / total) / total;
    *count = total;
}

START_TEST(running_statistics_follow_the_published_updates)
{
    static const size_t ROUNDS[] = { 38 * 101, 1, 7, 2, 500 };

    for (int less = 0; less < 2; less++) {
        tce_normaliser *z = made(less ? TCE_NORMALISER_ROWS_LESS_ONE : TCE_NORMALISER_ROWS, 1, 0);
        double mean[O] = { 0.0 };
        double var[O];
        double count[O];
        for (size_t i = 0; i < O; i++) {
            var[i] = 1.0;
            count[i] = 1e-4;
        }

        for (size_t k = 0; k < sizeof ROUNDS / sizeof ROUNDS[0]; k++) {
            double *x = rows_of(k, ROUNDS[k]);
            double got_mean[O];
            double got_var[O];
            double got_count;
            for (size_t i = 0; i < O; i++)
                reference_update(ROUNDS[k], x, i, less, &mean[i], &var[i], &count[i]);
            ok(tce_normaliser_update(z, ROUNDS[k], x, NULL));
            tce_normaliser_statistics(z, got_mean, got_var, &got_count);
            ck_assert_double_eq(got_count, count[0]);
            test_assert_close(got_mean, mean, O, TOL_ROUNDING);
            test_assert_close(got_var, var, O, TOL_ROUNDING);
            free(x);
        }
        tce_normaliser_free(z);
    }
}
END_TEST

/* ---- property -------------------------------------------------------------------------------- */

START_TEST(normalised_rows_have_mean_zero_and_variance_one)
{
    enum { N = 2000 };
    tce_normaliser *z = made(TCE_NORMALISER_ROWS, 1, 0.0);
    double *x = rows_of(4, N);
    ok(tce_normaliser_update(z, N, x, NULL));
    ok(tce_normaliser_apply(z, N, x, x));

    /* the first statistics weigh 1e-4 rows, epsilon 1e-8 against variances of at least 1e-4 */
    for (size_t i = 0; i < O; i++) {
        double mean = 0.0;
        double var = 0.0;
        for (size_t r = 0; r < N; r++)
            mean += x[r * O + i] / N;
        for (size_t r = 0; r < N; r++)
            var += (x[r * O + i] - mean) * (x[r * O + i] - mean) / (N - 1);
        ck_assert_double_eq_tol(mean, 0.0, 1e-3);
        ck_assert_double_eq_tol(var, 1.0, 2e-2);
    }
    tce_normaliser_free(z);
    free(x);
}
END_TEST

START_TEST(without_centre_rows_are_divided_only_and_clipped)
{
    enum { N = 300 };
    const double clip = 2.5;
    tce_normaliser *z = made(TCE_NORMALISER_ROWS, 0, clip);
    double *x = rows_of(4, N);
    double *out = malloc(N * O * sizeof *out);
    double var[O];
    size_t n_clipped = 0;
    ok(tce_normaliser_update(z, N, x, NULL));
    ok(tce_normaliser_apply(z, N, x, out));
    tce_normaliser_statistics(z, NULL, var, NULL);

    for (size_t i = 0; i < N * O; i++) {
        const double y = x[i] / sqrt(var[i % O] + 1e-8);
        ck_assert_double_eq(out[i], fmax(-clip, fmin(clip, y)));
        n_clipped += fabs(y) > clip;
    }
    ck_assert_uint_gt(n_clipped, 0);
    tce_normaliser_free(z);
    free(x);
    free(out);
}
END_TEST

/* the same bytes as those rows alone; what is masked may be anything */
START_TEST(masked_rows_do_not_count)
{
    enum { N = 200 };
    tce_normaliser *masked = made(TCE_NORMALISER_ROWS, 1, 0.0);
    tce_normaliser *few = made(TCE_NORMALISER_ROWS, 1, 0.0);
    double *x = rows_of(4, N);
    double *kept = malloc(N * O * sizeof *kept);
    uint8_t mask[N];
    double a[2 * O + 1], b[2 * O + 1];
    size_t n = 0;
    for (size_t r = 0; r < N; r++) {
        mask[r] = r % 3 != 0;
        if (mask[r])
            memcpy(kept + n++ * O, x + r * O, O * sizeof *x);
        else
            x[r * O + 1] = NAN;
    }

    ok(tce_normaliser_update(masked, N, x, mask));
    ok(tce_normaliser_update(few, n, kept, NULL));
    tce_normaliser_statistics(masked, a, a + O, a + 2 * O);
    tce_normaliser_statistics(few, b, b + O, b + 2 * O);
    ck_assert_mem_eq(a, b, sizeof a);

    /* no row at all changes nothing */
    memset(mask, 0, sizeof mask);
    ok(tce_normaliser_update(masked, N, x, mask));
    ok(tce_normaliser_update(masked, 0, NULL, NULL));
    tce_normaliser_statistics(masked, a, a + O, a + 2 * O);
    ck_assert_mem_eq(a, b, sizeof a);
    tce_normaliser_free(masked);
    tce_normaliser_free(few);
    free(x);
    free(kept);
}
END_TEST

START_TEST(a_saved_normaliser_continues_with_the_same_bytes)
{
    enum { N = 100 };
    tce_normaliser *both[2] = { made(TCE_NORMALISER_ROWS, 1, 10.0),
                                made(TCE_NORMALISER_ROWS, 1, 10.0) };
    double *x = rows_of(4, N);
    double out[2][N * O];
    tce_store *store;
    ok(tce_normaliser_update(both[0], N, x, NULL));
    ok(tce_store_create(NULL, &store));
    ok(tce_normaliser_save(both[0], store, "z"));
    ok(tce_normaliser_load(both[1], store, "z"));
    tce_store_free(store);

    for (int i = 0; i < 2; i++) {
        ok(tce_normaliser_update(both[i], N / 2, x, NULL));
        ok(tce_normaliser_apply(both[i], N, x, out[i]));
        tce_normaliser_free(both[i]);
    }
    ck_assert_mem_eq(out[0], out[1], sizeof out[0]);
    free(x);
}
END_TEST

/* ---- errors ---------------------------------------------------------------------------------- */

START_TEST(options_out_of_range_are_refused_by_name)
{
    tce_normaliser_options options;
    tce_normaliser *z;

    tce_normaliser_options_init(&options, sizeof options);
    options.n_columns = 0;
    fails(tce_normaliser_create(&options, NULL, &z), TCE_E_VALUE, "n_columns");
    ck_assert_ptr_null(z);
    tce_normaliser_options_init(&options, sizeof options);
    options.divisor = 2;
    fails(tce_normaliser_create(&options, NULL, &z), TCE_E_VALUE, "divisor");
    tce_normaliser_options_init(&options, sizeof options);
    options.epsilon = 0.0;
    fails(tce_normaliser_create(&options, NULL, &z), TCE_E_VALUE, "epsilon");
    tce_normaliser_options_init(&options, sizeof options);
    options.clip = NAN;
    fails(tce_normaliser_create(&options, NULL, &z), TCE_E_VALUE, "clip");
    tce_normaliser_options_init(&options, sizeof options);
    options.first_count = -1.0;
    fails(tce_normaliser_create(&options, NULL, &z), TCE_E_VALUE, "first_count");
    tce_normaliser_options_init(&options, sizeof options);
    options.reserved = 1;
    fails(tce_normaliser_create(&options, NULL, &z), TCE_E_VERSION, "reserved = 1");
    fails(tce_normaliser_create(NULL, NULL, &z), TCE_E_ARGUMENT, "tce_normaliser_options");
    tce_normaliser_free(NULL);
}
END_TEST

START_TEST(rows_that_are_not_finite_change_nothing)
{
    static const double BAD[] = { NAN, INFINITY, -INFINITY, 1e200 };
    enum { N = 20 };
    tce_normaliser *z = made(TCE_NORMALISER_ROWS, 1, 0.0);
    double *x = rows_of(4, N);
    double before[2 * O + 1];
    double after[2 * O + 1];
    ok(tce_normaliser_update(z, N, x, NULL));
    tce_normaliser_statistics(z, before, before + O, before + 2 * O);

    for (size_t i = 0; i < sizeof BAD / sizeof BAD[0]; i++) {
        x[N * O - 1] = BAD[i];
        fails(tce_normaliser_update(z, N, x, NULL), TCE_E_VALUE, "x");
        tce_normaliser_statistics(z, after, after + O, after + 2 * O);
        ck_assert_mem_eq(before, after, sizeof before);
    }
    fails(tce_normaliser_update(z, N, NULL, NULL), TCE_E_ARGUMENT, "x");
    fails(tce_normaliser_apply(z, N, x, NULL), TCE_E_ARGUMENT, "out");
    fails(tce_normaliser_apply(NULL, N, x, x), TCE_E_ARGUMENT, "normaliser");
    tce_normaliser_free(z);
    free(x);
}
END_TEST

START_TEST(a_store_that_does_not_fit_changes_nothing)
{
    tce_normaliser *z = made(TCE_NORMALISER_ROWS, 1, 0.0);
    const size_t n = O;
    double variance[O] = { 1.0, 1.0, 1.0, 1.0, -1.0 };
    double before[2 * O + 1];
    double after[2 * O + 1];
    double *x = rows_of(4, 9);
    tce_store *store;
    ok(tce_normaliser_update(z, 9, x, NULL));
    tce_normaliser_statistics(z, before, before + O, before + 2 * O);
    ok(tce_store_create(NULL, &store));
    fails(tce_normaliser_load(z, store, "z"), TCE_E_NOT_FOUND, "z.mean");
    ok(tce_normaliser_save(z, store, "z"));

    ok(tce_store_put(store, "z.variance", TCE_STORE_F64, 1, &n, variance));
    fails(tce_normaliser_load(z, store, "z"), TCE_E_VALUE, "z.variance[4]");
    ok(tce_store_put(store, "z.variance", TCE_STORE_F64, 0, NULL, variance));
    fails(tce_normaliser_load(z, store, "z"), TCE_E_SHAPE, "z.variance");
    tce_normaliser_statistics(z, after, after + O, after + 2 * O);
    ck_assert_mem_eq(before, after, sizeof before);
    tce_store_free(store);
    tce_normaliser_free(z);
    free(x);
}
END_TEST

/* ---- memory ---------------------------------------------------------------------------------- */

START_TEST(nothing_allocates_after_create)
{
    enum { N = 50 };
    test_memory memory = { .budget = 0 };
    tce_hooks hooks;
    tce_normaliser_options options;
    tce_normaliser *z;
    double *x = rows_of(4, N);
    test_hooks(&memory, &hooks);
    tce_normaliser_options_init(&options, sizeof options);
    options.n_columns = O;

    fails(tce_normaliser_create(&options, &hooks, &z), TCE_E_NOMEM, "tce_normaliser");
    ck_assert_ptr_null(z);
    ck_assert_uint_eq(memory.live, 0);
    memory.budget = 1;
    ok(tce_normaliser_create(&options, &hooks, &z));
    ok(tce_normaliser_update(z, N, x, NULL));
    ok(tce_normaliser_apply(z, N, x, x));
    ck_assert_uint_eq(memory.n_alloc, 1);
    tce_normaliser_free(z);
    ck_assert_uint_eq(memory.live, 0);
    free(x);
}
END_TEST

/* ---- suite ----------------------------------------------------------------------------------- */

int main(void)
{
    Suite *suite = suite_create("normaliser");
    TCase *golden = test_case(suite, "golden", TIMEOUT);
    TCase *property = test_case(suite, "property", TIMEOUT);
    TCase *errors = test_case(suite, "errors", TIMEOUT);
    TCase *memory = test_case(suite, "memory", TIMEOUT);

    tcase_add_test(golden, running_statistics_follow_the_published_updates);
    tcase_add_test(property, normalised_rows_have_mean_zero_and_variance_one);
    tcase_add_test(property, without_centre_rows_are_divided_only_and_clipped);
    tcase_add_test(property, masked_rows_do_not_count);
    tcase_add_test(property, a_saved_normaliser_continues_with_the_same_bytes);
    tcase_add_test(errors, options_out_of_range_are_refused_by_name);
    tcase_add_test(errors, rows_that_are_not_finite_change_nothing);
    tcase_add_test(errors, a_store_that_does_not_fit_changes_nothing);
    tcase_add_test(memory, nothing_allocates_after_create);
    return test_run(suite);
}
