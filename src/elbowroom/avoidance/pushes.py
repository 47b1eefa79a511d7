"""What pushes each capsule of the arm away: people, things, the floor, the arm itself; one push a capsule.

A push has a strength (m/s for K, N for F), a direction and a point of the link that it acts on (thesis, section 3.8.1:
the control point).  For one capsule of the arm:

- The capsules of one person are one body, however finely it is modelled.  They share one push: each pulls the direction
  and the point with its own strength, and the size is that of the strongest.  So nothing jumps when another capsule
  comes nearest, and a person of fourteen capsules pushes no harder than one of a single cylinder.
- Different people, things, the floor and the arm's other links add up, as potentials do (3.1).

`acting = "nearest"` leaves only the capsule of the arm that is pushed hardest, as in the thesis, which has one control
point; "each" lets every capsule be pushed.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from ..algebra import maximum, where
from ..algebra.linalg import Array, settled
from ..dynamics.kinematics import Frames
from ..geometry.distance import AXIS_DISTANCE, CLOSING, DISTANCE, NORMAL, POINT_X
from ..geometry.distance import WIDTH as PAIR
from ..model import Model
from . import repulsion, workspace
from .layout import Layout

STRENGTH = PAIR  # column behind those of `separation`
WIDTH = PAIR + 1


class Push(NamedTuple):
    """One push on a link; `vector` is strength times direction."""

    link: int
    strength: Any
    vector: Array  # (3,)
    point: Array  # (3,) in the world


class _Part(NamedTuple):
    strength: Any
    vector: Array
    point: Array


def measured(field: Any, row: Array) -> Any:
    """The distance that a field goes by."""
    return row[AXIS_DISTANCE] if field.measure == "axis" else row[DISTANCE]


def pair(x: Array, y: Array, field: Any, separation: Any) -> Array:
    """One row of the pair table: the separation's, and the strength of the field."""
    row = separation(x, y)
    return np.array([*row, repulsion.strength(field, measured(field, row), row[CLOSING])])


class Gathered(NamedTuple):
    """All pushes, and the greatest of those from people and things and of those from the cell and the arm itself."""

    pushes: list[Push]
    push: Any
    own: Any


def gathered(model: Model, layout: Layout, frames: Frames, pairs: Array, g: SimpleNamespace) -> Gathered:
    """The push on every capsule that can move, and on the tool if there are workspace shells.

    `pairs` (P, 13) is the pair table in the order of `layout.pairs`; `g` are the controller's settings.
    """
    pushes: list[Push] = []
    outside: list[_Part] = []
    inside: list[_Part] = []
    against_itself = _against_itself(layout, pairs, g)
    for i, capsule in enumerate(layout.capsules):
        if capsule.link < 0:
            continue  # the base cannot give way
        others = []
        for slots in layout.groups():
            rows = [pairs[layout.pair(i, k)] for k in slots]
            others.append(_shared([_Part(r[STRENGTH], r[STRENGTH] * r[NORMAL], r[POINT_X]) for r in rows]))
        own = against_itself[i]
        if g.workspace is not None and g.workspace.floor is not None and any(layout.lifted[i]):
            own = [*own, _shared(_from_floor(frames, capsule, layout.lifted[i], g))]
        pushes.append(_summed(capsule.link, others + own))
        outside, inside = outside + others, inside + own
    if g.workspace is not None and (shells := _from_shells(model, frames, g)):
        pushes.append(_summed(model.n - 1, shells))
        inside += shells
    if g.acting == "nearest":
        pushes = _nearest(pushes)
    return Gathered(pushes, _greatest(outside), _greatest(inside))


def _greatest(parts: list[_Part]) -> Any:
    greatest: Any = 0.0
    for part in parts:
        greatest = maximum(greatest, part.strength)
    return greatest


def _shared(parts: list[_Part]) -> _Part:
    """One push of several capsules of one body."""
    if len(parts) == 1:
        return parts[0]
    total, top = parts[0].strength, parts[0].strength
    vector, point = parts[0].vector, parts[0].strength * parts[0].point
    for part in parts[1:]:
        total, top = total + part.strength, maximum(top, part.strength)
        vector, point = vector + part.vector, point + part.strength * part.point
    share = 1.0 / where(total > 0.0, total, 1.0)
    return _Part(top, vector * (top * share), point * share)


def _summed(link: int, parts: list[_Part]) -> Push:
    """Pushes of different bodies on one capsule: they add up; the point is their mean by strength."""
    if len(parts) == 1:
        return Push(link, *parts[0])
    total, vector, point = parts[0].strength, parts[0].vector, parts[0].strength * parts[0].point
    for part in parts[1:]:
        total, vector, point = total + part.strength, vector + part.vector, point + part.strength * part.point
    return Push(link, total, vector, point * (1.0 / where(total > 0.0, total, 1.0)))


def _against_itself(layout: Layout, pairs: Array, g: SimpleNamespace) -> list[list[_Part]]:
    """The pushes between links that must stay apart, on both of each pair."""
    parts: list[list[_Part]] = [[] for _ in layout.capsules]
    if g.self_collision is None:
        return parts
    first = layout.own * layout.slots
    for k, (i, j) in enumerate(layout.self_pairs):
        row = pairs[first + k]
        f = repulsion.strength(g.self_collision, measured(g.self_collision, row), row[CLOSING])
        push, gap = f * row[NORMAL], row[AXIS_DISTANCE]
        parts[i].append(_Part(f, push, row[POINT_X]))
        parts[j].append(_Part(f, -push, row[POINT_X] - gap * row[NORMAL]))
    return parts


def _from_floor(frames: Frames, capsule: Any, lifted: tuple[bool, bool], g: SimpleNamespace) -> list[_Part]:
    """The floor under the ends of a capsule that can rise: the lower is pushed harder; nothing jumps when it is level."""
    parts = []
    for end, can_rise in zip((capsule.a, capsule.b), lifted, strict=True):
        if not can_rise:
            continue
        point = frames.point(capsule.link, np.array(end))
        f, direction = workspace.floor_push(g.workspace, point, capsule.radius)
        parts.append(_Part(f, f * direction, point))
    return parts


def _from_shells(model: Model, frames: Frames, g: SimpleNamespace) -> list[_Part]:
    tool = frames.point(-1, model.tool[:3, 3])
    parts = []
    for limit, push in ((g.workspace.inner, workspace.inner_push), (g.workspace.outer, workspace.outer_push)):
        if limit is not None:
            f, direction = push(g.workspace, tool, 0.0)
            parts.append(_Part(f, f * direction, tool))
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


def least(layout: Layout, pairs: Array, column: int) -> tuple[Any, Any]:
    """The least distance to any obstacle, and the number of its pair."""
    best, which = pairs[0][column], 0.0
    for k in range(1, layout.own * layout.slots):
        closer = pairs[k][column] < best
        best, which = where(closer, pairs[k][column], best), where(closer, float(k), which)
    return best, which
