"""The process that runs the cell: at its own rate, whatever the page does.

It takes orders from a pipe, a few a cycle and never waiting for one, and puts a picture (picture.py) on the board
thirty times a second.  Nobody who looks at the board can hold it up.

    orders    ("set", name, value)  ("play",)  ("pause",)  ("step",)  ("reset",)  ("stop",)  ("resume",)  ("quit",)
              ("drag", (x, y))  ("hand", side, (x, y, z))  ("let_go",)  ("record", path)  ("save",)

An order that makes no sense is told in `problem` and changes nothing.  Another arm or scenario is another cell, which
begins anew.  Another controller takes over where the last one was: the arm at rest for a moment, the people, the work
and the time as they are, and a stop stays a stop.  The process ends when the page's does, however that ended.
"""

from __future__ import annotations

import dataclasses
import sys
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from ..avoidance.config import structure
from ..cell.log import Log, record_to
from ..cell.pace import RealTime
from ..cell.people import Seen
from ..cell.record import Recording
from ..cell.runner import Cell
from ..cell.steered import Steered
from ..errors import ElbowroomError
from ..model.visuals import visuals_of
from . import picture
from .board import Board
from .setup import Setup

RATE = 30.0  # pictures in a second
MOST_ORDERS = 20  # taken in one cycle; the others wait for the next
SUMMED_UP = 1.0  # s between two looks at how late the loop was, which takes a tenth of a millisecond
PLAIN = ("play", "pause", "step", "reset", "stop", "resume", "let_go", "save", "quit")
ORDERS = (*PLAIN, "set", "drag", "hand", "record")
CONTINUOUS = ("set", "drag", "hand")  # orders of which the last is what counts
ANEW = ("scenario", "robot")  # what makes another cell; other settings are another controller for this one


