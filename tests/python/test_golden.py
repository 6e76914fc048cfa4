"""The reference numbers, through the Python API."""

from __future__ import annotations

import numpy as np
import pytest

import tce
from shared import assert_close, cases

PATH = 1e-9  # trajectories
VALUE = 1e-8  # likelihoods, projections, losses
GRADIENT = 1e-6  # unless a case says otherwise

KINDS = {"prodmp": tce.ProDMP, "promp": tce.ProMP, "dmp": tce.DMP}
PATHS = ("prodmp", "promp", "dmp")
FITS = ("prodmp_fit", "promp_fit", "dmp_fit")


def keywords(case):
    """The case's primitive: the files write counts as num_…, the keywords as n_…; ``steps`` is the number of times."""
    return {name.replace("num_", "n_"): value for name, value in case["config"].items() if name != "steps"}


def gradient(got, want, case) -> None:
    assert_close(got, want, case.get("grad_tolerance", GRADIENT), least=0.0)


@pytest.mark.parametrize("case", cases("core_mp.json", *PATHS) + cases("core_options.json", *PATHS))
def test_paths(case) -> None:
    mp = KINDS[case["kind"]](**keywords(case))
    pos, vel = mp.trajectory(case["params"], case["times"], case["init_time"], case["init_pos"], case["init_vel"])
    assert_close(pos, case["pos"], PATH)
    assert_close(vel, case["vel"], PATH)


@pytest.mark.parametrize("case", [c for c in cases("core_mp.json", "prodmp")])
def test_pair_likelihoods(case) -> None:
    mp = tce.ProDMP(**keywords(case))
    objective = tce.SegmentObjective(mp, case["times"], case["pairs"], case["init_time"])
    got = objective.log_prob(
        case["pos"], case["policy_mean"], case["policy_chol"], case["init_pos"], case["init_vel"])
    assert_close(got, case["segment_log_prob"], VALUE)


@pytest.mark.parametrize("case", cases("core_mp.json", *FITS) + cases("core_options.json", *FITS))
def test_fits(case) -> None:
    mp = KINDS[case["kind"].partition("_")[0]](**keywords(case))
    got = mp.fit(case["times"][0], case["demo"][0], case["reg"])
    assert_close(got, case["params"][0], 1e-6)
    if "refit_pos" in case:
        pos, _ = mp.trajectory(
            [got], case["times"], case["times"][0][0], case["init_pos"], case["init_vel"])
        assert_close(pos, case["refit_pos"], 1e-6)


@pytest.mark.parametrize("case", cases("core_options.json", "prodmp_acceleration"))
def test_acceleration(case) -> None:
    got = tce.ProDMP(**keywords(case)).acceleration(
        case["params"], case["times"], case["init_time"], case["init_pos"], case["init_vel"])
    assert_close(got, case["acc"], PATH)


@pytest.mark.parametrize("case", cases("core_options.json", "trajectory_covariance"))
def test_path_covariance(case) -> None:
    mp = tce.ProDMP(**keywords(case))
    cov, std = mp.covariance(case["times"][0], case["params_chol"], case["init_time"][0], case["reg"])
    assert_close(cov, case["pos_cov"], PATH)
    assert_close(std, case["pos_std"], PATH)
    cov, _ = mp.covariance(case["times"][0], case["params_chol"], case["init_time"][0], case["reg"], order=1)
    assert_close(cov, case["vel_cov"], PATH)


@pytest.mark.parametrize("case", cases("core_projection.json", "kl_cov"))
def test_kl_covariance(case) -> None:
    projection = tce.Projection("kl", case["dim"], 1.0, case["cov_bound"])
    zero = np.zeros((1, case["dim"]))
    _, chol = projection.project(zero, case["chol"], zero, case["old_chol"])
    assert_close(chol, case["proj_chol"], VALUE)
    _, d_chol = projection.backward(None, case["cotangent"])
    gradient(d_chol, case["grad_chol"], case)


@pytest.mark.parametrize("case", cases("core_projection.json", "kl_mean"))
def test_kl_mean(case) -> None:
    projection = tce.Projection("kl", case["dim"], case["mean_bound"], 1.0)
    mean, _ = projection.project([case["mean"]], case["old_chol"], [case["old_mean"]], case["old_chol"])
    assert_close(mean[0], case["proj_mean"], VALUE)
    assert_close(projection.distances().mean, [case["half_maha"]], VALUE)


@pytest.mark.parametrize("case", cases("core_projection.json", "frobenius_cov"))
def test_frobenius_covariance(case) -> None:
    projection = tce.Projection("frobenius", case["dim"], 1.0, case["cov_bound"])
    zero = np.zeros((1, case["dim"]))
    _, chol = projection.project(zero, case["chol"], zero, case["old_chol"])
    assert_close(chol @ chol.T, case["proj_cov"], VALUE)
    assert_close(projection.distances().cov, [case["distance"]], VALUE)


@pytest.mark.parametrize("case", cases("core_projection.json", "w2_cov"))
def test_w2_covariance(case) -> None:
    projection = tce.Projection("w2", case["dim"], 1.0, case["cov_bound"])
    zero = np.zeros((1, case["dim"]))
    root, old = np.array(case["sqrt"]), np.array(case["old_sqrt"])
    _, chol = projection.project(zero, np.linalg.cholesky(root @ root), zero, np.linalg.cholesky(old @ old))
    want = np.array(case["proj_sqrt"])
    assert_close(chol @ chol.T, want @ want, VALUE)
    assert_close(projection.distances().cov, [case["distance"]], VALUE)


