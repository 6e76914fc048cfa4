"""Trust-region projections of Gaussians, with exact gradients and entropy control."""

from __future__ import annotations

from ctypes import byref, c_double
from math import inf
from typing import Any, Dict, NamedTuple, Optional, Tuple, Union

import numpy as np
from numpy.typing import ArrayLike

from ._arrays import Array, Inputs, Shapes, check_lower, integer, number, outputs
from ._choices import EntropyControl, ProjectionKind
from ._declarations import TrplBounds, TrplOptions
from ._handle import Growing, constructor, fill, struct
from ._library import lib
from .base import Pool
from .errors import E_STATE, StateError
from .gauss import DiagonalGaussian, Gaussian, GaussianGradient


# the arrays of a projection, with factors and with standard deviations
_FACTORS = Inputs(
    "P", mean="E P", old_mean="E P", chol="P P or 1 P P or E P P", old_chol="P P or 1 P P or E P P")
_DEVIATIONS = Inputs("P", mean="E P", old_mean="E P", chol="P or 1 P or E P", old_chol="P or 1 P or E P")


class Distances(NamedTuple):
    """What the last projection measured: mean [E], cov and eta (the multiplier of the covariance) [E], or [1] when the covariance is shared."""

    mean: Array
    cov: Array
    eta: Array


class Bounds(NamedTuple):
    """Of the two parts of the distance."""

    mean_bound: float
    cov_bound: float


class Regression(NamedTuple):
    """The trust-region regression loss and its gradients d_mean [E, P] and d_chol, shaped like chol."""

    loss: float
    d_mean: Array
    d_chol: Array


