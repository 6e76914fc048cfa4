/*
 * Whether a task keeps its contract, found out by episodes through its table alone:
 *
 *   a     new        stream 0, recorded: starts, observations, rewards, flags, metrics, and the state in mid-episode
 *   b     new        stream 0 again: the same as recorded, or something else than the stream decides
 *   a     used       a part of stream 1, then stream 0 again: the same as recorded, or a reset leaves something behind
 *   b, a  in turns   stream 0 and 1: b the same as recorded, or instances share what they write
 *   c     new        no step before a reset; then the recorded state: the same from there on
 *   a     streams 1, 2, 3: different starts; stream 0 at rest: no jump from where reset says
 *   b     raw actions, stream 0: outputs and ends as along paths
 *
 * Where a task carries state over episodes, that of a new environment is put back before each reset. Outputs are filled with NaN before
 * a call, so that what is not written is found, and end in a guard, so that what is written beyond them is found.
 */
#include "env/internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Numbers behind each output, and their value. */
#define N_GUARD 16
#define GUARD 8.7654321e-123

/* How far the desired path has moved away from the start after the whole episode, in units of the task. */
#define SWAY 0.1

/* Steps that are enough to see that instances disturb each other, or that a path is ignored. */
#define N_FEW 25

/* Streams whose starts are compared. */
#define N_STREAMS 4

/* A jump has to be larger than this part of the observation, and what follows smaller than this part of the jump. */
#define JUMP 1e-6
#define AT_REST 1e-9

/* Room for one sentence. */
#define MAX_MESSAGE 900

/* Kinds of findings; each is reported once. */
enum {
    KIND_MAKE,
    KIND_NAMES,
    KIND_SPEC,
    KIND_RESET,
    KIND_STEP,
    KIND_OVERRUN,
    KIND_FINITE,
    KIND_METRICS,
    KIND_SUCCESS,
    KIND_FLAGS,
    KIND_EVENT,
    KIND_DRAWS,
    KIND_REPEATS,
    KIND_LEFTOVER,
    KIND_SHARED,
    KIND_BEFORE_RESET,
    KIND_AFTER_END,
    KIND_STATE,
    KIND_CONTINUED,
    KIND_STARTS,
    KIND_CONTEXT,
    KIND_JUMP,
    KIND_IGNORED,
    KIND_NO_PATHS
};

/* How an episode is driven: away from its start slowly, along the velocity of its start, or by raw actions. */
enum { DRIVE_SWAY, DRIVE_HOLD, DRIVE_ACTIONS };

/* One environment and where it is in its episode. */
typedef struct actor {
    void *instance;
    tce_random random; /* given to reset, kept where it was to see whether steps draw from it */
    tce_random after;  /* as reset left it */
    double *start_pos; /* [D] */
    double *start_vel; /* [D] */
    int32_t event;
    int32_t t;         /* steps taken */
    int over;
} actor;

/* What one step of the recorded episode brought. */
typedef struct flags {
    double reward;
    int32_t over;
    int32_t event;
} flags;

typedef struct inspection {
    tce_env_inspect_options options;
    tce_env_vtable table;
    tce_env_spec spec;
    tce_hooks hooks;
    size_t O, D, A, M, S, T;
    uint64_t reported; /* kinds, as bits */
    int32_t n_faults;
    int drive;         /* DRIVE_SWAY, or DRIVE_ACTIONS where the task tracks no paths */
    actor actors[3];

    /* outputs of the last call, N_GUARD numbers longer */
    double *obs;     /* [O] */
    double *pos;     /* [D] */
    double *vel;     /* [D] */
    double *metrics; /* [M] */
    double *state;   /* [S] */

    /* the recorded episode */
    double *all_obs;     /* [T+1, O] */
    flags *steps;        /* [T] */
    double *end_metrics; /* [M] */
    double *first_pos;   /* [D] */
    double *first_vel;   /* [D] */
    int32_t length;      /* 0: there is none */

    double *first_state; /* [S] of a new environment, for tasks that carry state */
    double *mid_state;   /* [S] after mid_t steps of the recorded episode */
    int32_t mid_t;       /* -1: there is none */
    double *want_pos;    /* [D] */
    double *want_vel;    /* [D] */
    double *action;      /* [A] */
} inspection;

