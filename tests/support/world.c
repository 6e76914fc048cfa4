/*
 * A small world in which every handle of libtce works together; see world.h.
 */
#include "support.h"
#include "world.h"
#include "settings/settings.h"

#include <stdlib.h>
#include <string.h>

#include <check.h>

#include "collect/factors.h"
#include "methods/schedules.h"
#include "toy.h"

/* Purposes of random streams. */
enum {
    START_POLICY = 1,
    START_CRITIC = 2,
    EPISODES = 3,
    SAMPLES = 4,
    TIME_POINTS = 5,
    MINIBATCHES = 6
};

static const double DT = 0.025; /* seconds per step */
static const double TAU = 1.0;  /* seconds of the primitive: all T steps */

TOY(plane, "dof=2 steps=40")

/* ---- arrays ---------------------------------------------------------------------------------- */

static void take_arrays(world *w)
{
    const size_t E = WORLD_E, T = WORLD_T, D = WORLD_D, P = WORLD_P, O = WORLD_O, J = WORLD_J_MAX;
    const size_t N = w->options.form == TCE_POLICY_FULL_CONTEXTUAL ? E : 1;
    memory *const m = &w->arrays;

    w->critic.max_rows = E * (T + 1);
    w->critic.rows = memory_take(m, w->critic.max_rows, sizeof *w->critic.rows);
    w->obs = memory_doubles(m, E * (T + 1) * O);
    w->contexts = memory_doubles(m, E * O);
    w->init_pos = memory_doubles(m, E * D);
    w->init_vel = memory_doubles(m, E * D);
    w->old_mean = memory_doubles(m, E * P);
    w->old_L = memory_doubles(m, N * P * P);
    w->params = memory_doubles(m, E * P);
    w->times = memory_doubles(m, T);
    w->pos = memory_doubles(m, E * T * D);
    w->vel = memory_doubles(m, E * T * D);
    w->rewards = memory_doubles(m, E * T);
    w->values = memory_doubles(m, E * (T + 1));
    w->step_obs = memory_doubles(m, E * T * O);
    w->step_adv = memory_doubles(m, E * T);
    w->returns = memory_doubles(m, E * T);
    w->advantages = memory_doubles(m, E * J);
    w->log_prob = memory_doubles(m, E * J);
    const policy_update_sizes sizes = { .max_rows = E,
                                        .n_scales = N,
                                        .P = P,
                                        .diagonal = w->options.form == TCE_POLICY_DIAGONAL_SHARED };
    policy_update_take(&w->update, m, &sizes);
}

void world_start(world *w, const world_options *options)
{
    memset(w, 0, sizeof *w);
    w->options = *options;
    take_arrays(w);
    if (w->arrays.failed)
        ck_abort_msg("no memory for the world's arrays");
    for (size_t t = 0; t < WORLD_T; t++)
        w->times[t] = DT * (double)(t + 1);
}

/* ---- handles --------------------------------------------------------------------------------- */

static tce_status create_pool(world *w, const tce_hooks *hooks)
{
    tce_pool_options opt;

    if (w->options.n_threads == 0)
        return TCE_OK;
    tce_pool_options_init(&opt, sizeof opt);
    opt.n_threads = w->options.n_threads;
    return tce_pool_create(&opt, hooks, &w->pool);
}

static tce_status create_mp(world *w, const tce_hooks *hooks)
{
    tce_mp_options opt;

    tce_mp_options_init(&opt, sizeof opt);
    opt.n_dof = WORLD_D;
    opt.n_basis = WORLD_B;
    opt.tau = TAU;
    opt.dt = DT;
    opt.alpha = 10.0;
    return tce_mp_create(&opt, hooks, &w->mp);
}

static tce_status create_policy(world *w, const tce_hooks *hooks)
{
    const int32_t hidden[2] = { 16, 12 };
    tce_policy_options opt;
    tce_random random;

    tce_policy_options_init(&opt, sizeof opt);
    opt.n_obs = WORLD_O;
    opt.n_dims = WORLD_P;
    opt.form = w->options.form;
    opt.hidden = hidden;
    opt.precision = w->options.precision;
    opt.max_batch = WORLD_E;
    opt.pool = w->pool;
    tce_status status = tce_policy_create(&opt, hooks, &w->policy);
    if (status != TCE_OK)
        return status;
    tce_random_start(&random, 0, START_POLICY, 0, 0);
    return tce_policy_start(w->policy, &random);
}

