/*
 * Movement primitives: paths (position, velocity, acceleration), segment likelihoods along them,
 * fits, path covariance, phases.
 *
 * Config values that are not given are the defaults of the case files: delay 0, n_basis_outside
 * 0, relative_goal false, auto_scale_basis true; starts default to time 0 and velocity 0.
 */
#include "mp/mp.h"
#include "mp/mp.h"
#include "replay.h"

#include <string.h>

enum { MAX_DOF = 1 << 16, MAX_STEPS = 1 << 20 };

/* ---- primitives and starts ------------------------------------------------------------------- */

static void free_mp(void *mp)
{
    tce_mp_free(mp);
}

typedef struct name_value {
    const char *name;
    int32_t value;
} name_value;

/*
 * The value of the name object[key] in a table that ends with NULL; a name that is not in it ends
 * the case.
 */
static int32_t read_name(replay_case *c, const json_t *object, const char *key,
                         const name_value *names, int32_t otherwise)
{
    const char *text = replay_text(c, object, key);

    if (text == NULL)
        return otherwise;
    for (; names->name != NULL; names++)
        if (strcmp(text, names->name) == 0)
            return names->value;
    replay_fail(c, "\"%s\" %s is unknown", key, text);
}

tce_mp *replay_mp(replay_case *c, int32_t kind, tce_mp_options *opt)
{
    static const name_value phases[] = { { "natural", TCE_MP_PHASE_NATURAL },
                                         { "linear", TCE_MP_PHASE_NATURAL },
                                         { "exponential", TCE_MP_PHASE_NATURAL },
                                         { "exp", TCE_MP_PHASE_NATURAL },
                                         { "smooth", TCE_MP_PHASE_SMOOTH },
                                         { "rhythmic", TCE_MP_PHASE_RHYTHMIC },
                                         { NULL, 0 } };
    static const name_value bases[] = { { "table", TCE_MP_BASIS_TABLE },
                                        { "exact", TCE_MP_BASIS_EXACT },
                                        { NULL, 0 } };
    const json_t *config = replay_object(c, c->root, "config");
    tce_mp *mp;

    tce_mp_options_init(opt, sizeof *opt);
    opt->kind = kind;
    opt->phase = read_name(c, config, "phase", phases, opt->phase);
    opt->basis = read_name(c, config, "basis", bases, opt->basis);

    /* sizes and switches */
    opt->n_dof = replay_int(c, config, "num_dof", 1, MAX_DOF);
    opt->n_basis = replay_int_or(c, config, "num_basis", opt->n_basis);
    opt->n_basis_outside = replay_int_or(c, config, "num_basis_outside", 0);
    opt->table_length = replay_int_or(c, config, "table_length", opt->table_length);
    opt->relative_goal = replay_int_or(c, config, "relative_goal", 0);
    opt->auto_scale_basis = replay_int_or(c, config, "auto_scale_basis", 1);
    opt->disable_goal = replay_int_or(c, config, "disable_goal", 0);
    opt->disable_weights = replay_int_or(c, config, "disable_weights", 0);
    opt->learn_tau = replay_int_or(c, config, "learn_tau", 0);
    opt->learn_delay = replay_int_or(c, config, "learn_delay", 0);

    /* times and gains */
    opt->tau = replay_number_or(c, config, "tau", opt->tau);
    opt->delay = replay_number_or(c, config, "delay", 0.0);
    opt->dt = replay_number_or(c, config, "dt", opt->dt);
    opt->alpha = replay_number_or(c, config, "alpha", opt->alpha);
    opt->alpha_phase = replay_number_or(c, config, "alpha_phase", opt->alpha_phase);
    opt->basis_bandwidth_factor = replay_number_or(c, config, "basis_bandwidth_factor",
                                                   opt->basis_bandwidth_factor);

    /* one scale for all weights, or one for each basis function */
    opt->goal_scale = replay_number_or(c, config, "goal_scale", opt->goal_scale);
    if (json_is_array(replay_get(c, config, "weights_scale")))
        opt->weights_scales = replay_array(c, config, "weights_scale", (size_t)opt->n_basis);
    else
        opt->weights_scale = replay_number_or(c, config, "weights_scale", opt->weights_scale);

    replay_ok(c, tce_mp_create(opt, NULL, &mp));
    replay_keep(c, mp, free_mp);
    return mp;
}

