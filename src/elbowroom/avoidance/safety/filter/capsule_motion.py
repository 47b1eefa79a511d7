"""How joint speeds move and turn the arm's capsules, and in which SIMD lanes their pairs with people lie."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ....algebra import Scalar, cross, dot, maximum
from ....algebra.functions import folded, largest
from ....algebra.linalg import Array
from ....algebra.table import padded
from ....dynamics.kinematics import Frames, accelerations, forward_kinematics, velocities
from ....model import Model
from ...control.pushes import PairLayout

WIDTH = 13  # numbers of `capsule_motions`, of a capsule


def _by_capsule(
    layout: PairLayout, frames: Frames, of: Callable[[int, int, Array, Array], tuple[Array, Array]]
) -> tuple[list[Array], list[Array]]:
    """Two vectors (3,) of every capsule: zero for one of the base, else `of` its number and link and its ends, turned
    as the link is."""
    starts, differences = [], []
    for k, capsule in enumerate(layout.capsules):
        start, difference = np.zeros(3), np.zeros(3)
        if capsule.link >= 0:
            a, b = (frames.R[capsule.link] @ np.array(end) for end in (capsule.a, capsule.b))
            start, difference = of(k, capsule.link, a, b)
        starts.append(start)
        differences.append(difference)
    return starts, differences


class CapsuleMotion(NamedTuple):
    """How some joint speeds move the ends of the arm's capsules, by capsule: (3,) each, of a, and of b less a."""

    a: list[Array]
    along: list[Array]

    @classmethod
    def of(cls, model: Model, layout: PairLayout, frames: Frames, speed: Array) -> CapsuleMotion:
        """By the links' velocities."""
        omega, v = velocities(model, frames, speed)

        def moves(_: int, link: int, a: Array, b: Array) -> tuple[Array, Array]:
            return v[link] + cross(omega[link], a), cross(omega[link], b - a)

        return cls(*_by_capsule(layout, frames, moves))

    def opening(self, capsule: int, normal: Array, share: Scalar) -> Scalar:
        """The speed along a normal of the point that lies at `share` between the ends."""
        return dot(self.a[capsule] + self.along[capsule] * share, normal)

    def openings(self, capsule: int, normal: Array, shares: Sequence[Scalar]) -> list[Scalar]:
        """The same at several shares."""
        start, along = dot(self.a[capsule], normal), dot(self.along[capsule], normal)
        return [start + along * share for share in shares]

    def across(self, capsule: int, shares: Sequence[Scalar], openings: Sequence[Scalar]) -> Scalar:
        """The greatest speed at right angles to a normal, squared, of the points that open at these speeds along it."""
        v, along = self.a[capsule], self.along[capsule]
        start, mixed, end = dot(v, v), 2.0 * dot(v, along), dot(along, along)
        both = zip(shares, openings, strict=True)
        return largest(start + share * (mixed + share * end) - u * u for share, u in both)


class Turning(NamedTuple):
    """How fast closing speeds grow while the joints go on as they are, by capsule: (3,) each."""

    a: list[Array]  # m/s^2, of the start, while no joint accelerates
    along: list[Array]  # the same of the end less the start
    motion: CapsuleMotion

    @classmethod
    def of(cls, model: Model, layout: PairLayout, frames: Frames, speed: Array, motion: CapsuleMotion) -> Turning:
        """By the links' accelerations."""
        omega, alpha, acceleration = accelerations(model, frames, speed)

        def turns(k: int, link: int, a: Array, b: Array) -> tuple[Array, Array]:
            w = omega[link]
            start = acceleration[link] + cross(alpha[link], a) + cross(w, cross(w, a))
            return start, cross(alpha[link], b - a) + cross(w, motion.along[k])

        return cls(*_by_capsule(layout, frames, turns), motion)

    def rate(
        self, capsule: int, axis: Array, per_length: Scalar, normal: Array, shares: Sequence[Scalar], apart: Scalar
    ) -> Scalar:
        """du/dt (m/s^2), at least 0, of the pair whose axes are `apart` (m), the greatest of those at the shares.

        The nearest point slides along the link:

        u' = -n . a + max(0, apart (n . w x e)^2 + 2 (n . w x e) (v . e)),    e along the link, w its turning

        `axis` (3,) leads from the capsule's start to its end; `per_length` is 1 / |axis|, 0 for a ball.
        """
        grows = dot(self.along[capsule], normal)
        turned = dot(self.motion.along[capsule], normal) * per_length
        slides = dot(self.motion.a[capsule], axis)  # no part of a link moves along it on its own
        pulled = folded(maximum, (-share * grows for share in shares)) - dot(self.a[capsule], normal)
        pulled = pulled + maximum(turned * (apart * turned + slides * (2.0 * per_length)), 0.0)
        return maximum(pulled, 0.0)


def capsule_motions(model: Model, layout: PairLayout, q: Array, speed: Array) -> Array:
    """(C, 13) of the capsules that joints move, at some joint speeds: CapsuleMotion, Turning, 1 / length."""
    frames = forward_kinematics(model, q)
    motion = CapsuleMotion.of(model, layout, frames, speed)
    turning = Turning.of(model, layout, frames, speed, motion)
    rows = []
    for i in moving(layout):
        length = float(np.linalg.norm(np.array(layout.capsules[i].b) - np.array(layout.capsules[i].a)))
        parts = motion.a[i], motion.along[i], turning.a[i], turning.along[i]
        rows.append([*np.concatenate(parts), 1.0 / length if length > 0.0 else 0.0])
    return np.array(rows)


def of_row(row: Array) -> Turning:
    """One row of `capsule_motions`, as of an arm with one capsule."""
    return Turning([row[6:9]], [row[9:12]], CapsuleMotion([row[0:3]], [row[3:6]]))


def moving(layout: PairLayout) -> list[int]:
    """The capsules that joints move."""
    return [i for i, capsule in enumerate(layout.capsules) if capsule.link >= 0]


@dataclass(frozen=True)
class Lanes:
    """Where the pairs lie: a lane for each person and each capsule that moves, rounded up; a step for each of theirs.

    Pair number (step, lane) is column step * lanes + lane.  Lanes beyond the last capsule repeat it.
    """

    layout: PairLayout

    @property
    def capsules(self) -> int:
        """Lanes of one person."""
        return padded(len(moving(self.layout)))

    @property
    def count(self) -> int:
        """All lanes."""
        return self.layout.people * self.capsules

    @property
    def steps(self) -> int:
        """Capsules of a person."""
        return self.layout.person_capsules

    @property
    def groups(self) -> list[tuple[int, int]]:
        """(person, number of the capsule that moves) of every lane."""
        last = len(moving(self.layout)) - 1
        return [(p, min(m, last)) for p in range(self.layout.people) for m in range(self.capsules)]

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """(number of the capsule that moves, slot of the person's capsule) of every column."""
        return [(m, p * self.steps + step) for step in range(self.steps) for p, m in self.groups]

    def lane(self, person: int, m: int) -> int:
        """The lane of a person and a capsule that moves."""
        return person * self.capsules + m

    @property
    def order(self) -> list[int]:
        """The columns of the pairs capsule by capsule, and slot by slot: each once."""
        slots = [divmod(slot, self.steps) for slot in range(self.layout.people * self.steps)]
        return [step * self.count + self.lane(p, m) for m in range(len(moving(self.layout))) for p, step in slots]
