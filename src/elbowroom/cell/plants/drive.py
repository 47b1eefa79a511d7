"""The drive: what stands between a command and the joints, the same for every plant that has torques.

A velocity command w (n,) becomes a reference, a speed r and a position s, within the limits of speed v and acceleration
a; then a torque by computed torque, with one gain k (1/s).  In a step of h seconds

    r'   = r + (w - r), at most v in size and a h in change; 0 in a joint whose s has come to its limit
    s'   = s + h r'
    u    = (r' - r) / h + k (r - qd) + k^2 / 4 (s - q)            critically damped in the error of position
    tau  = M(q) u + C(q, qd) qd + g(q) + friction(r')             within the effort limits, joint by joint

With the arm's true masses and torque enough, qd is r at every step but for rounding.  With others the speed still has
no lasting error, because the position has a small one: the error of the acceleration over k^2 / 4.  `LAG` bounds the
distance of s from q, so that an arm that was held up does not rush after what it has missed.

A torque command goes to the joints as it is, within the effort limits.

`brake` is the drive's own stop: the reference runs down to zero within a, and the joints are held there, whatever the
mode.  A drive also brakes by itself when a command is not finite, and in torque mode when a command whose status is a
stop has no torques at all: that is how a supervisor asks for the brakes.
"""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ...algebra import Scalar, absolute, maximum, minimum, where
from ...algebra.linalg import Array, vector
from ...arm import Arm
from ...avoidance import Command, Limits
from ...compile import compiled
from ...compile.method import compiled_once
from ...dynamics import whole
from ...dynamics.drives import friction_torque
from ...errors import ShapeError
from ...model import Model

log = logging.getLogger("elbowroom.cell")

MODES = ("velocity", "torque")
GAIN = 100.0
"""1/s, k: how fast a wrong speed decays; a tenth of the rate of the usual substep."""

LAG = 0.02
"""rad or m: how far the reference may run away from the joint."""


class MeanTorque:
    """The mean of the motors' torques (n,) since they were last read, as a drive reports it."""

    def __init__(self, n: int) -> None:
        self._impulse, self._mean, self._time = np.zeros(n), np.zeros(n), 0.0

    def reset(self) -> None:
        """Nothing was given yet."""
        self._impulse[:], self._mean[:], self._time = 0.0, 0.0, 0.0

    def add(self, torque: Array, h: float) -> None:
        """A torque that acted for h seconds."""
        self._impulse += torque * h
        self._time += h

    def read(self) -> Array:
        """The mean since the last call; where no time has passed, the same again."""
        if self._time > 0.0:
            np.divide(self._impulse, self._time, out=self._mean)
            self._impulse[:], self._time = 0.0, 0.0
        return self._mean


class Drive:
    """Holds what is commanded and the reference that follows it; `torque` is what the motors give."""

    def __init__(
        self,
        arm: Arm,
        mode: str = "velocity",
        velocity: ArrayLike | None = None,
        acceleration: ArrayLike | None = None,
        gain: float = GAIN,
    ) -> None:
        if mode not in MODES:
            raise ValueError(f"drive must be one of {', '.join(MODES)}; got {mode!r}")
        if not 0 < gain <= 1000:
            raise ValueError(f"gain must be above 0 and at most 1000, in 1/s; got {gain!r}")
        self.arm, self.mode, self.gain = arm, mode, float(gain)
        self.limits = np.array([_velocity(arm, velocity), _acceleration(arm, acceleration)])  # (2, n)
        self.speed, self.position = np.zeros(arm.n), np.zeros(arm.n)  # r and s
        self.wanted, self._torque = np.zeros(arm.n), np.zeros(arm.n)
        self.braking = True  # until there is a command
        self.refused = 0
        self._effort = np.minimum(arm.model.effort, np.finfo(float).max)
        self._clock = np.array([0.0, self.gain])

    def prepare(self) -> Drive:
        """Compiles `torque` now: a brake must not wait for a compiler."""
        _ = self._kernel
        return self

    def reset(self, q: Array) -> None:
        """At rest at q, and held there until a command comes."""
        self.position[:] = q
        for array in (self.speed, self.wanted, self._torque):
            array[:] = 0.0
        self.braking = True

    def write(self, command: Command, q: Array, qd: Array) -> None:
        """A command, to be followed until the next one; the joints are at q and qd now."""
        given = command.qd if self.mode == "velocity" else command.tau
        if given.shape != self.wanted.shape:
            raise ShapeError(f"the command must have shape ({self.arm.n},); got {given.shape}")
        if not np.isfinite(given).all():
            self.refused += 1
            log.warning("%s: a command is not finite; the drive brakes", self.arm.name)
            self.brake(q, qd)
        elif self.mode == "velocity":
            self.wanted[:] = given
            self.braking = False
        elif command.status.stops and not given.any():
            self.brake(q, qd)
        else:
            np.clip(given, -self._effort, self._effort, out=self._torque)
            self.braking = False

    def brake(self, q: Array, qd: Array) -> None:
        """Down to a standstill within the limits, and held there until the next command."""
        if self.mode == "torque" and not self.braking:  # the reference begins where the joints are
            self.speed[:], self.position[:] = qd, q
        self.wanted[:] = 0.0
        self.braking = True

    def torque(self, q: Array, qd: Array, h: float) -> Array:
        """What the motors give (n,) for the next h seconds; the reference moves on by as much."""
        if self.mode == "torque" and not self.braking:
            return self._torque
        self._clock[0] = h
        run, out = self._kernel
        run(q, qd, self.speed, self.position, self.wanted, self.limits, self._clock, out=out)
        self.speed[:], self.position[:] = out.speed, out.position
        tau: Array = out.torque
        return tau

    def __getstate__(self) -> dict[str, object]:
        return {k: v for k, v in vars(self).items() if k != "_kernel"}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)
        self.prepare()

    @compiled_once
    def _kernel(self) -> tuple[Any, Any]:
        model, n = self.arm.model, self.arm.n
        names = ("q", "qd", "speed", "position", "wanted")
        inputs: dict[str, tuple[int, ...]] = dict.fromkeys(names, (n,)) | {"limits": (2, n), "clock": (2,)}
        kernel = compiled(driven, model, inputs, name="drive", method="computed torque")
        return kernel.fast(kernel.general), kernel.empty()


