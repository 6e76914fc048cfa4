"""Paths, likelihoods and projections with gradients for torch. Needs the package torch; imported by ``import tce.torch``.

Arguments are those of the numpy functions, with tensors of any floating type, on any device. libtce computes on the processor, in
double precision; results have the type and the device of ``params`` or ``mean``. There are no second derivatives. Arguments that get no
gradient are constants, tensors or arrays: they must not change until the gradients are computed, and a tensor among them that requires
a gradient is refused.
"""

from __future__ import annotations

from typing import Any, Optional, Tuple, Union

from ._arrays import Array
from .gauss import log_prob as _gauss_log_prob
from .gauss import log_prob_backward as _gauss_log_prob_backward
from .mp import MovementPrimitive
from .segment import SegmentObjective
from .trpl import Projection

try:
    import torch
    from torch import Tensor
    from torch.autograd.function import once_differentiable
except ImportError as reason:
    raise ImportError("tce.torch needs the package torch: pip install 'libtce[torch]'") from reason

# numbers that get no gradient
Constant = Union[Tensor, Array, float]

__all__ = ["log_prob", "project", "segment_log_prob", "trajectory"]


def _array(value: Any) -> Any:
    """A tensor as an array of doubles, without a copy where it is one; anything else as it is."""
    return value.detach().to("cpu", torch.float64).contiguous().numpy() if isinstance(value, Tensor) else value


def _like(tensor: Tensor, values: Array) -> Tensor:
    return torch.from_numpy(values).to(tensor.device, tensor.dtype)


def _constants(**given: Any) -> None:
    """ValueError for a tensor that waits for a gradient that nobody computes."""
    for name, value in given.items():
        if isinstance(value, Tensor) and value.requires_grad:
            raise ValueError(f"{name}: no gradient to it is computed; give {name}.detach()")


def _tensors(**given: Any) -> None:
    for name, value in given.items():
        if not isinstance(value, Tensor) or not value.is_floating_point():
            raise TypeError(f"{name}: expected a tensor of floating-point numbers, not {type(value).__name__}")


# ---- paths ------------------------------------------------------------------------------------------


class _Trajectory(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, mp: MovementPrimitive, params: Tensor, *grid: Any) -> Tuple[Tensor, Tensor]:
        ctx.save_for_backward(params)
        ctx.set_materialize_grads(False)
        ctx.mp, ctx.grid = mp, grid
        pos, vel = mp.trajectory(_array(params), *grid)
        return _like(params, pos), _like(params, vel)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, d_pos: Optional[Tensor], d_vel: Optional[Tensor]) -> Any:
        params, = ctx.saved_tensors
        d_params = ctx.mp.backward(_array(params), *ctx.grid, _array(d_pos), _array(d_vel))
        return (None, _like(params, d_params), *(None for _ in ctx.grid))


def trajectory(
    mp: MovementPrimitive, params: Tensor, times: Constant, init_time: Constant = 0.0, init_pos: Optional[Constant] = None,
    init_vel: Optional[Constant] = None,
) -> Tuple[Tensor, Tensor]:
    """Positions and velocities [E, T, D] of E parameter vectors: ``mp.trajectory`` with gradients to params [E, P], learnt tau and delay included.

    times [T] or [E, T], seconds; init_time a number or [E]; init_pos, init_vel [E, D] (None: zeros).
    """
    _tensors(params=params)
    _constants(times=times, init_time=init_time, init_pos=init_pos, init_vel=init_vel)
    paths: Tuple[Tensor, Tensor] = _Trajectory.apply(mp, params, *map(_array, (times, init_time, init_pos, init_vel)))
    return paths


# ---- likelihoods ------------------------------------------------------------------------------------


class _LogProb(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, mean: Tensor, scale: Tensor, name: str) -> Tensor:
        ctx.save_for_backward(x, mean, scale)
        ctx.name = name
        return _like(mean, _gauss_log_prob(_array(x), _array(mean), **{name: _array(scale)}))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, d_out: Tensor) -> Any:
        x, mean, scale = ctx.saved_tensors
        found = _gauss_log_prob_backward(_array(x), _array(mean), d_out=_array(d_out), **{ctx.name: _array(scale)})
        return _like(x, found.d_x), _like(mean, found.d_mean), _like(scale, found.d_scale), None


