"""A ready pose: a configuration to start from, for an arm whose description gives none.

Looked for among configurations spread evenly over the joint ranges (an additive recurrence, so the same ones each
time).  Each is scored by a product of terms from 0 to 1, 1 being good enough:

    limits        every joint off its limits
    conditioning  the least singular value of the tool's Jacobian, against the best that was seen
    clearance     the least gap between links that may meet, and from the floor (the base's own height)
    place         the tool at a middle distance from the first axis, at a height where there is work, pointing down
    straight      joints that need not be turned are not

The best of them are then asked for room: how far the tool gets to the sides, up, down, in and out, within the limits
and clear of itself.  All in NumPy over the whole batch: no kernel is compiled for this.

Everything is in the base's axes, `up` being against gravity there, so turning the base about the vertical changes
nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..algebra import Array
from ..model import Model
from ..model.capsules import BASE

SAMPLES = 6000
SCORED = 600
"""Of the samples, those whose clearance and conditioning are looked at: the best by what is cheap to know."""
FINALISTS = 24
"""Of those, the ones that are asked for room."""
LEAST_TURN = 0.6  # rad off a limit: three times the margin in which a controller slows a joint
LEAST_GAP = 0.12  # m between links, and to the floor: one and a half times where controllers begin to push
OFTEN = 0.2  # capsules that touch in more than this part of all configurations are so by construction
USUAL = 0.8  # links that the wrist holds close together cannot be asked for more than they have so often
TOUCHING = 0.005  # m: a gap that is none
ROUNDS = 3  # in which the finalists are made better, a joint at a time
STEPS = 14  # of damped least squares from the candidate to the points about it
DAMPING = 0.05  # m, of those steps
FLOOR = 1e-3  # of a term: the worst candidate is still comparable with others
DIGITS = 3  # decimals of the result


@dataclass(frozen=True, eq=False)
class PlacedArm:
    """Where a batch of configurations puts an arm, in the base's axes."""

    axes: Array  # (B, n, 3) of the joints
    origins: Array  # (B, n, 3) of their frames
    rotations: Array  # (B, n, 3, 3)
    tool: Array  # (B, 3)

    def jacobian(self, kinds: str) -> Array:
        """(B, 6, n): the tool's velocity, then its angular velocity."""
        turning = np.array([kind == "R" for kind in kinds])[None, :, None]
        arms = np.cross(self.axes, self.tool[:, None] - self.origins)
        v, w = np.where(turning, arms, self.axes), np.where(turning, self.axes, 0.0)
        return np.concatenate([v, w], axis=2).swapaxes(1, 2)


def place(model: Model, q: Array) -> PlacedArm:
    """Forward kinematics of a batch (B, n) by plain NumPy, in the base's axes."""
    R, p = np.broadcast_to(np.eye(3), (len(q), 3, 3)), np.zeros((len(q), 3))
    axes, origins, rotations = [], [], []
    for i in range(model.n):
        p = p + R @ model.p[i]
        R = R @ model.E[i]
        if model.revolute(i):
            c, s, none = np.cos(q[:, i]), np.sin(q[:, i]), np.zeros(len(q))
            turn = np.stack([c, -s, none, s, c, none, none, none, none + 1.0], axis=1).reshape(-1, 3, 3)
            R = R @ turn
        else:
            p = p + q[:, i, None] * R[:, :, 2]
        axes.append(R[:, :, 2])
        origins.append(p)
        rotations.append(R)
    tool = p + R @ model.tool[:3, 3]
    return PlacedArm(np.stack(axes, 1), np.stack(origins, 1), np.stack(rotations, 1), tool)


def place_of(placed: PlacedArm, part: slice) -> PlacedArm:
    """A part of the batch."""
    return PlacedArm(placed.axes[part], placed.origins[part], placed.rotations[part], placed.tool[part])


def reach(model: Model) -> float:
    """How far the tool gets from the origin of the first joint, m: the farthest of the same samples."""
    return _reach(place(model, spread(*model.sampling_range(), SAMPLES)))


def _reach(placed: PlacedArm) -> float:
    return float(np.linalg.norm(placed.tool - placed.origins[:, 0], axis=1).max())


def ready_pose(model: Model) -> Array:
    """A configuration (n,) to start from: off the limits and singularities, clear, its tool over the work."""
    return _Search(model).best()


