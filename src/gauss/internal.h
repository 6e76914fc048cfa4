/*
 * What the files of gauss share, and what gauss shares with the modules above it: checks of scales,
 * products with them, and divergences that do not cancel.
 */
#ifndef TCE_GAUSS_INTERNAL_H
#define TCE_GAUSS_INTERNAL_H

#include <tce/gauss.h>

#include "base/internal.h"
#include "linalg/linalg.h"

/* ---- descriptions: gauss.c ------------------------------------------------------------------- */

/* What of a description a function reads: the diagonals of its scales, or scales and means. */
enum { TCE__GAUSS_DETERMINANTS = 0, TCE__GAUSS_ALL = 1 };

/* A copy of *given after its checks. other: messages name its fields "other.mean" and so on. */
tce_status tce__gauss_read(const tce_gauss *given, int other, int what, tce_gauss *out);

/* numbers in one scale, and scale i */
size_t tce__gauss_scale_size(const tce_gauss *g);
const double *tce__gauss_scale(const tce_gauss *g, size_t i);

/* rows of z [n, dim] <- S_i^-1 z_i, or S_i^-T z_i with TCE__TRANS */
void tce__gauss_solve(tce__trans trans, const tce_gauss *g, double *z);

/* out_i = mean_i + S_i z_i; out may be z. Row by row, so that a row has its bytes in any batch. */
void tce__gauss_move(const tce_gauss *g, const double *z, double *out);

/* out_d_scale = tril(U' Z) - sum d_out diag(1 / S_kk), per scale; U and Z [n, dim], d_out [n] */
void tce__gauss_scale_gradient(const tce_gauss *g, const double *U, const double *Z,
                               const double *d_out, double *out_d_scale);

/* z_i = S_i^-1 (x_i - mean_i); z may be x */
void tce__gauss_whiten(const tce_gauss *g, const double *x, double *z);

/* out[i] = log N of a residual z_i = S_i^-1 (x_i - mean_i), z [n, dim] */
void tce__gauss_density(const tce_gauss *g, const double *z, double *out);

/* z = S^-1 (x - mean), gu = d_out S^-T z, all [n, dim]; z may be x */
void tce__gauss_residuals(const tce_gauss *g, const double *x, const double *d_out, double *z,
                          double *gu);

/* ---- scales: gauss_scale.c ------------------------------------------------------------------- */

/*
 * Lower triangles of L [n_cov, dim, dim], or only the diagonals: TCE_E_VALUE for NaN and infinity,
 * TCE_E_NOT_PD for a diagonal entry <= 0, both naming `name[i,j]` (`name[e,i,j]` when n_cov > 1).
 */
tce_status tce__check_factors(const char *name, size_t n_cov, size_t dim, int diagonal_only,
                              const double *L);

/* The same for standard deviations [n_cov, dim]. */
tce_status tce__check_deviations(const char *name, size_t n_cov, size_t dim, const double *std);

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

/* The same for C = diag(std / other_std). */
double tce__excess_diagonal(size_t dim, const double *std, const double *other_std);

/* sum log L_ii */
double tce__log_diagonal(size_t dim, const double *L);

/* copies the lower triangle of L and sets zeros above it; both [dim, dim] */
void tce__copy_lower(size_t dim, const double *L, double *out);

#endif
