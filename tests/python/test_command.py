"""``tce train --python`` and ``tce eval --python``: from the program to Python and back to the same bytes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("gymnasium")

import tce.gym  # noqa: E402
from test_run import GYM, MODULES, PROGRAM, SMALL, content, quiet, rows, wait_until  # noqa: E402
from slider import Slider  # noqa: E402
from tce import _command, training  # noqa: E402

FOLLOW = tce.gym.Controller(position=0, velocity=1, command="velocity")
SLIDER = ["--python", "slider:Slider", "--controller", "test_command:FOLLOW", "--metrics", "success", "--n-steps", "20"]


def program(*words: Any, cwd: Path, wait: bool = True) -> Any:
    """As in a folder with the user's modules; nothing in the environment tells where the package is."""
    hidden = ("PYTHONPATH", "TCE_LIBRARY", "TCE_TASKS", "TCE_TRAIN", "TCE_PROGRAM")
    environment = {key: value for key, value in os.environ.items() if key not in hidden}
    environment.update(TCE_PYTHON=sys.executable, PYTHONPATH=MODULES)
    process = subprocess.Popen([str(PROGRAM), *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, cwd=cwd,
                               preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler))
    if not wait:
        return process
    said, errors = process.communicate(timeout=300)
    return subprocess.CompletedProcess(process.args, process.returncode, said, errors)


def test_the_program_hands_over_to_python(tmp_path: Path) -> None:
    words = training.words_of(SMALL)
    done = program("train", *words, "--seed", 5, "--out", "run", *SLIDER, cwd=tmp_path)
    assert done.returncode == 0 and done.stderr == "" and done.stdout.splitlines()[0] == "run"
    assert done.stdout.splitlines()[-1] == f"run    (tce eval run {' '.join(SLIDER)}, tce plot run)"  # which does what it says
    quiet(Slider, tmp_path / "here", seed=5, **GYM)
    assert content(tmp_path / "run") == content(tmp_path / "here")

    done = program("eval", "run", "--episodes", 10, "--seed", 2, *SLIDER, cwd=tmp_path)
    found = tce.load(tmp_path / "here").evaluate(10, task=Slider, seed=2, **GYM)
    lines = dict(line.split()[:2] for line in done.stdout.splitlines()[1:])
    assert done.returncode == 0 and lines["return"] == f"{found.mean['return']:.5g}"

    done = program("train", "--resume", "run", "run.iterations=6", *SLIDER, "--quiet", "--workers", 2, cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "") and rows(tmp_path / "run") == 6
    done = program("train", "--resume", "run", *SLIDER, cwd=tmp_path)
    assert done.returncode == 0 and "done: 6 iterations" in done.stdout and "mean policy" not in done.stdout, done.stdout


def test_the_script_of_the_package_finds_modules_of_the_working_directory(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    script = tmp_path / "bin" / "tce"  # as pip writes it
    script.write_text("import sys\nfrom tce.__main__ import main\nsys.exit(main())\n")
    (tmp_path / "mine.py").write_text("from slider import Slider\n")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([MODULES, str(Path(tce.__file__).parents[1])])}
    done = subprocess.run([sys.executable, str(script), "train", *training.words_of(SMALL), "--out", "run", "--python", "mine:Slider", *SLIDER[2:]],
                          capture_output=True, text=True, env=environment, cwd=tmp_path, timeout=300)
    assert done.returncode == 0, done.stderr


def test_a_settings_file_chooses_the_method(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("run:\n  method: bbrl\n  iterations: 2\n")
    done = program("train", "mine.yaml", *training.words_of({key: value for key, value in SMALL.items() if key in ("collect", "mp", "critic", "policy")}),
                   "critic.minibatches=1", "--out", "run", *SLIDER, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "  method: bbrl" in (tmp_path / "run" / "config.yaml").read_text()


def test_a_policy_that_acts_per_step_is_evaluated_without_controller(tmp_path: Path) -> None:
    words = training.words_of({"run": {"method": "ppo", "iterations": 1}, "collect": {"environments": 4, "steps": 50}, "evaluate.episodes": 4})
    environment = ["--python", "slider:Slider", "--n-steps", 20, "--metrics", "success"]
    done = program("train", *words, "--out", "run", *environment, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    done = program("eval", "run", "--episodes", 3, *environment, cwd=tmp_path)
    assert done.returncode == 0 and "mean policy, 3 episodes" in done.stdout, done.stderr


def test_ctrl_c_saves_and_says_how_to_continue(tmp_path: Path) -> None:
    process = program("train", *training.words_of(SMALL), "run.iterations=100000", "--out", "run", *SLIDER, cwd=tmp_path, wait=False)
    wait_until(lambda: rows(tmp_path / "run") >= 1, process)
    process.send_signal(signal.SIGINT)
    said, errors = process.communicate(timeout=60)
    assert process.returncode == 130 and f"continue with:  tce train --resume run {' '.join(SLIDER)}\n" in errors


@pytest.mark.parametrize("words, message", [
    (["--python", "nowhere:Env"], "tce: No module named 'nowhere'"),
    (["--python", "slider:Slide"], "tce: slider:Slide: slider has no Slide"),
    (["--python", "slider:Slider"], "no controller can be found for Slider"),
    (["--python", "slider:Slider", "--controller", "slider:Slider"], "is not a tce.gym.Controller"),
    (["mp.tua=1", *SLIDER], "tce: config: mp.tua: no such key"),
    (["nowhere.yaml", *SLIDER], "tce: config: no settings file nowhere.yaml")])
def test_what_is_wrong_is_said_in_a_line(tmp_path: Path, words: Any, message: str) -> None:
    done = program("train", *words, cwd=tmp_path)
    assert done.returncode == 1 and message in done.stderr and "Traceback" not in done.stderr
    assert not (tmp_path / "runs").exists()


def test_which_command_lines_are_for_python() -> None:
    assert _command.asks(["train", "--python", "a:b"]) and _command.asks(["eval", "run", "--python=a:b"])
    assert not _command.asks(["train", "x.yaml"]) and not _command.asks(["train", "--", "--python"]) and not _command.asks(["plot", "--python", "a:b"])
    assert not _command.asks([])
