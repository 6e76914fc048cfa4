/*
 * SAC on movement primitives [rivals 7]: a transition is a whole episode, from its context and the
 * parameters of its movement to its return. Every episode terminates, so the scaled return is what
 * the critics learn, and there are no targets.
 *
 * A task of one step without degrees of freedom has no path: its action is the parameters.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collect/stepping.h"
#include "methods/methods.h"
#include "methods/off_policy.h"
#include "methods/off_policy_settings.h"
#include "methods/primitive.h"
#include "methods/replay.h"
#include "tools/clock.h"

/* Shapes: E episodes of a round, N environments, O inputs of the actor, P parameters. */
typedef struct learner {
    settings s;
    const off_policy_settings *o;
    memory arrays;
    tce_mp *mp;     /* NULL where the action is the parameters */
    episodes train; /* so, else */
    stepping env;
    agent agent;
    sac sac;
    sac_rates rates;
    replay replay;
    size_t E, N, O, P, M, width;  /* M metrics; of a record: context, parameters, target */
    int64_t rounds_done, updates; /* so far */
    int64_t rounds;               /* of an iteration */
    int64_t round_steps;          /* environment steps of a round */
    int64_t schedule_steps;       /* over which rates fall to 0; 0: never */
    size_t step;                  /* of environments in the present round */
    double *low, *high;           /* [P] of the parameters */
    double *actions;              /* [E, P] in [-1, 1] */
    double *outputs;              /* [N, P] of the policy, before they are squashed */
    double *normals, *mean, *std; /* [N, P] */
    double *records;              /* [N, width] */
    uint8_t *lost;                /* [N] */
    replay_place *places;         /* [batch size] */
    double *report, *reported;    /* [M + 2] of a round; sums over rounds */
    const char **columns;
} learner;

/* ---- parameters of episodes ------------------------------------------------------------------ */

static int warming_up(const learner *l)
{
    return l->rounds_done * (int64_t)l->E < l->o->learning_starts;
}

/*
 * outputs [n, P] of episodes first … first + n - 1 of the round, and their actions, which are kept
 */
static tce_status draw(learner *l, size_t first, size_t n, const double *inputs, double *out)
{
    const uint64_t purpose = warming_up(l) ? PURPOSE_WARM_UP : PURPOSE_PARAMETERS;
    double *actions = l->actions + first * l->P;
    tce_status status = TCE_OK;
    if (!warming_up(l))
        status = tce_policy_predict(l->sac.actor, n, inputs, l->mean, l->std);
    for (size_t i = 0; status == TCE_OK && i < n; i++) {
        const size_t at = i * l->P;
        tce_random random;
        tce_random_start(&random, l->s.run.seed, purpose, (uint64_t)l->rounds_done, first + i);
        if (!warming_up(l))
            tce_random_normals(&random, l->P, l->normals + at);
        for (size_t p = 0; p < l->P; p++)
            out[at + p] = warming_up(l) ? atanh(2.0 * tce_random_uniform(&random) - 1.0)
                                        : l->mean[at + p] + l->std[at + p] * l->normals[at + p];
        for (size_t p = 0; p < l->P; p++)
            actions[at + p] = tanh(out[at + p]);
    }
    return status;
}

/* A row of the replay: environments' episodes first … first + N - 1. */
static void remember(learner *l, size_t first, const double *inputs, const double *returns)
{
    for (size_t i = 0; i < l->N; i++) {
        double *record = l->records + i * l->width;
        memcpy(record, inputs + i * l->O, l->O * sizeof *record);
        memcpy(record + l->O, l->actions + (first + i) * l->P, l->P * sizeof *record);
        record[l->O + l->P] = l->o->reward_scale * returns[i];
    }
    replay_write(&l->replay, l->records, l->lost);
}

/* ---- along paths ----------------------------------------------------------------------------- */

static tce_status draw_parameters(void *context, struct episodes *ep, size_t first, size_t n)
{
    learner *l = context;
    return draw(l, first, n, ep->inputs + first * l->O, ep->params + first * l->P);
}

