/*
 * Calls into a task under inspection. Outputs are filled with NaN before a call, so that missing
 * writes are found. Guards stand around them and fill the outputs of other calls, so that writes to
 * other places are found.
 */
#include "env/inspect.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* What stands around each output, and in all that a call is not given. */
#define GUARD 8.7654321e-123

/* How far a velocity in an observation may be from the one that reset gives, as a part of it. */
#define SHOWN 1e-6

/*
 * How far the desired path has moved away from the start after the whole episode, in units of the
 * task.
 */
#define SWAY 0.1

/* ---- findings -------------------------------------------------------------------------------- */

/* Reports a finding unless one of its kind was; returns 0. */
int tce__inspect_say(tce__inspection *in, int kind, int32_t severity, const char *format, ...)
{
    char message[TCE__INSPECT_MESSAGE];
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

void tce__inspect_trace(const tce__inspection *in, const char *call, int32_t step)
{
    if (in->options.trace)
        in->options.trace(in->options.context, call, step);
}

/* ---- outputs --------------------------------------------------------------------------------- */

static const struct {
    const char *call, *name, *size;
} OUTPUTS[TCE__N_OUT] = {
    [TCE__OUT_RESET_OBS] = { "reset", "observation", "n_obs" },
    [TCE__OUT_RESET_POS] = { "reset", "position", "n_dof" },
    [TCE__OUT_RESET_VEL] = { "reset", "velocity", "n_dof" },
    [TCE__OUT_STEP_OBS] = { "step", "observation", "n_obs" },
    [TCE__OUT_NEXT_STEP_OBS] = { "step", "observation", "n_obs" },
    [TCE__OUT_SET_OBS] = { "set_state", "observation", "n_obs" },
    [TCE__OUT_METRICS] = { "metrics", "metrics", "n_metrics" },
    [TCE__OUT_STATE] = { "get_state", "state", "n_state" },
};

static void fill(size_t n, double *x, double value)
{
    for (size_t k = 0; k < n; k++)
        x[k] = value;
}

static void clear_output(tce__output *output)
{
    fill(output->n + 2 * TCE__INSPECT_GUARD, output->room, GUARD);
    output->given = 0;
}

void tce__inspect_clear_outputs(tce__inspection *in)
{
    for (size_t k = 0; k < TCE__N_OUT; k++)
        clear_output(&in->outputs[k]);
}

/* An output for the next call. */
static double *give(tce__inspection *in, int which)
{
    tce__output *output = &in->outputs[which];
    double *x = output->room + TCE__INSPECT_GUARD;

    fill(output->n, x, NAN);
    output->given = 1;
    return x;
}

/* Copies an output of the last call into x [n]. */
static void take(tce__inspection *in, int which, double *x)
{
    tce__output *output = &in->outputs[which];

    memcpy(x, output->room + TCE__INSPECT_GUARD, output->n * sizeof *x);
    clear_output(output);
}

/* What a call did to an output at room[k], where it had nothing to write. */
static int say_written(tce__inspection *in, const char *call, int which, size_t k)
{
    const tce__output *output = &in->outputs[which];
    const char *name = OUTPUTS[which].name, *size = OUTPUTS[which].size;
    const int before = k < TCE__INSPECT_GUARD;

    if (!output->given && !before && k < TCE__INSPECT_GUARD + output->n)
        return tce__inspect_say(
            in, TCE__INSPECT_KEPT, TCE_ENV_FAULT,
            "%s writes to the %s that an earlier call of %s was given: do not keep pointers to "
            "arguments, they are valid during their call only",
            call, name, OUTPUTS[which].call);
    if (!output->given)
        return tce__inspect_say(in, TCE__INSPECT_OVERRUN, TCE_ENV_FAULT,
                                "%s writes to memory that it was not given: see that all indices "
                                "are within the sizes of spec",
                                call);
    return tce__inspect_say(in, TCE__INSPECT_OVERRUN, TCE_ENV_FAULT,
                            "%s writes %s its %s: room is for %s = %zu numbers; give the right %s "
                            "in spec, or %s",
                            call, before ? "before" : "beyond", name, size, output->n, size,
                            before ? "begin at index 0" : "write fewer");
}

/* 1 when the last call wrote nowhere but into the outputs that it was given. */
static int check_outputs(tce__inspection *in, const char *call)
{
    for (int which = 0; which < TCE__N_OUT; which++) {
        tce__output *output = &in->outputs[which];
        const size_t end = output->n + 2 * TCE__INSPECT_GUARD;
        for (size_t k = 0; k < end; k++) {
            if (k == TCE__INSPECT_GUARD && output->given)
                k += output->n; /* a guard follows */
            if (memcmp(&output->room[k], &(double){ GUARD }, sizeof *output->room) == 0)
                continue;
            (void)say_written(in, call, which, k);
            tce__inspect_clear_outputs(in);
            return 0;
        }
    }
    return 1;
}

/* 1 when an output [n] was written, with finite numbers. */
static int check_finite(tce__inspection *in, const char *call, const char *name, const char *size,
                        size_t n, const double *x)
{
    const size_t k = tce__first_not_finite(n, x);

    if (k < n)
        return tce__inspect_say(in, TCE__INSPECT_FINITE, TCE_ENV_FAULT,
                                "%s[%zu] = %g after %s: it is not finite or was not written; "
                                "write all %s = %zu numbers in every call",
                                name, k, x[k], call, size, n);
    return 1;
}

/* 1 when x [n] has the same bytes as `before`; else `text` says where not. */
int tce__inspect_same(size_t n, const double *x, const double *before, const char *name, int32_t t,
                      char *text, size_t size)
{
    for (size_t k = 0; k < n; k++)
        if (memcmp(&x[k], &before[k], sizeof *x) != 0) {
            char when[32];
            (void)snprintf(when, sizeof when, t > 0 ? "after step %d" : "at the start", (int)t);
            (void)snprintf(text, size, "%s[%zu] %s is %.9g and was %.9g", name, k, when, x[k],
                           before[k]);
            return 0;
        }
    return 1;
}

/* ---- calls ----------------------------------------------------------------------------------- */

int tce__inspect_put_state(tce__inspection *in, tce__actor *a, const double *state)
{
    double *obs = give(in, TCE__OUT_SET_OBS);

    tce__inspect_trace(in, "set_state", 0);
    const tce_status status = tce__judge("set_state", in->table.set_state(a->instance, state, obs));
    const int sound = check_outputs(in, "set_state");
    take(in, TCE__OUT_SET_OBS, in->obs);
    if (status != TCE_OK)
        return tce__inspect_say(in, TCE__INSPECT_STATE, TCE_ENV_FAULT,
                                "set_state refuses what get_state gave: %s; it has to take any "
                                "state of any instance with the same settings",
                                tce_error_message());
    return sound && check_finite(in, "set_state", "observation", "n_obs", in->O, in->obs);
}

int tce__inspect_take_state(tce__inspection *in, tce__actor *a)
{
    tce__inspect_trace(in, "n_state", 0);
    const size_t n = in->table.n_state(a->instance);
    if (n != in->S)
        return tce__inspect_say(in, TCE__INSPECT_STATE, TCE_ENV_FAULT,
                                "n_state returns %zu, and returned %zu before: a state has the "
                                "same number of numbers in every instance, all the time",
                                n, in->S);
    double *state = give(in, TCE__OUT_STATE);
    tce__inspect_trace(in, "get_state", 0);
    const tce_status status = tce__judge("get_state", in->table.get_state(a->instance, state));
    const int sound = check_outputs(in, "get_state");
    take(in, TCE__OUT_STATE, in->state);
    if (status != TCE_OK)
        return tce__inspect_say(in, TCE__INSPECT_STATE, TCE_ENV_FAULT,
                                "get_state fails: %s; it has to give the state at any time",
                                tce_error_message());
    return sound;
}

/* 1 when an observation shows the velocities that reset gives, where it shows velocities. */
static int check_shown_velocity(tce__inspection *in)
{
    const size_t end = (size_t)in->spec.velocity_end;

    for (size_t d = 0; end > 0 && d < in->D; d++) {
        const size_t k = end - in->D + d;
        if (fabs(in->obs[k] - in->vel[d]) > SHOWN * fmax(1.0, fabs(in->vel[d])))
            return tce__inspect_say(
                in, TCE__INSPECT_JUMP, TCE_ENV_FAULT,
                "reset gives velocity[%zu] = %.9g, but its observation[%zu], which velocity_end "
                "says is this velocity, is %.9g: have reset give the velocity that the environment "
                "is in, or correct velocity_end",
                d, in->vel[d], k, in->obs[k]);
    }
    return 1;
}

/* Starts the episode of a stream; its start is in in->obs and in the actor. */
int tce__inspect_begin(tce__inspection *in, tce__actor *a, uint64_t stream)
{
    if (in->spec.carries_state && !tce__inspect_put_state(in, a, in->first_state))
        return 0;
    double *obs = give(in, TCE__OUT_RESET_OBS);
    double *pos = give(in, TCE__OUT_RESET_POS), *vel = give(in, TCE__OUT_RESET_VEL);
    tce_random_start(&a->random, in->options.seed, 0, 0, stream);
    tce__inspect_trace(in, "reset", 0);
    const tce_status status = tce__judge("reset",
                                         in->table.reset(a->instance, &a->random, obs, pos, vel));
    const int sound = check_outputs(in, "reset");
    take(in, TCE__OUT_RESET_OBS, in->obs);
    take(in, TCE__OUT_RESET_POS, in->pos);
    take(in, TCE__OUT_RESET_VEL, in->vel);
    if (status != TCE_OK)
        return tce__inspect_say(
            in, TCE__INSPECT_RESET, TCE_ENV_FAULT,
            "reset fails: %s; it has to start an episode from any stream, whatever the "
            "environment did before",
            tce_error_message());
    if (!sound || !check_finite(in, "reset", "observation", "n_obs", in->O, in->obs) ||
        !check_finite(in, "reset", "position", "n_dof", in->D, in->pos) ||
        !check_finite(in, "reset", "velocity", "n_dof", in->D, in->vel) ||
        !check_shown_velocity(in))
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
static void choose(tce__inspection *in, const tce__actor *a, int drive)
{
    const double duration = in->spec.dt * (double)in->T;
    const double time = in->spec.dt * (a->t + 1);
    tce_random random;

    for (size_t d = 0; d < in->D; d++) {
        const double speed = drive == TCE__DRIVE_SWAY ? (d % 2 ? -SWAY : SWAY) / duration
                                                      : a->start_vel[d];
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

/* Calls step or step_action; the status is judged. *sound: it wrote where it may. */
static tce_status call_step(tce__inspection *in, tce__actor *a, int drive, tce_env_result *result,
                            int *sound)
{
    const tce_env_result nothing = { .event = a->event };
    const char *call = drive == TCE__DRIVE_ACTIONS ? "step_action" : "step";
    const int which = in->odd ? TCE__OUT_NEXT_STEP_OBS : TCE__OUT_STEP_OBS;
    double *obs = give(in, which);
    tce_status status;

    *result = nothing;
    choose(in, a, drive);
    tce__inspect_trace(in, call, a->t + 1);
    if (drive == TCE__DRIVE_ACTIONS)
        status = in->table.step_action(a->instance, in->action, obs, result);
    else
        status = in->table.step(a->instance, in->want_pos, in->want_vel, obs, result);
    status = tce__judge(call, status);
    *sound = check_outputs(in, call);
    take(in, which, in->obs);
    in->odd = !in->odd;
    return status;
}

static int is_flag(int32_t value)
{
    return value == 0 || value == 1;
}

/* One step, and what must hold of it alone. */
int tce__inspect_advance(tce__inspection *in, tce__actor *a, int drive, tce_env_result *result)
{
    const char *call = drive == TCE__DRIVE_ACTIONS ? "step_action" : "step";
    int sound;
    const tce_status status = call_step(in, a, drive, result, &sound);

    if (status != TCE_OK)
        return tce__inspect_say(
            in, TCE__INSPECT_STEP, TCE_ENV_FAULT,
            "%s fails at step %d of an episode: %s; it has to work until the episode's end", call,
            (int)a->t + 1, tce_error_message());
    if (memcmp(&a->random, &a->after, sizeof a->after) != 0)
        return tce__inspect_say(
            in, TCE__INSPECT_DRAWS, TCE_ENV_FAULT,
            "%s draws from the stream of reset, which is gone by then: draw all that the episode "
            "needs in reset, or keep a copy of the tce_random there",
            call);
    if (!sound || !check_finite(in, call, "observation", "n_obs", in->O, in->obs))
        return 0;
    if (!isfinite(result->reward))
        return tce__inspect_say(in, TCE__INSPECT_FINITE, TCE_ENV_FAULT,
                                "the reward of step %d is %g: it has to be finite", (int)a->t + 1,
                                result->reward);
    if (!is_flag(result->terminated) || !is_flag(result->truncated) || !is_flag(result->event))
        return tce__inspect_say(
            in, TCE__INSPECT_FLAGS, TCE_ENV_FAULT,
            "step %d has terminated = %d, truncated = %d, event = %d: each is 0 or 1",
            (int)a->t + 1, (int)result->terminated, (int)result->truncated, (int)result->event);
    if (a->event && !result->event)
        return tce__inspect_say(
            in, TCE__INSPECT_EVENT, TCE_ENV_FAULT,
            "event is set before step %d and not after it: once set it stays set until the next "
            "reset",
            (int)a->t + 1);
    a->event = result->event;
    a->t++;
    a->over = result->terminated || result->truncated || (size_t)a->t >= in->T;
    return 1;
}

/* Metrics of an environment, at its end finite too. */
int tce__inspect_measure(tce__inspection *in, tce__actor *a)
{
    if (in->M == 0)
        return 1;
    double *metrics = give(in, TCE__OUT_METRICS);
    tce__inspect_trace(in, "metrics", 0);
    const tce_status status = tce__judge("metrics", in->table.metrics(a->instance, metrics));
    const int sound = check_outputs(in, "metrics");
    take(in, TCE__OUT_METRICS, in->metrics);
    if (status != TCE_OK)
        return tce__inspect_say(in, TCE__INSPECT_METRICS, TCE_ENV_FAULT,
                                "metrics fails %s: %s; it has to work at any time after a reset",
                                a->over ? "at the end of an episode" : "after a reset",
                                tce_error_message());
    if (!sound)
        return 0;
    for (size_t k = 0; a->over && k < in->M; k++) {
        const char *name = in->spec.metric_names[k];
        const double value = in->metrics[k];
        if (!isfinite(value))
            return tce__inspect_say(
                in, TCE__INSPECT_METRICS, TCE_ENV_FAULT,
                "metric \"%s\" is %g at the end of an episode: it is not finite or was not "
                "written; give a number for every episode",
                name, value);
        if (strcmp(name, "success") == 0 && value != 0.0 && value != 1.0)
            return tce__inspect_say(
                in, TCE__INSPECT_SUCCESS, TCE_ENV_FAULT,
                "metric \"success\" is %g: it is 0 or 1; give another name to a degree of success",
                value);
    }
    return 1;
}

/* A step that must be refused. */
int tce__inspect_refused(tce__inspection *in, tce__actor *a, int drive, int kind)
{
    tce_env_result result;
    int sound;

    if (call_step(in, a, drive, &result, &sound))
        return sound;
    return tce__inspect_say(
        in, kind, TCE_ENV_FAULT,
        "%s accepts a step %s: return tce_fail(TCE_E_STATE, ...) there, until the next reset",
        drive == TCE__DRIVE_ACTIONS ? "step_action" : "step",
        kind == TCE__INSPECT_AFTER_END ? "after the end of the episode" : "before the first reset");
}
