#include "replay_tape.h"

#include <stdlib.h>
#include <string.h>

typedef struct player {
    replay_tape *tape;
    size_t i, k; /* number of the environment; steps played */
} player;

static tce_status create(void *user, const char *settings, void **out)
{
    replay_tape *t = user;
    player *p = malloc(sizeof *p);
    (void)settings;
    if (!p)
        return tce_fail(TCE_E_NOMEM, "no memory for a player");
    *p = (player){ t, t->n_made++ % t->N, 0 };
    *out = p;
    return TCE_OK;
}

static tce_status spec(void *instance, tce_env_spec *out)
{
    const replay_tape *t = ((const player *)instance)->tape;
    out->n_obs = (int32_t)t->O;
    out->n_action = (int32_t)t->A;
    out->n_steps = (int32_t)t->K + 1; /* never reached: the ends are those that the tape recorded */
    out->dt = 1.0;
    out->action_low = t->low;
    out->action_high = t->high;
    return TCE_OK;
}

static tce_status reset(void *instance, tce_random *random, double *obs, double *pos, double *vel)
{
    const player *p = instance;
    const replay_tape *t = p->tape;
    (void)random, (void)pos, (void)vel;
    memcpy(obs, t->reset + (p->i * (t->K + 1) + p->k) * t->O, t->O * sizeof *obs);
    return TCE_OK;
}

static tce_status step_action(void *instance, const double *action, double *obs,
                              tce_env_result *out)
{
    player *p = instance;
    replay_tape *t = p->tape;
    const size_t at = p->i * t->K + p->k;
    if (p->k >= t->K)
        return tce_fail(TCE_E_ENV, "the tape has only %zu steps", t->K);
    memcpy(t->sent + (p->k * t->N + p->i) * t->A, action, t->A * sizeof *action);
    memcpy(obs, t->obs + at * t->O, t->O * sizeof *obs);
    out->reward = t->reward[at];
    out->terminated = t->terminated[at];
    out->truncated = t->truncated[at];
    p->k++;
    return TCE_OK;
}

const tce_env_vtable REPLAY_TAPE = { .struct_size = sizeof REPLAY_TAPE,
                                     .abi = TCE_ENV_ABI,
                                     .name = "tape",
                                     .description = "plays recorded steps",
                                     .create = create,
                                     .destroy = free,
                                     .spec = spec,
                                     .reset = reset,
                                     .step_action = step_action };

/* A limit of all actions: the case's, or the same number for each. */
static const double *limit(replay_case *c, const char *key, size_t A, double otherwise)
{
    if (replay_get(c, c->root, key) != NULL)
        return replay_array(c, c->root, key, A);
    double *all = replay_zeros(c, A);
    for (size_t d = 0; d < A; d++)
        all[d] = otherwise;
    return all;
}

void replay_read_tape(replay_case *c, size_t A, replay_tape *t)
{
    size_t shape[REPLAY_MAX_RANK];
    const json_t *from = replay_object(c, c->root, "tape");
    replay_shape(c, from, "obs", shape);
    *t = (replay_tape){ .N = shape[0], .K = shape[1], .O = shape[2], .A = A };
    t->obs = replay_array(c, from, "obs", t->N * t->K * t->O);
    t->reset = replay_array(c, from, "reset", t->N * (t->K + 1) * t->O);
    t->reward = replay_array(c, from, "reward", t->N * t->K);
    t->terminated = replay_flags(c, from, "terminated", t->N * t->K);
    t->truncated = replay_flags(c, from, "truncated", t->N * t->K);
    t->low = limit(c, "action_low", A, -1.0);
    t->high = limit(c, "action_high", A, 1.0);
    t->sent = replay_zeros(c, t->K * t->N * A);
}
