"""The filter's stages: from the speeds that a controller wants to those that the arm may have; limiter.py runs them.

    boxed     what is wanted, all joints slowed by one factor to their velocity limits (to `retreat_fraction` of them
              while the arm overlaps something); and the joints' box (joint_speed_limits.py)
    asked     the wish: as much of the change as the joints can make together in this cycle, within the box
    weighed   what the wish lacks of the rows that it may violate (rows.py), and the margin
    rowed     those rows, where it lacks anything
    picked    the worst of them, as the problem that solver.py solves (picked_rows.py)
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

Data about people that are stale make every command a stop, and an arm that waits for its first data wants nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ....algebra import Condition, Port, Scalar, absolute, maximum, minimum, where
from ....algebra.functions import largest, least, summed
from ....algebra.linalg import Array, cholesky_solve, vector
from ....compile import compiled
from ....compile.kernel import Kernel
from ....dynamics import whole
from ....dynamics.drives import friction_torque
from ....dynamics.kinematics import forward_kinematics, jacobian_at
from ....geometry.distance import DISTANCE
from ....model import Model
from ...control.command import HUGE
from ...control.pushes import WIDTH, PairLayout
from ..limits import RULES, Bounds, FilterRules
from ..perception import CLOCK, TOLD, Clock, Told
from .approach_speed import (
    ENDS,
    NO_MARGIN,
    OPENINGS,
    ROUNDING,
    SINGLE_ROUNDING,
    WORST,
    PairBounds,
    lane_kernels,
    pulled_back,
    ramp_speeds,
)
from .body_regions import mobilities
from .capsule_motion import CapsuleMotion, Lanes, capsule_motions, moving
from .joint_speed_limits import Box, bounded_torque, braked, joint_box, reached, scale
from .picked_rows import solving_kernels
from .rows import (
    EVASION,
    KINDS,
    OWN,
    PEOPLE,
    ROWS,
    Constraint,
    MotionLimit,
    RowCandidates,
    limit_rows,
    people_rows,
    posed,
    row_candidates,
)

CHAIN = ("move", "measure", "notice", "box", "bear", "meet", "ask", "compare", "weigh")  # the stages of every cycle
COMMON = ("q", "qd", "last", "tau", "bounds", "clock", "told", "rules")
CARRIED = ("M", "bias", "carried")  # of a controller that makes torques
URGENT = 4.0  # how much faster an acceleration may change where evasion is most urgent
SLOWED = 1.0 - 1e-9  # the most that is left of a wish that was slowed
UNTOUCHED = 1e-9  # of a velocity limit: a command that differs by less is the one that was wanted
NOBODY = 1e5  # m: the distance where there is no obstacle to be measured to
NOTHING: Array = np.zeros(0)
NO_LANES: Array = np.zeros((1, 0))
NOT_NOTICED: Array = np.zeros((2, 0))
NO_WORST: Array = np.zeros((2 * len(WORST), 0))


class Summary(NamedTuple):
    """What was done to a command, in numbers, or in expressions while it is traced."""

    attention: Any  # 0: nothing of all this has happened; else 1, also if the command is not finite
    human_scale: Any
    limit_scale: Any  # least of the factors of velocity, acceleration and torque; 0 where a joint was braked
    overspeed: Any  # greatest measured speed, in velocity limits
    fastest: Any  # greatest measured speed
    commanded: Any  # greatest commanded speed
    distance: Any
    people_distance: Any
    size: Any  # of the command, squared: not a number if any part of it is not
    marks: Any  # what was reported about people, counted
    evading: Any  # m/s, by which the filter adds to an evasion
    pulled: Any  # 1 - the part of the solution that the promise to all pairs left
    margin: Any  # m/s: what the worst pair with a person leaves of what is allowed


SUMMARY = Summary._fields


class FilterStructure(NamedTuple):
    """The choices that decide which programs the filter has."""

    layout: PairLayout | None  # of the pair table, None where a controller has none
    torque: bool
    floor: bool
    jerk: bool
    mode: str
    limits: tuple[MotionLimit, ...] = ()  # of one's own
    own: int = 0  # how many rows these have

    @property
    def solved_for(self) -> int:
        """How many rows the solver has."""
        return ROWS + self.own

    @property
    def with_pairs(self) -> PairLayout:
        """The layout, for stages that are there only where it is."""
        assert self.layout is not None
        return self.layout

    @property
    def lanes(self) -> Lanes | None:
        """Where the pairs with people lie, if there are any."""
        layout = self.layout
        return Lanes(layout) if layout is not None and layout.people and moving(layout) else None


class StageInputs(NamedTuple):
    """The inputs of a stage by name; what a stage does not take is empty.  limiter.py says where each comes from."""

    q: Array  # (n,)
    qd: Array
    last: Array  # (n,) the command before
    tau: Array
    b: Bounds
    clock: Clock
    told: Told
    rules: FilterRules
    held: Condition  # whether the arm may not go on: it stops, or waits for its first data
    wanted: Array = NOTHING  # (n,) what the controller asks for
    change: Array = NOTHING  # (n,) of the last command
    pairs: Array = NOTHING  # (P, 13) as predicted
    noticed: Array = NOT_NOTICED  # (2, lanes) of every lane
    desired: Array = NOTHING  # (n,) what is wanted, or a standstill
    known: Array = NOTHING  # (3,) factor to the velocity limits, least distance, least distance to a person
    lowest: Array = NOTHING  # (n,) of the joints' box, as highest
    highest: Array = NOTHING
    terms: Array = NOTHING  # (4,) of the ramp: part left, time (s), the box's time (s); how promptly evasion follows
    time: Array = NO_LANES  # (1, lanes) s, for which the ramp is allowed
    wish: Array = NOTHING  # (n,)
    ramp: Array = NOTHING  # (n,) the next command of a stop
    facts: Array = NOTHING  # (4,) as known, and whether people drew the box in
    moves: Array = NOTHING  # (C, 6) how the wish moves the capsules
    timing: Array = NOTHING  # (3,) time to stop (s), how promptly evasion follows, whether the ramp is uncertified
    worst: Array = NO_WORST  # (12, lanes) of every lane
    margin: Array = NO_LANES  # (1, lanes) m/s
    lack: Array = NOTHING  # (2,) what the wish lacks most, and its margin
    low: Array = NOTHING  # (n,) in velocity limits, as up and start
    up: Array = NOTHING
    start: Array = NOTHING
    at: Array = NOTHING  # (solved_for + n,) of the solver, as price
    price: Array = NOTHING
    kinds: Array = NOTHING  # (solved_for,)
    promise: Array = NOTHING  # (21, columns), as allowed, which is (steps, lanes) to others
    allowed: Array = NOTHING
    M: Array = NOTHING  # (n, n) of a controller that makes torques, as the next two
    bias: Array = NOTHING  # (n,)
    carried: Array = NOTHING  # (n,) bias and friction

    @classmethod
    def of(
        cls, s: FilterStructure, bounds: Array, clock: Array, told: Array, rules: Array, **others: Array
    ) -> StageInputs:
        """From a kernel's arrays."""
        named = FilterRules(*rules)._replace(has_floor=s.floor, mode=s.mode)
        named = named if s.jerk else named._replace(jerk=None)
        now, people = Clock(*clock), Told(*told)
        held = (now.stop + people.stale > 0) | (people.waiting > 0)
        return cls(b=Bounds(*bounds), clock=now, told=people, rules=named, held=held, **others)


