/*
 * trpl: differentiable trust-region projection layers for Gaussians: KL, Wasserstein-2 (commuting)
 * and Frobenius.
 *
 * Each new Gaussian is moved to the nearest one whose mean and covariance are within two bounds of
 * the old one; inside the bounds it is returned unchanged, bit for bit. Gradients are exact.
 * Entropy control is optional, before or after the projection. Mathematics: docs/api/trpl.md.
 */
#ifndef TCE_TRPL_H
#define TCE_TRPL_H

#include <tce/pool.h>

TCE_BEGIN_C

typedef struct tce_trpl tce_trpl;

enum { TCE_TRPL_KL = 0, TCE_TRPL_W2 = 1, TCE_TRPL_FROBENIUS = 2, TCE_TRPL_IDENTITY = 3 };

enum { TCE_TRPL_ENTROPY_NONE = 0, TCE_TRPL_ENTROPY_AT_LEAST = 1, TCE_TRPL_ENTROPY_EQUAL = 2 };

typedef struct tce_trpl_options {
    size_t struct_size;
    int32_t kind;          /* TCE_TRPL_KL */
    int32_t dim;           /* 1 */
    int32_t max_batch;     /* 1: largest number of Gaussians in a call */
    int32_t shared_cov;    /* 1: one covariance for the whole batch */
    int32_t diagonal;      /* 0; 1: a scale is standard deviations [P], not a factor [P, P] */
    int32_t entropy;       /* TCE_TRPL_ENTROPY_NONE */
    int32_t entropy_first; /* 0; 1: entropy control before the trust region instead of after it */
    int32_t reserved;
    tce_pool *pool; /* NULL; used with one covariance per episode */
} tce_trpl_options;

TCE_API void tce_trpl_options_init(tce_trpl_options *options, size_t struct_size);
/* TCE_E_VALUE, TCE_E_NOMEM.   Since 0.2. */
TCE_API TCE_NODISCARD tce_status tce_trpl_create(const tce_trpl_options *options,
                                                 const tce_hooks *hooks, tce_trpl **out);
TCE_API void tce_trpl_free(tce_trpl *tr);

/* The bounds of a projection, which may change from call to call. */
typedef struct tce_trpl_bounds {
    size_t struct_size;
    double mean;    /* of the mean part of the distance, > 0 */
    double cov;     /* of the covariance part, > 0 */
    double entropy; /* H_min, read with entropy control only; minus infinity: no limit */
} tce_trpl_bounds;

/*
 * Projects each Gaussian (mean, L) into the trust region around (old_mean, old_L).
 *
 *   n              number of Gaussians, at most options.max_batch
 *   mean, old_mean [n, P]
 *   L, old_L       factors [n, P, P], deviations [n, P] with options.diagonal; one with shared_cov
 *   bounds         NULL for TCE_TRPL_IDENTITY, which has none
 *   out_mean       [n, P]            may be the same array as mean
 *   out_L          shaped like L     may be the same array as L
 *
 * The result satisfies both bounds up to rounding (1e-8 of the bound for bounds->cov up to 10).
 * Remembers what backward and regression_add need. Entries above a factor's diagonal are not read,
 * and are written as zeros.
 * TCE_E_SHAPE: n = 0 or too large.  TCE_E_NOT_PD: a factor has a diagonal entry <= 0.  TCE_E_VALUE:
 * NaN or infinity; outputs untouched.
 * TCE_E_NO_CONVERGE, TCE_E_NOT_FINITE: the result cannot be represented in double; outputs are NaN.
 * No allocation.   Since 0.2.
 */
TCE_API TCE_NODISCARD tce_status tce_trpl_project(tce_trpl *tr, size_t n, const double *mean,
                                                  const double *L, const double *old_mean,
                                                  const double *old_L,
                                                  const tce_trpl_bounds *bounds, double *out_mean,
                                                  double *out_L);

/*
 * Gradient of the last project: d_mean, d_L with respect to its outputs -> out_d_mean, out_d_L with
 * respect to mean and L (old values are constants; zeros above the diagonal). Outputs may be the
 * inputs. TCE_E_STATE: project was not called before, or failed. TCE_E_SHAPE: n is not that of
 * project.  TCE_E_VALUE: NaN or infinity.  TCE_E_NOT_FINITE: a gradient overflowed; outputs are
 * NaN.   No allocation.   Since 0.2.
 */
TCE_API TCE_NODISCARD tce_status tce_trpl_backward(tce_trpl *tr, size_t n, const double *d_mean,
                                                   const double *d_L, double *out_d_mean,
                                                   double *out_d_L);

/*
 * Trust-region regression loss of the last project: coefficient times the mean over n of the
 * distance between the network's own (mean, L) and the projected Gaussian after entropy control,
 * which counts as a constant [TRPL]. with_cov 0: only the mean part. Gradients to mean and L are
 * added to d_mean [n, P] and d_L (like L). mean and L: those given to project, unchanged. Statuses
 * as for backward.   No allocation.   Since 0.2.
 */
TCE_API TCE_NODISCARD tce_status tce_trpl_regression_add(tce_trpl *tr, size_t n, const double *mean,
                                                         const double *L, double coefficient,
                                                         int32_t with_cov, double *out_loss,
                                                         double *d_mean, double *d_L);

/*
 * The distances that the last project measured before it projected: arrays [n] or NULL; a shared
 * covariance has one distance, [1]. out_eta: eta for KL, omega for the others, 0 inside the bound.
 * TCE_E_STATE, TCE_E_SHAPE.   No allocation.   Since 0.2.
 */
TCE_API TCE_NODISCARD tce_status tce_trpl_distances(const tce_trpl *tr, size_t n,
                                                    double *out_mean_distance,
                                                    double *out_cov_distance, double *out_eta);

TCE_END_C

#endif
