"""Trust-region projections of Gaussians, with exact gradients and entropy control."""

from __future__ import annotations

from ctypes import byref, c_double
from math import inf
from typing import Any, NamedTuple, Optional, Tuple, Union

import numpy as np

from ._arrays import Array, Shapes, check_lower, deviations, factor, integer, number
from ._choices import argument
from ._declarations import TrplBounds, TrplOptions
from ._handle import Growing, fill, struct, unknown
from ._library import lib
from .base import Pool
from .errors import E_STATE, StateError
from .gauss import DiagonalGaussian, Gaussian, GaussianGradient


class Distances(NamedTuple):
    """What the last projection measured; covariance numbers are [1] when the covariance is shared."""

    mean: Array
    cov: Array
    eta: Array


class Bounds(NamedTuple):
    """Of the two parts of the distance."""

    mean_bound: float
    cov_bound: float


class Regression(NamedTuple):
    """The trust-region regression loss and its gradients."""

    loss: float
    d_mean: Array
    d_chol: Array


class Projection(Growing):
    """Moves Gaussians to the nearest ones within two bounds of old ones.

    kind        "kl", "w2", "frobenius", or "identity" (moves nothing)
    dim         P
    mean_bound  bound on the mean part of the distance
    cov_bound   bound on the covariance part
    diagonal    True: standard deviations [P], [1, P] or [E, P] stand where factors are named
    entropy     "none", "at_least" or "equal": entropy control towards ``entropy_bound`` of :meth:`project`
    entropy_first  True: entropy control before the trust region
    pool        threads, for one covariance per episode

    The C handle is made again when a batch is larger than all before, or when the covariance is shared and was not, or the reverse.
    """

    _kind = "trpl"

    def __init__(
        self, kind: str, dim: int, mean_bound: float, cov_bound: float, *, diagonal: bool = False,
        entropy: str = "none", entropy_first: bool = False, pool: Optional[Pool] = None, **other: Any,
    ) -> None:
        unknown("Projection", other, ("kind", "dim", "mean_bound", "cov_bound", "diagonal", "entropy",
                                      "entropy_first", "pool"))
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
        self.bounds = Bounds(mean_bound, cov_bound)
        self._last: Optional[Tuple[int, Tuple[int, ...], Tuple[int, ...]]] = None

    @property
    def bounds(self) -> Bounds:
        """(mean_bound, cov_bound); assign to change them."""
        return Bounds(self._bounds.mean, self._bounds.cov)

    @bounds.setter
    def bounds(self, value: Tuple[float, float]) -> None:
        bounds = struct(TrplBounds)
        bounds.mean, bounds.cov = number("mean_bound", value[0]), number("cov_bound", value[1])
        if not (0.0 < bounds.mean < inf and 0.0 < bounds.cov < inf):
            raise ValueError(f"mean_bound = {bounds.mean}, cov_bound = {bounds.cov}: must be finite and > 0")
        self._bounds = bounds

    def project(
        self, mean: Any, chol: Any, old_mean: Any, old_chol: Any, entropy_bound: Optional[float] = None
    ) -> Union[Gaussian, DiagonalGaussian]:
        """Projects (mean [E, P], chol) into the trust region around the old ones.

        chol and old_chol are lower Cholesky factors (``np.linalg.cholesky`` of a covariance), [1, P, P] or [P, P] (one
        covariance for all) or [E, P, P]. The result has the shape of chol; where only one of the two is shared, that one
        serves every row and the result is [E, P, P].
        """
        shapes = Shapes(P=self.dim)
        mean = shapes.array("mean", mean, "E P")
        old_mean = shapes.array("old_mean", old_mean, "E P")
        scale = deviations if self._options.diagonal else factor
        chol, n_cov = scale(shapes, "chol", chol)
        old_chol, n_old = scale(shapes, "old_chol", old_chol)
        given = chol.shape
        if n_old > n_cov:
            chol, n_cov = self._repeat(chol, old_chol.shape), n_old
        if n_cov > n_old:
            old_chol = self._repeat(old_chol, chol.shape)
        if self._options.entropy and entropy_bound is None:
            raise ValueError("entropy_bound: needed with entropy control")
        bounds = self._bounds.changed(entropy=0.0 if entropy_bound is None else number("entropy_bound", entropy_bound))
        out_mean, out_chol = np.empty_like(mean), np.empty_like(chol)
        with self._lock:
            self._last = None
            self._require(shapes["E"], shared_cov=int(n_cov == 1))
            lib.tce_trpl_project(
                self, shapes["E"], mean, chol, old_mean, old_chol, byref(bounds), out_mean, out_chol)
            self._last = shapes["E"], chol.shape, given
        return DiagonalGaussian(out_mean, out_chol) if self._options.diagonal else Gaussian(out_mean, out_chol)

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

    def backward(self, d_mean: Any = None, d_chol: Any = None) -> GaussianGradient:
        """Gradients to the mean and chol of the last :meth:`project` from those to its results (None: zeros)."""
        n, shape, given = self._projected("backward")
        shapes = Shapes(E=n, P=self.dim)
        d_mean = shapes.array("d_mean", np.zeros((n, self.dim)) if d_mean is None else d_mean, "E P")
        d_chol = shapes.array("d_chol", np.zeros(shape) if d_chol is None else d_chol, " ".join(map(str, shape)))
        out_mean, out_chol = np.empty_like(d_mean), np.empty_like(d_chol)
        with self._lock:
            lib.tce_trpl_backward(self, n, d_mean, d_chol, out_mean, out_chol)
        return GaussianGradient(out_mean, self._gather(out_chol, given))

    def regression(
        self, mean: Any, chol: Any, coefficient: float = 1.0, with_cov: bool = True
    ) -> Regression:
        """Trust-region regression loss of the last :meth:`project` and its gradients to mean and chol."""
        n, shape, given = self._projected("regression")
        shapes = Shapes(E=n, P=self.dim)
        mean = shapes.array("mean", mean, "E P")
        chol = shapes.array("chol", chol, " ".join(map(str, given)))
        if not self._options.diagonal:
            check_lower("chol", chol)
        if shape != given:
            chol = self._repeat(chol, shape)
        d_mean, d_chol, loss = np.zeros_like(mean), np.zeros_like(chol), c_double()
        with self._lock:
            lib.tce_trpl_regression_add(
                self, n, mean, chol, number("coefficient", coefficient), int(bool(with_cov)), byref(loss), d_mean, d_chol)
        return Regression(loss.value, d_mean, self._gather(d_chol, given))

    def distances(self) -> Distances:
        """What the last :meth:`project` measured, before it projected."""
        n, _, _ = self._projected("distances")
        n_cov = 1 if self._options.shared_cov else n
        mean, cov, eta = np.empty(n), np.empty(n_cov), np.empty(n_cov)
        with self._lock:
            lib.tce_trpl_distances(self, n, mean, cov, eta)
        return Distances(mean, cov, eta)
