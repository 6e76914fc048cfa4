/*
 * The policy's handle, shared by policy.c and policy_state.c.
 */
#ifndef TCE_POLICY_INTERNAL_H
#define TCE_POLICY_INTERNAL_H

#include <tce/policy.h>

#include "base/internal.h"
#include "net/internal.h"
#include "policy/scale.h"

/*
 * Where the raw numbers of scales come from: one trainable vector, the second part of the first
 * network's outputs, or a second network.
 */
struct tce_policy {
    tce_hooks hooks;
    tce_net *mean;   /* context -> P means, with a shared body [P means, n_raw] */
    tce_net *factor; /* context -> n_raw; NULL when there is no second network */
    size_t P;
    size_t n_obs;
    size_t n_raw;  /* raw numbers of one scale */
    size_t stride; /* from the raw numbers of one context to those of the next; 0: shared */
    size_t max_batch;
    size_t remembered; /* contexts of the last predict, 0 when backward has nothing to stand on */
    int32_t form;
    int32_t shared_body;
    tce__spread spread;
    double initial_std;
    double gain_out;
    uint64_t n_steps; /* Adam steps of the vector */
    double *heads;    /* [max_batch, P + n_raw] outputs of a shared body, and their gradient */
    double *d_heads;
    double *raw;    /* the vector [n_raw], or into the outputs of a network */
    double *d_raw;  /* like raw */
    double *moment; /* [n_raw], the vector's only */
    double *square; /* [n_raw] */
};

static inline int tce__policy_has_vector(const tce_policy *policy)
{
    return policy->stride == 0;
}

/* Weights of the vector or of the second network, which follow those of the first. */
static inline size_t tce__policy_n_rest(const tce_policy *policy)
{
    if (policy->factor)
        return policy->factor->n_weights;
    return tce__policy_has_vector(policy) ? policy->n_raw : 0;
}

#endif
