"""The figures of the thesis' chapter 4, one entry each: its caption, the runs that it needs, how it is drawn.

    draw("4.2", outcomes, view, [Path("fig.svg"), Path("fig.pdf")])
    draw_all(outcomes, view, folder)         every figure whose runs are there; the others are told with what they lack

Figure 4.13, the state diagram of the cell, is no recording's.  One look for all (style.py); the thesis' numbers
are thin dashed lines with their values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from ....errors import ElbowroomError, UnknownNameError
from ...figures import pyplot
from ..outcome import Outcome, Table, find
from . import curves, scenes
from .style import LOOK, save
from .views import View

FILTER, NO_FILTER = "filter", "no filter"
NOISE_FILTER, NOISE_NO_FILTER = "noise filter", "noise no filter"
WEAK, STRONG, SCALING = "weak", "strong", "scaling"


class Need(NamedTuple):
    """A run that a figure is drawn from; without a variant, the first of the test that is not supervised."""

    test: int
    variant: str | None = None

    def __str__(self) -> str:
        return f"test {self.test}" + ("" if self.variant is None else f" ({self.variant})")


class Entry(NamedTuple):
    """A figure: what it shows, the runs that it needs in this order, and its function (pyplot, tables, view)."""

    caption: str
    needs: tuple[Need, ...]
    draw: Callable[[Any, Sequence[Table], View], Any]

    @property
    def test(self) -> int:
        """The test that it belongs to."""
        return self.needs[0].test


@dataclass(frozen=True)
class Drawn:
    """A figure as files, or why there is none."""

    caption: str
    test: int
    paths: tuple[Path, ...] = ()
    missing: str = ""
    plant: str = ""

    @property
    def svg(self) -> Path | None:
        """The file that a page takes in."""
        return next((path for path in self.paths if path.suffix.lower() == ".svg"), None)


_ONE, _TWO = (Need(1, FILTER),), (Need(1, FILTER), Need(1, NO_FILTER))

FIGURES: dict[str, Entry] = {
    "4.1": Entry("Test 1: the scene. Dashed capsules are what the controller sees of the arm.", _ONE, scenes.layout),
    "4.2": Entry("Test 1: x of tool and coworker, and their difference, with and without the filter.", _TWO,
                 curves.places_twice),
    "4.3": Entry("Test 1: least distance of coworker and robot.", _ONE, curves.distances(1)),
    "4.4": Entry("Test 1: x velocity of the tool, with and without the filter.", _TWO, curves.velocity_twice),
    "4.4b": Entry("Test 1, a sensor that errs: x velocity of the tool, with and without the filter. Not in the thesis.",
                  (Need(1, NOISE_FILTER), Need(1, NOISE_NO_FILTER)), curves.velocity_twice),
    "4.5": Entry("Test 2: x of tool and coworker, and their difference.", (Need(2),), curves.places(2, "x")),
    "4.6": Entry("Test 2: least distance of coworker and robot.", (Need(2),), curves.distances(2)),
    "4.7": Entry("Test 2: x velocity of the tool.", (Need(2),), curves.velocity(2)),
    "4.8": Entry("Test 3: the scene; the coworker comes from the side.", (Need(3),), scenes.layout),
    "4.9": Entry("Test 3: y of tool and coworker, and their difference.", (Need(3),), curves.places(3, "y")),
    "4.10": Entry("Test 3: least distance of coworker and robot.", (Need(3),), curves.distances(3)),
    "4.11": Entry("Test 4: x of tool and coworker, and their difference.", (Need(4),), curves.places(4, "x")),
    "4.12": Entry("Test 4: x velocity of the tool under F, and how much each joint moves under K and under F.",
                  (Need(4), Need(1, FILTER)), curves.velocity_and_joints),
    "4.14": Entry("Test 5: ways of the tool and of the coworker.", (Need(5),), scenes.trajectories),
    "4.15": Entry("Test 5: moments of the cell, from above.", (Need(5),), scenes.snapshots),
    "4.16": Entry("Test 6: the scene; the arrow shows how the tool swings.", (Need(6),), scenes.trap),
    "4.17": Entry("Test 6: x velocities of the tool and of the obstacle.", (Need(6),), curves.trapped_velocities),
    "4.18": Entry("Test 6: x of the tool, of its goal and of the obstacle.", (Need(6),), curves.trapped_places),
    "4.19": Entry("Test 7: the approach.", (Need(7, SCALING),), scenes.approach),
    "4.20": Entry("Test 7, weak potential: angle of joint 3.", (Need(7, WEAK),), curves.joint3),
    "4.21": Entry("Test 7, strong potential: angle of joint 3.", (Need(7, STRONG),), curves.joint3),
    "4.22": Entry("Test 7, strong potential: x velocity of the tool.", (Need(7, STRONG),), curves.velocity(7)),
    "4.23": Entry("Test 7, scaling factor: angle of joint 3.", (Need(7, SCALING),), curves.joint3_scaled),
    "4.24": Entry("Test 7, scaling factor: x velocity of the tool.", (Need(7, SCALING),), curves.velocity(7)),
}  # fmt: skip
"""The figures, by their numbers in the thesis; a letter marks one that it does not have."""


def name(number: str) -> str:
    """The name of a figure's files, without a suffix: figure_4_02 for 4.2, so that they sort."""
    chapter, _, place = number.partition(".")
    letter = place.lstrip("0123456789")
    return f"figure_{chapter}_{int(place.removesuffix(letter)):02d}{letter}"


