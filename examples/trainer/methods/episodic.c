/*
 * What the episodic methods are made of: primitive, environments, critic, policy; and what they do
 * alike: collect, train, save, load.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "methods/episodic.h"
#include "methods/primitive.h"
#include "methods/schedules.h"
#include "tools/clock.h"
#include "tools/memory.h"

const char *const EPISODIC_PHASES[] = { "simulation", "critic", "policy", NULL };
const char *const EPISODIC_COLUMNS[] = { "return",
                                         "length",
                                         "critic_loss",
                                         "entropy",
                                         "kl_mean",
                                         "kl_cov",
                                         "policy_loss",
                                         "ratio_max",
                                         "approx_kl",
                                         "policy_gradient_norm",
                                         "trust_region_loss",
                                         "fraction_clipped",
                                         NULL };

/* Every minibatch of the critic gets at least one of n rows. */
static tce_status check_minibatches(const settings *s, size_t n)
{
    if ((size_t)s->critic.minibatches > n)
        return tce_fail(TCE_E_SHAPE,
                        "critic.minibatches = %d, but the critic gets only %zu rows per iteration: "
                        "lower it, or raise collect.episodes",
                        (int)s->critic.minibatches, n);
    return TCE_OK;
}

static critic_options options_of_critic(const learner *l, tce_pool *pool, size_t max_rows)
{
    const settings *s = &l->s;
    const critic_options options = { .n_inputs = (int32_t)l->agent.O_net,
                                     .n_hidden = s->critic.hidden.n,
                                     .hidden = s->critic.hidden.v,
                                     .activation = s->critic.activation,
                                     .precision = s->policy.options.precision,
                                     .start = s->policy.options.start,
                                     .max_rows = (int32_t)max_rows,
                                     .pool = pool };
    return options;
}

static tce_status create_critic(learner *l, tce_pool *pool, size_t max_rows)
{
    const critic_options options = options_of_critic(l, pool, max_rows);
    tce_random random;
    const tce_status status = critic_create(&l->critic, &options, &l->arrays);
    if (status != TCE_OK)
        return status;
    tce_random_start(&random, l->s.run.seed, PURPOSE_CRITIC_START, 0, 0);
    return tce_net_start(l->critic.net, &random);
}

/* What the parts are made for. */
typedef struct part_sizes {
    size_t P;
    size_t critic_batch; /* rows that the critic judges at once */
    size_t policy_batch;
} part_sizes;

/*
 * All that will be taken, against all that there is: a run that does not fit ends before it takes
 * anything.
 */
static tce_status check_memory(learner *l, tce_pool *pool, const episodic_options *options,
                               const part_sizes *sizes)
{
    const settings *s = &l->s;
    char remedy[256];
    memory m = { .measure = 1 };
    snprintf(remedy, sizeof remedy,
             "lower collect.episodes = %d, evaluate.episodes = %d or the widths of the networks",
             (int)s->collect.episodes, (int)s->evaluate.episodes);
    if (sizes->critic_batch > INT32_MAX)
        return tce_fail(TCE_E_NOMEM, "an iteration has %zu steps, the limit is %d: %s",
                        sizes->critic_batch, INT32_MAX, remedy);

    m.bytes += episodes_bytes(l->train.spec, &l->agent, s->collect.episodes,
                              s->collect.environments);
    m.bytes += episodes_bytes(l->train.spec, &l->agent, s->evaluate.episodes,
                              s->collect.environments);
    const critic_options critic = options_of_critic(l, pool, sizes->critic_batch);
    tce_status status = critic_measure(&critic, &m);
    if (status == TCE_OK)
        status = policy_learner_measure(s, pool, l->agent.O_net, sizes->P, sizes->policy_batch, &m);
    if (status == TCE_OK)
        status = options->measure ? options->measure(l, pool, sizes->P, &m) : TCE_OK;
    return status == TCE_OK ? memory_check(m.bytes, "this run", remedy) : status;
}

/* Names of what an iteration logs. */
static void take_columns(learner *l, const char *const *own)
{
    const episodes *ep = &l->train;
    const size_t n_episodes = ep->M + 2;
    size_t n_own = 0;
    while (own && own[n_own])
        n_own++;
    l->critic_column = n_episodes;
    l->policy_column = l->critic_column + 1;
    l->own_column = l->policy_column + POLICY_COLUMNS;
    l->n_columns = l->own_column + n_own;
    l->columns = memory_take(&l->arrays, l->n_columns, sizeof *l->columns);
    if (!l->columns)
        return;
    memcpy(l->columns, ep->names, n_episodes * sizeof *l->columns);
    l->columns[l->critic_column] = "critic_loss";
    memcpy(l->columns + l->policy_column, POLICY_COLUMN_NAMES, POLICY_COLUMNS * sizeof *l->columns);
    if (n_own > 0)
        memcpy(l->columns + l->own_column, own, n_own * sizeof *l->columns);
}

