"""Control cycles with states, people, goals and clocks that cannot be.

An input is JSON: a controller, and faults, each of which changes one thing that the loop is given, for some cycles.
Between faults the joints follow the commands, so that every input begins with an arm that moves.
"""

from __future__ import annotations

import json
import logging
import math
from pathlib import Path
from typing import Any

import numpy as np

import elbowroom as er
from elbowroom.avoidance import Command, Config, Controller, Force, Goal, Limits, State, Status, Supervisor
from elbowroom.geometry import Person

from ..mutate.numbers import extreme, number
from ..target import Broken, Target

Rng = np.random.Generator
PERIOD = 0.01
CYCLES = 30
ROUNDING = 1e-12
JUNK = (None, "text", [], [0.0], [[0.0, 0.0]], [0.0] * 40, {"a": 1}, ["a", "b"], [None, 1.0], True)
CONTROLLERS = ("planar2 K", "scara K", "planar2 F", "planar2 operational")
WHATS = (
    "q", "qd", "q_step", "qd_step", "q_whole", "qd_whole", "q_jitter", "q_frozen", "q_drift", "state_t", "t",
    "dt", "goal", "goal_velocity", "goal_rotation", "goal_t", "goal_valid", "goal_whole", "person",
    "person_row", "person_t", "person_near", "nobody", "unseen", "obstacles_whole", "state_whole", "permit",
    "stop", "reset",
)  # fmt: skip


class Cycles(Target):
    """Supervisor cycles with impossible states: no raise, commands finite and within limits, a stop stays one."""

    name, suffix, share = "supervisor", ".json", 10.0

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.log = logging.getLogger("elbowroom.avoidance")
        self.level = self.log.level
        self.log.setLevel(logging.CRITICAL + 1)  # every stop is told there
        self.controllers: dict[str, Controller] = {}

    def close(self) -> None:
        self.log.setLevel(self.level)

    def _controller(self, which: str) -> Controller:
        """As new: what one input leaves behind must not reach the next."""
        if which not in self.controllers:
            arm, law = which.split()
            law_settings: dict[str, Any] = {"controller": "K" if law == "K" else "F"}
            if law == "operational":
                law_settings["force"] = Force(method="operational")
            config = Config(period=PERIOD, **law_settings)
            self.controllers[which] = Controller(er.load(arm), config, people=1, person_capsules=13)
        self.controllers[which].reset()
        return self.controllers[which]

    def generate(self, rng: Rng) -> bytes:
        which = CONTROLLERS[int(rng.choice(len(CONTROLLERS), p=[0.4, 0.3, 0.15, 0.15]))]
        faults = []
        for _ in range(int(rng.choice([1, 1, 1, 2, 3, 5]))):
            what = WHATS[rng.integers(len(WHATS))]
            first = int(rng.integers(0, CYCLES))
            last = first + int(rng.choice([1, 1, 2, 5, CYCLES]))
            value: Any = number(rng, float(rng.uniform(-2, 2)), 0.7)
            if what.endswith("_whole"):
                value = JUNK[rng.integers(len(JUNK))] if rng.random() < 0.8 else [extreme(rng)] * 2
            elif what in ("t", "dt", "state_t", "goal_t", "person_t") and rng.random() < 0.5:
                value = float(rng.choice([-1.0, -PERIOD, -1e-9, 0.0, PERIOD, 0.5 * PERIOD, 0.1, 1.0, 100.0]))
            faults.append({"what": what, "cycles": [first, last], "at": int(rng.integers(13)), "value": value})
        limits = {"in_collision": "stop"} if rng.random() < 0.2 else {}
        bare = bool(rng.random() < 0.15)  # without a supervisor
        return json.dumps({"which": which, "bare": bare, "limits": limits, "faults": faults}).encode()

    def feed(self, data: bytes) -> bool:
        given = json.loads(data)
        controller = self._controller(given["which"])
        guard = None if given["bare"] else Supervisor(controller, Limits(**given["limits"]))
        run = _Run(controller, guard, given["faults"])
        for k in range(CYCLES):
            run.cycle(k)
        stopped = run.stopped
        run.still_guards()
        return not stopped


