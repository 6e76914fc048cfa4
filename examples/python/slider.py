"""A Gymnasium environment in numpy, as someone might write who wants to train on it."""
from typing import Any, Dict, Optional, Tuple

import gymnasium
import numpy as np
from numpy.typing import NDArray

Observation = NDArray[np.float32]


class Slider(gymnasium.Env[Observation, Observation]):
    """A slider that has to be at a goal when the time is up. Position, velocity and goal are seen; the action is the velocity."""

    observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (3,))
    action_space = gymnasium.spaces.Box(-5.0, 5.0, (1,))
    dt = 0.05

    def reset(self, *, seed: Optional[int] = None, options: Optional[Dict[str, Any]] = None) -> Tuple[Observation, Dict[str, Any]]:
        super().reset(seed=seed)
        self.x, self.v, self.t = 0.0, 0.0, 0
        self.goal = self.np_random.uniform(-1.0, 1.0)
        return self.seen(), {}

    def seen(self) -> Observation:
        return np.array([self.x, self.v, self.goal], np.float32)

    def step(self, action: Observation) -> Tuple[Observation, float, bool, bool, Dict[str, Any]]:
        self.v = float(action[0])
        self.x += self.dt * self.v
        self.t += 1
        last, distance = self.t == 20, abs(self.x - self.goal)
        return self.seen(), -0.001 * self.v**2 - 5.0 * distance * last, False, last, {"success": float(last and distance < 0.1)}
