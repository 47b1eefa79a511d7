"""The panel of the page: how it goes, what is chosen, and the numbers beside it.

Nothing here is trusted: what a page sends is an order, which the engine checks and clamps; what the panel shows comes
back from the engine.  Texts that change are plain HTML with every name escaped.
"""

from __future__ import annotations

import html
import math
import time
from collections.abc import Callable, Sequence
from typing import Any

from .plots import Plots
from .setup import CHOICES, RANGES, Setup

SAFETY = "Not a safety-rated device. Informed by ISO 10218:2025 / ISO/TS 15066, not certified."
SHORT = "<b>Not a safety-rated device.</b>"
KEYS = (
    ("space", "space", "pause, or go on", ("toggle",)),
    ("N", "n", "one cycle", ("step",)),
    ("R", "r", "from the beginning", ("reset",)),
    ("X", "x", "stop the arm", ("stop",)),
    ("Z", "z", "go on after a stop", ("resume",)),
    ("G", "g", "let go of the person", ("let_go",)),
    ("T", "t", "start recording, or save", ("tape",)),
)
"""What is on the key, what viser calls it, what it does, and the order."""
BUTTONS = {"pause": "pause", "go": "play", "step": "step", "reset": "reset", "stop": "stop", "go on": "resume"}
"""What is on a button, and its order: a page may show one for a moment that says what is so already."""
EVERY = 3  # pictures between two renewals of the texts
SETTLING = 0.7  # s after somebody has moved an element, in which it is left alone
LABELS = {
    "controller": "law",
    "inverse": "inverse kinematics",
    "limits": "joint limits",
    "supervision": "supervisor",
}
TUNED = ("influence", "gain", "kp", "max_speed", "filter")
VIEWS = {"meshes": "meshes", "figures": "people as bodies", "shells": "shells", "arrows": "arrows"}
GREEN, AMBER, RED, GREY = "#3f8f5f", "#c98a1b", "#c8372d", "#7b858c"
HEADLINE = "font-size:16px;font-weight:600;line-height:1.25;min-height:40px;padding:2px 12px 0;margin-bottom:-3px"
SLOWED = {"SLOWING_LIMIT": "a joint limit", "SLOWING_SINGULARITY": "a singularity"}
Order = Callable[..., None]


def sentence(picture: dict[str, Any]) -> str:
    """What the arm is doing, as one would say it."""
    return judged(picture)[0]


def judged(picture: dict[str, Any]) -> tuple[str, str]:
    """What the arm is doing, and the colour of that.  "working" is only said where nothing else is to be said."""
    status, law, verdict = picture["status"], picture["law_status"], picture["verdict"]
    distance = picture["distance"]
    who = "" if picture["nearest"] is None else f" to {html.escape(picture['nearest'][3].replace('_', ' '))}"
    if picture["stopped"]:
        return f"stopped: {html.escape(picture['reason'] or verdict)}", RED
    if picture["touching"]:
        return "touching somebody", RED
    if "IN_COLLISION" in (status, law, verdict) or distance <= 0:
        return "overlapping somebody", RED
    if not picture["running"]:
        return "paused", GREY
    if math.isnan(distance):
        return "how near people are is not known", RED
    if status.startswith("STOP"):
        return f"stopped: {_words(status[5:])}", RED
    if "AVOIDING" in (law, status):
        return f"avoiding: {distance:.2f} m{who}", RED if distance < 0.1 else AMBER
    if "SLOWING_HUMAN" in (law, status):
        if not math.isfinite(distance):  # an empty picture is believed after limits.clear_confirm
            return "slowed until it is sure that nobody is there", AMBER
        return f"slowed by somebody near: {distance:.2f} m{who}", AMBER
    for each in (law, status):
        if each in SLOWED:
            return f"working, slowed by {SLOWED[each]}", AMBER
        if each not in ("", "OK", "AVOIDING"):
            return _words(each), AMBER
    near = f", {distance:.2f} m{who}" if distance < 3.0 else ""
    state = _words(picture["state"])
    return f"{state if state == 'resting' else f'working: {state}'}{near}", GREEN


def _words(status: str) -> str:
    return html.escape(status.replace("_", " ").lower())


def facts(picture: dict[str, Any], whole: float | None = None) -> str:
    """Numbers under the sentence, and what the supervisor is for; `whole` (s) is how long a run is that has ended."""
    cycles, contacts = picture["cycles"], picture["contacts"]
    said = [
        f"{cycles} {'cycle' if cycles == 1 else 'cycles'} done",
        f"{contacts} {'contact' if contacts == 1 else 'contacts'}",
        f"{picture['t']:.1f} s" if whole is None else f"{picture['t']:.1f} s of {whole:.1f} s",
    ]
    if picture.get("would_stop"):
        said.append("supervisor only watches; it would have stopped the arm")
    elif picture.get("supervision", "stop") != "stop":
        said.append("supervisor off" if picture["supervision"] == "off" else "supervisor only watches")
    return " · ".join(said)


