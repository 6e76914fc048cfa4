/*
 * policy: prediction, its gradient, Adam over all parameters, covariance forms, store.
 */
#include <check.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <tce/policy.h>

#include "support.h"

#define SENTINEL 12345.0
/* Seconds a test may take; sanitizers on a busy machine need more than Check's 4. */
#define TIMEOUT 120

/*
 * Central differences with step eps^(1/3): eps^(2/3) = 4e-11 times third derivatives and sums up to
 * 1e3.
 */
#define TOL_DIFFERENCE 1e-7
/* softplus and its inverse: a few roundings. */
#define TOL_INVERSE 1e-14

#define N_SEEDS 100

enum { O = 5, P = 4, N = 7, N_KINDS = 9 };

/* ---- policies -------------------------------------------------------------------------------- */

static const int32_t HIDDEN[] = { 12, 9 };
static const int32_t COV_HIDDEN[] = { 10 };

/* The first three are numbered like their forms. */
static const struct {
    int32_t form, spread, shared_body;
} KINDS[N_KINDS] = {
    { TCE_POLICY_FULL_SHARED, TCE_POLICY_SOFTPLUS, 0 },
    { TCE_POLICY_FULL_CONTEXTUAL, TCE_POLICY_SOFTPLUS, 0 },
    { TCE_POLICY_DIAGONAL_SHARED, TCE_POLICY_SOFTPLUS, 0 },
    { TCE_POLICY_DIAGONAL_SHARED, TCE_POLICY_EXP, 0 },
    { TCE_POLICY_DIAGONAL_CONTEXTUAL, TCE_POLICY_EXP_CLIPPED, 1 },
    { TCE_POLICY_DIAGONAL_CONTEXTUAL, TCE_POLICY_SOFTPLUS, 0 },
    { TCE_POLICY_FULL_SHARED, TCE_POLICY_EXP, 0 },
    { TCE_POLICY_FULL_CONTEXTUAL, TCE_POLICY_EXP_CLIPPED, 0 },
    { TCE_POLICY_DIAGONAL_CONTEXTUAL, TCE_POLICY_EXP, 1 },
};

static int is_contextual(int32_t kind)
{
    return KINDS[kind].form == TCE_POLICY_FULL_CONTEXTUAL ||
           KINDS[kind].form == TCE_POLICY_DIAGONAL_CONTEXTUAL;
}

static int is_diagonal(int32_t kind)
{
    return KINDS[kind].form >= TCE_POLICY_DIAGONAL_SHARED;
}

static tce_policy_options options_of(int32_t kind, int32_t precision, int32_t max_batch,
                                     tce_pool *pool)
{
    tce_policy_options options;

    tce_policy_options_init(&options, sizeof options);
    options.n_obs = O;
    options.n_dims = P;
    options.form = KINDS[kind].form;
    options.spread = KINDS[kind].spread;
    options.shared_body = KINDS[kind].shared_body;
    options.log_std_low = -0.3; /* cuts some of the raw numbers of these tests */
    options.log_std_high = 0.3;
    options.precision = precision;
    options.activation = TCE_NET_TANH;
    options.hidden = HIDDEN;
    options.max_batch = max_batch;
    options.n_cov_hidden = 1;
    options.cov_hidden = COV_HIDDEN;
    options.cov_activation = TCE_NET_LEAKY_RELU;
    options.pool = pool;
    return options;
}

static tce_policy *started(int32_t kind, int32_t precision, int32_t max_batch, tce_pool *pool,
                           uint64_t seed)
{
    const tce_policy_options options = options_of(kind, precision, max_batch, pool);
    tce_policy *policy = NULL;
    tce_random random;

    ok(tce_policy_create(&options, NULL, &policy));
    tce_random_start(&random, seed, 1, 0, 0);
    ok(tce_policy_start(policy, &random));
    return policy;
}

static double *weights_of(const tce_policy *policy)
{
    double *p = malloc(tce_policy_n_weights(policy) * sizeof *p);
    tce_policy_get_weights(policy, p);
    return p;
}

/*
 * raw numbers of the covariance, or parameters of the second network: what comes behind the mean
 * network
 */
static size_t num_mean_parameters(void)
{
    return 12 * (O + 1) + 9 * (12 + 1) + P * (9 + 1);
}

/* one update with fixed gradients: a stand-in for an objective */
static void update(tce_policy *policy, size_t n, const double *obs, const double *d_mean,
                   const double *d_L)
{
    const tce_adam_options adam = test_adam(1e-2);
    double *mean = malloc(n * P * sizeof *mean);
    double *L = malloc(n * P * P * sizeof *L);

    ok(tce_policy_predict(policy, n, obs, mean, L));
    ok(tce_policy_backward(policy, n, d_mean, d_L));
    ok(tce_policy_adam_step(policy, &adam));
    free(mean);
    free(L);
}

/* ---- gradient -------------------------------------------------------------------------------- */

/*
 * A random function of a prediction: sum of a mean + b L + (mean^2 + L^2)/2 over means and factors.
 */
typedef struct probe {
    tce_policy *policy;
    const double *obs;
    const double *a; /* [N, P] */
    const double *b; /* [N, P, P] */
} probe;

