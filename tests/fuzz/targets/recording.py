"""Recordings of runs, read and replayed."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from elbowroom.cell.recording.table import read
from elbowroom.cell.runner import Cell, record_to, run
from elbowroom.cell.scene import Scene
from elbowroom.export.write_urdf import urdf
from elbowroom.loading import load

from ..mutate.text import cells, changed, lines, raw, words
from ..target import Broken, Target
from .motion import vicon

ROWS = 12
PEOPLE = b"""
[people.anna]
kind = "walk"
[people.eve]
kind = "recorded"
file = "take.csv"
"""
SEEN = b'robot = "planar2"\nstart = [0.9, -1.7]\n' + PEOPLE
PICK = (
    b"""
robot = "planar2"
start = [0.9, -1.7]
supervision = "watch"
check_reach = false # the points are beside the arm's plane
[task]
kind = "pick_and_place"
"""
    + PEOPLE
)


class Recordings(Target):
    """Recordings: read, then replayed, with pictures at several times."""

    name, suffix, share = "recording", ".csv", 8.0

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        (folder / "take.csv").write_bytes(vicon())
        self.seeds = []
        (folder / "arm.urdf").write_text(urdf(load("planar2").model))
        for name, text in (("seen", SEEN), ("pick", PICK), ("file", SEEN.replace(b'"planar2"', b'"arm.urdf"'))):
            (folder / f"{name}.toml").write_bytes(text)
            cell = Cell(Scene.load(folder / f"{name}.toml"))
            path = folder / f"{name}.csv"
            with record_to(cell, path) as recording:
                run(cell, recording, cycles=ROWS)
            data = path.read_bytes()
            self.seeds += [data, b"".join(line for line in data.splitlines(True) if not line.startswith(b"# scene"))]
        self.file = folder / "run.csv"

    def generate(self, rng: np.random.Generator) -> bytes:
        data = self.seeds[rng.integers(len(self.seeds))]
        notes, rows = self._parts(data)
        how = rng.random()
        if how < 0.25:
            notes = changed(rng, notes, [(4, words), (2, lines), (0.5, raw)])
        elif how < 0.95:
            head, _, body = rows.partition(b"\n")
            gently = lambda rng, data: cells(rng, data, wild=0.2)  # noqa: E731
            rows = head + b"\n" + changed(rng, body, [(6, gently), (4, cells), (1, lines), (0.3, raw)])
        else:
            return raw(rng, data)
        return notes + rows

    @staticmethod
    def _parts(data: bytes) -> tuple[bytes, bytes]:
        found = data.splitlines(True)
        k = sum(line.startswith(b"#") for line in found)
        return b"".join(found[:k]), b"".join(found[k:])

    def feed(self, data: bytes) -> bool:
        from elbowroom.viewer.replay.recorded import Replay

        self.file.write_bytes(data)
        table = read(self.file)
        if any(len(column) != table.rows for column in table.values()):
            raise Broken("columns of a recording differ in length")
        replay = Replay(self.file)
        first, last = float(replay.times[0]), float(replay.times[-1])
        if (np.diff(replay.times) < 0).any():
            raise Broken("the times of a replay decrease")
        for t in (first, 0.5 * (first + last), last, last + 1.0, -1.0):
            picture = replay.snapshot(t)
            if not picture.scene.shown.robot:
                raise Broken("a picture of a replay shows nothing")
        _ = replay.margins, replay.speeds, replay.title, replay.duration
        return True
