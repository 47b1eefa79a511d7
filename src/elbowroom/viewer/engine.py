"""The process that runs the cell: at its own rate, whatever the page does.

It takes orders from a pipe, a few a cycle and never waiting for one, and puts a picture on the board thirty times a
second.  Nobody who looks at the board can hold it up.

    orders    ("set", name, value)  ("play",)  ("pause",)  ("step",)  ("reset",)  ("stop",)  ("resume",)  ("quit",)
              ("drag", (x, y))  ("hand", side, (x, y, z))  ("let_go",)  ("record", path)  ("save",)
    picture   a dict: t, arrays of capsules, points, distances, texts; see `Engine.picture`

An order that makes no sense is told in `problem` and changes nothing.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..avoidance.config import structure
from ..cell.log import Log, record_to
from ..cell.pace import RealTime
from ..cell.people import Seen
from ..cell.record import Recording
from ..cell.runner import Cell
from ..cell.steered import Steered
from ..cell.task import PickAndPlace
from ..errors import ElbowroomError
from ..geometry.shapes import RADIUS, A, B
from .board import Board
from .setup import Setup

Array = NDArray[np.float64]

RATE = 30.0  # pictures in a second
MOST_ORDERS = 20  # taken in one cycle; the others wait for the next
IDLE = 0.02  # s, between looks at the pipe while nothing runs


class Engine:
    """A cell that obeys."""

    def __init__(
        self, orders: Connection, board: Board, setup: Setup, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.orders, self.board, self.setup, self.clock = orders, board, setup, clock
        self.running, self.quit, self.problem = True, False, ""
        self.generation = 0
        self.cell: Cell
        self.recording: Recording | None = None
        self.pace: RealTime | None = None
        self._steps, self._next, self._k = 0, 0.0, 0
        self.build(setup)

    # ---- the cell
    def build(self, setup: Setup) -> None:
        """Another cell; the old one stays if this one cannot be made."""
        started = self.clock()
        cell = Cell(setup.scene())
        self._steer(cell)
        self.close()
        self.cell, self.setup = cell, setup
        self.generation += 1
        self.loading = self.clock() - started
        self.restart()

    def _steer(self, cell: Cell) -> None:
        """Everybody in it can be dragged."""
        steered = []
        for who in cell.people:
            hand = Steered(who.actual)
            steered.append(Seen(hand, hand) if who.sensed is who.actual else Seen(Steered(who.sensed), hand))
        cell.people = steered

    def restart(self) -> None:
        """From the beginning."""
        for who in self.people:
            who.reset()
        self.cell.reset()
        self._k = 0

    @property
    def people(self) -> list[Steered]:
        """Who can be dragged, sensed and actual ones."""
        found = {id(side): side for who in self.cell.people for side in who}
        return [who for who in found.values() if isinstance(who, Steered)]

    @property
    def t(self) -> float:
        """Simulated time, s."""
        return self._k * self.cell.period

    def cycle(self) -> None:
        """One cycle of the cell."""
        t = self.t
        self.cell.step(t)
        if self.recording is not None:
            self._log.add(t)
        self.cell.advance(t, self.cell.period)
        self._k += 1

    # ---- orders
    def obey(self) -> None:
        """Takes what has been ordered."""
        for _ in range(MOST_ORDERS):
            if not self.orders.poll():
                return
            try:
                order = self.orders.recv()
            except EOFError:  # the page's process has gone
                self.quit = True
                return
            try:
                self._obey(*order)
                self.problem = ""
            except (ElbowroomError, ValueError, TypeError, OSError) as error:
                self.problem = str(error)

    def _obey(self, what: str, *given: Any) -> None:
        simple: dict[str, Callable[..., None]] = {
            "play": self._play,
            "pause": self._pause,
            "step": self._step,
            "reset": self.restart,
            "stop": self._stop,
            "resume": self._resume,
            "drag": self._drag,
            "hand": self._hand,
            "let_go": self._let_go,
            "set": self._set,
            "record": self._record,
            "save": self.close,
            "quit": self._quit,
        }
        if what not in simple:
            raise ValueError(f"there is no order {what!r:.40}")
        simple[what](*given)

    def _play(self) -> None:
        self.running = True

    def _pause(self) -> None:
        self.running = False

    def _step(self) -> None:
        self.running, self._steps = False, self._steps + 1

    def _quit(self) -> None:
        self.quit = True

    def _stop(self) -> None:
        if self.cell.guard is not None:
            self.cell.guard.stop("asked to on the page")

    def _resume(self) -> None:
        if self.cell.guard is not None and not self.cell.guard.reset(self.t):
            raise ValueError(f"the stop stays: {self.cell.guard.reason}")

    def _drag(self, offset: tuple[float, float]) -> None:
        for who in self.people:
            who.drag(offset)

    def _hand(self, side: str, offset: tuple[float, float, float]) -> None:
        for who in self.people:
            who.drag_hand(side, offset)

    def _let_go(self) -> None:
        for who in self.people:
            who.let_go()

    def _set(self, name: str, value: Any) -> None:
        wanted = self.setup.changed(name, value)
        if name == "speed":
            self.setup = wanted
            self.pace = None
            return
        scene = wanted.scene()
        same = name not in ("scenario", "robot", "supervision")
        if same and structure(scene.controller) == structure(self.cell.controller.config):
            self.cell.controller.tune(scene.controller)
            self.setup = wanted
        else:
            self.build(wanted)

    def _record(self, path: str) -> None:
        self.close()
        self.recording = record_to(self.cell, Path(path), notes=self._notes())
        self._log = Log(self.cell, self.recording)

    def _notes(self) -> dict[str, str]:
        chosen = {name: value for name, value in dataclasses.asdict(self.setup).items() if value not in (None, "")}
        return {name: str(value) for name, value in chosen.items()}

    def close(self) -> None:
        """Ends a recording."""
        if self.recording is not None:
            self.recording.close()
            self.recording = None

    # ---- pictures
    def picture(self) -> dict[str, Any]:
        """All that a page shows of this moment."""
        cell = self.cell
        info, guard = cell.controller.command, cell.guard
        arm = cell.controller.rows[: len(cell.body)]  # the capsules of this cycle, which the controller has placed
        nearest = self._nearest() if cell.people else None
        lower, upper = cell.controller.lower, cell.controller.upper
        summary = None if self.pace is None else self.pace.summary()
        return {
            "generation": self.generation,
            "setup": self.setup,
            "t": self.t,
            "running": self.running,
            "q": cell.state.q.copy(),
            "margins": np.minimum(cell.state.q - lower, upper - cell.state.q),
            "arm": np.hstack([arm[:, A], arm[:, B], arm[:, RADIUS : RADIUS + 1]]),
            "people": np.hstack(
                [cell.people_rows[:, A], cell.people_rows[:, B], cell.people_rows[:, RADIUS : RADIUS + 1]]
            ),
            "tool": cell.tool.copy(),
            "tool_speed": float(np.linalg.norm(cell.tool_velocity)),
            "goal": np.array(cell.task.goal.position),
            "objects": np.array(cell.task.objects),
            "offset": self.people[0].offset if self.people else np.zeros(2),
            "person": None if not cell.people else cell.people[0].actual.point(self.t)[0],
            "belts": self._belts(),
            "floor": cell.floor,
            "base": np.array(cell.arm.model.base[:3, 3]),
            "shown": self._shown(),
            "distance": cell.near.surfaces,
            "clearance": cell.clearance.surfaces,
            "axes": cell.near.axes,
            "nearest": nearest,
            "attraction": np.array(info.attraction),
            "repulsion": np.array(info.repulsion),
            "slow": info.slow,
            "push": info.push,
            "status": info.status.value,
            "verdict": "" if cell.verdict is None else cell.verdict.value,
            "reason": "" if guard is None else guard.reason,
            "stopped": guard is not None and guard.latched is not None,
            "state": cell.task.state,
            "cycles": cell.task.cycles,
            "contacts": cell.plant.contacts,
            "touching": cell.plant.touching,
            "problem": self.problem,
            "recording": "" if self.recording is None else str(self.recording.path),
            "recorded": 0 if self.recording is None else len(self.recording),
            "disk": "" if self.recording is None else self.recording.problem or "",
            "pace": None
            if summary is None
            else (summary.median, summary.p99, summary.p999, summary.worst, summary.overruns),
            "loading": self.loading,
        }

    def _nearest(self) -> tuple[Array, Array, str, str]:
        """The nearest points of the axes of arm and person, and what they are of."""
        controller = self.cell.controller
        return (*controller.nearest_points(), *controller.nearest())

    def _shown(self) -> dict[str, Any]:
        """What the settings are now, by the names of setup.py."""
        config = self.cell.controller.config
        return {
            "scenario": self.setup.scenario,
            "robot": self.cell.arm.name,
            "controller": config.controller,
            "inverse": config.inverse,
            "limits": config.joint_limits.method,
            "supervision": self.cell.scene.supervision,
            "influence": config.repulsion.influence,
            "gain": config.repulsion.gain,
            "kp": config.attraction.kp,
            "filter": config.smoothing.duration,
            "speed": self.setup.speed,
        }

    def _belts(self) -> list[tuple[Array, Array]]:
        """Both ends of the conveyors' belts."""
        task = self.cell.scene.task
        if not isinstance(task, PickAndPlace):
            return []
        here = task.placed(self.cell.origin)
        pick, place = np.array(here.pick), np.array(here.place)
        coming, going = here.infeed, here.outfeed
        return [(pick - coming.length * coming.way, pick), (place, place + going.length * going.way)]

    # ---- the loop
    def run(self) -> None:
        """Until somebody says quit."""
        try:
            while not self.quit:
                self._while_paused() if not self.running else self._while_running()
        finally:
            self.close()

    def _while_paused(self) -> None:
        while not (self.running or self.quit):
            self.obey()
            while self._steps:
                self._steps -= 1
                self.cycle()
            self.board.put(self.picture())
            time.sleep(IDLE)

    def _while_running(self) -> None:
        self.pace = pace = RealTime(self.cell.period / self.setup.speed)
        generation, k = self.generation, 0
        with pace:
            while self.running and not self.quit and self.pace is pace and generation == self.generation:
                pace.wait(k)
                self.cycle()
                self.obey()
                now = self.clock()
                if now >= self._next:
                    self._next = max(self._next + 1 / RATE, now)
                    self.board.put(self.picture())
                k += 1


def main(orders: Connection, board: Board, setup: Setup) -> None:
    """The process."""
    Engine(orders, board, setup).run()
