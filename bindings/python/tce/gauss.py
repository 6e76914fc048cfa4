"""Gaussians N(mean, chol chol') given by lower Cholesky factors, or N(mean, std^2) given by standard deviations.

x and mean are [E, P]; chol is [P, P] or [1, P, P], one covariance for all, or [E, P, P]. In its place stands ``std``, which is [P] or
[1, P], or [E, P]; gradients have the shape of the scale that was given.
"""

from __future__ import annotations

import functools
from ctypes import byref
from typing import Any, Dict, NamedTuple, Optional, Tuple

import numpy as np
from numpy.typing import ArrayLike

from ._arrays import Array, Inputs, Shapes, check_lower, output, outputs
from ._declarations import TCE_GAUSS_DIAGONAL, Gauss
from ._handle import struct
from ._library import lib
from .base import RandomSource, random_stream


class Gaussian(NamedTuple):
    """Gaussians N(mean, chol chol')."""

    mean: Array
    chol: Array


class DiagonalGaussian(NamedTuple):
    """Gaussians N(mean, std^2) with independent dimensions."""

    mean: Array
    std: Array


class GaussianGradient(NamedTuple):
    """Gradients to the mean and to the scale that was given, ``chol`` or ``std``."""

    d_mean: Array
    d_scale: Array


class KL(NamedTuple):
    """The two parts of a divergence, each [E]; their sum is the whole."""

    mean_part: Array
    cov_part: Array


class Squashed(NamedTuple):
    """Actions [E, P] in -1 ... 1 and their log-densities [E]."""

    actions: Array
    log_prob: Array


# the arrays of one call
_SCALE = {"chol": "P P or 1 P P or E P P or None", "std": "P or 1 P or E P or None"}
_OTHER = {"other_mean": "E P", "other_chol": "P P or 1 P P or E P P or None", "other_std": "P or 1 P or E P or None"}
_SCALE_ALONE = Inputs("", **_SCALE)
_POINTS = Inputs("", x="E P", mean="E P", **_SCALE, d_out="E or None")
_MEANS = Inputs("", mean="E P", **_SCALE, normals="E P or None")
_TWO = Inputs("", mean="E P", **_SCALE, **_OTHER, d_mean_part="E or None", d_cov_part="E or None")
_NORMALS = Inputs("", normals="E P", mean="E P", **_SCALE, d_actions="E P or None", d_log_prob="E or None")
_ACTIONS = Inputs("", actions="E P", mean="E P", **_SCALE, d_out="E or None")


def _describe(sizes: Dict[str, int], mean: Any, chol: Any, std: Any, *, name: str = "") -> Tuple[Gauss, Array]:
    """The struct for C, which keeps the arrays alive, and the scale."""
    if (chol is None) == (std is None):
        raise TypeError(f"give {name}chol or {name}std, and not both")
    gauss = struct(Gauss)
    scale = std if chol is None else chol
    if chol is None:
        gauss.form = TCE_GAUSS_DIAGONAL
    else:
        check_lower(f"{name}chol", chol)
    gauss.dim = sizes["P"]
    gauss.n_scales = len(scale) if scale.ndim == (2 if chol is None else 3) else 1
    gauss.n = gauss.n_scales if mean is None else sizes["E"]
    gauss.point(mean=mean, scale=scale)
    return gauss, scale


@functools.lru_cache(maxsize=256)
def _work_size(n: int, dim: int) -> int:
    return int(lib.tce_gauss_work_size(n, dim))


def _work(gauss: Gauss) -> Array:
    return np.empty(_work_size(gauss.n, gauss.dim))


def _needed(name: str, value: Any) -> Any:
    """TypeError for an argument that follows optional ones and is missing."""
    if value is None:
        raise TypeError(f"give {name}")
    return value


def log_prob(
    x: ArrayLike, mean: ArrayLike, chol: Optional[ArrayLike] = None, *, std: Optional[ArrayLike] = None, out: Optional[Array] = None
) -> Array:
    """log N(x; mean, scale) [E].

    x, mean [E, P]; scale: chol [P, P], [1, P, P] or [E, P, P], or std [P], [1, P] or [E, P]. ``out``: an array [E] to write into.
    """
    sizes, (points, *given, _) = _POINTS((), x, mean, chol, std, None)
    gauss, _ = _describe(sizes, *given)
    out = output(out, sizes["E"])
    lib.tce_gauss_log_prob(byref(gauss), points, _work(gauss), out)
    return out


