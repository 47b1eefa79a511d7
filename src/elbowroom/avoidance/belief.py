"""What is believed about people: never less than the sensor has said, and more the longer it is silent.

Of a person's capsule:

    it grows by its age       radius + v (t - seen),  v = human_speed, or its measured speed if that is greater
    it jumped: it is covered  radius + moved + what the old one was thicker by, for `jump_confirm`: both are inside
    it is no longer reported  it stays where it was last seen, and grows, until `clear_confirm` of reports without it

A point between the ends of an axis moves no farther than the ends do, so a capsule thickened by that distance holds
the old one.  Ends that were swapped are the same capsule; the pairing that moved less counts.

Of a person: a frame is taken if its stamp is newer than that of the last one taken and not from the future, no radius
is negative and no number beyond sense; else it is refused, and the last good one stays and ages.  Data is stale when it
is older than `max_age`.  A person is known once somebody was seen, or nobody for `clear_confirm`.

What is remembered is a row of 17 numbers a capsule, its 13 as last seen and SEEN, COVER, UNTIL, LOST, and a row of 5 a
person: RAW and GOOD, the stamps of the last frame and of the last good one, ALONE, since when nobody was there, KNOWN,
and COUNT, of the capsules that are there.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..algebra import Program, maximum, minimum, sqrt, trace, where
from ..algebra.linalg import Array, dot, vector
from ..geometry import PARKED, ROW
from ..geometry.shapes import RADIUS, VELOCITY_A, VELOCITY_B, A, B
from .law import GOAL

SEEN, COVER, UNTIL, LOST = range(ROW, ROW + 4)
MEMORY = ROW + 4
RAW, GOOD, ALONE, KNOWN, COUNT = range(5)
CLOCK = ("t", "dt", "stop", "overlap")  # stop, overlap: 0 or 1; what the limiter needs besides
NEVER = -1e300  # s: the stamp of what never was, for compiled code takes finite numbers alone
FAR = 5e5  # m: whoever is beyond is a parked row
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
)
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


class Frame(NamedTuple):
    """What a capsule needs to know of its person's frame; the first two are conditions."""

    fresh: Any  # it is new and good
    restart: Any  # it came after a silence
    stamp: Any


def _moved(row: Array, last: Array) -> Any:
    """The greater distance of the two ends, paired the way that moved less."""

    def apart(x: slice, y: slice) -> Any:
        step = row[x] - last[y]
        return dot(step, step)

    return sqrt(minimum(maximum(apart(A, A), apart(B, B)), maximum(apart(A, B), apart(B, A))))


def kept(row: Array, memory: Array, frame: Frame, t: Any, rules: Rules) -> tuple[Array, Array, Any, Any, Any]:
    """One capsule: as believed (13,); its memory (17,); conditions: it jumped, it is missing, it is there."""
    fresh, restart, stamp = frame
    last, (seen, cover, until, lost) = memory[:ROW], memory[ROW:]
    here, was = row[0] < FAR, last[0] < FAR
    came, missing = fresh & here, fresh & was & ~here
    moved = _moved(row, last)
    carried = where(was & (stamp < until), cover, 0.0)
    jumped = came & was & (rules.max_human_speed * (stamp - seen) + rules.jump_allowance < moved)
    covering = moved + maximum(last[RADIUS] + carried - row[RADIUS], 0.0)
    followed = where(carried > 0.0, carried + moved, 0.0)  # the old place must stay inside
    cover = where(came, minimum(where(jumped, covering, followed), MOST_COVER), cover)
    until = where(jumped, stamp + rules.jump_confirm, until)
    lost = where(came | (missing & (restart | (lost <= seen))), stamp, lost)  # the first frame without it
    cleared = missing & (rules.clear_confirm <= stamp - lost)
    seen = where(came, stamp, seen)
    choices = zip(row, last, PARKED.tolist(), strict=True)
    now = vector(*(where(came, new, where(cleared, nowhere, old)) for new, old, nowhere in choices))
    there = now[0] < FAR
    speed = sqrt(maximum(dot(now[VELOCITY_A], now[VELOCITY_A]), dot(now[VELOCITY_B], now[VELOCITY_B])))
    speed = minimum(maximum(speed, rules.human_speed), rules.max_human_speed)
    grown = speed * maximum(t - seen, 0.0) + where(t < until, cover, 0.0)
    believed = now.copy()
    believed[RADIUS] = now[RADIUS] + where(there, grown, 0.0)
    return believed, np.array([*now, seen, cover, until, lost]), jumped, there & (seen < lost), there


