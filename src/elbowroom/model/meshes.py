"""The vertices of a mesh file: STL (binary and text) and OBJ, and where a URDF's mesh files may lie.

Only vertices are read, nothing is executed or followed, and a file's size is capped.  A file name is looked for in the
model's folder alone: the folder of the URDF, or the one above where that is called `urdf`, `robots` or the like, as in
ROS packages.  `package://name/...` is looked for in the folder `name` that the URDF itself lies in, `LEVELS` up at
most.  What would lead out of these folders, by `..`, by a link or by an absolute path, is refused.
"""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ModelError

MAX_BYTES = 50_000_000
LEVELS = 4
_SUBFOLDERS = ("urdf", "urdfs", "robot", "robots", "xacro", "model", "models")
_TRIANGLE = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])
_HEADER = 84  # bytes of a binary STL before its triangles


def locate(filename: str, urdf: Path) -> Path:
    """The file that a URDF calls `filename`."""
    if "\0" in filename or "\\" in filename:
        raise ModelError(f"mesh {filename!r:.100}: expected a path with forward slashes")
    scheme, _, rest = filename.rpartition("://")
    here = urdf.resolve().parent
    if scheme == "package":
        package, _, rest = rest.lstrip("/").partition("/")
        roots = [folder for folder in (here, *here.parents)[:LEVELS] if folder.name == package]
    elif scheme == "":
        roots = [here, here.parent] if here.name.lower() in _SUBFOLDERS else [here]
    else:
        raise ModelError(f"mesh {filename!r:.100}: expected package:// or a path in the model's folder")
    inside = [(root, (root / PurePosixPath(rest)).resolve()) for root in roots]
    within = [path for _, path in inside if any(path.is_relative_to(root) for root, _ in inside)]
    if inside and not within:
        raise ModelError(f"mesh {filename!r:.100}: leads out of the model's folder")
    for path in within:
        if path.is_file():
            return path
    raise ModelError(f"mesh {filename!r:.100}: not found in the model's folder")


def vertices(path: Path) -> NDArray[Any]:
    """(N, 3) the vertices in an STL or OBJ file, in its own units."""
    suffix = path.suffix.lower()
    if suffix not in (".stl", ".obj"):
        raise ModelError(f"mesh {path.name!r}: only STL and OBJ files are read")
    try:
        with path.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise ModelError(f"mesh {path.name!r}: cannot be read: {error.strerror}") from error
    if len(data) > MAX_BYTES:
        raise ModelError(f"mesh {path.name!r}: must not be larger than {MAX_BYTES / 1e6:g} MB")
    points = _obj(data) if suffix == ".obj" else _stl(data)
    if points is None or len(points) == 0 or not np.isfinite(points).all():
        raise ModelError(f"mesh {path.name!r}: expected vertices of three finite numbers in a file of its kind")
    return points


def _stl(data: bytes) -> NDArray[Any] | None:
    """Binary where the size is what the triangle count says (a binary file may begin with "solid" too), else text."""
    count = int.from_bytes(data[80:_HEADER], "little")
    if len(data) >= _HEADER and len(data) == _HEADER + count * _TRIANGLE.itemsize:
        corners = np.frombuffer(data, _TRIANGLE, count, _HEADER)["corners"]
        return np.unique(corners.reshape(-1, 3).astype(float), axis=0)
    return _lines(data, b"vertex") if data.lstrip()[:5] == b"solid" else None


def _obj(data: bytes) -> NDArray[Any] | None:
    return _lines(data, b"v")


def _lines(data: bytes, keyword: bytes) -> NDArray[Any] | None:
    """The three numbers after the keyword of every line that begins with it."""
    rows = [words[1:4] for words in map(bytes.split, data.splitlines()) if words and words[0] == keyword]
    try:
        points = np.array(rows, dtype=float)
    except ValueError:  # not numbers, or fewer than three
        return None
    return np.unique(points, axis=0) if points.ndim == 2 and points.shape[1] == 3 else None
