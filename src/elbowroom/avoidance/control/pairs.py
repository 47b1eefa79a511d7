"""Pairs of capsules: which there are between an arm, its obstacles and itself, and the table of how each pushes.

`PairLayout` is fixed when a controller is built.  The pair table has a row for each pair: the distance and normal of
geometry.distance, and how strongly the field of repulsion.py asks to push.  How far the fields of people reach
(`FieldReach`) is computed first, since a person who occupies the goal is kept from farther away.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...algebra import Scalar, Table, maximum, trace
from ...algebra.linalg import Array, vector
from ...algebra.table import padded
from ...errors import ConfigError
from ...geometry import ROW, Body
from ...geometry.distance import AXIS_DISTANCE, CLOSING, DISTANCE, SPEED_Y, pair_row
from ...geometry.distance import WIDTH as PAIR
from ...geometry.shapes import A, B
from ...model import LinkCapsule
from ..settings import leaves, lifted
from .config import Config, Structure, structure
from .repulsion import PROFILES, Profile, Repulsion, demand, followed, influence, occupied, strength

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
