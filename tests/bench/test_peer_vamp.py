"""VAMP beside us: shapes and arms as it takes them; itself only where it is installed."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.transform import Rotation

import elbowroom as er
from elbowroom.avoidance.planning import Box
from elbowroom.bench.peers import vamp
from elbowroom.bench.planning import validity
from elbowroom.geometry import Capsule, HalfSpace, Sphere


class World:
    """Keeps what is added to it."""

    def __init__(self):
        self.spheres, self.capsules, self.cuboids = [], [], []
        self.add_sphere, self.add_capsule, self.add_cuboid = (
            some.append for some in (self.spheres, self.capsules, self.cuboids)
        )


@pytest.fixture
def installed(monkeypatch):
    """A stand-in with VAMP's constructors, which keep their arguments."""
    whole = SimpleNamespace(dimension=lambda: 7)
    stand_in = SimpleNamespace(
        Environment=World, Sphere=lambda *a: a, Cylinder=lambda *a: a, Cuboid=lambda *a: a, panda=whole
    )
    stand_in.__spec__ = SimpleNamespace(name="vamp")
    monkeypatch.setitem(sys.modules, "vamp", stand_in)
    return stand_in


def turned(angles):
    """VAMP's own order: about x, then y, then z, axes at rest."""
    return Rotation.from_euler("xyz", angles).as_matrix()


def test_shapes_are_where_they_are(installed):
    a, b = np.array([0.1, 0.2, 0.3]), np.array([0.4, 0.1, 0.9])
    R = Rotation.from_rotvec([0.3, -0.9, 0.4]).as_matrix()
    upright = Rotation.from_euler("y", 90, degrees=True).as_matrix()  # where two of the angles are about one axis
    boxes = [Box((0.5, 0, 0.4), (0.1, 0.2, 0.3), R), Box((0.5, 0, 0.4), (0.1, 0.2, 0.3), upright)]
    floor = HalfSpace((0, 0, -0.05), (0, 0.6, 0.8))
    world = vamp.environment([Sphere((1, 2, 3), 0.2), Capsule(a, b, 0.05), Capsule(a, a, 0.05), *boxes, floor])
    assert world.spheres == [([1, 2, 3], 0.2)]
    (center, angles, radius, length), (_, _, _, short) = world.capsules
    ends = np.array(center) + np.outer([-0.5, 0.5], turned(angles)[:, 2] * length)
    assert_allclose(ends, [a, b], atol=1e-12)
    assert radius == 0.05
    assert 0 < short <= 1e-6  # a division by its length
    for (center, angles, half), box in zip(world.cuboids, boxes, strict=False):
        assert_allclose(turned(angles), box.rotation, atol=1e-12)
        assert (center, half) == ([0.5, 0, 0.4], [0.1, 0.2, 0.3])
    center, angles, half = world.cuboids[-1]
    assert_allclose(np.array(center) + turned(angles)[:, 2] * half[2], floor.point, atol=1e-12)
    assert_allclose(turned(angles)[:, 2], floor.normal, atol=1e-12)


def test_it_runs_for_its_own_arms_alone(installed, monkeypatch):
    assert vamp.robot(er.load("panda")) is installed.panda
    assert vamp.robot(er.load("ur5e")) is None  # the UR5's joints have the same names
    installed.panda.dimension = lambda: 6
    assert vamp.robot(er.load("panda")) is None
    monkeypatch.delitem(sys.modules, "vamp")
    if vamp.version() is None:
        assert vamp.robot(er.load("panda")) is None
        assert validity.vamp_call(validity.validity_scene(er.load("panda")), np.zeros((2, 7))) is None


def test_the_real_one_plans():
    pytest.importorskip("vamp")
    of, arm = vamp.robot(er.load("panda")), er.load("panda")
    wall = vamp.environment([Box((0.45, 0.0, 0.4), (0.25, 0.01, 0.4), np.eye(3))])
    left, right = arm.ready.copy(), arm.ready.copy()
    left[0], right[0] = 1.1, -1.1
    ends, states = vamp.motions(of, wall, np.array([left, left + 0.01, right]))
    assert (len(ends), states) == (1, 8)  # along the wall, and through it
    answer = vamp.rrt_connect(of, left, right, wall)
    assert answer.solved
    assert 0.0 < answer.seconds < 60.0
