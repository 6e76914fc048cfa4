/*
 * PPO and gSDE: updates on given samples, and whole loops of the trainer's own methods in an
 * environment that plays a tape.
 */
#include "replay_tape.h"

#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "methods/critic.h"
#include "methods/on_policy.h"
#include "methods/schedules.h"

/* Of what a case may have of anything that is counted. */
#define MOST (1 << 20)

/* ---- networks -------------------------------------------------------------------------------- */

/* A policy and a value network with the weights of a case. */
typedef struct networks {
    replay_layers policy, critic;
    size_t A, F; /* F: width of the last hidden layer, with state-dependent noise */
    int32_t expln;
    tce_policy *mean;
    gsde noise;
    step_policy actor;
    tce_net *net;
    memory *arrays;
} networks;

static void free_policy(void *p)
{
    tce_policy_free(p);
}

static void free_net(void *n)
{
    tce_net_free(n);
}

static void free_arrays(void *m)
{
    memory_free(m);
}

static memory *case_memory(replay_case *c)
{
    memory *m = replay_block(c, 1, sizeof *m);
    replay_keep(c, m, free_arrays);
    return m;
}

/* The noise of gSDE that a case has: whether it is expln, and its deviations [F, A], or [F, 1]. */
static gsde_options noise_options(replay_case *c, const json_t *weights, size_t F, size_t A)
{
    size_t shape[REPLAY_MAX_RANK];
    replay_shape(c, weights, "log_std", shape);
    const int full = replay_int_or(c, c->root, "full_std", shape[1] == A);
    return (gsde_options){ F, A, replay_int_or(c, c->root, "expln", 0) ? GSDE_EXPLN : GSDE_EXP,
                           full, 1.0 };
}

static void create_networks(replay_case *c, const json_t *weights, size_t max_rows, int with_noise,
                            networks *n)
{
    memset(n, 0, sizeof *n);
    replay_read_layers(c, weights, "policy", &n->policy);
    replay_read_layers(c, weights, "critic", &n->critic);
    n->A = n->policy.n_out;
    n->F = with_noise ? (size_t)n->policy.hidden[n->policy.n - 2] : 0;

    tce_policy_options policy;
    tce_policy_options_init(&policy, sizeof policy);
    policy.n_obs = (int32_t)n->policy.n_in;
    policy.n_dims = (int32_t)n->A;
    policy.form = TCE_POLICY_DIAGONAL_SHARED;
    policy.spread = TCE_POLICY_EXP;
    policy.n_hidden = (int32_t)n->policy.n - 1;
    policy.hidden = n->policy.hidden;
    policy.activation = replay_activation(c);
    policy.precision = TCE_NET_DOUBLE;
    policy.max_batch = (int32_t)max_rows;
    replay_ok(c, tce_policy_create(&policy, NULL, &n->mean));
    replay_keep(c, n->mean, free_policy);

    tce_net_options net;
    tce_net_options_init(&net, sizeof net);
    net.n_in = (int32_t)n->critic.n_in;
    net.n_hidden = (int32_t)n->critic.n - 1;
    net.hidden = n->critic.hidden;
    net.activation = replay_activation(c);
    net.precision = TCE_NET_DOUBLE;
    replay_ok(c, tce_net_create(&net, NULL, &n->net));
    replay_keep(c, n->net, free_net);

    n->arrays = case_memory(c);
    if (with_noise) {
        const gsde_options o = noise_options(c, weights, n->F, n->A);
        gsde_take(&n->noise, &o, n->arrays);
    }
    step_policy_take(&n->actor, n->arrays, max_rows, n->A, n->F);
    if (n->arrays->failed)
        replay_fail(c, "no memory");
    n->actor.policy = n->mean;
    n->actor.noise = with_noise ? &n->noise : NULL;
}

static void set_weights(replay_case *c, const json_t *weights, tce_policy *mean, gsde *noise,
                        tce_net *net)
{
    replay_layers policy, critic;
    replay_read_layers(c, weights, "policy", &policy);
    replay_read_layers(c, weights, "critic", &critic);
    double *all = replay_zeros(c, policy.n_parameters + policy.n_out);
    memcpy(all, policy.parameters, policy.n_parameters * sizeof *all);
    if (noise) {
        memcpy(noise->log_std, replay_array(c, weights, "log_std", noise->n),
               noise->n * sizeof(double));
        gsde_refresh(noise);
    } else {
        memcpy(all + policy.n_parameters, replay_array(c, weights, "log_std", policy.n_out),
               policy.n_out * sizeof *all);
    }
    replay_ok(c, tce_policy_set_weights(mean, all));
    replay_ok(c, tce_net_set_weights(net, critic.parameters));
}

/* A vector of weights or gradients against a list of layers, each array by its own size. */
static void compare_list(replay_case *c, const json_t *object, const char *key, const double *got)
{
    const json_t *layers = replay_get(c, object, key);
    for (size_t l = 0; l < json_array_size(layers); l++) {
        const json_t *layer = json_array_get(layers, l);
        size_t shape[REPLAY_MAX_RANK];
        replay_shape(c, layer, "weight", shape);
        replay_compare_rivals(c, layer, "weight", shape[0] * shape[1], got);
        got += shape[0] * shape[1];
        replay_compare_rivals(c, layer, "bias", shape[0], got);
        got += shape[0];
    }
}

static void compare_weights(replay_case *c, const json_t *object, const tce_policy *mean,
                            const gsde *noise, const tce_net *net)
{
    const size_t n = tce_policy_n_weights(mean), A = tce_policy_n_dims(mean);
    double *policy = replay_zeros(c, n), *critic = replay_zeros(c, tce_net_n_weights(net));
    tce_policy_get_weights(mean, policy);
    tce_net_get_weights(net, critic);
    compare_list(c, object, "policy", policy);
    compare_list(c, object, "critic", critic);
    if (noise)
        replay_compare_rivals(c, object, "log_std", noise->n, noise->log_std);
    else
        replay_compare_rivals(c, object, "log_std", A, policy + n - A);
}

static void compare_gradients(replay_case *c, const json_t *object, const networks *n)
{
    const size_t size = tce_policy_n_weights(n->mean);
    double *policy = replay_zeros(c, size), *critic = replay_zeros(c, tce_net_n_weights(n->net));
    tce_policy_get_gradient(n->mean, policy);
    tce_net_get_gradient(n->net, critic);
    compare_list(c, object, "policy", policy);
    compare_list(c, object, "critic", critic);
    if (n->actor.noise)
        replay_compare_rivals(c, object, "log_std", n->noise.n, n->noise.gradient);
    else
        replay_compare_rivals(c, object, "log_std", n->A, policy + size - n->A);
}

/* ---- updates --------------------------------------------------------------------------------- */

/* A width of a clip, 0 without one; a width of 0 itself is the least that there is. */
static double clip_width(replay_case *c, const char *key)
{
    if (replay_get(c, c->root, key) == NULL)
        return 0.0;
    const double width = replay_number(c, c->root, key);
    return width > 0.0 ? width : DBL_MIN;
}

