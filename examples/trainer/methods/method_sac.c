/*
 * SAC [rivals 5] and PINK [rivals 6], which explores with noise that is correlated over time.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "methods/off_policy.h"
#include "methods/off_policy_settings.h"
#include "methods/time_limit.h"

static tce_status check_settings(const settings *s)
{
    const off_policy_settings *o = off_policy_settings_of(s);
    if (o->number_samples % s->collect.environments != 0)
        return tce_fail(TCE_E_VALUE,
                        "collect.number_samples = %d must be a multiple of collect.environments = "
                        "%d, which step together",
                        (int)o->number_samples, (int)s->collect.environments);
    return off_policy_check(s);
}

/* ---- the learner ----------------------------------------------------------------------------- */

typedef struct learner {
    settings s;
    off_policy run;
    agent agent;
    int64_t rounds;
    size_t n_columns, first_column;
    const char **columns;
} learner;

static void destroy(void *self)
{
    learner *l = self;
    if (!l)
        return;
    off_policy_free(&l->run);
    free(l);
}

static off_policy_options options_of(const learner *l, int coloured)
{
    const settings *s = &l->s;
    const off_policy_settings *o = off_policy_settings_of(s);
    const stepping *env = &l->run.env;
    off_policy_options options = {
        .seed = s->run.seed,
        .steps = o->number_samples / s->collect.environments,
        .gradient_steps = o->gradient_steps,
        .learning_starts = o->learning_starts,
        .time_limit_ends = time_limit_ends(o->time_limit, o->gamma),
        .coloured = coloured,
        .replay_size = (size_t)o->replay_size,
        .sac = off_policy_networks(s),
        .rates = off_policy_rates(s, env->A),
        .schedule_steps = off_policy_schedule(s, o->number_samples *
                                                     off_policy_rounds(s, o->number_samples)),
        .noise = { .beta = o->noise_beta,
                   .chunk = o->noise_chunk > 0 ? (size_t)o->noise_chunk : env->T,
                   .max_period = (size_t)o->noise_max_period,
                   .by_episode = o->noise_chunk == 0 }
    };
    return options;
}

/* All that will be taken, against all that there is. */
static tce_status check_memory(const learner *l, const off_policy_options *options)
{
    const settings *s = &l->s;
    char remedy[256];
    memory m = { .measure = 1 };
    snprintf(remedy, sizeof remedy,
             "lower update.replay_size = %lld, of which a transition takes %zu bytes, or the "
             "widths of the networks",
             (long long)off_policy_settings_of(s)->replay_size,
             (2 * l->run.env.O + l->run.env.A + 3) *
                 replay_number_size(s->policy.options.precision));
    const tce_status status = off_policy_measure(&l->run.env, options, &m);
    return status == TCE_OK ? memory_check(m.bytes, "this run", remedy) : status;
}

static exploration exploration_of(const off_policy_options *o)
{
    const exploration e = { .form = o->coloured ? EXPLORATION_COLOURED : EXPLORATION_WHITE,
                            .beta = o->noise.beta,
                            .chunk = (int64_t)o->noise.chunk,
                            .max_period = (int64_t)o->noise.max_period };
    return e;
}

/* Actions are squashed into the task's range, which must have an end. */
static tce_status describe_agent(learner *l)
{
    const tce_env_spec *spec = l->run.env.spec;
    for (int32_t a = 0; a < spec->n_action; a++)
        if (!(isfinite(spec->action_low[a]) && isfinite(spec->action_high[a])))
            return tce_fail(TCE_E_UNSUPPORTED,
                            "action %d of %s is in %g to %g: %s squashes actions into a range, "
                            "which must be finite",
                            (int)a, l->s.task.name, spec->action_low[a], spec->action_high[a],
                            l->s.table->name);
    agent_describe(&l->agent, spec, l->s.task.name, 0, 0);
    l->agent.acts = 1;
    l->agent.output = AGENT_TANH;
    l->agent.low = spec->action_low;
    l->agent.high = spec->action_high;
    l->agent.P = l->run.env.A;
    l->agent.contextual = 1;
    return TCE_OK;
}

static tce_status take_columns(learner *l)
{
    const size_t n = l->run.env.M + 2;
    l->first_column = n;
    l->n_columns = n + OFF_POLICY_COLUMNS;
    l->columns = memory_take(&l->run.arrays, l->n_columns, sizeof *l->columns);
    if (!l->columns)
        return tce_fail(TCE_E_NOMEM, "no memory for %zu columns", l->n_columns);
    memcpy(l->columns, l->run.env.names, n * sizeof *l->columns);
    memcpy(l->columns + n, OFF_POLICY_COLUMN_NAMES, OFF_POLICY_COLUMNS * sizeof *l->columns);
    return TCE_OK;
}

static tce_status create_parts(learner *l, const method_context *c, int coloured)
{
    const stepping_options envs = { l->s.collect.environments, PURPOSE_TRAIN_ENV };
    tce_status status = stepping_create(&l->run.env, c->t, &l->s, c->pool, &envs);
    if (status == TCE_OK)
        status = describe_agent(l);
    if (status != TCE_OK)
        return status;
    const off_policy_options options = options_of(l, coloured);
    status = check_memory(l, &options);
    if (status == TCE_OK)
        status = off_policy_create(&l->run, &options);
    if (status != TCE_OK)
        return status;
    l->agent.policy = l->run.sac.actor;
    l->agent.exploration = exploration_of(&options);
    l->rounds = off_policy_rounds(&l->s, off_policy_settings_of(&l->s)->number_samples);
    return take_columns(l);
}

