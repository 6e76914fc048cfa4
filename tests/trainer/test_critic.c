/*
 * critic: regression in minibatches, the same bytes for any number of threads and after a restart.
 */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "methods/critic.h"
#include "methods/schedules.h"
#include "support.h"

/* Seconds a test may take; sanitizers on a busy machine need more than Check's 4. */
#define TIMEOUT 120
/* Sums of a few hundred numbers in two orders. */
#define TOL_ROUNDING 1e-12

enum { O = 5 };

static const int32_t HIDDEN[] = { 32, 16 };

static critic_options options_of(int32_t precision, size_t max_rows, tce_pool *pool)
{
    const critic_options options = { .n_inputs = O,
                                     .n_hidden = 2,
                                     .hidden = HIDDEN,
                                     .activation = TCE_NET_TANH,
                                     .precision = precision,
                                     .start = TCE_NET_ORTHOGONAL,
                                     .max_rows = (int32_t)max_rows,
                                     .pool = pool };
    return options;
}

static critic started(int32_t precision, size_t max_rows, tce_pool *pool, uint64_t seed, memory *m)
{
    const critic_options options = options_of(precision, max_rows, pool);
    critic made;
    tce_random random;
    ok(critic_create(&made, &options, m));
    tce_random_start(&random, seed, 1, 0, 0);
    ok(tce_net_start(made.net, &random));
    return made;
}

static critic_fit fit_of(size_t n_minibatches, double clip_norm)
{
    critic_fit fit = { .n_minibatches = n_minibatches, .clip_norm = clip_norm };
    tce_adam_options_init(&fit.adam, sizeof fit.adam);
    fit.adam.learning_rate = 1e-2;
    return fit;
}

static double *weights_of(const critic *c)
{
    double *weights = malloc(tce_net_n_weights(c->net) * sizeof *weights);
    tce_net_get_weights(c->net, weights);
    return weights;
}

/* an epoch in M parts is M steps of the network on the permuted rows */
START_TEST(an_epoch_is_as_many_adam_steps_as_minibatches)
{
    enum { N = 203 };
    static const size_t PARTS[] = { 1, 2, 4, N };

    for (size_t k = 0; k < sizeof PARTS / sizeof PARTS[0]; k++) {
        const size_t M = PARTS[k];
        const critic_fit fit = fit_of(M, 0.3);
        memory arrays = { 0 };
        critic c = started(TCE_NET_FLOAT, N, NULL, 1, &arrays);
        critic again = started(TCE_NET_FLOAT, N, NULL, 1, &arrays);
        double *x = test_normals(4, N * O), *target = test_normals(5, N);
        uint32_t rows[N];
        tce_random random, same;
        double loss, want = 0.0;
        tce_random_start(&random, 9, 9, 9, 9);
        same = random;
        ok(critic_fit_epoch(&c, &fit, N, x, target, &random, &loss));

        size_t begin = 0;
        if (M > 1)
            tce_random_permutation(&same, N, rows);
        for (size_t part = 0; part < M; part++) {
            const size_t size = N / M + (part < N % M);
            double one;
            ok(tce_net_pass_mse(again.net, size, x, target, M > 1 ? rows + begin : NULL, &one));
            tce_net_scale_gradient(again.net, clip_factor(tce_net_gradient_norm(again.net), 0.3));
            ok(tce_net_adam_step(again.net, &fit.adam));
            want += one * (double)size / N;
            begin += size;
        }
        ck_assert_uint_eq(begin, N);
        test_assert_close(&loss, &want, 1, TOL_ROUNDING);
        double *a = weights_of(&c), *b = weights_of(&again);
        ck_assert_mem_eq(a, b, tce_net_n_weights(c.net) * sizeof *a);
        critic_free(&c);
        critic_free(&again);
        memory_free(&arrays);
        free(x);
        free(target);
        free(a);
        free(b);
    }
}
END_TEST

/* weights after two epochs, one of them in minibatches, and values */
static double *train(int32_t precision, size_t n, int32_t n_threads, double *values)
{
    const critic_fit whole = fit_of(1, 0.0), parts = fit_of(3, 0.0);
    tce_random random;
    memory arrays = { 0 };
    double loss;
    double *x = test_normals(4, n * O), *target = test_normals(5, n);
    tce_pool *pool = test_pool(n_threads);

    critic c = started(precision, n, pool, 1, &arrays);
    tce_random_start(&random, 9, 9, 9, 9);
    ok(critic_fit_epoch(&c, &whole, n, x, target, NULL, &loss));
    ok(critic_fit_epoch(&c, &parts, n, x, target, &random, &loss));
    ok(critic_value(&c, n, x, values));
    double *weights = weights_of(&c);
    critic_free(&c);
    memory_free(&arrays);
    tce_pool_free(pool);
    free(x);
    free(target);
    return weights;
}

