/*
 * critic: running normaliser, values, regression with minibatches, store.
 */
#include <check.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <tce/critic.h>

#include "support.h"

#define SENTINEL 12345.0
/* Seconds a test may take; sanitizers on a busy machine need more than Check's 4. */
#define TIMEOUT 120

/* Sums of a few thousand numbers in two orders. */
#define TOL_ROUNDING 1e-12
/* Float against double: 1e-7 times the roundings of three layers of 32 terms. */
#define TOL_FLOAT 1e-4

enum { O = 5 };

static const int32_t HIDDEN[] = { 32, 16 };

/* ---- critics --------------------------------------------------------------------------------- */

static tce_critic_options options_of(int32_t precision, int32_t max_batch, tce_pool *pool)
{
    tce_critic_options options;

    tce_critic_options_init(&options, sizeof options);
    options.n_obs = O;
    options.hidden = HIDDEN;
    options.precision = precision;
    options.max_batch = max_batch;
    options.pool = pool;
    return options;
}

static tce_critic *started(int32_t precision, int32_t max_batch, tce_pool *pool, uint64_t seed)
{
    const tce_critic_options options = options_of(precision, max_batch, pool);
    tce_critic *critic = NULL;
    tce_random random;

    ok(tce_critic_create(&options, NULL, &critic));
    tce_random_start(&random, seed, 1, 0, 0);
    ok(tce_critic_start(critic, &random));
    return critic;
}

/* a network with the critic's shape and weights */
static tce_net *network_of(const tce_critic *critic, int32_t precision, int32_t max_batch)
{
    tce_net_options options;
    tce_net *net = NULL;
    double *parameters = malloc(tce_critic_num_parameters(critic) * sizeof *parameters);

    tce_net_options_init(&options, sizeof options);
    options.n_in = O;
    options.hidden = HIDDEN;
    options.precision = precision;
    options.max_batch = max_batch;
    ok(tce_net_create(&options, NULL, &net));
    ck_assert_uint_eq(tce_net_num_parameters(net), tce_critic_num_parameters(critic));
    tce_critic_get_parameters(critic, parameters);
    ok(tce_net_set_parameters(net, parameters));
    free(parameters);
    return net;
}

static void assert_same_parameters(const tce_critic *critic, const tce_net *net)
{
    const size_t n = tce_critic_num_parameters(critic);
    double *a = malloc(n * sizeof *a);
    double *b = malloc(n * sizeof *b);

    tce_critic_get_parameters(critic, a);
    tce_net_get_parameters(net, b);
    ck_assert_mem_eq(a, b, n * sizeof *a);
    free(a);
    free(b);
}

/* observations whose columns have different means and spreads */
static double *observations(uint64_t seed, size_t n)
{
    double *x = test_normals(seed, n * O);

    for (size_t i = 0; i < n * O; i++)
        x[i] = 3.0 * (double)(i % O) + x[i] * pow(10.0, (double)(i % O) - 2.0);
    return x;
}

/* of another stream than observations */
static double *normals(uint64_t seed, size_t n)
{
    double *x = malloc(n * sizeof *x);
    tce_random random;

    tce_random_start(&random, seed, 3, 0, 0);
    tce_random_normals(&random, n, x);
    return x;
}

/* ---- golden ---------------------------------------------------------------------------------- */

/* the update of tasks-fancy.md 1.6, written down for one column */
static void reference_update(size_t n, const double *obs, size_t column, double *mean, double *var,
                             double *count)
{
    double m = 0.0;
    double v = 0.0;

    for (size_t r = 0; r < n; r++)
        m += obs[r * O + column] / (double)n;
    for (size_t r = 0; r < n; r++)
        v += pow(obs[r * O + column] - m, 2.0) / (n > 1 ? (double)(n - 1) : 1.0);
    const double delta = m - *mean;
    const double total = *count + (double)n;
    *mean += delta * (double)n / total;
    *var = (*var * *count + v * (double)n + delta * delta * *count * (double)n / total) / total;
    *count = total;
}

