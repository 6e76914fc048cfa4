"""`tce plot` as a program: grouping, alignment, several tasks, published points, pictures, smoothness, messages."""

from __future__ import annotations

import csv
import importlib.util
import os
import shutil
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any, Dict, List, Optional, Sequence, Tuple

import numpy as np
import pytest
from running import edit_checkpoint, folder_of_libtce

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(os.environ.get("TCE_PROGRAM", ROOT / "build" / "bin" / "tce"))

TINY = """
run: {method: tce, iterations: 3, threads: 1}
task: {name: point_via}
collect: {episodes: 4, environments: 4}
evaluate: {every: 1, episodes: 4}
mp: {n_basis: 3, tau: 1.0}
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


def drawing() -> Any:
    """The drawing module alone, as the program runs it."""
    spec = importlib.util.spec_from_file_location("drawing", ROOT / "bindings" / "python" / "tce" / "plot.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two seeds of TCE and one of BBRL on the tiny task."""
    root = tmp_path_factory.mktemp("trained")
    (root / "tce.yaml").write_text(TINY)
    (root / "bbrl.yaml").write_text(TINY.replace("method: tce", "method: bbrl").replace("objective: {time_points: 5}", "policy: {set_variance: true}"))
    for name, method, seed in (("a", "tce", 1), ("b", "tce", 2), ("c", "bbrl", 1)):
        done = tce("train", root / f"{method}.yaml", "--seed", seed, "--quiet", "--out", root / "runs" / name)
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
    for name in ("curves", "correlation_point_via_TCE", "correlation_point_via_BBRL_Cov"):
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


ACTING = {
    "sac": ["collect.rounds=2", "update.batch_size=4", "update.replay_size=100"],
    "ppo": ["collect.environments=2", "collect.steps=40", "update.minibatches=2"],
    "gsde": ["collect.environments=2", "collect.steps=40", "update.minibatches=2", "policy.sde_every=8"],
    "pink": ["collect.rounds=2", "update.batch_size=4", "update.replay_size=100", "noise.chunk=60"],
}


@pytest.mark.parametrize("method", ACTING)
def test_correlation_of_steps_is_that_of_their_noise(method: str, tmp_path: Path) -> None:
    done = tce("train", "--quiet", "--out", tmp_path / "run", "task.name=pendulum", f"run.method={method}", "run.iterations=1", "evaluate.episodes=2", "policy.hidden=[4]",
               "critic.hidden=[4]", *ACTING[method])
    assert done.returncode == 0, done.stderr
    assert tce("plot", tmp_path / "run", "--out", tmp_path, "--episodes", 2, "--no-pictures").returncode == 0
    file, = tmp_path.glob("correlation_pendulum_*.csv")
    assert "dof=1 steps=200 " in file.read_text().splitlines()[0] and " of=actions " in file.read_text().splitlines()[0]
    matrix = np.loadtxt(file, delimiter=",")
    np.testing.assert_array_equal(np.diag(matrix), 1)
    np.testing.assert_array_equal(matrix, matrix.T)
    step = np.arange(200)
    if method in ("ppo", "sac"):
        np.testing.assert_array_equal(matrix, np.eye(200))
    elif method == "gsde":
        # the matrix of the noise is kept for eight steps, and the features change little from one to the next
        together = step[:, None] // 8 == step // 8
        assert not matrix[~together].any()
        assert matrix[together].all() and np.median(np.diag(matrix, 1)[step[:-1] % 8 < 7]) > 0.9
    else:
        lags = np.abs(step[:, None] - step)
        np.testing.assert_array_equal(matrix, matrix[0][lags])
        assert 0.3 < matrix[0, 1] < 1 and (np.diff(matrix[0, :6]) < 0).all() and not matrix[lags >= 60].any()


