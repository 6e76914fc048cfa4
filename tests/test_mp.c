/*
 * mp against the reference numbers of tests/golden, and its gradient against central differences.
 */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <tce/tce.h>

#include "support.h"

/* what the case files ask of trajectories */
#define GOLDEN_TOLERANCE 1e-9

/* fits: the normal equations of the cases have condition numbers up to 1e7 */
#define FIT_TOLERANCE 1e-9

/*
 * central differences in double: eps^(2/3) times a scale of about 100 from the chain through 1/tau
 * and alpha
 */
#define GRADIENT_TOLERANCE 1e-7

/* ---- case files ------------------------------------------------------------------------------ */

static int option_int(const json_t *config, const char *key, int fallback)
{
    const json_t *value = json_object_get(config, key);
    return !value                   ? fallback
           : json_is_boolean(value) ? json_is_true(value)
                                    : (int)json_integer_value(value);
}

static double option_number(const json_t *config, const char *key, double fallback)
{
    const json_t *value = json_object_get(config, key);
    return value ? json_number_value(value) : fallback;
}

static tce_mp *mp_of_case(const json_t *config, int kind)
{
    tce_mp_options o;
    tce_mp_options_init(&o, sizeof o);
    o.kind = kind;
    o.n_dof = option_int(config, "num_dof", o.n_dof);
    o.n_basis = option_int(config, "num_basis", o.n_basis);
    o.n_basis_outside = option_int(config, "num_basis_outside", 0);
    o.relative_goal = option_int(config, "relative_goal", 0);
    o.auto_scale_basis = option_int(config, "auto_scale_basis", 1);
    o.disable_goal = option_int(config, "disable_goal", 0);
    o.disable_weights = option_int(config, "disable_weights", 0);
    o.learn_tau = option_int(config, "learn_tau", 0);
    o.learn_delay = option_int(config, "learn_delay", 0);
    o.tau = option_number(config, "tau", o.tau);
    o.delay = option_number(config, "delay", o.delay);
    o.dt = option_number(config, "dt", o.dt);
    o.alpha = option_number(config, "alpha", o.alpha);
    o.alpha_phase = option_number(config, "alpha_phase", o.alpha_phase);
    o.basis_bandwidth_factor = option_number(config, "basis_bandwidth_factor",
                                             o.basis_bandwidth_factor);
    o.goal_scale = option_number(config, "goal_scale", o.goal_scale);

    double *scales = NULL;
    if (json_is_array(json_object_get(config, "weights_scale"))) {
        scales = test_array(json_object_get(config, "weights_scale"), NULL);
        o.weights_scales = scales;
    } else {
        o.weights_scale = option_number(config, "weights_scale", 1.0);
    }
    tce_mp *mp = NULL;
    ck_assert_msg(tce_mp_create(&o, NULL, &mp) == TCE_OK, "%s", tce_error_message());
    free(scales);
    return mp;
}

/* The kind that a case's name begins with, or -1. */
static int kind_of(const char *name)
{
    if (strncmp(name, "prodmp", 6) == 0 || strcmp(name, "trajectory_covariance") == 0)
        return TCE_MP_PRODMP;
    if (strncmp(name, "promp", 5) == 0)
        return TCE_MP_PROMP;
    return strncmp(name, "dmp", 3) == 0 ? TCE_MP_DMP : -1;
}

