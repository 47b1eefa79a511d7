"""Segments: the distance against exact arithmetic, the points against their definition, and how smooth points move."""

from __future__ import annotations

import exact_segments
import families
import numpy as np
import pytest
from scipy.optimize import lsq_linear

from elbowroom.algebra import trace
from elbowroom.compile import compiled as kernel_of
from elbowroom.geometry import PARALLEL_ANGLE
from elbowroom.geometry.segments import least_distance, nearest, projection

ENDS = dict.fromkeys(("a1", "b1", "a2", "b2"), (3,))
NASTY = families.nasty(np.random.default_rng(5))


@pytest.fixture(scope="module")
def kernels():
    """`nearest` and `least_distance`, compiled."""

    def compiled(function, name):
        program = trace(lambda _, **ends: function(**ends), None, ENDS, name=name)
        return kernel_of(program)

    return compiled(nearest, "nearest"), compiled(least_distance, "least_distance")


def three_ways(kernels, pairs):
    """Distances by the compiled points, the compiled (3.39), and floats in NumPy."""
    columns = [np.ascontiguousarray(p).T for p in pairs]
    rows = [np.ascontiguousarray(p) for p in pairs]
    return {
        "compiled": kernels[0](*rows).distance,
        "compiled (3.39)": kernels[1](*rows),
        "floats": nearest(*columns).distance,
        "floats (3.39)": least_distance(*columns),
    }


# ---- the judge
def test_the_judge_agrees_with_bounded_least_squares():
    """scipy's solver stops at a tolerance; the judge does not."""
    pairs = families.random(np.random.default_rng(0), 60)
    judged = exact_segments.distances(*pairs)
    for truth, a1, b1, a2, b2 in zip(judged, *pairs, strict=True):
        found = lsq_linear(np.column_stack([b2 - a2, a1 - b1]), a1 - a2, bounds=(0, 1), method="bvls", tol=1e-15)
        assert np.sqrt(2 * found.cost) == pytest.approx(truth, abs=1e-12)  # bvls is a direct method on two unknowns


def test_the_judge_has_no_rounding_before_the_end():
    third = [1 / 3, 0.0, 0.0]
    shifted = [np.nextafter(1 / 3, 1), 0.0, 0.0]
    gap = exact_segments.distances([third], [third], [shifted], [shifted])
    assert gap[0] == shifted[0] - third[0] > 0


# ---- the distance
@pytest.mark.slow
def test_a_hundred_thousand_random_pairs(kernels):
    pairs = families.random(np.random.default_rng(1), 100_000)
    truth = exact_segments.distances(*pairs, shift=60)
    for way, found in three_ways(kernels, pairs).items():
        assert np.abs(found - truth).max() < 1e-14, way  # ends of a metre, a dozen roundings: measured 7e-16


@pytest.mark.parametrize("family", NASTY)
def test_every_nasty_family(kernels, family):
    pairs = NASTY[family]
    truth = exact_segments.distances(*pairs)
    size = max(np.abs(p).max() for p in pairs)
    for way, found in three_ways(kernels, pairs).items():
        # As above, and 3.6e-15 of the axes' length where they are said to cross: measured 6e-15 at most.
        assert np.abs(found - truth).max() < 2e-14 * max(size, 1.0), way


def test_the_normal_equations_would_lose_half_of_the_digits():
    """Why w meets the part of y across s2 and not y itself: with y, L is that of (3.18)."""
    a1, b1, a2, b2 = families.crossing(np.random.default_rng(2), 2000, 1e-8, 0.0)
    s1, s2, y = b1 - a1, b2 - a2, a1 - a2

    def dot(a, b):
        return (a * b).sum(axis=1)

    det = dot(s1, s1) * dot(s2, s2) - dot(s1, s2) ** 2
    with np.errstate(divide="ignore", invalid="ignore"):
        L = np.clip((dot(s1, s2) * dot(s2, y) - dot(s1, y) * dot(s2, s2)) / det, 0, 1)
    r1 = a1 + s1 * np.where(det > 0, L, 0)[:, None]
    r2 = a2 + s2 * projection(r1.T, a2.T, b2.T)[:, None]
    r1 = a1 + s1 * projection(r2.T, a1.T, b1.T)[:, None]
    truth = exact_segments.distances(a1, b1, a2, b2)
    assert np.abs(np.linalg.norm(r1 - r2, axis=1) - truth).max() > 1e-10
    assert np.abs(nearest(a1.T, b1.T, a2.T, b2.T).distance - truth).max() < 1e-14


