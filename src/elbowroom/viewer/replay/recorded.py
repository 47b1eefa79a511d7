"""A recording as snapshots: what the live page would show at any time of a recorded run.

The cell of a recording, arm and people, rebuilt from the notes in its file.

With the scene among the notes everything is as it was.  An older recording names its arm only; then the arm is turned
as its recorded tool says, and a person is a standing figure at the recorded place.

    replay = Replay("run.csv")
    stage.show(replay.snapshot(12.5))           the last control step that had begun by then

Joints, places, statuses and distances are the recorded ones.  The bodies are computed from them: the arm's capsules
from its joints, the people's from the scene at that time, the first of them with feet and palms where they were
recorded.  So the distance of the bodies is the recorded distance; a look at some control steps checks that, and what
differs is in `warnings`.
"""

from __future__ import annotations

import dataclasses
import math
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...arm import Arm
from ...avoidance.planning.detour import RouteState
from ...cell.layout import limited, mounted, starting
from ...cell.people.coworker import Coworker
from ...cell.people.dragged import arm_rows, bend_to
from ...cell.people.settings import PersonSettings
from ...cell.people.walking import Still
from ...cell.pick_and_place import AVOID
from ...cell.recording.arm_note import ARM, arm_of
from ...cell.recording.columns import RecordedTable
from ...cell.recording.log import LEFT_OUT, PEOPLE
from ...cell.recording.table import read
from ...cell.scene import NOTE, Scene, scene_of
from ...errors import ConfigError, ElbowroomError, RecordingError
from ...geometry import PARKED, ROW, Body, Person
from ...geometry.distance import DISTANCE, LAMBDA_X, LAMBDA_Y
from ...geometry.pairs import Pairs
from ...geometry.person import SIDES
from ...geometry.shapes import LARGEST, A, B
from ...loading import load
from ...model.check import ANGLE
from ...model.visuals import Visual, visuals_of
from ..panel.margins import GIVES_WAY, STANDS, THERE, Margins, NearestCapsule, Stopping, at_nearest, stopping
from ..session.setup import ShownSettings
from ..snapshot import Nearest, SceneView, Snapshot, belts
from .recorded_belts import RecordedBelts

Array = NDArray[np.float64]

SAME = 1e-9  # m: nearer than this is where it was
AS_RECORDED = 1e-3  # m: so near must the tool of an older recording come to its arm's


class ReplayCell:
    """Arm and people of a recording.  `exact` is False where the recording does not say all; `warnings` says what."""

    def __init__(self, path: Path, table: RecordedTable, robot: str | None = None) -> None:
        self.table, self.exact, self.warnings = table, True, list[str]()
        self.figures = False  # whether the first person is there only in rows that have them
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
            self._doubt("the recording does not hold its scene, as old ones; people are shown as figures")
            return None
        if PEOPLE in self.table.notes.get(LEFT_OUT, ""):
            self._doubt("people came from outside of the scene, as on ROS 2: the first is shown as a standing figure")
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
            if ARM in self.table.notes and not robot:
                return Arm(arm_of(self.table.notes[ARM]))
            return self._turned(load(name)) if self.scene is None else mounted(self.scene)
        except (ElbowroomError, OSError, KeyError) as error:
            hint = "" if robot else "; name its file by --robot"
            raise RecordingError(f"{path}: its arm is {name!r:.60}, which cannot be had: {error}{hint}") from error

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
        at = vector(self.table, "person", 3)
        there = np.isfinite(at).all(axis=1)
        figures = [_stand_in(at[there][0], base)] if there.any() else []
        if scene is None:
            self.body = Body(arm)
            self.floor = float(at[there][0, 2]) if there.any() else self.floor
            self.people, self.names = figures, ["somebody"] * len(figures)
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
        if PEOPLE in self.table.notes.get(LEFT_OUT, ""):
            self.people, self.names = figures, ["somebody"] * len(figures)
            self.figures = bool(figures)

    def _made(self, path: Path, name: str, who: PersonSettings) -> Coworker:
        try:
            return who.make(self.origin, self.floor).actual
        except (ElbowroomError, ValueError, OSError) as error:
            self._doubt(f"{name} is shown as a standing figure: {error}")
            at = vector(self.table, "person", 3)[0]
            at = at if name == self.names[0] and np.isfinite(at).all() else np.array([1.0, 0.0, self.floor])
            return _stand_in(at, self.arm.model.base[:3, 3])

    def _visuals(self) -> tuple[Visual, ...]:
        scene = self.scene
        if scene is None or (ARM in self.table.notes and not Path(scene.robot).is_file()):  # the file is gone
            return ()
        return visuals_of(scene.robot, scene.tip or None)

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
            gone = self.figures and not np.isfinite(person).all()
            if stamp is None or stamp == -math.inf or gone:
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
        return float(row[DISTANCE]), Nearest(at, beside, self.body.names[i], self.called(j - self._own))

    def called(self, row: int) -> str:
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


