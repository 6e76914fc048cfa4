/*
 * Making, iterating and keeping the learner of all step-based on-policy methods.
 */
#include "methods/on_policy.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/clock.h"

const char *const ON_POLICY_PHASES[] = { "simulation", "acting", "update", NULL };
const char *const ON_POLICY_COLUMNS[] = { "entropy",
                                          "value_loss",
                                          "policy_loss",
                                          "policy_gradient_norm",
                                          "approx_kl",
                                          "fraction_clipped",
                                          "ratio_clip",
                                          "explained_variance",
                                          "trust_region_loss",
                                          "kl_mean",
                                          "kl_cov",
                                          "std",
                                          NULL };

/* Numbers that every on-policy method logs, after those of the task. */
enum { COLUMN_EXPLAINED, COLUMN_STD, N_SHARED };
static const char *const SHARED[N_SHARED] = { "explained_variance", "std" };

/* Added to variances before their root. */
#define NORMALISER_EPSILON 1e-8

/* How an epoch cuts n samples. */
static minibatches cut_of(const on_policy *l, size_t n)
{
    return minibatches_of(n, (size_t)l->o->minibatches, (size_t)l->o->batch_size);
}

/* ---- create ---------------------------------------------------------------------------------- */

static tce_status create_policy(on_policy *l, const tce_hooks *hooks)
{
    const settings *s = &l->s;
    tce_policy_options policy;
    tce_policy_options_init(&policy, sizeof policy);
    policy.n_obs = (int32_t)l->O;
    policy.n_dims = (int32_t)l->A;
    policy.form = TCE_POLICY_DIAGONAL_SHARED;
    policy.spread = l->way.spread;
    policy.n_hidden = s->policy.hidden.n;
    policy.hidden = s->policy.hidden.v;
    policy.activation = s->policy.options.activation;
    policy.precision = s->policy.options.precision;
    policy.start = s->policy.options.start;
    policy.max_batch = (int32_t)l->max_rows;
    policy.min_std = l->o->min_std;
    policy.initial_std = l->way.spread == TCE_POLICY_SOFTPLUS ? l->o->initial_std - l->o->min_std
                                                              : l->o->initial_std;
    policy.pool = l->pool;
    return tce_policy_create(&policy, hooks, &l->mean);
}

static tce_status create_critic(on_policy *l, const tce_hooks *hooks)
{
    const settings *s = &l->s;
    tce_net_options net;
    tce_net_options_init(&net, sizeof net);
    net.n_in = (int32_t)l->O;
    net.n_hidden = s->critic.hidden.n;
    net.hidden = s->critic.hidden.v;
    net.activation = s->critic.activation;
    net.precision = s->policy.options.precision;
    net.start = s->policy.options.start;
    net.max_pass = (int32_t)l->max_rows;
    net.pool = l->pool;
    return tce_net_create(&net, hooks, &l->critic);
}

static tce_status create_normaliser(size_t n_columns, int32_t centre, double clip,
                                    const tce_hooks *hooks, tce_normaliser **out)
{
    tce_normaliser_options options;
    tce_normaliser_options_init(&options, sizeof options);
    options.n_columns = (int32_t)n_columns;
    options.centre = centre;
    options.clip = clip;
    options.epsilon = NORMALISER_EPSILON;
    return tce_normaliser_create(&options, hooks, out);
}

static tce_status create_projection(on_policy *l, const tce_hooks *hooks)
{
    tce_trpl_options options;
    tce_trpl_options_init(&options, sizeof options);
    options.kind = l->o->projection;
    options.dim = (int32_t)l->A;
    options.max_batch = (int32_t)l->max_rows;
    options.diagonal = 1;
    return tce_trpl_create(&options, hooks, &l->projection);
}

