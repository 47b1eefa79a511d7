"""The arms of the benchmarks: the catalogue's, files, and two that this package knows nothing of.

`xarm7` and `z1` are URDFs of the wheel example-robot-data (the extra `foreign`); they are read where they lie, and are
left out, with a note, where the wheel is not installed.
"""

from __future__ import annotations

import importlib.metadata
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from ...arm import Arm
from ...errors import ElbowroomError
from ...loading import load

ROBOTS = ("panda", "ur5e", "iiwa14", "xarm7", "z1")
WHEEL, FOLDER = "example-robot-data", "cmeel.prefix/share/example-robot-data/robots"
FOREIGN = {"xarm7": "link_eef", "z1": "link06"}
"""The link that each ends at; its file in the wheel has its name."""


def installed() -> bool:
    """Whether the wheel of the foreign arms is there."""
    return bool(list(importlib.metadata.distributions(name=WHEEL)))


def foreign(name: str) -> Arm:
    """An arm of the wheel; a PackageNotFoundError without it."""
    folder = Path(str(importlib.metadata.distribution(WHEEL).locate_file(FOLDER)))
    path = min(folder.rglob(f"{name}.urdf"), default=folder / f"{name}.urdf")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what its description lacks is `elbowroom check`'s to say
        return load(str(path), tip=FOREIGN[name])


class NamedArm(NamedTuple):
    """An arm and its name in tables: a foreign URDF may call itself anything."""

    name: str
    arm: Arm


def known(names: Sequence[str], notes: list[str]) -> list[NamedArm]:
    """The arms of these names, or files; what is not installed is left out and noted."""
    arms = list[NamedArm]()
    for name in names:
        if name not in FOREIGN:
            arm = load(name)
            arms.append(NamedArm(arm.name, arm))
            continue
        try:
            arms.append(NamedArm(name, foreign(name)))
        except importlib.metadata.PackageNotFoundError:
            notes.append(f"{name} was left out: its URDF comes with pip install {WHEEL}.")
    if not arms:
        raise ElbowroomError(f"none of the arms is here: {' '.join(notes)}")
    return arms
