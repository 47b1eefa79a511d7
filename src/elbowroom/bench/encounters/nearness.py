"""How near an arm came in a run: to people, to itself and to the floor, for all control times in SIMD lanes.

    near = nearness(place, people).of(q, rows)      # q (T, n), rows (T, people, C, 13)

Only distances: a run in which arm and people overlap is looked at more closely (`run.distances`).
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...algebra import Table, minimum, trace, where
from ...algebra.functions import least
from ...algebra.linalg import Array as Scalars
from ...algebra.linalg import vector
from ...compile import compiled
from ...compile.kernel import Kernel
from ...compile.lane_schedule import Around, Gather, Halt, LaneSchedule, LaneStep, LaneTables, Scatter
from ...compile.pipeline import Call, Copy
from ...geometry.distance import separation
from ...geometry.shapes import RADIUS, ROW
from .scene import Place

Array = NDArray[np.float64]
NOTHING = 1e30  # m


class Near(NamedTuple):
    """The least distances (T,), m; infinite where there is nothing to be near to."""

    people: Array
    itself: Array
    floor: Array


NEAR = Near._fields

Indices = tuple[tuple[int, ...], tuple[int, ...]]


def _apart(_: None, x: Scalars, y: Scalars) -> Scalars:
    return vector(separation(x, y).distance)


def _distances(subject: tuple[int, int, Indices]) -> Table:
    """Distances of the surfaces: (P, 1) for pairs of rows of two arrays."""
    first, second, indices = subject
    program = trace(_apart, None, {"x": (ROW,), "y": (ROW,)}, name="apart", output="apart")
    return Table(program, (first, second), indices)


def _reduced(lifted: tuple[tuple[int, int], ...], **x: Scalars) -> Scalars:
    """NEAR; `lifted` are ends of capsules whose heights count: a row, and its column z."""
    heights = [x["own"][row][z] - x["own"][row][RADIUS] - x["floor"][0] for row, z in lifted]
    parts = (
        [*each.ravel()] if each is not None else []
        for each in (x.get("apart"), x.get("itself"), np.array(heights, dtype=object))
    )
    return vector(*(least([NOTHING, *part]) for part in parts))


def _counted(_: None, at: Scalars, counts: Scalars) -> dict[str, Scalars]:
    """The next time of each lane, the last one repeated; and whether there is none left."""
    last, lanes = counts
    return {"later": vector(minimum(at[0] + lanes, last)), "over": vector(where(at[0] >= last, 1.0, 0.0))}


class Nearness:
    """See the module's docstring; of an arm at its place and so many capsules of people."""

    def __init__(self, where: Place, capsules: int, dtype: Any = np.float64) -> None:
        n, own_count, self.dtype = where.arm.n, len(where.body), np.dtype(dtype)
        q, still, own, others = np.zeros(n), np.zeros(n), np.zeros((own_count, ROW)), np.zeros((capsules, ROW))
        at, counts, self._active, found, later, over = (np.zeros(k) for k in (1, 2, 1, len(NEAR), 1, 1))
        self._at, self._counts = at, counts
        given: dict[str, Array] = {"own": own, "floor": np.array([where.base[2]])}
        steps: list[LaneStep] = [Call(where.body.kernel, (q, still), own, checked=())]

        def pairs(name: str, other: Array, first: list[int], second: list[int]) -> None:
            if first:
                kernel: Kernel[Any] = compiled(_distances, (own_count, len(other), (tuple(first), tuple(second))))
                given[name] = np.zeros((len(first), 1))
                steps.append(Call(kernel, (own, other), given[name], checked=()))

        of_people = [(i, j) for i in where.moving for j in range(capsules)]
        pairs("apart", others, [i for i, _ in of_people], [j for _, j in of_people])
        pairs("itself", own, [i for i, _ in where.body.self_pairs], [j for _, j in where.body.self_pairs])
        lifted = tuple((int(i), (2, 5)[int(k)]) for i, k in np.argwhere(where.lifted))
        reduce = compiled(_reduced, lifted, {name: x.shape for name, x in given.items()}, name="reduced")
        count = compiled(_counted, None, {"at": (1,), "counts": (2,)}, name="counted")
        self._tables = LaneTables(n), LaneTables(others.size), LaneTables(len(NEAR))
        steps = [
            Gather(self._tables[0], at, q),
            Gather(self._tables[1], at, others),
            *steps,
            Call(reduce, tuple(given.values()), found, checked=()),
            Scatter(found, at, self._tables[2]),
            Call(count, (at, counts), (later, over), checked=()),
            Halt(over),
            Copy(later, at),
            Around(1 << 40),
        ]
        self._schedule = LaneSchedule(steps, self._active, self.dtype)
        self._schedule[self._active][:] = 1.0

    def of(self, q: Array, rows: Array) -> Near:
        """At every time."""
        schedule, last = self._schedule, len(q) - 1
        found = np.empty((len(q), len(NEAR)), self.dtype)
        for tables, values in zip(self._tables, (q, rows.reshape(len(q), -1), found), strict=True):
            array = np.ascontiguousarray(values, self.dtype)
            for lane in range(schedule.lanes):
                schedule.assign(tables, lane, array)
        schedule[self._at][0] = np.minimum(np.arange(schedule.lanes), last)
        schedule[self._counts][:] = np.array([[last], [schedule.lanes]])
        schedule.run()
        return Near(*np.where(found < NOTHING, found, np.inf).T)


@cache
def nearness(where: Place, capsules: int, dtype: Any = np.float64) -> Nearness:
    """The same, made once."""
    return Nearness(where, capsules, dtype)
