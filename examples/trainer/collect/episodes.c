/*
 * Collecting episodes [TCE, one iteration, step 1]: context -> (mean, L) -> parameters -> desired
 * path -> environment; or, for an agent that acts at every step, observation -> action.
 *
 * Episodes run in rounds of N environments. Parameters of episode e in collection k come from the
 * stream (seed, parameters, k, e); resets of evaluations from (seed, purpose, e, k), those of
 * training from (seed, purpose, environment, its episodes so far): nothing depends on threads.
 *
 * Ranks share the episodes, since the policy stays the same in a collection: all are reset, their
 * first observations gathered, all are acted on by every rank, round by round as one process does
 * (the rows of a product have other last bits in a product of another shape), run, and gathered.
 * With an agent that acts at every step that happens in every step.
 */
#include <stdlib.h>
#include <string.h>

#include "collect/collect.h"
#include "collect/episodes_shared.h"
#include "collect/factors.h"
#include "tools/memory.h"

int episodes_are_evaluation(const episodes *ep)
{
    return ep->purpose == PURPOSE_EVAL_ENV;
}

/* ---- what ranks share ------------------------------------------------------------------------ */

/* The rows of a part when n run at once. */
static size_t part_rows(const episodes_part *part, size_t n)
{
    return smaller_size(part->end, n) - smaller_size(part->begin, n);
}

/*
 * Rows of n episodes that run at once, on all ranks: arrays [n, row_size]. After a failure all have
 * that of the lowest rank.
 */
static tce_status gather(const episodes *ep, tce_status status, size_t n, size_t n_arrays,
                         const ranks_rows *arrays)
{
    return ranks_gather_rows(ep->ranks, status, ep->shares, n, n_arrays, arrays);
}

tce_status episodes_get_states(const episodes *ep, double *states)
{
    const episodes_part *own = &ep->parts[0];
    const size_t n_state = tce_rollout_n_state(own->rollout);
    return tce_rollout_get_states(own->rollout, part_rows(own, ep->N),
                                  states + own->begin * n_state);
}

static tce_status gather_states(const episodes *ep, tce_status status, double *states)
{
    const ranks_rows rows = { states, tce_rollout_n_state(ep->parts[0].rollout) * sizeof *states };
    return gather(ep, status, ep->N, 1, &rows);
}

/* The other way round. */
static tce_status set_states(episodes *ep, size_t n, const double *states)
{
    const episodes_part *own = &ep->parts[0];
    const size_t n_state = tce_rollout_n_state(own->rollout);
    return tce_rollout_set_states(own->rollout, part_rows(own, n), states + own->begin * n_state,
                                  NULL);
}

void episodes_inputs(const episodes *ep, size_t first, size_t n, double *out)
{
    for (size_t e = first; e < first + n; e++)
        for (size_t t = 0; t <= ep->T; t++) {
            agent_input(ep->agent, ep->obs + (e * (ep->T + 1) + t) * ep->O,
                        t ? ep->times[t - 1] : 0.0, out);
            out += ep->O_net;
        }
}

/* The stream that episode e of the present collection starts from. */
static void start_stream(const episodes *ep, size_t e, tce_random *out)
{
    const size_t n_rounds = (ep->E + ep->N - 1) / ep->N;
    if (episodes_are_evaluation(ep))
        tce_random_start(out, ep->seed, ep->purpose, e, ep->number);
    else
        tce_random_start(out, ep->seed, ep->purpose, e % ep->N, ep->number * n_rounds + e / ep->N);
}

/* ---- rounds ---------------------------------------------------------------------------------- */

/* Resets n environments and puts their first observations where obs and the policy expect them. */
static tce_status start_batch(episodes *ep, size_t first, size_t n)
{
    const size_t O = ep->O, D = ep->D;
    double *pos = ep->init_pos + first * D, *vel = ep->init_vel + first * D;
    tce_status status = TCE_OK;
    for (size_t i = 0; i < n; i++)
        start_stream(ep, first + i, &ep->streams[i]);
    for (size_t k = 0; status == TCE_OK && k < ep->n_parts; k++) {
        const episodes_part *part = &ep->parts[k];
        const size_t at = part->begin;
        status = tce_rollout_reset_where(part->rollout, part_rows(part, n), NULL, ep->streams + at,
                                         ep->present_obs + at * O, pos + at * D, vel + at * D);
    }
    const ranks_rows rows[] = { { ep->present_obs, O * sizeof(double) },
                                { pos, D * sizeof(double) },
                                { vel, D * sizeof(double) } };
    status = gather(ep, status, n, sizeof rows / sizeof rows[0], rows);
    if (status != TCE_OK)
        return status;
    for (size_t i = 0; i < n; i++) {
        const double *obs = ep->present_obs + i * O;
        memcpy(ep->obs + (first + i) * (ep->T + 1) * O, obs, O * sizeof *obs);
        agent_input(ep->agent, obs, 0.0, ep->inputs + (first + i) * ep->O_net);
    }
    return agent_normalise(ep->agent, n, ep->inputs + first * ep->O_net);
}