START_TEST(running_statistics_follow_the_published_update)
{
    static const size_t ROUNDS[] = { 38 * 101, 1, 7, 2, 500 };
    tce_critic *critic = started(TCE_NET_FLOAT, 1, NULL, 1);
    double mean[O] = { 0.0 };
    double var[O];
    double count[O];
    for (size_t i = 0; i < O; i++) {
        var[i] = 1.0;
        count[i] = 1e-4;
    }

    for (size_t k = 0; k < sizeof ROUNDS / sizeof ROUNDS[0]; k++) {
        double *obs = observations(k, ROUNDS[k]);
        double got_mean[O];
        double got_var[O];
        double got_count;
        for (size_t i = 0; i < O; i++)
            reference_update(ROUNDS[k], obs, i, &mean[i], &var[i], &count[i]);
        ok(tce_critic_observe(critic, ROUNDS[k], obs));
        tce_critic_statistics(critic, got_mean, got_var, &got_count);
        ck_assert_double_eq(got_count, count[0]);
        test_assert_close(got_mean, mean, O, TOL_ROUNDING);
        test_assert_close(got_var, var, O, TOL_ROUNDING);
        free(obs);
    }
    tce_critic_free(critic);
}
END_TEST

/* ---- property -------------------------------------------------------------------------------- */

START_TEST(normalised_observations_have_mean_zero_and_variance_one)
{
    enum { N = 2000 };
    tce_critic *critic = started(TCE_NET_FLOAT, 1, NULL, 1);
    double *obs = observations(4, N);
    ok(tce_critic_observe(critic, N, obs));
    ok(tce_critic_normalise(critic, N, obs, obs));

    /* the first statistics weigh 1e-4 rows, epsilon 1e-8 against variances of at least 1e-4 */
    for (size_t i = 0; i < O; i++) {
        double mean = 0.0;
        double var = 0.0;
        for (size_t r = 0; r < N; r++)
            mean += obs[r * O + i] / N;
        for (size_t r = 0; r < N; r++)
            var += (obs[r * O + i] - mean) * (obs[r * O + i] - mean) / (N - 1);
        ck_assert_double_eq_tol(mean, 0.0, 1e-3);
        ck_assert_double_eq_tol(var, 1.0, 2e-2);
    }
    tce_critic_free(critic);
    free(obs);
}
END_TEST

START_TEST(values_are_the_networks_at_normalised_observations)
{
    static const size_t SIZES[] = { 1, 64, 152, 1025, 3000 };

    for (int32_t precision = TCE_NET_FLOAT; precision <= TCE_NET_DOUBLE; precision++) {
        for (size_t k = 0; k < sizeof SIZES / sizeof SIZES[0]; k++) {
            const size_t n = SIZES[k];
            tce_critic *critic = started(precision, (int32_t)n, NULL, 1);
            double *obs = observations(4, n);
            double *values = malloc(n * sizeof *values);
            double *want = malloc(n * sizeof *want);
            double *normalised = malloc(n * O * sizeof *normalised);
            tce_net *net = network_of(critic, precision, (int32_t)n);

            ok(tce_critic_observe(critic, n, obs));
            ok(tce_critic_value(critic, n, obs, values));
            ok(tce_critic_normalise(critic, n, obs, normalised));
            ok(tce_net_forward(net, n, normalised, want));
            ck_assert_mem_eq(values, want, n * sizeof *values);
            tce_critic_free(critic);
            tce_net_free(net);
            free(obs);
            free(values);
            free(want);
            free(normalised);
        }
    }
}
END_TEST

START_TEST(without_normaliser_observations_are_taken_as_they_are)
{
    enum { N = 50 };
    tce_critic_options options = options_of(TCE_NET_DOUBLE, N, NULL);
    tce_critic *critic;
    tce_random random;
    double *obs = observations(4, N);
    double values[N];
    double want[N];
    double count;
    options.normalise = TCE_CRITIC_RAW;
    ok(tce_critic_create(&options, NULL, &critic));
    tce_random_start(&random, 1, 1, 0, 0);
    ok(tce_critic_start(critic, &random));

    tce_net *net = network_of(critic, TCE_NET_DOUBLE, N);
    ok(tce_critic_observe(critic, N, obs));
    ok(tce_critic_value(critic, N, obs, values));
    ok(tce_net_forward(net, N, obs, want));
    tce_critic_statistics(critic, NULL, NULL, &count);
    ck_assert_double_eq(count, 1e-4);
    ck_assert_mem_eq(values, want, sizeof values);
    tce_critic_free(critic);
    tce_net_free(net);
    free(obs);
}
END_TEST

