/*
 * mp: every status that the header promises, with outputs that must stay untouched or become NaN;
 * and memory.
 */
#include <check.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include <tce/tce.h>

#include "support.h"

#define SENTINEL -77.25

enum { E = 2, T = 3, D = 2, P = 12 };

static tce_mp_options options(int kind)
{
    tce_mp_options o;
    tce_mp_options_init(&o, sizeof o);
    o.kind = kind;
    o.n_dof = D;
    return o;
}

/* scratch of fits and conditioning, for any primitive here */
static double work[4096];

static void preset(size_t n, double *out)
{
    for (size_t i = 0; i < n; i++)
        out[i] = SENTINEL;
}

/* An argument error leaves the outputs alone, a numerical one makes them NaN. */
static void check_outputs(tce_status status, size_t n, const double *out)
{
    for (size_t i = 0; i < n; i++) {
        if (status > TCE_E_NOT_PD)
            ck_assert_double_eq(out[i], SENTINEL);
        else
            ck_assert_double_nan(out[i]);
    }
}

static void check_message(const char *part)
{
    ck_assert_msg(strstr(tce_error_message(), part) != NULL, "\"%s\" does not name %s",
                  tce_error_message(), part);
}

/* ---- create ---------------------------------------------------------------------------------- */

static void check_create(const tce_mp_options *o, tce_status want, const char *part)
{
    tce_mp *mp = (tce_mp *)&mp;
    const tce_status status = tce_mp_create(o, NULL, &mp);
    ck_assert_msg(status == want, "%s: %d, want %d: %s", part, (int)status, (int)want,
                  tce_error_message());
    ck_assert_ptr_null(mp);
    check_message(part);
}

START_TEST(create_refuses_what_it_cannot_make)
{
    /* every field out of its range, one after the other */
    tce_mp_options o;
#define REFUSE(field, value, kind_, status, part) \
    do {                                          \
        o = options(kind_);                       \
        o.field = value;                          \
        check_create(&o, status, part);           \
    } while (0)
    REFUSE(kind, 3, TCE_MP_PRODMP, TCE_E_ARGUMENT, "kind");
    REFUSE(phase, -1, TCE_MP_PROMP, TCE_E_ARGUMENT, "phase");
    REFUSE(basis, 2, TCE_MP_PRODMP, TCE_E_ARGUMENT, "basis");
    REFUSE(reserved, 1, TCE_MP_PRODMP, TCE_E_VERSION, "reserved");
    REFUSE(phase, TCE_MP_PHASE_SMOOTH, TCE_MP_PRODMP, TCE_E_UNSUPPORTED, "phase");
    REFUSE(basis, TCE_MP_BASIS_EXACT, TCE_MP_PROMP, TCE_E_UNSUPPORTED, "basis");
    REFUSE(disable_goal, 1, TCE_MP_PROMP, TCE_E_UNSUPPORTED, "disable_goal");
    REFUSE(disable_weights, 1, TCE_MP_DMP, TCE_E_UNSUPPORTED, "disable_weights");
    REFUSE(n_dof, 0, TCE_MP_PRODMP, TCE_E_VALUE, "n_dof");
    REFUSE(n_basis, 0, TCE_MP_PRODMP, TCE_E_VALUE, "n_basis");
    REFUSE(n_basis, TCE_MP_MAX_BASIS + 1, TCE_MP_PRODMP, TCE_E_VALUE, "n_basis");
    REFUSE(n_basis_outside, 2, TCE_MP_PROMP, TCE_E_VALUE, "n_basis_outside");
    REFUSE(n_basis_outside, -1, TCE_MP_PROMP, TCE_E_VALUE, "n_basis_outside");
    REFUSE(table_length, 0, TCE_MP_PRODMP, TCE_E_VALUE, "table_length");
    REFUSE(tau, 0.0, TCE_MP_PROMP, TCE_E_VALUE, "tau");
    REFUSE(tau, NAN, TCE_MP_PROMP, TCE_E_VALUE, "tau");
    REFUSE(delay, INFINITY, TCE_MP_PROMP, TCE_E_VALUE, "delay");
    REFUSE(dt, -0.1, TCE_MP_PROMP, TCE_E_VALUE, "dt");
    REFUSE(dt, 3.0, TCE_MP_PRODMP, TCE_E_VALUE, "dt");
    REFUSE(dt, 1e-12, TCE_MP_PRODMP, TCE_E_VALUE, "dt");
    REFUSE(alpha, 0.0, TCE_MP_DMP, TCE_E_VALUE, "alpha");
    REFUSE(alpha_phase, 0.0, TCE_MP_DMP, TCE_E_VALUE, "alpha_phase");
    REFUSE(alpha_phase, 1000.0, TCE_MP_DMP, TCE_E_VALUE, "alpha_phase");
    REFUSE(basis_bandwidth_factor, 0.0, TCE_MP_PRODMP, TCE_E_VALUE, "basis_bandwidth_factor");
    REFUSE(weights_scale, NAN, TCE_MP_PRODMP, TCE_E_VALUE, "weights_scale");
    REFUSE(goal_scale, NAN, TCE_MP_PRODMP, TCE_E_VALUE, "goal_scale");
#undef REFUSE
    const double scales[5] = { 1.0, 1.0, NAN, 1.0, 1.0 };
    o = options(TCE_MP_PRODMP);
    o.weights_scales = scales;
    check_create(&o, TCE_E_VALUE, "weights_scales[2]");
    o = options(TCE_MP_PRODMP);
    o.disable_goal = o.disable_weights = 1;
    check_create(&o, TCE_E_UNSUPPORTED, "no parameters");
    o = options(TCE_MP_PROMP);
    o.phase = TCE_MP_PHASE_RHYTHMIC;
    o.n_basis_outside = 1;
    check_create(&o, TCE_E_UNSUPPORTED, "n_basis_outside");

    /* a lone function so narrow that it lies between two points of the table */
    o = options(TCE_MP_PRODMP);
    o.n_basis = 1;
    o.basis_bandwidth_factor = 1e9;
    o.dt = 1.0 / 101.0;
    check_create(&o, TCE_E_SINGULAR, "auto_scale_basis");

    tce_mp *mp = (tce_mp *)&mp;
    ck_assert_int_eq(tce_mp_create(NULL, NULL, &mp), TCE_E_ARGUMENT);
    ck_assert_ptr_null(mp);
    ck_assert_int_eq(tce_mp_create(&o, NULL, NULL), TCE_E_ARGUMENT);
}
END_TEST

