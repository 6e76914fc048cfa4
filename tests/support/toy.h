/*
 * The toy task of the tests: a point on a line, or in the plane, that goes where it is told. It
 * keeps the contract of a task, or breaks it in the one way that its settings say:
 *
 *     fault=NAME    one of the names that are asked for below with `is`
 *     from=N        the faults "fails" and "gives_nan" begin in episode N of training, environment
 *                   0, instead of its first
 *     at=N          and in environment N instead of 0
 *     fails=TASK    the fault "fails" in the task of this name, and in no other
 *     target=X      the goal of every episode; without it each draws its own
 *     steps=T       of an episode [20], which lasts a second
 *     dof=D         1 or 2 [1]
 *     metric=NAME   of the second metric ["distance"]
 *     raw=1         takes raw actions alone
 *     low=A[,B]     least and largest raw actions, in each direction [-1, 1]
 *     high=A[,B]
 *     velocity=1    shows its velocity too, between position and goal
 *     early=N       an episode with a goal beyond 0.6 is over after N steps
 *     slips=N       an episode with a goal before 0.4 is lost in step N
 *     lost=N        every N-th step of an instance's life is lost; environment i has lived i steps
 *     stuck=N       episode N of an instance, from 1, cannot begin
 *
 * It needs nothing of libtce but the header, so that a task library of it links nothing.
 */
#ifndef TCE_TESTS_TOY_H
#define TCE_TESTS_TOY_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tce/env.h>

enum {
    TOY_D = 2, /* most degrees of freedom */
    TOY_METRICS = 2,
    TOY_MANY = 80, /* metrics of "many_metrics" */
    TOY_LONG = 90, /* letters in each of their names */
    TOY_TEXT = 64,
    TOY_TRAINING = 3 /* purpose of the streams of training */
};

/* What is in the reward of a step that is lost. */
#define TOY_LOST_REWARD 1e6

typedef struct toy {
    char fault[TOY_TEXT], metric[TOY_TEXT];
    int D, T;
    int has_target, raw, shows_velocity;
    int early, slips, lost, stuck; /* 0: never */
    double target;
    double low[TOY_D], high[TOY_D];
    uint64_t from, at; /* first episode and the environment of "fails" and "gives_nan" */
    double pos[TOY_D], vel[TOY_D], goal[TOY_D];
    double far; /* sum of the distances to the goal so far */
    int step;   /* T: no episode */
    int wrong;  /* this episode is one of "fails", "gives_nan" */
    int n_episodes;
    int begun, life; /* episodes and steps of the instance */
    tce_random *kept;
    double *kept_obs, *kept_pos; /* of reset */
    double *kept_next;           /* of the step before */
    const char *names[TOY_METRICS];
} toy;

static int is(const toy *self, const char *fault)
{
    return strcmp(self->fault, fault) == 0;
}

static void wait_for_ever(void)
{
    for (;;)
        sleep(1);
}

/* ---- life ------------------------------------------------------------------------------------ */

/* The value of key among "key=value" words, if it is there. */
static int toy_setting(const char *settings, const char *key, char *out)
{
    const size_t n = strlen(key);

    for (const char *at = settings; at && *at; at += strcspn(at, " \n"), at += strspn(at, " \n")) {
        if (strncmp(at, key, n) != 0 || at[n] != '=')
            continue;
        snprintf(out, TOY_TEXT, "%.*s", (int)strcspn(at + n + 1, " \n"), at + n + 1);
        return 1;
    }
    return 0;
}

static void toy_count(const char *settings, const char *key, int *out)
{
    char text[TOY_TEXT];

    if (toy_setting(settings, key, text))
        *out = atoi(text);
}

/* Numbers between commas, at most one for each direction. */
static void toy_numbers(const char *settings, const char *key, double *out)
{
    char text[TOY_TEXT], *at = text;

    if (!toy_setting(settings, key, text))
        return;
    for (int d = 0; d < TOY_D && *at; d++, at += *at == ',')
        out[d] = strtod(at, &at);
}

