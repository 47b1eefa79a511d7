"""The filter's rows: what people, evasion, things, the floor, the arm itself and limits of one's own ask of a command.

`row_candidates` has the pairs that may ask for a row, and `posed` writes the rows, one for each link, person and kind:
that of the pair which the wish violates most.  `chosen` keeps the worst of them for the solver.  What each kind asks
for is in the room's docstring; approach_speed.py has the formulas of single pairs.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np

from ....algebra import Condition, Scalar, absolute, maximum, minimum, sqrt, where
from ....algebra.functions import largest, summed
from ....algebra.linalg import Array, vector
from ....dynamics.kinematics import Frames, forward_kinematics, jacobian_at
from ....errors import ConfigError, TraceError
from ....geometry.distance import DISTANCE, LAMBDA_X, LAMBDA_Y, NORMAL, SPEED_Y
from ....model import Model
from ...control.pushes import CLOSE, HELD, PairLayout
from ...protocols import lacking
from ..limits import FilterRules
from .approach_speed import FAR, FREE, WORST
from .capsule_motion import CapsuleMotion, Lanes, moving

OF_PEOPLE, OF_EVASION, OF_THINGS = 4, 4, 3  # rows of each kind that are solved for
ROWS = OF_PEOPLE + OF_EVASION + OF_THINGS
UNCERTIFIED = 1e4  # (s/m)^2: weight of people's rows where not even the ramp keeps them; above all others
KINDS = PEOPLE, EVASION, THINGS = 1.0, 2.0, 3.0
UP = np.array([0.0, 0.0, 1.0])
OWN = 0.1  # weight of a motion limit's row, in that of things: many of them must not press an arm into the floor
MOST_OWN = 16  # rows of motion limits: each makes the solver's table larger
NO_SPEED = 1e-9  # a row that joints at their fastest move by less asks for nothing
MOST_LACK = 1e6  # what a row of a motion limit lacks at most, also if that is not a number


@runtime_checkable
class MotionLimit(Protocol):
    """A limit of one's own on the motion of an arm: rows a . qd >= need, in any unit.

    The joints' own limits, the promise to people, and the arm itself, things and the floor come before them; evasion
    and the wish come after.  Each row is scaled so that one unit is what the joints' velocity limits give it, and has
    the weight OWN of `Limits.thing_weight`.  `Supervisor(controller, motion_limits=[...])` takes them.
    """

    def rows(self, model: Model, frames: Frames, q: Array, /) -> Sequence[tuple[Array, Scalar]]:
        """(a (n,), need) of every row for an arm at q (n,), over any scalar: they are traced when the supervisor is
        made, so there must be no `if` on a value, and as many rows for every q.  A need of -inf asks for nothing."""


def own_limits(given: Iterable[MotionLimit]) -> tuple[MotionLimit, ...]:
    """The limits as they are now: what is changed in them later changes nothing, here and in copies."""
    expected = "motion_limits: expected a list of objects with `rows(model, frames, q)`"
    if not isinstance(given, Iterable):
        raise ConfigError(f"{expected}; got {given!r:.60}")
    limits = tuple(given)
    for each in limits:
        if why := lacking(each, MotionLimit):
            raise ConfigError(f"{expected}, but {why}; got {each!r:.60}")
    return copy.deepcopy(limits)


def own_rows(model: Model, limits: Sequence[MotionLimit]) -> int:
    """How many rows some limits have; a ConfigError where they are no rows, or too many."""
    q = np.zeros(model.n)
    count = sum(len(_rows_of(limit, model, forward_kinematics(model, q), q)) for limit in limits)
    if count > MOST_OWN:
        raise ConfigError(f"motion_limits: expected at most {MOST_OWN} rows together; got {count}")
    return count


def _rows_of(limit: MotionLimit, model: Model, frames: Frames, q: Array) -> list[tuple[Array, Scalar]]:
    found, expected = [], f"{type(limit).__name__}.rows: expected pairs of a row ({model.n},) and a number"
    try:
        pairs = limit.rows(model, frames, q)
    except TraceError as error:
        raise ConfigError(f"{type(limit).__name__}.rows: {error}; it is traced, so it must hold for every q") from error
    if not isinstance(pairs, Iterable):
        raise ConfigError(f"{expected}; got {pairs!r:.60}")
    for pair in pairs:
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise ConfigError(f"{expected}; got {pair!r:.60}")
        row, number = np.asarray(pair[0]), np.asarray(pair[1])
        if row.shape != (model.n,) or number.shape != ():
            raise ConfigError(f"{expected}; got shapes {row.shape} and {number.shape}")
        if q.dtype == object and any(isinstance(x, float) and math.isnan(x) for x in (*row, pair[1])):  # for every q
            raise ConfigError(f"{expected}; got nan in {pair!r:.60}")
        found.append((row, pair[1]))
    return found


def not_finite(limits: Sequence[MotionLimit], model: Model, q: Array) -> str:
    """The first of some limits whose rows are no numbers at q, or nothing."""
    frames = forward_kinematics(model, q)
    for limit in limits:
        with np.errstate(all="ignore"):
            rows = _rows_of(limit, model, frames, q)
        if not all(np.isfinite(a.astype(float)).all() and float(need) < np.inf for a, need in rows):
            return type(limit).__name__
    return ""


class Constraint(NamedTuple):
    """a . v >= need; `yields` is 1/r of its slack, 0 for a row that does not yield."""

    a: Array  # (n,)
    need: Scalar
    yields: Scalar
    kind: Scalar  # PEOPLE, EVASION or THINGS
    lack: Scalar  # need - a . wish

    @property
    def numbers(self) -> list[Scalar]:
        """All of it in a list; `Constraint.of` is the way back."""
        return [*self.a, self.need, self.yields, self.kind, self.lack]

    @classmethod
    def of(cls, numbers: Sequence[Scalar]) -> Constraint:
        """From `numbers`."""
        return cls(vector(*numbers[:-4]), *numbers[-4:])


class RowCandidate(NamedTuple):
    """A pair as a row needs it: where it is on the arm, its normal, and what is asked of it."""

    capsule: int
    share: Scalar
    normal: Array
    need: Scalar  # a . v >= need
    lack: Scalar  # need - a . wish: how much the wish violates it


def _row(
    model: Model,
    frames: Frames,
    ends: list[tuple[Array, Array]],
    link: int,
    candidates: list[RowCandidate],
    yields: Scalar,
    kind: float,
    fastest: Array,
    effort: Scalar,
) -> Constraint:
    """The row of the candidate that the wish violates most; evasion asks for `effort` of what joints can give."""
    alone = len({c.capsule for c in candidates}) == 1

    def place(c: RowCandidate) -> list[Scalar]:
        a, b = ends[c.capsule]
        return [c.lack, c.need, *c.normal, *([c.share] if alone else a + (b - a) * c.share)]

    best = place(candidates[0])
    for candidate in candidates[1:]:
        other = place(candidate)
        best = [where(other[0] > best[0], new, old) for new, old in zip(other, best, strict=True)]
    lack, need, *rest = best
    normal, point = vector(*rest[:3]), vector(*rest[3:])
    if alone:
        a, b = ends[candidates[0].capsule]
        point = a + (b - a) * point[0]
    a = normal @ jacobian_at(model, frames, link, point).Jv
    if kind == EVASION:
        most = effort * summed([absolute(g) * v for g, v in zip(a, fastest, strict=True)])
        need, lack = minimum(need, most), lack - maximum(need - most, 0.0)
    return Constraint(a, need, yields, kind, lack)


def _end(frames: Frames, link: int, point: tuple[float, float, float]) -> Array:
    """Where a link has a point of its own; a link of -1 is the base."""
    return frames.point(link, np.array(point)) if link >= 0 else np.array(point)


Groups = dict[tuple[float, int, int], list[RowCandidate]]
"""Candidates by kind, link and person; of each group the worst counts."""


class OwnPair(NamedTuple):
    """Two capsules of the arm that must stay apart, and what is asked of them."""

    first: int
    second: int
    need: Scalar
    lack: Scalar
    normal: Array
    shares: tuple[Scalar, Scalar]  # where on each capsule they are nearest


class RowCandidates(NamedTuple):
    """The pairs that may ask for a row, and where the arm is."""

    frames: Frames
    ends: list[tuple[Array, Array]]  # of the capsules
    groups: Groups
    itself: list[OwnPair]
    limits: list[Constraint]  # of one's own, as their rows are

    @property
    def most_lacking(self) -> Scalar:
        """What the wish lacks most, at least 0; a bound where evasion asks for more than a link can do."""
        own = [pair.lack for pair in self.itself] + [row.lack for row in self.limits]
        return largest([*(c.lack for group in self.groups.values() for c in group), *own])


def row_candidates(
    model: Model,
    layout: PairLayout,
    rules: FilterRules,
    q: Array,
    moves: Array,
    worst: Array,
    pairs: Array,
) -> RowCandidates:
    """All that may ask for a row: `moves` (C, 6) of the wish, `worst` (12, lanes) of people, `pairs` (P, 13) as
    predicted."""
    frames = forward_kinematics(model, q)
    ends = [(_end(frames, c.link, c.a), _end(frames, c.link, c.b)) for c in layout.capsules]
    wanted = _wanted(layout, moves)
    groups: Groups = {}
    own, lanes = moving(layout), Lanes(layout)
    for p, m in sorted(set(lanes.groups), key=lambda group: group[::-1]):
        found = worst[:, lanes.lane(p, m)].reshape(2, len(WORST))
        for kind, (lack, need, share, *normal) in zip((PEOPLE, EVASION), found, strict=True):
            candidate = RowCandidate(own[m], share, vector(*normal), need, lack)
            groups.setdefault((kind, layout.capsules[own[m]].link, p), []).append(candidate)
    _near_things(layout, wanted, ends, pairs, rules, groups)
    return RowCandidates(frames, ends, groups, _near_itself(layout, wanted, pairs, rules), [])


def limit_rows(
    model: Model,
    frames: Frames,
    q: Array,
    limits: Sequence[MotionLimit],
    wish: Array,
    fastest: Array,
    yields: Scalar,
    held: Condition,
) -> list[Constraint]:
    """The rows of limits of one's own, which ask for nothing while the arm is `held`: then it runs down its ramp.

    A row that is not a number lacks much, so that it is looked at, and stops the arm.
    """
    found = []
    for limit in limits:
        for a, need in _rows_of(limit, model, frames, q):
            speeds = a * fastest
            per = 1.0 / maximum(sqrt(summed(speeds * speeds)), NO_SPEED)
            row = vector(*(where(held, 0.0, x * per) for x in a))
            asked = need * per
            asked = where(held | (asked < FREE), FREE, asked)  # a comparison with what is not a number is false
            lack = asked - summed(row * wish)
            found.append(Constraint(row, asked, yields, THINGS, where(lack <= MOST_LACK, lack, MOST_LACK)))
    return found


def posed(
    model: Model,
    layout: PairLayout,
    near: RowCandidates,
    fastest: Array,
    rules: FilterRules,
    certified: Condition = True,
) -> list[Constraint]:
    """All rows; `fastest` (n,) are the joints' velocity limits.  Those of people yield where not even the ramp keeps
    them."""
    frames, ends, groups, itself, limits = near
    yields = {
        PEOPLE: where(certified, 0.0, 1.0 / UNCERTIFIED),
        EVASION: 1.0 / rules.evasion_weight,
        THINGS: 1.0 / rules.thing_weight,
    }
    rows = [
        _row(model, frames, ends, link, found, yields[kind], kind, fastest, rules.evasion_effort)
        for (kind, link, _), found in sorted(groups.items(), key=lambda group: group[0])
    ]
    meeting: dict[int, list[Constraint]] = {}
    for i, j, need, lack, normal, shares in itself:
        grip: Array = np.zeros(model.n)
        for c, share, sign in zip((i, j), shares, (1.0, -1.0), strict=True):
            link, (a, b) = layout.capsules[c].link, ends[c]
            if link >= 0:
                grip = grip + sign * (normal @ jacobian_at(model, frames, link, a + (b - a) * share).Jv)
        row = Constraint(grip, need, yields[THINGS], THINGS, lack)
        meeting.setdefault(layout.capsules[j].link, []).append(row)
    rows += [*(_worse(found) for found in meeting.values()), *limits]
    return rows or [Constraint(np.zeros(model.n), FREE, 0.0, THINGS, FREE)]  # an arm that can meet nothing


def _wanted(layout: PairLayout, moves: Array) -> CapsuleMotion:
    """How the wish moves all capsules: moves (C, 6) has those that joints move."""
    rows = dict(zip(moving(layout), moves, strict=False))  # one row of nothing where none moves
    still = np.zeros(3)
    each = [rows.get(i) for i in range(len(layout.capsules))]
    return CapsuleMotion([still if r is None else r[0:3] for r in each], [still if r is None else r[3:6] for r in each])


def people_rows(layout: PairLayout) -> int:
    """How many rows hold people's promise: one for each link that moves, and each person."""
    links = {layout.capsules[i].link for i in moving(layout)}
    return len(links) * layout.people


