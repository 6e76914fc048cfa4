/*
 * Making what collects episodes: its environments, which ranks share, and all arrays.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collect/collect.h"
#include "collect/episodes_shared.h"
#include "tools/memory.h"

/* Least number of environments that evaluate an agent that acts at every step. */
#define LEAST_ENVIRONMENTS 16

/* The name of a column. */
static const char *prefixed(const episodes *ep, const char *name, memory *m)
{
    const size_t size = strlen(ep->prefix) + strlen(name) + 1;
    char *full = memory_take(m, size, 1);
    if (full)
        snprintf(full, size, "%s%s", ep->prefix, name);
    return full;
}

/* All arrays but the names. */
static void take_arrays(episodes *ep, memory *m)
{
    const size_t E = ep->E, T = ep->T, D = ep->D, P = ep->P;
    const size_t n_factors = ep->agent->contextual ? E : 1;
    ep->times = memory_doubles(m, T);
    ep->inputs = memory_doubles(m, E * ep->O_net);
    ep->init_pos = memory_doubles(m, E * D);
    ep->init_vel = memory_doubles(m, E * D);
    ep->streams = memory_take(m, ep->B, sizeof *ep->streams);
    if (ep->agent->acts) {
        ep->actions = memory_doubles(m, E * T * P);
        ep->act_work = memory_doubles(m, agent_work(ep->agent, ep->N));
        ep->step_results = memory_take(m, ep->B, sizeof *ep->step_results);
        ep->step_actions = memory_doubles(m, ep->B * P);
        ep->lost = memory_take(m, ep->B, sizeof *ep->lost);
    } else {
        ep->mean = memory_doubles(m, E * P);
        ep->factor = memory_doubles(m, n_factors * P * P);
        ep->params = memory_doubles(m, E * P);
        ep->pos = memory_doubles(m, E * T * D);
        ep->vel = memory_doubles(m, E * T * D);
    }
    ep->obs = memory_doubles(m, E * (T + 1) * ep->O);
    ep->present_obs = memory_doubles(m, ep->B * ep->O);
    ep->rewards = memory_doubles(m, E * T);
    ep->terminated = memory_take(m, E * T, sizeof(uint8_t));
    ep->dones = memory_take(m, E * T, sizeof(uint8_t));
    ep->events = memory_take(m, E * T, sizeof(uint8_t));
    ep->lengths = memory_take(m, E, sizeof(int32_t));
    ep->results = memory_doubles(m, E * ep->M);
    ep->returns = memory_doubles(m, E);
    ep->names = memory_take(m, ep->M + 2, sizeof *ep->names);
}

static void set_spec(episodes *ep, const tce_env_spec *spec)
{
    ep->spec = spec;
    ep->T = (size_t)spec->n_steps;
    ep->D = (size_t)spec->n_dof;
    ep->O = (size_t)spec->n_obs;
    ep->M = (size_t)spec->n_metrics;
}

static void set_agent(episodes *ep, const agent *a)
{
    ep->agent = a;
    ep->O_net = a->O_net;
    ep->P = a->P;
}

double episodes_bytes(const tce_env_spec *spec, const agent *a, int32_t n_episodes, int32_t n_envs)
{
    episodes ep = { 0 };
    memory m = { .measure = 1 };
    ep.E = (size_t)n_episodes;
    ep.N = ep.B = smaller_size((size_t)n_envs, ep.E);
    set_spec(&ep, spec);
    set_agent(&ep, a);
    take_arrays(&ep, &m);
    return m.bytes;
}

/* ---- life cycle ------------------------------------------------------------------------------ */

tce_status episodes_allocate(episodes *ep, const agent *a, memory *m)
{
    set_agent(ep, a);
    take_arrays(ep, m);
    if (ep->spec->carries_state)
        ep->states = memory_doubles(m, ep->N * tce_rollout_n_state(ep->parts[0].rollout));
    for (size_t i = 0; !m->failed && i < ep->M; i++)
        ep->names[i + 1] = prefixed(ep, ep->spec->metric_names[i], m);
    if (!m->failed) {
        ep->names[0] = prefixed(ep, "return", m);
        ep->names[ep->M + 1] = prefixed(ep, "length", m);
    }
    if (m->failed)
        return tce_fail(TCE_E_NOMEM, "no memory for %zu episodes of %zu steps: lower their number",
                        ep->E, ep->T);
    if (ep->states && episodes_are_evaluation(ep)) {
        const tce_status status = episodes_get_states(ep, ep->states);
        if (status != TCE_OK)
            return status;
    }

    /* the path is sampled at the end of each step: dt, 2 dt, …, T dt */
    for (size_t i = 0; i < ep->T; i++)
        ep->times[i] = ep->spec->dt * (double)(i + 1);
    return TCE_OK;
}