def timing(picture: dict[str, Any]) -> str:
    """How well the controller's loop keeps its time."""
    if picture["pace"] is None:
        return ""
    median, _, most, _, overruns = picture["pace"]
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
        self.status = gui.add_html("", order=0)
        self.numbers = gui.add_html(_line("starting"), order=1)
        # what a page says of who steers has its place 2 (steering.py)
        self.run = gui.add_button_group("time", ("pause", "step", "reset"), order=3)
        self.brake = gui.add_button_group("motion", ("stop", "go on"), order=3.1)
        for group in (self.run, self.brake):
            group.on_click(self._clicked)
        self.plots = Plots(gui, order=4)
        tabs = gui.add_tab_group(order=5)
        with tabs.add_tab("Scene"):
            self.choices = {
                "scenario": gui.add_dropdown("scenario", setup.scenarios, initial_value=setup.scenario),
                "robot": gui.add_dropdown("arm", setup.arms, initial_value=setup.robot or setup.arms[0]),
            }
            self.speed = self._slider("speed", setup.speed)
            let_go = gui.add_button("Let go of the person")
            let_go.on_click(self._ordering("let_go"))
        with tabs.add_tab("Controller"):
            for name, label in LABELS.items():
                self.choices[name] = gui.add_dropdown(label, CHOICES[name], initial_value=CHOICES[name][0])
            self.sliders = {name: self._slider(name, RANGES[name].low) for name in TUNED}
        for name, choice in self.choices.items():
            choice.on_update(self._choosing(name))
        with tabs.add_tab("Record"):
            self.tape = gui.add_button("Record")
            self.tape.on_click(self._ordering("tape"))
            self.page = gui.add_button("Save the last minutes as an HTML page")
            self.page.on_click(self._ordering("page"))
            self.files = gui.add_html("")
        with tabs.add_tab("View"):
            self.views = {name: gui.add_checkbox(VIEWS[name], initial_value=name != "shells") for name in views}
            for name, box in self.views.items():
                box.on_update(self._viewing(name))
            gui.add_html(_line("Meshes: where the arm's file has some. Shells: how far people and walls act."))
            self.timing = gui.add_html("")
        with tabs.add_tab("Help"):
            gui.add_html(_help())
        gui.add_html(_line(SAFETY), order=6)
        for _, key, does, what in KEYS:
            gui.add_command(does, hotkey=key).on_trigger(self._ordering(*what))

    def _slider(self, name: str, value: float) -> Any:
        about = RANGES[name]
        slider = self._gui.add_slider(
            f"{about.label}, {about.unit}", min=about.low, max=about.high, step=about.step, initial_value=value
        )
        slider.on_update(self._choosing(name))
        return slider

    def _choosing(self, name: str) -> Callable[[Any], Any]:
        async def chosen(event: Any) -> None:
            if event.client_id is not None:  # a page, not we ourselves
                self._order("set", name, event.target.value)

        return chosen

    def _viewing(self, name: str) -> Callable[[Any], Any]:
        async def chosen(event: Any) -> None:
            self._order("view", name, bool(event.target.value))

        return chosen

    def _ordering(self, *what: Any) -> Callable[[Any], Any]:
        async def ordered(_: Any) -> None:
            self._order(*what)

        return ordered

    async def _clicked(self, event: Any) -> None:
        if event.target.value in BUTTONS:
            self._order(BUTTONS[event.target.value])

    # ---- showing
    def show(self, picture: dict[str, Any], files: str = "") -> None:
        """The numbers of a picture; elements that the engine sees otherwise are set right."""
        self.plots.add(picture)
        self._count += 1
        if self._count % EVERY and not picture["busy"]:
            return
        if picture["busy"]:
            self.wait(picture["busy"], 0.0)
            return
        said, colour = judged(picture)
        self._say(said, colour)
        pause = "pause" if picture["running"] else "go"
        if self.run.options[0] != pause:
            self.run.options = (pause, "step", "reset")
        told = [facts(picture)]
        told += [f"refused: {html.escape(picture['problem'])}"] if picture["problem"] else []
        told += [html.escape(picture["disk"])] if picture["disk"] else []
        self.numbers.content = _line("<br>".join((*told, SHORT)))
        self.timing.content = _line(timing(picture), "padding-top:6px")
        self.tape.label = "Save the recording" if picture["recording"] else "Record"
        self.files.content = _line(html.escape(files).replace("\n", "<br>"), "padding-top:6px;word-break:break-all")
        self.plots.show()
        self._agree(picture)

    def wait(self, what: str, seconds: float) -> None:
        """Says that something takes a while, and for how long it has."""
        self._say(f"{html.escape(what)} ... {seconds:.1f} s", GREY)

    def lost(self, said: str) -> None:
        """Says that what the page shows is no longer so."""
        self._say(html.escape(said), RED)

    def _say(self, said: str, colour: str) -> None:
        dot = f'<span style="color:{colour};font-size:18px">&#9679;</span>'
        self.status.content = f'<div style="{HEADLINE}">{dot} {said}</div>'

    def _agree(self, picture: dict[str, Any]) -> None:
        """Elements show what is true, whatever a page sent; not while somebody is still at it."""
        now = time.time()
        for name, value in picture["shown"].items():
            element = self.choices.get(name) or self.sliders.get(name) or (self.speed if name == "speed" else None)
            if element is None or value is None or element.value == value:
                continue
            if now - element.update_timestamp > SETTLING:
                if isinstance(value, str) and value not in element.options:
                    continue
                element.value = value


def _help() -> str:
    keys = "".join(f"<tr><td><b>{key}</b></td><td>{does}</td></tr>" for key, _, does, _ in KEYS)
    return _line(
        "Drag the handle at the person's feet, or at a hand, into the arm's way. The red arrow is what pushes the"
        " tool, the green one what draws it to its goal; the line between arm and person is the least distance."
        f'<table style="margin-top:6px">{keys}</table>'
        "<div>W A S D Q E and the arrow keys move the camera. One page steers, others watch.</div>",
        "padding-top:6px",
    )
