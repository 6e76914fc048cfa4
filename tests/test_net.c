/*
 * net: forward, backward, passes over large batches, Adam, start, store.
 */
#include <check.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <tce/net.h>

#include "support.h"

#define SENTINEL 12345.0
/* Seconds a test may take; sanitizers on a busy machine need more than Check's 4. */
#define TIMEOUT 120

/*
 * Central differences with step eps^(1/3): eps^(2/3) = 4e-11 times third derivatives and widths up
 * to 1e3.
 */
#define TOL_DIFFERENCE 1e-7
/* Float against double: 1e-7 times the roundings of three layers of 64 terms. */
#define TOL_FLOAT 1e-4
/* Orthogonality of a Q of dimension up to 64. */
#define TOL_ORTHOGONAL 1e-13

#define N_SEEDS 100

/* ---- networks -------------------------------------------------------------------------------- */

/* A network n_in -> hidden [n_hidden] -> n_out, not started. */
static tce_net *create(int32_t n_in, int32_t n_hidden, const int32_t *hidden, int32_t n_out,
                       int32_t activation, int32_t precision, int32_t max_batch, tce_pool *pool)
{
    tce_net_options options;
    tce_net *net = NULL;

    tce_net_options_init(&options, sizeof options);
    options.n_in = n_in;
    options.n_out = n_out;
    options.n_hidden = n_hidden;
    options.hidden = hidden;
    options.activation = activation;
    options.precision = precision;
    options.max_batch = max_batch;
    options.pool = pool;
    ok(tce_net_create(&options, NULL, &net));
    return net;
}

static const int32_t HIDDEN[] = { 19, 33, 7 };
enum { IN = 6, OUT = 3, BATCH = 9 };

/* The same, with the first n_hidden of HIDDEN and started from `seed`. */
static tce_net *started(int32_t n_hidden, int32_t activation, int32_t precision, int32_t max_batch,
                        tce_pool *pool, uint64_t seed)
{
    tce_net *net = create(IN, n_hidden, HIDDEN, OUT, activation, precision, max_batch, pool);
    tce_random random;

    tce_random_start(&random, seed, 1, 0, 0);
    ok(tce_net_start(net, &random));
    return net;
}

static double *weights_of(const tce_net *net)
{
    double *p = malloc(tce_net_n_weights(net) * sizeof *p);
    tce_net_get_weights(net, p);
    return p;
}

static double *gradient_of(const tce_net *net)
{
    double *g = malloc(tce_net_n_weights(net) * sizeof *g);
    tce_net_get_gradient(net, g);
    return g;
}

static void step(tce_net *net, double learning_rate)
{
    tce_adam_options adam;

    tce_adam_options_init(&adam, sizeof adam);
    adam.learning_rate = learning_rate;
    adam.l2 = 1e-3;
    ok(tce_net_adam_step(net, &adam));
}

/* sum of out + out^2/2 over everything; its gradient is 1 + out */
static tce_status smooth_loss(void *context, size_t begin, size_t end, const double *out,
                              double *d_out, double *sums)
{
    const size_t n_out = *(const size_t *)context;

    for (size_t i = 0; i < (end - begin) * n_out; i++) {
        sums[0] += out[i] + 0.5 * out[i] * out[i];
        d_out[i] = 1.0 + out[i];
    }
    return TCE_OK;
}

/* ---- gradient -------------------------------------------------------------------------------- */

/* A network, and the inputs of the function whose differences are taken. */
typedef struct probe {
    tce_net *net;
    const double *x; /* NULL: the argument is x itself, not the parameters */
    size_t n_out;
} probe;

static double probe_loss(void *context, const double *argument)
{
    const probe *p = context;
    double out[BATCH * OUT];
    double d_out[BATCH * OUT];
    double loss = 0.0;
    size_t n_out = p->n_out;

    if (p->x)
        ok(tce_net_set_weights(p->net, argument));
    ok(tce_net_forward(p->net, BATCH, p->x ? p->x : argument, out));
    ok(smooth_loss(&n_out, 0, BATCH, out, d_out, &loss));
    return loss;
}

static void check_gradients(int32_t activation, int32_t n_hidden, int32_t n_out)
{
    tce_net *net = create(IN, n_hidden, HIDDEN, n_out, activation, TCE_NET_DOUBLE, BATCH, NULL);
    const size_t n = tce_net_n_weights(net);
    double *x = test_normals((uint64_t)(10 * activation + n_hidden), BATCH * IN);
    double *want = malloc((n + BATCH * IN) * sizeof *want);
    double d_x[BATCH * IN];
    double out[BATCH * OUT];
    double d_out[BATCH * OUT];
    double loss = 0.0;
    size_t outputs = (size_t)n_out;
    tce_random random;
    tce_random_start(&random, 3, 4, 5, 6);
    ok(tce_net_start(net, &random));

    /* biases other than 0 as well */
    double *parameters = weights_of(net);
    for (size_t i = 0; i < n; i++)
        parameters[i] += 0.1 * test_normal(&random);
    ok(tce_net_set_weights(net, parameters));
    ok(tce_net_forward(net, BATCH, x, out));
    ok(smooth_loss(&outputs, 0, BATCH, out, d_out, &loss));
    ok(tce_net_backward(net, BATCH, d_out, d_x));
    double *got = gradient_of(net);

    probe p = { net, NULL, outputs };
    test_finite_difference(probe_loss, &p, BATCH * IN, x, want);
    test_assert_close_gradient(d_x, want, BATCH * IN, TOL_DIFFERENCE);
    p.x = x;
    test_finite_difference(probe_loss, &p, n, parameters, want);
    test_assert_close_gradient(got, want, n, TOL_DIFFERENCE);
    tce_net_free(net);
    free(x);
    free(want);
    free(parameters);
    free(got);
}

START_TEST(gradients_equal_differences_for_every_activation_and_depth)
{
    for (int32_t activation = TCE_NET_RELU; activation <= TCE_NET_LINEAR; activation++)
        for (int32_t n_hidden = 0; n_hidden <= 3; n_hidden++)
            for (int32_t n_out = 1; n_out <= OUT; n_out += OUT - 1)
                check_gradients(activation, n_hidden, n_out);
}
END_TEST

/* ---- property -------------------------------------------------------------------------------- */

