/*
 * Gaussians on Cholesky factors: densities against the definition, gradients against differences,
 * statuses, memory.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <check.h>

#include <tce/gauss.h>

#include "support.h"

#define SENTINEL -12345.0

/* Sums of some hundred terms in double, in another order. */
#define TOLERANCE 1e-11

/*
 * Central differences with step eps^(1/3): eps^(2/3) times the third derivative's size, with room.
 */
#define DIFFERENCE_TOLERANCE 2e-7

enum { N = 4, DIM = 5, SIZE = DIM * DIM };

/*
 * Two batches of Gaussians and points; [N, ...] arrays of which a shared covariance uses the first.
 */
typedef struct batch {
    size_t n_cov;
    size_t n_other_cov;
    double x[N * DIM];
    double mean[N * DIM];
    double other_mean[N * DIM];
    double L[N * SIZE];
    double other_L[N * SIZE];
    double d_a[N];
    double d_b[N];
    double work[4096];
} batch;

static void fill(batch *b, uint64_t seed, size_t n_cov, size_t n_other_cov)
{
    tce_random random;
    tce_random_start(&random, seed, 1, 0, 0);
    memset(b, 0, sizeof *b);
    b->n_cov = n_cov;
    b->n_other_cov = n_other_cov;
    tce_random_normals(&random, N * DIM, b->x);
    tce_random_normals(&random, N * DIM, b->mean);
    tce_random_normals(&random, N * DIM, b->other_mean);
    tce_random_normals(&random, N, b->d_a);
    tce_random_normals(&random, N, b->d_b);
    for (size_t e = 0; e < N; e++) {
        test_random_cholesky(&random, DIM, 30.0, 1.5, b->L + e * SIZE);
        test_random_cholesky(&random, DIM, 30.0, 1.0, b->other_L + e * SIZE);
    }
    ck_assert_uint_le(tce_gauss_work(N, DIM), 4096);
}

/* factor i of a shared or own set */
static const double *factor(const double *L, size_t n_cov, size_t i)
{
    return n_cov == 1 ? L : L + i * SIZE;
}

/* z = L^-1 y, row by row */
static void forward_solve(const double *L, const double *y, double *z)
{
    for (size_t i = 0; i < DIM; i++) {
        z[i] = y[i];
        for (size_t j = 0; j < i; j++)
            z[i] -= L[i * DIM + j] * z[j];
        z[i] /= L[i * DIM + i];
    }
}

/* ---- properties ------------------------------------------------------------------------------ */

START_TEST(log_prob_is_the_definition)
{
    for (size_t n_cov = 1; n_cov <= N; n_cov += N - 1) {
        batch b;
        double got[N];
        fill(&b, (uint64_t)_i, n_cov, 1);
        ck_assert_int_eq(tce_gauss_log_prob(N, DIM, n_cov, b.x, b.mean, b.L, b.work, got), TCE_OK);
        for (size_t i = 0; i < N; i++) {
            const double *L = factor(b.L, n_cov, i);
            double y[DIM], z[DIM];
            for (size_t k = 0; k < DIM; k++)
                y[k] = b.x[i * DIM + k] - b.mean[i * DIM + k];
            forward_solve(L, y, z);
            double want = -0.5 * DIM * log(2.0 * acos(-1.0));
            for (size_t k = 0; k < DIM; k++)
                want -= 0.5 * z[k] * z[k] + log(L[k * DIM + k]);
            ck_assert_double_eq_tol(got[i], want, TOLERANCE * fmax(1.0, fabs(want)));
        }
    }
}
END_TEST

START_TEST(entropy_is_minus_the_expected_log_prob)
{
    /*
     * in closed form: E[-log p] = P/2 log 2 pi e + log det L; here from the quadratic form's mean,
     * P
     */
    batch b;
    double entropy[N], at_mean[N];
    fill(&b, (uint64_t)_i, N, 1);
    ck_assert_int_eq(tce_gauss_entropy(N, DIM, b.L, entropy), TCE_OK);
    ck_assert_int_eq(tce_gauss_log_prob(N, DIM, N, b.mean, b.mean, b.L, b.work, at_mean), TCE_OK);
    for (size_t i = 0; i < N; i++)
        ck_assert_double_eq_tol(entropy[i], -at_mean[i] + 0.5 * DIM, TOLERANCE * 10.0);
}
END_TEST

