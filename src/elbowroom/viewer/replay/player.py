"""The page of a recording: the same scene as the live page, and a slider for time.

    with Player(Replay("run.csv")) as player:
        print(player.address)
        player.serve()

One page steers, others watch and can take over (access/steering.py); what pages send is held within its range there and
once more where it is used.

Its plots are over the whole run, with a line at the present time, and have at most `SHOWN` points.  Where a run has
more cycles, a point is the worst of those it stands for: the least distance, the greatest speed, the least margin.
"""

from __future__ import annotations

import html
import math
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..access.server import Page, open_page
from ..access.steering import Steering
from ..panel.gauges import gauges
from ..panel.panel import SAFETY, VIEWS, WIDE, detail, facts, headline, judged
from ..panel.plots import BELOW, COLOURS, FAR, FIRST, HEIGHT, LINE, SECONDS, TITLE, TOPS, shares
from ..scene3d.scene import PageScene
from ..snapshot import Snapshot
from .recorded import Replay

RATE = 30.0  # snapshots in a second
EVERY = 6  # snapshots between two renewals of slider and plots, while it plays; texts are of every snapshot
SETTLING = 0.7  # s after somebody has moved the slider, in which it is left alone
JUMP = 1.0  # s
SPEEDS = ("0.1x", "0.25x", "0.5x", "1x", "2x", "4x", "8x")
BUTTONS = {"play / pause": "toggle", "|<": "start", "<": "back", ">": "step", ">|": "end"}
KEYS = (
    ("space", "space", "play or pause", "toggle"),
    (",", ",", "one control step back", "back"),
    (".", ".", "one control step on", "step"),
    ("J", "J", "a second back", "earlier"),
    ("L", "L", "a second on", "later"),
    ("home", "home", "to the beginning", "start"),
    ("end", "end", "to the end", "end"),
)
"""What is on the key, what viser calls it, what it does, and the order."""


