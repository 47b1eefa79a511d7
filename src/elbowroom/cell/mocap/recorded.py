"""Recorded people in the cell: which reader takes a file, where the take is placed, and what a sensor would show of it.

    motion = read_motion("take.csv")             Vicon CSV, BVH or a ROS 2 bag, by the ending of the name
    who = Recorded("take.csv")                   a coworker; placed by take_info.json if that is beside it
    who = Recorded(motion, Placement((1, 0, 0), yaw=3.14), rate=30, bridge=0.05)

`NAME_info.json` is how the authors of the recordings of human-robot-animations place a take beside their robot: with
q = (x, y, z, w) `orientation_quat` and o `position_offset`, a point p of the CSV file is at

    Q R(q) (S p + o)        S p = (-p_x, p_z, p_y),    Q (a, b, c) = (c, a, b)

which for their takes, q = (0, 1, 0, 0), is a quarter turn and a shift, and leaves the floor at z = 0.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ...arrays import number
from ...errors import RecordingError
from ...geometry import PARKED, Sizes, Skeleton
from ...geometry.person import POINTS
from ...reading import text_lines
from ..people.coworker import checked
from .bags import read_people
from .formats import read_bvh as read_bvh
from .formats import read_vicon as read_vicon
from .tracks import LARGEST, coordinate
from .tracks import Motion as Motion
from .tracks import Placement as Placement

Array = NDArray[np.float64]

BAG = "metadata.yaml"
"""What the folder of a ROS 2 bag holds."""
READERS: dict[str, Callable[[Path], Motion]] = {
    ".csv": read_vicon,
    ".bvh": read_bvh,
    ".mcap": read_people,
    ".db3": read_people,
}


def is_motion(file: str | Path) -> bool:
    """Whether there is a file, or the folder of a bag."""
    return os.path.isfile(file) or os.path.isfile(Path(file) / BAG)


def read_motion(file: str | Path) -> Motion:
    """The motion in a file, by the ending of its name, or in a bag's folder.

    `read_vicon`, `read_bvh` and `read_people` take more options.
    """
    path = Path(file)
    reader = read_people if os.path.isfile(path / BAG) else READERS.get(path.suffix.lower())
    if reader is None:
        raise RecordingError(f"{path}: expected a name that ends in {' or '.join(READERS)}; got {path.suffix!r}")
    return reader(path)


def info_file(file: str | Path) -> Path:
    """Where a take's placement is said: NAME_info.json beside NAME.csv."""
    path = Path(file)
    return path.with_name(f"{path.stem}_info.json")


