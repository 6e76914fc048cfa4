/*
 * gauss: Gaussians N(mean, L L') given by lower Cholesky factors: density, entropy, divergence,
 * samples, gradients.
 *
 * Functions without a handle. n Gaussians of dimension `dim`; mean is [n, dim]; L is [n_cov, dim,
 * dim] with n_cov = n, or n_cov = 1 for one covariance that all share. Only the lower triangle of L
 * is read, gradients are 0 above it. work is scratch of tce_gauss_work(n, dim) doubles.
 *
 * Every function: TCE_E_NOT_PD for a diagonal entry <= 0, TCE_E_VALUE for NaN and infinity (both
 * name the entry), TCE_E_SHAPE for dim = 0 or an n_cov that is neither 1 nor n; nothing is written
 * then. n = 0 is fine.
 */
#ifndef TCE_GAUSS_H
#define TCE_GAUSS_H

#include <tce/random.h>
#include <tce/status.h>

TCE_BEGIN_C

/* Doubles of scratch that any function here needs for n Gaussians.   Since 0.2. */
TCE_API size_t tce_gauss_work(size_t n, size_t dim);

/*
 * out[i] = log N(x_i; mean_i, L_i L_i'), x [n, dim].
 * No allocation.   Since 0.2.
 */
TCE_API TCE_NODISCARD tce_status tce_gauss_log_prob(size_t n, size_t dim, size_t n_cov,
                                                    const double *x, const double *mean,
                                                    const double *L, double *work, double *out);
/*
 * d_out [n]; adds nothing, overwrites: out_d_x, out_d_mean [n, dim], out_d_L like L (summed over n
 * when shared); each may be NULL.
 */
TCE_API TCE_NODISCARD tce_status tce_gauss_log_prob_backward(size_t n, size_t dim, size_t n_cov,
                                                             const double *x, const double *mean,
                                                             const double *L, const double *d_out,
                                                             double *work, double *out_d_x,
                                                             double *out_d_mean, double *out_d_L);

/*
 * out[i] = dim/2 log(2 pi e) + sum log L_ii, for each of the n_cov factors.   No allocation.
 * Since 0.2.
 */
TCE_API TCE_NODISCARD tce_status tce_gauss_entropy(size_t n_cov, size_t dim, const double *L,
                                                   double *out);
TCE_API TCE_NODISCARD tce_status tce_gauss_entropy_backward(size_t n_cov, size_t dim,
                                                            const double *L, const double *d_out,
                                                            double *out_d_L);

/*
 * KL( N(mean, L L') || N(other_mean, other_L other_L') ) in two parts:
 * out_mean_part = 1/2 |other_L^-1 (mean - other_mean)|^2,  out_cov_part = 1/2 (tr - dim +
 * log-determinants); each [n] or NULL. L is [n_cov, dim, dim], other_L [n_other_cov, dim, dim].
 * No allocation.   Since 0.2.
 */
TCE_API TCE_NODISCARD tce_status tce_gauss_kl(size_t n, size_t dim, size_t n_cov,
                                              const double *mean, const double *L,
                                              size_t n_other_cov, const double *other_mean,
                                              const double *other_L, double *work,
                                              double *out_mean_part, double *out_cov_part);
/*
 * Gradients to mean and L (the other Gaussian is a constant): d_mean_part, d_cov_part [n], NULL for
 * zeros.
 */
TCE_API TCE_NODISCARD tce_status tce_gauss_kl_backward(
    size_t n, size_t dim, size_t n_cov, const double *mean, const double *L, size_t n_other_cov,
    const double *other_mean, const double *other_L, const double *d_mean_part,
    const double *d_cov_part, double *work, double *out_d_mean, double *out_d_L);

/*
 * x_i = mean_i + L_i z_i, z from the stream in order of i; out [n, dim].   No allocation.   Since
 * 0.2.
 */
TCE_API TCE_NODISCARD tce_status tce_gauss_sample(size_t n, size_t dim, size_t n_cov,
                                                  const double *mean, const double *L,
                                                  tce_random *random, double *work, double *out);

TCE_END_C

#endif
