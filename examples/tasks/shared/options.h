/*
 * What every task does the same way: options, "key=value key=value", and refusing steps outside of
 * an episode.
 */
#ifndef TASKS_OPTIONS_H
#define TASKS_OPTIONS_H

#include <tce/env.h>

typedef struct task_option {
    const char *key;
    double *value; /* holds the default, gets what is given */
    double least, most;
} task_option;

/*
 * Reads text (NULL: nothing) into the options of a task. Unknown key, no number, out of range:
 * TCE_E_VALUE, with the remedy.
 */
tce_status task_options_read(const char *task, const char *text, size_t n,
                             const task_option *options);

/*
 * Before a step: TCE_E_STATE when the episode is over. A task begins its life as after an end, so
 * that its first step needs a reset too.
 */
tce_status task_check_running(const char *task, int over);

#endif
