/*
 * The policy update: forward through network, projection and surrogate, back through all of them,
 * Adam [algorithm 3, step 7].
 */
#include "methods/policy_update.h"

#include <string.h>

#include "collect/factors.h"
#include "methods/schedules.h"

static size_t scale_size(const policy_update *u)
{
    return u->deviations ? u->P : u->P * u->P;
}

void policy_update_take(policy_update *u, memory *m, const policy_update_sizes *sizes)
{
    const size_t P = sizes->P, n = sizes->n_scales;
    u->P = P;
    u->deviations = sizes->deviations;
    u->spread = sizes->diagonal && !sizes->deviations;
    u->mean = memory_doubles(m, sizes->max_rows * P);
    u->L = memory_doubles(m, n * scale_size(u));
    u->proj_mean = memory_doubles(m, sizes->max_rows * P);
    u->proj_L = memory_doubles(m, n * scale_size(u));
    u->d_mean = memory_doubles(m, sizes->max_rows * P);
    u->d_L = memory_doubles(m, n * scale_size(u));
    u->entropy = memory_doubles(m, n);
    u->d_entropy = memory_doubles(m, n);
    u->d_entropy_L = memory_doubles(m, n * scale_size(u));
    u->mean_distance = memory_doubles(m, sizes->max_rows);
    u->cov_distance = memory_doubles(m, n);
    for (int i = 0; u->spread && i < 3; i++)
        u->flat[i] = memory_doubles(m, n * P);
}

/* N scales as the projection takes them, in room i where they are others. */
static const double *flat(const policy_update *u, size_t n, const double *L, int i)
{
    if (!u->spread)
        return L;
    factors_diagonals(tce_policy_n_factors(u->policy, n), u->P, L, u->flat[i]);
    return u->flat[i];
}

tce_status policy_update_project(policy_update *u, const policy_rows *rows,
                                 const tce_trpl_bounds *bounds)
{
    const size_t n = rows->n;
    tce_status status = u->deviations
                            ? tce_policy_predict(u->policy, n, rows->inputs, u->mean, u->L)
                            : factors_predict(u->policy, n, rows->inputs, u->mean, u->L);
    if (status == TCE_OK)
        status = tce_trpl_project(u->trpl, n, u->mean, flat(u, n, u->L, 0), rows->old_mean,
                                  flat(u, n, rows->old_L, 1), bounds, u->proj_mean, u->proj_L);
    if (status == TCE_OK && u->spread)
        factors_spread(tce_policy_n_factors(u->policy, n), u->P, u->proj_L);
    return status;
}

static double mean_of(size_t n, const double *x)
{
    double sum = 0.0;
    for (size_t i = 0; i < n; i++)
        sum += x[i];
    return sum / (double)n;
}

tce_status policy_update_entropy(policy_update *u, size_t n, const double *L, double *out)
{
    const size_t N = tce_policy_n_factors(u->policy, n);
    const tce_gauss gaussians = { .struct_size = sizeof gaussians,
                                  .n = N,
                                  .dim = u->P,
                                  .n_scales = N,
                                  .form = u->deviations ? TCE_GAUSS_DIAGONAL : TCE_GAUSS_FULL,
                                  .scale = L };
    const tce_status status = tce_gauss_entropy(&gaussians, u->entropy);
    *out = 0.0;
    for (size_t k = 0; status == TCE_OK && k < N; k++)
        *out += u->entropy[k] / (double)N;
    return status;
}

/* Adds the gradient of -bonus * mean entropy of the projected policy to d_L. */
static tce_status add_entropy_bonus(policy_update *u, size_t n, double bonus)
{
    const size_t N = tce_policy_n_factors(u->policy, n);
    for (size_t k = 0; k < N; k++)
        u->d_entropy[k] = -bonus / (double)N;
    const tce_gauss gaussians = { .struct_size = sizeof gaussians,
                                  .n = N,
                                  .dim = u->P,
                                  .n_scales = N,
                                  .form = u->deviations ? TCE_GAUSS_DIAGONAL : TCE_GAUSS_FULL,
                                  .scale = u->proj_L };
    const tce_status status = tce_gauss_entropy_backward(&gaussians, u->d_entropy, u->d_entropy_L);
    for (size_t i = 0; status == TCE_OK && i < N * scale_size(u); i++)
        u->d_L[i] += u->d_entropy_L[i];
    return status;
}

/*
 * Back through the projection; the regression loss acts on the network's own output. d_mean and d_L
 * in place.
 */
static tce_status project_back(policy_update *u, size_t n, const policy_update_options *options,
                               double *out_regression)
{
    const size_t N = tce_policy_n_factors(u->policy, n);
    double *d_L = u->spread ? u->flat[2] : u->d_L;
    if (u->spread)
        factors_diagonals(N, u->P, u->d_L, d_L);
    tce_status status = tce_trpl_backward(u->trpl, n, u->d_mean, d_L, u->d_mean, d_L);
    *out_regression = 0.0;
    if (status == TCE_OK && options->regression > 0.0)
        status = tce_trpl_regression_add(u->trpl, n, u->mean, flat(u, n, u->L, 0),
                                         options->regression, options->regress_cov, out_regression,
                                         u->d_mean, d_L);
    if (u->spread) {
        memcpy(u->d_L, d_L, N * u->P * sizeof *d_L);
        factors_spread(N, u->P, u->d_L);
    }
    return status;
}