def _near_things(
    layout: PairLayout,
    wanted: CapsuleMotion,
    ends: list[tuple[Array, Array]],
    pairs: Array,
    rules: FilterRules,
    groups: Groups,
) -> None:
    """Adds the pairs of each link with things and with the floor."""
    persons = layout.people * layout.person_capsules
    for i in moving(layout):
        capsule = layout.capsules[i]
        near = []
        for slot in range(persons, layout.slots):
            now = pairs[layout.pair(i, slot)]
            need = now[SPEED_Y] - rules.thing_gain * (now[DISTANCE] - rules.keep_off)
            need = where(now[DISTANCE] < FAR, need, FREE)
            lack = need - wanted.opening(i, now[NORMAL], now[LAMBDA_X])
            near.append(RowCandidate(i, now[LAMBDA_X], now[NORMAL], need, lack))
        if rules.has_floor:
            for end, lifted in enumerate(layout.lifted[i]):
                if lifted:
                    height = ends[i][end][2] - capsule.radius - rules.floor
                    need = -rules.thing_gain * (height - rules.keep_off)
                    near.append(RowCandidate(i, float(end), UP, need, need - wanted.opening(i, UP, float(end))))
        if near:
            groups.setdefault((THINGS, capsule.link, 0), []).extend(near)