START_TEST(options_that_a_kind_does_not_use_are_not_checked)
{
    tce_mp_options o = options(TCE_MP_PROMP);
    o.alpha = o.alpha_phase = NAN;
    o.table_length = 0;
    tce_mp_free(test_mp(&o));
    o = options(TCE_MP_DMP);
    o.phase = TCE_MP_PHASE_RHYTHMIC;
    o.alpha_phase = 0.0;
    tce_mp_free(test_mp(&o));
}
END_TEST

/* ---- trajectories ---------------------------------------------------------------------------- */

typedef struct inputs {
    tce_mp_grid grid;
    double times[E * T], init_time[E], init_pos[E * D], init_vel[E * D], params[E * (P + 2)];
} inputs;

static void make_inputs(inputs *in)
{
    memset(in, 0, sizeof *in);
    for (size_t i = 0; i < E * T; i++)
        in->times[i] = 0.1 + 0.2 * (double)(i % T);
    for (size_t e = 0; e < E; e++)
        in->params[e * (P + 2)] = in->params[e * P] = 1.0;
    in->grid = TCE_INIT(tce_mp_grid);
    in->grid.E = E;
    in->grid.T = T;
    in->grid.n_time_rows = E;
    in->grid.n_init_times = E;
    in->grid.times = in->times;
    in->grid.init_time = in->init_time;
    in->grid.init_pos = in->init_pos;
    in->grid.init_vel = in->init_vel;
}

/* Path and gradient both refuse with this status and name this part. */
static void refuse(const tce_mp *mp, const inputs *in, tce_status want, const char *part)
{
    double pos[E * T * D], vel[E * T * D], acc[E * T * D], d_params[E * (P + 2)];
    const size_t n = E * tce_mp_n_params(mp);
    preset(E * T * D, pos);
    preset(E * T * D, vel);
    preset(E * T * D, acc);
    const tce_status status = tce_mp_trajectory(mp, &in->grid, in->params, pos, vel, acc);
    ck_assert_msg(status == want, "%s: %d, want %d", part, (int)status, (int)want);
    check_message(part);
    check_outputs(want, E * T * D, pos);
    check_outputs(want, E * T * D, vel);
    check_outputs(want, E * T * D, acc);

    const double zeros[E * T * D] = { 0 };
    preset(n, d_params);
    ck_assert_int_eq(tce_mp_trajectory_backward(mp, &in->grid, in->params, zeros, zeros, d_params),
                     want);
    check_outputs(want, n, d_params);
}

