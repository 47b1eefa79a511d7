"""The safety filter: of all commands from which the arm can still stop in time, the one nearest to what is wanted.

    minimise    1/2 sum_j ((v_j - wish_j) / V_j)^2 + sum_k (r_k / 2) s_k^2             V: the joints' velocity limits
    joints      low <= v <= up                                                         never yields: it is physics
    people      u_k <= allowed_k                                                       the promise
    things, floor, the arm itself      -u_k + s_k >= -g (d_k - d_s)                    yields before people do
    evasion     -u_k + s_k >= w_k - g (d_k - d_s)                                      yields first

u_k = -a_k . v is the speed at which the arm's own motion closes pair k, a_k = n_k^T J_k at its nearest point; w_k is
the speed at which the person comes.

**The promise** is that of the stop ramp: from every command the arm can run down along its own direction, within the
stop's acceleration, and stand before a person who moves no faster than `pace` is reached.  With T_r the reaction time
(the command lasts until the next one, drives are late), T_s the time that the ramp takes from the worst corner of this
cycle's box, d_k the distance to the body last seen, grown by its age, and C what both positions may err by:

    allowed_k = max(creep, (d_k - C - pace_k (T_r + T_s)) / (T_r + T_s / 2))          mode "separation"
    allowed_k = v_k, what contact bears (contact.py), or as above where none is borne     mode "power_and_force"
    allowed_k = the greater of the two                                                   mode "both"

Slower than `creep` a link may drift towards somebody, and slower than a quarter of it into somebody who, as last seen,
is touched: else a hand that comes would hold the arm fast.

The ramp's next command is always allowed, whatever the rows say: it was certified when the motion was.  But it was for
a ramp that ends when the last one would have.  A bound that were raised to what the ramp does, for speeds
whose own ramps last longer, would promise nothing.  So the box is drawn in first: T_s is the longest time for which no
bound lies below what the ramp does, at least the ramp's own (`stopping_time`), and no joint is faster than it can stop
in T_s.  Only where the ramp itself was not certified, as when somebody appears, is a bound raised to it, and then no
joint is faster than the ramp has it.

`posed` writes the rows, one for each link, person and kind: that of the pair which the wish violates most.  `chosen`
keeps the worst of them, `nearest` solves by a fixed number of steps of a dual active-set method (`pivot`), and
`pulled_back` looks at all pairs again and goes back towards the ramp as far as any of them asks for.  Nothing branches,
so the same text runs for one state, in lanes, as C and on a card.  A step that finds nothing to do changes no bit: the
others may be left out then, and all of them where the wish violates no row.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from ...algebra import absolute, cross, dot, maximum, minimum, sqrt, where
from ...algebra.linalg import Array, is_constant, ltdl, vector
from ...dynamics import whole
from ...dynamics.kinematics import Frames, accelerations, forward_kinematics, jacobian_at, velocities
from ...geometry.distance import DISTANCE, LAMBDA_X, LAMBDA_Y, NORMAL, SPEED_Y
from ...model import Model
from ..control.pairs import CLOSE, HELD, Layout
from .contact import contact_speed
from .separation_speed import braking_speed

STEPS, ROUNDS = 4, 10  # of the solver: steps in a round, and rounds at most; one is mostly enough
SLACK = 1e-10  # of a constraint's grip: what it yields by, so that constraints which depend on others do no harm
MET = 1e-9  # of a velocity limit: what is violated by less is met
STILL = 1e-12  # a price that falls more slowly does not fall
NONE = -1.0  # no constraint
ENDLESS = 1e6  # velocity limits: rows have no upper bound
TOUCHED = 0.25  # of creep: what is let be towards somebody who is touched, or two of them would hold the arm for ever
CLOSING = 1e-6  # m/s: a ramp that closes a pair more slowly does not close it
CAPABLE = 0.5  # of the greatest speed that a point can be given: evasion asks for no more
ROWS, OF_PEOPLE = 10, 4  # rows that are solved for, and how many of them hold people's promise
TIGHTER = 0.005  # m/s: what people's rows are tightened by, so that steps that end early still keep the promise
NO_GRIP = 1e-9  # (m/s)^2: a row that joints at full speed move by less is left alone
KINDS = PEOPLE, EVASION, THINGS = 1.0, 2.0, 3.0
FAR = 1e4  # m: a pair farther apart is one with nobody
FREE = -1e3  # m/s: a row that needs no more than this asks for nothing
UP = np.array([0.0, 0.0, 1.0])
NO_MARGIN = 1e3  # m/s: where there is nobody
ROUNDING = 1e-9  # m/s: what is more by less is the same; else a bound that the ramp itself sets would brake for nothing


def largest(values: Any) -> Any:
    """The greatest of some numbers, at least 0."""
    top: Any = 0.0
    for value in values:
        top = maximum(top, value)
    return top


def summed(values: Any) -> Any:
    """The sum in a tree: short chains of steps that wait for one another."""
    parts = list(values)
    while len(parts) > 1:
        parts = [parts[k] + parts[k + 1] if k + 1 < len(parts) else parts[k] for k in range(0, len(parts), 2)]
    return parts[0]


# ---- what the joints can do
class Box(NamedTuple):
    """What the joints can do in this cycle, and the ramp to a standstill from where they are: it may brake harder."""

    low: Array  # (n,)
    up: Array
    last: Array  # (n,) the command before
    left: Any  # the part of it that is the ramp's next command
    rest: Any  # s, that this one still takes
    stopping: Any  # T_s, s, from the worst corner

    def within(self, stop: Array, time: Any) -> Box:
        """What of it can be stopped in a time (s); where that is shorter than the ramp's, no joint exceeds the ramp."""
        lasting = maximum(time, self.rest)
        low, up = [], []
        for lo, hi, a, r in zip(self.low, self.up, stop, self.ramp, strict=True):
            most = a * lasting
            least, greatest = minimum(maximum(lo, -most), most), minimum(maximum(hi, -most), most)
            down, over = minimum(r, 0.0), maximum(r, 0.0)
            cornered = time < self.rest
            low.append(where(cornered, minimum(maximum(least, down), over), least))
            up.append(where(cornered, minimum(maximum(greatest, down), over), greatest))
        return self._replace(low=vector(*low), up=vector(*up), stopping=lasting)

    @property
    def ramp(self) -> Array:
        """(n,) its next command."""
        return self.last * self.left


