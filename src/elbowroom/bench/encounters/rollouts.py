"""The benchmark: control steps a second in encounters, one after the other and in SIMD lanes.

    one by one      `run`: the loop that an arm has, a step for one arm at a time
    in lanes        `Together`: closed loops in SIMD lanes, with the same numbers as one by one to the bit
    with all        in lanes, and what else an encounter takes: its goals, people, the camera's frames, the figures
    processes       the same in as many processes as there are cores
    on a card       closed loops on a graphics card, where there is one: its own time beside that with the tables' way

In double precision and in single, where a run in lanes has the same bits as it has in lanes alone.  All on the clock,
in turns, so that a slow second of a shared machine meets them all: the best turn and the median; and by the time that
the processes had a core, which others on the machine take less of.
"""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from multiprocessing import get_context
from typing import NamedTuple

import numpy as np

from ...compile.cuda import library
from ...errors import ElbowroomError
from ..timing import Progress, cpu_name, load_average, silent
from .batch import Together
from .methods import supervised
from .on_card import OnCard, Room
from .run import RunTrack, measured
from .run import run as run_alone
from .scene import EncounterScene, SensorFrames, frames, place, scene

RUNS = (32, 8)  # in lanes, in a turn
WHOLE = 32  # with all, in a turn of a process
ALONE = 4  # one by one, in a turn
ON_CARD = 1 << 18  # at most; each of the encounters in lanes equally often, as many as the card has room for
DURATION = 10.0  # s
TURNS = 3
PRECISIONS = ("float64", "float32")


class Contestant(NamedTuple):
    """What is timed."""

    what: str
    precision: str
    encounters: int
    processes: int


@dataclass(frozen=True)
class RolloutRow:
    """Control steps a second."""

    robot: str
    what: str
    precision: str
    encounters: int  # in a turn
    processes: int
    rate: float  # of the best turn
    median: float
    core_rate: float  # of the best turn, by the time that the processes had a core
    ratio: float  # of that to one by one


@dataclass(frozen=True)
class RolloutReport:
    """What was measured."""

    rows: list[RolloutRow]
    same: int  # encounters whose numbers were the same to the bit: in lanes, and one by one or alone in lanes
    compared: int
    duration: float
    memory: float  # MB, the most that a process had
    cpu: str
    cores: int
    load: float | None


class _Spent(NamedTuple):
    """Encounters that were run, and seconds of a core."""

    encounters: int
    seconds: float


class _Contest:
    """One arm: the same encounters one by one and in lanes."""

    def __init__(self, robot: str, seed: int) -> None:
        self.robot, self.seed = robot, seed
        where = place(robot)
        self.scenes = [scene(where, seed + k, duration=DURATION) for k in range(max(RUNS))]
        self.seen = [frames(each, "camera") for each in self.scenes]
        self.steps = len(self.scenes[0].times) - 1
        self.alone, self.tracks = list[RunTrack](), dict[str, list[RunTrack]]()
        self._cards, self.carded = dict[str, tuple[OnCard, int]](), dict[str, list[RunTrack | None]]()
        short = replace(self.scenes[0], times=self.scenes[0].times[:6], points=self.scenes[0].points[:6])
        for precision in PRECISIONS:  # what they need is compiled now
            track = _together(robot, precision).run([short], self.seen[:1])[0]
            measured(short, track, 1)
        run_alone(short, supervised, self.seen[0])

    def one_by_one(self) -> _Spent:
        """As an arm has it."""
        began = time.process_time()
        self.alone = [run_alone(self.scenes[k], supervised, self.seen[k]) for k in range(ALONE)]
        return _Spent(ALONE, time.process_time() - began)

    def in_lanes(self, precision: str, runs: int) -> _Spent:
        """Closed loops alone."""
        began = time.process_time()
        self.tracks[precision] = _together(self.robot, precision).run(self.scenes[:runs], self.seen[:runs])
        return _Spent(runs, time.process_time() - began)

    def with_all(self, precision: str) -> _Spent:
        """From seeds to figures."""
        return _whole(self.robot, precision, self.seed, WHOLE)

    def card(self, precision: str) -> tuple[OnCard, int]:
        """The closed loops on a card, and how often it takes each of the encounters at once."""
        if precision not in self._cards:
            made = OnCard(supervised, place(self.robot), 1, dtype=np.dtype(precision))
            self._cards[precision] = made, made.fitting(Room(lanes=ON_CARD), DURATION) // len(self.scenes)
        return self._cards[precision]

    def on_card(self, precision: str) -> _Spent:
        """Closed loops alone, on a card; seconds are the card's."""
        (made, times), synchronize = self.card(precision), library().cuda.Device().synchronize
        given = made.given(zip(self.scenes, self.seen, strict=True), times)
        assert given is not None
        synchronize()
        began = time.perf_counter()
        given.lanes.run(given.steps)
        synchronize()
        seconds = time.perf_counter() - began
        self.carded[precision] = made.tracks(given)
        return _Spent(given.lanes.count, seconds)

    def in_processes(self, pool: ProcessPoolExecutor, precision: str, count: int) -> _Spent:
        """The same in each of so many processes."""
        seeds = range(self.seed, self.seed + count * WHOLE, WHOLE)
        done = list(pool.map(_whole, [self.robot] * count, [precision] * count, seeds, [WHOLE] * count))
        return _Spent(sum(each.encounters for each in done), sum(each.seconds for each in done) / count)

    def same(self) -> list[bool]:
        """Of the encounters that ran both ways, whether all numbers were the same."""
        single = _together(self.robot, "float32")
        again = [single.run(self.scenes[k : k + 1], self.seen[k : k + 1])[0] for k in range(len(self.alone))]
        pairs = [*zip(self.alone, self.tracks["float64"], strict=False)]
        pairs += zip(again, self.tracks["float32"], strict=False)
        pairs += (
            (a, b) for name, found in self.carded.items() for a, b in zip(found, self.tracks[name], strict=False) if a
        )
        return [np.array_equal(a.q, b.q) and np.array_equal(a.asked, b.asked) for a, b in pairs]


