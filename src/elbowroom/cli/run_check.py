"""What `elbowroom run` looks at before anything moves: the file, the arm that was asked for, every variant."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.text import Text

from ..avoidance.checks import FieldError
from ..cell import Cell, Scene
from ..cell.layers import is_file, read_file, variants
from ..errors import ConfigError, ElbowroomError, UnknownNameError
from ..loading import read
from ..reading import named
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


@dataclass(frozen=True)
class Asked:
    """What a command line asks for: a scene's file, and what shall differ from it."""

    file: Path
    robot: str | None = None
    tip: str = ""
    start: tuple[float, ...] = ()
    seconds: float | None = None
    plant: str | None = None
    allow_bare: bool = False

    def scene(self, variant: str | None) -> Scene:
        """The scene, in a variant if asked for."""
        found = Scene.load(self.file, robot=self.robot, variant=variant)
        changes: dict[str, Any] = {"tip": self.tip, "start": self.start, "duration": self.seconds}
        changes["allow_bare"] = self.allow_bare
        try:
            found = replace(found, **{name: value for name, value in changes.items() if value})
        except FieldError as error:
            raise error.of(named(self.file)) from None
        return found if self.plant is None else found.with_plant(self.plant)


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


def other_variants(asked: Asked, chosen: str | None) -> None:
    """Warns of variants that cannot be run, though another one was asked for."""
    for name in variants(read_file(asked.file)):
        if name == chosen:
            continue
        try:
            arm = Scene.load(asked.file, robot=asked.robot, variant=name).robot
            if not is_file(arm):
                read(arm)
        except (ConfigError, UnknownNameError) as error:
            note("warning", f"variant {name} cannot be run: {error}")


def checked(asked: Asked, only: str | None) -> int:
    """Builds the cell of every variant (or of one) and says what is wrong; the exit status."""
    scene = asked.file
    names = (None, *variants(read_file(scene))) if only is None else (only,)
    out, errors = console(), 0
    for name, problem, cell in _built(asked, names):
        errors += cell is None
        mark = Text(f"{'ok' if cell else 'error':7}", style="green" if cell else "bold red")
        which = "as it is" if name is None else name
        said = problem if cell is None else _about(cell)
        out.print(Text.assemble(mark, plain(f"{which:12} "), one_line(said)), soft_wrap=True)
    told = "no errors" if not errors else f"{errors} error{'' if errors == 1 else 's'}"
    out.print(Text.assemble(plain(scene), f": {told}"), soft_wrap=True)
    return 1 if errors else 0


def _built(asked: Asked, names: tuple[str | None, ...]) -> Iterator[tuple[str | None, str, Cell | None]]:
    for name in names:
        try:
            yield name, "", Cell(asked.scene(name))
        except ElbowroomError as error:
            yield name, str(error).removeprefix(f"{asked.file}: "), None


def _about(cell: Cell) -> str:
    scene, people = cell.scene, len(cell.people)
    who = "nobody" if not people else "1 person" if people == 1 else f"{people} people"
    return f"{cell.arm.name} on the {cell.plant_kind} plant, {who}, {scene.duration:g} s, {scene.cycles} control steps"
