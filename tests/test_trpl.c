/*
 * The projection layer: bounds, gradients, statuses, memory.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <check.h>

#include <tce/gauss.h>
#include <tce/trpl.h>

#include "linalg/linalg.h"
#include "support.h"

#define SENTINEL -12345.0

/*
 * Central differences with step eps^(1/3): eps^(2/3) times the third derivative's size, with room.
 */
#define DIFFERENCE_TOLERANCE 2e-6

static tce_trpl *create(int32_t kind, size_t dim, size_t batch)
{
    tce_trpl_options opt;
    tce_trpl *tr = NULL;
    tce_trpl_options_init(&opt, sizeof opt);
    opt.kind = kind;
    opt.dim = (int32_t)dim;
    opt.max_batch = (int32_t)batch;
    ok(tce_trpl_create(&opt, NULL, &tr));
    return tr;
}

static double *doubles(size_t n)
{
    double *x = calloc(n > 0 ? n : 1, sizeof *x);
    ck_assert_ptr_nonnull(x);
    return x;
}

/* out = A A' for square A */
static void times_transpose(size_t n, const double *A, double *out)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            double sum = 0.0;
            for (size_t k = 0; k < n; k++)
                sum += A[i * n + k] * A[j * n + k];
            out[i * n + j] = sum;
        }
}

/* ---- a random problem ------------------------------------------------------------------------ */

/* Inputs of a projection, gradients of its outputs, and room for results. */
typedef struct problem {
    size_t n, dim, n_cov;
    double *mean, *L, *old_mean, *old_L;
    double *d_mean, *d_L;
    double *out_mean, *out_L;
    tce_trpl_bounds bounds;
    int diagonal; /* scales are deviations [n_cov, dim] */
} problem;

/* numbers in all scales */
static size_t n_scales(const problem *p)
{
    return p->n_cov * p->dim * (p->diagonal ? 1 : p->dim);
}

/* Those of Box Pushing. */
static const tce_trpl_bounds BOUNDS = { sizeof BOUNDS, 0.05, 5e-4, 0.0 };

/*
 * new factors are old ones perturbed by `distance`; the deviations of a diagonal problem are their
 * diagonals
 */
static problem problem_create(uint64_t seed, size_t n, size_t n_cov, size_t dim, double condition,
                              double distance, int diagonal)
{
    const size_t size = n_cov * dim * dim;
    problem p = { .n = n, .dim = dim, .n_cov = n_cov, .bounds = BOUNDS, .diagonal = diagonal };
    p.mean = doubles(n * dim);
    p.old_mean = doubles(n * dim);
    p.d_mean = doubles(n * dim);
    p.out_mean = doubles(n * dim);
    p.L = doubles(size);
    p.old_L = doubles(size);
    p.d_L = doubles(size);
    p.out_L = doubles(size);
    tce_random random;
    tce_random_start(&random, seed, 1, n, dim);

    for (size_t e = 0; e < n_cov; e++) {
        double *L = p.L + e * dim * dim;
        double *old_L = p.old_L + e * dim * dim;
        test_random_cholesky(&random, dim, condition, 1.0, old_L);
        test_perturb_cholesky(&random, dim, distance, old_L, L);
    }
    tce_random_normals(&random, n * dim, p.old_mean);
    tce_random_normals(&random, n * dim, p.mean);
    for (size_t k = 0; k < n * dim; k++)
        p.mean[k] = p.old_mean[k] + distance * p.mean[k];
    tce_random_normals(&random, n * dim, p.d_mean);
    tce_random_normals(&random, n_cov * dim * dim, p.d_L);
    for (size_t k = 0; k < n_cov * dim * dim; k++)
        if (k % dim > k / dim % dim)
            p.d_L[k] = 0.0;
    for (size_t i = 0; i < n_cov * dim && diagonal; i++) {
        const size_t k = i * dim + i % dim;
        p.L[i] = p.L[k], p.old_L[i] = p.old_L[k], p.d_L[i] = p.d_L[k];
    }
    return p;
}

static void problem_free(problem *p)
{
    free(p->mean), free(p->L), free(p->old_mean), free(p->old_L);
    free(p->d_mean), free(p->d_L), free(p->out_mean), free(p->out_L);
}

static tce_status run(tce_trpl *tr, const problem *p)
{
    return tce_trpl_project(tr, p->n, p->mean, p->L, p->old_mean, p->old_L, &p->bounds, p->out_mean,
                            p->out_L);
}

/* ---- properties ------------------------------------------------------------------------------ */

/*
 * What the bound is met to: 1e-8, or what storing an ill-conditioned factor in double leaves of a
 * tiny one.
 */
static double bound_tolerance(double condition, double bound)
{
    return fmax(1e-8, 32.0 * 2.2e-16 * sqrt(condition / bound));
}

/*
 * Check notes every assertion in a file: loops over many draws go without until something is wrong.
 */
#define EXPECT(condition, ...)         \
    do {                               \
        if (!(condition))              \
            ck_abort_msg(__VA_ARGS__); \
    } while (0)

/* KL of n Gaussians with one factor from others with one. */
static tce_status kl(size_t n, size_t dim, const double *mean, const double *L,
                     const double *other_mean, const double *other_L, double *work,
                     double *out_mean_part, double *out_cov_part)
{
    tce_gauss g = TCE_INIT(tce_gauss);
    g.n = n, g.dim = dim, g.n_scales = 1;
    tce_gauss other = g;
    g.mean = mean, g.scale = L;
    other.mean = other_mean, other.scale = other_L;
    return tce_gauss_kl(&g, &other, work, out_mean_part, out_cov_part);
}

static tce_status entropy_of(size_t dim, const double *L, double *out)
{
    tce_gauss g = TCE_INIT(tce_gauss);
    g.n = g.n_scales = 1, g.dim = dim, g.scale = L;
    return tce_gauss_entropy(&g, out);
}

/*
 * distance of L from old_L; KL by tce_gauss_kl, the others by a projection that leaves everything
 * alone
 */