/* Everything that a call may write, for comparison by bytes. */
typedef struct record {
    double *values;
    size_t n;
} record;

static void record_add(record *r, size_t n, const double *x)
{
    r->values = realloc(r->values, (r->n + n) * sizeof *x);
    memcpy(r->values + r->n, x, n * sizeof *x);
    r->n += n;
}

static record run_everything(int32_t precision, size_t n, int32_t n_threads)
{
    record r = { NULL, 0 };
    tce_pool *pool = test_pool(n_threads);
    tce_net *net = started(2, TCE_NET_LEAKY_RELU, precision, (int32_t)n, pool, 7);
    const size_t n_weights = tce_net_n_weights(net);
    double *x = test_normals(8, n * IN);
    double *target = test_normals(9, n * OUT);
    double *out = malloc(n * OUT * sizeof *out);
    double *d_x = malloc(n * IN * sizeof *d_x);

    for (int k = 0; k < 2; k++) {
        double loss;
        ok(tce_net_pass_mse(net, n, x, target, NULL, &loss));
        step(net, 1e-2);
        ok(tce_net_forward(net, n, x, out));
        ok(tce_net_backward(net, n, target, d_x));
        double *gradient = gradient_of(net);
        step(net, 1e-2);
        record_add(&r, 1, &loss);
        record_add(&r, n * OUT, out);
        record_add(&r, n * IN, d_x);
        record_add(&r, n_weights, gradient);
        free(gradient);
    }
    double *parameters = weights_of(net);
    record_add(&r, n_weights, parameters);
    tce_net_free(net);
    tce_pool_free(pool);
    free(parameters);
    free(x);
    free(target);
    free(out);
    free(d_x);
    return r;
}

START_TEST(one_two_and_five_threads_give_the_same_bytes)
{
    static const size_t SIZES[] = { 1, 63, 64, 152, 1024, 1025, 2049, 5003 };

    for (int32_t precision = TCE_NET_FLOAT; precision <= TCE_NET_DOUBLE; precision++) {
        for (size_t i = 0; i < sizeof SIZES / sizeof SIZES[0]; i++) {
            const record one = run_everything(precision, SIZES[i], 1);
            for (int32_t n_threads = 2; n_threads <= 5; n_threads += 3) {
                const record many = run_everything(precision, SIZES[i], n_threads);
                ck_assert_uint_eq(one.n, many.n);
                ck_assert_msg(memcmp(one.values, many.values, one.n * sizeof(double)) == 0,
                              "%zu rows on %d threads differ", SIZES[i], (int)n_threads);
                free(many.values);
            }
            free(one.values);
        }
    }
}
END_TEST

/* out = tanh(x) as networks compute it */
static void tanh_of(int32_t precision, size_t n, const double *x, double *out)
{
    static const int32_t ONE[] = { 1 };
    static const double IDENTITY[] = { 1.0, 0.0, 1.0, 0.0 };
    tce_net *net = create(1, 1, ONE, 1, TCE_NET_TANH, precision, (int32_t)n, NULL);

    ok(tce_net_set_weights(net, IDENTITY));
    ok(tce_net_forward(net, n, x, out));
    tce_net_free(net);
}

/*
 * Largest distance of the network's tanh from the C library's in long double, in units of the last
 * place of `precision`.
 */
static double worst_of_tanh(int32_t precision, size_t n, const double *x, double *out)
{
    double worst = 0.0;

    tanh_of(precision, n, x, out);
    for (size_t i = 0; i < n; i++) {
        const int in_float = precision == TCE_NET_FLOAT;
        const long double want = tanhl(in_float ? (long double)(float)x[i] : (long double)x[i]);
        const double size = fabs((double)want);
        const double unit = in_float ? (double)(nextafterf((float)size, 2.0f) - (float)size)
                                     : nextafter(size, 2.0) - size;
        const double distance = (double)fabsl((long double)out[i] - want) / unit;
        worst = distance > worst ? distance : worst;
        ck_assert_double_le(fabs(out[i]), 1.0);
        ck_assert_int_eq(signbit(out[i]) != 0, signbit(x[i]) != 0);
    }
    return worst;
}

START_TEST(tanh_is_within_two_units_in_the_last_place)
{
    enum { N = 20000 };
    static double x[N], out[N];
    tce_random random;

    /* all magnitudes, the two branches and their border, saturation */
    tce_random_start(&random, 11, 0, 0, 0);
    for (size_t i = 0; i < N; i++) {
        const double u = tce_random_uniform(&random) - 0.5;
        x[i] = i % 4 == 0   ? 44.0 * u
               : i % 4 == 1 ? 2.4 * u
               : i % 4 == 2 ? 0.55 + 0.01 * u
                            : ldexp(u, -(int)(i % 100));
    }
    x[0] = 0.0;
    x[1] = 1e6;
    x[2] = -1e6;
    ck_assert_double_le(worst_of_tanh(TCE_NET_FLOAT, N, x, out), 2.0);
    ck_assert_double_eq(out[1], 1.0);
    ck_assert_double_eq(out[2], -1.0);
    ck_assert_double_le(worst_of_tanh(TCE_NET_DOUBLE, N, x, out), 2.0);
    ck_assert_double_eq(out[1], 1.0);
}
END_TEST

/*
 * The sums are those of one machine; all others must find them too: processors without AVX2, the
 * sanitizers' build, which has no code for AVX2, and aarch64.
 */
START_TEST(tanh_has_the_same_bytes_on_every_processor)
{
    enum { N = 8193 };
    static double x[N], out[N];

    /* exact in float: multiples of 1/1024 in [-4, 4], then wider and smaller ones */
    for (size_t i = 0; i < N; i++)
        x[i] = ldexp((double)i - 4096.0, i % 3 == 0 ? -10 : i % 3 == 1 ? -8 : -20);
    tanh_of(TCE_NET_FLOAT, N, x, out);
    ck_assert_uint_eq(test_sum_of_bits(N, out), 0x53d8fb8967d137df);
    tanh_of(TCE_NET_DOUBLE, N, x, out);
    ck_assert_uint_eq(test_sum_of_bits(N, out), 0xdb1c00c1bb5d0417);
}
END_TEST

