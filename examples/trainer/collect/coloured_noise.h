/*
 * Coloured noise: sequences of normal numbers whose power falls with the frequency f as f^-beta
 * (0 white, 1 pink, 2 red), drawn in chunks by the method of Timmer and Koenig (1995).
 *
 * A spectrum is what a colour is made of, without any state. A stream serves the actions of several
 * environments step by step; what it draws is a function of (seed, purpose, environment, chunk), so
 * that a checkpoint holds numbers of chunks and positions, and no noise.
 */
#ifndef TRAINER_COLOURED_NOISE_H
#define TRAINER_COLOURED_NOISE_H

#include "collect/fft.h"

typedef struct noise_spectrum {
    size_t C, K;             /* numbers of a chunk, frequencies: K = C div 2 + 1 */
    double scale;            /* sigma of a sequence, without what its mean adds */
    const double *amplitude; /* [K] s_k */
    fft transform;
} noise_spectrum;

/*
 * Chunks of `length` numbers; frequencies below 1 / max_period have the power of the first one that
 * is not (0: none is below). The arrays are m's. TCE_E_VALUE: length or max_period below 2, beta
 * not in 0 … 10.
 */
tce_status noise_spectrum_create(noise_spectrum *n, double beta, size_t length, size_t max_period,
                                 memory *m);

/* Complex numbers that noise_sequence needs as scratch. */
size_t noise_spectrum_work(const noise_spectrum *n);

/* A chunk out [C] of normal numbers real [K] and imaginary [K]. */
void noise_sequence(const noise_spectrum *n, const double *real, const double *imaginary,
                    double *out, fft_complex *work);

/* Covariance of two numbers of a chunk that are `lag` apart; lag 0: the variance. */
double noise_autocovariance(const noise_spectrum *n, size_t lag);

/* ---- a stream -------------------------------------------------------------------------------- */

/* The normal numbers [K] of the frequencies of a row, in place of those that would be drawn. */
typedef void (*noise_normals)(void *context, size_t env, uint64_t chunk, size_t action,
                              double *out_real, double *out_imaginary);

typedef struct noise_stream_options {
    double beta;
    size_t chunk; /* its length */
    size_t max_period;
    int by_episode; /* a new chunk after every end; else chunks continue through episodes */
    size_t n_envs, n_actions;
    uint64_t seed, purpose; /* of the streams */
    noise_normals normals;  /* NULL: drawn; else given, to repeat recorded noise */
    void *context;          /* given to normals */
} noise_stream_options;

typedef struct noise_stream {
    noise_stream_options options;
    noise_spectrum spectrum;
    int64_t *chunks;    /* [N] begun so far */
    int64_t *positions; /* [N] numbers of the present chunk that were used; C: all */
    int64_t *drawn;     /* [N] the chunk that `noise` has, from 1; 0: none */
    double *noise;      /* [N, D, C] */
    double *normals;    /* [2, K] */
    fft_complex *work;
} noise_stream;

/* No chunk is begun. The arrays are m's. TCE_E_VALUE, TCE_E_NOMEM. */
tce_status noise_stream_create(noise_stream *s, const noise_stream_options *options, memory *m);

/* The next number of every action in every environment: out [N, D]. */
void noise_stream_next(noise_stream *s, double *out);

/* The episode of an environment ended. */
void noise_stream_end(noise_stream *s, size_t env);

/* Into a checkpoint and back, as arrays <name>.chunks and <name>.positions. */
tce_status noise_stream_save(const noise_stream *s, tce_store *store, const char *name);
tce_status noise_stream_load(noise_stream *s, const tce_store *store, const char *name);

#endif
