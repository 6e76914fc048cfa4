"""Movement primitives: ProDMP, ProMP and DMP."""

from __future__ import annotations

from ctypes import byref
from typing import Any, Dict, Iterable, List, NamedTuple, Optional, Sequence, Tuple, Union

import numpy as np
from numpy.typing import ArrayLike

from ._arrays import Array, Inputs, Shapes, check_lower, integer, number, one_factor, output, outputs, text
from ._choices import Basis, Phase
from ._choices import FIELDS as CHOICES
from ._declarations import MpGrid, MpOptions, MpPlan, MpVia
from ._handle import Handle, constructor, fill, make, struct
from ._library import lib
from . import gauss
from .store import Store

# Keywords that are fields of tce_mp_options as they stand.
FIELDS = (
    "n_dof", "n_basis", "n_basis_outside", "table_length", "relative_goal", "auto_scale_basis",
    "disable_goal", "disable_weights", "learn_tau", "learn_delay", "tau", "delay", "dt", "alpha",
    "alpha_phase", "basis_bandwidth_factor", "goal_scale", "phase", "basis")

# the arrays of a batched query
_GRID = {"times": "T or E T", "init_time": "1 or E", "init_pos": "E D or None", "init_vel": "E D or None"}
_BATCH = Inputs("P D", params="E P", **_GRID, d_pos="E T D or None", d_vel="E T D or None")
_QUERY = Inputs("P D", params="P", init_pos="D or None", init_vel="D or None")
_PATHS = Inputs("P D", times="T", chol="P P or 1 P P")


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
    params: ArrayLike  # [P]
    init_time: float = 0.0
    init_pos: Optional[ArrayLike] = None  # [D]
    init_vel: Optional[ArrayLike] = None


