/*
 * A policy's state as one vector, and in a store: the networks under "<prefix>.mean" and
 * "<prefix>.covariance", or, when shared, the raw vector "<prefix>.covariance.raw" with its Adam;
 * "<prefix>.form" (form, start) and "<prefix>.std" (min_std, initial_std). Where the spread is not
 * softplus, or mean and spread share a body: "<prefix>.spread" (spread, shared_body) and
 * "<prefix>.log_std" (log_std_low, log_std_high); where the last layer starts with another gain
 * than 0.01: "<prefix>.gain".
 */
#include <tce/policy.h>

#include <float.h>
#include <stdio.h>
#include <string.h>

#include "policy/internal.h"

/* ---- weights and gradient -------------------------------------------------------------------- */

size_t tce_policy_n_weights(const tce_policy *policy)
{
    return policy ? policy->mean->n_weights + tce__policy_n_rest(policy) : 0;
}

void tce_policy_get_weights(const tce_policy *policy, double *out)
{
    if (!policy || !out)
        return;
    tce_net_get_weights(policy->mean, out);
    out += policy->mean->n_weights;
    tce_net_get_weights(policy->factor, out);
    if (tce__policy_has_vector(policy))
        memcpy(out, policy->raw, policy->n_raw * sizeof *out);
}

tce_status tce_policy_set_weights(tce_policy *policy, const double *weights)
{
    tce_status status = tce__check_pointer("policy", policy);
    if (status == TCE_OK)
        status = tce__check_pointer("weights", weights);
    if (status != TCE_OK)
        return status;

    const double *rest = weights + policy->mean->n_weights;
    status = tce__net_check_weights(policy->mean, "weights", weights);
    if (status == TCE_OK && policy->factor)
        status = tce__net_check_weights(policy->factor, "covariance weights", rest);
    if (status == TCE_OK && tce__policy_has_vector(policy))
        status = tce__check_finite("covariance weights", policy->n_raw, rest);
    if (status != TCE_OK)
        return status;

    tce__net_set_weights(policy->mean, weights);
    if (policy->factor)
        tce__net_set_weights(policy->factor, rest);
    if (tce__policy_has_vector(policy))
        memcpy(policy->raw, rest, policy->n_raw * sizeof *rest);
    policy->remembered = 0;
    return TCE_OK;
}

void tce_policy_get_gradient(const tce_policy *policy, double *out)
{
    if (!policy || !out)
        return;
    tce_net_get_gradient(policy->mean, out);
    out += policy->mean->n_weights;
    tce_net_get_gradient(policy->factor, out);
    if (tce__policy_has_vector(policy))
        memcpy(out, policy->d_raw, policy->n_raw * sizeof *out);
}

/* ---- store ----------------------------------------------------------------------------------- */

/* the two networks' prefixes; long enough for any prefix that leaves room for a name */
typedef struct prefixes {
    char mean[TCE__FIELD_NAME_SIZE];
    char covariance[TCE__FIELD_NAME_SIZE];
} prefixes;

static tce_status make_prefixes(const char *prefix, prefixes *out)
{
    tce_status status = tce__field_name(prefix, "mean", out->mean);
    if (status == TCE_OK)
        status = tce__field_name(prefix, "covariance", out->covariance);
    return status;
}

static tce_status save_spread(const tce_policy *policy, tce_store *store, const char *prefix)
{
    const tce__spread *s = &policy->spread;
    const int32_t spread[2] = { s->kind, policy->shared_body };
    const double log_std[2] = { s->low, s->high };
    tce_status status = tce__field_put(store, prefix, "spread", TCE_STORE_I32, 2, 0, spread);
    if (status == TCE_OK)
        status = tce__field_put(store, prefix, "log_std", TCE_STORE_F64, 2, 0, log_std);
    if (status == TCE_OK)
        status = tce__field_put(store, prefix, "gain", TCE_STORE_F64, 1, 0, &policy->gain_out);
    return status;
}

/* the spread of a saved policy, and its gain */
static tce_status read_spread(const tce_store *store, const char *prefix, tce_policy_options *out)
{
    int32_t spread[2];
    double log_std[2];
    tce_status status = tce__field_read(store, prefix, "spread", TCE_STORE_I32, 2, spread);
    if (status == TCE_OK)
        status = tce__field_read(store, prefix, "log_std", TCE_STORE_F64, 2, log_std);
    if (status == TCE_OK)
        status = tce__field_read(store, prefix, "gain", TCE_STORE_F64, 1, &out->gain_out);
    if (status != TCE_OK)
        return status;
    out->spread = spread[0];
    out->shared_body = spread[1];
    out->log_std_low = log_std[0];
    out->log_std_high = log_std[1];
    return TCE_OK;
}

