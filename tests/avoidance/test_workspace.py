"""The workspace's floor and half-spheres: distances, directions, centre, surfaces left out."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lifting import four_ways

from elbowroom.avoidance.control.repulsion import Repulsion, strength
from elbowroom.avoidance.control.workspace import Workspace, distances, floor_push, inner_push, outer_push
from elbowroom.errors import ConfigError

CELL = Workspace(floor=0.1, inner=0.3, outer=1.2, center=(0.1, -0.2, 0.3))
PUSHES = {"floor": floor_push, "inner": inner_push, "outer": outer_push}
coordinates = st.floats(-1.5, 1.5)
points = st.tuples(coordinates, coordinates, coordinates).map(np.array)


def test_distances_are_between_surfaces():
    at = np.array([0.1 + 0.6, -0.2, 0.3 + 0.8])  # 1 m from the centre
    found = distances(CELL, at, 0.05)
    assert found == pytest.approx({"floor": 1.1 - 0.1 - 0.05, "inner": 1.0 - 0.3 - 0.05, "outer": 1.2 - 1.0 - 0.05})


@given(points, st.floats(0.0, 0.3))
def test_each_surface_pushes_to_its_own_side(at, radius):
    """A step along the direction makes the surface distance grow by that step."""
    before = distances(CELL, at, radius)
    for surface, push in PUSHES.items():
        f, direction = push(CELL, at, radius)
        assert f == strength(CELL.repulsion, before[surface], 0.0)
        assert np.linalg.norm(direction) == pytest.approx(1.0, rel=1e-12)
        step = 1e-3
        if surface == "outer" and np.linalg.norm(at - CELL.center) < step:
            continue  # past the centre it would grow on the other side
        after = distances(CELL, at + step * direction, radius)
        assert after[surface] - before[surface] == pytest.approx(step, rel=1e-9)


def test_nothing_pushes_in_the_middle_and_everything_beyond():
    assert all(push(CELL, np.array([0.1, -0.2, 1.05]), 0.05)[0] == 0.0 for push in PUSHES.values())
    assert floor_push(CELL, np.array([0.5, 0.5, 0.0]), 0.0)[0] > 0  # below the floor
    assert outer_push(CELL, np.array([5.0, 0.0, 1.0]), 0.0)[0] > 0  # outside
    assert inner_push(CELL, np.array([0.2, -0.2, 0.3]), 0.0)[0] > 0  # within the inner sphere


def test_at_the_centre_the_inner_pushes_up_and_the_outer_knows_no_direction():
    with np.errstate(all="raise"):
        at = np.array(CELL.center)
        f, direction = inner_push(CELL, at, 0.0)
        assert f > 0
        assert np.array_equal(direction, [0.0, 0.0, 1.0])
        assert np.array_equal(outer_push(CELL, at, 0.0)[1], np.zeros(3))
        assert distances(CELL, at, 0.1)["inner"] == pytest.approx(-0.4)


def test_a_surface_left_out_does_not_push():
    nothing = Workspace()
    assert distances(nothing, np.zeros(3), 0.1) == {}
    for push in PUSHES.values():
        f, direction = push(nothing, np.array([0.0, 0.0, -5.0]), 0.1)
        assert f == 0.0
        assert np.isfinite(direction).all()
    assert set(distances(Workspace(floor=0.0), np.zeros(3), 0.0)) == {"floor"}


def test_the_arms_own_closing_speed_may_count():
    quick = Workspace(floor=0.0, repulsion=Repulsion(profile="linear", influence=0.1, lookahead=0.5))
    at = np.array([0.0, 0.0, 0.2])
    assert floor_push(quick, at, 0.0)[0] == 0.0
    assert floor_push(quick, at, 0.0, closing=1.0)[0] > 0


@pytest.mark.parametrize("surface", PUSHES)
def test_four_ways(surface):
    def push(settings, at, radius):
        return PUSHES[surface](settings, at, radius)

    for at in (CELL.center, [0.1, -0.2, 0.05], [0.9, 0.7, 0.6], [0.3, -0.2, 0.4]):
        four_ways(push, CELL, at=at, radius=0.05)
    four_ways(distances, CELL, at=[0.3, -0.2, 0.4], radius=0.05)


@pytest.mark.parametrize(
    "wrong, key",
    [
        ({"floor": math.nan}, "floor"),
        ({"floor": 1200.0}, "floor"),
        ({"inner": 0.0}, "inner"),
        ({"outer": -1.0}, "outer"),
        ({"inner": 1.0, "outer": 0.9}, "inner"),
        ({"center": (0.0, 0.0)}, "center"),
        ({"center": (0.0, 0.0, math.inf)}, r"center\[2\]"),
        ({"center": 1.0}, "center"),
        ({"repulsion": Repulsion.thesis(0.1, 0.5)}, "repulsion.measure"),
    ],
    ids=str,
)
def test_bad_settings_are_refused_by_name(wrong, key):
    with pytest.raises(ConfigError, match=f"^Workspace: {key}: expected .*; got "):
        Workspace(**wrong)


def test_a_list_or_array_serves_as_a_centre():
    assert Workspace(center=[0, 0, 1]).center == (0.0, 0.0, 1.0)
    assert Workspace(center=np.array([0, 0, 1])) == Workspace(center=(0.0, 0.0, 1.0))
