"""Arms in SIMD lanes, for statistics: the cycles of a block of them as steps of a LaneSchedule.

    arms = ControllerLanes(lambda: Controller(arm, config), names)
    schedule = LaneSchedule([*before, *arms.steps, *after], arms.active)
    arms.bind(schedule)
    arms.begin(lane, q, t, dt)               # a new arm, whose first cycle comes at t
    ended = schedule.run()
    alone, where = arms.leave(lane, ended.step)    # goes on alone: a Controller, with what its step takes
    alone.step(t, dt)                        # as Controller.step has it
    arms.join(lane, alone)                   # in a lane again, with the same commands to the bit

What a cycle does is a list of compiled calls on arrays, which the schedule has once for every lane.  `AloneArm` and
`ArmLanes` are for any such list; here is that of a controller by itself, in safety/lanes.py that of a supervised arm.

A controller's law that makes no sense ends the run before anything of it is remembered; the controller itself goes on
with that arm alone.  It latches nothing, so LATCH stays as it is.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from ...algebra import Scalar, where
from ...algebra.linalg import Array as Scalars
from ...algebra.linalg import vector
from ...compile import compiled
from ...compile.pipeline import Call, Span
from ...compile.schedules.card import CardSchedule
from ...compile.schedules.lanes import LaneSchedule
from ...compile.schedules.steps import Halt, Label, LaneStep, carried, flat, reads_and_writes
from ...geometry import PARKED
from .command import GOAL, INDEX, NOW, STATUSES, CycleInputs, Goal, State, Status
from .controller import Controller
from .obstacles import Obstacles

Array = NDArray[np.float64]
Names = Sequence[tuple[str, ...]]
CYCLE, ATTEND, RUN_DOWN = "cycle", "attend", "run down"  # labels
LATCH = ("stopped", "doubted", "standing", "first")
STOPPED, DOUBTED, STANDING, FIRST = range(len(LATCH))
_SENSELESS = float(STATUSES.index(Status.STOP_INTERNAL))


class AloneArm(ABC):
    """One arm, with the objects that its step takes, and its cycle as steps of a schedule.

    active, reset, latch    masks and LATCH, as the schedule has them for each lane
    arrays, lasting         all that the steps use, and of these what is carried from cycle to cycle
    """

    at_first: tuple[float, ...] = (0.0,) * len(LATCH)  # LATCH before the first cycle
    steps: list[LaneStep]
    state: State
    goal: Goal
    obstacles: Obstacles

    def __init__(self, names: Names) -> None:
        self.names = [tuple(each) for each in names]
        self.active, self.reset, self.latch = np.zeros(1), np.zeros(1), np.zeros(len(LATCH))

    def _know(self) -> None:
        """The steps' arrays: in the same order for every arm of a kind, and as they are before the first cycle."""
        found, outside = dict[tuple[int, int], Array](), [Span.of(x)[:2] for x in (self.active, self.reset)]
        for step in flat(self.steps):
            for array in (x for part in reads_and_writes(step) for x in part):
                found.setdefault(Span.of(array)[:2], array)
        self.arrays = [x for span, x in found.items() if span not in outside]
        self.lasting = [x for x in carried(self.steps) if Span.of(x)[:2] not in outside]
        self.new = [array.copy() for array in self.arrays]

    def born(self) -> None:
        """As one that was just made."""
        for array, new in zip(self.arrays, self.new, strict=True):
            array[...] = new
        self.controller._started = False
        self.controller._ring[...] = 0.0
        self.obstacles.rows[:], self.obstacles.stamps[:] = PARKED, -np.inf
        self.obstacles.names[:] = [()] * len(self.names)

    @property
    @abstractmethod
    def controller(self) -> Controller:
        """Whose law it has."""

    @property
    @abstractmethod
    def takes(self) -> CycleInputs:
        """The arrays that a cycle is given."""

    @property
    @abstractmethod
    def command(self) -> Array:
        """(n,) the speeds."""

    @property
    @abstractmethod
    def ordinary(self) -> bool:
        """Whether the next cycle may be made in a lane."""

    @property
    @abstractmethod
    def latched(self) -> bool:
        """Whether a stop lasts."""

    @abstractmethod
    def end_stop(self, t: float) -> None:
        """Ends a stop, if that may be."""

    @abstractmethod
    def step(self, t: float, dt: float) -> Array:
        """Its own step, alone."""

    @abstractmethod
    def attended(self, t: float, *, correct: bool) -> Array:
        """The end of a cycle that was made in a lane, and wants attention."""

    @abstractmethod
    def entered(self, *, made: bool) -> None:
        """As one that a lane has left with its numbers; `made`: but for its end the cycle was made there."""