def _wrong(rows: list[Array]) -> Any:
    """Whether a person's capsules cannot be: numbers beyond sense, or a negative radius."""
    wrong: Any = False
    for row in rows:
        wrong = wrong | (row @ row > LARGEST) | (row[RADIUS] < 0.0)
    return wrong


def person(
    rows: list[Array], memories: list[Array], memory: Array, stamp: Any, t: Any, rules: Rules
) -> tuple[list[Array], list[Array], Array, list[Any]]:
    """All of a person: capsules as believed; their memory; the person's own (5,); TOLD of them."""
    raw, good, alone, known, count = memory
    fresh = (good < stamp) & (stamp <= t + rules.clock_tolerance) & ~_wrong(rows)
    restart = rules.max_age < stamp - good
    refused = (stamp != raw) & ~fresh & (stamp > NEVER)
    believed, remembered = [], []
    jumped: Any = False
    missing: Any = False
    there: Any = 0.0
    for row, memo in zip(rows, memories, strict=True):
        now, memo, *flags = kept(row, memo, Frame(fresh, restart, stamp), t, rules)
        believed.append(now)
        remembered.append(memo)
        jumped, missing, there = jumped | flags[0], missing | flags[1], there + where(flags[2], 1.0, 0.0)
    alone = where(fresh & restart, stamp, alone)
    met = fresh & ((there > 0.0) | (rules.clear_confirm <= stamp - alone))
    known = where(met, 1.0, known)
    good = where(fresh, stamp, good)
    stale = (t < good - rules.clock_tolerance) | (good + rules.max_age < t)
    conditions = (stale, known < 0.5, refused, jumped, fresh & missing, there != count)
    told = [*(where(c, 1.0, 0.0) for c in conditions), maximum(t - good, 0.0)]
    return believed, remembered, vector(stamp, good, alone, known, there), told


def watching(layout: tuple[int, int, int]) -> Program:
    """The program over all capsules; things are passed on.  `told` is TOLD, added up over the people; age the greatest.

    goal is an input only because compiled code refuses what is not finite.
    """
    people, others, size = layout

    def watch(_: Any, **x: Array) -> dict[str, Any]:
        believed, remembered, persons = [], [], []
        told: list[Any] = [0.0] * len(TOLD)
        for p in range(people):
            place = slice(p * size, (p + 1) * size)
            rows, memories = list(x["rows"][place]), list(x["memory"][place])
            found = person(rows, memories, x["people"][p], x["stamps"][p], x["clock"][0], Rules(*x["rules"]))
            believed += found[0]
            remembered += found[1]
            persons.append(found[2])
            *counts, age = found[3]
            told = [total + count for total, count in zip(told[:-1], counts, strict=True)] + [maximum(told[-1], age)]
        for k in range(people * size, people * size + others):
            believed.append(x["rows"][k])
            remembered.append(np.array([*x["rows"][k], *x["memory"][k, ROW:]]))
        return {
            "believed": np.array(believed),
            "memory": np.array(remembered),
            "people": np.array(persons, dtype=object).reshape(people, 5),
            "stamps": np.array([memory[GOOD] for memory in persons], dtype=object),
            "told": vector(*told),
        }

    slots = people * size + others
    inputs = {
        "rows": (slots, ROW),
        "stamps": (people,),
        "memory": (slots, MEMORY),
        "people": (people, 5),
        "clock": (len(CLOCK),),
        "rules": (len(RULES),),
        "goal": (GOAL,),
    }
    return trace(watch, None, inputs, name="watch")
