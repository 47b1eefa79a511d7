"""The largest magnitudes that a model may have.

They are far beyond any arm (10 km, 1000 t), so that a number beyond them is a slip of units or a broken file.  Within
them no formula overflows, in float32 (3.4e38) as in float64: the mass matrix of a hundred such links, each at the end
of all before it, is below 100 MASS (100 LENGTH)^2 = 1e20, and what is squared in a formula is a length or an angular
velocity, never that.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ModelError


class Bound(NamedTuple):
    """A magnitude, and its unit."""

    most: float
    unit: str


LENGTH = Bound(1e4, "m")
ANGLE = Bound(1e6, "rad")  # there neighbouring float64 are 1e-10 rad apart: ten digits of its sine are left
MASS = Bound(1e6, "kg")
INERTIA = Bound(MASS.most * LENGTH.most**2, "kg m^2")
GRAVITY = Bound(1e4, "m/s^2")
FORCE = Bound(MASS.most * GRAVITY.most * LENGTH.most, "N m or N")
RATIO = Bound(1e6, "")


LINK_FIELDS = {"mass": MASS, "com": LENGTH, "inertia": INERTIA}
FIELDS = LINK_FIELDS | {
    "p": LENGTH,
    "viscous": FORCE,
    "coulomb": FORCE,
    "rotor_inertia": INERTIA,
    "gravity": GRAVITY,
    "ready": Bound(ANGLE.most, "rad or m"),
}
"""The arrays of a Model that must be within bounds.  Its limits need not be: files write 1e9 and more for none."""


def bounded(values: ArrayLike, bound: Bound, what: str) -> None:
    """Refuses values of which one is not finite or beyond the bound; the message has the first such."""
    array = np.ravel(np.asarray(values, dtype=float))
    beyond = ~(np.abs(array) <= bound.most)  # true of NaN
    if beyond.any():
        most = f"{bound.most:g} {bound.unit}".strip()
        raise ModelError(f"{what} must be at most {most} in magnitude; got {array[beyond][0]:g}")
