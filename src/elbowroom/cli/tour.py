"""`elbowroom tour`: a guided tour of one arm in the terminal."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from rich.text import Text

from .terminal import console, duration, heading, line, number, table

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ..arm import Arm

BATCH = 10_000  # states at once
PATIENCE = 0.25  # seconds that one timing may take
TIMED = ("mass_matrix", "coriolis_matrix", "inverse_dynamics", "forward_dynamics")

SCALE = f"{'-180':<10}0{'220 deg':>13}"  # what `_gauge` is drawn against; narrow enough for 80 columns

NEXT = """\
  elbowroom demo                    the live cell in a browser, with a person in it
  elbowroom robots                  the other arms
  elbowroom show ur5e               all that is known about one of them
  elbowroom check my.urdf           what looks wrong with your own; `show` works on it too
  elbowroom bench dynamics          these timings beside those of other libraries
  docs/tutorials/keep_clear.md      keep an arm clear of a person, in twenty lines

  >>> import elbowroom as er
  >>> arm = er.load("panda").with_payload(0.5)
  >>> arm.inverse_dynamics(arm.ready, [0.1] * 7, [0] * 7)

Informed by ISO 10218:2025 / ISO/TS 15066, not certified;
run it under a certified safety controller."""


def tour() -> None:
    """Take a guided tour of one arm, a few seconds.

    \b
    elbowroom tour
    """
    from ..loading import load

    arm = load("panda")
    heading("1. An arm")
    line(f'arm = er.load("panda")\n{arm.model.description}\n')
    _limits(arm)
    heading("2. Its mass matrix at `ready`, in kg m2")
    line("arm.mass_matrix(arm.ready)    symmetric, positive definite; rotors would add to its diagonal\n")
    _matrix(arm.mass_matrix(arm.ready))
    heading("3. What it costs, by each formulation")
    line(
        "Each algorithm runs once on symbols and leaves a program behind.  With symbols for all parameters\n"
        "that is the program of any seven-joint arm.  With the Panda's own numbers, zeros and ones drop out\n"
        "and equal terms are shared."
    )
    _costs(arm)
    heading("4. How fast it runs here")
    _speed(arm)
    heading("5. What to try next")
    line(Text(NEXT))


def _limits(arm: Arm) -> None:
    model = arm.model
    rows = []
    for i in range(model.n):
        low, high, at = (math.degrees(x[i]) for x in (model.lower, model.upper, model.ready))
        rows.append(
            [
                model.joint_names[i],
                _gauge(low, at, high),
                *(f"{x:.0f}" for x in (low, high, at)),
                number(model.velocity[i]),
                number(model.effort[i]),
            ]
        )
    table(
        ["joint", SCALE, "from", "to", "ready", "rad/s", "N m"],
        rows,
        words=2,
    )


def _gauge(low: float, at: float, high: float, width: int = len(SCALE)) -> Text:
    """A joint's range on a scale from -180 to 220 degrees, with a mark where it stands."""

    def column(angle: float) -> int:
        return min(width - 1, max(0, round((angle + 180) / 400 * (width - 1))))

    cells = [" "] * width
    cells[column(low) : column(high) + 1] = "-" * (column(high) + 1 - column(low))
    cells[column(at)] = "o"
    return Text("".join(cells), style="cyan")


def _matrix(M: NDArray[np.float64]) -> None:
    out = console()
    largest = float(abs(M).max())
    for row in M:
        cells = Text("   ")
        for value in row:
            share = abs(float(value)) / largest
            style = "bold" if share > 0.3 else "" if share > 0.01 else "dim"
            cells.append(f"{value + 0.0:9.4f}", style=style)
        out.print(cells)


def _costs(arm: Arm) -> None:
    from .. import dynamics

    symbols = arm.model.symbolic
    rows = []
    for method in dynamics.quantity("mass_matrix").formulations:
        general = dynamics.program(symbols("general"), "mass_matrix", method).count
        own = dynamics.program(arm.model, "mass_matrix", method).count
        share = f"{100 * own.total / general.total:.0f} %"
        rows.append([method, general.mul, general.add, general.total, own.mul, own.add, own.total, share])
    table(["method", "any arm: mul", "add", "all", "the Panda: mul", "add", "all", "of it"], rows)


def _speed(arm: Arm) -> None:
    import numpy as np

    from .. import dynamics
    from ..loading import load

    rng = np.random.default_rng(0)
    n, model = arm.n, arm.model
    states = {"q": rng.uniform(model.lower, model.upper, (BATCH, n))}
    states |= {name: rng.uniform(-1, 1, (BATCH, n)) for name in ("qd", "qdd", "tau")}
    rows = []
    for name in TIMED:
        many = [states[i] for i in dynamics.quantity(name).inputs]
        one = [np.ascontiguousarray(values[0]) for values in many]
        fresh = load("panda")  # an arm that has not been asked yet
        start = time.perf_counter()
        getattr(fresh, name)(*one)
        first = time.perf_counter() - start
        call = getattr(fresh, name)  # after the first call this is the compiled entry itself
        single, batch = _best(call, one), _best(call, many)
        rows.append([name, duration(first), duration(single), duration(batch / BATCH)])
    table(["quantity", "first call", "one state", f"a state, {BATCH:,} at once"], rows)
    line(
        "Best of repeated calls from Python, checks and allocation included, one thread.\n"
        "The first call traces and compiles, or reads what an earlier process left in the cache."
    )


def _best(call: Callable[..., object], arguments: list[NDArray[np.float64]]) -> float:
    """Seconds of the fastest call, the clock read around runs of at least a millisecond."""
    call(*arguments)  # the first one may compile
    calls, best, end = 1, math.inf, time.perf_counter() + PATIENCE
    while True:
        start = time.perf_counter()
        for _ in range(calls):
            call(*arguments)
        stop = time.perf_counter()
        best = min(best, (stop - start) / calls)
        if stop > end:
            return best
        if stop - start < 1e-3:
            calls *= 4
