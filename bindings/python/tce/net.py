"""Networks with Adam, the Gaussian policy and the value function."""

from __future__ import annotations

import ctypes
from ctypes import byref, c_double
from typing import Any, Callable, NamedTuple, Optional, Sequence, Tuple, Union

import numpy as np

from ._arrays import AnyArray, Array, Shapes, factor_gradient, integer, number, one_factor, text
from ._callbacks import Chunks
from ._declarations import AdamOptions, CriticOptions, NetLoss, NetOptions, PolicyOptions
from ._handle import Growing, Handle, Owned, fill, make, struct, unknown
from ._library import lib
from .base import Pool, RandomSource, random_stream
from .errors import E_STATE, StateError
from .gauss import Gaussian
from .store import Store

STATE = b"state"  # where a store has it on the way to a larger handle


def adam(**keywords: Any) -> Any:
    """Adam's options: learning_rate, l2, beta1, beta2, epsilon."""
    unknown("adam", keywords, [field[0] for field in AdamOptions._fields_[1:]])
    options = struct(AdamOptions)
    fill(options, keywords)
    return options


def linear_schedule(done: int, total: int) -> float:
    """The published factor of the learning rate, 1 - 0.99 min(done, total)/total."""
    return float(lib.tce_linear_schedule(integer("done", done, 0), integer("total", total, 0)))


def clip_factor(norm: float, bound: float) -> float:
    """min(1, bound/(norm + 1e-6)); 1 when bound <= 0."""
    return float(lib.tce_clip_factor(number("norm", norm), number("bound", bound)))


def _widths(hidden: Sequence[int]) -> AnyArray:
    return np.array([integer("hidden", h, 1, 2**31 - 1) for h in hidden], np.int32)


class Trained(Growing):
    """What Net, Policy and Critic share: parameters, saving, and growing with the batch.

    The C handle has room for a fixed number of rows; a larger batch moves all state (weights, Adam) to a larger
    handle. Give ``max_batch`` to have the room from the start.

    Weights are drawn from ``random`` (a :class:`tce.Random`, a seed or a numpy generator). Without it there are none until
    :meth:`start`, :meth:`load` or an assignment to :attr:`parameters`, and to compute with them is a StateError.
    """

    def __init__(self, options: Any, pool: Optional[Pool], random: Optional[RandomSource]) -> None:
        super().__init__(options, pool)
        self.pool = pool
        self._started = False
        if random is not None:
            self.start(random)

    def _make(self, options: Any) -> Owned:
        fresh = super()._make(options)
        if self._owned is not None:
            with Store() as state:
                self._function("save")(self, state, STATE)
                self._function("load")(fresh, state, STATE)
        return fresh

    def _weights(self) -> None:
        """StateError while there are no weights to compute with."""
        if not self._started:
            raise StateError(
                E_STATE, "TCE_E_STATE", f"this {type(self).__name__} has no weights yet: make it with random=, for example "
                "random=tce.Random(1), or call start or load, or assign parameters")

    def start(self, random: RandomSource) -> None:
        """Draws the first weights and clears Adam."""
        with self._lock:
            self._function("start")(self, random_stream(random))
            self._started = True

    @property
    def num_parameters(self) -> int:
        """How many numbers are trained."""
        return int(self._function("num_parameters")(self))

    @property
    def parameters(self) -> Array:
        """All of them, as a copy; assign to change them."""
        out = np.empty(self.num_parameters)
        with self._lock:
            self._function("get_parameters")(self, out)
        return out

    @parameters.setter
    def parameters(self, value: Any) -> None:
        value = Shapes(N=self.num_parameters).array("parameters", value, "N")
        with self._lock:
            self._function("set_parameters")(self, value)
            self._started = True

    def save(self, store: Store, prefix: str) -> None:
        """Puts all state (weights, Adam) into a store."""
        with self._lock:
            self._function("save")(self, store, text("prefix", prefix))

    def load(self, store: Store, prefix: str) -> None:
        """Takes all state from a store."""
        with self._lock:
            self._function("load")(self, store, text("prefix", prefix))
            self._started = True