void tce_env_inspect_options_init(tce_env_inspect_options *options, size_t struct_size)
{
    const tce_env_inspect_options defaults = { .seed = 1 };

    tce__struct_init(options, struct_size, &defaults, sizeof defaults);
}

/* ---- findings ------------------------------------------------------------------------------------- */

/* Reports a finding unless one of its kind was; returns 0. */
static int say(inspection *in, int kind, int32_t severity, const char *format, ...)
{
    char message[MAX_MESSAGE];
    va_list arguments;

    if (in->reported >> kind & 1)
        return 0;
    in->reported |= (uint64_t)1 << kind;
    in->n_faults += severity == TCE_ENV_FAULT;
    va_start(arguments, format);
    (void)vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    if (in->options.report)
        in->options.report(in->options.context, severity, message);
    return 0;
}

/* An output [n] before a call. */
static void clear(double *x, size_t n)
{
    for (size_t k = 0; k < n; k++)
        x[k] = NAN;
    for (size_t k = n; k < n + N_GUARD; k++)
        x[k] = GUARD;
}

/* 1 when the guard behind an output [n] is whole. */
static int check_guard(inspection *in, const char *call, const char *name, const char *size, size_t n, const double *x)
{
    for (size_t k = n; k < n + N_GUARD; k++)
        if (memcmp(&x[k], &(double){ GUARD }, sizeof *x) != 0)
            return say(in, KIND_OVERRUN, TCE_ENV_FAULT,
                       "%s writes beyond its %s: room is for %s = %zu numbers; give the right %s in spec, or write fewer",
                       call, name, size, n, size);
    return 1;
}

/* 1 when an output [n] was written, with finite numbers. */
static int check_output(inspection *in, const char *call, const char *name, const char *size, size_t n, const double *x)
{
    const size_t k = tce__first_not_finite(n, x);

    if (!check_guard(in, call, name, size, n, x))
        return 0;
    if (k < n)
        return say(in, KIND_FINITE, TCE_ENV_FAULT,
                   "%s[%zu] = %g after %s: it is not finite or was not written; write all %s = %zu numbers in every call",
                   name, k, x[k], call, size, n);
    return 1;
}

/* 1 when x [n] has the same bytes as `before`; else `text` says where not. */
static int same(size_t n, const double *x, const double *before, const char *name, int32_t t, char *text, size_t size)
{
    for (size_t k = 0; k < n; k++)
        if (memcmp(&x[k], &before[k], sizeof *x) != 0) {
            char when[32];
            (void)snprintf(when, sizeof when, t > 0 ? "after step %d" : "at the start", (int)t);
            (void)snprintf(text, size, "%s[%zu] %s is %.9g and was %.9g", name, k, when, x[k], before[k]);
            return 0;
        }
    return 1;
}

/* ---- calls ---------------------------------------------------------------------------------------- */

static int put_state(inspection *in, actor *a, const double *state)
{
    clear(in->obs, in->O);
    if (tce__judge("set_state", in->table.set_state(a->instance, state, in->obs)))
        return say(in, KIND_STATE, TCE_ENV_FAULT, "set_state refuses what get_state gave: %s", tce_error_message());
    return check_output(in, "set_state", "observation", "n_obs", in->O, in->obs);
}

static int take_state(inspection *in, actor *a)
{
    if (in->table.n_state(a->instance) != in->S)
        return say(in, KIND_STATE, TCE_ENV_FAULT,
                   "n_state returns %zu, and returned %zu before: a state has the same number of numbers in every "
                   "instance, all the time", in->table.n_state(a->instance), in->S);
    clear(in->state, in->S);
    if (tce__judge("get_state", in->table.get_state(a->instance, in->state)))
        return say(in, KIND_STATE, TCE_ENV_FAULT, "get_state fails: %s; it has to give the state at any time",
                   tce_error_message());
    return check_guard(in, "get_state", "state", "n_state", in->S, in->state);
}