/* hooks: NULL, or those of memory.h */
static tce_status create_handles(on_policy *l, const tce_hooks *hooks)
{
    const on_policy_settings *o = l->o;
    tce_status status = create_policy(l, hooks);
    if (hooks)
        status = memory_measured(status);
    if (status == TCE_OK)
        status = create_critic(l, hooks);
    if (hooks)
        status = memory_measured(status);
    if (status == TCE_OK && l->way.projected)
        status = create_projection(l, hooks);
    if (hooks && l->way.projected)
        status = memory_measured(status);
    if (status == TCE_OK && o->normalise_observations && !hooks)
        status = create_normaliser(l->O, 1, o->observation_clip, hooks, &l->seen_obs);
    if (status == TCE_OK && o->normalise_rewards && !hooks)
        status = create_normaliser(1, 0, o->reward_clip, hooks, &l->seen_returns);
    return status;
}

static void take_arrays(on_policy *l, memory *m)
{
    const size_t N = l->N, S = l->S, O = l->O, A = l->A, n = l->n;
    step_rollout *r = &l->rollout;
    const gsde_options noise = { l->F, A, l->o->spread, l->o->full_std, l->o->initial_std };
    if (l->way.gsde)
        gsde_take(&l->noise, &noise, m);
    step_policy_take(&l->actor, m, l->max_rows, A, l->F);
    step_update_take(&l->update, m, l->max_rows, O, A);
    if (l->way.projected)
        trpl_step_take(&l->trpl, m, l->max_rows, O, A);
    r->obs = memory_doubles(m, n * O);
    r->actions = memory_doubles(m, n * A);
    r->log_prob = memory_doubles(m, n);
    r->values = memory_doubles(m, n);
    r->rewards = memory_doubles(m, n);
    r->ends = memory_take(m, n, 1);
    r->lost = memory_take(m, n, 1);
    r->advantages = memory_doubles(m, n);
    r->returns = memory_doubles(m, n);
    if (l->way.projected) {
        r->means = memory_doubles(m, n * A);
        r->deviations = memory_doubles(m, A);
    }
    r->valid = memory_take(m, n, sizeof *r->valid);
    l->obs = memory_doubles(m, N * O);
    l->terminal = memory_doubles(m, N * O);
    l->next_values = memory_doubles(m, N);
    l->discounted = memory_doubles(m, N);
    l->normals = memory_doubles(m, N * A * (l->way.gsde ? l->F : 1));
    l->matrices = memory_doubles(m, l->way.gsde ? N * l->F * A : 0);
    l->all_values = memory_doubles(m, N * (S + 1));
    l->work = memory_doubles(m, tce_net_work_size(l->critic, N));
    l->mask = memory_take(m, N, 1);
    l->which = memory_take(m, N, sizeof *l->which);
    l->order = memory_take(m, n, sizeof *l->order);
    l->rows = memory_take(m, n, sizeof *l->rows);
}

/* All that will be taken, against all that there is. */
static tce_status check_memory(on_policy *l)
{
    char remedy[256];
    memory m = { .measure = 1 };
    tce_hooks hooks;
    on_policy copy = *l;
    snprintf(remedy, sizeof remedy,
             "lower collect.environments = %d, collect.steps = %d or the widths of the networks",
             (int)l->s.collect.environments, (int)l->o->steps);
    memory_hooks(&m, &hooks);
    tce_status status = create_handles(&copy, &hooks);

    /* a value network of one row tells what its work space takes */
    copy.max_rows = 1;
    if (status == TCE_OK)
        status = create_critic(&copy, NULL);
    copy.max_rows = l->max_rows;
    take_arrays(&copy, &m);
    tce_net_free(copy.critic);
    m.bytes += stepping_bytes(&l->env);
    return status == TCE_OK ? memory_check(m.bytes, "this run", remedy) : status;
}

static tce_status start_weights(on_policy *l)
{
    tce_random random;
    tce_random_start(&random, l->s.run.seed, PURPOSE_POLICY_START, 0, 0);
    tce_status status = tce_policy_start(l->mean, &random);
    tce_random_start(&random, l->s.run.seed, PURPOSE_CRITIC_START, 0, 0);
    if (status == TCE_OK)
        status = tce_net_start(l->critic, &random);
    if (l->way.gsde)
        gsde_start(&l->noise);
    return status;
}

