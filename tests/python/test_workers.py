"""Environments in processes of their own: the same bytes as in this one, and what happens when one fails or dies."""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from ctypes import byref, c_void_p
from pathlib import Path
from typing import Any, List

import numpy as np
import pytest

import tce
from tce._declarations import EnvResult, EnvVtable, EnvVtableCallbacks

pytest.importorskip("gymnasium")
pytest.importorskip("cloudpickle")

from slider import Slider  # noqa: E402
from test_run import GYM, MODULES, Faulty, Point, changed, content, quiet, rows, wait_until, without_pictures  # noqa: E402, F401
from tce._workers import Workers, WorkerTraceback  # noqa: E402


@pytest.mark.parametrize("task, keywords", [(Slider, GYM), (Point, {}), (Faulty, {"config": changed(collect__on_fault="drop", collect__episodes=32)})])
def test_any_number_of_workers_gives_the_bytes_of_none(tmp_path: Path, task: Any, keywords: Any) -> None:
    for n in (0, 1, 2, 3):
        quiet(task, tmp_path / str(n), workers=n, **keywords)
    found = [content(tmp_path / str(n)) for n in (0, 1, 2, 3)]
    assert found[0] == found[1] == found[2] == found[3]
    others = {key: value for key, value in keywords.items() if key != "config"}
    seen = [tce.load(tmp_path / "0").evaluate(10, task=task, workers=n, **others) for n in (0, 2)]
    assert np.array_equal(seen[0].returns, seen[1].returns) and seen[0].mean == seen[1].mean


def test_a_method_that_acts_at_every_step_needs_no_controller(tmp_path: Path) -> None:
    config = {"run": {"iterations": 2}, "collect": {"environments": 4, "steps": 50}, "evaluate": {"every": 1, "episodes": 4}}
    for n in (0, 2):
        run = quiet(Slider, tmp_path / str(n), config=config, method="ppo", n_steps=20, metrics=["success"], workers=n)
    assert content(tmp_path / "0") == content(tmp_path / "2")
    agent = run.agent()
    assert agent.act([0.0, 0.0, 0.5]).shape == (1,) and agent.evaluate(3).lengths.tolist() == [20] * 3
    with pytest.raises(tce.UnsupportedError, match="acts at every step"):
        agent.plan([0.0, 0.0, 0.5])
    loaded = tce.load(tmp_path / "0")
    assert loaded.acts and np.array_equal(loaded.evaluate(3, task=Slider, n_steps=20).returns, agent.evaluate(3).returns)
    for env in (agent.env(), loaded.env(Slider, n_steps=20)):
        obs, _ = env.reset(seed=1)
        assert env.step(agent.act(obs))[0].shape == (3,)


def test_a_controller_is_wanted_by_methods_that_plan_paths_alone(tmp_path: Path) -> None:
    for method, plans in (("tce", True), ("bbrl", True), ("sac_mp", True), ("ppo", False), ("gsde", False), ("trpl", False), ("sac", False), ("pink", False)):
        make = lambda: tce.Run(Slider, method, n_steps=20, out=tmp_path / method, progress=False)  # noqa: E731
        if plans:
            with pytest.raises(ValueError, match="no controller can be found for Slider"):
                make()
        else:
            assert make().task.create().spec.n_dof == 0
    run = quiet(Slider, tmp_path / "run", config={"run": {"iterations": 1, "threads": 1}, "mp.n_basis": 2, "collect.learning_starts": 16}, method="sac_mp", **GYM)
    assert run.iteration == 1 and not run.agent().acts


def test_a_run_goes_on_with_another_number_of_workers(tmp_path: Path) -> None:
    quiet(Slider, tmp_path / "whole", **GYM)
    quiet(Slider, tmp_path / "parts", workers=2, callback=lambda i, m: i == 3, **GYM)
    quiet(Slider, tmp_path / "parts", resume=True, workers=1, **GYM)
    assert content(tmp_path / "whole") == content(tmp_path / "parts")


