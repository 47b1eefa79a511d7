"""Places for people and things: filled, emptied, named, copied, and what does not fit refused."""

from __future__ import annotations

import math

import numpy as np
import pytest

import elbowroom as er
from elbowroom.avoidance import Controller, Goal, Obstacles, State
from elbowroom.errors import ShapeError
from elbowroom.geometry import PARKED, ROW, Capsule, Person, Sphere


def row(x):
    return Sphere((x, 0.0, 0.0), 0.1).row((0.0, x, 0.0))


def test_new_places_are_empty():
    o = Obstacles(people=2, others=3, person_capsules=4)
    assert o.rows.shape == (2 * 4 + 3, ROW)
    assert (o.rows == PARKED).all()
    assert o.stamps.tolist() == [-math.inf, -math.inf]
    assert o.counts.tolist() == [0, 0]
    assert o.layout == (2, 3, 4)


def test_rows_go_to_their_person_and_the_rest_is_parked():
    o = Obstacles(people=2, others=1, person_capsules=3)
    o.see([row(1.0), row(2.0), row(3.0)], 5.0, person=1)
    o.see([row(4.0)], 6.0, person=1)  # fewer than before: the others are gone
    assert (o.rows[:3] == PARKED).all()
    assert np.array_equal(o.rows[3], row(4.0))
    assert (o.rows[4:] == PARKED).all()
    assert o.stamps.tolist() == [-math.inf, 6.0]
    assert o.counts.tolist() == [0, 1]


def test_nobody_parks_and_stamps():
    o = Obstacles(people=1, person_capsules=2)
    o.see([row(1.0), row(2.0)], 1.0)
    o.nobody(2.0)
    assert (o.rows == PARKED).all()
    assert o.stamps[0] == 2.0
    assert o.counts[0] == 0


def test_things_have_their_own_rows():
    o = Obstacles(people=1, others=2, person_capsules=2)
    o.put(Capsule((1, 0, 0), (1, 0, 1), 0.2), 1, velocity=(0.1, 0.0, 0.0))
    o.put(Sphere((2, 0, 0), 0.3), 0)
    assert np.array_equal(o.rows[3], Capsule((1, 0, 0), (1, 0, 1), 0.2).row((0.1, 0, 0), (0.1, 0, 0)))
    assert np.array_equal(o.rows[2], np.r_[2, 0, 0, 2, 0, 0, 0.3, np.zeros(6)])
    assert (o.rows[:2] == PARKED).all()
    o.remove(1)
    assert (o.rows[3] == PARKED).all()
    assert not (o.rows[2] == PARKED).all()


def test_a_person_of_capsules_fits_the_default_places():
    person = Person.standing((1.0, 0.0, 0.0))
    o = Obstacles()
    o.see(person, 1.0)
    assert o.counts[0] == len(person) <= o.person_capsules
    assert np.array_equal(o.rows[: len(person)], person.rows)
    assert o.name(0) == person.names[0]


def test_seeing_writes_in_place():
    """A loop keeps the array: filling must not replace it, and the person's own rows stay what they were."""
    o = Obstacles(people=1, person_capsules=2)
    kept, mine = o.rows, np.array([row(1.0)])
    o.see(mine, 0.0)
    assert o.rows is kept
    o.rows[0, 0] = 9.0
    assert mine[0, 0] == 1.0


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ({"people": -1}, "people"),
        ({"people": 1.5}, "people"),
        ({"people": True}, "people"),
        ({"others": -2}, "others"),
        ({"person_capsules": 0}, "person_capsules"),
        ({"people": 0, "others": 0}, "at least one"),
    ],
)
def test_wrong_numbers_of_places_are_refused(arguments, word):
    with pytest.raises(ValueError, match=word):
        Obstacles(**arguments)


@pytest.mark.parametrize(
    "rows", [np.zeros((3, 13)), np.zeros((0, 13)), np.zeros((1, 12)), np.zeros(13), np.zeros((1, 1, 13))]
)
def test_rows_of_the_wrong_shape_are_refused_and_change_nothing(rows):
    o = Obstacles(people=1, person_capsules=2)
    o.see([row(1.0)], 1.0)
    before = o.rows.copy()
    with pytest.raises(ShapeError, match="1 to 2 capsule rows of 13"):
        o.see(rows, 2.0)
    assert np.array_equal(o.rows, before)
    assert o.stamps[0] == 1.0


def test_places_that_are_not_there_are_refused():
    o = Obstacles(people=1, others=1)
    for call in (lambda: o.see([row(1.0)], 0.0, 1), lambda: o.nobody(0.0, -1), lambda: o.place(1)):
        with pytest.raises(IndexError, match="person must be from 0 to 0"):
            call()
    with pytest.raises(IndexError, match="from 0 to 0"):
        o.put(Sphere((0, 0, 0), 0.1), 1)
    for index in (1, -1):
        with pytest.raises(IndexError):
            o.remove(index)
    assert (o.rows == PARKED).all()


