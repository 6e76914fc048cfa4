/*
 * What the test programs share; see support.h.
 */
#include "support.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <lapacke.h>

/*
 * Written over fresh memory: reads as a huge negative number, so that a missing initialisation is
 * seen.
 */
#define PATTERN 0xE5

/* Seconds a test may take; on a busy machine Check's 4 are soon over. */
#define TIMEOUT 60.0

/* Gram-Schmidt passes; the second restores orthogonality that cancellation took from the first. */
#define N_PASSES 2

/* Of test_adam. */
#define WEIGHT_DECAY 1e-3

/* ---- suites ---------------------------------------------------------------------------------- */

TCase *test_case(Suite *suite, const char *name, double timeout)
{
    TCase *tcase = tcase_create(name);

    tcase_set_timeout(tcase, timeout > 0.0 ? timeout : TIMEOUT);
    suite_add_tcase(suite, tcase);
    return tcase;
}

int test_run(Suite *suite)
{
    SRunner *runner = srunner_create(suite);

    srunner_run_all(runner, CK_ENV);
    const int n_failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* ---- statuses -------------------------------------------------------------------------------- */

void ok(tce_status status)
{
    ck_assert_msg(status == TCE_OK, "%s: %s", tce_status_name(status), tce_error_message());
}

void fails(tce_status status, tce_status want, const char *part)
{
    ck_assert_msg(status == want, "%s, not %s: %s", tce_status_name(status), tce_status_name(want),
                  tce_error_message());
    ck_assert_msg(strstr(tce_error_message(), part) != NULL, "\"%s\" is not in \"%s\"", part,
                  tce_error_message());
}

/* ---- memory ---------------------------------------------------------------------------------- */

static void *counting_allocate(void *user, size_t size, size_t alignment)
{
    test_memory *m = user;
    void *block = NULL;

    if (m->budget == 0 ||
        posix_memalign(&block, alignment < sizeof(void *) ? sizeof(void *) : alignment, size) != 0)
        return NULL;
    memset(block, PATTERN, size);
    if (m->budget != SIZE_MAX)
        m->budget--;
    m->n_alloc++;
    m->live++;
    return block;
}

static void counting_release(void *user, void *block)
{
    test_memory *m = user;

    if (block == NULL)
        return;
    ck_assert_msg(m->live > 0, "a block was released that was never given out");
    m->n_free++;
    m->live--;
    free(block);
}

void test_hooks(test_memory *m, tce_hooks *hooks)
{
    m->n_alloc = 0;
    m->n_free = 0;
    m->live = 0;
    *hooks = TCE_INIT(tce_hooks);
    hooks->user = m;
    hooks->allocate = counting_allocate;
    hooks->release = counting_release;
}

/* ---- comparison ------------------------------------------------------------------------------ */

/* |a - b|, infinite when that is not a number; equal infinities are equal. */
static double gap(double a, double b)
{
    if (a == b)
        return 0.0;
    const double difference = fabs(a - b);
    return isnan(difference) ? INFINITY : difference;
}

double test_difference(size_t n, const double *a, const double *b)
{
    double largest = 0.0;

    for (size_t i = 0; i < n; i++)
        if (gap(a[i], b[i]) > largest)
            largest = gap(a[i], b[i]);
    return largest;
}

uint64_t test_sum_of_bits(size_t n, const double *x)
{
    uint64_t sum = 0xcbf29ce484222325;

    for (size_t i = 0; i < n; i++) {
        uint64_t bits;
        memcpy(&bits, &x[i], sizeof bits);
        sum = (sum ^ bits) * 0x100000001b3;
    }
    return sum;
}

double test_largest(size_t n, const double *b)
{
    double largest = 0.0;

    for (size_t i = 0; i < n; i++)
        if (fabs(b[i]) > largest)
            largest = fabs(b[i]);
    return largest;
}

double test_scale(size_t n, const double *b)
{
    const double largest = test_largest(n, b);

    return largest > 1.0 ? largest : 1.0;
}

/* Fails the test with the worst entry when a difference exceeds the limit. */
static void assert_within(const double *got, const double *want, size_t n, double limit)
{
    size_t worst = 0;

    for (size_t i = 1; i < n; i++)
        if (gap(got[i], want[i]) > gap(got[worst], want[worst]))
            worst = i;
    if (n > 0 && !(gap(got[worst], want[worst]) <= limit))
        ck_abort_msg("entry %zu of %zu is %.17g, expected %.17g: difference %.3g, allowed %.3g",
                     worst, n, got[worst], want[worst], gap(got[worst], want[worst]), limit);
}

void test_assert_close(const double *got, const double *want, size_t n, double tol)
{
    assert_within(got, want, n, tol * test_scale(n, want));
}

void test_assert_close_gradient(const double *got, const double *want, size_t n, double tol)
{
    assert_within(got, want, n, tol * test_largest(n, want));
}

/* ---- random inputs --------------------------------------------------------------------------- */

double test_normal(tce_random *random)
{
    double out;
    tce_random_normals(random, 1, &out);
    return out;
}

double *test_normals(uint64_t seed, size_t n)
{
    double *x = malloc(n * sizeof *x);
    tce_random random;

    if (x == NULL)
        ck_abort_msg("no memory for %zu numbers", n);
    tce_random_start(&random, seed, 2, 0, 0);
    tce_random_normals(&random, n, x);
    return x;
}

static double dot(size_t n, const double *a, const double *b)
{
    double sum = 0.0;

    for (size_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

/*
 * A = L Q by Gram-Schmidt on the rows: A [n, n] becomes Q, L (may be NULL) the lower triangle with
 * a positive diagonal.
 */
static void orthonormalise_rows(size_t n, double *A, double *L)
{
    for (size_t i = 0; i < n; i++) {
        double *row = A + i * n;
        double *out = L != NULL ? L + i * n : NULL;

        for (int pass = 0; pass < N_PASSES; pass++) {
            for (size_t j = 0; j < i; j++) {
                const double c = dot(n, A + j * n, row);
                if (out != NULL)
                    out[j] += c;
                for (size_t k = 0; k < n; k++)
                    row[k] -= c * A[j * n + k];
            }
        }
        const double norm = sqrt(dot(n, row, row));
        if (out != NULL)
            out[i] = norm;
        for (size_t k = 0; k < n; k++)
            row[k] /= norm;
    }
}

double test_random_cholesky(tce_random *random, size_t dim, double condition, double scale,
                            double *L)
{
    double *A = malloc(2 * dim * dim * sizeof *A);
    if (A == NULL)
        ck_abort_msg("no memory for a factor of dimension %zu", dim);
    double *Q = A + dim * dim;
    double log_det = 0.0;

    /*
     * a random orthogonal matrix Q, and A = Q diag(sqrt of the eigenvalues): the covariance is A A'
     */
    tce_random_normals(random, dim * dim, Q);
    orthonormalise_rows(dim, Q, NULL);
    for (size_t j = 0; j < dim; j++) {
        const double place = dim > 1 ? (double)j / (double)(dim - 1) : 0.0;
        const double root = sqrt(scale * pow(condition, -place));
        log_det += log(root);
        for (size_t i = 0; i < dim; i++)
            A[i * dim + j] = Q[i * dim + j] * root;
    }

    /*
     * A = L times an orthogonal matrix, so A A' = L L' without ever squaring the condition number
     */
    memset(L, 0, dim * dim * sizeof *L);
    orthonormalise_rows(dim, A, L);
    free(A);
    return log_det;
}

void test_perturb_cholesky(tce_random *random, size_t dim, double size, const double *L,
                           double *out)
{
    double *N = malloc(dim * dim * sizeof *N);
    if (N == NULL)
        ck_abort_msg("no memory for a factor of dimension %zu", dim);

    /* N = I + size * noise, lower triangular, with a positive diagonal */
    for (size_t i = 0; i < dim; i++)
        for (size_t j = 0; j < dim; j++)
            N[i * dim + j] = j > i ? 0.0 : size * test_normal(random);
    for (size_t i = 0; i < dim; i++)
        N[i * dim + i] = exp(N[i * dim + i]);

    /* out = L N; entry (i, j) needs L[i, j..i] only and columns go up, so out may be L */
    for (size_t i = 0; i < dim; i++) {
        for (size_t j = 0; j < dim; j++) {
            double sum = 0.0;
            for (size_t k = j; k <= i; k++)
                sum += L[i * dim + k] * N[k * dim + j];
            out[i * dim + j] = j <= i ? sum : 0.0;
        }
    }
    free(N);
}

/* ---- eigenvalues ----------------------------------------------------------------------------- */

void test_eigen(size_t n, double *A, double *out)
{
    /* a row-major lower triangle is a column-major upper one */
    const lapack_int size = (lapack_int)n;
    ck_assert_int_eq(LAPACKE_dsyev(LAPACK_COL_MAJOR, 'V', 'U', size, A, size, out), 0);
}

/* ---- finite differences ---------------------------------------------------------------------- */

void test_finite_difference(test_function f, void *context, size_t n, double *x, double *out)
{
    const double step = cbrt(DBL_EPSILON);

    for (size_t i = 0; i < n; i++) {
        const double kept = x[i];
        const double h = step * (fabs(kept) > 1.0 ? fabs(kept) : 1.0);

        /* the two places as they are represented, so that the divisor is what was really stepped */
        const volatile double above = kept + h;
        const volatile double below = kept - h;
        x[i] = above;
        const double f_above = f(context, x);
        x[i] = below;
        const double f_below = f(context, x);
        out[i] = (f_above - f_below) / (above - below);
        x[i] = kept;
    }
}

/* ---- handles and options --------------------------------------------------------------------- */

tce_pool *test_pool(int32_t n_threads)
{
    tce_pool_options options;
    tce_pool *pool = NULL;
    tce_pool_options_init(&options, sizeof options);
    options.n_threads = n_threads;
    ok(tce_pool_create(&options, NULL, &pool));
    return pool;
}

tce_mp *test_mp(const tce_mp_options *options)
{
    tce_mp *mp = NULL;

    ok(tce_mp_create(options, NULL, &mp));
    return mp;
}

tce_adam_options test_adam(double learning_rate)
{
    tce_adam_options adam;

    tce_adam_options_init(&adam, sizeof adam);
    adam.learning_rate = learning_rate;
    adam.l2 = WEIGHT_DECAY;
    return adam;
}

/* ---- folders --------------------------------------------------------------------------------- */

void test_make_folder(const char *name, char *out)
{
    snprintf(out, TEST_FOLDER, "/tmp/tce-%s-XXXXXX", name);
    ck_assert_ptr_nonnull(mkdtemp(out));
}

void test_remove_folder(const char *folder)
{
    char command[TEST_FOLDER + 16];

    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    ck_assert_int_eq(system(command), 0);
}

/* ---- clock ----------------------------------------------------------------------------------- */

double test_seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
