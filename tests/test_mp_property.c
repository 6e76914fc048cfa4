/*
 * mp: what must hold for every path, whatever its parameters: starts, replanning, derivatives,
 * sharing, phases.
 */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <tce/tce.h>

#include "support.h"

/* the bound that replanning must keep */
#define JUMP_TOLERANCE 1e-9

/* composite Simpson with 40,000 intervals: its own error is below 1e-13 for these bases */
#define QUADRATURE_TOLERANCE 1e-12

/*
 * differences of fourth order: 1e-15 times a fifth derivative of up to 1e6, and 1e-12 from rounding
 */
#define DIFFERENCE_STEP 2e-4
#define DIFFERENCE_TOLERANCE 1e-8

enum { D = 3, MAX_B = 9, MAX_P = D * (MAX_B + 1) };

static double between(tce_random *r, double low, double high)
{
    return low + (high - low) * tce_random_uniform(r);
}

/* Random options of a ProDMP with up to MAX_B basis functions. */
static tce_mp_options random_prodmp(tce_random *r, int basis)
{
    tce_mp_options o;
    tce_mp_options_init(&o, sizeof o);
    o.basis = basis;
    o.n_dof = D;
    o.n_basis = 1 + (int)tce_random_below(r, MAX_B);
    o.n_basis_outside = o.n_basis > 4 ? (int)tce_random_below(r, 2) : 0;
    o.relative_goal = (int)tce_random_below(r, 2);
    o.auto_scale_basis = (int)tce_random_below(r, 2);
    o.disable_goal = tce_random_below(r, 4) == 0;
    o.disable_weights = !o.disable_goal && tce_random_below(r, 4) == 0;
    o.tau = between(r, 0.5, 3.0);
    o.delay = between(r, 0.0, 0.3);
    o.dt = between(r, 0.005, 0.03);
    o.alpha = between(r, 5.0, 30.0);
    o.alpha_phase = between(r, 1.0, 4.0);
    o.basis_bandwidth_factor = between(r, 1.0, 5.0);
    o.weights_scale = between(r, 0.1, 1.0);
    o.goal_scale = between(r, 0.1, 1.0);
    return o;
}

/* ---- starts and replanning ------------------------------------------------------------------- */

/*
 * 100 handles, 100 plans each: the old plan's state at a random time starts the new plan, which
 * must be there at that time.
 */
static void check_replanning(int basis, uint64_t seed)
{
    tce_random r;
    tce_random_start(&r, seed, 1, (uint64_t)basis, 0);
    const tce_mp_options o = random_prodmp(&r, basis);
    tce_mp *mp = test_mp(&o);
    const size_t P = tce_mp_n_params(mp);
    double params[MAX_P], pos[D], vel[D], new_pos[D], new_vel[D];
    tce_random_normals(&r, D, pos);
    memset(vel, 0, sizeof vel);
    double start = 0.0;
    for (int plan = 0; plan < 100; plan++) {
        tce_random_normals(&r, P, params);
        const double next = between(&r, o.delay, o.delay + 1.2 * o.tau);
        double old_pos[D], old_vel[D];
        ok(tce_mp_query(mp, next, params, start, pos, vel, old_pos, old_vel, NULL));
        tce_random_normals(&r, P, params);
        ok(tce_mp_query(mp, next, params, next, old_pos, old_vel, new_pos, new_vel, NULL));
        ck_assert_double_lt(test_difference(D, new_pos, old_pos),
                            JUMP_TOLERANCE * test_scale(D, old_pos));
        ck_assert_double_lt(test_difference(D, new_vel, old_vel),
                            JUMP_TOLERANCE * test_scale(D, old_vel));

        /* a fresh start now and then: from anywhere, at any time, with any velocity */
        start = between(&r, o.delay, o.delay + o.tau);
        tce_random_normals(&r, D, pos);
        tce_random_normals(&r, D, vel);
    }
    tce_mp_free(mp);
}

START_TEST(a_replanned_tabulated_path_does_not_jump)
{
    check_replanning(TCE_MP_BASIS_TABLE, (uint64_t)_i);
}
END_TEST

