"""Training in this process: the trainer of the program ``tce`` with a task of a library, of Python or of Gymnasium."""

from __future__ import annotations

import ctypes
import math
import os
import queue
import signal
import subprocess
import sys
import threading
import time
import warnings
from ctypes import byref, c_char_p, c_double, c_int32, c_void_p
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Union

import numpy as np

from ._arrays import integer
from ._callbacks import Faults, Group, call, user_code
from ._choices import Method
from ._control import Controller
from ._handle import Owned
from ._sources import Source, TaskLike, config_path, recorded, run_path, source_of
from ._train_declarations import (
    TCE_TRAIN_ABANDON, TCE_TRAIN_NEW, TCE_TRAIN_RESTART, TCE_TRAIN_RESUME, TCE_TRAIN_STOP, TrainDemos, TrainImitation, TrainOptions, TrainOptionsCallbacks,
    TrainResult, TrainStanding)
from ._tasks import check_workers, start_workers, task_of
from ._train_library import trainer
from ._workers import MOST_WORKERS, Workers, raw_spec
from .agent import Agent
from .errors import E_STATE, StateError

Callback = Callable[[int, Dict[str, float]], Any]
# a run folder, a policy file, or the object that has one
Start = Union[str, "os.PathLike[str]", Agent, "Run", None]
Config = Union[str, "os.PathLike[str]", Mapping[str, Any], None]

# runs a script without its folder, or the working directory, among the places of modules
DRAW = (
    "import sys; sys.path[:] = [place for place in sys.path if place]; import runpy; sys.argv = sys.argv[1:]; "
    "runpy.run_path(sys.argv[0], run_name='__main__')")

# seconds between lines: on a screen, and in a log
SCREEN_PERIOD, LOG_PERIOD = 0.1, 5.0


# ---- settings ----------------------------------------------------------------------------------------------


def _value(name: str, value: Any) -> str:
    """A setting as its text."""
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    if isinstance(value, (float, np.floating)):
        return repr(float(value))
    if isinstance(value, str):
        return value
    if isinstance(value, (Sequence, np.ndarray)):
        return "[" + ", ".join(_value(name, entry) for entry in value) + "]"
    raise TypeError(f"config: {name} is {value!r}, expected a number, a text or a list of numbers")


def words_of(config: Mapping[str, Any]) -> List[str]:
    """{"run": {"iterations": 50}} and {"run.iterations": 50} -> ["run.iterations=50"]."""
    words = []
    for key, value in config.items():
        entries = {f"{key}.{inner}": one for inner, one in value.items()} if isinstance(value, Mapping) else {key: value}
        words += [f"{name}={_value(name, one)}" for name, one in entries.items()]
    return words


def _texts(values: Sequence[str]) -> Any:
    return (c_char_p * len(values))(*(value.encode() for value in values))


# ---- what a person sees --------------------------------------------------------------------------------------


def _in_notebook() -> bool:
    shell = sys.modules.get("IPython")
    found = shell.get_ipython() if shell is not None and hasattr(shell, "get_ipython") else None
    return found is not None and hasattr(found, "kernel")


def _short(value: float) -> str:
    """950, 12.3k, 4.56M"""
    for unit in ("", "k", "M", "G"):
        if abs(value) < 999.5:
            return f"{value:.3g}{unit}"
        value /= 1000.0
    return f"{value:.3g}T"


