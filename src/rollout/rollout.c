/*
 * Life cycle of a rollout: the environments are made one after the other; the first one's spec is checked and copied,
 * those of the others must have the same sizes. What fails on the way is undone.
 */
#include "rollout/internal.h"

#include <string.h>

/* Most environments of one handle; also the largest of a task's sizes. */
#define MAX_ENVS 1000000
#define MAX_SIZE 1000000

void tce_rollout_options_init(tce_rollout_options *options, size_t struct_size)
{
    const tce_rollout_options defaults = { .n_envs = 1, .on_fault = TCE_ROLLOUT_FAIL };

    tce__struct_init(options, struct_size, &defaults, sizeof defaults);
}

void tce_rollout_paths_init(tce_rollout_paths *paths, size_t struct_size)
{
    const tce_rollout_paths none = { 0 };

    tce__struct_init(paths, struct_size, &none, sizeof none);
}

/* ---- what a task says of itself ------------------------------------------------------------------ */

/* The sizes, and that the arrays that go with them are there. */
static tce_status check_sizes(const tce_env_spec *spec)
{
    tce_status status;

    if ((status = tce__check_int("n_obs", spec->n_obs, 1, MAX_SIZE)) ||
        (status = tce__check_int("n_dof", spec->n_dof, 1, MAX_SIZE)) ||
        (status = tce__check_int("n_action", spec->n_action, 0, MAX_SIZE)) ||
        (status = tce__check_int("n_steps", spec->n_steps, 1, INT32_MAX)) ||
        (status = tce__check_int("n_metrics", spec->n_metrics, 0, MAX_SIZE)) ||
        (status = tce__check_int("n_context", spec->n_context, 0, spec->n_obs)) ||
        (status = tce__check_int("carries_state", spec->carries_state, 0, 1)) ||
        (status = tce__check_positive("dt", spec->dt)))
        return status;
    if (spec->n_metrics > 0 && (status = tce__check_pointer("metric_names", spec->metric_names)))
        return status;
    if (spec->n_context > 0 && (status = tce__check_pointer("context", spec->context)))
        return status;
    if (spec->n_action > 0 && ((status = tce__check_pointer("action_low", spec->action_low)) ||
                               (status = tce__check_pointer("action_high", spec->action_high))))
        return status;
    return TCE_OK;
}

static tce_status check_spec(const tce_env_spec *spec, const tce_env_vtable *table)
{
    tce_status status = check_sizes(spec);
    if (status)
        return status;

    /* entries that the sizes call for */
    if (spec->n_metrics > 0 && !table->metrics)
        return tce_fail(TCE_E_ARGUMENT, "n_metrics = %d, but the table has no metrics", (int)spec->n_metrics);
    if (spec->n_action > 0 && !table->step_action)
        return tce_fail(TCE_E_ARGUMENT, "n_action = %d, but the table has no step_action", (int)spec->n_action);

    if (spec->carries_state && !(table->n_state && table->get_state && table->set_state))
        return tce_fail(TCE_E_ARGUMENT, "carries_state = 1, but the table has no n_state, get_state or set_state");

    /* what is in the arrays */
    for (int32_t i = 0; i < spec->n_metrics; i++)
        if (!spec->metric_names[i] || spec->metric_names[i][0] == '\0')
            return tce_fail(TCE_E_ARGUMENT, "metric_names[%d] is NULL or empty", (int)i);
    for (int32_t i = 0; i < spec->n_context; i++)
        if (spec->context[i] < 0 || spec->context[i] >= spec->n_obs)
            return tce_fail(TCE_E_VALUE, "context[%d] = %d, must be 0 to %d", (int)i, (int)spec->context[i],
                            (int)spec->n_obs - 1);
    for (int32_t i = 0; i < spec->n_action; i++)
        if (!(spec->action_low[i] < spec->action_high[i]))
            return tce_fail(TCE_E_VALUE, "action_low[%d] = %g, must be below action_high = %g", (int)i,
                            spec->action_low[i], spec->action_high[i]);
    return TCE_OK;
}

/* One size of environment i against environment 0. */
static tce_status compare_size(const char *name, int32_t value, int32_t first)
{
    return value == first ? TCE_OK : tce_fail(TCE_E_ENV, "%s = %d, environment 0 has %d", name, (int)value, (int)first);
}

