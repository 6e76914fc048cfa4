/*
 * The exploration of a policy in its file: exploration.form, and what its form needs.
 */
#include "collect/exploration.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* as noise_spectrum_create has them */
#define LARGEST_BETA 10.0

static tce_status save_held(const exploration *e, size_t A, tce_store *store)
{
    const size_t shape[2] = { e->n_features, A };
    const tce_status status = tce_store_put(store, "exploration.std", TCE_STORE_F64, 2, shape,
                                            e->std);
    return status == TCE_OK
               ? tce_store_put(store, "exploration.every", TCE_STORE_I32, 0, NULL, &e->every)
               : status;
}

static tce_status save_coloured(const exploration *e, tce_store *store)
{
    tce_status status = tce_store_put(store, "exploration.beta", TCE_STORE_F64, 0, NULL, &e->beta);
    if (status == TCE_OK)
        status = tce_store_put(store, "exploration.chunk", TCE_STORE_I64, 0, NULL, &e->chunk);
    if (status == TCE_OK)
        status = tce_store_put(store, "exploration.max_period", TCE_STORE_I64, 0, NULL,
                               &e->max_period);
    return status;
}

tce_status exploration_save(const exploration *e, size_t A, tce_store *store)
{
    if (e->form == EXPLORATION_UNKNOWN)
        return TCE_OK;
    const tce_status status = tce_store_put(store, "exploration.form", TCE_STORE_I32, 0, NULL,
                                            &e->form);
    if (status == TCE_OK && e->form == EXPLORATION_HELD)
        return save_held(e, A, store);
    if (status == TCE_OK && e->form == EXPLORATION_COLOURED)
        return save_coloured(e, store);
    return status;
}

/* Width of the last hidden layer of the mean: what the last layer takes. */
static size_t hidden_width(const tce_store *store)
{
    tce_store_array array = TCE_INIT(tce_store_array);
    char name[64];
    size_t width = 0;
    for (size_t l = 0;; l++) {
        snprintf(name, sizeof name, "policy.mean.layers.%zu.weight", l);
        if (tce_store_get(store, name, &array) != TCE_OK)
            return width;
        width = array.shape[1];
    }
}

static tce_status load_held(exploration *e, size_t A, const tce_store *store)
{
    tce_store_array array = TCE_INIT(tce_store_array);
    tce_status status = tce_store_get(store, "exploration.std", &array);
    if (status == TCE_OK)
        status = tce_store_read(store, "exploration.every", TCE_STORE_I32, 1, &e->every);
    if (status != TCE_OK)
        return status;
    const size_t F = hidden_width(store);
    if (array.type != TCE_STORE_F64 || array.rank != 2 || array.shape[0] != F ||
        array.shape[1] != A)
        return tce_fail(
            TCE_E_SHAPE,
            "exploration.std is not a matrix of %zu times %zu numbers, the width of the "
            "policy's last hidden layer and its outputs: they do not belong together",
            F, A);
    if (e->every < 1)
        return tce_fail(TCE_E_VALUE, "exploration.every = %d, must be at least 1", (int)e->every);
    e->n_features = F;
    e->std = array.data;
    for (size_t i = 0; i < F * A; i++)
        if (!(e->std[i] >= 0.0 && isfinite(e->std[i])))
            return tce_fail(TCE_E_VALUE, "exploration.std[%zu] = %g, must be finite and at least 0",
                            i, e->std[i]);
    return TCE_OK;
}

static tce_status load_coloured(exploration *e, const tce_store *store)
{
    tce_status status = tce_store_read(store, "exploration.beta", TCE_STORE_F64, 1, &e->beta);
    if (status == TCE_OK)
        status = tce_store_read(store, "exploration.chunk", TCE_STORE_I64, 1, &e->chunk);
    if (status == TCE_OK)
        status = tce_store_read(store, "exploration.max_period", TCE_STORE_I64, 1, &e->max_period);
    if (status != TCE_OK)
        return status;
    if (!(e->beta >= 0.0 && e->beta <= LARGEST_BETA))
        return tce_fail(TCE_E_VALUE, "exploration.beta = %g, must be in 0 ... %g", e->beta,
                        LARGEST_BETA);
    if (e->chunk < 2 || e->chunk > INT32_MAX)
        return tce_fail(TCE_E_VALUE, "exploration.chunk = %lld, must be in 2 ... %d",
                        (long long)e->chunk, INT32_MAX);
    if (e->max_period < 0)
        return tce_fail(TCE_E_VALUE, "exploration.max_period = %lld, must not be negative",
                        (long long)e->max_period);
    return TCE_OK;
}

tce_status exploration_load(exploration *out, size_t A, const tce_store *store)
{
    tce_store_array found = TCE_INIT(tce_store_array);
    memset(out, 0, sizeof *out);
    if (tce_store_get(store, "exploration.form", &found) != TCE_OK)
        return TCE_OK;
    const tce_status status = tce_store_read(store, "exploration.form", TCE_STORE_I32, 1,
                                             &out->form);
    if (status != TCE_OK)
        return status;
    if (out->form < EXPLORATION_WHITE || out->form > EXPLORATION_COLOURED)
        return tce_fail(TCE_E_VALUE, "exploration.form = %d, must be in %d ... %d", (int)out->form,
                        EXPLORATION_WHITE, EXPLORATION_COLOURED);
    if (out->form == EXPLORATION_HELD)
        return load_held(out, A, store);
    return out->form == EXPLORATION_COLOURED ? load_coloured(out, store) : TCE_OK;
}
