/*
 * How a batch goes through a network: parts, chunks, sums.
 *
 * The rows of a batch are cut into parts, a part into chunks of at most TCE__NET_CHUNK_ROWS rows. A
 * part adds the gradients of its chunks up in its own array, in order; then the parts are added by
 * a binary tree. All of it depends on the number of rows only, so the bytes of every result are the
 * same for any number of threads, and of ranks, each of which computes some of the parts.
 */
#include <tce/net.h>

#include <string.h>

#include "net/internal.h"

/* ---- parts and chunks ------------------------------------------------------------------------ */

/*
 * What a call does with the batch: `work` for each chunk, and the arrays it needs, NULL where not.
 */
typedef struct job {
    const tce_net *net;
    size_t n;
    tce__parts parts;
    size_t n_sums;
    void *gradients; /* [n_parts, n_weights] of a job that has a gradient */
    tce_status (*work)(const struct job *job, size_t part, size_t begin, size_t end,
                       int32_t worker);
    tce__net_input input;
    tce_net_loss loss;
    void *context;
    const double *d_out; /* [n, n_out] */
    double *work_space;  /* of evaluate */
    double *out;         /* [n, n_out] */
    double *d_x;         /* [n, n_in] */
} job;

/* element i of an array of the network's reals */
static void *at(const tce_net *net, void *array, size_t i)
{
    return (unsigned char *)array + i * net->kernels->size;
}

/* the gradient that a part adds up */
static void *gradient_of(const job *j, size_t part)
{
    return at(j->net, j->gradients, part * j->net->n_weights);
}

static tce_status run_part(void *context, size_t part, size_t begin, size_t end, int32_t worker)
{
    const job *j = context;
    const size_t first = tce__parts_begin(j->n, j->parts.n, part);
    const size_t n = tce__parts_begin(j->n, j->parts.n, part + 1) - first;
    const size_t n_chunks = (n + TCE__NET_CHUNK_ROWS - 1) / TCE__NET_CHUNK_ROWS;
    (void)begin;
    (void)end;

    /* cleared by the worker that adds to them, which then has them in its cache */
    if (j->gradients)
        memset(gradient_of(j, part), 0, j->net->n_weights * j->net->kernels->size);
    for (size_t i = 0; i < j->n_sums; i++)
        j->net->part_sums[part * j->n_sums + i] = 0.0;

    for (size_t chunk = 0; chunk < n_chunks; chunk++) {
        const tce_status status = j->work(j, part, first + tce__parts_begin(n, n_chunks, chunk),
                                          first + tce__parts_begin(n, n_chunks, chunk + 1), worker);
        if (status != TCE_OK)
            return status;
    }
    return TCE_OK;
}

static tce_status run(job *j)
{
    j->parts = tce__parts_of(j->net->pool, j->n, j->net->n_weights);
    return tce__parts_run(&j->parts, run_part, j);
}

/* The same, and then rows [n, width] of what it wrote are those of all ranks. */
static tce_status run_for_rows(job *j, size_t width, double *rows)
{
    const tce_status status = run(j);
    return status == TCE_OK ? tce__parts_rows(&j->parts, width * sizeof *rows, rows) : status;
}

/*
 * The same with a gradient, which is what its parts add up to. One part alone adds up in the spare
 * array, which then becomes the gradient.
 */
static tce_status run_with_gradient(tce_net *net, job *j)
{
    const int alone = tce__parts_count(j->n) == 1;
    j->gradients = alone ? net->spare : net->parts;

    const tce_status status = run(j);
    if (status != TCE_OK)
        return status;
    if (alone) {
        net->spare = net->gradient;
        net->gradient = j->gradients;
        return TCE_OK;
    }
    return net->kernels->sum_parts(&j->parts, net->n_weights, net->parts, net->gradient);
}

/* ---- forward and backward -------------------------------------------------------------------- */

static tce_status forward_chunk(const job *j, size_t part, size_t begin, size_t end, int32_t worker)
{
    const tce_net *net = j->net;
    const tce__net_kernels *k = net->kernels;
    const size_t n = end - begin;
    void *a = at(net, net->memory, begin * net->row_size);
    (void)part;
    (void)worker;

    k->load(net->n_in, &j->input, begin, end, a);
    k->forward(net, n, a);
    k->to_double(n * net->n_out, at(net, a, n * net->column[net->n_layers]),
                 j->out + begin * net->n_out);
    return TCE_OK;
}

