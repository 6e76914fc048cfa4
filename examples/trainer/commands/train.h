/*
 * What the command line of `tce train` asks for, and queues of it.
 */
#ifndef TRAINER_TRAIN_H
#define TRAINER_TRAIN_H

#include "queue/queue.h"

/* Overrides made of options. */
enum { SEED, THREADS, STEPS, LIBRARY, INIT, TASK, N_OVERRIDES };

enum { MAX_GRIDS = 16 };

typedef struct train_options {
    const char *out, *resume, *seeds, *tasks, *log;
    const char *grids[MAX_GRIDS]; /* "section.key=value,value" */
    int n_grids, n_jobs, quiet, restart, extend;
    queue_part part; /* --array */
    int n_configs;   /* of the arguments, which come first */
    int n;           /* CONFIGs and overrides, those of the options last */
    char **arguments;
    char storage[N_OVERRIDES][TEXT_SIZE + 64]; /* overrides made of options */
} train_options;

/* Every CONFIG with every combination of --grid and the tasks of --task. */
tce_status train_plan(const train_options *o, queue_plan *out);

/* A new queue, or with --resume one that is there and the same. Returns the exit status. */
int train_queue_new(const train_options *o, const queue_plan *plan);
/* Goes on with the queue in o->resume. */
int train_queue_again(const train_options *o);

/* A run of the queue in the folder `context`, in this process and on this rank alone: a job_train. */
tce_status train_entry(void *context, const job_order *order, const run_observer *observer,
                       run_result *out);

#endif
