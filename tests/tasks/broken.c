/*
 * Tasks for tce_env_inspect: a point on a line that is told where to go. "sound" keeps the
 * contract; each of the others breaks it in the one way that its name says. It needs nothing of
 * libtce but the header.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <tce/env.h>

enum { O = 2, T = 20, S = 6, M = 2 };

typedef struct point {
    const char *name;
    double pos, vel, goal, far; /* far: sum of the distances to the goal so far */
    int step;                   /* T: no episode */
    tce_random *kept;
    double *kept_obs, *kept_pos; /* of reset */
    double *kept_next;           /* of the step before */
    int n_episodes;
} point;

static int is(const point *self, const char *fault)
{
    return strcmp(self->name, fault) == 0;
}

/* ---- life ------------------------------------------------------------------------------------ */

static tce_status create_as(const char *name, void **out)
{
    point *self = calloc(1, sizeof *self);

    if (!self)
        return TCE_E_NOMEM;
    self->name = name;
    self->step = T;
    *out = self;
    return TCE_OK;
}

static tce_status spec(void *instance, tce_env_spec *out)
{
    static const char *const NAMES[M] = { "success", "distance" };
    static const char *const TWICE[M] = { "distance", "distance" };
    static const char *const COMMA[M] = { "success", "distance, m" };
    static const char *const RESERVED[M] = { "success", "return" };
    static const char *const EVAL[M] = { "success", "eval_distance" };
    static const char *const LATIN_1[M] = { "success", "h\xf6he" };
    static const int32_t CONTEXT[] = { 1 }, OTHER[] = { 0 };
    static const double LOW[] = { -1.0 }, HIGH[] = { 1.0 };
    static int n_calls;
    const point *self = instance;

    n_calls += is(self, "changes_its_spec");
    out->n_obs = O + (is(self, "changes_its_spec") && n_calls > 3);
    out->n_dof = is(self, "tracks_no_path") ? 0 : 1;
    out->n_action = 1;
    out->n_steps = is(self, "no_steps") ? 0 : T;
    out->n_metrics = M;
    out->n_context = 1;
    out->dt = is(self, "dt_is_nan") ? NAN : 0.05;
    out->metric_names = is(self, "same_names")        ? TWICE
                        : is(self, "comma_in_a_name") ? COMMA
                        : is(self, "reserved_name")   ? RESERVED
                        : is(self, "eval_name")       ? EVAL
                        : is(self, "latin_1_name")    ? LATIN_1
                                                      : NAMES;
    out->context = is(self, "constant_context") ? OTHER : CONTEXT;
    out->action_low = is(self, "no_action_low") ? NULL : LOW;
    out->action_high = HIGH;
    out->carries_state = is(self, "carries_state");
    out->velocity_end = is(self, "shows_another_velocity");
    return TCE_OK;
}

/* ---- episodes -------------------------------------------------------------------------------- */

static void observe(const point *self, double *out)
{
    out[0] = is(self, "starts_faster") || is(self, "shows_another_velocity") ? self->vel
                                                                             : self->pos;
    if (is(self, "writes_before"))
        out[-1] = self->far;
    if (!is(self, "does_not_write"))
        out[1] = self->goal;
    if (is(self, "writes_beyond"))
        out[2] = self->far;
}

/* A number in [0, 1) that depends on the stream alone, without the library. */
static double draw(const tce_random *random)
{
    return (double)((random->key[0] + 31 * random->counter[1] + 7 * random->counter[2]) *
                    2654435761u % 1000) /
           1000.0;
}

/* Where the point of "shares_memory" is, whichever instance. */
static double shared_pos;

static tce_status reset(void *instance, tce_random *random, double *out_obs, double *out_pos,
                        double *out_vel)
{
    static int n_resets;
    point *self = instance;

    self->pos = shared_pos = self->vel = 0.0;
    self->goal = is(self, "one_start") ? 0.5 : draw(random);
    if (is(self, "draws_elsewhere"))
        self->goal += 0.001 * ++n_resets;
    if (is(self, "carries_state"))
        self->goal += 0.001 * ++self->n_episodes;
    if (is(self, "starts_elsewhere"))
        self->pos = 0.7;
    if (!is(self, "leaves_something"))
        self->far = 0.0;
    self->step = 0;
    self->kept = random;
    self->kept_obs = out_obs;
    self->kept_pos = out_pos;
    observe(self, out_obs);
    if (is(self, "tracks_no_path"))
        return TCE_OK;
    *out_pos = is(self, "starts_elsewhere") ? 0.0 : self->pos;
    *out_vel = is(self, "starts_faster") || is(self, "shows_another_velocity") ? 3.0 : 0.0;
    return TCE_OK;
}

