/*
 * mp: where a DMP starts, and the gradient of paths against central differences.
 */
#include <check.h>
#include <math.h>

#include <tce/tce.h>

#include "support.h"

/*
 * central differences in double: eps^(2/3) times a scale of about 100 from the chain through 1/tau
 * and alpha
 */
#define GRADIENT_TOLERANCE 1e-7

/* ---- golden ---------------------------------------------------------------------------------- */

/*
 * Positions from mp_pytorch 0.1.4, eight digits: at the start's own time a DMP is still there, not
 * a step on.
 */
START_TEST(a_dmp_is_integrated_from_the_start_time)
{
    const double want[2][4] = { { 0.30720786, 0.31703531, 0.3289737, 0.34258421 },
                                { 0.3, 0.30720429, 0.31702498, 0.32895372 } };
    const double times[4] = { 0.01, 0.02, 0.03, 0.04 };
    const double init_times[2] = { 0.0, 0.01 };
    const double params[5] = { 1.0, -2.0, 3.0, 0.5, 1.2 };
    const double start = 0.3, speed = 0.4;
    tce_mp_options o;
    tce_mp_options_init(&o, sizeof o);
    o.kind = TCE_MP_DMP;
    o.n_basis = 4;
    o.tau = 1.5;
    o.alpha_phase = 2.0;
    o.basis_bandwidth_factor = 2.0;
    o.weights_scale = 3.0;
    o.goal_scale = 0.7;
    tce_mp *mp = NULL;
    ok(tce_mp_create(&o, NULL, &mp));
    for (size_t k = 0; k < 2; k++) {
        double pos[4], vel[4], acc[4], at[3];
        tce_mp_grid grid = TCE_INIT(tce_mp_grid);
        grid.E = 1;
        grid.T = 4;
        grid.times = times;
        grid.init_time = &init_times[k];
        grid.init_pos = &start;
        grid.init_vel = &speed;
        ok(tce_mp_trajectory(mp, &grid, params, pos, vel, acc));
        test_assert_close(pos, want[k], 4, 5e-9);

        /* the times are a dt apart, except for their last bits: a query's steps are the same */
        for (size_t t = 0; t < 4; t++) {
            ok(tce_mp_query(mp, times[t], params, init_times[k], &start, &speed, at, at + 1,
                            at + 2));
            ck_assert_double_eq_tol(at[0], pos[t], 1e-14);
            ck_assert_double_eq_tol(at[1], vel[t], 1e-13);
            ck_assert_double_eq_tol(at[2], acc[t], 1e-11);
        }
    }
    tce_mp_free(mp);
}
END_TEST

/* ---- gradient -------------------------------------------------------------------------------- */

enum { E = 2, T = 7, D = 2, MAX_P = 32 };

typedef struct problem {
    tce_mp *mp;
    tce_mp_grid grid;
    double times[T], init_time[E], init_pos[E * D], init_vel[E * D], params[E * MAX_P];
    double d_pos[E * T * D], d_vel[E * T * D];
} problem;

/* l = sum d_pos pos + d_vel vel */
static double loss(void *context, const double *params)
{
    problem *const p = context;
    double pos[E * T * D], vel[E * T * D], sum = 0.0;
    ok(tce_mp_trajectory(p->mp, &p->grid, params, pos, vel, NULL));
    for (size_t i = 0; i < E * T * D; i++)
        sum += p->d_pos[i] * pos[i] + p->d_vel[i] * vel[i];
    return sum;
}

/*
 * A primitive with the options that the bits of `variant` name, and random inputs that stay clear
 * of the path's kinks.
 */
