"""The same arm with fewer numbers: what its joints cannot feel of a link is moved to the link before it.

A rod on the axis of joint i turns with link i or stands still with link i - 1, and no joint can tell.  Such a rod is
three numbers: its mass m, first moment h along the axis, and moment of inertia J across it.  So of every link that
turns, the mass, h_z and I_yy go inwards as a rod, and of the link's ten numbers seven remain:

    m = 0,   h = (h_x, h_y, 0),   I_xx - I_yy in the place of I_xx,   0 in that of I_yy                            (1)

or the rod takes all of S_zz = (I_xx + I_yy - I_zz) / 2, where S = int x x^T dm = tr(I)/2 1 - I:

    m = 0,   h = (h_x, h_y, 0),   S_zz = 0, which leaves I_xx + I_yy = I_zz                                       (1')

About frame i - 1, where the axis goes through p in direction z, the rod adds

    m,    h z + m p,    J (1 - z z^T) + (2 h p.z + m p.p) 1 - h (p z^T + z p^T) - m p p^T                          (2)

A slide feels a link's mass, not where it is, and a link that slides turns as the one before it does.  Its tensor goes
inwards, the same about any point, and four of its ten numbers remain:

    I = 0,        E I E^T for the link before                                                                      (3)

What the first joint gives goes to the base and is dropped.  These are the base parameters of Gautier and Khalil: for n
turning joints in general position 7 n - 4, as nothing feels all but I_zz, h_x and h_y of the first link, and 7 n - 6
if its axis is vertical, 36 for the PUMA.  Where a slide follows the first turning joint, or all axes are parallel as a
SCARA's, one or two of the numbers kept could still be merged; they are not.

The bodies are no longer such as could be built: they have no mass and negative moments.  Torques, accelerations and
every matrix over the joints are those of the arm; the forces in its bearings, its momentum and its potential energy
(by a constant) are not.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

import numpy as np

from .inertia import second_moment
from .model import Array, Model, Moments


@dataclass(frozen=True, eq=False)
class RegroupedModel(Model):
    """An arm known by its moments alone: mass, com and inertia are NaN, so that nobody reads them by mistake."""

    kept: tuple[Moments, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        """Made of a model that was valid."""

    @cached_property
    def moments(self) -> tuple[Moments, ...]:
        """What (1) to (3) leave every link."""
        return self.kept

    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = object.__hash__


@lru_cache(maxsize=64)
def regrouped(model: Model, *, spread: bool = False) -> RegroupedModel:
    """The arm with (1) to (3) applied, tip first, for formulations that know links by `model.moments` alone.

    `spread`: with (1') for links that are not alike about their axis, for formulations that multiply with S.
    """
    bodies = [(mass, h, inertia) for mass, h, inertia, _ in model.moments]
    moments: list[Moments] = []
    for i in range(model.n - 1, -1, -1):
        mass, h, inertia = bodies[i]
        E, p = model.E[i], model.p[i]
        if model.revolute(i):
            by_spread = spread and inertia[0, 0] != inertia[1, 1]
            across = float(inertia[0, 0] + inertia[1, 1] - inertia[2, 2]) / 2 if by_spread else float(inertia[1, 1])
            less = inertia - across * np.diag([1.0, 1.0, 0.0])
            second = second_moment(less)
            if by_spread:
                second[2, 2] = 0.0  # to the last digit, so that it folds away
            moments.append(Moments(0.0, np.array([h[0], h[1], 0.0]), less, second))
            given = _rod(float(mass), float(h[2]), across, E[:, 2], p)
        else:
            moments.append(Moments(mass, h, np.zeros((3, 3)), np.zeros((3, 3))))
            given = 0.0, np.zeros(3), E @ inertia @ E.T
        if i > 0:
            m, first, tensor = bodies[i - 1]
            bodies[i - 1] = m + given[0], first + given[1], tensor + given[2]
    fields = {f.name: getattr(model, f.name) for f in dataclasses.fields(Model)}
    for unknown in ("mass", "com", "inertia"):
        fields[unknown] = np.full_like(fields[unknown], np.nan)
    return RegroupedModel(**fields, kept=tuple(reversed(moments)))


def _rod(mass: float, first: float, across: float, z: Array, p: Array) -> tuple[float, Array, Array]:
    """A rod along z through p, about the origin (2)."""
    one, tilt = np.eye(3), np.outer(p, z)
    inertia = across * (one - np.outer(z, z)) + (2 * first * float(p @ z) + mass * float(p @ p)) * one
    return mass, first * z + mass * p, inertia - first * (tilt + tilt.T) - mass * np.outer(p, p)
