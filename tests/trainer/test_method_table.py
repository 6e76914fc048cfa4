"""The table of what every method can do, in docs/methods-table.md: each cell is done here, and the page must say what came of it.

    python tests/trainer/test_method_table.py --write      renews the page, with the program at TCE_PROGRAM
"""

from __future__ import annotations

import csv
import json
import math
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Callable, Dict, List, Tuple

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

import running  # noqa: E402
from running import ROOT, checkpoints, compile_tasks, content, rows, wait_until  # noqa: E402

PAGE = ROOT / "docs" / "methods-table.md"

# small runs on the arm with five links, which every kind of method can act on
EPISODIC = ["collect.episodes=8", "collect.environments=4", "mp.n_basis=3", "policy.hidden=[8]", "policy.epochs=2", "critic.hidden=[8]",
            "critic.epochs=2"]
ON_POLICY = ["collect.environments=4", "collect.steps=60", "policy.hidden=[8]", "policy.epochs=2", "critic.hidden=[8]", "update.minibatches=4"]
OFF_POLICY = ["collect.environments=2", "collect.number_samples=20", "collect.rounds=10", "collect.learning_starts=300", "policy.hidden=[8]",
              "critic.hidden=[8]", "update.batch_size=16", "update.replay_size=500"]
METHODS: Dict[str, List[str]] = {
    "tce": [*EPISODIC, "objective.time_points=5"],
    "bbrl": EPISODIC,
    "ppo": ON_POLICY,
    "gsde": ON_POLICY,
    "trpl": [*ON_POLICY, "critic.epochs=2"],
    "sac": OFF_POLICY,
    "pink": [*OFF_POLICY, "noise.chunk=50"],
    "sac_mp": ["collect.episodes=8", "collect.environments=4", "collect.rounds=1", "collect.learning_starts=12", "mp.n_basis=3", "policy.hidden=[8]",
               "critic.hidden=[8]", "update.gradient_steps=4", "update.batch_size=16", "update.replay_size=500"],
}
COMMON = ["task.name=reacher5", "run.iterations=4", "run.checkpoint_every=2", "evaluate.every=2", "evaluate.episodes=4"]


# an arm that fails in the third episode of its first environment
FAULTY = ["task.name=fails", "task.options=from=3 dof=2"]


def settings(method: str, folder: Path) -> Path:
    config = folder / f"{method}.yaml"
    config.write_text(f"run:\n  method: {method}\n", encoding="utf-8")
    return config


def train(method: str, folder: Path, *words: str) -> None:
    config = settings(method, folder.parent)
    done = running.tce("train", config, "--quiet", "--out", folder, *COMMON, *METHODS[method], *words)
    assert done.returncode == 0, done.stderr


def result(folder: Path) -> Tuple[bytes, ...]:
    """What two runs must have in common to be the same."""
    files = (folder / "progress.csv", folder / "policy.safetensors", checkpoints(folder)[-1])
    return tuple(file.read_bytes() for file in files)


