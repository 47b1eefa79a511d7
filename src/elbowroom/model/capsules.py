"""Capsules on links: the arm's outer shape, as data, and how small ones are found about points or other capsules.

Capsules on links: the arm's outer shape, as data.

A capsule is all that lies within `radius` of the segment from a to b; with a = b it is a sphere.  It is rigid in one
link, in the axes of that link's frame, or in the base (link -1), in the axes of the base frame.  A cover is a set of
capsules that holds the whole arm.  An arm may have other covers beside its own, each by name.

Capsules of a small volume about given points, or about other capsules; every point lies within, exactly.

For a direction u the axis runs along u through the centre of a small circle about the points seen along u.  With a
radius r not below that circle's, point i at height t_i and distance d_i from the axis is within r of any axis that
reaches from t_i + s_i downwards and from t_i - s_i upwards, s_i^2 = r^2 - d_i^2.  So the shortest axis goes from

    low = min (t_i + s_i)      to      high = max (t_i - s_i)

(where low > high any point between them is the centre of a sphere).  A greater radius gives a shorter axis: a few radii
are tried, and of all directions the principal ones and then ever smaller turns of the best; at last the ends of the
axis are moved by ever smaller steps.  What is guaranteed is that every point lies within (the radius is the greatest
distance itself) and that the volume is at most that of what the search began with, the ball about the points among
it.  A capsule is convex, so one about the vertices of a mesh holds the whole mesh.

An arm with very many capsules gets fewer: two of one link become one about both, where that wastes least volume.  Its
axis runs between two of their four ends, those that give the least volume, and its radius is the greatest of (distance
of an end to that axis + the radius there); both lie within.  A hand of forty capsules, or a second arm that rides on
the torso, costs every cycle of control as much as forty links.  Towards people the arm only grows.  But links whose
merged capsules overlap at the ready pose, or often, are not held apart from each other any more (`Body.self_pairs`);
`NOT_HELD` says so.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..algebra import Array
from ..errors import ModelError
from .check import LENGTH, bounded

BASE = -1
"""The link number of what stands still."""

Point = tuple[float, float, float]
Covers = tuple[tuple[str, tuple["LinkCapsule", ...]], ...]
"""Covers by name, in an order that a hash can rely on."""


@dataclass(frozen=True)
class LinkCapsule:
    """A capsule on link number `link` (-1: the fixed base), its axis from a to b in that link's axes, metres."""

    name: str
    link: int
    a: Point
    b: Point
    radius: float

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise ModelError(f"a capsule's name must be a text that is not empty; got {self.name!r}")
        if isinstance(self.link, bool) or not isinstance(self.link, int | np.integer) or self.link < BASE:
            raise ModelError(f"capsule {self.name!r}: link must be a whole number, at least -1; got {self.link!r}")
        object.__setattr__(self, "link", int(self.link))
        for end in ("a", "b"):
            object.__setattr__(self, end, _point(getattr(self, end), f"capsule {self.name!r}: {end}"))
        object.__setattr__(self, "radius", _radius(self.radius, f"capsule {self.name!r}: radius"))


def moved_capsule(capsule: LinkCapsule, T: Array) -> LinkCapsule:
    """The capsule given in a frame that stands at T (4, 4), expressed in the frame that T is given in."""
    a, b = (tuple((T[:3, :3] @ end + T[:3, 3]).tolist()) for end in (capsule.a, capsule.b))
    return replace(capsule, a=a, b=b)


def checked_capsules(capsules: Iterable[LinkCapsule], n: int, owner: str) -> tuple[LinkCapsule, ...]:
    """The capsules as a tuple, refused where a link does not exist or two have one name."""
    checked = tuple(capsules)
    for capsule in checked:
        if not isinstance(capsule, LinkCapsule):
            raise ModelError(f"{owner}: capsules must be LinkCapsule; got {capsule!r:.80}")
        if capsule.link >= n:
            raise ModelError(
                f"{owner}: capsule {capsule.name!r}: link must be a number from -1 (the base) to {n - 1}; "
                f"got {capsule.link}"
            )
    names = [capsule.name for capsule in checked]
    for name in names:
        if names.count(name) > 1:
            raise ModelError(f"{owner}: capsules must have different names; got {name!r} twice")
    return checked


