"""Somebody who is dragged: offsets that follow smoothly, velocities that are true, arms that stay in one piece."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from elbowroom.cell import Still, Walk
from elbowroom.cell.people.dragged import STRETCH, DraggedPerson
from elbowroom.geometry import Person
from elbowroom.geometry.shapes import VELOCITY_A, A, B
from strategies import examples

DT = 0.01


def standing():
    return DraggedPerson(Still(Person.standing((1.0, 0.0, 0.0), facing=math.pi)))


def looked(who, t):
    rows = np.empty((len(who.names), 13))
    assert who.look(t, rows) == t
    return rows


def test_untouched_they_are_as_they_were():
    walk = Walk((2.0, 0.0), (1.0, 0.0), 0.3)
    who, rows = DraggedPerson(walk), np.empty((1, 13))
    for t in (0.0, 1.0, 4.0):
        walk.look(t, rows)
        np.testing.assert_array_equal(looked(who, t), rows)
        np.testing.assert_array_equal(who.point(t), walk.point(t))


def test_a_drag_arrives_without_overshoot_and_no_faster_than_allowed():
    who = standing()
    start = looked(who, 0.0)
    who.drag((0.8, -0.6))
    last, fastest, farthest = who.offset, 0.0, 0.0
    for k in range(1, 400):
        rows = looked(who, k * DT)
        fastest = max(fastest, np.linalg.norm(who.offset - last) / DT)
        farthest = max(farthest, np.linalg.norm(who.offset))
        last = who.offset
    np.testing.assert_allclose(rows[:, A] - start[:, A], np.tile([0.8, -0.6, 0.0], (13, 1)), atol=1e-6)  # e^-30
    assert 1.0 < fastest <= 1.6 * (1 + 1e-9)
    assert farthest <= 1.0 + 1e-6  # critically damped
    who.let_go()
    for k in range(400, 800):
        looked(who, k * DT)
    assert np.linalg.norm(who.offset) < 1e-6


def test_velocities_are_the_rates_of_places():
    who = standing()
    looked(who, 0.0)
    who.drag((0.5, 0.2))
    before = looked(who, 0.30)
    after = looked(who, 0.30 + DT)
    # the velocity in the rows is the one that the step was made with
    np.testing.assert_allclose((after[:, A] - before[:, A]) / DT, after[:, VELOCITY_A], atol=1e-9)


@examples(60)
@given(offset=st.tuples(*[st.floats(-1.5, 1.5)] * 3), side=st.sampled_from(["left", "right"]))
def test_an_arm_that_is_dragged_stays_in_one_piece(offset, side):
    assume(np.linalg.norm(offset) > 1e-3)  # untouched, it hangs straight
    who = standing()
    rest = looked(who, 0.0)
    who.drag_hand(side, offset)
    for k in range(1, 300):
        rows = looked(who, k * DT)
    upper, fore, hand = (who.names.index(f"{side}_{what}") for what in ("upper_arm", "forearm", "hand"))
    assert np.isfinite(rows).all()
    np.testing.assert_array_equal(rows[upper, A], rest[upper, A])  # the shoulder stays
    np.testing.assert_array_equal(rows[upper, B], rows[fore, A])  # and the elbow holds
    for row in (upper, fore):  # bones keep their length, to rounding
        was, now = (np.linalg.norm(x[row, B] - x[row, A]) for x in (rest, rows))
        assert now == pytest.approx(was, abs=1e-9)
    reach = np.linalg.norm(rows[hand, A] - rows[upper, A])
    length = np.linalg.norm(rest[fore, A] - rest[upper, A]) + np.linalg.norm(rest[hand, A] - rest[fore, A])
    assert reach <= STRETCH * length + 1e-9
    wanted = rest[hand, A] + offset
    if 0.2 < np.linalg.norm(wanted - rest[upper, A]) < 0.9 * length:  # within reach: it gets there
        np.testing.assert_allclose(rows[hand, A], wanted, atol=1e-5)


@pytest.mark.parametrize("bad", [(1.0,), (math.nan, 0.0), "aside"])
def test_nonsense_is_refused(bad):
    with pytest.raises(ValueError):
        standing().drag(bad)


def test_a_cylinder_has_no_hands():
    who = DraggedPerson(Walk((2.0, 0.0), (1.0, 0.0), 0.3))
    assert who.hands == ()
    with pytest.raises(ValueError, match="drag_hand"):
        who.drag_hand("left", (0.1, 0.0, 0.0))