START_TEST(nan_in_any_input_is_refused_by_its_index)
{
    for (int kind = 0; kind < 3; kind++) {
        const tce_mp_options o = options(kind);
        tce_mp *mp = test_mp(&o);
        inputs in;
        make_inputs(&in);
        in.times[4] = NAN;
        refuse(mp, &in, TCE_E_VALUE, "times[4]");
        make_inputs(&in);
        in.init_time[1] = INFINITY;
        refuse(mp, &in, TCE_E_VALUE, "init_time[1]");
        make_inputs(&in);
        in.init_pos[3] = NAN;
        refuse(mp, &in, TCE_E_VALUE, "init_pos[3]");
        make_inputs(&in);
        in.init_vel[2] = NAN;
        refuse(mp, &in, TCE_E_VALUE, "init_vel[2]");
        make_inputs(&in);
        in.params[7] = NAN;
        refuse(mp, &in, TCE_E_VALUE, "params[7]");
        tce_mp_free(mp);
    }
}
END_TEST

START_TEST(shapes_that_do_not_fit_are_refused)
{
    const tce_mp_options o = options(TCE_MP_PRODMP);
    tce_mp *mp = test_mp(&o);
    inputs in;
    make_inputs(&in);
    in.grid.n_time_rows = 3;
    refuse(mp, &in, TCE_E_SHAPE, "n_time_rows");
    make_inputs(&in);
    in.grid.n_init_times = 2 * E;
    refuse(mp, &in, TCE_E_SHAPE, "n_init_times");
    make_inputs(&in);
    in.grid.T = 0;
    refuse(mp, &in, TCE_E_SHAPE, "grid.T");
    make_inputs(&in);
    in.grid.times = NULL;
    refuse(mp, &in, TCE_E_ARGUMENT, "grid.times");
    make_inputs(&in);
    in.grid.struct_size = 0;
    refuse(mp, &in, TCE_E_ARGUMENT, "tce_mp_grid");

    double pos[E * T * D];
    make_inputs(&in);
    ck_assert_int_eq(tce_mp_trajectory(NULL, &in.grid, in.params, pos, NULL, NULL), TCE_E_ARGUMENT);
    ck_assert_int_eq(tce_mp_trajectory(mp, NULL, in.params, pos, NULL, NULL), TCE_E_ARGUMENT);
    ck_assert_int_eq(tce_mp_trajectory(mp, &in.grid, NULL, pos, NULL, NULL), TCE_E_ARGUMENT);
    ck_assert_int_eq(tce_mp_trajectory_backward(mp, &in.grid, in.params, pos, NULL, NULL),
                     TCE_E_ARGUMENT);
    tce_mp_free(mp);
}
END_TEST

START_TEST(the_clock_of_a_prodmp_has_its_limits)
{
    tce_mp_options o = options(TCE_MP_PRODMP);
    o.delay = 0.05;
    tce_mp *mp = test_mp(&o);
    inputs in;
    make_inputs(&in);

    /* the table ends at u = F = 5, give or take rounding */
    in.times[5] = 5.05;
    double pos[E * T * D];
    ok(tce_mp_trajectory(mp, &in.grid, in.params, pos, NULL, NULL));
    in.times[5] = 5.05 + 1e-9;
    refuse(mp, &in, TCE_E_VALUE, "times[5]");
    make_inputs(&in);
    in.init_time[1] = 5.2;
    refuse(mp, &in, TCE_E_VALUE, "init_time[1]");

    /* a start that moves before the delay; -0 does not move */
    make_inputs(&in);
    in.init_vel[1] = -0.0;
    ok(tce_mp_trajectory(mp, &in.grid, in.params, pos, NULL, NULL));
    in.init_vel[1] = 1e-300;
    refuse(mp, &in, TCE_E_VALUE, "init_vel[1]");
    in.init_time[0] = 0.05;
    ok(tce_mp_trajectory(mp, &in.grid, in.params, pos, NULL, NULL));
    tce_mp_free(mp);
}
END_TEST

START_TEST(a_learnt_tau_must_be_positive)
{
    for (int kind = 0; kind < 3; kind++) {
        tce_mp_options o = options(kind);
        o.learn_tau = 1;
        tce_mp *mp = test_mp(&o);
        inputs in;
        make_inputs(&in);
        memset(in.params, 0, sizeof in.params);
        in.params[0] = 1.0;
        refuse(mp, &in, TCE_E_VALUE, kind == TCE_MP_PROMP ? "params[11]" : "params[13]");
        in.params[tce_mp_n_params(mp)] = -1.0;
        refuse(mp, &in, TCE_E_VALUE, "tau");
        tce_mp_free(mp);
    }
}
END_TEST

