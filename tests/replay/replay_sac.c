/*
 * Soft actor-critic: updates with the noise given, the parts of one alone, and whole updates where
 * every transition ends.
 */
#include "replay.h"

#include <math.h>
#include <string.h>

#include "methods/sac_update.h"
#include "replay_sac.h"

/* ---- weights --------------------------------------------------------------------------------- */

const json_t *replay_list(replay_case *c, const json_t *object, const char *key)
{
    const json_t *list = replay_get(c, object, key);
    if (!json_is_array(list))
        replay_fail(c, "\"%s\" is missing or not a list", key);
    return list;
}

/* numbers of a layer, as an array of its own size */
static double *layer_array(replay_case *c, const json_t *layer, const char *key, size_t *out_n)
{
    size_t shape[REPLAY_MAX_RANK];
    const size_t rank = replay_shape(c, layer, key, shape);
    *out_n = rank == 0 ? 1 : rank == 1 ? shape[0] : shape[0] * shape[1];
    return replay_array(c, layer, key, *out_n);
}

/* what a layer, or two heads side by side, do with a vector of weights: read it, or be compared */
typedef struct walk {
    replay_case *c;
    double *weights;
    size_t n, used;
    int compare;
} walk;

static void visit(walk *w, const json_t *layer, const char *key)
{
    size_t n;
    double *numbers = layer_array(w->c, layer, key, &n);
    if (w->used + n > w->n)
        replay_fail(w->c, "more weights than the network's %zu", w->n);
    if (w->compare)
        replay_compare_rivals(w->c, layer, key, n, w->weights + w->used);
    else
        memcpy(w->weights + w->used, numbers, n * sizeof *numbers);
    w->used += n;
}

static void visit_layers(walk *w, const json_t *layers)
{
    for (size_t l = 0; l < json_array_size(layers); l++) {
        visit(w, json_array_get(layers, l), "weight");
        visit(w, json_array_get(layers, l), "bias");
    }
}

static void visit_actor(walk *w, const json_t *all)
{
    const json_t *mean = replay_object(w->c, all, "mean");
    const json_t *log_std = replay_object(w->c, all, "log_std");
    visit_layers(w, replay_list(w->c, all, "body"));
    visit(w, mean, "weight");
    visit(w, log_std, "weight");
    visit(w, mean, "bias");
    visit(w, log_std, "bias");
}

static void end_walk(const walk *w)
{
    if (w->used != w->n)
        replay_fail(w->c, "%zu weights, the network has %zu", w->used, w->n);
}

static void set_net(replay_case *c, const json_t *layers, tce_net *net)
{
    const size_t n = tce_net_n_weights(net);
    walk w = { c, replay_zeros(c, n), n, 0, 0 };
    visit_layers(&w, layers);
    end_walk(&w);
    replay_ok(c, tce_net_set_weights(net, w.weights));
}

static void compare_vector(replay_case *c, const json_t *layers, size_t n, double *weights,
                           int is_actor)
{
    walk w = { c, weights, n, 0, 1 };
    if (is_actor)
        visit_actor(&w, layers);
    else
        visit_layers(&w, layers);
    end_walk(&w);
}

static size_t width_of(replay_case *c, const json_t *layer, size_t *out_in)
{
    size_t shape[REPLAY_MAX_RANK];
    if (replay_shape(c, layer, "weight", shape) != 2)
        replay_fail(c, "a \"weight\" is not a matrix");
    if (out_in)
        *out_in = shape[1];
    return shape[0];
}

/* ---- the learner ----------------------------------------------------------------------------- */

static void free_sac(void *s)
{
    sac_free(s);
}

static void free_memory(void *m)
{
    memory_free(m);
}

static int32_t *widths_of(replay_case *c, const json_t *layers, size_t n)
{
    int32_t *out = replay_zeros_int(c, n > 0 ? n : 1);
    for (size_t l = 0; l < n; l++)
        out[l] = (int32_t)width_of(c, json_array_get(layers, l), NULL);
    return out;
}