class LogProbGradient(NamedTuple):
    """Gradients of :func:`log_prob`: d_x, d_mean [E, P], and d_scale, shaped like the scale that was given."""

    d_x: Array
    d_mean: Array
    d_scale: Array


def log_prob_backward(
    x: ArrayLike, mean: ArrayLike, chol: Optional[ArrayLike] = None, d_out: Optional[ArrayLike] = None, *, std: Optional[ArrayLike] = None,
    out: Optional[Tuple[Array, Array, Array]] = None,
) -> LogProbGradient:
    """Gradients to x, mean and scale (summed over E when shared) from d_out [E]; the rest as in :func:`log_prob`. ``out``: arrays for the three."""
    sizes, (points, *given, d_given) = _POINTS((), x, mean, chol, std, _needed("d_out", d_out))
    gauss, scale = _describe(sizes, *given)
    d_x, d_mean, d_scale = outputs(out, points.shape, points.shape, scale.shape)
    lib.tce_gauss_log_prob_backward(byref(gauss), points, d_given, _work(gauss), d_x, d_mean, d_scale)
    return LogProbGradient(d_x, d_mean, d_scale)


def entropy(chol: Optional[ArrayLike] = None, *, std: Optional[ArrayLike] = None) -> Array:
    """Entropy of each scale, [1] or [E]: of chol [P, P], [1, P, P] or [E, P, P], or of std [P], [1, P] or [E, P]."""
    sizes, given = _SCALE_ALONE((), chol, std)
    gauss, _ = _describe(sizes, None, *given)
    out = np.empty(gauss.n_scales)
    lib.tce_gauss_entropy(byref(gauss), out)
    return out


def entropy_backward(
    chol: Optional[ArrayLike] = None, d_out: Optional[ArrayLike] = None, *, std: Optional[ArrayLike] = None, out: Optional[Array] = None
) -> Array:
    """Gradient to the scale, and shaped like it, from d_out, one number per scale. ``out``: an array for it."""
    sizes, given = _SCALE_ALONE((), chol, std)
    gauss, scale = _describe(sizes, None, *given)
    d_given = Shapes(N=gauss.n_scales).array("d_out", _needed("d_out", d_out), "N")
    out = output(out, *scale.shape)
    lib.tce_gauss_entropy_backward(byref(gauss), d_given, out)
    return out


def kl(
    mean: ArrayLike, chol: Optional[ArrayLike] = None, other_mean: Optional[ArrayLike] = None, other_chol: Optional[ArrayLike] = None, *,
    std: Optional[ArrayLike] = None, other_std: Optional[ArrayLike] = None,
) -> KL:
    """KL(N(mean, chol) || N(other_mean, other_chol)) as its mean part and covariance part, each [E].

    mean, other_mean [E, P]; chol and other_chol [P, P], [1, P, P] or [E, P, P], or std and other_std [P], [1, P] or [E, P].
    """
    sizes, given = _TWO((), mean, chol, std, _needed("other_mean", other_mean), other_chol, other_std, None, None)
    gauss, _ = _describe(sizes, *given[:3])
    other, _ = _describe(sizes, *given[3:6], name="other_")
    mean_part, cov_part = np.empty(sizes["E"]), np.empty(sizes["E"])
    lib.tce_gauss_kl(byref(gauss), byref(other), _work(gauss), mean_part, cov_part)
    return KL(mean_part, cov_part)


def kl_backward(
    mean: ArrayLike, chol: Optional[ArrayLike] = None, other_mean: Optional[ArrayLike] = None, other_chol: Optional[ArrayLike] = None,
    d_mean_part: Optional[ArrayLike] = None, d_cov_part: Optional[ArrayLike] = None, *, std: Optional[ArrayLike] = None,
    other_std: Optional[ArrayLike] = None, out: Optional[Tuple[Array, Array]] = None,
) -> GaussianGradient:
    """Gradients to mean and scale from those of the two parts [E] (None: zeros); the other Gaussian is constant. Arrays as in :func:`kl`.

    ``out``: arrays for the two.
    """
    sizes, given = _TWO((), mean, chol, std, _needed("other_mean", other_mean), other_chol, other_std, d_mean_part, d_cov_part)
    gauss, scale = _describe(sizes, *given[:3])
    other, _ = _describe(sizes, *given[3:6], name="other_")
    d_mean, d_scale = outputs(out, given[0].shape, scale.shape)
    lib.tce_gauss_kl_backward(byref(gauss), byref(other), given[6], given[7], _work(gauss), d_mean, d_scale)
    return GaussianGradient(d_mean, d_scale)


