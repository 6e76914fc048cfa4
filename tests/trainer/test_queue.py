"""Queues of `tce train`: tasks times seeds, stopped, killed, resumed, failing; and what a list of tasks means."""

from __future__ import annotations

import csv
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import Any, Dict, List

import pytest
from running import (LONG, PROGRAM, begin, compile_tasks, content, environment, folder_of_libtce, ignore, listen,
                     on_a_terminal, rows, tce, wait_until)

TINY = """
run: {method: tce, iterations: 12, checkpoint_every: 3, threads: 1}
task: {name: family_one, library: LIBRARY}
collect: {episodes: 8, environments: 4}
evaluate: {every: 4, episodes: 8}
mp: {n_basis: 2, tau: 1.0}
policy: {hidden: [8], epochs: 3}
critic: {hidden: [8], epochs: 2, minibatches: 2}
objective: {time_points: 5, selection: random}
"""

FAMILY = ["family_one", "family_two", "family_three_far"]

Row = Dict[str, str]


def library(config: Path) -> List[Any]:
    """A queue that continues does not load the library that its folder names."""
    return ["--task-library", config / "points.so"]


def queue(folder: Path) -> List[Row]:
    with open(folder / "queue.csv", newline="", encoding="utf-8") as stream:
        assert stream.readline().startswith("# tce queue 1, jobs ")
        return list(csv.DictReader(stream))


def all_content(folder: Path) -> Dict[Any, Dict[str, bytes]]:
    return {(row["task"], row["seed"]): content(folder / row["folder"]) for row in queue(folder)}


def times(folder: Path) -> Dict[str, int]:
    """When the files of a run were written."""
    return {str(path): path.stat().st_mtime_ns for path in sorted(folder.rglob("*")) if path.is_file()}


def children(process: int) -> List[int]:
    try:
        return [int(word) for word in Path(f"/proc/{process}/task/{process}/children").read_text().split()]
    except OSError:
        return []


def kill(process: int) -> None:
    try:
        os.kill(process, signal.SIGKILL)
    except ProcessLookupError:
        pass


