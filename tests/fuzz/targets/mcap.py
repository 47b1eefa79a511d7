"""Recordings and bags as MCAP, read."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from elbowroom.cell.mocap.bags import read_joints
from elbowroom.cell.recording.table import Recording, read

from ..mutate.text import raw
from ..target import Broken, Target


class Mcap(Target):
    """MCAP files with bytes changed, moved and cut, as recordings and as logs of joints."""

    name, suffix, share = "mcap", ".mcap", 4.0

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.file = folder / "run.mcap"
        with Recording(2, self.file, notes={"robot": "planar2"}) as recording:
            for k in range(12):
                recording.row[:] = k
                recording.row[1:5] = 0
                recording.append("GO_HOME", "OK")
        self.data = self.file.read_bytes()

    def generate(self, rng: np.random.Generator) -> bytes:
        how = rng.random()
        if how < 0.3:
            return self.data[: rng.integers(len(self.data))]
        if how < 0.6:
            data = bytearray(self.data)
            for at in rng.integers(0, len(data), rng.integers(1, 4)):
                data[at] = rng.integers(256)
            return bytes(data)
        return raw(rng, self.data)

    def feed(self, data: bytes) -> bool:
        self.file.write_bytes(data)
        table = read(self.file)
        if any(len(column) != table.rows for column in table.values()):
            raise Broken("columns of a recording differ in length")
        read_joints(self.file, ("joint1", "joint2"))
        return True
