/*
 * One epoch of a policy update, put together from libtce's handles: predict, project, surrogate,
 * back through it all, Adam step.
 *
 * The loss is  surrogate + trust-region regression - bonus * mean entropy of the projected policy.
 * The likelihood is that of path segments (TCE) or of the parameters themselves (BBRL). No
 * allocation: the caller owns every array.
 */
#ifndef TCE_TESTS_UPDATE_H
#define TCE_TESTS_UPDATE_H

#include <tce/tce.h>

/*
 * What the roll-out left behind: constant over the epochs. E episodes, P parameters, N factors (1
 * or E), n likelihoods.
 */
typedef struct update_batch {
    size_t E;
    const double *contexts;     /* [E, O] */
    const double *old_mean;     /* [E, P] */
    const double *old_L;        /* [N, P, P] */
    const double *params;       /* [E, P]: sampled; for BBRL */
    const double *positions;    /* [E, T, D]: path of params; for TCE */
    const double *init_pos;     /* [E, D] or NULL */
    const double *init_vel;     /* [E, D] or NULL */
    const double *log_prob_old; /* [E, J], BBRL: [E] */
    const double *advantages;   /* like log_prob_old */
    const uint8_t *mask;        /* like log_prob_old, or NULL */
} update_batch;

typedef struct update_settings {
    tce_policy *policy;
    tce_trpl *trpl;       /* TCE_TRPL_IDENTITY: no projection */
    tce_segment *segment; /* NULL: BBRL */
    double entropy_bound;
    double coefficient;  /* of the regression loss; 0: none */
    double bonus;        /* entropy coefficient */
    double ratio_clip;   /* 0: plain ratio */
    int32_t regress_cov; /* 0 with "set variance" */
} update_settings;

/* Scratch and results. */
typedef struct update_work {
    double *mean;        /* [E, P] the network's */
    double *L;           /* [N, P, P] */
    double *proj_mean;   /* [E, P] projected */
    double *proj_L;      /* [N, P, P] */
    double *d_mean;      /* [E, P] */
    double *d_L;         /* [N, P, P] */
    double *d_entropy_L; /* [N, P, P] */
    double *entropies;   /* [N] */
    double *d_entropies; /* [N] */
    double *log_prob;    /* [E], BBRL only */
    double *d_log_prob;  /* [E], BBRL only */
    double *gauss;       /* [tce_gauss_work(E, P)], BBRL only */

    tce_segment_stats stats; /* loss: the surrogate */
    double trust_region;
    double entropy; /* mean of the projected policy's */
} update_work;

/* Number of doubles that update_work_layout takes, for E episodes with N factors of dimension P. */
size_t update_work_size(size_t E, size_t N, size_t P);
void update_work_layout(update_work *work, size_t E, size_t N, size_t P, double *memory);

/* Predicts and projects: fills mean, L, proj_mean, proj_L. */
tce_status update_predict(const update_settings *settings, const update_batch *batch,
                          update_work *work);

/*
 * update_predict, then the loss and the gradient of all policy parameters, which waits for
 * tce_policy_adam_step.
 */
tce_status update_gradient(const update_settings *settings, const update_batch *batch,
                           update_work *work);

#endif
