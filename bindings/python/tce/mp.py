"""Movement primitives: ProDMP, ProMP and DMP."""

from __future__ import annotations

from ctypes import byref
from typing import Any, Iterable, List, NamedTuple, Optional, Sequence, Tuple, Union

import numpy as np

from ._arrays import Array, Shapes, integer, number, one_factor, text
from ._declarations import MpGrid, MpOptions, MpPlan, MpVia
from ._handle import Handle, fill, make, struct, unknown
from ._library import lib
from . import gauss
from .store import Store

# Keywords that are fields of tce_mp_options as they stand.
FIELDS = (
    "n_dof", "n_basis", "n_basis_outside", "table_length", "relative_goal", "auto_scale_basis",
    "disable_goal", "disable_weights", "learn_tau", "learn_delay", "tau", "delay", "dt", "alpha",
    "alpha_phase", "basis_bandwidth_factor", "goal_scale", "phase", "basis")
KEYWORDS = FIELDS + ("weights_scale",)


class Via(NamedTuple):
    """A point that a path should pass: DoF ``dof`` has ``value`` at ``time``, within ``tolerance`` (std)."""

    time: float
    value: float
    tolerance: float
    dof: int = 0
    order: int = 0  # 0: position, 1: velocity


class Plan(NamedTuple):
    """One primitive with its parameters and start, for :func:`blend`."""

    mp: "MovementPrimitive"
    params: Any
    init_time: float = 0.0
    init_pos: Any = None
    init_vel: Any = None


class Trajectory(NamedTuple):
    """Positions and velocities."""

    pos: Array
    vel: Array


class PathCovariance(NamedTuple):
    """Of paths under a Gaussian: the covariance [D*T, D*T] and the standard deviations [T, D]."""

    cov: Array
    std: Array


class Blended(NamedTuple):
    """Positions, velocities and accelerations [T, D] of two plans blended into one path."""

    pos: Array
    vel: Array
    acc: Array


