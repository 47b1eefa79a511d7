"""Distances of shapes: closed forms, gradients, degenerate cases, properties, coal, and the rows for controllers."""

from __future__ import annotations

import dataclasses
import itertools

import families
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from elbowroom.algebra import trace
from elbowroom.compile import compiled as kernel_of
from elbowroom.geometry import (
    PARALLEL_ANGLE,
    PARKED,
    ROW,
    Capsule,
    HalfSpace,
    HollowSphere,
    Sphere,
    distance,
    pair_row,
    separation,
)
from elbowroom.geometry.distance import (
    AXIS_DISTANCE,
    CLOSING,
    DISTANCE,
    LAMBDA_X,
    LAMBDA_Y,
    NORMAL,
    POINT_X,
    SPEED_Y,
    WIDTH,
    separation_from_plane,
    separation_from_shell,
    stacked,
)

X, Y, Z = np.eye(3)
O = np.zeros(3)  # noqa: E741

# (x, y, distance, axis distance, point on x, point on y, normal), by hand.
CASES = {
    "spheres": (Sphere(3 * X, 0.5), Sphere(O, 1), 1.5, 3.0, 2.5 * X, X, X),
    "spheres, one in the other": (Sphere(0.1 * X, 0.5), Sphere(O, 2), -2.4, 0.1, -0.4 * X, 2 * X, X),
    "points": (Sphere(3 * X, 0), Sphere(O, 0), 3.0, 3.0, 3 * X, O, X),
    "capsule and sphere beside it": (
        Capsule(O, 2 * X, 0.1),
        Sphere(X + Y, 0.2),
        0.7,
        1.0,
        X + 0.1 * Y,
        X + 0.8 * Y,
        -Y,
    ),
    "capsule and sphere before it": (Capsule(O, 2 * X, 0.1), Sphere(-X, 0.2), 0.7, 1.0, -0.1 * X, -0.8 * X, X),
    "capsule and sphere beyond it": (Capsule(O, 2 * X, 0.1), Sphere(3 * X, 0.2), 0.7, 1.0, 2.1 * X, 2.8 * X, -X),
    "capsule and sphere over its end": (
        Capsule(O, 2 * X, 0.1),
        Sphere(2 * X + Z, 0),
        0.9,
        1.0,
        2 * X + 0.1 * Z,
        2 * X + Z,
        -Z,
    ),
    "capsules across": (Capsule(-X, X, 0.1), Capsule(Z - Y, Z + Y, 0.2), 0.7, 1.0, 0.1 * Z, 0.8 * Z, -Z),
    "capsules end to end": (Capsule(-X, O, 0.1), Capsule(X, 2 * X, 0.2), 0.7, 1.0, 0.1 * X, 0.8 * X, -X),
    "capsules side by side": (
        Capsule(O, X, 0.1),
        Capsule(Z, Z + X, 0.1),
        0.8,
        1.0,
        0.5 * X + 0.1 * Z,
        0.5 * X + 0.9 * Z,
        -Z,
    ),
    "capsules in touch": (Capsule(-X, X, 0.4), Capsule(Z - Y, Z + Y, 0.6), 0.0, 1.0, 0.4 * Z, 0.4 * Z, -Z),
    "capsules deep in each other": (
        Capsule(-X, X, 2),
        Capsule(0.5 * Z - Y, 0.5 * Z + Y, 1),
        -2.5,
        0.5,
        2 * Z,
        -0.5 * Z,
        -Z,
    ),
    "sphere over a floor": (Sphere(3 * Z + X, 1), HalfSpace(Y, Z), 2.0, 3.0, 2 * Z + X, X, Z),
    "sphere under a floor": (Sphere(-3 * Z, 1), HalfSpace(Y, Z), -4.0, -3.0, -4 * Z, O, Z),
    "capsule over a floor": (Capsule(3 * Z, 2 * Z + X, 1), HalfSpace(Y, Z), 1.0, 2.0, Z + X, X, Z),
    "capsule along a floor": (Capsule(Z, Z + X, 0.5), HalfSpace(Y, Z), 0.5, 1.0, 0.5 * (X + Z), 0.5 * X, Z),
    "capsule through a floor": (Capsule(-Z, Z + X, 0.5), HalfSpace(Y, Z), -1.5, -1.0, -1.5 * Z, O, Z),
    "sphere in a shell": (Sphere(X, 0.5), HollowSphere(O, 3), 1.5, 2.0, 1.5 * X, 3 * X, -X),
    "sphere beyond a shell": (Sphere(4 * X, 0.5), HollowSphere(O, 3), -1.5, -1.0, 4.5 * X, 3 * X, -X),
    "capsule in a shell": (Capsule(O, X, 0.5), HollowSphere(O, 3), 1.5, 2.0, 1.5 * X, 3 * X, -X),
    "capsule in a shell, other way": (Capsule(2 * Y, X, 0.5), HollowSphere(O, 3), 0.5, 1.0, 2.5 * Y, 3 * Y, -Y),
}


