"""Many encounters on all cores: `simulate` for one method, `compare` for several in the same scenes.

    results = simulate(factory, "panda", range(100))                    # a RunResult a seed, in order
    results = compare({"K": factory, ...}, "panda", range(100))         # {"K": [...], ...}

The same seed and method give the same result (times apart), in one process or in many.
"""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace

from ...arm import Arm
from .methods import controller
from .metrics import RunResult, measured
from .people import LIMB_SPEED
from .run import Factory, run
from .scene import DURATION, frames, place, scene


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
