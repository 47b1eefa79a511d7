"""The panel of the page: a headline (works, gives way, waits, stopped and why), controls, settings and numbers.

Nothing here is trusted: what a page sends is an order, which the engine checks and clamps; what the panel shows comes
back from the engine.  Texts that change are plain HTML with every name escaped.
"""

from __future__ import annotations

import html
import math
import re
import time
from collections.abc import Callable, Sequence
from typing import Any

from ..session.setup import CHOICES, RANGES, Setup, name_of, named
from ..snapshot import Snapshot
from .gauges import gauges
from .last_minute import AMBER, GREEN, GREY, ORANGE, RED, strip
from .plots import Plots

SAFETY = "Not a safety-rated device: informed by ISO 10218:2025 / ISO/TS 15066, not certified."
KEYS = (
    ("space", "space", "pause, or go on", ("toggle",)),
    ("N", "n", "one control step", ("step",)),
    ("R", "r", "from the beginning", ("reset",)),
    ("X", "x", "stop the arm", ("stop",)),
    ("Z", "z", "go on after a stop", ("resume",)),
    ("G", "g", "let go of the person", ("let_go",)),
    ("T", "t", "start recording, or save", ("tape",)),
)
"""What is on the key, what viser calls it, what it does, and the order."""
BUTTONS = {"pause": "pause", "go": "play", "step": "step", "reset": "reset", "stop": "stop", "go on": "resume"}
"""What is on a button, and its order: a page may show one for a moment that says what is so already."""
EVERY = 3  # snapshots between two renewals of plots and elements; texts are of every snapshot, as the scene is
SELDOM = 15  # snapshots between two renewals of the last minute's strip
SETTLING = 0.7  # s after somebody has moved an element, in which it is left alone
LABELS = {
    "controller": "control law",
    "inverse": "inverse kinematics",
    "limits": "joint limits",
    "supervision": "supervisor",
}
TUNED = ("influence", "gain", "kp", "max_speed", "filter")
VIEWS = {"meshes": "meshes", "figures": "people as bodies", "shells": "shells", "arrows": "arrows"}
CAMERAS = ("cell", "front", "side", "top", "tool")
"""What a page can look at; see scene3d/static_scene.py."""
HEADLINE = "font-size:15px;font-weight:600;line-height:1.25;min-height:38px;padding:2px 12px 0"
WAITS = 1.0  # s that the arm has stood for a person, from which on it waits
WIDE = 330  # px, of the panel
JOINED = "/\u2060"  # a stroke that no line ends after
TURN = 2 * math.pi  # rad: how far a joint without limits is turned by hand
SLOWED = {"SLOWING_LIMIT": "the arm's own limits", "SLOWING_SINGULARITY": "a singularity"}
Order = Callable[..., None]


def sentence(snapshot: Snapshot) -> str:
    """What the arm is doing, as one would say it."""
    return judged(snapshot)[0]


def judged(snapshot: Snapshot) -> tuple[str, str]:
    """What the arm is doing, and the colour of that.  "working" is only said where nothing else is to be said."""
    status, law, verdict = snapshot.status, snapshot.law_status, snapshot.verdict
    distance = snapshot.distance
    if snapshot.stopped:
        return f"stopped: {html.escape(snapshot.reason or verdict)}", RED
    if snapshot.touching:
        return "touching a person", RED
    if "IN_COLLISION" in (status, law, verdict) or distance <= 0:
        return "overlapping a person", RED
    if not snapshot.running:
        return "paused", GREY
    if math.isnan(distance):
        return "how near people are is not known", RED
    if status.startswith("STOP"):
        return f"stopped: {_words(status[5:])}", RED
    if snapshot.waited >= WAITS:
        return f"waiting for room: {near(snapshot)}", ORANGE
    if "AVOIDING" in (law, status):
        return f"avoiding: {near(snapshot)}", RED if distance < 0.1 else AMBER
    if "SLOWING_HUMAN" in (law, status):
        if not math.isfinite(distance):  # an empty snapshot is believed after limits.clear_confirm
            return "slowed until it is sure that nobody is there", AMBER
        return f"slowed for a person near: {near(snapshot)}", AMBER
    for each in (law, status):
        if each in SLOWED:
            return f"working, slowed by {SLOWED[each]}", AMBER
        if each not in ("", "OK", "AVOIDING"):
            return _words(each), AMBER
    apart = f", {near(snapshot)}" if distance < 3.0 else ""
    state = _words(snapshot.state)
    return f"{state if state == 'resting' else f'working: {state}'}{apart}", GREEN