@pytest.mark.parametrize("method", ACTING)
def test_correlation_of_exploring_episodes_is_near_that_of_their_noise(method: str, tmp_path: Path) -> None:
    # a mean that is almost the same in all states, and a chunk without an end in the episode
    calm = ["policy.start=orthogonal", *(["noise.chunk=600"] if method == "pink" else [])]
    done = tce("train", "--quiet", "--out", tmp_path / "run", "task.name=pendulum", f"run.method={method}", "run.iterations=1", "evaluate.episodes=2", "policy.hidden=[4]",
               "critic.hidden=[4]", *ACTING[method], *calm)
    assert done.returncode == 0, done.stderr
    n = 800
    found = {}
    for name, words in (("noise", []), ("one", ["--samples", n, "--threads", 1]), ("two", ["--samples", n, "--threads", 2])):
        done = tce("plot", tmp_path / "run", "--out", tmp_path / name, "--episodes", 2, "--no-pictures", *words)
        assert done.returncode == 0, done.stderr
        file, = (tmp_path / name).glob("correlation_pendulum_*.csv")
        found[name] = file
    assert found["one"].read_bytes() == found["two"].read_bytes()
    assert f" of=actions samples={n} " in found["one"].read_text().splitlines()[0]
    noise, actions = (np.loadtxt(found[name], delimiter=",") for name in ("noise", "one"))
    # five times the error of a correlation of n samples
    apart = np.abs(actions - noise)
    if method == "gsde":
        # along the mean's episode and along exploring ones the features are not the same
        apart = np.where(noise == 0, apart, 0)
        assert (np.diag(actions, 1)[np.arange(199) % 8 < 7] > 0.5).all()
    assert np.quantile(apart, 0.999) < 5 / n ** 0.5 and apart.max() > 0.5 / n ** 0.5
    assert tce("plot", tmp_path / "run", "--out", tmp_path, "--samples", 1).returncode == 2


def test_an_old_policy_of_steps_has_no_correlation_and_says_why(tmp_path: Path) -> None:
    done = tce("train", "--quiet", "--out", tmp_path / "run", "task.name=pendulum", "run.method=ppo", "run.iterations=1", "evaluate.episodes=2", "policy.hidden=[4]",
               "critic.hidden=[4]", *ACTING["ppo"])
    assert done.returncode == 0, done.stderr
    edit_checkpoint(tmp_path / "run" / "policy.safetensors", without="exploration.form")
    done = tce("plot", tmp_path / "run", "--out", tmp_path, "--episodes", 2, "--no-pictures")
    assert done.returncode == 0 and "does not say how the policy explored" in done.stderr
    assert not list(tmp_path.glob("correlation_*.csv"))


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
    assert found == [("one", "TCE"), ("one", "BBRL Cov"), ("one", "BBRL Std"), ("two", "TCE"), ("2 tasks", "TCE")]

    done = numbers(runs / "c", "--label", 'mine, "new"', runs / "a", runs / "b", "--out", tmp_path)
    assert done.returncode == 0
    assert [(row["method"], row["runs"]) for row in table(tmp_path / "summary.csv")] == [("TCE", "1"), ('mine, "new"', "2")]
    assert "differ in policy.covariance" in done.stderr and "same seed" in done.stderr


def test_curves_can_be_running_means(tmp_path: Path) -> None:
    write_run(tmp_path / "runs" / "a", [(0, 0), (10, 0.5), (20, 1), (30, 0)])
    write_run(tmp_path / "runs" / "b", [(0, 1), (10, 1), (20, 1), (30, 1)], seed=2)
    (tmp_path / "points.csv").write_text("source,method,environment_steps,y\npaper,TCE,10,0.5\n")
    done = tce("plot", tmp_path / "runs", "--out", tmp_path, "--episodes", 0, "--smooth", "0.5", "--over", tmp_path / "points.csv")
    assert done.returncode == 0, done.stderr
    # of each run, then their mean
    assert [float(row["smoothed_eval_success"]) for row in table(tmp_path / "curves.csv")] == [0.5, 0.625, 0.8125, 0.65625]
    assert [row["smoothed_eval_success"] for row in table(tmp_path / "over.csv")] == ["0.5"]
    # what was reached is as measured
    assert [float(row["eval_success"]) for row in table(tmp_path / "summary.csv")] == [0.5]
    picture_size(tmp_path / "curves.png")