@pytest.mark.parametrize("case", CASES)
def test_closed_forms_in_both_orders(case):
    x, y, surface, axis, point_a, point_b, normal = CASES[case]
    there, back = distance(x, y), distance(y, x)
    for found in (there, back):
        assert found.distance == pytest.approx(surface, abs=1e-15)
        assert found.axis_distance == pytest.approx(axis, abs=1e-15)
    for found, a, b, n in ((there, point_a, point_b, normal), (back, point_b, point_a, -normal)):
        assert np.allclose(found.point_a, a, atol=1e-15, rtol=0)
        assert np.allclose(found.point_b, b, atol=1e-15, rtol=0)
        assert np.allclose(found.normal, n, atol=1e-15, rtol=0)


@pytest.mark.parametrize("case", CASES)
def test_what_holds_of_every_separation(case):
    x, y, *_ = CASES[case]
    found = distance(x, y)
    # The surfaces' points lie `distance` apart along the normal, and the gradient says so.
    assert np.allclose(found.point_b + found.normal * found.distance, found.point_a, atol=1e-15, rtol=0)
    assert np.linalg.norm(found.normal) == pytest.approx(1.0, abs=1e-15)
    for field in dataclasses.fields(found):
        value = getattr(found, field.name)
        if isinstance(value, np.ndarray):
            assert value.shape == (3,)
            with pytest.raises(ValueError, match="read-only"):
                value[0] = 1.0
        else:
            assert type(value) is float


def random_shape(kind, rng):
    if kind is HalfSpace:
        return HalfSpace(rng.normal(size=3), rng.normal(size=3))
    if kind is HollowSphere:
        return HollowSphere(rng.normal(size=3), rng.uniform(2, 4))
    if kind is Sphere:
        return Sphere(rng.normal(size=3), rng.uniform(0, 0.5))
    return Capsule(*rng.normal(size=(2, 3)), rng.uniform(0, 0.5))


def moved(shape, step, R=None):
    """The shape turned by R about the origin, then shifted."""
    turn = (lambda v: v) if R is None else (lambda v: R @ v)
    if isinstance(shape, HalfSpace):
        return HalfSpace(turn(shape.point) + step, turn(shape.normal))
    if isinstance(shape, Capsule):
        return Capsule(turn(shape.a) + step, turn(shape.b) + step, shape.radius)
    return type(shape)(turn(shape.center) + step, shape.radius)


KINDS = [
    *itertools.product((Sphere, Capsule), (Sphere, Capsule, HalfSpace, HollowSphere)),
    *itertools.product((HalfSpace, HollowSphere), (Sphere, Capsule)),
]


