"""Limits: the supervisor's settings, each joint's bounds, and the start-up checks that arm and controller fit them.

    limits = Limits(sensor=Sensor.motion_capture(), stop_distance=0.05)
    limits = settings.load(Limits, "limits.toml");   settings.dumps(limits)

A model may have no velocity limit; then `velocity` (or `linear_velocity` for a prismatic joint) stands in for it.  A
limit of zero is refused: such an arm could never be stopped by a ramp, since it could never move.

Start-up checks raise a ConfigError, or a ModelError for an arm whose model means nothing, that names the mismatch.  A
controller needs `arm` and `step` (`AnyController`), and the filter works with one that also has the pair table of
`PairedController`.  Of `Controller`'s other attributes `config.period`, `config.workspace`, `makes_torque`, `lower` and
`upper` are looked at where they are there.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from ...algebra import Scalar
from ...arm import Arm
from ...errors import ConfigError, ModelError
from ..checks import SHORTEST, FieldError, Settings, bounded, setting
from ..control.command import Command, Goal, State
from ..control.obstacles import Obstacles
from ..control.pushes import PairLayout
from .momentum_observer import Contact
from .sensor import Sensor

Array = NDArray[np.float64]
log = logging.getLogger("elbowroom.avoidance")
MODES = ("separation", "power_and_force", "both")  # what people are kept from: see filter/rows.py
MOST_ROWS = 1_000_000  # cycles that a flight recorder holds: half a gigabyte for seven joints
ANYWHERE = 1e12  # m: with so much room any speed is allowed
ROUNDING = 1e-9  # s: of sums of a sensor's times
UNLIMITED = 1e6  # rad, m or N m: stands for "no limit" where compiled code takes finite numbers alone


@dataclass(frozen=True)
class Limits(Settings):
    """Settings of the supervisor: what it holds an arm to."""

    period: float | None = setting(None, f"[{SHORTEST}, 1] s", "time between cycles; the controller's if left out")
    # ---- joints
    velocity: float = setting(2.0, "(0, 1000] rad/s", "of a revolute joint whose model has no limit")
    linear_velocity: float = setting(0.5, "(0, 1000] m/s", "of a prismatic joint whose model has no limit")
    velocities: tuple[float, ...] = setting((), "(0, 1000] rad/s or m/s", "of every joint, in place of the model's")
    acceleration: float = setting(10.0, "(0, 1000] rad/s^2", "of revolute joints")
    linear_acceleration: float = setting(5.0, "(0, 1000] m/s^2", "of prismatic joints")
    accelerations: tuple[float, ...] = setting(
        (), "(0, 1000] rad/s^2 or m/s^2", "of every joint, in place of the two above"
    )
    stop_factor: float = setting(1.5, "[1, 10]", "deceleration of a stop, in those accelerations")
    torque_fraction: float = setting(1.0, "(0, 1]", "part of the effort limits that torques may use")
    overspeed: float = setting(1.1, "[1, 10]", "measured speed, in velocity limits, that stops the arm")
    standing: float = setting(0.01, "(0, 0.1] rad/s or m/s", "slower joints count as standing still")
    hold_damping: float = setting(50.0, "(0, 1000] 1/s", "torque controllers: damping of the speeds in a stop")
    # ---- joint states that cannot be true; higher bounds would be no check at all
    position_jump: float = setting(0.05, "(0, 1] rad or m", "a position off its speed's way by more stops the arm")
    limit_excess: float = setting(0.1, "(0, 1] rad or m", "a position farther beyond its limit stops the arm")
    following_error: float = setting(0.05, "(0, 10] rad or m", "commanded motion a joint may owe before the arm stops")
    encoder_noise: float = setting(0.002, "[0, inf) rad or m", "a position that changes by less has not moved")
    # ---- people
    sensor: Sensor = setting(Sensor(), "", "what the sensor of people states about itself")
    max_age: float | None = setting(
        None, "(0, 10] s", "older data about people stops the arm; the sensor's longest age if left out"
    )
    human_speed: float = setting(1.6, "[0.1, 10] m/s", "people unseen grow by it; least v_h of speed and separation")
    max_human_speed: float = setting(10.0, "[0.1, 100] m/s", "a point of a person that moved faster has jumped")
    jump_allowance: float = setting(0.1, "[0, 10] m", "and by this much more: measurement noise")
    jump_confirm: float = setting(0.5, "[0, 60] s", "how long old and new place are both kept after a jump")
    clear_confirm: float = setting(0.5, "[0, 60] s", "how long the sensor must report nobody before it is believed")
    stop_distance: float = setting(0.0, "[0, 10] m", "a person nearer than this stops the arm; 0 for never")
    in_collision: str = setting("retreat", ("retreat", "stop"), "on overlap: retreat, or stop and latch")
    retreat_fraction: float = setting(0.2, "(0, 1]", "part of the velocity limits while the arm overlaps something")
    # ---- the filter: speed and separation, evasion, things
    separation: bool = setting(True, "", "hold the speed towards people to `mode`; false: overlap alone counts")
    mode: str = setting("separation", MODES, "held to what: separation, power_and_force (what contact bears), or both")
    latency: float = setting(0.01, "[0, 60] s", "part of T_r that no stamp shows: drives")
    intrusion: float = setting(0.0, "[0, 10] m", "C: how far a hand reaches before the sensor has it")
    robot_uncertainty: float = setting(0.02, "[0, 1] m", "Z_r: error of the arm's position; Z_d comes from the sensor")
    creep: float = setting(  # more than its bound would switch the promise off
        0.04, "[0.01, 0.05] m/s", "slower approach is let be, or a link that drifts would freeze an evasion"
    )
    evasion_distance: float = setting(
        0.12, "[0, 1] m", "a person nearer than this is retreated from; hands farther off"
    )
    evasion_hands: float = setting(
        0.14, "[0, 1] m", "hands, and what has no name, are retreated from so much farther off"
    )
    evasion_gain: float = setting(4.5, "(0, 100] 1/s", "speed of retreat for each metre that is missing")
    evasion_speed: float = setting(2.5, "(0, 100] m/s", "greatest speed that evasion asks of a point")
    evasion_time: float = setting(0.04, "[0, 1] s", "time in which evasion follows what is asked; less if urgent")
    evasion_weight: float = setting(8.0, "(0, 1e6]", "of missed evasion, (m/s)^2, against the wish in velocity limits")
    evasion_effort: float = setting(0.5, "(0, 10]", "most that evasion asks of a point, in speeds its joints can give")
    keep_off: float = setting(0.02, "[0, 1] m", "from the floor, things and the arm itself")
    thing_gain: float = setting(4.0, "(0, 100] 1/s", "speed towards them for each metre that is left")
    thing_weight: float = setting(1000.0, "(0, 1e6]", "as evasion_weight, of the floor, things and the arm itself")
    jerk: float = setting(
        18.0, "[0, 1e4] 1/s", "how fast the acceleration of a joint may change, in accelerations a second; 0: any"
    )
    contact: Contact | None = setting(None, "", "contact felt by the joints' torques, which must be measured")
    # ---- time
    max_state_age: float = setting(0.02, "(0, 10] s", "an older joint state stops the arm")
    max_repeats: int = setting(5, "[0, 1000]", "cycles in a row that one joint state may serve beyond its first")
    clock_tolerance: float = setting(0.01, "[0, 60] s", "how far a stamp may lie in the future")
    clock_step: float = setting(1.0, "(0, 10] s", "a longer gap between cycles is a step of the clock")
    max_overruns: int = setting(3, "[1, 1000]", "late cycles in a row that stop the arm")
    max_overrun: int = setting(10, "[1, 1000]", "periods by which a single cycle may be late; more stops the arm")
    hold_time: float = setting(2.0, "[0, 60] s", "how long an expired goal is held before the arm stops")
    # ---- flight recorder
    record: float = setting(5.0, "(0, 600] s", "how far back the flight recorder reaches")
    record_after: float = setting(1.0, "[0, 600] s", "how long it goes on after a stop before it puts the record aside")

    def __post_init__(self) -> None:
        super().__post_init__()
        # A joint that turns round crosses its noise twice before it is seen to move; half of the debt must be left.
        bounded(self, "encoder_noise", most=self.following_error / 4.0)
        bounded(self, "max_human_speed", least=self.human_speed)
        bounded(self, "record_after", most=self.record)
        if self.max_age is not None:
            _fits(self.max_age, self.sensor)

    @property
    def clearance(self) -> float:
        """C + Z_d + Z_r, m."""
        return self.intrusion + self.sensor.uncertainty + self.robot_uncertainty

    @property
    def oldest(self) -> float:
        """The age of data about people, s, from which the arm stops."""
        return self.sensor.longest_age if self.max_age is None else self.max_age


def _fits(max_age: float, sensor: Sensor) -> None:
    """Refuses a `max_age` (s) that stops the arm at every frame, warns of one that does at every drop-out."""
    allowed = max_age + ROUNDING
    if allowed < sensor.ordinary_age:
        numbers = f"latency {sensor.latency:g} + frame_period {sensor.frame_period:g}"
        least = f"at least {sensor.ordinary_age:g} s, as old as the sensor's frames become before the next ({numbers})"
        raise FieldError("max_age", least, max_age, place="Limits")
    if allowed < sensor.longest_age:
        log.warning(
            "Limits: max_age is %g s, but the sensor's frames become %g s old in a drop-out that is normal (latency %g "
            "+ 2 x frame_period %g + dropout %g): each such drop-out will stop the arm until it is reset",
            *(max_age, sensor.longest_age, sensor.latency, sensor.frame_period, sensor.dropout),
        )


@dataclass(frozen=True, eq=False)
class Bounds:
    """The limits of every joint, (n,) each, finite."""

    lower: Array
    upper: Array
    velocity: Array
    acceleration: Array
    effort: Array

    @property
    def table(self) -> Array:
        """All of them, (5, n), for compiled code."""
        return np.array([self.lower, self.upper, self.velocity, self.acceleration, self.effort])


def bounds(limits: Limits, arm: Arm, lower: Array, upper: Array, *, torque: bool = False) -> Bounds:
    """The bounds of an arm, or a ConfigError that names the joint for which there can be none."""
    model = arm.model
    velocity = _given(limits, "velocities", arm)
    if velocity is None:
        velocity = model.velocity.astype(float)
        for i, joint in enumerate(arm.joint_names):
            if velocity[i] == 0:
                raise ConfigError(
                    f"{arm.name}: joint {joint!r}: velocity limit is zero; expected one above 0, or Limits.velocities"
                )
            if not np.isfinite(velocity[i]):
                velocity[i] = limits.velocity if model.revolute(i) else limits.linear_velocity
                log.warning("%s: joint %r has no velocity limit; %g is used", arm.name, joint, velocity[i])
    acceleration = _given(limits, "accelerations", arm)
    if acceleration is None:
        revolute = [model.revolute(i) for i in range(arm.n)]
        acceleration = np.where(revolute, limits.acceleration, limits.linear_acceleration)
    for i, joint in enumerate(arm.joint_names):
        if torque and model.effort[i] == 0:
            raise ConfigError(
                f"{arm.name}: joint {joint!r}: effort limit is zero; a torque controller needs one above 0"
            )
        if torque and not np.isfinite(model.effort[i]):
            log.warning("%s: joint %r has no effort limit; its torque is not limited", arm.name, joint)
        if not lower[i] < upper[i]:
            raise ConfigError(
                f"{arm.name}: joint {joint!r}: position limits leave no room: {lower[i]:g} to {upper[i]:g}"
            )
    effort = model.effort * limits.torque_fraction
    return Bounds(*(np.clip(x, -UNLIMITED, UNLIMITED) for x in (lower, upper, velocity, acceleration, effort)))


def _given(limits: Limits, name: str, arm: Arm) -> Array | None:
    values = getattr(limits, name)
    if not values:
        return None
    if len(values) != arm.n:
        raise ConfigError(f"Limits: {name}: expected {arm.n} numbers, one a joint of {arm.name}; got {len(values)}")
    return np.array(values)


# ---- start-up checks
class AnyController(Protocol):
    """Any controller that a supervisor can check: it has an arm and gives commands."""

    arm: Arm

    def step(self, t: float, dt: float, state: State, obstacles: Obstacles, goal: Goal) -> Command:
        """The command for now."""


class PairedController(AnyController, Protocol):
    """A controller that shares its table of pairs, as the filter needs it; `Controller` is one."""

    layout: PairLayout
    pairs: Array  # (P, 13) after a step
    all_rows: Array  # the capsules of arm and obstacles, and room for people as last seen

    def obstacles(self, *, own: bool = False) -> Obstacles:
        """New places for obstacles, or its own memory of them."""


def paired(controller: AnyController) -> PairedController | None:
    """The controller, if it has a table of pairs."""
    has_all = all(hasattr(controller, name) for name in ("layout", "pairs", "all_rows", "obstacles"))
    return cast(PairedController, controller) if has_all else None


@dataclass(frozen=True, eq=False)
class Facts:
    """Facts about a controller that its supervisor needs."""

    pairs: PairLayout | None  # of its pair table, None if it has none
    places: tuple[int, int, int]  # people, others, capsules a person
    period: float  # s
    reaction: float  # s, T_r of speed and separation
    torque: bool
    bounds: Bounds
    floor: float | None  # m, its height, if there is one


def facts(controller: AnyController, limits: Limits, places: tuple[int, int, int] | None) -> Facts:
    """The facts, or a ConfigError that says what is missing."""
    layout: PairLayout | None = getattr(controller, "layout", None)
    pairs = layout if paired(controller) is not None else None
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


# ---- what the filter's programs take
class FilterRules(NamedTuple):
    """The limits that the filter's formulas need: numbers, or a program's inputs in their place."""

    horizon: Scalar  # s: longest time that a command may have to last
    period: Scalar
    reaction: Scalar
    clearance: Scalar  # C + Z; -ANYWHERE: only overlap counts
    retreat_fraction: Scalar
    creep: Scalar
    hold_damping: Scalar
    stop_factor: Scalar
    stop_distance: Scalar  # -ANYWHERE: never
    overspeed: Scalar
    evasion_gain: Scalar
    evasion_speed: Scalar
    evasion_weight: Scalar
    evasion_effort: Scalar
    evasion_time: Scalar
    floor: Scalar
    keep_off: Scalar
    thing_gain: Scalar
    thing_weight: Scalar
    jerk: Scalar | None  # None where it is not limited
    has_floor: bool = False
    mode: str = MODES[0]


RULES = FilterRules._fields[:-2]  # those that are numbers


def rule_values(limits: Limits, facts: Facts, horizon: float) -> Array:
    """RULES as an array; horizon (s) is the longest time that a command may have to last."""
    known = {"horizon": horizon, "period": facts.period, "reaction": facts.reaction, "floor": facts.floor or 0.0}
    known["stop_distance"] = limits.stop_distance or -ANYWHERE
    known["clearance"] = limits.clearance if limits.separation else -ANYWHERE
    return np.array([known[x] if x in known else float(getattr(limits, x)) for x in RULES])