class MovementPrimitive(Handle):
    """What ProDMP, ProMP and DMP have in common; also what :meth:`from_store` returns.

    An object holds the basis, not the parameters; ``options`` are those it was made with. Arrays: params [E, P], times [T] or [E, T] (seconds),
    init_time a number or [E], init_pos and init_vel [E, D] (None: zeros). Paths are [E, T, D].
    """

    _kind = "mp"
    kind: Optional[str] = None

    def __init__(self, address: int) -> None:
        super().__init__(address)
        self.options = struct(MpOptions)
        lib.tce_mp_get_options(self, byref(self.options))
        self.n_params = int(lib.tce_mp_n_params(self))
        self.n_dof = int(lib.tce_mp_n_dof(self))
        self.n_columns = int(lib.tce_mp_n_columns(self))

    @classmethod
    def from_store(cls, store: Store, prefix: str) -> "MovementPrimitive":
        """A primitive from the options that :meth:`save` left under a prefix."""
        return MovementPrimitive(make(lib.tce_mp_create_from, store, text("prefix", prefix), None))

    def save(self, store: Store, prefix: str) -> None:
        """Puts the options into a store."""
        lib.tce_mp_save(self, store, text("prefix", prefix))

    def _shapes(self) -> Shapes:
        return Shapes(P=self.n_params, D=self.n_dof)

    def _work(self) -> Array:
        return np.empty(lib.tce_mp_work_size(self))

    def _grid(self, shapes: Shapes, times: Any, init_time: Any, init_pos: Any, init_vel: Any) -> MpGrid:
        """The struct that every batched query takes; E is known."""
        grid = struct(MpGrid)
        times = shapes.array("times", times, "T", "E T")
        starts = np.atleast_1d(np.asarray(init_time, np.float64))
        starts = shapes.array("init_time", starts, "1", "E")
        init_pos = shapes.optional("init_pos", init_pos, "E D")
        init_vel = shapes.optional("init_vel", init_vel, "E D")
        grid.E, grid.T = shapes["E"], shapes["T"]
        grid.n_time_rows = 1 if times.ndim == 1 else shapes["E"]
        grid.n_init_times = starts.size
        grid.point(times=times, init_time=starts, init_pos=init_pos, init_vel=init_vel)
        return grid

    def trajectory(
        self, params: Any, times: Any, init_time: Any = 0.0, init_pos: Any = None, init_vel: Any = None,
        out: Optional[Tuple[Array, Array]] = None,
    ) -> Trajectory:
        """Positions and velocities [E, T, D] of E parameter vectors.

        ``out``: two arrays to write into instead of new ones. For large batches new memory costs more than the paths.
        """
        shapes = self._shapes()
        params = shapes.array("params", params, "E P")
        grid = self._grid(shapes, times, init_time, init_pos, init_vel)
        pos, vel = (shapes.output("out", array, "E T D") for array in (out or (None, None)))
        lib.tce_mp_trajectory(self, byref(grid), params, pos, vel, None)
        return Trajectory(pos, vel)

    def acceleration(
        self, params: Any, times: Any, init_time: Any = 0.0, init_pos: Any = None, init_vel: Any = None
    ) -> Array:
        """Accelerations [E, T, D]."""
        shapes = self._shapes()
        params = shapes.array("params", params, "E P")
        grid = self._grid(shapes, times, init_time, init_pos, init_vel)
        acc = shapes.empty("E T D")
        lib.tce_mp_trajectory(self, byref(grid), params, None, None, acc)
        return acc

    def backward(
        self, params: Any, times: Any, init_time: Any = 0.0, init_pos: Any = None, init_vel: Any = None,
        d_pos: Any = None, d_vel: Any = None,
    ) -> Array:
        """Gradient [E, P] of a loss from its gradients d_pos, d_vel [E, T, D] (None: zeros)."""
        shapes = self._shapes()
        params = shapes.array("params", params, "E P")
        grid = self._grid(shapes, times, init_time, init_pos, init_vel)
        d_pos = shapes.optional("d_pos", d_pos, "E T D")
        d_vel = shapes.optional("d_vel", d_vel, "E T D")
        out = shapes.empty("E P")
        lib.tce_mp_trajectory_backward(self, byref(grid), params, d_pos, d_vel, out)
        return out

    def query(
        self, time: float, params: Any, init_time: float = 0.0, init_pos: Any = None, init_vel: Any = None
    ) -> Trajectory:
        """Position and velocity [D] at one time, for control loops. params [P], init_pos and init_vel [D].

        A :class:`DMP` is integrated from ``init_time`` in steps of ``dt``, at most a million of them.
        """
        shapes = self._shapes()
        params = shapes.array("params", params, "P")
        init_pos = shapes.optional("init_pos", init_pos, "D")
        init_vel = shapes.optional("init_vel", init_vel, "D")
        pos, vel = shapes.empty("D"), shapes.empty("D")
        lib.tce_mp_query(
            self, number("time", time), params, number("init_time", init_time), init_pos, init_vel, pos, vel, None)
        return Trajectory(pos, vel)

    def basis(self, times: Any, init_time: float = 0.0, order: int = 0) -> Array:
        """Rows [T, columns] of the scaled basis: order 0 of position, 1 of velocity, 2 of acceleration.

        The path of a DoF is an offset plus ``basis @ parameters of that DoF``.
        """
        shapes = Shapes(C=self.n_columns)
        times = shapes.array("times", times, "T")
        out = shapes.empty("T C")
        outputs: List[Optional[Array]] = [None, None, None]
        outputs[integer("order", order, 0, 2)] = out
        lib.tce_mp_basis(self, shapes["T"], times, number("init_time", init_time), *outputs)
        return out

    def covariance(
        self, times: Any, chol: Any, init_time: float = 0.0, reg: float = 0.0, order: int = 0
    ) -> PathCovariance:
        """Covariance [D*T, D*T] (DoF by DoF, times within) and std [T, D] of the paths of N(., chol chol').

        ``chol`` is [P, P] or [1, P, P].
        ``order`` 0: position, 1: velocity. ``reg`` times the largest diagonal entry is added on the diagonal.
        """
        shapes = self._shapes()
        times = shapes.array("times", times, "T")
        chol = one_factor(shapes, "chol", chol)
        cov = np.empty((self.n_dof * shapes["T"],) * 2)
        std = shapes.empty("T D")
        lib.tce_mp_covariance(
            self, shapes["T"], times, number("init_time", init_time), chol, number("reg", reg), integer("order", order, 0, 1),
            cov, std)
        return PathCovariance(cov, std)

    def fit(self, times: Any, demo: Any, reg: float = 1e-9) -> Array:
        """Parameters [P] of a demonstration [T, D] at times [T], by ridge regression."""
        shapes = self._shapes()
        times = shapes.array("times", times, "T")
        demo = shapes.array("demo", demo, "T D")
        out = shapes.empty("P")
        lib.tce_mp_fit(self, shapes["T"], times, demo, number("reg", reg), self._work(), out)
        return out

    def condition(
        self, via: Iterable[Union[Via, Sequence[float]]], mean: Any, chol: Any, init_time: float = 0.0,
        init_pos: Any = None, init_vel: Any = None,
    ) -> gauss.Gaussian:
        """The Gaussian N(mean [P], chol) given that its path passes the via-points.

        ``chol`` is [P, P] or [1, P, P], and so is the new one.
        """
        shapes = self._shapes()
        mean = shapes.array("mean", mean, "P")
        chol = one_factor(shapes, "chol", chol)
        init_pos = shapes.optional("init_pos", init_pos, "D")
        init_vel = shapes.optional("init_vel", init_vel, "D")
        points = [Via(*point) for point in via]
        rows = (MpVia * len(points))(*(
            MpVia(number("time", p.time), number("value", p.value), number("tolerance", p.tolerance),
                  integer("dof", p.dof, 0, 2**31 - 1), integer("order", p.order, 0, 1))
            for p in points))
        out_mean, out_chol = shapes.empty("P"), np.empty_like(chol)
        lib.tce_mp_condition(
            self, len(points), rows, number("init_time", init_time), init_pos, init_vel, mean, chol, self._work(), out_mean,
            out_chol)
        return gauss.Gaussian(out_mean, out_chol)

    def plan(self, params: Any, init_time: float = 0.0, init_pos: Any = None, init_vel: Any = None) -> Plan:
        """This primitive with parameters [P] and a start, for :func:`blend`."""
        return Plan(self, params, init_time, init_pos, init_vel)

    def blend(
        self, params: Any, other: Plan, start: float, end: float, times: Any, init_time: float = 0.0,
        init_pos: Any = None, init_vel: Any = None,
    ) -> Blended:
        """:func:`blend` from this primitive's path to another plan."""
        return blend(self.plan(params, init_time, init_pos, init_vel), other, start, end, times)


