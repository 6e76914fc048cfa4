/*
 * Adam, the gradient's norm and its clip, the learning-rate schedule.
 */
#include <tce/net.h>

#include <math.h>

#include "net/internal.h"

/* In the clip's denominator, against division by 0. */
#define CLIP_EPSILON 1e-6
/* The schedule falls to 1 - SCHEDULE_FALL of the learning rate. */
#define SCHEDULE_FALL 0.99
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

tce_status tce__adam_read(const tce_adam_options *given, double rate_factor, tce_adam_options *out)
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
        status = check_range("rate_factor", rate_factor, 0.0, HUGE_VAL);
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

tce__adam_scalars tce__adam_prepare(const tce_adam_options *adam, double rate_factor, uint64_t step)
{
    const double t = (double)step;
    const tce__adam_scalars s = {
        .l2 = adam->l2,
        .beta1 = adam->beta1,
        .beta2 = adam->beta2,
        .step = rate_factor * adam->learning_rate / (1.0 - pow(adam->beta1, t)),
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
                       (char *)net->parameters + first, (char *)net->moment + first,
                       (char *)net->square + first);
    return TCE_OK;
}

void tce__net_adam(tce_net *net, const tce_adam_options *adam, double rate_factor)
{
    net->n_steps++;
    net->remembered = 0;
    step s = { net, tce__adam_prepare(adam, rate_factor, net->n_steps) };

    /* the work itself cannot fail */
    (void)!tce_pool_run(net->pool, net->n_parameters, COLUMNS, step_columns, &s);
}

double tce_net_gradient_norm(const tce_net *net)
{
    return net ? sqrt(net->kernels->sum_of_squares(net->n_parameters, net->gradient)) : 0.0;
}

void tce_net_scale_gradient(tce_net *net, double factor)
{
    if (net)
        net->kernels->scale(net->n_parameters, factor, net->gradient);
}

tce_status tce_net_adam_step(tce_net *net, const tce_adam_options *adam, double rate_factor)
{
    tce_adam_options opt;
    tce_status status = tce__check_pointer("net", net);
    if (status == TCE_OK)
        status = tce__adam_read(adam, rate_factor, &opt);
    if (status == TCE_OK)
        status = tce__adam_check_norm(net->kernels, tce_net_gradient_norm(net));
    if (status == TCE_OK)
        tce__net_adam(net, &opt, rate_factor);
    return status;
}

double tce_linear_schedule(uint64_t done, uint64_t total)
{
    if (total == 0)
        return 1.0;
    return 1.0 - SCHEDULE_FALL * ((double)(done < total ? done : total) / (double)total);
}

double tce_clip_factor(double norm, double bound)
{
    if (!(bound > 0.0))
        return 1.0;
    const double factor = bound / (norm + CLIP_EPSILON);
    return factor < 1.0 ? factor : 1.0;
}
