/*
 * The states of all environments, out and in, for checkpoints: the task's own, and where each
 * environment is in its episode. With both, an episode continues where it was.
 */
#include "rollout/internal.h"

#include <string.h>

/* The rollout's own numbers, behind those of the task. */
enum {
    WORD_STATE, /* TCE__EPISODE_… */
    WORD_EPISODE_HIGH,
    WORD_EPISODE_LOW, /* 32 bits each: a double does not hold 64 */
    WORD_STEP,
    WORD_EVENT,
    WORD_TERMINATED, /* how the episode ended, where it has */
    WORD_TRUNCATED,
    N_WORDS
};

/* Numbers in the task's state of environment i; 0 when the task does not tell its state. */
static size_t count_of(const tce_rollout *rollout, size_t i)
{
    const tce_env_vtable *table = &rollout->table;

    return table->n_state && table->get_state && table->set_state
               ? table->n_state(rollout->instances[i])
               : 0;
}

size_t tce_rollout_n_state(const tce_rollout *rollout)
{
    const size_t n = rollout ? count_of(rollout, 0) : 0;

    return n > 0 ? n + N_WORDS : 0;
}

/* Arguments of both, and that the environments agree about the size of the task's state. */
static tce_status check_states(const tce_rollout *rollout, size_t n, const char *name,
                               const void *states, size_t *out_n)
{
    tce_status status = tce__check_pointer("rollout", rollout);
    if (status != TCE_OK)
        return status;
    if (n > rollout->n_envs)
        return tce_fail(TCE_E_SHAPE, "n = %zu, there are %zu environments", n, rollout->n_envs);
    status = tce__check_pointer(name, states);
    if (status != TCE_OK)
        return status;
    *out_n = count_of(rollout, 0);
    if (*out_n == 0)
        return tce_fail(TCE_E_UNSUPPORTED,
                        "task \"%s\" has no get_state, so its states cannot be saved",
                        rollout->table.name);
    for (size_t i = 1; i < n; i++)
        if (count_of(rollout, i) != *out_n)
            return tce_fail(TCE_E_ENV,
                            "environment %zu has %zu numbers in its state, environment 0 has %zu",
                            i, count_of(rollout, i), *out_n);
    return TCE_OK;
}

static tce_status named(const tce_rollout *rollout, const char *callback, size_t i,
                        tce_status status)
{
    status = tce__judge(callback, status);
    return status != TCE_OK
               ? tce_fail(status, "environment %zu, %s: %s", tce__rollout_number(rollout, i),
                          callback, tce_error_message())
               : TCE_OK;
}

static void get_words(const tce_rollout *rollout, size_t i, double *out)
{
    out[WORD_STATE] = rollout->states[i];
    out[WORD_EPISODE_HIGH] = (double)(rollout->episodes[i] >> 32);
    out[WORD_EPISODE_LOW] = (double)(rollout->episodes[i] & UINT32_MAX);
    out[WORD_STEP] = rollout->steps[i];
    out[WORD_EVENT] = rollout->events[i];
    out[WORD_TERMINATED] = rollout->ends[i].terminated;
    out[WORD_TRUNCATED] = rollout->ends[i].truncated;
}

tce_status tce_rollout_get_states(tce_rollout *rollout, size_t n, double *out)
{
    size_t n_task = 0;
    tce__aside aside;
    tce_status status = check_states(rollout, n, "out", out, &n_task);

    if (status != TCE_OK)
        return status;
    tce__aside_put(&aside);
    for (size_t i = 0; i < n; i++) {
        double *row = out + i * (n_task + N_WORDS);
        status = named(rollout, "get_state", i,
                       rollout->table.get_state(rollout->instances[i], row));
        if (status != TCE_OK)
            return status;
        get_words(rollout, i, row + n_task);
    }
    tce__aside_return(&aside);
    return TCE_OK;
}

/* TCE_E_VALUE unless the words can be those of an environment. */
static tce_status check_words(const tce_rollout *rollout, size_t i, const double *words)
{
    const double most[N_WORDS] = {
        [WORD_STATE] = TCE__EPISODE_ENDED, [WORD_EPISODE_HIGH] = UINT32_MAX,
        [WORD_EPISODE_LOW] = UINT32_MAX,   [WORD_STEP] = rollout->spec.n_steps,
        [WORD_EVENT] = INT32_MAX,          [WORD_TERMINATED] = INT32_MAX,
        [WORD_TRUNCATED] = INT32_MAX
    };

    for (size_t k = 0; k < N_WORDS; k++)
        if (!(words[k] >= 0.0 && words[k] <= most[k] && words[k] == floor(words[k])))
            return tce_fail(TCE_E_VALUE,
                            "states of environment %zu: number %zu from the end is %g, must be a "
                            "whole number of 0 to %g: give what tce_rollout_get_states gave",
                            tce__rollout_number(rollout, i), N_WORDS - k, words[k], most[k]);
    return TCE_OK;
}

static void set_words(tce_rollout *rollout, size_t i, const double *words)
{
    const int32_t state = (int32_t)words[WORD_STATE];
    const tce_env_result end = { .terminated = (int32_t)words[WORD_TERMINATED],
                                 .truncated = (int32_t)words[WORD_TRUNCATED],
                                 .event = (int32_t)words[WORD_EVENT] };

    /* why an environment was lost is not kept: it waits for a reset */
    rollout->states[i] = state == TCE__EPISODE_FAULT ? TCE__EPISODE_NONE : state;
    rollout->statuses[i] = TCE_OK;
    rollout->messages[i * TCE__ROLLOUT_MESSAGE] = '\0';
    rollout->episodes[i] = (uint64_t)words[WORD_EPISODE_HIGH] << 32 |
                           (uint64_t)words[WORD_EPISODE_LOW];
    rollout->steps[i] = (int32_t)words[WORD_STEP];
    rollout->events[i] = end.event;
    rollout->ends[i] = end;
}

tce_status tce_rollout_set_states(tce_rollout *rollout, size_t n, const double *states,
                                  double *out_obs)
{
    size_t n_task = 0;
    tce__aside aside;
    tce_status status = check_states(rollout, n, "states", states, &n_task);
    const size_t S = n_task + N_WORDS;

    for (size_t i = 0; status == TCE_OK && i < n; i++)
        status = check_words(rollout, i, states + i * S + n_task);
    if (status != TCE_OK)
        return status;

    const size_t O = (size_t)rollout->spec.n_obs;
    tce__aside_put(&aside);
    for (size_t i = 0; i < n; i++) {
        double *obs = rollout->obs + i * O;
        rollout->states[i] = TCE__EPISODE_NONE;
        status = named(rollout, "set_state", i,
                       rollout->table.set_state(rollout->instances[i], states + i * S, obs));
        if (status != TCE_OK)
            return status;
        set_words(rollout, i, states + i * S + n_task);
        if (out_obs)
            memcpy(out_obs + i * O, obs, O * sizeof *obs);
    }
    tce__aside_return(&aside);
    return TCE_OK;
}
