/*
 * What all MuJoCo tasks share: one model for all environments of the process, errors and warnings
 * as statuses, states, pictures.
 *
 * MuJoCo ends the process when it meets an error, unless a handler that never returns is installed.
 * Here every call that can fail runs inside mujoco_try(): the handler jumps back there and the
 * message becomes a TCE_E_ENV. The jump leaves mjData's stack as it was, so the data must be reset
 * before it is used again: an environment does that in its reset. Outside of mujoco_try() a handler
 * that was there before ours is called.
 */
#ifndef TASKS_GUARD_H
#define TASKS_GUARD_H

#include <mujoco/mujoco.h>
#include <tce/env.h>

/* ---- models ---------------------------------------------------------------------------------- */

/*
 * The model called `name`: parsed from `xml` for the first environment, shared by the others, freed
 * with the last. Thread-safe. TCE_E_VERSION: compiled with the headers of another MuJoCo than the
 * one that was loaded.  TCE_E_ENV: MuJoCo's reason.  TCE_E_NOMEM.
 */
tce_status mujoco_model_open(const char *name, const char *xml, const mjModel **out);
/*
 * The same for any way of loading: load(context, out) runs when there is no model of that name;
 * *out is NULL before.
 */
tce_status mujoco_model_share(const char *name, tce_status (*load)(void *context, mjModel **out),
                              void *context, const mjModel **out);
void mujoco_model_close(const mjModel *model);

/* Number of an object ("site", mjOBJ_SITE); TCE_E_ENV when the model has none of that name. */
tce_status mujoco_find(const mjModel *model, int type, const char *name, int *out);

/* The same for a list of them. */
typedef struct mujoco_part {
    int type;
    const char *name;
    int *out;
} mujoco_part;
tce_status mujoco_find_parts(const mjModel *model, size_t n, const mujoco_part *parts);

/*
 * Whether the model has so many positions, velocities and motors: TCE_E_ENV when it is another one
 * than `task` was written for.
 */
tce_status mujoco_check_sizes(const mjModel *model, const char *task, int nq, int nv, int nu);

/* ---- calls that can fail --------------------------------------------------------------------- */

/*
 * Runs work(context); a MuJoCo error inside ends it and is returned as TCE_E_ENV. work keeps
 * nothing that a jump out of it would leak.
 */
tce_status mujoco_try(void (*work)(void *context), void *context);

/* mj_makeData and mj_deleteData; TCE_E_NOMEM. */
tce_status mujoco_data_create(const mjModel *model, mjData **out);

/*
 * n times mj_step, inside mujoco_try; where all steps of tasks are taken, so that physics.c can
 * measure them.
 */
void physics_step(const mjModel *model, mjData *data, int n);

/*
 * n steps of physics with the controls as they are, then positions of bodies and sites for the
 * state reached.
 * TCE_E_ENV: an error, or a warning that means the state is worthless (NaN or huge position,
 * velocity, acceleration, control).
 */
tce_status step_checked(const mjModel *model, mjData *data, int n);

/*
 * Default state, warnings cleared, and what is derived from it when `change` (may be NULL) has set
 * the state of the episode.
 */
tce_status mujoco_restart(const mjModel *model, mjData *data, void (*change)(void *context),
                          void *context);

/* ---- the full physics state ------------------------------------------------------------------ */

size_t mujoco_n_state(const mjModel *model);
void mujoco_get_state(const mjModel *model, const mjData *data, double *out);
/* Sets it and derives positions of bodies and sites. */
tce_status mujoco_set_state(const mjModel *model, mjData *data, const double *state);

/* ---- pictures without a display -------------------------------------------------------------- */

typedef struct mujoco_renderer mujoco_renderer;

/*
 * A picture of the present state from the camera called `camera` (NULL: the view that the model's
 * statistics and visual settings give): rgb [height, width, 3], top row first. *renderer is NULL
 * before the first picture and belongs to the caller. Positions in data are derived anew. Draws
 * through EGL, or OSMesa when there is no EGL;
 * TCE_E_NOT_FOUND: neither, the message names the Debian package.
 */
tce_status mujoco_render(mujoco_renderer **renderer, const mjModel *model, mjData *data,
                         const char *camera, int32_t width, int32_t height, uint8_t *rgb);
void mujoco_renderer_free(mujoco_renderer *renderer);

#endif