def test_a_step_is_that_of_an_environment_here() -> None:
    """The functions of the task one by one: steps that were not announced, raw actions, metrics."""
    task = tce.GymTask(Slider, controller=GYM["controller"], metrics=["success"], n_steps=20)
    here = task.create()
    with Workers(task, here.spec, 1) as workers:
        raw = workers.task()
        table = EnvVtable.from_address(raw.vtable)
        call = {name: EnvVtableCallbacks[name](getattr(table, name)) for name in EnvVtableCallbacks if getattr(table, name)}
        there = c_void_p()
        assert call["create"](raw.user, None, byref(there)) == 0
        for action in (False, True):
            ours, theirs = tce.Random(3), tce.Random(3)
            start = here.reset(ours)
            obs, pos, vel = np.empty(3), np.empty(1), np.empty(1)
            address = [array.ctypes.data for array in (obs, pos, vel)]
            assert call["reset"](there, ctypes.addressof(theirs._state), *address) == 0
            assert ours.state == theirs.state
            assert [start.obs.tolist(), start.pos.tolist(), start.vel.tolist()] == [obs.tolist(), pos.tolist(), vel.tolist()]
            for t in range(20):
                path = np.array([[0.1 * t], [0.5]])
                want = here.step_action(path[1]) if action else here.step(path[0], path[1])
                result = EnvResult()
                inputs = [path[1].ctypes.data] if action else [path[0].ctypes.data, path[1].ctypes.data]
                assert call["step_action" if action else "step"](there, *inputs, obs.ctypes.data, byref(result)) == 0
                assert want.obs.tolist() == obs.tolist() and want.reward == result.reward and want.truncated == bool(result.truncated)
                metrics = np.empty(1)
                assert call["metrics"](there, metrics.ctypes.data) == 0
                assert here.metrics() == {"success": metrics[0]}
            # the episode is over
            assert call["step_action"](there, pos.ctypes.data, obs.ctypes.data, byref(EnvResult())) == -5
        call["destroy"](there)
    assert all(process.poll() == 0 for process in workers.processes)


class Worn(tce.Env):
    """A point whose start depends on the episodes before, through what get_state tells."""

    def __init__(self, settings: Any = None) -> None:
        self.spec = tce.EnvSpec(n_obs=2, n_dof=1, n_steps=10, dt=0.1, n_action=1, n_state=2, carries_state=True)
        self.x = self.wear = 0.0

    def reset(self, random: tce.Random) -> Any:
        self.wear += 0.01
        self.x = random.uniform() + self.wear
        return [self.x, self.wear], [self.x], [0.0]

    def step(self, pos: Any, vel: Any) -> Any:
        self.x += 0.5 * (pos[0] - self.x)
        return [self.x, self.wear], -abs(self.x)

    def step_action(self, action: Any) -> Any:
        return self.step(action, action)

    def get_state(self) -> Any:
        return [self.x, self.wear]

    def set_state(self, state: Any) -> Any:
        self.x, self.wear = state
        return state


def test_a_state_goes_to_workers_and_back() -> None:
    assert tce.check_env(Worn) == []
    task = tce.PythonTask(Worn)
    here = task.create()
    assert here.spec.n_state == 3 and here.offers("get_state") and here.get_state().tolist() == [0.0, 0.0, 0.0]
    here.reset(tce.Random(3))
    for _ in range(4):
        here.step([0.3], [0.0])
    state, obs, pos, result = here.get_state(), np.empty(2), np.array([0.1]), EnvResult()
    assert state[0] == 6.0
    with Workers(task, here.spec, 1) as workers:
        raw = workers.task()
        table = EnvVtable.from_address(raw.vtable)
        call = {name: EnvVtableCallbacks[name](getattr(table, name)) for name in EnvVtableCallbacks if getattr(table, name)}
        there = c_void_p()
        assert call["create"](raw.user, None, byref(there)) == 0 and call["n_state"](there) == 3
        for _ in range(2):
            assert call["set_state"](there, state.ctypes.data, obs.ctypes.data) == 0 and obs.tolist() == state[1:].tolist()
            got = np.empty(3)
            assert call["get_state"](there, got.ctypes.data) == 0 and got.tolist() == state.tolist()
            ends = []
            for _ in range(6):
                assert call["step"](there, pos.ctypes.data, pos.ctypes.data, obs.ctypes.data, byref(result)) == 0
                ends.append(result.truncated)
            assert ends == [0] * 5 + [1]
        call["destroy"](there)


