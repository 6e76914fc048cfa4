/*
 * What the files of this module share: the handle, and the covariance part of one Gaussian for each
 * kind.
 */
#ifndef TCE_TRPL_INTERNAL_H
#define TCE_TRPL_INTERNAL_H

#include <tce/trpl.h>

#include "base/internal.h"
#include "linalg/linalg.h"

/*
 * What backward and regression need to know of one covariance. Matrices are [P, P]; in diagonal
 * handles they are vectors [P] of diagonals. `L` is the input after entropy control that comes
 * first, `projected` the result before entropy control that comes after.
 */
typedef struct tce__cov {
    double *L;
    double *projected;
    double *C;    /* KL: whitened factor L_o^-1 L~ */
    double *X;    /* W2: S - S_o; Frobenius: Sigma - Sigma_o; diagonal: L - L_o, Sigma - Sigma_o */
    double *Z;    /* W2: sym(Sigma_o^-1 X) */
    double *Q;    /* W2: eigenvectors of Sigma in rows */
    double *root; /* W2: S~ */
    double *values;  /* W2: eigenvalues of S [P]; diagonal: L_o [P] */
    double distance; /* to the old covariance, before */
    double eta;      /* KL: eta; W2, Frobenius: omega; 0 inside */
    double step;     /* W2, Frobenius: t = 1 / (1 + omega) */
    double first;    /* factor of entropy control before; 1: unchanged */
    double after;    /* factor of entropy control after; 1: unchanged */
    int32_t active;  /* outside the bound */
    int32_t scaled_first;
    int32_t scaled_after;
    int32_t reserved;
} tce__cov;

struct tce_trpl {
    tce_hooks hooks;
    tce_trpl_options opt;
    size_t P;
    size_t n;              /* Gaussians of the last project; 0: none yet */
    size_t n_cov;          /* factors of the last project */
    double *delta;         /* [max_batch, P] mean - old_mean */
    double *w;             /* [max_batch, P] Sigma_o^-1 delta */
    double *mean;          /* [max_batch, P] projected means */
    double *rows;          /* [max_batch, P] scratch */
    double *solve_work;    /* of tce__solve_lower_rows, where one factor serves all means */
    double *mean_distance; /* [max_batch] */
    double *mean_square;   /* [max_batch] |L_o^-1 delta|^2 */
    double *mean_step;     /* [max_batch] 1 / (1 + omega), 1 inside */
    double *loss;          /* [max_batch] terms of the regression loss */
    tce__cov *cov;         /* [max_batch], one when shared */
    double *work;          /* [threads, work_size] */
    size_t work_size;
};

/* Factors [n_cov, P, P], or deviations [n_cov, P] of a diagonal handle: finite, diagonals > 0. */
tce_status tce__check_scales(const tce_trpl *tr, const char *name, size_t n_cov, const double *L);
/* TCE_OK when the last project was one of n Gaussians; TCE_E_STATE, TCE_E_SHAPE (trpl.c) */
tce_status tce__check_projected(const tce_trpl *tr, size_t n);

/* ---- mean (trpl_mean.c) ---------------------------------------------------------------------- */

/* Rows begin ... end-1 against one old factor [P, P], or deviations [P] of a diagonal handle. */
void tce__mean_project(tce_trpl *tr, size_t begin, size_t end, const double *mean,
                       const double *old_mean, const double *old_L, double bound);
/*
 * rows of x [n, P] <- L^-1 x, or L^-T x with TCE__TRANS; L is [P] for a diagonal handle
 */
void tce__solve_rows(const tce_trpl *tr, tce__trans trans, size_t n, const double *L, double *x);
/* out_d_mean may be d_mean */
void tce__mean_backward(const tce_trpl *tr, size_t begin, size_t end, const double *d_mean,
                        double *out_d_mean);

/* ---- covariance: cov->L is set, old_L [P, P] lower; fills the rest --------------------------- */

/*
 * (trpl.c) Whether the covariance is farther from the old one than the bound: cov->distance and
 * ->active, and eta = 0, t = 1 as inside. TCE_E_NOT_FINITE.
 */
tce_status tce__cov_outside(double distance, double bound, tce__cov *cov);
/* (trpl.c) Outside, for W2 and Frobenius: t = sqrt(bound/d), and omega. */
void tce__cov_shorten(double bound, tce__cov *cov);

/*
 * (trpl_dual.c) The eta >= 0 with f(eta) = bound for a tridiagonal M, where f(0) > bound.
 * TCE_E_NO_CONVERGE.
 */
tce_status tce__dual_solve(size_t P, const double *diagonal, const double *off_diagonal,
                           double bound, double *out_eta);
/* f at eta and its derivative; 0 when M + eta I is not positive definite in double. */
int tce__dual_value(size_t P, const double *diagonal, const double *off_diagonal, double eta,
                    double *out_f, double *out_slope);
/* Newton's step for f^(-1/2), which is nearly linear in eta */
double tce__dual_step(double f, double slope, double bound);

/*
 * d_L (lower, with respect to cov->projected) -> out_d_L (lower, zeros above); out_d_L is not d_L.
 */
tce_status tce__kl_project(size_t P, const double *old_L, double bound, tce__cov *cov,
                           double *work);
void tce__kl_backward(size_t P, const tce__cov *cov, const double *d_L, double *out_d_L,
                      double *work);
tce_status tce__w2_project(size_t P, const double *old_L, double bound, tce__cov *cov,
                           double *work);
void tce__w2_backward(size_t P, const tce__cov *cov, const double *d_L, double *out_d_L,
                      double *work);
tce_status tce__frobenius_project(size_t P, const double *old_L, double bound, tce__cov *cov,
                                  double *work);
void tce__frobenius_backward(size_t P, const tce__cov *cov, const double *d_L, double *out_d_L,
                             double *work);

/* The same on diagonals: vectors [P]; out_d_L may be d_L. */
tce_status tce__diagonal_project(size_t P, int32_t kind, double bound, tce__cov *cov, double *work);
void tce__diagonal_backward(size_t P, int32_t kind, const tce__cov *cov, const double *d_L,
                            double *out_d_L, double *work);

/*
 * Gradient through Sigma = S S of W2: d_S symmetric (destroyed) -> d_L = 2 tril(d_Sigma L), with
 * weight.
 */
void tce__root_backward(size_t P, const double *Q, const double *values, const double *L,
                        double weight, double *d_S, double *out_d_L, double *work);

/* ---- entropy (trpl_entropy.c); stride: 1 for a vector of diagonals, P + 1 for a matrix ------- */

/* TCE_E_VALUE for NaN and plus infinity; minus infinity means no bound */
tce_status tce__check_entropy_bound(const char *name, double bound);
/* exp((bound - H)/P) where entropy control acts: 1 returned in *out_acts, else factor 1. */
double tce__entropy_factor(size_t P, const double *L, size_t stride, double bound, int32_t mode,
                           int32_t *out_acts);
/* d_L by factor * L -> d_L by L, in place; columns: P for matrices, 1 for vectors of diagonals */
void tce__entropy_backward(size_t P, size_t columns, const double *L, double factor, double *d_L);

#endif