static void toy_read(toy *self, const char *name, const char *settings)
{
    char text[TOY_TEXT];

    toy_setting(settings, "fault", self->fault);
    toy_setting(settings, "metric", self->metric);
    if (toy_setting(settings, "from", text))
        self->from = strtoull(text, NULL, 10);
    if (toy_setting(settings, "at", text))
        self->at = strtoull(text, NULL, 10);
    if (toy_setting(settings, "fails", text) && strcmp(text, name) == 0)
        strcpy(self->fault, "fails");
    if (toy_setting(settings, "target", text)) {
        self->has_target = 1;
        self->target = strtod(text, NULL);
    }
    toy_count(settings, "steps", &self->T);
    toy_count(settings, "dof", &self->D);
    toy_count(settings, "raw", &self->raw);
    toy_count(settings, "velocity", &self->shows_velocity);
    toy_count(settings, "early", &self->early);
    toy_count(settings, "slips", &self->slips);
    toy_count(settings, "lost", &self->lost);
    toy_count(settings, "stuck", &self->stuck);
    toy_numbers(settings, "low", self->low);
    toy_numbers(settings, "high", self->high);
}

/* An instance of the task `name`; `more` goes over the settings that the task always has. */
static tce_status toy_create(const char *name, const char *settings, const char *more, void **out)
{
    toy *self = calloc(1, sizeof *self);

    if (!self)
        return TCE_E_NOMEM;
    self->D = 1;
    self->T = 20;
    strcpy(self->metric, "distance");
    for (int d = 0; d < TOY_D; d++) {
        self->low[d] = -1.0;
        self->high[d] = 1.0;
    }
    toy_read(self, name, settings);
    toy_read(self, name, more);
    self->raw |= is(self, "tracks_no_path");
    if (is(self, "no_instance")) {
        free(self);
        return TCE_E_ENV;
    }
    self->step = self->T;
    *out = self;
    return TCE_OK;
}

static void toy_destroy(void *instance)
{
    if (is(instance, "exits_in_destroy"))
        _exit(3);
    free(instance);
}

static void toy_many_names(tce_env_spec *out)
{
    static char names[TOY_MANY][TOY_LONG + 1];
    static const char *pointers[TOY_MANY];

    for (int i = 0; i < TOY_MANY; i++) {
        memset(names[i], 'm', TOY_LONG);
        names[i][TOY_LONG - 2] = (char)('0' + i / 10);
        names[i][TOY_LONG - 1] = (char)('0' + i % 10);
        pointers[i] = names[i];
    }
    out->n_metrics = TOY_MANY;
    out->metric_names = pointers;
}

static tce_status toy_spec(void *instance, tce_env_spec *out)
{
    static const int32_t GOAL[TOY_D][TOY_D] = { { 1 }, { 2, 3 } }, OTHER[TOY_D] = { 0, 1 };
    static const int32_t BEYOND[TOY_D][TOY_D] = { { 2 }, { 4, 5 } }; /* the velocity */
    static int n_calls;
    toy *self = instance;

    if (is(self, "hangs_in_spec"))
        wait_for_ever();
    if (is(self, "changes_its_spec"))
        n_calls++;
    out->n_obs = (2 + self->shows_velocity) * self->D +
                 (is(self, "changes_its_spec") && n_calls > 3);
    out->n_dof = self->raw ? 0 : self->D;
    out->n_action = self->D;
    out->n_steps = is(self, "no_steps") ? 0 : self->T;
    out->n_metrics = TOY_METRICS;
    out->n_context = self->D;
    out->dt = is(self, "dt_is_nan") ? NAN : 1.0 / self->T;
    self->names[0] = is(self, "same_names") ? "distance" : "success";
    self->names[1] = is(self, "comma_in_a_name") ? "distance, m"
                     : is(self, "reserved_name") ? "return"
                     : is(self, "eval_name")     ? "eval_distance"
                     : is(self, "latin_1_name")  ? "h\xf6he"
                                                 : self->metric;
    out->metric_names = self->names;
    out->context = is(self, "constant_context") ? OTHER
                   : self->shows_velocity       ? BEYOND[self->D - 1]
                                                : GOAL[self->D - 1];
    out->action_low = is(self, "no_action_low") ? NULL : self->low;
    out->action_high = self->high;
    out->carries_state = is(self, "carries_state");
    out->velocity_end = self->shows_velocity                 ? 2 * self->D
                        : is(self, "shows_another_velocity") ? self->D
                                                             : 0;
    if (is(self, "many_metrics"))
        toy_many_names(out);
    return TCE_OK;
}

