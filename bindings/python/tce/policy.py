"""The Gaussian policy: a network gives its mean, a factor its covariance."""

from __future__ import annotations

from ctypes import byref
from typing import Any, Dict, NamedTuple, Optional, Sequence, Tuple, Union

import numpy as np
from numpy.typing import ArrayLike

from ._arrays import Array, Inputs, Shapes, deviations, factor_gradient, integer, one_factor, output, outputs, text
from ._choices import Activation, FirstWeights, PolicyForm, Precision, Spread
from ._declarations import TCE_POLICY_DIAGONAL_SHARED, PolicyOptions
from ._handle import Handle, Owned, constructor, fill, make, struct
from ._library import lib
from .base import Pool, RandomSource
from .gauss import DiagonalGaussian, Gaussian
from .net import STATE, Trained, widths
from .store import Store


_CONTEXTS = Inputs("O", obs="N O")


class Policy(Trained):
    """A Gaussian over n_dims numbers given a context of n_obs: a network gives its mean, a vector or a network its scale.

    form "full" or "diagonal" (one scale for all contexts), "contextual" or "diagonal_contextual" (one per context, from a second
    network, or, diagonal with shared_body, from a second head of the first). spread "softplus" (+ min_std), "exp" or "exp_clipped"
    (log σ in log_std_low … log_std_high). Further keywords: hidden, activation, precision, start, gain_out, cov_hidden,
    cov_activation, initial_std, max_batch, pool, random.
    """

    _kind = "policy"

    @constructor
    def __init__(
        self, n_obs: int, n_dims: int, form: PolicyForm = "full", hidden: Sequence[int] = (128, 128), *,
        activation: Activation = "leaky_relu", precision: Precision = "float", start: FirstWeights = "orthogonal",
        cov_hidden: Optional[Sequence[int]] = None, cov_activation: Optional[Activation] = None,
        spread: Spread = "softplus", shared_body: bool = False, min_std: Optional[float] = None,
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
            options.point(cov_hidden=widths(cov_hidden, "cov_hidden"))
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

    def _shown(self) -> Dict[str, Any]:
        return super()._shown() or {"n_obs": self.n_obs, "n_dims": self.n_dims}

    def __reduce_ex__(self, protocol: Any) -> Any:
        if self._arguments is not None:
            return super().__reduce_ex__(protocol)
        self._check_open()
        store = Store()
        self.save(store, "policy")
        return Policy.from_store, (store, "policy", self._options.max_batch, self.pool)

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

    def predict(self, obs: ArrayLike, out: Optional[Tuple[Array, Array]] = None) -> Union[Gaussian, DiagonalGaussian]:
        """Means [n, P] and factors [1 or n, P, P], or standard deviations [1 or n, P] in the diagonal forms, for contexts [n, n_obs].

        Remembers the batch for :meth:`backward`. ``out``: two arrays of these sizes to write into.
        """
        self._need_weights()
        sizes, (rows,) = _CONTEXTS((self.n_obs,), obs)
        n, P = sizes["N"], self.n_dims
        count = self.n_factors(n)
        mean, scale = outputs(out, (n, P), (count, P) if self._diagonal else (count, P, P))
        with self._lock:
            self._require(n)
            lib.tce_policy_predict(self, n, rows, mean, scale)
        return DiagonalGaussian(mean, scale) if self._diagonal else Gaussian(mean, scale)

    def mean(self, obs: ArrayLike, out: Optional[Array] = None) -> Array:
        """The means [n, P] alone for contexts [n, n_obs]; any number of them, and :meth:`backward` is still of the last :meth:`predict`."""
        self._need_weights()
        sizes, (rows,) = _CONTEXTS((self.n_obs,), obs)
        n = sizes["N"]
        mean = output(out, n, self.n_dims)
        work = np.empty(lib.tce_policy_work_size(self, n))
        with self._lock:
            lib.tce_policy_mean(self, n, rows, work, mean)
        return mean

    def backward(self, d_mean: ArrayLike, d_scale: ArrayLike) -> None:
        """Gradients of the weights of a loss from its gradients to the last prediction, d_mean [n, P] and d_scale, shaped like its scale."""
        shapes = Shapes(P=self.n_dims)
        mean = shapes.array("d_mean", d_mean, "N P")
        kind = deviations if self._diagonal else factor_gradient
        scale, n_cov = kind(shapes, "d_scale", d_scale, episodes="N")
        if n_cov != self.n_factors(shapes["N"]):
            raise ValueError(f"d_scale: {n_cov} scales, expected {self.n_factors(shapes['N'])}")
        with self._lock:
            lib.tce_policy_backward(self, shapes["N"], mean, scale)

    def set_covariance(self, scale: ArrayLike) -> None:
        """Overwrites the shared scale: a factor [P, P] or [1, P, P], or standard deviations [P] or [1, P] in the diagonal form."""
        shapes = Shapes(P=self.n_dims)
        shared = shapes.array("scale", scale, "P", "1 P") if self._diagonal else one_factor(shapes, "chol", scale)
        with self._lock:
            lib.tce_policy_set_covariance(self, shared)


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