class Cells:
    """What a method is asked to do, with a run of it in ``run``. A cell that cannot be done fails an assertion."""

    def __init__(self, method: str, folder: Path) -> None:
        self.method, self.folder, self.run = method, folder, folder / "run"

    def train(self) -> None:
        train(self.method, self.run, "run.threads=1")
        table = rows(self.run)
        assert len(table) == 5 and int(table[-1]["env_steps"]) > 0

    def evaluate(self) -> None:
        assert rows(self.run)[-1]["eval_return"] != ""
        done = running.tce("eval", self.run, "--episodes", 4)
        assert done.returncode == 0 and "return" in done.stdout, done.stderr

    def video(self) -> None:
        film = self.folder / "film.mp4"
        done = running.tce("eval", self.run, "--episodes", 1, "--video", film, "--video-episodes", 1, "--size", "160x120")
        assert done.returncode == 0 and film.stat().st_size > 1000, done.stderr

    def plotted(self) -> Path:
        out = self.folder / "plots"
        if not out.exists():
            done = running.tce("plot", self.run, "--episodes", 2, "--no-pictures", "--out", out)
            assert done.returncode == 0, done.stderr
        return out

    def curves(self) -> None:
        text = (self.plotted() / "curves.csv").read_text(encoding="utf-8")
        assert text.count("\n") >= 3 and "nan" not in text

    def smoothness(self) -> None:
        with open(self.plotted() / "smoothness.csv", encoding="utf-8", newline="") as file:
            found = list(csv.DictReader(file))
        paths = ["measured"] if self.method in ("ppo", "gsde", "trpl", "sac", "pink") else ["measured", "desired"]
        assert [row["path"] for row in found] == paths
        for row in found:
            assert row["episodes"] == "2"
            # an arm that moves has jerk, whose mean square is below the square of the largest
            assert 0 < float(row["mean_squared_jerk"]) < float(row["maximum_jerk"]) ** 2 < math.inf
            assert all(0 < float(row[name]) < math.inf for name in ("dimensionless_jerk", "dimensionless_jerk_integral"))

    def correlation(self) -> None:
        import numpy

        file, = self.plotted().glob("correlation_*.csv")
        dof, steps = (int(word.partition("=")[2]) for word in file.read_text(encoding="utf-8").split()[1:3])
        found = numpy.loadtxt(file, delimiter=",")
        assert found.shape == (dof * steps, dof * steps) and dof == 5
        assert (numpy.diag(found) == 1).all() and (found == found.T).all() and (numpy.abs(found) <= 1 + 1e-9).all()
        # noise that is drawn anew at every step is correlated with nothing; paths, held and coloured noise are
        white = self.method in ("ppo", "trpl", "sac")
        assert (not found[~numpy.eye(len(found), dtype=bool)].any()) == white

    def tensorboard(self) -> None:
        from tensorboard.backend.event_processing import event_accumulator as accumulator

        events = accumulator.EventAccumulator(str(self.run), size_guidance={"scalars": 0})
        events.Reload()
        table = rows(self.run)
        for name in table[0]:
            if name in ("iteration", "env_steps"):
                continue
            tag = f"eval/{name[5:]}" if name.startswith("eval_") else f"train/{name}"
            want = [(int(row["env_steps"]), float(row[name])) for row in table if row[name] != ""]
            found = [(e.step, e.value) for e in events.Scalars(tag)] if want else []
            assert [step for step, _ in found] == [step for step, _ in want], name
            assert all(math.isclose(a[1], b[1], rel_tol=1e-6) for a, b in zip(found, want)), name

    def export_c(self) -> None:
        out = self.folder / "export"
        done = running.tce("export", self.run, "--out", out, "--c", "arm")
        assert done.returncode == 0, done.stderr
        program = self.folder / "arm"
        subprocess.run(["cc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-DARM_MAIN", "-o", program, out / "arm.c", "-lm"], check=True)
        subprocess.run([program], check=True, stdout=subprocess.DEVNULL)

    def onnx(self) -> None:
        import test_onnx
        import tce

        out = self.folder / "onnx"
        done = running.tce("export", self.run, "--out", out, "--c", "arm", "--onnx")
        assert done.returncode == 0, done.stderr
        test_onnx.check(tce.load(self.run), test_onnx.session(out / "arm.onnx"), test_onnx.TOLERANCE["float"], 20)

    def safetensors(self) -> None:
        import numpy
        import tce

        robot, trained = tce.load(self.folder / "export" / "policy.safetensors"), tce.load(self.run)
        random = numpy.random.default_rng(2)
        for _ in range(3):
            obs = random.normal(size=trained.n_context)
            numpy.testing.assert_array_equal(robot.act(obs), trained.act(obs))

    def resume(self) -> None:
        folder = self.folder / "resumed"
        shutil.copytree(self.run, folder)
        checkpoints(folder)[-1].unlink()  # as a kill in the middle of the run leaves it
        done = running.tce("train", "--quiet", "--resume", folder)
        assert done.returncode == 0, done.stderr
        assert result(folder) == result(self.run)

    def ctrl_c(self) -> None:
        folder = self.folder / "stopped"
        words = [*COMMON, *METHODS[self.method], "run.threads=1", "run.iterations=100000"]
        process = running.begin("train", settings(self.method, self.folder), "--quiet", "--out", folder, *words)
        wait_until(lambda: (folder / "progress.csv").exists() and len(rows(folder)) > 3)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=120)
        assert process.returncode == 130, said
        done = len(rows(folder)) - 1
        assert int(rows(folder)[-1]["iteration"]) == done and str(done) in checkpoints(folder)[-1].name
        # what was saved is what a run of this many iterations leaves, and continues as one
        end = f"run.iterations={done + 2}"
        resumed = running.tce("train", "--quiet", "--resume", folder, end)
        assert resumed.returncode == 0, resumed.stderr
        train(self.method, self.folder / "unstopped", "run.threads=1", end)
        assert content(folder)["progress.csv"] == content(self.folder / "unstopped")["progress.csv"]

    def faults(self) -> None:
        library = self.folder / "points.so"
        compile_tasks(library)
        words = [*METHODS[self.method], "run.iterations=4", "evaluate.episodes=4", f"task.library={library}", *FAULTY]
        config, folder = settings(self.method, self.folder), self.folder / "faults"
        failed = running.tce("train", config, "--quiet", "--out", folder, *words)
        assert failed.returncode == 1 and "environment 0" in failed.stderr and "on_fault=drop" in failed.stderr, failed.stderr
        dropped = running.tce("train", config, "--quiet", "--out", self.folder / "dropped", *words, "collect.on_fault=drop")
        assert dropped.returncode == 0, dropped.stderr
        assert sum(int(row["dropped"]) for row in rows(self.folder / "dropped") if row["dropped"]) >= 1

    def threads(self) -> None:
        folder = self.folder / "threads"
        train(self.method, folder, "run.threads=2")
        assert result(folder)[:2] == result(self.run)[:2]  # a checkpoint names the number of threads

    def bench(self) -> None:
        config = self.folder / f"{self.method}.yaml"
        done = running.tce("bench", config, "--json", "--iterations", 2, *COMMON, *METHODS[self.method])
        assert done.returncode == 0, done.stderr
        report = json.loads(done.stdout)
        learning = sum(report[name] for name in ("critic", "policy", "update") if name in report)
        assert report["env_steps"] > 0 and learning > 0 and report["simulation"] + learning <= report["seconds"]
        assert report["replay_same"] is True

    def queue(self) -> None:
        config = self.folder / f"{self.method}.yaml"
        folder = self.folder / "queue"
        done = running.tce("train", config, "--quiet", "--seeds", "1-2", "--jobs", 2, "--out", folder, *COMMON, *METHODS[self.method],
                           "run.iterations=1", "run.threads=1")
        assert done.returncode == 0, done.stderr
        assert (folder / "queue.csv").read_text(encoding="utf-8").count(",done,") == 2

    def seeds(self) -> None:
        one, two = sorted((self.folder / "queue").glob("**/policy.safetensors"))
        assert one.read_bytes() != two.read_bytes()
        train(self.method, self.folder / "seed", "run.iterations=1", "run.threads=1", "run.seed=2")
        assert (self.folder / "seed" / "policy.safetensors").read_bytes() == two.read_bytes()

    def python(self) -> None:
        code = ("import sys, numpy, tce\n"
                "folder, trained, method, *words = sys.argv[1:]\n"
                "agent = tce.load(folder)\n"
                "assert agent.evaluate(2).returns.shape == (2,)\n"
                "env = agent.env()\n"
                "obs, _ = env.reset(seed=1)\n"
                "assert numpy.isfinite(env.step(agent.act(obs))[1])\n"
                "settings = dict(word.split('=', 1) for word in words)\n"
                "run = tce.train('reacher5', method, config=settings, seed=1, out=trained)\n"
                "assert tce.load(trained).evaluate(2).returns.shape == (2,)\n")
        words = [*COMMON[1:], *METHODS[self.method], "run.iterations=1"]
        subprocess.run([sys.executable, "-c", code, self.run, self.folder / "python", self.method, *words], check=True, env={**running.environment(), "TCE_PYTHON": ""})