@pytest.fixture(scope="session")
def config(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder "family" with settings for the tasks family_*, which are in a library of their own."""
    folder = tmp_path_factory.mktemp("configs") / "family"
    folder.mkdir()
    library = folder / "points.so"
    compile_tasks(library)
    (folder / "tce.yaml").write_text(TINY.replace("LIBRARY", str(library)), encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def whole(tmp_path_factory: pytest.TempPathFactory, config: Path) -> Path:
    """A queue that was never stopped."""
    folder = tmp_path_factory.mktemp("whole") / "queue"
    done = tce("train", config, "--task", "all", "--seeds", "1-2", "--jobs", 2, "--out", folder)
    assert done.returncode == 0, done.stderr
    assert "6 of 6 done" in done.stdout
    return folder


# ---- what is run ---------------------------------------------------------------------------------


def test_a_queue_runs_every_task_with_every_seed(whole: Path, config: Path, tmp_path: Path) -> None:
    found = queue(whole)
    assert [(row["task"], row["seed"]) for row in found] == [(task, seed) for seed in "12" for task in FAMILY]
    assert all(row["state"] == "done" and not row["message"] for row in found)
    assert all(len(rows(whole / row["folder"])) == 13 for row in found)
    assert {path.name for path in whole.iterdir()} == {"queue.csv", "queue.yaml", "lock", *(row["folder"] for row in found)}

    # each is the run that it would be alone
    alone = tmp_path / "alone"
    assert tce("train", config, "--task", "two", "--seed", 2, "--out", alone).returncode == 0
    assert content(alone) == all_content(whole)[("family_two", "2")]
    assert "family_two" in (alone / "config.yaml").read_text(encoding="utf-8")


def test_the_end_shows_the_success_of_each(config: Path, tmp_path: Path) -> None:
    done = tce("train", config, "--task", "one,two", "--jobs", 1, "--out", tmp_path / "queue")
    assert done.returncode == 0, done.stderr
    head, *lines = done.stdout.split("\n\n")[1].splitlines()
    assert head.split()[:4] == ["task", "seed", "state", "success"]
    for line, row in zip(lines, queue(tmp_path / "queue")):
        last = rows(tmp_path / "queue" / row["folder"])[-1]
        assert line.split()[:4] == [row["task"], "1", "done", f"{float(last['eval_success']):.3f}"]
    assert "family_one seed 1 done after 12 iterations" in done.stdout and "(1 of 2 done" in done.stdout
    assert tce("train", config, "--task", "one,two", "--quiet", "--out", tmp_path / "quiet").stdout == ""


@pytest.mark.parametrize("said,meant", [
    ("three-far", ["family_three_far"]), ("three_far,one", ["family_three_far", "family_one"]), ("family-two", ["family_two"]),
    ("stranger,family_one", ["stranger", "family_one"]), ("all", FAMILY), ("stranger,all", ["stranger", *FAMILY])])
def test_short_and_long_names_of_tasks(config: Path, tmp_path: Path, said: str, meant: List[str]) -> None:
    done = tce("train", config / "tce.yaml", "--task", said, "--seeds", 4, "run.iterations=1", "--out", tmp_path / "queue")
    assert done.returncode == 0, done.stderr
    assert [row["task"] for row in queue(tmp_path / "queue")] == meant


@pytest.mark.parametrize("said,answer", [
    ("three-fra", "did you mean three_far?"), ("family_tow", "did you mean family_two?"), ("nothing_like_it_at_all", "no such task; `tce tasks --task-library "),
    ("one,family_one", "family_one twice"), ("one,,two", "commas"), ("", "commas"), ("one,", "commas")])
def test_a_task_that_is_not_there(config: Path, tmp_path: Path, said: str, answer: str) -> None:
    done = tce("train", config, "--task", said, "--out", tmp_path / "queue")
    assert done.returncode == 1 and answer in done.stderr, done.stderr
    assert not (tmp_path / "queue").exists()


def test_all_needs_tasks_named_like_the_folder(config: Path, tmp_path: Path) -> None:
    shutil.copy(config / "tce.yaml", tmp_path / "mine.yaml")
    done = tce("train", tmp_path / "mine.yaml", "--task", "all")
    assert done.returncode == 1 and f'"{tmp_path.name}_"' in done.stderr


def test_a_folder_stands_for_its_tce_yaml(config: Path, tmp_path: Path) -> None:
    assert tce("config", config).stdout == tce("config", config / "tce.yaml").stdout
    # also among the configurations that come with the program, and beside a folder of that name
    (tmp_path / "reacher5").mkdir()
    shown = tce("config", "reacher5", cwd=tmp_path)
    assert shown.returncode == 0 and shown.stdout == tce("config", "reacher5/tce").stdout
    (tmp_path / "empty").mkdir()
    done = tce("config", tmp_path / "empty")
    assert done.returncode == 1 and "without tce.yaml" in done.stderr


def test_without_out_the_queue_has_a_folder_of_its_own(config: Path, tmp_path: Path) -> None:
    for arguments in (["--task", "all"], ["--task", "all"], ["--seeds", "1-2"]):
        assert tce("train", config, *arguments, "run.iterations=1", "--quiet", cwd=tmp_path).returncode == 0
    names = sorted(path.name for path in (tmp_path / "runs").iterdir())
    assert len(names) == 3
    assert [name.split("__")[:2] for name in names] == [["family", "tce"], ["family", "tce"], ["family_one", "tce"]]


@pytest.mark.parametrize("arguments", [
    ["--seeds", "1-3", "--seed", "2"], ["--seeds", "3-1"], ["--seeds", "1,x"], ["--seeds", "1-3,2"], ["--seeds", "1-3", "--jobs", "0"],
    ["--task", "one", "--jobs", "2"]])
def test_wrong_usage(config: Path, tmp_path: Path, arguments: List[str]) -> None:
    done = tce("train", config, *arguments, cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert "--help" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_lists_need_a_config() -> None:
    done = tce("train", "--resume", "somewhere", "--task", "all")
    assert done.returncode == 2 and "CONFIG" in done.stderr


# ---- stopping and continuing -----------------------------------------------------------------------


@pytest.mark.parametrize("number, before", [(signal.SIGINT, listen), (signal.SIGTERM, ignore)])
def test_a_signal_saves_every_run_and_the_queue_goes_on(number, before, config: Path, tmp_path: Path) -> None:
    long = [config, "--task", "all", "run.iterations=400", "run.checkpoint_every=100", "--jobs", 2]
    assert tce("train", *long, "--out", tmp_path / "whole").returncode == 0
    folder = tmp_path / "queue"
    process = begin("train", *long, "--out", folder, before=before)
    wait_until(lambda: len([p for p in folder.glob("*/progress.csv") if p.stat().st_size > 2000]) >= 2)
    process.send_signal(number)
    out, said = process.communicate(timeout=60)
    assert process.returncode == 130, said
    assert said.count(f"continue with:  tce train --resume {folder}") == 1
    states = [row["state"] for row in queue(folder)]
    assert states.count("stopped") == 2 and "waiting" in states
    assert out.count(" stopped ") >= 2 and " waiting " in out

    done = tce("train", "--resume", folder, *library(config))
    assert done.returncode == 0, done.stderr
    assert all_content(folder) == all_content(tmp_path / "whole")


def kill_until_done(arguments: List[Any], folder: Path, draw: random.Random, most: int) -> int:
    """Runs a queue that is killed again and again, at most so many times; how many it was. What is done stays untouched."""
    n_killed, returncode = 0, None
    finished: Dict[str, Dict[str, int]] = {}
    command = ["train", *arguments, "--out", folder]
    while returncode != 0:
        process = begin(*command)
        if n_killed < most:
            time.sleep(draw.uniform(0.0, 0.6))
            # its runs are killed with it, or left to save and end by themselves
            below = children(process.pid) if draw.random() < 0.5 else []
            n_killed += process.poll() is None
            process.kill()
            for child in below:
                kill(child)
        _, said = process.communicate(timeout=120)
        returncode = process.returncode
        assert returncode in (0, -signal.SIGKILL), said
        if not (folder / "queue.csv").exists():
            continue
        command = ["train", "--resume", folder, *library(arguments[0])]
        for name, then in finished.items():
            assert times(folder / name) == then
        finished = {row["folder"]: times(folder / row["folder"]) for row in queue(folder) if row["state"] == "done"}
    return n_killed


def test_kills_of_the_whole_queue_lose_nothing(config: Path, tmp_path: Path) -> None:
    arguments = [config, "--task", "all", "--seeds", "1-2", "--jobs", 2, "run.iterations=150", "run.checkpoint_every=5"]
    assert tce("train", *arguments, "--out", tmp_path / "whole").returncode == 0
    whole = all_content(tmp_path / "whole")
    draw = random.Random(7)
    n_killed, n_queues, n_kills = 0, 0, 100 if LONG else 10
    # a fast machine is done after a few kills: then another queue
    while n_killed < n_kills:
        folder = tmp_path / f"queue{n_queues}"
        n_queues += 1
        n_killed += kill_until_done(arguments, folder, draw, n_kills - n_killed)
        assert [row["state"] for row in queue(folder)] == ["done"] * 6
        assert all_content(folder) == whole


def test_a_finished_queue_stays_as_it_is(whole: Path, config: Path, tmp_path: Path) -> None:
    folder = tmp_path / "queue"
    shutil.copytree(whole, folder)
    before = {row["folder"]: times(folder / row["folder"]) for row in queue(folder)}
    done = tce("train", "--resume", folder, *library(config))
    assert done.returncode == 0 and "6 of 6 done" in done.stdout
    assert {row["folder"]: times(folder / row["folder"]) for row in queue(folder)} == before

    # a run whose folder was taken away is run again; the queue may have been moved
    gone = queue(folder)[3]["folder"]
    shutil.rmtree(folder / gone)
    assert tce("train", "--resume", folder, *library(config), "--quiet").returncode == 0
    assert all_content(folder) == all_content(whole)
    del before[gone]
    assert {name: times(folder / name) for name in before} == before


def test_one_command_begins_and_goes_on(whole: Path, config: Path, tmp_path: Path) -> None:
    command = ["train", config, "--task", "all", "--seeds", "1-2", "--resume", tmp_path / "queue", "--quiet"]
    for _ in range(2):
        done = tce(*command)
        assert done.returncode == 0, done.stderr
    assert all_content(tmp_path / "queue") == all_content(whole)
    for other, says in ((["--task", "one"], "other tasks, seeds or settings"), (["policy.epochs=4"], "policy.epochs = 3, but now it is 4")):
        done = tce(*command, *other)
        assert done.returncode == 1 and says in done.stderr, done.stderr


def test_a_queue_is_not_begun_over_another_or_a_run(whole: Path, config: Path) -> None:
    done = tce("train", config, "--task", "all", "--out", whole)
    assert done.returncode == 1 and "has a queue already" in done.stderr and "--resume" in done.stderr
    run = whole / queue(whole)[0]["folder"]
    done = tce("train", config, "--task", "all", "--out", run)
    assert done.returncode == 1 and "has a run already" in done.stderr


# ---- several settings --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory, config: Path) -> Path:
    """A queue of two CONFIGs, one method each, with two values of a setting and two seeds."""
    other = config.parent / "bbrl.yaml"
    other.write_text((config / "tce.yaml").read_text(encoding="utf-8").replace("method: tce", "method: bbrl").replace(
        "objective: {time_points: 5, selection: random}", "").replace("environments: 4", "environments: 4, mask_context: true, time_input: false"),
        encoding="utf-8")
    folder = tmp_path_factory.mktemp("compared") / "queue"
    done = tce("train", config, other, "run.iterations=3", "--grid", "policy.hidden=[8,8],[4]", "--seeds", "1-2", "--jobs", 2, "--out", folder,
               "--log-json", folder.parent / "log.jsonl")
    assert done.returncode == 0, done.stderr
    (folder.parent / "said").write_text(done.stdout, encoding="utf-8")
    return folder


def test_a_grid_over_several_settings_is_every_combination(compared: Path, config: Path, tmp_path: Path) -> None:
    found = queue(compared)
    assert [(row["seed"], row["settings"]) for row in found] == [
        (seed, name) for seed in "12" for name in ("queue.yaml", "queue-2.yaml", "queue-3.yaml", "queue-4.yaml")]
    for row in found[:4]:
        text = (compared / row["folder"] / "config.yaml").read_text(encoding="utf-8")
        assert ("method: bbrl" in text) == (row["settings"] in ("queue-3.yaml", "queue-4.yaml"))
        assert ("hidden: [4]" in text) == (row["settings"] in ("queue-2.yaml", "queue-4.yaml"))
    # each is the run that it would be alone
    alone = tmp_path / "alone"
    assert tce("train", config, "run.iterations=3", "policy.hidden=[4]", "--seed", 2, "--out", alone).returncode == 0
    assert content(alone) == content(compared / found[5]["folder"])
    # and their iterations are in one log
    lines = [json.loads(line) for line in (compared.parent / "log.jsonl").read_text(encoding="utf-8").splitlines()]
    assert sorted((Path(line["run"]).name, line["iteration"]) for line in lines) == sorted((row["folder"], i) for row in found for i in (1, 2, 3))


def test_the_settings_of_a_queue_are_called_by_what_differs_and_the_best_come_first(compared: Path, tmp_path: Path) -> None:
    names = ["TCE policy.hidden=[8, 8]", "TCE policy.hidden=[4]", "BBRL Cov policy.hidden=[8, 8]", "BBRL Cov policy.hidden=[4]"]
    said = (compared.parent / "said").read_text(encoding="utf-8")
    assert all(f"{name} seed 2 done after 3 iterations" in said for name in names)
    with open(compared / "best.csv", newline="", encoding="utf-8") as stream:
        best = list(csv.DictReader(stream))
    assert [row["rank"] for row in best] == list("1234") and sorted(row["settings"] for row in best) == sorted(names)
    table = [line for line in said.split("best settings")[1].splitlines() if " runs " in line]
    assert all(row["settings"] in line for row, line in zip(best, table)) and len(table) == 4
    places = []
    for row in best:
        last = [rows(compared / entry["folder"])[-1] for entry in queue(compared) if entry["settings"] == row["file"]]
        success, value = ([float(run[name]) for run in last] for name in ("eval_success", "eval_return"))
        assert [float(row[name]) for name in ("success", "success_least", "success_most")] == pytest.approx([sum(success) / 2, min(success), max(success)])
        assert [float(row[name]) for name in ("return", "return_least", "return_most")] == pytest.approx([sum(value) / 2, min(value), max(value)])
        places.append((float(row["success"]), float(row["return"])))
    assert places == sorted(places, reverse=True)

    done = tce("plot", compared, "--no-pictures", "--episodes", 0, "--out", tmp_path / "plots")
    assert done.returncode == 0 and "differ in" not in done.stderr, done.stderr
    with open(tmp_path / "plots" / "summary.csv", newline="", encoding="utf-8") as stream:
        assert sorted(row["method"] for row in csv.DictReader(stream)) == sorted(names)


def test_a_queue_of_several_settings_goes_on(compared: Path, config: Path, tmp_path: Path) -> None:
    """What was removed is run again with its own settings, to the same bytes; what is asked for has to be the same."""
    folder = tmp_path / "queue"
    shutil.copytree(compared, folder)
    gone = queue(folder)[7]
    shutil.rmtree(folder / gone["folder"])
    done = tce("train", "--resume", folder, *library(config))
    assert done.returncode == 0, done.stderr
    assert content(folder / gone["folder"]) == content(compared / gone["folder"])
    arguments = [config, config.parent / "bbrl.yaml", "run.iterations=3", "--seeds", "1-2", "--resume", folder]
    assert tce("train", *arguments, "--grid", "policy.hidden=[8,8],[4]").returncode == 0
    for grid in ("policy.hidden=[8,8],[6]", "policy.hidden=[8,8]"):
        done = tce("train", *arguments, "--grid", grid)
        assert done.returncode == 1 and ("policy.hidden" in done.stderr or "other tasks, seeds or settings" in done.stderr), done.stderr
    done = tce("train", "--resume", folder, *library(config), "policy.epochs=9")
    assert done.returncode == 1 and "policy.epochs" in done.stderr


def test_a_finished_queue_can_be_extended(compared: Path, config: Path, tmp_path: Path) -> None:
    """By iterations: finished runs continue as if they had been as long from the beginning. By seeds: the new ones get every run."""
    folder = tmp_path / "queue"
    shutil.copytree(compared, folder)
    assert tce("train", "--resume", folder, *library(config), "run.iterations=5").returncode == 0
    assert all(len(rows(folder / row["folder"])) == 4 for row in queue(folder))
    done = tce("train", "--resume", folder, *library(config), "run.iterations=5", "--extend", "--seeds", "2-3")
    assert done.returncode == 0 and "12 of 12 done" in done.stdout, done.stderr
    assert all(len(rows(folder / row["folder"])) == 6 for row in queue(folder))
    assert [row["seed"] for row in queue(folder)] == list("111122223333")
    alone = tmp_path / "alone"
    assert tce("train", config, "run.iterations=5", "schedule.entropy_iterations=3", "policy.hidden=[4]", "--seed", 3, "--out", alone).returncode == 0
    assert content(alone) == content(folder / queue(folder)[9]["folder"])


@pytest.mark.parametrize("arguments,words", [
    (["--grid", "policy.epochs"], "--grid policy.epochs, must be section.key=value,value"),
    (["--grid", "policy.epochs=1,,2"], "value 2 is empty"),
    (["--grid", "policy.epochs=1,1"], "settings 1 and 2 of the queue are the same"),
    (["--grid", "policy.epochs=1,x"], "policy.epochs"),
    (["--grid", "policy.epoch=1,2"], "did you mean policy.epochs"),
    (["--grid", "run.seed=1,2"], "write --seeds 1,2"),
    (["--grid", "task.name=a,b"], "write --task a,b"),
    (["--extend"], "--extend goes with --resume DIR"),
    (["--grid", "policy.epochs=1,2", "--log-json", "-"], "--log-json of a queue needs a file"),
])
def test_what_makes_no_queue_is_said(config: Path, tmp_path: Path, arguments: List[str], words: str) -> None:
    done = tce("train", config, *arguments, "--out", tmp_path / "queue")
    assert done.returncode in (1, 2) and words in done.stderr, done.stderr
    assert not (tmp_path / "queue").exists()


def test_two_processes_cannot_share_a_queue(config: Path, tmp_path: Path) -> None:
    folder = tmp_path / "queue"
    first = begin("train", config, "--task", "all", "run.iterations=1000000", "--out", folder)
    wait_until(lambda: (folder / "queue.csv").exists() and "running" in (folder / "queue.csv").read_text())
    second = tce("train", "--resume", folder, *library(config))
    assert second.returncode == 1 and f"process {first.pid}" in second.stderr
    first.send_signal(signal.SIGINT)
    first.communicate(timeout=60)


def test_a_queue_stops_whenever_it_is_asked_to(config: Path, tmp_path: Path) -> None:
    """Also while its runs are starting and do not listen yet."""
    for i in range(8):
        process = begin("train", config, "--seeds", "1-4", "--jobs", 4, "run.iterations=1000000", "--out", tmp_path / f"queue{i}")
        wait_until(lambda: (tmp_path / f"queue{i}" / "queue.csv").exists())
        time.sleep(0.01 * i)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
        assert process.returncode == 130


def test_settings_that_may_change_change_for_what_is_left(config: Path, tmp_path: Path) -> None:
    folder = tmp_path / "queue"
    done = tce("train", config, "--task", "all", "task.options=fails=family_two", "--out", folder, "--jobs", 1)
    assert done.returncode == 1
    shutil.rmtree(folder / queue(folder)[1]["folder"])
    done = tce("train", "--resume", folder, *library(config), "collect.on_fault=drop", "run.iterations=5")
    assert done.returncode == 0, done.stderr
    # what begins later has the entropy schedule of the queue all the same
    for row in queue(folder):
        assert "\n# entropy schedule: 12 iterations," in (folder / row["folder"] / "config.yaml").read_text(encoding="utf-8")
    assert [int(rows(folder / row["folder"])[-1]["iteration"]) for row in queue(folder)] == [12, 5, 12]
    assert [float(rows(folder / row["folder"])[-1]["dropped"]) for row in queue(folder)] == [0, 2, 0]
    done = tce("train", "--resume", folder, *library(config), "policy.epochs=7")
    assert done.returncode == 1 and "policy.epochs" in done.stderr
    done = tce("train", "--resume", folder, *library(config), "task.name=stranger")
    assert done.returncode == 1 and "task.name" in done.stderr


@pytest.mark.parametrize("line,wrong", [(1, "hello"), (2, "task,seed"), (3, "family_one,1,done"), (4, "family_two,x,done,a,"),
                                        (5, "family_two,1,lost,a,"), (6, "family_two,1,done,../a,"), (6, 'family_two,1,done,"a,')])
def test_a_damaged_queue_file_is_refused(whole: Path, tmp_path: Path, line: int, wrong: str) -> None:
    folder = tmp_path / "queue"
    shutil.copytree(whole, folder)
    lines = (folder / "queue.csv").read_text(encoding="utf-8").splitlines()
    lines[line - 1] = wrong
    (folder / "queue.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    done = tce("train", "--resume", folder)
    assert done.returncode == 1 and f"queue.csv:{line}: " in done.stderr, done.stderr


@pytest.mark.parametrize("folder", ["..", ".", "../a", "a/b", "/tmp/a", "a/../..", "link", "dangling", "queue.yaml", "lock"])
def test_a_run_cannot_lie_outside_of_its_queue(whole: Path, tmp_path: Path, folder: str) -> None:
    place = tmp_path / "queue"
    shutil.copytree(whole, place)
    (tmp_path / "outside").mkdir()
    (place / "link").symlink_to(tmp_path / "outside")
    (place / "dangling").symlink_to(tmp_path / "missing")
    lines = (place / "queue.csv").read_text(encoding="utf-8").splitlines()
    lines[4] = f"family_two,1,waiting,{folder},"
    (place / "queue.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    done = tce("train", "--resume", place)
    assert done.returncode == 1 and f'queue.csv:5: the folder "{folder}"' in done.stderr, done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["outside", "queue"]
    assert list((tmp_path / "outside").iterdir()) == []


def test_two_runs_cannot_share_a_folder(whole: Path, tmp_path: Path) -> None:
    place = tmp_path / "queue"
    shutil.copytree(whole, place)
    lines = (place / "queue.csv").read_text(encoding="utf-8").splitlines()
    lines[6] = lines[6].replace(lines[6].split(",")[3], lines[4].split(",")[3])
    (place / "queue.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    done = tce("train", "--resume", place)
    assert done.returncode == 1 and "queue.csv:7: " in done.stderr and "line 5" in done.stderr, done.stderr


# ---- failures ------------------------------------------------------------------------------------


def test_a_failing_run_is_told_at_the_end_and_the_others_go_on(config: Path, tmp_path: Path) -> None:
    folder = tmp_path / "queue"
    arguments = [config, "--task", "all", "--seeds", "1-2", "task.options=fails=family_two", "--jobs", 2]
    done = tce("train", *arguments, "--out", folder)
    assert done.returncode == 1
    assert "4 of 6 done, 2 failed" in done.stdout
    for row in queue(folder):
        assert row["state"] == ("failed" if row["task"] == "family_two" else "done")
        assert ("environment" in row["message"]) == (row["state"] == "failed")
    said = done.stderr.splitlines()
    assert said[-1] == f"tce: 2 of 6 runs are not done; continue with:  tce train --resume {folder} --task-library {config / 'points.so'}"
    # after all warnings of the runs that were done, and each with its name
    first = next(i for i, line in enumerate(said) if line.startswith("family_two seed 1: tce: environment"))
    assert all(line.startswith("family_two seed ") for line in said[first:-1])
    assert any(line.startswith("family_two seed 2: tce: environment") for line in said)

    # it is tried again
    again = tce("train", "--resume", folder, *library(config))
    assert again.returncode == 1 and again.stdout.count("failed after 0 iterations") == 2


def test_a_run_that_is_killed_is_told(config: Path, tmp_path: Path) -> None:
    folder = tmp_path / "queue"
    process = begin("train", config, "--seeds", "1-2", "--jobs", 2, "run.iterations=1000", "run.checkpoint_every=1000", "--out", folder)
    wait_until(lambda: len([p for p in folder.glob("*/progress.csv") if p.stat().st_size > 2000]) == 2)
    kill(children(process.pid)[0])
    _, said = process.communicate(timeout=120)
    assert process.returncode == 1
    assert "ended by signal 9" in said
    assert sorted(row["state"] for row in queue(folder)) == ["done", "failed"]
    assert tce("train", "--resume", folder, *library(config)).returncode == 0


@pytest.mark.parametrize("name", ["-x", "--quiet", "run.seed=7"])
def test_a_queue_may_lie_in_a_folder_called_like_an_argument(config: Path, tmp_path: Path, name: str) -> None:
    done = tce("train", config, "--seeds", "1-2", "run.iterations=1", f"--out={name}", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert [row["state"] for row in queue(tmp_path / name)] == ["done", "done"]


def test_a_queue_does_not_need_the_file_of_its_program(config: Path, tmp_path: Path) -> None:
    """As when the program is rebuilt meanwhile."""
    folder, program = tmp_path / "queue", tmp_path / "tce"
    shutil.copy(PROGRAM, program)
    command = [program, "train", config, "--seeds", "1-3", "--jobs", 1, "run.iterations=200", "--out", folder]
    process = subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               text=True, env={**environment(), "LD_LIBRARY_PATH": str(folder_of_libtce())})
    wait_until(lambda: list(folder.glob("*/progress.csv")))
    program.unlink()
    _, said = process.communicate(timeout=120)
    assert process.returncode == 0, said
    assert [row["state"] for row in queue(folder)] == ["done"] * 3


def few_files() -> None:
    """As `ulimit -n 40`: more than a few runs at once need, fewer than the runs of the queue."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40))


def test_a_queue_may_be_longer_than_the_limit_on_open_files(config: Path, tmp_path: Path) -> None:
    folder = tmp_path / "queue"
    done = tce("train", config, "--task", "one,two", "--seeds", "1-30", "--jobs", 4, "run.iterations=1",
               "task.options=fails=family_two", "--out", folder, preexec_fn=few_files)
    assert "30 of 60 done, 30 failed" in done.stdout, done.stderr
    # each failure is told all the same
    told = [line.split(": tce: environment")[0] for line in done.stderr.splitlines() if ": tce: environment" in line]
    assert sorted(told) == sorted(f"family_two seed {seed}" for seed in range(1, 31))


def test_more_jobs_than_files_may_be_open_is_said_with_the_remedy(config: Path, tmp_path: Path) -> None:
    folder = tmp_path / "queue"
    many = ["train", config, "--seeds", "1-60", "--jobs", 60, "run.iterations=20", "--out", folder]
    done = tce(*many, preexec_fn=few_files)
    assert done.returncode == 1
    assert "lower --jobs" in done.stderr and "ulimit -n" in done.stderr, done.stderr
    # a limit that may be raised is raised
    done = tce(*many, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (40, 400)))
    assert done.returncode == 0 and "60 of 60 done" in done.stdout, done.stderr


