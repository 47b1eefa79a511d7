"""What a run of an experiment leaves: its recording, its numbers, and the thesis' numbers beside them.

An outcome belongs to a test of the thesis' chapter 4, or to a scene of another kind (a recorded person).  Its table has
one array per column, one row per control step, with the columns of a recording.  As a row of JSON it is

    {"test" or "scene", "variant", "plant", "robot", "metrics", "thesis"}

JSON has no numbers that are not finite: they are null there.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Table = Mapping[str, NDArray[Any]]
"""A recording: column -> array, all of one length."""

Value = float | int | str | bool | list[float] | dict[str, float] | None
"""What a metric may be."""

PRINTED, IMPROVED, SUPERVISED = "printed", "improved", "supervised"
"""Variants: the laws as the thesis prints them; elbowroom's own settings under its supervisor (tests 1 to 4); and the
test's own gains under the supervisor.  All but the last two run the bare controller."""


@dataclass(frozen=True, eq=False)
class Outcome:
    """One run: of a test (1 to 7) or of a scene, never of both."""

    test: int | None
    scene: str | None
    variant: str
    plant: str
    robot: str
    title: str
    metrics: Mapping[str, Value]
    thesis: Mapping[str, float] = field(default_factory=dict)
    table: Table = field(default_factory=dict, repr=False)
    csv: Path | None = None

    def __post_init__(self) -> None:
        if (self.test is None) == (self.scene is None):
            raise ValueError(
                f"an outcome is of a test or of a scene: give one of them; got test={self.test!r}, scene={self.scene!r}"
            )

    @property
    def what(self) -> str:
        """The test or the scene, in words."""
        return f"test {self.test}" if self.test is not None else str(self.scene)

    @property
    def supervised(self) -> bool:
        """Whether the supervisor could stop this run."""
        return same_variant(self.variant, SUPERVISED) or same_variant(self.variant, IMPROVED)

    def row(self) -> dict[str, object]:
        """As data for JSON: plain Python values, nothing that is not finite."""
        key, name = ("test", self.test) if self.test is not None else ("scene", self.scene)
        return {
            key: name,
            "variant": self.variant,
            "plant": self.plant,
            "robot": self.robot,
            "metrics": plain(self.metrics),
            "thesis": plain(self.thesis),
        }


def rows(outcomes: Iterable[Outcome]) -> str:
    """All of them as one JSON text."""
    return json.dumps([outcome.row() for outcome in outcomes], indent=2, allow_nan=False) + "\n"


def plain(value: object) -> object:
    """Numbers of NumPy as Python's, arrays as lists, and None for what is not finite."""
    if isinstance(value, Mapping):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [plain(inner) for inner in value]
    return value


def same_variant(variant: str, wanted: str) -> bool:
    """Whether a variant is the wanted one: its words begin with these, joined by "-", "_" or spaces."""
    return _words(variant)[: len(_words(wanted))] == _words(wanted)


def _words(name: str) -> list[str]:
    return name.lower().replace("-", " ").replace("_", " ").split()


def find(outcomes: Iterable[Outcome], test: int, variant: str | None = None) -> Outcome | None:
    """The first run of a test with that variant; without one, the first that is not supervised."""
    for outcome in outcomes:
        if outcome.test != test:
            continue
        if (not outcome.supervised) if variant is None else same_variant(outcome.variant, variant):
            return outcome
    return None
