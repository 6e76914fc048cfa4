/*
 * Environments at work: reset, whole episodes along desired paths, single steps. Environment i is
 * one item of the pool, so a whole episode runs in one thread and nothing that it writes is shared;
 * each of its episodes has a random stream of its own. Both make the bytes independent of the
 * number of threads.
 *
 * An episode is over after n_steps steps, whether or not the task says so; one that ends earlier
 * has to say so.
 *
 * A fault (a callback's status, NaN, infinity) ends the episode of that environment alone. What it
 * has written is replaced: nothing of a broken episode gets out, with either value of on_fault.
 */
#include "rollout/internal.h"

#include <stdio.h>
#include <string.h>

/* Which counter of a stream's key is the number of the episode. */
#define EPISODE_COUNTER 2

/* What one of the public functions was asked for; row i belongs to environment i. */
typedef struct rollout_job {
    tce_rollout *rollout;
    size_t T;
    uint64_t episode;
    const size_t *which;   /* [n]: row k belongs to environment which[k]; NULL: to k */
    tce_random *streams;   /* [n]: random streams in place of those of the episode, or NULL */
    const double *pos;     /* [n, T, D] */
    const double *vel;     /* [n, T, D] */
    const double *actions; /* [n, n_action] */
    tce_rollout_paths paths;
    double *out_obs;             /* [n, O] or NULL */
    double *out_pos;             /* [n, D] or NULL */
    double *out_vel;             /* [n, D] or NULL */
    tce_env_result *out_results; /* [n] */
    double *out_metrics;         /* [n, M] */
} rollout_job;

/* ---- faults ---------------------------------------------------------------------------------- */

/* TCE_OK, or TCE_E_ENV_NAN naming the entry. */
static tce_status check_numbers(const char *name, size_t n, const double *x)
{
    const size_t i = tce__first_not_finite(n, x);

    return i == n ? TCE_OK : tce_fail(TCE_E_ENV_NAN, "%s[%zu] = %g", name, i, x[i]);
}

static tce_status check_step(const tce_rollout *rollout, const double *obs,
                             const tce_env_result *result)
{
    if (!isfinite(result->reward))
        return tce_fail(TCE_E_ENV_NAN, "reward = %g", result->reward);
    return check_numbers("observation", (size_t)rollout->spec.n_obs, obs);
}

/* Remembers the outcome of environment i; what the call makes of it is what it returns. */
static tce_status record(tce_rollout *rollout, size_t i, tce_status status, const tce__aside *aside)
{
    char *message = rollout->messages + i * TCE__ROLLOUT_MESSAGE;

    rollout->statuses[i] = status;
    message[0] = '\0';
    if (status != TCE_OK) {
        rollout->states[i] = TCE__EPISODE_FAULT;
        (void)snprintf(message, TCE__ROLLOUT_MESSAGE, "%s", tce_error_message());
        if (rollout->on_fault == TCE_ROLLOUT_FAIL)
            return status;
    }
    tce__aside_return(aside);
    return TCE_OK;
}

/* The fault of an environment that was lost earlier, again. */
static tce_status repeat_fault(const tce_rollout *rollout, size_t i)
{
    return tce_fail(rollout->statuses[i], "%s", rollout->messages + i * TCE__ROLLOUT_MESSAGE);
}

/*
 * TCE_E_STATE unless the first n environments are in an episode, good or lost, or stepped to its
 * end where that is allowed.
 */
static tce_status check_started(const tce_rollout *rollout, size_t n, int ended_allowed)
{
    for (size_t i = 0; i < n; i++)
        if (rollout->states[i] == TCE__EPISODE_NONE ||
            (rollout->states[i] == TCE__EPISODE_ENDED && !ended_allowed))
            return tce_fail(TCE_E_STATE,
                            "environment %zu has no episode, call tce_rollout_reset first",
                            tce__rollout_number(rollout, i));
    return TCE_OK;
}

static tce_status check_count(const tce_rollout *rollout, size_t n)
{
    tce_status status = tce__check_pointer("rollout", rollout);
    if (status != TCE_OK)
        return status;
    if (n > rollout->n_envs)
        return tce_fail(TCE_E_SHAPE, "n = %zu, there are %zu environments", n, rollout->n_envs);
    return TCE_OK;
}

