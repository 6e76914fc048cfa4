/*
 * The projection layer: reference numbers, bounds, gradients, statuses, memory.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <check.h>
#include <jansson.h>

#include <tce/gauss.h>
#include <tce/trpl.h>

#include "support.h"

#define SENTINEL -12345.0

/* Tolerances of the case files (spec: projections 1e-8; gradients the case's own or 1e-6). */
#define TOLERANCE 1e-8
#define GRADIENT_TOLERANCE 1e-6

/* Central differences with step eps^(1/3): eps^(2/3) times the third derivative's size, with room. */
#define DIFFERENCE_TOLERANCE 2e-6

static tce_trpl *create(int32_t kind, size_t dim, size_t batch, double mean_bound, double cov_bound)
{
    tce_trpl_options opt;
    tce_trpl *tr = NULL;
    tce_trpl_options_init(&opt, sizeof opt);
    opt.kind = kind;
    opt.dim = (int32_t)dim;
    opt.max_batch = (int32_t)batch;
    opt.mean_bound = mean_bound;
    opt.cov_bound = cov_bound;
    ck_assert_int_eq(tce_trpl_create(&opt, NULL, &tr), TCE_OK);
    return tr;
}

static double *doubles(size_t n)
{
    double *x = calloc(n > 0 ? n : 1, sizeof *x);
    ck_assert_ptr_nonnull(x);
    return x;
}

static double number(const json_t *object, const char *key, double otherwise)
{
    const json_t *value = json_object_get(object, key);
    return value ? json_number_value(value) : otherwise;
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

/* lower factor of A, plain */
static void factor(size_t n, const double *A, double *L)
{
    memset(L, 0, n * n * sizeof *L);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++) {
            double sum = A[i * n + j];
            for (size_t k = 0; k < j; k++)
                sum -= L[i * n + k] * L[j * n + k];
            L[i * n + j] = i == j ? sqrt(sum) : sum / L[j * n + j];
        }
}

/* ---- golden ---------------------------------------------------------------------------------------- */

static void check_kl_cov(const json_t *c, size_t dim)
{
    const size_t size = dim * dim;
    double *L = test_field(c, "chol", size);
    double *old_L = test_field(c, "old_chol", size);
    double *want = test_field(c, "proj_chol", size);
    double *d_L = test_field(c, "cotangent", size);
    double *want_d = test_field(c, "grad_chol", size);
    double *mean = doubles(dim);
    double *got = doubles(size);
    double eta;

    tce_trpl *tr = create(TCE_TRPL_KL, dim, 1, 0.05, number(c, "cov_bound", 0.0));
    ck_assert_int_eq(tce_trpl_project(tr, 1, mean, L, mean, old_L, 0.0, mean, got), TCE_OK);
    test_assert_close(got, want, size, TOLERANCE);
    ck_assert_int_eq(tce_trpl_distances(tr, 1, NULL, NULL, &eta), TCE_OK);
    ck_assert_double_eq_tol(eta, number(c, "eta", 0.0), TOLERANCE * fmax(1.0, eta));
    ck_assert_int_eq(tce_trpl_backward(tr, 1, mean, d_L, mean, got), TCE_OK);
    test_assert_close_gradient(got, want_d, size, number(c, "grad_tolerance", GRADIENT_TOLERANCE));

    tce_trpl_free(tr);
    free(L), free(old_L), free(want), free(d_L), free(want_d), free(mean), free(got);
}

static void check_kl_mean(const json_t *c, size_t dim)
{
    double *mean = test_field(c, "mean", dim);
    double *old_mean = test_field(c, "old_mean", dim);
    double *L = test_field(c, "old_chol", dim * dim);
    double *want = test_field(c, "proj_mean", dim);
    double *out_L = doubles(dim * dim);
    double distance;

    tce_trpl *tr = create(TCE_TRPL_KL, dim, 1, number(c, "mean_bound", 0.0), 1.0);
    ck_assert_int_eq(tce_trpl_project(tr, 1, mean, L, old_mean, L, 0.0, mean, out_L), TCE_OK);
    test_assert_close(mean, want, dim, TOLERANCE);
    ck_assert_mem_eq(out_L, L, dim * dim * sizeof *L);
    ck_assert_int_eq(tce_trpl_distances(tr, 1, &distance, NULL, NULL), TCE_OK);
    ck_assert_double_eq_tol(distance, number(c, "half_maha", 0.0), TOLERANCE);

    tce_trpl_free(tr);
    free(mean), free(old_mean), free(L), free(want), free(out_L);
}