START_TEST(a_replanned_exact_path_does_not_jump)
{
    check_replanning(TCE_MP_BASIS_EXACT, (uint64_t)_i);
}
END_TEST

START_TEST(a_path_rests_until_the_delay)
{
    for (int basis = 0; basis < 2; basis++) {
        tce_random r;
        tce_random_start(&r, (uint64_t)_i, 2, (uint64_t)basis, 0);
        tce_mp_options o = random_prodmp(&r, basis);
        o.delay = 0.4;
        tce_mp *mp = test_mp(&o);
        double params[MAX_P], start[D], pos[D], vel[D], acc[D];
        tce_random_normals(&r, tce_mp_n_params(mp), params);
        tce_random_normals(&r, D, start);
        ok(tce_mp_query(mp, between(&r, 0.0, 0.39), params, 0.1, start, NULL, pos, vel, acc));
        for (size_t d = 0; d < D; d++) {
            ck_assert_double_eq(pos[d], start[d]);
            ck_assert_double_eq(vel[d], 0.0);
            ck_assert_double_eq(acc[d], 0.0);
        }
        tce_mp_free(mp);
    }
}
END_TEST

/* ---- exact basis ----------------------------------------------------------------------------- */

START_TEST(exact_velocity_and_acceleration_are_derivatives)
{
    tce_random r;
    tce_random_start(&r, (uint64_t)_i, 3, 0, 0);
    const tce_mp_options o = random_prodmp(&r, TCE_MP_BASIS_EXACT);
    tce_mp *mp = test_mp(&o);
    double params[MAX_P], start[D], speed[D];
    tce_random_normals(&r, tce_mp_n_params(mp), params);
    tce_random_normals(&r, D, start);
    tce_random_normals(&r, D, speed);
    const double init_time = o.delay + between(&r, 0.0, 0.5 * o.tau);

    for (int k = 0; k < 20; k++) {
        const double h = DIFFERENCE_STEP * o.tau;
        const double t = o.delay + between(&r, 3.0 * h, 3.0 * o.tau);
        double pos[5][D], vel[5][D], acc[5][D], d_pos[D], d_vel[D];
        for (int i = 0; i < 5; i++) {
            const double at = t + (i - 2) * h;
            ok(tce_mp_query(mp, at, params, init_time, start, speed, pos[i], vel[i], acc[i]));
        }
        for (size_t d = 0; d < D; d++) {
            d_pos[d] = (8.0 * (pos[3][d] - pos[1][d]) - (pos[4][d] - pos[0][d])) / (12.0 * h);
            d_vel[d] = (8.0 * (vel[3][d] - vel[1][d]) - (vel[4][d] - vel[0][d])) / (12.0 * h);
        }
        test_assert_close(vel[2], d_pos, D, DIFFERENCE_TOLERANCE);
        test_assert_close(acc[2], d_vel, D, DIFFERENCE_TOLERANCE);
    }
    tce_mp_free(mp);
}
END_TEST

/*
 * x phi_i(x) at scaled time s, written again from the definition, for a natural phase without delay
 */
static double forcing(const tce_mp_options *o, int i, double s)
{
    const double x = exp(-o->alpha_phase * s);
    const double d = 1.0 / (o->n_basis - 2 * o->n_basis_outside - 1);
    double sum = 0.0, mine = 0.0;
    for (int j = 0; j < o->n_basis; j++) {
        const double c = exp(-o->alpha_phase * d * (j - o->n_basis_outside));
        const double c_next = exp(-o->alpha_phase * d * (j + 1 - o->n_basis_outside));
        const double phi = exp(-0.5 * o->basis_bandwidth_factor * (x - c) * (x - c) /
                               ((c_next - c) * (c_next - c)));
        sum += phi;
        mine += j == i ? phi : 0.0;
    }
    return x * mine / sum;
}

