"""A search for the defaults: settings drawn at random, each tried in the same training encounters.

    report = run(("panda", "ur5e", "iiwa14"), candidates=40, runs=60)       # the best first; today's among them

Seeds begin at `SEARCH`: no figure is ever taken from these encounters.  A candidate counts where no run had the arm
approach a person in contact, overlap itself or the floor, or reach the end of a joint, and where its jerk is not above
that of the law alone with the same field.  Among those the score decides, averaged over the arms:

    throughput - TOUCH * (runs with a touch)

The work is measured by that of the same arm alone with the same pull.  A touch costs as much work as TOUCH runs do: at
2, a percent fewer touched is worth two percent of the work.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from ...arm import Arm
from ...avoidance import Attraction, Config, Limits, Repulsion, Waiting
from ...avoidance.settings import leaves
from ...errors import ElbowroomError
from ...loading import load
from ..timing import Progress, silent
from .methods import Factory, controller, supervised
from .report import ROBOTS
from .run import RunResult, compare
from .scene import SEARCH

TOUCH = 2.0
CANDIDATES, RUNS = 30, 60
SETTINGS: dict[str, tuple[float, float]] = {
    "attraction.kp": (1.0, 5.0),
    "repulsion.influence": (0.1, 0.35),
    "waiting.influence": (0.4, 1.0),
    "waiting.near": (0.1, 0.35),
    "evasion_distance": (0.05, 0.2),
    "evasion_hands": (0.03, 0.25),
    "evasion_gain": (2.5, 8.0),
    "evasion_speed": (1.0, 3.0),
    "evasion_time": (0.01, 0.08),
    "evasion_weight": (2.0, 50.0),
    "jerk": (10.0, 60.0),
}
"""What is searched, and between what: parts of the law's `Config` by their names, the rest of `Limits`."""
BETWEEN = Waiting().clear - Waiting().near  # m: a goal is free so much farther away than it is occupied


@dataclass(frozen=True)
class Candidate:
    """Settings and what came of them; the figures are means over the arms."""

    settings: dict[str, float]
    throughput: float
    touched: float  # of the runs
    jerk: float  # in that of the law alone
    faults: int  # approach contacts, overlaps with itself and the floor, joints at their ends

    @property
    def score(self) -> float:
        """What is sought to be great."""
        return self.throughput - TOUCH * self.touched

    @property
    def counts(self) -> bool:
        """Whether it may be a default."""
        return self.faults == 0 and self.jerk <= 1.0


def defaults() -> dict[str, float]:
    """Today's."""
    known = {name: value for settings in (Config(), Limits()) for name, value in leaves(settings)}
    return {name: known[name] for name in SETTINGS}


def drawn(random: np.random.Generator) -> dict[str, float]:
    """Settings at random, each evenly in its logarithm, in two digits."""
    return {name: float(f"{np.exp(random.uniform(*np.log(between))):.2g}") for name, between in SETTINGS.items()}


@dataclass(frozen=True)
class SearchReport:
    """The candidates, the best first, and in what they were tried."""

    candidates: list[Candidate]
    robots: list[str]
    runs: int
    seed: int


def run(
    robots: Sequence[str] = ROBOTS,
    *,
    progress: Progress = silent,
    candidates: int = CANDIDATES,
    runs: int = RUNS,
    seed: int = SEARCH,
    jobs: int | None = None,
) -> SearchReport:
    """Today's settings and so many others; seeds below `SEARCH` are refused: figures are taken from them."""
    if seed < SEARCH:
        raise ElbowroomError(f"seeds of a search must be {SEARCH} or more, those below are for figures; got {seed}")
    arms = [load(robot) for robot in robots]
    random = np.random.default_rng(seed)
    found, began = [], time.monotonic()
    for k in range(candidates + 1):
        left = "" if k == 0 else f", {(time.monotonic() - began) / k * (candidates + 1 - k) / 60:.0f} min left"
        progress(f"candidate {k + 1} of {candidates + 1}{left}")
        found.append(tried(defaults() if k == 0 else drawn(random), arms, range(seed, seed + runs), jobs))
    found.sort(key=lambda c: (not c.counts, -c.score))
    return SearchReport(found, [arm.name for arm in arms], runs, seed)


def tried(settings: dict[str, float], robots: Sequence[Arm], seeds: Sequence[int], jobs: int | None) -> Candidate:
    """What comes of these settings."""
    law: dict[str, Any] = {
        "attraction": Attraction(kp=settings["attraction.kp"]),
        "repulsion": Repulsion(influence=settings["repulsion.influence"]),
        "waiting": Waiting(
            influence=settings["waiting.influence"],
            near=settings["waiting.near"],
            clear=settings["waiting.near"] + BETWEEN,
        ),
    }
    chosen: dict[str, Any] = {name: value for name, value in settings.items() if "." not in name}
    limits = replace(Limits(), **chosen)
    methods: dict[str, Factory] = {
        "law": partial(controller, **law),
        "all": partial(supervised, limits=limits, **law),
    }
    alone: Factory = partial(controller, attraction=law["attraction"])
    throughput, touched, jerk, faults = [], [], [], 0
    for robot in robots:
        found = compare(methods, robot, seeds, jobs=jobs, alone=alone)
        ours = found["all"]
        throughput.append(sum(r.goals for r in ours) / max(1, sum(r.alone for r in ours)))
        touched.append(float(np.mean([r.touched for r in ours])))
        jerk.append(_jerk(ours) / _jerk(found["law"]))
        faults += sum(r.approach or r.itself > 0.0 or r.floor > 0.0 or r.ends > 0 for r in ours)
    return Candidate(settings, float(np.mean(throughput)), float(np.mean(touched)), max(jerk), faults)


def _jerk(results: Sequence[RunResult]) -> float:
    return float(np.sqrt(np.mean([r.jerk**2 for r in results])))
