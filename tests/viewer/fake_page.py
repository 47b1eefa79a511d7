"""A page's server without a page: it keeps what it is given and counts what is sent."""

from __future__ import annotations

import contextlib
import dataclasses
from typing import Any

import numpy as np

from elbowroom.viewer.panel.status import judged
from elbowroom.viewer.session.setup import ShownSettings
from elbowroom.viewer.snapshot import Nearest, SceneView, Snapshot


class Handle:
    """A thing in the scene; what is assigned to it is counted in `sent`."""

    def __init__(self, name: str, **props: Any) -> None:
        self.__dict__.update({"name": name, "visible": True, "position": np.zeros(3), "sent": 0, "removed": False})
        self.__dict__.update(props)
        self.__dict__["callbacks"] = {}

    def __setattr__(self, what: str, value: Any) -> None:
        assert not self.removed, f"{self.name} was removed"
        self.__dict__["sent"] += 1
        self.__dict__[what] = value

    def on_drag(self, callback: Any) -> None:
        self.callbacks["drag"] = callback

    def on_click(self, callback: Any) -> None:
        self.callbacks["click"] = callback


class Scene:
    """The scene: things by name."""

    def __init__(self) -> None:
        self.things: dict[str, Handle] = {}
        self.made = 0
        self.world_axes = Handle("axes")

    def _add(self, name: str, **props: Any) -> Handle:
        self.made += 1
        self.things[name] = Handle(name, **props)
        return self.things[name]

    def add_batched_meshes_simple(self, name: str, vertices: Any, faces: Any, **props: Any) -> Handle:
        count = len(props["batched_positions"])
        assert len(props["batched_wxyzs"]) == count
        assert np.shape(props["batched_colors"]) in ((3,), (count, 3))
        return self._add(name, vertices=vertices, faces=faces, **props)

    def add_mesh_simple(self, name: str, vertices: Any, faces: Any, **props: Any) -> Handle:
        assert np.isfinite(vertices).all()
        assert faces.max() < len(vertices)
        return self._add(name, vertices=vertices, faces=faces, **props)

    def add_mesh_skinned(self, name: str, vertices: Any, faces: Any, **props: Any) -> Handle:
        assert np.isfinite(vertices).all()
        assert faces.max() < len(vertices)
        places, turns, weights = props.pop("bone_positions"), props.pop("bone_wxyzs"), props["skin_weights"]
        assert weights.shape == (len(vertices), len(places))
        bones = [
            self._add(f"{name}/bone{k}", position=place, wxyz=turn)
            for k, (place, turn) in enumerate(zip(places, turns, strict=True))
        ]
        return self._add(name, vertices=vertices, faces=faces, bones=bones, rest=np.array(places), **props)

    def set_background_image(self, image: Any, **_: Any) -> None:
        assert np.asarray(image).dtype == np.uint8

    def add_label(self, name: str, text: str, **props: Any) -> Handle:
        return self._add(name, text=text, **props)

    def __getattr__(self, what: str) -> Any:
        if what.startswith("add_"):
            return self._add
        if what.startswith("configure_"):
            return lambda *given, **props: None
        raise AttributeError(what)

    def remove_by_name(self, name: str) -> None:
        for each in [each for each in self.things if each == name or each.startswith(f"{name}/")]:
            self.things.pop(each).__dict__["removed"] = True

    @property
    def sent(self) -> int:
        return sum(thing.sent for thing in self.things.values())


class Client:
    """A page with a camera."""

    def __init__(self, width: int, height: int) -> None:
        self.camera = Handle("camera", image_width=width, image_height=height)

    def atomic(self) -> Any:
        return contextlib.nullcontext()


class Server:
    """A server with a scene and nobody looking."""

    def __init__(self) -> None:
        self.scene = Scene()
        self.initial_camera = Handle("camera")
        self.clients: dict[int, Any] = {}
        self.came: list[Any] = []

    def on_client_connect(self, callback: Any) -> None:
        self.came.append(callback)

    def get_clients(self) -> dict[int, Any]:
        return self.clients

    def connect(self, width: int, height: int) -> Any:
        """A page with a window of that size opens."""
        client = Client(width, height)
        self.clients[len(self.clients)] = client
        for callback in self.came:
            callback(client)
        return client

    def atomic(self) -> Any:
        return contextlib.nullcontext()


def person(x: float = 1.0, y: float = 0.2) -> np.ndarray:
    """(13, 7) somebody who stands there."""
    from elbowroom.geometry import Person

    return Person.standing((x, y, -0.75)).rows[:, :7].copy()


def snapshot(**changes: Any) -> Snapshot:
    """An arm of two capsules beside somebody; what changes may be of the moment or of the scene."""
    people = changes.pop("people", person())
    hands = {} if len(people) != 13 else {"left": people[7, :3], "right": people[8, :3]}
    known = {each.name for each in dataclasses.fields(SceneView)}
    belt = np.array([0.0, 0.3, 0.0]), np.array([1.0, 0.3, 0.0])
    scene = {"arm_links": (0, 1), "floor": -0.75, "belts": (belt,), "shown": ShownSettings(influence=0.4)}
    scene |= {name: changes.pop(name) for name in known & changes.keys()}
    moment: dict[str, Any] = {
        "arm": np.array([[0, 0, 0, 0, 0, 0.4, 0.07], [0, 0, 0.4, 0.4, 0, 0.5, 0.05]]),
        "people": people,
        "tool": np.array([0.4, 0.0, 0.5]),
        "tool_pose": np.eye(4),
        "goal": np.array([0.5, 0.0, 0.5]),
        "distance": 0.3,
        "nearest": Nearest(np.array([0.4, 0.0, 0.5]), np.array([1.0, 0.2, 0.4]), "wrist", "torso"),
        "attraction": np.array([0.1, 0.0, 0.0]),
        "person": np.array([1.0, 0.2, -0.75]),
        "hands": hands,
        "hand_offsets": {side: np.zeros(3) for side in hands},
    }
    return Snapshot(scene=SceneView(**scene), **(moment | changes))


def at_work(**changes: Any) -> Snapshot:
    """An arm at work 0.43 m from a left hand, for what a page says of it."""
    moment: dict[str, Any] = {"distance": 0.43, "nearest": Nearest(0, 0, "wrist", "left_hand"), "state": "to_object"}
    return snapshot(**({"verdict": "OK", "cycles": 2, "t": 3.0} | moment | changes))


def sentence(shown: Snapshot) -> str:
    """What the page says that the arm is doing."""
    return judged(shown)[0]
