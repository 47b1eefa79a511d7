"""Many capsules against many: the table is `distance` pair by pair, and the least is the least."""

from __future__ import annotations

import numpy as np
import pytest

import elbowroom as er
from elbowroom.geometry import ROW, Body, Capsule, Pairs, Person, distance
from elbowroom.geometry.distance import AXIS_DISTANCE, DISTANCE, NORMAL


def _rows(count: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(count, ROW))
    rows[:, 6] = rng.uniform(0.01, 0.2, count)
    return rows


def _shape(row: np.ndarray) -> Capsule:
    return Capsule(row[:3], row[3:6], row[6])


def test_every_pair_is_what_distance_says():
    pairs, rows = Pairs(3, 5, more=[(0, 2), (1, 2)]), _rows(8, 0)
    table = pairs(rows)
    assert len(pairs) == 17
    assert table.shape == (17, 12)
    for (i, j), row in zip(pairs.pairs, table, strict=True):
        alone = distance(_shape(rows[i]), _shape(rows[j]))
        # the same formula in lanes and alone: rounding of metre-sized numbers
        assert row[DISTANCE] == pytest.approx(alone.distance, abs=1e-14)
        assert row[AXIS_DISTANCE] == pytest.approx(alone.axis_distance, abs=1e-14)
        np.testing.assert_allclose(row[NORMAL], alone.normal, rtol=0, atol=1e-12)


def test_the_least_pair():
    pairs, rows = Pairs(4, 6), _rows(10, 1)
    apart = {(i, j): distance(_shape(rows[i]), _shape(rows[j])).distance for i in range(4) for j in range(4, 10)}
    least = pairs.least(rows)
    assert (least.first, least.second) == min(apart, key=apart.get)
    assert least.distance == pytest.approx(min(apart.values()), abs=1e-14)


def test_an_arm_and_a_person_in_one_call():
    arm = er.load("panda")
    body, person = Body(arm), Person.standing((0.8, 0.1, 0.0))
    rows = np.vstack([body.rows(arm.ready, np.zeros(7)), person.rows])
    pairs = Pairs(len(body), len(person))
    nearest = min(distance(a, b).distance for a in body.capsules(arm.ready) for b in person.capsules())
    assert pairs.least(rows).distance == pytest.approx(nearest, abs=1e-14)
    many = pairs(np.array([rows, rows]))
    np.testing.assert_array_equal(many[1], pairs(rows, out=np.empty((len(pairs), 12))))


def test_no_pairs_and_wrong_rows_are_refused():
    with pytest.raises(ValueError, match="a pair at least"):
        Pairs(3)
    with pytest.raises(er.ShapeError, match="from 0 to 2"):
        Pairs(3, more=[(0, 3)])
    with pytest.raises(er.ShapeError, match="rows must have shape"):
        Pairs(2, 2)(np.zeros((3, ROW)))
