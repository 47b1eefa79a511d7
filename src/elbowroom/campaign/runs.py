"""Runs of a campaign: by the single loop of `bench.encounters`, the reference that every engine must equal, or side by
side in SIMD lanes with the same bits (lanes.py).

    rows(campaign, first, count)      one row per run, a structured array
    replay(parameters)                scene, sensor frames and track of a run, to look at again

The columns (`Schema`), in this order:

    run            number of the run                          seed            of its scene
    arm, law       by name                                    people          how many
    duration       s
    ...            one for every parameter that is drawn, by its dotted name
    touched        a moving capsule of the arm and one of a person overlap at a control time
    approach       they do while the arm's own motion closes that pair faster than 5 cm/s
    least          least distance of arm and people, m, negative in overlap
    least_at       s, when it was first
    contact_speed  m/s, the greatest speed at which a pair closed at the first control time of its contact; NaN without
    contact_part   the person's capsule of that pair          contact_link    the arm's
    own_speed      m/s, what of that speed is the arm's own motion; NaN without
    standing       touched, and before every contact's beginning no end of a moving capsule of the arm was displaced by
                   more than 1 mm within 0.2 s: an arm standing still would have been touched, too
    itself, floor  m, how deep the arm was in itself and in the floor at worst
    ends           joints that were at a limit                goals           reached
    stops          latched                                    jerk            rad/s^3
    fastest        greatest commanded speed of a joint in its velocity limits

A contact of a pair lasts while the pair overlaps at successive control times.  Words are whole numbers in the array, -1
for none; `Schema.labels` has the words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..bench.encounters.on_card import Room
from ..bench.encounters.run import Distances, RunTrack, contacts, measured, nearest, pair_table, run
from ..bench.encounters.scene import PERIOD, EncounterScene, SensorFrames, frames, scene
from ..errors import ElbowroomError
from ..geometry.distance import CLOSING
from ..geometry.person import NAMES
from ..geometry.shapes import A, B
from . import lanes
from .arms import factory, where
from .draws import RunParameters, parameters
from .settings import Campaign

Array = NDArray[np.float64]
Rows = NDArray[np.void]
STILL, STILL_TIME = 1e-3, 0.2  # m, s
CODE = "<i2"  # of words
WARMED = 32  # scenes whose programs are compiled before processes are forked
WARM_DURATION = 0.1  # s
METRICS = (
    ("touched", "?"),
    ("approach", "?"),
    ("least", "<f8"),
    ("least_at", "<f8"),
    ("contact_speed", "<f8"),
    ("contact_part", CODE),
    ("contact_link", CODE),
    ("own_speed", "<f8"),
    ("standing", "?"),
    ("itself", "<f8"),
    ("floor", "<f8"),
    ("ends", "<i2"),
    ("goals", "<i2"),
    ("stops", "<i2"),
    ("jerk", "<f8"),
    ("fastest", "<f8"),
)


@dataclass(frozen=True)
class Schema:
    """The columns of a campaign's table, and the words that stand behind the numbers of some."""

    dtype: np.dtype[np.void]
    labels: Mapping[str, tuple[str, ...]]

    @property
    def names(self) -> tuple[str, ...]:
        """The columns' names."""
        return tuple(self.dtype.names or ())


def schema(campaign: Campaign) -> Schema:
    """The columns of a campaign; loads its arms."""
    links = sorted({name for arm in campaign.arms for name in where(arm, campaign.tips.get(arm)).body.names})
    labels: dict[str, tuple[str, ...]] = {"arm": campaign.arms, "law": campaign.laws}
    columns = [("run", "<i8"), ("seed", "<i8"), ("arm", CODE), ("law", CODE), ("people", "<i2"), ("duration", "<f4")]
    for name in campaign.drawn:
        words = [str(v) for v in campaign.draws[name].probes if isinstance(v, str)]
        columns.append((name, CODE if words else "<f8"))
        if words:
            labels[name] = tuple(words)
    labels |= {"contact_part": NAMES, "contact_link": tuple(links)}
    return Schema(np.dtype([*columns, *METRICS]), labels)


class Replayed(NamedTuple):
    """A run: what happened, what the sensor showed, what the arm did."""

    scene: EncounterScene
    frames: SensorFrames
    track: RunTrack


def scene_of(of: RunParameters) -> EncounterScene:
    """What happens in a run, whatever the arm does."""
    return scene(where(of.arm, of.tip), of.seed, of.people, of.duration, of.limb_speed, of.scripts)


def replay(of: RunParameters, precision: str = "float64") -> Replayed:
    """The run again, as it was: the same bits, where the precision is the table's."""
    what = scene_of(of)
    seen = frames(what, of.sensor)
    if precision != "float64" and lanes.kind(of) is not None:
        ((*_, track),) = lanes.together([(0, of)], factory, where(of.arm, of.tip), scene_of, precision)
        return Replayed(what, seen, track)
    return Replayed(what, seen, run(what, factory(of), seen, of.sensor.kind))


class Contact(NamedTuple):
    """The hardest contact of a run, and whether the arm stood before each."""

    speed: float  # m/s, NaN without a contact
    own: float  # m/s
    part: str  # of the person
    link: str  # of the arm
    standing: bool


NO_CONTACT = Contact(np.nan, np.nan, "", "", False)


