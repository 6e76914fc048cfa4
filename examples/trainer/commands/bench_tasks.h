/*
 * tce bench --tasks: see bench_tasks.c.
 */
#ifndef TRAINER_BENCH_TASKS_H
#define TRAINER_BENCH_TASKS_H

#include <tce/env.h>

#include "../../tasks/shared/step_cost.h"
#include "settings/settings.h"

/*
 * All tasks of the settings' library, or `only` one, with the settings' options and threads;
 * returns the exit status.
 */
int bench_tasks(const settings *s, const char *only, int64_t rounds, int json);

/* What times mj_step in the library that the table lies in; NULL when it has no MuJoCo. */
tasks_step_cost_function step_cost_of(const tce_env_vtable *vtable);

#endif