static tce_status create_critic_net(world *w, const tce_hooks *hooks)
{
    const int32_t hidden[2] = { 24, 16 };
    tce_net_options opt;
    tce_random random;

    tce_net_options_init(&opt, sizeof opt);
    opt.n_in = WORLD_O;
    opt.hidden = hidden;
    opt.precision = w->options.precision;
    opt.max_pass = (int32_t)w->critic.max_rows;
    opt.pool = w->pool;
    tce_status status = tce_net_create(&opt, hooks, &w->critic.net);
    if (status != TCE_OK)
        return status;
    if (!w->critic.work)
        w->critic.work = memory_doubles(&w->arrays,
                                        tce_net_work_size(w->critic.net, w->critic.max_rows));
    tce_random_start(&random, 0, START_CRITIC, 0, 0);
    return tce_net_start(w->critic.net, &random);
}

static tce_status create_normaliser(world *w, const tce_hooks *hooks)
{
    tce_normaliser_options opt;

    tce_normaliser_options_init(&opt, sizeof opt);
    opt.n_columns = WORLD_O;
    opt.divisor = TCE_NORMALISER_ROWS_LESS_ONE;
    return tce_normaliser_create(&opt, hooks, &w->critic.normaliser);
}

static tce_status create_trpl(world *w, const tce_hooks *hooks)
{
    tce_trpl_options opt;

    tce_trpl_options_init(&opt, sizeof opt);
    opt.kind = w->options.projection;
    opt.dim = WORLD_P;
    opt.max_batch = WORLD_E;
    opt.shared_cov = w->options.form != TCE_POLICY_FULL_CONTEXTUAL;
    opt.diagonal = w->options.form == TCE_POLICY_DIAGONAL_SHARED;
    opt.entropy = TCE_TRPL_ENTROPY_AT_LEAST;
    opt.pool = w->pool;
    return tce_trpl_create(&opt, hooks, &w->trpl);
}

static tce_status create_segment(world *w, const tce_hooks *hooks)
{
    tce_segment_options opt;

    tce_segment_options_init(&opt, sizeof opt);
    opt.mp = w->mp;
    opt.max_episodes = WORLD_E;
    opt.max_steps = WORLD_T;
    opt.max_pairs = WORLD_J_MAX;
    opt.shared_cov = w->options.form != TCE_POLICY_FULL_CONTEXTUAL;
    opt.pool = w->pool;
    return tce_segment_create(&opt, hooks, &w->segment);
}

static tce_status create_rollout(world *w, const tce_hooks *hooks)
{
    tce_rollout_options opt;

    tce_rollout_options_init(&opt, sizeof opt);
    opt.vtable = &TOY_plane;
    opt.purpose = EPISODES;
    opt.n_envs = WORLD_E;
    opt.pool = w->pool;
    return tce_rollout_create(&opt, hooks, &w->rollout);
}

tce_status world_create(world *w, const tce_hooks *hooks)
{
    tce_status (*const creators[])(world *, const tce_hooks *) = {
        create_pool,       create_mp,   create_policy,  create_critic_net,
        create_normaliser, create_trpl, create_segment, create_rollout
    };

    for (size_t i = 0; i < sizeof creators / sizeof creators[0]; i++) {
        const tce_status status = creators[i](w, hooks);
        if (status != TCE_OK)
            return status;
    }
    return TCE_OK;
}

void world_free(world *w)
{
    tce_rollout_free(w->rollout);
    tce_segment_free(w->segment);
    tce_trpl_free(w->trpl);
    tce_net_free(w->critic.net);
    tce_normaliser_free(w->critic.normaliser);
    tce_policy_free(w->policy);
    tce_mp_free(w->mp);
    tce_pool_free(w->pool);
    w->rollout = NULL;
    w->segment = NULL;
    w->trpl = NULL;
    w->critic.net = NULL;
    w->critic.normaliser = NULL;
    w->policy = NULL;
    w->mp = NULL;
    w->pool = NULL;
}

