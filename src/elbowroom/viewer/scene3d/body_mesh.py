"""The mesh of a person: one smooth body over the capsules of geometry.skeleton, with neck, hands and feet.

The capsules are what the arm keeps clear of, and they are wider than anybody (geometry.Sizes).  What is drawn is a body
of the same proportions inside them:

    shape     round cones along the bones, joined smoothly: -log(sum_i exp(-k d_i)) / k = 0, in a pose with the arms
              held off; its surface is found once for each person, by the lengths of their capsules (`surface`)
    skin      a point goes with the bones whose cones it is near to

people.py poses it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ...geometry.person import NAMES, SIDES
from .primitives import HEAD, PERSON, SHOE, TAPE, TROUSERS, Array, Colour, Solid

GRID = 0.017  # m, between the points at which the shape is looked at
SMOOTH = 55.0  # 1/m: the greater, the sharper the creases between cones
SOFT = 38.0  # 1/m: how fast the hold of a bone on the skin ends
REACH = 0.16  # m: beyond it a cone adds nothing
BANDS, BAND = (0.40, 0.66), 0.045  # of the torso, from its upper end: where bright bands are, and half their width
COLLAR, BELT = -0.03, 0.92  # where skin ends, and where trousers begin
HEIGHT = 1.8  # m, of the person whose measures stand below
FRONT, LEFT, UP = np.eye(3)
BONE = {name: k for k, name in enumerate(NAMES)}
TORSO = BONE["torso"]


def unit(v: Array, otherwise: Array) -> Array:
    """The direction of v; `otherwise` where it has none."""
    size = float(np.linalg.norm(v))
    return v / size if size > 1e-6 else otherwise


class Lengths(NamedTuple):
    """Of a person's capsules, to the centimetre, m: what the shape depends on."""

    neck: float  # from the middle of the head to the collar
    torso: float
    shoulders: float
    drop: float  # of the shoulders below the collar
    upper_arm: float
    forearm: float
    hand: float  # from the wrist to the middle of the palm
    hips: float
    thigh: float
    shin: float
    ankle: float  # over the floor

    @classmethod
    def of(cls, rows: Array) -> Lengths:
        """From rows (13, 7)."""
        a, b = rows[:, :3], rows[:, 3:6]
        long = np.linalg.norm(b - a, axis=1)

        def mean(part: str) -> float:
            return float(0.5 * sum(long[BONE[f"{side}_{part}"]] for side in SIDES))

        k = BONE["shoulders"]
        drop = (a[TORSO] - 0.5 * (a[k] + b[k])) @ unit(a[TORSO] - b[TORSO], UP)
        palm = np.linalg.norm(a[BONE["left_hand"]] - b[BONE["left_forearm"]])
        hips = np.linalg.norm(a[BONE["left_thigh"]] - a[BONE["right_thigh"]])
        found = (
            *(2 * long[BONE["head"]], long[TORSO], long[BONE["shoulders"]], max(drop, 0.0), mean("upper_arm")),
            *(mean("forearm"), palm, hips, mean("thigh"), mean("shin"), 0.08),
        )
        least = cls(*[0.04] * len(cls._fields))._replace(drop=0.0)
        return cls(*(round(min(max(float(x), low), 1.0), 2) for x, low in zip(found, least, strict=True)))

    @property
    def height(self) -> float:
        """Of the whole person, m."""
        return self.ankle + self.shin + self.thigh + self.torso + self.neck + 0.12


class Cone(NamedTuple):
    """A round cone of the shape, in the pose at rest."""

    bone: int
    a: Array
    b: Array
    r: float
    s: float  # the radius at b
    colour: Colour
    flat: float = 1.0  # how deep it is, front to back, of how wide


class RestPose(NamedTuple):
    """Both ends of each bone in the pose at rest."""

    a: Array  # (13, 3) where it begins
    b: Array  # (13, 3) where it ends; for a hand, which is a ball, the direction of the forearm


