"""Gaussians, projection, and the segment objective."""

from __future__ import annotations

import numpy as np
import pytest

import tce

RNG = np.random.default_rng(5)


@pytest.fixture(autouse=True)
def same_numbers_in_any_order() -> None:
    global RNG
    RNG = np.random.default_rng(5)


def factors(n: int, dim: int) -> np.ndarray:
    return np.tril(0.1 * RNG.normal(size=(n, dim, dim)), -1) + np.eye(dim) * RNG.uniform(0.5, 1.5, (n, 1, 1))


def test_log_density_entropy_and_divergence_agree_with_their_formulas() -> None:
    x, mean, chol = RNG.normal(size=(3, 4)), RNG.normal(size=(3, 4)), factors(3, 4)
    other_mean, other = RNG.normal(size=(3, 4)), factors(3, 4)
    cov, other_cov = chol @ chol.transpose(0, 2, 1), other @ other.transpose(0, 2, 1)
    log_prob, entropy = tce.gauss.log_prob(x, mean, chol), tce.gauss.entropy(chol)
    mean_part, cov_part = tce.gauss.kl(mean, chol, other_mean, other)
    for i in range(3):
        d, e = x[i] - mean[i], mean[i] - other_mean[i]
        log_det = np.linalg.slogdet(cov[i])[1]
        assert log_prob[i] == pytest.approx(-0.5 * (d @ np.linalg.solve(cov[i], d) + log_det + 4 * np.log(2 * np.pi)))
        assert entropy[i] == pytest.approx(0.5 * (log_det + 4 * np.log(2 * np.pi * np.e)))
        ratio = np.linalg.solve(other_cov[i], cov[i])
        assert mean_part[i] == pytest.approx(0.5 * e @ np.linalg.solve(other_cov[i], e))
        assert cov_part[i] == pytest.approx(0.5 * (np.trace(ratio) - 4 - np.linalg.slogdet(ratio)[1]))


def test_gaussian_gradients_agree_with_differences() -> None:
    x, mean, chol, weight = RNG.normal(size=(3, 4)), RNG.normal(size=(3, 4)), factors(1, 4), RNG.normal(size=3)
    got = tce.gauss.log_prob_backward(x, mean, chol, weight)
    d_mean, d_chol = tce.gauss.kl_backward(mean, chol, x, factors(1, 4) * 0 + np.eye(4), weight, weight)
    d_entropy = tce.gauss.entropy_backward(chol, [2.0])
    h = 1e-6
    step = np.zeros_like(chol)
    step[0, 2, 1] = h
    slope = weight @ (tce.gauss.log_prob(x, mean, chol + step) - tce.gauss.log_prob(x, mean, chol - step)) / (2 * h)
    assert got.d_scale[0, 2, 1] == pytest.approx(slope, rel=1e-6)
    parts = [sum(tce.gauss.kl(mean, chol + s * step, x, np.eye(4))) @ weight for s in (1, -1)]
    assert d_chol[0, 2, 1] == pytest.approx((parts[0] - parts[1]) / (2 * h), rel=1e-5)
    shift = np.zeros_like(mean)
    shift[1, 3] = h
    slope = weight @ (tce.gauss.log_prob(x, mean + shift, chol) - tce.gauss.log_prob(x, mean - shift, chol)) / (2 * h)
    assert got.d_mean[1, 3] == pytest.approx(slope, rel=1e-6) == -got.d_x[1, 3]
    parts = [sum(tce.gauss.kl(mean + s * shift, chol, x, np.eye(4))) @ weight for s in (1, -1)]
    assert d_mean[1, 3] == pytest.approx((parts[0] - parts[1]) / (2 * h), rel=1e-5)
    np.testing.assert_allclose(np.diag(d_entropy[0]), 2.0 / np.diag(chol[0]))


