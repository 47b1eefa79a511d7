"""OMPL's RRT-Connect with our checker: what another planner finds with the same capsules, shapes and resolution.

OMPL calls back into Python for every state and every motion (`Checker.against`), some ten microseconds each.  Its times
are those of OMPL as used from Python, and no measure of OMPL in C++; what it solves is the reference.  Its budget and
times are of the processor: on a machine that others share it gets all that it would have alone.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...avoidance.planning import Checker, World

Array = NDArray[np.float64]
NAME = "OMPL"


@dataclass(frozen=True)
class OmplAnswer:
    """What OMPL found: the way points (k, n) if it did, after how long (s), and the way's length once shortened."""

    solved: bool
    seconds: float
    path: Array  # (k, n); (0, n) where it is not solved
    length: float  # rad, of the shortened way; NaN where it is not solved


def version() -> str | None:
    """Which OMPL there is; None without one."""
    return importlib.metadata.version("ompl") if importlib.util.find_spec("ompl") else None


def rrt_connect(
    checker: Checker,
    start: Array,
    goals: Array,
    world: World,
    *,
    margin: float,
    budget: float,
    shorten: float = 0.0,
) -> OmplAnswer:
    """From start (n,) to one of goals (k, n) within `budget` (s), clear by `margin` (m).

    `shorten`: how long (s) its simplifier may take on the way found; not part of `seconds`.
    """
    base, geometric, util = (importlib.import_module(f"ompl.{name}") for name in ("base", "geometric", "util"))
    util.setLogLevel(util.LogLevel.LOG_ERROR)
    n = len(start)
    low, high = checker.body.arm.model.sampling_range()
    space, bounds = base.RealVectorStateSpace(n), base.RealVectorBounds(n)
    for i in range(n):
        bounds.setLow(i, float(min(low[i], start[i], np.min(np.atleast_2d(goals)[:, i]))))
        bounds.setHigh(i, float(max(high[i], start[i], np.max(np.atleast_2d(goals)[:, i]))))
    space.setBounds(bounds)
    info = base.SpaceInformation(space)
    against = checker.against(world, margin)

    def joints(state: Any) -> Array:
        return np.array([state[i] for i in range(n)])

    class Motions(base.MotionValidator):  # type: ignore[misc, name-defined]  # ompl is Any
        def checkMotion(self, a: Any, b: Any) -> bool:
            return bool(against.edges_free(joints(a)[None], joints(b)[None])[0])

    info.setStateValidityChecker(lambda state: bool(against.slack(joints(state)[None])[0] > 0.0))
    motions = Motions(info)
    info.setMotionValidator(motions)
    info.setup()

    def state(q: Array) -> Any:
        made = space.allocState()
        for i in range(n):
            made[i] = float(q[i])
        return made

    task = base.ProblemDefinition(info)
    task.addStartState(state(start))
    wanted = base.GoalStates(info)
    for goal in np.atleast_2d(goals):
        wanted.addState(state(goal))
    task.setGoal(wanted)
    planner = geometric.RRTConnect(info)
    planner.setProblemDefinition(task)
    planner.setup()
    began = time.process_time()
    planner.solve(base.PlannerTerminationCondition(lambda: time.process_time() - began > budget))
    taken = time.process_time() - began
    if not task.hasExactSolution():
        return OmplAnswer(False, taken, np.zeros((0, n)), float("nan"))
    way = task.getSolutionPath()
    path = np.array([joints(way.getState(k)) for k in range(way.getStateCount())])
    if shorten:
        geometric.PathSimplifier(info).simplify(way, shorten)
    return OmplAnswer(True, taken, path, float(way.length()))