static double probe_loss(void *context, const double *parameters)
{
    const probe *p = context;
    const size_t n_scale = tce_policy_n_factors(p->policy, N) * tce_policy_scale_size(p->policy);
    double mean[N * P];
    double L[N * P * P];
    double loss = 0.0;

    ok(tce_policy_set_weights(p->policy, parameters));
    ok(tce_policy_predict(p->policy, N, p->obs, mean, L));
    for (size_t i = 0; i < N * P; i++)
        loss += p->a[i] * mean[i] + 0.5 * mean[i] * mean[i];
    for (size_t i = 0; i < n_scale; i++)
        loss += p->b[i] * L[i] + 0.5 * L[i] * L[i];
    return loss;
}

static void check_gradient(int32_t kind)
{
    tce_policy *policy = started(kind, TCE_NET_DOUBLE, N, NULL, 3);
    const size_t n = tce_policy_n_weights(policy);
    double *obs = test_normals(1, N * O);
    double *a = test_normals(2, N * P);
    double *b = test_normals(3, N * P * P);
    double *noise = test_normals(4, n);
    double *parameters = weights_of(policy);
    double *want = malloc(n * sizeof *want);
    double *got = malloc(n * sizeof *got);
    double mean[N * P];
    double L[N * P * P];
    for (size_t i = 0; i < n; i++)
        parameters[i] += 0.3 * noise[i];

    /* numbers above the diagonal must not matter */
    ok(tce_policy_set_weights(policy, parameters));
    ok(tce_policy_predict(policy, N, obs, mean, L));
    for (size_t i = 0; i < N * P; i++)
        mean[i] += a[i];
    const size_t n_scale = tce_policy_n_factors(policy, N) * tce_policy_scale_size(policy);
    for (size_t i = 0; i < n_scale; i++)
        L[i] = !is_diagonal(kind) && i % P > i / P % P ? NAN : L[i] + b[i];
    ok(tce_policy_backward(policy, N, mean, L));
    tce_policy_get_gradient(policy, got);

    probe p = { policy, obs, a, b };
    test_finite_difference(probe_loss, &p, n, parameters, want);
    test_assert_close_gradient(got, want, n, TOL_DIFFERENCE);
    tce_policy_free(policy);
    free(obs);
    free(a);
    free(b);
    free(noise);
    free(parameters);
    free(want);
    free(got);
}

START_TEST(gradients_equal_differences_for_every_form)
{
    for (int32_t kind = 0; kind < N_KINDS; kind++)
        check_gradient(kind);
}
END_TEST

/* ---- property -------------------------------------------------------------------------------- */

START_TEST(a_started_policy_has_the_published_covariance)
{
    for (int32_t kind = 0; kind < N_KINDS; kind++) {
        tce_policy *policy = started(kind, TCE_NET_FLOAT, N, NULL, 5);
        double *obs = test_normals(6, N * O);
        double mean[N * P];
        double L[N * P * P];
        ok(tce_policy_predict(policy, N, obs, mean, L));

        /* a contextual network's output is near 0, so softplus is near log 2, and e^v near 1 */
        const int contextual = is_contextual(kind);
        const double at_0 = KINDS[kind].spread == TCE_POLICY_SOFTPLUS ? 1e-4 + log(2.0) : 1.0;
        const double first = KINDS[kind].spread == TCE_POLICY_SOFTPLUS ? 1e-4 + 0.99 : 0.99;
        const double want = contextual ? at_0 : first;
        const double tol = contextual ? 0.1 : TOL_INVERSE;
        const size_t n_factors = tce_policy_n_factors(policy, N);
        ck_assert_uint_eq(n_factors, contextual ? N : 1);
        ck_assert_uint_eq(tce_policy_scale_size(policy), is_diagonal(kind) ? P : P * P);
        for (size_t i = 0; is_diagonal(kind) && i < n_factors * P; i++)
            ck_assert_double_le(fabs(L[i] - want), tol);
        for (size_t i = 0; !is_diagonal(kind) && i < n_factors * P * P; i++) {
            const size_t row = i / P % P, column = i % P;
            if (row == column)
                ck_assert_double_le(fabs(L[i] - want), tol);
            else
                ck_assert_double_le(fabs(L[i]), contextual && column < row ? tol : 0.0);
        }
        for (size_t i = 0; i < N * P; i++)
            ck_assert_double_le(fabs(mean[i]), 0.1);
        tce_policy_free(policy);
        free(obs);
    }
}
END_TEST

START_TEST(a_set_scale_is_predicted)
{
    static const int32_t SHARED[] = { 0, 2, 3, 6 };

    for (uint64_t seed = 0; seed < N_SEEDS; seed++) {
        const int32_t kind = SHARED[seed % 4];
        tce_policy *policy = started(kind, TCE_NET_FLOAT, 1, NULL, seed);
        const size_t size = tce_policy_scale_size(policy);
        double *obs = test_normals(seed, O);
        double mean[P];
        double L[P * P];
        double got[P * P];
        tce_random random;
        tce_random_start(&random, seed, 7, 0, 0);

        /* scales from 1e-3 to 1e6 */
        test_random_cholesky(&random, P, 10.0, pow(10.0, -5.0 + 17.0 * tce_random_uniform(&random)),
                             L);
        for (size_t i = 0; is_diagonal(kind) && i < P; i++)
            L[i] = L[i * (P + 1)];
        ok(tce_policy_set_covariance(policy, L));
        ok(tce_policy_predict(policy, 1, obs, mean, got));
        for (size_t i = 0; i < size; i++)
            ck_assert_msg(fabs(got[i] - L[i]) <= 10.0 * TOL_INVERSE * fabs(L[i]),
                          "seed %d, entry %zu: %.17g, not %.17g", (int)seed, i, got[i], L[i]);
        tce_policy_free(policy);
        free(obs);
    }
}
END_TEST

