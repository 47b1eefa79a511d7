"""The allowed approach speed, pair by pair: each moving capsule of the arm and each capsule of a person as last seen.

It is what the stop ramp promises to people; the room's docstring (filter/__init__.py) says how, and has the bound.

The formulas are evaluated in four stages, since each needs a number of all pairs from the stage before it:

    measured    a pair as the last command moves it                       then the joints' box is known
    met         what is allowed at any distance, and how long the ramp may take     then the time to stop is known
    compared    what is allowed, and what the wish leaves of it           then the rows are known
    pulled_back what the solution leaves of it

Pairs are done in SIMD lanes, one capsule of the arm a lane (`Lanes`): what is least or worst over the capsules of a
person is found without leaving the lane.

For one distance and a single deceleration there is a closed form, `separation_speed`.  Its formulas are those of
ISO/TS 15066 (now in ISO 10218-2:2025) as secondary sources print them; we have not seen the standards' own text.  With
v_h the person's speed, v_r the arm's towards the person, T_r the reaction time, a the arm's deceleration, T_s = v_r / a
the time it takes to stop, C the intrusion distance and Z what both positions may err by:

    S_p = v_h (T_r + T_s) + v_r T_r + v_r^2 / (2 a) + C + Z                             separation that is needed
    v_max = sqrt(v_h^2 + (a T_r)^2 + 2 a (d - C - Z)) - a T_r - v_h, at least 0         speed that keeps S_p <= d

v_max is the positive root of S_p = d; below d = v_h T_r + C + Z there is none and the arm must not come nearer at all.
As a person walks on at v_h, v_max falls at a (v_h + v) / (v_h + v + a T_r) < a: an arm that follows it never brakes
harder than a.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from ....algebra import Condition, Scalar, Table, dot, maximum, minimum, sqrt, trace, where
from ....algebra.functions import best, largest, least
from ....algebra.linalg import Array, vector
from ....compile import compiled
from ....compile.kernel import Kernel
from ....dynamics.kinematics import Frames
from ....geometry import ROW
from ....geometry.distance import DISTANCE, LAMBDA_X, NORMAL, SPEED_Y, separation
from ....geometry.segments import projection
from ....geometry.shapes import A, B
from ....model import Model
from ...control.pushes import WIDTH, PairLayout
from ..limits import RULES, FilterRules
from .body_regions import contact_speed
from .capsule_motion import WIDTH as MOTION
from .capsule_motion import CapsuleMotion, Lanes, moving, of_row

TOUCHED = 0.25  # of creep: what is let be towards somebody who is touched, or two of them would hold the arm for ever
CLOSING = 1e-6  # m/s: a ramp that closes a pair more slowly does not close it
TIGHTER = 0.005  # m/s: what people's rows are tightened by, so that steps that end early still keep the promise
FAR = 1e4  # m: a pair farther apart is one with nobody
FREE = -1e3  # m/s: a row that needs no more than this asks for nothing
NO_MARGIN = 1e3  # m/s: where there is nobody
ROUNDING, SINGLE_ROUNDING = 1e-9, 1e-5
"""m/s, in double and in single precision: what is more by less is the same, or a bound that the ramp itself sets would
brake for nothing."""
FOREVER = 1e9  # s
NO_SIZE = 1e-12  # m^2: capsules smaller than a thousandth of a millimetre are none
GRADUAL = 1e-6  # m/s^2: a closing speed that grows more slowly does not grow
NOWHERE = 1e12  # m: with so little room no speed is allowed for the distance

ENDS = 2  # points of a link that a pair is about; see `measured`
MET = ("room_a", "room_b", "floor", "grows")
WORST = ("lack", "need", "share", "normal_x", "normal_y", "normal_z")  # of the promise, and once more of evasion
NORMAL_SEEN, SHARES, OPENINGS = slice(1, 4), slice(5, 7), slice(7, 9)  # of PROMISE


class PromisePair(NamedTuple):
    """A pair of the promise; a column of the arrays of that name."""

    distance: Scalar  # of the nearest points
    normal_x: Scalar
    normal_y: Scalar
    normal_z: Scalar
    share: Scalar
    share_a: Scalar  # of the two points of the link that the pair is about; see `measured`
    share_b: Scalar
    opening_a: Scalar
    opening_b: Scalar
    distance_a: Scalar
    distance_b: Scalar
    rate: Scalar
    swing: Scalar
    seen: Scalar
    pace: Scalar
    evasion: Scalar  # of the pair as predicted, as the rest
    now_share: Scalar
    now_opening: Scalar
    now_x: Scalar
    now_y: Scalar
    now_z: Scalar

    @property
    def normal(self) -> Array:
        """(3,) of the nearest points."""
        return vector(self.normal_x, self.normal_y, self.normal_z)

    @property
    def now(self) -> Array:
        """(3,) the normal of the pair as predicted."""
        return vector(self.now_x, self.now_y, self.now_z)


PROMISE = PromisePair._fields


# ---- in closed form
def separation_distance(
    v_r: Scalar,
    human_speed: Scalar,
    reaction: Scalar,
    deceleration: Scalar,
    clearance: Scalar,
) -> Scalar:
    """S_p (m): how far a person must be for the arm to come towards them at v_r (m/s); clearance is C + Z."""
    braking = v_r * v_r / (2.0 * deceleration)
    return human_speed * (reaction + v_r / deceleration) + v_r * reaction + braking + clearance


def separation_speed(
    distance: Scalar,
    human_speed: Scalar,
    reaction: Scalar,
    deceleration: Scalar,
    clearance: Scalar,
    least: Scalar = 0.0,
) -> Scalar:
    """v_max (m/s): how fast the arm may come towards a person at this distance (m), at least `least`."""
    run, twice = deceleration * reaction, 2.0 * deceleration
    square = human_speed * human_speed + (run * run - twice * clearance) + twice * distance
    return maximum(sqrt(maximum(square, 0.0)) - (run + human_speed), least)


# ---- one pair
def measured(
    own: Array, believed: Array, motion: Array, now: Array, pace: Array, retreat: Scalar, rules: FilterRules
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


def evasion(now: Array, retreat: Scalar, rules: FilterRules) -> Scalar:
    """The speed (m/s) at which a pair should open: that at which the person comes, less evasion_gain (d - retreat)."""
    need = maximum(now[SPEED_Y], 0.0) - rules.evasion_gain * (now[DISTANCE] - retreat)
    return minimum(need, rules.evasion_speed)


# ---- one lane: a capsule that moves, and all capsules of a person; promise is (21, steps), one column a pair
def noticed(promise: Array) -> Array:
    """(2,) the least distance to the body as seen, and the greatest speed of evasion, at least 0."""
    return vector(least(promise[PROMISE.index("seen")]), largest(promise[PROMISE.index("evasion")]))


class ContactTerms(NamedTuple):
    """What is needed of the pairs of a lane where contact counts."""

    bears: Array  # (steps, 2) of the person's capsules: body_regions.table
    mobility: Array  # (steps,) 1/kg, of the arm


def met(
    promise: Array, left: Scalar, stopping: Scalar, rules: FilterRules, contact: ContactTerms | None = None
) -> tuple[Array, Scalar]:
    """MET (4, steps): of both points the distance less C (m); what is allowed at any distance, all along the ramp, and
    how fast the ramp's speed u grows (m/s^2).  And the longest time to stop (s) for which the ramp is allowed: with w
    the rate at which its speed grows, either will do,

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

    `left` and `stopping` are the box's; `contact` is given where contact counts.
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
        if contact is not None:
            bearing, inverse_mass = contact.bears[k]
            passes = (bearing > 0.0) & ~touched  # for a contact that passes, not to press on
            borne = maximum(contact_speed(bearing, inverse_mass, contact.mobility[k]), rules.creep)
            floor, grows = where(passes, borne, floor), where(passes, 0.0, grows)
            if rules.mode == "power_and_force":
                rooms = [where(passes, -NOWHERE, room) for room in rooms]
        runs = ramp_speeds((pair.opening_a, pair.opening_b), left)
        slow = 1.0 / maximum(grows, GRADUAL)
        for run, room in zip(runs, rooms, strict=True):
            enough = (room - (pair.pace + run) * rules.reaction) / (pair.pace + 0.5 * maximum(run, 0.0))
            creeps = (2.0 * (floor + sqrt(maximum(floor * (floor - run), 0.0))) - run) * slow - rules.reaction
            time = maximum(enough, where(run > floor, -1.0, creeps))
            times.append(where(touched & (run <= CLOSING), FOREVER, time))  # who opens may go on
        found.append([*rooms, floor, grows])
    return np.array(found).T, least(times)