class Posed:
    """A model by what its ready pose depends on: not its dynamics, nor how its base is turned about the vertical."""

    def __init__(self, model: Model) -> None:
        self.model = model
        arrays = (model.E, model.p, model.tool, model.lower, model.upper, model.ready, _up(model))
        self.parts = (model.kinds, tuple(array.tobytes() for array in arrays), model.capsules)

    def __hash__(self) -> int:
        return hash(self.parts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Posed) and self.parts == other.parts


def _up(model: Model) -> Array:
    """Against gravity in the base's axes; z where there is none."""
    size = float(np.linalg.norm(model.gravity))
    up = -model.gravity / size if size else np.array([0.0, 0.0, 1.0])
    found: Array = model.base[:3, :3].T @ up + 0.0
    return found


def spread(low: Array, high: Array, count: int) -> Array:
    """(count, n) points that fill a box evenly, the same ones each time: steps by powers of a root, modulo 1.

    The root g of g^(n+1) = g + 1 is what the golden ratio is for n = 1; its powers are hardest to approximate by
    fractions with a common denominator, so no two points come close.
    """
    n, g = len(low), 1.5
    for _ in range(60):
        g = (1.0 + g) ** (1.0 / (n + 1))
    steps = g ** -np.arange(1.0, n + 1)
    found: Array = low + (high - low) * ((0.5 + np.arange(1, count + 1)[:, None] * steps) % 1.0)
    return found


def enough(value: Array, wanted: float) -> Array:
    """0 at none, 1 from `wanted` on."""
    found: Array = np.clip(value / wanted, 0.0, 1.0)
    return found