class Player:
    """A replay on a page; `t` is the time shown, `playing` whether it goes on by itself once a page is open."""

    def __init__(self, replay: Replay, *, host: str = "127.0.0.1", port: int = 8080, token: str | None = None) -> None:
        self.replay = replay
        self.t, self.playing, self.speed = float(replay.times[0]), True, 1.0
        self._lock = threading.Lock()
        self._changed, self._count = True, 0
        self._begun = False  # it waits for the first page
        self._slid_at = -math.inf
        label = f"elbowroom: {replay.path.name}"
        self.page: Page = open_page(host, port, token=token, label=label, build=self._build)

    @property
    def address(self) -> str:
        """What to open."""
        return self.page.address

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.page.stop()

    # ---- elements
    def _build(self, server: Any) -> None:
        self.steering = Steering(server, order=2.0)
        self.stage = PageScene(server)
        gui, replay = server.gui, self.replay
        first, last = float(replay.times[0]), float(replay.times[-1])
        gui.configure_theme(show_logo=False, show_share_button=False, brand_color=(38, 92, 122))
        gui.main_panel.dock_right()
        gui.main_panel.set_width(WIDE)
        self.status = gui.add_html("", order=0)
        self.numbers = gui.add_html("", order=1)
        # what a page says of who steers has its place 2
        self.slider = gui.add_slider(
            "time, s", min=first, max=max(last, first + replay.period), step=0.001, initial_value=first, order=3
        )
        self.slider.on_update(self._slid)
        buttons = gui.add_button_group("", tuple(BUTTONS), order=4)
        buttons.on_click(self._clicked)
        self.speeds = gui.add_dropdown("replay speed", SPEEDS, initial_value="1x", order=5)
        self.speeds.on_update(self._sped)
        self.gauges = gui.add_html("", order=5.5)
        self.curves = Curves(gui, replay, order=6)
        with gui.add_folder("View", order=8, expand_by_default=False):
            for name in VIEWS:
                if hasattr(self.stage, name):
                    box = gui.add_checkbox(VIEWS[name], initial_value=bool(getattr(self.stage, name)))
                    box.on_update(self._viewing(name))
        with gui.add_folder("Recording", order=9, expand_by_default=bool(replay.warnings)):
            gui.add_html(about(replay))
            self.undrawn = gui.add_html("")
        gui.add_html(_line(" · ".join(f"<b>{key}</b> {does}" for key, _, does, _ in KEYS)), order=10)
        gui.add_html(_line(SAFETY, "font-weight:600"), order=11)
        for _, key, does, what in KEYS:
            gui.add_command(does, hotkey=key).on_trigger(self._ordering(what))

    async def _slid(self, event: Any) -> None:
        if event.client_id is not None:  # a page, not we ourselves
            self._slid_at = time.monotonic()
            self.seek(event.target.value)

    async def _clicked(self, event: Any) -> None:
        if event.target.value in BUTTONS:
            self.order(BUTTONS[event.target.value])

    async def _sped(self, event: Any) -> None:
        if event.target.value in SPEEDS:
            self.speed = float(event.target.value.removesuffix("x"))

    def _viewing(self, name: str) -> Callable[[Any], Any]:
        async def chosen(event: Any) -> None:
            setattr(self.stage, name, bool(event.target.value))
            with self._lock:
                self._changed = True

        return chosen

    def _ordering(self, what: str) -> Callable[[Any], Any]:
        async def ordered(_: Any) -> None:
            self.order(what)

        return ordered

    # ---- time
    def seek(self, t: Any) -> None:
        """To that time, held within the recording; what is no time is left alone."""
        if isinstance(t, bool) or not isinstance(t, int | float) or not math.isfinite(t):
            return
        with self._lock:
            self.t = min(max(float(t), float(self.replay.times[0])), float(self.replay.times[-1]))
            self._changed = True

    def order(self, what: str) -> None:
        """toggle, start, end, back, step, earlier or later."""
        times, row = self.replay.times, self.replay.row(self.t)
        if what == "toggle":
            with self._lock:
                if not self.playing and row == len(times) - 1:  # once more
                    self.t = float(times[0])
                self.playing = not self.playing
                self._changed = True
        elif what in ("earlier", "later"):
            self.seek(self.t + (JUMP if what == "later" else -JUMP))
        elif what in ("start", "end"):
            self.seek(times[0 if what == "start" else -1])
        elif what in ("back", "step"):
            self.playing = False
            there = row + (1 if what == "step" else -1)
            self.seek(times[min(max(there, 0), len(times) - 1)])

    def advance(self, dt: float) -> None:
        """dt seconds of the clock pass; at its end the recording stops."""
        if not self.playing:
            return
        with self._lock:
            last = float(self.replay.times[-1])
            self.t = min(self.t + self.speed * dt, last)
            self._changed = True
            if self.t >= last:
                self.playing, self._count = False, -1

    # ---- showing
    def show(self) -> bool:
        """Shows the time of now; False if it is shown already."""
        with self._lock:
            t, changed, self._changed = self.t, self._changed, False
        if not changed:
            return False
        snapshot = self.replay.snapshot(t)
        self._count += 1
        with self.page.server.atomic():  # scene and numbers are of one moment
            self.stage.show(snapshot)
            self._say(snapshot)
            if not self.playing or self._count % EVERY == 0:
                self._tell(snapshot, t)
        return True

    def _say(self, snapshot: Snapshot) -> None:
        said, colour = judged(snapshot)
        held = "" if self.playing else ' <span style="color:#7b858c;font-weight:400">(paused)</span>'
        self.status.content = headline(f"{said}{held}", colour, detail(snapshot))
        self.numbers.content = _line(facts(snapshot, float(self.replay.times[-1])), "padding-bottom:5px")
        self.gauges.content = gauges(snapshot)

    def _tell(self, snapshot: Snapshot, t: float) -> None:
        if time.monotonic() - self._slid_at > SETTLING and abs(self.slider.value - t) > 1e-4:
            self.slider.value = round(t, 3)
        said = _line(html.escape(self.stage.problem), "word-break:break-all") if self.stage.problem else ""
        if self.undrawn.content != said:
            self.undrawn.content = said
        self.curves.show(t, snapshot)

    def serve(self, seconds: float | None = None) -> None:
        """Plays until Ctrl-C, or for so long."""
        now = time.monotonic()
        end = math.inf if seconds is None else now + seconds
        while now < end:
            self.show()
            time.sleep(1 / RATE)
            before, now = now, time.monotonic()
            self._begun = self._begun or self.steering.who is not None
            if self._begun:
                self.advance(min(now - before, 0.5))