START_TEST(a_start_whose_conditions_underflow_is_singular)
{
    tce_mp_options o = options(TCE_MP_PRODMP);
    o.alpha = 250.0;
    tce_mp *mp = test_mp(&o);
    inputs in;
    make_inputs(&in);
    in.init_time[1] = 2.8;
    double pos[E * T * D];
    ok(tce_mp_trajectory(mp, &in.grid, in.params, pos, NULL, NULL));
    in.init_time[1] = 2.9;
    refuse(mp, &in, TCE_E_SINGULAR, "underflow");
    preset(D, pos);
    ck_assert_int_eq(tce_mp_query(mp, 0.1, in.params, 2.9, NULL, NULL, pos, NULL, NULL),
                     TCE_E_SINGULAR);
    check_outputs(TCE_E_SINGULAR, D, pos);
    tce_mp_free(mp);

    /* an exact basis has no such limit after its start, but one before it */
    o.basis = TCE_MP_BASIS_EXACT;
    mp = test_mp(&o);
    make_inputs(&in);
    in.init_time[0] = in.init_time[1] = 6.5;
    refuse(mp, &in, TCE_E_NOT_FINITE, "overflows");
    for (size_t i = 0; i < E * T; i++)
        in.times[i] += 6.5;
    ok(tce_mp_trajectory(mp, &in.grid, in.params, pos, NULL, NULL));
    tce_mp_free(mp);
}
END_TEST

START_TEST(a_promps_velocity_needs_times_that_differ)
{
    const tce_mp_options o = options(TCE_MP_PROMP);
    tce_mp *mp = test_mp(&o);
    inputs in;
    make_inputs(&in);
    in.times[4] = in.times[3];
    refuse(mp, &in, TCE_E_VALUE, "times[3] = times[4]");
    double pos[E * T * D];
    ok(tce_mp_trajectory(mp, &in.grid, in.params, pos, NULL, NULL));
    tce_mp_free(mp);
}
END_TEST

START_TEST(missing_starts_are_zeros)
{
    for (int kind = 0; kind < 3; kind++) {
        const tce_mp_options o = options(kind);
        tce_mp *mp = test_mp(&o);
        inputs in;
        make_inputs(&in);
        double a[E * T * D], b[E * T * D];
        ok(tce_mp_trajectory(mp, &in.grid, in.params, a, NULL, NULL));
        in.grid.init_time = in.grid.init_pos = in.grid.init_vel = NULL;
        ok(tce_mp_trajectory(mp, &in.grid, in.params, b, NULL, NULL));
        ck_assert_mem_eq(a, b, sizeof a);
        tce_mp_free(mp);
    }
}
END_TEST

/* ---- the other calls ------------------------------------------------------------------------- */

START_TEST(a_query_refuses_what_a_trajectory_refuses)
{
    double params[P] = { 0 }, pos[D];
    const double speed[D] = { 0.0, 1.0 };
    tce_mp_options o = options(TCE_MP_PRODMP);
    o.delay = 0.1;
    tce_mp *mp = test_mp(&o);
    preset(D, pos);
    ck_assert_int_eq(tce_mp_query(NULL, 0.5, params, 0.0, NULL, NULL, pos, NULL, NULL),
                     TCE_E_ARGUMENT);
    ck_assert_int_eq(tce_mp_query(mp, 0.5, NULL, 0.0, NULL, NULL, pos, NULL, NULL), TCE_E_ARGUMENT);
    ck_assert_int_eq(tce_mp_query(mp, NAN, params, 0.0, NULL, NULL, pos, NULL, NULL), TCE_E_VALUE);
    ck_assert_int_eq(tce_mp_query(mp, 0.5, params, NAN, NULL, NULL, pos, NULL, NULL), TCE_E_VALUE);
    ck_assert_int_eq(tce_mp_query(mp, 5.2, params, 0.0, NULL, NULL, pos, NULL, NULL), TCE_E_VALUE);
    check_message("time");
    ck_assert_int_eq(tce_mp_query(mp, 0.5, params, 0.0, NULL, speed, pos, NULL, NULL), TCE_E_VALUE);
    check_message("init_vel[1]");
    params[3] = NAN;
    ck_assert_int_eq(tce_mp_query(mp, 0.5, params, 0.0, NULL, NULL, pos, NULL, NULL), TCE_E_VALUE);
    check_message("params[3]");
    check_outputs(TCE_E_VALUE, D, pos);
    tce_mp_free(mp);

    params[3] = 0.0;
    o = options(TCE_MP_DMP);
    mp = test_mp(&o);
    ck_assert_int_eq(tce_mp_query(mp, 0.1, params, 0.2, NULL, NULL, pos, NULL, NULL), TCE_E_VALUE);
    check_message("init_time");
    check_outputs(TCE_E_VALUE, D, pos);
    tce_mp_free(mp);
}
END_TEST

