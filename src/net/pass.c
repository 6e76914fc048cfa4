/*
 * The way of a batch through a network: chunks, lanes, sums.
 *
 * A batch of n rows becomes C = ceil(n / R) chunks of R rows and M = min(C, 16) lanes; lane i takes
 * chunks floor(i C / M) up to floor((i + 1) C / M) in order and adds their parameter gradients up
 * in its own array; then the lanes are added in order. R and M depend on n only, so the bytes of
 * every result are the same for any number of threads.
 */
#include <tce/net.h>

#include <string.h>

#include "net/internal.h"

/* ---- chunks and lanes ------------------------------------------------------------------------ */

size_t tce__net_chunk_rows(size_t n)
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

/*
 * What a call does with the batch: `work` for each chunk, and the arrays it needs (NULL where not).
 */
typedef struct job {
    tce_net *net;
    size_t n;
    size_t rows; /* of a chunk */
    size_t n_chunks;
    size_t n_lanes;
    int with_gradient;
    tce_status (*work)(const struct job *job, size_t lane, size_t begin, size_t end,
                       const tce__net_scratch *scratch);
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

    /* cleared by the worker that adds to it, which then has it in its cache */
    if (j->with_gradient)
        memset(at(j->net, j->net->lanes, lane * j->net->n_parameters), 0,
               j->net->n_parameters * j->net->kernels->size);
    j->net->lane_loss[lane] = 0.0;

    for (size_t chunk = lane * j->n_chunks / j->n_lanes; chunk < last; chunk++) {
        const size_t row = chunk * j->rows;
        const tce_status status = j->work(j, lane, row, smaller(row + j->rows, j->n),
                                          &j->net->scratch[worker]);
        if (status != TCE_OK)
            return status;
    }
    return TCE_OK;
}

/* runs the job; the gradient of a job that has one is what its lanes add up to */
static tce_status run(job *j, int with_gradient)
{
    tce_net *net = j->net;
    j->rows = tce__net_chunk_rows(j->n);
    j->n_chunks = j->n / j->rows + (j->n % j->rows != 0);
    j->n_lanes = smaller(j->n_chunks, TCE__NET_LANES);
    j->with_gradient = with_gradient;

    const tce_status status = tce_pool_run(net->pool, j->n_lanes, 1, run_lane, j);
    if (status == TCE_OK && with_gradient)
        net->kernels->sum_parts(j->n_lanes, net->n_parameters, net->lanes, net->gradient);
    return status;
}

/* ---- forward and backward -------------------------------------------------------------------- */

static tce_status forward_chunk(const job *j, size_t lane, size_t begin, size_t end,
                                const tce__net_scratch *scratch)
{
    const tce_net *net = j->net;
    const tce__net_kernels *k = net->kernels;
    const size_t n = end - begin;
    void *a = at(net, net->memory, begin * net->row_size);
    (void)lane;
    (void)scratch;

    k->load(net->n_in, j->input, begin, end, a);
    k->forward(net, n, a);
    k->to_double(n * net->n_out, at(net, a, n * net->column[net->n_layers]),
                 j->out + begin * net->n_out);
    return TCE_OK;
}

static tce_status backward_chunk(const job *j, size_t lane, size_t begin, size_t end,
                                 const tce__net_scratch *scratch)
{
    const tce_net *net = j->net;

    net->kernels->backward(net, end - begin, at(net, net->memory, begin * net->row_size), scratch,
                           j->d_out + begin * net->n_out,
                           at(net, net->lanes, lane * net->n_parameters),
                           j->d_x ? j->d_x + begin * net->n_in : NULL);
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
        status = tce_fail(TCE_E_SHAPE, "n = %zu rows, the last forward had %zu", n,
                          net->remembered);
    if (status != TCE_OK)
        return status;

    job j = { .net = net, .n = n, .work = backward_chunk, .d_out = d_out, .d_x = out_d_x };
    return run(&j, 1);
}

/* ---- everything at once, while a chunk is in the cache --------------------------------------- */

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

static tce_status pass_chunk(const job *j, size_t lane, size_t begin, size_t end,
                             const tce__net_scratch *scratch)
{
    const tce_net *net = j->net;
    double loss = 0.0;

    forward_scratch(j, begin, end, scratch);
    const tce_status status = j->loss(j->context, begin, end, scratch->out, scratch->d_out, &loss);
    if (status != TCE_OK)
        return status;
    net->lane_loss[lane] += loss;
    net->kernels->backward(net, end - begin, scratch->a, scratch, scratch->d_out,
                           at(net, net->lanes, lane * net->n_parameters), NULL);
    return TCE_OK;
}

static tce_status evaluate_chunk(const job *j, size_t lane, size_t begin, size_t end,
                                 const tce__net_scratch *scratch)
{
    const size_t n_out = j->net->n_out;
    (void)lane;

    forward_scratch(j, begin, end, scratch);
    memcpy(j->out + begin * n_out, scratch->out, (end - begin) * n_out * sizeof *j->out);
    return TCE_OK;
}

static tce_status pass(tce_net *net, size_t n, const tce__net_input *input, tce_net_loss loss,
                       void *context, double *out_loss)
{
    job j = {
        .net = net, .n = n, .work = pass_chunk, .input = input, .loss = loss, .context = context
    };
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

tce_status tce_net_pass(tce_net *net, size_t n, const double *x, const uint32_t *rows,
                        tce_net_loss loss, void *context, double *out_loss)
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
static tce_status squares_loss(void *context, size_t begin, size_t end, const double *out,
                               double *d_out, double *loss)
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

tce_status tce__net_pass_mse(tce_net *net, size_t n, const tce__net_input *input,
                             const double *target, double *out_loss)
{
    squares s = { target, input->rows, net->n_out,
                  n > 0 ? 1.0 / ((double)n * (double)net->n_out) : 0.0 };
    return pass(net, n, input, squares_loss, &s, out_loss);
}

tce_status tce_net_pass_mse(tce_net *net, size_t n, const double *x, const double *target,
                            const uint32_t *rows, double *out_loss)
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
