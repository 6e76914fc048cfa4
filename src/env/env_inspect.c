/*
 * Whether a task keeps its contract, found out by episodes through its table alone:
 *
 *   a     new        stream 0, recorded: starts, observations, rewards, flags, metrics, and a state
 *   b     new        stream 0 again: the same, or something else than the stream decides
 *   a     used       a part of stream 1, stream 0 again: the same, or a reset leaves something over
 *   b, a  in turns   streams 0 and 1: b the same, or instances share what they write
 *   c     new        no step before a reset; then the recorded state: the same from there on
 *   a     used       streams 1, 2, 3: different starts; stream 0 along its velocity: no jump
 *   b     used       raw actions, stream 0: outputs and ends as along paths
 *
 * Where a task carries state over episodes, that of a new environment is put back before each
 * reset.
 */
#include "env/inspect.h"

#include <stdio.h>
#include <string.h>

/* Steps that are enough to see that instances disturb each other, or that a path is ignored. */
#define N_FEW 25

/* Streams whose starts are compared. */
#define N_STREAMS 4

/*
 * A jump has to be larger than this part of the observation, and what follows smaller than this
 * part of the jump.
 */
#define JUMP 1e-6
#define AT_REST 1e-9

void tce_env_inspect_options_init(tce_env_inspect_options *options, size_t struct_size)
{
    const tce_env_inspect_options defaults = { .seed = 1 };

    tce__struct_init(options, struct_size, &defaults, sizeof defaults);
}

/* ---- the recorded episode -------------------------------------------------------------------- */

/*
 * Keeps the state right after a reset, after a step and in the middle: the last of these that the
 * episode reaches counts.
 */
static int keep_state(tce__inspection *in, tce__actor *a)
{
    const int32_t middle = in->spec.n_steps / 2;

    if (in->S == 0 || a->over || (a->t > 1 && a->t != middle))
        return 1;
    if (!tce__inspect_take_state(in, a))
        return 0;
    memcpy(in->mid_state, in->state, in->S * sizeof *in->state);
    in->mid_t = a->t;
    return 1;
}

static void record_start(tce__inspection *in, const tce__actor *a)
{
    memcpy(in->all_obs, in->obs, in->O * sizeof *in->obs);
    memcpy(in->first_pos, a->start_pos, in->D * sizeof *in->pos);
    memcpy(in->first_vel, a->start_vel, in->D * sizeof *in->vel);
}

/* 0: there is no whole episode, and nothing to compare others with. */
static int record(tce__inspection *in, tce__actor *a)
{
    tce_env_result result;

    if (!tce__inspect_begin(in, a, 0) || !tce__inspect_measure(in, a))
        return 0;
    record_start(in, a);
    if (!keep_state(in, a))
        return 0;
    while (!a->over) {
        if (!tce__inspect_advance(in, a, in->drive, &result) || !keep_state(in, a))
            return 0;
        memcpy(in->all_obs + (size_t)a->t * in->O, in->obs, in->O * sizeof *in->obs);
        in->steps[a->t - 1] = (tce__inspect_step){ result.reward, a->over, result.event };
    }
    if (!tce__inspect_measure(in, a))
        return 0;
    if (in->M > 0)
        memcpy(in->end_metrics, in->metrics, in->M * sizeof *in->metrics);
    in->length = a->t;
    (void)tce__inspect_refused(in, a, in->drive, TCE__INSPECT_AFTER_END);
    return 1;
}

/* Whether the present step is the recorded one; `text` says where not. */
static int same_step(const tce__inspection *in, const tce__actor *a, const tce_env_result *result,
                     char *text, size_t size)
{
    const tce__inspect_step *then = &in->steps[a->t - 1];

    if (!tce__inspect_same(in->O, in->obs, in->all_obs + (size_t)a->t * in->O, "observation", a->t,
                           text, size))
        return 0;
    if (memcmp(&result->reward, &then->reward, sizeof then->reward) != 0) {
        (void)snprintf(text, size, "the reward of step %d is %.9g and was %.9g", (int)a->t,
                       result->reward, then->reward);
        return 0;
    }
    if (a->over != then->over || result->event != then->event) {
        (void)snprintf(text, size, "step %d has end %d and event %d, and had %d and %d", (int)a->t,
                       a->over, (int)result->event, (int)then->over, (int)then->event);
        return 0;
    }
    return 1;
}

