"""A shorter, smoother path: straight ways between points of it that see each other, and rounded corners.

`shortened` takes random pairs of places on the path, many at a time, and goes straight between those whose motion is
free.  `rounded` replaces a corner by a parabola (a quadratic Bezier curve) between two places before and after it, so
that the direction does not jump there; a curve that is not free is made half as long, and again.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .checker import Against, Checker

Array = NDArray[np.float64]

TRIES = 24  # pairs of places at a time
ROUNDS = 10
CURVE = 9  # points of a rounded corner
LONGEST = 0.4  # m: of a corner's legs
WORTH = 0.01  # m: a straight way that saves less is not taken


def lengths(checker: Checker, path: Array) -> Array:
    """(k - 1,) how far each leg of a path (k, n) moves the arm, m."""
    return checker.moved(np.diff(path, axis=0))


def shortened(against: Against, path: Array, rng: np.random.Generator, rounds: int = ROUNDS) -> Array:
    """The path with free straight ways in the place of detours."""
    checker = against.checker
    for _ in range(rounds):
        marks = np.concatenate([[0.0], np.cumsum(lengths(checker, path))])
        if len(path) < 3 or marks[-1] <= 0.0:
            return path
        pairs = np.sort(rng.uniform(0.0, marks[-1], (TRIES, 2)), axis=1)
        points = len(path)
        some = rng.integers(points, size=(TRIES // 2, 2))
        pairs[: len(some)] = np.sort(marks[some], axis=1)  # half of them between its own points
        first, second = (_at(path, marks, side) for side in pairs.T)
        saved = (pairs[:, 1] - pairs[:, 0]) - checker.moved(second - first)
        worth = np.flatnonzero(saved > WORTH)
        if not len(worth):
            continue
        open_ = against.edges_free(first[worth], second[worth])
        for k in worth[open_][np.argsort(-saved[worth[open_]])][:1]:
            low, high = pairs[k]
            path = np.vstack([path[marks < low], first[k], second[k], path[marks > high]])
            path = path[np.r_[True, lengths(checker, path) > 1e-9]]
    return path


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
    waiting = list(range(len(corners)))
    for _ in range(5):
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