/* Parameters of a round: drawn, given, or the mean. */
static tce_status choose_parameters(episodes *ep, size_t first, size_t n, int explore)
{
    if (explore && ep->draw) {
        const tce_status drawn = ep->draw(ep->draw_context, ep, first, n);
        agent_output(ep->agent, n, ep->params + first * ep->P);
        return drawn;
    }
    const size_t P = ep->P;
    const int contextual = ep->agent->contextual;
    double *factor = ep->factor + (contextual ? first * P * P : 0);
    double *params = ep->params + first * P;
    tce_status status = factors_predict(ep->agent->policy, n, ep->inputs + first * ep->O_net,
                                        ep->mean + first * P, factor);
    const double *const chosen = explore ? ep->given_params : ep->mean;
    if (chosen)
        memcpy(params, chosen + first * P, n * P * sizeof *params);
    if (chosen || status != TCE_OK) {
        agent_output(ep->agent, n, params);
        return status;
    }

    /* a stream for each episode, so that the draws do not depend on rounds */
    for (size_t i = 0; i < n; i++) {
        tce_random random;
        tce_random_start(&random, ep->seed, PURPOSE_PARAMETERS, ep->number, first + i);
        tce_random_normals(&random, P, params + i * P);
    }
    const tce_gauss gaussians = { .struct_size = sizeof gaussians,
                                  .n = n,
                                  .dim = P,
                                  .n_scales = contextual ? n : 1,
                                  .mean = ep->mean + first * P,
                                  .scale = factor };
    status = tce_gauss_sample(&gaussians, params, params);
    agent_output(ep->agent, n, params);
    return status;
}

/* Paths of the episodes of a round. */
static tce_status plan_round(episodes *ep, size_t first, size_t n, int explore)
{
    const size_t T = ep->T, D = ep->D;
    const double start_time = 0.0;
    const tce_status status = choose_parameters(ep, first, n, explore);
    tce_mp_grid grid = TCE_INIT(tce_mp_grid);
    grid.E = n;
    grid.T = T;
    grid.n_time_rows = 1;
    grid.n_init_times = 1;
    grid.times = ep->times;
    grid.init_time = &start_time;
    grid.init_pos = ep->init_pos + first * D;
    grid.init_vel = ep->init_vel + first * D;
    return status == TCE_OK
               ? tce_mp_trajectory(ep->agent->mp, &grid, ep->params + first * ep->P,
                                   ep->pos + first * T * D, ep->vel + first * T * D, NULL)
               : status;
}

/* Episodes first ... first + n - 1, which are a part's, along their paths. */
static tce_status run_part(episodes *ep, tce_rollout *rollout, size_t first, size_t n)
{
    const size_t T = ep->T, D = ep->D;
    tce_rollout_paths paths = TCE_INIT(tce_rollout_paths);
    paths.obs = ep->obs + first * (T + 1) * ep->O;
    paths.rewards = ep->rewards + first * T;
    paths.terminated = ep->terminated + first * T;
    paths.truncated = ep->dones + first * T;
    paths.events = ep->events + first * T;
    paths.lengths = ep->lengths + first;
    paths.metrics = ep->M ? ep->results + first * ep->M : NULL;
    for (size_t i = 0; ep->begin_path && i < n; i++)
        ep->begin_path(tce_rollout_instance(rollout, i), T, ep->pos + (first + i) * T * D,
                       ep->vel + (first + i) * T * D);
    return tce_rollout_run(rollout, n, T, ep->pos + first * T * D, ep->vel + first * T * D, &paths);
}

