"""The report of a benchmark: rows, and the machine they were measured on; and how a race becomes rows."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from ..arm import Arm
from .timing import race

US = "elbowroom"
OURS_OUT = "elbowroom, out="
ROBOTS = ("panda", "ur5e", "iiwa14", "puma560")
ROUNDS = 60

Progress = Callable[[str], None]
"""Called with what is being measured, while a benchmark runs."""


def silent(text: str) -> None:
    """Progress that nobody sees."""


@dataclass(frozen=True)
class Row:
    """One contender's time for one quantity of one robot."""

    bench: str  # the suite's name
    robot: str
    n: int
    quantity: str
    who: str
    version: str
    seconds_per_state: float  # of the best round
    median_seconds: float  # a state, as all times
    p90_seconds: float
    ratio_to_us: float  # of the best rounds
    states: int = 1  # a call


@dataclass(frozen=True)
class FirstCall:
    """What the first call of a quantity takes where no cache has it: traced, then compiled."""

    robot: str
    n: int
    quantity: str
    seconds: float


@dataclass(frozen=True)
class Report:
    """All rows of a run, and what it ran on."""

    rows: list[Row]
    missing: list[str]
    cpu: str
    cores: int = field(default_factory=lambda: os.cpu_count() or 1)
    python: str = field(default_factory=platform.python_version)
    first_calls: list[FirstCall] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)  # on what was run, below the table
    load: float | None = field(default_factory=lambda: load_average())  # at its end, ourselves included


class Contender(NamedTuple):
    """Something to be timed: a call without arguments, which does so many states."""

    version: str
    call: Callable[[], object]
    states: int = 1


def raced(
    bench: str, arm: Arm, quantity: str, contenders: Mapping[str, Contender], rounds: int, states: int = 1
) -> Iterator[Row]:
    """The rows of contenders that take turns.  `states` names the row's size; each is timed by its own."""
    times = race({who: c.call for who, c in contenders.items()}, rounds=rounds)
    ours = times[US].best / contenders[US].states
    for who, t in times.items():
        size = contenders[who].states
        yield Row(
            bench=bench,
            robot=arm.name,
            n=arm.n,
            quantity=quantity,
            who=who,
            version=contenders[who].version,
            seconds_per_state=t.best / size,
            median_seconds=t.median / size,
            p90_seconds=t.p90 / size,
            ratio_to_us=t.best / size / ours,
            states=states,
        )


def load_average() -> float | None:
    """How many processes wanted to run, over the last minutes; None where the system does not tell."""
    try:
        return os.getloadavg()[1]
    except (AttributeError, OSError):  # Windows
        return None


def cpu_name() -> str:
    """The CPU's name as the system tells it."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            for line in file:
                if line.startswith("model name"):
                    return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine() or "unknown"
