/*
 * Gaussians on Cholesky factors: densities against the definition, gradients against differences,
 * statuses, memory.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <check.h>

#include <tce/gauss.h>
#include <tce/random.h>

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
    int32_t form;
    double actions[N * DIM];
    double d_actions[N * DIM];
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
    tce_random_normals(&random, N * DIM, b->d_actions);
    for (size_t k = 0; k < N * DIM; k++)
        b->actions[k] = 2.0 * tce_random_uniform(&random) - 1.0;
    for (size_t e = 0; e < N; e++) {
        test_random_cholesky(&random, DIM, 30.0, 1.5, b->L + e * SIZE);
        test_random_cholesky(&random, DIM, 30.0, 1.0, b->other_L + e * SIZE);
    }
    ck_assert_uint_le(tce_gauss_work_size(N, DIM), 4096);
}

/* n Gaussians of dimension DIM */
static tce_gauss describe(size_t n, size_t n_scales, const double *mean, const double *scale)
{
    return (tce_gauss){ .struct_size = sizeof(tce_gauss),
                        .n = n,
                        .dim = DIM,
                        .n_scales = n_scales,
                        .mean = mean,
                        .scale = scale };
}

static tce_gauss first_of(const batch *b)
{
    return describe(N, b->n_cov, b->mean, b->L);
}

static tce_gauss other_of(const batch *b)
{
    return describe(N, b->n_other_cov, b->other_mean, b->other_L);
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
        const tce_gauss g = first_of(&b);
        ok(tce_gauss_log_prob(&g, b.x, b.work, got));
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
    const tce_gauss g = first_of(&b);
    ok(tce_gauss_entropy(&g, entropy));
    ok(tce_gauss_log_prob(&g, b.mean, b.work, at_mean));
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
        const tce_gauss g = first_of(&b), other = other_of(&b);
        ok(tce_gauss_kl(&g, &other, b.work, mean_part, cov_part));
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
        const double want = h * h *
                            (1.0 - h * (1.0 / 3.0 - h * (1.0 / 4.0 - h * (1.0 / 5.0 - h / 6.0))));
        for (int32_t form = TCE_GAUSS_FULL; form <= TCE_GAUSS_DIAGONAL; form++) {
            tce_gauss g = describe(1, 1, &mean, &L), other = describe(1, 1, &mean, &one);
            double work[8], got;
            g.dim = other.dim = 1;
            g.form = other.form = form;
            ok(tce_gauss_kl(&g, &other, work, NULL, &got));
            ck_assert_double_eq_tol(got, want, 1e-11 * want);
        }
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
    for (size_t i = 0; i < DRAWS; i++)
        memcpy(mean + i * DIM, b.mean, DIM * sizeof *mean);
    tce_random random;
    tce_random_start(&random, 9, 9, (uint64_t)_i, 0);
    tce_random_normals(&random, DRAWS * DIM, out);
    const tce_gauss g = describe(DRAWS, 1, mean, b.L);
    ok(tce_gauss_sample(&g, out, out));

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
    free(mean), free(out);
}
END_TEST

START_TEST(a_sample_is_mean_plus_scale_times_the_normals)
{
    for (size_t n_cov = 1; n_cov <= N; n_cov += N - 1) {
        batch b;
        double got[N * DIM];
        fill(&b, 3, n_cov, 1);
        const tce_gauss g = first_of(&b);
        ok(tce_gauss_sample(&g, b.x, got));
        for (size_t i = 0; i < N; i++)
            for (size_t r = 0; r < DIM; r++) {
                double want = b.mean[i * DIM + r];
                for (size_t k = 0; k <= r; k++)
                    want += factor(b.L, n_cov, i)[r * DIM + k] * b.x[i * DIM + k];
                ck_assert_double_eq_tol(got[i * DIM + r], want, TOLERANCE);
            }

        /* a row is the same in a batch of its own, and in the place of its normals */
        for (size_t i = 0; i < N; i++) {
            const tce_gauss one = describe(1, 1, b.mean + i * DIM, factor(b.L, n_cov, i));
            double alone[DIM];
            memcpy(alone, b.x + i * DIM, sizeof alone);
            ok(tce_gauss_sample(&one, alone, alone));
            ck_assert_mem_eq(alone, got + i * DIM, sizeof alone);
        }
    }
}
END_TEST