static int same_start(const tce__inspection *in, const tce__actor *a, char *text, size_t size)
{
    return tce__inspect_same(in->O, in->obs, in->all_obs, "observation", 0, text, size) &&
           tce__inspect_same(in->D, a->start_pos, in->first_pos, "position", 0, text, size) &&
           tce__inspect_same(in->D, a->start_vel, in->first_vel, "velocity", 0, text, size);
}

/* What is said when an episode differs from the recorded one. */
static int say_differs(tce__inspection *in, int kind, const char *text)
{
    switch (kind) {
    case TCE__INSPECT_REPEATS:
        return tce__inspect_say(in, kind, TCE_ENV_FAULT,
                                "a second environment gives another episode for the same stream: "
                                "%s; draw random numbers from the tce_random of reset alone, in "
                                "reset: no rand(), no clock, no static variable that is written",
                                text);
    case TCE__INSPECT_LEFTOVER:
        return tce__inspect_say(
            in, kind, TCE_ENV_FAULT,
            "a used environment gives another episode for the same stream than a new one: %s; "
            "have reset set all that an episode changes, or, where that is meant, set "
            "carries_state and put it into the state",
            text);
    case TCE__INSPECT_SHARED:
        return tce__inspect_say(
            in, kind, TCE_ENV_FAULT,
            "two environments stepped in turns disturb each other: %s; keep all that is written "
            "in the instance, not in static variables",
            text);
    default:
        return tce__inspect_say(in, kind, TCE_ENV_FAULT,
                                "an episode that get_state and set_state continue in another "
                                "environment differs: %s; put all that a step and metrics read "
                                "into the state",
                                text);
    }
}

/* Steps to the end, each as recorded. */
static int follow(tce__inspection *in, tce__actor *a, int kind)
{
    char text[TCE__INSPECT_MESSAGE / 2];
    tce_env_result result;

    while (!a->over) {
        if (!tce__inspect_advance(in, a, in->drive, &result))
            return 0;
        if (!same_step(in, a, &result, text, sizeof text))
            return say_differs(in, kind, text);
    }
    if (!tce__inspect_measure(in, a))
        return 0;
    if (in->M > 0 &&
        !tce__inspect_same(in->M, in->metrics, in->end_metrics, "metric", a->t, text, sizeof text))
        return say_differs(in, kind, text);
    return 1;
}

/* A part of another episode, broken off. */
static int use(tce__inspection *in, tce__actor *a)
{
    tce_env_result result;

    if (!tce__inspect_begin(in, a, 1))
        return 0;
    while (!a->over && a->t < N_FEW)
        if (!tce__inspect_advance(in, a, in->drive, &result))
            return 0;
    return 1;
}

/* The episode of stream 0 once more. */
static int repeat(tce__inspection *in, tce__actor *a, int kind)
{
    char text[TCE__INSPECT_MESSAGE / 2];

    if (!tce__inspect_begin(in, a, 0))
        return 0;
    if (!same_start(in, a, text, sizeof text))
        return say_differs(in, kind, text);
    return follow(in, a, kind);
}

/* ---- what is looked at ----------------------------------------------------------------------- */

/* 1 when two specs have the same sizes and times; else `text` says what differs. */
static int same_spec(const tce_env_spec *spec, const tce_env_spec *first, char *text, size_t size)
{
    const struct {
        const char *name;
        double value, first;
    } PARTS[] = {
        { "n_obs", spec->n_obs, first->n_obs },
        { "n_dof", spec->n_dof, first->n_dof },
        { "n_action", spec->n_action, first->n_action },
        { "n_steps", spec->n_steps, first->n_steps },
        { "n_metrics", spec->n_metrics, first->n_metrics },
        { "n_context", spec->n_context, first->n_context },
        { "dt", spec->dt, first->dt },
        { "carries_state", spec->carries_state, first->carries_state },
        { "velocity_end", spec->velocity_end, first->velocity_end },
    };

    for (size_t k = 0; k < sizeof PARTS / sizeof PARTS[0]; k++)
        if (PARTS[k].value != PARTS[k].first) {
            (void)snprintf(text, size, "%s = %.9g after %.9g", PARTS[k].name, PARTS[k].value,
                           PARTS[k].first);
            return 0;
        }
    return 1;
}

