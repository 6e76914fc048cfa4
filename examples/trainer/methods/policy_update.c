/*
 * The policy update that TCE and BBRL share:
 * loss = surrogate(projected) + regression to the projected policy - entropy bonus; Adam [algorithm
 * 3, step 7].
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/memory.h"
#include "methods/policy_update.h"

/* hooks: NULL, or those of memory.h */
static tce_status create_policy(policy_learner *pl, const settings *s, tce_pool *pool,
                                size_t n_inputs, size_t max_batch, const tce_hooks *hooks)
{
    tce_policy_options policy;
    tce_policy_options_init(&policy, sizeof policy);
    policy.n_obs = (int32_t)n_inputs;
    policy.n_params = (int32_t)pl->P;
    policy.form = s->policy.covariance;
    policy.n_hidden = s->policy.hidden.n;
    policy.hidden = s->policy.hidden.v;
    policy.activation = s->policy.activation;
    policy.precision = s->policy.precision;
    policy.start = s->policy.start;
    policy.max_batch = (int32_t)max_batch;
    policy.min_std = s->policy.min_std;
    policy.initial_std = s->policy.initial_std;
    policy.pool = pool;
    tce_status status = tce_policy_create(&policy, hooks, &pl->policy);
    if (status != TCE_OK)
        return status;

    tce_random random;
    tce_random_start(&random, s->run.seed, PURPOSE_POLICY_START, 0, 0);
    return tce_policy_start(pl->policy, &random);
}

static tce_status create_projection(policy_learner *pl, const settings *s, tce_pool *pool,
                                    const tce_hooks *hooks)
{
    const int clipped = s->projection.ratio_clip > 0.0;
    tce_trpl_options trpl;
    tce_trpl_options_init(&trpl, sizeof trpl);
    trpl.kind = clipped ? TCE_TRPL_IDENTITY : s->projection.kind;
    trpl.dim = (int32_t)pl->P;
    trpl.max_batch = (int32_t)pl->E;
    trpl.shared_cov = s->policy.covariance != TCE_POLICY_FULL_CONTEXTUAL;
    trpl.diagonal = s->policy.covariance == TCE_POLICY_DIAGONAL_SHARED;
    trpl.entropy = clipped || s->projection.entropy_schedule == TCE_TRPL_SCHEDULE_NONE
                       ? TCE_TRPL_ENTROPY_NONE
                       : s->projection.entropy;
    trpl.entropy_first = s->projection.entropy_first;
    trpl.mean_bound = s->projection.mean_bound;
    trpl.cov_bound = s->projection.cov_bound;
    trpl.pool = pool;
    return tce_trpl_create(&trpl, hooks, &pl->trpl);
}

/* Sizes, then the arrays. */
static void take_arrays(policy_learner *pl, const settings *s, size_t P, memory *m)
{
    memset(pl, 0, sizeof *pl);
    pl->E = (size_t)s->collect.episodes;
    pl->P = P;
    pl->n_factors = s->policy.covariance == TCE_POLICY_FULL_CONTEXTUAL ? pl->E : 1;
    pl->initial_entropy = NAN;
    pl->mean = memory_doubles(m, pl->E * P);
    pl->L = memory_doubles(m, pl->n_factors * P * P);
    pl->proj_mean = memory_doubles(m, pl->E * P);
    pl->proj_L = memory_doubles(m, pl->n_factors * P * P);
    pl->d_mean = memory_doubles(m, pl->E * P);
    pl->d_L = memory_doubles(m, pl->n_factors * P * P);
    pl->entropy = memory_doubles(m, pl->n_factors);
}

tce_status policy_learner_bytes(const settings *s, tce_pool *pool, size_t n_inputs, size_t P,
                                size_t max_batch, double *out)
{
    policy_learner pl;
    memory m = { .measure = 1 };
    tce_hooks hooks;
    take_arrays(&pl, s, P, &m);
    memory_hooks(&m, &hooks);
    tce_status status = memory_measured(create_policy(&pl, s, pool, n_inputs, max_batch, &hooks));
    if (status == TCE_OK)
        status = memory_measured(create_projection(&pl, s, pool, &hooks));
    *out = m.bytes;
    return status;
}

