"""The benchmark: methods in the same encounters, arm by arm, and one row of figures for each."""

from __future__ import annotations

import importlib.util
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from ...errors import ElbowroomError
from ...loading import load
from ..timing import Progress, cpu_name, load_average, silent
from .methods import ALL, METHODS, WITHOUT, expanded
from .people import LIMB_SPEED
from .run import Interval, Paired, RunResult, compare, more, paired, rate, ratio
from .scene import DURATION, SEARCH

ROBOTS = ("panda", "ur5e", "iiwa14")
RUNS = 100
REFERENCE = "K"  # what others are paired with
NEEDS = {"CBF-QP": ("daqp",), "CBF-QP static": ("daqp",), "mink": ("mink", "mujoco", "daqp")}
NEEDS["Pink"] = ("pink", "pinocchio", "coal", "daqp")
BAR = 30  # letters
EVERY = "all"


@dataclass(frozen=True)
class MethodRow:
    """The figures of one method with one arm; metrics.py has the definitions."""

    robot: str
    method: str
    runs: int
    touched: Interval
    approach: Interval
    least: float  # m, over all runs
    least_5: float  # m, that 5 % of the runs came below
    least_median: float  # m
    itself: Interval  # runs in which the arm overlapped itself
    floor: Interval
    ends: Interval  # runs in which a joint was at its end
    throughput: Interval  # goals of all runs over those of the arm alone
    goals: int
    alone: int
    jerk: float  # rad/s^3, root of the mean square over runs
    stops: float  # a run
    microseconds: float  # median over runs of their medians
    fastest: float  # in velocity limits
    against_reference: Paired | None  # touches, paired with those of REFERENCE


@dataclass(frozen=True)
class PairRow:
    """A method beside the one without what it adds (`WITHOUT`), in the same scenes."""

    robot: str  # `EVERY`: of all arms
    method: str
    without: str
    runs: int
    goals: int
    goals_without: int
    more: Interval  # goals
    better: int  # runs with more goals, and with fewer
    worse: int
    touched: int
    touched_without: int
    touches: Paired
    approaches: Paired


@dataclass(frozen=True)
class EncounterReport:
    """All rows, all runs, and under what conditions."""

    rows: list[MethodRow]
    missing: list[str]
    runs: int
    seed: int
    people: int
    sensor: str
    limb_speed: float
    duration: float
    cpu: str
    results: dict[str, dict[str, list[RunResult]]]  # by robot and method, a run a seed
    pairs: list[PairRow] = field(default_factory=list)
    cores: int = field(default_factory=lambda: os.cpu_count() or 1)
    load: float | None = field(default_factory=load_average)


def run(
    robots: Sequence[str] = ROBOTS,
    *,
    progress: Progress = silent,
    runs: int = RUNS,
    seed: int = 0,
    people: int = 1,
    sensor: str = "camera",
    methods: Sequence[str] = tuple(METHODS),
    jobs: int | None = None,
    limb_speed: float = LIMB_SPEED,
    duration: float = DURATION,
) -> EncounterReport:
    """Every method in the encounters of the seeds from `seed` on, with every arm.

    Seeds from `SEARCH` on are refused: settings may have been chosen by them.
    """
    if not 0 <= seed < seed + runs <= SEARCH:
        raise ElbowroomError(
            f"seeds of figures must be from 0 to {SEARCH - 1}, those beyond are for searches; "
            f"got {runs} runs from seed {seed} on"
        )
    wanted = expanded(methods)
    missing = [name for name in wanted if not all(map(importlib.util.find_spec, NEEDS.get(name, ())))]
    chosen = {name: ALL[name] for name in wanted if name not in missing}
    if not chosen:
        raise ElbowroomError(f"none of the methods is installed here: {', '.join(missing)}")
    rate(0, 1)  # says what is missing before anything runs
    rows, results = [], {}
    arms = [load(robot) for robot in robots]
    for k, arm in enumerate(arms):
        said = f"{arm.name} ({k + 1} of {len(arms)})"
        found = compare(
            chosen,
            arm,
            range(seed, seed + runs),
            people,
            sensor,
            duration=duration,
            limb_speed=limb_speed,
            jobs=jobs,
            progress=_bar(said, progress),
        )
        results[arm.name] = found
        rows += [row(arm.name, name, found[name], found.get(REFERENCE)) for name in found]
    who = cpu_name()
    return EncounterReport(
        rows, missing, runs, seed, people, sensor, limb_speed, duration, who, results, pair_rows(results)
    )


