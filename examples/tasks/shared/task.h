/*
 * What a MuJoCo task is: a description, which is data, and five functions. All else is here, once:
 * options, model, parts, spec, episodes, states, pictures.
 *
 * A task's struct begins with a mujoco_env, and a pointer to it is what the functions get. They run
 * inside mujoco_try, so that none of them has to return a status: an error of MuJoCo, or
 * mujoco_stop(), ends the call with TCE_E_ENV.
 */
#ifndef TASKS_TASK_H
#define TASKS_TASK_H

#include <tce/env.h>

#include "draw.h"
#include "guard.h"
#include "model.h"
#include "options.h"
#include "picture.h"
#include "state.h"
#include "static_culling.h"
#include "step.h"

/* A named thing of the model whose number is kept in an int of the task's struct. */
typedef struct mujoco_part {
    int type; /* mjOBJ_BODY, mjOBJ_SITE, mjOBJ_GEOM, mjOBJ_JOINT */
    const char *name;
    size_t offset;
} mujoco_part;

#define TASK_PART(TYPE, FIELD, KIND, NAME) \
    {                                      \
        KIND, NAME, offsetof(TYPE, FIELD)  \
    }

/* How many elements an array has. */
#define TASK_COUNT(ARRAY) (sizeof(ARRAY) / sizeof(ARRAY)[0])

/*
 * Parts of a description: the task's struct, whose field s is its state; its lists; its functions.
 */
#define TASK_STRUCT(TYPE)                             \
    .size = sizeof(TYPE), .state = offsetof(TYPE, s), \
    .n_state = sizeof(((TYPE *)0)->s) / sizeof(double)
#define TASK_OPTIONS(OPTIONS) .options = OPTIONS, .n_options = TASK_COUNT(OPTIONS)
#define TASK_PARTS(PARTS) .parts = PARTS, .n_parts = TASK_COUNT(PARTS)
#define TASK_FUNCTIONS \
    .reset = reset, .observe = observe, .step = step, .reward = reward, .metrics = metrics
/* Parts of its spec. */
#define TASK_ACTIONS(N, LOW, HIGH) .n_dof = N, .n_action = N, .action_low = LOW, .action_high = HIGH
#define TASK_METRICS(NAMES) .n_metrics = TASK_COUNT(NAMES), .metric_names = NAMES
#define TASK_CONTEXT(ENTRIES) .n_context = TASK_COUNT(ENTRIES), .context = ENTRIES

/* What a model must have: positions, velocities and motors. */
typedef struct model_sizes {
    int nq, nv, nu;
} model_sizes;

/* Of the controller. */
typedef struct task_gains {
    const double *kp, *kd; /* [n_dof] */
} task_gains;

typedef struct mujoco_task {
    /* the struct of the task, and the struct of doubles in it that goes into states */
    size_t size, state, n_state;

    tce_env_spec spec;
    /* one of two: a path for model_open, with its blank, or the model itself as a text */
    const char *model, *blank, *xml;
    model_sizes sizes; /* 0: anything */
    const task_option *options;
    size_t n_options;
    const mujoco_part *parts;
    size_t n_parts;
    /*
     * the controller: action = clip(Kp (p - q) + Kd (w - q')) into the bounds of actions, for the
     * joints from first_joint on
     */
    task_gains gains;
    int first_joint; /* in qpos and qvel */
    const static_culling_space *spaces;
    int n_spaces;
    picture_view view;

    /* A new episode: the data is as mj_resetData leaves it. Ends with mujoco_forward(). */
    void (*reset)(void *env, tce_random *random);
    /* The observation of the present state. */
    void (*observe)(const void *env, double *out);
    /* The physics of one step under an action, and what is seen on the way. */
    void (*step)(void *env, const double *action);
    /*
     * What the step brought; env->step counts it already. Everything in *out is 0 but `truncated`
     * at the last step.
     */
    void (*reward)(void *env, const double *action, tce_env_result *out);
    void (*metrics)(const void *env, double *out);

    /* ---- what few tasks need; NULL otherwise ------------------------------------------------- */

    /*
     * After the options were read: whether they fit each other, and what they change in env->spec.
     */
    tce_status (*configure)(void *env);
    /*
     * The task's struct has what a step derived before its end: derives it from the state reached.
     */
    void (*derive)(void *env);
    /* Marks of the goal, put into the model of a picture. */
    void (*mark)(const void *env, mjModel *model);
    /* Whether the episode is over before its last step. */
    int (*is_over)(const void *env);
    /* Instead of the controller: a step along a path. */
    tce_status (*follow)(void *env, const double *pos, const double *vel, double *out_obs,
                         tce_env_result *out);
    /* Instead of the joints: where paths start. */
    void (*path_start)(const void *env, double *out_pos);
    /* Instead of the model's file: fills env->culling (whole, model, data), and frees the rest. */
    tce_status (*open)(void *env);
    void (*close)(void *env);
    /* Before the physics of a state is put: what the state says about the model. */
    void (*restore)(void *env);
} mujoco_task;

