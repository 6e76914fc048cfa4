/*
 * The methods there are, the first being the default.
 */
#include "methods/methods.h"

const settings_table *const METHODS[] = { &METHOD_TABLE_TCE.settings, &METHOD_TABLE_BBRL.settings,
                                          NULL };

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
