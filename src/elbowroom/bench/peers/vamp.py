"""VAMP where it is installed: its checker and its RRT-Connect with shortening, on the same shapes.

VAMP (Thomason, Kingston and Kavraki, 2024) is compiled for each arm; its package has a Panda and a UR5, covered with
spheres of their own, so the arm is not ours to the millimetre.  Its ways are not timed within the joints' speeds and
accelerations.  A plan's time is the one that it states itself; Python can ask it for one motion in a call, not for a
batch, so configurations a second are those of such calls, and inside its planner it checks many more.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...arm import Arm
from ...avoidance.planning import Box
from ...geometry import Capsule, HalfSpace, Sphere

Array = NDArray[np.float64]
NAME = "VAMP"
ARMS = {"panda": "panda", "ur5": "ur5", "ur5_robotiq85": "ur5"}  # ours, and its own
LANES = 8  # configurations that it checks at once, with AVX2
FAR = 10.0  # m: half the edge of a box in place of a half-space


@dataclass(frozen=True)
class VampAnswer:
    """What VAMP found, after how long (s), shortening included."""

    solved: bool
    seconds: float


def version() -> str | None:
    """Which VAMP there is; None without one."""
    if importlib.util.find_spec("vamp") is None:
        return None
    try:
        return importlib.metadata.version("vamp-planner")
    except importlib.metadata.PackageNotFoundError:  # built by hand
        return "of unknown version"


def robot(arm: Arm) -> Any:
    """VAMP's module of an arm; None where there is none, or no VAMP."""
    if version() is None or arm.name not in ARMS:
        return None
    found = getattr(importlib.import_module("vamp"), ARMS[arm.name], None)
    return found if found is not None and found.dimension() == arm.n else None


def environment(shapes: Sequence[Box | Capsule | HalfSpace | Sphere]) -> Any:
    """VAMP's world with these shapes; a half-space becomes a box of 20 m."""
    vamp = importlib.import_module("vamp")
    found = vamp.Environment()
    for shape in shapes:
        if isinstance(shape, Sphere):
            found.add_sphere(vamp.Sphere(_list(shape.center), shape.radius))
        elif isinstance(shape, Capsule):
            # not by its ends: 0.6.4 writes that cylinder over memory that nobody has made one of
            along, center = np.asarray(shape.b) - np.asarray(shape.a), (np.asarray(shape.a) + np.asarray(shape.b)) / 2
            length = float(np.linalg.norm(along))
            turn = _list(_angles(_about(along / length))) if length > 0.0 else [0.0] * 3
            found.add_capsule(vamp.Cylinder(_list(center), turn, shape.radius, max(length, 1e-6)))
        elif isinstance(shape, Box):
            found.add_cuboid(vamp.Cuboid(_list(shape.center), _list(_angles(shape.rotation)), _list(shape.half)))
        else:
            normal = np.asarray(shape.normal, float) / np.linalg.norm(shape.normal)
            center = np.asarray(shape.point, float) - FAR * normal
            found.add_cuboid(vamp.Cuboid(_list(center), _list(_angles(_about(normal))), [FAR] * 3))
    return found


def _list(values: Any) -> list[float]:
    return [float(value) for value in values]


def _about(z: Array) -> Array:
    """(3, 3) a rotation whose third axis is z (3,)."""
    x = np.linalg.svd(z[None])[2][1]
    return np.stack([x, np.cross(z, x), z], axis=1)


def _angles(R: Array) -> Array:
    """(3,) rad: a, b, c with R = Rz(c) Ry(b) Rx(a)."""
    flat = math.hypot(R[0, 0], R[1, 0])
    if flat < 1e-9:  # straight up or down: only a - c or a + c is told by R
        return np.array([math.atan2(-R[1, 2], R[1, 1]), math.atan2(-R[2, 0], flat), 0.0])
    return np.array([math.atan2(R[2, 1], R[2, 2]), math.atan2(-R[2, 0], flat), math.atan2(R[1, 0], R[0, 0])])


def motions(of: Any, world: Any, q: Array) -> tuple[list[tuple[list[float], list[float]]], int]:
    """Free motions between neighbours in q (k, n), and how many configurations VAMP looks at to find them so."""
    some = q.tolist()  # lists: it reads arrays by whole registers, beyond a row's end
    ends = [(a, b) for a, b in itertools.pairwise(some) if of.validate_motion(a, b, world)]
    blocks = (max(math.ceil(math.dist(a, b) / LANES), 1) for a, b in ends)  # one a radian: its resolution from Python
    return ends, LANES * sum(blocks)


def rrt_connect(of: Any, start: Array, goal: Array, world: Any) -> VampAnswer:
    """From start (n,) to goal (n,) with VAMP's own settings, then shortened."""
    vamp = importlib.import_module("vamp")
    _, plan, settings, shorten = vamp.configure_robot_and_planner_with_kwargs(of.__name__.rpartition(".")[2], "rrtc")
    sampler = of.halton()
    sampler.reset()
    found = plan(_list(start), _list(goal), world, settings, sampler)
    seconds = 1e-9 * found.nanoseconds
    if found.solved:
        seconds += 1e-9 * of.simplify(found.path, world, shorten, sampler).nanoseconds
    return VampAnswer(bool(found.solved), seconds)