static tce_status collect_paths(learner *l, progress *out)
{
    episodes *ep = &l->train;
    const tce_status status = episodes_collect(ep, (uint64_t)l->rounds_done + 1, 1, NULL, NULL);
    if (status != TCE_OK)
        return status;
    for (size_t first = 0; first < l->E; first += l->N) {
        for (size_t i = 0; i < l->N; i++)
            l->lost[i] = ep->lengths[first + i] == 0;
        remember(l, first, ep->inputs + first * l->O, ep->returns + first);
    }
    out->env_steps += ep->n_steps;
    out->dropped += (int64_t)ep->n_dropped;
    episodes_report(ep, l->report);
    return TCE_OK;
}

/* ---- by one action --------------------------------------------------------------------------- */

static tce_status choose(void *context, const stepping *st, const double *obs, double *out)
{
    learner *l = context;
    const tce_status status = draw(l, l->step * l->N, l->N, obs, l->outputs);
    (void)st;
    memcpy(out, l->outputs, l->N * l->P * sizeof *out);
    agent_output(&l->agent, l->N, out);
    return status;
}

static tce_status seen(void *context, const stepping *st, const stepping_seen *what)
{
    learner *l = context;
    (void)st;
    memcpy(l->lost, what->lost, l->N);
    remember(l, l->step * l->N, what->obs, what->rewards);
    l->step++;
    return TCE_OK;
}

static tce_status collect_actions(learner *l, progress *out)
{
    const stepping_learner by = { l, choose, seen };
    l->step = 0;
    const tce_status status = stepping_run(&l->env, (int64_t)(l->E / l->N), &by);
    out->env_steps += l->env.n_steps;
    out->dropped += l->env.n_dropped;
    stepping_report(&l->env, l->report);
    return status;
}

/* ---- rounds ---------------------------------------------------------------------------------- */

static tce_status learn(learner *l, sac_report *out)
{
    const size_t M = l->sac.M;
    const sac_batch *b = &l->sac.batch;
    tce_random random;
    tce_random_start(&random, l->s.run.seed, PURPOSE_REPLAY, (uint64_t)l->updates, 0);
    const tce_status status = replay_sample(&l->replay, &random, M, l->places);
    if (status != TCE_OK)
        return status;
    tce_random_start(&random, l->s.run.seed, PURPOSE_UPDATE_NOISE, (uint64_t)l->updates, 0);
    tce_random_normals(&random, M * l->P, b->noise);
    replay_gather(&l->replay, M, l->places, 0, l->O, b->obs, l->O);
    replay_gather(&l->replay, M, l->places, l->O, l->P, b->actions, l->P);
    replay_gather(&l->replay, M, l->places, l->O + l->P, 1, b->rewards, 1);
    l->updates++;
    const sac_rates rates = off_policy_rates_at(&l->rates, l->rounds_done * l->round_steps,
                                                l->schedule_steps);
    return sac_update(&l->sac, &rates, out);
}

/* E episodes, then gradient steps once there are enough; sums of what they report. */
static tce_status run_round(learner *l, off_policy_sum *sum, progress *out)
{
    const double start = now_seconds();
    tce_status status = l->mp ? collect_paths(l, out) : collect_actions(l, out);
    const double collected = now_seconds();
    l->rounds_done++;
    const int due = l->rounds_done * (int64_t)l->E > l->o->learning_starts;
    for (int32_t k = 0; status == TCE_OK && due && k < l->o->gradient_steps; k++) {
        sac_report report;
        status = learn(l, &report);
        if (status == TCE_OK)
            off_policy_add(sum, &report);
    }
    out->episodes += (int64_t)l->E;
    sum->simulation += collected - start;
    sum->update += due ? now_seconds() - collected : 0.0;
    return status;
}

static tce_status iterate(void *self, int64_t i, progress *out)
{
    learner *l = self;
    off_policy_sum sum = { 0 };
    int64_t n_reported = 0;
    tce_status status = TCE_OK;
    (void)i;
    memset(l->reported, 0, (l->M + 2) * sizeof *l->reported);
    for (int64_t k = 0; status == TCE_OK && k < l->rounds; k++) {
        status = run_round(l, &sum, out);
        if (status != TCE_OK || isnan(l->report[0]))
            continue;
        n_reported++;
        for (size_t c = 0; c < l->M + 2; c++)
            l->reported[c] += l->report[c];
    }
    if (status != TCE_OK)
        return status;
    for (size_t c = 0; n_reported > 0 && c < l->M + 2; c++)
        out->values[c] = l->reported[c] / (double)n_reported;
    off_policy_report(&sum, out->values + l->M + 2, out);
    return TCE_OK;
}

