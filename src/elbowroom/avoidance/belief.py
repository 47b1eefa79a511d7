"""What is believed about people: never less than the sensor has said, and more the longer it is silent.

Of a person's capsule:

    it grows by its age       radius + v age,  v = human_speed, or its measured speed if that is greater; age is the
                              person's, and sinks slowly after a silence, or the arm would feel every frame come
    it jumped: it is covered  radius + moved + what the old one was thicker by, for `jump_confirm`: both are inside
    it is no longer reported  it stays where it was last seen, and grows, until `clear_confirm` of reports without it

That is the body that a promise is made for.  Another one, `predicted`, is where the capsule is likely to be now: a
Kalman filter of constant velocity for each end (`Track`), carried on to t; its radius is the one last seen.

A point between the ends of an axis moves no farther than the ends do, so a capsule thickened by that distance holds
the old one.  Ends that were swapped are the same capsule; the pairing that moved less counts.

Of a person: a frame is taken if its stamp is newer than that of the last one taken and not from the future, no radius
is negative and no number beyond sense; else it is refused, and the last good one stays and ages.  Data is stale when it
is older than `max_age`.  A person is known once somebody was seen, or nobody for `clear_confirm`.

What is remembered is a row of 32 numbers a capsule, its 13 as last seen, SEEN, COVER, UNTIL, LOST and its Track, and a
row of 6 a person: RAW and GOOD, the stamps of the last frame and of the last good one, ALONE, since when nobody was
there, KNOWN, COUNT, of the capsules that are there, and HELD, the age that bodies are grown by.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..algebra import Program, maximum, minimum, sqrt, trace, where
from ..algebra.linalg import Array, dot, vector
from ..geometry import PARKED, ROW
from ..geometry.shapes import RADIUS, A, B
from .law import GOAL

SEEN, COVER, UNTIL, LOST = range(ROW, ROW + 4)
TRACK = slice(ROW + 4, ROW + 19)
MEMORY = ROW + 19
RAW, GOOD, ALONE, KNOWN, COUNT, HELD = range(6)
PERSON = 6
CLOCK = ("t", "dt", "stop", "overlap")  # stop, overlap: 0 or 1; what the limiter needs besides
NEVER = -1e300  # s: the stamp of what never was, for compiled code takes finite numbers alone
FAR = 5e5  # m: whoever is beyond is a parked row
FIRST_SPEED = 1.5  # m/s: of a limb seen for the first time, one standard deviation
LARGEST = 1e13  # m^2: the squares of a capsule's numbers add up to less, those of a parked one too
MOST_COVER = 1e6  # m: jumps that go on and on still give a number
RULES = (
    "human_speed",
    "max_human_speed",
    "jump_allowance",
    "jump_confirm",
    "clear_confirm",
    "max_age",
    "clock_tolerance",
    "noise",
    "velocity_noise",
    "limb_acceleration",
)
OF_SENSOR = {"noise": "noise", "velocity_noise": "velocity_noise", "limb_acceleration": "acceleration"}
"""Those rules that are the sensor's, and what it calls them."""
AGE_FALLS = 5.0  # 1/s: how fast a person's held age sinks to what it is
TOLD = ("stale", "waiting", "refused", "jumped", "missing", "changed", "age")  # all but the last count people


class Rules(NamedTuple):
    """The settings of `Limits` that count here."""

    human_speed: Any
    max_human_speed: Any
    jump_allowance: Any
    jump_confirm: Any
    clear_confirm: Any
    max_age: Any
    clock_tolerance: Any
    noise: Any
    velocity_noise: Any
    limb_acceleration: Any


class Track(NamedTuple):
    """A Kalman filter of constant velocity for both ends of a capsule; all coordinates share one covariance.

    Between frames, h apart, the velocity wanders as white noise of acceleration with density s (m^2/s^3) lets it:

        P' = F P F^T + s [h^3/3, h^2/2; h^2/2, h],   F = [1, h; 0, 1]

    and a frame corrects by the position, then by the velocity that came with it.
    """

    ends: Array  # (6,) m, both ends
    speed: Array  # (6,) m/s
    xx: Any  # covariance: m^2, m^2/s, m^2/s^2
    xv: Any
    vv: Any

    def at(self, h: Any) -> Array:
        """The ends (6,) h seconds on."""
        return self.ends + self.speed * h

    def corrected(self, ends: Array, speed: Array, h: Any, rules: Rules) -> Track:
        """After a frame, h after the last."""
        s = rules.limb_acceleration * rules.limb_acceleration * 0.1  # a limb pushes one way for a tenth of a second
        xx = self.xx + h * (2.0 * self.xv + h * self.vv) + s * (h * h * h) * (1.0 / 3.0)
        xv = self.xv + h * self.vv + s * (h * h) * 0.5
        vv = self.vv + s * h
        x, v = self.at(h), self.speed
        spread = xx + rules.noise * rules.noise
        weight = 1.0 / where(spread > 0.0, spread, 1.0)
        gain_x, gain_v, off = xx * weight, xv * weight, ends - x
        x, v = x + off * gain_x, v + off * gain_v
        xx, xv, vv = xx * (1.0 - gain_x), xv * (1.0 - gain_x), vv - gain_v * xv
        spread = vv + rules.velocity_noise * rules.velocity_noise
        weight = 1.0 / where(spread > 0.0, spread, 1.0)
        gain_x, gain_v, off = xv * weight, vv * weight, speed - v
        x, v = x + off * gain_x, v + off * gain_v
        return Track(x, v, xx - gain_x * xv, xv * (1.0 - gain_v), maximum(vv * (1.0 - gain_v), 0.0))

    @classmethod
    def started(cls, ends: Array, speed: Array, rules: Rules) -> Track:
        """From one frame: a velocity that was measured well counts, else the limb is at rest and may be fast."""
        doubt = FIRST_SPEED * FIRST_SPEED
        measured = rules.velocity_noise * rules.velocity_noise
        weight = doubt / (doubt + measured)
        return cls(ends, speed * weight, rules.noise * rules.noise, 0.0, weight * measured)


