/*
 * The physics part of a state, as an array of numbers (state_layout.h), and checks of numbers that
 * come from outside.
 */
#ifndef TASKS_STATE_H
#define TASKS_STATE_H

#include <mujoco/mujoco.h>
#include <tce/status.h>

#include "state_layout.h"

/*
 * TCE_E_VALUE unless all n numbers are finite; the message has the task, the name of the array and
 * the first that is not.
 */
tce_status check_finite(const char *task, const char *what, size_t n, const double *x);

size_t physics_size(const mjModel *model);
void physics_get(const mjModel *model, const mjData *data, double *out);

/*
 * Inside mujoco_try: all but what mj_forward derives, which the caller has derived next;
 * physics_put_back then puts the warm start back, and the positions, whose quaternions it may have
 * normalised.
 */
void physics_put(const mjModel *model, mjData *data, const double *physics);
void physics_put_back(const mjModel *model, mjData *data, const double *physics);

#endif
