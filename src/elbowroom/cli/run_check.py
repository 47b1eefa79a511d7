"""What `elbowroom run` looks at before anything moves: the file, the arm that was asked for, every variant."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rich.text import Text

from ..cell import Cell, Scene
from ..cell.layers import is_file, read_file, variants
from ..errors import ConfigError, ElbowroomError, UnknownNameError
from ..loading import read
from .terminal import console, note, one_line, plain

if TYPE_CHECKING:
    from collections.abc import Iterator

OTHERS = {
    ".csv": "a recording or a table, not a scene; `elbowroom replay {0}` shows a recording",
    ".bvh": "somebody's motion, not a scene; `elbowroom experiment recorded --motion {0}` runs beside it",
    ".urdf": "an arm, not a scene; `elbowroom show {0}` is about it, `elbowroom run SCENE.toml --robot {0}` moves it",
    ".xml": "an arm, not a scene; `elbowroom show {0}` is about it, `elbowroom run SCENE.toml --robot {0}` moves it",
}
"""Files that are easily taken for a scene, and what they are for."""


def refuse(scene: Path, robot: str | None) -> None:
    """Raises for what the call, not the file, has wrong: no scene, or an arm that does not exist."""
    other = OTHERS.get(scene.suffix.lower())
    if other is not None and scene.is_file():
        raise ConfigError(f"{scene}: is {other.format(scene)}")
    if robot is not None and not is_file(robot):
        try:
            read(robot)
        except UnknownNameError as error:
            raise ConfigError(f"--robot: {error}") from error


def other_variants(scene: Path, robot: str | None, chosen: str | None) -> None:
    """Warns of variants that cannot be run, though another one was asked for."""
    for name in variants(read_file(scene)):
        if name == chosen:
            continue
        try:
            arm = Scene.load(scene, robot=robot, variant=name).robot
            if not is_file(arm):
                read(arm)
        except (ConfigError, UnknownNameError) as error:
            note("warning", f"variant {name} cannot be run: {error}")


def checked(scene: Path, robot: str | None, only: str | None, plant: str | None) -> int:
    """Builds the cell of every variant (or of one) and says what is wrong; the exit status."""
    names = (None, *variants(read_file(scene))) if only is None else (only,)
    out, errors = console(), 0
    for name, problem, cell in _built(scene, robot, names, plant):
        errors += cell is None
        mark = Text(f"{'ok' if cell else 'error':7}", style="green" if cell else "bold red")
        which = "as it is" if name is None else name
        said = problem if cell is None else _about(cell)
        out.print(Text.assemble(mark, plain(f"{which:12} "), one_line(said)), soft_wrap=True)
    told = "no errors" if not errors else f"{errors} error{'' if errors == 1 else 's'}"
    out.print(Text.assemble(plain(scene), f": {told}"), soft_wrap=True)
    return 1 if errors else 0


def _built(
    scene: Path, robot: str | None, names: tuple[str | None, ...], plant: str | None
) -> Iterator[tuple[str | None, str, Cell | None]]:
    for name in names:
        try:
            chosen = Scene.load(scene, robot=robot, variant=name)
            yield name, "", Cell(chosen if plant is None else chosen.with_plant(plant))
        except ElbowroomError as error:
            yield name, str(error).removeprefix(f"{scene}: "), None


def _about(cell: Cell) -> str:
    scene, people = cell.scene, len(cell.people)
    who = "nobody" if not people else "1 person" if people == 1 else f"{people} people"
    return f"{cell.arm.name} on the {cell.plant_kind} plant, {who}, {scene.duration:g} s, {scene.cycles} cycles"
