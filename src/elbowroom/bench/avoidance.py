"""`elbowroom bench avoidance`: one whole cycle, from the joints' state and the person's capsules to a command.

The states are those of an arm that follows its commands: the K controller has run on the scene before, and what it
went through is shown to every contender.  The reference, to which ratios are given, is that controller under its
supervisor, everything inside the clock: the state, the goal and the person's capsules handed over, the supervised step.
"step alone" leaves the handing over outside of the clock, "bare" the supervisor.  "once a millisecond" sleeps before
each cycle, as a control loop does, and so finds colder caches than cycles that follow one another at once.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import __version__
from ..avoidance import Command, Config, Controller, Force, Goal, State, Supervisor
from .peers.avoidance import steppers
from .scene import PERIOD, SceneFrame, TimedScene, scene
from .timing import BUSY, EMPTY, US, CycleContender, Progress, Spread, Times, cpu_name, measure, silent, spread

STATES = 256  # of a batch


class ControlLoop:
    """A controller, supervised or bare, with what it is handed."""

    def __init__(self, shown: TimedScene, config: Config, *, supervised: bool) -> None:
        controller = Controller(shown.arm, config, body=shown.body, person_capsules=shown.capsules)
        # The arm is where the frames have it, whatever is commanded.
        steps = Supervisor(controller, acting=False) if supervised else controller
        state, obstacles, goal = State(shown.arm.ready), controller.obstacles(), Goal(np.zeros(3))
        step, see = steps.step, obstacles.see
        q, qd, moving = state.q, state.qd, goal.packed[:6]

        def hand_over(t: float, frame: SceneFrame) -> None:
            q[:] = frame.q
            qd[:] = frame.qd
            moving[:] = frame.goal
            state.t = goal.t = t
            see(frame.rows, t)

        def alone(t: float, frame: SceneFrame) -> Command:
            return step(t, PERIOD, state, obstacles, goal)

        def whole(t: float, frame: SceneFrame) -> Command:  # `hand_over` written out: calling it would be timed
            q[:] = frame.q
            qd[:] = frame.qd
            moving[:] = frame.goal
            state.t = goal.t = t
            see(frame.rows, t)
            return step(t, PERIOD, state, obstacles, goal)

        def note(t: float, frame: SceneFrame) -> None:
            """Outside of the clock: what the last cycle said."""
            if t > 1.5 * PERIOD:  # there was one
                self.statuses[str(steps.command.status)] += 1

        self.controller, self.command = controller, steps.command
        self.statuses: Counter[str] = Counter()
        self.hand_over, self.alone, self.whole, self.note = hand_over, alone, whole, note


def at_work(shown: TimedScene, orbits: int = 6) -> TimedScene:
    """The scene with the states of an arm that follows the supervised K controller to the letter, its last orbit.

    Where that orbit does not quite close, the rest is taken off evenly, so that the frames repeat without a jump.
    """
    loop = ControlLoop(shown, Config(), supervised=True)
    q, qd = np.array(shown.arm.ready), np.zeros(shown.arm.n)
    size, lived = len(shown.frames), list[SceneFrame]()
    for k in range(orbits * size):
        lived.append(shown.frames[k % size]._replace(q=q, qd=qd))
        qd = np.array(loop.whole((k + 1) * PERIOD, lived[-1]).qd)
        q = q + qd * PERIOD
    last = lived[-size:]
    drift = (q - last[0].q) / size  # rad a cycle
    closed = [f._replace(q=f.q - k * drift, qd=f.qd - drift / PERIOD) for k, f in enumerate(last)]
    return replace(shown, frames=closed)


class Batch:
    """`Controller.many`, each state with a person of its own."""

    def __init__(self, controller: Controller, shown: TimedScene) -> None:
        many = controller.many

        def cycle(t: float, frame: SceneFrame) -> object:
            return many(frame.q, frame.qd, frame.rows, frame.goal)

        self.cycle = cycle
        size = len(shown.frames)
        starts = range(0, size, STATES)
        picked = [[shown.frames[(start + k) % size] for k in range(STATES)] for start in starts]
        self.frames = [
            batch._replace(goal=batch.goal[:, :3].copy())  # `many` takes positions
            for batch in (SceneFrame(*(np.array(part) for part in zip(*frames, strict=True))) for frames in picked)
        ]


Array = NDArray[np.float64]

CYCLES = 100_000
FEWER = 50  # peers, and the loop that sleeps, run a cycle where we run so many
REFERENCE = "K, supervised"
CONTROLLERS = {
    "K": Config(),
    "F linearised": Config(controller="F", force=Force(method="linearised")),
    "F operational": Config(controller="F", force=Force(method="operational")),
}
THESIS = 0.158  # s, an update of the thesis' whole simulation (section 4), on an Intel Core i7 of its day
POINTS = 200  # of a curve
THRESHOLDS = (1e-5, 2e-5, 5e-5, 1e-4, 1e-3, 1e-2)  # s


@dataclass(frozen=True)
class CycleRow:
    """One contender's cycles.  Times are for one state, in seconds."""

    bench: str
    robot: str
    n: int
    quantity: str
    who: str
    version: str
    seconds_per_state: float  # the median: a control loop does not live by its best cycle
    median_seconds: float  # the same
    p90_seconds: float
    ratio_to_us: float  # of the medians, to `REFERENCE`
    cycles: int
    median_s: float
    p999_s: float
    max_s: float
    floor_median_s: float  # of the clock read twice
    floor_p999_s: float
    floor_max_s: float
    busy_median_s: float  # of a loop that computes nothing for as long as our cycle lasts
    busy_p999_s: float
    busy_max_s: float
    says: str  # what is done in a cycle