class _Screen:
    """A line that is redrawn on a terminal and in a notebook; plain lines elsewhere."""

    def __init__(self, shown: bool) -> None:
        self.shown = shown
        self.redraws = shown and (_in_notebook() or (sys.stdout.isatty() and os.environ.get("TERM") != "dumb"))
        self.length = 0  # of the line that stands there
        self.started = self.last = time.monotonic()
        self.first: Optional[int] = None
        self.success = math.nan

    def note(self, sentence: str) -> None:
        if self.shown:
            self.end()
            print(sentence, flush=True)

    def end(self) -> None:
        if self.length:
            print()
        self.length = 0

    def update(self, now: Any, metrics: Dict[str, float]) -> None:
        if now.evaluated:
            self.success = metrics.get("eval_success", math.nan)
        if self.first is None:
            self.first = now.iteration - 1
        period = SCREEN_PERIOD if self.redraws else LOG_PERIOD
        due = now.last or (now.evaluated and not self.redraws) or time.monotonic() - self.last >= period
        if not self.shown or not due:
            return
        self.last = time.monotonic()
        elapsed = self.last - self.started
        left = elapsed / (now.iteration - self.first) * (now.iterations - now.iteration)
        parts = [f"{now.iteration}/{now.iterations}", f"ETA {int(left) // 60}:{int(left) % 60:02d}", f"{_short(now.env_steps)} steps"]
        parts += [f"return {metrics['return']:.4g}"] if "return" in metrics else []
        if "success" in metrics:
            evaluated = "" if math.isnan(self.success) else f" (eval {self.success:.2f})"
            parts.append(f"success {metrics['success']:.2f}{evaluated}")
        parts += [f"dropped {now.dropped}"] if now.dropped else []
        line = "  ".join(parts)
        if self.redraws:
            print("\r" + line.ljust(self.length), end="", flush=True)
            self.length = len(line)
        else:
            print(line, flush=True)


# ---- what the trainer is given --------------------------------------------------------------------------------


@dataclass
class Given:
    """Settings as words over a file, and the run folder."""

    words: List[str]
    path: Optional[str]
    has_config: bool
    folder: Optional[str]
    resume: bool = False
    restart: bool = False

    def __post_init__(self) -> None:
        if (self.resume or self.restart) and self.folder is None:
            raise ValueError("out: the run folder has to be named with resume=True and restart=True")
        # a run that is resumed without settings of the caller's has its own
        there = self.folder is not None and os.path.exists(os.path.join(self.folder, "config.yaml"))
        self.alone = not self.has_config and (self.resume or self.restart) and there
        if self.alone:
            self.words = [word for word in self.words if not word.startswith("run.method=")]

    def options(self, words: Sequence[str]) -> TrainOptions:
        """The struct for C, without task and callbacks."""
        start = TCE_TRAIN_RESTART if self.restart else TCE_TRAIN_RESUME if self.resume else TCE_TRAIN_NEW
        texts = _texts(words)
        options = TrainOptions(struct_size=ctypes.sizeof(TrainOptions), start=start, has_config=not self.alone, n_words=len(texts))
        options.folder = None if self.folder is None else self.folder.encode()
        options.path = None if self.path is None else self.path.encode()
        options.point(words=texts)
        return options

    def plans(self) -> bool:
        """Whether the method of the settings plans whole paths, for which an environment of Gymnasium needs a controller."""
        found = c_int32()
        trainer().tce_train_plans(byref(self.options(self.words)), byref(found))
        return bool(found.value)

    def with_task(self, source: Source) -> List[str]:
        """All words, with what a run records of its task."""
        words = self.words + ([] if self.alone else [f"task.name={source.task.name}"])
        words += [f"task.python={source.python}"] if source.python else []
        return words + ([f"task.library={source.library}"] if source.library else [])


# ---- a run -------------------------------------------------------------------------------------------------

# folders that this process is training in: a lock of the system is between processes
_busy: Dict[str, "Run"] = {}
_guard = threading.Lock()


class _Reserved:
    """A folder belongs to one run of this process."""

    def __init__(self, run: "Run") -> None:
        self.run, self.key = run, os.path.realpath(run.folder)

    def __enter__(self) -> None:
        with _guard:
            if self.key in _busy:
                raise StateError(E_STATE, "TCE_E_STATE", f"{self.run.folder} is in use by another run of this process: wait for it, or choose another out=")
            _busy[self.key] = self.run

    def __exit__(self, *unused: Any) -> None:
        with _guard:
            _busy.pop(self.key, None)


