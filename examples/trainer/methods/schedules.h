/*
 * Factors of a learning rate and of a gradient.
 */
#ifndef TRAINER_SCHEDULES_H
#define TRAINER_SCHEDULES_H

#include <stdint.h>

/* 1 - (1 - last) min(done, total)/total: falls from 1 to `last`; 1 when total is 0. */
double linear_schedule(uint64_t done, uint64_t total, double last);

/* Norm clip: min(1, bound/(norm + 1e-6)); 1 when bound <= 0. */
double clip_factor(double norm, double bound);

#endif
