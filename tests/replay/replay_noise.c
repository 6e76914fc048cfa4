/*
 * Coloured noise (examples/trainer/collect/coloured_noise.h): sequences of given normal numbers,
 * moments of the method and of draws of its own, and a stream over chunks and episodes.
 */
#include <math.h>
#include <string.h>

#include "../../examples/trainer/collect/coloured_noise.h"
#include "replay.h"

/* Of the case's own draws; any other does as well. */
#define SEED 3

static void free_arrays(void *arrays)
{
    memory_free(arrays);
}

/* Arrays that live as long as the case. */
static memory *case_memory(replay_case *c)
{
    memory *m = replay_block(c, 1, sizeof *m);
    replay_keep(c, m, free_arrays);
    return m;
}

/* The spectrum of a case, its arrays and room for noise_sequence. */
typedef struct noise_case {
    noise_spectrum n;
    fft_complex *work;
} noise_case;

static size_t max_period(replay_case *c)
{
    return (size_t)replay_int_or(c, c->root, "max_period", 0);
}

static noise_case read_case(replay_case *c)
{
    noise_case out;
    memory *m = case_memory(c);
    const int32_t length = replay_int(c, c->root, "length", 2, 1 << 20);
    replay_ok(c, noise_spectrum_create(&out.n, replay_number(c, c->root, "beta"), (size_t)length,
                                       max_period(c), m));
    out.work = replay_block(c, noise_spectrum_work(&out.n), sizeof *out.work);
    return out;
}

/* Variance of the mean of a chunk: that of the term of frequency 0. */
static double variance_of_the_mean(const noise_spectrum *n)
{
    const double unit = (double)n->C * n->scale;
    return 2.0 * n->amplitude[0] * n->amplitude[0] / (unit * unit);
}

void replay_coloured_exact(replay_case *c)
{
    size_t shape[REPLAY_MAX_RANK];
    noise_case x = read_case(c);
    const size_t K = x.n.K, C = x.n.C;
    replay_shape(c, c->root, "real_normals", shape);
    const size_t R = shape[0];
    const double *real = replay_array(c, c->root, "real_normals", R * K);
    const double *imaginary = replay_array(c, c->root, "imaginary_normals", R * K);
    double *noise = replay_zeros(c, R * C), *covariance = replay_zeros(c, C);
    for (size_t r = 0; r < R; r++)
        noise_sequence(&x.n, real + r * K, imaginary + r * K, noise + r * C, x.work);
    for (size_t l = 0; l < C; l++)
        covariance[l] = noise_autocovariance(&x.n, l);
    replay_compare_rivals(c, c->root, "amplitude", K, x.n.amplitude);
    replay_compare_rivals(c, c->root, "sigma", 1, &x.n.scale);
    replay_compare_rivals(c, c->root, "noise", R * C, noise);
    replay_compare_rivals(c, c->root, "variance", 1, covariance);
    replay_compare_rivals(c, c->root, "autocovariance", C, covariance);
}

void replay_coloured_theory(replay_case *c)
{
    const noise_case x = read_case(c);
    const double variance = noise_autocovariance(&x.n, 0), of_mean = variance_of_the_mean(&x.n);
    replay_compare_rivals(c, c->root, "sigma", 1, &x.n.scale);
    replay_compare_rivals(c, c->root, "variance", 1, &variance);
    replay_compare_rivals(c, c->root, "variance_of_the_mean", 1, &of_mean);
}

/* ---- draws of one's own ---------------------------------------------------------------------- */

/* Sums over draws of a number and of its square. */
typedef struct moments {
    double n, sum, sum2;
} moments;

static void add(moments *m, double x)
{
    m->n += 1.0;
    m->sum += x;
    m->sum2 += x * x;
}

/* A mean of draws has to be within so many of its standard errors of what is expected. */
static void compare_mean(replay_case *c, const char *key, const moments *m, double want)
{
    const double mean = m->sum / m->n;
    const double error = sqrt(fmax(m->sum2 / m->n - mean * mean, 0.0) / (m->n - 1.0));
    const double limit = replay_number(c, c->root, "tolerance_in_standard_errors") * error;
    replay_compare_absolute(c, key, 1, &mean, &want, limit);
}