void replay_grid(replay_case *c, size_t E, size_t D, tce_mp_grid *out)
{
    size_t shape[REPLAY_MAX_RANK];

    *out = TCE_INIT(tce_mp_grid);
    out->E = E;

    /* times [T], [1, T] or [E, T] */
    const size_t rank = replay_shape(c, c->root, "times", shape);
    out->T = rank > 1 ? shape[1] : shape[0];
    out->n_time_rows = rank > 1 ? shape[0] : 1;
    if (out->n_time_rows != 1 && out->n_time_rows != E)
        replay_fail(c, "\"times\" has %zu rows for %zu paths", out->n_time_rows, E);
    out->times = replay_array(c, c->root, "times", out->n_time_rows * out->T);

    /* starts: a number, [1] or [E]; zeros when not given */
    out->n_init_times = 1;
    if (replay_get(c, c->root, "init_time") != NULL) {
        out->n_init_times = replay_shape(c, c->root, "init_time", shape) > 0 ? shape[0] : 1;
        out->init_time = replay_array(c, c->root, "init_time", out->n_init_times);
    } else {
        out->init_time = replay_zeros(c, 1);
    }
    if (replay_get(c, c->root, "init_pos") != NULL)
        out->init_pos = replay_array(c, c->root, "init_pos", E * D);
    if (replay_get(c, c->root, "init_vel") != NULL)
        out->init_vel = replay_array(c, c->root, "init_vel", E * D);
}

/* ---- paths ----------------------------------------------------------------------------------- */

/*
 * segment_log_prob [E, J]: the path of params at t_b + dt (1 … steps), scored under the Gaussian of
 * policy_mean and policy_chol.
 */
static void replay_segment_log_prob(replay_case *c, const tce_mp *mp, const tce_mp_options *opt,
                                    const tce_mp_grid *starts, const double *params)
{
    const json_t *config = replay_object(c, c->root, "config");
    const size_t E = starts->E;
    const size_t D = tce_mp_n_dof(mp);
    const size_t P = tce_mp_n_params(mp);
    const size_t T = (size_t)replay_int(c, config, "steps", 1, MAX_STEPS);
    size_t shape[REPLAY_MAX_RANK];
    size_t J;

    /* each episode's own times; one row when they all start together */
    const size_t n_grids = starts->n_init_times == 1
                               ? 1
                               : replay_distinct_rows(E, 1, starts->init_time);
    double *times = replay_zeros(c, n_grids * T);
    for (size_t g = 0; g < n_grids; g++)
        for (size_t t = 0; t < T; t++)
            times[g * T + t] = starts->init_time[g] + opt->dt * (double)(t + 1);
    tce_mp_grid grid = *starts;
    grid.T = T;
    grid.n_time_rows = n_grids;
    grid.n_init_times = n_grids;
    grid.times = times;
    double *positions = replay_zeros(c, E * T * D);
    replay_ok(c, tce_mp_trajectory(mp, &grid, params, positions, NULL, NULL));

    /* one factor for all, or one for each */
    const size_t n_cov = replay_shape(c, c->root, "policy_chol", shape) > 2 ? shape[0] : 1;
    const double *mean = replay_array(c, c->root, "policy_mean", E * P);
    const double *L = replay_array(c, c->root, "policy_chol", n_cov * P * P);
    const int32_t *pairs = replay_pairs(c, &J);
    const replay_segment_setup setup = { mp,         E, T,    n_grids, times, grid.init_time,
                                         n_cov == 1, J, pairs };
    tce_segment *seg = replay_segment(c, &setup);

    double *log_prob = replay_zeros(c, E * J);
    const tce_segment_paths paths = { .struct_size = sizeof paths,
                                      .E = E,
                                      .positions = positions,
                                      .mean = mean,
                                      .L = L,
                                      .init_pos = grid.init_pos,
                                      .init_vel = grid.init_vel,
                                      .out_log_prob = log_prob };
    replay_ok(c, tce_segment_log_prob(seg, &paths));
    replay_compare(c, c->root, "segment_log_prob", E * J, log_prob, TOL_NUMBERS);
}

