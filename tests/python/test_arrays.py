"""Arrays cross the border without copies where they can, and with a clear error where they cannot."""

from __future__ import annotations

import ctypes
import gc
import weakref

import numpy as np
import pytest

import tce
from tce import _library
from tce._declarations import MpGrid, MpPlan
from tce._pointers import Float64


@pytest.fixture
def mp() -> tce.ProDMP:
    return tce.ProDMP(n_dof=2, n_basis=3, tau=1.0, dt=0.02)


def addresses(arrays) -> list:
    return [array.ctypes.data for array in arrays]


def record(monkeypatch: pytest.MonkeyPatch, name: str) -> list:
    """Replaces a C function by one that keeps its arguments and calls it."""
    function = getattr(_library.lib, name)
    seen = []

    def call(*arguments):
        seen.append(arguments)
        return function(*arguments)

    monkeypatch.setattr(_library.lib, name, call)
    return seen


def test_contiguous_doubles_are_passed_where_they_lie(mp, monkeypatch) -> None:
    params, times = np.ones((3, mp.n_params)), np.linspace(0, 1, 5)
    starts, pos, vel = np.zeros(3), np.ones((3, 2)), np.ones((3, 2))
    seen = record(monkeypatch, "tce_mp_trajectory")
    out_pos, out_vel = mp.trajectory(params, times, starts, pos, vel)
    (_, grid, *given, _), = seen
    grid = grid._obj
    assert addresses(given) == addresses([params, out_pos, out_vel])
    assert (grid.times, grid.init_time) == (times.ctypes.data, starts.ctypes.data)
    assert (grid.init_pos, grid.init_vel) == (pos.ctypes.data, vel.ctypes.data)


def test_results_can_be_written_into_given_arrays(mp) -> None:
    params, times = np.ones((3, mp.n_params)), np.linspace(0, 1, 5)
    want = mp.trajectory(params, times)
    pos, vel = np.empty((3, 5, 2)), np.empty((3, 5, 2))
    got = mp.trajectory(params, times, out=(pos, vel))
    assert got[0] is pos and got[1] is vel
    np.testing.assert_array_equal(pos, want[0])
    np.testing.assert_array_equal(vel, want[1])
    fixed = np.empty((3, 5, 2))
    fixed.setflags(write=False)
    for wrong in (np.empty((3, 5, 2), np.float32), np.empty((3, 2, 5)).transpose(0, 2, 1), fixed, [[0.0]]):
        with pytest.raises(ValueError, match="out: expected"):
            mp.trajectory(params, times, out=(wrong, vel))
    with pytest.raises(ValueError, match=r"out: shape \[3, 5\], expected \[3, 5, 2\]"):
        mp.trajectory(params, times, out=(np.empty((3, 5)), vel))


def results():
    """Calls that take out=, with what they give without."""
    random = np.random.default_rng(1)
    mp = tce.ProDMP(n_dof=2, n_basis=3, tau=1.0, dt=0.02)
    P = mp.n_params
    params, times, chol = random.normal(size=(3, P)), np.linspace(0.1, 1, 5), np.tril(0.1 * random.normal(size=(P, P)), -1) + np.eye(P)
    paths, means = mp.trajectory(params, times).pos, random.normal(size=(3, P))
    projection = tce.Projection("kl", P, 0.01, 0.001)
    objective = tce.SegmentObjective(mp, times, [[0, 2], [2, 4]])
    policy, net = tce.Policy(4, P, random=1), tce.Net(4, 3, [8], random=1)
    obs, normaliser = random.normal(size=(3, 4)), tce.Normaliser(4)
    normaliser.update(obs)
    one = [params, times, 0.0, None, None]
    segment = [paths, means, chol, None, None]
    each, ones = np.stack([chol, chol, 2.0 * chol]), np.ones(3)
    calls = {
        "acceleration": (mp.acceleration, one), "mp.backward": (mp.backward, [*one, np.ones((3, 5, 2))]),
        "covariance": (mp.covariance, [times, chol]), "log_prob": (tce.gauss.log_prob, [params, means, chol]),
        "sample": (tce.gauss.sample, [params, chol, 7]), "project": (projection.project, [params, chol, means, np.eye(P)]),
        "trpl.backward": (projection.backward, [params, chol]), "segment.log_prob": (objective.log_prob, segment),
        "surrogate": (objective.surrogate, [*segment, np.zeros((3, 2)), np.ones((3, 2))]), "predict": (policy.predict, [obs]),
        "policy.mean": (policy.mean, [obs]), "forward": (net.forward, [obs]), "net.backward": (net.backward, [np.ones((3, 3))]),
        "backward_input": (net.backward_input, [np.ones((3, 3))]), "apply": (normaliser.apply, [obs]),
        "log_prob_backward": (tce.gauss.log_prob_backward, [params, means, each, ones]),
        "entropy_backward": (tce.gauss.entropy_backward, [each, ones]), "kl_backward": (tce.gauss.kl_backward, [params, each, means, np.eye(P), ones, ones]),
        "squash": (tce.gauss.squash, [means, params, each]), "squash_backward": (tce.gauss.squash_backward, [means, params, each, params, ones]),
        "squash_log_prob_backward": (tce.gauss.squash_log_prob_backward, [means, 0.1 * params, each, ones])}
    return [pytest.param(*call, id=name) for name, call in calls.items()]