tce_status tce_policy_save(const tce_policy *policy, tce_store *store, const char *prefix)
{
    prefixes names;
    tce_status status = tce__check_pointer("policy", policy);
    if (status == TCE_OK)
        status = tce__check_pointer("store", store);
    if (status == TCE_OK)
        status = make_prefixes(prefix, &names);
    if (status != TCE_OK)
        return status;

    const int32_t form[2] = { policy->form, policy->mean->start };
    const double std[2] = { policy->spread.min_std, policy->initial_std };
    status = tce__field_put(store, prefix, "form", TCE_STORE_I32, 2, 0, form);
    if (status == TCE_OK)
        status = tce__field_put(store, prefix, "std", TCE_STORE_F64, 2, 0, std);
    if (status == TCE_OK)
        status = save_spread(policy, store, prefix);
    if (status == TCE_OK)
        status = tce_net_save(policy->mean, store, names.mean);
    if (status == TCE_OK && policy->factor)
        status = tce_net_save(policy->factor, store, names.covariance);
    if (!tce__policy_has_vector(policy))
        return status;

    if (status == TCE_OK)
        status = tce__field_put(store, names.covariance, "raw", TCE_STORE_F64, policy->n_raw, 0,
                                policy->raw);
    if (status == TCE_OK)
        status = tce__field_put(store, names.covariance, "adam.moment", TCE_STORE_F64,
                                policy->n_raw, 0, policy->moment);
    if (status == TCE_OK)
        status = tce__field_put(store, names.covariance, "adam.square", TCE_STORE_F64,
                                policy->n_raw, 0, policy->square);
    if (status == TCE_OK)
        status = tce__field_put(store, names.covariance, "adam.steps", TCE_STORE_U64, 1, 0,
                                &policy->n_steps);
    return status;
}

/* form and spread decide what the numbers mean, so they must be the policy's own */
static tce_status check_meaning(const tce_policy *policy, const tce_store *store,
                                const char *prefix)
{
    const tce__spread *own = &policy->spread;
    int32_t form[2];
    double std[2];
    tce_policy_options then;
    tce_policy_options_init(&then, sizeof then);
    tce_status status = tce__field_read(store, prefix, "form", TCE_STORE_I32, 2, form);
    if (status == TCE_OK)
        status = tce__field_read(store, prefix, "std", TCE_STORE_F64, 2, std);
    if (status == TCE_OK)
        status = read_spread(store, prefix, &then);
    if (status == TCE_OK && form[0] != policy->form)
        status = tce_fail(TCE_E_SHAPE, "%s was saved with form %d, the policy has %d", prefix,
                          (int)form[0], (int)policy->form);
    if (status == TCE_OK && then.shared_body != policy->shared_body)
        status = tce_fail(TCE_E_SHAPE, "%s was saved with shared_body %d, the policy has %d",
                          prefix, (int)then.shared_body, (int)policy->shared_body);
    if (status == TCE_OK && then.spread != own->kind)
        status = tce_fail(TCE_E_VALUE, "%s was saved with spread %d, the policy has %d", prefix,
                          (int)then.spread, (int)own->kind);
    if (status == TCE_OK && own->kind == TCE_POLICY_SOFTPLUS && std[0] != own->min_std)
        status = tce_fail(TCE_E_VALUE, "%s was saved with min_std %g, the policy has %g", prefix,
                          std[0], own->min_std);
    if (status == TCE_OK && own->kind == TCE_POLICY_EXP_CLIPPED &&
        (then.log_std_low != own->low || then.log_std_high != own->high))
        status = tce_fail(TCE_E_VALUE,
                          "%s was saved with log_std in %g ... %g, the policy has %g ... %g",
                          prefix, then.log_std_low, then.log_std_high, own->low, own->high);
    return status;
}

static tce_status check_vector(const tce_policy *policy, const tce_store *store, const char *prefix)
{
    uint64_t n_steps;
    tce_status status = tce__field_check(store, prefix, "raw", policy->n_raw, 0, -DBL_MAX, DBL_MAX);
    if (status == TCE_OK)
        status = tce__field_check(store, prefix, "adam.moment", policy->n_raw, 0, -DBL_MAX,
                                  DBL_MAX);
    if (status == TCE_OK)
        status = tce__field_check(store, prefix, "adam.square", policy->n_raw, 0, 0.0, DBL_MAX);
    if (status == TCE_OK)
        status = tce__field_read(store, prefix, "adam.steps", TCE_STORE_U64, 1, &n_steps);
    return status;
}

