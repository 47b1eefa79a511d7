"""The arm as capsules: where they are, how fast their ends move, and which of them may meet each other.

A capsule of link i has its axis from a to b in the axes of frame i.  In the world, with the frames R_i, p_i and the
velocities v_i, w_i of dynamics/kinematics.py, an end x and its velocity are

    x = p_i + R_i a        x' = v_i + w_i x (R_i a)

`rows` writes both ends of every capsule as rows of 13 numbers (shapes.py) over any scalar; `Body` compiles it for an
arm.  The capsules are the model's own (`Model.capsules`), another cover of it by name, or yours.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from functools import cache, cached_property, lru_cache
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike

from ..algebra import Array, cross
from ..algebra.linalg import matrix
from ..arm import Arm
from ..compile import compiled
from ..compile.kernel import Kernel
from ..compile.method import answer, compiled_once, kernel_method
from ..dynamics.kinematics import forward_kinematics, velocities
from ..errors import ModelError
from ..model import LinkCapsule, Model
from ..model.capsules import BASE, Point, checked_capsules
from .distance import DISTANCE, distance, pair_of_rows
from .shapes import RADIUS, ROW, A, B, Capsule, Sphere

SAMPLES = 4000
"""Configurations that `Body.self_pairs` looks at, drawn within the joint limits, the same ones each time."""

OFTEN = 0.2
"""A pair of capsules that touches in more than this part of them is there by construction and no collision."""

TOOL_OUT = 0.02
"""m: a tool's point that is farther outside of all capsules gets a capsule of its own."""

TOOL, TOOL_RADIUS = "tool", 0.05
"""The name of that capsule, and its radius, m."""

BARE_LENGTH = 0.05
"""m: a link whose two joints (or joint and tool) are farther apart has an extent, and so a shape."""

BARE_MASS = 1.0
"""kg: and so has a heavier one: at the density of aluminium it is a ball of 9 cm, at that of water one of 12 cm."""

AT_ONCE = 100
"""Pairs that are looked at together: their rows fill some 80 MB."""

NEAR = 0.05
"""m: a pair that never comes so near cannot meet."""


def rows(model: Model, q: Array, qd: Array, capsules: Sequence[LinkCapsule]) -> Array:
    """(len(capsules), 13): the capsules in the world at q (n,), their ends moving as qd (n,) moves them."""
    frames = forward_kinematics(model, q)
    omega, v = velocities(model, frames, qd)
    base, origin = model.base[:3, :3], model.base[:3, 3]
    table = []
    for capsule in capsules:
        i, ends, speeds = capsule.link, [], []
        for local in (capsule.a, capsule.b):
            if i == BASE:
                ends.append(origin + base @ np.array(local))
                speeds.append(np.zeros(3))
            else:
                arm = frames.R[i] @ np.array(local)
                ends.append(frames.p[i] + arm)
                speeds.append(v[i] + cross(omega[i], arm))
        table.append([*ends[0], *ends[1], capsule.radius, *speeds[0], *speeds[1]])
    return matrix(table)


def ends(model: Model, q: Array, capsules: Sequence[LinkCapsule]) -> list[tuple[Array, Array]]:
    """Where the axes of the capsules begin and end in the world at q (n,)."""
    frames = forward_kinematics(model, q)
    base, origin = model.base[:3, :3], model.base[:3, 3]

    def placed(link: int, local: Point) -> Array:
        return origin + base @ np.array(local) if link == BASE else frames.point(link, np.array(local))

    return [(placed(each.link, each.a), placed(each.link, each.b)) for each in capsules]