START_TEST(kl_is_the_definition_and_not_negative)
{
    for (size_t shared = 0; shared < 4; shared++) {
        batch b;
        double mean_part[N], cov_part[N];
        fill(&b, (uint64_t)_i, shared & 1 ? 1 : N, shared & 2 ? 1 : N);
        ck_assert_int_eq(tce_gauss_kl(N, DIM, b.n_cov, b.mean, b.L, b.n_other_cov, b.other_mean,
                                      b.other_L, b.work, mean_part, cov_part),
                         TCE_OK);
        for (size_t i = 0; i < N; i++) {
            const double *L = factor(b.L, b.n_cov, i);
            const double *other_L = factor(b.other_L, b.n_other_cov, i);
            double y[DIM], z[DIM];
            double mean_want = 0.0;
            double cov_want = -0.5 * DIM;
            for (size_t k = 0; k < DIM; k++)
                y[k] = b.mean[i * DIM + k] - b.other_mean[i * DIM + k];
            forward_solve(other_L, y, z);
            for (size_t k = 0; k < DIM; k++) {
                mean_want += 0.5 * z[k] * z[k];
                cov_want += log(other_L[k * DIM + k] / L[k * DIM + k]);
            }
            /* tr(Sigma_o^-1 Sigma) = |L_o^-1 L|^2, column by column */
            for (size_t c = 0; c < DIM; c++) {
                for (size_t k = 0; k < DIM; k++)
                    y[k] = L[k * DIM + c];
                forward_solve(other_L, y, z);
                for (size_t k = 0; k < DIM; k++)
                    cov_want += 0.5 * z[k] * z[k];
            }
            ck_assert_double_eq_tol(mean_part[i], mean_want, TOLERANCE * fmax(1.0, mean_want));
            ck_assert_double_eq_tol(cov_part[i], cov_want, TOLERANCE * fmax(1.0, cov_want));
            ck_assert(mean_part[i] >= 0.0 && cov_part[i] >= 0.0);
        }
    }
}
END_TEST

START_TEST(a_tiny_divergence_keeps_its_digits)
{
    /* KL of a variance (1 + h)^2 from 1 is h - log(1 + h) + h^2/2 = h^2 - h^3/3 + ... */
    static const double STEPS[] = { 1e-3, 1e-5, 1e-8 };
    for (size_t k = 0; k < 3; k++) {
        const double mean = 0.0;
        const double one = 1.0;
        const double L = 1.0 + STEPS[k];
        const double h = L - 1.0;
        double work[8], got;
        ck_assert_int_eq(tce_gauss_kl(1, 1, 1, &mean, &L, 1, &mean, &one, work, NULL, &got),
                         TCE_OK);
        const double want = h * h *
                            (1.0 - h * (1.0 / 3.0 - h * (1.0 / 4.0 - h * (1.0 / 5.0 - h / 6.0))));
        ck_assert_double_eq_tol(got, want, 1e-11 * want);
    }
}
END_TEST

START_TEST(samples_have_the_mean_and_covariance)
{
    enum { DRAWS = 20000 };
    batch b;
    fill(&b, (uint64_t)_i, 1, 1);
    double *mean = calloc(DRAWS * DIM, sizeof *mean);
    double *out = calloc(DRAWS * DIM, sizeof *out);
    double *work = calloc(tce_gauss_work(DRAWS, DIM), sizeof *work);
    for (size_t i = 0; i < DRAWS; i++)
        memcpy(mean + i * DIM, b.mean, DIM * sizeof *mean);
    tce_random random;
    tce_random_start(&random, 9, 9, (uint64_t)_i, 0);
    ck_assert_int_eq(tce_gauss_sample(DRAWS, DIM, 1, mean, b.L, &random, work, out), TCE_OK);

    /*
     * six standard errors: of a mean, and of a product of two normals, both relative to the
     * deviations
     */
    for (size_t i = 0; i < DIM; i++) {
        double sigma_i = 0.0;
        for (size_t k = 0; k <= i; k++)
            sigma_i += b.L[i * DIM + k] * b.L[i * DIM + k];
        double sum = 0.0;
        for (size_t r = 0; r < DRAWS; r++)
            sum += out[r * DIM + i] - b.mean[i];
        ck_assert_double_le(fabs(sum / DRAWS), 6.0 * sqrt(sigma_i / DRAWS));
        for (size_t j = 0; j <= i; j++) {
            double want = 0.0, sigma_j = 0.0, got = 0.0;
            for (size_t k = 0; k <= j; k++) {
                want += b.L[i * DIM + k] * b.L[j * DIM + k];
                sigma_j += b.L[j * DIM + k] * b.L[j * DIM + k];
            }
            for (size_t r = 0; r < DRAWS; r++)
                got += (out[r * DIM + i] - b.mean[i]) * (out[r * DIM + j] - b.mean[j]);
            ck_assert_double_le(fabs(got / DRAWS - want),
                                6.0 * sqrt(2.0 * sigma_i * sigma_j / DRAWS));
        }
    }
    free(mean), free(out), free(work);
}
END_TEST

