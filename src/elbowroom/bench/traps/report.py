"""The benchmark: every method in the same traps, arm by arm, in the kinematic loop of encounters.

solvable  scenes in which OMPL's RRT-Connect, with our checker, finds a way from the start pose to the goal pose in
          `BUDGET`.  It is the reference: reached counts of these alone
reached   the tool came within `REACHED` of its goal in the time
touched   the arm overlapped the obstacle at a control time
time      until the goal is reached, over that of K in the same scene without the obstacle; where both are reached
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ...arm import Arm
from ...errors import ElbowroomError
from ..encounters.methods import Factory, Method
from ..encounters.run import Interval, RunTrack, in_processes, measured, rate
from ..encounters.run import run as follow
from ..encounters.scene import PERIOD, REACHED, SEARCH, place
from ..peers import ompl
from ..planning.arms import ROBOTS, known
from ..timing import Progress, cpu_name, load_average, silent
from .methods import FREE, METHODS, NEEDS, Made, free_arm, method_named, planner_of, planning_seconds, world_of
from .scene import DURATION, TrapScene, trap

Array = NDArray[np.float64]

RUNS = 100
BUDGET = 10.0  # s, of OMPL
MARGIN = 0.0  # m, of OMPL: what can be solved at all
__all__ = ["ROBOTS", "TrapReport", "TrapResult", "TrapRow", "run"]


@dataclass(frozen=True)
class TrapResult:
    """One method in one scene."""

    seed: int
    kind: str
    reached: bool
    seconds: float | None  # until then
    free_seconds: float | None  # of the free arm
    touched: bool
    least: float  # m, from the obstacle
    itself: bool
    floor: bool
    planning: float | None  # s


@dataclass(frozen=True)
class OmplResult:
    """Whether a scene can be solved."""

    seed: int
    kind: str
    solved: bool
    seconds: float


@dataclass(frozen=True)
class TrapRow:
    """The figures of one method with one arm; the module's docstring has the definitions."""

    robot: str
    method: str
    runs: int  # scenes that count
    reached: Interval | None
    touched: int
    itself: int
    floor: int
    least: float | None  # m
    time_ratio: float | None  # median
    time_ratio_95: float | None
    planning: float | None  # s, median


@dataclass(frozen=True)
class TrapReport:
    """All rows, all runs, and under what conditions."""

    rows: list[TrapRow]
    missing: list[str]
    notes: list[str]
    runs: int
    seed: int
    duration: float
    budget: float
    ompl: str | None
    cpu: str
    results: dict[str, dict[str, list[TrapResult]]]  # by robot and method
    solvable: dict[str, list[OmplResult]]  # by robot
    cores: int = field(default_factory=lambda: os.cpu_count() or 1)
    load: float | None = field(default_factory=load_average)


@dataclass(frozen=True)
class _Scene:
    """All that was found in a scene."""

    ompl: OmplResult | None
    results: dict[str, TrapResult]


def run(
    robots: Sequence[str] = ROBOTS,
    *,
    progress: Progress = silent,
    runs: int = RUNS,
    seed: int = 0,
    methods: Sequence[str] = tuple(METHODS),
    jobs: int | None = None,
    duration: float = DURATION,
    budget: float = BUDGET,
) -> TrapReport:
    """Every method in the traps of the seeds from `seed` on, with every arm."""
    if not 0 <= seed < seed + runs <= SEARCH:
        raise ElbowroomError(
            f"seeds of figures must be from 0 to {SEARCH - 1}, those beyond are for searches; "
            f"got {runs} runs from seed {seed} on"
        )
    rate(0, 1)  # says what is missing before anything runs
    wanted = list(dict.fromkeys(map(method_named, methods)))
    missing = [name for name in wanted if not all(map(importlib.util.find_spec, NEEDS.get(name, ())))]
    chosen = {name: METHODS[name] for name in wanted if name not in missing}
    version = ompl.version()
    if version is None:
        missing.append(ompl.NAME)
    notes, rows = list[str](), list[TrapRow]()
    results, solvable = dict[str, dict[str, list[TrapResult]]](), dict[str, list[OmplResult]]()
    seeds = range(seed, seed + runs)
    for label, arm in known(robots, notes):
        work = partial(_scene, chosen, arm, duration, budget if version is not None else 0.0)
        warm = partial(_scene, chosen, arm, 0.1, 0.05 if version is not None else 0.0, seed)
        progress(f"{label}: compiling ...")
        found = list[_Scene]()
        for each in in_processes(work, seeds, jobs or os.cpu_count() or 1, warm):
            found.append(each)
            progress(f"{label}: {len(found)} of {runs} scenes")
        results[label] = {name: [each.results[name] for each in found] for name in (FREE, *chosen)}
        solvable[label] = [each.ompl for each in found if each.ompl is not None]
        counts = {one.seed for one in solvable[label] if one.solved} if version is not None else set(seeds)
        rows += [trap_row(label, name, all_, counts) for name, all_ in results[label].items()]
        if version is not None:
            rows.append(ompl_row(label, solvable[label]))
    return TrapReport(rows, missing, notes, runs, seed, duration, budget, version, cpu_name(), results, solvable)