START_TEST(float_is_close_to_double)
{
    for (int32_t activation = TCE_NET_RELU; activation <= TCE_NET_LINEAR; activation++) {
        enum { N = 700 };
        double *x = test_normals(1, N * IN);
        double *target = test_normals(2, N * OUT);
        double *gradient[2];
        double loss[2];
        size_t n = 0;
        for (int32_t precision = TCE_NET_FLOAT; precision <= TCE_NET_DOUBLE; precision++) {
            tce_net *net = started(3, activation, precision, 1, NULL, 3);
            n = tce_net_n_weights(net);
            ok(tce_net_pass_mse(net, N, x, target, NULL, &loss[precision]));
            gradient[precision] = gradient_of(net);
            tce_net_free(net);
        }
        test_assert_close(&loss[0], &loss[1], 1, TOL_FLOAT);
        test_assert_close_gradient(gradient[0], gradient[1], n, TOL_FLOAT);
        for (int i = 0; i < 2; i++)
            free(gradient[i]);
        free(x);
        free(target);
    }
}
END_TEST

START_TEST(a_pass_does_what_forward_loss_and_backward_do)
{
    for (uint64_t seed = 0; seed < N_SEEDS; seed++) {
        tce_random random;
        tce_random_start(&random, seed, 5, 0, 0);
        const size_t n = 1 + (size_t)tce_random_below(&random, 400);
        tce_net *net = started((int32_t)(seed % 4), TCE_NET_TANH, (int32_t)(seed % 2), (int32_t)n,
                               NULL, seed);
        const size_t n_weights = tce_net_n_weights(net);
        double *x = test_normals(seed, n * IN);
        double *out = malloc(n * OUT * sizeof *out);
        double *d_out = malloc(n * OUT * sizeof *d_out);
        size_t n_out = OUT;
        double loss;
        double want = 0.0;

        ok(tce_net_pass(net, n, x, NULL, smooth_loss, &n_out, 1, &loss));
        double *passed = gradient_of(net);
        ok(tce_net_forward(net, n, x, out));
        ok(smooth_loss(&n_out, 0, n, out, d_out, &want));
        ok(tce_net_backward(net, n, d_out, NULL));
        double *gradient = gradient_of(net);
        ck_assert_msg(memcmp(passed, gradient, n_weights * sizeof *passed) == 0, "seed %d",
                      (int)seed);
        test_assert_close(&loss, &want, 1, 1e-12);
        tce_net_free(net);
        free(x);
        free(out);
        free(d_out);
        free(passed);
        free(gradient);
    }
}
END_TEST

START_TEST(rows_choose_and_order_the_batch)
{
    enum { ALL = 500, N = 333 };
    tce_net *net = started(1, TCE_NET_RELU, TCE_NET_FLOAT, 1, NULL, 3);
    const size_t n_weights = tce_net_n_weights(net);
    double *x = test_normals(1, ALL * IN);
    double *target = test_normals(2, ALL * OUT);
    double *few_x = malloc(N * IN * sizeof *few_x);
    double *few_target = malloc(N * OUT * sizeof *few_target);
    uint32_t rows[ALL];
    tce_random random;
    tce_random_start(&random, 1, 2, 3, 4);
    tce_random_permutation(&random, ALL, rows);
    for (size_t i = 0; i < N; i++) {
        memcpy(few_x + i * IN, x + rows[i] * IN, IN * sizeof *x);
        memcpy(few_target + i * OUT, target + rows[i] * OUT, OUT * sizeof *x);
    }

    double loss[2];
    ok(tce_net_pass_mse(net, N, x, target, rows, &loss[0]));
    double *chosen = gradient_of(net);
    ok(tce_net_pass_mse(net, N, few_x, few_target, NULL, &loss[1]));
    double *copied = gradient_of(net);
    ck_assert_double_eq(loss[0], loss[1]);
    ck_assert_mem_eq(chosen, copied, n_weights * sizeof *chosen);
    tce_net_free(net);
    free(x);
    free(target);
    free(few_x);
    free(few_target);
    free(chosen);
    free(copied);
}
END_TEST

/*
 * rows (out <= in) or columns (out >= in) of W [out, in] have length `gain` and are at right angles
 */
static void check_orthogonal(size_t in, size_t out, double gain, const double *W)
{
    const size_t few = in < out ? in : out;
    const size_t many = in < out ? out : in;

    for (size_t a = 0; a < few; a++)
        for (size_t b = 0; b <= a; b++) {
            double dot = 0.0;
            for (size_t k = 0; k < many; k++)
                dot += out < in ? W[a * in + k] * W[b * in + k] : W[k * in + a] * W[k * in + b];
            ck_assert_double_le(fabs(dot - (a == b ? gain * gain : 0.0)), TOL_ORTHOGONAL);
        }
}

START_TEST(the_orthogonal_start_has_orthogonal_layers_and_no_biases)
{
    for (uint64_t seed = 0; seed < 10; seed++) {
        tce_net *net = started(3, TCE_NET_TANH, TCE_NET_DOUBLE, 1, NULL, seed);
        double *parameters = weights_of(net);
        const size_t widths[] = { IN, (size_t)HIDDEN[0], (size_t)HIDDEN[1], (size_t)HIDDEN[2],
                                  OUT };
        const double *at = parameters;

        for (size_t l = 0; l < 4; l++) {
            check_orthogonal(widths[l], widths[l + 1], l < 3 ? sqrt(2.0) : 1.0, at);
            at += widths[l] * widths[l + 1];
            for (size_t i = 0; i < widths[l + 1]; i++)
                ck_assert_double_eq(*at++, 0.0);
        }
        tce_net_free(net);
        free(parameters);
    }
}
END_TEST

START_TEST(the_fan_in_start_fills_its_interval)
{
    tce_net_options options;
    tce_net *net;
    tce_random random;
    tce_net_options_init(&options, sizeof options);
    options.n_in = 16;
    options.n_hidden = 0;
    options.n_out = 200;
    options.start = TCE_NET_FAN_IN;
    ok(tce_net_create(&options, NULL, &net));
    tce_random_start(&random, 1, 2, 3, 4);
    ok(tce_net_start(net, &random));

    double *parameters = weights_of(net);
    const size_t n = tce_net_n_weights(net);
    double least = 0.0;
    double most = 0.0;
    for (size_t i = 0; i < n; i++) {
        least = fmin(least, parameters[i]);
        most = fmax(most, parameters[i]);
    }
    ck_assert_double_ge(least, -0.25);
    ck_assert_double_lt(least, -0.249);
    ck_assert_double_le(most, 0.25);
    ck_assert_double_gt(most, 0.249);
    for (size_t i = n - 200; i < n; i++)
        ck_assert_double_ne(parameters[i], 0.0);
    tce_net_free(net);
    free(parameters);
}
END_TEST

