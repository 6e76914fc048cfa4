/*
 * What the files of `episodes` share with each other alone.
 */
#ifndef TRAINER_EPISODES_SHARED_H
#define TRAINER_EPISODES_SHARED_H

#include "collect/collect.h"

static inline size_t smaller_size(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Evaluations key their episodes in a way of their own. */
int episodes_are_evaluation(const episodes *ep);

/* States of this process's environments, where a task carries them, into their rows. */
tce_status episodes_get_states(const episodes *ep, double *states);

#endif
