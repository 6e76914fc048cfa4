"""Random streams, pool, store, networks, policy and critic."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import tce

RNG = np.random.default_rng(9)


@pytest.fixture(autouse=True)
def same_numbers_in_any_order() -> None:
    global RNG
    RNG = np.random.default_rng(9)


def test_streams_are_keyed_and_go_on_from_their_state() -> None:
    a, b = tce.Random(1, 2, 3, 4), tce.Random(1, 2, 3, 4)
    assert [a.bits() for _ in range(5)] == [b.bits() for _ in range(5)]
    assert tce.Random(1, 2, 3, 5).bits() != tce.Random(1, 2, 3, 4).bits()
    a.normal()
    copy = a.copy()
    assert a.normal() == copy.normal()
    state = a.state
    drawn = a.normals(7)
    a.state = state
    np.testing.assert_array_equal(a.normals(7), drawn)
    assert 0.0 <= a.uniform() < 1.0 and a.below(10) < 10
    assert sorted(a.permutation(20).tolist()) == list(range(20))
    with pytest.raises(ValueError):
        tce.Random(-1)


def test_the_pool_runs_every_chunk_and_passes_exceptions_on() -> None:
    with tce.Pool(3) as pool:
        seen = np.zeros(100, int)
        threads = set()

        def work(chunk: int, begin: int, end: int, worker: int) -> None:
            assert 0 <= worker < 3
            threads.add(threading.get_ident())
            seen[begin:end] += 1

        pool.run(100, 7, work)
        assert (seen == 1).all()

        def broken(chunk: int, begin: int, end: int, worker: int) -> None:
            if chunk >= 2:
                raise KeyError(chunk)

        with pytest.raises(KeyError, match="2"):
            pool.run(100, 7, broken)
        pool.run(100, 7, work)
        assert (seen == 2).all()


def test_blas_has_one_thread_and_can_be_given_more() -> None:
    assert tce.blas_threads() == 1
    with pytest.raises(ValueError):
        tce.set_blas_threads(0)


def test_a_store_is_a_dictionary_of_arrays_and_texts(tmp_path) -> None:
    arrays = {
        "a": RNG.normal(size=(2, 3)), "b": np.arange(5, dtype=np.int64), "c": np.float32(1.5), "d": np.zeros((0, 4)),
        "e": np.array([True, False]), "f": np.asfortranarray(RNG.normal(size=(3, 4))), "g": np.arange(3, dtype=">i4")}
    store = tce.Store(arrays)
    store["note"] = "ä text"
    store.save(tmp_path / "x.safetensors")
    loaded = tce.Store.load(tmp_path / "x.safetensors")
    assert list(loaded) == sorted(arrays) and len(loaded) == 7
    for name, array in arrays.items():
        np.testing.assert_array_equal(loaded[name], array)
        assert loaded[name].shape == np.shape(array)
    assert loaded["note"] == loaded.text("note") == "ä text"
    assert "a" in loaded and "note" in loaded and "z" not in loaded and loaded.get("z") is None
    with pytest.raises(KeyError):
        loaded["z"]
    with pytest.raises(TypeError, match="complex"):
        store["h"] = np.zeros(2, complex)
    again = tce.Store.parse((tmp_path / "x.safetensors").read_bytes())
    np.testing.assert_array_equal(again["a"], arrays["a"])
    # a copy, not a view into the store
    first = store["a"]
    store["a"] = np.zeros(1)
    np.testing.assert_array_equal(first, arrays["a"])


def test_texts_are_not_cut_at_a_nul_character(tmp_path) -> None:
    store = tce.Store({"note": "whole"})
    with pytest.raises(ValueError, match=r"note: 'first\\x00second' has a NUL character, .* np.frombuffer"):
        store["note"] = "first\0second"
    assert store["note"] == "whole"
    with pytest.raises(ValueError, match="name: .* has a NUL character"):
        store["note\0more"] = "text"
    assert "note\0more" not in store
    with pytest.raises(KeyError, match="NUL"):
        store["note\0more"]
    # the remedy
    store["bytes"] = np.frombuffer("first\0second".encode(), np.uint8)
    store.save(tmp_path / "x")
    assert tce.Store.load(tmp_path / "x")["bytes"].tobytes().decode() == "first\0second"
    # nowhere else either
    net = tce.Net(2, 1, [4], random=tce.Random(1))
    for refused in (
        lambda: tce.Store.load(f"{tmp_path / 'x'}\0y"), lambda: store.save(f"{tmp_path / 'x'}\0y"), lambda: net.save(store, "a\0b"),
        lambda: tce.TaskLibrary("x.so\0y"), lambda: tce.PythonTask(tce.Env, "a\0b"),
        lambda: tce.Rollout(tce.PythonTask(tce.Env), settings="a=1\0b=2"),
    ):
        with pytest.raises(ValueError, match="NUL character"):
            refused()



def test_a_network_computes_and_differentiates() -> None:
    net = tce.Net(3, 2, [8], activation="tanh", precision="double", random=tce.Random(1))
    x, d_out = RNG.normal(size=(5, 3)), RNG.normal(size=(5, 2))
    weights = net.weights
    w1, b1 = weights[:24].reshape(8, 3), weights[24:32]
    w2, b2 = weights[32:48].reshape(2, 8), weights[48:]
    np.testing.assert_allclose(net.forward(x), np.tanh(x @ w1.T + b1) @ w2.T + b2, atol=1e-14)
    d_x = net.backward(d_out)
    hidden = np.tanh(x @ w1.T + b1)
    np.testing.assert_allclose(d_x, (d_out @ w2 * (1 - hidden**2)) @ w1, atol=1e-13)
    np.testing.assert_allclose(net.gradient[32:48].reshape(2, 8), d_out.T @ hidden, atol=1e-13)
    assert net.gradient_norm == pytest.approx(np.linalg.norm(net.gradient))
    net.scale_gradient(2.0)
    assert net.gradient_norm == pytest.approx(np.linalg.norm(net.gradient))


def test_the_two_passes_agree() -> None:
    net = tce.Net(3, 1, [16, 16], precision="double", random=tce.Random(1), max_batch=64)
    x, target = RNG.normal(size=(64, 3)), RNG.normal(size=(64, 1))
    loss = net.pass_mse(x, target)
    gradient = net.gradient

    def squares(begin: int, end: int, out: np.ndarray):
        error = out - target[begin:end]
        return 2.0 * error / 64, (error**2).sum() / 64

    assert net.pass_loss(x, squares) == pytest.approx(loss)
    np.testing.assert_allclose(net.gradient, gradient, atol=1e-14)

    def with_errors(begin: int, end: int, out: np.ndarray):
        error = out - target[begin:end]
        return 2.0 * error / 64, [(error**2).sum() / 64, np.abs(error).sum()]

    sums = net.pass_loss(x, with_errors, n_sums=2)
    assert sums[0] == pytest.approx(loss) and sums[1] == pytest.approx(np.abs(net.forward(x) - target).sum())

    def broken(begin: int, end: int, out: np.ndarray):
        raise ZeroDivisionError("no loss")

    with pytest.raises(ZeroDivisionError, match="no loss"):
        net.pass_loss(x, broken)
    with pytest.raises(ValueError, match="rows"):
        net.pass_mse(x, target, rows=[0, 64])
    some = net.pass_mse(x, target, rows=[3, 5, 7])
    assert some == pytest.approx(((net.forward(x[[3, 5, 7]]) - target[[3, 5, 7]]) ** 2).mean())


def test_training_reduces_the_loss_and_growing_keeps_all_state() -> None:
    x = RNG.normal(size=(32, 2))
    target = np.sin(x[:, :1])
    small = tce.Net(2, 1, [16], random=tce.Random(3))
    large = tce.Net(2, 1, [16], random=tce.Random(3), max_batch=32)
    first = small.pass_mse(x[:1], target[:1])
    assert large.pass_mse(x[:1], target[:1]) == first
    for net in (small, large):
        net.adam_step(learning_rate=0.01)
    # forward of 32 rows makes the small one grow; Adam's moments move along
    np.testing.assert_array_equal(small.forward(x), large.forward(x))
    for _ in range(200):
        losses = [net.pass_mse(x, target) for net in (small, large)]
        for net in (small, large):
            net.adam_step(learning_rate=0.01)
    assert losses[0] == losses[1] < 0.02
    np.testing.assert_array_equal(small.weights, large.weights)


@pytest.mark.parametrize("form, keywords", [
    ("full", {}), ("contextual", {}), ("diagonal", {}), ("diagonal", {"spread": "exp"}),
    ("diagonal_contextual", {"spread": "exp_clipped", "shared_body": True}), ("diagonal_contextual", {"cov_hidden": [5]})])
def test_a_policy_predicts_trains_and_is_saved(form, keywords, tmp_path) -> None:
    policy = tce.Policy(3, 4, form, [8], precision="double", min_std=1e-3, random=tce.Random(1), **keywords)
    obs = RNG.normal(size=(6, 3))
    mean, scale = policy.predict(obs)
    diagonal, contextual = form.startswith("diagonal"), form.endswith("contextual")
    assert policy.diagonal == diagonal
    assert mean.shape == (6, 4) and scale.shape == ((6 if contextual else 1, 4) if diagonal else (6 if contextual else 1, 4, 4))
    if not contextual:
        first = 0.99 if keywords else 0.991
        np.testing.assert_allclose(scale[0], np.full(4, first) if diagonal else np.eye(4) * first, atol=1e-12)
    np.testing.assert_array_equal(policy.mean(obs), mean)
    d_mean, d_scale = RNG.normal(size=mean.shape), RNG.normal(size=scale.shape)
    if not diagonal:
        d_scale = np.tril(d_scale)
    policy.backward(d_mean, d_scale)

    def loss(weights):
        policy.weights = weights
        m, c = policy.predict(obs)
        return (m * d_mean).sum() + (c * d_scale).sum()

    start, gradient = policy.weights, policy.gradient
    for i in (0, policy.n_weights // 2, policy.n_weights - 1):
        step = np.zeros_like(start)
        step[i] = 1e-6
        slope = (loss(start + step) - loss(start - step)) / 2e-6
        assert gradient[i] == pytest.approx(slope, rel=1e-5, abs=1e-7)
    policy.weights = start
    policy.predict(obs)
    policy.backward(d_mean, d_scale)
    assert policy.gradient_norm == pytest.approx(np.linalg.norm(gradient))
    policy.scale_gradient(0.1 / policy.gradient_norm)
    assert policy.gradient_norm == pytest.approx(0.1)
    policy.adam_step(learning_rate=1e-2)
    assert not np.array_equal(policy.weights, start)

    store = tce.Store()
    policy.save(store, "policy")
    store.save(tmp_path / "policy.safetensors")
    loaded = tce.Policy.from_store(tce.Store.load(tmp_path / "policy.safetensors"), "policy")
    assert (loaded.n_obs, loaded.n_dims, loaded.diagonal) == (3, 4, diagonal)
    for got, want in zip(loaded.predict(obs), policy.predict(obs)):
        np.testing.assert_array_equal(got, want)


def test_the_covariance_can_be_set() -> None:
    policy = tce.Policy(2, 3, random=tce.Random(1))
    chol = np.tril(0.1 * RNG.normal(size=(3, 3)), -1) + np.diag([0.5, 1.0, 2.0])
    policy.set_covariance(chol)
    np.testing.assert_allclose(policy.predict(np.zeros((1, 2)))[1][0], chol, atol=1e-9)
    with pytest.raises(tce.UnsupportedError):
        tce.Policy(2, 3, "contextual").set_covariance(chol)
    diagonal = tce.Policy(2, 3, "diagonal", random=tce.Random(1))
    diagonal.set_covariance([0.5, 1.0, 2.0])
    np.testing.assert_allclose(diagonal.predict(np.zeros((1, 2)))[1], [[0.5, 1.0, 2.0]], atol=1e-9)


def test_rows_are_normalised_by_running_statistics() -> None:
    normaliser = tce.Normaliser(2)
    obs = RNG.normal(size=(200, 2)) * 3.0 + 5.0
    normaliser.update(obs)
    statistics = normaliser.statistics
    np.testing.assert_allclose(statistics.mean, obs.mean(0), rtol=1e-3)
    np.testing.assert_allclose(statistics.variance, obs.var(0), rtol=1e-3)
    assert statistics.n == pytest.approx(len(obs), abs=1.0)
    np.testing.assert_allclose(normaliser.apply(obs), (obs - statistics.mean) / np.sqrt(statistics.variance + 1e-8))

    # masked rows do not count, and may be anything
    mask = np.arange(200) % 2 == 0
    obs[~mask] = np.nan
    masked, few = tce.Normaliser(2, divisor="rows_less_one"), tce.Normaliser(2, divisor="rows_less_one")
    masked.update(obs, mask)
    few.update(obs[mask])
    np.testing.assert_array_equal(masked.statistics.variance, few.statistics.variance)

    # returns: divided only, and clipped
    returns = tce.Normaliser(1, centre=False, clip=1.5)
    returns.update(np.full((10, 1), 2.0))
    assert returns.apply([[100.0]])[0, 0] == 1.5
    assert returns.apply([[-100.0]])[0, 0] == -1.5

    store = tce.Store()
    normaliser.save(store, "z")
    other = tce.Normaliser(2)
    other.load(store, "z")
    np.testing.assert_array_equal(other.statistics.mean, statistics.mean)
    with pytest.raises(ValueError, match="divisor"):
        tce.Normaliser(2, divisor="one")


def test_a_network_follows_another_and_gives_its_hidden_layer() -> None:
    net, other = (tce.Net(3, 2, [8], activation="tanh", precision="double", random=tce.Random(i)) for i in (1, 2))
    x, d_out = RNG.normal(size=(5, 3)), RNG.normal(size=(5, 2))
    out = net.forward(x)
    w2, b2 = net.weights[32:48].reshape(2, 8), net.weights[48:]
    assert net.hidden.shape == (5, 8)
    np.testing.assert_allclose(net.hidden @ w2.T + b2, out, atol=1e-14)
    before = net.gradient
    d_x = net.backward_input(d_out)
    np.testing.assert_array_equal(net.gradient, before)
    np.testing.assert_array_equal(net.backward(d_out), d_x)
    want = 0.75 * net.weights + 0.25 * other.weights
    net.average(other, 0.25)
    np.testing.assert_allclose(net.weights, want, atol=1e-15)


def test_objects_keep_their_pool_alive() -> None:
    net = tce.Net(3, 1, [8], pool=tce.Pool(2), max_batch=4096, random=tce.Random(1))
    alone = tce.Net(3, 1, [8], max_batch=4096, random=tce.Random(1))
    x = RNG.normal(size=(4096, 3))
    np.testing.assert_array_equal(net.forward(x), alone.forward(x))


def test_a_trained_policy_that_comes_with_the_package_is_opened_by_its_name(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    agent = tce.load("point_via/tce-1")
    assert agent.task_name == "point_via" and agent.evaluate(20).mean["success"] > 0.9
    with pytest.raises(tce.NotFoundError, match="point_via/tce-99"):
        tce.load("point_via/tce-99")