static void make_problem(problem *p, int kind, unsigned variant)
{
    tce_random r;
    tce_random_start(&r, 5, (uint64_t)kind, variant, 0);
    tce_mp_options o;
    tce_mp_options_init(&o, sizeof o);
    o.kind = kind;
    o.n_dof = D;
    o.n_basis = 4;
    o.tau = 1.2;
    o.delay = 0.1;
    o.dt = 0.02;
    o.alpha = 12.0;
    o.weights_scale = 0.5;
    o.goal_scale = 0.7;
    o.learn_tau = (variant & 1) != 0;
    o.learn_delay = (variant & 2) != 0;
    if (kind == TCE_MP_PRODMP) {
        o.relative_goal = (variant & 4) != 0;
        o.basis = (variant & 8) != 0;
        o.disable_goal = (variant & 16) != 0;
        o.disable_weights = (variant & 16) == 0 && (variant & 32) != 0;
    } else {
        o.phase = (int)(variant >> 2) % 3;
    }
    p->mp = NULL;
    ok(tce_mp_create(&o, NULL, &p->mp));

    const size_t P = tce_mp_n_params(p->mp);
    for (size_t e = 0; e < E; e++) {
        double *const w = p->params + e * P;
        const size_t lead = (o.learn_tau ? 1 : 0) + (o.learn_delay ? 1 : 0);
        tce_random_normals(&r, P, w);
        if (o.learn_tau)
            w[0] = 1.0 + 0.4 * tce_random_uniform(&r);
        if (o.learn_delay)
            w[lead - 1] = 0.05 + 0.05 * tce_random_uniform(&r);
        p->init_time[e] = variant & 64 ? 0.0 : 0.3;
        for (size_t d = 0; d < D; d++) {
            p->init_pos[e * D + d] = test_normal(&r);
            p->init_vel[e * D + d] = p->init_time[e] > 0.0 ? test_normal(&r) : 0.0;
        }
    }
    for (size_t t = 0; t < T; t++)
        p->times[t] = 0.02 + 0.25 * (double)t + 0.05 * tce_random_uniform(&r);
    tce_random_normals(&r, E * T * D, p->d_pos);
    tce_random_normals(&r, E * T * D, p->d_vel);
    p->grid = TCE_INIT(tce_mp_grid);
    p->grid.E = E;
    p->grid.T = T;
    p->grid.n_init_times = E;
    p->grid.times = p->times;
    p->grid.init_time = p->init_time;
    p->grid.init_pos = p->init_pos;
    p->grid.init_vel = p->init_vel;
}

static void check_gradient(int kind, unsigned variant)
{
    problem p;
    make_problem(&p, kind, variant);
    const size_t n = E * tce_mp_n_params(p.mp);
    double got[E * MAX_P], want[E * MAX_P];
    ok(tce_mp_trajectory_backward(p.mp, &p.grid, p.params, p.d_pos, p.d_vel, got));
    test_finite_difference(loss, &p, n, p.params, want);
    test_assert_close_gradient(got, want, n, GRADIENT_TOLERANCE);

    /* each half alone, and both together by linearity */
    double half[E * MAX_P], other[E * MAX_P];
    ok(tce_mp_trajectory_backward(p.mp, &p.grid, p.params, p.d_pos, NULL, half));
    ok(tce_mp_trajectory_backward(p.mp, &p.grid, p.params, NULL, p.d_vel, other));
    for (size_t i = 0; i < n; i++)
        half[i] += other[i];
    test_assert_close_gradient(half, got, n, 1e-12);
    tce_mp_free(p.mp);
}

START_TEST(a_prodmps_gradient_matches_differences)
{
    check_gradient(TCE_MP_PRODMP, (unsigned)_i);
}
END_TEST

START_TEST(a_promps_gradient_matches_differences)
{
    check_gradient(TCE_MP_PROMP, (unsigned)_i);
}
END_TEST

START_TEST(a_dmps_gradient_matches_differences)
{
    check_gradient(TCE_MP_DMP, (unsigned)_i);
}
END_TEST

START_TEST(a_shared_start_gives_the_gradient_of_separate_ones)
{
    problem p;
    make_problem(&p, TCE_MP_PRODMP, 0);
    const size_t P = tce_mp_n_params(p.mp);
    double got[E * MAX_P], want[MAX_P];
    ok(tce_mp_trajectory_backward(p.mp, &p.grid, p.params, p.d_pos, p.d_vel, got));
    for (size_t e = 0; e < E; e++) {
        tce_mp_grid one = p.grid;
        one.E = one.n_init_times = 1;
        one.init_time += e;
        one.init_pos += e * D;
        one.init_vel += e * D;
        const size_t at = e * T * D;
        ok(tce_mp_trajectory_backward(p.mp, &one, p.params + e * P, p.d_pos + at, p.d_vel + at,
                                      want));
        test_assert_close_gradient(got + e * P, want, P, 1e-14);
    }
    tce_mp_free(p.mp);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("mp");
    TCase *golden = test_case(suite, "golden", 0);
    tcase_add_test(golden, a_dmp_is_integrated_from_the_start_time);

    TCase *gradient = test_case(suite, "gradient", 0);
    tcase_add_loop_test(gradient, a_prodmps_gradient_matches_differences, 0, 128);
    tcase_add_loop_test(gradient, a_promps_gradient_matches_differences, 0, 12);
    tcase_add_loop_test(gradient, a_dmps_gradient_matches_differences, 0, 12);
    tcase_add_test(gradient, a_shared_start_gives_the_gradient_of_separate_ones);

    return test_run(suite);
}
