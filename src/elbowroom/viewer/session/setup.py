"""The setup of the page: a scenario, an arm, and the settings that can be changed, checked before they are used.

    Setup(scenario="cell", robot="panda", controller="K", influence=0.5).scene()

A value from a page is never trusted: `Setup.changed` clamps numbers to their ranges and refuses names it does not know.
An arm from a file can be chosen if that file was given at the start (`own`), and then by its bare name.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from ...avoidance import Config
from ...avoidance.planning.settings import Planning
from ...cell.layout import STANDARD
from ...cell.mocap.recorded import is_motion
from ...cell.scene import Scene, is_file
from ...errors import ConfigError
from ...experiments.thesis.experiment import beside, experiments
from ...experiments.thesis.outcome import SUPERVISED
from ...model import catalogue

CELL, RECORDED = "cell", "recorded"
TOUCH = "touch"
VISITS = {"walk past": "walk_past", "reach in": "reach_in", TOUCH: "touch"}
"""Scenarios that are the cell with another person or plant, and the variants of its file."""
TESTS = tuple(f"test {k}" for k in range(1, 8))
SCENARIOS = (CELL, *VISITS, *TESTS, RECORDED)
NAMES: dict[str, dict[str, str]] = {
    "scenario": {
        CELL: "pick and place",
        **{name: name for name in VISITS},
        TOUCH: "touch the arm, which feels it",
        "test 1": "walk up to the arm (test 1)",
        "test 2": "walk up, seen late (test 2)",
        "test 3": "come from the side (test 3)",
        "test 4": "walk up, force control (test 4)",
        "test 5": "wander about at work (test 5)",
        "test 6": "stand beside the goal (test 6)",
        "test 7": "near a joint limit (test 7)",
        RECORDED: "a recorded person",
    },
    "controller": {"K": "velocity (K)", "F": "force (F)"},
    "inverse": {"dls": "damped least squares", "transpose": "transpose"},
    "limits": {"scaling": "slow down near them", "potential": "push away from them", "none": "not felt"},
    "supervision": {"stop": "limits and stops", "watch": "only watches", "off": "off"},
    "planning": {"off": "waits", "on": "goes around"},
}
"""What a page calls a choice; what is not here is called as it is."""


class Range(NamedTuple):
    """A number that a page may change: what it means, from where to where, in which steps."""

    label: str
    unit: str
    low: float
    high: float
    step: float


RANGES: dict[str, Range] = {
    "influence": Range("distance of influence", "m", 0.1, 1.5, 0.05),
    "gain": Range("repulsion gain", "m/s", 0.01, 1.0, 0.01),
    "kp": Range("attraction gain", "1/s", 0.1, 5.0, 0.1),
    "max_speed": Range("pull limit", "m/s", 0.05, 2.0, 0.05),
    "filter": Range("moving average", "s", 0.0, 1.0, 0.05),
    "speed": Range("simulation speed", "x", 0.1, 4.0, 0.1),
}
CHOICES: dict[str, tuple[str, ...]] = {
    "scenario": SCENARIOS,
    "controller": ("K", "F"),
    "inverse": ("dls", "transpose"),
    "limits": ("scaling", "potential", "none"),
    "supervision": ("stop", "watch", "off"),
    "planning": ("off", "on"),
}
KEPT = ("planning", "speed", "motion", "own", "tip", "start", "started", "allow_bare")
"""What stays when another scenario is chosen."""


@dataclass(frozen=True)
class Setup:
    """Everything that a page can choose.  None: as the scenario has it."""

    scenario: str = CELL
    robot: str | None = None
    controller: str | None = None
    inverse: str | None = None
    limits: str | None = None
    supervision: str | None = None
    planning: str | None = None
    filter: float | None = None
    influence: float | None = None
    gain: float | None = None
    kp: float | None = None
    max_speed: float | None = None
    speed: float = 1.0
    motion: str = ""
    own: str = ""
    tip: str = ""
    start: tuple[float, ...] = ()  # of the arm `started`
    started: str = ""
    allow_bare: bool = False  # of one's own arm

    @property
    def arms(self) -> tuple[str, ...]:
        """The arms that can be chosen: the catalogue, and the file's bare name if there is one."""
        own = (Path(self.own).name,) if self.own else ()
        return (*own, *catalogue.names())

    @property
    def scenarios(self) -> tuple[str, ...]:
        """The scenarios that can be chosen."""
        missing = {RECORDED} if not self.motion else set[str]()
        missing |= set() if find_spec("mujoco") else {TOUCH}  # nothing else lets people push an arm
        return tuple(name for name in SCENARIOS if name not in missing)

    def changed(self, name: str, value: object) -> Setup:
        """A setup with one setting changed: numbers limited to their ranges, unknown names refused."""
        if name in RANGES:
            number = float(value) if isinstance(value, int | float) and not isinstance(value, bool) else math.nan
            if not math.isfinite(number):
                raise ConfigError(f"{name}: expected a number; got {value!r:.40}")
            low, high = RANGES[name].low, RANGES[name].high
            return self._with(name, min(max(number, low), high))
        if name in CHOICES:
            if not isinstance(value, str) or value not in CHOICES[name]:
                raise ConfigError(f"{name}: expected one of {', '.join(CHOICES[name])}; got {value!r:.40}")
            if name == "scenario":  # another scene has settings of its own
                return Setup(value, self.robot, **{name: getattr(self, name) for name in KEPT})
            return self._with(name, value)
        if name == "robot":
            if not isinstance(value, str) or value not in self.arms:
                raise ConfigError(f"robot: expected one of {', '.join(self.arms)}; got {value!r:.40}")
            return self._with(name, value)
        raise ConfigError(f"{name!r:.40}: there is nothing of that name to change")

    def _with(self, name: str, value: float | str) -> Setup:
        change: dict[str, Any] = {name: value}
        return dataclasses.replace(self, **change)

    def scene(self) -> Scene:
        """The scene, settings changed as asked for."""
        return self._tuned(self._plain())

    def _plain(self) -> Scene:
        mine = bool(self.own) and self.robot == Path(self.own).name
        robot, tip = (self.own, self.tip) if mine else (self.robot, "")
        found = self._placed(robot)
        if self.start and self.robot == self.started:
            found = dataclasses.replace(found, start=self.start)
        return dataclasses.replace(found, tip=tip, allow_bare=self.allow_bare) if mine else found

    def _placed(self, robot: str | None) -> Scene:
        if self.scenario == CELL or self.scenario in VISITS:
            return Scene.load(STANDARD, robot=robot, variant=VISITS.get(self.scenario))
        if self.scenario == RECORDED:
            if not self.motion:
                raise ConfigError("the scenario recorded needs a recording: elbowroom demo --motion FILE")
            take = Path(self.motion)
            return beside(take, take.stem).scene(SUPERVISED, "kinematic", robot)
        test = experiments()[TESTS.index(self.scenario)]
        variant = "mended" if "mended" in test.variants else "mended_scaling"
        return test.scene(variant, "kinematic", robot)

    def _tuned(self, scene: Scene) -> Scene:
        config = scene.controller
        changes: dict[str, Any] = {}
        if self.controller is not None:
            changes["controller"] = self.controller
        if self.inverse is not None:
            changes["inverse"] = self.inverse
        parts: Mapping[str, Mapping[str, Any]] = {
            "repulsion": {"influence": self.influence, "gain": self.gain},
            "attraction": {"kp": self.kp, "max_speed": self.max_speed},
            "smoothing": {"duration": self.filter},
            "joint_limits": {"method": self.limits},
        }
        for part, wanted in parts.items():
            given = {name: value for name, value in wanted.items() if value is not None}
            if given:
                changes[part] = dataclasses.replace(getattr(config, part), **given)
        if self.planning is not None:
            changes["planning"] = (config.planning or Planning()) if self.planning == "on" else None
        tuned: Config = dataclasses.replace(config, **changes) if changes else config
        watched = scene.supervision if self.supervision is None else self.supervision
        # on the page a person is the operator: nothing but "go on" ends a stop
        return dataclasses.replace(scene, controller=tuned, supervision=watched, reset_after=0.0)


