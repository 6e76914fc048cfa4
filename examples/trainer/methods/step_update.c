/*
 * Loss of a minibatch. A: its advantages, normalised over it or not.
 *
 *     -mean min(rho A, clip(rho, 1 +- eps) A) - c_H mean entropy + c_V mean (R - V_c)^2
 *     V_c = V_old + clip(V - V_old, +- eps_v);  only the clipped error counts
 */
#include "methods/step_update.h"

#include <math.h>
#include <string.h>

#include "methods/schedules.h"

void step_update_take(step_update *u, memory *m, size_t max_rows, size_t O, size_t A)
{
    memset(u, 0, sizeof *u);
    u->O = O;
    u->A = A;
    u->obs = memory_doubles(m, max_rows * O);
    u->actions = memory_doubles(m, max_rows * A);
    u->log_prob = memory_doubles(m, max_rows);
    u->old_log_prob = memory_doubles(m, max_rows);
    u->advantages = memory_doubles(m, max_rows);
    u->d_log_prob = memory_doubles(m, max_rows);
}

/* ---- policy ---------------------------------------------------------------------------------- */

static void gather(step_update *u, const step_samples *s, size_t n, const uint32_t *rows)
{
    for (size_t i = 0; i < n; i++) {
        const size_t row = rows[i];
        memcpy(u->obs + i * u->O, s->obs + row * u->O, u->O * sizeof *u->obs);
        memcpy(u->actions + i * u->A, s->actions + row * u->A, u->A * sizeof *u->actions);
        u->old_log_prob[i] = s->log_prob[row];
        u->advantages[i] = s->advantages[row];
    }
}

static tce_status policy_gradient(step_update *u, const step_samples *s, size_t n,
                                  const uint32_t *rows, const step_update_options *o,
                                  step_report *out)
{
    tce_returns_stats stats = TCE_INIT(tce_returns_stats);
    gather(u, s, n, rows);
    if (o->normalise_advantages)
        tce_returns_normalise(n, NULL, u->advantages);
    tce_status status = step_policy_predict(u->policy, n, u->obs);
    if (status == TCE_OK)
        status = step_policy_log_prob(u->policy, u->actions, u->log_prob);
    if (status == TCE_OK)
        status = tce_returns_surrogate(n, u->log_prob, u->old_log_prob, u->advantages, NULL,
                                       o->ratio_clip, &stats, u->d_log_prob);
    if (status == TCE_OK)
        status = step_policy_entropy(u->policy, &out->entropy);
    if (status == TCE_OK)
        status = step_policy_backward(u->policy, u->actions, u->d_log_prob, o->entropy_coefficient);
    out->policy_loss = stats.loss;
    out->clip_fraction = stats.fraction_clipped;
    out->approx_kl = stats.approx_kl;
    return status;
}

/* ---- both ------------------------------------------------------------------------------------ */

typedef struct call {
    step_update *u;
    const step_samples *s;
    size_t n;
    const uint32_t *rows;
    const step_update_options *o;
    step_report *out;
} call;

/* Item 0 is the policy, item 1 the value network: they share nothing but what they read. */
static tce_status gradient_work(void *context, size_t chunk, size_t begin, size_t end,
                                int32_t worker)
{
    const call *c = context;
    (void)chunk;
    (void)worker;
    tce_status status = TCE_OK;
    for (size_t item = begin; status == TCE_OK && item < end; item++) {
        const value_samples values = { c->s->obs, c->s->returns, c->s->values };
        value_report value;
        if (item == 0) {
            status = policy_gradient(c->u, c->s, c->n, c->rows, c->o, c->out);
            continue;
        }
        status = value_gradient(c->u->critic, &values, c->n, c->rows, c->o->value_coefficient,
                                c->o->critic_clip, &value);
        if (status == TCE_OK)
            c->out->value_loss = value.loss;
    }
    return status;
}

tce_status step_update_gradient(step_update *u, const step_samples *s, size_t n,
                                const uint32_t *rows, const step_update_options *o,
                                step_report *out)
{
    call c = { u, s, n, rows, o, out };
    const tce_status status = o->apart ? tce_pool_run(u->pool, 2, 1, gradient_work, &c)
                                       : gradient_work(&c, 0, 0, 2, 0);
    if (status == TCE_OK)
        out->gradient_norm = hypot(step_policy_gradient_norm(u->policy),
                                   tce_net_gradient_norm(u->critic));
    return status;
}

tce_status step_update_run(step_update *u, const step_samples *s, size_t n, const uint32_t *rows,
                           const step_update_options *o, step_report *out)
{
    tce_status status = step_update_gradient(u, s, n, rows, o, out);
    if (status != TCE_OK)
        return status;
    const double factor = clip_factor(out->gradient_norm, o->max_norm);
    if (factor < 1.0) {
        step_policy_scale_gradient(u->policy, factor);
        tce_net_scale_gradient(u->critic, factor);
    }
    status = step_policy_adam_step(u->policy, &o->policy_adam);
    return status == TCE_OK ? tce_net_adam_step(u->critic, &o->critic_adam) : status;
}

/* ---- minibatches ----------------------------------------------------------------------------- */

minibatches minibatches_of(size_t n, size_t count, size_t size)
{
    const minibatches m = { n, size > 0 ? (n + size - 1) / size : count < n ? count : n, size };
    return m;
}

size_t minibatch_begin(const minibatches *m, size_t k)
{
    if (m->size > 0)
        return k * m->size < m->n ? k * m->size : m->n;
    const size_t least = m->n / m->count, longer = m->n % m->count;
    return k * least + (k < longer ? k : longer);
}