/* ---- gradients ------------------------------------------------------------------------------- */

/* Which array of the batch varies, and which function of it is a scalar. */
typedef enum { LOG_PROB, ENTROPY, KL, SQUASH, SQUASH_LOG_PROB } function;

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
    tce_gauss g = first_of(b), other = other_of(b);
    g.form = other.form = b->form;
    double actions[N * DIM];
    tce_status status = TCE_OK;
    if (v->f == LOG_PROB)
        status = tce_gauss_log_prob(&g, b->x, b->work, first);
    else if (v->f == ENTROPY)
        status = tce_gauss_entropy(&g, first);
    else if (v->f == KL)
        status = tce_gauss_kl(&g, &other, b->work, first, second);
    else if (v->f == SQUASH_LOG_PROB)
        status = tce_gauss_squash_log_prob(&g, b->actions, b->work, first);
    else
        status = tce_gauss_squash(&g, b->x, actions, first);
    ok(status);
    for (size_t k = 0; v->f == SQUASH && k < N * DIM; k++)
        sum += b->d_actions[k] * actions[k];
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

/* A batch of either form; in the diagonal one the scales are the first [n, DIM] numbers of L. */
static void fill_form(batch *b, uint64_t seed, int32_t form, size_t n_cov, size_t n_other_cov)
{
    fill(b, seed, n_cov, n_other_cov);
    b->form = form;
    if (form == TCE_GAUSS_FULL)
        return;
    for (size_t k = 0; k < N * DIM; k++) {
        b->L[k] = exp(0.3 * b->x[k]);
        b->other_L[k] = exp(0.3 * b->mean[k]);
    }
}

/* the numbers in a batch's scales, and in one of them */
static size_t scale_size(const batch *b)
{
    return b->form == TCE_GAUSS_FULL ? SIZE : DIM;
}

/* tests of gradients run with every form and way of sharing: bit 0 form, bits 1 and 2 sharing */
enum { VARIANTS = 8 };

static void fill_variant(batch *b, uint64_t seed, size_t variant)
{
    fill_form(b, seed, variant & 1 ? TCE_GAUSS_DIAGONAL : TCE_GAUSS_FULL, variant & 2 ? 1 : N,
              variant & 4 ? 1 : N);
}

START_TEST(log_prob_backward_matches_differences)
{
    for (size_t variant = 0; variant < VARIANTS / 2; variant++) {
        batch b;
        double d_x[N * DIM], d_mean[N * DIM], d_L[N * SIZE];
        fill_variant(&b, (uint64_t)_i, variant);
        tce_gauss g = first_of(&b);
        g.form = b.form;
        ok(tce_gauss_log_prob_backward(&g, b.x, b.d_a, b.work, d_x, d_mean, d_L));
        check_gradient(&b, LOG_PROB, b.x, N * DIM, d_x);
        check_gradient(&b, LOG_PROB, b.mean, N * DIM, d_mean);
        check_gradient(&b, LOG_PROB, b.L, b.n_cov * scale_size(&b), d_L);
        if (b.form == TCE_GAUSS_FULL)
            ck_assert_double_eq(d_L[1], 0.0);

        /* each output may be left out */
        double alone[N * SIZE];
        ok(tce_gauss_log_prob_backward(&g, b.x, b.d_a, b.work, NULL, NULL, alone));
        ck_assert_mem_eq(alone, d_L, b.n_cov * scale_size(&b) * sizeof *d_L);
        ok(tce_gauss_log_prob_backward(&g, b.x, b.d_a, b.work, alone, NULL, NULL));
        ck_assert_mem_eq(alone, d_x, sizeof d_x);
    }
}
END_TEST

START_TEST(entropy_backward_matches_differences)
{
    for (size_t variant = 0; variant < VARIANTS / 2; variant++) {
        batch b;
        double d_L[N * SIZE];
        fill_variant(&b, (uint64_t)_i, variant);
        tce_gauss g = first_of(&b);
        g.form = b.form;
        ok(tce_gauss_entropy_backward(&g, b.d_a, d_L));
        check_gradient(&b, ENTROPY, b.L, b.n_cov * scale_size(&b), d_L);
    }
}
END_TEST

