"""The targets, by name.  Each is a class in a module, which is imported when it is asked for."""

from __future__ import annotations

import importlib
from pathlib import Path

from ..target import Target

TARGETS = {
    "urdf": "fuzz.targets.urdf:Urdf",
    "robot": "fuzz.targets.robot:Robot",
    "scene": "fuzz.targets.scene:Scenes",
    "settings": "fuzz.targets.settings:Settings",
    "vicon": "fuzz.targets.motion:Vicon",
    "bvh": "fuzz.targets.motion:Bvh",
    "placement": "fuzz.targets.motion:Placements",
    "mesh": "fuzz.targets.meshes:Meshes",
    "recording": "fuzz.targets.recording:Recordings",
    "measured": "fuzz.targets.measured:Measured",
    "mcap": "fuzz.targets.mcap:Mcap",
    "server": "fuzz.targets.link:Server",
    "client": "fuzz.targets.link:Client",
    "page": "fuzz.targets.page:Page",
    "supervisor": "fuzz.targets.supervisor:Cycles",
    "path": "fuzz.targets.paths:Paths",
}


def kind(name: str) -> type[Target]:
    """The target of that name, or of "module:class"."""
    module, _, cls = TARGETS.get(name, name).partition(":")
    found: type[Target] = getattr(importlib.import_module(module), cls)
    return found


def make(name: str, folder: Path) -> Target:
    """The target of that name, ready."""
    return kind(name)(folder)