def ramp_speeds(openings: Iterable[Scalar], left: Scalar) -> list[Scalar]:
    """u: the speeds (m/s) at which points close in the next command of the ramp, of which `left` is left."""
    return [-opening * left for opening in openings]


def compared(
    promise: Array, met: Array, moves: Array, left: Scalar, stopping: Scalar, promptness: Scalar, rules: FilterRules
) -> tuple[Array, Scalar, Array]:
    """What is allowed, of both points (2, steps); the least that the wish leaves of it; and WORST (12,) of the promise
    and of evasion.

    `moves` (6,) is how the wish moves the capsule; `left` is the box's.
    """
    wanted = CapsuleMotion([moves[0:3]], [moves[3:6]])
    lasting, slower = rules.reaction + stopping, 1.0 / (rules.reaction + 0.5 * stopping)
    allowed, margins = [], []
    people: list[tuple[Scalar, ...]] = []
    fleeing: list[tuple[Scalar, ...]] = []
    for pair, (room_a, room_b, creep, grows) in zip(_pairs(promise), met.T, strict=True):
        gain, shares = grows * lasting, (pair.share_a, pair.share_b)
        floor = where(gain > creep, 2.0 * sqrt(creep * gain) - gain, creep)
        both: list[tuple[Scalar, ...]] = []
        most = []
        runs, openings = ramp_speeds((pair.opening_a, pair.opening_b), left), wanted.openings(0, pair.normal, shares)
        for share, room, run, opening in zip(shares, (room_a, room_b), runs, openings, strict=True):
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


