"""Saturation of a command: from the speeds that a controller wants to those that the arm may have; for limiter.py.

    boxed     what is wanted, all joints slowed by one factor to their velocity limits (to `retreat_fraction` of them
              while the arm overlaps something); and the joints' box (joint_speed_limits.py)
    asked     the wish: as much of the change as the joints can make together in this cycle, within the box
    weighed   what the wish lacks of the rows that it may violate (filter.py), and the margin
    rowed     those rows, where it lacks anything
    given     the wish, or what the filter made of it; then each joint held to a speed from which it can still stop
              before its end, because that is where metal ends

All joints change by one factor, so the direction is kept.  A joint at its end does not freeze the others, which may be
carrying the arm away from somebody: it is held alone.  A stop is the filter's ramp: the last command runs down along
its own direction.

A controller that makes torques is limited through the speeds that the torques lead to in one period h:

    a = M^-1 (tau - b - f),   v = qd + a h,   limited as above from last = qd,   tau' = M (v' - qd) / h + b + f

with the bias b = C qd + g and the friction f; tau itself where nothing was limited.  The torque is then held within the
effort limits along tau - b, so that gravity stays carried while what moves the arm is scaled.  An arm that waits wants
v = (1 - k h) qd.

Stale data about people makes it a stop at once, and an arm that waits for its first data wants nothing, whoever called.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

from ...algebra import absolute, maximum, minimum, where
from ...algebra.linalg import Array, cholesky_solve, vector
from ...dynamics import whole
from ...dynamics.drives import friction_torque
from ...dynamics.kinematics import forward_kinematics, jacobian_at
from ...geometry.distance import DISTANCE
from ...model import Model
from ..control.pairs import Layout
from .capsule_motion import CapsuleMotion, moving
from .filter import EVASION, KINDS, PEOPLE, ROWS, Constraint, chosen, contacts, posed
from .folds import largest, least, summed
from .joint_speed_limits import Box, joint_box
from .perception import CLOCK, TOLD
from .promise import ENDS, MET, NO_MARGIN, RUNS, Lanes, pulled_back
from .separation_speed import braking_speed
from .solver import GIVEN, Problem, opened

RULES = (
    "horizon",  # s: longest time that a command may have to last
    "period",
    "reaction",
    "clearance",  # C + Z; -ANYWHERE: only overlap counts
    "retreat_fraction",
    "creep",
    "hold_damping",
    "stop_factor",
    "stop_distance",
    "overspeed",
    "evasion_gain",
    "evasion_speed",
    "evasion_weight",
    "evasion_effort",
    "evasion_time",
    "floor",
    "keep_off",
    "thing_gain",
    "thing_weight",
    "jerk",
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
    "evading",  # m/s, by which the filter adds to an evasion
    "pulled",  # 1 - the part of the solution that the promise to all pairs left
    "margin",  # m/s: what the worst pair with a person leaves of what is allowed
)
ANYWHERE = 1e12  # m: with so much room any speed is allowed
URGENT = 4.0  # how much faster an acceleration may change where evasion is most urgent
SLOWED = 1.0 - 1e-9  # the most that is left of a wish that was slowed
UNTOUCHED = 1e-9  # of a velocity limit: a command that differs by less is the one that was wanted
HUGE = 1e18  # a command whose square is not below is not one
NOBODY = 1e5  # m: the distance where there is no obstacle to be measured to


def _distances(layout: Layout | None, x: Any) -> tuple[Any, Any]:
    """The least distance to anything, and to a person as last seen."""
    if layout is None:
        return where(x.clock.overlap > 0, 0.0, NOBODY), NOBODY
    persons = layout.people * layout.person_capsules
    # what stands on the base touches it for ever
    slots = [layout.pair(i, slot) for i in moving(layout) for slot in range(persons, layout.slots)]
    people = least([NOBODY, *x.noticed[0]])
    return least([people, *(x.pairs[k][DISTANCE] for k in slots)]), people


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


def _reached(last: Array, wanted: Array, box: Box) -> Array:
    """What the box lets through of a wish: as far as all joints can change together, so that the tool goes straight.

    A joint that is out of the box where it is, at its end or too fast, changes alone.
    """
    part: Any = 1.0
    change = wanted - last
    for v, c, lo, up in zip(last, change, box.low, box.up, strict=True):
        room = where(c > 0.0, up, lo) - v
        over = (room * c > 0.0) & (absolute(c) > absolute(room))
        part = minimum(part, where(over, room / where(over, c, 1.0), 1.0))
    moved = [where(part < 1.0, v + part * c, w) for v, c, w in zip(last, change, wanted, strict=True)]
    return vector(*(minimum(maximum(m, lo), up) for m, lo, up in zip(moved, box.low, box.up, strict=True)))


def _part(v: Array, wanted: Array) -> Any:
    """How much of a wish is left, along it, below 1; 1 where nothing was wanted."""
    size = summed(wanted * wanted)
    left = minimum(maximum(summed(v * wanted) / where(size > 0.0, size, 1.0), 0.0), SLOWED)
    return where(size > 0.0, left, 1.0)


def _each(choose: Callable[[Any, Any], Any], a: Array, b: Array) -> Array:
    return vector(*(choose(x, y) for x, y in zip(a, b, strict=True)))


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


def named_rules(rules: Array, **more: Any) -> SimpleNamespace:
    """RULES by name."""
    return SimpleNamespace(**dict(zip(RULES, rules, strict=True)), **more)


class Inputs(SimpleNamespace):
    """The inputs of a kernel by name, with `clock` and `rules` taken apart and the bounds as `b`."""

    @classmethod
    def of(cls, given: dict[str, Array], *, floor: bool, jerk: bool, mode: str) -> Any:
        """From the arrays."""
        x = cls(**{name: np.zeros((2 if name == "noticed" else 12, 0)) for name in ("noticed", "worst")} | given)
        x.clock = SimpleNamespace(**dict(zip(CLOCK, x.clock, strict=True)))
        x.rules = named_rules(x.rules, has_floor=floor, mode=mode)
        x.rules.jerk = x.rules.jerk if jerk else None
        x.b = SimpleNamespace(
            **dict(zip(("lower", "upper", "velocity", "acceleration", "effort"), x.bounds, strict=True))
        )
        x.stopping = x.clock.stop + x.told[TOLD.index("stale")] > 0
        x.held = x.stopping | (x.told[TOLD.index("waiting")] > 0)
        return x


def boxed(
    model: Model, layout: Layout | None, torque: bool, floor: bool, jerk: bool, mode: str, **inputs: Array
) -> dict[str, Any]:
    """What is wanted, and what the joints can do; inputs as in limiter.py."""
    x = Inputs.of(inputs, floor=floor, jerk=jerk, mode=mode)
    b, rules = x.b, x.rules
    wanted, rest, last, dt = x.wanted, np.zeros(model.n), x.last, x.clock.dt
    carried: dict[str, Any] = {}
    if torque:
        M = whole("mass_matrix", "crba")(model, x.q)
        bias = whole("bias_torque", "rnea")(model, x.q, x.qd)
        held = bias + friction_torque(model, x.qd)
        last, dt = x.qd, rules.period
        free = last + cholesky_solve(M, x.tau - held) * dt
        rest, wanted = x.qd * maximum(1.0 - rules.hold_damping * dt, 0.0), free
        carried = {"M": M, "bias": bias, "carried": held}
    wanted = vector(*(where(x.held, still, w) for still, w in zip(rest, wanted, strict=True)))
    distance, people = _distances(layout, x)
    pace = where(distance > 0, 1.0, rules.retreat_fraction)
    slower = _scale(wanted, b.velocity * pace)
    promptness: Any = 1.0
    if layout is not None:
        part = largest(x.noticed[1]) / rules.evasion_speed
        urgent = part * part  # from 0, nobody is to be evaded, to 1, at full speed
        follows = dt + rules.evasion_time * (1.0 - urgent)
        promptness = dt / where(follows > 0.0, follows, 1.0)
        if rules.jerk is not None:
            rules.jerk = rules.jerk * (1.0 + URGENT * urgent)
    box = joint_box(x.q, last, x.change, b, rules, dt, pace)
    found = {"desired": wanted, "known": vector(slower, distance, people), "lowest": box.low, "highest": box.up}
    return found | {"terms": vector(box.left, box.rest, box.stopping, promptness)} | carried


def asked(
    model: Model, layout: Layout | None, torque: bool, floor: bool, jerk: bool, mode: str, **inputs: Array
) -> dict[str, Any]:
    """The wish: what the joints can do of what is wanted, and can stop in the time that people leave."""
    x = Inputs.of(inputs, floor=floor, jerk=jerk, mode=mode)
    b, last, (left, rest, stopping, promptness) = x.b, x.qd if torque else x.last, x.terms
    box = Box(x.lowest, x.highest, last, left, rest, stopping)
    drawn_in: Any = 0.0
    if layout is not None:
        time = least([stopping, *(x.time[0] if "time" in inputs else ())])
        drawn_in = where(time < stopping, 1.0, 0.0)  # for people
        dt = x.rules.period if torque else x.clock.dt
        box = box.within(b.acceleration * x.rules.stop_factor, time, dt)
    slower, distance, people = x.known
    wish = _reached(last, x.desired * slower, box)
    found = {"wish": wish, "ramp": box.ramp, "facts": vector(slower, distance, people, drawn_in)}
    if layout is None:
        return found | {"lack": vector(0.0, NO_MARGIN)}
    moves = CapsuleMotion.of(model, layout, forward_kinematics(model, x.q), wish)
    return found | {
        "low": _each(minimum, box.low, box.ramp) / b.velocity,
        "up": _each(maximum, box.up, box.ramp) / b.velocity,
        "start": wish / b.velocity,
        "moves": np.array([[*moves.a[i], *moves.along[i]] for i in moving(layout)] or [[0.0] * 6]),
        "timing": vector(box.stopping, promptness, where(box.cornered, 1.0, 0.0)),
    }


def weighed(
    model: Model, layout: Layout, torque: bool, floor: bool, jerk: bool, mode: str, **inputs: Array
) -> dict[str, Any]:
    """What the wish lacks of the rows at most, more than 0 if it violates any; and the margin (m/s)."""
    x = Inputs.of(inputs, floor=floor, jerk=jerk, mode=mode)
    margin = least([NO_MARGIN, *(x.margin[0] if "margin" in inputs else ())])
    return {"lack": vector(contacts(model, layout, x, x.rules).most_lacking, margin)}


def rowed(
    model: Model, layout: Layout, torque: bool, floor: bool, jerk: bool, mode: str, **inputs: Array
) -> dict[str, Any]:
    """The rows, and what the wish lacks of them at most."""
    x = Inputs.of(inputs, floor=floor, jerk=jerk, mode=mode)
    certified = x.timing[2] <= 0.0
    rows = posed(model, layout, contacts(model, layout, x, x.rules), x.b.velocity, x.rules, certified)
    return {
        "rows": np.array([Constraint(row.a * x.b.velocity, *row[1:]).numbers for row in rows]),
        "violated": vector(largest(row.lack for row in rows)),
    }


def picked(promises: int, rows: Array, start: Array, low: Array, up: Array) -> dict[str, Any]:
    """The rows that are solved for, as a Problem and then as a Tableau has them, and their kinds.

    The first so many rows are people's.
    """
    best = chosen([Constraint.of(row) for row in rows], promises)
    A, (need, yields, kinds) = (
        np.array([row.a for row in best]),
        (vector(*numbers) for numbers in zip(*((row.need, row.yields, row.kind) for row in best), strict=True)),
    )
    tableau = opened(Problem(start, low, up, A, need, yields))
    given = {name: getattr(tableau, name) for name in GIVEN}
    return given | {"A": A, "need": need, "yields": yields, "kinds": kinds}


def given(
    model: Model,
    layout: Layout | None,
    torque: bool,
    floor: bool,
    jerk: bool,
    mode: str,
    solved: bool = False,
    **inputs: Array,
) -> dict[str, Any]:
    """The command: the wish or, `solved`, what became of it, pulled back; braked, as torques; what is told about it."""
    x = Inputs.of(inputs, floor=floor, jerk=jerk, mode=mode)
    b, rules, ramp = x.b, x.rules, x.ramp
    slower, distance, people, drawn_in = x.facts
    frames = forward_kinematics(model, x.q)
    human: Any = 1.0
    evading: Any = 0.0
    part: Any = 1.0
    v, margin = x.wish, x.lack[1]
    if solved and layout is not None:
        price = x.price[:ROWS]
        paid = {k: largest(where(kind == k, p, 0.0) for kind, p in zip(x.kinds, price, strict=True)) for k in KINDS}
        best = _each(minimum, _each(maximum, x.at[ROWS:], x.low), x.up) * b.velocity
        if "met" in inputs:
            order = Lanes(layout).order
            x.promise, x.allowed = x.promise.T[order], x.allowed.reshape(ENDS, -1).T[order]
            x.runs = x.met.reshape(len(MET), -1)[RUNS].T[order]
        v, part, margin = pulled_back(model, layout, frames, best, ramp, x)
        human = where((paid[PEOPLE] > 0.0) | (part < 1.0), _part(v, x.wish), 1.0)
        evading = paid[EVASION]
    v = vector(*(where(x.held, r, s) for r, s in zip(ramp, v, strict=True)))
    v, free = _braked(v, x.q, b, rules.horizon)
    off = _largest((v - x.desired * slower) / b.velocity)
    human = where((drawn_in > 0.0) & (off > UNTOUCHED), minimum(human, _part(v, x.desired * slower)), human)
    limit = minimum(minimum(slower, free), where((off > UNTOUCHED) & (human >= 1) & (evading <= 0), 0.0, 1.0))
    tau: Array = np.zeros(model.n)
    last = x.last
    if torque:
        last = x.qd
        again = x.M @ ((v - x.qd) / rules.period) + x.carried
        touched = x.held | (off > 0.0) | (slower < 1)
        tau = vector(*(where(touched, new, old) for new, old in zip(again, x.tau, strict=True)))
        tau, within = _bounded_torque(tau, x.bias, b.effort)
        limit = minimum(limit, within)
    tool = frames.point(model.n - 1, model.tool[:3, 3])
    J = jacobian_at(model, frames, model.n - 1, tool)
    tool_velocity = np.concatenate([J.Jv @ v, J.Jw @ v])
    size = summed([value * value for value in (*v, *tau)])
    speed = _largest(x.qd / b.velocity)
    marks = summed(x.told[: TOLD.index("age")])
    calm = (size < HUGE) & (human >= 1) & (limit >= 1) & (distance > 0) & (x.clock.stop + marks <= 0)
    calm = calm & (speed <= rules.overspeed) & (people >= rules.stop_distance) & (evading <= 0)
    summary = [where(calm, 0.0, 1.0), human, limit, speed, _largest(x.qd), _largest(v), distance, people, size, marks]
    summary += [evading, 1.0 - part, margin]
    age = x.told[TOLD.index("age")]
    record = [x.clock.t, x.clock.dt, age, *x.q, *x.qd, *x.desired, *v, *tau, *tool_velocity, distance, people]
    results = {"qd": v, "q": x.q + v * x.clock.dt, "tau": tau, "tool_velocity": tool_velocity, "change": v - last}
    return results | {"summary": vector(*summary), "record": vector(*record, human, limit, margin, 0.0)}