@pytest.mark.parametrize("kinds", KINDS, ids=lambda kinds: " ".join(k.__name__ for k in kinds))
def test_the_normal_is_the_gradient_by_moving_x(kinds):
    rng = np.random.default_rng(0)
    h = 1e-6  # central: truncation h^2 / distance^2, rounding 1e-16 / h
    for _ in range(20):
        x, y = (random_shape(kind, rng) for kind in kinds)
        found = distance(x, y)
        if found.axis_distance < 0.05 or (
            isinstance(y, HollowSphere) and np.linalg.norm(found.point_b - y.center) < 0.1
        ):
            continue
        ahead, behind = ([distance(moved(x, step * e), y).distance for e in (X, Y, Z)] for step in (h, -h))
        gradient = np.subtract(ahead, behind) / (2 * h)
        assert np.allclose(gradient, found.normal, atol=1e-8)


@pytest.mark.parametrize("kinds", KINDS, ids=lambda kinds: " ".join(k.__name__ for k in kinds))
def test_swapping_and_rigid_motion_change_nothing_but_the_frame(kinds):
    rng = np.random.default_rng(1)
    for _ in range(30):
        x, y = (random_shape(kind, rng) for kind in kinds)
        R, _ = np.linalg.qr(rng.normal(size=(3, 3)))
        R *= np.linalg.det(R)
        step = rng.uniform(-2, 2, 3)
        here, swapped, there = distance(x, y), distance(y, x), distance(moved(x, step, R), moved(y, step, R))
        # Lengths up to 5 m, rounded a dozen times; points lose the square of the least angle of 20 pairs, 1e-2 or so.
        assert swapped.distance == pytest.approx(here.distance, abs=1e-14)
        assert there.distance == pytest.approx(here.distance, abs=1e-14)
        assert there.axis_distance == pytest.approx(here.axis_distance, abs=1e-14)
        for name, other in (("point_a", "point_b"), ("smooth_a", "smooth_b"), ("point_b", "point_a")):
            assert np.allclose(getattr(swapped, other), getattr(here, name), atol=1e-10)
            assert np.allclose(getattr(there, name), R @ getattr(here, name) + step, atol=1e-10)
        assert np.allclose(swapped.normal, -here.normal, atol=1e-10)
        assert np.allclose(there.normal, R @ here.normal, atol=1e-10)


coordinates = st.floats(-1, 1) | st.sampled_from([-1.0, 0.0, 0.5, 1e-9, 1e-300])
points = st.tuples(coordinates, coordinates, coordinates)


@given(points, points, points, points, points, st.integers(0, 3))
def test_one_lipschitz_in_every_end(a1, b1, a2, b2, step, which):
    """Moving an end by some length changes the distance by that at most."""
    ends = [np.array(p) for p in (a1, b1, a2, b2)]
    other = [p.copy() for p in ends]
    other[which] = other[which] + np.array(step)
    one, two = (distance(Capsule(p[0], p[1], 0.1), Capsule(p[2], p[3], 0.2)).distance for p in (ends, other))
    assert (
        abs(one - two) <= np.linalg.norm(other[which] - ends[which]) + 2e-14
    )  # twice the crossing bound and roundings


@given(points, points, points, points)
def test_symmetric_and_never_more_than_any_pair_of_points(a1, b1, a2, b2):
    x, y = Capsule(a1, b1, 0.1), Capsule(a2, b2, 0.2)
    here, back = distance(x, y), distance(y, x)
    assert here.distance == pytest.approx(back.distance, abs=2e-14)
    for s, t in itertools.product(np.linspace(0, 1, 5), repeat=2):
        gap = np.linalg.norm(x.a + (x.b - x.a) * s - y.a - (y.b - y.a) * t)
        assert here.axis_distance <= gap + 1e-14
    assert np.linalg.norm(here.normal) == pytest.approx(1, abs=1e-14)


@given(points, points, st.floats(0, 1), st.floats(0, 1))
def test_a_capsule_of_no_length_is_a_sphere(a, c, r1, r2):
    as_capsules = distance(Capsule(a, a, r1), Capsule(c, c, r2))
    as_spheres = distance(Sphere(a, r1), Sphere(c, r2))
    for field in dataclasses.fields(as_spheres):
        assert np.array_equal(getattr(as_capsules, field.name), getattr(as_spheres, field.name))
    assert as_spheres.distance == pytest.approx(np.linalg.norm(np.subtract(a, c)) - r1 - r2, abs=1e-15)  # (3.2)


