"""Gaussians N(mean, chol chol') given by lower Cholesky factors, or N(mean, std^2) given by standard deviations.

x and mean are [E, P]; chol is [P, P] or [1, P, P], one covariance for all, or [E, P, P]. In its place stands ``std``, which is [P] or
[1, P], or [E, P]; gradients have the shape of the scale that was given.
"""

from __future__ import annotations

from ctypes import byref
from typing import Any, NamedTuple, Optional

import numpy as np

from ._arrays import Array, Shapes, deviations, factor
from ._choices import FIELDS as CHOICES
from ._declarations import Gauss
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


def _describe(shapes: Shapes, mean: Any, chol: Any, std: Any, name: str = "") -> Any:
    """The struct for C. Its fields keep the arrays alive."""
    gauss = struct(Gauss)
    if mean is not None:
        mean = shapes.array(f"{name}mean", mean, "E P")
    if (chol is None) == (std is None):
        raise TypeError(f"give {name}chol or {name}std, and not both")
    if chol is not None:
        scale, gauss.n_scales = factor(shapes, f"{name}chol", chol)
    else:
        scale, gauss.n_scales = deviations(shapes, f"{name}std", std)
        gauss.form = CHOICES[Gauss]["form"]["diagonal"]
    gauss.n = shapes["E"] if mean is not None else gauss.n_scales
    gauss.dim = shapes["P"]
    gauss.point(mean=mean, scale=scale)
    return gauss, scale


def _work(gauss: Any) -> Array:
    return np.empty(lib.tce_gauss_work_size(gauss.n, gauss.dim))


def log_prob(x: Any, mean: Any, chol: Any = None, *, std: Any = None) -> Array:
    """log N(x; mean, scale) [E]."""
    shapes = Shapes()
    x = shapes.array("x", x, "E P")
    gauss, _ = _describe(shapes, mean, chol, std)
    out = shapes.empty("E")
    lib.tce_gauss_log_prob(byref(gauss), x, _work(gauss), out)
    return out


class LogProbGradient(NamedTuple):
    """Gradients of :func:`log_prob`."""

    d_x: Array
    d_mean: Array
    d_scale: Array


def log_prob_backward(x: Any, mean: Any, chol: Any = None, d_out: Any = None, *, std: Any = None) -> LogProbGradient:
    """Gradients to x, mean and scale (summed over E when shared) from d_out [E]."""
    shapes = Shapes()
    x = shapes.array("x", x, "E P")
    gauss, scale = _describe(shapes, mean, chol, std)
    d_out = shapes.array("d_out", d_out, "E")
    d_x, d_mean, d_scale = shapes.empty("E P"), shapes.empty("E P"), np.empty_like(scale)
    lib.tce_gauss_log_prob_backward(byref(gauss), x, d_out, _work(gauss), d_x, d_mean, d_scale)
    return LogProbGradient(d_x, d_mean, d_scale)


def entropy(chol: Any = None, *, std: Any = None) -> Array:
    """Entropy of each scale: [1] or [E]."""
    gauss, _ = _describe(Shapes(), None, chol, std)
    out = np.empty(gauss.n_scales)
    lib.tce_gauss_entropy(byref(gauss), out)
    return out


def entropy_backward(chol: Any = None, d_out: Any = None, *, std: Any = None) -> Array:
    """Gradient to the scale from d_out, one number per scale."""
    gauss, scale = _describe(Shapes(), None, chol, std)
    d_out = Shapes(N=gauss.n_scales).array("d_out", d_out, "N")
    out = np.empty(scale.shape)
    lib.tce_gauss_entropy_backward(byref(gauss), d_out, out)
    return out


def kl(
    mean: Any, chol: Any = None, other_mean: Any = None, other_chol: Any = None, *, std: Any = None, other_std: Any = None
) -> KL:
    """KL(N(mean, chol) || N(other_mean, other_chol)) as its mean part and covariance part, each [E]."""
    shapes = Shapes()
    gauss, _ = _describe(shapes, mean, chol, std)
    other, _ = _describe(shapes, other_mean, other_chol, other_std, "other_")
    mean_part, cov_part = shapes.empty("E"), shapes.empty("E")
    lib.tce_gauss_kl(byref(gauss), byref(other), _work(gauss), mean_part, cov_part)
    return KL(mean_part, cov_part)


