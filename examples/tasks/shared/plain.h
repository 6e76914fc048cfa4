/*
 * What the tasks without MuJoCo share: an instance is a struct with its options and an array
 * `state` of doubles, which is all that changes.
 */
#ifndef TASKS_PLAIN_H
#define TASKS_PLAIN_H

#include <stdlib.h>
#include <string.h>

#include "options.h"

/*
 * An instance of `size` bytes, zeros but for its option, read from `settings`. free() destroys it.
 */
tce_status plain_create(const char *task, size_t size, const char *settings,
                        const task_option *option, void **out);

/* n_state and get_state of instances of this type. */
#define PLAIN_STATE(TYPE)                                                        \
    static size_t n_state(void *instance)                                        \
    {                                                                            \
        (void)instance;                                                          \
        return sizeof((TYPE *)instance)->state / sizeof(double);                 \
    }                                                                            \
    static tce_status get_state(void *instance, double *out)                     \
    {                                                                            \
        memcpy(out, ((TYPE *)instance)->state, sizeof((TYPE *)instance)->state); \
        return TCE_OK;                                                           \
    }

/* The entries that every such task has, under the names of its functions. */
#define PLAIN_ENTRIES                                                                             \
    .struct_size = sizeof(tce_env_vtable), .abi = TCE_ENV_ABI, .create = create, .destroy = free, \
    .spec = spec, .reset = reset, .step_action = step_action, .n_state = n_state,                 \
    .get_state = get_state, .set_state = set_state

#endif
