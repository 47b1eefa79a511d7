"""Scene files, with the files that they name."""

from __future__ import annotations

import tomllib
import zlib
from pathlib import Path

import numpy as np

from elbowroom.cell.layout import STANDARD
from elbowroom.cell.runner import Cell, run
from elbowroom.cell.scene import Scene, scene_of, scene_text
from elbowroom.experiments.thesis.experiment import SCENES as THESIS

from ..mutate import toml_tree
from ..target import Broken, Target
from .motion import bvh, vicon
from .urdf import ARM, with_meshes

BUILT = 15  # one in so many accepted scenes comes to life; a new arm or law compiles for a second
CYCLES = 4
SMALL = b"""title = "small"
robot = "planar2"
floor = -0.8
duration = 2.0
supervision = "stop"
noise = 0.01
start = [0.9, -1.7]
[plant]
kind = "kinematic"
[controller]
period = 0.01
[limits]
max_age = 0.2
[task]
kind = "go_to"
point = [0.1, 0.0, 0.1]
[people.anna]
kind = "walk"
start = [1.8, 0.3]
end = [0.8, 0.0]
speed = 0.5
[people.ben]
kind = "reach"
position = [0.9, 0.4]
[people.cora]
kind = "random"
seed = 3
[people.dan]
kind = "still"
shape = "standing"
[people.eve]
kind = "recorded"
file = "take.csv"
rate = 30.0
"""
RIGID = b"""robot = "planar2"
[plant]
kind = "rigid"
mass_error = 0.3
[people.a]
kind = "recorded"
file = "take.bvh"
"""


class Scenes(Target):
    """Scene TOML: Scene.load, its text again, and for some of the accepted a cell that runs a few cycles."""

    name, suffix, share = "scene", ".toml", 10.0

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        with_meshes(folder)
        for name, data in {"arm.urdf": ARM, "take.csv": vicon(), "take.bvh": bvh(), "small.toml": SMALL}.items():
            (folder / name).write_bytes(data)
        (folder / "circle.toml").write_bytes(b'extends = "circle.toml"\n')
        (folder / "self.toml").write_bytes(b'extends = "cell.toml"\n')  # the input itself
        self.texts = [SMALL] * 4 + [
            STANDARD.read_bytes(),
            *(path.read_bytes() for path in sorted(THESIS.glob("*.toml"))),
            b'extends = "small.toml"\nrobot = "arm.urdf"\ntip = "tool0"\n[variants.x]\nnoise = 0.1\n',
            b'extends = "self.toml"\n',
            RIGID,
        ]
        for path in THESIS.glob("*.toml"):
            (folder / path.name).write_bytes(path.read_bytes())
        self.seeds = [tomllib.loads(text.decode()) for text in self.texts]
        self.file = folder / "cell.toml"

    def generate(self, rng: np.random.Generator) -> bytes:
        k = int(rng.integers(len(self.seeds)))
        return toml_tree.changed(rng, self.texts[k], self.seeds[k])

    def feed(self, data: bytes) -> bool:
        self.file.write_bytes(data)
        scene = Scene.load(self.file)
        text = scene_text(scene)
        if text is not None and scene_of(text, self.folder) != scene:
            raise Broken("an accepted scene differs once it is written and read")
        if zlib.crc32(data) % BUILT:
            return True
        cell = Cell(scene)  # may refuse: what does not fit the arm is only seen here
        table = run(cell, cycles=min(CYCLES, scene.cycles)).table()
        for what in ("tool_x", "q1", "qd1", "command1"):
            if not np.isfinite(table[what]).all():
                raise Broken(f"{what} of a scene that was accepted is not finite")
        if cell.guard is not None and cell.guard.counters["exceptions"]:
            raise Broken(f"the supervisor of an accepted scene caught an exception: {cell.guard.reason}")
        return True