class Net(Trained):
    """A multi-layer perceptron [n, n_in] -> [n, n_out] with its gradient and its Adam.

    hidden [widths], activation "relu", "leaky_relu", "tanh" or "linear", precision "float" or "double", start
    "orthogonal" or "fan_in". Parameters are drawn from ``random``, or come with :meth:`start` or :meth:`load`.
    """

    _kind = "net"

    def __init__(
        self, n_in: int, n_out: int, hidden: Sequence[int] = (128, 128), *, activation: str = "leaky_relu",
        precision: str = "float", start: str = "orthogonal", gain_hidden: Optional[float] = None,
        gain_out: Optional[float] = None, max_batch: int = 1, pool: Optional[Pool] = None,
        random: Optional[RandomSource] = None,
    ) -> None:
        options = struct(NetOptions)
        fill(options, {
            "n_in": n_in, "n_out": n_out, "n_hidden": len(hidden), "max_batch": max_batch, "activation": activation,
            "precision": precision, "start": start, "gain_hidden": gain_hidden, "gain_out": gain_out})
        options.point(hidden=_widths(hidden), pool=pool)
        super().__init__(options, pool, random)
        self.n_in, self.n_out = int(n_in), int(n_out)

    def forward(self, x: Any) -> Array:
        """Outputs [n, n_out] of x [n, n_in]; remembers the batch for :meth:`backward`."""
        self._weights()
        shapes = Shapes(I=self.n_in, O=self.n_out)
        x = shapes.array("x", x, "N I")
        out = shapes.empty("N O")
        with self._lock:
            self._require(shapes["N"])
            lib.tce_net_forward(self, shapes["N"], x, out)
        return out

    def backward(self, d_out: Any) -> Array:
        """Gradient to x [n, n_in] from d_out [n, n_out] of the last forward; keeps the parameter gradient."""
        shapes = Shapes(I=self.n_in, O=self.n_out)
        d_out = shapes.array("d_out", d_out, "N O")
        d_x = shapes.empty("N I")
        with self._lock:
            lib.tce_net_backward(self, shapes["N"], d_out, d_x)
        return d_x

    def _rows(self, rows: Any, n: int) -> Tuple[Any, int]:
        """Row numbers as uint32, each below n, and how many there are."""
        if rows is None:
            return None, n
        chosen = np.asarray(rows)
        if chosen.ndim != 1 or chosen.dtype.kind not in "iu":
            raise ValueError("rows: expected a vector of row numbers")
        if chosen.size and (int(chosen.min()) < 0 or int(chosen.max()) >= n):
            raise ValueError(f"rows: not all are in 0 … {n - 1}")
        return np.require(chosen, np.uint32, ["C", "A"]), chosen.size

    def pass_mse(self, x: Any, target: Any, rows: Any = None) -> float:
        """Mean of squares to target [n, n_out] and its parameter gradient, in one pass over the batch."""
        self._weights()
        shapes = Shapes(I=self.n_in, O=self.n_out)
        x = shapes.array("x", x, "N I")
        target = shapes.array("target", target, "N O")
        rows, n = self._rows(rows, shapes["N"])
        loss = c_double()
        with self._lock:
            lib.tce_net_pass_mse(self, n, x, target, rows, byref(loss))
        return loss.value

    def pass_loss(self, x: Any, loss: Callable[[int, int, Array], Tuple[Array, float]], rows: Any = None) -> float:
        """The same with any loss: ``loss(begin, end, out) -> (d_out, part)`` for rows begin … end-1 of the batch."""
        self._weights()
        shapes = Shapes(I=self.n_in)
        x = shapes.array("x", x, "N I")
        rows, n = self._rows(rows, shapes["N"])
        chunks = Chunks()

        def part_of(begin: int, end: int, out: int, d_out: int, total: int) -> None:
            count = (end - begin) * self.n_out
            given = np.array((c_double * count).from_address(out)).reshape(-1, self.n_out)
            gradient, part = loss(begin, end, given)
            gradient = Shapes(N=end - begin, O=self.n_out).array("d_out", gradient, "N O")
            ctypes.memmove(d_out, gradient.ctypes.data, gradient.nbytes)
            c_double.from_address(total).value += float(part)

        def call(context: Any, begin: int, end: int, out: int, d_out: int, total: int) -> int:
            return chunks.run(begin, part_of, begin, end, out, d_out, total)

        callback = NetLoss(call)
        result = c_double()
        with self._lock:
            chunks.call(lib.tce_net_pass, self, n, x, rows, callback, None, byref(result))
        return result.value

    @property
    def gradient(self) -> Array:
        """The present parameter gradient, as a copy."""
        out = np.empty(self.num_parameters)
        with self._lock:
            lib.tce_net_get_gradient(self, out)
        return out

    @property
    def gradient_norm(self) -> float:
        """Its Euclidean norm."""
        with self._lock:
            return float(lib.tce_net_gradient_norm(self))

    def scale_gradient(self, factor: float) -> None:
        """Multiplies the gradient."""
        with self._lock:
            lib.tce_net_scale_gradient(self, number("factor", factor))

    def adam_step(self, rate_factor: float = 1.0, **options: Any) -> None:
        """One Adam step on the present gradient; options as in :func:`adam`."""
        with self._lock:
            lib.tce_net_adam_step(self, byref(adam(**options)), number("rate_factor", rate_factor))


