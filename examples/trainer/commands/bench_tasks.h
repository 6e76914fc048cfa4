/*
 * tce bench --tasks: see bench_tasks.c.
 */
#ifndef TRAINER_BENCH_TASKS_H
#define TRAINER_BENCH_TASKS_H

#include "settings/settings.h"

/*
 * All tasks of the settings' library, or `only` one, with the settings' options and threads;
 * returns the exit status.
 */
int bench_tasks(const settings *s, const char *only, int64_t rounds, int json);

#endif