/* Slope of the least squares of log y over log k, k = 1 … n-1. */
static double slope(size_t n, const double *y)
{
    double a = 0.0, b = 0.0, ab = 0.0, aa = 0.0;
    for (size_t k = 1; k < n; k++) {
        a += log((double)k) / (double)(n - 1);
        b += log(y[k]) / (double)(n - 1);
    }
    for (size_t k = 1; k < n; k++) {
        const double from_mean = log((double)k) - a;
        ab += from_mean * (log(y[k]) - b);
        aa += from_mean * from_mean;
    }
    return ab / aa;
}

void replay_coloured_statistics(replay_case *c)
{
    size_t shape[REPLAY_MAX_RANK];
    noise_case x = read_case(c);
    const size_t K = x.n.K, C = x.n.C;
    replay_shape(c, c->root, "lags", shape);
    const size_t n_lags = shape[0];
    const int32_t *lags = replay_ints(c, c->root, "lags", n_lags);
    const int32_t n_draws = replay_int(c, c->root, "draws", 2, 1 << 20);

    /* the method's own moments are exact */
    const double *expected = replay_array(c, c->root, "autocovariance_expected", n_lags);
    const double variance = noise_autocovariance(&x.n, 0), of_mean = variance_of_the_mean(&x.n);
    double *covariance = replay_zeros(c, n_lags);
    for (size_t l = 0; l < n_lags; l++)
        covariance[l] = noise_autocovariance(&x.n, (size_t)lags[l]);
    replay_compare_rivals(c, c->root, "variance_expected", 1, &variance);
    replay_compare_rivals(c, c->root, "variance_of_the_mean_expected", 1, &of_mean);
    replay_compare_with(c, "autocovariance_expected", n_lags, covariance, expected, TOL_RIVALS);

    /* and those of draws are near them */
    moments square = { 0 }, of_means = { 0 };
    moments *at_lags = replay_block(c, n_lags, sizeof *at_lags);
    double *power = replay_zeros(c, K), *normals = replay_zeros(c, 2 * K),
           *noise = replay_zeros(c, C);
    fft_complex *in = replay_block(c, C, sizeof *in), *out = replay_block(c, C, sizeof *out);
    tce_random random;
    tce_random_start(&random, SEED, 0, 0, 0);
    for (int32_t i = 0; i < n_draws; i++) {
        tce_random_normals(&random, 2 * K, normals);
        noise_sequence(&x.n, normals, normals + K, noise, x.work);
        double sum = 0.0, sum2 = 0.0;
        for (size_t t = 0; t < C; t++) {
            sum += noise[t] / (double)C;
            sum2 += noise[t] * noise[t] / (double)C;
            in[t] = (fft_complex){ noise[t], 0.0 };
        }
        add(&square, sum2);
        add(&of_means, sum * sum);
        for (size_t l = 0; l < n_lags; l++) {
            double product = 0.0;
            for (size_t t = 0; t < C; t++)
                product += noise[t] * noise[(t + (size_t)lags[l]) % C] / (double)C;
            add(&at_lags[l], product);
        }
        fft_inverse(&x.n.transform, in, out, x.work);
        for (size_t k = 0; k < K; k++)
            power[k] += out[k].re * out[k].re + out[k].im * out[k].im;
    }
    compare_mean(c, "variance_expected", &square, variance);
    compare_mean(c, "variance_of_the_mean_expected", &of_means, of_mean);
    for (size_t l = 0; l < n_lags; l++)
        compare_mean(c, "autocovariance_expected", &at_lags[l], expected[l]);
    const double found = slope(K, power);
    const double want = replay_number(c, c->root, "periodogram_slope_expected");
    replay_compare_absolute(c, "periodogram_slope_expected", 1, &found, &want,
                            replay_number(c, c->root, "periodogram_slope_tolerance"));
}

/* ---- a stream -------------------------------------------------------------------------------- */