def ramp(last: Array, stop: Array, dt: Any) -> tuple[Any, Any]:
    """What part of `last` (n,) the next command of the stop ramp is, and how long (s) that one still takes to stop.

    `stop` (n,) decelerates; directions stay.
    """
    duration = largest(absolute(v) / a for v, a in zip(last, stop, strict=True))
    rest = maximum(duration - dt, 0.0)
    return where(duration > 0.0, rest / where(duration > 0.0, duration, 1.0), 0.0), rest


def joint_box(q: Array, last: Array, change: Array, b: Any, rules: Any, dt: Any, pace: Any) -> Box:
    """The box of speeds: velocity, acceleration, change of acceleration, and the ends of the joints.

    Before a joint's end there is room to brake, and room for the ramp too, which brakes all joints in the same time:
    the joint goes on for the horizon and then half of T_s.  The latter gives way to the acceleration; the end does not.
    """
    stop = b.acceleration * rules.stop_factor
    low, up = [], []
    for j, v in enumerate(last):
        most, step = b.velocity[j] * pace, b.acceleration[j] * dt
        least, greatest = minimum(maximum(v - step, -most), v + step), maximum(minimum(v + step, most), v - step)
        if rules.jerk is not None:
            swing = rules.jerk * step * dt  # from the last change, or from none: ceasing to accelerate is always free
            least = maximum(least, minimum(v + minimum(change[j], 0.0) - swing, greatest))
            greatest = minimum(greatest, maximum(v + maximum(change[j], 0.0) + swing, least))
        low.append(least)
        up.append(maximum(greatest, least))
    stopping = largest(maximum(absolute(x), absolute(y)) / a for x, y, a in zip(low, up, stop, strict=True))
    lasting = rules.horizon + 0.5 * stopping
    for j in range(len(low)):
        room, behind = (maximum(margin, 0.0) for margin in (b.upper[j] - q[j], q[j] - b.lower[j]))
        forth, back = (braking_speed(margin, b.acceleration[j], rules.horizon) for margin in (room, behind))
        least, greatest = low[j], up[j]
        up[j] = minimum(greatest, maximum(room / lasting, least))
        low[j] = maximum(least, minimum(-behind / lasting, greatest))
        up[j], low[j] = minimum(maximum(up[j], -back), forth), maximum(minimum(low[j], forth), -back)
    return Box(vector(*low), vector(*up), last, *ramp(last, stop, dt), stopping)


