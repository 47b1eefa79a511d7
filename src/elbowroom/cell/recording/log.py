"""A cell's control steps as rows of a recording (columns.py says which)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace as changed
from pathlib import Path
from typing import TYPE_CHECKING

from ...errors import ConfigError
from ...geometry.shapes import PARKED, A, B
from ...geometry.skeleton import SIDES
from ..scene import NOTE, scene_text
from .table import Recording

if TYPE_CHECKING:
    from ..runner import Cell

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
    "margin",
]
_VECTORS = ["tool", "tool_v", "person", "person_v", "goal", "q", "qd", "command", "object", "attraction", "repulsion"]
_VECTORS += [f"{side}_hand" for side in SIDES]


class Log:
    """Writes a cell's control steps into a recording.

    Of several people, person_x ... and the palms of the hands are of the first in the scene.
    """

    def __init__(self, cell: Cell, recording: Recording) -> None:
        if recording.n != cell.arm.n:
            wanted = f"one for the {cell.arm.n} joints of {cell.arm.name}"
            raise ConfigError(f"recording: expected {wanted}; got one for {recording.n}")
        self._cell, self._recording, self._row = cell, recording, recording.row
        self._at = {name: recording.columns.index(name) for name in _NUMBERS}
        self._views = {name: recording.view(name) for name in _VECTORS}
        names = cell.people[0].actual.names if cell.people else ()
        self._hands = [(f"{side}_hand", names.index(f"{side}_hand")) for side in SIDES if f"{side}_hand" in names]

    def add(self, t: float) -> None:
        """The control step at t, after `cell.step(t)`."""
        cell, row, at, views = self._cell, self._row, self._at, self._views
        info = cell.controller.command
        row[at["t"]], row[at["cycles"]], row[at["contacts"]] = t, cell.task.cycles, cell.plant.contacts
        row[at["distance_axes"]], row[at["distance_surfaces"]] = cell.near
        row[at["clearance"]], row[at["age"]] = cell.clearance.surfaces, cell.age
        row[at["slow"]], row[at["push"]], row[at["limit"]] = info.slow, info.push, info.limit
        row[at["margin"]] = cell.margin
        views["tool"][:], views["tool_v"][:] = cell.tool, cell.tool_velocity
        views["goal"][:], views["object"][:] = cell.task.goal.position, cell.task.object
        views["q"][:], views["qd"][:], views["command"][:] = cell.state.q, cell.state.qd, cell.command.qd
        views["attraction"][:], views["repulsion"][:] = info.attraction, info.repulsion
        if cell.people:
            views["person"][:], views["person_v"][:] = cell.people[0].actual.point(t)
        for name, k in self._hands:  # the first person's capsules are the first rows
            hand = cell.people_rows[k]
            views[name][:] = math.nan if hand[0] == PARKED[0] else 0.5 * (hand[A] + hand[B])
        verdict = "" if cell.verdict is None else cell.verdict.value
        self._recording.append(cell.task.state, cell.command.status.value, verdict, info.status.value)


def bare_told(bare: tuple[str, ...]) -> str:
    """What is said of a run in which links had no shape."""
    some = f"{len(bare)} links have" if len(bare) > 1 else "1 link has"
    return f"{some} no shape, and distances ignore {'them' if len(bare) > 1 else 'it'}: {', '.join(bare)}"


def notes_of(cell: Cell) -> dict[str, str]:
    """What the scene is, for the first lines of a recording.

    The whole scene is the note "scene.toml" (scene.py), so that the run can be shown again.  A scene of
    settings that no file can hold, such as a person of one's own making, has no such note.
    """
    said = {"title": cell.scene.title, "robot": cell.arm.name, "plant": cell.plant_kind}
    if cell.bare:
        said["without shape"] = bare_told(cell.bare)
    whole = scene_text(changed(cell.scene, controller=cell.controller.config))  # it may have been tuned since
    return said if whole is None else said | {NOTE: whole}


def record_to(
    cell: Cell, path: Path, *, notes: Mapping[str, str] | None = None, replace: bool = False, keep: bool = True
) -> Recording:
    """A recording of this cell in a file, with `notes_of` it and these; `keep` and `replace` as for `Recording`."""
    return Recording(cell.arm.n, path, notes=notes_of(cell) | dict(notes or {}), replace=replace, keep=keep)
