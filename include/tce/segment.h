/*
 * segment: advantages of path segments, and their likelihood under a Gaussian over
 * movement-primitive parameters: the objective of TCE.
 *
 * A segment is a pair (a, b) of step indices; its likelihood is that of the desired positions at
 * these two times (2D numbers). Masked segments, which start after the end of their episode, have
 * no influence. Mathematics: docs/api/segment.md.
 */
#ifndef TCE_SEGMENT_H
#define TCE_SEGMENT_H

#include <tce/mp.h>
#include <tce/pool.h>
#include <tce/returns.h>

TCE_BEGIN_C

/* ---- time points and segment advantages ------------------------------------------------------ */

enum { TCE_SEGMENT_POINTS_INTERVAL = 0, TCE_SEGMENT_POINTS_RANDOM = 1 };

/*
 * The largest number of pairs that tce_segment_choose_pairs can return for K time points; 0 when K
 * does not fit T.   Since 0.2.
 */
TCE_API size_t tce_segment_max_pairs(size_t T, size_t K);

/*
 * Chooses about K time points among T steps and returns consecutive pairs: out_pairs [J, 2], out_J.
 * INTERVAL: spacing T div K; the first index is drawn from [0, spacing + T mod K), or is `first`
 * when random is NULL. RANDOM: K sorted distinct indices; `first` is not used.
 * TCE_E_VALUE: K < 2 or K > T, or first outside its range.  TCE_E_ARGUMENT: an unknown selection,
 * or random is NULL for RANDOM.   No allocation.   Since 0.2.
 */
TCE_API TCE_NODISCARD tce_status tce_segment_choose_pairs(int32_t selection, size_t T, size_t K,
                                                          size_t first, tce_random *random,
                                                          int32_t *out_pairs, size_t *out_J);

/*
 * VALUE: reward sum + gamma^(b-a) V_b - V_a.  SUM: the sum of step advantages (normalised over the
 * batch) over a … b. REWARD: the discounted reward sum minus its mean over episodes; never
 * normalised.
 */
enum { TCE_SEGMENT_VALUE = 0, TCE_SEGMENT_SUM = 1, TCE_SEGMENT_REWARD = 2 };

/* The steps of a batch and the segments to score. Arrays that a kind does not use may be NULL. */
typedef struct tce_segment_steps {
    size_t struct_size;
    size_t E;
    size_t T;
    size_t J;
    int32_t kind;      /* TCE_SEGMENT_VALUE */
    int32_t normalise; /* 0; 1: (x - mean)/(std + 1e-8) over all that count (VALUE, SUM) */
    double gamma;
    const double *rewards;         /* [E, T] (VALUE, REWARD) */
    const double *values;          /* [E, T+1] (VALUE) */
    const double *step_advantages; /* [E, T] (SUM) */
    const int32_t *pairs;          /* [J, 2], 0 <= a < b < T */
    const int32_t *lengths;        /* [E]: steps that each episode took; NULL: T */
    double *out_advantages;        /* [E, J] */
    uint8_t *out_mask;             /* [E, J], 1 where the segment counts; or NULL */
} tce_segment_steps;

/*
 * Segment advantages. A segment counts when it starts before the end of its episode; the others get
 * 0.
 * TCE_E_VALUE: a pair, length or gamma out of range, a number that is not finite.   No allocation.
 * Since 0.2.
 */
TCE_API TCE_NODISCARD tce_status tce_segment_advantage(const tce_segment_steps *steps);

/* ---- segment likelihood and surrogate -------------------------------------------------------- */

typedef struct tce_segment tce_segment;

typedef struct tce_segment_options {
    size_t struct_size;
    const tce_mp *mp;     /* linear, without learnt tau or delay; must outlive the handle */
    int32_t max_episodes; /* 1 */
    int32_t max_steps;    /* 2 */
    int32_t max_pairs;    /* 1 */
    int32_t shared_cov;   /* 1: [1, P, P] factors */
    int32_t max_grids; /* 1: all episodes start at one time and share the times; or max_episodes */
    int32_t reserved;
    double reg;     /* 1e-4, times the largest diagonal entry of all segments */
    tce_pool *pool; /* NULL */
} tce_segment_options;

