"""RRT-Connect in batches: two trees of free configurations that grow towards each other (Kuffner and LaValle, 2000).

Where the textbook grows one branch at a time, here `BATCH` random configurations are taken at once: the nearest nodes
of one tree set out for all of them in one batch of checked motions, and from what they reach the nearest nodes of the
other tree set out to meet them in another.  A branch that is blocked ends where it was still free.

Half of the configurations are drawn about nodes of the tree itself (`NEARBY`, `SPREAD`): among poles and boards, where
most of what is drawn from the whole range cannot be reached in a straight line, these can.  In iiwa14's cages of the
benchmark that makes the search five times as quick and its ways half as long; on tables and in boxes it changes little.

Distances are those of `Checker.moved`, joint by joint: |dq_i| times how far the joint can move the arm.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .checker import Against

Array = NDArray[np.float64]

BATCH, MORE, MOST = 16, 4, 64  # branches at once: in the first round, more in each that follows, and at most
RANGE = 2.0  # m: how far a branch grows at a time
SHORTEST = 0.08  # m: a branch that is blocked sooner is none
AT_ROOTS = 0.1  # part of the branches that set out for a root of the other tree
NEARBY, SPREAD = 0.5, 0.16  # part of them that set out for somewhere near; deviation, in the joints' ranges
BLOCK = 512  # nodes at once: a product that numpy's BLAS does not spread over threads, which would cost more than it
ROOM = 256  # nodes that a tree has room for at first


class Tree:
    """Free configurations, each with the one that it was reached from."""

    def __init__(self, roots: Array, weights: Array) -> None:
        self.roots, self._weights = roots, weights
        n = roots.shape[1]
        self.nodes, self._scaled = np.zeros((ROOM, n)), np.zeros((ROOM, n))
        self._squares, self.parents, self.size = np.zeros(ROOM), np.full(ROOM, -1), 0
        self.add(roots, np.full(len(roots), -1))

    def add(self, nodes: Array, parents: NDArray[np.int_]) -> int:
        """More nodes; the number of the first."""
        first, end = self.size, self.size + len(nodes)
        while end > len(self.nodes):
            self.nodes, self._scaled = (np.vstack([x, np.zeros_like(x)]) for x in (self.nodes, self._scaled))
            self._squares, self.parents = (np.concatenate([x, x]) for x in (self._squares, self.parents))
        self.nodes[first:end], self.parents[first:end] = nodes, parents
        scaled = nodes * self._weights
        self._scaled[first:end], self._squares[first:end] = scaled, (scaled * scaled).sum(axis=1)
        self.size = end
        return first

    def nearest(self, to: Array) -> NDArray[np.int_]:
        """(B,) the numbers of the nodes nearest to configurations (B, n)."""
        wanted = -2.0 * (to * self._weights)
        best, found = np.full(len(to), np.inf), np.zeros(len(to), dtype=int)
        every = np.arange(len(to))
        for first in range(0, self.size, BLOCK):
            block = slice(first, min(first + BLOCK, self.size))
            apart = wanted @ self._scaled[block].T
            apart += self._squares[block]
            here = apart.argmin(axis=1)
            least = apart[every, here]
            nearer = least < best
            best[nearer], found[nearer] = least[nearer], first + here[nearer]
        return found

    def way(self, node: int) -> list[Array]:
        """From the node to its root."""
        found = []
        while node >= 0:
            found.append(self.nodes[node].copy())
            node = int(self.parents[node])
        return found


class Search(NamedTuple):
    """What a search found: the path (k, n), or the two trees as they are when it ended."""

    path: Array | None
    nearest: Array  # (k, n) the way to the node of the first tree that came nearest to the other's roots
    rounds: int


def connect(
    against: Against,
    starts: Array,
    goals: Array,
    rng: np.random.Generator,
    low: Array,
    high: Array,
    go_on: Callable[[int], bool],
) -> Search:
    """A free path from one of some starts (k, n) to one of some goals (m, n), all of them free themselves.

    Random configurations are drawn between `low` and `high` (n,).  `go_on(round)` is asked before each round.
    """
    checker = against.checker
    weights = np.maximum(checker.reach, 0.05)
    trees = Tree(starts, weights), Tree(goals, weights)
    first = 0  # the tree whose turn it is
    rounds = 0
    while go_on(rounds):
        rounds += 1
        here, there = trees[first], trees[1 - first]
        batch = min(BATCH + MORE * rounds, MOST)
        wanted = rng.uniform(low, high, (batch, len(low)))
        nearby = rng.random(batch) < NEARBY
        about = here.nodes[rng.integers(here.size, size=int(nearby.sum()))]
        wanted[nearby] = np.clip(about + SPREAD * (high - low) * rng.standard_normal(about.shape), low, high)
        at_roots = rng.random(batch) < AT_ROOTS
        wanted[at_roots] = there.roots[rng.integers(len(there.roots), size=int(at_roots.sum()))]
        near = here.nearest(wanted)
        grown, kept = _grown(against, here.nodes[near], wanted)
        if kept.any():
            new = here.add(grown[kept], near[kept])
            reached = here.nodes[new : here.size]
            other = there.nearest(reached)
            part = against.free_part(there.nodes[other], reached)
            whole = np.flatnonzero(part >= 1.0)
            if len(whole):
                lengths = [checker.moved((there.nodes[other[k]] - reached[k])[None])[0] for k in whole]
                k = int(whole[int(np.argmin(lengths))])
                way, back = here.way(new + k), there.way(int(other[k]))
                path = np.array([*way[::-1], *back]) if first == 0 else np.array([*back[::-1], *way])
                return Search(path, path, rounds)
            ends, long = _cut(against, there.nodes[other], reached, part)
            if long.any():
                there.add(ends[long], other[long])
        first = 1 - first
    nodes = trees[0].nodes[: trees[0].size]
    apart = np.linalg.norm((nodes[:, None] - goals[None]) * weights, axis=2).min(axis=1)
    return Search(None, np.array(trees[0].way(int(apart.argmin()))[::-1]), rounds)


def _grown(against: Against, start: Array, end: Array) -> tuple[Array, NDArray[np.bool_]]:
    """Where branches from start (B, n) towards end (B, n) come to, and which are long enough to be kept."""
    far = against.checker.moved(end - start)
    end = start + (end - start) * np.minimum(1.0, RANGE / np.maximum(far, 1e-9))[:, None]
    return _cut(against, start, end, against.free_part(start, end))


def _cut(against: Against, start: Array, end: Array, part: Array) -> tuple[Array, NDArray[np.bool_]]:
    reached = start + (end - start) * part[:, None]
    return reached, against.checker.moved(reached - start) >= SHORTEST