static void replay_path(const json_t *c, const tce_mp *mp)
{
    const size_t D = tce_mp_n_dof(mp);
    size_t n_times;
    double *times = test_array(json_object_get(c, "times"), &n_times);
    double *init_time = test_array(json_object_get(c, "init_time"), NULL);
    tce_mp_grid grid;
    tce_mp_grid_init(&grid, sizeof grid);
    grid.E = json_array_size(json_object_get(c, "params"));
    grid.T = n_times / grid.E;
    grid.n_time_rows = grid.E;
    grid.n_init_times = grid.E;
    grid.times = times;
    grid.init_time = init_time;
    double *init_pos = test_field(c, "init_pos", grid.E * D);
    double *init_vel = test_field(c, "init_vel", grid.E * D);
    grid.init_pos = init_pos;
    grid.init_vel = init_vel;

    const size_t n = grid.E * grid.T * D;
    double *params = test_field(c, "params", grid.E * tce_mp_n_params(mp));
    double *out = malloc(3 * n * sizeof *out);
    ck_assert_msg(tce_mp_trajectory(mp, &grid, params, out, out + n, out + 2 * n) == TCE_OK, "%s",
                  tce_error_message());
    const char *const names[3] = { "pos", "vel", "acc" };
    for (size_t k = 0; k < 3; k++) {
        if (!json_object_get(c, names[k]))
            continue;
        double *want = test_field(c, names[k], n);
        test_assert_close(out + k * n, want, n, GOLDEN_TOLERANCE);
        free(want);
    }
    free(times);
    free(init_time);
    free(init_pos);
    free(init_vel);
    free(params);
    free(out);
}

static void replay_fit(const json_t *c, tce_mp *mp)
{
    const size_t P = tce_mp_n_params(mp);
    const size_t D = tce_mp_n_dof(mp);
    size_t T;
    double *times = test_array(json_object_get(c, "times"), &T);
    double *demo = test_field(c, "demo", T * D);
    double *want = test_field(c, "params", P);
    double *got = malloc(P * sizeof *got);
    ck_assert_int_eq(
        tce_mp_fit(mp, T, times, demo, json_number_value(json_object_get(c, "reg")), got), TCE_OK);
    test_assert_close(got, want, P, FIT_TOLERANCE);

    /* the path of what was fitted */
    if (json_object_get(c, "refit_pos")) {
        tce_mp_grid grid;
        tce_mp_grid_init(&grid, sizeof grid);
        grid.T = T;
        grid.times = grid.init_time = times;
        double *init_pos = test_field(c, "init_pos", D);
        double *init_vel = test_field(c, "init_vel", D);
        double *path = malloc(T * D * sizeof *path);
        double *refit = test_field(c, "refit_pos", T * D);
        grid.init_pos = init_pos;
        grid.init_vel = init_vel;
        ck_assert_int_eq(tce_mp_trajectory(mp, &grid, got, path, NULL, NULL), TCE_OK);
        test_assert_close(path, refit, T * D, GOLDEN_TOLERANCE);
        free(init_pos);
        free(init_vel);
        free(path);
        free(refit);
    }
    free(times);
    free(demo);
    free(want);
    free(got);
}

static void replay_covariance(const json_t *c, const tce_mp *mp)
{
    const size_t P = tce_mp_n_params(mp);
    const size_t D = tce_mp_n_dof(mp);
    size_t T;
    double *times = test_array(json_object_get(c, "times"), &T);
    double *init_time = test_array(json_object_get(c, "init_time"), NULL);
    double *L = test_field(c, "params_chol", P * P);
    const double reg = json_number_value(json_object_get(c, "reg"));
    const size_t n = D * T;
    double *cov = malloc(n * n * sizeof *cov);
    double *std = malloc(n * sizeof *std);
    double *want_pos = test_field(c, "pos_cov", n * n);
    double *want_vel = test_field(c, "vel_cov", n * n);
    double *want_std = test_field(c, "pos_std", n);

    ck_assert_int_eq(tce_mp_covariance(mp, T, times, *init_time, L, reg, 0, cov, std), TCE_OK);
    test_assert_close(cov, want_pos, n * n, GOLDEN_TOLERANCE);
    test_assert_close(std, want_std, n, GOLDEN_TOLERANCE);
    ck_assert_int_eq(tce_mp_covariance(mp, T, times, *init_time, L, reg, 0, NULL, std), TCE_OK);
    test_assert_close(std, want_std, n, GOLDEN_TOLERANCE);
    ck_assert_int_eq(tce_mp_covariance(mp, T, times, *init_time, L, reg, 1, cov, NULL), TCE_OK);
    test_assert_close(cov, want_vel, n * n, GOLDEN_TOLERANCE);
    free(times);
    free(init_time);
    free(L);
    free(cov);
    free(std);
    free(want_pos);
    free(want_vel);
    free(want_std);
}