def read_placement(file: str | Path) -> Placement:
    """The placement that the authors of a take give in this `_info.json` file, for points of the CSV file."""
    path = Path(file)
    text = "\n".join(text_lines(path, 2**20))
    try:
        info = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise RecordingError(f"{path}: expected JSON; {error}") from None
    if not isinstance(info, dict):
        raise RecordingError(f"{path}: expected an object with position_offset and orientation_quat")
    offset = _numbers(path, info, "position_offset", 3)
    x, y, z, w = _numbers(path, info, "orientation_quat", 4)
    (scale,) = _numbers(path, {"scale": [info.get("scale", 1.0)]}, "scale", 1)
    size = x * x + y * y + z * z + w * w
    if max(map(abs, offset)) > LARGEST:
        raise RecordingError(f"{path}: position_offset: expected places within {LARGEST:g} m; got {offset}")
    if not 0.9 < size < 1.1 or not 0.01 <= scale <= 100:
        raise RecordingError(f"{path}: expected orientation_quat of length 1 and scale from 0.01 to 100")
    turn = np.array(
        [
            [w * w + x * x - y * y - z * z, 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), w * w - x * x + y * y - z * z, 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), w * w - x * x - y * y + z * z],
        ]
    )
    theirs = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]) @ (turn / size)
    whole = theirs @ np.array([[-1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
    if whole[2, 2] < 1 - 1e-9:
        raise RecordingError(f"{path}: expected orientation_quat to turn about the vertical; got {[x, y, z, w]}")
    return Placement(theirs @ np.array(offset), math.atan2(whole[1, 0], whole[0, 0]), scale)


def _numbers(path: Path, info: Mapping[str, object], key: str, count: int) -> list[float]:
    value = info.get(key)
    numbers = [coordinate(str(x)) for x in value] if isinstance(value, list) and len(value) == count else [None]
    found = [x for x in numbers if x is not None and math.isfinite(x)]
    if len(found) != count:
        raise RecordingError(f"{path}: {key}: expected {count} numbers; got {value!r:.80}")
    return found


class Recorded:
    """A recorded person.  Time 0 is the first complete frame, or the frame at `start` (s of the recording).

    `placement` is where the take is in the cell; None takes the file's own `_info.json`, if there is one, else leaves
    the points where they are.  The floor is at `floor` (m): made-up legs go down to it.

    With a `rate` (Hz) the sensor takes so many pictures a second, and `look` gives the last one; without, a picture is
    as fresh as the recording allows.  Points averaged over `smooth` seconds; gaps of a point up to `bridge` seconds
    filled, none unless told.  In any other gap `look` gives the last complete frame and its time: old data, which a
    supervisor inflates and then stops for.  After the last frame likewise, or with end="hold" the person stays there.
    """

    def __init__(
        self,
        file: str | Path | Motion,
        placement: Placement | None = None,
        rate: float | None = None,
        *,
        bridge: float = 0.0,
        smooth: float = 0.0,
        start: float | None = None,
        stop: float = math.inf,
        end: Literal["stale", "hold"] = "stale",
        floor: float = 0.0,
        sizes: Sizes | None = None,
    ) -> None:
        if end not in ("stale", "hold"):
            raise ValueError(f'end must be "stale" or "hold"; got {end!r}')
        motion = file if isinstance(file, Motion) else read_motion(file)
        if placement is None:
            info = None if isinstance(file, Motion) else info_file(file)
            placement = read_placement(info) if info is not None and os.path.isfile(info) else Placement()
        motion = motion.only([name for name in motion.points if name in POINTS])
        motion = motion.bridged(number("bridge", bridge)).smoothed(number("smooth", smooth))
        if not motion.complete.any():
            shares = zip(motion.points, motion.valid.mean(axis=0), strict=True)
            seen = ", ".join(f"{name} in {100 * share:.0f} %" for name, share in shares)
            raise RecordingError(f"{motion.source or 'motion'}: expected a frame with every point; got {seen} of them")
        first = float(motion.times[int(np.argmax(motion.complete))])
        motion = motion.part(first if start is None else number("start", start), stop).placed(placement)
        self.motion = motion if rate is None else motion.resampled(rate)
        self.placement, self.rate, self._hold = placement, rate, end == "hold"
        self.duration = self.motion.duration
        self._floor = number("floor", floor, least=-math.inf)
        self._skeleton = Skeleton(self.motion.points, sizes, self._floor)
        self.names = self._skeleton.names
        hips = ("hip",) if "hip" in motion.points else ("left_hip", "right_hip")
        self._hips = [motion.points.index(name) for name in hips]

    def _moment(self, t: float) -> tuple[Array, Array, float]:
        moment = self.motion.at(t) if self.rate is None else self.motion.frame(t)
        if self._hold and t > self.motion.times[-1] and moment.stamp > -math.inf:
            return moment.positions, np.zeros_like(moment.positions), t
        return moment

    def look(self, t: float, out: Array) -> float:
        """The capsules as last measured, and when that was."""
        now = checked(t, out, len(self.names))
        positions, velocities, stamp = self._moment(now)
        if stamp == -math.inf:
            out[:] = PARKED
        else:
            self._skeleton.fill(positions, velocities, out=out)
        return stamp

    def point(self, t: float) -> tuple[Array, Array]:
        """Below the middle of the hips as last measured, and the velocity of that point; NaN before the first frame."""
        positions, velocities, _ = self._moment(t)
        at, velocity = positions[self._hips].mean(axis=0), velocities[self._hips].mean(axis=0)
        return np.array([at[0], at[1], self._floor]), np.array([velocity[0], velocity[1], 0.0])

    def __repr__(self) -> str:
        return f"<Recorded {self.motion.source or 'motion'}: {self.duration:.2f} s, {len(self.motion.gaps)} gaps>"