def checked_covers(
    covers: Mapping[str, Sequence[LinkCapsule]] | Covers, n: int, owner: str
) -> tuple[tuple[str, tuple[LinkCapsule, ...]], ...]:
    """Covers by name, sorted, each checked."""
    try:
        pairs = dict(covers)
    except (TypeError, ValueError) as error:
        raise ModelError(f"{owner}: covers must be capsules by name; got {covers!r:.80}") from error
    return tuple((name, checked_capsules(pairs[name], n, f"{owner}: cover {name!r}")) for name in sorted(pairs))


def _point(value: ArrayLike, what: str) -> Point:
    try:
        array = np.array(value, dtype=float)
    except (TypeError, ValueError) as error:
        raise ModelError(f"{what} must be 3 finite numbers; got {value!r:.80}") from error
    if array.shape != (3,) or not np.isfinite(array).all():
        raise ModelError(f"{what} must be 3 finite numbers; got {value!r:.80}")
    bounded(array, LENGTH, what)
    x, y, z = (array + 0.0).tolist()  # -0.0 becomes 0.0, so that equal capsules are equal to the letter
    return x, y, z


def _radius(value: Any, what: str) -> float:
    try:
        radius = float(value)
    except (TypeError, ValueError) as error:
        raise ModelError(f"{what} must be a positive number; got {value!r:.80}") from error
    if not (math.isfinite(radius) and radius > 0):
        raise ModelError(f"{what} must be positive and finite; got {value!r}")
    bounded(radius, LENGTH, what)
    return radius


_EXTREMES = 150  # directions whose outermost points stand for all while the axis is sought
_ROUGH = 40  # while the cuts are sought
_GROWTH = np.linspace(1.0, 1.5, 9)  # radii tried, as parts of the least
_TURNS = (0.3, 0.12, 0.05)  # rad
_STEPS = 60

MOST_PIECES = 3
WORTH = 0.6
"""Several capsules are taken for one where their volumes together are less than this part of its volume."""
_REWARD = 0.8  # and a third one where it saves a fifth more
_BANDS = 6  # planes stand at sixths of the height

MANY = 72  # capsules that an arm may have; with fewer, a workplace that fits is worth more than the time
MOST = 48  # that are left of more

NOT_HELD = "links that touch only because of that are not held apart from each other"


class Cover(NamedTuple):
    """A capsule: the ends of its axis (3,) and its radius."""

    a: Array
    b: Array
    radius: float

    @property
    def volume(self) -> float:
        """Cubic metres."""
        length = float(np.linalg.norm(self.b - self.a))
        return math.pi * self.radius**2 * (length + 4 / 3 * self.radius)


def covering_capsule(points: Array, outer: Array | None = None) -> Cover:
    """A capsule about the points (N, 3), N at least 1: every one within it, and its volume at most that of the starts.

    The starts are the ball about the points and the best capsules along their three principal axes.  `outer` are the
    outermost points, where they are known.
    """
    outer = _extremes(points if outer is None else outer)
    return min([*starts(points, outer), _refined(points, outer)], key=lambda cover: cover.volume)


def starts(points: Array, outer: Array) -> list[Cover]:
    """What the search begins with: the ball about the points and the capsules along their principal axes."""
    centre = _circle(outer)
    found = [Cover(centre, centre, 0.0), *(_along(outer, axis) for axis in _principal(outer))]
    return [_about(points, cover.a, cover.b) for cover in found]


def _refined(points: Array, outer: Array) -> Cover:
    """From the best of the starts: ever smaller turns of its axis, then ever smaller steps of its ends."""
    best, u = min(((_along(outer, axis), axis) for axis in _principal(outer)), key=lambda found: found[0].volume)
    for angle in _TURNS:
        for _ in range(3):  # until no turn by this angle is better
            tried = [(_along(outer, turned), turned) for turned in _turned(u, angle)]
            cover, direction = min(tried, key=lambda found: found[0].volume)
            if cover.volume >= best.volume:
                break
            best, u = cover, direction
    a, b = _stepped(outer, best.a, best.b)
    return _about(points, a, b)


def _about(points: Array, a: Array, b: Array) -> Cover:
    """The least capsule of that axis about the points."""
    return Cover(a, b, float(distance_to_segment(points, a, b).max()))


def _principal(points: Array) -> list[Array]:
    away = points - points.mean(axis=0)
    return list(np.linalg.eigh(away.T @ away)[1].T[::-1])  # the longest first


