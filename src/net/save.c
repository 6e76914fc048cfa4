/*
 * A network's state in a store: "<prefix>.layers.<l>.weight" [out, in] and ".bias" [out] for l = 0
 * ..., "<prefix>.adam.moment" and ".adam.square" [n_weights], "<prefix>.adam.steps",
 * "<prefix>.activation"; reals in the network's precision.
 */
#include <tce/net.h>

#include <stdio.h>
#include <string.h>

#include "net/internal.h"

/* ---- a network ------------------------------------------------------------------------------- */

/* "layers.<l>.weight" and "layers.<l>.bias" */
#define LAYER_NAME_SIZE 40
static void layer_names(size_t l, char *weight, char *bias)
{
    snprintf(weight, LAYER_NAME_SIZE, "layers.%zu.weight", l);
    snprintf(bias, LAYER_NAME_SIZE, "layers.%zu.bias", l);
}

/* the weights of layer l as they were saved */
static tce_status find_layer(const tce_store *store, const char *prefix, size_t l,
                             tce_store_array *out)
{
    char weight[LAYER_NAME_SIZE];
    char bias[LAYER_NAME_SIZE];
    char full[TCE__FIELD_NAME_SIZE];
    layer_names(l, weight, bias);
    const tce_status status = tce__field_name(prefix, weight, full);
    if (status != TCE_OK)
        return status;
    *out = TCE_INIT(tce_store_array);
    return tce_store_get(store, full, out);
}

static unsigned char *layer_weights(const tce_net *net, size_t l)
{
    return (unsigned char *)net->weights + net->offset[l] * net->kernels->size;
}

tce_status tce_net_save(const tce_net *net, tce_store *store, const char *prefix)
{
    tce_status status = tce__check_pointer("net", net);
    if (status == TCE_OK)
        status = tce__check_pointer("store", store);
    if (status != TCE_OK)
        return status;

    const int32_t type = net->kernels->store_type;
    for (size_t l = 0; status == TCE_OK && l < net->n_layers; l++) {
        const size_t in = net->width[l];
        const size_t out = net->width[l + 1];
        const unsigned char *weights = layer_weights(net, l);
        char weight[LAYER_NAME_SIZE];
        char bias[LAYER_NAME_SIZE];
        layer_names(l, weight, bias);
        status = tce__field_put(store, prefix, weight, type, out, in, weights);
        if (status == TCE_OK)
            status = tce__field_put(store, prefix, bias, type, out, 0,
                                    weights + out * in * net->kernels->size);
    }
    if (status == TCE_OK)
        status = tce__field_put(store, prefix, "adam.moment", type, net->n_weights, 0, net->moment);
    if (status == TCE_OK)
        status = tce__field_put(store, prefix, "adam.square", type, net->n_weights, 0, net->square);
    if (status == TCE_OK)
        status = tce__field_put(store, prefix, "adam.steps", TCE_STORE_U64, 1, 0, &net->n_steps);
    if (status == TCE_OK)
        status = tce__field_put(store, prefix, "activation", TCE_STORE_I32, 1, 0, &net->activation);
    return status;
}

tce_status tce__net_load_check(const tce_net *net, const tce_store *store, const char *prefix)
{
    const double most = net->kernels->largest;
    uint64_t n_steps;
    int32_t activation;
    tce_status status = TCE_OK;

    for (size_t l = 0; status == TCE_OK && l < net->n_layers; l++) {
        char weight[LAYER_NAME_SIZE];
        char bias[LAYER_NAME_SIZE];
        layer_names(l, weight, bias);
        status = tce__field_check(store, prefix, weight, net->width[l + 1], net->width[l], -most,
                                  most);
        if (status == TCE_OK)
            status = tce__field_check(store, prefix, bias, net->width[l + 1], 0, -most, most);
    }
    if (status == TCE_OK)
        status = tce__field_check(store, prefix, "adam.moment", net->n_weights, 0, -most, most);
    if (status == TCE_OK)
        status = tce__field_check(store, prefix, "adam.square", net->n_weights, 0, 0.0, most);
    if (status == TCE_OK)
        status = tce__field_read(store, prefix, "adam.steps", TCE_STORE_U64, 1, &n_steps);
    if (status == TCE_OK)
        status = tce__field_read(store, prefix, "activation", TCE_STORE_I32, 1, &activation);
    if (status != TCE_OK)
        return status;

    /* one layer more in the store, or another activation, is another network */
    tce_store_array array;
    if (find_layer(store, prefix, net->n_layers, &array) == TCE_OK)
        return tce_fail(TCE_E_SHAPE, "%s has more than the network's %zu layers", prefix,
                        net->n_layers);
    if (activation != net->activation)
        return tce_fail(TCE_E_VALUE, "%s was saved with activation %d, the network has %d", prefix,
                        (int)activation, (int)net->activation);
    return TCE_OK;
}

