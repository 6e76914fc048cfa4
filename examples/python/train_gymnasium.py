"""Trains on a Gymnasium environment, Pendulum-v1, with TCE.   Run: python examples/python/train_gymnasium.py

Cells (# %%) as in a notebook. Needs the package tce with gymnasium: pip install './bindings/python[gym]'
"""

# %% The task: angle and speed of the pendulum follow a desired path; a path is one movement of 100 steps
import argparse
from typing import List

import numpy as np
from numpy.typing import NDArray

import tce

Array = NDArray[np.float64]

options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
options.add_argument("--iterations", type=int, default=60)
options.add_argument("--episodes", type=int, default=32)
options.add_argument("--seed", type=int, default=1)
arguments = options.parse_args()

E, T, DT, K = arguments.episodes, 100, 0.05, 20
times = DT * np.arange(1, T + 1)


def follow(obs: Array, pos: Array, vel: Array) -> List[float]:
    """Torque of a PD controller towards the desired angle, the short way round."""
    angle = np.arctan2(obs[1], obs[0])
    error = (pos[0] - angle + np.pi) % (2.0 * np.pi) - np.pi
    return [8.0 * error + 2.0 * (vel[0] - obs[2])]


task = tce.GymTask("Pendulum-v1", n_dof=1, n_steps=T, dt=DT, controller=follow)
rollout = tce.Rollout(task, n_envs=E, seed=arguments.seed)

# %% The learner: primitive, policy, critic, trust region. The critic sees the time too
mp = tce.ProDMP(n_dof=1, n_basis=6, tau=T * DT, dt=DT, alpha=10, weights_scale=0.5, goal_scale=1.0)
random = tce.Random(arguments.seed)
policy = tce.Policy(n_obs=3, n_dims=mp.n_params, hidden=[64, 64], random=random, max_batch=E)
critic = tce.Net(n_in=4, n_out=1, hidden=[64, 64], random=random, max_batch=E * (T + 1))
normaliser = tce.Normaliser(4)
projection = tce.Projection("kl", mp.n_params, mean_bound=0.1, cov_bound=0.02)


def with_time(obs: Array) -> Array:
    """[E, T+1, O] -> [E * (T+1), O + 1]."""
    clock = np.broadcast_to(np.append(0.0, times)[None, :, None], (*obs.shape[:2], 1))
    seen: Array = np.concatenate([obs, clock], axis=2)
    return seen.reshape(-1, seen.shape[2])


# %% One iteration
def iterate(number: int) -> float:
    # episodes: context -> Gaussian over parameters -> movement -> rewards
    contexts, pos, vel = rollout.reset(episode=number)
    old_mean, old_chol = policy.predict(contexts)
    params = tce.gauss.sample(old_mean, old_chol, random)
    desired, speeds = mp.trajectory(params, times, 0.0, pos, vel)
    paths = rollout.run(desired, speeds)
    rewards = 0.1 * paths.rewards

    # values of all states, returns of all steps
    inputs = with_time(paths.obs)
    normaliser.update(inputs)
    inputs = normaliser.apply(inputs)
    values = critic.forward(inputs).reshape(E, T + 1)
    _, returns = tce.returns.gae(rewards, values, paths.terminated | paths.truncated, gamma=1.0, lam=0.95)

    # segments, what they brought, and how likely they were
    pairs = tce.segment.choose_pairs(T, K, random)
    advantages, _ = tce.segment.advantage(rewards, values, pairs, gamma=1.0, normalise=True)
    objective = tce.SegmentObjective(mp, times, pairs)
    log_prob = objective.log_prob(desired, old_mean, old_chol, pos, vel)

    # critic and policy learn, the policy inside its trust region
    before_steps = inputs.reshape(E, T + 1, -1)[:, :T].reshape(E * T, -1)
    for _ in range(20):
        critic.pass_mse(before_steps, returns.reshape(-1, 1))
        critic.adam_step(learning_rate=3e-3)
    for _ in range(20):
        mean, chol = policy.predict(contexts)
        near_mean, near_chol = projection.project(mean, chol, old_mean, old_chol)
        found = objective.surrogate(desired, near_mean, near_chol, pos, vel, log_prob, advantages)
        d_mean, d_chol = projection.backward(found.d_mean, found.d_chol)
        _, t_mean, t_chol = projection.regression(mean, chol, coefficient=1.0)
        policy.backward(d_mean + t_mean, d_chol + t_chol)
        policy.adam_step(learning_rate=3e-3)
    return float(paths.rewards.sum(axis=1).mean())


# %% Training
history: List[float] = []
for i in range(arguments.iterations):
    history.append(iterate(i))
    if i % 10 == 0 or i == arguments.iterations - 1:
        print(f"iteration {i:3d}  mean return {history[-1]:8.1f}", flush=True)

first, last = np.mean(history[:5]), np.mean(history[-5:])
print(f"mean return of the first five iterations {first:.1f}, of the last five {last:.1f}")
