"""Pushes on the arm: the pairs of capsules that push, how strongly each does, and what they add up to on each capsule.

`PairLayout` is fixed when a controller is built.  The pair table has a row for each pair: the distance and normal of
geometry.distance, and how strongly the field of repulsion.py asks to push.  How far the fields of people reach
(`FieldReach`) is computed first, since a person who occupies the goal is kept from farther away.

A push has a strength (m/s for K, N for F), a direction and a point of the link that it acts on (thesis, section 3.8.1:
the control point).  For one capsule of the arm:

- The capsules of one person are one body, however finely it is modelled.  They share one push: each pulls the direction
  and the point with its own strength, and the size is that of the strongest.  So nothing jumps when another capsule
  comes nearest, and a person of fourteen capsules pushes no harder than one of a single cylinder.
- Different people and things push on their own, each at its own point, and so do the floor and the arm's other links
  together: pushes add up, as potentials do (3.1).

A field's closing speed is the obstacle's own towards the link; the arm's would be fed back a cycle late, and ring.

`acting = "nearest"` leaves of people's and things' pushes only that on the capsule of the arm which is pushed hardest,
as in the thesis, which has one control point; "each" lets every capsule be pushed.  The floor, the shells and the arm
itself always push: somebody near must not drive the arm into them.

With goal scaling (repulsion.py) each push of a person or thing on a capsule has its own share: by the nearest surface
of that body, and by the fastest of its capsules that comes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ...algebra import Scalar, Table, maximum, minimum, trace, where
from ...algebra.linalg import Array, settled, vector
from ...algebra.table import padded
from ...dynamics.kinematics import Frames
from ...errors import ConfigError
from ...geometry import ROW, Body
from ...geometry.distance import AXIS_DISTANCE, CLOSING, DISTANCE, NORMAL, POINT_X, SPEED_Y, pair_row
from ...geometry.distance import WIDTH as PAIR
from ...geometry.shapes import A, B
from ...model import LinkCapsule, Model
from ..settings import leaves, lifted
from . import repulsion
from .config import Config, Structure, structure
from .repulsion import (
    PROFILES,
    GoalScaling,
    Profile,
    Repulsion,
    demand,
    followed,
    goal_share,
    influence,
    occupied,
    strength,
)
from .workspace import Workspace, floor_push, inner_push, outer_push

STRENGTH = PAIR  # column behind those of `separation`
WIDTH = PAIR + 1
SAMPLES = 200  # configurations that tell which ends of capsules the joints can lift
SINGULAR = 1e-9  # m^6: det(J J^T) below is zero but for rounding
CLOSE = 0.08  # m: links that are nearer at rest are held so by the joints between them, and may be
PUSHED, HELD = 0.7, 0.4  # parts of that distance at which such links are pushed off, and held apart
LEVEL = 0.15  # m: an end whose height changes less is held by the base, and no floor pushes it


@dataclass(frozen=True)
class PairLayout:
    """The arm's capsules, the obstacles' places, and the pairs between them.

    Numbers and names only, so that two equal ones give the same program.
    """

    capsules: tuple[LinkCapsule, ...]  # of the arm
    people: int
    others: int
    person_capsules: int
    self_pairs: tuple[tuple[int, int], ...]  # capsules of the arm that must stay apart
    self_gaps: tuple[float, ...]  # m, how near each pair comes in use, at the ready pose at least; at most CLOSE
    lifted: tuple[tuple[bool, bool], ...]  # of each capsule's ends, whether some joint can lift it off a floor
    flat: bool  # whether the tool never moves but in a plane or on a line: then every configuration is singular

    @classmethod
    def of(
        cls,
        body: Body,
        people: int,
        others: int,
        person_capsules: int,
        *,
        self_collision: bool,
        self_gaps: tuple[float, ...] = (),
    ) -> PairLayout:
        """The layout for a body and obstacles; `self_gaps` (m) where a task brings links nearer than at rest."""
        pairs = body.self_pairs if self_collision else ()
        if self_gaps and len(self_gaps) != len(body.self_pairs):
            expected = f"a distance for each of {body.arm.name}'s {len(body.self_pairs)} pairs of links, or none"
            raise ConfigError(f"self_gaps: expected {expected}; got {len(self_gaps)}")
        gaps = _gaps(body, self_gaps) if pairs else ()
        return cls(body.link_capsules, people, others, person_capsules, pairs, gaps, _lifted(body), _flat(body))

    @property
    def own(self) -> int:
        """How many capsules the arm has."""
        return len(self.capsules)

    @property
    def slots(self) -> int:
        """How many obstacle rows there are."""
        return self.people * self.person_capsules + self.others

    @property
    def rows(self) -> int:
        """Rows of the array that the pair table reads: the arm's, then the obstacles'."""
        return self.own + self.slots

    @cached_property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """(row, row) of every pair: the arm's capsules with every obstacle, in order; then the arm with itself."""
        outside = [(i, self.own + k) for i in range(self.own) for k in range(self.slots)]
        return (*outside, *self.self_pairs)

    def pair(self, capsule: int, slot: int) -> int:
        """The number of the pair of a capsule of the arm and an obstacle."""
        return capsule * self.slots + slot

    def groups(self) -> list[tuple[int, ...]]:
        """The slots of each person, then of each thing."""
        size = self.person_capsules
        people = [tuple(range(p * size, (p + 1) * size)) for p in range(self.people)]
        return people + [(self.people * size + k,) for k in range(self.others)]