CELLS: List[Tuple[str, Callable[[Cells], None]]] = [
    ("train", Cells.train), ("evaluate", Cells.evaluate), ("video", Cells.video), ("curves", Cells.curves),
    ("smoothness", Cells.smoothness), ("correlation", Cells.correlation), ("TensorBoard", Cells.tensorboard), ("export C", Cells.export_c),
    ("export ONNX", Cells.onnx), ("safetensors", Cells.safetensors), ("resume", Cells.resume), ("Ctrl-C", Cells.ctrl_c), ("faults", Cells.faults), ("threads", Cells.threads),
    ("bench", Cells.bench), ("queue", Cells.queue), ("seeds", Cells.seeds), ("Python", Cells.python)]


def known_methods() -> List[str]:
    """As the program knows them."""
    text = running.tce("train", "--help").stdout
    line = next(line for line in text.splitlines() if line.strip().startswith("run.method"))
    return line[line.rindex("(") + 1:line.rindex(")")].split("|")


def done(method: str, folder: Path) -> Dict[str, str]:
    """The cells of a method: "yes", or the first line of what went wrong."""
    folder.mkdir()
    cells = Cells(method, folder)
    found = {}
    for name, cell in CELLS:
        try:
            cell(cells)
            found[name] = "yes"
        except (AssertionError, subprocess.CalledProcessError, OSError, LookupError, StopIteration) as error:
            found[name] = "no"
            print(f"{method}, {name}: {error}", file=sys.stderr)
    return found


def page(table: Dict[str, Dict[str, str]]) -> str:
    lines = ["# What every method can do", "",
             "A test makes this table by doing each thing once, with a small run on the arm with five links (`tests/trainer/test_method_table.py`).",
             "\"Resume\" and \"threads\" mean equal bytes: of a run that was stopped and resumed, and of one thread beside two.",
             "\"Faults\": an environment that fails ends the run, or its episode is dropped and counted.", "",
             "| method | " + " | ".join(name for name, _ in CELLS) + " |", "|---" * (len(CELLS) + 1) + "|"]
    lines += [f"| `{method}` | " + " | ".join(cells[name] for name, _ in CELLS) + " |" for method, cells in table.items()]
    return "\n".join(lines) + "\n"


def test_every_method_is_in_the_table() -> None:
    assert sorted(known_methods()) == sorted(METHODS)


@pytest.mark.parametrize("method", list(METHODS))
def test_the_page_says_what_a_method_can_do(method: str, tmp_path: Path) -> None:
    if shutil.which("ffmpeg") is None:
        pytest.skip("ffmpeg is missing: the column of videos cannot be done")
    row = page({method: done(method, tmp_path / method)}).splitlines()[-1]
    assert row in PAGE.read_text(encoding="utf-8").splitlines()


if __name__ == "__main__":
    import tempfile

    assert sys.argv[1:] == ["--write"], __doc__
    with tempfile.TemporaryDirectory() as scratch:
        PAGE.write_text(page({method: done(method, Path(scratch) / method) for method in METHODS}), encoding="utf-8")
    print(PAGE.read_text(encoding="utf-8"))