@dataclass(frozen=True)
class CycleReport:
    """All rows of a run, the scene, and what it ran on."""

    rows: list[CycleRow]
    missing: list[str]
    cpu: str
    cycles: int
    capsules: int  # of the arm
    person_capsules: int
    pairs: int
    statuses: dict[str, int]  # what the supervised K controller said, and how often
    beyond: dict[str, list[float]]  # the parts of the cycles, of the floors too, longer than each of `thresholds_s`
    thresholds_s: tuple[float, ...] = THRESHOLDS
    thesis_s: float = THESIS
    curves: dict[str, Curve] = field(default_factory=dict, repr=False)  # for the plot alone


class Curve(NamedTuple):
    """A part of the cycles took longer than a time."""

    seconds: Array
    longer: Array


class CycleEntry(NamedTuple):
    """A contender, and what its row says of it."""

    quantity: str
    who: str
    version: str
    says: str
    contender: CycleContender
    states: int = 1


def run(
    *,
    cycles: int = CYCLES,
    shown: TimedScene | None = None,
    controllers: Mapping[str, Config] = CONTROLLERS,
    batches: bool = True,
    progress: Progress = silent,
) -> CycleReport:
    """Measure; `progress` is told what is being done.

    shown: the scene, if not the usual one.  controllers: by name, K among them.  batches: whether to run those too.
    """
    progress("building the scene, the controllers and the peers")
    with _unheard():
        shown = at_work(scene() if shown is None else shown)
    loops = {name: ControlLoop(shown, config, supervised=True) for name, config in controllers.items()}
    others, missing = steppers(shown)
    fewer = max(1, cycles // FEWER)
    entries = list(_ours(shown, loops, cycles, fewer, batches=batches))
    entries += [
        CycleEntry(p.quantity, p.name, p.version, p.says, CycleContender(p.cycle, p.frames, fewer)) for p in others
    ]
    named = {f"{e.who}: {e.quantity}": e for e in entries}
    like = f"{US}: {REFERENCE}"
    with _unheard():
        taken = measure({name: e.contender for name, e in named.items()}, period=PERIOD, like=like, progress=progress)
    reference = spread(taken[like])
    floors = spread(taken[EMPTY]), spread(taken[BUSY])
    rows = [_row(shown, e, taken[name], reference, floors) for name, e in named.items()]
    times = {name: ns / named[name].states if name in named else ns for name, ns in taken.items()}
    layout = loops["K"].controller.layout
    return CycleReport(
        rows,
        missing,
        cpu_name(),
        cycles,
        layout.own,
        shown.capsules,
        len(layout.pairs),
        dict(loops["K"].statuses),
        {name: beyond(ns) for name, ns in times.items()},
        curves={name: curve(ns) for name, ns in times.items()},
    )


@contextmanager
def _unheard() -> Iterator[None]:
    """What the supervisor logs is made but goes nowhere: a terminal would be timed else."""
    log, nowhere = logging.getLogger("elbowroom.avoidance"), logging.NullHandler()
    spread_on, log.propagate = log.propagate, False
    log.addHandler(nowhere)
    try:
        yield
    finally:
        log.removeHandler(nowhere)
        log.propagate = spread_on


def _row(
    shown: TimedScene, e: CycleEntry, taken: NDArray[np.int64], ours: Spread, floors: tuple[Spread, Spread]
) -> CycleRow:
    times = spread(taken / e.states)
    empty, busy = floors
    return CycleRow(
        "avoidance",
        shown.arm.name,
        shown.arm.n,
        e.quantity,
        e.who,
        e.version,
        times.median,
        times.median,
        times.p90,
        times.median / ours.median,
        e.contender.cycles,
        *(times.median, times.p999, times.max),
        *(empty.median, empty.p999, empty.max),
        *(busy.median, busy.p999, busy.max),
        e.says,
    )


def beyond(taken: Times) -> list[float]:
    """The part of these times (ns) that is longer than each threshold."""
    return [float((taken > limit * 1e9).mean()) for limit in THRESHOLDS]


def curve(taken: Times) -> Curve:
    """How many of these times (ns) were longer than each of some; dense where they are few."""
    ordered = np.sort(taken)
    count = len(ordered)
    left = np.unique(np.round(np.geomspace(1, count, POINTS)).astype(int))[::-1]  # as many are at least so long
    return Curve(ordered[count - left] * 1e-9, left / count)


# ---- ours


def _ours(
    shown: TimedScene, loops: dict[str, ControlLoop], cycles: int, fewer: int, *, batches: bool
) -> Iterator[CycleEntry]:
    pairs = len(loops["K"].controller.layout.pairs)
    frames = shown.frames
    work = f"kinematics, {pairs} distances, pushes and the command"

    def entry(quantity: str, says: str, contender: CycleContender, states: int = 1) -> CycleEntry:
        return CycleEntry(quantity, US, __version__, says, contender, states)

    for name, loop in loops.items():
        yield entry(
            f"{name}, supervised",
            f"supervised: {work}, checks, limits and the recorder in one native call",
            CycleContender(loop.whole, frames, cycles, prepare=loop.note),
        )
        again = ControlLoop(shown, loop.controller.config, supervised=True)
        yield entry(
            f"{name}, supervised, step alone",
            "step alone: the same, state and capsules handed over outside of the clock",
            CycleContender(again.alone, frames, cycles, prepare=again.hand_over),
        )
        bare = ControlLoop(shown, loop.controller.config, supervised=False)
        yield entry(
            f"{name}, bare", f"bare: {work} in a few compiled calls", CycleContender(bare.whole, frames, cycles)
        )
        if batches:
            batch = Batch(bare.controller, shown)
            yield entry(
                f"{name}, bare, {STATES} at once",
                f"{STATES} at once: as bare, without memory, one thread; times are for one state",
                CycleContender(batch.cycle, batch.frames, max(1, cycles // STATES)),
                STATES,
            )
    slow = ControlLoop(shown, loops["K"].controller.config, supervised=True)
    yield entry(
        f"{REFERENCE}, once a millisecond",
        "once a millisecond: supervised, with a sleep before each cycle, as control loops have it",
        CycleContender(slow.whole, frames, fewer, pause=PERIOD),
    )
