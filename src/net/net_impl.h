/*
 * The arithmetic of a network in one precision; compiled twice, by net_float.c and net_double.c,
 * which define REAL and its companions.
 *
 * With a_0 = x [n, w_0], for layers l = 1 ... L:
 *     z_l = a_{l-1} W_l' + b_l,    a_l = f(z_l) for l < L,    a_L = z_L
 * and backwards, with d_l = gradient with respect to z_l:
 *     d_W_l = d_l' a_{l-1},    d_b_l = column sums of d_l,    d_{l-1} = (d_l W_l) f'(z_{l-1})
 * f' is computed from a = f(z): 1 or the slope by the sign, and 1 - a^2 for tanh.
 */
#include <string.h>

#include "linalg/linalg.h"
#include "net/internal.h"

/* Slope of the leaky relu for negative arguments. */
#define LEAK ((REAL)0.01)
/* Partial sums of a dot product: two vector registers of floats. */
#define N_SUMS 16
/* How many rows ahead of its use a row is asked for: a few hundred cycles. */
#define ROWS_AHEAD 8

/* every line of x [n], 8 doubles each */
static inline void prefetch(const double *x, size_t n)
{
#if defined(__GNUC__)
    for (size_t i = 0; i < n; i += 8)
        __builtin_prefetch(x + i);
#else
    (void)x, (void)n;
#endif
}

/* ---- one chunk of the batch, converted on its way in ---------------------------------------- */

static TCE__VECTOR void convert_row(size_t n, const double *restrict x, REAL *restrict out)
{
    for (size_t i = 0; i < n; i++)
        out[i] = (REAL)x[i];
}

static TCE__VECTOR void convert_rows(size_t n_in, const tce__net_input *input, size_t begin,
                                     size_t end, REAL *restrict out)
{
    for (size_t i = begin; i < end; i++, out += n_in) {
        const double *restrict x = input->x + n_in * input->rows[i];

        /* chosen rows lie anywhere: ask for one while those before it are converted */
        if (i + ROWS_AHEAD < end)
            prefetch(input->x + n_in * input->rows[i + ROWS_AHEAD], n_in);
        for (size_t c = 0; c < n_in; c++)
            out[c] = (REAL)x[c];
    }
}

static void load(size_t n_in, const tce__net_input *input, size_t begin, size_t end, void *a)
{
    if (input->rows)
        convert_rows(n_in, input, begin, end, a);
    else
        convert_row((end - begin) * n_in, input->x + begin * n_in, a);
}

/* ---- activations ----------------------------------------------------------------------------- */

/* a = max(z, slope z), 0 <= slope < 1; written so that NaN stays NaN. */
static TCE__VECTOR void leak_forward(size_t n, REAL slope, REAL *restrict a)
{
    for (size_t i = 0; i < n; i++) {
        const REAL below = slope * a[i];
        a[i] = a[i] > below ? a[i] : below;
    }
}

static TCE__VECTOR void leak_backward(size_t n, REAL slope, const REAL *restrict a,
                                      REAL *restrict d)
{
    for (size_t i = 0; i < n; i++)
        d[i] *= a[i] > 0 ? (REAL)1 : slope;
}

/*
 * tanh, within 1.5 units in the last place, in a form that vectorises and needs no library: the
 * same bytes on every machine.
 *     |x| < 0.55:  x + x z P(z), z = x^2
 *     else:        sign(x) (1 - 2/(e^y + 1)),  y = 2 |x|,
 *                  e^y = 2^k e^r,  k = round(y/log 2),  e^r = 1 + r + r^2 Q(r)
 * P and Q are minimax polynomials; 2^k is added to the exponent of e^r. NaN takes the first branch
 * and stays NaN.
 */