def works(snapshot: Snapshot) -> str:
    """The colour of what the arm is doing, for the last minute: slowed by its own limits it works, too."""
    said, colour = judged(snapshot)
    return GREEN if said.startswith("working") else colour


def near(snapshot: Snapshot) -> str:
    """How near whom: torso 0.33 m from flange."""
    apart, nearest = f"{snapshot.distance:.2f} m", snapshot.nearest
    if nearest is None:
        return apart
    own, part = snapshot.scene.link(str(nearest[2])), snapshot.scene.part(str(nearest[3]))
    return f"{html.escape(part)} {apart} from {html.escape(own)}"


def detail(snapshot: Snapshot) -> str:
    """What goes with the sentence: for how long, and what would let the arm go on."""
    waited, farther = snapshot.waited, snapshot.farther
    if snapshot.stopped:
        return "press go on once the reason has gone"
    if not snapshot.running or waited < WAITS:
        return ""
    said = f"for {waited:.0f} s"
    if farther > 0.0:
        said += f"; goes on when they are {max(farther, 0.01):.2f} m farther away"
    return said


def _words(status: str) -> str:
    return html.escape(status.replace("_", " ").lower())


def facts(snapshot: Snapshot, whole: float | None = None) -> str:
    """Numbers under the sentence, and what the supervisor is for; `whole` (s) is how long a run is that has ended."""
    cycles, contacts = snapshot.cycles, snapshot.contacts
    said = [
        f"{cycles} task {'cycle' if cycles == 1 else 'cycles'} done",
        f"{contacts} {'contact' if contacts == 1 else 'contacts'}",
        f"{snapshot.t:.1f} s" if whole is None else f"{snapshot.t:.1f} s of {whole:.1f} s",
    ]
    if snapshot.would_stop:
        said.append("supervisor only watches; it would have stopped the arm")
    elif snapshot.scene.supervision != "stop":
        said.append("supervisor off" if snapshot.scene.supervision == "off" else "supervisor only watches")
    return " · ".join(said)


def timing(snapshot: Snapshot) -> str:
    """How well the controller's loop keeps its time."""
    if snapshot.pace is None:
        return ""
    median, _, most, _, overruns = snapshot.pace
    return (
        f"control loop: late by {1e3 * median:.2f} ms (median), {1e3 * most:.2f} ms (99.9 %),"
        f" {overruns:.0f} {'overrun' if overruns == 1 else 'overruns'}"
    )


def _line(text: str, style: str = "") -> str:
    return f'<div style="font-size:12px;line-height:1.4;padding:0 12px;color:#55606a;{style}">{text}</div>'


