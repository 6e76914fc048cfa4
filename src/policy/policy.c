/*
 * The Gaussian policy N(mu(s), L L'): mu by a network; L from one trainable vector, or from a
 * second network of the context.
 *
 * The trainable vector, its gradient and its Adam are double whatever the precision of the
 * networks.
 */
#include <tce/policy.h>

#include <math.h>

#include "policy/covariance.h"
#include "policy/internal.h"

/* Gain of the last layer: the first policies are nearly the same for all contexts. */
#define GAIN_OUT 0.01
/* Most dimensions, so that P (P + 1)/2 is a width that a network may have. */
#define MAX_PARAMS 1024

/* ---- life cycle ------------------------------------------------------------------------------ */

void tce_policy_options_init(tce_policy_options *options, size_t struct_size)
{
    const tce_policy_options defaults = {
        .n_obs = 1,
        .n_dims = 1,
        .form = TCE_POLICY_FULL_SHARED,
        .n_hidden = 2,
        .activation = TCE_NET_LEAKY_RELU,
        .precision = TCE_NET_FLOAT,
        .start = TCE_NET_ORTHOGONAL,
        .max_batch = 1,
        .n_cov_hidden = -1,
        .cov_activation = -1,
        .min_std = 1e-4,
        .initial_std = 0.99,
    };
    tce__struct_init(options, struct_size, &defaults, sizeof defaults);
}

static tce_status check_options(const tce_policy_options *o)
{
    tce_status status = tce__check_int("n_obs", o->n_obs, 1, INT32_MAX);
    if (status == TCE_OK)
        status = tce__check_int("n_dims", o->n_dims, 1, MAX_PARAMS);
    if (status == TCE_OK)
        status = tce__check_int("form", o->form, TCE_POLICY_FULL_SHARED,
                                TCE_POLICY_DIAGONAL_SHARED);
    if (status == TCE_OK)
        status = tce__check_int("n_cov_hidden", o->n_cov_hidden, -1, INT32_MAX);
    if (status == TCE_OK)
        status = tce__check_int("cov_activation", o->cov_activation, -1, TCE_NET_LINEAR);
    if (status == TCE_OK && !(o->min_std >= 0.0 && isfinite(o->min_std)))
        status = tce_fail(TCE_E_VALUE, "min_std = %g, must be finite and at least 0", o->min_std);
    if (status == TCE_OK)
        status = tce__check_positive("initial_std", o->initial_std);
    return status;
}

/* the two networks' options; the second one is that of the first where it is not set */
static void network_options(const tce_policy_options *o, size_t n_raw, tce_net_options *mean,
                            tce_net_options *factor)
{
    tce_net_options_init(mean, sizeof *mean);
    mean->n_in = o->n_obs;
    mean->n_out = o->n_dims;
    mean->n_hidden = o->n_hidden;
    mean->activation = o->activation;
    mean->precision = o->precision;
    mean->start = o->start;
    mean->max_batch = o->max_batch;
    mean->hidden = o->hidden;
    mean->max_pass = 1; /* it only ever goes forward and backward */
    mean->gain_out = GAIN_OUT;
    mean->pool = o->pool;

    *factor = *mean;
    factor->n_out = (int32_t)n_raw;
    if (o->cov_activation >= 0)
        factor->activation = o->cov_activation;
    if (o->n_cov_hidden >= 0) {
        factor->n_hidden = o->n_cov_hidden;
        factor->hidden = o->cov_hidden;
    }
}

static tce_policy *layout(tce_policy *plan, tce_net *mean, tce_net *factor, tce__arena *arena)
{
    tce_policy *policy = tce__arena_take(arena, 1, sizeof *policy);
    const int contextual = plan->form == TCE_POLICY_FULL_CONTEXTUAL;
    const size_t n_factors = contextual ? plan->max_batch : 1;

    plan->mean = tce__net_layout(mean, arena);
    plan->factor = contextual ? tce__net_layout(factor, arena) : NULL;
    plan->raw = tce__arena_doubles(arena, n_factors * plan->n_raw);
    plan->d_raw = tce__arena_doubles(arena, n_factors * plan->n_raw);
    plan->moment = contextual ? NULL : tce__arena_doubles(arena, plan->n_raw);
    plan->square = contextual ? NULL : tce__arena_doubles(arena, plan->n_raw);
    return policy;
}