def contact(scene: EncounterScene, apart: Distances) -> Contact:
    """From the distances of a run."""
    overlap = apart.distance < 0.0
    begins = overlap.copy()
    begins[1:] &= ~overlap[:-1]
    at, pair = np.nonzero(begins)
    if not len(at):
        return NO_CONTACT
    place, times = scene.place, np.unique(at)
    closing = pair_table(place, apart.rows[times], scene.rows[times])[..., CLOSING]
    speeds = closing[np.searchsorted(times, at), pair]
    k = int(np.argmax(speeds))  # the first of several
    others = apart.distance.shape[1] // len(place.moving)
    moving, other = divmod(int(pair[k]), others)
    back = round(STILL_TIME / PERIOD)
    ends = np.concatenate([apart.rows[:, place.moving, A], apart.rows[:, place.moving, B]], axis=1)
    moved = max(float(np.linalg.norm(ends[max(t - back, 0) : t + 1] - ends[t], axis=-1).max()) for t in times)
    return Contact(
        float(speeds[k]),
        float(apart.own[at[k], pair[k]]),
        NAMES[other % len(NAMES)],
        place.body.names[place.moving[moving]],
        moved <= STILL,
    )


def row(of: RunParameters, columns: Schema) -> tuple[Any, ...]:
    """One run's row, in the order of the columns; by the single loop."""
    what, _, track = replay(of)
    return row_of(of, columns, what, track)


def row_of(of: RunParameters, columns: Schema, what: EncounterScene, track: RunTrack) -> tuple[Any, ...]:
    """The row of a run from what happened in it."""
    near = nearest(what, track)
    apart = contacts(what, track) if near.people < 0.0 else None
    found = measured(what, track, 0, near, apart)
    touch = NO_CONTACT if apart is None else contact(what, apart)

    return (
        *given(of, columns),
        found.touched,
        found.approach,
        found.least,
        float(what.times[near.at]),
        touch.speed,
        _code(columns, "contact_part", touch.part),
        _code(columns, "contact_link", touch.link),
        touch.own,
        touch.standing,
        found.itself,
        found.floor,
        found.ends,
        found.goals,
        found.stops,
        found.jerk,
        found.fastest,
    )


def given(of: RunParameters, columns: Schema) -> tuple[Any, ...]:
    """What of a run's row was given: the columns before METRICS."""
    drawn = (
        _code(columns, name, value) if isinstance(value, str) else float(value)  # type: ignore[arg-type]  # ranges are not drawn
        for name, value in of.drawn
    )
    arm, law = _code(columns, "arm", of.arm), _code(columns, "law", of.law)
    return (of.number, of.seed, arm, law, of.people, of.duration, *drawn)


def _code(columns: Schema, column: str, word: str) -> int:
    return columns.labels[column].index(word) if word else -1


def rows(
    campaign: Campaign,
    first: int,
    count: int,
    done: Callable[[int, int], object] | None = None,
    *,
    columns: Schema | None = None,
    precision: str = "float64",
    card: Room | None = None,
) -> Rows:
    """The rows of `count` runs from number `first` on; `done(1, steps)` is called after each run.

    `precision` is that of the closed loops that go together (lanes.py); all else is computed in double precision.
    Where `card` gives them room there, these loops go on a graphics card, with the same bits.
    """
    columns = columns or schema(campaign)
    found = np.empty(count, dtype=columns.dtype)
    fewest = lanes.FEWEST if precision == "float64" else 1
    groups, alone = lanes.shared(parameters(campaign, first, count), fewest, card=card is not None)
    for group in groups:
        one = group[0][1]
        with _named(one):
            there = where(one.arm, one.tip)
            for k, of, what, track in lanes.together(group, factory, there, scene_of, precision, card=card):
                found[k] = row_of(of, columns, what, track)
                if done is not None:
                    done(1, of.steps)
    for k, of in alone:
        with _named(of):
            found[k] = row(of, columns)
        if done is not None:
            done(1, of.steps)
    return found


@contextmanager
def _named(of: RunParameters) -> Iterator[None]:
    """Errors name the run."""
    try:
        yield
    except ElbowroomError as error:
        raise ElbowroomError(f"run {of.number} ({of.arm}, {of.law}): {error}") from error


def warm(
    campaign: Campaign,
    done: Callable[[int, int], object] | None = None,
    precision: str = "float64",
    card: Room | None = None,
) -> None:
    """Compiles what the campaign's first runs need, by short runs: processes that are forked then have it."""
    seen, columns = set(), schema(campaign)
    points = campaign.points
    first = (0, WARMED * campaign.paired) if points is None else (points.first, min(WARMED, len(points.seeds)))
    for of in parameters(campaign, *first):
        program = tuple((n, v) for n, v in (*of.limits, *of.controller) if not isinstance(v, float))
        key = of.arm, of.law, of.people, program  # numbers are inputs of programs, all else chooses one
        if key not in seen:
            seen.add(key)
            short = replace(of, duration=WARM_DURATION)
            row(short, columns)
            if lanes.kind(short) is not None:
                some = [(k, short) for k in range(lanes.FEWEST)]
                list(lanes.together(some, factory, where(of.arm, of.tip), scene_of, precision, card=card))
            if done is not None:
                done(0, 0)
