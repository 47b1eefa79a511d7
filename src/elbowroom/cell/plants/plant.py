"""Plants: arms that move, behind one interface.

    plant = Kinematic(arm)                      joints follow the commanded speeds, within limits
    plant = RigidBody(arm, mass_error=0.3)      masses, friction, torque limits: our own forward dynamics
    plant = MuJoCo(arm)                         another engine's dynamics and contacts (mujoco.py)

    plant.reset(q)
    plant.write(command)                        what the drive follows until the next write
    plant.advance(dt, person_rows)              time passes
    plant.read(state)                           q, qd, t; torques of the plants that have them

Time is an argument here: nothing waits, and the same calls give the same numbers.

Two formulas over any scalar move the joints in one step.

**Speeds within limits.**  A joint changes its speed at its limit of acceleration until it has the wanted one, and keeps
that; the position is the exact integral.

**A rigid arm with friction and stops**, by semi-implicit Euler with impulses:

    A = M(q) + h D                                    D the viscous friction, which is taken at the end of the step
    v = qd + h A^-1 (tau - C qd - g - D qd)           without Coulomb friction and stops
    v+ = v + A^-1 (p + l)                             with their impulses
    q+ = q + h v+

p_i is Coulomb friction: against v+_i with all of c_i h, or less where that suffices to hold the joint still.  So a
joint sticks until more than c_i pulls at it, and standing still is standing still.  l_i is the stop: just enough to
keep q+_i within the limits, without bounce; the momentum goes on into the other joints as it must.

Both are found together by `SWEEPS` rounds of Gauss-Seidel, one joint after the other, with W = A^-1:

    p_i <- p_i - v_i / W_ii, within +-c_i h           l_i <- what brings v_i into ((lower - q) / h, (upper - q) / h)

A joint beyond its limit is not thrown back: it may stay, and comes no farther out.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from ...algebra import Scalar, absolute, maximum, minimum, where
from ...algebra.linalg import Array, cholesky_solve, vector
from ...arm import Arm
from ...arrays import finite
from ...avoidance import Command, State
from ...compile import compiled
from ...compile.kernel import Kernel
from ...dynamics import whole
from ...errors import ConfigError, DivergenceError, ModelError, ShapeError
from ...geometry import ROW, Body
from ...geometry.pairs import Clearance
from ...model import Model
from .drive import GAIN, Drive, MeanTorque, ramped, stopped

SWEEPS = 30
"""Enough for 1e-3 rad/s with several light joints at their stops and sticking at once; the PUMA needs ten."""


def kinematic_motion(model: Model) -> Kernel:
    """q, qd, wanted (n,), limits (2, n) of speed and acceleration, clock (1,): the time -> q, qd."""
    n = model.n
    inputs: dict[str, tuple[int, ...]] = {"q": (n,), "qd": (n,), "wanted": (n,), "limits": (2, n), "clock": (1,)}
    return compiled(ramp, model, inputs, name="ramp")


def rigid_motion(model: Model) -> Kernel:
    """q, qd, tau (n,), clock (1,): the time -> q, qd."""
    n = model.n
    inputs: dict[str, tuple[int, ...]] = {"q": (n,), "qd": (n,), "tau": (n,), "clock": (1,)}
    return compiled(step, model, inputs, name="motion", method="semi-implicit")


def ramp(model: Model, q: Array, qd: Array, wanted: Array, limits: Array, clock: Array) -> dict[str, Array]:
    """q and qd (n,) after clock[0] seconds on the way to the wanted speeds (n,)."""
    h, positions, speeds = clock[0], [], []
    for i in range(model.n):
        v = ramped(qd[i], wanted[i], limits[0][i], limits[1][i], h)
        changing = minimum(absolute(v - qd[i]) / limits[1][i], h)
        ahead = q[i] + 0.5 * (qd[i] + v) * changing + v * (h - changing)
        held = stopped(model, i, q[i], ahead)
        positions.append(held)
        speeds.append(where(held < ahead, 0.0, where(held > ahead, 0.0, v)))
    return {"q": vector(*positions), "qd": vector(*speeds)}


def step(model: Model, q: Array, qd: Array, tau: Array, clock: Array) -> dict[str, Array]:
    """q and qd (n,) after clock[0] seconds under the torques tau (n,)."""
    n, h = model.n, clock[0]
    A = whole("mass_matrix", "crba")(model, q)
    A = A + np.diag(model.viscous) * h
    rest = whole("bias_torque", "rnea")(model, q, qd) + model.viscous * qd
    v = (qd + cholesky_solve(A, tau - rest) * h).tolist()
    columns = [cholesky_solve(A, unit) for unit in np.eye(n)]  # of W
    inertia = [1.0 / column[i] for i, column in enumerate(columns)]  # that joint i feels with the others free
    friction: list[Scalar] = [0.0] * n
    stop: list[Scalar] = [0.0] * n
    for _ in range(SWEEPS):
        for i, W in enumerate(columns):
            if model.coulomb[i] > 0:
                most = model.coulomb[i] * h
                p = minimum(maximum(friction[i] - v[i] * inertia[i], -most), most)
                v = _pushed(v, W, p - friction[i])
                friction[i] = p
            if np.isfinite(model.lower[i]) or np.isfinite(model.upper[i]):
                free = v[i] - W[i] * stop[i]
                l = (_within(model, i, q[i], free, h) - free) * inertia[i]  # noqa: E741  # as in the equations
                v = _pushed(v, W, l - stop[i])
                stop[i] = l
    after = [stopped(model, i, q[i], q[i] + h * v[i]) for i in range(n)]
    return {"q": vector(*after), "qd": vector(*v)}


def _pushed(v: list[Scalar], W: Array, impulse: Scalar) -> list[Scalar]:
    """The speeds after an impulse at one joint, W the column of that joint."""
    return [speed + w * impulse for speed, w in zip(v, W.tolist(), strict=True)]


def _within(model: Model, i: int, q: Scalar, v: Scalar, h: Scalar) -> Scalar:
    """The speed of joint i that does not carry it beyond its limits in h."""
    if np.isfinite(model.upper[i]):
        v = minimum(v, maximum((model.upper[i] - q) / h, 0.0))
    if np.isfinite(model.lower[i]):
        v = maximum(v, minimum((model.lower[i] - q) / h, 0.0))
    return v


SUBSTEP = 1e-3
"""s: the longest step of an integrator."""

ROUNDED = 0.01
"""rad or m: a file's limits and places may be the arm's own, rounded; so far beyond a limit counts as at it."""


class Plant(Protocol):
    """An arm that moves."""

    @property
    def arm(self) -> Arm:
        """The arm, as its controller knows it."""

    @property
    def contacts(self) -> int:
        """How often the arm has touched a person since `reset`; a touch that lasts counts once."""

    @property
    def touching(self) -> bool:
        """Whether it touches one now."""

    def reset(self, q: ArrayLike) -> None:
        """The arm at rest at q (n,), held there until a command comes; t = 0 and no contacts."""

    def write(self, command: Command) -> None:
        """What the drive follows until the next write.  The numbers are copied."""

    def brake(self) -> None:
        """The drive's own stop: down to a standstill within the limits, and held there until the next write."""

    def advance(self, dt: float, person_rows: Array | None = None) -> None:
        """dt seconds pass, with people where these capsule rows (k, 13) are at their end; None: nobody is there."""

    def read(self, state: State) -> None:
        """Fills state.q, state.qd and state.t, s since `reset`; state.tau if it measures torques."""


