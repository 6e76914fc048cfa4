"""Whose code the program runs: a run folder is data, and a task library is loaded only when the user names it."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any, List

import pytest
from running import compile_tasks, rows, tce

TINY = """
run: {method: bbrl, iterations: 2, checkpoint_every: 1, threads: 1}
task: {name: family_one}
collect: {episodes: 4, environments: 4}
evaluate: {every: 0, episodes: 4}
mp: {n_basis: 2, tau: 1.0}
policy: {hidden: [8], epochs: 2}
critic: {hidden: [8], epochs: 2}
"""

# a library says that it was loaded by making this file
MARK = "loaded"


def build(library: Path) -> Path:
    """The tasks of the tests in a library that leaves a mark beside it whenever it is loaded."""
    source = library.with_suffix(".c")
    source.write_text('#include <fcntl.h>\n#include <unistd.h>\n'
                      f'__attribute__((constructor)) static void mark(void) {{ close(creat("{library.parent / MARK}", 0600)); }}\n')
    compile_tasks(library, source)
    return library


@pytest.fixture
def library(tmp_path: Path) -> Path:
    (tmp_path / "code").mkdir()
    return build(tmp_path / "code" / "own.so")


@pytest.fixture
def config(tmp_path: Path) -> Path:
    (tmp_path / "family").mkdir()
    (tmp_path / "family" / "tce.yaml").write_text(TINY)
    return tmp_path / "family" / "tce.yaml"


def loaded(library: Path) -> bool:
    """Whether it was, since the last time."""
    mark = library.parent / MARK
    found = mark.exists()
    mark.unlink(missing_ok=True)
    return found


def fine(*arguments: Any, **options: Any) -> "subprocess.CompletedProcess[str]":
    done = tce(*arguments, **options)
    assert done.returncode == 0, done.stderr
    return done


@pytest.fixture
def run(config: Path, library: Path, tmp_path: Path) -> Path:
    """A run, as it comes from somebody else: it names a library that would be found."""
    fine("train", config, "--task-library", library, "--quiet", "--out", tmp_path / "run")
    assert loaded(library)
    assert f"library: '{library}'" in (tmp_path / "run" / "config.yaml").read_text()
    return tmp_path / "run"


def commands(run: Path, tmp_path: Path) -> List[List[Any]]:
    """All that opens the task of a run folder."""
    shutil.copy(run / "config.yaml", tmp_path / "queue.yaml")
    shutil.copy(run / "config.yaml", run / "renamed.yaml")
    (tmp_path / "link.yaml").symlink_to(run / "config.yaml")
    new = ["--out", tmp_path / "new"]
    return [["eval", run, "--episodes", 2], ["train", "--resume", run, "run.iterations=3"], ["train", run / "config.yaml", *new],
            ["train", run / "renamed.yaml", *new], ["train", tmp_path / "link.yaml", *new],
            ["train", tmp_path / "queue.yaml", "--seeds", "1-2", *new], ["bench", run / "config.yaml", "--iterations", 1],
            ["bench", run / "config.yaml", "--tasks"]]


def test_the_library_of_a_run_folder_is_not_loaded(run: Path, library: Path, tmp_path: Path) -> None:
    for command in commands(run, tmp_path):
        done = tce(*command)
        assert done.returncode == 1 and not loaded(library), command
        assert str(library) in done.stderr and "add --task-library FILE" in done.stderr and "run folder is data" in done.stderr
        assert not (tmp_path / "new").exists()


def test_curves_of_a_run_folder_need_none_of_its_code(run: Path, library: Path, tmp_path: Path) -> None:
    done = fine("plot", run, "--out", tmp_path / "plots", "--no-pictures")
    assert not loaded(library) and str(library) in done.stderr and "add --task-library FILE" in done.stderr
    assert (tmp_path / "plots" / "curves.csv").exists()
    done = fine("plot", run, "--out", tmp_path / "plots", "--no-pictures", "--task-library", library, "--episodes", 2)
    assert loaded(library) and done.stderr == ""
    assert "family_one" in (tmp_path / "plots" / "smoothness.csv").read_text()
    fine("export", run)
    assert not loaded(library)


def test_a_library_that_the_command_line_names_is_loaded_from_anywhere(run: Path, library: Path, tmp_path: Path) -> None:
    # the library has moved, and the path of the command line is relative
    moved = tmp_path / "elsewhere"
    moved.mkdir()
    other = build(moved / "own.so")
    shutil.rmtree(library.parent)
    for command in commands(run, tmp_path)[:2]:
        fine(*command, "--task-library", "./own.so", cwd=moved)
        assert loaded(other)
    assert [row["iteration"] for row in rows(run)] == ["0", "1", "2", "3"]
    # which is what the run folder records
    assert f"library: '{moved}/own.so'" in (run / "config.yaml").read_text()
    fine("eval", run, "--episodes", 2, "--task-library", other, cwd="/")


def test_an_own_settings_file_may_name_a_library(config: Path, library: Path, tmp_path: Path) -> None:
    config.write_text(TINY.replace("name: family_one", "name: family_one, library: code/own.so"))
    fine("train", config, "--quiet", "--out", tmp_path / "run", cwd=tmp_path)
    assert loaded(library)
    assert f"library: '{tmp_path}/code/own.so'" in (tmp_path / "run" / "config.yaml").read_text()


def test_an_unknown_task_is_told_how_to_list_those_of_its_library(library: Path, tmp_path: Path) -> None:
    for arguments in (["task.name=nope"], ["--task", "nope"]):
        done = tce("train", "reacher5", *arguments, "--task-library", library, "--out", tmp_path / "out")
        assert done.returncode == 1 and f"`tce tasks --task-library {library}` lists them" in done.stderr


def test_a_queue_passes_its_library_on_to_its_runs(config: Path, library: Path, tmp_path: Path) -> None:
    queue = tmp_path / "queue"
    fine("train", config, "--seeds", "1-2", "--jobs", 1, "--task-library", "code/own.so", "--out", queue, cwd=tmp_path)
    assert loaded(library)
    # one run is lost; the queue does not continue by what its own folder says
    folders = [path for path in queue.iterdir() if path.is_dir()]
    shutil.rmtree(folders[0])
    before = (queue / "queue.csv").read_bytes()
    done = tce("train", "--resume", queue)
    assert done.returncode == 1 and not loaded(library)
    assert str(library) in done.stderr and "add --task-library FILE" in done.stderr and (queue / "queue.csv").read_bytes() == before
    done = fine("train", "--resume", queue, "--task-library", os.path.relpath(library, "/"), cwd="/")
    assert loaded(library) and "2 of 2 done" in done.stdout
    assert f"library: '{library}'" in (folders[0] / "config.yaml").read_text()


def test_the_command_that_continues_is_complete(config: Path, library: Path, tmp_path: Path) -> None:
    done = fine("train", config, "--task-library", library, "--out", tmp_path / "run")
    assert f"tce eval {tmp_path}/run --task-library {library}" in done.stdout
    done = tce("train", config, "--task-library", library, "task.options=from=2", "task.name=fails", "--out", tmp_path / "failed")
    assert done.returncode == 1
    assert f"--resume {tmp_path}/failed --task-library {library}" in done.stderr


def test_the_tasks_beside_the_program_need_no_option(tmp_path: Path) -> None:
    (tmp_path / "tiny.yaml").write_text(TINY.replace("family_one", "point_via"))
    fine("train", tmp_path / "tiny.yaml", "--quiet", "--out", tmp_path / "run")
    fine("train", "--resume", tmp_path / "run", "run.iterations=3", cwd="/")
    fine("eval", tmp_path / "run", "--episodes", 2, cwd="/")
    assert "point_via" in fine("tasks").stdout
