"""The same arm with fewer numbers: what its joints cannot feel of a link is moved to the link before it.

A rod on the axis of joint i turns with link i or with link i - 1 and no joint can tell: it may belong to either.  With
mass m, first moment h and moment of inertia I about the axis' cross directions, such a rod is three numbers.  So of
every link that turns, the mass, h_z and I_yy are given inwards, where they add to what is there:

    mass = 0,   h_z = 0,   I_xx - I_yy instead of I_xx,   I_yy = 0                                            (1)

in frame i, and about frame i - 1, with z the axis' direction there and p the offset (Moments shifted by p),

    m,   h z + m p,   I (1 - z z^T) + (2 h p.z + m p.p) 1 - h (p z^T + z p^T) - m p p^T                         (2)

What the base gets is dropped.  A prismatic joint feels mass, not place: it gives its tensor inwards, which is the same
about every point of a link that does not turn,

    I -> E I E^T added to the link before, 0 left                                                              (3)

Seven numbers of ten remain a turning link, four a sliding one: Khalil's base parameters, but for what further
zeros of the geometry would allow.  The bodies are no longer such as could be built, with no mass and negative moments; the torques,
accelerations and joint-space matrices are those of the arm.  Forces and energies of single links are not.
"""

from __future__ import annotations

import copy

import numpy as np

from .model import Array, Model, Moments


def regrouped(model: Model) -> Model:
    """The arm with equations (1) to (3) applied, tip first; for formulations that read `model.moments` alone."""
    moments = [Moments(float(m), np.array(h, float), np.array(tensor, float)) for m, h, tensor in model.moments]
    for i in range(model.n - 1, -1, -1):
        mass, h, inertia = moments[i]
        E, p = model.E[i], model.p[i]
        if model.revolute(i):
            rod = float(inertia[1, 1])
            kept = inertia.copy()
            kept[0, 0] -= rod
            kept[1, 1] = 0.0
            moments[i] = Moments(0.0, np.array([h[0], h[1], 0.0]), kept)
            given = _rod(mass, float(h[2]), rod, E[:, 2], p)
        else:
            moments[i] = Moments(mass, h, np.zeros((3, 3)))
            given = Moments(0.0, np.zeros(3), E @ inertia @ E.T)
        if i > 0:
            moments[i - 1] = Moments(*(x + y for x, y in zip(moments[i - 1], given, strict=True)))
    same = copy.copy(model)
    same.__dict__["moments"] = tuple(moments)  # where the cached property keeps them
    same.__dict__.pop("digest", None)
    return same


def _rod(mass: float, first: float, inertia: float, z: Array, p: Array) -> Moments:
    """A rod along z through p, about the origin (2)."""
    one, slope = np.eye(3), np.outer(p, z)
    moved = inertia * (one - np.outer(z, z)) + (2 * first * float(p @ z) + mass * float(p @ p)) * one
    return Moments(mass, first * z + mass * p, moved - first * (slope + slope.T) - mass * np.outer(p, p))