@runtime_checkable
class LinkedPlant(Plant, Protocol):
    """A plant in another program, which also stops by itself and may be started again (connect/remote_plant.py)."""

    lockstep: bool  # its time passes when it is told to, else by itself
    patience: float  # s that a reset may take
    connections: int  # how often a plant has answered: one that was started again counts anew

    @property
    def connected(self) -> bool:
        """Whether it answers."""

    @property
    def held(self) -> str:
        """Why it does not obey, in words; "" if it does."""

    @property
    def description(self) -> str:
        """What it is, and where."""

    def clock(self) -> float:
        """The clock of its states' stamps, s; in lockstep they count from its reset."""

    def wait(self, seconds: float) -> bool:
        """Waits until it answers, at most so long; whether it does."""

    def settle(self, seconds: float) -> bool:
        """Waits until it has answered all that was sent, at most so long; whether it has."""

    def unlatch(self) -> None:
        """Ends its own stop."""


RELEASE = 0.1
"""s: arm and person must be apart for so long before the next touch is another one."""


class TouchCounter:
    """Counts how often arm and people have touched.

    A touch that lasts is one touch, and one that is interrupted for less than `RELEASE` is still the same: bodies that
    are pressed together may part for a moment, in an engine as in life.
    """

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Nothing has touched yet."""
        self.count = 0
        self.touching = False
        self._last = -math.inf  # s, when there was touch

    def see(self, t: float, touching: bool) -> None:
        """What is the case at time t (s); times do not decrease."""
        if touching:
            self.count += not self.touching and t - self._last > RELEASE
            self._last = t
        self.touching = touching


def own_body(arm: Arm, body: Body | None) -> Body | None:
    """The body that touches: the given one if it is the arm's, else the arm's own; None where the arm has no shape."""
    if body is None:
        return Body(arm) if arm.model.capsules else None
    if body.arm.model.digest != arm.model.digest:
        raise ConfigError(f"body: expected the body of {arm.name}; got that of {body.arm.name}")
    return body


def people_rows(rows: ArrayLike) -> Array:
    """Capsule rows (k, 13) of people, or what is wrong with them."""
    array = np.asarray(rows, dtype=float)
    if array.ndim != 2 or array.shape[1] != ROW:
        raise ShapeError(f"person_rows must have shape (k, {ROW}); got {array.shape}")
    if not np.isfinite(array).all():
        raise ValueError("person_rows must be finite: these are where people are, not where a sensor saw them")
    return array


class JointPlant:
    """What the two plants of this file share: the state, its clock, and contacts by geometry.

    Whether `body` touches anybody is worked out when it is asked for.  A caller that has computed the distance at the
    present state already says so by `distance_known`.
    """

    def __init__(self, arm: Arm, body: Body | None) -> None:
        self.arm = arm
        self.t = 0.0
        self._q, self._qd = arm.ready.astype(float), np.zeros(arm.n)
        self._contacts = TouchCounter()
        self.body = own_body(arm, body)
        self._clearance = None if self.body is None else Clearance(self.body)
        self._people: Array | None = None  # where people are now, until it is known whether they are touched
        self.drive: Drive
        self._torques: MeanTorque | None = None  # of a plant whose motors have any

    @property
    def contacts(self) -> int:
        """How often the arm has touched a person since `reset`; a touch that lasts counts once."""
        self._settle()
        return self._contacts.count

    @property
    def touching(self) -> bool:
        """Whether it touches one now."""
        self._settle()
        return self._contacts.touching

    def reset(self, q: ArrayLike) -> None:
        """The arm at rest at q (n,), held there until a command comes; t = 0 and no contacts."""
        self._q[:] = configuration(self.arm, q)
        self._qd[:] = 0.0
        self.t = 0.0
        self._people = None
        self._contacts.reset()
        self.drive.reset(self._q)
        if self._torques is not None:
            self._torques.reset()

    def write(self, command: Command) -> None:
        """What the drive follows until the next write."""
        self.drive.write(command, self._q, self._qd)

    def brake(self) -> None:
        """The drive's own stop: down to a standstill within the limits, and held there until the next write."""
        self.drive.brake(self._q, self._qd)

    def read(self, state: State) -> None:
        """Fills state.q, state.qd and state.t; state.tau where there are torques."""
        state.q[:], state.qd[:], state.t = self._q, self._qd, self.t
        if self._torques is not None:
            state.tau = self._torques.read().copy()

    def distance_known(self, surfaces: float) -> None:
        """The least distance (m) of the moving links of `body` from people, as they are now."""
        if self._people is not None:
            self._contacts.see(self.t, surfaces <= 0.0)
            self._people = None

    def _settle(self) -> None:
        """Counts what touches now, if nobody has said."""
        if self._people is not None and self._clearance is not None:
            self.distance_known(self._clearance.of(self._q, self._people)[1].surfaces)

    def _touch(self, person_rows: Array | None) -> None:
        """People are where these rows are, at the present state."""
        if person_rows is None or self._clearance is None:
            self._contacts.see(self.t, False)
        else:
            self._people = people_rows(person_rows).copy()


