"""The people of a scene as settings: what a file says about each of them, and the coworker that comes of it.

    [people.visitor]
    kind = "walk"                  walk, random, reach, still or recorded
    start = [2.5, 0.0]             m, from the scene's origin

`make` gives what the sensor shows and what is true.  They differ for a recording with gaps alone: the sensor has old
data there, while the person went on; a straight line through the gap is the best that is known of that.
"""

from __future__ import annotations

import dataclasses
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol, Self, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ...avoidance.checks import Settings, refusal, setting
from ...avoidance.protocols import lacking
from ...errors import ConfigError, RecordingError
from ...geometry import Person
from ...geometry.person import POINTS
from ..mocap.recorded import Placement, Recorded, info_file, read_motion, read_placement
from ..mocap.tracks import Motion
from ..task import Point
from .coworker import Coworker
from .reach import Reach
from .walking import RandomWalk, Still, Walk

Array = NDArray[np.float64]
SHAPES = ("cylinder", "standing")
RADIUS = 0.2  # m: half as deep as broad shoulders are wide; the thesis does not give its cylinder's
WHOLE = 1e6  # s: longer than any gap
FASTEST = 20.0  # m/s: what is faster is a slip of units
LONGEST = 86400.0  # s: likewise


class Seen(NamedTuple):
    """A person as a sensor shows them, and as they are."""

    sensed: Coworker
    actual: Coworker


class PersonSettings(Protocol):
    """Settings of a person."""

    def make(self, origin: Array, floor: float) -> Seen:
        """The coworker, with the scene's origin (3,) and the height of its floor, m."""


@runtime_checkable
class Movable(Protocol):
    """Settings of a person who can be put elsewhere, as all of this module are."""

    def moved(self, dx: float, dy: float) -> PersonSettings:
        """The same person with all that they do dx and dy (m) farther along x and y."""


Who = TypeVar("Who", bound=Any)


def _moved(settings: Who, dx: float, dy: float, *names: str) -> Who:
    """Settings with points of these names, x and y first, moved."""
    points = {name: getattr(settings, name) for name in names}
    moved = {name: (x + dx, y + dy, *rest) for name, (x, y, *rest) in points.items()}
    return dataclasses.replace(settings, **moved)


def _made(who: Coworker) -> Seen:
    return Seen(who, who)


@dataclass(frozen=True)
class WalkSettings(Settings):
    """A person who walks back and forth (`Walk`)."""

    start: tuple[float, float] = setting((2.5, 0.0), "[-1000, 1000] m", "where they begin, from the origin")
    end: tuple[float, float] = setting((1.0, 0.0), "[-1000, 1000] m", "where they turn")
    speed: float = setting(0.3, f"(0, {FASTEST}] m/s", "of walking")
    periods: float | None = setting(None, "(0, 1e6]", "there and back so often, halves too; for ever if left out")
    pause: float = setting(0.0, f"[0, {LONGEST}] s", "waited at each end")
    delay: float = setting(0.0, f"[0, {LONGEST}] s", "waited before the first step")
    acceleration: float | None = setting(None, "(0, 1000] m/s^2", "of turning; at once if left out, as in the thesis")
    shape: str = setting("cylinder", SHAPES, "cylinder or standing")
    height: float = setting(1.8, "[0.5, 2.5] m", "of the person")
    radius: float = setting(RADIUS, "[0.02, 1] m", "of the cylinder")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.start == self.end:
            raise refusal(self, "end", "another point than start; still is the kind of who stays")
        if self.periods is not None and self.periods * 2 % 1:
            raise refusal(self, "periods", "a multiple of a half")

    def make(self, origin: Array, floor: float) -> Seen:
        """The walk."""
        start, end = (np.array([origin[0] + x, origin[1] + y, floor]) for x, y in (self.start, self.end))
        named = ("pause", "delay", "acceleration", "height", "radius")
        options: dict[str, Any] = {"shape": self.shape} | {name: getattr(self, name) for name in named}
        return _made(Walk(start, end, self.speed, self.periods, **options))

    def moved(self, dx: float, dy: float) -> Self:
        """The walk, so much (m) farther along x and y."""
        return _moved(self, dx, dy, "start", "end")