# ---- the points
@pytest.mark.parametrize("family", NASTY)
def test_points_lie_on_the_segments_at_the_distance_and_the_normal_is_a_unit(kernels, family):
    a1, b1, a2, b2 = pairs = tuple(np.ascontiguousarray(p) for p in NASTY[family])
    near = kernels[0](*pairs)
    for part in (near.lambda1, near.lambda2, near.smooth1, near.smooth2):
        assert part.min() >= 0.0
        assert part.max() <= 1.0
    r1, r2 = a1 + (b1 - a1) * near.lambda1[:, None], a2 + (b2 - a2) * near.lambda2[:, None]
    size = max(1.0, max(np.abs(p).max() for p in pairs))
    assert np.abs(np.linalg.norm(r1 - r2, axis=1) - near.distance).max() < 5e-15 * size  # the crossing bound
    normal = near.normal
    assert np.abs(np.linalg.norm(normal, axis=1) - 1).max() < 1e-15  # a root, a division, a product
    apart = near.distance > 1e-3
    assert np.allclose(normal[apart] * near.distance[apart, None], (r1 - r2)[apart], atol=1e-14 * size, rtol=0)


def test_each_point_is_the_projection_of_the_other():
    a1, b1, a2, b2 = (p.T for p in families.random(np.random.default_rng(3), 20_000))
    near = nearest(a1, b1, a2, b2)
    r1, r2 = a1 + (b1 - a1) * near.lambda1, a2 + (b2 - a2) * near.lambda2
    assert np.abs(projection(r2, a1, b1) - near.lambda1).max() < 1e-9  # least angles of 1e-3 cost the square of it
    assert np.abs(projection(r1, a2, b2) - near.lambda2).max() < 1e-9


def test_every_edge_and_the_inside_occur_among_the_random_pairs():
    near = nearest(*(p.T for p in families.random(np.random.default_rng(3), 20_000)))
    one, two = near.lambda1, near.lambda2
    inside1, inside2 = (one > 0) & (one < 1), (two > 0) & (two < 1)
    for count in (
        (inside1 & inside2).sum(),
        (inside1 & (two == 0)).sum(),
        (inside1 & (two == 1)).sum(),
        (inside2 & (one == 0)).sum(),
        (inside2 & (one == 1)).sum(),
        *(((one == k) & (two == m)).sum() for k in (0, 1) for m in (0, 1)),
    ):
        assert count > 300


@pytest.mark.parametrize(
    "start, end, middle1, middle2",
    [
        (0.25, 0.75, 0.5, 0.5),  # within
        (0.5, 1.5, 0.75, 0.25),  # over the end
        (-0.5, 0.5, 0.25, 0.75),  # over the start
        (-1.0, 3.0, 0.5, 0.375),  # all of the first
        (1.0, 2.0, 1.0, 0.0),  # end to end
        (1.5, 2.0, 1.0, 0.0),  # beyond
        (-2.0, -0.5, 0.0, 1.0),  # before
        (1.5, 0.5, 0.75, 0.75),  # antiparallel
        (2.0, 1.5, 1.0, 1.0),  # antiparallel, beyond
    ],
)
@pytest.mark.parametrize("gap", [0.0, 0.3])
@pytest.mark.parametrize("direction", [(1.0, 0.0, 0.0), (1 / 3, 0.7, -0.1), (0.0, 1e-3, 2.0)])
def test_parallel_segments_meet_in_the_middle_of_the_overlap(kernels, start, end, middle1, middle2, gap, direction):
    s = np.array(direction)
    over = families.unit(np.cross(s, (0.3, -0.5, 0.8))) * gap
    a1 = np.array([0.1, 0.2, 0.3])
    ends = a1, a1 + s, a1 + s * start + over, a1 + s * end + over
    for near in (nearest(*ends), kernels[0](*ends)):
        assert near.lambda1 == pytest.approx(middle1, abs=1e-14)  # ends are rounded when they are made
        assert near.lambda2 == pytest.approx(middle2, abs=1e-14)
        assert near.smooth1 == pytest.approx(middle1, abs=1e-14)
        assert near.smooth2 == pytest.approx(middle2, abs=1e-14)