def test_deviations_are_a_diagonal_factor() -> None:
    x, mean, other_mean = RNG.normal(size=(3, 3, 4))
    std, other_std = np.exp(RNG.normal(size=(2, 4)))
    chol, other, weight = np.diag(std), np.diag(other_std), RNG.normal(size=3)
    np.testing.assert_allclose(tce.gauss.log_prob(x, mean, std=std), tce.gauss.log_prob(x, mean, chol))
    np.testing.assert_allclose(tce.gauss.entropy(std=std), tce.gauss.entropy(chol))
    np.testing.assert_allclose(
        tce.gauss.kl(mean, None, other_mean, std=std, other_std=other_std), tce.gauss.kl(mean, chol, other_mean, other), rtol=1e-10)
    np.testing.assert_allclose(tce.gauss.sample(mean, std=std, normals=x), mean + std * x)
    for got, want in (
        (tce.gauss.log_prob_backward(x, mean, d_out=weight, std=std), tce.gauss.log_prob_backward(x, mean, chol, weight)),
        (tce.gauss.kl_backward(mean, None, other_mean, None, weight, weight, std=std, other_std=other_std),
         tce.gauss.kl_backward(mean, chol, other_mean, other, weight, weight)),
    ):
        np.testing.assert_allclose(got.d_mean, want.d_mean, rtol=1e-10)
        np.testing.assert_allclose(got.d_scale, np.diag(want.d_scale), rtol=1e-10)
    np.testing.assert_allclose(tce.gauss.entropy_backward(d_out=[2.0], std=std), 2.0 / std)
    with pytest.raises(TypeError, match="chol or std, and not both"):
        tce.gauss.log_prob(x, mean, chol, std=std)
    with pytest.raises(TypeError, match="random or normals, and not both"):
        tce.gauss.sample(mean, chol)


def test_a_squashed_sample_is_the_tanh_of_one() -> None:
    mean, normals, weight = RNG.normal(size=(3, 4)), RNG.normal(size=(3, 4)), RNG.normal(size=3)
    std = np.exp(RNG.normal(size=(3, 4)))
    actions, log_prob = tce.gauss.squash(mean, normals, std=std)
    u = mean + std * normals
    np.testing.assert_allclose(actions, np.tanh(u))
    np.testing.assert_allclose(log_prob, tce.gauss.log_prob(u, mean, std=std) - np.log(1 - actions**2 + 1e-6).sum(1))
    np.testing.assert_allclose(tce.gauss.squash_log_prob(mean, actions, std=std), log_prob)
    d_mean, _ = tce.gauss.squash_backward(mean, normals, None, None, weight, std=std)
    np.testing.assert_allclose(d_mean, weight[:, None] * 2 * actions * (1 - actions**2) / (1 - actions**2 + 1e-6))
    d_mean, _ = tce.gauss.squash_log_prob_backward(mean, actions, d_out=weight, std=std)
    np.testing.assert_allclose(d_mean, weight[:, None] * (u - mean) / std**2)


def test_samples_have_the_mean_and_covariance() -> None:
    chol = factors(1, 2)[0]
    x = tce.gauss.sample(np.tile([1.0, -2.0], (20000, 1)), chol, tce.Random(3))
    np.testing.assert_allclose(x.mean(0), [1.0, -2.0], atol=0.05)
    np.testing.assert_allclose(np.cov(x.T), chol @ chol.T, atol=0.08)


@pytest.mark.parametrize("kind", ["kl", "w2", "frobenius"])
@pytest.mark.parametrize("shape", [(4, 4), (1, 4, 4), (6, 4, 4)])
def test_projection_keeps_shapes_and_grows_with_the_batch(kind, shape) -> None:
    projection = tce.Projection(kind, 4, 0.05, 0.001)
    chol, old = factors(6, 4)[: shape[0] if len(shape) == 3 else 1].reshape(shape), factors(6, 4)
    old = old[: shape[0] if len(shape) == 3 else 1].reshape(shape)
    for n in (2, 6, 3) if len(shape) == 2 or shape[0] == 1 else (6,):
        mean, old_mean = RNG.normal(size=(n, 4)), RNG.normal(size=(n, 4))
        new_mean, new_chol = projection.project(mean, chol, old_mean, old)
        assert new_mean.shape == (n, 4) and new_chol.shape == shape
        d_mean, d_chol = projection.backward(np.ones((n, 4)), np.ones(shape))
        assert d_mean.shape == (n, 4) and d_chol.shape == shape
        # a second projection finds everything within the bounds
        again_mean, again_chol = projection.project(new_mean, new_chol, old_mean, old)
        np.testing.assert_allclose(again_mean, new_mean, atol=1e-9)
        np.testing.assert_allclose(again_chol, new_chol, atol=1e-9)
        assert (projection.distances().cov <= 0.001 * (1 + 1e-6)).all()