/* ---- reset ----------------------------------------------------------------------------------- */

/* Calls reset and checks what comes out; obs [O], pos, vel [D]. */
static tce_status reset_instance(tce_rollout *rollout, size_t i, tce_random *random, double *obs,
                                 double *pos, double *vel)
{
    const size_t O = (size_t)rollout->spec.n_obs;
    const size_t D = (size_t)rollout->spec.n_dof;

    tce_status status = tce__judge(
        "reset", rollout->table.reset(rollout->instances[i], random, obs, pos, vel));
    if (status == TCE_OK)
        status = check_numbers("observation", O, obs);
    if (status == TCE_OK)
        status = check_numbers("position", D, pos);
    if (status == TCE_OK)
        status = check_numbers("velocity", D, vel);
    if (status != TCE_OK)
        return tce_fail(status, "environment %zu, reset of episode %llu: %s",
                        tce__rollout_number(rollout, i), (unsigned long long)rollout->episodes[i],
                        tce_error_message());
    return TCE_OK;
}

/* Copies a row where the caller wants it; a lost environment's is zero. */
static void give_row(double *out, size_t row, size_t n, const double *from, tce_status status)
{
    if (!out)
        return;
    if (status != TCE_OK)
        memset(out + row * n, 0, n * sizeof *out);
    else
        memcpy(out + row * n, from, n * sizeof *out);
}

static tce_status reset_work(void *context, size_t chunk, size_t begin, size_t end, int32_t worker)
{
    const rollout_job *job = context;
    tce_rollout *rollout = job->rollout;
    const size_t O = (size_t)rollout->spec.n_obs;
    const size_t D = (size_t)rollout->spec.n_dof;
    const size_t i = job->which ? job->which[begin] : begin;
    double *pos = rollout->scratch + i * (O + 2 * D);
    double *vel = pos + D;
    tce_random of_episode;
    tce_random *random = job->streams ? job->streams + begin : &of_episode;
    tce__aside aside;

    (void)chunk;
    (void)end;
    (void)worker;
    tce__aside_put(&aside);
    rollout->states[i] = TCE__EPISODE_READY;
    rollout->steps[i] = 0;
    rollout->events[i] = 0;
    if (!job->streams)
        tce_random_start(&of_episode, rollout->seed, rollout->purpose, rollout->first_env + i,
                         job->episode);
    rollout->episodes[i] = random->counter[EPISODE_COUNTER];
    const tce_status status = reset_instance(rollout, i, random, rollout->obs + i * O, pos, vel);
    if (status != TCE_OK)
        memset(rollout->obs + i * O, 0, O * sizeof *rollout->obs);
    give_row(job->out_obs, begin, O, rollout->obs + i * O, status);
    give_row(job->out_pos, begin, D, pos, status);
    give_row(job->out_vel, begin, D, vel, status);
    return record(rollout, i, status, &aside);
}

tce_status tce_rollout_reset(tce_rollout *rollout, size_t n, uint64_t episode, double *out_obs,
                             double *out_pos, double *out_vel)
{
    const tce_status status = check_count(rollout, n);
    if (status != TCE_OK)
        return status;
    rollout_job job = { .rollout = rollout,
                        .episode = episode,
                        .out_obs = out_obs,
                        .out_pos = out_pos,
                        .out_vel = out_vel };
    return tce_pool_run(rollout->pool, n, 1, reset_work, &job);
}

