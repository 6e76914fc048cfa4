/*
 * Commands of several ranks. The first one reads the command line, decides and prints; the others
 * wait for its orders, which they carry out with it, until it is done.
 */
#ifndef TRAINER_TOGETHER_H
#define TRAINER_TOGETHER_H

#include "run/run.h"

/* The ranks of this program; NULL: it is one process. */
ranks *together(void);

/*
 * Joins the job. Returns -1 when this process is to run the command, else its exit status: the
 * others have done what they were told, or ranks differ that must not.
 */
int together_begin(int argc, char **argv);
/* The command has ended: so do the other ranks. Returns the exit status. */
int together_end(int code);
/*
 * What is left to do is for one process: the other ranks end. Only after this may it start other
 * programs, such as one that draws; MPI bears no fork.
 */
void together_leave(void);

/* What all ranks do at once. Starts as { 0 }. */
typedef enum order_kind { ORDER_END, ORDER_TRAIN, ORDER_QUEUE, ORDER_BENCH } order_kind;

typedef struct order {
    int32_t kind; /* ORDER_… */
    int32_t start;
    int32_t code; /* with ORDER_END: the exit status of the job */
    int64_t iterations;
    settings s;
    char folder[RUN_PATH];
} order;

/* From the first rank to the others, which carry it out too. */
tce_status together_order(const order *o);

/* What the other ranks do; what fails, fails everywhere, and the first one says so. */
tce_status train_together(const order *o, const run_observer *observer, run_result *out);
/* The other ranks carry out runs that the first one hands out. */
tce_status queue_together(const order *o);
tce_status bench_together(const order *o, const task *t);

#endif