class Run:
    """A run of the trainer and its folder: :meth:`train` trains it, once. :func:`tce.train` makes one and trains it in one call.

    Arguments as of :func:`tce.train`. The settings are read and the folder is chosen here, so that :attr:`config` tells what would be
    trained; nothing is written yet. :meth:`stop` stops the run, from any thread.

    folder        the run folder
    iteration     the last iteration that is done
    env_steps     environment steps so far
    interrupted   whether it was stopped before its end; resume=True continues it
    eval_success, eval_return   of the last evaluation of this call; NaN where there was none
    """

    def __init__(
        self, task: TaskLike, method: Optional[Method] = None, config: Config = None, *, seed: Optional[int] = None,
        out: Union[str, "os.PathLike[str]", None] = None, callback: Optional[Callback] = None, resume: bool = False, restart: bool = False,
        controller: Optional[Controller] = None, metrics: Union[Sequence[str], Mapping[str, str]] = (), n_steps: Optional[int] = None,
        dt: Optional[float] = None, workers: int = 0, progress: bool = True, init_from: Start = None,
    ) -> None:
        if config is not None and not isinstance(config, (str, os.PathLike, Mapping)):
            raise TypeError(f"config: {config!r}, expected the name of a settings file or a dict {{'section.key': value}}")
        words = words_of(config) if isinstance(config, Mapping) else []
        path = None if config is None or isinstance(config, Mapping) else config_path(config)
        words += [f"run.seed={seed}"] if seed is not None else []
        words += [f"run.method={method}"] if method is not None else []
        if init_from is not None:
            begin = init_from.folder if isinstance(init_from, (Agent, Run)) else run_path(init_from)
            words.append(f"run.init_from={os.path.abspath(begin or init_from._file)}")  # type: ignore[union-attr]

        def make_source(episodic: bool) -> Source:
            return source_of(task, controller=controller, metrics=metrics, n_steps=n_steps, dt=dt, episodic=episodic)

        given = Given(words, path, config is not None, None if out is None else os.fspath(out), resume, restart)
        self._create(make_source, given, callback, workers, progress)

    @classmethod
    def of_words(
        cls, make_source: Callable[[bool], Source], given: "Given", *, callback: Optional[Callback] = None, workers: int = 0, progress: bool = True,
    ) -> "Run":
        """A run from the words of a command line. make_source: its task, for a method that plans whole paths or that does not."""
        run = cls.__new__(cls)
        run._create(make_source, given, callback, workers, progress)
        return run

    def _create(
        self, make_source: Callable[[bool], Source], given: "Given", callback: Optional[Callback], workers: int, progress: bool
    ) -> None:
        self.iteration, self.env_steps, self.interrupted = 0, 0, False
        self.eval_success = self.eval_return = math.nan
        if callback is not None and not callable(callback):
            raise TypeError(f"callback: {callback!r}, expected a function (iteration, metrics) that returns True to stop the run")
        self._callback, self._n_workers = callback, integer("workers", workers, 0, MOST_WORKERS)
        self._screen = _Screen(progress)
        self._group = Group()
        self._raised: List[BaseException] = []
        self._aside: Optional[_Aside] = None
        self._done = False

        source = self._source = make_source(given.plans())
        self.task = source.task
        # environments in this process and in Python are the calling thread's
        self._here = source.in_python and self._n_workers == 0
        check_workers(source, self._n_workers)
        words = given.with_task(source)
        self._options = next((word.partition("=")[2] for word in reversed(words) if word.startswith("task.options=")), None)
        self._task = task_of(source, None)
        options = given.options(words)
        # what defaults are chosen from; a task in C tells C
        spec = byref(raw_spec(source.spec(self._options))) if source.in_python else None
        entries = {name: TrainOptionsCallbacks[name](getattr(self, "_on_" + name)) for name in ("note", "warn", "advance")}
        options.point(task=byref(self._task), spec=spec, **entries)
        handle = c_void_p()
        trainer().tce_train_create(byref(options), byref(handle))
        assert handle.value is not None
        # the callbacks live as long as C may call them
        self._handle = Owned(handle.value, trainer().tce_train_free, keep=(options, self._task, source.task))
        self.folder: str = trainer().tce_train_folder(self._handle).decode()
        # beside settings of the caller's, another task is an error
        name = recorded(self.config, "name")
        if given.alone and name != self.task.name:
            warnings.warn(f"the run in {self.folder} is of the task {name}, and goes on with {self.task.name}", RuntimeWarning, stacklevel=4)

    @property
    def config(self) -> str:
        """All settings, as the text of config.yaml."""
        return str(trainer().tce_train_settings(self._handle).decode())

    def stop(self) -> None:
        """Asks the run to save and stop after the present iteration. It can be called from any thread, also from a callback."""
        trainer().tce_train_stop(self._handle, TCE_TRAIN_STOP)

    def _abandon(self) -> None:
        trainer().tce_train_stop(self._handle, TCE_TRAIN_ABANDON)

    # ---- what C tells -------------------------------------------------------------------------------------

    def _guarded(self, function: Callable[..., Any], *arguments: Any) -> None:
        """Nothing may unwind through C: what is raised stops the run and is raised after it."""
        try:
            if self._aside is None:
                user_code(self._group.faults, function, *arguments)
            else:
                self._aside.ask(function, *arguments)
        except BaseException as fault:
            self._raised.append(fault)
            self.stop()

    def _on_note(self, context: Any, sentence: bytes) -> None:
        self._guarded(self._screen.note, sentence.decode(errors="replace"))

    def _on_warn(self, context: Any, sentence: bytes) -> None:
        self._guarded(self._warn, sentence.decode(errors="replace"))

    def _warn(self, sentence: str) -> None:
        self._screen.end()
        warnings.warn(sentence, RuntimeWarning, stacklevel=2)

    def _on_advance(self, context: Any, address: int) -> None:
        now = TrainStanding.from_address(address)
        names = (c_char_p * now.n_values).from_address(now.names)
        values = (c_double * now.n_values).from_address(now.values)
        metrics = {name.decode(): value for name, value in zip(names, values) if not math.isnan(value)}
        metrics["env_steps"] = float(now.env_steps)
        self.iteration, self.env_steps = now.iteration, now.env_steps
        # lost episodes are counted, their exceptions are not kept
        self._group.faults.causes.clear()
        self._guarded(self._tell, now, metrics)

    def _tell(self, now: Any, metrics: Dict[str, float]) -> None:
        self._screen.update(now, metrics)
        if self._callback is not None:
            wish = self._callback(now.iteration, metrics)
            if isinstance(wish, (bool, np.bool_)) and wish:
                self.stop()

    # ---- training -----------------------------------------------------------------------------------------

    def train(self) -> "Run":
        """Trains until the settings end the run, or until it is stopped. It can be called once; :func:`tce.train` with resume=True continues. Returns the run."""
        if self._done:
            raise StateError(E_STATE, "TCE_E_STATE", "this run has been trained: continue it with tce.train(..., out=run.folder, resume=True)")
        self._done = True
        with start_workers(self._source, self._n_workers, self._options) as workers, _Reserved(self), _Interrupts(self) as interrupts:
            try:
                if self._here:
                    with self.task._creating(self._group):
                        call(self._group, self._train, workers, faults=interrupts.faults)
                else:
                    self._aside = _Aside()
                    self._aside.run(lambda: self._train(workers))
            except Exception:
                # what a callback raised explains the rest
                if self._raised:
                    raise self._raised[0] from None
                raise
            finally:
                self._screen.end()
        if self._raised:
            raise self._raised[0]
        if not self.interrupted:
            self._draw()
        return self

    def _train(self, workers: Optional[Workers]) -> None:
        result = TrainResult(struct_size=ctypes.sizeof(TrainResult))
        held = None if workers is None else workers.handle  # until C has returned, even where nobody waits for it
        task = None if workers is None else byref(workers.task())
        try:
            trainer().tce_train_run(self._handle, task, byref(result))
        finally:
            self.iteration, self.env_steps = max(self.iteration, result.iteration), max(self.env_steps, result.env_steps)
            self.eval_success, self.eval_return = result.eval_success, result.eval_return
            self.interrupted = bool(result.interrupted)
            del held

    def _imitate(self, demos: TrainDemos, out: TrainImitation) -> None:
        """Fits a policy to demonstrations instead of training."""
        self._done = True

        def fit() -> None:
            trainer().tce_train_imitate(self._handle, byref(demos), byref(out))

        with _Reserved(self):
            if self._here:
                with self.task._creating(self._group):
                    call(self._group, fit)
            else:
                fit()

    def _draw(self) -> None:
        """curve.csv and, where there is matplotlib, curve.png, as the program leaves them."""
        trainer().tce_train_curve(self.folder.encode())
        script = Path(__file__).with_name("plot.py")
        python = os.environ.get("TCE_PYTHON") or sys.executable
        try:
            done = subprocess.run([python, "-c", DRAW, str(script), self.folder, "--quiet"], capture_output=True, text=True)
        except OSError as reason:
            self._screen.note(f"no curve.png: cannot run {python}: {reason.strerror}")
            return
        if done.returncode != 0:
            said = "matplotlib is missing: pip install matplotlib" if done.returncode == 3 else (done.stderr.strip().splitlines() or [f"{python} ended with status {done.returncode}"])[-1]
            self._screen.note(f"no curve.png: {said}")

    def agent(self) -> Agent:
        """The policy of the last checkpoint, with this run's task at hand."""
        return Agent(self.folder, self._source)

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError(f"a run cannot be copied or pickled: name its folder {self.folder!r} as out= with resume=True where it is to go on")

    def __repr__(self) -> str:
        state = "interrupted" if self.interrupted else "done" if self._done else "not trained yet"
        return f"Run({self.folder!r}, task={self.task.name!r}, iteration={self.iteration}, {state})"