static step_update_options update_options(replay_case *c, int normalise)
{
    const double rate = replay_number(c, c->root, "lr");
    step_update_options o = {
        .ratio_clip = clip_width(c, "clip"),
        .critic_clip = clip_width(c, "value_clip"),
        .value_coefficient = replay_number_or(c, c->root, "value_coefficient", 0.5),
        .entropy_coefficient = replay_number(c, c->root, "entropy_coefficient"),
        .max_norm = replay_number_or(c, c->root, "max_gradient_norm", 0.0),
        .normalise_advantages = normalise
    };
    tce_adam_options_init(&o.policy_adam, sizeof o.policy_adam);
    o.policy_adam.epsilon = replay_number(c, c->root, "adam_epsilon");
    o.critic_adam = o.policy_adam;
    o.policy_adam.learning_rate = rate;
    o.critic_adam.learning_rate = replay_number_or(c, c->root, "lr_critic_alpha", rate);
    return o;
}

static void compare_report(replay_case *c, const json_t *object, const step_report *r,
                           const step_update_options *o)
{
    const double entropy = -r->entropy;
    const double loss = r->policy_loss + o->value_coefficient * r->value_loss -
                        o->entropy_coefficient * r->entropy;
    replay_compare_rivals(c, object, "policy_loss", 1, &r->policy_loss);
    replay_compare_rivals(c, object, "value_loss", 1, &r->value_loss);
    replay_compare_rivals(c, object, "entropy_loss", 1, &entropy);
    replay_compare_rivals(c, object, "loss", 1, &loss);
    replay_compare_rivals(c, object, "gradient_norm", 1, &r->gradient_norm);
    replay_compare_rivals(c, object, "clip_fraction", 1, &r->clip_fraction);
    replay_compare_rivals(c, object, "approx_kl", 1, &r->approx_kl);
}

static step_update create_update(replay_case *c, networks *n, size_t max_rows)
{
    step_update u;
    step_update_take(&u, n->arrays, max_rows, n->policy.n_in, n->A);
    if (n->arrays->failed)
        replay_fail(c, "no memory");
    u.policy = &n->actor;
    u.critic = n->net;
    return u;
}

/* A field that counts, which a case may leave out. */
static int32_t count_or(replay_case *c, const char *key, int32_t otherwise)
{
    return replay_get(c, c->root, key) ? replay_int(c, c->root, key, 1, MOST) : otherwise;
}

/* Shuffled minibatches of given samples. */
static void minibatch_updates(replay_case *c, int with_noise)
{
    size_t shape[REPLAY_MAX_RANK];
    networks n;
    replay_shape(c, c->root, "observations", shape);
    const size_t rows = shape[0];
    const json_t *weights = replay_object(c, c->root, "weights");
    create_networks(c, weights, rows, with_noise, &n);
    set_weights(c, weights, n.mean, n.actor.noise, n.net);
    const step_samples samples = { .O = n.policy.n_in,
                                   .A = n.A,
                                   .obs = replay_array(c, c->root, "observations", rows * shape[1]),
                                   .actions = replay_array(c, c->root, "actions", rows * n.A),
                                   .log_prob = replay_array(c, c->root, "old_log_prob", rows),
                                   .values = replay_array(c, c->root, "old_values", rows),
                                   .advantages = replay_array(c, c->root, "advantages", rows),
                                   .returns = replay_array(c, c->root, "returns", rows) };
    const step_update_options options = update_options(c, 1);
    const minibatches cut = minibatches_of(rows, (size_t)count_or(c, "minibatches", 1),
                                           (size_t)count_or(c, "batch_size", 0));
    step_update update = create_update(c, &n, rows);
    const json_t *epochs = replay_get(c, c->root, "epochs");
    for (size_t e = 0; e < json_array_size(epochs); e++) {
        const json_t *parts = json_array_get(epochs, e);
        if (json_array_size(parts) != cut.count)
            replay_fail(c, "an epoch of %zu minibatches, %zu are made", json_array_size(parts),
                        cut.count);
        for (size_t k = 0; k < cut.count; k++) {
            const json_t *part = json_array_get(parts, k);
            const size_t size = minibatch_begin(&cut, k + 1) - minibatch_begin(&cut, k);
            const int32_t *indices = replay_ints(c, part, "indices", size);
            uint32_t *list = replay_block(c, size, sizeof *list);
            step_report report;
            for (size_t i = 0; i < size; i++)
                list[i] = (uint32_t)indices[i];
            replay_ok(c, step_update_run(&update, &samples, size, list, &options, &report));
            compare_report(c, part, &report, &options);
        }
    }
    compare_weights(c, replay_object(c, c->root, "final_weights"), n.mean, n.actor.noise, n.net);
}

void replay_ppo_minibatch_updates(replay_case *c)
{
    minibatch_updates(c, 0);
}

void replay_gsde_minibatch_updates(replay_case *c)
{
    minibatch_updates(c, 1);
}

/* What the rollout's networks say of its samples, and the advantages [E, T]. */
static step_samples judge_samples(replay_case *c, networks *n, size_t E, size_t T)
{
    const size_t rows = E * T, O = n->policy.n_in;
    const double gamma = replay_number(c, c->root, "gamma");
    const json_t *tape = replay_object(c, c->root, "tape");
    const double *reached = replay_array(c, tape, "obs", rows * O);
    const double *reset = replay_array(c, tape, "reset", E * (T + 1) * O);
    double *rewards = replay_array(c, tape, "reward", rows);
    const uint8_t *terminated = replay_flags(c, tape, "terminated", rows);
    const uint8_t *truncated = replay_flags(c, tape, "truncated", rows);
    const double *obs = replay_array(c, c->root, "observations", rows * O);
    const double *actions = replay_array(c, c->root, "actions", rows * n->A);
    double *values = replay_zeros(c, E * (T + 1)), *plain = replay_zeros(c, rows);
    double *after = replay_zeros(c, rows), *log_prob = replay_zeros(c, rows);
    double *advantages = replay_zeros(c, rows), *returns = replay_zeros(c, rows);
    double *work = replay_zeros(c, tce_net_work_size(n->net, rows));
    uint8_t *ends = replay_block(c, rows, 1);
    const int bootstrap = replay_bootstraps(c);

    replay_ok(c, tce_net_evaluate(n->net, rows, obs, work, plain));
    replay_ok(c, tce_net_evaluate(n->net, rows, reached, work, after));
    for (size_t e = 0; e < E; e++) {
        const size_t last = e * T + T - 1;
        memcpy(values + e * (T + 1), plain + e * T, T * sizeof *values);
        values[e * (T + 1) + T] = after[last];
        if (terminated[last] || truncated[last])
            replay_ok(c, tce_net_evaluate(n->net, 1, reset + (e * (T + 1) + T) * O, work,
                                          &values[e * (T + 1) + T]));
    }
    for (size_t i = 0; i < rows; i++) {
        ends[i] = terminated[i] || truncated[i];
        rewards[i] += bootstrap && truncated[i] && !terminated[i] ? gamma * after[i] : 0.0;
    }
    replay_ok(c, step_policy_predict(&n->actor, rows, obs));
    replay_ok(c, step_policy_log_prob(&n->actor, actions, log_prob));
    replay_ok(c, tce_returns_gae(E, T, rewards, values, ends, gamma,
                                 replay_number(c, c->root, "lam"), advantages, returns));
    replay_compare_rivals(c, c->root, "values", rows, plain);
    replay_compare_rivals(c, c->root, "log_probs", rows, log_prob);
    replay_compare_rivals(c, c->root, "rewards_with_bootstrap", rows, rewards);
    replay_compare_rivals(c, c->root, "advantages", rows, advantages);
    replay_compare_rivals(c, c->root, "returns", rows, returns);
    return (step_samples){ .O = O,
                           .A = n->A,
                           .obs = obs,
                           .actions = actions,
                           .log_prob = log_prob,
                           .values = plain,
                           .advantages = advantages,
                           .returns = returns };
}

