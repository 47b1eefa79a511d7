"""Motion from torque, and torque from motion.

`simulate` integrates the equations of motion for given torques; `torque_history` evaluates them along a planned one.
Either way the joint history is carried over to the tool.  Three ways to step, x = (q, qd):

    rk4         Runge and Kutta's four stages; error dt^4; energy creeps over long times
    symplectic  Stormer and Verlet's step in q and p = M qd (a generalized leapfrog), error dt^2; H = T + V:
                    p'  = p + dt/2 F(q, p')          F = dT/dq - g + torque - friction + J^T w  =  C^T qd - g + ...
                    q'' = q + dt/2 (M(q)^-1 p' + M(q'')^-1 p')
                    p'' = p' + dt/2 F(q'', p')
                the first two are implicit, solved by repetition; without torque energy stays within a band for ever
    adaptive    SciPy's DOP853 with its own steps, reported every dt; to 1e-10

The work of torque, friction and wrenches is integrated along, so that the drift of energy is told from its supply:

    drift(t) = (T + V)(t) - (T + V)(0) - int qd . (torque - friction + J^T w) dt

A function for the torque or the wrench is asked once a stage: by rk4 at t, t + dt/2 twice and t + dt; by symplectic at
t once a repetition and at t + dt once; by adaptive wherever it tries a step.  The torques reported are those given for
the reported states while stepping, the last one after it; adaptive reports between its steps and asks for all of them
afterwards.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .arm import Arm
from .arrays import finite
from .errors import DivergenceError, ElbowroomError, ShapeError, UnknownNameError

Array = NDArray[np.float64]
Applied = Callable[[float, Array, Array], ArrayLike]
"""What acts at time t in the state q, qd."""

METHODS = ("rk4", "symplectic", "adaptive")
TOLERANCE = 1e-10  # of "adaptive", relative and absolute (rad, rad/s, J)
REPETITIONS = 50  # of an implicit step before it counts as failed


@dataclass(frozen=True)
class SimulatedMotion:
    """A simulated motion at times t (K,)."""

    t: Array  # (K,), s
    q: Array  # (K, n)
    qd: Array  # (K, n)
    torque: Array  # (K, n), as applied at t in the state q, qd
    tool: Array  # (K, 4, 4) poses in the world
    tool_velocity: Array  # (K, 6), linear then angular, world axes
    energy: Array  # (K,), kinetic and potential, J
    work: Array  # (K,), done on the arm by torque, friction and wrenches since t = 0, J
    energy_drift: Array  # (K,), energy gained beyond that work: the integrator's error, J


class Trajectory(NamedTuple):
    """A planned joint motion at times t (K,)."""

    t: Array
    q: Array  # (K, n)
    qd: Array
    qdd: Array


class ToolHistory(NamedTuple):
    """What the tool does along a joint history."""

    pose: Array  # (K, 4, 4) in the world
    velocity: Array  # (K, 6), linear then angular, world axes


def simulate(
    arm: Arm,
    q: ArrayLike,
    qd: ArrayLike,
    torque: ArrayLike | Applied,
    *,
    duration: float,
    dt: float,
    method: str = "rk4",
    wrench: ArrayLike | Applied | None = None,
) -> SimulatedMotion:
    """The motion from q, qd (n,) under joint torques: an array (n,) or a function of (t, q, qd).

    `duration` and `dt` in seconds; dt is shortened a little where it does not divide the duration.  `wrench`, likewise
    constant or a function, is (6,) at the tool or (n, 6) at the link frames, in world axes.  Friction acts as in
    `arm.forward_dynamics`; joint limits do not.  A function is asked once a stage: with "rk4" four times a step, and
    the torque once more at the end for its last row.
    """
    if method not in METHODS:
        raise UnknownNameError(f"method must be one of {', '.join(METHODS)}; got {method!r}")
    forces = _Forces(arm, torque, wrench)
    x = np.concatenate([finite("q", q, (arm.n,)), finite("qd", qd, (arm.n,)), [0.0]])  # the work rides along
    t = _times(duration, dt)
    with np.errstate(over="ignore", invalid="ignore"):  # what overflows is found and told with its time
        states, torques = _adaptive(forces, x, t) if method == "adaptive" else _stepped(forces, x, t, method)
    return _motion(arm, t, states, torques)


def torque_history(
    arm: Arm, t: ArrayLike, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, wrench: ArrayLike | None = None
) -> Array:
    """The torques (K, n) that drive the arm along a planned motion, friction included: `torque_history(arm, *plan)`.

    `wrench` has a row for every time: (K, 6) at the tool or (K, n, 6) at the link frames.
    """
    times = np.asarray(t, dtype=float)
    if times.ndim != 1 or not (np.diff(times) > 0).all():
        raise ShapeError(f"t must be a row of increasing times; got shape {times.shape}")
    rows = {"q": np.asarray(q, float), "qd": np.asarray(qd, float), "qdd": np.asarray(qdd, float)}
    for name, array in rows.items():
        if array.shape != (len(times), arm.n):
            raise ShapeError(f"{name} must have shape {(len(times), arm.n)}, a row for every time; got {array.shape}")
    return arm.inverse_dynamics(rows["q"], rows["qd"], rows["qdd"], wrench)


def tool_history(arm: Arm, q: ArrayLike, qd: ArrayLike) -> ToolHistory:
    """Poses and velocities of the tool along joint histories (K, n)."""
    joints, speeds = np.asarray(q, dtype=float), np.asarray(qd, dtype=float)
    Jv, Jw = arm.jacobian(joints)
    velocity = np.concatenate([np.einsum("kij,kj->ki", J, speeds) for J in (Jv, Jw)], axis=1)
    return ToolHistory(arm.pose(joints), velocity)


@overload
def minimum_jerk(s: float) -> tuple[float, float, float]: ...
@overload
def minimum_jerk(s: Array) -> tuple[Array, Array, Array]: ...
def minimum_jerk(s: float | Array) -> tuple[float, float, float] | tuple[Array, Array, Array]:
    """The part of a way done at the part s of its time, 10 s^3 - 15 s^4 + 6 s^5, and its first two derivatives.

    At rest, without acceleration, at both ends; s is a number or an array, held within 0 and 1.
    """
    s = np.clip(s, 0.0, 1.0)
    part = s**3 * (10.0 + s * (6.0 * s - 15.0))
    return part, 30.0 * s**2 * (1.0 - s) ** 2, 60.0 * s * (1.0 - s) * (1.0 - 2.0 * s)


def quintic(q0: ArrayLike, q1: ArrayLike, duration: float, dt: float) -> Trajectory:
    """From rest at q0 to rest at q1 (n,), without acceleration at either end."""
    start, end = np.asarray(q0, dtype=float), np.asarray(q1, dtype=float)
    if start.ndim != 1 or start.shape != end.shape:
        raise ShapeError(f"q0 and q1 must have the same shape (n,); got {start.shape} and {end.shape}")
    t = _times(duration, dt)
    s = (t / duration)[:, None]
    way = end - start
    part, rate, second = minimum_jerk(s)
    return Trajectory(t, start + way * part, way * rate / duration, way * second / duration**2)


class _Acting(NamedTuple):
    """What acts at one time in one state."""

    torque: Array  # (n,)
    net: Array  # (n,), torque less friction plus J^T w: what does the work
    wrench: Array | None


class _Forces:
    """What acts on an arm, asked for by time and state."""

    def __init__(self, arm: Arm, torque: ArrayLike | Applied, wrench: ArrayLike | Applied | None) -> None:
        self.arm = arm
        self._torque = _applied("torque", torque, ((arm.n,),))
        self._wrench = None if wrench is None else _applied("wrench", wrench, ((6,), (arm.n, 6)))

    def torque(self, t: float, q: Array, qd: Array) -> Array:
        return self._torque(t, q, qd)

    def at(self, t: float, q: Array, qd: Array) -> _Acting:
        """Asks for torque and wrench, once each."""
        torque = self.torque(t, q, qd)
        driving = torque - self.arm.friction_torque(qd)
        if self._wrench is None:
            return _Acting(torque, driving, None)
        wrench = self._wrench(t, q, qd)
        still = np.zeros(self.arm.n)
        lifted = self.arm.inverse_dynamics(q, still, still) - self.arm.inverse_dynamics(q, still, still, wrench)
        return _Acting(torque, driving + lifted, wrench)

    def rate(self, t: float, x: Array) -> tuple[Array, Array]:
        """d/dt of (q, qd, work), and the torque."""
        n = self.arm.n
        _check(n, x, t)
        q, qd = x[:n], x[n : 2 * n]
        acting = self.at(t, q, qd)
        qdd = self.arm.forward_dynamics(q, qd, acting.torque, acting.wrench)
        return np.concatenate([qd, qdd, [qd @ acting.net]]), acting.torque


def _stepped(forces: _Forces, x: Array, t: Array, method: str) -> tuple[Array, Array]:
    """The states (K, 2n + 1) by fixed steps, and the torques (K, n) in them."""
    step = _rk4_step if method == "rk4" else _leapfrog_step
    n = forces.arm.n
    states, torques = np.empty((len(t), len(x))), np.empty((len(t), n))
    states[0] = x
    for k in range(len(t) - 1):
        x, torques[k] = step(forces, float(t[k]), x, float(t[k + 1] - t[k]))
        _check(n, x, float(t[k + 1]))
        states[k + 1] = x
    torques[-1] = forces.torque(float(t[-1]), x[:n], x[n : 2 * n])
    return states, torques


def _rk4_step(forces: _Forces, t: float, x: Array, dt: float) -> tuple[Array, Array]:
    """The next state, and the torque in this one."""
    k1, torque = forces.rate(t, x)
    k2, _ = forces.rate(t + dt / 2, x + dt / 2 * k1)
    k3, _ = forces.rate(t + dt / 2, x + dt / 2 * k2)
    k4, _ = forces.rate(t + dt, x + dt * k3)
    return x + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4), torque


def _leapfrog_step(forces: _Forces, t: float, x: Array, dt: float) -> tuple[Array, Array]:
    """The next state, and the torque in this one."""
    arm, n = forces.arm, forces.arm.n
    q, qd = x[:n], x[n : 2 * n]
    M = arm.mass_matrix(q)
    p = M @ qd

    def inner(at: Array, speed: Array) -> Array:
        """F but for what acts from outside."""
        return arm.coriolis_transpose_qd(at, speed) - arm.gravity_torque(at)

    asked: list[_Acting] = []  # from qd, the reported speed, to v_half

    def half_kick(v: Array) -> Array:
        asked.append(forces.at(t, q, v))
        return _solved(M, p + dt / 2 * (inner(q, v) + asked[-1].net))

    v_half = _repeated(half_kick, qd, t)
    p_half = M @ v_half

    def drift(there: Array) -> Array:
        _check(n, there, t)
        return q + dt / 2 * (v_half + _solved(arm.mass_matrix(there), p_half))

    q_new = _repeated(drift, q + dt * v_half, t)
    M_new = arm.mass_matrix(q_new)
    v_new = _solved(M_new, p_half)
    after = forces.at(t + dt, q_new, v_new).net
    work = x[-1] + dt / 2 * (v_half @ asked[-1].net + v_new @ after)
    qd_new = _solved(M_new, p_half + dt / 2 * (inner(q_new, v_new) + after))
    return np.concatenate([q_new, qd_new, [work]]), asked[0].torque


def _solved(M: Array, b: Array) -> Array:
    x: Any = np.linalg.solve(M, b)  # of float64, which NumPy's annotations do not say
    return x


def _repeated(update: Callable[[Array], Array], x: Array, t: float) -> Array:
    """The x that `update` leaves as it is, to rounding."""
    for _ in range(REPETITIONS):
        new = update(x)
        if not np.isfinite(new).all():
            break
        if np.abs(new - x).max() <= 4e-15 * max(1.0, np.abs(new).max()):
            return new
        x = new
    raise DivergenceError(f"the implicit step at t = {t:.6g} s does not converge; take a shorter dt")


def _adaptive(forces: _Forces, x: Array, t: Array) -> tuple[Array, Array]:
    """The states (K, 2n + 1) at t, between the integrator's own steps, and the torques (K, n) in them."""
    try:
        from scipy.integrate import solve_ivp
    except ImportError as missing:
        raise ElbowroomError('method="adaptive" needs SciPy: pip install scipy') from missing

    def rate(time: float, state: Array) -> Array:
        return forces.rate(time, state)[0]

    found: Any = solve_ivp(rate, (t[0], t[-1]), x, "DOP853", t, rtol=TOLERANCE, atol=TOLERANCE)
    if not found.success:
        raise DivergenceError(f"the adaptive integrator stopped at t = {found.t[-1]:.6g} s: {found.message}")
    n = forces.arm.n
    states: Array = found.y.T
    rows = zip(t.tolist(), states[:, :n], states[:, n : 2 * n], strict=True)
    return states, np.array([forces.torque(*row) for row in rows])