void replay_sac_options(replay_case *c, size_t batch_size, size_t max_rows, int bootstrap,
                        sac_options *out)
{
    const json_t *weights = replay_object(c, c->root, "weights");
    const json_t *body = replay_list(c, weights, "body");
    const json_t *critic = json_array_get(replay_list(c, weights, "q"), 0);
    const size_t n_hidden = json_array_size(body), n_critic = json_array_size(critic);
    size_t n_obs, n_in;
    if (n_hidden == 0 || n_critic < 2)
        replay_fail(c, "there is no body, or no hidden layer of a critic");
    width_of(c, json_array_get(body, 0), &n_obs);
    width_of(c, json_array_get(critic, 0), &n_in);
    const size_t n_actions = width_of(c, replay_object(c, weights, "mean"), NULL);
    if (n_in != n_obs + n_actions)
        replay_fail(c, "the critics see %zu numbers, [o, a] has %zu", n_in, n_obs + n_actions);
    *out = (sac_options){ .n_obs = (int32_t)n_obs,
                          .n_actions = (int32_t)n_actions,
                          .n_hidden = (int32_t)n_hidden,
                          .n_critic_hidden = (int32_t)n_critic - 1,
                          .hidden = widths_of(c, body, n_hidden),
                          .critic_hidden = widths_of(c, critic, n_critic - 1),
                          .activation = replay_activation(c),
                          .critic_activation = replay_activation(c),
                          .precision = TCE_NET_DOUBLE,
                          .start = TCE_NET_FAN_IN,
                          .log_std_low = replay_number_or(c, c->root, "log_std_low", -20.0),
                          .log_std_high = replay_number_or(c, c->root, "log_std_high", 2.0),
                          .batch_size = (int32_t)batch_size,
                          .max_rows = (int32_t)max_rows,
                          .bootstrap = bootstrap };
}

void replay_sac_weights(replay_case *c, sac *s)
{
    const json_t *weights = replay_object(c, c->root, "weights");
    const json_t *q = replay_list(c, weights, "q");
    const size_t n = tce_policy_n_weights(s->actor);
    walk w = { c, replay_zeros(c, n), n, 0, 0 };
    visit_actor(&w, weights);
    end_walk(&w);
    replay_ok(c, tce_policy_set_weights(s->actor, w.weights));
    for (size_t j = 0; j < 2; j++) {
        set_net(c, json_array_get(q, j), s->critic[j]);
        if (s->target[j])
            set_net(c, json_array_get(replay_list(c, weights, "q_target"), j), s->target[j]);
    }
    s->log_alpha = replay_number(c, weights, "log_alpha");
}

void replay_sac_rates(replay_case *c, sac_rates *out)
{
    const double rate = replay_number(c, c->root, "lr");
    memset(out, 0, sizeof *out);
    tce_adam_options_init(&out->actor, sizeof out->actor);
    out->actor.learning_rate = rate;
    out->actor.epsilon = replay_number(c, c->root, "adam_epsilon");
    out->critic = out->actor;
    out->critic.learning_rate = replay_number_or(c, c->root, "lr_critic_alpha", rate);
    out->gamma = replay_number_or(c, c->root, "gamma", 1.0);
    out->polyak = replay_number_or(c, c->root, "polyak", 0.0);
    out->target_entropy = replay_number(c, c->root, "target_entropy");
    out->fixed_alpha = replay_int_or(c, c->root, "fixed_alpha", 0);
}

void replay_sac_final(replay_case *c, sac *s)
{
    const json_t *final = replay_object(c, c->root, "final");
    const json_t *q = replay_list(c, final, "q");
    size_t n = tce_policy_n_weights(s->actor);
    double *weights = replay_zeros(c, n);
    tce_policy_get_weights(s->actor, weights);
    compare_vector(c, final, n, weights, 1);
    n = tce_net_n_weights(s->critic[0]);
    weights = replay_zeros(c, n);
    for (size_t j = 0; j < 2; j++) {
        tce_net_get_weights(s->critic[j], weights);
        compare_vector(c, json_array_get(q, j), n, weights, 0);
        if (!s->target[j])
            continue;
        tce_net_get_weights(s->target[j], weights);
        compare_vector(c, json_array_get(replay_list(c, final, "q_target"), j), n, weights, 0);
    }
    replay_compare_rivals(c, final, "log_alpha", 1, &s->log_alpha);
}

sac *replay_sac(replay_case *c, const sac_options *options)
{
    memory *m = replay_block(c, 1, sizeof *m);
    sac *s = replay_block(c, 1, sizeof *s);
    replay_keep(c, m, free_memory);
    replay_keep(c, s, free_sac);
    replay_ok(c, sac_create(s, options, m));
    replay_sac_weights(c, s);
    return s;
}