/* Starts the episode of a stream; its start is in in->obs and in the actor. */
static int begin(inspection *in, actor *a, uint64_t stream)
{
    if (in->spec.carries_state && !put_state(in, a, in->first_state))
        return 0;
    clear(in->obs, in->O);
    clear(in->pos, in->D);
    clear(in->vel, in->D);
    tce_random_start(&a->random, in->options.seed, 0, 0, stream);
    if (tce__judge("reset", in->table.reset(a->instance, &a->random, in->obs, in->pos, in->vel)))
        return say(in, KIND_RESET, TCE_ENV_FAULT, "reset fails: %s; it has to start an episode from any stream, whatever "
                   "the environment did before", tce_error_message());
    if (!check_output(in, "reset", "observation", "n_obs", in->O, in->obs) ||
        !check_output(in, "reset", "position", "n_dof", in->D, in->pos) ||
        !check_output(in, "reset", "velocity", "n_dof", in->D, in->vel))
        return 0;
    memcpy(a->start_pos, in->pos, in->D * sizeof *in->pos);
    memcpy(a->start_vel, in->vel, in->D * sizeof *in->vel);
    a->after = a->random;
    a->event = 0;
    a->t = 0;
    a->over = 0;
    return 1;
}

/* The desired position and velocity of the next step, or its action. */
static void choose(inspection *in, const actor *a, int drive)
{
    const double duration = in->spec.dt * (double)in->T;
    const double time = in->spec.dt * (a->t + 1);
    tce_random random;

    for (size_t d = 0; d < in->D; d++) {
        const double speed = drive == DRIVE_SWAY ? (d % 2 ? -SWAY : SWAY) / duration : a->start_vel[d];
        in->want_vel[d] = speed;
        in->want_pos[d] = a->start_pos[d] + speed * time;
    }
    tce_random_start(&random, in->options.seed, 1, 0, (uint64_t)a->t);
    for (size_t k = 0; k < in->A; k++) {
        const double low = fmax(in->spec.action_low[k], -1.0 + fmin(in->spec.action_high[k], 0.0));
        const double high = fmin(in->spec.action_high[k], 1.0 + fmax(in->spec.action_low[k], 0.0));
        in->action[k] = low + (high - low) * tce_random_uniform(&random);
    }
}

/* Calls step or step_action; the status is judged. */
static tce_status call_step(inspection *in, actor *a, int drive, tce_env_result *result)
{
    const tce_env_result nothing = { .event = drive == DRIVE_ACTIONS ? 0 : a->event };

    *result = nothing;
    choose(in, a, drive);
    clear(in->obs, in->O);
    if (drive == DRIVE_ACTIONS)
        return tce__judge("step_action", in->table.step_action(a->instance, in->action, in->obs, result));
    return tce__judge("step", in->table.step(a->instance, in->want_pos, in->want_vel, in->obs, result));
}

static int is_flag(int32_t value)
{
    return value == 0 || value == 1;
}

/* One step, and what must hold of it alone. */
static int advance(inspection *in, actor *a, int drive, tce_env_result *result)
{
    const char *call = drive == DRIVE_ACTIONS ? "step_action" : "step";
    const tce_status status = call_step(in, a, drive, result);

    /* a task for raw actions alone says so at the first step of all */
    if (status == TCE_E_UNSUPPORTED && drive == DRIVE_SWAY && a->t == 0 && in->length == 0 && in->A > 0) {
        (void)say(in, KIND_NO_PATHS, TCE_ENV_REMARK, "step is not supported: %s; the task can be stepped by raw actions only, "
                  "not trained on by episodic methods", tce_error_message());
        in->drive = DRIVE_ACTIONS;
        return advance(in, a, DRIVE_ACTIONS, result);
    }
    if (status)
        return say(in, KIND_STEP, TCE_ENV_FAULT, "%s fails at step %d of an episode: %s; it has to work until the episode's end",
                   call, (int)a->t + 1, tce_error_message());
    if (memcmp(&a->random, &a->after, sizeof a->after) != 0)
        return say(in, KIND_DRAWS, TCE_ENV_FAULT, "%s draws from the stream of reset, which is gone by then: draw all that the "
                   "episode needs in reset, or keep a copy of the tce_random there", call);
    if (!check_output(in, call, "observation", "n_obs", in->O, in->obs))
        return 0;
    if (!isfinite(result->reward))
        return say(in, KIND_FINITE, TCE_ENV_FAULT, "the reward of step %d is %g: it has to be finite", (int)a->t + 1,
                   result->reward);
    if (!is_flag(result->terminated) || !is_flag(result->truncated) || !is_flag(result->event))
        return say(in, KIND_FLAGS, TCE_ENV_FAULT, "step %d has terminated = %d, truncated = %d, event = %d: each is 0 or 1",
                   (int)a->t + 1, (int)result->terminated, (int)result->truncated, (int)result->event);
    if (a->event && !result->event)
        return say(in, KIND_EVENT, TCE_ENV_FAULT, "event is set before step %d and not after it: once set it stays set until the "
                   "next reset", (int)a->t + 1);
    a->event = result->event;
    a->t++;
    a->over = result->terminated || result->truncated || (size_t)a->t >= in->T;
    return 1;
}

