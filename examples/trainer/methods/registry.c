/*
 * The methods there are.
 */
#include "methods/methods.h"

const method *method_of(const settings *s)
{
    return s->run.method == METHOD_BBRL ? &METHOD_TABLE_BBRL : &METHOD_TABLE_TCE;
}

size_t method_n_phases(const method *way)
{
    size_t n = 0;
    while (way->phases[n])
        n++;
    return n;
}
