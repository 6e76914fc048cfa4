/*
 * The scale of a policy as a Cholesky factor, whatever its form: paths, segments and projections
 * take factors. A diagonal form's is a diagonal matrix.
 */
#ifndef TRAINER_FACTORS_H
#define TRAINER_FACTORS_H

#include <tce/tce.h>

/* tce_policy_predict with out_L [1 or n, P, P] */
tce_status factors_predict(tce_policy *policy, size_t n, const double *obs, double *out_mean,
                           double *out_L);

/* tce_policy_backward from d_L [1 or n, P, P], which is used up */
tce_status factors_backward(tce_policy *policy, size_t n, const double *d_mean, double *d_L);

/* Diagonals of L [n, P, P] -> out [n, P], which may be L; and back, in place. */
void factors_diagonals(size_t n, size_t P, const double *L, double *out);
void factors_spread(size_t n, size_t P, double *L);

/* tce_policy_set_covariance with L [P, P]; `room` [P] is used where the form is diagonal */
tce_status factors_set(tce_policy *policy, const double *L, double *room);

#endif