class Body:
    """An arm's capsules, compiled: `capsules(q)` as shapes, `rows(q, qd)` as numbers, `self_pairs` to keep apart.

    Row k is capsule k, named `names[k]`, on link `links[k]` (-1: the fixed base, which no joint moves).
    """

    def __init__(self, arm: Arm, capsules: Iterable[LinkCapsule] | None = None, cover: str | None = None) -> None:
        if capsules is not None and cover is not None:
            raise ValueError(f"Body: give capsules or the name of a cover, not both; got cover={cover!r} besides")
        model = arm.model
        chosen = model.cover(cover) if cover is not None else model.capsules if capsules is None else capsules
        self.arm = arm
        self.link_capsules = checked_capsules(chosen, model.n, model.name)
        if capsules is None and cover is None and self.link_capsules:
            self.link_capsules += _tool(model, self.link_capsules)
        if not self.link_capsules:
            raise ModelError(
                f"{model.name}: no capsules, so no distance to it can be measured; give your own, "
                "Body(arm, capsules=[LinkCapsule(name, link, a, b, radius), ...]), "
                "or draw them along the joints, Body.from_frames(arm, radius=0.08)"
            )
        self.names = tuple(capsule.name for capsule in self.link_capsules)
        self.links = tuple(capsule.link for capsule in self.link_capsules)

    @classmethod
    def from_frames(cls, arm: Arm, radius: float) -> Body:
        """A body for an arm of unknown shape: a capsule of this radius (m) from each joint to the next and to the tool.

        A slide adds the rod that it pushes, as long as its travel.  What is wider than the radius sticks out.
        """
        return cls(arm, capsules=skeleton(arm.model, radius))

    @property
    def bare(self) -> tuple[str, ...]:
        """The links that move, have an extent and no capsule, so that distances ignore them; see `bare_links`."""
        return bare_links(self.arm.model, self.link_capsules)

    def __len__(self) -> int:
        return len(self.link_capsules)

    def __repr__(self) -> str:
        return f"<Body of {self.arm.name}: {len(self)} capsules>"

    @compiled_once
    def kernel(self) -> Kernel:
        """q (n,), qd (n,) -> rows (R, 13); a batch as well, `out=` as well."""
        return _rows_kernel(self.arm.model, self.link_capsules)

    @kernel_method
    def rows(self, q: ArrayLike, qd: ArrayLike, *, out: Array | None = None) -> Array:
        """(R, 13) rows of the capsules at q (n,) with the velocities that qd (n,) gives their ends; (B, n) as well."""
        found: Array = answer(self, Body.rows, self.kernel, q, qd, out=out)
        return found

    def capsules(self, q: ArrayLike) -> list[Capsule]:
        """The capsules in the world at q (n,)."""
        table = self.kernel.general(q, np.zeros(self.arm.n))
        return [Capsule(row[A], row[B], float(row[RADIUS])) for row in table]

    @cached_property
    def self_pairs(self) -> tuple[tuple[int, int], ...]:
        """Pairs (i, j), i < j, of capsules that the arm must keep apart.

        Left out are capsules of one link and of neighbouring links (the base is the first link's neighbour).  Of the
        others `SAMPLES` configurations within the joint limits are looked at, the same ones each time, and left out
        are pairs

        - that touch at `ready` or in more than `OFTEN` of them: the cover is wider than the arm there;
        - that never come within `NEAR`: they cannot meet;
        - that never touch and are mostly within twice `NEAR`: the joints between them hold them so.
        """
        return _self_pairs(self.arm.model, self.link_capsules, tuple(self.arm.ready.tolist()))

    def self_gap(self, q: ArrayLike) -> Array:
        """(B,) the least distance between capsules of `self_pairs` at q (B, n), m; inf where there are none."""
        least: Array = self.self_gaps(q).min(axis=1, initial=np.inf)
        return least

    def self_gaps(self, q: ArrayLike) -> Array:
        """(B, pairs) the distances between the capsules of `self_pairs` at q (B, n), m."""
        table = self.kernel.general(q, np.zeros_like(np.asarray(q, dtype=float)))
        if not self.self_pairs:
            return np.zeros((len(table), 0))
        first, second = (np.ascontiguousarray(table[:, list(side)]) for side in zip(*self.self_pairs, strict=True))
        found: Array = _pair().general(first, second)[..., DISTANCE]
        return found

    def __reduce__(self) -> tuple[type[Body], tuple[Arm, tuple[LinkCapsule, ...]]]:
        return type(self), (self.arm, self.link_capsules)


def _rows_kernel(model: Model, capsules: tuple[LinkCapsule, ...]) -> Kernel:
    ports = {"q": (model.n,), "qd": (model.n,)}
    return compiled(functools.partial(rows, capsules=capsules), model, ports, name="rows", output="rows")


@lru_cache(maxsize=64)  # every controller of an arm has a body of its own
def _self_pairs(
    model: Model, capsules: tuple[LinkCapsule, ...], ready: tuple[float, ...]
) -> tuple[tuple[int, int], ...]:
    links = [capsule.link for capsule in capsules]
    pairs = [(i, j) for i, j in combinations(range(len(links)), 2) if abs(links[i] - links[j]) > 1]
    if not pairs:
        return ()
    drawn = np.random.default_rng(0).uniform(*model.sampling_range(), (SAMPLES, model.n))
    at = np.vstack([ready, drawn])
    table = _rows_kernel(model, capsules).general(at, np.zeros_like(at))
    found: list[tuple[int, int]] = []
    for some in (pairs[k : k + AT_ONCE] for k in range(0, len(pairs), AT_ONCE)):
        first, second = (np.ascontiguousarray(table[:, list(side)]) for side in zip(*some, strict=True))
        apart = _pair().general(first, second)[..., DISTANCE]  # (1 + SAMPLES, pairs)
        standing, touching = apart[0], (apart[1:] <= 0.0).mean(axis=0)
        can_meet = (apart.min(axis=0) < NEAR) & ((touching > 0.0) | (np.median(apart, axis=0) > 2 * NEAR))
        keep = (standing > 0.0) & (touching <= OFTEN) & can_meet
        found += [pair for pair, wanted in zip(some, keep, strict=True) if wanted]
    return tuple(found)


