"""The objects of a recorded pick-and-place cell: where they were on the belts, or in the gripper."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...cell.pick_and_place import BACK_HOME, PICK, PLACE, TO_GOAL, InFeed, PickAndPlace

if TYPE_CHECKING:
    from .recorded import Replay

Array = NDArray[np.float64]


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
