"""The scene of a recording, as one of its notes: settings in, settings out.

    text = scene_text(scene)                  TOML, layers resolved, so that it stands alone
    scene_of(text, folder) == scene           read again, files looked for where they were and beside the recording

What is in other files, such as recorded motion or the URDF of an arm, stays there; the text has their names, whole.
"""

from __future__ import annotations

import dataclasses
import os
import re
from pathlib import Path
from typing import Any

from ...avoidance.checks import FieldError
from ...avoidance.settings import dumps
from ...errors import ConfigError
from ...reading import parse_toml
from ..layers import is_file
from ..people.settings import KINDS
from ..scene import Scene, scene
from ..task import TASKS
from .file import LONGEST
from .file import NOTE as NOTE

RETIRED = frozenset({"deceleration", "person_uncertainty"})
"""Settings of `Limits` that older recordings have."""


@dataclasses.dataclass(frozen=True)
class _One:
    """A value that is written under another name."""

    value: Any


def scene_text(given: Scene) -> str | None:
    """The scene as TOML, or None where no file could hold it: a person or a task of one's own making."""
    kinds: dict[type, str] = {kind: name for name, kind in (*TASKS.items(), *KINDS.items())}
    if not {type(given.task), *map(type, given.people.values())} <= set(kinds):
        return None
    whole = _whole(given)
    plain, tables = "", ""
    try:
        for spec in dataclasses.fields(whole):
            value = getattr(whole, spec.name)
            if spec.name in ("task", "people", "source"):
                continue
            if dataclasses.is_dataclass(value):
                tables += "\n" + _said(spec.name, value)
            else:
                plain += _said(spec.name, value)
        tables += "\n" + _said("task", whole.task, kinds[type(whole.task)])
        for name, who in whole.people.items():
            tables += "\n" + _said(f"people.{_key(name)}", who, kinds[type(who)])
    except FieldError:  # a number that TOML has no place for
        return None
    text = plain + tables
    return text if len(text) < LONGEST // 2 else None  # a note is one line, and lines have a longest


def _said(name: str, value: Any, kind: str = "") -> str:
    """`name = value`, or a table of that name with the tables inside; with its kind, if it has one."""
    text = dumps(_One(value))
    if not dataclasses.is_dataclass(value):
        return name + text.removeprefix("value")
    text = re.sub(r"^(\[+)value(?=[].])", lambda found: found[1] + name, text, flags=re.MULTILINE)
    head, _, rest = text.partition("\n")
    return f'{head}\nkind = "{kind}"\n{rest}' if kind else text


def _key(name: str) -> str:
    """A person's name as a key; one with other signs than letters is in quotes."""
    quoted = dumps(_One(name)).removeprefix("value = ").strip()
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else quoted


def _whole(given: Scene) -> Scene:
    """With the names of its files whole."""
    people = {name: _moved(who, _absolute) for name, who in given.people.items()}
    robot = _absolute(given.robot) if is_file(given.robot) else given.robot
    return dataclasses.replace(given, robot=robot, people=people)


def _moved(who: Any, move: Any) -> Any:
    file = getattr(who, "file", "")
    return dataclasses.replace(who, file=move(file)) if file else who


def _absolute(file: str) -> str:
    return str(Path(file).absolute())


def scene_of(text: str, folder: Path | None = None) -> Scene:
    """The scene in a note; a file of it that is not where it was is looked for in `folder`, by its name."""
    table = dict(parse_toml(text, NOTE, ConfigError))
    limits = table.get("limits")
    if isinstance(limits, dict) and not RETIRED.isdisjoint(limits):
        del table["limits"]  # an older supervisor's; whoever shows the run does not need them
    found = scene(table)

    def here(file: str) -> str:
        beside = "" if folder is None else os.path.join(folder, os.path.basename(file))
        return beside if os.path.isfile(beside) and not os.path.isfile(file) else file

    people = {name: _moved(who, here) for name, who in found.people.items()}
    return dataclasses.replace(found, robot=here(found.robot) if is_file(found.robot) else found.robot, people=people)
