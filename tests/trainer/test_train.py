"""`tce train` as a program: folders, resuming, kills, signals, failures, learning. Queues are in test_queue.py."""

from __future__ import annotations

import json
import os
import random
import re
import resource
import shlex
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import Any, Dict, List

import pytest
from running import (LONG, PATIENCE, PROGRAM, begin, checkpoints, compile_tasks, content, edit_checkpoint, environment, listen, on_a_terminal,
                     remove_checksum, rows, tce, wait_until)

TINY = """
run: {method: tce, iterations: 12, checkpoint_every: 3, threads: 1}
task: {name: point_via}
collect: {episodes: 8, environments: 4}
evaluate: {every: 4, episodes: 8}
mp: {n_basis: 2, tau: 1.0}
policy: {hidden: [8], epochs: 3}
critic: {hidden: [8], epochs: 2, minibatches: 2}
objective: {time_points: 5, selection: random}
"""

LEARN = """
run: {method: tce, iterations: 220, checkpoint_every: 50}
task: {name: point_via}
collect: {episodes: 64, environments: 32}
evaluate: {every: 50, episodes: 100}
mp: {n_basis: 3, tau: 1.0, goal_scale: 0.5, weights_scale: 0.5}
policy: {hidden: [64, 64], learning_rate: 1e-3, epochs: 20}
critic: {hidden: [32, 32], learning_rate: 3e-3, epochs: 20}
projection: {mean_bound: 0.05, cov_bound: 0.01, entropy: none}
objective: {time_points: 5}
schedule: {learning_rate_iterations: 0}
"""

# over settings without a section objective, which is TCE's
BBRL = ["run.method=bbrl", "collect.mask_context=true", "collect.time_input=false", "policy.set_variance=true",
        "projection.coefficient=10", "critic.normalise=false"]


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("config") / "tiny.yaml"
    path.write_text(TINY, encoding="utf-8")
    return path


