/*
 * BBRL: episodic black-box reinforcement learning, with a full (Cov) or diagonal (Std) covariance
 * [algorithm 5].
 *
 * One reward an episode (the return G), a critic on the context with target G, the advantage G - V
 * normalised over the batch, and the likelihood of the parameters themselves; the same trust region
 * as TCE.
 */
#include <stdio.h>
#include <string.h>

#include "methods/episodic.h"
#include "methods/primitive.h"
#include "tools/clock.h"

/* Arrays of E episodes. */
typedef struct bbrl_data {
    double *values;       /* [E] */
    double *advantages;   /* [E] */
    double *log_prob;     /* [E] */
    double *old_log_prob; /* [E] */
    double *d_log_prob;   /* [E] */
    double *work;         /* scratch of the Gaussians */
    double *fit_inputs;   /* [E, O_net]: episodes that were not dropped */
    double *fit_targets;  /* [E] */
    uint8_t *mask;        /* [E]: 1 where the episode counts */
} bbrl_data;

static void take_arrays(const learner *l, size_t P, bbrl_data *d, memory *m)
{
    const size_t E = l->train.E;
    d->values = memory_doubles(m, E);
    d->advantages = memory_doubles(m, E);
    d->log_prob = memory_doubles(m, E);
    d->old_log_prob = memory_doubles(m, E);
    d->d_log_prob = memory_doubles(m, E);
    d->work = memory_doubles(m, tce_gauss_work_size(E, P));
    d->fit_inputs = memory_doubles(m, E * l->train.O_net);
    d->fit_targets = memory_doubles(m, E);
    d->mask = memory_take(m, E, sizeof(uint8_t));
}

static tce_status measure(const learner *l, tce_pool *pool, size_t P, memory *m)
{
    bbrl_data d;
    (void)pool;
    take_arrays(l, P, &d, m);
    return TCE_OK;
}

static tce_status create(const method_context *c, void **out)
{
    const episodic_options options = { .measure = measure };
    learner *l = NULL;
    const tce_status status = episodic_create(c, &options, &l);
    *out = NULL;
    if (status != TCE_OK)
        return status;

    bbrl_data *d = l->own = memory_take(&l->arrays, 1, sizeof *d);
    if (d)
        take_arrays(l, l->train.P, d, &l->arrays);
    if (l->arrays.failed) {
        episodic_destroy(l);
        return tce_fail(TCE_E_NOMEM, "no memory for %d episodes: lower collect.episodes",
                        (int)c->s->collect.episodes);
    }
    *out = l;
    return TCE_OK;
}

/*
 * A = G - V(context), normalised over the episodes that count; the critic's rows are gathered on
 * the way.
 */
static tce_status judge_episodes(learner *l, size_t *out_n)
{
    bbrl_data *d = l->own;
    const episodes *ep = &l->train;
    size_t n = 0;
    for (size_t e = 0; e < ep->E; e++) {
        d->mask[e] = ep->lengths[e] > 0;
        if (!d->mask[e])
            continue;
        memcpy(d->fit_inputs + n * ep->O_net, ep->inputs + e * ep->O_net,
               ep->O_net * sizeof(double));
        d->fit_targets[n++] = ep->returns[e];
    }
    *out_n = n;

    tce_status status = TCE_OK;
    if (l->s.critic.normalise) {
        status = tce_normaliser_update(l->critic.normaliser, n, d->fit_inputs, NULL);
        if (status == TCE_OK)
            status = tce_normaliser_apply(l->critic.normaliser, n, d->fit_inputs, d->fit_inputs);
    }
    if (status == TCE_OK)
        status = critic_value(&l->critic, n, d->fit_inputs, d->values);
    if (status != TCE_OK)
        return status;

    for (size_t e = 0, row = 0; e < ep->E; e++)
        d->advantages[e] = d->mask[e] ? ep->returns[e] - d->values[row++] : 0.0;
    tce_returns_normalise(ep->E, d->mask, d->advantages);
    return TCE_OK;
}

/* The update on the likelihood of the parameters. */
static tce_status update_policy(learner *l, int64_t i, progress *out)
{
    const bbrl_data *d = l->own;
    const episodes *ep = &l->train;
    parameter_likelihood loss = { .n = ep->E,
                                  .n_factors = l->policy.n_factors,
                                  .P = ep->P,
                                  .params = ep->params,
                                  .old_log_prob = d->old_log_prob,
                                  .advantages = d->advantages,
                                  .mask = d->mask,
                                  .ratio_clip = l->s.projection.ratio_clip,
                                  .log_prob = d->log_prob,
                                  .d_log_prob = d->d_log_prob,
                                  .work = d->work };
    return episodic_train_policy(l, i, parameter_surrogate, &loss, out);
}

static tce_status iterate(void *self, int64_t i, progress *out)
{
    learner *l = self;
    bbrl_data *d = l->own;
    const episodes *ep = &l->train;
    tce_status status = episodic_collect(l, i, NULL, out);
    if (status != TCE_OK)
        return status;

    const double start = now_seconds();
    size_t n = 0;
    status = judge_episodes(l, &n);
    const tce_gauss old_policy = { .struct_size = sizeof old_policy,
                                   .n = ep->E,
                                   .dim = ep->P,
                                   .n_scales = l->policy.n_factors,
                                   .mean = ep->mean,
                                   .scale = ep->factor };
    if (status == TCE_OK)
        status = tce_gauss_log_prob(&old_policy, ep->params, d->work, d->old_log_prob);
    if (status == TCE_OK)
        status = episodic_train_critic(l, i, n, d->fit_inputs, d->fit_targets, out);
    out->seconds[PHASE_CRITIC] = now_seconds() - start;
    return status == TCE_OK ? update_policy(l, i, out) : status;
}

static void label(const settings *s, char *out, size_t size)
{
    static const char *const FORMS[] = { " Cov", " Cov contextual", " Std" };
    snprintf(out, size, "BBRL%s%s", FORMS[s->policy.options.form],
             s->projection.ratio_clip > 0.0 ? " clip" : "");
}

static const settings_group *const GROUPS[] = {
    &SETTINGS_RUN,    &SETTINGS_TASK,   &SETTINGS_COLLECT,    &SETTINGS_EVALUATE, &SETTINGS_MP,
    &SETTINGS_POLICY, &SETTINGS_CRITIC, &SETTINGS_PROJECTION, &SETTINGS_SCHEDULE, NULL
};

/* one value per episode, which depends on its context alone */
static const char *const DEFAULTS[] = { "collect.mask_context=true", "collect.time_input=false",
                                        "critic.epochs=30", "projection.coefficient=10", NULL };

const method METHOD_TABLE_BBRL = { .settings = { "bbrl", GROUPS, DEFAULTS, NULL },
                                   EPISODIC_ROW,
                                   .label = label,
                                   .create = create,
                                   .destroy = episodic_destroy,
                                   .own_columns = EPISODIC_COLUMNS,
                                   .iterate = iterate };
