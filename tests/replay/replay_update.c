/*
 * Whole policy updates: several epochs of predict, project, surrogate, gradient, Adam, each
 * compared in every number the case has.
 *
 * The rollout's (mean, L) is what the policy predicts before the first epoch, unless old_mean and
 * old_chol are given. Paths start at init_time (0) with velocity 0; their times are init_time + dt
 * (1 … steps).
 */
#include "replay.h"

#include <string.h>

#include "collect/factors.h"
#include "methods/policy_update.h"

enum { MAX_STEPS = 1 << 20 };

/* One case with everything it is made of. */
typedef struct update {
    const json_t *options;
    int32_t form;       /* TCE_POLICY_… */
    int32_t contextual; /* covariance by a second network */
    size_t E;
    size_t P;
    size_t N; /* factors: 1 or E */
    size_t J;
    size_t n_parameters;
    size_t n_mean; /* of them in the mean network */
    replay_layers net;
    policy_update work;
    policy_update_options settings;
    policy_rows rows;
    const double *params;        /* [E, P]: sampled */
    segment_likelihood segments; /* TCE; no segment: BBRL */
    parameter_likelihood parameters;
} update;

static void free_policy(void *policy)
{
    tce_policy_free(policy);
}

static void free_trpl(void *tr)
{
    tce_trpl_free(tr);
}

static void free_arrays(void *arrays)
{
    memory_free(arrays);
}

/* ---- options --------------------------------------------------------------------------------- */

/* A text of the case itself, else of its "options"; NULL when neither has it. */
static const char *text_option(replay_case *c, const update *u, const char *key,
                               const char *short_key)
{
    const char *text = replay_text(c, c->root, key);

    return text != NULL ? text : replay_text(c, u->options, short_key);
}

/* TCE_POLICY_… of "covariance". */
static int32_t read_form(replay_case *c, const update *u)
{
    const char *form = text_option(c, u, "covariance", "form");

    if (form == NULL || strcmp(form, "shared") == 0)
        return TCE_POLICY_FULL_SHARED;
    if (strcmp(form, "diagonal") == 0)
        return TCE_POLICY_DIAGONAL_SHARED;
    if (strcmp(form, "contextual") == 0)
        return TCE_POLICY_FULL_CONTEXTUAL;
    replay_fail(c, "\"covariance\" %s is unknown", form);
}

/*
 * TCE_TRPL_… of "projection": KL when it is not mentioned, none when it is null or ratios are
 * clipped.
 */
static int32_t read_projection(replay_case *c, const update *u)
{
    const char *name = text_option(c, u, "projection", "projection");
    const int mentioned = json_object_get(c->root, "projection") != NULL;

    if (name == NULL)
        return mentioned || u->segments.paths.clip > 0.0 ? TCE_TRPL_IDENTITY : TCE_TRPL_KL;
    if (strcmp(name, "kl") == 0)
        return TCE_TRPL_KL;
    if (strcmp(name, "w2") == 0)
        return TCE_TRPL_W2;
    if (strcmp(name, "frobenius") == 0)
        return TCE_TRPL_FROBENIUS;
    if (strcmp(name, "none") == 0)
        return TCE_TRPL_IDENTITY;
    replay_fail(c, "\"projection\" %s is unknown", name);
}

/* ---- handles --------------------------------------------------------------------------------- */

/* The policy with the weights and the covariance the case starts from. */
static void create_policy(replay_case *c, update *u)
{
    const char *start_key = replay_get(c, c->root, "covariance_start") != NULL ? "covariance_start"
                                                                               : "chol_vector";
    size_t shape[REPLAY_MAX_RANK];
    replay_layers cov = { 0 };
    tce_policy_options opt;

    replay_read_layers(c, c->root, "weights", &u->net);
    if (replay_shape(c, c->root, "contexts", shape) != 2 || shape[1] != u->net.n_in)
        replay_fail(c, "\"contexts\" does not fit \"weights\"");
    u->E = shape[0];
    u->P = u->net.n_out;
    u->form = read_form(c, u);
    u->contextual = u->form == TCE_POLICY_FULL_CONTEXTUAL;

    tce_policy_options_init(&opt, sizeof opt);
    opt.n_obs = (int32_t)u->net.n_in;
    opt.n_dims = (int32_t)u->P;
    opt.form = u->form;
    opt.n_hidden = (int32_t)u->net.n - 1;
    opt.hidden = u->net.hidden;
    opt.activation = replay_activation(c);
    opt.precision = TCE_NET_DOUBLE;
    opt.max_batch = (int32_t)u->E;
    opt.min_std = replay_number(c, c->root, "min_std");
    if (u->contextual) {
        replay_read_layers(c, c->root, start_key, &cov);
        opt.n_cov_hidden = (int32_t)cov.n - 1;
        opt.cov_hidden = cov.hidden;
    }
    replay_ok(c, tce_policy_create(&opt, NULL, &u->work.policy));
    replay_keep(c, u->work.policy, free_policy);

    /* all parameters: the mean network's, then the covariance's */
    u->N = tce_policy_n_factors(u->work.policy, u->E);
    u->n_parameters = tce_policy_n_weights(u->work.policy);
    u->n_mean = u->net.n_parameters;
    if (u->n_parameters < u->n_mean ||
        (u->contextual && cov.n_parameters != u->n_parameters - u->n_mean))
        replay_fail(c, "\"%s\" does not fit the policy", start_key);
    const size_t n_cov = u->n_parameters - u->n_mean;
    double *parameters = replay_zeros(c, u->n_parameters);
    memcpy(parameters, u->net.parameters, u->n_mean * sizeof *parameters);
    memcpy(parameters + u->n_mean,
           u->contextual ? cov.parameters : replay_array(c, c->root, start_key, n_cov),
           n_cov * sizeof *parameters);
    replay_ok(c, tce_policy_set_weights(u->work.policy, parameters));
}

