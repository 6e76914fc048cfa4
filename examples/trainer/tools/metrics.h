/*
 * Numbers of an iteration by name.
 */
#ifndef TRAINER_METRICS_H
#define TRAINER_METRICS_H

#include <tce/tce.h>

/* Longest name of a column, with its final 0. */
#define METRIC_NAME 256

/*
 * Named numbers in a fixed order: the columns of progress.csv. NaN: not measured in this iteration.
 * Starts as { 0 } and grows with what is put into it; metrics_free when done.
 */
typedef struct metrics {
    int32_t n, capacity;
    int32_t failed;     /* there was no memory for a number */
    const char **names; /* [n], not copied */
    double *values;     /* [n] */
} metrics;

void metrics_put(metrics *m, const char *name, double value);
/* NaN when there is no such name, here of `length` characters. */
double metrics_get(const metrics *m, const char *name);
double metrics_find(const metrics *m, const char *name, size_t length);
/* TCE_E_NOMEM when a number found no place. */
tce_status metrics_check(const metrics *m);
void metrics_free(metrics *m);

#endif