class _Run:
    """One loop, and what must hold of every command in it."""

    def __init__(self, controller: Controller, guard: Supervisor | None, faults: list[dict[str, Any]]) -> None:
        self.controller, self.guard, self.faults = controller, guard, faults
        self.arm = arm = controller.arm
        self.q, self.qd = arm.ready.astype(float), np.zeros(arm.n)
        self.person = Person.standing((1.5, 0.2, -0.75)).rows
        self.tool = arm.pose(arm.ready)[:3, 3]
        self.goal = Goal(self.tool + np.array([0.05, 0.0, -0.05]))
        self.obstacles = controller.obstacles()
        self.stopped = False
        self.torque = guard is not None and guard.limiter.torque  # then speeds are what comes of it, and no command
        self.before: np.ndarray | None = None  # speeds of the last command of a latched stop

    def cycle(self, k: int) -> None:
        """The cycle number k with the faults that it has."""
        t = 5.0 + k * PERIOD
        state: Any = State(self.q, self.qd, t)
        goal: Any = self.goal
        obstacles: Any = self.obstacles
        dt = PERIOD
        goal.t = t
        reset = False
        show = "see"
        rows, stamp = self.person.copy(), t
        now = [fault for fault in self.faults if fault["cycles"][0] <= k < fault["cycles"][1]]
        for fault in sorted(now, key=lambda fault: fault["what"].endswith("_whole")):  # junk last: it has no parts
            what, value, at = fault["what"], fault["value"], fault["at"] % self.arm.n
            real = value if isinstance(value, int | float) else math.nan
            if what in ("q", "qd"):
                getattr(state, what)[at] = real
            elif what in ("q_step", "qd_step"):
                getattr(state, what[:-5])[at] += real
            elif what == "q_jitter":
                state.q[at] += real * (-1) ** k
            elif what == "q_frozen":
                state.q[:] = self.arm.ready
            elif what == "q_drift":
                state.q[at] += 1e-3 * real * k
            elif what == "state_t":
                state.t = t + real
            elif what == "t":
                t = t + real if abs(real) < 1e3 else real
            elif what == "dt":
                dt = real
            elif what == "goal":
                goal.position[fault["at"] % 3] = real
            elif what == "goal_velocity":
                goal.velocity[fault["at"] % 3] = real
            elif what == "goal_rotation":
                goal.rotation[fault["at"] % 3, 0] = real
            elif what == "goal_t":
                goal.t = t + real
            elif what == "goal_valid":
                goal.valid_for = real
            elif what == "person":
                rows[:, fault["at"] % 7] = real
            elif what == "person_row":
                rows[fault["at"] % len(rows), (3 * fault["at"]) % 13] = real
            elif what == "person_t":
                stamp = t + real
            elif what == "person_near":
                shift = self.tool - rows[5, :3]
                rows[:, :3] += shift
                rows[:, 3:6] += shift
            elif what in ("nobody", "unseen"):
                show = what
            elif what == "permit" and self.guard is not None:
                self.guard.permit = bool(k % 2)
            elif what == "stop" and self.guard is not None:
                self.guard.stop("fuzz" if k % 2 else "")
            elif what == "reset":
                reset = True
            elif what in ("q_whole", "qd_whole") and isinstance(state, State):
                setattr(state, what[:-6], _junk(value))
            elif what == "goal_whole":
                goal = value
            elif what == "obstacles_whole":
                obstacles = value
            elif what == "state_whole":
                state = value
        if obstacles is self.obstacles:
            self._show(show, rows, stamp, t)
        if self.guard is None:
            command = self.controller.step(t, dt, state, obstacles, goal)
            self._sane(command, np.full(self.arm.n, np.inf))
            self.stopped |= command.status.stops
        else:
            if reset and self.guard.reset(t):
                self.before = None
            command = self.guard.step(t, dt, state, obstacles, goal)
            self._sane(command, self.guard.bounds.velocity)
            self._latched(command)
        self.q, self.qd = self.q + command.qd * PERIOD, command.qd.copy()
        limit = np.clip(self.q, self.arm.model.lower, self.arm.model.upper)
        self.q = np.where(np.isfinite(limit), limit, self.arm.ready)

    def still_guards(self) -> None:
        """Whatever has happened: once all is sound again and the stop is reset, a joint that jumps stops the arm."""
        guard = self.guard
        if guard is None:
            return
        self.faults, guard.permit = [], True
        self.q, self.qd = self.arm.ready.astype(float), np.zeros(self.arm.n)
        first = 10_000  # s / PERIOD: well behind every stamp that was believed
        for k in range(first, first + 200):
            if guard.reset(5.0 + k * PERIOD):
                self.before = None
            self.cycle(k)
            if guard.latched is None and k > first + 100:
                break
        if guard.latched is not None:
            return  # stopped is safe
        self.q[0] += 0.5 * (-1) ** (self.q[0] > 0.0)
        self.cycle(k + 1)
        if guard.latched is None:
            raise Broken("a joint that jumps by 0.5 does not stop the arm any more")

    def _show(self, show: str, rows: np.ndarray, stamp: float, t: float) -> None:
        if show == "nobody":
            self.obstacles.nobody(t)
        elif show == "see":
            self.obstacles.reads += 1  # so that another place at the same time is another look
            self.obstacles.see(rows, stamp)

    def _sane(self, command: Any, fastest: np.ndarray) -> None:
        if not isinstance(command, Command) or not isinstance(command.status, Status):
            raise Broken("a step gives something that is no command")
        for what in ("qd", "q", "tau", "tool_velocity"):
            if not np.isfinite(getattr(command, what)).all():
                raise Broken(f"{what} of a command is not finite ({command.status})")
        if not self.torque and (np.abs(command.qd) > fastest * (1 + ROUNDING)).any():
            raise Broken("a command is faster than the velocity limits")
        if self.guard is not None and (np.abs(command.tau) > self.guard.bounds.effort).any():
            raise Broken("a command has torques beyond the effort limits")
        if command.status.stops and not command.reason:
            raise Broken("a stop without a reason")

    def _latched(self, command: Command) -> None:
        """A stop that is latched is shown, stays, and only slows down."""
        assert self.guard is not None
        if self.guard.latched is None:
            if self.before is not None:
                raise Broken("a latched stop ended by itself")
            if command.status.stops:
                raise Broken("a stop is shown that is not latched")
            return
        self.stopped = True
        if command.status is not self.guard.latched:
            raise Broken(f"a command of a latched stop says {command.status}")
        speeds = np.abs(command.qd)
        if not self.torque and self.before is not None and (speeds > self.before * (1 + ROUNDING) + ROUNDING).any():
            raise Broken("a latched stop makes a joint faster")
        self.before = speeds.copy()


def _junk(value: Any) -> Any:
    """A list of numbers half of the time as an array, as a driver would give it."""
    try:
        return np.array(value, dtype=float) if isinstance(value, list) and len(value) % 2 == 0 else value
    except (TypeError, ValueError):
        return np.array(value, dtype=object)
