/*
 * The handle of a network: options, sizes, the layout of its block, its weights as one vector.
 */
#include <tce/net.h>

#include <math.h>

#include "linalg/linalg.h"
#include "net/internal.h"

/* Sizes beyond these are mistakes; below them no product of sizes overflows. */
#define MAX_WIDTH (1 << 20)
#define DEFAULT_WIDTH 128

/* ---- life cycle ------------------------------------------------------------------------------ */

void tce_net_options_init(tce_net_options *options, size_t struct_size)
{
    const tce_net_options defaults = {
        .n_in = 1,
        .n_out = 1,
        .n_hidden = 2,
        .activation = TCE_NET_LEAKY_RELU,
        .precision = TCE_NET_FLOAT,
        .start = TCE_NET_ORTHOGONAL,
        .max_batch = 1,
        .gain_hidden = sqrt(2.0),
        .gain_out = 1.0,
    };
    tce__struct_init(options, struct_size, &defaults, sizeof defaults);
}

/* width of layer l = 0 ... n_hidden + 1, inputs and outputs included */
static size_t width_of(const tce_net_options *o, size_t l)
{
    if (l == 0)
        return (size_t)o->n_in;
    if (l > (size_t)o->n_hidden)
        return (size_t)o->n_out;
    return o->hidden ? (size_t)o->hidden[l - 1] : DEFAULT_WIDTH;
}