START_TEST(kl_backward_matches_differences)
{
    for (size_t variant = 0; variant < VARIANTS; variant++) {
        batch b;
        double d_mean[N * DIM], d_L[N * SIZE], zeros[N * SIZE] = { 0 };
        fill_variant(&b, (uint64_t)_i, variant);
        tce_gauss g = first_of(&b), other = other_of(&b);
        g.form = other.form = b.form;
        ok(tce_gauss_kl_backward(&g, &other, b.d_a, b.d_b, b.work, d_mean, d_L));
        check_gradient(&b, KL, b.mean, N * DIM, d_mean);
        check_gradient(&b, KL, b.L, b.n_cov * scale_size(&b), d_L);

        /* NULL means zeros */
        ok(tce_gauss_kl_backward(&g, &other, NULL, NULL, b.work, d_mean, d_L));
        ck_assert_mem_eq(d_mean, zeros, sizeof d_mean);
        ck_assert_mem_eq(d_L, zeros, b.n_cov * scale_size(&b) * sizeof *d_L);
    }
}
END_TEST

START_TEST(squash_backward_matches_differences)
{
    for (size_t variant = 0; variant < VARIANTS / 2; variant++) {
        batch b;
        double d_mean[N * DIM], d_L[N * SIZE];
        fill_variant(&b, (uint64_t)_i, variant);
        tce_gauss g = first_of(&b);
        g.form = b.form;
        ok(tce_gauss_squash_backward(&g, b.x, b.d_actions, b.d_a, b.work, d_mean, d_L));
        check_gradient(&b, SQUASH, b.mean, N * DIM, d_mean);
        check_gradient(&b, SQUASH, b.L, b.n_cov * scale_size(&b), d_L);

        ok(tce_gauss_squash_log_prob_backward(&g, b.actions, b.d_a, b.work, d_mean, d_L));
        check_gradient(&b, SQUASH_LOG_PROB, b.mean, N * DIM, d_mean);
        check_gradient(&b, SQUASH_LOG_PROB, b.L, b.n_cov * scale_size(&b), d_L);
    }
}
END_TEST

/* ---- the diagonal form and squashing --------------------------------------------------------- */

START_TEST(deviations_are_a_diagonal_factor)
{
    for (size_t shared = 0; shared < 2; shared++) {
        batch b;
        double L[N * SIZE] = { 0 }, other_L[N * SIZE] = { 0 };
        fill_form(&b, (uint64_t)_i, TCE_GAUSS_DIAGONAL, shared ? 1 : N, N);
        for (size_t k = 0; k < N * DIM; k++) {
            L[k / DIM * SIZE + k % DIM * (DIM + 1)] = b.L[k];
            other_L[k / DIM * SIZE + k % DIM * (DIM + 1)] = b.other_L[k];
        }
        double got[2][2][N], samples[2][N * DIM], actions[2][N * DIM];
        for (int32_t form = TCE_GAUSS_FULL; form <= TCE_GAUSS_DIAGONAL; form++) {
            tce_gauss g = first_of(&b), other = other_of(&b);
            g.form = other.form = form;
            g.scale = form == TCE_GAUSS_FULL ? L : b.L;
            other.scale = form == TCE_GAUSS_FULL ? other_L : b.other_L;
            ok(tce_gauss_log_prob(&g, b.x, b.work, got[form][0]));
            ok(tce_gauss_kl(&g, &other, b.work, NULL, got[form][1]));
            ok(tce_gauss_sample(&g, b.x, samples[form]));
            ok(tce_gauss_squash(&g, b.x, actions[form], NULL));
        }
        for (size_t i = 0; i < N; i++)
            for (size_t k = 0; k < 2; k++)
                ck_assert_double_eq_tol(got[0][k][i], got[1][k][i],
                                        TOLERANCE * fmax(1.0, fabs(got[0][k][i])));
        for (size_t k = 0; k < N * DIM; k++) {
            ck_assert_double_eq_tol(samples[0][k], samples[1][k], TOLERANCE);
            ck_assert_double_eq_tol(actions[1][k], tanh(samples[1][k]), TOLERANCE);
        }
    }
}
END_TEST

