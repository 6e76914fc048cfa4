"""policy.safetensors, opened by eval, plot and export: every size in it against every other, against the settings and the task."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any, Dict

import numpy as np
import pytest
from running import remove_checksum, tce

tce_py = pytest.importorskip("tce")

SMALL = ["task.name=point_via", "mp.tau=1", "mp.n_basis=3", "run.iterations=1", "run.threads=1", "collect.episodes=4", "collect.environments=4",
         "evaluate.episodes=4", "policy.hidden=[8]", "critic.hidden=[8]", "policy.epochs=1", "critic.epochs=1"]
FORMS = {"full": ["objective.time_points=5"], "contextual": ["objective.time_points=5", "policy.covariance=contextual"],
         "masked": ["run.method=bbrl", "collect.mask_context=true"]}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Dict[str, Path]:
    folder = tmp_path_factory.mktemp("runs")
    for name, settings in FORMS.items():
        done = tce("train", "--quiet", "--out", folder / name, *SMALL, *settings)
        assert done.returncode == 0, done.stderr
    return {name: folder / name for name in FORMS}


def changed(run: Path, folder: Path, key: str, value: Any) -> Path:
    """A copy of the run whose policy file says something else, with a good checksum."""
    shutil.copytree(run, folder)
    store = tce_py.Store.load(folder / "policy.safetensors")
    store[key] = value(store[key]) if callable(value) else value
    store.save(folder / "policy.safetensors")
    return folder


def test_a_policy_without_a_checksum_is_refused(runs: Dict[str, Path], tmp_path: Path) -> None:
    shutil.copytree(runs["full"], tmp_path / "run")
    remove_checksum(tmp_path / "run" / "policy.safetensors")
    for command in ("eval", "export"):
        done = tce(command, tmp_path / "run")
        assert done.returncode == 1 and "policy.safetensors has no tce.checksum" in done.stderr, done.stderr


def integer(number: int) -> Any:
    return np.array(number, np.int32)


def entry(place: int, number: int) -> Any:
    """The same array with another entry."""
    def put(array: Any) -> Any:
        array = array.copy()
        array[place] = number
        return array

    return put


def wider(axis: int) -> Any:
    """The same array with its last row or column twice."""
    return lambda array: np.concatenate([array, array.take([-1], axis)], axis)


# what is changed, what the message says, and whether the file alone tells
WRONG = [
    ("full", "mp.disable_weights", integer(1), "8 outputs, its primitive 2 parameters", True),
    ("full", "mp.disable_goal", integer(1), "8 outputs, its primitive 6 parameters", True),
    ("full", "mp.n_basis", integer(4), "8 outputs, its primitive 10 parameters", True),
    ("full", "mp.n_basis", integer(1), "8 outputs, its primitive 4 parameters", True),
    ("full", "mp.learn_tau", integer(1), "8 outputs, its primitive 9 parameters", True),
    ("full", "mp.n_dof", integer(3), "8 outputs, its primitive 12 parameters", True),
    ("contextual", "mp.disable_weights", integer(1), "8 outputs, its primitive 2 parameters", True),
    ("full", "input.shape", entry(3, 3), "2 degrees of freedom, its task 3", True),
    ("full", "input.shape", entry(1, 7), "9 inputs, input.shape says 7", True),
    ("full", "input.shape", entry(0, 7), "9 inputs, but the observation has 7", True),
    ("full", "input.shape", entry(2, 0), "input.shape[2] = 0", True),
    ("full", "input.shape", entry(0, -8), "input.shape[0] = -8", True),
    ("full", "input.dt", np.array(np.nan), "input.dt = nan", True),
    ("full", "input.context", np.arange(3, dtype=np.int32), "9 inputs, but input.context has 3", True),
    ("masked", "input.context", lambda x: x[:-1], "but input.context has", True),
    ("masked", "input.context", entry(0, 8), "input.context[0] = 8, must be in 0 ... 7", True),
    ("masked", "input.context", entry(0, -1), "input.context[0] = -1", True),
    ("masked", "input.context", lambda x: x.astype(np.float64), "not a list of 32-bit integers", True),
    ("full", "policy.covariance.raw", wider(0), "policy.covariance.raw", True),
    ("full", "policy.mean.layers.1.bias", wider(0), "policy.mean.layers.1.bias", True),
    ("full", "policy.mean.layers.0.weight", wider(1), "adam", True),
    ("full", "input.shape", entry(2, 49), "trained with 49 steps, the task point_via has 50", False),
    ("full", "input.dt", np.array(0.5), "steps of 0.5 s", False),
    ("full", "task", "reacher5", "for the task reacher5, config.yaml names point_via", False),
    ("masked", "input.context", lambda x: x[::-1].copy(), "other entries of the observation", False),
    ("full", "mp.tau", np.array(0.5), "the policy has mp.tau = 0.5, but config.yaml has 1", False),
    ("full", "mp.dt", np.array(0.5), "the policy has mp.dt = 0.5, but config.yaml has 0.02", False),
    ("full", "mp.table_length", integer(7), "the policy has mp.table_length = 7, but config.yaml has 5", False),
    ("full", "mp.auto_scale_basis", integer(0), "the policy has mp.auto_scale_basis = false, but config.yaml has true", False),
    ("full", "mp.weights_scales", np.array([0.3, 0.3, 0.4]), "the policy has mp.weights_scale = [0.3, 0.3, 0.4], but config.yaml has 0.5", False),
]


@pytest.mark.parametrize("form, key, value, says, alone", [pytest.param(*case, id=f"{case[0]}-{case[1]}-{i}") for i, case in enumerate(WRONG)])
def test_parts_that_do_not_belong_together_are_refused(runs: Dict[str, Path], tmp_path: Path, form: str, key: str, value: Any, says: str,
                                                       alone: bool) -> None:
    run = changed(runs[form], tmp_path / "run", key, value)
    done = tce("eval", run, "--episodes", 8)
    assert done.returncode == 1 and says in done.stderr and done.stdout == "", done
    if alone:
        assert f"{run / 'policy.safetensors'}: " in done.stderr

    done = tce("plot", run, "--out", tmp_path / "plots", "--episodes", 8, "--no-pictures")
    assert done.returncode == 0 and says in done.stderr, done

    # the primitive is compared with config.yaml, the task with its library, which no export opens
    if alone or key.startswith("mp."):
        done = tce("export", run)
        assert done.returncode == 1 and says in done.stderr, done
        # of a policy that cannot be exported nothing is left
        assert not (run / "export").exists()


def test_a_file_that_is_no_policy_leaves_nothing(runs: Dict[str, Path], tmp_path: Path) -> None:
    checkpoint, = (runs["full"] / "checkpoints").glob("*.safetensors")
    for out in (tmp_path / "new", tmp_path):
        done = tce("export", checkpoint, "--out", out)
        assert done.returncode == 1 and done.stdout == ""
        assert f"{checkpoint}: not a trained policy" in done.stderr
        assert list(tmp_path.iterdir()) == []


def test_the_form_of_the_policy_counts_not_that_of_the_settings(runs: Dict[str, Path], tmp_path: Path) -> None:
    for form, other in (("contextual", "full"), ("full", "contextual")):
        run = tmp_path / form
        shutil.copytree(runs[form], run)
        config = (run / "config.yaml").read_text()
        assert f"covariance: {form} " in config
        (run / "config.yaml").write_text(config.replace(f"covariance: {form} ", f"covariance: {other} "))
        done = tce("eval", run, "--episodes", 64)
        assert done.returncode == 0, done.stderr
        assert done.stdout == tce("eval", runs[form], "--episodes", 64).stdout
