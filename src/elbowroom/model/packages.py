"""Finding the files that a robot description names: in ROS packages, and in folders beside it.

    meshes/arm.stl           in the model's folder: the folder of the description, or the one above where that is
                             called `urdf`, `robots` or the like, as in ROS packages
    package://name/...       in the package `name`, and so are model://name/... and xacro's $(find name)

A package is a folder with that name, or one whose package.xml has that name.  It is looked for in the description's own
tree, which is the folders that it lies in (`LEVELS` up) and the packages beside it, and in the folders of
ROS_PACKAGE_PATH and AMENT_PREFIX_PATH.  Where there is none, a copy of the package under another name is common: a file
that lies in the model's folder is taken then, and the caller is told (`FoundFile.instead`).

Nothing else is opened.  What would lead out of a folder found in this way, by `..`, by a link or by an absolute path,
is refused.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path, PurePosixPath
from shlex import quote
from typing import NamedTuple

from ..errors import ModelError
from ..reading import read_up_to

LEVELS = 6
BESIDE = 4
"""A folder beside the description is a package by its name alone up to so many levels up; beyond, by its package.xml
alone."""
SCHEMES = ("package", "model")
MOST_FOLDERS = 2_000  # looked at in one folder of ROS_PACKAGE_PATH
_SUBFOLDERS = ("urdf", "urdfs", "robot", "robots", "xacro", "model", "models", "mjcf", "xml")
_MARKS = ("package.xml", "manifest.xml", "model.config")


class FoundFile(NamedTuple):
    """A file, and what is worth saying about how it was found, if anything."""

    path: Path
    instead: str = ""


class NotFoundError(ModelError):
    """A file that is not there: `why`, without its own name, and what to type so that it is found, if that is known."""

    def __init__(self, what: str, why: str, remedy: str = "") -> None:
        super().__init__(f"{what}: {why}" + (f"; {remedy}" if remedy else ""))
        self.why, self.remedy = why, remedy


def shortened(text: str, most: int = 100) -> str:
    """A text in quotes; of a long one both ends, since the end of a path says most."""
    half = (most - 3) // 2
    return repr(text if len(text) <= most else f"{text[:half]}...{text[-half:]}")


def locate(filename: str, description: Path) -> FoundFile:
    """The file that a description calls `filename`."""
    what = f"mesh {shortened(filename)}"
    if "\0" in filename or "\\" in filename:
        raise ModelError(f"{what}: expected a path with forward slashes")
    scheme, _, rest = filename.rpartition("://")
    own = model_folders(description)
    if scheme == "":
        return FoundFile(_inside(rest, own, what))
    if scheme not in SCHEMES:
        raise ModelError(f"{what}: expected package://, model:// or a path in the model's folder")
    package, _, rest = rest.lstrip("/").partition("/")
    folders = list(package_folders(package, description))
    if folders:
        return FoundFile(_inside(rest, folders, what))
    try:
        path = _inside(rest, own, what)
    except ModelError as error:
        why = f"not found: no package {shortened(package, 60)} in {_places(description)}"
        raise NotFoundError(what, why, _remedy(package)) from error
    return FoundFile(path, taken_instead(package))


def _remedy(package: str) -> str:
    """A command that finds a package."""
    return f"remedy: ROS_PACKAGE_PATH={quote(f'/folder/that/holds/{package[:60]}')} elbowroom ..."


def taken_instead(package: str) -> str:
    """What is said where the files of the model's folder stand in for those of a package."""
    return f"package {package!r} was not found; its files were taken from the model's folder"


def model_folders(description: Path) -> list[Path]:
    """The folders that plain file names are looked for in."""
    here = real(description).parent
    return [here, here.parent] if here.name.lower() in _SUBFOLDERS else [here]


def package_folders(name: str, description: Path) -> Iterator[Path]:
    """The folders of a package, the nearest first."""
    if not name or name in (".", "..") or "/" in name:
        return
    here = real(description).parent
    above = (here, *here.parents)[:LEVELS]
    for folder in above:
        if folder.name == name or _package_name(str(folder)) == name:
            yield folder
    for k, folder in enumerate(above):
        beside = folder / name
        marked = any(os.path.isfile(beside / mark) for mark in _MARKS)
        if os.path.isdir(beside) and folder != folder.parent and (marked or k < BESIDE):
            yield real(beside)
    for folder in _ros_folders():
        if folder.name == name and os.path.isdir(folder):  # the package itself, where the folder that has it was meant
            yield real(folder)
        if os.path.isdir(folder / name):
            yield real(folder / name)
        yield from (real(Path(path)) for path in _packages_below(str(folder)).get(name, ()))


def real(path: Path) -> Path:
    """The path with its links followed as far as they lead; `Path.resolve` raises where they lead in a loop."""
    return Path(os.path.realpath(path))


def _inside(rest: str, folders: list[Path], what: str) -> Path:
    inside = [real(folder / PurePosixPath(rest)) for folder in folders]
    within = [path for path in inside if any(path.is_relative_to(folder) for folder in folders)]
    if not within:
        raise ModelError(f"{what}: leads out of the model's folder")
    for path in within:
        if os.path.isfile(path):  # False too for a loop of links, or a name that no file can have
            return path
    raise NotFoundError(what, f"not found in the model's folder; looked in {_listed(folders)}")


def _ros_folders() -> list[Path]:
    paths = os.environ.get("ROS_PACKAGE_PATH", "").split(os.pathsep)
    prefixes = os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep)
    return [Path(path) for path in paths if path] + [Path(path) / "share" for path in prefixes if path]


def _places(description: Path) -> str:
    set_ = [key for key in ("ROS_PACKAGE_PATH", "AMENT_PREFIX_PATH") if os.environ.get(key)]
    unset = "" if "ROS_PACKAGE_PATH" in set_ else " (ROS_PACKAGE_PATH is not set)"
    top = (real(description).parent, *real(description).parents)[:LEVELS][-1]
    return " or ".join([f"the tree of the file (up to {_shown(top)})", *set_]) + unset


def _listed(folders: list[Path]) -> str:
    return ", ".join(_shown(folder) for folder in folders)


def _shown(folder: Path) -> str:
    return shortened(str(folder))


@lru_cache(maxsize=16)
def _packages_below(folder: str) -> dict[str, list[str]]:
    """The packages in a folder and in the folders in it, by the name in their package.xml."""
    found: dict[str, list[str]] = {}
    waiting, seen = [(folder, 0)], 0
    while waiting and seen < MOST_FOLDERS:
        path, depth = waiting.pop(0)
        seen += 1
        name = _package_name(path)
        if name:
            found.setdefault(name, []).append(path)
        elif depth < 2:
            try:
                waiting += sorted((entry.path, depth + 1) for entry in os.scandir(path) if entry.is_dir())
            except OSError:
                continue
    return found


def _package_name(folder: str) -> str:
    """The name in the package.xml of a folder; "" where there is none."""
    file = os.path.join(folder, "package.xml")
    if not os.path.isfile(file):
        return ""
    try:
        text = read_up_to(file, 20_000, ModelError).decode("utf-8", "replace")
    except ModelError:
        return ""
    match = re.search(r"<name>\s*([^<\s]+)\s*</name>", text)
    return match[1] if match else ""