@dataclass(frozen=True)
class WanderSettings(Settings):
    """A person who moves at random (`RandomWalk`)."""

    seed: int = setting(1, f"[0, {2**63 - 1}]", "the same seed gives the same path")
    area: tuple[float, float, float, float] = setting(
        (0.3, 2.0, -1.2, 1.2), "[-1000, 1000] m", "x0, x1, y0, y1 from the origin"
    )
    max_speed: float = setting(2.0, f"(0, {FASTEST}] m/s", "what is never exceeded")
    turn: float = setting(0.0, "[-100, 100] rad", "how far the body turns to the side that it moves to")
    facing: float = setting(math.pi, "[-100, 100] rad", "where a standing person looks; pi: at an arm that faces +x")
    shape: str = setting("cylinder", SHAPES, "cylinder or standing")
    height: float = setting(1.8, "[0.5, 2.5] m", "of the person")
    radius: float = setting(RADIUS, "[0.02, 1] m", "of the cylinder")

    def __post_init__(self) -> None:
        super().__post_init__()
        x0, x1, y0, y1 = self.area
        if not (x0 <= x1 and y0 <= y1 and (x0 < x1 or y0 < y1)):
            raise refusal(self, "area", "x0, x1, y0, y1 with x0 <= x1 and y0 <= y1, not both equal")

    def make(self, origin: Array, floor: float) -> Seen:
        """The random walk."""
        x0, x1, y0, y1 = self.area
        area = (origin[0] + x0, origin[0] + x1, origin[1] + y0, origin[1] + y1)
        named = ("shape", "facing", "turn", "height", "radius")
        options: dict[str, Any] = {"floor": floor} | {name: getattr(self, name) for name in named}
        return _made(RandomWalk(self.seed, area, self.max_speed, **options))

    def moved(self, dx: float, dy: float) -> Self:
        """The area, so much (m) farther along x and y."""
        x0, x1, y0, y1 = self.area
        return dataclasses.replace(self, area=(x0 + dx, x1 + dx, y0 + dy, y1 + dy))


@dataclass(frozen=True)
class ReachSettings(Settings):
    """A person who stands and reaches in with one hand (`Reach`)."""

    position: tuple[float, float] = setting((1.0, 0.0), "[-1000, 1000] m", "where they stand, from the origin")
    target: Point = setting((0.2, 0.0, 0.0), "[-1000, 1000] m", "what the hand goes to, from the origin")
    start: float = setting(1.0, f"[0, {LONGEST}] s", "when the hand leaves")
    reach_time: float = setting(0.9, f"(0, {LONGEST}] s", "of the hand's way")
    hold: float = setting(1.0, f"[0, {LONGEST}] s", "the hand stays there")
    pause: float = setting(1.0, f"[0, {LONGEST}] s", "until the next time")
    times: int | None = setting(None, "[1, 1000000]", "how often; for ever if left out")
    hand: str = setting("right", ("right", "left"), "right or left")
    height: float = setting(1.8, "[0.5, 2.5] m", "of the person")

    def make(self, origin: Array, floor: float) -> Seen:
        """The reach."""
        stands = (origin[0] + self.position[0], origin[1] + self.position[1], floor)
        target = origin + np.array(self.target)
        named = ("start", "reach_time", "hold", "pause", "times", "hand", "height")
        options: dict[str, Any] = {name: getattr(self, name) for name in named}
        return _made(Reach(np.array(stands), target, **options))

    def moved(self, dx: float, dy: float) -> Self:
        """Feet and target, so much (m) farther along x and y."""
        return _moved(self, dx, dy, "position", "target")


@dataclass(frozen=True)
class StandSettings(Settings):
    """A person, or something as large, that stays."""

    position: tuple[float, float] = setting((1.0, 0.0), "[-1000, 1000] m", "where they stand, from the origin")
    facing: float = setting(math.pi, "[-100, 100] rad", "where a standing person looks")
    shape: str = setting("cylinder", SHAPES, "cylinder or standing")
    height: float = setting(1.8, "[0.5, 2.5] m", "of the person")
    radius: float = setting(RADIUS, "[0.02, 1] m", "of the cylinder")

    def make(self, origin: Array, floor: float) -> Seen:
        """The person, at rest."""
        at = (origin[0] + self.position[0], origin[1] + self.position[1], floor)
        if self.shape == "cylinder":
            return _made(Still(Person.cylinder(at, self.height, self.radius)))
        return _made(Still(Person.standing(at, self.facing, self.height)))

    def moved(self, dx: float, dy: float) -> Self:
        """The person, so much (m) farther along x and y."""
        return _moved(self, dx, dy, "position")