/* Metrics of an environment, at its end finite too. */
static int measure(inspection *in, actor *a)
{
    if (in->M == 0)
        return 1;
    clear(in->metrics, in->M);
    if (tce__judge("metrics", in->table.metrics(a->instance, in->metrics)))
        return say(in, KIND_METRICS, TCE_ENV_FAULT, "metrics fails %s: %s; it has to work at any time after a reset",
                   a->over ? "at the end of an episode" : "after a reset", tce_error_message());
    if (!check_guard(in, "metrics", "metrics", "n_metrics", in->M, in->metrics))
        return 0;
    for (size_t k = 0; a->over && k < in->M; k++) {
        const char *name = in->spec.metric_names[k];
        const double value = in->metrics[k];
        if (!isfinite(value))
            return say(in, KIND_METRICS, TCE_ENV_FAULT, "metric \"%s\" is %g at the end of an episode: it is not finite or was not "
                       "written; give a number for every episode", name, value);
        if (strcmp(name, "success") == 0 && value != 0.0 && value != 1.0)
            return say(in, KIND_SUCCESS, TCE_ENV_FAULT, "metric \"success\" is %g: it is 0 or 1; give another name to a degree of "
                       "success", value);
    }
    return 1;
}

/* A step that must be refused. */
static int check_refused(inspection *in, actor *a, int drive, int kind)
{
    tce_env_result result;

    if (call_step(in, a, drive, &result))
        return 1;
    return say(in, kind, TCE_ENV_FAULT, "%s accepts a step %s: return tce_fail(TCE_E_STATE, ...) there, until the next reset",
               drive == DRIVE_ACTIONS ? "step_action" : "step",
               kind == KIND_AFTER_END ? "after the end of the episode" : "before the first reset");
}

/* ---- the recorded episode ------------------------------------------------------------------------- */

/* Keeps the state right after a reset, after a step and in the middle: the last of these that the episode reaches counts. */
static int keep_state(inspection *in, actor *a)
{
    const int32_t middle = in->spec.n_steps / 2;

    if (in->S == 0 || a->over || (a->t > 1 && a->t != middle))
        return 1;
    if (!take_state(in, a))
        return 0;
    memcpy(in->mid_state, in->state, in->S * sizeof *in->state);
    in->mid_t = a->t;
    return 1;
}

static void record_start(inspection *in, const actor *a)
{
    memcpy(in->all_obs, in->obs, in->O * sizeof *in->obs);
    memcpy(in->first_pos, a->start_pos, in->D * sizeof *in->pos);
    memcpy(in->first_vel, a->start_vel, in->D * sizeof *in->vel);
}

/* 0: there is no whole episode, and nothing to compare others with. */
static int record(inspection *in, actor *a)
{
    tce_env_result result;

    if (!begin(in, a, 0) || !measure(in, a))
        return 0;
    record_start(in, a);
    if (!keep_state(in, a))
        return 0;
    while (!a->over) {
        if (!advance(in, a, in->drive, &result) || !keep_state(in, a))
            return 0;
        memcpy(in->all_obs + (size_t)a->t * in->O, in->obs, in->O * sizeof *in->obs);
        in->steps[a->t - 1] = (flags){ result.reward, a->over, result.event };
    }
    if (!measure(in, a))
        return 0;
    if (in->M > 0)
        memcpy(in->end_metrics, in->metrics, in->M * sizeof *in->metrics);
    in->length = a->t;
    return check_refused(in, a, in->drive, KIND_AFTER_END) || 1;
}

