"""Timing of contenders side by side (`race` for short calls, `measure` for control cycles), and the rows of a report.

Contenders take turns, so that a slow second of a shared machine meets them all.

`race` runs many short rounds.  The best round is what the code costs when nothing disturbs it; the median and the
slowest tenth show how noisy the run was.  A contender is a statement as a user types it, with the names in it, or a
call without arguments.  The statement stands in the timed loop itself: no wrapper adds to a call of a few hundred
nanoseconds.

`measure` times every cycle alone, since a control loop depends on its slowest cycle in a thousand.  Times go into an
array that exists before, with the garbage collector frozen; the first cycles of a turn, which find another's data in
the caches, are not timed.  Two floors run in the same turns, to tell what the machine does from what a contender does:

    empty   the clock read twice with nothing between
    busy    a loop that computes nothing and lasts about as long as a cycle of ours: as wide a target for interrupts

The report of a benchmark: rows, and the machine they were measured on; and how a race becomes rows.
"""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from timeit import Timer
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arm import Arm
from ..cell.pace import collector

Nanoseconds = NDArray[np.int64]
Times = Nanoseconds | NDArray[np.float64]  # ns; of a batch, for one of its states

CHUNKS = 50
WARM, WARMEST = 2, 50  # cycles at the start of a chunk that are not timed: a twentieth of it, within these
EMPTY, BUSY = "empty", "busy"


# ---- short calls


@dataclass(frozen=True)
class CallTime:
    """Seconds of a call: the best, the median and the ninth decile of the rounds."""

    best: float
    median: float
    p90: float


@dataclass(frozen=True)
class Statement:
    """A line of Python to be timed, and what its names mean."""

    text: str
    names: Mapping[str, object]

    def __call__(self) -> object:
        """What the statement gives, once."""
        return eval(self.text, dict(self.names))  # our own text: it is in this folder


def race(
    contenders: Mapping[str, Statement | Callable[[], object]], *, rounds: int = 60, round_seconds: float = 0.002
) -> dict[str, CallTime]:
    """Each contender's time, all measured in turns; every round lasts about `round_seconds`.

    Before a round of many calls comes one that is not timed: it finds the caches full of another's data.
    """
    timers = {name: _timer(what) for name, what in contenders.items()}
    repeats = {}
    for name, timer in timers.items():
        timer.timeit(1)
        once = timer.timeit(1)
        repeats[name] = max(1, min(100_000, int(round_seconds / max(once, 1e-8))))
    taken: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, timer in timers.items():
            count = repeats[name]
            if count > 1:
                timer.timeit(1)
            taken[name].append(timer.timeit(count) / count)
    return {
        name: CallTime(min(times), float(np.median(times)), float(np.quantile(times, 0.9)))
        for name, times in taken.items()
    }


def _timer(what: Statement | Callable[[], object]) -> Timer:
    """timeit's, which keeps the garbage collector out of a round."""
    if isinstance(what, Statement):
        return Timer(what.text, timer=time.perf_counter, globals=dict(what.names))
    return Timer(what, timer=time.perf_counter)


# ---- control cycles


def _nothing(t: float, frame: object) -> None:
    """Nothing to prepare."""


@dataclass(frozen=True)
class CycleContender:
    """Something that a cycle can be done with; `cycle` and `prepare` take the time (s) and a frame."""

    cycle: Callable[[float, Any], object]
    frames: Sequence[Any]  # one a cycle, over and over
    cycles: int
    prepare: Callable[[float, Any], object] = _nothing  # before each cycle, not timed
    pause: float = 0.0  # s slept before each cycle


@dataclass(frozen=True)
class Spread:
    """How long cycles took, s."""

    median: float
    p90: float
    p999: float
    max: float


def spread(taken: Times) -> Spread:
    """Of times in nanoseconds.  p90 and p999 are the least times that 90 % and 99.9 % of the cycles kept within."""
    p90, p999 = np.quantile(taken, (0.9, 0.999), method="inverted_cdf")
    return Spread(*(float(t) * 1e-9 for t in (np.median(taken), p90, p999, taken.max())))