/* The spec of an instance, which has to be that of the first instance when it was new. */
static int ask_again(tce__inspection *in, tce__actor *a)
{
    char text[TCE__INSPECT_MESSAGE / 2];
    tce_env_spec spec;

    tce__inspect_trace(in, "spec", 0);
    if (tce__env_ask(&in->table, a->instance, &spec) != TCE_OK)
        return tce__inspect_say(in, TCE__INSPECT_SPEC, TCE_ENV_FAULT,
                                "spec was right once and is not when it is called again: %s",
                                tce_error_message());
    if (!same_spec(&spec, &in->spec, text, sizeof text))
        return tce__inspect_say(in, TCE__INSPECT_SPEC, TCE_ENV_FAULT,
                                "spec changes from call to call, it gives %s: let it depend on the "
                                "settings alone",
                                text);
    return 1;
}

/* A further instance, which has to be like the first. */
static int make_another(tce__inspection *in, tce__actor *a)
{
    tce__inspect_trace(in, "create", 0);
    if (tce__env_make(&in->table, in->options.user, in->options.settings, &a->instance) != TCE_OK)
        return tce__inspect_say(in, TCE__INSPECT_MAKE, TCE_ENV_FAULT,
                                "a second environment cannot be made beside the first: %s; have "
                                "create make any number of instances, which share nothing that is "
                                "written",
                                tce_error_message());
    return ask_again(in, a);
}

/* b follows the recorded episode while a is stepped in between. */
static void check_shared(tce__inspection *in, tce__actor *a, tce__actor *b)
{
    char text[TCE__INSPECT_MESSAGE / 2];
    tce_env_result result;

    if (!tce__inspect_begin(in, b, 0) || !tce__inspect_begin(in, a, 1))
        return;
    while (!b->over && b->t < N_FEW) {
        if (!a->over && !tce__inspect_advance(in, a, in->drive, &result))
            return;
        if (!tce__inspect_advance(in, b, in->drive, &result))
            return;
        if (!same_step(in, b, &result, text, sizeof text)) {
            (void)say_differs(in, TCE__INSPECT_SHARED, text);
            return;
        }
    }
}

/*
 * The recorded state in an environment that was never reset, and the rest of the episode from
 * there.
 */
static void check_state(tce__inspection *in, tce__actor *c)
{
    char text[TCE__INSPECT_MESSAGE / 2];

    if (in->S == 0 || in->mid_t < 0 || in->length <= in->mid_t ||
        !tce__inspect_put_state(in, c, in->mid_state))
        return;
    if (!tce__inspect_same(in->O, in->obs, in->all_obs + (size_t)in->mid_t * in->O, "observation",
                           in->mid_t, text, sizeof text)) {
        (void)tce__inspect_say(
            in, TCE__INSPECT_STATE, TCE_ENV_FAULT,
            "set_state gives another observation than there was when get_state was called: %s; put "
            "all that an observation shows into the state",
            text);
        return;
    }
    if (!tce__inspect_take_state(in, c))
        return;
    if (!tce__inspect_same(in->S, in->state, in->mid_state, "state", in->mid_t, text,
                           sizeof text)) {
        (void)tce__inspect_say(
            in, TCE__INSPECT_STATE, TCE_ENV_FAULT,
            "get_state after set_state does not give the same numbers: %s; both have to cover the "
            "same numbers in the same order",
            text);
        return;
    }
    memcpy(c->start_pos, in->first_pos, in->D * sizeof *in->pos);
    memcpy(c->start_vel, in->first_vel, in->D * sizeof *in->vel);
    c->random = c->after;
    c->t = in->mid_t;
    c->event = in->mid_t > 0 ? in->steps[in->mid_t - 1].event : 0;
    c->over = 0;
    (void)follow(in, c, TCE__INSPECT_CONTINUED);
}

