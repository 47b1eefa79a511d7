"""Obstacles: people and things as rows of capsules, in places that are fixed when the controller is built.

People come first, each with room for `person_capsules` capsules, then other things, one capsule each.  A place with
nobody in it is parked far away.  The capsules of one person share their push (pushes.py); different people, and things,
add up.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...compile.pipeline import Pipeline
from ...errors import DtypeError, ShapeError
from ...geometry import PARKED, ROW, Capsule, Person, Sphere
from ..copies import Rebuilt

Array = NDArray[np.float64]


class Obstacles(Rebuilt):
    """Places for people and things.  Filled in place, so that a control loop allocates nothing."""

    def __init__(
        self, people: int = 1, others: int = 0, person_capsules: int = 14, *, rows: Array | None = None
    ) -> None:
        for what, value, least in (
            ("people", people, 0),
            ("others", others, 0),
            ("person_capsules", person_capsules, 1),
        ):
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise ValueError(f"{what} must be a whole number, at least {least}; got {value!r}")
        if people + others == 0:
            raise ValueError("there must be room for at least one person or thing; got people=0 and others=0")
        self.people, self.others, self.person_capsules = people, others, person_capsules
        self.layout = people, others, person_capsules
        """People, other things, capsules a person: what a controller must be built for."""
        self.rows: Array = np.empty((people * person_capsules + others, ROW)) if rows is None else rows  # (K, 13)
        self.rows[:] = PARKED
        self.stamps: Array = np.full(people, -math.inf)  # s, when each person was last measured
        self._make_ready()
        self.counts = np.zeros(people, dtype=int)  # capsules of each person; 0: nobody
        self.names: list[tuple[str, ...]] = [()] * people  # of each person's capsules
        self.reads = 0  # steps that have looked at it
        self._shown = [-1] * people  # the number of reads when each person was last shown
        self._whole = [False] * people  # whether each had all capsules then, so that none is left to be parked

    def _ready(self) -> None:
        """Each person's rows, and functions that fill them and the stamp."""
        size = self.person_capsules
        self._of = [self.rows[p * size : (p + 1) * size] for p in range(self.people)]
        stamps = [self.stamps[p : p + 1].reshape(()) for p in range(self.people)]
        self._take = [Pipeline((), takes=places).run for places in zip(self._of, stamps, strict=True)]

    def place(self, person: int) -> slice:
        """The rows of a person."""
        if not 0 <= person < self.people:
            raise IndexError(f"person must be from 0 to {self.people - 1}; got {person}")
        return slice(person * self.person_capsules, (person + 1) * self.person_capsules)

    def see(self, who: Person | ArrayLike, t: float, person: int = 0, names: tuple[str, ...] = ()) -> None:
        """A person as measured at time t (s): a `Person`, or capsule rows (k, 13) and, if they are known, their names.

        Nothing is checked for NaN here: the supervisor rejects such frames.
        """
        if (
            type(who) is np.ndarray
            and 0 <= person < self.people
            and self._whole[person]
            and self._shown[person] != self.reads
        ):
            try:
                self._take[person](who, t)
            except (ShapeError, DtypeError, TypeError):
                pass  # what is wrong is said below
            else:
                self._shown[person] = self.reads
                self.names[person] = names if type(names) is tuple else tuple(names or ())
                return
        rows, names = (who.rows, who.names) if isinstance(who, Person) else (_rows(who), names)
        count = len(rows)
        if rows.ndim != 2 or rows.shape[1] != ROW or not 0 < count <= self.person_capsules:
            raise ShapeError(
                f"a person must have 1 to {self.person_capsules} capsule rows of {ROW} numbers; got {rows.shape}"
            )
        if not 0 <= person < self.people:
            self.place(person)  # refuses it
        here = self._of[person]
        again = self._shown[person] == self.reads and t == self.stamps[person] and self.counts[person] > 0
        if again and not np.array_equal(here[:count], rows):
            raise ValueError(
                f"person {person} was shown twice for t = {t:g} s, at different places; a second person needs a place "
                "of its own: Controller(..., people=2) and see(..., person=1)"
            )
        here[:count] = rows
        if count < self.counts[person] or not self.counts[person]:
            here[count:] = PARKED
        self._shown[person] = self.reads
        self.stamps[person] = t
        self.counts[person] = count
        self.names[person] = tuple(names or ())  # a list may change under our hands
        self._whole[person] = count == self.person_capsules

    def nobody(self, t: float, person: int = 0) -> None:
        """The sensor says at time t that this person is not there."""
        self.rows[self.place(person)] = PARKED
        self.stamps[person] = t
        self.counts[person] = 0
        self._whole[person] = False

    def put(self, thing: Capsule | Sphere, index: int = 0, velocity: ArrayLike = (0.0, 0.0, 0.0)) -> None:
        """A thing whose place is known without a sensor: a fixture, another machine."""
        capsule = Capsule(thing.center, thing.center, thing.radius) if isinstance(thing, Sphere) else thing
        self.rows[self._thing(index)] = capsule.row(velocity, velocity)

    def remove(self, index: int = 0) -> None:
        """Takes a thing away."""
        self.rows[self._thing(index)] = PARKED

    def _thing(self, index: int) -> int:
        if not 0 <= index < self.others:
            raise IndexError(f"the index of a thing must be from 0 to {self.others - 1}; got {index}")
        return self.people * self.person_capsules + index

    def name(self, slot: int) -> str:
        """What a row stands for: "person 0 left_hand", "thing 2"."""
        if not 0 <= slot < len(self.rows):
            raise IndexError(f"a slot must be from 0 to {len(self.rows) - 1}; got {slot}")
        if slot >= self.people * self.person_capsules:
            return f"thing {slot - self.people * self.person_capsules}"
        person, capsule = divmod(slot, self.person_capsules)
        names = self.names[person]
        part = names[capsule] if capsule < len(names) else f"capsule {capsule}"
        return part if self.people == 1 else f"person {person} {part}"

    def copy_from(self, other: Obstacles) -> None:
        """Takes over all of another with the same places."""
        if other.layout != self.layout:
            raise ShapeError(f"places must be {self.layout} (people, things, capsules a person); got {other.layout}")
        np.copyto(self.rows, other.rows)
        np.copyto(self.stamps, other.stamps)
        np.copyto(self.counts, other.counts)
        self.names[:] = other.names
        self._whole = [False] * self.people

    def __repr__(self) -> str:
        seen = ", ".join(f"{n} capsules" if n else "nobody" for n in self.counts.tolist())
        return f"<Obstacles: people [{seen}], {self.others} things>"


def _rows(who: object) -> Array:
    try:
        rows = np.asarray(who, dtype=float)
    except (TypeError, ValueError):
        rows = np.empty(())
    if rows.ndim == 0:
        raise TypeError(
            f"a person must be a Person, or capsule rows of shape (k, {ROW}); got {who!r:.60}; "
            "for an empty cell call nobody(t), for several people see(..., person=k)"
        )
    return rows