START_TEST(a_deviation_below_min_std_is_set_to_the_least)
{
    tce_policy *policy = started(TCE_POLICY_DIAGONAL_SHARED, TCE_NET_FLOAT, 1, NULL, 1);
    double *obs = test_normals(1, O);
    const double std[P] = { 1e-9, 1.0, 1.0, 1.0 };
    double got[P];
    double mean[P];

    ok(tce_policy_set_covariance(policy, std));
    ok(tce_policy_predict(policy, 1, obs, mean, got));
    ck_assert_double_eq_tol(got[0], 1e-4 + 1e-12, 1e-18);
    ck_assert_double_eq_tol(got[1], 1.0, TOL_INVERSE);
    tce_policy_free(policy);
    free(obs);
}
END_TEST

START_TEST(the_mean_alone_is_that_of_predict)
{
    static const size_t SIZES[] = { 1, N, 600 };

    for (int32_t kind = 0; kind < N_KINDS; kind++) {
        for (size_t k = 0; k < sizeof SIZES / sizeof SIZES[0]; k++) {
            const size_t n = SIZES[k];
            tce_policy *policy = started(kind, (int32_t)(k % 2), (int32_t)n, NULL, 3);
            double *obs = test_normals(1, n * O);
            double *mean = malloc(n * P * sizeof *mean);
            double *alone = malloc(n * P * sizeof *alone);
            double *scale = malloc(n * P * P * sizeof *scale);
            double *work = malloc(tce_policy_work_size(policy, n) * sizeof *work);

            ok(tce_policy_predict(policy, n, obs, mean, scale));
            ok(tce_policy_mean(policy, n, obs, work, alone));
            ck_assert_mem_eq(mean, alone, n * P * sizeof *mean);
            /* predict is still remembered */
            ok(tce_policy_backward(policy, n, mean, scale));
            obs[2] = INFINITY;
            alone[0] = SENTINEL;
            fails(tce_policy_mean(policy, n, obs, work, alone), TCE_E_VALUE, "obs[2]");
            ck_assert_double_eq(alone[0], SENTINEL);
            tce_policy_free(policy);
            free(obs);
            free(mean);
            free(alone);
            free(scale);
            free(work);
        }
    }
}
END_TEST

/* mean = W z + b, with z the hidden layer and (W, b) the last layer of the mean network */
START_TEST(hidden_is_what_the_heads_see)
{
    enum { F = 9 };

    for (int32_t kind = 0; kind < N_KINDS; kind++) {
        tce_policy *policy = started(kind, TCE_NET_DOUBLE, N, NULL, 3);
        const size_t n_out = KINDS[kind].shared_body ? 2 * P : P;
        double *obs = test_normals(1, N * O);
        double *weights = weights_of(policy);
        const double *W = weights + 12 * (O + 1) + F * (12 + 1);
        double mean[N * P], scale[N * P * P], z[N * F], want[N * P];

        fails(tce_policy_hidden(policy, N, z), TCE_E_STATE, "predict");
        ok(tce_policy_predict(policy, N, obs, mean, scale));
        ok(tce_policy_hidden(policy, N, z));
        for (size_t i = 0; i < N * P; i++) {
            want[i] = W[n_out * F + i % P];
            for (size_t f = 0; f < F; f++)
                want[i] += W[i % P * F + f] * z[i / P * F + f];
        }
        test_assert_close(mean, want, N * P, 1e-13);
        fails(tce_policy_hidden(policy, N - 1, z), TCE_E_SHAPE, "last predict");
        tce_policy_free(policy);
        free(obs);
        free(weights);
    }
}
END_TEST

START_TEST(raw_numbers_outside_the_limits_have_no_gradient)
{
    static const double V[P] = { -5.0, -0.3, 0.3, 5.0 };
    static const double WANT[P] = { -0.3, -0.3, 0.3, 0.3 };
    static const double SLOPE[P] = { 0.0, 1.0, 1.0, 0.0 };
    enum { CLIPPED = 4, N_LAST = 2 * P };
    tce_policy *policy = started(CLIPPED, TCE_NET_DOUBLE, 1, NULL, 1);
    const size_t n = tce_policy_n_weights(policy);
    double *weights = weights_of(policy);
    double *gradient = malloc(n * sizeof *gradient);
    double *obs = test_normals(1, O);
    const double d_mean[P] = { 0.0 };
    double mean[P], std[P], d_std[P];

    /* the second head is nothing but its biases, which come last */
    memset(weights + n - N_LAST - P * 9, 0, P * 9 * sizeof *weights);
    memcpy(weights + n - P, V, sizeof V);
    ok(tce_policy_set_weights(policy, weights));
    ok(tce_policy_predict(policy, 1, obs, mean, std));
    for (size_t i = 0; i < P; i++) {
        ck_assert_double_eq_tol(std[i], exp(WANT[i]), 1e-15);
        d_std[i] = 1.0 / std[i];
    }
    ok(tce_policy_backward(policy, 1, d_mean, d_std));
    tce_policy_get_gradient(policy, gradient);
    for (size_t i = 0; i < P; i++)
        ck_assert_double_eq_tol(gradient[n - P + i], SLOPE[i], 1e-15);
    tce_policy_free(policy);
    free(weights);
    free(gradient);
    free(obs);
}
END_TEST