/* Seconds since 1970, as a clock gives them, and times at which dt is lost in the rounding. */
START_TEST(a_dmp_far_from_its_start_is_refused_before_it_is_integrated)
{
    const double far[] = { 1.8e9, 1e17, 1e150 };
    const double params[P] = { 0 };
    double pos[D];
    tce_mp_options o = options(TCE_MP_DMP);
    tce_mp *mp = test_mp(&o);
    preset(D, pos);
    for (size_t i = 0; i < sizeof far / sizeof far[0]; i++) {
        ck_assert_int_eq(tce_mp_query(mp, far[i], params, 0.0, NULL, NULL, pos, NULL, NULL),
                         TCE_E_VALUE);
        check_message("init_time");
        check_outputs(TCE_E_VALUE, D, pos);

        tce_mp_plan plan = TCE_INIT(tce_mp_plan);
        plan.mp = mp;
        plan.params = params;
        ck_assert_int_eq(tce_mp_blend(&plan, &plan, 0.0, 1.0, 1, &far[i], pos, NULL, NULL),
                         TCE_E_VALUE);
        check_message("times[0]");
        check_outputs(TCE_E_VALUE, D, pos);
    }

    /*
     * the limit counts from the start: late times are fine, and so is the last step that is allowed
     */
    ok(tce_mp_query(mp, 1.8e9 + 1.0, params, 1.8e9, NULL, NULL, pos, NULL, NULL));
    const double last = o.dt * (TCE_MP_MAX_STEPS - 1);
    ok(tce_mp_query(mp, last, params, 0.0, NULL, NULL, pos, NULL, NULL));
    tce_mp_free(mp);
}
END_TEST

START_TEST(linear_calls_refuse_what_is_not_linear)
{
    for (int variant = 0; variant < 2; variant++) {
        tce_mp_options o = options(variant ? TCE_MP_PRODMP : TCE_MP_DMP);
        o.learn_delay = variant;
        tce_mp *mp = test_mp(&o);
        const double times[2] = { 0.1, 0.2 };
        const double demo[2 * D] = { 0 };
        const tce_mp_via via = { .time = 0.1, .tolerance = 0.1 };
        double mean[P + 1] = { 0 }, L[(P + 1) * (P + 1)] = { 0 }, out[64];
        preset(64, out);
        ck_assert_int_eq(tce_mp_basis(mp, 2, times, 0.0, out, NULL, NULL), TCE_E_UNSUPPORTED);
        ck_assert_int_eq(tce_mp_covariance(mp, 2, times, 0.0, L, 0.0, 0, out, NULL),
                         TCE_E_UNSUPPORTED);
        ck_assert_int_eq(tce_mp_condition(mp, 1, &via, 0.0, NULL, NULL, mean, L, work, mean, L),
                         TCE_E_UNSUPPORTED);
        if (variant)
            ck_assert_int_eq(tce_mp_fit(mp, 2, times, demo, 1e-9, work, out), TCE_E_UNSUPPORTED);
        check_outputs(TCE_E_UNSUPPORTED, 64, out);
        tce_mp_free(mp);
    }
}
END_TEST

START_TEST(basis_and_covariance_check_their_numbers)
{
    const tce_mp_options o = options(TCE_MP_PRODMP);
    tce_mp *mp = test_mp(&o);
    double times[2] = { 0.1, 0.2 }, L[P * P] = { 0 }, out[(2 * D) * (2 * D)];
    preset(16, out);
    ck_assert_int_eq(tce_mp_basis(mp, 0, times, 0.0, out, NULL, NULL), TCE_E_SHAPE);
    ck_assert_int_eq(tce_mp_basis(mp, 2, NULL, 0.0, out, NULL, NULL), TCE_E_ARGUMENT);
    ck_assert_int_eq(tce_mp_covariance(mp, 2, times, 0.0, L, -1.0, 0, out, NULL), TCE_E_VALUE);
    check_message("reg");
    ck_assert_int_eq(tce_mp_covariance(mp, 2, times, 0.0, L, 0.0, 2, out, NULL), TCE_E_VALUE);
    check_message("order");
    ck_assert_int_eq(tce_mp_covariance(mp, 2, times, 0.0, NULL, 0.0, 0, out, NULL), TCE_E_ARGUMENT);
    L[5] = NAN;
    ck_assert_int_eq(tce_mp_covariance(mp, 2, times, 0.0, L, 0.0, 0, out, NULL), TCE_E_VALUE);
    check_message("L[5]");
    times[1] = 99.0;
    ck_assert_int_eq(tce_mp_basis(mp, 2, times, 0.0, out, NULL, NULL), TCE_E_VALUE);
    check_message("times[1]");
    check_outputs(TCE_E_VALUE, 16, out);
    tce_mp_free(mp);
}
END_TEST

