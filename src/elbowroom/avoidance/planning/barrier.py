"""Proofs that there is no way: what the first joints alone cannot pass.

The links inside joint k are where the first k joints put them, whatever the others do.  So in the space of these k
joints alone (here two) stands a barrier: where such a link is in the world, no configuration of the arm is free.  If it
parts the start from the goals, no way leads there.  The other way round nothing follows.

The joints' ranges are divided into cells.  With w_i the edges of a cell, no point of these links' axes is farther than

    m = sum_i w_i / 2 r_i        r_i as in checker.py, of these links alone

from where it is at the cell's middle.  With the clearance d there (negative in overlap) the whole cell is

    blocked  if d < -m      the same two shapes overlap all over it
    open     if d >  m      these links are free all over it
    unknown  otherwise      and divided again

Start and goals that no chain of cells that are open or unknown joins are parted: that is the proof.  If a chain of open
cells joins them, there is none to be had from these joints.  Cells that share a corner alone are not joined: a corner
belongs to all cells about it, the blocked ones too.

A joint with more than one turn has its cells once for a turn: after a whole turn links are where they were.  One that
turns without end, or nearly (`MANY`), counts as a circle, which joins more than there is and proves no less truly.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from .checker import Calls, Checker, reach_of, spans_of, tables
from .world import World

Array = NDArray[np.float64]
Marks = NDArray[np.int8]

JOINTS = 2
WIDEST = 0.4  # rad or m: cells at first
TRUST = 1e-4  # m: what float32 may be off by near the arm, and more
EPSILON = 8.0 * float(np.finfo(np.float32).eps)  # of the largest number of a shape: what it is off by far away
MANY = 3  # turns: a joint with more counts as endless
AT_ONCE = 4096  # middles of cells in a call
MOST = 1 << 22  # cells: where more would be needed (long slides), nothing is proved
UNKNOWN, OPEN, BLOCKED = 0, 1, -1
TURN = 2.0 * math.pi


class Barrier:
    """What the first joints of an arm cannot pass in one world with one margin (m); see the module's docstring.

    parts      whether start and goals were found parted; None while that is not known
    divided    how often cells were divided
    """

    def __init__(self, checker: Checker, world: World, margin: float) -> None:
        self._checker, k = checker, min(JOINTS, checker.arm.n)
        model = checker.arm.model
        self.links = tuple(each for each in checker.moving if each.link < k)
        self._reach = reach_of(model, self.links, spans_of(model, checker.lower, checker.upper))[0][:k]
        rows = [table.astype(np.float32) for table in tables(world, margin)]
        self._calls = Calls(checker, self.links, rows, AT_ONCE) if self.links and rows else None
        given = (world.capsules[:, :7], world.boxes, world.planes)  # without what is 1 over a length
        largest = max(float(np.abs(table).max(initial=0.0)) for table in given)
        self._trust = TRUST + EPSILON * largest
        self._lower, span = checker.lower[:k].copy(), (checker.upper - checker.lower)[:k]
        turns = np.array([model.revolute(i) for i in range(k)])
        self.circle = turns & ~(span <= MANY * TURN)
        self._lower[self.circle] = 0.0
        repeats = turns & (span > TURN)
        base = np.where(repeats, TURN, span)  # what is looked at
        count = np.maximum(np.ceil(base / WIDEST), 1).astype(int)
        self._width = np.where(base > 0.0, base, WIDEST) / count
        self._all = np.where(self.circle | ~repeats, count, np.ceil(np.where(repeats, span, 0.0) / self._width - 1e-9))
        self._all = self._all.astype(int)  # cells of the whole range
        self._cells: Marks = np.zeros(tuple(count) if np.prod(self._all.astype(float)) <= MOST else (0,) * k, np.int8)
        self.divided, self.parts = -1, None if self._calls is not None else False

    def between(self, start: Array, goals: Array, divisions: int) -> bool | None:
        """Whether it parts start (n,) from all goals (k, n); cells are divided so often before that is left open."""
        while self.parts is None and self.divided < divisions and self._next_size() <= MOST:
            self._look()
            ends = [self._cell(q) for q in (start, *goals)]
            possible = self._whole(self._cells != BLOCKED)
            first, *others = (int(possible[end]) for end in ends)
            if all(each != first or each < 0 for each in others):
                self.parts = True
                break
            certain = self._whole(self._cells == OPEN)
            first, *others = (int(certain[end]) for end in ends)
            if first >= 0 and first in others:
                self.parts = False
        return self.parts

    def _next_size(self) -> float:
        """Cells of the whole range when they are looked at next."""
        return float(np.prod(self._all.astype(float))) * (2.0**self._cells.ndim if self.divided >= 0 else 1.0)

    def blocked(self, q: Array) -> NDArray[np.bool_]:
        """(B,) whether q (B, n) is in a cell that is known to be blocked."""
        marks = self._cells == BLOCKED
        return np.array([marks[tuple(c % s for c, s in zip(self._cell(each), marks.shape, strict=True))] for each in q])

    def _look(self) -> None:
        """Divides the cells that are unknown, but for the first time, and looks at their middles."""
        if self.divided >= 0:
            for axis in range(self._cells.ndim):
                self._cells = np.repeat(self._cells, 2, axis=axis)
            self._width, self._all = self._width / 2.0, self._all * 2
        self.divided += 1
        unknown = np.argwhere(self._cells == UNKNOWN)
        middles = self._lower + (unknown + 0.5) * self._width
        found = [self._clearance(middles[k : k + AT_ONCE]) for k in range(0, len(unknown), AT_ONCE)]
        d = np.concatenate([*found, np.zeros(0)])
        m = float(0.5 * self._width @ self._reach) + self._trust
        self._cells[tuple(unknown.T)] = np.where(d < -m, BLOCKED, np.where(d > m, OPEN, UNKNOWN))

    def _clearance(self, some: Array) -> Array:
        """(B,) m, of the links at the first joints (B, k)."""
        q = np.tile(self._checker.arm.ready, (len(some), 1))
        q[:, : some.shape[1]] = some
        assert self._calls is not None
        return np.asarray(self._calls(q)[0], dtype=float)

    def _cell(self, q: Array) -> tuple[int, ...]:
        """The cell of the whole range that q (n,) is in."""
        at = np.floor((q[: len(self._width)] - self._lower) / self._width).astype(int)
        at = np.where(self.circle, at % self._all, np.clip(at, 0, self._all - 1))
        return tuple(at.tolist())

    def _whole(self, marked: NDArray[np.bool_]) -> NDArray[np.int_]:
        """The numbers of the groups that marked cells form in the whole range, -1 where they are not marked."""
        for axis, count in enumerate(self._all):
            marked = np.take(marked, np.arange(count) % marked.shape[axis], axis=axis)
        return joined(marked, self.circle)


def joined(marked: NDArray[np.bool_], circle: NDArray[np.bool_]) -> NDArray[np.int_]:
    """The group of each marked cell, those that share a side being of one, along a `circle` also the last and first.

    -1 where a cell is not marked.  Runs along the last axis are joined where they lie beside each other.
    """
    lines = np.zeros((*marked.shape[:-1], marked.shape[-1] + 1), dtype=np.int8)
    lines[..., :-1] = marked
    begins = np.diff(lines.ravel(), prepend=0) == 1
    run = np.where(lines.ravel() > 0, np.cumsum(begins) - 1, -1).reshape(lines.shape)[..., :-1]
    count = int(begins.sum())
    parents = list(range(count))

    def root(k: int) -> int:
        while parents[k] != k:
            parents[k] = parents[parents[k]]
            k = parents[k]
        return k

    for axis in range(marked.ndim):
        beside = np.moveaxis(run, axis, 0)
        pairs = [(beside[:-1], beside[1:])] if axis < marked.ndim - 1 else []
        if circle[axis]:
            pairs.append((beside[-1:], beside[:1]))
        for some, others in pairs:
            both = (some >= 0) & (others >= 0)
            for pair in np.unique(some[both] * np.int64(count) + others[both]).tolist():
                a, b = (root(k) for k in divmod(pair, count))
                parents[b] = a
    roots = np.array([*map(root, range(count)), -1])
    return np.asarray(roots[run])