void world_end(world *w)
{
    world_free(w);
    memory_free(&w->arrays);
}

/* ---- one iteration --------------------------------------------------------------------------- */

/* Step 1: contexts -> Gaussians -> parameters -> paths -> what the task makes of them. */
static tce_status roll_out(world *w)
{
    const size_t E = WORLD_E, T = WORLD_T, O = WORLD_O;
    const size_t N = tce_policy_n_factors(w->policy, E);
    tce_random random;
    tce_mp_grid grid;
    tce_rollout_paths paths;

    tce_status status = tce_rollout_reset(w->rollout, E, w->iteration, w->contexts, w->init_pos,
                                          w->init_vel);
    if (status == TCE_OK)
        status = factors_predict(w->policy, E, w->contexts, w->old_mean, w->old_L);
    tce_random_start(&random, 0, SAMPLES, w->iteration, 0);
    tce_random_normals(&random, E * WORLD_P, w->params);
    const tce_gauss policy = { .struct_size = sizeof policy,
                               .n = E,
                               .dim = WORLD_P,
                               .n_scales = N,
                               .mean = w->old_mean,
                               .scale = w->old_L };
    if (status == TCE_OK)
        status = tce_gauss_sample(&policy, w->params, w->params);

    grid = TCE_INIT(tce_mp_grid);
    grid.E = E;
    grid.T = T;
    grid.n_time_rows = 1;
    grid.n_init_times = 1;
    grid.times = w->times;
    grid.init_time = &w->init_time;
    grid.init_pos = w->init_pos;
    grid.init_vel = w->init_vel;
    if (status == TCE_OK)
        status = tce_mp_trajectory(w->mp, &grid, w->params, w->pos, w->vel, NULL);

    /* the first row of the observations is the reset's */
    paths = TCE_INIT(tce_rollout_paths);
    paths.obs = w->obs;
    paths.rewards = w->rewards;
    paths.terminated = w->terminated;
    paths.truncated = w->dones;
    paths.lengths = w->lengths;
    for (size_t e = 0; e < E; e++)
        memcpy(w->obs + e * (T + 1) * O, w->contexts + e * O, O * sizeof *w->obs);
    if (status == TCE_OK)
        status = tce_rollout_run(w->rollout, E, T, w->pos, w->vel, &paths);
    for (size_t k = 0; k < E * T; k++)
        w->dones[k] |= w->terminated[k];
    return status;
}

/* Steps 2 to 6: values, returns, segments with their advantages and old likelihoods. */
static tce_status evaluate(world *w)
{
    const size_t E = WORLD_E, T = WORLD_T;
    const double gamma = 0.99, lambda = 0.95;
    tce_random random;

    /* values are of normalised observations, which nobody needs raw any more */
    tce_status status = tce_normaliser_update(w->critic.normaliser, E * (T + 1), w->obs, NULL);
    if (status == TCE_OK)
        status = tce_normaliser_apply(w->critic.normaliser, E * (T + 1), w->obs, w->obs);
    if (status == TCE_OK)
        status = critic_value(&w->critic, E * (T + 1), w->obs, w->values);
    if (status == TCE_OK)
        status = tce_returns_gae(E, T, w->rewards, w->values, w->dones, gamma, lambda, w->step_adv,
                                 w->returns);

    tce_random_start(&random, 0, TIME_POINTS, w->iteration, 0);
    if (status == TCE_OK)
        status = tce_segment_choose_pairs(TCE_SEGMENT_POINTS_INTERVAL, T, WORLD_K, 0, &random,
                                          w->pairs, &w->J);
    if (status == TCE_OK)
        status = tce_segment_advantage(
            &(tce_segment_steps){ .struct_size = sizeof(tce_segment_steps),
                                  .E = E,
                                  .T = T,
                                  .J = w->J,
                                  .kind = TCE_SEGMENT_VALUE,
                                  .normalise = 1,
                                  .gamma = gamma,
                                  .rewards = w->rewards,
                                  .values = w->values,
                                  .pairs = w->pairs,
                                  .lengths = w->lengths,
                                  .out_advantages = w->advantages,
                                  .out_mask = w->mask });
    if (status == TCE_OK)
        status = tce_segment_set_pairs(w->segment, 1, T, w->times, &w->init_time, w->J, w->pairs);
    if (status == TCE_OK)
        status = tce_segment_log_prob(
            w->segment, &(tce_segment_paths){ .struct_size = sizeof(tce_segment_paths),
                                              .E = E,
                                              .positions = w->pos,
                                              .mean = w->old_mean,
                                              .L = w->old_L,
                                              .init_pos = w->init_pos,
                                              .init_vel = w->init_vel,
                                              .out_log_prob = w->log_prob });
    return status;
}