def _gaps(body: Body, used: tuple[float, ...]) -> tuple[float, ...]:
    """How near the arm's own capsules come, at the ready pose or in use, to a tenth of a millimetre."""
    found = body.self_gaps(body.arm.ready[None])[0]
    if used:
        found = np.minimum(found, used)
    return tuple(min(max(round(float(gap), 4), 1e-4), CLOSE) for gap in found)


def _lifted(body: Body) -> tuple[tuple[bool, bool], ...]:
    """Whether the height of each end changes with the joints, over configurations drawn within the limits."""
    model = body.arm.model
    drawn = np.random.default_rng(0).uniform(*model.sampling_range(), (SAMPLES, model.n))
    rows = body.kernel(drawn, np.zeros_like(drawn))
    moves = np.ptp(rows[:, :, [A.start + 2, B.start + 2]], axis=0) > LEVEL
    return tuple((bool(a), bool(b)) for a, b in moves)


def _flat(body: Body) -> bool:
    """Whether no configuration drawn lets the tool move in all three directions."""
    model = body.arm.model
    for q in np.random.default_rng(0).uniform(*model.sampling_range(), (20, model.n)):
        Jv = body.arm.jacobian(q)[0]
        if np.linalg.det(Jv @ Jv.T) > SINGULAR:
            return False
    return True


# ---- the pair table
def _measured(field: Repulsion, row: Array) -> Scalar:
    """The distance that a field goes by."""
    return row[AXIS_DISTANCE] if field.measure == "axis" else row[DISTANCE]


def per_gaps(layout: PairLayout, measure: str) -> list[float]:
    """`per_gap` of every pair of links."""
    return [1.0 / (PUSHED * gap) if gap < CLOSE and measure != "axis" else 0.0 for gap in layout.self_gaps]


def side_by_side(layout: PairLayout) -> list[int]:
    """The pairs with obstacles as lanes take them: all capsules of the arm with one obstacle, then with the next.

    So many lanes share an obstacle's numbers.  A pair may come twice, to fill the lanes, unless too many would.
    """
    own = list(range(layout.own))
    filled = padded(layout.own)
    if filled - layout.own <= layout.own // 4:
        own += own[-1:] * (filled - layout.own)
    return [layout.pair(i, slot) for slot in range(layout.slots) for i in own]


@dataclass(frozen=True)
class PairTable:
    """What makes the pair table of a layout.  Gains are inputs: settings that differ in them alone give the same."""

    config: Config

    def __call__(self, layout: PairLayout) -> Table:
        inputs = {"x": (ROW,), "y": (ROW,), "influence": (1,), "gains": (len(leaves(self.config)),)}
        program = trace(self._row, None, inputs, name="pairs", output="pairs")
        order = side_by_side(layout)
        first, second = zip(*(layout.pairs[k] for k in order), strict=True)
        slots = tuple(row - layout.own for row in second)
        return Table(program, (layout.own, layout.slots, layout.slots), (first, slots, slots), places=tuple(order))

    def _row(self, _: None, x: Array, y: Array, influence: Array, gains: Array) -> Array:
        field, row = lifted(self.config, gains.tolist()).repulsion, pair_row(x, y)
        return np.array([*row, demand(field, _measured(field, row), row[SPEED_Y], influence[0])])

    def compiled_as(self) -> tuple[Structure, dict[str, Profile]]:
        """What chooses the program."""
        return structure(self.config), PROFILES


