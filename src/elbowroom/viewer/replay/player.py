"""The page of a recording: the same scene as the live page, and a slider for time.

    with Player(Replay("run.csv")) as player:
        print(player.address)
        player.serve()

One page steers, others watch and can take over (access/steering.py); what pages send is held within its range there and
once more where it is used.
"""

from __future__ import annotations

import html
import math
import threading
import time
from typing import TYPE_CHECKING, Self

from ..access.server import Page, open_page
from ..access.steering import Steering
from ..panel.panel import Key, add_keys, dock, set_value, view_boxes
from ..panel.plots import RunPlots
from ..panel.status import SAFETY, detail, facts, gauges, headline, judged, line
from ..scene3d.scene import PageScene
from ..snapshot import Snapshot
from .recorded import Replay

if TYPE_CHECKING:
    import viser

RATE = 30.0  # snapshots in a second
EVERY = 6  # snapshots between two renewals of slider and plots, while it plays; texts are of every snapshot
SETTLING = 0.7  # s after somebody has moved the slider, in which it is left alone
JUMP = 1.0  # s
SPEEDS = ("0.1x", "0.25x", "0.5x", "1x", "2x", "4x", "8x")
BUTTONS = {"play / pause": "toggle", "|<": "start", "<": "back", ">": "step", ">|": "end"}
KEYS = (
    Key("space", "space", "play or pause", "toggle"),
    Key(",", ",", "one control step back", "back"),
    Key(".", ".", "one control step on", "step"),
    Key("J", "J", "a second back", "earlier"),
    Key("L", "L", "a second on", "later"),
    Key("home", "home", "to the beginning", "start"),
    Key("end", "end", "to the end", "end"),
)


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
        """The address to open."""
        return self.page.address

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.page.stop()

    # ---- elements
    def _build(self, server: viser.ViserServer) -> None:
        self.steering = Steering(server, order=2.0)
        self.stage = PageScene(server)
        gui, replay = server.gui, self.replay
        first, last = float(replay.times[0]), float(replay.times[-1])
        dock(gui)
        self.status = gui.add_html("", order=0)
        self.numbers = gui.add_html("", order=1)
        # what a page says of who steers has its place 2
        self.slider = gui.add_slider(
            "time, s", min=first, max=max(last, first + replay.period), step=0.001, initial_value=first, order=3
        )
        self.slider.on_update(self._slid)
        buttons = gui.add_button_group("", tuple(BUTTONS), order=4)
        buttons.on_click(self._clicked)
        self.speeds: viser.GuiDropdownHandle[str] = gui.add_dropdown(
            "replay speed", SPEEDS, initial_value="1x", order=5
        )
        self.speeds.on_update(self._sped)
        self.gauges = gui.add_html("", order=5.5)
        self.plots = RunPlots(gui, replay, order=6)
        with gui.add_folder("View", order=8, expand_by_default=False):
            view_boxes(gui, self._view)
        with gui.add_folder("Recording", order=9, expand_by_default=bool(replay.warnings)):
            gui.add_html(about(replay))
            self.undrawn = gui.add_html("")
        gui.add_html(line(" · ".join(f"<b>{key}</b> {does}" for key, _, does, _ in KEYS)), order=10)
        gui.add_html(line(SAFETY, "font-weight:600"), order=11)
        add_keys(gui, KEYS, self.order)

    async def _slid(self, event: viser.GuiEvent[viser.GuiSliderHandle[float]]) -> None:
        if event.client_id is not None:  # a page moved it, not this process
            self._slid_at = time.monotonic()
            self.seek(event.target.value)

    async def _clicked(self, event: viser.GuiEvent[viser.GuiButtonGroupHandle]) -> None:
        if event.target.value in BUTTONS:
            self.order(BUTTONS[event.target.value])

    async def _sped(self, event: viser.GuiEvent[viser.GuiDropdownHandle[str]]) -> None:
        if event.target.value in SPEEDS:
            self.speed = float(event.target.value.removesuffix("x"))

    def _view(self, name: str, value: bool) -> None:
        setattr(self.stage, name, value)
        with self._lock:
            self._changed = True

    # ---- time
    def seek(self, t: object) -> None:
        """Goes to that time, limited to the recording; what is no time is ignored."""
        if isinstance(t, bool) or not isinstance(t, int | float) or not math.isfinite(t):
            return
        with self._lock:
            self.t = min(max(float(t), float(self.replay.times[0])), float(self.replay.times[-1]))
            self._changed = True

    def order(self, what: str) -> None:
        """Does what a key or a button asks for: toggle, start, end, back, step, earlier or later."""
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
        """Shows the present time of the replay; False if it is shown already."""
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
        self.numbers.content = line(facts(snapshot, float(self.replay.times[-1])), "padding-bottom:5px")
        self.gauges.content = gauges(snapshot)

    def _tell(self, snapshot: Snapshot, t: float) -> None:
        if time.monotonic() - self._slid_at > SETTLING and abs(self.slider.value - t) > 1e-4:
            set_value(self.slider, round(t, 3))
        said = line(html.escape(self.stage.problem), "word-break:break-all") if self.stage.problem else ""
        if self.undrawn.content != said:
            self.undrawn.content = said
        self.plots.show(t, snapshot)

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


def about(replay: Replay) -> str:
    """The file, what its notes say, and what is missing; names of a file are escaped."""
    notes = {key: value for key, value in replay.table.notes.items() if "\n" not in value and value}
    rows = {"file": replay.path.name, **notes, "control steps": f"{len(replay)}, {1e3 * replay.period:g} ms each"}
    told = "".join(f"<div>{html.escape(key)}: {html.escape(value)}</div>" for key, value in rows.items())
    told += "".join(f'<div style="color:#8a5a00">{html.escape(each)}</div>' for each in replay.warnings)
    return line(told, "word-break:break-word")
