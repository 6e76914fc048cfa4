/*
 * The Gaussian policy N(mu(s), scale): mu by a network; the scale from one trainable vector, from
 * further outputs of the same network, or from a second network of the context.
 *
 * The trainable vector, its gradient and its Adam are double whatever the precision of the
 * networks.
 */
#include <tce/policy.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "policy/internal.h"

/* Most dimensions, so that P (P + 1)/2 is a width that a network may have. */
#define MAX_DIMS 1024

/* ---- life cycle ------------------------------------------------------------------------------ */

void tce_policy_options_init(tce_policy_options *options, size_t struct_size)
{
    const tce_policy_options defaults = {
        .n_obs = 1,
        .n_dims = 1,
        .form = TCE_POLICY_FULL_SHARED,
        .spread = TCE_POLICY_SOFTPLUS,
        .n_hidden = 2,
        .activation = TCE_NET_LEAKY_RELU,
        .precision = TCE_NET_FLOAT,
        .start = TCE_NET_ORTHOGONAL,
        .max_batch = 1,
        .n_cov_hidden = -1,
        .cov_activation = -1,
        .min_std = 1e-4,
        .initial_std = 0.99,
        .log_std_low = -20.0,
        .log_std_high = 2.0,
        .gain_out = 0.01,
    };
    tce__struct_init(options, struct_size, &defaults, sizeof defaults);
}

static int is_contextual(int32_t form)
{
    return form == TCE_POLICY_FULL_CONTEXTUAL || form == TCE_POLICY_DIAGONAL_CONTEXTUAL;
}

static int is_diagonal(int32_t form)
{
    return form == TCE_POLICY_DIAGONAL_SHARED || form == TCE_POLICY_DIAGONAL_CONTEXTUAL;
}

static tce_status check_options(const tce_policy_options *o)
{
    tce_status status = tce__check_int("n_obs", o->n_obs, 1, INT32_MAX);
    if (status == TCE_OK)
        status = tce__check_int("n_dims", o->n_dims, 1, MAX_DIMS);
    if (status == TCE_OK)
        status = tce__check_int("form", o->form, TCE_POLICY_FULL_SHARED,
                                TCE_POLICY_DIAGONAL_CONTEXTUAL);
    if (status == TCE_OK)
        status = tce__check_int("spread", o->spread, TCE_POLICY_SOFTPLUS, TCE_POLICY_EXP_CLIPPED);
    if (status == TCE_OK && o->shared_body && o->form != TCE_POLICY_DIAGONAL_CONTEXTUAL)
        status = tce_fail(TCE_E_VALUE, "shared_body = %d needs the diagonal contextual form",
                          (int)o->shared_body);
    if (status == TCE_OK)
        status = tce__check_int("n_cov_hidden", o->n_cov_hidden, -1, INT32_MAX);
    if (status == TCE_OK)
        status = tce__check_int("cov_activation", o->cov_activation, -1, TCE_NET_LINEAR);
    if (status == TCE_OK && !(o->min_std >= 0.0 && isfinite(o->min_std)))
        status = tce_fail(TCE_E_VALUE, "min_std = %g, must be finite and at least 0", o->min_std);
    if (status == TCE_OK)
        status = tce__check_positive("initial_std", o->initial_std);
    if (status == TCE_OK && !(isfinite(o->log_std_low) && isfinite(o->log_std_high) &&
                              o->log_std_low < o->log_std_high))
        status = tce_fail(
            TCE_E_VALUE,
            "log_std_low = %g and log_std_high = %g, must be finite, the first below the second",
            o->log_std_low, o->log_std_high);
    return status;
}

