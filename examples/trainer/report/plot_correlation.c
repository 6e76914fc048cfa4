/*
 * Correlation of what a trained policy tried in training, as a file: of the positions that it asked
 * for where it plans movements; else of its noise along one episode of its mean, or of the actions
 * of exploring episodes [rivals 10.3].
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collect/coloured_noise.h"
#include "report/plot.h"
#include "tools/memory.h"

/* rows of a matrix; its file has about ten bytes per number */
#define MOST_ROWS 5000

/* correlation_<task>_<method>.csv, other characters than letters and digits as '_'. */
static void correlation_name(const plot_group *g, const plotted_run *run, char *out, size_t size)
{
    snprintf(out, size, "correlation_%.100s_%s.csv", run->s.task.name, g->label);
    for (char *c = out; *c; c++)
        if (!isalnum((unsigned char)*c) && strcmp(c, ".csv") != 0)
            *c = '_';
}

/* ---- along an episode ------------------------------------------------------------------------ */

/* Last hidden layer at T steps of episode e: features [T, F]. work [agent_work(a, 1) + 2 P] */
static tce_status read_features(const policy_runner *p, size_t e, size_t T, double *work,
                                double *features)
{
    const agent *a = &p->agent;
    const size_t F = a->exploration.n_features;
    double *mean = work + a->O_net, *std = mean + a->P;
    tce_status status = TCE_OK;
    for (size_t t = 0; status == TCE_OK && t < T; t++) {
        agent_input(a, p->ep.obs + (e * (p->ep.T + 1) + t) * a->O, a->dt * (double)t, work);
        status = agent_normalise(a, 1, work);
        if (status == TCE_OK)
            status = tce_policy_predict(a->policy, 1, work, mean, std);
        if (status == TCE_OK)
            status = tce_policy_hidden(a->policy, 1, features + t * F);
    }
    return status;
}

static tce_status correlate_held(const policy_runner *p, size_t e, size_t T, memory *m,
                                 double *matrix)
{
    const agent *a = &p->agent;
    const exploration *x = &a->exploration;
    double *work = memory_doubles(m, a->O_net + 2 * a->P);
    double *features = memory_doubles(m, T * x->n_features);
    if (m->failed)
        return tce_fail(TCE_E_NOMEM, "no memory for the features of %zu steps", T);
    const tce_status status = read_features(p, e, T, work, features);
    if (status == TCE_OK)
        correlation_held(T, a->P, x->n_features, features, x->std, (size_t)x->every, matrix);
    return status;
}

/* Numbers of different chunks are independent. */
static tce_status correlate_coloured(const policy_runner *p, size_t T, memory *m, double *matrix)
{
    const exploration *x = &p->agent.exploration;
    const size_t chunk = (size_t)x->chunk;
    noise_spectrum spectrum;
    const tce_status status = noise_spectrum_create(&spectrum, x->beta, chunk,
                                                    (size_t)x->max_period, m);
    double *covariance = memory_doubles(m, T);
    if (status == TCE_OK && m->failed)
        return tce_fail(TCE_E_NOMEM, "no memory for the noise of %zu steps", T);
    for (size_t lag = 0; status == TCE_OK && lag < T; lag++)
        covariance[lag] = lag < chunk ? noise_autocovariance(&spectrum, lag) : 0.0;
    if (status == TCE_OK)
        correlation_of_lags(T, p->agent.P, covariance, matrix);
    return status;
}

/* Of the noise along T steps of episode e: matrix [P T, P T] */
static tce_status correlate_steps(const policy_runner *p, size_t e, size_t T, double *matrix)
{
    memory m = { 0 };
    tce_status status = TCE_OK;
    switch (p->agent.exploration.form) {
    case EXPLORATION_HELD:
        status = correlate_held(p, e, T, &m, matrix);
        break;
    case EXPLORATION_COLOURED:
        status = correlate_coloured(p, T, &m, matrix);
        break;
    default:
        correlation_white(T, p->agent.P, matrix);
    }
    memory_free(&m);
    return status;
}

/* ---- the file -------------------------------------------------------------------------------- */