def bare_links(model: Model, capsules: Iterable[LinkCapsule]) -> tuple[str, ...]:
    """The links, base first, that move, must have a shape and have no capsule.

    A link must have one that spans more than `BARE_LENGTH` from its joint to the next one or to the tool, or that is
    heavier than `BARE_MASS`.  What is neither may lie within its neighbours, as the cross of a wrist does.  Without
    any capsule on a link that moves they all lack one.  The capsule that `Body` assumes for a tool does for a light
    last link; a heavy one is more than its axis.
    """
    found, last = list(capsules), model.n - 1
    shaped = {capsule.link for capsule in found} - {BASE}
    if not shaped:
        return model.link_names
    if model.mass[last] > BARE_MASS and all(_assumed(model, each) for each in found if each.link == last):
        shaped.discard(last)
    spans = np.linalg.norm([*model.p[1:], model.tool[:3, 3]], axis=1)
    must = (spans > BARE_LENGTH) | (model.mass > BARE_MASS)
    return tuple(name for i, name in enumerate(model.link_names) if must[i] and i not in shaped)


def _assumed(model: Model, capsule: LinkCapsule) -> bool:
    """Whether a capsule is one of `_tool`, and none that somebody gave."""
    at_tool = capsule.b == _tuple(model.tool[:3, 3]) and capsule.radius == TOOL_RADIUS
    return capsule.name == TOOL and at_tool and capsule not in model.capsules


def _tool(model: Model, capsules: Sequence[LinkCapsule]) -> tuple[LinkCapsule, ...]:
    """A capsule for a tool that sticks out of the cover at `ready`: from the last link's nearest axis to its point.

    `with_tool` moves the point and says nothing of the tool's shape; a tool wider than `TOOL_RADIUS` needs capsules of
    yours.
    """
    table = np.array(rows(model, model.ready, np.zeros(model.n), capsules), dtype=float)
    frames = forward_kinematics(model, model.ready)
    tip = Sphere(frames.point(-1, model.tool[:3, 3]), 0.0)
    if min(distance(Capsule(r[A], r[B], r[RADIUS]), tip).distance for r in table) <= TOOL_OUT:
        return ()
    ends = [end for c in capsules if c.link == model.n - 1 for end in (c.a, c.b)] or [(0.0, 0.0, 0.0)]
    point = model.tool[:3, 3]
    start = min(ends, key=lambda end: float(np.linalg.norm(np.array(end) - point)))
    return (LinkCapsule(TOOL, model.n - 1, start, _tuple(point), TOOL_RADIUS),)


def skeleton(model: Model, radius: float) -> list[LinkCapsule]:
    """Capsules of one radius (m) from each joint's origin to the next and to the tool; see `Body.from_frames`."""
    ends = [(i - 1, np.zeros(3), model.p[i], f"to {model.joint_names[i]}") for i in range(model.n)]
    ends.append((model.n - 1, np.zeros(3), model.tool[:3, 3], "to the tool"))
    for i in range(model.n):
        if not model.revolute(i):
            out, back = max(0.0, float(model.upper[i])), max(0.0, -float(model.lower[i]))
            if not np.isfinite(out + back):
                raise ModelError(
                    f"{model.name}: joint {model.joint_names[i]!r}: the rod of a slide is as long as its travel, "
                    "which has no limits"
                )
            rod = np.array([0.0, 0.0, -out]), np.array([0.0, 0.0, back])
            ends.append((i, *rod, f"rod of {model.joint_names[i]}"))
    return [
        LinkCapsule(name, link, _tuple(a), _tuple(b), radius)
        for link, a, b, name in ends
        if (a != b).any()  # two joints in one point: the capsules that end there cover it
    ]


def _tuple(point: Array) -> Point:
    x, y, z = point.tolist()
    return x, y, z


@cache
def _pair() -> Kernel:
    """Two rows -> one row of `separation`, for all bodies the same."""
    return compiled(pair_of_rows, None, {"x": (ROW,), "y": (ROW,)}, name="separation")
