"""The distance of two segments in exact arithmetic, a judge: whole numbers, all nine cases, one rounding at the end.

Coordinates are floats, so times a power of two they are whole numbers.  The least of |y + s1 lambda1 - s2 lambda2|^2
over the unit square lies at a corner (4), within an edge (4) or inside (1); each is a ratio of whole numbers, feasible
or not by a comparison of whole numbers, and Python divides whole numbers with one rounding.
"""

from __future__ import annotations

import math

import numpy as np

SHIFT = 640  # bits: floats down to 1e-170 or so stay whole


def whole(x, shift=SHIFT):
    """Floats as whole numbers (objects), times two to the `shift`."""

    def one(value):
        top, bottom = float(value).as_integer_ratio()
        assert bottom <= 1 << shift, "a coordinate needs more bits"
        return top * ((1 << shift) // bottom)

    return np.frompyfunc(one, 1, 1)(np.asarray(x, dtype=float))


def _dot(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


_ratio = np.frompyfunc(lambda top, bottom: top / bottom if bottom else math.inf, 2, 1)


def squared(a1, b1, a2, b2, shift=SHIFT):
    """Least squared distances of many pairs; every argument is (B, 3) floats.  Correctly rounded."""
    a1, b1, a2, b2 = (whole(p, shift).T for p in (a1, b1, a2, b2))
    s1, s2, y = b1 - a1, b2 - a2, a1 - a2
    s11, s22, s12 = _dot(s1, s1), _dot(s2, s2), _dot(s1, s2)
    unit = 1 << (2 * shift)
    found = []
    for k in (0, 1):
        for m in (0, 1):
            z = y + s1 * k - s2 * m
            found.append(_ratio(_dot(z, z), unit))
    for k in (0, 1):
        for z, s, ss, sign in ((y - s2 * k, s1, s11, -1), (y + s1 * k, s2, s22, 1)):
            along = sign * _dot(s, z)
            within = ((along > 0) & (along < ss)).astype(bool)
            found.append(np.where(within, _ratio(_dot(z, z) * ss - along * along, ss * unit), math.inf))
    det = s11 * s22 - s12 * s12
    c, f = _dot(s1, y), _dot(s2, y)
    top1, top2 = s12 * f - c * s22, s11 * f - s12 * c
    within = ((top1 > 0) & (top1 < det) & (top2 > 0) & (top2 < det)).astype(bool)
    cross = (s1[1] * s2[2] - s1[2] * s2[1], s1[2] * s2[0] - s1[0] * s2[2], s1[0] * s2[1] - s1[1] * s2[0])
    volume = _dot(y, cross)
    found.append(np.where(within, _ratio(volume * volume, det * unit), math.inf))
    return np.array(found, dtype=float).min(axis=0)


def distances(a1, b1, a2, b2, shift=SHIFT):
    """Distances (B,) of many pairs of segments."""
    return np.sqrt(squared(a1, b1, a2, b2, shift))
