/*
 * The task pendulum of libtce_tasks.so, stepped by raw actions from a given state: angle, speed,
 * then the number of the step.
 */
#include <string.h>

#include "replay.h"

enum { N_GIVEN = 2, N_STATE = 3, N_OBS = 3 };

void replay_pendulum(replay_case *c)
{
    size_t shape[REPLAY_MAX_RANK];
    double state[N_STATE] = { 0 }, obs[N_OBS];
    replay_environment env;
    replay_open_environment(c, "pendulum", NULL, NULL, &env);
    if (env.n_state != N_STATE || env.spec.n_obs != N_OBS || env.spec.n_action != 1)
        replay_fail(c, "pendulum has other sizes than this program knows");

    memcpy(state, replay_array(c, c->root, "state", N_GIVEN), N_GIVEN * sizeof *state);
    replay_ok(c, env.vtable->set_state(env.instance, state, obs));
    replay_shape(c, c->root, "actions", shape);
    const size_t n = shape[0];
    const double *actions = replay_array(c, c->root, "actions", n);
    double *states = replay_zeros(c, N_GIVEN * n), *rewards = replay_zeros(c, n);
    for (size_t t = 0; t < n; t++) {
        tce_env_result result = { 0 };
        replay_ok(c, env.vtable->step_action(env.instance, actions + t, obs, &result));
        replay_ok(c, env.vtable->get_state(env.instance, state));
        memcpy(states + N_GIVEN * t, state, N_GIVEN * sizeof *state);
        rewards[t] = result.reward;
    }
    replay_compare_rivals(c, c->root, "states", N_GIVEN * n, states);
    replay_compare_rivals(c, c->root, "rewards", n, rewards);
}
