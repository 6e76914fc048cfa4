/*
 * mp: Gaussians over parameters (covariance, sampling, via-points), fits and blends.
 */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <tce/tce.h>

#include "support.h"

/* two ways to the same sum of about 100 products */
#define SUM_TOLERANCE 1e-11

/* the dense formula inverts a matrix; the sequential one does not */
#define CONDITION_TOLERANCE 1e-8

enum { D = 3, B = 4, MAX_P = D * (B + 1), T = 40 };

static tce_mp_options options(int kind)
{
    tce_mp_options o;
    tce_mp_options_init(&o, sizeof o);
    o.kind = kind;
    o.n_dof = D;
    o.n_basis = B;
    o.tau = 1.2;
    o.dt = 0.02;
    o.alpha = 12.0;
    o.relative_goal = 1;
    return o;
}

/* times [T] from 0.05 on in steps of 0.03 */
static void fill_times(double *times)
{
    for (size_t t = 0; t < T; t++)
        times[t] = 0.05 + 0.03 * (double)t;
}

/* ---- covariance and sampling ----------------------------------------------------------------- */

START_TEST(the_covariance_is_the_basis_on_both_sides)
{
    const int32_t order = _i % 2;
    tce_mp_options o = options(_i / 2 % 2 ? TCE_MP_PROMP : TCE_MP_PRODMP);
    o.disable_goal = o.kind == TCE_MP_PRODMP && _i >= 4;
    tce_mp *mp = test_mp(&o);
    const size_t P = tce_mp_n_params(mp);
    const size_t C = tce_mp_n_columns(mp);
    const size_t n = D * T;
    tce_random r;
    tce_random_start(&r, 1, 1, (uint64_t)_i, 0);
    double L[MAX_P * MAX_P], times[T], H[T * (B + 1)], std[T * D], std_alone[T * D];
    double *cov = malloc(2 * n * n * sizeof *cov);
    double *want = cov + n * n;
    test_random_cholesky(&r, P, 1e3, 1.0, L);
    fill_times(times);
    ok(tce_mp_basis(mp, T, times, 0.01, order ? NULL : H, order ? H : NULL, NULL));
    ok(tce_mp_covariance(mp, T, times, 0.01, L, 1e-3, order, cov, std));
    ok(tce_mp_covariance(mp, T, times, 0.01, L, 1e-3, order, NULL, std_alone));

    /* entry by entry: sum over k of (h L_d)_k (h' L_d')_k */
    double largest = 0.0;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++) {
            double sum = 0.0;
            for (size_t k = 0; k < P; k++) {
                double a = 0.0, b = 0.0;
                for (size_t c = 0; c < C; c++) {
                    a += H[i % T * C + c] * L[(i / T * C + c) * P + k];
                    b += H[j % T * C + c] * L[(j / T * C + c) * P + k];
                }
                sum += a * b;
            }
            want[i * n + j] = sum;
        }
        largest = fmax(largest, want[i * n + i]);
    }
    for (size_t i = 0; i < n; i++)
        want[i * n + i] += 1e-3 * largest;
    test_assert_close(cov, want, n * n, SUM_TOLERANCE);
    for (size_t i = 0; i < n; i++)
        ck_assert_double_eq_tol(std[i % T * D + i / T], sqrt(want[i * n + i]),
                                1e-9 * sqrt(largest));
    test_assert_close(std_alone, std, n, SUM_TOLERANCE);
    free(cov);
    tce_mp_free(mp);
}
END_TEST