/* Whether the present step is the recorded one; `text` says where not. */
static int same_step(const inspection *in, const actor *a, const tce_env_result *result, char *text, size_t size)
{
    const flags *then = &in->steps[a->t - 1];

    if (!same(in->O, in->obs, in->all_obs + (size_t)a->t * in->O, "observation", a->t, text, size))
        return 0;
    if (memcmp(&result->reward, &then->reward, sizeof then->reward) != 0) {
        (void)snprintf(text, size, "the reward of step %d is %.9g and was %.9g", (int)a->t, result->reward, then->reward);
        return 0;
    }
    if (a->over != then->over || result->event != then->event) {
        (void)snprintf(text, size, "step %d has end %d and event %d, and had %d and %d", (int)a->t, a->over,
                       (int)result->event, (int)then->over, (int)then->event);
        return 0;
    }
    return 1;
}

static int same_start(const inspection *in, const actor *a, char *text, size_t size)
{
    return same(in->O, in->obs, in->all_obs, "observation", 0, text, size) &&
           same(in->D, a->start_pos, in->first_pos, "position", 0, text, size) &&
           same(in->D, a->start_vel, in->first_vel, "velocity", 0, text, size);
}

/* What is said when an episode differs from the recorded one. */
static int say_differs(inspection *in, int kind, const char *text)
{
    switch (kind) {
    case KIND_REPEATS:
        return say(in, kind, TCE_ENV_FAULT, "a second environment gives another episode for the same stream: %s; draw random numbers "
                   "from the tce_random of reset alone, in reset: no rand(), no clock, no static variable that is written", text);
    case KIND_LEFTOVER:
        return say(in, kind, TCE_ENV_FAULT, "a used environment gives another episode for the same stream than a new one: %s; have "
                   "reset set all that an episode changes, or, where that is meant, set carries_state and put it into the state",
                   text);
    case KIND_SHARED:
        return say(in, kind, TCE_ENV_FAULT, "two environments stepped in turns disturb each other: %s; keep all that is written in "
                   "the instance, not in static variables", text);
    default:
        return say(in, kind, TCE_ENV_FAULT, "an episode that get_state and set_state continue in another environment differs: %s; put "
                   "all that a step and metrics read into the state", text);
    }
}

/* Steps to the end, each as recorded. */
static int follow(inspection *in, actor *a, int kind)
{
    char text[MAX_MESSAGE / 2];
    tce_env_result result;

    while (!a->over) {
        if (!advance(in, a, in->drive, &result))
            return 0;
        if (!same_step(in, a, &result, text, sizeof text))
            return say_differs(in, kind, text);
    }
    if (!measure(in, a))
        return 0;
    if (in->M > 0 && !same(in->M, in->metrics, in->end_metrics, "metric", a->t, text, sizeof text))
        return say_differs(in, kind, text);
    return 1;
}

/* A part of another episode, broken off. */
static int use(inspection *in, actor *a)
{
    tce_env_result result;

    if (!begin(in, a, 1))
        return 0;
    while (!a->over && a->t < N_FEW)
        if (!advance(in, a, in->drive, &result))
            return 0;
    return 1;
}

/* The episode of stream 0 once more. */
static int repeat(inspection *in, actor *a, int kind)
{
    char text[MAX_MESSAGE / 2];

    if (!begin(in, a, 0))
        return 0;
    if (!same_start(in, a, text, sizeof text))
        return say_differs(in, kind, text);
    return follow(in, a, kind);
}

/* ---- what is looked at ----------------------------------------------------------------------------- */

