/*
 * What mj_step costs alone, for `tce bench --tasks`. Without MuJoCo's types: a program finds
 * tce_tasks_physics in the library by its name.
 */
#ifndef TASKS_PHYSICS_H
#define TASKS_PHYSICS_H

#include <stdint.h>

/* Sums over all threads since measuring began. */
typedef struct tasks_physics {
    double bare;     /* processor seconds of bare mj_step calls */
    int64_t n_bare;  /* how many these were */
    int64_t n_calls; /* mj_step calls of the tasks */
    /* stretches after which the repetition was not where the task was: its cost is approximate */
    int64_t n_different;
    char version[32]; /* of MuJoCo */
} tasks_physics;

/*
 * measure 1: starts the sums anew; from now on the physics of the tasks is repeated alone, in
 * stretches of a few hundred steps, and timed. Results of tasks do not change. measure 0: no more.
 * *out: the sums until now. Not during a roll-out.
 */
typedef void (*tasks_physics_function)(int32_t measure, tasks_physics *out);
void tce_tasks_physics(int32_t measure, tasks_physics *out);

#endif
