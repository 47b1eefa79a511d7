"""Regions of the human body: what contact each bears (power and force limiting), and from how far it is retreated from.

How fast may a link be when it meets a part of a body?

With F the force that a region bears, k its stiffness, m_H the mass that moves with it, and 1/m_R = a M^-1 a^T the
arm's effective mass along the normal, a = n^T J at the nearest point, a contact of short duration keeps to 2 F if

    v <= 2 F / sqrt(mu k),    1/mu = 1/m_H + 1/m_R,    so    v^2 <= c (1/m_H + a M^-1 a^T),    c = (2 F)^2 / k

v is the arm's own speed along the normal; that of the person is theirs, and not counted here.  Skull and face: contact
is not permitted; nor is pressing on: where somebody is touched, the rules of separation hold.

The numbers are those of ISO/TS 15066:2016, Tables A.2 and A.3, as secondary sources print them; we have not seen the
standard's own text, and ISO 10218-2:2025 may differ.  Pressure, which depends on the tool's edges, is not looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ....algebra import Scalar, sqrt
from ....algebra.functions import summed
from ....algebra.linalg import Array, ltdl, vector
from ....dynamics import whole
from ....dynamics.kinematics import Frames, forward_kinematics, jacobian_at
from ....geometry.person import SIDES
from ....model import Model
from ...control.pushes import PairLayout
from ..limits import Limits
from .capsule_motion import Lanes, moving


class Region(NamedTuple):
    """A region of the body: force of lasting contact (N), stiffness (N/m), mass (kg)."""

    force: float
    stiffness: float
    mass: float

    @property
    def bears(self) -> float:
        """c, W: (2 F)^2 / k."""
        return (2.0 * self.force) ** 2 / self.stiffness


FOREARM, HAND = "lower arm, wrist", "hand, fingers"
REGIONS = {
    "neck": Region(150.0, 50e3, 1.2),
    "back, shoulders": Region(210.0, 35e3, 40.0),
    "chest": Region(140.0, 25e3, 40.0),
    "abdomen": Region(110.0, 10e3, 40.0),
    "pelvis": Region(180.0, 25e3, 40.0),
    "upper arm, elbow": Region(150.0, 30e3, 3.0),
    FOREARM: Region(160.0, 40e3, 2.0),
    HAND: Region(140.0, 75e3, 0.6),
    "thigh, knee": Region(220.0, 50e3, 75.0),
    "lower leg": Region(130.0, 60e3, 75.0),
}
"""Those that may be met."""

_LIMBS = {
    "upper_arm": "upper arm, elbow",
    "forearm": FOREARM,
    "hand": HAND,
    "thigh": "thigh, knee",
    "shin": "lower leg",
}
OF_CAPSULE = {"head": "skull, face", "torso": "chest", "shoulders": "chest"} | {
    f"{side}_{limb}": region for side in SIDES for limb, region in _LIMBS.items()
}
"""The region of each of a `Person`'s capsules, the weakest where it spans several; a head, and what has no name or
another one, may not be met."""


def table(names: Sequence[Sequence[str]], capsules: int) -> NDArray[np.float64]:
    """(people * capsules, 2): c and 1/m_H of each place, by the names of each person's capsules; 0: not permitted."""
    found = np.zeros((max(1, len(names) * capsules), 2))
    for p, person in enumerate(names):
        for k, name in enumerate(person[:capsules]):
            if OF_CAPSULE.get(name) in REGIONS:
                region = REGIONS[OF_CAPSULE[name]]
                found[p * capsules + k] = region.bears, 1.0 / region.mass
    return found


def retreats(names: Sequence[Sequence[str]], capsules: int, limits: Limits) -> NDArray[np.float64]:
    """(people * capsules, 1): from how near (m) each capsule of people is retreated from, by the names of each
    person's.  Hands start faster than other parts do; what has no name may be one, and a forearm without a hand ends in
    one."""
    found = np.full((max(1, len(names) * capsules), 1), limits.evasion_distance + limits.evasion_hands)
    for p, person in enumerate(names):
        regions = [OF_CAPSULE.get(name, HAND) for name in person[:capsules]]
        quick = (HAND,) if HAND in regions else (FOREARM,)
        for k, region in enumerate(regions):
            if region not in quick:
                found[p * capsules + k] = limits.evasion_distance
    return found


def contact_speed(bears: Scalar, inverse_mass: Scalar, mobility: Scalar) -> Scalar:
    """The speed (m/s) for c (W), 1/m_H (1/kg) and a M^-1 a^T (1/kg); 0 where c is."""
    return sqrt(bears * (inverse_mass + mobility))


# ---- the arm's effective mass
def mobilities(model: Model, layout: PairLayout, q: Array, promise: Array) -> Array:
    """(columns,) a M^-1 a^T (1/kg) of every pair; promise (21, columns)."""
    frames, lanes = forward_kinematics(model, q), Lanes(layout)
    at, own = _mobility(model, frames, q), moving(layout)
    found: dict[tuple[int, int], Scalar] = {}
    for k, (m, slot) in enumerate(lanes.pairs):
        if (m, slot) not in found:
            capsule = layout.capsules[own[m]]
            ends = frames.point(capsule.link, np.array(capsule.a)), frames.point(capsule.link, np.array(capsule.b))
            _, *normal, share = promise[:5, k]  # see PROMISE
            found[m, slot] = at(capsule.link, ends, vector(*normal), share)
    return vector(*(found[pair] for pair in lanes.pairs))


def _mobility(model: Model, frames: Frames, q: Array) -> Callable[[int, tuple[Array, Array], Array, Scalar], Scalar]:
    """a M^-1 a^T (1/kg) of the point between two ends of a link, along a normal."""
    L, D = ltdl(whole("mass_matrix", "crba")(model, q))
    weights = [1.0 / d for d in D]

    def at(link: int, ends: tuple[Array, Array], normal: Array, share: Scalar) -> Scalar:
        start, end = ends
        y = (normal @ jacobian_at(model, frames, link, start + (end - start) * share).Jv).tolist()
        for i in range(link, -1, -1):  # M = L^T D L: L^T y = a from the tip, then y . y / D
            for j in range(i):
                y[j] = y[j] - L[i, j] * y[i]
        return summed([x * x * w for x, w in zip(y, weights, strict=True)])

    return at