# ---- where the normal is a matter of choice
def test_crossing_axes_part_across_both():
    for angle in (1e-3, 0.3, 1.5, 3.0):
        turned = np.cos(angle) * X + np.sin(angle) * Y
        found = distance(Capsule(-X, X, 0.3), Capsule(-turned, turned, 0.2))
        assert found.axis_distance == 0.0
        assert found.distance == -0.5
        assert np.allclose(np.abs(found.normal), Z, atol=1e-12)  # a thousandth of a radian costs three digits
        assert np.allclose(found.point_b + found.normal * found.distance, found.point_a, atol=1e-15)
        back = distance(Capsule(-turned, turned, 0.2), Capsule(-X, X, 0.3))
        assert np.allclose(back.normal, -found.normal, atol=1e-15)


def test_axes_that_cross_to_rounding_error_part_across_both_too():
    """No axis of a robot crosses another's exactly; a remainder of 1e-17 m in any direction must not decide."""
    a1, b1, a2, b2 = families.crossing(np.random.default_rng(0), 300, np.pi / 3, 0.0)
    seen = 0
    for k in range(300):
        found = distance(Capsule(a1[k], b1[k], 0.3), Capsule(a2[k], b2[k], 0.3))
        if found.axis_distance == 0.0:
            seen += 1
            across = np.cross(b1[k] - a1[k], b2[k] - a2[k])
            assert abs(found.normal @ across) == pytest.approx(np.linalg.norm(across), rel=1e-12)
    assert seen > 100


@pytest.mark.parametrize("axis", [X, Y, Z, X + Z, Y - Z, X + Y + Z, X - 1e-9 * Y])
@pytest.mark.parametrize("other", [1.0, -1.0, 0.5, -0.3, 0.0])
def test_axes_on_one_line_part_across_the_longer(axis, other):
    one, two = Capsule(-axis, axis, 0.3), Capsule(-other * axis, other * axis, 0.2)
    for found in (distance(one, two), distance(two, one)):
        assert found.axis_distance == 0.0
        assert found.distance == -0.5
        assert np.linalg.norm(found.normal) == pytest.approx(1.0, abs=1e-15)
        assert found.normal @ axis == pytest.approx(0.0, abs=1e-15)


def test_two_spheres_on_one_point_part_upwards():
    for found in (distance(Sphere(X, 1), Sphere(X, 2)), distance(Capsule(X, X, 1), Sphere(X, 2))):
        assert found.normal.tolist() == [0.0, 0.0, 1.0]
        assert found.distance == -3.0
        assert found.axis_distance == 0.0


def test_a_sphere_in_the_center_of_a_shell_is_sent_up_as_anywhere():
    found = distance(Sphere(X, 0.5), HollowSphere(X, 2))
    assert found.distance == 1.5
    assert found.normal.tolist() == [0.0, 0.0, 1.0]


def test_contact_is_zero_and_changes_sign_there():
    x = Capsule(-X, X, 0.4)
    for gap in (1e-9, -1e-9):
        found = distance(x, Capsule(-Y + (1 + gap) * Z, Y + (1 + gap) * Z, 0.6))
        assert found.distance == pytest.approx(gap, abs=1e-15)


# ---- bad input
@pytest.mark.parametrize("bad", [None, 3.0, np.zeros(13), "capsule", Sphere, (0, 0, 0)])
def test_what_is_no_shape_is_refused_by_type(bad):
    name = type(bad).__name__
    with pytest.raises(TypeError, match=f"x must be a Sphere, Capsule, HalfSpace or HollowSphere; got {name}"):
        distance(bad, Sphere(O, 1))
    with pytest.raises(TypeError, match=f"y must be a Sphere, Capsule, HalfSpace or HollowSphere; got {name}"):
        distance(Sphere(O, 1), bad)