def test_what_is_no_lower_factor_is_refused() -> None:
    chol = factors(5, 3)
    cov = chol @ chol.transpose(0, 2, 1)
    mean, zero = RNG.normal(size=(5, 3)), np.zeros((5, 3))
    projection = tce.Projection("kl", 3, 0.1, 0.01)
    projection.project(mean, chol, zero, chol)
    for wrong in (cov, chol.transpose(0, 2, 1)):
        for call in (
            lambda: projection.project(mean, wrong, zero, chol), lambda: projection.project(mean, chol, zero, wrong),
            lambda: projection.regression(mean, wrong),
            lambda: tce.gauss.log_prob(mean, zero, wrong), lambda: tce.gauss.kl(mean, chol, zero, wrong),
            lambda: tce.gauss.sample(mean, wrong, 1), lambda: tce.gauss.entropy(wrong),
            lambda: tce.Policy(2, 3, random=1).set_covariance(wrong[0]),
        ):
            with pytest.raises(ValueError, match=r"chol\[0, (0, )?1\] = .*above the diagonal.*np.linalg.cholesky"):
                call()
    diagonal = tce.Projection("kl", 3, 0.1, 0.01, diagonal=True)
    with pytest.raises(ValueError, match="chol: shape"):
        diagonal.project(mean, np.eye(3)[None], zero, np.ones(3))


def test_factors_that_come_out_can_go_in_again() -> None:
    # nothing but zeros above the diagonal, also where an output was not cleared
    mean, zero = RNG.normal(size=(5, 3)), np.zeros((5, 3))
    for form in ("full", "contextual", "diagonal"):
        policy = tce.Policy(3, 3, form, [4], random=1)
        _, chol = policy.predict(mean)
        for kind in ("kl", "w2", "frobenius", "identity"):
            projection = tce.Projection(kind, 3, 0.1, 0.01, diagonal=form == "diagonal", entropy="equal")
            projection.project(*projection.project(mean, chol, zero, chol, 9.0), zero, chol, 9.0)


def test_random_numbers_from_a_seed_or_a_numpy_generator() -> None:
    policy = tce.Policy(3, 3, random=1)
    np.testing.assert_array_equal(policy.weights, tce.Policy(3, 3, random=tce.Random(1)).weights)
    np.testing.assert_array_equal(policy.weights, tce.Policy(3, 3, random=np.int64(1)).weights)
    drawn = [tce.Policy(3, 3, random=np.random.default_rng(5)).weights for _ in range(2)]
    np.testing.assert_array_equal(*drawn)
    assert not np.array_equal(policy.weights, drawn[0])

    calls = [
        lambda random: tce.segment.choose_pairs(1000, 3, random), lambda random: tce.gauss.sample(np.zeros((1, 2)), np.eye(2), random),
        policy.start]
    for call in calls:
        generator = np.random.default_rng(2)
        for random in (3, generator, tce.Random(3)):
            call(random)
        # a generator moves on
        assert generator.bit_generator.state != np.random.default_rng(2).bit_generator.state
        for wrong in (np.random.RandomState(1), 1.5, "1", True):
            with pytest.raises(TypeError, match="random: .*expected a tce.Random, a seed .*numpy.random.Generator"):
                call(wrong)
        with pytest.raises(ValueError, match="random: -1"):
            call(-1)


def test_without_weights_nothing_is_computed() -> None:
    policy, net = tce.Policy(2, 3), tce.Net(2, 1)
    for call in (
        lambda: policy.predict(np.eye(2)), lambda: net.forward(np.eye(2)), lambda: net.pass_mse(np.eye(2), np.ones((2, 1))),
    ):
        with pytest.raises(tce.StateError, match="no weights yet: .*random=.*start or load"):
            call()
    policy.start(4)
    net.weights = np.ones(net.n_weights)
    assert np.abs(policy.predict(np.eye(2))[0]).max() > 0.0
    assert np.abs(net.forward(np.eye(2))).max() > 0.0


