"""Supervised arms in SIMD lanes, for statistics: the cycles of a block of them as steps of a LaneSchedule.

    arms = SupervisorLanes(lambda: Supervisor(controller, limits), names)
    schedule = LaneSchedule([*before, *arms.steps, *after], arms.active)
    arms.bind(schedule)
    arms.begin(lane, q, t, dt)               # a new arm, whose first cycle comes at t
    ended = schedule.run()
    guard, where = arms.leave(lane, ended.step)    # goes on alone: a Supervisor, with what its step takes
    guard.step(t, dt)                        # as Supervisor.step has it
    arms.join(lane, guard)                   # in a lane again, with the same commands to the bit

What an ordinary cycle does is a list of compiled calls on arrays (ordinary_cycle.py), which the schedule has once for
every lane.  Where rows are violated in a lane the filter's problem is solved, for the whole block, and the lanes in
question take the result.

Of each lane LATCH is known besides: whether the arm is stopped, whether the last cycle had a reason to stop, whether
the arm stands, whether its first cycle is still to come.  In the cycle that stops an arm the filter runs once more, for
the whole block, with nothing wanted of those that stop; the others find what they had found.  `reset` (1,) asks for the
end of a stop, as Supervisor.reset does.  The reason of a stop is not kept.

What is not finite, a clock or joints that cannot be true: such a lane ends the run, and a Supervisor goes on with it.
The first frame of every person must be there, and good, in an arm's first cycle; one without begins with `born`.

Left out is what no command depends on: the flight recorder, log lines and counters of ordinary cycles.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...algebra import where
from ...algebra.linalg import Array as Scalars
from ...algebra.linalg import vector
from ...compile import compiled
from ...compile.pipeline import Call, Copy
from ...compile.schedules.card import CardSchedule
from ...compile.schedules.lanes import LaneSchedule
from ...compile.schedules.steps import Blend, Halt, Label, LaneStep, Repeat, Where, flat
from ...errors import ConfigError
from ..control.command import HUGE, CycleInputs, Goal, State, Status
from ..control.controller import Controller
from ..control.lanes import ATTEND, CYCLE, FIRST, RUN_DOWN, STANDING, STOPPED, AloneArm, ArmLanes, Names
from .filter.body_regions import retreats, table
from .filter.limiter import STOP
from .filter.solver import CHANGED, ROUNDS
from .filter.stages import Summary
from .limits import Limits
from .perception import TOLD
from .supervisor import Supervisor

Array = NDArray[np.float64]
STOPPED_BEFORE = "stopped in a lane, where reasons are not kept"


# ---- masks, and what depends on them
def _resetting(
    n: int, active: Scalars, latch: Scalars, asked: Scalars, q: Scalars, memory: Scalars
) -> dict[str, Scalars]:
    """Whose stop ends now; LATCH and the controller's memory after that."""
    stopped, doubted, standing, _ = (x > 0.0 for x in latch)
    resets = (active[0] > 0.0) & (asked[0] > 0.0) & stopped & ~doubted & standing
    return {
        "resets": vector(where(resets, 1.0, 0.0)),
        "opened": vector(0.0, *latch[1:]),
        "forgotten": vector(*(0.0 for _ in memory[:-n]), *q),
    }


def _held(_: None, latch: Scalars, qd: Scalars, tau: Scalars) -> dict[str, Scalars]:
    """What is wanted: nothing of an arm that is stopped."""
    stopped = latch[STOPPED] > 0.0
    held_qd, held_tau = ([where(stopped, 0.0, x) for x in each] for each in (qd, tau))
    return {"held_qd": vector(*held_qd), "held_tau": vector(*held_tau), "stop": vector(where(stopped, 1.0, 0.0))}


def _lacking(_: None, active: Scalars, calm: Scalars, lack: Scalars) -> dict[str, Scalars]:
    """Whether the wish may violate a row."""
    return {"lacks": vector(where((active[0] > 0.0) & (calm[0] > 1.0) & (lack[0] > 0.0), 1.0, 0.0))}


def _also(_: None, mask: Scalars, value: Scalars) -> dict[str, Scalars]:
    return {"both": vector(where((mask[0] > 0.0) & (value[0] > 0.0), 1.0, 0.0))}


def _attended(torque: bool, **x: Scalars) -> dict[str, Scalars]:
    """What `Supervisor._attend` finds: LATCH after the cycle, who is stopped by it, and whose command is not finite."""
    found, told, latch = Summary(*x["summary"]), x["told"], x["latch"]
    fastest, nearest, collision, slow = x["rules"]
    stopped = latch[STOPPED] > 0.0
    attends = (x["active"][0] > 0.0) & ((x["calm"][0] > 1.0) | stopped)
    doubts = (found.marks > 0.0) & (told[TOLD.index("stale")] > 0.0)
    doubts = doubts | (found.overspeed > fastest) | ((nearest > 0.0) & (found.people_distance < nearest))
    doubts = attends & (doubts | ((collision > 0.0) & (found.distance <= 0.0)))
    still = found.fastest <= slow
    standing = where(attends, where(still if torque else still & (found.commanded == 0.0), 1.0, 0.0), latch[STANDING])
    return {
        "latched": vector(*(where(c, 1.0, 0.0) for c in (stopped | doubts, doubts)), standing, 0.0),
        "stops": vector(where(doubts & ~stopped, 1.0, 0.0)),
        "fails": vector(where(attends & ~(found.size < HUGE), 1.0, 0.0)),
    }


