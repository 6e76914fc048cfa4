"""Time pairs, advantages of segments, and the segment objective of TCE."""

from __future__ import annotations

from ctypes import byref, c_size_t
from typing import Any, NamedTuple, Optional, Tuple

import numpy as np
from numpy.typing import NDArray

from ._arrays import Array, Shapes, factor, integer, number
from ._choices import argument
from ._declarations import ReturnsStats, SegmentOptions, SegmentPaths, SegmentSteps
from ._handle import Growing, Owned, fill, struct
from ._library import lib
from .base import Pool, RandomSource, random_stream
from .mp import MovementPrimitive
from .returns import SurrogateStats, read_stats, values_of


def choose_pairs(
    T: int, K: int, random: Optional[RandomSource] = None, *, first: Optional[int] = None, selection: str = "interval"
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
    rewards: Any, values: Any, pairs: Any, gamma: float = 1.0, normalise: bool = True, *, kind: str = "value",
    step_advantages: Any = None, lengths: Any = None,
) -> SegmentAdvantages:
    """Segment advantages and their mask, each [E, J].

    rewards [E, T], values [E, T+1], pairs [J, 2]. kind "value": reward sum plus the difference of values; "sum":
    of step_advantages [E, T]; "reward": reward sum minus its mean over the episodes. lengths [E]: steps that each
    episode really took; segments beyond them have mask 0. What a kind does not use may be None.
    """
    shapes = Shapes()
    rewards = shapes.optional("rewards", rewards, "E T")
    step_advantages = shapes.optional("step_advantages", step_advantages, "E T")
    if rewards is None and step_advantages is None:
        raise ValueError("rewards: needed, or step_advantages")
    values = None if values is None else values_of(shapes, values)
    pairs = shapes.integers("pairs", pairs, "J 2")
    if lengths is not None:
        lengths = shapes.integers("lengths", lengths, "E")
    out = shapes.empty("E J")
    mask = np.empty(out.shape, np.uint8)
    steps = struct(SegmentSteps)
    fill(steps, {"kind": kind, "normalise": bool(normalise), "gamma": gamma})
    steps.E, steps.T, steps.J = shapes["E"], shapes["T"], shapes["J"]
    steps.point(
        rewards=rewards, values=values, step_advantages=step_advantages, pairs=pairs, lengths=lengths,
        out_advantages=out, out_mask=mask)
    lib.tce_segment_advantage(byref(steps))
    return SegmentAdvantages(out, mask)


class SegmentSurrogate(NamedTuple):
    """The surrogate loss of segments, its gradients, the log-likelihoods [E, J] it was computed from, and what else was found."""

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
    episode. chol is [1, P, P] or [P, P] (one covariance for all) or [E, P, P]. The C handle is made again when there are more
    episodes than ever before, or when the covariance is shared and was not, or the reverse.
    """

    _kind = "segment"
    _room = "max_episodes"

    def __init__(
        self, mp: MovementPrimitive, times: Any, pairs: Any, init_time: Any = 0.0, *, reg: Optional[float] = None,
        pool: Optional[Pool] = None,
    ) -> None:
        self.mp = mp
        self.pool = pool
        shapes = Shapes(P=mp.n_params, D=mp.n_dof)
        times = shapes.array("times", times, "T", "E T")
        starts = shapes.array("init_time", np.atleast_1d(np.asarray(init_time, np.float64)), "1", "E")
        self._pairs = shapes.integers("pairs", pairs, "J 2").copy()

        # one grid for all episodes, or one each
        n = shapes.known.get("E", 1)
        self._times = np.array(np.broadcast_to(times, (n, shapes["T"])), order="C")
        self._starts = np.array(np.broadcast_to(starts, (n,)), order="C")
        self._shapes = shapes.known
        # with room for one episode per row of times, so that wrong times or pairs are reported here
        options = struct(SegmentOptions)
        fill(options, {
            "max_episodes": n, "max_steps": shapes["T"], "max_pairs": shapes["J"], "shared_cov": 1, "max_grids": n, "reg": reg})
        options.point(mp=mp, pool=pool)
        super().__init__(options, mp, pool)

    def _make(self, options: Any) -> Owned:
        fresh = super()._make(options)
        lib.tce_segment_set_pairs(
            fresh, self._starts.size, self._shapes["T"], self._times, self._starts, self._shapes["J"], self._pairs)
        return fresh

    def _paths(
        self, positions: Any, mean: Any, chol: Any, init_pos: Any, init_vel: Any
    ) -> Tuple[Shapes, SegmentPaths, Array, int]:
        """Sizes, the struct of a call, chol as an array, and how many factors it has."""
        shapes = Shapes(**self._shapes)
        positions = shapes.array("positions", positions, "E T D")
        mean = shapes.array("mean", mean, "E P")
        chol, n_cov = factor(shapes, "chol", chol)
        init_pos = shapes.optional("init_pos", init_pos, "E D")
        init_vel = shapes.optional("init_vel", init_vel, "E D")
        paths = struct(SegmentPaths)
        paths.E = shapes["E"]
        paths.point(positions=positions, mean=mean, L=chol, init_pos=init_pos, init_vel=init_vel)
        return shapes, paths, chol, n_cov

    def log_prob(self, positions: Any, mean: Any, chol: Any, init_pos: Any = None, init_vel: Any = None) -> Array:
        """Log-likelihoods [E, J] of the segments of paths positions [E, T, D] under N(mean [E, P], chol)."""
        shapes, paths, _, n_cov = self._paths(positions, mean, chol, init_pos, init_vel)
        out = shapes.empty("E J")
        paths.point(out_log_prob=out)
        with self._lock:
            self._require(shapes["E"], shared_cov=int(n_cov == 1))
            lib.tce_segment_log_prob(self, byref(paths))
        return out

    def surrogate(
        self, positions: Any, mean: Any, chol: Any, init_pos: Any, init_vel: Any, log_prob_old: Any,
        advantages: Any, clip: float = 0.0, mask: Any = None,
    ) -> SegmentSurrogate:
        """The loss -mean(ratio * advantage), clipped when clip > 0, with d_mean [E, P], d_chol shaped like chol, log_prob [E, J], stats.

        log_prob_old and advantages are [E, J]; segments with mask 0 take no part.
        """
        shapes, paths, chol, n_cov = self._paths(positions, mean, chol, init_pos, init_vel)
        log_prob_old = shapes.array("log_prob_old", log_prob_old, "E J")
        advantages = shapes.array("advantages", advantages, "E J")
        if mask is not None:
            mask = shapes.flags("mask", mask, "E J")
        stats = struct(ReturnsStats)
        log_prob, d_mean, d_chol = shapes.empty("E J"), shapes.empty("E P"), np.empty_like(chol)
        paths.clip = number("clip", clip)
        paths.point(
            log_prob_old=log_prob_old, advantages=advantages, mask=mask, out_log_prob=log_prob, out_d_mean=d_mean,
            out_d_L=d_chol)
        with self._lock:
            self._require(shapes["E"], shared_cov=int(n_cov == 1))
            lib.tce_segment_surrogate(self, byref(paths), byref(stats))
        return SegmentSurrogate(stats.loss, d_mean, d_chol, log_prob, read_stats(stats))