static int check_names(inspection *in)
{
    const tce_env_spec *spec = &in->spec;

    for (int32_t i = 0; i < spec->n_metrics; i++) {
        if (strpbrk(spec->metric_names[i], ",\"\r\n"))
            return say(in, KIND_NAMES, TCE_ENV_FAULT, "metric_names[%d] = \"%.60s\" has a comma, a quote or a line break, which a column "
                       "of a table cannot have: choose another name", (int)i, spec->metric_names[i]);
        for (int32_t k = 0; k < i; k++)
            if (strcmp(spec->metric_names[i], spec->metric_names[k]) == 0)
                return say(in, KIND_NAMES, TCE_ENV_FAULT, "metric_names[%d] and [%d] are both \"%.60s\": give each metric a name of "
                           "its own", (int)k, (int)i, spec->metric_names[i]);
    }
    return 1;
}

/* A further instance, which has to be like the first. */
static int make_another(inspection *in, actor *a)
{
    tce_env_spec spec;

    if (tce__env_create(&in->table, in->options.user, in->options.settings, &a->instance, &spec))
        return say(in, KIND_MAKE, TCE_ENV_FAULT, "a second environment cannot be made beside the first: %s", tce_error_message());
    if (spec.n_obs != in->spec.n_obs || spec.n_dof != in->spec.n_dof || spec.n_action != in->spec.n_action ||
        spec.n_steps != in->spec.n_steps || spec.n_metrics != in->spec.n_metrics || spec.dt != in->spec.dt)
        return say(in, KIND_SPEC, TCE_ENV_FAULT, "two environments have different specs: sizes, n_steps and dt depend on the settings "
                   "alone");
    return 1;
}

/* b follows the recorded episode while a is stepped in between. */
static void check_shared(inspection *in, actor *a, actor *b)
{
    char text[MAX_MESSAGE / 2];
    tce_env_result result;

    if (!begin(in, b, 0) || !begin(in, a, 1))
        return;
    while (!b->over && b->t < N_FEW) {
        if (!a->over && !advance(in, a, in->drive, &result))
            return;
        if (!advance(in, b, in->drive, &result))
            return;
        if (!same_step(in, b, &result, text, sizeof text)) {
            (void)say_differs(in, KIND_SHARED, text);
            return;
        }
    }
}

/* The recorded state in an environment that was never reset, and the rest of the episode from there. */
static void check_state(inspection *in, actor *c)
{
    char text[MAX_MESSAGE / 2];

    if (in->S == 0 || in->mid_t < 0 || in->length <= in->mid_t || !put_state(in, c, in->mid_state))
        return;
    if (!same(in->O, in->obs, in->all_obs + (size_t)in->mid_t * in->O, "observation", in->mid_t, text, sizeof text)) {
        (void)say(in, KIND_STATE, TCE_ENV_FAULT, "set_state gives another observation than there was when get_state was called: %s",
                  text);
        return;
    }
    if (!take_state(in, c))
        return;
    if (!same(in->S, in->state, in->mid_state, "state", in->mid_t, text, sizeof text)) {
        (void)say(in, KIND_STATE, TCE_ENV_FAULT, "get_state after set_state does not give the same numbers: %s; both have to cover the "
                  "same numbers in the same order", text);
        return;
    }
    memcpy(c->start_pos, in->first_pos, in->D * sizeof *in->pos);
    memcpy(c->start_vel, in->first_vel, in->D * sizeof *in->vel);
    c->random = c->after;
    c->t = in->mid_t;
    c->event = in->mid_t > 0 ? in->steps[in->mid_t - 1].event : 0;
    c->over = 0;
    (void)follow(in, c, KIND_CONTINUED);
}

/* Whether the entries that episodic methods see are those of the recorded start. */
static int same_context(const inspection *in)
{
    for (int32_t k = 0; k < in->spec.n_context; k++)
        if (in->obs[in->spec.context[k]] != in->all_obs[in->spec.context[k]])
            return 0;
    return 1;
}

static void check_starts(inspection *in, actor *a)
{
    char text[MAX_MESSAGE / 2];
    int all_same = 1, context_same = in->spec.n_context > 0;

    for (uint64_t stream = 1; stream < N_STREAMS; stream++) {
        if (!begin(in, a, stream))
            return;
        all_same &= same_start(in, a, text, sizeof text);
        context_same &= same_context(in);
    }
    if (all_same)
        (void)say(in, KIND_STARTS, TCE_ENV_REMARK, "all episodes start alike: where that is not meant, draw what differs from the "
                  "tce_random of reset");
    else if (context_same)
        (void)say(in, KIND_CONTEXT, TCE_ENV_REMARK, "the observation differs from start to start, but its context entries do not: "
                  "episodic methods that see the context alone cannot tell the episodes apart; list what differs in context");
}