/* the two networks' options; the second one is that of the first where it is not set */
static void network_options(const tce_policy_options *o, size_t n_raw, tce_net_options *mean,
                            tce_net_options *factor)
{
    tce_net_options_init(mean, sizeof *mean);
    mean->n_in = o->n_obs;
    mean->n_out = o->n_dims + (o->shared_body ? (int32_t)n_raw : 0);
    mean->n_hidden = o->n_hidden;
    mean->activation = o->activation;
    mean->precision = o->precision;
    mean->start = o->start;
    mean->max_batch = o->max_batch;
    mean->hidden = o->hidden;
    mean->max_pass = 1; /* it only ever goes forward and backward */
    mean->gain_out = o->gain_out;
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
    const int contextual = is_contextual(plan->form);

    plan->mean = tce__net_layout(mean, arena);
    plan->factor = NULL;
    if (plan->shared_body) {
        plan->heads = tce__arena_doubles(arena, plan->max_batch * plan->stride);
        plan->d_heads = tce__arena_doubles(arena, plan->max_batch * plan->stride);
        plan->raw = plan->heads ? plan->heads + plan->P : NULL;
        plan->d_raw = plan->d_heads ? plan->d_heads + plan->P : NULL;
        return policy;
    }
    if (contextual)
        plan->factor = tce__net_layout(factor, arena);
    const size_t n_scales = contextual ? plan->max_batch : 1;
    plan->raw = tce__arena_doubles(arena, n_scales * plan->n_raw);
    plan->d_raw = tce__arena_doubles(arena, n_scales * plan->n_raw);
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
    const size_t P = (size_t)opt.n_dims;
    const size_t n_raw = tce__scale_n_raw(P, is_diagonal(opt.form));
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
        .P = P,
        .n_obs = (size_t)opt.n_obs,
        .n_raw = n_raw,
        .stride = opt.shared_body           ? P + n_raw
                  : is_contextual(opt.form) ? n_raw
                                            : 0,
        .max_batch = (size_t)opt.max_batch,
        .form = opt.form,
        .shared_body = opt.shared_body != 0,
        .spread = { opt.spread, is_diagonal(opt.form), opt.min_std, opt.log_std_low,
                    opt.log_std_high },
        .initial_std = opt.initial_std,
        .gain_out = opt.gain_out,
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
    if (!tce__policy_has_vector(policy))
        return TCE_OK;
    const double v = tce__scale_start(&policy->spread, policy->initial_std);
    for (size_t i = 0; i < policy->n_raw; i++) {
        policy->raw[i] = i < policy->P ? v : 0.0;
        policy->moment[i] = 0.0;
        policy->square[i] = 0.0;
    }
    policy->n_steps = 0;
    return TCE_OK;
}

size_t tce_policy_n_factors(const tce_policy *policy, size_t n)
{
    if (!policy)
        return 0;
    return tce__policy_has_vector(policy) ? 1 : n;
}

size_t tce_policy_scale_size(const tce_policy *policy)
{
    return policy ? tce__scale_size(policy->P, policy->spread.diagonal) : 0;
}

size_t tce_policy_n_dims(const tce_policy *policy)
{
    return policy ? policy->P : 0;
}

size_t tce_policy_n_obs(const tce_policy *policy)
{
    return policy ? policy->n_obs : 0;
}

/* ---- the mean alone -------------------------------------------------------------------------- */

size_t tce_policy_work_size(const tce_policy *policy, size_t n)
{
    if (!policy)
        return 0;
    return tce_net_work_size(policy->mean, n) + (policy->shared_body ? n * policy->stride : 0);
}

/* the first P of each row of heads [n, stride] */
static void take_means(const tce_policy *policy, size_t n, const double *heads, double *out_mean)
{
    for (size_t r = 0; r < n; r++)
        memcpy(out_mean + r * policy->P, heads + r * policy->stride, policy->P * sizeof *out_mean);
}

/*
 * Finite weights and observations may still be too large together: TCE_E_NOT_FINITE, and NaN in
 * both outputs. scale may be NULL with n_scale 0.
 */
static tce_status check_overflow(size_t n_mean, double *mean, size_t n_scale, double *scale)
{
    const int is_mean = tce__first_not_finite(n_mean, mean) < n_mean;
    if (!is_mean && tce__first_not_finite(n_scale, scale) == n_scale)
        return TCE_OK;
    for (size_t i = 0; i < n_mean; i++)
        mean[i] = NAN;
    for (size_t i = 0; i < n_scale; i++)
        scale[i] = NAN;
    return tce_fail(TCE_E_NOT_FINITE,
                    "the %s overflowed: observations or the policy's weights are too large",
                    is_mean ? "mean" : "scale");
}

