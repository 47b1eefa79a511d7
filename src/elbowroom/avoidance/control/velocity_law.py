"""The velocity law (K), and what the force law (F) shares with it: task, attraction, pushes, joint speeds.

A law is traced once per arm and structure, over inputs

    q, qd (n,)      the joints                      pairs (P, 13)   the pair table
    goal (15,)      position, velocity, rotation    memory          what is carried from step to step
                    of the tool                     gains           all floats of the settings
    posture (n,)    where joints rest
    clock (2,)      dt, and 1 at the filter's wrap  oldest (n,)     the filter's oldest sample

In K (thesis, section 3.9.1) each push is a velocity of its control point, turned into joint speeds by that point's own
Jacobian (3.49), (3.51).  The tool's velocity is that of the attraction plus what the pushes make of it (3.50), (3.55).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ...algebra import Scalar, maximum, minimum, sqrt, where
from ...algebra.linalg import Array, dot, vector
from ...dynamics.kinematics import Frames, forward_kinematics, jacobian_at
from ...geometry.distance import AXIS_DISTANCE, DISTANCE
from ...model import Model
from . import joint_limits
from .attraction import pull, slow_down_factor, turn
from .config import Config
from .least_squares import null_space, openness, resolved, speed_weights
from .pushes import AFAR, Aim, PairLayout, Push, gathered, nearest_pair
from .smoothing import average

AVOIDING = 1e-6  # m/s: a smaller push does not count as avoiding
SLOWED = 0.95  # of the attraction, or of a joint's speed: less counts as slowing
FASTEST = 2.0  # times the fields' greatest strength: how fast one push may move its point
CLOSED = 0.5  # of the openness: less counts as near a singularity


class GoalInputs(NamedTuple):
    """Where the tool should be."""

    position: Array
    velocity: Array
    rotation: Array  # (3, 3)
    posture: Array  # (n,)


class Situation(NamedTuple):
    """Inputs of a law, and what follows from them at once: all that both laws need of the present."""

    model: Model
    layout: PairLayout
    g: Config  # the settings, floats as inputs
    q: Array
    qd: Array
    frames: Frames
    tool: Array  # (3,) the tool's point
    R_tool: Array  # (3, 3)
    J: Array  # (m, n) of the task at the tool
    J_task: Array  # (m, n) that the task is resolved with: J, or the alternate one
    weights: Array | None  # (n,) of the joints where some are slow
    goal: GoalInputs
    pushes: list[Push]
    push: Scalar  # the greatest of people and things, m/s
    own: Scalar  # the greatest of the floor, the shells and the arm itself
    distance: Scalar
    axis_distance: Scalar
    nearest: Scalar
    slow: Scalar
    lower: Array
    upper: Array


class Memory(NamedTuple):
    """What is carried from step to step."""

    integral: Array  # (3,) of the attraction
    total: Array  # (n,) running sum of the filter
    fresh: Array  # (n,) the sum that replaces it
    desired: Array  # (n,) joint goal of the F controller in joint space


def memory_size(n: int) -> int:
    """How many numbers `Memory` has."""
    return 3 + 3 * n


def unpacked(memory: Array, n: int) -> Memory:
    """The parts of the memory."""
    return Memory(memory[:3], memory[3 : 3 + n], memory[3 + n : 3 + 2 * n], memory[3 + 2 * n :])


def situation(
    model: Model,
    layout: PairLayout,
    g: Config,
    limits: tuple[Array, Array],
    q: Array,
    qd: Array,
    pairs: Array,
    goal: Array,
    posture: Array,
) -> Situation:
    """Everything about the present."""
    wanted = GoalInputs(goal[:3], goal[3:6], goal[6:].reshape(3, 3), posture)
    frames = forward_kinematics(model, q)
    last = model.n - 1
    tool = frames.point(last, model.tool[:3, 3])
    at_tool = jacobian_at(model, frames, last, tool)
    J = at_tool.Jv if g.task == "position" else np.vstack(at_tool)
    J_task = J
    if g.jacobian == "alternate":
        at_goal = jacobian_at(model, frames, last, wanted.position)
        J_task = at_goal.Jv if g.task == "position" else np.vstack(at_goal)
    distance, by_surface = nearest_pair(layout, pairs, DISTANCE)
    axis_distance, by_axis = nearest_pair(layout, pairs, AXIS_DISTANCE)
    axis = g.repulsion.measure == "axis"
    slow = slow_down_factor(g.attraction, axis_distance if axis else distance, g.repulsion.influence)
    aim = AFAR
    if g.goal_scaling is not None:
        error, pace = wanted.position - tool, wanted.velocity
        aim = Aim(sqrt(dot(error, error)), sqrt(dot(pace, pace)))
    pushes, push, own, share = gathered(model, layout, frames, pairs, g, aim)
    if g.goal_scaling is not None:
        slow = 1.0 - share * (1.0 - slow)  # the restraint fades as the pushes do
    return Situation(
        model,
        layout,
        g,
        q,
        qd,
        frames,
        tool,
        frames.R[last] @ model.tool[:3, :3],
        J,
        J_task,
        speed_weights(model),
        wanted,
        pushes,
        push,
        own,
        distance,
        axis_distance,
        by_axis if axis else by_surface,
        slow,
        *limits,
    )


def attraction(s: Situation, integral: Array, dt: Scalar) -> tuple[Array, Array]:
    """The velocity (m,) that draws the tool, with the pole's own added, and the integral to remember (3.47)-(3.48)."""
    velocity, summed = pull(s.g.attraction, s.goal.position - s.tool, integral, dt, s.slow)
    integral = where(maximum(s.push, s.own) > AVOIDING, integral, summed)  # an error that the pushes make is not summed
    velocity = velocity + s.goal.velocity * s.slow
    if s.g.task == "position":
        return velocity, integral
    return np.concatenate([velocity, turn(s.g.attraction, s.R_tool, s.goal.rotation) * s.slow]), integral