START_TEST(a_sample_is_mean_plus_factor_times_the_stream)
{
    for (size_t n_cov = 1; n_cov <= N; n_cov += N - 1) {
        batch b;
        double got[N * DIM], z[N * DIM];
        fill(&b, 3, n_cov, 1);
        tce_random random;
        tce_random_start(&random, 1, 2, 3, 4);
        tce_random copy = random;
        ck_assert_int_eq(tce_gauss_sample(N, DIM, n_cov, b.mean, b.L, &random, b.work, got),
                         TCE_OK);
        tce_random_normals(&copy, N * DIM, z);
        for (size_t i = 0; i < N; i++)
            for (size_t r = 0; r < DIM; r++) {
                double want = b.mean[i * DIM + r];
                for (size_t k = 0; k <= r; k++)
                    want += factor(b.L, n_cov, i)[r * DIM + k] * z[i * DIM + k];
                ck_assert_double_eq_tol(got[i * DIM + r], want, TOLERANCE);
            }
    }
}
END_TEST

/* ---- gradients ------------------------------------------------------------------------------- */

/* Which array of the batch varies, and which function of it is a scalar. */
typedef enum { LOG_PROB, ENTROPY, KL } function;

typedef struct variation {
    batch *b;
    function f;
    double *at; /* array in *b that x replaces */
    size_t n;
} variation;

static double value(void *context, const double *x)
{
    const variation *v = context;
    batch *b = v->b;
    double first[N] = { 0 }, second[N] = { 0 };
    double sum = 0.0;
    memcpy(v->at, x, v->n * sizeof *x);
    if (v->f == LOG_PROB)
        ck_assert_int_eq(tce_gauss_log_prob(N, DIM, b->n_cov, b->x, b->mean, b->L, b->work, first),
                         TCE_OK);
    else if (v->f == ENTROPY)
        ck_assert_int_eq(tce_gauss_entropy(b->n_cov, DIM, b->L, first), TCE_OK);
    else
        ck_assert_int_eq(tce_gauss_kl(N, DIM, b->n_cov, b->mean, b->L, b->n_other_cov,
                                      b->other_mean, b->other_L, b->work, first, second),
                         TCE_OK);
    for (size_t i = 0; i < N; i++)
        sum += b->d_a[i] * first[i] + b->d_b[i] * second[i];
    return sum;
}

static void check_gradient(batch *b, function f, double *at, size_t n, const double *got)
{
    variation v = { b, f, at, n };
    double x[N * SIZE], want[N * SIZE];
    memcpy(x, at, n * sizeof *x);
    test_finite_difference(value, &v, n, x, want);
    memcpy(at, x, n * sizeof *x);
    test_assert_close_gradient(got, want, n, DIFFERENCE_TOLERANCE);
}

START_TEST(log_prob_backward_matches_differences)
{
    for (size_t n_cov = 1; n_cov <= N; n_cov += N - 1) {
        batch b;
        double d_x[N * DIM], d_mean[N * DIM], d_L[N * SIZE];
        fill(&b, (uint64_t)_i, n_cov, 1);
        ck_assert_int_eq(tce_gauss_log_prob_backward(N, DIM, n_cov, b.x, b.mean, b.L, b.d_a, b.work,
                                                     d_x, d_mean, d_L),
                         TCE_OK);
        check_gradient(&b, LOG_PROB, b.x, N * DIM, d_x);
        check_gradient(&b, LOG_PROB, b.mean, N * DIM, d_mean);
        check_gradient(&b, LOG_PROB, b.L, n_cov * SIZE, d_L);
        ck_assert_double_eq(d_L[1], 0.0);

        /* each output may be left out */
        double alone[N * SIZE];
        ck_assert_int_eq(tce_gauss_log_prob_backward(N, DIM, n_cov, b.x, b.mean, b.L, b.d_a, b.work,
                                                     NULL, NULL, alone),
                         TCE_OK);
        ck_assert_mem_eq(alone, d_L, n_cov * SIZE * sizeof *d_L);
        ck_assert_int_eq(tce_gauss_log_prob_backward(N, DIM, n_cov, b.x, b.mean, b.L, b.d_a, b.work,
                                                     alone, NULL, NULL),
                         TCE_OK);
        ck_assert_mem_eq(alone, d_x, sizeof d_x);
    }
}
END_TEST

