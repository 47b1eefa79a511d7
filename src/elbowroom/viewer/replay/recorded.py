"""A recording as snapshots: what the live page would show at any time of a recorded run.

    replay = Replay("run.csv")
    stage.show(replay.snapshot(12.5))           the last control step that had begun by then

Joints, places, statuses and distances are the recorded ones.  The bodies are computed from them: the arm's capsules
from its joints, the people's from the scene at that time, the first of them with feet and palms where they were
recorded.  So the distance of the bodies is the recorded distance; a look at some control steps checks that, and what
differs is in `warnings`.
"""

from __future__ import annotations

import math
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...cell.pick_and_place import AVOID, BACK_HOME, PICK, PLACE, TO_GOAL, InFeed, PickAndPlace
from ...cell.recording.table import RecordedTable, read
from ...errors import RecordingError
from ...geometry.skeleton import SIDES
from ..panel.margins import GIVES_WAY, STANDS, THERE, Margins, NearestCapsule, at_nearest
from ..session.setup import ShownSettings
from ..snapshot import Nearest, SceneView, Snapshot, belts
from .recorded_cell import ReplayCell, configurations, drawable, vector

Array = NDArray[np.float64]

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


class RecordedBelts:
    """Where the objects of a pick-and-place cell were: on the belts since they were gripped or let go, or carried.

    A belt moves at its speed, so the times of gripping and letting go, which the states tell, say it all.  What was on
    the belts before a recording began in the middle of a run is not known; the in-feed is taken as full.
    """

    def __init__(self, replay: Replay) -> None:
        self._replay = replay
        scene = replay.cell.scene
        task = scene.task if scene is not None else None
        self._task = task.placed(replay.cell.origin) if isinstance(task, PickAndPlace) else None
        if self._task is None:
            return
        state = replay.table["state"]
        self._pick = np.array(self._task.pick)
        self._gripped = np.flatnonzero((state[:-1] == PICK) & (state[1:] == TO_GOAL)) + 1
        self._placed = np.flatnonzero((state[:-1] == PLACE) & (state[1:] == BACK_HOME)) + 1

    def objects(self, k: int) -> tuple[Array, bool]:
        """(n, 3) where the objects are in a row, and whether one of them is carried."""
        replay = self._replay
        own = replay._object[k]
        if self._task is None:
            return own[None][np.isfinite(own).all()[None]], False
        begin = int(replay._begins[np.searchsorted(replay._begins, k, side="right") - 1])
        coming, going = self._task.infeed, self._task.outfeed
        gripped = self._gripped[(self._gripped > begin) & (self._gripped <= k)]
        feed = InFeed(coming, self._task.pick)
        if len(gripped):
            since = float(replay.times[k] - replay.times[gripped[-1]])
            feed.gap = max(0.0, coming.spacing - coming.speed * since)
        rows = np.zeros((coming.room + 1, 3))
        found = list(rows[: feed.write(rows)])
        for e in self._placed[(self._placed > begin) & (self._placed <= k)][::-1].tolist():
            gone = going.speed * float(replay.times[k] - replay.times[e])
            if gone >= going.length:
                break
            found.append(self._let_go(e) + gone * going.way)
        carried = bool(np.isfinite(own).all() and not np.array_equal(own, self._pick))
        if carried:
            found.append(own)
        return np.array(found).reshape(-1, 3), carried

    def _let_go(self, row: int) -> Array:
        """Where an object was put: as far from the tool as when it was gripped; else where it was last."""
        before = self._gripped[self._gripped < row]
        last: Array = self._replay._object[row - 1]
        if not len(before):
            return last if math.isfinite(last[0]) else np.array(self._replay.tool[row])
        tool = self._replay.tool
        there: Array = tool[row] + (self._pick - tool[before[-1]])
        return there
