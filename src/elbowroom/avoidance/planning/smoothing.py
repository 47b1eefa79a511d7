"""A shorter, smoother path: straight ways between points of it that see each other, and rounded corners.

`shortened` takes its points and some random places on it, looks which of them see each other, many pairs in one call,
and goes the shortest way along those that do; then again.  `rounded` replaces a corner by a parabola (a quadratic
Bezier curve) between two places before and after it, so that the direction does not jump there; a curve that is not
free is made half as long, and again.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .checker import Against, Checker

Array = NDArray[np.float64]

DRAWN = 8  # random places on a path, beside its own points
TRIES = 64  # pairs of places that are looked at
ROUNDS = 4
CURVE = 25  # points of a rounded corner
HALVED = 8  # times, at most: the smallest is a few millimetres
LONGEST = 1.0  # m: of a corner's legs
WORTH = 0.01  # m: a straight way that saves less is not taken


def lengths(checker: Checker, path: Array) -> Array:
    """(k - 1,) how far each leg of a path (k, n) moves the arm, m."""
    return checker.moved(np.diff(path, axis=0))


def shortened(against: Against, path: Array, rng: np.random.Generator, rounds: int = ROUNDS) -> Array:
    """The path with free straight ways in the place of detours."""
    for _ in range(rounds):
        if len(path) < 3:
            break
        marks = np.concatenate([[0.0], np.cumsum(lengths(against.checker, path))])
        places = np.union1d(marks, rng.uniform(0.0, marks[-1], DRAWN))
        path = _corners(_straightest(against, _at(path, marks, places), places))
    return path


def _straightest(against: Against, points: Array, places: Array) -> Array:
    """The shortest way from the first to the last of points (m, n) at these lengths (m,) of a free path."""
    first, second = np.triu_indices(len(points), 2)
    saved = places[second] - places[first] - against.checker.moved(points[second] - points[first])
    best = np.argsort(-saved)[:TRIES]
    best = best[saved[best] > WORTH]
    open_ = best[against.edges_free(points[first[best]], points[second[best]])] if len(best) else best
    steps = dict(
        zip(zip(first[open_].tolist(), second[open_].tolist(), strict=True), saved[open_].tolist(), strict=True)
    )
    least = [0.0, *[np.inf] * (len(points) - 1)]  # what is left of the way to each point, less its place
    before = [0] * len(points)
    ahead: dict[int, list[tuple[int, float]]] = {}
    for (a, b), gain in steps.items():
        ahead.setdefault(a, []).append((b, gain))
    for a in range(len(points)):
        for b, gain in [(a + 1, 0.0), *ahead.get(a, ())]:
            if b < len(points) and least[a] - gain < least[b]:
                least[b], before[b] = least[a] - gain, a
    kept = [len(points) - 1]
    while kept[-1] > 0:
        kept.append(before[kept[-1]])
    return points[kept[::-1]]


def _corners(path: Array) -> Array:
    """The path without points in the middle of a straight line."""
    steps = np.diff(path, axis=0)
    sizes = np.linalg.norm(steps, axis=1, keepdims=True)
    path, steps = path[np.r_[True, sizes[:, 0] > 1e-9]], (steps / np.maximum(sizes, 1e-12))[sizes[:, 0] > 1e-9]
    turns = np.abs(np.diff(steps, axis=0)).max(axis=1, initial=0.0) > 1e-6
    return path[np.r_[True, turns, True]] if len(steps) else path


def rounded(against: Against, path: Array) -> Array:
    """The path with its corners rounded, as many points a corner as `CURVE`."""
    legs = lengths(against.checker, path)
    if len(path) < 3:
        return path
    corners = np.arange(1, len(path) - 1)
    before, after = legs[:-1], legs[1:]
    size = np.minimum(np.minimum(before, after) * 0.5, LONGEST)
    t = np.linspace(0.0, 1.0, CURVE)[:, None]
    found: list[Array | None] = [None] * len(corners)
    waiting = [k for k in range(len(corners)) if size[k] > 0.0]  # a leg may move joints alone that carry no capsule
    for _ in range(HALVED):
        curves = []
        for k in waiting:
            at = path[corners[k]]
            a = at + (path[corners[k] - 1] - at) * (size[k] / before[k])
            b = at + (path[corners[k] + 1] - at) * (size[k] / after[k])
            curves.append((1 - t) ** 2 * a + 2 * t * (1 - t) * at + t**2 * b)
        if not curves:
            break
        starts, ends = (np.vstack([curve[side] for curve in curves]) for side in (slice(0, -1), slice(1, None)))
        fine = np.asarray(against.edges_free(starts, ends).reshape(len(curves), -1).all(axis=1))
        for k, curve, good in zip(waiting, curves, fine, strict=True):
            if good:
                found[k] = curve
        waiting = [k for k, good in zip(waiting, fine, strict=True) if not good]
        size[waiting] *= 0.5
    middle = [path[corners[k]][None] if curve is None else curve for k, curve in enumerate(found)]
    return np.vstack([path[:1], *middle, path[-1:]])


def _at(path: Array, marks: Array, where: Array) -> Array:
    """The places (B, n) on a path at these lengths (B,)."""
    leg = np.clip(np.searchsorted(marks, where, side="right") - 1, 0, len(path) - 2)
    span = np.maximum(marks[leg + 1] - marks[leg], 1e-12)
    return path[leg] + (path[leg + 1] - path[leg]) * ((where - marks[leg]) / span)[:, None]
