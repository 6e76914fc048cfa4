/*
 * SAC [rivals 5] and PINK [rivals 6], which explores with noise that is correlated over time.
 */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "methods/off_policy.h"

/* an iteration of the default number of rounds has at least so many environment steps */
#define LEAST_STEPS 1000

enum { TIME_LIMIT_BOOTSTRAP = 0, TIME_LIMIT_TERMINAL = 1 };

/* ---- settings -------------------------------------------------------------------------------- */

typedef struct sac_settings {
    int32_t number_samples, rounds;
    int64_t learning_starts;
    int32_t time_limit;
    int64_t replay_size;
    int32_t batch_size, gradient_steps;
    double policy_rate, critic_rate, adam_epsilon;
    double gamma, polyak, target_entropy;
    double log_std_low, log_std_high;
    double noise_beta;
    int64_t noise_chunk, noise_max_period; /* chunk 0: one per episode */
} sac_settings;

#define OWN(field) SETTINGS_OWN(sac_settings, field)

static const setting_choice TIME_LIMITS[] = { { "bootstrap", TIME_LIMIT_BOOTSTRAP },
                                              { "terminal", TIME_LIMIT_TERMINAL },
                                              { NULL, 0 } };

static const setting_row COLLECT_ROWS[] = {
    { "collect", "number_samples", SETTING_INT, OWN(number_samples), "1", 1, 1e8, NULL, 0,
      "environment steps per round, of all environments together; gradient steps follow each "
      "round" },
    { "collect", "rounds", SETTING_INT, OWN(rounds), "0", 0, 1e9, NULL, 0,
      "rounds per iteration; 0: as many as take at least 1,000 environment steps" },
    { "collect", "learning_starts", SETTING_INT64, OWN(learning_starts), "10000", 0, 1e12, NULL, 0,
      "environment steps with uniform actions and without updates" },
    { "collect", "time_limit", SETTING_CHOICE, OWN(time_limit), "bootstrap", 0, 0, TIME_LIMITS, 0,
      "an episode that ends because its time is up: the value of its last observation counts, or "
      "the episode is over" },
};
static const setting_row POLICY_ROWS[] = {
    { "policy", "learning_rate", SETTING_REAL, OWN(policy_rate), "3e-4", 0, SETTING_ANY, NULL, 0,
      "of Adam" },
    { "policy", "log_std_low", SETTING_REAL, OWN(log_std_low), "-20", -700, 700, NULL, 0,
      "logarithms of standard deviations are cut to these limits" },
    { "policy", "log_std_high", SETTING_REAL, OWN(log_std_high), "2", -700, 700, NULL, 0,
      "the upper limit" },
};
static const setting_row CRITIC_ROWS[] = {
    { "critic", "learning_rate", SETTING_REAL, OWN(critic_rate), "3e-4", 0, SETTING_ANY, NULL, 0,
      "of Adam, for both critics and the temperature" },
    { "critic", "polyak", SETTING_REAL, OWN(polyak), "0.005", 0, 1, NULL, 0,
      "share of the critics in their targets after each gradient step" },
};
static const setting_row UPDATE_ROWS[] = {
    { "objective", "gamma", SETTING_REAL, OWN(gamma), "0.99", 0, 1, NULL, 0, "discount" },
    { "update", "gradient_steps", SETTING_INT, OWN(gradient_steps), "1", 0, 1e8, NULL, 0,
      "gradient steps after each round" },
    { "update", "batch_size", SETTING_INT, OWN(batch_size), "256", 1, 1e6, NULL, 0,
      "transitions of a gradient step" },
    { "update", "replay_size", SETTING_INT64, OWN(replay_size), "1000000", 1, 4e9, NULL, 0,
      "transitions kept" },
    { "update", "target_entropy", SETTING_REAL, OWN(target_entropy), "0", -SETTING_ANY, SETTING_ANY,
      NULL, 0, "entropy that the temperature keeps the policy at; 0: minus the number of actions" },
    { "update", "adam_epsilon", SETTING_REAL, OWN(adam_epsilon), "1e-8", SETTING_POSITIVE, 1, NULL,
      0, "in Adam's denominator" },
};
static const setting_row NOISE_ROWS[] = {
    { "noise", "beta", SETTING_REAL, OWN(noise_beta), "1", 0, 10, NULL, 0,
      "power of the noise falls as frequency^-beta: 0 white, 1 pink, 2 red" },
    { "noise", "chunk", SETTING_INT64, OWN(noise_chunk), "10000", 0, 1e8, NULL, 0,
      "steps that are drawn together; 0: an episode" },
    { "noise", "max_period", SETTING_INT64, OWN(noise_max_period), "10000", 0, 1e12, NULL, 0,
      "slower frequencies have the power of this one; 0: none is slower" },
};
#define GROUP(rows)                              \
    {                                            \
        sizeof rows / sizeof rows[0], rows, NULL \
    }