/* A batch along planned paths. */
static tce_status plan_batch(episodes *ep, size_t first, size_t n, int explore)
{
    const size_t T = ep->T;
    tce_status status = TCE_OK;
    for (size_t at = 0; status == TCE_OK && at < n; at += ep->N)
        status = plan_round(ep, first + at, smaller_size(ep->N, n - at), explore);
    if (status != TCE_OK)
        return status;
    for (size_t k = 0; status == TCE_OK && k < ep->n_parts; k++) {
        const episodes_part *part = &ep->parts[k];
        status = run_part(ep, part->rollout, first + part->begin, part_rows(part, n));
    }
    const ranks_rows rows[] = {
        { ep->obs + first * (T + 1) * ep->O, (T + 1) * ep->O * sizeof(double) },
        { ep->rewards + first * T, T * sizeof(double) },
        { ep->terminated + first * T, T },
        { ep->dones + first * T, T },
        { ep->events + first * T, T },
        { ep->lengths + first, sizeof(int32_t) },
        { ep->results + first * ep->M, ep->M * sizeof(double) },
    };
    status = gather(ep, status, n, sizeof rows / sizeof rows[0], rows);
    for (size_t k = first * T; k < (first + n) * T; k++)
        ep->dones[k] |= ep->terminated[k];
    return status;
}

/* ---- at every step --------------------------------------------------------------------------- */

/* What step t has brought to row i of the batch. Returns whether its episode continues. */
static int take_step(episodes *ep, size_t first, size_t i, size_t t)
{
    const size_t O = ep->O, P = ep->P, T = ep->T;
    const tce_env_result *result = &ep->step_results[i];
    const size_t e = first + i, step = e * T + t;
    const int over = result->terminated || result->truncated;
    ep->lengths[e] += t == 0 || !ep->dones[step - 1];
    ep->rewards[step] = result->reward;
    ep->terminated[step] = result->terminated != 0;
    ep->dones[step] = (uint8_t)over;
    ep->events[step] = result->event != 0;
    memcpy(ep->actions + step * P, ep->step_actions + i * P, P * sizeof(double));
    memcpy(ep->obs + (e * (T + 1) + t + 1) * O, ep->present_obs + i * O, O * sizeof(double));
    return !over;
}

/*
 * Step t of a batch: actions, round by round, and what they brought. *out_goes_on: an episode
 * continues. Those that are over are stepped too, which changes nothing.
 */
static tce_status act(episodes *ep, size_t first, size_t n, size_t t, int *out_goes_on)
{
    const size_t O = ep->O, P = ep->P;
    const double time = ep->spec->dt * (double)t;
    tce_status status = TCE_OK;
    for (size_t at = 0; status == TCE_OK && at < n; at += ep->N)
        status = agent_act(ep->agent, smaller_size(ep->N, n - at), ep->present_obs + at * O, time,
                           ep->act_work, ep->step_actions + at * P);
    if (status != TCE_OK)
        return status;
    for (size_t k = 0; status == TCE_OK && k < ep->n_parts; k++) {
        const episodes_part *part = &ep->parts[k];
        const size_t at = part->begin;
        status = tce_rollout_step(part->rollout, part_rows(part, n), ep->step_actions + at * P,
                                  ep->present_obs + at * O, ep->step_results + at);
    }
    const ranks_rows rows[] = { { ep->present_obs, O * sizeof(double) },
                                { ep->step_results, sizeof *ep->step_results } };
    status = gather(ep, status, n, sizeof rows / sizeof rows[0], rows);
    *out_goes_on = 0;
    for (size_t i = 0; status == TCE_OK && i < n; i++)
        *out_goes_on |= take_step(ep, first, i, t);
    return status;
}

/*
 * Steps t … T - 1 of a batch whose episodes are over: as the last step left them, without reward.
 */
static void fill_rest(episodes *ep, size_t first, size_t n, size_t t)
{
    const size_t O = ep->O, T = ep->T;
    for (size_t e = first; e < first + n; e++)
        for (size_t k = t; k < T; k++) {
            const size_t step = e * T + k;
            double *obs = ep->obs + (e * (T + 1) + k) * O;
            ep->rewards[step] = 0.0;
            ep->terminated[step] = ep->terminated[step - 1];
            ep->dones[step] = 1;
            ep->events[step] = ep->events[step - 1];
            memcpy(obs + O, obs, O * sizeof *obs);
        }
}

/* Nothing of a lost episode counts. */
static void erase_lost(episodes *ep, size_t e)
{
    const size_t O = ep->O, T = ep->T;
    const double *start = ep->obs + e * (T + 1) * O;
    ep->lengths[e] = 0;
    for (size_t t = 0; t < T; t++) {
        ep->rewards[e * T + t] = 0.0;
        ep->terminated[e * T + t] = ep->dones[e * T + t] = 1;
        ep->events[e * T + t] = 0;
        memcpy(ep->obs + (e * (T + 1) + t + 1) * O, start, O * sizeof *start);
    }
}