START_TEST(the_exact_basis_is_the_integral_it_stands_for)
{
    tce_mp_options o;
    tce_mp_options_init(&o, sizeof o);
    o.basis = TCE_MP_BASIS_EXACT;
    o.n_basis = 3 + _i;
    o.alpha = 8.0 + 3.0 * _i;
    o.basis_bandwidth_factor = 2.0 + _i;
    o.n_basis_outside = _i > 1;
    o.auto_scale_basis = 0;
    tce_mp *mp = test_mp(&o);
    const double times[3] = { 0.13, 0.98, 4.7 };
    double H[3 * 16];
    ok(tce_mp_basis(mp, 3, times, 0.0, H, NULL, NULL));

    /* from u_b = 0, H = Psi = int_0^u (u - s) e^{-alpha (u-s)/2} x phi ds; Simpson */
    const int n = 40000;
    for (size_t t = 0; t < 3; t++) {
        const double u = times[t];
        for (int i = 0; i < o.n_basis; i++) {
            double sum = 0.0;
            for (int k = 0; k < n; k++) {
                const double s = u * k / n;
                sum += (k == 0  ? 1
                        : k % 2 ? 4
                                : 2) *
                       (u - s) * exp(-0.5 * o.alpha * (u - s)) * forcing(&o, i, s);
            }
            ck_assert_double_eq_tol(H[t * (size_t)(o.n_basis + 1) + (size_t)i], sum * u / n / 3.0,
                                    QUADRATURE_TOLERANCE);
        }
        const double v = 0.5 * o.alpha * u;
        ck_assert_double_eq_tol(H[t * (size_t)(o.n_basis + 1) + (size_t)o.n_basis],
                                1.0 - (1.0 + v) * exp(-v), 1e-15);
    }
    tce_mp_free(mp);
}
END_TEST

START_TEST(an_exact_path_ends_at_its_goal_however_late)
{
    tce_mp_options o;
    tce_mp_options_init(&o, sizeof o);
    o.basis = TCE_MP_BASIS_EXACT;
    o.auto_scale_basis = 0;
    tce_mp *mp = test_mp(&o);
    const double params[6] = { 30.0, -20.0, 10.0, 5.0, -40.0, 1.7 };
    const double start = 3.0, speed = -2.0;
    for (double time = 20.0; time < 1e100; time *= 1e7) {
        double pos, vel, acc;
        ok(tce_mp_query(mp, time, params, 0.25, &start, &speed, &pos, &vel, &acc));
        ck_assert_double_eq_tol(pos, 1.7, 1e-12);
        ck_assert_double_eq_tol(vel, 0.0, 1e-12);
        ck_assert_double_eq_tol(acc, 0.0, 1e-12);

        /* and starts again from there */
        ok(tce_mp_query(mp, time, params, time, &start, &speed, &pos, &vel, NULL));
        ck_assert_double_eq(pos, start);
        ck_assert_double_eq(vel, speed);
    }
    tce_mp_free(mp);
}
END_TEST

START_TEST(a_finer_table_comes_closer_to_the_exact_path)
{
    double before = INFINITY;
    for (int k = 0; k < 3; k++) {
        tce_mp_options o;
        tce_mp_options_init(&o, sizeof o);
        o.auto_scale_basis = 0;
        o.dt = 0.02 / pow(4.0, k);
        tce_mp *table = test_mp(&o);
        o.basis = TCE_MP_BASIS_EXACT;
        tce_mp *exact = test_mp(&o);
        double worst = 0.0;
        for (double time = 0.05; time < 2.0; time += 0.05) {
            double a[6], b[6];
            ok(tce_mp_basis(table, 1, &time, 0.0, a, NULL, NULL));
            ok(tce_mp_basis(exact, 1, &time, 0.0, b, NULL, NULL));
            worst = fmax(worst, test_difference(6, a, b));
        }
        /* trapezoid and linear interpolation: a quarter of the step, a sixteenth of the error */
        ck_assert_double_lt(worst, before / 10.0);
        before = worst;
        tce_mp_free(table);
        tce_mp_free(exact);
    }
}
END_TEST

