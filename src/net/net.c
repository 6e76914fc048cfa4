/*
 * The handle, and the way of a batch through it: chunks, lanes, sums.
 *
 * A batch of n rows becomes C = ceil(n / R) chunks of R rows and min(C, 16) lanes; lane i takes chunks floor(i C / lanes) up to
 * floor((i + 1) C / lanes) in order and adds their parameter gradients up in its own array; then the lanes are added in order. R and the number of lanes
 * depend on n only, so the bytes of every result are the same for any number of threads.
 */
#include <tce/net.h>

#include <math.h>
#include <string.h>

#include "linalg/linalg.h"
#include "net/internal.h"

/* Sizes beyond these are mistakes; below them no product of sizes overflows. */
#define MAX_WIDTH (1 << 20)
#define DEFAULT_WIDTH 128

/* ---- life cycle ----------------------------------------------------------------------------------- */

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
        status = tce__check_positive("gain_hidden", o->gain_hidden);
    if (status == TCE_OK)
        status = tce__check_positive("gain_out", o->gain_out);
    for (int32_t l = 0; status == TCE_OK && o->hidden && l < o->n_hidden; l++)
        status = tce__check_int("hidden width", o->hidden[l], 1, MAX_WIDTH);
    return status;
}

/* rows of a chunk in a batch of n */
static size_t chunk_rows(size_t n)
{
    size_t rows = TCE__NET_MIN_ROWS;
    while (rows < TCE__NET_MAX_ROWS && n > rows * TCE__NET_LANES)
        rows *= 2;
    return rows;
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

tce_status tce__net_plan(const tce_net_options *options, size_t most_rows, tce_net *out)
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
            net.n_parameters += width * (width_of(options, l - 1) + 1);
    }

    /* the largest chunk, and the most lanes, of any batch of at most most_rows */
    net.max_rows = smaller(most_rows, chunk_rows(most_rows));
    net.max_lanes = smaller((most_rows - 1) / TCE__NET_MIN_ROWS + 1, TCE__NET_LANES);
    net.start_size = start_size(options);
    *out = net;
    return TCE_OK;
}