@pytest.mark.parametrize("x, y", list(itertools.product([HalfSpace(O, Z), HollowSphere(O, 1)], repeat=2)))
def test_two_shapes_without_end_are_refused(x, y):
    with pytest.raises(TypeError, match=f"one of the two must be .*got {type(x).__name__} and {type(y).__name__}"):
        distance(x, y)


@pytest.mark.parametrize("angle", [0.0, -0.1, 1.6, np.nan])
def test_an_angle_out_of_range_is_refused(angle):
    with pytest.raises(ValueError, match="angle must be above 0 and at most pi/2 rad"):
        distance(Sphere(O, 1), Sphere(X, 1), angle=angle)


def test_the_angle_is_that_of_the_smooth_points():
    x = Capsule(-X, X, 0.1)
    y = Capsule(Z - np.cos(0.2) * X - np.sin(0.2) * Y, Z + 0.5 * (np.cos(0.2) * X + np.sin(0.2) * Y), 0.1)
    narrow, wide = distance(x, y, angle=0.1), distance(x, y, angle=0.4)
    assert np.array_equal(narrow.smooth_a, narrow.point_a)
    assert np.linalg.norm(wide.smooth_a - wide.point_a) > 0.05
    assert np.array_equal(wide.point_a, narrow.point_a)


# ---- coal
@pytest.fixture(scope="module")
def coal():
    return pytest.importorskip("coal")


def by_coal(coal, x, y):
    def posed(shape):
        if isinstance(shape, Sphere):
            return coal.Sphere(shape.radius), coal.Transform3s(np.eye(3), shape.center)
        along = families.unit(shape.b - shape.a)
        across = families.unit(np.cross(along, X if abs(along[0]) < 0.9 else Y))
        R = np.column_stack([across, np.cross(along, across), along])
        return coal.Capsule(shape.radius, shape.length), coal.Transform3s(R, (shape.a + shape.b) / 2)

    result = coal.DistanceResult()
    found = coal.distance(*posed(x), *posed(y), coal.DistanceRequest(), result)
    return found, result.getNearestPoint1(), result.getNearestPoint2(), result.normal


def test_coal_agrees_away_from_parallel(coal):
    rng = np.random.default_rng(4)
    for kinds in itertools.product((Sphere, Capsule), repeat=2):
        for _ in range(200):
            x, y = (random_shape(kind, rng) for kind in kinds)
            if Capsule in kinds and kinds[0] is kinds[1]:
                sine = np.linalg.norm(np.cross(families.unit(x.b - x.a), families.unit(y.b - y.a)))
                if sine < 0.05:
                    continue
            ours = distance(x, y)
            theirs, point_a, point_b, normal = by_coal(coal, x, y)
            assert theirs == pytest.approx(ours.distance, abs=1e-9)
            if ours.axis_distance > 1e-3:
                assert np.allclose(point_a, ours.point_a, atol=1e-9)
                assert np.allclose(point_b, ours.point_b, atol=1e-9)
                assert np.allclose(normal, -ours.normal, atol=1e-9)  # coal's leads from x to y


@pytest.mark.parametrize("angle", [0.0, 1e-12, 1e-10, 1e-8, 1e-6, 1e-5, 1e-4, 1e-3])
@pytest.mark.parametrize("gap", [0.0, 1e-3, 0.3])
def test_coal_agrees_near_parallel(coal, angle, gap):
    for a1, b1, a2, b2 in zip(*families.crossing(np.random.default_rng(6), 150, angle, gap), strict=True):
        x, y = Capsule(a1, b1, 0.05), Capsule(a2, b2, 0.05)
        assert by_coal(coal, x, y)[0] == pytest.approx(distance(x, y).distance, abs=1e-6)  # coal errs by as much


# ---- rows for controllers
@pytest.fixture(scope="module")
def kernel():
    program = trace(lambda _, x, y: pair_row(x, y), None, {"x": (ROW,), "y": (ROW,)}, name="pair_row")
    return kernel_of(program)


def random_rows(rng, n):
    """Capsules, every fifth of them a sphere, with velocities."""
    rows = rng.uniform(-1, 1, (n, ROW))
    rows[:, 6] = rng.uniform(0, 0.3, n)
    rows[::5, 3:6] = rows[::5, :3]
    rows[::5, 10:] = rows[::5, 7:10]
    return rows


