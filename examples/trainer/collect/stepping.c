/*
 * Environments stepped by raw actions. A rollout of a single environment each lets one pool item
 * step it, ask for its metrics at an end and reset it, without waiting for the others in between.
 */
#include "collect/stepping.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- life cycle ------------------------------------------------------------------------------ */

/* Which environments are this process's. */
static tce_status share_envs(stepping *st, ranks *all)
{
    const int32_t n_ranks = ranks_count(all), rank = ranks_rank(all);
    st->ranks = all;
    st->shares = malloc(((size_t)n_ranks + 1) * sizeof *st->shares);
    if (!st->shares)
        return tce_fail(TCE_E_NOMEM, "no memory for %d ranks", (int)n_ranks);
    for (int32_t r = 0; r <= n_ranks; r++)
        st->shares[r] = ranks_share(all, st->N, r);
    st->begin = st->shares[rank];
    st->end = st->shares[rank + 1];
    return TCE_OK;
}

static tce_status create_envs(stepping *st, const task *t, const settings *s,
                              const stepping_options *options)
{
    /* one tells what the task is like, also where none is stepped */
    const size_t n = st->end > st->begin ? st->end - st->begin : 1;
    tce_rollout_options rollout;
    tce_rollout_options_init(&rollout, sizeof rollout);
    rollout.vtable = t->vtable;
    rollout.user = t->user;
    rollout.settings = st->task_options;
    rollout.seed = s->run.seed;
    rollout.purpose = options->purpose;
    rollout.on_fault = s->collect.on_fault;
    st->envs = calloc(n, sizeof(tce_rollout *));
    if (!st->envs)
        return tce_fail(TCE_E_NOMEM, "no memory for %zu environments", n);
    tce_status status = TCE_OK;
    while (status == TCE_OK && st->n_envs < n) {
        rollout.first_env = st->end > st->begin ? st->begin + st->n_envs : 0;
        status = tce_rollout_create(&rollout, NULL, &st->envs[st->n_envs]);
        st->n_envs += status == TCE_OK;
    }
    return status;
}

tce_status stepping_create(stepping *st, const task *t, const settings *s, tce_pool *pool,
                           const stepping_options *options)
{
    memset(st, 0, sizeof *st);
    snprintf(st->task_options, sizeof st->task_options, "%s", s->task.options);
    st->N = (size_t)options->n_envs;
    tce_status status = share_envs(st, t->ranks);
    if (status == TCE_OK)
        status = create_envs(st, t, s, options);
    if (status != TCE_OK)
        return status;
    const tce_env_spec *spec = tce_rollout_spec(st->envs[0]);
    if (spec->n_action == 0)
        return tce_fail(TCE_E_UNSUPPORTED,
                        "%s takes no raw actions, and %s acts at every step: choose a method that "
                        "plans paths, or a task with raw actions",
                        t->vtable->name, s->table->name);
    st->vtable = t->vtable;
    st->seed = s->run.seed;
    st->spec = spec;
    st->pool = t->one_thread ? NULL : t->pool ? t->pool : pool;
    st->O = (size_t)spec->n_obs;
    st->A = (size_t)spec->n_action;
    st->T = (size_t)spec->n_steps;
    st->M = (size_t)spec->n_metrics;
    return TCE_OK;
}

static void take_arrays(stepping *st, memory *m)
{
    const size_t N = st->N, O = st->O, A = st->A;
    st->obs = memory_doubles(m, N * O);
    st->numbers = memory_take(m, N, sizeof *st->numbers);
    st->returns = memory_doubles(m, N);
    st->lengths = memory_take(m, N, sizeof *st->lengths);
    st->waiting = memory_take(m, N, 1);
    if (tce_rollout_n_state(st->envs[0]) == 0)
        st->taken = memory_doubles(m, N * st->T * A);
    st->actions = memory_doubles(m, N * A);
    st->reached = memory_doubles(m, N * O);
    st->next = memory_doubles(m, N * O);
    st->rewards = memory_doubles(m, N);
    st->terminated = memory_take(m, N, 1);
    st->truncated = memory_take(m, N, 1);
    st->lost = memory_take(m, N, 1);
    st->ended = memory_take(m, N, 1);
    st->end_metrics = memory_doubles(m, N * st->M);
    st->end_returns = memory_doubles(m, N);
    st->end_lengths = memory_take(m, N, sizeof *st->end_lengths);
    st->sums = memory_doubles(m, st->M + 2);
    st->names = memory_take(m, st->M + 2, sizeof *st->names);
}

