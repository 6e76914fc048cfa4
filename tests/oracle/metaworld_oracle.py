"""The Metaworld tasks of libtce_tasks.so beside those of the Python package metaworld, all fifty in one process.

    metaworld_oracle.py libtce_tasks.so loops.so [task ...] [--episodes N] [--steps N] [--no-speed]

A task is reset in both with the same random vector and stepped by the same actions, random ones and those of the package's scripted expert. Before each step
ours gets the package's state, so that the difference of one step is seen and not what chaos makes of it; a second run without that
tells how far both drift apart. Profile 2 beside the package with what the profile leaves out taken from it. Then the speed: CPU time of a step of the package, of ours, and of the bare physics inside.
"""

import argparse
import ctypes
import os
import sys
import time
import warnings

import numpy as np

import metaworld.policies as policies
import mujoco
from gymnasium.envs.mujoco import MujocoEnv
from metaworld.env_dict import ALL_V3_ENVIRONMENTS

import tce

# a state of ours (examples/tasks/metaworld/state.h)
N_FRAME, N_OBS, N_TASK, FRAME = 18, 39, 61, 25
OBS_LIMIT, REWARD_LIMIT = 1e-9, 1e-8


def open_libraries(loops):
    """MuJoCo's functions, of the library that the package has loaded, and the loops to time."""
    with open("/proc/self/maps") as maps:
        library = ctypes.CDLL(next(line.split()[-1] for line in maps if "libmujoco.so" in line))
    loops = ctypes.CDLL(os.path.abspath(loops))
    pointer = ctypes.c_void_p
    loops.bare_steps.argtypes = [pointer] * 6 + [ctypes.c_size_t] + [pointer] * 2
    loops.task_steps.argtypes = [pointer] * 2 + [ctypes.c_size_t] + [pointer] * 3
    return [ctypes.cast(f, pointer) for f in (library.mj_step, library.mj_forward)], loops


class Draws(ctypes.Structure):
    """task_draws of examples/tasks/shared/draw.h: numbers that a reset takes instead of random ones."""

    NEXT = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_void_p)
    _fields_ = [("next", NEXT), ("context", ctypes.c_void_p), ("exact", ctypes.c_int)]


class Ours(tce.Instance):
    """An environment of ours whose resets take given vectors."""

    def __init__(self, task, settings=None):
        self.vector = []
        self._next = Draws.NEXT(lambda context: self.vector.pop(0))
        self._draws = Draws(self._next, None, 1)
        super().__init__(task, settings)

    def _call(self, name, *arguments):
        if name == "create":
            arguments = (ctypes.byref(self._draws), *arguments[1:])
        return super()._call(name, *arguments)

    def start(self, vector):
        self.vector = list(vector)
        return self.reset(tce.Random(1))[0]


def make_package(name):
    env = ALL_V3_ENVIRONMENTS[name + "-v3"]()
    # the goal is seen; the bounds of observations were computed without it
    env._partially_observable = False
    env.__dict__.pop("sawyer_observation_space", None)
    env._freeze_rand_vec = True
    env._set_task_called = True
    return env


def start_package(env, vector):
    env._last_rand_vec = vector
    return env.reset()[0]


def draw(env, rng):
    """A vector from the task's box that its rejection rule lets pass: the package would look at a given one for ever."""
    low, high = env._random_reset_space.low, env._random_reset_space.high
    v = low + (high - low) * rng.random(len(low))
    for apart in (0.25, 0.15, 0.1) if len(v) == 6 else ():
        for _ in range(200):
            if np.linalg.norm(v[:2] - v[3:5]) >= apart:
                return v
            v = low + (high - low) * rng.random(len(low))
    return v


def copy_state(env, state):
    """The package's state into ours: physics, and the frame that the last observation showed."""
    d = env.data
    state = state.copy()
    physics = [d.qpos, d.qvel, d.qacc_warmstart, d.ctrl, d.mocap_pos[0], d.mocap_quat[0], [d.time]]
    state[N_TASK:] = np.concatenate([np.ravel(x) for x in physics])
    state[FRAME:FRAME + N_FRAME] = env._prev_obs
    return state


def expert(name):
    return policies.ENV_POLICY_MAP[name + "-v3"]()


