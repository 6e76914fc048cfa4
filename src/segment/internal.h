/*
 * What the files of this module share: the handle, and what one call works on.
 */
#ifndef TCE_SEGMENT_INTERNAL_H
#define TCE_SEGMENT_INTERNAL_H

#include <tce/segment.h>

#include "base/internal.h"
#include "returns/internal.h"

/* ---- the handle (segment.c) ------------------------------------------------------------------ */

/*
 * Parts of the gradient of a shared factor when episodes have their own grids; fixed, so that sums
 * do not depend on the threads.
 */
#define TCE__SEGMENT_PARTS 16

/*
 * Episodes that share a covariance and a grid, and the arrays that their likelihoods need. Either
 * one group holds all episodes, or each episode is a group of its own. Time points are stored so
 * that segment j lies at rows first[j] and first[j] + 1.
 */
typedef struct tce__segment_group {
    size_t n;            /* episodes */
    size_t begin;        /* number of the first of them */
    const double *basis; /* [K, C] */
    /* [K], mean path of zero parameters: from_pos init_pos + from_vel init_vel */
    const double *from_pos;
    const double *from_vel; /* [K] */
    const double *L;        /* [P, P] */
    double *rows;           /* [K, D, P], H L; in the end its gradient */
    double *residual;       /* [K, D, n], x - m; in the end the gradient of m */
    double *d_points;       /* [J, 2D, n], gradient of m by segment */
    double *d_rows;         /* [J, 2D, P], gradient of H L by segment */
} tce__segment_group;

/* What one thread needs for one segment. */
typedef struct tce__segment_scratch {
    double *S;        /* [2D, 2D], covariance, its factor, the inverse of that */
    double *d_S;      /* [2D, 2D] */
    double *z;        /* [2D, n], whitened residual */
    double *weighted; /* [2D, n], z times the derivative of the loss */
    double *values;   /* [n], log-likelihoods, then the derivatives of the loss by them */
} tce__segment_scratch;

struct tce_segment {
    tce_hooks hooks;
    const tce_mp *mp;
    tce_pool *pool;
    double reg;
    size_t max_E;
    size_t max_T;
    size_t max_J;
    size_t max_grids;
    int32_t shared_cov;
    int32_t n_workers;
    size_t D; /* degrees of freedom */
    size_t C; /* columns of H of one of them */
    size_t P; /* D * C */

    /* set by tce_segment_set_pairs; J is 0 before */
    size_t n_grids; /* as given: 1 or E */
    size_t n_basis; /* 1 when all grids are equal */
    size_t T;
    size_t J;
    size_t K;         /* time points */
    size_t *first;    /* [max_J] row of a segment's first time point */
    int32_t *point;   /* [max_K] step index of a time point */
    double *times;    /* [max_K], of the grid being set */
    double *basis;    /* [max_grids, max_K, C] */
    double *from_pos; /* [max_grids, max_K] */
    double *from_vel; /* [max_grids, max_K] */
    uint8_t *rests;   /* [max_grids], 1: the start lies before the delay and has no velocity */
    double *zeros;    /* [P] */
    double *ones;     /* [D] */
    double *path;     /* [max_K, D] */

    /* workspace of one call */
    tce__segment_group all;        /* every episode; only with a shared covariance */
    tce__segment_group *one;       /* [n_workers], one episode; only when episodes can differ */
    tce__segment_scratch *scratch; /* [n_workers] */
    tce__ratio_sums *sums;         /* [max(max_J, max_E)] */
    double *largest;               /* [max(D, max_E)] diagonal entries */
    double *parts;                 /* [TCE__SEGMENT_PARTS, P, P] */
};

/* ---- one call (likelihood.c computes, objective.c drives) ------------------------------------ */

/* Arguments of a call, and what is derived from them before the segments are visited. */
typedef struct tce__segment_call {
    tce_segment *seg;
    size_t E;
    const double *positions;    /* [E, T, D] */
    const double *mean;         /* [E, P] */
    const double *L;            /* [1 or E, P, P] */
    const double *init_pos;     /* [E, D] or NULL */
    const double *init_vel;     /* [E, D] or NULL */
    const double *log_prob_old; /* [E, J], NULL: likelihood only */
    const double *advantages;   /* [E, J] */
    const uint8_t *mask;        /* [E, J] or NULL */
    double clip;
    double weight;        /* 1 / segments that count */
    double reg;           /* added to the diagonal of every S */
    double *out_log_prob; /* [E, J] or NULL */
    double *out_d_mean;   /* [E, P] or NULL */
    double *out_d_L;      /* [1 or E, P, P] or NULL */
} tce__segment_call;

/* Rows of H L of DoF d at all time points; returns the largest variance among them. */
double tce__segment_rows(const tce_segment *seg, const tce__segment_group *group, size_t d);

/* x - m at time points begin ... end-1. TCE_E_VALUE: a position that counts is not finite. */
tce_status tce__segment_residual(const tce__segment_call *call, const tce__segment_group *group,
                                 size_t begin, size_t end);

/*
 * Log-likelihoods of segment j and, in a surrogate call, its terms of the loss and of the
 * gradients.
 */
tce_status tce__segment_score(const tce__segment_call *call, const tce__segment_group *group,
                              size_t j, const tce__segment_scratch *scratch, tce__ratio_sums *sums);

/*
 * Gradients of the parameters of DoF d from those of all segments: d_mean [n, P], and d_L [P, P],
 * to which it adds; either may be NULL.
 */
void tce__segment_gather(const tce_segment *seg, const tce__segment_group *group, size_t d,
                         double *d_mean, double *d_L);

#endif
