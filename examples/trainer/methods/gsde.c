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
    g->d_q = memory_doubles(m, o->A);
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
}

void gsde_deviations(const gsde *g, size_t n, const double *hidden, double *out)
{
    const size_t F = g->o.F, A = g->o.A;
    for (size_t i = 0; i < n; i++) {
        const double *z = hidden + i * F;
        double *q = out + i * A;
        for (size_t d = 0; d < A; d++)
            q[d] = EPSILON;
        for (size_t f = 0; f < F; f++) {
            const double *s = g->std + f * A;
            const double square = z[f] * z[f];
            for (size_t d = 0; d < A; d++)
                q[d] += square * s[d] * s[d];
        }
        for (size_t d = 0; d < A; d++)
            q[d] = sqrt(q[d]);
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

/* One row's part of the gradient, d_q [A]; that of s waits for its factor g'(log s). */
static void add_row(gsde *g, const double *z, const double *d_q, double *d_z)
{
    const size_t A = g->o.A;
    for (size_t f = 0; f < g->o.F; f++) {
        const double *s = g->std + f * A;
        double *d_s = g->gradient + (g->o.full_std ? f * A : f);
        const double square = z[f] * z[f];
        double along = 0.0;
        for (size_t d = 0; d < A; d++) {
            d_s[g->o.full_std ? d : 0] += 2.0 * square * s[d] * d_q[d];
            along += s[d] * s[d] * d_q[d];
        }
        if (d_z)
            d_z[f] = 2.0 * z[f] * along;
    }
}

void gsde_backward(gsde *g, size_t n, const double *hidden, const double *deviations,
                   const double *d_deviations, double *out_d_hidden)
{
    const size_t F = g->o.F, A = g->o.A;
    double *d_q = g->d_q;
    memset(g->gradient, 0, g->n * sizeof *g->gradient);
    for (size_t i = 0; i < n; i++) {
        for (size_t d = 0; d < A; d++)
            d_q[d] = d_deviations[i * A + d] / (2.0 * deviations[i * A + d]);
        add_row(g, hidden + i * F, d_q, out_d_hidden ? out_d_hidden + i * F : NULL);
    }
    for (size_t k = 0; k < g->n; k++)
        g->gradient[k] *= spread_derivative(g, g->log_std[k]);
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
    tce_status status;
    if ((status = tce_store_put(store, part(prefix, "log_std", name), TCE_STORE_F64, 1, shape,
                                g->log_std)) ||
        (status = tce_store_put(store, part(prefix, "moment", name), TCE_STORE_F64, 1, shape,
                                g->moment)) ||
        (status = tce_store_put(store, part(prefix, "square", name), TCE_STORE_F64, 1, shape,
                                g->square)))
        return status;
    return tce_store_put(store, part(prefix, "steps", name), TCE_STORE_U64, 0, NULL, &g->n_steps);
}

tce_status gsde_load(gsde *g, const tce_store *store, const char *prefix)
{
    char name[NAME_SIZE];
    tce_status status;
    if ((status = tce_store_read(store, part(prefix, "log_std", name), TCE_STORE_F64, g->n,
                                 g->log_std)) ||
        (status = tce_store_read(store, part(prefix, "moment", name), TCE_STORE_F64, g->n,
                                 g->moment)) ||
        (status = tce_store_read(store, part(prefix, "square", name), TCE_STORE_F64, g->n,
                                 g->square)) ||
        (status = tce_store_read(store, part(prefix, "steps", name), TCE_STORE_U64, 1,
                                 &g->n_steps)))
        return status;
    for (size_t k = 0; k < g->n; k++)
        if (!isfinite(g->log_std[k]) || !isfinite(g->moment[k]) || !(g->square[k] >= 0.0))
            return tce_fail(TCE_E_CORRUPT, "%s: a number of entry %zu makes no sense", prefix, k);
    gsde_refresh(g);
    return TCE_OK;
}
