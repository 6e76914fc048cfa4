"""`tce plot` as a program: grouping, alignment, pictures, smoothness, messages."""

from __future__ import annotations

import csv
import os
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any, Dict, List, Optional, Sequence

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(os.environ.get("TCE_PROGRAM", ROOT / "build" / "bin" / "tce"))

TINY = """
run: {method: tce, iterations: 3, threads: 1}
task: {name: point_via}
collect: {episodes: 4, environments: 4}
evaluate: {every: 1, episodes: 4}
mp: {num_basis: 3, tau: 1.0}
policy: {hidden: [8], epochs: 2}
critic: {hidden: [8], epochs: 2}
objective: {time_points: 5}
"""


def tce(*arguments: Any, python: Optional[str] = None) -> "subprocess.CompletedProcess[str]":
    env = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "TCE_PYTHON": python or sys.executable,
           "PYTHONPATH": str(ROOT / "bindings" / "python")}
    return subprocess.run([str(PROGRAM), *map(str, arguments)], capture_output=True, text=True, env=env, timeout=120)


def table(path: Path) -> List[Dict[str, str]]:
    with open(path, newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def write_run(folder: Path, points: Sequence[Any], seed: int = 1, method: str = "tce", task: str = "one",
              more: str = "") -> Path:
    folder.mkdir(parents=True)
    (folder / "config.yaml").write_text(f"run: {{method: {method}, seed: {seed}}}\ntask: {{name: {task}}}\n{more}")
    lines = ["iteration,env_steps,return,success,eval_return,eval_success"]
    lines += [f"{i},{x},-1,0.5,-2,{y}" for i, (x, y) in enumerate(points)]
    (folder / "progress.csv").write_text("\n".join(lines) + "\n")
    return folder


def numbers(*arguments: Any) -> "subprocess.CompletedProcess[str]":
    return tce("plot", *arguments, "--episodes", 0, "--no-pictures")


def picture_size(path: Path) -> Any:
    head = path.read_bytes()[:24]
    assert head[:8] == b"\x89PNG\r\n\x1a\n"
    return struct.unpack(">II", head[16:24])


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two seeds of TCE and one of BBRL on the tiny task."""
    root = tmp_path_factory.mktemp("trained")
    (root / "tiny.yaml").write_text(TINY)
    for name, options in (("a", ["--seed", 1]), ("b", ["--seed", 2]), ("c", ["run.method=bbrl", "policy.set_variance=true"])):
        done = tce("train", root / "tiny.yaml", *options, "--quiet", "--out", root / "runs" / name)
        assert done.returncode == 0, done.stderr
    return root / "runs"


def test_a_run_ends_with_its_curve_and_picture(trained: Path) -> None:
    curve = table(trained / "a" / "curve.csv")
    progress = table(trained / "a" / "progress.csv")
    assert [row["eval_success"] for row in curve] == [row["eval_success"] for row in progress]
    width, height = picture_size(trained / "a" / "curve.png")
    assert min(width, height) > 900


def test_tables_and_pictures_of_trained_runs(trained: Path, tmp_path: Path) -> None:
    done = tce("plot", trained, "--out", tmp_path / "new" / "plots", "--episodes", 5)
    assert done.returncode == 0, done.stderr
    out = tmp_path / "new" / "plots"
    assert [(row["method"], row["runs"]) for row in table(out / "summary.csv")] == [("TCE", "2"), ("BBRL Cov", "1")]
    for name in ("curves", "profile", "correlation_point_via_TCE", "correlation_point_via_BBRL_Cov"):
        picture_size(out / f"{name}.png")
        assert f"{name}.png" in done.stdout

    smooth = table(out / "smoothness.csv")
    assert [(row["method"], row["path"], row["episodes"]) for row in smooth] == [
        ("TCE", "measured", "10"), ("TCE", "desired", "10"), ("BBRL Cov", "measured", "5"), ("BBRL Cov", "desired", "5")]
    for row in smooth:
        assert float(row["maximum_jerk"]) ** 2 > float(row["mean_squared_jerk"]) > 0
        # dt is 0.02
        assert float(row["dimensionless_jerk_integral"]) == pytest.approx(0.02 * float(row["dimensionless_jerk"]))


def test_correlation_is_a_correlation_matrix(trained: Path, tmp_path: Path) -> None:
    assert tce("plot", trained / "a", "--out", tmp_path, "--episodes", 1, "--no-pictures").returncode == 0
    matrix = np.loadtxt(tmp_path / "correlation_point_via_TCE.csv", delimiter=",")
    assert matrix.shape == (100, 100)
    np.testing.assert_array_equal(matrix, matrix.T)
    np.testing.assert_array_equal(np.diag(matrix), 1)
    assert np.abs(matrix).max() <= 1
    assert np.linalg.eigvalsh(matrix).min() > -1e-6
    # neighbouring times of a joint move together
    assert matrix[10, 11] > 0.9


def test_smoothness_does_not_depend_on_threads(trained: Path, tmp_path: Path) -> None:
    for n in (1, 2):
        assert tce("plot", trained / "a", "--out", tmp_path / str(n), "--episodes", 9, "--threads", n, "--no-pictures").returncode == 0
    for name in ("smoothness.csv", "correlation_point_via_TCE.csv", "curves.csv", "summary.csv"):
        assert (tmp_path / "1" / name).read_bytes() == (tmp_path / "2" / name).read_bytes()


def test_runs_with_other_points_are_brought_together(tmp_path: Path) -> None:
    write_run(tmp_path / "runs" / "a", [(0, 0), (10, 0.2), (20, 0.4), (30, 0.6)])
    write_run(tmp_path / "runs" / "b", [(0, 0), (15, 0.3), (25, 0.8)], seed=2)
    assert numbers(tmp_path / "runs", "--out", tmp_path).returncode == 0
    rows = table(tmp_path / "curves.csv")
    # as far as both go; the second lies on a line from 15 to 25
    assert [float(row["env_steps"]) for row in rows] == [0, 10, 20, 25]
    np.testing.assert_allclose([float(row["eval_success"]) for row in rows], [0, 0.2, (0.4 + 0.55) / 2, (0.5 + 0.8) / 2])

    assert numbers(tmp_path / "runs", "--out", tmp_path, "--hold").returncode == 0
    last = table(tmp_path / "curves.csv")[-1]
    assert float(last["env_steps"]) == 30
    assert float(last["eval_success"]) == pytest.approx((0.6 + 0.8) / 2)


def test_methods_tasks_and_labels_make_groups(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    write_run(runs / "a", [(0, 0)], method="bbrl")
    write_run(runs / "b", [(0, 0)], method="bbrl", more="policy: {covariance: diagonal}\n")
    write_run(runs / "c", [(0, 0)])
    write_run(runs / "d", [(0, 0)], task="two")
    assert numbers(runs, "--out", tmp_path).returncode == 0
    found = [(row["task"], row["method"]) for row in table(tmp_path / "summary.csv")]
    assert found == [("one", "TCE"), ("one", "BBRL Cov"), ("one", "BBRL Std"), ("two", "TCE")]

    done = numbers(runs / "c", "--label", 'mine, "new"', runs / "a", runs / "b", "--out", tmp_path)
    assert done.returncode == 0
    assert [(row["method"], row["runs"]) for row in table(tmp_path / "summary.csv")] == [("TCE", "1"), ('mine, "new"', "2")]
    assert "differ in policy.covariance" in done.stderr and "same seed" in done.stderr


def test_other_columns_can_be_plotted(tmp_path: Path) -> None:
    write_run(tmp_path / "a", [(0, 0), (10, 1)])
    assert numbers(tmp_path / "a", "--metric", "return", "--x", "iteration", "--out", tmp_path).returncode == 0
    row = table(tmp_path / "curves.csv")[-1]
    assert (float(row["iteration"]), float(row["return"])) == (1, -1)


def test_a_line_that_is_being_written_is_left_out(tmp_path: Path) -> None:
    run = write_run(tmp_path / "a", [(0, 0), (10, 0.5)])
    with open(run / "progress.csv", "a", encoding="utf-8") as stream:
        stream.write("2,20,-1,0")
    assert numbers(run, "--out", tmp_path).returncode == 0
    assert len(table(tmp_path / "curves.csv")) == 2


def test_without_matplotlib_the_tables_are_there_and_the_remedy_is_said(tmp_path: Path) -> None:
    run = write_run(tmp_path / "a", [(0, 0), (10, 0.5)])
    fake = tmp_path / "python"
    fake.write_text("#!/bin/sh\nexit 3\n")
    fake.chmod(0o755)
    done = tce("plot", run, "--out", tmp_path / "plots", "--episodes", 0, python=str(fake))
    assert done.returncode == 1
    assert "make deps-python" in done.stderr and "TCE_PYTHON" in done.stderr
    assert len(table(tmp_path / "plots" / "curves.csv")) == 2

    done = tce("plot", run, "--out", tmp_path / "plots", "--episodes", 0, python=str(tmp_path / "nothing"))
    assert done.returncode == 1
    assert "TCE_PYTHON" in done.stderr


def test_a_missing_policy_costs_only_the_smoothness(tmp_path: Path) -> None:
    run = write_run(tmp_path / "a", [(0, 0), (10, 0.5)])
    done = tce("plot", run, "--out", tmp_path / "plots", "--no-pictures")
    assert done.returncode == 0
    assert "no smoothness" in done.stderr and "policy.safetensors" in done.stderr
    assert len(table(tmp_path / "plots" / "curves.csv")) == 2


def test_failures_are_said(tmp_path: Path) -> None:
    run = write_run(tmp_path / "a", [(0, 0), (10, 0.5)])
    other = write_run(tmp_path / "b", [(0, 0), (10, 0.5)], seed=2, task="two")
    more = write_run(tmp_path / "c", [(0, 0), (10, 0.5)], seed=3, task="two")
    late = write_run(tmp_path / "d", [(20, 0), (30, 0.5)], seed=4)
    out = ["--out", tmp_path / "plots"]
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("")

    for code, says, arguments in (
            (2, "no RUN given", []),
            (2, "whole number", [run, "--episodes", "many"]),
            (2, "", [run, "--unknown"]),
            (1, "no progress.csv", [tmp_path / "empty"]),
            (1, "no progress.csv", [tmp_path / "nowhere"]),
            (1, "given twice", [run, run]),
            (1, "--metric", [run, "--metric", "height"]),
            (1, "--x", [run, "--x", "height"]),
            (1, "--pool", [run, other, more, "--pool"]),
            (1, "--hold", [run, late]),
            (1, "--out", [run, "--out", tmp_path / "file" / "plots"])):
        done = tce("plot", *out, "--no-pictures", "--episodes", 0, *arguments)
        assert done.returncode == code, (arguments, done.stderr)
        assert says in done.stderr, (arguments, done.stderr)

    with open(run / "progress.csv", "a", encoding="utf-8") as stream:
        stream.write("2,20,x,0,0,0\n")
    done = tce("plot", run, *out, "--no-pictures")
    assert done.returncode == 1
    assert "progress.csv:4" in done.stderr and '"x" is not a number' in done.stderr
