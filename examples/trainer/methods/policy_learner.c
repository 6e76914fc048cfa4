/*
 * Settings -> policy, projection and the options of an update.
 */
#include <math.h>
#include <string.h>

#include "methods/policy_learner.h"
#include "methods/schedules.h"

/* Nats per parameter: logarithms of doubles are within +-745. */
#define MOST_ENTROPY 750.0

/* hooks: NULL, or those of memory.h */
static tce_status create_policy(policy_learner *pl, const settings *s, tce_pool *pool,
                                size_t n_inputs, size_t max_batch, const tce_hooks *hooks)
{
    tce_policy_options policy = s->policy.options;
    policy.n_obs = (int32_t)n_inputs;
    policy.n_dims = (int32_t)pl->P;
    policy.n_hidden = s->policy.hidden.n;
    policy.hidden = s->policy.hidden.v;
    policy.max_batch = (int32_t)max_batch;
    policy.pool = pool;
    tce_status status = tce_policy_create(&policy, hooks, &pl->update.policy);
    if (status != TCE_OK)
        return status;

    tce_random random;
    tce_random_start(&random, s->run.seed, PURPOSE_POLICY_START, 0, 0);
    return tce_policy_start(pl->update.policy, &random);
}

static tce_status create_projection(policy_learner *pl, const settings *s, tce_pool *pool,
                                    const tce_hooks *hooks)
{
    const int clipped = s->projection.ratio_clip > 0.0;
    tce_trpl_options trpl = s->projection.options;
    if (clipped)
        trpl.kind = TCE_TRPL_IDENTITY;
    trpl.dim = (int32_t)pl->P;
    trpl.max_batch = (int32_t)pl->E;
    trpl.shared_cov = s->policy.options.form != TCE_POLICY_FULL_CONTEXTUAL;
    trpl.diagonal = s->policy.options.form == TCE_POLICY_DIAGONAL_SHARED;
    if (clipped || s->projection.entropy_schedule == ENTROPY_NONE)
        trpl.entropy = TCE_TRPL_ENTROPY_NONE;
    trpl.pool = pool;
    return tce_trpl_create(&trpl, hooks, &pl->update.trpl);
}

/* Sizes, then the arrays. */
static void take_arrays(policy_learner *pl, const settings *s, size_t P, memory *m)
{
    memset(pl, 0, sizeof *pl);
    pl->E = (size_t)s->collect.episodes;
    pl->P = P;
    pl->n_factors = s->policy.options.form == TCE_POLICY_FULL_CONTEXTUAL ? pl->E : 1;
    pl->initial_entropy = NAN;
    const policy_update_sizes sizes = { .max_rows = pl->E,
                                        .n_scales = pl->n_factors,
                                        .P = P,
                                        .diagonal = s->policy.options.form ==
                                                    TCE_POLICY_DIAGONAL_SHARED };
    policy_update_take(&pl->update, m, &sizes);
}

tce_status policy_learner_measure(const settings *s, tce_pool *pool, size_t n_inputs, size_t P,
                                  size_t max_batch, memory *m)
{
    policy_learner pl;
    tce_hooks hooks;
    take_arrays(&pl, s, P, m);
    memory_hooks(m, &hooks);
    const tce_status status = memory_measured(
        create_policy(&pl, s, pool, n_inputs, max_batch, &hooks));
    return status == TCE_OK ? memory_measured(create_projection(&pl, s, pool, &hooks)) : status;
}

tce_status policy_learner_create(policy_learner *pl, const settings *s, tce_pool *pool,
                                 size_t n_inputs, size_t P, size_t max_batch, memory *m)
{
    take_arrays(pl, s, P, m);
    if (m->failed)
        return tce_fail(TCE_E_NOMEM, "no memory for a policy of %zu parameters", P);
    const tce_status status = create_policy(pl, s, pool, n_inputs, max_batch, NULL);
    return status == TCE_OK ? create_projection(pl, s, pool, NULL) : status;
}

