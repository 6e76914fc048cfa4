/*
 * Inverse discrete Fourier transforms in double precision, not normalised:
 *     x_t = sum over k = 0 … n-1 of X_k exp(2 pi i k t / n).
 *
 * n may be any number; the time grows with n times the sum of its prime factors.
 */
#ifndef TRAINER_FFT_H
#define TRAINER_FFT_H

#include "tools/memory.h"

typedef struct fft_complex {
    double re, im;
} fft_complex;

/* Tables of one length; constant after fft_create, so that threads may share it. */
typedef struct fft {
    size_t n;
    size_t half;               /* length of the complex transform under a real one: n / 2, or n */
    size_t n_work;             /* complex numbers that a transform needs as scratch */
    const fft_complex *circle; /* [n] exp(2 pi i k / n) */
} fft;

/* n >= 1; the table is m's. Whether there was memory is in m->failed. */
void fft_create(fft *f, size_t n, memory *m);

/* in, out [n] apart; work [n_work] */
void fft_inverse(const fft *f, const fft_complex *in, fft_complex *out, fft_complex *work);

/*
 * The real sequence out [n] of a spectrum [n / 2 + 1], the other half of which is its conjugate;
 * the imaginary parts of X_0 and, n even, X_{n/2} do not count. work [n_work]
 */
void fft_inverse_real(const fft *f, const fft_complex *spectrum, double *out, fft_complex *work);

#endif
