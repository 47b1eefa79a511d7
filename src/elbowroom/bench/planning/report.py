"""The benchmark: our planner on every problem, OMPL's RRT-Connect with the same checker beside it, and the checker.

no way    problems of which ours proves that they have none (planning/barrier.py), unless OMPL finds one all the same
solved    problems for which a way was found within `BUDGET`, of those that are not refused and not without a way
of OMPL   of those that OMPL solves in that time, how many ours solves
time      until the way is there, shortened and timed within the joints' limits; over all problems, solved or not: on
          the clock, and of the processor, which counts on a machine that others share.  Budgets are of the processor
length    of the way, the sum over its pieces of |q_b - q_a| (rad); medians over problems that both solve.  OMPL's is
          shortened by its own simplifier for at most `SHORTEN`, which its time does not include
VAMP      its RRT-Connect with its own spheres and settings, where it is installed: until its way is shortened
touches   ways of ours that touch, looked at every `DENSE` of the fastest joint along the timed route
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...avoidance.planning import Outcome, Plan, Planner
from ...avoidance.planning.barrier import Barrier
from ..encounters.run import Interval, rate
from ..peers import ompl, vamp
from ..timing import Progress, Row, cpu_name, load_average, silent
from . import motionbenchmaker, validity
from .arms import known
from .problems import KINDS, Problem, ProblemSet, own_sets

Array = NDArray[np.float64]

COUNT = 100  # problems of a set
BUDGET = 5.0  # s, for both
MARGIN = 0.0  # m, for both: problems of others were made without one
SHORTEN = 0.2  # s
DENSE = 1e-3  # rad
AT_ONCE = 8192  # configurations checked in a call
ROUNDS = 30


class BusyPlanner(Planner):
    """Ours with a budget of the processor's time: what others do on the machine costs it nothing."""

    @staticmethod
    def now() -> float:
        """s, of this process."""
        return time.process_time()


@dataclass(frozen=True)
class ProblemResult:
    """One problem, ours and OMPL's; None where there is no way, no route or no OMPL."""

    number: int
    outcome: str
    solved: bool
    seconds: float
    length: float | None  # rad
    duration: float | None  # s, of the timed route
    least: float | None  # m, over the route
    rounds: int  # of the search; 0: the straight motion was free
    ompl_solved: bool | None
    ompl_seconds: float | None
    ompl_length: float | None
    cpu: float  # s, of the process for ours
    vamp_solved: bool | None = None
    vamp_seconds: float | None = None


@dataclass(frozen=True)
class SetRow:
    """The figures of one set; the module's docstring has the definitions."""

    name: str
    robot: str
    problems: int
    refused: int
    solved: Interval | None
    of_ompl: Interval | None
    ompl_solved: Interval | None
    median: float  # s
    p95: float
    cpu: float  # s, median
    cpu_p95: float
    ompl_median: float | None
    ompl_p95: float | None
    length: float | None  # rad
    ompl_length: float | None
    touches: int
    least: float | None  # m, over all routes
    vamp_solved: Interval | None = None
    vamp_median: float | None = None
    vamp_p95: float | None = None
    no_way: int = 0  # problems that were proved to have none


@dataclass(frozen=True)
class PlanningReport:
    """All sets, the checker's times, and under what conditions."""

    rows: list[SetRow]
    validity: list[Row]
    missing: list[str]
    results: dict[str, list[ProblemResult]]
    notes: list[str]
    seed: int
    budget: float
    ompl: str | None
    cpu: str
    cores: int = field(default_factory=lambda: os.cpu_count() or 1)
    load: float | None = field(default_factory=load_average)