/* factors and covariances, or symmetric roots and the projected root: compared as covariances */
static void check_other_cov(const json_t *c, size_t dim, int32_t kind)
{
    const size_t size = dim * dim;
    const int w2 = kind == TCE_TRPL_W2;
    double *new_in = test_field(c, w2 ? "sqrt" : "chol", size);
    double *old_in = test_field(c, w2 ? "old_sqrt" : "old_chol", size);
    double *want = test_field(c, w2 ? "proj_sqrt" : "proj_cov", size);
    double *square = doubles(size);
    double *L = doubles(size);
    double *old_L = doubles(size);
    double *mean = doubles(dim);
    double distance;

    times_transpose(dim, new_in, square);
    factor(dim, square, L);
    times_transpose(dim, old_in, square);
    factor(dim, square, old_L);

    tce_trpl *tr = create(kind, dim, 1, 0.05, number(c, "cov_bound", 0.0));
    ck_assert_int_eq(tce_trpl_project(tr, 1, mean, L, mean, old_L, 0.0, mean, L), TCE_OK);
    ck_assert_int_eq(tce_trpl_distances(tr, 1, NULL, &distance, NULL), TCE_OK);
    ck_assert_double_eq_tol(distance, number(c, "distance", 0.0), TOLERANCE * fmax(1.0, distance));
    if (w2) {
        times_transpose(dim, want, square);
        memcpy(want, square, size * sizeof *want);
    }
    times_transpose(dim, L, square);
    test_assert_close(square, want, size, TOLERANCE);

    tce_trpl_free(tr);
    free(new_in), free(old_in), free(want), free(square), free(L), free(old_L), free(mean);
}

START_TEST(reference_projections_are_reproduced)
{
    json_t *cases = test_golden("core_projection.json");
    size_t n_checked = 0;
    size_t index;
    json_t *c;
    json_array_foreach(cases, index, c) {
        const char *kind = json_string_value(json_object_get(c, "kind"));
        const size_t dim = (size_t)json_integer_value(json_object_get(c, "dim"));
        n_checked++;
        if (strcmp(kind, "kl_cov") == 0)
            check_kl_cov(c, dim);
        else if (strcmp(kind, "kl_mean") == 0)
            check_kl_mean(c, dim);
        else if (strcmp(kind, "w2_cov") == 0)
            check_other_cov(c, dim, TCE_TRPL_W2);
        else if (strcmp(kind, "frobenius_cov") == 0)
            check_other_cov(c, dim, TCE_TRPL_FROBENIUS);
        else
            n_checked--;
    }
    ck_assert_uint_eq(n_checked, json_array_size(cases));
    json_decref(cases);
}
END_TEST

static int32_t kind_of(const char *name)
{
    if (strcmp(name, "w2") == 0)
        return TCE_TRPL_W2;
    return strcmp(name, "frobenius") == 0 ? TCE_TRPL_FROBENIUS : TCE_TRPL_KL;
}

static void check_projection(const json_t *c, int32_t diagonal)
{
    const size_t dim = (size_t)json_integer_value(json_object_get(c, "dim"));
    const size_t n = json_array_size(json_object_get(c, "mean"));
    const size_t size = dim * dim;
    double *mean = test_field(c, "mean", n * dim);
    double *L = test_field(c, "chol", size);
    double *old_mean = test_field(c, "old_mean", n * dim);
    double *old_L = test_field(c, "old_chol", size);
    double *distance = test_field(c, "mean_distance", n);
    double *want_mean = test_field(c, "proj_mean", n * dim);
    double *want_L = test_field(c, "proj_chol", size);
    double *d_mean = test_field(c, "d_mean", n * dim);
    double *d_L = test_field(c, "d_chol", size);
    double *want_d_mean = test_field(c, "grad_mean", n * dim);
    double *want_d_L = test_field(c, "grad_chol", size);
    double *got = doubles(n);
    const double tolerance = number(c, "grad_tolerance", GRADIENT_TOLERANCE);

    tce_trpl_options opt;
    tce_trpl *tr;
    tce_trpl_options_init(&opt, sizeof opt);
    opt.kind = kind_of(json_string_value(json_object_get(c, "projection")));
    opt.dim = (int32_t)dim;
    opt.max_batch = (int32_t)n;
    opt.diagonal = diagonal;
    opt.mean_bound = number(c, "mean_bound", 0.0);
    opt.cov_bound = number(c, "cov_bound", 0.0);
    ck_assert_int_eq(tce_trpl_create(&opt, NULL, &tr), TCE_OK);

    /* in place, as the header allows */
    ck_assert_int_eq(tce_trpl_project(tr, n, mean, L, old_mean, old_L, 0.0, mean, L), TCE_OK);
    test_assert_close(mean, want_mean, n * dim, TOLERANCE);
    test_assert_close(L, want_L, size, TOLERANCE);
    ck_assert_int_eq(tce_trpl_distances(tr, n, got, NULL, NULL), TCE_OK);
    test_assert_close(got, distance, n, TOLERANCE);
    ck_assert_int_eq(tce_trpl_backward(tr, n, d_mean, d_L, d_mean, d_L), TCE_OK);
    test_assert_close_gradient(d_mean, want_d_mean, n * dim, tolerance);
    for (size_t i = 0; i < size && diagonal; i++)
        if (i % (dim + 1) != 0)
            d_L[i] = want_d_L[i] = 0.0;
    test_assert_close_gradient(d_L, want_d_L, size, tolerance);

    tce_trpl_free(tr);
    free(mean), free(L), free(old_mean), free(old_L), free(distance), free(want_mean), free(want_L);
    free(d_mean), free(d_L), free(want_d_mean), free(want_d_L), free(got);
}

