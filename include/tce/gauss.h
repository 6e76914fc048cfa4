/*
 * gauss: Gaussians over real vectors: log-density, entropy, divergence, samples, samples squashed
 * by tanh, and the gradients of all of them.
 *
 * There is no handle: a tce_gauss describes a batch, and the caller brings scratch memory. `work`
 * always has tce_gauss_work_size(n, dim) doubles, whose contents are not kept between calls.
 * Nothing allocates or locks; calls with different scratch may overlap.
 */
#ifndef TCE_GAUSS_H
#define TCE_GAUSS_H

#include <tce/status.h>

TCE_BEGIN_C

/* How a scale is stored. */
enum {
    TCE_GAUSS_FULL = 0,    /* a lower Cholesky factor L [dim, dim]: the covariance is L L' */
    TCE_GAUSS_DIAGONAL = 1 /* standard deviations [dim] */
};

/*
 * n Gaussians of the same dimension, each with its own mean, and either with a scale of its own or
 * with one that all share. Only the lower triangle of a factor is read.
 *
 *     tce_gauss g = TCE_INIT(tce_gauss);
 *     g.n = 152, g.dim = 63, g.n_scales = 1, g.mean = mean, g.scale = L;
 *
 * Every function here checks its arguments before it writes anything: TCE_E_SHAPE for dim = 0, for
 * n_scales neither 1 nor n and for descriptions that do not fit each other, TCE_E_VALUE for NaN and
 * infinity, TCE_E_NOT_PD for a factor's diagonal entry or a standard deviation <= 0. The message
 * names the entry. n = 0 is allowed.
 */
typedef struct tce_gauss {
    size_t struct_size;
    size_t n;        /* Gaussians */
    size_t dim;      /* numbers in a mean */
    size_t n_scales; /* 1: shared by all; or n */
    int32_t form;    /* TCE_GAUSS_FULL */
    int32_t reserved;
    const double *mean;  /* [n, dim] */
    const double *scale; /* [n_scales, dim, dim], or [n_scales, dim] in the diagonal form */
} tce_gauss;

/* Doubles of scratch that any function here needs for n Gaussians.   Since 0.2. */
TCE_API size_t tce_gauss_work_size(size_t n, size_t dim);

/* out[i] = log N(x_i; mean_i, scale_i), x [n, dim], out [n].   Since 0.2. */
TCE_API TCE_NODISCARD tce_status tce_gauss_log_prob(const tce_gauss *g, const double *x,
                                                    double *work, double *out);
/*
 * Takes d_out [n]; writes out_d_x and out_d_mean [n, dim], and out_d_scale shaped like the scale
 * (summed over n when it is shared, 0 above the diagonal of a factor). Outputs are overwritten;
 * each may be NULL.   Since 0.2.
 */
TCE_API TCE_NODISCARD tce_status tce_gauss_log_prob_backward(const tce_gauss *g, const double *x,
                                                             const double *d_out, double *work,
                                                             double *out_d_x, double *out_d_mean,
                                                             double *out_d_scale);

/*
 * Entropy of each scale, out [n_scales]. The means are not read and may be NULL.   Since 0.2.
 */
TCE_API TCE_NODISCARD tce_status tce_gauss_entropy(const tce_gauss *g, double *out);
/* Takes d_out [n_scales]; overwrites out_d_scale, shaped like the scale.   Since 0.2. */
TCE_API TCE_NODISCARD tce_status tce_gauss_entropy_backward(const tce_gauss *g, const double *d_out,
                                                            double *out_d_scale);

/*
 * KL(g || other), in two parts that add up to it; each output [n] or NULL:
 *
 *   out_mean_part  1/2 |other_L^-1 (mean - other_mean)|^2
 *   out_cov_part   1/2 (trace of the ratio of covariances - dim + difference of log-determinants)
 *
 * Both descriptions must have the same n, dim and form (TCE_E_SHAPE).   Since 0.2.
 */
TCE_API TCE_NODISCARD tce_status tce_gauss_kl(const tce_gauss *g, const tce_gauss *other,
                                              double *work, double *out_mean_part,
                                              double *out_cov_part);
/*
 * Gradients with respect to g, with `other` constant, from d_mean_part and d_cov_part [n] (NULL for
 * zeros):
 * out_d_mean [n, dim] and out_d_scale, shaped like the scale. Outputs are overwritten; each may be
 * NULL.   Since 0.2.
 */
TCE_API TCE_NODISCARD tce_status tce_gauss_kl_backward(const tce_gauss *g, const tce_gauss *other,
                                                       const double *d_mean_part,
                                                       const double *d_cov_part, double *work,
                                                       double *out_d_mean, double *out_d_scale);

/*
 * out_i = mean_i + scale_i normals_i, both [n, dim]; out may be the same array as normals. The
 * caller draws the standard normals (tce_random_normals), so that a sample can be repeated. A row
 * has the same bytes in every batch.   Since 0.2.
 */
TCE_API TCE_NODISCARD tce_status tce_gauss_sample(const tce_gauss *g, const double *normals,
                                                  double *out);

/*
 * The squashed Gaussian: a = tanh(u) with u = mean + scale normals, element by element, and
 *
 *     log pi(a) = log N(u) - sum_d log(1 - a_d^2 + 1e-6)
 *
 * normals and out_actions [n, dim], out_log_prob [n] or NULL. The density is taken from the
 * normals, which keeps all digits however small the scale is.   Since 0.2.
 */
TCE_API TCE_NODISCARD tce_status tce_gauss_squash(const tce_gauss *g, const double *normals,
                                                  double *out_actions, double *out_log_prob);
/*
 * Gradients with the normals held fixed (reparametrisation), from d_actions [n, dim] and d_log_prob
 * [n] (each NULL for zeros): out_d_mean [n, dim] and out_d_scale, shaped like the scale. Outputs
 * are overwritten; each may be NULL.   Since 0.2.
 */
TCE_API TCE_NODISCARD tce_status tce_gauss_squash_backward(const tce_gauss *g,
                                                           const double *normals,
                                                           const double *d_actions,
                                                           const double *d_log_prob, double *work,
                                                           double *out_d_mean, double *out_d_scale);

/*
 * log pi of given actions [n, dim], each in [-1, 1] (TCE_E_VALUE); out [n]. u = atanh(a), where a
 * is moved to the nearest number inside +-(1 - 2^-52) first.   Since 0.2.
 */
TCE_API TCE_NODISCARD tce_status tce_gauss_squash_log_prob(const tce_gauss *g,
                                                           const double *actions, double *work,
                                                           double *out);
/*
 * Gradients with the actions held fixed, from d_out [n]; outputs as in tce_gauss_squash_backward.
 * Since 0.2.
 */
TCE_API TCE_NODISCARD tce_status
tce_gauss_squash_log_prob_backward(const tce_gauss *g, const double *actions, const double *d_out,
                                   double *work, double *out_d_mean, double *out_d_scale);

TCE_END_C

#endif
