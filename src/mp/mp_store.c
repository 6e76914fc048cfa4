/*
 * A primitive's options in a store, one scalar per option under "<prefix>.<name>", and a primitive
 * from them.
 */
#include <stdio.h>
#include <string.h>

#include "mp/mp.h"

/* longest name that a store takes, with its end */
enum { NAME_SIZE = 256 };

/* One option: its name and where it lies in tce_mp_options. */
typedef struct field {
    const char *name;
    size_t offset;
} field;

static const field INTEGERS[] = {
    { "kind", offsetof(tce_mp_options, kind) },
    { "phase", offsetof(tce_mp_options, phase) },
    { "basis", offsetof(tce_mp_options, basis) },
    { "n_dof", offsetof(tce_mp_options, n_dof) },
    { "n_basis", offsetof(tce_mp_options, n_basis) },
    { "n_basis_outside", offsetof(tce_mp_options, n_basis_outside) },
    { "table_length", offsetof(tce_mp_options, table_length) },
    { "relative_goal", offsetof(tce_mp_options, relative_goal) },
    { "auto_scale_basis", offsetof(tce_mp_options, auto_scale_basis) },
    { "disable_goal", offsetof(tce_mp_options, disable_goal) },
    { "disable_weights", offsetof(tce_mp_options, disable_weights) },
    { "learn_tau", offsetof(tce_mp_options, learn_tau) },
    { "learn_delay", offsetof(tce_mp_options, learn_delay) },
};

static const field NUMBERS[] = {
    { "tau", offsetof(tce_mp_options, tau) },
    { "delay", offsetof(tce_mp_options, delay) },
    { "dt", offsetof(tce_mp_options, dt) },
    { "alpha", offsetof(tce_mp_options, alpha) },
    { "alpha_phase", offsetof(tce_mp_options, alpha_phase) },
    { "basis_bandwidth_factor", offsetof(tce_mp_options, basis_bandwidth_factor) },
    { "weights_scale", offsetof(tce_mp_options, weights_scale) },
    { "goal_scale", offsetof(tce_mp_options, goal_scale) },
};

enum {
    N_INTEGERS = sizeof INTEGERS / sizeof INTEGERS[0],
    N_NUMBERS = sizeof NUMBERS / sizeof NUMBERS[0]
};

/* name [NAME_SIZE] = "<prefix>.<option>" */
static tce_status full_name(const char *prefix, const char *option, char *name)
{
    const int length = snprintf(name, NAME_SIZE, "%s.%s", prefix, option);
    if (length < 0 || length >= NAME_SIZE)
        return tce_fail(TCE_E_VALUE,
                        "prefix has %zu characters: the name of %s would be longer than %d",
                        strlen(prefix), option, NAME_SIZE - 1);
    return TCE_OK;
}

tce_status tce_mp_save(const tce_mp *mp, tce_store *store, const char *prefix)
{
    char name[NAME_SIZE];
    tce_status status = tce__check_pointer("mp", mp);
    if (status == TCE_OK)
        status = tce__check_pointer("store", store);
    if (status == TCE_OK)
        status = tce__check_pointer("prefix", prefix);

    for (size_t i = 0; i < N_INTEGERS && status == TCE_OK; i++) {
        status = full_name(prefix, INTEGERS[i].name, name);
        if (status == TCE_OK)
            status = tce_store_put(store, name, TCE_STORE_I32, 0, NULL,
                                   (const char *)&mp->options + INTEGERS[i].offset);
    }
    for (size_t i = 0; i < N_NUMBERS && status == TCE_OK; i++) {
        status = full_name(prefix, NUMBERS[i].name, name);
        if (status == TCE_OK)
            status = tce_store_put(store, name, TCE_STORE_F64, 0, NULL,
                                   (const char *)&mp->options + NUMBERS[i].offset);
    }
    if (status == TCE_OK && mp->options.weights_scales) {
        status = full_name(prefix, "weights_scales", name);
        if (status == TCE_OK)
            status = tce_store_put(store, name, TCE_STORE_F64, 1, &mp->B, mp->weights_scales);
    }
    return status;
}

/* scales [MAX_BASIS] when the store has them; *out_found says whether */
static tce_status read_scales(const tce_store *store, const char *prefix, int32_t n_basis,
                              double *scales, int *out_found)
{
    char name[NAME_SIZE];
    tce_store_array array = TCE_INIT(tce_store_array);
    tce_status status = full_name(prefix, "weights_scales", name);
    if (status != TCE_OK)
        return status;

    *out_found = tce_store_get(store, name, &array) == TCE_OK;
    if (!*out_found)
        return TCE_OK;
    status = tce__check_int("n_basis in the store", n_basis, 1, TCE_MP_MAX_BASIS);
    return status == TCE_OK ? tce_store_read(store, name, TCE_STORE_F64, (size_t)n_basis, scales)
                            : status;
}

tce_status tce_mp_create_from(const tce_store *store, const char *prefix, const tce_hooks *hooks,
                              tce_mp **out)
{
    char name[NAME_SIZE];
    tce_mp_options options;
    tce_status status = tce__check_pointer("out", out);
    if (status != TCE_OK)
        return status;
    *out = NULL;
    tce_mp_options_init(&options, sizeof options);
    status = tce__check_pointer("store", store);
    if (status == TCE_OK)
        status = tce__check_pointer("prefix", prefix);

    for (size_t i = 0; i < N_INTEGERS && status == TCE_OK; i++) {
        status = full_name(prefix, INTEGERS[i].name, name);
        if (status == TCE_OK)
            status = tce_store_read(store, name, TCE_STORE_I32, 1,
                                    (char *)&options + INTEGERS[i].offset);
    }
    for (size_t i = 0; i < N_NUMBERS && status == TCE_OK; i++) {
        status = full_name(prefix, NUMBERS[i].name, name);
        if (status == TCE_OK)
            status = tce_store_read(store, name, TCE_STORE_F64, 1,
                                    (char *)&options + NUMBERS[i].offset);
    }

    double scales[TCE_MP_MAX_BASIS];
    int found = 0;
    if (status == TCE_OK)
        status = read_scales(store, prefix, options.n_basis, scales, &found);
    if (status != TCE_OK)
        return status;
    if (found)
        options.weights_scales = scales;
    return tce_mp_create(&options, hooks, out);
}
