/*
 * TCE: temporally-correlated episodic reinforcement learning [TCE; algorithm 3].
 *
 * One iteration: episodes along sampled paths; running normaliser; values; advantages of segments
 * between time points; the critic learns returns; the policy learns from the likelihood of path
 * segments, inside a trust region.
 */
#include <stdio.h>
#include <string.h>

#include "methods/episodic.h"
#include "methods/primitive.h"
#include "tools/clock.h"

/* Arrays of E episodes, T steps, up to max_pairs segments. */
typedef struct segment_data {
    tce_segment *segment;
    size_t max_pairs, J;
    double *states;       /* [E, T+1, O_net], normalised round by round; then the steps alone */
    uint8_t *seen;        /* [N (T+1)]: 1 where a round saw a state */
    double *values;       /* [E, T+1] */
    double *advantages;   /* [E, T] */
    double *targets;      /* [E, T]; then those of the steps that were taken */
    int32_t *pairs;       /* [J, 2] */
    double *segment_adv;  /* [E, J] */
    double *old_log_prob; /* [E, J] */
    uint8_t *mask;        /* [E, J] */
} segment_data;

static void destroy(void *self)
{
    const learner *l = self;
    segment_data *d = l ? l->own : NULL;
    if (d)
        tce_segment_free(d->segment);
    episodic_destroy(self);
}

static tce_status check(const settings *s, const tce_env_spec *spec)
{
    if (s->objective.time_points > spec->n_steps)
        return tce_fail(TCE_E_VALUE, "objective.time_points = %d, the task has only %d steps",
                        (int)s->objective.time_points, (int)spec->n_steps);
    return primitive_check(s, spec);
}

/* hooks: NULL, or those of memory.h */
static tce_status create_segment(const learner *l, segment_data *d, tce_pool *pool,
                                 const tce_hooks *hooks)
{
    tce_segment_options segment;
    tce_segment_options_init(&segment, sizeof segment);
    segment.mp = l->mp;
    segment.max_episodes = (int32_t)l->train.E;
    segment.max_steps = (int32_t)l->train.T;
    segment.max_pairs = (int32_t)d->max_pairs;
    segment.shared_cov = !l->agent.contextual;
    segment.reg = l->s.objective.regulariser;
    segment.pool = pool;
    return tce_segment_create(&segment, hooks, &d->segment);
}

static void take_arrays(const learner *l, segment_data *d, memory *m)
{
    const episodes *ep = &l->train;
    const size_t E = ep->E, T = ep->T;
    d->max_pairs = tce_segment_max_pairs(T, (size_t)l->s.objective.time_points);
    d->states = memory_doubles(m, E * (T + 1) * ep->O_net);
    d->seen = memory_take(m, ep->N * (T + 1), sizeof(uint8_t));
    d->values = memory_doubles(m, E * (T + 1));
    d->advantages = memory_doubles(m, E * T);
    d->targets = memory_doubles(m, E * T);
    d->pairs = memory_take(m, d->max_pairs * 2, sizeof(int32_t));
    d->segment_adv = memory_doubles(m, E * d->max_pairs);
    d->old_log_prob = memory_doubles(m, E * d->max_pairs);
    d->mask = memory_take(m, E * d->max_pairs, sizeof(uint8_t));
}

static tce_status measure(const learner *l, tce_pool *pool, size_t P, memory *m)
{
    segment_data d;
    tce_hooks hooks;
    (void)P;
    memset(&d, 0, sizeof d);
    take_arrays(l, &d, m);
    memory_hooks(m, &hooks);
    return memory_measured(create_segment(l, &d, pool, &hooks));
}

static tce_status create_data(learner *l, tce_pool *pool)
{
    segment_data *d = l->own = memory_take(&l->arrays, 1, sizeof *d);
    if (d)
        take_arrays(l, d, &l->arrays);
    if (l->arrays.failed)
        return tce_fail(TCE_E_NOMEM,
                        "no memory for %zu episodes of %zu steps: lower collect.episodes",
                        l->train.E, l->train.T);
    return create_segment(l, d, pool, NULL);
}

