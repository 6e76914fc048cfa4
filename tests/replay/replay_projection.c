/*
 * Trust-region projections and entropy control: what comes out, the distances before, and the
 * gradients [TRPL].
 *
 * Cases of the Wasserstein-2 covariance speak symmetric square roots S, libtce Cholesky factors: S
 * = L Q with Q orthogonal gives L on the way in, an eigendecomposition of L L' gives S on the way
 * out.
 */
#include "replay.h"
#include "methods/schedules.h"
#include "settings/settings.h"

#include <math.h>
#include <string.h>

enum {
    MAX_DIM = 1 << 12,
    /* Jacobi converges quadratically; a dozen sweeps are plenty for any size here */
    N_SWEEPS = 30
};

/* A bound that never acts. */
#define NO_BOUND 1e300

static void free_trpl(void *tr)
{
    tce_trpl_free(tr);
}

static tce_trpl *create_trpl(replay_case *c, int32_t kind, size_t dim, size_t n, size_t n_cov,
                             int32_t diagonal)
{
    tce_trpl_options opt;
    tce_trpl *tr;

    tce_trpl_options_init(&opt, sizeof opt);
    opt.kind = kind;
    opt.dim = (int32_t)dim;
    opt.max_batch = (int32_t)n;
    opt.shared_cov = n_cov == 1;
    opt.diagonal = diagonal;
    replay_ok(c, tce_trpl_create(&opt, NULL, &tr));
    replay_keep(c, tr, free_trpl);
    return tr;
}

/* ---- means and covariances together ---------------------------------------------------------- */

static int32_t projection_kind(replay_case *c)
{
    const char *name = replay_text(c, c->root, "projection");

    if (name != NULL && strcmp(name, "kl") == 0)
        return TCE_TRPL_KL;
    if (name != NULL && strcmp(name, "w2") == 0)
        return TCE_TRPL_W2;
    if (name != NULL && strcmp(name, "frobenius") == 0)
        return TCE_TRPL_FROBENIUS;
    replay_fail(c, "\"projection\" %s is unknown", name != NULL ? name : "(none)");
}

/* One Gaussian per row, or all with one factor: what is projected, and the case's bounds. */
typedef struct gaussians {
    int32_t kind;
    size_t n, dim;
    size_t n_cov; /* 1 or n */
    const double *mean, *L, *old_mean, *old_L;
    tce_trpl_bounds bounds;
} gaussians;

/* The scale of a case as a handle takes it: factors, or their diagonals. */
static double *as_taken(replay_case *c, const gaussians *g, int32_t diagonal, const double *L)
{
    const size_t dim = g->dim, n = g->n_cov * dim;
    double *out = replay_zeros(c, n * dim);
    for (size_t k = 0; k < (diagonal ? n : n * dim); k++)
        out[k] = diagonal ? L[k * dim + k % dim] : L[k];
    return out;
}