tce_status tce_rollout_reset_where(tce_rollout *rollout, size_t n, const size_t *which,
                                   tce_random *streams, double *out_obs, double *out_pos,
                                   double *out_vel)
{
    tce_status status = check_count(rollout, n);
    if (status == TCE_OK)
        status = tce__check_pointer("streams", streams);
    if (status != TCE_OK)
        return status;
    for (size_t k = 0; which && k < n; k++) {
        if (which[k] >= rollout->n_envs)
            return tce_fail(TCE_E_SHAPE, "which[%zu] = %zu, there are %zu environments", k,
                            which[k], rollout->n_envs);
        if (k > 0 && which[k] <= which[k - 1])
            return tce_fail(TCE_E_VALUE, "which[%zu] = %zu after %zu, must be ascending", k,
                            which[k], which[k - 1]);
    }
    rollout_job job = {
        .rollout = rollout,
        .which = which,
        .streams = streams,
        .out_obs = out_obs,
        .out_pos = out_pos,
        .out_vel = out_vel,
    };
    return tce_pool_run(rollout->pool, n, 1, reset_work, &job);
}

/* ---- ends ------------------------------------------------------------------------------------ */

/*
 * Counts a step of environment i; the last one of the spec is an end. Returns whether the episode
 * is over.
 */
static int count_step(tce_rollout *rollout, size_t i, tce_env_result *result)
{
    rollout->steps[i]++;
    rollout->events[i] = result->event;
    if (rollout->steps[i] >= rollout->spec.n_steps && !result->terminated)
        result->truncated = 1;
    return result->terminated || result->truncated;
}

/* ---- whole episodes -------------------------------------------------------------------------- */

/* What a step of a row brought, except its observation. */
static void give_step(const rollout_job *job, size_t row, size_t t, double reward,
                      const tce_env_result *result)
{
    const tce_rollout_paths *paths = &job->paths;
    const size_t step = row * job->T + t;

    paths->rewards[step] = reward;
    if (paths->terminated)
        paths->terminated[step] = result->terminated != 0;
    if (paths->truncated)
        paths->truncated[step] = result->truncated != 0;
    if (paths->events)
        paths->events[step] = result->event != 0;
}

/*
 * Steps from … T - 1 of a row as they are after an end: no reward, flags and event as they stand,
 * obs [O] repeated.
 */
static void fill_rest(const rollout_job *job, size_t row, size_t from, const tce_env_result *end,
                      const double *obs)
{
    const tce_rollout_paths *paths = &job->paths;
    const size_t O = (size_t)job->rollout->spec.n_obs;

    for (size_t t = from; t < job->T; t++) {
        give_step(job, row, t, 0.0, end);
        if (paths->obs && obs)
            memcpy(paths->obs + (row * (job->T + 1) + t + 1) * O, obs, O * sizeof *obs);
    }
}

/* Steps environment i along its path until it ends; *length: steps taken. */
static tce_status run_episode(const rollout_job *job, size_t i, size_t *length)
{
    tce_rollout *rollout = job->rollout;
    const tce_rollout_paths *paths = &job->paths;
    const size_t O = (size_t)rollout->spec.n_obs;
    const size_t D = (size_t)rollout->spec.n_dof;
    const size_t T = job->T;
    double *obs = rollout->scratch + i * (O + 2 * D);
    tce_env_result result = { .reward = 0.0 };
    int over = 0;
    tce_status status;

    for (size_t t = 0; t < T && !over; t++) {
        const size_t step = i * T + t;
        const tce_env_result nothing = { .event = rollout->events[i] };
        result = nothing;
        if (paths->obs)
            obs = paths->obs + (i * (T + 1) + t + 1) * O;
        status = rollout->table.step(rollout->instances[i], job->pos + step * D,
                                     job->vel + step * D, obs, &result);
        status = tce__judge("step", status);
        if (status == TCE_OK)
            status = check_step(rollout, obs, &result);
        if (status != TCE_OK)
            return tce_fail(status, "environment %zu, step %zu of episode %llu: %s",
                            tce__rollout_number(rollout, i), t,
                            (unsigned long long)rollout->episodes[i], tce_error_message());

        /* what this step brought */
        over = count_step(rollout, i, &result);
        give_step(job, i, t, result.reward, &result);
        *length = t + 1;
    }
    fill_rest(job, i, *length, &result, obs);

    /* numbers about the whole episode */
    if (paths->metrics && rollout->spec.n_metrics > 0) {
        double *metrics = paths->metrics + i * (size_t)rollout->spec.n_metrics;
        status = tce__judge("metrics", rollout->table.metrics(rollout->instances[i], metrics));
        if (status != TCE_OK)
            return tce_fail(status, "environment %zu, metrics of episode %llu: %s",
                            tce__rollout_number(rollout, i),
                            (unsigned long long)rollout->episodes[i], tce_error_message());
    }
    return TCE_OK;
}

