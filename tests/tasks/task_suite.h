/*
 * What the suites of tasks share: the task library that TCE_TASKS names, open during each test,
 * environments from it, and what every task is asked: to refuse what it cannot make, and to give
 * the same bytes on any number of threads.
 */
#ifndef TCE_TESTS_TASK_SUITE_H
#define TCE_TESTS_TASK_SUITE_H

#include <check.h>

#include <tce/env.h>

enum { TASK_N_ENVS = 4 }; /* of task_check_threads */

/* The library during a test of a task_case. */
extern tce_env_library *task_library;

/* test_case whose tests begin with task_library open; it is closed after them. */
TCase *task_case(Suite *suite, const char *name, double timeout);

const tce_env_vtable *task_find(const char *name);

/* An environment of the task; settings may be NULL. task->destroy when done. */
void *task_create(const tce_env_vtable *task, const char *settings);

/*
 * Fails the test unless the task refuses these settings with the status and a message that has
 * `part` in it.
 */
void task_refuses(const tce_env_vtable *task, const char *settings, tce_status status,
                  const char *part);

/* Fails the test when tce_env_inspect finds anything, be it a remark. */
void task_inspect(const tce_env_vtable *task, const char *settings);

/*
 * Fails the test unless one thread and three give the same bytes: rounds of TASK_N_ENVS episodes, T
 * steps each, that hold their start while the first joint moves by `drift` a step. out_rewards
 * [TASK_N_ENVS, T] are those of the last round.
 */
void task_check_threads(const tce_env_vtable *task, const char *settings, uint64_t n_rounds,
                        size_t T, double drift, double *out_rewards);

#endif
