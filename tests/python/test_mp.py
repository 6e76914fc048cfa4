"""Movement primitives."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import tce
from shared import ROOT

CONFIG = dict(n_dof=3, n_basis=4, tau=1.0, dt=0.02, alpha=12)
TIMES = np.linspace(0.02, 1.0, 50)
RNG = np.random.default_rng(3)


@pytest.fixture(autouse=True)
def same_numbers_in_any_order() -> None:
    global RNG
    RNG = np.random.default_rng(3)


@pytest.fixture
def mp() -> tce.ProDMP:
    return tce.ProDMP(**CONFIG)


def test_sizes(mp) -> None:
    assert (mp.n_params, mp.n_dof, mp.n_columns) == (15, 3, 5)
    assert tce.ProMP(**CONFIG).n_params == 12
    assert tce.ProDMP(**CONFIG, disable_goal=True).n_params == 12
    assert tce.ProDMP(**CONFIG, disable_weights=True).n_params == 3
    assert tce.ProDMP(**CONFIG, learn_tau=True, learn_delay=True).n_params == 17


def test_a_scale_for_each_basis_function(mp) -> None:
    params = RNG.normal(size=(2, 15))
    same = tce.ProDMP(**CONFIG, weights_scale=[1.0] * 4)
    np.testing.assert_array_equal(same.trajectory(params, TIMES)[0], mp.trajectory(params, TIMES)[0])
    none = tce.ProDMP(**CONFIG, weights_scale=[0.0] * 4)
    goals = params.copy().reshape(2, 3, 5)
    goals[:, :, :4] = 0.0
    np.testing.assert_allclose(
        none.trajectory(params, TIMES)[0], mp.trajectory(goals.reshape(2, 15), TIMES)[0], atol=1e-12)


def test_the_exact_basis_is_near_the_table() -> None:
    params = RNG.normal(size=(1, 15))
    exact = tce.ProDMP(**CONFIG, basis="exact").trajectory(params, TIMES)[0]
    table = tce.ProDMP(**CONFIG).trajectory(params, TIMES)[0]
    assert 0.0 < np.abs(exact - table).max() < 2e-2


def test_one_row_of_times_and_starts_serves_all_episodes(mp) -> None:
    params, pos, vel = RNG.normal(size=(4, 15)), RNG.normal(size=(4, 3)), RNG.normal(size=(4, 3))
    shared = mp.trajectory(params, TIMES, 0.0, pos, vel)
    each = mp.trajectory(params, np.tile(TIMES, (4, 1)), np.zeros(4), pos, vel)
    np.testing.assert_allclose(shared[0], each[0], rtol=0, atol=1e-13)
    np.testing.assert_allclose(shared[1], each[1], rtol=0, atol=1e-12)


def test_paths_start_where_they_are_told_to(mp) -> None:
    params, pos, vel = RNG.normal(size=(4, 15)), RNG.normal(size=(4, 3)), RNG.normal(size=(4, 3))
    got_pos, got_vel = mp.trajectory(params, [0.3], 0.3, pos, vel)
    np.testing.assert_allclose(got_pos[:, 0], pos, atol=1e-12)
    np.testing.assert_allclose(got_vel[:, 0], vel, atol=1e-11)


def test_query_is_one_row_of_the_trajectory(mp) -> None:
    params, pos, vel = RNG.normal(size=15), RNG.normal(size=3), RNG.normal(size=3)
    whole = mp.trajectory([params], TIMES, 0.0, [pos], [vel])
    for i in (0, 17, 49):
        got = mp.query(TIMES[i], params, 0.0, pos, vel)
        np.testing.assert_allclose(got[0], whole[0][0, i], rtol=0, atol=1e-12)
        np.testing.assert_allclose(got[1], whole[1][0, i], rtol=0, atol=1e-11)


def dmp_path(config, params, times, init_time, init_pos, init_vel):
    """Positions and velocities [T] of one DoF by the definition, one step after the other."""
    B, tau, outside = config["n_basis"], config["tau"], config["n_basis_outside"]
    spacing = tau / (B - 2 * outside - 1)
    centres = np.exp(-config["alpha_phase"] * spacing * (np.arange(B + 1) - outside) / tau)
    gaps = np.diff(centres)
    if B == 2:
        gaps[1] *= 2
    widths = config["basis_bandwidth_factor"] / gaps**2

    def scaled(time):
        return max((time - config["delay"]) / tau, 0.0)

    def forcing(u):
        x = np.exp(-config["alpha_phase"] * u)
        exponents = -0.5 * widths * (x - centres[:B]) ** 2
        phi = np.exp(exponents - exponents.max())
        return x * config["weights_scale"] * (phi / phi.sum()) @ params[:B]

    goal = config["goal_scale"] * params[B]
    u, y, z = scaled(init_time), init_pos, tau * init_vel
    path = []
    for time in times:
        step = scaled(time) - u
        z = z + step * (config["alpha"] * (config["alpha"] / 4 * (goal - y) - z) + forcing(u))
        y = y + step * z
        u = scaled(time)
        path.append((y, z / tau))
    return np.array(path).T


@pytest.mark.parametrize("seed", range(103))
def test_a_dmp_is_integrated_from_its_start_time(seed) -> None:
    rng = np.random.default_rng(seed)
    outside = int(rng.integers(0, 2))
    config = dict(
        n_basis=int(rng.integers(2 + 2 * outside, 9)), n_basis_outside=outside, tau=rng.uniform(0.5, 3),
        delay=rng.choice([0.0, rng.uniform(0, 0.5)]), dt=0.01, alpha=rng.uniform(5, 30), alpha_phase=rng.uniform(1, 5),
        basis_bandwidth_factor=rng.uniform(1, 5), weights_scale=rng.uniform(0.1, 5), goal_scale=rng.uniform(0.1, 2))
    D, E, T = int(rng.integers(1, 11)), int(rng.integers(1, 4)), int(rng.integers(1, 300))
    mp = tce.DMP(n_dof=D, **config)
    params = rng.normal(size=(E, D, mp.n_columns))
    pos, vel = rng.normal(size=(2, E, D))

    # starts before the first time, at it, and after it; the same for all episodes, or each its own
    starts = np.full(E, rng.uniform(0, 0.6)) if seed % 2 else rng.uniform(0, 0.6, size=E)
    times = starts.max() + rng.choice([0.0, 0.01, -0.05]) + 0.01 * np.arange(T)
    got = mp.trajectory(params.reshape(E, -1), times, starts, pos, vel)
    for e in range(E):
        for d in range(D):
            want = dmp_path(config, params[e, d], times, starts[e], pos[e, d], vel[e, d])
            for k in range(2):
                np.testing.assert_allclose(got[k][e, :, d], want[k], rtol=0, atol=1e-11 * max(1, np.abs(want[k]).max()))


def test_a_dmp_far_from_its_start_is_refused() -> None:
    mp = tce.DMP(**CONFIG)
    params = np.zeros(mp.n_params)
    with pytest.raises(ValueError, match="start from a later state"):
        mp.query(1.8e9, params)
    mp.query(1.8e9, params, init_time=1.8e9 - 1.0)


@pytest.mark.parametrize("kind", [tce.ProDMP, tce.ProMP, tce.DMP])
def test_backward_agrees_with_differences(kind) -> None:
    mp = kind(**CONFIG)
    params = RNG.normal(size=(2, mp.n_params))
    d_pos, d_vel = RNG.normal(size=(2, 50, 3)), RNG.normal(size=(2, 50, 3))

    def loss(p):
        pos, vel = mp.trajectory(p, TIMES)
        return (pos * d_pos + vel * d_vel).sum()

    got = mp.backward(params, TIMES, d_pos=d_pos, d_vel=d_vel)
    step = np.zeros_like(params)
    for i in (0, mp.n_params - 1):
        step[:] = 0.0
        step[1, i] = 1e-5
        slope = (loss(params + step) - loss(params - step)) / 2e-5
        assert abs(got[1, i] - slope) <= 1e-6 * max(1.0, np.abs(got).max())


def test_basis_times_parameters_is_the_path(mp) -> None:
    params = RNG.normal(size=(1, 15))
    pos, vel = mp.trajectory(params, TIMES)
    weights = params.reshape(3, 5)
    np.testing.assert_allclose(pos[0], mp.basis(TIMES) @ weights.T, atol=1e-12)
    np.testing.assert_allclose(vel[0], mp.basis(TIMES, order=1) @ weights.T, atol=1e-11)
    np.testing.assert_allclose(
        mp.acceleration(params, TIMES)[0], mp.basis(TIMES, order=2) @ weights.T, atol=1e-9)


@pytest.mark.parametrize("shape", [(1, 15, 15), (3, 15, 15)])
def test_factors_as_a_policy_gives_them(mp, shape) -> None:
    mean = RNG.normal(size=(3, 15))
    chol = np.linalg.cholesky(0.1 * np.eye(15) + 0.05)
    want = tce.gauss.sample(mean, chol, tce.Random(7))
    got = tce.gauss.sample(mean, np.broadcast_to(chol, shape), tce.Random(7))
    np.testing.assert_allclose(got, want, rtol=0, atol=1e-12)
    shared = chol[None]
    for one, other in zip(mp.covariance(TIMES, chol), mp.covariance(TIMES, shared)):
        np.testing.assert_array_equal(one, other)
    via = [tce.Via(0.5, 1.0, 0.1)]
    plain, kept = (mp.condition(via, mean[0], factor) for factor in (chol, shared))
    assert kept[1].shape == (1, 15, 15)
    np.testing.assert_array_equal(kept[1][0], plain[1])


def test_what_is_no_lower_factor_is_refused(mp) -> None:
    cov = 0.1 * np.eye(15) + 0.05
    for wrong in (cov, np.linalg.cholesky(cov).T):
        for call in (
            lambda: mp.covariance(TIMES, wrong), lambda: mp.condition([], np.zeros(15), wrong),
        ):
            with pytest.raises(ValueError, match=r"chol\[0, 1\] = .*above the diagonal.*np.linalg.cholesky"):
                call()


@pytest.mark.parametrize("kind", [tce.ProDMP, tce.ProMP])
def test_fit_finds_the_parameters_again(kind) -> None:
    mp = kind(**CONFIG)
    demo, _ = mp.trajectory(RNG.normal(size=(1, mp.n_params)), TIMES)
    params = mp.fit(TIMES, demo[0])
    start_vel = (demo[:, 1] - demo[:, 0]) / (TIMES[1] - TIMES[0])
    pos, _ = mp.trajectory([params], TIMES, TIMES[0], demo[:, 0], start_vel)
    # a ProDMP's start velocity is a difference, hence not exact
    assert np.abs(pos - demo).max() < 0.03 * np.abs(demo).max()


def test_conditioned_mean_passes_the_via_points(mp) -> None:
    via = [tce.Via(0.5, 0.7, 1e-4, dof=1), (0.9, -0.2, 1e-4, 2, 0)]
    mean, chol = mp.condition(via, np.zeros(15), np.eye(15))
    pos, _ = mp.trajectory([mean], [0.5, 0.9])
    assert abs(pos[0, 0, 1] - 0.7) < 1e-3 and abs(pos[0, 1, 2] + 0.2) < 1e-3
    _, before = mp.covariance([0.5], np.eye(15))
    _, after = mp.covariance([0.5], chol)
    assert after[0, 1] < 1e-3 < before[0, 1]


def test_blend_goes_from_one_plan_to_the_other(mp) -> None:
    a, b = RNG.normal(size=15), RNG.normal(size=15)
    pos, vel, acc = tce.blend(mp.plan(a), mp.plan(b), 0.4, 0.6, TIMES)
    from_a, from_b = mp.trajectory([a], TIMES)[0][0], mp.trajectory([b], TIMES)[0][0]
    np.testing.assert_allclose(pos[TIMES < 0.4], from_a[TIMES < 0.4], atol=1e-12)
    np.testing.assert_allclose(pos[TIMES > 0.6], from_b[TIMES > 0.6], atol=1e-12)
    np.testing.assert_array_equal(mp.blend(a, mp.plan(b), 0.4, 0.6, TIMES)[0], pos)
    with pytest.raises(tce.ArgumentError):
        tce.blend(mp.plan(a), tce.ProDMP(n_dof=2).plan(np.zeros(12)), 0.4, 0.6, TIMES)


def test_phases() -> None:
    # natural and smooth phases stop at tau, a rhythmic one begins again
    natural, smooth, rhythmic = (tce.ProMP(**CONFIG, phase=phase) for phase in ("natural", "smooth", "rhythmic"))
    for stopping in (natural, smooth):
        at, beyond = stopping.basis([1.0, 1.25])
        np.testing.assert_array_equal(at, beyond)
    np.testing.assert_allclose(rhythmic.basis([0.0, 0.25]), rhythmic.basis([1.0, 1.25]), atol=1e-12)
    assert np.abs(smooth.basis([0.25]) - natural.basis([0.25])).max() > 0.1


def test_a_primitive_is_saved_and_made_again(mp) -> None:
    store = tce.Store()
    mp.save(store, "mp")
    copy = tce.MovementPrimitive.from_store(store, "mp")
    assert copy.options.n_basis == mp.options.n_basis and copy.options.tau == mp.options.tau
    params = RNG.normal(size=(2, 15))
    np.testing.assert_array_equal(copy.trajectory(params, TIMES)[0], mp.trajectory(params, TIMES)[0])


def test_one_primitive_serves_many_threads(mp) -> None:
    params = RNG.normal(size=(16, 15))
    want = mp.trajectory(params, TIMES)[0]
    demo = want[0]
    fitted = mp.fit(TIMES, demo)
    wrong = []

    def work() -> None:
        for _ in range(100):
            if not np.array_equal(mp.trajectory(params, TIMES)[0], want):
                wrong.append("trajectory")
            if not np.array_equal(mp.fit(TIMES, demo), fitted):
                wrong.append("fit")

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_defaults_that_differ_from_those_of_settings_are_said_in_both_places() -> None:
    defaults = tce._handle.struct(tce._declarations.MpOptions)
    page = (ROOT / "docs" / "settings.md").read_text()
    in_settings = {}
    for line in page.split("\n## mp\n")[1].split("\n## ")[0].splitlines()[2:]:
        key, value, text = (cell.strip() for cell in line.strip("| ").split(" | "))
        library = getattr(defaults, key, None)
        value = value.strip("`")
        here = {"true": 1.0, "false": 0.0}.get(value, float(value) if value[0].isdigit() else None)
        if not isinstance(library, (int, float)) or value != "by the task" and here in (None, library):
            assert "tce_mp_options" not in text, key
            continue
        shown = ("false", "true")[library] if value in ("true", "false") else f"{library:g}"
        assert f"; tce_mp_options and Python: {shown};" in f"{text};", key
        in_settings[key] = {"tau": "as long as the episode", "dt": "that of the task"}.get(key, value)
    assert set(in_settings) >= {"tau", "alpha", "weights_scale"}
    page = (ROOT / "docs" / "python.md").read_text().replace("\n", " ")
    said = page.split("which differ: ")[1].split(". ")[0]
    assert said == ", ".join(f"`{key}` {value}" for key, value in in_settings.items())