@dataclass(frozen=True)
class RecordedSettings(Settings):
    """A recorded person (`Recorded`)."""

    file: str = setting("", "", "a Vicon CSV, a BVH file or a ROS 2 bag")
    position: tuple[float, float] | None = setting(
        None,
        "[-1000, 1000] m",
        "where the hips are on average, from the origin; as recorded if left out",
    )
    turn: float = setting(0.0, "[-100, 100] rad", "by which the take is turned about the vertical, before it is moved")
    rate: float = setting(0.0, "[0, 10000] Hz", "pictures of the sensor in a second; 0: as the recording has them")
    bridge: float = setting(0.0, f"[0, {WHOLE}] s", "gaps up to this are filled for the sensor too")
    end: str = setting("hold", ("hold", "stale"), "after the last frame: hold (they stay), stale (sensor silent)")

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.file:
            raise refusal(self, "file", "the name of a recording, Vicon CSV, BVH or a ROS 2 bag")

    def make(self, origin: Array, floor: float) -> Seen:
        """The recording as the sensor has it; and with every gap filled."""
        path = Path(self.file)
        motion, info = read_motion(path), info_file(path)
        placement = read_placement(info) if os.path.isfile(info) else Placement()
        placement = placement.then((0.0, 0.0, floor), self.turn)
        start = _first(motion, self.bridge)
        whole: dict[str, Any] = {"bridge": WHOLE, "start": start, "end": "hold", "floor": floor}
        if self.position is not None:
            take = Recorded(motion, placement, **whole)
            hips = np.mean([take.point(t)[0] for t in np.linspace(0.0, take.duration, 200)], axis=0)
            x, y = origin[:2] + np.array(self.position) - hips[:2]
            placement = placement.then((float(x), float(y), 0.0))
        options: dict[str, Any] = {"rate": self.rate or None, "start": start, "end": self.end, "floor": floor}
        return Seen(Recorded(motion, placement, bridge=self.bridge, **options), Recorded(motion, placement, **whole))

    def moved(self, dx: float, dy: float) -> Self:
        """The take, so much (m) farther along x and y; one without a position stays where it was recorded."""
        return self if self.position is None else _moved(self, dx, dy, "position")


def _first(motion: Motion, bridge: float) -> float | None:
    """When the sensor has its first whole frame, s: with every gap filled there may be one before, and a shift in time.

    None if it never has one, which `Recorded` refuses.
    """
    seen = motion.only([name for name in motion.points if name in POINTS]).bridged(bridge)
    return float(seen.times[int(np.argmax(seen.complete))]) if seen.complete.any() else None


def made(people: Mapping[str, PersonSettings], origin: Array, floor: float) -> dict[str, Seen]:
    """The people of a scene by name; a ConfigError says who cannot be."""
    found = {}
    for name, who in people.items():
        try:
            seen = who.make(origin, floor)
        except RecordingError:
            raise  # begins with its own file
        except ValueError as error:
            raise ConfigError(f"people.{name}: {error}") from error
        place = f"people.{name}: {type(who).__name__}.make"
        if not isinstance(seen, Seen):
            raise ConfigError(f"{place}: expected Seen(sensed, actual), two coworkers; got {seen!r:.60}")
        for part, coworker in seen._asdict().items():
            if why := lacking(coworker, Coworker):
                raise ConfigError(f"{place}: expected a coworker as {part}, but {why}; got {coworker!r:.60}")
            if isinstance(coworker.names, str) or not all(isinstance(name, str) for name in coworker.names):
                told = f"the names of its capsules; got {coworker.names!r:.60}"
                raise ConfigError(f"{place}: {type(coworker).__name__}.names: expected {told}")
            _whereabouts(f"{place}: {type(coworker).__name__}.point", coworker.point(0.0))
        found[name] = seen
    return found


def _whereabouts(what: str, given: object) -> None:
    """Refuses what is no place with its velocity."""
    expected = f"{what}: expected a place (3,) and a velocity (3,)"
    if not isinstance(given, tuple | list) or len(given) != 2:
        raise ConfigError(f"{expected}; got {given!r:.60}")
    shapes = [np.shape(part) for part in given]
    if shapes != [(3,), (3,)]:
        raise ConfigError(f"{expected}; got shapes {shapes[0]} and {shapes[1]}")


KINDS: dict[str, type[PersonSettings]] = {
    "walk": WalkSettings,
    "random": WanderSettings,
    "reach": ReachSettings,
    "still": StandSettings,
    "recorded": RecordedSettings,
}
"""What `kind` says in a scene's file."""