START_TEST(the_gain_of_the_last_layer_is_an_option)
{
    tce_policy_options options = options_of(TCE_POLICY_FULL_SHARED, TCE_NET_DOUBLE, N, NULL);
    double *obs = test_normals(1, N * O);
    double mean[2][N * P], L[P * P];

    for (int i = 0; i < 2; i++) {
        tce_policy *policy;
        tce_policy *again;
        tce_store *store;
        tce_random random;
        options.gain_out = i == 0 ? 0.01 : 1.0;
        ok(tce_policy_create(&options, NULL, &policy));
        tce_random_start(&random, 1, 1, 0, 0);
        ok(tce_policy_start(policy, &random));
        ok(tce_policy_predict(policy, N, obs, mean[i], L));

        /* and a policy from a store starts with it too */
        ok(tce_store_create(NULL, &store));
        ok(tce_policy_save(policy, store, "p"));
        ok(tce_policy_create_from(store, "p", &options, NULL, &again));
        tce_random_start(&random, 1, 1, 0, 0);
        ok(tce_policy_start(again, &random));
        double *a = weights_of(policy), *b = weights_of(again);
        ck_assert_mem_eq(a, b, tce_policy_n_weights(policy) * sizeof *a);
        tce_store_free(store);
        tce_policy_free(policy);
        tce_policy_free(again);
        free(a);
        free(b);
    }
    for (size_t i = 0; i < N * P; i++)
        ck_assert_double_eq_tol(mean[1][i], 100.0 * mean[0][i], 1e-12);
    free(obs);
}
END_TEST

START_TEST(extreme_raw_numbers_stay_finite)
{
    static const double RAW[P] = { -1e4, -40.0, 40.0, 1e4 };
    tce_policy *policy = started(TCE_POLICY_FULL_SHARED, TCE_NET_FLOAT, 1, NULL, 1);
    const size_t n = tce_policy_n_weights(policy);
    double *parameters = weights_of(policy);
    double *obs = test_normals(1, O);
    double *gradient = malloc(n * sizeof *gradient);
    const double d_mean[P] = { 0.0 };
    double L[P * P];
    double ones[P * P];
    double mean[P];

    memcpy(parameters + num_mean_parameters(), RAW, sizeof RAW);
    for (size_t i = 0; i < P * P; i++)
        ones[i] = 1.0;
    ok(tce_policy_set_weights(policy, parameters));
    ok(tce_policy_predict(policy, 1, obs, mean, L));
    ok(tce_policy_backward(policy, 1, d_mean, ones));
    tce_policy_get_gradient(policy, gradient);
    ck_assert_double_eq(L[0], 1e-4);
    ck_assert_double_eq_tol(L[P + 1] - 1e-4, exp(-40.0), 1e-19);
    ck_assert_double_eq_tol(L[2 * (P + 1)], 40.0 + 1e-4, 1e-14);
    ck_assert_double_eq_tol(L[3 * (P + 1)], 1e4 + 1e-4, 1e-11);
    ck_assert_double_eq(gradient[num_mean_parameters()], 0.0);
    ck_assert_double_eq_tol(gradient[num_mean_parameters() + 1], exp(-40.0), 1e-30);
    ck_assert_double_eq(gradient[num_mean_parameters() + 3], 1.0);
    tce_policy_free(policy);
    free(parameters);
    free(obs);
    free(gradient);
}
END_TEST

/* ---- softplus and exp ------------------------------------------------------------------------ */

enum { WIDE = 61 };

/* Standard deviations of raw numbers, and their derivatives: both [n], of WIDE rows each time. */
static void spread_of(int32_t spread, size_t n, const double *raw, double *std, double *slope)
{
    const double obs[O] = { 0.0 }, none[WIDE] = { 0.0 };
    const int32_t hidden[] = { 1 };
    double mean[WIDE], ones[WIDE];
    tce_policy_options options = options_of(0, TCE_NET_DOUBLE, 1, NULL);
    tce_policy *policy;

    options.n_dims = WIDE;
    options.form = TCE_POLICY_DIAGONAL_SHARED;
    options.spread = spread;
    options.min_std = 0.0;
    options.n_hidden = 1;
    options.hidden = hidden;
    ok(tce_policy_create(&options, NULL, &policy));
    const size_t n_weights = tce_policy_n_weights(policy);
    double *weights = weights_of(policy);
    for (size_t i = 0; i < WIDE; i++)
        ones[i] = 1.0;
    for (size_t i = 0; i + WIDE <= n; i += WIDE) {
        memcpy(weights + n_weights - WIDE, raw + i, sizeof ones);
        ok(tce_policy_set_weights(policy, weights));
        ok(tce_policy_predict(policy, 1, obs, mean, std + i));
        ok(tce_policy_backward(policy, 1, none, ones));
        tce_policy_get_gradient(policy, weights);
        memcpy(slope + i, weights + n_weights - WIDE, sizeof ones);
    }
    tce_policy_free(policy);
    free(weights);
}

/* How far x is from `want`, in units of the last place of want. */
static double distance(double x, long double want)
{
    const double size = fabs((double)want);
    return (double)(fabsl((long double)x - want) / (long double)(nextafter(size, INFINITY) - size));
}