def _motion(arm: Arm, t: Array, states: Array, torque: Array) -> SimulatedMotion:
    n = arm.n
    q, qd, work = states[:, :n].copy(), states[:, n : 2 * n].copy(), states[:, -1].copy()
    tool = tool_history(arm, q, qd)
    energy: Array = np.asarray(arm.kinetic_energy(q, qd)) + np.asarray(arm.potential_energy(q))
    return SimulatedMotion(t, q, qd, torque, tool.pose, tool.velocity, energy, work, energy - energy[0] - work)


def _times(duration: float, dt: float) -> Array:
    if not (math.isfinite(duration) and math.isfinite(dt) and dt > 0 and duration > 0):
        raise ValueError(f"duration and dt must be positive times in seconds; got {duration} and {dt}")
    steps = max(1, math.ceil(duration / dt * (1 - 1e-12)))  # 0.3 / 0.1 is three steps
    return np.linspace(0.0, duration, steps + 1)


def _applied(name: str, given: ArrayLike | Applied, shapes: tuple[tuple[int, ...], ...]) -> Callable[..., Array]:
    """A function of (t, q, qd) whose values are checked."""

    if callable(given):
        return lambda t, q, qd: finite(name, given(t, q, qd), *shapes, where=f" at t = {t:.6g} s")
    constant = finite(name, given, *shapes)
    return lambda t, q, qd: constant


def _check(n: int, x: Array, t: float) -> None:
    if not np.isfinite(x).all():
        bad = int(np.flatnonzero(~np.isfinite(x))[0])
        what = f"joint {bad % n + 1}" if bad < 2 * n else "the work"
        raise DivergenceError(f"the simulation diverged: {what} left the numbers at t = {t:.6g} s; take a shorter dt")
