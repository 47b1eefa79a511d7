"""People in ROS 2 messages: skeletons in TF frames as REP-155 (ROS4HRI) names them, and poses of standing people.

    tree = FrameTree()
    tree.add(tf_message, ns); tree.add(tf_static_message, ns, fixed=True)
    tree.pose("l_wrist_ab12", "world")       (4, 4), and when it was so; None if no chain of frames connects them
    skeleton(tree, "ab12", "world")          the points of a body by their names, and the stamp of the oldest

REP-155 puts a body's frames at its joints: body_ID at the hips, torso_ID between the shoulders, head_ID, and on each
side l_shoulder_ID, l_elbow_ID, l_wrist_ID, l_hip_ID, l_knee_ID, l_ankle_ID (r_ on the right).

A geometry_msgs/PoseArray has one pose per person: the point on the floor that they stand on, and where they look, as
the turn of its x axis.  Everybody is then a standing figure.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...geometry.person import SIDES, standing_points
from ...model.rotations import from_quaternion, pose
from ..recording.ros_messages import Value

Array = NDArray[np.float64]
ALWAYS = 2**63 - 1  # ns: the stamp of a frame that does not move
DEEPEST = 64  # frames in a chain
MOST_FRAMES = 10_000
FAR = 1000.0  # m

FRAMES: Mapping[str, str] = {"head": "head", "collar": "torso", "hip": "body"} | {
    f"{side}_{limb}": f"{side[0]}_{limb}"
    for side in SIDES
    for limb in ("shoulder", "elbow", "wrist", "hip", "knee", "ankle")
}
"""The points of a skeleton, and the frames of REP-155 that have them, without the body's id."""
NEEDED = ("head", "collar", "hip", *(f"{side}_{limb}" for side in SIDES for limb in ("shoulder", "elbow", "wrist")))


def nanoseconds(stamp: Value) -> int:
    """A builtin_interfaces/Time, ns."""
    seconds, rest = stamp
    return int(seconds) * 1_000_000_000 + int(rest)


def transform(translation: Value, quaternion: Value) -> Array | None:
    """(4, 4) of three numbers and x, y, z, w; None where they are not finite, too large, or no rotation."""
    numbers = np.array([*translation, *quaternion], dtype=float)
    if not np.isfinite(numbers).all() or np.abs(numbers[:3]).max() > FAR:
        return None
    x, y, z, w = numbers[3:]
    if not 0.98 < x * x + y * y + z * z + w * w < 1.02:
        return None
    return pose(from_quaternion([w, x, y, z]), numbers[:3])


class Placed(NamedTuple):
    """A frame in its parent."""

    parent: str
    T: Array
    ns: int


class FramePose(NamedTuple):
    """Where a frame is, and the oldest stamp (ns) of what that is made of; ALWAYS where nothing moves."""

    T: Array
    ns: int


class FrameTree:
    """The newest transforms of TF, by child frame.  `refused` counts those that are no transforms."""

    def __init__(self) -> None:
        self._frames: dict[str, Placed] = {}
        self.refused = 0

    def add(self, message: Value, *, fixed: bool = False) -> None:
        """The transforms of a tf2_msgs/TFMessage; `fixed` for one of /tf_static."""
        (all_of,) = message
        for (stamp, parent), child, (translation, rotation) in all_of:
            T, parent, child = transform(translation, rotation), parent.lstrip("/"), child.lstrip("/")
            full = child not in self._frames and len(self._frames) >= MOST_FRAMES
            if T is None or not parent or not child or parent == child or full:
                self.refused += 1
                continue
            ns, before = ALWAYS if fixed else nanoseconds(stamp), self._frames.get(child)
            if fixed or before is None or before.ns == ALWAYS or ns >= before.ns:
                self._frames[child] = Placed(parent, T, ns)

    def __contains__(self, frame: str) -> bool:
        return frame in self._frames

    def stamp(self, frame: str) -> int:
        """When a frame was last placed, ns; 0 for one that never was."""
        placed = self._frames.get(frame)
        return 0 if placed is None else placed.ns

    def root(self, frame: str) -> str:
        """The frame at the end of the chain that a frame hangs in."""
        for _ in range(DEEPEST):
            placed = self._frames.get(frame)
            if placed is None:
                break
            frame = placed.parent
        return frame

    def _chain(self, frame: str) -> dict[str, FramePose]:
        """The frame in itself and in each of its ancestors."""
        T, ns = np.eye(4), ALWAYS
        found = {frame: FramePose(T, ns)}
        for _ in range(DEEPEST):
            placed = self._frames.get(frame)
            if placed is None or placed.parent in found:
                break
            T, ns, frame = placed.T @ T, min(ns, placed.ns), placed.parent
            found[frame] = FramePose(T, ns)
        return found

    def pose(self, frame: str, reference: str) -> FramePose | None:
        """A frame in another; None where they are not connected."""
        up, down = self._chain(frame), self._chain(reference)
        for ancestor, found in up.items():
            if ancestor in down:
                other = down[ancestor]
                inverse = pose(other.T[:3, :3].T, -other.T[:3, :3].T @ other.T[:3, 3])
                return FramePose(inverse @ found.T, min(found.ns, other.ns))
        return None


class BodyPoints(NamedTuple):
    """The points of a skeleton by name, (3,) each, and the oldest of their stamps, ns."""

    points: dict[str, Array]
    ns: int


def skeleton(tree: FrameTree, body: str, reference: str) -> BodyPoints | None:
    """The points of a body in a frame; None unless all of `NEEDED` are there."""
    points: dict[str, Array] = {}
    oldest = ALWAYS
    for point, frame in FRAMES.items():
        name = f"{frame}_{body}"
        found = tree.pose(name, reference) if name in tree else None
        if found is None:
            if point in NEEDED:
                return None
            continue
        points[point] = found.T[:3, 3]
        oldest = min(oldest, found.ns)
    return BodyPoints(points, oldest)


def standing(position: Array, facing: float, height: float) -> dict[str, Array]:
    """The points of a figure that stands there and looks along `facing`, rad from x."""
    return standing_points(position, facing, height)


def heading(T: Array) -> float:
    """Where the x axis of a pose looks, rad about the vertical."""
    return math.atan2(float(T[1, 0]), float(T[0, 0]))