START_TEST(softplus_and_exp_are_within_two_units_in_the_last_place)
{
    enum { N = 300 * WIDE };
    static double raw[N], std[N], slope[N];
    tce_random random;

    tce_random_start(&random, 12, 0, 0, 0);
    for (size_t i = 0; i < N; i++) {
        const double u = 2.0 * tce_random_uniform(&random) - 1.0;
        raw[i] = i % 4 == 0 ? 700.0 * u : i % 4 == 1 ? 40.0 * u : i % 4 == 2 ? u : 1e-3 * u;
    }
    raw[0] = 0.0;
    spread_of(TCE_POLICY_SOFTPLUS, N, raw, std, slope);
    for (size_t i = 0; i < N; i++) {
        const long double v = raw[i], e = expl(-fabsl(v));
        const long double want = (v > 0 ? v : 0) + log1pl(e);
        ck_assert_double_le(distance(std[i], want), 2.0);
        ck_assert_double_le(distance(slope[i], (v > 0 ? 1 : e) / (1 + e)), 3.0);
    }
    spread_of(TCE_POLICY_EXP, N, raw, std, slope);
    for (size_t i = 0; i < N; i++)
        ck_assert_double_le(distance(std[i], expl(raw[i])), 2.0);
    ck_assert_mem_eq(std, slope, sizeof std);
}
END_TEST

/* The sums are those of one machine; all others must find them too, as for tanh in test_net.c. */
START_TEST(softplus_and_exp_have_the_same_bytes_on_every_processor)
{
    enum { N = 100 * WIDE };
    static double raw[N], std[N], slope[N];

    for (size_t i = 0; i < N; i++)
        raw[i] = ldexp((double)i - N / 2, i % 3 == 0 ? -10 : i % 3 == 1 ? -5 : -20);
    spread_of(TCE_POLICY_SOFTPLUS, N, raw, std, slope);
    ck_assert_uint_eq(test_sum_of_bits(N, std), 0x68bad0f4d1bcd214);
    ck_assert_uint_eq(test_sum_of_bits(N, slope), 0x67e956a82e9434cc);
    spread_of(TCE_POLICY_EXP, N, raw, std, slope);
    ck_assert_uint_eq(test_sum_of_bits(N, std), 0x17a9fce9e2b79670);
}
END_TEST

/* all parameters after three updates of n contexts */
static double *train(int32_t kind, int32_t precision, size_t n, int32_t n_threads)
{
    double *obs = test_normals(1, n * O);
    double *d_mean = test_normals(2, n * P);
    double *d_L = test_normals(3, n * P * P);
    tce_pool *pool = test_pool(n_threads);

    tce_policy *policy = started(kind, precision, (int32_t)n, pool, 4);
    for (int k = 0; k < 3; k++)
        update(policy, n, obs, d_mean, d_L);
    double *parameters = weights_of(policy);
    tce_policy_free(policy);
    tce_pool_free(pool);
    free(obs);
    free(d_mean);
    free(d_L);
    return parameters;
}

START_TEST(one_two_and_five_threads_give_the_same_bytes)
{
    for (int32_t kind = 0; kind < N_KINDS; kind++) {
        tce_policy *policy = started(kind, TCE_NET_FLOAT, 1, NULL, 1);
        const size_t size = tce_policy_n_weights(policy) * sizeof(double);
        tce_policy_free(policy);
        for (int32_t precision = TCE_NET_FLOAT; precision <= TCE_NET_DOUBLE; precision++) {
            double *one = train(kind, precision, 300, 1);
            double *two = train(kind, precision, 300, 2);
            double *five = train(kind, precision, 300, 5);
            ck_assert_mem_eq(one, two, size);
            ck_assert_mem_eq(one, five, size);
            free(one);
            free(two);
            free(five);
        }
    }
}
END_TEST

START_TEST(the_covariance_vector_is_double_with_float_networks)
{
    enum { N_RAW = P * (P + 1) / 2 };
    double *narrow = train(TCE_POLICY_FULL_SHARED, TCE_NET_FLOAT, N, 1);
    double *wide = train(TCE_POLICY_FULL_SHARED, TCE_NET_DOUBLE, N, 1);

    ck_assert_mem_eq(narrow + num_mean_parameters(), wide + num_mean_parameters(),
                     N_RAW * sizeof *wide);
    free(narrow);
    free(wide);
}
END_TEST

START_TEST(the_norm_is_of_all_weights_together_and_scaling_scales_them)
{
    for (int32_t kind = 0; kind < N_KINDS; kind++) {
        tce_policy *policy = started(kind, TCE_NET_DOUBLE, N, NULL, 3);
        const size_t n = tce_policy_n_weights(policy);
        double *obs = test_normals(1, N * O);
        double *d_mean = test_normals(2, N * P);
        double *d_L = test_normals(3, N * P * P);
        double *before = malloc(n * sizeof *before);
        double *after = malloc(n * sizeof *after);
        double mean[N * P];
        double L[N * P * P];
        double sum = 0.0;

        ok(tce_policy_predict(policy, N, obs, mean, L));
        ok(tce_policy_backward(policy, N, d_mean, d_L));
        tce_policy_get_gradient(policy, before);
        const double norm = tce_policy_gradient_norm(policy);
        tce_policy_scale_gradient(policy, 0.02 / norm);
        ck_assert_double_eq_tol(tce_policy_gradient_norm(policy), 0.02, 1e-14);
        tce_policy_get_gradient(policy, after);
        for (size_t i = 0; i < n; i++)
            sum += before[i] * before[i];
        const double root = sqrt(sum);
        test_assert_close(&norm, &root, 1, 1e-13);
        for (size_t i = 0; i < n; i++)
            before[i] *= 0.02 / norm;
        test_assert_close(after, before, n, 1e-15);
        tce_policy_free(policy);
        free(obs);
        free(d_mean);
        free(d_L);
        free(before);
        free(after);
    }
}
END_TEST

