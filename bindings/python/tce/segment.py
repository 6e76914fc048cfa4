"""Time pairs, advantages of segments, and the segment objective of TCE."""

from __future__ import annotations

from ctypes import byref, c_size_t
from typing import Any, Dict, NamedTuple, Optional, Sequence, Tuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._arrays import Array, Inputs, Shapes, check_lower, integer, number, output, outputs
from ._choices import PairSelection, SegmentKind, argument
from ._declarations import ReturnsStats, SegmentOptions, SegmentPaths, SegmentSteps
from ._handle import Growing, Owned, constructor, fill, struct
from ._library import lib
from .base import Pool, RandomSource, random_stream
from .mp import MovementPrimitive
from .returns import SurrogateStats, read_stats, values_of


# the arrays of a call
_PATHS = Inputs(
    "P D T J", positions="E T D", mean="E P", chol="P P or 1 P P or E P P", init_pos="E D or None", init_vel="E D or None",
    log_prob_old="E J or None", advantages="E J or None")
# the same where each episode has times of its own
_OWN_PATHS = Inputs(
    "P D T J E", positions="E T D", mean="E P", chol="P P or 1 P P or E P P", init_pos="E D or None", init_vel="E D or None",
    log_prob_old="E J or None", advantages="E J or None")


def choose_pairs(
    T: int, K: int, random: Optional[RandomSource] = None, *, first: Optional[int] = None, selection: PairSelection = "interval"
) -> NDArray[np.int32]:
    """Consecutive pairs [J, 2] of about K time points among T steps.

    "interval": spacing T // K from a first index, drawn from ``random`` or given as ``first``. "random": K sorted
    distinct indices drawn from ``random``.
    """
    T, K = integer("T", T, 0), integer("K", K, 0)
    chosen = argument("tce_segment_choose_pairs", "selection", selection)
    if (random is None) == (first is None):
        raise ValueError("give either random or first")
    if first is not None and selection != "interval":
        raise ValueError('first: only with selection="interval"')
    out = np.empty((max(int(lib.tce_segment_max_pairs(T, K)), 1), 2), np.int32)
    count = c_size_t()
    lib.tce_segment_choose_pairs(
        chosen, T, K, 0 if first is None else integer("first", first, 0),
        None if random is None else random_stream(random), out, byref(count))
    return out[: count.value].copy()


class SegmentAdvantages(NamedTuple):
    """Advantages of segments [E, J], and which of them count: mask 0 marks those that do not."""

    advantages: Array
    mask: NDArray[np.uint8]


def advantage(
    rewards: Optional[ArrayLike], values: Optional[ArrayLike], pairs: ArrayLike, gamma: float = 1.0, normalise: bool = True, *,
    kind: SegmentKind = "value", step_advantages: Optional[ArrayLike] = None, lengths: Optional[ArrayLike] = None,
) -> SegmentAdvantages:
    """Segment advantages and their mask, each [E, J].

    rewards [E, T], values [E, T+1], pairs [J, 2]. kind "value": reward sum plus the difference of values; "sum":
    of step_advantages [E, T]; "reward": reward sum minus its mean over the episodes. lengths [E]: steps that each
    episode really took; segments beyond them have mask 0. What a kind does not use may be None.
    """
    shapes = Shapes()
    given = {
        "rewards": shapes.optional("rewards", rewards, "E T"), "step_advantages": shapes.optional("step_advantages", step_advantages, "E T")}
    if rewards is None and step_advantages is None:
        raise ValueError("rewards: needed, or step_advantages")
    seen = None if values is None else values_of(shapes, values)
    chosen = shapes.integers("pairs", pairs, "J 2")
    taken = None if lengths is None else shapes.integers("lengths", lengths, "E")
    out = shapes.empty("E J")
    mask = np.empty(out.shape, np.uint8)
    steps = struct(SegmentSteps)
    fill(steps, {"kind": kind, "normalise": bool(normalise), "gamma": gamma})
    steps.E, steps.T, steps.J = shapes["E"], shapes["T"], shapes["J"]
    steps.point(**given, values=seen, pairs=chosen, lengths=taken, out_advantages=out, out_mask=mask)
    lib.tce_segment_advantage(byref(steps))
    return SegmentAdvantages(out, mask)


class SegmentSurrogate(NamedTuple):
    """The surrogate loss of segments, its gradients d_mean [E, P] and d_chol, shaped like chol, the log-likelihoods [E, J], and what else was found."""

    loss: float
    d_mean: Array
    d_chol: Array
    log_prob: Array
    stats: SurrogateStats


