"""Supervised arms in SIMD lanes, for statistics: the ordinary cycles of a block of them as steps of a LaneSchedule.

    arms = SupervisorLanes(lambda: Supervisor(controller, limits), names)
    schedule = LaneSchedule([*before, *arms.steps, *after], arms.active)
    arms.bind(schedule)
    guard = arms.born()                      # a Supervisor, with what its step takes
    guard.step(t, dt)                        # its first cycle, as Supervisor.step has it
    arms.join(lane, guard)                   # from now on in this lane: the same commands to the bit
    ended = schedule.run()
    guard = arms.leave(lane, ended.step)     # goes on with this arm until its cycles are ordinary again

What an ordinary cycle does is a list of compiled calls on arrays (ordinary_cycle.py), which the schedule has once for
every lane.  Where rows are violated in a lane the filter's problem is solved, for the whole block, and the lanes in
question take the result.  Everything else, an arm's first cycle, its stops, resets and doubts, is done by a Supervisor.

Left out is what no command depends on: the flight recorder, log lines and counters of ordinary cycles.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...algebra import where
from ...algebra.linalg import Array as Scalars
from ...algebra.linalg import vector
from ...compile import compiled
from ...compile.lane_schedule import (
    Blend,
    Halt,
    Label,
    LaneSchedule,
    LaneStep,
    Repeat,
    Where,
    carried,
    flat,
    reads_and_writes,
)
from ...compile.pipeline import Call, Copy, Span
from ...errors import ConfigError
from ...geometry import PARKED
from ..control.command import HUGE, Goal, State
from ..control.controller import Controller
from .filter.solver import CHANGED, ROUNDS
from .filter.stages import SUMMARY
from .limits import Limits
from .ordinary_cycle import CycleInputs
from .perception import TOLD
from .supervisor import Supervisor

Array = NDArray[np.float64]
Names = Sequence[tuple[str, ...]]
CYCLE, ATTEND, KEEP = "cycle", "attend", "keep"  # labels
STOP_RULES = ("overspeed", "stop_distance", "in_collision")


# ---- masks
def _lacking(_: None, active: Scalars, calm: Scalars, lack: Scalars) -> dict[str, Scalars]:
    """Whether the command wants attention, and whether the wish may violate a row."""
    asks = (active[0] > 0.0) & (calm[0] > 1.0)
    return {"asks": vector(where(asks, 1.0, 0.0)), "lacks": vector(where(asks & (lack[0] > 0.0), 1.0, 0.0))}


def _also(_: None, mask: Scalars, value: Scalars) -> dict[str, Scalars]:
    return {"both": vector(where((mask[0] > 0.0) & (value[0] > 0.0), 1.0, 0.0))}


def _stopping(_: None, asks: Scalars, summary: Scalars, told: Scalars, rules: Scalars) -> dict[str, Scalars]:
    """Whether a command that wants attention is a stop: what `Supervisor._attend` finds."""
    overspeed, people, distance, size, marks = (
        summary[SUMMARY.index(name)] for name in ("overspeed", "people_distance", "distance", "size", "marks")
    )
    fastest, nearest, collision = rules
    stops = (marks > 0.0) & (told[TOLD.index("stale")] > 0.0)
    stops = stops | (overspeed > fastest) | ~(size < HUGE)
    stops = stops | ((nearest > 0.0) & (people < nearest)) | ((collision > 0.0) & (distance <= 0.0))
    return {"stops": vector(where((asks[0] > 0.0) & stops, 1.0, 0.0))}


def _rules(limits: Limits) -> list[float]:
    return [limits.overspeed, limits.stop_distance, float(limits.in_collision == "stop")]


class Guard:
    """A supervisor of one arm that is not ordinary now, with the objects that its step takes."""

    def __init__(self, supervisor: Supervisor, names: Names) -> None:
        if supervisor._own is None:
            raise ConfigError(f"lanes need supervisors of elbowroom's own controllers; got {supervisor.controller!r}")
        if supervisor.contact is not None:
            raise ConfigError("limits.contact: expected none in lanes, whose arms have no torques; got contact watched")
        self.supervisor, self.names = supervisor, [tuple(each) for each in names]
        self.controller: Controller = supervisor._own
        self.rules = np.array(_rules(supervisor.limits))
        self.active = np.zeros(1)
        self._build()
        self.new = [array.copy() for array in self.arrays]  # as they are before the first cycle
        self.state, self.goal = State(supervisor.arm.ready), Goal(np.zeros(3))
        self.obstacles = self.controller.obstacles()

    @property
    def takes(self) -> CycleInputs:
        """The arrays that a cycle is given."""
        return self.supervisor._cycle.takes

    @property
    def command(self) -> Array:
        """(n,) the speeds."""
        qd: Array = self.supervisor.limiter.out.qd
        return qd

    def _build(self) -> None:
        """The steps of a cycle on this supervisor's arrays, and these arrays: in the same order for every guard."""
        sup = self.supervisor
        limiter, cycle = sup.limiter, sup._cycle
        correction = limiter.correcting(
            cycle.takes.q, cycle.takes.qd, self.controller.command.tau, self.controller.pairs
        )
        lacks, asked, more, stops, asks = (np.zeros(1) for _ in range(5))
        pick, solve, give = correction.first
        again, _ = correction.again[0]
        one, other = solve.out, again.out
        shape = {"mask": (1,), "value": (1,)}
        also = compiled(_also, None, shape, name="also")
        better = give.kernel.empty()
        inputs = {"active": self.active, "calm": cycle.calm, "lack": limiter.array("lack")}
        lacking = compiled(_lacking, None, {k: x.shape for k, x in inputs.items()}, name="lacking")
        judged = {"asks": asks, "summary": limiter.out.summary, "told": sup.watch.told, "rules": self.rules}
        stopping = compiled(_stopping, None, {k: x.shape for k, x in judged.items()}, name="stopping")
        unsolved = Call(also, (asked, one.left), more, checked=())
        solved: list[LaneStep] = [again, *(Copy(getattr(other, k), getattr(one, k)) for k in CHANGED), unsolved]
        self.correcting = Where(
            lacks,
            [
                *correction.row,
                Call(also, (lacks, correction.violated), asked, checked=()),
                Where(
                    asked,
                    [
                        *(pick, solve, unsolved),
                        Where(more, [Repeat(solved, more, ROUNDS - 1)]),
                        Call(give.kernel, give.inputs, better, checked=give.checked),
                        *(Blend(asked, x, to) for x, to in zip(better, limiter.out, strict=True)),
                    ],
                ),
            ],
        )
        self.stopping = Halt(stops)
        self.steps: list[LaneStep] = [
            Label(CYCLE),
            *cycle.cycle,
            Call(lacking, tuple(inputs.values()), (asks, lacks), checked=()),
            Label(ATTEND),
            self.correcting,
            Call(stopping, tuple(judged.values()), stops, checked=()),
            self.stopping,
            Label(KEEP),
            *cycle.keep,
        ]
        found = dict[tuple[int, int], Array]()
        for step in cycle.cycle:
            for array in (x for part in reads_and_writes(step) for x in part):
                found.setdefault(Span.of(array)[:2], array)
        self.arrays = list(found.values())
        self.lasting = [x for x in carried(self.steps) if Span.of(x)[:2] in found or x is self.rules]

    def born(self) -> None:
        """As a supervisor that was just made."""
        for array, new in zip(self.arrays, self.new, strict=True):
            array[...] = new
        self.at_ease(())
        sup = self.supervisor
        sup._started, sup._standing = False, True
        self.controller._started = False
        self.controller._ring[...] = 0.0
        self.obstacles.rows[:], self.obstacles.stamps[:] = PARKED, -np.inf
        self.obstacles.names[:] = [()] * len(self.names)

    def at_ease(self, names: Names) -> None:
        """As one whose cycles are ordinary."""
        sup, latch = self.supervisor, self.supervisor._latch
        latch.status, latch.reason, latch.doubted, latch.doubt_reason = None, "", None, ""
        latch._told.clear()
        sup._hold.active, sup._started, sup._asked = False, True, ""
        sup._names, sup.recorder.left, sup.timing.stepped, sup.timing.stop = list(names), -1, False, None
        self.controller._started = True

    @property
    def ordinary(self) -> bool:
        """Whether the next cycle may be made in a lane."""
        sup, latch = self.supervisor, self.supervisor._latch
        return (
            latch.doubted is None
            and latch.status is None
            and sup._started
            and not sup._hold.active
            and self.controller._started
            and self.obstacles.names == sup._names == self.names
        )

    def step(self, t: float, dt: float) -> Array:
        """Its own step."""
        return self.supervisor.step(t, dt, self.state, self.obstacles, self.goal).qd

    def attended(self, t: float, *, correct: bool) -> Array:
        """The end of a cycle that was made in a lane, and wants attention."""
        self.supervisor._commanded(t, self.obstacles, self.controller)
        return self.supervisor._corrected(t, self.state, self.obstacles, self.controller, correct=correct).qd