static void replay_trajectory(replay_case *c, int32_t kind)
{
    tce_mp_options opt;
    tce_mp_grid grid;
    size_t shape[REPLAY_MAX_RANK];
    const tce_mp *mp = replay_mp(c, kind, &opt);
    const size_t D = tce_mp_n_dof(mp);
    const size_t P = tce_mp_n_params(mp);

    const size_t E = replay_shape(c, c->root, "params", shape) > 1 ? shape[0] : 1;
    const double *params = replay_array(c, c->root, "params", E * P);
    replay_grid(c, E, D, &grid);
    const size_t n = E * grid.T * D;
    double *pos = replay_zeros(c, n);
    double *vel = replay_zeros(c, n);
    double *acc = replay_get(c, c->root, "acc") != NULL ? replay_zeros(c, n) : NULL;

    replay_ok(c, tce_mp_trajectory(mp, &grid, params, pos, vel, acc));
    replay_compare(c, c->root, "pos", n, pos, TOL_TRAJECTORY);
    replay_compare(c, c->root, "vel", n, vel, TOL_TRAJECTORY);
    if (acc != NULL)
        replay_compare(c, c->root, "acc", n, acc, TOL_TRAJECTORY);
    if (replay_get(c, c->root, "segment_log_prob") != NULL)
        replay_segment_log_prob(c, mp, &opt, &grid, params);
}

void replay_trajectory_prodmp(replay_case *c)
{
    replay_trajectory(c, TCE_MP_PRODMP);
}

void replay_trajectory_promp(replay_case *c)
{
    replay_trajectory(c, TCE_MP_PROMP);
}

void replay_trajectory_dmp(replay_case *c)
{
    replay_trajectory(c, TCE_MP_DMP);
}

/* ---- fits ------------------------------------------------------------------------------------ */

/* Where the fit lets the demonstrations [E, T, D] start, unless the case says it. */
static void use_start_of_demo(replay_case *c, const tce_mp_options *opt, size_t T,
                              const double *demo, tce_mp_grid *grid)
{
    const size_t D = (size_t)opt->n_dof;
    double *pos = replay_zeros(c, grid->E * D);
    double *vel = replay_zeros(c, grid->E * D);

    for (size_t i = 0; i < grid->E * D; i++) {
        const double *times = grid->times + (grid->n_time_rows > 1 ? i / D * T : 0);
        const double *first = demo + i / D * T * D + i % D;
        pos[i] = first[0];
        if (T > 1 && (opt->kind != TCE_MP_PRODMP || times[0] >= opt->delay))
            vel[i] = (first[D] - first[0]) / (times[1] - times[0]);
    }
    if (grid->init_pos == NULL)
        grid->init_pos = pos;
    if (grid->init_vel == NULL)
        grid->init_vel = vel;
}

static void replay_fit(replay_case *c, int32_t kind)
{
    const double default_reg = 1e-9;
    tce_mp_options opt;
    tce_mp_grid grid;
    size_t shape[REPLAY_MAX_RANK];
    tce_mp *mp = replay_mp(c, kind, &opt);
    const size_t D = tce_mp_n_dof(mp);
    const size_t P = tce_mp_n_params(mp);

    /* demonstrations [T, D] or [E, T, D], each fitted alone */
    const size_t E = replay_shape(c, c->root, "demo", shape) > 2 ? shape[0] : 1;
    replay_grid(c, E, D, &grid);
    const size_t T = grid.T;
    const double *demo = replay_array(c, c->root, "demo", E * T * D);
    const double reg = replay_number_or(c, c->root, "reg", default_reg);
    double *params = replay_zeros(c, E * P);
    double *work = replay_zeros(c, tce_mp_work_size(mp));
    for (size_t e = 0; e < E; e++) {
        const double *times = grid.times + (grid.n_time_rows > 1 ? e * T : 0);
        replay_ok(c, tce_mp_fit(mp, T, times, demo + e * T * D, reg, work, params + e * P));
    }
    replay_compare(c, c->root, "params", E * P, params, TOL_NUMBERS);

    /* the fitted path; it starts at the first sample */
    if (replay_get(c, c->root, "refit_pos") == NULL)
        return;
    double *init_time = replay_zeros(c, grid.n_time_rows);
    for (size_t row = 0; row < grid.n_time_rows; row++)
        init_time[row] = grid.times[row * T];
    grid.n_init_times = grid.n_time_rows;
    grid.init_time = init_time;
    use_start_of_demo(c, &opt, T, demo, &grid);
    double *pos = replay_zeros(c, E * T * D);
    replay_ok(c, tce_mp_trajectory(mp, &grid, params, pos, NULL, NULL));
    replay_compare(c, c->root, "refit_pos", E * T * D, pos, TOL_TRAJECTORY);
}

void replay_fit_prodmp(replay_case *c)
{
    replay_fit(c, TCE_MP_PRODMP);
}

void replay_fit_promp(replay_case *c)
{
    replay_fit(c, TCE_MP_PROMP);
}

