/*
 * Training methods: what the programs need of one.
 *
 * A method is one file with one `method` table. It owns its learner; the episodes come from
 * `episodes`, numbers to log go into `metrics`, its state into a store. Everything else (folders,
 * files, display, signals) lives outside of methods.
 */
#ifndef TRAINER_METHODS_H
#define TRAINER_METHODS_H

#include "collect/collect.h"

/*
 * Seconds spent in parts of an iteration: not in progress.csv, which is the same bytes on every
 * machine.
 */
typedef struct timings {
    double simulation;
    double critic;
    double policy;
    double evaluation;
} timings;

typedef struct learner learner;

/* One training method. `create` allocates all; the other calls allocate nothing that stays. */
typedef struct method {
    const char *name;
    tce_status (*create)(const settings *s, const task *t, tce_pool *pool, learner **out);
    void (*destroy)(learner *l);
    /* Iteration i = 1, 2, …: collect, learn, report. */
    tce_status (*iterate)(learner *l, int64_t i, metrics *m, timings *spent);
    /* Episodes with the mean policy; `number` keys their streams. */
    tce_status (*evaluate)(learner *l, uint64_t number, metrics *m, timings *spent);
    tce_status (*save)(const learner *l, tce_store *store);
    tce_status (*load)(learner *l, const tce_store *store);
    /* What a robot needs: policy and primitive, into an empty store. */
    tce_status (*export_policy)(const learner *l, tce_store *store);
} method;

extern const method METHOD_TABLE_TCE;
extern const method METHOD_TABLE_BBRL;

const method *method_of(const settings *s);

#endif
