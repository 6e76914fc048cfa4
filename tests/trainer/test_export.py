"""tce export and tce bench from outside: a trained policy, its two exports against the library through the bindings, and their messages."""

from __future__ import annotations

import ctypes
import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from running import tce

STRICT = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]

# both methods, both precisions; the tiny task
SMALL = ["task.name=point_via", "mp.tau=1", "run.iterations=2", "run.threads=1", "collect.episodes=16", "collect.environments=16",
         "evaluate.episodes=8", "policy.hidden=[32, 32]", "critic.hidden=[32]", "policy.epochs=5", "critic.epochs=5"]
RUNS = {
    "tce-float": (["run.method=tce", "objective.time_points=10", "policy.precision=float"], 1e-6),
    "tce-double": (["run.method=tce", "objective.time_points=10", "policy.precision=double"], 1e-12),
    "bbrl-double": (["run.method=bbrl", "policy.precision=double", "collect.mask_context=true", "mp.relative_goal=true"], 1e-12),
}


def train(folder: Path, *settings: str) -> Path:
    result = tce("train", "--quiet", "--out", folder, *SMALL, *settings)
    assert result.returncode == 0, result.stderr
    return folder


@pytest.fixture(scope="module", params=RUNS)
def run(request: Any, tmp_path_factory: Any) -> Any:
    settings, tolerance = RUNS[request.param]
    folder = train(tmp_path_factory.mktemp("export") / "run", *settings)
    result = tce("export", folder, "--out", folder / "robot", "--c", "arm")
    assert result.returncode == 0, result.stderr
    return folder, tolerance


def doubles(values: Any) -> Any:
    return np.ascontiguousarray(values, dtype=np.float64)


def pointer(values: np.ndarray) -> Any:
    return values.ctypes.data_as(ctypes.POINTER(ctypes.c_double))


def test_both_exports_give_the_numbers_of_the_trainers_policy(run: Any) -> None:
    folder, tolerance = run
    tce_py = pytest.importorskip("tce")
    robot = folder / "robot"
    subprocess.run(["cc", *STRICT, "-O2", "-fPIC", "-shared", "-o", robot / "arm.so", robot / "arm.c", "-lm"], check=True)
    arm = ctypes.CDLL(str(robot / "arm.so"))
    arm.arm_context_size.restype = ctypes.c_size_t
    arm.arm_n_params.restype = ctypes.c_size_t
    assert arm.arm_self_test(None) == 0

    # the trainer's own file and the exported one hold the same policy
    random = np.random.default_rng(3)
    handles = []
    for file in (folder / "policy.safetensors", robot / "policy.safetensors"):
        store = tce_py.Store.load(str(file))
        handles.append((tce_py.Policy.from_store(store, "policy"), tce_py.MovementPrimitive.from_store(store, "mp")))
    n = arm.arm_context_size()
    times = doubles(0.02 * np.arange(1, 51))
    start, rest = doubles([0.1, -0.2]), doubles([0.0, 0.0])
    for _ in range(10):
        context = doubles(random.normal(size=n))
        params, pos, vel = np.zeros(arm.arm_n_params()), np.zeros((50, 2)), np.zeros((50, 2))
        assert arm.arm_parameters(pointer(context), pointer(params)) == 0
        assert arm.arm_trajectory(pointer(params), ctypes.c_double(0.0), pointer(start), pointer(rest), ctypes.c_size_t(50), pointer(times),
                                  pointer(pos), pointer(vel)) == 0
        for policy, mp in handles:
            inputs = np.concatenate([context, np.zeros(policy.n_obs - n)])[None]
            mean, _ = policy.predict(inputs)
            want = mp.trajectory(mean, times, init_pos=start[None], init_vel=rest[None])
            np.testing.assert_allclose(params, mean[0], rtol=0, atol=tolerance * max(1.0, np.abs(mean).max()))
            np.testing.assert_allclose(pos, want[0][0], rtol=0, atol=tolerance)
            np.testing.assert_allclose(vel, want[1][0], rtol=0, atol=tolerance * max(1.0, np.abs(want[1]).max()))


# methods that act at every step, and one whose parameters are squashed; on tasks without a simulator
STEPS = {
    "ppo": ["task.name=pendulum", "run.method=ppo", "collect.environments=2", "collect.steps=40", "update.minibatches=2", "critic.hidden=[8]"],
    "gsde": ["task.name=pendulum", "run.method=gsde", "collect.environments=2", "collect.steps=40", "update.minibatches=2", "critic.hidden=[8]",
             "policy.precision=double"],
    "sac": ["task.name=pendulum", "run.method=sac", "collect.rounds=20", "update.batch_size=8", "update.replay_size=200", "critic.hidden=[8]"],
    "sac_mp": ["task.name=point_via", "run.method=sac_mp", "mp.tau=1", "collect.episodes=8", "collect.environments=4", "collect.rounds=1",
               "update.gradient_steps=2", "update.batch_size=8", "update.replay_size=200", "critic.hidden=[8]", "policy.precision=double"],
}


