"""Pushes on each capsule of the arm: by people, things, the floor and the arm itself.

A push has a strength (m/s for K, N for F), a direction and a point of the link that it acts on (thesis, section 3.8.1:
the control point).  For one capsule of the arm:

- The capsules of one person are one body, however finely it is modelled.  They share one push: each pulls the direction
  and the point with its own strength, and the size is that of the strongest.  So nothing jumps when another capsule
  comes nearest, and a person of fourteen capsules pushes no harder than one of a single cylinder.
- Different people and things push on their own, each at its own point, and so do the floor and the arm's other links
  together: pushes add up, as potentials do (3.1).

A field's closing speed is the obstacle's own towards the link; the arm's would be fed back a cycle late, and ring.

`acting = "nearest"` leaves only the capsule of the arm that is pushed hardest, as in the thesis, which has one control
point; "each" lets every capsule be pushed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...algebra import Scalar, maximum, where
from ...algebra.linalg import Array, settled
from ...dynamics.kinematics import Frames
from ...geometry.distance import AXIS_DISTANCE, NORMAL, POINT_X
from ...model import LinkCapsule, Model
from . import repulsion
from .config import Config
from .pairs import STRENGTH, PairLayout
from .workspace import Workspace, floor_push, inner_push, outer_push


class Push(NamedTuple):
    """One push on a link; `vector` is strength times direction."""

    link: int
    strength: Scalar
    vector: Array  # (3,)
    point: Array  # (3,) in the world


class Gathered(NamedTuple):
    """All pushes, and the greatest of those from people and things and of those from the cell and the arm itself."""

    pushes: list[Push]
    push: Scalar
    own: Scalar


def gathered(model: Model, layout: PairLayout, frames: Frames, pairs: Array, g: Config) -> Gathered:
    """The push on every capsule that can move, and on the tool if there are workspace shells.

    `pairs` (P, 13) is the pair table in the order of `layout.pairs`; `g` are the controller's settings.
    """
    outside: list[Push] = []
    inside: list[Push] = []
    against_itself = _against_itself(layout, pairs, g)
    for i, capsule in enumerate(layout.capsules):
        if capsule.link < 0:
            continue  # the base cannot give way
        for slots in layout.groups():
            rows = [pairs[layout.pair(i, k)] for k in slots]
            outside.append(
                _bounded(
                    _shared([Push(capsule.link, r[STRENGTH], r[STRENGTH] * r[NORMAL], r[POINT_X]) for r in rows]),
                    g.repulsion,
                )
            )
        own = against_itself[i]
        if g.workspace is not None and g.workspace.floor is not None and any(layout.lifted[i]):
            own = [*own, _shared(_from_floor(frames, capsule, layout.lifted[i], g.workspace))]
        if own:
            inside.append(_summed(own))
    if g.workspace is not None and (shells := _from_shells(model, frames, g.workspace)):
        inside.append(_summed(shells))
    pushes = outside + inside
    return Gathered(_nearest(pushes) if g.acting == "nearest" else pushes, _greatest(outside), _greatest(inside))


def _greatest(parts: list[Push]) -> Scalar:
    greatest: Scalar = 0.0
    for part in parts:
        greatest = maximum(greatest, part.strength)
    return greatest


def _bounded(push: Push, field: repulsion.Repulsion) -> Push:
    """A push that asks, as it is given."""
    given = repulsion.bounded(field, push.strength)
    share = given * (1.0 / where(push.strength > 0.0, push.strength, 1.0))
    return Push(push.link, given, push.vector * share, push.point)


def _shared(parts: list[Push]) -> Push:
    """One push of several capsules of one body."""
    if len(parts) == 1:
        return parts[0]
    total, top = parts[0].strength, parts[0].strength
    vector, point = parts[0].vector, parts[0].strength * parts[0].point
    for part in parts[1:]:
        total, top = total + part.strength, maximum(top, part.strength)
        vector, point = vector + part.vector, point + part.strength * part.point
    share = 1.0 / where(total > 0.0, total, 1.0)
    return Push(parts[0].link, top, vector * (top * share), point * share)


def _summed(parts: list[Push]) -> Push:
    """Pushes of the cell and the arm itself on one capsule: they add up; the point is their mean by strength."""
    if len(parts) == 1:
        return parts[0]
    total, vector, point = parts[0].strength, parts[0].vector, parts[0].strength * parts[0].point
    for part in parts[1:]:
        total, vector, point = total + part.strength, vector + part.vector, point + part.strength * part.point
    return Push(parts[0].link, total, vector, point * (1.0 / where(total > 0.0, total, 1.0)))


def _against_itself(layout: PairLayout, pairs: Array, g: Config) -> list[list[Push]]:
    """The pushes between links that must stay apart, on both of each pair."""
    parts: list[list[Push]] = [[] for _ in layout.capsules]
    if g.self_collision is None:
        return parts
    first = layout.own * layout.slots
    for k, (i, j) in enumerate(layout.self_pairs):
        row = pairs[first + k]
        f, push, gap = row[STRENGTH], row[STRENGTH] * row[NORMAL], row[AXIS_DISTANCE]
        parts[i].append(Push(layout.capsules[i].link, f, push, row[POINT_X]))
        parts[j].append(Push(layout.capsules[j].link, f, -push, row[POINT_X] - gap * row[NORMAL]))
    return parts


def _from_floor(frames: Frames, capsule: LinkCapsule, lifted: tuple[bool, bool], workspace: Workspace) -> list[Push]:
    """The floor under the ends of a capsule that can rise: the lower is pushed harder, and nothing jumps at level."""
    parts = []
    for end, can_rise in zip((capsule.a, capsule.b), lifted, strict=True):
        if not can_rise:
            continue
        point = frames.point(capsule.link, np.array(end))
        f, direction = floor_push(workspace, point, capsule.radius)
        parts.append(Push(capsule.link, f, f * direction, point))
    return parts


def _from_shells(model: Model, frames: Frames, workspace: Workspace) -> list[Push]:
    tool = frames.point(-1, model.tool[:3, 3])
    parts = []
    for limit, push in ((workspace.inner, inner_push), (workspace.outer, outer_push)):
        if limit is not None:
            f, direction = push(workspace, tool, 0.0)
            parts.append(Push(model.n - 1, f, f * direction, tool))
    return parts


def _nearest(pushes: list[Push]) -> list[Push]:
    top = pushes[0].strength
    for push in pushes[1:]:
        top = maximum(top, push.strength)
    kept = []
    for push in pushes:
        strength = where(push.strength >= top, push.strength, 0.0)
        vector = settled(np.array([where(push.strength >= top, x, 0.0) for x in push.vector], dtype=object))
        kept.append(Push(push.link, strength, vector, push.point))
    return kept


def nearest_pair(layout: PairLayout, pairs: Array, column: int) -> tuple[Scalar, Scalar]:
    """The least distance to any obstacle, and the number of its pair."""
    nearest: list[tuple[Scalar, Scalar]] = []
    for i in range(layout.own):  # each capsule by itself: chains that do not wait for one another
        numbers = [layout.pair(i, slot) for slot in range(layout.slots)]
        nearest.append(_nearer([(pairs[k][column], float(k)) for k in numbers]))
    return _nearer(nearest)


def _nearer(found: list[tuple[Scalar, Scalar]]) -> tuple[Scalar, Scalar]:
    """The least of some distances and its number, the first of equals."""
    best, which = found[0]
    for distance, number in found[1:]:
        closer = distance < best
        best, which = where(closer, distance, best), where(closer, number, which)
    return best, which
