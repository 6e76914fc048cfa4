/*
 * Numbers of an iteration by name.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/metrics.h"

/* Room for one number more; sets m->failed when there is no memory. */
static int make_room(metrics *m)
{
    if (m->n < m->capacity)
        return 1;
    const int32_t capacity = m->capacity ? 2 * m->capacity : 32;
    const char **names = realloc(m->names, (size_t)capacity * sizeof *names);
    if (names)
        m->names = names;
    double *values = realloc(m->values, (size_t)capacity * sizeof *values);
    if (values)
        m->values = values;
    if (!names || !values) {
        m->failed = 1;
        return 0;
    }
    m->capacity = capacity;
    return 1;
}

void metrics_put(metrics *m, const char *name, double value)
{
    for (int32_t i = 0; i < m->n; i++)
        if (strcmp(m->names[i], name) == 0) {
            m->values[i] = value;
            return;
        }
    if (!make_room(m))
        return;
    m->names[m->n] = name;
    m->values[m->n++] = value;
}

double metrics_find(const metrics *m, const char *name, size_t length)
{
    for (int32_t i = 0; i < m->n; i++)
        if (strncmp(m->names[i], name, length) == 0 && m->names[i][length] == '\0')
            return m->values[i];
    return NAN;
}

double metrics_get(const metrics *m, const char *name)
{
    return metrics_find(m, name, strlen(name));
}

tce_status metrics_check(const metrics *m)
{
    return m->failed ? tce_fail(TCE_E_NOMEM, "no memory for the numbers of an iteration") : TCE_OK;
}

void metrics_free(metrics *m)
{
    free(m->names);
    free(m->values);
    memset(m, 0, sizeof *m);
}
