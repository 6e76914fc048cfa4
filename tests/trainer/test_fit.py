"""`tce fit`: policies from demonstrations."""

from __future__ import annotations

from pathlib import Path
from typing import List

import numpy as np
import pytest
from running import rows, tce

# a path that two basis functions and a goal can follow: the primitive's own
SMALL = ["task.name=point_via", "mp.n_basis=3", "policy.hidden=[16]", "critic.hidden=[8]", "run.threads=1", "collect.episodes=8"]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run whose policy is far from that of its first weights."""
    folder = tmp_path_factory.mktemp("trained") / "run"
    done = tce("train", *SMALL, "collect.episodes=32", "run.iterations=15", "policy.learning_rate=0.01", "--out", folder)
    assert done.returncode == 0, done.stderr
    return folder


def demonstrate(run: Path, path: Path, episodes: int = 20) -> List[List[str]]:
    done = tce("eval", run, "--episodes", episodes, "--seed", 77, "--paths", path)
    assert done.returncode == 0, done.stderr
    return [line.split(",") for line in path.read_text(encoding="utf-8").splitlines()]


def returns(run: Path) -> float:
    said = tce("eval", run, "--episodes", 50, "--seed", 5)
    assert said.returncode == 0, said.stderr
    return float(next(line for line in said.stdout.splitlines() if line.startswith("  return")).split()[1])


def test_a_policy_does_what_its_demonstrations_do(trained: Path, tmp_path: Path) -> None:
    table = demonstrate(trained, tmp_path / "demos.csv")
    assert table[0][:4] == ["episode", "time", "pos_1", "pos_2"] and len(table) == 1 + 20 * 51
    done = tce("fit", tmp_path / "demos.csv", *SMALL, "--out", tmp_path / "fit")
    assert done.returncode == 0, done.stderr
    found = {line[:30].strip(): float(line.split()[-1]) for line in done.stdout.splitlines() if line.startswith("  ")}
    assert found["error of the fitted paths"] < 0.01
    start = tmp_path / "untrained"
    assert tce("train", *SMALL, "run.iterations=1", "policy.epochs=0", "--out", start).returncode == 0
    worst, best, fitted = returns(start), returns(trained), returns(tmp_path / "fit")
    assert worst < best and fitted > best - 0.2 * (best - worst)
    # and a run starts there
    new = tmp_path / "new"
    assert tce("train", *SMALL, "run.iterations=1", "policy.epochs=0", "--init-from", tmp_path / "fit", "--out", new).returncode == 0
    assert returns(new) == fitted


def test_exploration_is_as_wide_as_the_demonstrations_differ_from_the_mean(tmp_path: Path) -> None:
    times = np.arange(51) * 0.02

    def fit(spread: float, n: int, name: str) -> float:
        draw = np.random.default_rng(1)
        with open(tmp_path / "demos.csv", "w", encoding="utf-8") as file:
            file.write("episode,time,pos_1,pos_2\n")
            for e in range(n):
                far = draw.normal(0.5, spread, 2)
                for t in times:
                    x, y = far * (10 * t**3 - 15 * t**4 + 6 * t**5)
                    file.write(f"{e},{t:.17g},{x:.17g},{y:.17g}\n")
        done = tce("fit", tmp_path / "demos.csv", *SMALL, "--out", tmp_path / name)
        assert done.returncode == 0 and "without contexts" in done.stdout, done.stderr
        return float(done.stdout.splitlines()[3].split()[-1])

    one, same, apart = fit(0.0, 1, "one"), fit(0.0, 20, "same"), fit(0.3, 20, "apart")
    assert one == pytest.approx(0.99 * 1.01**0.5, rel=1e-2)  # initial_std, when there is nothing to learn it from
    assert same == pytest.approx(0.099, rel=1e-2)  # the floor: a tenth of it
    assert 1.2 * same < apart < one


def test_demonstrations_that_do_not_fit_are_refused(trained: Path, tmp_path: Path) -> None:
    demos = tmp_path / "demos.csv"
    demonstrate(trained, demos, 2)
    good = demos.read_text(encoding="utf-8")
    header, first, *rest = good.splitlines()
    for text, words, says in (("", [], "is empty"), ("a,b\n", [], "the columns must be"), (header + "\n", [], "no demonstrations"),
                              (header + "\n" + first + "\n", [], "demonstration 1"), (good.replace("\n1,0,", "\n1,x,", 1), [], "csv:2: has a field"),
                              (good, ["task.name=reacher5"], "positions"), (good, ["policy.covariance=contextual"], "one covariance for all"),
                              (good, ["run.method=ppo"], "one covariance for all")):
        demos.write_text(text, encoding="utf-8")
        chosen = [word for word in SMALL if "ppo" not in str(words) or not word.startswith(("mp.", "collect.episodes"))]
        done = tce("fit", demos, *chosen, *words, "--out", tmp_path / "no")
        assert done.returncode == 1 and says in done.stderr, (says, done.stderr)
        assert not (tmp_path / "no").exists()
    demos.write_text(good, encoding="utf-8")
    done = tce("fit", demos, *SMALL, "--out", trained)
    assert done.returncode == 1 and "has a run already" in done.stderr
    assert rows(trained)
