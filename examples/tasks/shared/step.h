/*
 * Steps of the physics, inside mujoco_try, in the two ways that tasks take them; and what they
 * cost.
 */
#ifndef TASKS_STEP_H
#define TASKS_STEP_H

#include <mujoco/mujoco.h>
#include <tce/status.h>

/* mj_makeData; TCE_E_NOMEM. */
tce_status data_create(const mjModel *model, mjData **out);

/*
 * n steps with the controls as they are, then positions of bodies and sites for the state reached.
 * Stops at a warning that means that the state is worthless: NaN or huge position, velocity,
 * acceleration, control.
 */
void step_checked(const mjModel *model, mjData *data, int n);

/*
 * n times mj_step and nothing else: what is derived (xpos, contacts, qfrc_bias) stays as the last
 * one computed it before it integrated. When a number is bad MuJoCo resets the data and continues,
 * as the originals of these tasks do.
 */
void step_as_original(const mjModel *model, mjData *data, int n);

/* For steps that are not made by mj_step: the time now, and n steps since then. */
double step_clock(void);
void step_count(double start, int n);

#endif
