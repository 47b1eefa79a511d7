"""What ROS 2 tools show of a moment, as messages: link frames, capsules, points, lines, texts, diagnostics.

    transforms(ns, names, poses)            tf2_msgs/TFMessage: frames in the world
    Markers(ns).capsules("arm", rows, BLUE) visualization_msgs/MarkerArray for RViz and Foxglove
    diagnostics(ns, status, reason, {...})  diagnostic_msgs/DiagnosticArray

Every function gives a message as the tuple of its fields (ros_messages.py).  RViz has no capsule: one is a cylinder and
two balls.  Times are nanoseconds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...geometry.shapes import PARKED, RADIUS, A, B
from ...model.rotations import quaternion, z_to
from .ros_messages import Value, stamp

Array = NDArray[np.float64]
Colour = tuple[float, float, float, float]

WORLD = "world"
ARM: Colour = (0.85, 0.87, 0.89, 0.9)
PERSON: Colour = (0.41, 0.52, 0.61, 0.7)
GOAL: Colour = (0.18, 0.55, 0.38, 0.9)
OBJECT: Colour = (0.9, 0.6, 0.17, 1.0)
NEAREST: Colour = (0.81, 0.23, 0.2, 1.0)
ROUTE: Colour = (0.18, 0.47, 0.63, 1.0)
CUBE, BALL, CYLINDER, LINE_STRIP, LINE_LIST, BALLS, TEXT = 1, 2, 3, 4, 5, 7, 9
ADD, DELETE = 0, 2
NO_POSE = ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0))
OK, WARN, ERROR, STALE = 0, 1, 2, 3  # levels of a diagnosis
FAR = 0.5 * abs(float(PARKED[0]))  # m: a capsule as far away is an empty place


def turned(R: ArrayLike) -> tuple[float, float, float, float]:
    """A rotation (3, 3) as ROS has it: x, y, z, w."""
    w, x, y, z = quaternion(R).tolist()
    return x, y, z, w


def point(at: ArrayLike) -> tuple[float, float, float]:
    """Three numbers."""
    x, y, z = np.asarray(at, dtype=float).tolist()
    return x, y, z


def header(ns: int, frame: str = WORLD) -> Value:
    """A std_msgs/Header."""
    return stamp(ns), frame


def transforms(ns: int, names: Sequence[str], poses: ArrayLike, frame: str = WORLD) -> Value:
    """Frames (k, 4, 4) by name, each in `frame`."""
    found = []
    for name, T in zip(names, np.asarray(poses, dtype=float), strict=True):
        found.append((header(ns, frame), name, (point(T[:3, 3]), turned(T[:3, :3]))))
    return (tuple(found),)


class Markers:
    """A MarkerArray that grows: `capsules`, `ball`, `cube`, `line`, `text`; `message` is what there is.

    A name with a number is one marker, drawn over what had it before; `gone` takes it away.
    """

    def __init__(self, ns: int, frame: str = WORLD) -> None:
        self._header = header(ns, frame)
        self._all: list[Value] = []

    @property
    def message(self) -> Value:
        """The MarkerArray."""
        return (tuple(self._all),)

    def _add(
        self,
        name: str,
        number: int,
        kind: int,
        scale: tuple[float, float, float],
        colour: Colour,
        pose: Value = NO_POSE,
        points: Sequence[tuple[float, float, float]] = (),
        text: str = "",
        action: int = ADD,
    ) -> None:
        texture = ((0, 0), ""), "", b""
        rest = "", texture, (), text, "", ("", b""), False
        self._all.append(
            (self._header, name, number, kind, action, pose, scale, colour, (0, 0), False, tuple(points), (), *rest)
        )

    def capsules(self, name: str, rows: Array, colour: Colour) -> None:
        """Capsules (k, 7) or (k, 13); those that are parked are taken away."""
        for k, row in enumerate(np.asarray(rows, dtype=float)):
            a, b, radius = row[A], row[B], float(row[RADIUS])
            if not np.isfinite(row[:7]).all() or abs(a[0]) > FAR:
                self.gone(name, 2 * k)
                self.gone(name, 2 * k + 1)
                continue
            wide = 2.0 * radius
            self._add(name, 2 * k, BALLS, (wide, wide, wide), colour, points=(point(a), point(b)))
            length = float(np.linalg.norm(b - a))
            if length > 0.0:
                pose = point(0.5 * (a + b)), turned(z_to((b - a) / length))
                self._add(name, 2 * k + 1, CYLINDER, (wide, wide, length), colour, pose)
            else:
                self.gone(name, 2 * k + 1)

    def ball(self, name: str, at: ArrayLike, radius: float, colour: Colour) -> None:
        """A ball; none where the point is not known."""
        self._solid(name, BALL, at, 2.0 * radius, colour)

    def cube(self, name: str, at: ArrayLike, edge: float, colour: Colour) -> None:
        """A cube; none where the point is not known."""
        self._solid(name, CUBE, at, edge, colour)

    def _solid(self, name: str, kind: int, at: ArrayLike, wide: float, colour: Colour) -> None:
        if np.isfinite(at).all():
            self._add(name, 0, kind, (wide, wide, wide), colour, (point(at), NO_POSE[1]))
        else:
            self.gone(name, 0)

    def line(self, name: str, points: ArrayLike, width: float, colour: Colour) -> None:
        """A line through points (k, 3); none with fewer than two that are known."""
        all_of = np.asarray(points, dtype=float).reshape(-1, 3)
        if len(all_of) > 1 and np.isfinite(all_of).all():
            self._add(name, 0, LINE_STRIP, (width, 0.0, 0.0), colour, points=[point(each) for each in all_of])
        else:
            self.gone(name, 0)

    def text(self, name: str, at: ArrayLike, text: str, colour: Colour, height: float = 0.06) -> None:
        """A text that faces the viewer."""
        if text and np.isfinite(at).all():
            self._add(name, 0, TEXT, (0.0, 0.0, height), colour, (point(at), NO_POSE[1]), text=text)
        else:
            self.gone(name, 0)

    def gone(self, name: str, number: int = 0) -> None:
        """No such marker any more."""
        self._add(name, number, BALL, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 0.0), action=DELETE)


def level(status: str) -> int:
    """How serious a supervisor's status is, as diagnostics have it."""
    if status.startswith(("STOP", "IN_COLLISION")):
        return ERROR
    return WARN if status.startswith(("SLOWING", "HOLD")) else OK


def diagnostics(ns: int, name: str, status: str, reason: str, hardware: str, values: Mapping[str, object]) -> Value:
    """A DiagnosticArray with one status: its level, its name, the reason, and values as texts."""
    said = f"{status}: {reason}" if reason else status
    shown = tuple((key, _said(value)) for key, value in values.items())
    return header(ns), ((level(status), name, said, hardware, shown),)


def _said(value: object) -> str:
    if isinstance(value, float):
        return "unknown" if math.isnan(value) else f"{value:.6g}"
    return str(value)