/* Takes back everything that a lost episode has written. */
static void erase_episode(const rollout_job *job, size_t i)
{
    static const tce_env_result LOST = { .terminated = 1 };
    const tce_rollout *rollout = job->rollout;
    const tce_rollout_paths *paths = &job->paths;
    const size_t O = (size_t)rollout->spec.n_obs;
    const size_t M = (size_t)rollout->spec.n_metrics;

    fill_rest(job, i, 0, &LOST, paths->obs ? paths->obs + i * (job->T + 1) * O : NULL);
    if (paths->metrics)
        memset(paths->metrics + i * M, 0, M * sizeof *paths->metrics);
}

static tce_status run_work(void *context, size_t chunk, size_t i, size_t end, int32_t worker)
{
    const rollout_job *job = context;
    tce_rollout *rollout = job->rollout;
    size_t length = 0;
    tce__aside aside;

    (void)chunk;
    (void)end;
    (void)worker;
    tce__aside_put(&aside);
    const tce_status status = rollout->states[i] == TCE__EPISODE_FAULT
                                  ? repeat_fault(rollout, i)
                                  : run_episode(job, i, &length);
    if (status != TCE_OK) {
        length = 0;
        erase_episode(job, i);
    }
    if (job->paths.lengths)
        job->paths.lengths[i] = (int32_t)length;
    rollout->states[i] = TCE__EPISODE_NONE;
    return record(rollout, i, status, &aside);
}

tce_status tce_rollout_run(tce_rollout *rollout, size_t n, size_t T, const double *pos,
                           const double *vel, const tce_rollout_paths *out)
{
    rollout_job job = { .rollout = rollout, .T = T, .pos = pos, .vel = vel };

    tce_status status = check_count(rollout, n);
    if (status != TCE_OK)
        return status;
    if (rollout->spec.n_dof == 0)
        return tce_fail(TCE_E_UNSUPPORTED,
                        "task \"%s\" tracks no desired paths, use tce_rollout_step",
                        rollout->table.name);
    status = tce__struct_read(out, "tce_rollout_paths", sizeof job.paths, &job.paths);
    if (status == TCE_OK)
        status = tce__check_pointer("rewards", job.paths.rewards);
    if (status != TCE_OK)
        return status;
    if (T < 1 || T > INT32_MAX ||
        T > SIZE_MAX / sizeof(double) / (size_t)rollout->spec.n_dof / (n + 1))
        return tce_fail(TCE_E_SHAPE, "T = %zu, must be at least 1 and fit into memory", T);
    const size_t n_numbers = n * T * (size_t)rollout->spec.n_dof;
    status = tce__check_finite("pos", n_numbers, pos);
    if (status == TCE_OK)
        status = tce__check_finite("vel", n_numbers, vel);
    if (status == TCE_OK)
        status = check_started(rollout, n, 0);
    if (status != TCE_OK)
        return status;
    return tce_pool_run(rollout->pool, n, 1, run_work, &job);
}

/* ---- single steps ---------------------------------------------------------------------------- */

/*
 * One step of environment i with a raw action; an episode that is over stays as its last step has
 * left it.
 */
static tce_status step_instance(tce_rollout *rollout, size_t i, const double *action, double *obs,
                                tce_env_result *result)
{
    const size_t O = (size_t)rollout->spec.n_obs;

    if (rollout->states[i] == TCE__EPISODE_FAULT)
        return repeat_fault(rollout, i);
    if (rollout->states[i] == TCE__EPISODE_ENDED) {
        *result = rollout->ends[i];
        memcpy(obs, rollout->obs + i * O, O * sizeof *obs);
        return TCE_OK;
    }
    tce_status status = tce__judge(
        "step_action", rollout->table.step_action(rollout->instances[i], action, obs, result));
    if (status == TCE_OK)
        status = check_step(rollout, obs, result);
    if (status != TCE_OK)
        return tce_fail(status, "environment %zu, a step of episode %llu: %s",
                        tce__rollout_number(rollout, i), (unsigned long long)rollout->episodes[i],
                        tce_error_message());
    if (count_step(rollout, i, result)) {
        rollout->states[i] = TCE__EPISODE_ENDED;
        rollout->ends[i] = *result;
        rollout->ends[i].reward = 0.0;
    }
    return TCE_OK;
}