/* ---- life cycle ------------------------------------------------------------------------------ */

static void destroy(void *self)
{
    learner *l = self;
    if (!l)
        return;
    episodes_free(&l->train);
    stepping_free(&l->env);
    sac_free(&l->sac);
    tce_mp_free(l->mp);
    memory_free(&l->arrays);
    free(l);
}

/* Episodes along paths, with the primitive; what it needs of the settings is checked first. */
static tce_status create_paths(learner *l, const method_context *c)
{
    const settings *s = &l->s;
    const episodes_options train = { s->collect.episodes, s->collect.environments,
                                     PURPOSE_TRAIN_ENV, "", NULL };
    tce_status status = episodes_create(&l->train, c->t, s, c->pool, &train);
    if (status == TCE_OK)
        status = primitive_check(s, l->train.spec);
    if (status == TCE_OK)
        status = primitive_check_memory(s, l->train.spec);
    if (status == TCE_OK)
        status = primitive_create(s, l->train.spec, NULL, &l->mp);
    if (status != TCE_OK)
        return status;
    agent_describe(&l->agent, l->train.spec, s->task.name, s->collect.mask_context,
                   s->collect.time_input);
    l->agent.mp = l->mp;
    l->P = tce_mp_n_params(l->mp);
    l->M = l->train.M;
    l->train.draw = draw_parameters;
    l->train.draw_context = l;
    return TCE_OK;
}

static tce_status create_actions(learner *l)
{
    const tce_env_spec *spec = l->env.spec;
    for (int32_t a = 0; a < spec->n_action; a++)
        if (!(isfinite(spec->action_low[a]) && isfinite(spec->action_high[a])))
            return tce_fail(TCE_E_UNSUPPORTED, "action %d of %s has no finite range", (int)a,
                            l->s.task.name);
    agent_describe(&l->agent, spec, l->s.task.name, 0, 0);
    l->agent.acts = 1;
    l->agent.exploration.form = EXPLORATION_WHITE;
    l->P = l->env.A;
    l->M = l->env.M;
    return TCE_OK;
}

/* A task of one step has no path to plan; which kind it is, its environments know. */
static tce_status create_environments(learner *l, const method_context *c)
{
    const stepping_options envs = { l->s.collect.environments, PURPOSE_TRAIN_ENV };
    const tce_status status = stepping_create(&l->env, c->t, &l->s, c->pool, &envs);
    const tce_env_spec *spec = l->env.spec;
    if (status == TCE_OK && spec->n_dof == 0 && spec->n_steps == 1)
        return create_actions(l);
    stepping_free(&l->env);
    return create_paths(l, c);
}

static void take_arrays(learner *l, memory *m)
{
    const size_t n = l->N * l->P;
    l->low = memory_doubles(m, l->P);
    l->high = memory_doubles(m, l->P);
    l->actions = memory_doubles(m, l->E * l->P);
    l->outputs = memory_doubles(m, n);
    l->normals = memory_doubles(m, n);
    l->mean = memory_doubles(m, n);
    l->std = memory_doubles(m, n);
    l->records = memory_doubles(m, l->N * l->width);
    l->lost = memory_take(m, l->N, 1);
    l->places = memory_take(m, (size_t)l->o->batch_size, sizeof *l->places);
    l->report = memory_doubles(m, l->M + 2);
    l->reported = memory_doubles(m, l->M + 2);
    l->columns = memory_take(m, l->M + 2 + OFF_POLICY_COLUMNS, sizeof *l->columns);
}

static sac_options networks_of(const learner *l, tce_pool *pool)
{
    sac_options o = off_policy_networks(&l->s);
    o.n_obs = (int32_t)l->O;
    o.n_actions = (int32_t)l->P;
    o.max_rows = (int32_t)l->N;
    o.pool = pool;
    return o;
}