def _rules(limits: Limits) -> list[float]:
    return [limits.overspeed, limits.stop_distance, float(limits.in_collision == "stop"), limits.standing]


def _call(function: Any, subject: Any, inputs: dict[str, Array], out: Any) -> Call:
    kernel = compiled(function, subject, {k: x.shape for k, x in inputs.items()}, name=function.__name__.strip("_"))
    return Call(kernel, tuple(inputs.values()), out, checked=())


class Guard(AloneArm):
    """A supervisor of one arm."""

    at_first = 0.0, 0.0, 1.0, 1.0

    def __init__(self, supervisor: Supervisor, names: Names, *, single: bool = False) -> None:
        super().__init__(names)
        if supervisor._own is None:
            raise ConfigError(f"lanes need supervisors of elbowroom's own controllers; got {supervisor.controller!r}")
        if supervisor.contact is not None:
            raise ConfigError("limits.contact: expected none in lanes, whose arms have no torques; got contact watched")
        self.supervisor, self._single = supervisor, single
        self._controller: Controller = supervisor._own
        self.rules = np.array(_rules(supervisor.limits))
        self._build()
        self._know()
        self.state, self.goal = State(supervisor.arm.ready), Goal(np.zeros(3))
        self.obstacles = self.controller.obstacles()

    @property
    def controller(self) -> Controller:
        """The supervisor's."""
        return self._controller

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
        """The steps of a cycle on this supervisor's arrays."""
        sup, own = self.supervisor, self.controller
        limiter, cycle = sup.limiter, sup._cycle
        latched, stops, fails = self.latch.copy(), np.zeros(1), np.zeros(1)
        filtering, self.correcting = self._filtering(self.latch)
        again, correcting = self._filtering(latched)
        self.running_down: list[LaneStep] = [*again, correcting]
        attending = {"active": self.active, "latch": self.latch, "calm": cycle.calm, "summary": limiter.out.summary}
        attending |= {"told": sup.watch.told, "rules": self.rules}
        self.failing, first = Halt(fails), self.latch[FIRST:]
        known = retreats(self.names, own.obstacles().person_capsules, sup.limits)
        bears = table(self.names, own.obstacles().person_capsules)
        learned = ((known, limiter.retreat), (bears, limiter.bears))
        lacking, correct = filtering.pop(), self.correcting
        self.steps = [
            *self._resets(),
            Label(CYCLE),
            *cycle.begin,
            *filtering,
            *cycle.end,
            lacking,
            Label(ATTEND),
            correct,
            _call(_attended, limiter.torque, attending, (latched, stops, fails)),
            self.failing,
            Label(RUN_DOWN),
            Where(stops, self.running_down),
            *cycle.keep,
            Where(first, [Blend(first, np.array(x, float).reshape(to.shape), to) for x, to in learned]),
            Copy(latched, self.latch),
        ]

    def _resets(self) -> list[LaneStep]:
        """`Supervisor.reset`, where it is asked for and may be."""
        sup, own = self.supervisor, self.controller
        resets, opened, forgotten = np.zeros(1), self.latch.copy(), own._memory.copy()
        given = {"active": self.active, "latch": self.latch, "asked": self.reset}
        given |= {"q": self.takes.q, "memory": own._memory}
        checks, limiter = sup.state_checks, sup.limiter
        nothing: tuple[Array, ...] = limiter.last, limiter.change, checks.memory, own._ring, own._slot, own._level
        changes: list[tuple[Array, Array]] = [
            (opened, self.latch),
            (forgotten, own._memory),
            (np.full(1, np.nan), checks.stamp),
        ]
        changes.extend((np.zeros_like(x), x) for x in nothing)
        return [
            _call(_resetting, sup.arm.n, given, (resets, opened, forgotten)),
            Where(resets, [Blend(resets, x, to) for x, to in changes]),
        ]

    def _filtering(self, latch: Array) -> tuple[list[LaneStep], Where]:
        """The limiter's steps with this latch, the last says where rows may be violated; and its correction."""
        sup, takes, own = self.supervisor, self.takes, self.controller
        limiter, wanted = sup.limiter, own.command
        held_qd, held_tau = np.zeros_like(wanted.qd), np.zeros_like(wanted.tau)
        stop, lacks = sup._clock[STOP : STOP + 1], np.zeros(1)
        hold = _call(_held, None, {"latch": latch, "qd": wanted.qd, "tau": wanted.tau}, (held_qd, held_tau, stop))
        inputs = {"active": self.active, "calm": sup._cycle.calm, "lack": limiter.array("lack")}
        lacking = _call(_lacking, None, inputs, lacks)
        steps = [hold, *limiter.calls(takes.q, takes.qd, held_qd, held_tau, own.pairs), lacking]
        return list[LaneStep](steps), self._correction(lacks, held_tau)

    def _correction(self, lacks: Array, tau: Array) -> Where:
        limiter, takes = self.supervisor.limiter, self.takes
        correction = limiter.correcting(takes.q, takes.qd, tau, self.controller.pairs, single=self._single)
        asked, more = np.zeros(1), np.zeros(1)
        pick, solve, give = correction.first
        again, _ = correction.again[0]
        one, other = solve.out, again.out
        better = give.kernel.empty()
        unsolved = _call(_also, None, {"mask": asked, "value": one.left}, more)
        solved: list[LaneStep] = [
            again,
            *(Copy(getattr(other, k), getattr(one, k)) for k in CHANGED),
            replace(unsolved),
        ]
        return Where(
            lacks,
            [
                *correction.row,
                _call(_also, None, {"mask": lacks, "value": correction.violated}, asked),
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

    def born(self) -> None:
        """As a supervisor that was just made."""
        self.at_ease(())
        super().born()
        self.supervisor._started, self.supervisor._standing = False, True

    def at_ease(self, names: Names) -> None:
        """As one whose cycles are ordinary."""
        sup, latch = self.supervisor, self.supervisor._latch
        latch.status, latch.reason, latch.doubted, latch.doubt_reason = None, "", None, ""
        latch._told.clear()
        sup._hold.active, sup._started, sup._asked = False, True, ""
        sup._names, sup.recorder.left, sup.timing.stepped, sup.timing.stop = list(names), -1, False, None
        self.controller._started = True

    def entered(self, *, made: bool) -> None:
        """From the numbers of LATCH to the supervisor's own latch; `made`: but for its end the cycle was made."""
        stopped, doubted, standing, first = (x > 0.0 for x in self.latch)
        sup = self.supervisor
        self.at_ease(() if first else self.names)
        self.obstacles.names[:] = self.names
        sup._standing = bool(standing)
        if stopped:
            sup._latch.status, sup._latch.reason = Status.STOP_HUMAN_STALE, STOPPED_BEFORE
            if doubted and not made:
                sup._latch.doubted, sup._latch.doubt_reason = Status.STOP_HUMAN_STALE, STOPPED_BEFORE

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

    @property
    def latched(self) -> bool:
        """Whether a stop lasts."""
        return self.supervisor.latched is not None

    def end_stop(self, t: float) -> None:
        """Ends a stop, if that may be."""
        self.supervisor.reset(t)

    def step(self, t: float, dt: float) -> Array:
        """Its own step."""
        return self.supervisor.step(t, dt, self.state, self.obstacles, self.goal).qd

    def attended(self, t: float, *, correct: bool) -> Array:
        """The end of a cycle that was made in a lane, and wants attention."""
        self.supervisor._commanded(t, self.obstacles, self.controller)
        return self.supervisor._corrected(t, self.state, self.obstacles, self.controller, correct=correct).qd


class SupervisorLanes(ArmLanes[Guard]):
    """See the module's docstring.  `make` gives a supervisor; `names` are those of each person's capsules.

    All supervisors have the same programs and settings; `single` where the schedule is in single precision.
    """

    def __init__(self, make: Callable[[], Supervisor], names: Names, *, single: bool = False) -> None:
        super().__init__(lambda: Guard(make(), names, single=single))
        self._wrong: set[Any] = set(map(id, flat([self.first.correcting])))
        self._late: set[Any] = {id(self.first.failing), *map(id, flat(self.first.running_down))}

    def bind(self, schedule: LaneSchedule | CardSchedule) -> None:
        """The schedule that has the steps."""
        super().bind(schedule)
        self._times = schedule[self.first.supervisor.timing.memory[:2]]

    def begin(self, lane: int, q: Array, t: float, dt: float, gains: Array | None = None) -> None:
        """A new arm at q (n,) in a lane, whose first cycle comes at t; with gains of its own if they are given."""
        super().begin(lane, q, t, dt, gains)
        self._times[:, lane] = t - dt

    def join(self, lane: int, alone: Guard) -> None:
        """An arm whose cycles are ordinary goes on in a lane; its guard is free for another."""
        alone.latch[:] = 0.0, 0.0, float(alone.supervisor._standing), 0.0
        super().join(lane, alone)

    def left_at(self, step: LaneStep) -> str:
        """Where a cycle that ended at a step goes on."""
        return RUN_DOWN if id(step) in self._late else ATTEND if id(step) in self._wrong else CYCLE