static void create_projection(replay_case *c, update *u)
{
    const json_t *bound = replay_get(c, c->root, "minimum_entropy");
    tce_trpl_options opt;

    tce_trpl_options_init(&opt, sizeof opt);
    opt.kind = read_projection(c, u);
    opt.dim = (int32_t)u->P;
    opt.max_batch = (int32_t)u->E;
    opt.shared_cov = !u->contextual;
    opt.diagonal = u->form == TCE_POLICY_DIAGONAL_SHARED;
    u->settings.bounds = TCE_INIT(tce_trpl_bounds);
    u->settings.bounds.mean = replay_number(c, c->root, "mean_bound");
    u->settings.bounds.cov = replay_number(c, c->root, "cov_bound");

    /* entropy control, which plain ratio clipping does without */
    if (bound != NULL && opt.kind != TCE_TRPL_IDENTITY) {
        opt.entropy = replay_int_or(c, u->options, "equality", 0) ? TCE_TRPL_ENTROPY_EQUAL
                                                                  : TCE_TRPL_ENTROPY_AT_LEAST;
        opt.entropy_first = replay_int_or(c, u->options, "entropy_first", 0);
        u->settings.bounds.entropy = replay_number(c, c->root, "minimum_entropy");
    }
    if (opt.kind == TCE_TRPL_IDENTITY)
        u->settings.regression = 0.0;
    replay_ok(c, tce_trpl_create(&opt, NULL, &u->work.trpl));
    replay_keep(c, u->work.trpl, free_trpl);
}

/* ---- batch ----------------------------------------------------------------------------------- */

/* The sampled parameters, their paths, and (except for BBRL) the segments on them. */
static void create_paths(replay_case *c, update *u)
{
    const json_t *config = replay_object(c, c->root, "config");
    tce_mp_options opt;
    tce_mp_grid grid;
    const tce_mp *mp = replay_mp(c, TCE_MP_PRODMP, &opt);
    const size_t D = tce_mp_n_dof(mp);

    if (tce_mp_n_params(mp) != u->P)
        replay_fail(c, "the primitive has %zu parameters, the policy %zu", tce_mp_n_params(mp),
                    u->P);
    u->params = replay_array(c, c->root, "sampled_params", u->E * u->P);
    if (replay_int_or(c, u->options, "bbrl", 0)) {
        /* the paths do not matter then, so neither do their fields */
        static const char *const path_fields[] = { "init_pos", "init_vel", "init_time", "steps",
                                                   "pairs" };
        for (size_t i = 0; i < sizeof path_fields / sizeof path_fields[0]; i++)
            (void)replay_get(c, c->root, path_fields[i]);
        return;
    }

    /* paths at init_time + dt (1 … steps) */
    const json_t *steps = replay_get(c, c->root, "steps") != NULL ? c->root : config;
    const size_t T = (size_t)replay_int(c, steps, "steps", 1, MAX_STEPS);
    size_t n_grids = 1;
    const double *init_time = replay_zeros(c, 1);
    if (replay_get(c, c->root, "init_time") != NULL) {
        size_t shape[REPLAY_MAX_RANK];
        const size_t n = replay_shape(c, c->root, "init_time", shape) > 0 ? shape[0] : 1;
        init_time = replay_array(c, c->root, "init_time", n);
        n_grids = n == 1 ? 1 : replay_distinct_rows(n, 1, init_time);
        if (n_grids != 1 && n_grids != u->E)
            replay_fail(c, "\"init_time\" has %zu numbers for %zu episodes", n_grids, u->E);
    }
    double *times = replay_zeros(c, n_grids * T);
    for (size_t i = 0; i < n_grids * T; i++)
        times[i] = init_time[i / T] + opt.dt * (double)(i % T + 1);
    u->segments.paths.init_pos = replay_array(c, c->root, "init_pos", u->E * D);
    if (replay_get(c, c->root, "init_vel") != NULL)
        u->segments.paths.init_vel = replay_array(c, c->root, "init_vel", u->E * D);
    grid = TCE_INIT(tce_mp_grid);
    grid.E = u->E;
    grid.T = T;
    grid.n_time_rows = n_grids;
    grid.n_init_times = n_grids;
    grid.times = times;
    grid.init_time = init_time;
    grid.init_pos = u->segments.paths.init_pos;
    grid.init_vel = u->segments.paths.init_vel;
    double *positions = replay_zeros(c, u->E * T * D);
    replay_ok(c, tce_mp_trajectory(mp, &grid, u->params, positions, NULL, NULL));
    u->segments.paths.positions = positions;

    const int32_t *pairs = replay_pairs(c, &u->J);
    const replay_segment_setup setup = { mp,        u->E,           T,    n_grids, times,
                                         init_time, !u->contextual, u->J, pairs };
    u->segments.segment = replay_segment(c, &setup);
}