/* the same, for a table without raw actions */
static inline tce_status toy_spec_of_tracker(void *instance, tce_env_spec *out)
{
    const tce_status status = toy_spec(instance, out);

    out->n_action = 0;
    out->action_low = out->action_high = NULL;
    return status;
}

/* ---- episodes -------------------------------------------------------------------------------- */

static void toy_observe(const toy *self, double *out)
{
    const int fast = is(self, "starts_faster") || is(self, "shows_another_velocity");
    const size_t size = (size_t)self->D * sizeof *out;

    memcpy(out, fast ? self->vel : self->pos, size);
    if (self->shows_velocity)
        memcpy(out += self->D, self->vel, size);
    if (is(self, "writes_before"))
        out[-1] = self->far;
    if (!is(self, "does_not_write"))
        memcpy(out + self->D, self->goal, size);
    if (is(self, "writes_beyond"))
        out[2 * self->D] = self->far;
}

/* A number in [0, 1) that depends on the stream and d alone, without the library. */
static double toy_draw(const tce_random *random, int d)
{
    const uint64_t mixed = random->key[0] + 31 * random->counter[1] + 7 * random->counter[2] +
                           (uint64_t)d;

    return (double)(mixed * 2654435761u % 1000) / 1000.0;
}

/* Where the point of "shares_memory" is, whichever instance. */
static double toy_shared;

static tce_status toy_reset(void *instance, tce_random *random, double *out_obs, double *out_pos,
                            double *out_vel)
{
    static int n_resets;
    toy *self = instance;
    const int fast = is(self, "starts_faster") || is(self, "shows_another_velocity");

    if (is(self, "exits_in_reset"))
        exit(0);
    if (is(self, "hangs_in_reset"))
        wait_for_ever();
    if (self->begun++ == 0)
        self->life = (int)random->counter[1];
    if (self->begun == self->stuck || is(self, "never_begins"))
        return TCE_E_ENV;
    self->n_episodes += is(self, "carries_state");
    for (int d = 0; d < self->D; d++) {
        self->pos[d] = is(self, "starts_elsewhere") ? 0.7 : 0.0;
        self->vel[d] = 0.0;
        self->goal[d] = is(self, "one_start") ? 0.5
                        : self->has_target    ? self->target
                                              : toy_draw(random, d);
        if (is(self, "carries_state"))
            self->goal[d] += 0.001 * self->n_episodes;
        if (is(self, "draws_elsewhere"))
            self->goal[d] += 0.001 * ++n_resets;
    }
    if (is(self, "shares_memory"))
        toy_shared = 0.0;
    if (!is(self, "leaves_something"))
        self->far = 0.0;
    self->step = 0;
    self->wrong = (is(self, "fails") || is(self, "gives_nan")) && random->key[1] == TOY_TRAINING &&
                  random->counter[1] == self->at && random->counter[2] >= self->from;
    self->kept = random;
    self->kept_obs = out_obs;
    self->kept_pos = out_pos;
    toy_observe(self, out_obs);
    for (int d = 0; d < self->D && !self->raw; d++) {
        out_pos[d] = 0.0;
        out_vel[d] = fast ? 3.0 : 0.0;
    }
    return TCE_OK;
}

