"""Waiting: an arm whose goal is occupied by a person keeps farther from people until the goal is free.

Beside a person who stands at its goal an arm gains nothing, and that is where hands meet it: they start from rest,
0.3 to 0.5 m away, and a sensor reports it a tenth of a second later.  With g the distance from the goal to the nearest
surface of a person:

    level = (clear - g) / (clear - near), between 0 and 1; followed in `time`, first order
    influence of people = influence + level (waiting.influence - influence), if that is more

That is the influence of all people, in the field's own measure; g is to surfaces.  Things keep what they have.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...algebra import maximum, minimum, sqrt
from ...algebra.linalg import Array, dot
from ...geometry.segments import projection
from ...geometry.shapes import RADIUS, A, B
from ..settings import less, non_negative, positive, setting

OCCUPIED = "a person occupies the goal: the arm waits at a distance until it is free"
HALF = 0.5  # the level from which a command says so


@dataclass(frozen=True)
class Waiting:
    """How an arm waits for a goal that a person occupies."""

    influence: float = setting(0.8, "m", "of people, while one of them occupies the goal")
    near: float = setting(0.22, "m", "a person nearer to the goal than this occupies it")
    clear: float = setting(0.42, "m", "a person farther from it leaves it free")
    time: float = setting(0.15, "s", "time in which the influence follows")

    def __post_init__(self) -> None:
        positive(self, "influence", "clear", most=10.0)
        non_negative(self, "near", "time", most=10.0)
        less(self, "near", "clear")


def occupied(rules: Any, goal: Array, people: list[Array]) -> Any:
    """From 0, the goal (3,) is free, to 1, one of some capsules (13,) occupies it."""
    level: Any = 0.0
    per_metre = 1.0 / (rules.clear - rules.near)
    for row in people:
        off = goal - (row[A] + (row[B] - row[A]) * projection(goal, row[A], row[B]))
        distance = sqrt(dot(off, off)) - row[RADIUS]
        level = maximum(level, minimum((rules.clear - distance) * per_metre, 1.0))
    return level


def followed(rules: Any, level: Any, wanted: Any, dt: Any) -> Any:
    """The level after dt."""
    return level + (wanted - level) * (dt / maximum(dt + rules.time, 1e-9))


def influence(rules: Any, field: Any, level: Any) -> Any:
    """How far a field of people reaches, m."""
    return field.influence + level * maximum(rules.influence - field.influence, 0.0)