tce_net *tce__net_layout(tce_net *plan, tce__arena *arena)
{
    tce_net *net = tce__arena_take(arena, 1, sizeof *net);
    const size_t size = plan->kernels->size;
    const size_t n = plan->n_parameters;
    const size_t threads = (size_t)tce_pool_threads(plan->pool);

    plan->width = tce__arena_take(arena, plan->n_layers + 1, sizeof(size_t));
    plan->offset = tce__arena_take(arena, plan->n_layers + 1, sizeof(size_t));
    plan->column = tce__arena_take(arena, plan->n_layers + 1, sizeof(size_t));
    plan->parameters = tce__arena_take(arena, n, size);
    plan->gradient = tce__arena_take(arena, n, size);
    plan->moment = tce__arena_take(arena, n, size);
    plan->square = tce__arena_take(arena, n, size);
    plan->lane_loss = tce__arena_doubles(arena, plan->max_lanes);
    plan->memory = tce__arena_take(arena, plan->max_batch * plan->row_size, size);

    /* start and training take turns in this one */
    const size_t lanes = plan->max_lanes * n * size;
    const size_t start = plan->start_size * sizeof(double);
    plan->lanes = tce__arena_take(arena, lanes > start ? lanes : start, 1);

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
        status = tce__net_plan(&opt, SIZE_MAX, &plan);
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

/* ---- chunks and lanes ----------------------------------------------------------------------------- */

/* What a call does with the batch: `work` for each chunk, and the arrays it needs (NULL where not). */
typedef struct job {
    tce_net *net;
    size_t n;
    size_t rows;     /* of a chunk */
    size_t n_chunks;
    size_t n_lanes;
    tce_status (*work)(const struct job *job, size_t lane, size_t begin, size_t end, const tce__net_scratch *scratch);
    const tce__net_input *input;
    tce_net_loss loss;
    void *context;
    const double *d_out; /* [n, n_out] */
    double *out;         /* [n, n_out] */
    double *d_x;         /* [n, n_in] */
} job;

/* element i of an array of the network's reals */
static void *at(const tce_net *net, void *array, size_t i)
{
    return (unsigned char *)array + i * net->kernels->size;
}

static tce_status run_lane(void *context, size_t lane, size_t begin, size_t end, int32_t worker)
{
    const job *j = context;
    const size_t last = (lane + 1) * j->n_chunks / j->n_lanes;
    (void)begin;
    (void)end;

    for (size_t chunk = lane * j->n_chunks / j->n_lanes; chunk < last; chunk++) {
        const size_t row = chunk * j->rows;
        const tce_status status = j->work(j, lane, row, smaller(row + j->rows, j->n), &j->net->scratch[worker]);
        if (status != TCE_OK)
            return status;
    }
    return TCE_OK;
}

/* runs the job; the gradient of a job that has one is what its lanes add up to */
static tce_status run(job *j, int with_gradient)
{
    tce_net *net = j->net;
    j->rows = chunk_rows(j->n);
    j->n_chunks = j->n / j->rows + (j->n % j->rows != 0);
    j->n_lanes = smaller(j->n_chunks, TCE__NET_LANES);

    if (with_gradient)
        memset(net->lanes, 0, j->n_lanes * net->n_parameters * net->kernels->size);
    for (size_t lane = 0; lane < j->n_lanes; lane++)
        net->lane_loss[lane] = 0.0;
    const tce_status status = tce_pool_run(net->pool, j->n_lanes, 1, run_lane, j);
    if (status == TCE_OK && with_gradient)
        net->kernels->sum_parts(j->n_lanes, net->n_parameters, net->lanes, net->gradient);
    return status;
}

/* ---- forward and backward ------------------------------------------------------------------------- */

static tce_status forward_chunk(const job *j, size_t lane, size_t begin, size_t end, const tce__net_scratch *scratch)
{
    const tce_net *net = j->net;
    const tce__net_kernels *k = net->kernels;
    const size_t n = end - begin;
    void *a = at(net, net->memory, begin * net->row_size);
    (void)lane;
    (void)scratch;

    k->load(net->n_in, j->input, begin, end, a);
    k->forward(net, n, a);
    k->to_double(n * net->n_out, at(net, a, n * net->column[net->n_layers]), j->out + begin * net->n_out);
    return TCE_OK;
}

static tce_status backward_chunk(const job *j, size_t lane, size_t begin, size_t end, const tce__net_scratch *scratch)
{
    const tce_net *net = j->net;

    net->kernels->backward(net, end - begin, at(net, net->memory, begin * net->row_size), scratch, j->d_out + begin * net->n_out,
                           at(net, net->lanes, lane * net->n_parameters), j->d_x ? j->d_x + begin * net->n_in : NULL);
    return TCE_OK;
}

tce_status tce_net_forward(tce_net *net, size_t n, const double *x, double *out)
{
    tce_status status = tce__check_pointer("net", net);
    if (status == TCE_OK)
        status = tce__check_pointer("x", x);
    if (status == TCE_OK)
        status = tce__check_pointer("out", out);
    if (status == TCE_OK && n > net->max_batch)
        status = tce_fail(TCE_E_SHAPE, "n = %zu rows, max_batch is %zu", n, net->max_batch);
    if (status != TCE_OK)
        return status;

    const tce__net_input input = { x, NULL, NULL, NULL };
    job j = { .net = net, .n = n, .work = forward_chunk, .input = &input, .out = out };
    net->remembered = n;
    return run(&j, 0);
}

tce_status tce_net_backward(tce_net *net, size_t n, const double *d_out, double *out_d_x)
{
    tce_status status = tce__check_pointer("net", net);
    if (status == TCE_OK)
        status = tce__check_pointer("d_out", d_out);
    if (status == TCE_OK && net->remembered == 0)
        status = tce_fail(TCE_E_STATE, "backward without a forward since the parameters changed");
    if (status == TCE_OK && n != net->remembered)
        status = tce_fail(TCE_E_SHAPE, "n = %zu rows, the last forward had %zu", n, net->remembered);
    if (status != TCE_OK)
        return status;

    job j = { .net = net, .n = n, .work = backward_chunk, .d_out = d_out, .d_x = out_d_x };
    return run(&j, 1);
}

/* ---- everything at once, while a chunk is in the cache -------------------------------------------- */

/* forward of one chunk in the worker's scratch, result in scratch->out */
static void forward_scratch(const job *j, size_t begin, size_t end, const tce__net_scratch *scratch)
{
    const tce_net *net = j->net;
    const tce__net_kernels *k = net->kernels;
    const size_t n = end - begin;

    k->load(net->n_in, j->input, begin, end, scratch->a);
    k->forward(net, n, scratch->a);
    k->to_double(n * net->n_out, at(net, scratch->a, n * net->column[net->n_layers]), scratch->out);
}

static tce_status pass_chunk(const job *j, size_t lane, size_t begin, size_t end, const tce__net_scratch *scratch)
{
    const tce_net *net = j->net;
    double loss = 0.0;

    forward_scratch(j, begin, end, scratch);
    const tce_status status = j->loss(j->context, begin, end, scratch->out, scratch->d_out, &loss);
    if (status != TCE_OK)
        return status;
    net->lane_loss[lane] += loss;
    net->kernels->backward(net, end - begin, scratch->a, scratch, scratch->d_out, at(net, net->lanes, lane * net->n_parameters), NULL);
    return TCE_OK;
}

static tce_status evaluate_chunk(const job *j, size_t lane, size_t begin, size_t end, const tce__net_scratch *scratch)
{
    const size_t n_out = j->net->n_out;
    (void)lane;

    forward_scratch(j, begin, end, scratch);
    memcpy(j->out + begin * n_out, scratch->out, (end - begin) * n_out * sizeof *j->out);
    return TCE_OK;
}

static tce_status pass(tce_net *net, size_t n, const tce__net_input *input, tce_net_loss loss, void *context, double *out_loss)
{
    job j = { .net = net, .n = n, .work = pass_chunk, .input = input, .loss = loss, .context = context };
    const tce_status status = run(&j, 1);
    if (status != TCE_OK)
        return status;

    double total = 0.0;
    for (size_t lane = 0; lane < j.n_lanes; lane++)
        total += net->lane_loss[lane];
    if (out_loss)
        *out_loss = total;
    return TCE_OK;
}

tce_status tce__net_evaluate(tce_net *net, size_t n, const tce__net_input *input, double *out)
{
    job j = { .net = net, .n = n, .work = evaluate_chunk, .input = input, .out = out };
    return run(&j, 0);
}

tce_status tce_net_pass(tce_net *net, size_t n, const double *x, const uint32_t *rows, tce_net_loss loss, void *context,
                        double *out_loss)
{
    tce_status status = tce__check_pointer("net", net);
    if (status == TCE_OK)
        status = tce__check_pointer("x", x);
    if (status == TCE_OK && !loss)
        status = tce_fail(TCE_E_ARGUMENT, "loss is NULL");
    if (status != TCE_OK)
        return status;

    const tce__net_input input = { x, rows, NULL, NULL };
    return pass(net, n, &input, loss, context, out_loss);
}

/* target [*, n_out], rows as in the input, 1/(n n_out) */
typedef struct squares {
    const double *target;
    const uint32_t *rows;
    size_t n_out;
    double weight;
} squares;

/* l = 1/(n n_out) sum (out - target)^2 */
static tce_status squares_loss(void *context, size_t begin, size_t end, const double *out, double *d_out, double *loss)
{
    const squares *s = context;
    double sum = 0.0;

    for (size_t i = begin; i < end; i++) {
        const double *target = s->target + s->n_out * (s->rows ? s->rows[i] : i);
        for (size_t c = 0; c < s->n_out; c++) {
            const size_t at_out = (i - begin) * s->n_out + c;
            const double error = out[at_out] - target[c];
            sum += error * error;
            d_out[at_out] = 2.0 * s->weight * error;
        }
    }
    *loss += s->weight * sum;
    return TCE_OK;
}

tce_status tce__net_pass_mse(tce_net *net, size_t n, const tce__net_input *input, const double *target, double *out_loss)
{
    squares s = { target, input->rows, net->n_out, n > 0 ? 1.0 / ((double)n * (double)net->n_out) : 0.0 };
    return pass(net, n, input, squares_loss, &s, out_loss);
}

tce_status tce_net_pass_mse(tce_net *net, size_t n, const double *x, const double *target, const uint32_t *rows, double *out_loss)
{
    tce_status status = tce__check_pointer("net", net);
    if (status == TCE_OK)
        status = tce__check_pointer("x", x);
    if (status == TCE_OK)
        status = tce__check_pointer("target", target);
    if (status != TCE_OK)
        return status;

    const tce__net_input input = { x, rows, NULL, NULL };
    return tce__net_pass_mse(net, n, &input, target, out_loss);
}

/* ---- parameters and gradient ---------------------------------------------------------------------- */

size_t tce_net_num_parameters(const tce_net *net)
{
    return net ? net->n_parameters : 0;
}

void tce_net_get_parameters(const tce_net *net, double *out)
{
    if (net && out)
        net->kernels->to_double(net->n_parameters, net->parameters, out);
}

tce_status tce__net_check_parameters(const tce_net *net, const char *name, const double *x)
{
    for (size_t i = 0; i < net->n_parameters; i++)
        if (!(fabs(x[i]) <= net->kernels->largest))
            return tce_fail(TCE_E_VALUE, "%s[%zu] = %g, must be finite and at most %g", name, i, x[i], net->kernels->largest);
    return TCE_OK;
}

void tce__net_set_parameters(tce_net *net, const double *x)
{
    net->kernels->from_double(net->n_parameters, x, net->parameters);
    net->remembered = 0;
}

tce_status tce_net_set_parameters(tce_net *net, const double *parameters)
{
    tce_status status = tce__check_pointer("net", net);
    if (status == TCE_OK)
        status = tce__check_pointer("parameters", parameters);
    if (status == TCE_OK)
        status = tce__net_check_parameters(net, "parameters", parameters);
    if (status == TCE_OK)
        tce__net_set_parameters(net, parameters);
    return status;
}

void tce_net_get_gradient(const tce_net *net, double *out)
{
    if (net && out)
        net->kernels->to_double(net->n_parameters, net->gradient, out);
}