def _stepped(points: Array, a: Array, b: Array) -> tuple[Array, Array]:
    """The ends of the axis moved, one coordinate at a time, for as long as that makes the capsule smaller."""
    ends = np.concatenate([a, b])
    steps = np.concatenate([np.eye(6), -np.eye(6)])
    volume = _volumes(points, ends[None])[0]
    size = 0.05 * float(np.ptp(points, axis=0).max())
    for _ in range(_STEPS):
        tried = ends + size * steps
        volumes = _volumes(points, tried)
        k = int(volumes.argmin())
        if volumes[k] < volume:
            ends, volume = tried[k], volumes[k]
        else:
            size *= 0.5
    return ends[:3], ends[3:]


def _volumes(points: Array, ends: Array) -> Array:
    """(K,) the volumes of the least capsules about the points with axes (K, 6)."""
    a, d = ends[:, None, :3], ends[:, None, 3:] - ends[:, None, :3]
    square = np.maximum((d * d).sum(axis=-1), 1e-30)
    along = np.clip(((points - a) * d).sum(axis=-1) / square, 0.0, 1.0)
    r = np.sqrt((((points - a) - along[..., None] * d) ** 2).sum(axis=-1).max(axis=1))
    return np.asarray(r**2 * (np.sqrt(square[:, 0]) + 4 / 3 * r))


def covering_capsules(points: Array, edges: Array) -> list[Cover]:
    """Capsules about a mesh of vertices (N, 3) and edges (E, 2): one, or up to `MOST_PIECES` where they waste less.

    A mesh is cut by planes across one of its principal axes, and each slab gets a capsule about its vertices and the
    points where edges cross its planes.  The part of a triangle in a slab is the convex hull of such points, so the
    capsules hold the whole surface, as one does.  More than one is taken where their volumes together are less than
    `WORTH` of the one's.
    """
    one = covering_capsule(points)
    best, least = [one], WORTH * one.volume
    for axis in _principal(_extremes(points)):
        bands = _bands(points, edges, points @ axis)
        outer = [_extremes(band) for band in bands]
        few = [_extremes(band, _ROUGH) for band in outer]
        rough = {
            (i, j): min(_along(some, u, 10).volume for u in _principal(some))
            for i in range(len(bands))
            for j in range(i + 1, len(bands) + 1)
            if len(some := np.concatenate(few[i:j]))
        }
        for cuts in _cuts(len(bands)):
            slabs = [slab for slab in pairwise((0, *cuts, len(bands))) if slab in rough]
            if sum(rough[slab] for slab in slabs) < least:
                found = [covering_capsule(*map(np.concatenate, (bands[i:j], outer[i:j]))) for i, j in slabs]
                total = sum(cover.volume for cover in found) / _REWARD ** (len(found) - 2)
                if total < least:
                    best, least = found, total
    return best


def _cuts(n: int) -> list[tuple[int, ...]]:
    """Between which of n bands to cut, for two pieces and for three."""
    return [(i,) for i in range(1, n)] + [(i, j) for i in range(1, n) for j in range(i + 1, n)]


def _bands(points: Array, edges: Array, heights: Array) -> list[Array]:
    """The vertices between each two of the planes, and the points where edges cross these."""
    planes = heights.min() + np.ptp(heights) * np.arange(1, _BANDS) / _BANDS
    which = np.searchsorted(planes, heights)
    found = [[points[which == k]] for k in range(_BANDS)]
    h = heights[edges]
    low, high = h.min(axis=1), h.max(axis=1)
    for k, plane in enumerate(planes):
        across = (low < plane) & (plane < high)
        part = ((plane - h[across, 0]) / (h[across, 1] - h[across, 0]))[:, None]
        crossing = (1 - part) * points[edges[across, 0]] + part * points[edges[across, 1]]
        found[k].append(crossing)
        found[k + 1].append(crossing)
    return [np.concatenate(band) for band in found]


def covering_cylinder(radius: float, length: float) -> Cover:
    """The capsule of least volume about a cylinder along z, centred; r^2 = radius^2 + (what the axis is short)^2."""
    short = np.linspace(0.0, length / 2, 200)
    r = np.hypot(radius, short)
    best = int((r**2 * (length - 2 * short + 4 / 3 * r)).argmin())
    end = np.array([0.0, 0.0, length / 2 - short[best]])
    return Cover(-end, end, float(r[best]))


def distance_to_segment(points: Array, a: Array, b: Array) -> Array:
    """(N,) distances of points (N, 3) from the segment a b."""
    d = b - a
    square = float(d @ d)
    part = np.clip((points - a) @ d / square, 0.0, 1.0) if square > 0 else np.zeros(len(points))
    return np.asarray(np.linalg.norm(points - a - part[:, None] * d, axis=1))