/* The actions of gSDE: held matrices, the first draw unused, one each for N environments. */
static void check_matrices(replay_case *c, const networks *n, size_t E, size_t T)
{
    size_t shape[REPLAY_MAX_RANK];
    const size_t every = (size_t)replay_int(c, c->root, "sde_sample_freq", 1, MOST);
    const size_t size = n->F * n->A;
    replay_shape(c, c->root, "exploration_matrices", shape);
    const double *matrices = replay_array(c, c->root, "exploration_matrices",
                                          shape[0] * shape[1] * size);
    double *actions = replay_zeros(c, E * T * n->A);
    for (size_t e = 0; e < E; e++)
        for (size_t t = 0; t < T; t++) {
            const size_t k = e * T + t, draw = 1 + t / every;
            gsde_noise(&n->noise, matrices + (draw * E + e) * size, n->actor.hidden + k * n->F,
                       actions + k * n->A);
            for (size_t d = 0; d < n->A; d++)
                actions[k * n->A + d] += n->actor.mean[k * n->A + d];
        }
    replay_compare_rivals(c, c->root, "actions", E * T * n->A, actions);
}

/* A rollout over a tape, and epochs on all of it. */
static void updates(replay_case *c, int with_noise)
{
    size_t shape[REPLAY_MAX_RANK];
    networks n;
    replay_shape(c, c->root, "observations", shape);
    const size_t E = shape[0], T = shape[1], rows = E * T;
    const json_t *weights = replay_object(c, c->root, "weights");
    create_networks(c, weights, rows, with_noise, &n);
    set_weights(c, replay_object(c, c->root, "behaviour_weights"), n.mean, n.actor.noise, n.net);
    const step_samples samples = judge_samples(c, &n, E, T);
    if (with_noise)
        check_matrices(c, &n, E, T);

    set_weights(c, weights, n.mean, n.actor.noise, n.net);
    const step_update_options options = update_options(c, 1);
    step_update update = create_update(c, &n, rows);
    uint32_t *list = replay_block(c, rows, sizeof *list);
    for (size_t i = 0; i < rows; i++)
        list[i] = (uint32_t)i;
    const json_t *epochs = replay_get(c, c->root, "epochs");
    for (size_t e = 0; e < json_array_size(epochs); e++) {
        const json_t *epoch = json_array_get(epochs, e);
        step_report report;
        replay_ok(c, step_update_gradient(&update, &samples, rows, list, &options, &report));
        if (replay_get(c, epoch, "gradients") != NULL)
            compare_gradients(c, replay_object(c, epoch, "gradients"), &n);
        replay_ok(c, step_update_run(&update, &samples, rows, list, &options, &report));
        compare_report(c, epoch, &report, &options);
    }
    compare_weights(c, replay_object(c, c->root, "final_weights"), n.mean, n.actor.noise, n.net);
}

void replay_ppo_updates(replay_case *c)
{
    updates(c, 0);
}

void replay_gsde_updates(replay_case *c)
{
    updates(c, 1);
}

void replay_clip_surrogate(replay_case *c)
{
    size_t shape[REPLAY_MAX_RANK];
    tce_returns_stats stats = TCE_INIT(tce_returns_stats);
    replay_shape(c, c->root, "advantages", shape);
    const size_t n = shape[0];
    double *d = replay_zeros(c, n);
    replay_ok(c, tce_returns_surrogate(n, replay_array(c, c->root, "new_log_prob", n),
                                       replay_array(c, c->root, "old_log_prob", n),
                                       replay_array(c, c->root, "advantages", n), NULL,
                                       clip_width(c, "clip"), &stats, d));
    replay_compare_rivals(c, c->root, "loss", 1, &stats.loss);
    replay_compare_rivals(c, c->root, "d_log_prob", n, d);
}

/* ---- schedules ------------------------------------------------------------------------------- */

static void compare_schedule(replay_case *c, const char *key, size_t n, const double *done,
                             int32_t kind, double first, double last)
{
    double *got = replay_zeros(c, n);
    for (size_t i = 0; i < n; i++)
        got[i] = step_schedule(kind, first, last, done[i]);
    replay_compare_rivals(c, c->root, key, n, got);
}

void replay_schedule(replay_case *c)
{
    size_t shape[REPLAY_MAX_RANK];
    replay_shape(c, c->root, "fraction_done", shape);
    const double *done = replay_array(c, c->root, "fraction_done", shape[0]);
    compare_schedule(c, "lin_0_3_metaworld", shape[0], done, SCHEDULE_FIRST_QUARTER, 0.3, 0.01);
    compare_schedule(c, "lin_0_4", shape[0], done, SCHEDULE_LINEAR, 0.4, 0.0);
}

void replay_schedule_iterations(replay_case *c)
{
    size_t shape[REPLAY_MAX_RANK];
    replay_shape(c, c->root, "environment_steps", shape);
    const size_t n = shape[0];
    const double *steps = replay_array(c, c->root, "environment_steps", n);
    const double total = replay_number(c, c->root, "total_steps");
    double *done = replay_zeros(c, n);
    for (size_t i = 0; i < n; i++)
        done[i] = fmin(1.0, steps[i] / total);
    replay_compare_rivals(c, c->root, "fraction_done", n, done);
    compare_schedule(c, "lin_0.3", n, done, SCHEDULE_LINEAR, 0.3, 0.0);
    compare_schedule(c, "lin_0.4", n, done, SCHEDULE_LINEAR, 0.4, 0.0);
    compare_schedule(c, "lin_0.001", n, done, SCHEDULE_LINEAR, 0.001, 0.0);
    compare_schedule(c, "first_quarter_0_3_to_0_01", n, done, SCHEDULE_FIRST_QUARTER, 0.3, 0.01);
}

/* ---- the distribution of gSDE ---------------------------------------------------------------- */