class Policy(Trained):
    """A Gaussian over n_params numbers given a context of n_obs: mean by a network, covariance by its factor.

    form "full" (one covariance for all contexts), "contextual" (a second network) or "diagonal" (one for all).
    Further keywords: hidden, activation, precision, start, cov_hidden, cov_activation, min_std, initial_std,
    max_batch, pool, random.
    """

    _kind = "policy"

    def __init__(
        self, n_obs: int, n_params: int, form: str = "full", hidden: Sequence[int] = (128, 128), *,
        activation: str = "leaky_relu", precision: str = "float", start: str = "orthogonal",
        cov_hidden: Optional[Sequence[int]] = None, cov_activation: Optional[str] = None,
        min_std: Optional[float] = None, initial_std: Optional[float] = None, max_batch: int = 1,
        pool: Optional[Pool] = None, random: Optional[RandomSource] = None,
    ) -> None:
        options = struct(PolicyOptions)
        fill(options, {
            "n_obs": n_obs, "n_params": n_params, "n_hidden": len(hidden), "max_batch": max_batch, "form": form,
            "activation": activation, "precision": precision, "start": start, "cov_activation": cov_activation,
            "min_std": min_std, "initial_std": initial_std})
        options.point(hidden=_widths(hidden), pool=pool)
        if cov_hidden is not None:
            options.n_cov_hidden = len(cov_hidden)
            options.point(cov_hidden=_widths(cov_hidden))
        super().__init__(options, pool, random)
        self.n_obs, self.n_params = int(n_obs), int(n_params)

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
        policy.n_obs = int(lib.tce_policy_num_obs(policy))
        policy.n_params = int(lib.tce_policy_num_params(policy))
        return policy

    def _make(self, options: Any) -> Owned:
        if not isinstance(options, _Restored):
            return super()._make(options)
        with Store() as state:
            lib.tce_policy_save(self, state, STATE)
            return self._own(options.create(state, STATE))

    def num_factors(self, n: int) -> int:
        """How many factors :meth:`predict` returns for n contexts: 1 or n."""
        return int(lib.tce_policy_num_factors(self, n))

    def predict(self, obs: Any) -> Gaussian:
        """Means [n, P] and factors [1 or n, P, P] for contexts [n, n_obs]; remembers the batch for backward."""
        self._weights()
        shapes = Shapes(O=self.n_obs, P=self.n_params)
        obs = shapes.array("obs", obs, "N O")
        mean = shapes.empty("N P")
        chol = np.empty((self.num_factors(shapes["N"]), self.n_params, self.n_params))
        with self._lock:
            self._require(shapes["N"])
            lib.tce_policy_predict(self, shapes["N"], obs, mean, chol)
        return Gaussian(mean, chol)

    def backward(self, d_mean: Any, d_chol: Any) -> None:
        """Parameter gradients of a loss from its gradients to the last prediction."""
        shapes = Shapes(P=self.n_params)
        d_mean = shapes.array("d_mean", d_mean, "N P")
        d_chol, n_cov = factor_gradient(shapes, "d_chol", d_chol, episodes="N")
        if n_cov != self.num_factors(shapes["N"]):
            raise ValueError(f"d_chol: {n_cov} factors, expected {self.num_factors(shapes['N'])}")
        with self._lock:
            lib.tce_policy_backward(self, shapes["N"], d_mean, d_chol)

    def adam_step(self, rate_factor: float = 1.0, clip_norm: float = 0.0, **options: Any) -> float:
        """Clips the gradient's norm (0: not) and takes one Adam step; the norm before the clip is returned."""
        norm = c_double()
        with self._lock:
            lib.tce_policy_adam_step(
                self, byref(adam(**options)), number("rate_factor", rate_factor), number("clip_norm", clip_norm),
                byref(norm))
        return norm.value

    def set_covariance(self, chol: Any) -> None:
        """Overwrites the shared covariance so that its factor is chol [P, P] or [1, P, P]."""
        chol = one_factor(Shapes(P=self.n_params), "chol", chol)
        with self._lock:
            lib.tce_policy_set_covariance(self, chol)

    @property
    def gradient(self) -> Array:
        """The present parameter gradient, as a copy."""
        out = np.empty(self.num_parameters)
        with self._lock:
            lib.tce_policy_get_gradient(self, out)
        return out


