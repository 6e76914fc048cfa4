/*
 * Making an environment: its instance, and whether its spec makes sense.
 */
#include "env/internal.h"

#include <string.h>

#include "store/internal.h"

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
    tce_status status = tce__check_int("n_obs", spec->n_obs, 1, MAX_SIZE);
    if (status == TCE_OK)
        status = tce__check_int("n_dof", spec->n_dof, 0, MAX_SIZE);
    if (status == TCE_OK)
        status = tce__check_int("n_action", spec->n_action, 0, MAX_SIZE);
    if (status == TCE_OK)
        status = tce__check_int("n_steps", spec->n_steps, 1, INT32_MAX);
    if (status == TCE_OK)
        status = tce__check_int("n_metrics", spec->n_metrics, 0, MAX_SIZE);
    if (status == TCE_OK)
        status = tce__check_int("n_context", spec->n_context, 0, spec->n_obs);
    if (status == TCE_OK)
        status = tce__check_int("carries_state", spec->carries_state, 0, 1);
    if (status == TCE_OK && spec->velocity_end != 0)
        status = tce__check_int("velocity_end", spec->velocity_end, spec->n_dof, spec->n_obs);
    if (status == TCE_OK)
        status = tce__check_positive("dt", spec->dt);
    if (status == TCE_OK && spec->n_metrics > 0)
        status = tce__check_pointer("metric_names", spec->metric_names);
    if (status == TCE_OK && spec->n_context > 0)
        status = tce__check_pointer("context", spec->context);
    if (status == TCE_OK && spec->n_action > 0)
        status = tce__check_pointer("action_low", spec->action_low);
    if (status == TCE_OK && spec->n_action > 0)
        status = tce__check_pointer("action_high", spec->action_high);
    if (status != TCE_OK)
        return status;
    return TCE_OK;
}

/* Metrics are columns of tables: each has a name of its own that a column can have. */
static tce_status check_metric_names(const tce_env_spec *spec)
{
    for (int32_t i = 0; i < spec->n_metrics; i++) {
        const char *name = spec->metric_names[i];
        if (!name || name[0] == '\0')
            return tce_fail(TCE_E_ARGUMENT, "metric_names[%d] is NULL or empty: name every metric",
                            (int)i);
        if (tce__name_check(name, TCE_E_VALUE) != TCE_OK)
            return tce_fail(TCE_E_VALUE,
                            "metric_names[%d] is not a printable UTF-8 text of at most %d bytes: "
                            "choose another name",
                            (int)i, TCE__STORE_MAX_NAME);
        if (strpbrk(name, ",\""))
            return tce_fail(
                TCE_E_VALUE,
                "metric_names[%d] = \"%.60s\" has a comma or a quote, which a column of "
                "a table cannot have: choose another name",
                (int)i, name);
        for (int32_t k = 0; k < i; k++)
            if (strcmp(name, spec->metric_names[k]) == 0)
                return tce_fail(TCE_E_VALUE,
                                "metric_names[%d] and [%d] are both \"%.60s\": give each metric a "
                                "name of its own",
                                (int)k, (int)i, name);
    }
    return TCE_OK;
}

static tce_status check_spec(const tce_env_spec *spec, const tce_env_vtable *table)
{
    tce_status status = check_sizes(spec);
    if (status != TCE_OK)
        return tce_fail(status, "%s: have spec set it", tce_error_message());

    if (spec->n_dof == 0 && spec->n_action == 0)
        return tce_fail(TCE_E_VALUE,
                        "n_dof and n_action are both 0: have spec set what a step takes, "
                        "a desired position or a raw action");

    /* entries that the sizes call for */
    if (spec->n_dof > 0 && !table->step)
        return tce_fail(TCE_E_ARGUMENT,
                        "n_dof = %d, but the table has no step: add it, or set n_dof = 0",
                        (int)spec->n_dof);
    if (spec->n_metrics > 0 && !table->metrics)
        return tce_fail(
            TCE_E_ARGUMENT,
            "n_metrics = %d, but the table has no metrics: add it, or set n_metrics = 0",
            (int)spec->n_metrics);
    if (spec->n_action > 0 && !table->step_action)
        return tce_fail(
            TCE_E_ARGUMENT,
            "n_action = %d, but the table has no step_action: add it, or set n_action = 0",
            (int)spec->n_action);

    if (spec->carries_state && !(table->n_state && table->get_state && table->set_state))
        return tce_fail(TCE_E_ARGUMENT,
                        "carries_state = 1, but the table has no n_state, get_state or set_state: "
                        "add all three");

    /* what is in the arrays */
    status = check_metric_names(spec);
    if (status != TCE_OK)
        return status;
    for (int32_t i = 0; i < spec->n_context; i++)
        if (spec->context[i] < 0 || spec->context[i] >= spec->n_obs)
            return tce_fail(
                TCE_E_VALUE,
                "context[%d] = %d, must be 0 to %d: have spec list entries of the observation",
                (int)i, (int)spec->context[i], (int)spec->n_obs - 1);
    for (int32_t i = 0; i < spec->n_action; i++)
        if (!(spec->action_low[i] < spec->action_high[i]))
            return tce_fail(
                TCE_E_VALUE,
                "action_low[%d] = %g, must be below action_high = %g: have spec set both", (int)i,
                spec->action_low[i], spec->action_high[i]);
    return TCE_OK;
}

tce_status tce__env_make(const tce_env_vtable *table, void *user, const char *settings, void **out)
{
    void *instance = NULL;
    tce_status status = tce__judge("create", table->create(user, settings, &instance));

    if (status == TCE_OK && !instance)
        status = tce_fail(TCE_E_ENV, "create returned TCE_OK but no instance");
    if (status != TCE_OK) {
        if (instance)
            table->destroy(instance);
        return status;
    }
    *out = instance;
    return TCE_OK;
}

tce_status tce__env_ask(const tce_env_vtable *table, void *instance, tce_env_spec *out)
{
    const tce_env_spec empty = { .struct_size = sizeof empty };

    *out = empty;
    const tce_status status = tce__judge("spec", table->spec(instance, out));
    return status != TCE_OK ? status : check_spec(out, table);
}

tce_status tce__env_create(const tce_env_vtable *table, void *user, const char *settings,
                           void **out, tce_env_spec *out_spec)
{
    void *instance;
    tce_status status = tce__env_make(table, user, settings, &instance);

    if (status != TCE_OK)
        return status;
    status = tce__env_ask(table, instance, out_spec);
    if (status != TCE_OK) {
        table->destroy(instance);
        return status;
    }
    *out = instance;
    return TCE_OK;
}
