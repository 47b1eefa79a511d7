"""Encounters: an arm that goes between random goals while people walk about it and reach into its work.

`scene(place, seed, people)` is made from a seed alone: the same seed gives the same goals and people for every method,
and nothing in it was chosen by looking at what a method does there.

    goals     positions of the tool at random configurations within the joints' limits less `MARGIN`, free of the arm
              itself and of the floor, in front of the arm, within `BETWEEN` and `HEIGHTS` of its reach; the straight
              way from one to the next keeps clear of the arm's column
    people    people.py
    floor     `STAND` below the arm's base: the arm is on a stand

Seeds for figures begin at 0; `SEARCH` and above are for choosing settings.  No figure may be taken from the latter.

What a method is shown of the people, frames with their time of capture:

camera   50 frames/s of the skeleton's points, each coordinate with an error of 1 cm (standard deviation), velocities
         by the difference to the fifth frame before, as a driver of a skeleton camera makes them; all frames of a
         run come late by one latency, drawn from 30 to 100 ms; now and then no frame is taken for 20 to 120 ms
ideal    the truth of this very cycle, velocities included
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arm import Arm
from ...avoidance.checks import Settings, refusal, setting
from ...compile.recycled import piece
from ...errors import ElbowroomError, UnknownNameError
from ...geometry import Body, Pairs
from ...geometry.distance import DISTANCE
from ...geometry.person import NAMES
from ...geometry.shapes import RADIUS, VELOCITY_A, VELOCITY_B
from ...model.capsules import BASE
from . import noise
from . import people as people_
from .script import ScriptedRandom

Array = NDArray[np.float64]

CAPSULES = len(NAMES)  # of a person
SENSORS = ("camera", "ideal")
PERIOD = 0.01  # s between control cycles
FRAME = 0.02  # s between frames
NOISE = 0.01  # m
LATENCY = (0.03, 0.1)  # s
GAP = (0.02, 0.12)  # s, of a drop-out
EVERY = 1.5  # s between drop-outs, on the average
BASELINE = 5  # frames, between those whose difference is the velocity
BEFORE = 0.2  # s, that the camera runs before the arm does: the first cycle has a frame already


@dataclass(frozen=True)
class SensorSettings(Settings):
    """The sensor of people: what it shows, how exactly, how late, and when it shows nothing.

    A range of two equal numbers is a fixed value.
    """

    kind: str = setting("camera", SENSORS, "camera, or ideal: the truth of every cycle, and nothing below counts")
    frame_period: float = setting(FRAME, f"[{PERIOD}, 1] s", "between frames, a multiple of the control period")
    noise: float = setting(NOISE, "[0, 1] m", "standard deviation of each coordinate of a point")
    latency: tuple[float, float] = setting(LATENCY, "[0, 1] s", "drawn once a run from this range")
    gap: tuple[float, float] = setting(GAP, "[0, 10] s", "of a drop-out, drawn from this range")
    gap_every: float = setting(EVERY, "[0, 1e6] s", "from one drop-out to the next, on the average; 0: none")
    baseline: int = setting(BASELINE, "[1, 50]", "frames between those whose difference is the velocity")

    def __post_init__(self) -> None:
        super().__post_init__()
        if abs(self.frame_period / PERIOD - round(self.frame_period / PERIOD)) > 1e-9:
            raise refusal(self, "frame_period", f"a multiple of the control period, {PERIOD:g} s")
        for name in ("latency", "gap"):
            low, high = getattr(self, name)
            if not 0.0 <= low <= high:
                raise refusal(self, name, "two numbers >= 0 (s), the least and the most")


class SeenPoints(NamedTuple):
    """The points of people's skeletons as a sensor has them, with their velocities; (F, people, P, 3) each."""

    at: Array
    velocities: Array


@dataclass(frozen=True, eq=False)
class SensorFrames:
    """What a sensor gives, in the order of its arrival: points of people, or rows of what is shown in their places."""

    stamps: Array  # (F,) s, when each was taken
    arrivals: Array  # (F,) s, when it is there
    place: Place
    points: SeenPoints | None
    other: Array | None = None  # (F, people, C, 13)
    names: tuple[str, ...] = NAMES  # of a person's capsules

    @cached_property
    def rows(self) -> Array:
        """(F, people, C, 13)."""
        if self.other is not None:
            return self.other
        assert self.points is not None  # one or the other
        return capsules(self.place, *self.points)

    def row(self, number: int) -> Array:
        """(people, C, 13) of one frame."""
        if self.points is None or "rows" in vars(self):
            found: Array = self.rows[number]
            return found
        return capsules(self.place, *(x[number : number + 1] for x in self.points))[0]


