/*
 * What a task without simulator is: a description, which is data, and three functions, or up to six
 * where it follows desired paths and has a picture. All else is here, once.
 *
 * A task's struct begins with a plain_env and has an array `state` of doubles, which is all that
 * changes; one of them counts the steps of the episode. The functions get a pointer to the struct.
 */
#ifndef TASKS_PLAIN_H
#define TASKS_PLAIN_H

#include <tce/env.h>

#include "flat_picture.h"
#include "options.h"

/* Most shapes in a picture. */
enum { PLAIN_SHAPES = 8 };

typedef struct plain_task {
    /* the struct of the task, its state, and which entry counts the steps: PLAIN_STRUCT */
    size_t size, state, n_state, step_at;
    tce_env_spec spec;
    const task_option *option;
    double view; /* half of what a picture shows of the shorter side */

    /* A new episode, in a state of zeros. Desired paths start at rest in the origin. */
    void (*reset)(void *env, tce_random *random);
    void (*observe)(const void *env, double *out);
    /*
     * A step under an action, and its result: the step is counted already, and *out is 0 but
     * `truncated` at the last step.
     */
    void (*step)(void *env, const double *action, tce_env_result *out);

    /* ---- NULL where there is no such thing --------------------------------------------------- */

    /* The action of the controller that follows a path. */
    void (*control)(const void *env, const double *pos, const double *vel, double *out);
    void (*metrics)(const void *env, double *out);
    /* What a picture shows, [PLAIN_SHAPES]. Returns how many there are. */
    size_t (*draw)(const void *env, flat_shape *out);
} plain_task;

typedef struct plain_env {
    const plain_task *task;
    const char *name;
} plain_env;

/* Parts of a description. */
#define PLAIN_STRUCT(TYPE, STEP)                          \
    .size = sizeof(TYPE), .state = offsetof(TYPE, state), \
    .n_state = sizeof(((TYPE *)0)->state) / sizeof(double), .step_at = STEP

/* ---- the table ------------------------------------------------------------------------------- */

tce_status plain_create(const char *name, const plain_task *task, const char *settings, void **out);
void plain_destroy(void *instance);
tce_status plain_spec(void *instance, tce_env_spec *out);
tce_status plain_reset(void *instance, tce_random *random, double *out_obs, double *out_pos,
                       double *out_vel);
tce_status plain_step(void *instance, const double *pos, const double *vel, double *out_obs,
                      tce_env_result *out);
tce_status plain_step_action(void *instance, const double *action, double *out_obs,
                             tce_env_result *out);
tce_status plain_metrics(void *instance, double *out);
size_t plain_n_state(void *instance);
tce_status plain_get_state(void *instance, double *out);
tce_status plain_set_state(void *instance, const double *state, double *out_obs);
tce_status plain_render(void *instance, int32_t width, int32_t height, uint8_t *rgb);

/* What the table of a task has, beside what all have. */
#define PLAIN_ACTIONS .step_action = plain_step_action
#define PLAIN_PATHS .step = plain_step
#define PLAIN_METRICS .metrics = plain_metrics
#define PLAIN_PICTURE .render = plain_render

/* The table TASK_<ID> of a task; after it the parts above that it has. */
#define PLAIN_TASK(ID, WHAT, TASK, ...)                                         \
    static tce_status create_##ID(void *user, const char *settings, void **out) \
    {                                                                           \
        (void)user;                                                             \
        return plain_create(#ID, TASK, settings, out);                          \
    }                                                                           \
    const tce_env_vtable TASK_##ID = {                                          \
        .struct_size = sizeof(tce_env_vtable),                                  \
        .abi = TCE_ENV_ABI,                                                     \
        .name = #ID,                                                            \
        .description = WHAT,                                                    \
        .create = create_##ID,                                                  \
        .destroy = plain_destroy,                                               \
        .spec = plain_spec,                                                     \
        .reset = plain_reset,                                                   \
        .n_state = plain_n_state,                                               \
        .get_state = plain_get_state,                                           \
        .set_state = plain_set_state,                                           \
        __VA_ARGS__,                                                            \
    }

#endif