def log_prob(x: Tensor, mean: Tensor, chol: Optional[Tensor] = None, *, std: Optional[Tensor] = None) -> Tensor:
    """log N(x; mean, scale) [E], with gradients to x, mean and the scale.

    x, mean [E, P]; scale: chol [P, P], [1, P, P] or [E, P, P], a lower Cholesky factor, or std [P], [1, P] or [E, P].
    """
    if (chol is None) == (std is None):
        raise TypeError("give chol or std, and not both")
    name = "std" if chol is None else "chol"
    scale = std if chol is None else chol
    _tensors(x=x, mean=mean, **{name: scale})
    out: Tensor = _LogProb.apply(x, mean, scale, name)
    return out


class _SegmentLogProb(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, objective: SegmentObjective, mean: Tensor, chol: Tensor, *paths: Any) -> Tensor:
        ctx.save_for_backward(mean, chol)
        ctx.objective, ctx.paths = objective, paths
        positions, *start = paths
        ctx.found = objective.log_prob(positions, _array(mean), _array(chol), *start)
        return _like(mean, ctx.found.copy())

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, d_out: Tensor) -> Any:
        # The gradient of -mean(ratio * advantage) where the ratio is 1 is that of -mean(log_prob * advantage).
        mean, chol = ctx.saved_tensors
        positions, *start = ctx.paths
        advantages = -float(ctx.found.size) * _array(d_out)
        found = ctx.objective.surrogate(positions, _array(mean), _array(chol), *start, ctx.found, advantages)
        return (None, _like(mean, found.d_mean), _like(chol, found.d_chol), *(None for _ in ctx.paths))


def segment_log_prob(
    objective: SegmentObjective, positions: Constant, mean: Tensor, chol: Tensor, init_pos: Optional[Constant] = None,
    init_vel: Optional[Constant] = None,
) -> Tensor:
    """Log-likelihoods [E, J] of the segments of paths positions [E, T, D] under N(mean, chol): ``objective.log_prob`` with gradients to mean and chol.

    mean [E, P]; chol [P, P], [1, P, P] or [E, P, P], a lower Cholesky factor; init_pos, init_vel [E, D] (None: zeros). In gradients the
    objective's regularisation is a constant, as in TCE.
    """
    _tensors(mean=mean, chol=chol)
    _constants(positions=positions, init_pos=init_pos, init_vel=init_vel)
    out: Tensor = _SegmentLogProb.apply(objective, mean, chol, *map(_array, (positions, init_pos, init_vel)))
    return out


# ---- projections ------------------------------------------------------------------------------------


class _Project(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, projection: Projection, mean: Tensor, scale: Tensor, *old: Any) -> Tuple[Tensor, Tensor]:
        ctx.save_for_backward(mean, scale)
        ctx.set_materialize_grads(False)
        ctx.projection, ctx.old, ctx.bounds = projection, old, projection.bounds
        new_mean, new_scale = projection.project(_array(mean), _array(scale), *old)
        ctx.last = projection._last
        return _like(mean, new_mean), _like(scale, new_scale)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, d_mean: Optional[Tensor], d_scale: Optional[Tensor]) -> Any:
        mean, scale = ctx.saved_tensors
        projection = ctx.projection
        if projection._last is not ctx.last:
            # it has projected something else since then
            now, projection.bounds = projection.bounds, ctx.bounds
            projection.project(_array(mean), _array(scale), *ctx.old)
            projection.bounds, ctx.last = now, projection._last
        found = projection.backward(_array(d_mean), _array(d_scale))
        return (None, _like(mean, found.d_mean), _like(scale, found.d_scale), *(None for _ in ctx.old))


def project(
    projection: Projection, mean: Tensor, chol: Tensor, old_mean: Constant, old_chol: Constant, entropy_bound: Optional[float] = None
) -> Tuple[Tensor, Tensor]:
    """The Gaussians (mean [E, P], chol) in the trust region around the old ones: ``projection.project`` with gradients to mean and chol.

    chol and old_chol are lower Cholesky factors, [P, P], [1, P, P] or [E, P, P], or of a diagonal projection standard deviations, [P],
    [1, P] or [E, P]. A projection may be used several times before the gradients are computed, by one thread.
    """
    _tensors(mean=mean, chol=chol)
    _constants(old_mean=old_mean, old_chol=old_chol)
    new: Tuple[Tensor, Tensor] = _Project.apply(projection, mean, chol, _array(old_mean), _array(old_chol), entropy_bound)
    return new