/* Environments first: they tell the sizes of everything else. */
static tce_status create_parts(learner *l, const method_context *c, const episodic_options *options)
{
    const settings *s = &l->s;
    const episodes_options train = { s->collect.episodes, s->collect.environments,
                                     PURPOSE_TRAIN_ENV, "", NULL };
    tce_status status = episodes_create(&l->train, c->t, s, c->pool, &train);
    if (status == TCE_OK)
        status = (options->check ? options->check : primitive_check)(s, l->train.spec);
    if (status == TCE_OK)
        status = check_minibatches(s, options->step_values ? l->train.E * l->train.T : l->train.E);
    if (status == TCE_OK)
        status = primitive_check_memory(s, l->train.spec);
    if (status == TCE_OK)
        status = primitive_create(s, l->train.spec, NULL, &l->mp);
    if (status != TCE_OK)
        return status;
    agent_describe(&l->agent, l->train.spec, s->task.name, s->collect.mask_context,
                   s->collect.time_input);
    l->agent.mp = l->mp;
    l->agent.P = tce_mp_n_params(l->mp);
    l->agent.contextual = s->policy.options.form == TCE_POLICY_FULL_CONTEXTUAL;

    /* evaluation asks the policy for as many rows as there are environments */
    const size_t E = l->train.E, n_envs = (size_t)s->collect.environments;
    const part_sizes sizes = { l->agent.P, options->step_values ? E * (l->train.T + 1) : E,
                               E > n_envs ? E : n_envs };
    status = check_memory(l, c->pool, options, &sizes);
    if (status == TCE_OK)
        status = episodes_allocate(&l->train, &l->agent, &l->arrays);
    if (status == TCE_OK)
        status = create_critic(l, c->pool, sizes.critic_batch);
    if (status == TCE_OK)
        status = policy_learner_create(&l->policy, s, c->pool, l->agent.O_net, l->agent.P,
                                       sizes.policy_batch, &l->arrays);
    if (status != TCE_OK)
        return status;
    l->agent.policy = l->policy.update.policy;
    take_columns(l, options->columns);
    return l->arrays.failed ? tce_fail(TCE_E_NOMEM, "no memory for %zu columns", l->n_columns)
                            : TCE_OK;
}

tce_status episodic_create(const method_context *c, const episodic_options *options, learner **out)
{
    *out = NULL;
    learner *l = calloc(1, sizeof *l);
    if (!l)
        return tce_fail(TCE_E_NOMEM, "no memory for a learner");
    l->s = *c->s;
    const tce_status status = create_parts(l, c, options);
    if (status != TCE_OK) {
        episodic_destroy(l);
        return status;
    }
    *out = l;
    return TCE_OK;
}

void episodic_destroy(void *self)
{
    learner *l = self;
    if (!l)
        return;
    policy_learner_free(&l->policy);
    episodes_free(&l->train);
    critic_free(&l->critic);
    tce_mp_free(l->mp);
    memory_free(&l->arrays);
    free(l);
}

size_t episodic_columns(const void *self, const char *const **names)
{
    const learner *l = self;
    *names = l->columns;
    return l->n_columns;
}

const agent *episodic_agent(const void *self)
{
    return &((const learner *)self)->agent;
}

tce_status episodic_collect(learner *l, int64_t i, after_round hook, progress *out)
{
    episodes *ep = &l->train;
    const double start = now_seconds();
    const tce_status status = episodes_collect(ep, (uint64_t)i, 1, hook, l);
    out->seconds[PHASE_SIMULATION] = now_seconds() - start;
    if (status != TCE_OK)
        return status;
    out->env_steps = ep->n_steps;
    out->episodes = (int64_t)ep->E;
    out->dropped = (int64_t)ep->n_dropped;
    episodes_report(ep, out->values);
    return TCE_OK;
}

tce_status episodic_train_critic(learner *l, int64_t i, size_t n, const double *inputs,
                                 const double *targets, progress *out)
{
    const settings *s = &l->s;
    critic_fit fit = { .adam = s->critic.adam,
                       .n_minibatches = (size_t)s->critic.minibatches,
                       .clip_norm = s->critic.clip_norm,
                       .value_clip = s->critic.value_clip };
    fit.adam.learning_rate *= linear_schedule((uint64_t)(i - 1),
                                              (uint64_t)s->schedule.learning_rate_iterations,
                                              s->schedule.learning_rate_last);
    tce_random random;
    tce_random_start(&random, s->run.seed, PURPOSE_MINIBATCH, (uint64_t)i, 0);

    double sum = 0.0;
    tce_status status = check_minibatches(s, n);
    if (status == TCE_OK && fit.value_clip > 0.0)
        status = critic_remember(&l->critic, n, inputs, &fit.old_values);
    for (int32_t epoch = 0; status == TCE_OK && epoch < s->critic.epochs; epoch++) {
        double loss = 0.0;
        status = critic_fit_epoch(&l->critic, &fit, n, inputs, targets, &random, &loss);
        sum += loss;
    }
    out->values[l->critic_column] = sum / (double)s->critic.epochs;
    return status;
}

tce_status episodic_train_policy(learner *l, int64_t i, surrogate loss, void *likelihood,
                                 progress *out)
{
    const episodes *ep = &l->train;
    const policy_rows rows = { ep->E, ep->inputs, ep->mean, ep->factor, loss, likelihood };
    const double start = now_seconds();
    const tce_status status = policy_learner_update(&l->policy, &l->s, i, &rows,
                                                    out->values + l->policy_column);
    out->seconds[PHASE_POLICY] = now_seconds() - start;
    return status;
}

tce_status episodic_save(const void *self, tce_store *store)
{
    const learner *l = self;
    tce_status status = policy_learner_save(&l->policy, store);
    if (status == TCE_OK)
        status = critic_save(&l->critic, store, "critic");
    if (status == TCE_OK)
        status = episodes_save(&l->train, store, "train.states");
    return status;
}

tce_status episodic_load(void *self, const tce_store *store)
{
    learner *l = self;
    tce_status status = policy_learner_load(&l->policy, store);
    if (status == TCE_OK)
        status = critic_load(&l->critic, store, "critic");
    if (status == TCE_OK)
        status = episodes_load(&l->train, store, "train.states");
    return status;
}
