/*
 * Cases of what is reported about runs (examples/trainer/report/stats.h), and of returns with time
 * limits: advantages of step-based rollouts, interquartile mean with its bootstrap, performance
 * profile, jerk, correlation.
 */
#include <math.h>
#include <string.h>

#include "../../examples/trainer/report/stats.h"
#include "replay.h"

/*
 * An interval of draws of one's own lies in the range that the case gives, which is rounded here.
 */
#define TOL_RANGE 1e-9
/* Of those draws; any other does as well. */
#define SEED 7

/* ---- returns --------------------------------------------------------------------------------- */

/*
 * r + gamma V(terminal observation) where an episode was cut by its time limit alone; then every
 * end is an end.
 */
void replay_gae(replay_case *c)
{
    size_t shape[REPLAY_MAX_RANK];
    replay_shape(c, c->root, "rewards", shape);
    const size_t E = shape[0], T = shape[1], n = E * T;
    const double gamma = replay_number(c, c->root, "gamma");
    const double lambda = replay_number(c, c->root, "lam");
    const int bootstrap = replay_bootstraps(c);
    double *rewards = replay_array(c, c->root, "rewards", n);
    const double *given = replay_array(c, c->root, "values", n);
    const double *terminal = replay_array_or_zeros(c, c->root, "value_of_terminal_observation", n);
    const double *last = replay_array(c, c->root, "last_values", E);
    const uint8_t *terminated = replay_flags(c, c->root, "terminated", n);
    const uint8_t *truncated = replay_flags(c, c->root, "truncated", n);

    double *values = replay_zeros(c, E * (T + 1));
    uint8_t *dones = replay_block(c, n, sizeof *dones);
    for (size_t e = 0; e < E; e++) {
        memcpy(values + e * (T + 1), given + e * T, T * sizeof *values);
        values[e * (T + 1) + T] = last[e];
    }
    for (size_t i = 0; i < n; i++) {
        rewards[i] += bootstrap && truncated[i] && !terminated[i] ? gamma * terminal[i] : 0.0;
        dones[i] = terminated[i] || truncated[i];
    }
    double *advantages = replay_zeros(c, n), *returns = replay_zeros(c, n);
    replay_ok(c, tce_returns_gae(E, T, rewards, values, dones, gamma, lambda, advantages, returns));
    replay_compare_rivals(c, c->root, "advantages", n, advantages);
    replay_compare_rivals(c, c->root, "returns", n, returns);
}

/* ---- runs ------------------------------------------------------------------------------------ */

/* Scores [R, K], and room for one resampling. */
typedef struct scores {
    size_t R, K, n; /* n = R K */
    double *x, *work;
} scores;

static scores read_scores(replay_case *c)
{
    size_t shape[REPLAY_MAX_RANK];
    replay_shape(c, c->root, "scores", shape);
    scores s = { .R = shape[0], .K = shape[1], .n = shape[0] * shape[1] };
    s.x = replay_array(c, c->root, "scores", s.n);
    s.work = replay_zeros(c, s.n);
    return s;
}

static void compare_aggregates(replay_case *c, const scores *s)
{
    const double mean = stats_mean(s->n, s->x);
    const double median = stats_median(s->R, s->K, s->x, s->work);
    const double gap = stats_optimality_gap(s->n, s->x);
    memcpy(s->work, s->x, s->n * sizeof *s->x);
    const double iqm = stats_iqm(s->n, s->work);
    replay_compare_rivals(c, c->root, "mean", 1, &mean);
    replay_compare_rivals(c, c->root, "median", 1, &median);
    replay_compare_rivals(c, c->root, "optimality_gap", 1, &gap);
    replay_compare_rivals(c, c->root, "iqm", 1, &iqm);
}

/* With the draws of the case: every IQM, its interval, and that of the profile at taus [n_tau]. */
static void compare_given_draws(replay_case *c, const scores *s, size_t n_tau, const double *taus)
{
    size_t shape[REPLAY_MAX_RANK];
    replay_shape(c, c->root, "indices", shape);
    const size_t n_draws = shape[0];
    const double *indices = replay_array(c, c->root, "indices", n_draws * s->n);
    uint32_t *runs = replay_block(c, n_draws * s->n, sizeof *runs);
    for (size_t i = 0; i < n_draws * s->n; i++) {
        if (!(indices[i] >= 0.0 && indices[i] < (double)s->R))
            replay_fail(c, "indices has %g, there are %zu runs", indices[i], s->R);
        runs[i] = (uint32_t)indices[i];
    }

    double *values = replay_zeros(c, n_draws);
    for (size_t i = 0; i < n_draws; i++) {
        stats_resample(s->R, s->K, s->x, runs + i * s->n, s->work);
        values[i] = stats_iqm(s->n, s->work);
    }
    replay_compare_rivals(c, c->root, "bootstrap_iqm", n_draws, values);
    const interval found = stats_interval(n_draws, values, BOOTSTRAP_COVERAGE);
    replay_compare_rivals(c, c->root, "interval_for_indices", 2,
                          (const double[]){ found.low, found.high });

    double *ends = replay_zeros(c, 2 * n_tau);
    for (size_t t = 0; t < n_tau; t++) {
        for (size_t i = 0; i < n_draws; i++) {
            stats_resample(s->R, s->K, s->x, runs + i * s->n, s->work);
            values[i] = stats_profile(s->n, s->work, taus[t]);
        }
        const interval at = stats_interval(n_draws, values, BOOTSTRAP_COVERAGE);
        ends[t] = at.low;
        ends[n_tau + t] = at.high;
    }
    replay_compare_rivals(c, c->root, "profile_interval_for_indices", 2 * n_tau, ends);
}