class _Configured(MovementPrimitive):
    """A primitive from keywords; see docs/python.md. None means the library's default, in :attr:`options` afterwards."""

    def __init__(
        self, *, n_dof: Optional[int] = None, n_basis: Optional[int] = None, tau: Optional[float] = None,
        delay: Optional[float] = None, dt: Optional[float] = None, alpha: Optional[float] = None,
        alpha_phase: Optional[float] = None, basis_bandwidth_factor: Optional[float] = None,
        n_basis_outside: Optional[int] = None, weights_scale: Any = None, goal_scale: Optional[float] = None,
        relative_goal: Optional[bool] = None, auto_scale_basis: Optional[bool] = None, disable_goal: Optional[bool] = None,
        disable_weights: Optional[bool] = None, learn_tau: Optional[bool] = None, learn_delay: Optional[bool] = None,
        phase: Optional[str] = None, basis: Optional[str] = None, table_length: Optional[int] = None, **other: Any,
    ) -> None:
        fields = {name: value for name, value in locals().items() if name in FIELDS and value is not None}
        unknown(type(self).__name__, other, KEYWORDS)
        options = struct(MpOptions)
        fill(options, {"kind": self.kind, **fields})

        # a number, or one for each basis function
        if weights_scale is not None:
            if np.ndim(weights_scale) == 0:
                options.weights_scale = number("weights_scale", weights_scale)
            else:
                options.point(weights_scales=Shapes(B=options.n_basis).array("weights_scale", weights_scale, "B"))
        super().__init__(make(lib.tce_mp_create, byref(options), None))


class ProDMP(_Configured):
    """Probabilistic dynamic movement primitive: smooth paths from any start, linear in P = D (B + 1) parameters."""

    kind = "prodmp"


class ProMP(_Configured):
    """Probabilistic movement primitive: a path linear in P = D B weights. ``phase``: "natural", "smooth" or "rhythmic"."""

    kind = "promp"


class DMP(_Configured):
    """Dynamic movement primitive, integrated from ``init_time`` over the given times. Keywords as :class:`ProMP`."""

    kind = "dmp"


def blend(a: Plan, b: Plan, start: float, end: float, times: Any) -> Blended:
    """Blends plan a into plan b between two times: position, velocity, acceleration [T, D], all continuous."""
    plans = []
    for plan in (a, b):
        shapes = Shapes(P=plan.mp.n_params, D=plan.mp.n_dof)
        row = struct(MpPlan)
        row.point(
            mp=plan.mp, params=shapes.array("params", plan.params, "P"), init_pos=shapes.optional("init_pos", plan.init_pos, "D"),
            init_vel=shapes.optional("init_vel", plan.init_vel, "D"))
        row.init_time = number("init_time", plan.init_time)
        plans.append(row)
    shapes = Shapes(D=a.mp.n_dof)
    times = shapes.array("times", times, "T")
    pos, vel, acc = (shapes.empty("T D") for _ in range(3))
    lib.tce_mp_blend(
        byref(plans[0]), byref(plans[1]), number("start", start), number("end", end), shapes["T"], times, pos, vel, acc)
    return Blended(pos, vel, acc)
