"""Where the links are and how they move: frames, Jacobians, their rates, and accelerations frame by frame.

    R_i = R_{i-1} E_i Rz(q_i)       p_i = p_{i-1} + R_{i-1} (p_i at q_i)             frames in the world
    Jv_j = z_j x (x - p_j), Jw_j = z_j        a revolute joint moving the point x
    Jv_j = z_j,             Jw_j = 0          a prismatic one

The acceleration of a point splits by the frame that injects it (thesis, Appendix II, 2.74-2.78): frame j gives a
tangential part qdd_j z_j x r, a normal part qd_j^2 z_j x (z_j x r) and a Coriolis part 2 qd_j z_j x v^r, where r runs
from frame j to the point and v^r is the velocity that the frames beyond j give it.  A prismatic frame injects qdd_j z_j
alone; its own velocity enters v^r of the frames before it.
"""

from __future__ import annotations

from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..algebra import cross
from ..algebra.linalg import Array, matrix, vector
from ..algebra.loops import each, length, scan, unzipped
from ..errors import ShapeError, UnknownNameError
from ..model import Model
from .joints import Joints as Joints
from .joints import Z as Z


class Frames(NamedTuple):
    """The link frames in the world."""

    R: list[Array]  # n of (3, 3)
    p: list[Array]  # n of (3,)

    @property
    def z(self) -> list[Array]:
        """The joint axes."""
        axes: list[Array] = each(length(self.R), lambda i: self.R[i][:, 2])
        return axes

    def point(self, i: int, local: Array) -> Array:
        """A point of link i in the world."""
        return self.p[i] + self.R[i] @ local


class Jacobian(NamedTuple):
    """The Jacobian of a point, in its two halves, or the time derivative of one: `Jv, Jw = arm.jacobian(q)`.

    Jv    (3, n), the point's velocity: v = Jv qd, m/s
    Jw    (3, n), its link's angular velocity: w = Jw qd, rad/s

    World axes; of a batch of B states each half is (B, 3, n).  `np.vstack` makes one (6, n) matrix of the two.
    """

    Jv: NDArray[np.float64]
    Jw: NDArray[np.float64]

    @property
    def shape(self) -> NoReturn:
        """There is none: each half has its own."""
        raise AttributeError(
            "jacobian gives 2 arrays, each with its own shape: Jv, Jw = ...; np.vstack makes one of them"
        )


class Injected(NamedTuple):
    """The acceleration of a point, by the frame that injects it and by kind, world axes; the sum over all is it.

    Of a batch of B states each part is (B, n, 3).
    """

    tangential: NDArray[np.float64]  # (n, 3), m/s^2, by the joint's acceleration
    normal: NDArray[np.float64]  # (n, 3), m/s^2, towards the joint's axis
    coriolis: NDArray[np.float64]  # (n, 3), m/s^2, by the velocity that the frames beyond give the point

    @property
    def shape(self) -> NoReturn:
        """There is none: each part has its own."""
        raise AttributeError(
            "injected_accelerations gives 3 arrays, each with its own shape: tangential, normal, coriolis = ..."
        )


def forward_kinematics(model: Model, q: Array) -> Frames:
    """The frames of all links at q (n,); those that a symbolic model has as inputs, if it has them."""
    if (known := getattr(model, "known_frames", None)) is not None:
        return Frames(*known)
    joints = Joints(model, q)

    def outward(i: int, previous: tuple[Array, Array]) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
        R, p = previous
        here = joints.turned(i, R @ joints.twist[i]), p + R @ joints.offset[i]
        return here, here

    return Frames(*unzipped(scan(model.n, outward, (model.base[:3, :3], model.base[:3, 3])), 2))


def _homogeneous(R: Array, p: Array) -> Array:
    return matrix([[*R[0], p[0]], [*R[1], p[1]], [*R[2], p[2]], [0.0, 0.0, 0.0, 1.0]])


def poses(model: Model, q: Array) -> Array:
    """(n, 4, 4) link frames in the world."""
    frames = forward_kinematics(model, q)
    return np.array([_homogeneous(R, p) for R, p in zip(*frames, strict=True)])


def pose(model: Model, q: Array) -> Array:
    """(4, 4) tool in the world."""
    frames = forward_kinematics(model, q)
    return _homogeneous(frames.R[-1] @ model.tool[:3, :3], frames.point(-1, model.tool[:3, 3]))


def link_index(model: Model, link: int | str | None) -> int:
    """The number of a link given by name, number (negative from the tip) or None (the last)."""
    if link is None:
        return model.n - 1
    if not isinstance(link, str | int | np.integer) or isinstance(link, bool):
        raise UnknownNameError(f"link must be a name or a number; got {link!r}")
    if isinstance(link, str):
        if link not in model.link_names:
            raise UnknownNameError(f"link must be one of {', '.join(model.link_names)}; got {link!r}")
        return model.link_names.index(link)
    if not -model.n <= link < model.n:
        raise UnknownNameError(f"link must be a number from {-model.n} to {model.n - 1}; got {link}")
    return int(link) % model.n


def local_point(model: Model, link: int | str | None, point: ArrayLike | None) -> Array:
    """A point in link axes: as given, else the origin of the link's frame, or the tool's where no link is named."""
    if point is None:
        return model.tool[:3, 3] if link is None else np.zeros(3)
    array = np.asarray(point)
    if array.shape != (3,):
        raise ShapeError(f"point must have shape (3,), in the link's axes; got {array.shape}")
    return array


def jacobian(model: Model, q: Array, *, link: int | str | None = None, point: ArrayLike | None = None) -> Jacobian:
    """Jv and Jw (3, n) of a point fixed to a link (the tool by default): v = Jv qd, w = Jw qd."""
    i = link_index(model, link)
    frames = forward_kinematics(model, q)
    return jacobian_at(model, frames, i, frames.point(i, local_point(model, link, point)))


