/*
 * An agent: observation in, desired path out.
 *
 *     first observation -> inputs (context entries, or all and the time) -> mean of the policy
 *     -> parameters of the primitive -> path
 *
 * It is data, the same for a learner, which lends its policy to it, and for policy.safetensors,
 * from which it is opened. Evaluation, plots, videos and exports take it from either.
 */
#ifndef TRAINER_AGENT_H
#define TRAINER_AGENT_H

#include <tce/tce.h>

#include "settings/settings.h"

typedef struct agent {
    tce_policy *policy;
    tce_mp *mp;
    size_t O, O_net;  /* numbers in an observation, inputs of the policy */
    size_t T, D, P;   /* steps of an episode, degrees of freedom, parameters of the primitive */
    double dt;        /* seconds per step */
    size_t n_context; /* inputs that come from the observation */
    /* [n_context] their places in it, the spec's or the store's; NULL: the whole observation */
    const int32_t *context;
    int time_input;   /* the last input is the time */
    int contextual;   /* one covariance per context */
    const char *task; /* its name, the settings' or the store's; "" when the store has none */
} agent;

/*
 * What an agent sees of a task; policy, primitive, P and contextual stay 0. mask_context: only the
 * entries that the task calls context; else time_input adds the time. spec and task must outlive
 * *out.
 */
void agent_describe(agent *out, const tce_env_spec *spec, const char *task, int mask_context,
                    int time_input);

/* One state as the networks see it: obs [O] at a time -> out [O_net]. */
void agent_input(const agent *a, const double *obs, double time, double *out);

/* All that a robot needs, into a store. */
tce_status agent_save(const agent *a, tce_store *store);

/*
 * tce_store_load for what runs leave, checkpoints and policies: libtce wrote it, and its checksum
 * is right. TCE_E_CORRUPT otherwise.
 */
tce_status own_store_load(const char *path, tce_store **out);

/*
 * Creates the handles of a store, for batches of max_batch contexts, and checks every size in it
 * against every other. The store must outlive *out. agent_close also after a failure.
 * TCE_E_NOT_FOUND: not the store of a policy.  TCE_E_SHAPE, TCE_E_VALUE: its parts do not belong
 * together; the message says which.
 */
tce_status agent_open(agent *out, const tce_store *store, int32_t max_batch, tce_pool *pool);
/* Frees policy and primitive of an agent that was opened. */
void agent_close(agent *a);

/*
 * TCE_E_VALUE, TCE_E_SHAPE: an agent from a file is not one for a task as it is now. The message
 * says what has changed.
 */
tce_status agent_check_task(const agent *a, const tce_env_spec *spec, const char *task);

/*
 * TCE_E_VALUE: the primitive of an agent from a file is not that of a run's settings, where the
 * method has one. path: of that file, for the message.
 */
tce_status agent_check_settings(const agent *a, const settings *s, const char *path);

#endif