void replay_fit_dmp(replay_case *c)
{
    replay_fit(c, TCE_MP_DMP);
}

/* ---- covariance ------------------------------------------------------------------------------ */

void replay_trajectory_covariance(replay_case *c)
{
    static const name_value mps[] = {
        { "prodmp", TCE_MP_PRODMP }, { "promp", TCE_MP_PROMP }, { "dmp", TCE_MP_DMP }, { NULL, 0 }
    };
    tce_mp_options opt;
    tce_mp_grid grid;
    const tce_mp *mp = replay_mp(c, read_name(c, c->root, "mp", mps, TCE_MP_PRODMP), &opt);
    const size_t D = tce_mp_n_dof(mp);
    const size_t P = tce_mp_n_params(mp);

    replay_grid(c, 1, D, &grid);
    const size_t T = grid.T;
    const double *L = replay_array(c, c->root, "params_chol", P * P);
    const double reg = replay_number_or(c, c->root, "reg", 0.0);
    double *cov = replay_zeros(c, D * T * D * T);
    double *std = replay_zeros(c, T * D);

    replay_ok(c, tce_mp_covariance(mp, T, grid.times, grid.init_time[0], L, reg, 0, cov, std));
    replay_compare(c, c->root, "pos_cov", D * T * D * T, cov, TOL_TRAJECTORY);
    replay_compare(c, c->root, "pos_std", T * D, std, TOL_TRAJECTORY);
    replay_ok(c, tce_mp_covariance(mp, T, grid.times, grid.init_time[0], L, reg, 1, cov, std));
    replay_compare(c, c->root, "vel_cov", D * T * D * T, cov, TOL_TRAJECTORY);
    replay_compare(c, c->root, "vel_std", T * D, std, TOL_TRAJECTORY);

    /* each of the two alone */
    replay_ok(c, tce_mp_covariance(mp, T, grid.times, grid.init_time[0], L, reg, 0, NULL, std));
    replay_compare(c, c->root, "pos_std", T * D, std, TOL_TRAJECTORY);
    replay_ok(c, tce_mp_covariance(mp, T, grid.times, grid.init_time[0], L, reg, 0, cov, NULL));
    replay_compare(c, c->root, "pos_cov", D * T * D * T, cov, TOL_TRAJECTORY);
}

/* ---- phases ---------------------------------------------------------------------------------- */

/* A ProMP of the case with tau 1 and delay 0, so that times are scaled times. */
static const tce_mp *create_phase(replay_case *c, int32_t phase, int32_t n_basis, double bandwidth)
{
    tce_mp_options opt;
    tce_mp *mp;

    tce_mp_options_init(&opt, sizeof opt);
    opt.kind = TCE_MP_PROMP;
    opt.phase = phase;
    opt.n_basis = n_basis;
    opt.basis_bandwidth_factor = bandwidth;
    replay_ok(c, tce_mp_create(&opt, NULL, &mp));
    replay_keep(c, mp, free_mp);
    return mp;
}

void replay_phases(replay_case *c)
{
    static const name_value phases[] = { { "linear", TCE_MP_PHASE_NATURAL },
                                         { "smooth", TCE_MP_PHASE_SMOOTH },
                                         { "rhythmic", TCE_MP_PHASE_RHYTHMIC } };
    size_t shape[REPLAY_MAX_RANK];

    replay_shape(c, c->root, "scaled_times", shape);
    const size_t n = shape[0];
    const double *times = replay_array(c, c->root, "scaled_times", n);
    const int32_t B = replay_int(c, c->root, "num_basis", 1, TCE_MP_MAX_BASIS);
    const double bandwidth = replay_number(c, c->root, "basis_bandwidth_factor");
    double *x = replay_zeros(c, n);
    double *basis = replay_zeros(c, n * (size_t)B);

    for (size_t i = 0; i < sizeof phases / sizeof phases[0]; i++) {
        const tce_mp *mp = create_phase(c, phases[i].value, B, bandwidth);
        for (size_t t = 0; t < n; t++)
            x[t] = tce__mp_phase_at(mp, times[t], NULL);
        replay_compare(c, c->root, phases[i].name, n, x, TOL_TRAJECTORY);
        if (phases[i].value != TCE_MP_PHASE_RHYTHMIC)
            continue;
        replay_ok(c, tce_mp_basis(mp, n, times, 0.0, basis, NULL, NULL));
        replay_compare(c, c->root, "rhythmic_basis", n * (size_t)B, basis, TOL_TRAJECTORY);
    }
}