static double distance_of(int32_t kind, size_t dim, const double *L, const double *old_L,
                          double *work)
{
    double distance;
    double *mean = doubles(dim);
    if (kind == TCE_TRPL_KL) {
        EXPECT(kl(1, dim, mean, L, mean, old_L, work, NULL, &distance) == TCE_OK, "%s",
               tce_error_message());
    } else {
        const tce_trpl_bounds far = { sizeof far, 1.0, 1e300, 0.0 };
        tce_trpl *tr = create(kind, dim, 1);
        EXPECT(tce_trpl_project(tr, 1, mean, L, mean, old_L, &far, mean, work) == TCE_OK, "%s",
               tce_error_message());
        EXPECT(tce_trpl_distances(tr, 1, NULL, &distance, NULL) == TCE_OK, "%s",
               tce_error_message());
        tce_trpl_free(tr);
    }
    free(mean);
    return distance;
}

/*
 * one draw: dimension up to 64, mostly small; conditions to 1e8; bounds from 1e-9 to 10; far and
 * near
 */
static int check_draw(uint64_t seed, int32_t kind)
{
    enum { MOST = 64 };
    static double L[MOST * MOST], old_L[MOST * MOST], out_L[MOST * MOST], work[4 * MOST * MOST];
    static double mean[MOST], old_mean[MOST], out_mean[MOST];
    tce_random random;
    tce_random_start(&random, seed, 2, (uint64_t)kind, 0);

    static const size_t DIMS[] = { 6, 16, MOST };
    const uint64_t die = tce_random_below(&random, 100);
    const size_t most = DIMS[(die < 11) + (die < 2)];
    const size_t dim = 1 + tce_random_below(&random, most);
    const double condition = pow(10.0, 8.0 * tce_random_uniform(&random));
    const double bound = pow(10.0, 10.0 * tce_random_uniform(&random) - 9.0);
    const double mean_bound = pow(10.0, 10.0 * tce_random_uniform(&random) - 9.0);
    test_random_cholesky(&random, dim, condition,
                         pow(10.0, 4.0 * tce_random_uniform(&random) - 2.0), old_L);
    if (tce_random_below(&random, 2) == 0)
        test_perturb_cholesky(&random, dim, pow(10.0, -5.0 * tce_random_uniform(&random)), old_L,
                              L);
    else
        test_random_cholesky(&random, dim, pow(10.0, 8.0 * tce_random_uniform(&random)),
                             pow(10.0, 8.0 * tce_random_uniform(&random) - 4.0), L);
    tce_random_normals(&random, dim, mean);
    memset(old_mean, 0, sizeof old_mean);

    const tce_trpl_bounds bounds = { sizeof bounds, mean_bound, bound, 0.0 };
    tce_trpl *tr = create(kind, dim, 1);
    EXPECT(tce_trpl_project(tr, 1, mean, L, old_mean, old_L, &bounds, out_mean, out_L) == TCE_OK,
           "seed %d: %s", (int)seed, tce_error_message());
    double cov_distance, mean_distance;
    EXPECT(tce_trpl_distances(tr, 1, &mean_distance, &cov_distance, NULL) == TCE_OK, "%s",
           tce_error_message());

    /* identity inside, on the bound outside */
    const int active = cov_distance > bound;
    if (!active) {
        EXPECT(memcmp(out_L, L, dim * dim * sizeof *L) == 0, "seed %d: moved inside the bound",
               (int)seed);
    } else {
        const double got = distance_of(kind, dim, out_L, old_L, work);
        EXPECT(fabs(got / bound - 1.0) <= bound_tolerance(condition, bound),
               "seed %d, dim %d: %.17g, bound %.17g", (int)seed, (int)dim, got, bound);
    }
    if (mean_distance <= mean_bound) {
        EXPECT(memcmp(out_mean, mean, dim * sizeof *mean) == 0,
               "seed %d: mean moved inside the bound", (int)seed);
    } else {
        double maha;
        EXPECT(kl(1, dim, out_mean, old_L, old_mean, old_L, work, &maha, NULL) == TCE_OK, "%s",
               tce_error_message());
        maha *= kind == TCE_TRPL_KL ? 1.0 : 2.0;
        EXPECT(fabs(maha / mean_bound - 1.0) <= 1e-8, "seed %d: mean %.17g, bound %.17g", (int)seed,
               maha, mean_bound);
    }

    /* gradients exist */
    tce_random_normals(&random, dim * dim, L);
    EXPECT(tce_trpl_backward(tr, 1, mean, L, mean, L) == TCE_OK, "%s", tce_error_message());
    for (size_t k = 0; k < dim * dim; k++)
        EXPECT(isfinite(L[k]), "seed %d: gradient %g", (int)seed, L[k]);
    tce_trpl_free(tr);
    return active;
}

static size_t n_draws(size_t all)
{
    const char *quick = getenv("TCE_TEST_QUICK");
    return quick && strcmp(quick, "0") != 0 ? all / 100 + 10 : all;
}

START_TEST(projections_meet_the_bound_or_leave_the_factor_alone)
{
    static const size_t N[] = { 100000, 10000, 10000 };
    for (int32_t kind = TCE_TRPL_KL; kind <= TCE_TRPL_FROBENIUS; kind++) {
        const size_t n = n_draws(N[kind]);
        size_t n_active = 0;
        for (uint64_t seed = 0; seed < n; seed++)
            n_active += (size_t)check_draw(seed, kind);
        ck_assert_uint_gt(n_active, n / 3);
        ck_assert_uint_lt(n_active, n);
    }
}
END_TEST

START_TEST(dimension_256_works)
{
    for (int32_t kind = TCE_TRPL_KL; kind <= TCE_TRPL_FROBENIUS; kind++) {
        problem p = problem_create(256, 1, 1, 256, 1e6, 0.05, 0);
        double *work = doubles(4 * 256 * 256);
        tce_trpl *tr = create(kind, 256, 1);
        ok(run(tr, &p));
        const double got = distance_of(kind, 256, p.out_L, p.old_L, work);
        ck_assert_double_eq_tol(got / 5e-4, 1.0, 1e-8);
        ok(tce_trpl_backward(tr, 1, p.d_mean, p.d_L, p.d_mean, p.d_L));
        tce_trpl_free(tr);
        problem_free(&p);
        free(work);
    }
}
END_TEST

/*
 * Sigma = 4 Sigma_o, so Sigma~ = Sigma_o + t 3 Sigma_o, whose second pivot, of the size of 1e-18,
 * is lost in the sum. With t = 3/16 all its entries are 25/16, without a rounding: the pivot is 0,
 * and there is no Cholesky factor.
 */
