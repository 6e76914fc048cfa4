/*
 * The evaluated episodes of one run or of several, one row each: as CSV with the columns of all
 * runs, and as JSON.
 */
#ifndef TRAINER_EVAL_ROWS_H
#define TRAINER_EVAL_ROWS_H

#include "collect/collect.h"

/* A run's episodes. */
typedef struct eval_run {
    char run[TEXT_SIZE]; /* its folder */
    char task[TEXT_SIZE];
    const char *method;
    uint64_t seed, reset_seed; /* of the training and of these resets */
    size_t E, M;
    char (*names)[METRIC_NAME]; /* [M] */
    int32_t *lengths;           /* [E] 0: dropped */
    double *returns;            /* [E] */
    double *results;            /* [E, M] */
} eval_run;

/* Starts as { 0 }. */
typedef struct eval_rows {
    size_t n;
    eval_run *runs; /* [n] */
} eval_rows;

/* Copies the episodes of a run with these settings, whose run.seed is that of the resets. */
tce_status eval_rows_add(eval_rows *rows, const char *run, const settings *s, uint64_t seed,
                         const episodes *ep);
void eval_rows_free(eval_rows *rows);

/* Writes a file; "-" is stdout. TCE_E_IO. */
tce_status eval_rows_csv(const eval_rows *rows, const char *path);
tce_status eval_rows_json(const eval_rows *rows, const char *path);

#endif
