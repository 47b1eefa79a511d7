"""Why people were touched: runs looked at again, one by one.

    found = look(parameters)       the run again: its first contact, and its approach contacts

still       an arm that stands at its ready pose for the whole run is touched in the same scene, too
held        so is the arm as it stood `BEFORE` s before the first contact, from then on until `AFTER` s after it began
approach    the control time at which the arm's own motion closes an overlapping pair the fastest: which pair, how deep,
            who began the contact, and from what else the arm was retreating meanwhile
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..bench.encounters.run import APPROACH, Distances, distances, pair_table
from ..bench.encounters.scene import PERIOD, EncounterScene
from ..geometry.distance import CLOSING, DISTANCE
from ..geometry.person import NAMES
from .draws import RunParameters
from .runs import replay

Array = NDArray[np.float64]
BEFORE, AFTER = 0.5, 0.5  # s


@dataclass(frozen=True)
class ApproachContact:
    """When the arm's own motion closed a pair in contact, at its fastest."""

    at: float  # s
    link: str
    part: str
    depth: float  # m, of the overlap
    own: float  # m/s, at which the arm's own motion closes the pair
    closing: float  # m/s, of both
    lasted: float  # s, that it was above the limit in all
    began_own: float  # m/s, the arm's own part when this contact of the pair began
    began_closing: float  # m/s, of both then
    since: float  # s, since then
    retreat: str  # the pair that the arm was leaving the fastest, of those that overlapped too; "" for none
    retreating: float  # m/s, at which it was


@dataclass(frozen=True)
class Touch:
    """What is said about a touched run."""

    run: int
    still: bool
    held: bool
    approach: ApproachContact | None


def look(of: RunParameters, precision: str = "float64") -> Touch | None:
    """The run again; None if nobody was touched."""
    again = replay(of, precision)
    apart = distances(again.scene, again.track)
    touching: NDArray[np.bool_] = np.any(apart.distance < 0.0, axis=1)
    if not touching.any():
        return None
    first = int(np.argmax(touching))
    back, ahead = round(BEFORE / PERIOD), round(AFTER / PERIOD)
    held = slice(max(first - back, 0), min(first + ahead + 1, len(touching)))
    ready = again.track.q[0]
    return Touch(
        of.number,
        _standing(again.scene, ready, slice(0, len(touching))),
        _standing(again.scene, again.track.q[held.start], held),
        _approach(again.scene, apart),
    )


def _standing(scene: EncounterScene, q: Array, when: slice) -> bool:
    """Whether people touch an arm that stands at q."""
    rows = scene.place.body.rows(q, np.zeros(len(q)))
    people = scene.rows[when]
    table = pair_table(scene.place, np.broadcast_to(rows, (len(people), *rows.shape)), people)
    return bool((table[..., DISTANCE] < 0.0).any())


def _approach(scene: EncounterScene, apart: Distances) -> ApproachContact | None:
    overlap = apart.distance < 0.0
    bad = overlap & (apart.own > APPROACH)
    if not bad.any():
        return None
    at, pair = (int(x) for x in np.unravel_index(np.argmax(np.where(bad, apart.own, -np.inf)), bad.shape))
    begin = at
    while begin > 0 and overlap[begin - 1, pair]:
        begin -= 1
    both = pair_table(scene.place, apart.rows[[begin, at]], scene.rows[[begin, at]])[:, pair, CLOSING]
    leaving = int(np.argmin(np.where(overlap[at], apart.own[at], np.inf)))
    retreats = bool(apart.own[at, leaving] < -APPROACH)
    return ApproachContact(
        at=float(scene.times[at]),
        link=_names(scene, apart, pair)[0],
        part=_names(scene, apart, pair)[1],
        depth=float(-apart.distance[at, pair]),
        own=float(apart.own[at, pair]),
        closing=float(both[1]),
        lasted=PERIOD * int(bad.any(axis=1).sum()),
        began_own=float(apart.own[begin, pair]),
        began_closing=float(both[0]),
        since=PERIOD * (at - begin),
        retreat=" and ".join(_names(scene, apart, leaving)) if retreats else "",
        retreating=float(-apart.own[at, leaving]) if retreats else 0.0,
    )


def _names(scene: EncounterScene, apart: Distances, pair: int) -> tuple[str, str]:
    """The arm's capsule and the person's."""
    others = apart.distance.shape[1] // len(scene.place.moving)
    moving, other = divmod(pair, others)
    link = scene.place.body.names[scene.place.moving[moving]].replace("_", " ")
    return link, NAMES[other % len(NAMES)].replace("_", " ")
