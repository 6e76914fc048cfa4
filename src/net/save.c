/*
 * A network's state in a store: "<prefix>.layers.<l>.weight" [out, in] and ".bias" [out] for l = 0
 * ..., "<prefix>.adam.moment" and ".adam.square" [n_parameters], "<prefix>.adam.steps",
 * "<prefix>.activation"; reals in the network's precision.
 */
#include <tce/net.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "net/internal.h"

#define SHAPE_TEXT_SIZE 64

/* ---- fields ---------------------------------------------------------------------------------- */

tce_status tce__field_name(const char *prefix, const char *name, char *out)
{
    if (!prefix)
        return tce_fail(TCE_E_ARGUMENT, "prefix is NULL");
    const int length = snprintf(out, TCE__FIELD_NAME_SIZE, "%s.%s", prefix, name);
    if (length < 0 || length >= TCE__FIELD_NAME_SIZE)
        return tce_fail(TCE_E_VALUE,
                        "prefix has %zu characters, too long for a name of %d with .%s",
                        strlen(prefix), TCE__FIELD_NAME_SIZE - 1, name);
    return TCE_OK;
}

/* columns 0: a vector */
tce_status tce__field_put(tce_store *store, const char *prefix, const char *name, int32_t type,
                          size_t rows, size_t columns, const void *data)
{
    char full[TCE__FIELD_NAME_SIZE];
    const size_t shape[2] = { rows, columns };
    const tce_status status = tce__field_name(prefix, name, full);
    if (status != TCE_OK)
        return status;
    return tce_store_put(store, full, type, columns > 0 ? 2 : 1, shape, data);
}

/* element i of a float or double array that need not be aligned */
static double element(const tce_store_array *array, size_t i)
{
    if (array->type == TCE_STORE_F32) {
        float x;
        memcpy(&x, (const unsigned char *)array->data + i * sizeof x, sizeof x);
        return x;
    }
    double x;
    memcpy(&x, (const unsigned char *)array->data + i * sizeof x, sizeof x);
    return x;
}

/* "[64, 9]"; beyond two sizes dots. Returns out. */
static const char *shape_text(int32_t rank, const size_t *shape, char out[SHAPE_TEXT_SIZE])
{
    size_t used = 0;
    for (int32_t i = 0; i < rank && i < 2; i++)
        used += (size_t)snprintf(out + used, SHAPE_TEXT_SIZE - used, "%s%zu", i ? ", " : "[",
                                 shape[i]);
    snprintf(out + used, SHAPE_TEXT_SIZE - used, "%s]", rank == 0 ? "[" : rank > 2 ? ", ..." : "");
    return out;
}

static tce_status fail_shape(const char *name, const tce_store_array *array, int32_t rank,
                             size_t rows, size_t columns)
{
    const size_t shape[2] = { rows, columns };
    char is[SHAPE_TEXT_SIZE];
    char must_be[SHAPE_TEXT_SIZE];
    return tce_fail(TCE_E_SHAPE, "%s has shape %s, must be %s", name,
                    shape_text(array->rank, array->shape, is), shape_text(rank, shape, must_be));
}

tce_status tce__field_check(const tce_store *store, const char *prefix, const char *name,
                            size_t rows, size_t columns, double least, double most)
{
    char full[TCE__FIELD_NAME_SIZE];
    tce_store_array array = TCE_INIT(tce_store_array);
    tce_status status = tce__field_name(prefix, name, full);
    if (status == TCE_OK)
        status = tce_store_get(store, full, &array);
    if (status != TCE_OK)
        return status;

    /* kind and shape */
    const int32_t rank = columns > 0 ? 2 : 1;
    if (array.type != TCE_STORE_F32 && array.type != TCE_STORE_F64)
        return tce_fail(TCE_E_VALUE, "%s is neither float nor double", full);
    if (array.rank != rank || array.shape[0] != rows || (rank == 2 && array.shape[1] != columns))
        return fail_shape(full, &array, rank, rows, columns);

    /* numbers */
    const size_t n = rows * (columns > 0 ? columns : 1);
    for (size_t i = 0; i < n; i++) {
        const double x = element(&array, i);
        if (!(x >= least && x <= most))
            return tce_fail(TCE_E_VALUE, "%s[%zu] = %g, must be in %g ... %g", full, i, x, least,
                            most);
    }
    return TCE_OK;
}

tce_status tce__field_read(const tce_store *store, const char *prefix, const char *name,
                           int32_t type, size_t n, void *out)
{
    char full[TCE__FIELD_NAME_SIZE];
    const tce_status status = tce__field_name(prefix, name, full);
    if (status != TCE_OK)
        return status;
    return tce_store_read(store, full, type, n, out);
}

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
    return (unsigned char *)net->parameters + net->offset[l] * net->kernels->size;
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
        status = tce__field_put(store, prefix, "adam.moment", type, net->n_parameters, 0,
                                net->moment);
    if (status == TCE_OK)
        status = tce__field_put(store, prefix, "adam.square", type, net->n_parameters, 0,
                                net->square);
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
        status = tce__field_check(store, prefix, "adam.moment", net->n_parameters, 0, -most, most);
    if (status == TCE_OK)
        status = tce__field_check(store, prefix, "adam.square", net->n_parameters, 0, 0.0, most);
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
        status = tce__field_read(store, prefix, "adam.moment", type, net->n_parameters,
                                 net->moment);
    if (status == TCE_OK)
        status = tce__field_read(store, prefix, "adam.square", type, net->n_parameters,
                                 net->square);
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

    /* widths, layer by layer until there is none; load checks that they fit each other */
    shape.precision = array.type == TCE_STORE_F32 ? TCE_NET_FLOAT : TCE_NET_DOUBLE;
    size_t l = 0;
    do {
        if (array.rank != 2 || array.shape[0] > INT32_MAX || array.shape[1] > INT32_MAX)
            return tce_fail(TCE_E_SHAPE,
                            "the weights of %s, layer %zu, are not a matrix of usual size", prefix,
                            l);
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