/* Whether the entries that episodic methods see are those of the recorded start. */
static int same_context(const tce__inspection *in)
{
    for (int32_t k = 0; k < in->spec.n_context; k++)
        if (in->obs[in->spec.context[k]] != in->all_obs[in->spec.context[k]])
            return 0;
    return 1;
}

static void check_starts(tce__inspection *in, tce__actor *a)
{
    char text[TCE__INSPECT_MESSAGE / 2];
    int all_same = 1, context_same = in->spec.n_context > 0;

    for (uint64_t stream = 1; stream < N_STREAMS; stream++) {
        if (!tce__inspect_begin(in, a, stream))
            return;
        all_same &= same_start(in, a, text, sizeof text);
        context_same &= same_context(in);
    }
    if (all_same)
        (void)tce__inspect_say(
            in, TCE__INSPECT_STARTS, TCE_ENV_REMARK,
            "all episodes start alike: where that is not meant, draw what differs from the "
            "tce_random of reset");
    else if (context_same)
        (void)tce__inspect_say(
            in, TCE__INSPECT_CONTEXT, TCE_ENV_REMARK,
            "the observation differs from start to start, but its context entries do not: "
            "episodic methods that see the context alone cannot tell the episodes apart; list "
            "what differs in context");
}

/*
 * The largest difference between the change of the observation by the last step and by the step
 * before it, which are moved on; *where: its entry.
 */
static double change_of_change(tce__inspection *in, size_t *where)
{
    double largest = 0.0;

    for (size_t k = 0; k < in->O; k++) {
        const double change = in->obs[k] - in->before[k];
        if (fabs(change - in->change[k]) > largest) {
            largest = fabs(change - in->change[k]);
            *where = k;
        }
        in->before[k] = in->obs[k];
        in->change[k] = change;
    }
    return largest;
}

/*
 * A path that starts as reset says and keeps its velocity. A task that follows paths exactly and
 * starts elsewhere, or with another velocity that it shows, jumps at the first step and changes
 * evenly from then on. Also: a path that differs from the recorded one has to make a difference.
 */
static void check_hold(tce__inspection *in, tce__actor *a)
{
    char text[TCE__INSPECT_MESSAGE / 2];
    tce_env_result result;
    size_t where = 0;
    double scale = 1.0, jump = 0.0, rest = 0.0, first = 0.0;
    int ignored = 1;

    if (in->drive == TCE__DRIVE_ACTIONS || !tce__inspect_begin(in, a, 0))
        return;
    const double *start = in->all_obs; /* of the same stream */
    memcpy(in->before, in->obs, in->O * sizeof *in->before);
    memset(in->change, 0, in->O * sizeof *in->change);
    for (size_t k = 0; k < in->O; k++)
        scale = fmax(scale, fabs(in->obs[k]));
    while (!a->over && a->t < N_FEW) {
        if (!tce__inspect_advance(in, a, TCE__DRIVE_HOLD, &result))
            return;
        const double change = change_of_change(in, a->t == 2 ? &where : &(size_t){ 0 });
        if (a->t == 2) {
            first = in->before[where] - in->change[where];
            if (fabs(first - start[where]) > fabs(in->change[where]))
                jump = change; /* else it lags behind */
        } else if (a->t > 2) {
            rest = fmax(rest, change);
        }
        ignored &= a->t <= in->length && same_step(in, a, &result, text, sizeof text);
    }
    if (a->t > 3 && jump > JUMP * scale && rest <= AT_REST * jump)
        (void)tce__inspect_say(
            in, TCE__INSPECT_JUMP, TCE_ENV_FAULT,
            "along a path that starts as reset says and keeps its velocity, the first step moves "
            "observation[%zu] from %.9g to %.9g, and there is no such jump after it: have reset "
            "give the position and velocity that the environment is in, in out_pos and out_vel",
            where, start[where], first);
    if (ignored)
        (void)tce__inspect_say(
            in, TCE__INSPECT_IGNORED, TCE_ENV_REMARK,
            "the first %d steps along two different paths are the same: step does not depend on "
            "the desired position and velocity that it is given",
            (int)a->t);
}