tce_status policy_update_gradient(policy_update *u, const policy_rows *rows,
                                  const policy_update_options *options, policy_gradient *out)
{
    /* forward */
    tce_status status = policy_update_project(u, rows, &options->bounds);
    if (status == TCE_OK)
        status = rows->loss(rows->context, u->proj_mean, u->proj_L, &out->stats, u->d_mean, u->d_L);
    if (status == TCE_OK && options->entropy_bonus > 0.0)
        status = add_entropy_bonus(u, rows->n, options->entropy_bonus);

    if (status == TCE_OK)
        status = project_back(u, rows->n, options, &out->regression);
    if (status == TCE_OK && u->deviations)
        return tce_policy_backward(u->policy, rows->n, u->d_mean, u->d_L);
    if (status == TCE_OK)
        status = factors_backward(u->policy, rows->n, u->d_mean, u->d_L);
    return status;
}

tce_status policy_update_step(policy_update *u, const policy_update_options *options,
                              double *out_norm)
{
    const double norm = tce_policy_gradient_norm(u->policy);
    const double factor = clip_factor(norm, options->clip_norm);
    if (factor < 1.0)
        tce_policy_scale_gradient(u->policy, factor);
    const tce_status status = tce_policy_adam_step(u->policy, &options->adam);
    if (status == TCE_OK)
        *out_norm = norm;
    return status;
}

tce_status policy_update_run(policy_update *u, const policy_rows *rows,
                             const policy_update_options *options, policy_report *out)
{
    policy_gradient gradient;
    tce_status status = TCE_OK;
    memset(out, 0, sizeof *out);
    memset(&gradient, 0, sizeof gradient);
    gradient.stats = TCE_INIT(tce_returns_stats);
    for (int32_t epoch = 0; status == TCE_OK && epoch < options->n_epochs; epoch++) {
        status = policy_update_gradient(u, rows, options, &gradient);
        if (status == TCE_OK)
            status = policy_update_step(u, options, &out->gradient_norm);
        out->loss += gradient.stats.loss;
        out->regression_loss += gradient.regression;
    }

    /*
     * the last step moved the policy once more: this is what the next rollout sees, inside the
     * trust region where set_variance asks for it
     */
    if (status == TCE_OK)
        status = policy_update_project(u, rows, &options->bounds);
    if (status == TCE_OK && options->set_variance)
        status = factors_set(u->policy, u->proj_L, u->d_mean);

    if (status == TCE_OK)
        status = policy_update_entropy(u, rows->n, u->proj_L, &out->entropy);
    if (status == TCE_OK)
        status = tce_trpl_distances(u->trpl, rows->n, u->mean_distance, u->cov_distance, NULL);
    if (status != TCE_OK)
        return status;
    out->mean_distance = mean_of(rows->n, u->mean_distance);
    out->cov_distance = mean_of(tce_policy_n_factors(u->policy, rows->n), u->cov_distance);
    out->loss /= (double)options->n_epochs;
    out->regression_loss /= (double)options->n_epochs;
    out->stats = gradient.stats;
    return TCE_OK;
}

/* ---- surrogates ------------------------------------------------------------------------------ */

tce_status segment_surrogate(void *context, const double *mean, const double *L,
                             tce_returns_stats *stats, double *d_mean, double *d_L)
{
    const segment_likelihood *s = context;
    tce_segment_paths paths = s->paths;
    paths.mean = mean;
    paths.L = L;
    paths.out_d_mean = d_mean;
    paths.out_d_L = d_L;
    return tce_segment_surrogate(s->segment, &paths, stats);
}

tce_status parameter_surrogate(void *context, const double *mean, const double *L,
                               tce_returns_stats *stats, double *d_mean, double *d_L)
{
    const parameter_likelihood *p = context;
    const tce_gauss gaussians = { .struct_size = sizeof gaussians,
                                  .n = p->n,
                                  .dim = p->P,
                                  .n_scales = p->n_factors,
                                  .form = p->form,
                                  .mean = mean,
                                  .scale = L };
    tce_status status = tce_gauss_log_prob(&gaussians, p->params, p->work, p->log_prob);
    if (status == TCE_OK)
        status = tce_returns_surrogate(p->n, p->log_prob, p->old_log_prob, p->advantages, p->mask,
                                       p->ratio_clip, stats, p->d_log_prob);
    if (status == TCE_OK)
        status = tce_gauss_log_prob_backward(&gaussians, p->params, p->d_log_prob, p->work, NULL,
                                             d_mean, d_L);
    return status;
}