# ---- the stages
def _distances(layout: PairLayout | None, x: StageInputs) -> tuple[Scalar, Scalar]:
    """The least distance to anything, and to a person as last seen."""
    if layout is None:
        return where(x.clock.overlap > 0, 0.0, NOBODY), NOBODY
    persons = layout.people * layout.person_capsules
    # what stands on the base touches it for ever
    slots = [layout.pair(i, slot) for i in moving(layout) for slot in range(persons, layout.slots)]
    people = least([NOBODY, *x.noticed[0]])
    return least([people, *(x.pairs[k][DISTANCE] for k in slots)]), people


def _part(v: Array, wanted: Array) -> Scalar:
    """How much of a wish is left, along it, below 1; 1 where nothing was wanted."""
    size = summed(wanted * wanted)
    left = minimum(maximum(summed(v * wanted) / where(size > 0.0, size, 1.0), 0.0), SLOWED)
    return where(size > 0.0, left, 1.0)


def _each(choose: Callable[[Scalar, Scalar], Scalar], a: Array, b: Array) -> Array:
    return vector(*(choose(x, y) for x, y in zip(a, b, strict=True)))


def _largest(values: Array) -> Scalar:
    top: Scalar = 0.0
    for value in values.tolist():
        top = maximum(top, absolute(value))
    return top