static void project(replay_case *c, const gaussians *whole, int32_t diagonal)
{
    gaussians taken = *whole;
    const gaussians *g = &taken;
    const size_t n = g->n;
    const size_t dim = g->dim;
    const size_t n_L = g->n_cov * dim * (diagonal ? 1 : dim);
    taken.L = as_taken(c, whole, diagonal, whole->L);
    taken.old_L = as_taken(c, whole, diagonal, whole->old_L);
    tce_trpl *tr = create_trpl(c, g->kind, dim, n, g->n_cov, diagonal);

    /* forward */
    double *proj_mean = replay_zeros(c, n * dim);
    double *proj_L = replay_zeros(c, n_L);
    double *mean_distance = replay_zeros(c, n);
    double *cov_distance = replay_zeros(c, g->n_cov);
    double *eta = replay_zeros(c, g->n_cov);
    replay_ok(c, tce_trpl_project(tr, n, g->mean, g->L, g->old_mean, g->old_L, &g->bounds,
                                  proj_mean, proj_L));
    replay_ok(c, tce_trpl_distances(tr, n, mean_distance, cov_distance, eta));
    replay_compare(c, c->root, "proj_mean", n * dim, proj_mean, TOL_NUMBERS);
    const double *want = replay_array(c, c->root, "proj_chol", g->n_cov * dim * dim);
    replay_compare_with(c, "proj_chol", n_L, proj_L, as_taken(c, g, diagonal, want), TOL_NUMBERS);
    replay_compare(c, c->root, "mean_distance", n, mean_distance, TOL_NUMBERS);
    replay_compare(c, c->root, "cov_distance", g->n_cov, cov_distance, TOL_NUMBERS);
    replay_compare(c, c->root, "eta", g->n_cov, eta, TOL_NUMBERS);

    /* in place */
    double *mean = replay_zeros(c, n * dim);
    double *L = replay_zeros(c, n_L);
    memcpy(mean, g->mean, n * dim * sizeof *mean);
    memcpy(L, g->L, n_L * sizeof *L);
    replay_ok(c, tce_trpl_project(tr, n, mean, L, g->old_mean, g->old_L, &g->bounds, mean, L));
    replay_same(c, "the mean projected in place", n * dim, mean, proj_mean);
    replay_same(c, "the factor projected in place", n_L, L, proj_L);

    /* backward */
    if (replay_get(c, c->root, "d_mean") == NULL)
        return;
    double *d_mean = replay_array(c, c->root, "d_mean", n * dim);
    double *d_L = as_taken(c, g, diagonal,
                           replay_array(c, c->root, "d_chol", g->n_cov * dim * dim));
    replay_ok(c, tce_trpl_backward(tr, n, d_mean, d_L, d_mean, d_L));
    replay_compare_gradient(c, c->root, "grad_mean", n * dim, d_mean);
    if (!diagonal) {
        replay_compare_gradient(c, c->root, "grad_chol", n_L, d_L);
        return;
    }
    want = as_taken(c, g, diagonal, replay_array(c, c->root, "grad_chol", g->n_cov * dim * dim));
    replay_compare_with(c, "grad_chol", n_L, d_L, want, TOL_GRADIENT);
}

void replay_projection(replay_case *c)
{
    const char *covariance = replay_text(c, c->root, "covariance");
    gaussians g = { .kind = projection_kind(c) };
    size_t shape[REPLAY_MAX_RANK];

    if (replay_shape(c, c->root, "mean", shape) != 2)
        replay_fail(c, "\"mean\" is not [n, dim]");
    g.n = shape[0];
    g.dim = shape[1];
    if (replay_int_or(c, c->root, "dim", (int32_t)g.dim) != (int32_t)g.dim)
        replay_fail(c, "\"dim\" does not fit \"mean\"");
    g.n_cov = replay_shape(c, c->root, "chol", shape) > 2 ? shape[0] : 1;
    g.mean = replay_array(c, c->root, "mean", g.n * g.dim);
    g.L = replay_array(c, c->root, "chol", g.n_cov * g.dim * g.dim);
    g.old_mean = replay_array(c, c->root, "old_mean", g.n * g.dim);
    g.old_L = replay_array(c, c->root, "old_chol", g.n_cov * g.dim * g.dim);
    g.bounds = TCE_INIT(tce_trpl_bounds);
    g.bounds.mean = replay_number(c, c->root, "mean_bound");
    g.bounds.cov = replay_number(c, c->root, "cov_bound");

    /* a diagonal factor by the handle for these, and by the one for any factor */
    project(c, &g, 0);
    if (covariance != NULL && strcmp(covariance, "diagonal") == 0)
        project(c, &g, 1);
}

/* ---- one part at a time ---------------------------------------------------------------------- */

static size_t read_dim(replay_case *c)
{
    return (size_t)replay_int(c, c->root, "dim", 1, MAX_DIM);
}

/*
 * The covariance part alone: means are equal. Writes the projected factor and the distance before
 * it.
 */