def test_projection_inside_the_bounds_is_the_identity() -> None:
    projection = tce.Projection("kl", 3, 10.0, 10.0)
    mean, chol = RNG.normal(size=(2, 3)) * 0.1, factors(1, 3)
    got = projection.project(mean, chol, np.zeros((2, 3)), chol)
    np.testing.assert_array_equal(got[0], mean)
    np.testing.assert_array_equal(got[1], chol)


def test_a_shared_old_factor_serves_contextual_ones() -> None:
    projection = tce.Projection("kl", 3, 0.1, 0.01)
    mean, chol, old = RNG.normal(size=(4, 3)), factors(4, 3), factors(1, 3)
    got = projection.project(mean, chol, mean, old)
    want = projection.project(mean, chol, mean, np.repeat(old, 4, 0))
    np.testing.assert_array_equal(got[1], want[1])


@pytest.mark.parametrize("shape", [(3, 3), (1, 3, 3)])
def test_a_shared_factor_serves_contextual_old_ones(shape) -> None:
    projection = tce.Projection("kl", 3, 0.1, 0.01)
    mean, old_mean, chol, old = RNG.normal(size=(4, 3)), RNG.normal(size=(4, 3)), factors(1, 3), factors(4, 3)
    d_mean, d_chol = RNG.normal(size=(4, 3)), np.tril(RNG.normal(size=(4, 3, 3)))
    want = projection.project(mean, np.repeat(chol, 4, 0), old_mean, old)
    want_d = projection.backward(d_mean, d_chol)
    want_loss = projection.regression(mean, np.repeat(chol, 4, 0))
    got = projection.project(mean, chol.reshape(shape), old_mean, old)
    got_d = projection.backward(d_mean, d_chol)
    got_loss = projection.regression(mean, chol.reshape(shape))
    np.testing.assert_array_equal(got[0], want[0])
    np.testing.assert_array_equal(got[1], want[1])
    # every row's share of the gradient goes to the one factor
    np.testing.assert_array_equal(got_d[0], want_d[0])
    np.testing.assert_allclose(got_d[1], want_d[1].sum(0).reshape(shape))
    assert got_loss[0] == want_loss[0]
    np.testing.assert_allclose(got_loss[2], want_loss[2].sum(0).reshape(shape))


def test_bounds_can_be_changed() -> None:
    projection = tce.Projection("kl", 3, 0.1, 0.01)
    mean, chol = RNG.normal(size=(1, 3)) + 5, factors(1, 3)
    near, _ = projection.project(mean, chol, np.zeros((1, 3)), chol)
    projection.bounds = 1.0, 0.01
    far, _ = projection.project(mean, chol, np.zeros((1, 3)), chol)
    assert projection.bounds == (1.0, 0.01)
    assert np.linalg.norm(far) == pytest.approx(np.sqrt(10) * np.linalg.norm(near))
    with pytest.raises(ValueError, match="cov_bound = 0.0"):
        projection.bounds = 1.0, 0.0
    assert projection.bounds == (1.0, 0.01)
    # also when the handle is recreated
    np.testing.assert_allclose(projection.project(np.repeat(mean, 3, 0), chol, np.zeros((3, 3)), chol)[0][1], far[0])


def test_entropy_is_kept_up() -> None:
    projection = tce.Projection("kl", 3, 0.1, 0.01, entropy="at_least")
    mean, chol = np.zeros((1, 3)), factors(1, 3)
    bound = tce.gauss.entropy(chol)[0] + 0.5
    _, new = projection.project(mean, chol, mean, chol, entropy_bound=bound)
    assert tce.gauss.entropy(new)[0] == pytest.approx(bound)
    with pytest.raises(ValueError, match="entropy_bound"):
        projection.project(mean, chol, mean, chol)


