"""Numbers of a run, from its recording.

Least distances, differences and peaks are over the rows of the table.  Jerk and vibration would change with the rate of
recording; so they are made at one bandwidth, from the tool's position on a grid of h = `GRID` = 20 ms, whatever the
period of the run.  Between two rows the position is the cubic with the recorded positions and velocities at its ends.

    velocity of an interval     v_k = (x_{k+1} - x_k) / h                    the mean velocity over h
    jerk                        j_k = (v_{k+2} - 2 v_{k+1} + v_k) / h^2      the third difference of the position

    rms_jerk     the root of the mean of |j_k|^2, over those k where one of the three velocities is above `MOVING`
    vibration    the root of the power of v above `LOW` = 2 Hz, all three axes together, by Welch's method: pieces of
                 `PIECE` = 4 s that overlap by half, each less its mean, under a Hann window

A sine a sin(2 pi f t) has a jerk of amplitude a (2 pi f s)^3 and a velocity of a 2 pi f s, where the mean over h leaves
s = sin(pi f h) / (pi f h): all of a few hertz, and nothing of 50 Hz.

Oscillation is that of the tool along the axis in the last third of the run: half of the way from its least to its
greatest place, and the frequency with the most power.  Metres, seconds, radians; degrees where the name says so.  What
a run does not have, such as a distance to nobody, is None.

What a motion does to the arm itself:

    limit_hits         how often a joint came to its end, at more than `GENTLE` (rad/s or m/s)
    min_self_distance  between surfaces of the arm's own links that must not meet, m
    min_height         of the lowest surface of the moving links above the floor, m
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...cell.runner import Cell
from ...errors import RecordingError
from ...geometry import Body
from ...geometry.distance import DISTANCE
from ...geometry.pairs import Pairs
from ...geometry.shapes import RADIUS
from ...model.capsules import BASE
from .outcome import Table, Value

GENTLE = 0.05
AT = 1e-6  # rad or m: nearer to an end is at it
EVERY = 5  # rows: a link moves millimetres in that time


def bodily(cell: Cell, table: Table) -> dict[str, Value]:
    """The numbers of a run."""
    q = joint_columns(table)
    lower, upper = cell.arm.model.lower, cell.arm.model.upper
    speed = np.abs(np.diff(q, axis=0, prepend=q[:1])) / cell.period
    speed = np.maximum(speed, np.vstack([speed[:1], speed[:-1]]))  # the end may cut the last step short
    at = (q <= lower + AT) | (q >= upper - AT)
    came = at & ~np.vstack([at[:1], at[:-1]]) & (speed > GENTLE)
    found: dict[str, Value] = {"limit_hits": int(came.sum())}
    if not cell.arm.model.capsules:
        return found
    body = Body(cell.arm)
    some = np.ascontiguousarray(q[::EVERY])
    rows = body.kernel(some, np.zeros_like(some))
    moving = [k for k, capsule in enumerate(body.link_capsules) if capsule.link != BASE]
    heights = np.minimum(rows[:, moving, 2], rows[:, moving, 5]) - rows[:, moving, RADIUS]
    found["min_height"] = float(heights.min()) - cell.floor
    if body.self_pairs:
        found["min_self_distance"] = float(Pairs(len(body), 0, body.self_pairs)(rows)[..., DISTANCE].min())
    return found


Array = NDArray[np.float64]

GRID = 0.02
"""s: the grid of jerk and vibration."""

MOVING = 1e-3
"""m/s: a tool that is slower rests."""

LOW = 2.0
"""Hz: what is slower is motion, what is faster is vibration."""

PIECE = 4.0
"""s: the length of a piece in Welch's method."""

REACHED = 0.02
"""m: a goal this near is reached."""

SWING = 1e-3
"""m: an oscillation smaller than this has no frequency worth telling."""

AXES = ("x", "y", "z")
NEEDED = (
    "t",
    "status",
    *(f"{what}_{axis}" for what in ("tool", "person", "goal") for axis in AXES),
    *(f"tool_v{axis}" for axis in AXES),
    *("distance_axes", "distance_surfaces", "clearance", "cycles", "contacts"),
)