def rest(x: Lengths) -> RestPose:
    """A person who stands at the origin, looks along x, and holds the arms off."""
    hip = np.array([0.0, 0.0, x.ankle + x.shin + x.thigh])
    collar = hip + x.torso * UP
    head = collar + x.neck * UP
    ends: dict[str, tuple[Array, Array]] = {
        "head": (head, 0.5 * (head + collar)),
        "torso": (collar, hip),
        "shoulders": (collar + 0.5 * x.shoulders * LEFT - x.drop * UP, collar - 0.5 * x.shoulders * LEFT - x.drop * UP),
    }
    for side, sign in (("left", 1.0), ("right", -1.0)):
        out = np.array([0.0, sign * 0.6, -0.8])
        shoulder = ends["shoulders"][0 if sign > 0 else 1]
        elbow = shoulder + x.upper_arm * out
        wrist = elbow + x.forearm * out
        palm = wrist + x.hand * out
        joint = hip + 0.5 * sign * x.hips * LEFT
        knee = joint - x.thigh * UP + 0.02 * sign * LEFT
        ends |= {
            f"{side}_upper_arm": (shoulder, elbow),
            f"{side}_forearm": (elbow, wrist),
            f"{side}_hand": (palm, palm + 0.1 * out),
            f"{side}_thigh": (joint, knee),
            f"{side}_shin": (knee, knee - x.shin * UP),
        }
    return RestPose(*(np.array([ends[name][k] for name in NAMES]) for k in (0, 1)))


def cones(x: Lengths) -> list[Cone]:
    """The shape of a person."""
    s = x.height / HEIGHT
    at = rest(x)

    def bone(name: str) -> tuple[int, Array, Array]:
        return BONE[name], at.a[BONE[name]], at.b[BONE[name]]

    k, head, _ = bone("head")
    collar, hip = at.a[TORSO], at.b[TORSO]
    chest, waist = collar - 0.34 * x.torso * UP, collar - 0.72 * x.torso * UP
    wide = 0.5 * x.shoulders
    found = [
        Cone(k, head + 0.04 * s * UP - 0.014 * FRONT, head + 0.0 * UP - 0.006 * FRONT, 0.088 * s, 0.08 * s, HEAD, 1.12),
        Cone(k, head + 0.03 * FRONT - 0.03 * s * UP, head + 0.04 * FRONT - 0.068 * s * UP, 0.052 * s, 0.036 * s, HEAD),
        Cone(k, head + 0.088 * s * FRONT - 0.005 * UP, head + 0.1 * s * FRONT - 0.03 * UP, 0.006 * s, 0.01 * s, HEAD),
        Cone(k, head - 0.05 * s * UP - 0.018 * FRONT, collar - 0.01 * FRONT, 0.042 * s, 0.044 * s, HEAD),
        Cone(TORSO, collar - 0.08 * UP, chest, 0.075 * s, 0.105 * s, PERSON),
        *(
            Cone(BONE["shoulders"], collar - (lower + x.drop) * UP, middle - lower * UP, r * s, end * s, PERSON)
            for middle in (at.a[BONE["shoulders"]] - 0.12 * wide * LEFT, at.b[BONE["shoulders"]] + 0.12 * wide * LEFT)
            for lower, r, end in ((-0.045, 0.038, 0.044), (0.035, 0.07, 0.062))
        ),
        Cone(TORSO, chest + 0.062 * s * LEFT, waist + 0.045 * s * LEFT, 0.118 * s, 0.108 * s, PERSON, 0.92),
        Cone(TORSO, chest - 0.062 * s * LEFT, waist - 0.045 * s * LEFT, 0.118 * s, 0.108 * s, PERSON, 0.92),
        Cone(TORSO, waist + 0.05 * s * LEFT, hip + 0.068 * s * LEFT + 0.01 * UP, 0.108 * s, 0.115 * s, PERSON, 0.95),
        Cone(TORSO, waist - 0.05 * s * LEFT, hip - 0.068 * s * LEFT + 0.01 * UP, 0.108 * s, 0.115 * s, PERSON, 0.95),
    ]  # fmt: skip
    for side, sign in (("left", 1.0), ("right", -1.0)):
        k, shoulder, elbow = bone(f"{side}_upper_arm")
        found += [Cone(k, shoulder - 0.012 * UP, elbow, 0.055 * s, 0.046 * s, PERSON)]
        k, elbow, wrist = bone(f"{side}_forearm")
        out = (wrist - elbow) / max(float(np.linalg.norm(wrist - elbow)), 1e-9)
        found += [Cone(k, elbow, elbow + 0.35 * (wrist - elbow), 0.049 * s, 0.050 * s, PERSON)]
        found += [Cone(k, elbow + 0.35 * (wrist - elbow), wrist - 0.02 * out, 0.050 * s, 0.037 * s, PERSON)]
        k, palm, _ = bone(f"{side}_hand")
        inwards = np.cross(out, FRONT) * sign
        found += [
            Cone(k, wrist, palm, 0.030 * s, 0.034 * s, HEAD),
            Cone(k, palm + 0.022 * s * FRONT, palm + 0.085 * s * out + 0.018 * s * FRONT + 0.02 * s * inwards,
                 0.020 * s, 0.013 * s, HEAD),
            Cone(k, palm - 0.018 * s * FRONT, palm + 0.088 * s * out - 0.012 * s * FRONT + 0.02 * s * inwards,
                 0.020 * s, 0.013 * s, HEAD),
            Cone(k, palm + 0.025 * s * FRONT - 0.02 * s * out, palm + 0.062 * s * FRONT + 0.03 * s * out,
                 0.017 * s, 0.012 * s, HEAD),
        ]  # fmt: skip
        k, joint, knee = bone(f"{side}_thigh")
        found += [Cone(k, joint - 0.02 * UP, knee, 0.098 * s, 0.060 * s, TROUSERS)]
        k, knee, ankle = bone(f"{side}_shin")
        calf = knee + 0.3 * (ankle - knee) - 0.012 * s * FRONT
        heel = ankle - (x.ankle - 0.045) * UP - 0.045 * s * FRONT
        toe = ankle - (x.ankle - 0.036) * UP + 0.155 * s * FRONT + 0.02 * sign * s * LEFT
        found += [
            Cone(k, knee, calf, 0.058 * s, 0.060 * s, TROUSERS),
            Cone(k, calf, ankle + 0.02 * UP, 0.060 * s, 0.046 * s, TROUSERS),
            Cone(k, ankle, heel, 0.042 * s, 0.040 * s, SHOE),
            Cone(k, heel, toe, 0.042 * s, 0.034 * s, SHOE),
        ]
    return found


