"""Controllers: how a Gymnasium environment follows a desired path with its actions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, Literal, Optional, Tuple, Union, cast

import numpy as np

from ._arrays import AnyArray, Array

# Where joint positions or velocities are: a function of the environment, or entries of the observation.
Reading = Union[Callable[[Any], Any], slice, Any]
Law = Callable[[Array, Array, Array, Array], Any]
# commands that are one of the two desired values
Tracked = Literal["position", "velocity"]

LINES = """
    controller = tce.gym.Controller(
        position=lambda env: ..., velocity=lambda env: ...,  # joint positions and velocities [D], or entries of the observation: slice(0, 2)
        command=tce.gym.PD(kp=10.0, kd=1.0))  # or "position", "velocity", or a function (desired_pos, desired_vel, pos, vel) -> action"""

# A motor's gains make its joint a critically damped oscillator of this angular frequency times the time of a control step. It is
# stable even where the inertia that the joint has is half of the one that it has in the model's reference pose.
BANDWIDTH = 0.25

# numbers of MuJoCo's enumerations
_HINGE_OR_SLIDE = (2, 3)
_TRN_JOINT, _GAIN_FIXED, _BIAS_NONE, _BIAS_AFFINE = 0, 0, 0, 1


def _regular(value: Any) -> AnyArray:
    """The value as an array; one of objects, like anything that is not a number, where rows have different lengths."""
    try:
        return np.asarray(value)
    except ValueError:
        return np.array(None)


def one_environment(env: Any) -> None:
    """TypeError for a vector of environments."""
    if hasattr(env, "single_observation_space"):
        raise TypeError(f"task: {env} is a vector of environments, expected one; workers= and collect.environments make several of it")


@dataclass
class PD:
    """The command kp (desired position - position) + kd (desired velocity - velocity); gains are numbers or one for each joint."""

    kp: Any
    kd: Any = 0.0

    def __post_init__(self) -> None:
        self.kp, self.kd = self._gains("kp", self.kp), self._gains("kd", self.kd)

    @staticmethod
    def _gains(name: str, given: Any) -> Array:
        gains = _regular(given)
        if gains.dtype.kind not in "fiu" or gains.ndim > 1 or not np.isfinite(gains).all():
            raise ValueError(f"{name}: {given!r}, expected a finite number or one for each joint")
        return gains.astype(np.float64)

    def __call__(self, desired_pos: Array, desired_vel: Array, pos: Array, vel: Array) -> Array:
        law: Array = self.kp * (desired_pos - pos) + self.kd * (desired_vel - vel)
        return law


def desired_position(desired_pos: Array, desired_vel: Array, pos: Array, vel: Array) -> Array:
    return desired_pos


def desired_velocity(desired_pos: Array, desired_vel: Array, pos: Array, vel: Array) -> Array:
    return desired_vel


_NAMED = {"position": desired_position, "velocity": desired_velocity}