def _along(points: Array, u: Array, steps: int = 30) -> Cover:
    """The best capsule whose axis runs along the unit vector u."""
    t = points @ u
    flat = points - t[:, None] * u
    centre = _circle(flat, steps)
    d = np.linalg.norm(flat - centre, axis=1)
    r = _GROWTH * max(float(d.max()), 1e-9)
    s = np.sqrt(np.maximum(r[:, None] ** 2 - d**2, 0.0))
    low, high = (t + s).min(axis=1), (t - s).max(axis=1)
    middle = (low + high) / 2
    sphere = low > high
    low, high = np.where(sphere, middle, low), np.where(sphere, middle, high)
    best = int((r**2 * (high - low + 4 / 3 * r)).argmin())
    return Cover(centre + low[best] * u, centre + high[best] * u, float(r[best]))


def _circle(flat: Array, steps: int = 30) -> Array:
    """About the centre of the least circle around the points: step by step towards the farthest one."""
    centre = (flat.max(axis=0) + flat.min(axis=0)) / 2
    for k in range(1, steps):
        away = flat - centre
        centre = centre + away[(away**2).sum(axis=1).argmax()] / (k + 4)
    return np.asarray(centre)


def _extremes(points: Array, count: int = _EXTREMES) -> Array:
    """The outermost points in so many directions, spread evenly over the sphere; all where they are few."""
    if len(points) <= count:
        return points
    k = np.arange(count) + 0.5
    z, turn = 1 - 2 * k / count, math.pi * (1 + math.sqrt(5)) * k
    ring = np.sqrt(1 - z**2)
    directions = np.column_stack([ring * np.cos(turn), ring * np.sin(turn), z])
    px, py, pz = np.ascontiguousarray(points.T, dtype=np.float32)  # to choose by
    at = [int((px * x + py * y + pz * z).argmax()) for x, y, z in directions.astype(np.float32)]
    return points[np.unique(at)]


def _turned(u: Array, angle: float) -> list[Array]:
    """u tilted by an angle towards eight sides."""
    side = np.cross(u, np.eye(3)[int(np.abs(u).argmin())])
    side /= np.linalg.norm(side)
    other = np.cross(u, side)
    around = np.arange(8) * math.pi / 4
    return [math.cos(angle) * u + math.sin(angle) * (math.cos(x) * side + math.sin(x) * other) for x in around]


def reduced(capsules: list[LinkCapsule]) -> list[LinkCapsule]:
    """The capsules of an arm as they are, or `MOST` that hold them where there are more than `MANY`."""
    return merged(capsules, MOST) if len(capsules) > MANY else capsules


def merged(capsules: list[LinkCapsule], most: int) -> list[LinkCapsule]:
    """At most so many capsules that hold all of these, or one a link; in order, each named after its largest."""
    kept = dict(enumerate(capsules))
    tried = {(i, j): _about_both(kept[i], kept[j]) for i, j in combinations(kept, 2) if kept[i].link == kept[j].link}
    while len(kept) > most and tried:
        (i, j), (_, both) = min(tried.items(), key=lambda item: item[1][0])
        kept[i] = both
        del kept[j]
        tried = {pair: found for pair, found in tried.items() if i not in pair and j not in pair}
        for k, other in kept.items():
            if k != i and other.link == both.link:
                tried[min(i, k), max(i, k)] = _about_both(kept[min(i, k)], kept[max(i, k)])
    return list(kept.values())


def _about_both(x: LinkCapsule, y: LinkCapsule) -> tuple[float, LinkCapsule]:
    """What a capsule about both wastes, m^3, and that capsule."""
    ends = np.array([x.a, x.b, y.a, y.b])
    radii = np.array([x.radius, x.radius, y.radius, y.radius])
    axes = [*combinations(range(4), 2), *((k, k) for k in range(4))]
    found = []
    for p, q in axes:
        radius = float((distance_to_segment(ends, ends[p], ends[q]) + radii).max())
        found.append(Cover(ends[p], ends[q], radius))
    best = min(found, key=lambda cover: cover.volume)
    sizes = [Cover(np.array(c.a), np.array(c.b), c.radius).volume for c in (x, y)]
    larger = x if sizes[0] >= sizes[1] else y
    a, b = (tuple(end.tolist()) for end in (best.a, best.b))
    return best.volume - sum(sizes), dataclasses.replace(larger, a=a, b=b, radius=best.radius)
