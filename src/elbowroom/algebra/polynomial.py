"""Polynomials in n with exact coefficients: read as the papers print them, evaluated, fitted to counts.

Polynomial.read("3/2n^3 + 35/2n^2 + 9n - 16")(7)        Fraction: nothing is rounded
through({3: 8, 4: 15, 5: 24})                           the one polynomial of least degree through these points
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

_TERM = re.compile(r"(?P<sign>[+-]?)\s*(?=[\dn])(?P<number>\d+(?:/\d+|\.\d+)?)?\s*(?P<n>n(?:\^(?P<power>\d+))?)?\s*")
_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True)
class Polynomial:
    """A polynomial in n."""

    coefficients: tuple[Fraction, ...] = ()
    """By power of n, the constant first; the last is not zero."""

    def __post_init__(self) -> None:
        kept = [Fraction(c) for c in self.coefficients]
        while kept and kept[-1] == 0:
            kept.pop()
        object.__setattr__(self, "coefficients", tuple(kept))

    @classmethod
    def read(cls, text: str) -> Polynomial:
        """From text such as `10n^2 + 22n - 32`; fractions as 3/2, decimals exactly."""
        by_power: dict[int, Fraction] = {}
        rest = text.strip()
        while rest:
            match = _TERM.match(rest)
            if match is None or (by_power and not match["sign"]):
                raise ValueError(f"a polynomial in n was expected, such as 10n^2 + 22n - 32; got {text!r}")
            power = 0 if match["n"] is None else int(match["power"] or 1)
            value = Fraction(match["number"] or 1) * (-1 if match["sign"] == "-" else 1)
            by_power[power] = by_power.get(power, Fraction(0)) + value
            rest = rest[match.end() :]
        return cls(tuple(by_power.get(k, Fraction(0)) for k in range(max(by_power, default=-1) + 1)))

    @property
    def degree(self) -> int:
        """The highest power; 0 of a constant, zero included."""
        return max(0, len(self.coefficients) - 1)

    def __call__(self, n: int) -> Fraction:
        value = Fraction(0)
        for c in reversed(self.coefficients):
            value = value * n + c
        return value

    def __add__(self, other: Polynomial) -> Polynomial:
        size = max(len(self.coefficients), len(other.coefficients))
        a, b = (p.coefficients + (Fraction(0),) * (size - len(p.coefficients)) for p in (self, other))
        return Polynomial(tuple(x + y for x, y in zip(a, b, strict=True)))

    def __neg__(self) -> Polynomial:
        return Polynomial(tuple(-c for c in self.coefficients))

    def __sub__(self, other: Polynomial) -> Polynomial:
        return self + -other

    def __str__(self) -> str:
        text = ""
        for k in range(len(self.coefficients) - 1, -1, -1):
            c = self.coefficients[k]
            if c:
                sign = ("-" if c < 0 else "") if not text else (" - " if c < 0 else " + ")
                text += sign + _term(abs(c), k)
        return text or "0"


def shown(value: Fraction) -> str:
    """A value as text: whole, or a decimal."""
    return str(value) if value.denominator == 1 else f"{float(value):g}"


def _term(c: Fraction, power: int) -> str:
    symbol = "" if power == 0 else "n" if power == 1 else "n" + str(power).translate(_RAISED)
    if symbol and c == 1:
        return symbol
    if c.denominator in (2, 4, 5, 10):  # decimals where they are exact and short
        return f"{float(c):g}{symbol}"
    return f"{c}{symbol}" if c.denominator == 1 else f"{c} {symbol}".rstrip()


def through(points: Mapping[int, int | Fraction]) -> Polynomial:
    """The polynomial of least degree through these points, by Newton's divided differences."""
    at = list(points)
    divided = [Fraction(points[x]) for x in at]
    for order in range(1, len(at)):
        for i in range(len(at) - 1, order - 1, -1):
            divided[i] = (divided[i] - divided[i - 1]) / (at[i] - at[i - order])
    found = Polynomial()
    for x, c in zip(reversed(at), reversed(divided), strict=True):
        found = Polynomial((Fraction(0), *found.coefficients)) - _scaled(found, Fraction(x)) + Polynomial((c,))
    return found


def _scaled(p: Polynomial, factor: Fraction) -> Polynomial:
    return Polynomial(tuple(factor * c for c in p.coefficients))