static TCE__VECTOR void tanh_forward(size_t n, REAL *restrict a)
{
    for (size_t i = 0; i < n; i++) {
        const REAL x = a[i];
        const REAL size = x < 0 ? -x : x;
        const REAL z = x * x;
        const REAL near = x + x * z * TANH_P(z);

        const REAL y = 2 * (size < TANH_IS_1 ? size : TANH_IS_1);
        const REAL shifted = y * PER_LOG_2 + ROUNDER;
        const REAL k = shifted - ROUNDER;
        const REAL r = (y - k * LOG_2_HIGH) - k * LOG_2_LOW;
        const union {
            REAL real;
            BITS bits;
        } rounded = { shifted };
        union {
            REAL real;
            BITS bits;
        } power = { 1 + (r + r * r * EXP_Q(r)) };
        power.bits += rounded.bits << MANTISSA;
        const REAL far = 1 - 2 / (power.real + 1);

        a[i] = size >= (REAL)0.55 ? (x < 0 ? -far : far) : near;
    }
}

static TCE__VECTOR void tanh_backward(size_t n, const REAL *restrict a, REAL *restrict d)
{
    for (size_t i = 0; i < n; i++)
        d[i] *= 1 - a[i] * a[i];
}

static void activate_forward(int32_t activation, size_t n, REAL *a)
{
    if (activation == TCE_NET_RELU)
        leak_forward(n, 0, a);
    else if (activation == TCE_NET_LEAKY_RELU)
        leak_forward(n, LEAK, a);
    else if (activation == TCE_NET_TANH)
        tanh_forward(n, a);
}

static void activate_backward(int32_t activation, size_t n, const REAL *a, REAL *d)
{
    if (activation == TCE_NET_RELU)
        leak_backward(n, 0, a, d);
    else if (activation == TCE_NET_LEAKY_RELU)
        leak_backward(n, LEAK, a, d);
    else if (activation == TCE_NET_TANH)
        tanh_backward(n, a, d);
}

/* ---- a layer with one output: dot products, for which gemm is not made ----------------------- */

/* y [n] = x [n, in] w [in] + b */
static TCE__VECTOR void single_forward(size_t n, size_t in, const REAL *restrict x,
                                       const REAL *restrict w, REAL b, REAL *restrict y)
{
    const size_t whole = in - in % N_SUMS;

    for (size_t r = 0; r < n; r++, x += in) {
        REAL sums[N_SUMS] = { 0 };
        for (size_t i = 0; i < whole; i += N_SUMS)
            for (size_t j = 0; j < N_SUMS; j++)
                sums[j] += x[i + j] * w[i + j];
        for (size_t i = whole; i < in; i++)
            sums[i - whole] += x[i] * w[i];

        /* halving keeps the additions independent */
        for (size_t half = N_SUMS / 2; half > 0; half /= 2)
            for (size_t j = 0; j < half; j++)
                sums[j] += sums[j + half];
        y[r] = b + sums[0];
    }
}

/* d_w [in] += d' x,  d_x [n, in] = d w' */
static TCE__VECTOR void single_backward_weights(size_t n, size_t in, const REAL *restrict x,
                                                const REAL *restrict d, REAL *restrict d_w)
{
    for (size_t r = 0; r < n; r++)
        for (size_t i = 0; i < in; i++)
            d_w[i] += d[r] * x[r * in + i];
}

static TCE__VECTOR void single_backward_input(size_t n, size_t in, const REAL *restrict w,
                                              const REAL *restrict d, REAL *restrict d_x)
{
    for (size_t r = 0; r < n; r++)
        for (size_t i = 0; i < in; i++)
            d_x[r * in + i] = d[r] * w[i];
}

/* ---- layers ---------------------------------------------------------------------------------- */

/* sums [width] of the columns of d [n, width] */
static TCE__VECTOR void column_sums(size_t n, size_t width, const REAL *restrict d,
                                    REAL *restrict sums)
{
    for (size_t i = 0; i < width; i++)
        sums[i] = 0;
    for (size_t r = 0; r < n; r++)
        for (size_t i = 0; i < width; i++)
            sums[i] += d[r * width + i];
}