START_TEST(sampled_paths_have_the_mean_and_spread_of_the_gaussian)
{
    enum { DRAWS = 20000 };
    const tce_mp_options o = options(TCE_MP_PRODMP);
    tce_mp *mp = test_mp(&o);
    const size_t P = tce_mp_n_params(mp);
    tce_random r;
    tce_random_start(&r, 2, 1, 0, 0);
    const double time = 0.9, start[D] = { 0.1, 0.2, 0.3 };
    double L[MAX_P * MAX_P], mean[MAX_P], params[MAX_P], pos[D], want[D], std[D];
    double sum[D] = { 0 }, squares[D] = { 0 };
    test_random_cholesky(&r, P, 1e2, 1.0, L);
    tce_random_normals(&r, P, mean);
    tce_mp_grid grid = TCE_INIT(tce_mp_grid);
    grid.E = grid.T = 1;
    grid.times = &time;
    grid.init_pos = start;
    ok(tce_mp_trajectory(mp, &grid, mean, want, NULL, NULL));
    ok(tce_mp_covariance(mp, 1, &time, 0.0, L, 0.0, 0, NULL, std));
    tce_gauss gaussian = TCE_INIT(tce_gauss);
    gaussian.n = gaussian.n_scales = 1, gaussian.dim = P;
    gaussian.mean = mean, gaussian.scale = L;
    for (int k = 0; k < DRAWS; k++) {
        tce_random_normals(&r, P, params);
        ok(tce_gauss_sample(&gaussian, params, params));
        ok(tce_mp_trajectory(mp, &grid, params, pos, NULL, NULL));
        for (size_t d = 0; d < D; d++) {
            sum[d] += pos[d] - want[d];
            squares[d] += (pos[d] - want[d]) * (pos[d] - want[d]);
        }
    }

    /* five standard errors */
    for (size_t d = 0; d < D; d++) {
        ck_assert_double_lt(fabs(sum[d] / DRAWS), 5.0 * std[d] / sqrt(DRAWS));
        ck_assert_double_lt(fabs(squares[d] / DRAWS / (std[d] * std[d]) - 1.0),
                            5.0 * sqrt(2.0 / DRAWS));
    }
    tce_mp_free(mp);
}
END_TEST

/* ---- via-points ------------------------------------------------------------------------------ */

enum { N_VIA = 4 };

/* scratch of fits and conditioning, for any primitive here */
static double work[4096];

/* x <- A^-1 x for a small positive definite A [n, n], by elimination; A is destroyed */
static void solve(size_t n, double *A, size_t n_right, double *x)
{
    for (size_t k = 0; k < n; k++) {
        for (size_t i = 0; i < n; i++) {
            if (i == k)
                continue;
            const double f = A[i * n + k] / A[k * n + k];
            for (size_t j = 0; j < n; j++)
                A[i * n + j] -= f * A[k * n + j];
            for (size_t j = 0; j < n_right; j++)
                x[i * n_right + j] -= f * x[k * n_right + j];
        }
    }
    for (size_t k = 0; k < n; k++)
        for (size_t j = 0; j < n_right; j++)
            x[k * n_right + j] /= A[k * n + k];
}