@pytest.mark.parametrize("function, arguments", results())
def test_large_results_are_written_where_they_are_wanted(function, arguments) -> None:
    want = function(*arguments)
    arrays = [want] if isinstance(want, np.ndarray) else [part for part in want if isinstance(part, np.ndarray)]
    out = [np.full_like(array, np.nan) for array in arrays]
    got = function(*arguments, out=out[0] if isinstance(want, np.ndarray) else tuple(out))
    parts = [got] if isinstance(got, np.ndarray) else [part for part in got if isinstance(part, np.ndarray)]
    for array, part, wanted in zip(out, parts, arrays):
        assert part is array
        np.testing.assert_array_equal(array, wanted)
    wrong = [array[..., :1].copy() for array in out]
    with pytest.raises(ValueError, match="out: shape .*, expected "):
        function(*arguments, out=wrong[0] if isinstance(want, np.ndarray) else tuple(wrong))


def test_projection_inputs_are_passed_where_they_lie(monkeypatch) -> None:
    projection = tce.Projection("kl", 4, 0.05, 0.001)
    mean, old_mean = np.ones((2, 4)), np.zeros((2, 4))
    chol, old_chol = np.eye(4)[None], 2.0 * np.eye(4)[None]
    seen = record(monkeypatch, "tce_trpl_project")
    projection.project(mean, chol, old_mean, old_chol)
    assert addresses(seen[0][2:6]) == addresses([mean, chol, old_mean, old_chol])


def test_surrogate_inputs_are_passed_where_they_lie(mp, monkeypatch) -> None:
    times = np.linspace(0.1, 1, 10)
    objective = tce.SegmentObjective(mp, times, [[0, 4], [4, 9]], 0.0)
    mean, chol = np.zeros((3, mp.n_params)), np.eye(mp.n_params)[None]
    pos, vel = np.zeros((3, 2)), np.zeros((3, 2))
    positions, _ = mp.trajectory(mean, times, 0.0, pos, vel)
    old, advantages = objective.log_prob(positions, mean, chol, pos, vel), np.ones((3, 2))
    mask = np.ones((3, 2), bool)
    seen = record(monkeypatch, "tce_segment_surrogate")
    objective.surrogate(positions, mean, chol, pos, vel, old, advantages, mask=mask)
    paths = seen[0][1]._obj
    given = {"positions": positions, "mean": mean, "L": chol, "init_pos": pos, "init_vel": vel, "log_prob_old": old,
             "advantages": advantages, "mask": mask}
    assert {name: getattr(paths, name) for name in given} == {name: array.ctypes.data for name, array in given.items()}


@pytest.mark.parametrize("array", [np.ones((3, 4)), np.ones((0, 4)), np.ones(5)[2:], np.ones(())], ids=lambda array: str(array.shape))
@pytest.mark.parametrize("writeable", [True, False])
def test_c_gets_the_address_of_an_array(array, writeable) -> None:
    array.setflags(write=writeable)
    assert ctypes.cast(Float64.from_param(array), ctypes.c_void_p).value == array.ctypes.data
    assert Float64.address(array) == array.ctypes.data


