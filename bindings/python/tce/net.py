"""Networks and their Adam."""

from __future__ import annotations

import ctypes
from ctypes import byref, c_double
from typing import Any, Callable, Optional, Sequence, Tuple

import numpy as np
from numpy.typing import ArrayLike

from ._arrays import AnyArray, Array, Inputs, Shapes, integer, number, output, text
from ._callbacks import Chunks
from ._choices import Activation, FirstWeights, Precision
from ._declarations import TCE_NET_MAX_SUMS, AdamOptions, NetLoss, NetOptions
from ._handle import Growing, Owned, constructor, fill, hinted, struct
from ._library import lib
from .base import Pool, RandomSource, random_stream
from .errors import E_STATE, StateError
from .store import Store

STATE = b"state"  # where a store has it on the way to a larger handle


# the arrays of a pass, and of the way back
_FORWARD = Inputs("I O", x="N I")
_BACKWARD = Inputs("I O", d_out="N O")


def adam(
    learning_rate: Optional[float] = None, l2: Optional[float] = None, beta1: Optional[float] = None, beta2: Optional[float] = None,
    epsilon: Optional[float] = None,
) -> AdamOptions:
    """Adam's options; None: the library's default."""
    options = struct(AdamOptions)
    fill(options, {"learning_rate": learning_rate, "l2": l2, "beta1": beta1, "beta2": beta2, "epsilon": epsilon})
    return options


def widths(hidden: Sequence[int], name: str = "hidden") -> AnyArray:
    return np.array([integer(name, h, 1, 2**31 - 1) for h in hidden], np.int32)


