/*
 * What gauss shares with the modules above it: checks of Cholesky factors, and divergences that do
 * not cancel.
 */
#ifndef TCE_GAUSS_INTERNAL_H
#define TCE_GAUSS_INTERNAL_H

#include <tce/gauss.h>

#include "base/internal.h"

/*
 * Lower triangles of L [n_cov, dim, dim], or only the diagonals: TCE_E_VALUE for NaN and infinity,
 * TCE_E_NOT_PD for a diagonal entry <= 0, both naming `name[i,j]` (`name[e,i,j]` when n_cov > 1).
 */
tce_status tce__check_factors(const char *name, size_t n_cov, size_t dim, int diagonal_only,
                              const double *L);

/*
 * d - log(1 + d) to full relative precision, d > -1: half of it is the divergence of a variance 1 +
 * d from 1.
 */
double tce__excess(double d);

/*
 * 1/2 (|C|_F^2 - dim) - sum log C_ii for lower C: KL( N(0, C C') || N(0, I) ), a sum of
 * non-negative terms.
 */
double tce__excess_lower(size_t dim, const double *C, size_t ldc);

/* sum log L_ii */
double tce__log_diagonal(size_t dim, const double *L);

/* copies the lower triangle of L and sets zeros above it; both [dim, dim] */
void tce__copy_lower(size_t dim, const double *L, double *out);

#endif