START_TEST(conditioning_matches_the_dense_formula)
{
    tce_mp_options o = options(_i % 2 ? TCE_MP_PROMP : TCE_MP_PRODMP);
    o.basis = o.kind == TCE_MP_PRODMP && _i % 4 == 2;
    tce_mp *mp = test_mp(&o);
    const size_t P = tce_mp_n_params(mp);
    const size_t C = tce_mp_n_columns(mp);
    tce_random r;
    tce_random_start(&r, 3, 1, (uint64_t)_i, 0);
    double L[MAX_P * MAX_P], mean[MAX_P], start[D], speed[D], out_mean[MAX_P], out_L[MAX_P * MAX_P];
    test_random_cholesky(&r, P, 1e2, 1.0, L);
    tce_random_normals(&r, P, mean);
    tce_random_normals(&r, D, start);
    tce_random_normals(&r, D, speed);
    tce_mp_via via[N_VIA];
    for (size_t i = 0; i < N_VIA; i++) {
        via[i].time = 0.2 + tce_random_uniform(&r);
        via[i].value = test_normal(&r);
        via[i].tolerance = 0.05 + 0.1 * tce_random_uniform(&r);
        via[i].dof = (int32_t)tce_random_below(&r, D);
        via[i].order = (int32_t)(i % 2);
    }
    ok(tce_mp_condition(mp, N_VIA, via, 0.1, start, speed, mean, L, work, out_mean, out_L));

    /* G [N, P] and residuals; K = S G' (G S G' + R)^-1 */
    double G[N_VIA * MAX_P] = { 0 }, residual[N_VIA], S[MAX_P * MAX_P], GS[N_VIA * MAX_P],
                     A[N_VIA * N_VIA];
    for (size_t i = 0; i < N_VIA; i++) {
        const size_t d = (size_t)via[i].dof;
        const double times[2] = { via[i].time, via[i].time + o.dt };
        double h[2 * (B + 1)], at[2][D];
        ok(tce_mp_basis(mp, 2, times, 0.1, via[i].order ? NULL : h, via[i].order ? h : NULL, NULL));
        memcpy(G + i * P + d * C, h, C * sizeof *h);
        ok(tce_mp_query(mp, via[i].time, mean, 0.1, start, speed, at[0], at[1], NULL));
        residual[i] = via[i].value - at[via[i].order][d];
    }
    for (size_t i = 0; i < P; i++)
        for (size_t j = 0; j < P; j++) {
            S[i * P + j] = 0.0;
            for (size_t k = 0; k < P; k++)
                S[i * P + j] += L[i * P + k] * L[j * P + k];
        }
    for (size_t i = 0; i < N_VIA; i++)
        for (size_t j = 0; j < P; j++) {
            GS[i * P + j] = 0.0;
            for (size_t k = 0; k < P; k++)
                GS[i * P + j] += G[i * P + k] * S[k * P + j];
        }
    for (size_t i = 0; i < N_VIA; i++)
        for (size_t j = 0; j < N_VIA; j++) {
            A[i * N_VIA + j] = i == j ? via[i].tolerance * via[i].tolerance : 0.0;
            for (size_t k = 0; k < P; k++)
                A[i * N_VIA + j] += GS[i * P + k] * G[j * P + k];
        }
    double gain[N_VIA * MAX_P], want_mean[MAX_P], got_S[MAX_P * MAX_P], want_S[MAX_P * MAX_P];
    memcpy(gain, GS, sizeof gain);
    solve(N_VIA, A, P, gain);
    for (size_t i = 0; i < P; i++) {
        want_mean[i] = mean[i];
        for (size_t k = 0; k < N_VIA; k++)
            want_mean[i] += gain[k * P + i] * residual[k];
        for (size_t j = 0; j < P; j++) {
            want_S[i * P + j] = S[i * P + j];
            for (size_t k = 0; k < N_VIA; k++)
                want_S[i * P + j] -= gain[k * P + i] * GS[k * P + j];
            got_S[i * P + j] = 0.0;
            for (size_t k = 0; k < P; k++)
                got_S[i * P + j] += out_L[i * P + k] * out_L[j * P + k];
        }
    }
    test_assert_close(out_mean, want_mean, P, CONDITION_TOLERANCE);
    test_assert_close(got_S, want_S, P * P, CONDITION_TOLERANCE);

    /* the factor stays one, and the outputs may be the inputs */
    for (size_t i = 0; i < P; i++) {
        ck_assert_double_gt(out_L[i * P + i], 0.0);
        for (size_t j = i + 1; j < P; j++)
            ck_assert_double_eq(out_L[i * P + j], 0.0);
    }
    ok(tce_mp_condition(mp, N_VIA, via, 0.1, start, speed, mean, L, work, mean, L));
    ck_assert_mem_eq(mean, out_mean, P * sizeof *mean);
    ck_assert_mem_eq(L, out_L, P * P * sizeof *L);
    tce_mp_free(mp);
}
END_TEST