def run(
    robots: Sequence[str],
    *,
    progress: Progress = silent,
    problems: str | None = None,
    runs: int = COUNT,
    seed: int = 0,
    rounds: int = ROUNDS,
    budget: float = BUDGET,
    kinds: Sequence[str] = tuple(KINDS),
    scenes: Sequence[str] = motionbenchmaker.SCENES,
) -> PlanningReport:
    """Sets of our own for every robot, MotionBenchMaker's where `problems` names them, and the checker's speed."""
    rate(0, 1)  # says what is missing before anything runs
    notes, missing = list[str](), list[str]()
    if problems is None:
        notes.append(f"MotionBenchMaker's problems were not run.  To get them: {motionbenchmaker.HOW}")
    else:
        motionbenchmaker.archive(Path(problems))
    version = ompl.version()
    if version is None:
        missing.append(ompl.NAME)
    timed, rows, results = list[Row](), list[SetRow](), dict[str, list[ProblemResult]]()
    families = dict[str, list[tuple[SetRow, list[ProblemResult]]]]()  # an arm's sets of one source
    arms = known(robots, notes)
    for label, arm in arms:
        progress(f"{label}: configurations a second")
        timed += (replace(row, robot=label) for row in validity.rows(arm, rounds))
    if timed and not any(row.who == validity.PINOCCHIO for row in timed):
        missing.append("Pinocchio")

    def sets() -> Iterator[ProblemSet]:
        if problems is not None:
            for name in motionbenchmaker.ARMS:
                progress(f"MotionBenchMaker's problems of {name}: read and covered")
                yield from motionbenchmaker.problem_sets(Path(problems), name, runs, tuple(scenes))
        for label, arm in arms:
            progress(f"{label}: scenes are drawn")
            yield from own_sets(arm, kinds, runs, seed, label)

    for each in sets():
        found = list(solve_set(each, budget, seed, version is not None, progress))
        results[each.name] = found
        if found:
            rows.append(set_row(each.name, each.arm.name, len(each.refused), found))
            if wrong := [one.number for one in found if one.outcome == Outcome.NO_WAY and one.ompl_solved]:
                notes.append(f"{each.name}: OMPL solves {wrong}, which ours says to have no way: a defect of ours.")
            family, _, _ = each.name.rpartition(" ")
            families.setdefault(family, []).append((rows[-1], found))
        if len(each.problems) + len(each.refused) < runs:
            notes.append(f"{each.name}: {len(each.problems) + len(each.refused)} problems instead of {runs}.")
    for family, some in families.items():
        if len(some) > 1:
            every = [one for _, found in some for one in found]
            rows.append(set_row(f"{family}, all", some[0][0].robot, sum(row.refused for row, _ in some), every))
    return PlanningReport(rows, timed, missing, results, notes, seed, budget, version, cpu_name())


def solve_set(
    each: ProblemSet, budget: float, seed: int, beside_ompl: bool, progress: Progress = silent
) -> Iterator[ProblemResult]:
    """Every problem of a set in turn, ours, then OMPL's and VAMP's."""
    of = vamp.robot(each.arm) if each.name.startswith(motionbenchmaker.PREFIX) else None  # of its own arm, hand and all
    planner = BusyPlanner(each.arm, body=each.body, checker=each.checker)
    for problem in each.problems:  # code for worlds of this size is compiled once, not in a plan's time
        each.checker.clearance(problem.start, problem.world)
        planner.plan(problem.start, problem.goal, problem.world, margin=MARGIN, rounds=1, seed=seed)
        Barrier(each.checker, problem.world, MARGIN)
    for count, problem in enumerate(each.problems, 1):
        progress(f"{each.name}: {count} of {len(each.problems)} problems")
        yield solve_one(each, planner, problem, budget, seed, beside_ompl, of)