START_TEST(a_saved_policy_goes_on_with_the_same_bytes)
{
    for (int32_t kind = 0; kind < N_KINDS; kind++) {
        for (int32_t precision = TCE_NET_FLOAT; precision <= TCE_NET_DOUBLE; precision++) {
            const tce_policy_options options = options_of(kind, precision, N, NULL);
            tce_policy *policy = started(kind, precision, N, NULL, 3);
            tce_policy *loaded = started(kind, precision, N, NULL, 99);
            tce_policy *made;
            const size_t size = tce_policy_n_weights(policy) * sizeof(double);
            tce_policy *all[3] = { policy, loaded, NULL };
            tce_store *store;
            double *obs = test_normals(1, N * O);
            double *d_mean = test_normals(2, N * P);
            double *d_L = test_normals(3, N * P * P);
            update(policy, N, obs, d_mean, d_L);
            ok(tce_store_create(NULL, &store));
            ok(tce_policy_save(policy, store, "policy"));
            ok(tce_policy_load(loaded, store, "policy"));
            ok(tce_policy_create_from(store, "policy", &options, NULL, &made));
            tce_store_free(store);

            all[2] = made;
            for (int k = 0; k < 3; k++)
                for (int i = 0; i < 3; i++)
                    update(all[i], N, obs, d_mean, d_L);
            double *want = weights_of(policy);
            for (int i = 1; i < 3; i++) {
                double *got = weights_of(all[i]);
                ck_assert_uint_eq(size, tce_policy_n_weights(all[i]) * sizeof(double));
                ck_assert_mem_eq(got, want, size);
                free(got);
            }
            for (int i = 0; i < 3; i++)
                tce_policy_free(all[i]);
            free(obs);
            free(d_mean);
            free(d_L);
            free(want);
        }
    }
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
        { offsetof(tce_policy_options, n_obs), 0, "n_obs" },
        { offsetof(tce_policy_options, n_dims), 0, "n_dims" },
        { offsetof(tce_policy_options, form), 4, "form" },
        { offsetof(tce_policy_options, spread), 3, "spread" },
        { offsetof(tce_policy_options, shared_body), 1, "shared_body" },
        { offsetof(tce_policy_options, n_hidden), -1, "n_hidden" },
        { offsetof(tce_policy_options, activation), 9, "activation" },
        { offsetof(tce_policy_options, precision), 9, "precision" },
        { offsetof(tce_policy_options, max_batch), 0, "max_batch" },
        { offsetof(tce_policy_options, n_cov_hidden), -2, "n_cov_hidden" },
        { offsetof(tce_policy_options, cov_activation), 4, "cov_activation" },
    };
    tce_policy *policy;

    for (size_t i = 0; i < sizeof BAD / sizeof BAD[0]; i++) {
        tce_policy_options options;
        tce_policy_options_init(&options, sizeof options);
        memcpy((char *)&options + BAD[i].field, &BAD[i].value, sizeof BAD[i].value);
        fails(tce_policy_create(&options, NULL, &policy), TCE_E_VALUE, BAD[i].word);
        ck_assert_ptr_null(policy);
    }
    tce_policy_options options;
    tce_policy_options_init(&options, sizeof options);
    options.min_std = -1.0;
    fails(tce_policy_create(&options, NULL, &policy), TCE_E_VALUE, "min_std");
    options.min_std = 0.0;
    options.initial_std = NAN;
    fails(tce_policy_create(&options, NULL, &policy), TCE_E_VALUE, "initial_std");
    options.initial_std = 1.0;
    options.log_std_low = 3.0;
    fails(tce_policy_create(&options, NULL, &policy), TCE_E_VALUE, "log_std_low");
    options.log_std_low = -20.0;
    options.gain_out = 0.0;
    fails(tce_policy_create(&options, NULL, &policy), TCE_E_VALUE, "gain_out");
    fails(tce_policy_create(NULL, NULL, &policy), TCE_E_ARGUMENT, "tce_policy_options");
    tce_policy_free(NULL);
}
END_TEST

START_TEST(bad_calls_leave_outputs_untouched)
{
    tce_policy *policy = started(TCE_POLICY_FULL_SHARED, TCE_NET_FLOAT, N, NULL, 3);
    double *obs = test_normals(1, (N + 1) * O);
    double mean[N * P] = { SENTINEL };
    double L[P * P] = { SENTINEL };

    fails(tce_policy_backward(policy, N, obs, obs), TCE_E_STATE, "predict");
    fails(tce_policy_predict(policy, N + 1, obs, mean, L), TCE_E_SHAPE, "max_batch");
    fails(tce_policy_predict(policy, N, NULL, mean, L), TCE_E_ARGUMENT, "obs");
    obs[3] = NAN;
    fails(tce_policy_predict(policy, N, obs, mean, L), TCE_E_VALUE, "obs[3]");
    ck_assert_double_eq(mean[0], SENTINEL);
    ck_assert_double_eq(L[0], SENTINEL);
    obs[3] = 0.0;
    ok(tce_policy_predict(policy, N, obs, mean, L));
    fails(tce_policy_backward(policy, N - 1, mean, L), TCE_E_SHAPE, "last predict");
    tce_policy_free(policy);
    free(obs);
}
END_TEST

