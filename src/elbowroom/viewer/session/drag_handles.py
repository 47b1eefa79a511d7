"""Drag handles: a ring about a person's feet and their body for all of them, a ball for each hand, one for the goal.

They are dragged with the mouse, straight on the things themselves.  A page sends where its pointer is in space, on the
plane through the point that was taken and across the line of sight:

    goal      follows the pointer on that plane
    hand      too                                     wanted = offset + (pointer - taken) - the way they went since
    person    follows it over the floor               wanted = where they would be, moved to where the ray from the eye
              through the pointer meets the plane z = height of the point that was taken

Handles stay on the person, who comes after the pointer as fast as people do; the page draws an arrow between the two.
Nothing that a page sends is believed: what is not finite is dropped, and offsets are cut back to an arm's or a room's
length before they become orders.  Who takes a handle last, holds it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..scene3d import primitives
from ..scene3d.people import names_of, people_of
from ..scene3d.primitives import FAR, GRIP, PULL, Solid, seen
from ..snapshot import Snapshot

if TYPE_CHECKING:
    import viser

    DragEvent = viser.SceneNodeDragEvent[viser.MeshHandle]

Array = NDArray[np.float64]
Order = Callable[..., None]
Look = Callable[[], Snapshot | None]

FARTHEST = 10.0  # m: an offset of a person beyond it is cut back
ARM = 2.0  # m: an offset of a hand
BEYOND = 12.0  # m from the eye: a pointer over the horizon means no farther than this
INNER, OUTER, HIGH = 0.34, 0.41, 0.012  # m, of the ring
LIFT = 0.004  # m: above the floor's grid
HAND = 0.11  # m, the radius of a hand's ball where the hand's own is not known
LARGER = 1.03  # than the hand's capsule, so that it can be taken where capsules are shown
GLASS = 0.3  # opacity of balls: one sees the hand, or the goal, in them
GOAL = 0.045  # m, the radius of the goal's ball
STILL = 1e-3  # m: what moved less stays


@dataclass
class _Held:
    """A handle that is held, and how things were when it was taken."""

    what: str  # "person", the side of a hand, or "goal"
    client: int
    pointer: Array  # (3,) the point that was taken
    offset: Array  # of person (2,) or hand (3,); of the goal, its place (3,)
    person: Array  # (3,) where they stood


class DragHandles:
    """Handles of the first person and of the goal.

    `order` is called with ("drag", (x, y)), ("hand", side, (x, y, z)) and ("goal", (x, y, z)).
    """

    def __init__(self, scene: viser.SceneApi, order: Order, look: Look) -> None:
        self._scene, self._order, self._look = scene, order, look
        self._kind: tuple[int, bool, tuple[str, ...]] | None = None  # generation, is there a person, their hands
        self._handles: dict[str, viser.SceneNodeHandle] = {}
        self._held: _Held | None = None

    @property
    def held(self) -> str | None:
        """What somebody holds: "person", "left", "right", "goal" or nothing."""
        return None if self._held is None else self._held.what

    # ---- showing
    def show(self, snapshot: Snapshot) -> None:
        """The handles where a snapshot has the person; other ones for another scene."""
        person, hands = snapshot.person, snapshot.hands
        kind = (snapshot.generation, person is not None, tuple(sorted(hands)))
        if kind != self._kind:
            self._build(snapshot, person, hands)
            self._kind = kind
        if np.isfinite(snapshot.goal).all():
            self._move("goal", snapshot.goal)
        if person is None:
            return
        x, y, z = person
        self._move("person", np.array([x, y, max(z, snapshot.scene.floor) + LIFT]))  # feet may sink in a little
        for side, at in hands.items():
            self._move(side, at)

    def _build(self, snapshot: Snapshot, person: Array | None, hands: Mapping[str, Array]) -> None:
        self._held = None
        self._scene.remove_by_name("/grips")
        self._handles = {}
        ball, round_ = primitives.ball(24)
        look: dict[str, Any] = {"cast_shadow": False, "receive_shadow": False}
        glass = {"color": PULL, "opacity": GLASS, **look}
        goal = self._scene.add_mesh_simple("/grips/goal", ball * np.float32(GOAL), round_, **glass)
        self._handles["goal"] = goal
        self._bind(goal, "goal")
        if person is None:
            return
        look["color"] = GRIP
        self._handles["person"] = self._scene.add_frame("/grips/person", show_axes=False)
        parts = [self._scene.add_mesh_simple("/grips/person/ring", *ring(), **look)]
        body = self._body(snapshot, person)
        if body is not None:  # not seen, but it can be taken
            (vertices, faces), middle = body
            parts.append(
                self._scene.add_mesh_simple("/grips/person/body", vertices, faces, opacity=0.0, position=middle, **look)
            )
        for part in parts:
            self._bind(part, "person")
        for side in hands:
            radius = LARGER * self._hand_radius(snapshot, side)
            size = ball * np.float32(radius)
            hand = self._scene.add_mesh_simple(f"/grips/{side}", size, round_, opacity=GLASS, **look)
            self._handles[side] = hand
            self._bind(hand, side)

    def _bind(self, handle: viser.MeshHandle, what: str) -> None:
        async def dragged(event: DragEvent) -> None:  # in order, on the server's loop
            self._dragged(what, event)

        async def clicked(_: object) -> None:
            """Nothing; but only what can be clicked lights up under the pointer."""

        handle.on_drag(dragged)
        handle.on_click(clicked)

    def _move(self, name: str, at: Array) -> None:
        handle = self._handles.get(name)
        if handle is None:
            return
        there = bool((np.abs(at) < FAR).all())
        seen(handle, there)
        if there and np.abs(np.asarray(handle.position) - at).max() > STILL:
            handle.position = at

    # ---- dragging
    def _dragged(self, what: str, event: DragEvent) -> None:
        snapshot = self._look()
        if snapshot is None or (snapshot.person is None and what != "goal"):
            self._held = None
            return
        start, pointer = _point(event.start_position), _point(event.end_position)
        if event.phase == "start" and start is not None:
            self._take(what, event.client_id, snapshot, start)
        held = self._held
        if held is None or held.what != what or held.client != event.client_id:
            return
        if pointer is not None:
            self._follow(held, event, snapshot, pointer)
        if event.phase == "end":
            self._held = None

    def _take(self, what: str, client: int, snapshot: Snapshot, start: Array) -> None:
        if what == "goal":
            offset = snapshot.goal
        else:
            offset = snapshot.offset if what == "person" else snapshot.hand_offsets.get(what, np.zeros(3))
        person = np.array(snapshot.person if snapshot.person is not None else np.zeros(3), dtype=float)
        self._held = _Held(what, client, start, np.array(offset, dtype=float), person)

    def _follow(self, held: _Held, event: DragEvent, snapshot: Snapshot, pointer: Array) -> None:
        if held.what == "goal":
            place = held.offset + (pointer - held.pointer)
            if np.isfinite(place).all():
                self._order("goal", (float(place[0]), float(place[1]), float(place[2])))
            return
        went = np.asarray(snapshot.person, dtype=float) - held.person
        if held.what == "person":
            eye = _point(event.client.camera.position)
            on_floor = None if eye is None else over_floor(eye, pointer, float(held.pointer[2]))
            if on_floor is None:
                return
            went = went[:2] - (np.asarray(snapshot.offset, dtype=float) - held.offset)  # by themselves, undragged
            wanted = cut(held.offset + (on_floor - held.pointer[:2]) - went, FARTHEST)
            if wanted is not None:
                self._order("drag", (float(wanted[0]), float(wanted[1])))
            return
        wanted = cut(held.offset + (pointer - held.pointer) - went, ARM)
        if wanted is not None:
            self._order("hand", held.what, (float(wanted[0]), float(wanted[1]), float(wanted[2])))

    # ---- shapes
    def _body(self, snapshot: Snapshot, person: Array) -> tuple[Solid, Array] | None:
        """A capsule about the first person, as tall as they are, and its middle above the feet."""
        rows = np.asarray(snapshot.people, dtype=float)
        if not len(rows):
            return None
        rows = rows[people_of(names_of(len(rows), snapshot.scene.people_names))[0]]
        if not (np.abs(rows) < FAR).all():
            return None
        top = float((np.maximum(rows[:, 2], rows[:, 5]) + rows[:, 6]).max() - person[2])
        radius = 1.02 * float(rows[:, 6].max())
        length = max(top - 0.05 - 2 * radius, 0.01)
        return primitives.capsule(length, radius), np.array([0.0, 0.0, 0.05 + radius + length / 2])

    def _hand_radius(self, snapshot: Snapshot, side: str) -> float:
        rows = snapshot.people
        names = names_of(len(rows), snapshot.scene.people_names)
        name = f"{side}_hand"
        return float(rows[names.index(name)][6]) if name in names else HAND


def ring() -> Solid:
    """A ring on the floor with four arrows: it goes all ways."""
    corners = np.array([(0.0, -0.055), (0.07, 0.0), (0.0, 0.055)])
    parts = [primitives.ring(INNER, OUTER, HIGH)]
    for k in range(4):
        c, s = np.cos(k * np.pi / 2), np.sin(k * np.pi / 2)
        flat = (corners + np.array([OUTER + 0.02, 0.0])) @ np.array([[c, s], [-s, c]])
        low, high = (np.insert(flat, 2, z, axis=1) for z in (0.0, HIGH))
        sides = [(i, (i + 1) % 3, 3 + (i + 1) % 3, 3 + i) for i in range(3)]
        faces = [(0, 2, 1), (3, 4, 5), *(t for a, b, c_, d in sides for t in ((a, b, c_), (a, c_, d)))]
        parts.append((np.concatenate([low, high]).astype(np.float32), np.array(faces, dtype=np.uint32)))
    return primitives.joined(parts)


def over_floor(eye: Array, pointer: Array, height: float) -> Array | None:
    """(2,) where the ray from the eye through the pointer meets the plane z = height, not beyond `BEYOND`.

    A ray that goes up, or meets it farther away, gives the farthest place in its direction.
    """
    ray = pointer - eye
    flat = float(np.hypot(ray[0], ray[1]))
    if flat < 1e-9:
        return pointer[:2].copy() if abs(ray[2]) > 1e-9 else None
    drop = height - eye[2]
    part = drop / ray[2] if ray[2] * drop > 0 else np.inf
    return np.asarray(eye[:2] + ray[:2] * min(part, BEYOND / flat))


def cut(wanted: Array, most: float) -> Array | None:
    """The offset, no longer than this; None if it is not finite."""
    size = float(np.linalg.norm(wanted))
    if not np.isfinite(size):
        return None
    return wanted * min(1.0, most / max(size, 1e-12))


def _point(value: object) -> Array | None:
    """Three finite numbers within sight, or nothing."""
    try:
        point = np.array(value, dtype=float)
    except (TypeError, ValueError):
        return None
    return point if point.shape == (3,) and bool((np.abs(point) < 1e4).all()) else None
