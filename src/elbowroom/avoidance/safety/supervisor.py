"""The supervisor: checks and limits every command between a controller and an arm, and latches stops.

Informed by ISO 10218:2025 / ISO/TS 15066, not certified; run it under a certified safety controller.

    supervisor = Supervisor(controller, Limits())
    command = supervisor.step(t, dt, state, obstacles, goal)    # as Controller.step; never raises
    supervisor.reset(t)                                         # after a stop, once its reason has gone

One cycle: time and the joints' state (state_checks.py), contact (contact.py), people (perception.py), the goal's age,
the controller itself, limits (filter/), the flight recorder (flight_recorder.py).  Doubt stops the arm, and a stop is
latched (stop.py).

A stop is controlled, the last command run down along its own direction, where the joints' state can be trusted; with a
state that is stale or cannot be true it is immediate, all zeros, and stays so until reset.  With torques that means an
arm without torque: its brakes must take over, and `command.status` says so in the same cycle.

stop.py says which status is shown where several apply.
"""

from __future__ import annotations

import copy
import logging
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import ConfigError
from ..control.command import HUGE, INDEX, STATUSES, UNKNOWN, Command, Goal, State, Status, measured
from ..control.controller import Controller
from ..control.obstacles import Obstacles
from ..control.repulsion import HALF, OCCUPIED
from ..copies import Rebuilt
from .contact import ContactWatch
from .filter.limiter import Limiter
from .filter.rows import MotionLimit, own_limits
from .filter.stages import SUMMARY, Summary
from .flight_recorder import Recorder
from .limits import AnyController, Limits, examined, facts, paired, same_joints
from .ordinary_cycle import ordinary_cycle
from .perception import CLOCK, Watch
from .state_checks import CycleTiming, StateChecks
from .stop import EVADING, HELD, IMMEDIATE, OVERLAP, Hold, Latch, Shown, shown

Array = NDArray[np.float64]
REQUESTED = Status.STOP_INTERNAL  # a stop that was asked for; its reason begins with who asked: "operator"
_OVERLAPS = CLOCK.index("overlap")
_MARGIN = SUMMARY.index("margin")
_STOPS = frozenset(id(s) for s in Status if s.stops)  # an enum's own hash is Python code


_STATUS = INDEX["status"]


