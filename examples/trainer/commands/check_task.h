/*
 * Whether a task keeps its contract, found out in a process of its own.
 */
#ifndef TRAINER_CHECK_TASK_H
#define TRAINER_CHECK_TASK_H

#include <tce/env.h>

#include "tools/program.h"

/*
 * Prints the findings of a task under its name; *n_faults counts on. A task that crashes, exits or
 * takes longer than limit seconds is a finding that names the call. It forks: no pool may exist
 * yet.
 */
tce_status check_task(const tce_env_vtable *vtable, const char *options, int limit, int *n_faults);

#endif