static tce_status check_options(const tce_net_options *o)
{
    tce_status status = tce__check_int("n_in", o->n_in, 1, MAX_WIDTH);
    if (status == TCE_OK)
        status = tce__check_int("n_out", o->n_out, 1, MAX_WIDTH);
    if (status == TCE_OK)
        status = tce__check_int("n_hidden", o->n_hidden, 0, TCE__NET_MAX_HIDDEN);
    if (status == TCE_OK)
        status = tce__check_int("activation", o->activation, TCE_NET_RELU, TCE_NET_LINEAR);
    if (status == TCE_OK)
        status = tce__check_int("precision", o->precision, TCE_NET_FLOAT, TCE_NET_DOUBLE);
    if (status == TCE_OK)
        status = tce__check_int("start", o->start, TCE_NET_ORTHOGONAL, TCE_NET_FAN_IN);
    if (status == TCE_OK)
        status = tce__check_int("max_batch", o->max_batch, 1, INT32_MAX);
    if (status == TCE_OK)
        status = tce__check_int("max_pass", o->max_pass, 0, INT32_MAX);
    if (status == TCE_OK)
        status = tce__check_positive("gain_hidden", o->gain_hidden);
    if (status == TCE_OK)
        status = tce__check_positive("gain_out", o->gain_out);
    for (int32_t l = 0; status == TCE_OK && o->hidden && l < o->n_hidden; l++)
        status = tce__check_int("hidden width", o->hidden[l], 1, MAX_WIDTH);
    return status;
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* doubles that start needs: the largest weight matrix and the work of its factorisation */
static size_t start_size(const tce_net_options *o)
{
    size_t most = 0;
    for (size_t l = 0; l <= (size_t)o->n_hidden; l++) {
        const size_t in = width_of(o, l);
        const size_t out = width_of(o, l + 1);
        const size_t size = in * out + tce__orthogonal_work(in > out ? in : out, smaller(in, out));
        most = size > most ? size : most;
    }
    return most;
}

tce_status tce__net_plan(const tce_net_options *options, tce_net *out)
{
    const tce_status status = check_options(options);
    if (status != TCE_OK)
        return status;

    tce_net net = {
        .pool = options->pool,
        .kernels = options->precision == TCE_NET_FLOAT ? &tce__net_float : &tce__net_double,
        .n_layers = (size_t)options->n_hidden + 1,
        .n_in = (size_t)options->n_in,
        .n_out = (size_t)options->n_out,
        .max_batch = (size_t)options->max_batch,
        .max_pass = options->max_pass > 0 ? (size_t)options->max_pass : SIZE_MAX,
        .activation = options->activation,
        .start = options->start,
        .gain_hidden = options->gain_hidden,
        .gain_out = options->gain_out,
    };
    for (size_t l = 0; l <= net.n_layers; l++) {
        const size_t width = width_of(options, l);
        net.row_size += width;
        net.max_width = width > net.max_width ? width : net.max_width;
        if (l > 0)
            net.n_weights += width * (width_of(options, l - 1) + 1);
    }

    /*
     * the largest chunk and the most parts of any batch; start and training take turns in `parts`
     */
    const size_t max_rows = net.max_pass > net.max_batch ? net.max_pass : net.max_batch;
    net.max_rows = smaller(max_rows, TCE__NET_CHUNK_ROWS);
    net.max_parts = tce__parts_count(max_rows);
    const size_t room = net.max_parts > 1 ? tce__parts_room(net.pool, net.max_parts) : 0;
    const size_t parts = room * net.n_weights * net.kernels->size;
    const size_t start = start_size(options) * sizeof(double);
    net.parts_size = parts > start ? parts : start;
    *out = net;
    return TCE_OK;
}

tce_net *tce__net_layout(tce_net *plan, tce__arena *arena)
{
    tce_net *net = tce__arena_take(arena, 1, sizeof *net);
    const size_t size = plan->kernels->size;
    const size_t n = plan->n_weights;
    const size_t threads = (size_t)tce_pool_n_threads(plan->pool);

    plan->width = tce__arena_take(arena, plan->n_layers + 1, sizeof(size_t));
    plan->offset = tce__arena_take(arena, plan->n_layers + 1, sizeof(size_t));
    plan->column = tce__arena_take(arena, plan->n_layers + 1, sizeof(size_t));
    plan->weights = tce__arena_take(arena, n, size);
    plan->gradient = tce__arena_take(arena, n, size);
    plan->spare = tce__arena_take(arena, n, size);
    plan->moment = tce__arena_take(arena, n, size);
    plan->square = tce__arena_take(arena, n, size);
    plan->part_sums = tce__arena_doubles(arena, plan->max_parts * TCE_NET_MAX_SUMS);
    plan->memory = tce__arena_take(arena, plan->max_batch * plan->row_size, size);
    plan->parts = tce__arena_take(arena, plan->parts_size, 1);
    plan->scratch = tce__arena_take(arena, threads, sizeof *plan->scratch);
    for (size_t i = 0; i < threads; i++) {
        tce__net_scratch s;
        s.a = tce__arena_take(arena, plan->max_rows * plan->row_size, size);
        s.delta[0] = tce__arena_take(arena, plan->max_rows * plan->max_width, size);
        s.delta[1] = tce__arena_take(arena, plan->max_rows * plan->max_width, size);
        s.sums = tce__arena_take(arena, plan->max_width, size);
        s.out = tce__arena_doubles(arena, plan->max_rows * plan->n_out);
        s.d_out = tce__arena_doubles(arena, plan->max_rows * plan->n_out);
        if (plan->scratch)
            plan->scratch[i] = s;
    }
    return net;
}

void tce__net_place(const tce_net_options *options, const tce_net *plan, tce_net *out)
{
    *out = *plan;
    size_t column = 0;
    size_t offset = 0;
    for (size_t l = 0; l <= out->n_layers; l++) {
        out->width[l] = width_of(options, l);
        out->column[l] = column;
        out->offset[l] = offset;
        column += out->width[l];
        offset += width_of(options, l + 1) * (out->width[l] + 1);
    }
}

tce_status tce_net_create(const tce_net_options *options, const tce_hooks *hooks, tce_net **out)
{
    tce_status status = tce__check_pointer("out", out);
    if (status != TCE_OK)
        return status;
    *out = NULL;

    tce_net_options opt;
    tce_net plan;
    tce_net_options_init(&opt, sizeof opt);
    status = tce__struct_read(options, "tce_net_options", sizeof opt, &opt);
    if (status == TCE_OK)
        status = tce__net_plan(&opt, &plan);
    if (status != TCE_OK)
        return status;

    tce__arena arena = { NULL, 0 };
    tce__net_layout(&plan, &arena);
    status = tce__block_create(hooks, "tce_net", &arena, &plan.hooks);
    if (status != TCE_OK)
        return status;
    *out = tce__net_layout(&plan, &arena);
    tce__net_place(&opt, &plan, *out);
    return TCE_OK;
}

void tce_net_free(tce_net *net)
{
    if (net)
        tce__block_free(&net->hooks, net);
}

/* ---- weights and gradient -------------------------------------------------------------------- */

size_t tce_net_n_weights(const tce_net *net)
{
    return net ? net->n_weights : 0;
}

void tce_net_get_weights(const tce_net *net, double *out)
{
    if (net && out)
        net->kernels->to_double(net->n_weights, net->weights, out);
}

tce_status tce__net_check_weights(const tce_net *net, const char *name, const double *x)
{
    for (size_t i = 0; i < net->n_weights; i++)
        if (!(fabs(x[i]) <= net->kernels->largest))
            return tce_fail(TCE_E_VALUE, "%s[%zu] = %g, must be finite and at most %g", name, i,
                            x[i], net->kernels->largest);
    return TCE_OK;
}

void tce__net_set_weights(tce_net *net, const double *x)
{
    net->kernels->from_double(net->n_weights, x, net->weights);
    net->remembered = 0;
}

tce_status tce_net_set_weights(tce_net *net, const double *weights)
{
    tce_status status = tce__check_pointer("net", net);
    if (status == TCE_OK)
        status = tce__check_pointer("weights", weights);
    if (status == TCE_OK)
        status = tce__net_check_weights(net, "weights", weights);
    if (status == TCE_OK)
        tce__net_set_weights(net, weights);
    return status;
}

void tce_net_get_gradient(const tce_net *net, double *out)
{
    if (net && out)
        net->kernels->to_double(net->n_weights, net->gradient, out);
}

static tce_status check_same_shape(const tce_net *net, const tce_net *other)
{
    int same = net->n_layers == other->n_layers && net->kernels == other->kernels;

    for (size_t l = 0; same && l <= net->n_layers; l++)
        same = net->width[l] == other->width[l];
    if (!same)
        return tce_fail(TCE_E_SHAPE, "other has different layers or another precision than net: "
                                     "only networks of the same shape can be averaged");
    return TCE_OK;
}

tce_status tce_net_average(tce_net *net, const tce_net *other, double share)
{
    tce_status status = tce__check_pointer("net", net);
    if (status == TCE_OK)
        status = tce__check_pointer("other", other);
    if (status == TCE_OK && !(share >= 0.0 && share <= 1.0))
        status = tce_fail(TCE_E_VALUE, "share = %g, must be in 0 ... 1", share);
    if (status == TCE_OK)
        status = check_same_shape(net, other);
    if (status != TCE_OK || net == other)
        return status;
    net->kernels->average(net->n_weights, share, other->weights, net->weights);
    net->remembered = 0;
    return TCE_OK;
}