static tce_status create(const method_context *c, int coloured, void **out)
{
    *out = NULL;
    learner *l = calloc(1, sizeof *l);
    if (!l)
        return tce_fail(TCE_E_NOMEM, "no memory for a learner");
    l->s = *c->s;
    const tce_status status = create_parts(l, c, coloured);
    if (status != TCE_OK) {
        destroy(l);
        return status;
    }
    *out = l;
    return TCE_OK;
}

static tce_status create_sac(const method_context *c, void **out)
{
    return create(c, 0, out);
}

static tce_status create_pink(const method_context *c, void **out)
{
    return create(c, 1, out);
}

static size_t columns(const void *self, const char *const **names)
{
    const learner *l = self;
    *names = l->columns;
    return l->n_columns;
}

static const agent *agent_of(const void *self)
{
    return &((const learner *)self)->agent;
}

static journal_rows *rows_of(void *self)
{
    return &((learner *)self)->run.replay.rows;
}

static void report(learner *l, const off_policy_sum *sum, progress *out)
{
    stepping *env = &l->run.env;
    out->env_steps = env->n_steps;
    out->episodes = env->n_ended;
    out->dropped = env->n_dropped;
    stepping_report(env, out->values);
    off_policy_report(sum, out->values + l->first_column, out);
}

static tce_status iterate(void *self, int64_t i, progress *out)
{
    learner *l = self;
    off_policy_sum sum = { 0 };
    tce_status status = TCE_OK;
    (void)i;
    for (int64_t k = 0; status == TCE_OK && k < l->rounds; k++)
        status = off_policy_round(&l->run, &sum);
    if (status == TCE_OK)
        report(l, &sum, out);
    return status;
}

static tce_status save(const void *self, tce_store *store)
{
    return off_policy_save(&((const learner *)self)->run, store);
}

static tce_status load(void *self, const tce_store *store)
{
    return off_policy_load(&((learner *)self)->run, store);
}

/* ---- rows of the registry -------------------------------------------------------------------- */

static void label_sac(const settings *s, char *out, size_t size)
{
    (void)s;
    snprintf(out, size, "SAC");
}

static void label_pink(const settings *s, char *out, size_t size)
{
    const double beta = off_policy_settings_of(s)->noise_beta;
    if (beta == 1.0)
        snprintf(out, size, "PINK");
    else
        snprintf(out, size, "SAC beta %g", beta);
}

static const char *const DEFAULTS[] = { "policy.hidden=[256, 256]",
                                        "critic.hidden=[256, 256]",
                                        "policy.activation=relu",
                                        "critic.activation=relu",
                                        "policy.start=fan_in",
                                        "collect.environments=1",
                                        NULL };

static const settings_group *const SAC_GROUPS[] = {
    &SETTINGS_RUN,      &SETTINGS_TASK,           &SETTINGS_ENVIRONMENTS, &OFF_POLICY_COLLECT,
    &SETTINGS_EVALUATE, &SETTINGS_POLICY_NETWORK, &OFF_POLICY_POLICY,     &SETTINGS_CRITIC_NETWORK,
    &OFF_POLICY_CRITIC, &OFF_POLICY_TARGETS,      &OFF_POLICY_UPDATE,     NULL
};
static const settings_group *const PINK_GROUPS[] = { &SETTINGS_RUN,
                                                     &SETTINGS_TASK,
                                                     &SETTINGS_ENVIRONMENTS,
                                                     &OFF_POLICY_COLLECT,
                                                     &SETTINGS_EVALUATE,
                                                     &SETTINGS_POLICY_NETWORK,
                                                     &OFF_POLICY_POLICY,
                                                     &SETTINGS_CRITIC_NETWORK,
                                                     &OFF_POLICY_CRITIC,
                                                     &OFF_POLICY_TARGETS,
                                                     &OFF_POLICY_UPDATE,
                                                     &OFF_POLICY_NOISE,
                                                     NULL };

const method METHOD_TABLE_SAC = { .settings = { "sac", SAC_GROUPS, DEFAULTS, check_settings },
                                  .phases = OFF_POLICY_PHASES,
                                  .label = label_sac,
                                  .create = create_sac,
                                  .destroy = destroy,
                                  .own_columns = OFF_POLICY_COLUMN_NAMES,
                                  .columns = columns,
                                  .agent = agent_of,
                                  .iterate = iterate,
                                  .rows = rows_of,
                                  .save = save,
                                  .load = load };
const method METHOD_TABLE_PINK = { .settings = { "pink", PINK_GROUPS, DEFAULTS, check_settings },
                                   .phases = OFF_POLICY_PHASES,
                                   .label = label_pink,
                                   .create = create_pink,
                                   .destroy = destroy,
                                   .own_columns = OFF_POLICY_COLUMN_NAMES,
                                   .columns = columns,
                                   .agent = agent_of,
                                   .iterate = iterate,
                                   .rows = rows_of,
                                   .save = save,
                                   .load = load };