def without_objective(text: str) -> str:
    return "\n".join(line for line in text.splitlines() if not line.startswith("objective:"))


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The keys of the tiny file that every method has."""
    path = tmp_path_factory.mktemp("config") / "shared.yaml"
    path.write_text(without_objective(TINY), encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def whole(tmp_path_factory: pytest.TempPathFactory, tiny: Path) -> Path:
    """A run that was never stopped."""
    folder = tmp_path_factory.mktemp("whole") / "run"
    done = tce("train", tiny, "--out", folder)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="session")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    library = tmp_path_factory.mktemp("tasks") / "points.so"
    compile_tasks(library)
    return library


# ---- starting from another run -------------------------------------------------------------------


def test_a_run_starts_from_the_policy_of_another(tiny: Path, whole: Path, tmp_path: Path) -> None:
    words = ["run.iterations=1", "policy.epochs=0", "evaluate.episodes=20", "--seed", 9]
    new, other = tmp_path / "new", tmp_path / "other"
    done = tce("train", tiny, "--init-from", whole, *words, "--out", new)
    assert done.returncode == 0, done.stderr
    assert f"init_from: '{whole}'" in (new / "config.yaml").read_text(encoding="utf-8")
    # without an update it does what the other one does, and a run of its own does not
    assert tce("train", tiny, *words, "--out", other).returncode == 0
    said = [tce("eval", run, "--episodes", 20, "--seed", 5).stdout.partition("\n")[2] for run in (whole, new, other)]
    assert said[0] == said[1] != said[2]
    # its record repeats it, and so does the policy file
    for i, again in enumerate(([new / "config.yaml"], [tiny, "--init-from", whole / "policy.safetensors", *words])):
        assert tce("train", *again, "--out", tmp_path / f"again{i}").returncode == 0
        assert (tmp_path / f"again{i}" / "progress.csv").read_bytes() == (new / "progress.csv").read_bytes()


def test_a_run_that_does_not_fit_is_no_start(tiny: Path, whole: Path, tmp_path: Path) -> None:
    for words, says in ((["mp.n_basis=3"], "outputs"), (["mp.alpha=5"], "set mp.alpha='10'"), (["policy.hidden=[9]"], "policy"),
                        (["collect.time_input=false"], "set collect.mask_context and collect.time_input"),
                        (["task.name=swing"], "numbers in an observation")):
        done = tce("train", tiny, *words, "--init-from", whole, "--out", tmp_path / "no")
        assert done.returncode == 1 and "cannot start from" in done.stderr and says in done.stderr, done.stderr
    done = tce("train", tiny, "--init-from", tmp_path / "nowhere", "--out", tmp_path / "no")
    assert done.returncode == 2 and "no such run folder" in done.stderr


# ---- the run folder ------------------------------------------------------------------------------


def test_a_run_leaves_its_folder(whole: Path) -> None:
    table = rows(whole)
    assert [int(row["iteration"]) for row in table] == list(range(13))
    assert int(table[-1]["env_steps"]) == 12 * 8 * 50
    evaluated = [int(row["iteration"]) for row in table if row["eval_success"]]
    assert evaluated == [0, 4, 8, 12]
    assert all(row["return"] for row in table[1:])
    assert [path.name for path in checkpoints(whole)] == ["ckpt-00000009.safetensors", "ckpt-00000012.safetensors"]
    assert (whole / "config.yaml").read_text(encoding="utf-8").startswith("# libtce ")
    timing = (whole / "timing.csv").read_text(encoding="utf-8").splitlines()
    assert timing[0] == "iteration,simulation,critic,policy,evaluation,total" and len(timing) == 13


def test_a_task_without_success_ends_with_its_return(tiny: Path, tmp_path: Path) -> None:
    small = ["run.iterations=1", "collect.episodes=4", "collect.environments=2", "policy.epochs=1", "critic.epochs=1", "evaluate.episodes=2"]
    for config, says in ((tiny, "mean policy, 2 episodes: success 0."), ("hopper_jump/tce", "mean policy, 2 episodes: return ")):
        done = tce("train", config, *small, "--out", tmp_path / Path(config).name)
        assert done.returncode == 0, done.stderr
        assert says in done.stdout and "nan" not in done.stdout


def test_the_folder_is_named_after_task_method_and_seed(tiny: Path, tmp_path: Path) -> None:
    for _ in range(2):
        assert tce("train", tiny, "run.iterations=1", "--seed", 7, "--quiet", cwd=tmp_path).returncode == 0
    found = sorted(path.name for path in (tmp_path / "runs").iterdir())
    assert len(found) == 2
    assert all(name.startswith("point_via__tce__7__") for name in found)


def test_settings_in_the_folder_repeat_the_run(whole: Path, tmp_path: Path) -> None:
    assert tce("train", whole / "config.yaml", "--out", tmp_path / "again").returncode == 0
    assert content(tmp_path / "again") == content(whole)


def test_two_threads_give_the_same_bytes_as_one(whole: Path, tiny: Path, tmp_path: Path) -> None:
    assert tce("train", tiny, "--out", tmp_path / "two", "--threads", 2).returncode == 0
    assert content(tmp_path / "two") == content(whole)


def test_bbrl_gives_the_same_bytes_on_two_threads_and_resumed(shared: Path, tmp_path: Path) -> None:
    assert tce("train", shared, *BBRL, "--out", tmp_path / "one").returncode == 0
    assert tce("train", shared, *BBRL, "--out", tmp_path / "two", "--threads", 2, "run.iterations=5").returncode == 0
    assert tce("train", "--resume", tmp_path / "two", "run.iterations=12").returncode == 0
    # iteration 5 was an end, and evaluated as one; all else agrees
    one, two = rows(tmp_path / "one"), rows(tmp_path / "two")
    assert [row["return"] for row in one] == [row["return"] for row in two]
    assert content(tmp_path / "one")["policy.safetensors"] == content(tmp_path / "two")["policy.safetensors"]


def test_a_task_that_carries_state_resumes_to_the_same_bytes(tiny: Path, tmp_path: Path) -> None:
    arguments = ["task.name=metaworld_dial_turn", "task.options=profile=2", "collect.episodes=4", "collect.environments=2",
                 "evaluate.every=1", "evaluate.episodes=2", "mp.tau=5", "run.checkpoint_every=1", "schedule.entropy_iterations=3"]
    assert tce("train", tiny, *arguments, "--out", tmp_path / "one", "run.iterations=3").returncode == 0
    assert tce("train", tiny, *arguments, "--out", tmp_path / "two", "--threads", 2, "run.iterations=2").returncode == 0
    assert tce("train", "--resume", tmp_path / "two", "run.iterations=3").returncode == 0
    assert content(tmp_path / "one") == content(tmp_path / "two")


def test_a_task_that_does_not_mark_its_last_step_trains_the_same(tiny: Path, tmp_path: Path, faulty: Path) -> None:
    for name in ("family_one", "unmarked"):
        done = tce("train", tiny, "--out", tmp_path / name, f"task.library={faulty}", f"task.name={name}", "run.iterations=4")
        assert done.returncode == 0, done.stderr
    assert (tmp_path / "unmarked" / "progress.csv").read_bytes() == (tmp_path / "family_one" / "progress.csv").read_bytes()


def test_tensorboard_reads_the_events(whole: Path) -> None:
    from tensorboard.backend.event_processing import event_accumulator as accumulator

    events = accumulator.EventAccumulator(str(whole), size_guidance={"scalars": 0})
    events.Reload()
    table = rows(whole)
    tags = events.Tags()["scalars"]
    assert "train/return" in tags and "eval/success" in tags and "time/simulation" in tags
    returns = events.Scalars("train/return")
    assert [e.step for e in returns] == [int(row["env_steps"]) for row in table[1:]]
    assert [e.value for e in returns] == pytest.approx([float(row["return"]) for row in table[1:]], rel=1e-6)
    assert [e.step for e in events.Scalars("eval/success")] == [0, 1600, 3200, 4800]
    assert abs(returns[-1].wall_time - time.time()) < 3600


def test_tensorboard_shows_the_settings_as_text_and_as_hyperparameters(whole: Path) -> None:
    from tensorboard.backend.event_processing import event_accumulator as accumulator
    from tensorboard.plugins.hparams import plugin_data_pb2

    events = accumulator.EventAccumulator(str(whole), size_guidance={"tensors": 0})
    events.Reload()
    text = events.Tensors("settings/text_summary")[0].tensor_proto.string_val[0].decode()
    lines = (whole / "config.yaml").read_text(encoding="utf-8").splitlines()
    assert text.startswith("```yaml\n") and text.endswith("```\n")
    assert set(text.splitlines()[1:-1]) <= set(lines) and "  iterations: 12" in text
    assert events.SummaryMetadata("settings/text_summary").plugin_data.plugin_name == "text"
    metadata = events.SummaryMetadata("_hparams_/session_start_info").plugin_data
    assert metadata.plugin_name == "hparams"
    found = plugin_data_pb2.HParamsPluginData.FromString(metadata.content).session_start_info.hparams
    assert found["run.iterations"].number_value == 12 and found["policy.learning_rate"].number_value > 0
    assert found["run.method"].string_value == "tce" and found["policy.hidden"].string_value == "[8]"
    assert found["collect.time_input"].HasField("bool_value") and "task.library" not in found


def test_a_line_of_json_tells_each_iteration(tiny: Path, whole: Path, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    folder = tmp_path / 'run "1"'
    assert tce("train", tiny, "--out", folder, "--log-json", log, "run.iterations=5").returncode == 0
    done = tce("train", "--resume", folder, "--log-json", log, "run.iterations=12")
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    table = rows(folder)[1:]
    assert [line["iteration"] for line in lines] == list(range(1, 13)) and lines[0]["run"] == str(folder)
    for line, row in zip(lines, table):
        assert {name: line[name] for name in row} == {name: float(value) if value else None for name, value in row.items()}
        assert 0 < line["seconds"]["simulation"] < line["seconds"]["total"]
    done = tce("train", tiny, "--out", tmp_path / "out", "--log-json", "-", "run.iterations=2")
    assert [json.loads(line)["iteration"] for line in done.stdout.splitlines()] == [1, 2]
    done = tce("train", tiny, "--out", tmp_path / "none", "--log-json", tmp_path / "missing" / "log", "run.iterations=2")
    assert done.returncode == 1 and "missing/log" in done.stderr and not (tmp_path / "none").exists()
    done = tce("train", tiny, "--out", tmp_path / "full", "--log-json", "/dev/full", "run.iterations=2")
    assert done.returncode == 0 and done.stderr.count("--log-json ends here") == 1 and len(rows(tmp_path / "full")) == 3


# ---- the best policy -------------------------------------------------------------------------------


def test_the_best_policy_is_the_one_of_the_best_evaluation(tiny: Path, tmp_path: Path) -> None:
    """It is the policy that a run has which ends there, and its evaluation is the best of progress.csv."""
    wild = [tiny, "evaluate.every=1", "run.iterations=8", "policy.learning_rate=0.05", "projection.entropy=none"]
    assert tce("train", *wild, "--out", tmp_path / "run").returncode == 0
    table = [row for row in rows(tmp_path / "run") if row["eval_return"]]
    best = max(table, key=lambda row: (float(row["eval_success"]), float(row["eval_return"])))
    assert 0 < int(best["iteration"]) < 8, "choose settings under which the middle is best"
    assert tce("train", *wild, f"run.iterations={best['iteration']}", "--out", tmp_path / "part").returncode == 0
    kept = (tmp_path / "run" / "policy-best.safetensors").read_bytes()
    assert kept == (tmp_path / "part" / "policy.safetensors").read_bytes() != (tmp_path / "run" / "policy.safetensors").read_bytes()

    # whoever reads a policy takes it by its path
    said = [tce("eval", path, "--episodes", 8).stdout for path in
            (tmp_path / "run" / "policy-best.safetensors", tmp_path / "part", tmp_path / "run")]
    assert said[0] == said[1] != said[2]


def test_the_best_policy_survives_a_stop_after_it(tiny: Path, tmp_path: Path) -> None:
    wild = [tiny, "evaluate.every=1", "policy.learning_rate=0.05", "projection.entropy=none", "run.checkpoint_every=100",
            "schedule.entropy_iterations=8"]
    assert tce("train", *wild, "run.iterations=8", "--out", tmp_path / "whole").returncode == 0
    for stop in (2, 7):
        folder = tmp_path / f"run{stop}"
        assert tce("train", *wild, f"run.iterations={stop}", "--out", folder).returncode == 0
        (folder / "policy-best.safetensors").unlink()
        assert tce("train", "--resume", folder, "run.iterations=8").returncode == 0
        assert content(folder) == content(tmp_path / "whole")
    # a checkpoint of before there was one
    edit_checkpoint(checkpoints(folder)[-1], without="run.best_iteration")
    assert tce("train", "--resume", folder, "run.iterations=9").returncode == 0
    assert (folder / "policy-best.safetensors").read_bytes() == (folder / "policy.safetensors").read_bytes()


def test_many_metrics_with_long_names_are_columns_and_the_steps_are_counted(tiny: Path, tmp_path: Path, faulty: Path) -> None:
    folder = tmp_path / "run"
    done = tce("train", tiny, f"task.library={faulty}", "task.name=many_metrics", "run.iterations=4", "--out", folder)
    assert done.returncode == 0, done.stderr
    table = rows(folder)
    assert [int(row["env_steps"]) for row in table] == [0, 80, 160, 240, 320]
    names = [f"{'m' * 88}{i:02d}" for i in range(80)]
    assert [float(table[-1][name]) for name in names] == [float(i) for i in range(80)]
    assert [float(table[0]["eval_" + name]) for name in names] == [float(i) for i in range(80)]
    assert table[-1]["critic_loss"] and table[-1]["entropy"] and table[-1]["dropped"] == "0"


def test_no_metric_of_a_task_takes_the_place_of_a_column_of_the_run(tiny: Path, whole: Path, tmp_path: Path, faulty: Path) -> None:
    arguments = [tiny, f"task.library={faulty}", "task.name=named", "run.iterations=1", "--out", tmp_path / "run"]
    own = [name for name in rows(whole)[0] if name not in ("success", "via_distance", "goal_distance")]
    assert {"iteration", "env_steps", "return", "length", "dropped", "critic_loss", "entropy", "eval_return"} <= set(own)
    for name in own:
        done = tce("train", *arguments, f"task.options=metric={name}")
        assert done.returncode == 1 and f'"{name}" is a name that the program reserves' in done.stderr, (name, done.stderr)
        assert "rename the metric in the task" in done.stderr and not (tmp_path / "run").exists()
    done = tce("train", *arguments, "task.options=metric=returned")
    assert done.returncode == 0 and rows(tmp_path / "run")[1]["returned"], done.stderr


def test_steps_end_a_run(tiny: Path, tmp_path: Path) -> None:
    assert tce("train", tiny, "--steps", 1000, "--out", tmp_path / "run").returncode == 0
    table = rows(tmp_path / "run")
    assert int(table[-1]["env_steps"]) == 1200 and table[-1]["eval_success"]


def test_success_ends_a_run_and_it_stays_ended(tiny: Path, tmp_path: Path) -> None:
    easy = ["task.options=tolerance=10", "run.stop_success=0.9"]
    assert tce("train", tiny, *easy, "--out", tmp_path / "run").returncode == 0
    before = content(tmp_path / "run")
    assert len(rows(tmp_path / "run")) == 5
    assert tce("train", "--resume", tmp_path / "run").returncode == 0
    assert content(tmp_path / "run") == before
    assert tce("train", "--resume", tmp_path / "run", "run.stop_success=0").returncode == 0
    assert len(rows(tmp_path / "run")) == 13


# ---- stopping and continuing -----------------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_saves_and_the_run_goes_on_to_the_same_bytes(tiny: Path, tmp_path: Path, number: int) -> None:
    long = [tiny, "run.iterations=400", "run.checkpoint_every=100"]
    assert tce("train", *long, "--out", tmp_path / "whole").returncode == 0
    folder = tmp_path / "run"
    process = begin("train", *long, "--out", folder)
    wait_until(lambda: (folder / "progress.csv").exists() and (folder / "progress.csv").stat().st_size > 2000)
    process.send_signal(number)
    _, said = process.communicate(timeout=30)
    assert process.returncode == 130
    assert f"tce train --resume {folder}" in said
    last = int(checkpoints(folder)[-1].name[5:13])
    assert len(rows(folder)) == last + 1 and last < 400
    assert tce("train", "--resume", folder).returncode == 0
    assert content(folder) == content(tmp_path / "whole")


def test_a_second_signal_ends_at_once(tiny: Path, tmp_path: Path) -> None:
    # an iteration of this takes minutes
    process = begin("train", tiny, "critic.epochs=1000000", "--out", tmp_path / "run")
    wait_until(lambda: (tmp_path / "run" / "events.out.tfevents.tce").exists())
    time.sleep(0.2)
    # what comes in the same moment is passed on by a batch system or a parent, and counts once
    for _ in range(2):
        process.send_signal(signal.SIGINT)
        time.sleep(0.1)
    time.sleep(0.6)
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=5)
    assert process.returncode == 130


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_before_training_ends_the_program_at_once(tmp_path: Path, number: int) -> None:
    # its settings never come
    process = subprocess.Popen([str(PROGRAM), "train", "/dev/stdin"], stdin=subprocess.PIPE, preexec_fn=listen, env=environment(), cwd=tmp_path)
    # in Linux the mask of signals that it catches; it is waiting soon after
    status = Path(f"/proc/{process.pid}/status")
    wait_until(lambda: int(next(line for line in status.read_text(encoding="ascii").splitlines() if line.startswith("SigCgt")).split()[1], 16)
               >> (number - 1) & 1)
    time.sleep(0.1)
    process.send_signal(number)
    try:
        assert process.wait(timeout=10 * PATIENCE) == 130
    finally:
        process.kill()
        process.communicate()
    assert not list(tmp_path.iterdir())


def test_kills_lose_nothing(tiny: Path, tmp_path: Path) -> None:
    n_kills = 100 if LONG else 20
    # long enough that several kills fall into a run on a fast machine
    arguments = [tiny, "run.iterations=240", "run.checkpoint_every=1", "--quiet"]
    assert tce("train", *arguments, "--out", tmp_path / "whole").returncode == 0
    want = content(tmp_path / "whole")
    draw = random.Random(4)
    n_killed, n_runs = 0, 0
    while n_killed < n_kills:
        n_runs += 1
        folder = tmp_path / f"run{n_runs}"
        while True:
            process = begin("train", *arguments, "--resume", folder)
            if n_killed < n_kills:
                time.sleep(draw.uniform(0.0, 0.12))
                n_killed += process.poll() is None
                process.kill()
            _, said = process.communicate(timeout=60)
            if process.returncode == 0:
                break
            assert process.returncode == -signal.SIGKILL, said
        assert content(folder) == want
        assert len((folder / "timing.csv").read_text(encoding="utf-8").splitlines()) == 241
        assert not list(folder.rglob("*.tmp"))
    assert n_runs < 60


@pytest.mark.parametrize("damage", ["cut", "flip", "empty", "unsigned"])
def test_a_damaged_checkpoint_is_set_aside(whole: Path, tmp_path: Path, damage: str) -> None:
    folder = tmp_path / "run"
    shutil.copytree(whole, folder)
    newest = checkpoints(folder)[-1]
    data = bytearray(newest.read_bytes())
    if damage == "flip":
        data[len(data) * 3 // 4] ^= 1
    newest.write_bytes({"cut": data[: len(data) // 2], "flip": data, "empty": b"", "unsigned": data}[damage])
    if damage == "unsigned":
        remove_checksum(newest)
    done = tce("train", "--resume", folder)
    assert done.returncode == 0, done.stderr
    assert "damaged checkpoint" in done.stderr and newest.name in done.stderr
    assert "after iteration 9" in done.stdout
    assert content(folder) == content(whole)
    assert newest.with_name(newest.name + ".damaged").exists()


@pytest.mark.parametrize("change", [
    {"without": "policy.mean.layers.0.weight"}, {"without": "critic.count"}, {"without": "trainer.initial_entropy"}, {"without": "run.env_steps"},
    {"run_env_steps": 2**63 - 1}, {"run_iteration": -2**63}, {"run_iteration": 11}, {"run_progress_bytes": -1}, {"run_events_bytes": -2**63},
    {"run_events_bytes": 3}, {"run_progress_bytes": 3}, {"run_eval_success": float("inf")},
    {"trainer_initial_entropy": float("inf")}, {"trainer_initial_entropy": -1e308},
    {"arrays": {"policy.mean.layers.0.weight": lambda weights: weights * float("nan")}},
    {"arrays": {"policy.mean.layers.0.weight": lambda weights: weights[:-1]}},
    {"arrays": {"run.env_steps": lambda steps: steps.astype(float)}},
    {"texts": {"run.columns": "a,b"}}, {"texts": {"run.columns": "return"}}, {"texts": {"run.columns": "return\nreturn"}}])
def test_a_checkpoint_that_no_run_could_have_written_is_set_aside(whole: Path, tmp_path: Path, change: Dict[str, Any]) -> None:
    folder = tmp_path / "run"
    shutil.copytree(whole, folder)
    edit_checkpoint(checkpoints(folder)[-1], **change)
    done = tce("train", "--resume", folder)
    assert done.returncode == 0, done.stderr
    assert "damaged checkpoint" in done.stderr and "after iteration 9" in done.stdout
    assert content(folder) == content(whole)


@pytest.mark.parametrize("change, words", [
    ({"arrays": {"policy.mean.layers.0.weight": lambda weights: weights[:-1]}}, "policy.mean.layers.0.weight"),
    ({"texts": {"run.columns": "a,b"}}, "a,b")])
def test_checkpoints_of_which_none_fits_are_refused_and_left_as_they_are(whole: Path, tmp_path: Path, change: Dict[str, Any],
                                                                         words: str) -> None:
    folder = tmp_path / "run"
    shutil.copytree(whole, folder)
    for path in checkpoints(folder):
        edit_checkpoint(path, **change)
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    done = tce("train", "--resume", folder, "run.iterations=13")
    assert done.returncode == 1 and words in done.stderr and "--restart" in done.stderr
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def test_a_progress_file_with_other_columns_is_not_appended_to(whole: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(whole, folder)
    progress = folder / "progress.csv"
    progress.write_text(progress.read_text(encoding="utf-8").replace("env_steps,", "env_steps,mine,", 1), encoding="utf-8")
    before = progress.read_bytes()
    done = tce("train", "--resume", folder, "run.iterations=13")
    assert done.returncode == 1 and "progress.csv" in done.stderr and "mine," in done.stderr
    assert progress.read_bytes() == before


@pytest.mark.parametrize("loss", ["damaged", "checkpoints", "checkpoints and policy"])
def test_a_trained_run_without_a_checkpoint_that_loads_is_not_overwritten(whole: Path, tmp_path: Path, loss: str) -> None:
    folder = tmp_path / "run"
    shutil.copytree(whole, folder)
    for path in checkpoints(folder):
        if loss == "damaged":
            path.write_bytes(b"x")
        else:
            path.unlink()
    if "policy" in loss:
        (folder / "policy.safetensors").unlink()
    names = [name for name in ("progress.csv", "timing.csv", "config.yaml", "policy.safetensors") if (folder / name).exists()]
    before = {name: (folder / name).read_bytes() for name in names}
    for arguments in (["--resume", folder], ["--resume", folder, "run.iterations=2"]):
        done = tce("train", *arguments)
        assert done.returncode == 1 and "--restart" in done.stderr and str(folder) in done.stderr
        assert {name: (folder / name).read_bytes() for name in names} == before
    assert tce("train", folder / "config.yaml", "--out", folder).returncode == 1

    # the way out keeps everything
    done = tce("train", "--resume", folder, "--restart")
    assert done.returncode == 0, done.stderr
    aside = folder / "before-restart-1"
    assert str(aside) in done.stdout
    assert {name: (aside / name).read_bytes() for name in names} == before
    assert bool(list(aside.glob("checkpoints/*.damaged"))) == (loss == "damaged")
    assert content(folder) == content(whole)


def test_restart_begins_again_with_other_settings_and_keeps_what_was_there(whole: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(whole, folder)
    before = content(folder)
    assert tce("train", "--resume", folder, "--restart", "policy.hidden=[4]", "run.iterations=2").returncode == 0
    assert content(folder / "before-restart-1") == before
    assert len(rows(folder)) == 3 and "hidden: [4]" in (folder / "config.yaml").read_text(encoding="utf-8")
    assert tce("train", "--resume", folder / "before-restart-1").returncode == 0
    assert tce("train", "--resume", folder, "--restart", "run.iterations=1").returncode == 0
    assert len(rows(folder / "before-restart-2")) == 3 and len(rows(folder)) == 2
    assert not (folder / "before-restart-2" / "before-restart-1").exists()


def test_a_run_that_never_had_a_checkpoint_begins_again(tiny: Path, whole: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    process = begin("train", tiny, "run.checkpoint_every=1000000", "run.iterations=1000000", "schedule.entropy_iterations=12", "--out", folder)
    wait_until(lambda: (folder / "progress.csv").exists() and (folder / "progress.csv").stat().st_size > 2000)
    process.kill()
    process.communicate()
    assert not checkpoints(folder)
    # with rows it is not overwritten by accident, and there is nothing to continue from
    done = tce("train", tiny, "--out", folder)
    assert done.returncode == 1 and "--resume" in done.stderr
    done = tce("train", "--resume", folder, "run.iterations=12", "run.checkpoint_every=3")
    assert done.returncode == 0 and "from the beginning" in done.stdout, done.stderr
    assert content(folder) == content(whole)


def test_a_run_that_fails_in_its_first_iteration_leaves_its_folder_to_the_next(tiny: Path, tmp_path: Path, faulty: Path) -> None:
    folder = tmp_path / "run"
    for options, code in (("from=0", 1), ("from=0", 1), ("from=1000", 0)):
        done = tce("train", tiny, f"task.library={faulty}", "task.name=fails", f"task.options={options}", "--out", folder)
        assert done.returncode == code and "already" not in done.stderr, done.stderr
    assert len(rows(folder)) == 13


def test_a_run_removes_no_files_but_its_own_unfinished_ones(tiny: Path, tmp_path: Path) -> None:
    own = [".tce-1234-0.tmp", "checkpoints/.tce-99-7.tmp"]
    others = [".tce-notes.txt", ".tce-history", ".tce-12-3.tmp.bak", ".tce--1.tmp", ".tce-1-.tmp", "checkpoints/.tce-12.tmp"]
    (tmp_path / "run" / "checkpoints").mkdir(parents=True)
    for name in own + others:
        (tmp_path / "run" / name).touch()
    assert tce("train", tiny, "run.iterations=1", "--out", tmp_path / "run").returncode == 0
    assert not any((tmp_path / "run" / name).exists() for name in own)
    assert all((tmp_path / "run" / name).exists() for name in others)


def test_an_own_settings_file_is_not_taken_for_a_run(tiny: Path, tmp_path: Path) -> None:
    own = tmp_path / "config.yaml"
    shutil.copy(tiny, own)
    done = tce("train", own, "--out", tmp_path)
    assert done.returncode == 1 and own.read_bytes() == tiny.read_bytes()


@pytest.mark.parametrize("text", ["", "# libtce\n", "run: {iterations: 12}\n"])
def test_settings_that_no_run_wrote_are_refused(whole: Path, tmp_path: Path, text: str) -> None:
    folder = tmp_path / "run"
    shutil.copytree(whole, folder)
    before = content(folder)
    (folder / "config.yaml").write_text(text, encoding="utf-8")
    done = tce("train", "--resume", folder)
    assert done.returncode == 1 and "config.yaml" in done.stderr and "task.name" in done.stderr
    assert content(folder) == before


def test_a_checkpoint_of_other_settings_is_refused(whole: Path, tiny: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(whole, folder)
    before = content(folder)
    for arguments in (["policy.hidden=[16]"], [str(tiny), "policy.hidden=[16]"]):
        done = tce("train", *arguments, "--resume", folder)
        assert done.returncode == 1
        assert "wrong checkpoint" in done.stderr and "policy.hidden = [8], but now it is [16]" in done.stderr

    # the folder's own settings changed behind the checkpoint's back
    text = (folder / "config.yaml").read_text(encoding="utf-8")
    (folder / "config.yaml").write_text(text.replace("gamma: 1 ", "gamma: 0.9 "), encoding="utf-8")
    done = tce("train", "--resume", folder)
    assert done.returncode == 1
    assert "ckpt-00000012" in done.stderr and "objective.gamma = 1, but now it is 0.9" in done.stderr
    assert content(folder) == before


def test_a_checkpoint_from_the_future_is_refused(whole: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(whole, folder)
    edit_checkpoint(checkpoints(folder)[-1], texts={"run.format": "9"})
    done = tce("train", "--resume", folder)
    assert done.returncode == 1
    assert "format 9" in done.stderr and "newer" in done.stderr


def test_the_entropy_schedule_has_the_length_that_it_began_with(tiny: Path, tmp_path: Path) -> None:
    words = [tiny, "projection.entropy=equal", "projection.entropy_schedule=linear", "projection.entropy_target=-5"]
    whole, raised = tmp_path / "whole", tmp_path / "raised"
    assert tce("train", *words, "--out", whole).returncode == 0
    assert tce("train", *words, "run.steps=2000", "--out", raised).returncode == 0
    assert len(rows(raised)) == 6
    assert tce("train", "--resume", raised, "run.steps=0", "run.iterations=20").returncode == 0
    assert [row["entropy"] for row in rows(raised)[:13]] == [row["entropy"] for row in rows(whole)]
    text = (raised / "config.yaml").read_text(encoding="utf-8")
    assert "  entropy_iterations: 0 " in text and "\n# entropy schedule: 12 iterations, as the run began\n" in text
    done = tce("train", "--resume", raised, "schedule.entropy_iterations=20")
    assert done.returncode == 1 and "schedule.entropy_iterations = 12, but now it is 20" in done.stderr
    # a CONFIG says nothing about it, or the same
    for extra in ([], ["schedule.entropy_iterations=12"]):
        assert tce("train", *words, *extra, "run.iterations=20", "--resume", raised).returncode == 0


def test_a_new_run_from_recorded_settings_has_an_entropy_schedule_of_its_own(tiny: Path, tmp_path: Path) -> None:
    words = ["projection.entropy=equal", "projection.entropy_schedule=linear", "projection.entropy_target=-5"]
    fresh, short = tmp_path / "fresh", tmp_path / "short"
    assert tce("train", tiny, *words, "run.iterations=12", "--out", fresh).returncode == 0
    assert tce("train", tiny, *words, "run.iterations=4", "--out", short).returncode == 0
    assert tce("train", short / "config.yaml", "run.iterations=12", "--out", tmp_path / "new").returncode == 0
    assert content(tmp_path / "new") == content(fresh)
    assert tce("train", "--resume", short, "--restart", "run.iterations=12").returncode == 0
    assert content(short) == content(fresh)
    # a length that someone has set stays set
    assert tce("train", tiny, *words, "schedule.entropy_iterations=12", "run.iterations=2", "--out", tmp_path / "set").returncode == 0
    assert tce("train", tmp_path / "set" / "config.yaml", "run.iterations=12", "--out", tmp_path / "again").returncode == 0
    assert content(tmp_path / "again")["policy.safetensors"] == content(fresh)["policy.safetensors"]
    done = tce("train", "--resume", tmp_path / "set", "--restart", "run.iterations=12", "schedule.entropy_iterations=4")
    assert done.returncode == 0
    assert content(tmp_path / "set")["policy.safetensors"] != content(fresh)["policy.safetensors"]


def test_resuming_needs_a_run_folder(tmp_path: Path) -> None:
    done = tce("train", "--resume", tmp_path / "nothing")
    assert done.returncode == 1 and "config.yaml" in done.stderr
    assert not (tmp_path / "nothing").exists()


# ---- failures ------------------------------------------------------------------------------------


def test_an_existing_run_is_not_overwritten(whole: Path, tiny: Path) -> None:
    before = content(whole)
    done = tce("train", tiny, "--out", whole)
    assert done.returncode == 1 and f"--resume {whole}" in done.stderr
    assert content(whole) == before


def test_two_processes_cannot_share_a_folder(tiny: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    first = begin("train", tiny, "run.iterations=1000000", "--out", folder)
    wait_until(lambda: bool(list(folder.glob("checkpoints/ckpt-*"))))
    for arguments in ([tiny, "--out", folder], ["--resume", folder]):
        second = tce("train", *arguments)
        assert second.returncode == 1
        assert f"process {first.pid}" in second.stderr
    assert first.poll() is None
    first.kill()
    first.communicate()
    # the kernel has taken the lock away with the process
    assert tce("train", "--resume", folder, "run.iterations=1").returncode == 0


@pytest.mark.parametrize("task", ["gives_nan", "fails"])
def test_a_failing_environment_ends_the_run_and_loses_nothing(tiny: Path, tmp_path: Path, faulty: Path, task: str) -> None:
    folder = tmp_path / "run"
    # two rounds an iteration: episode 16 belongs to iteration 8
    wrong = [f"task.library={faulty}", f"task.name={task}", "task.options=from=16"]
    done = tce("train", tiny, *wrong, "--out", folder)
    assert done.returncode == 1
    assert "environment 0" in done.stderr and "on_fault=drop" in done.stderr and f"--resume {folder}" in done.stderr
    assert checkpoints(folder)[-1].name == "ckpt-00000006.safetensors"

    done = tce("train", "--resume", folder, "--task-library", faulty, "collect.on_fault=drop")
    assert done.returncode == 0, done.stderr
    assert [int(row["dropped"]) for row in rows(folder)[1:]] == [0] * 7 + [2] * 5


def test_the_proposed_command_can_be_pasted(tiny: Path, tmp_path: Path, faulty: Path) -> None:
    folder = tmp_path / "it's a $run"
    done = tce("train", tiny, f"task.library={faulty}", "task.name=fails", "task.options=from=16", "--out", folder)
    assert done.returncode == 1
    command = done.stderr.split("continue with:  ")[1].strip()
    assert shlex.split(command)[:4] == ["tce", "train", "--resume", str(folder)]


def test_a_missing_task_library_leaves_no_folder(tiny: Path, tmp_path: Path) -> None:
    done = tce("train", tiny, "task.library=/nowhere/tasks.so", "--out", tmp_path / "run")
    assert done.returncode == 1 and "/nowhere/tasks.so" in done.stderr
    done = tce("train", tiny, "task.name=point_vai", "--out", tmp_path / "run")
    assert done.returncode == 1 and "point_vai" in done.stderr
    done = tce("train", tiny, "mp.weights_scale=[1,2,3]", "--out", tmp_path / "run")
    assert done.returncode == 1 and "weights_scale" in done.stderr
    assert not (tmp_path / "run").exists()


def test_files_that_may_not_grow_stop_the_run_and_lose_nothing(tiny: Path, whole: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    limit = (whole / "progress.csv").stat().st_size * 3 // 4
    assert limit > checkpoints(whole)[-1].stat().st_size // 6

    def small() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    # checkpoints are larger than that: nothing can be saved, and the program says so
    done = tce("train", tiny, "--out", folder, preexec_fn=small)
    assert done.returncode == 1
    assert "cannot write" in done.stderr or "File too large" in done.stderr
    assert str(folder) in done.stderr
    done = tce("train", tiny, "--resume", folder)
    assert done.returncode == 0, done.stderr
    assert content(folder) == content(whole)


@pytest.mark.parametrize("arguments", [["collect.episodes=1000000", "critic.hidden=[4096]"], ["evaluate.episodes=1000000"],
                                       [*BBRL, "collect.episodes=1000000", "policy.hidden=[65536]"]])
def test_a_run_that_does_not_fit_into_memory_is_refused_before_it_takes_any(shared: Path, tmp_path: Path, arguments: List[str]) -> None:
    limit = 5 * 10**9

    def small() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))

    process = subprocess.Popen([str(PROGRAM), "train", str(shared), *arguments, "--out", str(tmp_path / "run")], stderr=subprocess.PIPE,
                               stdout=subprocess.DEVNULL, preexec_fn=small, env=environment(), text=True)
    said = process.stderr.read()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 1
    need, available = map(float, re.findall(r"([0-9.]+) GB", said))
    assert need > available and available < limit / 1e9
    assert "collect.episodes = " in said and "evaluate.episodes = " in said
    # what the kernel counts begins with a copy of this process
    assert used.ru_maxrss < 300_000 + resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("arguments", [["mp.dt=2e-8"], ["mp.dt=1e-7", "mp.table_length=20"]])
def test_a_table_that_does_not_fit_into_memory_is_refused_by_its_settings(tiny: Path, tmp_path: Path, arguments: List[str]) -> None:
    words = shlex.join([str(PROGRAM), "train", str(tiny), *arguments, "--out", str(tmp_path / "run")])
    done = subprocess.run(["sh", "-c", f"ulimit -v 4000000; exec {words}"], capture_output=True, text=True, env=environment(), timeout=60)
    assert done.returncode == 1 and "the table of the movement primitive" in done.stderr, done.stderr
    assert f"raise {arguments[0].replace('=', ' = ').replace('e-8', 'e-08').replace('e-7', 'e-07')}" in done.stderr
    assert "or lower mp.table_length = " in done.stderr and not (tmp_path / "run").exists()


@pytest.mark.parametrize("method", [[], BBRL], ids=["tce", "bbrl"])
def test_more_minibatches_than_rows_are_refused_at_the_start(shared: Path, tmp_path: Path, method: List[str]) -> None:
    done = tce("train", shared, *method, "critic.minibatches=100000", "--out", tmp_path / "run")
    assert done.returncode == 1 and not (tmp_path / "run").exists()
    assert f"critic.minibatches = 100000, but the critic gets only {8 if method else 400} rows per iteration" in done.stderr, done.stderr


@pytest.mark.parametrize("setting", ["policy.learning_rate=1e300", "critic.learning_rate=1e300", "policy.initial_std=1e300"])
def test_training_that_diverges_says_so_and_what_to_lower(tiny: Path, tmp_path: Path, setting: str) -> None:
    done = tce("train", tiny, setting, "--out", tmp_path / "run")
    assert done.returncode == 1, done.stdout
    assert re.search(r"training diverged in iteration \d+: .*; lower .*" + re.escape(setting.split("=")[0]), done.stderr), done.stderr


def test_what_to_lower_are_settings_of_the_method(tmp_path: Path) -> None:
    words = ["run.method=sac", "task.name=reacher5", "collect.learning_starts=100", "policy.hidden=[8]", "critic.hidden=[8]",
             "update.batch_size=16", "update.replay_size=1000", "run.iterations=2", "evaluate.episodes=2"]
    done = tce("train", *words, "critic.learning_rate=1e300", "--out", tmp_path / "run")
    assert done.returncode == 1, done.stdout
    assert done.stderr.rstrip().endswith("; lower policy.learning_rate or critic.learning_rate"), done.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")
def test_a_full_disk_stops_the_run_and_loses_nothing(tiny: Path, tmp_path: Path) -> None:
    long = [tiny, "run.iterations=120"]
    assert tce("train", *long, "--out", tmp_path / "whole").returncode == 0
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=128k", "tmpfs", str(disk)], capture_output=True).returncode != 0:
        pytest.skip("no mount here")
    try:
        done = tce("train", *long, "--out", disk / "run")
        assert done.returncode == 1
        assert "No space left" in done.stderr and "free some space" in done.stderr
        assert f"--resume {disk / 'run'}" in done.stderr
        assert subprocess.run(["mount", "-o", "remount,size=64m", str(disk)]).returncode == 0
        done = tce("train", "--resume", disk / "run")
        assert done.returncode == 0, done.stderr
        assert "continues after iteration" in done.stdout
        assert content(disk / "run") == content(tmp_path / "whole")
    finally:
        subprocess.run(["umount", str(disk)], check=True)


@pytest.mark.parametrize("closed", [[0], [1], [0, 1, 2]])
def test_a_run_without_standard_descriptors_keeps_its_files_clean(tiny: Path, whole: Path, tmp_path: Path, closed: List[int]) -> None:
    folder = tmp_path / "run"
    words = " ".join(["<&-", ">&-", "2>&-"][i] for i in closed)
    done = subprocess.run(["sh", "-c", f'exec "$@" {words}', "sh", str(PROGRAM), "train", str(tiny), "--out", str(folder)],
                          env=environment(), timeout=60, stdout=subprocess.DEVNULL)
    assert done.returncode == 0
    assert content(folder) == content(whole)
    assert (folder / "lock").read_bytes() == b"" and len((folder / "timing.csv").read_text(encoding="utf-8").splitlines()) == 13


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")
def test_a_run_whose_output_does_not_arrive_says_so_and_is_complete(tiny: Path, whole: Path, tmp_path: Path) -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run([str(PROGRAM), "train", str(tiny), "--out", str(tmp_path / "run")], stdout=full, stderr=subprocess.PIPE,
                              text=True, timeout=60, env=environment())
    assert done.returncode == 1 and "standard output" in done.stderr
    assert content(tmp_path / "run") == content(whole)


@pytest.mark.parametrize("name", ["progress.csv", "timing.csv", "events.out.tfevents.tce", "lock", ".config.yaml.tmp", "config.yaml",
                                  "policy.safetensors", "checkpoints", "checkpoints/ckpt-00000003.safetensors", "curve.csv", "curve.png"])
def test_a_run_does_not_write_through_symbolic_links(tiny: Path, tmp_path: Path, name: str) -> None:
    folder, outside = tmp_path / "run", tmp_path / "outside"
    (folder / name).parent.mkdir(parents=True)
    if name == "checkpoints":
        outside.mkdir()
    else:
        outside.write_text("iteration,env_steps\n", encoding="utf-8")
    (folder / name).symlink_to(outside)
    done = tce("train", tiny, "--resume", folder)
    if done.returncode != 0:
        assert str(folder) in done.stderr and any(word in done.stderr for word in ("symbolic link", "has been trained", "config.yaml"))
    assert list(outside.iterdir()) == [] if name == "checkpoints" else outside.read_text(encoding="utf-8") == "iteration,env_steps\n"


@pytest.mark.parametrize("name", ["progress.csv", "timing.csv", "events.out.tfevents.tce", "lock", "config.yaml", ".config.yaml.tmp",
                                  "policy.safetensors", "checkpoints/ckpt-00000012.safetensors"])
def test_a_pipe_in_a_run_folder_is_not_waited_for(whole: Path, tmp_path: Path, name: str) -> None:
    folder = tmp_path / "run"
    shutil.copytree(whole, folder)
    (folder / name).unlink(missing_ok=True)
    os.mkfifo(folder / name)
    done = tce("train", "--resume", folder, "run.iterations=13")
    if name == ".config.yaml.tmp":
        assert done.returncode == 0, done.stderr
    else:
        assert done.returncode == 1 and "not a regular file" in done.stderr and Path(name).name in done.stderr


def test_a_folder_that_cannot_be_made_is_named(tiny: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    done = tce("train", tiny, "--out", tmp_path / "file" / "run")
    assert done.returncode == 1
    assert str(tmp_path / "file") in done.stderr and "--out" in done.stderr


@pytest.mark.skipif(os.geteuid() == 0 and not shutil.which("setpriv"), reason="root may write anywhere")
def test_no_permission_is_named_with_its_remedy(tiny: Path, tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o555)
    words = [str(PROGRAM), "train", str(tiny), "--out", str(closed / "run")]
    if os.geteuid() == 0:
        # root without the right to overrule file permissions
        words = ["setpriv", "--bounding-set=-dac_override,-dac_read_search", "--inh-caps=-all", *words]
    done = subprocess.run(words, capture_output=True, text=True, env=environment(), timeout=60)
    assert done.returncode == 1
    assert str(closed) in done.stderr and "Permission denied" in done.stderr and "--out" in done.stderr


@pytest.mark.parametrize("arguments", [
    [], ["--jobs", "2"], ["--resume", "a", "--out", "b"], ["--restart"], ["--nonsense"]])
def test_wrong_usage(tiny: Path, arguments: List[str]) -> None:
    done = tce("train", *([tiny] if arguments else []), *arguments)
    assert done.returncode == 2
    assert "--help" in done.stderr


# ---- display -------------------------------------------------------------------------------------


@pytest.mark.parametrize("settings, words", [
    (["mp.tau=4"], ["mp.tau = 4 s is longer", "point_via lasts 1 s (50 steps of 0.02 s)", "set mp.tau=1,"]),
    (["mp.tau=0.8", "mp.delay=0.4"], ["mp.tau = 0.8 s after mp.delay is longer", "set mp.tau=0.6,"]),
    (["mp.tau=0.1"], ["mp.tau = 0.1 s with mp.table_length = 5 is too short", "lasts 1 s", "set mp.tau=1, or mp.table_length=10"]),
    (["mp.delay=1"], ["mp.delay = 1 s", "lasts 1 s", "set mp.delay=0"]),
    # no table may be so long
    (["mp.tau=0.0005"], ["mp.tau = 0.0005 s with mp.table_length = 5 is too short", "; set mp.tau=1\n"]),
    (["mp.tau=1e-300"], ["mp.tau = 1e-300 s", "; set mp.tau=1\n"]),
])
def test_a_movement_that_does_not_fit_the_episode_is_refused(tiny: Path, tmp_path: Path, settings: List[str], words: List[str]) -> None:
    done = tce("train", tiny, "--out", tmp_path / "run", *settings)
    assert done.returncode == 1
    assert all(word in done.stderr for word in words), done.stderr


@pytest.mark.parametrize("settings", [
    ["mp.tau=0.5"], ["mp.tau=1.02"], ["mp.tau=0.2"], ["mp.tau=0.1", "mp.table_length=10"], ["mp.tau=0.1", "mp.basis=exact"],
    ["mp.kind=promp", "mp.tau=3", "mp.phase=rhythmic"],
])
def test_a_movement_that_fits_the_episode_is_trained(tiny: Path, tmp_path: Path, settings: List[str]) -> None:
    done = tce("train", tiny, "--out", tmp_path / "run", "run.iterations=1", *settings)
    assert done.returncode == 0, done.stderr


def test_plain_lines_without_a_terminal_and_none_when_quiet(tiny: Path, tmp_path: Path) -> None:
    done = tce("train", tiny, "--out", tmp_path / "a")
    assert "\r" not in done.stdout and "\033" not in done.stdout
    lines = [line for line in done.stdout.splitlines() if line.startswith(("4/12", "8/12", "12/12"))]
    assert len(lines) == 3
    for word in ("ETA", "steps", "/s", "return", "success", "entropy", "KL", "sim", "critic", "policy"):
        assert word in lines[0]
    assert tce("train", tiny, "--quiet", "--out", tmp_path / "b").stdout == ""


@pytest.mark.parametrize("no_colour", ["", "1"])
def test_one_line_that_updates_on_a_terminal(tiny: Path, tmp_path: Path, no_colour: str) -> None:
    shown = on_a_terminal("train", tiny, "--out", tmp_path / "run", NO_COLOR=no_colour)
    assert "\r" in shown and "12/12" in shown and "\033[K" in shown
    assert ("\033[0;1m" in shown) == (no_colour == "")


# ---- learning ------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["tce", "bbrl"])
def test_success_rises_on_the_tiny_task(tmp_path: Path, method: str) -> None:
    config = tmp_path / "learn.yaml"
    config.write_text(without_objective(LEARN) if method == "bbrl" else LEARN, encoding="utf-8")
    done = tce("train", config, *(BBRL if method == "bbrl" else []), "--seed", 1, "--out", tmp_path / "run")
    assert done.returncode == 0, done.stderr
    table = rows(tmp_path / "run")
    assert float(table[0]["eval_success"]) < 0.2
    assert float(table[-1]["eval_success"]) > 0.6