START_TEST(many_narrow_functions_stay_exact)
{
    tce_mp_options o;
    tce_mp_options_init(&o, sizeof o);
    o.basis = TCE_MP_BASIS_EXACT;
    o.n_basis = 96;
    o.basis_bandwidth_factor = 20.0;
    tce_mp *mp = test_mp(&o);

    /*
     * normalised functions sum to 1: equal weights over the scales give the path of the forcing x
     * alone
     */
    tce_mp_options one = o;
    one.auto_scale_basis = 0;
    tce_mp *plain = test_mp(&one);
    double H[97];
    for (double u = 0.1; u < 4.0; u += 0.3) {
        ok(tce_mp_basis(plain, 1, &u, 0.0, H, NULL, NULL));
        double sum = 0.0;
        for (int i = 0; i < 96; i++)
            sum += H[i];
        /* int_0^u (u-s) e^{-a(u-s)} e^{-ps} ds with a = alpha/2, b = a - p */
        const double a = 0.5 * o.alpha, b = a - o.alpha_phase;
        const double want = exp(-o.alpha_phase * u) * (1.0 - (1.0 + b * u) * exp(-b * u)) / (b * b);
        ck_assert_double_eq_tol(sum, want, 1e-14);
    }
    tce_mp_free(mp);
    tce_mp_free(plain);
}
END_TEST

/* ---- one path, many paths -------------------------------------------------------------------- */

enum { E = 5, T = 300 };

START_TEST(a_batch_gives_each_path_the_bytes_it_has_alone)
{
    for (int kind = 0; kind < 3; kind++) {
        tce_random r;
        tce_random_start(&r, (uint64_t)_i, 4, (uint64_t)kind, 0);
        tce_mp_options o = random_prodmp(&r, TCE_MP_BASIS_TABLE);
        o.kind = kind;
        o.n_dof = 1 + 4 * _i;
        o.disable_goal = o.disable_weights = 0;
        o.delay = 0.0;
        tce_mp *mp = test_mp(&o);
        const size_t P = tce_mp_n_params(mp);
        const size_t dof = tce_mp_n_dof(mp);
        const size_t n = T * dof;
        double *params = malloc(E * P * sizeof *params);
        double *start = malloc(2 * E * dof * sizeof *start);
        double *out = malloc(3 * E * n * sizeof *out);
        double *one = malloc(3 * n * sizeof *one);
        double times[E * T], init_time[E];
        tce_random_normals(&r, E * P, params);
        tce_random_normals(&r, 2 * E * dof, start);
        for (size_t i = 0; i < E * T; i++)
            times[i] = 0.3 + 0.002 * (double)(i % T);

        /*
         * three ways to say the same: rows once, rows per episode, and start times of which one
         * differs
         */
        for (int way = 0; way < 3; way++) {
            tce_mp_grid grid = TCE_INIT(tce_mp_grid);
            for (size_t e = 0; e < E; e++)
                init_time[e] = 0.2 + (way == 2 && e == 3 ? 0.05 : 0.0);
            grid.E = E;
            grid.T = T;
            grid.n_time_rows = way == 0 ? 1 : E;
            grid.n_init_times = way == 0 ? 1 : E;
            grid.times = times;
            grid.init_time = init_time;
            grid.init_pos = start;
            grid.init_vel = start + E * dof;
            ok(tce_mp_trajectory(mp, &grid, params, out, out + E * n, out + 2 * E * n));
            for (size_t e = 0; e < E; e++) {
                tce_mp_grid alone = grid;
                alone.E = alone.n_time_rows = alone.n_init_times = 1;
                alone.init_time += e;
                alone.init_pos += e * dof;
                alone.init_vel += e * dof;
                if (way == 0)
                    alone.init_time = init_time;
                ok(tce_mp_trajectory(mp, &alone, params + e * P, one, one + n, one + 2 * n));
                for (size_t k = 0; k < 3; k++)
                    ck_assert_mem_eq(one + k * n, out + (k * E + e) * n, n * sizeof *one);
            }
        }
        free(params);
        free(start);
        free(out);
        free(one);
        tce_mp_free(mp);
    }
}
END_TEST