@pytest.mark.parametrize("array", [np.ones(3, np.float32), np.ones(3, np.int64), np.ones(6)[::2], np.ones((2, 3)).T, np.ones(3, ">f8")])
def test_an_array_that_c_would_misread_is_refused(array) -> None:
    with pytest.raises(ctypes.ArgumentError, match="expected a C-contiguous array of float64"):
        _library.lib.tce_returns_normalise(3, None, array)
    with pytest.raises(TypeError, match="expected a C-contiguous array of float64"):
        MpGrid().point(times=array)


def test_a_struct_keeps_what_it_points_to() -> None:
    grid, times, mp = MpGrid(), np.ones(4), tce.ProDMP(n_dof=1)
    watched = weakref.ref(times)
    grid.point(times=times, init_pos=None)
    del times
    gc.collect()
    assert grid.times == watched().ctypes.data and grid.init_pos is None
    grid.point(times=np.zeros(4))
    gc.collect()
    assert watched() is None

    plan, handle = MpPlan(), weakref.ref(mp._owned)
    plan.point(mp=mp)
    mp.close()
    gc.collect()
    assert plan.mp == handle().value
    del plan
    gc.collect()
    assert handle() is None


@pytest.mark.parametrize("change", [
    lambda x: x.astype(np.float32), np.asfortranarray, lambda x: x.tolist(),
    lambda x: np.repeat(x, 2, axis=1)[:, ::2], lambda x: x.astype(">f8")])
def test_other_arrays_are_converted(mp, change) -> None:
    params = np.round(np.random.default_rng(1).normal(size=(4, mp.n_params)), 2).astype(np.float32).astype(float)
    times = np.linspace(0, 1, 7)
    np.testing.assert_array_equal(mp.trajectory(change(params), times)[0], mp.trajectory(params, times)[0])


def test_inputs_are_not_written(mp) -> None:
    params = np.ones((2, mp.n_params))
    params.setflags(write=False)
    mp.trajectory(params, [0.5])
    assert (params == 1.0).all()


@pytest.mark.parametrize("params, message", [
    (np.ones((2, 5)), r"params: shape \[2, 5\], expected \[E, P=8\]"),
    (np.ones(8), r"params: shape \[8\], expected \[E, P=8\]"),
    (np.ones((2, 8)) * 1j, "params: an array of complex128, expected numbers"),
    ([["a"] * 8], "params: an array of <U1, expected numbers")])
def test_wrong_arrays_are_named(mp, params, message) -> None:
    with pytest.raises(ValueError, match=message):
        mp.trajectory(params, [0.5])


def test_arrays_of_a_call_must_fit_each_other(mp) -> None:
    params = np.ones((2, 8))
    with pytest.raises(ValueError, match=r"init_pos: shape \[3, 2\], expected \[E=2, D=2\]"):
        mp.trajectory(params, [0.5], 0.0, np.ones((3, 2)))
    with pytest.raises(ValueError, match=r"times: shape \[3, 4\], expected \[T\] or \[E=2, T\]"):
        mp.trajectory(params, np.ones((3, 4)))
    with pytest.raises(ValueError, match=r"values .*: shape \[2, 3\], expected \[E=2, N=4\]"):
        tce.returns.gae(np.ones((2, 3)), np.ones((2, 3)), np.zeros((2, 3)), 1.0, 0.9)


@pytest.mark.parametrize("pairs", [[[0, 1.5]], [[0, 2**40]], [["a", "b"]]])
def test_pairs_must_be_integers(mp, pairs) -> None:
    with pytest.raises(ValueError, match="pairs"):
        tce.SegmentObjective(mp, np.linspace(0.1, 1, 10), pairs)


def test_dones_may_be_of_any_type() -> None:
    rewards, values = np.ones((1, 3)), np.ones((1, 4))
    results = [tce.returns.gae(rewards, values, dones, 0.9, 0.8)[0] for dones in (
        [[False, True, False]], [[0, 1, 0]], [[0.0, 1.0, 0.0]], np.array([[0, 1, 0]], np.uint8))]
    for result in results:
        np.testing.assert_array_equal(result, results[0])