class Controller:
    """Follows a desired path in a Gymnasium environment.

    position, velocity  where the joints are and how fast they move, [D] each: a function of the environment (``env.unwrapped``), or which
                        entries of the observation these are (a slice, an index, or an array of them)
    command             the action for a step: "position", the desired position itself; "velocity", the desired velocity;
                        :class:`PD` with gains; or a function (desired_pos, desired_vel, pos, vel) -> action

    Actions are clipped to the limits of the action space. :meth:`find` makes the controller of a MuJoCo environment from its actuators.
    """

    def __init__(self, *, position: Reading, velocity: Reading, command: Union[Tracked, Law]) -> None:
        if isinstance(command, str) and command not in _NAMED:
            raise ValueError(f"command: {command!r}, expected 'position', 'velocity', a tce.gym.PD or a function (desired_pos, desired_vel, pos, vel) -> action")
        if not isinstance(command, str) and not callable(command):
            raise TypeError(f"command: {command!r}, expected 'position', 'velocity', a tce.gym.PD or a function (desired_pos, desired_vel, pos, vel) -> action")
        for name, reading in (("position", position), ("velocity", velocity)):
            if not callable(reading) and not isinstance(reading, slice) and _regular(reading).dtype.kind not in "iub":
                raise TypeError(f"{name}: {reading!r}, expected a function of the environment, or which entries of the observation these are: a slice, an index or indices")
        self.position, self.velocity = position, velocity
        self.command = command
        self._law: Law = _NAMED[command] if isinstance(command, str) else command

    def read(self, env: Any, obs: Array) -> Tuple[Array, Array]:
        """Position and velocity [D] of the joints now; obs is the present observation, flat."""
        found = []
        for name, reading in (("position", self.position), ("velocity", self.velocity)):
            value = np.array(reading(env.unwrapped) if callable(reading) else self._entries(name, obs, reading), np.float64).reshape(-1)
            if not np.isfinite(value).all():
                raise ValueError(f"controller: {name} is {value}, expected finite numbers")
            found.append(value)
        if found[0].size != found[1].size or not found[0].size:
            raise ValueError(f"controller: position has {found[0].size} numbers and velocity {found[1].size}, expected one for each joint in both")
        return found[0], found[1]

    @staticmethod
    def _entries(name: str, obs: Array, entries: Any) -> Any:
        try:
            return obs[list(entries) if isinstance(entries, tuple) else entries]
        except IndexError:
            raise ValueError(f"controller: {name} is {entries} of the observation, which has {obs.size} numbers") from None

    def action(self, env: Any, obs: Array, desired_pos: Array, desired_vel: Array) -> Array:
        """The action that follows the path for one step, before it is clipped to the action space."""
        action = np.asarray(self._law(desired_pos, desired_vel, *self.read(env, obs)), np.float64).reshape(-1)
        size = int(np.prod(env.action_space.shape))
        if action.size != size:
            raise ValueError(f"controller: the command has {action.size} numbers, an action of the environment has {size}")
        return action

    @classmethod
    def find(cls, env: Any) -> "Controller":
        """The controller of a MuJoCo environment: found from its actuators, which say how the joints are driven.

        Position and velocity servos get the desired value. Motors get a PD controller that makes the joint critically damped: the gains
        come from the inertia of the joint and the gear of the motor. Where the model does not say enough, a ValueError shows the lines to write.
        """
        one_environment(env)
        base = env.unwrapped
        model, data = getattr(base, "model", None), getattr(base, "data", None)
        if model is None or data is None or not hasattr(model, "actuator_trnid"):
            raise ValueError(f"no controller can be found for {type(base).__name__}: it has no MuJoCo model with actuators to find one from. Write one:{LINES}")
        reason = _why_not(model)
        if reason is None:
            joints = np.asarray(model.actuator_trnid)[:, 0]
            kinds = {_kind(model, i) for i in range(model.nu)}
            if len(kinds) == 1:
                kind = kinds.pop()
                command: Union[Tracked, Law] = _motor(model, joints, getattr(base, "dt", None)) if kind == "motor" else cast(Tracked, kind)
                positions, velocities = np.asarray(model.jnt_qposadr)[joints], np.asarray(model.jnt_dofadr)[joints]
                return cls(position=_State("qpos", positions), velocity=_State("qvel", velocities), command=command)
            reason = f"its actuators are of several kinds: {', '.join(sorted(kinds))}"
        raise ValueError(f"no controller can be found for {type(base).__name__}: {reason}. Write one:{LINES}")

    def __repr__(self) -> str:
        return f"Controller(position={self.position!r}, velocity={self.velocity!r}, command={self.command!r})"


@dataclass
class _State:
    """Entries of MuJoCo's state."""

    name: str
    entries: Any

    def __call__(self, env: Any) -> Array:
        found: Array = np.asarray(getattr(env.data, self.name), np.float64)[self.entries]
        return found


def _why_not(model: Any) -> Optional[str]:
    """What keeps the actuators from telling about the joints, or None."""
    if model.nu == 0:
        return "its model has no actuator"
    if (np.asarray(model.actuator_trntype) != _TRN_JOINT).any():
        return "an actuator drives something else than a joint"
    joints = np.asarray(model.actuator_trnid)[:, 0]
    if len(set(joints.tolist())) != model.nu:
        return "two actuators drive the same joint"
    if not np.isin(np.asarray(model.jnt_type)[joints], _HINGE_OR_SLIDE).all():
        return "an actuator drives a joint that is neither a hinge nor a slide"
    if any(_kind(model, i) == "other" for i in range(model.nu)):
        return "an actuator is neither a motor nor a position or velocity servo"
    return None


def _kind(model: Any, i: int) -> str:
    """What actuator i is, by the force that it makes: gain · control + bias(position, velocity)."""
    gain, bias = np.asarray(model.actuator_gainprm)[i], np.asarray(model.actuator_biasprm)[i]
    if model.actuator_gaintype[i] != _GAIN_FIXED or gain[0] == 0.0:
        return "other"
    if model.actuator_biastype[i] == _BIAS_NONE:
        return "motor"
    if model.actuator_biastype[i] != _BIAS_AFFINE or bias[0] != 0.0:
        return "other"
    if bias[1] == -gain[0]:
        return "position"
    return "velocity" if bias[1] == 0.0 and bias[2] == -gain[0] else "other"


def _motor(model: Any, joints: Any, dt: Optional[float]) -> PD:
    """Gains in units of the control: force = gear · gain · control."""
    if dt is None:
        raise ValueError(f"no controller can be found: the environment does not state its time step as env.unwrapped.dt. Write one:{LINES}")
    inertia = np.asarray(model.dof_M0)[np.asarray(model.jnt_dofadr)[joints]]
    scale = inertia / (np.asarray(model.actuator_gear)[:, 0] * np.asarray(model.actuator_gainprm)[:, 0])
    frequency = BANDWIDTH / dt
    return PD(kp=scale * frequency**2, kd=2.0 * scale * frequency)
