"""Gaussians N(mean, chol chol') given by lower Cholesky factors.

x and mean are [E, P]; chol is [P, P] or [1, P, P], one covariance for all, or [E, P, P].
"""

from __future__ import annotations

from typing import Any, NamedTuple, Optional

import numpy as np

from ._arrays import Array, Shapes, factor
from ._library import lib
from .base import RandomSource, random_stream


class Gaussian(NamedTuple):
    """Gaussians N(mean, chol chol')."""

    mean: Array
    chol: Array


class GaussianGradient(NamedTuple):
    """Gradients to the mean and to the lower Cholesky factor."""

    d_mean: Array
    d_chol: Array


class KL(NamedTuple):
    """The two parts of a divergence, each [E]; their sum is the whole."""

    mean_part: Array
    cov_part: Array


def _work(shapes: Shapes) -> Array:
    return np.empty(lib.tce_gauss_work(shapes["E"], shapes["P"]))


def log_prob(x: Any, mean: Any, chol: Any) -> Array:
    """log N(x; mean, chol chol') [E]."""
    shapes = Shapes()
    x = shapes.array("x", x, "E P")
    mean = shapes.array("mean", mean, "E P")
    chol, n_cov = factor(shapes, "chol", chol)
    work, out = _work(shapes), shapes.empty("E")
    lib.tce_gauss_log_prob(shapes["E"], shapes["P"], n_cov, x, mean, chol, work, out)
    return out


class LogProbGradient(NamedTuple):
    """Gradients of :func:`log_prob`."""

    d_x: Array
    d_mean: Array
    d_chol: Array


def log_prob_backward(x: Any, mean: Any, chol: Any, d_out: Any) -> LogProbGradient:
    """Gradients to x, mean and chol (summed over E when shared) from d_out [E]."""
    shapes = Shapes()
    x = shapes.array("x", x, "E P")
    mean = shapes.array("mean", mean, "E P")
    chol, n_cov = factor(shapes, "chol", chol)
    d_out = shapes.array("d_out", d_out, "E")
    work = _work(shapes)
    d_x, d_mean, d_chol = shapes.empty("E P"), shapes.empty("E P"), np.empty_like(chol)
    lib.tce_gauss_log_prob_backward(shapes["E"], shapes["P"], n_cov, x, mean, chol, d_out, work, d_x, d_mean, d_chol)
    return LogProbGradient(d_x, d_mean, d_chol)


def entropy(chol: Any) -> Array:
    """Entropy of each factor: [1] or [E]."""
    shapes = Shapes()
    chol, n_cov = factor(shapes, "chol", chol)
    out = np.empty(n_cov)
    lib.tce_gauss_entropy(n_cov, shapes["P"], chol, out)
    return out


def entropy_backward(chol: Any, d_out: Any) -> Array:
    """Gradient to chol from d_out, one number per factor."""
    shapes = Shapes()
    chol, n_cov = factor(shapes, "chol", chol)
    d_out = Shapes(N=n_cov).array("d_out", d_out, "N")
    out = np.empty(chol.shape)
    lib.tce_gauss_entropy_backward(n_cov, shapes["P"], chol, d_out, out)
    return out


def kl(mean: Any, chol: Any, other_mean: Any, other_chol: Any) -> KL:
    """KL(N(mean, chol) || N(other_mean, other_chol)) as its mean part and covariance part, each [E]."""
    shapes = Shapes()
    mean = shapes.array("mean", mean, "E P")
    other_mean = shapes.array("other_mean", other_mean, "E P")
    chol, n_cov = factor(shapes, "chol", chol)
    other_chol, n_other = factor(shapes, "other_chol", other_chol)
    work, mean_part, cov_part = _work(shapes), shapes.empty("E"), shapes.empty("E")
    lib.tce_gauss_kl(
        shapes["E"], shapes["P"], n_cov, mean, chol, n_other, other_mean, other_chol, work, mean_part, cov_part)
    return KL(mean_part, cov_part)


def kl_backward(
    mean: Any, chol: Any, other_mean: Any, other_chol: Any, d_mean_part: Optional[Any] = None,
    d_cov_part: Optional[Any] = None,
) -> GaussianGradient:
    """Gradients to mean and chol from those of the two parts [E] (None: zeros); the other Gaussian is constant."""
    shapes = Shapes()
    mean = shapes.array("mean", mean, "E P")
    other_mean = shapes.array("other_mean", other_mean, "E P")
    chol, n_cov = factor(shapes, "chol", chol)
    other_chol, n_other = factor(shapes, "other_chol", other_chol)
    d_mean_part = shapes.optional("d_mean_part", d_mean_part, "E")
    d_cov_part = shapes.optional("d_cov_part", d_cov_part, "E")
    work, d_mean, d_chol = _work(shapes), shapes.empty("E P"), np.empty_like(chol)
    lib.tce_gauss_kl_backward(
        shapes["E"], shapes["P"], n_cov, mean, chol, n_other, other_mean, other_chol, d_mean_part, d_cov_part, work,
        d_mean, d_chol)
    return GaussianGradient(d_mean, d_chol)


def sample(mean: Any, chol: Any, random: RandomSource) -> Array:
    """One draw per row of mean: [E, P]."""
    shapes = Shapes()
    mean = shapes.array("mean", mean, "E P")
    chol, n_cov = factor(shapes, "chol", chol)
    work, out = _work(shapes), shapes.empty("E P")
    lib.tce_gauss_sample(shapes["E"], shapes["P"], n_cov, mean, chol, random_stream(random), work, out)
    return out
