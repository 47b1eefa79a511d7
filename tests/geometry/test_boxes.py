"""Boxes: the distance of a segment to one is what a fine grid along it says, in every awkward position."""

from __future__ import annotations

import numpy as np
import pytest

from elbowroom.algebra.linalg import vector
from elbowroom.compile import compiled
from elbowroom.geometry import Box
from elbowroom.geometry.segments import least_square_to_box


def _square(_, a, b, half):
    return vector(least_square_to_box(a, b, half))


@pytest.mark.parametrize("dtype, slack", [(np.float64, 1e-12), (np.float32, 1e-5)])
def test_a_segment_and_a_box(dtype, slack):
    rng = np.random.default_rng(0)
    a, b = rng.uniform(-1, 1, (2, 900, 3))
    half = rng.uniform(0.02, 0.5, (900, 3))
    b[:100] = a[:100]  # points
    b[100:200, 0] = a[100:200, 0]  # across one edge
    b[200:300, :2] = a[200:300, :2]  # along one
    a[300:350] *= 0.1 * half[300:350]  # from inside
    steps = np.linspace(0.0, 1.0, 2001)[:, None]
    grid = a[:, None] + (b - a)[:, None] * steps
    coarse = np.sqrt((np.maximum(np.abs(grid) - half[:, None], 0.0) ** 2).sum(axis=2).min(axis=1))
    kernel = compiled(_square, None, {"a": (3,), "b": (3,), "half": (3,)}, name="box", dtype=dtype)
    found = np.sqrt(kernel(*(x.astype(dtype) for x in (a, b, half)))[:, 0])
    assert (found <= coarse + slack).all()  # no place of the grid is nearer
    assert (found >= coarse - 0.5 * np.linalg.norm(b - a, axis=1) / 2000 - slack).all()  # half a step of it at most


def test_a_box_is_checked():
    with pytest.raises(ValueError, match=r"Box.half must be positive, half the edges in metres; got \[0.1, 0.0, 0.1\]"):
        Box((0, 0, 0), (0.1, 0, 0.1))
    with pytest.raises(ValueError, match=r"Box.rotation must be a rotation matrix"):
        Box((0, 0, 0), (0.1, 0.1, 0.1), np.ones((3, 3)))