class _Restored(NamedTuple):
    """In place of options for a policy whose options are in a store."""

    max_batch: int
    pool: Optional[Owned]

    def create(self, store: Store, prefix: bytes) -> int:
        return make(lib.tce_policy_create_from, store, prefix, self.max_batch, self.pool, None)

    def changed(self, max_batch: int) -> "_Restored":
        return self._replace(max_batch=max_batch)


class Statistics(NamedTuple):
    """A critic's running statistics of the observations."""

    mean: Array
    var: Array
    n: float  # observations


class Critic(Trained):
    """A value function of raw observations: network, Adam and a running normaliser.

    Keywords: hidden, activation, precision, start, max_batch, pool, random, and normalise: True or "normalise" (value
    and fit_epoch take raw observations), False or "raw" (no normaliser), "normalised" (they take what
    :meth:`normalise` returned earlier, so that a batch keeps the statistics of its own time).
    """

    _kind = "critic"

    def __init__(
        self, n_obs: int, hidden: Sequence[int] = (256, 256), *, activation: str = "leaky_relu",
        precision: str = "float", start: str = "orthogonal", normalise: Union[bool, str] = True,
        max_batch: int = 1, pool: Optional[Pool] = None, random: Optional[RandomSource] = None,
    ) -> None:
        options = struct(CriticOptions)
        fill(options, {
            "n_obs": n_obs, "n_hidden": len(hidden), "max_batch": max_batch, "activation": activation,
            "precision": precision, "start": start,
            "normalise": normalise if isinstance(normalise, str) else "normalise" if normalise else "raw"})
        options.point(hidden=_widths(hidden), pool=pool)
        super().__init__(options, pool, random)
        self.n_obs = int(n_obs)

    def observe(self, obs: Any) -> None:
        """Takes observations [n, n_obs] into the running statistics."""
        shapes = Shapes(O=self.n_obs)
        obs = shapes.array("obs", obs, "N O")
        with self._lock:
            lib.tce_critic_observe(self, shapes["N"], obs)

    def normalise(self, obs: Any) -> Array:
        """Observations as the network sees them."""
        shapes = Shapes(O=self.n_obs)
        obs = shapes.array("obs", obs, "N O")
        out = shapes.empty("N O")
        with self._lock:
            lib.tce_critic_normalise(self, shapes["N"], obs, out)
        return out

    def value(self, obs: Any) -> Array:
        """V(obs) [n] of observations [n, n_obs]."""
        self._weights()
        shapes = Shapes(O=self.n_obs)
        obs = shapes.array("obs", obs, "N O")
        out = shapes.empty("N")
        with self._lock:
            self._require(shapes["N"])
            lib.tce_critic_value(self, shapes["N"], obs, out)
        return out

    def fit_epoch(
        self, obs: Any, target: Any, n_minibatches: int = 1, random: Optional[RandomSource] = None, *,
        rate_factor: float = 1.0, clip_norm: float = 0.0, **options: Any,
    ) -> float:
        """One epoch of regression to target [n]; the mean of squares before each step is returned."""
        self._weights()
        shapes = Shapes(O=self.n_obs)
        obs = shapes.array("obs", obs, "N O")
        target = shapes.array("target", target, "N")
        loss = c_double()
        with self._lock:
            self._require(shapes["N"])
            lib.tce_critic_fit_epoch(
                self, shapes["N"], obs, target, integer("n_minibatches", n_minibatches, 0),
                None if random is None else random_stream(random), byref(adam(**options)),
                number("rate_factor", rate_factor), number("clip_norm", clip_norm), byref(loss))
        return loss.value

    @property
    def statistics(self) -> Statistics:
        """Running mean and variance of the observations and their count."""
        mean, var, count = np.empty(self.n_obs), np.empty(self.n_obs), c_double()
        with self._lock:
            lib.tce_critic_statistics(self, mean, var, byref(count))
        return Statistics(mean, var, count.value)