@dataclass(frozen=True)
class ShownSettings:
    """The settings that a cell has now, by the names of `Setup`; of a recording some are not known: "" or None."""

    scenario: str = ""
    robot: str = ""
    controller: str = ""
    inverse: str = ""
    limits: str = ""
    supervision: str = ""
    planning: str = ""
    measure: str = ""  # of distances, by which people push: "surface" or "axis"
    influence: float | None = None
    gain: float | None = None
    kp: float | None = None
    max_speed: float | None = None
    filter: float | None = None
    speed: float | None = None

    @classmethod
    def of(
        cls, config: Config, supervision: str, robot: str, scenario: str = "", speed: float | None = None
    ) -> ShownSettings:
        """The settings of a controller and its supervisor."""
        return cls(
            scenario=scenario,
            robot=robot,
            controller=config.controller,
            inverse=config.inverse,
            limits=config.joint_limits.method,
            supervision=supervision,
            planning="off" if config.planning is None else "on",
            measure=config.repulsion.measure,
            influence=config.repulsion.influence,
            gain=config.repulsion.gain,
            kp=config.attraction.kp,
            max_speed=config.attraction.max_speed,
            filter=config.smoothing.duration,
            speed=speed,
        )


def name_of(what: str, value: str) -> str:
    """What a page calls this choice: "test 1" is "walk up to the arm (test 1)"."""
    return NAMES.get(what, {}).get(value, value)


