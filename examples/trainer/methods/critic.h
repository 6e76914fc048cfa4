/*
 * A value function: a network with one output, and the running normaliser of its inputs. The caller
 * normalises them when it chooses, so that each batch keeps the statistics of its own time.
 */
#ifndef TRAINER_CRITIC_H
#define TRAINER_CRITIC_H

#include <tce/tce.h>

#include "tools/memory.h"

typedef struct critic_options {
    int32_t n_inputs;
    int32_t n_hidden;
    const int32_t *hidden; /* [n_hidden] */
    int32_t activation, precision, start;
    int32_t max_rows; /* most rows of an epoch */
    tce_pool *pool;
} critic_options;

/* The handles are owned, the arrays are of the memory. */
typedef struct critic {
    tce_net *net;
    tce_normaliser *normaliser; /* divisor n - 1 */
    size_t max_rows;
    double *work;   /* of tce_net_evaluate */
    uint32_t *rows; /* [max_rows] a permutation */
    double *old;    /* [max_rows] values before an update */
} critic;

/* critic_free also after a failure. */
tce_status critic_create(critic *c, const critic_options *options, memory *m);
/* Counts in m what it will take. */
tce_status critic_measure(const critic_options *options, memory *m);
void critic_free(critic *c);

/* Their values before an update, for critic_fit.old_values: they stay until the next call. */
tce_status critic_remember(critic *c, size_t n, const double *x, const double **out);

/* out [n] of normalised inputs x [n, n_inputs]; any n up to max_rows */
tce_status critic_value(critic *c, size_t n, const double *x, double *out);

typedef struct critic_fit {
    size_t n_minibatches;
    double clip_norm; /* 0: no clip */
    tce_adam_options adam;
    double value_clip;        /* of values around old_values [rivals 8]; 0: none */
    const double *old_values; /* [n], before the first epoch; NULL without it */
} critic_fit;

/*
 * One epoch of regression of normalised inputs x [n, n_inputs] to target [n]: an Adam step on the
 * mean of squares of each minibatch, of which the clipped ones have no gradient. With more than one
 * the rows are permuted by `random` first, and the first n mod n_minibatches parts are one longer.
 * out_loss: mean over the rows, before each step. TCE_E_NOT_FINITE: the gradient of a minibatch;
 * the steps before it are done.
 */
tce_status critic_fit_epoch(critic *c, const critic_fit *fit, size_t n, const double *x,
                            const double *target, tce_random *random, double *out_loss);

/* All state: the network under "<prefix>.net", the normaliser under "<prefix>". */
tce_status critic_save(const critic *c, tce_store *store, const char *prefix);
tce_status critic_load(critic *c, const tce_store *store, const char *prefix);

#endif
