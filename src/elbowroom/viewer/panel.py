"""The panel of the page: what is chosen, how it goes, and the numbers beside it.

Nothing here is trusted: what a page sends is an order, which the engine checks and clamps; what the panel shows comes
back from the engine.
"""

from __future__ import annotations

import html
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from ..model import catalogue
from .setup import CHOICES, RANGES, SCENARIOS

SAFETY = "**Not a safety-rated device.** Informed by ISO 10218:2025 / ISO/TS 15066, not certified."
KEYS = "space: pause or go · R: from the beginning · N: one cycle · X: stop · Z: go on after a stop"
SHOWN = 240  # points of a plot
EVERY = 3  # pictures between two points
LABELS = {
    "controller": "law",
    "inverse": "inverse kinematics",
    "limits": "joint limits",
    "supervision": "supervisor",
}
TUNED = ("influence", "gain", "kp", "filter")
Order = Callable[..., None]


def sentence(picture: dict[str, Any]) -> str:
    """What the arm is doing, as one would say it."""
    status, distance = picture["status"], picture["distance"]
    who = "" if picture["nearest"] is None else f" to {html.escape(picture['nearest'][3].replace('_', ' '))}"
    if picture["stopped"]:
        return f"stopped: {html.escape(picture['reason'] or picture['verdict'])}"
    if picture["touching"]:
        return "touching somebody"
    if not picture["running"]:
        return "paused"
    if status == "AVOIDING":
        return f"avoiding: {distance:.2f} m{who}"
    if picture["verdict"] == "SLOWING_HUMAN" or status == "SLOWING_HUMAN":
        return f"slowed by somebody near: {distance:.2f} m{who}"
    if status.startswith("SLOWING"):
        return f"working, slowed by {'a joint limit' if 'LIMIT' in status else 'a singularity'}"
    near = f", {distance:.2f} m{who}" if distance < 3.0 else ""
    return f"working: {html.escape(picture['state'].replace('_', ' '))}{near}"


class Panel:
    """Elements of the page; `order` is called with what a page wants."""

    def __init__(self, server: Any, order: Order, motion: str = "") -> None:
        import viser.uplot as uplot

        gui = server.gui
        self._gui, self._order = gui, order
        gui.configure_theme(show_logo=False, show_share_button=False, brand_color=(38, 92, 122))
        with gui.add_folder("Now"):
            self.status = gui.add_markdown("starting")
            self.facts = gui.add_markdown("")
            gui.add_markdown(SAFETY)
        with gui.add_folder("Run"):
            self.run = gui.add_button_group("", ("pause", "step", "reset", "stop", "go on"))
            self.run.on_click(self._clicked)
            self.let_go = gui.add_button("Let go of the person")
            self.let_go.on_click(self._ordering("let_go"))
            self.speed = self._slider("speed", 1.0)
        with gui.add_folder("Scenario"):
            names = [name for name in SCENARIOS if name != "recorded" or motion]
            self.choices = {"scenario": gui.add_dropdown("scenario", names, initial_value=names[0])}
            self.choices["robot"] = gui.add_dropdown("arm", catalogue.names(), initial_value="panda")
        with gui.add_folder("Controller"):
            labels = {
                "controller": "law",
                "inverse": "inverse kinematics",
                "limits": "joint limits",
                "supervision": "supervisor",
            }
            for name, label in labels.items():
                self.choices[name] = gui.add_dropdown(label, CHOICES[name], initial_value=CHOICES[name][0])
            self.sliders = {
                name: self._slider(name, RANGES[name].low) for name in ("influence", "gain", "kp", "filter")
            }
        for name, choice in self.choices.items():
            choice.on_update(self._choosing(name))
        with gui.add_folder("Signals"):
            x = np.linspace(-8.0, 0.0, SHOWN)
            self._t: deque[float] = deque(x.tolist(), maxlen=SHOWN)
            self._lines: dict[str, deque[float]] = {}
            self._plots: dict[str, Any] = {}
            for name, label, top, colour in (
                ("distance", "distance to the nearest person, m", 1.5, "#265c7a"),
                ("tool_speed", "speed of the tool, m/s", 1.5, "#d6783c"),
                ("margin", "least joint margin, rad", 2.0, "#5a7a3c"),
            ):
                gui.add_markdown(f"<small>{label}</small>")
                self._lines[name] = deque([0.0] * SHOWN, maxlen=SHOWN)
                self._plots[name] = gui.add_uplot(
                    data=(x, np.zeros(SHOWN)),
                    series=(uplot.Series(label="s"), uplot.Series(label=label, stroke=colour, width=2)),
                    scales={"x": uplot.Scale(time=False, auto=True), "y": uplot.Scale(range=(0.0, top))},
                    height=110,
                    padding=(10, 14, 0, 0),
                    legend=uplot.Legend(show=False),
                )
        gui.add_markdown(f"<small>{KEYS}</small>")
        for label, key, what in (
            ("pause or go", "space", ("toggle",)),
            ("from the beginning", "r", ("reset",)),
            ("one cycle", "n", ("step",)),
            ("stop", "x", ("stop",)),
            ("go on after a stop", "z", ("resume",)),
        ):
            gui.add_command(label, hotkey=key).on_trigger(self._ordering(*what))
        self._count = 0

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

    def _ordering(self, *what: Any) -> Callable[[Any], Any]:
        async def ordered(_: Any) -> None:
            self._order(*what)

        return ordered

    async def _clicked(self, event: Any) -> None:
        orders = {"pause": "toggle", "step": "step", "reset": "reset", "stop": "stop", "go on": "resume"}
        if event.target.value in orders:
            self._order(orders[event.target.value])

    def show(self, picture: dict[str, Any]) -> None:
        """The numbers of a picture; elements that the engine sees otherwise are set right."""
        self._count += 1
        self._t.append(picture["t"])
        margin = picture["margins"]
        values = {
            "distance": min(picture["distance"], 10.0),
            "tool_speed": picture["tool_speed"],
            "margin": float(np.min(margin[np.isfinite(margin)], initial=10.0)),
        }
        for name, value in values.items():
            self._lines[name].append(value)
        if self._count % EVERY:
            return
        self.status.content = f"### {sentence(picture)}"
        facts = [f"{picture['cycles']} cycles done", f"{picture['contacts']} contacts", f"{picture['t']:.1f} s"]
        if picture["problem"]:
            facts.append(f"refused: {html.escape(picture['problem'])}")
        if picture["disk"]:
            facts.append(html.escape(picture["disk"]))
        self.facts.content = " · ".join(facts)
        for name, plot in self._plots.items():
            plot.data = (np.array(self._t), np.array(self._lines[name]))
        self._agree(picture)

    def _agree(self, picture: dict[str, Any]) -> None:
        """Elements show what is true, whatever a page sent."""
        for name, value in picture["shown"].items():
            element = self.choices.get(name) or self.sliders.get(name) or (self.speed if name == "speed" else None)
            if element is not None and value is not None and element.value != value:
                element.value = value