def test_an_environment_that_carries_a_state_is_resumed_to_the_same_bytes(tmp_path: Path) -> None:
    steps = {"run": {"iterations": 4, "checkpoint_every": 1}, "collect": {"environments": 4, "steps": 25}, "evaluate": {"every": 1, "episodes": 4}}
    for method, config in (("tce", changed(run__checkpoint_every=1)), ("ppo", steps)):
        keywords = {"method": method, "config": config}
        for n in (0, 1, 2):
            folder = tmp_path / f"{method}{n}"
            quiet(Worn, folder, workers=n, callback=lambda i, m: i == 3, **keywords)
            quiet(Worn, folder, workers=2 - n, resume=True, **keywords)
        quiet(Worn, tmp_path / method, **keywords)
        assert content(tmp_path / method) == content(tmp_path / f"{method}0") == content(tmp_path / f"{method}1") == content(tmp_path / f"{method}2")
        file = sorted((tmp_path / method / "checkpoints").iterdir())[-1]
        assert any("states" in name for name in tce.Store.load(file))


class Fickle(Worn):
    """An environment that says a size as a float, and changes what it said."""

    def __init__(self, settings: Any = None) -> None:
        super().__init__(settings)
        self.spec.n_state = 2.0  # type: ignore[assignment]

    def reset(self, random: tce.Random) -> Any:
        self.spec.n_state = 100000
        return super().reset(random)


def test_sizes_of_an_environment_are_those_that_it_had_when_it_was_made() -> None:
    rollout = tce.Rollout(tce.PythonTask(Fickle), 2)
    rollout.reset()
    states = rollout.get_states()
    assert states.shape == (2, rollout.spec.n_state) and states[:, 0].tolist() == [10.0, 10.0]
    assert rollout.set_states(states).tolist() == states[:, 1:3].tolist()
    assert tce.Rollout(tce.PythonTask(Point)).spec.n_state == 0


class Short(Worn):
    def get_state(self) -> Any:
        return [self.x]


class Silent(Worn):
    def __init__(self, settings: Any = None) -> None:
        super().__init__(settings)
        self.spec.n_state = 0


def test_a_state_that_is_not_there_is_named(tmp_path: Path) -> None:
    for n in (0, 1):
        with pytest.raises(tce.EnvironmentFault, match="get_state: 1 numbers, expected n_state = 2"):
            quiet(Short, tmp_path / f"short{n}", workers=n)
        with pytest.raises(tce.EnvironmentFault, match="carries_state: the spec's n_state is 0: say in n_state how many numbers get_state gives"):
            quiet(Silent, tmp_path / f"silent{n}", workers=n)
    instance = tce.PythonTask(Point).create()
    assert instance.spec.n_state == 0 and not instance.offers("get_state")
    with pytest.raises(tce.UnsupportedError, match="this environment does not tell its state"):
        instance.get_state()


# ---- failures ------------------------------------------------------------------------------------------------


def test_an_exception_in_a_worker_comes_with_its_traceback(tmp_path: Path) -> None:
    with pytest.raises(tce.EnvironmentFault, match=r"environment \d+, step \d+ .*RuntimeError: the arm is stuck") as caught:
        quiet(Faulty, tmp_path / "run", workers=2)
    assert isinstance(caught.value.__cause__, WorkerTraceback) and 'raise RuntimeError("the arm is stuck")' in str(caught.value.__cause__)


class Dying(Point):
    """The process ends in the middle of an episode, as it does when a simulator crashes."""

    def step(self, pos: Any, vel: Any) -> Any:
        if self.x > 0.8:
            os.kill(os.getpid(), signal.SIGSEGV)
        return super().step(pos, vel)


def test_a_worker_that_dies_is_named(tmp_path: Path) -> None:
    with pytest.raises(tce.EnvironmentFault, match=r"worker [01] of the environments, process \d+, has ended by signal 11"):
        quiet(Dying, tmp_path / "run", workers=2)