START_TEST(a_saved_network_goes_on_with_the_same_bytes)
{
    for (int32_t precision = TCE_NET_FLOAT; precision <= TCE_NET_DOUBLE; precision++) {
        tce_net *net = started(2, TCE_NET_TANH, precision, BATCH, NULL, 3);
        tce_net *copy = create(IN, 2, HIDDEN, OUT, TCE_NET_TANH, precision, BATCH, NULL);
        tce_store *store;
        double *x = test_normals(4, BATCH * IN);
        double *target = test_normals(5, BATCH * OUT);
        ok(tce_store_create(NULL, &store));
        for (int k = 0; k < 3; k++) {
            ok(tce_net_pass_mse(net, BATCH, x, target, NULL, NULL));
            step(net, 1e-2);
        }
        ok(tce_net_save(net, store, "critic.net"));
        ok(tce_net_load(copy, store, "critic.net"));

        for (int k = 0; k < 3; k++) {
            ok(tce_net_pass_mse(net, BATCH, x, target, NULL, NULL));
            ok(tce_net_pass_mse(copy, BATCH, x, target, NULL, NULL));
            step(net, 1e-2);
            step(copy, 1e-2);
        }
        double *a = weights_of(net);
        double *b = weights_of(copy);
        ck_assert_mem_eq(a, b, tce_net_n_weights(net) * sizeof *a);
        tce_store_free(store);
        tce_net_free(net);
        tce_net_free(copy);
        free(x);
        free(target);
        free(a);
        free(b);
    }
}
END_TEST

START_TEST(the_norm_is_the_gradients_and_scaling_scales_it)
{
    for (int32_t precision = TCE_NET_FLOAT; precision <= TCE_NET_DOUBLE; precision++) {
        tce_net *net = started(2, TCE_NET_TANH, precision, BATCH, NULL, 3);
        double *x = test_normals(4, BATCH * IN);
        double *target = test_normals(5, BATCH * OUT);
        ok(tce_net_pass_mse(net, BATCH, x, target, NULL, NULL));

        double *gradient = gradient_of(net);
        double sum = 0.0;
        for (size_t i = 0; i < tce_net_n_weights(net); i++)
            sum += gradient[i] * gradient[i];
        ck_assert_double_eq_tol(tce_net_gradient_norm(net), sqrt(sum), 1e-13 * sqrt(sum));
        tce_net_scale_gradient(net, 0.25);
        ck_assert_double_eq_tol(tce_net_gradient_norm(net), 0.25 * sqrt(sum), 1e-13 * sqrt(sum));
        tce_net_free(net);
        free(x);
        free(target);
        free(gradient);
    }
}
END_TEST

/* sums of what a caller likes: the loss first, then the outputs and the rows */
static tce_status counting_loss(void *context, size_t begin, size_t end, const double *out,
                                double *d_out, double *sums)
{
    const tce_status status = smooth_loss(context, begin, end, out, d_out, sums);

    for (size_t i = 0; i < (end - begin) * OUT; i++)
        sums[1] += out[i];
    sums[2] += (double)(end - begin);
    return status;
}

START_TEST(a_pass_adds_up_all_sums_of_its_loss)
{
    static const size_t SIZES[] = { 1, 300, 512, 5000 };

    for (size_t k = 0; k < sizeof SIZES / sizeof SIZES[0]; k++) {
        const size_t n = SIZES[k];
        tce_pool *pool = test_pool(3);
        tce_net *net = started(2, TCE_NET_TANH, TCE_NET_DOUBLE, (int32_t)n, NULL, 3);
        tce_net *shared = started(2, TCE_NET_TANH, TCE_NET_DOUBLE, 1, pool, 3);
        double *x = test_normals(1, n * IN);
        double *out = malloc(n * OUT * sizeof *out);
        size_t n_out = OUT;
        double sums[3], again[3];
        double want = 0.0;

        ok(tce_net_pass(net, n, x, NULL, counting_loss, &n_out, 3, sums));
        ok(tce_net_pass(shared, n, x, NULL, counting_loss, &n_out, 3, again));
        ck_assert_mem_eq(sums, again, sizeof sums);
        ok(tce_net_forward(net, n, x, out));
        for (size_t i = 0; i < n * OUT; i++)
            want += out[i];
        ck_assert_double_eq_tol(sums[1], want, 1e-12 * (double)n);
        ck_assert_double_eq(sums[2], (double)n);
        fails(tce_net_pass(net, n, x, NULL, counting_loss, &n_out, 0, sums), TCE_E_SHAPE, "n_sums");
        fails(tce_net_pass(net, n, x, NULL, counting_loss, &n_out, TCE_NET_MAX_SUMS + 1, sums),
              TCE_E_SHAPE, "n_sums");
        tce_net_free(net);
        tce_net_free(shared);
        tce_pool_free(pool);
        free(x);
        free(out);
    }
}
END_TEST

