"""Batch validity: thousands of configurations against a world and the arm itself, in compiled calls with SIMD lanes.

    checker = Checker(Body(arm))
    checker.clearance(Q, world)             (B,) m, least distance of surfaces; negative in overlap
    checker.free(Q, world, margin=0.02)     (B,) bool, in float32 on squared distances
    against = checker.against(world, margin=0.02)       the same for many calls: its tables are made once
    against.edges_free(P, Q)                (B,) bool, the whole straight joint motions from P to Q

One call places the capsules of all configurations and takes the distances of those that the arm must keep apart; one
loop over the rows of the world follows for each kind of shape, all configurations of a block in the lanes of a register
(`algebra.Repeated` with `rows`).  So a world of any size needs no more code.

A motion is free if every configuration of it is.  No point of the arm moves farther than

    m = sum_i |dq_i| r_i        r_i: the farthest that anything outside joint i can be from its axis (1 for a slide)

between two configurations dq apart.  Of two neighbouring samples with the slacks c1, c2 (clearance less margin) all
between them is free if c1 + c2 > m; where it is not, the middle is looked at, too (`edges_free`).

Capsules that no joint moves are not checked against the world: the base stands where it stands.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...algebra import Array as Scalars
from ...algebra import Repeated, Scalar, minimum, sqrt, trace
from ...algebra.linalg import vector
from ...compile import compiled
from ...compile.kernel import Kernel
from ...errors import ShapeError
from ...geometry import Body
from ...geometry.body import ends
from ...geometry.segments import dot, least_square, least_square_to_box
from ...model import LinkCapsule, Model
from ...model.capsules import BASE
from .world import BOX, CAPSULE, PLANE, World, filled_up

Array = NDArray[np.float64]
Numbers = NDArray[Any]

NOTHING = 1e3  # m: the clearance where there is nothing to be clear of
COARSE = 0.15  # m, of what moves farthest: samples that a motion is looked at first
FINEST = 0.002  # m: motions this small between two samples that are free are free
SIZES = (4, 8, 12, 16, 24, 32, 48, 64, 96, 128)  # rows that there is code for; more go through the last in turns


class Placing(NamedTuple):
    """What is compiled for a body: its model, its capsules that move, all of them, and the pairs to keep apart."""

    model: Model
    moving: tuple[LinkCapsule, ...]
    pairs: tuple[tuple[LinkCapsule, LinkCapsule], ...]


def _placed(model: Model, q: Scalars, moving: Any, pairs: Any, squared: bool) -> dict[str, Scalars]:
    """The ends of the capsules that move, and the least distance of the arm from itself."""
    found = ends(model, q, moving)
    known = dict(zip(moving, found, strict=True))
    fixed = [each for each in {c for pair in pairs for c in pair} if each not in known]
    known |= dict(zip(fixed, ends(model, q, fixed), strict=True)) if fixed else {}
    own: Scalar = NOTHING
    for x, y in pairs:
        (a1, b1), (a2, b2) = known[x], known[y]
        square = least_square(a1, b1, a2, b2, _inverse(x), _inverse(y))
        own = minimum(own, _gap(square, x.radius + y.radius, squared))
    return {"ends": vector(*(number for pair in found for end in pair for number in end)), "least": vector(own)}


def _gap(square: Scalar, radii: Scalar, squared: bool) -> Scalar:
    """What is left of a squared distance of axes for surfaces: m, or only its sign by squares."""
    return square - radii * radii if squared else sqrt(square) - radii


def _inverse(capsule: LinkCapsule) -> float:
    square = float(np.sum((np.array(capsule.b) - np.array(capsule.a)) ** 2))
    return 1.0 / square if square > 0.0 else 0.0


def _each(moving: tuple[LinkCapsule, ...], flat: Scalars) -> list[tuple[Scalars, Scalars, LinkCapsule]]:
    return [(flat[6 * k : 6 * k + 3], flat[6 * k + 3 : 6 * k + 6], each) for k, each in enumerate(moving)]


def _from_capsule(moving: Any, ends: Scalars, least: Scalars, row: Scalars, squared: bool) -> dict[str, Scalars]:
    best: Scalar = least[0]
    for a, b, each in _each(moving, ends):
        square = least_square(a, b, row[0:3], row[3:6], _inverse(each), row[7])
        best = minimum(best, _gap(square, row[6] + each.radius, squared))
    return {"least": vector(best)}


def _from_box(moving: Any, ends: Scalars, least: Scalars, row: Scalars, squared: bool) -> dict[str, Scalars]:
    best: Scalar = least[0]
    axes = row[3:12].reshape(3, 3).T
    for a, b, each in _each(moving, ends):
        start, end = ([dot(axis, x - row[0:3]) for axis in axes] for x in (a, b))
        square = least_square_to_box(start, end, row[12:15])
        best = minimum(best, _gap(square, row[15] + each.radius, squared))
    return {"least": vector(best)}


def _from_plane(moving: Any, ends: Scalars, least: Scalars, row: Scalars, squared: bool) -> dict[str, Scalars]:
    best: Scalar = least[0]
    for a, b, each in _each(moving, ends):
        height = minimum(dot(row[0:3], a), dot(row[0:3], b)) - row[3]
        best = minimum(best, height - each.radius)
    return {"least": vector(best)}


LOOPS: dict[int, Callable[..., Any]] = {CAPSULE: _from_capsule, BOX: _from_box, PLANE: _from_plane}


def _loop(subject: tuple[tuple[LinkCapsule, ...], int, int, bool]) -> Repeated:
    """The loop over so many rows of one kind."""
    moving, width, times, squared = subject
    turn = functools.partial(LOOPS[width], squared=squared)
    inputs = {"ends": (6 * len(moving),), "least": (1,), "row": (width,)}
    return Repeated(trace(turn, moving, inputs, name="clearance"), times, "row")


class Checker:
    """Clearances of one body, whatever the world; see the module's docstring.

    `lower`, `upper` (n,) replace the arm's joint limits, beyond which nothing is free.
    """

    def __init__(self, body: Body, *, lower: ArrayLike | None = None, upper: ArrayLike | None = None) -> None:
        self.body, self.arm = body, body.arm
        model = body.arm.model
        self.lower = model.lower if lower is None else np.array(lower, dtype=float)
        self.upper = model.upper if upper is None else np.array(upper, dtype=float)
        for name, limit in (("lower", self.lower), ("upper", self.upper)):
            if limit.shape != (model.n,):
                raise ShapeError(f"{name} must have shape ({model.n},); got {limit.shape}")
        moves = _moves(body)
        self.moving = tuple(each for each, moved in zip(body.link_capsules, moves, strict=True) if moved)
        self.pairs = tuple((body.link_capsules[i], body.link_capsules[j]) for i, j in body.self_pairs)
        self.reach, self.center, self.radius = _reach(model, self.moving)
        self._kernels: dict[tuple[object, ...], Kernel] = {}

    def __repr__(self) -> str:
        return f"<Checker of {self.arm.name}: {len(self.moving)} capsules, {len(self.pairs)} pairs of its own>"

    def clearance(self, q: ArrayLike, world: World, *, threads: int = 1) -> Array | float:
        """Least distance (m) of surfaces at q (n,) or (B, n): to the world and between the arm's own links."""
        given = np.asarray(q, dtype=float)
        found = self._least(self._batch(given), world, 0.0, np.float64, False, threads)
        return float(found[0]) if given.ndim == 1 else found

    def free(self, q: ArrayLike, world: World, margin: float = 0.0, *, threads: int = 1) -> NDArray[np.bool_]:
        """(B,) whether q (B, n) is within the joint limits, its own links apart and the world farther than `margin`."""
        given = self._batch(np.asarray(q, dtype=float))
        found = self._least(given, world, margin, np.float32, True, threads) > 0.0
        return found & self.within_limits(given)

    def against(self, world: World, margin: float = 0.0) -> Against:
        """The checks of one world with one margin (m), for many calls."""
        return Against(self, world, margin)

    def within_limits(self, q: Array) -> NDArray[np.bool_]:
        """(B,) whether q (B, n) is within the joint limits."""
        return np.asarray(((q >= self.lower) & (q <= self.upper)).all(axis=1))

    def moved(self, dq: Array) -> Array:
        """(B,) m, the farthest that any point of the arm moves along straight joint motions dq (B, n)."""
        farthest: Array = np.abs(dq) @ self.reach
        return farthest

    def edge_free(self, a: ArrayLike, b: ArrayLike, world: World, margin: float = 0.0) -> bool:
        """Whether the whole straight joint motion from a (n,) to b (n,) is free."""
        first, last = (self._batch(np.asarray(x, dtype=float)) for x in (a, b))
        return bool(self.against(world, margin).edges_free(first, last)[0])

    # ---- the compiled calls
    def _batch(self, q: Array) -> Array:
        found = np.atleast_2d(q)
        if found.ndim != 2 or found.shape[1] != self.arm.n:
            raise ShapeError(f"q must have shape ({self.arm.n},) or (B, {self.arm.n}); got {q.shape}")
        return found

    def _least(self, q: Array, world: World, margin: float, dtype: Any, squared: bool, threads: int) -> Array:
        batch = len(q)
        placing = self.placing(dtype, squared)
        if not batch:
            return np.zeros(0)
        found: Any = placing.general(q.astype(dtype), threads=threads)
        flat, least = found.ends, found.least
        for rows in tables(world, margin) if self.moving else ():
            loop = self.loop(rows.shape[1], len(rows), dtype, squared)
            least = loop.general(flat, least, rows.astype(dtype), threads=threads)
        return np.asarray(least[:, 0], dtype=float)

    def placing(self, dtype: Any, squared: bool) -> Kernel:
        """q (n,) -> the ends of the capsules that move, and the least distance of the arm's links from each other."""
        key = ("placing", dtype, squared)
        if key not in self._kernels:
            formula = functools.partial(_placed, moving=self.moving, pairs=self.pairs, squared=squared)
            self._kernels[key] = compiled(
                formula, self.arm.model, {"q": (self.arm.n,)}, name="placing", dtype=dtype, method="capsules"
            )
        return self._kernels[key]

    def loop(self, width: int, size: int, dtype: Any, squared: bool) -> Kernel:
        """The least distance so far, and to so many rows of one kind -> the least of all."""
        key = (width, size, dtype, squared)
        if key not in self._kernels:
            self._kernels[key] = compiled(_loop, (self.moving, width, size, squared), dtype=dtype)
        return self._kernels[key]