def boxed(s: FilterStructure, model: Model, **inputs: Array) -> dict[str, Array]:
    """What is wanted, and what the joints can do; inputs as in limiter.py."""
    x, layout = StageInputs.of(s, **inputs), s.layout
    b, rules = x.b, x.rules
    wanted, rest, last, dt = x.wanted, np.zeros(model.n), x.last, x.clock.dt
    carried: dict[str, Array] = {}
    if s.torque:
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
    slower = scale(wanted, b.velocity * pace)
    promptness: Scalar = 1.0
    if layout is not None:
        part = largest(x.noticed[1]) / rules.evasion_speed
        urgent = part * part  # from 0, nobody is to be evaded, to 1, at full speed
        follows = dt + rules.evasion_time * (1.0 - urgent)
        promptness = dt / where(follows > 0.0, follows, 1.0)
        if rules.jerk is not None:
            rules = rules._replace(jerk=rules.jerk * (1.0 + URGENT * urgent))
    box = joint_box(x.q, last, x.change, b, rules, dt, pace)
    found = {"desired": wanted, "known": vector(slower, distance, people), "lowest": box.low, "highest": box.up}
    return found | {"terms": vector(box.left, box.rest, box.stopping, promptness)} | carried


def asked(s: FilterStructure, model: Model, **inputs: Array) -> dict[str, Array]:
    """The wish: what the joints can do of what is wanted, and can stop in the time that people leave."""
    x, layout = StageInputs.of(s, **inputs), s.layout
    b, last, (left, rest, stopping, promptness) = x.b, x.qd if s.torque else x.last, x.terms
    box = Box(x.lowest, x.highest, last, left, rest, stopping)
    drawn_in: Scalar = 0.0
    if layout is not None:
        time = least([stopping, *x.time[0]])
        drawn_in = where(time < stopping, 1.0, 0.0)  # for people
        dt = x.rules.period if s.torque else x.clock.dt
        box = box.within(b.acceleration * x.rules.stop_factor, time, dt)
    slower, distance, people = x.known
    wish = reached(last, x.desired * slower, box)
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


def _candidates(s: FilterStructure, model: Model, x: StageInputs) -> RowCandidates:
    found = row_candidates(model, s.with_pairs, x.rules, x.q, x.moves, x.worst, x.pairs)
    if not s.limits:
        return found
    given = x.wish, x.b.velocity, 1.0 / (OWN * x.rules.thing_weight), x.held
    return found._replace(limits=limit_rows(model, found.frames, x.q, s.limits, *given))


def weighed(s: FilterStructure, model: Model, **inputs: Array) -> dict[str, Array]:
    """What the wish lacks of the rows at most, more than 0 if it violates any; and the margin (m/s)."""
    x = StageInputs.of(s, **inputs)
    margin = least([NO_MARGIN, *x.margin[0]])
    return {"lack": vector(_candidates(s, model, x).most_lacking, margin)}