/* Every case of the file that is mp's, at least n_least of them. */
static void replay_file(const char *file, size_t n_least)
{
    json_t *cases = test_golden(file);
    size_t n = 0;
    size_t i;
    const json_t *c;
    json_array_foreach(cases, i, c)
    {
        const char *const name = json_string_value(json_object_get(c, "kind"));
        const int kind = kind_of(name);
        if (kind < 0)
            continue;
        tce_mp *mp = mp_of_case(json_object_get(c, "config"), kind);
        if (strstr(name, "_fit"))
            replay_fit(c, mp);
        else if (strcmp(name, "trajectory_covariance") == 0)
            replay_covariance(c, mp);
        else
            replay_path(c, mp);
        tce_mp_free(mp);
        n++;
    }
    json_decref(cases);
    ck_assert_uint_ge(n, n_least);
}

START_TEST(the_primitives_of_the_published_tasks_match_the_reference)
{
    replay_file("core_mp.json", 21);
}
END_TEST

START_TEST(the_primitives_with_every_option_match_the_reference)
{
    replay_file("core_options.json", 30);
}
END_TEST

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
    ck_assert_int_eq(tce_mp_create(&o, NULL, &mp), TCE_OK);
    for (size_t k = 0; k < 2; k++) {
        double pos[4], vel[4], acc[4], at[3];
        tce_mp_grid grid;
        tce_mp_grid_init(&grid, sizeof grid);
        grid.T = 4;
        grid.times = times;
        grid.init_time = &init_times[k];
        grid.init_pos = &start;
        grid.init_vel = &speed;
        ck_assert_int_eq(tce_mp_trajectory(mp, &grid, params, pos, vel, acc), TCE_OK);
        test_assert_close(pos, want[k], 4, 5e-9);

        /* the times are a dt apart, but for their last bits: a query's steps are the same */
        for (size_t t = 0; t < 4; t++) {
            ck_assert_int_eq(tce_mp_query(mp, times[t], params, init_times[k], &start, &speed, at,
                                          at + 1, at + 2),
                             TCE_OK);
            ck_assert_double_eq_tol(at[0], pos[t], 1e-14);
            ck_assert_double_eq_tol(at[1], vel[t], 1e-13);
            ck_assert_double_eq_tol(at[2], acc[t], 1e-11);
        }
    }
    tce_mp_free(mp);
}
END_TEST