START_TEST(a_covariance_that_is_singular_once_it_is_summed_keeps_its_factor)
{
    const double old_L[] = { 1.0, 0.0, 1.0, 1e-9 }, L[] = { 2.0, 0.0, 2.0, 2e-9 }, mean[2] = { 0 };
    const double t = 3.0 / 16.0, bound = 36.0 * t * t; /* |3 Sigma_o|_F^2 = 36 */
    double out_mean[2], got[4], distance;

    const tce_trpl_bounds bounds = { sizeof bounds, 0.05, bound, 0.0 };
    tce_trpl *tr = create(TCE_TRPL_FROBENIUS, 2, 1);
    ok(tce_trpl_project(tr, 1, mean, L, mean, old_L, &bounds, out_mean, got));
    ok(tce_trpl_distances(tr, 1, NULL, &distance, NULL));
    ck_assert_double_eq_tol(distance, 36.0, 1e-12);
    for (size_t i = 0; i < 4; i++)
        ck_assert_msg(fabs(got[i] - 1.25 * old_L[i]) <= 1e-6 * old_L[i],
                      "L[%zu] = %g, should be %g", i, got[i], 1.25 * old_L[i]);
    tce_trpl_free(tr);
}
END_TEST

START_TEST(a_diagonal_handle_agrees_with_the_full_one)
{
    enum { N = 2, DIM = 7, SIZE = DIM * DIM };
    for (int32_t kind = TCE_TRPL_KL; kind <= TCE_TRPL_FROBENIUS; kind++) {
        problem p[2]; /* deviations, and the factors that they are */
        tce_trpl_options opt;
        double d_L[2][SIZE], d_mean[2][N * DIM], loss[2];
        tce_trpl_options_init(&opt, sizeof opt);
        opt.kind = kind;
        opt.dim = DIM;
        opt.max_batch = N;
        opt.entropy = TCE_TRPL_ENTROPY_EQUAL;
        for (int full = 0; full < 2; full++) {
            p[full] = problem_create((uint64_t)_i, N, 1, DIM, 100.0, 0.3, !full);
            for (size_t k = 0; full && k < SIZE; k++) {
                const int on = k % (DIM + 1) == 0;
                p[1].L[k] = on ? p[0].L[k / DIM] : 0.0;
                p[1].old_L[k] = on ? p[0].old_L[k / DIM] : 0.0;
                p[1].d_L[k] = on ? p[0].d_L[k / DIM] : 0.0;
            }
            tce_trpl *tr;
            opt.diagonal = !full;
            ok(tce_trpl_create(&opt, NULL, &tr));
            ok(run(tr, &p[full]));
            ok(tce_trpl_backward(tr, N, p[full].d_mean, p[full].d_L, d_mean[full], d_L[full]));
            ok(tce_trpl_regression_add(tr, N, p[full].mean, p[full].L, 1.5, 1, &loss[full],
                                       d_mean[full], d_L[full]));
            tce_trpl_free(tr);
        }
        test_assert_close(p[0].out_mean, p[1].out_mean, N * DIM, 1e-12);
        test_assert_close(d_mean[0], d_mean[1], N * DIM, 1e-9);
        ck_assert_double_eq_tol(loss[0], loss[1], 1e-9 * fmax(1.0, loss[1]));
        for (size_t i = 0; i < DIM; i++) {
            ck_assert_double_eq_tol(p[0].out_L[i], p[1].out_L[i * (DIM + 1)], 1e-9);
            ck_assert_double_eq_tol(d_L[0][i], d_L[1][i * (DIM + 1)], 1e-8);
        }
        problem_free(&p[0]);
        problem_free(&p[1]);
    }
}
END_TEST

/* everything that a contextual handle computes, into one array */
static double *contextual(const problem *p, int32_t kind, tce_pool *pool, size_t *out_n)
{
    const size_t n_mean = p->n * p->dim;
    const size_t n_L = p->n_cov * p->dim * p->dim;
    double *all = doubles(2 * (n_mean + n_L) + 1);
    tce_trpl_options opt;
    tce_trpl *tr;
    tce_trpl_options_init(&opt, sizeof opt);
    opt.kind = kind;
    opt.dim = (int32_t)p->dim;
    opt.max_batch = (int32_t)p->n;
    opt.shared_cov = 0;
    opt.entropy = TCE_TRPL_ENTROPY_AT_LEAST;
    opt.pool = pool;
    ok(tce_trpl_create(&opt, NULL, &tr));
    double *d_mean = all + n_mean + n_L;
    double *d_L = d_mean + n_mean;
    ok(tce_trpl_project(tr, p->n, p->mean, p->L, p->old_mean, p->old_L, &p->bounds, all,
                        all + n_mean));
    ok(tce_trpl_backward(tr, p->n, p->d_mean, p->d_L, d_mean, d_L));
    ok(tce_trpl_regression_add(tr, p->n, p->mean, p->L, 2.0, 1, d_L + n_L, d_mean, d_L));
    tce_trpl_free(tr);
    *out_n = 2 * (n_mean + n_L) + 1;
    return all;
}

START_TEST(any_number_of_threads_gives_the_same_bytes)
{
    static const int32_t THREADS[] = { 2, 5 };
    for (int32_t kind = TCE_TRPL_KL; kind <= TCE_TRPL_FROBENIUS; kind++) {
        problem p = problem_create(5, 23, 23, 9, 1e3, 0.2, 0);
        size_t n;
        double *want = contextual(&p, kind, NULL, &n);
        for (size_t i = 0; i < 2; i++) {
            tce_pool *pool = test_pool(THREADS[i]);
            double *got = contextual(&p, kind, pool, &n);
            ck_assert_mem_eq(got, want, n * sizeof *got);
            free(got);
            tce_pool_free(pool);
        }
        free(want);
        problem_free(&p);
    }
}
END_TEST