class _Aside:
    """C at work in a thread of its own, while the calling thread serves its callbacks and can be interrupted."""

    def __init__(self) -> None:
        self.requests: "queue.SimpleQueue[Any]" = queue.SimpleQueue()
        self.left = False  # nobody serves any more

    def ask(self, function: Callable[..., Any], *arguments: Any) -> None:
        """From C's thread: the function is called by the other one."""
        answer: "queue.SimpleQueue[Optional[BaseException]]" = queue.SimpleQueue()
        self.requests.put((function, arguments, answer))
        raised = None
        while not self.left:
            try:
                raised = answer.get(timeout=0.5)
                break
            except queue.Empty:
                pass
        if raised is not None:
            raise raised

    def run(self, work: Callable[[], None]) -> None:
        ended: List[Optional[BaseException]] = []

        def aside() -> None:
            try:
                work()
                ended.append(None)
            except BaseException as fault:
                ended.append(fault)
            self.requests.put(None)

        thread = threading.Thread(target=aside, name="tce.train")
        thread.start()
        try:
            while True:
                request = self.requests.get()
                if request is None:
                    break
                function, arguments, answer = request
                try:
                    function(*arguments)
                    answer.put(None)
                except BaseException as fault:
                    answer.put(fault)
        except BaseException:
            self.left = True
            raise
        thread.join()
        if ended[0] is not None:
            raise ended[0]