static tce_trpl *project_cov(replay_case *c, int32_t kind, size_t dim, const double *L,
                             const double *old_L, double *out_L, double *out_distance,
                             double *out_eta)
{
    const double *zero = replay_zeros(c, dim);
    double *proj_mean = replay_zeros(c, dim);
    tce_trpl *tr = create_trpl(c, kind, dim, 1, 1, 0);
    tce_trpl_bounds bounds = TCE_INIT(tce_trpl_bounds);
    bounds.mean = 1.0;
    bounds.cov = replay_number(c, c->root, "cov_bound");

    replay_ok(c, tce_trpl_project(tr, 1, zero, L, zero, old_L, &bounds, proj_mean, out_L));
    replay_ok(c, tce_trpl_distances(tr, 1, NULL, out_distance, out_eta));
    replay_same(c, "the mean", dim, proj_mean, zero);
    return tr;
}

void replay_kl_cov(replay_case *c)
{
    const size_t dim = read_dim(c);
    const double *L = replay_array(c, c->root, "chol", dim * dim);
    const double *old_L = replay_array(c, c->root, "old_chol", dim * dim);
    double *proj_L = replay_zeros(c, dim * dim);
    double distance;
    double eta;
    tce_trpl *tr = project_cov(c, TCE_TRPL_KL, dim, L, old_L, proj_L, &distance, &eta);

    replay_compare(c, c->root, "eta", 1, &eta, TOL_NUMBERS);
    replay_compare(c, c->root, "distance", 1, &distance, TOL_NUMBERS);
    replay_compare(c, c->root, "proj_chol", dim * dim, proj_L, TOL_NUMBERS);

    if (replay_get(c, c->root, "cotangent") == NULL)
        return;
    double *d_mean = replay_zeros(c, dim);
    double *d_L = replay_array(c, c->root, "cotangent", dim * dim);
    replay_ok(c, tce_trpl_backward(tr, 1, d_mean, d_L, d_mean, d_L));
    replay_compare_gradient(c, c->root, "grad_chol", dim * dim, d_L);
}

void replay_kl_mean(replay_case *c)
{
    const size_t dim = read_dim(c);
    const double *mean = replay_array(c, c->root, "mean", dim);
    const double *old_mean = replay_array(c, c->root, "old_mean", dim);
    const double *old_L = replay_array(c, c->root, "old_chol", dim * dim);
    double *proj_mean = replay_zeros(c, dim);
    double *proj_L = replay_zeros(c, dim * dim);
    double half_maha;
    tce_trpl *tr = create_trpl(c, TCE_TRPL_KL, dim, 1, 1, 0);
    tce_trpl_bounds bounds = TCE_INIT(tce_trpl_bounds);
    bounds.mean = replay_number(c, c->root, "mean_bound");
    bounds.cov = NO_BOUND;

    replay_ok(c, tce_trpl_project(tr, 1, mean, old_L, old_mean, old_L, &bounds, proj_mean, proj_L));
    replay_ok(c, tce_trpl_distances(tr, 1, &half_maha, NULL, NULL));
    replay_compare(c, c->root, "half_maha", 1, &half_maha, TOL_NUMBERS);
    replay_compare(c, c->root, "proj_mean", dim, proj_mean, TOL_NUMBERS);
    replay_same(c, "the covariance", dim * dim, proj_L, old_L);
}

/* out = A A' */
static void square(size_t n, const double *A, double *out)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++) {
            double sum = 0.0;
            for (size_t k = 0; k < n; k++)
                sum += A[i * n + k] * A[j * n + k];
            out[i * n + j] = sum;
        }
    }
}

void replay_frobenius_cov(replay_case *c)
{
    const size_t dim = read_dim(c);
    const double *L = replay_array(c, c->root, "chol", dim * dim);
    const double *old_L = replay_array(c, c->root, "old_chol", dim * dim);
    double *proj_L = replay_zeros(c, dim * dim);
    double *proj_cov = replay_zeros(c, dim * dim);
    double distance;

    project_cov(c, TCE_TRPL_FROBENIUS, dim, L, old_L, proj_L, &distance, NULL);
    square(dim, proj_L, proj_cov);
    replay_compare(c, c->root, "distance", 1, &distance, TOL_NUMBERS);
    replay_compare(c, c->root, "proj_cov", dim * dim, proj_cov, TOL_NUMBERS);
}