def rowed(s: FilterStructure, model: Model, **inputs: Array) -> dict[str, Array]:
    """The rows, and what the wish lacks of them at most."""
    x, layout = StageInputs.of(s, **inputs), s.with_pairs
    certified = x.timing[2] <= 0.0
    rows = posed(model, layout, _candidates(s, model, x), x.b.velocity, x.rules, certified)
    return {
        "rows": np.array([Constraint(row.a * x.b.velocity, *row[1:]).numbers for row in rows]),
        "violated": vector(largest(row.lack for row in rows)),
    }


def given(
    s: FilterStructure, model: Model, *, solved: bool = False, rounding: float = ROUNDING, **inputs: Array
) -> dict[str, Array]:
    """The command: the wish or, `solved`, what became of it, pulled back; braked, as torques; and a summary."""
    x, layout = StageInputs.of(s, **inputs), s.layout
    b, rules, ramp = x.b, x.rules, x.ramp
    slower, distance, people, drawn_in = x.facts
    frames = forward_kinematics(model, x.q)
    human: Scalar = 1.0
    evading: Scalar = 0.0
    part: Scalar = 1.0
    v, margin = x.wish, x.lack[1]
    if solved and layout is not None:
        price = x.price[: s.solved_for]
        paid = {k: largest(where(kind == k, p, 0.0) for kind, p in zip(x.kinds, price, strict=True)) for k in KINDS}
        best = _each(minimum, _each(maximum, x.at[s.solved_for :], x.low), x.up) * b.velocity
        pairs = PairBounds(NOTHING, NOTHING, NOTHING)
        if "allowed" in inputs:
            order = Lanes(layout).order
            promise, allowed = x.promise.T[order], x.allowed.reshape(ENDS, -1).T[order]
            runs = [ramp_speeds(pair[OPENINGS], x.terms[0]) for pair in promise]
            pairs = PairBounds(promise, allowed, np.array(runs))
        v, part, margin = pulled_back(model, layout, frames, best, ramp, pairs, rounding)
        human = where((paid[PEOPLE] > 0.0) | (part < 1.0), _part(v, x.wish), 1.0)
        evading = paid[EVASION]
    v = vector(*(where(x.held, stop, speed) for stop, speed in zip(ramp, v, strict=True)))
    v, free = braked(v, x.q, b, rules.horizon)
    off = _largest((v - x.desired * slower) / b.velocity)
    human = where((drawn_in > 0.0) & (off > UNTOUCHED), minimum(human, _part(v, x.desired * slower)), human)
    limit = minimum(minimum(slower, free), where((off > UNTOUCHED) & (human >= 1) & (evading <= 0), 0.0, 1.0))
    tau: Array = np.zeros(model.n)
    last = x.last
    if s.torque:
        last = x.qd
        again = x.M @ ((v - x.qd) / rules.period) + x.carried
        touched = x.held | (off > 0.0) | (slower < 1)
        tau = vector(*(where(touched, new, old) for new, old in zip(again, x.tau, strict=True)))
        tau, within = bounded_torque(tau, x.bias, b.effort)
        limit = minimum(limit, within)
    tool = frames.point(model.n - 1, model.tool[:3, 3])
    J = jacobian_at(model, frames, model.n - 1, tool)
    tool_velocity = np.concatenate([J.Jv @ v, J.Jw @ v])
    size = summed([value * value for value in (*v, *tau)])
    speed = _largest(x.qd / b.velocity)
    marks = summed(x.told[:-1])
    calm = (size < HUGE) & (human >= 1) & (limit >= 1) & (distance > 0) & (x.clock.stop + marks <= 0)
    calm = calm & (speed <= rules.overspeed) & (people >= rules.stop_distance) & (evading <= 0)
    summary = Summary(
        attention=where(calm, 0.0, 1.0),
        human_scale=human,
        limit_scale=limit,
        overspeed=speed,
        fastest=_largest(x.qd),
        commanded=_largest(v),
        distance=distance,
        people_distance=people,
        size=size,
        marks=marks,
        evading=evading,
        pulled=1.0 - part,
        margin=margin,
    )
    record = [x.clock.t, x.clock.dt, x.told.age, *x.q, *x.qd, *x.desired, *v, *tau, *tool_velocity, distance, people]
    results = {"qd": v, "q": x.q + v * x.clock.dt, "tau": tau, "tool_velocity": tool_velocity, "change": v - last}
    return results | {"summary": vector(*summary), "record": vector(*record, human, limit, margin, 0.0)}


