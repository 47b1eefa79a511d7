"""Rerun as a second viewer: the same snapshot as the page's, logged to a Rerun viewer or to a file.

    with RerunViewer(cell) as viewer:                  spawns Rerun's viewer; RerunViewer(cell, "run.rrd") writes a file
        run(cell, progress=viewer.told(cell))          `RATE` snapshots a second at most

Capsules of the arm and of people, goal and objects, the nearest points, the route, distances over time, and
the status as text whenever it changes.  Rerun (extra `rerun`) queues what it is given; the loop does not wait for it.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

import numpy as np

from ..cell import Cell
from ..errors import ElbowroomError, pip_install
from ..geometry.shapes import PARKED
from ..model.rotations import z_to
from .scene3d.primitives import ARM, PERSON, quaternion
from .snapshot import SceneView, Snapshot

RATE = 20.0  # Hz
FAR = 0.5 * abs(float(PARKED[0]))  # m
GOAL, OBJECT, NEAREST, ROUTE = (46, 140, 96), (226, 154, 44), (206, 58, 52), (46, 120, 160)


class RerunViewer:
    """A Rerun recording of a cell's snapshots, to a viewer that is spawned or to a file."""

    def __init__(self, cell: Cell, file: Path | str | None = None) -> None:
        try:
            import rerun
        except ImportError:
            raise ElbowroomError(f"--rerun needs the package rerun-sdk: {pip_install('rerun')}") from None
        self._rerun: Any = rerun
        self._view = SceneView.of_cell(cell)
        self._stream = rerun.RecordingStream("elbowroom")
        if file is None:
            self._stream.spawn()
        else:
            self._stream.save(str(file))
        self._next, self._status = -1.0, ""
        self._log("world", rerun.ViewCoordinates.RIGHT_HAND_Z_UP, static=True)

    def _log(self, path: str, what: Any, *, static: bool = False) -> None:
        self._stream.log(path, what, static=static)

    def told(self, cell: Cell, progress: Callable[[int, int], object] | None = None) -> Callable[[int, int], object]:
        """A progress callback that also shows the cell."""

        def moved(done: int, total: int) -> None:
            if cell.command.t >= self._next or cell.command.status.value != self._status:
                self._next = cell.command.t + 1.0 / RATE
                self.show(Snapshot.of_cell(cell, self._view))
            if progress is not None:
                progress(done, total)

        return moved

    def show(self, shown: Snapshot) -> None:
        """Logs a snapshot at its time."""
        rerun = self._rerun
        self._stream.set_time("t", duration=shown.t)
        self._capsules("world/arm", shown.arm, ARM[0])
        self._capsules("world/people", shown.people[np.abs(shown.people[:, 0]) < FAR], PERSON)
        self._log("world/goal", rerun.Points3D([shown.goal], radii=0.02, colors=[GOAL]))
        self._log("world/objects", rerun.Points3D(shown.objects, radii=0.03, colors=[OBJECT]))
        near = shown.nearest is not None and shown.distance < FAR
        line = [np.array([shown.nearest.on_arm, shown.nearest.on_person])] if near and shown.nearest else []
        self._log("world/nearest", rerun.LineStrips3D(line, colors=[NEAREST], radii=0.005))
        route = [shown.route] if len(shown.route) > 1 else []
        self._log("world/route", rerun.LineStrips3D(route, colors=[ROUTE], radii=0.005))
        if shown.distance < FAR:
            self._log("distance", rerun.Scalars(shown.distance))
        self._log("tool_speed", rerun.Scalars(shown.tool_speed))
        self._log("joints", rerun.Scalars(shown.q))
        if shown.status != self._status:
            self._status = shown.status
            level = "ERROR" if shown.stopped else "INFO"
            said = f"{shown.status}: {shown.reason}" if shown.reason else shown.status
            self._log("status", rerun.TextLog(said, level=level))

    def _capsules(self, path: str, rows: Any, colour: tuple[int, int, int]) -> None:
        """Capsules (k, 7): both ends, the radius; Rerun's begin at a point and go along z."""
        ways = rows[:, 3:6] - rows[:, :3]
        lengths = np.linalg.norm(ways, axis=1)
        turns = [
            np.roll(quaternion(z_to(way / length)), -1) if length > 0 else np.array([0.0, 0.0, 0.0, 1.0])
            for way, length in zip(ways, lengths, strict=True)
        ]
        self._log(
            path,
            self._rerun.Capsules3D(
                lengths=lengths,
                radii=rows[:, 6],
                translations=rows[:, :3],
                quaternions=np.array(turns).reshape(-1, 4),
                colors=[colour] * len(rows),
                fill_mode="solid",
            ),
        )

    def close(self) -> None:
        """Sends what is left."""
        self._stream.flush()
        self._stream.disconnect()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
