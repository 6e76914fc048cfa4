"""The running mean and variance of rows of numbers."""

from __future__ import annotations

from ctypes import byref, c_double
from typing import Any, NamedTuple, Optional

import numpy as np
from numpy.typing import ArrayLike

from ._arrays import Array, Shapes, text
from ._choices import Divisor
from ._declarations import NormaliserOptions
from ._handle import Handle, constructor, fill, make, struct
from ._library import lib
from .store import Store


class Statistics(NamedTuple):
    """Running statistics of the columns, and the rows that they are of."""

    mean: Array
    variance: Array
    n: float


class Normaliser(Handle):
    """Rows [n, n_columns] -> clip((x - mean)/sqrt(variance + epsilon)) with running statistics.

    divisor "rows" (n) or "rows_less_one" (n - 1) of the variance of new rows; centre False: the mean is not subtracted
    (returns); clip 0: none. :meth:`update` alone changes the statistics.
    """

    _kind = "normaliser"

    @constructor
    def __init__(
        self, n_columns: int, *, divisor: Divisor = "rows", centre: bool = True, epsilon: Optional[float] = None,
        clip: Optional[float] = None, first_count: Optional[float] = None,
    ) -> None:
        super().__init__()
        options = struct(NormaliserOptions)
        fill(options, {
            "n_columns": n_columns, "divisor": divisor, "centre": bool(centre), "epsilon": epsilon, "clip": clip,
            "first_count": first_count})
        self._owned = self._own(make(self._function("create"), byref(options), None))
        self.n_columns = int(n_columns)

    def _content(self) -> Any:
        with Store() as state:
            self.save(state, "state")
            return state.to_bytes()

    def _restore(self, content: Any) -> None:
        with Store.parse(content) as state:
            self.load(state, "state")

    def update(self, x: ArrayLike, mask: Optional[ArrayLike] = None) -> None:
        """Takes rows x [n, n_columns] into the statistics; with mask [n] only those where it is not 0."""
        shapes = Shapes(C=self.n_columns)
        rows = shapes.array("x", x, "N C")
        chosen = None if mask is None else shapes.flags("mask", mask, "N")
        with self._lock:
            lib.tce_normaliser_update(self, shapes["N"], rows, chosen)

    def apply(self, x: ArrayLike, out: Optional[Array] = None) -> Array:
        """The normalised rows of x [n, n_columns]; ``out``: an array of this size to write into, which may be x."""
        shapes = Shapes(C=self.n_columns)
        rows = shapes.array("x", x, "N C")
        out = shapes.output("out", out, "N C")
        with self._lock:
            lib.tce_normaliser_apply(self, shapes["N"], rows, out)
        return out

    @property
    def statistics(self) -> Statistics:
        """Mean and variance [n_columns] of the rows so far, and their count."""
        mean, variance, count = np.empty(self.n_columns), np.empty(self.n_columns), c_double()
        with self._lock:
            lib.tce_normaliser_statistics(self, mean, variance, byref(count))
        return Statistics(mean, variance, count.value)

    def save(self, store: Store, prefix: str) -> None:
        """Puts the statistics into a store."""
        with self._lock:
            lib.tce_normaliser_save(self, store, text("prefix", prefix))

    def load(self, store: Store, prefix: str) -> None:
        """Takes the statistics from a store."""
        with self._lock:
            lib.tce_normaliser_load(self, store, text("prefix", prefix))