/* the statistics move on between the batch's own time and its training */
START_TEST(a_normalised_batch_keeps_the_statistics_of_its_time)
{
    enum { N = 150 };
    tce_critic_options options = options_of(TCE_NET_DOUBLE, N, NULL);
    const tce_adam_options adam = test_adam(1e-2);
    tce_critic *critic;
    tce_random random;
    double *obs = observations(4, N);
    double *later = observations(5, N);
    double *target = normals(6, N);
    double values[N];
    double want[N];
    double count;
    options.normalise = TCE_CRITIC_NORMALISED;
    ok(tce_critic_create(&options, NULL, &critic));
    tce_random_start(&random, 1, 1, 0, 0);
    ok(tce_critic_start(critic, &random));
    tce_net *net = network_of(critic, TCE_NET_DOUBLE, N);

    ok(tce_critic_observe(critic, N, obs));
    ok(tce_critic_normalise(critic, N, obs, obs));
    ok(tce_critic_observe(critic, N, later));
    tce_critic_statistics(critic, NULL, NULL, &count);
    ck_assert_double_eq(count, 1e-4 + N + N);
    ok(tce_critic_value(critic, N, obs, values));
    ok(tce_net_forward(net, N, obs, want));
    ck_assert_mem_eq(values, want, sizeof values);
    ok(tce_critic_fit_epoch(critic, N, obs, target, 1, NULL, &adam, 1.0, 0.0, NULL));
    ok(tce_net_pass_mse(net, N, obs, target, NULL, NULL));
    ok(tce_net_adam_step(net, &adam, 1.0));
    assert_same_parameters(critic, net);
    tce_critic_free(critic);
    tce_net_free(net);
    free(obs);
    free(later);
    free(target);
}
END_TEST

/* an epoch in M parts is M steps of the network on the permuted rows */
START_TEST(an_epoch_is_as_many_adam_steps_as_minibatches)
{
    enum { N = 203 };
    static const size_t PARTS[] = { 1, 2, 4, N };

    for (size_t k = 0; k < sizeof PARTS / sizeof PARTS[0]; k++) {
        const size_t M = PARTS[k];
        const tce_adam_options adam = test_adam(1e-2);
        tce_critic *critic = started(TCE_NET_FLOAT, N, NULL, 1);
        tce_net *net = network_of(critic, TCE_NET_FLOAT, N);
        double *obs = observations(4, N);
        double *normalised = malloc(N * O * sizeof *normalised);
        double *target = normals(5, N);
        uint32_t rows[N];
        tce_random random;
        tce_random again;
        double loss;
        tce_random_start(&random, 9, 9, 9, 9);
        again = random;

        ok(tce_critic_observe(critic, N, obs));
        ok(tce_critic_normalise(critic, N, obs, normalised));
        ok(tce_critic_fit_epoch(critic, N, obs, target, M, &random, &adam, 0.5, 0.3, &loss));

        double want = 0.0;
        size_t begin = 0;
        if (M > 1)
            tce_random_permutation(&again, N, rows);
        for (size_t part = 0; part < M; part++) {
            const size_t size = N / M + (part < N % M);
            double one;
            ok(tce_net_pass_mse(net, size, normalised, target, M > 1 ? rows + begin : NULL, &one));
            tce_net_scale_gradient(net, tce_clip_factor(tce_net_gradient_norm(net), 0.3));
            ok(tce_net_adam_step(net, &adam, 0.5));
            want += one * (double)size / N;
            begin += size;
        }
        ck_assert_uint_eq(begin, N);
        test_assert_close(&loss, &want, 1, TOL_ROUNDING);
        assert_same_parameters(critic, net);
        tce_critic_free(critic);
        tce_net_free(net);
        free(obs);
        free(normalised);
        free(target);
    }
}
END_TEST

