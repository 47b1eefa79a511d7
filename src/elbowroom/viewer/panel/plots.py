"""Plots of distance, speed of the tool, and how far joints are from their limits: of the last seconds, or of a run.

The margin of a joint is a part of half its range, so that metres and radians go into one plot: 100 % in the middle,
0 at a limit.  Joints without limits have no line.

The plots of a recording are over the whole run, with a line at the present time, and have at most `RUN_POINTS` points.
Where a run has more control steps, a point is the worst of those it stands for: the least distance, the greatest speed,
the least margin.
"""

from __future__ import annotations

import html
import math
from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..snapshot import Snapshot

if TYPE_CHECKING:
    import viser

    from ..replay.recorded import Replay

Array = NDArray[np.float64]

SHOWN = 240  # points of a plot of the last seconds
RUN_POINTS = 300  # points of a plot of a run
EVERY = 3  # snapshots between two points, so that a plot holds 24 s
FAR = 1.5  # m: a distance beyond is drawn there
TOPS = (0.25, 0.5, 1.0, 2.0, 5.0, 20.0)  # m/s: where the speed's axis may end
COLOURS = ("#265c7a", "#d6783c", "#5a7a3c", "#8a5fa8", "#b0434a", "#3f9c9c", "#8c7a3f", "#6b7680")
TITLE = (
    "font-size:12px;margin:-4px 0 -7px;padding:0 12px;white-space:nowrap;"
    "display:flex;justify-content:space-between;color:#55606a"
)
FIRST = f"{TITLE};margin-top:6px"  # of the title that stands under something else than a plot
HEIGHT = 62  # px
LINE = {"size": 20, "font": "10px sans-serif", "grid": {"stroke": "#eceff1"}, "ticks": {"size": 3}}
SECONDS = LINE | {"label": "time, s", "labelSize": 14, "labelFont": "10px sans-serif", "labelGap": 0}
BELOW = 34  # px more for the plot that has the time below: numbers, and what they are


def shares(margins: Array, spans: Array) -> Array:
    """Margins as parts of half the range, %; NaN for a joint without limits."""
    with np.errstate(invalid="ignore"):
        found = 200.0 * margins / spans
    return np.where(np.isfinite(spans) & np.isfinite(margins), np.clip(found, 0.0, 100.0), np.nan)


class Line(NamedTuple):
    """A line of a plot."""

    colour: str
    width: float  # px
    dashed: bool = False


def add_plot(
    gui: viser.GuiApi,
    data: tuple[Array, ...],
    lines: Sequence[Line],
    top: float,
    order: float,
    *,
    last: bool,
    points: bool = False,
) -> viser.GuiUplotHandle:
    """A plot from 0 to `top` of times (s) and the values of each line; the last plot has the time below."""
    look: dict[str, Any] = {
        "series": (
            {"label": "s"},
            *(
                {"label": str(k), "stroke": line.colour, "width": line.width}
                | ({} if points else {"points": {"show": False}})
                | ({"dash": [4, 4]} if line.dashed else {})
                for k, line in enumerate(lines)
            ),
        ),
        "scales": scales(top),
        "axes": (SECONDS if last else LINE | {"show": False}, LINE | {"size": 34, "space": 20}),
        "height": HEIGHT + BELOW * last,
        "padding": (6, 10, 0 if last else 7, 0),
        "legend": {"show": False},
        "cursor": {"show": False},
    }
    return gui.add_uplot(data=data, order=order, **look)


def scales(top: float) -> dict[str, viser.uplot.Scale]:
    """The scales of a plot: time as it comes, values from 0 to `top`."""
    return {"x": {"time": False, "auto": True}, "y": {"range": (0.0, top)}}


def title(what: str, value: str, *, first: bool = False) -> str:
    """What stands above a plot, as HTML."""
    return f'<div style="{FIRST if first else TITLE}"><span>{what}</span><b>{value}</b></div>'


def empty(lines: int) -> tuple[Array, ...]:
    """Data of a plot that shows nothing yet."""
    return np.array([0.0, 1.0]), *[np.array([np.nan, np.nan])] * lines