def draw(number: str, outcomes: Iterable[Outcome], view: View, paths: Sequence[Path]) -> Drawn:
    """One figure from the runs of one arm on one plant, as files whose suffixes say the formats.

    Where a run is not there, nothing is written and `missing` says which.
    """
    if number not in FIGURES:
        raise UnknownNameError(f"no figure {number!r}; there are {', '.join(FIGURES)}")
    entry, runs = FIGURES[number], list(outcomes)
    tables: list[Table] = []
    plant = ""
    for need in entry.needs:
        run = find(runs, need.test, need.variant)
        if run is None or len(run.table.get("t", ())) < 2:
            return Drawn(entry.caption, entry.test, missing=f"no run of {need}")
        tables.append(run.table)
        plant = run.plant
    plt = pyplot()
    with plt.rc_context(LOOK):
        figure = entry.draw(plt, tables, view)
        return Drawn(entry.caption, entry.test, tuple(save(plt, figure, paths)), plant=plant)


def draw_all(
    outcomes: Iterable[Outcome],
    view: View,
    folder: Path,
    *,
    suffixes: Sequence[str] = (".svg", ".png"),
    tests: Iterable[int] | None = None,
    progress: Callable[[int, int, str], None] | None = None,
) -> Mapping[str, Drawn]:
    """Every figure (of these tests) into a folder, from the runs of one arm on one plant; see `chosen`.

    A figure that cannot be drawn does not take the others with it: it is told as missing, with the reason.
    """
    runs = list(outcomes)
    wanted = None if tests is None else set(tests)
    numbers = [number for number, entry in FIGURES.items() if wanted is None or entry.test in wanted]
    found: dict[str, Drawn] = {}
    for k, number in enumerate(numbers):
        if progress is not None:
            progress(k, len(numbers), f"figure {number}")
        entry = FIGURES[number]
        try:
            found[number] = draw(number, runs, view, [folder / f"{name(number)}{suffix}" for suffix in suffixes])
        except (ValueError, KeyError, IndexError, ElbowroomError) as error:
            found[number] = Drawn(entry.caption, entry.test, missing=f"could not be drawn: {error}")
    return found


def chosen(outcomes: Iterable[Outcome], robot: str, plant: str) -> list[Outcome]:
    """The runs of the tests with one arm on one plant."""
    return [run for run in outcomes if run.test is not None and run.robot == robot and run.plant == plant]