static tce_status hidden_chunk(const job *j, size_t part, size_t begin, size_t end, int32_t worker)
{
    const tce_net *net = j->net;
    const size_t n = end - begin;
    const size_t last = net->n_layers - 1;
    void *a = at(net, net->memory, begin * net->row_size);
    (void)part;
    (void)worker;

    net->kernels->to_double(n * net->width[last], at(net, a, n * net->column[last]),
                            j->out + begin * net->width[last]);
    return TCE_OK;
}

static tce_status backward_chunk(const job *j, size_t part, size_t begin, size_t end,
                                 int32_t worker)
{
    const tce_net *net = j->net;

    net->kernels->backward(net, end - begin, at(net, net->memory, begin * net->row_size),
                           &net->scratch[worker], j->d_out + begin * net->n_out,
                           j->gradients ? gradient_of(j, part) : NULL,
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

    job j = { .net = net, .n = n, .work = forward_chunk, .input = { x, NULL }, .out = out };
    net->remembered = n;
    status = run_for_rows(&j, net->n_out, out);
    net->remembered_split = j.parts.ranks != NULL;
    return status;
}

/* Whether there is a forward of n rows to stand on. */
static tce_status check_remembered(const tce_net *net, size_t n, const char *what)
{
    if (net->remembered == 0)
        return tce_fail(TCE_E_STATE, "%s without a forward since the weights changed", what);
    if (n != net->remembered)
        return tce_fail(TCE_E_SHAPE, "n = %zu rows, the last forward had %zu", n, net->remembered);
    if (net->remembered_split != (tce__parts_of(net->pool, n, net->n_weights).ranks != NULL))
        return tce_fail(TCE_E_STATE,
                        "%s is inside an item of a pool and its forward was outside, or the other "
                        "way round: each rank only has the activations of its own rows",
                        what);
    return TCE_OK;
}

tce_status tce_net_hidden(const tce_net *net, size_t n, double *out)
{
    tce_status status = tce__check_pointer("net", net);
    if (status == TCE_OK)
        status = tce__check_pointer("out", out);
    if (status == TCE_OK)
        status = check_remembered(net, n, "hidden");
    if (status != TCE_OK)
        return status;

    job j = { .net = net, .n = n, .work = hidden_chunk, .out = out };
    return run_for_rows(&j, net->width[net->n_layers - 1], out);
}

tce_status tce_net_backward(tce_net *net, size_t n, const double *d_out, double *out_d_x)
{
    tce_status status = tce__check_pointer("net", net);
    if (status == TCE_OK)
        status = tce__check_pointer("d_out", d_out);
    if (status == TCE_OK)
        status = check_remembered(net, n, "backward");
    if (status != TCE_OK)
        return status;

    job j = { .net = net, .n = n, .work = backward_chunk, .d_out = d_out, .d_x = out_d_x };
    status = run_with_gradient(net, &j);
    if (status == TCE_OK && out_d_x)
        status = tce__parts_rows(&j.parts, net->n_in * sizeof *out_d_x, out_d_x);
    return status;
}

tce_status tce_net_backward_input(tce_net *net, size_t n, const double *d_out, double *out_d_x)
{
    tce_status status = tce__check_pointer("net", net);
    if (status == TCE_OK)
        status = tce__check_pointer("d_out", d_out);
    if (status == TCE_OK)
        status = tce__check_pointer("out_d_x", out_d_x);
    if (status == TCE_OK)
        status = check_remembered(net, n, "backward_input");
    if (status != TCE_OK)
        return status;

    job j = { .net = net, .n = n, .work = backward_chunk, .d_out = d_out, .d_x = out_d_x };
    return run_for_rows(&j, net->n_in, out_d_x);
}

/* ---- outputs alone --------------------------------------------------------------------------- */

/* doubles that hold one of the two arrays of a worker, for batches of n rows */
static size_t evaluate_array(const tce_net *net, size_t n)
{
    const size_t rows = n < TCE__NET_CHUNK_ROWS ? n : TCE__NET_CHUNK_ROWS;
    const size_t bytes = rows * net->max_width * net->kernels->size;
    return (bytes + sizeof(double) - 1) / sizeof(double);
}

size_t tce_net_work_size(const tce_net *net, size_t n)
{
    return net ? 2 * (size_t)tce_pool_n_threads(net->pool) * evaluate_array(net, n) : 0;
}

static tce_status evaluate_chunk(const job *j, size_t part, size_t begin, size_t end,
                                 int32_t worker)
{
    const tce_net *net = j->net;
    const tce__net_kernels *k = net->kernels;
    const size_t size = evaluate_array(net, j->n);
    double *a = j->work_space + 2 * (size_t)worker * size;
    (void)part;

    k->load(net->n_in, &j->input, begin, end, a);
    k->to_double((end - begin) * net->n_out, k->evaluate(net, end - begin, a, a + size),
                 j->out + begin * net->n_out);
    return TCE_OK;
}

tce_status tce_net_evaluate(const tce_net *net, size_t n, const double *x, double *work,
                            double *out)
{
    tce_status status = tce__check_pointer("net", net);
    if (status == TCE_OK)
        status = tce__check_pointer("x", x);
    if (status == TCE_OK)
        status = tce__check_pointer("work", work);
    if (status == TCE_OK)
        status = tce__check_pointer("out", out);
    if (status != TCE_OK)
        return status;

    job j = { .net = net,
              .n = n,
              .work = evaluate_chunk,
              .input = { x, NULL },
              .work_space = work,
              .out = out };
    return run_for_rows(&j, net->n_out, out);
}

/* ---- everything at once, while a chunk is in the cache --------------------------------------- */

static tce_status pass_chunk(const job *j, size_t part, size_t begin, size_t end, int32_t worker)
{
    const tce_net *net = j->net;
    const tce__net_kernels *k = net->kernels;
    const tce__net_scratch *scratch = &net->scratch[worker];
    const size_t n = end - begin;

    k->load(net->n_in, &j->input, begin, end, scratch->a);
    k->forward(net, n, scratch->a);
    k->to_double(n * net->n_out, at(net, scratch->a, n * net->column[net->n_layers]), scratch->out);
    const uint64_t before = tce__n_failures();
    tce_status status = j->loss(j->context, begin, end, scratch->out, scratch->d_out,
                                net->part_sums + part * j->n_sums);
    status = tce__returned(status, before, "the loss", "rows", begin, end);
    if (status == TCE_OK)
        k->backward(net, n, scratch->a, scratch, scratch->d_out, gradient_of(j, part), NULL);
    return status;
}

/* checks are the callers' */
static tce_status pass(tce_net *net, size_t n, tce__net_input input, tce_net_loss loss,
                       void *context, size_t n_sums, double *out_sums)
{
    job j = { .net = net,
              .n = n,
              .n_sums = n_sums,
              .work = pass_chunk,
              .input = input,
              .loss = loss,
              .context = context };
    const tce_status status = run_with_gradient(net, &j);
    return status == TCE_OK && out_sums ? tce__parts_sum(&j.parts, n_sums, net->part_sums, out_sums)
                                        : status;
}

static tce_status check_pass(const tce_net *net, size_t n, const double *x)
{
    tce_status status = tce__check_pointer("net", net);
    if (status == TCE_OK)
        status = tce__check_pointer("x", x);
    if (status == TCE_OK && n > net->max_pass)
        status = tce_fail(TCE_E_SHAPE, "n = %zu rows, max_pass is %zu", n, net->max_pass);
    return status;
}

tce_status tce_net_pass(tce_net *net, size_t n, const double *x, const uint32_t *rows,
                        tce_net_loss loss, void *context, size_t n_sums, double *out_sums)
{
    tce_status status = check_pass(net, n, x);
    if (status == TCE_OK && !loss)
        status = tce_fail(TCE_E_ARGUMENT, "loss is NULL");
    if (status == TCE_OK && (n_sums < 1 || n_sums > TCE_NET_MAX_SUMS))
        status = tce_fail(TCE_E_SHAPE, "n_sums = %zu, must be in 1 ... %d", n_sums,
                          (int)TCE_NET_MAX_SUMS);
    if (status != TCE_OK)
        return status;
    const tce__net_input input = { x, rows };
    return pass(net, n, input, loss, context, n_sums, out_sums);
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
                               double *d_out, double *sums)
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
    sums[0] += s->weight * sum;
    return TCE_OK;
}

tce_status tce_net_pass_mse(tce_net *net, size_t n, const double *x, const double *target,
                            const uint32_t *rows, double *out_loss)
{
    tce_status status = check_pass(net, n, x);
    if (status == TCE_OK)
        status = tce__check_pointer("target", target);
    if (status != TCE_OK)
        return status;

    const tce__net_input input = { x, rows };
    squares s = { target, rows, net->n_out, n > 0 ? 1.0 / ((double)n * (double)net->n_out) : 0.0 };
    return pass(net, n, input, squares_loss, &s, 1, out_loss);
}
