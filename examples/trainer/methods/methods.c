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
    static const char *const OF_A_RUN[] = { "iteration", "env_steps", "eval_*", NULL };
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