static TCE__VECTOR void add(size_t n, const REAL *restrict x, REAL *restrict y)
{
    for (size_t i = 0; i < n; i++)
        y[i] += x[i];
}

static TCE__VECTOR void repeat_row(size_t n, size_t width, const REAL *restrict b, REAL *restrict z)
{
    for (size_t r = 0; r < n; r++)
        for (size_t i = 0; i < width; i++)
            z[r * width + i] = b[i];
}

/* z [n, out] = x [n, in] W' + b */
static void layer_forward(size_t n, size_t in, size_t out, const REAL *W, const REAL *x, REAL *z)
{
    const REAL *b = W + out * in;

    if (out == 1) {
        single_forward(n, in, x, W, b[0], z);
        return;
    }
    /* the bias is there before the product is added: gemm would have cleared z anyway */
    repeat_row(n, out, b, z);
    GEMM(TCE__NO_TRANS, TCE__TRANS, n, out, in, 1, x, in, W, in, 1, z, out);
}

/* d_W += d' x, d_b += column sums of d unless NULL; d_x [n, in] = d W unless NULL */
static void layer_backward(size_t n, size_t in, size_t out, const REAL *W, const REAL *x,
                           const REAL *d, REAL *sums, REAL *d_W, REAL *d_x)
{
    if (d_W) {
        column_sums(n, out, d, sums);
        add(out, sums, d_W + out * in);
        if (out == 1)
            single_backward_weights(n, in, x, d, d_W);
        else
            GEMM(TCE__TRANS, TCE__NO_TRANS, out, in, n, 1, d, out, x, in, 1, d_W, in);
    }
    if (d_x && out == 1)
        single_backward_input(n, in, W, d, d_x);
    else if (d_x)
        GEMM(TCE__NO_TRANS, TCE__NO_TRANS, n, in, out, 1, d, out, W, in, 0, d_x, in);
}

/* ---- the network, for one chunk -------------------------------------------------------------- */

/* a: activations of n rows, of which the inputs are there; the rest is filled in */
static void forward(const tce_net *net, size_t n, void *a)
{
    REAL *blocks = a;

    for (size_t l = 0; l < net->n_layers; l++) {
        const REAL *W = (const REAL *)net->weights + net->offset[l];
        const REAL *x = blocks + n * net->column[l];
        REAL *z = blocks + n * net->column[l + 1];

        layer_forward(n, net->width[l], net->width[l + 1], W, x, z);
        if (l + 1 < net->n_layers)
            activate_forward(net->activation, n * net->width[l + 1], z);
    }
}

/* the same with two arrays that take turns: [n, max_width], the inputs in a */
static const void *evaluate(const tce_net *net, size_t n, void *a, void *b)
{
    REAL *x = a;
    REAL *z = b;

    for (size_t l = 0; l < net->n_layers; l++) {
        const REAL *W = (const REAL *)net->weights + net->offset[l];

        layer_forward(n, net->width[l], net->width[l + 1], W, x, z);
        if (l + 1 < net->n_layers)
            activate_forward(net->activation, n * net->width[l + 1], z);

        REAL *done = x;
        x = z;
        z = done;
    }
    return x;
}

/* adds this chunk to the gradient of the weights, unless NULL; d_x [n, n_in] or NULL */
static void backward(const tce_net *net, size_t n, const void *a, const tce__net_scratch *scratch,
                     const double *d_out, void *gradient, double *d_x)
{
    const REAL *blocks = a;
    REAL *d = scratch->delta[0];
    REAL *d_before = scratch->delta[1];

    convert_row(n * net->n_out, d_out, d);
    for (size_t l = net->n_layers; l-- > 0;) {
        const REAL *W = (const REAL *)net->weights + net->offset[l];
        const REAL *x = blocks + n * net->column[l];
        REAL *d_W = gradient ? (REAL *)gradient + net->offset[l] : NULL;
        const int wanted = l > 0 || d_x;

        layer_backward(n, net->width[l], net->width[l + 1], W, x, d, scratch->sums, d_W,
                       wanted ? d_before : NULL);
        if (l > 0)
            activate_backward(net->activation, n * net->width[l], x, d_before);

        REAL *done = d;
        d = d_before;
        d_before = done;
    }
    for (size_t i = 0; d_x && i < n * net->n_in; i++)
        d_x[i] = d[i];
}