@dataclass(frozen=True)
class LinkTable(PairTable):
    """The same of the pairs of links that must stay apart, which lie behind the others.

    Many wrists hold links closer together than others are kept apart, and would push for ever: between such a pair the
    field begins at `PUSHED` of what is between them at the ready pose.  `per_gap` (1/m) is 1 over that, else 0.
    """

    def __call__(self, layout: PairLayout) -> Table:
        inputs = {"x": (ROW,), "y": (ROW,), "per_gap": (1,), "gains": (len(leaves(self.config)),)}
        program = trace(self._of_links, None, inputs, name="links", output="pairs")
        first, second = zip(*layout.self_pairs, strict=True)
        count = len(first)
        return Table(program, (layout.own, layout.own, count), (first, second, tuple(range(count))))

    def _of_links(self, _: None, x: Array, y: Array, per_gap: Array, gains: Array) -> Array:
        field, row = lifted(self.config, gains.tolist()).self_collision, pair_row(x, y)
        assert field is not None  # there are such pairs
        distance = _measured(field, row) * maximum(field.influence * per_gap[0], 1.0)
        return np.array([*row, strength(field, distance, row[CLOSING])])


@dataclass(frozen=True)
class FieldReach:
    """How far the field of each obstacle reaches, (slots, 1), and the level of waiting (1,) to remember."""

    config: Config

    def __call__(self, layout: PairLayout, **x: Array) -> dict[str, Array]:
        g = lifted(self.config, x["gains"].tolist())
        level: Scalar = x["level"][0]
        people = layout.people * layout.person_capsules
        far: Scalar = g.repulsion.influence
        if g.waiting is not None and people:
            wanted = occupied(g.waiting.near, g.waiting.clear, x["goal"][:3], list(x["rows"][:people]))
            level = followed(g.waiting, level, wanted, x["clock"][0])
            far = influence(g.waiting, g.repulsion, level)
        reaches = [[far if slot < people else g.repulsion.influence] for slot in range(layout.slots)]
        return {"reach": np.array(reaches), "new_level": vector(level)}

    def compiled_as(self) -> tuple[Structure]:
        """What chooses the program."""
        return (structure(self.config),)


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
    share: Scalar  # what goal scaling leaves of `push`, 0 to 1


class Aim(NamedTuple):
    """What goal scaling goes by."""

    error: Scalar  # m, between tool and goal
    speed: Scalar  # m/s, of the goal


AFAR = Aim(math.inf, 0.0)  # a goal that scales nothing


def gathered(model: Model, layout: PairLayout, frames: Frames, pairs: Array, g: Config, aim: Aim = AFAR) -> Gathered:
    """The push on every capsule that can move, and on the tool if there are workspace shells.

    `pairs` (P, 13) is the pair table in the order of `layout.pairs`; `g` are the controller's settings.
    """
    full: Scalar = 0.0
    outside: list[Push] = []
    inside: list[Push] = []
    against_itself = _against_itself(layout, pairs, g)
    for i, capsule in enumerate(layout.capsules):
        if capsule.link < 0:
            continue  # the base cannot give way
        for slots in layout.groups():
            rows = [pairs[layout.pair(i, k)] for k in slots]
            push = _bounded(
                _shared([Push(capsule.link, r[STRENGTH], r[STRENGTH] * r[NORMAL], r[POINT_X]) for r in rows]),
                g.repulsion,
            )
            if g.goal_scaling is not None:
                full = maximum(full, push.strength)
                push = _faded(push, rows, g.goal_scaling, aim)
            outside.append(push)
        own = against_itself[i]
        if g.workspace is not None and g.workspace.floor is not None and any(layout.lifted[i]):
            own = [*own, _shared(_from_floor(frames, capsule, layout.lifted[i], g.workspace))]
        if own:
            inside.append(_summed(own))
    if g.workspace is not None and (shells := _from_shells(model, frames, g.workspace)):
        inside.append(_summed(shells))
    acting = _nearest(outside) if g.acting == "nearest" else outside
    greatest = _greatest(outside)
    share: Scalar = 1.0
    if g.goal_scaling is not None:
        alone = goal_share(g.goal_scaling, aim.error, 2.0 * g.goal_scaling.least, aim.speed)  # nothing pushes
        share = where(full > 0.0, greatest / where(full > 0.0, full, 1.0), alone)
    return Gathered(acting + inside, greatest, _greatest(inside), share)


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


def _faded(push: Push, rows: list[Array], rules: GoalScaling, aim: Aim) -> Push:
    """The push of a body, whose pairs with one capsule of the arm these are, as goal scaling leaves it."""
    distance, speed = rows[0][DISTANCE], aim.speed
    for row in rows:
        distance, speed = minimum(distance, row[DISTANCE]), maximum(speed, row[SPEED_Y])
    share = goal_share(rules, aim.error, distance, speed)
    return Push(push.link, push.strength * share, push.vector * share, push.point)


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
