"""The scene of the page: floor and light, the arm and the people as capsules, belts, objects, arrows.

Capsules keep their shape while they move, so a mesh is made once for each length and radius and only its pose is sent.
"""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Colour = tuple[int, int, int]

ARM: tuple[Colour, Colour] = ((236, 238, 240), (64, 112, 140))
PERSON, HEAD = (226, 162, 112), (240, 196, 160)
DANGER, CARE, CALM = (206, 58, 52), (222, 150, 40), (70, 130, 90)
PUSH, PULL, TRACE = (206, 58, 52), (58, 140, 90), (90, 130, 160)
NEAR, FAR = 0.1, 0.4  # m: from which distance on the line is red, and from which green
TRAIL = 150  # places of the tool that are shown
ROUND = 20  # corners of a circle
SCALE = 0.4  # m of an arrow for 1 m/s
CHANGED = 1e-4  # m: a capsule that became longer by less keeps its mesh


def capsule(length: float, radius: float) -> tuple[Array, Array]:
    """Vertices and faces of a capsule about the origin, its axis along z."""
    rings = ROUND // 2 + 1
    angles = np.linspace(-np.pi / 2, np.pi / 2, 2 * (rings // 2) + 2)
    around = np.linspace(0, 2 * np.pi, ROUND, endpoint=False)
    half = len(angles) // 2
    z = radius * np.sin(angles) + np.where(np.arange(len(angles)) < half, -0.5, 0.5) * length
    width = radius * np.cos(angles)
    vertices = np.stack(
        [np.outer(width, np.cos(around)), np.outer(width, np.sin(around)), np.repeat(z[:, None], ROUND, axis=1)],
        axis=-1,
    ).reshape(-1, 3)
    faces = []
    for i in range(len(angles) - 1):
        for k in range(ROUND):
            a, b = i * ROUND + k, i * ROUND + (k + 1) % ROUND
            faces += [(a, b, b + ROUND), (a, b + ROUND, a + ROUND)]
    return vertices.astype(np.float32), np.array(faces, dtype=np.uint32)


def turned(axis: Array) -> Array:
    """The unit quaternion (w, x, y, z) that turns z to this direction (3,); none where it has no length."""
    size = float(np.linalg.norm(axis))
    if size < 1e-9:
        return np.array([1.0, 0.0, 0.0, 0.0])
    x, y, z = axis / size
    if z < -1 + 1e-9:
        return np.array([0.0, 1.0, 0.0, 0.0])
    q = np.array([1.0 + z, -y, x, 0.0])
    return q / np.linalg.norm(q)


def colour_of(distance: float) -> Colour:
    """How near is dangerous, from green to red."""
    if distance >= FAR:
        return CALM
    return DANGER if distance <= NEAR else CARE


class Capsules:
    """So many capsules under one name."""

    def __init__(self, scene: Any, name: str, rows: Array, colours: list[Colour]) -> None:
        self._scene, self._name, self._colours = scene, name, colours
        self._sizes = [(-1.0, -1.0)] * len(rows)
        self._meshes: list[Any] = [None] * len(rows)
        self.show(rows)

    def show(self, rows: Array) -> None:
        """Rows (k, 7): both ends and the radius."""
        for k, row in enumerate(rows):
            a, b, radius = row[:3], row[3:6], float(row[6])
            length = float(np.linalg.norm(b - a))
            if abs(length - self._sizes[k][0]) > CHANGED or abs(radius - self._sizes[k][1]) > CHANGED:
                self._sizes[k] = length, radius
                vertices, faces = capsule(length, max(radius, 1e-3))
                self._meshes[k] = self._scene.add_mesh_simple(
                    f"{self._name}/{k}", vertices, faces, color=self._colours[k]
                )
            self._meshes[k].position = 0.5 * (a + b)
            self._meshes[k].wxyz = turned(b - a)


class Stage:
    """What stands and moves on the page."""

    def __init__(self, server: Any) -> None:
        self.server, self.scene = server, server.scene
        self._generation = -1
        self._arm: Capsules | None = None
        self._people: Capsules | None = None
        self._objects: list[Any] = []
        self._trail: deque[Array] = deque(maxlen=TRAIL)
        self._furniture: list[Any] = []
        self._light()

    def _light(self) -> None:
        scene = self.scene
        scene.world_axes.visible = False
        scene.configure_environment_map("apartment", environment_intensity=0.3)
        scene.configure_default_lights(enabled=False, cast_shadow=False)
        scene.add_light_hemisphere(
            "/light/sky", sky_color=(255, 255, 255), ground_color=(200, 196, 190), intensity=0.55
        )
        scene.add_light_directional(
            "/light/sun", color=(255, 248, 238), intensity=2.3, cast_shadow=True, position=(2.0, -2.5, 5.0)
        )
        scene.add_light_directional(
            "/light/fill", color=(225, 235, 255), intensity=0.35, cast_shadow=False, position=(-4.0, 3.0, 3.0)
        )
        scene.configure_fog(6.0, 14.0, color=(255, 255, 255))
        camera = self.server.initial_camera
        camera.position, camera.look_at, camera.fov = (3.1, -2.9, 1.4), (0.55, 0.0, 0.15), float(np.radians(40.0))

    def _ground(self, floor: float, base: Array) -> None:
        """The floor, and what the arm stands on."""
        scene = self.scene
        scene.add_box(
            "/floor/slab",
            dimensions=(60.0, 60.0, 0.02),
            position=(0.0, 0.0, floor - 0.011),
            color=(236, 237, 238),
            cast_shadow=False,
            receive_shadow=True,
        )
        scene.add_grid(
            "/floor/grid",
            infinite_grid=True,
            cell_size=0.25,
            section_size=1.0,
            cell_color=(218, 221, 223),
            section_color=(196, 201, 205),
            fade_distance=9.0,
            shadow_opacity=0.0,
            position=(0.0, 0.0, floor + 0.001),
        )
        height = float(base[2]) - floor
        if height > 0.05:
            scene.add_cylinder(
                "/floor/pedestal",
                radius=0.11,
                height=height - 0.01,
                position=(float(base[0]), float(base[1]), floor + 0.5 * height - 0.005),
                color=(150, 156, 160),
            )

    def show(self, picture: dict[str, Any]) -> None:
        """A picture of the engine."""
        if picture["generation"] != self._generation:
            self._rebuild(picture)
        assert self._arm is not None
        with self.server.atomic():
            self._arm.show(picture["arm"])
            if self._people is not None:
                self._people.show(picture["people"])
            self._show_objects(picture["objects"])
            self._show_lines(picture)

    def _rebuild(self, picture: dict[str, Any]) -> None:
        """Another arm, other people."""
        for name in ("/arm", "/people", "/objects", "/belts", "/lines", "/floor"):
            self.scene.remove_by_name(name)
        self._generation = picture["generation"]
        self._trail.clear()
        arm, people = picture["arm"], picture["people"]
        self._arm = Capsules(self.scene, "/arm", arm, [ARM[k % 2] for k in range(len(arm))])
        colours = [HEAD if k == 0 and len(people) > 1 else PERSON for k in range(len(people))]
        self._people = Capsules(self.scene, "/people", people, colours) if len(people) else None
        self._objects = []
        self._ground(picture["floor"], picture["base"])
        self._belts(picture)
        line = np.zeros((1, 2, 3), dtype=np.float32)
        self._least = self.scene.add_line_segments("/lines/least", points=line, colors=CALM, thickness=0.008)
        self._arrows = self.scene.add_arrows(
            "/lines/arrows",
            points=np.zeros((2, 2, 3), dtype=np.float32),
            colors=np.array([PUSH, PULL], dtype=np.uint8),
            shaft_radius=0.009,
            head_radius=0.024,
            head_length=0.05,
        )
        self._path = self.scene.add_line_segments("/lines/path", points=line, colors=TRACE, thickness=0.004)
        self._goal = self.scene.add_icosphere("/lines/goal", radius=0.018, color=PULL, opacity=0.7)
        self._label = self.scene.add_label("/lines/label", "", anchor="bottom-center")

    def _belts(self, picture: dict[str, Any]) -> None:
        floor = picture["floor"]
        for k, (start, end) in enumerate(picture["belts"]):
            way = end - start
            length, yaw = float(np.linalg.norm(way[:2])), float(np.arctan2(way[1], way[0]))
            top = float(start[2]) - 0.05
            if top - floor <= 0.1:
                continue
            middle = 0.5 * (start + end)
            wxyz = (float(np.cos(yaw / 2)), 0.0, 0.0, float(np.sin(yaw / 2)))
            body = {"wxyz": wxyz, "color": (188, 193, 196)}
            self.scene.add_box(
                f"/belts/{k}/body",
                dimensions=(length + 0.15, 0.28, top - floor - 0.03),
                position=(middle[0], middle[1], 0.5 * (top + floor - 0.03)),
                **body,
            )
            self.scene.add_box(
                f"/belts/{k}/belt",
                dimensions=(length + 0.1, 0.24, 0.02),
                position=(middle[0], middle[1], top - 0.015),
                wxyz=wxyz,
                color=(92, 100, 106),
                receive_shadow=False,
            )

    def _show_objects(self, places: Array) -> None:
        while len(self._objects) < len(places):
            name = f"/objects/{len(self._objects)}"
            self._objects.append(self.scene.add_box(name, dimensions=(0.07, 0.07, 0.07), color=(214, 120, 60)))
        for k, box in enumerate(self._objects):
            box.visible = k < len(places)
            if k < len(places):
                box.position = places[k] - np.array([0.0, 0.0, 0.02])

    def _show_lines(self, picture: dict[str, Any]) -> None:
        tool = picture["tool"]
        self._goal.position = picture["goal"]
        self._trail.append(tool)
        if len(self._trail) > 1:
            places = np.array(self._trail, dtype=np.float32)
            self._path.points = np.stack([places[:-1], places[1:]], axis=1)
        push, pull = SCALE * picture["repulsion"], SCALE * picture["attraction"]
        self._arrows.points = np.array([[tool, tool + push], [tool, tool + pull]], dtype=np.float32)
        nearest = picture["nearest"]
        self._least.visible = self._label.visible = nearest is not None and picture["distance"] < 3.0
        if nearest is not None and self._least.visible:
            at, beside = nearest[0], nearest[1]
            self._least.points = np.array([[at, beside]], dtype=np.float32)
            self._least.colors = np.array(colour_of(picture["distance"]), dtype=np.uint8)
            self._label.position = 0.5 * (at + beside)
            self._label.text = f"{picture['distance']:.2f} m"