static double largest_change(size_t n, const double *x, const double *y, size_t *where)
{
    double largest = 0.0;

    for (size_t k = 0; k < n; k++)
        if (fabs(x[k] - y[k]) > largest) {
            largest = fabs(x[k] - y[k]);
            *where = k;
        }
    return largest;
}

/*
 * A path that stays where reset says. A task that follows paths exactly and starts elsewhere jumps at the first step and rests from then
 * on. Also: a path that differs from the recorded one has to make a difference.
 */
static void check_hold(inspection *in, actor *a)
{
    double *before = in->state; /* room for [O], and of no other use here */
    char text[MAX_MESSAGE / 2];
    tce_env_result result;
    size_t where = 0;
    double scale = 1.0, jump = 0.0, rest = 0.0;
    int ignored = 1;

    if (in->drive == DRIVE_ACTIONS || !begin(in, a, 0))
        return;
    memcpy(before, in->obs, in->O * sizeof *before);
    for (size_t k = 0; k < in->O; k++)
        scale = fmax(scale, fabs(before[k]));
    while (!a->over && a->t < N_FEW) {
        if (!advance(in, a, DRIVE_HOLD, &result))
            return;
        if (a->t == 1)
            jump = largest_change(in->O, in->obs, before, &where);
        else
            rest = fmax(rest, largest_change(in->O, in->obs, before, &(size_t){ 0 }));
        if (a->t == 1 && jump > JUMP * scale)
            (void)snprintf(text, sizeof text / 2, "observation[%zu] from %.9g to %.9g", where, before[where], in->obs[where]);
        memcpy(before, in->obs, in->O * sizeof *before);
        ignored &= a->t <= in->length && same_step(in, a, &result, text + sizeof text / 2, sizeof text / 2);
    }
    if (a->t > 2 && jump > JUMP * scale && rest <= AT_REST * jump)
        (void)say(in, KIND_JUMP, TCE_ENV_FAULT, "along a path that stays where reset says, the first step moves %s, and nothing moves "
                  "after it: have reset give the position and velocity that the environment is in, in out_pos and out_vel", text);
    if (ignored)
        (void)say(in, KIND_IGNORED, TCE_ENV_REMARK, "the first %d steps along two different paths are the same: step does not depend on "
                  "the desired position and velocity that it is given", (int)a->t);
}

static void check_actions(inspection *in, actor *b)
{
    tce_env_result result;

    if (in->A == 0 || in->drive == DRIVE_ACTIONS || !begin(in, b, 0))
        return;
    while (!b->over)
        if (!advance(in, b, DRIVE_ACTIONS, &result))
            return;
    if (measure(in, b))
        (void)check_refused(in, b, DRIVE_ACTIONS, KIND_AFTER_END);
}

/* Everything; stops where a fault makes the rest meaningless. */
static void inspect(inspection *in)
{
    actor *a = &in->actors[0], *b = &in->actors[1], *c = &in->actors[2];

    (void)check_names(in);
    if (in->spec.carries_state) {
        if (!take_state(in, a))
            return;
        memcpy(in->first_state, in->state, in->S * sizeof *in->state);
    }
    if (!record(in, a) || !make_another(in, b) || !repeat(in, b, KIND_REPEATS) || !use(in, a) ||
        !repeat(in, a, KIND_LEFTOVER))
        return;
    check_shared(in, a, b);
    check_starts(in, a);
    check_hold(in, a);
    check_actions(in, b);

    /* last: a task that is not made for it may do anything here */
    if (!make_another(in, c))
        return;
    (void)check_refused(in, c, in->drive, KIND_BEFORE_RESET);
    check_state(in, c);
}

/* ---- life ------------------------------------------------------------------------------------------ */

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