static tce_status create(const method_context *c, void **out)
{
    const episodic_options options = { .step_values = 1, .check = check, .measure = measure };
    learner *l = NULL;
    tce_status status = episodic_create(c, &options, &l);
    if (status == TCE_OK)
        status = create_data(l, c->pool);
    if (status != TCE_OK) {
        destroy(l);
        l = NULL;
    }
    *out = l;
    return status;
}

/* Marks the states that a round really saw: not what fills up ended and dropped episodes. */
static void mark_real_states(const episodes *ep, size_t first, size_t n, uint8_t *mask)
{
    const size_t rows = ep->T + 1;
    for (size_t i = 0; i < n; i++) {
        const size_t length = (size_t)ep->lengths[first + i];
        const size_t seen = length > 0 ? length + 1 : 0;
        memset(mask + i * rows, 1, seen);
        memset(mask + i * rows + seen, 0, rows - seen);
    }
}

/*
 * After each round [tasks 1.6]: its states enter the running statistics, then are normalised by
 * them.
 */
static tce_status normalise_round(void *context, const episodes *ep, size_t first, size_t n)
{
    learner *l = context;
    segment_data *d = l->own;
    double *states = d->states + first * (ep->T + 1) * ep->O_net;
    episodes_inputs(ep, first, n, states);
    if (!l->s.critic.normalise)
        return TCE_OK;
    mark_real_states(ep, first, n, d->seen);
    const size_t rows = n * (ep->T + 1);
    const tce_status status = tce_normaliser_update(l->critic.normaliser, rows, states, d->seen);
    return status == TCE_OK ? tce_normaliser_apply(l->critic.normaliser, rows, states, states)
                            : status;
}

/* Steps 2 and 3: values, step advantages, critic targets. */
static tce_status estimate_returns(learner *l)
{
    segment_data *d = l->own;
    const episodes *ep = &l->train;
    const settings *s = &l->s;
    const tce_status status = critic_value(&l->critic, ep->E * (ep->T + 1), d->states, d->values);
    if (status != TCE_OK)
        return status;
    if (s->critic.target == CRITIC_MONTE_CARLO)
        return tce_returns_monte_carlo(ep->E, ep->T, ep->rewards, d->values, ep->dones,
                                       s->objective.gamma, d->advantages, d->targets);
    return tce_returns_gae(ep->E, ep->T, ep->rewards, d->values, ep->dones, s->objective.gamma,
                           s->objective.lambda, d->advantages, d->targets);
}

/* Steps 4, 5 and the old log-likelihood of 6. */
static tce_status choose_segments(learner *l, int64_t i)
{
    segment_data *d = l->own;
    const episodes *ep = &l->train;
    const settings *s = &l->s;
    const double start_time = 0.0;
    tce_random random;
    tce_random_start(&random, s->run.seed, PURPOSE_TIME_POINTS, (uint64_t)i, 0);
    tce_status status = tce_segment_choose_pairs(s->objective.selection, ep->T,
                                                 (size_t)s->objective.time_points, 0, &random,
                                                 d->pairs, &d->J);
    if (status == TCE_OK)
        status = tce_segment_advantage(
            &(tce_segment_steps){ .struct_size = sizeof(tce_segment_steps),
                                  .E = ep->E,
                                  .T = ep->T,
                                  .J = d->J,
                                  .kind = s->objective.advantage,
                                  .normalise = 1,
                                  .gamma = s->objective.gamma,
                                  .rewards = ep->rewards,
                                  .values = d->values,
                                  .step_advantages = d->advantages,
                                  .pairs = d->pairs,
                                  .lengths = ep->lengths,
                                  .out_advantages = d->segment_adv,
                                  .out_mask = d->mask });
    if (status == TCE_OK)
        status = tce_segment_set_pairs(d->segment, 1, ep->T, ep->times, &start_time, d->J,
                                       d->pairs);
    if (status == TCE_OK)
        status = tce_segment_log_prob(
            d->segment, &(tce_segment_paths){ .struct_size = sizeof(tce_segment_paths),
                                              .E = ep->E,
                                              .positions = ep->pos,
                                              .mean = ep->mean,
                                              .L = ep->factor,
                                              .init_pos = ep->init_pos,
                                              .init_vel = ep->init_vel,
                                              .out_log_prob = d->old_log_prob });
    return status;
}

