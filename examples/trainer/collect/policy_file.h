/*
 * A trained policy from a file: the one place where policy.safetensors becomes handles. Evaluation,
 * plots and exports all take it from here, so that none of them meets sizes that do not fit each
 * other.
 */
#ifndef TRAINER_POLICY_FILE_H
#define TRAINER_POLICY_FILE_H

#include <tce/tce.h>

/* Policy, primitive, and what a method's export_policy tells about the task. */
typedef struct policy_file {
    tce_policy *policy;
    tce_mp *mp;
    size_t O, O_net;  /* numbers in an observation, inputs of the policy */
    size_t T, D, P;   /* steps of an episode, degrees of freedom, parameters of the primitive */
    double dt;        /* seconds per step */
    size_t n_context; /* inputs that come from the observation */
    /* [n_context] their places in it, in the store; NULL: the whole observation */
    const int32_t *context;
    int time_input;   /* the last input is the time */
    const char *task; /* its name, in the store; "" when the store has none */
} policy_file;

/*
 * Creates the handles of a store, for batches of max_batch contexts, and checks every size in it
 * against every other. The store must outlive *out. policy_file_close also after a failure.
 * TCE_E_NOT_FOUND: not the store of a policy.  TCE_E_SHAPE, TCE_E_VALUE: its parts do not belong
 * together; the message says which.
 */
tce_status policy_file_open(policy_file *out, const tce_store *store, int32_t max_batch,
                            tce_pool *pool);
void policy_file_close(policy_file *f);

#endif
