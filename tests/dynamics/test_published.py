"""The published polynomials give the numbers that the papers print, or the corrected ones where the print slipped."""

from __future__ import annotations

from collections import Counter

import pytest

from elbowroom.algebra.polynomial import Polynomial
from elbowroom.dynamics.published import DOCUMENTS, EXECUTION_TIMES, PUBLISHED, TABLE_2, published


def figure(quantity, method, where, condition="general"):
    return next(p for p in published(quantity, method, condition) if p.where == where)


@pytest.mark.parametrize(
    "quantity, method, where, n, mul, add",
    [
        ("mass_matrix", "crba", "002 Table I", 7, 612, 510),
        ("mass_matrix", "gdahj", "002 Table I", 13, 1648, 1646),
        ("mass_matrix", "gda", "000 Table 1", 7, 1225, 1040),
        ("mass_matrix", "gda", "001 Table 2.2", 7, 931, 781),
        ("coriolis_matrix", "gda", "000 Table 1", 7, 2104, 1912),
        ("coriolis_matrix", "gda", "001 Table 2.2", 7, 1915, 1828),
        ("centrifugal_matrix", "gda", "000 Table 1", 7, 1141, 935),
        ("mass_matrix_rate", "gda", "000 Table 1", 6, 2385, 2518),
        ("mass_matrix_rate", "gda", "001 Table 2.2", 6, 2373, 2518),
        ("inverse_dynamics", "rnea", "002 Table I", 6, 450, 386),
        ("inverse_dynamics", "rnea", "004 Table 3", 6, 792, 662),
        ("inverse_dynamics", "lagrange_euler", "004 Table 3", 6, 101348, 77405),
        ("inverse_dynamics", "dalembert", "004 Table 3", 6, 2963, 2209),
        ("inverse_dynamics", "operator", "003 section 6", 6, 691, 519),
        ("mass_matrix and coriolis_matrix", "symbolic_numeric", "002 Table I", 6, 992, 766),
    ],
)
def test_multiplications_and_additions(quantity, method, where, n, mul, add):
    p = figure(quantity, method, where)
    assert (p.mul(n), p.add(n), p.total(n)) == (mul, add, mul + add)


def test_crba_takes_1122_operations_for_seven_joints():
    assert figure("mass_matrix", "crba", "001 Table 2.2").total(7) == 1122


def test_gdahj_is_ahead_of_crba_from_thirteen_joints_on():
    gdahj, crba = figure("mass_matrix", "gdahj", "002 Table I"), figure("mass_matrix", "crba", "002 Table I")
    assert [n for n in range(2, 31) if gdahj.total(n) < crba.total(n)] == list(range(13, 31))


TABLE_3 = {  # N = 6, N = 12; printed, but for the fourth Walker-Orin method (print: 5967, 21537)
    "aba": (2948, 6422),
    "walker_orin_1": (5920, 21701),
    "walker_orin_2": (4000, 13253),
    "walker_orin_3": (2882, 7857),
    "walker_orin_4": (5981, 21533),
    "brandl": (2400, 5220),
    "crba": (2462, 7227),
    "kalman": (2359, 5221),
    "diagonalized": (5900, 12710),
    "diagonalized_unnormalized": (4951, 10507),
}


@pytest.mark.parametrize("method", TABLE_3)
def test_kozlowskis_table_3(method):
    (p,) = published("forward_dynamics", method)
    assert (p.total(6), p.total(12)) == TABLE_3[method]
    assert p.values == ((6, TABLE_3[method][0]), (12, TABLE_3[method][1]))


def test_the_third_walker_orin_method_needs_a_third_of_a_cube():
    (p,) = published("forward_dynamics", "walker_orin_3")
    printed = Polynomial.read("1/6n^3 + 43/2n^2 + 2149/6n - 113")
    assert p.total(6) == 2882
    assert printed(6) == 2846  # not what stands beside it


@pytest.mark.parametrize(
    "form, method", [("normalized", "diagonalized"), ("unnormalized", "diagonalized_unnormalized")]
)
@pytest.mark.parametrize("condition", ["general", "orthogonal"])
def test_kozlowskis_table_2_adds_up(form, method, condition):
    """Line by line to the printed totals, which needs 345N - 180 common additions and 13N - 3 for z+."""
    (p,) = published("forward_dynamics", method, condition)
    column = {"general": ("mul", "add"), "orthogonal": ("mul_orthogonal", "add_orthogonal")}[condition]
    for kind, total in zip(column, (p.mul, p.add), strict=True):
        lines = [Polynomial.read(getattr(r, kind)) for r in TABLE_2 if r.part in ("common", form)]
        assert sum(lines, start=Polynomial()) == total


def test_kozlowskis_totals_in_the_text():
    general, orthogonal = (published("forward_dynamics", "diagonalized", c)[0] for c in ("general", "orthogonal"))
    assert general.total == Polynomial.read("1135n - 910")
    assert orthogonal.total == Polynomial.read("782n - 740")
    assert published("forward_dynamics", "diagonalized_unnormalized")[0].total == Polynomial.read("926n - 605")


def test_the_common_additions_are_345n():
    common = [Polynomial.read(r.add) for r in TABLE_2 if r.part == "common"]
    assert sum(common, start=Polynomial()) == Polynomial.read("345n - 180")


def test_tensor_rotations():
    found = {p.method: (p.mul(1), p.add(1)) for p in PUBLISHED if p.quantity == "tensor_rotation"}
    assert found == {"naive": (54, 36), "featherstone": (28, 29), "thesis": (28, 21)}


def test_counts_are_whole_for_every_number_of_joints():
    """But for the fourth Walker-Orin method, whose print has half operations at odd n."""
    for p in PUBLISHED:
        if not p.method.startswith("walker_orin_4"):
            assert all(p.total(n).denominator == 1 for n in range(1, 31)), p


def test_a_total_is_the_sum_of_its_parts():
    for p in PUBLISHED:
        assert (p.mul is None) == (p.add is None)
        if p.mul is not None:
            assert p.total == p.mul + p.add


def test_every_figure_has_its_place_once():
    places = Counter((p.quantity, p.method, p.condition, p.where) for p in PUBLISHED)
    assert set(places.values()) == {1}
    assert all(p.document in DOCUMENTS.values() for p in PUBLISHED if p.printed)
    assert [p.method for p in PUBLISHED if not p.printed] == ["gda"]


def test_gda_and_gdahj_start_from_link_frames_and_the_others_from_angles():
    assert all(p.kinematics == (p.method not in ("gda", "gdahj")) for p in PUBLISHED)


def test_the_recount_comes_last():
    found = published("centrifugal_matrix", "gda")
    assert [p.printed for p in found] == [True, True, False]
    assert (found[-1].mul(7), found[-1].add(7)) == (1540, 1348)


def test_nothing_is_published_for_a_made_up_method():
    assert published("mass_matrix", "nosuch") == ()


def test_execution_times_are_those_of_table_2_1():
    assert {(q, m): t for q, m, t in EXECUTION_TIMES}["coriolis_matrix", "rnea_columns"] == 1.328
    assert len(EXECUTION_TIMES) == 9