class Frame(NamedTuple):
    """What a capsule needs to know of its person's frame; the first two are conditions."""

    fresh: Any  # it is new and good
    restart: Any  # it came after a silence
    stamp: Any
    age: Any  # that bodies are grown by


def _moved(row: Array, last: Array) -> tuple[Any, Any]:
    """The greater distance of the two ends, paired the way that moved less; whether that way swaps them."""

    def apart(x: slice, y: slice) -> Any:
        step = row[x] - last[y]
        return dot(step, step)

    straight, crossed = maximum(apart(A, A), apart(B, B)), maximum(apart(A, B), apart(B, A))
    return sqrt(minimum(straight, crossed)), crossed < straight


class Kept(NamedTuple):
    """One capsule after a look."""

    believed: Array  # (13,) as last seen, grown
    predicted: Array  # (13,) as it is likely to be now
    pace: Any  # m/s, how fast it may move
    grown: Any  # m, by which the believed body is thicker than the one seen
    memory: Array  # (32,)
    jumped: Any  # conditions
    missing: Any
    there: Any


def kept(row: Array, memory: Array, frame: Frame, t: Any, rules: Rules) -> Kept:
    """What becomes of one capsule."""
    fresh, restart, stamp, age = frame
    last, (seen, cover, until, lost) = memory[:ROW], memory[ROW : TRACK.start]
    here, was = row[0] < FAR, last[0] < FAR
    came, missing = fresh & here, fresh & was & ~here
    moved, swapped = _moved(row, last)
    carried = where(was & (stamp < until), cover, 0.0)
    jumped = came & was & (rules.max_human_speed * (stamp - seen) + rules.jump_allowance < moved)
    covering = moved + maximum(last[RADIUS] + carried - row[RADIUS], 0.0)
    followed = where(carried > 0.0, carried + moved, 0.0)  # the old place must stay inside
    cover = where(came, minimum(where(jumped, covering, followed), MOST_COVER), cover)
    until = where(jumped, stamp + rules.jump_confirm, until)
    lost = where(came | (missing & (restart | (lost <= seen))), stamp, lost)  # the first frame without it
    cleared = missing & (rules.clear_confirm <= stamp - lost)
    track = _tracked(row, memory[TRACK], came, ~was | restart | jumped, swapped, stamp - seen, rules)
    seen = where(came, stamp, seen)
    choices = zip(row, last, PARKED.tolist(), strict=True)
    now = vector(*(where(came, new, where(cleared, nowhere, old)) for new, old, nowhere in choices))
    there = now[0] < FAR
    speed = sqrt(maximum(*(dot(x, x) for x in (track.speed[:3], track.speed[3:]))))
    pace = minimum(maximum(speed, rules.human_speed), rules.max_human_speed)
    covered = where(t < until, cover, 0.0)
    grown = pace * maximum(age, t - seen) + covered
    believed, predicted = now.copy(), now.copy()
    believed[RADIUS] = now[RADIUS] + where(there, grown, 0.0)
    ends = track.at(minimum(maximum(t - seen, 0.0), rules.max_age))
    predicted[:RADIUS] = [where(there, x, nowhere) for x, nowhere in zip(ends, PARKED[:RADIUS].tolist(), strict=True)]
    predicted[RADIUS] = now[RADIUS] + where(there, covered, 0.0)
    for body in (believed, predicted):
        body[RADIUS + 1 :] = [where(there, x, 0.0) for x in track.speed]
    remembered = np.array([*now, seen, cover, until, lost, *track.ends, *track.speed, track.xx, track.xv, track.vv])
    return Kept(believed, predicted, pace, grown, remembered, jumped, there & (seen < lost), there)


