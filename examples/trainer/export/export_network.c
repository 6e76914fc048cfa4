/*
 * The network of a policy's mean, out of its store. Where mean and spread are two heads on one
 * body, the last layer has both: the mean's are its first rows.
 *
 * How far two ways of adding its sums may lie apart: a sum of n products in an arithmetic of
 * relative error u goes off by about u sqrt(n sum (W a)^2), and what the layers before went off
 * adds to it,
 *
 *     variance(z) = sum W^2 variance(a) + u^2 n (sum (W a)^2 + b^2),
 *
 * since no activation has a slope above 1.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "export/exported.h"
#include "tools/memory.h"

/* Sizes of all layers, as they are stored. Returns how many weights there are. */
static size_t measure(export_network *n, const tce_store *store)
{
    tce_store_array array = TCE_INIT(tce_store_array);
    char name[64];
    size_t n_weights = 0;
    for (n->n_layers = 0; n->n_layers <= MAX_LAYERS; n->n_layers++) {
        snprintf(name, sizeof name, "policy.mean.layers.%zu.weight", n->n_layers);
        if (tce_store_get(store, name, &array) != TCE_OK)
            break;
        n->width[n->n_layers] = array.shape[1];
        n->width[n->n_layers + 1] = array.shape[0];
        n->precision = array.type == TCE_STORE_F64 ? TCE_NET_DOUBLE : TCE_NET_FLOAT;
        n_weights += (array.shape[1] + 1) * array.shape[0];
    }
    return n_weights;
}

/* Layer l: weights [out, in], then biases [out]. */
static tce_status read_layer(const export_network *n, const tce_store *store, size_t l,
                             double *weights)
{
    const size_t in = n->width[l], out = n->width[l + 1];
    char name[64];
    snprintf(name, sizeof name, "policy.mean.layers.%zu.weight", l);
    const tce_status status = tce_store_read(store, name, TCE_STORE_F64, in * out, weights);
    snprintf(name, sizeof name, "policy.mean.layers.%zu.bias", l);
    return status == TCE_OK ? tce_store_read(store, name, TCE_STORE_F64, out, weights + in * out)
                            : status;
}

/* Leaves the first n_outputs rows of the last layer, which begins at `layer`. */
static void cut_last_layer(export_network *n, size_t n_outputs, double *layer)
{
    const size_t in = n->width[n->n_layers - 1], out = n->width[n->n_layers];
    memmove(layer + in * n_outputs, layer + in * out, n_outputs * sizeof *layer);
    n->width[n->n_layers] = n_outputs;
    n->n_weights -= (in + 1) * (out - n_outputs);
}

tce_status export_network_read(export_network *n, const tce_store *store, size_t n_outputs)
{
    memset(n, 0, sizeof *n);
    int failed = 0;
    n->n_weights = measure(n, store);
    if (n->n_layers > MAX_LAYERS)
        return tce_fail(TCE_E_UNSUPPORTED, "the policy has more than %d layers", MAX_LAYERS);
    n->weights = array_of_doubles(n->n_weights, &failed);
    if (failed)
        return tce_fail(TCE_E_NOMEM, "no memory for %zu weights", n->n_weights);

    tce_status status = tce_store_read(store, "policy.mean.activation", TCE_STORE_I32, 1,
                                       &n->activation);
    size_t at = 0, last = 0;
    for (size_t l = 0; status == TCE_OK && l < n->n_layers; l++) {
        status = read_layer(n, store, l, n->weights + at);
        last = at;
        at += (n->width[l] + 1) * n->width[l + 1];
    }
    if (status == TCE_OK)
        cut_last_layer(n, n_outputs, n->weights + last);
    return status;
}

void export_network_free(export_network *n)
{
    free(n->weights);
    n->weights = NULL;
}

/* ---- rounding -------------------------------------------------------------------------------- */

static double activation(int32_t kind, double z)
{
    if (kind == TCE_NET_TANH)
        return tanh(z);
    if (kind == TCE_NET_LINEAR || z > 0.0)
        return z;
    return kind == TCE_NET_RELU ? 0.0 : 0.01 * z;
}

/* From a, variance [in] to those of the next layer [out]; W: its weights, then biases. */
static void pass_layer(const export_network *n, size_t l, const double *W, const double *a,
                       const double *variance, double *out_a, double *out_variance)
{
    const size_t in = n->width[l], out = n->width[l + 1];
    const double u = n->precision == TCE_NET_FLOAT ? 0x1p-24 : 0x1p-53;
    for (size_t o = 0; o < out; o++) {
        const double *w = W + o * in, bias = W[out * in + o];
        double z = bias, squares = bias * bias;
        out_variance[o] = 0.0;
        for (size_t i = 0; i < in; i++) {
            z += w[i] * a[i];
            squares += w[i] * a[i] * w[i] * a[i];
            out_variance[o] += w[i] * w[i] * variance[i];
        }
        out_variance[o] += u * u * (double)in * squares;
        out_a[o] = l + 1 < n->n_layers ? activation(n->activation, z) : z;
    }
}

tce_status export_network_rounding(const export_network *n, const double *inputs, double *out)
{
    size_t widest = 0;
    for (size_t l = 0; l <= n->n_layers; l++)
        widest = n->width[l] > widest ? n->width[l] : widest;
    int failed = 0;
    double *work = array_of_doubles(4 * widest, &failed);
    if (failed)
        return tce_fail(TCE_E_NOMEM, "no memory for layers of %zu numbers", widest);

    double *a = work, *variance = a + widest, *next = variance + widest;
    const double *W = n->weights;
    memcpy(a, inputs, n->width[0] * sizeof *a);
    for (size_t l = 0; l < n->n_layers; l++) {
        pass_layer(n, l, W, a, variance, next, next + widest);
        memcpy(a, next, 2 * widest * sizeof *a);
        W += (n->width[l] + 1) * n->width[l + 1];
    }
    for (size_t o = 0; o < n->width[n->n_layers]; o++)
        out[o] = sqrt(variance[o]);
    free(work);
    return TCE_OK;
}
