"""Temporally-correlated episodic reinforcement learning: movement primitives, Gaussians on Cholesky factors,
trust-region projection, the segment objective, networks and rollouts, computed by the C library libtce.

Arrays are numpy, float64, [E, T, D]: episodes, steps, degrees of freedom. A C-contiguous float64 array is used
where it lies; anything else is converted. Failures raise TceError or one of its classes with libtce's message.

Importing the package sets OpenBLAS, as libtce uses it, to one thread, which libtce's results and speed are made for; the
environment variable TCE_BLAS_THREADS asks for another number, or with "keep" for none to be set.
"""

from __future__ import annotations

import os as _os
import warnings as _warnings
from typing import TYPE_CHECKING, Any

from . import _declarations, gauss, returns, segment
from .agent import Agent, DesiredPath, Evaluation, load, save_policy
from .base import Pool, Random, better_blas_kernels, blas_kernels, blas_threads, set_blas_threads, version
from .check import check_env
from .env import EnvSpec, Instance, Start, StepResult, Task, TaskLibrary, find_tasks
from .errors import (
    ArgumentError, CorruptError, EnvironmentFault, FileError, LibraryError, NotFoundError, NumericalError,
    OutOfMemoryError, StateError, TceError, ThreadError, UnsupportedError, VersionError)
from .gauss import DiagonalGaussian, Gaussian, GaussianGradient, KL, LogProbGradient
from .imitation import Imitation, imitate
from .mp import DMP, Blended, MovementPrimitive, PathCovariance, Plan, ProDMP, ProMP, Trajectory, Via, blend
from .net import Net
from .normaliser import Normaliser, Statistics
from .policy import Policy
from .python_env import Env, GymTask, PythonTask
from .returns import Returns, Surrogate, SurrogateStats
from .rollout import Paths, Rollout, Steps
from .segment import SegmentAdvantages, SegmentObjective, SegmentSurrogate
from .store import Store
from .training import Run, train
from .trpl import Bounds, Distances, Projection, Regression

if TYPE_CHECKING:
    from .gym import EpisodeEnv, EpisodeVectorEnv, TaskEnv, TaskVectorEnv, episode_env, gym_env

__version__ = f"{_declarations.TCE_VERSION_MAJOR}.{_declarations.TCE_VERSION_MINOR}.{_declarations.TCE_VERSION_PATCH}"

__all__ = [
    "Agent", "ArgumentError", "Blended", "Bounds", "CorruptError", "DMP", "DesiredPath", "DiagonalGaussian",
    "Distances", "Env", "EnvSpec", "EnvironmentFault", "EpisodeEnv", "EpisodeVectorEnv", "Evaluation",
    "FileError", "Gaussian", "GaussianGradient", "GymTask", "Imitation", "Instance", "KL", "LibraryError", "LogProbGradient",
    "MovementPrimitive", "Net", "Normaliser", "NotFoundError", "NumericalError", "OutOfMemoryError",
    "PathCovariance", "Paths", "Plan", "Policy", "Pool", "ProDMP", "ProMP", "Projection", "PythonTask",
    "Random", "Regression", "Returns", "Rollout", "Run", "SegmentAdvantages", "SegmentObjective",
    "SegmentSurrogate", "Start", "StateError", "Statistics", "StepResult", "Steps", "Store", "Surrogate",
    "SurrogateStats", "Task", "TaskEnv", "TaskLibrary", "TaskVectorEnv", "TceError", "ThreadError",
    "Trajectory", "UnsupportedError", "VersionError", "Via", "better_blas_kernels", "blas_kernels",
    "blas_threads", "blend", "check_env", "episode_env", "find_tasks", "gauss", "gym_env", "imitate", "load", "returns",
    "save_policy", "segment", "set_blas_threads", "train", "version"]


def __getattr__(name: str) -> Any:
    # gymnasium is needed only by those who use it
    if name in ("EpisodeEnv", "EpisodeVectorEnv", "TaskEnv", "TaskVectorEnv", "episode_env", "gym_env"):
        from . import gym

        return getattr(gym, name)
    raise AttributeError(f"module 'tce' has no attribute {name!r}")


_threads = _os.environ.get("TCE_BLAS_THREADS", "1")
if _threads != "keep":
    set_blas_threads(int(_threads))

_better = better_blas_kernels()
if _better:
    _warnings.warn(
        "OpenBLAS is older than this processor and computes with its oldest kernels, several times slower than it could. Another module has loaded it: "
        f"import tce first, or start Python with OPENBLAS_CORETYPE={_better} in the environment", RuntimeWarning, stacklevel=2)
