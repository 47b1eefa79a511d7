"""The scene of the page: the arm and the people, belts and objects, what is drawn about them.

    stage = PageScene(server);  stage.shells = True;  stage.show(snapshot)

Only poses are sent while things move; meshes once for each arm and scene (capsules.py, meshes.py).  A snapshot may lack
what only some have (`visuals`, `poses`, `shells`, ...): then that is not shown.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...geometry.skeleton import NAMES
from ..snapshot import Snapshot
from . import cameras, static_scene, triangles
from .capsules import Band, Limbs
from .meshes import LinkMeshes
from .overlays import Overlays
from .palette import ARM, JOINT, OBJECT, TAPE, clothes, linear, names_of
from .palette import CALM as CALM
from .palette import CARE as CARE
from .palette import DANGER as DANGER
from .palette import PERSON as PERSON
from .palette import PULL as PULL
from .palette import PUSH as PUSH
from .palette import TRACE as TRACE
from .palette import colour_of as colour_of
from .people import Figures
from .shells import Shells
from .triangles import capsule as capsule
from .triangles import turned as turned

Array = NDArray[Any]

SIZE = 0.07  # m, of an object
LOW = 0.02  # m: its middle, below the point that it is taken by
ROOTS = ("/arm", "/looks", "/people", "/helmets", "/objects", "/belts", "/marks", "/floor", "/shells")


class PageScene:
    """What stands and moves on the page.

    `shells` shows the workspace's surfaces and the distance of influence, `meshes` the arm as its URDF draws it instead
    of its capsules, `arrows` what pushes and pulls; all may be set at any time and count from the next snapshot on.
    `problem` says what could not be drawn.
    """

    def __init__(self, server: Any) -> None:
        self.server, self.scene = server, server.scene
        self.shells, self.meshes, self.arrows, self.figures = False, True, True, True
        self.generation = -1
        self._shells = Shells(self.scene)
        self._arm: Limbs
        self._people: Limbs | None
        self._looks: LinkMeshes
        self._marks: Overlays
        self._figures: Figures | None = None
        self._objects: Any = None
        self._shape: tuple[Any, ...] = ()
        self._what: tuple[Any, ...] = ()
        self._snapshot: Snapshot | None = None
        static_scene.light(self.scene)
        server.on_client_connect(self._came)

    def _came(self, client: Any) -> None:
        """A page that comes, or comes back: its window's shape is known now."""
        self.look(client)

    @property
    def problem(self) -> str:
        """What could not be drawn, or nothing."""
        return "" if self.generation < 0 else self._looks.problem

    def show(self, snapshot: Snapshot) -> None:
        """A snapshot of the engine."""
        shape = (snapshot.generation, len(snapshot.arm), len(snapshot.people))
        with self.server.atomic():
            if shape != self._shape:
                self._rebuild(snapshot)
                self._shape = shape
            shown = snapshot.scene.shown
            what = (len(snapshot.arm), shown.get("scenario"), shown.get("robot"))
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
    def look(self, client: Any, name: str = "cell", snapshot: Snapshot | None = None) -> None:
        """One page looks at that (cameras.FROM), as its window is wide."""
        shown = self._snapshot if snapshot is None else snapshot
        if shown is None or name not in cameras.FROM:
            return
        camera = client.camera
        wide, tall = getattr(camera, "image_width", 0), getattr(camera, "image_height", 0)
        found = cameras.view(name, shown, wide / tall if wide and tall else cameras.TYPICAL)
        with departing(client), client.atomic():
            camera.up_direction = found.up
            camera.position, camera.look_at = found.position, found.look_at
            camera.fov = float(cameras.ANGLE)

    def _frame(self, snapshot: Snapshot) -> None:
        """All pages, and those to come, look at the cell."""
        found, start = cameras.view("cell", snapshot), self.server.initial_camera
        start.position, start.look_at = tuple(found.position.tolist()), tuple(found.look_at.tolist())
        start.fov = float(cameras.ANGLE)
        for client in self.server.get_clients().values():
            self.look(client, "cell", snapshot)

    # ---- made anew
    def _rebuild(self, snapshot: Snapshot) -> None:
        """Another arm, other people."""
        self._shells.hide()
        for name in ROOTS:
            self.scene.remove_by_name(name)
        self.generation = snapshot.generation
        arm, people, base = snapshot.arm, snapshot.people, np.asarray(snapshot.scene.base, dtype=float)
        self._build_arm(arm, snapshot)
        self._build_people(people, snapshot)
        self._objects = None
        static_scene.ground(self.scene, float(snapshot.scene.floor), base)
        static_scene.belts(self.scene, snapshot.scene.belts, float(snapshot.scene.floor))
        self._marks = Overlays(self.scene)

    def _build_arm(self, arm: Array, snapshot: Snapshot) -> None:
        links = snapshot.scene.arm_links
        self._links = np.array(links if links is not None and len(links) == len(arm) else range(len(arm)), dtype=int)
        sides = np.array([ARM[k % 2] for k in self._links], dtype=np.uint8).reshape(-1, 3)
        bands = []
        for k, row in enumerate(arm):
            if np.linalg.norm(row[3:6] - row[:3]) > 0.04:
                bands += [Band(k, part, min(0.4 * float(row[6]), 0.024), JOINT) for part in (0.0, 1.0)]
        self._arm = Limbs(self.scene, "/arm", sides, np.repeat(sides[:, None], 2, axis=1), bands)
        visuals = snapshot.scene.visuals or ()
        self._looks = LinkMeshes(self.scene, "/looks", visuals if snapshot.poses is not None else ())

    def _build_people(self, people: Array, snapshot: Snapshot) -> None:
        self._people = self._figures = None
        if not len(people):
            return
        names = names_of(len(people), snapshot.scene.people_names)
        self._figures = Figures(self.scene, people) if names == NAMES * (len(names) // len(NAMES)) else None
        bands = [Band(k, part, 0.045, TAPE) for k, name in enumerate(names) if name == "torso" for part in (0.3, 0.75)]
        self._people = Limbs(self.scene, "/people", *clothes(names), bands)

    # ---- every snapshot
    def _show_arm(self, snapshot: Snapshot) -> set[int]:
        """Meshes where there are some, capsules elsewhere; the links that are meshes alone."""
        poses = snapshot.poses
        drawn: set[int] = set()
        if self.meshes and poses is not None:
            drawn = self._looks.links
            self._looks.show(np.asarray(poses))
        else:
            self._looks.hide()
        self._arm.show(snapshot.arm, ~np.isin(self._links, list(drawn)))
        return drawn

    def _show_people(self, people: Array) -> None:
        """Whole where they are known to be whole, and wanted so; else their capsules."""
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
            self._objects = self.scene.add_batched_meshes_simple(
                "/objects",
                *triangles.box(SIZE, SIZE, SIZE),
                batched_wxyzs=np.tile(np.array([1.0, 0, 0, 0], dtype=np.float32), (len(places), 1)),
                batched_positions=np.asarray(places, dtype=np.float32),
                batched_colors=linear(OBJECT),
                lod="off",
            )
        if self._objects is not None:
            self._objects.batched_positions = (places - np.array([0.0, 0.0, LOW])).astype(np.float32)


def departing(client: Any) -> AbstractContextManager[None]:
    """While it lasts, the page may leave: viser then warns of what never arrives, which is no error here.

    A page can leave at any moment, so that asking beforehand whether it is there does not help.
    """
    try:
        found: AbstractContextManager[None] = client._websock_connection.get_message_buffer().sanctioned_dead_writes()
    except AttributeError:  # a viser that does not warn
        return nullcontext()
    return found