# ---- rows
class Constraint(NamedTuple):
    """a . v >= need; `yields` is 1/r of its slack, 0 for a row that does not yield."""

    a: Array  # (n,)
    need: Any
    yields: Any
    kind: Any  # PEOPLE, EVASION or THINGS
    lack: Any  # need - a . wish

    @property
    def numbers(self) -> list[Any]:
        """All of it in a list; `Constraint.of` is the way back."""
        return [*self.a, self.need, self.yields, self.kind, self.lack]

    @classmethod
    def of(cls, numbers: Any) -> Constraint:
        """From `numbers`."""
        return cls(vector(*numbers[:-4]), *numbers[-4:])


class CapsuleMotion(NamedTuple):
    """How some joint speeds move the ends of the arm's capsules, by capsule: (3,) each, of a, and of b less a."""

    a: list[Array]
    along: list[Array]

    @classmethod
    def of(cls, model: Model, layout: Layout, frames: Frames, speed: Array) -> CapsuleMotion:
        """By the links' velocities."""
        omega, v = velocities(model, frames, speed)
        starts, differences = [], []
        for capsule in layout.capsules:
            link = capsule.link
            if link < 0:
                starts.append(np.zeros(3))
                differences.append(np.zeros(3))
                continue
            a, b = (frames.R[link] @ np.array(end) for end in (capsule.a, capsule.b))
            starts.append(v[link] + cross(omega[link], a))
            differences.append(cross(omega[link], b - a))
        return cls(starts, differences)

    def opening(self, capsule: int, normal: Array, share: Any) -> Any:
        """The speed along a normal of the point that lies at `share` between the ends."""
        return dot(self.a[capsule] + self.along[capsule] * share, normal)


class Turning(NamedTuple):
    """How fast closing speeds grow while the joints go on as they are, by capsule: (3,) each."""

    a: list[Array]  # m/s^2, of the start, while no joint accelerates
    along: list[Array]  # the same of the end less the start
    axis: list[Array]  # m, from start to end
    motion: CapsuleMotion

    @classmethod
    def of(cls, model: Model, layout: Layout, frames: Frames, speed: Array, motion: CapsuleMotion) -> Turning:
        """By the links' accelerations."""
        omega, alpha, a = accelerations(model, frames, speed)
        starts, differences, axes = [], [], []
        for capsule in layout.capsules:
            link = capsule.link
            if link < 0:
                starts.append(np.zeros(3))
                differences.append(np.zeros(3))
                axes.append(np.array(capsule.b) - np.array(capsule.a))
                continue
            start, end = (frames.R[link] @ np.array(point) for point in (capsule.a, capsule.b))
            w, axis = omega[link], end - start
            starts.append(a[link] + cross(alpha[link], start) + cross(w, cross(w, start)))
            differences.append(cross(alpha[link], axis) + cross(w, motion.along[len(differences)]))
            axes.append(axis)
        return cls(starts, differences, axes, motion)

    def rate(self, capsule: int, length: float, normal: Array, share: Any, apart: Any) -> Any:
        """du/dt (m/s^2), at least 0, of the pair whose axes are `apart` (m); the nearest point slides along the link.

        u' = -n . a + max(0, apart (n . w x e)^2 + 2 (n . w x e) (v . e)),    e along the link, w its turning
        """
        pulled = -dot(self.a[capsule] + self.along[capsule] * share, normal)
        if length > 0.0:
            turned = dot(self.motion.along[capsule], normal) * (1.0 / length)
            slides = dot(self.motion.a[capsule] + self.motion.along[capsule] * share, self.axis[capsule])
            pulled = pulled + maximum(turned * (apart * turned + slides * (2.0 / length)), 0.0)
        return maximum(pulled, 0.0)


class Contact(NamedTuple):
    """A pair as a row needs it: where it is on the arm, its normal, and what is asked of it."""

    capsule: int
    share: Any
    normal: Array
    need: Any  # a . v >= need
    lack: Any  # need - a . wish: how much the wish violates it


