/*
 * What can be asked of any method.
 */
#include <string.h>

#include "methods/methods.h"

const method *method_of(const settings *s)
{
    return (const method *)s->table;
}

size_t method_n_phases(const method *way)
{
    size_t n = 0;
    while (way->phases[n])
        n++;
    return n;
}

/* Columns of any run; a '*' stands for the rest of a name. */
static const char *const OF_A_RUN[] = { "iteration", "env_steps", "dropped", "return",
                                        "length",    "eval_*",    NULL };

/* Adds a name once. */
static size_t add_name(const char *name, size_t n, size_t room, const char **out)
{
    for (size_t i = 0; i < n && i < room; i++)
        if (strcmp(out[i], name) == 0)
            return n;
    if (n < room)
        out[n] = name;
    return n + 1;
}

size_t methods_reserved(const settings_table *const *methods, size_t room, const char **out)
{
    size_t n = 0;
    for (size_t i = 0; OF_A_RUN[i]; i++)
        n = add_name(OF_A_RUN[i], n, room, out);
    for (size_t m = 0; methods[m]; m++) {
        const char *const *names = ((const method *)methods[m])->own_columns;
        for (size_t i = 0; names && names[i]; i++)
            n = add_name(names[i], n, room, out);
    }
    return n;
}

/* Whether one of the names, of which one may end in '*', is this one. */
static int is_among(const char *const *names, const char *name)
{
    for (size_t i = 0; names && names[i]; i++) {
        const size_t length = strcspn(names[i], "*");
        if (strncmp(names[i], name, length) == 0 && (names[i][length] == '*' || !name[length]))
            return 1;
    }
    return 0;
}

tce_status methods_check_metrics(const settings_table *const *methods, const tce_env_spec *spec)
{
    for (int32_t i = 0; i < spec->n_metrics; i++) {
        const char *name = spec->metric_names[i];
        int reserved = is_among(OF_A_RUN, name);
        for (size_t m = 0; methods[m]; m++)
            reserved |= is_among(((const method *)methods[m])->own_columns, name);
        if (reserved)
            return tce_fail(TCE_E_VALUE,
                            "metric_names[%d] = \"%s\" is a name that the program reserves for its "
                            "own numbers: rename the metric in the task",
                            (int)i, name);
    }
    return TCE_OK;
}
