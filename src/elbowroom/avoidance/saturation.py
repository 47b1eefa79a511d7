"""From what a controller wants to what an arm may do: the formulas of limiter.py.

    1. velocity      v1 = s v with |v1_i| <= velocity limit, by `retreat_fraction` of it in overlap
    2. position      v2: each joint alone held between the speeds at which it can still stop before its limits
    3. people        v3 = s v2, s the greatest in [0, 1] with  s u_k <= v_max(d_k)  for every pair k of capsules; u_k is
                     the speed at which v2 brings the arm's nearest point towards the person (separation_speed.py)
    4. acceleration  v4 = last + s (v3 - last) with |v4_i - last_i| <= acceleration dt; then step 2 again

Steps 1, 3 and 4 scale all joints by one factor, so the direction is kept.  Step 2 does not: a joint at its stop must
not freeze the others, which may be carrying the arm away from somebody.  What such a joint leaves may go towards
somebody, so people come after it: scaling down keeps every bound of steps 1 and 2.  Step 2 also comes last because a
limit is where metal ends; a joint that has followed it needs no more than the acceleration to follow on
(separation_speed.py).  A stop is the same with nothing wanted and a greater acceleration: the last command runs down
along its own direction.

A controller that makes torques is limited through the speeds that the torques lead to in one period h:

    a = M^-1 (tau - b - f),   v = qd + a h,   limited as above from last = qd,   tau' = M (v' - qd) / h + b + f

with the bias b = C qd + g and the friction f; tau itself where nothing was limited.  The torque is then held within the
effort limits along tau - b, so that gravity stays carried while what moves the arm is scaled.  A stop wants
v = (1 - k h) qd.

Stale data about people makes it a stop at once, and an arm that waits for its first data wants nothing, whoever called.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from ..algebra import absolute, cross, dot, maximum, minimum, where
from ..algebra.linalg import Array, cholesky_solve, is_constant, vector
from ..dynamics import whole
from ..dynamics.drives import friction_torque
from ..dynamics.kinematics import Frames, forward_kinematics, jacobian_at, velocities
from ..geometry.distance import DISTANCE, LAMBDA_X, NORMAL, SPEED_Y
from ..model import Model
from .belief import CLOCK, TOLD
from .layout import Layout
from .separation_speed import braking_speed, separation_speed

RULES = (
    "horizon",  # s: longest time that a command may have to last
    "period",
    "human_speed",
    "reaction",
    "deceleration",
    "clearance",  # C + Z; -ANYWHERE: only overlap counts
    "creep",
    "retreat_fraction",
    "hold_damping",
    "stop_factor",
    "stop_distance",
    "overspeed",
)
SUMMARY = (
    "attention",  # 0: nothing of all this has happened; else 1, also if the command is not finite
    "human_scale",
    "limit_scale",  # least of the factors of velocity, acceleration and torque; 0 where a joint was braked
    "overspeed",  # greatest measured speed, in velocity limits
    "fastest",  # greatest measured speed
    "commanded",  # greatest commanded speed
    "distance",
    "people_distance",
    "size",  # of the command, squared: not a number if any part of it is not
    "marks",  # what was told about people, counted
)
ANYWHERE = 1e12  # m: with so much room any speed is allowed
HUGE = 1e18  # a command whose square is not below is not one
NOBODY = 1e5  # m: the distance where there is no obstacle to be measured to


def toward(model: Model, layout: Layout, frames: Frames, speed: Array, pairs: Array) -> list[tuple[int, Any]]:
    """(pair, m/s) for every pair of a capsule that can move and an obstacle: how fast `speed` brings them together."""
    omega, v = velocities(model, frames, speed)
    found: list[tuple[int, Any]] = []
    for i, capsule in enumerate(layout.capsules):
        link = capsule.link
        if link < 0:
            continue
        ends = (frames.R[link] @ np.array(end) for end in (capsule.a, capsule.b))
        back_a, back_b = (cross(end, omega[link]) - v[link] for end in ends)  # against the velocities of the ends
        for k in range(layout.slots):
            row = pairs[layout.pair(i, k)]
            start, end = dot(back_a, row[NORMAL]), dot(back_b, row[NORMAL])
            found.append((layout.pair(i, k), start + row[LAMBDA_X] * (end - start)))
    return found


def _distances(layout: Layout | None, x: Any) -> tuple[Any, Any]:
    """The least distance to anything, and to a person."""
    if layout is None:
        return where(x.clock.overlap > 0, 0.0, NOBODY), NOBODY
    persons = layout.people * layout.person_capsules
    distance: Any = NOBODY
    people: Any = NOBODY
    for k in range(layout.own * layout.slots):
        distance = minimum(distance, x.pairs[k][DISTANCE])
        if k % layout.slots < persons:
            people = minimum(people, x.pairs[k][DISTANCE])
    return distance, people


def _near_people(
    model: Model, layout: Layout | None, frames: Frames, speed: Array, x: Any, rules: SimpleNamespace
) -> Any:
    """The factor that holds the approach to everybody at what can still be stopped."""
    if layout is None:
        return 1.0
    persons = layout.people * layout.person_capsules
    scale: Any = 1.0
    for k, approach in toward(model, layout, frames, speed, x.pairs):
        if is_constant(approach, 0.0):
            continue  # an end on the axis of all the joints that carry it: no joint moves it
        row = x.pairs[k]
        allowed: Any = ANYWHERE
        if k % layout.slots < persons:
            human = maximum(rules.human_speed, row[SPEED_Y])
            settings = rules.reaction, rules.deceleration, rules.clearance, rules.creep
            allowed = separation_speed(row[DISTANCE], human, *settings)
        allowed = where(row[DISTANCE] > 0, allowed, 0.0)  # in overlap no nearer at all
        scale = minimum(scale, where(approach > allowed, allowed / approach, 1.0))
    return scale


def _scale(values: Array, most: Array) -> Any:
    """The greatest factor in [0, 1] that brings every value within its bound."""
    scale: Any = 1.0
    for value, bound in zip(values.tolist(), most.tolist(), strict=True):
        size = absolute(value)
        scale = minimum(scale, where(size > bound, bound / where(size > 0, size, 1.0), 1.0))
    return scale


def _braked(speed: Array, q: Array, bounds: SimpleNamespace, horizon: Any) -> tuple[Array, Any]:
    """Speeds from which every joint can still stop before its limits, and 0 if any had to be slowed, else 1."""
    held = []
    free: Any = 1.0
    for i, v in enumerate(speed.tolist()):
        a = bounds.acceleration[i]
        up = braking_speed(bounds.upper[i] - q[i], a, horizon)
        down = braking_speed(q[i] - bounds.lower[i], a, horizon)
        v_held = minimum(maximum(v, -down), up)
        free = where(v > up, 0.0, where(v < -down, 0.0, free))
        held.append(v_held)
    return vector(*held), free


def _largest(values: Array) -> Any:
    top: Any = 0.0
    for value in values.tolist():
        top = maximum(top, absolute(value))
    return top


def _bounded_torque(tau: Array, bias: Array, effort: Array) -> tuple[Array, Any]:
    """bias + s (tau - bias) within the efforts, s in [0, 1]; a bias beyond them is held joint by joint."""
    scale: Any = 1.0
    for asked, carried, most in zip(tau.tolist(), bias.tolist(), effort.tolist(), strict=True):
        edge = where(asked > 0, most, -most)
        room, wanted = edge - carried, asked - carried
        within = where(wanted * room > 0, room / where(wanted == 0, 1.0, wanted), 0.0)
        scale = minimum(scale, where(absolute(asked) > most, within, 1.0))
    scaled = [
        minimum(maximum(b + scale * (a - b), -most), most)
        for a, b, most in zip(tau.tolist(), bias.tolist(), effort.tolist(), strict=True)
    ]
    return vector(*(where(scale < 1, s, a) for s, a in zip(scaled, tau.tolist(), strict=True))), scale


def limited(model: Model, layout: Layout | None, torque: bool, **inputs: Array) -> dict[str, Any]:
    """The formula; see the module's docstring.  Inputs as in `limiter.limiting`."""
    x = SimpleNamespace(**inputs)
    x.clock = SimpleNamespace(**dict(zip(CLOCK, x.clock, strict=True)))
    rules = SimpleNamespace(**dict(zip(RULES, x.rules, strict=True)))
    b = SimpleNamespace(**dict(zip(("lower", "upper", "velocity", "acceleration", "effort"), x.bounds, strict=True)))
    frames = forward_kinematics(model, x.q)
    stopping = x.clock.stop + x.told[TOLD.index("stale")] > 0
    held = stopping | (x.told[TOLD.index("waiting")] > 0)
    wanted, rest, last, dt = x.wanted, np.zeros(model.n), x.last, x.clock.dt
    if torque:
        M = whole("mass_matrix", "crba")(model, x.q)
        bias = whole("bias_torque", "rnea")(model, x.q, x.qd)
        carried = bias + friction_torque(model, x.qd)
        last, dt = x.qd, rules.period
        free = last + cholesky_solve(M, x.tau - carried) * dt
        rest, wanted = x.qd * maximum(1.0 - rules.hold_damping * dt, 0.0), free
    wanted = vector(*(where(held, still, w) for still, w in zip(rest, wanted, strict=True)))
    distance, people = _distances(layout, x)
    pace = where(distance > 0, 1.0, rules.retreat_fraction)
    slower = _scale(wanted, b.velocity * pace)
    v, free_of_limits = _braked(wanted * slower, x.q, b, rules.horizon)
    human = _near_people(model, layout, frames, v, x, rules)
    v = v * human
    change = v - last
    gentler = _scale(change, b.acceleration * (dt * where(stopping, rules.stop_factor, 1.0)))
    v = vector(*(where(gentler < 1, old + step * gentler, new) for old, step, new in zip(last, change, v, strict=True)))
    v, still_free = _braked(v, x.q, b, rules.horizon)
    limit = minimum(minimum(slower, gentler), minimum(free_of_limits, still_free))
    tau: Array = np.zeros(model.n)
    if torque:
        again = M @ ((v - x.qd) / dt) + carried
        touched = held | (minimum(limit, human) < 1)
        tau = vector(*(where(touched, new, old) for new, old in zip(again, x.tau, strict=True)))
        tau, within = _bounded_torque(tau, bias, b.effort)
        limit = minimum(limit, within)
    tool = frames.point(model.n - 1, model.tool[:3, 3])
    J = jacobian_at(model, frames, model.n - 1, tool)
    tool_velocity = np.concatenate([J.Jv @ v, J.Jw @ v])
    size: Any = 0.0
    for value in (*v, *tau, *tool_velocity):
        size = size + value * value
    speed = _largest(x.qd / b.velocity)
    marks = x.told[0]
    for mark in x.told[1 : TOLD.index("age")]:
        marks = marks + mark
    calm = (size < HUGE) & (human >= 1) & (limit >= 1) & (distance > 0) & (x.clock.stop + marks <= 0)
    calm = calm & (speed <= rules.overspeed) & (people >= rules.stop_distance)
    summary = [where(calm, 0.0, 1.0), human, limit, speed, _largest(x.qd), _largest(v), distance, people, size, marks]
    age = x.told[TOLD.index("age")]
    record = [x.clock.t, x.clock.dt, age, *x.q, *x.qd, *wanted, *v, *tau, *tool_velocity, distance, people]
    results = {"qd": v, "q": x.q + v * x.clock.dt, "tau": tau, "tool_velocity": tool_velocity}
    return results | {"summary": vector(*summary), "record": vector(*record, human, limit, 0.0)}
