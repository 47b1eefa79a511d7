"""CardSchedule: a schedule's steps for any number of lanes on a graphics card, a thread a lane.

    schedule = CardSchedule(steps, active, np.float32)
    schedule[q][:, 0] = ready                               # what a new lane begins with: the same in all of them,
    lanes = schedule.lanes(100_000)                         # as columns on the card
    lanes[q][...] = starts                                  # (warps, elements, 32): but for what is each lane's own
    lanes.assign(frames, table)                             # (lanes, rows, elements), of all lanes
    lanes.blank(track, rows); lanes.table(track, 10)        # zeros; what has become of those of ten lanes
    lanes.activate(); lanes.run(turns=1000)
    lanes.ended()                                           # (lanes,) the step that ended each, 0 for none

The steps are those of lanes.py and a lane has the same bits here; card_text.py says what differs: a lane that
ends does so alone, and what a condition's steps alone write is scratch.  A turn is a few dozen launches, recorded once
as a graph.  Needs CuPy.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from ...errors import ElbowroomError
from ..cuda import OPTIONS, WARP, library
from ..kernel import Array
from ..pipeline import Span
from .card_text import ScheduleText
from .needed import renewed
from .steps import ColumnPlaces, LaneStep, LaneTables, flat, reads_and_writes, refuse_overlaps


class CardSchedule:
    """See the module's docstring.  `active` (1,) is the mask of lanes that count; it is 0 in a new lane.

    `wanted`: the arrays that are looked at while it runs or after; what neither they nor a step reads is not written
    (needed.py).  All are if omitted.
    """

    def __init__(
        self, steps: Sequence[LaneStep], active: Array, dtype: Any = np.float32, wanted: Sequence[Array] | None = None
    ) -> None:
        self.dtype = np.dtype(dtype)
        refuse_overlaps(steps)
        every = list(flat(steps))
        arrays = [x for step in every for part in reads_and_writes(step) for x in part]
        same = [] if wanted is None else renewed(steps, wanted)
        self.looked_at = None if wanted is None else [Span.of(x) for x in (active, *wanted)]
        self.places = ColumnPlaces([active, *arrays], same)
        self.renewed = self.places.same
        self._active = active
        self.columns: Array = np.empty((self.places.rows, 1), self.dtype)
        """(numbers, 1): a new lane."""
        with np.errstate(over="ignore", invalid="ignore"):
            self.columns[:, 0] = self.places.now()
        self[active][:] = 0.0
        made = ScheduleText(steps, active, self.places, "double" if self.dtype.itemsize == 8 else "float", wanted)
        self.text, self.steps, self.tables, self.stages = made.text, made.steps, made.tables, made.stages
        self.lists, self.depth = made.lists, made.depth

    def __getitem__(self, array: Array) -> Array:
        """(elements, 1): what stands for an array of the steps in a new lane; one that lies on another has none."""
        if any(Span.of(array).meets(each) for each in self.renewed):
            return np.empty((array.size, 1), self.dtype)
        first = self.places.first(array)
        found: Array = self.columns[first : first + array.size]
        return found

    @cached_property
    def functions(self) -> list[Any]:
        """CuPy's kernel of each stage."""
        module = library().RawModule(code=self.text, options=OPTIONS)
        return [module.get_function(stage.name) for stage in self.stages]

    def lanes(self, count: int) -> CardLanes:
        """So many new lanes, none of them active."""
        return CardLanes(self, count)

    @property
    def bytes_per_lane(self) -> int:
        """What the columns of a lane take on the card."""
        return int(self.columns.nbytes)


