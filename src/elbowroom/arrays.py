"""Arrays that callers hand in: real, finite and of the right shape, or refused by name."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .errors import DtypeError, ShapeError


def finite(what: str, value: ArrayLike, *shapes: tuple[int, ...], where: str = "") -> NDArray[np.float64]:
    """A new float array of one of these shapes (any, if none is given) without NaN or infinity.

    `what` is what the message calls it, `where` what it ends with.
    """
    try:
        array = np.asarray(value)
    except ValueError as error:  # rows of different lengths
        raise ShapeError(f"{what} must be one array; got {value!r:.80}{where}") from error
    if array.dtype.kind not in "fiu":
        raise DtypeError(f"{what} must be real numbers; got dtype {array.dtype} from {value!r:.80}{where}")
    if shapes and array.shape not in shapes:
        raise ShapeError(f"{what} must have shape {' or '.join(map(str, shapes))}; got {array.shape}{where}")
    if not np.isfinite(array).all():
        raise ValueError(f"{what} must be finite; got {value!r:.80}{where}")
    return array.astype(float)


def number(what: str, value: ArrayLike, *, least: float = 0.0, more: bool = False) -> float:
    """One finite number, at least `least`, or with `more` above it; refused by name."""
    x = float(finite(what, value, ()))
    if x < least or (more and x == least):
        raise ValueError(f"{what} must be {'more than' if more else 'at least'} {least:g}; got {x:g}")
    return x


def fixed(array: ArrayLike) -> NDArray[np.float64]:
    """A read-only copy, of floats."""
    held = np.array(array, dtype=float)
    held.flags.writeable = False
    return held