def distances(points: Array, shape: list[Cone]) -> Array:
    """(cones, points): how far points (..., 3) are outside of each cone, roughly; below 0 inside."""
    found = []
    for cone in shape:
        squeeze = np.array([1.0 / cone.flat, 1.0, 1.0])
        p, a, b = (points * squeeze, cone.a * squeeze, cone.b * squeeze)
        way = b - a
        square = float(way @ way)
        part = np.clip((p - a) @ way / square, 0.0, 1.0) if square > 0 else np.zeros(points.shape[:-1])
        off = np.linalg.norm(p - a - part[..., None] * way, axis=-1)
        found.append(off - (cone.r + part * (cone.s - cone.r)))
    return np.array(found)


def surface(values: Array, origin: Array, step: float) -> Solid:
    """The triangles where values (i, j, k) on a grid are 0, above it outside: a corner in each cell that is crossed.

    A corner lies in the middle of the crossings of its cell's edges, and every edge that is crossed joins the four
    cells about it (Gibson's surface nets).
    """
    inside = values < 0.0
    cells = np.zeros(tuple(n - 1 for n in values.shape), dtype=int)
    sums = np.zeros((*cells.shape, 3))
    counts = np.zeros(cells.shape)
    edges = []
    for axis in range(3):
        low = [slice(None)] * 3
        low[axis] = slice(None, -1)
        high = [slice(None)] * 3
        high[axis] = slice(1, None)
        first, second = values[tuple(low)], values[tuple(high)]
        crossed = np.argwhere(inside[tuple(low)] != inside[tuple(high)])
        at = tuple(crossed.T)
        part = first[at] / (first[at] - second[at])
        place = crossed.astype(float)
        place[:, axis] += part
        one, other = (axis + 1) % 3, (axis + 2) % 3
        around = []
        for i, j in ((-1, -1), (0, -1), (0, 0), (-1, 0)):
            cell = crossed.copy()
            cell[:, one] += i
            cell[:, other] += j
            around.append(cell)
            np.add.at(sums, tuple(cell.T), place)
            np.add.at(counts, tuple(cell.T), 1.0)
        edges.append((np.stack(around, axis=1), inside[tuple(low)][at]))
    used = counts > 0
    cells[used] = np.arange(int(used.sum()))
    vertices = origin + step * sums[used] / counts[used][:, None]
    faces = []
    for joined, outwards in edges:
        corners = cells[tuple(np.moveaxis(joined, -1, 0))]  # (edges, 4)
        corners = np.where(outwards[:, None], corners, corners[:, ::-1])
        faces += [corners[:, [0, 1, 2]], corners[:, [0, 2, 3]]]
    return vertices.astype(np.float32), np.concatenate(faces).astype(np.uint32)


