"""Chains made up for tests: planar ones, and the random ones of the GDAHJ paper (masses 1-10 kg, tensors with entries
1-10 kg m^2, random Denavit-Hartenberg parameters).

Most of those random tensors violate the triangle inequality, so no real body has them; the algorithms do not care.
"""

from __future__ import annotations

import math

import numpy as np

from ..errors import ModelError
from .dh import from_mdh
from .model import Array, Model


def random(n: int, seed: int = 0, *, kinds: str | None = None) -> Model:
    """n joints with random parameters, the same for the same seed.  `kinds` such as "RRP"; revolute if omitted."""
    _positive(n)
    rng = np.random.default_rng(seed)
    return from_mdh(
        a=rng.uniform(-0.5, 0.5, n),
        alpha=rng.uniform(-math.pi, math.pi, n),
        d=rng.uniform(-0.5, 0.5, n),
        theta=rng.uniform(-math.pi, math.pi, n),
        mass=rng.uniform(1.0, 10.0, n),
        com=rng.uniform(-0.5, 0.5, (n, 3)),
        inertia=np.array([_random_tensor(rng) for _ in range(n)]),
        kinds=kinds,
        name=f"random{n}",
        lower=np.full(n, -math.pi),
        upper=np.full(n, math.pi),
        description=f"{n} random joints, seed {seed}",
        source="generator of the GDAHJ paper (Safeea, Bearee, Neto 2018, section IV)",
    )


def _random_tensor(rng: np.random.Generator) -> Array:
    """Positive definite with entries in [1, 10] kg m^2: drawn until it is."""
    while True:
        entries = rng.uniform(1.0, 10.0, (3, 3))
        tensor: Array = np.triu(entries) + np.triu(entries, 1).T
        if np.linalg.eigvalsh(tensor)[0] > 0.1:
            return tensor


def planar(n: int, *, length: float = 1.0, mass: float = 1.0) -> Model:
    """n equal uniform rods of one length (m) and mass (kg) each, hinged in the vertical x-z plane."""
    _positive(n)
    if not (length > 0 and mass > 0):
        raise ModelError(f"planar chain: length and mass must be positive; got {length} m and {mass} kg")
    rod = mass * length**2 / 12
    return from_mdh(
        a=np.r_[0.0, np.full(n - 1, length)],
        alpha=np.r_[math.pi / 2, np.zeros(n - 1)],
        d=np.zeros(n),
        mass=np.full(n, mass),
        com=np.tile([length / 2, 0.0, 0.0], (n, 1)),
        inertia=np.tile(np.diag([1e-6 * rod, rod, rod]), (n, 1, 1)),
        name=f"planar{n}",
        lower=np.full(n, -math.pi),
        upper=np.full(n, math.pi),
        description=f"{n} uniform rods in a vertical plane",
        source="made up for tests",
        tool=np.array([[1, 0, 0, length], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1.0]]),
    )


def _positive(n: int) -> None:
    if not isinstance(n, int | np.integer) or n < 1:
        raise ModelError(f"a chain needs a whole number of joints, at least 1; got {n!r}")