def ramped(speed: Scalar, wanted: Scalar, velocity: Scalar, acceleration: Scalar, h: Scalar) -> Scalar:
    """The speed of one joint, h seconds on, on its way to the wanted one."""
    target = minimum(maximum(wanted, -velocity), velocity)
    most = acceleration * h
    change = target - speed
    return where(absolute(change) <= most, target, speed + where(change > 0, most, -most))


def stopped(model: Model, i: int, before: Scalar, after: Scalar) -> Scalar:
    """The position of joint i, held at its limits; one that was beyond a limit comes no farther out."""
    if np.isfinite(model.upper[i]):
        after = minimum(after, maximum(before, model.upper[i]))
    if np.isfinite(model.lower[i]):
        after = maximum(after, minimum(before, model.lower[i]))
    return after


def driven(
    model: Model, q: Array, qd: Array, speed: Array, position: Array, wanted: Array, limits: Array, clock: Array
) -> dict[str, Array]:
    """The formula of the module's docstring, over any scalar."""
    h, gain = clock
    speeds, positions, u = [], [], []
    for i in range(model.n):
        s = minimum(maximum(position[i], q[i] - LAG), q[i] + LAG)
        r = ramped(speed[i], wanted[i], limits[0][i], limits[1][i], h)
        ahead = s + h * r
        held = stopped(model, i, s, ahead)
        r = where(held < ahead, 0.0, where(held > ahead, 0.0, r))
        u.append((r - speed[i]) / h + gain * (speed[i] - qd[i]) + gain * gain * 0.25 * (s - q[i]))
        speeds.append(r)
        positions.append(held)
    tau = whole("mass_matrix", "crba")(model, q) @ vector(*u) + whole("bias_torque", "rnea")(model, q, qd)
    tau = tau + friction_torque(model, vector(*speeds))
    efforts = zip(tau, model.effort.tolist(), strict=True)
    held_torque = [minimum(maximum(x, -most), most) if np.isfinite(most) else x for x, most in efforts]
    return {"torque": vector(*held_torque), "speed": vector(*speeds), "position": vector(*positions)}


def _velocity(arm: Arm, given: ArrayLike | None) -> Array:
    """The speed limits (n,): those given, the model's, or the supervisor's where the model has none."""
    if given is not None:
        return _per_joint("velocity", given, arm.n)
    stated = Limits()
    default = [stated.velocity if arm.model.revolute(i) else stated.linear_velocity for i in range(arm.n)]
    known: Array = np.where(np.isfinite(arm.model.velocity), arm.model.velocity, default)
    return _per_joint("velocity", known, arm.n)


def _acceleration(arm: Arm, given: ArrayLike | None) -> Array:
    """The limits of acceleration (n,): those given, or as much as the supervisor's stop asks for."""
    if given is not None:
        return _per_joint("acceleration", given, arm.n)
    stated = Limits()
    each = [stated.acceleration if arm.model.revolute(i) else stated.linear_acceleration for i in range(arm.n)]
    return stated.stop_factor * np.array(each)


def _per_joint(name: str, given: ArrayLike, n: int) -> Array:
    array = np.asarray(given, dtype=float)
    if array.shape not in ((), (n,)):
        raise ShapeError(f"{name} must be one number or have shape ({n},); got {array.shape}")
    if not (np.isfinite(array).all() and (array > 0).all()):
        raise ValueError(f"{name} must be finite and above 0; got {array}")
    return np.broadcast_to(array, (n,)).copy()
