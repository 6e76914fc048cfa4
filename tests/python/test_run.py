"""Training in this process: the folders, bytes and interruptions of runs on tasks of C, of Python and of Gymnasium."""

from __future__ import annotations

import copy
import gc
import math
import os
import pickle
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
import types
import warnings
from pathlib import Path
from typing import Any, Dict, List, get_args

import numpy as np
import pytest

import tce
from shared import ROOT
from tce import _choices, _sources, training

gymnasium = pytest.importorskip("gymnasium")

import tce.gym  # noqa: E402
from slider import Slider  # noqa: E402

PROGRAM = Path(os.environ.get("TCE_PROGRAM", ROOT / "build" / "bin" / "tce"))
EXAMPLES = ROOT / "examples" / "python"
# where modules of the tests and of the examples are found
MODULES = os.pathsep.join([str(Path(__file__).parent), str(EXAMPLES)])

# a run of a second or less
SMALL: Dict[str, Any] = {
    "run": {"iterations": 4, "checkpoint_every": 2, "threads": 2}, "collect": {"episodes": 8, "environments": 4},
    "evaluate": {"every": 2, "episodes": 4}, "mp": {"n_basis": 2, "tau": 1.0}, "policy": {"hidden": [8], "epochs": 2},
    "critic": {"hidden": [8], "epochs": 2, "minibatches": 2}, "objective.time_points": 5}

FOLLOW = tce.gym.Controller(position=0, velocity=1, command="velocity")
GYM: Dict[str, Any] = {"controller": FOLLOW, "metrics": ["success"], "n_steps": 20}


@pytest.fixture(autouse=True)
def without_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Drawing takes longer than these runs."""
    monkeypatch.setenv("TCE_PYTHON", "/bin/false")


class Point(tce.Env):
    """A point that follows its path by half."""

    def __init__(self, settings: Any = None) -> None:
        self.spec = tce.EnvSpec(n_obs=2, n_dof=1, n_steps=10, dt=0.1, metric_names=("success",))

    def reset(self, random: tce.Random) -> Any:
        self.x = random.uniform()
        return [self.x, 0.0], [self.x], [0.0]

    def step(self, pos: Any, vel: Any) -> Any:
        self.x += 0.5 * (pos[0] - self.x)
        return [self.x, vel[0]], -abs(self.x)

    def metrics(self) -> Any:
        return [float(abs(self.x) < 0.1)]


def content(folder: Path) -> Dict[str, bytes]:
    """What is the same for a run however it was made and stopped."""
    last = sorted((folder / "checkpoints").glob("ckpt-*.safetensors"))[-1]
    return {str(file.relative_to(folder)): file.read_bytes() for file in (folder / "progress.csv", folder / "policy.safetensors", last)}


def quiet(task: Any, folder: Path, config: Any = SMALL, **keywords: Any) -> tce.Run:
    return tce.train(task, config=config, out=folder, progress=False, **keywords)


def changed(**settings: Any) -> Dict[str, Any]:
    return {**SMALL, **{name.replace("__", "."): value for name, value in settings.items()}}


def program(*arguments: Any, **more: str) -> "subprocess.CompletedProcess[str]":
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "TCE_PYTHON": sys.executable, **more}
    kernels = tce.blas_kernels()
    if kernels is not None:
        environment["OPENBLAS_CORETYPE"] = kernels
    return subprocess.run([str(PROGRAM), *map(str, arguments)], capture_output=True, text=True, env=environment, timeout=300)


# ---- the same as the program -------------------------------------------------------------------------------


def test_a_run_of_a_task_library_is_that_of_the_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TCE_PYTHON")
    run = quiet("point_via", tmp_path / "a", seed=3)
    assert (run.iteration, run.env_steps, run.interrupted) == (4, 1600, False) and math.isfinite(run.eval_return)
    done = program("train", "task.name=point_via", *training.words_of(SMALL), "--seed", 3, "--out", tmp_path / "b")
    assert done.returncode == 0, done.stderr
    assert content(tmp_path / "a") == content(tmp_path / "b")
    for name in ("config.yaml", "curve.csv", "events.out.tfevents.tce"):
        same = (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
        assert same or name.startswith("events"), name
    assert {path.name for path in (tmp_path / "a").iterdir()} == {path.name for path in (tmp_path / "b").iterdir()}


def test_a_settings_file_is_found_as_the_program_finds_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run = tce.train("point_via", config="point_via/tce", out="here", progress=False, callback=lambda i, m: i == 1)
    assert run.folder == "here" and "  episodes: 64 " in run.config and run.interrupted
    with pytest.raises(tce.NotFoundError, match="no settings file nowhere/tce"):
        tce.train("point_via", config="nowhere/tce")


def test_the_folder_has_the_name_that_the_program_would_give(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run = tce.train(Point, config=SMALL, seed=7, progress=False, callback=lambda i, m: True)
    assert re.fullmatch(r"runs/Point__tce__7__\d{8}-\d{6}", run.folder)


# ---- stopping and resuming -----------------------------------------------------------------------------------


@pytest.mark.parametrize("task, keywords", [("point_via", {}), (Point, {}), (Slider, GYM)])
def test_a_run_that_is_stopped_and_resumed_has_the_bytes_of_one_that_was_not(tmp_path: Path, task: Any, keywords: Any) -> None:
    quiet(task, tmp_path / "whole", **keywords)
    numbers: List[int] = []
    run = quiet(task, tmp_path / "parts", callback=lambda i, m: numbers.append(i) or i == 3, **keywords)
    assert run.interrupted and run.iteration == 3
    run = quiet(task, tmp_path / "parts", resume=True, callback=lambda i, m: numbers.append(i), **keywords)
    assert not run.interrupted and numbers == [1, 2, 3, 4]
    assert content(tmp_path / "whole") == content(tmp_path / "parts")


def test_a_run_is_resumed_with_its_own_settings_where_none_are_given(tmp_path: Path) -> None:
    quiet(Point, tmp_path / "whole")
    quiet(Point, tmp_path / "parts", callback=lambda i, m: i == 3)
    run = quiet(Point, tmp_path / "parts", config=None, resume=True)
    assert run.iteration == 4 and content(tmp_path / "whole") == content(tmp_path / "parts")
    with pytest.raises(tce.ArgumentError, match="policy.hidden"):
        quiet(Point, tmp_path / "parts", config=changed(policy__hidden=[9]), resume=True)
    run = quiet(Point, tmp_path / "parts", restart=True)
    assert run.iteration == 4 and (tmp_path / "parts" / "before-restart-1").is_dir()


SCRIPT = """
import sys, tce, tce.gym
from slider import Slider
from test_run import GYM, changed
config = changed(run__iterations=int(sys.argv[2]), run__checkpoint_every=1, schedule__entropy_iterations=50)
run = tce.train(Slider, config=config, out=sys.argv[1], resume=True, **GYM)
"""


def start(folder: Path, iterations: int, code: str = SCRIPT) -> "subprocess.Popen[str]":
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([MODULES, os.environ.get("PYTHONPATH", "")])}
    return subprocess.Popen(
        [sys.executable, "-c", code, str(folder), str(iterations)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)


def wait_until(condition: Any, process: Any) -> None:
    end = time.monotonic() + 120
    while not condition():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.01)


def rows(folder: Path) -> int:
    path = folder / "progress.csv"
    return len(path.read_text().splitlines()) - 2 if path.exists() else 0


def test_a_killed_run_resumes_to_the_same_bytes(tmp_path: Path) -> None:
    done = start(tmp_path / "whole", 8)
    assert done.communicate(timeout=300)[1] == "" and done.returncode == 0
    process = start(tmp_path / "parts", 100000)
    wait_until(lambda: rows(tmp_path / "parts") >= 3, process)
    process.kill()
    process.communicate()
    shutil.rmtree(tmp_path / "copy", ignore_errors=True)
    at = rows(tmp_path / "parts")
    if at >= 8:
        pytest.skip("the machine was too fast")
    done = start(tmp_path / "parts", 8)
    assert done.communicate(timeout=300)[1] == "" and done.returncode == 0
    assert content(tmp_path / "whole") == content(tmp_path / "parts")


def test_a_run_that_goes_on_with_another_task_says_so(tmp_path: Path) -> None:
    quiet(Point, tmp_path / "run", callback=lambda i, m: i == 2)
    with pytest.raises(ValueError, match="has task.name = Point, but now it is Faulty"):
        quiet(Faulty, tmp_path / "run", resume=True)
    with pytest.warns(RuntimeWarning, match="the run in .* is of the task Point, and goes on with Faulty"):
        tce.Run(Faulty, out=tmp_path / "run", resume=True, progress=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert tce.train(Point, out=tmp_path / "run", resume=True, progress=False).iteration == 4


def test_options_are_named_as_whoever_reads_it_has_written_them(tmp_path: Path) -> None:
    run = quiet(Point, tmp_path / "a run")
    with pytest.raises(tce.StateError, match=r"a run has a run already: continue it with resume=True, or choose another out= \[") as caught:
        quiet(Point, tmp_path / "a run")
    assert "--" not in str(caught.value)
    for file in Path(run.folder, "checkpoints").iterdir():
        file.unlink()
    with pytest.raises(tce.StateError, match="or add restart=True to train from the beginning"):
        quiet(Point, tmp_path / "a run", resume=True)
    done = program("train", "--python", "test_run:Point", *training.words_of(SMALL), "--out", tmp_path / "a run", "--quiet",
                   PYTHONPATH=os.pathsep.join([MODULES, str(Path(tce.__file__).parents[1])]))
    assert done.returncode == 1 and "continue it with --resume '" in done.stderr and "choose another --out" in done.stderr


# ---- Ctrl-C ------------------------------------------------------------------------------------------------


INTERRUPTED = """
import sys, signal, tce, tce.gym
from slider import Slider
from test_run import GYM, changed
signal.signal(signal.SIGINT, signal.default_int_handler)
raised = []
class Patient(Slider):
    def step(self, action):
        try:
            return super().step(action)
        except BaseException as fault:
            raised.append(fault)
            raise