class Plots:
    """Live: three plots under one another, each with its newest number above it."""

    def __init__(self, gui: viser.GuiApi, order: float) -> None:
        self._gui, self._count, self._n = gui, 0, 0
        self._t, self._distances, self._influences, self._speeds = (deque[float](maxlen=SHOWN) for _ in range(4))
        self._shares: deque[Array] = deque(maxlen=SHOWN)
        self._titles = [gui.add_html("", order=order + 0.1 * k) for k in range(3)]
        self._places = [order + 0.1 * k + 0.05 for k in range(3)]
        self._under = gui.add_html("", order=order + 0.4)
        self._what: tuple[str, str] | None = None  # scenario, robot
        self._top = 0.5
        self._distance = self._plot(0, FAR, [Line(COLOURS[0], 2), Line("#a9b2b8", 1, dashed=True)])
        self._speed = self._plot(1, self._top, [Line(COLOURS[1], 2)])
        self._margins = self._plot(2, 100.0, [Line(COLOURS[0], 1)])

    def _plot(self, place: int, top: float, lines: Sequence[Line]) -> viser.GuiUplotHandle:
        return add_plot(self._gui, empty(len(lines)), lines, top, self._places[place], last=place == 2)

    def add(self, snapshot: Snapshot) -> None:
        """Takes the numbers of a snapshot; time that went back begins anew."""
        self._count += 1
        if self._count % EVERY:
            return
        t, shown = snapshot.t, snapshot.scene.shown
        what = shown.scenario, shown.robot
        if what != self._what or (self._t and t < self._t[-1]):
            self._what = what
            self._clear()
        elif self._t and t == self._t[-1]:
            return
        margins = shares(snapshot.margins, snapshot.scene.spans)
        if len(margins) != self._n:
            self._n = len(margins)
            self._shares.clear()
            self._shares.extend([np.full(self._n, np.nan)] * len(self._t))
            self._margins.remove()
            self._margins = self._plot(2, 100.0, [Line(COLOURS[k % len(COLOURS)], 1.5) for k in range(self._n)])
        self._t.append(t)
        self._distances.append(min(snapshot.distance, FAR))
        self._influences.append(math.nan if shown.influence is None else shown.influence)
        self._speeds.append(snapshot.tool_speed)
        self._shares.append(margins)

    def _clear(self) -> None:
        """Another scene, or the same from its beginning: nothing of before is left."""
        for line in (self._t, self._distances, self._influences, self._speeds, self._shares):
            line.clear()
        for plot, count in ((self._distance, 2), (self._speed, 1), (self._margins, max(self._n, 1))):
            plot.data = empty(count)

    def show(self) -> None:
        """Sends what is new."""
        if len(self._t) < 2:
            return
        t = np.array(self._t)
        self._distance.data = (t, np.array(self._distances), np.array(self._influences))
        top = next((each for each in TOPS if each > max(self._speeds)), TOPS[-1])
        if top != self._top:
            self._top = top
            self._speed.scales = scales(top)
        self._speed.data = (t, np.array(self._speeds))
        self._margins.data = (t, *np.array(self._shares).T)

    def say(self, snapshot: Snapshot) -> None:
        """The numbers above the plots."""
        distance, least = snapshot.distance, shares(snapshot.margins, snapshot.scene.spans)
        near = f"{distance:.2f} m" if math.isfinite(distance) else "nobody is there"
        above, speed, margins = self._titles
        above.content = title("distance to the nearest person", near, first=True)
        speed.content = title("speed of the tool", f"{snapshot.tool_speed:.2f} m/s")
        if np.isfinite(least).any():
            k = int(np.nanargmin(least))
            name = html.escape(snapshot.scene.joints[k])
            margins.content = title("joint margins, %", f"least {least[k]:.0f} % at {name}")
            self._legend(snapshot.scene.joints)
        else:
            margins.content = title("joint margins", "no limits")

    def _legend(self, joints: Sequence[str]) -> None:
        """Which colour is which joint: its number, and its name under the pointer."""
        names = "".join(
            f'<span title="{html.escape(name)}" style="color:{COLOURS[k % len(COLOURS)]}">&#9632; {k + 1}</span>'
            for k, name in enumerate(joints)
        )
        said = f'<div style="{TITLE};margin:-6px 0 6px">joint{names}</div>'
        if self._under.content != said:
            self._under.content = said


def worst_per_bin(values: Array, worst: np.ufunc, count: int = RUN_POINTS) -> Array:
    """At most so many values: the worst (np.fmin, np.fmax) of each stretch, the last row in the last."""
    if len(values) <= count:
        return np.array(values, dtype=float)
    starts = np.linspace(0, len(values), count, endpoint=False).astype(int)
    found: Array = worst.reduceat(values, starts)
    return found


class RunPlots:
    """Of a recording: distance, speed of the tool and least joint margin over the whole run."""

    def __init__(self, gui: viser.GuiApi, replay: Replay, order: float) -> None:
        table = replay.table
        self.x = worst_per_bin(replay.times, np.minimum)
        distance = np.minimum(np.where(np.isfinite(table["distance_surfaces"]), table["distance_surfaces"], FAR), FAR)
        with np.errstate(invalid="ignore"):
            margins = shares(replay.margins, replay.cell.upper - replay.cell.lower)
        least = np.fmin.reduce(margins, axis=1)
        fastest = float(np.nanmax(replay.speeds, initial=0.0))
        speed_top = next((each for each in TOPS if each > fastest), TOPS[-1])
        self._lines = (  # values, and where the axis ends
            (worst_per_bin(distance, np.fmin), FAR),
            (worst_per_bin(replay.speeds, np.fmax), speed_top),
            (worst_per_bin(least, np.fmin), 100.0),
        )
        self._titles = [gui.add_html("", order=order + 0.1 * k) for k in range(3)]
        x = self.x if len(self.x) > 1 else np.array([self.x[0], self.x[0] + 1e-3])
        self._plots = [
            add_plot(
                gui,
                (x, np.resize(values, len(x)), np.full(len(x), np.nan)),
                [Line(COLOURS[k], 1.5), Line("#2b343a", 1.5)],
                top,
                order + 0.1 * k + 0.05,
                last=k == 2,
                points=True,
            )
            for k, (values, top) in enumerate(self._lines)
        ]

    def cursor(self, t: float, top: float) -> Array:
        """A series that is a line from the bottom to the top at that time."""
        k = min(max(int(np.searchsorted(self.x, t, side="right")) - 1, 0), len(self.x) - 2)
        line = np.full(len(self.x), np.nan)
        line[k], line[k + 1] = 0.0, top
        return line

    def show(self, t: float, snapshot: Snapshot) -> None:
        """Moves the lines to that time, and writes the numbers of then."""
        if len(self.x) > 1:
            for plot, (values, top) in zip(self._plots, self._lines, strict=True):
                plot.data = (self.x, values, self.cursor(t, top))
        distance = snapshot.distance
        near = f"{distance:.3f} m" if math.isfinite(distance) else "nobody is there"
        margins = shares(snapshot.margins, snapshot.scene.spans)
        least = f"{np.nanmin(margins):.0f} %" if np.isfinite(margins).any() else "no limits"
        above, speed, margin = self._titles
        above.content = title("distance to the nearest person", near, first=True)
        speed.content = title("speed of the tool", f"{snapshot.tool_speed:.2f} m/s")
        margin.content = title("least joint margin, % of half the range", least)
