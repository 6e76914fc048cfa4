/*
 * The policy update of every method with a trust region [TCE, one iteration, step 7]:
 *
 *     loss = surrogate(projected policy) + regression to it - bonus * its mean entropy; Adam.
 *
 * It works on rows: all episodes of an iteration, or a minibatch of them. What a method learns from
 * (the likelihood of segments, of parameters) comes through a callback. No settings, no files, no
 * allocation after policy_update_take.
 *
 * Shapes: n rows, O_net inputs, P parameters, N scales: 1 when the covariance is shared, else n.
 */
#ifndef TRAINER_POLICY_UPDATE_H
#define TRAINER_POLICY_UPDATE_H

#include <tce/tce.h>

#include "tools/memory.h"

/* Surrogate loss of (mean [n, P], N scales L) and its gradients, overwritten. */
typedef tce_status (*surrogate)(void *context, const double *mean, const double *L,
                                tce_returns_stats *stats, double *d_mean, double *d_L);

/* What the rollout left behind, constant over the epochs. */
typedef struct policy_rows {
    size_t n;
    const double *inputs;   /* [n, O_net] */
    const double *old_mean; /* [n, P] */
    const double *old_L;    /* N scales */
    surrogate loss;
    void *context; /* given to loss */
} policy_rows;

typedef struct policy_update_options {
    tce_adam_options adam;
    double clip_norm;       /* largest gradient norm; 0: no clip */
    tce_trpl_bounds bounds; /* of the projection */
    double entropy_bonus;   /* coefficient of the mean entropy */
    double regression;      /* coefficient of the trust-region regression; 0: none */
    int32_t regress_cov;    /* the regression also takes the covariance */
    int32_t set_variance; /* after the last epoch the policy takes over the projected covariance */
    int32_t n_epochs;
} policy_update_options;

/*
 * Policy and projection, which are the caller's, and the arrays of an update. A scale is a factor
 * [P, P]; or, with `deviations`, standard deviations [P], which policy and projection have then.
 */
typedef struct policy_update {
    tce_policy *policy;
    tce_trpl *trpl;
    size_t P;
    int deviations;
    int spread;       /* scales are factors, those of policy and projection are deviations */
    double *mean, *L; /* [n, P] and N scales: the network's own */
    double *proj_mean, *proj_L; /* the same, projected */
    double *d_mean, *d_L;
    double *entropy;       /* [N] */
    double *d_entropy;     /* [N] */
    double *d_entropy_L;   /* N scales */
    double *mean_distance; /* [n] */
    double *cov_distance;  /* [N] */
    double *flat[3];       /* [N, P] of the projection, where `spread` */
} policy_update;

/* What one gradient is made of. */
typedef struct policy_gradient {
    tce_returns_stats stats; /* loss: the surrogate */
    double regression;       /* loss of the trust region */
} policy_gradient;

/* Losses are means over the epochs, as published runs log them, the rest is of the last epoch. */
typedef struct policy_report {
    double loss, regression_loss;
    double gradient_norm;
    double entropy;                     /* mean of the projected policy, after the last step */
    double mean_distance, cov_distance; /* before the projection, means */
    tce_returns_stats stats;
} policy_report;

/*
 * How large an update is. Contextual scales are one per row; of a diagonal policy they are
 * deviations or diagonal factors.
 */
typedef struct policy_update_sizes {
    size_t max_rows, n_scales, P;
    int diagonal, deviations;
} policy_update_sizes;

/* Its arrays, taken from m. */
void policy_update_take(policy_update *u, memory *m, const policy_update_sizes *sizes);

/* Predicts and projects: mean, L, proj_mean, proj_L. */
tce_status policy_update_project(policy_update *u, const policy_rows *rows,
                                 const tce_trpl_bounds *bounds);

/*
 * policy_update_project, then the gradient of the loss with respect to all weights of the policy,
 * which waits for policy_update_step.
 */
tce_status policy_update_gradient(policy_update *u, const policy_rows *rows,
                                  const policy_update_options *options, policy_gradient *out);

/* Norm clip and one Adam step. out_norm: before the clip. */
tce_status policy_update_step(policy_update *u, const policy_update_options *options,
                              double *out_norm);

/* Mean entropy of the scales L of n rows. */
tce_status policy_update_entropy(policy_update *u, size_t n, const double *L, double *out);

/*
 * All epochs on the same rows; afterwards the projection once more, since the last step has moved
 * the policy, and "set variance".
 */
tce_status policy_update_run(policy_update *u, const policy_rows *rows,
                             const policy_update_options *options, policy_report *out);

/* ---- surrogates ------------------------------------------------------------------------------ */

/* Of TCE: the likelihood of the path segments that are set in a tce_segment; J of them. */
typedef struct segment_likelihood {
    tce_segment *segment;
    tce_segment_paths paths; /* except the policy's Gaussians and the gradients */
} segment_likelihood;

/* A `surrogate`; its context is a segment_likelihood. */
tce_status segment_surrogate(void *context, const double *mean, const double *L,
                             tce_returns_stats *stats, double *d_mean, double *d_L);

/* Of BBRL: the likelihood of the parameters themselves. */
typedef struct parameter_likelihood {
    size_t n, n_factors, P;
    int32_t form;               /* TCE_GAUSS_… of the scales */
    const double *params;       /* [n, P] */
    const double *old_log_prob; /* [n] */
    const double *advantages;   /* [n] */
    const uint8_t *mask;        /* [n], or NULL */
    double ratio_clip;
    double *log_prob, *d_log_prob; /* [n] */
    double *work;                  /* [tce_gauss_work_size(n, P)] */
} parameter_likelihood;

/* A `surrogate`; its context is a parameter_likelihood. */
tce_status parameter_surrogate(void *context, const double *mean, const double *L,
                               tce_returns_stats *stats, double *d_mean, double *d_L);

#endif