def _near_itself(layout: PairLayout, wanted: CapsuleMotion, pairs: Array, rules: FilterRules) -> list[OwnPair]:
    """What each pair of the arm's own capsules asks for; see `OwnPair`."""
    first = layout.own * layout.slots
    found = []
    for k, (i, j) in enumerate(layout.self_pairs):
        row = pairs[first + k]
        normal, shares = row[NORMAL], (row[LAMBDA_X], row[LAMBDA_Y])
        opening = wanted.opening(i, normal, shares[0]) - wanted.opening(j, normal, shares[1])
        near = layout.self_gaps[k] < CLOSE
        off = minimum(rules.keep_off, HELD * layout.self_gaps[k]) if near else rules.keep_off
        need = -rules.thing_gain * (row[DISTANCE] - off)
        found.append(OwnPair(i, j, need, need - opening, normal, shares))
    return found


def _worse(rows: list[Constraint]) -> Constraint:
    best = rows[0]
    for row in rows[1:]:
        worse = row.lack > best.lack
        best = Constraint.of([where(worse, new, old) for new, old in zip(row.numbers, best.numbers, strict=True)])
    return best


def chosen(rows: list[Constraint], promises: int, own: int = 0) -> list[Constraint]:
    """The rows that are solved for, the worst of each kind: people's are the first so many, then as many of evasion.

    A kind of its own for each: an evasion that lacks much must not crowd out the row that keeps the arm off itself.
    The last `own` are of motion limits, and all are solved for: they crowd out nothing, and nothing crowds them out.
    """
    nothing: list[Scalar] = [*(0.0 for _ in rows[0].a), FREE, 0.0, THINGS, FREE]
    things = len(rows) - own
    first, second, third = rows[:promises], rows[promises : 2 * promises], rows[2 * promises : things]
    most = (first, OF_PEOPLE), (second, OF_EVASION), (third, OF_THINGS)
    return [row for kind, count in most for row in _lacking(kind, count, nothing)] + rows[things:]


def _lacking(rows: list[Constraint], most: int, nothing: list[Scalar]) -> list[Constraint]:
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