static const settings_group COLLECT = GROUP(COLLECT_ROWS), POLICY = GROUP(POLICY_ROWS),
                            CRITIC = GROUP(CRITIC_ROWS), UPDATE = GROUP(UPDATE_ROWS),
                            NOISE = GROUP(NOISE_ROWS);

static const sac_settings *own(const settings *s)
{
    return (const sac_settings *)(const void *)s->own.bytes;
}

static tce_status check_settings(const settings *s)
{
    const sac_settings *o = own(s);
    if (o->number_samples % s->collect.environments != 0)
        return tce_fail(TCE_E_VALUE,
                        "collect.number_samples = %d must be a multiple of collect.environments = "
                        "%d, which step together",
                        (int)o->number_samples, (int)s->collect.environments);
    if (!(o->log_std_low < o->log_std_high))
        return tce_fail(TCE_E_VALUE, "policy.log_std_low = %g must be below log_std_high = %g",
                        o->log_std_low, o->log_std_high);
    return TCE_OK;
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

enum {
    COLUMN_DROPPED,
    COLUMN_STEPS,
    COLUMN_UPDATES,
    COLUMN_CRITIC_LOSS,
    COLUMN_POLICY_LOSS,
    COLUMN_ALPHA_LOSS,
    COLUMN_ALPHA,
    COLUMN_ENTROPY,
    COLUMN_VALUE,
    N_COLUMNS
};
static const char *const COLUMNS[N_COLUMNS + 1] = { "dropped",     "steps",       "updates",
                                                    "critic_loss", "policy_loss", "alpha_loss",
                                                    "alpha",       "entropy",     "value",
                                                    NULL };
enum { PHASE_SIMULATION, PHASE_UPDATE };
static const char *const PHASES[] = { "simulation", "update", NULL };

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
    const sac_settings *o = own(s);
    const stepping *env = &l->run.env;
    off_policy_options options = {
        .seed = s->run.seed,
        .steps = o->number_samples / s->collect.environments,
        .gradient_steps = o->gradient_steps,
        .learning_starts = o->learning_starts,
        .time_limit_ends = o->time_limit == TIME_LIMIT_TERMINAL,
        .coloured = coloured,
        .replay_size = (size_t)o->replay_size,
        .sac = { .n_hidden = s->policy.hidden.n,
                 .n_critic_hidden = s->critic.hidden.n,
                 .hidden = s->policy.hidden.v,
                 .critic_hidden = s->critic.hidden.v,
                 .activation = s->policy.options.activation,
                 .critic_activation = s->critic.activation,
                 .precision = s->policy.options.precision,
                 .start = s->policy.options.start,
                 .log_std_low = o->log_std_low,
                 .log_std_high = o->log_std_high,
                 .batch_size = o->batch_size },
        .rates = { .gamma = o->gamma,
                   .polyak = o->polyak,
                   .target_entropy = o->target_entropy != 0.0 ? o->target_entropy
                                                              : -(double)env->A },
        .noise = { .beta = o->noise_beta,
                   .chunk = o->noise_chunk > 0 ? (size_t)o->noise_chunk : env->T,
                   .max_period = (size_t)o->noise_max_period,
                   .by_episode = o->noise_chunk == 0 }
    };
    tce_adam_options_init(&options.rates.actor, sizeof options.rates.actor);
    options.rates.actor.epsilon = o->adam_epsilon;
    options.rates.critic = options.rates.actor;
    options.rates.actor.learning_rate = o->policy_rate;
    options.rates.critic.learning_rate = o->critic_rate;
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
             (long long)own(s)->replay_size,
             (2 * l->run.env.O + l->run.env.A + 3) *
                 (s->policy.options.precision == TCE_NET_DOUBLE ? sizeof(double) : sizeof(float)));
    const tce_status status = off_policy_measure(&l->run.env, options, &m);
    return status == TCE_OK ? memory_check(m.bytes, "this run", remedy) : status;
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
    l->n_columns = n + N_COLUMNS;
    l->columns = memory_take(&l->run.arrays, l->n_columns, sizeof *l->columns);
    if (!l->columns)
        return tce_fail(TCE_E_NOMEM, "no memory for %zu columns", l->n_columns);
    memcpy(l->columns, l->run.env.names, n * sizeof *l->columns);
    memcpy(l->columns + n, COLUMNS, N_COLUMNS * sizeof *l->columns);
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
    const int64_t number = own(&l->s)->number_samples;
    l->rounds = own(&l->s)->rounds > 0 ? own(&l->s)->rounds : (LEAST_STEPS + number - 1) / number;
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
    double *own_values = out->values + l->first_column;
    out->env_steps = env->n_steps;
    out->episodes = env->n_ended;
    out->dropped = env->n_dropped;
    out->seconds[PHASE_SIMULATION] = sum->simulation;
    out->seconds[PHASE_UPDATE] = sum->update;
    own_values[COLUMN_DROPPED] = (double)env->n_dropped;
    own_values[COLUMN_STEPS] = (double)env->n_steps;
    own_values[COLUMN_UPDATES] = (double)sum->n;
    stepping_report(env, out->values);
    if (sum->n == 0)
        return;
    const double n = (double)sum->n;
    own_values[COLUMN_CRITIC_LOSS] = sum->report.critic_loss / n;
    own_values[COLUMN_POLICY_LOSS] = sum->report.actor_loss / n;
    own_values[COLUMN_ALPHA_LOSS] = sum->report.alpha_loss / n;
    own_values[COLUMN_ALPHA] = sum->report.alpha / n;
    own_values[COLUMN_ENTROPY] = sum->report.entropy / n;
    own_values[COLUMN_VALUE] = sum->report.value / n;
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
    const double beta = own(s)->noise_beta;
    if (beta == 1.0)
        snprintf(out, size, "PINK");
    else
        snprintf(out, size, "SAC beta %g", beta);
}

