/*
 * What the test programs share: a counting and failing allocator, golden files, comparison, random factors, finite differences, a clock.
 *
 * Everything here fails the running Check test (ck_abort) when it cannot do its work, so callers need not check.
 */
#ifndef TCE_TESTS_SUPPORT_H
#define TCE_TESTS_SUPPORT_H

#include <stddef.h>

#include <jansson.h>

#include <tce/base.h>

/* ---- memory -------------------------------------------------------------------------------------- */

/* What went through an allocator made by test_hooks. */
typedef struct test_memory {
    size_t n_alloc; /* successful requests */
    size_t n_free;  /* releases of non-NULL blocks */
    size_t live;    /* blocks not yet released */
    size_t budget;  /* requests still granted; SIZE_MAX: all of them */
} test_memory;

/*
 * Hooks that count into *m and fail once its budget is spent. Clears the counters and keeps the budget, which the caller sets before or
 * after. Blocks are aligned as asked and filled with a pattern, so that memory taken for zero shows.
 */
void test_hooks(test_memory *m, tce_hooks *hooks);

/* ---- golden files -------------------------------------------------------------------------------- */

/* The parsed tests/golden/<file>; the environment variable TCE_GOLDEN names another folder. json_decref when done. */
json_t *test_golden(const char *file);

/* All numbers of a nested array (or one number or boolean) in reading order, malloc'ed; n may be NULL. */
double *test_array(const json_t *value, size_t *n);

/* object[key] likewise, with exactly n numbers. */
double *test_field(const json_t *object, const char *key, size_t n);

/* ---- comparison ---------------------------------------------------------------------------------- */

/* max |a - b|; infinity when either has a NaN. */
double test_difference(size_t n, const double *a, const double *b);

/* max(1, max |b|), and max |b|. */
double test_scale(size_t n, const double *b);
double test_largest(size_t n, const double *b);

/* Fails the test unless |got - want| <= tol * max(1, max |want|) everywhere; the message has the worst entry. */
void test_assert_close(const double *got, const double *want, size_t n, double tol);

/* The rule for gradients: |got - want| <= tol * max |want|. */
void test_assert_close_gradient(const double *got, const double *want, size_t n, double tol);

/* ---- random inputs ------------------------------------------------------------------------------- */

/*
 * A lower Cholesky factor L [dim, dim] of a random covariance whose eigenvalues spread evenly in the logarithm over
 * [scale / condition, scale]. Returns log det L.
 */
double test_random_cholesky(tce_random *random, size_t dim, double condition, double scale, double *L);

/* L times (I + size * a random lower matrix), diagonal kept positive: a factor near L. out may be L. */
void test_perturb_cholesky(tce_random *random, size_t dim, double size, const double *L, double *out);

/* ---- finite differences -------------------------------------------------------------------------- */

/* A scalar function of x [n]. */
typedef double (*test_function)(void *context, const double *x);

/* Central differences with step eps^(1/3) max(1, |x_i|): error about eps^(2/3) of the function's scale. x is restored. */
void test_finite_difference(test_function f, void *context, size_t n, double *x, double *out);

/* ---- clock --------------------------------------------------------------------------------------- */

/* Seconds of a clock that never jumps. */
double test_seconds(void);

#endif