/* Metrics of the episodes of a batch, and which of them were lost. */
static tce_status end_batch(episodes *ep, size_t first, size_t n)
{
    tce_status status = TCE_OK;
    for (size_t k = 0; k < ep->n_parts; k++) {
        const episodes_part *part = &ep->parts[k];
        const size_t n_rows = part_rows(part, n), at = first + part->begin;
        if (status == TCE_OK && ep->M > 0)
            status = tce_rollout_metrics(part->rollout, n_rows, ep->results + at * ep->M);
        for (size_t i = 0; i < n_rows; i++)
            ep->lost[part->begin + i] = tce_rollout_status(part->rollout, i) != TCE_OK;
    }
    const ranks_rows rows[] = { { ep->results + first * ep->M, ep->M * sizeof(double) },
                                { ep->lost, sizeof *ep->lost } };
    return gather(ep, status, n, sizeof rows / sizeof rows[0], rows);
}

static tce_status act_batch(episodes *ep, size_t first, size_t n)
{
    int goes_on = 1;
    size_t t = 0;
    tce_status status = TCE_OK;
    memset(ep->lengths + first, 0, n * sizeof *ep->lengths);
    for (; status == TCE_OK && goes_on && t < ep->T; t++)
        status = act(ep, first, n, t, &goes_on);
    if (status != TCE_OK)
        return status;
    fill_rest(ep, first, n, t);
    status = end_batch(ep, first, n);
    for (size_t i = 0; i < n; i++)
        if (ep->lost[i])
            erase_lost(ep, first + i);
    return status;
}

/* ---- collections ----------------------------------------------------------------------------- */

static void sum_rewards(episodes *ep)
{
    for (size_t e = 0; e < ep->E; e++) {
        ep->returns[e] = 0.0;
        for (size_t t = 0; t < ep->T; t++)
            ep->returns[e] += ep->rewards[e * ep->T + t];
    }
}

/* Episodes that run at once, then the rounds that they are, in order. */
static tce_status collect_batch(episodes *ep, size_t first, size_t n, int explore, after_round hook,
                                void *context)
{
    tce_status status = start_batch(ep, first, n);
    if (status == TCE_OK)
        status = ep->agent->acts ? act_batch(ep, first, n) : plan_batch(ep, first, n, explore);
    for (size_t at = 0; status == TCE_OK && hook && at < n; at += ep->N)
        status = hook(context, ep, first + at, smaller_size(ep->N, n - at));
    for (size_t i = 0; status == TCE_OK && i < n; i++) {
        ep->n_dropped += ep->lengths[first + i] == 0;
        ep->n_steps += ep->lengths[first + i];
    }
    return status;
}

tce_status episodes_collect(episodes *ep, uint64_t number, int explore, after_round hook,
                            void *context)
{
    ep->number = number;
    ep->n_dropped = 0;
    ep->n_steps = 0;
    tce_status status = !ep->states                   ? TCE_OK
                        : episodes_are_evaluation(ep) ? set_states(ep, ep->N, ep->states)
                                                      : episodes_get_states(ep, ep->states);
    if (ep->states)
        status = gather_states(ep, status, ep->states);
    for (size_t first = 0; status == TCE_OK && first < ep->E; first += ep->B)
        status = collect_batch(ep, first, smaller_size(ep->B, ep->E - first), explore, hook,
                               context);
    if (status == TCE_OK && ep->n_dropped == ep->E)
        return tce_fail(TCE_E_ENV, "all %zu episodes were dropped; the first said: %s", ep->E,
                        tce_rollout_message(ep->parts[0].rollout, 0));
    if (status == TCE_OK)
        sum_rewards(ep);
    return status;
}

void episodes_report(const episodes *ep, double *out)
{
    const double n = (double)(ep->E - ep->n_dropped);
    double sum_return = 0.0;
    for (size_t e = 0; e < ep->E; e++)
        sum_return += ep->lengths[e] > 0 ? ep->returns[e] : 0.0;
    *out++ = sum_return / n;
    for (size_t k = 0; k < ep->M; k++) {
        double sum = 0.0;
        for (size_t e = 0; e < ep->E; e++)
            sum += ep->lengths[e] > 0 ? ep->results[e * ep->M + k] : 0.0;
        *out++ = sum / n;
    }
    *out = (double)ep->n_steps / n;
}

