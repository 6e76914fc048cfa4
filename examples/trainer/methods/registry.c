/*
 * The methods there are.
 */
#include "methods/methods.h"

const method *method_of(const settings *s)
{
    return s->run.method == METHOD_BBRL ? &METHOD_TABLE_BBRL : &METHOD_TABLE_TCE;
}
