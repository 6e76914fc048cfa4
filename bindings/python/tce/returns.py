"""Returns and advantages of steps, normalisation, and the surrogate loss."""

from __future__ import annotations

from ctypes import byref
from typing import Any, List, NamedTuple, Optional, Tuple

import numpy as np
from numpy.typing import ArrayLike

from ._arrays import Array, Shapes, number
from ._declarations import ReturnsStats
from ._handle import struct
from ._library import lib


class Returns(NamedTuple):
    """Advantages and returns, each [E, T]."""

    advantages: Array
    returns: Array


def gae(rewards: ArrayLike, values: ArrayLike, ends: ArrayLike, gamma: float, lam: float) -> Returns:
    """Generalised advantage estimation: (advantages, returns), each [E, T].

    rewards and ends are [E, T], values [E, T+1]. ends: 1 where an episode was terminated or truncated;
    to bootstrap at a truncation, add gamma V(terminal observation) to its reward before.
    """
    shapes, arrays = _steps(rewards, values, ends)
    advantages, returns = shapes.empty("E T"), shapes.empty("E T")
    lib.tce_returns_gae(shapes["E"], shapes["T"], *arrays, number("gamma", gamma), number("lam", lam), advantages, returns)
    return Returns(advantages, returns)


def monte_carlo(rewards: ArrayLike, values: ArrayLike, ends: ArrayLike, gamma: float) -> Returns:
    """Monte-Carlo returns: (advantages, returns), each [E, T]; shapes as in :func:`gae`."""
    shapes, arrays = _steps(rewards, values, ends)
    advantages, returns = shapes.empty("E T"), shapes.empty("E T")
    lib.tce_returns_monte_carlo(shapes["E"], shapes["T"], *arrays, number("gamma", gamma), advantages, returns)
    return Returns(advantages, returns)


def _steps(rewards: Any, values: Any, ends: Any) -> Tuple[Shapes, List[Any]]:
    shapes = Shapes()
    rewards = shapes.array("rewards", rewards, "E T")
    values = values_of(shapes, values)
    return shapes, [rewards, values, shapes.flags("ends", ends, "E T")]


def values_of(shapes: Shapes, values: Any) -> Array:
    """values [E, T+1]; E and T are known."""
    return Shapes(E=shapes["E"], N=shapes["T"] + 1).array("values [E, N = T+1]", values, "E N")


def normalise(x: ArrayLike, mask: Optional[ArrayLike] = None) -> Array:
    """A copy of x, of any shape, minus its mean, over its sample std + 1e-8; entries with mask 0, shaped like x, take no part."""
    out = np.array(x, np.float64, order="C")
    chosen = None if mask is None else Shapes().flags("mask", mask, " ".join(map(str, out.shape)))
    lib.tce_returns_normalise(out.size, chosen, out)
    return out


def to_event(rewards: ArrayLike, events: ArrayLike) -> Array:
    """A copy of rewards [E, T] with all of them moved to the deciding event, the first step where events [E, T] is not 0."""
    shapes = Shapes()
    out = np.array(rewards, np.float64, order="C")
    shapes.match("rewards", out, "E T")
    lib.tce_returns_to_event(shapes["E"], shapes["T"], shapes.flags("events", events, "E T"), out)
    return out


class SurrogateStats(NamedTuple):
    """What a surrogate evaluation found besides its gradients."""

    loss: float
    ratio_mean: float
    ratio_max: float
    fraction_clipped: float
    approx_kl: float


def read_stats(stats: Any) -> SurrogateStats:
    """The fields of a C struct tce_returns_stats."""
    return SurrogateStats(*(getattr(stats, name) for name in SurrogateStats._fields))


class Surrogate(NamedTuple):
    """A surrogate loss, its gradient to the log-likelihoods, and what else was found."""

    loss: float
    d_log_prob: Array
    stats: SurrogateStats


def surrogate(
    log_prob: ArrayLike, log_prob_old: ArrayLike, advantages: ArrayLike, clip: float = 0.0, mask: Optional[ArrayLike] = None
) -> Surrogate:
    """Surrogate loss -mean(ratio * advantage) of any log-likelihoods, all arrays of one shape with 1 to 4 axes. clip 0: no clipping."""
    now = Shapes().array("log_prob", log_prob, *(" ".join("ABCD"[:n]) for n in range(1, 5)))
    shape = " ".join(map(str, now.shape))
    shapes = Shapes()
    old, gains = shapes.array("log_prob_old", log_prob_old, shape), shapes.array("advantages", advantages, shape)
    chosen = None if mask is None else shapes.flags("mask", mask, shape)
    stats = struct(ReturnsStats)
    out = np.empty_like(now)
    lib.tce_returns_surrogate(now.size, now, old, gains, chosen, number("clip", clip), byref(stats), out)
    return Surrogate(stats.loss, out, read_stats(stats))
