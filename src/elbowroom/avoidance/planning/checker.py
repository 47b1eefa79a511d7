"""Batch validity: thousands of configurations against a world and the arm itself, in compiled calls with SIMD lanes.

    checker = Checker(Body(arm))
    checker.clearance(Q, world)             (B,) m, least distance of surfaces; negative in overlap
    checker.free(Q, world, margin=0.02)     (B,) bool, in float32 on squared distances
    against = checker.against(world, margin=0.02)       the same for many calls: its tables are made once
    against.edges_free(P, Q)                (B,) bool, the whole straight joint motions from P to Q

One call places the capsules of all configurations and takes the distances of those that the arm must keep apart; one
loop over the rows of the world follows for each kind of shape, all configurations of a block in the lanes of a register
(`algebra.Repeated` with `rows`).  So a world of any size needs no more code.

A motion is free if every configuration of it is.  No point of a capsule's axis moves farther than

    m = sum_i |dq_i| r_i        r_i: the farthest that such a point can be from joint i's own axis (1 for a slide)

between two configurations dq apart.  Of two neighbouring samples with the slacks c1, c2 (clearance less margin) all
between them is free if c1 + c2 > m; where it is not, the middle is looked at, too (`edges_free`).  How links of the arm
move towards each other has bounds of its own, of the joints between them: the pairs are grouped by their inner link.

Capsules that no joint moves are not checked against the world: the base stands where it stands.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from ...algebra import Array as Scalars
from ...algebra import Repeated, Scalar, minimum, sqrt, trace
from ...algebra.linalg import vector
from ...compile import compiled
from ...compile.kernel import Kernel
from ...errors import ConfigError, ShapeError
from ...geometry import ROW, Body
from ...geometry.body import ends
from ...geometry.segments import POINT, dot, least_square, least_square_to_box
from ...model import LinkCapsule, Model
from ...model.capsules import BASE
from .world import BOX, CAPSULE, FAR, PLANE, Obstacle, World, filled_up

Array = NDArray[np.float64]
Numbers = NDArray[Any]

NOTHING = 1e3  # m: the clearance where there is nothing to be clear of
OPEN = 2.0  # beyond the end of a motion: nothing of it is known to be blocked
COARSE = 0.5  # m, of what moves farthest: samples that a motion is looked at first
ENOUGH = 0.06  # m: where hulls are so far away, the capsules in them are not looked at
WORTH_HULLS = 1.5  # capsules to a hull, from which on hulls save time
FINEST = 0.002  # m: motions this small between two samples that are free are free
SIZES = (4, 8, 12, 16, 24, 32, 48, 64, 96, 128)  # rows that there is code for; more go through the last in turns


Pair = tuple[LinkCapsule, LinkCapsule]


def _placed(model: Model, q: Scalars, moving: Any, groups: Any, squared: bool) -> dict[str, Scalars]:
    """The ends of the capsules that move, and the least distance of each group of pairs."""
    found = ends(model, q, moving)
    known = dict(zip(moving, found, strict=True))
    others = dict.fromkeys(each for pairs in groups for pair in pairs for each in pair if each not in known)
    known |= dict(zip(others, ends(model, q, list(others)), strict=True)) if others else {}
    own: list[Scalar] = []
    for pairs in groups:
        least: Scalar = NOTHING
        for x, y in pairs:
            (a1, b1), (a2, b2) = known[x], known[y]
            square = least_square(a1, b1, a2, b2, _inverse(x), _inverse(y))
            least = minimum(least, _gap(square, x.radius + y.radius, squared))
        own.append(least)
    return {"ends": vector(*(number for pair in found for end in pair for number in end)), "own": vector(*own)}


def _gap(square: Scalar, radii: Scalar, squared: bool) -> Scalar:
    """What is left of a squared distance of axes for surfaces: m, or only its sign by squares."""
    return square - radii * radii if squared else sqrt(square) - radii


def _inverse(capsule: LinkCapsule) -> float:
    square = float(np.sum((np.array(capsule.b) - np.array(capsule.a)) ** 2))
    return 1.0 / square if square > POINT else 0.0


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
        hulls = tuple(_hull(link, self.moving) for link in sorted({each.link for each in self.moving}))
        self.hulls = hulls if len(self.moving) >= WORTH_HULLS * len(hulls) else ()
        spans = spans_of(model, self.lower, self.upper)
        self.reach, self.center, self.radius = reach_of(model, self.moving, spans)
        self.groups = _grouped(self.pairs)
        self.own_reach = np.array([_own_reach(model, pairs, spans) for pairs in self.groups])
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

    def against(self, world: World, margin: float = 0.0, apart: float | Array = 0.0) -> Against:
        """The checks of one world with one margin (m), for many calls.

        The arm's own links stay `apart` (m): all of them, or each group by its own, (groups, 1).
        """
        return Against(self, world, margin, apart)

    def within_limits(self, q: Array) -> NDArray[np.bool_]:
        """(B,) whether q (B, n) is within the joint limits."""
        return np.asarray(((q >= self.lower) & (q <= self.upper)).all(axis=1))

    def moved(self, dq: Array) -> Array:
        """(B,) m, the farthest that any point of the capsules' axes moves along straight joint motions dq (B, n)."""
        farthest: Array = np.abs(dq) @ self.reach
        return farthest

    def moved_apart(self, dq: Array) -> Array:
        """(groups, B) m, the most that the distances of each group of pairs change along such motions."""
        farthest: Array = self.own_reach @ np.abs(dq).T
        return farthest

    def edge_free(self, a: ArrayLike, b: ArrayLike, world: World, margin: float = 0.0) -> bool:
        """Whether the whole straight joint motion from a (n,) to b (n,) is free."""
        first, last = (self._batch(np.asarray(x, dtype=float)) for x in (a, b))
        return bool(self.against(world, margin).edges_free(first, last)[0])

    def prepare(self, capsules: int, shapes: Sequence[Obstacle] = ()) -> None:
        """Compiles now what worlds of these shapes and up to so many capsules need, not when the first such comes."""
        q, most = self.arm.ready[None], min(capsules, SIZES[-1])
        for size in (size for k, size in enumerate(SIZES) if k == 0 or SIZES[k - 1] < most):
            world = World.of_rows(np.full((size, ROW), 0.5 * FAR), shapes)
            self.against(world).slacks(q)
            self.clearance(q, world)
            self.free(q, world)

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
        flat, least = found.ends, found.own.min(axis=1, keepdims=True)
        for rows in tables(world, margin) if self.moving else ():
            loop = self.loop(rows.shape[1], len(rows), dtype, squared)
            least = loop.general(flat, least, rows.astype(dtype), threads=threads)
        return np.asarray(least[:, 0], dtype=float)

    def placing(self, dtype: DTypeLike, squared: bool, moving: tuple[LinkCapsule, ...] | None = None) -> Kernel:
        """q (n,) -> the ends of the capsules that move, and the least distance of each group of the arm's own pairs."""
        moving = self.moving if moving is None else moving
        key = ("placing", dtype, squared, _which(self, moving))
        if key not in self._kernels:
            formula = functools.partial(_placed, moving=moving, groups=self.groups, squared=squared)
            self._kernels[key] = compiled(
                formula, self.arm.model, {"q": (self.arm.n,)}, name="placing", dtype=dtype, method="capsules"
            )
        return self._kernels[key]

    def loop(
        self, width: int, size: int, dtype: DTypeLike, squared: bool, moving: tuple[LinkCapsule, ...] | None = None
    ) -> Kernel:
        """The least distance so far, and to so many rows of one kind -> the least of all."""
        moving = self.moving if moving is None else moving
        key = (width, size, dtype, squared, _which(self, moving))
        if key not in self._kernels:
            self._kernels[key] = compiled(_loop, (moving, width, size, squared), dtype=dtype)
        return self._kernels[key]


