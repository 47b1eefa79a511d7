"""sin, cos, sqrt, abs, minimum, maximum, where: for floats, float arrays, Expr and object arrays alike.

(`np.sin` fails on an array that mixes floats and Expr, and `math.sin` on arrays; these take all of them.)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from . import expr
from .expr import Expr


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
