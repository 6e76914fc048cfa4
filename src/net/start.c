/*
 * The first weights.
 *
 * Orthogonal: a Gaussian matrix G [max, min] = Q R, Q times the sign of R's diagonal, transposed
 * where a layer has fewer outputs than inputs, times the gain; biases 0. Fan-in: weights and biases
 * uniform in +-1/sqrt(inputs).
 */
#include <tce/net.h>

#include <math.h>
#include <string.h>

#include "linalg/linalg.h"
#include "net/internal.h"

/* W [out, in] into `matrix`, which has room for the factorisation behind it */
static tce_status draw_orthogonal(size_t in, size_t out, double gain, tce_random *random,
                                  double *matrix, double *W)
{
    const size_t rows = in > out ? in : out;
    const size_t columns = in > out ? out : in;

    tce_random_normals(random, rows * columns, matrix);
    if (tce__orthogonal(rows, columns, matrix, W) != 0)
        return tce_fail(TCE_E_SINGULAR,
                        "the QR factorisation of a %zu x %zu Gaussian matrix failed", rows,
                        columns);
    for (size_t o = 0; o < out; o++)
        for (size_t i = 0; i < in; i++)
            W[o * in + i] = gain * (out < in ? matrix[i * columns + o] : matrix[o * columns + i]);
    return TCE_OK;
}

static void draw_uniform(size_t n, double bound, tce_random *random, double *out)
{
    for (size_t i = 0; i < n; i++)
        out[i] = bound * (2.0 * tce_random_uniform(random) - 1.0);
}

tce_status tce_net_start(tce_net *net, tce_random *random)
{
    tce_status status = tce__check_pointer("net", net);
    if (status == TCE_OK)
        status = tce__check_pointer("random", random);
    if (status != TCE_OK)
        return status;

    const tce__net_kernels *k = net->kernels;
    for (size_t l = 0; l < net->n_layers; l++) {
        const size_t in = net->width[l];
        const size_t out = net->width[l + 1];
        const double gain = l + 1 < net->n_layers ? net->gain_hidden : net->gain_out;
        double *matrix = net->parts;
        double *W = matrix + in * out;
        unsigned char *weights = (unsigned char *)net->weights + net->offset[l] * k->size;
        unsigned char *biases = weights + in * out * k->size;

        /* weights, then biases, in double and rounded once */
        if (net->start == TCE_NET_ORTHOGONAL)
            status = draw_orthogonal(in, out, gain, random, matrix, W);
        else
            draw_uniform(in * out, 1.0 / sqrt((double)in), random, W);
        if (status != TCE_OK)
            return status;
        k->from_double(in * out, W, weights);

        memset(W, 0, out * sizeof *W);
        if (net->start == TCE_NET_FAN_IN)
            draw_uniform(out, 1.0 / sqrt((double)in), random, W);
        k->from_double(out, W, biases);
    }

    /* Adam from the beginning */
    memset(net->moment, 0, net->n_weights * k->size);
    memset(net->square, 0, net->n_weights * k->size);
    net->n_steps = 0;
    net->remembered = 0;
    return TCE_OK;
}