def _row(
    model: Model,
    frames: Frames,
    ends: list[tuple[Array, Array]],
    link: int,
    contacts: list[Contact],
    yields: Any,
    kind: float,
    fastest: Array,
) -> Constraint:
    """The row of the contact that the wish violates most; what a link can hardly do is not asked of it."""
    alone = len({c.capsule for c in contacts}) == 1

    def place(c: Contact) -> list[Any]:
        a, b = ends[c.capsule]
        return [c.lack, c.need, *c.normal, *([c.share] if alone else a + (b - a) * c.share)]

    best = place(contacts[0])
    for contact in contacts[1:]:
        other = place(contact)
        best = [where(other[0] > best[0], new, old) for new, old in zip(other, best, strict=True)]
    lack, need, *rest = best
    normal, point = vector(*rest[:3]), vector(*rest[3:])
    if alone:
        a, b = ends[contacts[0].capsule]
        point = a + (b - a) * point[0]
    a = normal @ jacobian_at(model, frames, link, point).Jv
    if kind == EVASION:
        most = CAPABLE * summed([absolute(g) * v for g, v in zip(a, fastest, strict=True)])
        need, lack = minimum(need, most), lack - maximum(need - most, 0.0)
    return Constraint(a, need, yields, kind, lack)


def _end(frames: Frames, link: int, point: Any) -> Array:
    """Where a link has a point of its own; a link of -1 is the base."""
    return frames.point(link, np.array(point)) if link >= 0 else np.array(point)


class Posed(NamedTuple):
    """The problem of a cycle."""

    rows: list[Constraint]
    allowed: list[Any]  # of every pair of the promise: the greatest u
    runs: list[Any]  # and the u of the ramp
    margin: Any  # m/s: what the wish leaves of what is allowed, where that is least


class Met(NamedTuple):
    """A link's capsule and one of a person as last seen, before anything is wanted."""

    capsule: int
    slot: int
    normal: Array
    share: Any
    room: Any  # m, the distance less C
    pace: Any  # m/s, of the person
    run: Any  # m/s, u of the ramp
    floor: Any  # m/s, that is allowed at any distance
    apart: Any  # whether more is at a greater one
    touched: Any  # whether the two overlap, as last seen


class Scene(NamedTuple):
    """What both the time to stop and the rows need."""

    frames: Frames
    ends: list[tuple[Array, Array]]  # of the capsules
    last: CapsuleMotion  # of the last command
    met: list[Met]


def scene(model: Model, layout: Layout, box: Box, x: Any, rules: SimpleNamespace) -> Scene:
    """After the last command; x has `promise` (Q, 6) of the body last seen, `pace` (S, 2), and `bears` (S, 2).

    What is allowed is so now, and must be so along the ramp: as links turn, speeds towards somebody grow.  With w the
    rate at which they do and T the time, u + w t, run down to nothing, is greatest at (w T + u)^2 / (4 w T) and goes
    w T^2 / 6 farther.
    """
    frames = forward_kinematics(model, x.q)
    ends = [(_end(frames, c.link, c.a), _end(frames, c.link, c.b)) for c in layout.capsules]
    motion = CapsuleMotion.of(model, layout, frames, box.last)
    turning = Turning.of(model, layout, frames, box.last, motion)
    lengths = [float(np.linalg.norm(np.array(c.b) - np.array(c.a))) for c in layout.capsules]
    lasting = rules.reaction + box.stopping
    persons = layout.people * layout.person_capsules
    mobility = None if rules.mode == "separation" else _mobility(model, frames, x.q)
    met = []
    for m, i in enumerate(moving(layout)):
        for slot in range(persons):
            distance, normal, share, axes = _seen(x.promise[m * persons + slot])
            pace, grown = x.pace[slot]
            rate = turning.rate(i, lengths[i], normal, share, axes)
            touched = distance + grown <= 0.0
            creep, gain = rules.creep * where(touched, TOUCHED, 1.0), rate * lasting
            floor = where(gain > creep, 2.0 * sqrt(creep * gain) - gain, creep)
            apart: Any = True
            if mobility is not None:
                bears, inverse_mass = x.bears[slot]
                moves = mobility(layout.capsules[i].link, ends[i], normal, share)
                borne = maximum(contact_speed(bears, inverse_mass, moves), rules.creep)
                floor = where((bears > 0.0) & ~touched, borne, floor)  # for a contact that passes, not to press on
                apart = (bears <= 0.0) | touched if rules.mode == "power_and_force" else True
            run = -motion.opening(i, normal, share) * box.left
            room = distance - rules.clearance - gain * lasting * (1.0 / 6.0)
            met.append(Met(i, slot, normal, share, room, pace, run, floor, apart, touched))
    return Scene(frames, ends, motion, met)