/* ---- Wasserstein-2, in square roots ---------------------------------------------------------- */

static double dot(size_t n, const double *a, const double *b)
{
    double sum = 0.0;

    for (size_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

/* S = L Q by Gram-Schmidt on the rows, twice for accuracy: S becomes Q, L has S S' = L L'. */
static void factor_rows(size_t n, double *S, double *L)
{
    for (size_t i = 0; i < n; i++) {
        double *row = S + i * n;

        for (int pass = 0; pass < 2; pass++) {
            for (size_t j = 0; j < i; j++) {
                const double r = dot(n, S + j * n, row);
                L[i * n + j] += r;
                for (size_t k = 0; k < n; k++)
                    row[k] -= r * S[j * n + k];
            }
        }
        L[i * n + i] = sqrt(dot(n, row, row));
        for (size_t k = 0; k < n; k++)
            row[k] /= L[i * n + i];
    }
}

/*
 * One Jacobi rotation that zeroes A[p, q] of a symmetric matrix; V collects the rotations in its
 * columns.
 */
static void rotate(size_t n, size_t p, size_t q, double *A, double *V)
{
    if (A[p * n + q] == 0.0)
        return;
    const double theta = (A[q * n + q] - A[p * n + p]) / (2.0 * A[p * n + q]);
    const double t = (theta >= 0.0 ? 1.0 : -1.0) / (fabs(theta) + sqrt(theta * theta + 1.0));
    const double cosine = 1.0 / sqrt(t * t + 1.0);
    const double sine = t * cosine;

    for (size_t k = 0; k < n; k++) {
        const double a = A[k * n + p];
        const double b = A[k * n + q];
        A[k * n + p] = cosine * a - sine * b;
        A[k * n + q] = sine * a + cosine * b;
    }
    for (size_t k = 0; k < n; k++) {
        const double a = A[p * n + k];
        const double b = A[q * n + k];
        A[p * n + k] = cosine * a - sine * b;
        A[q * n + k] = sine * a + cosine * b;
    }
    for (size_t k = 0; k < n; k++) {
        const double a = V[k * n + p];
        const double b = V[k * n + q];
        V[k * n + p] = cosine * a - sine * b;
        V[k * n + q] = sine * a + cosine * b;
    }
}

/*
 * S = A^(1/2), symmetric: A = V diag(l) V', S = V diag(sqrt l) V'. A is destroyed; V [n, n] starts
 * as zeros.
 */
static void square_root(size_t n, double *A, double *V, double *S)
{
    for (size_t i = 0; i < n; i++)
        V[i * n + i] = 1.0;
    for (int sweep = 0; sweep < N_SWEEPS; sweep++)
        for (size_t p = 0; p + 1 < n; p++)
            for (size_t q = p + 1; q < n; q++)
                rotate(n, p, q, A, V);
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++) {
            double sum = 0.0;
            for (size_t k = 0; k < n; k++)
                sum += V[i * n + k] * sqrt(fmax(A[k * n + k], 0.0)) * V[j * n + k];
            S[i * n + j] = sum;
        }
    }
}

void replay_w2_cov(replay_case *c)
{
    const size_t dim = read_dim(c);
    double *S = replay_array(c, c->root, "sqrt", dim * dim);
    double *old_S = replay_array(c, c->root, "old_sqrt", dim * dim);
    double *L = replay_zeros(c, dim * dim);
    double *old_L = replay_zeros(c, dim * dim);
    double *proj_L = replay_zeros(c, dim * dim);
    double distance;

    factor_rows(dim, S, L);
    factor_rows(dim, old_S, old_L);
    project_cov(c, TCE_TRPL_W2, dim, L, old_L, proj_L, &distance, NULL);

    double *cov = replay_zeros(c, dim * dim);
    double *V = replay_zeros(c, dim * dim);
    double *proj_S = replay_zeros(c, dim * dim);
    square(dim, proj_L, cov);
    square_root(dim, cov, V, proj_S);
    replay_compare(c, c->root, "distance", 1, &distance, TOL_NUMBERS);
    replay_compare(c, c->root, "proj_sqrt", dim * dim, proj_S, TOL_NUMBERS);
}