def metrics(
    table: Table, *, period: float, axis: str = "x", joint3_zero: float = 0.0, joint3_sign: float = 1.0
) -> dict[str, Value]:
    """All numbers of a run; `axis` is the one that the coworker approaches along.

    The angle of joint 3 is `joint3_sign * (q3 - joint3_zero)`, for arms whose zero is not the thesis'.
    """
    check(table, period, axis)
    t, tool, velocity = column(table, "t"), vectors(table, "tool"), vectors(table, "tool", "v")
    person, goal = vectors(table, "person"), vectors(table, "goal")
    k = AXES.index(axis)
    on_grid = resampled(t, tool, velocity)
    mean_velocity = np.diff(on_grid, axis=0) / GRID
    goal_error = _number(np.linalg.norm(tool[-1] - goal[-1]))
    found: dict[str, Value] = {
        "duration": _number(t[-1] - t[0]),
        "min_distance": least(table["distance_axes"]),
        "min_surface_distance": least(table["distance_surfaces"]),
        "min_clearance": least(table["clearance"]),
        f"min_{axis}_difference": least(np.abs(person[:, k] - tool[:, k])),
        "peak_tool_speed": _greatest(np.linalg.norm(velocity, axis=1)),
        "peak_x_speed": _greatest(np.abs(velocity[:, 0])),
        "peak_toward_speed": _toward(tool, velocity, person),
        "contacts": int(table["contacts"][-1]),
        "cycles": int(table["cycles"][-1]),
        "rms_jerk": rms_jerk(mean_velocity),
        "vibration": vibration(mean_velocity),
        "return_error": _number(np.linalg.norm(tool[-1] - tool[0])),
        "goal_error": goal_error,
        "reached": goal_error is not None and goal_error <= REACHED,
    }
    if axis != "x":
        found[f"peak_{axis}_speed"] = _greatest(np.abs(velocity[:, k]))
    found |= _oscillation(t, tool[:, k])
    found |= _joints(table, joint3_zero, joint3_sign)
    found |= _statuses(table, period)
    return found


def check(table: Table, period: float, axis: str) -> None:
    """That the table is one that numbers can be made of, or what is wrong with it."""
    missing = [name for name in NEEDED if name not in table]
    if missing:
        raise RecordingError(f"metrics: columns missing: {', '.join(missing)}; got {', '.join(table) or 'none'}")
    lengths = {len(column) for column in table.values()}
    if len(lengths) != 1 or not lengths.pop():
        raise RecordingError("metrics: the columns must have one length, of a row or more")
    if not np.all(np.diff(column(table, "t")) > 0):
        raise RecordingError("metrics: column t must rise from row to row")
    if not 0 < period < math.inf:
        raise RecordingError(f"metrics: period must be positive and finite, in seconds; got {period!r}")
    if axis not in AXES:
        raise RecordingError(f"metrics: axis must be x, y or z; got {axis!r}")


def column(table: Table, name: str) -> Array:
    """A column as floats."""
    return np.asarray(table[name], dtype=float)


def vectors(table: Table, what: str, kind: str = "") -> Array:
    """(rows, 3) of columns what_x, what_y, what_z; with kind "v", of the velocities."""
    return np.stack([column(table, f"{what}_{kind}{axis}") for axis in AXES], axis=1)


def joint_columns(table: Table, prefix: str = "q") -> Array:
    """(rows, n) of columns prefix1, prefix2 and so on."""
    n = 0
    while f"{prefix}{n + 1}" in table:
        n += 1
    columns = [column(table, f"{prefix}{i + 1}") for i in range(n)]
    return np.stack(columns, axis=1) if columns else np.zeros((len(table["t"]), 0))


def resampled(t: Array, x: Array, v: Array) -> Array:
    """Positions on the grid (m, 3) from the first row on: cubics between rows, positions and velocities kept."""
    count = math.floor((t[-1] - t[0]) / GRID * (1 + 1e-12) + 1e-9) + 1
    at = np.minimum(t[0] + GRID * np.arange(count), t[-1])
    if len(t) == 1:
        return x.copy()
    left = np.clip(np.searchsorted(t, at, side="right") - 1, 0, len(t) - 2)
    step = (t[left + 1] - t[left])[:, None]
    s = (at - t[left])[:, None] / step
    start, end = x[left], x[left + 1]
    rise = end - start
    bend = step * v[left] - rise, -step * v[left + 1] + rise
    return (1 - s) * start + s * end + s * (1 - s) * ((1 - s) * bend[0] + s * bend[1])


def rms_jerk(velocity: Array) -> float | None:
    """m/s^3, of the mean velocities (m, 3) of intervals of `GRID`, over the time when the tool moves; 0 if it rests."""
    if len(velocity) < 3:
        return None
    jerk = np.diff(velocity, n=2, axis=0) / GRID**2
    speed = np.linalg.norm(velocity, axis=1)
    moving = np.max([speed[:-2], speed[1:-1], speed[2:]], axis=0) > MOVING
    if not moving.any():
        return 0.0
    return _number(math.sqrt(np.mean(np.sum(jerk[moving] ** 2, axis=1))))


