/*
 * dq_d/ds_fd = 2 z_f^2 s_fd,  dq_d/dz_f = 2 z_f s_fd^2;  with sigma = sqrt(q): dl/dq = dl/dsigma /
 * (2 sigma). g(x) = e^x, or e^x up to 0 and 1 + log(1 + x + 1e-6) above.
 */
#include "methods/gsde.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Added to variances, and inside the logarithm of expln. */
#define EPSILON 1e-6

enum { NAME_SIZE = 96 };

void gsde_take(gsde *g, const gsde_options *o, memory *m)
{
    memset(g, 0, sizeof *g);
    g->o = *o;
    g->n = o->F * (o->full_std ? o->A : 1);
    g->log_std = memory_doubles(m, g->n);
    g->gradient = memory_doubles(m, g->n);
    g->moment = memory_doubles(m, g->n);
    g->square = memory_doubles(m, g->n);
    g->std = memory_doubles(m, o->F * o->A);
    g->variance = memory_doubles(m, o->F * o->A);
    g->sums = memory_doubles(m, o->A * o->F);
    g->squares = memory_doubles(m, o->F);
    g->block = memory_doubles(m, o->A * GSDE_BLOCK);
}

void gsde_start(gsde *g)
{
    for (size_t i = 0; i < g->n; i++)
        g->log_std[i] = log(g->o.initial_std);
    memset(g->moment, 0, g->n * sizeof *g->moment);
    memset(g->square, 0, g->n * sizeof *g->square);
    g->n_steps = 0;
    gsde_refresh(g);
}

static double spread(const gsde *g, double x)
{
    return g->o.spread == GSDE_EXPLN && x > 0.0 ? 1.0 + log(1.0 + x + EPSILON) : exp(x);
}

static double spread_derivative(const gsde *g, double x)
{
    return g->o.spread == GSDE_EXPLN && x > 0.0 ? 1.0 / (1.0 + x + EPSILON) : exp(x);
}

void gsde_refresh(gsde *g)
{
    const size_t A = g->o.A;
    for (size_t f = 0; f < g->o.F; f++)
        for (size_t d = 0; d < A; d++)
            g->std[f * A + d] = g->o.full_std || d == 0
                                    ? spread(g, g->log_std[g->o.full_std ? f * A + d : f])
                                    : g->std[f * A];
    for (size_t k = 0; k < g->o.F * A; k++)
        g->variance[k] = g->std[k] * g->std[k];
}

/*
 * q of n <= GSDE_BLOCK rows, features first: the rows are side by side, each sum in the order of f
 */
static void add_block(const gsde *g, size_t n, const double *hidden)
{
    const size_t F = g->o.F, A = g->o.A;
    double square[GSDE_BLOCK] = { 0.0 };
    for (size_t k = 0; k < A * GSDE_BLOCK; k++)
        g->block[k] = EPSILON;
    for (size_t f = 0; f < F; f++) {
        for (size_t i = 0; i < n; i++)
            square[i] = hidden[i * F + f] * hidden[i * F + f];
        for (size_t d = 0; d < A; d++) {
            const double variance = g->variance[f * A + d];
            double *q = g->block + d * GSDE_BLOCK;
            for (size_t i = 0; i < GSDE_BLOCK; i++)
                q[i] += square[i] * variance;
        }
    }
}

void gsde_deviations(const gsde *g, size_t n, const double *hidden, double *out)
{
    const size_t A = g->o.A;
    for (size_t begin = 0; begin < n; begin += GSDE_BLOCK) {
        const size_t m = n - begin < GSDE_BLOCK ? n - begin : GSDE_BLOCK;
        add_block(g, m, hidden + begin * g->o.F);
        for (size_t i = 0; i < m; i++)
            for (size_t d = 0; d < A; d++)
                out[(begin + i) * A + d] = sqrt(g->block[d * GSDE_BLOCK + i]);
    }
}

void gsde_matrix(const gsde *g, const double *normals, double *out)
{
    for (size_t k = 0; k < g->o.F * g->o.A; k++)
        out[k] = g->std[k] * normals[k];
}

void gsde_noise(const gsde *g, const double *matrix, const double *hidden, double *out)
{
    const size_t A = g->o.A;
    memset(out, 0, A * sizeof *out);
    for (size_t f = 0; f < g->o.F; f++)
        for (size_t d = 0; d < A; d++)
            out[d] += matrix[f * A + d] * hidden[f];
}

/* d_q = d_sigma/(2 sigma) of row i and action d */
static double d_variance(const gsde *g, const double *deviations, const double *d_deviations,
                         size_t i, size_t d)
{
    const size_t k = i * g->o.A + d;
    return d_deviations[k] / (2.0 * deviations[k]);
}