def stopping_time(met: list[Met], box: Box, rules: SimpleNamespace) -> Any:
    """T_s, s: that of the box's worst corner, or the longest for which every pair lets the ramp be, and less than the
    ramp's own where some pair does not.

    room - pace (T_r + T_s) >= run (T_r + T_s / 2)   for the pairs whose run is not allowed at any distance
    """
    longest = box.stopping
    for pair in met:
        closes = pair.run > where(pair.touched, maximum(pair.floor, CLOSING), pair.floor)  # who opens may go on
        slower = where(closes, pair.pace + 0.5 * maximum(pair.run, 0.0), 1.0)
        enough = (pair.room - (pair.pace + pair.run) * rules.reaction) / slower
        longest = minimum(longest, where(closes, where(pair.apart, enough, -1.0), longest))
    return longest


def posed(model: Model, layout: Layout, seen: Scene, wish: Array, box: Box, x: Any, rules: SimpleNamespace) -> Posed:
    """All rows; x has `pairs` (P, 13) of the people predicted."""
    frames, ends, last, met = seen
    wanted = CapsuleMotion.of(model, layout, frames, wish)
    size = layout.person_capsules
    lasting, slower = rules.reaction + box.stopping, 1.0 / (rules.reaction + 0.5 * box.stopping)
    allowed, runs = [], []
    margin: Any = NO_MARGIN
    groups: dict[tuple[float, int, int], list[Contact]] = {}
    for pair in met:
        i, slot, normal, share = pair.capsule, pair.slot, pair.normal, pair.share
        group = layout.capsules[i].link, slot // size
        opening = wanted.opening(i, normal, share)
        room = pair.room - pair.pace * lasting
        most = maximum(maximum(where(pair.apart, room * slower, 0.0), pair.floor), pair.run)
        allowed.append(most)
        runs.append(pair.run)
        margin = minimum(margin, most + opening)
        need = -maximum(most - TIGHTER, pair.run)
        groups.setdefault((PEOPLE, *group), []).append(Contact(i, share, normal, need, need - opening))
        now = x.pairs[layout.pair(i, slot)]
        need = evasion(now, rules)
        had = last.opening(i, now[NORMAL], now[LAMBDA_X])
        need = minimum(need, had + rules.promptness * (need - had))
        need = where(now[DISTANCE] < FAR, need, FREE)
        lack = need - wanted.opening(i, now[NORMAL], now[LAMBDA_X])
        groups.setdefault((EVASION, *group), []).append(Contact(i, now[LAMBDA_X], now[NORMAL], need, lack))
    _near_things(layout, wanted, ends, x, rules, groups)
    yields = {PEOPLE: 0.0, EVASION: 1.0 / rules.evasion_weight, THINGS: 1.0 / rules.thing_weight}
    rows = [
        _row(model, frames, ends, link, contacts, yields[kind], kind, x.b.velocity)
        for (kind, link, _), contacts in sorted(groups.items())
    ]
    rows += _near_itself(model, layout, frames, wanted, ends, x, rules, yields[THINGS])
    rows = rows or [Constraint(np.zeros(model.n), FREE, 0.0, THINGS, FREE)]  # an arm that can meet nothing
    return Posed(rows, allowed, runs, margin)


def evasion(now: Array, rules: SimpleNamespace) -> Any:
    """The speed (m/s) at which a pair should open."""
    need = maximum(now[SPEED_Y], 0.0) - rules.evasion_gain * (now[DISTANCE] - rules.evasion_distance)
    return minimum(need, rules.evasion_speed)


def urgency(layout: Layout, pairs: Array, rules: SimpleNamespace) -> Any:
    """From 0, nobody is to be evaded, to 1, at full speed."""
    slots = range(layout.people * layout.person_capsules)
    needs = (evasion(pairs[layout.pair(i, slot)], rules) for i in moving(layout) for slot in slots)
    part = largest(needs) / rules.evasion_speed
    return part * part


def _mobility(model: Model, frames: Frames, q: Array) -> Callable[..., Any]:
    """a M^-1 a^T (1/kg) of the point between two ends of a link, along a normal."""
    L, D = ltdl(whole("mass_matrix", "crba")(model, q))
    weights = [1.0 / d for d in D]

    def at(link: int, ends: tuple[Array, Array], normal: Array, share: Any) -> Any:
        start, end = ends
        y = (normal @ jacobian_at(model, frames, link, start + (end - start) * share).Jv).tolist()
        for i in range(link, -1, -1):  # M = L^T D L: L^T y = a from the tip, then y . y / D
            for j in range(i):
                y[j] = y[j] - L[i, j] * y[i]
        return summed([x * x * w for x, w in zip(y, weights, strict=True)])

    return at


def people_rows(layout: Layout) -> int:
    """How many rows hold people's promise: one for each link that moves, and each person."""
    links = {layout.capsules[i].link for i in moving(layout)}
    return len(links) * layout.people