/* Step 7, critic: regression of the steps' values to their returns. */
static tce_status fit_critic(world *w)
{
    const size_t E = WORLD_E, T = WORLD_T, O = WORLD_O;
    critic_fit fit = { .n_minibatches = (size_t)w->options.n_minibatches, .clip_norm = 10.0 };
    tce_random random;
    tce_status status = TCE_OK;

    for (size_t e = 0; e < E; e++)
        memcpy(w->step_obs + e * T * O, w->obs + e * (T + 1) * O, T * O * sizeof *w->obs);
    tce_adam_options_init(&fit.adam, sizeof fit.adam);
    fit.adam.learning_rate = 1e-3 * linear_schedule(w->iteration, 100, 0.01);
    tce_random_start(&random, 0, MINIBATCHES, w->iteration, 0);
    for (int32_t i = 0; i < w->options.n_epochs && status == TCE_OK; i++)
        status = critic_fit_epoch(&w->critic, &fit, E * T, w->step_obs, w->returns, &random,
                                  &w->critic_loss);
    return status;
}

/* Step 7, policy. */
static tce_status fit_policy(world *w)
{
    segment_likelihood loss = { .segment = w->segment,
                                .paths = { .struct_size = sizeof loss.paths,
                                           .E = WORLD_E,
                                           .positions = w->pos,
                                           .init_pos = w->init_pos,
                                           .init_vel = w->init_vel,
                                           .log_prob_old = w->log_prob,
                                           .advantages = w->advantages,
                                           .mask = w->mask } };
    const policy_rows rows = {
        WORLD_E, w->contexts, w->old_mean, w->old_L, segment_surrogate, &loss
    };
    policy_update_options options = { .clip_norm = 10.0,
                                      .entropy_bonus = 1e-3,
                                      .regression = 1.0,
                                      .regress_cov = 1,
                                      .n_epochs = w->options.n_epochs };

    tce_adam_options_init(&options.adam, sizeof options.adam);
    options.adam.learning_rate = 1e-2 * linear_schedule(w->iteration, 100, 0.01);
    options.adam.l2 = 5e-5;
    w->update.policy = w->policy;
    w->update.trpl = w->trpl;
    const entropy_schedule schedule = { ENTROPY_LINEAR, WORLD_P, 8.0, 0.0, 0.7, 100 };
    /* tight enough for both projections to act within a few epochs */
    options.bounds = (tce_trpl_bounds){ sizeof options.bounds, 1e-3, 1e-5,
                                        entropy_schedule_at(&schedule, w->iteration + 1) };
    return policy_update_run(&w->update, &rows, &options, &w->report);
}

tce_status world_iterate(world *w)
{
    tce_status status = roll_out(w);

    if (status == TCE_OK)
        status = evaluate(w);
    if (status == TCE_OK)
        status = fit_critic(w);
    if (status == TCE_OK)
        status = fit_policy(w);
    w->iteration++;
    return status;
}

/* ---- state ----------------------------------------------------------------------------------- */

size_t world_num_state(const world *w)
{
    return tce_policy_n_weights(w->policy) + tce_net_n_weights(w->critic.net) + 2 * WORLD_O + 1;
}

void world_state(const world *w, double *out)
{
    tce_policy_get_weights(w->policy, out);
    out += tce_policy_n_weights(w->policy);
    tce_net_get_weights(w->critic.net, out);
    out += tce_net_n_weights(w->critic.net);
    tce_normaliser_statistics(w->critic.normaliser, out, out + WORLD_O, out + 2 * WORLD_O);
}