/* The rollout's Gaussians and the likelihoods under them. */
static void create_batch(replay_case *c, update *u)
{
    double *old_mean = replay_zeros(c, u->E * u->P);
    double *old_L = replay_zeros(c, u->N * u->P * u->P);
    double *contexts = replay_array(c, c->root, "contexts", u->E * u->net.n_in);
    double *work = replay_zeros(c, tce_gauss_work_size(u->E, u->P));

    replay_ok(c, factors_predict(u->work.policy, u->E, contexts, old_mean, old_L));
    if (replay_get(c, c->root, "old_mean") != NULL) {
        old_mean = replay_array(c, c->root, "old_mean", u->E * u->P);
        old_L = replay_array(c, c->root, "old_chol", u->N * u->P * u->P);
    }

    segment_likelihood *s = &u->segments;
    const size_t n = s->segment != NULL ? u->E * u->J : u->E;
    double *log_prob = replay_zeros(c, n);
    s->paths.struct_size = sizeof s->paths;
    s->paths.E = u->E;
    s->paths.mean = old_mean;
    s->paths.L = old_L;
    s->paths.out_log_prob = log_prob;
    if (s->segment != NULL)
        replay_ok(c, tce_segment_log_prob(s->segment, &s->paths));
    const tce_gauss old_policy = { .struct_size = sizeof old_policy,
                                   .n = u->E,
                                   .dim = u->P,
                                   .n_scales = u->N,
                                   .mean = old_mean,
                                   .scale = old_L };
    if (s->segment == NULL)
        replay_ok(c, tce_gauss_log_prob(&old_policy, u->params, work, log_prob));
    replay_compare(c, c->root, "log_prob_old", n, log_prob, TOL_NUMBERS);
    if (replay_get(c, c->root, "log_prob_old") != NULL)
        log_prob = replay_array(c, c->root, "log_prob_old", n);

    s->paths.out_log_prob = NULL;
    s->paths.log_prob_old = log_prob;
    s->paths.advantages = replay_array(c, c->root, "advantages", n);
    u->parameters = (parameter_likelihood){ .n = u->E,
                                            .n_factors = u->N,
                                            .P = u->P,
                                            .params = u->params,
                                            .old_log_prob = log_prob,
                                            .advantages = s->paths.advantages,
                                            .ratio_clip = s->paths.clip,
                                            .log_prob = replay_zeros(c, u->E),
                                            .d_log_prob = replay_zeros(c, u->E),
                                            .work = work };
    u->rows = (policy_rows){ u->E,
                             contexts,
                             old_mean,
                             old_L,
                             s->segment != NULL ? segment_surrogate : parameter_surrogate,
                             s->segment != NULL ? (void *)s : &u->parameters };
}

/* ---- epochs ---------------------------------------------------------------------------------- */