/* A robot must not get NaN with TCE_OK: one finite observation is beyond a float. */
START_TEST(what_overflows_is_reported_and_nan)
{
    for (int32_t kind = 0; kind < N_KINDS; kind++) {
        tce_policy_options options = options_of(kind, TCE_NET_FLOAT, N, NULL);
        tce_policy *policy = NULL;
        tce_random random;
        options.activation = TCE_NET_LEAKY_RELU;
        ok(tce_policy_create(&options, NULL, &policy));
        tce_random_start(&random, 3, 1, 0, 0);
        ok(tce_policy_start(policy, &random));
        double *obs = test_normals(1, N * O);
        double *work = malloc(tce_policy_work_size(policy, N) * sizeof *work);
        double mean[N * P] = { 0.0 }, scale[N * P * P] = { 0.0 };

        obs[O] = 1e300;
        fails(tce_policy_predict(policy, N, obs, mean, scale), TCE_E_NOT_FINITE, "the mean");
        for (size_t k = 0; k < N * P; k++)
            ck_assert(isnan(mean[k]));
        ck_assert(isnan(scale[0]));
        fails(tce_policy_backward(policy, N, obs, obs), TCE_E_STATE, "predict");
        mean[0] = 0.0;
        fails(tce_policy_mean(policy, N, obs, work, mean), TCE_E_NOT_FINITE, "the mean");
        ck_assert(isnan(mean[0]));
        obs[O] = 1.0;
        ok(tce_policy_predict(policy, N, obs, mean, scale));
        ok(tce_policy_mean(policy, N, obs, work, mean));
        tce_policy_free(policy);
        free(obs);
        free(work);
    }
}
END_TEST

START_TEST(a_gradient_that_is_not_finite_changes_nothing)
{
    for (int32_t kind = 0; kind < N_KINDS; kind++) {
        tce_policy *policy = started(kind, TCE_NET_FLOAT, N, NULL, 3);
        const tce_adam_options adam = test_adam(1e-3);
        double *obs = test_normals(1, N * O);
        double *d_mean = test_normals(2, N * P);
        double *d_L = test_normals(3, N * P * P);
        double *before = weights_of(policy);
        double mean[N * P];
        double L[N * P * P];

        ok(tce_policy_predict(policy, N, obs, mean, L));
        d_L[is_diagonal(kind) ? 0 : P] = INFINITY;
        ok(tce_policy_backward(policy, N, d_mean, d_L));
        fails(tce_policy_adam_step(policy, &adam), TCE_E_NOT_FINITE, "gradient norm");
        double *after = weights_of(policy);
        ck_assert_mem_eq(before, after, tce_policy_n_weights(policy) * sizeof *before);
        tce_policy_free(policy);
        free(obs);
        free(d_mean);
        free(d_L);
        free(before);
        free(after);
    }
}
END_TEST

START_TEST(factors_that_cannot_be_set_are_refused)
{
    tce_policy *contextual = started(TCE_POLICY_FULL_CONTEXTUAL, TCE_NET_FLOAT, 1, NULL, 1);
    tce_policy *shared = started(TCE_POLICY_FULL_SHARED, TCE_NET_FLOAT, 1, NULL, 1);
    double *before = weights_of(shared);
    double L[P * P] = { 0.0 };

    fails(tce_policy_set_covariance(contextual, L), TCE_E_UNSUPPORTED, "contextual");
    fails(tce_policy_set_covariance(shared, L), TCE_E_NOT_PD, "scale[0,0]");
    L[0] = 1.0;
    L[P] = NAN;
    fails(tce_policy_set_covariance(shared, L), TCE_E_VALUE, "scale[1,0]");
    double *after = weights_of(shared);
    ck_assert_mem_eq(before, after, tce_policy_n_weights(shared) * sizeof *before);
    after[num_mean_parameters() + 1] = NAN;
    fails(tce_policy_set_weights(shared, after), TCE_E_VALUE, "covariance weights[1]");
    tce_policy_free(contextual);
    tce_policy_free(shared);
    free(before);
    free(after);
}
END_TEST

static void refuses_load(const tce_store *store, const tce_policy_options *options,
                         tce_status status, const char *word)
{
    tce_policy *policy;
    tce_random random;

    ok(tce_policy_create(options, NULL, &policy));
    tce_random_start(&random, 77, 1, 0, 0);
    ok(tce_policy_start(policy, &random));
    double *before = weights_of(policy);
    fails(tce_policy_load(policy, store, "p"), status, word);
    double *after = weights_of(policy);
    ck_assert_mem_eq(before, after, tce_policy_n_weights(policy) * sizeof *before);
    tce_policy_free(policy);
    free(before);
    free(after);
}

START_TEST(a_store_that_does_not_fit_changes_nothing)
{
    tce_policy *policy = started(TCE_POLICY_FULL_SHARED, TCE_NET_FLOAT, 1, NULL, 1);
    tce_policy *made = policy;
    tce_policy_options options = options_of(TCE_POLICY_FULL_SHARED, TCE_NET_FLOAT, 1, NULL);
    tce_store *store;
    ok(tce_store_create(NULL, &store));
    refuses_load(store, &options, TCE_E_NOT_FOUND, "p.form");
    fails(tce_policy_create_from(store, "p", NULL, NULL, &made), TCE_E_NOT_FOUND, "p.form");
    ck_assert_ptr_null(made);
    ok(tce_policy_save(policy, store, "p"));

    options.form = TCE_POLICY_DIAGONAL_SHARED;
    refuses_load(store, &options, TCE_E_SHAPE, "form");
    options.form = TCE_POLICY_FULL_SHARED;
    options.min_std = 1e-5;
    refuses_load(store, &options, TCE_E_VALUE, "min_std");
    options.min_std = 1e-4;
    options.spread = TCE_POLICY_EXP;
    refuses_load(store, &options, TCE_E_VALUE, "spread");
    options.spread = TCE_POLICY_SOFTPLUS;
    options.n_dims = P + 1;
    refuses_load(store, &options, TCE_E_SHAPE, "p.mean.layers.2.weight");
    options.n_dims = P;

    /* a vector that is too short, behind arrays that are good */
    const size_t n = 3;
    const double few[3] = { 0.0 };
    ok(tce_store_put(store, "p.covariance.raw", TCE_STORE_F64, 1, &n, few));
    refuses_load(store, &options, TCE_E_SHAPE, "p.covariance.raw");
    fails(tce_policy_create_from(store, "p", NULL, NULL, &made), TCE_E_SHAPE, "p.covariance.raw");
    ck_assert_ptr_null(made);
    tce_store_free(store);
    tce_policy_free(policy);
}
END_TEST