START_TEST(a_tight_via_point_is_passed)
{
    const tce_mp_options o = options(TCE_MP_PRODMP);
    tce_mp *mp = test_mp(&o);
    const size_t P = tce_mp_n_params(mp);
    tce_random r;
    tce_random_start(&r, 4, 1, 0, 0);
    double L[MAX_P * MAX_P], mean[MAX_P], pos[D], vel[D], std[D], before = INFINITY;
    for (double tolerance = 1e-2; tolerance > 1e-12; tolerance *= 1e-2) {
        const tce_mp_via via[2] = {
            { .time = 0.7, .value = 1.5, .tolerance = tolerance, .dof = 1, .order = 0 },
            { .time = 0.7, .value = -0.4, .tolerance = tolerance, .dof = 1, .order = 1 },
        };
        test_random_cholesky(&r, P, 10.0, 1.0, L);
        memset(mean, 0, sizeof mean);
        ok(tce_mp_condition(mp, 2, via, 0.0, NULL, NULL, mean, L, work, mean, L));
        ok(tce_mp_query(mp, 0.7, mean, 0.0, NULL, NULL, pos, vel, NULL));
        ck_assert_double_lt(fabs(pos[1] - 1.5), 1e3 * tolerance * tolerance + 1e-12);
        ck_assert_double_lt(fabs(vel[1] + 0.4), 1e3 * tolerance * tolerance + 1e-12);
        const double time = 0.7;
        ok(tce_mp_covariance(mp, 1, &time, 0.0, L, 0.0, 0, NULL, std));
        ck_assert_double_le(std[1], 1.001 * tolerance);
        ck_assert_double_gt(std[0], 1e-2 * tolerance);
        ck_assert_double_lt(std[1], before);
        before = std[1];
    }
    tce_mp_free(mp);
}
END_TEST

/* ---- fit ------------------------------------------------------------------------------------- */

START_TEST(a_fit_solves_the_normal_equations)
{
    /*
     * any demonstration: H' (path - demo) + reg w = 0, path and H from the calls that are checked
     * elsewhere
     */
    tce_mp_options o = options(_i % 2 ? TCE_MP_PROMP : TCE_MP_PRODMP);
    o.delay = _i % 4 == 2 ? 0.2 : 0.0;
    o.disable_goal = o.kind == TCE_MP_PRODMP && _i >= 4;
    o.disable_weights = !o.disable_goal && o.kind == TCE_MP_PRODMP && _i >= 2;
    tce_mp *mp = test_mp(&o);
    const size_t C = tce_mp_n_columns(mp);
    tce_random r;
    tce_random_start(&r, 5, 1, (uint64_t)_i, 0);
    const double reg = 1e-3;
    double params[MAX_P], times[T], demo[T * D], path[T * D], H[T * (B + 1)], speed[D];
    fill_times(times);
    tce_random_normals(&r, T * D, demo);
    for (size_t d = 0; d < D; d++)
        speed[d] = times[0] < o.delay ? 0.0 : (demo[D + d] - demo[d]) / (times[1] - times[0]);
    tce_mp_grid grid = TCE_INIT(tce_mp_grid);
    grid.E = 1;
    grid.T = T;
    grid.times = grid.init_time = times;
    grid.init_pos = demo;
    grid.init_vel = speed;
    ok(tce_mp_fit(mp, T, times, demo, reg, work, params));
    ok(tce_mp_trajectory(mp, &grid, params, path, NULL, NULL));
    ok(tce_mp_basis(mp, T, times, times[0], H, NULL, NULL));
    for (size_t d = 0; d < D; d++)
        for (size_t c = 0; c < C; c++) {
            double sum = reg * params[d * C + c];
            for (size_t t = 0; t < T; t++)
                sum += H[t * C + c] * (path[t * D + d] - demo[t * D + d]);
            ck_assert_double_eq_tol(sum, 0.0, 1e-10);
        }
    tce_mp_free(mp);
}
END_TEST