START_TEST(a_fit_checks_its_demonstration)
{
    tce_mp_options o = options(TCE_MP_PRODMP);
    tce_mp *mp = test_mp(&o);
    double times[3] = { 0.1, 0.2, 0.3 }, demo[3 * D] = { 0 }, out[P];
    preset(P, out);
    ck_assert_int_eq(tce_mp_fit(mp, 1, times, demo, 1e-9, work, out), TCE_E_SHAPE);
    ck_assert_int_eq(tce_mp_fit(mp, 3, times, demo, -1.0, work, out), TCE_E_VALUE);
    ck_assert_int_eq(tce_mp_fit(mp, 3, times, NULL, 1e-9, work, out), TCE_E_ARGUMENT);
    ck_assert_int_eq(tce_mp_fit(mp, 3, times, demo, 1e-9, work, NULL), TCE_E_ARGUMENT);
    ck_assert_int_eq(tce_mp_fit(mp, 3, times, demo, 1e-9, NULL, out), TCE_E_ARGUMENT);
    check_message("work");
    demo[4] = NAN;
    ck_assert_int_eq(tce_mp_fit(mp, 3, times, demo, 1e-9, work, out), TCE_E_VALUE);
    check_message("demo[4]");
    demo[4] = 0.0;
    times[2] = 0.2;
    ck_assert_int_eq(tce_mp_fit(mp, 3, times, demo, 1e-9, work, out), TCE_E_VALUE);
    check_message("times[2]");
    times[2] = 7.0;
    ck_assert_int_eq(tce_mp_fit(mp, 3, times, demo, 1e-9, work, out), TCE_E_VALUE);
    check_message("times[2]");
    check_outputs(TCE_E_VALUE, P, out);

    /* three samples do not determine six parameters */
    times[2] = 0.3;
    ck_assert_int_eq(tce_mp_fit(mp, 3, times, demo, 0.0, work, out), TCE_E_SINGULAR);
    check_outputs(TCE_E_SINGULAR, P, out);
    tce_mp_free(mp);

    o = options(TCE_MP_DMP);
    o.goal_scale = 0.0;
    mp = test_mp(&o);
    ck_assert_int_eq(tce_mp_fit(mp, 3, times, demo, 1e-9, work, out), TCE_E_SINGULAR);
    check_message("goal_scale");
    tce_mp_free(mp);
}
END_TEST

START_TEST(conditioning_checks_its_via_points)
{
    tce_mp_options o = options(TCE_MP_PRODMP);
    tce_mp *mp = test_mp(&o);
    double mean[P] = { 0 }, L[P * P] = { 0 }, out_mean[P], out_L[P * P];
    const double speed[D] = { 0.0, 1.0 };
    for (size_t i = 0; i < P; i++)
        L[i * P + i] = 1.0;
    preset(P, out_mean);
    preset(P * P, out_L);
    const tce_mp_via good = { .time = 0.5, .value = 1.0, .tolerance = 0.1 };
    const struct {
        tce_mp_via via;
        const char *part;
    } bad[] = {
        { { .time = 0.5, .tolerance = 0.1, .dof = D }, "dof" },
        { { .time = 0.5, .tolerance = 0.1, .dof = -1 }, "dof" },
        { { .time = 0.5, .tolerance = 0.1, .order = 2 }, "order" },
        { { .time = 0.5, .tolerance = 0.0 }, "tolerance" },
        { { .time = 0.5, .tolerance = 1e-200 }, "tolerance" },
        { { .time = 0.5, .tolerance = NAN }, "tolerance" },
        { { .time = 0.5, .value = NAN, .tolerance = 0.1 }, "via[1]" },
        { { .time = 9.0, .tolerance = 0.1 }, "via.time[1]" },
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        const tce_mp_via two[2] = { good, bad[i].via };
        ck_assert_int_eq(
            tce_mp_condition(mp, 2, two, 0.0, NULL, NULL, mean, L, work, out_mean, out_L),
            TCE_E_VALUE);
        check_message(bad[i].part);
    }
    ck_assert_int_eq(tce_mp_condition(mp, 1, NULL, 0.0, NULL, NULL, mean, L, work, out_mean, out_L),
                     TCE_E_ARGUMENT);
    ck_assert_int_eq(
        tce_mp_condition(mp, 1, &good, -1.0, NULL, speed, mean, L, work, out_mean, out_L),
        TCE_E_VALUE);
    check_outputs(TCE_E_VALUE, P, out_mean);
    check_outputs(TCE_E_VALUE, P * P, out_L);
    L[P + 1] = 0.0;
    ck_assert_int_eq(
        tce_mp_condition(mp, 1, &good, 0.0, NULL, NULL, mean, L, work, out_mean, out_L),
        TCE_E_NOT_PD);
    check_message("L[1,1]");
    check_outputs(TCE_E_NOT_PD, P, out_mean);
    check_outputs(TCE_E_NOT_PD, P * P, out_L);
    tce_mp_free(mp);
}
END_TEST