def measure(
    contenders: Mapping[str, CycleContender],
    *,
    period: float,
    like: str,
    chunks: int = CHUNKS,
    progress: Callable[[str], None] | None = None,
) -> dict[str, Nanoseconds]:
    """Every cycle's time of every contender, and of the floors `EMPTY` and `BUSY`; the busy one lasts as `like` does.

    Time is told to a contender as a loop of that period (s) would tell it.
    """
    runs = {name: _Run(c, period) for name, c in contenders.items()}
    most = max(c.cycles for c in contenders.values())
    floors = {EMPTY: np.zeros(most, np.int64), BUSY: np.zeros(most, np.int64)}
    idle = 100  # empty turns of the busy floor
    with collector:
        for run in runs.values():
            run.warm(WARMEST)
        idle = _like(runs[like].sample(), _busy_sample(idle), idle)
        for chunk in range(chunks):
            if progress is not None:
                progress(f"cycles, turn {chunk + 1} of {chunks}")
            for run in runs.values():
                part = run.part(chunk, chunks)
                if len(part):
                    run.warm(min(WARMEST, max(WARM, len(part) // 20)))
                    run.timed(part)
            part = _part(most, chunk, chunks)
            _empty(part, floors[EMPTY])
            _busy(part, floors[BUSY], range(idle))
            if len(part):  # the next turn's is as long as the contender was in this one
                theirs = runs[like].taken[part.start : part.stop]
                idle = _like(_median(theirs), _median(floors[BUSY][part.start : part.stop]), idle)
    return {name: run.taken for name, run in runs.items()} | floors


def _like(wanted: float, taken: float, turns: int) -> int:
    """How many turns last as long as is wanted, if so many lasted as long as was taken."""
    return turns if not wanted > 0.0 or not taken > 0.0 else max(1, round(turns * wanted / taken))


def _median(taken: Nanoseconds) -> float:
    return float(np.median(taken)) if len(taken) else 0.0


def _part(cycles: int, chunk: int, chunks: int) -> range:
    return range(cycles * chunk // chunks, cycles * (chunk + 1) // chunks)


class _Run:
    """A contender on its way through its cycles."""

    def __init__(self, contender: CycleContender, period: float) -> None:
        self.contender, self.period = contender, period
        self.taken: Nanoseconds = np.zeros(contender.cycles, np.int64)
        self.count = 0  # cycles so far, timed or not

    def part(self, chunk: int, chunks: int) -> range:
        """The cycles of a chunk."""
        return _part(self.contender.cycles, chunk, chunks)

    def warm(self, count: int) -> None:
        """Cycles that are not timed."""
        self._cycles(range(count), np.zeros(count, np.int64), 0.0)

    def timed(self, part: range) -> None:
        """Cycles whose time is kept."""
        self._cycles(part, self.taken, self.contender.pause)

    def sample(self, count: int = 200) -> float:
        """The median of some cycles that are not kept, ns."""
        taken = np.zeros(count, np.int64)
        self._cycles(range(count), taken, 0.0)
        return _median(taken)

    def _cycles(self, part: range, taken: Nanoseconds, pause: float) -> None:
        clock, cycle, prepare = time.perf_counter_ns, self.contender.cycle, self.contender.prepare
        frames, turn, period = self.contender.frames, self.count, self.period
        size = len(frames)
        for k in part:
            turn += 1
            t, frame = turn * period, frames[turn % size]
            prepare(t, frame)
            if pause:
                time.sleep(pause)
            start = clock()
            cycle(t, frame)
            stop = clock()
            taken[k] = stop - start
        self.count = turn


def _empty(part: range, taken: Nanoseconds) -> None:
    clock = time.perf_counter_ns
    for k in part:
        start = clock()
        stop = clock()
        taken[k] = stop - start


def _busy(part: range, taken: Nanoseconds, idle: range) -> None:
    clock = time.perf_counter_ns
    for k in part:
        start = clock()
        for _ in idle:
            pass
        stop = clock()
        taken[k] = stop - start


def _busy_sample(turns: int, count: int = 200) -> float:
    """The median of the busy floor with so many turns, ns."""
    taken = np.zeros(count, np.int64)
    _busy(range(count), taken, range(turns))
    return _median(taken)


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