void replay_gsde_distribution(replay_case *c)
{
    size_t shape[REPLAY_MAX_RANK];
    gsde g;
    replay_shape(c, c->root, "latent", shape);
    const size_t n = shape[0], F = shape[1];
    replay_shape(c, c->root, "mean", shape);
    const size_t A = shape[1];
    const int full = replay_int_or(c, c->root, "full_std", 1);
    const int squash = replay_int_or(c, c->root, "squash", 0);
    const int learn = replay_int_or(c, c->root, "learn_features", 0);
    const gsde_options o = { F, A, replay_int_or(c, c->root, "expln", 0) ? GSDE_EXPLN : GSDE_EXP,
                             full, 1.0 };
    gsde_take(&g, &o, case_memory(c));
    memcpy(g.log_std, replay_array(c, c->root, "log_std", g.n), g.n * sizeof(double));
    gsde_refresh(&g);
    replay_compare_rivals(c, c->root, "std", F * A, g.std);

    /* noise of given matrices, deviations, density, entropy */
    const double *z = replay_array(c, c->root, "latent", n * F);
    const double *mean = replay_array(c, c->root, "mean", n * A);
    const double *matrices = replay_array(c, c->root, "exploration_matrices", n * F * A);
    double *noise = replay_zeros(c, n * A), *sigma = replay_zeros(c, n * A);
    double *u = replay_zeros(c, n * A), *action = replay_zeros(c, n * A);
    for (size_t i = 0; i < n; i++)
        gsde_noise(&g, matrices + i * F * A, z + i * F, noise + i * A);
    gsde_deviations(&g, n, z, sigma);
    const double *given = replay_array(c, c->root, "action", n * A);
    for (size_t k = 0; k < n * A; k++) {
        /*
         * without features there is no noise, and the density is that of an action of the case's
         * own
         */
        u[k] = noise[k] != 0.0 ? mean[k] + noise[k] : given[k];
        action[k] = squash ? tanh(u[k]) : u[k];
    }
    replay_compare_rivals(c, c->root, "noise", n * A, noise);
    replay_compare_rivals(c, c->root, "action", n * A, action);
    replay_compare_rivals(c, c->root, "sigma", n * A, sigma);
    const tce_gauss now = { .struct_size = sizeof now,
                            .n = n,
                            .dim = A,
                            .n_scales = n,
                            .form = TCE_GAUSS_DIAGONAL,
                            .mean = mean,
                            .scale = sigma };
    double *work = replay_zeros(c, tce_gauss_work_size(n, A)), *log_prob = replay_zeros(c, n);
    double *entropy = replay_zeros(c, n);
    replay_ok(c, tce_gauss_log_prob(&now, u, work, log_prob));
    for (size_t k = 0; squash && k < n * A; k++)
        log_prob[k / A] -= log(1.0 - action[k] * action[k] + 1e-6);
    replay_compare_rivals(c, c->root, "log_prob", n, log_prob);
    replay_ok(c, tce_gauss_entropy(&now, entropy));
    if (!squash)
        replay_compare_rivals(c, c->root, "entropy", n, entropy);

    /* gradients of sum coefficients * log_prob, the action given */
    const double *coefficients = replay_array(c, c->root, "coefficients", n);
    double *d_mean = replay_zeros(c, n * A), *d_sigma = replay_zeros(c, n * A);
    double *d_z = replay_zeros(c, n * F);
    replay_ok(c, tce_gauss_log_prob_backward(&now, u, coefficients, work, NULL, d_mean, d_sigma));
    gsde_backward(&g, n, z, sigma, d_sigma, learn ? d_z : NULL);
    replay_compare_rivals(c, c->root, "d_mean", n * A, d_mean);
    replay_compare_rivals(c, c->root, "d_log_std", g.n, g.gradient);
    if (replay_get(c, c->root, "d_latent") != NULL)
        replay_compare_rivals(c, c->root, "d_latent", n * F, d_z);
    if (replay_get(c, c->root, "d_log_std_of_entropy") == NULL)
        return;
    replay_ok(c, tce_gauss_entropy_backward(&now, coefficients, d_sigma));
    gsde_backward(&g, n, z, sigma, d_sigma, NULL);
    replay_compare_rivals(c, c->root, "d_log_std_of_entropy", g.n, g.gradient);
}

/* ---- whole loops ----------------------------------------------------------------------------- */

/* Noise and orders of an iteration, as the case gives them. */
typedef struct given_draws {
    replay_case *c;
    const json_t *iterations;
    int32_t every; /* steps for which a matrix is held; 0: normals of actions */
} given_draws;

static void given_normals(void *context, int64_t i, int64_t step, size_t n, double *out)
{
    const given_draws *g = context;
    const json_t *it = json_array_get(g->iterations, (size_t)i - 1);
    const char *key = g->every > 0 ? "matrix_normals" : "action_normals";
    const json_t *draws = replay_get(g->c, it, key);
    const json_t *one = json_array_get(draws, (size_t)(g->every > 0 ? step / g->every : step));
    json_t *wrapped = json_pack("{sO}", "x", (json_t *)one);
    memcpy(out, replay_array(g->c, wrapped, "x", n), n * sizeof *out);
    json_decref(wrapped);
}

static void given_permutation(void *context, int64_t i, int32_t what, int32_t epoch, size_t n,
                              uint32_t *out)
{
    const given_draws *g = context;
    const json_t *it = json_array_get(g->iterations, (size_t)i - 1);
    const json_t *order = json_array_get(replay_get(g->c, it, "permutations"), (size_t)epoch);
    (void)what;
    if (json_array_size(order) != n)
        replay_fail(g->c, "a permutation of %zu samples, there are %zu", json_array_size(order), n);
    for (size_t k = 0; k < n; k++)
        out[k] = (uint32_t)json_integer_value(json_array_get(order, k));
}

enum { N_WORDS = 40, WORD = 160 };

typedef struct words {
    size_t n;
    char *list[N_WORDS];
} words;

static void say(replay_case *c, words *w, const char *key, const char *format, ...)
{
    va_list values;
    char *word = replay_block(c, WORD, 1);
    const int length = snprintf(word, WORD, "%s=", key);
    va_start(values, format);
    vsnprintf(word + length, WORD - (size_t)length, format, values);
    va_end(values);
    w->list[w->n++] = word;
}

static void say_layers(replay_case *c, words *w, const char *key, const replay_layers *layers)
{
    char text[WORD] = "";
    for (size_t l = 0; l + 1 < layers->n; l++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%d", l ? "," : "",
                 (int)layers->hidden[l]);
    say(c, w, key, "[%s]", text);
}

/* A schedule as a case writes it: "lin_0.4", "constant 0.2", "0.3 to 0.01 over the first quarter". */
typedef struct written_schedule {
    const char *kind;  /* as the settings call it */
    const char *first; /* its first number */
} written_schedule;

static written_schedule read_schedule(replay_case *c, const char *key)
{
    static const char LINEAR[] = "lin_", CONSTANT[] = "constant ";
    const char *text = replay_text(c, c->root, key);
    if (text && strncmp(text, LINEAR, sizeof LINEAR - 1) == 0)
        return (written_schedule){ "linear", text + sizeof LINEAR - 1 };
    if (text && strncmp(text, CONSTANT, sizeof CONSTANT - 1) == 0)
        return (written_schedule){ "constant", text + sizeof CONSTANT - 1 };
    if (text && strstr(text, "quarter"))
        return (written_schedule){ "first_quarter", "0.3" };
    replay_fail(c, "\"%s\" is a schedule that is unknown", key);
}

static const char *yes_or_no(int x)
{
    return x ? "true" : "false";
}