START_TEST(entropy_backward_matches_differences)
{
    batch b;
    double d_L[N * SIZE];
    fill(&b, (uint64_t)_i, N, 1);
    ck_assert_int_eq(tce_gauss_entropy_backward(N, DIM, b.L, b.d_a, d_L), TCE_OK);
    check_gradient(&b, ENTROPY, b.L, N * SIZE, d_L);
}
END_TEST

START_TEST(kl_backward_matches_differences)
{
    for (size_t shared = 0; shared < 4; shared++) {
        batch b;
        double d_mean[N * DIM], d_L[N * SIZE], zeros[N * SIZE] = { 0 };
        fill(&b, (uint64_t)_i, shared & 1 ? 1 : N, shared & 2 ? 1 : N);
        ck_assert_int_eq(tce_gauss_kl_backward(N, DIM, b.n_cov, b.mean, b.L, b.n_other_cov,
                                               b.other_mean, b.other_L, b.d_a, b.d_b, b.work,
                                               d_mean, d_L),
                         TCE_OK);
        check_gradient(&b, KL, b.mean, N * DIM, d_mean);
        check_gradient(&b, KL, b.L, b.n_cov * SIZE, d_L);

        /* NULL means zeros */
        ck_assert_int_eq(tce_gauss_kl_backward(N, DIM, b.n_cov, b.mean, b.L, b.n_other_cov,
                                               b.other_mean, b.other_L, NULL, NULL, b.work, d_mean,
                                               d_L),
                         TCE_OK);
        ck_assert_mem_eq(d_mean, zeros, sizeof d_mean);
        ck_assert_mem_eq(d_L, zeros, b.n_cov * SIZE * sizeof *d_L);
    }
}
END_TEST

/* ---- errors ---------------------------------------------------------------------------------- */

START_TEST(a_factor_that_is_none_is_refused_by_entry)
{
    batch b;
    double out[N] = { SENTINEL, SENTINEL, SENTINEL, SENTINEL };
    fill(&b, 1, 1, 1);
    const double good = b.L[2 * DIM + 2];
    static const double BAD[] = { 0.0, -1.0, NAN, INFINITY };
    for (size_t k = 0; k < 4; k++) {
        b.L[2 * DIM + 2] = BAD[k];
        const tce_status want = k < 2 ? TCE_E_NOT_PD : TCE_E_VALUE;
        ck_assert_int_eq(tce_gauss_log_prob(N, DIM, 1, b.x, b.mean, b.L, b.work, out), want);
        ck_assert_ptr_nonnull(strstr(tce_error_message(), "L[2,2]"));
        ck_assert_int_eq(tce_gauss_entropy(1, DIM, b.L, out), want);
        ck_assert_int_eq(
            tce_gauss_kl(N, DIM, 1, b.mean, b.other_L, 1, b.mean, b.L, b.work, out, out), want);
        ck_assert_ptr_nonnull(strstr(tce_error_message(), "other_L[2,2]"));
        ck_assert_double_eq(out[0], SENTINEL);
    }
    b.L[2 * DIM + 2] = good;

    /* one of several is named with its number; what lies above the diagonal is not read */
    b.L[3 * SIZE] = 0.0;
    ck_assert_int_eq(tce_gauss_entropy(N, DIM, b.L, out), TCE_E_NOT_PD);
    ck_assert_ptr_nonnull(strstr(tce_error_message(), "L[3,0,0]"));
    b.L[1] = NAN;
    ck_assert_int_eq(tce_gauss_log_prob(N, DIM, 1, b.x, b.mean, b.L, b.work, out), TCE_OK);
}
END_TEST

