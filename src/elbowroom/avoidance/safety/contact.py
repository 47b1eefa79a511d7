"""Power and force limiting: how fast a link may be when it meets a part of a body.

With F the force that a region bears, k its stiffness, m_H the mass that moves with it, and 1/m_R = a M^-1 a^T the
arm's effective mass along the normal, a = n^T J at the nearest point, a contact of short duration keeps to 2 F if

    v <= 2 F / sqrt(mu k),    1/mu = 1/m_H + 1/m_R,    so    v^2 <= c (1/m_H + a M^-1 a^T),    c = (2 F)^2 / k

v is the arm's own speed along the normal; that of the person is theirs, and not counted here.  Skull and face: contact
is not permitted; nor is pressing on: where somebody is touched, the rules of separation hold.

The numbers are those of ISO/TS 15066:2016, Tables A.2 and A.3, as secondary sources print them; we have not seen the
standard's own text, and ISO 10218-2:2025 may differ.  Pressure, which depends on the tool's edges, is not looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...algebra import sqrt
from ...geometry.skeleton import SIDES

MODES = ("separation", "power_and_force", "both")  # what people are kept from: see filter.py


class Region(NamedTuple):
    """A part of the body: N (lasting contact), N/m, kg."""

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


def contact_speed(bears: Any, inverse_mass: Any, mobility: Any) -> Any:
    """The speed (m/s) for c (W), 1/m_H (1/kg) and a M^-1 a^T (1/kg); 0 where c is."""
    return sqrt(bears * (inverse_mass + mobility))
