/*
 * Numbers of an iteration by name, the clock, and memory for arrays.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "trainer.h"

void metrics_put(metrics *m, const char *name, double value)
{
    for (int32_t i = 0; i < m->n; i++)
        if (strcmp(m->names[i], name) == 0) {
            m->values[i] = value;
            return;
        }
    if (m->n == MAX_METRICS)
        return;
    m->names[m->n] = name;
    m->values[m->n++] = value;
}

double metrics_get(const metrics *m, const char *name)
{
    for (int32_t i = 0; i < m->n; i++)
        if (strcmp(m->names[i], name) == 0)
            return m->values[i];
    return NAN;
}

double now_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void *array_of(size_t count, size_t size, int *failed)
{
    void *block = calloc(count ? count : 1, size);
    if (!block)
        *failed = 1;
    return block;
}

double *array_of_doubles(size_t count, int *failed)
{
    return array_of(count, sizeof(double), failed);
}
