"""Environment steps per second of a peer's whole training, for bench_rl.py; it runs in the peers' virtual environment.

    rl_peer.py PACKAGE METHOD --task pendulum --steps 20480 --begin 4096 --hidden 64 --batch 128 --threads 1

Counted is processor time from step --begin on, so that starting up, compiling, uniform actions and other programs do not count. Packages are black boxes:
stable-baselines3 (ppo, sac) and rltools (sac, ppo). Prints one number.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from typing import Any


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("package", choices=["stable-baselines3", "rltools"])
    parser.add_argument("method", choices=["ppo", "sac"])
    parser.add_argument("--task", default="pendulum", help="pendulum, or an id of Gymnasium")
    parser.add_argument("--steps", type=int, default=20480)
    parser.add_argument("--begin", type=int, default=4096)
    parser.add_argument("--environments", type=int, default=1)
    parser.add_argument("--rollout", type=int, default=128, help="steps of an environment per rollout")
    parser.add_argument("--hidden", type=int, default=64)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--threads", type=int, default=1)
    return parser.parse_args()


def with_stable_baselines3(options: argparse.Namespace) -> float:
    import gymnasium
    import torch
    from stable_baselines3 import PPO, SAC
    from stable_baselines3.common.callbacks import BaseCallback
    from stable_baselines3.common.vec_env import DummyVecEnv

    torch.set_num_threads(options.threads)
    name = "Pendulum-v1" if options.task == "pendulum" else options.task
    if name.startswith("tce/"):
        import tce.gym  # noqa: F401

    class Clock(BaseCallback):
        began = ended = 0.0
        first = last = 0

        def _on_step(self) -> bool:
            if not self.began and self.num_timesteps >= options.begin:
                self.began, self.first = time.process_time(), self.num_timesteps
            return True

        def _on_training_end(self) -> None:
            self.ended, self.last = time.process_time(), self.num_timesteps

    env = DummyVecEnv([lambda: gymnasium.make(name)] * options.environments)
    layers = [options.hidden, options.hidden]
    learner: Any
    if options.method == "ppo":
        learner = PPO(
            "MlpPolicy", env, n_steps=options.rollout, batch_size=options.batch, n_epochs=10, gamma=0.9, gae_lambda=0.95, learning_rate=1e-3,
            policy_kwargs={"net_arch": {"pi": layers, "vf": layers}, "activation_fn": torch.nn.Tanh}, device="cpu", seed=1)
    else:
        learner = SAC(
            "MlpPolicy", env, batch_size=options.batch, learning_rate=1e-3, buffer_size=max(5000, options.steps), learning_starts=500,
            gamma=0.99, tau=0.005, train_freq=1, gradient_steps=1, policy_kwargs={"net_arch": layers}, device="cpu", seed=1)
    clock = Clock()
    learner.learn(options.steps, callback=clock)
    return (clock.last - clock.first) / (clock.ended - clock.began)


# the package's own pendulum, as the environment that it compiles with
RLTOOLS_PENDULUM = """
#include <rl_tools/rl/environments/pendulum/operations_generic.h>
template <typename T, typename TI>
using ENVIRONMENT_FACTORY = rl_tools::rl::environments::Pendulum<rl_tools::rl::environments::pendulum::Specification<
    T, TI, rl_tools::rl::environments::pendulum::DefaultParameters<T>>>;
"""


def with_rltools(options: argparse.Namespace) -> float:
    import rltools

    if options.task != "pendulum":
        raise SystemExit("rltools: the pendulum only")
    folder = tempfile.mkdtemp()
    with open(f"{folder}/environment.h", "w") as file:
        file.write(RLTOOLS_PENDULUM)
    task = {"path": folder, "action_dim": 1, "observation_dim": 3}
    name = f"bench_{options.method}_{options.hidden}_{options.batch}_{options.environments}_{options.steps}"
    same = {"interface_name": name, "ACTOR_HIDDEN_DIM": options.hidden, "CRITIC_HIDDEN_DIM": options.hidden, "EPISODE_STEP_LIMIT": 200,
            "num_evaluation_episodes": 1}
    if options.method == "sac":
        step = 1
        learner = rltools.SAC(
            task, ACTOR_BATCH_SIZE=options.batch, CRITIC_BATCH_SIZE=options.batch, N_WARMUP_STEPS=500, STEP_LIMIT=options.steps,
            REPLAY_BUFFER_CAP=max(5000, options.steps), evaluation_interval=options.steps, **same)
    else:
        step = options.environments * options.rollout
        learner = rltools.PPO(
            task, GAMMA=0.9, INITIAL_ACTION_STD=1.0, ACTION_ENTROPY_COEFFICIENT=0.0, TOTAL_STEP_LIMIT=options.steps,
            ACTOR_ACTIVATION_FUNCTION="TANH", CRITIC_ACTIVATION_FUNCTION="TANH", N_ENVIRONMENTS=options.environments,
            ON_POLICY_RUNNER_STEPS_PER_ENV=options.rollout, BATCH_SIZE=options.batch, evaluation_interval=options.steps // step, **same)
    state = learner.State(1)
    steps = first = 0
    began = time.process_time()
    finished = False
    while not finished:
        if not first and steps >= options.begin:
            began, first = time.process_time(), steps
        finished = state.step()
        steps += step
    return (steps - first) / (time.process_time() - began)


def main() -> int:
    options = parse()
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = str(options.threads)
    run = with_stable_baselines3 if options.package == "stable-baselines3" else with_rltools
    print(f"{run(options):.6g}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