/* D actions or positions at T times: the matrix [D T, D T], to be computed and written. */
typedef struct correlated {
    const policy_runner *p;
    size_t D, T;
    size_t n_samples; /* 0: not from samples */
    double *matrix;
} correlated;

static tce_status take_matrix(correlated *c)
{
    const size_t n = c->D * c->T;
    int failed = 0;
    if (n > MOST_ROWS)
        return tce_fail(
            TCE_E_UNSUPPORTED,
            "an episode has %zu numbers to correlate, the limit is %d: the matrix would "
            "fill the disk",
            n, MOST_ROWS);
    c->matrix = array_of_doubles(n * n, &failed);
    return failed ? tce_fail(TCE_E_NOMEM, "no memory for a matrix of %zu numbers", n) : TCE_OK;
}

static tce_status correlate_positions(correlated *c)
{
    const episodes *ep = &c->p->ep;
    c->D = ep->D;
    c->T = ep->T;
    const tce_status status = take_matrix(c);
    return status == TCE_OK
               ? action_correlation(c->p->agent.mp, c->T, ep->times, ep->factor, c->matrix)
               : status;
}

/* Along the first episode of the mean policy that was not lost. */
static tce_status correlate_noise(correlated *c)
{
    const episodes *ep = &c->p->ep;
    size_t e = 0;
    while (e + 1 < ep->E && ep->lengths[e] == 0)
        e++;
    c->D = c->p->agent.P;
    c->T = (size_t)ep->lengths[e];
    const tce_status status = take_matrix(c);
    return status == TCE_OK ? correlate_steps(c->p, e, c->T, c->matrix) : status;
}

static tce_status correlate_actions(correlated *c, tce_pool *pool)
{
    double *samples = NULL, *work = NULL;
    int failed = 0;
    c->D = c->p->agent.P;
    tce_status status = plot_sample_actions(c->p, c->n_samples, pool, &c->T, &samples);
    if (status == TCE_OK)
        status = take_matrix(c);
    if (status == TCE_OK)
        work = array_of_doubles(2 * c->D * c->T, &failed);
    if (failed)
        status = tce_fail(TCE_E_NOMEM, "no memory for an episode of %zu steps", c->T);
    if (status == TCE_OK)
        correlation_of_samples(c->n_samples, c->T, c->D, samples, work, c->matrix);
    free(work);
    free(samples);
    return status;
}

static tce_status write_matrix(const char *folder, const plot_group *g, const plotted_run *run,
                               const correlated *c)
{
    const size_t n = c->D * c->T;
    char name[256], samples[64] = "";
    FILE *file = NULL;
    correlation_name(g, run, name, sizeof name);
    if (c->n_samples > 0)
        snprintf(samples, sizeof samples, " samples=%zu", c->n_samples);
    const tce_status status = plot_open(folder, name, &file);
    if (status != TCE_OK)
        return status;
    fprintf(file, "# dof=%zu steps=%zu dt=%.17g of=%s%s task=%s method=%s\n", c->D, c->T,
            c->p->ep.spec->dt, c->p->agent.acts ? "actions" : "positions", samples,
            run->s.task.name, g->label);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            fprintf(file, "%.9g%c", c->matrix[i * n + j], j + 1 < n ? ',' : '\n');
    return plot_close(folder, name, file);
}

tce_status plot_write_correlation(const plot_data *data, const char *folder, const plot_group *g,
                                  const plotted_run *run, const policy_runner *p, tce_pool *pool)
{
    correlated c = { .p = p, .n_samples = p->agent.acts ? data->n_samples : 0 };
    tce_status status;
    if (!p->agent.acts)
        status = correlate_positions(&c);
    else if (p->agent.exploration.form == EXPLORATION_UNKNOWN)
        status = tce_fail(TCE_E_NOT_FOUND,
                          "%s does not say how the policy explored: an older version wrote it; a "
                          "checkpoint of this version will",
                          p->path);
    else
        status = c.n_samples > 0 ? correlate_actions(&c, pool) : correlate_noise(&c);
    if (status == TCE_OK)
        status = write_matrix(folder, g, run, &c);
    free(c.matrix);
    return status;
}