START_TEST(evaluate_gives_the_bytes_of_forward_and_forgets_nothing)
{
    static const size_t SIZES[] = { 1, 7, 511, 512, 1025, 3000 };

    for (size_t k = 0; k < sizeof SIZES / sizeof SIZES[0]; k++) {
        const size_t n = SIZES[k];
        const int32_t precision = (int32_t)(k % 2);
        tce_pool *pool = test_pool(3);
        tce_net *net = started((int32_t)(k % 4), TCE_NET_TANH, precision, (int32_t)n, pool, k);
        double *x = test_normals(1, n * IN);
        double *other = test_normals(2, n * IN);
        double *out = malloc(n * OUT * sizeof *out);
        double *want = malloc(n * OUT * sizeof *want);
        double *d_x = malloc(n * IN * sizeof *d_x);
        double *d_x_again = malloc(n * IN * sizeof *d_x_again);
        double *work = malloc(tce_net_work_size(net, n) * sizeof *work);

        ok(tce_net_forward(net, n, x, want));
        ok(tce_net_evaluate(net, n, x, work, out));
        ck_assert_mem_eq(out, want, n * OUT * sizeof *out);

        /* the batch of forward is still there */
        ok(tce_net_backward(net, n, want, d_x));
        ok(tce_net_evaluate(net, n, other, work, out));
        ok(tce_net_backward(net, n, want, d_x_again));
        ck_assert_mem_eq(d_x, d_x_again, n * IN * sizeof *d_x);
        tce_net_free(net);
        tce_pool_free(pool);
        free(x);
        free(other);
        free(out);
        free(want);
        free(d_x);
        free(d_x_again);
        free(work);
    }
}
END_TEST

START_TEST(backward_input_is_backward_without_the_gradient_of_the_weights)
{
    static const size_t SIZES[] = { 1, 100, 2000 };

    for (size_t k = 0; k < sizeof SIZES / sizeof SIZES[0]; k++) {
        const size_t n = SIZES[k];
        tce_net *net = started((int32_t)k, TCE_NET_RELU, (int32_t)(k % 2), (int32_t)n, NULL, k);
        const size_t size = tce_net_n_weights(net) * sizeof(double);
        double *x = test_normals(1, n * IN);
        double *d_out = test_normals(2, n * OUT);
        double *zero = calloc(n * OUT, sizeof *zero);
        double *out = malloc(n * OUT * sizeof *out);
        double *d_x = malloc(n * IN * sizeof *d_x);
        double *want = malloc(n * IN * sizeof *want);

        ok(tce_net_forward(net, n, x, out));
        ok(tce_net_backward(net, n, d_out, want));
        ok(tce_net_backward(net, n, zero, NULL));
        double *before = gradient_of(net);
        ok(tce_net_backward_input(net, n, d_out, d_x));
        double *after = gradient_of(net);
        ck_assert_mem_eq(d_x, want, n * IN * sizeof *d_x);
        ck_assert_mem_eq(before, after, size);
        fails(tce_net_backward_input(net, n, d_out, NULL), TCE_E_ARGUMENT, "out_d_x");
        step(net, 1e-3);
        fails(tce_net_backward_input(net, n, d_out, d_x), TCE_E_STATE, "weights changed");
        tce_net_free(net);
        free(x);
        free(d_out);
        free(zero);
        free(out);
        free(d_x);
        free(want);
        free(before);
        free(after);
    }
}
END_TEST

/* the last layer is linear: outputs are its matrix times the hidden layer */
START_TEST(hidden_is_what_the_last_layer_sees)
{
    static const size_t SIZES[] = { 1, 100, 2000 };

    for (int32_t n_hidden = 0; n_hidden < 3; n_hidden++) {
        const size_t n = SIZES[n_hidden];
        const size_t width = n_hidden == 0 ? IN : (size_t)HIDDEN[n_hidden - 1];
        tce_net *net = started(n_hidden, TCE_NET_TANH, TCE_NET_DOUBLE, (int32_t)n, NULL, 3);
        double *x = test_normals(1, n * IN);
        double *out = malloc(n * OUT * sizeof *out);
        double *want = calloc(n * OUT, sizeof *want);
        double *hidden = malloc(n * width * sizeof *hidden);
        double *weights = weights_of(net);
        const double *last = weights + tce_net_n_weights(net) - OUT * (width + 1);

        fails(tce_net_hidden(net, n, hidden), TCE_E_STATE, "forward");
        ok(tce_net_forward(net, n, x, out));
        ok(tce_net_hidden(net, n, hidden));
        for (size_t r = 0; r < n; r++)
            for (size_t o = 0; o < OUT; o++) {
                want[r * OUT + o] = last[OUT * width + o];
                for (size_t i = 0; i < width; i++)
                    want[r * OUT + o] += last[o * width + i] * hidden[r * width + i];
            }
        test_assert_close(out, want, n * OUT, 1e-12);
        fails(tce_net_hidden(net, n + 1, hidden), TCE_E_SHAPE, "last forward");
        tce_net_free(net);
        free(x);
        free(out);
        free(want);
        free(hidden);
        free(weights);
    }
}
END_TEST

START_TEST(an_average_lies_between_two_networks)
{
    for (int32_t precision = TCE_NET_FLOAT; precision <= TCE_NET_DOUBLE; precision++) {
        tce_net *net = started(2, TCE_NET_RELU, precision, 1, NULL, 3);
        tce_net *other = started(2, TCE_NET_RELU, precision, 1, NULL, 4);
        tce_net *shallow = started(1, TCE_NET_RELU, precision, 1, NULL, 4);
        tce_net *precise = started(2, TCE_NET_RELU, 1 - precision, 1, NULL, 4);
        const size_t n = tce_net_n_weights(net);
        double *a = weights_of(net);
        double *b = weights_of(other);
        const double share = 0.005;

        ok(tce_net_average(net, other, share));
        double *got = weights_of(net);
        for (size_t i = 0; i < n; i++)
            a[i] = (1.0 - share) * a[i] + share * b[i];
        test_assert_close(got, a, n, precision == TCE_NET_FLOAT ? 1e-6 : 1e-15);
        free(got);

        ok(tce_net_average(net, other, 1.0));
        got = weights_of(net);
        ck_assert_mem_eq(got, b, n * sizeof *got);
        free(got);

        fails(tce_net_average(net, shallow, share), TCE_E_SHAPE, "other");
        fails(tce_net_average(net, precise, share), TCE_E_SHAPE, "precision");
        fails(tce_net_average(net, other, 1.5), TCE_E_VALUE, "share");
        fails(tce_net_average(net, other, NAN), TCE_E_VALUE, "share");
        fails(tce_net_average(net, NULL, share), TCE_E_ARGUMENT, "other");
        got = weights_of(net);
        ck_assert_mem_eq(got, b, n * sizeof *got);
        free(got);
        tce_net_free(net);
        tce_net_free(other);
        tce_net_free(shallow);
        tce_net_free(precise);
        free(a);
        free(b);
    }
}
END_TEST