START_TEST(the_density_of_a_squashed_sample_is_that_of_its_action)
{
    for (size_t variant = 0; variant < VARIANTS / 2; variant++) {
        batch b;
        double actions[N * DIM], from_normals[N], from_actions[N];
        fill_variant(&b, (uint64_t)_i, variant);
        tce_gauss g = first_of(&b);
        g.form = b.form;

        /* small enough that atanh gives u back */
        for (size_t k = 0; k < N * DIM; k++) {
            b.x[k] *= 0.3;
            b.mean[k] *= 0.3;
        }
        ok(tce_gauss_squash(&g, b.x, actions, from_normals));
        ok(tce_gauss_squash_log_prob(&g, actions, b.work, from_actions));
        for (size_t i = 0; i < N; i++)
            ck_assert_double_eq_tol(from_normals[i], from_actions[i],
                                    1e-6 * fmax(1.0, fabs(from_normals[i])));
    }
}
END_TEST

START_TEST(actions_at_the_ends_have_a_finite_density)
{
    batch b;
    double out[N], d_mean[N * DIM], d_std[N * DIM];
    fill_form(&b, 1, TCE_GAUSS_DIAGONAL, N, N);
    tce_gauss g = first_of(&b);
    g.form = b.form;
    for (size_t k = 0; k < N * DIM; k++)
        b.actions[k] = k % 2 ? 1.0 : -1.0;
    ok(tce_gauss_squash_log_prob(&g, b.actions, b.work, out));
    ok(tce_gauss_squash_log_prob_backward(&g, b.actions, b.d_a, b.work, d_mean, d_std));
    for (size_t i = 0; i < N; i++)
        ck_assert(isfinite(out[i]));
    for (size_t k = 0; k < N * DIM; k++)
        ck_assert(isfinite(d_mean[k]) && isfinite(d_std[k]));

    /* far out, where 1 - a^2 is 0 in double, log(1 - a^2 + 1e-6) is log 1e-6 */
    for (size_t k = 0; k < N * DIM; k++)
        b.mean[k] = 100.0;
    ok(tce_gauss_squash(&g, b.x, b.actions, out));
    for (size_t i = 0; i < N; i++) {
        double want = -DIM * log(1e-6) - 0.5 * DIM * log(2.0 * acos(-1.0));
        for (size_t k = 0; k < DIM; k++)
            want -= 0.5 * b.x[i * DIM + k] * b.x[i * DIM + k] + log(b.L[i * DIM + k]);
        ck_assert_double_eq(b.actions[i * DIM], 1.0);
        ck_assert_double_eq_tol(out[i], want, TOLERANCE * fabs(want));
    }
}
END_TEST

/* ---- errors ---------------------------------------------------------------------------------- */