def frames(scene: EncounterScene, sensor: str | SensorSettings = "camera") -> SensorFrames:
    """What the sensor gives in this scene, the same for every method; a name stands for that kind with its defaults."""
    settings = sensor if isinstance(sensor, SensorSettings) else _settings(sensor)
    if settings.kind == "ideal":
        true = SeenPoints(scene.points, scene.velocities)
        return SensorFrames(scene.times, scene.times, scene.place, true, scene.other)
    every = settings.gap_every
    drawn = noise.timings(scene.seed, settings.latency, settings.gap, every)
    stamps, at = _shutter(settings.frame_period, scene.duration)
    keep = np.ones(len(stamps), dtype=bool)
    latency, gap, length = next(drawn)
    while every and gap < scene.duration:
        end = gap + length
        keep &= (stamps < gap) | (stamps >= end)
        _, wait, length = next(drawn)
        gap = end + wait
    which, back = np.flatnonzero(keep), settings.baseline
    stamps, at = stamps[which], at[which]
    if len(at) and not 0 <= at[-1] < len(scene.points):
        raise ValueError(f"people must be known until {stamps[-1]:g} s; got {len(scene.points)} places of theirs")
    truth, velocities = (piece((len(at), *scene.points.shape[1:]), scene.points.dtype) for _ in range(2))
    np.take(scene.points, at, axis=0, out=truth, mode="clip")  # none is outside; "raise" would copy
    seen, later = noise.seen_points(scene.seed, truth, settings.noise, which), slice(back, None)
    velocities[:back] = 0.0
    np.subtract(seen[later], seen[:-back], out=velocities[later])
    velocities[later] /= (stamps[later] - stamps[:-back])[:, None, None, None]
    return SensorFrames(stamps, stamps + latency, scene.place, SeenPoints(seen, velocities))


@lru_cache(maxsize=8)
def _shutter(frame: float, duration: float) -> tuple[Array, NDArray[np.int64]]:
    """When a camera without gaps takes frames, s, and the numbers of the control times; people stand until 0."""
    stamps = frame * np.arange(-round(BEFORE / frame), math.floor(duration / frame + 1e-9) + 1, dtype=float)
    return stamps, np.maximum(np.round(stamps / PERIOD).astype(int), 0)


@cache
def _settings(sensor: str) -> SensorSettings:
    if sensor not in SENSORS:
        raise UnknownNameError(f"sensor: expected {' or '.join(SENSORS)}; got {sensor!r}")
    return SensorSettings(kind=sensor)


DURATION = 10.0  # s
REACHED = 0.025  # m: a tool so near to its goal has reached it
STAND = 0.4  # m, from the floor to the arm's base
SEARCH = 1_000_000
"""Seeds from here on are for searches; `bench encounters` refuses them, and a search must refuse those below."""

DRAWN = 4000  # configurations from which goals are taken
MARGIN = 0.1  # of a joint's range, left at both ends
APART = 0.03  # m: what a goal's configuration keeps between parts of the arm, and above the floor; see _kept_apart
BETWEEN = (0.45, 0.85)  # of the reach: horizontal distance of goals from the base
HEIGHTS = (0.1, 0.9)  # of the reach, above the base
BESIDE = math.radians(75)  # goals are within it of the arm's front
STEP = (0.25, 1.2)  # of the reach: between a goal and the next
COLUMN = 0.3  # of the reach: the straight way between two goals stays so far from the base's axis
GOALS = (4, 1.5)  # in a scene, and more a second of it: an arm reaches about one a second at most
LEVEL = 0.15  # m: an end of a capsule whose height changes less is carried by the base