START_TEST(one_two_and_five_threads_give_the_same_bytes)
{
    static const int32_t THREADS[] = { 1, 2, 5 };
    const size_t size = (32 * (O + 1) + 16 * 33 + 17) * sizeof(double);

    for (int32_t precision = TCE_NET_FLOAT; precision <= TCE_NET_DOUBLE; precision++) {
        for (size_t n = 100; n < 10000; n = 3 * n + 1) {
            double *weights[3], *values[3];
            for (int i = 0; i < 3; i++) {
                values[i] = malloc(n * sizeof(double));
                weights[i] = train(precision, n, THREADS[i], values[i]);
                ck_assert_mem_eq(weights[i], weights[0], size);
                ck_assert_mem_eq(values[i], values[0], n * sizeof(double));
            }
            for (int i = 0; i < 3; i++) {
                free(weights[i]);
                free(values[i]);
            }
        }
    }
}
END_TEST

START_TEST(a_saved_critic_continues_with_the_same_bytes)
{
    enum { N = 100 };
    const critic_fit fit = fit_of(1, 0.0);
    memory arrays = { 0 };
    critic both[2] = { started(TCE_NET_FLOAT, N, NULL, 1, &arrays),
                       started(TCE_NET_FLOAT, N, NULL, 2, &arrays) };
    double *x = test_normals(4, N * O), *target = test_normals(5, N);
    double values[2][N], loss;
    tce_store *store;
    ok(tce_normaliser_update(both[0].normaliser, N, x, NULL));
    ok(critic_fit_epoch(&both[0], &fit, N, x, target, NULL, &loss));
    ok(tce_store_create(NULL, &store));
    fails(critic_load(&both[1], store, "critic"), TCE_E_NOT_FOUND, "critic.net");
    ok(critic_save(&both[0], store, "critic"));
    ok(critic_load(&both[1], store, "critic"));
    tce_store_free(store);

    for (int i = 0; i < 2; i++) {
        double seen[N * O];
        ok(critic_fit_epoch(&both[i], &fit, N, x, target, NULL, &loss));
        ok(tce_normaliser_apply(both[i].normaliser, N, x, seen));
        ok(critic_value(&both[i], N, seen, values[i]));
        critic_free(&both[i]);
    }
    ck_assert_mem_eq(values[0], values[1], sizeof values[0]);
    memory_free(&arrays);
    free(x);
    free(target);
}
END_TEST

START_TEST(a_target_that_is_not_finite_changes_nothing)
{
    enum { N = 20 };
    const critic_fit fit = fit_of(1, 0.5);
    memory arrays = { 0 };
    critic c = started(TCE_NET_FLOAT, N, NULL, 1, &arrays);
    double *before = weights_of(&c);
    double *x = test_normals(4, N * O), *target = test_normals(5, N);
    double loss = -1.0;
    target[7] = NAN;
    fails(critic_fit_epoch(&c, &fit, N, x, target, NULL, &loss), TCE_E_NOT_FINITE, "gradient norm");
    double *after = weights_of(&c);
    ck_assert_mem_eq(before, after, tce_net_n_weights(c.net) * sizeof *before);
    ck_assert_double_eq(loss, -1.0);
    critic_free(&c);
    memory_free(&arrays);
    free(before);
    free(after);
    free(x);
    free(target);
}
END_TEST

START_TEST(what_is_measured_is_what_is_taken)
{
    const critic_options options = options_of(TCE_NET_FLOAT, 5000, NULL);
    memory measured = { .measure = 1 };
    ok(critic_measure(&options, &measured));
    /* weights, gradient, moments, parts of 5,000 rows and their scratch in float */
    ck_assert_double_gt(measured.bytes, (4 + 16) * (32 * (O + 1) + 16 * 33 + 17) * 4.0);
}
END_TEST

START_TEST(schedule_and_clip_follow_their_formulas)
{
    ck_assert_double_eq(linear_schedule(0, 20, 0.01), 1.0);
    ck_assert_double_eq_tol(linear_schedule(10, 20, 0.01), 0.505, 1e-15);
    ck_assert_double_eq_tol(linear_schedule(20, 20, 0.01), 0.01, 1e-15);
    ck_assert_double_eq_tol(linear_schedule(21, 20, 0.25), 0.25, 1e-15);
    ck_assert_double_eq(linear_schedule(5, 0, 0.01), 1.0);
    ck_assert_double_eq(clip_factor(1.0, 0.0), 1.0);
    ck_assert_double_eq(clip_factor(1.0, 2.0), 1.0);
    ck_assert_double_eq(clip_factor(4.0, 2.0), 2.0 / (4.0 + 1e-6));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("critic");
    TCase *property = test_case(suite, "property", TIMEOUT);
    TCase *errors = test_case(suite, "errors", TIMEOUT);

    tcase_add_test(property, an_epoch_is_as_many_adam_steps_as_minibatches);
    tcase_add_test(property, one_two_and_five_threads_give_the_same_bytes);
    tcase_add_test(property, a_saved_critic_continues_with_the_same_bytes);
    tcase_add_test(property, what_is_measured_is_what_is_taken);
    tcase_add_test(property, schedule_and_clip_follow_their_formulas);
    tcase_add_test(errors, a_target_that_is_not_finite_changes_nothing);
    return test_run(suite);
}