START_TEST(a_blend_checks_both_plans)
{
    tce_mp_options o = options(TCE_MP_PRODMP);
    tce_mp *mp = test_mp(&o);
    o.n_dof = 1;
    tce_mp *other = test_mp(&o);
    const double params[P] = { 0 };
    double times[2] = { 0.2, 0.6 }, out[2 * D];
    tce_mp_plan a, b;
    a = TCE_INIT(tce_mp_plan);
    a.mp = mp;
    a.params = params;
    b = a;
    preset(2 * D, out);
    ck_assert_int_eq(tce_mp_blend(&a, &b, 0.5, 0.5, 2, times, out, NULL, NULL), TCE_E_VALUE);
    check_message("from");
    ck_assert_int_eq(tce_mp_blend(&a, &b, 0.4, NAN, 2, times, out, NULL, NULL), TCE_E_VALUE);
    ck_assert_int_eq(tce_mp_blend(&a, NULL, 0.4, 0.5, 2, times, out, NULL, NULL), TCE_E_ARGUMENT);
    b.mp = other;
    ck_assert_int_eq(tce_mp_blend(&a, &b, 0.4, 0.5, 2, times, out, NULL, NULL), TCE_E_SHAPE);
    b.mp = NULL;
    ck_assert_int_eq(tce_mp_blend(&a, &b, 0.4, 0.5, 2, times, out, NULL, NULL), TCE_E_ARGUMENT);
    b = a;
    b.params = NULL;
    ck_assert_int_eq(tce_mp_blend(&a, &b, 0.4, 0.5, 2, times, out, NULL, NULL), TCE_E_ARGUMENT);
    b = a;
    times[1] = 6.0;
    ck_assert_int_eq(tce_mp_blend(&a, &b, 0.4, 0.5, 2, times, out, NULL, NULL), TCE_E_VALUE);
    check_message("times[1]");
    check_outputs(TCE_E_VALUE, 2 * D, out);
    tce_mp_free(mp);
    tce_mp_free(other);
}
END_TEST

START_TEST(a_store_without_a_primitive_is_refused)
{
    tce_store *store = NULL;
    tce_mp *mp = (tce_mp *)&store;
    ok(tce_store_create(NULL, &store));
    ck_assert_int_eq(tce_mp_create_from(store, "mp", NULL, &mp), TCE_E_NOT_FOUND);
    ck_assert_ptr_null(mp);

    /* hostile numbers are refused like any options */
    const tce_mp_options o = options(TCE_MP_PRODMP);
    tce_mp *good = test_mp(&o);
    ok(tce_mp_save(good, store, "mp"));
    const int32_t many = 1000000;
    const double scales[2] = { 1.0, 2.0 };
    const size_t two = 2;
    ok(tce_store_put(store, "mp.weights_scales", TCE_STORE_F64, 1, &two, scales));
    ck_assert_int_eq(tce_mp_create_from(store, "mp", NULL, &mp), TCE_E_SHAPE);
    ok(tce_store_put(store, "mp.n_basis", TCE_STORE_I32, 0, NULL, &many));
    ck_assert_int_eq(tce_mp_create_from(store, "mp", NULL, &mp), TCE_E_VALUE);
    ck_assert_ptr_null(mp);

    char prefix[300];
    memset(prefix, 'x', sizeof prefix - 1);
    prefix[sizeof prefix - 1] = '\0';
    ck_assert_int_eq(tce_mp_save(good, store, prefix), TCE_E_VALUE);
    ck_assert_int_eq(tce_mp_create_from(store, prefix, NULL, &mp), TCE_E_VALUE);
    tce_mp_free(good);
    tce_store_free(store);
}
END_TEST

/* ---- memory ---------------------------------------------------------------------------------- */

