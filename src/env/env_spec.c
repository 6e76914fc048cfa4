/*
 * Making an environment: its instance, and whether what it says of itself makes sense.
 */
#include "env/internal.h"

#include <string.h>

/* The largest of a task's sizes. */
#define MAX_SIZE 1000000

tce_env_vtable tce__env_table(const tce_env_vtable *vtable)
{
    tce_env_vtable table = { 0 };

    memcpy(&table, vtable, vtable->struct_size < sizeof table ? vtable->struct_size : sizeof table);
    return table;
}

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
        (spec->velocity_end != 0 &&
         (status = tce__check_int("velocity_end", spec->velocity_end, spec->n_dof, spec->n_obs))) ||
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
        return tce_fail(TCE_E_ARGUMENT, "n_metrics = %d, but the table has no metrics",
                        (int)spec->n_metrics);
    if (spec->n_action > 0 && !table->step_action)
        return tce_fail(TCE_E_ARGUMENT, "n_action = %d, but the table has no step_action",
                        (int)spec->n_action);

    if (spec->carries_state && !(table->n_state && table->get_state && table->set_state))
        return tce_fail(TCE_E_ARGUMENT,
                        "carries_state = 1, but the table has no n_state, get_state or set_state");

    /* what is in the arrays */
    for (int32_t i = 0; i < spec->n_metrics; i++)
        if (!spec->metric_names[i] || spec->metric_names[i][0] == '\0')
            return tce_fail(TCE_E_ARGUMENT, "metric_names[%d] is NULL or empty", (int)i);
    for (int32_t i = 0; i < spec->n_context; i++)
        if (spec->context[i] < 0 || spec->context[i] >= spec->n_obs)
            return tce_fail(TCE_E_VALUE, "context[%d] = %d, must be 0 to %d", (int)i,
                            (int)spec->context[i], (int)spec->n_obs - 1);
    for (int32_t i = 0; i < spec->n_action; i++)
        if (!(spec->action_low[i] < spec->action_high[i]))
            return tce_fail(TCE_E_VALUE, "action_low[%d] = %g, must be below action_high = %g",
                            (int)i, spec->action_low[i], spec->action_high[i]);
    return TCE_OK;
}

tce_status tce__env_create(const tce_env_vtable *table, void *user, const char *settings,
                           void **out, tce_env_spec *out_spec)
{
    const tce_env_spec empty = { .struct_size = sizeof empty };
    void *instance = NULL;

    *out_spec = empty;
    tce_status status = tce__judge("create", table->create(user, settings, &instance));
    if (!status && !instance)
        status = tce_fail(TCE_E_ENV, "create returned TCE_OK but no instance");
    if (!status && (status = tce__judge("spec", table->spec(instance, out_spec))) == TCE_OK)
        status = check_spec(out_spec, table);
    if (status) {
        if (instance)
            table->destroy(instance);
        return status;
    }
    *out = instance;
    return TCE_OK;
}
