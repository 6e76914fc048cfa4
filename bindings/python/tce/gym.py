"""Tasks of C libraries as Gymnasium environments. Needs the package gymnasium."""

from __future__ import annotations

import os
from typing import Any, Dict, List, Optional, Tuple, Union

import gymnasium
import numpy as np

from ._arrays import Array
from .base import Random
from .env import Instance, StepResult, Task, TaskLibrary


class TaskEnv(gymnasium.Env[Array, Array]):
    """A task as a Gymnasium environment.

    control "action": step takes the task's raw action. "path": step takes a desired position and velocity, [2 D], which
    the task's own controller tracks. By default "action" where the task offers it. ``info`` has the metrics and
    "event", after reset also the "position" and "velocity" where desired paths start. reset's
    options={"stream": (seed, purpose, a, b)} starts the episode of exactly that random stream.
    """

    def __init__(
        self, task: Task, settings: Optional[str] = None, *, control: Optional[str] = None,
        render_mode: Optional[str] = None, width: int = 640, height: int = 480,
    ) -> None:
        self.task = task
        self._instance = Instance(task, settings)
        self.task_spec = self._instance.spec
        offered = self._instance.offers("step_action") and self.task_spec.n_action > 0
        self.control = control or ("action" if offered else "path")
        if self.control not in ("action", "path"):
            raise ValueError(f"control: {control!r}, expected 'action' or 'path'")
        if self.control == "action" and not offered:
            raise ValueError(f"control: {task.name} takes no raw action")

        modes: List[str] = ["rgb_array"] if self._instance.offers("render") else []
        self.metadata = {"render_modes": modes, "render_fps": max(1, round(1.0 / self.task_spec.dt))}
        if render_mode is not None and render_mode not in modes:
            raise ValueError(f"render_mode: {render_mode!r}, {task.name} offers {modes}")
        self.render_mode = render_mode
        self._size = width, height

        Box = gymnasium.spaces.Box
        self.observation_space = Box(-np.inf, np.inf, (self.task_spec.n_obs,), np.float64)
        if self.control == "path":
            self.action_space = Box(-np.inf, np.inf, (2 * self.task_spec.n_dof,), np.float64)
        else:
            n = self.task_spec.n_action
            low, high = self.task_spec.action_low, self.task_spec.action_high
            self.action_space = Box(
                np.full(n, -np.inf) if low is None else low, np.full(n, np.inf) if high is None else high,
                (n,), np.float64)

    def reset(
        self, *, seed: Optional[int] = None, options: Optional[Dict[str, Any]] = None
    ) -> Tuple[Array, Dict[str, Any]]:
        super().reset(seed=seed)
        stream = (options or {}).get("stream")
        if stream is None:
            stream = (int(self.np_random.integers(2**63)),)
        obs, pos, vel = self._instance.reset(Random(*stream))
        return obs, {"position": pos, "velocity": vel}

    def step(self, action: Any) -> Tuple[Array, float, bool, bool, Dict[str, Any]]:
        result: StepResult
        if self.control == "path":
            target = np.asarray(action, np.float64).reshape(2, self.task_spec.n_dof)
            result = self._instance.step(target[0], target[1])
        else:
            result = self._instance.step_action(action)
        info: Dict[str, Any] = dict(self._instance.metrics(), event=result.event)
        return result.obs, result.reward, result.terminated, result.truncated, info

    def render(self) -> Any:
        if self.render_mode != "rgb_array":
            return None
        return self._instance.render(*self._size)

    def close(self) -> None:
        self._instance.close()


def gym_env(
    library: Union[str, "os.PathLike[str]", TaskLibrary], name: str, settings: Optional[str] = None, **keywords: Any
) -> TaskEnv:
    """A task of a library (a path, or one that is open) as a Gymnasium environment; keywords as :class:`TaskEnv`."""
    if not isinstance(library, TaskLibrary):
        library = TaskLibrary(library)
    return TaskEnv(library[name], settings, **keywords)


def register(library: Union[str, "os.PathLike[str]"], namespace: str = "tce") -> List[str]:
    """Registers every task of a library with gymnasium, so that gymnasium.make("tce/<name>-v0") works.

    The ids are returned.
    """
    ids = []
    path = os.path.abspath(os.fspath(library))
    for name in TaskLibrary(path):
        identifier = f"{namespace}/{name}-v0"
        gymnasium.register(
            identifier, entry_point="tce.gym:gym_env", kwargs={"library": path, "name": name})
        ids.append(identifier)
    return ids
