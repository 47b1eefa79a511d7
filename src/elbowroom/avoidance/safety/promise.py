"""The allowed approach speed, pair by pair: each moving capsule of the arm and each capsule of a person as last seen.

It is what the stop ramp promises to people; filter.py says how, and has the bound.

The formulas are evaluated in four stages, since each needs a number of all pairs from the stage before it:

    measured    a pair as the last command moves it                       then the joints' box is known
    met         what is allowed at any distance, and how long the ramp may take     then the time to stop is known
    compared    what is allowed, and what the wish leaves of it           then the rows are known
    pulled_back what the solution leaves of it

Pairs are done in SIMD lanes, one capsule of the arm a lane (`Lanes`): what is least or worst over the capsules of a
person is found without leaving the lane.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...algebra import dot, maximum, minimum, sqrt, where
from ...algebra.linalg import Array, ltdl, vector
from ...algebra.table import padded
from ...dynamics import whole
from ...dynamics.kinematics import Frames, forward_kinematics, jacobian_at
from ...geometry.distance import DISTANCE, LAMBDA_X, NORMAL, SPEED_Y, separation
from ...geometry.segments import projection
from ...geometry.shapes import A, B
from ...model import Model
from ..control.pairs import Layout
from .capsule_motion import CapsuleMotion, moving, of_row
from .contact import FOREARM, HAND, OF_CAPSULE, contact_speed
from .folds import best, largest, least, summed
from .limits import Limits

TOUCHED = 0.25  # of creep: what is let be towards somebody who is touched, or two of them would hold the arm for ever
CLOSING = 1e-6  # m/s: a ramp that closes a pair more slowly does not close it
TIGHTER = 0.005  # m/s: what people's rows are tightened by, so that steps that end early still keep the promise
FAR = 1e4  # m: a pair farther apart is one with nobody
FREE = -1e3  # m/s: a row that needs no more than this asks for nothing
NO_MARGIN = 1e3  # m/s: where there is nobody
ROUNDING = 1e-9  # m/s: what is more by less is the same; else a bound that the ramp itself sets would brake for nothing
FOREVER = 1e9  # s
NO_SIZE = 1e-12  # m^2: capsules smaller than a thousandth of a millimetre are none
GRADUAL = 1e-6  # m/s^2: a closing speed that grows more slowly does not grow
NOWHERE = 1e12  # m: with so little room no speed is allowed for the distance

ENDS = 2  # points of a link that a pair is about; see `measured`
PROMISE = (
    *("distance", "normal_x", "normal_y", "normal_z", "share"),  # of the nearest points
    *("share_a", "share_b", "opening_a", "opening_b", "distance_a", "distance_b"),  # of the two points
    *("rate", "swing", "seen", "pace"),
    *("evasion", "now_share", "now_opening", "now_x", "now_y", "now_z"),  # of the pair as predicted
)
MET = ("room_a", "room_b", "run_a", "run_b", "floor", "grows")
WORST = ("lack", "need", "share", "normal_x", "normal_y", "normal_z")  # of the promise, and once more of evasion
NORMAL_SEEN, NORMAL_NOW = slice(1, 4), slice(18, 21)  # of PROMISE
SHARES = slice(5, 7)
RUNS = slice(2, 4)  # of MET


@dataclass(frozen=True)
class Lanes:
    """Where the pairs lie: a lane for each person and each capsule that moves, rounded up; a step for each of theirs.

    Pair number (step, lane) is column step * lanes + lane.  Lanes beyond the last capsule repeat it.
    """

    layout: Layout

    @property
    def capsules(self) -> int:
        """Lanes of one person."""
        return padded(len(moving(self.layout)))

    @property
    def count(self) -> int:
        """All lanes."""
        return self.layout.people * self.capsules

    @property
    def steps(self) -> int:
        """Capsules of a person."""
        return self.layout.person_capsules

    @property
    def groups(self) -> list[tuple[int, int]]:
        """(person, number of the capsule that moves) of every lane."""
        last = len(moving(self.layout)) - 1
        return [(p, min(m, last)) for p in range(self.layout.people) for m in range(self.capsules)]

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """(number of the capsule that moves, slot of the person's capsule) of every column."""
        return [(m, p * self.steps + step) for step in range(self.steps) for p, m in self.groups]

    def lane(self, person: int, m: int) -> int:
        """The lane of a person and a capsule that moves."""
        return person * self.capsules + m

    @property
    def order(self) -> list[int]:
        """The columns of the pairs capsule by capsule, and slot by slot: each once."""
        slots = [divmod(slot, self.steps) for slot in range(self.layout.people * self.steps)]
        return [step * self.count + self.lane(p, m) for m in range(len(moving(self.layout))) for p, step in slots]


# ---- one pair
def measured(
    own: Array, believed: Array, motion: Array, now: Array, pace: Array, retreat: Any, rules: SimpleNamespace
) -> Array:
    """PROMISE of a pair, before anything is wanted.

    `own` and `believed` (13,) are the capsules of a link and of a person as last seen, `motion` (13,) how the last
    command moves the link's, `now` (13,) the pair as predicted, `pace` (2,) the person's; nearer than `retreat` (m)
    they are retreated from.

    Only the part of a link that lies over a limb, at right angles to the link, has a point nearest to it, and as the
    two pass through parallel that point leaps from one end of this part to the other.  So the promise is about both
    ends.  Along the normal of now neither is nearer than the nearest point, and a plane at right angles to the normal
    has the limb on one side: while both stay on the other, so does all between them.
    """
    near, axis = separation(own, believed), own[B] - own[A]
    shares = [projection(believed[end], own[A], own[B]) for end in (A, B)]
    rise = dot(axis, near.normal)
    distances = [near.distance + (share - near.lambda_x) * rise for share in shares]
    turning = of_row(motion)
    rate = turning.rate(0, axis, motion[12], near.normal, shares, near.axis_distance)
    openings = turning.motion.openings(0, near.normal, shares)
    seen = near.distance + pace[1]
    round_it = maximum(near.axis_distance * (near.axis_distance - maximum(near.distance, 0.0)), NO_SIZE)
    swing = where(seen <= 0.0, 0.0, turning.motion.across(0, shares, openings) / round_it)
    flee = where(now[DISTANCE] < FAR, evasion(now, retreat, rules), FREE)
    had = turning.motion.opening(0, now[NORMAL], now[LAMBDA_X])
    nearest = near.distance, *near.normal, near.lambda_x
    ends = *shares, *openings, *distances
    return vector(*nearest, *ends, rate, swing, seen, pace[0], flee, now[LAMBDA_X], had, *now[NORMAL])


def evasion(now: Array, retreat: Any, rules: SimpleNamespace) -> Any:
    """The speed (m/s) at which a pair should open: that at which the person comes, less evasion_gain (d - retreat)."""
    need = maximum(now[SPEED_Y], 0.0) - rules.evasion_gain * (now[DISTANCE] - retreat)
    return minimum(need, rules.evasion_speed)


def retreats(names: Sequence[Sequence[str]], capsules: int, limits: Limits) -> NDArray[np.float64]:
    """(people * capsules, 1): from how near (m) each capsule of people is retreated from, by the names of each
    person's.  Hands start faster than other parts do; what has no name may be one, and a forearm without a hand ends in
    one."""
    found = np.full((max(1, len(names) * capsules), 1), limits.evasion_distance + limits.evasion_hands)
    for p, person in enumerate(names):
        regions = [OF_CAPSULE.get(name, HAND) for name in person[:capsules]]
        quick = (HAND,) if HAND in regions else (FOREARM,)
        for k, region in enumerate(regions):
            if region not in quick:
                found[p * capsules + k] = limits.evasion_distance
    return found


# ---- one lane: a capsule that moves, and all capsules of a person; promise is (21, steps), one column a pair
def noticed(promise: Array) -> Array:
    """(2,) the least distance to the body as seen, and the greatest speed of evasion, at least 0."""
    return vector(least(promise[PROMISE.index("seen")]), largest(promise[PROMISE.index("evasion")]))


def met(
    promise: Array, left: Any, stopping: Any, rules: SimpleNamespace, bears: Any = None, mobility: Any = None
) -> tuple[Array, Any]:
    """MET (6, steps): of both points the distance less C (m) and u of the ramp (m/s); what is allowed at any distance,
    all along the ramp, and how fast u grows (m/s^2).  And the longest time to stop (s) for which the ramp is allowed:
    with w the rate at which its speed grows, either will do,

    room - pace (T_r + T_s) >= run (T_r + T_s / 2)                        the arm stands before
    w (T_r + T_s) <= 2 floor - run + 2 sqrt(floor (floor - run))          or it is no faster than the floor at any time

    What is allowed is so now, and must be so along the ramp: as links turn, speeds towards somebody grow.  With w the
    rate at which they do and T the time, u + w t, run down to nothing, is greatest at (w T + u)^2 / (4 w T) and goes
    w T^2 / 6 farther.

    They grow too as the person steps aside and motion across the line between the two becomes motion towards them.
    A body seen at the distance D of axes, and a time t later, after p t, at the distance r, is seen at an angle f:

        (p t)^2 = D^2 + r^2 - 2 D r cos f,    so    sin f <= t sqrt((p^2 - (d / T)^2) / (D r)),    d = D - r,  t <= T

    with r, where it is within reach, the radii and what they have grown by.  Only `floor` falls by that: whoever the
    arm stands before it can reach is out of its way wherever they step.

    `left` and `stopping` are the box's; `bears` (steps, 2) and `mobility` (steps,) are what contact needs, where it
    counts.
    """
    lasting = rules.reaction + stopping
    per_lasting = 1.0 / lasting
    found, times = [], []
    for k, pair in enumerate(_pairs(promise)):
        touched = pair.seen <= 0.0
        covered = maximum(pair.distance - rules.clearance, 0.0) * per_lasting
        aside = maximum(pair.pace * pair.pace - covered * covered, 0.0)
        grows = pair.rate + sqrt(pair.swing * aside)
        floor = rules.creep * where(touched, TOUCHED, 1.0)
        less = rules.clearance + pair.rate * (lasting * lasting * (1.0 / 6.0))
        rooms = [pair.distance_a - less, pair.distance_b - less]
        if bears is not None:
            passes = (bears[k][0] > 0.0) & ~touched  # for a contact that passes, not to press on
            bearing, inverse_mass = bears[k]
            borne = maximum(contact_speed(bearing, inverse_mass, mobility[k]), rules.creep)
            floor, grows = where(passes, borne, floor), where(passes, 0.0, grows)
            if rules.mode == "power_and_force":
                rooms = [where(passes, -NOWHERE, room) for room in rooms]
        runs = [-pair.opening_a * left, -pair.opening_b * left]
        slow = 1.0 / maximum(grows, GRADUAL)
        for run, room in zip(runs, rooms, strict=True):
            enough = (room - (pair.pace + run) * rules.reaction) / (pair.pace + 0.5 * maximum(run, 0.0))
            creeps = (2.0 * (floor + sqrt(maximum(floor * (floor - run), 0.0))) - run) * slow - rules.reaction
            time = maximum(enough, where(run > floor, -1.0, creeps))
            times.append(where(touched & (run <= CLOSING), FOREVER, time))  # who opens may go on
        found.append([*rooms, *runs, floor, grows])
    return np.array(found).T, least(times)


def compared(
    promise: Array, met: Array, moves: Array, stopping: Any, promptness: Any, rules: SimpleNamespace
) -> tuple[Array, Any, Array]:
    """What is allowed, of both points (2, steps); the least that the wish leaves of it; and WORST (12,) of the promise
    and of evasion.

    `moves` (6,) is how the wish moves the capsule.
    """
    wanted = CapsuleMotion([moves[0:3]], [moves[3:6]])
    lasting, slower = rules.reaction + stopping, 1.0 / (rules.reaction + 0.5 * stopping)
    allowed, margins = [], []
    people: list[tuple[Any, ...]] = []
    fleeing: list[tuple[Any, ...]] = []
    for pair, (room_a, room_b, run_a, run_b, creep, grows) in zip(_pairs(promise), met.T, strict=True):
        gain, shares = grows * lasting, (pair.share_a, pair.share_b)
        floor = where(gain > creep, 2.0 * sqrt(creep * gain) - gain, creep)
        both: list[tuple[Any, ...]] = []
        most = []
        openings = wanted.openings(0, pair.normal, shares)
        for share, room, run, opening in zip(shares, (room_a, room_b), (run_a, run_b), openings, strict=True):
            bound = maximum((room - pair.pace * lasting) * slower, floor)
            most.append(maximum(bound, run))
            margins.append(most[-1] + opening)
            need = -maximum(bound - TIGHTER, minimum(run, bound))
            both.append((need - opening, need, share))
        allowed.append(most)
        people.append((*best(both, _lacks_more), *pair.normal))
        flee = minimum(pair.evasion, pair.now_opening + promptness * (pair.evasion - pair.now_opening))
        flee = where(pair.evasion > FREE, flee, FREE)
        lack = flee - wanted.opening(0, pair.now, pair.now_share)
        fleeing.append((lack, flee, pair.now_share, *pair.now))
    worst = [number for found in (people, fleeing) for number in best(found, _lacks_more)]
    return np.array(allowed).T, least(margins), vector(*worst)


def _lacks_more(x: tuple[Any, ...], y: tuple[Any, ...]) -> Any:
    return x[0] > y[0]


def _pairs(promise: Array) -> list[SimpleNamespace]:
    """The pairs of a lane, PROMISE by name."""
    return [
        SimpleNamespace(
            **dict(zip(PROMISE, column, strict=True)),
            normal=vector(*column[NORMAL_SEEN]),
            now=vector(*column[NORMAL_NOW]),
        )
        for column in promise.T
    ]


# ---- all pairs
def mobilities(model: Model, layout: Layout, q: Array, promise: Array) -> Array:
    """(columns,) a M^-1 a^T (1/kg) of every pair; promise (21, columns)."""
    frames, lanes = forward_kinematics(model, q), Lanes(layout)
    at, own = _mobility(model, frames, q), moving(layout)
    found: dict[tuple[int, int], Any] = {}
    for k, (m, slot) in enumerate(lanes.pairs):
        if (m, slot) not in found:
            capsule = layout.capsules[own[m]]
            ends = frames.point(capsule.link, np.array(capsule.a)), frames.point(capsule.link, np.array(capsule.b))
            _, normal, share = seen(promise[:, k])
            found[m, slot] = at(capsule.link, ends, normal, share)
    return vector(*(found[pair] for pair in lanes.pairs))


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


def seen(pair: Array) -> tuple[Any, Array, Any]:
    """Distance, normal and share of a pair of the promise."""
    return pair[0], pair[NORMAL_SEEN], pair[4]


def pulled_back(
    model: Model, layout: Layout, frames: Frames, solved: Array, ramp: Array, x: Any
) -> tuple[Array, Any, Any]:
    """The command (n,) on the way from the ramp to the solution that keeps all promises; what part of the way it goes;
    and by how much (m/s) the worst pair keeps to what is allowed.

    x has `promise` (Q, 21), `allowed` and `runs` (Q, 2) of both points, in the order of `Lanes.order`.
    """
    motion = CapsuleMotion.of(model, layout, frames, solved)
    persons = layout.people * layout.person_capsules
    parts: list[Any] = [1.0]
    speeds = []
    for m, i in enumerate(moving(layout)):
        for k in range(m * persons, (m + 1) * persons):
            openings = motion.openings(i, x.promise[k][NORMAL_SEEN], x.promise[k][SHARES])
            for most, run, opening in zip(x.allowed[k], x.runs[k], openings, strict=True):
                room, more = most - run, -opening - run
                over = more > room + ROUNDING
                parts.append(where(over, room / where(over, more, 1.0), 1.0))
                speeds.append((most, run, more))
    part = least(parts)
    margins = [most - (run + part * more) for most, run, more in speeds]
    both = zip(solved, ramp, strict=True)
    return vector(*(where(part < 1.0, r + part * (v - r), v) for v, r in both)), part, least([NO_MARGIN, *margins])
