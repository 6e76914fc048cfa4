/*
 * What the episodic methods are made of: primitive, environments, critic, policy; and what they do
 * alike: evaluate, save, load, export.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "methods/episodic.h"
#include "tools/clock.h"
#include "tools/memory.h"

/* of sums and quotients of seconds; also what the primitive allows its table */
#define ROUNDING 1e-12

/*
 * Whether the movement fits the episodes of the task: it may rest at its goal for a while, but an
 * episode that ends before the movement does never sees the rest of it, and a table that ends
 * before the episode does says nothing of its last steps. A step more or less is rounding. A
 * rhythmic movement repeats.
 */
static tce_status check_duration(const settings *s, const tce_env_spec *spec)
{
    const double duration = spec->n_steps * spec->dt;
    const double rest = duration - s->mp.delay;
    char episode[2 * TEXT_SIZE];
    if (s->mp.phase == TCE_MP_PHASE_RHYTHMIC)
        return TCE_OK;
    snprintf(episode, sizeof episode, "an episode of %s lasts %g s (%d steps of %g s)",
             s->task.name, duration, (int)spec->n_steps, spec->dt);
    if (!(rest > 0.0))
        return tce_fail(TCE_E_VALUE, "mp.delay = %g s, but %s: set mp.delay=0", s->mp.delay,
                        episode);
    if (s->mp.tau > rest + spec->dt * (1.0 + ROUNDING))
        return tce_fail(TCE_E_VALUE,
                        "mp.tau = %g s%s is longer than the episode: %s; set mp.tau=%g, or less",
                        s->mp.tau, s->mp.delay > 0.0 ? " after mp.delay" : "", episode, rest);
    if (s->mp.kind == TCE_MP_PRODMP && s->mp.basis == TCE_MP_BASIS_TABLE &&
        rest / s->mp.tau > s->mp.table_length * (1.0 + ROUNDING))
        return tce_fail(TCE_E_VALUE,
                        "mp.tau = %g s with mp.table_length = %d is too short: %s; set mp.tau=%g, "
                        "or mp.table_length=%.0f",
                        s->mp.tau, (int)s->mp.table_length, episode, rest, ceil(rest / s->mp.tau));
    return TCE_OK;
}

/* Primitive of the settings for a task. */
static tce_status create_primitive(const settings *s, const tce_env_spec *spec, tce_mp **out)
{
    tce_mp_options mp;
    tce_mp_options_init(&mp, sizeof mp);
    mp.kind = s->mp.kind;
    mp.phase = s->mp.phase;
    mp.basis = s->mp.basis;
    mp.num_dof = spec->n_dof;
    mp.num_basis = s->mp.num_basis;
    mp.num_basis_outside = s->mp.num_basis_outside;
    mp.table_length = s->mp.table_length;
    mp.relative_goal = s->mp.relative_goal;
    mp.auto_scale_basis = s->mp.auto_scale_basis;
    mp.disable_goal = s->mp.disable_goal;
    mp.disable_weights = s->mp.disable_weights;
    mp.learn_tau = s->mp.learn_tau;
    mp.learn_delay = s->mp.learn_delay;
    mp.tau = s->mp.tau;
    mp.delay = s->mp.delay;
    mp.dt = s->mp.dt > 0.0 ? s->mp.dt : spec->dt;
    mp.alpha = s->mp.alpha;
    mp.alpha_phase = s->mp.alpha_phase;
    mp.basis_bandwidth_factor = s->mp.basis_bandwidth_factor;
    mp.goal_scale = s->mp.goal_scale;
    mp.weights_scale = s->mp.weights_scale.v[0];
    if (s->mp.weights_scale.n > 1) {
        if (s->mp.weights_scale.n != s->mp.num_basis)
            return tce_fail(TCE_E_SHAPE,
                            "mp.weights_scale has %d numbers, mp.num_basis is %d: give one number, "
                            "or one a basis function",
                            (int)s->mp.weights_scale.n, (int)s->mp.num_basis);
        mp.weights_scales = s->mp.weights_scale.v;
    }
    return tce_mp_create(&mp, NULL, out);
}