static tce_status compare_specs(const tce_env_spec *spec, const tce_env_spec *first)
{
    tce_status status;

    if ((status = compare_size("n_obs", spec->n_obs, first->n_obs)) ||
        (status = compare_size("n_dof", spec->n_dof, first->n_dof)) ||
        (status = compare_size("n_action", spec->n_action, first->n_action)) ||
        (status = compare_size("n_steps", spec->n_steps, first->n_steps)) ||
        (status = compare_size("n_metrics", spec->n_metrics, first->n_metrics)))
        return status;
    return TCE_OK;
}

/* ---- making environments ------------------------------------------------------------------------- */

/* An instance and its spec; neither is left behind on failure. */
static tce_status make_instance(const tce_env_vtable *table, const tce_rollout_options *options, size_t i, void **out,
                                tce_env_spec *out_spec)
{
    const tce_env_spec empty = { .struct_size = sizeof empty };
    tce__aside aside;
    void *instance = NULL;

    tce__aside_put(&aside);
    *out_spec = empty;
    tce_status status = tce__judge("create", table->create(options->user, options->settings, &instance));
    if (!status && !instance)
        status = tce_fail(TCE_E_ENV, "create returned TCE_OK but no instance");
    if (!status && (status = tce__judge("spec", table->spec(instance, out_spec))) == TCE_OK)
        status = check_spec(out_spec, table);
    if (status) {
        if (instance)
            table->destroy(instance);
        return tce_fail(status, "environment %zu of \"%s\": %s", i, table->name, tce_error_message());
    }
    tce__aside_return(&aside);
    *out = instance;
    return TCE_OK;
}

/* ---- the block ----------------------------------------------------------------------------------- */

/* Copies of the arrays of `given`, the task's own spec, and *spec with them; while measuring only their size. */
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

/* ---- life cycle ---------------------------------------------------------------------------------- */

static tce_status read_options(const tce_rollout_options *options, tce_rollout_options *out)
{
    tce_status status;

    tce_rollout_options_init(out, sizeof *out);
    if ((status = tce__struct_read(options, "tce_rollout_options", sizeof *out, out)) ||
        (status = tce_env_check(out->vtable)) || (status = tce__check_int("n_envs", out->n_envs, 1, MAX_ENVS)))
        return status;
    if (out->on_fault != TCE_ROLLOUT_FAIL && out->on_fault != TCE_ROLLOUT_DROP)
        return tce_fail(TCE_E_ARGUMENT, "on_fault = %d is neither TCE_ROLLOUT_FAIL nor TCE_ROLLOUT_DROP",
                        (int)out->on_fault);
    return TCE_OK;
}

/* As much of the task's table as this libtce knows. */
static tce_env_vtable copy_table(const tce_env_vtable *vtable)
{
    tce_env_vtable table = { 0 };

    memcpy(&table, vtable, vtable->struct_size < sizeof table ? vtable->struct_size : sizeof table);
    return table;
}

tce_status tce_rollout_create(const tce_rollout_options *options, const tce_hooks *hooks, tce_rollout **out)
{
    tce_rollout_options read;
    tce_env_spec given, other;
    tce__arena arena = { NULL, 0 };
    void *first = NULL;
    tce_status status = tce__check_pointer("out", out);
    if (status)
        return status;
    *out = NULL;
    if ((status = read_options(options, &read)))
        return status;

    /* the first environment tells the sizes */
    tce_rollout rollout = {
        .table = copy_table(read.vtable), .pool = read.pool, .seed = read.seed, .purpose = read.purpose,
        .n_envs = (size_t)read.n_envs, .on_fault = read.on_fault,
    };
    if ((status = make_instance(&rollout.table, &read, 0, &first, &given)))
        return status;
    (void)layout(&rollout, &given, &arena);
    if ((status = tce__block_create(hooks, "tce_rollout", &arena, &rollout.hooks))) {
        rollout.table.destroy(first);
        return status;
    }
    tce_rollout *handle = layout(&rollout, &given, &arena);
    *handle = rollout;
    handle->instances[0] = first;

    /* the others have to agree with it */
    for (size_t i = 1; i < handle->n_envs; i++) {
        if (!(status = make_instance(&handle->table, &read, i, &handle->instances[i], &other)) &&
            (status = compare_specs(&other, &handle->spec)))
            status = tce_fail(status, "environment %zu of \"%s\": %s", i, handle->table.name, tce_error_message());
        if (status) {
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

/* ---- questions ----------------------------------------------------------------------------------- */

size_t tce_rollout_num_envs(const tce_rollout *rollout)
{
    return rollout ? rollout->n_envs : 0;
}

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