void policy_learner_free(policy_learner *pl)
{
    tce_policy_free(pl->update.policy);
    tce_trpl_free(pl->update.trpl);
    memset(pl, 0, sizeof *pl);
}

tce_status policy_learner_save(const policy_learner *pl, tce_store *store)
{
    tce_status status = tce_policy_save(pl->update.policy, store, "policy");
    if (status == TCE_OK)
        status = tce_store_put(store, "trainer.initial_entropy", TCE_STORE_F64, 0, NULL,
                               &pl->initial_entropy);
    return status;
}

tce_status policy_learner_load(policy_learner *pl, const tce_store *store)
{
    double initial_entropy;
    tce_status status = tce_store_read(store, "trainer.initial_entropy", TCE_STORE_F64, 1,
                                       &initial_entropy);
    /*
     * NaN before the first iteration; P standard deviations are numbers, whose logarithms are small
     */
    if (status == TCE_OK && fabs(initial_entropy) > MOST_ENTROPY * (double)pl->P)
        return tce_fail(
            TCE_E_CORRUPT,
            "trainer.initial_entropy = %g: a policy of %zu parameters cannot have this entropy",
            initial_entropy, pl->P);
    if (status == TCE_OK)
        status = tce_policy_load(pl->update.policy, store, "policy");
    if (status == TCE_OK)
        pl->initial_entropy = initial_entropy;
    return status;
}

/* H_min of iteration i; the first rollout's entropy is where the schedule starts. */
static tce_status entropy_bound(policy_learner *pl, const settings *s, int64_t i,
                                const double *old_L, double *out)
{
    if (isnan(pl->initial_entropy)) {
        const tce_status status = policy_update_entropy(&pl->update, pl->E, old_L,
                                                        &pl->initial_entropy);
        if (status != TCE_OK)
            return status;
    }
    const int64_t length = s->schedule.entropy_iterations > 0 ? s->schedule.entropy_iterations
                                                              : s->run.iterations;
    const entropy_schedule schedule = { s->projection.entropy_schedule,
                                        pl->P,
                                        pl->initial_entropy,
                                        s->projection.entropy_target,
                                        s->projection.entropy_temperature,
                                        (uint64_t)length };
    *out = entropy_schedule_at(&schedule, (uint64_t)i);
    return TCE_OK;
}

const char *const POLICY_COLUMN_NAMES[POLICY_COLUMNS] = {
    "entropy",     "kl_mean",           "kl_cov",
    "policy_loss", "trust_region_loss", "policy_gradient_norm",
    "ratio_max",   "approx_kl",         "fraction_clipped"
};

tce_status policy_learner_update(policy_learner *pl, const settings *s, int64_t i,
                                 const policy_rows *rows, double *out)
{
    const int projected = s->projection.ratio_clip == 0.0;
    policy_update_options options = { .adam = s->policy.adam,
                                      .clip_norm = s->policy.clip_norm,
                                      .bounds = s->projection.bounds,
                                      .entropy_bonus = s->policy.entropy_coefficient,
                                      .regression = projected ? s->projection.coefficient : 0.0,
                                      .regress_cov = !s->policy.set_variance,
                                      .set_variance = s->policy.set_variance,
                                      .n_epochs = s->policy.epochs };
    policy_report report;
    options.adam.learning_rate *= linear_schedule((uint64_t)(i - 1),
                                                  (uint64_t)s->schedule.learning_rate_iterations,
                                                  s->schedule.learning_rate_last);
    tce_status status = entropy_bound(pl, s, i, rows->old_L, &options.bounds.entropy);
    if (status == TCE_OK)
        status = policy_update_run(&pl->update, rows, &options, &report);
    if (status != TCE_OK)
        return status;
    const double numbers[POLICY_COLUMNS] = { report.entropy,
                                             report.mean_distance,
                                             report.cov_distance,
                                             report.loss,
                                             report.regression_loss,
                                             report.gradient_norm,
                                             report.stats.ratio_max,
                                             report.stats.approx_kl,
                                             report.stats.fraction_clipped };
    memcpy(out, numbers, sizeof numbers);
    return TCE_OK;
}