def _near(cone: Cone, axes: list[Array]) -> tuple[slice, ...]:
    """The part of a grid in which a cone counts."""
    wide = max(cone.r, cone.s) + REACH
    low, high = np.minimum(cone.a, cone.b) - wide, np.maximum(cone.a, cone.b) + wide
    return tuple(slice(*np.searchsorted(axis, (lo, hi)).tolist()) for axis, lo, hi in zip(axes, low, high, strict=True))


class Piece(NamedTuple):
    """A part of a person's skin that has one colour, at rest."""

    vertices: Array  # (V, 3)
    faces: Array  # (F, 3)
    bones: tuple[int, ...]  # those that move it
    weights: Array  # (V, bones)
    colour: Colour


@lru_cache(maxsize=16)
def body(x: Lengths) -> list[Piece]:
    """The skin of a person with these lengths."""
    shape = cones(x)
    points = np.array([p for cone in shape for p in (cone.a, cone.b)])
    low, high = points.min(axis=0) - 0.2, points.max(axis=0) + 0.2
    axes = [np.arange(lo, hi, GRID) for lo, hi in zip(low, high, strict=True)]
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
    total = np.zeros(grid.shape[:-1])
    for cone in shape:
        near = _near(cone, axes)
        total[near] += np.exp(-SMOOTH * distances(grid[near], [cone])[0])
    values = -np.log(np.maximum(total, 1e-12)) / SMOOTH
    vertices, faces = surface(values, low, GRID)
    for line in _lines(shape, x):  # where one colour ends and another begins, triangles end too
        vertices, faces = split(vertices, faces, line(vertices.astype(float)))
    off = distances(vertices.astype(float), shape)
    held = np.zeros((len(vertices), len(NAMES)))
    for cone, d in zip(shape, off, strict=True):
        held[:, cone.bone] += np.exp(-SOFT * np.maximum(d, -0.2))
    held **= 2.0
    weights = held / held.sum(axis=1, keepdims=True)
    middles = vertices[faces].mean(axis=1)
    worn = np.array([cone.colour for cone in shape])[distances(middles.astype(float), shape).argmin(axis=0)]
    colours = _dressed(worn, middles, weights[faces].mean(axis=1), x)
    return [_piece(vertices, faces[(colours == c).all(axis=1)], weights, c) for c in np.unique(colours, axis=0)]


def _piece(vertices: Array, faces: Array, weights: Array, colour: Array) -> Piece:
    used, faces = np.unique(faces, return_inverse=True)
    bones = np.flatnonzero(weights[used].max(axis=0) > 0.02)
    r, g, b = (int(c) for c in colour)
    weights = weights[used][:, bones]
    weights = weights / weights.sum(axis=1, keepdims=True)
    faces = faces.reshape(-1, 3).astype(np.uint32)
    return Piece(vertices[used], faces, tuple(bones.tolist()), weights.astype(np.float32), (r, g, b))


