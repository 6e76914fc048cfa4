/*
 * A table for each of the fifty tasks: they differ by name, description, and the row that create()
 * takes.
 */
#include "list.h"
#include "metaworld.h"

#define TABLE(NAME, WHAT)                                                         \
    extern const mw_task mw_##NAME;                                               \
    static tce_status create_##NAME(void *user, const char *settings, void **out) \
    {                                                                             \
        return mw_create("metaworld_" #NAME, &mw_##NAME, user, settings, out);    \
    }                                                                             \
    const tce_env_vtable TASK_METAWORLD_##NAME = {                                \
        .struct_size = sizeof(tce_env_vtable),                                    \
        .abi = TCE_ENV_ABI,                                                       \
        .name = "metaworld_" #NAME,                                               \
        .description = "Sawyer arm (MuJoCo, Metaworld): " WHAT,                   \
        .create = create_##NAME,                                                  \
        .destroy = mw_destroy,                                                    \
        .spec = mw_spec,                                                          \
        .reset = mw_reset,                                                        \
        .step = mw_step,                                                          \
        .step_action = mw_step_action,                                            \
        .metrics = mw_metrics,                                                    \
        .n_state = mw_n_state,                                                    \
        .get_state = mw_get_state,                                                \
        .set_state = mw_set_state,                                                \
        .render = mw_render,                                                      \
    };

METAWORLD_TASKS(TABLE)
