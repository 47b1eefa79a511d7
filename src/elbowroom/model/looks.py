"""What an arm of the catalogue looks like, borrowed from a robot description in an installed wheel.

    looks = { wheel = "example-robot-data", file = "an_arm/urdf/an_arm.urdf", tip = "flange" }

says so in a TOML file of the catalogue.  Without the wheel there is nothing, and the arm is drawn by its capsules.

The description and the catalogue may place the frames of their links differently.  With A_i(q) and B_i(q) link i in the
catalogue's and in the description's chain, what is fixed to the one is fixed to the other where

    C_i = A_i(q)^-1 B_i(q)

is the same for all q, and then a pose in the description's frame i is C_i times it in ours.  It is computed at a few
configurations; where they differ by more than can be seen, that is another arm: a `ModelNotice` says so.
"""

from __future__ import annotations

import importlib.metadata
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..errors import ModelError, ModelNotice
from .model import Array, Model
from .urdf import placements_of

SAMPLES = 5
FARTHEST = 0.002  # m, and turned by so much at a metre: a description rounds to millimetres


class Looks(NamedTuple):
    """Where a description is: the wheel, the end of the file's path in it, and the link that the arm ends at."""

    wheel: str
    file: str
    tip: str


class Borrowed(NamedTuple):
    """A description on this machine, and its link frames in ours, the base first."""

    file: Path
    tip: str
    frames: list[Array]  # n + 1 of (4, 4)


def borrowed(model: Model, looks: Looks) -> Borrowed | None:
    """The description that an arm's looks are in; None where it is not installed, or is that of another arm."""
    file = installed(looks)
    if file is None:
        return None
    try:
        frames = frames_in(model, file, looks.tip)
    except ModelError as error:
        warnings.warn(f"{model.name}: drawn by its capsules, not as in {looks.wheel}: {error}", ModelNotice, 2)
        return None
    return Borrowed(file, looks.tip, frames)


def installed(looks: Looks) -> Path | None:
    """The file, if the wheel is installed and has it."""
    try:
        wheel = importlib.metadata.distribution(looks.wheel)
    except importlib.metadata.PackageNotFoundError:
        return None
    for file in wheel.files or ():
        if file.as_posix().endswith(f"/{looks.file}"):
            path = Path(str(wheel.locate_file(file)))
            return path if path.is_file() else None
    return None


def frames_in(model: Model, file: Path, tip: str) -> list[Array]:
    """The link frames of a description in those of the model, the base first; a ModelError where they are not fixed."""
    kinds, placements = placements_of(file, tip)
    if kinds != model.kinds:
        raise ModelError(f"{file.name} has joints {kinds} to {tip!r}; expected {model.kinds}")
    ours = [_placed(E, p) for E, p in zip(model.E, model.p, strict=True)]
    low, high = model.sampling_range()
    Q = np.random.default_rng(0).uniform(low, high, (SAMPLES, model.n))  # any: the same ones each time
    found = np.array([_between(kinds, ours, placements, q) for q in Q])  # (SAMPLES, n, 4, 4)
    off = np.abs(found - found[0]).max(axis=(0, 2, 3))
    if off.max() > FARTHEST:
        link = model.link_names[int(np.argmax(off > FARTHEST))]
        raise ModelError(f"{file.name} is that of an arm of other dimensions: its {link!r} moves otherwise")
    return [np.eye(4), *found[0]]


def _placed(E: Array, p: Array) -> Array:
    T: Array = np.eye(4)
    T[:3, :3], T[:3, 3] = E, p
    return T


def _between(kinds: str, ours: list[Array], theirs: list[Array], q: Array) -> list[Array]:
    """C_i at a configuration."""
    A: Array = np.eye(4)
    B: Array = np.eye(4)
    found = []
    for kind, a, b, x in zip(kinds, ours, theirs, q, strict=True):
        moved: Array = np.eye(4)
        if kind == "R":
            moved[:2, :2] = [[np.cos(x), -np.sin(x)], [np.sin(x), np.cos(x)]]
        else:
            moved[2, 3] = x
        A, B = A @ a @ moved, B @ b @ moved
        found.append(np.linalg.inv(A) @ B)
    return found