class Engine:
    """A cell that obeys."""

    def __init__(
        self, orders: Connection, board: Board, setup: Setup, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.orders, self.board, self.setup, self.clock = orders, board, setup, clock
        self.running, self.quit = True, False
        self.problem = self.busy = self.saved = ""
        self.generation = 0
        self.cell: Cell
        self.visuals: tuple[Any, ...] = ()
        self.recording: Recording | None = None
        self.pace: RealTime | None = None
        self._late: tuple[float, ...] | None = None
        self._summed = -SUMMED_UP
        self._steps, self._next, self._k, self._before = 0, 0.0, 0, 0
        self.build(setup)

    # ---- the cell
    def build(self, setup: Setup, *, anew: bool = True) -> None:
        """Another cell, or (not `anew`) the same one with another controller; the old stays if it cannot be made."""
        started = self.clock()
        self._tell(f"loading {setup.robot or 'the arm'}" if anew else "changing the controller")
        try:
            cell = Cell(setup.scene())
            drawn = visuals_of(cell.scene.robot, cell.scene.tip or None)
        finally:
            self.busy = ""
        self.close()
        if anew:
            _steer(cell)
            self.cell = cell
            self.restart()
        else:
            self._take_over(cell)
        self.setup, self.visuals = setup, drawn
        self.generation += 1
        self.loading = self.clock() - started

    def _tell(self, what: str) -> None:
        """Says what will take a while, with the last picture: none comes until it is done."""
        self.busy = what
        if self.generation:
            self.board.put(self.picture())

    def _take_over(self, cell: Cell) -> None:
        """A new cell in the place of the old, whose people, work and joints it has."""
        old = self.cell
        cell.people, cell.task = old.people, old.task
        cell.plant.reset(old.state.q)
        cell.plant.read(cell.state)
        cell.tool[:] = old.tool
        cell.people_rows[:] = old.people_rows
        cell.goes_on(self.t)
        if old.guard is not None and old.guard.latched is not None and cell.guard is not None:
            cell.guard.stop(old.guard.reason)
        self._before += old.plant.contacts
        self.cell = cell
        self.cycle()

    def restart(self) -> None:
        """From the beginning; a recording ends, since its time would go back."""
        self.close()
        for who in self.people:
            who.reset()
        self.cell.reset()
        self._k = self._before = 0
        self.cycle()  # so that there is something to show, paused or not

    @property
    def people(self) -> list[Steered]:
        """Who can be dragged, sensed and actual ones."""
        found = {id(side): side for who in self.cell.people for side in (who.actual, who.sensed)}
        return [who for who in found.values() if isinstance(who, Steered)]

    @property
    def t(self) -> float:
        """Simulated time, s."""
        return self._k * self.cell.period

    @property
    def contacts(self) -> int:
        """Contacts since the beginning, under all controllers."""
        return self._before + self.cell.plant.contacts

    def cycle(self) -> None:
        """One cycle of the cell."""
        t = self.t
        self.cell.step(t)
        if self.recording is not None:
            self._log.add(t)
        self.cell.advance(t, self.cell.period)
        self._k += 1

    def picture(self) -> dict[str, Any]:
        """All that a page shows of this moment."""
        return picture.take(self)

    def lateness(self) -> tuple[float, ...] | None:
        """How late cycles began since the loop started: median, 99 %, 99.9 %, worst (s); and how many overran."""
        now = self.clock()
        if self.pace is not None and now - self._summed >= SUMMED_UP:
            found = self.pace.summary()
            self._summed = now
            self._late = found.median, found.p99, found.p999, found.worst, found.overruns
        return self._late

    # ---- orders
    def obey(self) -> None:
        """Takes what has been ordered; of values that follow each other at once, as of a slider, the last."""
        waiting = self._waiting()
        for k, order in enumerate(waiting, 1):
            if order[0] in CONTINUOUS and k < len(waiting) and waiting[k][:-1] == order[:-1]:
                continue
            try:
                self._obey(*order)
                self.problem = ""
            except (ElbowroomError, ValueError, TypeError, OSError) as error:
                self.problem = str(error)

    def _waiting(self) -> list[tuple[Any, ...]]:
        """What is in the pipe, or some of it if it is much."""
        found: list[tuple[Any, ...]] = []
        try:
            while len(found) < MOST_ORDERS and self.orders.poll():
                found.append(self.orders.recv())
        except (EOFError, OSError):  # the page's process has gone
            self.quit = True
        return found

    def _obey(self, what: str, *given: Any) -> None:
        if what not in ORDERS:
            raise ValueError(f"there is no order {what!r:.40}")
        getattr(self, f"_{what}")(*given)

    def _reset(self) -> None:
        self.restart()

    def _save(self) -> None:
        self.close()

    def _play(self) -> None:
        self.running = True

    def _pause(self) -> None:
        self.running = False

    def _step(self) -> None:
        self.running, self._steps = False, self._steps + 1

    def _quit(self) -> None:
        self.quit = True

    def _stop(self) -> None:
        if self.cell.guard is None:
            raise ValueError("there is no supervisor to stop the arm; pause it instead")
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
        if wanted == self.setup:
            return
        if name == "speed":
            self.setup = wanted
            self.pace = None
            return
        scene = wanted.scene()
        tuned = name not in (*ANEW, "supervision")
        if tuned and structure(scene.controller) == structure(self.cell.controller.config):
            self.cell.controller.tune(scene.controller)
            self.setup = wanted
        else:
            self.build(wanted, anew=name in ANEW)

    def _record(self, path: str) -> None:
        self.close()
        # rows leave the memory once they are written: a page may stay open for days
        self.recording = record_to(self.cell, Path(path), notes=self._notes(), keep=False)
        self._log = Log(self.cell, self.recording)

    def _notes(self) -> dict[str, str]:
        chosen = {name: value for name, value in dataclasses.asdict(self.setup).items() if value not in (None, "")}
        return {name: str(value) for name, value in chosen.items()}

    def close(self) -> None:
        """Ends a recording."""
        if self.recording is not None:
            self.recording.close()
            problem = self.recording.problem
            self.saved = f"{self.recording.path} ({problem or f'{len(self.recording)} cycles'})"
            self.recording = None

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
            time.sleep(1 / RATE)

    def _while_running(self) -> None:
        self.pace = pace = RealTime(self.cell.period / self.setup.speed)
        self._summed = self.clock()  # nothing to sum up yet
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


def _steer(cell: Cell) -> None:
    """Everybody in it can be dragged."""
    steered = []
    for who in cell.people:
        hand = Steered(who.actual)
        steered.append(Seen(hand, hand) if who.sensed is who.actual else Seen(Steered(who.sensed), hand))
    cell.people = steered


def main(orders: Connection, board: Board, setup: Setup) -> None:
    """The process."""
    try:
        Engine(orders, board, setup).run()
    except ElbowroomError as error:  # a scene that cannot be: one line, no trace
        sys.stderr.write(f"{error}\n")
        raise SystemExit(1) from None