class Place:
    """An arm at its place: what all its scenes share, computed once."""

    def __init__(self, arm: Arm) -> None:
        self.arm, self.body = arm, Body(arm)
        self.base = np.array(arm.model.base[:3, 3]) - [0.0, 0.0, STAND]  # below the arm, on the floor
        self.moving = [k for k, link in enumerate(self.body.links) if link != BASE]
        tool = arm.pose(arm.ready)[:2, 3] - self.base[:2]
        self.front = math.atan2(tool[1], tool[0]) if np.linalg.norm(tool) > 0.05 else 0.0
        self._steps = dict[int, NDArray[np.bool_]]()

    @cached_property
    def _drawn(self) -> tuple[Array, Array]:
        """Configurations (B, n), the same ones each time, and the arm's capsules there (B, R, 13)."""
        low, high = self.arm.model.sampling_range()
        margin = MARGIN * (high - low)
        q = np.random.default_rng(0).uniform(low + margin, high - margin, (DRAWN, self.arm.n))
        return q, self.body.kernel(q, np.zeros_like(q))

    @cached_property
    def lifted(self) -> Array:
        """(R, 2) of each capsule's ends, whether the joints can lift it off the floor."""
        heights = self._drawn[1][:, :, [2, 5]]
        found: Array = np.ptp(heights, axis=0) > LEVEL
        return found

    @cached_property
    def apart(self) -> Pairs | None:
        """Pairs of the arm with itself."""
        pairs = self.body.self_pairs
        return Pairs(len(self.body), 0, pairs) if pairs else None

    def own(self, rows: Array) -> Array:
        """(B,) the least distance of the arm from itself, for capsules (B, R, 13)."""
        if self.apart is None:
            return np.full(len(rows), np.inf)
        least: Array = self.apart(rows)[..., DISTANCE].min(axis=1)
        return least

    def _kept_apart(self, rows: Array) -> NDArray[np.bool_]:
        """(B,) whether every pair of the arm with itself is `APART`, or half of what a wrist leaves it at ready."""
        if self.apart is None:
            return np.ones(len(rows), dtype=bool)
        ready = self.apart(self.body.rows(self.arm.ready, np.zeros(self.arm.n)))[:, DISTANCE]
        return np.all(self.apart(rows)[..., DISTANCE] > np.minimum(APART, ready / 2), axis=1)

    def above(self, rows: Array) -> Array:
        """(B,) the least height of the arm over the floor, for capsules (B, R, 13)."""
        heights = rows[:, :, [2, 5]] - rows[:, :, RADIUS, None] - self.base[2]
        if not self.lifted.any():
            return np.full(len(rows), np.inf)
        least: Array = heights[:, self.lifted].min(axis=1)
        return least

    @cached_property
    def reach(self) -> float:
        """m, how far from the base's axis the tool comes, but for the outermost of the configurations drawn."""
        tools = self.arm.compile("pose")(self._drawn[0])[:, :3, 3] - self.base
        return float(np.quantile(np.linalg.norm(tools[:, :2], axis=1), 0.98))

    @property
    def goals(self) -> Array:
        """(G, 3) positions from which scenes draw."""
        return self.candidates[1]

    def steps_from(self, goal: int) -> NDArray[np.bool_]:
        """(G,) to which goals a way may lead from one of them, or from the ready pose (-1)."""
        if goal not in self._steps:
            at = self.goals[goal] if goal >= 0 else self.arm.pose(self.arm.ready)[:3, 3]
            far = np.linalg.norm(self.goals - at, axis=1) / self.reach
            clear = beside(at[:2] - self.base[:2], self.goals[:, :2] - self.base[:2]) > COLUMN * self.reach
            self._steps[goal] = (far > STEP[0]) & (far < STEP[1]) & clear
        return self._steps[goal]

    @cached_property
    def candidates(self) -> tuple[Array, Array]:
        """(G, n) joint poses, and (G, 3) where they have the tool: in front, the arm clear of itself and the floor."""
        q, rows = self._drawn
        tools = self.arm.compile("pose")(q)[:, :3, 3]
        offset = tools - self.base
        out = np.linalg.norm(offset[:, :2], axis=1) / self.reach
        aside = np.arctan2(offset[:, 1], offset[:, 0]) - self.front
        good = (out > BETWEEN[0]) & (out < BETWEEN[1])
        high = (offset[:, 2] - STAND) / self.reach
        good &= (high > HEIGHTS[0]) & (high < HEIGHTS[1])
        good &= np.abs(np.remainder(aside + math.pi, 2 * math.pi) - math.pi) < BESIDE
        good &= self._kept_apart(rows) & (self.above(rows) > APART)
        if np.count_nonzero(good) < 20:
            raise ElbowroomError(
                f"{self.arm.name}: expected an arm with room for goals before it; of {DRAWN} configurations "
                f"{np.count_nonzero(good)} have the tool in front, above the floor and the arm clear of itself"
            )
        return q[good], tools[good]


