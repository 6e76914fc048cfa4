"""tce.torch: values of the numpy functions, gradients by torch's gradcheck, and what cannot work."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Callable, Dict, Tuple

import numpy as np
import pytest
import torch

import tce
import tce.torch

E, D, B, T = 3, 2, 3, 8
TIMES = np.linspace(0.1, 0.9, T)


@pytest.fixture(autouse=True)
def same_numbers_in_any_order() -> None:
    torch.manual_seed(4)


def normal(*size: int, scale: float = 1.0) -> torch.Tensor:
    return (scale * torch.randn(*size, dtype=torch.float64)).requires_grad_()


def factor(entries: torch.Tensor) -> torch.Tensor:
    """A lower factor near the unit matrix, so that gradcheck changes only what it reads."""
    return torch.tril(0.2 * entries, -1) + torch.diag_embed(torch.exp(0.3 * entries.diagonal(dim1=-2, dim2=-1)))


def check(function: Callable[..., Any], *inputs: torch.Tensor) -> None:
    assert torch.autograd.gradcheck(function, inputs, eps=1e-6, atol=1e-6, rtol=1e-5)


MPS: Dict[str, Callable[[], Any]] = {
    "prodmp": lambda: tce.ProDMP(n_dof=D, n_basis=B, relative_goal=True),
    "exact": lambda: tce.ProDMP(n_dof=D, n_basis=B, basis="exact"),
    "promp": lambda: tce.ProMP(n_dof=D, n_basis=B),
    # its steps are wide here
    "dmp": lambda: tce.DMP(n_dof=D, n_basis=B, alpha=5),
}
FORMS = {"one": (), "one row": (1,), "each": (E,)}


@pytest.mark.parametrize("name", MPS)
def test_trajectory_has_the_numbers_and_gradients_of_the_library(name: str) -> None:
    mp = MPS[name]()
    params, start, speed = normal(E, mp.n_params), torch.randn(E, D, dtype=torch.float64), np.ones((E, D))
    pos, vel = tce.torch.trajectory(mp, params, torch.from_numpy(TIMES), 0.1, start, speed)
    want = mp.trajectory(params.detach().numpy(), TIMES, 0.1, start.numpy(), speed)
    np.testing.assert_array_equal(pos.detach().numpy(), want.pos)
    np.testing.assert_array_equal(vel.detach().numpy(), want.vel)
    check(lambda p: tce.torch.trajectory(mp, p, TIMES, 0.1, start, speed), params)
    # one of the two results alone
    check(lambda p: tce.torch.trajectory(mp, p, TIMES)[1], params)


@pytest.mark.parametrize("name", ["exact", "promp", "dmp"])
def test_gradients_reach_a_learnt_duration_and_delay(name: str) -> None:
    kind = {"exact": tce.ProDMP, "promp": tce.ProMP, "dmp": tce.DMP}[name]
    more: Dict[str, Any] = {"exact": {"basis": "exact"}, "promp": {}, "dmp": {"alpha": 5}}[name]
    mp = kind(n_dof=D, n_basis=B, learn_tau=True, learn_delay=True, **more)
    params = torch.cat([torch.tensor([[1.2, 0.05]] * E, dtype=torch.float64), torch.randn(E, mp.n_params - 2, dtype=torch.float64)], 1)
    check(lambda p: tce.torch.trajectory(mp, p, TIMES), params.requires_grad_())


@pytest.mark.parametrize("form", FORMS)
def test_log_prob_is_that_of_torch_and_has_its_gradients(form: str) -> None:
    x, mean, entries, deviations = normal(E, 4), normal(E, 4), normal(*FORMS[form], 4, 4), normal(*FORMS[form], 4)
    full = torch.distributions.MultivariateNormal(mean, scale_tril=factor(entries))
    torch.testing.assert_close(tce.torch.log_prob(x, mean, factor(entries)), full.log_prob(x))
    own = torch.autograd.grad(tce.torch.log_prob(x, mean, factor(entries)).square().sum(), (x, mean, entries))
    torch.testing.assert_close(own, torch.autograd.grad(full.log_prob(x).square().sum(), (x, mean, entries)))
    check(lambda x, m, e: tce.torch.log_prob(x, m, factor(e)), x, mean, entries)
    check(lambda x, m, s: tce.torch.log_prob(x, m, std=torch.exp(s)), x, mean, deviations)


@pytest.mark.parametrize("form", FORMS)
def test_segment_log_prob_has_the_numbers_and_gradients_of_the_library(form: str) -> None:
    mp = tce.ProDMP(n_dof=D, n_basis=B)
    # the regularisation is a constant in gradients and none in differences
    objective = tce.SegmentObjective(mp, TIMES, [[0, 3], [3, 5], [2, 7]], reg=1e-12)
    mean, entries = normal(E, mp.n_params), normal(*FORMS[form], mp.n_params, mp.n_params)
    start = torch.randn(E, D, dtype=torch.float64)
    positions = mp.trajectory((mean + torch.randn_like(mean)).detach().numpy(), TIMES, 0.0, start.numpy())[0]
    out = tce.torch.segment_log_prob(objective, positions, mean, factor(entries), start)
    np.testing.assert_array_equal(
        out.detach().numpy(), objective.log_prob(positions, mean.detach().numpy(), factor(entries).detach().numpy(), start.numpy()))
    check(lambda m, e: tce.torch.segment_log_prob(objective, torch.from_numpy(positions), m, factor(e), start), mean, entries)


def gaussians(form: str, diagonal: bool) -> Tuple[Any, ...]:
    """A new Gaussian outside the bounds of an old one, as a function of what gradcheck changes."""
    mean, entries = normal(E, 3), normal(*FORMS[form], 3) if diagonal else normal(*FORMS[form], 3, 3)
    old_mean = torch.randn(E, 3, dtype=torch.float64)
    old = torch.ones(*FORMS[form], 3, dtype=torch.float64) if diagonal else torch.eye(3, dtype=torch.float64).expand(*FORMS[form], 3, 3)
    return mean, entries, old_mean, old, torch.exp if diagonal else factor


@pytest.mark.parametrize("diagonal", [False, True])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", ["kl", "w2", "frobenius"])
def test_projection_has_the_numbers_and_gradients_of_the_library(kind: Any, form: str, diagonal: bool) -> None:
    projection = tce.Projection(kind, 3, 0.05, 0.005, diagonal=diagonal)
    mean, entries, old_mean, old, scale = gaussians(form, diagonal)
    new = tce.torch.project(projection, mean, scale(entries), old_mean, old)
    want = projection.project(*(value.detach().numpy() for value in (mean, scale(entries), old_mean, old)))
    for got, value in zip(new, want):
        np.testing.assert_array_equal(got.detach().numpy(), value)
    assert not np.allclose(want[0], mean.detach().numpy()) and not np.allclose(want[1], scale(entries).detach().numpy())
    check(lambda m, e: tce.torch.project(projection, m, scale(e), old_mean, old), mean, entries)
    check(lambda m, e: tce.torch.project(projection, m, scale(e), old_mean, old)[0], mean, entries)


def test_projection_with_entropy_control_has_gradients() -> None:
    projection = tce.Projection("kl", 3, 0.05, 0.005, entropy="equal")
    mean, entries, old_mean, old, scale = gaussians("each", False)
    check(lambda m, e: tce.torch.project(projection, m, scale(e), old_mean, old, 3.5), mean, entries)


def test_a_projection_may_be_used_again_before_the_gradients() -> None:
    projection = tce.Projection("kl", 3, 0.05, 0.005)

    def loss(mean: torch.Tensor, entries: torch.Tensor, old_mean: torch.Tensor, old: torch.Tensor, scale: Any) -> torch.Tensor:
        new_mean, new_chol = tce.torch.project(projection, mean, scale(entries), old_mean, old)
        return new_mean.square().sum() + new_chol.square().sum()

    first, second = gaussians("each", False), gaussians("one", False)
    alone = [torch.autograd.grad(loss(*given), given[:2]) for given in (first, second)]
    losses = [loss(*first), loss(*second)]
    projection.bounds = (1.0, 1.0)
    for given, value, want in reversed(list(zip((first, second), losses, alone))):
        for got, one in zip(torch.autograd.grad(value, given[:2]), want):
            assert torch.equal(got, one)
    assert projection.bounds == (1.0, 1.0)


def test_results_have_the_type_of_the_parameters() -> None:
    mp = tce.ProDMP(n_dof=D, n_basis=B)
    params = torch.randn(E, mp.n_params, requires_grad=True)
    pos, vel = tce.torch.trajectory(mp, params, TIMES)
    (pos.sum() + vel.sum()).backward()
    assert pos.dtype == vel.dtype == params.dtype == torch.float32 and params.grad is not None
    exact = tce.torch.trajectory(mp, params.detach().double(), TIMES)[0]
    torch.testing.assert_close(pos.double(), exact, rtol=1e-6, atol=1e-6)


def test_what_cannot_work_is_said() -> None:
    mp = tce.ProDMP(n_dof=D, n_basis=B)
    params, start = normal(E, mp.n_params), normal(E, D)
    with pytest.raises(ValueError, match=r"init_pos: no gradient to it is computed; give init_pos.detach\(\)"):
        tce.torch.trajectory(mp, params, TIMES, 0.0, start)
    with pytest.raises(TypeError, match="params: expected a tensor of floating-point numbers, not ndarray"):
        tce.torch.trajectory(mp, params.detach().numpy(), TIMES)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="params: shape"):
        tce.torch.trajectory(mp, params[:, 1:], TIMES)
    with pytest.raises(TypeError, match="give chol or std"):
        tce.torch.log_prob(params, params)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        first, = torch.autograd.grad(tce.torch.trajectory(mp, params, TIMES)[0].square().sum(), params, create_graph=True)
        first.sum().backward()
    # torch notices when a parameter changes under way
    pos, _ = tce.torch.trajectory(mp, params, TIMES)
    with torch.no_grad():
        params.add_(1.0)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        pos.sum().backward()


def test_program_of_the_page_runs() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "python.md").read_text(encoding="utf-8")
    programs = re.findall(r"^```python torch\n(.*?)^```", page, flags=re.M | re.S)
    assert programs
    for program in programs:
        exec(program, {})
