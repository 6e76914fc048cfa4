/*
 * One epoch of a policy update, put together from libtce's handles; see update.h.
 */
#include "update.h"

/* Hands out `n` doubles of the memory; counts only, when there is none. */
static double *take(double *memory, size_t *used, size_t n)
{
    double *result = memory != NULL ? memory + *used : NULL;

    *used += n;
    return result;
}

static size_t lay_out(update_work *work, size_t E, size_t N, size_t P, double *memory)
{
    size_t used = 0;

    work->mean = take(memory, &used, E * P);
    work->L = take(memory, &used, N * P * P);
    work->proj_mean = take(memory, &used, E * P);
    work->proj_L = take(memory, &used, N * P * P);
    work->d_mean = take(memory, &used, E * P);
    work->d_L = take(memory, &used, N * P * P);
    work->d_entropy_L = take(memory, &used, N * P * P);
    work->entropies = take(memory, &used, N);
    work->d_entropies = take(memory, &used, N);
    work->log_prob = take(memory, &used, E);
    work->d_log_prob = take(memory, &used, E);
    work->gauss = take(memory, &used, tce_gauss_work(E, P));
    return used;
}

size_t update_work_size(size_t E, size_t N, size_t P)
{
    update_work work;

    return lay_out(&work, E, N, P, NULL);
}

void update_work_layout(update_work *work, size_t E, size_t N, size_t P, double *memory)
{
    lay_out(work, E, N, P, memory);
    tce_segment_stats_init(&work->stats, sizeof work->stats);
}

tce_status update_predict(const update_settings *s, const update_batch *b, update_work *w)
{
    tce_status st = tce_policy_predict(s->policy, b->E, b->contexts, w->mean, w->L);
    if (st != TCE_OK)
        return st;
    return tce_trpl_project(s->trpl, b->E, w->mean, w->L, b->old_mean, b->old_L, s->entropy_bound,
                            w->proj_mean, w->proj_L);
}

/* Surrogate of the projected policy: stats, and d_mean, d_L with respect to it. */
static tce_status surrogate(const update_settings *s, const update_batch *b, update_work *w)
{
    const size_t P = tce_policy_num_params(s->policy);
    const size_t N = tce_policy_num_factors(s->policy, b->E);

    /* TCE: likelihood of path segments */
    if (s->segment != NULL)
        return tce_segment_surrogate(s->segment, b->E, b->positions, w->proj_mean, w->proj_L,
                                     b->init_pos, b->init_vel, b->log_prob_old, b->advantages,
                                     b->mask, s->ratio_clip, &w->stats, NULL, w->d_mean, w->d_L);

    /* BBRL: likelihood of the sampled parameters */
    tce_status st = tce_gauss_log_prob(b->E, P, N, b->params, w->proj_mean, w->proj_L, w->gauss,
                                       w->log_prob);
    if (st != TCE_OK)
        return st;
    st = tce_surrogate(b->E, w->log_prob, b->log_prob_old, b->advantages, b->mask, s->ratio_clip,
                       &w->stats, w->d_log_prob);
    if (st != TCE_OK)
        return st;
    return tce_gauss_log_prob_backward(b->E, P, N, b->params, w->proj_mean, w->proj_L,
                                       w->d_log_prob, w->gauss, NULL, w->d_mean, w->d_L);
}

/* Mean entropy of the projected policy; adds the gradient of -bonus times it to d_L. */
static tce_status entropy_bonus(const update_settings *s, const update_batch *b, update_work *w)
{
    const size_t P = tce_policy_num_params(s->policy);
    const size_t N = tce_policy_num_factors(s->policy, b->E);

    tce_status st = tce_gauss_entropy(N, P, w->proj_L, w->entropies);
    if (st != TCE_OK)
        return st;
    w->entropy = 0.0;
    for (size_t i = 0; i < N; i++) {
        w->entropy += w->entropies[i] / (double)N;
        w->d_entropies[i] = -s->bonus / (double)N;
    }
    if (s->bonus == 0.0)
        return TCE_OK;
    st = tce_gauss_entropy_backward(N, P, w->proj_L, w->d_entropies, w->d_entropy_L);
    for (size_t i = 0; i < N * P * P && st == TCE_OK; i++)
        w->d_L[i] += w->d_entropy_L[i];
    return st;
}

tce_status update_gradient(const update_settings *s, const update_batch *b, update_work *w)
{
    /* predict, project, and the loss of the projected policy */
    tce_status st = update_predict(s, b, w);
    if (st == TCE_OK)
        st = surrogate(s, b, w);
    if (st == TCE_OK)
        st = entropy_bonus(s, b, w);

    /* back through the projection; the regression loss acts on the network's own output */
    if (st == TCE_OK)
        st = tce_trpl_backward(s->trpl, b->E, w->d_mean, w->d_L, w->d_mean, w->d_L);
    w->trust_region = 0.0;
    if (st == TCE_OK && s->coefficient != 0.0)
        st = tce_trpl_regression(s->trpl, b->E, w->mean, w->L, s->coefficient, s->regress_cov,
                                 &w->trust_region, w->d_mean, w->d_L);

    if (st == TCE_OK)
        st = tce_policy_backward(s->policy, b->E, w->d_mean, w->d_L);
    return st;
}