def _which(checker: Checker, moving: tuple[LinkCapsule, ...]) -> object:
    """What tells sets of capsules apart; all of the arm's own quickly."""
    return None if moving is checker.moving else moving


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


class Calls:
    """The compiled calls of one set of capsules against tables of rows, on arrays that stay."""

    def __init__(self, checker: Checker, moving: tuple[LinkCapsule, ...], rows: list[Numbers], states: int) -> None:
        self._q = np.zeros((states, checker.arm.n), np.float32)
        ends = np.zeros((states, 6 * len(moving)), np.float32)
        self._own = np.zeros((states, len(checker.groups)), np.float32)
        self._least = np.full((states, 1), NOTHING, np.float32)
        self._calls = [_on(checker.placing(np.float32, False, moving), [self._q], [ends, self._own])]
        for table in rows if moving else ():
            loop = checker.loop(table.shape[1], len(table), np.float32, False, moving)
            found = np.zeros((states, 1), np.float32)
            self._calls.append(_on(loop, [ends, self._least, table], [found]))
            self._least = found

    def __call__(self, q: Array) -> Numbers:
        """(1 + groups, B) the least to the world at q (B, n), and of each group of the arm's own pairs."""
        count = len(q)
        self._q[:count] = q
        for call in self._calls:
            if not call(count):
                raise ValueError(f"q must be finite; got {q[~np.isfinite(q).all(axis=1)][:1]}")
        return np.concatenate([self._least[:count], self._own[:count]], axis=1).T


