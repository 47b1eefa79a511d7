"""Start-up compatibility checks of controller, arm, limits and plant; a ConfigError names the mismatch.

A controller says more about itself than `arm` and `step` if it has the attributes of `Controller`: `layout`, `pairs`,
`all_rows` and `obstacles` (places of obstacles, and the tables that the filter needs), `config.period`, `delay`,
`makes_torque`, `lower` and `upper`.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...arm import Arm
from ...errors import ConfigError, ModelError
from ..control.pairs import Layout
from .limits import Bounds, Limits, bounds

log = logging.getLogger("elbowroom.avoidance")
MOST_ROWS = 1_000_000  # cycles that a flight recorder holds: half a gigabyte for seven joints


@dataclass(frozen=True, eq=False)
class Facts:
    """What a supervisor needs to know about a controller."""

    pairs: Layout | None  # of its pair table, None if it has none
    places: tuple[int, int, int]  # people, others, capsules a person
    period: float  # s
    reaction: float  # s, T_r of speed and separation
    torque: bool
    bounds: Bounds
    floor: float | None  # m, its height, if there is one


def facts(controller: Any, limits: Limits, places: tuple[int, int, int] | None) -> Facts:
    """The facts, or a ConfigError that says what is missing."""
    layout = getattr(controller, "layout", None)
    pairs = layout if all(hasattr(controller, name) for name in ("pairs", "all_rows", "obstacles")) else None
    if limits.separation and pairs is None:
        raise ConfigError("Limits: separation: expected false, as the controller has no pair table; got true")
    if layout is not None:
        places = layout.people, layout.others, layout.person_capsules
    if places is None:
        raise ConfigError("places: expected (people, others, capsules a person), as the controller has no layout")
    guesses = controller.arm.model.estimated
    if limits.mode != "separation" and guesses:
        links = ", ".join(map(repr, guesses))
        raise ConfigError(
            f"Limits: mode: expected 'separation', as masses are estimates ({links}); got {limits.mode!r}"
        )
    torque = bool(getattr(controller, "makes_torque", False))
    if torque and guesses:
        links = ", ".join(map(repr, guesses))
        raise ConfigError(
            f"{controller.arm.name}: torques need masses that somebody measured, and those of {links} are estimates; "
            "expected a controller of velocities (K, or F linearised), or a file with masses"
        )
    period = limits.period or getattr(getattr(controller, "config", None), "period", None)
    if period is None:
        raise ConfigError("Limits: period: expected a number > 0 (s), as the controller has none of its own")
    if limits.record / period > MOST_ROWS:
        most = f"at most {MOST_ROWS} cycles of {period:g} s, {MOST_ROWS * period:g} s"
        raise ConfigError(f"Limits: record: expected {most}; got {limits.record:g}")
    reaction = limits.latency + period
    ends = (getattr(controller, end, getattr(controller.arm.model, end)) for end in ("lower", "upper"))
    held = bounds(limits, controller.arm, *ends, torque=torque)
    workspace = getattr(getattr(controller, "config", None), "workspace", None)
    floor = None if workspace is None else workspace.floor
    return Facts(pairs, places, float(period), reaction, torque, held, floor)


def examined(arm: Arm) -> None:
    """Refuses a model whose results mean nothing; what else looks wrong is logged by link and joint name."""
    found = arm.examine()
    if errors := [f for f in found if f.severity == "error"]:
        raise ModelError(f"{arm.name}: " + "; ".join(map(str, errors)))
    for finding in found:
        log.warning("%s: %s", arm.name, finding)


def same_joints(arm: Arm, joint_names: Sequence[str]) -> None:
    """Refuses a plant whose joints are not the arm's, in the same order."""
    names = tuple(map(str, joint_names))
    if len(names) != arm.n:
        ours, theirs = (", ".join(x) for x in (arm.joint_names, names))
        raise ConfigError(f"joint_names: expected the {arm.n} of {arm.name}, {ours}; got {len(names)}: {theirs}")
    for i, (ours, theirs) in enumerate(zip(arm.joint_names, names, strict=True)):
        if ours != theirs:
            raise ConfigError(f"joint_names[{i}]: expected {ours!r} of {arm.name}; got {theirs!r}")