/* The noise of explore. */
static exploration exploration_of(const on_policy *l)
{
    const exploration white = { .form = EXPLORATION_WHITE };
    const exploration held = {
        .form = EXPLORATION_HELD, .every = l->o->sde_every, .n_features = l->F, .std = l->noise.std
    };
    return l->way.gsde ? held : white;
}

static tce_status take_columns(on_policy *l)
{
    const size_t n_task = l->env.M + 2;
    l->shared_column = n_task;
    l->own_column = n_task + N_SHARED;
    l->n_columns = l->own_column + l->way.n_own;
    l->columns = memory_take(&l->arrays, l->n_columns, sizeof *l->columns);
    if (!l->columns)
        return tce_fail(TCE_E_NOMEM, "no memory for %zu columns", l->n_columns);
    memcpy(l->columns, l->env.names, n_task * sizeof *l->columns);
    memcpy(l->columns + n_task, SHARED, sizeof SHARED);
    if (l->way.n_own > 0)
        memcpy(l->columns + l->own_column, l->way.own, l->way.n_own * sizeof *l->columns);
    return TCE_OK;
}

/* Numbers of a run, each a function of what it is for. */
static void draw_normals(void *context, int64_t i, int64_t step, size_t n, double *out)
{
    const on_policy *l = context;
    tce_random random;
    tce_random_start(&random, l->s.run.seed, PURPOSE_ACTIONS, (uint64_t)i, (uint64_t)step);
    tce_random_normals(&random, n, out);
}

static void draw_permutation(void *context, int64_t i, int32_t what, int32_t epoch, size_t n,
                             uint32_t *out)
{
    const on_policy *l = context;
    tce_random random;
    tce_random_start(&random, l->s.run.seed,
                     what == 0 ? PURPOSE_MINIBATCH : PURPOSE_CRITIC_MINIBATCH, (uint64_t)i,
                     (uint64_t)epoch);
    tce_random_permutation(&random, n, out);
}

/* Lost samples only make minibatches smaller. */
static size_t most_rows(const on_policy *l)
{
    const minibatches cut = cut_of(l, l->n);
    const size_t largest = minibatch_begin(&cut, 1);
    return largest > l->N ? largest : l->N;
}

static tce_status create_parts(on_policy *l, const method_context *c)
{
    const settings *s = &l->s;
    const stepping_options options = { s->collect.environments, PURPOSE_TRAIN_ENV };
    tce_status status = stepping_create(&l->env, c->t, s, c->pool, &options);
    if (status != TCE_OK)
        return status;
    l->N = l->env.N;
    l->S = (size_t)l->o->steps;
    l->O = l->env.O;
    l->A = l->env.A;
    l->F = l->way.gsde ? (size_t)s->policy.hidden.v[s->policy.hidden.n - 1] : 0;
    l->n = l->N * l->S;
    if (l->n > INT32_MAX)
        return tce_fail(TCE_E_NOMEM,
                        "an iteration has %zu steps, the limit is %d: lower collect.steps", l->n,
                        INT32_MAX);
    l->max_rows = most_rows(l);
    l->total_steps = l->o->schedule_steps > 0 ? l->o->schedule_steps
                                              : s->run.iterations * (int64_t)l->n;
    status = check_memory(l);
    if (status == TCE_OK)
        status = create_handles(l, NULL);
    if (status == TCE_OK)
        status = stepping_allocate(&l->env, &l->arrays);
    if (status != TCE_OK)
        return status;
    take_arrays(l, &l->arrays);
    if (l->arrays.failed)
        return tce_fail(TCE_E_NOMEM, "no memory for %zu steps: lower collect.steps", l->n);
    l->actor.policy = l->mean;
    l->actor.noise = l->way.gsde ? &l->noise : NULL;
    l->update.policy = &l->actor;
    l->trpl.update.policy = l->mean;
    l->trpl.update.trpl = l->projection;
    l->update.critic = l->critic;
    l->update.pool = l->pool;
    agent_describe(&l->agent, l->env.spec, s->task.name, 0, 0);
    l->agent.policy = l->mean;
    l->agent.acts = 1;
    l->agent.P = l->A;
    l->agent.output = AGENT_CLIP;
    l->agent.low = l->env.spec->action_low;
    l->agent.high = l->env.spec->action_high;
    l->agent.normaliser = l->seen_obs;
    l->agent.epsilon = NORMALISER_EPSILON;
    l->agent.clip = l->o->observation_clip;
    l->agent.exploration = exploration_of(l);
    status = take_columns(l);
    return status == TCE_OK ? start_weights(l) : status;
}

