/*
 * Environments that play what a case has recorded, whatever is done in them: step k of environment
 * i shows obs[i, k] and brings reward[i, k]; when that was an end, the environment continues from
 * reset[i, k + 1].
 */
#ifndef REPLAY_TAPE_H
#define REPLAY_TAPE_H

#include "replay.h"

typedef struct replay_tape {
    size_t N, K, O, A;    /* environments, steps of each */
    const double *reset;  /* [N, K+1, O] */
    const double *obs;    /* [N, K, O] */
    const double *reward; /* [N, K] */
    const uint8_t *terminated, *truncated;
    const double *low, *high; /* [A] */
    double *sent;             /* [K, N, A] actions that came */
    size_t n_made;            /* environments so far */
} replay_tape;

/* The task; `user` is the tape. */
extern const tce_env_vtable REPLAY_TAPE;

/* The field "tape", for actions [A] between action_low and action_high, or -1 and 1. */
void replay_read_tape(replay_case *c, size_t A, replay_tape *t);

#endif
