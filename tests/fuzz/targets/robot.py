"""Robot files: TOML in the catalogue's layout."""

from __future__ import annotations

import importlib.resources
import tomllib
from pathlib import Path

import numpy as np

from elbowroom import loading
from elbowroom.model import catalogue

from ..mutate import toml_tree
from ..target import Target
from .models import use


class Robot(Target):
    """Robot TOML: er.load, then dynamics, capsules and export of what is accepted."""

    name, suffix, share = "robot", ".toml", 10.0

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        shelf = importlib.resources.files("elbowroom.model") / "catalogue"
        self.texts = [(shelf / f"{name}.toml").read_bytes() for name in catalogue.names()]
        self.seeds = [tomllib.loads(text.decode()) for text in self.texts]
        self.file = folder / "arm.toml"

    def generate(self, rng: np.random.Generator) -> bytes:
        k = int(rng.integers(len(self.seeds)))
        return toml_tree.changed(rng, self.texts[k], self.seeds[k])

    def feed(self, data: bytes) -> bool:
        self.file.write_bytes(data)
        use(loading.read(self.file))
        return True