# ---- a point and a segment: the three configurations of section 3.6.2, and their boundaries
@pytest.mark.parametrize(
    "p, part",
    [
        ((0.5, 1.0, 0.0), 0.25),  # first configuration (3.3)-(3.5)
        ((-0.5, 1.0, 0.0), 0.0),  # second (3.6)-(3.7)
        ((2.5, 1.0, 0.0), 1.0),  # third (3.8)-(3.9)
        ((0.0, 1.0, 0.0), 0.0),  # projection exactly on an end: in none of the printed branches
        ((2.0, 1.0, 0.0), 1.0),
        ((0.0, 0.0, 0.0), 0.0),  # the end itself
        ((1.0, 0.0, 0.0), 0.5),  # on the axis
        ((-3.0, 0.0, 0.0), 0.0),
    ],
)
def test_the_three_configurations_and_their_boundaries(p, part):
    a, b = (0.0, 0.0, 0.0), (2.0, 0.0, 0.0)
    assert projection(p, a, b) == part
    near = nearest(p, p, a, b)
    assert near.lambda2 == part
    assert near.distance == np.linalg.norm(np.subtract(p, (2 * part, 0, 0)))
    swapped = nearest(a, b, p, p)
    assert swapped.lambda1 == part
    assert swapped.distance == near.distance


def test_a_point_projects_on_a_point():
    assert projection((1.0, 2.0, 3.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)) == 0.0


# ---- smooth points
def motions(rng, n, steps):
    """n turns of the first segment through parallel to the second, about any axis across and any pivot on it."""
    along, across, _ = (axis[:, None] for axis in families.frames(rng, n))
    angle = np.linspace(-0.5, 0.5, steps)[None, :, None]
    turned = along * np.cos(angle) + across * np.sin(angle)
    length1, length2 = rng.uniform(0.2, 1, (2, n, 1, 1))
    shift = along * rng.uniform(-1.3, 1.3, (n, 1, 1)) + families.unit(rng.normal(size=(n, 1, 3))) * rng.uniform(
        0.05, 0.4, (n, 1, 1)
    )
    a1 = shift - turned * length1 * rng.uniform(0, 1, (n, 1, 1))
    a2 = np.zeros((n, steps, 3))
    return a1, a1 + turned * length1, a2, a2 + along * length2


def strides(pairs):
    """Over each step: the largest move of an end, and how far the exact and smooth points and the normal went."""
    a1, b1, a2, b2 = pairs
    near = nearest(*(np.moveaxis(p, -1, 0) for p in pairs))

    def stride(x):
        return np.linalg.norm(np.diff(x, axis=1), axis=-1)

    def at(a, b, part):
        return a + (b - a) * part[..., None]

    exact = np.maximum(stride(at(a1, b1, near.lambda1)), stride(at(a2, b2, near.lambda2)))
    smooth = np.maximum(stride(at(a1, b1, near.smooth1)), stride(at(a2, b2, near.smooth2)))
    turn = stride(np.moveaxis(np.array(near.normal), 0, -1)) * near.distance[:, 1:]
    return np.maximum(stride(a1), stride(b1)), exact, smooth, turn