class Projection(Growing):
    """Moves Gaussians to the nearest ones within two bounds of old ones.

    kind        "kl", "w2", "frobenius", or "identity" (moves nothing)
    dim         P
    mean_bound  bound on the mean part of the distance
    cov_bound   bound on the covariance part
    diagonal    True: standard deviations [P], [1, P] or [E, P] take the place of factors
    entropy     "none", "at_least" or "equal": entropy control towards ``entropy_bound`` of :meth:`project`
    entropy_first  True: entropy control before the trust region
    pool        threads, for one covariance per episode

    The C handle is recreated when a batch is larger than any before, or when the covariance becomes shared or ceases to be.
    """

    _kind = "trpl"

    @constructor
    def __init__(
        self, kind: ProjectionKind, dim: int, mean_bound: float, cov_bound: float, *, diagonal: bool = False,
        entropy: EntropyControl = "none", entropy_first: bool = False, pool: Optional[Pool] = None,
    ) -> None:
        self.kind = kind
        self.dim = integer("dim", dim, 1, 2**31 - 1)
        self.pool = pool
        # for one row, so that wrong options are reported here
        options = struct(TrplOptions)
        fill(options, {
            "max_batch": 1, "shared_cov": 1,
            "kind": kind, "entropy": entropy, "dim": dim, "diagonal": bool(diagonal), "entropy_first": bool(entropy_first)})
        options.point(pool=pool)
        super().__init__(options, pool)
        self._diagonal, self._controlled = bool(diagonal), bool(options.entropy)
        self._inputs = _DEVIATIONS if diagonal else _FACTORS
        self._bounds, self._asked = struct(TrplBounds), struct(TrplBounds)
        self.bounds = Bounds(mean_bound, cov_bound)
        self._last: Optional[Tuple[int, Tuple[int, ...], Tuple[int, ...]]] = None

    def _shown(self) -> Dict[str, Any]:
        return {**super()._shown(), **self.bounds._asdict()}

    def _content(self) -> Any:
        return tuple(self.bounds)

    def _restore(self, content: Any) -> None:
        self.bounds = content

    @property
    def bounds(self) -> Bounds:
        """(mean_bound, cov_bound); assign to change them."""
        return Bounds(self._bounds.mean, self._bounds.cov)

    @bounds.setter
    def bounds(self, value: Tuple[float, float]) -> None:
        mean, cov = number("mean_bound", value[0]), number("cov_bound", value[1])
        if not (0.0 < mean < inf and 0.0 < cov < inf):
            raise ValueError(f"mean_bound = {mean}, cov_bound = {cov}: must be finite and > 0")
        self._bounds.mean, self._bounds.cov = mean, cov

    def project(
        self, mean: ArrayLike, chol: ArrayLike, old_mean: ArrayLike, old_chol: ArrayLike, entropy_bound: Optional[float] = None,
        out: Optional[Tuple[Array, Array]] = None,
    ) -> Union[Gaussian, DiagonalGaussian]:
        """Projects (mean [E, P], chol) into the trust region around the old ones.

        chol and old_chol are lower Cholesky factors (``np.linalg.cholesky`` of a covariance), [1, P, P] or [P, P] (one
        covariance for all) or [E, P, P]; with ``diagonal`` standard deviations, [1, P] or [P] or [E, P]. The result has the shape of
        chol; where only one of the two is shared, that one serves every row and the result is [E, P, P].
        ``out``: two arrays for the result, which may be mean and chol themselves.
        """
        sizes, arrays = self._inputs((self.dim,), mean, old_mean, chol, old_chol)
        new, old, scale, old_scale = arrays
        given: Tuple[int, ...] = scale.shape
        n, shared = sizes["E"], 1 if self._diagonal else 2
        if not self._diagonal:
            check_lower("chol", scale)
            check_lower("old_chol", old_scale)
        n_cov = 1 if scale.ndim == shared else scale.shape[0]
        n_old = 1 if old_scale.ndim == shared else old_scale.shape[0]
        if n_old > n_cov:
            scale, n_cov = self._repeat(scale, old_scale.shape), n_old
        if n_cov > n_old:
            old_scale = self._repeat(old_scale, scale.shape)
        if self._controlled and entropy_bound is None:
            raise ValueError("entropy_bound: needed with entropy control")
        entropy = 0.0 if entropy_bound is None else number("entropy_bound", entropy_bound)
        out_mean, out_chol = outputs(out, new.shape, scale.shape)
        with self._lock:
            self._last = None
            self._require(n, shared_cov=int(n_cov == 1))
            bounds = self._asked
            bounds.mean, bounds.cov, bounds.entropy = self._bounds.mean, self._bounds.cov, entropy
            lib.tce_trpl_project(self, n, new, scale, old, old_scale, byref(bounds), out_mean, out_chol)
            self._last = n, scale.shape, given
        return DiagonalGaussian(out_mean, out_chol) if self._diagonal else Gaussian(out_mean, out_chol)

    def _repeat(self, chol: Array, shape: Tuple[int, ...]) -> Array:
        """A shared factor for every row."""
        return np.ascontiguousarray(np.broadcast_to(chol.reshape(1, *shape[1:]), shape))

    @staticmethod
    def _gather(d_chol: Array, given: Tuple[int, ...]) -> Array:
        """The gradient to chol as it was given: that of a factor that served every row is the sum over them."""
        return d_chol if d_chol.shape == given else d_chol.sum(axis=0).reshape(given)

    def _projected(self, what: str) -> Tuple[int, Tuple[int, ...], Tuple[int, ...]]:
        """Rows of the last project, the shape of its result, and that of the chol it was given."""
        if self._last is None:
            raise StateError(E_STATE, "TCE_E_STATE", f"{what} needs a project before it")
        return self._last

    def backward(
        self, d_mean: Optional[ArrayLike] = None, d_chol: Optional[ArrayLike] = None, out: Optional[Tuple[Array, Array]] = None
    ) -> GaussianGradient:
        """Gradients to the mean [E, P] and chol of the last :meth:`project` from those to its results, shaped like these (None: zeros).

        ``out``: two arrays to write into, shaped like its results.
        """
        n, shape, given = self._projected("backward")
        shapes = Shapes(E=n, P=self.dim)
        mean = shapes.array("d_mean", np.zeros((n, self.dim)) if d_mean is None else d_mean, "E P")
        chol = shapes.array("d_chol", np.zeros(shape) if d_chol is None else d_chol, " ".join(map(str, shape)))
        out_mean, out_chol = outputs(out, mean.shape, chol.shape)
        with self._lock:
            lib.tce_trpl_backward(self, n, mean, chol, out_mean, out_chol)
        return GaussianGradient(out_mean, self._gather(out_chol, given))

    def regression(
        self, mean: ArrayLike, chol: ArrayLike, coefficient: float = 1.0, with_cov: bool = True
    ) -> Regression:
        """Trust-region regression loss of the last :meth:`project` and its gradients to mean [E, P] and chol, which is shaped as it was there."""
        n, shape, given = self._projected("regression")
        shapes = Shapes(E=n, P=self.dim)
        new = shapes.array("mean", mean, "E P")
        scale = shapes.array("chol", chol, " ".join(map(str, given)))
        if not self._diagonal:
            check_lower("chol", scale)
        if shape != given:
            scale = self._repeat(scale, shape)
        d_mean, d_chol, loss = np.zeros_like(new), np.zeros_like(scale), c_double()
        with self._lock:
            lib.tce_trpl_regression_add(
                self, n, new, scale, number("coefficient", coefficient), int(bool(with_cov)), byref(loss), d_mean, d_chol)
        return Regression(loss.value, d_mean, self._gather(d_chol, given))

    def distances(self) -> Distances:
        """What the last :meth:`project` measured, before it projected."""
        n, _, _ = self._projected("distances")
        n_cov = 1 if self._options.shared_cov else n
        mean, cov, eta = np.empty(n), np.empty(n_cov), np.empty(n_cov)
        with self._lock:
            lib.tce_trpl_distances(self, n, mean, cov, eta)
        return Distances(mean, cov, eta)