class Panel:
    """Elements of the page; `order` is called with what a page wants.  `places` is where they start, from the top."""

    def __init__(self, server: Any, order: Order, setup: Setup, views: Sequence[str] = ()) -> None:
        gui = server.gui
        self._gui, self._order = gui, order
        self._count = 0
        gui.configure_theme(show_logo=False, show_share_button=False, brand_color=(38, 92, 122))
        gui.main_panel.dock_right()  # beside the scene, not over it
        gui.main_panel.set_width(WIDE)
        self.status = gui.add_html("", order=0)
        self.numbers = gui.add_html("", order=1)
        # what a page says of who steers has its place 2 (access/steering.py)
        self.run = gui.add_button_group("time", ("pause", "step", "reset"), order=3)
        self.brake = gui.add_button_group("motion", ("stop", "go on"), order=3.1)
        for group in (self.run, self.brake):
            group.on_click(self._clicked)
        self.gauges = gui.add_html("", order=3.2)
        self.strip, self._columns = gui.add_html("", order=3.3), 0
        tabs = gui.add_tab_group(order=4)
        with tabs.add_tab("Scene"):
            self.choices = {
                "scenario": self._dropdown("scenario", "scenario", setup.scenarios, setup.scenario),
                "robot": self._dropdown("robot", "arm", setup.arms, setup.robot or setup.arms[0]),
            }
            self.speed = self._slider("speed", setup.speed)
            let_go = gui.add_button("Let go of the person")
            let_go.on_click(self._ordering("let_go"))
            self.work = gui.add_button("Back to work", visible=False)
            self.work.on_click(self._ordering("work_on"))
        with tabs.add_tab("Control"):
            for name, label in LABELS.items():
                self.choices[name] = self._dropdown(name, label, CHOICES[name], CHOICES[name][0])
            self.sliders = {name: self._slider(name, RANGES[name].low) for name in TUNED}
        self._joints_tab = tabs.add_tab("Joints")
        with self._joints_tab:
            self._joints_about = gui.add_html("")
        self.joints: list[Any] = []
        self._joints_of: Any = None
        self._joints_free: bool | None = None
        with tabs.add_tab("Record"):
            self.tape = gui.add_button("Record")
            self.tape.on_click(self._ordering("tape"))
            self.page = gui.add_button("Save the last minutes as an HTML page")
            self.page.on_click(self._ordering("page"))
            self.files = gui.add_html("")
        with tabs.add_tab("View"):
            self.camera = gui.add_button_group("look at", CAMERAS)
            self.camera.on_click(self._looking)
            self.views = {name: gui.add_checkbox(VIEWS[name], initial_value=name != "shells") for name in views}
            for name, box in self.views.items():
                box.on_update(self._viewing(name))
            gui.add_html(_line("Meshes: where the arm's file has some. Shells: how far people and walls act."))
            self.timing = gui.add_html("")
        with tabs.add_tab("Help"):
            gui.add_html(_help())
        self.plots = Plots(gui, order=5)
        for _, key, does, what in KEYS:
            gui.add_command(does, hotkey=key).on_trigger(self._ordering(*what))

    def _dropdown(self, name: str, label: str, values: Sequence[str], value: str) -> Any:
        """A choice by the names that the page has for its values."""
        element = self._gui.add_dropdown(
            label, tuple(name_of(name, each) for each in values), initial_value=name_of(name, value)
        )
        element.on_update(self._choosing(name))
        return element

    def _slider(self, name: str, value: float) -> Any:
        about = RANGES[name]
        slider = self._gui.add_slider(
            f"{about.label}, {about.unit.replace('/', JOINED)}",
            min=about.low,
            max=about.high,
            step=about.step,
            initial_value=value,
        )
        slider.on_update(self._choosing(name))
        return slider

    def _choosing(self, name: str) -> Callable[[Any], Any]:
        async def chosen(event: Any) -> None:
            if event.client_id is not None:  # a page, not we ourselves
                self._order("set", name, named(name, event.target.value))

        return chosen

    def _viewing(self, name: str) -> Callable[[Any], Any]:
        async def chosen(event: Any) -> None:
            self._order("view", name, bool(event.target.value))

        return chosen

    def _ordering(self, *what: Any) -> Callable[[Any], Any]:
        async def ordered(_: Any) -> None:
            self._order(*what)

        return ordered

    async def _looking(self, event: Any) -> None:
        if event.target.value in CAMERAS and event.client is not None:
            self._order("camera", event.target.value, event.client)

    async def _clicked(self, event: Any) -> None:
        if event.target.value in BUTTONS:
            self._order(BUTTONS[event.target.value])

    # ---- showing
    def show(self, snapshot: Snapshot, files: str = "") -> None:
        """The numbers of a snapshot; elements that the engine sees otherwise are set right."""
        self.plots.add(snapshot)
        if snapshot.busy:
            self.wait(snapshot.busy, 0.0)
            return
        said, colour = judged(snapshot)
        self._say(said, colour, detail(snapshot))
        told = [facts(snapshot)]
        told += [f"refused: {html.escape(snapshot.problem)}"] if snapshot.problem else []
        told += [html.escape(snapshot.disk)] if snapshot.disk else []
        self.numbers.content = _line(
            "<br>".join((*told, f'<span style="font-size:11px">{SAFETY}</span>')), "padding-bottom:6px"
        )
        self.gauges.content = gauges(snapshot)
        if len(snapshot.minute) < self._columns or not self._columns or self._count % SELDOM == 0:
            self.strip.content, self._columns = strip(snapshot.minute), len(snapshot.minute)
        self.plots.say(snapshot)
        pause = "pause" if snapshot.running else "go"
        if self.run.options[0] != pause:
            self.run.options = (pause, "step", "reset")
        self._count += 1
        if self._count % EVERY:
            return
        self.timing.content = _line(timing(snapshot), "padding:6px 12px")
        self.tape.label = "Save the recording" if snapshot.recording else "Record"
        self.files.content = _line(html.escape(files).replace("\n", "<br>"), "padding-top:6px;word-break:break-all")
        if self.work.visible != bool(snapshot.dragged):
            self.work.visible = bool(snapshot.dragged)
        self.plots.show()
        self._show_joints(snapshot)
        self._agree(snapshot)

    def wait(self, what: str, seconds: float, *, cell: bool = True) -> None:
        """Says that something takes a while, and for how long it has; `cell` says whether there is one to see."""
        self._say(f"{html.escape(what)} ... {seconds:.1f} s", GREY, there=cell)

    def lost(self, said: str) -> None:
        """Says that what the page shows is no longer so."""
        self._say(html.escape(said), RED)

    def _say(self, said: str, colour: str, more: str = "", there: bool = True) -> None:
        self.status.content = headline(said, colour, more, there)

    def _show_joints(self, snapshot: Snapshot) -> None:
        """A slider a joint; other ones for another arm.  They can be moved while nothing runs."""
        lower, upper, names = snapshot.scene.lower, snapshot.scene.upper, snapshot.scene.joints
        key = (tuple(names), lower.tobytes(), upper.tobytes())
        if key != self._joints_of:
            self._joints_of, self._joints_free = key, None
            for slider in self.joints:
                slider.remove()
            with self._joints_tab:
                self.joints = [self._joint(k, str(name), lower[k], upper[k]) for k, name in enumerate(names)]
        free = not snapshot.running and not snapshot.stopped
        if free != self._joints_free:
            self._joints_free = free
            about = (
                "Moves the arm by hand; rad, or m where a joint slides." if free else "Pause, to move joints by hand."
            )
            self._joints_about.content = _line(about, "padding:6px 12px")
            for slider in self.joints:
                slider.visible = free
        if not free:
            return
        now = time.time()
        for slider, value in zip(self.joints, snapshot.q, strict=True):
            value = round(min(max(float(value), slider.min), slider.max), 3)
            if abs(slider.value - value) > 2e-3 and now - slider.update_timestamp > SETTLING:
                slider.value = value

    def _joint(self, k: int, name: str, low: float, high: float) -> Any:
        low, high = (float(low) if math.isfinite(low) else -TURN), (float(high) if math.isfinite(high) else TURN)
        low, high = math.ceil(1e3 * low) / 1e3, math.floor(1e3 * high) / 1e3
        slider = self._gui.add_slider(
            name, min=low, max=max(high, low + 1e-3), step=1e-3, initial_value=max(low, min(0.0, high))
        )

        async def moved(event: Any) -> None:
            if event.client_id is not None:
                self._order("joint", k, float(event.target.value))

        slider.on_update(moved)
        return slider

    def _agree(self, snapshot: Snapshot) -> None:
        """Elements show what is true, whatever a page sent; not while somebody is still at it."""
        now = time.time()
        for name, value in snapshot.scene.shown.items():
            element = self.choices.get(name) or self.sliders.get(name) or (self.speed if name == "speed" else None)
            if element is None or value is None:
                continue
            value = name_of(name, value) if isinstance(value, str) else value
            if element.value == value:
                continue
            if now - element.update_timestamp > SETTLING:
                if isinstance(value, str) and value not in element.options:
                    continue
                element.value = value


def headline(said: str, colour: str, more: str = "", there: bool = True) -> str:
    """The sentence at the top as HTML; access/page_patches.py looks at `data-cell`."""
    dot = f'<span style="color:{colour};font-size:18px;line-height:0.8">&#9679;</span>'
    under = f'<div style="font-weight:400;font-size:12px;color:#55606a">{more}</div>' if more else ""
    said = re.sub(r"\d+\.\d+ m\b", r'<span style="white-space:nowrap">\g<0></span>', said)  # no line ends before a unit
    return f'<div data-cell="{"there" if there else "loading"}" style="{HEADLINE}">{dot} {said}{under}</div>'


def _help() -> str:
    keys = "".join(f"<tr><td><b>{key}</b></td><td>{does}</td></tr>" for key, _, does, _ in KEYS)
    return _line(
        "Drag the handle at the person's feet, or at a hand, into the arm's way; drag the green ball, and the tool"
        " follows it. The red arrow is what pushes the tool, the green one what draws it to its goal; the line between"
        " arm and person is the least distance."
        f'<table style="margin-top:6px">{keys}</table>'
        "<div>W A S D Q E and the arrow keys move the camera. One page steers, others watch.</div>",
        "padding-top:6px",
    )