/* parameters after two epochs, one of them in minibatches */
static double *train(int32_t precision, size_t n, int32_t n_threads)
{
    tce_pool_options options;
    tce_pool *pool;
    tce_random random;
    const tce_adam_options adam = test_adam(1e-2);
    double *obs = observations(4, n);
    double *target = normals(5, n);
    tce_pool_options_init(&options, sizeof options);
    options.n_threads = n_threads;
    ok(tce_pool_create(&options, NULL, &pool));

    tce_critic *critic = started(precision, (int32_t)n, pool, 1);
    tce_random_start(&random, 9, 9, 9, 9);
    ok(tce_critic_observe(critic, n, obs));
    ok(tce_critic_fit_epoch(critic, n, obs, target, 1, NULL, &adam, 1.0, 0.0, NULL));
    ok(tce_critic_fit_epoch(critic, n, obs, target, 3, &random, &adam, 1.0, 0.0, NULL));
    double *parameters = malloc(tce_critic_num_parameters(critic) * sizeof *parameters);
    tce_critic_get_parameters(critic, parameters);
    tce_critic_free(critic);
    tce_pool_free(pool);
    free(obs);
    free(target);
    return parameters;
}

START_TEST(a_critic_with_the_parameters_of_another_has_its_values)
{
    const size_t n = 7;
    tce_critic *from = started(TCE_NET_DOUBLE, (int32_t)n, NULL, 1),
               *to = started(TCE_NET_DOUBLE, (int32_t)n, NULL, 2);
    double *obs = observations(3, n), a[7], b[7];
    double *parameters = malloc(tce_critic_num_parameters(from) * sizeof *parameters);

    tce_critic_get_parameters(from, parameters);
    ok(tce_critic_value(from, n, obs, a));
    ok(tce_critic_value(to, n, obs, b));
    ck_assert_mem_ne(a, b, sizeof a);
    ok(tce_critic_set_parameters(to, parameters));
    ok(tce_critic_value(to, n, obs, b));
    ck_assert_mem_eq(a, b, sizeof a);

    /* what is refused changes nothing */
    parameters[3] = NAN;
    fails(tce_critic_set_parameters(to, parameters), TCE_E_VALUE, "3");
    fails(tce_critic_set_parameters(to, NULL), TCE_E_ARGUMENT, "parameters");
    fails(tce_critic_set_parameters(NULL, parameters), TCE_E_ARGUMENT, "critic");
    ok(tce_critic_value(to, n, obs, b));
    ck_assert_mem_eq(a, b, sizeof a);
    tce_critic_free(from);
    tce_critic_free(to);
    free(obs);
    free(parameters);
}
END_TEST

START_TEST(one_two_and_five_threads_give_the_same_bytes)
{
    tce_critic *critic = started(TCE_NET_FLOAT, 1, NULL, 1);
    const size_t size = tce_critic_num_parameters(critic) * sizeof(double);
    tce_critic_free(critic);

    for (int32_t precision = TCE_NET_FLOAT; precision <= TCE_NET_DOUBLE; precision++) {
        for (size_t n = 100; n < 10000; n = 3 * n + 1) {
            double *one = train(precision, n, 1);
            double *two = train(precision, n, 2);
            double *five = train(precision, n, 5);
            ck_assert_mem_eq(one, two, size);
            ck_assert_mem_eq(one, five, size);
            free(one);
            free(two);
            free(five);
        }
    }
}
END_TEST

START_TEST(training_learns_a_smooth_function)
{
    enum { N = 500 };
    tce_critic *critic = started(TCE_NET_FLOAT, N, NULL, 1);
    const tce_adam_options adam = test_adam(1e-2);
    double *obs = observations(4, N);
    double target[N];
    double first;
    double loss = 0.0;
    for (size_t i = 0; i < N; i++)
        target[i] = sin(100.0 * obs[i * O]) + 0.1 * (obs[i * O + 3] - 9.0);

    ok(tce_critic_observe(critic, N, obs));
    ok(tce_critic_fit_epoch(critic, N, obs, target, 1, NULL, &adam, 1.0, 0.0, &first));
    for (int k = 0; k < 300; k++)
        ok(tce_critic_fit_epoch(critic, N, obs, target, 1, NULL, &adam, 1.0, 0.0, &loss));
    ck_assert_double_lt(loss, 0.05 * first);
    tce_critic_free(critic);
    free(obs);
}
END_TEST