def _line(text: str, style: str = "") -> str:
    return f'<div style="font-size:12px;line-height:1.4;padding:0 12px;color:#55606a;{style}">{text}</div>'


def about(replay: Replay) -> str:
    """The file, what its notes say, and what is missing; names of a file are escaped."""
    notes = {key: value for key, value in replay.table.notes.items() if "\n" not in value and value}
    rows = {"file": replay.path.name, **notes, "control steps": f"{len(replay)}, {1e3 * replay.period:g} ms each"}
    told = "".join(f"<div>{html.escape(key)}: {html.escape(value)}</div>" for key, value in rows.items())
    told += "".join(f'<div style="color:#8a5a00">{html.escape(each)}</div>' for each in replay.warnings)
    return _line(told, "word-break:break-word")


Array = NDArray[np.float64]

SHOWN = 300  # points of a plot


def worst_per_bin(values: Array, worst: Any, count: int = SHOWN) -> Array:
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
        self.x = worst_per_bin(replay.times, np.minimum)
        distance = np.minimum(np.where(np.isfinite(table["distance_surfaces"]), table["distance_surfaces"], FAR), FAR)
        with np.errstate(invalid="ignore"):
            margins = shares(replay.margins, replay.cell.upper - replay.cell.lower)
        least = np.fmin.reduce(margins, axis=1)
        fastest = float(np.nanmax(replay.speeds, initial=0.0))
        speed_top = next((each for each in TOPS if each > fastest), TOPS[-1])
        self._lines = {
            "distance": (worst_per_bin(distance, np.fmin), FAR),
            "speed": (worst_per_bin(replay.speeds, np.fmax), speed_top),
            "margin": (worst_per_bin(least, np.fmin), 100.0),
        }
        self._titles, self._plots = {}, {}
        for k, (name, (values, top)) in enumerate(self._lines.items()):
            self._titles[name] = gui.add_html("", order=order + 0.1 * k)
            last = k == len(self._lines) - 1
            self._plots[name] = self._plot(gui, values, top, COLOURS[k], order + 0.1 * k + 0.05, last)

    def _plot(self, gui: Any, values: Array, top: float, colour: str, order: float, last: bool) -> Any:
        """As on the live page: the last one has the time below."""
        x = self.x if len(self.x) > 1 else np.array([self.x[0], self.x[0] + 1e-3])
        return gui.add_uplot(
            data=(x, np.resize(values, len(x)), np.full(len(x), np.nan)),
            series=(
                {"label": "s"},
                {"label": "value", "stroke": colour, "width": 1.5},
                {"label": "now", "stroke": "#2b343a", "width": 1.5},
            ),
            scales={"x": {"time": False, "auto": True}, "y": {"range": (0.0, top)}},
            axes=(SECONDS if last else LINE | {"show": False}, LINE | {"size": 34, "space": 20}),
            height=HEIGHT + BELOW * last,
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

    def show(self, t: float, snapshot: Snapshot) -> None:
        """Moves the lines to that time, and writes the numbers of then."""
        if len(self.x) > 1:
            for name, (values, top) in self._lines.items():
                self._plots[name].data = (self.x, values, self.cursor(t, top))
        distance = snapshot.distance
        near = f"{distance:.3f} m" if math.isfinite(distance) else "nobody is there"
        self._title("distance", "distance to the nearest person", near)
        self._title("speed", "speed of the tool", f"{snapshot.tool_speed:.2f} m/s")
        margins = shares(snapshot.margins, snapshot.scene.spans)
        least = f"{np.nanmin(margins):.0f} %" if np.isfinite(margins).any() else "no limits"
        self._title("margin", "least joint margin, % of half the range", least)

    def _title(self, name: str, what: str, value: str) -> None:
        style = FIRST if name == "distance" else TITLE
        self._titles[name].content = f'<div style="{style}"><span>{what}</span><b>{value}</b></div>'