def kl_backward(
    mean: Any, chol: Any = None, other_mean: Any = None, other_chol: Any = None, d_mean_part: Optional[Any] = None,
    d_cov_part: Optional[Any] = None, *, std: Any = None, other_std: Any = None,
) -> GaussianGradient:
    """Gradients to mean and scale from those of the two parts [E] (None: zeros); the other Gaussian is constant."""
    shapes = Shapes()
    gauss, scale = _describe(shapes, mean, chol, std)
    other, _ = _describe(shapes, other_mean, other_chol, other_std, "other_")
    d_mean_part = shapes.optional("d_mean_part", d_mean_part, "E")
    d_cov_part = shapes.optional("d_cov_part", d_cov_part, "E")
    d_mean, d_scale = shapes.empty("E P"), np.empty_like(scale)
    lib.tce_gauss_kl_backward(byref(gauss), byref(other), d_mean_part, d_cov_part, _work(gauss), d_mean, d_scale)
    return GaussianGradient(d_mean, d_scale)


def _normals(shapes: Shapes, random: Optional[RandomSource], normals: Any) -> Array:
    """The noise of a sample: given, or drawn row by row."""
    if (random is None) == (normals is None):
        raise TypeError("give random or normals, and not both")
    if normals is not None:
        return shapes.array("normals", normals, "E P")
    out = shapes.empty("E P")
    lib.tce_random_normals(random_stream(random), out.size, out)
    return out


def sample(
    mean: Any, chol: Any = None, random: Optional[RandomSource] = None, *, std: Any = None, normals: Any = None
) -> Array:
    """One draw per row of mean: [E, P]. The noise is drawn from ``random``, or given as ``normals`` [E, P]."""
    shapes = Shapes()
    gauss, _ = _describe(shapes, mean, chol, std)
    out = shapes.empty("E P")
    lib.tce_gauss_sample(byref(gauss), _normals(shapes, random, normals), out)
    return out


def squash(mean: Any, normals: Any, chol: Any = None, *, std: Any = None) -> Squashed:
    """Actions tanh(mean + scale normals) and their log-densities, from normals [E, P]."""
    shapes = Shapes()
    gauss, _ = _describe(shapes, mean, chol, std)
    normals = shapes.array("normals", normals, "E P")
    actions, out = shapes.empty("E P"), shapes.empty("E")
    lib.tce_gauss_squash(byref(gauss), normals, actions, out)
    return Squashed(actions, out)


def squash_backward(
    mean: Any, normals: Any, chol: Any = None, d_actions: Any = None, d_log_prob: Any = None, *, std: Any = None
) -> GaussianGradient:
    """Gradients with the normals held fixed, from d_actions [E, P] and d_log_prob [E] (None: zeros)."""
    shapes = Shapes()
    gauss, scale = _describe(shapes, mean, chol, std)
    normals = shapes.array("normals", normals, "E P")
    d_actions = shapes.optional("d_actions", d_actions, "E P")
    d_log_prob = shapes.optional("d_log_prob", d_log_prob, "E")
    d_mean, d_scale = shapes.empty("E P"), np.empty_like(scale)
    lib.tce_gauss_squash_backward(byref(gauss), normals, d_actions, d_log_prob, _work(gauss), d_mean, d_scale)
    return GaussianGradient(d_mean, d_scale)


def squash_log_prob(mean: Any, actions: Any, chol: Any = None, *, std: Any = None) -> Array:
    """Log-densities [E] of given actions [E, P] in -1 ... 1."""
    shapes = Shapes()
    gauss, _ = _describe(shapes, mean, chol, std)
    actions = shapes.array("actions", actions, "E P")
    out = shapes.empty("E")
    lib.tce_gauss_squash_log_prob(byref(gauss), actions, _work(gauss), out)
    return out


def squash_log_prob_backward(
    mean: Any, actions: Any, chol: Any = None, d_out: Any = None, *, std: Any = None
) -> GaussianGradient:
    """Gradients of :func:`squash_log_prob` from d_out [E]."""
    shapes = Shapes()
    gauss, scale = _describe(shapes, mean, chol, std)
    actions = shapes.array("actions", actions, "E P")
    d_out = shapes.array("d_out", d_out, "E")
    d_mean, d_scale = shapes.empty("E P"), np.empty_like(scale)
    lib.tce_gauss_squash_log_prob_backward(byref(gauss), actions, d_out, _work(gauss), d_mean, d_scale)
    return GaussianGradient(d_mean, d_scale)