START_TEST(a_saved_critic_goes_on_with_the_same_bytes)
{
    enum { N = 100 };
    for (int32_t precision = TCE_NET_FLOAT; precision <= TCE_NET_DOUBLE; precision++) {
        tce_critic *both[2] = { started(precision, N, NULL, 1), started(precision, N, NULL, 2) };
        const tce_adam_options adam = test_adam(1e-2);
        double *obs = observations(4, N);
        double *target = normals(5, N);
        double values[2][N];
        double mean[2][O];
        tce_store *store;
        ok(tce_critic_observe(both[0], N, obs));
        ok(tce_critic_fit_epoch(both[0], N, obs, target, 1, NULL, &adam, 1.0, 0.0, NULL));
        ok(tce_store_create(NULL, &store));
        ok(tce_critic_save(both[0], store, "critic"));
        ok(tce_critic_load(both[1], store, "critic"));
        tce_store_free(store);

        for (int i = 0; i < 2; i++) {
            ok(tce_critic_observe(both[i], N / 2, obs));
            ok(tce_critic_fit_epoch(both[i], N, obs, target, 1, NULL, &adam, 1.0, 0.0, NULL));
            ok(tce_critic_value(both[i], N, obs, values[i]));
            tce_critic_statistics(both[i], mean[i], NULL, NULL);
        }
        ck_assert_mem_eq(values[0], values[1], sizeof values[0]);
        ck_assert_mem_eq(mean[0], mean[1], sizeof mean[0]);
        for (int i = 0; i < 2; i++)
            tce_critic_free(both[i]);
        free(obs);
        free(target);
    }
}
END_TEST

START_TEST(float_is_close_to_double)
{
    enum { N = 300 };
    double *obs = observations(4, N);
    double values[2][N];

    for (int32_t precision = TCE_NET_FLOAT; precision <= TCE_NET_DOUBLE; precision++) {
        tce_critic *critic = started(precision, N, NULL, 1);
        ok(tce_critic_observe(critic, N, obs));
        ok(tce_critic_value(critic, N, obs, values[precision]));
        tce_critic_free(critic);
    }
    test_assert_close(values[0], values[1], N, TOL_FLOAT);
    ck_assert_double_gt(test_difference(N, values[0], values[1]), 0.0);
    free(obs);
}
END_TEST

/* ---- errors ---------------------------------------------------------------------------------- */

START_TEST(options_out_of_range_are_refused_by_name)
{
    static const struct {
        size_t field;
        int32_t value;
        const char *word;
    } BAD[] = {
        { offsetof(tce_critic_options, n_obs), 0, "n_obs" },
        { offsetof(tce_critic_options, n_hidden), -1, "n_hidden" },
        { offsetof(tce_critic_options, n_hidden), 1000, "n_hidden" },
        { offsetof(tce_critic_options, activation), 9, "activation" },
        { offsetof(tce_critic_options, precision), 9, "precision" },
        { offsetof(tce_critic_options, start), 9, "start" },
        { offsetof(tce_critic_options, max_batch), 0, "max_batch" },
        { offsetof(tce_critic_options, normalise), 3, "normalise" },
    };
    tce_critic *critic;

    for (size_t i = 0; i < sizeof BAD / sizeof BAD[0]; i++) {
        tce_critic_options options;
        tce_critic_options_init(&options, sizeof options);
        memcpy((char *)&options + BAD[i].field, &BAD[i].value, sizeof BAD[i].value);
        fails(tce_critic_create(&options, NULL, &critic), TCE_E_VALUE, BAD[i].word);
        ck_assert_ptr_null(critic);
    }
    fails(tce_critic_create(NULL, NULL, &critic), TCE_E_ARGUMENT, "tce_critic_options");
    tce_critic_free(NULL);
}
END_TEST

