"""A cell's control steps as the rows of a recording, and what its file says of the scene.

recording = record_to(cell, Path("run.mcap"))        notes: the scene, and the arm where that is a file
log = Log(cell, recording);  log.add(t)              after each `cell.step(t)`
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ...errors import ConfigError
from ...geometry import PARKED
from ...geometry.person import SIDES
from ...geometry.shapes import A, B
from ..scene import NOTE, Scene, is_file, scene_text
from ..task import Rest
from .arm_note import ARM, arm_text
from .table import Recording

if TYPE_CHECKING:
    from ..runner import Cell

PEOPLE = "people: "
LEFT_OUT = "not in the scene"
"""The key of the note that names what no file can hold: a task or people of one's own making, or of ROS 2."""

_NUMBERS = ["t", "cycles", "contacts", "distance_axes", "distance_surfaces", "clearance", "age"]
_NUMBERS += ["slow", "push", "limit", "margin", "route", "route_part", "replans", "felt", "felt_joint", "felt_torque"]
_UNPLANNED = _UNFELT = (math.nan, math.nan, math.nan)
_VECTORS = ["tool", "tool_v", "person", "person_v", "goal", "q", "qd", "command", "object", "attraction", "repulsion"]
_VECTORS += [f"{side}_hand" for side in SIDES] + ["residual", "tau"]


class Log:
    """Writes a cell's control steps into a recording.

    Of several people, person_x ... and the palms of the hands are of the first in the scene.
    """

    def __init__(self, cell: Cell, recording: Recording) -> None:
        if recording.n != cell.arm.n:
            wanted = f"one for the {cell.arm.n} joints of {cell.arm.name}"
            raise ConfigError(f"recording: expected {wanted}; got one for {recording.n}")
        self._cell, self._recording, self._row = cell, recording, recording.row
        self._numbers = [recording.columns.index(name) for name in _NUMBERS]
        self._views = {name: recording.view(name) for name in _VECTORS}
        self._measured = False  # torques
        names = cell.people[0].actual.names if cell.people else ()
        self._hands = [(f"{side}_hand", names.index(f"{side}_hand")) for side in SIDES if f"{side}_hand" in names]

    def add(self, t: float) -> None:
        """The control step at t, after `cell.step(t)`."""
        cell, views = self._cell, self._views
        info, detour = cell.controller.command, cell.detour
        route = _UNPLANNED if detour is None else (detour.state, detour.part, detour.replans)
        counted = t, cell.task.cycles, cell.plant.contacts, *cell.near, cell.clearance.surfaces, cell.age
        observer = cell.observer
        felt = _UNFELT if observer is None else observer.most
        numbers = *counted, info.slow, info.push, info.limit, cell.margin, *route, *felt
        for k, number in zip(self._numbers, numbers, strict=True):  # faster than an array of so few
            self._row[k] = number
        views["tool"][:], views["tool_v"][:] = cell.tool, cell.tool_velocity
        views["goal"][:], views["object"][:] = cell.task.goal.position, cell.task.object
        views["q"][:], views["qd"][:], views["command"][:] = cell.state.q, cell.state.qd, cell.command.qd
        views["attraction"][:], views["repulsion"][:] = info.attraction, info.repulsion
        if cell.people:
            views["person"][:], views["person_v"][:] = cell.people[0].actual.point(t)
        for name, k in self._hands:  # the first person's capsules are the first rows
            hand = cell.people_rows[k]
            views[name][:] = math.nan if hand[0] == PARKED[0] else 0.5 * (hand[A] + hand[B])
        if observer is not None:
            views["residual"][:] = observer.residual
        tau = cell.state.tau
        self._measured = self._measured or (tau is not None and bool(tau.any()))  # none before the first step
        views["tau"][:] = tau if self._measured and tau is not None else math.nan
        verdict = "" if cell.verdict is None else cell.verdict.value
        self._recording.append(cell.task.state, cell.command.status.value, verdict, info.status.value)


def bare_told(bare: tuple[str, ...]) -> str:
    """What is said of a run in which links had no shape."""
    some = f"{len(bare)} links have" if len(bare) > 1 else "1 link has"
    return f"{some} no shape, and distances ignore {'them' if len(bare) > 1 else 'it'}: {', '.join(bare)}"


def notes_of(cell: Cell) -> dict[str, str]:
    """What the scene is, for the first lines of a recording.

    The whole scene is the note "scene.toml" (scene.py), so that the run can be shown again, and an arm that comes from
    a file the note "arm.json" (arm_note.py).  What no file can hold, such as a person of one's own making, is left out
    of the scene, and named in another note.
    """
    said = {"title": cell.scene.title, "robot": cell.arm.name, "plant": cell.plant_kind}
    if cell.bare:
        said["without shape"] = bare_told(cell.bare)
    if cell.motion_limits:
        said["motion limits"] = ", ".join(f"{each!r:.200}" for each in cell.motion_limits)
    tuned = dataclasses.replace(cell.scene, controller=cell.controller.config)  # it may have been since
    whole, left_out = scene_text(tuned), ""
    if whole is None:
        whole, left_out = _reduced(tuned)
    if whole is not None:
        said |= {LEFT_OUT: left_out, NOTE: whole} if left_out else {NOTE: whole}
    if is_file(cell.scene.robot) and (arm := arm_text(cell.arm.model)) is not None:
        said[ARM] = arm
    return said


def _reduced(scene: Scene) -> tuple[str | None, str]:
    """The scene without people, and if need be without its task, as text; and what is left out of it."""
    who = ", ".join(scene.people)
    alone = scene_text(dataclasses.replace(scene, people={}))
    if alone is not None:
        return alone, PEOPLE + who
    task = f"task: {type(scene.task).__name__}" + (f"; {PEOPLE}{who}" if who else "")
    return scene_text(dataclasses.replace(scene, task=Rest(), people={})), task


def record_to(
    cell: Cell, path: Path, *, notes: Mapping[str, str] | None = None, replace: bool = False, keep: bool = True
) -> Recording:
    """A recording of this cell in a file, CSV or MCAP by its name, with `notes_of` it and these.

    `keep` and `replace` are as for `Recording`.
    """
    told = notes_of(cell) | dict(notes or {})
    return Recording(cell.arm.n, path, notes=told, replace=replace, keep=keep, arm=cell.arm)
