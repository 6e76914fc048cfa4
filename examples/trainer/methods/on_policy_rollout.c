/*
 * The rollout of all step-based on-policy methods.
 *
 * Observations meet the statistics that they have just entered [rivals 1.4]; so do terminal
 * observations, which never enter. Discounted returns G are normalised by their variance alone.
 */
#include "methods/on_policy.h"

#include <string.h>

#include "tools/clock.h"

static tce_status see(const on_policy *l, size_t n, const double *obs, double *out)
{
    if (l->seen_obs)
        return tce_normaliser_apply(l->seen_obs, n, obs, out);
    memcpy(out, obs, n * l->O * sizeof *out);
    return TCE_OK;
}

/*
 * Observations [N, O] enter the statistics, except those of environments that could not be reset.
 */
static tce_status take_in(on_policy *l, const double *obs)
{
    if (!l->seen_obs)
        return TCE_OK;
    for (size_t e = 0; e < l->N; e++)
        l->mask[e] = !l->env.waiting[e];
    return tce_normaliser_update(l->seen_obs, l->N, obs, l->mask);
}

/* Actions of the present means and deviations, from what was drawn. */
static tce_status explore(on_policy *l, double *out)
{
    const size_t N = l->N, A = l->A;
    const step_policy *p = &l->actor;
    if (!l->way.gsde) {
        l->draws.normals(l->draws.context, l->iteration, l->step, N * A, l->normals);
        return tce_gauss_sample(&p->now, l->normals, out);
    }
    const size_t size = l->F * A;
    if (l->step % l->o->sde_every == 0) {
        l->draws.normals(l->draws.context, l->iteration, l->step, N * size, l->normals);
        for (size_t e = 0; e < N; e++)
            gsde_matrix(&l->noise, l->normals + e * size, l->matrices + e * size);
    }
    for (size_t e = 0; e < N; e++) {
        gsde_noise(&l->noise, l->matrices + e * size, p->hidden + e * l->F, out + e * A);
        for (size_t d = 0; d < A; d++)
            out[e * A + d] += p->mean[e * A + d];
    }
    return TCE_OK;
}

/* What is kept of a choice: sample e S + step of environment e. */
static void keep(on_policy *l, const double *actions, const double *log_prob, const double *values)
{
    const size_t S = l->S, A = l->A, O = l->O, t = (size_t)l->step;
    step_rollout *r = &l->rollout;
    for (size_t e = 0; e < l->N; e++) {
        const size_t k = e * S + t;
        memcpy(r->obs + k * O, l->obs + e * O, O * sizeof(double));
        memcpy(r->actions + k * A, actions + e * A, A * sizeof(double));
        r->log_prob[k] = log_prob[e];
        r->values[k] = values[e];
        l->all_values[e * (S + 1) + t] = values[e];
        if (r->means)
            memcpy(r->means + k * A, l->actor.mean + e * A, A * sizeof(double));
    }
}

/* Item 0 is the policy, item 1 the value network. */
static tce_status predict_work(void *context, size_t item, size_t begin, size_t end, int32_t worker)
{
    on_policy *l = context;
    (void)begin, (void)end, (void)worker;
    return item == 0 ? step_policy_predict(&l->actor, l->N, l->obs)
                     : tce_net_evaluate(l->critic, l->N, l->obs, l->work, l->next_values);
}

static tce_status choose(void *context, const stepping *st, const double *obs, double *out_actions)
{
    on_policy *l = context;
    const double start = now_seconds();
    (void)st;
    double *log_prob = l->update.log_prob; /* free while no update is made */
    tce_status status = see(l, l->N, obs, l->obs);
    if (status == TCE_OK)
        status = tce_pool_run(l->pool, 2, 1, predict_work, l);
    if (status == TCE_OK)
        status = explore(l, out_actions);
    if (status == TCE_OK)
        status = step_policy_log_prob(&l->actor, out_actions, log_prob);
    if (status != TCE_OK)
        return status;
    keep(l, out_actions, log_prob, l->next_values);

    /* the environment gets what lies in its range */
    agent_output(&l->agent, l->N, out_actions);
    l->acting += now_seconds() - start;
    return TCE_OK;
}

