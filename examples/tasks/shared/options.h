/*
 * What every task does the same way: options, "key=value key=value", and refusing steps outside of
 * an episode.
 */
#ifndef TASKS_OPTIONS_H
#define TASKS_OPTIONS_H

#include <stddef.h>

#include <tce/env.h>

/* An option lies in the struct of its task, as a double or, when it is a flag, as an int. */
typedef struct task_option {
    const char *key;
    size_t offset;
    int is_flag;
    double usual;       /* when it is not given */
    double least, most; /* of a number; a flag is 0 or 1 */
} task_option;

/* The option that is called as its field. */
#define TASK_NUMBER(TYPE, FIELD, USUAL, LEAST, MOST)         \
    {                                                        \
#FIELD, offsetof(TYPE, FIELD), 0, USUAL, LEAST, MOST \
    }
#define TASK_FLAG(TYPE, FIELD, USUAL)                     \
    {                                                     \
#FIELD, offsetof(TYPE, FIELD), 1, USUAL, 0.0, 1.0 \
    }

/*
 * Sets the options of a task to their usual values, then reads text (NULL: nothing). Unknown key,
 * no number, out of range: TCE_E_VALUE, with the remedy.
 */
tce_status task_options_read(const char *task, const char *text, size_t n,
                             const task_option *options, void *instance);

/*
 * Before a step: TCE_E_STATE when the episode is over. A task begins its life as after an end, so
 * that its first step needs a reset too.
 */
tce_status task_check_running(const char *task, int over);

#endif
