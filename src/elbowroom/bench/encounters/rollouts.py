"""The benchmark: control steps a second in encounters, one after the other and side by side.

    one by one      `run`: the loop that an arm has, a step for one arm at a time
    side by side    `Together`: the steps of many arms in SIMD lanes, the same numbers to the bit
    with all        side by side, and what else an encounter takes: its people, the camera's frames, the figures
    processes       the same in as many processes as there are cores

All on the clock, in turns, so that a slow second of a shared machine meets them all: the best turn and the spread.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from multiprocessing import get_context

import numpy as np

from ..timing import Progress, cpu_name, load_average, silent
from .batch import Together
from .methods import supervised
from .run import RunTrack, measured
from .run import run as run_alone
from .scene import frames, place, scene

ARMS = (128, 32)
ALONE = 8  # encounters one by one, in a turn
DURATION = 5.0  # s
TURNS = 3


@dataclass(frozen=True)
class RolloutRow:
    """Control steps a second."""

    robot: str
    what: str
    arms: int
    processes: int
    rate: float  # of the best turn
    median: float
    ratio: float  # of the rate to that of one by one


@dataclass(frozen=True)
class RolloutReport:
    """What was measured."""

    rows: list[RolloutRow]
    same: int  # encounters whose numbers were the same to the bit as one by one
    compared: int
    duration: float
    cpu: str
    cores: int
    load: float | None


class _Contest:
    """One arm: the same encounters one by one and side by side."""

    def __init__(self, robot: str, seed: int) -> None:
        self.robot, self.seed = robot, seed
        where = place(robot)
        self.scenes = [scene(where, seed + k, duration=DURATION) for k in range(max(ARMS))]
        self.seen = [frames(each, "camera") for each in self.scenes]
        self.steps = len(self.scenes[0].times) - 1
        self.together = {arms: Together(supervised, where, 1, arms) for arms in ARMS}
        self.alone, self.tracks = list[RunTrack](), list[RunTrack]()
        short = [replace(each, times=each.times[:6]) for each in self.scenes]
        for arms, many in self.together.items():  # what they need is compiled now
            many.run(short[:arms], self.seen[:arms])
        run_alone(short[0], supervised, self.seen[0])

    def one_by_one(self) -> int:
        """Control steps that were made."""
        self.alone = [run_alone(self.scenes[k], supervised, self.seen[k]) for k in range(ALONE)]
        return ALONE * self.steps

    def side_by_side(self, arms: int) -> int:
        """The same of so many arms."""
        self.tracks = self.together[arms].run(self.scenes[:arms], self.seen[:arms])
        return arms * self.steps

    def with_all(self) -> int:
        """From seeds to figures."""
        return _whole(self.robot, self.seed, ARMS[0]) * self.steps

    def in_processes(self, pool: ProcessPoolExecutor, count: int) -> int:
        """The same in each of so many processes."""
        seeds = range(self.seed, self.seed + count * ARMS[0], ARMS[0])
        return sum(pool.map(_whole, [self.robot] * count, seeds, [ARMS[0]] * count)) * self.steps

    def same(self) -> list[bool]:
        """Of the encounters that ran both ways, whether all numbers were the same."""
        pairs = zip(self.alone, self.tracks, strict=False)
        return [np.array_equal(a.q, b.q) and np.array_equal(a.asked, b.asked) for a, b in pairs]


def run(robots: Sequence[str], *, runs: int = TURNS, seed: int = 0, progress: Progress = silent) -> RolloutReport:
    """`runs` turns of each."""
    rows, same, cores = list[RolloutRow](), list[bool](), os.cpu_count() or 1
    load = load_average()
    for robot in robots:
        progress(f"{robot}: people, and compiling")
        contest, rates = _Contest(robot, seed), dict[tuple[str, int, int], list[float]]()
        with ProcessPoolExecutor(cores, mp_context=get_context("fork")) as pool:
            contenders: dict[tuple[str, int, int], Callable[[], int]] = {
                ("one by one", 1, 1): contest.one_by_one,
                **{("side by side", arms, 1): partial(contest.side_by_side, arms) for arms in ARMS},
                ("with all", ARMS[0], 1): contest.with_all,
                ("with all", ARMS[0], cores): partial(contest.in_processes, pool, cores),
            }
            for turn in range(runs):
                for what, work in contenders.items():
                    progress(f"{robot}: turn {turn + 1} of {runs}, {what[0]}, {what[1]} arms")
                    began = time.perf_counter()
                    rates.setdefault(what, []).append(work() / (time.perf_counter() - began))
        base = max(rates["one by one", 1, 1])
        rows += [
            RolloutRow(robot, *what, max(each), float(np.median(each)), max(each) / base)
            for what, each in rates.items()
        ]
        same += contest.same()
    return RolloutReport(rows, sum(same), len(same), DURATION, cpu_name(), cores, load)


_kept: dict[tuple[str, int], Together] = {}


def _whole(robot: str, seed: int, arms: int) -> int:
    """Encounters from their seeds to their figures; how many."""
    where = place(robot)
    if (robot, arms) not in _kept:
        _kept[robot, arms] = Together(supervised, where, 1, arms)
    scenes = [scene(where, seed + k, duration=DURATION) for k in range(arms)]
    tracks = _kept[robot, arms].run(scenes, [frames(each, "camera") for each in scenes])
    return len([measured(each, track, 1) for each, track in zip(scenes, tracks, strict=True)])