@cache
def place(arm: str | Arm) -> Place:
    """The place of an arm: a catalogue name, a file, or the arm itself."""
    from ...loading import load

    return Place(arm if isinstance(arm, Arm) else load(arm))


@dataclass(frozen=True)
class EncounterScene:
    """What happens in an encounter, whatever the arm does.

    A person has C capsules: `CAPSULES`, or as many as something has that is shown in a person's place.
    """

    place: Place
    seed: int
    people: int
    times: Array  # (T + 1,) s
    goals: Array  # (G, 3)
    points: Array  # (T + 1, people, P, 3) of the skeletons
    other: Array | None = None  # (T + 1, people, C, 13) where something else is in the place of people
    start: Array | None = None  # (n,) where the arm begins, if not at ready

    @property
    def duration(self) -> float:
        """s."""
        return float(self.times[-1])

    @cached_property
    def velocities(self) -> Array:
        """(T + 1, people, P, 3) of the points, m/s."""
        found: Array = np.gradient(self.points, PERIOD, axis=0)
        return found

    @cached_property
    def rows(self) -> Array:
        """(T + 1, people, C, 13): the true capsules with their true velocities."""
        return capsules(self.place, self.points, self.velocities) if self.other is None else self.other


def scene(
    where: Place,
    seed: int,
    people: int = 1,
    duration: float = DURATION,
    limb_speed: float = people_.LIMB_SPEED,
    scripts: Sequence[Sequence[float]] = (),
) -> EncounterScene:
    """The encounter of this seed; people keep every point of theirs below `limb_speed` (m/s).

    `scripts` has what the first people do (script.py); without one a person is drawn by the seed.
    """
    times = PERIOD * np.arange(round(duration / PERIOD) + 1, dtype=float)
    goals = _sequence(where, np.random.default_rng([0, seed]), GOALS[0] + math.ceil(GOALS[1] * duration))
    ready = where.arm.pose(where.arm.ready)[:3, 3]
    likely = [ready, ready, ready, *goals[:3]]  # where the arm is at first, and goes to in the time
    random = list[np.random.Generator | ScriptedRandom]()
    for k in range(people):
        drawn = np.random.default_rng([1, seed, k])
        random.append(ScriptedRandom(scripts[k], drawn) if k < len(scripts) else drawn)
    who = [people_.visitor(each, likely, where.base, where.front, duration, limb_speed) for each in random]
    points = [visitor.points(times) for visitor in who]
    together = points[0][:, None] if people == 1 else np.stack(points, axis=1)
    return EncounterScene(where, seed, people, times, goals, together)


def capsules(where: Place, points: Array, velocities: Array) -> Array:
    """(..., 13, 13): rows of people from points and velocities (..., P, 3)."""
    rows: Array = people_.skeleton(float(where.base[2])).kernel(np.ascontiguousarray(points), velocities)
    return rows


def still(rows: Array) -> Array:
    """The same capsules at rest."""
    found = rows.copy()
    found[..., VELOCITY_A], found[..., VELOCITY_B] = 0.0, 0.0
    return found


def _sequence(where: Place, random: np.random.Generator, wanted: int) -> Array:
    """(wanted, 3) each a step from the last, the straight way clear of the column."""
    goals, at, found = where.goals, -1, list[int]()
    count = len(goals)
    while len(found) < wanted:
        order, fits = random.permutation(count), where.steps_from(at)
        first = int(order[fits[order].argmax()])
        at = first if fits[first] else int(order[-1])  # the first that will do
        found.append(at)
    return goals[found]


def beside(a: Array, b: Array) -> Array:
    """How far the segments from a (2,) to b (..., 2) pass from the origin."""
    s = b - a
    part = np.clip(-(s @ a) / np.maximum((s * s).sum(axis=-1), 1e-12), 0.0, 1.0)
    return np.hypot(*np.moveaxis(a + part[..., None] * s, -1, 0))
