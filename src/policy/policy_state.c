/*
 * A policy's state as one vector, and in a store: the networks under "<prefix>.mean" and
 * "<prefix>.covariance", or, when shared, the raw vector "<prefix>.covariance.raw" with its Adam;
 * "<prefix>.form" (form, start) and "<prefix>.std" (min_std, initial_std).
 */
#include <tce/policy.h>

#include <float.h>
#include <stdio.h>
#include <string.h>

#include "policy/internal.h"

/* ---- weights and gradient -------------------------------------------------------------------- */

size_t tce_policy_n_weights(const tce_policy *policy)
{
    if (!policy)
        return 0;
    return policy->mean->n_weights + (policy->factor ? policy->factor->n_weights : policy->n_raw);
}

void tce_policy_get_weights(const tce_policy *policy, double *out)
{
    if (!policy || !out)
        return;
    tce_net_get_weights(policy->mean, out);
    out += policy->mean->n_weights;
    if (policy->factor)
        tce_net_get_weights(policy->factor, out);
    else
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
    if (status == TCE_OK && !policy->factor)
        status = tce__check_finite("covariance weights", policy->n_raw, rest);
    if (status != TCE_OK)
        return status;

    tce__net_set_weights(policy->mean, weights);
    if (policy->factor)
        tce__net_set_weights(policy->factor, rest);
    else
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
    if (policy->factor)
        tce_net_get_gradient(policy->factor, out);
    else
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
    const double std[2] = { policy->min_std, policy->initial_std };
    status = tce__field_put(store, prefix, "form", TCE_STORE_I32, 2, 0, form);
    if (status == TCE_OK)
        status = tce__field_put(store, prefix, "std", TCE_STORE_F64, 2, 0, std);
    if (status == TCE_OK)
        status = tce_net_save(policy->mean, store, names.mean);
    if (status == TCE_OK && policy->factor)
        return tce_net_save(policy->factor, store, names.covariance);

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

/* the form and min_std decide what the numbers mean, so they must be the policy's own */
static tce_status check_meaning(const tce_policy *policy, const tce_store *store,
                                const char *prefix)
{
    int32_t form[2];
    double std[2];
    tce_status status = tce__field_read(store, prefix, "form", TCE_STORE_I32, 2, form);
    if (status == TCE_OK)
        status = tce__field_read(store, prefix, "std", TCE_STORE_F64, 2, std);
    if (status == TCE_OK && form[0] != policy->form)
        status = tce_fail(TCE_E_SHAPE, "%s was saved with form %d, the policy has %d", prefix,
                          (int)form[0], (int)policy->form);
    if (status == TCE_OK && std[0] != policy->min_std)
        status = tce_fail(TCE_E_VALUE, "%s was saved with min_std %g, the policy has %g", prefix,
                          std[0], policy->min_std);
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
    if (status == TCE_OK && !policy->factor)
        status = check_vector(policy, store, names.covariance);
    if (status != TCE_OK)
        return status;

    policy->remembered = 0;
    status = tce__net_load_read(policy->mean, store, names.mean);
    if (status == TCE_OK && policy->factor)
        status = tce__net_load_read(policy->factor, store, names.covariance);
    if (status == TCE_OK && !policy->factor)
        status = read_vector(policy, store, names.covariance);
    return status;
}

tce_status tce_policy_create_from(const tce_store *store, const char *prefix, int32_t max_batch,
                                  tce_pool *pool, const tce_hooks *hooks, tce_policy **out)
{
    tce_status status = tce__check_pointer("out", out);
    if (status != TCE_OK)
        return status;
    *out = NULL;

    /* the options, from what was saved */
    prefixes names;
    int32_t form[2];
    double std[2];
    tce__net_shape mean;
    tce__net_shape factor = { .n_hidden = -1, .activation = -1 };
    status = tce__check_pointer("store", store);
    if (status == TCE_OK)
        status = make_prefixes(prefix, &names);
    if (status == TCE_OK)
        status = tce__field_read(store, prefix, "form", TCE_STORE_I32, 2, form);
    if (status == TCE_OK)
        status = tce__field_read(store, prefix, "std", TCE_STORE_F64, 2, std);
    if (status == TCE_OK)
        status = tce__net_saved_shape(store, names.mean, &mean);
    if (status == TCE_OK && form[0] == TCE_POLICY_FULL_CONTEXTUAL)
        status = tce__net_saved_shape(store, names.covariance, &factor);
    if (status != TCE_OK)
        return status;

    tce_policy_options opt;
    tce_policy_options_init(&opt, sizeof opt);
    opt.n_obs = mean.n_in;
    opt.n_dims = mean.n_out;
    opt.form = form[0];
    opt.n_hidden = mean.n_hidden;
    opt.activation = mean.activation;
    opt.precision = mean.precision;
    opt.start = form[1];
    opt.max_batch = max_batch;
    opt.n_cov_hidden = factor.n_hidden;
    opt.cov_activation = factor.activation;
    opt.hidden = mean.hidden;
    opt.cov_hidden = factor.hidden;
    opt.min_std = std[0];
    opt.initial_std = std[1];
    opt.pool = pool;

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