START_TEST(contexts_of_their_own_are_projected_one_by_one)
{
    for (int32_t kind = TCE_TRPL_KL; kind <= TCE_TRPL_FROBENIUS; kind++) {
        problem p = problem_create(11, 5, 5, 6, 1e3, 0.2, 0);
        p.bounds.entropy = 1e-3; /* between: some are raised, some are not */
        size_t n;
        double *all = contextual(&p, kind, NULL, &n);
        for (size_t e = 0; e < 5; e++) {
            problem one = { .n = 1, .dim = 6, .n_cov = 1, .bounds = p.bounds };
            one.mean = p.mean + 6 * e;
            one.old_mean = p.old_mean + 6 * e;
            one.d_mean = p.d_mean + 6 * e;
            one.L = p.L + 36 * e;
            one.old_L = p.old_L + 36 * e;
            one.d_L = p.d_L + 36 * e;
            double *single = contextual(&one, kind, NULL, &n);
            test_assert_close(all + 6 * e, single, 6, 1e-13);
            test_assert_close(all + 30 + 36 * e, single + 6, 36, 1e-13);
            free(single);
        }
        free(all);
        problem_free(&p);
    }
}
END_TEST

START_TEST(the_identity_kind_passes_everything_through)
{
    problem p = problem_create(3, 4, 1, 5, 10.0, 2.0, 0);
    tce_trpl_options opt;
    tce_trpl *tr;
    double loss = SENTINEL, d_mean[20] = { 0 }, d_L[25] = { 0 };
    tce_trpl_options_init(&opt, sizeof opt);
    opt.kind = TCE_TRPL_IDENTITY;
    opt.dim = 5;
    opt.max_batch = 4;
    opt.entropy = TCE_TRPL_ENTROPY_EQUAL;
    ok(tce_trpl_create(&opt, NULL, &tr));
    ok(run(tr, &p));
    ck_assert_mem_eq(p.out_mean, p.mean, 20 * sizeof(double));
    ck_assert_mem_eq(p.out_L, p.L, 25 * sizeof(double));
    ok(tce_trpl_regression_add(tr, 4, p.mean, p.L, 3.0, 1, &loss, d_mean, d_L));
    ck_assert_double_eq(loss, 0.0);
    ck_assert_double_eq(test_largest(25, d_L), 0.0);
    ok(tce_trpl_backward(tr, 4, p.d_mean, p.d_L, p.out_mean, p.out_L));
    ck_assert_mem_eq(p.out_L, p.d_L, 25 * sizeof(double));
    tce_trpl_free(tr);
    problem_free(&p);
}
END_TEST

START_TEST(entropy_control_reaches_its_bound)
{
    for (int32_t first = 0; first < 2; first++) {
        problem p = problem_create((uint64_t)_i, 1, 1, 6, 100.0, 0.1, 0);
        tce_trpl_options opt;
        tce_trpl *tr;
        double entropy;
        tce_trpl_options_init(&opt, sizeof opt);
        opt.dim = 6;
        opt.entropy = TCE_TRPL_ENTROPY_EQUAL;
        opt.entropy_first = first;
        p.bounds.cov = first ? 1e3 : 5e-4;
        ok(tce_trpl_create(&opt, NULL, &tr));
        ok(entropy_of(6, p.L, &entropy));
        p.bounds.entropy = entropy - 1.0;
        ok(run(tr, &p));
        ok(entropy_of(6, p.out_L, &entropy));
        ck_assert_double_eq_tol(entropy, p.bounds.entropy, 1e-12);
        tce_trpl_free(tr);
        problem_free(&p);
    }
}
END_TEST

START_TEST(a_minus_infinite_entropy_bound_controls_nothing)
{
    for (int32_t mode = TCE_TRPL_ENTROPY_AT_LEAST; mode <= TCE_TRPL_ENTROPY_EQUAL; mode++) {
        problem p = problem_create(4, 1, 1, 3, 10.0, 0.3, 0);
        tce_trpl_options opt;
        tce_trpl *tr;
        double plain[9];
        tce_trpl *none = create(TCE_TRPL_KL, 3, 1);
        ok(run(none, &p));
        memcpy(plain, p.out_L, sizeof plain);
        tce_trpl_free(none);

        tce_trpl_options_init(&opt, sizeof opt);
        opt.dim = 3;
        opt.entropy = mode;
        ok(tce_trpl_create(&opt, NULL, &tr));
        p.bounds.entropy = -INFINITY;
        ok(run(tr, &p));
        ck_assert_mem_eq(p.out_L, plain, sizeof plain);
        p.bounds.entropy = NAN;
        ck_assert_int_eq(run(tr, &p), TCE_E_VALUE);
        tce_trpl_free(tr);
        problem_free(&p);
    }
}
END_TEST

/* ---- the linear algebra underneath ----------------------------------------------------------- */

static const size_t SIZES[] = { 1, 2, 3, 4, 5, 31, 32, 33, 63, 64, 65, 97, 100, 101, 130 };
enum { N_SIZES = sizeof SIZES / sizeof SIZES[0] };

START_TEST(a_tridiagonal_form_keeps_the_eigenvalues)
{
    const size_t n = SIZES[_i];
    double *L = doubles(n * n);
    double *A = doubles(n * n);
    double *T = doubles(n * n);
    double *want = doubles(n);
    double *got = doubles(n);
    double *off = doubles(n);
    double *work = doubles(tce__factor_work(n));
    tce_random random;
    tce_random_start(&random, 31, 1, n, 0);
    test_random_cholesky(&random, n, 1e4, 3.0, L);
    times_transpose(n, L, A);

    memcpy(T, A, n * n * sizeof *T);
    ck_assert_int_eq(tce__tridiagonal(n, T, n, got, off, work), 0);
    memset(T, 0, n * n * sizeof *T);
    for (size_t i = 0; i < n; i++) {
        T[i * n + i] = got[i];
        if (i + 1 < n)
            T[(i + 1) * n + i] = off[i];
    }
    test_eigen(n, T, got);
    test_eigen(n, A, want);
    test_assert_close(got, want, n, 1e-13);
    free(L), free(A), free(T), free(want), free(got), free(off), free(work);
}
END_TEST

/* which entries are compared: the lower triangle */
static void assert_lower_close(size_t n, double *got, double *want)
{
    tce__clear_upper(n, got, n);
    tce__clear_upper(n, want, n);
    test_assert_close(got, want, n * n, 1e-12);
}

