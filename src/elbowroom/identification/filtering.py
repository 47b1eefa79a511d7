"""Zero-phase filters: speeds and accelerations from positions, and one low-pass for both sides of the equations.

Positions pass a Butterworth filter of order 4 forwards and backwards (no delay) and are differentiated by central
differences.  Its cutoff, `WIDER` times the one below, leaves the motion as it is.

The torques and all columns of the regressor then pass the *same* zero-phase low-pass with the cutoff f, so that what it
takes away is missing on both sides (Gautier's parallel filter); friction's steps, too, which no filter of positions can
follow.  What is left holds no more than 2 f independent numbers a second: rows are thinned to about that, and the
residuals are then nearly independent, as standard errors assume.  The first and last 1/f seconds, where the filter
begins and ends, are left out.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import ConfigError, ElbowroomError, RecordingError, pip_install
from .measurements import Array, Measurements

ORDER = 4
WIDER = 5.0  # the positions' cutoff beside the other
THINNED = 1.8  # rows a second, in f: neighbouring residuals of white noise are then uncorrelated (0.9 of 2 f)
MOTION = 0.99  # the part of the speeds' power that counts as the motion
BEYOND = 10.0  # f, in the highest frequency of the motion: products of sines, and friction
HIGHEST = 0.08  # f, at most, in the rate of the rows: with `WIDER` below half of it
SHORTEST = 6.0  # seconds of a run, in 1/f


def signal() -> Any:
    """scipy.signal, or an error that says how to get it."""
    try:
        from scipy import signal as found
    except ImportError:
        raise ElbowroomError(f"filters need the package scipy: {pip_install('identify')}") from None
    return found


def cutoff_for(run: Measurements) -> float:
    """f (Hz) that suits a run: well above the frequencies of its motion."""
    qd = np.gradient(run.q, 1.0 / run.rate, axis=0) if run.qd is None else run.qd
    power = (np.abs(np.fft.rfft(qd - qd.mean(axis=0), axis=0)) ** 2).sum(axis=1)
    frequencies = np.fft.rfftfreq(len(run), 1.0 / run.rate)
    total = float(power.sum())
    if total == 0.0:
        raise RecordingError(f"{run.name}: expected an arm that moves; no joint does")
    highest = float(frequencies[int(np.searchsorted(np.cumsum(power), MOTION * total))])
    return float(np.clip(BEYOND * highest, SHORTEST / run.seconds, HIGHEST * run.rate))


def check_cutoff(run: Measurements, f: float) -> None:
    """Refuses a cutoff (Hz) that the run's rate or length cannot bear."""
    low, high = SHORTEST / run.seconds, HIGHEST * run.rate
    if high < low:
        raise RecordingError(
            f"{run.name}: too short: expected at least {SHORTEST / HIGHEST:.0f} rows to filter; got {len(run)}"
        )
    if not low <= f <= high * (1 + 1e-9):
        raise ConfigError(
            f"cutoff: expected {low:.3g} to {high:.3g} Hz, for {run.seconds:.3g} s at {run.rate:.4g} rows a second "
            f"({run.name}); got {f:g}"
        )


def differentiated(run: Measurements, f: float) -> Measurements:
    """The run with speeds and accelerations: those measured, else from positions by a zero-phase filter."""
    if run.qd is not None and run.qdd is not None:
        return run
    step = 1.0 / run.rate
    wide = min(WIDER * f, 0.4 * run.rate)
    if run.qd is None:
        q = low_passed(run.q, wide, run.rate)
        qd = np.gradient(q, step, axis=0)
        qdd = np.empty_like(q)
        qdd[1:-1] = (q[2:] - 2.0 * q[1:-1] + q[:-2]) / step**2
        qdd[0], qdd[-1] = qdd[1], qdd[-2]
        return Measurements(run.name, run.t, q, run.tau, qd, qdd if run.qdd is None else run.qdd)
    qd = low_passed(run.qd, wide, run.rate)
    return Measurements(run.name, run.t, run.q, run.tau, run.qd, np.gradient(qd, step, axis=0))


def low_passed(values: Array, f: float, rate: float) -> Array:
    """Values (N, ...) through the zero-phase low-pass."""
    filters = signal()
    sos = filters.butter(ORDER, f, fs=rate, output="sos")
    reach = min(len(values) - 1, int(3 * rate / f))
    found: Array = filters.sosfiltfilt(sos, values, axis=0, padlen=reach)
    return found


def thinned_rows(rows: int, f: float, rate: float) -> slice:
    """The rows that stay after the low-pass: without the ends, and thinned."""
    end = int(np.ceil(rate / f))
    return slice(end, rows - end, max(1, round(rate / (THINNED * f))))
