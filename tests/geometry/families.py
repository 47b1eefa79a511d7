"""Pairs of segments by families: random ones, and every kind that breaks a careless method.  (B, 3) arrays each."""

from __future__ import annotations

import numpy as np


def unit(v):
    """Vectors along the last axis, at unit length."""
    return v / np.linalg.norm(v, axis=-1, keepdims=True)


def random(rng, n):
    """Ends within a cube of two metres."""
    return rng.uniform(-1, 1, (4, n, 3))


def frames(rng, n):
    """n right-handed sets of axes (B, 1, 3): along, across, over."""
    along = unit(rng.normal(size=(n, 3)))
    across = unit(np.cross(along, rng.normal(size=(n, 3))))
    return along, across, np.cross(along, across)


def crossing(rng, n, angle, gap):
    """Lines that come nearest, `gap` apart, at an angle: where they do lies on both segments or outside of one."""
    along, across, over = frames(rng, n)
    length1, length2 = rng.uniform(0.05, 1, (2, n, 1))
    place1, place2 = rng.uniform(-0.3, 1.3, (2, n, 1))
    turned = along * np.cos(angle) + across * np.sin(angle)
    a1 = rng.uniform(-1, 1, (n, 3))
    a2 = a1 + along * length1 * place1 + over * gap - turned * length2 * place2
    return a1, a1 + along * length1, a2, a2 + turned * length2


def collinear(rng, n, low, high):
    """On one line: the second starts between `low` and `high` lengths of the first; either direction."""
    a1, b1 = rng.uniform(-1, 1, (2, n, 3))
    s1 = b1 - a1
    start = rng.uniform(low, high, (n, 1))
    end = start + rng.uniform(0.1, 0.9, (n, 1))
    swap = rng.integers(0, 2, (n, 1)).astype(bool)
    start, end = np.where(swap, end, start), np.where(swap, start, end)
    return a1, b1, a1 + s1 * start, a1 + s1 * end


def touching(rng, n):
    """An end of the one within the other."""
    a1, b1, _, b2 = random(rng, n)
    return a1, b1, a1 + (b1 - a1) * rng.uniform(0, 1, (n, 1)), b2


def nasty(rng, n=300):
    """Families by name."""
    families = {
        f"nearly parallel, {angle:g} rad, {gap:g} m apart": crossing(rng, n, angle, gap)
        for angle in (0, 1e-16, 1e-15, 1e-14, 1e-13, 1e-12, 1e-11, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3)
        for gap in (0.0, 1e-12, 1e-7, 1e-3, 0.5)
    }
    families["antiparallel"] = crossing(rng, n, np.pi, 0.2)
    families["nearly antiparallel"] = crossing(rng, n, np.pi - 1e-9, 0.0)
    families["crossing"] = crossing(rng, n, rng.uniform(0.1, 3, (n, 1)), 0.0)
    families["collinear, overlapping"] = collinear(rng, n, 0.0, 0.9)
    families["collinear, apart"] = collinear(rng, n, 1.1, 2.0)
    families["touching"] = touching(rng, n)
    a1, b1, a2, b2 = random(rng, n)
    families["a shared end"] = (a1, b1, b1, b2)
    families["the same"] = (a1, b1, a1, b1)
    families["the same, reversed"] = (a1, b1, b1, a1)
    families["first a point"] = (a1, a1, a2, b2)
    families["second a point"] = (a1, b1, a2, a2)
    families["both points"] = (a1, a1, a2, a2)
    families["both one point"] = (a1, a1, a1, a1)
    on1 = a1 + (b1 - a1) * rng.uniform(0, 1, (n, 1))
    families["a point on the other"] = (a1, b1, on1, on1)
    families["first nearly a point"] = (a1, a1 + 1e-9 * b1, a2, b2)
    families["second shorter than a point's bound"] = (a1 * 0, b1, a2 * 0 + 1e-25, a2 * 0 - 1e-25)
    families["as short as squares get"] = (a1 * 0, b1, a2 * 0, 1e-158 * b2)  # whose inverse overflows
    families["the first as short"] = (a1 * 0, 1e-160 * b1, a2 * 0, b2)
    families["very unlike lengths"] = (a1, a1 + 1e-3 * b1, a2, a2 + 100 * unit(b2))
    T = np.zeros((n, 3)), np.tile([1.0, 0, 0], (n, 1)), np.tile([0.5, 0, 0], (n, 1)), np.tile([0.5, 1, 0], (n, 1))
    families["T"] = T
    families["T, lifted"] = (*T[:2], T[2] + [0, 0, 1e-8], T[3] + [0, 0, 1e-8])
    families["axis aligned"] = tuple(rng.integers(-2, 3, (4, n, 3)).astype(float))
    return families