/* Pointers of earlier calls that a fault still writes to. */
static void toy_write_late(toy *self, double *out_obs)
{
    if (is(self, "keeps_its_observation") && self->step > 1)
        self->kept_obs[0] = 99.0;
    if (is(self, "keeps_its_position") && self->step > 1)
        self->kept_pos[0] = 99.0;
    if (is(self, "keeps_the_last_step") && self->step > 1)
        self->kept_next[0] = 99.0;
    self->kept_next = out_obs;
}

/* Whether the step that is about to be taken is lost. */
static int toy_loses_step(toy *self)
{
    return (self->lost > 0 && ++self->life % self->lost == 0) ||
           (self->step + 1 == self->slips && self->goal[0] < 0.4) ||
           (is(self, "fails_midway") && self->step == 3) || (is(self, "fails") && self->wrong);
}

static tce_status toy_advance(toy *self, const double *pos, double *out_obs, tce_env_result *out)
{
    const int accepted = is(self, "steps_after_the_end")
                             ? self->n_episodes > 0
                             : is(self, "steps_before_a_reset") && !self->kept;
    double squares = 0.0;

    if (self->step >= self->T && !accepted)
        return TCE_E_STATE;
    if (toy_loses_step(self)) {
        out->reward = TOY_LOST_REWARD;
        return TCE_E_ENV;
    }
    if (is(self, "draws_in_a_step"))
        self->kept->used++;
    self->step++;
    if (is(self, "aborts_in_a_step") && self->step == 5)
        abort();
    if (is(self, "hangs_in_a_step") && self->step == 17)
        wait_for_ever();

    for (int d = 0; d < self->D; d++) {
        self->pos[d] = pos[d] + (is(self, "shares_memory") ? 0.5 * (toy_shared - pos[d]) : 0.0);
        self->far += fabs(self->pos[d] - self->goal[d]);
        squares += (self->pos[d] - self->goal[d]) * (self->pos[d] - self->goal[d]);
    }
    if (is(self, "shares_memory"))
        toy_shared = self->pos[0];
    self->n_episodes += is(self, "steps_after_the_end") && self->step == self->T;
    toy_observe(self, out_obs);
    toy_write_late(self, out_obs);
    out->reward = is(self, "infinite_reward") && self->step == self->T ? -INFINITY
                  : self->wrong                                        ? NAN
                                                                       : -squares;
    out->truncated = self->step == self->T && !is(self, "unmarked");
    out->terminated = self->step == self->early && self->goal[0] > 0.6;
    out->event = is(self, "forgets_its_event") ? self->step == 3 : self->step >= 3;
    if (is(self, "odd_flags"))
        out->terminated = self->step == self->T ? 7 : 0;
    return TCE_OK;
}

static tce_status toy_step(void *instance, const double *pos, const double *vel, double *out_obs,
                           tce_env_result *out)
{
    toy *self = instance;
    const double own[TOY_D] = { 0.01 * self->step, 0.01 * self->step };

    memcpy(self->vel, vel, (size_t)self->D * sizeof *vel);
    return toy_advance(self, is(self, "ignores_the_path") ? own : pos, out_obs, out);
}

static tce_status toy_step_action(void *instance, const double *action, double *out_obs,
                                  tce_env_result *out)
{
    toy *self = instance;
    double pos[TOY_D];

    for (int d = 0; d < self->D; d++)
        pos[d] = self->pos[d] + 0.01 * action[d];
    return toy_advance(self, pos, out_obs, out);
}

static tce_status toy_metrics(void *instance, double *out)
{
    const toy *self = instance;
    double largest = 0.0;

    for (int i = 0; i < TOY_MANY && is(self, "many_metrics"); i++)
        out[i] = i;
    if (is(self, "many_metrics"))
        return TCE_OK;
    for (int d = 0; d < self->D; d++)
        largest = fmax(largest, fabs(self->pos[d] - self->goal[d]));
    out[0] = is(self, "half_a_success") ? 0.5 : largest < 0.1;
    out[1] = is(self, "metric_is_nan") && self->step == self->T ? NAN : self->far;
    return TCE_OK;
}