class _Search:
    """The search for one arm."""

    def __init__(self, model: Model) -> None:
        self.model, self.up, self.approach = model, _up(model), approach(model)
        self.low, self.high = model.sampling_range()
        half = (self.high - self.low) / 2
        self.middle = self.low + half
        limited = (model.upper - model.lower <= 4 * math.pi) & (half > 0)
        turning = np.array([kind == "R" for kind in model.kinds])
        self.margin = np.where(limited, np.minimum(np.where(turning, LEAST_TURN, np.inf), 0.4 * half), 0.0)
        self.neutral = np.clip(0.0, self.low, self.high)
        self.spheres = _spheres(model)

    def best(self) -> Array:
        """The search itself."""
        model = self.model
        q = np.vstack([model.ready, self.neutral, self.middle, spread(self.low, self.high, SAMPLES)])
        placed = place(model, q)
        self._survey(placed)
        cheap = self._limits(q) * self._location(placed) * self._straight(q)
        q = q[np.argsort(-cheap, kind="stable")[:SCORED]]
        q = q[np.argsort(-self._score(q), kind="stable")[:FINALISTS]]
        q = self._polished(q)
        score = self._score(q) * self._room(q)
        found: Array = np.round(q[int(np.argmax(score))], DIGITS)
        return np.clip(found, model.lower, model.upper) + 0.0

    def _survey(self, placed: PlacedArm) -> None:
        """What terms are measured against: how far the arm reaches, at what heights, and how well it moves at best."""
        first = place_of(placed, slice(SCORED))
        self.reach = _reach(placed) or 1.0
        self.pairs = self._pairs(first)
        height = placed.tool @ self.up
        above = height[height > 0.0]
        self.lowest, self.highest = 0.0, self.reach
        if len(above):
            self.lowest, self.highest = float(np.quantile(above, 0.1)), float(np.quantile(above, 0.6))
        most = np.linalg.svd(self._jacobian(first), compute_uv=False).max(axis=0)
        self.rank = int((most > 1e-3).sum()) or 1
        self.best_value = max(float(most[self.rank - 1]), 1e-9)

    def _score(self, q: Array) -> Array:
        placed = place(self.model, q)
        found: Array = self._limits(q) * self._location(placed) * self._straight(q)
        return found * self._clearance(placed) * self._conditioning(placed)

    def _polished(self, q: Array) -> Array:
        """Each joint in turn, last first, to the best of a few values from where it is to its neutral one."""
        for _ in range(ROUNDS):
            for i in reversed(range(self.model.n)):
                parts = np.array([0.0, 0.15, 0.4, 0.7, 1.0, -0.15])
                tried = np.repeat(q[None], len(parts), axis=0)
                tried[:, :, i] += parts[:, None] * (self.neutral[i] - q[:, i])
                tried = np.clip(tried, self.low, self.high)
                score = self._score(tried.reshape(-1, self.model.n)).reshape(len(parts), len(q))
                q = tried[np.argmax(score, axis=0), np.arange(len(q))]
        return q

    # ---- terms
    def _limits(self, q: Array) -> Array:
        gap = np.minimum(q - self.low, self.high - q)
        with np.errstate(divide="ignore", invalid="ignore"):
            part = np.where(self.margin > 0, gap / self.margin, 1.0)
        found: Array = np.clip(part, FLOOR, 1.0).prod(axis=1)
        return found

    def _straight(self, q: Array) -> Array:
        """Favours small turns where a joint has more than a turn to choose from: both ends of it are one pose."""
        away = np.abs(q - self.neutral) / math.pi
        found: Array = np.exp(-0.15 * np.square(away).sum(axis=1))
        return found

    def _location(self, placed: PlacedArm) -> Array:
        """The tool neither stretched out nor folded in, over the work, pointing down, in front (x) if anything."""
        up, reach = self.up, self.reach
        height = placed.tool @ up
        outwards = placed.tool - placed.origins[:, 0]
        level = outwards - (outwards @ up)[:, None] * up
        aside = np.linalg.norm(level, axis=1)
        wide = max(self.highest - self.lowest, 0.1 * reach)
        off = np.maximum(np.maximum(self.lowest - height, height - self.highest), 0.0)
        there = np.exp(-np.square(off / (0.3 * wide)) - np.square((aside - 0.55 * reach) / (0.25 * reach)))
        front = 0.75 + 0.25 * level[:, 0] / np.maximum(aside, 1e-9)
        down = -(placed.rotations[:, -1] @ self.approach) @ up
        found: Array = np.maximum(there, FLOOR) * front * np.clip(0.5 + 0.5 * down, 0.05, 1.0)
        return found

    def _jacobian(self, placed: PlacedArm) -> Array:
        """Lengths by the reach; of an arm with less than six joints the velocity alone, which is all it can choose."""
        J = placed.jacobian(self.model.kinds)
        return np.concatenate([J[:, :3] / self.reach, J[:, 3:]], axis=1) if self.model.n >= 6 else J[:, :3] / self.reach

    def _conditioning(self, placed: PlacedArm) -> Array:
        """The Jacobian's least singular value that is not zero for good, against the best that was seen."""
        J = self._jacobian(placed)
        square = np.linalg.eigvalsh(J @ J.swapaxes(1, 2))[:, ::-1]  # of the singular values, the largest first
        value = np.sqrt(np.maximum(square[:, self.rank - 1], 0.0))
        found: Array = np.clip(value / (0.7 * self.best_value), FLOOR, 1.0)
        return found

    def _clearance(self, placed: PlacedArm) -> Array:
        centres = self._centres(placed)
        itself = np.ones(len(placed.tool))
        for (i, j), wanted in self.pairs.items():
            gap = _gap(centres[i], centres[j]) - self.spheres[i].radius - self.spheres[j].radius
            itself = np.minimum(itself, enough(gap, wanted))
        lowest = placed.tool @ self.up
        for k, sphere in enumerate(self.spheres):
            if sphere.link > 1:  # what stands on the floor touches it
                lowest = np.minimum(lowest, (centres[k] @ self.up).min(axis=1) - sphere.radius)
        floor = enough(lowest, min(LEAST_GAP, 0.1 * self.reach))
        return np.maximum(itself, FLOOR) * np.maximum(floor, 0.1)  # an arm of a torso may hang below its base

    def _room(self, q: Array) -> Array:
        """How much of the way to points about the tool is gone, at best 1, the least and the mean of them."""
        placed = place(self.model, q)
        up, reach = self.up, self.reach
        outwards = placed.tool - placed.origins[:, 0]
        outwards = outwards - (outwards @ up)[:, None] * up
        size = np.linalg.norm(outwards, axis=1, keepdims=True)
        outwards = np.where(size > 1e-9, outwards / np.maximum(size, 1e-9), np.eye(3)[0])
        aside = np.cross(up, outwards)
        a, b = min(0.3, 0.3 * reach), min(0.15, 0.2 * reach)
        ways = [s * a * aside for s in (1, -1)] + [s * b * np.broadcast_to(up, aside.shape) for s in (1, -1)]
        ways += [a * aside - b * up, -a * aside - b * up]
        gone = []
        for way in ways:
            end = track(self.model, q, placed.tool + way, self.low + self.margin / 2, self.high - self.margin / 2)
            there = place(self.model, end)
            left = np.linalg.norm(placed.tool + way - there.tool, axis=1) / np.linalg.norm(way, axis=1)
            gone.append(np.clip(1.0 - left, 0.0, 1.0) * self._clearance(there))
        table = np.array(gone)
        found: Array = np.maximum(0.5 * (table.min(axis=0) + table.mean(axis=0)), FLOOR)
        return found

    # ---- shapes
    def _centres(self, placed: PlacedArm) -> list[Array]:
        found = []
        for sphere in self.spheres:
            if sphere.link == BASE:
                found.append(np.broadcast_to(sphere.points, (len(placed.tool), *sphere.points.shape)))
            else:
                R, p = placed.rotations[:, sphere.link], placed.origins[:, sphere.link]
                found.append(p[:, None] + sphere.points @ R.swapaxes(1, 2))
        return found

    def _pairs(self, placed: PlacedArm) -> dict[tuple[int, int], float]:
        """Capsules that may meet, and the gap that is wanted: what they have in a good part of all configurations.

        Left out are those of one link or of neighbours, those that mostly touch, and those that never come near.
        """
        centres, found = self._centres(placed), {}
        for i, one in enumerate(self.spheres):
            for j in range(i):
                other = self.spheres[j]
                if abs(one.link - other.link) > 1:
                    gap = _gap(centres[i], centres[j]) - one.radius - other.radius
                    if (gap <= 0.0).mean() <= OFTEN and gap.min() < LEAST_GAP:
                        usual = float(np.quantile(gap, USUAL))
                        found[i, j] = max(min(usual, LEAST_GAP, 0.1 * self.reach), TOUCHING)
        return found