def _edges(x: Lengths) -> Array:
    """Heights at which the colour of the clothes changes: the edges of two bands, and the belt."""
    at = rest(x)
    parts = np.array([place + side * BAND for place in BANDS for side in (-1.0, 1.0)] + [BELT, COLLAR])
    heights: Array = at.a[TORSO][2] - parts * (at.a[TORSO][2] - at.b[TORSO][2])
    return heights


def _lines(shape: list[Cone], x: Lengths) -> list[Callable[[Array], Array]]:
    """Functions of points (V, 3) that are 0 where the colour of clothes changes."""

    def nearer(colour: Colour) -> Callable[[Array], Array]:
        own, other = ([cone for cone in shape if (cone.colour == colour) is one] for one in (True, False))
        return lambda points: distances(points, own).min(axis=0) - distances(points, other).min(axis=0)

    def above(height: float) -> Callable[[Array], Array]:
        return lambda points: points[:, 2] - height

    return [*(nearer(colour) for colour in (HEAD, SHOE)), *(above(height) for height in _edges(x))]


def split(vertices: Array, faces: Array, values: Array, near: float = 0.15) -> Solid:
    """The same surface with corners where linear values of its corners (V,) are 0, and no triangle across.

    An edge that is crossed within `near` of one of its ends gives that corner the value 0 instead of a sliver.
    """
    values = np.asarray(values, dtype=float).copy()
    edges = np.unique(np.sort(faces[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1), axis=0).astype(int)

    def crossed() -> tuple[Array, Array]:
        first, second = values[edges].T
        across = first * second < 0.0
        return edges[across], first[across] / (first[across] - second[across])

    pairs, part = crossed()
    old = vertices.astype(float)
    moved = old.copy()
    for corner, other, way in ((pairs[:, 0], pairs[:, 1], part), (pairs[:, 1], pairs[:, 0], 1.0 - part)):
        close = way < near
        moved[corner[close]] = old[corner[close]] + way[close, None] * (old[other[close]] - old[corner[close]])
        values[corner[close]] = 0.0
    pairs, part = crossed()
    added = moved[pairs[:, 0]] + part[:, None] * (moved[pairs[:, 1]] - moved[pairs[:, 0]])
    new = {(int(i), int(j)): len(moved) + k for k, (i, j) in enumerate(pairs)}
    sides = np.sign(values)[faces.astype(int)]
    whole = (sides.min(axis=1) >= 0) | (sides.max(axis=1) <= 0)
    pieces = [faces[whole].astype(np.uint32)]
    for face in faces[~whole].astype(int):
        ring: list[int] = []
        for i, j in zip(face, np.roll(face, -1), strict=True):
            ring.append(int(i))
            if values[i] * values[j] < 0.0:
                ring.append(new[min(i, j), max(i, j)])
        on = [k for k, corner in enumerate(ring) if corner >= len(moved) or values[corner] == 0.0]
        ring = ring[on[0] :] + ring[: on[0]]
        for part_ in (ring[: on[1] - on[0] + 1], [*ring[on[1] - on[0] :], ring[0]]):
            pieces.append(np.array([(part_[0], part_[k], part_[k + 1]) for k in range(1, len(part_) - 1)], np.uint32))
    return np.concatenate([moved, added]).astype(np.float32), np.concatenate(pieces)


def _dressed(colours: Array, middles: Array, weights: Array, x: Lengths) -> Array:
    """Skin down to the collar, two bright bands round the chest, and trousers from the belt on."""
    at = rest(x)
    collar, hip = at.a[TORSO], at.b[TORSO]
    down = (collar[2] - middles[:, 2]) / (collar[2] - hip[2])
    trunk = weights[:, [TORSO, BONE["shoulders"]]].sum(axis=1) > 0.5
    neck = np.abs(middles[:, 1]) < 0.3 * x.shoulders
    colours[neck & (down < 0.5) & (colours == np.array(HEAD)).all(axis=1) & (down > COLLAR)] = PERSON
    shirt = (colours == np.array(PERSON)).all(axis=1)
    bands = np.abs(down[:, None] - np.array(BANDS)).min(axis=1) < BAND
    colours[shirt & trunk & bands] = TAPE
    colours[shirt & (down > BELT)] = TROUSERS
    return colours
