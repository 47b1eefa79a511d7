"""The panel of the page: a headline (works, gives way, waits, stopped and why), controls, settings and numbers.

Nothing here is trusted: what a page sends is an order, which the engine checks and clamps; what the panel shows comes
back from the engine.  Texts that change are plain HTML with every name escaped.
"""

from __future__ import annotations

import dataclasses
import html
import math
import time
from collections.abc import Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ..scene3d.scene import FROM
from ..session.setup import CHOICES, RANGES, Setup, name_of, named
from ..snapshot import Snapshot
from .plots import Plots
from .status import GREY, RED, SAFETY, detail, facts, gauges, headline, judged, line, strip, timing

if TYPE_CHECKING:
    import viser


class Key(NamedTuple):
    """A key of the page."""

    shown: str  # what is on it
    hotkey: str  # what viser calls it
    does: str
    order: str


KEYS = (
    Key("space", "space", "pause, or go on", "toggle"),
    Key("N", "n", "one control step", "step"),
    Key("R", "r", "from the beginning", "reset"),
    Key("X", "x", "stop the arm", "stop"),
    Key("Z", "z", "go on after a stop", "resume"),
    Key("G", "g", "let go of the person", "let_go"),
    Key("T", "t", "start recording, or save", "tape"),
)
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
    "planning": "when held up",
}
TUNED = ("influence", "gain", "kp", "max_speed", "filter")
VIEWS = {"meshes": "meshes", "figures": "people as bodies", "shells": "shells", "arrows": "arrows"}
"""What the scene may show or not (scene3d/scene.py), and what the page calls it."""
CAMERAS = tuple(FROM)
"""What a page can look at."""
WIDE = 330  # px, of the panel
JOINED = "/\u2060"  # a stroke that no line ends after
TURN = 2 * math.pi  # rad: how far a joint without limits is turned by hand
Order = Callable[..., None]
Handler = Callable[[object], Coroutine[None, None, None]]  # of any event
JointLimits = tuple[tuple[str, ...], bytes, bytes]  # names, lower and upper limits: what the joints' sliders are for


