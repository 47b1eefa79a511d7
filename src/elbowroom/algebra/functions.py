"""sin, cos, sqrt, log, abs, exp, power, minimum, maximum, where: for floats, arrays, Expr and object arrays alike.

(`np.sin` fails on an array that mixes floats and Expr, and `math.sin` on arrays; these take all of them.)  And the
least, greatest, sum and best of many numbers: `least`, `largest`, `summed`, `best`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, TypeVar, overload

import numpy as np

from ..errors import TraceError
from . import expr
from .expr import Array, Condition, Expr, Scalar

T = TypeVar("T", Scalar, Array)  # a function of a scalar gives a scalar, of an array an array

_DOUBLINGS = 10  # exp: halvings of the argument before its series, doublings after it
_TERMS = 15  # exp: terms of the series; what follows is below 1e-16 at the greatest halved argument, 700 / 2^10


def _elementwise(scalar: Callable[..., Any], numeric: Callable[..., Any], *arguments: Any) -> Any:
    """`scalar` on every element if an Expr may be among them, else NumPy's `numeric` on the whole."""
    traced = False
    for x in arguments:
        if type(x) is Expr:
            traced = True
        elif isinstance(x, np.ndarray) and x.dtype == object:
            return np.frompyfunc(scalar, len(arguments), 1)(*arguments)
    if traced:
        if any(isinstance(x, np.ndarray) for x in arguments):
            return np.frompyfunc(scalar, len(arguments), 1)(*arguments)
        return scalar(*arguments)
    return numeric(*arguments)


def sin(x: T) -> T:
    """Sine, radians."""
    return _elementwise(lambda v: expr.unary("sin", v, math.sin), np.sin, x)


def cos(x: T) -> T:
    """Cosine, radians."""
    return _elementwise(lambda v: expr.unary("cos", v, math.cos), np.cos, x)


def sqrt(x: T) -> T:
    """Square root."""
    return _elementwise(lambda v: expr.unary("sqrt", v, math.sqrt), np.sqrt, x)


def log(x: T) -> T:
    """Natural logarithm; of an Expr -inf below the least normal number (2^-1022, in single precision 2^-126)."""
    return _elementwise(lambda v: expr.unary("log", v, np.log), np.log, x)


def absolute(x: T) -> T:
    """Absolute value."""
    return _elementwise(lambda v: expr.unary("abs", v, abs), np.abs, x)


@overload
def minimum(x: Scalar, y: Scalar) -> Scalar: ...
@overload
def minimum(x: Array, y: Scalar | Array) -> Array: ...
@overload
def minimum(x: Scalar, y: Array) -> Array: ...
def minimum(x: Scalar | Array, y: Scalar | Array) -> Scalar | Array:
    """The smaller of two."""
    return _elementwise(lambda a, b: expr.extremum("min", a, b), np.minimum, x, y)


@overload
def maximum(x: Scalar, y: Scalar) -> Scalar: ...
@overload
def maximum(x: Array, y: Scalar | Array) -> Array: ...
@overload
def maximum(x: Scalar, y: Array) -> Array: ...
def maximum(x: Scalar | Array, y: Scalar | Array) -> Scalar | Array:
    """The greater of two."""
    return _elementwise(lambda a, b: expr.extremum("max", a, b), np.maximum, x, y)


@overload
def where(condition: Condition, x: Scalar, y: Scalar) -> Scalar: ...
@overload
def where(condition: Array, x: Scalar | Array, y: Scalar | Array) -> Array: ...
@overload
def where(condition: Condition, x: Array, y: Scalar | Array) -> Array: ...
@overload
def where(condition: Condition, x: Scalar, y: Array) -> Array: ...
def where(condition: Condition | Array, x: Scalar | Array, y: Scalar | Array) -> Scalar | Array:
    """x where the condition holds, else y; both are computed."""
    return _elementwise(expr.select, np.where, condition, x, y)


def sign(x: T) -> T:
    """-1, 0 or 1."""
    return where(x > 0, 1.0, where(x < 0, -1.0, 0.0))


def exp(x: T) -> T:
    """e to the x; of an Expr by arithmetic alone, for |x| <= 700 with a relative error below 1e-15 (1 + |x|).

    With y = |x| / 2^10, e^y - 1 comes from its series and e^2y - 1 = (e^y - 1) (2 + (e^y - 1)) doubles y ten times; a
    negative x takes the reciprocal.  An Expr beyond the range gives the value at its end (1e-304 or 1e304).
    """
    return _elementwise(_exp, np.exp, x)


def _exp(x: Scalar) -> Scalar:
    if type(x) is not Expr:
        return math.exp(x)
    y = minimum(where(x < 0, -x, x), 700.0) * 2.0**-_DOUBLINGS  # not abs, which has no derivative at 0
    series: Scalar = 1.0
    for k in range(_TERMS, 1, -1):
        series = y * (1.0 / k) * series + 1.0
    less_one = y * series
    for _ in range(_DOUBLINGS):
        less_one = less_one * (less_one + 2.0)
    whole = less_one + 1.0
    return where(x < 0, 1.0 / whole, whole)


def power(x: T, n: int) -> T:
    """x to the whole power n >= 1, by squaring."""
    if isinstance(n, bool) or not isinstance(n, int) or n < 1:
        raise TraceError(f"power takes a whole exponent of 1 or more; got {n!r}")
    while not n & 1:
        n, x = n >> 1, x * x
    result = x
    while n > 1:
        n, x = n >> 1, x * x
        if n & 1:
            result = result * x
    return result


# ---- of many numbers, in a tree: short chains of steps that wait for one another
def folded(join: Callable[[Scalar, Scalar], Scalar], values: Iterable[Scalar]) -> Scalar:
    """All values joined by twos, neighbours first."""
    parts = list(values)
    while len(parts) > 1:
        parts = [join(*parts[k : k + 2]) if k + 1 < len(parts) else parts[k] for k in range(0, len(parts), 2)]
    return parts[0]


def largest(values: Iterable[Scalar]) -> Scalar:
    """The greatest of some numbers, at least 0."""
    return folded(maximum, [0.0, *values])


def least(values: Iterable[Scalar]) -> Scalar:
    """The least of some numbers."""
    return folded(minimum, values)


def summed(values: Iterable[Scalar]) -> Scalar:
    """The sum of some numbers."""
    return folded(lambda x, y: x + y, values)


def best(
    candidates: list[tuple[Scalar, ...]], better: Callable[[tuple[Scalar, ...], tuple[Scalar, ...]], Condition]
) -> tuple[Scalar, ...]:
    """The best of some tuples, the first of equals."""
    while len(candidates) > 1:
        pairs = zip(candidates[::2], candidates[1::2], strict=False)
        found = [
            tuple(where(better(second, first), new, old) for new, old in zip(second, first, strict=True))
            for first, second in pairs
        ]
        candidates = found + candidates[2 * len(found) :]
    return candidates[0]