START_TEST(phases_and_the_rhythmic_basis_match_the_reference)
{
    json_t *cases = test_golden("core_options.json");
    size_t i, n = 0;
    const json_t *c;
    json_array_foreach(cases, i, c)
    {
        if (strcmp(json_string_value(json_object_get(c, "kind")), "phases") != 0)
            continue;
        const char *const names[3] = { "linear", "smooth", "rhythmic" };
        const int B = (int)json_integer_value(json_object_get(c, "num_basis"));
        size_t T;
        double *times = test_array(json_object_get(c, "scaled_times"), &T);
        double *got = malloc(T * (size_t)B * sizeof *got);
        for (int phase = 0; phase < 3; phase++) {
            tce_mp_options o;
            tce_mp_options_init(&o, sizeof o);
            o.kind = TCE_MP_PROMP;
            o.phase = phase;
            o.n_basis = B;
            o.basis_bandwidth_factor = json_number_value(
                json_object_get(c, "basis_bandwidth_factor"));
            tce_mp *mp = NULL;
            ck_assert_int_eq(tce_mp_create(&o, NULL, &mp), TCE_OK);
            ck_assert_int_eq(tce_mp_phase(mp, T, times, got), TCE_OK);
            double *want = test_field(c, names[phase], T);
            test_assert_close(got, want, T, GOLDEN_TOLERANCE);
            free(want);
            if (phase == TCE_MP_PHASE_RHYTHMIC) {
                want = test_field(c, "rhythmic_basis", T * (size_t)B);
                ck_assert_int_eq(tce_mp_basis(mp, T, times, 0.0, got, NULL, NULL), TCE_OK);
                test_assert_close(got, want, T * (size_t)B, GOLDEN_TOLERANCE);
                free(want);
            }
            tce_mp_free(mp);
        }
        free(times);
        free(got);
        n++;
    }
    json_decref(cases);
    ck_assert_uint_ge(n, 1);
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
    ck_assert_msg(tce_mp_trajectory(p->mp, &p->grid, params, pos, vel, NULL) == TCE_OK, "%s",
                  tce_error_message());
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
    ck_assert_msg(tce_mp_create(&o, NULL, &p->mp) == TCE_OK, "%s", tce_error_message());

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
            p->init_pos[e * D + d] = tce_random_normal(&r);
            p->init_vel[e * D + d] = p->init_time[e] > 0.0 ? tce_random_normal(&r) : 0.0;
        }
    }
    for (size_t t = 0; t < T; t++)
        p->times[t] = 0.02 + 0.25 * (double)t + 0.05 * tce_random_uniform(&r);
    tce_random_normals(&r, E * T * D, p->d_pos);
    tce_random_normals(&r, E * T * D, p->d_vel);
    tce_mp_grid_init(&p->grid, sizeof p->grid);
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
    ck_assert_int_eq(tce_mp_trajectory_backward(p.mp, &p.grid, p.params, p.d_pos, p.d_vel, got),
                     TCE_OK);
    test_finite_difference(loss, &p, n, p.params, want);
    test_assert_close_gradient(got, want, n, GRADIENT_TOLERANCE);

    /* each half alone, and both together by linearity */
    double half[E * MAX_P], other[E * MAX_P];
    ck_assert_int_eq(tce_mp_trajectory_backward(p.mp, &p.grid, p.params, p.d_pos, NULL, half),
                     TCE_OK);
    ck_assert_int_eq(tce_mp_trajectory_backward(p.mp, &p.grid, p.params, NULL, p.d_vel, other),
                     TCE_OK);
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
    ck_assert_int_eq(tce_mp_trajectory_backward(p.mp, &p.grid, p.params, p.d_pos, p.d_vel, got),
                     TCE_OK);
    for (size_t e = 0; e < E; e++) {
        tce_mp_grid one = p.grid;
        one.E = one.n_init_times = 1;
        one.init_time += e;
        one.init_pos += e * D;
        one.init_vel += e * D;
        const size_t at = e * T * D;
        ck_assert_int_eq(tce_mp_trajectory_backward(p.mp, &one, p.params + e * P, p.d_pos + at,
                                                    p.d_vel + at, want),
                         TCE_OK);
        test_assert_close_gradient(got + e * P, want, P, 1e-14);
    }
    tce_mp_free(p.mp);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("mp");
    TCase *golden = test_case(suite, "golden", 0);
    tcase_add_test(golden, the_primitives_of_the_published_tasks_match_the_reference);
    tcase_add_test(golden, the_primitives_with_every_option_match_the_reference);
    tcase_add_test(golden, a_dmp_is_integrated_from_the_start_time);
    tcase_add_test(golden, phases_and_the_rhythmic_basis_match_the_reference);

    TCase *gradient = test_case(suite, "gradient", 0);
    tcase_add_loop_test(gradient, a_prodmps_gradient_matches_differences, 0, 128);
    tcase_add_loop_test(gradient, a_promps_gradient_matches_differences, 0, 12);
    tcase_add_loop_test(gradient, a_dmps_gradient_matches_differences, 0, 12);
    tcase_add_test(gradient, a_shared_start_gives_the_gradient_of_separate_ones);

    return test_run(suite);
}