tce_status tce_policy_create(const tce_policy_options *options, const tce_hooks *hooks,
                             tce_policy **out)
{
    tce_status status = tce__check_pointer("out", out);
    if (status != TCE_OK)
        return status;
    *out = NULL;

    tce_policy_options opt;
    tce_policy_options_init(&opt, sizeof opt);
    status = tce__struct_read(options, "tce_policy_options", sizeof opt, &opt);
    if (status == TCE_OK)
        status = check_options(&opt);
    if (status != TCE_OK)
        return status;

    /* sizes of everything */
    const size_t n_raw = tce__covariance_size((size_t)opt.n_dims,
                                              opt.form == TCE_POLICY_DIAGONAL_SHARED);
    tce_net_options mean_opt;
    tce_net_options factor_opt;
    tce_net mean;
    tce_net factor;
    network_options(&opt, n_raw, &mean_opt, &factor_opt);
    status = tce__net_plan(&mean_opt, &mean);
    if (status == TCE_OK)
        status = tce__net_plan(&factor_opt, &factor);
    if (status != TCE_OK)
        return status;
    tce_policy plan = {
        .P = (size_t)opt.n_dims,
        .n_obs = (size_t)opt.n_obs,
        .n_raw = n_raw,
        .max_batch = (size_t)opt.max_batch,
        .form = opt.form,
        .min_std = opt.min_std,
        .initial_std = opt.initial_std,
    };

    /* one block for the policy and its networks */
    tce__arena arena = { NULL, 0 };
    layout(&plan, &mean, &factor, &arena);
    status = tce__block_create(hooks, "tce_policy", &arena, &plan.hooks);
    if (status != TCE_OK)
        return status;
    *out = layout(&plan, &mean, &factor, &arena);
    **out = plan;
    tce__net_place(&mean_opt, &mean, plan.mean);
    if (plan.factor)
        tce__net_place(&factor_opt, &factor, plan.factor);
    return TCE_OK;
}

void tce_policy_free(tce_policy *policy)
{
    if (policy)
        tce__block_free(&policy->hooks, policy);
}

tce_status tce_policy_start(tce_policy *policy, tce_random *random)
{
    tce_status status = tce__check_pointer("policy", policy);
    if (status == TCE_OK)
        status = tce_net_start(policy->mean, random);
    if (status == TCE_OK && policy->factor)
        status = tce_net_start(policy->factor, random);
    if (status != TCE_OK)
        return status;

    policy->remembered = 0;
    if (policy->factor)
        return TCE_OK;
    const double v = tce__inverse_softplus(policy->initial_std);
    for (size_t i = 0; i < policy->n_raw; i++) {
        policy->raw[i] = i < policy->P ? v : 0.0;
        policy->moment[i] = 0.0;
        policy->square[i] = 0.0;
    }
    policy->n_steps = 0;
    return TCE_OK;
}

/* ---- prediction and its gradient ------------------------------------------------------------- */

size_t tce_policy_n_factors(const tce_policy *policy, size_t n)
{
    if (!policy)
        return 0;
    return policy->factor ? n : 1;
}

size_t tce_policy_n_dims(const tce_policy *policy)
{
    return policy ? policy->P : 0;
}

size_t tce_policy_n_obs(const tce_policy *policy)
{
    return policy ? policy->n_obs : 0;
}

static int is_diagonal(const tce_policy *policy)
{
    return policy->form == TCE_POLICY_DIAGONAL_SHARED;
}

/* raw [n_raw] <-> L [P, P] for factors begin ... end-1 */
typedef struct factor_job {
    const tce_policy *policy;
    double *L;
    const double *d_L;
} factor_job;

static tce_status factors_forward(void *context, size_t chunk, size_t begin, size_t end,
                                  int32_t worker)
{
    const factor_job *j = context;
    const tce_policy *p = j->policy;
    (void)chunk;
    (void)worker;

    for (size_t e = begin; e < end; e++)
        tce__covariance_forward(p->P, is_diagonal(p), p->min_std, p->raw + e * p->n_raw,
                                j->L + e * p->P * p->P);
    return TCE_OK;
}

static tce_status factors_backward(void *context, size_t chunk, size_t begin, size_t end,
                                   int32_t worker)
{
    const factor_job *j = context;
    const tce_policy *p = j->policy;
    (void)chunk;
    (void)worker;

    for (size_t e = begin; e < end; e++)
        tce__covariance_backward(p->P, is_diagonal(p), p->raw + e * p->n_raw,
                                 j->d_L + e * p->P * p->P, p->d_raw + e * p->n_raw);
    return TCE_OK;
}

/* Factors a thread takes at once. */
#define FACTOR_CHUNK 8

