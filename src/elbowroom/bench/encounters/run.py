"""Encounters run (`run` one method in one scene, `simulate` many scenes, `compare` several methods), and their figures.

Figures of an encounter, from the arm's joints and the people as they truly were.

touched       a capsule of the arm that joints move and one of a person overlap at a control time
approach      they do while the arm's own motion of the last cycle closes that pair faster than `APPROACH`
least         the least distance of arm and people over the run, m; negative in overlap
itself, floor how deep the arm was in itself (`Body.self_pairs`) and in the floor at worst; 0 for never, m
ends          joints that were at or beyond a limit of their position at a control time
goals         goals reached; `alone`: by the reference, the K controller with nobody there
jerk          root of the mean, over time and joints, of the squared second difference of the commanded speeds
              divided by the period squared, rad/s^3
fastest       the greatest commanded speed of a joint in velocity limits of the model

Intervals at 95 %, and a test for pairs:

rate        Clopper and Pearson's exact interval for k events in n runs; no event in n: below about 3 / n
paired      McNemar's exact test for two methods in the same scenes: with b scenes in which only the one touched and
            c in which only the other did, how likely a difference as large is by chance
ratio       the bootstrap's interval for a ratio of two sums over runs, runs drawn anew with their pairs kept
more        the same for the difference of two sums

Encounters run: `run` for one method in one scene, `simulate` for many scenes, `compare` for several methods.

    results = simulate(factory, "panda", range(100))                    # a RunResult a seed, in order
    results = compare({"K": factory, ...}, "panda", range(100))         # {"K": [...], ...}

The arm's joints follow the command exactly:

    q(k+1) = q(k) + qd(k) PERIOD, held at the joints' limits

A method that has `latched` is reset `RESET_AFTER` a stop.  The same seed and method give the same result (times apart),
in one process or in many.
"""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import cache, partial
from types import ModuleType
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from ...arm import Arm
from ...avoidance import Goal, State
from ...avoidance.control.obstacles import Obstacles
from ...errors import ElbowroomError, pip_install
from ...geometry import Pairs
from ...geometry.distance import CLOSING, DISTANCE
from ...geometry.shapes import A, B
from .methods import Factory, Latching, Method, controller
from .nearness import Near, nearness
from .people import LIMB_SPEED
from .scene import CAPSULES, DURATION, PERIOD, REACHED, EncounterScene, Place, SensorFrames, frames, place, scene, still

Array = NDArray[np.float64]
T = TypeVar("T")
APPROACH = 0.05  # m/s
WIDE = 32
EVERY = 16  # control times, in `contacts`
SLACK = 1e-6  # m: what is left to rounding


class RunTrack(NamedTuple):
    """What the arm did in a run of T steps."""

    q: Array  # (T + 1, n)
    asked: Array  # (T, n) the commanded speeds
    goals: int
    stops: int
    seconds: Array  # (T,) of each step; NaN where they are not known

    @property
    def timed(self) -> bool:
        """Whether the times of steps are known."""
        return not np.isnan(self.seconds[:1]).all()


@dataclass(frozen=True)
class RunResult:
    """One run of one method; the module's docstring has the definitions."""

    seed: int
    touched: bool
    approach: bool
    least: float
    itself: float
    floor: float
    ends: int
    goals: int
    alone: int
    jerk: float
    stops: int
    microseconds: float  # median of the steps
    fastest: float


@cache
def _pairs(own: int, others: int) -> Pairs:
    return Pairs(own, others)


def _rms(values: Array) -> float:
    """Zero of nothing: a run of two cycles has no jerk."""
    return float(np.sqrt(np.mean(np.square(values)))) if values.size else 0.0


def _extremes(values: Array) -> tuple[Array, Array]:
    """(n,) the least and the greatest of columns (T, n); T in rows of `WIDE`, which NumPy goes through quickly."""
    many, n = len(values) - len(values) % WIDE, values.shape[1]
    wide, rest = values[:many].reshape(-1, WIDE * n), values[many:]
    least, most = (
        fold.reduce(np.concatenate([fold.reduce(wide, initial=start).reshape(WIDE, n), rest]))
        for fold, start in ((np.minimum, np.inf), (np.maximum, -np.inf))
    )
    return least, most


class Distances(NamedTuple):
    """Arm and people at the T + 1 control times: pairs P of each moving capsule of the arm with each of the people."""

    rows: Array  # (T + 1, R, 13) the arm's capsules, moving as they did in the last cycle
    distance: Array  # (T + 1, P) m, negative in overlap
    own: Array  # (T + 1, P) m/s, at which the arm's own motion closes the pair


