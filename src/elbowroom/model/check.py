"""Checks of a model's numbers: magnitudes that are refused, and what looks wrong, by link and joint name.

The bounds are far beyond any arm (10 km, 1000 t), so that a number beyond them is a slip of units or a broken file.
Within them no formula overflows, in float32 (3.4e38) as in float64: the mass matrix of a hundred such links, each at
the end of all before it, is below 100 MASS (100 LENGTH)^2 = 1e20, and what is squared in a formula is a length or an
angular velocity, never that.

`Model` itself refuses what never has a meaning: a negative mass, reversed limits, a number beyond its bound.  The
`findings` are things that a sound arm may have by design, so they warn; whether the arm as a whole still has a positive
definite mass matrix is asked where the mass matrix is known (dynamics/whole_arm.py).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ModelError

if TYPE_CHECKING:
    from .model import Model

TURNS = 8  # that a joint with limits may make; those of wrists with cables make three at most
FAR = 10.0  # m between two joints: more is no arm
FASTEST, ENDLESS = 30.0, 1e4  # rad/s, or m/s of a slide: the quickest joints that are sold do 20; so much means none
MASSLESS = (
    "mass is zero on a moving link, and so is its inertia (does the file leave out its <inertial>?): "
    "it counts as massless, so torques lack its weight and its inertia"
)


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


@dataclass(frozen=True)
class Finding:
    """One thing worth knowing: an `error` makes results meaningless, a `warning` does not."""

    severity: Literal["error", "warning"]
    where: str
    what: str
    suspect: bool = False  # could leave the mass matrix singular

    def __str__(self) -> str:
        return f"{self.where}: {self.what}"


def findings(model: Model) -> list[Finding]:
    """Everything that looks wrong, inboard first."""
    found: list[Finding] = []
    for i in range(model.n):
        link, joint = f"link {model.link_names[i]!r}", f"joint {model.joint_names[i]!r}"

        def note(where: str, what: str, suspect: bool = False) -> None:
            found.append(Finding("warning", where, what, suspect))

        moments = np.linalg.eigvalsh(model.inertia[i])
        scale = max(float(np.abs(moments).max()), 1e-300)
        nothing = model.mass[i] == 0 and not model.inertia[i].any()
        if nothing:
            note(link, MASSLESS, suspect=True)
        elif model.mass[i] == 0:
            note(link, "mass is zero on a moving link", suspect=True)
        if moments[0] <= 0 and not nothing:
            note(link, f"inertia is not positive definite; principal moments {_numbers(moments)}", suspect=True)
        # Identified and rounded tensors sit on the boundary of the triangle inequality: a billionth is rounding.
        elif moments[0] + moments[1] < moments[2] * (1 - 1e-9) - 1e-12 * scale:
            note(link, f"inertia violates the triangle inequality; principal moments {_numbers(moments)}")
        if math.isinf(model.lower[i]) and math.isinf(model.upper[i]):
            if not model.revolute(i):
                note(joint, "a prismatic joint has no position limits")
        elif model.lower[i] == model.upper[i]:
            note(joint, f"position limits leave no room: both are {model.lower[i]:g}")
        if not model.lower[i] <= model.ready[i] <= model.upper[i]:
            note(joint, f"the ready configuration {model.ready[i]:g} is outside the limits")
        widest = max((abs(x) for x in (model.lower[i], model.upper[i]) if math.isfinite(x)), default=0.0)
        if model.revolute(i) and widest > TURNS * 2 * math.pi:
            turns = widest / (2 * math.pi)
            note(joint, f"a position limit of {widest:g} rad is {turns:.0f} turns: is it in degrees?")
        if (away := float(np.linalg.norm(model.p[i]))) > FAR:
            note(joint, f"it is {away:.4g} m from the joint before: is that in millimetres?")
        if FASTEST < model.velocity[i] < ENDLESS:
            asked = "rad/s: is it in degrees" if model.revolute(i) else "m/s: is it in millimetres"
            note(joint, f"a velocity limit of {model.velocity[i]:g} {asked} a second?")
        for what in ("velocity", "effort"):
            if getattr(model, what)[i] == 0:
                note(joint, f"{what} limit is zero")
    return found


def _numbers(values: np.ndarray) -> str:
    return ", ".join(f"{v:.3g}" for v in values)