@pytest.mark.parametrize("method", STEPS)
def test_exported_policy_of_any_method_acts_as_the_trainers(method: str, tmp_path: Path) -> None:
    tce_py = pytest.importorskip("tce")
    folder = tmp_path / "run"
    result = tce("train", "--quiet", "--out", folder, "run.iterations=2", "run.threads=1", "policy.hidden=[32, 32]", "evaluate.episodes=2",
                 *STEPS[method])
    assert result.returncode == 0, result.stderr
    result = tce("export", folder, "--c", "arm")
    assert result.returncode == 0, result.stderr
    subprocess.run(["cc", *STRICT, "-O2", "-fPIC", "-shared", "-o", folder / "arm.so", folder / "export" / "arm.c", "-lm"], check=True)
    arm = ctypes.CDLL(str(folder / "arm.so"))
    assert arm.arm_self_test(None) == 0

    # the exported store is the policy too
    act = arm.arm_parameters if method == "sac_mp" else arm.arm_action
    tolerance = 1e-12 if "policy.precision=double" in STEPS[method] else 1e-5
    random = np.random.default_rng(3)
    for file in (folder, folder / "export" / "policy.safetensors"):
        agent = tce_py.load(file)
        for _ in range(10):
            obs = doubles(random.normal(size=agent.n_context))
            got = np.zeros(agent.n_params)
            assert act(pointer(obs), pointer(got)) == 0
            np.testing.assert_allclose(got, agent.act(obs), rtol=0, atol=tolerance)
    if method != "sac_mp":
        bad = doubles(np.full(agent.n_context, np.nan))
        assert act(pointer(bad), pointer(got)) == -1


def test_policy_made_in_python_is_exported(tmp_path: Path) -> None:
    tce_py = pytest.importorskip("tce")
    mp = tce_py.ProMP(n_dof=2, n_basis=4, tau=1.0)
    policy = tce_py.Policy(n_obs=3, n_dims=mp.n_params, hidden=[8], random=tce_py.Random(1))
    tce_py.save_policy(tmp_path / "mine.safetensors", policy, mp, n_steps=20, dt=0.05, task="mine")
    result = tce("export", tmp_path / "mine.safetensors", "--c", "arm", "--out", tmp_path)
    assert result.returncode == 0, result.stderr
    subprocess.run(["cc", *STRICT, "-DARM_MAIN", "-o", tmp_path / "arm", tmp_path / "arm.c", "-lm"], check=True)
    assert "self-test passed" in subprocess.run([tmp_path / "arm"], capture_output=True, text=True, check=True).stdout


def test_program_made_of_the_export_passes_and_prints_the_path(run: Any) -> None:
    folder, _ = run
    program = folder / "robot" / "arm"
    subprocess.run(["cc", *STRICT, "-DARM_MAIN", "-o", program, folder / "robot" / "arm.c", "-lm"], check=True)
    result = subprocess.run([str(program)], capture_output=True, text=True)
    assert result.returncode == 0
    assert "self-test passed" in result.stdout
    rows = [line.split() for line in result.stdout.splitlines() if not line.startswith("#")]
    assert len(rows) == 50 and all(len(row) == 5 for row in rows)


def test_same_run_exports_the_same_bytes_and_lands_in_the_run_folder(run: Any) -> None:
    folder, _ = run
    assert tce("export", folder, "--c", "arm").returncode == 0
    assert (folder / "export" / "arm.c").read_bytes() == (folder / "robot" / "arm.c").read_bytes()
    assert tce("export", folder / "policy.safetensors", "--c", "arm").returncode == 0
    assert not list((folder / "export").glob("*.tmp"))


@pytest.mark.parametrize("arguments, status, word", [
    (["export"], 2, "name one run folder"),
    (["export", "nowhere"], 1, "give a run folder"),
    (["export", "{run}", "--c", "2arm"], 2, "letter"),
    (["export", "{run}", "--out", "{run}/progress.csv"], 1, "--out"),
    (["export", "{run}/checkpoints"], 1, "no policy there yet"),
    (["export", "{run}/progress.csv"], 1, "progress.csv"),
    (["bench", "--iterations", "0"], 2, "--iterations"),
    (["bench", "--task", "nothing"], 1, "nothing"),
    (["bench", "--tasks", "--task", "nothing"], 1, "nothing"),
])
def test_what_cannot_work_is_said(run: Any, arguments: Any, status: int, word: str) -> None:
    result = tce(*[a.format(run=run[0]) for a in arguments])
    assert result.returncode == status, result.stderr
    assert word in result.stderr
    assert result.stderr.startswith("tce")


