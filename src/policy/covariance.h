/*
 * The covariance of a policy from raw numbers: v_1 ... v_P, then the strict lower triangle row by
 * row (none when diagonal).
 */
#ifndef TCE_POLICY_COVARIANCE_H
#define TCE_POLICY_COVARIANCE_H

#include <stddef.h>

/* Raw numbers of a factor of P dimensions. */
size_t tce__covariance_size(size_t P, int diagonal);

/* raw -> L [P, P], zeros above the diagonal, and below it when diagonal. */
void tce__covariance_forward(size_t P, int diagonal, double min_std, const double *raw, double *L);
/* The gradient back; d_L's upper part is not read. */
void tce__covariance_backward(size_t P, int diagonal, const double *raw, const double *d_L,
                              double *d_raw);

/* L -> raw, L_ii - min_std bounded below by TCE__COVARIANCE_LEAST. */
#define TCE__COVARIANCE_LEAST 1e-12
void tce__covariance_inverse(size_t P, int diagonal, double min_std, const double *L, double *raw);

/* v with softplus(v) = y, y > 0 */
double tce__inverse_softplus(double y);

#endif
