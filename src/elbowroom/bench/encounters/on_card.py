"""Many encounters at once on a graphics card: the closed loops of batch.py, a thread a run.

    together = OnCard(factory, where, people)
    tracks = together.run(scenes, frames)       # a RunTrack a scene; None where a run must be made elsewhere

The steps are those of the lanes, in single precision as a rule, and a run has the bits that it has there.  Where a lane
cannot go on (batch.py: what is not finite, or a first cycle without a frame) the run is None, and a processor makes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...compile.card_schedule import CardLanes, CardSchedule
from ...compile.cuda import WARP, library
from .batch import TASK, ClosedLoop
from .methods import Factory
from .run import RunTrack
from .scene import PERIOD, EncounterScene, Place, SensorFrames

Array = NDArray[Any]


class OnCard:
    """A supervised law for any number of encounters of one arm and so many people."""

    def __init__(
        self, factory: Factory, where: Place, people: int, sensor: str = "camera", dtype: Any = np.float32
    ) -> None:
        self.loop = loop = ClosedLoop(factory, where, people, sensor, dtype)
        self.schedule = schedule = CardSchedule(loop.steps, loop.arms.active, loop.dtype)
        loop.arms.bind(schedule)
        loop.arms.begin(0, where.arm.ready, 0.0, PERIOD)
        self._finished = 1 + schedule.steps.index(loop.finished)

    def run(self, scenes: Sequence[EncounterScene], frames: Sequence[SensorFrames]) -> list[RunTrack | None]:
        """Each encounter."""
        loop, cupy = self.loop, library()
        runs = [loop.new(k, scene, seen) for k, (scene, seen) in enumerate(zip(scenes, frames, strict=True))]
        lanes = self.schedule.lanes(len(runs))
        shown = [loop.shown(run) for run in runs]
        for name in shown[0]:
            lanes.assign(loop.tables[name], self._table(lanes, [each[name] for each in shown]))
        steps = max(len(run.asked) for run in runs)
        tracks = {
            name: cupy.zeros((lanes.warps, rows, loop.where.arm.n, WARP), loop.dtype)
            for name, rows in (("q", steps + 1), ("asked", steps))
        }
        for name, table in tracks.items():
            lanes.assign(loop.tables[name], table)
        starts = [loop.values(run) for run in runs]
        for j, (array, _) in enumerate(starts[0]):
            lanes.set(array, np.array([np.array(own[j][1], float) for own in starts]))
        n = loop.where.arm.n
        memory = loop.arms.first.controller._memory[-n:]
        lanes.set(memory, np.array([run.q[0] for run in runs]))
        lanes.activate()
        lanes.run(steps)
        codes = cupy.asnumpy(lanes.ended())
        done, stops = (cupy.asnumpy(lanes.get(x)) for x in (loop.task, loop.stops))
        q, asked = (cupy.asnumpy(lanes.unpacked(tracks[name])) for name in ("q", "asked"))
        found = list[RunTrack | None]()
        for k, run in enumerate(runs):
            if codes[k] != self._finished or run.newest[0] < 0:
                found.append(None)
                continue
            length = len(run.asked)
            run.q[1:], run.asked[:] = q[k, 1 : length + 1], asked[k, :length]
            run.done, run.stops = int(done[k, TASK.index("done")]), int(stops[k, 0])
            found.append(loop.track(run))
        return found

    def _table(self, lanes: CardLanes, tables: Sequence[Array]) -> Any:
        """The runs' own tables (rows, ...), of different lengths, on the card."""
        cupy, rows = library(), max(len(table) for table in tables)
        host = np.zeros((len(tables), rows, tables[0][0].size), self.loop.dtype)
        for own, table in zip(host, tables, strict=True):
            own[: len(table)] = table.reshape(len(table), -1)
        return cupy.ascontiguousarray(lanes.packed(cupy.asarray(host)))