def test_other_columns_can_be_plotted(tmp_path: Path) -> None:
    write_run(tmp_path / "a", [(0, 0), (10, 1)])
    assert numbers(tmp_path / "a", "--metric", "return", "--x", "iteration", "--out", tmp_path).returncode == 0
    row = table(tmp_path / "curves.csv")[-1]
    assert (float(row["iteration"]), float(row["return"])) == (1, -1)


def test_a_task_without_success_is_plotted_by_its_return(tmp_path: Path) -> None:
    run = write_run(tmp_path / "a", [(0, 0), (10, 1)])
    text = (run / "progress.csv").read_text().replace("eval_success", "eval_max_height")
    (run / "progress.csv").write_text(text)
    done = numbers(run, "--out", tmp_path)
    assert done.returncode == 0 and done.stdout.startswith("eval_return at the end")
    assert float(table(tmp_path / "curves.csv")[-1]["eval_return"]) == -2

    done = tce("plot", run, "--metric", "eval_max_height", "--episodes", 0, "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    assert float(table(tmp_path / "curves.csv")[-1]["eval_max_height"]) == 1
    picture_size(tmp_path / "curves.png")


@pytest.mark.parametrize("column,text", [
    ("eval_success", "success rate"), ("success", "success rate, exploring"), ("eval_max_height", "maximum height (m)"),
    ("max_height", "maximum height (m), exploring"), ("eval_new_thing", "new thing"), ("critic_loss", "critic loss"),
    ("smoothed_eval_success", "success rate, smoothed"), ("smoothed_success", "success rate, exploring, smoothed")])
def test_axes_say_what_they_show(column: str, text: str) -> None:
    plot = drawing()
    assert plot.words_of_metric(column) == text


# ---- several tasks -------------------------------------------------------------------------------


def write_tasks(root: Path, scores: Dict[str, Dict[str, Sequence[float]]], **more: Any) -> Path:
    """Runs of methods on tasks that end with these scores."""
    for method, tasks in scores.items():
        for task, ends in tasks.items():
            for seed, end in enumerate(ends):
                write_run(root / f"{task}-{method}-{seed}", [(0, 0), (1000, end / 2), (2000, end)], seed, method, task, **more)
    return root


def test_several_tasks_are_drawn_alone_and_together(tmp_path: Path) -> None:
    runs = write_tasks(tmp_path / "runs", {"tce": {"near": [0.8, 1.0], "far": [0.2, 0.4]}, "bbrl": {"near": [0.5, 0.7], "far": [0.0, 0.2]}})
    done = tce("plot", runs, "--out", tmp_path / "plots")
    assert done.returncode == 0 and done.stderr == "", done.stderr
    out = tmp_path / "plots"
    rows = table(out / "summary.csv")
    assert [(row["task"], row["method"]) for row in rows] == [
        ("far", "TCE"), ("far", "BBRL Cov"), ("near", "TCE"), ("near", "BBRL Cov"), ("2 tasks", "TCE"), ("2 tasks", "BBRL Cov")]
    # four scores: the middle two
    assert [float(row["eval_success"]) for row in rows[4:]] == pytest.approx([0.6, 0.35])
    assert [float(row["mean"]) for row in rows] == pytest.approx([0.3, 0.1, 0.9, 0.6, 0.6, 0.35])
    assert "2 tasks" in done.stdout and "near" in done.stdout

    curves = table(out / "aggregate_curves.csv")
    assert [(row["method"], float(row["env_steps"]), float(row["eval_success"])) for row in curves[:3]] == [
        ("TCE", 0, 0), ("TCE", 1000, pytest.approx(0.3)), ("TCE", 2000, pytest.approx(0.6))]
    assert {row["task"] for row in table(out / "curves.csv")} == {"near", "far"}
    for name in ("curves", "aggregate_curves", "summary"):
        picture_size(out / f"{name}.png")
        assert f"{name}.png" in done.stdout
    # policies are not run for many tasks, unless asked for
    assert not (out / "smoothness.csv").exists()

    # a plot of one task leaves nothing of that
    assert tce("plot", runs / "near-tce-0", "--out", out, "--episodes", 0).returncode == 0
    assert sorted(path.name for path in out.iterdir()) == ["curves.csv", "curves.png", "profile.csv", "summary.csv"]


def test_a_profile_is_drawn_of_five_scores_and_not_of_fewer(tmp_path: Path) -> None:
    runs = write_tasks(tmp_path / "runs", {"tce": {"near": [0.8, 1.0, 0.9, 0.7], "far": [0.2, 0.4, 0.1, 0.3]}})
    assert tce("plot", runs, "--out", tmp_path / "plots").returncode == 0
    assert not (tmp_path / "plots" / "profile.png").exists()
    picture_size(tmp_path / "plots" / "aggregate_profile.png")  # eight scores

    for task in ("near", "far"):
        write_run(tmp_path / "runs" / f"{task}-fifth", [(0, 0), (2000, 0.5)], 5, "tce", task)
    assert tce("plot", runs, "--out", tmp_path / "plots").returncode == 0
    picture_size(tmp_path / "plots" / "profile.png")
    # a plot of one run leaves nothing of that
    assert tce("plot", runs / "near-tce-0", "--episodes", 0, "--out", tmp_path / "plots").returncode == 0
    assert not (tmp_path / "plots" / "profile.png").exists()


@pytest.mark.parametrize("n, shape", [(1, (1, 1)), (3, (1, 3)), (4, (1, 4)), (5, (2, 3)), (6, (2, 3)), (7, (2, 4)), (50, (13, 4))])
def test_panels_leave_no_row_half_empty(n: int, shape: Tuple[int, int]) -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = drawing().panels(plt, n, 2.0)
    grid = axes[0].get_gridspec()
    plt.close(figure)
    assert len(axes) == n and (grid.nrows, grid.ncols) == shape


@pytest.mark.parametrize("tasks, shown", [
    (["metaworld_reach profile=2", "metaworld_push profile=2"], ["metaworld_reach", "metaworld_push"]),
    (["a profile=2", "a profile=3"], ["a profile=2", "a profile=3"]),
    (["a profile=2"], ["a profile=2"])])
def test_panels_name_options_that_differ(tasks: List[str], shown: List[str]) -> None:
    assert drawing().titles(tasks) == shown


@pytest.mark.parametrize("rows, text", [
    ([("a", 1), ("b", 1)], "one run"), ([("a", 1), ("a", 3)], "mean"), ([("a", 4)], "IQM"), ([("2 tasks", 2)], "IQM")])
def test_a_line_is_said_to_be_what_it_is(rows: List[Tuple[str, int]], text: str) -> None:
    assert drawing().middle_of([{"task": task, "runs": str(runs)} for task, runs in rows]) == text


def test_the_band_draws_runs_within_tasks(tmp_path: Path) -> None:
    """Runs of a task that are alike leave nothing to draw, however far the tasks lie apart."""
    runs = write_tasks(tmp_path / "runs", {"tce": {f"t{k}": [k / 10] * 3 for k in range(8)}})
    assert numbers(runs, "--out", tmp_path).returncode == 0
    row = table(tmp_path / "summary.csv")[-1]
    assert row["task"] == "8 tasks"
    assert float(row["low"]) == float(row["eval_success"]) == float(row["high"]) == pytest.approx(0.35)


def test_tasks_with_fewer_runs_and_methods_with_other_tasks_are_told(tmp_path: Path) -> None:
    runs = write_tasks(tmp_path / "runs", {"tce": {"near": [0.8, 1.0, 0.1], "far": [0.2, 0.4]}, "bbrl": {"near": [0.5], "wide": [0.1]}})
    done = numbers(runs, "--out", tmp_path)
    assert done.returncode == 0
    assert "use the first 2 of each task and leave out 1" in done.stderr
    assert "not every method has runs of far" in done.stderr
    rows = table(tmp_path / "summary.csv")
    assert [(row["task"], row["method"], row["runs"]) for row in rows] == [
        ("far", "TCE", "2"), ("near", "TCE", "3"), ("near", "BBRL Cov", "1"), ("wide", "BBRL Cov", "1"), ("2 tasks", "TCE", "2"),
        ("2 tasks", "BBRL Cov", "1")]
    assert float(rows[4]["mean"]) == pytest.approx((0.8 + 1.0 + 0.2 + 0.4) / 4)


def test_runs_that_have_only_begun_are_left_out(tmp_path: Path) -> None:
    write_run(tmp_path / "runs" / "a", [(0, 0), (10, 0.5)])
    empty = write_run(tmp_path / "runs" / "b", [], seed=2)
    done = numbers(tmp_path / "runs", "--out", tmp_path)
    assert done.returncode == 0 and f"{empty} has no measurement" in done.stderr
    assert [row["runs"] for row in table(tmp_path / "summary.csv")] == ["1"]
    for arguments in ([empty], [tmp_path / "runs" / "b", tmp_path / "runs" / "a"]):
        done = numbers(*arguments, "--out", tmp_path)
        assert done.returncode == 1 and "train longer" in done.stderr


def test_runs_of_queues_in_a_folder_are_found(tmp_path: Path) -> None:
    write_run(tmp_path / "runs" / "queue" / "a", [(0, 0), (10, 0.5)])
    write_run(tmp_path / "runs" / "b", [(0, 0), (10, 0.5)], seed=2)
    write_run(tmp_path / "runs" / "other" / "c", [(0, 0), (10, 0.5)], seed=3)
    (tmp_path / "runs" / "queue" / "queue.csv").write_text("")
    assert numbers(tmp_path / "runs", "--out", tmp_path).returncode == 0
    assert [row["runs"] for row in table(tmp_path / "summary.csv")] == ["2"]


# ---- published points ----------------------------------------------------------------------------


def test_published_points_go_over_the_curves(tmp_path: Path) -> None:
    run = write_run(tmp_path / "a", [(0, 0), (1000, 0.5)])
    points = tmp_path / "points.csv"
    points.write_text('source,method,environment_steps,success_iqm\npaper,TCE,500,0.25\n"a figure, read off",TOP-ERL,2e3,0.75\n')
    out = tmp_path / "plots"
    plain = tce("plot", run, "--out", out, "--episodes", 0)
    assert plain.returncode == 0
    without = (out / "curves.png").read_bytes()
    done = tce("plot", run, "--out", out, "--episodes", 0, "--over", points)
    assert done.returncode == 0, done.stderr
    assert table(out / "over.csv") == [
        {"source": "paper", "method": "TCE", "env_steps": "500", "eval_success": "0.25"},
        {"source": "a figure, read off", "method": "TOP-ERL", "env_steps": "2000", "eval_success": "0.75"}]
    assert (out / "curves.png").read_bytes() != without
    # they are gone when nobody asks for them
    assert tce("plot", run, "--out", out, "--episodes", 0).returncode == 0
    assert not (out / "over.csv").exists() and (out / "curves.png").read_bytes() == without


def test_points_are_markers_of_their_methods_with_their_source_in_the_legend(tmp_path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    plot = drawing()

    (tmp_path / "curves.csv").write_text("task,method,runs,env_steps,eval_success,low,high\none,TCE Std,1,0,0,0,0\none,TCE Std,1,1000,0.5,0.4,0.6\n")
    (tmp_path / "over.csv").write_text("source,method,env_steps,eval_success\npaper,TCE-Std,500,0.25\npaper,New,3000,0.75\nother,New,3000,0.5\n")
    figure = plot.draw_curves(plt, tmp_path / "curves.csv")
    (axes,) = figure.get_axes()
    lines = {line.get_label(): line for line in axes.get_lines()}
    assert lines["_TCE-Std"].get_color() == lines["TCE Std"].get_color() != lines["New"].get_color()
    assert lines["_TCE-Std"].get_linestyle() == "None" and list(lines["_TCE-Std"].get_xdata()) == [0.5]
    assert [line.get_marker() for line in axes.get_lines()] == ["None", "o", "o", "s"]
    assert sorted(text.get_text() for legend in figure.legends for text in legend.get_texts()) == ["New", "TCE Std", "other", "paper"]
    assert axes.get_xlim()[1] >= 3
    plt.close(figure)


def test_points_go_over_all_tasks_where_there_are_several(tmp_path: Path) -> None:
    plot = drawing()
    (tmp_path / "over.csv").write_text("source,method,env_steps,eval_success\npaper,TCE,500,0.25\n")
    assert len(plot.overlay(tmp_path / "curves.csv")) == 1
    (tmp_path / "aggregate_curves.csv").write_text("")
    assert plot.overlay(tmp_path / "curves.csv") == [] and len(plot.overlay(tmp_path / "aggregate_curves.csv")) == 1


@pytest.mark.parametrize("text,says", [
    ("", "no points"), ("source,method,environment_steps,y\n", "no points"), ("source,method,y\na,b,1\n", ":1: has no column environment_steps"),
    ("method,environment_steps,y\na,1,1\n", ":1: has no column source"), ("y,source,method,environment_steps\n1,a,b,1\n", ":1: has no column"),
    ("source,method,environment_steps,y\na,b,1,2\na,b,1\n", ":3: this line does not have 4 fields"),
    ("source,method,environment_steps,y\na,b,many,2\n", ':2: "many"'), ("source,method,environment_steps,y\na,b,1,nan\n", ":2:")])
def test_points_that_cannot_be_read(tmp_path: Path, text: str, says: str) -> None:
    run = write_run(tmp_path / "a", [(0, 0), (1000, 0.5)])
    (tmp_path / "points.csv").write_text(text)
    done = numbers(run, "--out", tmp_path / "plots", "--over", tmp_path / "points.csv")
    assert done.returncode == 1
    assert "points.csv" in done.stderr and says in done.stderr, done.stderr


# ---- odd ends ------------------------------------------------------------------------------------


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


def test_an_installed_program_names_only_a_remedy_that_helps_there(tmp_path: Path) -> None:
    run = write_run(tmp_path / "a", [(0, 0), (10, 0.5)])
    for folder in ("bin", "share/tce"):
        (tmp_path / "installed" / folder).mkdir(parents=True)
    shutil.copy(PROGRAM, tmp_path / "installed" / "bin" / "tce")
    shutil.copy(ROOT / "bindings" / "python" / "tce" / "plot.py", tmp_path / "installed" / "share" / "tce")
    fake = tmp_path / "python"
    fake.write_text("#!/bin/sh\nexit 3\n")
    fake.chmod(0o755)
    env = {**os.environ, "LD_LIBRARY_PATH": str(folder_of_libtce()), "TCE_PYTHON": str(fake), "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run([str(tmp_path / "installed" / "bin" / "tce"), "plot", str(run), "--out", str(tmp_path / "plots"), "--episodes", "0"],
                          capture_output=True, text=True, env=env, cwd=tmp_path, timeout=60)
    assert done.returncode == 1
    assert "Run `pip install matplotlib`, or name another Python in TCE_PYTHON" in done.stderr and "make deps-python" not in done.stderr, done.stderr


def test_outside_its_tree_the_program_says_one_clear_line(tmp_path: Path) -> None:
    run = write_run(tmp_path / "a", [(0, 0), (10, 0.5)])
    away = tmp_path / "away"
    away.mkdir()
    shutil.copy(PROGRAM, away / "tce")
    env = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    env.update(LD_LIBRARY_PATH=str(folder_of_libtce()), TCE_PYTHON=sys.executable, OPENBLAS_NUM_THREADS="1")

    def plot(**more: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run([str(away / "tce"), "plot", str(run), "--out", str(tmp_path / "plots"), "--episodes", "0"],
                              capture_output=True, text=True, env={**env, **more}, cwd=away, timeout=60)

    done = plot()
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1 and "no package tce" in done.stderr and "TCE_PYTHON" in done.stderr, done.stderr
    # with the package, which is not even imported
    assert plot(PYTHONPATH=str(ROOT / "bindings" / "python")).returncode == 0
    picture_size(tmp_path / "plots" / "curves.png")


def test_inside_its_tree_the_program_draws_from_any_folder(tmp_path: Path) -> None:
    run = write_run(tmp_path / "a", [(0, 0), (10, 0.5)])
    env = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    env.update(TCE_PYTHON=sys.executable, OPENBLAS_NUM_THREADS="1")
    done = subprocess.run([str(PROGRAM), "plot", run.name, "--out", "plots", "--episodes", "0"], capture_output=True, text=True, env=env,
                          cwd=tmp_path, timeout=60)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    picture_size(tmp_path / "plots" / "curves.png")


def test_modules_do_not_come_from_the_working_directory(tmp_path: Path) -> None:
    run = write_run(tmp_path / "a", [(0, 0), (10, 0.5)])
    for name in ("runpy", "matplotlib", "csv"):
        (tmp_path / f"{name}.py").write_text("open('planted', 'w'); raise SystemExit(9)\n")
    env = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    env.update(TCE_PYTHON=sys.executable, OPENBLAS_NUM_THREADS="1")
    done = subprocess.run([str(PROGRAM), "plot", run.name, "--out", "plots", "--episodes", "0"],
                          capture_output=True, text=True, env=env, cwd=tmp_path, timeout=60)
    assert done.returncode == 0 and not (tmp_path / "planted").exists(), done.stderr


def test_a_python_of_another_user_beside_the_program_is_not_run(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give a file away")
    run = write_run(tmp_path / "a", [(0, 0), (10, 0.5)])
    away = tmp_path / "build" / "bin" / "tce"
    away.parent.mkdir(parents=True)
    shutil.copy(PROGRAM, away)
    planted = tmp_path / "deps" / "venv" / "bin" / "python"
    planted.parent.mkdir(parents=True)
    planted.write_text(f"#!/bin/sh\ntouch {tmp_path}/planted\n")
    planted.chmod(0o755)
    env = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "TCE_PYTHON")}
    env.update(LD_LIBRARY_PATH=str(folder_of_libtce()), OPENBLAS_NUM_THREADS="1")

    def is_run() -> bool:
        subprocess.run([str(away), "plot", str(run), "--out", str(tmp_path / "plots"), "--episodes", "0"],
                       capture_output=True, env=env, timeout=60)
        return (tmp_path / "planted").exists()

    os.chown(planted, 65534, 65534)
    assert not is_run()
    os.chown(planted, 0, 0)
    assert is_run()


def test_what_python_says_last_is_in_the_message(tmp_path: Path) -> None:
    run = write_run(tmp_path / "a", [(0, 0), (10, 0.5)])
    fake = tmp_path / "python"
    fake.write_text("#!/bin/sh\necho Traceback >&2\necho 'ValueError: no' >&2\nexit 1\n")
    fake.chmod(0o755)
    done = tce("plot", run, "--out", tmp_path / "plots", "--episodes", 0, python=str(fake))
    assert done.returncode == 1 and done.stderr.count("\n") == 1
    assert "status 1: ValueError: no;" in done.stderr


def test_a_missing_policy_costs_only_the_smoothness(tmp_path: Path) -> None:
    run = write_run(tmp_path / "a", [(0, 0), (10, 0.5)])
    done = tce("plot", run, "--out", tmp_path / "plots", "--no-pictures")
    assert done.returncode == 0
    assert "no smoothness" in done.stderr and "policy.safetensors" in done.stderr
    assert "smoothness" not in done.stdout and "max jerk" not in done.stdout
    assert len(table(tmp_path / "plots" / "curves.csv")) == 2


def test_failures_are_said(tmp_path: Path) -> None:
    run = write_run(tmp_path / "a", [(0, 0), (10, 0.5)])
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
            (1, "did you mean eval_success?", [run, "--metric", "eval_sucess"]),
            (2, "too long", [run, "--metric", "x" * 300]),
            (2, "at least 0 and below 1", [run, "--smooth", "1"]),
            (2, "at least 0 and below 1", [run, "--smooth", "much"]),
            (2, "at least 0 and below 1", [run, "--smooth", "nan"]),
            (2, "leave out --x", [run, "--x", "iteration", "--over", run]),
            (1, "cannot read", [run, "--over", tmp_path / "nowhere"]),
            (1, "--x", [run, "--x", "height"]),
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
