/*
 * What can be asked of any method.
 */
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
