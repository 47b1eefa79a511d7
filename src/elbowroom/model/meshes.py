"""Mesh files: STL (binary and text) and OBJ, their vertices and triangles, and where a URDF's mesh files may lie.

Only numbers are read, nothing is executed or followed, and a file's size is capped.  A file name is looked for in the
model's folder alone: the folder of the URDF, or the one above where that is called `urdf`, `robots` or the like, as in
ROS packages.  `package://name/...` is looked for in the folder `name` that the URDF itself lies in, `LEVELS` up at
most.  What would lead out of these folders, by `..`, by a link or by an absolute path, is refused.
"""

from __future__ import annotations

import io
import os
from array import array
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ModelError
from ..reading import regular

MAX_BYTES = 50_000_000
LEVELS = 4
LONGEST = 1_000_000  # bytes of a line of text
_SUBFOLDERS = ("urdf", "urdfs", "robot", "robots", "xacro", "model", "models")
_TRIANGLE = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])
_HEADER = 84  # bytes of a binary STL before its triangles


def locate(filename: str, urdf: Path) -> Path:
    """The file that a URDF calls `filename`."""
    if "\0" in filename or "\\" in filename:
        raise ModelError(f"mesh {filename!r:.100}: expected a path with forward slashes")
    scheme, _, rest = filename.rpartition("://")
    here = _real(urdf).parent
    if scheme == "package":
        package, _, rest = rest.lstrip("/").partition("/")
        roots = [folder for folder in (here, *here.parents)[:LEVELS] if folder.name == package]
    elif scheme == "":
        roots = [here, here.parent] if here.name.lower() in _SUBFOLDERS else [here]
    else:
        raise ModelError(f"mesh {filename!r:.100}: expected package:// or a path in the model's folder")
    inside = [(root, _real(root / PurePosixPath(rest))) for root in roots]
    within = [path for _, path in inside if any(path.is_relative_to(root) for root, _ in inside)]
    if inside and not within:
        raise ModelError(f"mesh {filename!r:.100}: leads out of the model's folder")
    for path in within:
        if os.path.isfile(path):  # False too for a loop of links, or a name that no file can have
            return path
    raise ModelError(f"mesh {filename!r:.100}: not found in the model's folder")


def _real(path: Path) -> Path:
    """The path with its links followed as far as they lead; `Path.resolve` raises where they lead in a loop."""
    return Path(os.path.realpath(path))


def contents(path: Path, most: int) -> bytes:
    """The bytes of a mesh file, `most` at most."""
    try:
        with open(path, "rb", opener=regular) as stream:
            data = stream.read(most + 1)
    except (OSError, ValueError) as error:
        raise ModelError(f"mesh {path.name!r}: cannot be read: {getattr(error, 'strerror', None) or error}") from error
    if len(data) > most:
        raise ModelError(f"mesh {path.name!r}: must not be larger than {most / 1e6:g} MB")
    return data


def vertices(path: Path) -> NDArray[Any]:
    """(N, 3) the vertices in an STL or OBJ file, in its own units."""
    suffix = path.suffix.lower()
    if suffix not in (".stl", ".obj"):
        raise ModelError(f"mesh {path.name!r}: only STL and OBJ files are read")
    data = contents(path, MAX_BYTES)
    try:
        points = np.unique(obj(data, faces=False)[0] if suffix == ".obj" else stl(data), axis=0)
    except (ModelError, ValueError):  # not of its kind, no numbers, or fewer than three
        points = np.empty((0, 3))
    if len(points) == 0 or not np.isfinite(points).all():
        raise ModelError(f"mesh {path.name!r}: expected vertices of three finite numbers in a file of its kind")
    return points


def is_binary(data: bytes) -> bool:
    """Whether an STL file is binary: its size is what the triangle count says (it may begin with "solid" too)."""
    count = int.from_bytes(data[80:_HEADER], "little")
    return len(data) >= _HEADER and len(data) == _HEADER + count * _TRIANGLE.itemsize


def stl(data: bytes, most: int | None = None) -> NDArray[Any]:
    """(3 F, 3) the corners in an STL file, three for each triangle; an error as soon as there are more than `most`."""
    if is_binary(data):
        found = np.frombuffer(data, _TRIANGLE, offset=_HEADER)
        _few(len(found), most)
        with np.errstate(invalid="ignore"):  # a NaN of a kind that NumPy warns of is one like any other
            return found["corners"].reshape(-1, 3).astype(float)
    if data.lstrip()[:5] != b"solid":
        raise ModelError("expected an STL file")
    corners = array("d")
    for words in _lines(data):
        if words[0] == b"vertex":
            corners.extend(_three(words))
            _few(len(corners) // 9, most)
    return np.array(corners).reshape(-1, 3)


def obj(data: bytes, most: int | None = None, *, faces: bool = True) -> tuple[NDArray[Any], NDArray[Any]]:
    """(V, 3) vertices and (F, 3) triangles in an OBJ file; an error as soon as there are more than `most`.

    Polygons become fans.  Without `faces` these are not looked at.
    """
    points, corners = array("d"), array("q")
    for words in _lines(data):
        if words[0] == b"v":
            points.extend(_three(words))
        elif words[0] == b"f" and faces:
            numbers = [_whole(word.split(b"/")[0]) for word in words[1:]]
            numbers = [k - 1 if k > 0 else len(points) // 3 + k for k in numbers]
            _few(len(corners) // 3 + max(len(numbers) - 2, 0), most)
            for b, c in pairwise(numbers[1:]):
                corners.extend((numbers[0], b, c))
    return np.array(points).reshape(-1, 3), np.array(corners, dtype=int).reshape(-1, 3)


def _lines(data: bytes) -> Iterator[list[bytes]]:
    """The words of each line that has some, one line at a time: all at once take many times the file."""
    if b"\n" not in data:
        data = data.replace(b"\r", b"\n")  # as old tools end lines
    for line in io.BytesIO(data):
        if len(line) > LONGEST:
            raise ModelError(f"expected lines of {LONGEST} bytes at most")
        words = line.split()
        if words:
            yield words


def _three(words: list[bytes]) -> tuple[float, float, float]:
    """The numbers after a keyword; more may follow them."""
    x, y, z = words[1:4]
    if b"_" in x + y + z:  # Python would take it for a number
        raise ModelError("expected three numbers")
    return float(x), float(y), float(z)


def _whole(word: bytes) -> int:
    """The number of a vertex."""
    if b"_" in word or len(word) > 18:  # more digits than an array of whole numbers holds
        raise ModelError("expected the number of a vertex")
    return int(word)


def _few(count: int, most: int | None) -> None:
    if most is not None and count > most:
        raise ModelError(f"must not have more than {most} triangles")