def run(robots: Sequence[str], *, runs: int = TURNS, seed: int = 0, progress: Progress = silent) -> RolloutReport:
    """`runs` turns of each."""
    rows, same, cores = list[RolloutRow](), list[bool](), os.cpu_count() or 1
    load = load_average()
    for robot in robots:
        progress(f"{robot}: people, and compiling")
        contest, times = _Contest(robot, seed), dict[Contestant, list[tuple[float, float]]]()
        with ProcessPoolExecutor(cores, mp_context=get_context("fork")) as pool:
            contestants: dict[Contestant, Callable[[], _Spent]] = {
                Contestant("one by one", "float64", ALONE, 1): contest.one_by_one
            }
            for precision in PRECISIONS:
                for count in sorted(RUNS):
                    contestants[Contestant("in lanes", precision, count, 1)] = partial(
                        contest.in_lanes, precision, count
                    )
                contestants[Contestant("with all", precision, WHOLE, 1)] = partial(contest.with_all, precision)
                contestants[Contestant("with all", precision, WHOLE * cores, cores)] = partial(
                    contest.in_processes, pool, precision, cores
                )
            if _has_card():
                for precision in PRECISIONS:
                    count = contest.card(precision)[1] * len(contest.scenes)
                    contestants[Contestant("on a card", precision, count, 1)] = partial(contest.on_card, precision)
            for turn in range(runs):
                for what, work in contestants.items():
                    progress(f"{robot}: turn {turn + 1} of {runs}, {what.what}, {what.precision}")
                    began = time.perf_counter()
                    spent = work()
                    steps = spent.encounters * contest.steps
                    clock = time.perf_counter() - began
                    times.setdefault(what, []).append((steps / clock, steps / spent.seconds))
        base = max(by_core for _, by_core in times["one by one", "float64", ALONE, 1])  # type: ignore[index]  # keys of four parts
        for what, taken in times.items():
            on_clock, by_core = zip(*taken, strict=True)
            best = max(by_core)
            rows.append(RolloutRow(robot, *what, max(on_clock), float(np.median(on_clock)), best, best / base))
        same += contest.same()
    used = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return RolloutReport(rows, sum(same), len(same), DURATION, used / 1024, cpu_name(), cores, load)


def _has_card() -> bool:
    try:
        library()
    except ElbowroomError:
        return False
    return True


_kept: dict[tuple[str, str], Together] = {}


def _together(robot: str, precision: str) -> Together:
    if (robot, precision) not in _kept:
        _kept[robot, precision] = Together(supervised, place(robot), 1, dtype=np.dtype(precision))
    return _kept[robot, precision]


def _whole(robot: str, precision: str, seed: int, runs: int) -> _Spent:
    """Encounters from their seeds to their figures."""
    where, began = place(robot), time.process_time()

    def drawn() -> Iterator[tuple[EncounterScene, SensorFrames]]:
        for k in range(runs):
            what = scene(where, seed + k, duration=DURATION)
            yield what, frames(what, "camera")

    done = [measured(what, track, 1) for _, what, track in _together(robot, precision).stream(drawn())]
    return _Spent(len(done), time.process_time() - began)
