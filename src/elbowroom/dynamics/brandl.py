"""Forward dynamics by Brandl, Johanni and Otter's form of the articulated body, O(n).

The recursion is that of Featherstone's articulated body; what Brandl and his coauthors gained over it is that the
inertia is first projected by the free joint, then crosses it once, by rotations in a plane and shifts along an axis.
That is how `aba` is written too, and its inward and outward sweeps are used here as they stand.  What differs is what
they are given.  `aba` adds each joint's velocity-product acceleration to the sweeps and multiplies it with the
articulated inertia.  Here an outward sweep beforehand finds the acceleration that every link would have if no joint
accelerated, gravity included, and the force and moment that takes:

    a(x) = a + U x,  U = [wd x] + [w x][w x]         as in `rnea` with qdd = 0
    f = m a + U h,   n = h x a + vee(U S - (U S)^T)

With these as the links' bias forces, the articulated bodies see a chain that starts from rest without gravity.

Published: 470 n - 420 operations in all (Kozlowski, Table 3).
"""

from __future__ import annotations

import numpy as np

from ..algebra.linalg import Array
from ..algebra.loops import same
from ..model import Model
from .aba import accelerations
from .kinematics import Joints
from .rnea import less_wrench, link_loads


def forward_dynamics(
    model: Model,
    q: Array,
    qd: Array,
    tau: Array,
    wrench: Array | None = None,
    joint_inertia: Array | None = None,
) -> Array:
    """qdd (n,) for joint torques tau, outside wrenches and gravity; `joint_inertia` (n,) adds to M's diagonal."""
    joints = Joints(model, q)
    still = link_loads(model, joints, qd, same(model.n, 0.0), -model.gravity)
    bias = less_wrench(model, q, still, wrench)
    rest = same(model.n, (np.zeros(3), np.zeros(3)))
    return accelerations(model, joints, tau, bias, rest, np.zeros(3), joint_inertia)