def row(robot: str, name: str, results: Sequence[RunResult], reference: Sequence[RunResult] | None = None) -> MethodRow:
    """The figures of a method's runs; `reference`: another's in the same scenes."""
    count = len(results)
    least = np.array([r.least for r in results])

    def part(events: Sequence[bool]) -> Interval:
        return rate(sum(events), count)

    return MethodRow(
        robot=robot,
        method=name,
        runs=count,
        touched=part([r.touched for r in results]),
        approach=part([r.approach for r in results]),
        least=float(least.min()),
        least_5=float(np.quantile(least, 0.05)),
        least_median=float(np.median(least)),
        itself=part([r.itself > 0.0 for r in results]),
        floor=part([r.floor > 0.0 for r in results]),
        ends=part([r.ends > 0 for r in results]),
        throughput=ratio([r.goals for r in results], [r.alone for r in results]),
        goals=sum(r.goals for r in results),
        alone=sum(r.alone for r in results),
        jerk=float(np.sqrt(np.mean([r.jerk**2 for r in results]))),
        stops=sum(r.stops for r in results) / count,
        microseconds=float(np.median([r.microseconds for r in results])),
        fastest=max(r.fastest for r in results),
        against_reference=None
        if reference is None or name == REFERENCE
        else paired([r.touched for r in results], [r.touched for r in reference]),
    )


def pair_rows(results: dict[str, dict[str, list[RunResult]]]) -> list[PairRow]:
    """The methods that have one to stand beside, arm by arm and, of several arms, all together."""
    found = list[PairRow]()
    for name, without in WITHOUT.items():
        there = [robot for robot, by in results.items() if name in by and without in by]
        pooled = {robot: (results[robot][name], results[robot][without]) for robot in there}
        if len(there) > 1:
            every = [[run for robot in there for run in results[robot][each]] for each in (name, without)]
            pooled[EVERY] = every[0], every[1]
        found += [pair_row(robot, name, without, *pair) for robot, pair in pooled.items()]
    return found


def pair_row(robot: str, name: str, without: str, these: Sequence[RunResult], others: Sequence[RunResult]) -> PairRow:
    """The figures of a pair of methods in the same scenes."""
    goals, fewer = [r.goals for r in these], [r.goals for r in others]
    return PairRow(
        robot=robot,
        method=name,
        without=without,
        runs=len(these),
        goals=sum(goals),
        goals_without=sum(fewer),
        more=more(goals, fewer),
        better=sum(x > y for x, y in zip(goals, fewer, strict=True)),
        worse=sum(x < y for x, y in zip(goals, fewer, strict=True)),
        touched=sum(r.touched for r in these),
        touched_without=sum(r.touched for r in others),
        touches=paired([r.touched for r in these], [r.touched for r in others]),
        approaches=paired([r.approach for r in these], [r.approach for r in others]),
    )


def _bar(said: str, progress: Progress) -> Callable[[int, int], None]:
    """Shows how many scenes are done, and how long the rest will take."""
    began = time.monotonic()
    progress(f"{said}: compiling ...")

    def show(done: int, whole: int) -> None:
        left = (time.monotonic() - began) / done * (whole - done)
        full = round(BAR * done / whole)
        clock = f"{int(left // 60)} min {int(left % 60):02d} s left"
        progress(f"{said}  {'━' * full}{'╌' * (BAR - full)}  {done} of {whole} scenes, {clock}")

    return show