class _RunFaults(Faults):
    """What environments raise during a run. An interrupt abandons it: episodes that it has cut short must not be counted as lost ones."""

    def __init__(self, run: Run) -> None:
        super().__init__()
        self.run = run

    def add(self, fault: BaseException) -> None:
        super().add(fault)
        if self.interrupt is not None:
            self.run._abandon()


class _Interrupts:
    """Ctrl-C while a run trains on the main thread: the first stops it after the iteration, saved; the second abandons the iteration.

    No KeyboardInterrupt is raised inside an environment, where it would count as a lost episode, unless a third one is sent.
    """

    def __init__(self, run: Run) -> None:
        self.run, self.count, self.faults = run, 0, _RunFaults(run)
        self.before: Any = None

    def __enter__(self) -> "_Interrupts":
        if threading.current_thread() is threading.main_thread():
            before = signal.getsignal(signal.SIGINT)
            if callable(before):
                self.before = before
                signal.signal(signal.SIGINT, self._handle)
        return self

    def __exit__(self, *unused: Any) -> None:
        if self.before is not None:
            signal.signal(signal.SIGINT, self.before)

    def _handle(self, number: int, frame: Any) -> None:
        self.count += 1
        if self.count == 1:
            self.run.stop()
            self.run._screen.note("Ctrl-C: stops after this iteration and saves; once more abandons the iteration")
            return
        self.run._abandon()
        if self.count == 2 and self.run._here:
            self.faults.interrupt = KeyboardInterrupt()
            return
        self.before(number, frame)