START_TEST(a_dmp_with_enough_functions_repeats_any_demonstration)
{
    enum { SAMPLES = 7 };
    tce_mp_options o = options(TCE_MP_DMP);
    o.n_basis = 10;
    o.goal_scale = 0.5;
    o.delay = _i ? 0.35 : 0.0;
    tce_mp *mp = test_mp(&o);
    tce_random r;
    tce_random_start(&r, 5, 2, (uint64_t)_i, 0);
    double params[D * 11], times[SAMPLES], demo[SAMPLES * D], path[SAMPLES * D], speed[D];
    for (size_t t = 0; t < SAMPLES; t++)
        times[t] = 0.1 + 0.18 * (double)t;
    tce_random_normals(&r, SAMPLES * D, demo);

    /* before the delay it rests: two samples, and so the differenced speed is 0 */
    for (size_t d = 0; _i && d < D; d++)
        demo[D + d] = demo[d];
    for (size_t d = 0; d < D; d++)
        speed[d] = (demo[D + d] - demo[d]) / (times[1] - times[0]);
    tce_mp_grid grid = TCE_INIT(tce_mp_grid);
    grid.E = 1;
    grid.T = SAMPLES;
    grid.times = grid.init_time = times;
    grid.init_pos = demo;
    grid.init_vel = speed;
    ok(tce_mp_fit(mp, SAMPLES, times, demo, 1e-12, work, params));
    ok(tce_mp_trajectory(mp, &grid, params, path, NULL, NULL));
    test_assert_close(path, demo, SAMPLES * D, 1e-5);
    for (size_t d = 0; d < D; d++)
        ck_assert_double_eq_tol(o.goal_scale * params[d * 11 + 10], demo[(SAMPLES - 1) * D + d],
                                1e-14);
    tce_mp_free(mp);
}
END_TEST

START_TEST(a_demonstration_that_rests_before_the_delay_is_fitted_exactly)
{
    /* at rest until the delay there is no differenced velocity to go wrong */
    tce_mp_options o = options(TCE_MP_PRODMP);
    o.delay = 0.2;
    o.auto_scale_basis = 0;
    o.weights_scale = 100.0;
    tce_mp *mp = test_mp(&o);
    const size_t P = tce_mp_n_params(mp);
    tce_random r;
    tce_random_start(&r, 6, 1, 0, 0);
    double params[MAX_P], got[MAX_P], times[T], start[D], path[T * D];
    tce_random_normals(&r, P, params);
    tce_random_normals(&r, D, start);
    fill_times(times);
    tce_mp_grid grid = TCE_INIT(tce_mp_grid);
    grid.E = 1;
    grid.T = T;
    grid.times = grid.init_time = times;
    grid.init_pos = start;
    ok(tce_mp_trajectory(mp, &grid, params, path, NULL, NULL));
    ok(tce_mp_fit(mp, T, times, path, 0.0, work, got));
    test_assert_close(got, params, P, 1e-8);
    tce_mp_free(mp);
}
END_TEST

/* ---- blend ----------------------------------------------------------------------------------- */

typedef struct scene {
    tce_mp *a, *b;
    tce_mp_plan plan_a, plan_b;
    double params_a[MAX_P], params_b[MAX_P], start_a[D], start_b[D], speed[D];
} scene;

static void make_scene(scene *s, int kind_a, int kind_b)
{
    tce_mp_options o = options(kind_a);
    o.basis = kind_a == TCE_MP_PRODMP;
    s->a = test_mp(&o);
    o = options(kind_b);
    o.basis = kind_b == TCE_MP_PRODMP;
    s->b = test_mp(&o);
    tce_random r;
    tce_random_start(&r, 7, 1, (uint64_t)kind_a, (uint64_t)kind_b);
    tce_random_normals(&r, MAX_P, s->params_a);
    tce_random_normals(&r, MAX_P, s->params_b);
    tce_random_normals(&r, D, s->start_a);
    tce_random_normals(&r, D, s->start_b);
    tce_random_normals(&r, D, s->speed);
    s->plan_a = TCE_INIT(tce_mp_plan);
    s->plan_a.mp = s->a;
    s->plan_a.params = s->params_a;
    s->plan_a.init_pos = s->start_a;
    s->plan_a.init_vel = s->speed;
    s->plan_b = TCE_INIT(tce_mp_plan);
    s->plan_b.mp = s->b;
    s->plan_b.params = s->params_b;
    s->plan_b.init_pos = s->start_b;
    s->plan_b.init_time = 0.3;
}