START_TEST(a_scale_that_is_none_is_refused_by_entry)
{
    batch b;
    double out[N] = { SENTINEL, SENTINEL, SENTINEL, SENTINEL };
    double actions[N * DIM];
    fill(&b, 1, 1, 1);
    tce_gauss g = first_of(&b);
    tce_gauss other = other_of(&b);
    const double good = b.L[2 * DIM + 2];
    static const double BAD[] = { 0.0, -1.0, NAN, INFINITY };
    for (size_t k = 0; k < 4; k++) {
        b.L[2 * DIM + 2] = BAD[k];
        const tce_status want = k < 2 ? TCE_E_NOT_PD : TCE_E_VALUE;
        ck_assert_int_eq(tce_gauss_log_prob(&g, b.x, b.work, out), want);
        ck_assert_ptr_nonnull(strstr(tce_error_message(), "scale[2,2]"));
        ck_assert_int_eq(tce_gauss_entropy(&g, out), want);
        ck_assert_int_eq(tce_gauss_squash(&g, b.x, actions, out), want);
        ck_assert_int_eq(tce_gauss_kl(&other, &g, b.work, out, out), want);
        ck_assert_ptr_nonnull(strstr(tce_error_message(), "other.scale[2,2]"));
        ck_assert_double_eq(out[0], SENTINEL);
    }
    b.L[2 * DIM + 2] = good;

    g.reserved = 1;
    fails(tce_gauss_entropy(&g, out), TCE_E_VERSION, "tce_gauss.reserved = 1");
    g.reserved = 0;

    /* one of several is named with its number; what lies above the diagonal is not read */
    b.L[3 * SIZE] = 0.0;
    const tce_gauss several = describe(N, N, NULL, b.L);
    ck_assert_int_eq(tce_gauss_entropy(&several, out), TCE_E_NOT_PD);
    ck_assert_ptr_nonnull(strstr(tce_error_message(), "scale[3,0,0]"));
    b.L[1] = NAN;
    ok(tce_gauss_log_prob(&g, b.x, b.work, out));

    /* standard deviations */
    fill_form(&b, 1, TCE_GAUSS_DIAGONAL, 1, 1);
    g.form = TCE_GAUSS_DIAGONAL;
    for (size_t k = 0; k < 4; k++) {
        b.L[3] = BAD[k];
        ck_assert_int_eq(tce_gauss_log_prob(&g, b.x, b.work, out),
                         k < 2 ? TCE_E_NOT_PD : TCE_E_VALUE);
        ck_assert_ptr_nonnull(strstr(tce_error_message(), "scale[3] "));
    }
    g.n_scales = N;
    b.L[3] = 1.0;
    b.L[DIM + 2] = -1.0;
    ck_assert_int_eq(tce_gauss_entropy(&g, out), TCE_E_NOT_PD);
    ck_assert_ptr_nonnull(strstr(tce_error_message(), "scale[1,2]"));
}
END_TEST

START_TEST(shapes_and_numbers_are_checked_before_anything_is_written)
{
    batch b;
    double out[N] = { SENTINEL, SENTINEL, SENTINEL, SENTINEL };
    double d[N * SIZE] = { SENTINEL };
    fill(&b, 1, 1, 1);
    const tce_gauss good = first_of(&b);

    /* descriptions */
    tce_gauss g = good;
    g.n_scales = 2;
    ck_assert_int_eq(tce_gauss_log_prob(&g, b.x, b.work, out), TCE_E_SHAPE);
    ck_assert_ptr_nonnull(strstr(tce_error_message(), "n_scales = 2"));
    ck_assert_int_eq(tce_gauss_kl(&good, &g, b.work, out, out), TCE_E_SHAPE);
    ck_assert_ptr_nonnull(strstr(tce_error_message(), "other.n_scales = 2"));
    ck_assert_int_eq(tce_gauss_sample(&g, b.x, d), TCE_E_SHAPE);
    g = good;
    g.dim = 0;
    ck_assert_int_eq(tce_gauss_log_prob(&g, b.x, b.work, out), TCE_E_SHAPE);
    g = good;
    g.n = N - 1;
    ck_assert_int_eq(tce_gauss_kl(&good, &g, b.work, out, out), TCE_E_SHAPE);
    g = good;
    g.form = TCE_GAUSS_DIAGONAL;
    b.L[1] = b.L[2] = b.L[3] = b.L[4] = 1.0;
    ck_assert_int_eq(tce_gauss_kl(&good, &g, b.work, out, out), TCE_E_SHAPE);
    ck_assert_ptr_nonnull(strstr(tce_error_message(), "other.form = 1"));
    g.form = 2;
    ck_assert_int_eq(tce_gauss_log_prob(&g, b.x, b.work, out), TCE_E_ARGUMENT);
    g = good;
    g.struct_size = 0;
    ck_assert_int_eq(tce_gauss_log_prob(&g, b.x, b.work, out), TCE_E_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(tce_error_message(), "TCE_INIT(tce_gauss)"));
    ck_assert_int_eq(tce_gauss_log_prob(NULL, b.x, b.work, out), TCE_E_ARGUMENT);

    /* arrays */
    g = good;
    ck_assert_int_eq(tce_gauss_log_prob(&g, NULL, b.work, out), TCE_E_ARGUMENT);
    ck_assert_int_eq(tce_gauss_log_prob(&g, b.x, NULL, out), TCE_E_ARGUMENT);
    ck_assert_int_eq(tce_gauss_log_prob(&g, b.x, b.work, NULL), TCE_E_ARGUMENT);
    ck_assert_int_eq(tce_gauss_squash(&g, b.x, NULL, out), TCE_E_ARGUMENT);
    b.actions[7] = 1.5;
    ck_assert_int_eq(tce_gauss_squash_log_prob(&g, b.actions, b.work, out), TCE_E_VALUE);
    ck_assert_ptr_nonnull(strstr(tce_error_message(), "actions[7] = 1.5"));
    b.x[3] = NAN;
    ck_assert_int_eq(tce_gauss_log_prob(&g, b.x, b.work, out), TCE_E_VALUE);
    ck_assert_ptr_nonnull(strstr(tce_error_message(), "x[3]"));
    ck_assert_int_eq(tce_gauss_sample(&g, b.x, d), TCE_E_VALUE);
    ck_assert_ptr_nonnull(strstr(tce_error_message(), "normals[3]"));
    b.x[3] = 0.0;
    b.d_a[1] = INFINITY;
    ck_assert_int_eq(tce_gauss_log_prob_backward(&g, b.x, b.d_a, b.work, NULL, NULL, d),
                     TCE_E_VALUE);
    ck_assert_int_eq(tce_gauss_squash_backward(&g, b.x, NULL, b.d_a, b.work, NULL, d), TCE_E_VALUE);
    ck_assert_double_eq(d[0], SENTINEL);
    ck_assert_double_eq(out[0], SENTINEL);

    /* none at all */
    const tce_gauss none = describe(0, 1, NULL, b.L);
    ok(tce_gauss_log_prob(&none, NULL, b.work, out));
    ok(tce_gauss_log_prob_backward(&none, NULL, NULL, b.work, NULL, NULL, d));
    ck_assert_double_eq(d[0], 0.0);
}
END_TEST