class Against:
    """A checker's answers for one world and margin, in float32: true to a few micrometres; see the module's text.

    Of an arm with several capsules a link, hulls of them go first; only where these come near are the capsules asked.
    So a slack above `ENOUGH` may be less than the true one, never more.
    """

    def __init__(self, checker: Checker, world: World, margin: float, apart: float | Array = 0.0) -> None:
        self.checker, self.world, self.margin, self.apart = checker, world, margin, apart
        self._tables: list[Numbers] = [rows.astype(np.float32) for rows in tables(world, margin)]
        self._room(256)

    def _room(self, states: int) -> None:
        """For so many configurations."""
        checker, self._states = self.checker, states
        self._fine = Calls(checker, checker.moving, self._tables, states)
        self._first = Calls(checker, checker.hulls, self._tables, states) if checker.hulls else None

    def slack(self, q: Array) -> Array:
        """(B,) m, what is left at q (B, n) of the clearance to the world after the margin, or between the arm's links.

        Negative beyond a joint limit, too.
        """
        return np.asarray(self.slacks(q).min(axis=0))

    def slacks(self, q: Array) -> Numbers:
        """(2, B) of the world, and of the arm's own links."""
        found = self.each(q)
        return np.stack([found[0], found[1:].min(axis=0)])

    def each(self, q: Array) -> Numbers:
        """(1 + groups, B) of the world, and of each group of the arm's own pairs."""
        return np.where(self.checker.within_limits(q), self._slacks(q), -NOTHING)

    def own(self, q: Array) -> Array:
        """(groups, B) of each group of the arm's own pairs, whatever the joint limits."""
        return np.asarray(self._slacks(q)[1:], dtype=float)

    def _slacks(self, q: Array) -> Numbers:
        """(1 + groups, B) of the world and of the arm's own pairs, whatever the joint limits."""
        if not len(q):
            return np.zeros((1 + len(self.checker.groups), 0))
        if len(q) > self._states:
            self._room(1 << (len(q) - 1).bit_length())
        found = (self._first or self._fine)(q)
        if self._first is not None and len(near := np.flatnonzero(found[0] < ENOUGH)):
            found[0, near] = self._fine(q[near])[0]
        found[1:] -= self.apart
        return found

    def edges_free(self, a: Array, b: Array) -> NDArray[np.bool_]:
        """(B,) whether the whole straight joint motions from a (B, n) to b (B, n) are free; see the module's text."""
        return self.free_part(a, b, whole=True) >= 1.0

    def free_part(self, a: Array, b: Array, *, whole: bool = False) -> Array:
        """(B,) the part of each motion from a (B, n) to b (B, n) that is free from its start on: 1 where all of it is.

        Samples `COARSE` apart come first, then the middle of all that they leave open.  A motion that is blocked is cut
        off `COARSE` before it is, and what lies beyond the cut is not looked at.  `whole`: where not all of it is free
        it does not matter where that begins, and the part is 0.
        """
        count, step = len(a), b - a
        far = np.vstack([self.checker.moved(step), self.checker.moved_apart(step)])  # (1 + groups, B), as slacks are
        inside = self.checker.within_limits(a) & self.checker.within_limits(b)  # and so is all between them
        pieces = np.maximum(1, np.ceil(far[0] / COARSE)).astype(int)
        # the samples of all motions behind each other: number of the motion, part of the way
        edge = np.repeat(np.arange(count), pieces + 1)
        first = np.cumsum(pieces + 1) - (pieces + 1)
        part = (np.arange(len(edge)) - first[edge]) / pieces[edge]
        slack = self._slacks(a[edge] + step[edge] * part[:, None])
        end = np.where(inside, OPEN, 0.0)  # the first place that is known not to be free
        blocked = slack.min(axis=0) <= 0.0
        np.minimum.at(end, edge[blocked], part[blocked])
        if whole:
            end[end <= 1.0] = 0.0
        back = COARSE / np.maximum(far[0], COARSE)
        left = np.flatnonzero(edge[1:] == edge[:-1])
        edges, low, high = edge[left], part[left], part[left + 1]
        before, after = slack[:, left], slack[:, left + 1]
        while True:
            gap = (high - low) * far[:, edges]
            cut = np.where(end <= 1.0, np.maximum(end - back, 0.0), 1.0)
            doubt = np.flatnonzero(((before + after <= gap) & (gap > FINEST)).any(axis=0) & (low < cut[edges]))
            if not len(doubt):
                return cut
            edges, low, high, before, after = edges[doubt], low[doubt], high[doubt], before[:, doubt], after[:, doubt]
            middle = 0.5 * (low + high)
            found = self._slacks(a[edges] + step[edges] * middle[:, None])
            bad = found.min(axis=0) <= 0.0
            if bad.any():
                np.minimum.at(end, edges[bad], 0.0 if whole else middle[bad])
            edges = np.concatenate([edges, edges])
            low, high = np.concatenate([low, middle]), np.concatenate([middle, high])
            before, after = np.concatenate([before, found], axis=1), np.concatenate([found, after], axis=1)


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


