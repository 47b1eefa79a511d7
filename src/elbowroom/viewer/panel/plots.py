"""Live plots of the last seconds: distance, speed of the tool, and how far joints are from their limits.

The margin of a joint is a part of half its range, so that metres and radians go into one plot: 100 % in the middle,
0 at a limit.  Joints without limits have no line.
"""

from __future__ import annotations

import html
import math
from collections import deque
from typing import Any

import numpy as np

from ..snapshot import Snapshot

SHOWN = 240  # points of a plot
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


def shares(margins: Any, spans: Any) -> Any:
    """Margins as parts of half the range, %; NaN for a joint without limits."""
    with np.errstate(invalid="ignore"):
        found = 200.0 * np.asarray(margins) / np.asarray(spans)
    return np.where(np.isfinite(spans) & np.isfinite(margins), np.clip(found, 0.0, 100.0), np.nan)


class Plots:
    """Three plots under one another, each with its newest number above it."""

    def __init__(self, gui: Any, order: float) -> None:
        self._gui, self._count, self._n = gui, 0, 0
        self._t: deque[float] = deque(maxlen=SHOWN)
        self._values: dict[str, deque[Any]] = {
            name: deque(maxlen=SHOWN) for name in ("distance", "influence", "speed", "margins")
        }
        self._titles = [gui.add_html("", order=order + 0.1 * k) for k in range(3)]
        self._places = [order + 0.1 * k + 0.05 for k in range(3)]
        self._under = gui.add_html("", order=order + 0.4)
        self._what: Any = None
        self._top = 0.5
        grey = {"stroke": "#a9b2b8", "width": 1, "dash": [4, 4]}
        self._distance = self._plot(0, FAR, [{"stroke": COLOURS[0], "width": 2}, grey])
        self._speed = self._plot(1, self._top, [{"stroke": COLOURS[1], "width": 2}])
        self._margins = self._plot(2, 100.0, [{"stroke": COLOURS[0], "width": 1}])

    def _plot(self, place: int, top: float, series: list[dict[str, Any]]) -> Any:
        last = place == 2
        return self._gui.add_uplot(
            data=(np.array([0.0, 1.0]), *[np.array([np.nan, np.nan])] * len(series)),
            series=(
                {"label": "s"},
                *({"label": str(k), "points": {"show": False}, **each} for k, each in enumerate(series)),
            ),
            scales={"x": {"time": False, "auto": True}, "y": {"range": (0.0, top)}},
            axes=(SECONDS if last else LINE | {"show": False}, LINE | {"size": 34, "space": 20}),
            height=HEIGHT + BELOW * last,
            padding=(6, 10, 0 if last else 7, 0),
            legend={"show": False},
            cursor={"show": False},
            order=self._places[place],
        )

    def add(self, snapshot: Snapshot) -> None:
        """Takes the numbers of a snapshot; time that went back begins anew."""
        self._count += 1
        if self._count % EVERY:
            return
        t, values = snapshot.t, self._values
        what = snapshot.scene.shown.get("scenario"), snapshot.scene.shown.get("robot")
        if what != self._what or (self._t and t < self._t[-1]):
            self._what = what
            self._clear()
        elif self._t and t == self._t[-1]:
            return
        margins = shares(snapshot.margins, snapshot.scene.spans)
        if len(margins) != self._n:
            self._n = len(margins)
            values["margins"].clear()
            values["margins"].extend([np.full(self._n, np.nan)] * len(self._t))
            self._margins.remove()
            lines = [{"stroke": COLOURS[k % len(COLOURS)], "width": 1.5} for k in range(self._n)]
            self._margins = self._plot(2, 100.0, lines)
        self._t.append(t)
        values["distance"].append(min(snapshot.distance, FAR))
        values["influence"].append(snapshot.scene.shown["influence"])
        values["speed"].append(snapshot.tool_speed)
        values["margins"].append(margins)

    def _clear(self) -> None:
        """Another scene, or the same from its beginning: nothing of before is left."""
        self._t.clear()
        for line in self._values.values():
            line.clear()
        for plot, count in ((self._distance, 2), (self._speed, 1), (self._margins, max(self._n, 1))):
            plot.data = (np.array([0.0, 1.0]), *[np.array([np.nan, np.nan])] * count)

    def show(self) -> None:
        """Sends what is new."""
        if len(self._t) < 2:
            return
        values = self._values
        t = np.array(self._t)
        self._distance.data = (t, np.array(values["distance"]), np.array(values["influence"]))
        top = next((each for each in TOPS if each > max(values["speed"])), TOPS[-1])
        if top != self._top:
            self._top = top
            self._speed.scales = {"x": {"time": False, "auto": True}, "y": {"range": (0.0, top)}}
        self._speed.data = (t, np.array(values["speed"]))
        self._margins.data = (t, *np.array(values["margins"]).T)

    def say(self, snapshot: Snapshot) -> None:
        """The numbers above the plots."""
        distance, least = snapshot.distance, shares(snapshot.margins, snapshot.scene.spans)
        near = f"{distance:.2f} m" if math.isfinite(distance) else "nobody is there"
        self._title(0, "distance to the nearest person", near)
        self._title(1, "speed of the tool", f"{snapshot.tool_speed:.2f} m/s")
        if np.isfinite(least).any():
            k = int(np.nanargmin(least))
            name = html.escape(str(snapshot.scene.joints[k]))
            self._title(2, "joint margins, %", f"least {least[k]:.0f} % at {name}")
            self._legend(snapshot.scene.joints)
        else:
            self._title(2, "joint margins", "no limits")

    def _legend(self, joints: Any) -> None:
        """Which colour is which joint: its number, and its name under the pointer."""
        names = "".join(
            f'<span title="{html.escape(str(name))}" style="color:{COLOURS[k % len(COLOURS)]}">&#9632; {k + 1}</span>'
            for k, name in enumerate(joints)
        )
        said = f'<div style="{TITLE};margin:-6px 0 6px">joint{names}</div>'
        if self._under.content != said:
            self._under.content = said

    def _title(self, place: int, what: str, value: str) -> None:
        self._titles[
            place
        ].content = f'<div style="{TITLE if place else FIRST}"><span>{what}</span><b>{value}</b></div>'