tce_status tce_policy_predict(tce_policy *policy, size_t n, const double *obs, double *out_mean,
                              double *out_L)
{
    tce_status status = tce__check_pointer("policy", policy);
    if (status == TCE_OK)
        status = tce__check_pointer("out_mean", out_mean);
    if (status == TCE_OK)
        status = tce__check_pointer("out_L", out_L);
    if (status == TCE_OK && n > policy->max_batch)
        status = tce_fail(TCE_E_SHAPE, "n = %zu contexts, max_batch is %zu", n, policy->max_batch);
    if (status == TCE_OK)
        status = tce__check_finite("obs", n * policy->n_obs, obs);
    if (status != TCE_OK || n == 0)
        return status;

    status = tce_net_forward(policy->mean, n, obs, out_mean);
    if (status == TCE_OK && policy->factor)
        status = tce_net_forward(policy->factor, n, obs, policy->raw);
    if (status != TCE_OK)
        return status;
    factor_job job = { policy, out_L, NULL };
    policy->remembered = n;
    return tce_pool_run(policy->mean->pool, tce_policy_n_factors(policy, n), FACTOR_CHUNK,
                        factors_forward, &job);
}

tce_status tce_policy_backward(tce_policy *policy, size_t n, const double *d_mean,
                               const double *d_L)
{
    tce_status status = tce__check_pointer("policy", policy);
    if (status == TCE_OK)
        status = tce__check_pointer("d_mean", d_mean);
    if (status == TCE_OK)
        status = tce__check_pointer("d_L", d_L);
    if (status == TCE_OK && policy->remembered == 0)
        status = tce_fail(TCE_E_STATE, "backward without a predict since the weights changed");
    if (status == TCE_OK && n != policy->remembered)
        status = tce_fail(TCE_E_SHAPE, "n = %zu contexts, the last predict had %zu", n,
                          policy->remembered);
    if (status != TCE_OK)
        return status;

    factor_job job = { policy, NULL, d_L };
    status = tce_pool_run(policy->mean->pool, tce_policy_n_factors(policy, n), FACTOR_CHUNK,
                          factors_backward, &job);
    if (status == TCE_OK)
        status = tce_net_backward(policy->mean, n, d_mean, NULL);
    if (status == TCE_OK && policy->factor)
        status = tce_net_backward(policy->factor, n, policy->d_raw, NULL);
    return status;
}

/* ---- training -------------------------------------------------------------------------------- */

double tce_policy_gradient_norm(const tce_policy *policy)
{
    if (!policy)
        return 0.0;
    const double factor = policy->factor
                              ? tce_net_gradient_norm(policy->factor)
                              : sqrt(tce__net_double.sum_of_squares(policy->n_raw, policy->d_raw));
    return hypot(tce_net_gradient_norm(policy->mean), factor);
}

void tce_policy_scale_gradient(tce_policy *policy, double factor)
{
    if (!policy)
        return;
    tce_net_scale_gradient(policy->mean, factor);
    tce_net_scale_gradient(policy->factor, factor);
    if (!policy->factor)
        tce__net_double.scale(policy->n_raw, factor, policy->d_raw);
}

tce_status tce_policy_adam_step(tce_policy *policy, const tce_adam_options *adam)
{
    tce_adam_options opt;
    tce_status status = tce__check_pointer("policy", policy);
    if (status == TCE_OK)
        status = tce__adam_read(adam, &opt);
    if (status == TCE_OK)
        status = tce__adam_check_norm(policy->mean->kernels, tce_policy_gradient_norm(policy));
    if (status != TCE_OK)
        return status;

    tce__net_adam(policy->mean, &opt);
    policy->remembered = 0;
    if (policy->factor) {
        tce__net_adam(policy->factor, &opt);
        return TCE_OK;
    }
    policy->n_steps++;
    const tce__adam_scalars s = tce__adam_prepare(&opt, policy->n_steps);
    tce__net_double.adam(policy->n_raw, &s, policy->d_raw, policy->raw, policy->moment,
                         policy->square);
    return TCE_OK;
}

tce_status tce_policy_set_covariance(tce_policy *policy, const double *L)
{
    tce_status status = tce__check_pointer("policy", policy);
    if (status == TCE_OK && policy->factor)
        status = tce_fail(TCE_E_UNSUPPORTED, "a contextual covariance has no vector to set");
    if (status == TCE_OK)
        status = tce__check_pointer("L", L);
    if (status != TCE_OK)
        return status;

    const size_t P = policy->P;
    for (size_t i = 0; i < P; i++) {
        const size_t first = is_diagonal(policy) ? i : 0;
        for (size_t j = first; j <= i; j++)
            if (!isfinite(L[i * P + j]))
                return tce_fail(TCE_E_VALUE, "L[%zu,%zu] = %g, must be finite", i, j, L[i * P + j]);
        if (!(L[i * P + i] > 0.0))
            return tce_fail(TCE_E_NOT_PD, "L[%zu,%zu] = %g, must be > 0", i, i, L[i * P + i]);
    }
    tce__covariance_inverse(P, is_diagonal(policy), policy->min_std, L, policy->raw);
    policy->remembered = 0;
    return TCE_OK;
}