class SupervisorLanes:
    """See the module's docstring.  `make` gives a supervisor; `names` are those of each person's capsules.

    All supervisors have the same programs; the numbers of their settings may differ.
    """

    def __init__(self, make: Callable[[], Supervisor], names: Names) -> None:
        self._make, self._names = make, names
        self.first = Guard(make(), names)
        self._free = [self.first]
        self.steps, self.takes, self.command, self.active = (
            self.first.steps,
            self.first.takes,
            self.first.command,
            self.first.active,
        )
        self._wrong: set[Any] = set(map(id, flat([self.first.correcting])))
        self._schedule: LaneSchedule | None = None

    def bind(self, schedule: LaneSchedule) -> None:
        """The schedule that has the steps."""
        self._schedule = schedule
        self._lasting = [schedule[x] for x in self.first.lasting]
        self._all = [schedule[x] for x in self.first.arrays]
        self._on = schedule[self.active]

    def born(self) -> Guard:
        """A supervisor before its first cycle."""
        guard = self._guard()
        guard.born()
        return guard

    def _guard(self) -> Guard:
        return self._free.pop() if self._free else Guard(self._make(), self._names)

    def join(self, lane: int, guard: Guard) -> None:
        """An arm whose cycles are ordinary goes on in a lane; its guard is free for another."""
        for own, column in zip(guard.lasting, self._lasting, strict=True):
            column[:, lane] = own.ravel()
        self._on[0, lane] = 1.0
        self._free.append(guard)

    def free(self, *lanes: int) -> None:
        """Nobody is in these lanes any more."""
        self._on[0, list(lanes)] = 0.0

    def release(self, guard: Guard) -> None:
        """A guard that is needed no longer."""
        self._free.append(guard)

    def leave(self, lane: int, step: LaneStep) -> tuple[Guard, str]:
        """A supervisor for the arm in a lane that ended a run at this step; and where the others go on.

        KEEP, or ATTEND, which comes before it: the cycle was made, and `attended` must end it; CYCLE: it was not.
        """
        guard = self._guard()
        guard.at_ease(guard.names)
        guard.obstacles.names[:] = guard.names
        label = KEEP if step is self.first.stopping else ATTEND if id(step) in self._wrong else CYCLE
        whole = label != CYCLE
        columns, arrays = (self._all, guard.arrays) if whole else (self._lasting, guard.lasting)
        for own, column in zip(arrays, columns, strict=True):
            own[...] = column[:, lane].reshape(own.shape)
        self.free(lane)
        return guard, label
