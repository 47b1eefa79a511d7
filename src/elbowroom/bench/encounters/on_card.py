"""Many encounters at once on a graphics card: the closed loops of batch.py, a thread a run.

    together = OnCard(factory, where, people)
    tracks = together.run(zip(scenes, frames))  # a RunTrack a scene; None where a run must be made elsewhere

The steps are those of the lanes, in single precision as a rule, and a run has the bits that it has there.  Where a lane
cannot go on (batch.py: what is not finite, or a first cycle without a frame) the run is None, and a processor makes it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...compile.cuda import WARP, library
from ...compile.schedules.card import CardLanes, CardSchedule
from .batch import TASK, ClosedLoop, Run
from .methods import Factory
from .run import RunTrack
from .scene import PERIOD, EncounterScene, Place, SensorFrames

Array = NDArray[Any]
COPIES = 2.5  # of a run's tables on the card, while they are put there; frames come every other step or less often


def look() -> None:
    """Raises an error where there is no card."""
    library()


@dataclass(frozen=True)
class Room:
    """How much a process may take."""

    lanes: int = 8192  # runs at once, at most
    share: float = 0.8  # of the card's memory
    memory: float = math.inf  # bytes of main memory


@dataclass(frozen=True, eq=False)
class Given:
    """Runs on the card."""

    runs: list[Run]
    lanes: CardLanes
    steps: int  # of the longest


class OnCard:
    """A supervised law for any number of encounters of one arm and so many people."""

    def __init__(
        self, factory: Factory, where: Place, people: int, sensor: str = "camera", dtype: Any = np.float32
    ) -> None:
        self.loop = loop = ClosedLoop(factory, where, people, sensor, dtype)
        self.schedule = schedule = CardSchedule(loop.steps, loop.arms.active, loop.dtype, (loop.task, loop.stops))
        loop.arms.bind(schedule)
        loop.arms.begin(0, where.arm.ready, 0.0, PERIOD)
        self._finished = 1 + schedule.steps.index(loop.finished)

    def fitting(self, room: Room, duration: float) -> int:
        """How many runs of this duration (s) there is room for at once; 32 at least."""
        _, card = library().cuda.runtime.memGetInfo()
        loop, steps = self.loop, duration / PERIOD
        tracks = 2 * loop.where.arm.n * steps
        points = loop.tables["points"].width * steps
        shown = sum(loop.tables[name].width for name in ("points", "velocities", "stamps")) * steps / 2 + steps
        there = self.schedule.bytes_per_lane + loop.dtype.itemsize * COPIES * (tracks + shown)
        here = 8 * (points + tracks) + loop.dtype.itemsize * (2 * shown + tracks)  # where people truly are, too
        return max(int(min(room.lanes, room.share * card / there, room.memory / here)), WARP)

    def run(self, runs: Iterable[tuple[EncounterScene, SensorFrames]]) -> list[RunTrack | None]:
        """Each encounter, all at once; frames are let go when they have been copied."""
        given = self.given(runs)
        if given is None:
            return []
        given.lanes.run(given.steps)
        return self.tracks(given)

    def given(self, runs: Iterable[tuple[EncounterScene, SensorFrames]], times: int = 1) -> Given | None:
        """Runs on the card before their first step; each so many times, where only time is the point."""
        loop, cupy = self.loop, library()
        made, shown = list[Run](), list[dict[str, Array]]()
        for number, (scene, frames) in enumerate(runs):
            run = loop.new(number, scene, frames)
            made.append(replace(run, frames=None))
            shown.append({name: np.asarray(x, loop.dtype) for name, x in loop.shown(run).items()})
        if not made:
            return None
        lanes = self.schedule.lanes(len(made) * times)
        for name in [*shown[0]]:
            table = self._table([each.pop(name) for each in shown])
            lanes.assign(loop.tables[name], cupy.tile(table, (times, 1, 1)) if times > 1 else table)
        steps, n = max(len(run.asked) for run in made), loop.where.arm.n
        for name, rows in (("q", steps + 1), ("asked", steps)):
            lanes.blank(loop.tables[name], rows)
        starts = [loop.values(run) for run in made]
        for k, (array, _) in enumerate(starts[0]):
            lanes.set(array, np.tile([np.asarray(own[k][1], float) for own in starts], (times, 1)))
        lanes.set(loop.arms.first.controller._memory[-n:], np.tile([run.q[0] for run in made], (times, 1)))
        lanes.activate()
        return Given(made, lanes, steps)

    def tracks(self, given: Given) -> list[RunTrack | None]:
        """Of runs whose steps were made; of the first of several."""
        loop, cupy, lanes = self.loop, library(), given.lanes
        codes = cupy.asnumpy(lanes.ended())
        task, stops = (cupy.asnumpy(lanes.get(x)) for x in (loop.task, loop.stops))
        q, asked = (cupy.asnumpy(lanes.table(loop.tables[name], len(given.runs))) for name in ("q", "asked"))
        found = list[RunTrack | None]()
        for k, run in enumerate(given.runs):
            whole = codes[k] == self._finished and run.newest[0] >= 0
            length = len(run.asked)
            run.q[1:], run.asked[:] = q[k, 1 : length + 1], asked[k, :length]
            run.done, run.stops = int(task[k, TASK.index("done")]), int(stops[k, 0])
            found.append(loop.track(run) if whole else None)
        return found

    def _table(self, tables: Sequence[Array]) -> Any:
        """The runs' own tables (rows, ...), of different lengths, on the card: (runs, rows, elements)."""
        rows = max(len(table) for table in tables)
        host = np.zeros((len(tables), rows, tables[0][0].size), self.loop.dtype)
        for own, table in zip(host, tables, strict=True):
            own[: len(table)] = table.reshape(len(table), -1)
        return library().asarray(host)
