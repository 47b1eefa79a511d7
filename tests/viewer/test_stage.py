"""Shapes, turns, colours and sentences of the page."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from elbowroom.viewer.panel import sentence
from elbowroom.viewer.stage import CALM, CARE, DANGER, capsule, colour_of, turned


@pytest.mark.parametrize(("length", "radius"), [(0.3, 0.05), (0.0, 0.1), (1.0, 0.01)])
def test_a_capsule_is_closed_and_has_its_size(length, radius):
    vertices, faces = capsule(length, radius)
    top = length / 2 + radius
    np.testing.assert_allclose([vertices[:, 2].min(), vertices[:, 2].max()], [-top, top], atol=1e-6)
    along = np.clip(vertices[:, 2], -length / 2, length / 2)
    off = np.linalg.norm(vertices - np.stack([0 * along, 0 * along, along], axis=1), axis=1)
    np.testing.assert_allclose(off, radius, rtol=1e-5)  # every corner on the surface; float32
    assert faces.max() < len(vertices)
    # normals point outwards, but for the caps' triangles that have no area
    a, b, c = (vertices[faces[:, k]] for k in range(3))
    normal = np.cross(b - a, c - a)
    middle = (a + b + c) / 3
    middle[:, 2] -= np.clip(middle[:, 2], -length / 2, length / 2)
    assert (np.einsum("ij,ij->i", normal, middle) >= -1e-9).all()


@given(st.tuples(*[st.floats(-1, 1)] * 3))
def test_z_is_turned_to_the_axis(axis):
    axis = np.array(axis)
    w, x, y, z = turned(axis)
    size = np.linalg.norm(axis)
    assert w * w + x * x + y * y + z * z == pytest.approx(1.0)
    if size > 1e-6:
        there = np.array([2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)])
        np.testing.assert_allclose(there, axis / size, atol=1e-6)


def test_near_is_red():
    assert [colour_of(d) for d in (-0.1, 0.05, 0.2, 0.5)] == [DANGER, DANGER, CARE, CALM]


def seen(**changes):
    picture = {
        "status": "OK", "verdict": "OK", "distance": 0.43, "nearest": (0, 0, "wrist", "left_hand"), "stopped": False,
        "reason": "", "touching": False, "running": True, "state": "to_object",
    }  # fmt: skip
    return sentence(picture | changes)


def test_plain_sentences():
    assert seen(status="AVOIDING") == "avoiding: 0.43 m to left hand"
    assert seen() == "working: to object, 0.43 m to left hand"
    assert seen(running=False) == "paused"
    assert seen(stopped=True, reason="a person is <b>near</b>") == "stopped: a person is &lt;b&gt;near&lt;/b&gt;"
    assert seen(status="SLOWING_LIMIT") == "working, slowed by a joint limit"
    assert "<script>" not in seen(state="<script>")