tce_status on_policy_create(const method_context *c, const on_policy_way *way, void **out)
{
    *out = NULL;
    on_policy *l = calloc(1, sizeof *l);
    if (!l)
        return tce_fail(TCE_E_NOMEM, "no memory for a learner");
    l->s = *c->s;
    l->o = on_policy_settings_of(&l->s);
    l->way = *way;
    l->pool = c->pool;
    l->draws = (on_policy_draws){ l, draw_normals, draw_permutation };
    const tce_status status = create_parts(l, c);
    if (status != TCE_OK) {
        on_policy_destroy(l);
        return status;
    }
    *out = l;
    return TCE_OK;
}

void on_policy_destroy(void *self)
{
    on_policy *l = self;
    if (!l)
        return;
    stepping_free(&l->env);
    tce_policy_free(l->mean);
    tce_net_free(l->critic);
    tce_trpl_free(l->projection);
    tce_normaliser_free(l->seen_obs);
    tce_normaliser_free(l->seen_returns);
    memory_free(&l->arrays);
    free(l);
}

size_t on_policy_columns(const void *self, const char *const **names)
{
    const on_policy *l = self;
    *names = l->columns;
    return l->n_columns;
}

const agent *on_policy_agent(const void *self)
{
    return &((const on_policy *)self)->agent;
}

/* ---- iteration ------------------------------------------------------------------------------- */

/* [rivals 1.7] */
double step_schedule(int32_t kind, double first, double last, double done)
{
    switch (kind) {
    case SCHEDULE_LINEAR:
        return first * (1.0 - done);
    case SCHEDULE_FIRST_QUARTER:
        return done <= 0.25 ? first + (last - first) * done / 0.25 : last;
    default:
        return first;
    }
}

double on_policy_done(const on_policy *l)
{
    return l->n_steps < l->total_steps ? (double)l->n_steps / (double)l->total_steps : 1.0;
}

minibatches on_policy_shuffle(on_policy *l, int64_t i, int32_t what, int32_t epoch)
{
    const step_rollout *r = &l->rollout;
    l->draws.permutation(l->draws.context, i, what, epoch, r->n_valid, l->order);
    for (size_t k = 0; k < r->n_valid; k++)
        l->rows[k] = r->valid[l->order[k]];
    return cut_of(l, r->n_valid);
}

step_samples on_policy_samples(const on_policy *l)
{
    const step_rollout *r = &l->rollout;
    return (step_samples){ l->O,      l->A,          r->obs,     r->actions, r->log_prob,
                           r->values, r->advantages, r->returns, r->means,   r->deviations };
}

/* 1 - var(R - V)/var(R) of the samples that count; NaN where returns do not vary */
static double explained_variance(const step_rollout *r)
{
    double mean[2] = { 0.0, 0.0 }, squares[2] = { 0.0, 0.0 };
    for (size_t k = 0; k < r->n_valid; k++) {
        const size_t i = r->valid[k];
        mean[0] += r->returns[i] / (double)r->n_valid;
        mean[1] += (r->returns[i] - r->values[i]) / (double)r->n_valid;
    }
    for (size_t k = 0; k < r->n_valid; k++) {
        const size_t i = r->valid[k];
        const double d = r->returns[i] - mean[0], e = r->returns[i] - r->values[i] - mean[1];
        squares[0] += d * d;
        squares[1] += e * e;
    }
    return squares[0] > 0.0 ? 1.0 - squares[1] / squares[0] : NAN;
}

