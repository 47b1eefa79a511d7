"""The process that runs the cell: at its own rate, whatever the page does.

It takes orders from a pipe, a few in each control step and never waiting for one, and puts a snapshot on the board
thirty times a second.  Nobody who looks at the board can hold it up.

    orders    ("set", name, value)  ("play",)  ("pause",)  ("toggle",)  ("step",)  ("reset",)  ("stop",)  ("resume",)
              ("drag", (x, y))  ("hand", side, (x, y, z))  ("let_go",)  ("goal", (x, y, z))  ("work_on",)
              ("joint", k, value)  ("record", path)  ("save",)  ("tape", path)  ("quit",)

"toggle" is "pause" or "play", and "tape" is "save" or "record", whichever is not so now: what a page shows of that is a
moment old.

An order that makes no sense is reported in `problem` and changes nothing.  Another arm or scenario is another cell,
which begins anew.  Another controller takes over where the last one was: the arm at rest for a moment, the people, the
work and the time as they are.

A stop stays until "resume", whatever is chosen meanwhile (workplace.py).  The process ends when the page's does,
however that ended.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path

from ...avoidance.control.config import structure
from ...cell.pace import RealTime
from ...errors import ElbowroomError
from .processes import CONTINUOUS, Order, SharedBuffer
from .setup import Setup
from .workplace import LOG, Workplace

RATE = 30.0  # snapshots in a second
MOST_ORDERS = 20  # taken in one control step; the others wait for the next
PLAIN = ("play", "pause", "toggle", "step", "reset", "stop", "resume", "let_go", "work_on", "save", "quit")
ORDERS = (*PLAIN, "set", "drag", "hand", "goal", "joint", "record", "tape")
ANEW = ("scenario", "robot")  # what makes another cell; other settings are another controller for this one
FARTHEST = 3.0  # m from its base: a goal beyond is nowhere near
STAYS = "the stop stays: press go on"


class Engine(Workplace):
    """A workplace that obeys orders from a pipe."""

    def __init__(
        self, orders: Connection, board: SharedBuffer, setup: Setup, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.orders, self.quit = orders, False
        self._steps, self._next = 0, 0.0
        super().__init__(board, setup, clock)

    # ---- orders
    def obey(self) -> None:
        """Obeys the orders in the pipe; of values that follow each other at once, as of a slider, the last."""
        waiting = self._waiting()
        for k, order in enumerate(waiting, 1):
            try:
                if k < len(waiting) and _overtaken(order, waiting[k]):
                    continue
                self._obey(*order)
                self.problem = ""
            except (ElbowroomError, ValueError, OSError) as error:
                self.problem = str(error)
            except Exception as error:
                LOG.exception("an order failed: %.200r", order)
                self.problem = f"{type(error).__name__}: {error}"

    def _waiting(self) -> list[Order]:
        """The orders in the pipe, at most `MOST_ORDERS` of them."""
        found: list[Order] = []
        try:
            while len(found) < MOST_ORDERS and self.orders.poll():
                found.append(self.orders.recv())
        except (EOFError, OSError):  # the page's process has gone
            self.quit = True
        except Exception as error:  # what cannot be read is no order
            LOG.exception("an order cannot be read")
            self.problem = f"{type(error).__name__}: {error}"
        return found

    def _obey(self, what: object, *given: object) -> None:
        if what not in ORDERS:
            raise ValueError(f"there is no order {what!r:.40}")
        getattr(self, f"_{what}")(*given)

    def _reset(self) -> None:
        self.restart()

    def _save(self) -> None:
        self.close()

    def _play(self) -> None:
        if self.held:
            raise ValueError(STAYS)
        self.running = True

    def _pause(self) -> None:
        self.running = self._ran = False

    def _toggle(self) -> None:
        self._pause() if self.running else self._play()

    def _step(self) -> None:
        if self.held and self.brake is None:
            raise ValueError(STAYS)
        self.running, self._steps = False, self._steps + 1

    def _quit(self) -> None:
        self.quit = True

    def _stop(self) -> None:
        self.hold("asked to on the page")

    def _resume(self) -> None:
        self.go_on()

    def _drag(self, offset: tuple[float, float]) -> None:
        for who in self.people:
            who.drag(offset)

    def _hand(self, side: str, offset: tuple[float, float, float]) -> None:
        for who in self.people:
            who.drag_hand(side, offset)

    def _let_go(self) -> None:
        for who in self.people:
            who.let_go()

    def _goal(self, place: tuple[float, float, float]) -> None:
        x, y, z = (float(each) for each in place)
        if not math.dist((x, y, z), self.cell.arm.model.base[:3, 3]) <= FARTHEST:  # so that NaN is refused
            raise ValueError(f"goal: expected a place within {FARTHEST:g} m of the arm; got {place!r:.60}")
        self.drag_goal((x, y, z))

    def _work_on(self) -> None:
        self.work_on()

    def _joint(self, k: int, value: float) -> None:
        if self.running or self.held:
            raise ValueError("joints: pause first; they are set by hand while nothing runs, and no stop lasts")
        if k not in range(self.cell.arm.n) or not math.isfinite(value):
            raise ValueError(f"joint: expected one of {self.cell.arm.n} and a number; got {k!r:.20} and {value!r:.20}")
        self.set_joint(int(k), float(value))

    def _set(self, name: str, value: object) -> None:
        wanted = self.setup.changed(name, value)
        if wanted == self.setup:
            return
        if name == "speed":
            self.setup = wanted
            self.pace = None
            return
        scene = wanted.scene()
        tuned = name not in (*ANEW, "supervision", "planning")
        if tuned and structure(scene.controller) == structure(self.cell.controller.config):
            self.cell.controller.tune(scene.controller)
            self.setup = wanted
            self.tape.change(self.cell, self.notes())
        else:
            self.build(wanted, anew=name in ANEW)

    def _record(self, path: str) -> None:
        self.tape.begin(self.cell, Path(path), self.notes())

    def _tape(self, path: str) -> None:
        self._record(path) if self.tape.recording is None else self._save()

    # ---- the loop
    def run(self) -> None:
        """Runs until the order to quit."""
        try:
            while not self.quit:
                self._while_paused() if not self.running else self._while_running()
        finally:
            self.close()
            self.cell.close()

    def _while_paused(self) -> None:
        while not (self.running or self.quit):
            self.obey()
            while self._steps:
                self._steps -= 1
                self.control_step()
            self.show()
            time.sleep(1 / RATE)

    def _while_running(self) -> None:
        self.pace = pace = RealTime(self.cell.period / self.setup.speed)
        self._summed = self.clock()  # nothing to sum up yet
        generation, k = self.generation, 0
        with pace:
            while self.running and not self.quit and self.pace is pace and generation == self.generation:
                pace.wait(k)
                self.control_step()
                self.obey()
                now = self.clock()
                if now >= self._next:
                    self._next = max(self._next + 1 / RATE, now)
                    self.show()
                k += 1


def _overtaken(order: Order, by: Order) -> bool:
    """Whether the next order says the same, with another value."""
    same = len(order) > 1 and isinstance(by, tuple) and order[:-1] == by[:-1]
    return same and order[0] in CONTINUOUS


def main(orders: Connection, board: SharedBuffer, setup: Setup) -> None:
    """Runs the engine; the target of its process."""
    try:
        Engine(orders, board, setup).run()
    except ElbowroomError as error:  # a scene that cannot be: one line, no trace
        sys.stderr.write(f"{error}\n")
        raise SystemExit(1) from None
