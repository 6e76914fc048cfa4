/*
 * Cooley and Tukey for any factors: with n = p m, the p sequences of every p-th number are
 * transformed, and
 *     x_{t + q m} = sum over r of exp(2 pi i q r / p) [exp(2 pi i r t / n) x^r_t],   t < m, q < p.
 *
 * A real sequence of even length is one complex transform of half the length, which has its even
 * numbers as real and its odd ones as imaginary parts.
 */
#include "collect/fft.h"

#include <math.h>

#define TWO_PI 6.28318530717958647692

static size_t smallest_factor(size_t n)
{
    for (size_t p = 2; p * p <= n; p++)
        if (n % p == 0)
            return p;
    return n;
}

static size_t largest_factor(size_t n)
{
    size_t largest = 1;
    while (n > 1) {
        const size_t p = smallest_factor(n);
        largest = p > largest ? p : largest;
        n /= p;
    }
    return largest;
}

static fft_complex times(fft_complex a, fft_complex b)
{
    return (fft_complex){ a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re };
}

static fft_complex plus(fft_complex a, fft_complex b)
{
    return (fft_complex){ a.re + b.re, a.im + b.im };
}

void fft_create(fft *f, size_t n, memory *m)
{
    fft_complex *circle = memory_take(m, n, sizeof *circle);
    f->n = n;
    f->half = n % 2 == 0 ? n / 2 : n;
    /* one butterfly, and the sequences of a real transform before and after it */
    f->n_work = largest_factor(n) + 2 * f->half;
    f->circle = circle;
    for (size_t k = 0; circle && k < n; k++) {
        const double angle = TWO_PI * (double)k / (double)n;
        circle[k] = (fft_complex){ cos(angle), sin(angle) };
    }
}

/*
 * The transform of in[0], in[step], … into out [n]. `unit` is how far apart the n-th roots of 1
 * stand in the table, and `leg` [p] room for what a butterfly reads.
 */
static void transform(const fft *f, size_t n, size_t unit, size_t step, const fft_complex *in,
                      fft_complex *out, fft_complex *leg)
{
    if (n == 1) {
        out[0] = in[0];
        return;
    }
    const size_t p = smallest_factor(n), m = n / p;
    for (size_t r = 0; r < p; r++)
        transform(f, m, unit * p, step * p, in + r * step, out + r * m, leg);

    for (size_t t = 0; t < m; t++) {
        for (size_t r = 0; r < p; r++)
            leg[r] = times(out[r * m + t], f->circle[r * t * unit]);
        for (size_t q = 0; q < p; q++) {
            fft_complex sum = leg[0];
            for (size_t r = 1; r < p; r++)
                sum = plus(sum, times(leg[r], f->circle[q * r % p * m * unit]));
            out[q * m + t] = sum;
        }
    }
}

void fft_inverse(const fft *f, const fft_complex *in, fft_complex *out, fft_complex *work)
{
    transform(f, f->n, 1, 1, in, out, work);
}

/* Z_k = (X_k + X_{k+h}) + i exp(2 pi i k / n) (X_k - X_{k+h}),   h = n / 2, X_{k+h} = X*_{h-k} */
static void fold(const fft *f, const fft_complex *spectrum, fft_complex *out)
{
    const size_t h = f->half;
    for (size_t k = 0; k < h; k++) {
        fft_complex low = spectrum[k], high = { spectrum[h - k].re, -spectrum[h - k].im };
        if (k == 0)
            low.im = high.im = 0.0;
        const fft_complex odd = times((fft_complex){ low.re - high.re, low.im - high.im },
                                      f->circle[k]);
        out[k] = (fft_complex){ low.re + high.re - odd.im, low.im + high.im + odd.re };
    }
}

void fft_inverse_real(const fft *f, const fft_complex *spectrum, double *out, fft_complex *work)
{
    const size_t n = f->n, h = f->half;
    fft_complex *in = work, *sequence = work + h, *leg = work + 2 * h;

    if (n % 2 == 0) {
        fold(f, spectrum, in);
        transform(f, h, 2, 1, in, sequence, leg);
        for (size_t t = 0; t < h; t++) {
            out[2 * t] = sequence[t].re;
            out[2 * t + 1] = sequence[t].im;
        }
        return;
    }
    in[0] = (fft_complex){ spectrum[0].re, 0.0 };
    for (size_t k = 1; k <= n / 2; k++) {
        in[k] = spectrum[k];
        in[n - k] = (fft_complex){ spectrum[k].re, -spectrum[k].im };
    }
    transform(f, n, 1, 1, in, sequence, leg);
    for (size_t t = 0; t < n; t++)
        out[t] = sequence[t].re;
}