START_TEST(shapes_and_numbers_are_checked_before_anything_is_written)
{
    batch b;
    double out[N] = { SENTINEL, SENTINEL, SENTINEL, SENTINEL };
    double d[N * SIZE];
    tce_random random;
    tce_random_start(&random, 1, 1, 1, 1);
    fill(&b, 1, 1, 1);
    ck_assert_int_eq(tce_gauss_log_prob(N, DIM, 2, b.x, b.mean, b.L, b.work, out), TCE_E_SHAPE);
    ck_assert_ptr_nonnull(strstr(tce_error_message(), "n_cov = 2"));
    ck_assert_int_eq(tce_gauss_log_prob(N, 0, 1, b.x, b.mean, b.L, b.work, out), TCE_E_SHAPE);
    ck_assert_int_eq(tce_gauss_kl(N, DIM, 1, b.mean, b.L, 3, b.mean, b.L, b.work, out, out),
                     TCE_E_SHAPE);
    ck_assert_int_eq(tce_gauss_sample(N, DIM, 3, b.mean, b.L, &random, b.work, d), TCE_E_SHAPE);
    ck_assert_int_eq(tce_gauss_log_prob(N, DIM, 1, NULL, b.mean, b.L, b.work, out), TCE_E_ARGUMENT);
    ck_assert_int_eq(tce_gauss_log_prob(N, DIM, 1, b.x, b.mean, b.L, NULL, out), TCE_E_ARGUMENT);
    ck_assert_int_eq(tce_gauss_log_prob(N, DIM, 1, b.x, b.mean, b.L, b.work, NULL), TCE_E_ARGUMENT);
    b.x[3] = NAN;
    ck_assert_int_eq(tce_gauss_log_prob(N, DIM, 1, b.x, b.mean, b.L, b.work, out), TCE_E_VALUE);
    ck_assert_ptr_nonnull(strstr(tce_error_message(), "x[3]"));
    b.x[3] = 0.0;
    b.d_a[1] = INFINITY;
    d[0] = SENTINEL;
    ck_assert_int_eq(
        tce_gauss_log_prob_backward(N, DIM, 1, b.x, b.mean, b.L, b.d_a, b.work, NULL, NULL, d),
        TCE_E_VALUE);
    ck_assert_double_eq(d[0], SENTINEL);
    ck_assert_double_eq(out[0], SENTINEL);
    ck_assert_int_eq(tce_gauss_log_prob(0, DIM, 1, NULL, NULL, b.L, b.work, out), TCE_OK);
}
END_TEST

/* ---- memory ---------------------------------------------------------------------------------- */

START_TEST(scratch_is_used_no_further_than_promised)
{
    batch b;
    double out[N], second[N], d_mean[N * DIM], d_L[N * SIZE], sample[N * DIM];
    const size_t n_work = tce_gauss_work(N, DIM);
    tce_random random;
    tce_random_start(&random, 1, 1, 1, 1);
    for (size_t shared = 0; shared < 2; shared++) {
        const size_t n_cov = shared ? 1 : N;
        fill(&b, 1, n_cov, n_cov);
        b.work[n_work] = SENTINEL;
        ck_assert_int_eq(tce_gauss_log_prob(N, DIM, n_cov, b.x, b.mean, b.L, b.work, out), TCE_OK);
        ck_assert_int_eq(tce_gauss_log_prob_backward(N, DIM, n_cov, b.x, b.mean, b.L, b.d_a, b.work,
                                                     NULL, d_mean, d_L),
                         TCE_OK);
        ck_assert_int_eq(tce_gauss_kl(N, DIM, n_cov, b.mean, b.L, n_cov, b.other_mean, b.other_L,
                                      b.work, out, second),
                         TCE_OK);
        ck_assert_int_eq(tce_gauss_kl_backward(N, DIM, n_cov, b.mean, b.L, n_cov, b.other_mean,
                                               b.other_L, b.d_a, b.d_b, b.work, d_mean, d_L),
                         TCE_OK);
        ck_assert_int_eq(tce_gauss_sample(N, DIM, n_cov, b.mean, b.L, &random, b.work, sample),
                         TCE_OK);
        ck_assert_double_eq(b.work[n_work], SENTINEL);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("gauss");

    TCase *property = test_case(suite, "property", 0);
    tcase_add_loop_test(property, log_prob_is_the_definition, 0, 100);
    tcase_add_loop_test(property, entropy_is_minus_the_expected_log_prob, 0, 100);
    tcase_add_loop_test(property, kl_is_the_definition_and_not_negative, 0, 100);
    tcase_add_test(property, a_tiny_divergence_keeps_its_digits);
    tcase_add_loop_test(property, samples_have_the_mean_and_covariance, 0, 4);
    tcase_add_test(property, a_sample_is_mean_plus_factor_times_the_stream);

    TCase *gradient = test_case(suite, "gradient", 0);
    tcase_add_loop_test(gradient, log_prob_backward_matches_differences, 0, 10);
    tcase_add_loop_test(gradient, entropy_backward_matches_differences, 0, 10);
    tcase_add_loop_test(gradient, kl_backward_matches_differences, 0, 10);

    TCase *errors = test_case(suite, "errors", 0);
    tcase_add_test(errors, a_factor_that_is_none_is_refused_by_entry);
    tcase_add_test(errors, shapes_and_numbers_are_checked_before_anything_is_written);

    TCase *memory = test_case(suite, "memory", 0);
    tcase_add_test(memory, scratch_is_used_no_further_than_promised);

    return test_run(suite);
}