def named(what: str, name: object) -> object:
    """The choice that a page calls so; an unknown name is left as it is, and refused later."""
    return next((value for value, given in NAMES.get(what, {}).items() if given == name), name)


def scenario_named(text: str) -> str:
    """The scenario that somebody means: "1", "test1", "Test 1" and what the page calls it are all "test 1"."""
    said = text.strip().lower()
    found = re.fullmatch(r"(?:test)?[ _-]?([1-7])", said)
    name = f"test {found[1]}" if found else said.replace("_", " ")
    for known, given in NAMES["scenario"].items():
        if name in (given, given.partition(" (")[0]):
            name = known
    if name not in SCENARIOS:
        raise ConfigError(f"scenario: expected {', '.join(SCENARIOS)}; got {text!r:.40}")
    return name


def chosen(
    robot: str, tip: str = "", scenario: str = CELL, motion: str = "", *, start: tuple[float, ...] = ()
) -> Setup:
    """What a command line asks for: an arm of the catalogue or of a file, a scenario, and a recorded person's file.

    `start` is where that arm's joints start, its ready pose if left out.
    """
    if motion and not is_motion(motion):
        raise ConfigError(f"motion: expected a recording, Vicon CSV, BVH or a ROS 2 bag; there is no file {motion!r}")
    if not is_file(robot):
        if tip:
            raise ConfigError(f"tip: expected with a URDF file alone; got {tip!r:.40} with {robot!r:.40}")
        asked = Setup(scenario_named(scenario), motion=motion, start=start, started=robot if start else "")
        return asked.changed("robot", robot)
    own = Path(robot).absolute()
    if not own.is_file():
        raise ConfigError(f"robot: there is no file {robot!r}")
    if own.name in catalogue.names():
        raise ConfigError(f"robot: expected a file that is not called like an arm of the catalogue; got {robot!r}")
    return Setup(
        scenario_named(scenario),
        own.name,
        motion=motion,
        own=str(own),
        tip=tip,
        start=start,
        started=own.name if start else "",
    )