/* Mean standard deviation over the rollout's last step. */
static double mean_std(const on_policy *l)
{
    const size_t n = l->way.gsde ? l->N * l->A : l->A;
    double sum = 0.0;
    for (size_t k = 0; k < n; k++)
        sum += l->actor.deviations[k];
    return sum / (double)n;
}

tce_status on_policy_iterate(void *self, int64_t i, progress *out)
{
    on_policy *l = self;
    const double start = now_seconds();
    tce_status status = on_policy_roll_out(l, i);
    const double collected = now_seconds();
    out->seconds[STEP_PHASE_SIMULATION] = collected - start - l->acting;
    out->seconds[STEP_PHASE_ACTING] = l->acting;
    if (status != TCE_OK)
        return status;
    double *shared = out->values + l->shared_column;
    out->env_steps = l->env.n_steps;
    out->episodes = l->env.n_ended;
    out->dropped = l->env.n_dropped;
    shared[COLUMN_EXPLAINED] = explained_variance(&l->rollout);
    shared[COLUMN_STD] = mean_std(l);
    stepping_report(&l->env, out->values);
    if (l->rollout.n_valid > 0)
        status = l->way.update(l, i, out->values + l->own_column);
    out->seconds[STEP_PHASE_UPDATE] = now_seconds() - collected;
    return status;
}

/* ---- checkpoints ----------------------------------------------------------------------------- */

tce_status on_policy_save(const void *self, tce_store *store)
{
    const on_policy *l = self;
    const size_t shape[1] = { l->N };
    const int64_t counters[2] = { l->n_steps, l->total_steps };
    const size_t two[1] = { 2 };
    tce_status status = tce_policy_save(l->mean, store, "policy");
    if (status == TCE_OK)
        status = tce_net_save(l->critic, store, "critic");
    if (status == TCE_OK && l->seen_obs)
        status = tce_normaliser_save(l->seen_obs, store, "observations");
    if (status == TCE_OK && l->seen_returns)
        status = tce_normaliser_save(l->seen_returns, store, "returns");
    if (status == TCE_OK && l->way.gsde)
        status = gsde_save(&l->noise, store, "noise");
    if (status == TCE_OK)
        status = tce_store_put(store, "trainer.discounted", TCE_STORE_F64, 1, shape, l->discounted);
    if (status == TCE_OK)
        status = tce_store_put(store, "trainer.steps", TCE_STORE_I64, 1, two, counters);
    if (status != TCE_OK)
        return status;
    return stepping_save(&l->env, store, "train");
}

tce_status on_policy_load(void *self, const tce_store *store)
{
    on_policy *l = self;
    int64_t counters[2];
    tce_status status = tce_store_read(store, "trainer.steps", TCE_STORE_I64, 2, counters);
    if (status != TCE_OK)
        return status;
    if (counters[0] < 0 || counters[1] < 1)
        return tce_fail(TCE_E_CORRUPT, "trainer.steps = %lld of %lld: such numbers are impossible",
                        (long long)counters[0], (long long)counters[1]);
    status = tce_policy_load(l->mean, store, "policy");
    if (status == TCE_OK)
        status = tce_net_load(l->critic, store, "critic");
    if (status == TCE_OK && l->seen_obs)
        status = tce_normaliser_load(l->seen_obs, store, "observations");
    if (status == TCE_OK && l->seen_returns)
        status = tce_normaliser_load(l->seen_returns, store, "returns");
    if (status == TCE_OK && l->way.gsde)
        status = gsde_load(&l->noise, store, "noise");
    if (status == TCE_OK)
        status = tce_store_read(store, "trainer.discounted", TCE_STORE_F64, l->N, l->discounted);
    if (status == TCE_OK)
        status = stepping_load(&l->env, store, "train");
    if (status != TCE_OK)
        return status;
    l->n_steps = counters[0];
    l->total_steps = counters[1];
    return TCE_OK;
}
