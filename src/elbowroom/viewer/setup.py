"""What is shown: a scenario, an arm, and the settings that the page can change, all checked before they are used.

    Setup(scenario="cell", robot="panda", controller="K", influence=0.5).scene()

A value from a page is never trusted: `Setup.changed` clamps numbers to their ranges and refuses names it does not know.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from ..avoidance import Config
from ..cell.people import Tracked
from ..cell.scene import Scene
from ..errors import ConfigError
from ..experiments.thesis.experiment import SCENES as THESIS
from ..experiments.thesis.experiment import experiments
from ..model import catalogue

SCENES = Path(__file__).parent / "scenes"
CELL, RECORDED = "cell", "recorded"
TESTS = tuple(f"test {k}" for k in range(1, 8))
SCENARIOS = (CELL, *TESTS, RECORDED)


class Range(NamedTuple):
    """A number that a page may change: what it means, from where to where, in which steps."""

    label: str
    unit: str
    low: float
    high: float
    step: float


RANGES: dict[str, Range] = {
    "influence": Range("Distance of influence", "m", 0.1, 1.5, 0.05),
    "gain": Range("Repulsion gain", "m/s", 0.01, 1.0, 0.01),
    "kp": Range("Attraction gain", "1/s", 0.1, 5.0, 0.1),
    "filter": Range("Moving average", "s", 0.0, 1.0, 0.05),
    "speed": Range("Speed of time", "times", 0.1, 4.0, 0.1),
}
CHOICES: dict[str, tuple[str, ...]] = {
    "scenario": SCENARIOS,
    "controller": ("K", "F"),
    "inverse": ("dls", "transpose"),
    "limits": ("scaling", "potential", "none"),
    "supervision": ("stop", "watch", "off"),
}


@dataclass(frozen=True)
class Setup:
    """Everything that a page can choose.  None: as the scenario has it."""

    scenario: str = CELL
    robot: str | None = None
    controller: str | None = None
    inverse: str | None = None
    limits: str | None = None
    supervision: str | None = None
    filter: float | None = None
    influence: float | None = None
    gain: float | None = None
    kp: float | None = None
    speed: float = 1.0
    motion: str = ""

    def changed(self, name: str, value: Any) -> Setup:
        """With one thing changed: numbers within their ranges, names that exist."""
        if name in RANGES:
            number = float(value) if isinstance(value, int | float) and not isinstance(value, bool) else math.nan
            if not math.isfinite(number):
                raise ConfigError(f"{name}: expected a number; got {value!r:.40}")
            low, high = RANGES[name].low, RANGES[name].high
            held: dict[str, Any] = {name: min(max(number, low), high)}
            return dataclasses.replace(self, **held)
        if name in CHOICES:
            if value not in CHOICES[name]:
                raise ConfigError(f"{name}: expected one of {', '.join(CHOICES[name])}; got {value!r:.40}")
            if name == "scenario":  # another scene has settings of its own
                return Setup(value, self.robot, speed=self.speed, motion=self.motion)
            chosen: dict[str, Any] = {name: value}
            return dataclasses.replace(self, **chosen)
        if name == "robot":
            if value not in catalogue.names():
                raise ConfigError(f"robot: expected one of {', '.join(catalogue.names())}; got {value!r:.40}")
            return dataclasses.replace(self, robot=value)
        raise ConfigError(f"{name!r:.40}: there is nothing of that name to change")

    def scene(self) -> Scene:
        """The scene, settings changed as asked for."""
        return self._tuned(self._plain())

    def _plain(self) -> Scene:
        if self.scenario == CELL:
            return Scene.load(SCENES / "cell.toml", robot=self.robot)
        if self.scenario == RECORDED:
            if not self.motion:
                raise ConfigError("the scenario recorded needs a recording: elbowroom demo --motion FILE")
            found = Scene.load(THESIS / "recorded.toml", robot=self.robot, variant="supervised")
            people = {name: _with(who, self.motion) for name, who in found.people.items()}
            return dataclasses.replace(found, people=people)
        test = experiments()[TESTS.index(self.scenario)]
        return test.scene(test.main()[0] if test.test != 7 else "scaling", "kinematic", self.robot)

    def _tuned(self, scene: Scene) -> Scene:
        config = scene.controller
        changes: dict[str, Any] = {}
        if self.controller is not None:
            changes["controller"] = self.controller
        if self.inverse is not None:
            changes["inverse"] = self.inverse
        parts: Mapping[str, Mapping[str, Any]] = {
            "repulsion": {"influence": self.influence, "gain": self.gain},
            "attraction": {"kp": self.kp},
            "smoothing": {"duration": self.filter},
            "joint_limits": {"method": self.limits},
        }
        for part, wanted in parts.items():
            given = {name: value for name, value in wanted.items() if value is not None}
            if given:
                changes[part] = dataclasses.replace(getattr(config, part), **given)
        tuned: Config = dataclasses.replace(config, **changes) if changes else config
        watched = scene.supervision if self.supervision is None else self.supervision
        return dataclasses.replace(scene, controller=tuned, supervision=watched)


def _with(who: Any, motion: str) -> Any:
    return dataclasses.replace(who, file=motion) if isinstance(who, Tracked) else who
