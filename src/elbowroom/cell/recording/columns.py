"""The columns of a recording: one row per control step, the same for every file format.

`status` is what the arm did: the supervisor's last word where it acts, else the controller's.  `verdict` is what the
supervisor said, also where it only watched, and empty without one; `law_status` is the controller's own view.
`route` is the number of a RouteState (avoidance/planning/detour.py), `route_part` the row of the person's capsule that
it is about (-1: none), and `replans` how many routes were given up and planned anew; NaN without planning.
`residual1` ... are what each joint feels from outside (N m or N, avoidance/safety/momentum_observer.py); `felt` is the
greatest of them or of their changes, in thresholds, `felt_joint` and `felt_torque` which joint's (from 1 on) and how
much that is; NaN where contact is not watched.  `tau1` ... are the joints' torques as the plant
measures them, of motors or sensors (N m or N); NaN where it measures none.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

XYZ = ("x", "y", "z")
WORDS = ("state", "status", "verdict", "law_status")
SCALARS_FIRST = ("t", *WORDS, "cycles", "contacts")
TEXT = frozenset(WORDS)
BY_JOINT = ("q", "qd", "command", "residual", "tau")
COUNTS = frozenset({"cycles", "contacts"})
SIGNALS: Mapping[str, tuple[str, ...]] = {  # what the thesis logs
    "time": ("t",),
    "tool position": ("tool_x", "tool_y", "tool_z"),
    "tool velocity": ("tool_vx", "tool_vy", "tool_vz"),
    "coworker point": ("person_x", "person_y", "person_z"),
    "coworker velocity": ("person_vx", "person_vy", "person_vz"),
    "least distance": ("distance_axes",),
}
LATER = (
    ("left_hand", "right_hand", "attraction", "repulsion"),
    ("margin",),
    ("route", "route_part", "replans"),
    ("residual", "felt"),
    ("tau",),
    ("felt_joint", "felt_torque"),
)
"""Quantities that older recordings do not have, in the order in which they came; they are NaN there."""
MOST_JOINTS = 100
UNKNOWN = -1  # a count that was no number


def places(n: int) -> dict[str, slice]:
    """Where each quantity is in a row, joints and directions together: "tool" is three columns, "q" is n."""
    widths = dict.fromkeys(SCALARS_FIRST, 1)
    widths |= {"tool": 3, "tool_v": 3, "person": 3, "person_v": 3}
    widths |= {"distance_axes": 1, "distance_surfaces": 1, "clearance": 1, "age": 1, "goal": 3}
    widths |= {"slow": 1, "push": 1, "limit": 1, "q": n, "qd": n, "command": n, "object": 3}
    widths |= dict.fromkeys(LATER[0], 3) | dict.fromkeys((*LATER[1], *LATER[2]), 1)
    widths |= {"residual": n, "felt": 1, "tau": n, "felt_joint": 1, "felt_torque": 1}
    ends = np.cumsum(list(widths.values())).tolist()
    return {name: slice(end - width, end) for (name, width), end in zip(widths.items(), ends, strict=True)}


def columns(n: int) -> tuple[str, ...]:
    """The names of the columns of an arm with n joints, in their order."""
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or not 1 <= n <= MOST_JOINTS:
        raise ValueError(f"columns: expected a number of joints from 1 to {MOST_JOINTS}; got {n!r}")
    names: list[str] = []
    for name, place in places(int(n)).items():
        if name in BY_JOINT:
            names += [f"{name}{k}" for k in range(1, n + 1)]
        elif place.stop - place.start == 3:
            names += [f"{name}{axis}" if name.endswith("_v") else f"{name}_{axis}" for axis in XYZ]
        else:
            names.append(name)
    return tuple(names)


def count(value: float) -> int:
    """A whole number, or `UNKNOWN` for what is none."""
    return int(value) if math.isfinite(value) and abs(value) < 2.0**53 else UNKNOWN


def table(rows: Array, n: int, texts: Sequence[str]) -> dict[str, Array]:
    """Name -> (k,): text for those of `TEXT`, int64 for those of `COUNTS`, else float64."""
    known = np.array(texts or [""], dtype=str)
    found: dict[str, Array] = {}
    for name, values in zip(columns(n), rows.T, strict=True):
        if name in TEXT:
            found[name] = known[values.astype(np.intp)]
        elif name in COUNTS:
            whole = np.isfinite(values) & (np.abs(values) < 2.0**53)
            found[name] = np.where(whole, values, UNKNOWN).astype(np.int64)
        else:
            found[name] = values.copy()
    return found


class RecordedTable(Mapping[str, Array]):
    """A recording that was read: name -> column, with its `notes`, and `torn`, a sentence if its end was lost."""

    def __init__(self, columns: Mapping[str, Array], n: int, notes: Mapping[str, str], torn: str | None = None) -> None:
        self._columns, self.n, self.notes, self.torn = dict(columns), n, dict(notes), torn

    def __getitem__(self, name: str) -> Array:
        return self._columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    @property
    def rows(self) -> int:
        """How many control steps it holds."""
        return len(self["t"])

    def __repr__(self) -> str:
        span = f", t = {self['t'][0]:g} to {self['t'][-1]:g} s" if self.rows else ""
        return f"<RecordedTable of {self.rows} rows, {self.n} joints{span}{', torn' if self.torn else ''}>"