class Panel:
    """Elements of the page; `order` is called with what a page wants."""

    def __init__(self, gui: viser.GuiApi, order: Order, setup: Setup) -> None:
        self._gui, self._order = gui, order
        self._count = 0
        dock(gui)
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
            let_go.on_click(_ordering(order, "let_go"))
            self.work = gui.add_button("Back to work", visible=False)
            self.work.on_click(_ordering(order, "work_on"))
        with tabs.add_tab("Control"):
            for name, label in LABELS.items():
                self.choices[name] = self._dropdown(name, label, CHOICES[name], CHOICES[name][0])
            self.sliders = {name: self._slider(name, RANGES[name].low) for name in TUNED}
        self._joints_tab = tabs.add_tab("Joints")
        with self._joints_tab:
            self._joints_about = gui.add_html("")
        self.joints: list[viser.GuiSliderHandle[float]] = []
        self._joints_of: JointLimits | None = None
        self._joints_free: bool | None = None
        with tabs.add_tab("Record"):
            self.tape = gui.add_button("Record")
            self.tape.on_click(_ordering(order, "tape"))
            self.page = gui.add_button("Save the last minutes as an HTML page")
            self.page.on_click(_ordering(order, "page"))
            self.files = gui.add_html("")
        with tabs.add_tab("View"):
            self.camera = gui.add_button_group("look at", CAMERAS)
            self.camera.on_click(self._looking)
            self.views = view_boxes(gui, lambda name, value: order("view", name, value))
            gui.add_html(line("Meshes: where the arm's file has some. Shells: how far people and walls act."))
            self.timing = gui.add_html("")
        with tabs.add_tab("Help"):
            gui.add_html(_help())
        self.plots = Plots(gui, order=5)
        add_keys(gui, KEYS, order)

    def _dropdown(self, name: str, label: str, values: Sequence[str], value: str) -> viser.GuiDropdownHandle[str]:
        """A choice by the names that the page has for its values."""
        element: viser.GuiDropdownHandle[str] = self._gui.add_dropdown(
            label, tuple(name_of(name, each) for each in values), initial_value=name_of(name, value)
        )

        async def chosen(event: viser.GuiEvent[viser.GuiDropdownHandle[str]]) -> None:
            self._set(name, event.client_id, event.target.value)

        element.on_update(chosen)
        return element

    def _slider(self, name: str, value: float) -> viser.GuiSliderHandle[float]:
        about = RANGES[name]
        slider = self._gui.add_slider(
            f"{about.label}, {about.unit.replace('/', JOINED)}",
            min=about.low,
            max=about.high,
            step=about.step,
            initial_value=value,
        )

        async def moved(event: viser.GuiEvent[viser.GuiSliderHandle[float]]) -> None:
            self._set(name, event.client_id, event.target.value)

        slider.on_update(moved)
        return slider

    def _set(self, name: str, client: int | None, value: float | str) -> None:
        if client is not None:  # a page changed it, not this process
            self._order("set", name, named(name, value))

    async def _looking(self, event: viser.GuiEvent[viser.GuiButtonGroupHandle]) -> None:
        if event.target.value in CAMERAS and event.client is not None:
            self._order("camera", event.target.value, event.client)

    async def _clicked(self, event: viser.GuiEvent[viser.GuiButtonGroupHandle]) -> None:
        if event.target.value in BUTTONS:
            self._order(BUTTONS[event.target.value])

    # ---- showing
    def show(self, snapshot: Snapshot, files: str = "") -> None:
        """Shows a snapshot; elements that differ from the engine's settings are set to those."""
        self.plots.add(snapshot)
        if snapshot.busy:
            self.wait(snapshot.busy, 0.0)
            return
        said, colour = judged(snapshot)
        self._say(said, colour, detail(snapshot))
        told = [facts(snapshot)]
        told += [f"refused: {html.escape(snapshot.problem)}"] if snapshot.problem else []
        told += [html.escape(snapshot.disk)] if snapshot.disk else []
        self.numbers.content = line(
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
        self.timing.content = line(timing(snapshot), "padding:6px 12px")
        self.tape.label = "Save the recording" if snapshot.recording else "Record"
        self.files.content = line(html.escape(files).replace("\n", "<br>"), "padding-top:6px;word-break:break-all")
        if self.work.visible != snapshot.dragged:
            self.work.visible = snapshot.dragged
        self.plots.show()
        self._show_joints(snapshot)
        self._agree(snapshot)

    def wait(self, what: str, seconds: float, *, cell: bool = True) -> None:
        """Says that something takes a while, and for how long it has; `cell` says whether there is one to see."""
        self._say(f"{html.escape(what)} ... {seconds:.1f} s", GREY, there=cell)

    def lost(self, said: str) -> None:
        """Says that what the page shows is out of date."""
        self._say(html.escape(said), RED)

    def _say(self, said: str, colour: str, more: str = "", there: bool = True) -> None:
        self.status.content = headline(said, colour, more, there)

    def _show_joints(self, snapshot: Snapshot) -> None:
        """One slider per joint, made anew for another arm.  They can be moved while nothing runs."""
        lower, upper, names = snapshot.scene.lower, snapshot.scene.upper, snapshot.scene.joints
        key = (names, lower.tobytes(), upper.tobytes())
        if key != self._joints_of:
            self._joints_of, self._joints_free = key, None
            for slider in self.joints:
                slider.remove()
            with self._joints_tab:
                self.joints = [self._joint(k, name, float(lower[k]), float(upper[k])) for k, name in enumerate(names)]
        free = not snapshot.running and not snapshot.stopped
        if free != self._joints_free:
            self._joints_free = free
            about = (
                "Moves the arm by hand; rad, or m where a joint slides." if free else "Pause, to move joints by hand."
            )
            self._joints_about.content = line(about, "padding:6px 12px")
            for slider in self.joints:
                slider.visible = free
        if not free:
            return
        now = time.time()
        for slider, q in zip(self.joints, snapshot.q.tolist(), strict=True):
            value = round(min(max(q, slider.min), slider.max), 3)
            if abs(slider.value - value) > 2e-3 and now - slider.update_timestamp > SETTLING:
                set_value(slider, value)

    def _joint(self, k: int, name: str, low: float, high: float) -> viser.GuiSliderHandle[float]:
        low, high = (low if math.isfinite(low) else -TURN), (high if math.isfinite(high) else TURN)
        low, high = math.ceil(1e3 * low) / 1e3, math.floor(1e3 * high) / 1e3
        slider = self._gui.add_slider(
            name, min=low, max=max(high, low + 1e-3), step=1e-3, initial_value=max(low, min(0.0, high))
        )

        async def moved(event: viser.GuiEvent[viser.GuiSliderHandle[float]]) -> None:
            if event.client_id is not None:
                self._order("joint", k, float(event.target.value))

        slider.on_update(moved)
        return slider

    def _agree(self, snapshot: Snapshot) -> None:
        """Sets elements to what the engine has, whatever a page sent; not while somebody still moves them."""
        now = time.time()
        for spec in dataclasses.fields(snapshot.scene.shown):
            name, value = spec.name, getattr(snapshot.scene.shown, spec.name)
            if name in self.choices:
                choice, said = self.choices[name], name_of(name, value)
                if said != choice.value and said in choice.options and now - choice.update_timestamp > SETTLING:
                    set_value(choice, said)
            elif value is not None and (name in self.sliders or name == "speed"):
                slider = self.sliders.get(name, self.speed)
                if value != slider.value and now - slider.update_timestamp > SETTLING:
                    set_value(slider, value)


def dock(gui: viser.GuiApi) -> None:
    """Puts the panel beside the scene, not over it."""
    gui.configure_theme(show_logo=False, show_share_button=False, brand_color=(38, 92, 122))
    gui.main_panel.dock_right()
    gui.main_panel.set_width(WIDE)


def _ordering(order: Order, what: str) -> Handler:
    async def ordered(_: object) -> None:
        order(what)

    return ordered


def add_keys(gui: viser.GuiApi, keys: Sequence[Key], order: Order) -> None:
    """Commands for these keys."""
    for key in keys:
        hotkey: Any = key.hotkey  # viser's type of them lacks "," and ".", which it knows
        gui.add_command(key.does, hotkey=hotkey).on_trigger(_ordering(order, key.order))


def set_value(element: viser.GuiSliderHandle[float] | viser.GuiDropdownHandle[str], value: float | str) -> None:
    """Changes what an element shows."""
    handle: Any = element  # mypy takes `value` for read-only: in viser its setter does not follow at once
    handle.value = value


def view_boxes(gui: viser.GuiApi, change: Callable[[str, bool], None]) -> dict[str, viser.GuiCheckboxHandle]:
    """Check boxes for what the scene may show or not, by the names of `VIEWS`; `change` hears of each click."""

    def box(name: str, label: str) -> viser.GuiCheckboxHandle:
        element = gui.add_checkbox(label, initial_value=name != "shells")

        async def chosen(event: viser.GuiEvent[viser.GuiCheckboxHandle]) -> None:
            change(name, bool(event.target.value))

        element.on_update(chosen)
        return element

    return {name: box(name, label) for name, label in VIEWS.items()}


def _help() -> str:
    keys = "".join(f"<tr><td><b>{key}</b></td><td>{does}</td></tr>" for key, _, does, _ in KEYS)
    return line(
        "Drag the handle at the person's feet, or at a hand, into the arm's way; drag the green ball, and the tool"
        " follows it. The red arrow is what pushes the tool, the green one what draws it to its goal; the line between"
        " arm and person is the least distance."
        f'<table style="margin-top:6px">{keys}</table>'
        "<div>W A S D Q E and the arrow keys move the camera. One page steers, others watch.</div>",
        "padding-top:6px",
    )