class Kinematic(JointPlant):
    """Joints that follow the commanded speeds within limits of speed and acceleration, and stop dead at their ends.

    `velocity` and `acceleration`, one number or (n,), are the model's limits where left out; where it has none, the
    supervisor's: 2 rad/s or 0.5 m/s, and 15 rad/s^2 or 3 m/s^2, what its stop asks for.  Two steps of dt are one of
    2 dt: the ramp is integrated exactly.
    """

    def __init__(
        self,
        arm: Arm,
        velocity: ArrayLike | None = None,
        acceleration: ArrayLike | None = None,
        *,
        body: Body | None = None,
    ) -> None:
        super().__init__(arm, body)
        self.drive = Drive(arm, "velocity", velocity, acceleration)
        kernel = kinematic_motion(arm.model)
        self._run, self._out = kernel.fast(kernel.general), kernel.empty()
        self._clock = np.zeros(1)
        self.reset(arm.ready)

    def advance(self, dt: float, person_rows: Array | None = None) -> None:
        """dt seconds pass, with people where these capsule rows (k, 13) are at their end; None: nobody is there."""
        self._clock[0] = positive_time(dt)
        self._settle()
        drive, out = self.drive, self._out
        self._run(self._q, self._qd, drive.wanted, drive.limits, self._clock, out=out)
        self._q[:], self._qd[:] = out.q, out.qd
        self.t += dt
        self._touch(person_rows)