/* the size of what create asks for, which it does not get */
static void *measuring_allocate(void *user, size_t size, size_t alignment)
{
    (void)alignment;
    *(size_t *)user = size;
    return NULL;
}

static void release_nothing(void *user, void *block)
{
    (void)user;
    (void)block;
}

START_TEST(a_limit_of_rows_saves_memory_and_changes_no_bytes)
{
    enum { N = 700 };
    static const int32_t LIMITS[] = { 0, N };
    tce_net_options options;
    tce_random random;
    size_t bytes[2] = { 0 };
    double *x = test_normals(1, (N + 1) * IN);
    double *target = test_normals(2, (N + 1) * OUT);
    double *gradient[2];
    tce_net_options_init(&options, sizeof options);
    options.n_in = IN;
    options.n_out = OUT;
    options.hidden = HIDDEN;

    for (int i = 0; i < 2; i++) {
        const tce_hooks hooks = { sizeof hooks, &bytes[i], measuring_allocate, release_nothing };
        tce_net *net;
        options.max_pass = LIMITS[i];
        fails(tce_net_create(&options, &hooks, &net), TCE_E_NOMEM, "tce_net");
        ok(tce_net_create(&options, NULL, &net));
        tce_random_start(&random, 1, 1, 0, 0);
        ok(tce_net_start(net, &random));
        ok(tce_net_pass_mse(net, N, x, target, NULL, NULL));
        gradient[i] = gradient_of(net);
        if (i == 1) {
            const size_t size = tce_net_n_weights(net) * sizeof(double);
            ck_assert_mem_eq(gradient[0], gradient[1], size);
            fails(tce_net_pass_mse(net, N + 1, x, target, NULL, NULL), TCE_E_SHAPE, "max_pass");
        }
        tce_net_free(net);
    }
    ck_assert_uint_gt(bytes[1], 0);
    ck_assert_uint_lt(bytes[1], bytes[0]);
    for (int i = 0; i < 2; i++)
        free(gradient[i]);
    free(x);
    free(target);
}
END_TEST

START_TEST(adam_of_a_vector_is_adam_of_a_network)
{
    /* one layer without hidden ones: its gradient is written down */
    tce_net_options options;
    tce_net *net;
    tce_random random;
    enum { W = OUT * (IN + 1) };
    double gradient[W], x[W], moment[W] = { 0.0 }, square[W] = { 0.0 };
    const tce_adam_options adam = { sizeof adam, 1e-2, 1e-3, 0.9, 0.999, 1e-5 };
    double *in = test_normals(1, BATCH * IN);
    double *target = test_normals(2, BATCH * OUT);
    tce_net_options_init(&options, sizeof options);
    options.n_in = IN;
    options.n_out = OUT;
    options.n_hidden = 0;
    options.precision = TCE_NET_DOUBLE;
    ok(tce_net_create(&options, NULL, &net));
    tce_random_start(&random, 1, 1, 0, 0);
    ok(tce_net_start(net, &random));
    ck_assert_uint_eq(tce_net_n_weights(net), W);

    tce_net_get_weights(net, x);
    for (uint64_t k = 1; k <= 5; k++) {
        ok(tce_net_pass_mse(net, BATCH, in, target, NULL, NULL));
        tce_net_get_gradient(net, gradient);
        ok(tce_net_adam_step(net, &adam));
        ok(tce_adam_update(&adam, k, W, gradient, x, moment, square));
    }
    double *weights = weights_of(net);
    ck_assert_mem_eq(weights, x, sizeof x);

    gradient[3] = NAN;
    fails(tce_adam_update(&adam, 6, W, gradient, x, moment, square), TCE_E_NOT_FINITE, "norm");
    gradient[3] = 0.0;
    fails(tce_adam_update(&adam, 0, W, gradient, x, moment, square), TCE_E_VALUE, "step");
    fails(tce_adam_update(&adam, 6, W, NULL, x, moment, square), TCE_E_ARGUMENT, "gradient");
    fails(tce_adam_update(NULL, 6, W, gradient, x, moment, square), TCE_E_ARGUMENT, "tce_adam");
    ck_assert_mem_eq(weights, x, sizeof x);
    tce_net_free(net);
    free(in);
    free(target);
    free(weights);
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
        { offsetof(tce_net_options, n_in), 0, "n_in" },
        { offsetof(tce_net_options, n_out), -1, "n_out" },
        { offsetof(tce_net_options, n_hidden), -1, "n_hidden" },
        { offsetof(tce_net_options, activation), 4, "activation" },
        { offsetof(tce_net_options, precision), 2, "precision" },
        { offsetof(tce_net_options, start), -1, "start" },
        { offsetof(tce_net_options, max_batch), 0, "max_batch" },
    };
    static const int32_t EMPTY_LAYER[] = { 3, 0 };
    tce_net_options options;
    tce_net *net;

    for (size_t i = 0; i < sizeof BAD / sizeof BAD[0]; i++) {
        tce_net_options_init(&options, sizeof options);
        memcpy((char *)&options + BAD[i].field, &BAD[i].value, sizeof BAD[i].value);
        fails(tce_net_create(&options, NULL, &net), TCE_E_VALUE, BAD[i].word);
        ck_assert_ptr_null(net);
    }
    tce_net_options_init(&options, sizeof options);
    options.hidden = EMPTY_LAYER;
    fails(tce_net_create(&options, NULL, &net), TCE_E_VALUE, "hidden");
    options.hidden = NULL;
    options.gain_out = NAN;
    fails(tce_net_create(&options, NULL, &net), TCE_E_VALUE, "gain_out");
    fails(tce_net_create(NULL, NULL, &net), TCE_E_ARGUMENT, "tce_net_options");
    tce_net_free(NULL);
}
END_TEST

