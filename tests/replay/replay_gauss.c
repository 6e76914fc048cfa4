/*
 * Cases of squashed Gaussians, a = tanh(mean + std noise): actions, densities and gradients along
 * the noise, and density and gradients of given actions. The fields log_std and raw_log_std are
 * what a policy's network puts out; std = exp(log_std), so that d/d log_std = std d/d std.
 */
#include <math.h>

#include "replay.h"

/* The density's constant, which libtce does not leave open. */
#define EPSILON 1e-6

/* What both kinds share. */
typedef struct squashed {
    tce_gauss gaussians;
    size_t n;                   /* numbers in a mean */
    double *std;                /* [rows, dim] */
    double *d_mean, *d_log_std; /* [rows, dim] */
    double *work;
} squashed;

static squashed read_gaussians(replay_case *c, const double *log_std)
{
    size_t shape[REPLAY_MAX_RANK];
    squashed s = { .gaussians = { .struct_size = sizeof s.gaussians } };
    replay_shape(c, c->root, "mean", shape);
    s.n = shape[0] * shape[1];
    if (replay_number(c, c->root, "epsilon") != EPSILON)
        replay_fail(c, "epsilon is not %g", EPSILON);

    s.std = replay_zeros(c, s.n);
    for (size_t i = 0; i < s.n; i++)
        s.std[i] = exp(log_std[i]);
    s.d_mean = replay_zeros(c, s.n);
    s.d_log_std = replay_zeros(c, s.n);
    s.work = replay_zeros(c, tce_gauss_work_size(shape[0], shape[1]));
    s.gaussians.n = s.gaussians.n_scales = shape[0];
    s.gaussians.dim = shape[1];
    s.gaussians.form = TCE_GAUSS_DIAGONAL;
    s.gaussians.mean = replay_array(c, c->root, "mean", s.n);
    s.gaussians.scale = s.std;
    return s;
}

/* d/d log_std from d/d std, in place */
static void to_log_std(const squashed *s)
{
    for (size_t i = 0; i < s->n; i++)
        s->d_log_std[i] *= s->std[i];
}

/* What follows from the noise. */
static void compare_samples(replay_case *c, const squashed *s)
{
    const tce_gauss *const g = &s->gaussians;
    const double *noise = replay_array(c, c->root, "noise", s->n);
    const double *coefficients = replay_array(c, c->root, "coefficients", g->n);
    double *u = replay_zeros(c, s->n), *action = replay_zeros(c, s->n);
    double *log_prob = replay_zeros(c, g->n);

    replay_ok(c, tce_gauss_sample(g, noise, u));
    replay_compare_rivals(c, c->root, "pre_tanh", s->n, u);
    replay_ok(c, tce_gauss_squash(g, noise, action, log_prob));
    replay_compare_rivals(c, c->root, "action", s->n, action);
    replay_compare_rivals(c, c->root, "log_prob", g->n, log_prob);
    replay_ok(c, tce_gauss_squash_backward(g, noise, NULL, coefficients, s->work, s->d_mean,
                                           s->d_log_std));
    to_log_std(s);
}

void replay_squashed_gaussian(replay_case *c)
{
    size_t shape[REPLAY_MAX_RANK];
    replay_shape(c, c->root, "log_std", shape);
    const double *log_std = replay_array(c, c->root, "log_std", shape[0] * shape[1]);
    const squashed s = read_gaussians(c, log_std);
    const tce_gauss *const g = &s.gaussians;
    compare_samples(c, &s);
    replay_compare_rivals(c, c->root, "d_mean", s.n, s.d_mean);
    replay_compare_rivals(c, c->root, "d_log_std", s.n, s.d_log_std);

    /* actions that are given */
    const double *action = replay_array(c, c->root, "given_action", s.n);
    const double *coefficients = replay_array(c, c->root, "coefficients", g->n);
    double *log_prob = replay_zeros(c, g->n);
    replay_ok(c, tce_gauss_squash_log_prob(g, action, s.work, log_prob));
    replay_compare_rivals(c, c->root, "given_log_prob", g->n, log_prob);
    replay_ok(c, tce_gauss_squash_log_prob_backward(g, action, coefficients, s.work, s.d_mean,
                                                    s.d_log_std));
    to_log_std(&s);
    replay_compare_rivals(c, c->root, "given_d_mean", s.n, s.d_mean);
    replay_compare_rivals(c, c->root, "given_d_log_std", s.n, s.d_log_std);
}

/* The head's output is cut to [low, high], and has no gradient outside. */
void replay_squashed_clipped(replay_case *c)
{
    size_t shape[REPLAY_MAX_RANK];
    replay_shape(c, c->root, "raw_log_std", shape);
    const size_t n = shape[0] * shape[1];
    const double *raw = replay_array(c, c->root, "raw_log_std", n);
    const double low = replay_number(c, c->root, "log_std_low");
    const double high = replay_number(c, c->root, "log_std_high");
    double *log_std = replay_zeros(c, n);
    for (size_t i = 0; i < n; i++)
        log_std[i] = fmin(fmax(raw[i], low), high);
    replay_compare_rivals(c, c->root, "log_std", n, log_std);

    const squashed s = read_gaussians(c, log_std);
    compare_samples(c, &s);
    for (size_t i = 0; i < n; i++)
        if (raw[i] < low || raw[i] > high)
            s.d_log_std[i] = 0.0;
    replay_compare_rivals(c, c->root, "d_mean", n, s.d_mean);
    replay_compare_rivals(c, c->root, "d_raw_log_std", n, s.d_log_std);
}
