/*
 * The states of all environments, out and in: for checkpoints of tasks whose resets depend on what
 * came before.
 */
#include "rollout/internal.h"

/* Numbers in the state of environment i; 0 when the task does not tell its state. */
static size_t count_of(const tce_rollout *rollout, size_t i)
{
    const tce_env_vtable *table = &rollout->table;

    return table->n_state && table->get_state && table->set_state
               ? table->n_state(rollout->instances[i])
               : 0;
}

size_t tce_rollout_num_state(const tce_rollout *rollout)
{
    return rollout ? count_of(rollout, 0) : 0;
}

/* Arguments of both, and that the environments agree about the size S. */
static tce_status check_states(const tce_rollout *rollout, size_t n, const char *name,
                               const void *states, size_t *out_S)
{
    tce_status status;

    if ((status = tce__check_pointer("rollout", rollout)))
        return status;
    if (n > rollout->n_envs)
        return tce_fail(TCE_E_SHAPE, "n = %zu, there are %zu environments", n, rollout->n_envs);
    if ((status = tce__check_pointer(name, states)))
        return status;
    *out_S = count_of(rollout, 0);
    if (*out_S == 0)
        return tce_fail(TCE_E_UNSUPPORTED, "\"%s\" does not tell its state", rollout->table.name);
    for (size_t i = 1; i < n; i++)
        if (count_of(rollout, i) != *out_S)
            return tce_fail(TCE_E_ENV,
                            "environment %zu has %zu numbers in its state, environment 0 has %zu",
                            i, count_of(rollout, i), *out_S);
    return TCE_OK;
}

static tce_status named(const char *callback, size_t i, tce_status status)
{
    status = tce__judge(callback, status);
    return status ? tce_fail(status, "environment %zu, %s: %s", i, callback, tce_error_message())
                  : TCE_OK;
}

tce_status tce_rollout_get_states(tce_rollout *rollout, size_t n, double *out)
{
    size_t S = 0;
    tce__aside aside;
    tce_status status = check_states(rollout, n, "out", out, &S);

    if (status)
        return status;
    tce__aside_put(&aside);
    for (size_t i = 0; i < n; i++)
        if ((status = named("get_state", i,
                            rollout->table.get_state(rollout->instances[i], out + i * S))))
            return status;
    tce__aside_return(&aside);
    return TCE_OK;
}

tce_status tce_rollout_set_states(tce_rollout *rollout, size_t n, const double *states)
{
    size_t S = 0;
    tce__aside aside;
    tce_status status = check_states(rollout, n, "states", states, &S);

    if (status)
        return status;
    tce__aside_put(&aside);
    for (size_t i = 0; i < n; i++) {
        rollout->states[i] = TCE__EPISODE_NONE;
        if ((status = named("set_state", i,
                            rollout->table.set_state(rollout->instances[i], states + i * S,
                                                     rollout->scratch))))
            return status;
    }
    tce__aside_return(&aside);
    return TCE_OK;
}