/* Rewards [N] of a step -> normalised, after the returns that they make have entered. */
static tce_status normalise_rewards(on_policy *l, const stepping_seen *what, double *out)
{
    memcpy(out, what->rewards, l->N * sizeof *out);
    if (!l->seen_returns)
        return TCE_OK;
    const double discount = l->o->return_discount > 0.0 ? l->o->return_discount
                                                        : l->s.objective.gamma;
    for (size_t e = 0; e < l->N; e++) {
        l->discounted[e] = discount * l->discounted[e] + what->rewards[e];
        l->mask[e] = !what->lost[e];
    }
    tce_status status = tce_normaliser_update(l->seen_returns, l->N, l->discounted, l->mask);
    if (status == TCE_OK)
        status = tce_normaliser_apply(l->seen_returns, l->N, out, out);
    for (size_t e = 0; e < l->N; e++)
        if (what->terminated[e] || what->truncated[e])
            l->discounted[e] = 0.0;
    return status;
}

/* Adds gamma V(terminal observation) to rewards [N] where the time was up and nothing else. */
static tce_status bootstrap(on_policy *l, const stepping_seen *what, double *rewards)
{
    const size_t O = l->O;
    size_t n = 0;
    if (time_limit_ends(l->o->time_limit, l->s.objective.gamma))
        return TCE_OK;
    for (size_t e = 0; e < l->N; e++)
        if (what->truncated[e] && !what->terminated[e]) {
            memcpy(l->terminal + n * O, what->reached + e * O, O * sizeof(double));
            l->which[n++] = e;
        }
    if (n == 0)
        return TCE_OK;
    tce_status status = see(l, n, l->terminal, l->terminal);
    if (status == TCE_OK)
        status = tce_net_evaluate(l->critic, n, l->terminal, l->work, l->next_values);
    for (size_t k = 0; status == TCE_OK && k < n; k++)
        rewards[l->which[k]] += l->s.objective.gamma * l->next_values[k];
    return status;
}

static tce_status seen(void *context, const stepping *st, const stepping_seen *what)
{
    on_policy *l = context;
    step_rollout *r = &l->rollout;
    double *rewards = l->update.d_log_prob; /* free while no update is made */
    const double start = now_seconds();
    (void)st;
    tce_status status = take_in(l, what->next);
    if (status == TCE_OK)
        status = normalise_rewards(l, what, rewards);
    if (status == TCE_OK)
        status = bootstrap(l, what, rewards);
    if (status != TCE_OK)
        return status;
    for (size_t e = 0; e < l->N; e++) {
        const size_t k = e * l->S + (size_t)l->step;
        r->ends[k] = what->terminated[e] || what->truncated[e];
        r->lost[k] = what->lost[e];

        /* a lost step has no advantage, and the one before it ends where this one began */
        r->rewards[k] = what->lost[e] ? r->values[k] : rewards[e];
    }
    l->step++;
    l->acting += now_seconds() - start;
    return TCE_OK;
}

/* Values after the last step, advantages, and which samples count. */
static tce_status judge(on_policy *l)
{
    const size_t N = l->N, S = l->S;
    step_rollout *r = &l->rollout;
    tce_status status = see(l, N, l->env.obs, l->obs);
    if (status == TCE_OK)
        status = tce_net_evaluate(l->critic, N, l->obs, l->work, l->next_values);
    for (size_t e = 0; status == TCE_OK && e < N; e++)
        l->all_values[e * (S + 1) + S] = l->next_values[e];
    if (status == TCE_OK)
        status = tce_returns_gae(N, S, r->rewards, l->all_values, r->ends, l->s.objective.gamma,
                                 l->s.objective.lambda, r->advantages, r->returns);
    r->n_valid = 0;
    for (size_t k = 0; k < l->n; k++)
        if (!r->lost[k])
            r->valid[r->n_valid++] = (uint32_t)k;
    if (status == TCE_OK && l->o->normalise_advantages == ADVANTAGES_ROLLOUT) {
        for (size_t k = 0; k < l->n; k++)
            r->lost[k] = !r->lost[k];
        tce_returns_normalise(l->n, r->lost, r->advantages);
        for (size_t k = 0; k < l->n; k++)
            r->lost[k] = !r->lost[k];
    }
    return status;
}

tce_status on_policy_roll_out(on_policy *l, int64_t i)
{
    const stepping_learner learner = { l, choose, seen };
    int fresh = 0;
    l->iteration = i;
    l->step = 0;
    l->acting = 0.0;
    tce_status status = stepping_begin(&l->env, &fresh);
    if (status == TCE_OK && fresh)
        status = take_in(l, l->env.obs);
    if (status == TCE_OK)
        status = stepping_run(&l->env, (int64_t)l->S, &learner);
    if (status == TCE_OK && l->rollout.deviations)
        memcpy(l->rollout.deviations, l->actor.deviations, l->A * sizeof(double));
    l->n_steps += (int64_t)l->n;
    return status == TCE_OK ? judge(l) : status;
}