typedef struct mujoco_env {
    const mujoco_task *task;
    const char *name;
    const void *variant; /* of the table: see MUJOCO_TASK_VARIANT */
    tce_env_spec spec;
    const task_draws *draws;
    static_culling culling;
    const mjModel *model; /* and data: those of the culling, which steps them */
    mjData *data;
    picture *picture;
    int whole;   /* 1: nothing is left out of the physics */
    double step; /* steps taken */
} mujoco_env;

/* A number of a reset. */
double mujoco_draw(const mujoco_env *env, tce_random *random, double low, double high);
/* Everything that is derived from the state, inside mujoco_try. */
void mujoco_forward(mujoco_env *env);
/* Whether this was the last step. */
int mujoco_is_last(const mujoco_env *env);
/* Whether the contact list has the pair of geoms, in either order. */
int mujoco_touching(const mjData *data, int geom_a, int geom_b);

/* For follow: the controller's action, and a step with an action, not checked. */
void mujoco_track(const mujoco_env *env, const double *pos, const double *vel, double *out);
tce_status mujoco_act(mujoco_env *env, const double *action, double *out_obs, tce_env_result *out);

/* ---- the table ------------------------------------------------------------------------------- */

tce_status mujoco_create(const char *name, const mujoco_task *task, const void *variant, void *user,
                         const char *settings, void **out);
void mujoco_destroy(void *instance);
tce_status mujoco_spec(void *instance, tce_env_spec *out);
tce_status mujoco_reset(void *instance, tce_random *random, double *out_obs, double *out_pos,
                        double *out_vel);
tce_status mujoco_step(void *instance, const double *pos, const double *vel, double *out_obs,
                       tce_env_result *out);
tce_status mujoco_step_action(void *instance, const double *action, double *out_obs,
                              tce_env_result *out);
tce_status mujoco_metrics(void *instance, double *out);
size_t mujoco_n_state(void *instance);
tce_status mujoco_get_state(void *instance, double *out);
tce_status mujoco_set_state(void *instance, const double *state, double *out_obs);
tce_status mujoco_render(void *instance, int32_t width, int32_t height, uint8_t *rgb);

/* The table TASK_<ID> of a task; a variant is a pointer that tells tables of one task apart. */
#define MUJOCO_TASK_VARIANT(ID, NAME, WHAT, TASK, VARIANT)                      \
    static tce_status create_##ID(void *user, const char *settings, void **out) \
    {                                                                           \
        return mujoco_create(NAME, TASK, VARIANT, user, settings, out);         \
    }                                                                           \
    const tce_env_vtable TASK_##ID = {                                          \
        .struct_size = sizeof(tce_env_vtable),                                  \
        .abi = TCE_ENV_ABI,                                                     \
        .name = NAME,                                                           \
        .description = WHAT,                                                    \
        .create = create_##ID,                                                  \
        .destroy = mujoco_destroy,                                              \
        .spec = mujoco_spec,                                                    \
        .reset = mujoco_reset,                                                  \
        .step = mujoco_step,                                                    \
        .step_action = mujoco_step_action,                                      \
        .metrics = mujoco_metrics,                                              \
        .n_state = mujoco_n_state,                                              \
        .get_state = mujoco_get_state,                                          \
        .set_state = mujoco_set_state,                                          \
        .render = mujoco_render,                                                \
    }
#define MUJOCO_TASK(ID, WHAT, TASK) MUJOCO_TASK_VARIANT(ID, #ID, WHAT, TASK, NULL)

#endif