static void check_entropy_control(const json_t *c)
{
    const size_t dim = json_array_size(json_object_get(c, "chol"));
    const size_t size = dim * dim;
    double *L = test_field(c, "chol", size);
    double *want = test_field(c, "result", size);
    double *d = test_field(c, "d_result", size);
    double *want_d = test_field(c, "grad_chol", size);
    double *got = doubles(size);
    const double bound = number(c, "bound", 0.0);
    const int32_t equal = (int32_t)number(c, "equality", 0.0);
    double entropy;

    ck_assert_int_eq(tce_gauss_entropy(1, dim, L, &entropy), TCE_OK);
    ck_assert_double_eq_tol(entropy, number(c, "entropy", 0.0), TOLERANCE);
    ck_assert_int_eq(tce_trpl_entropy_control(1, dim, L, bound, equal, got), TCE_OK);
    test_assert_close(got, want, size, TOLERANCE);
    ck_assert_int_eq(tce_trpl_entropy_control_backward(1, dim, L, bound, equal, d, got), TCE_OK);
    test_assert_close_gradient(got, want_d, size, GRADIENT_TOLERANCE);
    free(L), free(want), free(d), free(want_d), free(got);
}

static void check_entropy_schedule(const json_t *c)
{
    const char *name = json_string_value(json_object_get(c, "schedule"));
    const int32_t schedule = strcmp(name, "linear") == 0 ? TCE_TRPL_SCHEDULE_LINEAR : TCE_TRPL_SCHEDULE_EXPONENTIAL;
    double bound;
    ck_assert_int_eq(tce_trpl_entropy_bound(schedule, (size_t)number(c, "dim", 0.0), number(c, "initial", 0.0),
                                            number(c, "target", 0.0), number(c, "temperature", 0.0),
                                            (uint64_t)number(c, "iteration", 0.0), (uint64_t)number(c, "iterations", 0.0), &bound),
                     TCE_OK);
    ck_assert_double_eq_tol(bound, number(c, "bound", 0.0), TOLERANCE);
}

START_TEST(reference_options_are_reproduced)
{
    json_t *cases = test_golden("core_options.json");
    size_t n_projection = 0;
    size_t n_entropy = 0;
    size_t index;
    json_t *c;
    json_array_foreach(cases, index, c) {
        const char *kind = json_string_value(json_object_get(c, "kind"));
        if (strcmp(kind, "projection") == 0) {
            const int diagonal = strcmp(json_string_value(json_object_get(c, "covariance")), "diagonal") == 0;
            check_projection(c, 0);
            if (diagonal)
                check_projection(c, 1);
            n_projection++;
        } else if (strcmp(kind, "entropy_control") == 0) {
            check_entropy_control(c);
            n_entropy++;
        } else if (strcmp(kind, "entropy_schedule") == 0) {
            check_entropy_schedule(c);
            n_entropy++;
        }
    }
    ck_assert_uint_ge(n_projection, 15);
    ck_assert_uint_ge(n_entropy, 9);
    json_decref(cases);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("trpl");
    TCase *golden = tcase_create("golden");
    tcase_add_test(golden, reference_projections_are_reproduced);
    tcase_add_test(golden, reference_options_are_reproduced);
    suite_add_tcase(suite, golden);

    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