def moving(layout: Layout) -> list[int]:
    """The capsules that joints move."""
    return [i for i, capsule in enumerate(layout.capsules) if capsule.link >= 0]


def _seen(row: Array) -> tuple[Any, Array, Any, Any]:
    """Distance, normal, share and the distance of axes of a pair of the promise."""
    return row[0], row[1:4], row[4], row[5]


def _near_things(layout: Layout, wanted: CapsuleMotion, ends: Any, x: Any, rules: SimpleNamespace, groups: Any) -> None:
    """The contacts of each link with things and with the floor."""
    persons = layout.people * layout.person_capsules
    for i in moving(layout):
        capsule = layout.capsules[i]
        near = []
        for slot in range(persons, layout.slots):
            now = x.pairs[layout.pair(i, slot)]
            need = now[SPEED_Y] - rules.thing_gain * (now[DISTANCE] - rules.keep_off)
            need = where(now[DISTANCE] < FAR, need, FREE)
            lack = need - wanted.opening(i, now[NORMAL], now[LAMBDA_X])
            near.append(Contact(i, now[LAMBDA_X], now[NORMAL], need, lack))
        if rules.has_floor:
            for end, lifted in enumerate(layout.lifted[i]):
                if lifted:
                    height = ends[i][end][2] - capsule.radius - rules.floor
                    need = -rules.thing_gain * (height - rules.keep_off)
                    near.append(Contact(i, float(end), UP, need, need - wanted.opening(i, UP, float(end))))
        if near:
            groups.setdefault((THINGS, capsule.link, 0), []).extend(near)


def _near_itself(
    model: Model,
    layout: Layout,
    frames: Frames,
    wanted: CapsuleMotion,
    ends: Any,
    x: Any,
    rules: SimpleNamespace,
    yields: Any,
) -> list[Constraint]:
    """The worst pair of each outer link with the links before it."""
    first = layout.own * layout.slots
    meeting: dict[int, list[Constraint]] = {}
    for k, (i, j) in enumerate(layout.self_pairs):
        row = x.pairs[first + k]
        normal, shares = row[NORMAL], (row[LAMBDA_X], row[LAMBDA_Y])
        opening = wanted.opening(i, normal, shares[0]) - wanted.opening(j, normal, shares[1])
        near = layout.self_gaps[k] < CLOSE
        off = minimum(rules.keep_off, HELD * layout.self_gaps[k]) if near else rules.keep_off
        need = -rules.thing_gain * (row[DISTANCE] - off)
        grip: Array = np.zeros(model.n)
        for c, share, sign in zip((i, j), shares, (1.0, -1.0), strict=True):
            link, (a, b) = layout.capsules[c].link, ends[c]
            if link >= 0:
                grip = grip + sign * (normal @ jacobian_at(model, frames, link, a + (b - a) * share).Jv)
        meeting.setdefault(layout.capsules[j].link, []).append(Constraint(grip, need, yields, THINGS, need - opening))
    return [_worse(found) for found in meeting.values()]


def _worse(rows: list[Constraint]) -> Constraint:
    best = rows[0]
    for row in rows[1:]:
        worse = row.lack > best.lack
        best = Constraint.of([where(worse, new, old) for new, old in zip(row.numbers, best.numbers, strict=True)])
    return best


def chosen(rows: list[Constraint], promises: int) -> list[Constraint]:
    """The rows that are solved for: of the first so many, those of people, OF_PEOPLE, and of the others the rest."""
    nothing = [0.0] * len(rows[0].a) + [FREE, 0.0, THINGS, FREE]
    return _lacking(rows[:promises], OF_PEOPLE, nothing) + _lacking(rows[promises:], ROWS - OF_PEOPLE, nothing)


def _lacking(rows: list[Constraint], most: int, nothing: list[Any]) -> list[Constraint]:
    """The rows that the wish lacks most, the worst first; `most` of them in any case, filled up with `nothing`."""
    left = [row.numbers for row in rows]
    left += [nothing] * (most - len(left))
    if len(left) == most:
        return [Constraint.of(numbers) for numbers in left]
    found = []
    for _ in range(most):
        best = left[0]
        for k in range(1, len(left)):  # the worst so far goes on, the other stays behind
            worse = left[k][-1] > best[-1]
            both = [(where(worse, new, old), where(worse, old, new)) for new, old in zip(left[k], best, strict=True)]
            best, left[k - 1] = [new for new, _ in both], [old for _, old in both]
        left.pop()
        found.append(Constraint.of(best))
    return found


