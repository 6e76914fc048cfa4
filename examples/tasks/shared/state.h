/*
 * States as arrays of numbers, and checks of numbers that come from outside.
 *
 * A state is n numbers of the task, then qpos, qvel, the solver's warm start, ctrl, position and
 * quaternion of each mocap body, time. The first of the task's numbers is STATE_FRESH: 1 when
 * everything derived belongs to qpos and qvel and the warm start is the one that mj_forward finds
 * (the one in the state is not looked at); 0 when the warm start of the state counts.
 */
#ifndef TASKS_STATE_H
#define TASKS_STATE_H

#include "guard.h"

enum { STATE_FRESH };

/*
 * TCE_E_VALUE unless all n numbers are finite; the message has the task, the name of the array and
 * the first that is not.
 */
tce_status check_finite(const char *task, const char *what, size_t n, const double *x);

size_t packed_size(const mjModel *model, size_t n);
void packed_get(const mjModel *model, const mjData *data, size_t n, const double *task,
                double *out);
/*
 * Positions of bodies and sites are derived. TCE_E_VALUE when a number is not finite; then nothing
 * has changed.
 */
tce_status packed_set(const char *name, const mjModel *model, mjData *data, size_t n, double *task,
                      const double *state);

/* mj_resetData, qpos and qvel as given, mj_forward. */
tce_status start_from(const mjModel *model, mjData *data, const double *qpos, const double *qvel);

#endif
