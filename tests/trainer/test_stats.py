"""The numbers of `tce plot` beside those of the PyPI package rliable, on runs with scores made up here."""

from __future__ import annotations

import csv
import os
import subprocess
from pathlib import Path
from typing import Any, Dict, List

import numpy as np
import pytest
from rliable import library as rly
from rliable import metrics

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(os.environ.get("TCE_PROGRAM", ROOT / "build" / "bin" / "tce"))

# both are sums of the same numbers
EXACT = 1e-12

Table = List[Dict[str, str]]


def write_run(folder: Path, task: str, seed: int, scores: Any) -> None:
    """A run whose evaluations gave these scores, with rows without evaluation between them."""
    folder.mkdir(parents=True)
    (folder / "config.yaml").write_text(f"run: {{method: tce, seed: {seed}}}\ntask: {{name: {task}}}\n")
    lines = ["iteration,env_steps,return,eval_success"]
    for i, score in enumerate(scores):
        lines += [f"{2 * i},{2000 * i},-1,{float(score)!r}", f"{2 * i + 1},{2000 * i + 1000},-1,"]
    (folder / "progress.csv").write_text("\n".join(lines) + "\n")


def plot(folder: Path, *options: Any) -> Dict[str, Table]:
    """The tables that the program writes for the runs in a folder."""
    out = folder.parent / "plots"
    subprocess.run([str(PROGRAM), "plot", str(folder), "--out", str(out), "--episodes", "0", "--no-pictures",
                    *map(str, options)], check=True, capture_output=True, timeout=120)
    tables = {}
    for path in out.glob("*.csv"):
        with open(path, newline="", encoding="utf-8") as stream:
            tables[path.stem] = list(csv.DictReader(stream))
    return tables


def column(table: Table, name: str) -> np.ndarray:
    return np.array([float(row[name]) for row in table])


def iqm(scores: np.ndarray) -> np.ndarray:
    return np.array([metrics.aggregate_iqm(scores)])


@pytest.fixture(scope="module", params=[(5, 1), (20, 1), (6, 4), (3, 10)], ids=["5x1", "20x1", "6x4", "3x10"])
def case(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Dict[str, Any]:
    """Scores [points, runs, tasks] and what the program makes of them: of the one task, or of all together."""
    runs, tasks = request.param
    rng = np.random.default_rng(runs + tasks)
    # some tasks are harder than others, or it would not matter that runs are drawn within tasks
    scores = np.round((np.arange(tasks) + rng.beta(1.5, 1.0, size=(3, runs, tasks))) / tasks, 3)
    folder = tmp_path_factory.mktemp("case") / "runs"
    for r in range(runs):
        for k in range(tasks):
            write_run(folder / f"{r}-{k}", f"task{k}", r, scores[:, r, k])
    tables = plot(folder)
    if tasks == 1:
        assert "aggregate_curves" not in tables and len(tables["summary"]) == 1
        return {"scores": scores, "all": tables, **tables}
    return {"scores": scores, "all": tables, "curves": tables["aggregate_curves"], "profile": tables["aggregate_profile"],
            "summary": tables["summary"][-1:]}


def test_aggregates_are_those_of_rliable(case: Dict[str, Any]) -> None:
    last = case["scores"][-1]
    (row,) = case["summary"]
    for name, function in (("eval_success", metrics.aggregate_iqm), ("mean", metrics.aggregate_mean),
                           ("median", metrics.aggregate_median), ("optimality_gap", metrics.aggregate_optimality_gap)):
        assert float(row[name]) == pytest.approx(function(last), abs=EXACT), name


def test_every_point_of_the_curve_has_rliables_iqm(case: Dict[str, Any]) -> None:
    want = [metrics.aggregate_iqm(point) for point in case["scores"]]
    np.testing.assert_allclose(column(case["curves"], "eval_success"), want, atol=EXACT)
    np.testing.assert_array_equal(column(case["curves"], "env_steps"), [0, 2000, 4000])


def test_intervals_lie_where_rliables_do(case: Dict[str, Any]) -> None:
    """The end of an interval is a quantile of random draws, and with few runs these take few values. So levels are compared: our end must lie
    between the quantiles of rliable's draws at levels four standard errors below and above 2.5 or 97.5 %."""
    theirs = 4000
    rows = [(row, point, 2000) for row, point in zip(case["curves"], case["scores"])]
    rows.append((case["summary"][0], case["scores"][-1], 50000))
    for number, (row, scores, ours) in enumerate(rows):
        draws = rly.StratifiedBootstrap(scores, random_state=np.random.RandomState(number)).apply(iqm, theirs)
        for name, level in (("low", 0.025), ("high", 0.975)):
            error = np.sqrt(level * (1 - level) * (1 / ours + 1 / theirs))
            least, most = np.quantile(draws, [max(0, level - 4 * error), min(1, level + 4 * error)])
            assert least - EXACT <= float(row[name]) <= most + EXACT, (name, scores.shape)


def test_profile_is_rliables(case: Dict[str, Any]) -> None:
    last = case["scores"][-1]
    taus = column(case["profile"], "eval_success")
    np.testing.assert_allclose(taus, np.linspace(0, 1, 101), atol=EXACT)
    profiles, intervals = rly.create_performance_profile({"x": last}, taus, reps=2000)
    np.testing.assert_allclose(column(case["profile"], "fraction"), profiles["x"], atol=EXACT)
    # the profile moves in steps of one score
    for name, want in zip(("low", "high"), intervals["x"]):
        assert np.abs(column(case["profile"], name) - want).max() <= 1 / last.size + EXACT

    means, _ = rly.create_performance_profile({"x": last}, taus, use_score_distribution=False, reps=2)
    np.testing.assert_allclose(column(case["profile"], "fraction_of_task_means"), means["x"], atol=EXACT)


def test_the_table_has_rliables_numbers_of_every_task(case: Dict[str, Any]) -> None:
    last = case["scores"][-1]
    by_task = case["all"]["summary"][:last.shape[1]]
    assert [row["task"] for row in by_task] == [f"task{k}" for k in range(last.shape[1])]
    for k, row in enumerate(by_task):
        own = last[:, k:k + 1]
        assert float(row["eval_success"]) == pytest.approx(metrics.aggregate_iqm(own), abs=EXACT)
        assert float(row["mean"]) == pytest.approx(metrics.aggregate_mean(own), abs=EXACT)
    assert case["summary"][0]["task"] == ("task0" if last.shape[1] == 1 else f"{last.shape[1]} tasks")