static void check_actions(tce__inspection *in, tce__actor *b)
{
    tce_env_result result;

    if (in->A == 0 || in->drive == TCE__DRIVE_ACTIONS || !tce__inspect_begin(in, b, 0))
        return;
    while (!b->over)
        if (!tce__inspect_advance(in, b, TCE__DRIVE_ACTIONS, &result))
            return;
    if (tce__inspect_measure(in, b) != TCE_OK)
        (void)tce__inspect_refused(in, b, TCE__DRIVE_ACTIONS, TCE__INSPECT_AFTER_END);
}

/* No metric has a name that the caller reserves. */
static void check_reserved(tce__inspection *in)
{
    for (int32_t i = 0; i < in->spec.n_metrics; i++)
        for (size_t k = 0; k < in->options.n_reserved; k++) {
            const char *name = in->spec.metric_names[i], *reserved = in->options.reserved[k];
            const size_t length = strlen(reserved);
            const int is_start = length > 0 && reserved[length - 1] == '*';
            if (is_start ? strncmp(name, reserved, length - 1) == 0 : strcmp(name, reserved) == 0)
                (void)tce__inspect_say(
                    in, TCE__INSPECT_RESERVED, TCE_ENV_FAULT,
                    "metric_names[%d] = \"%.60s\" is a name that the program reserves for its own "
                    "numbers: rename the metric in the task",
                    (int)i, name);
        }
}

/* Everything; stops where a fault makes the rest meaningless. */
static void inspect(tce__inspection *in)
{
    tce__actor *a = &in->actors[0], *b = &in->actors[1], *c = &in->actors[2];

    check_reserved(in);
    if (in->D == 0) {
        (void)tce__inspect_say(
            in, TCE__INSPECT_NO_PATHS, TCE_ENV_REMARK,
            "n_dof = 0: the task can be stepped by raw actions only, not trained "
            "on by methods that plan paths");
        in->drive = TCE__DRIVE_ACTIONS;
    }
    if (in->spec.carries_state) {
        if (!tce__inspect_take_state(in, a))
            return;
        memcpy(in->first_state, in->state, in->S * sizeof *in->state);
    }
    if (!record(in, a) || !ask_again(in, a) || !make_another(in, b) ||
        !repeat(in, b, TCE__INSPECT_REPEATS) || !use(in, a) ||
        !repeat(in, a, TCE__INSPECT_LEFTOVER) || !ask_again(in, a))
        return;
    check_shared(in, a, b);
    check_starts(in, a);
    check_hold(in, a);
    check_actions(in, b);

    /* last: a task that is not made for it may do anything here */
    if (!make_another(in, c))
        return;
    (void)tce__inspect_refused(in, c, in->drive, TCE__INSPECT_BEFORE_RESET);
    check_state(in, c);
}

/* ---- life ------------------------------------------------------------------------------------ */