TCE_API void tce_segment_options_init(tce_segment_options *options, size_t struct_size);
/* TCE_E_VALUE, TCE_E_UNSUPPORTED (a DMP, learnt tau or delay), TCE_E_NOMEM.   Since 0.2. */
TCE_API TCE_NODISCARD tce_status tce_segment_create(const tce_segment_options *options,
                                                    const tce_hooks *hooks, tce_segment **out);
TCE_API void tce_segment_free(tce_segment *seg);

/*
 * Sets times and pairs, once per iteration. n_grids is 1 or E: times [n_grids, T], init_time
 * [n_grids]; pairs [J, 2] in any order. Grids that are all equal are treated as one. With a shared
 * covariance and one grid, a likelihood needs one factorisation per segment, otherwise one per
 * segment and episode.
 * TCE_E_SHAPE: more than the options allow.  TCE_E_VALUE: a pair outside 0 <= a < b < T, a time
 * that the primitive refuses (no pairs are set then).   No allocation.   Since 0.2.
 */
TCE_API TCE_NODISCARD tce_status tce_segment_set_pairs(tce_segment *seg, size_t n_grids, size_t T,
                                                       const double *times, const double *init_time,
                                                       size_t J, const int32_t *pairs);

/* Paths of a batch, the Gaussians under which they are scored, and the outputs. */
typedef struct tce_segment_paths {
    size_t struct_size;
    size_t E;
    double clip;                /* of the ratio; 0: none */
    const double *positions;    /* [E, T, D] */
    const double *mean;         /* [E, P] */
    const double *L;            /* [1, P, P] when shared, else [E, P, P] */
    const double *init_pos;     /* [E, D]; NULL: zeros */
    const double *init_vel;     /* [E, D]; NULL: zeros */
    const double *log_prob_old; /* [E, J]; this and the next two are for the surrogate alone */
    const double *advantages;   /* [E, J] */
    const uint8_t *mask;        /* [E, J]; NULL: every segment counts */
    double *out_log_prob;       /* [E, J] */
    double *out_d_mean;         /* [E, P], gradient of the surrogate */
    double *out_d_L;            /* like L, zeros above the diagonal */
} tce_segment_paths;

/*
 * Log-likelihoods out_log_prob [E, J] of the segments. Fields that only the surrogate uses are not
 * read.
 * TCE_E_STATE before set_pairs.  TCE_E_SHAPE: E too large, or not n_grids.  TCE_E_VALUE: a number
 * that is not finite, a start velocity before the delay.  TCE_E_NOT_PD: a diagonal entry of L is
 * not > 0, or a segment's covariance is not positive definite.  TCE_E_SINGULAR: every segment lies
 * before the delay.   No allocation.   Since 0.2.
 */
TCE_API TCE_NODISCARD tce_status tce_segment_log_prob(tce_segment *seg,
                                                      const tce_segment_paths *paths);

/*
 * Surrogate loss -mean(rho A), or with clip > 0 -mean(min(rho A, clip(rho, 1-clip, 1+clip) A)), rho
 * = exp(log_prob - log_prob_old), over the segments that count. Overwrites its gradients, for which
 * the regulariser is a constant. out_stats and each output may be NULL. Inputs that belong to
 * masked segments alone may be NaN. Statuses as for tce_segment_log_prob, and TCE_E_NOT_FINITE: a
 * ratio or gradient overflowed.   No allocation.   Since 0.2.
 */
TCE_API TCE_NODISCARD tce_status tce_segment_surrogate(tce_segment *seg,
                                                       const tce_segment_paths *paths,
                                                       tce_returns_stats *out_stats);

TCE_END_C

#endif
