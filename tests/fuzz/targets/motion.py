"""Recorded motion: Vicon CSV, BVH, and where a take is placed."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np

from elbowroom.cell.mocap.recorded import Recorded, read_motion, read_placement
from elbowroom.geometry import ROW

from ..mutate.text import cells, changed, encode, lines, raw, words
from ..mutate.toml_tree import value_like
from ..target import Broken, Target

BODIES = (
    "collar", "head", "left_elbow", "left_hand", "left_shoulder", "right_elbow", "right_hand", "right_shoulder", "hip",
)  # fmt: skip
HEIGHTS = (1500, 1700, 1200, 1000, 1450, 1200, 1000, 1450, 1000)
SIDES = (0, 0, -250, -250, -200, 250, 250, 200, 0)


def vicon(frames: int = 6, unit: str = "mm") -> bytes:
    """A Vicon CSV of somebody who goes along x."""
    rows = ["Objects", "100", ",," + "".join(f"Global Angle {b}:{b},,,,,," for b in BODIES)]
    rows.append("Frame,Sub Frame" + ",RX,RY,RZ,TX,TY,TZ" * len(BODIES))
    rows.append("," + f",rad,rad,rad,{unit},{unit},{unit}" * len(BODIES))
    for k in range(frames):
        values = [f"0.1,0.2,0.3,{x + 10 * k},{10 * (k % 3)},{z}" for x, z in zip(SIDES, HEIGHTS, strict=True)]
        rows.append(f"{k + 1},0," + ",".join(values))
    return "\n".join(rows).encode() + b"\n"


BONES = (  # name, parent's name, offset
    ("Hips", "", (0, 0, 0)),
    ("Neck", "Hips", (0, 50, 0)),
    ("Head", "Neck", (0, 10, 0)),
    ("LeftArm", "Neck", (18, 0, 0)),
    ("LeftForeArm", "LeftArm", (30, 0, 0)),
    ("LeftHand", "LeftForeArm", (25, 0, 0)),
    ("RightArm", "Neck", (-18, 0, 0)),
    ("RightForeArm", "RightArm", (-30, 0, 0)),
    ("RightHand", "RightForeArm", (-25, 0, 0)),
)


def bvh(frames: int = 4) -> bytes:
    """A BVH file of somebody who turns a little."""

    def bone(name: str, offset: tuple[int, ...], deep: int) -> list[str]:
        pad = "  " * deep
        channels = "6 Xposition Yposition Zposition " if deep == 0 else "3 "
        said = [f"{pad}{'JOINT' if deep else 'ROOT'} {name}", pad + "{", f"{pad}  OFFSET {' '.join(map(str, offset))}"]
        said.append(f"{pad}  CHANNELS {channels}Zrotation Xrotation Yrotation")
        children = [each for each in BONES if each[1] == name]
        for child, _, at in children:
            said += bone(child, at, deep + 1)
        if not children:
            said += [f"{pad}  End Site", pad + "  {", f"{pad}    OFFSET 0 5 0", pad + "  }"]
        return [*said, pad + "}"]

    said = ["HIERARCHY", *bone("Hips", (0, 0, 0), 0), "MOTION", f"Frames: {frames}", "Frame Time: 0.02"]
    for k in range(frames):
        said.append(" ".join(["0 100 0", *(f"{k} {2 * k} 0" for _ in BONES)]))
    return "\n".join(said).encode() + b"\n"


class Motion(Target):
    """What the two kinds of files share: a motion is read, made a coworker, and looked at."""

    def _use(self, data: bytes) -> bool:
        self.file.write_bytes(data)
        motion = read_motion(self.file)
        for options in ({}, {"rate": 30.0, "bridge": 0.05, "end": "hold"}):
            who = Recorded(motion, **options)  # may refuse: a person needs more than a motion
            rows = np.empty((len(who.names), ROW))
            for t in (-1.0, 0.0, 0.5 * who.duration, who.duration, who.duration + 100.0):
                stamp = who.look(t, rows)
                if not np.isfinite(rows).all() or math.isnan(stamp) or stamp > max(t, 0.0) + 1e-9:
                    raise Broken("an accepted motion shows capsules that are not finite, or from the future")
                who.point(t)
        return True


class Vicon(Motion):
    """Vicon CSV: read_motion, then a coworker that is looked at."""

    name, suffix, share = "vicon", ".csv", 8.0

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.file = folder / "take.csv"
        self.seeds = [vicon(), vicon(3, "m"), vicon(40)]

    def generate(self, rng: np.random.Generator) -> bytes:
        data = self.seeds[rng.integers(len(self.seeds))]
        gently = lambda rng, data: cells(rng, data, wild=0.1)  # noqa: E731
        return changed(rng, data, [(4, gently), (3, cells), (2, lines), (1, words), (0.5, raw)])

    def feed(self, data: bytes) -> bool:
        return self._use(data)


class Bvh(Motion):
    """BVH: read_motion, then a coworker that is looked at."""

    name, suffix, share = "bvh", ".bvh", 8.0

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.file = folder / "take.bvh"
        self.seeds = [bvh(), bvh(1), bvh(30)]

    def generate(self, rng: np.random.Generator) -> bytes:
        data = self.seeds[rng.integers(len(self.seeds))]
        head, mark, motion = data.partition(b"MOTION\n")
        numbers = lambda rng, data: cells(rng, data, b" ", wild=0.3)  # noqa: E731
        if rng.random() < 0.5:
            motion = changed(rng, motion, [(6, numbers), (1, lines)])
        else:
            head = changed(rng, head, [(4, numbers), (2, words), (2, lines)])
        data = head + mark + motion
        return raw(rng, data) if rng.random() < 0.05 else data

    def feed(self, data: bytes) -> bool:
        return self._use(data)


class Placements(Target):
    """The placement of a take, NAME_info.json: read_placement, applied to points."""

    name, suffix, share = "placement", ".json", 2.0

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.file = folder / "take_info.json"

    def generate(self, rng: np.random.Generator) -> bytes:
        info = {"position_offset": [0.5, 0.0, -1.2], "orientation_quat": [0.0, 1.0, 0.0, 0.0], "scale": 1.0}
        angle = rng.uniform(-3.0, 3.0)
        if rng.random() < 0.5:
            info["orientation_quat"] = [0.0, math.cos(angle), 0.0, math.sin(angle)]
        key = ("position_offset", "orientation_quat", "scale")[rng.integers(3)]
        value = info[key]
        if isinstance(value, list) and rng.random() < 0.7:
            k = int(rng.integers(len(value)))
            value[k] = value_like(rng, value[k], 0.4)
        else:
            info[key] = value_like(rng, value, 0.4)
        data = encode(json.dumps(info, default=str))
        return changed(rng, data, [(1, words), (1, raw)]) if rng.random() < 0.3 else data

    def feed(self, data: bytes) -> bool:
        self.file.write_bytes(data)
        placed = read_placement(self.file).apply(np.ones((2, 3)))
        if not np.isfinite(placed).all():
            raise Broken("an accepted placement puts points nowhere")
        return True