def solve_one(
    each: ProblemSet, planner: Planner, problem: Problem, budget: float, seed: int, beside_ompl: bool, of: Any = None
) -> ProblemResult:
    """One problem; `of`: VAMP's module of the arm."""
    world, began, busy = problem.world, time.perf_counter(), time.process_time()
    plan = planner.plan(problem.start, problem.goal, world, margin=MARGIN, budget=budget, seed=seed)
    seconds, cpu = time.perf_counter() - began, time.process_time() - busy
    least = None
    if plan.reached:
        way = dense(plan)
        least = min(
            float(np.min(each.checker.clearance(way[k : k + AT_ONCE], world))) for k in range(0, len(way), AT_ONCE)
        )
    theirs = None
    if beside_ompl:
        theirs = ompl.rrt_connect(
            each.checker, problem.start, problem.goal, world, margin=MARGIN, budget=budget, shorten=SHORTEN
        )
    fast = None
    if of is not None:
        fast = vamp.rrt_connect(of, problem.start, problem.goal, vamp.environment(problem.shapes))
    return ProblemResult(
        number=problem.number,
        outcome=str(plan.outcome),
        solved=plan.reached,
        seconds=seconds,
        length=length(plan.path) if plan.reached else None,
        duration=plan.route.duration if plan.reached and plan.route is not None else None,
        least=least,
        rounds=plan.rounds,
        ompl_solved=None if theirs is None else theirs.solved,
        ompl_seconds=None if theirs is None else theirs.seconds,
        ompl_length=theirs.length if theirs is not None and theirs.solved else None,
        cpu=cpu,
        vamp_solved=None if fast is None else fast.solved,
        vamp_seconds=None if fast is None else fast.seconds,
    )


def dense(plan: Plan) -> Array:
    """(T, n) joint poses along the route, no joint moving more than about `DENSE` between two of them."""
    route = plan.route
    if route is None or not route.duration > 0.0:
        return np.atleast_2d(plan.path)
    coarse = np.array([route.at(t)[0] for t in np.linspace(0.0, route.duration, 400)])
    moved = np.abs(np.diff(coarse, axis=0)).max(axis=1)
    times = [0.0]
    step = route.duration / 399
    for k, most in enumerate(moved):
        parts = max(1, int(np.ceil(most / DENSE)))
        times += [(k + (i + 1) / parts) * step for i in range(parts)]
    return np.array([route.at(t)[0] for t in times])


def length(path: Array) -> float:
    """rad, of a way through points (k, n)."""
    return float(np.linalg.norm(np.diff(path, axis=0), axis=1).sum())


def set_row(name: str, robot: str, refused: int, found: Sequence[ProblemResult]) -> SetRow:
    """The figures of a set."""
    times, cpu = [r.seconds for r in found], [r.cpu for r in found]
    theirs = [r.ompl_seconds for r in found if r.ompl_seconds is not None]
    fast = [r.vamp_seconds for r in found if r.vamp_seconds is not None]
    routes = [r.least for r in found if r.least is not None]
    solvable = [r for r in found if r.ompl_solved]
    possible = [r for r in found if r.outcome != Outcome.NO_WAY or r.ompl_solved]
    beside = any(r.ompl_solved is not None for r in found)
    both = [r for r in solvable if r.solved] if beside else [r for r in found if r.solved]
    return SetRow(
        name=name,
        robot=robot,
        problems=len(found),
        refused=refused,
        solved=rate(sum(r.solved for r in possible), len(possible)) if possible else None,
        of_ompl=rate(sum(r.solved for r in solvable), len(solvable)) if solvable else None,
        ompl_solved=rate(len(solvable), len(possible)) if beside and possible else None,
        median=float(np.median(times)),
        p95=float(np.quantile(times, 0.95)),
        cpu=float(np.median(cpu)),
        cpu_p95=float(np.quantile(cpu, 0.95)),
        ompl_median=_quantile(theirs, 0.5),
        ompl_p95=_quantile(theirs, 0.95),
        length=_quantile([r.length for r in both if r.length is not None], 0.5),
        ompl_length=_quantile([r.ompl_length for r in both if r.ompl_length is not None], 0.5),
        touches=sum(least < 0.0 for least in routes),
        least=min(routes, default=None),
        vamp_solved=rate(sum(r.vamp_solved is True for r in found), len(found)) if fast else None,
        vamp_median=_quantile(fast, 0.5),
        vamp_p95=_quantile(fast, 0.95),
        no_way=len(found) - len(possible),
    )


def _quantile(values: Sequence[float], part: float) -> float | None:
    return float(np.quantile(values, part)) if values else None
