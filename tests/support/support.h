/*
 * What the test programs share: cases and their run, statuses, a counting and failing allocator,
 * comparison, random inputs, finite differences, handles and options that several suites use,
 * folders, a clock.
 *
 * Everything here fails the running Check test (ck_abort) when it cannot do its work, so callers
 * need not check.
 */
#ifndef TCE_TESTS_SUPPORT_H
#define TCE_TESTS_SUPPORT_H

#include <stddef.h>
#include <stdint.h>

#include <check.h>

#include <tce/random.h>
#include <tce/status.h>
#include <tce/mp.h>
#include <tce/net.h>
#include <tce/pool.h>

/* ---- suites ---------------------------------------------------------------------------------- */

/* A new case of the suite, whose tests may take `timeout` seconds each; 0: a minute. */
TCase *test_case(Suite *suite, const char *name, double timeout);

/*
 * Runs the suite, as talkative as CK_VERBOSITY says, and frees it. Returns what main does:
 * EXIT_SUCCESS when every test passed.
 */
int test_run(Suite *suite);

/* ---- statuses: short names, as they stand in every other line of a test ---------------------- */

/* Fails the test unless the status is TCE_OK. */
void ok(tce_status status);

/* Fails the test unless the status is `want` and the message has `part` in it. */
void fails(tce_status status, tce_status want, const char *part);

/* ---- memory ---------------------------------------------------------------------------------- */

/* What went through an allocator made by test_hooks. */
typedef struct test_memory {
    size_t n_alloc; /* successful requests */
    size_t n_free;  /* releases of non-NULL blocks */
    size_t live;    /* blocks not yet released */
    size_t budget;  /* requests still granted; SIZE_MAX: all of them */
} test_memory;

/*
 * Hooks that count into *m and fail once its budget is spent. Clears the counters and keeps the
 * budget, which the caller sets before or after. Blocks are aligned as asked and filled with a
 * pattern, so that memory taken for zero shows.
 */
void test_hooks(test_memory *m, tce_hooks *hooks);

/* ---- comparison ------------------------------------------------------------------------------ */

/* max |a - b|; infinity when either has a NaN. */
double test_difference(size_t n, const double *a, const double *b);

/*
 * A sum of the bits of x [n] that depends on their order (FNV-1a over 64 bits at a time): equal on
 * all machines when every number is.
 */
uint64_t test_sum_of_bits(size_t n, const double *x);

/* max(1, max |b|), and max |b|. */
double test_scale(size_t n, const double *b);
double test_largest(size_t n, const double *b);

/*
 * Fails the test unless |got - want| <= tol * max(1, max |want|) everywhere; the message has the
 * worst entry.
 */
void test_assert_close(const double *got, const double *want, size_t n, double tol);

/* The rule for gradients: |got - want| <= tol * max |want|. */
void test_assert_close_gradient(const double *got, const double *want, size_t n, double tol);

/* ---- random inputs --------------------------------------------------------------------------- */

/* One standard normal. */
double test_normal(tce_random *random);

/* n normal deviates, malloc'ed; the same for the same seed. */
double *test_normals(uint64_t seed, size_t n);

/*
 * A lower Cholesky factor L [dim, dim] of a random covariance whose eigenvalues spread evenly in
 * the logarithm over [scale / condition, scale]. Returns log det L.
 */
double test_random_cholesky(tce_random *random, size_t dim, double condition, double scale,
                            double *L);

/*
 * L times (I + size * a random lower matrix), diagonal kept positive: a factor near L. out may be
 * L.
 */
void test_perturb_cholesky(tce_random *random, size_t dim, double size, const double *L,
                           double *out);

/* ---- eigenvalues ----------------------------------------------------------------------------- */

/* A <- eigenvectors in its rows, A = sum_i out_i row_i' row_i, out ascending; the lower triangle of
 * the symmetric A is read. By LAPACK. */
void test_eigen(size_t n, double *A, double *out);

/* ---- finite differences ---------------------------------------------------------------------- */

/* A scalar function of x [n]. */
typedef double (*test_function)(void *context, const double *x);

/*
 * Central differences with step eps^(1/3) max(1, |x_i|): error about eps^(2/3) of the function's
 * scale. x is restored.
 */
void test_finite_difference(test_function f, void *context, size_t n, double *x, double *out);

/* ---- handles and options --------------------------------------------------------------------- */

/* A pool of so many threads. tce_pool_free when done. */
tce_pool *test_pool(int32_t n_threads);

/* The primitive of these options. tce_mp_free when done. */
tce_mp *test_mp(const tce_mp_options *options);

/* Adam with this learning rate and some weight decay, so that both count. */
tce_adam_options test_adam(double learning_rate);

/* ---- folders --------------------------------------------------------------------------------- */

enum { TEST_FOLDER = 64 };

/*
 * A new folder /tmp/tce-<name>-…, its path in out [TEST_FOLDER]; and away with it and all that is
 * in it.
 */
void test_make_folder(const char *name, char *out);
void test_remove_folder(const char *folder);

/* ---- clock ----------------------------------------------------------------------------------- */

/* Seconds of a clock that never jumps. */
double test_seconds(void);

#endif