class Trajectory(NamedTuple):
    """Positions and velocities: [E, T, D] each, or [D] at one time."""

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

    def _shown(self) -> Dict[str, Any]:
        """The options that are not the library's defaults."""
        if self._arguments is not None or self._owned is None:
            return super()._shown()
        default, kinds = struct(MpOptions), {number: name for name, number in CHOICES[MpOptions]["kind"].items()}
        names = [name for name in FIELDS if getattr(self.options, name) != getattr(default, name)]
        return {"kind": kinds[self.options.kind], **{name: getattr(self.options, name) for name in names}}

    def __reduce_ex__(self, protocol: Any) -> Any:
        if self._arguments is not None:
            return super().__reduce_ex__(protocol)
        store = Store()
        self.save(store, "mp")
        return MovementPrimitive.from_store, (store, "mp")

    def _shapes(self) -> Shapes:
        return Shapes(P=self.n_params, D=self.n_dof)

    def _work(self) -> Array:
        return np.empty(lib.tce_mp_work_size(self))

    def _grid(
        self, params: Any, times: Any, init_time: Any, init_pos: Any, init_vel: Any, d_pos: Any = None, d_vel: Any = None
    ) -> Tuple[MpGrid, Sequence[Any], Tuple[int, int, int]]:
        """The struct that every batched query takes, the parameters and gradients as arrays, and the size of paths."""
        if type(init_time) is not np.ndarray or not init_time.ndim:
            init_time = np.array(init_time, np.float64, ndmin=1)
        sizes, arrays = _BATCH((self.n_params, self.n_dof), params, times, init_time, init_pos, init_vel, d_pos, d_vel)
        times, starts = arrays[1], arrays[2]
        grid = struct(MpGrid)
        grid.E, grid.T = sizes["E"], sizes["T"]
        grid.n_time_rows = 1 if times.ndim == 1 else sizes["E"]
        grid.n_init_times = starts.size
        grid.point(times=times, init_time=starts, init_pos=arrays[3], init_vel=arrays[4])
        return grid, (arrays[0], arrays[5], arrays[6]), (sizes["E"], sizes["T"], self.n_dof)

    def trajectory(
        self, params: ArrayLike, times: ArrayLike, init_time: ArrayLike = 0.0, init_pos: Optional[ArrayLike] = None,
        init_vel: Optional[ArrayLike] = None, out: Optional[Tuple[Array, Array]] = None,
    ) -> Trajectory:
        """Positions and velocities [E, T, D] of E parameter vectors.

        params [E, P]; times [T] or [E, T], seconds; init_time a number or [E]; init_pos, init_vel [E, D] (None: zeros).
        ``out``: two arrays [E, T, D] to write into instead of new ones. For large batches new memory costs more than the paths.
        """
        grid, arrays, size = self._grid(params, times, init_time, init_pos, init_vel)
        pos, vel = outputs(out, size, size)
        lib.tce_mp_trajectory(self, byref(grid), arrays[0], pos, vel, None)
        return Trajectory(pos, vel)

    def acceleration(
        self, params: ArrayLike, times: ArrayLike, init_time: ArrayLike = 0.0, init_pos: Optional[ArrayLike] = None,
        init_vel: Optional[ArrayLike] = None, out: Optional[Array] = None,
    ) -> Array:
        """Accelerations [E, T, D]; arguments as of :meth:`trajectory`, ``out`` one array [E, T, D] to write into."""
        grid, arrays, size = self._grid(params, times, init_time, init_pos, init_vel)
        acc = output(out, *size)
        lib.tce_mp_trajectory(self, byref(grid), arrays[0], None, None, acc)
        return acc

    def backward(
        self, params: ArrayLike, times: ArrayLike, init_time: ArrayLike = 0.0, init_pos: Optional[ArrayLike] = None,
        init_vel: Optional[ArrayLike] = None, d_pos: Optional[ArrayLike] = None, d_vel: Optional[ArrayLike] = None,
        out: Optional[Array] = None,
    ) -> Array:
        """Gradient [E, P] to the parameters of a loss from its gradients d_pos, d_vel [E, T, D] to the paths (None: zeros).

        The other arguments as of :meth:`trajectory`; ``out`` an array [E, P] to write into.
        """
        grid, arrays, size = self._grid(params, times, init_time, init_pos, init_vel, d_pos, d_vel)
        d_params = output(out, size[0], self.n_params)
        lib.tce_mp_trajectory_backward(self, byref(grid), *arrays, d_params)
        return d_params

    def query(
        self, time: float, params: ArrayLike, init_time: float = 0.0, init_pos: Optional[ArrayLike] = None,
        init_vel: Optional[ArrayLike] = None,
    ) -> Trajectory:
        """Position and velocity [D] at one time, for control loops. params [P], init_pos and init_vel [D] (None: zeros).

        A :class:`DMP` is integrated from ``init_time`` in steps of ``dt``, at most a million of them.
        """
        _, arrays = _QUERY((self.n_params, self.n_dof), params, init_pos, init_vel)
        pos, vel = np.empty(self.n_dof), np.empty(self.n_dof)
        lib.tce_mp_query(self, number("time", time), arrays[0], number("init_time", init_time), arrays[1], arrays[2], pos, vel, None)
        return Trajectory(pos, vel)

    def basis(self, times: ArrayLike, init_time: float = 0.0, order: int = 0) -> Array:
        """Rows [T, n_columns] of the scaled basis at times [T]: order 0 of position, 1 of velocity, 2 of acceleration.

        The path of a DoF is an offset plus ``basis @ parameters of that DoF``.
        """
        shapes = Shapes(C=self.n_columns)
        instants = shapes.array("times", times, "T")
        out = shapes.empty("T C")
        wanted: List[Optional[Array]] = [None, None, None]
        wanted[integer("order", order, 0, 2)] = out
        lib.tce_mp_basis(self, shapes["T"], instants, number("init_time", init_time), *wanted)
        return out

    def covariance(
        self, times: ArrayLike, chol: ArrayLike, init_time: float = 0.0, reg: float = 0.0, order: int = 0,
        out: Optional[Tuple[Array, Array]] = None,
    ) -> PathCovariance:
        """Covariance [D*T, D*T] (DoF by DoF, times within) and std [T, D] of the paths of N(., chol chol').

        times [T]; chol [P, P] or [1, P, P], a lower Cholesky factor. ``order`` 0: position, 1: velocity. ``reg`` times the largest
        diagonal entry is added on the diagonal. ``out``: two arrays of these sizes to write into.
        """
        sizes, arrays = _PATHS((self.n_params, self.n_dof), times, chol)
        check_lower("chol", arrays[1])
        n, rows = sizes["T"], self.n_dof * sizes["T"]
        cov, std = outputs(out, (rows, rows), (n, self.n_dof))
        lib.tce_mp_covariance(
            self, n, arrays[0], number("init_time", init_time), arrays[1], number("reg", reg), integer("order", order, 0, 1), cov, std)
        return PathCovariance(cov, std)

    def fit(self, times: ArrayLike, demo: ArrayLike, reg: float = 1e-9) -> Array:
        """Parameters [P] of a demonstration [T, D] at times [T], by ridge regression."""
        shapes = self._shapes()
        instants, path = shapes.array("times", times, "T"), shapes.array("demo", demo, "T D")
        out = shapes.empty("P")
        lib.tce_mp_fit(self, shapes["T"], instants, path, number("reg", reg), self._work(), out)
        return out

    def condition(
        self, via: Iterable[Union[Via, Sequence[float]]], mean: ArrayLike, chol: ArrayLike, init_time: float = 0.0,
        init_pos: Optional[ArrayLike] = None, init_vel: Optional[ArrayLike] = None,
    ) -> gauss.Gaussian:
        """The Gaussian N(mean [P], chol) given that its path passes the via-points. init_pos, init_vel [D] (None: zeros).

        ``chol`` is [P, P] or [1, P, P], and so is the new one.
        """
        shapes = self._shapes()
        old_mean, old_chol = shapes.array("mean", mean, "P"), one_factor(shapes, "chol", chol)
        start = shapes.optional("init_pos", init_pos, "D"), shapes.optional("init_vel", init_vel, "D")
        points = [Via(*point) for point in via]
        rows = (MpVia * len(points))(*(
            MpVia(number("time", p.time), number("value", p.value), number("tolerance", p.tolerance),
                  integer("dof", p.dof, 0, 2**31 - 1), integer("order", p.order, 0, 1))
            for p in points))
        out_mean, out_chol = shapes.empty("P"), np.empty_like(old_chol)
        lib.tce_mp_condition(
            self, len(points), rows, number("init_time", init_time), *start, old_mean, old_chol, self._work(), out_mean, out_chol)
        return gauss.Gaussian(out_mean, out_chol)

    def plan(
        self, params: ArrayLike, init_time: float = 0.0, init_pos: Optional[ArrayLike] = None, init_vel: Optional[ArrayLike] = None
    ) -> Plan:
        """This primitive with parameters [P] and a start, init_pos and init_vel [D] (None: zeros), for :func:`blend`."""
        return Plan(self, params, init_time, init_pos, init_vel)

    def blend(
        self, params: ArrayLike, other: Plan, start: float, end: float, times: ArrayLike, init_time: float = 0.0,
        init_pos: Optional[ArrayLike] = None, init_vel: Optional[ArrayLike] = None,
    ) -> Blended:
        """:func:`blend` from this primitive's path, with params [P], to another plan, at times [T]."""
        return blend(self.plan(params, init_time, init_pos, init_vel), other, start, end, times)