def run(name, env, ours, vector, actions, synchronised):
    """Largest differences of observation and reward, flags that differ, whether there was success."""
    theirs, mine = start_package(env, vector), ours.start(vector)
    obs = [np.abs(theirs - mine).max()]
    reward, flags, success = [0.0], 0, False
    for k in range(actions.n):
        a = actions(theirs)
        if synchronised and k > 0:
            ours.set_state(copy_state(env, ours.get_state()))
        theirs, r, _, _, info = env.step(a)
        got = ours.step_action(a)
        obs.append(np.abs(theirs - got.obs).max())
        reward.append(abs(r - got.reward))
        flags += int(bool(info["success"]) != bool(ours.metrics()["success"]))
        success = success or bool(info["success"])
    return max(obs), max(reward), flags, success


# Profile 2 is the package with one reset procedure instead of two and no mj_forward after a step. What else there is to it: a forward before
# the first observation in these tasks, and two tasks of its own, which `make replay` compares.
FORWARD_2 = {"dial-turn", "drawer-open", "faucet-open", "lever-pull", "reach", "window-open", "window-close"}
OWN_2 = {"basketball", "button-press-topdown-wall"}


def start_package_2(name, env, vector):
    env._last_rand_vec, env.curr_path_length = vector, 0
    MujocoEnv.reset(env)
    if name in FORWARD_2:
        mujoco.mj_forward(env.model, env.data)
    env._prev_obs = env._get_curr_obs_combined_no_goal()
    return env._get_obs()


def run_profile_2(name, env, ours, rng, n):
    """Largest differences over three episodes in a row, without putting the states together."""
    obs, reward, forward = [], [], mujoco.mj_forward
    for _ in range(3):
        vector, actions = draw(env, rng), Actions(n, rng)
        obs.append(np.abs(start_package_2(name, env, vector) - ours.start(vector)).max())
        mujoco.mj_forward = lambda model, data: None
        try:
            for _ in range(n):
                a = actions(None)
                theirs, r, *_ = env.step(a)
                got = ours.step_action(a)
                obs.append(np.abs(theirs - got.obs).max())
                reward.append(abs(r - got.reward))
        finally:
            mujoco.mj_forward = forward
    return max(obs), max(reward)


class Actions:
    def __init__(self, n, rng=None, policy=None):
        self.n, self.rng, self.policy, self.last = n, rng, policy, np.zeros(4)

    def __call__(self, obs):
        if self.policy is not None:
            return np.asarray(self.policy.get_action(obs), np.float64)
        # smooth enough to get somewhere
        self.last = np.clip(0.9 * self.last + 0.5 * self.rng.uniform(-1, 1, 4), -1.5, 1.5)
        return self.last


def cpu(function):
    begin = time.process_time()
    function()
    return time.process_time() - begin


def speeds(env, task, bare_env, vector, n, rng, functions, loops):
    """CPU seconds per step: package, ours with profile 3 and 2, five bare mj_step, those and mj_forward; of a reset of ours."""
    source = Actions(n, rng)
    actions = np.array([source(None) for _ in range(n)])
    obs, result = np.empty(N_OBS), tce._declarations.EnvResult()
    d = bare_env.data

    # the same path for the bare physics: positions of the mocap body after each action
    three, two = Ours(task), Ours(task, "profile=2")
    three.start(vector)
    path = np.array([(three.step_action(a), three.get_state()[-8:-5])[1] for a in actions])

    def package():
        for a in actions:
            env.step(a)

    def ours(instance):
        step = ctypes.c_void_p(getattr(instance.task._table, "step_action"))
        if loops.task_steps(step, instance._instance, n, actions.ctypes.data, obs.ctypes.data, ctypes.byref(result)):
            raise RuntimeError("a step failed")

    def bare(forward):
        loops.bare_steps(
            functions[0], functions[1] if forward else None, bare_env.model._address, d._address, d.mocap_pos.ctypes.data, d.ctrl.ctypes.data,
            n, path.ctypes.data, actions.ctypes.data)

    best = np.full(6, np.inf)
    for _ in range(3):
        start_package(env, vector)
        times = [cpu(package)]
        for instance in (three, two):
            reset = cpu(lambda: instance.start(vector))
            times.append(cpu(lambda: ours(instance)))
        for forward in (False, True):
            start_package(bare_env, vector)
            times.append(cpu(lambda: bare(forward)))
        best = np.minimum(best, [*times, reset * n])
    three.close()
    two.close()
    return best / n


