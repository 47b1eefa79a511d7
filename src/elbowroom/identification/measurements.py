"""Measured motion: joint positions and torques at even times, with speeds and accelerations where they were measured.

`checked` is the one way in.  It refuses, by name and row: shapes that do not fit the arm, numbers that are not finite,
times that run backwards or unevenly (unless they are resampled), and runs too short to be filtered.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import ConfigError, ElbowroomError, RecordingError, pip_install

Array = NDArray[np.float64]

LEAST_ROWS = 20
GAP = 10.0  # usual time steps: what happened in a longer one is not known
FASTER = 2.0  # times the usual rate, at most, when resampled
MOST = 1e6
"""rad, m, rad/s, N m and so on: what is larger was not measured on an arm."""
LATEST = 1e11  # s, a clock's that began in 1970 with room to spare
JITTER = 0.1
"""Of the usual time step: farther off is uneven, and derivatives by differences would be wrong by as much."""


@dataclass(frozen=True, eq=False)
class Measurements:
    """One run of an arm of n joints: N rows, `rate` Hz."""

    name: str  # for messages and titles
    t: Array = field(repr=False)  # (N,) s
    q: Array = field(repr=False)  # (N, n) rad or m
    tau: Array = field(repr=False)  # (N, n) N m or N: what the motors give at the joints
    qd: Array | None = field(default=None, repr=False)  # (N, n)
    qdd: Array | None = field(default=None, repr=False)  # (N, n)

    @property
    def rate(self) -> float:
        """Rows a second."""
        return float((len(self.t) - 1) / (self.t[-1] - self.t[0]))

    @property
    def seconds(self) -> float:
        """From the first row to the last."""
        return float(self.t[-1] - self.t[0])

    def __len__(self) -> int:
        return len(self.t)


def checked(
    name: str,
    n: int,
    t: ArrayLike,
    q: ArrayLike,
    tau: ArrayLike,
    qd: ArrayLike | None = None,
    qdd: ArrayLike | None = None,
    *,
    resample: float | None = None,
) -> Measurements:
    """The run of an arm of n joints, or a RecordingError that says what is wrong with it.

    `resample`: at so many rows a second, for times that are not even; torques linearly, all else by cubic splines.
    """
    times = np.array(t, dtype=float)
    rows = len(times) if times.ndim == 1 else -1
    if rows < 0:
        raise RecordingError(f"{name}: t: expected one time a row, (N,); got shape {times.shape}")
    given: dict[str, Array] = {}
    for what, values in (("q", q), ("tau", tau), ("qd", qd), ("qdd", qdd)):
        if values is None:
            continue
        array = np.array(values, dtype=float)
        if array.shape != (rows, n):
            raise RecordingError(f"{name}: {what}: expected shape ({rows}, {n}), a column a joint; got {array.shape}")
        given[what] = array
    for what, array in {"t": times[:, None], **given}.items():
        most = LATEST if what == "t" else MOST
        bad = np.argwhere(~(np.abs(array) <= most))
        if len(bad):
            row, joint = bad[0]
            label, value = what if what == "t" else f"{what}{joint + 1}", array[row, joint]
            expected = f"at most {most:g}" if np.isfinite(value) else "a finite number"
            raise RecordingError(f"{name}: {label}, row {row + 1}: expected {expected}; got {value:g}")
    if rows < LEAST_ROWS:
        raise RecordingError(f"{name}: expected at least {LEAST_ROWS} rows; got {rows}")
    steps = np.diff(times)
    back = np.flatnonzero(steps <= 0.0)
    if len(back):
        k = int(back[0])
        raise RecordingError(
            f"{name}: t, row {k + 2}: expected a time after {times[k]:g} s, that of the row before; "
            f"got {times[k + 1]:g} s"
        )
    usual = float(np.median(steps))
    if resample is not None:
        times, given = _resampled(name, times, given, steps, resample)
        return Measurements(name, times, given["q"], given["tau"], given.get("qd"), given.get("qdd"))
    uneven = np.flatnonzero(np.abs(steps - usual) > JITTER * usual)
    if len(uneven):
        k = int(uneven[0])
        raise RecordingError(
            f"{name}: t, row {k + 2}: expected steps of {usual:g} s, as most rows have; got {steps[k]:g} s "
            f"({len(uneven)} such steps in all); resample={1.0 / usual:.4g} (--resample) makes them even"
        )
    return Measurements(name, times, given["q"], given["tau"], given.get("qd"), given.get("qdd"))


def _resampled(
    name: str, t: Array, given: dict[str, Array], steps: Array, rate: float
) -> tuple[Array, dict[str, Array]]:
    usual = float(np.median(steps))
    low, high = (LEAST_ROWS + 1) / float(t[-1] - t[0]), FASTER / usual
    if not low <= rate <= high:
        raise ConfigError(f"resample: expected {low:.4g} to {high:.4g} rows a second ({name}); got {rate!r}")
    gaps = np.flatnonzero(steps > GAP * usual)
    if len(gaps):
        k = int(gaps[0])
        raise RecordingError(f"{name}: t, row {k + 2}: expected no gap above {GAP * usual:.3g} s; got {steps[k]:g} s")
    try:
        from scipy.interpolate import CubicSpline
    except ImportError:
        raise ElbowroomError(f"resampling needs the package scipy: {pip_install('identify')}") from None
    even = t[0] + np.arange(int((t[-1] - t[0]) * rate * (1.0 + 1e-12)) + 1) / rate
    found = {what: CubicSpline(t, values)(even) for what, values in given.items() if what != "tau"}
    found["tau"] = np.stack([np.interp(even, t, column) for column in given["tau"].T], axis=1)
    return even, found