START_TEST(outside_its_interval_a_blend_is_one_primitive)
{
    scene s;
    make_scene(&s, _i / 3, _i % 3);
    const double times[4] = { 0.1, 0.5, 0.8, 1.0 };
    double pos[4 * D], vel[4 * D], acc[4 * D], want[3][D];
    ok(tce_mp_blend(&s.plan_a, &s.plan_b, 0.5, 0.8, 4, times, pos, vel, acc));
    for (size_t t = 0; t < 4; t++) {
        const tce_mp_plan *p = t < 2 ? &s.plan_a : &s.plan_b;
        ok(tce_mp_query(p->mp, times[t], p->params, p->init_time, p->init_pos, p->init_vel, want[0],
                        want[1], want[2]));
        test_assert_close(pos + t * D, want[0], D, 1e-15);
        test_assert_close(vel + t * D, want[1], D, 1e-15);
        test_assert_close(acc + t * D, want[2], D, 1e-15);
    }
    tce_mp_free(s.a);
    tce_mp_free(s.b);
}
END_TEST

START_TEST(a_blend_is_continuous_and_its_derivatives_are_its_own)
{
    scene s;
    make_scene(&s, TCE_MP_PRODMP, TCE_MP_PRODMP);
    double pos[5 * D], vel[5 * D], acc[5 * D];

    /* across both ends position, velocity and acceleration move as little as the time does */
    const double step = 1e-9;
    const double ends[2] = { 0.5, 0.8 };
    for (size_t i = 0; i < 2; i++) {
        const double times[2] = { ends[i] - step, ends[i] + step };
        ok(tce_mp_blend(&s.plan_a, &s.plan_b, 0.5, 0.8, 2, times, pos, vel, acc));
        ck_assert_double_lt(test_difference(D, pos, pos + D), 1e-6);
        ck_assert_double_lt(test_difference(D, vel, vel + D), 1e-6);
        ck_assert_double_lt(test_difference(D, acc, acc + D), 1e-4);
    }

    /* inside: differences of fourth order */
    const double h = 2e-4;
    for (double time = 0.51; time < 0.8; time += 0.02) {
        const double times[5] = { time - 2.0 * h, time - h, time, time + h, time + 2.0 * h };
        ok(tce_mp_blend(&s.plan_a, &s.plan_b, 0.5, 0.8, 5, times, pos, vel, acc));
        double d_pos[D], d_vel[D];
        for (size_t d = 0; d < D; d++) {
            d_pos[d] = (8.0 * (pos[3 * D + d] - pos[D + d]) - (pos[4 * D + d] - pos[d])) /
                       (12.0 * h);
            d_vel[d] = (8.0 * (vel[3 * D + d] - vel[D + d]) - (vel[4 * D + d] - vel[d])) /
                       (12.0 * h);
        }
        test_assert_close(vel + 2 * D, d_pos, D, 1e-8);
        test_assert_close(acc + 2 * D, d_vel, D, 1e-8);
    }
    tce_mp_free(s.a);
    tce_mp_free(s.b);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("mp gauss");
    TCase *property = test_case(suite, "property", 60);
    tcase_add_loop_test(property, the_covariance_is_the_basis_on_both_sides, 0, 6);
    tcase_add_test(property, sampled_paths_have_the_mean_and_spread_of_the_gaussian);
    tcase_add_loop_test(property, conditioning_matches_the_dense_formula, 0, 100);
    tcase_add_test(property, a_tight_via_point_is_passed);
    tcase_add_loop_test(property, a_fit_solves_the_normal_equations, 0, 8);
    tcase_add_loop_test(property, a_dmp_with_enough_functions_repeats_any_demonstration, 0, 2);
    tcase_add_test(property, a_demonstration_that_rests_before_the_delay_is_fitted_exactly);
    tcase_add_loop_test(property, outside_its_interval_a_blend_is_one_primitive, 0, 9);
    tcase_add_test(property, a_blend_is_continuous_and_its_derivatives_are_its_own);

    return test_run(suite);
}