def _lacks_more(x: tuple[Scalar, ...], y: tuple[Scalar, ...]) -> Condition:
    return x[0] > y[0]


def _pairs(promise: Array) -> list[PromisePair]:
    """The pairs of a lane."""
    return [PromisePair(*column) for column in promise.T]


# ---- all pairs
class PairBounds(NamedTuple):
    """All pairs in the order of `Lanes.order`, and how fast both points of each may close and do in the ramp."""

    promise: Array  # (Q, 21)
    allowed: Array  # (Q, 2) m/s
    runs: Array  # (Q, 2) m/s


def pulled_back(
    model: Model,
    layout: PairLayout,
    frames: Frames,
    solved: Array,
    ramp: Array,
    pairs: PairBounds,
    rounding: float = ROUNDING,
) -> tuple[Array, Scalar, Scalar]:
    """The command (n,) on the way from the ramp to the solution that keeps all promises; what part of the way it goes;
    and by how much (m/s) the worst pair keeps to what is allowed."""
    motion = CapsuleMotion.of(model, layout, frames, solved)
    persons = layout.people * layout.person_capsules
    parts: list[Scalar] = [1.0]
    speeds = []
    for m, i in enumerate(moving(layout)):
        for k in range(m * persons, (m + 1) * persons):
            openings = motion.openings(i, pairs.promise[k][NORMAL_SEEN], pairs.promise[k][SHARES])
            for most, run, opening in zip(pairs.allowed[k], pairs.runs[k], openings, strict=True):
                room, more = most - run, -opening - run
                over = more > room + rounding
                parts.append(where(over, room / where(over, more, 1.0), 1.0))
                speeds.append((most, run, more))
    part = least(parts)
    margins = [most - (run + part * more) for most, run, more in speeds]
    both = zip(solved, ramp, strict=True)
    return vector(*(where(part < 1.0, r + part * (v - r), v) for v, r in both)), part, least([NO_MARGIN, *margins])