static tce_status advance(point *self, double pos, double *out_obs, tce_env_result *out)
{
    const int accepted = is(self, "steps_after_the_end")
                             ? self->n_episodes > 0
                             : is(self, "steps_before_a_reset") && !self->kept;

    if (self->step >= T && !accepted)
        return TCE_E_STATE;
    if (is(self, "fails_midway") && self->step == 3)
        return TCE_E_ENV;
    if (is(self, "draws_in_a_step"))
        self->kept->used++;
    self->pos = shared_pos = pos + (is(self, "shares_memory") ? 0.5 * (shared_pos - pos) : 0.0);
    self->far += fabs(self->pos - self->goal);
    self->step++;
    self->n_episodes += is(self, "steps_after_the_end") && self->step == T;
    observe(self, out_obs);
    if (is(self, "keeps_its_observation") && self->step > 1)
        self->kept_obs[0] = 99.0;
    if (is(self, "keeps_its_position") && self->step > 1)
        self->kept_pos[0] = 99.0;
    if (is(self, "keeps_the_last_step") && self->step > 1)
        self->kept_next[0] = 99.0;
    self->kept_next = out_obs;
    out->reward = is(self, "infinite_reward") && self->step == T ? -INFINITY
                                                                 : -fabs(self->pos - self->goal);
    out->truncated = self->step == T;
    out->event = is(self, "forgets_its_event") ? self->step == 3 : self->step >= 3;
    if (is(self, "odd_flags"))
        out->terminated = self->step == T ? 7 : 0;
    return TCE_OK;
}

static tce_status step(void *instance, const double *pos, const double *vel, double *out_obs,
                       tce_env_result *out)
{
    point *self = instance;

    self->vel = *vel;
    return advance(self, is(self, "ignores_the_path") ? 0.01 * self->step : *pos, out_obs, out);
}

static tce_status step_action(void *instance, const double *action, double *out_obs,
                              tce_env_result *out)
{
    point *self = instance;

    return advance(self, self->pos + 0.01 * *action, out_obs, out);
}

static tce_status metrics(void *instance, double *out)
{
    const point *self = instance;

    out[0] = is(self, "half_a_success") ? 0.5 : fabs(self->pos - self->goal) < 0.1;
    out[1] = is(self, "metric_is_nan") && self->step == T ? NAN : self->far;
    return TCE_OK;
}

/* ---- states ---------------------------------------------------------------------------------- */

static size_t n_state(void *instance)
{
    (void)instance;
    return S;
}

static tce_status get_state(void *instance, double *out)
{
    const point *self = instance;

    out[0] = self->pos;
    out[1] = self->goal;
    out[2] = self->step;
    out[3] = is(self, "state_lacks_something") ? 0.0 : self->far;
    out[4] = self->n_episodes;
    out[5] = self->vel;
    return TCE_OK;
}

static tce_status set_state(void *instance, const double *state, double *out_obs)
{
    point *self = instance;

    self->pos = shared_pos = state[0];
    self->goal = is(self, "goal_is_not_set") ? self->goal : state[1];
    self->step = (int)state[2];
    self->far = state[3];
    self->n_episodes = (int)state[4];
    self->vel = state[5];
    observe(self, out_obs);
    return TCE_OK;
}

#define TASK(symbol)                                                                      \
    static tce_status create_##symbol(void *user, const char *settings, void **out)       \
    {                                                                                     \
        (void)user;                                                                       \
        (void)settings;                                                                   \
        return create_as(#symbol, out);                                                   \
    }                                                                                     \
    static const tce_env_vtable TABLE_##symbol = { .struct_size = sizeof(tce_env_vtable), \
                                                   .abi = TCE_ENV_ABI,                    \
                                                   .name = #symbol,                       \
                                                   .description = "a point on a line",    \
                                                   .create = create_##symbol,             \
                                                   .destroy = free,                       \
                                                   .spec = spec,                          \
                                                   .reset = reset,                        \
                                                   .step = step,                          \
                                                   .step_action = step_action,            \
                                                   .metrics = metrics,                    \
                                                   .n_state = n_state,                    \
                                                   .get_state = get_state,                \
                                                   .set_state = set_state };

#define TASKS(row)                                                                                \
    row(sound) row(one_start) row(constant_context) row(tracks_no_path) row(ignores_the_path)     \
        row(no_steps) row(same_names) row(comma_in_a_name) row(writes_beyond) row(does_not_write) \
            row(draws_elsewhere) row(leaves_something) row(shares_memory) row(draws_in_a_step)    \
                row(fails_midway) row(infinite_reward) row(odd_flags) row(forgets_its_event)      \
                    row(steps_after_the_end) row(steps_before_a_reset) row(starts_elsewhere)      \
                        row(half_a_success) row(metric_is_nan) row(state_lacks_something)         \
                            row(goal_is_not_set) row(reserved_name) row(eval_name)                \
                                row(latin_1_name) row(writes_before) row(keeps_its_observation)   \
                                    row(keeps_its_position) row(keeps_the_last_step)              \
                                        row(changes_its_spec) row(dt_is_nan) row(no_action_low)   \
                                            row(starts_faster) row(shows_another_velocity)        \
                                                row(carries_state)

#define ADDRESS(symbol) &TABLE_##symbol,

TASKS(TASK)

TCE_API const tce_env_vtable *const *tce_tasks(int32_t *abi, size_t *n);

TCE_API const tce_env_vtable *const *tce_tasks(int32_t *abi, size_t *n)
{
    static const tce_env_vtable *const TABLES[] = { TASKS(ADDRESS) };

    *abi = TCE_ENV_ABI;
    *n = sizeof TABLES / sizeof TABLES[0];
    return TABLES;
}