static void replay_epoch(replay_case *c, update *u, const json_t *epoch)
{
    policy_update *w = &u->work;
    policy_gradient made;
    double *gradient = replay_zeros(c, u->n_parameters);
    double *eta = replay_zeros(c, u->N);
    double norm, entropy;

    /* what the epoch computes */
    made.stats = TCE_INIT(tce_returns_stats);
    replay_ok(c, policy_update_gradient(w, &u->rows, &u->settings, &made));
    replay_ok(c, policy_update_entropy(w, u->E, w->proj_L, &entropy));
    replay_ok(c, tce_trpl_distances(u->work.trpl, u->E, NULL, NULL, eta));
    tce_policy_get_gradient(u->work.policy, gradient);
    replay_compare(c, epoch, "surrogate", 1, &made.stats.loss, TOL_NUMBERS);
    replay_compare(c, epoch, "trust_region", 1, &made.regression, TOL_NUMBERS);
    replay_compare(c, epoch, "entropy", 1, &entropy, TOL_NUMBERS);
    replay_compare(c, epoch, "fraction_clipped", 1, &made.stats.fraction_clipped, TOL_NUMBERS);
    replay_compare(c, epoch, "eta", u->N, eta, TOL_NUMBERS);
    replay_compare(c, epoch, "projected_mean", u->E * u->P, w->proj_mean, TOL_NUMBERS);
    replay_compare(c, epoch, "projected_chol", u->N * u->P * u->P, w->proj_L, TOL_NUMBERS);

    /*
     * gradients of the covariance vector and of the first layer's biases, which follow its weights
     */
    replay_compare_gradient(c, epoch, "grad_chol_vector", u->n_parameters - u->n_mean,
                            gradient + u->n_mean);
    const size_t n_first = u->net.n > 0 ? (size_t)u->net.hidden[0] : 0;
    replay_compare_gradient(c, epoch, "grad_first_bias", n_first, gradient + n_first * u->net.n_in);

    /* the step */
    replay_ok(c, policy_update_step(w, &u->settings, &norm));
    replay_compare(c, epoch, "gradient_norm", 1, &norm, TOL_NUMBERS);
}

/* Parameters after the last epoch. */
static void replay_final(replay_case *c, update *u)
{
    const char *cov_key = replay_get(c, c->root, "final_covariance") != NULL ? "final_covariance"
                                                                             : "final_chol_vector";
    double *parameters = replay_zeros(c, u->n_parameters);
    const size_t n_cov = u->n_parameters - u->n_mean;

    tce_policy_get_weights(u->work.policy, parameters);
    replay_compare_layers(c, c->root, "final_weights", u->n_mean, parameters);
    if (u->contextual)
        replay_compare_layers(c, c->root, cov_key, n_cov, parameters + u->n_mean);
    else
        replay_compare(c, c->root, cov_key, n_cov, parameters + u->n_mean, TOL_NUMBERS);
}

void replay_policy_update(replay_case *c)
{
    update *u = replay_block(c, 1, sizeof *u);
    const json_t *given = replay_get(c, c->root, "options");

    /* settings; "options" names what differs from the defaults */
    u->options = given != NULL ? given : c->root;
    const double coefficient = replay_number_or(c, u->options, "coef", 1.0);
    u->settings.regression = replay_number_or(c, c->root, "trust_region_coefficient", coefficient);
    u->settings.entropy_bonus = replay_number_or(c, u->options, "bonus", 0.0);
    u->segments.paths.clip = replay_number_or(c, u->options, "ratio_clip", 0.0);
    const int32_t set_variance = replay_int_or(c, u->options, "set_variance", 0);
    u->settings.regress_cov = !set_variance;
    u->settings.clip_norm = replay_number_or(c, u->options, "clip_norm", 0.0);
    tce_adam_options_init(&u->settings.adam, sizeof u->settings.adam);
    u->settings.adam.learning_rate = replay_number(c, c->root, "lr");
    u->settings.adam.l2 = replay_number_or(c, c->root, "l2", 0.0);

    /* handles and batch */
    create_policy(c, u);
    create_projection(c, u);
    create_paths(c, u);
    memory *arrays = replay_block(c, 1, sizeof *arrays);
    replay_keep(c, arrays, free_arrays);
    const policy_update_sizes sizes = { .max_rows = u->E,
                                        .n_scales = u->N,
                                        .P = u->P,
                                        .diagonal = u->form == TCE_POLICY_DIAGONAL_SHARED };
    policy_update_take(&u->work, arrays, &sizes);
    if (arrays->failed)
        replay_fail(c, "no memory for %zu episodes", u->E);
    create_batch(c, u);

    /* epochs */
    const json_t *epochs = replay_get(c, c->root, "epochs");
    for (size_t i = 0; i < json_array_size(epochs); i++)
        replay_epoch(c, u, json_array_get(epochs, i));

    /* set variance: the policy takes over the projected factor */
    if (set_variance) {
        replay_ok(c, policy_update_project(&u->work, &u->rows, &u->settings.bounds));
        replay_ok(c, factors_set(u->work.policy, u->work.proj_L, u->work.d_mean));
    }
    replay_final(c, u);
}
