"""``tce train`` and ``tce eval`` on environments in Python: what the program hands over when it is given --python."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from typing import Any, List, Optional

from . import _train_library
from ._control import Controller
from ._sources import config_path, import_name, source_of
from .agent import Agent
from .errors import E_NOT_FOUND, NotFoundError, TceError
from .training import Given, Run

EXIT_FAILED, EXIT_USAGE, EXIT_INTERRUPTED = 1, 2, 130


def asks(words: List[str]) -> bool:
    """Whether a command line is one of these."""
    before = words[: words.index("--")] if "--" in words else words
    return words[:1] in (["train"], ["eval"]) and any(word == "--python" or word.startswith("--python=") for word in before)


def _environment(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--python", metavar="NAME", required=True, help="the environment: module:name of a class or of a function that makes one "
                        "(modules of the working directory too), or a Gymnasium id")
    parser.add_argument("--controller", metavar="NAME", help="module:name of a tce.gym.Controller, for a Gymnasium environment that no controller is found for")
    parser.add_argument("--metrics", metavar="LIST", default="", help="numbers of a Gymnasium environment's info that are logged, as success,distance")
    parser.add_argument("--n-steps", type=int, metavar="N", help="steps per episode, if a Gymnasium environment does not state them")
    parser.add_argument("--dt", type=float, metavar="S", help="seconds per step, if a Gymnasium environment does not state them")
    parser.add_argument("--workers", type=int, default=0, metavar="N", help="processes that have the environments [0: this one]")


def _again(options: Any) -> str:
    """The words that name the same environment in another command."""
    given = (("--python", options.python), ("--controller", options.controller), ("--metrics", options.metrics or None),
             ("--n-steps", options.n_steps), ("--dt", options.dt))
    return " ".join(f"{option} {shlex.quote(str(value))}" for option, value in given if value is not None)


def _find_modules_here() -> None:
    """Modules of the working directory are found by the script `tce` too, whose own folder Python puts in its place."""
    here = os.getcwd()
    if here not in sys.path and "" not in sys.path:
        sys.path.append(here)


def _source(options: Any, episodic: bool) -> Any:
    controller = None
    if options.controller:
        controller = import_name(options.controller)
        if not isinstance(controller, Controller):
            raise NotFoundError(E_NOT_FOUND, "TCE_E_NOT_FOUND", f"--controller {options.controller}: {controller!r} is not a tce.gym.Controller")
    metrics = [name for name in options.metrics.split(",") if name]
    return source_of(options.python, controller=controller, metrics=metrics,
                     n_steps=options.n_steps, dt=options.dt, episodic=episodic)


def _train(words: List[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="tce train", description="Trains on an environment in Python. CONFIG and section.key=value are as for every task: `tce train --help`.")
    parser.add_argument("words", nargs="*", metavar="CONFIG section.key=value")
    _environment(parser)
    parser.add_argument("--seed", metavar="N", help="run.seed")
    parser.add_argument("--threads", metavar="N", help="run.threads, of the networks")
    parser.add_argument("--steps", metavar="N", help="run.steps: end after this many environment steps")
    parser.add_argument("--out", metavar="DIR", help="the run folder")
    parser.add_argument("--resume", metavar="DIR", help="continue the run in DIR")
    parser.add_argument("--restart", action="store_true", help="with --resume: begin again, what is there is moved aside")
    parser.add_argument("--quiet", action="store_true", help="only warnings and errors")
    options = parser.parse_intermixed_args(words)
    if options.resume and options.out:
        parser.error("--resume already names the run folder: leave out --out")
    if options.restart and not options.resume:
        parser.error("--restart needs --resume DIR, the run that is to begin again")
    given = list(options.words)
    path: Optional[str] = given.pop(0) if given and "=" not in given[0] else None
    for key, value in (("run.seed", options.seed), ("run.threads", options.threads), ("run.steps", options.steps)):
        given += [f"{key}={value}"] if value is not None else []
    what = Given(given, None if path is None else config_path(path), path is not None, options.resume or options.out, bool(options.resume), options.restart)
    run = Run.of_words(lambda episodic: _source(options, episodic), what, workers=options.workers, progress=not options.quiet).train()
    if run.interrupted:
        print(f"tce: stopped and saved after iteration {run.iteration}; continue with:  tce train --resume {run.folder} {_again(options)}",
              file=sys.stderr)
        return EXIT_INTERRUPTED
    if not options.quiet:
        success = f"success {run.eval_success:.3f}, " if run.eval_success == run.eval_success else ""
        print(f"done: {run.iteration} iterations, {run.env_steps} environment steps")
        if run.eval_return == run.eval_return:  # nothing was left to train: no evaluation
            print(f"mean policy: {success}return {run.eval_return:.4g}")
        print(f"{run.folder}    (tce eval {run.folder} {_again(options)}, tce plot {run.folder})")
    return 0


def _eval(words: List[str]) -> int:
    parser = argparse.ArgumentParser(prog="tce eval", description="What the mean policy of a run does in an environment in Python.")
    parser.add_argument("run", metavar="RUN")
    _environment(parser)
    parser.add_argument("--episodes", type=int, default=200, metavar="N", help="episodes [200]")
    parser.add_argument("--seed", type=int, metavar="N", help="seed of their resets [the run's]")
    parser.add_argument("--threads", type=int, default=0, metavar="N", help="threads of the policy")
    options = parser.parse_intermixed_args(words)
    agent = Agent(options.run)
    found = agent.evaluate(options.episodes, task=_source(options, not agent.acts), seed=options.seed, threads=options.threads, workers=options.workers)
    kept = found.lengths > 0
    print(f"{agent.task_name}: mean policy, {options.episodes} episodes (mean +- standard error)")
    if not kept.all():
        print(f"  dropped                    {int((~kept).sum()):11d}")
    for name, values in {"return": found.returns, **found.metrics}.items():
        spread = f" +- {values[kept].std(ddof=1) / kept.sum() ** 0.5:.2g}" if kept.sum() > 1 else ""
        print(f"  {name:<26} {values[kept].mean():11.5g}{spread}")
    return 0


def main(words: List[str]) -> int:
    _train_library.typed = True
    _find_modules_here()
    try:
        return (_train if words[0] == "train" else _eval)(words[1:])
    except TceError as fault:
        print(f"tce: {fault.message}", file=sys.stderr)
    except (ImportError, ValueError, TypeError) as fault:
        print(f"tce: {fault}", file=sys.stderr)
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    return EXIT_FAILED
