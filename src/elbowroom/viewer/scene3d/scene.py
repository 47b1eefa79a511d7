"""The scene of the page: arm, people, belts and objects, floor and light, and the cameras that look at it.

Cameras: named views with arm, person and belts in the picture, whatever the shape of the window.

With f, r, u the camera's forward, right and up and p a point from what it looks at, all is in view from a distance

    D >= |r.p| / tan(h / 2) - f.p    and    D >= |u.p| / tan(v / 2) - f.p    for every p

v is the vertical angle of view, h the horizontal one: tan(h / 2) = aspect tan(v / 2).

The scene of the page: the arm and the people, belts and objects, floor and light, what is drawn about them.

    stage = PageScene(server);  stage.shells = True;  stage.show(snapshot)

Only poses are sent while things move; meshes once for each arm and scene (primitives.py, meshes.py).  A snapshot may
lack what only some have (`visuals`, `poses`, `workspace`, ...): then that is not shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ...geometry.person import NAMES
from ..snapshot import Snapshot
from .meshes import LinkMeshes
from .overlays import Overlays, Shells
from .people import Figures, clothes, names_of
from .primitives import (
    ARM,
    BELT,
    FLOOR,
    GRID,
    HAZE,
    JOINT,
    LINES,
    OBJECT,
    RAIL,
    STEEL,
    TAPE,
    Array,
    Band,
    CapsuleMeshes,
    Solid,
    box,
    copies,
    cylinder,
    joined,
    moved,
)

if TYPE_CHECKING:
    import viser


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


SIZE = 0.07  # m, of an object
HANGS = 0.02  # m: its middle, below the point that it is taken by
ROOTS = ("/arm", "/looks", "/people", "/helmets", "/objects", "/belts", "/marks", "/floor", "/shells")
BELT_WIDTH = 0.24  # m, of a belt
BELT_LOW = 0.055  # m: a belt's top, below the middle of what lies on it


class PageScene:
    """The scene of one page server.

    `shells` shows the workspace's surfaces and the distance of influence, `meshes` the arm as its URDF draws it instead
    of its capsules, `arrows` what pushes and pulls; all may be set at any time and count from the next snapshot on.
    `problem` says what could not be drawn.
    """

    def __init__(self, server: viser.ViserServer) -> None:
        self.server, self.scene = server, server.scene
        self.shells, self.meshes, self.arrows, self.figures = False, True, True, True
        self.generation = -1
        self._shells = Shells(self.scene)
        self._arm: CapsuleMeshes
        self._people: CapsuleMeshes | None
        self._looks: LinkMeshes
        self._marks: Overlays
        self._figures: Figures | None = None
        self._objects: viser.BatchedMeshHandle | None = None
        self._shape = (-1, 0, 0)  # generation, capsules of the arm, of people
        self._what: tuple[int, str, str] | None = None  # capsules of the arm, scenario, robot
        self._snapshot: Snapshot | None = None
        add_light(self.scene)
        server.on_client_connect(self._came)

    def _came(self, client: viser.ClientHandle) -> None:
        """Aims the camera of a page that connects: the shape of its window is known now."""
        self.look(client)

    @property
    def problem(self) -> str:
        """What could not be drawn, or nothing."""
        return "" if self.generation < 0 else self._looks.problem

    def show(self, snapshot: Snapshot) -> None:
        """Shows a snapshot."""
        shape = (snapshot.generation, len(snapshot.arm), len(snapshot.people))
        with self.server.atomic():
            if shape != self._shape:
                self._rebuild(snapshot)
                self._shape = shape
            shown = snapshot.scene.shown
            what = (len(snapshot.arm), shown.scenario, shown.robot)
            if what != self._what:  # another scene, and not another controller for it
                self._what = what
                self._frame(snapshot)
            drawn = self._show_arm(snapshot)
            self._show_people(snapshot.people)
            self._show_objects(snapshot.objects)
            self._snapshot = snapshot
            self._marks.show(snapshot, fingers=self._links.max(initial=0) not in drawn, arrows=self.arrows)
            if self.shells:
                self._shells.show(snapshot)
            else:
                self._shells.hide()

    # ---- where pages look from
    def look(self, client: viser.ClientHandle, name: str = "cell", snapshot: Snapshot | None = None) -> None:
        """Moves the camera of one page to a named view (FROM)."""
        shown = self._snapshot if snapshot is None else snapshot
        if shown is not None and name in FROM:
            look(client, name, shown)

    def _frame(self, snapshot: Snapshot) -> None:
        """Moves the cameras of all pages, and of those to come, to the view of the cell."""
        found, start = view("cell", snapshot), self.server.initial_camera
        start.position, start.look_at = triple(found.position), triple(found.look_at)
        start.fov = float(ANGLE)
        for client in self.server.get_clients().values():
            self.look(client, "cell", snapshot)

    # ---- made anew
    def _rebuild(self, snapshot: Snapshot) -> None:
        """Builds the scene anew: another arm, other people."""
        self._shells.hide()
        for name in ROOTS:
            self.scene.remove_by_name(name)
        self.generation = snapshot.generation
        self._build_arm(snapshot.arm, snapshot)
        self._build_people(snapshot.people, snapshot)
        self._objects = None
        add_ground(self.scene, snapshot.scene.floor, snapshot.scene.base)
        add_belts(self.scene, snapshot.scene.belts, snapshot.scene.floor)
        self._marks = Overlays(self.scene)

    def _build_arm(self, arm: Array, snapshot: Snapshot) -> None:
        links = snapshot.scene.arm_links
        self._links = np.array(links if links is not None and len(links) == len(arm) else range(len(arm)), dtype=int)
        sides = np.array([ARM[k % 2] for k in self._links], dtype=np.uint8).reshape(-1, 3)
        bands = []
        for k, row in enumerate(arm):
            if np.linalg.norm(row[3:6] - row[:3]) > 0.04:
                bands += [Band(k, part, min(0.4 * float(row[6]), 0.024), JOINT) for part in (0.0, 1.0)]
        self._arm = CapsuleMeshes(self.scene, "/arm", sides, np.repeat(sides[:, None], 2, axis=1), bands)
        visuals = snapshot.scene.visuals if snapshot.poses is not None else ()
        self._looks = LinkMeshes(self.scene, "/looks", visuals)

    def _build_people(self, people: Array, snapshot: Snapshot) -> None:
        self._people = self._figures = None
        if not len(people):
            return
        names = names_of(len(people), snapshot.scene.people_names)
        self._figures = Figures(self.scene, people) if names == NAMES * (len(names) // len(NAMES)) else None
        bands = [Band(k, part, 0.045, TAPE) for k, name in enumerate(names) if name == "torso" for part in (0.3, 0.75)]
        self._people = CapsuleMeshes(self.scene, "/people", *clothes(names), bands)

    # ---- every snapshot
    def _show_arm(self, snapshot: Snapshot) -> set[int]:
        """Shows the arm: meshes where there are some, capsules elsewhere; returns the links that are meshes alone."""
        poses = snapshot.poses
        drawn: set[int] = set()
        if self.meshes and poses is not None:
            drawn = self._looks.links
            self._looks.show(poses)
        else:
            self._looks.hide()
        self._arm.show(snapshot.arm, ~np.isin(self._links, list(drawn)))
        return drawn

    def _show_people(self, people: Array) -> None:
        """Shows people as whole bodies where that is known and wanted; else as their capsules."""
        if self._people is None:
            return
        if self._figures is not None:
            self._figures.show(people, shown=self.figures)
        whole = self._figures is not None and self.figures
        self._people.show(people, np.full(len(people), not whole))

    def _show_objects(self, places: Array) -> None:
        if self._objects is None or len(places) != len(self._objects.batched_positions):
            self.scene.remove_by_name("/objects")
            self._objects = None
            if not len(places):
                return
            self._objects = copies(self.scene, "/objects", box(SIZE, SIZE, SIZE), len(places), OBJECT)
        self._objects.batched_positions = (places - np.array([0.0, 0.0, HANGS])).astype(np.float32)


# ---- what does not move
def add_light(scene: viser.SceneApi) -> None:
    """A high sun with shadows, and a pale sky that the floor runs into."""
    scene.world_axes.visible = False
    scene.configure_environment_map("apartment", environment_intensity=0.3)
    scene.configure_default_lights(enabled=False, cast_shadow=False)
    scene.add_light_hemisphere("/light/sky", sky_color=(255, 255, 255), ground_color=(200, 196, 190), intensity=0.6)
    scene.add_light_directional(
        "/light/sun", color=(255, 248, 238), intensity=2.2, cast_shadow=True, position=(1.5, -2.5, 5.0)
    )
    scene.add_light_directional(
        "/light/fill", color=(225, 235, 255), intensity=0.4, cast_shadow=False, position=(-4.0, 3.0, 3.0)
    )
    # No fog: viser's outline of what the pointer is over cannot be drawn in it, and the page would stop.
    scene.set_background_image(np.full((2, 2, 3), HAZE, dtype=np.uint8), format="png")


def add_ground(scene: viser.SceneApi, floor: float, base: Array) -> None:
    """The floor, and what the arm stands on."""
    scene.add_box(
        "/floor/slab",
        dimensions=(60.0, 60.0, 0.02),
        position=(0.0, 0.0, floor - 0.011),
        color=FLOOR,
        cast_shadow=False,
        receive_shadow=True,
    )
    scene.add_grid(
        "/floor/grid",
        infinite_grid=True,
        cell_size=0.25,
        section_size=1.0,
        cell_color=GRID,
        section_color=LINES,
        fade_distance=9.0,
        shadow_opacity=0.0,
        position=(0.0, 0.0, floor + 0.001),
    )
    height = float(base[2]) - floor
    if height < 0.05:
        return
    x, y = float(base[0]), float(base[1])
    parts = [
        moved(cylinder(0.075, height - 0.03), (x, y, floor + 0.5 * height)),
        moved(cylinder(0.15, 0.018), (x, y, floor + 0.009)),
        moved(cylinder(0.12, 0.018), (x, y, floor + height - 0.012)),
    ]
    scene.add_mesh_simple("/floor/pedestal", *joined(parts), color=STEEL)


def add_belts(scene: viser.SceneApi, ends: Sequence[tuple[Array, Array]], floor: float) -> None:
    """Conveyors between two points: rails, legs and a belt on rollers."""
    for k, (start, end) in enumerate(ends):
        way = end - start
        length, yaw = float(np.linalg.norm(way[:2])) + 0.1, float(np.arctan2(way[1], way[0]))
        top = float(start[2]) - BELT_LOW - floor
        if top < 0.12:
            continue
        middle = 0.5 * (start + end)
        at, turn = np.array([middle[0], middle[1], floor]), np.array([np.cos(yaw / 2), 0.0, 0.0, np.sin(yaw / 2)])
        frame = [moved(box(length, 0.018, 0.07), (0.0, s * (BELT_WIDTH / 2 + 0.013), top - 0.04)) for s in (-1, 1)]
        for along in (-1.0, 1.0):
            x = along * (length / 2 - 0.09)
            frame += [
                moved(box(0.035, 0.035, top - 0.06), (x, s * (BELT_WIDTH / 2 - 0.01), 0.5 * (top - 0.06)))
                for s in (-1, 1)
            ]
            frame.append(moved(box(0.03, BELT_WIDTH, 0.03), (x, 0.0, 0.3 * top)))
        scene.add_mesh_simple(f"/belts/{k}/frame", *joined(frame), color=RAIL, position=at, wxyz=turn)
        belt = moved(_loop(length, 0.028), (0.0, 0.0, top - 0.028))
        scene.add_mesh_simple(f"/belts/{k}/belt", *belt, color=BELT, position=at, wxyz=turn)


def _loop(length: float, radius: float) -> Solid:
    """A belt round two rollers, along x, closed at its sides."""
    half = 0.5 * length - radius
    turn = np.linspace(-np.pi / 2, np.pi / 2, 9)
    outline = np.concatenate(
        [
            np.stack([half + radius * np.cos(turn), radius * np.sin(turn)], axis=1),
            np.stack([-half - radius * np.cos(turn), -radius * np.sin(turn)], axis=1),
        ]
    )
    n = len(outline)
    near, far = (np.insert(outline, 1, side * BELT_WIDTH / 2, axis=1) for side in (-1.0, 1.0))
    vertices = np.concatenate([near, far, near, far])
    k = np.arange(n)
    after = (k + 1) % n
    side = np.stack([k, after, n + after, k, n + after, n + k], axis=1).reshape(-1, 3)[:, ::-1]
    fan = np.stack([0 * k[1:-1], k[1:-1], k[2:]], axis=1)
    faces = np.concatenate([side, 2 * n + fan, 3 * n + fan[:, ::-1]])
    return vertices.astype(np.float32), faces.astype(np.uint32)
