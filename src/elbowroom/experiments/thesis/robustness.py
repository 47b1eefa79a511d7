"""Which results survive when a gain is another: every gain 20 % up and down, one at a time.

The thesis prints no gains, so ours are found by a search (scenes/common.toml).  A result that holds only for the gains
that were found says little about the thesis; one that holds for all their neighbours is of its laws.

    found = vary()                     # some minutes: all tests for each of `GAINS`, twice
    found[0].text, found[0].holds, found[0].of, found[0].fails

A change counts for a result only where it changes one of the runs that the result is about: F's resistance says
nothing about K.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from .checks import COMPARED, Check, checks, numbers
from .experiment import ARM, SCENES, TESTS, Experiment, Job, read, run_job

PART = 0.2
GAINS: dict[str, str] = {
    "kp of the attraction": "controller.attraction.kp",
    "ki of the attraction": "controller.attraction.ki",
    "greatest speed of the attraction": "controller.attraction.max_speed",
    "greatest part of the integral": "controller.attraction.windup",
    "gain of the field": "controller.repulsion.gain",
    "floor of distances": "controller.repulsion.floor",
    "damping of pushes": "controller.push_damping",
    "damping of the task": "controller.damping",
    "length of the average": "controller.smoothing.duration",
    "resistance of F": "controller.force.resistance",
    "time factor of F": "controller.force.time_factor",
    "margin of joint limits": "controller.joint_limits.margin",
    "weak potential": "variants.weak_potential.controller.joint_limits.gain",
    "strong potential": "variants.strong_potential.controller.joint_limits.gain",
}
"""In words -> the setting, as in the scenes' files."""

RUNS: dict[int, tuple[str, ...]] = {
    1: ("printed", "no_filter", "noise_filter", "noise_no_filter", "confined_filter", "confined_no_filter"),
    2: ("printed", "noise_filter"),
    3: ("printed",),
    4: ("printed",),
    5: ("mended", "blind"),
    6: ("mended", "alone"),
    7: ("weak_potential", "strong_potential", "scaling"),
}
"""The variants that numbers and words are about; of tests 5 and 6 the mended ones, since they fail as printed."""


@dataclass(frozen=True)
class Survival:
    """A result of the thesis, and under which changes of a gain it holds: `holds` of the `of` that touch it."""

    test: int | None
    text: str
    as_is: bool
    holds: int
    of: int
    fails: tuple[str, ...]


def value_at(table: Mapping[str, object], place: str) -> float | None:
    """The number at a dotted place of a scene's table; None where the table does not have it."""
    found: Any = table
    for name in place.split("."):
        if not isinstance(found, Mapping) or name not in found:
            return None
        found = found[name]
    return float(found)


def changed(place: str, value: float) -> dict[str, object]:
    """A table with nothing but one number, at a dotted place."""
    found: Any = value
    for name in reversed(place.split(".")):
        found = {name: found}
    return dict(found)


def scaled(test: int, place: str, factor: float) -> Experiment:
    """A test with one of its gains times a factor; as it is where it does not have that gain."""
    file = SCENES / f"test{test}.toml"
    given = value_at(read(file).table, place)
    return read(file, None if given is None else changed(place, given * factor))


@dataclass(frozen=True)
class Results:
    """What came of one set of gains: each result, and the numbers of each test's runs as text."""

    checks: Mapping[tuple[int | None, str], Check]
    runs: Mapping[int, str]

    def touched(self, other: Results, test: int | None) -> bool:
        """Whether a result about this test could have come out otherwise: one of its runs did."""
        about = TESTS if test is None else {test, COMPARED[test][0] if test in COMPARED else test}
        return any(self.runs.get(each) != other.runs.get(each) for each in about)


def _results(place: str, factor: float, told: Callable[[], object]) -> Results:
    runs, said = [], {}
    for test in TESTS:
        each = scaled(test, place, factor)
        mine = []
        for variant in RUNS[test]:
            mine.append(run_job(Job(each, variant, "kinematic")))
            told()
        said[test] = repr([run.metrics for run in mine])
        runs += mine
    return Results({(check.test, check.text): check for check in (*numbers(runs, ARM), *checks(runs, ARM))}, said)


def changes() -> Iterator[tuple[str, str, float]]:
    """What is changed: words, place and factor; the first is no change."""
    yield "as they are", next(iter(GAINS.values())), 1.0
    for words, place in GAINS.items():
        for factor in (1.0 - PART, 1.0 + PART):
            yield f"{words} {100 * (factor - 1.0):+.0f} %", place, factor


def vary(progress: Callable[[int, int, str], object] | None = None) -> list[Survival]:
    """Every result of the thesis, and how many changes of a gain it survives; `progress` gets runs done, all, words."""
    plan, each = list(changes()), sum(map(len, RUNS.values()))
    done = 0
    found: dict[str, Results] = {}
    for words, place, factor in plan:

        def told(words: str = words) -> None:
            nonlocal done
            done += 1
            if progress is not None:
                progress(done, each * len(plan), words)

        found[words] = _results(place, factor, told)
    as_is = found.pop(plan[0][0])
    rows = []
    for key, base in as_is.checks.items():
        given = {words: each.checks.get(key) for words, each in found.items() if each.touched(as_is, base.test)}
        fails = tuple(words for words, check in given.items() if check is None or not check.met)
        text = base.text.removesuffix(" (kinematic)")
        rows.append(Survival(base.test, text, base.met, len(given) - len(fails), len(given), fails))
    return sorted(rows, key=lambda row: (row.test is None, row.test or 0))
