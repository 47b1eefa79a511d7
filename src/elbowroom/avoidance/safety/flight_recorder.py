"""The flight recorder: the last seconds of every cycle, in memory that is there from the start.

A cycle is one row of a ring of float64.  After a stop the ring goes on for `after` seconds, so that the stop itself is
in it, and is then put aside whole; a spare takes its place.  Nothing is copied, allocated or written to disk while the
loop runs: `save` is for afterwards, or for another thread with a record that has been put aside.

    recorder.table()            the ring as it is now, arrays in time order
    recorder.dumps[-1]          the record of the last stop: `.reason`, `.t`, `.table()`, `.save("stop.npz")`
    recorder.events             what happened, the last thousand
"""

from __future__ import annotations

import math
import os
from collections import deque
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...algebra import Scalar, where
from ..control.command import State, Status
from ..copies import Rebuilt

Array = NDArray[Any]
View = Any  # a memoryview of floats; the type says integers
STATUSES = tuple(Status)
CODE = {id(status): float(k) for k, status in enumerate(STATUSES)}  # by identity: an enum's hash is Python code
KEPT = 2  # records of stops that are kept; a third takes the place of the first
EVENTS = 1000


class Event(NamedTuple):
    """Something that happened at time t (s): a kind ("overruns", "STOP_OVERRUN", "reset", ...) and a sentence."""

    t: float
    kind: str
    text: str


def following(place: Array) -> list[Scalar]:
    """`Recorder.place` after one more row."""
    at, written, first, end = place
    return [where(at + 1.0 < end, at + 1.0, first), written + 1.0, first, end]


def columns(n: int) -> dict[str, slice]:
    """Where each quantity is in a row of the ring."""
    widths = {"t": 1, "dt": 1, "age": 1, "q": n, "qd": n, "wanted": n, "command": n, "tau": n, "tool_velocity": 6}
    widths |= {"distance": 1, "people_distance": 1, "human_scale": 1, "limit_scale": 1, "margin": 1, "status": 1}
    ends = np.cumsum(list(widths.values())).tolist()
    return {name: slice(end - width, end) for (name, width), end in zip(widths.items(), ends, strict=True)}


class Ring:
    """Rows in a circle: `rows` of an array that it shares with others, from number `first` on.

    `at` (2,) are the number of the next row and how many were written; floats, since compiled code writes rows too.
    """

    def __init__(self, data: Array, rows: int, first: int, n: int) -> None:
        self.columns = columns(n)
        self.rows, self.width, self.first = rows, data.shape[1], first
        self.at = np.array([float(first), 0.0])
        self.data = data[first : first + rows]
        self.t, self.reason = math.nan, ""  # of the stop that it is the record of

    def __getstate__(self) -> dict[str, object]:
        return vars(self) | {"data": self.data.copy()}  # a record that goes alone takes its rows along

    def __len__(self) -> int:
        return min(int(self.at[1]), self.rows)

    def table(self) -> dict[str, Array]:
        """A copy, oldest first: name -> (k,) or (k, n); `status` as texts."""
        at = int(self.at[0]) - self.first
        full = self.at[1] >= self.rows
        rows = np.concatenate([self.data[at:], self.data[:at]]) if full else self.data[:at].copy()
        found: dict[str, Array] = {}
        for name, place in self.columns.items():
            part = rows[:, place]
            found[name] = part[:, 0] if place.stop - place.start == 1 and name not in _JOINTS else part
        found["status"] = np.array([STATUSES[int(code)].value for code in found["status"]], dtype=str)
        return found

    def save(self, path: str | os.PathLike[str]) -> None:
        """To a file: CSV if its name ends so, else NumPy's npz.  Not for the control loop: disks make one wait."""
        table = self.table()
        if not str(path).endswith(".csv"):
            extra: dict[str, Any] = {"reason": np.array(self.reason), "stopped_at": np.array(self.t)}
            np.savez(path, **(table | extra))
            return
        names = []
        for name, values in table.items():
            names += [name] if values.ndim == 1 else [f"{name}_{k}" for k in range(values.shape[1])]
        numbers = np.column_stack([values for name, values in table.items() if name != "status"])
        text = np.array([[f"{x:.17g}" for x in row] for row in numbers], dtype=str).reshape(len(numbers), -1)
        np.savetxt(path, np.column_stack([text, table["status"]]), "%s", ",", header=",".join(names), comments="")