@pytest.mark.parametrize("case", cases("core_options.json", "projection"))
def test_whole_projection(case) -> None:
    diagonal = case["covariance"] == "diagonal"
    projection = tce.Projection(case["projection"], case["dim"], case["mean_bound"], case["cov_bound"], diagonal=diagonal)

    def scale(key: str) -> np.ndarray:
        return np.diag(case[key]) if diagonal else np.array(case[key])

    mean, chol = projection.project(case["mean"], [scale("chol")], case["old_mean"], [scale("old_chol")])
    assert chol.shape == (1, *scale("chol").shape)
    assert_close(mean, case["proj_mean"], VALUE)
    assert_close(chol[0], scale("proj_chol"), VALUE)
    d_mean, d_chol = projection.backward(case["d_mean"], [scale("d_chol")])
    gradient(d_mean, case["grad_mean"], case)
    gradient(d_chol[0], scale("grad_chol"), case)


@pytest.mark.parametrize("case", cases("core_options.json", "entropy_control"))
def test_entropy_control(case) -> None:
    # a projection from the factor to itself: entropy control alone is left
    chol = np.array(case["chol"])
    zero = np.zeros((1, chol.shape[-1]))
    projection = tce.Projection("kl", chol.shape[-1], 1.0, 1.0, entropy="equal" if case["equality"] else "at_least")
    assert_close(tce.gauss.entropy(chol), [case["entropy"]], VALUE)
    _, result = projection.project(zero, chol, zero, chol, entropy_bound=case["bound"])
    assert_close(result, case["result"], VALUE)
    gradient(projection.backward(None, case["d_result"])[1], case["grad_chol"], case)


@pytest.mark.parametrize("case", cases("core_objective.json"))
def test_objective(case) -> None:
    advantages, returns = tce.returns.gae(
        case["rewards"], case["values"], case["dones"], case["gamma"], case["gae_lambda"])
    assert_close(advantages, case["advantages"], VALUE)
    assert_close(returns, case["returns"], VALUE)
    plain = tce.segment.advantage(case["rewards"], case["values"], case["pairs"], case["gamma"], False)
    assert_close(plain.advantages, case["segment_advantage"], VALUE)
    normalised, _ = tce.segment.advantage(case["rewards"], case["values"], case["pairs"], case["gamma"], True)
    assert_close(normalised, case["segment_advantage_normalised"], VALUE)

    start = case["init_pos"], case["init_vel"]
    mp = tce.ProDMP(**keywords(case))
    positions, _ = mp.trajectory(case["sampled_params"], case["times"], case["init_time"], *start)
    objective = tce.SegmentObjective(mp, case["times"], case["pairs"], case["init_time"])
    old = objective.log_prob(positions, case["old_mean"], case["old_chol"], *start)
    assert_close(old, case["log_prob_old"], VALUE)
    got = objective.surrogate(
        positions, case["new_mean"], case["new_chol"], *start, old, normalised)
    assert_close(got.log_prob, case["log_prob_new"], VALUE)
    assert_close(got.loss, case["loss"], VALUE)
    gradient(got.d_mean, case["grad_mean"], case)
    gradient(got.d_chol, case["grad_chol"], case)


@pytest.mark.parametrize("case", cases("core_options.json", "objective_contextual", "objective_clip"))
def test_objective_options(case) -> None:
    mp = tce.ProDMP(**keywords(case))
    positions, _ = mp.trajectory(case["sampled_params"], case["times"], case["init_time"], case["init_pos"])
    objective = tce.SegmentObjective(mp, case["times"], case["pairs"], case["init_time"])
    got = objective.surrogate(
        positions, case["new_mean"], case["new_chol"], case["init_pos"], None, case["log_prob_old"],
        case["advantages"], clip=case.get("clip", 0.0))
    assert_close(got.log_prob, case["log_prob_new"], VALUE)
    assert_close(got.loss, case["loss"], VALUE)
    gradient(got.d_mean, case["grad_mean"], case)
    gradient(got.d_chol, case["grad_chol"], case)
    if "fraction_clipped" in case:
        assert_close(got.stats.fraction_clipped, case["fraction_clipped"], VALUE)


@pytest.mark.parametrize("case", cases("core_options.json", "returns"))
def test_returns(case) -> None:
    advantages, returns = tce.returns.gae(
        case["rewards"], case["values"], case["dones"], case["gamma"], case["gae_lambda"])
    assert_close(advantages, case["gae_advantages"], VALUE)
    assert_close(returns, case["gae_returns"], VALUE)
    advantages, returns = tce.returns.monte_carlo(case["rewards"], case["values"], case["dones"], case["gamma"])
    assert_close(advantages, case["monte_carlo_advantages"], VALUE)
    assert_close(returns, case["monte_carlo_returns"], VALUE)


@pytest.mark.parametrize("case", cases("core_options.json", "segment_advantages"))
def test_segment_advantages(case) -> None:
    given = case["rewards"], case["values"], case["pairs"], case["gamma"]
    assert_close(tce.segment.advantage(*given, False).advantages, case["value_subtraction"], VALUE)
    assert_close(tce.segment.advantage(*given, True).advantages, case["value_subtraction_normalised"], VALUE)
    got = tce.segment.advantage(*given, True, kind="sum", step_advantages=case["step_advantages"])
    assert_close(got.advantages, case["sum_of_normalised_steps_normalised"], VALUE)
    got = tce.segment.advantage(*given, True, kind="reward")
    assert_close(got.advantages, case["accumulated_reward_centred"], VALUE)


@pytest.mark.parametrize("case", cases("core_options.json", "time_points"))
def test_time_points(case) -> None:
    pairs = tce.segment.choose_pairs(case["T"], case["K"], first=case["first"])
    indices = case["indices"]
    assert pairs.tolist() == [list(pair) for pair in zip(indices, indices[1:])]