tce_status tce_policy_mean(const tce_policy *policy, size_t n, const double *obs, double *work,
                           double *out_mean)
{
    tce_status status = tce__check_pointer("policy", policy);
    if (status == TCE_OK)
        status = tce__check_pointer("work", work);
    if (status == TCE_OK)
        status = tce__check_pointer("out_mean", out_mean);
    if (status == TCE_OK)
        status = tce__check_finite("obs", n * policy->n_obs, obs);
    if (status != TCE_OK || n == 0)
        return status;

    double *const heads = work + tce_net_work_size(policy->mean, n);
    status = tce_net_evaluate(policy->mean, n, obs, work, policy->shared_body ? heads : out_mean);
    if (status == TCE_OK && policy->shared_body)
        take_means(policy, n, heads, out_mean);
    return status == TCE_OK ? check_overflow(n * policy->P, out_mean, 0, NULL) : status;
}

/* ---- prediction and its gradient ------------------------------------------------------------- */

/* Numbers of scales that a thread takes at once, at least. */
#define CHUNK_NUMBERS 16384

/* raw numbers <-> scales begin ... end-1 */
typedef struct scale_job {
    const tce_policy *policy;
    double *scale;
    const double *d_scale;
} scale_job;

static tce_status scales_forward(void *context, size_t chunk, size_t begin, size_t end,
                                 int32_t worker)
{
    const scale_job *j = context;
    const tce_policy *p = j->policy;
    const size_t size = tce__scale_size(p->P, p->spread.diagonal);
    (void)chunk;
    (void)worker;

    for (size_t e = begin; e < end; e++)
        tce__scale_forward(&p->spread, p->P, p->raw + e * p->stride, j->scale + e * size);
    return TCE_OK;
}

static tce_status scales_backward(void *context, size_t chunk, size_t begin, size_t end,
                                  int32_t worker)
{
    const scale_job *j = context;
    const tce_policy *p = j->policy;
    const size_t size = tce__scale_size(p->P, p->spread.diagonal);
    (void)chunk;
    (void)worker;

    for (size_t e = begin; e < end; e++)
        tce__scale_backward(&p->spread, p->P, p->raw + e * p->stride, j->d_scale + e * size,
                            p->d_raw + e * p->stride);
    return TCE_OK;
}

static tce_status run_scales(const tce_policy *policy, size_t n, tce_pool_work work, scale_job *job)
{
    const size_t size = tce__scale_size(policy->P, policy->spread.diagonal);
    return tce_pool_run(policy->mean->pool, tce_policy_n_factors(policy, n),
                        CHUNK_NUMBERS / size + 1, work, job);
}

tce_status tce_policy_predict(tce_policy *policy, size_t n, const double *obs, double *out_mean,
                              double *out_scale)
{
    tce_status status = tce__check_pointer("policy", policy);
    if (status == TCE_OK)
        status = tce__check_pointer("out_mean", out_mean);
    if (status == TCE_OK)
        status = tce__check_pointer("out_scale", out_scale);
    if (status == TCE_OK && n > policy->max_batch)
        status = tce_fail(TCE_E_SHAPE, "n = %zu contexts, max_batch is %zu", n, policy->max_batch);
    if (status == TCE_OK)
        status = tce__check_finite("obs", n * policy->n_obs, obs);
    if (status != TCE_OK || n == 0)
        return status;

    status = tce_net_forward(policy->mean, n, obs, policy->shared_body ? policy->heads : out_mean);
    if (status == TCE_OK && policy->shared_body)
        take_means(policy, n, policy->heads, out_mean);
    if (status == TCE_OK && policy->factor)
        status = tce_net_forward(policy->factor, n, obs, policy->raw);
    if (status != TCE_OK)
        return status;
    scale_job job = { policy, out_scale, NULL };
    status = run_scales(policy, n, scales_forward, &job);
    if (status == TCE_OK)
        status = check_overflow(n * policy->P, out_mean,
                                tce_policy_n_factors(policy, n) * tce_policy_scale_size(policy),
                                out_scale);
    policy->remembered = status == TCE_OK ? n : 0;
    return status;
}

/* Whether there is a predict of n contexts to stand on. */
static tce_status check_remembered(const tce_policy *policy, size_t n, const char *what)
{
    if (policy->remembered == 0)
        return tce_fail(TCE_E_STATE, "%s without a predict since the weights changed", what);
    if (n != policy->remembered)
        return tce_fail(TCE_E_SHAPE, "n = %zu contexts, the last predict had %zu", n,
                        policy->remembered);
    return TCE_OK;
}