/* hooks: NULL, or those of memory.h */
static tce_status create_critic(learner *l, tce_pool *pool, int32_t normalise, size_t max_batch,
                                const tce_hooks *hooks)
{
    const settings *s = &l->s;
    tce_critic_options critic;
    tce_critic_options_init(&critic, sizeof critic);
    critic.n_obs = (int32_t)l->train.O_net;
    critic.n_hidden = s->critic.hidden.n;
    critic.hidden = s->critic.hidden.v;
    critic.activation = s->critic.activation;
    critic.precision = s->policy.precision;
    critic.start = s->policy.start;
    critic.max_batch = (int32_t)max_batch;
    critic.normalise = normalise;
    critic.pool = pool;
    const tce_status status = tce_critic_create(&critic, hooks, &l->critic);
    if (status != TCE_OK)
        return status;
    tce_random random;
    tce_random_start(&random, s->run.seed, PURPOSE_CRITIC_START, 0, 0);
    return tce_critic_start(l->critic, &random);
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
    tce_hooks hooks;
    snprintf(remedy, sizeof remedy,
             "lower collect.episodes = %d, evaluate.episodes = %d or the widths of the networks",
             (int)s->collect.episodes, (int)s->evaluate.episodes);
    if (sizes->critic_batch > INT32_MAX)
        return tce_fail(TCE_E_NOMEM, "an iteration has %zu steps, the limit is %d: %s",
                        sizes->critic_batch, INT32_MAX, remedy);

    memory_hooks(&m, &hooks);
    m.bytes += episodes_bytes(&l->train, sizes->P) + episodes_bytes(&l->test, sizes->P);
    m.bytes += (double)(l->train.E + l->test.E) * sizeof(double);
    tce_status status = memory_measured(
        create_critic(l, pool, options->normalise, sizes->critic_batch, &hooks));
    if (status == TCE_OK)
        status = policy_learner_measure(s, pool, l->train.O_net, sizes->P, sizes->policy_batch, &m);
    if (status == TCE_OK)
        status = options->measure(l, pool, sizes->P, &m);
    return status == TCE_OK ? memory_check(m.bytes, "this run", remedy) : status;
}

/* Environments first: they tell the sizes of everything else. */
static tce_status create_parts(learner *l, const task *t, tce_pool *pool,
                               const episodic_options *options)
{
    const settings *s = &l->s;
    const int contextual = s->policy.covariance == TCE_POLICY_FULL_CONTEXTUAL;
    const episodes_options train = { s->collect.episodes, s->collect.environments, contextual,
                                     PURPOSE_TRAIN_ENV, "" };
    const episodes_options test = { s->evaluate.episodes, s->collect.environments, contextual,
                                    PURPOSE_EVAL_ENV, "eval_" };

    tce_status status = episodes_create(&l->train, t, s, pool, &train);
    if (status == TCE_OK)
        status = episodes_create(&l->test, t, s, pool, &test);
    if (status == TCE_OK)
        status = check_duration(s, l->train.spec);
    if (status == TCE_OK)
        status = create_primitive(s, l->train.spec, &l->mp);
    if (status != TCE_OK)
        return status;

    const part_sizes sizes = { tce_mp_num_params(l->mp),
                               options->step_values ? l->train.E * (l->train.T + 1) : l->train.E,
                               l->train.E > l->test.N ? l->train.E : l->test.N };
    status = check_memory(l, pool, options, &sizes);
    if (status == TCE_OK)
        status = episodes_allocate(&l->train, sizes.P, &l->arrays);
    if (status == TCE_OK)
        status = episodes_allocate(&l->test, sizes.P, &l->arrays);
    if (status == TCE_OK)
        status = create_critic(l, pool, options->normalise, sizes.critic_batch, NULL);
    if (status != TCE_OK)
        return status;

    l->returns = memory_doubles(&l->arrays, l->train.E);
    l->test_returns = memory_doubles(&l->arrays, l->test.E);
    if (l->arrays.failed)
        return tce_fail(TCE_E_NOMEM, "no memory for %zu episodes: lower collect.episodes",
                        l->train.E);
    return policy_learner_create(&l->policy, s, pool, l->train.O_net, l->train.P,
                                 sizes.policy_batch, &l->arrays);
}

tce_status episodic_create(const settings *s, const task *t, tce_pool *pool,
                           const episodic_options *options, learner **out)
{
    *out = NULL;
    learner *l = calloc(1, sizeof *l);
    if (!l)
        return tce_fail(TCE_E_NOMEM, "no memory for a learner");
    l->s = *s;
    const tce_status status = create_parts(l, t, pool, options);
    if (status != TCE_OK) {
        episodic_destroy(l);
        return status;
    }
    *out = l;
    return TCE_OK;
}

