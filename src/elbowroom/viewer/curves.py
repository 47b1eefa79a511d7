"""Plots over a whole run, with a line at the present time.

A plot has at most `SHOWN` points.  Where a run has more cycles, a point is the worst of those it stands for: the least
distance, the greatest speed, the least margin.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .plots import COLOURS, FAR, HEIGHT, TITLE, TOPS, shares
from .replay import Replay

Array = NDArray[np.float64]

SHOWN = 300  # points of a plot


def thinned(values: Array, worst: Any, count: int = SHOWN) -> Array:
    """At most so many values: the worst (np.fmin, np.fmax) of each stretch, the last row in the last."""
    if len(values) <= count:
        return np.array(values, dtype=float)
    starts = np.linspace(0, len(values), count, endpoint=False).astype(int)
    found: Array = worst.reduceat(values, starts)
    return found


class Curves:
    """Distance, speed of the tool and least joint margin of a replay."""

    def __init__(self, gui: Any, replay: Replay, order: float) -> None:
        table = replay.table
        self.x = thinned(replay.times, np.minimum)
        distance = np.minimum(np.where(np.isfinite(table["distance_surfaces"]), table["distance_surfaces"], FAR), FAR)
        with np.errstate(invalid="ignore"):
            margins = shares(replay.margins, replay.cell.upper - replay.cell.lower)
        least = np.fmin.reduce(margins, axis=1)
        fastest = float(np.nanmax(replay.speeds, initial=0.0))
        speed_top = next((each for each in TOPS if each > fastest), TOPS[-1])
        self._lines = {
            "distance": (thinned(distance, np.fmin), FAR),
            "speed": (thinned(replay.speeds, np.fmax), speed_top),
            "margin": (thinned(least, np.fmin), 100.0),
        }
        self._titles, self._plots = {}, {}
        for k, (name, (values, top)) in enumerate(self._lines.items()):
            self._titles[name] = gui.add_html("", order=order + 0.1 * k)
            last = k == len(self._lines) - 1
            self._plots[name] = self._plot(gui, values, top, COLOURS[k], order + 0.1 * k + 0.05, last)

    def _plot(self, gui: Any, values: Array, top: float, colour: str, order: float, last: bool) -> Any:
        """As on the live page: the last one has the time below."""
        small = {"size": 20, "font": "10px sans-serif", "grid": {"stroke": "#eceff1"}, "ticks": {"size": 3}}
        x = self.x if len(self.x) > 1 else np.array([self.x[0], self.x[0] + 1e-3])
        return gui.add_uplot(
            data=(x, np.resize(values, len(x)), np.full(len(x), np.nan)),
            series=(
                {"label": "s"},
                {"label": "value", "stroke": colour, "width": 1.5},
                {"label": "now", "stroke": "#2b343a", "width": 1.5},
            ),
            scales={"x": {"time": False, "auto": True}, "y": {"range": (0.0, top)}},
            axes=(small if last else small | {"show": False}, small | {"size": 34, "space": 20}),
            height=HEIGHT + 20 * last,
            padding=(6, 10, 0 if last else 7, 0),
            legend={"show": False},
            cursor={"show": False},
            order=order,
        )

    def cursor(self, t: float, top: float) -> Array:
        """A series that is a line from the bottom to the top at that time."""
        k = min(max(int(np.searchsorted(self.x, t, side="right")) - 1, 0), len(self.x) - 2)
        line = np.full(len(self.x), np.nan)
        line[k], line[k + 1] = 0.0, top
        return line

    def show(self, t: float, picture: dict[str, Any]) -> None:
        """Moves the lines to that time, and writes the numbers of then."""
        if len(self.x) > 1:
            for name, (values, top) in self._lines.items():
                self._plots[name].data = (self.x, values, self.cursor(t, top))
        distance = picture["distance"]
        near = f"{distance:.3f} m" if math.isfinite(distance) else "nobody is there"
        self._title("distance", "distance to the nearest person", near)
        self._title("speed", "speed of the tool", f"{picture['tool_speed']:.2f} m/s")
        margins = shares(picture["margins"], picture["spans"])
        least = f"{np.nanmin(margins):.0f} %" if np.isfinite(margins).any() else "no limits"
        self._title("margin", "least joint margin, % of half the range", least)

    def _title(self, name: str, what: str, value: str) -> None:
        self._titles[name].content = f'<div style="{TITLE}"><span>{what}</span><b>{value}</b></div>'