/* The settings that a case's fields are. */
static void run_settings(replay_case *c, const char *method, settings *s)
{
    words w = { 0 };
    replay_layers policy, critic;
    const json_t *weights = replay_object(c, c->root, "weights");
    const json_t *first = json_array_get(replay_get(c, c->root, "iterations"), 0);
    const written_schedule clip = read_schedule(c, "clip_schedule");
    const written_schedule rate = read_schedule(c, "learning_rate_schedule");
    const char *time_limit = replay_bootstraps(c) ? "bootstrap" : "terminal";
    const double bound = replay_number_or(c, c->root, "normaliser_clip", 0.0);
    replay_read_layers(c, weights, "policy", &policy);
    replay_read_layers(c, weights, "critic", &critic);
    say(c, &w, "run.method", "%s", method);
    say(c, &w, "policy.precision", "double");
    say_layers(c, &w, "policy.hidden", &policy);
    say_layers(c, &w, "critic.hidden", &critic);
    say(c, &w, "policy.activation", "%s", replay_text(c, c->root, "activation"));
    say(c, &w, "critic.activation", "%s", replay_text(c, c->root, "activation"));
    say(c, &w, "collect.environments", "%d", (int)replay_int(c, c->root, "n_env", 1, MOST));
    say(c, &w, "collect.steps", "%d", (int)replay_int(c, c->root, "n_step", 1, MOST));
    say(c, &w, "collect.time_limit", "%s", time_limit);
    say(c, &w, "objective.gamma", "%.17g", replay_number(c, c->root, "gamma"));
    say(c, &w, "objective.lambda", "%.17g", replay_number(c, c->root, "lam"));
    say(c, &w, "normalise.observations", "%s",
        yes_or_no(replay_int_or(c, c->root, "normalise_observations", 0)));
    say(c, &w, "normalise.rewards", "%s",
        yes_or_no(replay_int_or(c, c->root, "normalise_rewards", 0)));
    say(c, &w, "normalise.observation_clip", "%.17g", bound);
    say(c, &w, "normalise.reward_clip", "%.17g", bound);
    say(c, &w, "update.batch_size", "%d", (int)replay_int(c, c->root, "batch_size", 1, MOST));
    say(c, &w, "update.adam_epsilon", "%.17g", replay_number(c, c->root, "adam_epsilon"));
    say(c, &w, "update.clip_norm", "%.17g", replay_number_or(c, c->root, "max_gradient_norm", 0.0));
    say(c, &w, "update.value_coefficient", "%.17g",
        replay_number_or(c, c->root, "value_coefficient", 0.5));
    say(c, &w, "policy.entropy_coefficient", "%.17g",
        replay_number(c, c->root, "entropy_coefficient"));
    say(c, &w, "update.schedule_steps", "%.0f", replay_number(c, c->root, "total_steps"));
    say(c, &w, "update.clip_schedule", "%s", clip.kind);
    say(c, &w, "update.ratio_clip", "%s", clip.first);
    say(c, &w, "update.critic_clip", "%s",
        json_is_null(json_object_get(first, "value_clip")) ? "0" : clip.first);
    say(c, &w, "update.rate_schedule", "%s", rate.kind);
    say(c, &w, "policy.learning_rate", "%s", rate.first);
    say(c, &w, "critic.learning_rate", "%s", rate.first);
    say(c, &w, "policy.epochs", "%zu", json_array_size(replay_get(c, first, "permutations")));
    if (strcmp(method, "gsde") == 0) {
        const gsde_options noise = noise_options(c, weights, 0, policy.n_out);
        say(c, &w, "policy.sde_every", "%d",
            (int)replay_int(c, c->root, "sde_sample_freq", 1, MOST));
        say(c, &w, "policy.spread", "%s", noise.spread == GSDE_EXPLN ? "expln" : "exp");
        say(c, &w, "policy.full_std", "%s", yes_or_no(noise.full_std));
    }
    replay_ok(c, settings_read(s, METHODS, NULL, (int)w.n, w.list));
}

static void free_learner(void *l)
{
    on_policy_destroy(l);
}

/* An iteration's arrays, numbers and weights. */
static void compare_iteration(replay_case *c, const json_t *it, const on_policy *l,
                              const double *values)
{
    const size_t n = l->n;
    const step_rollout *r = &l->rollout;
    const double done = on_policy_done(l);
    const double steps = (double)l->n_steps;
    const double clip = step_schedule(l->o->clip_schedule, l->o->ratio_clip, l->o->clip_last, done);
    const double rate = step_schedule(l->o->rate_schedule, l->o->policy_rate, 0.0, done);
    static const struct {
        const char *key, *column;
        double sign;
    } numbers[] = {
        { "policy_loss", "policy_loss", 1 }, { "value_loss", "value_loss", 1 },
        { "entropy_loss", "entropy", -1 },   { "clip_fraction", "fraction_clipped", 1 },
        { "approx_kl", "approx_kl", 1 },     { "explained_variance", "explained_variance", 1 }
    };
    replay_compare_rivals(c, it, "observations", n * l->O, r->obs);
    replay_compare_rivals(c, it, "actions", n * l->A, r->actions);
    replay_compare_rivals(c, it, "values", n, r->values);
    replay_compare_rivals(c, it, "log_probs", n, r->log_prob);
    replay_compare_rivals(c, it, "rewards_with_bootstrap", n, r->rewards);
    replay_compare_rivals(c, it, "advantages", n, r->advantages);
    replay_compare_rivals(c, it, "returns", n, r->returns);
    replay_compare_rivals(c, it, "environment_steps", 1, &steps);
    replay_compare_rivals(c, it, "fraction_done", 1, &done);
    replay_compare_rivals(c, it, "clip", 1, &clip);
    replay_compare_rivals(c, it, "value_clip", 1, &clip);
    replay_compare_rivals(c, it, "learning_rate", 1, &rate);
    for (size_t k = 0; k < sizeof numbers / sizeof numbers[0]; k++)
        for (size_t column = 0; column < l->n_columns; column++)
            if (strcmp(l->columns[column], numbers[k].column) == 0) {
                const double got = numbers[k].sign * values[column];
                replay_compare_rivals(c, it, numbers[k].key, 1, &got);
            }
    compare_weights(c, replay_object(c, it, "weights_after"), l->mean,
                    l->way.gsde ? &l->noise : NULL, l->critic);
}

static void compare_normalisers(replay_case *c, const on_policy *l)
{
    const json_t *after = replay_object(c, c->root, "normaliser_after");
    double *mean = replay_zeros(c, l->O), *variance = replay_zeros(c, l->O), count;
    if (l->seen_obs) {
        tce_normaliser_statistics(l->seen_obs, mean, variance, &count);
        replay_compare_rivals(c, after, "obs_mean", l->O, mean);
        replay_compare_rivals(c, after, "obs_var", l->O, variance);
        replay_compare_rivals(c, after, "obs_count", 1, &count);
    }
    if (!l->seen_returns)
        return;
    tce_normaliser_statistics(l->seen_returns, mean, variance, &count);
    replay_compare_rivals(c, after, "return_mean", 1, mean);
    replay_compare_rivals(c, after, "return_var", 1, variance);
    replay_compare_rivals(c, after, "return_count", 1, &count);
    replay_compare_rivals(c, after, "discounted_return", l->N, l->discounted);
}

static void run_loop(replay_case *c, const method *way)
{
    size_t shape[REPLAY_MAX_RANK];
    settings s;
    replay_tape t;
    void *learner;
    const json_t *iterations = replay_get(c, c->root, "iterations");
    run_settings(c, way->settings.name, &s);
    replay_shape(c, json_array_get(iterations, 0), "actions", shape);
    replay_read_tape(c, shape[2], &t);
    const task playing = { .vtable = &REPLAY_TAPE, .user = &t };
    const method_context context = { &s, &playing, NULL };
    replay_ok(c, way->create(&context, &learner));
    replay_keep(c, learner, free_learner);
    on_policy *l = learner;
    given_draws given = { c, iterations,
                          l->way.gsde ? replay_int(c, c->root, "sde_sample_freq", 1, MOST) : 0 };
    l->draws = (on_policy_draws){ &given, given_normals, given_permutation };

    set_weights(c, replay_object(c, c->root, "weights"), l->mean, l->way.gsde ? &l->noise : NULL,
                l->critic);
    double *values = replay_zeros(c, l->n_columns), *seconds = replay_zeros(c, 8);
    for (size_t i = 0; i < json_array_size(iterations); i++) {
        progress made = { .values = values, .seconds = seconds };
        replay_ok(c, way->iterate(learner, (int64_t)i + 1, &made));
        compare_iteration(c, json_array_get(iterations, i), l, values);
    }
    if (replay_get(c, c->root, "normaliser_after"))
        compare_normalisers(c, l);
}

