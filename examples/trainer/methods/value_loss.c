/*
 * V_c = V_old + clip(V - V_old, +- clip); a clipped error counts and has no gradient.
 */
#include "methods/value_loss.h"

#include <math.h>

typedef struct value_loss {
    const value_samples *s;
    const uint32_t *rows;
    double weight; /* coefficient / n */
    double clip;
} value_loss;

enum { LOSS, CLIPPED, N_SUMS };

static tce_status terms(void *context, size_t begin, size_t end, const double *out, double *d_out,
                        double *sums)
{
    const value_loss *l = context;
    for (size_t i = begin; i < end; i++) {
        const size_t row = l->rows ? l->rows[i] : i;
        double value = out[i - begin];
        const double old = l->clip > 0.0 ? l->s->old[row] : value;
        const int clipped = fabs(value - old) > l->clip;
        if (clipped)
            value = old + (value > old ? l->clip : -l->clip);
        const double error = value - l->s->targets[row];
        d_out[i - begin] = clipped ? 0.0 : 2.0 * l->weight * error;
        sums[LOSS] += error * error;
        sums[CLIPPED] += clipped;
    }
    return TCE_OK;
}

tce_status value_gradient(tce_net *net, const value_samples *s, size_t n, const uint32_t *rows,
                          double coefficient, double clip, value_report *out)
{
    value_loss loss = { s, rows, coefficient / (double)n, clip };
    double sums[N_SUMS];
    const tce_status status = tce_net_pass(net, n, s->inputs, rows, terms, &loss, N_SUMS, sums);
    if (status == TCE_OK) {
        out->loss = sums[LOSS] / (double)n;
        out->clip_fraction = sums[CLIPPED] / (double)n;
    }
    return status;
}