def _tracked(row: Array, memory: Array, came: Any, anew: Any, swapped: Any, h: Any, rules: Rules) -> Track:
    """The track after a look: corrected by a frame, started by a first one, else as it was."""
    order = [*range(3, 6), *range(3)]
    ends, speed = row[:RADIUS], row[RADIUS + 1 :]
    ends, speed = (vector(*(where(swapped, x[k], x[i]) for i, k in enumerate(order))) for x in (ends, speed))
    old = Track(memory[:6], memory[6:12], *memory[12:])
    gap = minimum(maximum(h, 0.0), 1.0)
    numbers = zip(
        *(
            [*track.ends, *track.speed, track.xx, track.xv, track.vv]
            for track in (Track.started(ends, speed, rules), old.corrected(ends, speed, gap, rules), old)
        ),
        strict=True,
    )
    chosen = vector(*(where(came, where(anew, first, next_), before) for first, next_, before in numbers))
    return Track(chosen[:6], chosen[6:12], *chosen[12:])


def _wrong(rows: list[Array]) -> Any:
    """Whether a person's capsules cannot be: numbers beyond sense, or a negative radius."""
    wrong: Any = False
    for row in rows:
        wrong = wrong | (row @ row > LARGEST) | (row[RADIUS] < 0.0)
    return wrong


class Seen(NamedTuple):
    """A person after a look."""

    capsules: list[Kept]
    memory: Array  # (6,)
    told: list[Any]  # TOLD of them


def person(rows: list[Array], memories: list[Array], memory: Array, stamp: Any, clock: Array, rules: Rules) -> Seen:
    """What becomes of all of a person's capsules."""
    raw, good, alone, known, count, held = memory
    t, dt = clock[0], clock[1]
    fresh = (good < stamp) & (stamp <= t + rules.clock_tolerance) & ~_wrong(rows)
    restart = rules.max_age < stamp - good
    refused = (stamp != raw) & ~fresh & (stamp > NEVER)
    last = where(fresh, stamp, good)
    age = minimum(maximum(t - last, 0.0), rules.max_age)
    held = maximum(age, where(restart, 0.0, held - AGE_FALLS * dt * (held - age)))
    capsules = [
        kept(row, memo, Frame(fresh, restart, stamp, held), t, rules) for row, memo in zip(rows, memories, strict=True)
    ]
    jumped: Any = False
    missing: Any = False
    there: Any = 0.0
    for capsule in capsules:
        jumped, missing = jumped | capsule.jumped, missing | capsule.missing
        there = there + where(capsule.there, 1.0, 0.0)
    alone = where(fresh & restart, stamp, alone)
    met = fresh & ((there > 0.0) | (rules.clear_confirm <= stamp - alone))
    known = where(met, 1.0, known)
    ever = last > NEVER  # before the first frame the arm waits
    stale = ever & ((t < last - rules.clock_tolerance) | (last + rules.max_age < t))
    conditions = (stale, known < 0.5, refused, jumped, fresh & missing, there != count)
    told = [*(where(c, 1.0, 0.0) for c in conditions), maximum(t - last, 0.0)]
    return Seen(capsules, vector(stamp, last, alone, known, there, held), told)


def watching(layout: tuple[int, int, int]) -> Program:
    """The program over all capsules; things are passed on.  `told` is TOLD, added up over the people; age the greatest.

    goal is an input only because compiled code refuses what is not finite.
    """
    people, others, size = layout

    def watch(_: Any, **x: Array) -> dict[str, Any]:
        capsules: list[Kept] = []
        persons = []
        told: list[Any] = [0.0] * len(TOLD)
        for p in range(people):
            place = slice(p * size, (p + 1) * size)
            rows, memories = list(x["rows"][place]), list(x["memory"][place])
            found = person(rows, memories, x["people"][p], x["stamps"][p], x["clock"], Rules(*x["rules"]))
            capsules += found.capsules
            persons.append(found.memory)
            *counts, age = found.told
            told = [total + count for total, count in zip(told[:-1], counts, strict=True)] + [maximum(told[-1], age)]
        things = range(people * size, people * size + others)
        passed = [x["rows"][k] for k in things]
        return {
            "believed": np.array([c.believed for c in capsules] or [PARKED]),
            "predicted": np.array([*(c.predicted for c in capsules), *passed]),
            "pace": np.array([[c.pace, c.grown] for c in capsules] or [[0.0, 0.0]]),
            "memory": np.array(
                [*(c.memory for c in capsules), *(np.array([*x["rows"][k], *x["memory"][k, ROW:]]) for k in things)]
            ),
            "people": np.array(persons, dtype=object).reshape(people, PERSON),
            "stamps": np.array([memory[GOOD] for memory in persons], dtype=object),
            "told": vector(*told),
        }

    slots = people * size + others
    inputs = {
        "rows": (slots, ROW),
        "stamps": (people,),
        "memory": (slots, MEMORY),
        "people": (people, PERSON),
        "clock": (len(CLOCK),),
        "rules": (len(RULES),),
        "goal": (GOAL,),
    }
    return trace(watch, None, inputs, name="watch")
