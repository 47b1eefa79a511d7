"""Closest points of two segments by the thesis' QR and parallelogram method (section 3.6.3, Algorithm 3.1).

The segments are r1 = p1 + s1 lambda1 (3.14) and r2 = p2 + s2 lambda2 (3.15).  Their nearest points solve a
least-squares problem whose two unknowns are bounded (3.22)-(3.27):

    min |A x - y|,   A = [s2, -s1],   y = p1 - p2,   x = (lambda2, lambda1),   0 <= x <= 1

With A = Q R the unknowns go over to u = R x - Q^T y (3.31).  The unit square of x becomes a parallelogram, and the
answer is its point nearest to the origin: the origin itself if it lies inside (3.33), else a point of one of its edges.

Gram-Schmidt needs no root here.  With t = s1.s2 / |s2|^2, w = t s2 - s1 and y' = y - T0 s2 (the parts of -s1 and y
across s2), R = [[|s2|, -t |s2|], [0, |w|]], and

    |u|^2 = |s2|^2 (lambda2 - T)^2 + |w|^2 (lambda1 - L)^2
    T = T0 + t lambda1,   T0 = y.s2 / |s2|^2,   L = w.y' / |w|^2

An edge is an end of one segment and its projection on the other.  Projecting y before w meets it (y', not y) is what
keeps the distance right to rounding error when the segments are nearly parallel: see docs/avoidance/distances.md.

Everything here takes any scalar: floats, Expr to trace, or arrays of floats for many pairs at once.  Points are
sequences of three scalars.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from ..algebra import Array, Condition, Scalar, absolute, maximum, minimum, sin, sqrt, where

PARALLEL_ANGLE = math.radians(10.0)  # the thesis' tolerance (3.13): below it, closest points are blended
POINT = 1e-36  # m^2: an axis shorter than 1e-18 m is a point
PARALLEL = 2.0**-92  # sine squared: nearer to parallel than 1.4e-14 is parallel, rounding hides the rest
STILL = 1e-9  # m: a segment that moves less along an edge of a box lies across it
CROSSING = 2.0**-96  # axes nearer than 3.6e-15 of their size cross, likewise

Three = tuple[Scalar, Scalar, Scalar]
Point = Sequence[Scalar] | Array


class NearestPoints(NamedTuple):
    """Where two segments are nearest, in parts of their lengths (0 to 1), and how the one lies from the other."""

    lambda1: Scalar  # exact; the middle of the overlap where the segments are parallel
    lambda2: Scalar
    smooth1: Scalar  # blended with the middle of the overlap below the parallel angle
    smooth2: Scalar
    distance: Scalar  # of the two points, 0 where they meet to rounding error
    normal: Three  # unit, from the second segment to the first


def minus(a: Point, b: Point) -> Three:
    """a - b."""
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


def dot(a: Point, b: Point) -> Scalar:
    """a . b."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def along(a: Point, s: Point, part: Scalar) -> Three:
    """The point a + s part."""
    return a[0] + s[0] * part, a[1] + s[1] * part, a[2] + s[2] * part


def chosen(condition: Condition, a: Point, b: Point) -> Three:
    """a where the condition holds, else b."""
    return where(condition, a[0], b[0]), where(condition, a[1], b[1]), where(condition, a[2], b[2])


def inverse(square: Scalar) -> Scalar:
    """1 / square of a length; 0 for the length of a point, so that every part of it is its start."""
    there = square > POINT
    return where(there, 1.0 / where(there, square, 1.0), 0.0)


def clamped(x: Scalar) -> Scalar:
    """x within 0 and 1."""
    return minimum(maximum(x, 0.0), 1.0)


def projection(p: Point, a: Point, b: Point) -> Scalar:
    """The part (0 to 1) of the segment from a to b that is nearest to a point: (3.3)-(3.9) with their boundaries."""
    s = minus(b, a)
    return clamped(dot(minus(p, a), s) * inverse(dot(s, s)))


class _Frame(NamedTuple):
    """A = QR in the root-free form of the module's docstring."""

    y: Three
    s1: Three
    s2: Three
    across1: Three  # w
    across_y: Three  # y'
    s11: Scalar
    s22: Scalar
    ww: Scalar
    inverse11: Scalar
    t: Scalar
    T0: Scalar
    L: Scalar
    parallel: Condition