@pytest.mark.parametrize("name", ["export", "export/policy.safetensors", "export/arm.c", "export/arm.c.tmp", "export/.arm.c.tmp"])
def test_export_does_not_write_through_a_link_in_the_run_folder(run: Any, tmp_path: Path, name: str) -> None:
    folder, outside = tmp_path / "run", tmp_path / "outside"
    outside.mkdir()
    (folder / name).parent.mkdir(parents=True)
    (folder / "policy.safetensors").write_bytes((run[0] / "policy.safetensors").read_bytes())
    (outside / "policy.safetensors").write_text("precious", encoding="utf-8")
    (folder / name).symlink_to(outside if name == "export" else outside / "policy.safetensors")
    done = tce("export", folder, "--c", "arm")
    assert [path.name for path in outside.iterdir()] == ["policy.safetensors"]
    assert (outside / "policy.safetensors").read_text(encoding="utf-8") == "precious"
    if name == "export":
        assert done.returncode == 1 and "is a symbolic link" in done.stderr and "--out" in done.stderr
        # a folder that the user names may be one
        assert tce("export", folder, "--out", folder / "export").returncode == 0
    else:
        assert done.returncode == 0, done.stderr


def test_damaged_policy_is_not_exported(run: Any, tmp_path: Path) -> None:
    data = bytearray((run[0] / "policy.safetensors").read_bytes())
    data[-9] ^= 1
    (tmp_path / "policy.safetensors").write_bytes(data)
    result = tce("export", tmp_path)
    assert result.returncode == 1 and "checksum" in result.stderr
    assert not (tmp_path / "export").exists()


@pytest.mark.parametrize("method", ["tce", "bbrl"])
def test_bench_parts_add_up_and_the_replay_is_the_same(method: str) -> None:
    result = tce("bench", "--json", "--iterations", "2", *SMALL, "run.method=" + method)
    assert result.returncode == 0, result.stderr
    report = json.loads(result.stdout)
    assert report["replay_same"] is True
    assert report["env_steps"] == 16 * 50
    assert report["simulation"] + report["critic"] + report["policy"] <= report["seconds"]
    share = report["environment_seconds"] / report["processor_seconds"]
    assert report["own_share"] == pytest.approx(1 - share, rel=1e-4, abs=1e-4)
    assert "everything else" in tce("bench", "--iterations", "1", *SMALL, "run.method=" + method).stdout


def test_bench_of_a_method_that_acts_at_every_step_times_the_physics_of_its_rollouts() -> None:
    words = ["run.method=ppo", "task.name=hopper_jump", "collect.environments=2", "collect.steps=50", "policy.hidden=[8]", "critic.hidden=[8]",
             "policy.epochs=1", "evaluate.episodes=1", "run.threads=1", "--iterations", "2"]
    result = tce("bench", "--json", *words)
    assert result.returncode == 0, result.stderr
    report = json.loads(result.stdout)
    assert report["env_steps"] == 2 * 50
    # both are of the same steps, in other iterations
    assert 0.3 < report["mj_step_seconds"] / report["processor_seconds"] < 2.0
    # by the clock: a part of the rollouts
    assert 0.0 < report["rollouts_reached"] <= report["rollouts_reached_best"] < 1.0
    assert "rollouts reach" in tce("bench", *words).stdout
    plans = json.loads(tce("bench", "--json", "--iterations", "1", *SMALL).stdout)
    assert "mj_step_seconds" not in plans


def test_episodes_of_a_task_that_carries_state_are_replayed_from_theirs() -> None:
    # three rounds: what an environment does in the last one depends on those before
    result = tce("bench", "--json", "--iterations", "1", *SMALL, "task.name=metaworld_dial_turn", "task.options=profile=2", "mp.tau=5",
                 "collect.episodes=5", "collect.environments=2", "evaluate.episodes=2")
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout)["replay_same"] is True


def test_bench_of_tasks_times_their_physics() -> None:
    result = tce("bench", "--tasks", "--json", "--task", "hopper_jump", "--iterations", "2", "--threads", "2")
    assert result.returncode == 0, result.stderr
    report = json.loads(result.stdout)
    assert report["task"] == "hopper_jump" and report["threads"] == 2 and report["mj_steps_per_step"] == 4
    # a busy machine disturbs it; the figure itself is read from `tce bench --tasks`
    assert 0.5 < report["reached"] < 2.0
    table = tce("bench", "--tasks", "--task", "point_via", "--iterations", "1").stdout
    assert "MuJoCo 3." in table and table.splitlines()[-1].split()[2:] == ["-", "-", "-"]