static replay_options replay_of(const learner *l)
{
    const replay_options o = { l->N, (size_t)l->o->replay_size, l->width,
                               l->s.policy.options.precision };
    return o;
}

/* All that will be taken, against all that there is. */
static tce_status check_memory(const learner *l, tce_pool *pool)
{
    const sac_options networks = networks_of(l, pool);
    const replay_options kept = replay_of(l);
    learner copy = *l;
    char remedy[256];
    memory m = { .measure = 1 };
    tce_status status = sac_measure(&networks, &m);
    if (status == TCE_OK)
        status = replay_create(&copy.replay, &kept, &m);
    take_arrays(&copy, &m);
    m.bytes += l->mp ? episodes_bytes(l->train.spec, &l->agent, l->s.collect.episodes,
                                      l->s.collect.environments)
                     : stepping_bytes(&l->env);
    snprintf(remedy, sizeof remedy,
             "lower update.replay_size = %lld, of which an episode takes %zu bytes, "
             "collect.episodes = %zu or the widths of the networks",
             (long long)l->o->replay_size, (l->width + 1) * replay_number_size(kept.precision),
             l->E);
    return status == TCE_OK ? memory_check(m.bytes, "this run", remedy) : status;
}

static tce_status start(learner *l)
{
    tce_random actor, critics;
    tce_random_start(&actor, l->s.run.seed, PURPOSE_POLICY_START, 0, 0);
    tce_random_start(&critics, l->s.run.seed, PURPOSE_CRITIC_START, 0, 0);
    return sac_start(&l->sac, &actor, &critics);
}

/* Where outputs are squashed to, and who sees them. */
static void complete_agent(learner *l)
{
    for (size_t p = 0; p < l->P; p++) {
        l->low[p] = l->mp ? -l->o->action_scale : l->env.spec->action_low[p];
        l->high[p] = l->mp ? l->o->action_scale : l->env.spec->action_high[p];
    }
    l->agent.P = l->P;
    l->agent.contextual = 1;
    l->agent.output = AGENT_TANH;
    l->agent.low = l->low;
    l->agent.high = l->high;
    l->agent.policy = l->sac.actor;
}

static tce_status create_parts(learner *l, const method_context *c)
{
    tce_status status = create_environments(l, c);
    if (status != TCE_OK)
        return status;
    l->O = l->agent.O_net;
    l->agent.P = l->P;
    l->agent.contextual = 1;
    l->width = l->O + l->P + 1;
    l->rates = off_policy_rates(&l->s, l->P);
    status = check_memory(l, c->pool);
    if (status == TCE_OK)
        status = l->mp ? episodes_allocate(&l->train, &l->agent, &l->arrays)
                       : stepping_allocate(&l->env, &l->arrays);
    const sac_options networks = networks_of(l, c->pool);
    const replay_options kept = replay_of(l);
    if (status == TCE_OK)
        status = sac_create(&l->sac, &networks, &l->arrays);
    if (status == TCE_OK)
        status = replay_create(&l->replay, &kept, &l->arrays);
    if (status != TCE_OK)
        return status;
    take_arrays(l, &l->arrays);
    if (l->arrays.failed)
        return tce_fail(TCE_E_NOMEM, "no memory for %zu episodes: lower collect.episodes", l->E);
    complete_agent(l);
    memcpy(l->columns, l->mp ? l->train.names : l->env.names, (l->M + 2) * sizeof *l->columns);
    memcpy(l->columns + l->M + 2, OFF_POLICY_COLUMN_NAMES, OFF_POLICY_COLUMNS * sizeof *l->columns);
    const size_t T = l->mp ? l->train.T : 1;
    l->round_steps = (int64_t)(l->E * T);
    l->rounds = off_policy_rounds(&l->s, l->round_steps);
    l->schedule_steps = off_policy_schedule(&l->s, l->rounds * l->round_steps);
    return start(l);
}