class CardLanes:
    """The lanes of a schedule on the current card."""

    def __init__(self, schedule: CardSchedule, count: int) -> None:
        self.schedule, self.count, self._cupy = schedule, count, library()
        self.warps = -(-count // WARP)
        self.columns = self._cupy.empty((self.warps, schedule.places.rows, WARP), schedule.dtype)
        self.columns[...] = self._cupy.asarray(schedule.columns)[None]
        self.codes = self._cupy.zeros(count, np.int32)
        self._listed = self._cupy.zeros(max(schedule.lists, 1) * count, np.int32)
        self._counts = self._cupy.zeros(max(schedule.lists, 1), np.int32)
        self._holds = self._cupy.zeros(max(schedule.depth, 1) * count, np.int32)
        self._tables = dict[LaneTables, Any]()

    def __getitem__(self, array: Array) -> Any:
        """(warps, elements, 32): what stands for an array of the steps, on the card.

        Not one that is copied over another and lies there: it has no numbers of its own.
        """
        if any(Span.of(array).meets(each) for each in self.schedule.renewed):
            raise KeyError(f"an array of shape {array.shape} lies on the one that it is copied to; look at that")
        first = self.schedule.places.first(array)
        return self.columns[:, first : first + array.size]

    def set(self, array: Array, values: Any) -> None:
        """Each lane's own numbers, (lanes, elements) in main memory or on the card."""
        self[array][...] = self.packed(self._cupy.asarray(values, self.schedule.dtype))

    def get(self, array: Array) -> Any:
        """(lanes, elements) on the card, of an array that the schedule was told is looked at."""
        kept = self.schedule.looked_at
        if kept is not None and not any(Span.of(array).within(each) for each in kept):
            raise KeyError(f"an array of shape {array.shape} may not be written: name it in `wanted` to look at it")
        return self.unpacked(self[array])

    def packed(self, values: Any) -> Any:
        """From (lanes, ...) to (warps, ..., 32); lanes beyond the last are 0."""
        rest = values.shape[1:]
        if self.count % WARP:
            whole = self._cupy.zeros((self.warps * WARP, *rest), values.dtype)
            whole[: self.count] = values
            values = whole
        return self._cupy.moveaxis(values.reshape(self.warps, WARP, *rest), 1, -1)

    def unpacked(self, values: Any) -> Any:
        """From (warps, ..., 32) to (lanes, ...)."""
        moved = self._cupy.moveaxis(values, -1, 1)
        return moved.reshape(len(values) * WARP, *values.shape[1:-1])[: self.count]

    def assign(self, tables: LaneTables, table: Any) -> None:
        """All lanes' own tables from now on, (lanes, rows, elements), on the card."""
        if table.dtype != self.schedule.dtype or not table.flags.c_contiguous:
            raise ValueError(f"lanes' tables must be contiguous, of {self.schedule.dtype}; got {table.dtype}")
        if table.ndim != 3 or table.shape[::2] != (self.count, tables.width):
            shape = (self.count, "rows", tables.width)
            raise ValueError(f"lanes' tables must have shape {shape}; got {table.shape}")
        self._tables[tables] = self._cupy.ascontiguousarray(self.packed(table)) if tables.together else table

    def blank(self, tables: LaneTables, rows: int) -> None:
        """Tables of zeros, so many rows, for all lanes; `table` gives them back."""
        shape = (self.warps, rows, tables.width, WARP) if tables.together else (self.count, rows, tables.width)
        self._tables[tables] = self._cupy.zeros(shape, self.schedule.dtype)

    def table(self, tables: LaneTables, lanes: int) -> Any:
        """(lanes, rows, elements) on the card: the tables of so many lanes, the first ones."""
        found = self._tables[tables]
        if not tables.together:
            return found[:lanes]
        return self.unpacked(found[: -(-lanes // WARP)])[:lanes]

    def activate(self) -> None:
        """All lanes count from now on."""
        self[self.schedule._active][...] = 1.0
        self.codes[...] = 0

    def run(self, turns: int) -> None:
        """So many turns, less in lanes that end; not awaited."""
        schedule, given = self.schedule, list[Any]()
        for tables in schedule.tables:
            table = self._tables.get(tables)
            if table is None:
                raise ElbowroomError(f"tables of rows of {tables.width} numbers were not assigned to the lanes")
            given += [table, np.int64(table.shape[1])]
        own = self.columns, self.codes, self._listed, self._counts, self._holds, np.int64(self.count)
        functions, stream = schedule.functions, self._cupy.cuda.Stream()
        with stream:
            stream.begin_capture()
            for stage, function in zip(schedule.stages, functions, strict=True):
                function((-(-self.count // stage.lanes),), (stage.threads,), (*own, *given))
            turn = stream.end_capture()
            for _ in range(turns):
                turn.launch(stream)

    def ended(self) -> Any:
        """(lanes,) on the card: the number of the step that ended each lane in `schedule.steps`, from 1 on; 0: none."""
        return self.codes
