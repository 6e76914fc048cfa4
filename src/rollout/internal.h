/*
 * What the files of rollout share: the handle.
 */
#ifndef TCE_ROLLOUT_INTERNAL_H
#define TCE_ROLLOUT_INTERNAL_H

#include <tce/rollout.h>

#include "base/internal.h"

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
    size_t n_envs;
    int32_t on_fault;
    void **instances;     /* [n_envs] */
    uint64_t *episodes;   /* [n_envs]: number of the last reset */
    int32_t *steps;       /* [n_envs]: taken since the last reset */
    int32_t *states;      /* [n_envs] */
    tce_env_result *ends; /* [n_envs]: what ended the episodes in TCE__EPISODE_ENDED */
    tce_status *statuses; /* [n_envs] */
    char *messages;       /* [n_envs, TCE__ROLLOUT_MESSAGE] */
    double *obs;          /* [n_envs, O]: the last good observation */
    double *scratch;      /* [n_envs, O + 2 D]: what the caller does not want */
};

/* ---- callbacks (rollout_callback.c) -------------------------------------------------------------- */

/* The thread's message, put aside while callbacks run, so that theirs can be told from what was said before. */
typedef struct tce__aside {
    char text[4 * TCE__ROLLOUT_MESSAGE];
} tce__aside;

void tce__aside_put(tce__aside *aside);
/* Brings the old message back, for a call that succeeds. */
void tce__aside_return(const tce__aside *aside);

/*
 * What to make of a callback's status: TCE_OK and negative ones as they are, with a message in any case; positive ones
 * are the task's mistake, TCE_E_ENV.
 */
tce_status tce__judge(const char *callback, tce_status status);

#endif
