/*
 * Adam for networks and for plain vectors; the norm of a gradient.
 */
#include <tce/net.h>

#include <math.h>

#include "net/internal.h"

/* Weights that a thread takes at once. */
#define COLUMNS 8192

void tce_adam_options_init(tce_adam_options *options, size_t struct_size)
{
    const tce_adam_options defaults = {
        .learning_rate = 3e-4,
        .l2 = 0.0,
        .beta1 = 0.9,
        .beta2 = 0.999,
        .epsilon = 1e-8,
    };
    tce__struct_init(options, struct_size, &defaults, sizeof defaults);
}

static tce_status check_range(const char *name, double value, double least, double below)
{
    if (!(value >= least && value < below))
        return tce_fail(TCE_E_VALUE, "%s = %g, must be at least %g and below %g", name, value,
                        least, below);
    return TCE_OK;
}

tce_status tce__adam_read(const tce_adam_options *given, tce_adam_options *out)
{
    tce_adam_options adam;
    tce_adam_options_init(&adam, sizeof adam);
    tce_status status = tce__struct_read(given, "tce_adam_options", sizeof adam, &adam);
    if (status == TCE_OK)
        status = check_range("learning_rate", adam.learning_rate, 0.0, HUGE_VAL);
    if (status == TCE_OK)
        status = check_range("l2", adam.l2, 0.0, HUGE_VAL);
    if (status == TCE_OK)
        status = check_range("beta1", adam.beta1, 0.0, 1.0);
    if (status == TCE_OK)
        status = check_range("beta2", adam.beta2, 0.0, 1.0);
    if (status == TCE_OK)
        status = tce__check_positive("epsilon", adam.epsilon);
    if (status == TCE_OK)
        *out = adam;
    return status;
}

tce_status tce__adam_check_norm(const tce__net_kernels *kernels, double norm)
{
    /* Adam squares the entries: an infinite square would stay in its moments for ever */
    if (!(norm < sqrt(kernels->largest)))
        return tce_fail(TCE_E_NOT_FINITE, "gradient norm = %g, must be below %g", norm,
                        sqrt(kernels->largest));
    return TCE_OK;
}

tce__adam_scalars tce__adam_prepare(const tce_adam_options *adam, uint64_t step)
{
    const double t = (double)step;
    const tce__adam_scalars s = {
        .l2 = adam->l2,
        .beta1 = adam->beta1,
        .beta2 = adam->beta2,
        .step = adam->learning_rate / (1.0 - pow(adam->beta1, t)),
        .root = 1.0 / sqrt(1.0 - pow(adam->beta2, t)),
        .epsilon = adam->epsilon,
    };
    return s;
}

/* A step of one network, as work of a pool. */
typedef struct step {
    tce_net *net;
    tce__adam_scalars scalars;
} step;

static tce_status step_columns(void *context, size_t chunk, size_t begin, size_t end,
                               int32_t worker)
{
    const step *s = context;
    const tce_net *net = s->net;
    const size_t first = begin * net->kernels->size;
    (void)chunk;
    (void)worker;

    net->kernels->adam(end - begin, &s->scalars, (const char *)net->gradient + first,
                       (char *)net->weights + first, (char *)net->moment + first,
                       (char *)net->square + first);
    return TCE_OK;
}

void tce__net_adam(tce_net *net, const tce_adam_options *adam)
{
    net->n_steps++;
    net->remembered = 0;
    step s = { net, tce__adam_prepare(adam, net->n_steps) };

    /* the work itself cannot fail */
    (void)!tce_pool_run(net->pool, net->n_weights, COLUMNS, step_columns, &s);
}

double tce_net_gradient_norm(const tce_net *net)
{
    return net ? sqrt(net->kernels->sum_of_squares(net->n_weights, net->gradient)) : 0.0;
}

void tce_net_scale_gradient(tce_net *net, double factor)
{
    if (net)
        net->kernels->scale(net->n_weights, factor, net->gradient);
}

tce_status tce_net_adam_step(tce_net *net, const tce_adam_options *adam)
{
    tce_adam_options opt;
    tce_status status = tce__check_pointer("net", net);
    if (status == TCE_OK)
        status = tce__adam_read(adam, &opt);
    if (status == TCE_OK)
        status = tce__adam_check_norm(net->kernels, tce_net_gradient_norm(net));
    if (status == TCE_OK)
        tce__net_adam(net, &opt);
    return status;
}

tce_status tce_adam_update(const tce_adam_options *adam, uint64_t step, size_t n,
                           const double *gradient, double *x, double *moment, double *square)
{
    tce_adam_options opt;
    tce_status status = tce__adam_read(adam, &opt);
    if (status == TCE_OK && step == 0)
        status = tce_fail(TCE_E_VALUE, "step = 0, the first step is number 1");
    if (status == TCE_OK && n > 0)
        status = tce__check_pointer("gradient", gradient);
    if (status == TCE_OK && n > 0)
        status = tce__check_pointer("x", x);
    if (status == TCE_OK && n > 0)
        status = tce__check_pointer("moment", moment);
    if (status == TCE_OK && n > 0)
        status = tce__check_pointer("square", square);
    if (status == TCE_OK)
        status = tce__adam_check_norm(&tce__net_double,
                                      sqrt(tce__net_double.sum_of_squares(n, gradient)));
    if (status != TCE_OK)
        return status;
    const tce__adam_scalars s = tce__adam_prepare(&opt, step);
    tce__net_double.adam(n, &s, gradient, x, moment, square);
    return TCE_OK;
}