void replay_sac_report(replay_case *c, const json_t *step, const sac *s, const sac_report *made)
{
    replay_compare_rivals(c, step, "target", s->M, s->y);
    replay_compare_rivals(c, step, "alpha", 1, &made->alpha);
    replay_compare_rivals(c, step, "alpha_loss", 1, &made->alpha_loss);
    replay_compare_rivals(c, step, "critic_loss", 1, &made->critic_loss);
    replay_compare_rivals(c, step, "actor_loss", 1, &made->actor_loss);
    replay_compare_rivals(c, step, "log_alpha_after", 1, &s->log_alpha);
}

/* ---- families -------------------------------------------------------------------------------- */

static void copy(replay_case *c, const json_t *step, const char *key, size_t n, double *out)
{
    memcpy(out, replay_array(c, step, key, n), n * sizeof *out);
}

/* gradients of the last update, where the step has them */
static void compare_gradients(replay_case *c, const json_t *step, const sac *s)
{
    const json_t *gradients = replay_get(c, step, "gradients");
    if (!gradients)
        return;
    double alpha = 0.0;
    for (size_t i = 0; i < s->M; i++)
        alpha -= s->log_prob[i] / (double)s->M;
    alpha -= replay_number(c, c->root, "target_entropy");
    replay_compare_rivals(c, gradients, "alpha", 1, &alpha);
    size_t n = tce_policy_n_weights(s->actor);
    double *numbers = replay_zeros(c, n);
    tce_policy_get_gradient(s->actor, numbers);
    compare_vector(c, replay_object(c, gradients, "actor"), n, numbers, 1);
    n = tce_net_n_weights(s->critic[0]);
    numbers = replay_zeros(c, n);
    for (size_t j = 0; j < 2; j++) {
        tce_net_get_gradient(s->critic[j], numbers);
        compare_vector(c, json_array_get(replay_list(c, gradients, "critic"), j), n, numbers, 0);
    }
}

/* What both critics say of n samples. */
static void compare_pair(replay_case *c, const json_t *step, const char *key, size_t n,
                         const double *const *q)
{
    double *both = replay_zeros(c, 2 * n);
    for (size_t j = 0; j < 2; j++)
        memcpy(both + j * n, q[j], n * sizeof *both);
    replay_compare_rivals(c, step, key, 2 * n, both);
}

static void compare_actions(replay_case *c, const json_t *step, const sac *s)
{
    replay_compare_rivals(c, step, "policy_action", s->M * s->A, s->policy_actions);
    replay_compare_rivals(c, step, "policy_log_prob", s->M, s->log_prob);
    compare_pair(c, step, "policy_q", s->M, (const double *const *)s->policy_q);
    if (!s->target[0])
        return;
    compare_pair(c, step, "target_q", s->M, (const double *const *)s->next_q);
    replay_compare_rivals(c, step, "next_action", s->M * s->A, s->next_actions);
    replay_compare_rivals(c, step, "next_log_prob", s->M, s->next_log_prob);
}

/* numbers of rows in the first step's array */
static size_t rows_of(replay_case *c, const json_t *steps, const char *key)
{
    size_t shape[REPLAY_MAX_RANK];
    if (json_array_size(steps) == 0)
        replay_fail(c, "there are no steps");
    replay_shape(c, json_array_get(steps, 0), key, shape);
    return shape[0];
}

void replay_sac_updates(replay_case *c)
{
    const json_t *steps = replay_list(c, c->root, "steps");
    const size_t M = rows_of(c, steps, "observations");
    sac_options options;
    sac_rates rates;
    replay_sac_options(c, M, M, 1, &options);
    replay_sac_rates(c, &rates);
    sac *s = replay_sac(c, &options);
    for (size_t k = 0; k < json_array_size(steps); k++) {
        const json_t *step = json_array_get(steps, k);
        sac_report made;
        copy(c, step, "observations", M * s->O, s->batch.obs);
        copy(c, step, "actions", M * s->A, s->batch.actions);
        copy(c, step, "rewards", M, s->batch.rewards);
        copy(c, step, "next_observations", M * s->O, s->batch.next_obs);
        copy(c, step, "ends", M, s->batch.ends);
        copy(c, step, "noise", M * s->A, s->batch.noise);
        copy(c, step, "next_noise", M * s->A, s->batch.next_noise);
        replay_ok(c, sac_update(s, &rates, &made));
        compare_actions(c, step, s);
        replay_sac_report(c, step, s, &made);
        compare_gradients(c, step, s);
    }
    replay_sac_final(c, s);
}