int32_t evaluation_environments(const settings *s, const agent *a)
{
    const int32_t n = s->collect.environments;
    return a->acts && n < LEAST_ENVIRONMENTS ? LEAST_ENVIRONMENTS : n;
}

/* Names of metrics are columns of progress.csv; the rollout has looked at all but their length. */
static tce_status check_metric_names(const tce_env_spec *spec, const char *prefix)
{
    for (int32_t i = 0; i < spec->n_metrics; i++) {
        const char *name = spec->metric_names[i];
        if (strlen(prefix) + strlen(name) >= METRIC_NAME)
            return tce_fail(TCE_E_VALUE,
                            "the task's metric \"%.40s...\" has a name of %zu characters; a column "
                            "of progress.csv "
                            "may have %d, with \"%s\" before it",
                            name, strlen(name), METRIC_NAME - 1, prefix);
    }
    return TCE_OK;
}

/*
 * How many episodes run at once: ranks share whole collections, unless the episodes of an
 * environment belong together, which one environment tells.
 */
static tce_status choose_batch(episodes *ep, const tce_rollout_options *options)
{
    tce_rollout *first = NULL;
    ep->B = ep->N;
    if (!ep->ranks)
        return TCE_OK;
    const tce_status status = tce_rollout_create(options, NULL, &first);
    if (status == TCE_OK && !tce_rollout_spec(first)->carries_state)
        ep->B = ep->E;
    tce_rollout_free(first);
    return status;
}

/* Rows begin ... end - 1 of a batch, cut where rounds end. */
static tce_status create_parts(episodes *ep, tce_rollout_options *options)
{
    const size_t begin = ep->shares[ranks_rank(ep->ranks)];
    const size_t end = ep->shares[ranks_rank(ep->ranks) + 1];
    const size_t n_most = end > begin ? (end - 1) / ep->N - begin / ep->N + 1 : 1;
    ep->parts = calloc(n_most, sizeof *ep->parts);
    if (!ep->parts)
        return tce_fail(TCE_E_NOMEM, "no memory for %zu environments", end - begin);
    for (size_t at = begin; ep->n_parts < n_most; ep->n_parts++) {
        episodes_part *part = &ep->parts[ep->n_parts];
        part->begin = at;
        part->end = smaller_size(end, (at / ep->N + 1) * ep->N);
        options->first_env = end > begin ? at % ep->N : 0;
        options->n_envs = end > begin ? (int32_t)(part->end - at) : 1;
        const tce_status status = tce_rollout_create(options, NULL, &part->rollout);
        if (status != TCE_OK)
            return status;
        at = part->end;
    }
    return TCE_OK;
}

static tce_status create_environments(episodes *ep, tce_rollout_options *options)
{
    const int32_t n_ranks = ranks_count(ep->ranks);
    ep->shares = malloc(((size_t)n_ranks + 1) * sizeof *ep->shares);
    if (!ep->shares)
        return tce_fail(TCE_E_NOMEM, "no memory for %d ranks", (int)n_ranks);
    const tce_status status = choose_batch(ep, options);
    for (int32_t r = 0; r <= n_ranks; r++)
        ep->shares[r] = ranks_share(ep->ranks, ep->B, r);
    return status == TCE_OK ? create_parts(ep, options) : status;
}

tce_status episodes_create(episodes *ep, const task *t, const settings *s, tce_pool *pool,
                           const episodes_options *options)
{
    const char *more = options->task_options ? options->task_options : "";
    memset(ep, 0, sizeof *ep);
    snprintf(ep->task_options, sizeof ep->task_options, "%s%s%s", s->task.options,
             s->task.options[0] && more[0] ? " " : "", more);
    ep->E = (size_t)options->n_episodes;
    ep->N = smaller_size((size_t)options->n_envs, ep->E);
    ep->ranks = t->ranks;
    tce_rollout_options rollout;
    tce_rollout_options_init(&rollout, sizeof rollout);
    rollout.vtable = t->vtable;
    rollout.user = t->user;
    rollout.pool = t->one_thread ? NULL : t->pool ? t->pool : pool;
    rollout.settings = ep->task_options;
    rollout.seed = s->run.seed;
    rollout.purpose = options->purpose;
    rollout.on_fault = s->collect.on_fault;
    const tce_status status = create_environments(ep, &rollout);
    if (status != TCE_OK)
        return status;

    ep->vtable = t->vtable;
    ep->begin_path = t->begin_path;
    ep->prefix = options->prefix;
    ep->seed = s->run.seed;
    ep->purpose = options->purpose;
    set_spec(ep, tce_rollout_spec(ep->parts[0].rollout));
    return check_metric_names(ep->spec, options->prefix);
}

void episodes_free(episodes *ep)
{
    for (size_t k = 0; k < ep->n_parts; k++)
        tce_rollout_free(ep->parts[k].rollout);
    free(ep->parts);
    free(ep->shares);
    memset(ep, 0, sizeof *ep);
}
