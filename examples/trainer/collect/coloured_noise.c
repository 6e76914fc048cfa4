/*
 * One chunk of length C, for frequencies f_k = k / C, k = 0 … C div 2:
 *     s_k = f_k^(-beta/2), below f_min = max(1 / max_period, 1 / C) that of the first f_k >= f_min,
 *     X_k = s_k (x_k + i y_k),   X_0 and, C even, X_{C/2} = sqrt(2) s_k x_k,
 *     e_t = (1 / (C scale)) sum over all k of X_k exp(2 pi i k t / C),
 *     scale = (2 / C) sqrt(sum over k >= 1 of w_k^2),   w_k = s_k, the last one halved when C is
 *     even,
 * with X_{C-k} = X*_k [Timmer and Koenig 1995; Eberhard et al. 2023]. The scale leaves out the term
 * of k = 0, so that the variance is a little above 1.
 */
#include "collect/coloured_noise.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define TWO_PI 6.28318530717958647692
#define SQRT2 1.41421356237309504880
#define MOST_BETA 10.0

tce_status noise_spectrum_create(noise_spectrum *n, double beta, size_t length, size_t max_period,
                                 memory *m)
{
    memset(n, 0, sizeof *n);
    if (length < 2)
        return tce_fail(TCE_E_VALUE, "a chunk of noise has %zu numbers, must have at least 2",
                        length);
    if (max_period == 1)
        return tce_fail(TCE_E_VALUE, "the longest period of noise is 1 step, must be at least 2 "
                                     "steps, or 0 for the length of a chunk");
    if (!(beta >= 0.0 && beta <= MOST_BETA))
        return tce_fail(TCE_E_VALUE, "the exponent of coloured noise is %g, must be in 0 ... %g",
                        beta, MOST_BETA);
    n->C = length;
    n->K = length / 2 + 1;
    double *amplitude = memory_doubles(m, n->K);
    n->amplitude = amplitude;
    fft_create(&n->transform, length, m);
    if (m->failed)
        return tce_fail(TCE_E_NOMEM, "no memory for chunks of noise of %zu numbers", length);
    if (!amplitude)
        return TCE_OK; /* only measured */

    const double C = (double)length, lowest = 1.0 / C;
    const double f_min = max_period ? fmax(1.0 / (double)max_period, lowest) : lowest;
    size_t first = 0;
    while (first + 1 < n->K && (double)first / C < f_min)
        first++;
    double sum = 0.0;
    for (size_t k = 0; k < n->K; k++) {
        amplitude[k] = pow((double)(k < first ? first : k) / C, -0.5 * beta);
        const double w = 2 * k == length ? 0.5 * amplitude[k] : amplitude[k];
        sum += k >= 1 ? w * w : 0.0;
    }
    n->scale = 2.0 * sqrt(sum) / C;
    return TCE_OK;
}

size_t noise_spectrum_work(const noise_spectrum *n)
{
    return n->K + n->transform.n_work;
}

void noise_sequence(const noise_spectrum *n, const double *real, const double *imaginary,
                    double *out, fft_complex *work)
{
    fft_complex *X = work;
    for (size_t k = 0; k < n->K; k++) {
        const double s = n->amplitude[k];
        const int is_real = k == 0 || 2 * k == n->C;
        X[k] = is_real ? (fft_complex){ SQRT2 * s * real[k], 0.0 }
                       : (fft_complex){ s * real[k], s * imaginary[k] };
    }
    fft_inverse_real(&n->transform, X, out, work + n->K);
    const double unit = 1.0 / ((double)n->C * n->scale);
    for (size_t t = 0; t < n->C; t++)
        out[t] *= unit;
}

/*
 * cov(l) = (1 / (C scale)^2) sum over k of m_k 2 s_k^2 cos(2 pi k l / C), m_k how often X_k counts
 */
double noise_autocovariance(const noise_spectrum *n, size_t lag)
{
    double sum = 0.0;
    for (size_t k = 0; k < n->K; k++) {
        const double m = k == 0 || 2 * k == n->C ? 1.0 : 2.0;
        const size_t turn = k * (lag % n->C) % n->C;
        sum += m * 2.0 * n->amplitude[k] * n->amplitude[k] *
               cos(TWO_PI * (double)turn / (double)n->C);
    }
    const double unit = (double)n->C * n->scale;
    return sum / (unit * unit);
}

/* ---- a stream -------------------------------------------------------------------------------- */

/* Every chunk is used up: the next step begins the first one. */
static void start(noise_stream *s)
{
    for (size_t i = 0; i < s->options.n_envs; i++) {
        s->chunks[i] = s->drawn[i] = 0;
        s->positions[i] = (int64_t)s->spectrum.C;
    }
}

