#include "collect/factors.h"

/* whether the policy's own scales are standard deviations */
static int is_diagonal(const tce_policy *policy)
{
    return tce_policy_scale_size(policy) == tce_policy_n_dims(policy);
}

/* deviations at the front of L become factors, from the last one on */
void factors_spread(size_t n, size_t P, double *L)
{
    for (size_t i = n * P; i-- > 0;) {
        const double sigma = L[i];
        double *row = L + i * P;
        for (size_t j = 0; j < P; j++)
            row[j] = 0.0;
        row[i % P] = sigma;
    }
}

void factors_diagonals(size_t n, size_t P, const double *L, double *out)
{
    for (size_t i = 0; i < n * P; i++)
        out[i] = L[i * P + i % P];
}

tce_status factors_predict(tce_policy *policy, size_t n, const double *obs, double *out_mean,
                           double *out_L)
{
    const tce_status status = tce_policy_predict(policy, n, obs, out_mean, out_L);
    if (status == TCE_OK && n > 0 && is_diagonal(policy))
        factors_spread(tce_policy_n_factors(policy, n), tce_policy_n_dims(policy), out_L);
    return status;
}

tce_status factors_backward(tce_policy *policy, size_t n, const double *d_mean, double *d_L)
{
    if (is_diagonal(policy))
        factors_diagonals(tce_policy_n_factors(policy, n), tce_policy_n_dims(policy), d_L, d_L);
    return tce_policy_backward(policy, n, d_mean, d_L);
}

tce_status factors_set(tce_policy *policy, const double *L, double *room)
{
    if (!is_diagonal(policy))
        return tce_policy_set_covariance(policy, L);
    factors_diagonals(1, tce_policy_n_dims(policy), L, room);
    return tce_policy_set_covariance(policy, room);
}
