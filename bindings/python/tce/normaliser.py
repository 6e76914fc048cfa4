"""The running mean and variance of rows of numbers."""

from __future__ import annotations

from ctypes import byref, c_double
from typing import Any, NamedTuple, Optional

import numpy as np

from ._arrays import Array, Shapes, text
from ._declarations import NormaliserOptions
from ._handle import Handle, fill, make, struct
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

    def __init__(
        self, n_columns: int, *, divisor: str = "rows", centre: bool = True, epsilon: Optional[float] = None,
        clip: Optional[float] = None, first_count: Optional[float] = None,
    ) -> None:
        super().__init__()
        options = struct(NormaliserOptions)
        fill(options, {
            "n_columns": n_columns, "divisor": divisor, "centre": bool(centre), "epsilon": epsilon, "clip": clip,
            "first_count": first_count})
        self._owned = self._own(make(self._function("create"), byref(options), None))
        self.n_columns = int(n_columns)

    def update(self, x: Any, mask: Any = None) -> None:
        """Takes rows x [n, n_columns] into the statistics; with mask [n] only those where it is not 0."""
        shapes = Shapes(C=self.n_columns)
        x = shapes.array("x", x, "N C")
        if mask is not None:
            mask = shapes.flags("mask", mask, "N")
        with self._lock:
            lib.tce_normaliser_update(self, shapes["N"], x, mask)

    def apply(self, x: Any) -> Array:
        """The normalised rows."""
        shapes = Shapes(C=self.n_columns)
        x = shapes.array("x", x, "N C")
        out = shapes.empty("N C")
        with self._lock:
            lib.tce_normaliser_apply(self, shapes["N"], x, out)
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