class Mortal(Point):
    """Of three environments that are made one has a process that ends."""

    def reset(self, random: Any) -> Any:
        mark = Path(os.environ["MARK"])
        try:
            mark.touch(exist_ok=False)
        except FileExistsError:
            return super().reset(random)
        os._exit(7)


def test_episodes_of_a_dead_worker_are_dropped_where_faults_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MARK", str(tmp_path / "mark"))
    dropped: List[float] = []
    quiet(Mortal, tmp_path / "run", workers=2, config=changed(collect__on_fault="drop"), callback=lambda i, m: dropped.append(m["dropped"]))
    assert dropped == [4.0] * 4  # two of four environments, in two rounds
    os.unlink(tmp_path / "mark")
    with pytest.raises(tce.EnvironmentFault, match="has ended with exit status 7"):
        quiet(Mortal, tmp_path / "again", workers=2)


class Unwilling(Point):
    def __init__(self, settings: Any = None) -> None:
        super().__init__(settings)
        if sys.argv[0].endswith("_worker.py"):
            raise OSError("no display")


def test_what_cannot_be_made_in_a_worker_is_said_with_the_remedy(tmp_path: Path) -> None:
    import threading

    lock = threading.Lock()

    def locked() -> Point:
        with lock:
            return Point()

    with pytest.raises(TypeError, match="cannot be sent to a worker.*workers=0"):
        quiet(locked, tmp_path / "a", workers=1)
    with pytest.raises(tce.EnvironmentFault, match="OSError: no display"):
        quiet(Unwilling, tmp_path / "b", workers=1)
    with pytest.raises(TypeError, match="set run.threads"):
        quiet("point_via", tmp_path / "c", workers=1)
    with pytest.raises(ValueError, match="workers: -1, expected 0 to 4096"):
        quiet(Point, tmp_path / "d", workers=-1)


# ---- processes -----------------------------------------------------------------------------------------------

SCRIPT = """
import sys, signal, tce
from test_run import Point, changed
signal.signal(signal.SIGINT, signal.default_int_handler)
class Mine(Point):                     # of the script itself, which has no guard
    pass
try:
    run = tce.train(Mine, config=changed(run__iterations=100000), out=sys.argv[1], workers=2, progress=False)
    print("stopped", run.interrupted)
except KeyboardInterrupt:
    print("raised")
"""