void replay_ppo_run(replay_case *c)
{
    run_loop(c, &METHOD_TABLE_PPO);
}

void replay_gsde_run(replay_case *c)
{
    run_loop(c, &METHOD_TABLE_GSDE);
}

/* ---- TRPL ------------------------------------------------------------------------------------ */

static void free_trpl(void *tr)
{
    tce_trpl_free(tr);
}

/* A policy of softplus deviations and its projection. */
static void create_trpl(replay_case *c, const json_t *layers_owner, const char *layers_key,
                        const json_t *vector_owner, size_t rows, trpl_step *t)
{
    replay_layers layers;
    tce_policy *policy;
    tce_trpl *projection;
    replay_read_layers(c, layers_owner, layers_key, &layers);
    tce_policy_options options;
    tce_policy_options_init(&options, sizeof options);
    options.n_obs = (int32_t)layers.n_in;
    options.n_dims = (int32_t)layers.n_out;
    options.form = TCE_POLICY_DIAGONAL_SHARED;
    options.n_hidden = (int32_t)layers.n - 1;
    options.hidden = layers.hidden;
    options.activation = replay_activation(c);
    options.precision = TCE_NET_DOUBLE;
    options.max_batch = (int32_t)rows;
    options.min_std = replay_number(c, c->root, "min_std");
    replay_ok(c, tce_policy_create(&options, NULL, &policy));
    replay_keep(c, policy, free_policy);
    double *weights = replay_zeros(c, layers.n_parameters + layers.n_out);
    memcpy(weights, layers.parameters, layers.n_parameters * sizeof *weights);
    memcpy(weights + layers.n_parameters, replay_array(c, vector_owner, "std_vector", layers.n_out),
           layers.n_out * sizeof *weights);
    replay_ok(c, tce_policy_set_weights(policy, weights));

    tce_trpl_options trpl;
    tce_trpl_options_init(&trpl, sizeof trpl);
    trpl.dim = (int32_t)layers.n_out;
    trpl.max_batch = (int32_t)rows;
    trpl.diagonal = 1;
    replay_ok(c, tce_trpl_create(&trpl, NULL, &projection));
    replay_keep(c, projection, free_trpl);
    memory *m = case_memory(c);
    trpl_step_take(t, m, rows, layers.n_in, layers.n_out);
    if (m->failed)
        replay_fail(c, "no memory");
    t->update.policy = policy;
    t->update.trpl = projection;
}

static policy_update_options trpl_options(replay_case *c)
{
    policy_update_options o = { .regression = replay_number(c, c->root, "trust_region_coefficient"),
                                .regress_cov = 1 };
    o.bounds = TCE_INIT(tce_trpl_bounds);
    o.bounds.mean = replay_number(c, c->root, "mean_bound");
    o.bounds.cov = replay_number(c, c->root, "cov_bound");
    tce_adam_options_init(&o.adam, sizeof o.adam);
    o.adam.learning_rate = replay_number(c, c->root, "lr");
    o.adam.epsilon = replay_number(c, c->root, "adam_epsilon");
    return o;
}

static step_samples trpl_samples(replay_case *c, const trpl_step *t, size_t rows,
                                 const char *advantages)
{
    return (step_samples){ .O = t->O,
                           .A = t->A,
                           .obs = replay_array(c, c->root, "observations", rows * t->O),
                           .actions = replay_array(c, c->root, "actions", rows * t->A),
                           .log_prob = replay_array(c, c->root, "old_log_prob", rows),
                           .advantages = replay_array(c, c->root, advantages, rows),
                           .means = replay_array(c, c->root, "old_mean", rows * t->A),
                           .deviations = replay_array(c, c->root, "old_std", t->A) };
}

/* A policy's vector of weights or gradients: layers, then raw deviations. */
static void compare_trpl_vector(replay_case *c, const json_t *layers_owner, const char *layers_key,
                                const json_t *vector_owner, const char *vector_key,
                                const trpl_step *t, int gradient)
{
    const size_t n = tce_policy_n_weights(t->update.policy);
    double *all = replay_zeros(c, n);
    if (gradient)
        tce_policy_get_gradient(t->update.policy, all);
    else
        tce_policy_get_weights(t->update.policy, all);
    compare_list(c, layers_owner, layers_key, all);
    replay_compare_rivals(c, vector_owner, vector_key, t->A, all + n - t->A);
}

/* One gradient and Adam step, and what the case has of it. */
static void trpl_update(replay_case *c, const json_t *step, trpl_step *t, const step_samples *s,
                        size_t n, const uint32_t *rows, const policy_update_options *o)
{
    policy_update *u = &t->update;
    policy_gradient gradient;
    double eta, part, both, moved = 0.0, norm, *scrap = replay_zeros(c, n * t->A + t->A);
    double *distance = replay_zeros(c, n);
    replay_ok(c, trpl_step_gradient(t, s, n, rows, o, 0, &gradient));
    replay_compare_rivals(c, step, "mean", n * t->A, u->mean);
    replay_compare_rivals(c, step, "std", t->A, u->L);
    replay_compare_rivals(c, step, "projected_mean", n * t->A, u->proj_mean);
    replay_compare_rivals(c, step, "projected_std", t->A, u->proj_L);
    replay_ok(c, tce_trpl_distances(u->trpl, n, distance, NULL, &eta));
    for (size_t i = 0; i < n; i++)
        moved += distance[i] > o->bounds.mean;
    replay_compare_rivals(c, step, "eta", 1, &eta);
    replay_compare_rivals(c, step, "n_projected_means", 1, &moved);
    replay_compare_rivals(c, step, "surrogate", 1, &gradient.stats.loss);
    replay_ok(c, tce_trpl_regression_add(u->trpl, n, u->mean, u->L, 1.0, 0, &part, scrap,
                                         scrap + n * t->A));
    replay_compare_rivals(c, step, "regression_mean", 1, &part);
    replay_ok(c, tce_trpl_regression_add(u->trpl, n, u->mean, u->L, 1.0, 1, &both, scrap,
                                         scrap + n * t->A));
    const double cov = both - part;
    replay_compare_rivals(c, step, "regression_cov", 1, &cov);
    const double loss = gradient.stats.loss + gradient.regression;
    replay_compare_rivals(c, step, "loss", 1, &loss);
    const json_t *gradients = replay_get(c, step, "gradients");
    if (gradients != NULL)
        compare_trpl_vector(c, gradients, "layers", gradients, "std_vector", t, 1);
    replay_ok(c, policy_update_step(u, o, &norm));
}

void replay_trpl_step_updates(replay_case *c)
{
    size_t shape[REPLAY_MAX_RANK];
    trpl_step t;
    replay_shape(c, c->root, "observations", shape);
    const size_t rows = shape[0];
    create_trpl(c, c->root, "weights", c->root, rows, &t);
    const policy_update_options o = trpl_options(c);
    const step_samples s = trpl_samples(c, &t, rows, "advantages");
    uint32_t *list = replay_block(c, rows, sizeof *list);
    for (size_t i = 0; i < rows; i++)
        list[i] = (uint32_t)i;
    const json_t *epochs = replay_get(c, c->root, "epochs");
    for (size_t e = 0; e < json_array_size(epochs); e++)
        trpl_update(c, json_array_get(epochs, e), &t, &s, rows, list, &o);
    compare_trpl_vector(c, c->root, "final_weights", c->root, "final_std_vector", &t, 0);
}