START_TEST(observations_that_are_not_finite_change_nothing)
{
    static const double BAD[] = { NAN, INFINITY, -INFINITY, 1e200 };
    enum { N = 20 };
    tce_critic *critic = started(TCE_NET_FLOAT, N, NULL, 1);
    double *obs = observations(4, N);
    double before[2 * O + 1];
    double after[2 * O + 1];
    ok(tce_critic_observe(critic, N, obs));
    tce_critic_statistics(critic, before, before + O, before + 2 * O);

    for (size_t i = 0; i < sizeof BAD / sizeof BAD[0]; i++) {
        obs[N * O - 1] = BAD[i];
        fails(tce_critic_observe(critic, N, obs), TCE_E_VALUE, "obs");
        tce_critic_statistics(critic, after, after + O, after + 2 * O);
        ck_assert_mem_eq(before, after, sizeof before);
    }
    tce_critic_free(critic);
    free(obs);
}
END_TEST

START_TEST(a_target_that_is_not_finite_changes_nothing)
{
    enum { N = 20 };
    tce_critic *critic = started(TCE_NET_FLOAT, N, NULL, 1);
    tce_net *net = network_of(critic, TCE_NET_FLOAT, 1);
    const tce_adam_options adam = test_adam(1e-2);
    double *obs = observations(4, N);
    double *target = normals(5, N);
    double loss = SENTINEL;

    target[7] = NAN;
    fails(tce_critic_fit_epoch(critic, N, obs, target, 1, NULL, &adam, 1.0, 0.0, &loss),
          TCE_E_NOT_FINITE, "gradient norm");
    assert_same_parameters(critic, net);
    ck_assert_double_eq(loss, SENTINEL);
    tce_critic_free(critic);
    tce_net_free(net);
    free(obs);
    free(target);
}
END_TEST

START_TEST(bad_calls_leave_outputs_untouched)
{
    enum { N = 20 };
    tce_critic *critic = started(TCE_NET_FLOAT, N, NULL, 1);
    tce_adam_options adam = test_adam(1e-2);
    double *obs = observations(4, N + 1);
    double out[N + 1] = { SENTINEL };
    tce_random random;
    tce_random_start(&random, 1, 2, 3, 4);

    fails(tce_critic_value(critic, N + 1, obs, out), TCE_E_SHAPE, "max_batch");
    fails(tce_critic_value(critic, N, NULL, out), TCE_E_ARGUMENT, "obs");
    ck_assert_double_eq(out[0], SENTINEL);
    fails(tce_critic_fit_epoch(critic, N + 1, obs, obs, 1, NULL, &adam, 1.0, 0.0, NULL),
          TCE_E_SHAPE, "max_batch");
    fails(tce_critic_fit_epoch(critic, N, obs, obs, 0, NULL, &adam, 1.0, 0.0, NULL), TCE_E_SHAPE,
          "n_minibatches");
    fails(tce_critic_fit_epoch(critic, N, obs, obs, N + 1, &random, &adam, 1.0, 0.0, NULL),
          TCE_E_SHAPE, "n_minibatches");
    fails(tce_critic_fit_epoch(critic, N, obs, obs, 2, NULL, &adam, 1.0, 0.0, NULL), TCE_E_ARGUMENT,
          "random");
    fails(tce_critic_fit_epoch(critic, N, obs, obs, 1, NULL, &adam, NAN, 0.0, NULL), TCE_E_VALUE,
          "rate_factor");
    adam.epsilon = 0.0;
    fails(tce_critic_fit_epoch(critic, N, obs, obs, 1, NULL, &adam, 1.0, 0.0, NULL), TCE_E_VALUE,
          "epsilon");
    tce_critic_free(critic);
    free(obs);
}
END_TEST