/* How far a number lies outside of the range [2] under a key. */
static void compare_range(replay_case *c, const char *key, double got)
{
    const double *range = replay_array(c, c->root, key, 2);
    const double outside = fmax(0.0, fmax(range[0] - got, got - range[1])), none = 0.0;
    replay_compare_absolute(c, key, 1, &outside, &none, TOL_RANGE);
}

/*
 * With draws of one's own. The profile takes values that are 1 / (R K) apart, and may be one of
 * them off.
 */
static void compare_own_draws(replay_case *c, const scores *s, size_t n_tau, const double *taus)
{
    if (replay_get(c, c->root, "interval_low_range")) {
        interval found;
        const int32_t repetitions = replay_int(c, c->root, "interval_repetitions", 1, 1000000);
        replay_ok(c, stats_bootstrap_iqm(s->R, s->K, s->x, (size_t)repetitions, SEED, &found));
        compare_range(c, "interval_low_range", found.low);
        compare_range(c, "interval_high_range", found.high);
    }
    if (replay_get(c, c->root, "profile_interval_in_distribution")) {
        const int32_t repetitions = replay_int(c, c->root, "profile_repetitions", 1, 1000000);
        const double *want = replay_array(c, c->root, "profile_interval_in_distribution",
                                          2 * n_tau);
        interval *at = replay_block(c, n_tau, sizeof *at);
        double *ends = replay_zeros(c, 2 * n_tau);
        replay_ok(c, stats_bootstrap_profile(s->R, s->K, s->x, n_tau, taus, (size_t)repetitions,
                                             SEED, at));
        for (size_t t = 0; t < n_tau; t++) {
            ends[t] = at[t].low;
            ends[n_tau + t] = at[t].high;
        }
        replay_compare_absolute(c, "profile_interval_in_distribution", 2 * n_tau, ends, want,
                                1.0 / (double)s->n + TOL_RANGE);
    }
}

void replay_iqm_bootstrap(replay_case *c)
{
    const scores s = read_scores(c);
    size_t shape[REPLAY_MAX_RANK] = { 0 };
    compare_aggregates(c, &s);
    if (!replay_get(c, c->root, "taus"))
        return;
    replay_shape(c, c->root, "taus", shape);
    const size_t n_tau = shape[0];
    const double *taus = replay_array(c, c->root, "taus", n_tau);
    double *profile = replay_zeros(c, n_tau), *of_means = replay_zeros(c, n_tau);
    for (size_t t = 0; t < n_tau; t++) {
        profile[t] = stats_profile(s.n, s.x, taus[t]);
        of_means[t] = stats_profile_mean(s.R, s.K, s.x, taus[t]);
    }
    replay_compare_rivals(c, c->root, "profile", n_tau, profile);
    replay_compare_rivals(c, c->root, "profile_mean", n_tau, of_means);
    if (replay_get(c, c->root, "indices"))
        compare_given_draws(c, &s, n_tau, taus);
    compare_own_draws(c, &s, n_tau, taus);
}

/* ---- movements ------------------------------------------------------------------------------- */

void replay_jerk(replay_case *c)
{
    size_t shape[REPLAY_MAX_RANK];
    replay_shape(c, c->root, "velocity", shape);
    const double *velocity = replay_array(c, c->root, "velocity", shape[0] * shape[1]);
    smoothness found;
    stats_smoothness(shape[0], shape[1], velocity, replay_number(c, c->root, "dt"), &found);
    replay_compare_rivals(c, c->root, "maximum_jerk", 1, &found.maximum_jerk);
    replay_compare_rivals(c, c->root, "mean_squared_jerk", 1, &found.mean_squared_jerk);
    replay_compare_rivals(c, c->root, "dimensionless_jerk", 1, &found.dimensionless_jerk);
    replay_compare_rivals(c, c->root, "dimensionless_jerk_integral", 1,
                          &found.dimensionless_jerk_integral);
}

void replay_correlation(replay_case *c)
{
    size_t shape[REPLAY_MAX_RANK];
    replay_shape(c, c->root, "samples", shape);
    const size_t S = shape[0], T = shape[1], D = shape[2], n = D * T;
    const double *samples = replay_array(c, c->root, "samples", S * n);
    double *work = replay_zeros(c, 2 * n), *matrix = replay_zeros(c, n * n);
    correlation_of_samples(S, T, D, samples, work, matrix);
    replay_compare_rivals(c, c->root, "matrix", n * n, matrix);
}