tce_status policy_learner_create(policy_learner *pl, const settings *s, tce_pool *pool,
                                 size_t n_inputs, size_t P, size_t max_batch)
{
    memory m = { 0 };
    take_arrays(pl, s, P, &m);
    tce_status status = m.failed
                            ? tce_fail(TCE_E_NOMEM, "no memory for a policy of %zu parameters", P)
                            : TCE_OK;
    if (status == TCE_OK)
        status = create_policy(pl, s, pool, n_inputs, max_batch, NULL);
    if (status == TCE_OK)
        status = create_projection(pl, s, pool, NULL);
    if (status != TCE_OK)
        policy_learner_free(pl);
    return status;
}

void policy_learner_free(policy_learner *pl)
{
    tce_policy_free(pl->policy);
    tce_trpl_free(pl->trpl);
    double *const arrays[] = { pl->mean,   pl->L,   pl->proj_mean, pl->proj_L,
                               pl->d_mean, pl->d_L, pl->entropy };
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++)
        free(arrays[i]);
    memset(pl, 0, sizeof *pl);
}

tce_status policy_learner_save(const policy_learner *pl, tce_store *store)
{
    tce_status status = tce_policy_save(pl->policy, store, "policy");
    if (status == TCE_OK)
        status = tce_store_put(store, "trainer.initial_entropy", TCE_F64, 0, NULL,
                               &pl->initial_entropy);
    return status;
}

tce_status policy_learner_load(policy_learner *pl, const tce_store *store)
{
    double initial_entropy;
    tce_status status = tce_store_read(store, "trainer.initial_entropy", TCE_F64, 1,
                                       &initial_entropy);
    if (status == TCE_OK)
        status = tce_policy_load(pl->policy, store, "policy");
    if (status == TCE_OK)
        pl->initial_entropy = initial_entropy;
    return status;
}

/* Mean entropy of the factors L [n_factors, P, P]. */
static tce_status mean_entropy(policy_learner *pl, const double *L, double *out)
{
    const tce_status status = tce_gauss_entropy(pl->n_factors, pl->P, L, pl->entropy);
    *out = 0.0;
    for (size_t k = 0; status == TCE_OK && k < pl->n_factors; k++)
        *out += pl->entropy[k] / (double)pl->n_factors;
    return status;
}

/* H_min of iteration i; the first roll-out's entropy is where the schedule starts. */
static tce_status entropy_bound(policy_learner *pl, const settings *s, int64_t i,
                                const double *old_L, double *out)
{
    if (isnan(pl->initial_entropy)) {
        const tce_status status = mean_entropy(pl, old_L, &pl->initial_entropy);
        if (status != TCE_OK)
            return status;
    }
    const int64_t length = s->schedule.entropy_iterations > 0 ? s->schedule.entropy_iterations
                                                              : s->run.iterations;
    return tce_trpl_entropy_bound(s->projection.entropy_schedule, pl->P, pl->initial_entropy,
                                  s->projection.entropy_target, s->projection.entropy_temperature,
                                  (uint64_t)i, (uint64_t)length, out);
}

/* d_L of -coefficient * mean entropy: -coefficient / (n_factors L_ii) on the diagonals. */
static void add_entropy_bonus(policy_learner *pl, double coefficient)
{
    const size_t P = pl->P;
    for (size_t k = 0; k < pl->n_factors; k++)
        for (size_t i = 0; i < P; i++)
            pl->d_L[k * P * P + i * (P + 1)] -= coefficient / ((double)pl->n_factors *
                                                               pl->proj_L[k * P * P + i * (P + 1)]);
}

/* What the last epoch measured, and sums of the losses over all epochs. */
typedef struct epoch_report {
    tce_segment_stats stats;
    double regression;
    double gradient_norm;
    double loss_sum, regression_sum;
} epoch_report;

static tce_status predict_and_project(policy_learner *pl, const double *inputs,
                                      const double *old_mean, const double *old_L, double bound)
{
    const tce_status status = tce_policy_predict(pl->policy, pl->E, inputs, pl->mean, pl->L);
    if (status != TCE_OK)
        return status;
    return tce_trpl_project(pl->trpl, pl->E, pl->mean, pl->L, old_mean, old_L, bound, pl->proj_mean,
                            pl->proj_L);
}