START_TEST(a_store_that_does_not_fit_changes_nothing)
{
    tce_critic *critic = started(TCE_NET_FLOAT, 1, NULL, 1);
    tce_critic *other = started(TCE_NET_FLOAT, 1, NULL, 2);
    tce_net *net = network_of(other, TCE_NET_FLOAT, 1);
    const size_t n_obs = O;
    double variance[O] = { 1.0, 1.0, 1.0, 1.0, -1.0 };
    tce_store *store;
    ok(tce_store_create(NULL, &store));
    fails(tce_critic_load(other, store, "c"), TCE_E_NOT_FOUND, "c.net");
    ok(tce_critic_save(critic, store, "c"));

    ok(tce_store_put(store, "c.variance", TCE_STORE_F64, 1, &n_obs, variance));
    fails(tce_critic_load(other, store, "c"), TCE_E_VALUE, "c.variance[4]");
    ok(tce_store_put(store, "c.variance", TCE_STORE_F64, 0, NULL, variance));
    fails(tce_critic_load(other, store, "c"), TCE_E_SHAPE, "c.variance");
    assert_same_parameters(other, net);
    tce_store_free(store);
    tce_critic_free(critic);
    tce_critic_free(other);
    tce_net_free(net);
}
END_TEST

/* ---- memory ---------------------------------------------------------------------------------- */

START_TEST(nothing_allocates_after_create)
{
    enum { N = 600 };
    const tce_critic_options options = options_of(TCE_NET_FLOAT, N, NULL);
    test_memory memory = { .budget = 0 };
    tce_hooks hooks;
    tce_critic *critic;
    tce_random random;
    const tce_adam_options adam = test_adam(1e-2);
    double *obs = observations(4, N);
    double *target = normals(5, N);
    double values[N];
    test_hooks(&memory, &hooks);

    fails(tce_critic_create(&options, &hooks, &critic), TCE_E_NOMEM, "tce_critic");
    ck_assert_ptr_null(critic);
    ck_assert_uint_eq(memory.live, 0);
    memory.budget = 1;
    ok(tce_critic_create(&options, &hooks, &critic));
    tce_random_start(&random, 1, 2, 3, 4);
    ok(tce_critic_start(critic, &random));
    ok(tce_critic_observe(critic, N, obs));
    ok(tce_critic_value(critic, N, obs, values));
    ok(tce_critic_fit_epoch(critic, N, obs, target, 1, NULL, &adam, 1.0, 0.0, NULL));
    ok(tce_critic_fit_epoch(critic, N, obs, target, 7, &random, &adam, 1.0, 0.5, NULL));
    ck_assert_uint_eq(memory.n_alloc, 1);
    tce_critic_free(critic);
    ck_assert_uint_eq(memory.live, 0);
    free(obs);
    free(target);
}
END_TEST

/* ---- suite ----------------------------------------------------------------------------------- */

int main(void)
{
    Suite *suite = suite_create("critic");
    TCase *golden = test_case(suite, "golden", TIMEOUT);
    TCase *property = test_case(suite, "property", TIMEOUT);
    TCase *errors = test_case(suite, "errors", TIMEOUT);
    TCase *memory = test_case(suite, "memory", TIMEOUT);

    tce_blas_set_threads(1);
    tcase_add_test(golden, running_statistics_follow_the_published_update);
    tcase_add_test(property, normalised_observations_have_mean_zero_and_variance_one);
    tcase_add_test(property, values_are_the_networks_at_normalised_observations);
    tcase_add_test(property, without_normaliser_observations_are_taken_as_they_are);
    tcase_add_test(property, a_normalised_batch_keeps_the_statistics_of_its_time);
    tcase_add_test(property, an_epoch_is_as_many_adam_steps_as_minibatches);
    tcase_add_test(property, a_critic_with_the_parameters_of_another_has_its_values);
    tcase_add_test(property, one_two_and_five_threads_give_the_same_bytes);
    tcase_add_test(property, training_learns_a_smooth_function);
    tcase_add_test(property, a_saved_critic_goes_on_with_the_same_bytes);
    tcase_add_test(property, float_is_close_to_double);
    tcase_add_test(errors, options_out_of_range_are_refused_by_name);
    tcase_add_test(errors, observations_that_are_not_finite_change_nothing);
    tcase_add_test(errors, a_target_that_is_not_finite_changes_nothing);
    tcase_add_test(errors, bad_calls_leave_outputs_untouched);
    tcase_add_test(errors, a_store_that_does_not_fit_changes_nothing);
    tcase_add_test(memory, nothing_allocates_after_create);

    return test_run(suite);
}
