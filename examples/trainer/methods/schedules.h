/*
 * What changes over a run: factors of a learning rate and of a gradient, the entropy that a policy
 * keeps.
 */
#ifndef TRAINER_SCHEDULES_H
#define TRAINER_SCHEDULES_H

#include <stddef.h>
#include <stdint.h>

/* 1 - (1 - last) min(done, total)/total: falls from 1 to `last`; 1 when total is 0. */
double linear_schedule(uint64_t done, uint64_t total, double last);

/* Norm clip: min(1, bound/(norm + 1e-6)); 1 when bound <= 0. */
double clip_factor(double norm, double bound);

typedef struct entropy_schedule {
    int32_t kind;       /* ENTROPY_… of settings.h */
    size_t dim;         /* P */
    double initial;     /* H_0 */
    double target;      /* linear: of the whole policy; exponential: of each dimension */
    double temperature; /* of the exponential one */
    uint64_t length;    /* iterations, at least 1 */
} entropy_schedule;

/*
 * H_min of iteration i = 1, 2, ...; it stays where it is after the last. Minus infinity: no bound.
 */
double entropy_schedule_at(const entropy_schedule *s, uint64_t i);

#endif