def vibration(velocity: Array, low: float = LOW) -> float | None:
    """m/s, the root of the power above `low` (Hz) of mean velocities (m, 3) of intervals of `GRID`.

    None for a run too short to tell.
    """
    whole = round(PIECE / GRID)
    size = min(whole, len(velocity))
    if size * GRID * low < 2:  # two waves of the slowest: less and the window smears all of them
        return None
    window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(size) / size)
    fast = np.fft.rfftfreq(size, GRID) > low
    twice = np.where((np.arange(size // 2 + 1) == 0) | (np.arange(size // 2 + 1) * 2 == size), 1.0, 2.0)
    powers = []
    for start in range(0, len(velocity) - size + 1, max(1, size // 2)):
        piece = velocity[start : start + size]
        spectrum = np.fft.rfft((piece - piece.mean(axis=0)) * window[:, None], axis=0)
        power = twice[:, None] * np.abs(spectrum) ** 2 / (size * np.sum(window**2))
        powers.append(power[fast].sum())
    return _number(math.sqrt(np.mean(powers)))


def least(values: ArrayLike) -> float | None:
    """The least of them, leaving out what is not finite."""
    array = np.asarray(values, dtype=float)
    array = array[np.isfinite(array)]
    return float(array.min()) if array.size else None


def joint3_degrees(table: Table, zero: float = 0.0, sign: float = 1.0) -> Array:
    """The angle of joint 3 over time, degrees; the limit of test 7 is one of this angle."""
    return np.degrees(sign * (column(table, "q3") - zero))


def _number(value: float | np.floating) -> float | None:
    return float(value) if math.isfinite(value) else None


def _greatest(values: Array) -> float | None:
    found = least(-values)
    return None if found is None else -found + 0.0  # no negative zero


def _toward(tool: Array, velocity: Array, person: Array) -> float | None:
    """The greatest speed of the tool towards the person's place, level; 0 if it never comes nearer."""
    level = (person - tool)[:, :2]
    far = np.linalg.norm(level, axis=1)
    there = np.isfinite(far) & (far > 0)
    if not there.any():
        return None
    speed = np.einsum("ij,ij->i", velocity[there, :2], level[there]) / far[there]
    return max(0.0, float(speed.max()))


def _oscillation(t: Array, x: Array) -> dict[str, Value]:
    last = t >= t[0] + (t[-1] - t[0]) * 2 / 3
    time, place = t[last], x[last]
    if len(time) < 8 or not np.isfinite(place).all():
        return {"oscillation_amplitude": None, "oscillation_frequency": None}
    amplitude = float(np.ptp(place)) / 2
    if amplitude < SWING:
        return {"oscillation_amplitude": amplitude, "oscillation_frequency": None}
    size = len(time)
    even = np.interp(np.linspace(time[0], time[-1], size), time, place)
    ramp = np.linspace(-1.0, 1.0, size)
    even = even - even.mean() - ramp * (even @ ramp) / (ramp @ ramp)
    padded = 8 * size
    power = np.abs(np.fft.rfft(even * np.hanning(size), padded))
    peak = int(power[1:-1].argmax()) + 1
    a, b, c = power[peak - 1 : peak + 2]
    between = 0.5 * (a - c) / (a - 2 * b + c) if a - 2 * b + c else 0.0
    width = (time[-1] - time[0]) / (size - 1)
    return {
        "oscillation_amplitude": amplitude,
        "oscillation_frequency": _number((peak + between) / (padded * width)),
    }


def _joints(table: Table, zero: float, sign: float) -> dict[str, Value]:
    q, qd = joint_columns(table), joint_columns(table, "qd")
    return {
        "min_joint3_deg": least(joint3_degrees(table, zero, sign)) if q.shape[1] > 2 else None,
        "peak_joint_speeds": [float(speed) for speed in np.abs(qd).max(axis=0)],
        "joint_travel": [float(way) for way in np.abs(np.diff(q, axis=0)).sum(axis=0)],
    }


def _statuses(table: Table, period: float) -> dict[str, Value]:
    names, counts = np.unique([str(name) for name in table["status"]], return_counts=True)
    verdicts = [str(verdict) for verdict in table.get("verdict", np.array([], dtype=str))]
    stopped = np.array([verdict.startswith("STOP") for verdict in verdicts], dtype=bool)
    begun = int(np.sum(stopped[1:] & ~stopped[:-1])) + int(stopped[:1].any())
    return {
        "stops": begun,
        "stopped_time": float(stopped.sum() * period),
        "time_in_status": {str(name): float(count / counts.sum()) for name, count in zip(names, counts, strict=True)},
    }