def test_smooth_points_move_steadily_where_exact_points_jump():
    coarse, fine = (motions(np.random.default_rng(7), 150, steps) for steps in (401, 4001))
    (move, exact, smooth, turn), (_, exact_fine, smooth_fine, turn_fine) = strides(coarse), strides(fine)
    jumps = exact_fine.max(axis=1) > 0.05
    assert jumps.sum() > 50  # the finer steps do not shorten the jumps
    assert exact_fine[jumps].max() > 0.9 * exact[jumps].max() > 0.3
    # A tenth of the step, a tenth of the stride (a fifth where a kink falls into a step).
    assert smooth_fine.max() < 0.2 * smooth.max()
    assert turn_fine.max() < 0.2 * turn.max()
    # The weight changes by 2 / sin(angle) at most, over half a length; the exact point itself runs at 1 / sin(angle)
    # times the ends there, more with distance: together below 4 / sin(angle) for what is within half a metre.
    assert (smooth / move).max() < 4 / np.sin(PARALLEL_ANGLE)


def test_smooth_points_are_exact_outside_of_the_angle():
    rng = np.random.default_rng(8)
    for angle in (PARALLEL_ANGLE, 0.3):
        pairs = [p.T for p in families.crossing(rng, 500, angle + 1e-9, 0.1)]
        near = nearest(*pairs, angle)
        assert np.array_equal(near.smooth1, near.lambda1)
        assert np.array_equal(near.smooth2, near.lambda2)
        inside = nearest(*(p.T for p in families.crossing(rng, 500, 0.7 * angle, 0.1)), angle)
        assert (np.abs(inside.smooth1 - inside.lambda1) > 0.01).mean() > 0.5


def test_smooth_points_stay_under_the_skin():
    """`Separation` says so: at most radius (1 - cos angle) below the surface."""
    rng = np.random.default_rng(9)
    for tilt in np.radians((1, 3, 5, 7, 9)):
        a1, b1, a2, b2 = (p.T for p in families.crossing(rng, 4000, tilt, rng.uniform(1e-3, 0.5, (4000, 1))))
        near = nearest(a1, b1, a2, b2)
        point = a1 + (b1 - a1) * near.smooth1 - np.array(near.normal)  # radius 1
        foot = a1 + (b1 - a1) * projection(point, a1, b1)
        assert np.linalg.norm(point - foot, axis=0).min() > np.cos(PARALLEL_ANGLE)


@pytest.mark.parametrize("family", [name for name in NASTY if "1e-" not in name])
def test_swapped_segments_have_swapped_points(family):
    a1, b1, a2, b2 = (p.T for p in NASTY[family])
    one, two = nearest(a1, b1, a2, b2), nearest(a2, b2, a1, b1)
    size = max(1.0, max(np.abs(p).max() for p in NASTY[family]))
    assert np.abs(one.distance - two.distance).max() < 1e-14 * size
    if family == "both one point" or "nearly" in family:  # any of many points is right at an angle of rounding error
        return
    for ends, mine, theirs in (((a1, b1), "1", "2"), ((a2, b2), "2", "1")):
        for kind in ("lambda", "smooth"):
            gap = (getattr(one, kind + mine) - getattr(two, kind + theirs)) * np.linalg.norm(ends[1] - ends[0], axis=0)
            assert np.abs(gap).max() < 1e-11 * size  # a random angle of 1e-2 costs the square of it


# ---- cost
def test_the_count_of_the_distance_alone_is_a_third_less():
    whole = trace(lambda _, **ends: nearest(**ends), None, ENDS).count
    alone = trace(lambda _, **ends: least_distance(**ends), None, ENDS).count
    assert alone.total + alone.other < 0.75 * (whole.total + whole.other)
    assert alone.div == 3
    assert alone.sqrt == 1
    assert whole.div == 4
    assert whole.sqrt == 1