START_TEST(create_asks_once_and_fails_cleanly)
{
    for (int kind = 0; kind < 4; kind++) {
        tce_mp_options o = options(kind % 3);
        o.basis = kind == 3;
        test_memory m = { .budget = 0 };
        tce_hooks hooks;
        test_hooks(&m, &hooks);
        tce_mp *mp = NULL;
        ck_assert_int_eq(tce_mp_create(&o, &hooks, &mp), TCE_E_NOMEM);
        ck_assert_ptr_null(mp);
        ck_assert_uint_eq(m.live, 0);
        m.budget = 1;
        ok(tce_mp_create(&o, &hooks, &mp));
        ck_assert_uint_eq(m.n_alloc, 1);
        tce_mp_free(mp);
        ck_assert_uint_eq(m.live, 0);
    }
    tce_mp_free(NULL);

    /* a refusal after the block was made gives it back */
    tce_mp_options o = options(TCE_MP_PRODMP);
    o.n_basis = 1;
    o.basis_bandwidth_factor = 1e9;
    o.dt = 1.0 / 101.0;
    test_memory m = { .budget = SIZE_MAX };
    tce_hooks hooks;
    test_hooks(&m, &hooks);
    tce_mp *mp = NULL;
    ck_assert_int_eq(tce_mp_create(&o, &hooks, &mp), TCE_E_SINGULAR);
    ck_assert_uint_eq(m.live, 0);
}
END_TEST

START_TEST(nothing_allocates_after_create)
{
    for (int kind = 0; kind < 4; kind++) {
        tce_mp_options o = options(kind % 3);
        o.basis = kind == 3;
        test_memory m = { .budget = SIZE_MAX };
        tce_hooks hooks;
        test_hooks(&m, &hooks);
        tce_mp *mp = NULL;
        ok(tce_mp_create(&o, &hooks, &mp));
        m.budget = 0;

        inputs in;
        make_inputs(&in);
        double pos[E * T * D], vel[E * T * D], acc[E * T * D], d_params[E * P], L[P * P] = { 0 },
                                                                                      big[400];
        for (size_t i = 0; i < P; i++)
            L[i * tce_mp_n_params(mp) % (P * P)] = 1.0;
        ok(tce_mp_trajectory(mp, &in.grid, in.params, pos, vel, acc));
        ok(tce_mp_trajectory_backward(mp, &in.grid, in.params, pos, vel, d_params));
        ok(tce_mp_query(mp, 0.3, in.params, 0.0, NULL, NULL, pos, vel, acc));
        ok(tce_mp_fit(mp, T, in.times, pos, 1e-6, work, d_params));
        if (kind != TCE_MP_DMP) {
            ok(tce_mp_basis(mp, T, in.times, 0.0, big, NULL, NULL));
            ok(tce_mp_covariance(mp, T, in.times, 0.0, L, 0.0, 0, big, NULL));
        }
        ck_assert_uint_eq(m.n_alloc, 1);
        ck_assert_uint_eq(m.live, 1);
        tce_mp_free(mp);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("mp errors");
    TCase *errors = test_case(suite, "errors", 0);
    tcase_add_test(errors, create_refuses_what_it_cannot_make);
    tcase_add_test(errors, options_that_a_kind_does_not_use_are_not_checked);
    tcase_add_test(errors, nan_in_any_input_is_refused_by_its_index);
    tcase_add_test(errors, shapes_that_do_not_fit_are_refused);
    tcase_add_test(errors, the_clock_of_a_prodmp_has_its_limits);
    tcase_add_test(errors, a_learnt_tau_must_be_positive);
    tcase_add_test(errors, a_start_whose_conditions_underflow_is_singular);
    tcase_add_test(errors, a_promps_velocity_needs_times_that_differ);
    tcase_add_test(errors, missing_starts_are_zeros);
    tcase_add_test(errors, a_query_refuses_what_a_trajectory_refuses);
    tcase_add_test(errors, a_dmp_far_from_its_start_is_refused_before_it_is_integrated);
    tcase_add_test(errors, linear_calls_refuse_what_is_not_linear);
    tcase_add_test(errors, basis_and_covariance_check_their_numbers);
    tcase_add_test(errors, a_fit_checks_its_demonstration);
    tcase_add_test(errors, conditioning_checks_its_via_points);
    tcase_add_test(errors, a_blend_checks_both_plans);
    tcase_add_test(errors, a_store_without_a_primitive_is_refused);

    TCase *memory = test_case(suite, "memory", 0);
    tcase_add_test(memory, create_asks_once_and_fails_cleanly);
    tcase_add_test(memory, nothing_allocates_after_create);

    return test_run(suite);
}
