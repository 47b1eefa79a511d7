"""Crossing a joint: how vectors, forces, motions, tensors and bodies go from one link's frame to the next.

A placement is split where that is cheaper than its whole.  The fixed rotation E and the turn Rz(q) follow each other,
two rotations in a plane (8 multiplications a vector) instead of one in space.  A rotation E = Rx(alpha) Rz(theta) gives
its theta to the joint angle.  And a Denavit-Hartenberg offset p = a x + d (own z) is two shifts along one axis each, 4
multiplications where a full cross product takes 6.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..algebra import Expr, Scalar, cos, cross, sin
from ..algebra.linalg import (
    Array,
    is_constant,
    placed_matrix,
    symmetric,
    turned_back_vector,
    turned_matrix,
    turned_vector,
    vector,
)
from ..algebra.loops import each, unzipped
from ..model import Model
from ..model.rotations import cos_sin

Z = np.array([0.0, 0.0, 1.0])


class Screw(NamedTuple):
    """An offset as two shifts: along x before the twist, along the joint's own z after it."""

    along_x: Scalar
    along_z: Scalar


class Joints:
    """Every joint at q."""

    def __init__(self, model: Model, q: Array) -> None:
        self.model = model
        parts = unzipped(each(model.n, lambda i: _placed(model, i, q)), 4)
        self.twist: list[Array] = parts[0]  # the fixed rotation, less what the turn has taken over
        self.turn: list[tuple[Scalar, Scalar] | None] = parts[1]  # cos, sin of the turn about z; None: it slides
        self.offset: list[Array] = parts[2]  # to frame i, in frame i-1
        self.screw: list[Screw | None] = parts[3]

    def inward(self, i: int, v: Array) -> Array:
        """A vector of frame i in the axes of frame i-1."""
        turn = self.turn[i]
        return self.twist[i] @ (v if turn is None else turned_vector(*turn, v))

    def outward(self, i: int, v: Array) -> Array:
        """A vector of frame i-1 in the axes of frame i."""
        turn = self.turn[i]
        v = self.twist[i].T @ v
        return v if turn is None else turned_back_vector(*turn, v)

    def tensor_inward(self, i: int, S: Array, *, is_symmetric: bool = True) -> Array:
        """A (3, 3) tensor of frame i in the axes of frame i-1."""
        turn = self.turn[i]
        S = S if turn is None else turned_matrix(*turn, S)
        return placed_matrix(self.twist[i], S, is_symmetric=is_symmetric)

    def turned(self, i: int, R: Array) -> Array:
        """R Rz of the turn of joint i: the columns of R mixed in a plane."""
        turn = self.turn[i]
        if turn is None:
            return R
        c, s = turn
        x, y, z = R.T
        return np.array([c * x + s * y, c * y - s * x, z]).T

    def force_inward(self, i: int, n: Array, f: Array) -> tuple[Array, Array]:
        """A moment about frame i and a force, about frame i-1 and in its axes: n + p x f and f, turned."""
        screw, turn = self.screw[i], self.turn[i]
        if screw is None:
            f = self.inward(i, f)
            return self.inward(i, n) + cross(self.offset[i], f), f
        if turn is not None:
            n, f = turned_vector(*turn, n), turned_vector(*turn, f)
        n = n + vector(-screw.along_z * f[1], screw.along_z * f[0], 0.0)
        n, f = self.twist[i] @ n, self.twist[i] @ f
        return n + vector(0.0, -screw.along_x * f[2], screw.along_x * f[1]), f

    def motion_outward(self, i: int, w: Array, v: Array) -> tuple[Array, Array]:
        """An angular velocity, and a velocity of frame i-1's origin, at frame i and in its axes: w and v + w x p."""
        screw, turn = self.screw[i], self.turn[i]
        if screw is None:
            return self.outward(i, w), self.outward(i, v + cross(w, self.offset[i]))
        v = v + vector(0.0, screw.along_x * w[2], -screw.along_x * w[1])
        w, v = self.twist[i].T @ w, self.twist[i].T @ v
        v = v + vector(screw.along_z * w[1], -screw.along_z * w[0], 0.0)
        if turn is not None:
            w, v = turned_back_vector(*turn, w), turned_back_vector(*turn, v)
        return w, v

    def body_inward(self, i: int, mass: Scalar, h: Array, inertia: Array) -> tuple[Array, Array]:
        """First moment and inertia about frame i of a body of some mass, about frame i-1."""
        screw, turn = self.screw[i], self.turn[i]
        if screw is None:
            return shifted(mass, self.inward(i, h), self.tensor_inward(i, inertia), self.offset[i])
        if turn is not None:
            h, inertia = turned_vector(*turn, h), turned_matrix(*turn, inertia)
        h, inertia = shifted(mass, h, inertia, vector(0.0, 0.0, screw.along_z))
        h, inertia = self.twist[i] @ h, placed_matrix(self.twist[i], inertia)
        return shifted(mass, h, inertia, vector(screw.along_x, 0.0, 0.0))


def _placed(model: Model, i: int, q: Array) -> tuple[Array, tuple[Scalar, Scalar] | None, Array, Screw | None]:
    """Twist, turn, offset and screw of joint i at q."""
    at, split = q[i], model.split(i)
    if model.revolute(i):
        screw = None if split.along_z is None else Screw(model.p[i][0], split.along_z)
        return split.twist, _turn(at, split.theta), model.p[i], screw
    offset, screw = model.p[i] + model.E[i][:, 2] * at, None
    if split.along_z is not None and is_constant(split.theta, 0.0):
        screw = Screw(model.p[i][0], split.along_z + at)
    return model.E[i], None, offset, screw


def _turn(q: Scalar, theta: Scalar) -> tuple[Scalar, Scalar]:
    """cos and sin of q + theta; a quarter turn only swaps and signs them."""
    if is_constant(theta, 0.0):
        return cos(q), sin(q)
    if type(theta) is not Expr:
        c0, s0 = cos_sin(theta)
        if c0 in (0.0, 1.0, -1.0):
            c, s = cos(q), sin(q)
            return c0 * c - s0 * s, s0 * c + c0 * s
    return cos(q + theta), sin(q + theta)


def shifted(mass: Scalar, h: Array, inertia: Array, p: Array) -> tuple[Array, Array]:
    """First moment w = h + m p and inertia about a point that the body's origin is at p from.

    I_ab - p_a h_b - w_a p_b off the diagonal, I_aa + sum_{b != a} p_b (h_b + w_b) on it.
    """
    w = h + mass * p
    (px, py, pz), (hx, hy, hz), (wx, wy, wz) = p.tolist(), h.tolist(), w.tolist()
    x, y, z = px * (hx + wx), py * (hy + wy), pz * (hz + wz)
    shift = symmetric(y + z, x + z, x + y, -(px * hy + wx * py), -(py * hz + wy * pz), -(px * hz + wx * pz))
    return w, inertia + shift
