/*
 * What mj_step costs, for `tce bench --tasks`. Without MuJoCo's types: a program finds
 * tce_tasks_step_cost in the library by its name.
 */
#ifndef TASKS_STEP_COST_H
#define TASKS_STEP_COST_H

#include <stdint.h>

/* Sums over all threads since measuring began. */
typedef struct tasks_step_cost {
    double seconds;   /* processor time inside mj_step */
    int64_t n_steps;  /* physics steps of the tasks */
    char version[32]; /* of MuJoCo */
} tasks_step_cost;

/*
 * measure 1: resets the sums; from now on the steps of the tasks are timed. measure 0: no
 * more. *out: the sums until now. Results of tasks do not change. Not during a rollout.
 */
typedef void (*tasks_step_cost_function)(int32_t measure, tasks_step_cost *out);
void tce_tasks_step_cost(int32_t measure, tasks_step_cost *out);

#endif