def test_names():
    person = Person.standing((1.0, 0.0, 0.0))
    one, two = Obstacles(people=1, others=1), Obstacles(people=2)
    one.see(person, 0.0)
    two.see([row(1.0)], 0.0, 0)
    two.see(person, 0.0, 1)
    assert one.name(2) == person.names[2]
    assert one.name(14) == "thing 0"
    assert two.name(0) == "person 0 capsule 0"
    assert two.name(14 + 3) == f"person 1 {person.names[3]}"


def test_the_nearest_is_named_by_the_person_that_was_seen():
    arm = er.load("panda")
    controller = Controller(arm)
    places = controller.obstacles()
    person = Person.standing((0.8, 0.0, 0.0), facing=math.pi)
    places.see(person, 0.0)
    controller.step(0.0, 0.001, State(arm.ready), places, Goal(arm.pose(arm.ready)[:3, 3]))
    link, part = controller.nearest()
    assert link in controller.body.names
    assert part in person.names


def test_copying_takes_all_over():
    a, b = Obstacles(people=2, others=1), Obstacles(people=2, others=1)
    a.see(Person.standing((1.0, 0.0, 0.0)), 3.0, 1)
    a.put(Sphere((0, 0, 1), 0.1))
    b.copy_from(a)
    assert np.array_equal(a.rows, b.rows)
    assert np.array_equal(a.stamps, b.stamps)
    assert np.array_equal(a.counts, b.counts)
    assert b.name(14) == a.name(14)
    a.nobody(4.0, 1)
    assert b.counts[1] > 0
    assert b.name(14) != "person 1 capsule 0"


def test_copying_from_other_places_is_refused():
    with pytest.raises(ValueError):
        Obstacles(people=1).copy_from(Obstacles(people=2))
    small, large = Obstacles(people=1, person_capsules=1), Obstacles(people=1, person_capsules=2)
    with pytest.raises(ValueError):
        large.copy_from(small)  # NumPy would spread the one row over both


def test_the_text_says_who_is_there():
    o = Obstacles(people=2, others=1)
    o.see([row(1.0), row(2.0)], 0.0)
    assert repr(o) == "<Obstacles: people [2 capsules, nobody], 1 things>"


def test_one_person_cannot_be_at_two_places_at_once():
    """Two people shown in one place would make the first vanish: refused, with the way to do it."""
    places = Obstacles(people=2)
    near, far = Person.cylinder((0.5, 0, 0)), Person.cylinder((3.0, 0, 0))
    places.see(near, 1.0)
    places.see(near, 1.0)  # the same frame again
    with pytest.raises(ValueError, match=r"person 0 was shown twice for t = 1 s.*people=2.*person=1"):
        places.see(far, 1.0)
    assert places.rows[0, 0] == 0.5
    places.see(far, 1.0, person=1)
    places.see(far, 1.1)


@pytest.mark.parametrize("who", [None, "x", [Person.cylinder((1, 0, 0))], 3.0])
def test_what_is_no_person_is_refused(who):
    with pytest.raises(TypeError, match=r"a person must be a Person.*nobody\(t\)"):
        Obstacles().see(who, 0.0)


def test_a_whole_person_again_and_again():
    """The short way in, once all capsules were there: the same rows, stamps, names and refusals."""
    o = Obstacles(people=2, person_capsules=2)
    one, two = np.array([row(1.0), row(2.0)]), np.array([row(3.0), row(4.0)])
    o.see(one, 0.1, person=1)
    for k, (rows, names) in enumerate([(two, ("a", "b")), (one, ()), (two.astype(np.float32), ("c", "d"))]):
        o.reads += 1
        o.see(rows, 0.2 + k, 1, names)
        assert np.array_equal(o.rows[2:], rows.astype(float))
        assert (o.stamps[1], o.names[1], o.counts[1]) == (0.2 + k, names, 2)
    assert (o.rows[:2] == PARKED).all()
    with pytest.raises(ValueError, match="shown twice"):
        o.see(one, 2.2, person=1)
    o.reads += 1
    for wrong in (np.zeros((2, 3)), np.zeros((3, ROW)), np.zeros(ROW)):
        with pytest.raises(ShapeError, match="1 to 2 capsule rows"):
            o.see(wrong, 3.0, person=1)
    assert np.array_equal(o.rows[2:], two.astype(np.float32))
    o.see(one[:1], 3.0, person=1)
    assert (o.rows[3] == PARKED).all()
    o.reads += 1
    o.nobody(4.0, person=1)
    o.reads += 1
    o.see(one, 5.0, person=1)
    assert o.counts.tolist() == [0, 2]
