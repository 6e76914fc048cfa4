/*
 * Life cycle of a rollout: the environments are made one after the other; the first one's spec is
 * checked and copied, those of the others must have the same sizes. What fails on the way is
 * undone.
 */
#include "rollout/internal.h"

#include <string.h>

/* Most environments of one handle. */
#define MAX_ENVS 1000000

void tce_rollout_options_init(tce_rollout_options *options, size_t struct_size)
{
    const tce_rollout_options defaults = { .n_envs = 1, .on_fault = TCE_ROLLOUT_FAIL };

    tce__struct_init(options, struct_size, &defaults, sizeof defaults);
}

/* ---- making environments --------------------------------------------------------------------- */

/* One size of environment i against environment 0. */
static tce_status compare_size(const char *name, int32_t value, int32_t first)
{
    return value == first
               ? TCE_OK
               : tce_fail(TCE_E_ENV, "%s = %d, environment 0 has %d", name, (int)value, (int)first);
}

static tce_status compare_specs(const tce_env_spec *spec, const tce_env_spec *first)
{
    tce_status status = compare_size("n_obs", spec->n_obs, first->n_obs);
    if (status == TCE_OK)
        status = compare_size("n_dof", spec->n_dof, first->n_dof);
    if (status == TCE_OK)
        status = compare_size("n_action", spec->n_action, first->n_action);
    if (status == TCE_OK)
        status = compare_size("n_steps", spec->n_steps, first->n_steps);
    if (status == TCE_OK)
        status = compare_size("n_metrics", spec->n_metrics, first->n_metrics);
    if (status != TCE_OK)
        return status;
    return TCE_OK;
}

/* An instance and its spec; neither is left behind on failure. */
static tce_status make_instance(const tce_env_vtable *table, const tce_rollout_options *options,
                                size_t i, void **out, tce_env_spec *out_spec)
{
    tce__aside aside;

    tce__aside_put(&aside);
    const tce_status status = tce__env_create(table, options->user, options->settings, out,
                                              out_spec);
    if (status != TCE_OK)
        return tce_fail(status, "environment %zu of \"%s\": %s", (size_t)options->first_env + i,
                        table->name, tce_error_message());
    tce__aside_return(&aside);
    return TCE_OK;
}

/* ---- the block ------------------------------------------------------------------------------- */

/*
 * Copies of the arrays of `given`, the task's own spec, and *spec with them; while measuring only
 * their size.
 */
static void layout_spec(const tce_env_spec *given, tce_env_spec *spec, tce__arena *arena)
{
    const size_t n_metrics = (size_t)given->n_metrics;
    const size_t n_context = (size_t)given->n_context;
    const size_t n_action = (size_t)given->n_action;
    const char **names = tce__arena_take(arena, n_metrics, sizeof *names);
    int32_t *context = tce__arena_take(arena, n_context, sizeof *context);
    double *low = tce__arena_doubles(arena, n_action);
    double *high = tce__arena_doubles(arena, n_action);

    for (size_t i = 0; i < n_metrics; i++) {
        const size_t size = strlen(given->metric_names[i]) + 1;
        char *name = tce__arena_take(arena, size, 1);
        if (arena->base) {
            memcpy(name, given->metric_names[i], size);
            names[i] = name;
        }
    }
    if (!arena->base)
        return;
    if (n_context > 0)
        memcpy(context, given->context, n_context * sizeof *context);
    if (n_action > 0) {
        memcpy(low, given->action_low, n_action * sizeof *low);
        memcpy(high, given->action_high, n_action * sizeof *high);
    }
    *spec = *given;
    spec->metric_names = names;
    spec->context = context;
    spec->action_low = low;
    spec->action_high = high;
}

static tce_rollout *layout(tce_rollout *rollout, const tce_env_spec *given, tce__arena *arena)
{
    const size_t n = rollout->n_envs;
    const size_t O = (size_t)given->n_obs;
    const size_t D = (size_t)given->n_dof;
    tce_rollout *handle = tce__arena_take(arena, 1, sizeof *handle);

    rollout->instances = tce__arena_take(arena, n, sizeof *rollout->instances);
    rollout->episodes = tce__arena_take(arena, n, sizeof *rollout->episodes);
    rollout->events = tce__arena_take(arena, n, sizeof *rollout->events);
    rollout->steps = tce__arena_take(arena, n, sizeof *rollout->steps);
    rollout->states = tce__arena_take(arena, n, sizeof *rollout->states);
    rollout->ends = tce__arena_take(arena, n, sizeof *rollout->ends);
    rollout->statuses = tce__arena_take(arena, n, sizeof *rollout->statuses);
    rollout->messages = tce__arena_take(arena, n, TCE__ROLLOUT_MESSAGE);
    rollout->obs = tce__arena_doubles(arena, n * O);
    rollout->scratch = tce__arena_doubles(arena, n * (O + 2 * D));
    layout_spec(given, &rollout->spec, arena);
    return handle;
}