def tables(world: World, margin: float) -> list[Array]:
    """The rows of each kind of shape, grown by the margin, in tables that there is code for."""
    capsules, boxes, planes = world.capsules.copy(), world.boxes.copy(), world.planes.copy()
    capsules[:, 6] += margin
    boxes[:, 15] += margin
    planes[:, 3] += margin
    found = []
    for rows in (capsules, boxes, planes):
        for some in (rows[k : k + SIZES[-1]] for k in range(0, len(rows), SIZES[-1])):
            found.append(filled_up(some, next(size for size in SIZES if size >= len(some))))
    return found


class Against:
    """A checker's answers for one world and margin, in float32: true to a few micrometres; see the module's text."""

    def __init__(self, checker: Checker, world: World, margin: float) -> None:
        self.checker, self.world, self.margin = checker, world, margin
        self._tables = [rows.astype(np.float32) for rows in (tables(world, margin) if checker.moving else ())]
        self._room(256)

    def _room(self, states: int) -> None:
        """Arrays for so many configurations, and the calls on them."""
        checker = self.checker
        self._q = np.zeros((states, checker.arm.n), np.float32)
        self._ends, self._least = (
            np.zeros((states, 6 * len(checker.moving)), np.float32),
            np.zeros((states, 1), np.float32),
        )
        other = np.zeros((states, 1), np.float32)
        self._calls = [_on(checker.placing(np.float32, False), [self._q], [self._ends, self._least])]
        for rows in self._tables:
            loop = checker.loop(rows.shape[1], len(rows), np.float32, False)
            self._calls.append(_on(loop, [self._ends, self._least, rows], [other]))
            self._least, other = other, self._least

    def slack(self, q: Array) -> Array:
        """(B,) m, what is left at q (B, n) of the clearance to the world after the margin, or between the arm's links.

        Negative beyond a joint limit, too.
        """
        count = len(q)
        if count > len(self._q):
            self._room(1 << (count - 1).bit_length())
        self._q[:count] = q
        for call in self._calls if count else ():
            if not call(count):
                raise ValueError(f"q must be finite; got {q[~np.isfinite(q).all(axis=1)][:1]}")
        return np.where(self.checker.within_limits(q), self._least[:count, 0], -NOTHING)

    def edges_free(self, a: Array, b: Array) -> NDArray[np.bool_]:
        """(B,) whether the whole straight joint motions from a (B, n) to b (B, n) are free; see the module's text."""
        return self.free_part(a, b) >= 1.0

    def free_part(self, a: Array, b: Array) -> Array:
        """(B,) the part of each motion from a (B, n) to b (B, n) that is free from its start on: 1 where all of it is.

        Samples `COARSE` apart come first, then the middle of all that they leave open.
        """
        count, step = len(a), b - a
        far = self.checker.moved(step)
        pieces = np.maximum(1, np.ceil(far / COARSE)).astype(int)
        # the samples of all motions behind each other: number of the motion, part of the way
        edge = np.repeat(np.arange(count), pieces + 1)
        first = np.cumsum(pieces + 1) - (pieces + 1)
        part = (np.arange(len(edge)) - first[edge]) / pieces[edge]
        slack = self.slack(a[edge] + step[edge] * part[:, None])
        end = np.ones(count)  # the first place that is known not to be free
        blocked = slack <= 0.0
        np.minimum.at(end, edge[blocked], part[blocked])
        left = np.flatnonzero(edge[1:] == edge[:-1])
        edges, low, high = edge[left], part[left], part[left + 1]
        before, after = slack[left], slack[left + 1]
        while True:
            gap = (high - low) * far[edges]
            doubt = (before + after <= gap) & (gap > FINEST) & (high <= end[edges]) & (before > 0.0) & (after > 0.0)
            if not doubt.any():
                return np.where(
                    (end < 1.0) | blocked[first + pieces], np.maximum(end - COARSE / np.maximum(far, COARSE), 0.0), 1.0
                )
            edges, low, high, before, after = (x[doubt] for x in (edges, low, high, before, after))
            middle = 0.5 * (low + high)
            found = self.slack(a[edges] + step[edges] * middle[:, None])
            bad = found <= 0.0
            np.minimum.at(end, edges[bad], middle[bad])
            edges = np.concatenate([edges, edges])
            low, high = np.concatenate([low, middle]), np.concatenate([middle, high])
            before, after = np.concatenate([before, found]), np.concatenate([found, after])


