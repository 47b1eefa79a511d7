"""The live cell behind a page, and the orders that it takes: another cell, stop, reset, record, drag.

A stop belongs to the workplace, not to a supervisor that may be changed for another: `held` says why, whoever wanted
it, and nothing but `go_on` ends it.  While it lasts

    supervision "stop"      the supervisor keeps the arm standing, time goes on, and it must agree to `go_on`
    "watch", "off"          nothing runs

An error in a control step, or in what is shown of it, is a stop too, and nothing runs.

`Undisturbed` is the same cell with nobody in it, step for step beside the one that is shown: what the work would be
without people.  A control step of it takes a tenth of a millisecond, with the same controller and supervisor, so that
all of the difference is what people cost.
"""

from __future__ import annotations

import dataclasses
import logging
import math
import time
from collections.abc import Callable, Mapping
from itertools import count
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...avoidance import Supervisor
from ...cell.pace import PaceSummary, RealTime
from ...cell.people.coworker import Coworker
from ...cell.people.dragged import DraggedPerson
from ...cell.people.settings import Seen
from ...cell.pick_and_place import Handling
from ...cell.recording.table import Recording
from ...cell.runner import Cell, Log, record_to
from ...cell.scene import Scene
from ...cell.task import DraggedGoal, Task
from ...errors import ElbowroomError
from ...geometry.shapes import A, B
from ...model.visuals import Visual, visuals_of
from ..panel.margins import WaitingTime
from ..panel.status import LastMinute, works
from ..snapshot import SceneView, Snapshot
from .processes import SharedBuffer
from .setup import Setup

Array = NDArray[np.float64]
AWAY = np.array([40.0, 0.0, 0.0])  # m
LOG = logging.getLogger("elbowroom.viewer")
SUMMED_UP = 1.0  # s between two looks at how late the loop was, which takes a tenth of a millisecond
TOO_LARGE = "the picture is too large to show"


class _Away:
    """A person moved far away, where they do not matter: nobody needs to be waited for."""

    def __init__(self, who: Coworker) -> None:
        self._who, self.names, self.duration = who, who.names, who.duration

    def look(self, t: float, rows: Array) -> float | None:
        """As they are, far away."""
        stamp = self._who.look(t, rows)
        rows[:, A] += AWAY
        rows[:, B] += AWAY
        return stamp

    def point(self, t: float) -> tuple[Array, Array]:
        """Where they are, and how fast."""
        at, velocity = self._who.point(t)
        return at + AWAY, velocity


class Undisturbed:
    """A cell without people; `cycles` are the task cycles that it has done."""

    def __init__(self, scene: Scene, instead_of: Undisturbed | None = None, t: float = 0.0) -> None:
        self.cell = Cell(dataclasses.replace(scene, controller=dataclasses.replace(scene.controller, planning=None)))
        away = [_Away(who.actual) for who in self.cell.people]
        self.cell.people = [Seen(who, who) for who in away]
        if instead_of is not None:  # with another controller, from where the last one was
            self.cell.take_over(instead_of.cell, t, people=False)

    @property
    def cycles(self) -> int:
        """Task cycles done."""
        return self.cell.task.cycles

    def reset(self) -> None:
        """Begins anew."""
        self.cell.reset()

    def step(self, t: float) -> None:
        """The control step at t, and the time until the next."""
        self.cell.step(t)
        self.cell.advance(t, self.cell.period)


class SessionRecording:
    """Recordings of a live session; `saved` says what was recorded.

    The notes of a recording say with which settings it was made.  So a change of them ends the file, and the next
    control step is the first row of another beside it, with the new ones in its notes: run.csv, run-2.csv, ...
    """

    def __init__(self) -> None:
        self.recording: Recording | None = None
        self.saved = ""
        self._log: Log | None = None
        self._first = Path()
        self._parts = self._rows = 0
        self._trouble = ""

    @property
    def trouble(self) -> str:
        """What is wrong with the disk, or nothing."""
        return self._trouble or ("" if self.recording is None else self.recording.problem or "")

    def begin(self, cell: Cell, path: Path, notes: Mapping[str, str]) -> None:
        """A new recording; one that is being made ends."""
        self.end()
        self._first, self._parts, self._rows, self._trouble = path, 0, 0, ""
        self._open(cell, path, notes)

    def _open(self, cell: Cell, path: Path, notes: Mapping[str, str], *, replace: bool = False) -> None:
        # rows leave the memory once they are written: a page may stay open for days
        self.recording = record_to(cell, path, notes=notes, replace=replace, keep=False)
        self._log = Log(cell, self.recording)
        self._parts += 1

    def change(self, cell: Cell, notes: Mapping[str, str]) -> None:
        """Goes on with other settings, or another cell, in the next file; a file without a row yet is made again."""
        old = self.recording
        if old is None or old.path is None:
            return
        again, before = len(old) == 0, self.saved
        self.end()
        if again:
            path, self._parts, self.saved = old.path, self._parts - 1, before
        else:
            names = (self._first.with_stem(f"{self._first.stem}-{k}") for k in count(self._parts + 1))
            path = next(name for name in names if not name.exists())
        try:
            self._open(cell, path, notes, replace=again)
        except (ElbowroomError, OSError) as error:  # the settings have changed all the same
            self._trouble = f"the recording has ended: {error}"

    def add(self, t: float) -> None:
        """The control step at t."""
        if self._log is not None:
            self._log.add(t)

    def end(self) -> None:
        """Closes the file, if there is one."""
        recording, self.recording, self._log = self.recording, None, None
        if recording is None:
            return
        recording.close()
        self._rows += len(recording)
        last = f" to {recording.path.name}" if recording.path not in (None, self._first) else ""
        files = f" in {self._parts} files" if self._parts > 1 else ""
        self.saved = f"{self._first}{last} ({recording.problem or f'{self._rows} control steps{files}'})"


