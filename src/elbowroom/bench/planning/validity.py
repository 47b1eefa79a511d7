"""How many configurations a second one core checks: the checker beside Pinocchio with coal, on the same bodies.

The arm stands before a person of 13 capsules; the pairs are those of the arm's moving capsules with the person's, and
`Body.self_pairs`.  Configurations are drawn within the joint limits.

    distances  the least of all distances: `Checker.clearance` (float64); Pinocchio's computeDistances (all of them)
    yes or no  `Checker.free` (float32); Pinocchio's computeCollisions, which stops at the first contact

    on a card  the same distances by a CUDA card, where there is one, a configuration a thread, in both precisions

Ours takes many configurations in a call, Pinocchio one after the other: its own calls do the loop over pairs, Python
the loop over configurations.  VAMP, where it is installed, checks free motions between the configurations, eight along
one at a time: its own spheres, the same person.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import __version__
from ...arm import Arm
from ...avoidance.planning import Checker, World
from ...avoidance.planning.card import OnCard
from ...compile.cuda import library
from ...errors import ElbowroomError
from ...geometry import Body, Capsule, Person
from ..peers import vamp
from ..peers.avoidance import pinocchio_scene
from ..scene import AHEAD, TABLE, SceneFrame, TimedScene
from ..timing import US, Contender, Row, raced

Array = NDArray[np.float64]

STATES = 4096  # configurations in a call of ours
ON_CARD, CLOSE = 1 << 22, 1e-5  # configurations in a launch; m: single precision
THEIRS = 128  # of these, in a round of Pinocchio's
DISTANCES, YES_NO = "distances", "yes or no"
PINOCCHIO = "Pinocchio with coal"


def validity_scene(arm: Arm) -> TimedScene:
    """The arm at ready, and a person before it."""
    base = np.array(arm.model.base[:3, 3])
    person = np.array(Person.standing(base + np.array([AHEAD, 0.0, -TABLE])).rows)
    return TimedScene(arm, Body(arm), [SceneFrame(arm.ready, np.zeros(arm.n), person, np.zeros(6))])


def configurations(arm: Arm, count: int = STATES) -> Array:
    """(count, n) drawn within the joint limits, the same ones each time."""
    q: Array = np.random.default_rng(0).uniform(*arm.model.sampling_range(), (count, arm.n))
    return q


def pinocchio_calls(scene: TimedScene, q: Array) -> dict[str, Contender]:
    """Pinocchio's calls by quantity; empty where it is not installed."""
    try:
        pin, coal = importlib.import_module("pinocchio"), importlib.import_module("coal")
    except ImportError:
        return {}
    model, geometry, person = pinocchio_scene(pin, coal, scene, static=False)
    arm = [k for k in range(len(geometry.geometryObjects)) if k not in person]
    for i, j in scene.body.self_pairs:
        geometry.addCollisionPair(pin.CollisionPair(arm[i], arm[j]))
    data, found = model.createData(), geometry.createData()

    def distances() -> Any:
        least = np.empty(len(q))
        for k, one in enumerate(q):
            pin.computeDistances(model, data, geometry, found, one)
            least[k] = min(result.min_distance for result in found.distanceResults)
        return least

    def only_distances() -> None:
        for one in q:
            pin.computeDistances(model, data, geometry, found, one)

    def collisions() -> Any:
        return np.array([pin.computeCollisions(model, data, geometry, found, one, True) for one in q])

    version = f"{coal.__version__} in {pin.__version__}"
    return {
        DISTANCES: Contender(version, only_distances, len(q)),
        YES_NO: Contender(version, collisions, len(q)),
        "least": Contender(version, distances, len(q)),  # to compare answers; not timed
    }


def vamp_call(scene: TimedScene, q: Array) -> Contender | None:
    """VAMP's checks along free motions; None where it is not installed or not compiled for the arm."""
    of = vamp.robot(scene.arm)
    if of is None:
        return None
    world = vamp.environment([Capsule(row[:3], row[3:6], row[6]) for row in scene.frames[0].rows])
    ends, states = vamp.motions(of, world, q)

    def check() -> None:
        for a, b in ends:
            of.validate_motion(a, b, world)

    return Contender(str(vamp.version()), check, states) if ends else None


def rows(arm: Arm, rounds: int) -> Iterator[Row]:
    """The times of one arm, a configuration."""
    scene = validity_scene(arm)
    q = configurations(arm)
    checker, world = Checker(scene.body), World.of_rows(scene.frames[0].rows)
    theirs = pinocchio_calls(scene, q[:THEIRS])
    ours = {DISTANCES: lambda: checker.clearance(q, world), YES_NO: lambda: checker.free(q, world)}
    for quantity, call in ours.items():
        contenders = {US: Contender(__version__, call, len(q))}
        if quantity in theirs:
            contenders[PINOCCHIO] = theirs[quantity]
        beside = vamp_call(scene, q[:THEIRS]) if quantity == YES_NO else None
        if beside is not None:
            contenders[vamp.NAME] = beside
        yield from raced("planning", arm, quantity, contenders, rounds, len(q))
    yield from card_rows(arm, checker, world, rounds)


def card_rows(arm: Arm, checker: Checker, world: World, rounds: int) -> Iterator[Row]:
    """The same distances on a card, where there is one; refused where they differ from the processor's."""
    try:
        cupy = library()
    except ElbowroomError:
        return
    q = configurations(arm, ON_CARD)
    exact = checker.clearance(q[:STATES], world)
    for dtype in ("float64", "float32"):
        against = OnCard(checker, world, dtype=dtype)
        columns = cupy.asarray(np.ascontiguousarray(q.T).astype(dtype))
        found = cupy.asnumpy(against.slack(columns)[:STATES])
        if (off := float(np.abs(found - exact).max())) > CLOSE:
            raise ElbowroomError(
                f"{arm.name}: distances on the card, {dtype}, differ from the processor's by {off:.1e} m"
            )

        def call(against: OnCard = against, columns: Any = columns) -> None:
            against.slack(columns, check=False)
            cupy.cuda.Device().synchronize()

        contenders = {US: Contender(__version__, call, ON_CARD)}
        yield from raced("planning", arm, f"{DISTANCES} on a card, {dtype}", contenders, rounds, ON_CARD)
