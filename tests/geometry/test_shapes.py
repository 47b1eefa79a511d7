"""Shapes: what they hold, what they refuse, and their rows."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import elbowroom as er
from elbowroom.geometry import PARKED, ROW, Capsule, HalfSpace, HollowSphere, Sphere, shapes

ORIGIN = (0.0, 0.0, 0.0)
UP = (0.0, 0.0, 1.0)


def test_shapes_take_lists_and_hold_floats():
    sphere = Sphere([1, 2, 3], 1)
    capsule = Capsule(np.zeros(3, dtype=np.float32), (0, 3, 4), np.float32(0.5))
    assert sphere.center.dtype == np.float64
    assert sphere.center.tolist() == [1.0, 2.0, 3.0]
    assert isinstance(sphere.radius, float)
    assert isinstance(capsule.radius, float)
    assert capsule.length == 5.0
    assert HollowSphere(ORIGIN, 2).radius == 2.0


def test_shapes_keep_a_copy_that_nobody_can_write():
    a = np.zeros(3)
    capsule = Capsule(a, (1, 0, 0), 0.1)
    a[0] = 7.0
    assert capsule.a[0] == 0.0
    floor = HalfSpace(ORIGIN, UP)
    for array in (capsule.a, capsule.b, Sphere(a, 1).center, floor.point, floor.normal, HollowSphere(a, 1).center):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0
    with pytest.raises(dataclasses.FrozenInstanceError):
        capsule.radius = 2.0


@pytest.mark.parametrize("normal", [(0, 0, 5), (0, 0, 1e-300), (0, 0, 1e9), (3, 0, 4), (1e-200, 1e-200, 0)])
def test_a_normal_is_stored_with_unit_length(normal):
    stored = HalfSpace(ORIGIN, normal).normal
    assert np.linalg.norm(stored) == pytest.approx(1.0, abs=4e-16)  # two roundings
    assert np.allclose(np.cross(stored, np.array(normal) / np.abs(normal).max()), 0.0, atol=4e-16)


MAKERS = {
    "Sphere.center": lambda v: Sphere(v, 1),
    "Capsule.a": lambda v: Capsule(v, ORIGIN, 1),
    "Capsule.b": lambda v: Capsule(ORIGIN, v, 1),
    "HalfSpace.point": lambda v: HalfSpace(v, UP),
    "HalfSpace.normal": lambda v: HalfSpace(ORIGIN, v),
    "HollowSphere.center": lambda v: HollowSphere(v, 1),
}
RADII = {
    "Sphere.radius": lambda v: Sphere(ORIGIN, v),
    "Capsule.radius": lambda v: Capsule(ORIGIN, UP, v),
    "HollowSphere.radius": lambda v: HollowSphere(ORIGIN, v),
}


@pytest.mark.parametrize("field", MAKERS)
@pytest.mark.parametrize(
    "value, error, words",
    [
        ((0, 0), er.ShapeError, r"must have shape \(3,\); got \(2,\)"),
        (1.0, er.ShapeError, r"must have shape \(3,\); got \(\)"),
        (np.zeros((3, 1)), er.ShapeError, r"got \(3, 1\)"),
        ([[0], [0, 1], 2], er.ShapeError, "one array"),
        ((0, np.nan, 0), ValueError, "must be finite"),
        ((0, 0, np.inf), ValueError, "must be finite"),
        ((0, 0, 1e10), ValueError, "within 1e.09 of zero"),
        (("a", "b", "c"), TypeError, "must be real numbers"),
        ((1j, 0, 0), TypeError, "must be real numbers"),
        ((True, False, True), TypeError, "must be real numbers"),
        (None, TypeError, "must be real numbers"),
    ],
)
def test_a_point_that_is_none_is_refused_by_name(field, value, error, words):
    with pytest.raises(error, match=f"{field} .*{words}"):
        MAKERS[field](value)


@pytest.mark.parametrize("field", RADII)
@pytest.mark.parametrize(
    "value, error, words",
    [
        (-1e-9, ValueError, "positive, in metres; got -1e-09"),
        (np.nan, ValueError, "must be finite"),
        (np.inf, ValueError, "must be finite"),
        ((1.0,), er.ShapeError, r"one number; got shape \(1,\)"),
        ("wide", TypeError, "must be real numbers"),
    ],
)
def test_a_radius_that_is_none_is_refused_by_name(field, value, error, words):
    with pytest.raises(error, match=f"{field} .*{words}"):
        RADII[field](value)


def test_a_radius_may_be_zero_but_not_that_of_a_shell():
    assert Sphere(ORIGIN, 0).radius == 0.0
    assert Capsule(ORIGIN, UP, 0).radius == 0.0
    with pytest.raises(ValueError, match=r"HollowSphere.radius must be positive, in metres; got 0.0"):
        HollowSphere(ORIGIN, 0)


def test_a_normal_of_no_length_is_refused():
    with pytest.raises(ValueError, match=r"HalfSpace.normal must not be zero"):
        HalfSpace(ORIGIN, ORIGIN)


def test_a_capsule_as_a_row():
    row = Capsule((1, 2, 3), (4, 5, 6), 0.7).row(velocity_a=(8, 9, 10), velocity_b=(11, 12, 13))
    assert row.tolist() == [1, 2, 3, 4, 5, 6, 0.7, 8, 9, 10, 11, 12, 13]
    assert len(row) == ROW == 13
    assert row[shapes.A].tolist() == [1, 2, 3]
    assert row[shapes.B].tolist() == [4, 5, 6]
    assert row[shapes.RADIUS] == 0.7
    assert row[shapes.VELOCITY_A].tolist() == [8, 9, 10]
    assert row[shapes.VELOCITY_B].tolist() == [11, 12, 13]
    assert Capsule((1, 2, 3), (4, 5, 6), 0.7).row()[7:].tolist() == [0.0] * 6
    row[0] = 5.0  # a row is yours to write


def test_a_sphere_as_a_row():
    assert Sphere((1, 2, 3), 0.7).row((4, 5, 6)).tolist() == [1, 2, 3, 1, 2, 3, 0.7, 4, 5, 6, 4, 5, 6]
    assert Sphere((1, 2, 3), 0.7).row(0).tolist() == [1, 2, 3, 1, 2, 3, 0.7] + [0] * 6


@pytest.mark.parametrize(
    "value, error, words",
    [
        ((0, 0), er.ShapeError, "shape"),
        (1.0, er.ShapeError, "0 for a shape at rest; got 1.0"),
        ((0, 0, np.nan), ValueError, "finite"),
    ],
)
def test_a_velocity_that_is_none_is_refused_by_name(value, error, words):
    with pytest.raises(error, match=f"Capsule.row: velocity_a .*{words}"):
        Capsule(ORIGIN, UP, 1).row(value)
    with pytest.raises(error, match=f"Capsule.row: velocity_b .*{words}"):
        Capsule(ORIGIN, UP, 1).row(0, value)
    with pytest.raises(error, match=f"Sphere.row: velocity .*{words}"):
        Sphere(ORIGIN, 1).row(value)


def test_the_parked_row_is_a_point_far_away_at_rest_and_read_only():
    assert PARKED.tolist() == [1e6] * 6 + [0.0] * 7
    with pytest.raises(ValueError, match="read-only"):
        PARKED[0] = 0.0