# ---- the solver
class Problem(NamedTuple):
    """A quadratic problem: the point nearest to `wish`, low <= x <= up, A x + s >= need, s cheap where a row yields."""

    wish: Array  # (n,)
    low: Array
    up: Array
    A: Array  # (K, n)
    need: Array  # (K,)
    yields: Array  # (K,) 1/r of the slack; 0: it does not yield


class Tableau(NamedTuple):
    """Where the solver is: the m constraints are the K rows and then the n joints, some of them held at their bound."""

    table: Array  # (m (m + 1) / 2,) lower triangle: how what is free answers to prices, and prices to what is held
    at: Array  # (m,) a . x + yields price of a row, the speed of a joint
    price: Array  # (m,) of a joint above 0 at its lower end, below 0 at its upper one
    side: Array  # (m,) 1: held at `low`; -1: at `high`; 0: not held
    entering: Array  # (1,) which constraint's price is on its way up, -1 for none
    low: Array  # (m,)
    high: Array
    weight: Array  # (m,) 1 / |a|, 0 for a row that no joint moves
    left: Array = np.ones(1)  # (1,) 0: the last step had nothing to do


GIVEN = Tableau._fields[:-1]  # what a step takes, and what it changes
CHANGED = ("table", "at", "price", "side", "entering", "left")


def opened(p: Problem) -> Tableau:
    """The tableau with nothing held: x is the wish."""
    n, K = len(p.wish), len(p.need)
    table, grips = [], []
    for i in range(K + n):
        for j in range(i + 1):
            dots = summed(p.A[i] * p.A[j]) if i < K else p.A[j][i - K] if j < K else float(i == j)
            if i == j:
                grips.append(dots)
                dots = dots * (1.0 + SLACK) + (p.yields[i] if i < K else 0.0)
            table.append(dots)
    at = [summed(a * p.wish) for a in p.A]
    weight = [where(g > NO_GRIP, 1.0 / sqrt(where(g > NO_GRIP, g, 1.0)), 0.0) for g in grips[:K]]
    nothing = np.zeros(K + n)
    return Tableau(
        vector(*table),
        vector(*at, *p.wish),
        nothing,
        nothing,
        np.array([NONE]),
        vector(*p.need, *p.low),
        vector(*[ENDLESS] * K, *p.up),
        vector(*weight, *[1.0] * n),
    )


def best(candidates: list[tuple[Any, ...]], better: Callable[..., Any]) -> tuple[Any, ...]:
    """The best of some tuples, in a tree: the first of equals."""
    while len(candidates) > 1:
        pairs = zip(candidates[::2], candidates[1::2], strict=False)
        found = [
            tuple(where(better(second, first), new, old) for new, old in zip(second, first, strict=True))
            for first, second in pairs
        ]
        candidates = found + candidates[2 * len(found) :]
    return candidates[0]


def _triangle(i: int, j: int) -> int:
    return i * (i + 1) // 2 + j if i >= j else j * (j + 1) // 2 + i


def _one_hot(index: Any, m: int) -> list[Any]:
    return [where(index == float(i), 1.0, 0.0) for i in range(m)]


def _column(table: Array, hot: list[Any]) -> list[Any]:
    """The column of the one constraint that is 1 in `hot`."""
    m = len(hot)
    return [summed([table[_triangle(i, j)] * hot[j] for j in range(m)]) for i in range(m)]