/* The samples of a minibatch, whose number must be that of the cut. */
static uint32_t *minibatch_rows(replay_case *c, const json_t *step, const minibatches *cut,
                                size_t k, size_t *out_n)
{
    *out_n = minibatch_begin(cut, k + 1) - minibatch_begin(cut, k);
    const int32_t *indices = replay_ints(c, step, "indices", *out_n);
    uint32_t *out = replay_block(c, *out_n, sizeof *out);
    for (size_t i = 0; i < *out_n; i++)
        out[i] = (uint32_t)indices[i];
    return out;
}

static void trpl_critic_epochs(replay_case *c, const step_samples *s, const minibatches *cut)
{
    const json_t *weights = replay_object(c, c->root, "weights");
    const json_t *epochs = replay_get(c, c->root, "epochs_critic");
    const value_samples values = { s->obs, s->returns, NULL };
    replay_layers layers;
    tce_net *net;
    tce_net_options options;
    tce_adam_options adam;
    replay_read_layers(c, weights, "critic", &layers);
    tce_net_options_init(&options, sizeof options);
    options.n_in = (int32_t)layers.n_in;
    options.n_hidden = (int32_t)layers.n - 1;
    options.hidden = layers.hidden;
    options.activation = replay_activation(c);
    options.precision = TCE_NET_DOUBLE;
    replay_ok(c, tce_net_create(&options, NULL, &net));
    replay_keep(c, net, free_net);
    replay_ok(c, tce_net_set_weights(net, layers.parameters));
    tce_adam_options_init(&adam, sizeof adam);
    adam.learning_rate = replay_number(c, c->root, "lr_critic_alpha");
    adam.epsilon = replay_number(c, c->root, "adam_epsilon");
    for (size_t e = 0; e < json_array_size(epochs); e++)
        for (size_t k = 0; k < cut->count; k++) {
            const json_t *step = json_array_get(json_array_get(epochs, e), k);
            size_t n;
            value_report report;
            const uint32_t *rows = minibatch_rows(c, step, cut, k, &n);
            replay_ok(c, value_gradient(net, &values, n, rows, 1.0, 0.0, &report));
            replay_compare_rivals(c, step, "loss", 1, &report.loss);
            replay_ok(c, tce_net_adam_step(net, &adam));
        }
    double *after = replay_zeros(c, layers.n_parameters);
    tce_net_get_weights(net, after);
    compare_list(c, replay_object(c, c->root, "final_weights"), "critic", after);
}

void replay_trpl_step_minibatches(replay_case *c)
{
    size_t shape[REPLAY_MAX_RANK];
    trpl_step t;
    replay_shape(c, c->root, "observations", shape);
    const size_t rows = shape[0];
    const json_t *weights = replay_object(c, c->root, "weights");
    create_trpl(c, weights, "policy", weights, rows, &t);
    const policy_update_options o = trpl_options(c);
    step_samples s = trpl_samples(c, &t, rows, "advantages");
    double *advantages = replay_array(c, c->root, "advantages", rows);
    tce_returns_normalise(rows, NULL, advantages);
    replay_compare_rivals(c, c->root, "advantages_normalised", rows, advantages);
    s.advantages = advantages;
    s.returns = replay_array(c, c->root, "returns", rows);
    const minibatches cut = minibatches_of(
        rows, (size_t)replay_int(c, c->root, "minibatches", 1, MOST), 0);
    const json_t *epochs = replay_get(c, c->root, "epochs");
    for (size_t e = 0; e < json_array_size(epochs); e++)
        for (size_t k = 0; k < cut.count; k++) {
            const json_t *step = json_array_get(json_array_get(epochs, e), k);
            size_t n;
            const uint32_t *list = minibatch_rows(c, step, &cut, k, &n);
            trpl_update(c, step, &t, &s, n, list, &o);
        }
    const json_t *final = replay_object(c, c->root, "final_weights");
    compare_trpl_vector(c, final, "policy", final, "std_vector", &t, 0);
    trpl_critic_epochs(c, &s, &cut);
}

/* ---- BBRL with clipped ratios ---------------------------------------------------------------- */

static void free_critic(void *c)
{
    critic_free(c);
}

/* A policy over parameters with the case's weights, and an update that projects nothing. */
static void create_clipped(replay_case *c, size_t rows, policy_update *u)
{
    const json_t *weights = replay_object(c, c->root, "weights");
    const int diagonal = strcmp(replay_text(c, c->root, "covariance"), "diagonal") == 0;
    replay_layers layers;
    tce_policy_options policy;
    tce_trpl_options trpl;
    replay_read_layers(c, weights, "policy", &layers);
    const size_t P = layers.n_out, n_raw = diagonal ? P : P * (P + 1) / 2;
    tce_policy_options_init(&policy, sizeof policy);
    policy.n_obs = (int32_t)layers.n_in;
    policy.n_dims = (int32_t)P;
    policy.form = diagonal ? TCE_POLICY_DIAGONAL_SHARED : TCE_POLICY_FULL_SHARED;
    policy.n_hidden = (int32_t)layers.n - 1;
    policy.hidden = layers.hidden;
    policy.activation = replay_activation(c);
    policy.precision = TCE_NET_DOUBLE;
    policy.max_batch = (int32_t)rows;
    policy.min_std = replay_number(c, c->root, "min_std");
    memset(u, 0, sizeof *u);
    replay_ok(c, tce_policy_create(&policy, NULL, &u->policy));
    replay_keep(c, u->policy, free_policy);
    double *all = replay_zeros(c, layers.n_parameters + n_raw);
    memcpy(all, layers.parameters, layers.n_parameters * sizeof *all);
    memcpy(all + layers.n_parameters, replay_array(c, weights, "covariance_vector", n_raw),
           n_raw * sizeof *all);
    replay_ok(c, tce_policy_set_weights(u->policy, all));

    tce_trpl_options_init(&trpl, sizeof trpl);
    trpl.kind = TCE_TRPL_IDENTITY;
    trpl.dim = (int32_t)P;
    trpl.max_batch = (int32_t)rows;
    trpl.diagonal = diagonal;
    replay_ok(c, tce_trpl_create(&trpl, NULL, &u->trpl));
    replay_keep(c, u->trpl, free_trpl);
    memory *m = case_memory(c);
    const policy_update_sizes sizes = {
        .max_rows = rows, .n_scales = 1, .P = P, .diagonal = diagonal
    };
    policy_update_take(u, m, &sizes);
    if (m->failed)
        replay_fail(c, "no memory");
}

static void compare_clipped(replay_case *c, const json_t *layers_owner, const char *layers_key,
                            const json_t *vector_owner, const policy_update *u, int gradient)
{
    const size_t n = tce_policy_n_weights(u->policy);
    const int diagonal = tce_policy_scale_size(u->policy) == u->P;
    const size_t n_raw = diagonal ? u->P : u->P * (u->P + 1) / 2;
    double *all = replay_zeros(c, n);
    if (gradient)
        tce_policy_get_gradient(u->policy, all);
    else
        tce_policy_get_weights(u->policy, all);
    compare_list(c, layers_owner, layers_key, all);
    replay_compare_rivals(c, vector_owner, "covariance_vector", n_raw, all + n - n_raw);
}

