"""Names of files: whoever reads one is asked for names that no file has."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import elbowroom as er
from elbowroom import avoidance
from elbowroom.cell.mocap.recorded import read_motion, read_placement
from elbowroom.cell.recording.table import read
from elbowroom.cell.scene import Scene
from elbowroom.viewer.replay.recorded import Replay
from elbowroom.viewer.scene3d import meshes

from ..mutate.text import raw, strange
from ..target import Target
from .meshes import dae
from .motion import bvh
from .scene import SMALL
from .urdf import ARM

READERS: dict[str, Callable[[Any], object]] = {
    "load": er.load,
    "scene": Scene.load,
    "settings": lambda path: avoidance.load(avoidance.Config, path),
    "motion": read_motion,
    "placement": read_placement,
    "recording": read,
    "replay": Replay,
    "surfaces": meshes.read,
}
SUFFIXES = (
    "", ".urdf", ".toml", ".csv", ".bvh", ".xml", ".stl", ".dae", ".json", ".TOML", ".urdf.", ".csv/",
)  # fmt: skip
PARTS = (
    "panda", "arm", "folder", "folder/", "loop", "closed", "a\0b", "é", "..", "/", "//", "~", "\ud800",
    "x" * 300, "y/" * 2200, " ", "-", "*",
)  # fmt: skip
GOOD = {
    "load": ("arm.urdf", ARM),
    "scene": ("small.toml", SMALL),
    "settings": ("config.toml", b'controller = "K"\n'),
    "motion": ("take.bvh", bvh()),
    "surfaces": ("part.dae", dae()),
}


class Paths(Target):
    """Names of files given to every reader: too long, with NUL, folders, loops of links, not there."""

    name, suffix, share = "path", ".json", 4.0

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        (folder / "folder").mkdir(exist_ok=True)
        for suffix in SUFFIXES:
            if suffix.endswith("/"):
                continue
            loop, closed, empty = (folder / f"{name}{suffix}" for name in ("loop", "closed", "empty"))
            if not loop.is_symlink():
                loop.symlink_to(loop.name)
            closed.write_bytes(b"")
            closed.chmod(0)
            empty.write_bytes(b"")
            (folder / f"folder{suffix}.d").mkdir(exist_ok=True)

        for name, data in GOOD.values():
            (folder / name).write_bytes(data)

    def generate(self, rng: np.random.Generator) -> bytes:
        if rng.random() < 0.25:
            return self._good(rng)
        name = "".join(PARTS[rng.integers(len(PARTS))] for _ in range(int(rng.integers(1, 3))))
        if rng.random() < 0.3:
            name += strange(rng)
        if rng.random() < 0.1:
            name = raw(rng, name.encode("utf-8", "surrogatepass")).decode("utf-8", "replace")
        name += SUFFIXES[rng.integers(len(SUFFIXES))]
        reader = list(READERS)[rng.integers(len(READERS))]
        return json.dumps({"reader": reader, "name": name, "here": bool(rng.random() < 0.6)}).encode()

    def _good(self, rng: np.random.Generator) -> bytes:
        """The name of a file that is there, by a way that may be."""
        reader = list(GOOD)[rng.integers(len(GOOD))]
        ways = ("", "./", "folder/../", ".//", "nowhere/../", "loop/../", "folder/")
        name = ways[rng.integers(len(ways))] + GOOD[reader][0]
        return json.dumps({"reader": reader, "name": name, "here": True}).encode()

    def feed(self, data: bytes) -> bool:
        given = json.loads(data)
        name = f"{self.folder}/{given['name']}" if given["here"] else given["name"]
        READERS[given["reader"]](name)
        return True

    def close(self) -> None:
        for path in self.folder.glob("closed*"):
            path.chmod(0o600)