def as_capsule(row):
    return Capsule(row[:3], row[3:6], row[6])


def test_the_columns_cover_the_row_once():
    used = np.zeros(WIDTH, dtype=int)
    for column in (DISTANCE, AXIS_DISTANCE, CLOSING, POINT_X, NORMAL, SPEED_Y, LAMBDA_X, LAMBDA_Y):
        used[column] += 1
    assert used.tolist() == [1] * 12
    row = stacked(separation(Capsule(-X, X, 0.1).row(), Capsule(Z - Y, Z + Y, 0.2).row(Z, Z)))
    assert row[DISTANCE] == 0.7
    assert row[AXIS_DISTANCE] == 1.0
    assert row[CLOSING] == -1.0  # y goes up, away from x
    assert row[SPEED_Y] == -1.0
    assert np.allclose(row[POINT_X], O)
    assert row[NORMAL].tolist() == [0, 0, -1]
    assert (row[LAMBDA_X], row[LAMBDA_Y]) == (0.5, 0.5)


def test_rows_floats_and_shapes_tell_the_same(kernel):
    rng = np.random.default_rng(2)
    x, y = random_rows(rng, 60), random_rows(rng, 60)[::-1].copy()
    x[40:, :3], x[40:, 3:6], y[40:, :3], y[40:, 3:6] = families.crossing(rng, 20, 0.06, 0.2)  # within the angle
    table = kernel(x, y)
    for k in range(60):
        shapes = distance(as_capsule(x[k]), as_capsule(y[k]))
        floats, one = pair_row(x[k], y[k]), kernel(x[k], y[k])
        # Contraction to fused products moves the last digits; the point loses the square of the least angle.
        assert np.allclose(table[k], floats, atol=1e-10, rtol=0)
        assert np.allclose(table[k], one, atol=1e-10, rtol=0)
        assert shapes.distance == pytest.approx(table[k, DISTANCE], abs=1e-14)
        assert shapes.axis_distance == pytest.approx(table[k, AXIS_DISTANCE], abs=1e-14)
        assert np.allclose(shapes.normal, table[k, NORMAL], atol=1e-12)
        assert np.allclose(shapes.smooth_a + x[k, 6] * shapes.normal, table[k, POINT_X], atol=1e-10)
        exact = x[k, :3] + (x[k, 3:6] - x[k, :3]) * table[k, LAMBDA_X] - x[k, 6] * shapes.normal
        assert np.allclose(exact, shapes.point_a, atol=1e-10)
        exact = y[k, :3] + (y[k, 3:6] - y[k, :3]) * table[k, LAMBDA_Y] + y[k, 6] * shapes.normal
        assert np.allclose(exact, shapes.point_b, atol=1e-10)
    blended = x[:, :3] + (x[:, 3:6] - x[:, :3]) * table[:, LAMBDA_X, None] - table[:, POINT_X]
    assert (np.linalg.norm(blended[40:], axis=1) > 1e-3).sum() > 10


def after(rows, dt):
    """Rows with every end moved on by its velocity."""
    later = rows.copy()
    later[..., :6] += later[..., 7:] * dt
    return later


def test_closing_is_minus_the_rate_of_the_distance(kernel):
    rng = np.random.default_rng(3)
    x, y = random_rows(rng, 2000), np.roll(random_rows(rng, 2000), 1, axis=0)
    h = 1e-6  # s: central difference, truncation h^2 / distance
    table = kernel(x, y)
    rate = (kernel(after(x, h), after(y, h)) - kernel(after(x, -h), after(y, -h)))[:, AXIS_DISTANCE] / (2 * h)
    apart = table[:, AXIS_DISTANCE] > 0.05
    assert apart.sum() > 1500
    assert np.abs(rate + table[:, CLOSING])[apart].max() < 1e-6  # a few pairs change edge within the step
    assert np.abs(table[:, CLOSING]).max() > 1.0