tce_status noise_stream_create(noise_stream *s, const noise_stream_options *options, memory *m)
{
    memset(s, 0, sizeof *s);
    s->options = *options;
    const tce_status status = noise_spectrum_create(&s->spectrum, options->beta, options->chunk,
                                                    options->max_period, m);
    if (status != TCE_OK)
        return status;
    const size_t N = options->n_envs;
    s->chunks = memory_take(m, N, sizeof *s->chunks);
    s->positions = memory_take(m, N, sizeof *s->positions);
    s->drawn = memory_take(m, N, sizeof *s->drawn);
    s->noise = memory_doubles(m, N * options->n_actions * s->spectrum.C);
    s->normals = memory_doubles(m, 2 * s->spectrum.K);
    s->work = memory_take(m, noise_spectrum_work(&s->spectrum), sizeof *s->work);
    if (m->failed)
        return tce_fail(TCE_E_NOMEM,
                        "no memory for the noise of %zu environments in chunks of %zu numbers", N,
                        s->spectrum.C);
    if (s->work)
        start(s);
    return TCE_OK;
}

/*
 * The present chunk of an environment: rows of its actions after each other in one random stream.
 */
static void draw(noise_stream *s, size_t env)
{
    const noise_stream_options *o = &s->options;
    const size_t D = o->n_actions, C = s->spectrum.C, K = s->spectrum.K;
    const uint64_t chunk = (uint64_t)s->chunks[env] - 1;
    tce_random random;
    tce_random_start(&random, o->seed, o->purpose, env, chunk);
    for (size_t d = 0; d < D; d++) {
        if (o->normals)
            o->normals(o->context, env, chunk, d, s->normals, s->normals + K);
        else
            tce_random_normals(&random, 2 * K, s->normals);
        noise_sequence(&s->spectrum, s->normals, s->normals + K, s->noise + (env * D + d) * C,
                       s->work);
    }
    s->drawn[env] = s->chunks[env];
}

void noise_stream_next(noise_stream *s, double *out)
{
    const size_t D = s->options.n_actions, C = s->spectrum.C;
    for (size_t i = 0; i < s->options.n_envs; i++) {
        if (s->positions[i] == (int64_t)C) {
            s->positions[i] = 0;
            s->chunks[i]++;
        }
        /* after a resume the chunk is drawn again */
        if (s->drawn[i] != s->chunks[i])
            draw(s, i);
        for (size_t d = 0; d < D; d++)
            out[i * D + d] = s->noise[(i * D + d) * C + (size_t)s->positions[i]];
        s->positions[i]++;
    }
}

void noise_stream_end(noise_stream *s, size_t env)
{
    if (s->options.by_episode)
        s->positions[env] = (int64_t)s->spectrum.C;
}

/* ---- checkpoints ----------------------------------------------------------------------------- */

tce_status noise_stream_save(const noise_stream *s, tce_store *store, const char *name)
{
    char full[128];
    snprintf(full, sizeof full, "%s.chunks", name);
    tce_status status = tce_store_put(store, full, TCE_STORE_I64, 1, &s->options.n_envs, s->chunks);
    snprintf(full, sizeof full, "%s.positions", name);
    if (status == TCE_OK)
        status = tce_store_put(store, full, TCE_STORE_I64, 1, &s->options.n_envs, s->positions);
    return status;
}

/* An environment either has begun a chunk and is inside it, or has begun none. */
static tce_status check_place(const noise_stream *s, size_t env, const char *name)
{
    const int64_t chunk = s->chunks[env], position = s->positions[env],
                  last = (int64_t)s->spectrum.C;
    if (chunk >= 0 && position >= (chunk ? 1 : last) && position <= last)
        return TCE_OK;
    return tce_fail(TCE_E_CORRUPT,
                    "%s of environment %zu is at number %" PRId64 " of chunk %" PRId64
                    ", must be a place in chunks of %" PRId64,
                    name, env, position, chunk, last);
}

tce_status noise_stream_load(noise_stream *s, const tce_store *store, const char *name)
{
    char full[128];
    const size_t N = s->options.n_envs;
    snprintf(full, sizeof full, "%s.chunks", name);
    tce_status status = tce_store_read(store, full, TCE_STORE_I64, N, s->chunks);
    snprintf(full, sizeof full, "%s.positions", name);
    if (status == TCE_OK)
        status = tce_store_read(store, full, TCE_STORE_I64, N, s->positions);
    for (size_t i = 0; status == TCE_OK && i < N; i++)
        status = check_place(s, i, name);
    memset(s->drawn, 0, N * sizeof *s->drawn);
    if (status != TCE_OK)
        start(s);
    return status;
}
