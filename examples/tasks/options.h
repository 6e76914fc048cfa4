/*
 * Options of a task: "key=value key=value", read by every task the same way.
 */
#ifndef TASKS_OPTIONS_H
#define TASKS_OPTIONS_H

#include <tce/env.h>

typedef struct task_option {
    const char *key;
    double *value; /* holds the default, gets what is given */
    double least, most;
} task_option;

/* Reads text (NULL: nothing) into the options of a task. Unknown key, no number, out of range: TCE_E_VALUE, with the
 * remedy. */
tce_status task_options_read(const char *task, const char *text, size_t n, const task_option *options);

#endif
