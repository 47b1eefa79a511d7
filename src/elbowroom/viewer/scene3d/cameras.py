"""Cameras: named views with arm, person and belts in the picture, whatever the shape of the window.

With f, r, u the camera's forward, right and up and p a point from what it looks at, all is in view from a distance

    D >= |r.p| / tan(h / 2) - f.p    and    D >= |u.p| / tan(v / 2) - f.p    for every p

v is the vertical angle of view, h the horizontal one: tan(h / 2) = aspect tan(v / 2).
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..snapshot import Snapshot

if TYPE_CHECKING:
    import viser

Array = NDArray[np.float64]

ANGLE = np.radians(40.0)  # v
ROOM = 1.04  # farther than needed, so that nothing touches the edge
TYPICAL = 1.3  # width to height, of a page that has not said
NEAR = 1.3  # m from the arm's base: a person farther away is looked for there
WIDE = 0.12  # m, half of a belt
TALL, BROAD = 1.9, 0.42  # m: the room a person takes
FROM: dict[str, tuple[float, float, float]] = {
    "cell": (-0.6, -1.0, 0.5),  # the arm before the person, who faces it
    "front": (1.0, 0.0, 0.18),
    "side": (0.0, -1.0, 0.18),
    "top": (0.02, 0.0, 1.0),
    "tool": (0.5, -1.0, 0.35),
}
"""From which side, seen from the arm, which faces +x."""


class CameraPose(NamedTuple):
    """Where a camera is, what it looks at, and which way is up."""

    position: Array
    look_at: Array
    up: Array


def points(snapshot: Snapshot) -> Array:
    """(k, 3) what should be in view: the arm and where it reaches, the person or where they will come to, the belts."""
    base, floor = np.asarray(snapshot.scene.base, dtype=float), float(snapshot.scene.floor)
    arm = np.asarray(snapshot.arm, dtype=float)
    thick = np.concatenate([-np.eye(3), np.eye(3)])[:, None] * arm[:, 6:7]
    found = [(arm[:, k : k + 3] + thick).reshape(-1, 3) for k in (0, 3)] + [np.array([[base[0], base[1], floor]])]
    for ends in snapshot.scene.belts:
        belt = np.asarray(ends, dtype=float)
        for across in (-WIDE, WIDE):
            found += [belt + across * np.array([1.0, 1.0, 0.0]), np.insert(belt[:, :2] + across, 2, floor, axis=1)]
    person = snapshot.person
    if person is not None and np.isfinite(person).all():
        at = np.asarray(person, dtype=float)[:2] - base[:2]
        away = float(np.linalg.norm(at))
        at = base[:2] + at * min(1.0, NEAR / max(away, 1e-9))
        sides = np.array([(x, y) for x in (-BROAD, BROAD) for y in (-BROAD, BROAD)]) + at
        found += [np.insert(sides, 2, height, axis=1) for height in (floor, floor + TALL)]
    every = np.concatenate(found)
    return every[np.isfinite(every).all(axis=1) & (np.abs(every) < 50.0).all(axis=1)]


def view(name: str, snapshot: Snapshot, aspect: float = TYPICAL) -> CameraPose:
    """The camera of that name for a window of that width to height."""
    if name == "tool":
        at = np.asarray(snapshot.tool, dtype=float)
        way = _unit(FROM[name])
        return CameraPose(at + 1.1 * max(1.0, 1.0 / aspect) * way, at, np.array([0.0, 0.0, 1.0]))
    return fitted(points(snapshot), FROM[name], aspect)


def fitted(seen: Array, way: ArrayLike, aspect: float) -> CameraPose:
    """From that side, as near as all points are in view."""
    forward = -_unit(way)
    right = _unit(np.cross(forward, (0.0, 0.0, 1.0)))
    up = np.cross(right, forward)
    tall = np.tan(ANGLE / 2)
    middle = 0.5 * (seen.min(axis=0) + seen.max(axis=0))
    for _ in range(6):  # what is near takes more of the picture: the middle is moved until both edges have as much room
        p = seen - middle
        deep, x, y = p @ forward, p @ right, p @ up
        distance = max(float((np.abs(x) / (tall * aspect) - deep).max()), float((np.abs(y) / tall - deep).max()))
        a, b = x / (distance + deep), y / (distance + deep)
        middle = middle + distance * (0.5 * (a.min() + a.max()) * right + 0.5 * (b.min() + b.max()) * up)
    return CameraPose(middle - ROOM * distance * forward, middle, np.array([0.0, 0.0, 1.0]))


def _unit(vector: ArrayLike) -> Array:
    v = np.asarray(vector, dtype=float)
    return np.asarray(v / np.linalg.norm(v))


def triple(v: Array) -> tuple[float, float, float]:
    """A point as viser keeps it for pages to come."""
    return float(v[0]), float(v[1]), float(v[2])


def look(client: viser.ClientHandle, name: str, snapshot: Snapshot) -> None:
    """One page looks through the camera of that name, as its window is wide."""
    camera = client.camera
    wide, tall = getattr(camera, "image_width", 0), getattr(camera, "image_height", 0)
    found = view(name, snapshot, wide / tall if wide and tall else TYPICAL)
    with departing(client), client.atomic():
        camera.up_direction = found.up
        camera.position, camera.look_at = found.position, found.look_at
        camera.fov = float(ANGLE)


def departing(client: viser.ClientHandle) -> AbstractContextManager[None]:
    """While it lasts, the page may leave: viser then warns of what never arrives, which is no error here.

    A page can leave at any moment, so that asking beforehand whether it is there does not help.
    """
    try:
        found: AbstractContextManager[None] = client._websock_connection.get_message_buffer().sanctioned_dead_writes()
    except AttributeError:  # a viser that does not warn
        return nullcontext()
    return found