START_TEST(a_query_has_the_numbers_of_the_trajectory)
{
    for (int kind = 0; kind < 3; kind++) {
        for (int basis = 0; basis < (kind == 0 ? 2 : 1); basis++) {
            tce_mp_options o;
            tce_mp_options_init(&o, sizeof o);
            o.kind = kind;
            o.basis = basis;
            o.n_dof = 10;
            o.n_basis = 30;
            o.relative_goal = 1;
            o.dt = 0.0125;
            tce_mp *mp = test_mp(&o);
            tce_random r;
            tce_random_start(&r, 1, 5, (uint64_t)kind, 0);
            double params[10 * 31], start[10], speed[10], times[T];
            double *out = malloc(3 * T * 10 * sizeof *out);
            tce_random_normals(&r, tce_mp_n_params(mp), params);
            tce_random_normals(&r, 10, start);
            tce_random_normals(&r, 10, speed);
            for (size_t t = 0; t < T; t++)
                times[t] = 0.1 + o.dt * (double)t;
            tce_mp_grid grid = TCE_INIT(tce_mp_grid);
            grid.E = 1;
            grid.T = T;
            grid.times = grid.init_time = times;
            grid.init_pos = start;
            grid.init_vel = speed;
            ok(tce_mp_trajectory(mp, &grid, params, out, out + T * 10, out + 2 * T * 10));

            /* the last two differences of a ProMP are repeated, a query's are not */
            for (size_t t = 0; t < T - 2; t++) {
                double got[30];
                ok(tce_mp_query(mp, times[t], params, times[0], start, speed, got, got + 10,
                                got + 20));
                for (size_t k = 0; k < 3; k++)
                    test_assert_close(got + 10 * k, out + (k * T + t) * 10, 10,
                                      kind == TCE_MP_PROMP ? 1e-9 : 0.0);
            }
            free(out);
            tce_mp_free(mp);
        }
    }
}
END_TEST

START_TEST(the_most_basis_functions_work_across_tiles)
{
    tce_mp_options o;
    tce_mp_options_init(&o, sizeof o);
    o.n_basis = TCE_MP_MAX_BASIS;
    for (o.kind = 0; o.kind < 3; o.kind++) {
        tce_mp *mp = test_mp(&o);
        tce_random r;
        tce_random_start(&r, 1, 6, 0, 0);
        double params[TCE_MP_MAX_BASIS + 1], times[41], path[3 * 41];
        tce_random_normals(&r, TCE_MP_MAX_BASIS + 1, params);
        for (size_t t = 0; t < 41; t++)
            times[t] = 0.025 * (double)t;
        tce_mp_grid grid = TCE_INIT(tce_mp_grid);
        grid.E = 1;
        grid.T = 41;
        grid.times = times;
        ok(tce_mp_trajectory(mp, &grid, params, path, path + 41, path + 82));

        /*
         * a ProMP's velocity is the difference of its positions, in every tile, the last repeated,
         * and so on
         */
        for (size_t t = 0; o.kind == TCE_MP_PROMP && t < 41; t++) {
            const size_t i = t < 40 ? t : 39;
            ck_assert_double_eq_tol(path[41 + t], (path[i + 1] - path[i]) / 0.025, 1e-10);
            ck_assert_double_eq_tol(path[82 + t], (path[41 + i + 1] - path[41 + i]) / 0.025, 1e-8);
        }
        for (size_t i = 0; i < 3 * 41; i++)
            ck_assert_double_finite(path[i]);
        tce_mp_free(mp);
    }
}
END_TEST

/* ---- options --------------------------------------------------------------------------------- */