def _on(kernel: Kernel, inputs: list[Numbers], outputs: list[Numbers]) -> Callable[[int], bool]:
    """A kernel on arrays that stay."""
    backend: Any = kernel.backend
    run: Callable[[int], bool] = backend.on(inputs, outputs)
    return run


def _moves(body: Body) -> list[bool]:
    """Of each capsule, whether some joint moves it; one that turns about its own axis stays where it is."""
    model = body.arm.model
    drawn = np.random.default_rng(0).uniform(*model.sampling_range(), (8, model.n))
    table = body.kernel.general(drawn, np.zeros_like(drawn))[:, :, :6]
    spread = np.ptp(table, axis=0).max(axis=1)
    return [link != BASE and bool(moved > 1e-6) for link, moved in zip(body.links, spread, strict=True)]


def _reach(model: Model, moving: tuple[LinkCapsule, ...]) -> tuple[Array, Array, float]:
    """(n,) how far anything outside each joint can be from its axis, m (1 for a slide), and where all of it is.

    Along the chain distances add up, and a slide adds its travel: a bound for every configuration.  The second and
    third are the first joint's origin and the radius about it that the arm stays in.
    """
    n = model.n
    out = np.zeros(n)  # from joint i's origin to the farthest point of anything outside it
    for i in range(n - 1, -1, -1):
        own = [max(np.linalg.norm(each.a), np.linalg.norm(each.b)) + each.radius for each in moving if each.link == i]
        beyond = np.linalg.norm(model.p[i + 1]) + out[i + 1] if i + 1 < n else 0.0
        if i + 1 < n and not model.revolute(i + 1):
            travel = max(abs(float(model.lower[i + 1])), abs(float(model.upper[i + 1])))
            beyond += travel if np.isfinite(travel) else 0.0
        out[i] = max([*own, beyond, 0.0])
    reach = np.array([out[i] if model.revolute(i) else 1.0 for i in range(n)])
    first = model.base[:3, 3] + model.base[:3, :3] @ model.p[0]
    slide = 0.0 if model.revolute(0) else float(np.abs([model.lower[0], model.upper[0]]).max())
    return reach, first, out[0] + slide