class RigidBody(JointPlant):
    """Masses, friction and torque limits: our own forward dynamics, in steps of `substep` or less (plant.py).

    `drive` says what is commanded: "velocity", by an inner loop of computed torque with its `gain` (drive.py), or
    "torque".  `mass_error` 0.3 makes every link 30 % heavier than `arm` says, (n,) numbers each by its own part, and
    `payload` (kg) hangs at the tool: `actual` is the arm that moves, `arm` the one that drive and controller know.
    """

    def __init__(
        self,
        arm: Arm,
        *,
        drive: str = "velocity",
        velocity: ArrayLike | None = None,
        acceleration: ArrayLike | None = None,
        gain: float = GAIN,
        mass_error: ArrayLike = 0.0,
        payload: float = 0.0,
        substep: float = SUBSTEP,
        body: Body | None = None,
    ) -> None:
        super().__init__(arm, body)
        self.actual = heavier(arm, mass_error, payload)
        self.substep = positive_time(substep)
        self.drive = Drive(arm, drive, velocity, acceleration, gain).prepare()
        kernel = rigid_motion(self.actual.model)
        self._run, self._out = kernel.fast(kernel.general), kernel.empty()
        self._clock = np.zeros(1)
        self._torques = torques = MeanTorque(arm.n)
        self._measure = torques.add
        self.reset(arm.ready)

    def advance(self, dt: float, person_rows: Array | None = None) -> None:
        """dt seconds pass, with people where these capsule rows (k, 13) are at their end; None: nobody is there."""
        steps = substeps(dt, self.substep)
        self._settle()
        self._clock[0] = h = dt / steps
        q, qd, out = self._q, self._qd, self._out
        try:
            for _ in range(steps):
                torque = self.drive.torque(q, qd, h)
                self._measure(torque, h)
                self._run(q, qd, torque, self._clock, out=out)
                q[:], qd[:] = out.q, out.qd
        except ValueError as error:  # a kernel met a number that is not finite
            raise diverged(self.t) from error
        self.t += dt
        if not (np.isfinite(q).all() and np.isfinite(qd).all()):
            raise diverged(self.t)
        self._touch(person_rows)


def heavier(arm: Arm, mass_error: ArrayLike = 0.0, payload: float = 0.0) -> Arm:
    """The arm with every mass and tensor times 1 + mass_error, and `payload` (kg) as a point mass at the tool.

    One mass_error for all links, or (n,), one for each.
    """
    error = np.asarray(mass_error, dtype=float)
    if error.shape not in ((), (arm.n,)):
        raise ShapeError(f"{arm.name}: mass_error must be one number or have shape ({arm.n},); got {error.shape}")
    if not ((error > -1) & (error < math.inf)).all():
        raise ModelError(f"{arm.name}: mass_error must be above -1 and finite; got {mass_error!r}")
    if not error.any() and payload == 0:
        return arm
    model, factor = arm.model, np.broadcast_to(1.0 + error, (arm.n,))
    scaled = dataclasses.replace(model, mass=model.mass * factor, inertia=model.inertia * factor[:, None, None])
    return type(arm)(scaled.with_payload(payload))


def configuration(arm: Arm, q: ArrayLike) -> Array:
    """q (n,), or what is wrong with it."""
    return finite("q", q, (arm.n,), where=f" for {arm.name}")


def positive_time(dt: float) -> float:
    """A time above 0, s."""
    if not 0 < dt < math.inf:
        raise ValueError(f"a step of time must be positive and finite, in seconds; got {dt!r}")
    return float(dt)


def substeps(dt: float, longest: float) -> int:
    """How many steps of at most `longest` make up dt; a rounding error is not worth one more."""
    return max(1, math.ceil(positive_time(dt) / longest * (1 - 1e-9)))


def diverged(t: float) -> DivergenceError:
    """What to raise when the numbers are not finite any more."""
    return DivergenceError(f"the plant diverged at t = {t:.6g} s; take a smaller gain or substep")
