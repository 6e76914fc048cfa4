/*
 * segment: advantages of path segments, and their likelihood under a Gaussian over
 * movement-primitive parameters: the objective of TCE.
 *
 * A segment is a pair (a, b) of step indices; its likelihood is that of the desired positions at
 * these two times (2D numbers). Masked segments (ended episodes) take part in nothing. Mathematics:
 * docs/api/segment.md.
 */
#ifndef TCE_SEGMENT_H
#define TCE_SEGMENT_H

#include <tce/mp.h>
#include <tce/pool.h>
#include <tce/returns.h>

TCE_BEGIN_C

/* ---- time points and segment advantages ------------------------------------------------------ */

enum { TCE_TIME_POINTS_INTERVAL = 0, TCE_TIME_POINTS_RANDOM = 1 };

/* Most pairs that tce_time_pairs can return for these settings.   Since 0.2. */
TCE_API size_t tce_time_pairs_max(size_t T, size_t K);

/*
 * Chooses time points and returns consecutive pairs: out_pairs [J, 2], out_J. INTERVAL: spacing T
 * div K, first index drawn from [0, spacing + T mod K). RANDOM: K sorted distinct indices.
 * TCE_E_VALUE: K < 2 or K > T.   No allocation.   Since 0.2.
 */
TCE_API TCE_NODISCARD tce_status tce_time_pairs(int32_t selection, size_t T, size_t K,
                                                tce_random *random, int32_t *out_pairs,
                                                size_t *out_J);

/*
 * The pairs of INTERVAL for a given first index, in the range above (TCE_E_VALUE).   No allocation.
 * Since 0.2.
 */
TCE_API TCE_NODISCARD tce_status tce_time_pairs_from(size_t T, size_t K, size_t first,
                                                     int32_t *out_pairs, size_t *out_J);

/*
 * VALUE: reward sum + gamma^(b-a) V_b - V_a.  SUM: step advantages (normalised over the batch)
 * summed over a … b.
 * REWARD: discounted reward sum minus its mean over episodes, never normalised.
 */
enum { TCE_SEGMENT_VALUE = 0, TCE_SEGMENT_SUM = 1, TCE_SEGMENT_REWARD = 2 };

/*
 * Segment advantages [E, J]. rewards [E, T] (VALUE, REWARD), values [E, T+1] (VALUE),
 * step_advantages [E, T] (SUM); what a kind does not use may be NULL. pairs [J, 2] with 0 <= a < b
 * < T; lengths [E] or NULL: steps that each episode really took (NULL: T). A segment counts when it
 * starts before the end of its episode. normalise: minus mean, over sample std + 1e-8, of the
 * segments that count (VALUE, SUM). out_mask [E, J] or NULL: 1 where the segment counts. Segments
 * that do not count are 0.
 * TCE_E_VALUE: a pair, length or gamma out of range, a number that is not finite.   No allocation.
 * Since 0.2.
 */
TCE_API TCE_NODISCARD tce_status tce_segment_advantage(int32_t kind, size_t E, size_t T, size_t J,
                                                       const double *rewards, const double *values,
                                                       const double *step_advantages,
                                                       const int32_t *pairs, const int32_t *lengths,
                                                       double gamma, int32_t normalise, double *out,
                                                       uint8_t *out_mask);

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
 * Sets times and pairs, once an iteration. n_grids is 1 or E: times [n_grids, T], init_time
 * [n_grids]; pairs [J, 2] in any order. Grids that are all equal are treated as one. With a shared
 * covariance and one grid a likelihood costs a factorisation a segment, otherwise one a segment and
 * episode.
 * TCE_E_SHAPE: more than the options allow.  TCE_E_VALUE: a pair outside 0 <= a < b < T, a time
 * that the primitive refuses (no pairs are set then).   No allocation.   Since 0.2.
 */
TCE_API TCE_NODISCARD tce_status tce_segment_set_pairs(tce_segment *seg, size_t n_grids, size_t T,
                                                       const double *times, const double *init_time,
                                                       size_t J, const int32_t *pairs);

/*
 * Log-likelihood [E, J] of segments of paths positions [E, T, D] under mean [E, P], L ([1, P, P]
 * when shared, else [E, P, P]), starts init_pos, init_vel [E, D] (NULL: zeros).
 * TCE_E_STATE before set_pairs.  TCE_E_SHAPE: E too large, or not n_grids.  TCE_E_VALUE: a number
 * that is not finite, a start velocity before the delay.  TCE_E_NOT_PD: a diagonal entry of L is
 * not > 0, or a segment's covariance is not positive definite.  TCE_E_SINGULAR: every segment lies
 * before the delay.   No allocation.   Since 0.2.
 */
TCE_API TCE_NODISCARD tce_status tce_segment_log_prob(tce_segment *seg, size_t E,
                                                      const double *positions, const double *mean,
                                                      const double *L, const double *init_pos,
                                                      const double *init_vel, double *out);

/*
 * Surrogate loss -mean(rho A), or with clip > 0 -mean(min(rho A, clip(rho, 1-clip, 1+clip) A)), rho
 * = exp(new - old), over unmasked segments, and its gradients d_mean [E, P], d_L (like L, zeros
 * above the diagonal), overwritten; the regulariser counts as a constant. log_prob_old, advantages
 * [E, J]; mask [E, J] or NULL; out_log_prob [E, J]; any output may be NULL. What belongs to masked
 * segments only may be NaN. Statuses as for tce_segment_log_prob, and TCE_E_NOT_FINITE: a ratio or
 * gradient overflowed.   No allocation.   Since 0.2.
 */
TCE_API TCE_NODISCARD tce_status tce_segment_surrogate(
    tce_segment *seg, size_t E, const double *positions, const double *mean, const double *L,
    const double *init_pos, const double *init_vel, const double *log_prob_old,
    const double *advantages, const uint8_t *mask, double clip, tce_returns_stats *out_stats,
    double *out_log_prob, double *out_d_mean, double *out_d_L);

TCE_END_C

#endif