/* ---- life cycle ------------------------------------------------------------------------------ */

static tce_status read_options(const tce_rollout_options *options, tce_rollout_options *out)
{
    tce_rollout_options_init(out, sizeof *out);
    tce_status status = tce__struct_read(options, "tce_rollout_options", sizeof *out, out);
    if (status == TCE_OK)
        status = tce_env_check(out->vtable);
    if (status == TCE_OK)
        status = tce__check_int("n_envs", out->n_envs, 1, MAX_ENVS);
    if (status != TCE_OK)
        return status;
    if (out->on_fault != TCE_ROLLOUT_FAIL && out->on_fault != TCE_ROLLOUT_DROP)
        return tce_fail(TCE_E_ARGUMENT,
                        "on_fault = %d is neither TCE_ROLLOUT_FAIL nor TCE_ROLLOUT_DROP",
                        (int)out->on_fault);
    return TCE_OK;
}

/* Environment i, which has to agree with the first one. */
static tce_status make_another(tce_rollout *handle, const tce_rollout_options *options, size_t i)
{
    tce_env_spec spec;
    tce_status status = make_instance(&handle->table, options, i, &handle->instances[i], &spec);
    if (status != TCE_OK)
        return status;
    status = compare_specs(&spec, &handle->spec);
    if (status != TCE_OK)
        return tce_fail(status, "environment %zu of \"%s\": %s", tce__rollout_number(handle, i),
                        handle->table.name, tce_error_message());
    return TCE_OK;
}

tce_status tce_rollout_create(const tce_rollout_options *options, const tce_hooks *hooks,
                              tce_rollout **out)
{
    tce_rollout_options read;
    tce_env_spec given;
    tce__arena arena = { NULL, 0 };
    void *first = NULL;
    tce_status status = tce__check_pointer("out", out);
    if (status != TCE_OK)
        return status;
    *out = NULL;
    status = read_options(options, &read);
    if (status != TCE_OK)
        return status;

    /* the first environment tells the sizes */
    tce_rollout rollout = {
        .table = tce__env_table(read.vtable),
        .pool = read.pool,
        .seed = read.seed,
        .purpose = read.purpose,
        .first_env = read.first_env,
        .n_envs = (size_t)read.n_envs,
        .on_fault = read.on_fault,
    };
    status = make_instance(&rollout.table, &read, 0, &first, &given);
    if (status != TCE_OK)
        return status;
    (void)layout(&rollout, &given, &arena);
    status = tce__block_create(hooks, "tce_rollout", &arena, &rollout.hooks);
    if (status != TCE_OK) {
        rollout.table.destroy(first);
        return status;
    }
    tce_rollout *handle = layout(&rollout, &given, &arena);
    *handle = rollout;
    handle->instances[0] = first;

    /* the others have to agree with it */
    for (size_t i = 1; i < handle->n_envs; i++) {
        status = make_another(handle, &read, i);
        if (status != TCE_OK) {
            handle->n_envs = handle->instances[i] ? i + 1 : i;
            tce_rollout_free(handle);
            return status;
        }
    }
    *out = handle;
    return TCE_OK;
}

void tce_rollout_free(tce_rollout *rollout)
{
    if (!rollout)
        return;
    for (size_t i = rollout->n_envs; i-- > 0;)
        rollout->table.destroy(rollout->instances[i]);
    tce__block_free(&rollout->hooks, rollout);
}

/* ---- questions ------------------------------------------------------------------------------- */

const tce_env_spec *tce_rollout_spec(const tce_rollout *rollout)
{
    return rollout ? &rollout->spec : NULL;
}

tce_status tce_rollout_status(const tce_rollout *rollout, size_t i)
{
    return rollout && i < rollout->n_envs ? rollout->statuses[i] : TCE_E_ARGUMENT;
}

const char *tce_rollout_message(const tce_rollout *rollout, size_t i)
{
    return rollout && i < rollout->n_envs ? rollout->messages + i * TCE__ROLLOUT_MESSAGE : "";
}

void *tce_rollout_instance(tce_rollout *rollout, size_t i)
{
    return rollout && i < rollout->n_envs ? rollout->instances[i] : NULL;
}