static void clipped_policy_epochs(replay_case *c, size_t rows, const double *contexts)
{
    policy_update u;
    create_clipped(c, rows, &u);
    parameter_likelihood likelihood = {
        .n = rows,
        .n_factors = 1,
        .P = u.P,
        .params = replay_array(c, c->root, "sampled_params", rows * u.P),
        .old_log_prob = replay_array(c, c->root, "old_log_prob", rows),
        .advantages = replay_array(c, c->root, "advantages_normalised", rows),
        .ratio_clip = clip_width(c, "clip"),
        .log_prob = replay_zeros(c, rows),
        .d_log_prob = replay_zeros(c, rows),
        .work = replay_zeros(c, tce_gauss_work_size(rows, u.P))
    };
    double *old_mean = replay_zeros(c, rows * u.P), *old_L = replay_zeros(c, u.P * u.P);
    for (size_t i = 0; i < u.P; i++)
        old_L[i * u.P + i] = 1.0;
    const policy_rows batch = { rows, contexts, old_mean, old_L, parameter_surrogate, &likelihood };
    policy_update_options o = { .bounds = TCE_INIT(tce_trpl_bounds) };
    tce_adam_options_init(&o.adam, sizeof o.adam);
    o.adam.learning_rate = replay_number(c, c->root, "lr");
    o.adam.epsilon = replay_number(c, c->root, "adam_epsilon");
    const json_t *epochs = replay_get(c, c->root, "epochs");
    for (size_t e = 0; e < json_array_size(epochs); e++) {
        const json_t *epoch = json_array_get(epochs, e);
        const json_t *gradients = replay_get(c, epoch, "gradients");
        policy_gradient gradient = { .stats = TCE_INIT(tce_returns_stats) };
        double norm;
        replay_ok(c, policy_update_gradient(&u, &batch, &o, &gradient));
        replay_compare_rivals(c, epoch, "policy_loss", 1, &gradient.stats.loss);
        replay_compare_rivals(c, epoch, "clip_fraction", 1, &gradient.stats.fraction_clipped);
        replay_compare_rivals(c, epoch, "log_prob", rows, likelihood.log_prob);
        if (gradients != NULL)
            compare_clipped(c, gradients, "layers", gradients, &u, 1);
        replay_ok(c, policy_update_step(&u, &o, &norm));
    }
    const json_t *final = replay_object(c, c->root, "final_weights");
    compare_clipped(c, final, "policy", final, &u, 0);
}

static void clipped_critic_epochs(replay_case *c, size_t rows, const double *contexts)
{
    const json_t *epochs = replay_get(c, c->root, "epochs_critic");
    replay_layers layers;
    critic *v = replay_block(c, 1, sizeof *v);
    replay_read_layers(c, replay_object(c, c->root, "weights"), "critic", &layers);
    const critic_options options = { .n_inputs = (int32_t)layers.n_in,
                                     .n_hidden = (int32_t)layers.n - 1,
                                     .hidden = layers.hidden,
                                     .activation = replay_activation(c),
                                     .precision = TCE_NET_DOUBLE,
                                     .max_rows = (int32_t)rows };
    const double *targets = replay_array(c, c->root, "returns", rows);
    critic_fit fit = { .n_minibatches = 1, .value_clip = clip_width(c, "value_clip") };
    tce_adam_options_init(&fit.adam, sizeof fit.adam);
    fit.adam.learning_rate = replay_number(c, c->root, "lr_critic_alpha");
    fit.adam.epsilon = replay_number(c, c->root, "adam_epsilon");
    replay_ok(c, critic_create(v, &options, case_memory(c)));
    replay_keep(c, v, free_critic);
    replay_ok(c, tce_net_set_weights(v->net, layers.parameters));
    replay_ok(c, critic_remember(v, rows, contexts, &fit.old_values));
    replay_compare_rivals(c, c->root, "old_values", rows, fit.old_values);
    for (size_t e = 0; e < json_array_size(epochs); e++) {
        const json_t *epoch = json_array_get(epochs, e);
        const value_samples samples = { contexts, targets, fit.old_values };
        value_report report;
        double loss;
        replay_ok(c, value_gradient(v->net, &samples, rows, NULL, 1.0, fit.value_clip, &report));
        replay_compare_rivals(c, epoch, "fraction_clipped", 1, &report.clip_fraction);
        replay_ok(c, critic_fit_epoch(v, &fit, rows, contexts, targets, NULL, &loss));
        replay_compare_rivals(c, epoch, "value_loss", 1, &loss);
    }
    double *after = replay_zeros(c, layers.n_parameters);
    tce_net_get_weights(v->net, after);
    compare_list(c, replay_object(c, c->root, "final_weights"), "critic", after);
}

void replay_bbrl_clip_updates(replay_case *c)
{
    size_t shape[REPLAY_MAX_RANK];
    replay_shape(c, c->root, "contexts", shape);
    const double *contexts = replay_array(c, c->root, "contexts", shape[0] * shape[1]);
    clipped_policy_epochs(c, shape[0], contexts);
    clipped_critic_epochs(c, shape[0], contexts);
}

/*
 * ---- what a trained policy does ---------------------------------------------------------------
 */

void replay_policy_action(replay_case *c)
{
    size_t shape[REPLAY_MAX_RANK];
    agent a;
    replay_layers layers;
    const int squashed = replay_get(c, c->root, "body") != NULL;
    if (squashed) {
        /* body and mean head of a policy, one after the other */
        json_t *all = json_deep_copy(replay_get(c, c->root, "body"));
        json_array_append(all, (json_t *)replay_get(c, c->root, "mean"));
        json_t *wrapped = json_pack("{so}", "layers", all);
        replay_read_layers(c, wrapped, "layers", &layers);
        json_decref(wrapped);
    } else {
        replay_read_layers(c, c->root, "policy", &layers);
    }
    replay_shape(c, c->root, "observations", shape);
    const size_t n = shape[0], O = shape[1], P = layers.n_out;
    tce_policy_options policy;
    tce_policy_options_init(&policy, sizeof policy);
    policy.n_obs = (int32_t)O;
    policy.n_dims = (int32_t)P;
    policy.form = TCE_POLICY_DIAGONAL_SHARED;
    policy.n_hidden = (int32_t)layers.n - 1;
    policy.hidden = layers.hidden;
    policy.activation = replay_activation(c);
    policy.precision = TCE_NET_DOUBLE;
    memset(&a, 0, sizeof a);
    replay_ok(c, tce_policy_create(&policy, NULL, &a.policy));
    replay_keep(c, a.policy, free_policy);
    double *weights = replay_zeros(c, tce_policy_n_weights(a.policy));
    memcpy(weights, layers.parameters, layers.n_parameters * sizeof *weights);
    replay_ok(c, tce_policy_set_weights(a.policy, weights));

    a.acts = 1;
    a.O = a.O_net = a.n_context = O;
    a.P = P;
    a.output = squashed ? AGENT_TANH : AGENT_CLIP;
    a.low = replay_array(c, c->root, "action_low", P);
    a.high = replay_array(c, c->root, "action_high", P);
    if (!squashed)
        a.normaliser = replay_normaliser(c, O, replay_number_or(c, c->root, "epsilon", 1e-8),
                                         replay_number_or(c, c->root, "obs_clip", 0.0));
    const double *obs = replay_array(c, c->root, "observations", n * O);
    double *action = replay_zeros(c, n * P), *work = replay_zeros(c, agent_work(&a, n));
    replay_ok(c, agent_act(&a, n, obs, 0.0, work, action));
    replay_compare_rivals(c, c->root, "action", n * P, action);
    a.output = AGENT_PLAIN;
    replay_ok(c, agent_act(&a, n, obs, 0.0, work, action));
    replay_compare_rivals(c, c->root, "network_output", n * P, action);
}