def jacobian_at(model: Model, frames: Frames, i: int, x: Array) -> Jacobian:
    """Jv and Jw (3, n) of whatever point of link i is at x (3,) in the world now; the frames are known."""
    return Jacobian(*_columns(model, i, [_injected_velocity(model, frames, j, x) for j in range(i + 1)]))


def jacobian_rate(
    model: Model, q: Array, qd: Array, *, link: int | str | None = None, point: ArrayLike | None = None
) -> Jacobian:
    """The time derivatives of Jv and Jw (3, n) along qd."""
    i = link_index(model, link)
    frames = forward_kinematics(model, q)
    x = frames.point(i, local_point(model, link, point))
    omega, v = velocities(model, frames, qd)
    xd = v[i] + cross(omega[i], x - frames.p[i])
    columns = []
    for j in range(i + 1):
        z = frames.z[j]
        zd = cross(omega[j], z)
        if model.revolute(j):
            columns.append((cross(zd, x - frames.p[j]) + cross(z, xd - v[j]), zd))
        else:
            columns.append((zd, np.zeros(3)))
    return Jacobian(*_columns(model, i, columns))


def _injected_velocity(model: Model, frames: Frames, j: int, x: Array) -> tuple[Array, Array]:
    z = frames.z[j]
    return (cross(z, x - frames.p[j]), z) if model.revolute(j) else (z, np.zeros(3))


def _columns(model: Model, i: int, columns: list[tuple[Array, Array]]) -> tuple[Array, Array]:
    rest = [np.zeros(3)] * (model.n - 1 - i)
    return (
        np.array([*(v for v, _ in columns), *rest]).T,
        np.array([*(w for _, w in columns), *rest]).T,
    )


def velocities(model: Model, frames: Frames, qd: Array) -> tuple[list[Array], list[Array]]:
    """Angular velocity of every link and velocity of its frame's origin, in the world (the base stands still)."""
    omega, v = [], []
    w, u = np.zeros(3), np.zeros(3)
    previous = model.base[:3, 3]
    for i in range(model.n):
        u = u + cross(w, frames.p[i] - previous)
        if model.revolute(i):
            w = w + frames.z[i] * qd[i]
        else:
            u = u + frames.z[i] * qd[i]
        previous = frames.p[i]
        omega.append(w)
        v.append(u)
    return omega, v


def accelerations(model: Model, frames: Frames, qd: Array) -> tuple[list[Array], list[Array], list[Array]]:
    """Of every link, while no joint accelerates: angular velocity, angular acceleration, acceleration of its origin."""
    omega, alpha, a = [], [], []
    w, turned, pulled = np.zeros(3), np.zeros(3), np.zeros(3)
    previous = model.base[:3, 3]
    for i in range(model.n):
        r = frames.p[i] - previous
        pulled = pulled + cross(turned, r) + cross(w, cross(w, r))
        own = frames.z[i] * qd[i]
        if model.revolute(i):
            turned = turned + cross(w, own)
            w = w + own
        else:
            pulled = pulled + cross(w, own) * 2.0
        previous = frames.p[i]
        omega.append(w)
        alpha.append(turned)
        a.append(pulled)
    return omega, alpha, a


def injected_accelerations(
    model: Model, q: Array, qd: Array, qdd: Array, *, link: int | str | None = None, point: ArrayLike | None = None
) -> Injected:
    """Tangential, normal and Coriolis acceleration (n, 3) that each frame injects into a point (2.74-2.78)."""
    i = link_index(model, link)
    frames = forward_kinematics(model, q)
    x = frames.point(i, local_point(model, link, point))
    tangential, normal, coriolis = ([np.zeros(3)] * model.n for _ in range(3))
    relative = np.zeros(3)  # v^r: what the frames beyond j give the point
    for j in range(i, -1, -1):
        z = frames.z[j]
        if not model.revolute(j):
            tangential[j] = z * qdd[j]
            relative = relative + z * qd[j]
            continue
        swing = cross(z, x - frames.p[j])
        tangential[j] = swing * qdd[j]  # (2.76)
        normal[j] = cross(z, swing) * (qd[j] * qd[j])  # (2.77)
        coriolis[j] = 2.0 * cross(z * qd[j], relative)  # (2.78)
        relative = relative + swing * qd[j]
    return Injected(np.array(tangential), np.array(normal), np.array(coriolis))


def wrench_torque(model: Model, frames: Frames, wrench: Array) -> Array:
    """J^T w, the joint torques (n,) that outside forces do: wrench (6,) at the tool or (n, 6) at the link frames.

    A wrench is a force and a moment on the arm, in world axes.
    """
    force, moment = np.zeros(3), np.zeros(3)  # of everything beyond, about the current frame's origin
    at = frames.p[-1]
    torque: list[Any] = [0.0] * model.n
    for i in range(model.n - 1, -1, -1):
        moment = moment + cross(at - frames.p[i], force)
        at = frames.p[i]
        f, m, arm = link_wrench(model, i, wrench)
        if f is not None:
            force, moment = force + f, moment + m + cross(frames.R[i] @ arm, f)
        torque[i] = frames.z[i] @ (moment if model.revolute(i) else force)
    return vector(*torque)


def link_wrench(model: Model, i: int, wrench: Array) -> tuple[Array | None, Array, Array]:
    """Force, moment and point of action (in link axes) of the wrench on link i; no force: None."""
    if wrench.ndim == 2:
        return wrench[i, :3], wrench[i, 3:], np.zeros(3)
    if i == model.n - 1:
        return wrench[:3], wrench[3:], model.tool[:3, 3]
    return None, np.zeros(3), np.zeros(3)
