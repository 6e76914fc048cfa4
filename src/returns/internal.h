/*
 * What this module shares with the segment objective: means and deviations, and the terms of the
 * surrogate.
 */
#ifndef TCE_RETURNS_INTERNAL_H
#define TCE_RETURNS_INTERNAL_H

#include <tce/returns.h>

#include "base/internal.h"

/* ---- normalisation (normalise.c) ------------------------------------------------------------- */

/* Mean and sum of squared deviations of the numbers seen so far; starts as zeros. */
typedef struct tce__moments {
    double n;
    double mean;
    double squares;
} tce__moments;

void tce__moments_add(tce__moments *m, double x);

/* (x - mean) / (sample standard deviation + 1e-8); x itself after fewer than two numbers */
double tce__moments_normalised(const tce__moments *m, double x);

/* ---- terms of the surrogate (surrogate.c) ---------------------------------------------------- */

/* Sums over segments from which a tce_returns_stats is made. */
typedef struct tce__ratio_sums {
    double loss;
    double ratio;
    double ratio_max;
    double clipped;
    double kl;
} tce__ratio_sums;

/*
 * Adds the term of one segment to *sums and returns its derivative by the new log-likelihood, both
 * before division by the number of segments. The caller looks at sums->ratio: an overflow leaves it
 * infinite or NaN.
 */
double tce__ratio_term(double log_prob, double log_prob_old, double advantage, double clip,
                       tce__ratio_sums *sums);

/* Adds the sums of another part. */
void tce__ratio_add(const tce__ratio_sums *part, tce__ratio_sums *sums);

/* Means over n segments; zeros when n is 0. out may be NULL. */
void tce__ratio_stats(const tce__ratio_sums *sums, size_t n, tce_returns_stats *out);

/* How many entries count: those with mask != 0, all n when mask is NULL. */
size_t tce__count_mask(size_t n, const uint8_t *mask);

/* As tce__check_finite, for the entries that count. */
tce_status tce__check_unmasked(const char *name, size_t n, const uint8_t *mask, const double *x);

#endif