START_TEST(triangles_in_halves_agree_with_whole_squares)
{
    const size_t n = SIZES[_i];
    double *L = doubles(n * n);
    double *B = doubles(n * n);
    double *got = doubles(n * n);
    double *want = doubles(n * n);
    tce_random random;
    tce_random_start(&random, 32, 1, n, 0);
    test_random_cholesky(&random, n, 100.0, 1.0, L);
    test_random_cholesky(&random, n, 100.0, 1.0, B);

    for (int which = 0; which < 4; which++) {
        const tce__trans trans = which < 2 ? TCE__NO_TRANS : TCE__TRANS;
        memcpy(got, B, n * n * sizeof *got);
        memcpy(want, B, n * n * sizeof *want);
        if (which % 2 == 0)
            tce__solve_lower(TCE__LEFT, trans, n, n, 1.0, L, n, want, n);
        else
            tce__multiply_lower(TCE__LEFT, trans, n, n, 1.0, L, n, want, n);
        static void (*const functions[])(size_t, const double *, size_t, double *,
                                         size_t) = { tce__lower_solve, tce__lower_multiply,
                                                     tce__lower_solve_transposed,
                                                     tce__lower_multiply_transposed };
        functions[which](n, L, n, got, n);
        for (size_t i = 0; i < n && which < 2; i++)
            for (size_t j = i + 1; j < n; j++)
                ck_assert_double_eq(got[i * n + j], 0.0);
        assert_lower_close(n, got, want);
    }

    times_transpose(n, B, got);
    memcpy(want, got, n * n * sizeof *want);
    tce__lower_congruence(n, L, n, got, n);
    tce__multiply_lower(TCE__LEFT, TCE__NO_TRANS, n, n, 1.0, L, n, want, n);
    tce__multiply_lower(TCE__RIGHT, TCE__TRANS, n, n, 1.0, L, n, want, n);
    assert_lower_close(n, got, want);
    free(L), free(B), free(got), free(want);
}
END_TEST

/* ---- gradients ------------------------------------------------------------------------------- */

/*
 * A projection as a scalar function <d_mean, out_mean> + <d_L, out_L> of the mean and of L's lower
 * triangle.
 */
typedef struct layer {
    tce_trpl *tr;
    problem *p;
} layer;

static size_t n_free(const problem *p)
{
    return p->n * p->dim + n_scales(p);
}

static void set_inputs(problem *p, const double *x)
{
    memcpy(p->mean, x, p->n * p->dim * sizeof *x);
    for (size_t k = 0; k < n_scales(p); k++)
        if (p->diagonal || k % p->dim <= k / p->dim % p->dim)
            p->L[k] = x[p->n * p->dim + k];
}

static double layer_value(void *context, const double *x)
{
    const layer *l = context;
    problem *p = l->p;
    set_inputs(p, x);
    ok(run(l->tr, p));
    double sum = 0.0;
    for (size_t k = 0; k < p->n * p->dim; k++)
        sum += p->d_mean[k] * p->out_mean[k];
    for (size_t k = 0; k < n_scales(p); k++)
        sum += p->d_L[k] * (p->d_L[k] != 0.0 ? p->out_L[k] : 0.0);
    return sum;
}

/*
 * One combination of options: kind, shared or not, diagonal or not, entropy control, inside or
 * outside.
 */
static void check_layer_gradient(int32_t kind, int32_t shared, int32_t diagonal, int32_t entropy,
                                 int32_t first, double bound)
{
    const size_t n = 3;
    const size_t dim = 5;
    problem p = problem_create((uint64_t)(kind * 100 + entropy * 10 + first), n, shared ? 1 : n,
                               dim, 30.0, 0.3, diagonal);
    tce_trpl_options opt;
    tce_trpl_options_init(&opt, sizeof opt);
    opt.kind = kind;
    opt.dim = (int32_t)dim;
    opt.max_batch = (int32_t)n;
    opt.shared_cov = shared;
    opt.diagonal = diagonal;
    opt.entropy = entropy;
    opt.entropy_first = first;
    p.bounds.mean = p.bounds.cov = bound;
    p.bounds.entropy = 3.5;

    layer l = { NULL, &p };
    const size_t size = n_free(&p);
    double *x = doubles(size);
    double *got = doubles(size);
    double *want = doubles(size);
    memcpy(x, p.mean, n * dim * sizeof *x);
    memcpy(x + n * dim, p.L, n_scales(&p) * sizeof *x);
    ok(tce_trpl_create(&opt, NULL, &l.tr));
    test_finite_difference(layer_value, &l, size, x, want);
    (void)layer_value(&l, x);
    ok(tce_trpl_backward(l.tr, n, p.d_mean, p.d_L, got, got + n * dim));
    test_assert_close_gradient(got, want, n * dim, DIFFERENCE_TOLERANCE);
    test_assert_close_gradient(got + n * dim, want + n * dim, size - n * dim, DIFFERENCE_TOLERANCE);

    tce_trpl_free(l.tr);
    free(x), free(got), free(want);
    problem_free(&p);
}

START_TEST(backward_matches_differences_for_every_option)
{
    static const double BOUNDS[] = { 1e-3, 0.3, 1e3 };
    for (int32_t option = 0; option < 3 * 2 * 2 * 3 * 2; option++) {
        const int32_t kind = option % 3;
        const int32_t shared = option / 3 % 2;
        const int32_t diagonal = option / 6 % 2;
        const int32_t entropy = option / 12 % 3;
        const int32_t first = option / 36;
        check_layer_gradient(kind, shared, diagonal, entropy, first, BOUNDS[_i]);
    }
}
END_TEST

/*
 * The W2 regression loss of one factor from its definition, with the symmetric root by
 * eigenvectors.
 */
typedef struct root_loss {
    size_t dim;
    const double *projected; /* L~ [dim, dim] */
} root_loss;

static void symmetric_root(size_t n, const double *L, double *out)
{
    double *values = doubles(n);
    double *Q = doubles(n * n);
    times_transpose(n, L, Q);
    test_eigen(n, Q, values);
    memset(out, 0, n * n * sizeof *out);
    for (size_t k = 0; k < n; k++)
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < n; j++)
                out[i * n + j] += sqrt(values[k]) * Q[k * n + i] * Q[k * n + j];
    free(values), free(Q);
}