/* ---- entropy --------------------------------------------------------------------------------- */

void replay_entropy_control(replay_case *c)
{
    size_t shape[REPLAY_MAX_RANK];

    /* one factor or a batch of them */
    const size_t rank = replay_shape(c, c->root, "chol", shape);
    const size_t n_cov = rank > 2 ? shape[0] : 1;
    const size_t dim = rank > 2 ? shape[1] : shape[0];
    const size_t n_L = n_cov * dim * dim;
    const double *L = replay_array(c, c->root, "chol", n_L);
    const double bound = replay_number(c, c->root, "bound");
    const int32_t equal = replay_int_or(c, c->root, "equality", 0);
    double *entropy = replay_zeros(c, n_cov);
    double *result = replay_zeros(c, n_L);

    const tce_gauss gaussians = {
        .struct_size = sizeof gaussians, .n = n_cov, .dim = dim, .n_scales = n_cov, .scale = L
    };
    replay_ok(c, tce_gauss_entropy(&gaussians, entropy));
    replay_compare(c, c->root, "entropy", n_cov, entropy, TOL_NUMBERS);
    /* a projection from the factor to itself: entropy control alone is left */
    tce_trpl_options opt;
    tce_trpl *tr;
    tce_trpl_options_init(&opt, sizeof opt);
    opt.dim = (int32_t)dim;
    opt.max_batch = (int32_t)n_cov;
    opt.shared_cov = n_cov == 1;
    opt.entropy = equal ? TCE_TRPL_ENTROPY_EQUAL : TCE_TRPL_ENTROPY_AT_LEAST;
    replay_ok(c, tce_trpl_create(&opt, NULL, &tr));
    replay_keep(c, tr, free_trpl);
    const tce_trpl_bounds bounds = { sizeof bounds, NO_BOUND, NO_BOUND, bound };
    double *mean = replay_zeros(c, n_cov * dim);
    replay_ok(c, tce_trpl_project(tr, n_cov, mean, L, mean, L, &bounds, mean, result));
    replay_compare(c, c->root, "result", n_L, result, TOL_NUMBERS);

    if (replay_get(c, c->root, "d_result") == NULL)
        return;
    const double *d_result = replay_array(c, c->root, "d_result", n_L);
    double *d_L = replay_zeros(c, n_L);
    replay_ok(c, tce_trpl_backward(tr, n_cov, mean, d_result, mean, d_L));
    replay_compare_gradient(c, c->root, "grad_chol", n_L, d_L);
}

void replay_entropy_schedule(replay_case *c)
{
    const double temperature = 0.7;
    static const char *const names[] = { "none", "linear", "exponential" };
    static const int32_t kinds[] = { ENTROPY_NONE, ENTROPY_LINEAR, ENTROPY_EXPONENTIAL };
    const char *name = replay_text(c, c->root, "schedule");
    size_t i = 0;

    while (i < 3 && (name == NULL || strcmp(name, names[i]) != 0))
        i++;
    if (i == 3)
        replay_fail(c, "\"schedule\" %s is unknown", name != NULL ? name : "(no text)");
    const uint64_t iteration = (uint64_t)replay_int(c, c->root, "iteration", 0, INT32_MAX);
    const entropy_schedule schedule = {
        .kind = kinds[i],
        .dim = read_dim(c),
        .initial = replay_number(c, c->root, "initial"),
        .target = replay_number(c, c->root, "target"),
        .temperature = replay_number_or(c, c->root, "temperature", temperature),
        .length = (uint64_t)replay_int(c, c->root, "iterations", 1, INT32_MAX)
    };
    const double bound = entropy_schedule_at(&schedule, iteration);
    replay_compare(c, c->root, "bound", 1, &bound, TOL_NUMBERS);

    /* no schedule: minus infinity, which a case writes as null */
    const double unbounded = bound == -INFINITY;
    if (kinds[i] == ENTROPY_NONE)
        replay_compare_with(c, "bound", 1, &unbounded, &(const double){ 1.0 }, TOL_NUMBERS);
}