class _Configured(MovementPrimitive):
    """A primitive from keywords. None means the library's default, in :attr:`options` afterwards.

    n_dof, n_basis   D degrees of freedom, B basis functions each [1, 5]
    tau, delay       seconds: length of the movement, and rest before it [1, 0]
    dt               seconds: spacing of the ProDMP's table, steps of a DMP [0.01]
    alpha, alpha_phase   stiffness of the attractor, decay of the exponential phase [25, 3]
    basis_bandwidth_factor, n_basis_outside   width of the basis functions, and how many lie outside at each end [3, 0]
    weights_scale, goal_scale   scales of the parameters; weights_scale a number or [B] [1, 1]
    relative_goal, auto_scale_basis   goal relative to the start; basis functions scaled to a maximum of 1 [False, True]
    disable_goal, disable_weights   ProDMP: without these parameters [False]
    learn_tau, learn_delay   the parameters begin with tau, then delay [False]
    phase            ProMP, DMP: "natural", "smooth" or "rhythmic"
    basis            ProDMP: "table" as published, or "exact" quadrature
    table_length     length of the table in units of tau [5]
    """

    @constructor
    def __init__(
        self, *, n_dof: Optional[int] = None, n_basis: Optional[int] = None, tau: Optional[float] = None,
        delay: Optional[float] = None, dt: Optional[float] = None, alpha: Optional[float] = None,
        alpha_phase: Optional[float] = None, basis_bandwidth_factor: Optional[float] = None,
        n_basis_outside: Optional[int] = None, weights_scale: Optional[ArrayLike] = None, goal_scale: Optional[float] = None,
        relative_goal: Optional[bool] = None, auto_scale_basis: Optional[bool] = None, disable_goal: Optional[bool] = None,
        disable_weights: Optional[bool] = None, learn_tau: Optional[bool] = None, learn_delay: Optional[bool] = None,
        phase: Optional[Phase] = None, basis: Optional[Basis] = None, table_length: Optional[int] = None,
    ) -> None:
        fields = {name: value for name, value in locals().items() if name in FIELDS and value is not None}
        options = struct(MpOptions)
        fill(options, {"kind": self.kind, **fields})

        # a number, or one for each basis function
        if weights_scale is not None:
            if np.ndim(weights_scale) == 0:
                options.weights_scale = number("weights_scale", weights_scale)
            else:
                options.point(weights_scales=Shapes(B=options.n_basis).array("weights_scale", weights_scale, "B"))
        super().__init__(make(lib.tce_mp_create, byref(options), None))


KEYWORDS_DOC = str(_Configured.__doc__).partition("\n\n")[2]


class ProDMP(_Configured):
    __doc__ = "Probabilistic dynamic movement primitive: smooth paths from any start, linear in P = D (B + 1) parameters.\n\n" + KEYWORDS_DOC

    kind = "prodmp"


class ProMP(_Configured):
    __doc__ = "Probabilistic movement primitive: a path linear in P = D B weights.\n\n" + KEYWORDS_DOC

    kind = "promp"


class DMP(_Configured):
    __doc__ = "Dynamic movement primitive, integrated from ``init_time`` over the given times.\n\n" + KEYWORDS_DOC

    kind = "dmp"


def blend(a: Plan, b: Plan, start: float, end: float, times: ArrayLike) -> Blended:
    """Blends plan a into plan b between the times start and end: position, velocity, acceleration [T, D] at times [T], all continuous."""
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
    instants = shapes.array("times", times, "T")
    pos, vel, acc = (shapes.empty("T D") for _ in range(3))
    lib.tce_mp_blend(
        byref(plans[0]), byref(plans[1]), number("start", start), number("end", end), shapes["T"], instants, pos, vel, acc)
    return Blended(pos, vel, acc)
