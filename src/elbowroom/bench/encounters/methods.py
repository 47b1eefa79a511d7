"""The methods that encounters compare, each made anew for every run by its `factory(arm, people, sensor)`.

A method has `step(t, dt, state, obstacles, goal)`, which returns a command with `.qd`, as Controller and Supervisor
have it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ...arm import Arm
from ...avoidance import (
    Attraction,
    Config,
    Controller,
    Goal,
    Limits,
    Repulsion,
    Sensor,
    State,
    Supervisor,
    Workspace,
)
from ...avoidance.control.obstacles import Obstacles
from ...errors import UnknownNameError, did_you_mean
from .other_methods import BarrierLaw, JointSpeeds, Mink, Pink
from .scene import CAPSULES, PERIOD, STAND


class HasSpeeds(Protocol):
    """A command: the speeds of the joints, `qd` (n,)."""

    @property
    def qd(self) -> NDArray[np.float64]:
        """rad/s, m/s of a slide."""


class Method(Protocol):
    """What keeps an arm clear of people while it goes to its goals.

    It may have `obstacles()`, which makes the places for people, and stops that latch (`Latching`).
    """

    def step(self, t: float, dt: float, state: State, obstacles: Obstacles, goal: Goal) -> HasSpeeds:
        """The command for now."""


@runtime_checkable
class Latching(Protocol):
    """A method whose stops last until they are reset."""

    @property
    def latched(self) -> object:
        """The stop that lasts, or what is false."""

    def reset(self, t: float) -> object:
        """Ends the stop."""


Factory = Callable[[Arm, int, str], Method]


def config(arm: Arm, controller: str = "K", **settings: Any) -> Config:
    """The package's defaults with the floor of the scene."""
    floor = float(arm.model.base[2, 3]) - STAND
    return Config(controller=controller, period=PERIOD, workspace=Workspace(floor=floor), **settings)


def controller(arm: Arm, people: int, sensor: str, *, law: str = "K", **settings: Any) -> Controller:
    """A law alone."""
    return Controller(arm, config(arm, law, **settings), people=people, person_capsules=CAPSULES)


def supervised(
    arm: Arm, people: int, sensor: str, *, law: str = "K", limits: Limits | None = None, **settings: Any
) -> Supervisor:
    """A law with its supervisor, which is told what kind of sensor there is: that of `limits`, or an exact one."""
    limits = Limits() if limits is None else limits
    if sensor == "ideal" and limits.sensor == Sensor():
        limits = replace(limits, sensor=Sensor.exact(PERIOD))
    return Supervisor(controller(arm, people, sensor, law=law, **settings), limits)


class BlindArm:
    """The K controller with nobody to see: what the arm would do alone."""

    def __init__(self, arm: Arm, people: int, sensor: str) -> None:
        self.controller = controller(arm, people, sensor)
        self._empty = self.controller.obstacles()

    def step(self, t: float, dt: float, state: State, obstacles: Obstacles, goal: Goal) -> HasSpeeds:
        """As if nobody were there."""
        return self.controller.step(t, dt, state, self._empty, goal)


class StandingArm:
    """An arm that stands."""

    def __init__(self, arm: Arm, people: int, sensor: str) -> None:
        self.command = JointSpeeds(np.zeros(arm.n))

    def step(self, t: float, dt: float, state: State, obstacles: Obstacles, goal: Goal) -> JointSpeeds:
        """Nothing."""
        return self.command


METHODS: dict[str, Factory] = {
    "blind": BlindArm,
    "still": StandingArm,
    "K": controller,
    "F": partial(controller, law="F"),
    "K supervised": supervised,
    "F supervised": partial(supervised, law="F"),
    "CBF-QP": BarrierLaw,
    "CBF-QP static": partial(BarrierLaw, velocity=False),
    "mink": Mink,
    "Pink": Pink,
}
"""By the name in tables; CBF-QP static does not look at the person's velocity."""


CURVE: dict[str, Factory] = {
    **{f"v_h {speed:g}": partial(supervised, limits=Limits(human_speed=speed)) for speed in (0.5, 1.0, 1.6, 2.0)},
    "power and force": partial(supervised, limits=Limits(mode="power_and_force")),
    "both": partial(supervised, limits=Limits(mode="both")),
}
"""K supervised under other assumptions about people: their speed (m/s), or that contact of a short time may be made."""


CLOSE: dict[str, Factory] = {
    "K close": partial(
        supervised,
        limits=Limits(
            evasion_distance=0.04,
            evasion_hands=0.0,
            evasion_gain=5.0,
            evasion_time=0.0,
            evasion_weight=100.0,
            evasion_effort=3.0,
            jerk=0.0,
            acceleration=40.0,
        ),
        repulsion=Repulsion(influence=0.02, lookahead=0.0),
        waiting=None,
    )
}
"""K supervised for a sensor without noise and delay, which lets an arm come near and give way late."""

PARTS: dict[str, Factory] = {
    "K supervised": supervised,
    "pull 1": partial(supervised, attraction=Attraction(kp=1.0)),
    "field 0.5": partial(supervised, repulsion=Repulsion(influence=0.5)),
    "no waiting": partial(supervised, waiting=None),
    "no early retreat from hands": partial(supervised, limits=Limits(evasion_hands=0.0)),
    "no evasion": partial(supervised, limits=Limits(evasion_weight=1e-6)),
    "no separation": partial(supervised, limits=Limits(separation=False)),
    "velocities as measured": partial(supervised, limits=Limits(sensor=Sensor(velocity_noise=0.0))),
    "max_age 0.15": partial(supervised, limits=Limits(max_age=0.15)),
    "no bound on jerk": partial(supervised, limits=Limits(jerk=0.0)),
    "creep 0.01": partial(supervised, limits=Limits(creep=0.01)),
    "K": controller,
}
"""K supervised with one of its parts changed or left out, and without all of them: what each is worth."""

SETS = {"curve": CURVE, "parts": PARTS}
ALL = METHODS | CURVE | CLOSE | PARTS


def expanded(names: Sequence[str]) -> list[str]:
    """The methods' own names, each once; "curve" and "parts" stand for those of `CURVE` and `PARTS`."""
    wanted = [one for name in names for one in SETS.get(name.strip().lower(), [name])]
    return list(dict.fromkeys(map(method, wanted)))


def method(name: str) -> str:
    """The method's own name, from one in any case and with - for a space; refused by name."""
    known = {key.lower().replace(" ", "-"): key for key in ALL}
    wanted = name.strip().lower().replace(" ", "-")
    if wanted not in known:
        hint = did_you_mean(wanted, [*known, *SETS], 2, 0.5)
        raise UnknownNameError(f"no method {name!r}: expected one of {', '.join(known)}, or {', '.join(SETS)}{hint}")
    return known[wanted]
