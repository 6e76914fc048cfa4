/*
 * One line per key whose default depends on the task: for which methods, how the value comes from
 * the spec, and why. Lines use the values of those above them.
 */
#include "settings/suggest.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tools/numbers.h"

/* Rows of a minibatch of the critic. */
#define CRITIC_ROWS 400.0

/* Most environments at once, and least and most episodes per iteration. */
#define MOST_ENVIRONMENTS 32
#define LEAST_EPISODES 64.0
#define MOST_EPISODES 512.0

/* Steps of an iteration that are enough to learn values from. */
#define ENOUGH_STEPS 1000.0

typedef struct suggestion {
    const char *section, *key;
    /* "section.key" that only the methods have for which it is meant; NULL: all */
    const char *section_of, *key_of;
    double (*value)(const settings *s, const tce_env_spec *spec);
    const char *reason;
} suggestion;

/* ---- values ---------------------------------------------------------------------------------- */

static double clamp(double x, double least, double most)
{
    return x < least ? least : x > most ? most : x;
}

static double duration(const settings *s, const tce_env_spec *spec)
{
    const double rest = spec->n_steps * spec->dt - s->mp.delay;
    /* 0.99 s, not 0.9900000000000001: a step is longer than that */
    return rest > 0.0 ? round(rest * 1e9) / 1e9 : spec->n_steps * spec->dt;
}

static double n_params(const settings *s, const tce_env_spec *spec)
{
    return (double)spec->n_dof *
           (double)((s->mp.disable_weights ? 0 : s->mp.n_basis) + !s->mp.disable_goal);
}

/* Twice as many as parameters that they vary, in whole rounds. */
static double n_episodes(const settings *s, const tce_env_spec *spec)
{
    const double wanted = fmax(2.0 * n_params(s, spec), ENOUGH_STEPS / spec->n_steps);
    return MOST_ENVIRONMENTS *
           ceil(clamp(wanted, LEAST_EPISODES, MOST_EPISODES) / MOST_ENVIRONMENTS);
}

/* Rounds of equal size. */
static double n_environments(const settings *s, const tce_env_spec *spec)
{
    const int32_t n_rounds = (s->collect.episodes + MOST_ENVIRONMENTS - 1) / MOST_ENVIRONMENTS;
    (void)spec;
    return (s->collect.episodes + n_rounds - 1) / n_rounds;
}

/* Ten segments or so, each of five steps at least. */
static double n_time_points(const settings *s, const tce_env_spec *spec)
{
    (void)s;
    return clamp(floor(spec->n_steps / 5.0), 2.0, 10.0);
}

static double n_minibatches(const settings *s, const tce_env_spec *spec)
{
    const int steps = strcmp(s->table->name, "bbrl") != 0;
    const double rows = (double)s->collect.episodes * (steps ? spec->n_steps : 1);
    return clamp(round(rows / CRITIC_ROWS), 1.0, 64.0);
}

/* Of both hidden layers of a network with so many numbers at its wider end. */
static double width(double n)
{
    return n <= 32.0 ? 64.0 : n <= 96.0 ? 128.0 : 256.0;
}

static double policy_width(const settings *s, const tce_env_spec *spec)
{
    return width(fmax(spec->n_obs, n_params(s, spec)));
}

static double critic_width(const settings *s, const tce_env_spec *spec)
{
    (void)s;
    return width(spec->n_obs);
}

static double n_steps(const settings *s, const tce_env_spec *spec)
{
    (void)s;
    return clamp(spec->n_steps, 128.0, ENOUGH_STEPS);
}

static double warm_up(const settings *s, const tce_env_spec *spec)
{
    (void)s;
    return clamp(10.0 * spec->n_steps, 500.0, 10000.0);
}

/* critic.minibatches is a key of the methods along paths that learn from whole batches */
static const suggestion SUGGESTIONS[] = {
    { "mp", "tau", NULL, NULL, duration, "the whole episode, after mp.delay" },
    { "collect", "episodes", "critic", "minibatches", n_episodes,
      "at least 64, twice the parameters of the primitive, and 1,000 steps" },
    { "collect", "environments", "critic", "minibatches", n_environments,
      "equal rounds of at most 32" },
    { "objective", "time_points", NULL, NULL, n_time_points, "at most 10, five steps apart" },
    { "policy", "hidden", "critic", "minibatches", policy_width,
      "by the numbers in an observation and the parameters of the primitive" },
    { "critic", "hidden", "critic", "minibatches", critic_width,
      "by the numbers in an observation" },
    { "critic", "minibatches", NULL, NULL, n_minibatches, "about 400 rows each" },
    { "collect", "steps", NULL, NULL, n_steps,
      "one episode, but at least 128 and at most 1,000 steps" },
    { "collect", "learning_starts", "collect", "number_samples", warm_up,
      "ten episodes, but at least 500 and at most 10,000 steps" },
};

/* ---- public ---------------------------------------------------------------------------------- */

static const suggestion *find_suggestion(const settings_table *table, const setting_row *row)
{
    for (size_t i = 0; i < sizeof SUGGESTIONS / sizeof SUGGESTIONS[0]; i++) {
        const suggestion *one = &SUGGESTIONS[i];
        if (strcmp(one->section, row->section) == 0 && strcmp(one->key, row->key) == 0)
            return !one->key_of || settings_find_row(table, one->section_of, one->key_of) ? one
                                                                                          : NULL;
    }
    return NULL;
}

int settings_by_task(const settings_table *table, const setting_row *row)
{
    return find_suggestion(table, row) != NULL;
}

int settings_need_task(const settings *s)
{
    const setting_row *row;
    for (size_t i = 0; (row = settings_row(s->table, i)) != NULL; i++)
        if (s->origin[i] == ORIGIN_DEFAULT && find_suggestion(s->table, row))
            return 1;
    return 0;
}

const char *settings_reason(const settings *s, const setting_row *row)
{
    const suggestion *one = find_suggestion(s->table, row);
    return one && s->origin[settings_row_index(s->table, row)] == ORIGIN_TASK ? one->reason : NULL;
}

/* One key, unless it was given. */
static tce_status suggest(settings *s, const suggestion *one, const tce_env_spec *spec)
{
    char number[NUMBER_TEXT], text[2 * NUMBER_TEXT + 8];
    const setting_row *row = settings_find_row(s->table, one->section, one->key);
    if (!row || find_suggestion(s->table, row) != one)
        return TCE_OK;
    unsigned char *origin = &s->origin[settings_row_index(s->table, row)];
    if (*origin == ORIGIN_GIVEN)
        return TCE_OK;
    number_text(one->value(s, spec), 0, number);
    if (row->type == SETTING_INTS)
        snprintf(text, sizeof text, "[%s, %s]", number, number);
    else
        snprintf(text, sizeof text, "%s", number);
    const tce_status status = settings_set(s, one->section, one->key, text, "default for the task");
    *origin = ORIGIN_TASK;
    return status;
}

tce_status settings_suggest(settings *s, const tce_env_spec *spec)
{
    tce_status status = TCE_OK;
    for (size_t i = 0; status == TCE_OK && i < sizeof SUGGESTIONS / sizeof SUGGESTIONS[0]; i++)
        status = suggest(s, &SUGGESTIONS[i], spec);
    return status;
}