static double root_loss_value(void *context, const double *x)
{
    const root_loss *r = context;
    const size_t n = r->dim;
    double *L = doubles(n * n);
    double *S = doubles(n * n);
    double *projected = doubles(n * n);
    for (size_t i = 0; i < n; i++)
        memcpy(L + i * n, x + i * n, (i + 1) * sizeof *L);
    symmetric_root(n, L, S);
    symmetric_root(n, r->projected, projected);
    for (size_t k = 0; k < n * n; k++)
        S[k] -= projected[k];
    tce__solve_lower(TCE__LEFT, TCE__NO_TRANS, n, n, 1.0, r->projected, n, S, n);
    const double loss = tce__dot(n * n, S, S);
    free(L), free(S), free(projected);
    return loss;
}

/* The other losses: regression itself reads the mean and L that it is given. */
typedef struct given_loss {
    tce_trpl *tr;
    const problem *p;
    int32_t with_cov;
} given_loss;

static double given_loss_value(void *context, const double *x)
{
    const given_loss *g = context;
    const problem *p = g->p;
    double loss;
    double *d = doubles(n_free(p));
    ok(tce_trpl_regression_add(g->tr, p->n, x, x + p->n * p->dim, 0.7, g->with_cov, &loss, d,
                               d + p->n * p->dim));
    free(d);
    return loss;
}

START_TEST(the_regression_gradient_matches_differences)
{
    for (int32_t option = 0; option < 3 * 2 * 2 * 3; option++) {
        const int32_t kind = option % 3;
        const int32_t shared = option / 3 % 2;
        const int32_t diagonal = option / 6 % 2;
        const int32_t entropy = option / 12;
        const size_t n = 3;
        const size_t dim = 5;
        const size_t n_mean = n * dim;
        problem p = problem_create((uint64_t)option, n, shared ? 1 : n, dim, 30.0, 0.3, diagonal);
        tce_trpl_options opt;
        tce_trpl_options_init(&opt, sizeof opt);
        opt.kind = kind;
        opt.dim = (int32_t)dim;
        opt.max_batch = (int32_t)n;
        opt.shared_cov = shared;
        opt.diagonal = diagonal;
        opt.entropy = entropy;
        opt.entropy_first = entropy == TCE_TRPL_ENTROPY_EQUAL;
        p.bounds.entropy = 3.5;

        given_loss g = { NULL, &p, 1 };
        ok(tce_trpl_create(&opt, NULL, &g.tr));
        ok(run(g.tr, &p));

        /* the loss is added to what is there */
        const size_t size = n_free(&p);
        double *x = doubles(size);
        double *got = doubles(size);
        double *want = doubles(size);
        double loss;
        memcpy(x, p.mean, n_mean * sizeof *x);
        memcpy(x + n_mean, p.L, n_scales(&p) * sizeof *x);
        for (size_t k = 0; k < size; k++)
            got[k] = 1.0;
        ok(tce_trpl_regression_add(g.tr, n, p.mean, p.L, 0.7, 1, &loss, got, got + n_mean));
        for (size_t k = 0; k < size; k++)
            got[k] -= 1.0;

        if (kind == TCE_TRPL_W2 && !diagonal) {
            double sum = 0.0;
            for (size_t e = 0; e < p.n_cov; e++) {
                root_loss r = { dim, p.out_L + e * dim * dim };
                double *part = want + n_mean + e * dim * dim;
                sum += root_loss_value(&r, p.L + e * dim * dim);
                test_finite_difference(root_loss_value, &r, dim * dim, x + n_mean + e * dim * dim,
                                       part);
                for (size_t k = 0; k < dim * dim; k++)
                    part[k] *= 0.7 / (double)p.n_cov;
            }
            test_assert_close_gradient(got + n_mean, want + n_mean, size - n_mean,
                                       DIFFERENCE_TOLERANCE);
            g.with_cov = 0;
            ck_assert_double_eq_tol(loss, given_loss_value(&g, x) + 0.7 * sum / (double)p.n_cov,
                                    1e-10 * fmax(1.0, loss));
        }
        test_finite_difference(given_loss_value, &g, size, x, want);
        test_assert_close_gradient(got, want, n_mean, DIFFERENCE_TOLERANCE);
        if (g.with_cov)
            test_assert_close_gradient(got + n_mean, want + n_mean, size - n_mean,
                                       DIFFERENCE_TOLERANCE);

        tce_trpl_free(g.tr);
        free(x), free(got), free(want);
        problem_free(&p);
    }
}
END_TEST

START_TEST(the_kl_regression_loss_is_the_mean_divergence)
{
    problem p = problem_create(8, 4, 1, 6, 100.0, 0.3, 0);
    double mean_part[4], cov_part[4], loss, d_mean[24] = { 0 }, d_L[36] = { 0 };
    double *work = doubles(tce_gauss_work_size(4, 6));
    tce_trpl *tr = create(TCE_TRPL_KL, 6, 4);
    ok(run(tr, &p));
    ok(tce_trpl_regression_add(tr, 4, p.mean, p.L, 2.5, 1, &loss, d_mean, d_L));
    ok(kl(4, 6, p.mean, p.L, p.out_mean, p.out_L, work, mean_part, cov_part));
    double want = 0.0;
    for (size_t i = 0; i < 4; i++)
        want += 2.5 * (mean_part[i] + cov_part[i]) / 4.0;
    ck_assert_double_eq_tol(loss, want, 1e-12 * want);
    tce_trpl_free(tr);
    free(work);
    problem_free(&p);
}
END_TEST

/* ---- errors ---------------------------------------------------------------------------------- */

static void expect_untouched(const problem *p)
{
    for (size_t k = 0; k < p->n * p->dim; k++)
        ck_assert_double_eq(p->out_mean[k], SENTINEL);
    for (size_t k = 0; k < p->n_cov * p->dim * p->dim; k++)
        ck_assert_double_eq(p->out_L[k], SENTINEL);
}