_JOINTS = ("q", "qd", "wanted", "command", "tau")


class Recorder(Rebuilt):
    """The ring of now, and those of the last stops."""

    def __init__(self, n: int, seconds: float, period: float, after: float) -> None:
        rows = max(2, math.ceil(seconds / period))
        self._n = n
        self.data = np.zeros(((KEPT + 1) * rows, columns(n)["status"].stop))  # of all rings
        self.place = np.zeros(4)  # of the ring of now: next row, how many were written, first row, end
        self._rings = [Ring(self.data, rows, k * rows, n) for k in range(KEPT + 1)]
        self._after = min(rows - 1, math.ceil(after / period))
        self.dumps: deque[Ring] = deque(maxlen=KEPT)
        self.events: deque[Event] = deque(maxlen=EVENTS)
        self._now = self._rings[0]
        self.left = -1  # rows until the ring is put aside; below 0 there was no stop
        self._begin(self._now)
        self._make_ready()

    def _ready(self) -> None:
        for ring in self._rings:  # a copied part is none
            ring.data = self.data[ring.first : ring.first + ring.rows]
        self._flat: View = self.data.reshape(-1).data
        self._place: View = self.place.data
        self._now.at = self.place[:2]

    def _begin(self, ring: Ring) -> None:
        """An empty ring."""
        self._now.at = self._now.at.copy()
        self._now, ring.t, ring.reason = ring, math.nan, ""
        self.place[:] = ring.first, 0.0, ring.first, ring.first + ring.rows
        ring.at = self.place[:2]

    def write(self, row: View, status: Status) -> None:
        """One cycle, a view of a row of floats; the last of them becomes the status."""
        row[-1] = CODE[id(status)]
        place, width = self._place, len(row)
        at = int(place[0])
        self._flat[at * width : (at + 1) * width] = row  # by a third of the time that NumPy takes
        place[0] = place[0] + 1.0 if place[0] + 1.0 < place[3] else place[2]
        place[1] += 1.0
        if self.left >= 0:
            self.left -= 1
            if self.left < 0:
                self._begin(next(spare for spare in self._rings if spare not in self.dumps))

    def write_blind(self, t: float, state: State, status: Status) -> None:
        """One cycle of which only the time and the state as it came are known; the rest is not a number."""
        ring = self._now
        row = np.full(ring.width, np.nan)
        row[ring.columns["t"]] = t
        for name in ("q", "qd"):
            value = getattr(state, name)
            if np.shape(value) == (self._n,) and np.asarray(value).dtype.kind in "fiu":
                row[ring.columns[name]] = value
        row[ring.columns["command"]] = row[ring.columns["tau"]] = 0.0
        self.write(row.data, status)

    def freeze(self, t: float, reason: str) -> None:
        """A stop at time t: what the ring holds, and what comes in the seconds after, is its record."""
        if self._now in self.dumps:  # a second stop within the record of the first
            return
        self._now.t, self._now.reason = t, reason
        self.dumps.append(self._now)
        self.left = self._after

    @property
    def dump(self) -> Ring | None:
        """The record of the last stop."""
        return self.dumps[-1] if self.dumps else None

    def note(self, t: float, kind: str, text: str) -> None:
        """An event."""
        self.events.append(Event(t, kind, text))

    def table(self) -> dict[str, Array]:
        """What is recorded now, oldest first; see `Ring.table`."""
        return self._now.table()

    def save(self, path: str | os.PathLike[str]) -> None:
        """What is recorded now, to a file; see `Ring.save`."""
        self._now.save(path)