class Supervisor(Rebuilt):
    """Checks and limits every command of a controller, and stops the arm; see the module's docstring.

    joint_names    of the plant, base first: refused unless they are the arm's
    places         (people, others, capsules a person) of the obstacles, for a controller without a `layout`
    motion_limits  objects with `rows` (MotionLimit): limits of one's own, held as those of things and the floor are
    on_command     called with every command before it is returned; if it raises, the arm stops
    acting         False where the arm is not given these commands, so that it need not follow them (F28)

    A copy, or what is unpickled, stands where the original stood, with memory of its own: what was latched is latched,
    and who was seen is remembered.  It is for looking ahead, or for another process: an arm obeys one supervisor.
    """

    def __init__(
        self,
        controller: AnyController,
        limits: Limits | None = None,
        *,
        joint_names: Sequence[str] | None = None,
        places: tuple[int, int, int] | None = None,
        motion_limits: Iterable[MotionLimit] = (),
        on_command: Callable[[Command], object] | None = None,
        acting: bool = True,
    ) -> None:
        if not hasattr(controller, "step") or not hasattr(controller, "arm"):
            raise ConfigError(f"controller: expected a Controller; got {controller!r:.60}")
        if limits is not None and not isinstance(limits, Limits):
            raise ConfigError(f"limits: expected Limits; got {limits!r:.60}; a Config belongs to the Controller")
        self.controller, self.arm, self.on_command = controller, controller.arm, on_command
        self.limits = limits = Limits() if limits is None else limits
        self.permit = True  # False withdraws the permission to move: the arm stops
        examined(self.arm)
        if joint_names is not None:
            same_joints(self.arm, joint_names)
        known = facts(controller, limits, places)
        self.bounds, self.period, self.reaction = known.bounds, known.period, known.reaction
        self._paired, self._tolerance = paired(controller), limits.clock_tolerance
        self.recorder = Recorder(self.arm.n, limits.record, self.period, limits.record_after)
        self._latch = Latch(self.recorder)
        self.timing = CycleTiming(limits, self.period, self._latch.note)
        self._clock = np.zeros(len(CLOCK))
        self.watch = watch = Watch(known.places, limits, self._clock, self._latch.note)
        rows = self._share()
        self.limiter = Limiter(
            *(self.arm.model, known, limits, self._clock, watch.told, watch.pace, rows, self.timing.longest),
            own_limits(motion_limits),
        )
        self.command = command = Command(self.arm.n)
        out = self.limiter.out
        command.qd, command.q, command.tau, command.tool_velocity = out.qd, out.q, out.tau, out.tool_velocity
        command.q[:] = self.arm.ready  # until there is a state
        given = self.limiter.last if acting else np.zeros(self.arm.n)  # our own copy: the caller has command.qd
        self.state_checks = StateChecks(self.arm, limits, self.bounds, given, torque=known.torque)
        touch = limits.contact
        self.contact: ContactWatch | None = None  # where contact is watched
        if touch is not None:
            self.contact = ContactWatch(self.arm, touch, limits, self.bounds, torque=known.torque)
        self._no_info = np.full_like(command.info, np.nan)
        self._still = command.acceleration
        self._names: list[tuple[str, ...]] = []  # of people's capsules, as far as they are known
        self._hold = Hold(self.arm)
        self._started, self._standing = False, True
        self._asked = ""  # why the operator wants a stop
        self._exceptions = self._saturated = self._slowed = 0
        self._make_ready()

    def _ready(self) -> None:
        """The ordinary cycle as one native call: for the package's own controller alone, others are asked by `step`."""
        self._own: Controller | None = None
        controller, limiter = self.controller, self.limiter
        if type(controller) is not Controller or not limiter.whole:
            return
        parts = self.watch, self.timing, self.state_checks, self.recorder, self._clock
        cycle = ordinary_cycle(controller, limiter, *parts)
        self._run_all, self._run_open, self._attention, self._correct, self._cycle = cycle
        self._own, self._of_controller = controller, vars(controller)
        self._predicted, self._layout = self.watch.predicted, self.watch.predicted.layout
        self._view: Any = self._clock.data
        self._info: Any = controller.command.info.data

    def _share(self) -> Array | None:
        """What is believed about people is written where the controller reads it; all of its rows, if it has such."""
        if self._paired is None:
            return None
        rows = self._paired.all_rows
        self.watch.write_to(self._paired.obstacles(own=True), rows[self._paired.layout.rows :])
        return rows

    def __setstate__(self, state: dict[str, object]) -> None:
        vars(self).update(state)
        self._share()  # copied arrays are no longer parts of each other
        self._ready()

    def __copy__(self) -> Supervisor:
        return copy.deepcopy(self)  # one that shared its latch with another would be none

    def __repr__(self) -> str:
        state = f"stopped, {self.latched}: {self.reason}" if self.latched else "not stopped"
        return f"<Supervisor of {self.controller!r}: {state}>"

    # ---- from outside
    @property
    def latched(self) -> Status | None:
        """The stop that needs a reset, if there is one."""
        return self._latch.status

    @property
    def reason(self) -> str:
        """Why the arm was stopped."""
        return self._latch.reason

    @property
    def counters(self) -> dict[str, int]:
        """How often things have happened, by name."""
        return {
            "stops": self._latch.stops,
            "resets_refused": self._latch.refused,
            "overruns": self.timing.overruns,
            "rejected_frames": self.watch.rejected,
            "jumps": self.watch.jumps,
            "lost": self.watch.lost,
            "exceptions": self._exceptions,
            "saturated": self._saturated,
            "slowed": self._slowed,
        }

    def stop(self, reason: str = "asked to", *, by: str = "operator") -> None:
        """Stops the arm from the next cycle on, latched.  May be called from any thread."""
        self._asked = f"{by}: {reason or 'asked to'}"

    def reset(self, t: float) -> bool:
        """Ends a stop: True if the arm may move again; False while there is a reason to stop or the arm moves.

        A refused reset is not remembered: give it again.  After one that ended a stop the next joint state is taken as
        the first: so an arm that was put elsewhere, which is a jump, is taken where it is now.
        """
        if self.latched is None:
            return True
        wanted = bool(self._asked) or not self.permit
        but = "the operator wants it to stand" if wanted else "" if self._standing else "the arm still moves"
        if not self._latch.open(t, but):
            return False
        self.limiter.go()
        self.state_checks.forget()
        if self.contact is not None:
            self.contact.forget()
        forget = getattr(self.controller, "reset", None)
        if forget is not None:
            forget()
        return True

    # ---- one cycle
    def step(self, t: float, dt: float, state: State, obstacles: Obstacles, goal: Goal) -> Command:
        """The command for the time t.  dt counts in the first cycle alone, then it is measured.  Never raises."""
        try:
            latch, own = self._latch, self._own
            touched = self.contact is not None and self.contact.look(state)
            if (
                own is not None
                and not touched
                and latch.doubted is None
                and latch.status is None
                and self._started
                and self.permit
                and not self._asked
                and not self._hold.active
                and own._started
                and "step" not in self._of_controller
                and obstacles.layout == self._layout
            ):
                alone = self.on_command is None and obstacles.names == self._names and self.recorder.left < 0
                run = self._run_all if alone else self._run_open
                rows, stamps = obstacles.rows, obstacles.stamps
                try:
                    refused = run(t, state.t, goal.t, goal.valid_for, state.q, state.qd, rows, stamps, goal.packed)
                except (ValueError, TypeError, ArithmeticError):
                    return self._one_by_one(t, dt, state, obstacles, goal)
                if refused is None or refused.step == self._attention:
                    command = self._commanded(t, obstacles, own)
                    if refused is None and alone:
                        asked = own.command
                        command.margin = self.limiter.summary[_MARGIN]
                        command.info, command.acceleration, command.level = asked.info, asked.acceleration, asked.level
                        return command
                    return self._corrected(t, state, obstacles, own, correct=self.limiter.lacking)
                # A number that is not finite ended it before anything was remembered: the long way finds out which.
            return self._one_by_one(t, dt, state, obstacles, goal)
        except Exception as error:  # whatever it was: the arm stands still, and the command says why
            self._exceptions += 1
            self._latch.doubt(Status.STOP_INTERNAL, f"{type(error).__name__}: {error}")
            return self._blind(t, state)

    def _commanded(self, t: float, obstacles: Obstacles, own: Controller) -> Command:
        """The command after the native call, with what its controller says."""
        self._predicted.names = obstacles.names
        obstacles.reads += 1
        asked, command = own.command, self.command
        command.t = asked.t = t
        command.dt = asked.dt = self._view[1]
        command.status = asked.status = status = STATUSES[int(self._info[_STATUS])]
        asked.level = own.level
        waits = status is Status.AVOIDING and asked.level[0] >= HALF
        command.reason = asked.reason = OCCUPIED if waits else ""
        return command

    def _corrected(self, t: float, state: State, obstacles: Obstacles, own: Controller, *, correct: bool) -> Command:
        """The rest of a cycle whose command wants attention."""
        if correct:
            try:
                self._correct()
            except ArithmeticError as error:
                why = self.limiter.unsound(state.q, error)
                self._stop_now(t, state.q, state.qd, self._pairs(own.command), Status.STOP_INTERNAL, why)
        return self._finished(t, state, obstacles, own.command, True)

    def _one_by_one(self, t: float, dt: float, state: State, obstacles: Obstacles, goal: Goal) -> Command:
        """Any cycle, its parts one after the other."""
        timing, watch, latch, limiter = self.timing, self.watch, self._latch, self.limiter
        q, qd = state.q, state.qd
        if self.contact is not None and latch.doubted not in (None, Status.STOP_CONTACT):
            self.contact.over = True  # a reaction does not go on beside another reason to stop
        latch.begin()
        if timing.tick(t, dt, state.t) is not None or self._asked or not self.permit:
            self._uneasy()
            if timing.stepped:
                if math.isfinite(t):
                    watch.forget(t)
                    self.state_checks.forget()
                return self._blind(t, state)
        self._clock[1] = step = timing.dt
        implausible = self.state_checks.look(state.t, q, qd)
        if implausible is not None:
            latch.doubt(implausible, self.state_checks.reason)
        self._feel(t, Status.STOP_STATE_INVALID)
        usable = t - goal.t <= goal.valid_for and goal.t <= t + self._tolerance
        try:
            sound = watch.look(t, obstacles, goal.packed)
        except Exception as error:
            sound = False
            latch.doubt(Status.STOP_INTERNAL, f"obstacles: {error}")
        if not sound:
            usable = self._sound(t, goal) and usable
        if latch.doubted in IMMEDIATE:
            watch.remark(t)
            return self._blind(t, state)
        if not usable:
            goal = self._held(t, q)
        elif self._hold.active:
            self._hold.active = False
        if not self._started:
            np.clip(qd, -self.bounds.velocity, self.bounds.velocity, out=limiter.last)
            self._started = True
        asked = self._ask(t, step, state, goal)
        pairs = self._pairs(asked)
        self._feel(t, Status.STOP_CONTACT)  # last, since any other doubt ends a reaction
        if asked is None or latch.doubted is not None or latch.status is not None:
            latch.close(t)
            self._run_down(t, q, qd, pairs)
        else:
            try:
                limiter.allow(q, qd, asked.qd, asked.tau, pairs)
            except (ValueError, TypeError) as error:
                self._stop_now(t, q, qd, pairs, Status.STOP_INTERNAL, limiter.unsound(q, error))
        return self._finished(t, state, obstacles, asked, usable)

    def _feel(self, t: float, status: Status) -> None:
        """A doubt for what is felt, if it is that."""
        contact = self.contact
        if contact is not None and contact.status is status:
            self._latch.doubt(status, contact.reason)
            if status is self._latch.status is Status.STOP_CONTACT:
                self._latch.explain(t, contact.reason)

    def _run_down(self, t: float, q: Array, qd: Array, pairs: Array) -> None:
        """The way to a standstill or, in a stop for contact and nothing else, the reaction to it."""
        limiter, latch, wanted = self.limiter, self._latch, None
        alone = latch.doubted in (None, Status.STOP_CONTACT) and latch.status is Status.STOP_CONTACT
        if self.contact is not None and alone:
            wanted = self.contact.reaction(t, q, qd, limiter.last)
        if wanted is None:
            limiter.ramp(q, qd, pairs)
        else:
            limiter.react(q, qd, wanted, pairs)

    def _pairs(self, asked: Command | None) -> Array:
        """The controller's pair table, where it has one and has filled it."""
        return self.limiter.no_pairs if asked is None or self._paired is None else self._paired.pairs

    def _finished(self, t: float, state: State, obstacles: Obstacles, asked: Command | None, usable: bool) -> Command:
        """The end of a cycle whose command was limited: its status, the caller's callback, memory and record."""
        latch, limiter, command = self._latch, self.limiter, self.command
        q, qd, pairs = state.q, state.qd, self._pairs(asked)
        command.t, command.dt, command.margin = t, self.timing.dt, limiter.summary[_MARGIN]
        if limiter.summary[0] == 0.0 and usable and asked is not None and latch.status is None:
            command.status, command.reason = asked.status, getattr(asked, "reason", "")
            command.info, command.acceleration = asked.info, asked.acceleration
            command.level = getattr(asked, "level", UNKNOWN)  # a controller of another's may have none
        elif not self._attend(t, q, qd, pairs, asked):
            return self._blind(t, state)
        if not self._called_back():
            self._stop_now(t, q, qd, pairs, Status.STOP_INTERNAL, latch.doubt_reason)
            command.status, command.reason = latch.status or Status.STOP_INTERNAL, latch.reason
        limiter.keep()
        self.recorder.write(limiter.record, command.status)
        if self._paired is not None and obstacles.names != self._names:
            self._learn_names(obstacles)
        return command

    def _attend(self, t: float, q: Array, qd: Array, pairs: Array, asked: Command | None) -> bool:
        """Every cycle that is not an ordinary one: its stops and its status.  False if the command is not finite."""
        latch, limits, command = self._latch, self.limits, self.command
        found = Summary(*self.limiter.out.summary.tolist())
        if found.marks:
            self.watch.remark(t)
            stale = self.watch.stale(t)
            if stale:
                self._stop_now(t, q, qd, pairs, Status.STOP_HUMAN_STALE, stale)
        if found.overspeed > limits.overspeed:
            why = f"a joint moves at {found.overspeed:.2f} times its velocity limit"
            self._stop_now(t, q, qd, pairs, Status.STOP_LIMIT, why)
        if 0.0 < limits.stop_distance > found.people_distance:
            why = f"a person is {found.people_distance:.3f} m away; the arm stops at {limits.stop_distance:g} m"
            self._stop_now(t, q, qd, pairs, Status.STOP_HUMAN, why)
        if found.distance <= 0.0 and limits.in_collision == "stop":
            self._stop_now(t, q, qd, pairs, Status.IN_COLLISION, OVERLAP)
        if not found.size < HUGE:
            latch.doubt(Status.STOP_INTERNAL, "the limited command is not finite")
            return False
        if asked is None:
            command.info, command.level, command.acceleration = self._no_info, UNKNOWN, self._still
            self._show(t, Shown(Status.OK, ""), found)
        else:
            command.info = asked.info
            command.level = UNKNOWN if self.watch.waiting else getattr(asked, "level", UNKNOWN)
            command.acceleration = self._still if latch.status is not None else asked.acceleration
            self._show(t, Shown(asked.status, getattr(asked, "reason", "")), found)
        still = found.commanded == 0.0 or self.limiter.torque
        self._standing = found.fastest <= limits.standing and still
        if latch.immediate:
            self.limiter.nothing()
        return True

    def _learn_names(self, obstacles: Obstacles) -> None:
        """Which parts of people there are, for the cycles to come.  Names of a frame that was refused are not those of
        the body that is believed."""
        if obstacles.layout != self.watch.predicted.layout:
            return
        known = self._names or [()] * obstacles.people
        taken = self.watch.taken(obstacles.stamps)
        names = [new if fine else old for new, old, fine in zip(obstacles.names, known, taken, strict=True)]
        self.limiter.learn(names, obstacles.person_capsules)
        self._names = names

    def _uneasy(self) -> None:
        """Doubts for what time and the operator say."""
        if self.timing.stop is not None:
            self._latch.doubt(self.timing.stop, self.timing.reason)
        if self._asked or not self.permit:
            self._latch.doubt(REQUESTED, self._asked or "operator: permission withdrawn")
            self._asked = ""

    def _ask(self, t: float, dt: float, state: State, goal: Goal) -> Command | None:
        """The controller's command, None if there is none to be had."""
        try:
            asked = self.controller.step(t, dt, state, self.watch.predicted, goal)
            status = asked.status
            if id(status) in _STOPS:
                self._latch.doubt(status, f"controller: {asked.reason}")
                return None
            if self._paired is None:
                self._clock[_OVERLAPS] = status is Status.IN_COLLISION
            return asked
        except Exception as error:
            self._exceptions += 1
            self._latch.doubt(Status.STOP_INTERNAL, f"controller: {type(error).__name__}: {error}")
            return None

    def _stop_now(self, t: float, q: Array, qd: Array, pairs: Array, status: Status, why: str) -> None:
        """A stop for what only showed after the limits: the command is made again, on the way to a standstill."""
        self._latch.doubt(status, why)
        if self._latch.status is None:
            self._latch.close(t)
            self.limiter.ramp(q, qd, pairs)

    def _called_back(self) -> bool:
        """Shows the command to the user's callback, if there is one; False if that failed."""
        if self.on_command is None:
            return True
        try:
            self.on_command(self.command)
            return True
        except Exception as error:
            self._exceptions += 1
            self._latch.doubt(Status.STOP_INTERNAL, f"on_command: {type(error).__name__}: {error}")
            return False

    def _sound(self, t: float, goal: Goal) -> bool:
        """After something was found that is not finite: whether the goal is; doubts the things if these are not."""
        things = self.watch.stale(t)
        if things.startswith("things"):
            self._latch.doubt(Status.STOP_HUMAN_STALE, things)
        return bool(np.isfinite(goal.packed).all())

    def _held(self, t: float, q: Array) -> Goal:
        """Holds the tool where it is, for want of a valid goal; but not for ever."""
        new = not self._hold.active
        goal = self._hold.goal(t, q)
        if new:
            self._latch.tell(t, Status.HOLD_COMMAND_TIMEOUT, HELD, logging.WARNING)
        if t - self._hold.since >= self.limits.hold_time:
            self._latch.doubt(Status.STOP_COMMS, f"no valid goal for {self.limits.hold_time:g} s")
        return goal

    def _blind(self, t: float, state: State) -> Command:
        """All zeros, at once: the state, the time or this supervisor itself cannot be trusted."""
        self._latch.close(t)
        self.limiter.nothing()
        command = self.command
        q = None if self._started else measured(state, "q", self.arm.n)
        if q is not None:
            command.q[:] = q  # nothing was commanded yet: where the arm is
        self._started = True  # zeros were: a later cycle of this stop must not begin with the speed that it measures
        command.t, command.dt, command.info, command.acceleration = t, self.timing.dt, self._no_info, self._still
        command.margin, command.level = math.nan, UNKNOWN
        command.status, command.reason = self._latch.status or Status.STOP_INTERNAL, self._latch.reason
        self._standing = False
        self._called_back()
        try:
            self.recorder.write_blind(t, state, command.status)
        except Exception:  # a state that no row can hold; evidence is worth less than an answer
            self._exceptions += 1
        return command

    def _show(self, t: float, asked: Shown, found: Summary) -> None:
        """The status and its reason; what is new is reported."""
        command, before = self.command, self.command.status
        if self._latch.status is not None:
            command.status, command.reason = self._latch.status, self._latch.reason
            return
        if asked.status in (Status.OK, Status.AVOIDING) and found.evading > 0.0:
            asked = Shown(Status.AVOIDING, asked.reason or EVADING)
        human, limit = found.human_scale, found.limit_scale
        status, reason = shown(found.distance, self._hold.active, self.watch.waiting, human, limit, asked)
        command.status, command.reason = status, reason
        self._slowed += human < 1.0
        self._saturated += limit < 1.0
        if reason and status is not before and status is not Status.HOLD_COMMAND_TIMEOUT:
            self._latch.note(status, t, reason, logging.WARNING if status is Status.IN_COLLISION else logging.INFO)