def test_messages_of_runs_are_kept_in_tmpdir(config: Path, tmp_path: Path) -> None:
    place = tmp_path / "place"
    place.mkdir()
    process = begin("train", config, "--seeds", "1-2", "run.iterations=1000000", "--jobs", 2, "--out", tmp_path / "queue",
                    TMPDIR=str(place))
    wait_until(lambda: len(children(process.pid)) == 2)
    opened = lambda: [os.readlink(file) for file in Path(f"/proc/{process.pid}/fd").iterdir()]
    wait_until(lambda: sum(name.startswith(str(place)) for name in opened()) == 3)  # of both runs, and of failures
    assert list(place.iterdir()) == []  # nothing stays behind, not even after a kill
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)


@pytest.mark.parametrize("place", ["missing", "file"])
def test_a_tmpdir_that_cannot_be_written_is_said_with_the_remedy(config: Path, tmp_path: Path, place: str) -> None:
    (tmp_path / "file").touch()
    done = tce("train", config, "--seeds", "1-2", "--out", tmp_path / "queue", env={"TMPDIR": str(tmp_path / place)})
    assert done.returncode == 1
    assert f"cannot make a temporary file in {tmp_path / place}: " in done.stderr and "set TMPDIR" in done.stderr, done.stderr
    assert not (tmp_path / "queue").exists()
    # the same command works once that is mended
    assert tce("train", config, "--seeds", "1-2", "run.iterations=1", "--out", tmp_path / "queue").returncode == 0


