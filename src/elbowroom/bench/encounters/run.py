"""Encounters run: `run` for one method in one scene, `simulate` for many scenes, `compare` for several methods.

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
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace

import numpy as np

from ...arm import Arm
from ...avoidance import Goal, State
from ...avoidance.control.obstacles import Obstacles
from ...geometry.skeleton import NAMES
from .methods import Factory, Latching, Method, controller
from .metrics import RunResult, RunTrack, measured
from .people import LIMB_SPEED
from .scene import CAPSULES, DURATION, PERIOD, REACHED, EncounterScene, SensorFrames, frames, place, scene

RESET_AFTER = 1.0  # s


def run(scene: EncounterScene, factory: Factory, frames: SensorFrames | None, sensor: str = "camera") -> RunTrack:
    """The encounter with this method; without frames nobody is there."""
    arm = scene.place.arm
    method = factory(arm, scene.people, sensor)
    guard = method if isinstance(method, Latching) else None
    obstacles = _places(method, scene.people)
    steps, n = len(scene.times) - 1, arm.n
    q, asked = np.empty((steps + 1, n)), np.empty((steps, n))
    q[0] = arm.ready
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
                    obstacles.see(frames.rows[there - 1, person], frames.stamps[there - 1], person, NAMES)
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
        if np.linalg.norm(pose(ahead, out=tool)[:3, 3] - goal.position) < REACHED:
            goals += 1
            goal.position = scene.goals[goals % len(scene.goals)]
            goal.t = t
    return RunTrack(q, asked, goals, stops, spent)


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


_shared: tuple[Mapping[str, Factory], Conditions] | None = None  # what forked workers find: no factory is pickled


def _of_worker(seed: int) -> dict[str, RunResult]:
    assert _shared is not None
    return encounter(*_shared, seed)


def _each(
    methods: Mapping[str, Factory], where: Conditions, seeds: list[int], jobs: int
) -> Iterable[dict[str, RunResult]]:
    jobs = min(jobs, len(seeds))
    if jobs <= 1 or "fork" not in multiprocessing.get_all_start_methods():
        for seed in seeds:
            yield encounter(methods, where, seed)
        return
    global _shared
    _shared = methods, where
    encounter(methods, replace(where, duration=0.1), 0)  # compiles once, before the fork
    context = multiprocessing.get_context("fork")
    pool = ProcessPoolExecutor(jobs, mp_context=context)
    try:
        yield from pool.map(_of_worker, seeds)
    finally:
        pool.shutdown(cancel_futures=True)  # after Ctrl-C too: what has not begun is not waited for
