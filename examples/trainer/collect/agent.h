/*
 * An agent: observation in, desired path or action out, without noise.
 *
 *     observation -> inputs (context entries, or all and the time; normalised)
 *     -> mean of the policy -> outputs (as they are, clipped, or squashed into a range)
 *     -> parameters of a primitive, and its path; or the action of this step
 *
 * It is data, the same for a learner, which lends its policy to it, and for policy.safetensors,
 * from which it is opened. Evaluation, plots, videos and exports take it from either.
 */
#ifndef TRAINER_AGENT_H
#define TRAINER_AGENT_H

#include <tce/tce.h>

#include "collect/exploration.h"
#include "settings/settings.h"

/* What becomes of an output x, with its bounds: x, clip(x), low + (tanh(x) + 1)/2 (high - low). */
enum { AGENT_PLAIN = 0, AGENT_CLIP = 1, AGENT_TANH = 2 };

typedef struct agent {
    tce_policy *policy;
    int acts;                   /* at every step: outputs are actions; else parameters of mp */
    tce_mp *mp;                 /* NULL where it acts */
    tce_normaliser *normaliser; /* of the inputs; NULL: none */
    double epsilon, clip;       /* that the normaliser was created with */
    int32_t output;             /* AGENT_… */
    const double *low, *high;   /* [P], where output is not AGENT_PLAIN */
    size_t O, O_net;            /* numbers in an observation, inputs of the policy */
    size_t T, D, P;             /* steps of an episode, degrees of freedom, outputs of the policy */
    double dt;                  /* seconds per step */
    size_t n_context;           /* inputs that come from the observation */
    /* [n_context] their places in it, the spec's or the store's; NULL: the whole observation */
    const int32_t *context;
    int time_input;          /* the last input is the time */
    exploration exploration; /* in training, where it acts */
    int contextual;          /* one covariance per context */
    const char *task; /* its name, the settings' or the store's; "" when the store has none */
} agent;

/*
 * What an agent sees of a task; the rest stays 0: policy, primitive, normaliser, outputs, P and
 * contextual. mask_context: only the entries that the task calls context; else time_input adds the
 * time. spec and task must outlive *out.
 */
void agent_describe(agent *out, const tce_env_spec *spec, const char *task, int mask_context,
                    int time_input);

/* What is taken of a state: obs [O] at a time -> out [O_net], before the normaliser. */
void agent_input(const agent *a, const double *obs, double time, double *out);

/* Inputs [n, O_net] as the policy gets them, in place. */
tce_status agent_normalise(const agent *a, size_t n, double *inputs);

/* Outputs x [n, P] of the policy, or draws around them, into parameters or actions, in place. */
void agent_output(const agent *a, size_t n, double *x);

/*
 * What it does in n states at a time: obs [n, O] -> parameters or actions out [n, P]. work
 * [agent_work(a, n)].
 */
tce_status agent_act(const agent *a, size_t n, const double *obs, double time, double *work,
                     double *out);
size_t agent_work(const agent *a, size_t n);

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
/* Frees the handles of an agent that was opened. */
void agent_close(agent *a);

/*
 * TCE_E_VALUE, TCE_E_SHAPE: an agent from a file is not one for a task as it is now. The message
 * says what has changed.
 */
tce_status agent_check_task(const agent *a, const tce_env_spec *spec, const char *task);

/* A setting of its primitive that is another than a run's, both as texts. */
typedef struct primitive_difference {
    const setting_row *row;
    char of_policy[4 * TEXT_SIZE], of_settings[4 * TEXT_SIZE];
} primitive_difference;

/* Whether the primitive of an agent from a file is another than that of settings; the first key. */
int agent_other_primitive(const agent *a, const settings *s, primitive_difference *out);

/*
 * TCE_E_VALUE: the primitive of an agent from a file is not that of a run's settings, where the
 * method has one. path: of that file, for the message.
 */
tce_status agent_check_settings(const agent *a, const settings *s, const char *path);

#endif
