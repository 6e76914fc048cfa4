"""A queue over the ranks of an MPI job: rank 0 hands whole runs to ranks by messages, and they have the bytes of runs of `tce`."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from pathlib import Path
from typing import Any, Dict, List, Tuple

import pytest
from running import LONG, checkpoints, compile_tasks, rows, tce, wait_until
from test_queue import TINY, all_content, kill, library, queue
from test_ranks import LIMIT, MPI, ended, launcher, run, surroundings

# what is long enough to be interrupted
LENGTHS = ["run.iterations=300", "run.checkpoint_every=20"]


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("configs") / "family"
    folder.mkdir()
    compile_tasks(folder / "points.so")
    (folder / "tce.yaml").write_text(TINY.replace("LIBRARY", str(folder / "points.so")), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory, config: Path) -> Dict[Any, Dict[str, bytes]]:
    """What processes leave of a queue that was never stopped, by task and seed."""
    folder = tmp_path_factory.mktemp("whole") / "queue"
    done = tce("train", config, "--task", "one,two", "--seeds", "1-3", *LENGTHS, "--out", folder)
    assert done.returncode == 0, done.stderr
    return all_content(folder)


def begin(n: int, *words: Any) -> "subprocess.Popen[str]":
    return subprocess.Popen([*launcher(n), str(MPI), *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            env=surroundings())


def ranks_of(folder: Path) -> List[int]:
    """The processes of tce-mpi that work on a folder."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if words[0] == os.fsencode(MPI) and os.fsencode(folder) in words:
            found.append(int(entry.name))
    return found


def states(folder: Path) -> List[str]:
    return [row["state"] for row in queue(folder)]


def test_ranks_train_the_runs_of_a_queue(config: Path, whole: Dict[Any, Dict[str, bytes]], tmp_path: Path) -> None:
    done = run(3, "train", config, "--task", "one,two", "--seeds", "1-3", *LENGTHS, "--resume", tmp_path / "queue")
    assert done.returncode == 0 and done.stderr == "", done.stderr
    assert "6 runs in" in done.stdout and ", 3 at once with" in done.stdout and "6 of 6 done" in done.stdout
    assert all_content(tmp_path / "queue") == whole
    for row in queue(tmp_path / "queue"):
        assert {"curve.csv", "config.yaml"} <= {path.name for path in (tmp_path / "queue" / row["folder"]).iterdir()}

    # more ranks than runs that are left: nothing is done, nothing waits
    done = run(4, "train", "--resume", tmp_path / "queue", *library(config))
    assert done.returncode == 0 and "6 of 6 done" in done.stdout, done.stderr


def test_the_only_rank_trains_the_runs_of_a_queue_in_processes(config: Path, whole: Dict[Any, Dict[str, bytes]], tmp_path: Path) -> None:
    done = run(1, "train", config, "--task", "one,two", "--seeds", "1-3", "--jobs", 2, *LENGTHS, "--out", tmp_path / "queue")
    assert done.returncode == 0, done.stderr
    assert "6 runs in" in done.stdout and ", 2 at once with" in done.stdout and "6 of 6 done" in done.stdout
    assert all_content(tmp_path / "queue") == whole


def test_a_run_that_fails_on_a_rank_is_told_and_the_others_go_on(config: Path, tmp_path: Path) -> None:
    done = run(2, "train", config, "--task", "one,two", "--seeds", "1-2", "task.options=fails=family_two", "--out", tmp_path / "queue")
    assert done.returncode == 1
    assert states(tmp_path / "queue") == ["done", "failed", "done", "failed"]
    for seed in (1, 2):
        assert f"family_two seed {seed}: tce: on rank " in done.stderr, done.stderr
    assert "2 of 4 runs are not done; continue with:  tce train --resume" in done.stderr
    assert all(row["message"].startswith("environment 0") for row in queue(tmp_path / "queue") if row["state"] == "failed")


def test_options_that_ranks_have_no_use_for(config: Path, tmp_path: Path) -> None:
    done = run(2, "train", config, "--task", "one,two", "--jobs", 2, "--out", tmp_path / "queue")
    assert done.returncode == 2 and "leave out --jobs" in done.stderr, done.stderr
    assert not (tmp_path / "queue").exists()


@pytest.mark.parametrize("which", [0, -1])
def test_a_signal_to_one_rank_saves_the_runs_of_all(config: Path, whole: Dict[Any, Dict[str, bytes]], tmp_path: Path, which: int) -> None:
    # on a busy machine runs may end before they hear it
    for attempt in range(5):
        folder = tmp_path / f"queue{attempt}"
        process = begin(2, "train", config, "--task", "one,two", "--seeds", "1-3", *LENGTHS, "run.checkpoint_every=200", "--out", folder)
        wait_until(lambda: len([p for p in folder.glob("*/progress.csv") if p.stat().st_size > 2000]) >= 2, LIMIT)
        os.kill(sorted(ranks_of(folder))[which], signal.SIGTERM)
        _, said = process.communicate(timeout=LIMIT)
        assert process.returncode == 130 and "continue with:  tce train --resume" in said, said
        assert {"waiting"} <= set(states(folder)) <= {"stopped", "waiting", "done"}
        if "stopped" in states(folder):
            break
    assert "stopped" in states(folder)
    for row in queue(folder):
        if row["state"] == "stopped":
            # one that was stopped in its first iteration has neither rows nor a checkpoint
            run_folder = folder / row["folder"]
            kept = [int(path.name[5:13]) for path in checkpoints(run_folder)]
            last = len(rows(run_folder)) - 1 if (run_folder / "progress.csv").exists() else 0
            assert (kept or [0])[-1] == max(last, 0)

    # by processes, or by another number of ranks
    words: Tuple[Any, ...] = ("train", "--resume", folder, *library(config), "run.checkpoint_every=20")
    done = tce(*words) if which else run(3, *words)
    assert done.returncode == 0, done.stderr
    assert all_content(folder) == whole


def test_kills_of_ranks_of_a_queue_lose_nothing(config: Path, whole: Dict[Any, Dict[str, bytes]], tmp_path: Path) -> None:
    draw = random.Random(3)
    n_killed, n_queues = 0, 0
    while n_killed < (25 if LONG else 2):
        folder = tmp_path / f"queue{n_queues}"
        n_queues += 1
        returncode, n_begun = None, 0
        while returncode != 0:
            assert n_begun < 20, "kills keep the queue from its end"
            process = begin(draw.randint(1, 4), "train", config, "--task", "one,two", "--seeds", "1-3", *LENGTHS, "--resume", folder)
            n_begun += 1
            wait_until(lambda: process.poll() is not None or list(folder.glob("*/progress.csv")), LIMIT)
            time.sleep(draw.uniform(0.0, 1.0))
            there = ranks_of(folder) if n_begun < 6 else []
            if there:
                kill(draw.choice(there))
                n_killed += 1
                ended(process, lambda: ranks_of(folder))
            else:
                process.communicate(timeout=LIMIT)
            returncode = process.returncode
            # what the only rank has just forked may not have become a run yet
            wait_until(lambda: not ranks_of(folder), 10)
        assert all_content(folder) == whole