# ---- kernels
def given_in_single(model: Model, s: FilterStructure, inputs: Iterable[Port]) -> Kernel:
    """The kernel of a command that was solved for, for lanes in single precision; its inputs are those of the other."""
    function = partial(given, s, solved=True, rounding=SINGLE_ROUNDING)
    return compiled(function, model, {p.name: p.shape for p in inputs}, name="give_solved")


def kernels(model: Model, s: FilterStructure) -> dict[str, Kernel]:
    """The kernels of CHAIN, those of the two ways to give a command, and that of the rows."""
    n, lanes = model.n, s.lanes
    shapes: dict[str, tuple[int, ...]] = {
        "q": (n,),
        "qd": (n,),
        "last": (n,),
        "tau": (n,),
        "bounds": (5, n),
        "clock": (len(CLOCK),),
        "told": (len(TOLD),),
        "rules": (len(RULES),),
        "speed": (n,),
        "wanted": (n,),
        "change": (n,),
        "pairs": (1 if s.layout is None else len(s.layout.pairs), WIDTH),
        "at": (s.solved_for + n,),
        "price": (s.solved_for + n,),
        "kinds": (s.solved_for,),
    }
    known: dict[str, Kernel] = {}

    def add(name: str, kernel: Kernel) -> None:
        known[name] = kernel
        shapes.update((p.name, p.shape) for p in kernel.signature.outputs)

    def scalar(name: str, function: Callable[..., dict[str, Array]], *inputs: str) -> None:
        add(name, compiled(function, model, {k: shapes[k] for k in inputs}, name=name))

    with_pairs = () if s.layout is None else ("pairs",)
    if lanes is not None:
        scalar("move", partial(_moved, s), "q", "speed")
        in_lanes = lane_kernels(lanes, s.mode)
        add("measure", in_lanes["measure"])
        add("notice", in_lanes["notice"])
    scalar("box", partial(boxed, s), *COMMON, "wanted", "change", *with_pairs, *(("noticed",) if lanes else ()))
    made = [p.name for p in known["box"].signature.outputs]
    if lanes is not None:
        if s.mode != "separation":
            scalar("bear", partial(_borne, s), "q", "promise")
        add("meet", in_lanes["meet"])
    found = *COMMON, *(k for k in made if k not in CARRIED)
    scalar("ask", partial(asked, s), *found, *(("time",) if lanes else ()))
    if lanes is not None:
        add("compare", in_lanes["compare"])
    if s.layout is not None:
        near = *COMMON, "pairs", "moves", "timing", *(("worst",) if lanes else ()), *(("wish",) if s.limits else ())
        scalar("weigh", partial(weighed, s), *near, *(("margin",) if lanes else ()))
        scalar("row", partial(rowed, s), *near)
    takes = *COMMON, *(k for k in made if k in (*CARRIED, "desired")), "facts", "wish", "ramp", "lack"
    scalar("give", partial(given, s), *takes)
    if s.layout is not None:
        more = "low", "up", "at", "price", "kinds", *(("terms", "promise", "allowed") if lanes else ())
        scalar("give_solved", partial(given, s, solved=True), *takes, *more)
        known |= solving_kernels(n, shapes["rows"][0], people_rows(s.layout), s.own)
    return known


def _moved(s: FilterStructure, model: Model, q: Array, speed: Array) -> dict[str, Array]:
    return {"motion": capsule_motions(model, s.with_pairs, q, speed)}


def _borne(s: FilterStructure, model: Model, q: Array, promise: Array) -> dict[str, Array]:
    assert s.lanes is not None
    found = mobilities(model, s.lanes.layout, q, promise)
    return {"mobility": found.reshape(s.lanes.steps, s.lanes.count)}