def test_speed_of_y_is_its_share_of_the_closing(kernel):
    rng = np.random.default_rng(4)
    x, y = random_rows(rng, 500), random_rows(rng, 500)
    both = kernel(x, y)
    x[:, 7:] = 0.0
    still = kernel(x, y)
    s1, s2 = (r[:, 3:6] - r[:, :3] for r in (x, y))
    cosine = np.abs((s1 * s2).sum(1)) / np.maximum(np.linalg.norm(s1, axis=1) * np.linalg.norm(s2, axis=1), 1e-300)
    blended = cosine > np.cos(PARALLEL_ANGLE)  # near parallel it is the speed of the smooth point
    assert blended.mean() < 0.5
    assert np.allclose(still[~blended, CLOSING], still[~blended, SPEED_Y], atol=1e-14)
    assert np.allclose(still[:, SPEED_Y], both[:, SPEED_Y], atol=1e-14)
    towards = Sphere(X, 0.1).row((-0.3, 0, 0))
    assert separation(Sphere(O, 0.1).row(), towards).speed_y == pytest.approx(0.3)
    assert separation(Sphere(O, 0.1).row((0.2, 0, 0)), towards).closing == pytest.approx(0.5)


def test_parked_rows_are_far_and_finite(kernel):
    for x in (Capsule(-X, X, 0.1).row(X, Y), Sphere(O, 0.1).row()):
        row = kernel(x, PARKED)
        assert np.isfinite(row).all()
        assert row[DISTANCE] == pytest.approx(np.sqrt(3) * 1e6, rel=1e-5)
        assert np.linalg.norm(row[NORMAL]) == pytest.approx(1, abs=1e-15)
        assert np.isfinite(kernel(PARKED, x)).all()
    assert np.isfinite(kernel(PARKED, PARKED)).all()
    assert kernel(Capsule(-X, X, 0.1).row(X, X), PARKED)[SPEED_Y] == 0.0


@pytest.mark.parametrize("family", list(families.nasty(np.random.default_rng(5), 8)))
def test_rows_of_every_nasty_family_are_finite_and_pushed_along_a_unit(kernel, family):
    a1, b1, a2, b2 = families.nasty(np.random.default_rng(5), 64)[family]
    x, y = np.random.default_rng(0).uniform(0, 1, (2, 64, ROW))
    x[:, :3], x[:, 3:6], y[:, :3], y[:, 3:6] = a1, b1, a2, b2
    table = kernel(x, y)
    assert np.isfinite(table).all()
    assert np.abs(np.linalg.norm(table[:, NORMAL], axis=1) - 1).max() < 1e-15


def compiled(function, inputs):
    program = trace(lambda _, **rows: stacked(function(**rows)), None, inputs, name="row")
    return kernel_of(program)


def test_rows_against_a_plane_and_a_shell():
    rng = np.random.default_rng(5)
    rows = random_rows(rng, 40)
    floor, shell = HalfSpace(rng.normal(size=3), rng.normal(size=3)), HollowSphere(rng.normal(size=3), 3.0)
    plane_kernel = compiled(separation_from_plane, {"x": (ROW,), "point": (3,), "normal": (3,)})
    shell_kernel = compiled(separation_from_shell, {"x": (ROW,), "center": (3,), "radius": ()})
    h = 1e-6
    for row in rows:
        shape = as_capsule(row)
        for wall, found, rate in (
            (
                floor,
                plane_kernel(row, floor.point, floor.normal),
                lambda r: plane_kernel(r, floor.point, floor.normal)[AXIS_DISTANCE],
            ),
            (
                shell,
                shell_kernel(row, shell.center, shell.radius),
                lambda r: shell_kernel(r, shell.center, shell.radius)[AXIS_DISTANCE],
            ),
        ):
            truth = distance(shape, wall)
            assert found[DISTANCE] == pytest.approx(truth.distance, abs=1e-14)
            assert found[AXIS_DISTANCE] == pytest.approx(truth.axis_distance, abs=1e-14)
            assert found[CLOSING] == pytest.approx((rate(after(row, -h)) - rate(after(row, h))) / (2 * h), abs=1e-8)
            assert found[SPEED_Y] == 0.0
            assert np.allclose(found[POINT_X] - row[6] * found[NORMAL], truth.smooth_a, atol=1e-14)
            assert np.linalg.norm(found[NORMAL]) == pytest.approx(1, abs=1e-15)