# ---- the function ------------------------------------------------------------------------------------------


def train(
    task: TaskLike, method: Optional[Method] = None, config: Config = None, *, seed: Optional[int] = None, out: Union[str, "os.PathLike[str]", None] = None,
    callback: Optional[Callback] = None, resume: bool = False, restart: bool = False, controller: Optional[Controller] = None,
    metrics: Union[Sequence[str], Mapping[str, str]] = (), n_steps: Optional[int] = None, dt: Optional[float] = None,
    workers: int = 0, progress: bool = True, init_from: Start = None,
) -> Run:
    """Trains a policy in this process and leaves the run folder that ``tce train`` leaves; ``tce eval``, ``plot`` and ``export`` take it.

    task        the name of one of the project's tasks, a task of a :class:`tce.TaskLibrary`, an environment derived from :class:`tce.Env` or
                gymnasium.Env (the class, an instance that was not used yet, or a function that makes one), or a Gymnasium id
    method      "tce", "bbrl", "ppo", …, as `tce train` has them; by default that of the settings, or "tce"
    config      settings: a file, task/method as the program takes it, or a dict {"run": {"iterations": 50}} or {"run.iterations": 50}.
                Keys that it leaves out have defaults that suit the task, as `tce init` prints them
    seed        of every random stream; by default that of the settings, or 1
    out         the run folder; by default runs/<task>__<method>__<seed>__<time>
    callback    called after each iteration with its number and the numbers measured in it, by name; returning True stops the run. An exception in it
                is raised here, after the iteration's checkpoint was saved if one was due
    resume      continues the run in ``out``, to the bytes of a run that was never stopped; begins it where there is none
    restart     begins again in ``out``; what is there is moved into out/before-restart-<n>
    controller  how a Gymnasium environment follows a path (:class:`tce.gym.Controller`); found by itself for MuJoCo environments
    metrics     numbers of a Gymnasium environment's info that are logged, names or {metric: key of info}; "success" is 0 or 1
    n_steps, dt  steps of an episode and seconds per step of a Gymnasium environment that does not state them
    workers     number of processes that run the environments of a Python task; 0: this process runs them. The bytes are the same for any number
    progress    whether to show how far the run is
    init_from   a run folder, a policy file, a :class:`tce.Agent` or a :class:`Run` whose policy and normaliser a new run starts from. Sizes,
                inputs and primitive must be the same; config.yaml records where they came from

    Ctrl-C stops the run after the iteration, saved; a second one abandons the iteration and raises KeyboardInterrupt. Environments in Python
    are used by the calling thread alone. To stop a run from another thread, make it yourself: ``run = tce.Run(…)``, ``run.train()`` in one
    thread and ``run.stop()`` in another.
    """
    run = Run(
        task, method, config, seed=seed, out=out, callback=callback, resume=resume, restart=restart, controller=controller, metrics=metrics,
        n_steps=n_steps, dt=dt, workers=workers, progress=progress, init_from=init_from)
    return run.train()