static tce_status read_vector(tce_policy *policy, const tce_store *store, const char *prefix)
{
    tce_status status = tce__field_read(store, prefix, "raw", TCE_STORE_F64, policy->n_raw,
                                        policy->raw);
    if (status == TCE_OK)
        status = tce__field_read(store, prefix, "adam.moment", TCE_STORE_F64, policy->n_raw,
                                 policy->moment);
    if (status == TCE_OK)
        status = tce__field_read(store, prefix, "adam.square", TCE_STORE_F64, policy->n_raw,
                                 policy->square);
    if (status == TCE_OK)
        status = tce__field_read(store, prefix, "adam.steps", TCE_STORE_U64, 1, &policy->n_steps);
    return status;
}

tce_status tce_policy_load(tce_policy *policy, const tce_store *store, const char *prefix)
{
    prefixes names;
    tce_status status = tce__check_pointer("policy", policy);
    if (status == TCE_OK)
        status = tce__check_pointer("store", store);
    if (status == TCE_OK)
        status = make_prefixes(prefix, &names);

    /* everything is checked before anything changes */
    if (status == TCE_OK)
        status = check_meaning(policy, store, prefix);
    if (status == TCE_OK)
        status = tce__net_load_check(policy->mean, store, names.mean);
    if (status == TCE_OK && policy->factor)
        status = tce__net_load_check(policy->factor, store, names.covariance);
    if (status == TCE_OK && tce__policy_has_vector(policy))
        status = check_vector(policy, store, names.covariance);
    if (status != TCE_OK)
        return status;

    policy->remembered = 0;
    status = tce__net_load_read(policy->mean, store, names.mean);
    if (status == TCE_OK && policy->factor)
        status = tce__net_load_read(policy->factor, store, names.covariance);
    if (status == TCE_OK && tce__policy_has_vector(policy))
        status = read_vector(policy, store, names.covariance);
    return status;
}

/* what was saved, in the options of a policy; widths are in the shapes */
static tce_status read_options(const tce_store *store, const char *prefix, tce__net_shape *mean,
                               tce__net_shape *factor, tce_policy_options *opt)
{
    prefixes names;
    int32_t form[2];
    double std[2];
    tce_status status = make_prefixes(prefix, &names);
    if (status == TCE_OK)
        status = tce__field_read(store, prefix, "form", TCE_STORE_I32, 2, form);
    if (status == TCE_OK)
        status = tce__field_read(store, prefix, "std", TCE_STORE_F64, 2, std);
    if (status == TCE_OK)
        status = read_spread(store, prefix, opt);
    if (status == TCE_OK)
        status = tce__net_saved_shape(store, names.mean, mean);
    if (status != TCE_OK)
        return status;

    opt->form = form[0];
    opt->start = form[1];
    opt->min_std = std[0];
    opt->initial_std = std[1];
    const int diagonal = opt->form == TCE_POLICY_DIAGONAL_CONTEXTUAL;
    if ((diagonal || opt->form == TCE_POLICY_FULL_CONTEXTUAL) && !opt->shared_body)
        return tce__net_saved_shape(store, names.covariance, factor);
    if (opt->shared_body && !diagonal)
        return tce_fail(TCE_E_VALUE, "%s was saved with form %d and a shared body", prefix,
                        (int)opt->form);
    if (opt->shared_body && mean->n_out % 2 != 0)
        return tce_fail(TCE_E_SHAPE, "%s has %d outputs, which cannot be divided into two heads",
                        prefix, (int)mean->n_out);
    return TCE_OK;
}

tce_status tce_policy_create_from(const tce_store *store, const char *prefix,
                                  const tce_policy_options *options, const tce_hooks *hooks,
                                  tce_policy **out)
{
    tce_status status = tce__check_pointer("out", out);
    if (status != TCE_OK)
        return status;
    *out = NULL;

    /* what the caller decides, then what was saved */
    tce_policy_options opt;
    tce__net_shape mean;
    tce__net_shape factor = { .n_hidden = -1, .activation = -1 };
    tce_policy_options_init(&opt, sizeof opt);
    status = tce__check_pointer("store", store);
    if (status == TCE_OK && options)
        status = tce__struct_read(options, "tce_policy_options", sizeof opt, &opt);
    if (status == TCE_OK)
        status = read_options(store, prefix, &mean, &factor, &opt);
    if (status != TCE_OK)
        return status;
    opt.n_obs = mean.n_in;
    opt.n_dims = opt.shared_body ? mean.n_out / 2 : mean.n_out;
    opt.n_hidden = mean.n_hidden;
    opt.activation = mean.activation;
    opt.precision = mean.precision;
    opt.n_cov_hidden = factor.n_hidden;
    opt.cov_activation = factor.activation;
    opt.hidden = mean.hidden;
    opt.cov_hidden = factor.hidden;

    tce_policy *policy;
    status = tce_policy_create(&opt, hooks, &policy);
    if (status == TCE_OK)
        status = tce_policy_load(policy, store, prefix);
    if (status != TCE_OK) {
        tce_policy_free(policy);
        return status;
    }
    *out = policy;
    return TCE_OK;
}