static inspection *layout(inspection *in, tce__arena *arena)
{
    inspection *handle = tce__arena_take(arena, 1, sizeof *handle);

    in->obs = tce__arena_doubles(arena, in->O + N_GUARD);
    in->pos = tce__arena_doubles(arena, in->D + N_GUARD);
    in->vel = tce__arena_doubles(arena, in->D + N_GUARD);
    in->metrics = tce__arena_doubles(arena, in->M + N_GUARD);
    in->state = tce__arena_doubles(arena, larger(in->S, in->O) + N_GUARD);
    in->all_obs = tce__arena_doubles(arena, (in->T + 1) * in->O);
    in->steps = tce__arena_take(arena, in->T, sizeof *in->steps);
    in->end_metrics = tce__arena_doubles(arena, in->M);
    in->first_pos = tce__arena_doubles(arena, in->D);
    in->first_vel = tce__arena_doubles(arena, in->D);
    in->first_state = tce__arena_doubles(arena, in->S);
    in->mid_state = tce__arena_doubles(arena, in->S);
    in->want_pos = tce__arena_doubles(arena, in->D);
    in->want_vel = tce__arena_doubles(arena, in->D);
    in->action = tce__arena_doubles(arena, in->A);
    for (size_t k = 0; k < sizeof in->actors / sizeof in->actors[0]; k++) {
        in->actors[k].start_pos = tce__arena_doubles(arena, in->D);
        in->actors[k].start_vel = tce__arena_doubles(arena, in->D);
    }
    return handle;
}

/* Sizes from the first environment, one block, all checks. */
static tce_status inspect_instance(inspection *in, const tce_hooks *hooks)
{
    tce__arena arena = { NULL, 0 };
    tce_status status;

    in->O = (size_t)in->spec.n_obs;
    in->D = (size_t)in->spec.n_dof;
    in->A = (size_t)in->spec.n_action;
    in->M = (size_t)in->spec.n_metrics;
    in->T = (size_t)in->spec.n_steps;
    in->S = in->table.n_state ? in->table.n_state(in->actors[0].instance) : 0;
    if (in->T > SIZE_MAX / sizeof(double) / 2 / in->O || in->S > SIZE_MAX / sizeof(double) / 8)
        return tce_fail(TCE_E_NOMEM, "no memory for an episode of %zu steps with %zu numbers each, and states of %zu", in->T,
                        in->O, in->S);
    (void)layout(in, &arena);
    if ((status = tce__block_create(hooks, "tce_env_inspect", &arena, &in->hooks)))
        return status;
    inspection *handle = layout(in, &arena);
    *handle = *in;
    inspect(handle);
    *in = *handle;
    tce__block_free(&in->hooks, handle);
    return TCE_OK;
}

tce_status tce_env_inspect(const tce_env_inspect_options *options, const tce_hooks *hooks, int32_t *out_n_faults)
{
    inspection in = { .mid_t = -1, .drive = DRIVE_SWAY };
    tce__aside aside;
    tce_status status;

    tce_env_inspect_options_init(&in.options, sizeof in.options);
    if ((status = tce__struct_read(options, "tce_env_inspect_options", sizeof in.options, &in.options)) ||
        (status = tce__check_pointer("options.vtable", in.options.vtable)))
        return status;

    /* what the task says is a finding, not the caller's failure */
    tce__aside_put(&aside);
    if (tce_env_check(in.options.vtable)) {
        (void)say(&in, KIND_MAKE, TCE_ENV_FAULT, "the table cannot be used: %s", tce_error_message());
    } else {
        in.table = tce__env_table(in.options.vtable);
        if (tce__env_create(&in.table, in.options.user, in.options.settings, &in.actors[0].instance, &in.spec))
            (void)say(&in, KIND_MAKE, TCE_ENV_FAULT, "an environment cannot be made: %s", tce_error_message());
        else
            status = inspect_instance(&in, hooks);
        for (size_t k = 0; k < sizeof in.actors / sizeof in.actors[0]; k++)
            if (in.actors[k].instance)
                in.table.destroy(in.actors[k].instance);
    }
    if (status)
        return status;
    tce__aside_return(&aside);
    if (out_n_faults)
        *out_n_faults = in.n_faults;
    return TCE_OK;
}