double stepping_bytes(const stepping *st)
{
    stepping copy = *st;
    memory m = { .measure = 1 };
    take_arrays(&copy, &m);
    return m.bytes;
}

tce_status stepping_allocate(stepping *st, memory *m)
{
    take_arrays(st, m);
    if (m->failed)
        return tce_fail(TCE_E_NOMEM, "no memory for %zu environments: lower their number", st->N);
    st->names[0] = "return";
    for (size_t i = 0; i < st->M; i++)
        st->names[i + 1] = st->spec->metric_names[i];
    st->names[st->M + 1] = "length";
    return TCE_OK;
}

void stepping_free(stepping *st)
{
    for (size_t i = 0; i < st->n_envs; i++)
        tce_rollout_free(st->envs[i]);
    free(st->envs);
    free(st->shares);
    memset(st, 0, sizeof *st);
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* Environment i, which is this process's. */
static tce_rollout *env_of(const stepping *st, size_t i)
{
    return st->envs[i - st->begin];
}

/* work for each environment of this process, by its place among them. */
static tce_status run_own(const stepping *st, tce_pool_work work, void *context)
{
    return tce_pool_run(st->pool, st->end - st->begin, 1, work, context);
}

/* Rows of all environments, [N, row_size] each, on all ranks. */
static tce_status gather(const stepping *st, tce_status status, size_t n_arrays,
                         const ranks_rows *arrays)
{
    return ranks_gather_rows(st->ranks, status, st->shares, st->N, n_arrays, arrays);
}

/* Begins episode numbers[i]; one that cannot be begun waits. out_obs [O]. */
static tce_status begin_episode(stepping *st, size_t i, double *out_obs)
{
    st->returns[i] = 0.0;
    st->lengths[i] = 0;
    const tce_status status = tce_rollout_reset(env_of(st, i), 1, st->numbers[i], out_obs, NULL,
                                                NULL);
    st->waiting[i] = tce_rollout_status(env_of(st, i), 0) != TCE_OK;
    return status;
}

static tce_status begin_work(void *context, size_t chunk, size_t place, size_t end, int32_t worker)
{
    stepping *st = context;
    const size_t i = st->begin + place;
    (void)chunk;
    (void)end;
    (void)worker;
    return begin_episode(st, i, st->obs + i * st->O);
}

/* Whether an environment is left that can be stepped. */
static tce_status check_alive(const stepping *st)
{
    for (size_t i = 0; i < st->N; i++)
        if (!st->waiting[i])
            return TCE_OK;
    return tce_fail(TCE_E_ENV, "none of the %zu environments can be reset; the first said: %s",
                    st->N, tce_rollout_message(st->envs[0], 0));
}

tce_status stepping_begin(stepping *st, int *out_fresh)
{
    if (out_fresh)
        *out_fresh = !st->begun;
    if (st->begun)
        return TCE_OK;
    const ranks_rows rows[] = { { st->obs, st->O * sizeof *st->obs }, { st->waiting, 1 } };
    const tce_status status = gather(st, run_own(st, begin_work, st), sizeof rows / sizeof rows[0],
                                     rows);
    if (status != TCE_OK)
        return status;
    st->begun = 1;
    return check_alive(st);
}

/* One step of environment i with its action, and its metrics where it is an end. */
static tce_status step_env(stepping *st, size_t i)
{
    double *reached = st->reached + i * st->O;
    tce_rollout *env = env_of(st, i);
    tce_env_result result = { .terminated = 1 };
    tce_status status = TCE_OK;
    st->ended[i] = 0;
    st->lost[i] = st->waiting[i];
    if (!st->lost[i]) {
        status = tce_rollout_step(env, 1, st->actions + i * st->A, reached, &result);
        st->ended[i] = result.terminated || result.truncated;
        if (status == TCE_OK && st->ended[i] && st->M > 0)
            status = tce_rollout_metrics(env, 1, st->end_metrics + i * st->M);
        st->lost[i] = tce_rollout_status(env, 0) != TCE_OK;
    }
    if (st->lost[i]) {
        result = (tce_env_result){ .terminated = 1 };
        memcpy(reached, st->obs + i * st->O, st->O * sizeof *reached);
        st->ended[i] = 0;
    }
    st->rewards[i] = result.reward;
    st->terminated[i] = result.terminated != 0;
    st->truncated[i] = result.truncated != 0;
    return status;
}

/* A step of environment i, and its next episode where that one is over. */
static tce_status step_work(void *context, size_t chunk, size_t place, size_t end, int32_t worker)
{
    stepping *st = context;
    const size_t i = st->begin + place;
    double *next = st->next + i * st->O;
    (void)chunk;
    (void)end;
    (void)worker;
    const tce_status status = step_env(st, i);
    if (status != TCE_OK)
        return status;
    st->returns[i] += st->rewards[i];
    st->lengths[i]++;
    if (!st->ended[i] && !st->lost[i]) {
        memcpy(next, st->reached + i * st->O, st->O * sizeof *next);
        return TCE_OK;
    }
    st->end_returns[i] = st->returns[i];
    st->end_lengths[i] = st->lengths[i];
    st->numbers[i]++;
    return begin_episode(st, i, next);
}

/* Adds the episodes that this step ended to what is reported, in the order of environments. */
static void count_ends(stepping *st)
{
    st->n_steps += (int64_t)st->N;
    for (size_t i = 0; i < st->N; i++) {
        st->n_dropped += st->lost[i];
        if (!st->ended[i])
            continue;
        st->n_ended++;
        st->sums[0] += st->end_returns[i];
        for (size_t k = 0; k < st->M; k++)
            st->sums[k + 1] += st->end_metrics[i * st->M + k];
        st->sums[st->M + 1] += st->end_lengths[i];
    }
}

void stepping_white_noise(const stepping *st, double *out)
{
    for (size_t i = 0; i < st->N; i++) {
        tce_random random;
        tce_random_start(&random, st->seed, PURPOSE_ACTIONS, i, st->clock);
        tce_random_normals(&random, st->A, out + i * st->A);
    }
}

/* Keeps the actions, of all environments, that lead to where these are. */
static void keep_actions(stepping *st)
{
    for (size_t i = 0; st->taken && i < st->N; i++)
        memcpy(st->taken + (i * st->T + (size_t)st->lengths[i]) * st->A, st->actions + i * st->A,
               st->A * sizeof(double));
}

/* Sends the outcome of a step of this process's environments to all ranks. */
static tce_status share_step(stepping *st, tce_status status)
{
    const ranks_rows rows[] = {
        { st->reached, st->O * sizeof *st->reached },
        { st->next, st->O * sizeof *st->next },
        { st->rewards, sizeof *st->rewards },
        { st->end_metrics, st->M * sizeof *st->end_metrics },
        { st->end_returns, sizeof *st->end_returns },
        { st->returns, sizeof *st->returns },
        { st->numbers, sizeof *st->numbers },
        { st->lengths, sizeof *st->lengths },
        { st->end_lengths, sizeof *st->end_lengths },
        { st->terminated, 1 },
        { st->truncated, 1 },
        { st->lost, 1 },
        { st->ended, 1 },
        { st->waiting, 1 },
    };
    return gather(st, status, sizeof rows / sizeof rows[0], rows);
}

static tce_status step_all(stepping *st, const stepping_learner *learner)
{
    tce_status status = learner->choose(learner->context, st, st->obs, st->actions);
    if (status != TCE_OK)
        return status;
    keep_actions(st);
    status = share_step(st, run_own(st, step_work, st));
    if (status != TCE_OK)
        return status;
    count_ends(st);
    const stepping_seen seen = { .obs = st->obs,
                                 .actions = st->actions,
                                 .rewards = st->rewards,
                                 .terminated = st->terminated,
                                 .truncated = st->truncated,
                                 .lost = st->lost,
                                 .reached = st->reached,
                                 .next = st->next };
    if (learner->seen)
        status = learner->seen(learner->context, st, &seen);

    /* what comes next is the present */
    st->clock++;
    double *before = st->obs;
    st->obs = st->next;
    st->next = before;
    return status == TCE_OK ? check_alive(st) : status;
}

tce_status stepping_run(stepping *st, int64_t n_steps, const stepping_learner *learner)
{
    tce_status status = stepping_begin(st, NULL);
    for (int64_t k = 0; status == TCE_OK && k < n_steps; k++)
        status = step_all(st, learner);
    return status;
}

void stepping_report(stepping *st, double *out)
{
    for (size_t k = 0; k < st->M + 2; k++) {
        out[k] = st->n_ended > 0 ? st->sums[k] / (double)st->n_ended : NAN;
        st->sums[k] = 0.0;
    }
    st->n_steps = st->n_ended = st->n_dropped = 0;
}

/* ---- checkpoints ----------------------------------------------------------------------------- */

enum { ARRAY_NAME = 256 };

static const char *full_name(const char *name, const char *part, char *out)
{
    snprintf(out, ARRAY_NAME, "%s.%s", name, part);
    return out;
}

static tce_status put(tce_store *store, const char *name, const char *part, int32_t type,
                      size_t rows, size_t columns, const void *data)
{
    char full[ARRAY_NAME];
    const size_t shape[2] = { rows, columns };
    return tce_store_put(store, full_name(name, part, full), type, columns > 0 ? 2 : 1, shape,
                         data);
}

/* Where the environments are: their states, or the actions that lead there. */
static tce_status put_places(const stepping *st, tce_status before, tce_store *store,
                             const char *name)
{
    const size_t S = tce_rollout_n_state(st->envs[0]);
    if (S == 0)
        return before != TCE_OK
                   ? before
                   : put(store, name, "taken", TCE_STORE_F64, st->N, st->T * st->A, st->taken);
    int failed = 0;
    double *states = array_of_doubles(st->N * S, &failed);
    tce_status status = failed ? tce_fail(TCE_E_NOMEM,
                                          "no memory for the states of %zu environments", st->N)
                               : before;
    for (size_t i = st->begin; status == TCE_OK && i < st->end; i++)
        status = tce_rollout_get_states(env_of(st, i), 1, states + i * S);
    const ranks_rows rows = { states, S * sizeof *states };
    status = gather(st, status, 1, &rows);
    if (status == TCE_OK)
        status = put(store, name, "states", TCE_STORE_F64, st->N, S, states);
    free(states);
    return status;
}

tce_status stepping_save(const stepping *st, tce_store *store, const char *name)
{
    const int32_t begun = st->begun;
    tce_status status = put(store, name, "begun", TCE_STORE_I32, 1, 0, &begun);
    if (status != TCE_OK || !begun)
        return status;
    status = put(store, name, "clock", TCE_STORE_U64, 1, 0, &st->clock);
    if (status == TCE_OK)
        status = put(store, name, "obs", TCE_STORE_F64, st->N, st->O, st->obs);
    if (status == TCE_OK)
        status = put(store, name, "numbers", TCE_STORE_U64, st->N, 0, st->numbers);
    if (status == TCE_OK)
        status = put(store, name, "returns", TCE_STORE_F64, st->N, 0, st->returns);
    if (status == TCE_OK)
        status = put(store, name, "lengths", TCE_STORE_I32, st->N, 0, st->lengths);
    if (status == TCE_OK)
        status = put(store, name, "waiting", TCE_STORE_U8, st->N, 0, st->waiting);
    return put_places(st, status, store, name);
}

/* What stepping_load reads, before any of it is used. */
typedef struct saved {
    stepping *st;
    double *obs, *returns, *states, *taken;
    uint64_t *numbers, clock;
    int32_t *lengths;
    uint8_t *waiting;
} saved;

static tce_status get(const tce_store *store, const char *name, const char *part, int32_t type,
                      size_t n, void *out)
{
    char full[ARRAY_NAME];
    return tce_store_read(store, full_name(name, part, full), type, n, out);
}

static tce_status take_saved(saved *s, memory *m)
{
    const stepping *st = s->st;
    const size_t N = st->N, S = tce_rollout_n_state(st->envs[0]);
    s->obs = memory_doubles(m, N * st->O);
    s->returns = memory_doubles(m, N);
    s->numbers = memory_take(m, N, sizeof *s->numbers);
    s->lengths = memory_take(m, N, sizeof *s->lengths);
    s->waiting = memory_take(m, N, 1);
    if (S > 0)
        s->states = memory_doubles(m, N * S);
    else
        s->taken = memory_doubles(m, N * st->T * st->A);
    return m->failed ? tce_fail(TCE_E_NOMEM, "no memory for the states of %zu environments", st->N)
                     : TCE_OK;
}

static tce_status read_saved(saved *s, const tce_store *store, const char *name)
{
    const stepping *st = s->st;
    const size_t N = st->N, S = tce_rollout_n_state(st->envs[0]);
    tce_status status = get(store, name, "clock", TCE_STORE_U64, 1, &s->clock);
    if (status == TCE_OK)
        status = get(store, name, "obs", TCE_STORE_F64, N * st->O, s->obs);
    if (status == TCE_OK)
        status = get(store, name, "numbers", TCE_STORE_U64, N, s->numbers);
    if (status == TCE_OK)
        status = get(store, name, "returns", TCE_STORE_F64, N, s->returns);
    if (status == TCE_OK)
        status = get(store, name, "lengths", TCE_STORE_I32, N, s->lengths);
    if (status == TCE_OK)
        status = get(store, name, "waiting", TCE_STORE_U8, N, s->waiting);
    if (status == TCE_OK && S > 0)
        status = get(store, name, "states", TCE_STORE_F64, N * S, s->states);
    if (status == TCE_OK && S == 0)
        status = get(store, name, "taken", TCE_STORE_F64, N * st->T * st->A, s->taken);
    if (status != TCE_OK)
        return status;
    for (size_t i = 0; i < N; i++)
        if (s->lengths[i] < 0 || (size_t)s->lengths[i] >= st->T || s->waiting[i] > 1)
            return tce_fail(TCE_E_CORRUPT,
                            "%s.lengths[%zu] = %d, must be 0 to %zu: an episode that is not over",
                            name, i, (int)s->lengths[i], st->T - 1);
    return TCE_OK;
}

/* The episode of environment i once more, by its actions; st->reached gets its last observation. */
static tce_status replay_env(const saved *s, size_t i)
{
    stepping *st = s->st;
    double *obs = st->reached + i * st->O;
    tce_env_result result;
    tce_status status = tce_rollout_reset(env_of(st, i), 1, s->numbers[i], obs, NULL, NULL);
    for (int32_t t = 0; status == TCE_OK && t < s->lengths[i]; t++)
        status = tce_rollout_step(env_of(st, i), 1, s->taken + (i * st->T + (size_t)t) * st->A, obs,
                                  &result);
    return status;
}

/* Brings environment i to where it was, and compares what it shows there. */
static tce_status load_work(void *context, size_t chunk, size_t place, size_t end, int32_t worker)
{
    const saved *s = context;
    const stepping *st = s->st;
    const size_t i = st->begin + place;
    const size_t S = tce_rollout_n_state(env_of(st, i));
    double *obs = st->reached + i * st->O;
    (void)chunk;
    (void)end;
    (void)worker;
    if (S == 0 && s->waiting[i])
        return TCE_OK;
    const tce_status status = S > 0
                                  ? tce_rollout_set_states(env_of(st, i), 1, s->states + i * S, obs)
                                  : replay_env(s, i);
    if (status != TCE_OK || s->waiting[i])
        return status;
    for (size_t k = 0; k < st->O; k++)
        if (memcmp(&obs[k], &s->obs[i * st->O + k], sizeof *obs) != 0)
            return tce_fail(TCE_E_STATE,
                            "environment %zu does not continue where it was in step %d of its "
                            "episode: observation[%zu] is %.9g and was %.9g; the task, its library "
                            "or its options have changed since the checkpoint",
                            i, (int)s->lengths[i], k, obs[k], s->obs[i * st->O + k]);
    return TCE_OK;
}

static void use_saved(const saved *s)
{
    stepping *st = s->st;
    st->clock = s->clock;
    memcpy(st->obs, s->obs, st->N * st->O * sizeof *st->obs);
    memcpy(st->numbers, s->numbers, st->N * sizeof *st->numbers);
    memcpy(st->returns, s->returns, st->N * sizeof *st->returns);
    memcpy(st->lengths, s->lengths, st->N * sizeof *st->lengths);
    memcpy(st->waiting, s->waiting, st->N);
    if (st->taken)
        memcpy(st->taken, s->taken, st->N * st->T * st->A * sizeof *st->taken);
}

tce_status stepping_load(stepping *st, const tce_store *store, const char *name)
{
    saved s = { .st = st };
    memory m = { 0 };
    int32_t begun = 0;
    tce_status status = get(store, name, "begun", TCE_STORE_I32, 1, &begun);
    if (status == TCE_OK && begun) {
        status = take_saved(&s, &m);
        if (status == TCE_OK)
            status = read_saved(&s, store, name);
        if (status == TCE_OK)
            status = run_own(st, load_work, &s);
        status = ranks_agree(st->ranks, status);
        if (status == TCE_OK)
            use_saved(&s);
        memory_free(&m);
    }
    if (status == TCE_OK)
        st->begun = begun != 0;
    return status;
}
