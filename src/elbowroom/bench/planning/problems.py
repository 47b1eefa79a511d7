"""Planning problems, and sets of our own for any arm: table, shelf, box and cage.

Scenes are placed before the arm and sized by its reach r (`Place.reach`), so that every arm gets its own:

    table   a slab with things on it; from one side of them to the other, close over the slab
    shelf   boards between two sides and a back; from one compartment into another
    box     an open container; from beside it to its inside
    cage    poles around the arm and two rings; from one gap, the hand outside, to another

Start and goal are joint poses whose tool is at a drawn point (`towards`), clear by `CLEAR` of the scene, the floor and
the arm itself.  A scene in which none is found is drawn again.  A problem is a function of the arm, the kind, the
seed and its number; nothing in it was chosen by looking at what a planner does there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...arm import Arm
from ...avoidance.planning import Box, Checker, World
from ...errors import UnknownNameError, did_you_mean
from ...geometry import Body, Capsule, HalfSpace, Sphere
from ..encounters.scene import Place, place

Array = NDArray[np.float64]
Shape = Box | Capsule | HalfSpace | Sphere

CLEAR = 0.01  # m, that start and goal keep
DRAWS = 40  # scenes that are drawn for one problem, at most
POSES = 96  # joint poses that are brought to a point
STEPS = 40  # of damped least squares
DAMPING = 1e-3  # m^2
NEAR = 1e-3  # m: a tool so near to its point is there


@dataclass(frozen=True, eq=False)
class Problem:
    """From one joint pose to another among shapes at rest."""

    number: int
    start: Array  # (n,)
    goal: Array  # (n,)
    shapes: tuple[Shape, ...]

    @property
    def world(self) -> World:
        """The obstacles for a checker."""
        return World(self.shapes)


@dataclass(frozen=True, eq=False)
class ProblemSet:
    """Problems of one arm and one kind; `refused`: numbers of those whose start or goal our checker finds in contact.

    Nobody can solve a refused problem with this checker and these capsules: they count for no planner.
    """

    name: str
    arm: Arm
    body: Body
    checker: Checker
    problems: list[Problem]
    refused: list[int]


# ---- joint poses with the tool at a point


def towards(arm: Arm, point: Array, starts: Array) -> Array:
    """(k, n) joint poses whose tool is within `NEAR` of a point (3,), by damped least squares from starts (B, n)."""
    pose, jacobian = arm.compile("pose"), arm.compile("jacobian")
    low, high = arm.model.sampling_range()
    q = np.array(starts)
    for _ in range(STEPS):
        error = point - pose(q)[:, :3, 3]
        J = jacobian(q)[0]
        step = np.linalg.solve(J @ J.transpose(0, 2, 1) + DAMPING * np.eye(3), error[..., None])
        q = np.clip(q + (J.transpose(0, 2, 1) @ step)[..., 0], low, high)
    found: Array = q[np.linalg.norm(pose(q)[:, :3, 3] - point, axis=1) < NEAR]
    return found


def free_pose(checker: Checker, arm: Arm, point: Array, world: World, random: np.random.Generator) -> Array | None:
    """(n,) a joint pose with the tool at the point (3,) and the arm clear by `CLEAR`; None where none was found."""
    starts = random.uniform(*arm.model.sampling_range(), (POSES, arm.n))
    found = towards(arm, point, starts)
    if not len(found):
        return None
    free = found[np.asarray(checker.free(found, world, CLEAR))]
    return None if not len(free) else np.array(free[0])


# ---- scenes


@dataclass(frozen=True, eq=False)
class Drawn:
    """A scene, and where the tool begins and ends, in the frame of the arm: x to its front, z up, from its base."""

    shapes: list[Shape]
    start: Array  # (3,)
    goal: Array  # (3,)


def _table(r: float, random: np.random.Generator) -> Drawn:
    top = r * random.uniform(-0.1, 0.1)
    shapes: list[Shape] = [_box((0.65 * r, 0.0, top - 0.02 * r), (0.3 * r, 0.7 * r, 0.02 * r))]
    for _ in range(4):
        half = r * np.array([*random.uniform(0.03, 0.07, 2), random.uniform(0.08, 0.2)])
        at = [*(r * random.uniform((0.45, -0.2), (0.8, 0.2))), top + half[2]]
        shapes.append(_box(at, half, random.uniform(0.0, math.pi)))
    ends = [
        np.array([r * random.uniform(0.45, 0.75), side * r * random.uniform(0.35, 0.6), top + r * 0.15])
        for side in random.permutation([-1.0, 1.0])
    ]
    return Drawn(shapes, *ends)


def _shelf(r: float, random: np.random.Generator) -> Drawn:
    front, depth, width = r * random.uniform(0.55, 0.7), 0.3 * r, r * random.uniform(0.8, 1.0)
    low, rise = r * random.uniform(-0.1, 0.05), r * random.uniform(0.38, 0.48)
    thick, boards = 0.012 * r, 3
    middle, height = front + depth / 2, rise * (boards - 1)
    shapes: list[Shape] = [_box((middle, 0.0, low + k * rise), (depth / 2, width / 2, thick)) for k in range(boards)]
    shapes += [
        _box((middle, side * width / 2, low + height / 2), (depth / 2, thick, height / 2)) for side in (-1.0, 1.0)
    ]
    shapes.append(_box((front + depth, 0.0, low + height / 2), (thick, width / 2, height / 2)))
    inside = front + r * random.uniform(0.02, 0.1, 2)
    aside = random.uniform(-0.3, 0.3, 2) * width
    start, goal = (
        np.array([inside[k], aside[k], low + (level + 0.5) * rise])
        for k, level in enumerate(random.permutation(boards - 1))
    )
    return Drawn(shapes, start, goal)


def _container(r: float, random: np.random.Generator) -> Drawn:
    half, tall, thick = r * random.uniform(0.22, 0.3), r * random.uniform(0.2, 0.35), 0.012 * r
    low, turn = r * random.uniform(-0.1, 0.05), random.uniform(-0.6, 0.6)
    middle = np.array([r * random.uniform(0.55, 0.7), r * random.uniform(-0.2, 0.2), low])
    c, s = math.cos(turn), math.sin(turn)
    shapes: list[Shape] = [_box(middle, (half, half, thick), turn)]
    for x, y in ((1.0, 0.0), (-1.0, 0.0), (0.0, 1.0), (0.0, -1.0)):
        at = middle + np.array([half * (c * x - s * y), half * (s * x + c * y), tall / 2])
        size = (thick, half, tall / 2) if x else (half, thick, tall / 2)
        shapes.append(_box(at, size, turn))
    side = random.choice([-1.0, 1.0])
    start = np.array([r * random.uniform(0.3, 0.5), side * r * random.uniform(0.55, 0.7), low + tall / 2])
    return Drawn(shapes, start, middle + np.array([0.0, 0.0, tall * random.uniform(0.5, 0.7)]))


def _cage(r: float, random: np.random.Generator) -> Drawn:
    around, thick = r * random.uniform(0.5, 0.6), 0.015 * r
    low, high = -0.2 * r, r * random.uniform(0.7, 0.9)
    angles = random.uniform(0.0, 0.6) + np.arange(7) * (2 * math.pi / 7)
    poles = around * np.column_stack([np.cos(angles), np.sin(angles)])
    shapes: list[Shape] = [Capsule(np.array([*p, low]), np.array([*p, high]), thick) for p in poles]
    rings = (r * random.uniform(0.0, 0.1), high)
    for z in rings:
        shapes += [Capsule(np.array([*poles[k - 1], z]), np.array([*poles[k], z]), thick) for k in range(len(poles))]
    first = int(random.integers(7))
    gaps = (first, (first + random.choice([1, 2, 3])) % 7)
    start, goal = (
        np.array([out * math.cos(a), out * math.sin(a), z])
        for a, out, z in zip(
            angles[list(gaps)] + math.pi / 7,
            around + r * random.uniform(0.05, 0.15, 2),
            random.uniform(rings[0] + 0.15 * r, high - 0.2 * r, 2),
            strict=True,
        )
    )
    return Drawn(shapes, start, goal)


KINDS: dict[str, Callable[[float, np.random.Generator], Drawn]] = {
    "table": _table,
    "shelf": _shelf,
    "box": _container,
    "cage": _cage,
}


def _box(center: Sequence[float] | Array, half: Sequence[float] | Array, turn: float = 0.0) -> Box:
    """A box turned about z by so much."""
    return Box(np.array(center), np.array(half), _about_z(turn))


def _about_z(angle: float) -> Array:
    c, s = math.cos(angle), math.sin(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def placed_shape(shape: Shape, R: Array, p: Array) -> Shape:
    """The shape moved by a rotation (3, 3) and then a translation (3,)."""
    if isinstance(shape, Box):
        return Box(R @ shape.center + p, shape.half, R @ shape.rotation)
    if isinstance(shape, Capsule):
        return Capsule(R @ shape.a + p, R @ shape.b + p, shape.radius)
    if isinstance(shape, Sphere):
        return Sphere(R @ shape.center + p, shape.radius)
    return HalfSpace(R @ shape.point + p, R @ shape.normal)


# ---- sets


def kind_named(name: str) -> str:
    """One of `KINDS`, or a message with the nearest."""
    if name not in KINDS:
        hint = did_you_mean(name, list(KINDS), 2, 0.5)
        raise UnknownNameError(f"no kind of scene {name!r}: expected one of {', '.join(KINDS)}{hint}")
    return name


def own_set(
    where: Place, checker: Checker, kind: str, count: int, seed: int = 0, label: str | None = None
) -> ProblemSet:
    """`count` problems of a kind for an arm at its place; fewer where `DRAWS` scenes had no pose for an end."""
    draw = KINDS[kind_named(kind)]
    arm, reach = where.arm, where.reach
    R, base = _about_z(where.front), np.array(arm.model.base[:3, 3])
    floor = HalfSpace(where.base, np.array([0.0, 0.0, 1.0]))
    number = list(KINDS).index(kind)
    problems: list[Problem] = []
    for k in range(count):
        for attempt in range(DRAWS):
            random = np.random.default_rng([seed, number, k, attempt])
            drawn = draw(reach, random)
            shapes = (*(placed_shape(shape, R, base) for shape in drawn.shapes), floor)
            world = World(shapes)
            start = free_pose(checker, arm, R @ drawn.start + base, world, random)
            goal = None if start is None else free_pose(checker, arm, R @ drawn.goal + base, world, random)
            if start is not None and goal is not None:
                problems.append(Problem(k, start, goal, shapes))
                break
    return ProblemSet(f"{label or arm.name} {kind}", arm, where.body, checker, problems, [])


def own_sets(
    arm: str | Arm, kinds: Sequence[str], count: int, seed: int = 0, label: str | None = None
) -> list[ProblemSet]:
    """The sets of an arm, under this name or its own."""
    where = place(arm)
    checker = Checker(where.body)
    return [own_set(where, checker, kind, count, seed, label) for kind in kinds]