A = TypeVar("A", bound=AloneArm)


class ArmLanes(Generic[A]):
    """See the module's docstring.  `make` gives an arm before its first cycle; all have the same programs."""

    def __init__(self, make: Callable[[], A]) -> None:
        self._make = make
        self.first = first = make()
        self._free = [first]
        self.steps, self.takes, self.command, self.active = first.steps, first.takes, first.command, first.active
        self.latch, self.reset = first.latch, first.reset

    def bind(self, schedule: LaneSchedule | CardSchedule) -> None:
        """The schedule that has the steps."""
        first = self.first
        self._lasting = [schedule[x] for x in first.lasting]
        self._all = [schedule[x] for x in first.arrays]
        self._on = schedule[self.active]
        first.born()
        first.latch[:] = first.at_first
        with np.errstate(over="ignore", invalid="ignore"):  # numbers that stand for none, in single precision
            for own, column in zip(first.arrays, self._all, strict=True):
                column[:, 0] = own.ravel()
        self._columns = schedule.columns
        self._newborn = self._columns[:, 0].copy()
        self._memory, self._gains = schedule[first.controller._memory], schedule[first.controller._gains]

    def begin(self, lane: int, q: Array, t: float, dt: float, gains: Array | None = None) -> None:
        """A new arm at q (n,) in a lane, whose first cycle comes at t; with gains of its own if they are given."""
        self._columns[:, lane] = self._newborn
        self._memory[-len(q) :, lane] = q
        if gains is not None:
            self._gains[:, lane] = gains
        self._on[0, lane] = 1.0

    def born(self, gains: Array | None = None) -> A:
        """An arm before its first cycle."""
        alone = self._alone()
        alone.born()
        if gains is not None:
            alone.controller._gains[:] = gains
        return alone

    def _alone(self) -> A:
        return self._free.pop() if self._free else self._make()

    def join(self, lane: int, alone: A) -> None:
        """An arm whose cycles are ordinary goes on in a lane; what it was alone is free for another."""
        with np.errstate(over="ignore"):
            for own, column in zip(alone.lasting, self._lasting, strict=True):
                column[:, lane] = own.ravel()
        self._on[0, lane] = 1.0
        self._free.append(alone)

    def free(self, *lanes: int) -> None:
        """Nobody is in these lanes any more."""
        self._on[0, list(lanes)] = 0.0

    def release(self, alone: A) -> None:
        """One that is needed no longer."""
        self._free.append(alone)

    def left_at(self, step: LaneStep) -> str:
        """CYCLE where nothing was done of a cycle that ended at a step; else where it goes on."""
        return CYCLE

    def leave(self, lane: int, step: LaneStep) -> tuple[A, str]:
        """The arm in a lane that ended a run at this step, alone; and where the others go on.

        CYCLE: its cycle was not made; else it was, and `attended` must end it: ATTEND, with its correction.
        """
        alone, label = self._alone(), self.left_at(step)
        whole = label != CYCLE
        columns, arrays = (self._all, alone.arrays) if whole else (self._lasting, alone.lasting)
        for own, column in zip(arrays, columns, strict=True):
            own[...] = column[:, lane].reshape(own.shape)
        alone.entered(made=whole)
        self.free(lane)
        return alone, label


# ---- a controller by itself