@dataclass(frozen=True, eq=False)
class _Spheres:
    """A capsule as a few balls along its axis, near enough to compare poses by."""

    link: int
    points: Array  # (k, 3)
    radius: float


def _spheres(model: Model) -> list[_Spheres]:
    found = []
    for capsule in model.capsules:
        a, b = np.array(capsule.a), np.array(capsule.b)
        count = 1 + min(5, math.ceil(float(np.linalg.norm(b - a)) / max(capsule.radius, 0.02)))
        found.append(_Spheres(capsule.link, a + np.linspace(0.0, 1.0, count)[:, None] * (b - a), capsule.radius))
    return found


def _gap(one: Array, other: Array) -> Array:
    """(B,) the least distance of points (B, k, 3) and (B, m, 3)."""
    least: Array = np.sqrt(np.square(one[:, :, None] - other[:, None]).sum(axis=3).min(axis=(1, 2)))
    return least


def approach(model: Model) -> Array:
    """The way (3,) that the tool points, in the last link's axes: from the last joint to the tool, else its axis.

    Frames of tools follow no one rule; where the tool is does.
    """
    for i in (model.n - 1, *range(model.n - 2, -1, -1)):
        # the tool as seen from frame i with the joints after it at zero
        R, p = np.eye(3), np.zeros(3)
        for k in range(i + 1, model.n):
            p = p + R @ model.p[k]
            R = R @ model.E[k]
        offset = R.T @ (p + R @ model.tool[:3, 3])  # in the last link's axes
        size = float(np.linalg.norm(offset))
        if size > 0.02:
            direction: Array = offset / size
            return direction
    return np.array([0.0, 0.0, 1.0])


def track(model: Model, q: Array, target: Array, low: Array, high: Array) -> Array:
    """(B, n): q (B, n) moved so that the tool comes to `target` (B, 3), joints kept in a box: damped least squares."""
    for _ in range(STEPS):
        placed = place(model, q)
        J = placed.jacobian(model.kinds)[:, :3]
        JT = J.swapaxes(1, 2)
        error = target - placed.tool
        change = np.linalg.solve(J @ JT + DAMPING**2 * np.eye(3), error[..., None])
        q = np.clip(q + (JT @ change)[..., 0], low, high)
    return q