def start(folder: Path, code: str = SCRIPT) -> "subprocess.Popen[str]":
    script = folder.parent / "script.py"
    script.write_text(code)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([MODULES, os.environ.get("PYTHONPATH", "")])}
    return subprocess.Popen([sys.executable, str(script), str(folder)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)


def children(process: int) -> List[int]:
    return [int(number) for number in Path(f"/proc/{process}/task/{process}/children").read_text().split()]


def gone(processes: List[int]) -> bool:
    def lives(number: int) -> bool:
        try:
            return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
        except OSError:
            return False

    return not any(map(lives, processes))


def wait_until_gone(processes: List[int]) -> None:
    end = time.monotonic() + 30
    while not gone(processes):
        assert time.monotonic() < end, "a worker has outlived its run"
        time.sleep(0.05)


@pytest.mark.parametrize("signals", [1, 2, "kill"])
def test_workers_end_with_the_run(tmp_path: Path, signals: Any) -> None:
    process = start(tmp_path / "run")
    wait_until(lambda: rows(tmp_path / "run") >= 1, process)
    workers = children(process.pid)
    assert len(workers) == 2
    if signals == "kill":
        process.kill()
    for _ in range(0 if signals == "kill" else signals):
        # as a terminal does: to the workers too
        for one in [process.pid, *workers]:
            try:
                os.kill(one, signal.SIGINT)
            except ProcessLookupError:
                pass
        time.sleep(0.05)
    said, errors = process.communicate(timeout=60)
    if signals != "kill":
        assert re.fullmatch(r"stopped True\n" if signals == 1 else r"stopped True\n|raised\n", said), said + errors
        assert errors == ""
    wait_until_gone(workers)


HANGS = """
import os, sys, time, tce
from test_run import Point, SMALL
class Hanging(Point):
    def step(self, pos, vel):
        os.close(os.open(f"{sys.path[0]}/hangs{os.getpid()}", os.O_CREAT))
        while True:
            time.sleep(PAUSE)
    def close(self):
        if os.path.exists(f"{sys.path[0]}/hangs{os.getpid()}"):
            os.close(os.open(f"{sys.path[0]}/closed{os.getpid()}", os.O_CREAT))
PAUSE = float(os.environ["PAUSE"])
tce.train(Hanging, config=SMALL, out=sys.argv[1], workers=2, progress=False)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="elsewhere the system does not tell a process that its parent has ended")
@pytest.mark.parametrize("pause", ["0", "1000"])
def test_workers_end_with_a_killed_run_in_the_middle_of_an_environment_that_hangs(
        tmp_path: Path, pause: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PAUSE", pause)
    process = start(tmp_path / "run", HANGS)
    wait_until(lambda: len(list(tmp_path.glob("hangs*"))) == 2, process)
    workers = children(process.pid)
    process.kill()
    process.communicate(timeout=60)
    try:
        wait_until_gone(workers)
    finally:
        for one in workers:
            if not gone([one]):
                os.kill(one, signal.SIGKILL)
    assert sorted(tmp_path.glob("closed*")) == [tmp_path / f"closed{one}" for one in sorted(workers, key=str)]


def test_ctrl_c_while_workers_start_is_said_by_nobody_else(tmp_path: Path) -> None:
    for wait in (0.0, 0.1, 0.3):
        process = start(tmp_path / "run")
        wait_until(lambda: len(children(process.pid)) == 2, process)
        time.sleep(wait)
        # as a terminal does: to the workers too
        for one in [*children(process.pid), process.pid]:
            os.kill(one, signal.SIGINT)
        said, errors = process.communicate(timeout=60)
        assert (said in ("raised\n", "stopped True\n"), errors) == (True, "")


LARGE = """
import sys, tce
from test_run import Point, SMALL
class Large(Point):
    def __init__(self, settings=None):
        super().__init__(settings)
        self.spec.n_obs, self.spec.context = 60000, (0, 1)
    def reset(self, random):
        obs, pos, vel = super().reset(random)
        return obs + [0.0] * 59998, pos, vel
    def step(self, pos, vel):
        obs, reward = super().step(pos, vel)
        return obs + [0.0] * 59998, reward
try:
    print(tce.train(Large, config=SMALL, out=sys.argv[1], workers=2, progress=False).iteration)
except tce.OutOfMemoryError as fault:
    print(fault)
"""


@pytest.mark.parametrize("disk, said", [(200, r"4\n"), (2, r"environment 0 of \"Large\": no room in /dev/shm, nor for a file in TMPDIR, .*--shm-size.*\n")])
def test_a_small_memory_for_sharing_ends_no_process(tmp_path: Path, disk: int, said: str) -> None:
    """As in a container, whose /dev/shm has 64 MB: an environment here needs five, and there are two."""
    (tmp_path / "large.py").write_text(LARGE)
    (tmp_path / "disk").mkdir()
    mount = f"mount -t tmpfs -o size=2m tmpfs /dev/shm && mount -t tmpfs -o size={disk}m tmpfs {tmp_path}/disk"
    inside = ["unshare", "-m"] if os.geteuid() == 0 else ["unshare", "-rm"]
    if not shutil.which("unshare") or subprocess.run([*inside, "sh", "-c", mount], capture_output=True).returncode != 0:
        pytest.skip("needs a namespace of mounts")
    environment = {**os.environ, "TMPDIR": str(tmp_path / "disk"), "PYTHONPATH": os.pathsep.join([MODULES, os.environ.get("PYTHONPATH", "")])}
    done = subprocess.run([*inside, "sh", "-c", f"{mount} && exec {sys.executable} {tmp_path}/large.py {tmp_path}/run"],
                          capture_output=True, text=True, env=environment, timeout=300)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    assert re.fullmatch(said, done.stdout), done.stdout