task, keywords = (Patient, GYM) if sys.argv[2] == "1" else ("point_via", {})
try:
    run = tce.train(task, config=changed(run__iterations=100000, collect__episodes=64, collect__on_fault="drop"), out=sys.argv[1], progress=False, **keywords)
    print("stopped", run.interrupted, run.iteration, raised)
except KeyboardInterrupt:
    print("raised", raised)
assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
"""


@pytest.mark.parametrize("in_python", [0, 1])
def test_ctrl_c_stops_the_run_after_the_iteration_and_a_second_one_raises(tmp_path: Path, in_python: int) -> None:
    once = start(tmp_path / "once", in_python, INTERRUPTED)
    wait_until(lambda: rows(tmp_path / "once") >= 1, once)
    once.send_signal(signal.SIGINT)
    said, errors = once.communicate(timeout=120)
    assert re.fullmatch(r"stopped True \d+ \[\]\n", said), said + errors
    saved = sorted((tmp_path / "once" / "checkpoints").iterdir())[-1]
    assert int(said.split()[2]) == int(saved.name[5:13]) == rows(tmp_path / "once")

    twice = start(tmp_path / "twice", in_python, INTERRUPTED)
    wait_until(lambda: rows(tmp_path / "twice") >= 1, twice)
    # the first one needs to be seen before the second comes
    for _ in range(200):
        twice.send_signal(signal.SIGINT)
        time.sleep(0.02)
        if twice.poll() is not None:
            break
    said, errors = twice.communicate(timeout=120)
    # the run may have been faster than the second signal
    assert re.fullmatch(r"(raised|stopped True \d+) \[\]\n", said), said + errors


def test_a_run_is_stopped_from_another_thread(tmp_path: Path) -> None:
    found: List[tce.Run] = []
    run = tce.Run(Point, config=changed(run__iterations=100000), out=tmp_path / "run", progress=False)
    assert not (tmp_path / "run").exists() and "  iterations: 100000 " in run.config and "not trained yet" in repr(run)
    thread = threading.Thread(target=lambda: found.append(run.train()))
    thread.start()
    while run.iteration < 2:
        time.sleep(0.01)
    run.stop()
    thread.join(60)
    assert found == [run] and run.interrupted and run.iteration < 100000
    with pytest.raises(tce.StateError, match="resume=True"):
        run.train()


# ---- exceptions ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("task", ["point_via", Point])
def test_what_a_callback_raises_is_raised_and_the_run_is_saved(tmp_path: Path, task: Any) -> None:
    class Pruned(Exception):
        pass

    def prune(iteration: int, metrics: Dict[str, float]) -> None:
        if iteration == 3:
            raise Pruned("bad trial")

    with pytest.raises(Pruned, match="bad trial"):
        quiet(task, tmp_path / "parts", callback=prune)
    quiet(task, tmp_path / "parts", resume=True)
    quiet(task, tmp_path / "whole")
    assert content(tmp_path / "whole") == content(tmp_path / "parts")


class Faulty(Point):
    def step(self, pos: Any, vel: Any) -> Any:
        if self.x > 0.9:
            raise RuntimeError("the arm is stuck")
        return super().step(pos, vel)


def test_an_exception_in_an_environment_ends_the_run_or_is_counted(tmp_path: Path) -> None:
    with pytest.raises(tce.EnvironmentFault, match="the arm is stuck") as caught:
        quiet(Faulty, tmp_path / "run")
    assert isinstance(caught.value.__cause__, RuntimeError)
    dropped: List[float] = []
    run = quiet(Faulty, tmp_path / "drop", config=changed(collect__on_fault="drop", collect__episodes=32),
                callback=lambda i, m: dropped.append(m["dropped"]))
    assert run.iteration == 4 and sum(dropped) > 0
    # and the process is as it was
    quiet(Point, tmp_path / "again")


def test_an_exit_in_an_environment_ends_the_run_where_faults_are_dropped(tmp_path: Path) -> None:
    class Leaving(Point):
        def step(self, pos: Any, vel: Any) -> Any:
            if self.x > 0.5:
                raise SystemExit(3)
            return super().step(pos, vel)

    with pytest.raises(SystemExit):
        quiet(Leaving, tmp_path / "run", config=changed(collect__on_fault="drop"))
    assert rows(tmp_path / "run") <= 0


# ---- one process ---------------------------------------------------------------------------------------------


def test_two_threads_train_at_once_in_folders_of_their_own(tmp_path: Path) -> None:
    threads = [threading.Thread(target=quiet, args=(Point, tmp_path / name)) for name in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    quiet(Point, tmp_path / "c")
    assert content(tmp_path / "a") == content(tmp_path / "b") == content(tmp_path / "c")


def test_a_folder_has_one_run_at_a_time(tmp_path: Path) -> None:
    def again(iteration: int, metrics: Dict[str, float]) -> None:
        with pytest.raises(tce.StateError, match="in use by another run of this process"):
            quiet(Point, tmp_path / "run", resume=True)

    quiet(Point, tmp_path / "run", callback=again)
    with pytest.raises(tce.StateError, match="has a run already"):
        quiet(Point, tmp_path / "run")


def test_everything_is_said_through_python(tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    import io

    said = io.StringIO()
    monkeypatch.setattr(sys, "stdout", said)
    tce.train(Point, config=SMALL, out=tmp_path / "run")
    monkeypatch.undo()
    assert capfd.readouterr() == ("", "")
    lines = said.getvalue().splitlines()
    assert lines[0] == str(tmp_path / "run") and lines[-2].startswith("4/4  ETA 0:00  320 steps  return -")
    assert lines[-1] == "no curve.png: /bin/false ended with status 1"


def test_a_line_is_redrawn_in_a_notebook(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    texts = {}
    for name, shell in (("script", types.SimpleNamespace()), ("notebook", types.SimpleNamespace(kernel="a kernel"))):
        monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda shell=shell: shell))
        tce.train(Point, config=SMALL, out=tmp_path / name)
        texts[name] = capsys.readouterr().out
    # the last line stays, with nothing drawn over it
    assert "\r" not in texts["script"] and re.search(r"^4/4  ", texts["script"], flags=re.M)
    assert re.search(r"\r4/4  [^\r]*\n", texts["notebook"])


def test_environments_are_used_by_the_calling_thread_alone(tmp_path: Path) -> None:
    seen = set()

    class Watched(Point):
        def step(self, pos: Any, vel: Any) -> Any:
            seen.add(threading.get_ident())
            return super().step(pos, vel)

    calls = set()
    quiet(Watched, tmp_path / "a", callback=lambda i, m: calls.add(threading.get_ident()))
    quiet("point_via", tmp_path / "b", callback=lambda i, m: calls.add(threading.get_ident()))
    assert seen == calls == {threading.get_ident()}


# ---- settings --------------------------------------------------------------------------------------------------


def test_settings_are_words_of_the_program() -> None:
    assert training.words_of({"run": {"seed": np.int64(3)}, "policy.hidden": (32, 32), "mp": {"auto_scale_basis": True, "tau": 0.1}}) == [
        "run.seed=3", "policy.hidden=[32, 32]", "mp.auto_scale_basis=true", "mp.tau=0.1"]
    with pytest.raises(TypeError, match="mp.tau is None"):
        training.words_of({"mp": {"tau": None}})


@pytest.mark.parametrize("keywords, kind, message", [
    ({"config": {"mp.tua": 1}}, LookupError, "config: mp.tua: no such key"),
    ({"method": "tec"}, ValueError, "tec"),
    ({"resume": True}, ValueError, "out: the run folder"),
    ({"config": {"mp.tau": 5.0}}, ValueError, "mp.tau = 5 s is longer than the episode"),
    ({"controller": FOLLOW}, TypeError, "goes with a Gymnasium environment"),
    ({"callback": 5}, TypeError, r"callback: 5, expected a function \(iteration, metrics\)"),
    ({"out": "/dev/null"}, OSError, "choose another folder as out= "),
    ({"workers": 1.5}, ValueError, "workers: 1.5, expected an integer"),
    ({"config": ["run.iterations=1"]}, TypeError, r"config: \['run.iterations=1'\], expected the name of a settings file or a dict")])
def test_what_makes_no_sense_is_refused(tmp_path: Path, keywords: Any, kind: Any, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(kind, match=message):
        tce.train(Point, progress=False, **keywords)
    assert not (tmp_path / "runs").exists() or not any((tmp_path / "runs").iterdir())


def test_the_movement_is_as_long_as_the_episode_unless_settings_say_otherwise(tmp_path: Path) -> None:
    free = {**SMALL, "mp": {"n_basis": 2}}
    assert "  tau: 1 " in quiet(Point, tmp_path / "a", config=free).config
    assert "  tau: 0.5 " in quiet(Point, tmp_path / "b", config=changed(mp__tau=0.5)).config


# ---- tasks -----------------------------------------------------------------------------------------------------


def made_here() -> Point:
    return Point()


def of_gymnasium() -> Slider:
    return Slider()


def test_type_checkers_know_every_method(tmp_path: Path) -> None:
    with pytest.raises(tce.ArgumentError, match="must be one of ") as caught:
        tce.Run("Pendulum-v1", "none", out=tmp_path / "run")  # type: ignore[arg-type]
    assert caught.value.message.rpartition("must be one of ")[2] == ", ".join(get_args(_choices.Method))


@pytest.mark.parametrize("given, keywords, name, record", [
    (Point, {}, "Point", "test_run:Point"),
    (Point(), {}, "Point", "test_run:Point"),
    (made_here, {}, "made_here", "test_run:made_here"),
    (lambda settings: Point(settings), {}, "_lambda_", "test_run:<lambda>"),
    ("test_run:Point", {}, "Point", "test_run:Point"),
    (Slider, GYM, "Slider", "slider:Slider"),
    (Slider(), GYM, "Slider", "slider:Slider"),
    (of_gymnasium, GYM, "of_gymnasium", "test_run:of_gymnasium"),
    (lambda: gymnasium.wrappers.TimeLimit(Slider(), 20), {"controller": FOLLOW}, "_lambda_", "test_run:<lambda>"),
    ("slider:Slider", GYM, "Slider", "slider:Slider"),
    ("point_via", {}, "point_via", "")])
def test_what_can_be_trained_on(given: Any, keywords: Any, name: str, record: str) -> None:
    source = _sources.source_of(given, **keywords)
    assert (source.task.name, source.python, source.library) == (name, record, "")
    assert tce.check_env(source.task) == []


def test_what_is_no_task_is_refused() -> None:
    with pytest.raises(TypeError, match="expected the name of one of the project's tasks"):
        tce.train(3)
    with pytest.raises(TypeError, match="returned 7, expected"):
        tce.train(lambda: 7)
    with pytest.raises(ValueError, match=r"position=lambda env"):
        tce.train("Pendulum-v1")


def test_tasks_of_another_library_are_recorded_with_their_path(tmp_path: Path, tasks: Path) -> None:
    library = tce.TaskLibrary(tasks)
    source = _sources.source_of(library[next(iter(library))])
    assert source.library == str(tasks) and source.python == "" and not source.in_python


# ---- Gymnasium -------------------------------------------------------------------------------------------------


def example(script: str, folder: Path, workers: int) -> "subprocess.Popen[str]":
    environment = {**os.environ, "PYTHONPATH": str(Path(tce.__file__).parents[1])}
    return subprocess.Popen([sys.executable, str(EXAMPLES / script), str(folder), str(workers)], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, env=environment)


def killed_and_whole(script: str, folder: Path, kill_at: int) -> float:
    """A script of 15 lines at most is killed with 2 workers and continued with 1, to the bytes of a run without; what it evaluates to.

    Its return, or success where the task has it. The folder `whole` is then plotted and exported.
    """
    assert len((EXAMPLES / script).read_text().splitlines()) <= 15
    process = example(script, folder / "parts", 2)
    wait_until(lambda: rows(folder / "parts") >= kill_at, process)
    process.kill()
    process.communicate()
    reached, ends = rows(folder / "parts"), []
    for name, workers in (("parts", 1), ("whole", 0)):
        said, errors = (process := example(script, folder / name, workers)).communicate(timeout=600)
        assert process.returncode == 0 and errors == "", errors
        ends.append(said.splitlines()[-1])
    assert reached < rows(folder / "whole") and content(folder / "parts") == content(folder / "whole")
    found = re.search(r"Evaluation\(200 episodes: return ([-\d.]+)(?:, success ([\d.]+))?,", ends[0])
    assert found is not None and ends[0].partition("Evaluation")[2] == ends[1].partition("Evaluation")[2]

    for command in (["export", folder / "whole", "--c", "arm", "--onnx"], ["plot", folder / "whole", "--out", folder / "plots", "--episodes", 0]):
        done = program(*command)
        assert done.returncode == 0, done.stderr
    assert (folder / "whole" / "export" / "arm.c").exists() and (folder / "whole" / "export" / "arm.onnx").exists()
    assert (folder / "plots" / "curves.png").exists()
    return float(found[2] or found[1])


def test_fifteen_lines_learn_an_environment_of_ones_own(tmp_path: Path) -> None:
    assert killed_and_whole("train_slider.py", tmp_path, 12) > 0.9
    done = program("eval", tmp_path / "whole", "--episodes", 20, "--python", "slider:Slider", "--controller", "test_run:FOLLOW", "--n-steps", 20,
                   "--metrics", "success", PYTHONPATH=os.pathsep.join([MODULES, str(Path(tce.__file__).parents[1])]))
    assert done.returncode == 0, done.stderr

    # the same policy at work in an environment of Gymnasium
    agent = tce.load(tmp_path / "whole")
    env = agent.env(Slider, **GYM)
    obs, info = env.reset(seed=5)
    plan = agent.plan(obs, info["position"], info["velocity"])
    assert plan.pos.shape == plan.vel.shape == (20, 1) and abs(plan.pos[-1, 0] - obs[2]) < 0.1
    _, value, terminated, _, info = env.step(agent.act(obs))
    assert terminated and value > -0.5 and info["success"] == 1.0 and np.array_equal(info["positions"], plan.pos)


def test_nine_lines_learn_the_reacher_of_gymnasium(tmp_path: Path) -> None:
    """From -11.9 of the untrained policy."""
    assert killed_and_whole("train_reacher.py", tmp_path, 5) > -7.5
    done = program("eval", tmp_path / "whole", "--episodes", 20, "--python", "Reacher-v5", PYTHONPATH=str(Path(tce.__file__).parents[1]))
    assert done.returncode == 0 and "mean policy, 20 episodes" in done.stdout, done.stderr


def spoiled(**returns: Any) -> type:
    """A Slider of which a function returns what another function makes of it."""

    def change(name: str) -> Any:
        return lambda self, *given, **named: returns[name](getattr(Slider, name)(self, *given, **named))

    return type("Spoiled", (Slider,), {name: change(name) for name in returns})


@pytest.mark.parametrize("function, change, message", [
    ("reset", lambda found: found[0], r"reset of Spoiled returned a ndarray, expected \(observation, info\)"),
    ("reset", lambda found: (*found, 1), r"reset of Spoiled returned 3 values, expected \(observation, info\)"),
    ("reset", lambda found: ("text", {}), "obs: reset of Spoiled returned an array of <U4, expected 3 numbers"),
    ("reset", lambda found: (1j * found[0], {}), "obs: reset of Spoiled returned an array of complex"),
    ("reset", lambda found: (found[0][:2], {}), "obs: reset of Spoiled returned 2 numbers, expected 3"),
    ("reset", lambda found: (found[0], None), "info: reset of Spoiled returned None, expected a dict"),
    ("step", lambda found: found[:4], r"step of Spoiled returned 4 values, expected \(observation, reward, terminated, truncated, info\)"),
    ("step", lambda found: (found[0][:1], *found[1:]), "obs: step of Spoiled returned 1 numbers, expected 3"),
    ("step", lambda found: (found[0], None, *found[2:]), "reward: None, expected a number"),
    ("step", lambda found: (*found[:3], np.array([True, False]), found[4]), r"truncated: array\(\[ True, False\]\), expected True or False"),
    ("step", lambda found: (*found[:4], []), r"info: step of Spoiled returned \[\], expected a dict"),
    ("step", lambda found: (*found[:4], {"success": "yes"}), r"info\['success'\]: 'yes', expected a number")])
def test_what_an_environment_returns_is_named_where_it_is_something_else(tmp_path: Path, function: str, change: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError, tce.EnvironmentFault), match=message):
        quiet(spoiled(**{function: change}), tmp_path / "run", **GYM)


@pytest.mark.parametrize("keywords, message", [
    ({"n_steps": 1.5}, "n_steps: 1.5, expected an integer"), ({"n_steps": "20"}, "n_steps: '20', expected an integer"),
    ({"n_steps": 0}, "n_steps: 0, expected 1 to"), ({"dt": 0}, "dt: 0, expected a number of seconds above 0"), ({"dt": "x"}, "dt: 'x', expected a number"),
    ({"dt": math.nan}, "dt: nan, expected a number of seconds above 0"), ({"metrics": "success"}, r"metrics: 'success', expected a list of names: \['success'\]"),
    ({"controller": 5}, "controller: 5, expected a tce.gym.Controller, or a function")])
def test_what_is_said_of_an_environment_is_checked(tmp_path: Path, keywords: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        tce.Run(Slider, out=tmp_path / "run", **{**GYM, **keywords})


def test_a_metric_that_no_info_has_is_said(tmp_path: Path) -> None:
    with pytest.warns(RuntimeWarning, match=r"metrics: no info has had 'sucess' so far, the last one has \['success'\]: what is missing counts as 0") as found:
        quiet(Slider, tmp_path / "run", **{**GYM, "metrics": ["success", "sucess"]})
    assert len([one for one in found if "sucess" in str(one.message)]) >= 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        quiet(Slider, tmp_path / "right", **GYM)


def test_vectors_are_refused_and_instances_have_the_name_of_their_id() -> None:
    with pytest.raises(TypeError, match="is a vector of environments, expected one; workers="):
        _sources.source_of(gymnasium.vector.SyncVectorEnv([Slider]), **GYM)
    with pytest.raises(TypeError, match="is a vector of environments, expected one; workers="):
        _sources.source_of(lambda: gymnasium.vector.SyncVectorEnv([Slider]))
    source = _sources.source_of(gymnasium.make("Pendulum-v1"), controller=tce.gym.Controller(position=0, velocity=2, command="velocity"))
    assert (source.task.name, source.python) == ("Pendulum-v1", "Pendulum-v1")


@pytest.mark.parametrize("keywords, message", [
    ({"position": 9, "velocity": 1}, "controller: position is 9 of the observation, which has 3 numbers"),
    ({"position": 0, "velocity": [0, 7]}, r"controller: velocity is \[0, 7\] of the observation, which has 3 numbers"),
    ({"position": None, "velocity": 1}, "position: None, expected a function of the environment, or which entries"),
    ({"position": 0, "velocity": "v"}, "velocity: 'v', expected a function of the environment, or which entries"),
    ({"position": [[0], [1, 2]], "velocity": 1}, r"position: \[\[0\], \[1, 2\]\], expected a function of the environment, or which entries"),
    ({"position": 0, "velocity": 1, "command": ([[1], [2, 3]], 0.0)}, r"kp: \[\[1\], \[2, 3\]\], expected a finite number or one for each joint"),
    ({"position": 0, "velocity": 1, "command": ("x", 0.0)}, "kp: 'x', expected a finite number or one for each joint"),
    ({"position": 0, "velocity": 1, "command": (1.0, np.nan)}, "kd: nan, expected a finite number or one for each joint")])
def test_a_controller_that_reads_nothing_is_refused_before_the_run(tmp_path: Path, keywords: Any, message: str) -> None:
    command = keywords.pop("command", None)
    with pytest.raises((TypeError, ValueError), match=message):
        controller = tce.gym.Controller(**keywords, command="velocity" if command is None else tce.gym.PD(*command))
        tce.Run(Slider, out=tmp_path / "run", **{**GYM, "controller": controller})


class Model:
    """What is read of a MuJoCo model: two hinges with a motor each, then whatever a test changes."""

    def __init__(self, **changes: Any) -> None:
        self.nu = 2
        self.actuator_trntype, self.actuator_trnid = np.zeros(2, int), np.array([[1, -1], [2, -1]])
        self.actuator_gaintype, self.actuator_biastype = np.zeros(2, int), np.zeros(2, int)
        self.actuator_gainprm, self.actuator_biasprm = np.eye(10)[[0, 0]], np.zeros((2, 10))
        self.actuator_gear = np.array([[200.0, 0, 0, 0, 0, 0]] * 2)
        self.jnt_type, self.jnt_qposadr, self.jnt_dofadr = np.array([0, 3, 2]), np.array([0, 7, 8]), np.array([0, 6, 7])
        self.dof_M0 = np.array([1.0] * 6 + [0.5, 0.25])
        self.__dict__.update(changes)


class Data:
    qpos, qvel = np.arange(10.0), np.arange(20.0, 30.0)


class Simulated(Slider):
    dt = 0.05
    action_space = gymnasium.spaces.Box(-1.0, 1.0, (2,))
    data = Data()

    def __init__(self, **changes: Any) -> None:
        self.model = Model(**changes)


SERVO = {"actuator_gainprm": 50.0 * np.eye(10)[[0, 0]], "actuator_biastype": np.ones(2, int), "actuator_gear": np.ones((2, 6))}


def test_the_controller_of_a_mujoco_environment_is_found() -> None:
    env, obs = Simulated(), np.zeros(3)
    found = tce.gym.Controller.find(env)
    pos, vel = found.read(env, obs)
    assert pos.tolist() == [7.0, 8.0] and vel.tolist() == [26.0, 27.0]
    # critically damped: kd^2 = 4 kp inertia, in units of the gear
    assert isinstance(found.command, tce.gym.PD)
    assert np.allclose((200 * found.command.kd) ** 2, 4 * 200 * found.command.kp * np.array([0.5, 0.25]))
    action = found.action(env, obs, pos + 1.0, vel)
    assert np.allclose(action, found.command.kp)

    position = np.zeros((2, 10))
    position[:, 1] = -50.0
    velocity = np.zeros((2, 10))
    velocity[:, 2] = -50.0
    for bias, wanted in ((position, "position"), (velocity, "velocity")):
        found = tce.gym.Controller.find(Simulated(**SERVO, actuator_biasprm=bias))
        assert found.command == wanted
        assert found.action(env, obs, np.array([3.0, 4.0]), np.array([5.0, 6.0])).tolist() == ([3.0, 4.0] if wanted == "position" else [5.0, 6.0])


@pytest.mark.parametrize("changes, reason", [
    ({"nu": 0}, "no actuator"), ({"actuator_trntype": np.array([0, 3])}, "something else than a joint"),
    ({"actuator_trnid": np.array([[1, -1], [1, -1]])}, "two actuators drive the same joint"),
    ({"jnt_type": np.array([0, 3, 1])}, "neither a hinge nor a slide"),
    ({"actuator_gaintype": np.array([0, 2])}, "neither a motor nor"),
    ({"actuator_biastype": np.array([0, 1]), "actuator_biasprm": -np.eye(10)[[1, 1]]}, "several kinds: motor, position")])
def test_what_cannot_be_found_shows_the_lines_to_write(changes: Any, reason: str) -> None:
    with pytest.raises(ValueError, match=reason) as caught:
        tce.gym.Controller.find(Simulated(**changes))
    lines = str(caught.value).splitlines()
    assert len(lines) == 4 and lines[1].strip() == "controller = tce.gym.Controller("


def test_a_controller_says_what_does_not_fit() -> None:
    env, obs = Slider(), np.zeros(3)
    with pytest.raises(ValueError, match="command: 'torque'"):
        tce.gym.Controller(position=0, velocity=1, command="torque")
    with pytest.raises(TypeError, match="command: 3"):
        tce.gym.Controller(position=0, velocity=1, command=3)  # type: ignore[arg-type]
    pos, vel = tce.gym.Controller(position=(0, 1), velocity=(1, 2), command="velocity").read(env, np.array([1.0, 2.0, 3.0]))
    assert (pos.tolist(), vel.tolist()) == ([1.0, 2.0], [2.0, 3.0])
    with pytest.raises(ValueError, match="position has 2 numbers and velocity 1"):
        tce.gym.Controller(position=slice(0, 2), velocity=1, command="velocity").read(env, obs)
    with pytest.raises(ValueError, match="position is .nan."):
        tce.gym.Controller(position=lambda env: np.nan, velocity=1, command="velocity").read(env, obs)
    with pytest.raises(ValueError, match="the command has 2 numbers, an action of the environment has 1"):
        tce.gym.Controller(position=0, velocity=1, command=lambda *four: [1, 2]).action(env, obs, np.zeros(1), np.zeros(1))


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_wrapper_is_an_environment_of_whole_episodes() -> None:
    from gymnasium.utils.env_checker import check_env

    env = tce.gym.ProDMPWrapper(Slider(), FOLLOW, n_steps=20, n_basis=3)
    check_env(env)
    assert env.action_space.shape == (4,) and env.observation_space.shape == (3,)
    obs, info = env.reset(seed=1)
    seen, value, terminated, truncated, info = env.step(np.array([0.0, 0.0, 0.0, 1.0]))
    assert (terminated, truncated, info["trajectory_length"]) == (True, False, 20)
    assert value == pytest.approx(info["step_rewards"].sum()) and info["positions"].shape == (20, 1) and info["step_actions"].shape == (20, 1)
    # the slider follows the velocity of the path, so it is where the path leads
    assert seen[0] == pytest.approx(0.05 * info["velocities"].sum()) and info["positions"][-1, 0] == pytest.approx(1.0, abs=0.05)
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(np.zeros(4))
    masked = tce.gym.ProDMPWrapper(Slider(), FOLLOW, n_steps=20, context=[2])
    assert masked.reset(seed=1)[0].tolist() == [obs[2]]


def test_the_wrapper_keeps_observations_that_the_environment_overwrites_and_refuses_what_does_not_fit() -> None:
    class Same(Slider):
        array = np.zeros(3)

        def seen(self) -> Any:
            self.array[:] = super().seen()
            return self.array

    kept = []
    for task in (Slider, Same):
        env = tce.gym.ProDMPWrapper(task(), FOLLOW, n_steps=20)
        env.reset(seed=1)
        kept.append(env.step(np.ones(6))[4]["step_observations"])
    assert np.allclose(kept[0], kept[1], atol=1e-6) and len(set(kept[1][:, 0])) > 10
    for wrong, message in (({"context": [3]}, "context: 3, expected 0 to 2"), ({"bound": -1.0}, "bound: -1, expected a finite number above 0"),
                           ({"bound": np.nan}, "bound: nan, expected a finite number above 0")):
        with pytest.raises(ValueError, match=message):
            tce.gym.ProDMPWrapper(Slider(), FOLLOW, n_steps=20, **wrong)  # type: ignore[arg-type]
    assert repr(tce.gym.TaskEnv(tce.PythonTask(Point))) == "TaskEnv(task=PythonTask('python'), control='path')"


# ---- trained policies ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "run"
    quiet("point_via", folder)
    return folder


def test_an_evaluation_is_that_of_the_program(trained: Path) -> None:
    found = tce.load(trained).evaluate(20, seed=4)
    said = program("eval", trained, "--episodes", 20, "--seed", 4)
    numbers = dict(line.split()[:2] for line in said.stdout.splitlines() if len(line.split()) > 2 and line.startswith("  "))
    assert numbers["return"] == f"{found.mean['return']:.5g}" and numbers["success"] == f"{found.mean['success']:.5g}"
    assert found.lengths.tolist() == [50] * 20 and repr(found).startswith("Evaluation(20 episodes: return ")


def test_a_policy_is_asked_saved_and_opened_again(trained: Path, tmp_path: Path) -> None:
    agent = tce.load(trained)
    obs = np.random.default_rng(1).normal(size=(300, agent.n_obs))
    params = agent.parameters(obs)
    assert params.shape == (300, agent.n_params) and np.allclose(agent.parameters(obs[7]), params[7], atol=1e-6)
    pos, vel = agent.plan(obs[:2], np.zeros((2, agent.n_dof)))
    assert pos.shape == vel.shape == (2, agent.n_steps, agent.n_dof)
    assert np.array_equal(agent.act(obs), params) and agent.task_name == "point_via"
    agent.save(tmp_path / "mine.safetensors")
    assert (tmp_path / "mine.safetensors").read_bytes() == (trained / "policy.safetensors").read_bytes()
    other = tce.load(tmp_path / "mine.safetensors")
    assert np.array_equal(other.parameters(obs), params)
    with pytest.raises(tce.StateError, match="a policy alone"):
        other.evaluate(2)
    with pytest.raises(ValueError, match="obs: shape"):
        agent.parameters(np.zeros(agent.n_obs + 1))
    with pytest.raises(tce.NotFoundError, match="no policy.safetensors yet"):
        tce.load(tmp_path)
    env = agent.env()
    seen, _ = env.reset(seed=1)
    assert env.step(agent.act(seen))[2]


def test_a_policy_is_copied_whole(trained: Path, tmp_path: Path) -> None:
    shutil.copytree(trained, tmp_path / "run")
    agent = tce.load(tmp_path / "run")
    obs = np.ones((3, agent.n_obs))
    want, seen = agent.plan(obs), agent.evaluate(3)
    for duplicate in (copy.copy, copy.deepcopy, lambda given: pickle.loads(pickle.dumps(given))):
        other = duplicate(agent)
        assert np.array_equal(other.plan(obs).vel, want.vel) and repr(other) == repr(agent) and other.mp is not agent.mp
        assert np.array_equal(other.evaluate(3).returns, seen.returns)
        assert (other.times is agent.times) == (duplicate is copy.copy)
        del other
        gc.collect()
    assert np.array_equal(agent.plan(obs).vel, want.vel)
    # what was pickled needs no file
    kept = pickle.dumps(agent)
    shutil.rmtree(tmp_path / "run")
    assert np.array_equal(pickle.loads(kept).parameters(obs), agent.parameters(obs))


def test_a_copy_of_a_runs_policy_knows_its_task_and_a_run_is_not_copied(tmp_path: Path) -> None:
    run = quiet(Point, tmp_path / "run")
    agent = run.agent()
    assert np.array_equal(copy.deepcopy(agent).evaluate(3).returns, agent.evaluate(3).returns)
    with pytest.raises(tce.StateError, match="give task="):
        pickle.loads(pickle.dumps(agent)).evaluate(3)
    for duplicate in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match=r"a run cannot be copied or pickled: .*resume=True"):
            duplicate(tce.Run("point_via", config=SMALL, out=tmp_path / "other", progress=False))


def test_what_a_policy_gives_is_written_where_it_is_wanted(trained: Path) -> None:
    agent = tce.load(trained)
    for obs in (np.ones(agent.n_obs), np.random.default_rng(1).normal(size=(300, agent.n_obs))):
        for ask in (agent.act, agent.parameters, agent.plan):
            want: Any = ask(obs)
            several = isinstance(want, tuple)
            out: Any = tuple(np.full_like(part, np.nan) for part in want) if several else np.full_like(want, np.nan)
            got: Any = ask(obs, out=out)  # type: ignore[operator]
            for part, array, wanted in zip(*((given if several else (given,)) for given in (got, out, want))):
                assert part is array and np.array_equal(array, wanted)
            with pytest.raises(ValueError, match="out: "):
                ask(obs, out=(np.zeros(1), np.zeros(1)) if several else np.zeros(1))  # type: ignore[operator]


def test_threads_share_a_policy(trained: Path) -> None:
    agent = tce.load(trained)
    given = np.random.default_rng(1).normal(size=(4, 256, agent.n_obs))
    want, wrong = [agent.parameters(obs) for obs in given], []

    def ask(number: int) -> None:
        for _ in range(400):
            if not np.array_equal(agent.parameters(given[number]), want[number]):
                wrong.append(number)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.parametrize("obs, message", [
    (np.ones(8) * 1j, "obs: an array of complex128, expected numbers"), ("text", "obs: an array of <U4, expected numbers"),
    (None, "obs: an array of object, expected numbers"), ([object()] * 8, "obs: an array of object")])
def test_an_observation_that_is_none_is_named(trained: Path, obs: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        tce.load(trained).act(obs)


def test_times_and_counts_of_a_policy_are_named(trained: Path) -> None:
    agent = tce.load(trained)
    obs = np.ones(agent.n_obs)
    for time_, message in ((math.nan, "time: nan, expected a finite number of seconds"), ("x", "time: 'x', expected a number")):
        with pytest.raises(ValueError, match=message):
            agent.act(obs, time=time_)  # type: ignore[arg-type]
    assert np.array_equal(agent.act(obs, time=np.float32(0.5)), agent.act(obs, time=0.5))
    assert len(agent.evaluate(np.float64(2.0)).returns) == len(agent.evaluate(np.int64(2)).returns) == 2  # type: ignore[arg-type]


@pytest.mark.parametrize("context, n_obs, n_inputs", [((), None, 3), ((), 3, 4), ((2, 0), 5, 2)])
def test_a_policy_made_in_python_is_opened_and_exported(tmp_path: Path, context: Any, n_obs: Any, n_inputs: int) -> None:
    mp = tce.ProDMP(n_dof=2, n_basis=3, tau=1.0, dt=0.05, weights_scale=[0.5, 0.6, 0.7])
    policy = tce.Policy(n_obs=n_inputs, n_dims=mp.n_params, hidden=[8], random=tce.Random(1))
    file = tmp_path / "mine.safetensors"
    tce.save_policy(file, policy, mp, n_steps=20, dt=0.05, n_obs=n_obs, context=context, task="mine")
    agent = tce.load(file)
    obs = np.arange(1.0, agent.n_obs + 1)
    inputs = obs[list(context)] if context else np.append(obs, 0.0)[:n_inputs]
    assert np.array_equal(agent.parameters(obs), policy.mean(inputs[None])[0]) and (agent.n_steps, agent.task_name) == (20, "mine")
    want = mp.trajectory(agent.parameters(obs)[None], 0.05 * np.arange(1, 21), 0.0, np.ones((1, 2)), np.zeros((1, 2)))
    assert np.array_equal(agent.plan(obs, np.ones(2)).pos, want[0][0])
    done = program("export", file, "--c", "mine", "--out", tmp_path / "export")
    assert done.returncode == 0 and (tmp_path / "export" / "mine.c").exists(), done.stderr

    with pytest.raises(tce.ArgumentError):
        tce.save_policy(tmp_path / "other.safetensors", policy, tce.ProDMP(n_dof=3, n_basis=3), n_steps=20, dt=0.05)
    assert not (tmp_path / "other.safetensors").exists()


def test_the_task_of_a_run_is_named_by_whoever_uses_it(tmp_path: Path) -> None:
    quiet(Point, tmp_path / "run")
    assert "  python: 'test_run:Point'" in (tmp_path / "run" / "config.yaml").read_text()
    with pytest.raises(tce.StateError, match="the task of this run is test_run:Point.*give task="):
        tce.load(tmp_path / "run").evaluate(2)
    assert tce.load(tmp_path / "run").evaluate(2, task=Point).lengths.tolist() == [10, 10]
    for command in (["eval", tmp_path / "run"], ["train", "--resume", tmp_path / "run"]):
        said = program(*command)
        assert said.returncode == 1 and "add --python test_run:Point" in said.stderr
    # what needs no environment works
    assert program("export", tmp_path / "run").returncode == 0
    assert program("plot", tmp_path / "run", "--no-pictures", "--episodes", 0, "--out", tmp_path / "plots").returncode == 0


@pytest.mark.parametrize("name, reachable", [("Reacher-v5", [0, 1]), ("Pusher-v5", [0, 1, 2, 4, 6])])
def test_the_arms_of_gymnasium_follow_paths(name: str, reachable: List[int]) -> None:
    """Joints go 0.3 rad further and are there at the end, except those that the model stops before."""
    env = tce.gym.ProDMPWrapper(gymnasium.make(name), n_basis=3)
    _, info = env.reset(seed=1)
    params = np.zeros((env.task_spec.n_dof, 4))
    params[:, 3] = info["position"] + 0.3
    obs, _, terminated, _, info = env.step(params.reshape(-1))
    assert terminated
    off = env.controller.read(env.env, obs)[0] - info["positions"][-1]
    assert np.abs(off[reachable]).max() < 0.03