def test_regression_pulls_towards_the_projected_gaussian() -> None:
    projection = tce.Projection("kl", 3, 0.1, 0.01)
    mean, chol, old = RNG.normal(size=(2, 3)) + 2, factors(1, 3), factors(1, 3)
    new_mean, _ = projection.project(mean, chol, np.zeros((2, 3)), old)
    loss, d_mean, d_chol = projection.regression(mean, chol, 2.0)
    assert loss > 0.0 and d_chol.shape == chol.shape
    assert (np.einsum("ep,ep->e", d_mean, mean - new_mean) > 0.0).all()


@pytest.fixture
def setting():
    mp = tce.ProDMP(n_dof=2, n_basis=3, tau=1.0, dt=0.02)
    times = np.linspace(0.02, 1.0, 50)
    pairs = tce.segment.choose_pairs(50, 10, tce.Random(1))
    mean = RNG.normal(size=(5, 8))
    params = mean + 0.3 * RNG.normal(size=(5, 8))
    pos, vel = RNG.normal(size=(5, 2)), np.zeros((5, 2))
    positions, _ = mp.trajectory(params, times, 0.0, pos, vel)
    return mp, times, pairs, positions, mean, pos, vel


def test_shapes_of_shared_factors_are_kept(setting) -> None:
    mp, times, pairs, positions, mean, pos, vel = setting
    objective = tce.SegmentObjective(mp, times, pairs, 0.0)
    chol, advantages = factors(1, 8), RNG.normal(size=(5, len(pairs)))
    old = objective.log_prob(positions, mean, chol, pos, vel)
    flat = objective.surrogate(positions, mean, chol[0], pos, vel, old, advantages)
    one = objective.surrogate(positions, mean, chol, pos, vel, old, advantages)
    each = objective.surrogate(positions, mean, np.repeat(chol, 5, 0), pos, vel, old, advantages)
    assert flat.d_chol.shape == (8, 8) and one.d_chol.shape == (1, 8, 8) and each.d_chol.shape == (5, 8, 8)
    assert flat.loss == one.loss == pytest.approx(-advantages.mean()) == pytest.approx(each.loss)
    np.testing.assert_allclose(each.d_chol.sum(0), flat.d_chol, atol=1e-9)
    np.testing.assert_allclose(each.d_mean, one.d_mean, atol=1e-9)
    for result in (flat, one, each):
        assert result.stats.ratio_mean == pytest.approx(1.0) and result.stats.loss == result.loss
        np.testing.assert_allclose(result.log_prob, old, atol=1e-9)


def test_the_number_of_episodes_comes_from_the_data(setting) -> None:
    mp, times, pairs, positions, mean, pos, vel = setting
    objective = tce.SegmentObjective(mp, times, pairs, 0.0)
    chol = factors(1, 8)
    whole = objective.log_prob(positions, mean, chol, pos, vel)
    few = objective.log_prob(positions[:2], mean[:2], chol, pos[:2], vel[:2])
    assert whole.shape == (5, len(pairs))
    np.testing.assert_allclose(few, whole[:2], atol=1e-9)
    many = objective.log_prob(*(np.repeat(x, 3, 0) for x in (positions, mean)), chol,
                              *(np.repeat(x, 3, 0) for x in (pos, vel)))
    np.testing.assert_allclose(many[::3], whole, atol=1e-9)


def test_times_and_starts_of_each_episode(setting) -> None:
    mp, times, pairs, positions, mean, pos, vel = setting
    chol = factors(1, 8)
    shared = tce.SegmentObjective(mp, times, pairs, 0.0).log_prob(positions, mean, chol, pos, vel)
    rows = tce.SegmentObjective(mp, np.tile(times, (5, 1)), pairs, np.zeros(5))
    np.testing.assert_allclose(rows.log_prob(positions, mean, chol, pos, vel), shared, atol=1e-8)
    with pytest.raises(ValueError, match=r"positions: shape \[2, 50, 2\], expected \[E=5, T=50, D=2\]"):
        rows.log_prob(positions[:2], mean[:2], chol, pos[:2], vel[:2])

    # different starts: each episode on its own has the same likelihoods up to the common regularisation
    starts = np.array([0.0, 0.1, 0.0, 0.2, 0.1])
    grid = times + starts[:, None]
    paths, _ = mp.trajectory(mean + 0.1, grid, starts, pos, vel)
    whole = tce.SegmentObjective(mp, grid, pairs, starts, reg=1e-6).log_prob(paths, mean, chol, pos, vel)
    one = tce.SegmentObjective(mp, grid[3], pairs, starts[3], reg=1e-6)
    np.testing.assert_allclose(
        one.log_prob(paths[3:4], mean[3:4], chol, pos[3:4], vel[3:4])[0], whole[3], rtol=1e-2, atol=1e-2)