static tce_status step_work(void *context, size_t chunk, size_t i, size_t end, int32_t worker)
{
    const rollout_job *job = context;
    tce_rollout *rollout = job->rollout;
    const size_t O = (size_t)rollout->spec.n_obs;
    double *obs = job->out_obs + i * O;
    tce_env_result result = { .event = rollout->events[i] };
    const double *action = job->actions + i * (size_t)rollout->spec.n_action;
    tce__aside aside;

    (void)chunk;
    (void)end;
    (void)worker;
    tce__aside_put(&aside);
    const tce_status status = step_instance(rollout, i, action, obs, &result);

    /* a lost environment stays where it was last good, and is over */
    const tce_env_result lost = { .terminated = 1 };
    if (status != TCE_OK)
        memcpy(obs, rollout->obs + i * O, O * sizeof *obs);
    else
        memcpy(rollout->obs + i * O, obs, O * sizeof *obs);
    job->out_results[i] = status != TCE_OK ? lost : result;
    return record(rollout, i, status, &aside);
}

tce_status tce_rollout_step(tce_rollout *rollout, size_t n, const double *actions, double *out_obs,
                            tce_env_result *out_results)
{
    rollout_job job = {
        .rollout = rollout, .actions = actions, .out_obs = out_obs, .out_results = out_results
    };
    tce_status status = check_count(rollout, n);
    if (status != TCE_OK)
        return status;
    if (rollout->spec.n_action == 0)
        return tce_fail(TCE_E_UNSUPPORTED, "task \"%s\" takes no raw actions, use tce_rollout_run",
                        rollout->table.name);
    status = tce__check_finite("actions", n * (size_t)rollout->spec.n_action, actions);
    if (status == TCE_OK)
        status = tce__check_pointer("out_obs", out_obs);
    if (status == TCE_OK)
        status = tce__check_pointer("out_results", out_results);
    if (status == TCE_OK)
        status = check_started(rollout, n, 1);
    if (status != TCE_OK)
        return status;
    return tce_pool_run(rollout->pool, n, 1, step_work, &job);
}

/* ---- metrics --------------------------------------------------------------------------------- */

static tce_status metrics_work(void *context, size_t chunk, size_t i, size_t end, int32_t worker)
{
    const rollout_job *job = context;
    tce_rollout *rollout = job->rollout;
    const size_t M = (size_t)rollout->spec.n_metrics;
    double *metrics = job->out_metrics + i * M;
    tce__aside aside;
    tce_status status;

    (void)chunk;
    (void)end;
    (void)worker;
    tce__aside_put(&aside);
    if (rollout->states[i] == TCE__EPISODE_FAULT)
        status = repeat_fault(rollout, i);
    else
        status = tce__judge("metrics", rollout->table.metrics(rollout->instances[i], metrics));
    if (status != TCE_OK && rollout->states[i] != TCE__EPISODE_FAULT)
        status = tce_fail(status, "environment %zu, metrics: %s", tce__rollout_number(rollout, i),
                          tce_error_message());
    if (status != TCE_OK)
        memset(metrics, 0, M * sizeof *metrics);
    return record(rollout, i, status, &aside);
}

tce_status tce_rollout_metrics(tce_rollout *rollout, size_t n, double *out)
{
    rollout_job job = { .rollout = rollout, .out_metrics = out };
    tce_status status = check_count(rollout, n);
    if (status != TCE_OK)
        return status;
    if (rollout->spec.n_metrics == 0)
        return TCE_OK;
    status = tce__check_pointer("out", out);
    if (status != TCE_OK)
        return status;
    return tce_pool_run(rollout->pool, n, 1, metrics_work, &job);
}