/* ---- memory ---------------------------------------------------------------------------------- */

START_TEST(scratch_is_used_no_further_than_promised)
{
    batch b;
    double out[N], second[N], d_mean[N * DIM], d_L[N * SIZE];
    const size_t n_work = tce_gauss_work_size(N, DIM);
    for (size_t variant = 0; variant < VARIANTS; variant++) {
        fill_variant(&b, 1, variant);
        tce_gauss g = first_of(&b), other = other_of(&b);
        g.form = other.form = b.form;
        b.work[n_work] = SENTINEL;
        ok(tce_gauss_log_prob(&g, b.x, b.work, out));
        ok(tce_gauss_log_prob_backward(&g, b.x, b.d_a, b.work, NULL, d_mean, d_L));
        ok(tce_gauss_kl(&g, &other, b.work, out, second));
        ok(tce_gauss_kl_backward(&g, &other, b.d_a, b.d_b, b.work, d_mean, d_L));
        ok(tce_gauss_squash_backward(&g, b.x, b.d_actions, b.d_a, b.work, d_mean, d_L));
        ok(tce_gauss_squash_log_prob(&g, b.actions, b.work, out));
        ok(tce_gauss_squash_log_prob_backward(&g, b.actions, b.d_a, b.work, d_mean, d_L));
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
    tcase_add_test(property, a_sample_is_mean_plus_scale_times_the_normals);
    tcase_add_loop_test(property, deviations_are_a_diagonal_factor, 0, 100);
    tcase_add_loop_test(property, the_density_of_a_squashed_sample_is_that_of_its_action, 0, 100);
    tcase_add_test(property, actions_at_the_ends_have_a_finite_density);

    TCase *gradient = test_case(suite, "gradient", 0);
    tcase_add_loop_test(gradient, log_prob_backward_matches_differences, 0, 10);
    tcase_add_loop_test(gradient, entropy_backward_matches_differences, 0, 10);
    tcase_add_loop_test(gradient, kl_backward_matches_differences, 0, 10);
    tcase_add_loop_test(gradient, squash_backward_matches_differences, 0, 10);

    TCase *errors = test_case(suite, "errors", 0);
    tcase_add_test(errors, a_scale_that_is_none_is_refused_by_entry);
    tcase_add_test(errors, shapes_and_numbers_are_checked_before_anything_is_written);

    TCase *memory = test_case(suite, "memory", 0);
    tcase_add_test(memory, scratch_is_used_no_further_than_promised);

    return test_run(suite);
}
