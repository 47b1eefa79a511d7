"""The force law (F): repulsion as forces, carried by the arm's own inertia (thesis, section 3.9.2).

    tau_rep = sum of J_cp^T f over the control points                                           (3.57)

    linearised    x' = x'_att + J N M^-1 (tau_rep + tau_lim) T                                  (3.71), (3.73), (3.76)
                  a velocity law; N scales joints near their limits (3.75); T is the time factor
    operational   x'' = f_att + J M^-1 tau_rep,  f_att = -Kp (x - xd) - Kv (x' - xd')           (3.61), (3.68)
                  tau = M J# (f_att - J' q') + C q' + g + tau_rep                               (3.66), (3.67)
    joint         tau = -Kp (q - qd) - Kd (q' - qd') + tau_rep + C q' + g                       (3.56), (3.58)
                  the joint goal qd follows the tool's goal by inverse kinematics, a step a cycle

J# is the damped inverse.  Torques are held between -f tau_max and +f tau_max, each joint by itself, both signs (the
print of (3.59)-(3.60) holds one).  For arms that take velocities, torques are integrated through forward dynamics.
The strengths of fields and of the joint limits' potential are speeds; times the resistance R they are forces (of the
potential, torques at a lever of one metre).  The thesis' A is our M.  In the joint and the operational law Kp and Kv
are given for a unit of inertia, that of the joints (Kp is kp M) and of the tool, which is decoupled; both are scaled
by (3.77) near people.  C q' + g, which the thesis leaves to the drive, is added.  Friction is left to it, also where
torques are integrated: with it an explicit step is unstable on arms with strong damping and light links.
"""

from __future__ import annotations

import math

import numpy as np

from ...algebra import Scalar, maximum, minimum
from ...algebra.linalg import Array, cholesky_solve, vector
from ...dynamics import whole
from ...dynamics.kinematics import forward_kinematics, jacobian_at, jacobian_rate
from . import joint_limits
from .attraction import held, rotation_error
from .least_squares import damped, null_space
from .velocity_law import (
    Memory,
    Situation,
    apply_pushes,
    attraction,
    combined,
    finished,
    information,
    least_factor,
    off_limits,
    to_posture,
    velocity_results,
)


def pushed_torques(s: Situation) -> list[Array]:
    """J_cp^T f (n,) of each push, (3.57), f being the push times the resistance."""
    torques = []
    for push in s.pushes:
        J = jacobian_at(s.model, s.frames, push.link, push.point).Jv
        torques.append(J.T @ (push.vector * s.g.force.resistance))
    return torques


def limit_torque(s: Situation) -> Array | None:
    """The torque (n,) of the joint limits' potential (3.72), if that is the method."""
    if s.g.joint_limits.method != "potential":
        return None
    return joint_limits.potential(s.g.joint_limits, s.q, s.lower, s.upper) * s.g.force.resistance


def law(s: Situation, memory: Memory, dt: Scalar, restart: Scalar, oldest: Array, samples: int) -> dict[str, Array]:
    """One step, by the method of the settings."""
    M = whole("mass_matrix", "crba")(s.model, s.q)
    if s.g.force.method == "linearised":
        return _linearised(s, M, memory, dt, restart, oldest, samples)
    return _torque(s, M, memory, dt)


def _linearised(
    s: Situation, M: Array, memory: Memory, dt: Scalar, restart: Scalar, oldest: Array, samples: int
) -> dict[str, Array]:
    rules, T = s.g.joint_limits, s.g.force.time_factor
    each = [cholesky_solve(M, torque) * T for torque in pushed_torques(s)]  # (3.71)
    off = limit_torque(s)
    more = None if off is None else cholesky_solve(M, off) * T  # (3.73)
    drawn, integral = attraction(s, memory.integral, dt)
    limit: Scalar = 1.0
    if rules.method == "scaling" and rules.form == "printed":  # (3.76) scales the repulsion alone
        factors = joint_limits.scaling(rules, s.q, s.lower, s.upper, np.sum(each, axis=0))
        each, limit = [factors * speeds for speeds in each], least_factor(factors)
    asked = combined(s, drawn, each, more if rules.form == "printed" else None)

    def kept_off(s: Situation, speed: Array) -> tuple[Array, Scalar]:
        return off_limits(s, speed) if more is None else (speed + more, 1.0)

    done = finished(s, asked, limit, kept_off, oldest, memory, restart, samples)
    pushed = apply_pushes(s, each, np.zeros(s.model.n))
    return velocity_results(s, done, memory, dt, integral, drawn, pushed)