tce_status tce__net_load_read(tce_net *net, const tce_store *store, const char *prefix)
{
    const int32_t type = net->kernels->store_type;
    tce_status status = TCE_OK;

    for (size_t l = 0; status == TCE_OK && l < net->n_layers; l++) {
        const size_t n_weights = net->width[l + 1] * net->width[l];
        unsigned char *weights = layer_weights(net, l);
        char weight[LAYER_NAME_SIZE];
        char bias[LAYER_NAME_SIZE];
        layer_names(l, weight, bias);
        status = tce__field_read(store, prefix, weight, type, n_weights, weights);
        if (status == TCE_OK)
            status = tce__field_read(store, prefix, bias, type, net->width[l + 1],
                                     weights + n_weights * net->kernels->size);
    }
    if (status == TCE_OK)
        status = tce__field_read(store, prefix, "adam.moment", type, net->n_weights, net->moment);
    if (status == TCE_OK)
        status = tce__field_read(store, prefix, "adam.square", type, net->n_weights, net->square);
    if (status == TCE_OK)
        status = tce__field_read(store, prefix, "adam.steps", TCE_STORE_U64, 1, &net->n_steps);
    net->remembered = 0;
    return status;
}

tce_status tce_net_load(tce_net *net, const tce_store *store, const char *prefix)
{
    tce_status status = tce__check_pointer("net", net);
    if (status == TCE_OK)
        status = tce__check_pointer("store", store);
    if (status == TCE_OK)
        status = tce__net_load_check(net, store, prefix);
    if (status == TCE_OK)
        status = tce__net_load_read(net, store, prefix);
    return status;
}

tce_status tce__net_saved_shape(const tce_store *store, const char *prefix, tce__net_shape *out)
{
    tce_store_array array;
    tce__net_shape shape = { 0 };
    tce_status status = tce__field_read(store, prefix, "activation", TCE_STORE_I32, 1,
                                        &shape.activation);
    if (status == TCE_OK)
        status = find_layer(store, prefix, 0, &array);
    if (status != TCE_OK)
        return status;

    /* the width of every layer that is in the store; load checks that they fit each other */
    shape.precision = array.type == TCE_STORE_F32 ? TCE_NET_FLOAT : TCE_NET_DOUBLE;
    size_t l = 0;
    do {
        if (array.rank != 2 || array.shape[0] > INT32_MAX || array.shape[1] > INT32_MAX)
            return tce_fail(TCE_E_SHAPE,
                            "the weights of %s, layer %zu, are not a matrix of a supported size",
                            prefix, l);
        if (l > TCE__NET_MAX_HIDDEN)
            return tce_fail(TCE_E_SHAPE, "%s has more than %d layers", prefix,
                            TCE__NET_MAX_HIDDEN + 1);
        if (l == 0)
            shape.n_in = (int32_t)array.shape[1];
        else
            shape.hidden[l - 1] = shape.n_out;
        shape.n_out = (int32_t)array.shape[0];
        l++;
    } while (find_layer(store, prefix, l, &array) == TCE_OK);
    shape.n_hidden = (int32_t)l - 1;
    *out = shape;
    return TCE_OK;
}