class _Edges(NamedTuple):
    """The point of each edge that is nearest to the origin: the end of one segment, projected on the other."""

    on2_of_start1: Scalar
    on2_of_end1: Scalar
    on1_of_start2: Scalar
    on1_of_end2: Scalar


def _factorised(
    a1: Point, b1: Point, a2: Point, b2: Point, inverse11: Scalar | None = None, inverse22: Scalar | None = None
) -> _Frame:
    s1, s2, y = minus(b1, a1), minus(b2, a2), minus(a1, a2)  # (3.10), (3.11), (3.24)
    s11, s22 = dot(s1, s1), dot(s2, s2)
    inverse11 = inverse(s11) if inverse11 is None else inverse11
    inverse22 = inverse(s22) if inverse22 is None else inverse22
    t, T0 = dot(s1, s2) * inverse22, dot(y, s2) * inverse22
    w = (s2[0] * t - s1[0], s2[1] * t - s1[1], s2[2] * t - s1[2])
    across_y = (y[0] - s2[0] * T0, y[1] - s2[1] * T0, y[2] - s2[2] * T0)
    ww = dot(w, w)
    L = dot(w, across_y) * inverse(ww)
    return _Frame(y, s1, s2, w, across_y, s11, s22, ww, inverse11, t, T0, L, ww <= s11 * PARALLEL)


def _edges(f: _Frame) -> _Edges:
    S0 = -(dot(f.y, f.s1) * f.inverse11)
    S1 = S0 + dot(f.s1, f.s2) * f.inverse11
    return _Edges(clamped(f.T0), clamped(f.T0 + f.t), clamped(S0), clamped(S1))


def _size(f: _Frame, lambda1: Scalar, lambda2: Scalar) -> Scalar:
    """|u|^2."""
    gap, shift = lambda2 - (f.T0 + f.t * lambda1), lambda1 - f.L
    return f.s22 * (gap * gap) + f.ww * (shift * shift)


def _nearest_edge(f: _Frame, edges: _Edges) -> Three:
    """lambda1, lambda2 and |u|^2 on the edge nearest to the origin (Algorithm 3.1, lines 5 to 14)."""

    def nearer(one: Three, other: Three) -> Three:
        return chosen(one[2] <= other[2], one, other)

    corners = (
        (0.0, edges.on2_of_start1),
        (1.0, edges.on2_of_end1),
        (edges.on1_of_start2, 0.0),
        (edges.on1_of_end2, 1.0),
    )
    c = [(lambda1, lambda2, _size(f, lambda1, lambda2)) for lambda1, lambda2 in corners]
    return nearer(nearer(c[0], c[1]), nearer(c[2], c[3]))


def _inside(f: _Frame, T: Scalar) -> Condition:
    """Whether the origin lies in the parallelogram (Algorithm 3.1, line 2), its edges included."""
    return (f.L >= 0.0) & (f.L <= 1.0) & (T >= 0.0) & (T <= 1.0)


def least_distance(a1: Point, b1: Point, a2: Point, b2: Point) -> Scalar:
    """Distance of two segments without their points."""
    return sqrt(least_square(a1, b1, a2, b2))


def least_square(
    a1: Point, b1: Point, a2: Point, b2: Point, inverse11: Scalar | None = None, inverse22: Scalar | None = None
) -> Scalar:
    """The same squared, (3.39): |u_min|^2 and the part of y across both.

    inverse11, inverse22: 1 / |s1|^2 and 1 / |s2|^2 where they are known, 0 for a point; else they are computed.
    """
    f = _factorised(a1, b1, a2, b2, inverse11, inverse22)
    inside = _inside(f, f.T0 + f.t * f.L)
    u = where(inside, 0.0, _nearest_edge(f, _edges(f))[2])
    across_both = along(f.across_y, f.across1, -f.L)
    return u + dot(across_both, across_both)