void replay_sac_mp_updates(replay_case *c)
{
    const json_t *steps = replay_list(c, c->root, "steps");
    const size_t M = rows_of(c, steps, "contexts");
    const double reward_scale = replay_number(c, c->root, "reward_scale");
    const double action_scale = replay_number(c, c->root, "action_scale");
    sac_options options;
    sac_rates rates;
    replay_sac_options(c, M, M, 0, &options);
    replay_sac_rates(c, &rates);
    sac *s = replay_sac(c, &options);
    for (size_t k = 0; k < json_array_size(steps); k++) {
        const json_t *step = json_array_get(steps, k);
        double *params = replay_zeros(c, M * s->A);
        sac_report made;
        copy(c, step, "contexts", M * s->O, s->batch.obs);
        copy(c, step, "actions", M * s->A, s->batch.actions);
        copy(c, step, "returns", M, s->batch.rewards);
        copy(c, step, "noise", M * s->A, s->batch.noise);
        for (size_t i = 0; i < M; i++)
            s->batch.rewards[i] *= reward_scale;
        for (size_t i = 0; i < M * s->A; i++)
            params[i] = action_scale * s->batch.actions[i];
        replay_compare_rivals(c, step, "parameters", M * s->A, params);
        replay_ok(c, sac_update(s, &rates, &made));
        compare_actions(c, step, s);
        replay_sac_report(c, step, s, &made);
        compare_gradients(c, step, s);
    }
    replay_sac_final(c, s);
}

void replay_sac_target(replay_case *c)
{
    size_t shape[REPLAY_MAX_RANK];
    replay_shape(c, c->root, "rewards", shape);
    const size_t n = shape[0];
    const double *q = replay_array(c, c->root, "target_q", 2 * n);
    const double *const next_q[2] = { q, q + n };
    const double *terminated = replay_array(c, c->root, "terminated", n);
    const double *truncated = replay_array(c, c->root, "truncated", n);
    double *ends = replay_zeros(c, n), *target = replay_zeros(c, n);
    for (size_t i = 0; i < n; i++)
        ends[i] = sac_end(terminated[i] != 0.0, truncated[i] != 0.0, 0);
    replay_compare_rivals(c, c->root, "stored_end", n, ends);
    sac_target(n, next_q, replay_array(c, c->root, "next_log_prob", n),
               replay_array(c, c->root, "rewards", n), ends, replay_number(c, c->root, "gamma"),
               replay_number(c, c->root, "alpha"), target);
    replay_compare_rivals(c, c->root, "target", n, target);
}

void replay_entropy_coefficient(replay_case *c)
{
    const json_t *steps = replay_list(c, c->root, "steps");
    size_t shape[REPLAY_MAX_RANK];
    sac s;
    sac_rates rates;
    memset(&s, 0, sizeof s);
    s.log_alpha = replay_number(c, c->root, "log_alpha");
    replay_sac_rates(c, &rates);
    replay_shape(c, c->root, "log_prob", shape);
    if (json_array_size(steps) != shape[0])
        replay_fail(c, "%zu steps, %zu rows of \"log_prob\"", json_array_size(steps), shape[0]);
    const double *log_prob = replay_array(c, c->root, "log_prob", shape[0] * shape[1]);
    for (size_t k = 0; k < shape[0]; k++) {
        const json_t *step = json_array_get(steps, k);
        const double alpha = exp(s.log_alpha);
        double loss, gradient;
        replay_compare_rivals(c, step, "alpha", 1, &alpha);
        replay_ok(c,
                  sac_temperature(&s, &rates, shape[1], log_prob + k * shape[1], &loss, &gradient));
        replay_compare_rivals(c, step, "alpha_loss", 1, &loss);
        replay_compare_rivals(c, step, "gradient", 1, &gradient);
        replay_compare_rivals(c, step, "log_alpha_after", 1, &s.log_alpha);
    }
}
