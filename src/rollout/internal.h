/*
 * What the files of rollout share: the handle.
 */
#ifndef TCE_ROLLOUT_INTERNAL_H
#define TCE_ROLLOUT_INTERNAL_H

#include <tce/rollout.h>

#include "env/internal.h"

/* Room for what an environment says when it fails. */
#define TCE__ROLLOUT_MESSAGE 256

/* Where an environment is in its episode. */
enum {
    TCE__EPISODE_NONE = 0,  /* not reset yet, or run to its end */
    TCE__EPISODE_READY = 1, /* reset, can be stepped */
    TCE__EPISODE_FAULT = 2, /* failed since its last reset */
    TCE__EPISODE_ENDED = 3  /* stepped to its end */
};

struct tce_rollout {
    tce_hooks hooks;
    tce_env_vtable table; /* as much of the task's table as this libtce knows, the rest NULL */
    tce_env_spec spec;    /* its arrays are in this block */
    tce_pool *pool;
    uint64_t seed;
    uint64_t purpose;
    uint64_t first_env;
    size_t n_envs;
    int32_t on_fault;
    void **instances;     /* [n_envs] */
    uint64_t *episodes;   /* [n_envs]: number of the last reset */
    int32_t *events;      /* [n_envs]: as the last step left them */
    int32_t *steps;       /* [n_envs]: taken since the last reset */
    int32_t *states;      /* [n_envs] */
    tce_env_result *ends; /* [n_envs]: what ended the episodes in TCE__EPISODE_ENDED */
    tce_status *statuses; /* [n_envs] */
    char *messages;       /* [n_envs, TCE__ROLLOUT_MESSAGE] */
    double *obs;          /* [n_envs, O]: the last good observation */
    double *scratch;      /* [n_envs, O + 2 D]: what the caller does not want */
};

/* What messages call environment i: its number among those of all handles. */
static inline size_t tce__rollout_number(const tce_rollout *rollout, size_t i)
{
    return (size_t)rollout->first_env + i;
}

#endif
