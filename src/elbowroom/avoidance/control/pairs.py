"""What is fixed when a controller is built: the arm's capsules, the obstacles' places, and the pairs between them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...errors import ConfigError
from ...geometry import Body
from ...geometry.shapes import A, B
from ...model import LinkCapsule

SAMPLES = 200  # configurations that tell which ends of capsules the joints can lift
SINGULAR = 1e-9  # m^6: det(J J^T) below is zero but for rounding
CLOSE = 0.08  # m: links that are nearer at rest are held so by the joints between them, and may be
PUSHED, HELD = 0.7, 0.4  # parts of that distance at which such links are pushed off, and held apart
LEVEL = 0.15  # m: an end whose height changes less is held by the base, and no floor pushes it


@dataclass(frozen=True)
class Layout:
    """Numbers and names only, so that two equal ones give the same program."""

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
    ) -> Layout:
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