static tce__inspection *layout(tce__inspection *in, tce__arena *arena)
{
    tce__inspection *handle = tce__arena_take(arena, 1, sizeof *handle);
    const size_t sizes[TCE__N_OUT] = { in->O, in->D, in->D, in->O, in->O, in->O, in->M, in->S };

    for (size_t k = 0; k < TCE__N_OUT; k++) {
        in->outputs[k].n = sizes[k];
        in->outputs[k].room = tce__arena_doubles(arena, sizes[k] + 2 * TCE__INSPECT_GUARD);
    }
    in->obs = tce__arena_doubles(arena, in->O);
    in->pos = tce__arena_doubles(arena, in->D);
    in->vel = tce__arena_doubles(arena, in->D);
    in->metrics = tce__arena_doubles(arena, in->M);
    in->state = tce__arena_doubles(arena, in->S);
    in->before = tce__arena_doubles(arena, in->O);
    in->change = tce__arena_doubles(arena, in->O);
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
static tce_status inspect_instance(tce__inspection *in, const tce_hooks *hooks)
{
    tce__arena arena = { NULL, 0 };

    in->O = (size_t)in->spec.n_obs;
    in->D = (size_t)in->spec.n_dof;
    in->A = (size_t)in->spec.n_action;
    in->M = (size_t)in->spec.n_metrics;
    in->T = (size_t)in->spec.n_steps;
    if (in->table.n_state) {
        tce__inspect_trace(in, "n_state", 0);
        in->S = in->table.n_state(in->actors[0].instance);
    }
    if (in->T > SIZE_MAX / sizeof(double) / 2 / in->O || in->S > SIZE_MAX / sizeof(double) / 8)
        return tce_fail(
            TCE_E_NOMEM,
            "no memory for an episode of %zu steps with %zu numbers each, and states of %zu", in->T,
            in->O, in->S);
    (void)layout(in, &arena);
    tce_status status = tce__block_create(hooks, "tce_env_inspect", &arena, &in->hooks);
    if (status != TCE_OK)
        return status;
    tce__inspection *handle = layout(in, &arena);
    *handle = *in;
    tce__inspect_clear_outputs(handle);
    inspect(handle);
    *in = *handle;
    tce__block_free(&in->hooks, handle);
    return TCE_OK;
}

/* The first environment, and its spec. */
static int make_first(tce__inspection *in)
{
    void *instance;

    tce__inspect_trace(in, "create", 0);
    if (tce__env_make(&in->table, in->options.user, in->options.settings, &instance) != TCE_OK)
        return tce__inspect_say(in, TCE__INSPECT_MAKE, TCE_ENV_FAULT,
                                "an environment cannot be made: %s; correct the task's options, or "
                                "what create needs",
                                tce_error_message());
    in->actors[0].instance = instance;
    tce__inspect_trace(in, "spec", 0);
    if (tce__env_ask(&in->table, instance, &in->spec) != TCE_OK)
        return tce__inspect_say(in, TCE__INSPECT_SPEC, TCE_ENV_FAULT,
                                "an environment cannot be made: %s", tce_error_message());
    return 1;
}

/* Everything about a table that can be used. */
static tce_status inspect_table(tce__inspection *in, const tce_hooks *hooks)
{
    const tce_status status = make_first(in) ? inspect_instance(in, hooks) : TCE_OK;

    for (size_t k = 0; k < sizeof in->actors / sizeof in->actors[0]; k++)
        if (in->actors[k].instance) {
            tce__inspect_trace(in, "destroy", 0);
            in->table.destroy(in->actors[k].instance);
        }
    return status;
}

tce_status tce_env_inspect(const tce_env_inspect_options *options, const tce_hooks *hooks,
                           int32_t *out_n_faults)
{
    tce__inspection in = { .mid_t = -1, .drive = TCE__DRIVE_SWAY };
    tce__aside aside;

    tce_env_inspect_options_init(&in.options, sizeof in.options);
    tce_status status = tce__struct_read(options, "tce_env_inspect_options", sizeof in.options,
                                         &in.options);
    if (status == TCE_OK)
        status = tce__check_pointer("options.vtable", in.options.vtable);
    if (status == TCE_OK && in.options.n_reserved > 0)
        status = tce__check_pointer("options.reserved", in.options.reserved);
    if (status != TCE_OK)
        return status;

    /* what the task says is a finding, not the caller's failure */
    tce__aside_put(&aside);
    if (tce_env_check(in.options.vtable) != TCE_OK) {
        (void)tce__inspect_say(&in, TCE__INSPECT_MAKE, TCE_ENV_FAULT,
                               "the table cannot be used: %s; correct it in the task library",
                               tce_error_message());
    } else {
        in.table = tce__env_table(in.options.vtable);
        status = inspect_table(&in, hooks);
    }
    if (status != TCE_OK)
        return status;
    tce__aside_return(&aside);
    if (out_n_faults)
        *out_n_faults = in.n_faults;
    return TCE_OK;
}
