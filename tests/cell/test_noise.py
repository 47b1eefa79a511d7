"""A sensor's error: normal, the whole person at once, and the same for the same picture."""

from __future__ import annotations

import numpy as np
import pytest

from elbowroom.cell import Noisy, Recorded, Still, Walk
from elbowroom.cell.people.coworker import Coworker
from elbowroom.geometry import Person
from elbowroom.geometry.shapes import RADIUS, A, B
from handwritten import vicon

WALK = Walk((2.0, 0.0), (1.0, 0.0), 0.3, shape="standing")


def seen(who, t: float) -> np.ndarray:
    """The rows that it shows."""
    rows = np.empty((len(who.names), 13))
    assert who.look(t, rows) == t
    return rows


def test_the_whole_person_is_beside_where_they_are():
    who = Noisy(WALK, 0.05)
    assert isinstance(who, Coworker)
    true, shown = seen(WALK, 0.7), seen(who, 0.7)
    off = who.error(0.7)
    assert np.abs(off).min() > 0
    for end in (A, B):
        np.testing.assert_array_equal(shown[:, end], true[:, end] + off)
    np.testing.assert_array_equal(shown[:, RADIUS:], true[:, RADIUS:])  # radius and velocities
    np.testing.assert_array_equal(who.point(0.7), WALK.point(0.7))
    assert (who.names, who.duration) == (WALK.names, WALK.duration)


def test_the_same_picture_has_the_same_error_whatever_was_asked_before():
    one, other = Noisy(WALK, 0.05, seed=3), Noisy(WALK, 0.05, seed=3)
    times = [0.0, 0.5, 0.51, 100.0]
    first = [seen(one, t) for t in times]
    for t, rows in zip(reversed(times), reversed(first), strict=True):
        np.testing.assert_array_equal(seen(other, t), rows)
    assert not np.array_equal(one.error(0.5), one.error(0.51))
    assert not np.array_equal(one.error(0.5), Noisy(WALK, 0.05, seed=4).error(0.5))


def test_it_is_normal_with_the_spread_that_was_asked_for():
    who = Noisy(Still(Person.cylinder((1.0, 0.0, 0.0))), 0.02)
    errors = np.array([who.error(0.01 * k) for k in range(4000)])
    # 4000 draws: their mean is within 4.5 sigma / sqrt(4000), their spread within 4.5 sigma / sqrt(8000), but for one
    # seed in 20 000; this one is fixed.
    np.testing.assert_allclose(errors.mean(axis=0), 0.0, atol=0.02 * 4.5 / np.sqrt(4000))
    np.testing.assert_allclose(errors.std(axis=0), 0.02, atol=0.02 * 4.5 / np.sqrt(8000))
    assert np.abs(np.corrcoef(errors.T)[np.triu_indices(3, 1)]).max() < 4.5 / np.sqrt(4000)
    assert np.abs(np.corrcoef(errors[:-1, 0], errors[1:, 0])[0, 1]) < 4.5 / np.sqrt(4000)  # picture after picture


def test_old_data_keeps_the_error_that_it_was_taken_with(tmp_path):
    path = tmp_path / "take.csv"
    path.write_text(vicon(20, hide=[(k, "hip") for k in range(6, 16)]))
    who = Noisy(Recorded(path), 0.05)
    rows, again = np.empty((2, len(who.names), 13))
    stamp = who.look(0.08, rows)
    assert stamp < 0.08
    assert who.look(0.1, again) == stamp
    np.testing.assert_array_equal(rows, again)
    before = rows.copy()
    assert who.look(-1.0, rows) == -np.inf  # nothing was measured: parked, without an error
    assert not np.array_equal(before, rows)
    assert len(np.unique(rows, axis=0)) == 1


@pytest.mark.parametrize("sigma", [-0.1, np.nan, np.inf])
def test_a_spread_that_is_none_is_refused(sigma):
    with pytest.raises(ValueError, match=r"Noisy\.sigma"):
        Noisy(WALK, sigma)