class Trained(Growing):
    """What Net and Policy share: weights and their gradient, Adam, saving, and growing with the batch.

    The C handle has room for a fixed number of rows; a larger batch moves all state (weights, Adam) to a larger
    handle. Give ``max_batch`` to have the room from the start.

    Weights are drawn from ``random`` (a :class:`tce.Random`, a seed or a numpy generator). Without it there are none until
    :meth:`start`, :meth:`load` or an assignment to :attr:`weights`, and to compute with them is a StateError.
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

    def _need_weights(self) -> None:
        """StateError while there are no weights to compute with."""
        if not self._started:
            raise StateError(
                E_STATE, "TCE_E_STATE", f"this {type(self).__name__} has no weights yet: make it with random=, for example "
                "random=tce.Random(1), or call start or load, or assign weights")

    def _content(self) -> Any:
        """All state, as a store has it; None: no weights yet."""
        if not self._started:
            return None
        with Store() as state:
            self.save(state, STATE.decode())
            return state.to_bytes()

    def _restore(self, content: Any) -> None:
        with Store.parse(content) as state:
            self.load(state, STATE.decode())

    def start(self, random: RandomSource) -> None:
        """Draws the first weights and clears Adam."""
        with self._lock:
            self._function("start")(self, random_stream(random))
            self._started = True

    @property
    def n_weights(self) -> int:
        """How many numbers are trained."""
        return int(self._function("n_weights")(self))

    @property
    def weights(self) -> Array:
        """All of them, as a copy; assign to change them."""
        out = np.empty(self.n_weights)
        with self._lock:
            self._function("get_weights")(self, out)
        return out

    @weights.setter
    def weights(self, value: ArrayLike) -> None:
        weights = Shapes(N=self.n_weights).array("weights", value, "N")
        with self._lock:
            self._function("set_weights")(self, weights)
            self._started = True

    @property
    def gradient(self) -> Array:
        """The present gradient of the weights, as a copy."""
        out = np.empty(self.n_weights)
        with self._lock:
            self._function("get_gradient")(self, out)
        return out

    @property
    def gradient_norm(self) -> float:
        """The Euclidean norm of the gradient of all weights together."""
        with self._lock:
            return float(self._function("gradient_norm")(self))

    def scale_gradient(self, factor: float) -> None:
        """Multiplies the gradient, for norm clipping."""
        with self._lock:
            self._function("scale_gradient")(self, number("factor", factor))

    @hinted
    def adam_step(
        self, *, learning_rate: Optional[float] = None, l2: Optional[float] = None, beta1: Optional[float] = None,
        beta2: Optional[float] = None, epsilon: Optional[float] = None,
    ) -> None:
        """One Adam step on the present gradient, l2 being the weight decay in it. None: 1e-3, 0, 0.9, 0.999, 1e-8."""
        options = adam(learning_rate, l2, beta1, beta2, epsilon)
        with self._lock:
            self._function("adam_step")(self, byref(options))

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
    "orthogonal" or "fan_in". Weights are drawn from ``random``, or come with :meth:`start` or :meth:`load`.
    """

    _kind = "net"

    @constructor
    def __init__(
        self, n_in: int, n_out: int, hidden: Sequence[int] = (128, 128), *, activation: Activation = "leaky_relu",
        precision: Precision = "float", start: FirstWeights = "orthogonal", gain_hidden: Optional[float] = None,
        gain_out: Optional[float] = None, max_batch: int = 1, pool: Optional[Pool] = None,
        random: Optional[RandomSource] = None,
    ) -> None:
        options = struct(NetOptions)
        fill(options, {
            "n_in": n_in, "n_out": n_out, "n_hidden": len(hidden), "max_batch": max_batch, "activation": activation,
            "precision": precision, "start": start, "gain_hidden": gain_hidden, "gain_out": gain_out})
        options.point(hidden=widths(hidden), pool=pool)
        super().__init__(options, pool, random)
        self.n_in, self.n_out = int(n_in), int(n_out)
        self._width = int(hidden[-1]) if len(hidden) else self.n_in
        self._rows_forward = 0

    def forward(self, x: ArrayLike, out: Optional[Array] = None) -> Array:
        """Outputs [n, n_out] of x [n, n_in]; remembers the batch for :meth:`backward`. ``out``: an array [n, n_out] to write into."""
        self._need_weights()
        sizes, (rows,) = _FORWARD((self.n_in, self.n_out), x)
        n = sizes["N"]
        out = output(out, n, self.n_out)
        with self._lock:
            self._require(n)
            lib.tce_net_forward(self, n, rows, out)
            self._rows_forward = n
        return out

    def _back(self, function: Callable[..., Any], d_out: ArrayLike, out: Optional[Array]) -> Array:
        sizes, (gradient,) = _BACKWARD((self.n_in, self.n_out), d_out)
        d_x = output(out, sizes["N"], self.n_in)
        with self._lock:
            function(self, sizes["N"], gradient, d_x)
        return d_x

    def backward(self, d_out: ArrayLike, out: Optional[Array] = None) -> Array:
        """Gradient to x [n, n_in] from d_out [n, n_out] of the last forward; keeps the gradient of the weights. ``out``: an array to write into."""
        return self._back(lib.tce_net_backward, d_out, out)

    def backward_input(self, d_out: ArrayLike, out: Optional[Array] = None) -> Array:
        """The same, while the gradient of the weights stays as it is."""
        return self._back(lib.tce_net_backward_input, d_out, out)

    @property
    def hidden(self) -> Array:
        """The last hidden layer [n, width] of the last :meth:`forward`."""
        out = np.empty((self._rows_forward, self._width))
        with self._lock:
            lib.tce_net_hidden(self, self._rows_forward, out)
        return out

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

    def pass_mse(self, x: ArrayLike, target: ArrayLike, rows: Optional[ArrayLike] = None) -> float:
        """Mean of squares of the outputs for x [n, n_in] to target [n, n_out] and the gradient of the weights, in one pass over the batch.

        rows: which of the n take part, in this order; None: all.
        """
        self._need_weights()
        shapes = Shapes(I=self.n_in, O=self.n_out)
        inputs, targets = shapes.array("x", x, "N I"), shapes.array("target", target, "N O")
        chosen, n = self._rows(rows, shapes["N"])
        loss = c_double()
        with self._lock:
            lib.tce_net_pass_mse(self, n, inputs, targets, chosen, byref(loss))
        return loss.value

    def pass_loss(
        self, x: ArrayLike, loss: Callable[[int, int, Array], Tuple[ArrayLike, Any]], rows: Optional[ArrayLike] = None,
        n_sums: Optional[int] = None,
    ) -> Any:
        """The same with any loss: ``loss(begin, end, out) -> (d_out, part)`` for rows begin … end-1 of the batch.

        With ``n_sums`` part is a sequence of so many numbers, the loss first, and so is the result.
        """
        self._need_weights()
        shapes = Shapes(I=self.n_in)
        inputs = shapes.array("x", x, "N I")
        chosen, n = self._rows(rows, shapes["N"])
        many = 1 if n_sums is None else integer("n_sums", n_sums, 1, TCE_NET_MAX_SUMS)
        chunks = Chunks()

        def part_of(begin: int, end: int, out: int, d_out: int, sums: int) -> None:
            count = (end - begin) * self.n_out
            given = np.array((c_double * count).from_address(out)).reshape(-1, self.n_out)
            gradient, part = loss(begin, end, given)
            gradient = Shapes(N=end - begin, O=self.n_out).array("d_out", gradient, "N O")
            parts = Shapes(S=many).array("part", [part] if n_sums is None else part, "S")
            ctypes.memmove(d_out, gradient.ctypes.data, gradient.nbytes)
            totals = (c_double * many).from_address(sums)
            for i in range(many):
                totals[i] += parts[i]

        def call(context: Any, begin: int, end: int, out: int, d_out: int, sums: int) -> int:
            return chunks.run(begin, part_of, begin, end, out, d_out, sums)

        callback = NetLoss(call)
        result = np.empty(many)
        with self._lock:
            chunks.call(lib.tce_net_pass, self, n, inputs, chosen, callback, None, many, result)
        return float(result[0]) if n_sums is None else result

    def average(self, other: "Net", share: float) -> None:
        """weights <- (1 - share) weights + share other's: a target that follows another network."""
        with self._lock:
            lib.tce_net_average(self, other, number("share", share))
