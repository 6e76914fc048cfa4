/*
 * Statistics over runs and smoothness of movements, as papers report them: interquartile mean with
 * stratified bootstrap interval, performance profiles, jerk, correlation of actions.
 *
 * Scores are x [R, K]: R runs of each of K tasks. An aggregate sees all values together; the
 * bootstrap draws runs within each task and never draws tasks (they are the strata).
 */
#ifndef TRAINER_STATS_H
#define TRAINER_STATS_H

#include <tce/tce.h>

#define BOOTSTRAP_CURVE 2000  /* repetitions for each point of a curve or profile */
#define BOOTSTRAP_TABLE 50000 /* for numbers in a table */
#define BOOTSTRAP_COVERAGE 0.95

/* ---- aggregates ------------------------------------------------------------------------------ */

/* Interquartile mean: the values without the floor(n / 4) least and greatest. Sorts x. */
double stats_iqm(size_t n, double *x);
double stats_mean(size_t n, const double *x);
/* Median over tasks of each task's mean over runs. work [K]. */
double stats_median(size_t R, size_t K, const double *x, double *work);
/* 1 - mean(min(x, 1)). */
double stats_optimality_gap(size_t n, const double *x);
/* Value at position q (n - 1) of ascending x, linear between neighbours. */
double stats_percentile(size_t n, const double *sorted, double q);

/* ---- performance profile --------------------------------------------------------------------- */

/* Fraction of all values that are > tau (strictly). */
double stats_profile(size_t n, const double *x, double tau);
/* Fraction of tasks whose mean over runs is > tau. */
double stats_profile_mean(size_t R, size_t K, const double *x, double tau);

/* ---- stratified bootstrap -------------------------------------------------------------------- */

/* Where an interval begins and ends. */
typedef struct interval {
    double low, high;
} interval;

/* One resampling: for every task on its own, R runs with replacement: out [R, K]. */
void stats_draw_runs(size_t R, size_t K, tce_random *random, uint32_t *out);
/* out[r, k] = x[runs[r, k], k]. */
void stats_resample(size_t R, size_t K, const double *x, const uint32_t *runs, double *out);
/* The central interval of n values. Sorts them. */
interval stats_interval(size_t n, double *values, double coverage);

/*
 * Of the IQM; the stream is keyed by the seed alone, so the same scores always give the same
 * interval.   Allocates: TCE_E_NOMEM.
 */
tce_status stats_bootstrap_iqm(size_t R, size_t K, const double *x, size_t repetitions,
                               uint64_t seed, interval *out);
/* Of the profile, pointwise at taus [n_tau]: out [n_tau].   Allocates: TCE_E_NOMEM. */
tce_status stats_bootstrap_profile(size_t R, size_t K, const double *x, size_t n_tau,
                                   const double *taus, size_t repetitions, uint64_t seed,
                                   interval *out);

/* ---- movements ------------------------------------------------------------------------------- */

typedef struct smoothness {
    double maximum_jerk;                /* rad/s^3 */
    double mean_squared_jerk;           /* rad^2/s^6 */
    double dimensionless_jerk;          /* as published: a sum over steps, without the factor dt */
    double dimensionless_jerk_integral; /* the integral of the literature */
} smoothness;

/*
 * Of joint velocities [n, D], one row before each of n >= 3 control steps of dt seconds. Fewer
 * rows: all zero.
 */
void stats_smoothness(size_t n, size_t D, const double *velocity, double dt, smoothness *out);

/*
 * Covariance [n, n] to correlation, in place; what is above the diagonal is not read. A row with
 * variance 0 gets 0 off the diagonal and 1 on it.
 */
void correlation_of_covariance(size_t n, double *matrix);

/*
 * Correlation [D T, D T] of the positions that a policy with factor L [P, P] asks for at times [T],
 * DoF by DoF: H L L' H', normalised.
 * TCE_E_UNSUPPORTED: a DMP, learnt tau or delay.
 */
tce_status action_correlation(const tce_mp *mp, size_t T, const double *times, const double *L,
                              double *out);

/* Of samples [S, T, D]. work [2 D T] */
void correlation_of_samples(size_t S, size_t T, size_t D, const double *samples, double *work,
                            double *out);

/*
 * Correlation [D T, D T] of the exploration noise of D actions along one episode of T steps.
 *     white: fresh numbers for every action and step (PPO, TRPL, SAC, before its tanh)
 *     held: state-dependent noise (gSDE), std [F, D] of a matrix that is redrawn every `every`
 *           steps, for features [T, F] along the episode
 *     of_lags: every action has a process of its own with this covariance [T] (PINK)
 */
void correlation_white(size_t T, size_t D, double *out);
void correlation_held(size_t T, size_t D, size_t F, const double *features, const double *std,
                      size_t every, double *out);
void correlation_of_lags(size_t T, size_t D, const double *covariance, double *out);

#endif