tce_status tce_policy_backward(tce_policy *policy, size_t n, const double *d_mean,
                               const double *d_scale)
{
    tce_status status = tce__check_pointer("policy", policy);
    if (status == TCE_OK)
        status = tce__check_pointer("d_mean", d_mean);
    if (status == TCE_OK)
        status = tce__check_pointer("d_scale", d_scale);
    if (status == TCE_OK)
        status = check_remembered(policy, n, "backward");
    if (status != TCE_OK)
        return status;

    scale_job job = { policy, NULL, d_scale };
    status = run_scales(policy, n, scales_backward, &job);
    for (size_t r = 0; status == TCE_OK && policy->shared_body && r < n; r++)
        memcpy(policy->d_heads + r * policy->stride, d_mean + r * policy->P,
               policy->P * sizeof *d_mean);
    if (status == TCE_OK)
        status = tce_net_backward(policy->mean, n, policy->shared_body ? policy->d_heads : d_mean,
                                  NULL);
    if (status == TCE_OK && policy->factor)
        status = tce_net_backward(policy->factor, n, policy->d_raw, NULL);
    return status;
}

tce_status tce_policy_hidden(const tce_policy *policy, size_t n, double *out)
{
    tce_status status = tce__check_pointer("policy", policy);
    if (status == TCE_OK)
        status = tce__check_pointer("out", out);
    if (status == TCE_OK)
        status = check_remembered(policy, n, "hidden");
    return status == TCE_OK ? tce_net_hidden(policy->mean, n, out) : status;
}

/* ---- training -------------------------------------------------------------------------------- */

double tce_policy_gradient_norm(const tce_policy *policy)
{
    if (!policy)
        return 0.0;
    double rest = 0.0;
    if (policy->factor)
        rest = tce_net_gradient_norm(policy->factor);
    else if (tce__policy_has_vector(policy))
        rest = sqrt(tce__net_double.sum_of_squares(policy->n_raw, policy->d_raw));
    return hypot(tce_net_gradient_norm(policy->mean), rest);
}

void tce_policy_scale_gradient(tce_policy *policy, double factor)
{
    if (!policy)
        return;
    tce_net_scale_gradient(policy->mean, factor);
    tce_net_scale_gradient(policy->factor, factor);
    if (tce__policy_has_vector(policy))
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
    if (policy->factor)
        tce__net_adam(policy->factor, &opt);
    if (!tce__policy_has_vector(policy))
        return TCE_OK;
    policy->n_steps++;
    const tce__adam_scalars s = tce__adam_prepare(&opt, policy->n_steps);
    tce__net_double.adam(policy->n_raw, &s, policy->d_raw, policy->raw, policy->moment,
                         policy->square);
    return TCE_OK;
}

/* an entry of a scale that is to be set */
static tce_status check_entry(const char *name, double x, int is_deviation)
{
    if (!isfinite(x))
        return tce_fail(TCE_E_VALUE, "%s = %g, must be finite", name, x);
    if (is_deviation && !(x > 0.0))
        return tce_fail(TCE_E_NOT_PD, "%s = %g, must be > 0", name, x);
    return TCE_OK;
}

enum { ENTRY_NAME_SIZE = 64 };

static tce_status check_scale(const tce_policy *policy, const double *scale)
{
    const size_t P = policy->P;
    const int diagonal = policy->spread.diagonal;
    char name[ENTRY_NAME_SIZE];
    tce_status status = TCE_OK;

    for (size_t i = 0; status == TCE_OK && i < P; i++)
        for (size_t j = diagonal ? i : 0; status == TCE_OK && j <= i; j++) {
            if (diagonal)
                snprintf(name, sizeof name, "scale[%zu]", i);
            else
                snprintf(name, sizeof name, "scale[%zu,%zu]", i, j);
            status = check_entry(name, diagonal ? scale[i] : scale[i * P + j], i == j);
        }
    return status;
}

tce_status tce_policy_set_covariance(tce_policy *policy, const double *scale)
{
    tce_status status = tce__check_pointer("policy", policy);
    if (status == TCE_OK && !tce__policy_has_vector(policy))
        status = tce_fail(TCE_E_UNSUPPORTED, "a contextual covariance has no vector to set");
    if (status == TCE_OK)
        status = tce__check_pointer("scale", scale);
    if (status == TCE_OK)
        status = check_scale(policy, scale);
    if (status != TCE_OK)
        return status;
    tce__scale_inverse(&policy->spread, policy->P, scale, policy->raw);
    policy->remembered = 0;
    return TCE_OK;
}