START_TEST(calls_out_of_order_or_shape_leave_outputs_untouched)
{
    tce_net *net = started(1, TCE_NET_RELU, TCE_NET_FLOAT, BATCH, NULL, 3);
    double *x = test_normals(4, (BATCH + 1) * IN);
    double out[(BATCH + 1) * OUT] = { SENTINEL };
    double d_x[BATCH * IN] = { SENTINEL };

    fails(tce_net_forward(net, BATCH + 1, x, out), TCE_E_SHAPE, "max_batch");
    ck_assert_double_eq(out[0], SENTINEL);
    fails(tce_net_forward(net, 1, NULL, out), TCE_E_ARGUMENT, "x");
    fails(tce_net_backward(net, BATCH, x, d_x), TCE_E_STATE, "forward");
    ok(tce_net_forward(net, BATCH, x, out));
    fails(tce_net_backward(net, BATCH - 1, x, d_x), TCE_E_SHAPE, "n = 8");
    ck_assert_double_eq(d_x[0], SENTINEL);
    ok(tce_net_backward(net, BATCH, x, d_x));
    step(net, 1e-3);
    fails(tce_net_backward(net, BATCH, x, d_x), TCE_E_STATE, "weights changed");
    fails(tce_net_pass(net, 1, x, NULL, NULL, NULL, 1, NULL), TCE_E_ARGUMENT, "loss");
    fails(tce_net_pass_mse(net, 1, x, NULL, NULL, NULL), TCE_E_ARGUMENT, "target");
    tce_net_free(net);
    free(x);
}
END_TEST

static tce_status failing_loss(void *context, size_t begin, size_t end, const double *out,
                               double *d_out, double *sums)
{
    (void)out;
    (void)sums;
    memset(d_out, 0, (end - begin) * OUT * sizeof *d_out);
    if (begin <= *(const size_t *)context && end > *(const size_t *)context)
        return tce_fail(TCE_E_ENV, "row %zu is bad", *(const size_t *)context);
    return TCE_OK;
}

static tce_status silent_loss(void *context, size_t begin, size_t end, const double *out,
                              double *d_out, double *sums)
{
    (void)context, (void)begin, (void)end, (void)out, (void)d_out, (void)sums;
    return TCE_E_ENV;
}

START_TEST(a_failing_loss_is_passed_on_and_the_gradient_stays)
{
    enum { N = 1000 };
    tce_pool *pool = test_pool(2);
    tce_net *net = started(1, TCE_NET_RELU, TCE_NET_FLOAT, 1, pool, 3);
    double *x = test_normals(4, N * IN);
    double *target = test_normals(5, N * OUT);
    size_t bad = 777;
    double loss = SENTINEL;

    ok(tce_net_pass_mse(net, N, x, target, NULL, NULL));
    const double norm = tce_net_gradient_norm(net);
    fails(tce_net_pass(net, N, x, NULL, failing_loss, &bad, 1, &loss), TCE_E_ENV, "row 777");
    fails(tce_net_pass(net, N, x, NULL, silent_loss, NULL, 1, &loss), TCE_E_ENV,
          "the loss returned -30 for rows 0 to");
    ck_assert_double_eq(loss, SENTINEL);
    ck_assert_double_eq(tce_net_gradient_norm(net), norm);
    tce_net_free(net);
    tce_pool_free(pool);
    free(x);
    free(target);
}
END_TEST

/* a NaN or infinity, wherever it enters, ends in a refused step */
static void check_poison(int32_t activation, int32_t precision, double poison, int in_target)
{
    tce_net *net = started(2, activation, precision, 1, NULL, 3);
    const size_t n = tce_net_n_weights(net);
    double *x = test_normals(4, BATCH * IN);
    double *target = test_normals(5, BATCH * OUT);
    tce_adam_options adam;
    tce_adam_options_init(&adam, sizeof adam);
    ok(tce_net_pass_mse(net, BATCH, x, target, NULL, NULL));
    ok(tce_net_adam_step(net, &adam));
    double *before = weights_of(net);

    if (in_target)
        target[4] = poison;
    else
        x[4] = poison;
    ok(tce_net_pass_mse(net, BATCH, x, target, NULL, NULL));
    fails(tce_net_adam_step(net, &adam), TCE_E_NOT_FINITE, "gradient norm");
    double *after = weights_of(net);
    ck_assert_mem_eq(before, after, n * sizeof *before);
    tce_net_free(net);
    free(x);
    free(target);
    free(before);
    free(after);
}

START_TEST(nan_and_infinity_never_reach_the_weights)
{
    for (int32_t activation = TCE_NET_RELU; activation <= TCE_NET_LINEAR; activation++) {
        for (int32_t precision = TCE_NET_FLOAT; precision <= TCE_NET_DOUBLE; precision++) {
            check_poison(activation, precision, NAN, 0);
            check_poison(activation, precision, NAN, 1);
            check_poison(activation, precision, INFINITY, 1);
        }
    }
    check_poison(TCE_NET_RELU, TCE_NET_FLOAT, 1e30, 1);
}
END_TEST

START_TEST(bad_parameters_and_adam_options_are_refused)
{
    tce_net *net = started(1, TCE_NET_RELU, TCE_NET_FLOAT, 1, NULL, 3);
    double *parameters = weights_of(net);
    double *before = weights_of(net);
    tce_adam_options adam;

    parameters[5] = 1e39;
    fails(tce_net_set_weights(net, parameters), TCE_E_VALUE, "weights[5]");
    parameters[5] = NAN;
    fails(tce_net_set_weights(net, parameters), TCE_E_VALUE, "weights[5]");
    tce_net_get_weights(net, parameters);
    ck_assert_mem_eq(parameters, before, tce_net_n_weights(net) * sizeof *before);

    tce_adam_options_init(&adam, sizeof adam);
    adam.beta2 = 1.0;
    fails(tce_net_adam_step(net, &adam), TCE_E_VALUE, "beta2");
    adam.learning_rate = NAN;
    fails(tce_net_adam_step(net, &adam), TCE_E_VALUE, "learning_rate");
    fails(tce_net_adam_step(net, NULL), TCE_E_ARGUMENT, "tce_adam_options");
    tce_net_free(net);
    free(parameters);
    free(before);
}
END_TEST

/* loading `store` into a network of this kind fails and changes nothing */
static void refuses_load(const tce_store *store, int32_t n_hidden, int32_t activation,
                         tce_status status, const char *word)
{
    tce_net *net = started(n_hidden, activation, TCE_NET_FLOAT, 1, NULL, 9);
    double *before = weights_of(net);

    fails(tce_net_load(net, store, "n"), status, word);
    double *after = weights_of(net);
    ck_assert_mem_eq(before, after, tce_net_n_weights(net) * sizeof *before);
    tce_net_free(net);
    free(before);
    free(after);
}