def distances(scene: EncounterScene, track: RunTrack) -> Distances:
    """From the arm's joints and the people as they truly were."""
    where = scene.place
    moved = np.vstack([np.zeros(where.arm.n), np.diff(track.q, axis=0) / PERIOD])
    rows = where.body.kernel(track.q, moved)
    table = pair_table(where, rows, still(scene.rows))
    return Distances(rows, table[..., DISTANCE], table[..., CLOSING])


def contacts(scene: EncounterScene, track: RunTrack) -> Distances:
    """The same, but infinite at times when no pair can overlap.

    All pairs are measured at every `EVERY`th time.  From one time to another none comes nearer than the farthest that
    an end of the arm's capsules went meanwhile, and an end of people's.
    """
    where = scene.place
    moved = np.vstack([np.zeros(where.arm.n), np.diff(track.q, axis=0) / PERIOD])
    rows, people = where.body.kernel(track.q, moved), still(scene.rows)
    count = len(rows)
    others = people.reshape(count, -1, people.shape[-1])
    ways = np.concatenate([[0.0], np.cumsum(_farthest(rows[:, where.moving]) + _farthest(others))])
    known = np.append(np.arange(0, count - 1, EVERY), count - 1)
    apart = pair_table(where, rows[known], people[known])[..., DISTANCE].min(axis=1)
    times = np.arange(count)
    before = np.minimum(times // EVERY, len(known) - 1)
    after = np.minimum(before + 1, len(known) - 1)
    since, until = ways - ways[known[before]], ways[known[after]] - ways
    near = np.flatnonzero((apart[before] - since <= SLACK) & (apart[after] - until <= SLACK))
    table = pair_table(where, rows[near], people[near])
    distance = np.full((count, table.shape[1]), np.inf)
    own = np.zeros_like(distance)
    distance[near], own[near] = table[..., DISTANCE], table[..., CLOSING]
    return Distances(rows, distance, own)


def _farthest(rows: Array) -> Array:
    """(T - 1,) the farthest that an end of capsules (T, C, 13) goes from one time to the next, m."""
    ends = np.concatenate([rows[..., A], rows[..., B]], axis=1)
    steps = np.diff(ends, axis=0)
    found: Array = np.sqrt(np.einsum("tci,tci->tc", steps, steps).max(axis=1))
    return found


def pair_table(where: Place, rows: Array, people: Array) -> Array:
    """(T, P, 12): pairs of the arm's capsules (T, R, 13) that joints move and those of people (T, people, C, 13)."""
    others = people.reshape(len(rows), people.shape[1] * people.shape[2], people.shape[3])
    both = np.concatenate([rows[:, where.moving], others], axis=1)
    table: Array = _pairs(len(where.moving), others.shape[1])(np.ascontiguousarray(both))
    return table


def measured(
    scene: EncounterScene, track: RunTrack, alone: int, near: Near | None = None, apart: Distances | None = None
) -> RunResult:
    """The result of a run; `alone` is what the reference reached, the others what is known of the run already."""
    people, _, itself, floor = near or nearest(scene, track)
    approach = False
    if people < 0.0:
        _, distance, closing = apart or contacts(scene, track)
        approach = bool(((distance < 0.0) & (closing > APPROACH)).any())
    model = scene.place.arm.model
    (lowest, highest), (back, forth) = _extremes(track.q), _extremes(track.asked)
    ends = (lowest <= model.lower) | (highest >= model.upper)
    return RunResult(
        seed=scene.seed,
        touched=people < 0.0,
        approach=approach,
        least=people,
        itself=max(0.0, -itself),
        floor=max(0.0, -floor),
        ends=int(ends.sum()),
        goals=track.goals,
        alone=alone,
        jerk=_rms(np.diff(track.asked, n=2, axis=0)) / PERIOD**2,
        stops=track.stops,
        microseconds=float(np.median(track.seconds)) * 1e6 if track.timed else np.nan,
        fastest=float((np.maximum(-back, forth) / model.velocity).max()),
    )


def nearest(scene: EncounterScene, track: RunTrack) -> Near:
    """How near the arm came to people, to itself and to the floor at the T + 1 control times."""
    if scene.other is None:
        return nearness(scene.place, scene.people).of(track.q, scene.points)
    return nearness(scene.place, scene.people, scene.other.shape[2]).of(track.q, scene.other)


LEVEL = 0.95
DRAWS = 2000


@dataclass(frozen=True)
class Interval:
    """A figure between two bounds."""

    value: float
    low: float
    high: float


def rate(events: int, runs: int) -> Interval:
    """The part of runs with an event."""
    stats, tail = _scipy(), (1.0 - LEVEL) / 2
    low = float(stats.beta.ppf(tail, events, runs - events + 1)) if events else 0.0
    high = float(stats.beta.ppf(1.0 - tail, events + 1, runs - events)) if events < runs else 1.0
    if not events:  # one bound alone: all of the doubt is above
        high = float(stats.beta.ppf(LEVEL, 1, runs))
    return Interval(events / runs, low, high)


@dataclass(frozen=True)
class Paired:
    """Scenes in which only the one had the event, only the other, and how likely that is if both are alike."""

    only_this: int
    only_other: int
    p: float


def paired(this: Sequence[bool], other: Sequence[bool]) -> Paired:
    """Events of two methods, scene by scene."""
    b = sum(x and not y for x, y in zip(this, other, strict=True))
    c = sum(y and not x for x, y in zip(this, other, strict=True))
    return discordant(b, c)


def discordant(this: int, other: int) -> Paired:
    """The same from the numbers of scenes in which only the one had the event, and only the other."""
    p = float(_scipy().binomtest(this, this + other, 0.5).pvalue) if this + other else 1.0
    return Paired(this, other, p)


def ratio(part: Sequence[float], whole: Sequence[float]) -> Interval:
    """sum(part) / sum(whole); NaN where the whole is nothing."""
    over, under = np.asarray(part, dtype=float), np.asarray(whole, dtype=float)
    if not under.sum():
        return Interval(np.nan, np.nan, np.nan)
    drawn = np.random.default_rng(0).integers(len(over), size=(DRAWS, len(over)))
    below = under[drawn].sum(axis=1)
    found = over[drawn].sum(axis=1)[below > 0] / below[below > 0]
    low, high = np.quantile(found, [(1.0 - LEVEL) / 2, (1.0 + LEVEL) / 2])
    return Interval(float(over.sum() / under.sum()), float(low), float(high))


def more(this: Sequence[float], other: Sequence[float]) -> Interval:
    """sum(this) - sum(other), of runs in the same scenes."""
    each = np.asarray(this, dtype=float) - np.asarray(other, dtype=float)
    drawn = np.random.default_rng(0).integers(len(each), size=(DRAWS, len(each)))
    low, high = np.quantile(each[drawn].sum(axis=1), [(1.0 - LEVEL) / 2, (1.0 + LEVEL) / 2])
    return Interval(float(each.sum()), float(low), float(high))


def _scipy() -> ModuleType:
    try:
        from scipy import stats
    except ImportError as error:
        raise ElbowroomError(
            f"intervals and tests of rates need scipy: pip install scipy; the peers come with {pip_install('bench')}"
        ) from error
    return stats


RESET_AFTER = 1.0  # s


def run(scene: EncounterScene, factory: Factory, frames: SensorFrames | None, sensor: str = "camera") -> RunTrack:
    """The encounter with this method; without frames nobody is there."""
    arm = scene.place.arm
    method = factory(arm, scene.people, sensor)
    guard = method if isinstance(method, Latching) else None
    obstacles = _places(method, scene.people)
    steps, n = len(scene.times) - 1, arm.n
    q, asked = np.empty((steps + 1, n)), np.empty((steps, n))
    q[0] = arm.ready if scene.start is None else scene.start
    lower, upper = arm.model.lower, arm.model.upper
    state, goal = State(q[0]), Goal(scene.goals[0])
    goals = stops = shown = 0
    latched, reset_at = False, 0.0
    spent = np.empty(steps)
    pose, tool = arm.pose, np.empty((4, 4))
    clock = time.perf_counter_ns
    for k in range(steps):
        t = k * PERIOD
        if frames is None:
            for person in range(scene.people):
                obstacles.nobody(t, person)
        else:
            there = shown
            while there < len(frames.arrivals) and frames.arrivals[there] <= t + 1e-9:
                there += 1
            if there > shown:
                for person in range(scene.people):
                    obstacles.see(frames.rows[there - 1, person], frames.stamps[there - 1], person, frames.names)
                shown = there
        state.t = t
        if guard is not None and latched and t >= reset_at:
            guard.reset(t)
        begin = clock()
        command = method.step(t, PERIOD, state, obstacles, goal)
        spent[k] = 1e-9 * (clock() - begin)
        asked[k] = command.qd
        if guard is not None and guard.latched:
            if not latched:
                latched, stops, reset_at = True, stops + 1, t + RESET_AFTER
        else:
            latched = False
        ahead = q[k + 1] = np.clip(q[k] + PERIOD * asked[k], lower, upper)
        state.q[:], state.qd[:] = ahead, (ahead - q[k]) / PERIOD
        if reached(pose(ahead, out=tool)[:3, 3], goal.position):
            goals += 1
            goal.position = scene.goals[goals % len(scene.goals)]
            goal.t = t
    return RunTrack(q, asked, goals, stops, spent)


def reached(tool: Array, goal: Array) -> Any:
    """Whether a tool (..., 3) is at its goal."""
    off = tool - goal
    return off[..., 0] ** 2 + off[..., 1] ** 2 + off[..., 2] ** 2 < REACHED**2


def _places(method: Method, people: int) -> Obstacles:
    """The obstacles as the method takes them."""
    for owner in (method, getattr(method, "controller", None)):
        make = getattr(owner, "obstacles", None)
        if make is not None:
            places: Obstacles = make()
            return places
    return Obstacles(people, 0, CAPSULES)


# ---- many encounters


@dataclass(frozen=True)
class Conditions:
    """What all runs of a comparison share."""

    arm: str | Arm
    people: int = 1
    sensor: str = "camera"
    duration: float = DURATION
    limb_speed: float = LIMB_SPEED
    alone: Factory = controller  # what work is measured by: this, with nobody there


def encounter(methods: Mapping[str, Factory], where: Conditions, seed: int) -> dict[str, RunResult]:
    """One scene, each method in it."""
    what = scene(place(where.arm), seed, where.people, where.duration, where.limb_speed)
    seen = frames(what, where.sensor)
    alone = run(what, where.alone, None, where.sensor).goals
    return {name: measured(what, run(what, make, seen, where.sensor), alone) for name, make in methods.items()}


def compare(
    methods: Mapping[str, Factory],
    arm: str | Arm,
    seeds: Iterable[int],
    people: int = 1,
    sensor: str = "camera",
    *,
    duration: float = DURATION,
    limb_speed: float = LIMB_SPEED,
    jobs: int | None = None,
    progress: Callable[[int, int], None] | None = None,
    alone: Factory = controller,
) -> dict[str, list[RunResult]]:
    """Each method in the scene of each seed; `jobs` processes (all cores if None, 1: in this one).

    `alone` is the reference for the work done: the K controller with its defaults, and nobody there.

    `progress(done, all)` is called after every seed.
    """
    wanted, where = list(seeds), Conditions(arm, people, sensor, duration, limb_speed, alone)
    found: dict[str, list[RunResult]] = {name: [] for name in methods}
    for done, results in enumerate(_each(methods, where, wanted, jobs or os.cpu_count() or 1), 1):
        for name, result in results.items():
            found[name].append(result)
        if progress is not None:
            progress(done, len(wanted))
    return found


def simulate(
    method_factory: Factory,
    arm_name: str | Arm,
    seeds: Iterable[int],
    people: int = 1,
    sensor: str = "camera",
    *,
    duration: float = DURATION,
    limb_speed: float = LIMB_SPEED,
    jobs: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> list[RunResult]:
    """One method in the scene of each seed; see `compare`."""
    return compare(
        {"": method_factory},
        arm_name,
        seeds,
        people,
        sensor,
        duration=duration,
        limb_speed=limb_speed,
        jobs=jobs,
        progress=progress,
    )[""]


_shared: Callable[[int], Any] | None = None  # what forked workers find: no factory is pickled


def _of_worker(seed: int) -> Any:
    assert _shared is not None
    return _shared(seed)


def in_processes(
    work: Callable[[int], T], seeds: Sequence[int], jobs: int, compile_all: Callable[[], object]
) -> Iterator[T]:
    """`work` for every seed, in order, on `jobs` forked processes; `compile_all` is called once before the fork."""
    jobs = min(jobs, len(seeds))
    if jobs <= 1 or "fork" not in multiprocessing.get_all_start_methods():
        yield from map(work, seeds)
        return
    global _shared
    _shared = work
    compile_all()
    pool = ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("fork"))
    try:
        yield from pool.map(_of_worker, seeds)
    finally:
        pool.shutdown(cancel_futures=True)  # after Ctrl-C too: what has not begun is not waited for


def _each(
    methods: Mapping[str, Factory], where: Conditions, seeds: list[int], jobs: int
) -> Iterable[dict[str, RunResult]]:
    def warm() -> object:
        return encounter(methods, replace(where, duration=0.1), 0)

    return in_processes(partial(encounter, methods, where), seeds, jobs, warm)