START_TEST(bad_inputs_are_named_and_outputs_untouched)
{
    problem p = problem_create(1, 2, 1, 3, 10.0, 0.3, 0);
    tce_trpl *tr = create(TCE_TRPL_KL, 3, 2);
    double *const inputs[] = { p.mean, p.L, p.old_mean, p.old_L };
    static const char *const names[] = { "mean", "L[1,0]", "old_mean", "old_L[1,0]" };
    for (size_t k = 0; k < 2 * 3; k++)
        p.out_mean[k] = SENTINEL;
    for (size_t k = 0; k < 9; k++)
        p.out_L[k] = SENTINEL;

    for (size_t a = 0; a < 4; a++) {
        for (int bad = 0; bad < 2; bad++) {
            const double good = inputs[a][3];
            inputs[a][3] = bad ? NAN : INFINITY;
            ck_assert_int_eq(run(tr, &p), TCE_E_VALUE);
            ck_assert_ptr_nonnull(strstr(tce_error_message(), names[a]));
            expect_untouched(&p);
            inputs[a][3] = good;
        }
    }
    for (size_t a = 1; a < 4; a += 2) {
        const double good = inputs[a][8];
        inputs[a][8] = a == 1 ? 0.0 : -1.0;
        ck_assert_int_eq(run(tr, &p), TCE_E_NOT_PD);
        ck_assert_ptr_nonnull(strstr(tce_error_message(), a == 1 ? "L[2,2]" : "old_L[2,2]"));
        expect_untouched(&p);
        inputs[a][8] = good;
    }
    p.n = 3;
    ck_assert_int_eq(run(tr, &p), TCE_E_SHAPE);
    p.n = 0;
    ck_assert_int_eq(run(tr, &p), TCE_E_SHAPE);
    p.n = 2;
    expect_untouched(&p);
    ck_assert_int_eq(
        tce_trpl_project(tr, 2, NULL, p.L, p.old_mean, p.old_L, &p.bounds, p.out_mean, p.out_L),
        TCE_E_ARGUMENT);
    ck_assert_int_eq(
        tce_trpl_project(tr, 2, p.mean, p.L, p.old_mean, p.old_L, &p.bounds, p.out_mean, NULL),
        TCE_E_ARGUMENT);
    ck_assert_int_eq(
        tce_trpl_project(NULL, 2, p.mean, p.L, p.old_mean, p.old_L, &p.bounds, p.out_mean, p.out_L),
        TCE_E_ARGUMENT);

    /* what lies above the diagonal is never read */
    p.L[1] = p.old_L[2] = NAN;
    ok(run(tr, &p));
    ck_assert_double_eq(p.out_L[1], 0.0);
    tce_trpl_free(tr);
    problem_free(&p);
}
END_TEST

START_TEST(calls_out_of_order_are_refused)
{
    problem p = problem_create(1, 2, 1, 3, 10.0, 0.3, 0);
    tce_trpl *tr = create(TCE_TRPL_KL, 3, 2);
    double loss = SENTINEL;
    ck_assert_int_eq(tce_trpl_backward(tr, 2, p.d_mean, p.d_L, p.out_mean, p.out_L), TCE_E_STATE);
    ck_assert_int_eq(
        tce_trpl_regression_add(tr, 2, p.mean, p.L, 1.0, 1, &loss, p.out_mean, p.out_L),
        TCE_E_STATE);
    ck_assert_int_eq(tce_trpl_distances(tr, 2, NULL, NULL, NULL), TCE_E_STATE);
    ck_assert_double_eq(loss, SENTINEL);
    ok(run(tr, &p));
    ck_assert_int_eq(tce_trpl_backward(tr, 1, p.d_mean, p.d_L, p.out_mean, p.out_L), TCE_E_SHAPE);
    p.d_L[3] = NAN;
    ck_assert_int_eq(tce_trpl_backward(tr, 2, p.d_mean, p.d_L, p.out_mean, p.out_L), TCE_E_VALUE);
    ck_assert_ptr_nonnull(strstr(tce_error_message(), "d_L"));
    tce_trpl_free(tr);
    problem_free(&p);
}
END_TEST

START_TEST(bounds_out_of_range_are_refused)
{
    problem p = problem_create(1, 2, 1, 3, 10.0, 0.3, 0);
    tce_trpl *tr = create(TCE_TRPL_KL, 3, 2);
    for (size_t i = 0; i < 6; i++)
        p.out_mean[i] = SENTINEL;
    p.bounds.cov = NAN;
    fails(run(tr, &p), TCE_E_VALUE, "bounds.cov");
    p.bounds.mean = -1.0;
    fails(run(tr, &p), TCE_E_VALUE, "bounds.mean = -1");
    p.bounds.struct_size = 0;
    fails(run(tr, &p), TCE_E_ARGUMENT, "TCE_INIT(tce_trpl_bounds)");
    fails(tce_trpl_project(tr, 2, p.mean, p.L, p.old_mean, p.old_L, NULL, p.out_mean, p.out_L),
          TCE_E_ARGUMENT, "tce_trpl_bounds is NULL");
    for (size_t i = 0; i < 6; i++)
        ck_assert_double_eq(p.out_mean[i], SENTINEL);

    /* others from call to call */
    p.bounds = BOUNDS;
    ok(run(tr, &p));
    const double tight = p.out_L[0];
    p.bounds.cov = 1e3;
    ok(run(tr, &p));
    ck_assert_double_ne(p.out_L[0], tight);

    /* gradients beyond what a double can hold */
    p.bounds = BOUNDS;
    ok(run(tr, &p));
    for (size_t i = 0; i < 6; i++)
        p.d_mean[i] = 1.7e308;
    fails(tce_trpl_backward(tr, 2, p.d_mean, p.d_L, p.out_mean, p.out_L), TCE_E_NOT_FINITE,
          "overflow");
    ck_assert(isnan(p.out_mean[0]) && isnan(p.out_L[0]));
    tce_trpl_free(tr);
    problem_free(&p);
}
END_TEST

START_TEST(a_numerical_failure_gives_nan_and_a_usable_handle)
{
    for (int32_t kind = TCE_TRPL_KL; kind <= TCE_TRPL_FROBENIUS; kind++) {
        problem p = problem_create(1, 1, 1, 3, 10.0, 0.3, 0);
        tce_trpl *tr = create(kind, 3, 1);
        const double good = p.L[0];
        const double good_old = p.old_L[0];
        p.L[0] = 1e200;
        p.old_L[0] = 1e-200;
        const tce_status status = run(tr, &p);
        ck_assert(status == TCE_E_NOT_FINITE || status == TCE_E_NO_CONVERGE);
        ck_assert(isnan(p.out_L[0]) && isnan(p.out_mean[2]));
        ck_assert_int_eq(tce_trpl_backward(tr, 1, p.d_mean, p.d_L, p.out_mean, p.out_L),
                         TCE_E_STATE);
        p.L[0] = good;
        p.old_L[0] = good_old;
        ok(run(tr, &p));
        ck_assert(isfinite(p.out_L[0]));
        tce_trpl_free(tr);
        problem_free(&p);
    }
}
END_TEST