class SegmentObjective(Growing):
    """Likelihood of path segments under a Gaussian over primitive parameters, and the surrogate loss with gradients.

    mp         a linear primitive (ProDMP or ProMP) without learnt tau or delay
    times      [T], or [E, T] for one row per episode
    pairs      [J, 2], indices a < b into the times
    init_time  where the paths start: a number or [E]
    reg        regularisation, times the largest diagonal entry of all segment covariances

    Rows that are all equal count as one: with one covariance for all, a segment is then factored once, not once per
    episode. chol is [1, P, P] or [P, P] (one covariance for all) or [E, P, P]. The C handle is recreated when there are more
    episodes than ever before, or when the covariance becomes shared or ceases to be.
    """

    _kind = "segment"
    _room = "max_episodes"

    @constructor
    def __init__(
        self, mp: MovementPrimitive, times: ArrayLike, pairs: ArrayLike, init_time: ArrayLike = 0.0, *, reg: Optional[float] = None,
        pool: Optional[Pool] = None,
    ) -> None:
        self.mp = mp
        self.pool = pool
        shapes = Shapes(P=mp.n_params, D=mp.n_dof)
        grids = shapes.array("times", times, "T", "E T")
        starts = shapes.array("init_time", np.atleast_1d(np.asarray(init_time, np.float64)), "1", "E")
        self._pairs = shapes.integers("pairs", pairs, "J 2").copy()

        # one grid for all episodes, or one each
        n = shapes.known.get("E", 1)
        self._times = np.array(np.broadcast_to(grids, (n, shapes["T"])), order="C")
        self._starts = np.array(np.broadcast_to(starts, (n,)), order="C")
        self._sizes = tuple(shapes.known[letter] for letter in "PDTJE" if letter in shapes.known)
        self._inputs = _OWN_PATHS if "E" in shapes.known else _PATHS
        # with room for one episode per row of times, so that wrong times or pairs are reported here
        options = struct(SegmentOptions)
        fill(options, {
            "max_episodes": n, "max_steps": shapes["T"], "max_pairs": shapes["J"], "shared_cov": 1, "max_grids": n, "reg": reg})
        options.point(mp=mp, pool=pool)
        super().__init__(options, mp, pool)

    def _make(self, options: Any) -> Owned:
        fresh = super()._make(options)
        lib.tce_segment_set_pairs(
            fresh, self._starts.size, self._times.shape[1], self._times, self._starts, len(self._pairs), self._pairs)
        return fresh

    def _paths(self, *given: Any) -> Tuple[Dict[str, int], SegmentPaths, Sequence[Any], int]:
        """Sizes, the struct of a call, its arrays, and how many factors there are."""
        sizes, arrays = self._inputs(self._sizes, *given)
        positions, mean, chol, init_pos, init_vel, _, _ = arrays
        check_lower("chol", chol)
        paths = struct(SegmentPaths)
        paths.E = sizes["E"]
        paths.point(positions=positions, mean=mean, L=chol, init_pos=init_pos, init_vel=init_vel)
        return sizes, paths, arrays, 1 if chol.ndim == 2 else len(chol)

    def log_prob(
        self, positions: ArrayLike, mean: ArrayLike, chol: ArrayLike, init_pos: Optional[ArrayLike] = None,
        init_vel: Optional[ArrayLike] = None, out: Optional[Array] = None,
    ) -> Array:
        """Log-likelihoods [E, J] of the segments of paths positions [E, T, D] under N(mean [E, P], chol).

        chol [P, P], [1, P, P] or [E, P, P]; init_pos, init_vel [E, D]: where the paths start (None: zeros). ``out``: an array [E, J]
        to write into.
        """
        sizes, paths, _, n_cov = self._paths(positions, mean, chol, init_pos, init_vel, None, None)
        out = output(out, sizes["E"], sizes["J"])
        paths.point(out_log_prob=out)
        with self._lock:
            self._require(sizes["E"], shared_cov=int(n_cov == 1))
            lib.tce_segment_log_prob(self, byref(paths))
        return out

    def surrogate(
        self, positions: ArrayLike, mean: ArrayLike, chol: ArrayLike, init_pos: Optional[ArrayLike], init_vel: Optional[ArrayLike],
        log_prob_old: ArrayLike, advantages: ArrayLike, clip: float = 0.0, mask: Optional[ArrayLike] = None,
        out: Optional[Tuple[Array, Array, Array]] = None,
    ) -> SegmentSurrogate:
        """The loss -mean(ratio * advantage), clipped when clip > 0, with d_mean [E, P], d_chol shaped like chol, log_prob [E, J], stats.

        log_prob_old and advantages are [E, J]; segments with mask [E, J] 0 take no part. The rest as of :meth:`log_prob`.
        ``out``: three arrays for d_mean, d_chol and log_prob.
        """
        for name, value in (("log_prob_old", log_prob_old), ("advantages", advantages)):
            if value is None:
                raise TypeError(f"give {name}")
        sizes, paths, arrays, n_cov = self._paths(positions, mean, chol, init_pos, init_vel, log_prob_old, advantages)
        n, J = sizes["E"], sizes["J"]
        flags = None if mask is None else Shapes(E=n, J=J).flags("mask", mask, "E J")
        stats = struct(ReturnsStats)
        d_mean, d_chol, log_prob = outputs(out, arrays[1].shape, arrays[2].shape, (n, J))
        paths.clip = number("clip", clip)
        paths.point(
            log_prob_old=arrays[5], advantages=arrays[6], mask=flags, out_log_prob=log_prob, out_d_mean=d_mean, out_d_L=d_chol)
        with self._lock:
            self._require(n, shared_cov=int(n_cov == 1))
            lib.tce_segment_surrogate(self, byref(paths), byref(stats))
        return SegmentSurrogate(stats.loss, d_mean, d_chol, log_prob, read_stats(stats))
