"""Policies from demonstrations, for training to start from."""

from __future__ import annotations

import ctypes
import os
from ctypes import byref
from typing import Any, Optional, Sequence, Tuple, Union

import numpy as np
from numpy.typing import ArrayLike

from ._arrays import Array, Shapes
from ._choices import Method
from ._sources import TaskLike
from ._train_declarations import TrainDemos, TrainImitation
from .agent import Agent
from .training import Config, Run


class Imitation(Agent):
    """A policy that was fitted to demonstrations, with

    path_error        root mean square of fitted minus given positions
    parameter_error   of predicted minus fitted parameters of paths that were left out of the fit; 0 for a single path
    std               geometric mean of the policy's standard deviations
    """

    path_error: float
    parameter_error: float
    std: float


def _paths(pos: Union[ArrayLike, Sequence[ArrayLike]], times: Any, dt: float) -> Tuple[Array, Array, Any]:
    """Positions [n, T, D] and times [n, T], filled up to the longest path, and how many rows each has."""
    paths = [np.asarray(path, np.float64) for path in pos]  # type: ignore[union-attr]
    if not paths or any(path.ndim != 2 or path.shape[1] != paths[0].shape[1] for path in paths):
        raise ValueError(f"pos: {[path.shape for path in paths]}, expected [n, T, D] or a list of paths [T, D]")
    n, most = len(paths), max(map(len, paths))
    out, when = np.zeros((n, most, paths[0].shape[1])), np.zeros((n, most))
    for i, path in enumerate(paths):
        given = dt * np.arange(len(path)) if times is None else np.asarray(times if np.ndim(times[0]) == 0 else times[i], np.float64)
        if given.shape != (len(path),):
            raise ValueError(f"times: {given.shape} for a path of {len(path)} rows, expected one number per row")
        out[i, :len(path)], when[i, :len(path)] = path, given
    return out, when, np.array([len(path) for path in paths], np.int32)


def imitate(
    task: TaskLike, pos: Union[ArrayLike, Sequence[ArrayLike]], obs: Optional[ArrayLike] = None, *, times: Any = None,
    method: Optional[Method] = None, config: Config = None, seed: Optional[int] = None, out: Union[str, "os.PathLike[str]", None] = None,
    **keywords: Any,
) -> Imitation:
    """Fits a policy to demonstrated paths: a primitive to each path, the policy's mean to their parameters, and its covariance to the errors on paths
    that were left out of the fit. ``tce.train(task, …, init_from=policy)`` starts from it.

    task, method, config, seed, out   as of :func:`tce.train`; method is "tce" or "bbrl", with one covariance for all contexts
    pos       joint positions [n, T, D], or a list of paths [T, D]; a path begins with its start position
    obs       the observations [n, O] that they begin with; None: the paths suit every context
    times     seconds since the start, [T] or one array per path; None: the steps of the task
    keywords  of :func:`tce.train` that make a task: controller, metrics, n_steps, dt
    """
    run = Run(task, method, config, seed=seed, out=out, progress=False, **keywords)
    paths, when, rows = _paths(pos, times, run._source.spec(run._options).dt)
    demos = TrainDemos(struct_size=ctypes.sizeof(TrainDemos), n=len(paths), T=paths.shape[1], D=paths.shape[2])
    begin = None if obs is None else np.ascontiguousarray(Shapes(n=len(paths)).finite("obs", obs, "n O"))
    demos.O = 0 if begin is None else begin.shape[1]
    demos.point(pos=paths, times=when, n_rows=rows, obs=begin)
    found = TrainImitation(struct_size=ctypes.sizeof(TrainImitation))
    run._imitate(demos, found)
    policy = Imitation(run.folder, run._source)
    policy.path_error, policy.parameter_error, policy.std = found.path_error, found.parameter_error, found.std
    return policy
