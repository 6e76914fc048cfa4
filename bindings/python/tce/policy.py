"""The Gaussian policy: mean by a network, covariance by its factor."""

from __future__ import annotations

from ctypes import byref
from typing import Any, NamedTuple, Optional, Sequence, Union

import numpy as np

from ._arrays import Array, Shapes, deviations, factor_gradient, integer, number, one_factor, text
from ._declarations import TCE_POLICY_DIAGONAL_SHARED, PolicyOptions
from ._handle import Handle, Owned, fill, make, struct
from ._library import lib
from .base import Pool, RandomSource
from .gauss import DiagonalGaussian, Gaussian
from .net import STATE, Trained, adam, widths
from .store import Store


class Policy(Trained):
    """A Gaussian over n_dims numbers given a context of n_obs: mean by a network, scale by a vector or a network.

    form "full" or "diagonal" (one scale for all contexts), "contextual" or "diagonal_contextual" (one per context, from a second
    network, or, diagonal with shared_body, from a second head of the first). spread "softplus" (+ min_std), "exp" or "exp_clipped"
    (log σ in log_std_low … log_std_high). Further keywords: hidden, activation, precision, start, gain_out, cov_hidden,
    cov_activation, initial_std, max_batch, pool, random.
    """

    _kind = "policy"

    def __init__(
        self, n_obs: int, n_dims: int, form: str = "full", hidden: Sequence[int] = (128, 128), *,
        activation: str = "leaky_relu", precision: str = "float", start: str = "orthogonal",
        cov_hidden: Optional[Sequence[int]] = None, cov_activation: Optional[str] = None,
        spread: str = "softplus", shared_body: bool = False, min_std: Optional[float] = None,
        initial_std: Optional[float] = None, log_std_low: Optional[float] = None, log_std_high: Optional[float] = None,
        gain_out: Optional[float] = None, max_batch: int = 1, pool: Optional[Pool] = None, random: Optional[RandomSource] = None,
    ) -> None:
        options = struct(PolicyOptions)
        fill(options, {
            "n_obs": n_obs, "n_dims": n_dims, "n_hidden": len(hidden), "max_batch": max_batch, "form": form,
            "activation": activation, "precision": precision, "start": start, "cov_activation": cov_activation,
            "spread": spread, "shared_body": bool(shared_body), "min_std": min_std, "initial_std": initial_std,
            "log_std_low": log_std_low, "log_std_high": log_std_high, "gain_out": gain_out})
        options.point(hidden=widths(hidden), pool=pool)
        if cov_hidden is not None:
            options.n_cov_hidden = len(cov_hidden)
            options.point(cov_hidden=widths(cov_hidden))
        super().__init__(options, pool, random)
        self.n_obs, self.n_dims = int(n_obs), int(n_dims)
        self._diagonal = form.startswith("diagonal")

    @classmethod
    def from_store(cls, store: Store, prefix: str, max_batch: int = 1, pool: Optional[Pool] = None) -> "Policy":
        """A policy from what :meth:`save` left under a prefix."""
        policy = cls.__new__(cls)
        Handle.__init__(policy)
        policy._use(pool)
        policy.pool, policy._started = pool, True
        policy._options = _Restored(
            integer("max_batch", max_batch, 1, 2**31 - 1), None if pool is None else pool._check_open())
        policy._owned = policy._own(policy._options.create(store, text("prefix", prefix)))
        policy._diagonal = int(np.atleast_1d(store[f"{prefix}.form"])[0]) >= TCE_POLICY_DIAGONAL_SHARED
        policy.n_obs = int(lib.tce_policy_n_obs(policy))
        policy.n_dims = int(lib.tce_policy_n_dims(policy))
        return policy

    def _make(self, options: Any) -> Owned:
        if not isinstance(options, _Restored):
            return super()._make(options)
        with Store() as state:
            lib.tce_policy_save(self, state, STATE)
            return self._own(options.create(state, STATE))

    def n_factors(self, n: int) -> int:
        """How many scales :meth:`predict` returns for n contexts: 1 or n."""
        return int(lib.tce_policy_n_factors(self, n))

    @property
    def diagonal(self) -> bool:
        """Whether scales are standard deviations."""
        return self._diagonal

    def predict(self, obs: Any) -> Union[Gaussian, DiagonalGaussian]:
        """Means [n, P] and factors [1 or n, P, P], or standard deviations [1 or n, P] in the diagonal forms, for contexts [n, n_obs].

        Remembers the batch for :meth:`backward`.
        """
        self._need_weights()
        shapes = Shapes(O=self.n_obs, P=self.n_dims)
        obs = shapes.array("obs", obs, "N O")
        mean = shapes.empty("N P")
        count = self.n_factors(shapes["N"])
        scale = np.empty((count, self.n_dims) if self.diagonal else (count, self.n_dims, self.n_dims))
        with self._lock:
            self._require(shapes["N"])
            lib.tce_policy_predict(self, shapes["N"], obs, mean, scale)
        return DiagonalGaussian(mean, scale) if self.diagonal else Gaussian(mean, scale)

    def mean(self, obs: Any) -> Array:
        """The means [n, P] alone; any number of contexts, and :meth:`backward` is still of the last :meth:`predict`."""
        self._need_weights()
        shapes = Shapes(O=self.n_obs, P=self.n_dims)
        obs = shapes.array("obs", obs, "N O")
        mean = shapes.empty("N P")
        work = np.empty(lib.tce_policy_work_size(self, shapes["N"]))
        with self._lock:
            lib.tce_policy_mean(self, shapes["N"], obs, work, mean)
        return mean

    def backward(self, d_mean: Any, d_scale: Any) -> None:
        """Gradients of the weights of a loss from its gradients to the last prediction."""
        shapes = Shapes(P=self.n_dims)
        d_mean = shapes.array("d_mean", d_mean, "N P")
        scale = deviations if self.diagonal else factor_gradient
        d_scale, n_cov = scale(shapes, "d_scale", d_scale, episodes="N")
        if n_cov != self.n_factors(shapes["N"]):
            raise ValueError(f"d_scale: {n_cov} scales, expected {self.n_factors(shapes['N'])}")
        with self._lock:
            lib.tce_policy_backward(self, shapes["N"], d_mean, d_scale)

    @property
    def gradient_norm(self) -> float:
        """The Euclidean norm of the gradient of all weights together."""
        with self._lock:
            return float(lib.tce_policy_gradient_norm(self))

    def scale_gradient(self, factor: float) -> None:
        """Multiplies the gradient (norm clip)."""
        with self._lock:
            lib.tce_policy_scale_gradient(self, number("factor", factor))

    def adam_step(self, **options: Any) -> None:
        """One Adam step on the present gradient; options as in :func:`tce.net.adam`."""
        with self._lock:
            lib.tce_policy_adam_step(self, byref(adam(**options)))

    def set_covariance(self, scale: Any) -> None:
        """Overwrites the shared scale: a factor [P, P] or [1, P, P], or standard deviations [P] or [1, P] in the diagonal form."""
        shapes = Shapes(P=self.n_dims)
        scale = shapes.array("scale", scale, "P", "1 P") if self.diagonal else one_factor(shapes, "chol", scale)
        with self._lock:
            lib.tce_policy_set_covariance(self, scale)

    @property
    def gradient(self) -> Array:
        """The present gradient of the weights, as a copy."""
        out = np.empty(self.n_weights)
        with self._lock:
            lib.tce_policy_get_gradient(self, out)
        return out


class _Restored(NamedTuple):
    """In place of options for a policy whose options are in a store."""

    max_batch: int
    pool: Optional[Owned]

    def create(self, store: Store, prefix: bytes) -> int:
        options = struct(PolicyOptions)
        options.max_batch = self.max_batch
        options.point(pool=self.pool)
        return make(lib.tce_policy_create_from, store, prefix, byref(options), None)

    def changed(self, max_batch: int) -> "_Restored":
        return self._replace(max_batch=max_batch)