def pivot(s: Tableau) -> Tableau:
    """One step of the dual active-set method (Goldfarb and Idnani); nothing changes once no constraint is violated.

    The most violated constraint r has its price raised until it is met, then it is held; or until the price of one that
    is held has fallen to 0, then that one is let go and r goes on in the next step.  With prices as unknowns of what is
    held, and values of what is not, either is one sweep of a symmetric matrix S on its diagonal:

        S_dd -> -1 / S_dd,    S_id -> S_id / |S_dd|,    S_ij -> S_ij - S_id S_jd / S_dd
    """
    m = len(s.at)
    free = [side == 0.0 for side in s.side]
    over = [maximum(lo - x, x - hi) for lo, x, hi in zip(s.low, s.at, s.high, strict=True)]
    lacks = [where(f, lack * w, 0.0) for f, lack, w in zip(free, over, s.weight, strict=True)]
    most, worst = best([(lack, float(i)) for i, lack in enumerate(lacks)], lambda x, y: x[0] > y[0])
    going = s.entering[0] >= 0.0
    r = where(going, s.entering[0], worst)
    go = going | (most > MET)
    hot = _one_hot(r, m)
    column = _column(s.table, hot)
    towards = where(summed([h * (lo - x) for h, lo, x in zip(hot, s.low, s.at, strict=True)]) > 0.0, 1.0, -1.0)
    lack = summed([h * x for h, x in zip(hot, over, strict=True)])
    grip = summed([h * c for h, c in zip(hot, column, strict=True)])
    falls = [towards * side * c for side, c in zip(s.side, column, strict=True)]
    ends = [
        (where(fall > STILL, absolute(p), 1.0), where(fall > STILL, fall, 0.0), float(i))
        for i, (p, fall) in enumerate(zip(s.price, falls, strict=True))
    ]
    far, fast, d = best([(lack, grip, r), *ends], lambda x, y: x[0] * y[1] < y[0] * x[1])
    step = where(go, far / where(go, fast, 1.0), 0.0) * towards
    met = d == r  # r is held from now on; else d is let go
    at = [where(f, x + c * step, x) for f, x, c in zip(free, s.at, column, strict=True)]
    price = [where(f, p, p - c * step) + h * step for f, p, c, h in zip(free, s.price, column, hot, strict=True)]
    new = [where(go, h, 0.0) for h in _one_hot(d, m)]
    bound = [
        where(met & (h > 0.0), where(towards > 0.0, lo, hi), x)
        for h, lo, hi, x in zip(new, s.low, s.high, at, strict=True)
    ]
    price = [where((h > 0.0) & ~met, 0.0, p) for h, p in zip(new, price, strict=True)]
    side = [where(h > 0.0, where(met, towards, 0.0), old) for h, old in zip(new, s.side, strict=True)]
    column = _column(s.table, new)
    corner = summed([h * c for h, c in zip(new, column, strict=True)])
    sign = where(go, where(met, 1.0, -1.0), 0.0)
    factor = where(go, 1.0 / where(go, corner, 1.0), 0.0)
    column = [c - h * sign for c, h in zip(column, new, strict=True)]  # so that one product makes all of the three
    scaled = [c * factor for c in column]
    table = [
        s.table[_triangle(i, j)] - column[i] * scaled[j] - (2.0 * sign * new[i] if i == j else 0.0)
        for i in range(m)
        for j in range(i + 1)
    ]
    return Tableau(
        vector(*table),
        vector(*bound),
        vector(*price),
        vector(*side),
        vector(where(go & ~met, r, NONE)),
        s.low,
        s.high,
        s.weight,
        vector(where(go, 1.0, 0.0)),
    )


def nearest(p: Problem, steps: int = STEPS * ROUNDS) -> tuple[Array, Array]:
    """The solution (n,), always inside the box, and the rows' prices (K,), by that many steps at most."""
    s, K = opened(p), len(p.need)
    for _ in range(steps):
        s = pivot(s)
    x = vector(*(minimum(maximum(v, lo), hi) for v, lo, hi in zip(s.at[K:], p.low, p.up, strict=True)))
    return x, s.price[:K]


def pulled_back(
    model: Model, layout: Layout, frames: Frames, solved: Array, ramp: Array, x: Any
) -> tuple[Array, Any, Any]:
    """The command (n,) on the way from the ramp to the solution that keeps all promises; what part of the way it goes;
    and by how much (m/s) the worst pair keeps to what is allowed.

    x has `promise` (Q, 5), `allowed` and `runs` (Q,).
    """
    motion = CapsuleMotion.of(model, layout, frames, solved)
    persons = layout.people * layout.person_capsules
    part: Any = 1.0
    speeds = []
    for m, i in enumerate(moving(layout)):
        for k in range(m * persons, (m + 1) * persons):
            _, normal, share, _ = _seen(x.promise[k])
            opening = motion.opening(i, normal, share)
            if is_constant(opening, 0.0):
                continue
            speeds.append((k, -opening))
            room, more = x.allowed[k] - x.runs[k], -opening - x.runs[k]
            over = more > room + ROUNDING
            part = minimum(part, where(over, room / where(over, more, 1.0), 1.0))
    margin: Any = NO_MARGIN
    for k, u in speeds:
        margin = minimum(margin, x.allowed[k] - (x.runs[k] + part * (u - x.runs[k])))
    both = zip(solved, ramp, strict=True)
    return vector(*(where(part < 1.0, r + part * (v - r), v) for v, r in both)), part, margin