static const char *const DEFAULTS[] = { "policy.hidden=[256, 256]", "policy.activation=relu",
                                        "critic.activation=relu",   "policy.start=fan_in",
                                        "collect.environments=1",   NULL };

static const settings_group *const SAC_GROUPS[] = { &SETTINGS_RUN,
                                                    &SETTINGS_TASK,
                                                    &SETTINGS_ENVIRONMENTS,
                                                    &COLLECT,
                                                    &SETTINGS_EVALUATE,
                                                    &SETTINGS_POLICY_NETWORK,
                                                    &POLICY,
                                                    &SETTINGS_CRITIC_NETWORK,
                                                    &CRITIC,
                                                    &UPDATE,
                                                    NULL };
static const settings_group *const PINK_GROUPS[] = { &SETTINGS_RUN,
                                                     &SETTINGS_TASK,
                                                     &SETTINGS_ENVIRONMENTS,
                                                     &COLLECT,
                                                     &SETTINGS_EVALUATE,
                                                     &SETTINGS_POLICY_NETWORK,
                                                     &POLICY,
                                                     &SETTINGS_CRITIC_NETWORK,
                                                     &CRITIC,
                                                     &UPDATE,
                                                     &NOISE,
                                                     NULL };

const method METHOD_TABLE_SAC = { .settings = { "sac", SAC_GROUPS, DEFAULTS, check_settings },
                                  .phases = PHASES,
                                  .label = label_sac,
                                  .create = create_sac,
                                  .destroy = destroy,
                                  .own_columns = COLUMNS,
                                  .columns = columns,
                                  .agent = agent_of,
                                  .iterate = iterate,
                                  .rows = rows_of,
                                  .save = save,
                                  .load = load };
const method METHOD_TABLE_PINK = { .settings = { "pink", PINK_GROUPS, DEFAULTS, check_settings },
                                   .phases = PHASES,
                                   .label = label_pink,
                                   .create = create_pink,
                                   .destroy = destroy,
                                   .own_columns = COLUMNS,
                                   .columns = columns,
                                   .agent = agent_of,
                                   .iterate = iterate,
                                   .rows = rows_of,
                                   .save = save,
                                   .load = load };