def combined(s: Situation, drawn: Array, each: list[Array], more: Array | None = None) -> Array:
    """Joint speeds (n,) of a task velocity `drawn` (m,) and the joint speeds that `each` push asks for (n,).

    "joint" adds joint speeds (3.2); "tool" carries them to the tool and adds there (3.55); "null" gives way where the
    task does not feel it, and then by what is missing.  What the task leaves free pulls to the rest posture.  `more`
    (n,) are joint speeds that no push asks for: of the joint limits' potential.
    """
    way = s.g.superposition
    if way == "auto":
        way = "null" if s.g.controller == "K" else "joint"
    still = np.zeros(s.model.n)
    rest = null_space(s.J_task, to_posture(s, s.q), s.weights)
    if way == "tool":
        pushed = apply_pushes(s, each, still if more is None else more)
        return resolved(s.g.inverse, s.J_task, drawn + s.J @ pushed, s.g.damping, s.weights) + rest
    speed = resolved(s.g.inverse, s.J_task, drawn, s.g.damping, s.weights) + rest
    speed = speed if more is None else speed + more
    return apply_pushes(s, each, speed, spared=way == "null")


def to_posture(s: Situation, q: Array) -> Array:
    """Joint speeds (n,) from q to the rest posture, of a slow joint by its weight."""
    speed = (s.g.posture * s.slow) * (s.goal.posture - q)
    return speed if s.weights is None else s.weights * speed


def apply_pushes(s: Situation, each: list[Array], speed: Array, *, spared: bool = False) -> Array:
    """`speed` (n,) and of each push's joint speeds e (n,) as much as its control point still lacks along the push.

    For a push along u at a point with Jacobian J, a = J^T u: alone it would add a.e to the point's speed along u.  Of
    that, what other pushes have not given already is added, along e: pushes in one direction do not pile up, one push
    alone is (3.49), (3.51) or (3.71) as printed.  All are scaled so that no point is moved faster than `FASTEST` times
    the fields' greatest strength, unless the field's form is printed: forces would whirl a light wrist.

    `spared`: first the task's null space gives what it can, along N e.  With r = a.N e / a.e that is r^2 / (r^2 + c^2)
    of what lacks, c being `reluctance`; the rest comes along e, at the cost of the task.
    """
    alone: list[tuple[Array, Array, Scalar]] = []
    for push, e in zip(s.pushes, each, strict=True):
        u = push.vector * (1.0 / where(push.strength > 0.0, push.strength, 1.0))
        a: Array = jacobian_at(s.model, s.frames, push.link, push.point).Jv.T @ u
        product: Any = a @ e  # a number; to NumPy's types an array
        alone.append((a, e, maximum(product, 0.0)))
    scale: Scalar = 1.0
    if s.g.repulsion.form == "mended":
        fastest: Scalar = 0.0
        for _, _, own in alone:
            fastest = maximum(fastest, own)
        most = FASTEST * s.g.repulsion.max_strength
        scale = where(fastest > most, most / where(fastest > 0.0, fastest, 1.0), 1.0)
    wishes = []
    for a, e, own in ((a, e * scale, own * scale) for a, e, own in alone):
        wishes.append((a, e, own, 1.0 / where(own > 0.0, own, 1.0), a @ speed + own))
    if spared:
        c = s.g.reluctance
        for a, e, own, share, wanted in wishes:
            lack = minimum(maximum(wanted - a @ speed, 0.0), own) * share
            along = null_space(s.J_task, e, s.weights)
            r = (a @ along) * share
            speed = speed + along * (lack * (r / (r * r + c * c)))
    for a, e, own, share, wanted in wishes:
        speed = speed + e * (minimum(maximum(wanted - a @ speed, 0.0), own) * share)
    return speed