class Workplace:
    """A cell, and the board that it is shown on."""

    def __init__(self, board: SharedBuffer, setup: Setup, clock: Callable[[], float] = time.monotonic) -> None:
        self.board, self.setup, self.clock = board, setup, clock
        self.running = True
        self.problem = self.busy = self.held = ""
        self._ran = False  # whether it would run, were it not held
        self.generation = 0
        self.cell: Cell
        self.alone: Undisturbed | None = None
        self.waiting, self.minute = WaitingTime(), LastMinute()
        self._shown_at = math.inf  # s, of the last snapshot
        self.visuals: tuple[Visual, ...] = ()
        self.tape = SessionRecording()
        self.pace: RealTime | None = None
        self._late: PaceSummary | None = None
        self._summed = -SUMMED_UP
        self._k = self._before = 0
        self._view_of: tuple[Cell, Setup] | None = None
        self.build(setup)

    # ---- the cell
    def build(self, setup: Setup, *, anew: bool = True) -> None:
        """Builds another cell, or (not `anew`) the same with another controller; the old one stays if that fails."""
        started = self.clock()
        self._tell(f"loading {setup.robot or 'the arm'}" if anew else "changing the controller")
        try:
            cell = Cell(setup.scene())
            drawn = visuals_of(cell.scene.robot, cell.scene.tip or None)
        finally:
            self.busy = ""
        if anew:
            _steer(cell)
            if self.generation:
                self.cell.close()
            self.cell = cell
            self.alone = Undisturbed(cell.scene) if isinstance(cell.task, Handling) else None
            self._begin()
        else:
            self._take_over(cell)
            if self.alone is not None:
                self.alone = Undisturbed(cell.scene, self.alone, self.t)
        cell.plan_in_background()
        self.setup, self.visuals = setup, drawn
        self.tape.change(cell, self.notes())
        self._control_step()  # so that there is something to show, paused or not
        if self.held:
            self.hold(self.held)
        self.generation += 1
        self.loading = self.clock() - started

    def _tell(self, what: str) -> None:
        """Says what will take a while, with the last snapshot: none comes until it is done."""
        self.busy = what
        if self.generation:
            self.show()

    def _take_over(self, cell: Cell) -> None:
        """A new cell in the place of the old, whose people, work and joints it has."""
        cell.take_over(self.cell, self.t)
        self._before += self.cell.plant.contacts
        self.cell.close()
        self.cell = cell

    def restart(self) -> None:
        """Begins anew; a recording ends, since its time would go back."""
        self.close()
        self._begin()
        self._control_step()

    def _begin(self) -> None:
        for who in self.cell.people:
            for side in _sides(who):
                side.reset()
        self.cell.task = _work(self.cell)
        self.cell.reset()
        if self.alone is not None:
            self.alone.reset()
        self.waiting = WaitingTime()
        self.minute.clear()
        self._k = self._before = 0

    @property
    def people(self) -> list[DraggedPerson]:
        """Who is dragged: the first person, as they are and as they are sensed."""
        return _sides(self.cell.people[0]) if self.cell.people else []

    @property
    def t(self) -> float:
        """Simulated time, s."""
        return self._k * self.cell.period

    @property
    def contacts(self) -> int:
        """Contacts since the beginning, under all controllers."""
        return self._before + self.cell.plant.contacts

    def control_step(self) -> None:
        """One control step; none while the arm is held and there is no supervisor that keeps it standing."""
        if not self.held or self.brake is not None:
            self._control_step()

    def _control_step(self) -> None:
        t, cell, brake = self.t, self.cell, self.brake
        try:
            if self.held and brake is not None and brake.latched is None:
                brake.stop(self.held)
            cell.step(t)
            if self.held and brake is None:
                cell.plant.brake()
            self.tape.add(t)
            cell.advance(t, cell.period)
            self.waiting.look(cell)
            if self.alone is not None:
                self.alone.step(t)
            if brake is not None and brake.latched is not None and not self.held:
                self.hold(brake.reason)
        except Exception as error:
            self._failed(error)
        finally:
            self._k += 1

    # ---- what is moved by hand
    def drag_goal(self, place: tuple[float, float, float]) -> None:
        """The tool goes to that place (m) instead of its work, until `work_on`."""
        task = self.cell.task
        if isinstance(task, DraggedGoal):
            task.goal.position = place
        else:
            self.cell.task = DraggedGoal(task, place)

    def work_on(self) -> None:
        """The work goes on where it was."""
        self.cell.task = _work(self.cell)

    def set_joint(self, k: int, value: float) -> None:
        """Puts one joint elsewhere, within its limits, while nothing runs."""
        cell, old = self.cell, self.cell.state.q.copy()
        lower, upper = cell.controller.lower, cell.controller.upper
        cell.state.q[k] = min(max(value, lower[k]), upper[k])
        cell.tool[:] = cell.arm.pose(cell.state.q)[:3, 3]
        generation = self.generation
        try:
            self.build(self.setup, anew=False)  # a supervisor of its own: one that saw the arm jump would stop it
        except Exception:
            cell.state.q[:] = old
            raise
        self.generation = generation  # the same arm and people; the page need not be built anew

    # ---- stops
    @property
    def brake(self) -> Supervisor | None:
        """The supervisor, where it may stop the arm."""
        return self.cell.guard if self.cell.scene.supervision == "stop" else None

    def hold(self, reason: str) -> None:
        """Stops the arm until `go_on`."""
        self.held = self.held or reason
        if self.brake is None:
            self._stand()

    def _stand(self) -> None:
        """Lets nothing run."""
        self.running, self._ran = False, self.running or self._ran
        self.cell.state.qd[:] = self.cell.tool_velocity[:] = 0.0  # the next control step reads them anew

    def go_on(self) -> None:
        """Ends a stop, if the supervisor agrees; one that only watches is asked, but need not."""
        guard, brake = self.cell.guard, self.brake
        if brake is not None and brake.latched is not None and not self.running:
            self._control_step()  # it judges by its last control step, perhaps the one that it was told to stop in
        if guard is not None and not guard.reset(self.t):
            why = guard.recorder.events[-1].text.removeprefix("reset refused: ")
            if brake is not None:
                self.running = True  # the arm stands, and with time the reason may go
                raise ValueError(f"the stop stays: {why}")
            if not self.held:
                raise ValueError(f"the supervisor, which only watches, would not go on: {why}")
        if self.held:
            self.held = ""
            self.running, self._ran = self.running or self._ran, False

    def _failed(self, error: Exception) -> None:
        """After an error that should not happen: the arm stands, and the page says why."""
        said = f"{type(error).__name__}: {error}"
        if said != self.problem:  # once, not thirty times a second
            LOG.error("the arm is held", exc_info=error)
        self.problem = said
        self.hold(self.problem)
        self._stand()

    # ---- what is shown
    def show(self) -> None:
        """Puts a snapshot on the board; without what the arm's file draws where that is too large."""
        try:
            now = self.snapshot()
        except Exception as error:
            self._failed(error)
            return
        stepped, self._shown_at = now.t > self._shown_at, now.t  # control steps by hand count, too
        if (now.running or stepped) and not now.busy:
            self.minute.add(now.t, works(dataclasses.replace(now, running=True)))
        now = dataclasses.replace(now, minute=self.minute.columns)
        if self.board.put(now) is False:
            bare = dataclasses.replace(now.scene, visuals=())
            self.board.put(dataclasses.replace(now, scene=bare, problem=TOO_LARGE))

    def snapshot(self) -> Snapshot:
        """All that a page shows of this moment."""
        return Snapshot.from_cell(self)

    def scene_view(self) -> SceneView:
        """What stays while the cell does; made once for each."""
        if self._view_of != (self.cell, self.setup):
            self._view, self._view_of = SceneView.from_cell(self), (self.cell, self.setup)
        return self._view

    def lateness(self) -> PaceSummary | None:
        """How late control steps began since the loop started."""
        now = self.clock()
        if self.pace is not None and now - self._summed >= SUMMED_UP:
            self._late, self._summed = self.pace.summary(), now
        return self._late

    def notes(self) -> dict[str, str]:
        """What is chosen, for a recording; how fast it was shown does not matter to it."""
        chosen = dataclasses.asdict(self.setup)
        return {name: str(value) for name, value in chosen.items() if value not in (None, "") and name != "speed"}

    def close(self) -> None:
        """Ends a recording."""
        self.tape.end()


def _sides(who: Seen) -> list[DraggedPerson]:
    """A person as they are and as they are sensed, which may be the same."""
    found = {id(side): side for side in (who.actual, who.sensed)}
    return [side for side in found.values() if isinstance(side, DraggedPerson)]


def _work(cell: Cell) -> Task:
    """The work itself, also while a goal is dragged."""
    return cell.task.task if isinstance(cell.task, DraggedGoal) else cell.task


def _steer(cell: Cell) -> None:
    """Makes every person of a cell one who can be dragged."""
    steered = []
    for who in cell.people:
        hand = DraggedPerson(who.actual)
        steered.append(Seen(hand, hand) if who.sensed is who.actual else Seen(DraggedPerson(who.sensed), hand))
    cell.people = steered