START_TEST(a_relative_goal_adds_the_goal_column_times_the_start)
{
    tce_random r;
    tce_random_start(&r, (uint64_t)_i, 7, 0, 0);
    tce_mp_options o = random_prodmp(&r, _i % 2);
    o.relative_goal = 0;
    tce_mp *absolute = test_mp(&o);
    o.relative_goal = 1;
    tce_mp *relative = test_mp(&o);

    /* the goal's column before any scale */
    tce_mp_options plain = o;
    plain.disable_goal = 0;
    plain.disable_weights = 1;
    plain.auto_scale_basis = 0;
    plain.goal_scale = 1.0;
    tce_mp *goal = test_mp(&plain);

    double params[MAX_P], start[D], speed[D], a[3][D], b[3][D], H[3];
    tce_random_normals(&r, tce_mp_n_params(absolute), params);
    tce_random_normals(&r, D, start);
    tce_random_normals(&r, D, speed);
    const double init_time = o.delay + between(&r, 0.0, o.tau);
    const double time = o.delay + between(&r, 0.0, 2.0 * o.tau);
    ok(tce_mp_query(absolute, time, params, init_time, start, speed, a[0], a[1], a[2]));
    ok(tce_mp_query(relative, time, params, init_time, start, speed, b[0], b[1], b[2]));
    ok(tce_mp_basis(goal, 1, &time, init_time, &H[0], &H[1], &H[2]));
    for (size_t k = 0; k < 3; k++) {
        for (size_t d = 0; d < D; d++)
            a[k][d] += H[k] * start[d];
        test_assert_close(b[k], a[k], D, 1e-12);
    }
    tce_mp_free(absolute);
    tce_mp_free(relative);
    tce_mp_free(goal);
}
END_TEST

START_TEST(a_rhythmic_promp_repeats_itself)
{
    tce_mp_options o;
    tce_mp_options_init(&o, sizeof o);
    o.kind = TCE_MP_PROMP;
    o.phase = TCE_MP_PHASE_RHYTHMIC;
    o.tau = 0.8;
    o.delay = 0.1;
    tce_mp *mp = test_mp(&o);
    const double params[5] = { 1.0, -2.0, 0.5, 3.0, -1.0 };
    for (double time = -1.0; time < 2.0; time += 0.07) {
        double a, b;
        ok(tce_mp_query(mp, time, params, 0.0, NULL, NULL, &a, NULL, NULL));
        ok(tce_mp_query(mp, time + 2.0 * o.tau, params, 0.0, NULL, NULL, &b, NULL, NULL));
        ck_assert_double_eq_tol(a, b, 1e-12);
    }
    tce_mp_free(mp);
}
END_TEST

/*
 * A DMP of one DoF, step by step from the definition; the basis comes from a ProMP with the same
 * phase.
 */
START_TEST(a_dmps_phase_chooses_the_basis_and_its_factor_follows_the_rule)
{
    tce_mp_options o;
    tce_mp_options_init(&o, sizeof o);
    o.kind = TCE_MP_DMP;
    o.phase = _i;
    o.tau = 1.3;
    o.delay = 0.25;
    o.alpha = 14.0;
    o.goal_scale = 0.6;
    o.weights_scale = 1.5;
    tce_mp *dmp = test_mp(&o);
    tce_mp_options p = o;
    p.kind = TCE_MP_PROMP;
    tce_mp *promp = test_mp(&p);

    const double params[6] = { 1.0, -2.0, 0.5, 3.0, -1.0, 2.0 };
    double times[60], pos[60], vel[60], acc[60], phi[5];
    for (size_t t = 0; t < 60; t++)
        times[t] = 0.1 + 0.03 * (double)t;
    const double start = 0.3, speed = -0.4;
    tce_mp_grid grid = TCE_INIT(tce_mp_grid);
    grid.E = 1;
    grid.T = 60;
    grid.times = grid.init_time = times;
    grid.init_pos = &start;
    grid.init_vel = &speed;
    ok(tce_mp_trajectory(dmp, &grid, params, pos, vel, acc));

    double y = start, z = o.tau * speed;
    for (size_t t = 0; t < 60; t++) {
        ck_assert_double_eq_tol(pos[t], y, 1e-12);
        ck_assert_double_eq_tol(vel[t], z / o.tau, 1e-12);
        const double u = fmax((times[t] - o.delay) / o.tau, 0.0);
        const double at = o.delay + u * o.tau;
        ok(tce_mp_basis(promp, 1, &at, 0.0, phi, NULL, NULL));
        double f = 0.0;
        for (size_t i = 0; i < 5; i++)
            f += phi[i] * params[i] *
                 (o.phase == TCE_MP_PHASE_RHYTHMIC ? 1.0 : exp(-o.alpha_phase * u));
        const double bracket = o.alpha * (0.25 * o.alpha * (o.goal_scale * params[5] - y) - z) + f;
        ck_assert_double_eq_tol(acc[t], times[t] < o.delay ? 0.0 : bracket / (o.tau * o.tau), 1e-9);
        if (t + 1 < 60) {
            const double step = fmax((times[t + 1] - o.delay) / o.tau, 0.0) - u;
            z += step * bracket;
            y += step * z;
        }
    }
    tce_mp_free(dmp);
    tce_mp_free(promp);
}
END_TEST