/* Normals [N][chunks][D, K] of a case, and how many chunks each environment has. */
typedef struct recorded {
    replay_case *c;
    size_t D, K;
    const json_t *real, *imaginary;
} recorded;

static void given_normals(void *context, size_t env, uint64_t chunk, size_t action,
                          double *out_real, double *out_imaginary)
{
    const recorded *r = context;
    const json_t *const both[] = { r->real, r->imaginary };
    double *const out[] = { out_real, out_imaginary };
    for (int i = 0; i < 2; i++) {
        const json_t *rows = json_array_get(json_array_get(both[i], env), (size_t)chunk);
        const json_t *row = json_array_get(rows, action);
        if (json_array_size(row) != r->K)
            replay_fail(r->c, "the normals of chunk %d of environment %zu are missing", (int)chunk,
                        env);
        for (size_t k = 0; k < r->K; k++)
            out[i][k] = json_number_value(json_array_get(row, k));
    }
}

void replay_pink_stream(replay_case *c)
{
    size_t shape[REPLAY_MAX_RANK];
    const size_t N = (size_t)replay_int(c, c->root, "n_env", 1, 1000);
    const size_t D = (size_t)replay_int(c, c->root, "n_action", 1, 1000);
    const size_t C = (size_t)replay_int(c, c->root, "chunk", 2, 1 << 20);
    const char *mode = replay_text(c, c->root, "mode");
    recorded normals = { c, D, C / 2 + 1, replay_get(c, c->root, "real_normals"),
                         replay_get(c, c->root, "imaginary_normals") };
    if (mode == NULL || (strcmp(mode, "fixed") != 0 && strcmp(mode, "episode") != 0))
        replay_fail(c, "mode is \"%s\", must be \"fixed\" or \"episode\"", mode ? mode : "");
    const noise_stream_options options = { .beta = replay_number(c, c->root, "beta"),
                                           .chunk = C,
                                           .max_period = max_period(c),
                                           .by_episode = strcmp(mode, "episode") == 0,
                                           .n_envs = N,
                                           .n_actions = D,
                                           .normals = given_normals,
                                           .context = &normals };
    noise_stream *s = replay_block(c, 1, sizeof *s);
    replay_ok(c, noise_stream_create(s, &options, case_memory(c)));

    replay_shape(c, c->root, "ends", shape);
    const size_t T = shape[1], n = N * T * D;
    const uint8_t *ends = replay_flags(c, c->root, "ends", N * T);
    const double *mean = replay_array(c, c->root, "mean", n);
    const double *log_std = replay_array(c, c->root, "log_std", n);
    const json_t *starts = replay_get(c, c->root, "chunk_starts");
    double *step = replay_zeros(c, N * D), *noise = replay_zeros(c, n);
    double *action = replay_zeros(c, n);
    int64_t *begun = replay_block(c, N, sizeof *begun);
    for (size_t t = 0; t < T; t++) {
        noise_stream_next(s, step);
        for (size_t i = 0; i < N; i++) {
            /* a chunk begins where the case says, and nowhere else */
            if (s->chunks[i] != begun[i]) {
                const json_t *at = json_array_get(json_array_get(starts, i), (size_t)begun[i]);
                if (!at || (size_t)json_number_value(at) != t)
                    replay_fail(c, "a chunk of environment %zu begins at step %zu", i, t);
                begun[i] = s->chunks[i];
            }
            for (size_t d = 0; d < D; d++) {
                const size_t k = (i * T + t) * D + d;
                noise[k] = step[i * D + d];
                action[k] = tanh(mean[k] + exp(log_std[k]) * noise[k]);
            }
            if (ends[i * T + t])
                noise_stream_end(s, i);
        }
    }
    for (size_t i = 0; i < N; i++)
        if ((size_t)begun[i] != json_array_size(json_array_get(starts, i)))
            replay_fail(c, "environment %zu began %d chunks, %zu were expected", i, (int)begun[i],
                        json_array_size(json_array_get(starts, i)));
    replay_compare_rivals(c, c->root, "noise", n, noise);
    replay_compare_rivals(c, c->root, "action", n, action);
}