def sample(
    mean: ArrayLike, chol: Optional[ArrayLike] = None, random: Optional[RandomSource] = None, *, std: Optional[ArrayLike] = None,
    normals: Optional[ArrayLike] = None, out: Optional[Array] = None,
) -> Array:
    """One draw per row of mean [E, P]: [E, P]. The noise is drawn from ``random``, or given as ``normals`` [E, P].

    scale: chol [P, P], [1, P, P] or [E, P, P], or std [P], [1, P] or [E, P]. ``out``: an array [E, P] to write into, which may be ``normals``.
    """
    if (random is None) == (normals is None):
        raise TypeError("give random or normals, and not both")
    sizes, (*given, noise) = _MEANS((), mean, chol, std, normals)
    gauss, _ = _describe(sizes, *given)
    out = output(out, sizes["E"], sizes["P"])
    if random is not None:
        noise = np.empty_like(out)
        lib.tce_random_normals(random_stream(random), noise.size, noise)
    lib.tce_gauss_sample(byref(gauss), noise, out)
    return out


def squash(
    mean: ArrayLike, normals: ArrayLike, chol: Optional[ArrayLike] = None, *, std: Optional[ArrayLike] = None,
    out: Optional[Tuple[Array, Array]] = None,
) -> Squashed:
    """Actions tanh(mean + scale normals) and their log-densities.

    mean, normals [E, P]; scale: chol [P, P], [1, P, P] or [E, P, P], or std [P], [1, P] or [E, P]. ``out``: arrays [E, P] and [E] to write into.
    """
    sizes, (noise, *given, _, _) = _NORMALS((), normals, mean, chol, std, None, None)
    gauss, _ = _describe(sizes, *given)
    actions, densities = outputs(out, noise.shape, (sizes["E"],))
    lib.tce_gauss_squash(byref(gauss), noise, actions, densities)
    return Squashed(actions, densities)


def squash_backward(
    mean: ArrayLike, normals: ArrayLike, chol: Optional[ArrayLike] = None, d_actions: Optional[ArrayLike] = None,
    d_log_prob: Optional[ArrayLike] = None, *, std: Optional[ArrayLike] = None, out: Optional[Tuple[Array, Array]] = None,
) -> GaussianGradient:
    """Gradients of :func:`squash` with the normals held fixed, from d_actions [E, P] and d_log_prob [E] (None: zeros). ``out``: arrays for the two."""
    sizes, (noise, *given, d_first, d_second) = _NORMALS((), normals, mean, chol, std, d_actions, d_log_prob)
    gauss, scale = _describe(sizes, *given)
    d_mean, d_scale = outputs(out, noise.shape, scale.shape)
    lib.tce_gauss_squash_backward(byref(gauss), noise, d_first, d_second, _work(gauss), d_mean, d_scale)
    return GaussianGradient(d_mean, d_scale)


def squash_log_prob(mean: ArrayLike, actions: ArrayLike, chol: Optional[ArrayLike] = None, *, std: Optional[ArrayLike] = None) -> Array:
    """Log-densities [E] of given actions [E, P] in -1 ... 1; mean and scale as in :func:`squash`."""
    sizes, (points, *given, _) = _ACTIONS((), actions, mean, chol, std, None)
    gauss, _ = _describe(sizes, *given)
    out = np.empty(sizes["E"])
    lib.tce_gauss_squash_log_prob(byref(gauss), points, _work(gauss), out)
    return out


def squash_log_prob_backward(
    mean: ArrayLike, actions: ArrayLike, chol: Optional[ArrayLike] = None, d_out: Optional[ArrayLike] = None, *, std: Optional[ArrayLike] = None,
    out: Optional[Tuple[Array, Array]] = None,
) -> GaussianGradient:
    """Gradients of :func:`squash_log_prob` to mean and scale from d_out [E]. ``out``: arrays for the two."""
    sizes, (points, *given, d_given) = _ACTIONS((), actions, mean, chol, std, _needed("d_out", d_out))
    gauss, scale = _describe(sizes, *given)
    d_mean, d_scale = outputs(out, points.shape, scale.shape)
    lib.tce_gauss_squash_log_prob_backward(byref(gauss), points, d_given, _work(gauss), d_mean, d_scale)
    return GaussianGradient(d_mean, d_scale)