def least_square_to_box(a: Point, b: Point, half: Point) -> Scalar:
    """Squared distance of the segment from a to b to a box about the origin with these half edges, 0 where they meet.

    With e_i = max(|p_i| - h_i, 0) along p = a + s t, half the derivative of |e|^2 is g(t) = sum s_i sign(p_i) e_i.  It
    does not fall, and it is linear between the places where the segment passes one of the six planes.  So the least is
    where the line through the last value below zero and the first above meets zero, or at an end.
    """
    s = minus(b, a)

    def excess(t: Scalar) -> Three:
        p = along(a, s, t)
        return tuple(p[i] - minimum(maximum(p[i], -half[i]), half[i]) for i in range(3))  # type: ignore[return-value]

    def slope(t: Scalar) -> Scalar:
        return dot(s, excess(t))

    low: Scalar = 0.0
    high: Scalar = 1.0
    below, above = slope(0.0), slope(1.0)
    first, last = below, above
    for i in range(3):
        moves = absolute(s[i]) > STILL
        per = 1.0 / where(moves, s[i], 1.0)
        for plane in (-half[i], half[i]):
            t = clamped((plane - a[i]) * per)
            t = where(moves, t, 0.0)
            g = slope(t)
            later, sooner = (g <= 0.0) & (t >= low), (g >= 0.0) & (t <= high)
            low, below = where(later, t, low), where(later, g, below)
            high, above = where(sooner, t, high), where(sooner, g, above)
    rise = above - below
    t = low - below * (high - low) / where(rise > 0.0, rise, 1.0)
    t = where(first >= 0.0, 0.0, where(last <= 0.0, 1.0, t))
    e = excess(t)
    return dot(e, e)


def nearest(a1: Point, b1: Point, a2: Point, b2: Point, angle: Scalar = PARALLEL_ANGLE) -> NearestPoints:
    """Algorithm 3.1 with (3.36), (3.37), for the segments a1 to b1 and a2 to b2; see `NearestPoints`."""
    f = _factorised(a1, b1, a2, b2)
    edges = _edges(f)
    middle1 = 0.5 * (edges.on1_of_start2 + edges.on1_of_end2)  # of the overlap, as if parallel
    middle2 = 0.5 * (edges.on2_of_start1 + edges.on2_of_end1)

    T = f.T0 + f.t * f.L
    inside = _inside(f, T)
    edge1, edge2, _ = _nearest_edge(f, edges)
    lambda1 = where(f.parallel, middle1, where(inside, f.L, edge1))
    lambda2 = where(f.parallel, middle2, where(inside, T, edge2))

    # One at parallel; at the tolerance and beyond zero, by the square of the sine, since that is how fast, near
    # parallel, the exact points run with the tilt of the axes.
    blend = maximum(1.0 - f.ww * f.inverse11 * (1.0 / sin(angle) ** 2), 0.0)
    smooth1, smooth2 = lambda1 + blend * (middle1 - lambda1), lambda2 + blend * (middle2 - lambda2)

    apart = along(along(f.y, f.s1, lambda1), f.s2, -lambda2)  # r1 - r2
    square = dot(apart, apart)
    crossing = square <= (f.s11 + f.s22) * CROSSING
    direction = chosen(crossing, _crossing_normal(f), apart)
    root = sqrt(dot(direction, direction))
    inverse_root = 1.0 / root
    normal = direction[0] * inverse_root, direction[1] * inverse_root, direction[2] * inverse_root
    return NearestPoints(lambda1, lambda2, smooth1, smooth2, where(crossing, 0.0, root), normal)


def _crossing_normal(f: _Frame) -> Three:
    """A direction (of any length) for axes that meet: across both; across the longer if parallel; up for two points."""
    (x1, y1, z1), (x2, y2, z2) = f.s1, f.s2
    across_both = (y1 * z2 - z1 * y2, z1 * x2 - x1 * z2, x1 * y2 - y1 * x2)
    x, y, z = chosen(f.s11 >= f.s22, f.s1, f.s2)
    across_one = chosen(x * x > z * z, (-y, x, 0.0), (0.0, -z, y))
    flat = chosen(f.s11 + f.s22 > POINT, across_one, (0.0, 0.0, 1.0))
    return chosen((f.ww > f.s11 * PARALLEL) & (minimum(f.s11, f.s22) > POINT), across_both, flat)