/*
 * Step 7, critic: regression on the steps that were taken. Nobody needs the other states any more,
 * so the steps move up to the front of their arrays.
 */
static tce_status train_critic(learner *l, int64_t i, progress *out)
{
    segment_data *d = l->own;
    const episodes *ep = &l->train;
    size_t n = 0;
    for (size_t e = 0; e < ep->E; e++) {
        const size_t length = (size_t)ep->lengths[e];
        memmove(d->states + n * ep->O_net, d->states + e * (ep->T + 1) * ep->O_net,
                length * ep->O_net * sizeof(double));
        memmove(d->targets + n, d->targets + e * ep->T, length * sizeof(double));
        n += length;
    }
    return episodic_train_critic(l, i, n, d->states, d->targets, out);
}

/* Step 7, policy: the update on the likelihood of segments. */
static tce_status update_policy(learner *l, int64_t i, progress *out)
{
    const segment_data *d = l->own;
    const episodes *ep = &l->train;
    segment_likelihood loss = { .segment = d->segment,
                                .paths = { .struct_size = sizeof loss.paths,
                                           .E = ep->E,
                                           .clip = l->s.projection.ratio_clip,
                                           .positions = ep->pos,
                                           .init_pos = ep->init_pos,
                                           .init_vel = ep->init_vel,
                                           .log_prob_old = d->old_log_prob,
                                           .advantages = d->segment_adv,
                                           .mask = d->mask } };
    return episodic_train_policy(l, i, segment_surrogate, &loss, out);
}

static tce_status iterate(void *self, int64_t i, progress *out)
{
    learner *l = self;
    episodes *ep = &l->train;
    tce_status status = episodic_collect(l, i, normalise_round, out);
    if (status != TCE_OK)
        return status;
    if (l->s.collect.reward_to_event)
        tce_returns_to_event(ep->E, ep->T, ep->events, ep->rewards);

    const double start = now_seconds();
    status = estimate_returns(l);
    if (status == TCE_OK)
        status = choose_segments(l, i);
    if (status == TCE_OK)
        status = train_critic(l, i, out);
    out->seconds[PHASE_CRITIC] = now_seconds() - start;
    return status == TCE_OK ? update_policy(l, i, out) : status;
}

static void label(const settings *s, char *out, size_t size)
{
    static const char *const FORMS[] = { "", " contextual", " Std" };
    snprintf(out, size, "TCE%s%s", FORMS[s->policy.options.form],
             s->projection.ratio_clip > 0.0 ? " clip" : "");
}

static tce_status check_settings(const settings *s)
{
    if (s->mp.kind == TCE_MP_DMP)
        return tce_fail(
            TCE_E_UNSUPPORTED,
            "mp.kind dmp has no trajectory likelihood: use prodmp or promp with run.method tce");
    return TCE_OK;
}

static const settings_group *const GROUPS[] = { &SETTINGS_RUN,           &SETTINGS_TASK,
                                                &SETTINGS_COLLECT,       &SETTINGS_REWARD_TO_EVENT,
                                                &SETTINGS_EVALUATE,      &SETTINGS_MP,
                                                &SETTINGS_POLICY,        &SETTINGS_CRITIC,
                                                &SETTINGS_CRITIC_TARGET, &SETTINGS_PROJECTION,
                                                &SETTINGS_RETURNS,       &SETTINGS_SEGMENTS,
                                                &SETTINGS_SCHEDULE,      NULL };

const method METHOD_TABLE_TCE = { .settings = { "tce", GROUPS, NULL, check_settings },
                                  EPISODIC_ROW,
                                  .label = label,
                                  .create = create,
                                  .destroy = destroy,
                                  .own_columns = EPISODIC_COLUMNS,
                                  .iterate = iterate };
