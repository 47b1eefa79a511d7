"""The ordinary cycle of a supervisor as one native call, for the package's own controller, whose parts are known.

    begun       time, the joints' state and the goal's age; ends the run where any of them is not as it should be
    perception, the controller, the filter
    ended       ends the run where the law makes no sense: nothing is remembered then
    what perception and the controller remember
                ends the run where the command wants attention: a status of its own, a stop, rows that are violated
    what the limiter remembers, and the flight recorder's row

A run that ends early has done nothing that lasts (the clock is written anew in every cycle), but for the last of the
three.  Python goes on from there.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...algebra import Scalar, where
from ...algebra.linalg import Array as Scalars
from ...algebra.linalg import vector
from ...compile import compiled
from ...compile.pipeline import Call, Copy, Pipeline, Refused, Sound, Step, ToRing
from ..control.command import GOAL, INDEX, NOW, STATUSES, CycleInputs, Status
from ..control.controller import Controller
from .filter.limiter import Limiter
from .filter.stages import SUMMARY
from .flight_recorder import STATUSES as RECORDED
from .flight_recorder import Recorder, following
from .perception import Watch
from .state_checks import CycleTiming, StateChecks, between, checked, on_time, ticked

Array = NDArray[np.float64]
SENSELESS = STATUSES.index(Status.STOP_INTERNAL)


@dataclass(frozen=True)
class _Begun:
    """The first kernel; `go` is infinite where the cycle is no ordinary one."""

    torque: bool
    samples: int
    turned: Callable[[Scalar, Scalar], tuple[list[Scalar], Scalar]]

    def __call__(self, _: None, **x: Scalars) -> dict[str, Scalars]:
        t, state_t, goal_t, valid_for = x["now"]
        tolerance = x["timing_rules"][2]
        usable = (t - goal_t <= valid_for) & (goal_t <= t + tolerance)
        rules = np.array([between(state_t, x["stamp"][0]), *x["check_rules"][1:]], dtype=object)
        found = checked(self.torque, x["q"], x["qd"], x["given"], x["checks"], rules)
        fine = on_time(t, state_t, x["timing"], x["timing_rules"]) & usable & (found["found"][0] <= 0.0)
        timing = ticked(t, state_t, x["timing"])
        clock, slot = self.turned(timing[2], x["slot"][0])
        return {
            "go": vector(where(fine, 0.0, math.inf)),
            "clock": vector(t, timing[2]),
            "law_clock": vector(*clock),
            "new_slot": vector(slot),
            "new_timing": vector(*timing),
            "new_stamp": vector(state_t),
            "new_checks": found["memory"],
        }

    def compiled_as(self) -> tuple[object, ...]:
        return self.torque, self.samples


def ended(
    _: None, info: Scalars, summary: Scalars, lack: Scalars, record: Scalars, place: Scalars
) -> dict[str, Scalars]:
    """`sane` is infinite where the law makes no sense, `calm` where the command wants attention."""
    status = info[INDEX["status"]]
    code: Scalar = 0.0
    for k, shown in enumerate(STATUSES):
        code = where(status == float(k), float(RECORDED.index(shown)), code)
    calm = (summary[SUMMARY.index("attention")] == 0.0) & (lack[0] <= 0.0)
    return {
        "sane": vector(where(status == float(SENSELESS), math.inf, 0.0)),
        "calm": vector(where(calm, 0.0, math.inf)),
        "row": vector(*record[:-1], code),
        "new_place": vector(*following(place)),
    }


class OrdinaryCycle(NamedTuple):
    """`run` takes t, the state's t, the goal's t and valid_for, q, qd, the obstacles' rows and stamps, and the goal.

    It gives None where all is done; a Refused of the step `attention` where the rest is Python's to do, and any other
    where nothing was done.  `opened` does as if there were always attention to be paid, and gives None then.
    """

    run: Callable[..., Refused | None]
    opened: Callable[..., Refused | None]
    attention: int
    correct: Callable[[], None]
    steps: CycleSteps


class CycleSteps(NamedTuple):
    """The same as steps, for many arms at once (lanes.py): between `begin` and `end` comes the limiter."""

    begin: list[Step]
    end: list[Step]
    calm: Array  # (1,) not finite where the command wants attention
    takes: CycleInputs
    keep: list[Copy]  # of the limiter


def ordinary_cycle(
    controller: Controller,
    limiter: Limiter,
    watch: Watch,
    timing: CycleTiming,
    checks: StateChecks,
    recorder: Recorder,
    clock: Array,
) -> OrdinaryCycle:
    """The cycle of these parts, on their own arrays."""
    n, places = controller.arm.n, controller.obstacles()
    q, qd, goal, stamps, now = np.zeros(n), np.zeros(n), np.zeros(GOAL), np.zeros(places.people), np.zeros(len(NOW))
    taken = {
        "now": now,
        "q": q,
        "qd": qd,
        "timing": timing.memory,
        "timing_rules": timing.rules,
        "stamp": checks.stamp,
        "given": checks.given,
        "checks": checks.memory,
        "check_rules": checks.rules,
        "slot": controller.slot,
    }
    begun = _Begun(checks.torque, controller.samples, controller.turned)
    first = compiled(begun, None, {name: x.shape for name, x in taken.items()}, name="begun")
    begins = first.empty()._replace(clock=clock[:2])
    look, remember = watch.calls(places.rows, stamps, goal)
    steps, after = controller.calls(q, qd, goal, begins.law_clock, begins.new_slot)
    wanted, tau = controller.command.qd, controller.command.tau
    closing = {
        "info": controller.command.info,
        "summary": limiter.out.summary,
        "lack": limiter.array("lack"),
        "record": limiter.out.record,
        "place": recorder.place,
    }
    last = compiled(ended, None, {name: x.shape for name, x in closing.items()}, name="ended")
    ends = last.empty()
    begin: list[Step] = [
        Call(first, tuple(taken.values()), begins, checked=("q", "qd", "given", "checks")),
        Sound(begins.go),
        *look,
        *steps,
    ]
    end: list[Step] = [
        Call(last, tuple(closing.values()), ends, checked=()),
        Sound(ends.sane),
        Copy(begins.new_timing, timing.memory),
        Copy(begins.new_stamp, checks.stamp),
        Copy(begins.new_checks, checks.memory),
        *after,
        *remember,
    ]
    all_steps: list[Step] = [*begin, *limiter.calls(q, qd, wanted, tau, controller.pairs), *end]
    attention = len(all_steps)
    keep = limiter.kept()
    kept: list[Step] = [
        Sound(ends.calm),
        *keep,
        ToRing(ends.row, recorder.data, recorder.place[:1]),
        Copy(ends.new_place, recorder.place),
    ]
    takes = *(now[k : k + 1].reshape(()) for k in range(len(NOW))), q, qd, places.rows, stamps, goal
    return OrdinaryCycle(
        Pipeline([*all_steps, *kept], takes=takes).run,
        Pipeline(all_steps, takes=takes).run,
        attention,
        limiter.corrections(q, qd, tau, controller.pairs),
        CycleSteps(begin, end, ends.calm, CycleInputs(now, q, qd, places.rows, stamps, goal), keep),
    )
