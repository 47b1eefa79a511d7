"""`elbowroom bench distance`: the arm's capsules against a person's, beside coal.

    all pairs                   distances, points and normals of every pair, the capsules' places given
    all pairs, from the joints  the same from q: kinematics and the capsules' places; ours has velocities, too
    nearest pair                which, and how far
    one pair                    a call for two shapes
    all pairs, batch            many scenes at once, time a scene

coal stands in two ways: its own function called from Python for each pair, and Pinocchio's compiled loop over all pairs
(`computeDistances`).  Its tree of boxes, which need not look at every pair to find the nearest, is left out: through
its default callback coal 3.0.3 answered with a distance that was not the least for most scenes that we tried.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import NamedTuple

import numpy as np

from .. import __version__, geometry
from ..geometry.pairs import Pairs
from ..geometry.shapes import RADIUS, A, B
from .peers.avoidance import capsule_shape, pinocchio_scene
from .scene import PlacedCapsule, TimedScene, of_rows, scene
from .timing import ROUNDS, US, Contender, Progress, Report, Row, cpu_name, raced, silent

STATES = 256  # scenes of a batch
ALL, FROM_JOINTS, NEAREST, ONE, BATCH = (
    "all pairs",
    "all pairs, from the joints",
    "nearest pair",
    "one pair",
    "all pairs, batch",
)
COAL, LOOP = "coal", "coal in Pinocchio"
Calls = dict[str, dict[str, Callable[[], object]]]  # quantity -> who -> call


def run(*, rounds: int = ROUNDS, shown: TimedScene | None = None, progress: Progress = silent) -> Report:
    """Measure; `progress` is told what is being measured.  `shown` is the scene, if not the usual one."""
    shown = scene(STATES) if shown is None else shown
    calls = ours(shown)
    versions = {US: __version__}
    missing: list[str] = []
    coal, pin = _library("coal", "coal", missing), _library("Pinocchio", "pinocchio", missing)
    if coal is not None:
        _add(calls, of_coal(coal, shown))
        versions[COAL] = coal.__version__
    if coal is not None and pin is not None:
        _add(calls, of_pinocchio(pin, coal, shown))
        versions[LOOP] = f"{coal.__version__} in {pin.__version__}"
    rows: list[Row] = []
    for quantity, contenders in calls.items():
        progress(f"{shown.arm.name}: {quantity}")
        rows += _rows(shown, quantity, contenders, versions, rounds)
    return Report(rows, missing, cpu_name())


def _library(name: str, module: str, missing: list[str]) -> ModuleType | None:
    try:
        return importlib.import_module(module)
    except ImportError:
        missing.append(name)
        return None


def _add(calls: Calls, more: Calls) -> None:
    for quantity, contenders in more.items():
        calls[quantity] |= contenders


def _rows(
    shown: TimedScene, quantity: str, calls: dict[str, Callable[[], object]], versions: dict[str, str], rounds: int
) -> Iterator[Row]:
    states = STATES if quantity == BATCH else 1
    # a loop over pairs does one scene after the other: it is timed on one
    contenders = {who: Contender(versions[who], call, states if who == US else 1) for who, call in calls.items()}
    return raced("distance", shown.arm, quantity, contenders, rounds, states)


def ours(shown: TimedScene) -> Calls:
    """Our calls."""
    pairs = Pairs(len(shown.body), shown.capsules)
    rows = shown.rows(0)
    out = pairs(rows)
    own = rows[: len(shown.body)]
    q, qd = shown.frames[0][:2]
    both = [geometry.Capsule(row[A], row[B], float(row[RADIUS])) for row in (rows[-2], rows[len(shown.body) - 1])]
    many = np.array([shown.rows(k % len(shown.frames)) for k in range(STATES)])
    many_out = pairs(many)
    body = shown.body

    def from_joints() -> object:
        body.rows(q, qd, out=own)
        return pairs(rows, out=out)

    return {
        ALL: {US: lambda: pairs(rows, out=out)},
        FROM_JOINTS: {US: from_joints},
        NEAREST: {US: lambda: pairs.least(rows)},
        ONE: {US: lambda: geometry.distance(*both)},
        BATCH: {US: lambda: pairs(many, out=many_out)},
    }


class _Shape(NamedTuple):
    shape: object
    transform: object


def of_coal(coal: ModuleType, shown: TimedScene) -> Calls:
    """coal's calls, pair by pair."""
    rows = shown.rows(0)
    shapes = [_shape(coal, at) for at in of_rows(rows)]
    arm, person = shapes[: len(shown.body)], shapes[len(shown.body) :]
    request, result = coal.DistanceRequest(), coal.DistanceResult()
    pairs = [(*x, *y) for x in arm for y in person]
    distance = coal.distance

    def loop() -> float:
        least = np.inf
        for x, at_x, y, at_y in pairs:
            result.clear()
            least = min(least, distance(x, at_x, y, at_y, request, result))
        return float(least)

    one = (*arm[-1], *person[-2])

    def single() -> float:
        result.clear()
        found: float = distance(*one, request, result)
        return found

    return {
        ALL: {COAL: loop},
        NEAREST: {COAL: loop},
        ONE: {COAL: single},
        BATCH: {COAL: loop},
    }


def _shape(coal: ModuleType, at: PlacedCapsule) -> _Shape:
    transform = coal.Transform3s()
    transform.setTranslation(at.middle)
    transform.setRotation(at.R)
    return _Shape(capsule_shape(coal, at), transform)


def of_pinocchio(pin: ModuleType, coal: ModuleType, shown: TimedScene) -> Calls:
    """Pinocchio's loop over coal."""
    model, shapes, _ = pinocchio_scene(pin, coal, shown, static=True)
    data, found = model.createData(), pin.GeometryData(shapes)
    q = np.array(shown.frames[0].q)
    pin.updateGeometryPlacements(model, data, shapes, found, q)
    return {
        ALL: {LOOP: lambda: pin.computeDistances(shapes, found)},
        FROM_JOINTS: {LOOP: lambda: pin.computeDistances(model, data, shapes, found, q)},
        NEAREST: {LOOP: lambda: pin.computeDistances(shapes, found)},
        BATCH: {LOOP: lambda: pin.computeDistances(shapes, found)},
    }