ROUTE_POINTS = 16  # of the line of a route
LOOKS = 12  # control steps whose distance is computed again
AGREES = 1e-6  # m: a difference beyond is no rounding
LONGEST = 1e6  # s, eleven days: no run is as long, and an HTML file of it would have 30 million snapshots


class Replay:
    """A recording to be looked at.  `times` (s) never decrease, also where the run was begun anew in between.

    `warnings` say in plain sentences what the recording does not tell, or what of it is missing.  `robot` is the arm of
    a recording that does not hold its scene, if the name in its notes is not enough.  A `table` that is in memory
    already is not read; `path` is then what it is called.
    """

    def __init__(self, path: str | Path, *, robot: str | None = None, table: RecordedTable | None = None) -> None:
        self.path = Path(path)
        self.table: RecordedTable = read(self.path) if table is None else table
        if not self.table.rows:
            raise RecordingError(f"{self.path}: the recording is empty: it has the names of its columns, and no row")
        t = self.table["t"]
        if not np.isfinite(t).all():
            raise RecordingError(f"{self.path}: expected times in column 't'; got {t[~np.isfinite(t)][0]}")
        if np.abs(t).max() > LONGEST:
            far = t[int(np.abs(t).argmax())]
            raise RecordingError(f"{self.path}: expected times within {LONGEST:g} s in column 't'; got {far:g}")
        steps = np.diff(t)
        self.period = float(np.median(steps[steps > 0])) if (steps > 0).any() else 0.01
        self._begins = np.concatenate([[0], np.flatnonzero(steps < 0) + 1])  # rows where the run began anew
        self.times: Array = t[0] + np.concatenate([[0.0], np.cumsum(np.where(steps < 0, self.period, steps))])
        self.cell = ReplayCell(self.path, self.table, robot)
        self.warnings = [*([self.table.torn] if self.table.torn else []), *self.cell.warnings]
        self.q, known = configurations(self.table, self.table.n)
        if not known.any():
            raise RecordingError(f"{self.path}: expected joint positions in columns 'q1' ...; no row has them")
        if not known.all():
            row = int((~known).argmax())
            self.warnings.append(
                f"control steps without joint positions to show: {int((~known).sum())}, the first at t = {t[row]:g} s;"
                " the arm is shown where it was before"
            )
        self.tool, self.goal = vector(self.table, "tool", 3), vector(self.table, "goal", 3)
        self.person, self._object = vector(self.table, "person", 3), vector(self.table, "object", 3)
        self.attraction, self.repulsion = (
            np.nan_to_num(vector(self.table, name, 3)) for name in ("attraction", "repulsion")
        )
        self.hands = {side: vector(self.table, f"{side}_hand", 3) for side in SIDES}
        speeds = vector(self.table, "qd", self.table.n)
        self._qd = speeds
        self.belts = RecordedBelts(self)
        self._agrees()

    def __len__(self) -> int:
        return self.table.rows

    @property
    def title(self) -> str:
        """The title in the notes of the run, or the name of its file."""
        return self.table.notes.get("title") or self.path.stem

    @property
    def duration(self) -> float:
        """From the first control step to the last, s."""
        return float(self.times[-1] - self.times[0])

    @cached_property
    def margins(self) -> Array:
        """(rows, n) how far each joint is from its nearer limit."""
        return np.minimum(self.q - self.cell.lower, self.cell.upper - self.q)

    @cached_property
    def speeds(self) -> Array:
        """(rows,) the speed of the tool, m/s."""
        return np.linalg.norm([drawable(self.table[f"tool_v{axis}"]) for axis in "xyz"], axis=0)

    @cached_property
    def waited(self) -> Array:
        """(rows,) for how long the arm has stood because of a person, s."""
        table = self.table
        told = np.isin(table["status"], GIVES_WAY) | np.isin(table["law_status"], GIVES_WAY) | (table["state"] == AVOID)
        there = (table["state"] != AVOID) & (np.linalg.norm(self.tool - self.goal, axis=1) <= THERE)
        still = told & ~there & (self.speeds < STANDS)
        last = np.maximum.accumulate(np.where(still, -1, np.arange(len(self))))  # the last row in which it did not
        return np.where(still, self.times - self.times[np.maximum(last, 0)], 0.0)

    def route_at(self, k: int) -> tuple[RouteState, str, Array]:
        """What a row says of a way around: its state, the person's part that it is about, its line (m, 3).

        The line is where the tool went on the route, from there on.
        """
        code, row = float(self.table["route"][k]), float(self.table["route_part"][k])
        state = RouteState(int(code)) if code in {float(each) for each in RouteState} else RouteState.NONE
        names = self.cell.people_names
        part = self.cell.called(int(row)) if 0 <= row < len(names) else ""
        line = np.zeros((0, 3))
        if state is RouteState.AROUND:
            over = np.flatnonzero(self.table["route"][k:] != code)
            ahead = self.tool[k : k + int(over[0]) if len(over) else len(self)]
            line = ahead[:: max(1, len(ahead) // ROUTE_POINTS)]
        return state, self.scene_view.part(part), line

    def moments(self, rate: float) -> Array:
        """Times of the run, `rate` of them a second, from the first control step to the last."""
        return self.times[0] + np.arange(int(self.duration * rate + 1e-9) + 1) / rate

    def row(self, t: float) -> int:
        """The last control step that had begun at t; the first one before that."""
        return min(max(int(np.searchsorted(self.times, t + 1e-9, side="right")) - 1, 0), len(self) - 1)

    def bodies(self, k: int) -> tuple[Array, Array, dict[str, Array]]:
        """Capsules of arm (i, 13) and people (j, 13) in a row, and how far hands are from where they would be."""
        still = np.zeros(self.table.n)
        hands = {side: places[k] for side, places in self.hands.items()}
        people, moved = self.cell.people_at(float(self.table["t"][k]), self.person[k], hands)
        return self.cell.body.rows(self.q[k], still), people, moved

    def _agrees(self) -> None:
        """Warns where distances are not what they were; looks at some control steps only."""
        if not (self.cell.exact and self.cell.people):
            return
        rows = np.unique(np.linspace(0, len(self) - 1, LOOKS).astype(int))
        wrong = []
        for k in rows.tolist():
            found = self.cell.nearest(self.q[k], self.bodies(k)[1])
            wrong.append(abs(found[0] - float(self.table["distance_surfaces"][k])) if found else 0.0)
        if not max(wrong) < AGREES:
            self.warnings.append(
                f"what is shown is up to {max(wrong):.3g} m off: the file of the arm or of a motion has changed since,"
                " or others than the first person were moved by hand"
            )

    def snapshot(self, t: float) -> Snapshot:
        """What the live page showed at that time."""
        return Snapshot.from_row(self, self.row(t))

    @cached_property
    def scene_view(self) -> SceneView:
        """What stays throughout the recording."""
        cell, scene = self.cell, self.cell.scene
        shown = ShownSettings(robot=cell.arm.name)
        if scene is not None:
            shown = ShownSettings.of(scene.controller, scene.supervision, cell.arm.name)
        return SceneView(
            shown=shown,
            supervision="stop" if scene is None else scene.supervision,
            joints=cell.arm.joint_names,
            kinds=cell.arm.model.kinds,
            lower=cell.lower,
            upper=cell.upper,
            arm_links=tuple(link + 1 for link in cell.body.links),
            arm_names=cell.body.names,
            people_names=cell.people_names,
            who=tuple(cell.names),
            visuals=cell.visuals,
            belts=() if scene is None else belts(scene, cell.origin),
            floor=cell.floor,
            base=np.array(cell.arm.model.base[:3, 3]),
            workspace=None if scene is None else scene.controller.workspace,
        )

    def margins_at(self, k: int, nearest: Nearest) -> Margins | None:
        """What was needed and had, allowed and used in a row; None where the speeds of its joints are not there."""
        cell, q, qd, had = self.cell, self.q[k], self._qd[k], float(self.table["distance_surfaces"][k])
        if not (np.isfinite(qd).all() and math.isfinite(had)):
            return None
        i = cell.body.names.index(nearest.link)
        row, link = cell.body.rows(q, qd)[i], cell.body.links[i]
        found = NearestCapsule(row, link, nearest.on_arm, nearest.on_person, nearest.part)
        return at_nearest(cell.arm, q, qd, found, had, cell.stopping)

    def offset(self, k: int, at: Array) -> Array:
        """How far the first person is from where they would be, (x, y)."""
        return at[:2] - self.cell.people[0].point(float(self.table["t"][k]))[0][:2]