@pytest.mark.parametrize(
    "wall", [HalfSpace(O, Z), HollowSphere(-2 * Z, 2.6), HollowSphere(O, 3.0)], ids=["plane", "shell", "around"]
)
def test_smooth_points_move_steadily_along_a_wall(wall):
    """A capsule rocks over a wall: the exact point jumps from end to end, the smooth one crosses over."""
    angles = np.linspace(-0.6, 0.6, 1201)
    axes = [np.cos(angle) * X + np.sin(angle) * Z for angle in angles]
    found = [distance(Capsule(0.5 * Z - t, 0.5 * Z + t, 0.05), wall) for t in axes]

    def strides(name):
        return np.linalg.norm(np.diff([getattr(f, name) for f in found], axis=0), axis=1)

    step = angles[1] - angles[0]  # m, the move of an end
    assert strides("point_a").max() > 0.99
    # The blend changes by 2 / sin(angle) at most, over the half length of 1 m; the turning itself adds to that.
    assert strides("smooth_a").max() < 2.5 / np.sin(PARALLEL_ANGLE) * step
    assert np.allclose(found[600].smooth_a[:2], 0.0, atol=1e-12)  # level: the middle
    if np.linalg.norm(getattr(wall, "center", 3 * Z)) > 1:  # in the centre of a shell the blend is wider
        assert np.array_equal(found[0].smooth_a, found[0].point_a)
        assert np.array_equal(found[-1].smooth_a, found[-1].point_a)


# ---- what the thesis prints (docs/errata.md)
def test_the_factor_missing_in_3_4():
    p0, p1, p2 = np.array([0.5, 1.0, 0.0]), O, 2 * X
    direction = (p2 - p1) / np.linalg.norm(p2 - p1)
    printed = p1 + (p0 - p1) @ direction  # a number on a vector: read as along the axis, below
    along = p1 + ((p0 - p1) @ (p2 - p1) / np.linalg.norm(p2 - p1)) * (p2 - p1)
    found = distance(Capsule(p1, p2, 0), Sphere(p0, 0))
    assert np.allclose(found.point_a, 0.5 * X)
    assert not np.allclose(printed, 0.5 * X)
    assert np.allclose(along, 1.0 * X)  # too far by the length of the axis


def test_the_order_of_the_unknowns_in_algorithm_3_1():
    """x = (lambda2, lambda1), as (3.20), (3.21), (3.36), (3.37) take it; the algorithm's output says the reverse."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        a1, b1, a2, b2 = rng.normal(size=(4, 3))
        row = stacked(separation(Capsule(a1, b1, 0).row(), Capsule(a2, b2, 0).row()))
        A, y = np.column_stack([b2 - a2, a1 - b1]), a1 - a2  # (3.23), (3.24)
        right = np.linalg.norm(A @ [row[LAMBDA_Y], row[LAMBDA_X]] - y)
        printed = np.linalg.norm(A @ [row[LAMBDA_X], row[LAMBDA_Y]] - y)
        assert right == pytest.approx(row[DISTANCE], abs=1e-14)
        assert printed >= right - 1e-14
    assert printed > right + 1e-3


def test_the_bounds_of_3_26_and_3_27_are_attained():
    """With open bounds most pairs would have no nearest points at all."""
    rng = np.random.default_rng(0)
    ends = 0
    for _ in range(200):
        row = pair_row(*(Capsule(*rng.normal(size=(2, 3)), 0).row() for _ in range(2)))
        ends += row[LAMBDA_X] in (0.0, 1.0) or row[LAMBDA_Y] in (0.0, 1.0)
    assert ends > 100