/* ---- vectors of weights ---------------------------------------------------------------------- */

/* x <- (1 - share) x + share other */
static TCE__VECTOR void average(size_t n, double share, const void *other, void *x)
{
    const REAL *restrict to = other;
    REAL *restrict v = x;
    const REAL a = (REAL)share;
    const REAL b = (REAL)(1 - share);

    for (size_t i = 0; i < n; i++)
        v[i] = b * v[i] + a * to[i];
}

static tce_status sum_parts(const tce__parts *parts, size_t n, void *x, void *out)
{
    return SUM_PARTS(parts, n, x, out);
}

/* in double, so that squares of floats neither overflow nor vanish */
static TCE__VECTOR double sum_of_squares(size_t n, const void *x)
{
    const REAL *restrict v = x;
    const size_t whole = n - n % N_SUMS;
    double sums[N_SUMS] = { 0 };
    double total = 0;

    for (size_t i = 0; i < whole; i += N_SUMS)
        for (size_t j = 0; j < N_SUMS; j++)
            sums[j] += (double)v[i + j] * (double)v[i + j];
    for (size_t i = whole; i < n; i++)
        sums[i - whole] += (double)v[i] * (double)v[i];
    for (size_t j = 0; j < N_SUMS; j++)
        total += sums[j];
    return total;
}

static TCE__VECTOR void scale(size_t n, double factor, void *x)
{
    REAL *restrict v = x;
    const REAL f = (REAL)factor;

    for (size_t i = 0; i < n; i++)
        v[i] *= f;
}

/*
 * g <- g + l2 theta,  m <- beta1 m + (1 - beta1) g,  v <- beta2 v + (1 - beta2) g^2,
 * theta <- theta - lr m^/(sqrt(v^) + epsilon),  m^ = m/(1 - beta1^t), v^ = v/(1 - beta2^t)
 */
static TCE__VECTOR void adam(size_t n, const tce__adam_scalars *s, const void *gradient,
                             void *weights, void *moment, void *square)
{
    const REAL *restrict grad = gradient;
    REAL *restrict theta = weights;
    REAL *restrict m = moment;
    REAL *restrict v = square;
    const REAL l2 = (REAL)s->l2;
    const REAL beta1 = (REAL)s->beta1;
    const REAL beta2 = (REAL)s->beta2;
    const REAL rest1 = (REAL)(1 - s->beta1);
    const REAL rest2 = (REAL)(1 - s->beta2);
    const REAL step = (REAL)s->step;
    const REAL root = (REAL)s->root;
    const REAL epsilon = (REAL)s->epsilon;

    for (size_t i = 0; i < n; i++) {
        const REAL g = grad[i] + l2 * theta[i];
        m[i] = beta1 * m[i] + rest1 * g;
        v[i] = beta2 * v[i] + rest2 * (g * g);
        theta[i] -= step * m[i] / (SQRT(v[i]) * root + epsilon);
    }
}

static TCE__VECTOR void to_double(size_t n, const void *x, double *restrict out)
{
    const REAL *restrict v = x;

    for (size_t i = 0; i < n; i++)
        out[i] = v[i];
}

static void from_double(size_t n, const double *x, void *out)
{
    convert_row(n, x, out);
}

const tce__net_kernels KERNELS = {
    .size = sizeof(REAL),
    .store_type = STORE_TYPE,
    .largest = LARGEST,
    .load = load,
    .forward = forward,
    .evaluate = evaluate,
    .backward = backward,
    .average = average,
    .sum_parts = sum_parts,
    .sum_of_squares = sum_of_squares,
    .scale = scale,
    .adam = adam,
    .to_double = to_double,
    .from_double = from_double,
};
