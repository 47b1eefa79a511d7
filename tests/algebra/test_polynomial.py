"""Polynomials in n, exact."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elbowroom.algebra.polynomial import Polynomial, shown, through


@pytest.mark.parametrize(
    "text, coefficients",
    [
        ("10n^2 + 22n - 32", (-32, 22, 10)),
        ("3/2n^3 + 35/2n^2 + 9n - 16", (-16, 9, Fraction(35, 2), Fraction(3, 2))),
        ("2.5n^2+95.5n-18", (-18, Fraction(191, 2), Fraction(5, 2))),
        ("n", (0, 1)),
        ("-n^2 + n", (0, 1, -1)),
        ("28", (28,)),
        ("0", ()),
        ("n + n - 2n", ()),
    ],
)
def test_read(text, coefficients):
    assert Polynomial.read(text).coefficients == coefficients


@pytest.mark.parametrize("text", ["10m^2", "n n", "10n^2 22n", "+", "3//2n", "n^"])
def test_what_is_no_polynomial_is_refused(text):
    with pytest.raises(ValueError, match="polynomial in n was expected"):
        Polynomial.read(text)


@pytest.mark.parametrize(
    "text", ["10n² + 22n - 32", "1.5n³ + 17.5n² + 9n - 16", "7/6 n³ + 64/3 n - 28", "n", "0", "-n² + n", "132n"]
)
def test_prints_as_the_papers_do(text):
    assert str(Polynomial.read(text.replace("²", "^2").replace("³", "^3").replace(" n", "n"))) == text


def test_evaluates_exactly():
    assert Polynomial.read("7/6n^3 + 23/2n^2 + 64/3n - 28")(6) == 766
    assert Polynomial.read("265/2n^2")(7) == Fraction(12985, 2)
    assert shown(Fraction(12985, 2)) == "6492.5"
    assert shown(Fraction(766)) == "766"


coefficients = st.lists(st.fractions(min_value=-1000, max_value=1000, max_denominator=24), max_size=6)


@given(coefficients, st.integers(1, 5))
def test_a_polynomial_is_found_through_its_values(values, start):
    p = Polynomial(tuple(values))
    size = len(p.coefficients)
    assert through({n: p(n) for n in range(start, start + size)}) == p
    assert through({n: p(n) for n in range(start, start + size + 2)}) == p  # of the least degree


@given(coefficients, coefficients, st.integers(0, 50))
def test_sums(a, b, n):
    p, q = Polynomial(tuple(a)), Polynomial(tuple(b))
    assert (p + q)(n) == p(n) + q(n)
    assert (p - q)(n) == p(n) - q(n)
