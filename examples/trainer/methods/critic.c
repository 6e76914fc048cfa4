/*
 * Values and their regression.
 */
#include "methods/critic.h"

#include <stdio.h>
#include <string.h>

#include "methods/schedules.h"
#include "methods/value_loss.h"

enum { NAME_SIZE = 64 };

/* hooks: NULL, or those of memory.h */
static tce_status create_net(const critic_options *o, const tce_hooks *hooks, tce_net **out)
{
    tce_net_options net;
    tce_net_options_init(&net, sizeof net);
    net.n_in = o->n_inputs;
    net.n_hidden = o->n_hidden;
    net.hidden = o->hidden;
    net.activation = o->activation;
    net.precision = o->precision;
    net.start = o->start;
    net.max_pass = o->max_rows;
    net.pool = o->pool;
    return tce_net_create(&net, hooks, out);
}

static tce_status create_normaliser(const critic_options *o, const tce_hooks *hooks,
                                    tce_normaliser **out)
{
    tce_normaliser_options normaliser;
    tce_normaliser_options_init(&normaliser, sizeof normaliser);
    normaliser.n_columns = o->n_inputs;
    normaliser.divisor = TCE_NORMALISER_ROWS_LESS_ONE;
    return tce_normaliser_create(&normaliser, hooks, out);
}

static void take_arrays(critic *c, memory *m)
{
    c->work = memory_doubles(m, tce_net_work_size(c->net, c->max_rows));
    c->rows = memory_take(m, c->max_rows, sizeof *c->rows);
    c->old = memory_doubles(m, c->max_rows);
}

tce_status critic_create(critic *c, const critic_options *options, memory *m)
{
    memset(c, 0, sizeof *c);
    c->max_rows = (size_t)options->max_rows;
    tce_status status = create_net(options, NULL, &c->net);
    if (status == TCE_OK)
        status = create_normaliser(options, NULL, &c->normaliser);
    if (status != TCE_OK)
        return status;
    take_arrays(c, m);
    return m->failed ? tce_fail(TCE_E_NOMEM, "no memory for a critic of %zu rows", c->max_rows)
                     : TCE_OK;
}

tce_status critic_measure(const critic_options *options, memory *m)
{
    critic c = { .max_rows = (size_t)options->max_rows };
    tce_hooks hooks;
    memory_hooks(m, &hooks);
    tce_status status = memory_measured(create_net(options, &hooks, &c.net));
    if (status == TCE_OK)
        status = memory_measured(create_normaliser(options, &hooks, &c.normaliser));
    take_arrays(&c, m);
    return status;
}

void critic_free(critic *c)
{
    tce_net_free(c->net);
    tce_normaliser_free(c->normaliser);
    memset(c, 0, sizeof *c);
}

tce_status critic_value(critic *c, size_t n, const double *x, double *out)
{
    return tce_net_evaluate(c->net, n, x, c->work, out);
}

tce_status critic_remember(critic *c, size_t n, const double *x, const double **out)
{
    *out = c->old;
    return critic_value(c, n, x, c->old);
}

/* one step on n rows, those of `rows` unless NULL */
static tce_status fit_minibatch(critic *c, const critic_fit *fit, size_t n, const double *x,
                                const double *target, const uint32_t *rows, double *out_loss)
{
    const value_samples samples = { x, target, fit->old_values };
    value_report report = { 0.0, 0.0 };
    const tce_status status = fit->value_clip > 0.0
                                  ? value_gradient(c->net, &samples, n, rows, 1.0, fit->value_clip,
                                                   &report)
                                  : tce_net_pass_mse(c->net, n, x, target, rows, &report.loss);
    *out_loss = report.loss;
    if (status != TCE_OK)
        return status;
    const double factor = clip_factor(tce_net_gradient_norm(c->net), fit->clip_norm);
    if (factor < 1.0)
        tce_net_scale_gradient(c->net, factor);
    return tce_net_adam_step(c->net, &fit->adam);
}

tce_status critic_fit_epoch(critic *c, const critic_fit *fit, size_t n, const double *x,
                            const double *target, tce_random *random, double *out_loss)
{
    const size_t M = fit->n_minibatches;
    size_t begin = 0;
    double total = 0.0;
    if (M > 1)
        tce_random_permutation(random, n, c->rows);
    for (size_t part = 0; part < M; part++) {
        const size_t size = n / M + (part < n % M);
        double loss;
        const tce_status status = fit_minibatch(c, fit, size, x, target,
                                                M > 1 ? c->rows + begin : NULL, &loss);
        if (status != TCE_OK)
            return status;
        total += loss * (double)size;
        begin += size;
    }
    *out_loss = total / (double)n;
    return TCE_OK;
}

tce_status critic_save(const critic *c, tce_store *store, const char *prefix)
{
    char net[NAME_SIZE];
    snprintf(net, sizeof net, "%s.net", prefix);
    const tce_status status = tce_net_save(c->net, store, net);
    return status == TCE_OK ? tce_normaliser_save(c->normaliser, store, prefix) : status;
}

tce_status critic_load(critic *c, const tce_store *store, const char *prefix)
{
    char net[NAME_SIZE];
    snprintf(net, sizeof net, "%s.net", prefix);
    const tce_status status = tce_net_load(c->net, store, net);
    return status == TCE_OK ? tce_normaliser_load(c->normaliser, store, prefix) : status;
}