def least_factor(factors: Array) -> Scalar:
    """The least of the joints' factors."""
    lowest: Scalar = factors[0]
    for factor in factors[1:]:
        lowest = minimum(lowest, factor)
    return lowest


def off_limits(s: Situation, speed: Array) -> tuple[Array, Scalar]:
    """Joint speeds kept off the joint limits, and the least factor: scaled (3.74), or with a potential added (3.72)."""
    rules = s.g.joint_limits
    if rules.method == "scaling":
        factors = joint_limits.scaling(rules, s.q, s.lower, s.upper, speed)
        return speed * factors, least_factor(factors)
    if rules.method == "potential":
        return speed + joint_limits.potential(rules, s.q, s.lower, s.upper), 1.0
    return speed, 1.0


class Finished(NamedTuple):
    """Joint speeds after the filter and the limits, and what goes with them."""

    speed: Array  # (n,) the command
    raw: Array  # (n,) what the filter is fed
    unfiltered: Array  # (n,) the command if there were no filter
    limit: Scalar  # the least joint-limit factor
    total: Array  # (n,) the two sums that the filter remembers
    fresh: Array


def finished(
    s: Situation,
    asked: Array,
    limit: Scalar,
    kept_off: Callable[[Situation, Array], tuple[Array, Scalar]],
    oldest: Array,
    memory: Memory,
    restart: Scalar,
    samples: int,
) -> Finished:
    """(3.78), then the mended joint limits.  The thesis filters last, and its printed forms are in `asked` already.

    A limit that is averaged with the rest is late: the joint runs through it with the speed that the filter remembers.
    """
    speed, total, fresh = asked, memory.total, memory.fresh
    if samples > 1:
        speed, total, fresh = average(asked, oldest, memory.total, memory.fresh, restart, float(samples))
    if s.g.joint_limits.form == "printed":
        return Finished(speed, asked, asked, limit, total, fresh)
    unfiltered, _ = kept_off(s, asked)
    speed, limit = kept_off(s, speed)
    return Finished(speed, asked, unfiltered, limit, total, fresh)


def information(s: Situation, limit: Scalar, attracted: Array, repelled: Array) -> Array:
    """The numbers of INFO."""
    limit = where(s.own > AVOIDING, 0.0, limit)
    Jv = s.J[:3] if s.weights is None else s.J[:3] * s.weights
    open_ = 1.0 if s.layout.flat else openness(Jv, s.g.damping)
    status: Scalar = 0.0
    for k, holds in enumerate(
        (open_ < CLOSED, limit < SLOWED, s.slow < SLOWED, s.push > AVOIDING, s.distance <= 0.0), start=1
    ):
        status = where(holds, float(k), status)
    drawn, pushed = attracted[:3], repelled[:3]
    return vector(s.distance, s.axis_distance, s.nearest, s.slow, s.push, open_, limit, *drawn, *pushed, status)


def velocity_results(
    s: Situation, done: Finished, memory: Memory, dt: Scalar, integral: Array, drawn: Array, pushed: Array
) -> dict[str, Array]:
    """What a step of a law of velocities gives; `pushed` (n,) are the joint speeds of the pushes alone."""
    speed = done.speed
    tool = jacobian_at(s.model, s.frames, s.model.n - 1, s.tool)
    return {
        "qd": speed,
        "q": s.q + speed * dt,
        "tool_velocity": np.concatenate([tool.Jv @ speed, tool.Jw @ speed]),
        "raw": done.raw,
        "unfiltered": done.unfiltered,
        "memory": np.concatenate([integral, done.total, done.fresh, memory.desired]),
        "info": information(s, done.limit, drawn, tool.Jv @ pushed),
    }


def pushed_speeds(s: Situation) -> list[Array]:
    """The joint speeds (n,) that each push asks for: (3.49) or (3.51) at its control point."""
    speeds = []
    for push in s.pushes:
        J = jacobian_at(s.model, s.frames, push.link, push.point).Jv
        speeds.append(resolved(s.g.inverse, J, push.vector, s.g.push_damping, s.weights))
    return speeds


def law(s: Situation, memory: Memory, dt: Scalar, restart: Scalar, oldest: Array, samples: int) -> dict[str, Array]:
    """One step: joint and tool velocities, and the memory after it."""
    each = pushed_speeds(s)
    pushed = apply_pushes(s, each, np.zeros(s.model.n))
    drawn, integral = attraction(s, memory.integral, dt)
    asked = combined(s, drawn, each)
    limit: Scalar = 1.0
    if s.g.joint_limits.form == "printed":
        asked, limit = off_limits(s, asked)
    done = finished(s, asked, limit, off_limits, oldest, memory, restart, samples)
    return velocity_results(s, done, memory, dt, integral, drawn, pushed)
