"""The cell of a recording, arm and people, rebuilt from the notes in its file.

With the scene among the notes everything is as it was.  An older recording names its arm only; then the arm is turned
as its recorded tool says, and a person is a standing figure at the recorded place.
"""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...arm import Arm
from ...cell.layout import limited, mounted, starting
from ...cell.people.coworker import Coworker
from ...cell.people.dragged import arm_rows, bend_to
from ...cell.people.settings import PersonSettings
from ...cell.people.walking import Still
from ...cell.recording.table import RecordedTable
from ...cell.scene import NOTE, Scene, scene_of
from ...errors import ConfigError, ElbowroomError, RecordingError
from ...geometry import PARKED, ROW, Body, Person
from ...geometry.distance import DISTANCE, LAMBDA_X, LAMBDA_Y
from ...geometry.pairs import Pairs
from ...geometry.shapes import LARGEST, A, B
from ...geometry.skeleton import SIDES
from ...loading import load
from ...model.check import ANGLE
from ...model.visuals import Visual, visuals_of
from ..panel.margins import Stopping, stopping
from ..snapshot import Nearest

Array = NDArray[np.float64]

SAME = 1e-9  # m: nearer than this is where it was
AS_RECORDED = 1e-3  # m: so near must the tool of an older recording come to its arm's


class ReplayCell:
    """Arm and people of a recording.  `exact` is False where the recording does not say all; `warnings` says what."""

    def __init__(self, path: Path, table: RecordedTable, robot: str | None = None) -> None:
        self.table, self.exact, self.warnings = table, True, list[str]()
        self.scene = self._scene(path, robot)
        self.arm = self._mounted(path, robot)
        if self.arm.n != table.n:
            raise RecordingError(f"{path}: expected an arm of {table.n} joints; {self.arm.name} has {self.arm.n}")
        self._place(path)
        sizes = [len(who.names) for who in self.people]
        self.ends = np.cumsum([0, *sizes]).tolist()
        self.people_names = tuple(name for who in self.people for name in who.names)
        self._own = len(self.body)
        self._rows = np.zeros((self._own + self.ends[-1], ROW))
        self._pairs = Pairs(self._own, self.ends[-1]) if self.people else None
        self.visuals = self._visuals()
        self.stopping = self._stopping()

    # ---- what stood there
    def _scene(self, path: Path, robot: str | None) -> Scene | None:
        text = self.table.notes.get(NOTE)
        if text is None:
            self._doubt("the recording does not hold its scene, as older ones do not; people are shown as figures")
            return None
        try:
            found = scene_of(text, path.parent)
            return found if robot is None else dataclasses.replace(found, robot=robot)
        except ElbowroomError as error:
            raise RecordingError(f"{path}: the note {NOTE}: {error}") from error

    def _doubt(self, why: str) -> None:
        self.exact = False
        self.warnings.append(why)

    def _mounted(self, path: Path, robot: str | None) -> Arm:
        name = self.scene.robot if self.scene is not None else robot or self.table.notes.get("robot", "")
        try:
            return self._turned(load(name)) if self.scene is None else mounted(self.scene)
        except (ElbowroomError, OSError, KeyError) as error:
            raise RecordingError(f"{path}: its arm is {name!r:.60}, which cannot be had: {error}") from error

    def _turned(self, arm: Arm) -> Arm:
        """The arm turned by quarter turns, until its tool is where the recording has it."""
        joints_, known = configurations(self.table, arm.n)
        first = int(known.argmax())
        q, tool = joints_[first], vector(self.table, "tool", 3)[first]
        if len(q) != arm.n or not known.any():
            return arm
        turns = []
        for c, s in ((1, 0), (0, 1), (-1, 0), (0, -1)):
            turn = np.array([[c, -s, 0, 0], [s, c, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]], dtype=float)
            turns.append(Arm(arm.model.with_base(turn @ arm.model.base)) if s or c < 0 else arm)
        off = [float(np.linalg.norm(each.pose(q)[:3, 3] - tool)) for each in turns]
        if not min(off) < AS_RECORDED:
            self._doubt(f"the tool of {arm.name} is {min(off):.3f} m from where the recording has it")
        return turns[int(np.argmin(off))]

    def _place(self, path: Path) -> None:
        """Body, limits, floor and people."""
        scene, arm = self.scene, self.arm
        base = arm.model.base[:3, 3]
        self.origin = np.array(base, dtype=float)
        self.floor = float(base[2])
        self.lower, self.upper = np.array(arm.model.lower, float), np.array(arm.model.upper, float)
        if scene is None:
            self.body = Body(arm)
            at = vector(self.table, "person", 3)
            there = np.isfinite(at).all(axis=1)
            self.floor = float(at[there][0, 2]) if there.any() else self.floor
            self.people = [_stand_in(at[there][0], base)] if there.any() else []
            self.names = ["somebody"] * len(self.people)
            return
        start = starting(scene, arm)
        self.body = Body(arm, cover=scene.cover or None)
        try:
            self.lower, self.upper = limited(scene, arm, start)
        except ConfigError as error:
            self.warnings.append(str(error))
        if scene.origin == "tool":
            self.origin = np.array(arm.pose(start)[:3, 3], dtype=float)
        self.floor = float(base[2] + scene.floor)
        self.names = list(scene.people)
        self.people = [self._made(path, name, who) for name, who in scene.people.items()]

    def _made(self, path: Path, name: str, who: PersonSettings) -> Coworker:
        try:
            return who.make(self.origin, self.floor).actual
        except (ElbowroomError, ValueError, OSError) as error:
            self._doubt(f"{name} is shown as a standing figure: {error}")
            at = vector(self.table, "person", 3)[0]
            at = at if name == self.names[0] and np.isfinite(at).all() else np.array([1.0, 0.0, self.floor])
            return _stand_in(at, self.arm.model.base[:3, 3])

    def _visuals(self) -> tuple[Visual, ...]:
        return () if self.scene is None else visuals_of(self.scene.robot, self.scene.tip or None)

    def _stopping(self) -> Stopping | None:
        """What the supervisor of the run asked for; None where there was none."""
        scene = self.scene
        if scene is None or scene.supervision == "off":
            return None
        try:
            return stopping(scene.limits, self.arm, self.lower, self.upper, scene.period)
        except ConfigError as error:
            self.warnings.append(f"what the supervisor asked for is not shown: {error}")
            return None

    # ---- where they were
    def people_at(self, t: float, person: Array, hands: dict[str, Array]) -> tuple[Array, dict[str, Array]]:
        """The capsules (k, 13) of everybody at t, the first with these feet and palms, where they are finite.

        With them, by how much each hand is away from where it would be.
        """
        rows = np.tile(PARKED, (self.ends[-1], 1))
        moved: dict[str, Array] = {}
        for k, who in enumerate(self.people):
            mine = rows[self.ends[k] : self.ends[k + 1]]
            stamp = who.look(t, mine)
            if stamp is None or stamp == -math.inf:
                mine[:] = PARKED
            elif k == 0:
                if np.isfinite(person).all():
                    shift = person - who.point(t)[0]
                    shift[2] = 0.0
                    mine[:, A] += shift
                    mine[:, B] += shift
                moved = _drag(mine, who.names, hands)
        return rows, moved

    def nearest(self, q: Array, people: Array) -> tuple[float, Nearest] | None:
        """The least distance of surfaces, m, the nearest points of the axes, and what they are of; None without people.

        The same program computes it as in the run, so that the same bodies give the same number.
        """
        if self._pairs is None:
            return None
        self.body.rows(q, np.zeros(self.arm.n), out=self._rows[: self._own])
        self._rows[self._own :] = people
        table = self._pairs(self._rows)
        k = int(table[:, DISTANCE].argmin())
        i, j = self._pairs.pairs[k]
        x, y, row = self._rows[i], self._rows[j], table[k]
        at, beside = x[A] + row[LAMBDA_X] * (x[B] - x[A]), y[A] + row[LAMBDA_Y] * (y[B] - y[A])
        return float(row[DISTANCE]), Nearest(at, beside, self.body.names[i], self._called(j - self._own))

    def _called(self, row: int) -> str:
        """Whose capsule it is, and which, "left_hand"; with the name before it if there are several people."""
        part = self.people_names[row]
        who = int(np.searchsorted(self.ends, row, side="right")) - 1
        return part if len(self.people) == 1 else f"{self.names[who]} {part}"