def _scene(methods: dict[str, Made], arm: Arm, duration: float, budget: float, seed: int) -> _Scene:
    """One scene: the reference, the free arm, and each method in it."""
    scene = trap(place(arm), seed)
    solved = None
    if budget:
        checker = planner_of(arm).checker
        world = world_of(arm, scene.rows)
        answer = ompl.rrt_connect(checker, scene.start, scene.goal, world, margin=MARGIN, budget=budget)
        solved = OmplResult(seed, scene.kind, answer.solved, answer.seconds)
    free = _one(scene, free_arm(scene), duration, None)
    found = {FREE: free}
    for name, make in methods.items():
        found[name] = _one(scene, make(scene), duration, free.seconds)
    return _Scene(solved, found)


def _one(scene: TrapScene, factory: Factory, duration: float, free: float | None) -> TrapResult:
    made = list[Method]()

    def remembered(arm: Arm, people: int, sensor: str) -> Method:
        made.append(factory(arm, people, sensor))
        return made[0]

    shown = scene.encounter(duration)
    track = follow(shown, remembered, scene.frames, "ideal")
    result = measured(shown, track, 0)
    seconds = arrival(scene, track)
    planning = planning_seconds(made[0])
    return TrapResult(
        seed=scene.seed,
        kind=scene.kind,
        reached=seconds is not None,
        seconds=seconds,
        free_seconds=free,
        touched=result.touched,
        least=result.least,
        itself=result.itself > 0.0,
        floor=result.floor > 0.0,
        planning=None if np.isnan(planning) else planning,
    )


def arrival(scene: TrapScene, track: RunTrack) -> float | None:
    """s, until the tool is at its goal; None where it never is."""
    tools = scene.place.arm.compile("pose")(track.q)[:, :3, 3]
    there = np.linalg.norm(tools - scene.point, axis=1) < REACHED
    return float(there.argmax()) * PERIOD if there.any() else None


def trap_row(robot: str, name: str, results: Sequence[TrapResult], counts: set[int]) -> TrapRow:
    """The figures of a method, of the scenes whose seeds count."""
    some = [r for r in results if r.seed in counts]
    ratios = [r.seconds / r.free_seconds for r in some if r.seconds is not None and r.free_seconds]
    planning = [r.planning for r in some if r.planning is not None]
    return TrapRow(
        robot=robot,
        method=name,
        runs=len(some),
        reached=rate(sum(r.reached for r in some), len(some)) if some else None,
        touched=sum(r.touched for r in some),
        itself=sum(r.itself for r in some),
        floor=sum(r.floor for r in some),
        least=min((r.least for r in some), default=None),
        time_ratio=float(np.median(ratios)) if ratios else None,
        time_ratio_95=float(np.quantile(ratios, 0.95)) if ratios else None,
        planning=float(np.median(planning)) if planning else None,
    )


def ompl_row(robot: str, solved: Sequence[OmplResult]) -> TrapRow:
    """How many of all scenes the reference solves, and how long it takes."""
    times = [one.seconds for one in solved if one.solved]
    return TrapRow(
        robot=robot,
        method=ompl.NAME,
        runs=len(solved),
        reached=rate(sum(one.solved for one in solved), len(solved)) if solved else None,
        touched=0,
        itself=0,
        floor=0,
        least=None,
        time_ratio=None,
        time_ratio_95=None,
        planning=float(np.median(times)) if times else None,
    )