# ---- several seeds -------------------------------------------------------------------------------


def test_several_seeds_run_side_by_side(config: Path, tmp_path: Path) -> None:
    done = tce("train", config, "--seeds", "1-3,7", "--jobs", 2, "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    assert "4 of 4 done" in done.stdout
    for seed in (1, 2, 3, 7):
        found = list(tmp_path.glob(f"family_one__tce__{seed}__*"))
        assert len(found) == 1 and len(rows(found[0])) == 13
        assert f"seed {seed} done" in done.stdout and str(found[0]) in done.stdout


# ---- parts, on several machines at once ------------------------------------------------------------


def part(number: int, count: int, *arguments: Any) -> List[Any]:
    return ["train", *arguments, "--array", f"{number}/{count}"]


def test_parts_that_run_at_the_same_time_are_the_whole_queue(whole: Path, config: Path, tmp_path: Path) -> None:
    folder = tmp_path / "queue"
    shared = [config, "--task", "all", "--seeds", "1-2", "--jobs", 1, "--resume", folder]
    processes = [begin(*part(number, 4, *shared)) for number in (1, 2, 3, 4)]
    for number, process in enumerate(processes, 1):
        out, said = process.communicate(timeout=120)
        assert process.returncode == 0, said
        assert f"part {number} of 4: {2 if number < 3 else 1} runs in" in out
    names = {f"{task}__tce__{seed}" for task in FAMILY for seed in "12"}
    files = {"queue.csv", "queue.yaml", "lock", *(f"queue-{number}-of-4.csv" for number in (1, 2, 3, 4))}
    assert {path.name for path in folder.iterdir()} == names | files
    assert [(row["task"], row["seed"]) for row in queue(folder)] == [(task, seed) for seed in "12" for task in FAMILY]
    assert all_content(folder) == all_content(whole)

    # whoever is left over has nothing to do; the whole queue takes over what the parts have written
    assert "part 7 of 7 has no runs" in tce(*part(7, 7, "--resume", folder, *library(config))).stdout
    before = {name: times(folder / name) for name in names}
    done = tce("train", "--resume", folder, *library(config))
    assert done.returncode == 0 and "6 of 6 done" in done.stdout, done.stderr
    assert {name: times(folder / name) for name in names} == before
    assert {path.name for path in folder.iterdir()} == names | {"queue.csv", "queue.yaml", "lock"}
    assert [row["state"] for row in queue(folder)] == ["done"] * 6


def test_parts_are_stopped_and_divided_anew(config: Path, tmp_path: Path) -> None:
    shared = [config, "--task", "all", "--seeds", "1-2", "--jobs", 1, "run.iterations=200", "run.checkpoint_every=50"]
    assert tce("train", *shared, "--out", tmp_path / "whole").returncode == 0
    folder = tmp_path / "queue"
    processes = [begin(*part(number, 2, *shared, "--resume", folder)) for number in (1, 2)]
    wait_until(lambda: len([p for p in folder.glob("*/progress.csv") if p.stat().st_size > 2000]) >= 2)
    processes[0].send_signal(signal.SIGTERM)
    processes[1].kill()
    _, said = processes[0].communicate(timeout=60)
    processes[1].communicate(timeout=60)
    assert processes[0].returncode == 130
    assert f"continue with:  tce train --resume {folder} --array 1/2 --task-library" in said

    for number in (1, 2, 3):
        done = tce(*part(number, 3, "--resume", folder, *library(config)))
        assert done.returncode == 0 and "2 of 2 done" in done.stdout, done.stderr
    assert all_content(folder) == all_content(tmp_path / "whole")


def test_kills_of_parts_lose_nothing(config: Path, tmp_path: Path) -> None:
    shared = [config, "--task", "all", "--seeds", "1-2", "--jobs", 1, "run.iterations=150", "run.checkpoint_every=5"]
    assert tce("train", *shared, "--out", tmp_path / "whole").returncode == 0
    folder, draw = tmp_path / "queue", random.Random(11)
    n_killed = 0
    while n_killed < (40 if LONG else 6):
        shutil.rmtree(folder, ignore_errors=True)
        left = {1, 2}
        while left:
            processes = {number: begin(*part(number, 2, *shared, "--resume", folder)) for number in left}
            time.sleep(draw.uniform(0.0, 0.8))
            for process in processes.values():
                if draw.random() < 0.7:
                    n_killed += process.poll() is None
                    process.kill()
            for number, process in processes.items():
                _, said = process.communicate(timeout=120)
                assert process.returncode in (0, -signal.SIGKILL), said
                left -= {number} if process.returncode == 0 else set()
        assert all_content(folder) == all_content(tmp_path / "whole")


def test_a_part_has_one_process_and_the_whole_queue_none(config: Path, tmp_path: Path) -> None:
    folder = tmp_path / "queue"
    shared = [config, "--task", "all", "run.iterations=1000000", "--resume", folder]
    first = begin(*part(1, 2, *shared))
    wait_until(lambda: (folder / "queue-1-of-2.csv").exists() and "running" in (folder / "queue-1-of-2.csv").read_text())
    for arguments in (part(1, 2, *shared), ["train", *shared]):
        second = tce(*arguments)
        assert second.returncode == 1 and f"process {first.pid}" in second.stderr, second.stderr
    first.send_signal(signal.SIGINT)
    first.communicate(timeout=60)


@pytest.mark.parametrize("said", ["0/2", "3/2", "1/0", "2", "x", "1/2x", "1/10001", "-1/2", "1/ 2", ""])
def test_a_part_that_there_cannot_be(config: Path, tmp_path: Path, said: str) -> None:
    done = tce("train", config, "--task", "all", "--resume", tmp_path / "queue", f"--array={said}")
    assert done.returncode == 2 and f"--array {said}, must be i/n" in done.stderr and "e.g. 3/8" in done.stderr, done.stderr
    assert not (tmp_path / "queue").exists()


def test_parts_need_a_queue_and_its_folder(config: Path, tmp_path: Path) -> None:
    for arguments in (["--task", "all"], ["--task", "all", "--out", tmp_path / "queue"]):
        done = tce(*part(1, 2, config, *arguments), cwd=tmp_path)
        assert done.returncode == 2 and "--array needs --resume DIR" in done.stderr, done.stderr
    done = tce(*part(1, 2, config, "--resume", tmp_path / "run"))
    assert done.returncode == 2 and "--array needs a queue: --seeds" in done.stderr, done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_part_of_another_queue_is_refused(whole: Path, config: Path, tmp_path: Path) -> None:
    shutil.copytree(whole, tmp_path / "queue")
    other = (whole / "queue.csv").read_text().splitlines()
    (tmp_path / "queue" / "queue-2-of-3.csv").write_text("\n".join([*other[:2], other[4]]) + "\n")
    done = tce("train", "--resume", tmp_path / "queue", *library(config))
    assert done.returncode == 1 and "queue-2-of-3.csv has the run family_three_far" in done.stderr, done.stderr


def test_cores_are_those_that_the_process_may_use(config: Path, tmp_path: Path) -> None:
    if not hasattr(os, "sched_setaffinity"):
        pytest.skip("a process cannot be bound to cores here")
    one = {min(os.sched_getaffinity(0))}
    done = tce("train", config, "--seeds", "1-2", "run.iterations=1", "--out", tmp_path / "queue",
               preexec_fn=lambda: os.sched_setaffinity(0, one))
    assert "2 runs in" in done.stdout and ", 1 at once with 1 thread each" in done.stdout, done.stderr


WITHOUT_LOCKS = """
#include <errno.h>
int fcntl(int file, int command, ...);
int fcntl(int file, int command, ...)
{
    (void)file;
    errno = ENOLCK;
    return command == 5 || command == 6 || command == 7 ? -1 : 0; /* F_GETLK, F_SETLK, F_SETLKW */
}
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/exe"), reason="needs the numbers of Linux")
def test_without_locks_on_the_file_system_parts_work_and_say_so(whole: Path, config: Path, tmp_path: Path) -> None:
    """As on Lustre without the mount option flock."""
    source, shim, folder = tmp_path / "shim.c", tmp_path / "shim.so", tmp_path / "queue"
    source.write_text(WITHOUT_LOCKS, encoding="utf-8")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", str(shim), str(source)], check=True)
    for number in (1, 2):
        done = tce(*part(number, 2, config, "--task", "all", "--seeds", "1-2", "--resume", folder), env={"LD_PRELOAD": str(shim)})
        assert done.returncode == 0, done.stderr
        assert done.stderr.count("has no locks: make sure that no other process works in this folder") == 3, done.stderr
    assert all_content(folder) == all_content(whole)


# ---- display -------------------------------------------------------------------------------------


def test_what_runs_is_redrawn_on_a_terminal(config: Path, tmp_path: Path) -> None:
    text = on_a_terminal("train", config, "--task", "all", "--jobs", 2, "run.iterations=1500", "run.checkpoint_every=500", "--out",
                         tmp_path / "queue")
    assert "0 of 3 done, 2 running, 1 waiting" in text and "/1500" in text
    assert "\033[3A\033[J" in text  # three lines taken back: the numbers, and one line per run
    assert "ETA" in text and "success" in text
