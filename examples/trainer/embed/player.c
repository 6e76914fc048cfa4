/*
 * Trained policies: the mean of one asked by hand, and episodes of a run folder.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "embed/embed.h"
#include "methods/methods.h"
#include "run/policy_runner.h"

/* ---- one policy ------------------------------------------------------------------------------ */

struct tce_train_agent {
    tce_store *store;
    agent agent;
    size_t max_batch;
    double *work; /* of max_batch observations */
};

tce_status tce_train_agent_open(const char *path, int32_t max_batch, tce_train_agent **out)
{
    *out = NULL;
    tce_train_agent *a = calloc(1, sizeof *a);
    if (!a)
        return tce_fail(TCE_E_NOMEM, "no memory for a policy");
    a->max_batch = (size_t)max_batch;
    tce_status status = own_store_load(path, &a->store);
    if (status == TCE_OK) {
        status = agent_open(&a->agent, a->store, max_batch, NULL);
        if (status != TCE_OK)
            status = tce_fail(status, "%s: %s", path, tce_error_message());
    }
    if (status == TCE_OK) {
        a->work = calloc(agent_work(&a->agent, a->max_batch), sizeof *a->work);
        if (!a->work)
            status = tce_fail(TCE_E_NOMEM, "no memory for %zu observations", a->max_batch);
    }
    if (status != TCE_OK) {
        tce_train_agent_free(a);
        return status;
    }
    *out = a;
    return TCE_OK;
}

void tce_train_agent_free(tce_train_agent *agent)
{
    if (!agent)
        return;
    agent_close(&agent->agent);
    tce_store_free(agent->store);
    free(agent->work);
    free(agent);
}

void tce_train_agent_sizes(const tce_train_agent *agent, tce_train_sizes *out)
{
    const struct agent *a = &agent->agent;
    *out = (tce_train_sizes){ .struct_size = sizeof *out,
                              .n_obs = (int32_t)a->O,
                              .n_context = (int32_t)a->n_context,
                              .n_dof = (int32_t)a->D,
                              .n_params = (int32_t)a->P,
                              .n_steps = (int32_t)a->T,
                              .acts = a->acts,
                              .dt = a->dt,
                              .context = a->context,
                              .task = a->task,
                              .mp = a->mp };
}

tce_status tce_train_agent_act(tce_train_agent *agent, size_t n, const double *obs, double time,
                               double *out)
{
    if (n > agent->max_batch)
        return tce_fail(TCE_E_SHAPE, "n = %zu observations, the limit is %zu", n, agent->max_batch);
    return agent_act(&agent->agent, n, obs, time, agent->work, out);
}

tce_status tce_train_agent_save(const tce_train_agent *agent, const char *path)
{
    tce_store *store = NULL;
    tce_status status = tce_store_create(NULL, &store);
    if (status == TCE_OK)
        status = agent_save(&agent->agent, store);
    if (status == TCE_OK)
        status = tce_store_save(store, path);
    tce_store_free(store);
    return status;
}

tce_status tce_train_agent_write(const tce_train_parts *parts, const char *path)
{
    struct agent check = { 0 }, a = { .policy = parts->policy,
                                      .mp = parts->mp,
                                      .O = (size_t)parts->n_obs,
                                      .O_net = tce_policy_n_obs(parts->policy),
                                      .T = (size_t)parts->n_steps,
                                      .D = tce_mp_n_dof(parts->mp),
                                      .P = tce_mp_n_params(parts->mp),
                                      .dt = parts->dt,
                                      .n_context = (size_t)parts->n_context,
                                      .context = parts->n_context > 0 ? parts->context : NULL,
                                      .task = parts->task };
    tce_store *store = NULL;
    tce_status status = tce_store_create(NULL, &store);
    if (status == TCE_OK)
        status = agent_save(&a, store);

    /* what could not be opened again is not written */
    if (status == TCE_OK) {
        status = agent_open(&check, store, 1, NULL);
        agent_close(&check);
    }
    if (status == TCE_OK)
        status = tce_store_save(store, path);
    tce_store_free(store);
    return status;
}

/* ---- episodes -------------------------------------------------------------------------------- */

struct tce_train_player {
    task t;
    tce_pool *pool;
    policy_runner runner;
};

tce_status tce_train_player_create(const tce_train_player_options *options, tce_train_player **out)
{
    *out = NULL;
    tce_train_player *p = calloc(1, sizeof *p);
    if (!p)
        return tce_fail(TCE_E_NOMEM, "no memory for an evaluation");
    p->t = embed_task(options->task);
    tce_pool_options pool;
    tce_pool_options_init(&pool, sizeof pool);
    tce_status status = policy_runner_load(&p->runner, options->folder, METHODS, NULL, &p->t);
    if (status == TCE_OK) {
        settings *s = &p->runner.s;
        s->run.seed = options->has_seed ? options->seed : s->run.seed;
        pool.n_threads = options->n_threads >= 0 ? options->n_threads : s->run.threads;
        status = tce_pool_create(&pool, NULL, &p->pool);
    }
    if (status == TCE_OK)
        status = policy_runner_create(&p->runner, options->n_episodes, p->pool);
    if (status != TCE_OK) {
        tce_train_player_free(p);
        return status;
    }
    *out = p;
    return TCE_OK;
}

void tce_train_player_free(tce_train_player *player)
{
    if (!player)
        return;
    policy_runner_close(&player->runner);
    tce_pool_free(player->pool);
    free(player);
}

size_t tce_train_player_n_metrics(const tce_train_player *player)
{
    return player->runner.ep.M;
}

const char *tce_train_player_metric(const tce_train_player *player, size_t i)
{
    return player->runner.ep.spec->metric_names[i];
}

tce_status tce_train_player_run(tce_train_player *player, double *returns, int32_t *lengths,
                                double *metrics)
{
    const episodes *ep = &player->runner.ep;
    const tce_status status = policy_runner_run(&player->runner, NULL, NULL);
    if (status != TCE_OK)
        return status;
    memcpy(returns, ep->returns, ep->E * sizeof *returns);
    memcpy(lengths, ep->lengths, ep->E * sizeof *lengths);
    if (ep->M > 0)
        memcpy(metrics, ep->results, ep->E * ep->M * sizeof *metrics);
    return TCE_OK;
}
