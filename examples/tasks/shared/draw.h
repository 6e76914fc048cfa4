/*
 * The uniform numbers of a reset, from the random stream or given one by one.
 */
#ifndef TASKS_DRAW_H
#define TASKS_DRAW_H

#include <tce/random.h>

/*
 * Uniform numbers from elsewhere, for tests: the tasks that read models take a pointer to this as
 * `user` of create(); NULL: none. next returns the next number in [0, 1).
 */
typedef struct task_draws {
    double (*next)(void *context);
    void *context;
    /*
     * 1: next returns the number itself instead of its place between low and high; nothing is
     * rejected
     */
    int exact;
} task_draws;

/*
 * low + (high - low) u, u from draws when there are any and from random otherwise; low = high takes
 * a number too. With exact draws the number as it is.
 */
double task_draw(const task_draws *draws, tce_random *random, double low, double high);

#endif
