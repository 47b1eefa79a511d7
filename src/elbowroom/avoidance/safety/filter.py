"""The safety filter: of all commands from which the arm can still stop in time, the one nearest to what is wanted.

    minimise    1/2 sum_j ((v_j - wish_j) / V_j)^2 + sum_k (r_k / 2) s_k^2             V: the joints' velocity limits
    joints      low <= v <= up                                                         never yields: it is physics
    people      u_k <= allowed_k                                                       the promise
    things, floor, the arm itself      -u_k + s_k >= -g (d_k - d_s)                    yields before people do
    evasion     -u_k + s_k >= w_k - g (d_k - d_s)                                      yields first

u_k = -a_k . v is the speed at which the arm's own motion closes pair k, a_k = n_k^T J_k at its nearest point; w_k is
the speed at which the person comes.  The nearest point may leap along the link, so people's rows are about both ends of
the part where it can be (`promise.measured`).

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
bound lies below what the ramp does, at least the ramp's own (`met`), and no joint is faster than it can stop
in T_s.  Only where the ramp itself was not certified, as when somebody appears, may a bound be exceeded, by no more
than the ramp does: no joint is faster then than the ramp has it, each may brake as hard as in a stop, and the rows ask
for what is missing with a weight above all others.

Here are the rows: `contacts` has the pairs that may ask for one, and `posed` writes them, one for each link, person and
kind: that of the pair which the wish violates most.  `chosen` keeps the worst of them.  promise.py has the formulas of
single pairs, joint_speed_limits.py what the joints can do.  solver.py finds the nearest command by a fixed number of
steps of a dual active-set method, and `promise.pulled_back` looks at all pairs again and goes back towards the ramp as
far as any of them asks for.  Nothing branches, so the same text runs for one state, in lanes, as C and on a card.  A
step of the solver that finds nothing to do changes no bit: the others may be left out then, and all of them where the
wish violates no row.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from ...algebra import absolute, maximum, minimum, where
from ...algebra.linalg import Array, vector
from ...dynamics.kinematics import Frames, forward_kinematics, jacobian_at
from ...geometry.distance import DISTANCE, LAMBDA_X, LAMBDA_Y, NORMAL, SPEED_Y
from ...model import Model
from ..control.pairs import CLOSE, HELD, Layout
from .capsule_motion import CapsuleMotion, moving
from .folds import largest, summed
from .promise import FAR, FREE, WORST, Lanes

OF_PEOPLE, OF_EVASION, OF_THINGS = 4, 4, 3  # rows of each kind that are solved for
ROWS = OF_PEOPLE + OF_EVASION + OF_THINGS
UNCERTIFIED = 1e4  # (s/m)^2: weight of people's rows where not even the ramp keeps them; above all others
KINDS = PEOPLE, EVASION, THINGS = 1.0, 2.0, 3.0
UP = np.array([0.0, 0.0, 1.0])


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
    effort: Any,
) -> Constraint:
    """The row of the contact that the wish violates most; evasion asks for so much of what joints can give a point."""
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
        most = effort * summed([absolute(g) * v for g, v in zip(a, fastest, strict=True)])
        need, lack = minimum(need, most), lack - maximum(need - most, 0.0)
    return Constraint(a, need, yields, kind, lack)


def _end(frames: Frames, link: int, point: Any) -> Array:
    """Where a link has a point of its own; a link of -1 is the base."""
    return frames.point(link, np.array(point)) if link >= 0 else np.array(point)


class Contacts(NamedTuple):
    """All that may ask for a row."""

    frames: Frames
    ends: list[tuple[Array, Array]]  # of the capsules
    groups: dict[tuple[float, int, int], list[Contact]]  # by kind, link and person; of each, the worst counts
    itself: list[tuple[int, int, Any, Any, Array, tuple[Any, Any]]]  # capsules, need, lack, normal, shares

    @property
    def most_lacking(self) -> Any:
        """What the wish lacks most, at least 0; a bound where evasion asks for more than a link can do."""
        own = (lack for _, _, _, lack, _, _ in self.itself)
        return largest([*(c.lack for group in self.groups.values() for c in group), *own])


def contacts(model: Model, layout: Layout, x: Any, rules: SimpleNamespace) -> Contacts:
    """x has q, `moves` (C, 6) of the wish, `worst` (12, lanes) of people, and `pairs` (P, 13) as predicted."""
    frames = forward_kinematics(model, x.q)
    ends = [(_end(frames, c.link, c.a), _end(frames, c.link, c.b)) for c in layout.capsules]
    wanted = _wanted(layout, x.moves)
    groups: dict[tuple[float, int, int], list[Contact]] = {}
    own, lanes = moving(layout), Lanes(layout)
    for p, m in sorted(set(lanes.groups), key=lambda group: group[::-1]):
        found = x.worst[:, lanes.lane(p, m)].reshape(2, len(WORST))
        for kind, (lack, need, share, *normal) in zip((PEOPLE, EVASION), found, strict=True):
            contact = Contact(own[m], share, vector(*normal), need, lack)
            groups.setdefault((kind, layout.capsules[own[m]].link, p), []).append(contact)
    _near_things(layout, wanted, ends, x, rules, groups)
    return Contacts(frames, ends, groups, _near_itself(layout, wanted, x, rules))


def posed(
    model: Model, layout: Layout, near: Contacts, fastest: Array, rules: SimpleNamespace, certified: Any = True
) -> list[Constraint]:
    """All rows; `fastest` (n,) are the joints' velocity limits.  People's yield where not the ramp is certified."""
    frames, ends, groups, itself = near
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
    rows += [_worse(found) for found in meeting.values()]
    return rows or [Constraint(np.zeros(model.n), FREE, 0.0, THINGS, FREE)]  # an arm that can meet nothing


def _wanted(layout: Layout, moves: Array) -> CapsuleMotion:
    """How the wish moves all capsules: moves (C, 6) has those that joints move."""
    rows = dict(zip(moving(layout), moves, strict=False))  # one row of nothing where none moves
    still = np.zeros(3)
    each = [rows.get(i) for i in range(len(layout.capsules))]
    return CapsuleMotion([still if r is None else r[0:3] for r in each], [still if r is None else r[3:6] for r in each])


def people_rows(layout: Layout) -> int:
    """How many rows hold people's promise: one for each link that moves, and each person."""
    links = {layout.capsules[i].link for i in moving(layout)}
    return len(links) * layout.people


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
    layout: Layout, wanted: CapsuleMotion, x: Any, rules: SimpleNamespace
) -> list[tuple[int, int, Any, Any, Array, tuple[Any, Any]]]:
    """What each pair of the arm's own capsules asks for; see `Contacts`."""
    first = layout.own * layout.slots
    found = []
    for k, (i, j) in enumerate(layout.self_pairs):
        row = x.pairs[first + k]
        normal, shares = row[NORMAL], (row[LAMBDA_X], row[LAMBDA_Y])
        opening = wanted.opening(i, normal, shares[0]) - wanted.opening(j, normal, shares[1])
        near = layout.self_gaps[k] < CLOSE
        off = minimum(rules.keep_off, HELD * layout.self_gaps[k]) if near else rules.keep_off
        need = -rules.thing_gain * (row[DISTANCE] - off)
        found.append((i, j, need, need - opening, normal, shares))
    return found


def _worse(rows: list[Constraint]) -> Constraint:
    best = rows[0]
    for row in rows[1:]:
        worse = row.lack > best.lack
        best = Constraint.of([where(worse, new, old) for new, old in zip(row.numbers, best.numbers, strict=True)])
    return best


def chosen(rows: list[Constraint], promises: int) -> list[Constraint]:
    """The rows that are solved for, the worst of each kind: people's are the first so many, then as many of evasion.

    A kind of its own for each: an evasion that lacks much must not crowd out the row that keeps the arm off itself.
    """
    nothing = [0.0] * len(rows[0].a) + [FREE, 0.0, THINGS, FREE]
    first, second, third = rows[:promises], rows[promises : 2 * promises], rows[2 * promises :]
    most = (first, OF_PEOPLE), (second, OF_EVASION), (third, OF_THINGS)
    return [row for kind, count in most for row in _lacking(kind, count, nothing)]


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
