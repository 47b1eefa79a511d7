"""sin, cos, sqrt, abs, exp, power, minimum, maximum, where: for floats, float arrays, Expr and object arrays alike.

(`np.sin` fails on an array that mixes floats and Expr, and `math.sin` on arrays; these take all of them.)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import TraceError
from . import expr
from .expr import Expr

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


def sin(x: Any) -> Any:
    """Sine, radians."""
    return _elementwise(lambda v: expr.unary("sin", v, math.sin), np.sin, x)


def cos(x: Any) -> Any:
    """Cosine, radians."""
    return _elementwise(lambda v: expr.unary("cos", v, math.cos), np.cos, x)


def sqrt(x: Any) -> Any:
    """Square root."""
    return _elementwise(lambda v: expr.unary("sqrt", v, math.sqrt), np.sqrt, x)


def absolute(x: Any) -> Any:
    """Absolute value."""
    return _elementwise(lambda v: expr.unary("abs", v, abs), np.abs, x)


def minimum(x: Any, y: Any) -> Any:
    """The smaller of two."""
    return _elementwise(lambda a, b: expr.extremum("min", a, b), np.minimum, x, y)


def maximum(x: Any, y: Any) -> Any:
    """The greater of two."""
    return _elementwise(lambda a, b: expr.extremum("max", a, b), np.maximum, x, y)


def where(condition: Any, x: Any, y: Any) -> Any:
    """x where the condition holds, else y; both are computed."""
    return _elementwise(expr.select, np.where, condition, x, y)


def sign(x: Any) -> Any:
    """-1, 0 or 1."""
    return where(x > 0, 1.0, where(x < 0, -1.0, 0.0))


def exp(x: Any) -> Any:
    """e to the x; of an Expr by arithmetic alone, for |x| <= 700 with a relative error below 1e-15 (1 + |x|).

    With y = |x| / 2^10, e^y - 1 comes from its series and e^2y - 1 = (e^y - 1) (2 + (e^y - 1)) doubles y ten times; a
    negative x takes the reciprocal.  An Expr beyond the range gives the value at its end (1e-304 or 1e304).
    """
    return _elementwise(_exp, np.exp, x)


def _exp(x: Any) -> Any:
    if type(x) is not Expr:
        return math.exp(x)
    y = minimum(absolute(x), 700.0) * 2.0**-_DOUBLINGS
    series: Any = 1.0
    for k in range(_TERMS, 1, -1):
        series = y * (1.0 / k) * series + 1.0
    less_one = y * series
    for _ in range(_DOUBLINGS):
        less_one = less_one * (less_one + 2.0)
    whole = less_one + 1.0
    return where(x < 0, 1.0 / whole, whole)


def power(x: Any, n: int) -> Any:
    """x to the whole power n >= 1, by squaring."""
    if isinstance(n, bool) or not isinstance(n, int) or n < 1:
        raise TraceError(f"power takes a whole exponent of 1 or more; got {n!r}")
    result = None
    while n:
        if n & 1:
            result = x if result is None else result * x
        n >>= 1
        x = x * x if n else x
    return result