def vector(table: RecordedTable, name: str, size: int) -> Array:
    """(rows, size) columns that belong together: tool_x ... or q1 ...; NaN where missing, or too large to draw."""
    names = [f"{name}_{axis}" for axis in "xyz"] if name not in ("q", "qd") else [f"{name}{k + 1}" for k in range(size)]
    missing = np.full(table.rows, np.nan)
    return drawable(np.stack([np.asarray(table.get(each, missing), float) for each in names], axis=1))


def drawable(values: Array) -> Array:
    """The values with NaN for what is infinite or too large to be computed with, as a run that failed may record it."""
    return np.where(np.abs(values) <= LARGEST, values, np.nan)


def configurations(table: RecordedTable, n: int) -> tuple[Array, NDArray[np.bool_]]:
    """(rows, n) joints to show, and (rows,) whether they were recorded.

    A row without usable joints (a sensor failed, say) shows the last ones before it, the first row the first ones.
    """
    q = vector(table, "q", n)
    known = np.asarray((np.abs(q) <= ANGLE.most).all(axis=1))  # not true of NaN
    last = np.maximum.accumulate(np.where(known, np.arange(len(q)), -1))
    first = int(known.argmax())
    return q[np.where(last >= 0, last, first)], known


def _stand_in(at: Array, base: Array) -> Coworker:
    """A standing figure that faces the arm."""
    facing = math.atan2(base[1] - at[1], base[0] - at[0])
    return Still(Person.standing((float(at[0]), float(at[1]), float(at[2])), facing))


def _drag(rows: Array, names: tuple[str, ...], hands: dict[str, Array]) -> dict[str, Array]:
    """Moves the hands of a person to these palms, the arms after them; by how much each was moved."""
    moved = {}
    for side in SIDES:
        palm = hands.get(side)
        if f"{side}_hand" not in names or palm is None or not np.isfinite(palm).all():
            continue
        arm = arm_rows(names, side)
        offset = palm - 0.5 * (rows[arm[2], A] + rows[arm[2], B])
        moved[side] = offset
        if np.abs(offset).max() > SAME:
            bend_to(rows, arm, offset, np.zeros(3))
    return moved