def test_masked_segments_take_no_part(setting) -> None:
    mp, times, pairs, positions, mean, pos, vel = setting
    objective = tce.SegmentObjective(mp, times, pairs, 0.0)
    chol, advantages = factors(1, 8), RNG.normal(size=(5, len(pairs)))
    old = objective.log_prob(positions, mean, chol, pos, vel)
    mask = np.ones(advantages.shape, bool)
    mask[4] = False
    got = objective.surrogate(positions, mean, chol, pos, vel, old, advantages, mask=mask)
    assert got.loss == pytest.approx(-advantages[:4].mean())
    assert (got.d_mean[4] == 0.0).all() and (got.d_mean[:4] != 0.0).any()


def test_ended_episodes_are_masked() -> None:
    rewards, values = np.ones((2, 10)), np.zeros((2, 11))
    got = tce.segment.advantage(rewards, values, [[0, 4], [4, 8]], 1.0, False, lengths=[10, 3])
    assert got.mask.tolist() == [[1, 1], [1, 0]]
    assert got.advantages[0].tolist() == [4.0, 4.0]
    got = tce.segment.advantage(None, None, [[0, 4]], 1.0, False, kind="sum", step_advantages=RNG.normal(size=(2, 10)))
    assert got.advantages.shape == (2, 1) and got.mask.tolist() == [[1], [1]]


def test_surrogate_of_any_likelihoods() -> None:
    log_prob, old, advantages = RNG.normal(size=6), RNG.normal(size=6), RNG.normal(size=6)
    loss, gradient, stats = tce.returns.surrogate(log_prob, old, advantages)
    ratio = np.exp(log_prob - old)
    assert loss == pytest.approx(-(ratio * advantages).mean()) == stats.loss
    np.testing.assert_allclose(gradient, -ratio * advantages / 6)


def test_normalise_returns_a_copy() -> None:
    x = RNG.normal(size=(3, 4))
    before = x.copy()
    got = tce.returns.normalise(x)
    np.testing.assert_array_equal(x, before)
    assert got.mean() == pytest.approx(0.0, abs=1e-12) and got.std(ddof=1) == pytest.approx(1.0, rel=1e-6)


def test_time_pairs_are_drawn_and_checked() -> None:
    assert tce.segment.choose_pairs(100, 25, first=1)[0].tolist() == [1, 5]
    chosen = tce.segment.choose_pairs(100, 10, tce.Random(2), selection="random")
    assert chosen.shape == (9, 2) and (chosen[:, 0] < chosen[:, 1]).all() and (chosen[1:, 0] == chosen[:-1, 1]).all()
    with pytest.raises(tce.ArgumentError):
        tce.segment.choose_pairs(10, 11, tce.Random(0))
    with pytest.raises(ValueError, match="either random or first"):
        tce.segment.choose_pairs(10, 5)


def test_results_are_the_same_bytes_for_any_number_of_threads(setting) -> None:
    mp, times, pairs, positions, mean, pos, vel = setting
    chol, advantages = factors(5, 8), RNG.normal(size=(5, len(pairs)))
    results = []
    for n in (1, 2, 5):
        with tce.Pool(n) as pool:
            assert pool.n_threads == n
            objective = tce.SegmentObjective(mp, times, pairs, 0.0, pool=pool)
            old = np.zeros((5, len(pairs))) + objective.log_prob(positions, mean, chol, pos, vel).mean()
            results.append(objective.surrogate(positions, mean, chol, pos, vel, old, advantages))
            del objective
    for result in results[1:]:
        assert result.loss == results[0].loss and result.stats == results[0].stats
        for name in ("d_mean", "d_chol", "log_prob"):
            np.testing.assert_array_equal(getattr(result, name), getattr(results[0], name))