START_TEST(a_store_that_does_not_fit_changes_nothing)
{
    tce_net *net = started(2, TCE_NET_TANH, TCE_NET_DOUBLE, 1, NULL, 3);
    const size_t n = tce_net_n_weights(net);
    tce_store *store;
    ok(tce_store_create(NULL, &store));
    refuses_load(store, 2, TCE_NET_TANH, TCE_E_NOT_FOUND, "n.");
    ok(tce_net_save(net, store, "n"));

    /* other depths, another activation */
    refuses_load(store, 1, TCE_NET_TANH, TCE_E_SHAPE,
                 "n.layers.1.weight has shape [33, 19], must be [3, 19]");
    refuses_load(store, 3, TCE_NET_TANH, TCE_E_SHAPE, "n.layers.2.weight");
    refuses_load(store, 2, TCE_NET_RELU, TCE_E_VALUE, "activation");

    /* the last array that is read is bad */
    double *moment = calloc(n, sizeof *moment);
    moment[n - 1] = -1.0;
    ok(tce_store_put(store, "n.adam.square", TCE_STORE_F64, 1, &n, moment));
    refuses_load(store, 2, TCE_NET_TANH, TCE_E_VALUE, "n.adam.square");
    moment[n - 1] = 1e300;
    ok(tce_store_put(store, "n.adam.square", TCE_STORE_F64, 1, &n, moment));
    refuses_load(store, 2, TCE_NET_TANH, TCE_E_VALUE, "1e+300");

    char longer[400];
    memset(longer, 'a', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    fails(tce_net_save(net, store, longer), TCE_E_VALUE, "prefix");
    fails(tce_net_load(net, store, NULL), TCE_E_ARGUMENT, "prefix");
    tce_store_free(store);
    tce_net_free(net);
    free(moment);
}
END_TEST

/* ---- memory ---------------------------------------------------------------------------------- */

START_TEST(nothing_allocates_after_create)
{
    enum { N = 600 };
    test_memory memory = { .budget = 0 };
    tce_hooks hooks;
    tce_pool *pool = test_pool(2);
    tce_net_options options;
    tce_net *net = NULL;
    tce_random random;
    double *x = test_normals(4, N * IN);
    double *target = test_normals(5, N * OUT);
    double *out = malloc(N * OUT * sizeof *out);
    double *d_x = malloc(N * IN * sizeof *d_x);
    tce_net_options_init(&options, sizeof options);
    options.n_in = IN;
    options.n_out = OUT;
    options.hidden = HIDDEN;
    options.max_batch = N;
    options.pool = pool;

    /* no block: a clear status, nothing left behind */
    test_hooks(&memory, &hooks);
    fails(tce_net_create(&options, &hooks, &net), TCE_E_NOMEM, "tce_net");
    ck_assert_ptr_null(net);
    ck_assert_uint_eq(memory.live, 0);

    /* one block serves for everything */
    memory.budget = 1;
    ok(tce_net_create(&options, &hooks, &net));
    tce_random_start(&random, 1, 2, 3, 4);
    ok(tce_net_start(net, &random));
    ok(tce_net_forward(net, N, x, out));
    ok(tce_net_backward(net, N, target, d_x));
    ok(tce_net_pass_mse(net, N, x, target, NULL, NULL));
    step(net, 1e-3);
    double *parameters = weights_of(net);
    ok(tce_net_set_weights(net, parameters));
    ck_assert_uint_eq(memory.n_alloc, 1);
    tce_net_free(net);
    ck_assert_uint_eq(memory.live, 0);
    tce_pool_free(pool);
    free(x);
    free(target);
    free(out);
    free(d_x);
    free(parameters);
}
END_TEST

/* ---- suite ----------------------------------------------------------------------------------- */

int main(void)
{
    Suite *suite = suite_create("net");
    TCase *gradient = test_case(suite, "gradient", TIMEOUT);
    TCase *property = test_case(suite, "property", TIMEOUT);
    TCase *errors = test_case(suite, "errors", TIMEOUT);
    TCase *memory = test_case(suite, "memory", TIMEOUT);

    tce_blas_set_threads(1);
    tcase_add_test(gradient, gradients_equal_differences_for_every_activation_and_depth);
    tcase_add_test(property, one_two_and_five_threads_give_the_same_bytes);
    tcase_add_test(property, tanh_is_within_two_units_in_the_last_place);
    tcase_add_test(property, tanh_has_the_same_bytes_on_every_processor);
    tcase_add_test(property, float_is_close_to_double);
    tcase_add_test(property, a_pass_does_what_forward_loss_and_backward_do);
    tcase_add_test(property, rows_choose_and_order_the_batch);
    tcase_add_test(property, the_orthogonal_start_has_orthogonal_layers_and_no_biases);
    tcase_add_test(property, the_fan_in_start_fills_its_interval);
    tcase_add_test(property, a_saved_network_goes_on_with_the_same_bytes);
    tcase_add_test(property, the_norm_is_the_gradients_and_scaling_scales_it);
    tcase_add_test(property, a_pass_adds_up_all_sums_of_its_loss);
    tcase_add_test(property, evaluate_gives_the_bytes_of_forward_and_forgets_nothing);
    tcase_add_test(property, backward_input_is_backward_without_the_gradient_of_the_weights);
    tcase_add_test(property, hidden_is_what_the_last_layer_sees);
    tcase_add_test(property, an_average_lies_between_two_networks);
    tcase_add_test(property, a_limit_of_rows_saves_memory_and_changes_no_bytes);
    tcase_add_test(property, adam_of_a_vector_is_adam_of_a_network);
    tcase_add_test(errors, options_out_of_range_are_refused_by_name);
    tcase_add_test(errors, calls_out_of_order_or_shape_leave_outputs_untouched);
    tcase_add_test(errors, a_failing_loss_is_passed_on_and_the_gradient_stays);
    tcase_add_test(errors, nan_and_infinity_never_reach_the_weights);
    tcase_add_test(errors, bad_parameters_and_adam_options_are_refused);
    tcase_add_test(errors, a_store_that_does_not_fit_changes_nothing);
    tcase_add_test(memory, nothing_allocates_after_create);

    return test_run(suite);
}