START_TEST(options_out_of_range_are_refused)
{
    tce_trpl_options opt;
    tce_trpl *tr = (tce_trpl *)&opt;
    tce_trpl_options_init(&opt, sizeof opt);
    opt.kind = 4;
    ck_assert_int_eq(tce_trpl_create(&opt, NULL, &tr), TCE_E_VALUE);
    ck_assert_ptr_null(tr);
    ck_assert_ptr_nonnull(strstr(tce_error_message(), "kind = 4"));
    tce_trpl_options_init(&opt, sizeof opt);
    opt.dim = 0;
    ck_assert_int_eq(tce_trpl_create(&opt, NULL, &tr), TCE_E_VALUE);
    tce_trpl_options_init(&opt, sizeof opt);
    opt.entropy = 3;
    ck_assert_int_eq(tce_trpl_create(&opt, NULL, &tr), TCE_E_VALUE);
    tce_trpl_options_init(&opt, sizeof opt);
    opt.reserved = 1;
    fails(tce_trpl_create(&opt, NULL, &tr), TCE_E_VERSION, "tce_trpl_options.reserved = 1");
    ck_assert_int_eq(tce_trpl_create(NULL, NULL, &tr), TCE_E_ARGUMENT);
    ck_assert_int_eq(tce_trpl_create(&opt, NULL, NULL), TCE_E_ARGUMENT);
    tce_trpl_free(NULL);
}
END_TEST

/* ---- memory ---------------------------------------------------------------------------------- */

START_TEST(memory_is_asked_for_once_and_only_at_create)
{
    for (int32_t kind = TCE_TRPL_KL; kind <= TCE_TRPL_IDENTITY; kind++) {
        problem p = problem_create(1, 4, 4, 6, 100.0, 0.3, 0);
        test_memory memory = { .budget = 0 };
        tce_hooks hooks;
        test_hooks(&memory, &hooks);
        tce_trpl_options opt;
        tce_trpl *tr = NULL;
        tce_trpl_options_init(&opt, sizeof opt);
        opt.kind = kind;
        opt.dim = 6;
        opt.max_batch = 4;
        opt.shared_cov = 0;

        /* one request more each time, until it works */
        size_t budget = 0;
        for (;; budget++) {
            memory.budget = budget;
            const tce_status status = tce_trpl_create(&opt, &hooks, &tr);
            if (status == TCE_OK)
                break;
            ck_assert_int_eq(status, TCE_E_NOMEM);
            ck_assert_ptr_null(tr);
            ck_assert_uint_eq(memory.live, 0);
        }
        ck_assert_uint_eq(budget, 1);

        double loss;
        memory.budget = 0;
        ok(run(tr, &p));
        ok(tce_trpl_backward(tr, 4, p.d_mean, p.d_L, p.d_mean, p.d_L));
        ok(tce_trpl_regression_add(tr, 4, p.mean, p.L, 1.0, 1, &loss, p.d_mean, p.d_L));
        ck_assert_uint_eq(memory.n_alloc, 1);
        tce_trpl_free(tr);
        ck_assert_uint_eq(memory.live, 0);
        problem_free(&p);
    }
}
END_TEST

START_TEST(a_handle_too_large_for_memory_is_refused)
{
    tce_trpl_options opt;
    tce_trpl *tr;
    tce_trpl_options_init(&opt, sizeof opt);
    opt.dim = 16384;
    opt.max_batch = 1 << 24;
    opt.shared_cov = 0;
    test_memory memory = { .budget = 0 };
    tce_hooks hooks;
    test_hooks(&memory, &hooks);
    ck_assert_int_eq(tce_trpl_create(&opt, &hooks, &tr), TCE_E_NOMEM);
    ck_assert_ptr_null(tr);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("trpl");
    TCase *property = test_case(suite, "property", 300);
    tcase_add_test(property, projections_meet_the_bound_or_leave_the_factor_alone);
    tcase_add_test(property, dimension_256_works);
    tcase_add_test(property, a_covariance_that_is_singular_once_it_is_summed_keeps_its_factor);
    tcase_add_loop_test(property, a_diagonal_handle_agrees_with_the_full_one, 0, 100);
    tcase_add_test(property, any_number_of_threads_gives_the_same_bytes);
    tcase_add_test(property, contexts_of_their_own_are_projected_one_by_one);
    tcase_add_test(property, the_identity_kind_passes_everything_through);
    tcase_add_loop_test(property, entropy_control_reaches_its_bound, 0, 100);
    tcase_add_test(property, a_minus_infinite_entropy_bound_controls_nothing);
    tcase_add_loop_test(property, a_tridiagonal_form_keeps_the_eigenvalues, 0, N_SIZES);
    tcase_add_loop_test(property, triangles_in_halves_agree_with_whole_squares, 0, N_SIZES);

    TCase *gradient = test_case(suite, "gradient", 60);
    tcase_add_loop_test(gradient, backward_matches_differences_for_every_option, 0, 3);
    tcase_add_test(gradient, the_regression_gradient_matches_differences);
    tcase_add_test(gradient, the_kl_regression_loss_is_the_mean_divergence);

    TCase *errors = test_case(suite, "errors", 0);
    tcase_add_test(errors, bad_inputs_are_named_and_outputs_untouched);
    tcase_add_test(errors, calls_out_of_order_are_refused);
    tcase_add_test(errors, a_numerical_failure_gives_nan_and_a_usable_handle);
    tcase_add_test(errors, options_out_of_range_are_refused);
    tcase_add_test(errors, bounds_out_of_range_are_refused);

    TCase *memory = test_case(suite, "memory", 0);
    tcase_add_test(memory, memory_is_asked_for_once_and_only_at_create);
    tcase_add_test(memory, a_handle_too_large_for_memory_is_refused);

    return test_run(suite);
}