# ---- kernels, in lanes
def _measuring(lanes: Lanes) -> Table:
    """`measured`: one entry a pair."""
    layout, pairs = lanes.layout, lanes.pairs
    own, slots = moving(layout), layout.people * layout.person_capsules
    rows = {
        "own": (ROW, len(layout.capsules), [own[m] for m, _ in pairs]),
        "believed": (ROW, slots, [slot for _, slot in pairs]),
        "motion": (MOTION, len(own), [m for m, _ in pairs]),
        "pairs": (WIDTH, len(layout.pairs), [layout.pair(own[m], slot) for m, slot in pairs]),
        "pace": (2, slots, [slot for _, slot in pairs]),
        "retreat": (1, slots, [slot for _, slot in pairs]),
    }
    inputs = {name: (width,) for name, (width, _, _) in rows.items()} | {"rules": (len(RULES),)}
    program = trace(_measured, None, inputs, name="measure", output="promise")
    counts, indices = tuple(count for _, count, _ in rows.values()), tuple(tuple(at) for _, _, at in rows.values())
    return Table(program, counts, indices, ("promise",))


def _measured(
    _: None,
    own: Array,
    believed: Array,
    motion: Array,
    pairs: Array,
    pace: Array,
    retreat: Array,
    rules: Array,
) -> Array:
    return measured(own, believed, motion, pairs, pace, retreat[0], FilterRules(*rules))


def _by_lane(
    lanes: Lanes,
    function: Callable[..., dict[str, Array]],
    inputs: dict[str, int],
    taken: str = "",
    at: Sequence[int] = (),
) -> Table:
    """One entry a lane.  What `taken` names is by rows, at `at`; other arrays are columns, but for those of SHARED."""
    program = trace(function, lanes, {name: (size,) for name, size in inputs.items()}, name="lanes")
    names = [name for name in inputs if name not in (*SHARED, taken)] + [p.name for p in program.outputs]
    if not taken:
        return Table(program, (), (), tuple(names), lanes.count)
    return Table(program, (max(at) + 1,), (tuple(at),), tuple(names), lanes.count)


SHARED = ("rules", "terms", "timing")


def _noticing(lanes: Lanes) -> Table:
    return _by_lane(lanes, _noticed, {"promise": len(PROMISE) * lanes.steps})


def _noticed(lanes: Lanes, promise: Array) -> dict[str, Array]:
    return {"noticed": noticed(promise.reshape(len(PROMISE), lanes.steps))}


def _meeting(structure: tuple[Lanes, str]) -> Table:
    lanes, mode = structure
    inputs = {"promise": len(PROMISE) * lanes.steps, "terms": 4, "rules": len(RULES)}
    if mode == "separation":
        return _by_lane(lanes, partial(_met, mode), inputs)
    inputs = {"bears": 2 * lanes.steps, **inputs, "mobility": lanes.steps}
    return _by_lane(lanes, partial(_met, mode), inputs, "bears", [p for p, _ in lanes.groups])


def _met(
    mode: str,
    lanes: Lanes,
    promise: Array,
    terms: Array,
    rules: Array,
    bears: Array | None = None,
    mobility: Array | None = None,
) -> dict[str, Array]:
    left, _, stopping, _ = terms
    each = promise.reshape(len(PROMISE), lanes.steps)
    contact = None if bears is None or mobility is None else ContactTerms(bears.reshape(-1, 2), mobility)
    found, time = met(each, left, stopping, FilterRules(*rules)._replace(mode=mode), contact)
    return {"met": found.ravel(), "time": vector(time)}


def _comparing(lanes: Lanes) -> Table:
    inputs = {"moves": 6, "promise": len(PROMISE) * lanes.steps, "met": len(MET) * lanes.steps}
    inputs |= {"terms": 4, "timing": 3, "rules": len(RULES)}
    return _by_lane(lanes, _compared, inputs, "moves", [m for _, m in lanes.groups])


def _compared(
    lanes: Lanes, moves: Array, promise: Array, met: Array, terms: Array, timing: Array, rules: Array
) -> dict[str, Array]:
    each, found = promise.reshape(len(PROMISE), lanes.steps), met.reshape(len(MET), lanes.steps)
    allowed, margin, worst = compared(each, found, moves, terms[0], timing[0], timing[1], FilterRules(*rules))
    return {"allowed": allowed.ravel(), "margin": vector(margin), "worst": worst}


def lane_kernels(lanes: Lanes, mode: str) -> dict[str, Kernel]:
    """The stages that go by lanes."""
    return {
        "measure": compiled(_measuring, lanes),
        "notice": compiled(_noticing, lanes),
        "meet": compiled(_meeting, (lanes, mode)),
        "compare": compiled(_comparing, lanes),
    }