@dataclass(frozen=True)
class _Clocked:
    """The law's clock, and the slot of the moving average after this step."""

    samples: int
    turned: Callable[[Scalar, Scalar], tuple[list[Scalar], Scalar]]

    def __call__(self, _: None, slot: Scalars, period: Scalars) -> dict[str, Scalars]:
        clock, later = self.turned(period[0], slot[0])
        return {"clock": vector(*clock), "later": vector(later)}

    def compiled_as(self) -> int:
        return self.samples


def _senseless(_: None, info: Scalars) -> dict[str, Scalars]:
    return {"senseless": vector(where(info[INDEX["status"]] == _SENSELESS, 1.0, 0.0))}


class AloneController(AloneArm):
    """A controller without a supervisor."""

    def __init__(self, controller: Controller, names: Names) -> None:
        super().__init__(names)
        self._controller, n = controller, controller.arm.n
        slot, period = controller.slot, np.zeros(1)
        self._period = period
        self._takes = CycleInputs(
            np.zeros(len(NOW)),
            np.zeros(n),
            np.zeros(n),
            controller.obstacles(own=True).rows,
            np.zeros(len(names)),
            np.zeros(GOAL),
        )
        q, qd, goal = self._takes.q, self._takes.qd, self._takes.goal
        clock, later, senseless = np.zeros(2), np.zeros(1), np.zeros(1)
        ticks = _Clocked(controller.samples, controller.turned)
        clocked = compiled(ticks, None, {"slot": slot.shape, "period": period.shape}, name="clocked")
        looked = compiled(_senseless, None, {"info": controller.command.info.shape}, name="senseless")
        law, after = controller.calls(q, qd, goal, clock, later)
        self.steps = [
            Label(CYCLE),
            Call(clocked, (slot, period), (clock, later), checked=()),
            *law,
            Call(looked, (controller.command.info,), senseless, checked=()),
            Halt(senseless),
            *after,
        ]
        self._know()
        self.state, self.goal = State(controller.arm.ready), Goal(np.zeros(3))
        self.obstacles = controller.obstacles()

    @property
    def controller(self) -> Controller:
        """Itself."""
        return self._controller

    @property
    def takes(self) -> CycleInputs:
        """The arrays that a cycle is given."""
        return self._takes

    @property
    def command(self) -> Array:
        """(n,) the speeds."""
        qd: Array = self._controller.command.qd
        return qd

    @property
    def ordinary(self) -> bool:
        """Whether a step was made and everybody was seen."""
        return self._controller.started and self.obstacles.names == self.names

    @property
    def latched(self) -> bool:
        """It latches nothing."""
        return False

    def end_stop(self, t: float) -> None:
        """There is none."""

    def step(self, t: float, dt: float) -> Array:
        """Its own step, alone."""
        self._period[0] = dt
        return self._controller.step(t, dt, self.state, self.obstacles, self.goal).qd

    def attended(self, t: float, *, correct: bool) -> Array:
        """Never asked for."""
        raise AssertionError("a controller's cycle is made or not")

    def entered(self, *, made: bool) -> None:
        """As one that a lane has left with its numbers."""
        self._controller._started = True  # or about to: the joint goal begins where the arm is (`begin`)
        self.obstacles.names[:] = self.names


class ControllerLanes(ArmLanes[AloneController]):
    """Controllers without a supervisor; `names` are those of each person's capsules."""

    def __init__(self, make: Callable[[], Controller], names: Names) -> None:
        super().__init__(lambda: AloneController(make(), names))

    def bind(self, schedule: LaneSchedule | CardSchedule) -> None:
        """The schedule that has the steps."""
        super().bind(schedule)
        self._period = schedule[self.first._period]

    def begin(self, lane: int, q: Array, t: float, dt: float, gains: Array | None = None) -> None:
        """A new arm at q (n,) in a lane, whose first cycle comes at t; with gains of its own if they are given."""
        super().begin(lane, q, t, dt, gains)
        self._period[0, lane] = dt