def load_all(library, names):
    """Seconds by the clock and of the processor to make one environment of each task, with compiled models in the cache."""
    clock, processor = time.perf_counter(), time.process_time()
    for name in names:
        library["metaworld_" + name.replace("-", "_")].create().close()
    return time.perf_counter() - clock, time.process_time() - processor


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("library")
    parser.add_argument("loops")
    parser.add_argument("tasks", nargs="*")
    parser.add_argument("--episodes", type=int, default=2)
    parser.add_argument("--steps", type=int, default=120)
    parser.add_argument("--expert-steps", type=int, default=300)
    parser.add_argument("--no-speed", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    library = tce.TaskLibrary(options.library)
    libraries = open_libraries(options.loops)
    names = options.tasks or sorted(name[:-3] for name in ALL_V3_ENVIRONMENTS)
    rng = np.random.default_rng(1)
    worst, rows, failed = np.zeros(6), [], []

    print(f"metaworld {__import__('importlib.metadata').metadata.version('metaworld')}, MuJoCo {mujoco.__version__}")
    print("Differences of one step, flags that differ, drift of observation and reward over a run, successes of the expert, profile 2. Times in us: package, ours and their ratio,\n"
          "bare mj_step; rate of ours as a part of the bare rate: profile 3, the same with mj_forward counted as bare, profile 2; reset in ms.")
    print(f"{'task':26s}{'obs':>8s}{'reward':>8s} flags {'drift':>15s} expert {'profile 2':>15s} package  ours ratio  bare    p3  p3+f    p2 reset")
    for name in names:
        env, bare_env = make_package(name), make_package(name)
        ours = Ours(library["metaworld_" + name.replace("-", "_")])
        obs = reward = drift_obs = drift_reward = 0.0
        flags = successes = 0
        for _ in range(options.episodes):
            for kind in ("random", "expert"):
                vector = draw(env, rng)
                seed = int(rng.integers(1 << 30))
                for synchronised in (True, False):
                    actions = Actions(options.steps, np.random.default_rng(seed)) if kind == "random" else \
                        Actions(options.expert_steps, policy=expert(name))
                    o, r, f, s = run(name, env, ours, vector, actions, synchronised)
                    if synchronised:
                        obs, reward, flags = max(obs, o), max(reward, r), flags + f
                        successes += kind == "expert" and s
                    else:
                        drift_obs, drift_reward = max(drift_obs, o), max(drift_reward, r)
        line = f"{name:26s}{obs:8.1e}{reward:8.1e} {flags:5d} {drift_obs:7.1e} {drift_reward:7.1e}  {successes:3d}/{options.episodes}"
        two = (0.0, 0.0)
        if name not in OWN_2:
            second = Ours(ours.task, "profile=2")
            two = run_profile_2(name, bare_env, second, rng, 30)
            second.close()
        line += f" {two[0]:7.1e} {two[1]:7.1e}" if name not in OWN_2 else 16 * " "
        worst = np.maximum(worst, [obs, reward, drift_obs, drift_reward, *two])
        if max(obs, two[0]) > OBS_LIMIT or max(reward, two[1]) > REWARD_LIMIT or flags:
            failed.append(name)
        if not options.no_speed:
            t = speeds(env, ours.task, bare_env, vector, 150, rng, *libraries)
            rows.append(t)
            line += f" {1e6 * t[0]:8.0f}{1e6 * t[1]:6.0f}{t[0] / t[1]:6.2f}{1e6 * t[3]:6.0f}{t[3] / t[1]:6.2f}{t[4] / t[1]:6.2f}{t[3] / t[2]:6.2f}{1e3 * t[5]:6.2f}"
        print(line, flush=True)
        ours.close()
        env.close()
        bare_env.close()

    print(f"largest difference of one step: observation {worst[0]:.1e}, reward {worst[1]:.1e}; "
          f"after whole runs: {worst[2]:.1e}, {worst[3]:.1e}; profile 2: {worst[4]:.1e}, {worst[5]:.1e}")
    if rows:
        t = np.array(rows)
        print(f"steps a second: package {1 / t[:, 0].mean():.0f}, ours {1 / t[:, 1].mean():.0f}; ratio, mean over tasks: {np.mean(t[:, 0] / t[:, 1]):.2f}; "
              f"reset {1e3 * t[:, 5].mean():.2f} ms, at most {1e3 * t[:, 5].max():.2f} (CPU time)")
        print(f"of the rate of five bare mj_step: profile 3 {np.mean(t[:, 3] / t[:, 1]):.3f} (with its mj_forward counted as bare {np.mean(t[:, 4] / t[:, 1]):.3f}), "
              f"profile 2 {np.mean(t[:, 3] / t[:, 2]):.3f}")
        load_all(library, names)
        print("all {} models from the cache: {:.2f} s by the clock, {:.2f} s of the processor".format(len(names), *load_all(library, names)))
    if failed:
        sys.exit("different: " + ", ".join(failed))


if __name__ == "__main__":
    main()