/* To the features: sum_d 2 z_f s_fd^2 d_q_d. */
static void hidden_gradient(const gsde *g, size_t n, const double *hidden, const double *deviations,
                            const double *d_deviations, double *out)
{
    const size_t F = g->o.F, A = g->o.A;
    for (size_t i = 0; i < n; i++)
        for (size_t f = 0; f < F; f++) {
            double along = 0.0;
            for (size_t d = 0; d < A; d++)
                along += g->variance[f * A + d] * d_variance(g, deviations, d_deviations, i, d);
            out[i * F + f] = 2.0 * hidden[i * F + f] * along;
        }
}

void gsde_backward(gsde *g, size_t n, const double *hidden, const double *deviations,
                   const double *d_deviations, double *out_d_hidden)
{
    const size_t F = g->o.F, A = g->o.A;

    /* sum over the rows of z_f^2 d_q_d, features side by side */
    memset(g->sums, 0, A * F * sizeof *g->sums);
    for (size_t i = 0; i < n; i++) {
        for (size_t f = 0; f < F; f++)
            g->squares[f] = hidden[i * F + f] * hidden[i * F + f];
        for (size_t d = 0; d < A; d++) {
            const double d_q = d_variance(g, deviations, d_deviations, i, d);
            double *sums = g->sums + d * F;
            for (size_t f = 0; f < F; f++)
                sums[f] += g->squares[f] * d_q;
        }
    }

    /* times 2 s g'(log s), over all actions where they share s */
    memset(g->gradient, 0, g->n * sizeof *g->gradient);
    for (size_t f = 0; f < F; f++)
        for (size_t d = 0; d < A; d++)
            g->gradient[g->o.full_std ? f * A + d : f] += 2.0 * g->std[f * A + d] *
                                                          g->sums[d * F + f];
    for (size_t k = 0; k < g->n; k++)
        g->gradient[k] *= spread_derivative(g, g->log_std[k]);
    if (out_d_hidden)
        hidden_gradient(g, n, hidden, deviations, d_deviations, out_d_hidden);
}

double gsde_gradient_norm(const gsde *g)
{
    double sum = 0.0;
    for (size_t k = 0; k < g->n; k++)
        sum += g->gradient[k] * g->gradient[k];
    return sqrt(sum);
}

void gsde_scale_gradient(gsde *g, double factor)
{
    for (size_t k = 0; k < g->n; k++)
        g->gradient[k] *= factor;
}

tce_status gsde_adam_step(gsde *g, const tce_adam_options *adam)
{
    const tce_status status = tce_adam_update(adam, g->n_steps + 1, g->n, g->gradient, g->log_std,
                                              g->moment, g->square);
    if (status != TCE_OK)
        return status;
    g->n_steps++;
    gsde_refresh(g);
    return TCE_OK;
}

static const char *part(const char *prefix, const char *name, char *out)
{
    snprintf(out, NAME_SIZE, "%s.%s", prefix, name);
    return out;
}

tce_status gsde_save(const gsde *g, tce_store *store, const char *prefix)
{
    char name[NAME_SIZE];
    const size_t shape[1] = { g->n };
    tce_status status = tce_store_put(store, part(prefix, "log_std", name), TCE_STORE_F64, 1, shape,
                                      g->log_std);
    if (status == TCE_OK)
        status = tce_store_put(store, part(prefix, "moment", name), TCE_STORE_F64, 1, shape,
                               g->moment);
    if (status == TCE_OK)
        status = tce_store_put(store, part(prefix, "square", name), TCE_STORE_F64, 1, shape,
                               g->square);
    if (status != TCE_OK)
        return status;
    return tce_store_put(store, part(prefix, "steps", name), TCE_STORE_U64, 0, NULL, &g->n_steps);
}

tce_status gsde_load(gsde *g, const tce_store *store, const char *prefix)
{
    char name[NAME_SIZE];
    tce_status status = tce_store_read(store, part(prefix, "log_std", name), TCE_STORE_F64, g->n,
                                       g->log_std);
    if (status == TCE_OK)
        status = tce_store_read(store, part(prefix, "moment", name), TCE_STORE_F64, g->n,
                                g->moment);
    if (status == TCE_OK)
        status = tce_store_read(store, part(prefix, "square", name), TCE_STORE_F64, g->n,
                                g->square);
    if (status == TCE_OK)
        status = tce_store_read(store, part(prefix, "steps", name), TCE_STORE_U64, 1, &g->n_steps);
    if (status != TCE_OK)
        return status;
    for (size_t k = 0; k < g->n; k++)
        if (!isfinite(g->log_std[k]) || !isfinite(g->moment[k]) || !(g->square[k] >= 0.0))
            return tce_fail(TCE_E_CORRUPT, "%s: entry %zu holds a number that makes no sense",
                            prefix, k);
    gsde_refresh(g);
    return TCE_OK;
}