def _torque(s: Situation, M: Array, memory: Memory, dt: Scalar) -> dict[str, Array]:
    pushed = np.sum(pushed_torques(s), axis=0)
    off = limit_torque(s)
    if off is not None:
        pushed = pushed + off
    bias = whole("bias_torque", "rnea")(s.model, s.q, s.qd)
    if s.g.force.method == "operational":
        drawn, attracted, desired = *_operational(s, M), memory.desired
    else:
        drawn, desired = _joint(s, M, memory.desired, dt)
        attracted = s.J @ cholesky_solve(M, drawn)
    limit: Scalar = 1.0
    if s.g.joint_limits.method == "scaling":
        # A joint near its limit keeps the part of its acceleration that the factor allows (N of 3.75); of the speed
        # that it comes with, the rest is braked.
        wanted = cholesky_solve(M, drawn + pushed)
        factors = joint_limits.scaling(s.g.joint_limits, s.q, s.lower, s.upper, wanted)
        coming = joint_limits.scaling(s.g.joint_limits, s.q, s.lower, s.upper, s.qd)
        torque = M @ (factors * wanted - (s.g.force.kv * (1.0 - coming)) * s.qd) + bias
        limit = least_factor(factors)
    else:
        torque = drawn + pushed + bias
    torque = clamped(torque, s.g.force.torque_fraction, s.model.effort)
    acceleration = cholesky_solve(M, torque - bias)
    speed = s.qd + acceleration * dt  # forward dynamics, a step on
    tool = jacobian_at(s.model, s.frames, s.model.n - 1, s.tool)
    return {
        "qd": speed,
        "q": s.q + speed * dt,
        "tool_velocity": np.concatenate([tool.Jv @ speed, tool.Jw @ speed]),
        "tau": torque,
        "acceleration": s.J[:3] @ acceleration + _drift(s)[:3],  # (3.64), of the torques as they are held
        "memory": np.concatenate([memory.integral, memory.total, memory.fresh, desired]),
        "info": information(s, limit, attracted, s.J[:3] @ cholesky_solve(M, pushed)),
    }


def clamped(torque: Array, fraction: Scalar, effort: Array) -> Array:
    """(3.59)-(3.60) for both signs; a joint without an effort limit is left as it is."""
    held_ = []
    for tau, most in zip(torque.tolist(), effort.tolist(), strict=True):
        if math.isfinite(most):
            tau = minimum(maximum(tau, -(fraction * most)), fraction * most)
        held_.append(tau)
    return vector(*held_)


def _operational(s: Situation, M: Array) -> tuple[Array, Array]:
    """M J# (f_att - J' q') (n,), what is left free damped and drawn to the posture; and f_att (m,): (3.61), (3.66)."""
    force = s.g.force
    v = s.J @ s.qd
    f = held(force.kp * (s.goal.position - s.tool), force.max_acceleration)
    f = f * s.slow - force.kv * (v[:3] - s.goal.velocity * s.slow)
    if s.g.task == "pose":
        turning = held(force.kp * rotation_error(s.R_tool, s.goal.rotation), force.max_acceleration)
        f = np.concatenate([f, turning * s.slow - force.kv * v[3:]])
    posture = (s.g.posture * force.kv * s.slow) * (s.goal.posture - s.q)
    posture = posture if s.weights is None else s.weights * posture
    free = posture - force.null_damping * s.qd
    acceleration = damped(s.J, f - _drift(s), s.g.damping, s.weights) + null_space(s.J, free, s.weights)
    return M @ acceleration, f


def _drift(s: Situation) -> Array:
    """J' q' (m,): the acceleration of the tool at constant joint speeds."""
    rate = jacobian_rate(s.model, s.q, s.qd)
    return (rate.Jv if s.g.task == "position" else np.vstack(rate)) @ s.qd


def _joint(s: Situation, M: Array, desired: Array, dt: Scalar) -> tuple[Array, Array]:
    """-Kp (q - qd) - Kd (q' - qd') (n,), (3.56), and the joint goal moved a step towards the tool's goal."""
    force = s.g.force
    frames = forward_kinematics(s.model, desired)
    last = s.model.n - 1
    tool = frames.point(last, s.model.tool[:3, 3])
    there = jacobian_at(s.model, frames, last, tool)
    velocity = held(s.g.attraction.kp * (s.goal.position - tool), s.g.attraction.max_speed) * s.slow
    velocity = velocity + s.goal.velocity * s.slow
    J = there.Jv
    if s.g.task == "pose":
        R = frames.R[last] @ s.model.tool[:3, :3]
        turning = held(s.g.attraction.rotation_gain * rotation_error(R, s.goal.rotation), s.g.attraction.max_turn)
        velocity, J = np.concatenate([velocity, turning * s.slow]), np.vstack(there)
    rest = to_posture(s, desired)
    speed = damped(J, velocity, s.g.damping, s.weights) + null_space(J, rest, s.weights)
    torque = M @ (force.kp * s.slow * (desired - s.q) - force.kv * (s.qd - speed))
    return torque, _within(desired + speed * dt, s.lower, s.upper)


def _within(q: Array, lower: Array, upper: Array) -> Array:
    """q held between the limits that there are."""
    inside = []
    for x, low, high in zip(q.tolist(), lower.tolist(), upper.tolist(), strict=True):
        x = maximum(x, low) if math.isfinite(low) else x
        inside.append(minimum(x, high) if math.isfinite(high) else x)
    return vector(*inside)
