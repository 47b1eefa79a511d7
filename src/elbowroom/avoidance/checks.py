"""Checks of settings: the small vocabulary of `__post_init__`, and the error that names a field.

Each check takes the dataclass and the names of its fields, and raises a FieldError that names field, expectation and
what came.  Numbers become floats on the way.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

from ..errors import ConfigError, nearest_hint

SHORTEST = 1e-5
"""s between cycles, at least: no arm takes commands faster, and what is kept of seconds has a row a cycle."""
_NOTHING: Any = object()


def setting(default: Any, unit: str, doc: str) -> Any:
    """A dataclass field with its unit ("" for none) and its meaning."""
    return dataclasses.field(default=default, metadata={"unit": unit, "doc": doc})


class FieldError(ConfigError):
    """One setting that cannot be used: where it is, and what is wrong with it."""

    def __init__(
        self, key: str, expected: str = "", got: Any = _NOTHING, *, problem: str | None = None, place: str = ""
    ) -> None:
        if problem is None:
            problem = f"expected {expected}; " + ("it is missing" if got is _NOTHING else f"got {got!r:.500}")
        self.key, self.problem, self.place = key, problem, place
        super().__init__(": ".join(part for part in (place, key, problem) if part))

    def inside(self, path: str) -> FieldError:
        """The same complaint seen from the table around it."""
        return FieldError(joined(path, self.key), problem=self.problem)

    def of(self, file: str) -> FieldError:
        """The same complaint with the file's name in front."""
        return FieldError(self.key, problem=self.problem, place=file)


def joined(path: str, key: str) -> str:
    """A dotted path with one more key."""
    return f"{path}.{key}" if path and key else path or key


def _refuse(settings: Any, name: str, expected: str) -> NoReturn:
    raise FieldError(name, expected, getattr(settings, name), place=type(settings).__name__)


def _unit(settings: Any, name: str) -> str:
    unit = next((f.metadata.get("unit", "") for f in dataclasses.fields(settings) if f.name == name), "")
    return f" ({unit})" if unit else ""


def as_number(value: Any) -> float | None:
    """A finite number as a float; None for anything else (bools are not numbers here)."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.integer | np.floating):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def number(settings: Any, *names: str, least: float = -math.inf, most: float = math.inf, strict: bool = False) -> None:
    """Each is a finite number, at least (or, if strict, above) `least` and at most `most`."""
    bounds = []
    if least > -math.inf:
        bounds.append(f"{'>' if strict else '>='} {least:g}")
    if most < math.inf:
        bounds.append(f"<= {most:g}")
    for name in names:
        value = as_number(getattr(settings, name))
        if value is None or not least <= value <= most or (strict and value == least):
            _refuse(settings, name, f"a number {' and '.join(bounds)}".strip() + _unit(settings, name))
        object.__setattr__(settings, name, value)


def positive(settings: Any, *names: str, most: float = math.inf) -> None:
    """Each is above zero; `most` is a bound that only a slip of units passes."""
    number(settings, *names, least=0.0, most=most, strict=True)


def non_negative(settings: Any, *names: str, most: float = math.inf) -> None:
    """Each is zero or more."""
    number(settings, *names, least=0.0, most=most)


def fraction(settings: Any, *names: str) -> None:
    """Each is from 0 to 1."""
    number(settings, *names, least=0.0, most=1.0)


def integer(settings: Any, name: str, least: int, most: int) -> None:
    """It is a whole number from least to most."""
    value = getattr(settings, name)
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        _refuse(settings, name, f"a whole number from {least} to {most}")


def flag(settings: Any, *names: str) -> None:
    """Each is true or false."""
    for name in names:
        if not isinstance(getattr(settings, name), bool):
            _refuse(settings, name, "true or false")


def choice(settings: Any, name: str, options: Sequence[str] | Mapping[str, Any]) -> None:
    """It is one of the options; the nearest is suggested."""
    value = getattr(settings, name)
    if not isinstance(value, str) or value not in options:
        _refuse(settings, name, " or ".join(f'"{o}"' for o in options) + nearest_hint(value, options))


def point(settings: Any, name: str) -> None:
    """It is three finite numbers; kept as a tuple."""
    value = getattr(settings, name)
    numbers = [as_number(x) for x in value] if isinstance(value, list | tuple | np.ndarray) else []
    if len(numbers) != 3 or None in numbers:
        _refuse(settings, name, "three finite numbers" + _unit(settings, name))
    object.__setattr__(settings, name, tuple(numbers))


def less(settings: Any, small: str, large: str) -> None:
    """One setting stays below another: floor < influence."""
    bound = getattr(settings, large)
    if not getattr(settings, small) < bound:
        _refuse(settings, small, f"a number below {large} = {bound!r}")