void episodic_destroy(learner *l)
{
    if (!l)
        return;
    policy_learner_free(&l->policy);
    episodes_free(&l->train);
    episodes_free(&l->test);
    tce_critic_free(l->critic);
    tce_mp_free(l->mp);
    memory_free(&l->arrays);
    free(l);
}

tce_status episodic_collect(learner *l, int64_t i, after_round hook, metrics *m, timings *spent)
{
    episodes *ep = &l->train;
    const double start = now_seconds();
    const tce_status status = episodes_collect(ep, l->policy.update.policy, l->mp, l->s.run.seed,
                                               (uint64_t)i, 1, hook, l);
    spent->simulation = now_seconds() - start;
    if (status != TCE_OK)
        return status;
    episodes_returns(ep, l->returns);
    episodes_report(ep, l->returns, m);
    metrics_put(m, "dropped", (double)ep->n_dropped);
    metrics_put(m, "steps", (double)ep->n_steps);
    m->steps = ep->n_steps;
    return TCE_OK;
}

tce_status episodic_train_critic(learner *l, int64_t i, size_t n, const double *inputs,
                                 const double *targets, metrics *m)
{
    const settings *s = &l->s;
    tce_adam_options adam;
    tce_adam_options_init(&adam, sizeof adam);
    adam.learning_rate = s->critic.learning_rate;
    adam.l2 = s->critic.l2;
    const double rate_factor = tce_linear_schedule((uint64_t)(i - 1),
                                                   (uint64_t)s->schedule.learning_rate_iterations);
    tce_random random;
    tce_random_start(&random, s->run.seed, PURPOSE_MINIBATCH, (uint64_t)i, 0);

    double sum = 0.0;
    tce_status status = TCE_OK;
    for (int32_t epoch = 0; status == TCE_OK && epoch < s->critic.epochs; epoch++) {
        double loss = 0.0;
        status = tce_critic_fit_epoch(l->critic, n, inputs, targets, (size_t)s->critic.minibatches,
                                      &random, &adam, rate_factor, s->critic.clip_norm, &loss);
        sum += loss;
    }
    metrics_put(m, "critic_loss", sum / (double)s->critic.epochs);
    return status;
}

tce_status episodic_evaluate(learner *l, uint64_t number, metrics *m, timings *spent)
{
    const double start = now_seconds();
    const tce_status status = episodes_collect(&l->test, l->policy.update.policy, l->mp,
                                               l->s.run.seed, number, 0, NULL, NULL);
    spent->evaluation = now_seconds() - start;
    if (status != TCE_OK)
        return status;
    episodes_returns(&l->test, l->test_returns);
    episodes_report(&l->test, l->test_returns, m);
    return TCE_OK;
}

tce_status episodic_save(const learner *l, tce_store *store)
{
    tce_status status = policy_learner_save(&l->policy, store);
    if (status == TCE_OK)
        status = tce_critic_save(l->critic, store, "critic");
    if (status == TCE_OK)
        status = episodes_save(&l->train, store, "train.states");
    if (status == TCE_OK)
        status = episodes_save(&l->test, store, "test.states");
    return status;
}

tce_status episodic_load(learner *l, const tce_store *store)
{
    tce_status status = policy_learner_load(&l->policy, store);
    if (status == TCE_OK)
        status = tce_critic_load(l->critic, store, "critic");
    if (status == TCE_OK)
        status = episodes_load(&l->train, store, "train.states");
    if (status == TCE_OK)
        status = episodes_load(&l->test, store, "test.states");
    return status;
}

tce_status episodic_export(const learner *l, tce_store *store)
{
    const episodes *ep = &l->train;
    const size_t n_context = ep->mask_context ? (size_t)ep->spec->n_context : 0;
    const int32_t shape[4] = { (int32_t)ep->O, (int32_t)ep->O_net, (int32_t)ep->T, (int32_t)ep->D };
    const size_t n_shape = 4;
    tce_status status = tce_policy_save(l->policy.update.policy, store, "policy");
    if (status == TCE_OK)
        status = tce_mp_save(l->mp, store, "mp");
    if (status == TCE_OK)
        status = tce_store_put_text(store, "task", l->s.task.name);
    if (status == TCE_OK)
        status = tce_store_put(store, "input.shape", TCE_I32, 1, &n_shape, shape);
    if (status == TCE_OK && n_context > 0)
        status = tce_store_put(store, "input.context", TCE_I32, 1, &n_context, ep->spec->context);
    if (status == TCE_OK)
        status = tce_store_put(store, "input.dt", TCE_F64, 0, NULL, &ep->spec->dt);
    return status;
}