START_TEST(a_stored_primitive_comes_back_the_same)
{
    tce_random r;
    tce_random_start(&r, (uint64_t)_i, 8, 0, 0);
    tce_mp_options o = random_prodmp(&r, _i % 2);
    double scales[MAX_B];
    for (size_t i = 0; i < MAX_B; i++)
        scales[i] = between(&r, 0.1, 2.0);
    o.weights_scales = _i % 3 ? scales : NULL;
    tce_mp *mp = test_mp(&o);
    tce_store *store = NULL;
    tce_mp *back = NULL;
    ok(tce_store_create(NULL, &store));
    ok(tce_mp_save(mp, store, "policy.mp"));
    ok(tce_mp_create_from(store, "policy.mp", NULL, &back));
    tce_store_free(store);

    /* every option, and the scales that one of them points to */
    tce_mp_options got;
    tce_mp_options_init(&got, sizeof got);
    tce_mp_get_options(back, &got);
    ck_assert_int_eq(got.weights_scales != NULL, o.weights_scales != NULL);
    if (got.weights_scales)
        ck_assert_mem_eq(got.weights_scales, scales, (size_t)o.n_basis * sizeof *scales);
    got.weights_scales = o.weights_scales;
    ck_assert_mem_eq(&got, &o, sizeof o);

    const double time = o.delay + 0.77 * o.tau;
    double params[MAX_P], a[D], b[D];
    tce_random_normals(&r, MAX_P, params);
    ck_assert_uint_eq(tce_mp_n_params(mp), tce_mp_n_params(back));
    ok(tce_mp_query(mp, time, params, 0.0, NULL, NULL, a, NULL, NULL));
    ok(tce_mp_query(back, time, params, 0.0, NULL, NULL, b, NULL, NULL));
    ck_assert_mem_eq(a, b, sizeof a);
    tce_mp_free(mp);
    tce_mp_free(back);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("mp property");
    TCase *property = test_case(suite, "property", 60);
    tcase_add_loop_test(property, a_replanned_tabulated_path_does_not_jump, 0, 100);
    tcase_add_loop_test(property, a_replanned_exact_path_does_not_jump, 0, 100);
    tcase_add_loop_test(property, a_path_rests_until_the_delay, 0, 20);
    tcase_add_loop_test(property, exact_velocity_and_acceleration_are_derivatives, 0, 100);
    tcase_add_loop_test(property, the_exact_basis_is_the_integral_it_stands_for, 0, 4);
    tcase_add_test(property, an_exact_path_ends_at_its_goal_however_late);
    tcase_add_test(property, a_finer_table_comes_closer_to_the_exact_path);
    tcase_add_test(property, many_narrow_functions_stay_exact);
    tcase_add_loop_test(property, a_batch_gives_each_path_the_bytes_it_has_alone, 0, 4);
    tcase_add_test(property, a_query_has_the_numbers_of_the_trajectory);
    tcase_add_test(property, the_most_basis_functions_work_across_tiles);
    tcase_add_loop_test(property, a_relative_goal_adds_the_goal_column_times_the_start, 0, 40);
    tcase_add_test(property, a_rhythmic_promp_repeats_itself);
    tcase_add_loop_test(property, a_dmps_phase_chooses_the_basis_and_its_factor_follows_the_rule, 1,
                        3);
    tcase_add_loop_test(property, a_stored_primitive_comes_back_the_same, 0, 12);

    return test_run(suite);
}