/* ---- states and pictures --------------------------------------------------------------------- */

enum { TOY_STATE = 3 * TOY_D + 6 };

static size_t toy_n_state(void *instance)
{
    (void)instance;
    return TOY_STATE;
}

static tce_status toy_get_state(void *instance, double *out)
{
    const toy *self = instance;

    memcpy(out, self->pos, sizeof self->pos);
    memcpy(out + TOY_D, self->vel, sizeof self->vel);
    memcpy(out + 2 * TOY_D, self->goal, sizeof self->goal);
    out += 3 * TOY_D;
    out[0] = self->step;
    out[1] = is(self, "state_lacks_something") ? 0.0 : self->far;
    out[2] = self->n_episodes;
    out[3] = self->wrong;
    out[4] = self->begun;
    out[5] = self->life;
    return TCE_OK;
}

static tce_status toy_set_state(void *instance, const double *state, double *out_obs)
{
    toy *self = instance;

    memcpy(self->pos, state, sizeof self->pos);
    memcpy(self->vel, state + TOY_D, sizeof self->vel);
    if (!is(self, "goal_is_not_set"))
        memcpy(self->goal, state + 2 * TOY_D, sizeof self->goal);
    if (is(self, "shares_memory"))
        toy_shared = self->pos[0];
    state += 3 * TOY_D;
    self->step = (int)state[0];
    self->far = state[1];
    self->n_episodes = (int)state[2];
    self->wrong = (int)state[3];
    self->begun = (int)state[4];
    self->life = (int)state[5];
    toy_observe(self, out_obs);
    return TCE_OK;
}

static tce_status toy_render(void *instance, int32_t width, int32_t height, uint8_t *rgb)
{
    (void)instance;
    memset(rgb, 200, (size_t)width * (size_t)height * 3);
    return TCE_OK;
}

/* ---- tables ---------------------------------------------------------------------------------- */

/* TOY_<symbol>: the toy as a task of that name, always with these settings. */
#define TOY(symbol, always)                                                                \
    static tce_status toy_create_##symbol(void *user, const char *settings, void **out)    \
    {                                                                                      \
        (void)user;                                                                        \
        return toy_create(#symbol, always, settings, out);                                 \
    }                                                                                      \
    static const tce_env_vtable TOY_##symbol = { .struct_size = sizeof(tce_env_vtable),    \
                                                 .abi = TCE_ENV_ABI,                       \
                                                 .name = #symbol,                          \
                                                 .description =                            \
                                                     "a point that goes where it is told", \
                                                 .create = toy_create_##symbol,            \
                                                 .destroy = toy_destroy,                   \
                                                 .spec = toy_spec,                         \
                                                 .reset = toy_reset,                       \
                                                 .step = toy_step,                         \
                                                 .step_action = toy_step_action,           \
                                                 .metrics = toy_metrics,                   \
                                                 .n_state = toy_n_state,                   \
                                                 .get_state = toy_get_state,               \
                                                 .set_state = toy_set_state,               \
                                                 .render = toy_render };

/* A task library of these tables. */
#define TOY_LIBRARY(...)                                                     \
    TCE_API const tce_env_vtable *const *tce_tasks(int32_t *abi, size_t *n); \
    TCE_API const tce_env_vtable *const *tce_tasks(int32_t *abi, size_t *n)  \
    {                                                                        \
        static const tce_env_vtable *const TABLES[] = { __VA_ARGS__ };       \
        *abi = TCE_ENV_ABI;                                                  \
        *n = sizeof TABLES / sizeof TABLES[0];                               \
        return TABLES;                                                       \
    }

#endif
