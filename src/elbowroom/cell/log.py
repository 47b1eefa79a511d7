"""A cell's cycles as rows of a recording (record.py has the columns)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import ConfigError
from .record import Recording

if TYPE_CHECKING:
    from .runner import Cell

_NUMBERS = [
    "t",
    "cycles",
    "contacts",
    "distance_axes",
    "distance_surfaces",
    "clearance",
    "age",
    "slow",
    "push",
    "limit",
]
_VECTORS = ["tool", "tool_v", "person", "person_v", "goal", "q", "qd", "command", "object"]


class Log:
    """Writes a cell's cycles into a recording.  Of several people, person_x ... are of the first in the scene."""

    def __init__(self, cell: Cell, recording: Recording) -> None:
        if recording.n != cell.arm.n:
            wanted = f"one for the {cell.arm.n} joints of {cell.arm.name}"
            raise ConfigError(f"recording: expected {wanted}; got one for {recording.n}")
        self._cell, self._recording, self._row = cell, recording, recording.row
        self._at = {name: recording.columns.index(name) for name in _NUMBERS}
        self._views = {name: recording.view(name) for name in _VECTORS}

    def add(self, t: float) -> None:
        """The cycle at t, after `cell.step(t)`."""
        cell, row, at, views = self._cell, self._row, self._at, self._views
        info = cell.controller.command
        row[at["t"]], row[at["cycles"]], row[at["contacts"]] = t, cell.task.cycles, cell.plant.contacts
        row[at["distance_axes"]], row[at["distance_surfaces"]] = cell.near
        row[at["clearance"]], row[at["age"]] = cell.clearance.surfaces, cell.age
        row[at["slow"]], row[at["push"]], row[at["limit"]] = info.slow, info.push, info.limit
        views["tool"][:], views["tool_v"][:] = cell.tool, cell.tool_velocity
        views["goal"][:], views["object"][:] = cell.task.goal.position, cell.task.object
        views["q"][:], views["qd"][:], views["command"][:] = cell.state.q, cell.state.qd, cell.command.qd
        if cell.people:
            views["person"][:], views["person_v"][:] = cell.people[0].actual.point(t)
        self._recording.append(cell.task.state, info.status.value, "" if cell.verdict is None else cell.verdict.value)


def record_to(cell: Cell, path: Path, *, notes: Mapping[str, str] | None = None, replace: bool = False) -> Recording:
    """A recording of this cell in a file, with what the scene is in its first lines."""
    said = {"title": cell.scene.title, "robot": cell.arm.name, "plant": cell.plant_kind}
    return Recording(cell.arm.n, path, notes=said | dict(notes or {}), replace=replace)