/* ---- memory ---------------------------------------------------------------------------------- */

START_TEST(nothing_allocates_after_create)
{
    for (int32_t kind = 0; kind < N_KINDS; kind++) {
        const tce_policy_options options = options_of(kind, TCE_NET_FLOAT, N, NULL);
        test_memory memory = { .budget = 0 };
        tce_hooks hooks;
        tce_policy *policy;
        tce_random random;
        double *obs = test_normals(1, N * O);
        double *d_mean = test_normals(2, N * P);
        double *d_L = test_normals(3, N * P * P);
        test_hooks(&memory, &hooks);

        fails(tce_policy_create(&options, &hooks, &policy), TCE_E_NOMEM, "tce_policy");
        ck_assert_ptr_null(policy);
        ck_assert_uint_eq(memory.live, 0);
        memory.budget = 1;
        ok(tce_policy_create(&options, &hooks, &policy));
        tce_random_start(&random, 1, 2, 3, 4);
        ok(tce_policy_start(policy, &random));
        update(policy, N, obs, d_mean, d_L);
        ck_assert_uint_eq(memory.n_alloc, 1);
        tce_policy_free(policy);
        ck_assert_uint_eq(memory.live, 0);
        free(obs);
        free(d_mean);
        free(d_L);
    }
}
END_TEST

START_TEST(create_from_survives_a_failing_allocator)
{
    tce_policy *policy = started(TCE_POLICY_FULL_CONTEXTUAL, TCE_NET_FLOAT, 1, NULL, 1);
    test_memory memory = { .budget = 0 };
    tce_hooks hooks;
    tce_store *store;
    tce_policy *made;
    ok(tce_store_create(NULL, &store));
    ok(tce_policy_save(policy, store, "p"));
    test_hooks(&memory, &hooks);

    tce_status status = TCE_E_NOMEM;
    for (size_t budget = 0; status != TCE_OK; budget++) {
        memory.budget = budget;
        status = tce_policy_create_from(store, "p", NULL, &hooks, &made);
        ck_assert(status == TCE_OK || (status == TCE_E_NOMEM && made == NULL && memory.live == 0));
    }
    tce_policy_free(made);
    ck_assert_uint_eq(memory.live, 0);
    tce_store_free(store);
    tce_policy_free(policy);
}
END_TEST

/* ---- suite ----------------------------------------------------------------------------------- */

int main(void)
{
    Suite *suite = suite_create("policy");
    TCase *gradient = test_case(suite, "gradient", TIMEOUT);
    TCase *property = test_case(suite, "property", TIMEOUT);
    TCase *errors = test_case(suite, "errors", TIMEOUT);
    TCase *memory = test_case(suite, "memory", TIMEOUT);

    tce_blas_set_threads(1);
    tcase_add_test(gradient, gradients_equal_differences_for_every_form);
    tcase_add_test(property, a_started_policy_has_the_published_covariance);
    tcase_add_test(property, a_set_scale_is_predicted);
    tcase_add_test(property, the_mean_alone_is_that_of_predict);
    tcase_add_test(property, hidden_is_what_the_heads_see);
    tcase_add_test(property, raw_numbers_outside_the_limits_have_no_gradient);
    tcase_add_test(property, the_gain_of_the_last_layer_is_an_option);
    tcase_add_test(property, a_deviation_below_min_std_is_set_to_the_least);
    tcase_add_test(property, extreme_raw_numbers_stay_finite);
    tcase_add_test(property, softplus_and_exp_are_within_two_units_in_the_last_place);
    tcase_add_test(property, softplus_and_exp_have_the_same_bytes_on_every_processor);
    tcase_add_test(property, one_two_and_five_threads_give_the_same_bytes);
    tcase_add_test(property, the_covariance_vector_is_double_with_float_networks);
    tcase_add_test(property, the_norm_is_of_all_weights_together_and_scaling_scales_them);
    tcase_add_test(property, a_saved_policy_goes_on_with_the_same_bytes);
    tcase_add_test(errors, options_out_of_range_are_refused_by_name);
    tcase_add_test(errors, bad_calls_leave_outputs_untouched);
    tcase_add_test(errors, what_overflows_is_reported_and_nan);
    tcase_add_test(errors, a_gradient_that_is_not_finite_changes_nothing);
    tcase_add_test(errors, factors_that_cannot_be_set_are_refused);
    tcase_add_test(errors, a_store_that_does_not_fit_changes_nothing);
    tcase_add_test(memory, nothing_allocates_after_create);
    tcase_add_test(memory, create_from_survives_a_failing_allocator);

    return test_run(suite);
}
