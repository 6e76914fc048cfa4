/*
 * The policy's handle, shared by policy.c and policy_state.c.
 */
#ifndef TCE_POLICY_INTERNAL_H
#define TCE_POLICY_INTERNAL_H

#include <tce/policy.h>

#include "base/internal.h"
#include "net/internal.h"

struct tce_policy {
    tce_hooks hooks;
    tce_net *mean;   /* context -> P means */
    tce_net *factor; /* contextual: context -> raw covariance; NULL otherwise */
    size_t P;
    size_t n_obs;
    size_t n_raw; /* raw numbers of one factor */
    size_t max_batch;
    size_t remembered; /* contexts of the last predict, 0 when backward has nothing to stand on */
    int32_t form;
    double min_std;
    double initial_std;
    uint64_t n_steps; /* Adam steps of the raw vector */
    double *raw; /* [1 or max_batch, n_raw]: the trainable vector, or the second network's output */
    double *d_raw;  /* like raw */
    double *moment; /* [n_raw], shared forms only */
    double *square; /* [n_raw] */
};

#endif