static tce_status create(const method_context *c, void **out)
{
    *out = NULL;
    learner *l = calloc(1, sizeof *l);
    if (!l)
        return tce_fail(TCE_E_NOMEM, "no memory for a learner");
    l->s = *c->s;
    l->o = off_policy_settings_of(&l->s);
    l->E = (size_t)l->s.collect.episodes;
    l->N = (size_t)l->s.collect.environments;
    const tce_status status = create_parts(l, c);
    if (status != TCE_OK) {
        destroy(l);
        return status;
    }
    *out = l;
    return TCE_OK;
}

static size_t columns(const void *self, const char *const **names)
{
    const learner *l = self;
    *names = l->columns;
    return l->M + 2 + OFF_POLICY_COLUMNS;
}

static const agent *agent_of(const void *self)
{
    return &((const learner *)self)->agent;
}

static journal_rows *rows_of(void *self)
{
    return &((learner *)self)->replay.rows;
}

/* ---- store ----------------------------------------------------------------------------------- */

static tce_status save(const void *self, tce_store *store)
{
    const learner *l = self;
    tce_status status = sac_save(&l->sac, store, "sac");
    if (status == TCE_OK)
        status = l->mp ? episodes_save(&l->train, store, "train.states")
                       : stepping_save(&l->env, store, "env");
    if (status == TCE_OK)
        status = off_policy_save_schedule(store, l->schedule_steps);
    if (status == TCE_OK)
        status = off_policy_save_counters(store, l->rounds_done, l->updates);
    return status;
}

static tce_status load(void *self, const tce_store *store)
{
    learner *l = self;
    int64_t counters[2];
    tce_status status = off_policy_load_counters(store, counters);
    if (status == TCE_OK)
        status = sac_load(&l->sac, store, "sac");
    if (status == TCE_OK)
        status = l->mp ? episodes_load(&l->train, store, "train.states")
                       : stepping_load(&l->env, store, "env");
    if (status == TCE_OK)
        status = off_policy_load_schedule(store, &l->schedule_steps);
    if (status != TCE_OK)
        return status;
    l->rounds_done = counters[0];
    l->updates = counters[1];
    return TCE_OK;
}

/* ---- row of the registry --------------------------------------------------------------------- */

static void label(const settings *s, char *out, size_t size)
{
    (void)s;
    snprintf(out, size, "SAC+MP");
}

static tce_status check_settings(const settings *s)
{
    if (s->collect.episodes % s->collect.environments != 0)
        return tce_fail(TCE_E_VALUE,
                        "collect.episodes = %d must be a multiple of collect.environments = %d: a "
                        "row of the replay has an episode of each",
                        (int)s->collect.episodes, (int)s->collect.environments);
    return off_policy_check(s);
}

static const char *const DEFAULTS[] = { "policy.hidden=[256, 256]",  "critic.hidden=[256, 256]",
                                        "policy.activation=relu",    "critic.activation=relu",
                                        "policy.start=fan_in",       "collect.mask_context=true",
                                        "collect.time_input=false",  "collect.episodes=152",
                                        "collect.environments=38",   "update.gradient_steps=152",
                                        "update.replay_size=100000", NULL };

static const settings_group *const GROUPS[] = { &SETTINGS_RUN,
                                                &SETTINGS_TASK,
                                                &SETTINGS_COLLECT,
                                                &OFF_POLICY_EPISODES,
                                                &SETTINGS_EVALUATE,
                                                &SETTINGS_MP,
                                                &SETTINGS_POLICY_NETWORK,
                                                &OFF_POLICY_POLICY,
                                                &OFF_POLICY_SCALE,
                                                &SETTINGS_CRITIC_NETWORK,
                                                &OFF_POLICY_CRITIC,
                                                &OFF_POLICY_UPDATE,
                                                NULL };

const method METHOD_TABLE_SAC_MP = { .settings = { "sac_mp", GROUPS, DEFAULTS, check_settings },
                                     .phases = OFF_POLICY_PHASES,
                                     .plans = 1,
                                     .label = label,
                                     .create = create,
                                     .destroy = destroy,
                                     .own_columns = OFF_POLICY_COLUMN_NAMES,
                                     .columns = columns,
                                     .agent = agent_of,
                                     .iterate = iterate,
                                     .rows = rows_of,
                                     .save = save,
                                     .load = load };