def _hull(link: int, capsules: tuple[LinkCapsule, ...]) -> LinkCapsule:
    """One capsule about all those of a link, along the direction in which their ends lie farthest apart."""
    own = [each for each in capsules if each.link == link]
    if len(own) == 1:
        return own[0]
    ends = np.array([end for each in own for end in (each.a, each.b)])
    radii = np.repeat([each.radius for each in own], 2)
    middle = ends.mean(axis=0)
    axis = np.linalg.svd(ends - middle)[2][0]
    along = (ends - middle) @ axis
    radius = float((np.linalg.norm(ends - middle - along[:, None] * axis, axis=1) + radii).max())
    low, high = min(0.0, float((along - radii).min() + radius)), max(0.0, float((along + radii).max() - radius))
    a, b = middle + low * axis, middle + high * axis
    # the caps round off what lies out along the axis: as much wider as any capsule then sticks out
    part = np.clip(along, low, high)[:, None] * axis + middle
    radius = float((np.linalg.norm(ends - part, axis=1) + radii).max())
    return LinkCapsule(f"hull of {own[0].name}", link, tuple(a.tolist()), tuple(b.tolist()), radius)


def spans_of(model: Model, lower: Array, upper: Array) -> Array:
    """(n,) m, the farthest that each joint's origin can be from that of the joint before; a slide adds its travel."""
    spans = np.linalg.norm(model.p, axis=1)
    for i in range(model.n):
        if not model.revolute(i):
            travel = max(abs(float(lower[i])), abs(float(upper[i])))
            if not np.isfinite(travel):
                raise ConfigError(
                    f"slide {model.joint_names[i]!r}: planning needs its limits, m: in the arm's file, or as lower and "
                    "upper; got none"
                )
            spans[i] += travel
    return spans


def _grouped(pairs: tuple[Pair, ...]) -> tuple[tuple[Pair, ...], ...]:
    """The pairs by their inner link; one empty group where there are none."""
    inner = [min(x.link, y.link) for x, y in pairs]
    found = (tuple(p for p, at in zip(pairs, inner, strict=True) if at == link) for link in sorted(set(inner)))
    return tuple(found) or ((),)


def _own_reach(model: Model, pairs: tuple[Pair, ...], spans: Array) -> Array:
    """(n,) how far the outer axis of any pair can be from the axis of a joint between the two, m (1 for a slide)."""
    found = np.zeros(model.n)
    for x, y in pairs:
        inner, outer = sorted((x, y), key=lambda each: each.link)
        out = max(np.linalg.norm(outer.a), np.linalg.norm(outer.b))
        for i in range(outer.link, inner.link, -1):
            found[i] = max(found[i], float(out) if model.revolute(i) else 1.0)
            out += spans[i]
    return found


def reach_of(model: Model, moving: tuple[LinkCapsule, ...], spans: Array) -> tuple[Array, Array, float]:
    """(n,) how far the axis of anything outside each joint can be from its axis, m (1 for a slide), and where it is.

    Along the chain distances add up: a bound for every configuration.  The second and third are the first joint's
    origin and the radius about it that the arm stays in.
    """
    n = model.n
    out = np.zeros(n)  # from joint i's origin to the farthest end of an axis outside it
    for i in range(n - 1, -1, -1):
        own = [max(np.linalg.norm(each.a), np.linalg.norm(each.b)) for each in moving if each.link == i]
        out[i] = max([*own, spans[i + 1] + out[i + 1] if i + 1 < n else 0.0, 0.0])
    reach = np.array([out[i] if model.revolute(i) else 1.0 for i in range(n)])
    first = model.base[:3, 3] + model.base[:3, :3] @ model.p[0]
    slide = 0.0 if model.revolute(0) else float(spans[0] - np.linalg.norm(model.p[0]))
    return reach, first, float(out[0] + slide + max((each.radius for each in moving), default=0.0))
