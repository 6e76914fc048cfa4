/*
 * The way of a batch through a network: parts, chunks, sums.
 *
 * The rows of a batch are cut into parts, a part into chunks of at most TCE__NET_CHUNK_ROWS rows. A
 * part adds the gradients of its chunks up in its own array, in order; then the parts are added by
 * a binary tree. All of it depends on the number of rows only, so the bytes of every result are the
 * same for any number of threads.
 */
#include <tce/net.h>

#include <string.h>

#include "net/internal.h"

/* ---- parts and chunks ------------------------------------------------------------------------ */

/*
 * What a call does with the batch: `work` for each chunk, and the arrays it needs (NULL where not).
 */
typedef struct job {
    tce_net *net;
    size_t n;
    size_t n_parts;
    int with_gradient;
    tce_status (*work)(const struct job *job, size_t part, size_t begin, size_t end,
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

static tce_status run_part(void *context, size_t part, size_t begin, size_t end, int32_t worker)
{
    const job *j = context;
    const size_t first = tce__parts_begin(j->n, j->n_parts, part);
    const size_t n = tce__parts_begin(j->n, j->n_parts, part + 1) - first;
    const size_t n_chunks = (n + TCE__NET_CHUNK_ROWS - 1) / TCE__NET_CHUNK_ROWS;
    (void)begin;
    (void)end;

    /* cleared by the worker that adds to it, which then has it in its cache */
    if (j->with_gradient)
        memset(at(j->net, j->net->parts, part * j->net->n_parameters), 0,
               j->net->n_parameters * j->net->kernels->size);
    j->net->part_loss[part] = 0.0;

    for (size_t chunk = 0; chunk < n_chunks; chunk++) {
        const tce_status status = j->work(j, part, first + tce__parts_begin(n, n_chunks, chunk),
                                          first + tce__parts_begin(n, n_chunks, chunk + 1),
                                          &j->net->scratch[worker]);
        if (status != TCE_OK)
            return status;
    }
    return TCE_OK;
}

/* runs the job; the gradient of a job that has one is what its parts add up to */
static tce_status run(job *j, int with_gradient)
{
    tce_net *net = j->net;
    j->n_parts = tce__parts_count(j->n);
    j->with_gradient = with_gradient;

    const tce_status status = tce__parts_run(net->pool, j->n_parts, run_part, j);
    if (status == TCE_OK && with_gradient)
        net->kernels->sum_parts(net->pool, j->n_parts, net->n_parameters, net->parts,
                                net->gradient);
    return status;
}

/* ---- forward and backward -------------------------------------------------------------------- */

static tce_status forward_chunk(const job *j, size_t part, size_t begin, size_t end,
                                const tce__net_scratch *scratch)
{
    const tce_net *net = j->net;
    const tce__net_kernels *k = net->kernels;
    const size_t n = end - begin;
    void *a = at(net, net->memory, begin * net->row_size);
    (void)part;
    (void)scratch;

    k->load(net->n_in, j->input, begin, end, a);
    k->forward(net, n, a);
    k->to_double(n * net->n_out, at(net, a, n * net->column[net->n_layers]),
                 j->out + begin * net->n_out);
    return TCE_OK;
}

static tce_status backward_chunk(const job *j, size_t part, size_t begin, size_t end,
                                 const tce__net_scratch *scratch)
{
    const tce_net *net = j->net;

    net->kernels->backward(net, end - begin, at(net, net->memory, begin * net->row_size), scratch,
                           j->d_out + begin * net->n_out,
                           at(net, net->parts, part * net->n_parameters),
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

static tce_status pass_chunk(const job *j, size_t part, size_t begin, size_t end,
                             const tce__net_scratch *scratch)
{
    const tce_net *net = j->net;
    double loss = 0.0;

    forward_scratch(j, begin, end, scratch);
    const tce_status status = j->loss(j->context, begin, end, scratch->out, scratch->d_out, &loss);
    if (status != TCE_OK)
        return status;
    net->part_loss[part] += loss;
    net->kernels->backward(net, end - begin, scratch->a, scratch, scratch->d_out,
                           at(net, net->parts, part * net->n_parameters), NULL);
    return TCE_OK;
}

static tce_status evaluate_chunk(const job *j, size_t part, size_t begin, size_t end,
                                 const tce__net_scratch *scratch)
{
    const size_t n_out = j->net->n_out;
    (void)part;

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

    if (out_loss)
        tce__parts_sum(NULL, j.n_parts, 1, net->part_loss, out_loss);
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