static tce_status one_epoch(policy_learner *pl, const settings *s, int64_t i, const double *inputs,
                            const double *old_mean, const double *old_L, double bound,
                            surrogate loss, void *context, epoch_report *report)
{
    tce_adam_options adam;
    tce_adam_options_init(&adam, sizeof adam);
    adam.learning_rate = s->policy.learning_rate;
    adam.l2 = s->policy.l2;
    const double rate_factor = tce_linear_schedule((uint64_t)(i - 1),
                                                   (uint64_t)s->schedule.learning_rate_iterations);

    /* forward */
    tce_status status = predict_and_project(pl, inputs, old_mean, old_L, bound);
    if (status == TCE_OK)
        status = loss(context, pl->proj_mean, pl->proj_L, &report->stats, pl->d_mean, pl->d_L);
    if (status != TCE_OK)
        return status;
    if (s->policy.entropy_coefficient > 0.0)
        add_entropy_bonus(pl, s->policy.entropy_coefficient);

    /* back through the projection; the regression loss acts on the network's own output */
    status = tce_trpl_backward(pl->trpl, pl->E, pl->d_mean, pl->d_L, pl->d_mean, pl->d_L);
    report->regression = 0.0;
    if (status == TCE_OK && s->projection.coefficient > 0.0 && s->projection.ratio_clip == 0.0)
        status = tce_trpl_regression(pl->trpl, pl->E, pl->mean, pl->L, s->projection.coefficient,
                                     !s->policy.set_variance, &report->regression, pl->d_mean,
                                     pl->d_L);
    if (status == TCE_OK)
        status = tce_policy_backward(pl->policy, pl->E, pl->d_mean, pl->d_L);
    if (status == TCE_OK)
        status = tce_policy_adam_step(pl->policy, &adam, rate_factor, s->policy.clip_norm,
                                      &report->gradient_norm);
    report->loss_sum += report->stats.loss;
    report->regression_sum += report->regression;
    return status;
}

static double mean_of(size_t n, const double *x)
{
    double sum = 0.0;
    for (size_t i = 0; i < n; i++)
        sum += x[i];
    return sum / (double)n;
}

/*
 * Losses are means over the epochs, as published runs log them, the other numbers those of the
 * last. The distances are those before the projection.
 */
static tce_status report_update(policy_learner *pl, const epoch_report *report, int32_t n_epochs,
                                metrics *m)
{
    double entropy;
    tce_status status = mean_entropy(pl, pl->proj_L, &entropy);
    if (status == TCE_OK) /* d_mean serves as scratch: E <= E P numbers */
        status = tce_trpl_distances(pl->trpl, pl->E, pl->d_mean, pl->entropy, NULL);
    if (status != TCE_OK)
        return status;
    metrics_put(m, "entropy", entropy);
    metrics_put(m, "kl_mean", mean_of(pl->E, pl->d_mean));
    metrics_put(m, "kl_cov", mean_of(pl->n_factors, pl->entropy));
    metrics_put(m, "policy_loss", report->loss_sum / (double)n_epochs);
    metrics_put(m, "trust_region_loss", report->regression_sum / (double)n_epochs);
    metrics_put(m, "policy_gradient_norm", report->gradient_norm);
    metrics_put(m, "ratio_max", report->stats.ratio_max);
    metrics_put(m, "approx_kl", report->stats.approx_kl);
    metrics_put(m, "fraction_clipped", report->stats.fraction_clipped);
    return TCE_OK;
}

tce_status policy_learner_update(policy_learner *pl, const settings *s, int64_t i,
                                 const double *inputs, const double *old_mean, const double *old_L,
                                 surrogate loss, void *context, metrics *m)
{
    double bound;
    tce_status status = entropy_bound(pl, s, i, old_L, &bound);
    epoch_report report;
    memset(&report, 0, sizeof report);
    tce_segment_stats_init(&report.stats, sizeof report.stats);
    for (int32_t epoch = 0; status == TCE_OK && epoch < s->policy.epochs; epoch++)
        status = one_epoch(pl, s, i, inputs, old_mean, old_L, bound, loss, context, &report);

    /*
     * the last step moved the policy once more: this is what the next roll-out sees, inside the
     * trust region where set_variance asks for it
     */
    if (status == TCE_OK)
        status = predict_and_project(pl, inputs, old_mean, old_L, bound);
    if (status == TCE_OK && s->policy.set_variance)
        status = tce_policy_set_covariance(pl->policy, pl->proj_L);
    if (status == TCE_OK)
        status = report_update(pl, &report, s->policy.epochs, m);
    return status;
}