int episodes_desired_velocity(const episodes *ep, size_t e, double *out)
{
    const size_t n = (size_t)ep->lengths[e], D = ep->D;
    if (ep->agent->acts)
        return 0;
    if (n > 0) {
        memcpy(out, ep->init_vel + e * D, D * sizeof *out);
        memcpy(out + D, ep->vel + e * ep->T * D, (n - 1) * D * sizeof *out);
    }
    return 1;
}

int episodes_measured_velocity(const episodes *ep, size_t e, double *out)
{
    const size_t n = (size_t)ep->lengths[e], D = ep->D;
    const size_t end = (size_t)ep->spec->velocity_end;
    if (end == 0 || D == 0)
        return 0;
    for (size_t t = 0; t < n; t++)
        memcpy(out + t * D, ep->obs + (e * (ep->T + 1) + t) * ep->O + end - D, D * sizeof *out);
    return 1;
}

/* ---- replay ---------------------------------------------------------------------------------- */

/* Episode e; the instance is in the state that its environment was in before. */
static tce_status replay_one(const episodes *ep, size_t e, void *instance, double *work,
                             replay_seen seen, void *context)
{
    double *obs = work, *pos = work + ep->O, *vel = pos + ep->D;
    tce_random random;
    int32_t event = 0;
    start_stream(ep, e, &random);
    tce_status status = ep->vtable->reset(instance, &random, obs, pos, vel);
    if (status == TCE_OK && seen)
        status = seen(context, instance, 0, 0.0);
    for (size_t t = 0; status == TCE_OK && t < (size_t)ep->lengths[e]; t++) {
        const size_t step = e * ep->T + t, at = step * ep->D;
        tce_env_result result = { .event = event };
        if (ep->agent->acts)
            status = ep->vtable->step_action(instance, ep->actions + step * ep->P, obs, &result);
        else
            status = ep->vtable->step(instance, ep->pos + at, ep->vel + at, obs, &result);
        event = result.event;
        if (status == TCE_OK && seen)
            status = seen(context, instance, t + 1, result.reward);
    }
    return status;
}

tce_status collect_replay(const episodes *ep, size_t e, void *instance, double *work,
                          replay_seen seen, void *context)
{
    tce_status status = TCE_OK;
    if (ep->states) {
        const size_t env = e % ep->N, n_state = tce_rollout_n_state(ep->parts[0].rollout);
        status = ep->vtable->set_state(instance, ep->states + env * n_state, work);
        for (size_t before = env; status == TCE_OK && before < e; before += ep->N)
            status = replay_one(ep, before, instance, work, NULL, NULL);
    }
    return status == TCE_OK ? replay_one(ep, e, instance, work, seen, context) : status;
}

/* ---- states, for tasks that carry them from episode to episode ------------------------------- */

tce_status episodes_save(const episodes *ep, tce_store *store, const char *name)
{
    if (!ep->spec->carries_state)
        return TCE_OK;
    const size_t shape[2] = { ep->N, tce_rollout_n_state(ep->parts[0].rollout) };
    int failed = 0;
    double *states = array_of_doubles(shape[0] * shape[1], &failed);
    tce_status status = failed ? tce_fail(TCE_E_NOMEM,
                                          "no memory for the states of %zu environments", ep->N)
                               : episodes_get_states(ep, states);
    status = gather_states(ep, status, states);
    if (status == TCE_OK)
        status = tce_store_put(store, name, TCE_STORE_F64, 2, shape, states);
    free(states);
    return status;
}

/*
 * There may be another number of environments now, since evaluate.episodes may change: those that
 * there were continue.
 */
tce_status episodes_load(episodes *ep, const tce_store *store, const char *name)
{
    tce_store_array array = TCE_INIT(tce_store_array);
    if (!ep->spec->carries_state)
        return TCE_OK;
    const tce_status status = tce_store_get(store, name, &array);
    if (status != TCE_OK)
        return status;
    if (array.type != TCE_STORE_F64 || array.rank != 2 ||
        array.shape[1] != tce_rollout_n_state(ep->parts[0].rollout))
        return tce_fail(TCE_E_CORRUPT, "%s are not the states of this task", name);
    return ranks_agree(ep->ranks, set_states(ep, smaller_size(ep->N, array.shape[0]), array.data));
}
