"""Chains made up for tests, as arms: `chains.random` (the GDAHJ paper's generator) and `chains.planar`."""

from __future__ import annotations

from .arm import Arm
from .model import chains


def random(n: int, seed: int = 0, *, kinds: str | None = None) -> Arm:
    """n joints with random parameters, the same for the same seed.  `kinds` such as "RRP"; revolute if omitted."""
    return Arm(chains.random(n, seed, kinds=kinds))


def planar(n: int, *, length: float = 1.0, mass: float = 1.0) -> Arm:
    """n equal uniform rods hinged in a vertical plane."""
    return Arm(chains.planar(n, length=length, mass=mass))
