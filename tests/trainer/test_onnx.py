"""tce export --onnx: what onnxruntime computes with the model, against libtce through the bindings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Dict, List

import numpy as np
import onnxruntime
import pytest
from running import tce

import tce as library

N = 1000
# a network's sums in another order; everything else is in double
TOLERANCE = {"float": 2e-5, "double": 1e-11}

EPISODES = ["task.name=point_via", "mp.tau=1", "collect.episodes=8", "collect.environments=4"]
STEPS = ["task.name=pendulum", "collect.environments=2", "collect.steps=40", "update.minibatches=2"]
REPLAY = ["update.batch_size=8", "update.replay_size=200"]
METHODS: Dict[str, List[str]] = {
    "tce": [*EPISODES, "objective.time_points=10"],
    "bbrl": [*EPISODES, "collect.mask_context=true", "mp.relative_goal=true"],
    "ppo": [*STEPS, "normalise.observations=true"],
    "gsde": [*STEPS, "policy.activation=tanh"],
    "trpl": STEPS,
    "sac": ["task.name=pendulum", "collect.rounds=20", *REPLAY],
    "pink": ["task.name=pendulum", "collect.rounds=20", *REPLAY],
    "sac_mp": [*EPISODES, "collect.rounds=1", "update.gradient_steps=2", *REPLAY],
}


def session(path: Path) -> Any:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def compare(got: Any, want: Any, tolerance: float) -> None:
    assert got.shape == want.shape and np.isfinite(got).all()
    np.testing.assert_allclose(got, want, rtol=0, atol=tolerance * max(1.0, float(np.abs(want).max())))


def check(agent: Any, model: Any, tolerance: float, n: int = N) -> None:
    """The model against the agent, on n random inputs at once and on the first of them alone."""
    random = np.random.default_rng(5)
    names = {value.name for value in model.get_inputs()}
    rows = {"observation" if agent.acts else "context": random.normal(0, 2, (n, agent.n_context))}
    if agent.acts:
        assert names == set(rows)
        want = {"action": agent.act(next(iter(rows.values())))}
    else:
        for name in ("start_position", "start_velocity"):
            if name in names:
                rows[name] = random.normal(size=(n, agent.n_dof))
        assert names == set(rows)
        context = rows["context"]
        path = agent.plan(context, rows.get("start_position"), rows.get("start_velocity"))
        want = {"parameters": agent.parameters(context), "position": path.pos, "velocity": path.vel}
    assert [value.name for value in model.get_outputs()] == list(want)
    for part in (slice(None), slice(1)):
        for got, value in zip(model.run(None, {name: row[part] for name, row in rows.items()}), want.values()):
            compare(got, value[part], tolerance)


@pytest.mark.parametrize("precision", TOLERANCE)
@pytest.mark.parametrize("method", METHODS)
def test_model_of_every_method_computes_what_libtce_computes(method: str, precision: str, tmp_path: Path) -> None:
    settings = [f"run.method={method}", f"policy.precision={precision}", "run.iterations=2", "run.threads=1", "policy.hidden=[32, 32]",
                "critic.hidden=[8]", "evaluate.episodes=2", *METHODS[method]]
    result = tce("train", "--quiet", "--out", tmp_path, *settings)
    assert result.returncode == 0, result.stderr
    result = tce("export", tmp_path, "--c", "arm", "--onnx")
    assert result.returncode == 0, result.stderr
    assert "arm.onnx" in result.stdout
    check(library.load(tmp_path), session(tmp_path / "export" / "arm.onnx"), TOLERANCE[precision])


PRIMITIVES: Dict[str, Any] = {
    "table": lambda: library.ProDMP(n_dof=3, n_basis=5, tau=1.3, dt=0.04),
    "exact, scales, no goal": lambda: library.ProDMP(n_dof=2, n_basis=4, basis="exact", disable_goal=True, weights_scale=[0.5, 1.0, 2.0, 3.0]),
    "goal alone, relative": lambda: library.ProDMP(n_dof=2, n_basis=4, disable_weights=True, relative_goal=True),
    "delay": lambda: library.ProDMP(n_dof=2, n_basis=4, tau=0.7, delay=0.2),
    "promp": lambda: library.ProMP(n_dof=2, n_basis=4, phase="smooth"),
    "dmp": lambda: library.DMP(n_dof=2, n_basis=4, phase="rhythmic", delay=0.1),
}


@pytest.mark.parametrize("activation", ["tanh", "relu", "leaky_relu", "linear"])
@pytest.mark.parametrize("primitive", PRIMITIVES)
def test_model_has_every_primitive_and_activation_in_double(primitive: str, activation: str, tmp_path: Path) -> None:
    mp = PRIMITIVES[primitive]()
    policy = library.Policy(
        n_obs=3, n_dims=mp.n_params, hidden=[8, 6], activation=activation, precision="double", random=library.Random(1))
    file = tmp_path / "mine.safetensors"
    library.save_policy(file, policy, mp, n_steps=25, dt=0.04, n_obs=5, context=[4, 0, 2], task="mine")
    result = tce("export", file, "--onnx", "--out", tmp_path)
    assert result.returncode == 0, result.stderr
    check(library.load(file), session(tmp_path / "policy.onnx"), TOLERANCE["double"], 20)


def save(path: Path, mp: Any) -> Path:
    policy = library.Policy(n_obs=3, n_dims=mp.n_params, hidden=[8], random=library.Random(1))
    library.save_policy(path / "mine.safetensors", policy, mp, n_steps=25, dt=0.04, n_obs=5, context=[4, 0, 2], task="mine")
    return path / "mine.safetensors"


def notes(path: Path) -> Dict[str, str]:
    return dict(session(path).get_modelmeta().custom_metadata_map)


def test_model_says_what_its_numbers_mean(tmp_path: Path) -> None:
    file = save(tmp_path, library.ProMP(n_dof=2, n_basis=4))
    assert tce("export", file, "--onnx", "--out", tmp_path, "--joints", "shoulder,elbow", "--unit", "rad").returncode == 0
    assert notes(tmp_path / "policy.onnx") == {
        "task": "mine", "libtce": library.version(), "step_seconds": json.dumps(0.04).replace("0.04", "0.040000000000000001"), "steps": "25",
        "observation_size": "5", "observation_entries": "4,0,2", "joints": "shoulder,elbow", "unit_position": "rad",
        "unit_velocity": "rad per second", "times": "row k of a path is for the time (k + 1) step_seconds of the episode"}
    model = session(tmp_path / "policy.onnx")
    assert model.get_inputs()[0].shape == ["batch", 3]
    assert [value.shape for value in model.get_outputs()] == [["batch", 8], ["batch", 25, 2], ["batch", 25, 2]]
    # unnamed joints have their numbers
    assert tce("export", file, "--onnx", "--out", tmp_path).returncode == 0
    assert notes(tmp_path / "policy.onnx")["joints"] == "joint 0,joint 1"


def test_same_policy_is_the_same_model(tmp_path: Path) -> None:
    file = save(tmp_path, library.ProMP(n_dof=2, n_basis=4))
    models = []
    for name in ("a", "b"):
        assert tce("export", file, "--onnx", "--out", tmp_path / name).returncode == 0
        models.append((tmp_path / name / "policy.onnx").read_bytes())
    assert models[0] == models[1]


def test_what_no_model_can_be_made_of_is_said_before_anything_is_written(tmp_path: Path) -> None:
    file = save(tmp_path, library.ProMP(n_dof=2, n_basis=4, learn_tau=True))
    out = tmp_path / "out"
    result = tce("export", file, "--onnx", "--out", out)
    assert result.returncode == 1 and "duration" in result.stderr and "--onnx" in result.stderr
    result = tce("export", save(tmp_path, library.ProMP(n_dof=2, n_basis=4)), "--onnx", "--joints", "a,b,c", "--out", out)
    assert result.returncode == 1 and "3 joints are named, the policy moves 2" in result.stderr
    mp = library.ProMP(n_dof=2, n_basis=4)
    policy = library.Policy(n_obs=3, n_dims=mp.n_params, hidden=[8], random=library.Random(1))
    library.save_policy(tmp_path / "long.safetensors", policy, mp, n_steps=2**31 - 1, dt=0.04)
    result = tce("export", tmp_path / "long.safetensors", "--onnx", "--out", out)
    assert result.returncode == 1 and "paths of 2147483647 steps are too long" in result.stderr
    result = tce("export", file, "--unit", "rad", "--out", out)
    assert result.returncode == 2 and "add --onnx" in result.stderr
    assert not out.exists()
