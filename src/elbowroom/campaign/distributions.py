"""Distributions of a campaign's parameters: what a file says of each, and a value from a number between 0 and 1.

    noise = 0.01                                               a fixed value
    noise = { choice = [0.01, 0.02], weights = [3, 1] }        one of these; even without weights
    noise = { uniform = [0.0, 0.02] }                          evenly between two numbers
    noise = { loguniform = [0.001, 0.1] }                      evenly in the logarithm
    noise = { normal = [0.01, 0.003], bounds = [0.0, 0.02] }   mean and standard deviation, cut off at the bounds
    people = { integers = [1, 3] }                             whole numbers, both ends included
    law = { each = ["K", "F"] }                                every one in every scene: runs that can be paired

Values come by the inverse of the cumulative distribution, one number for one value, computed with Python's `math` value
by value: results of NumPy's vectorised functions may depend on where in an array a value stands.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from statistics import NormalDist
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ..avoidance.checks import FieldError, as_number
from ..errors import did_you_mean

Array = NDArray[np.float64]
Value = float | int | bool | str | tuple[float, ...]


class Distribution(Protocol):
    """What a parameter is drawn from."""

    @property
    def probes(self) -> tuple[Value, ...]:
        """Values to check what may be drawn: the ends, what lies between, or all there are."""

    def values(self, u: Array) -> list[Value]:
        """Values for numbers evenly between 0 (included) and 1."""

    def data(self) -> object:
        """As the file has it."""


@dataclass(frozen=True)
class Fixed:
    """Always the same."""

    value: Value

    @property
    def probes(self) -> tuple[Value, ...]:
        """The value."""
        return (self.value,)

    def values(self, u: Array) -> list[Value]:
        """The value, as often as asked."""
        return [self.value] * len(u)

    def data(self) -> object:
        """The value."""
        return list(self.value) if isinstance(self.value, tuple) else self.value


@dataclass(frozen=True)
class Choice:
    """One of several, as often as its weight says."""

    options: tuple[Value, ...]
    weights: tuple[float, ...] = ()

    @property
    def probes(self) -> tuple[Value, ...]:
        """All of them."""
        return self.options

    def values(self, u: Array) -> list[Value]:
        """The option in whose part of the weights a number falls."""
        edges = np.array(list(accumulate(self.weights or (1.0,) * len(self.options))))
        found = np.searchsorted(edges, u * edges[-1], side="right")
        return [self.options[min(int(k), len(self.options) - 1)] for k in found]

    def data(self) -> object:
        """A table with `choice`."""
        return {"choice": list(self.options)} | ({"weights": list(self.weights)} if self.weights else {})


@dataclass(frozen=True)
class Each:
    """Every one of several, in every scene; `draws` counts them through."""

    options: tuple[Value, ...]

    @property
    def probes(self) -> tuple[Value, ...]:
        """All of them."""
        return self.options

    def values(self, u: Array) -> list[Value]:
        """Not drawn."""
        raise NotImplementedError("options of `each` are counted through, not drawn")

    def data(self) -> object:
        """A table with `each`."""
        return {"each": list(self.options)}


@dataclass(frozen=True)
class Uniform:
    """Evenly between two numbers."""

    low: float
    high: float

    @property
    def probes(self) -> tuple[Value, ...]:
        """Both ends, and two numbers between that no grid has."""
        return tuple(self.low + part * (self.high - self.low) for part in (0.0, 1.0, math.pi / 10, math.e / 4))

    def values(self, u: Array) -> list[Value]:
        """Between the ends."""
        return [self.low + x * (self.high - self.low) for x in u.tolist()]

    def data(self) -> object:
        """A table with `uniform`."""
        return {"uniform": [self.low, self.high]}


@dataclass(frozen=True)
class LogUniform:
    """Evenly in the logarithm, between two numbers above 0."""

    low: float
    high: float

    @property
    def probes(self) -> tuple[Value, ...]:
        """Both ends, and two numbers between that no grid has."""
        return Uniform(self.low, self.high).probes

    def values(self, u: Array) -> list[Value]:
        """Between the ends, which rounding does not exceed."""
        low, high = math.log(self.low), math.log(self.high)
        return [min(max(math.exp(low + x * (high - low)), self.low), self.high) for x in u.tolist()]

    def data(self) -> object:
        """A table with `loguniform`."""
        return {"loguniform": [self.low, self.high]}


@dataclass(frozen=True)
class Normal:
    """A normal distribution cut off at both bounds (what lies beyond is drawn inside, not moved to the bound)."""

    mean: float
    deviation: float
    low: float
    high: float

    @property
    def probes(self) -> tuple[Value, ...]:
        """Both bounds, and two numbers between that no grid has."""
        return Uniform(self.low, self.high).probes

    def values(self, u: Array) -> list[Value]:
        """Within the bounds."""
        normal = NormalDist(self.mean, self.deviation)
        below, part = normal.cdf(self.low), normal.cdf(self.high) - normal.cdf(self.low)
        least, most = math.ulp(0.0), 1.0 - 2.0**-53  # where the inverse is defined
        inner = (min(max(below + x * part, least), most) for x in u.tolist())
        return [min(max(normal.inv_cdf(p), self.low), self.high) for p in inner]

    def data(self) -> object:
        """A table with `normal` and `bounds`."""
        return {"normal": [self.mean, self.deviation], "bounds": [self.low, self.high]}


@dataclass(frozen=True)
class Integers:
    """Whole numbers, each as often, both ends included."""

    low: int
    high: int

    @property
    def probes(self) -> tuple[Value, ...]:
        """Both ends."""
        return self.low, self.high

    def values(self, u: Array) -> list[Value]:
        """Whole numbers between the ends."""
        count = self.high - self.low + 1
        return [self.low + min(int(x * count), count - 1) for x in u.tolist()]

    def data(self) -> object:
        """A table with `integers`."""
        return {"integers": [self.low, self.high]}


KINDS = ("choice", "each", "uniform", "loguniform", "normal", "integers")
EXTRA = {"choice": "weights", "normal": "bounds"}
"""What else a distribution's table may have."""


def is_distribution(table: Mapping[str, object]) -> bool:
    """Whether a table of a file is a distribution, not a table of settings."""
    return bool(set(table) & {*KINDS, *EXTRA.values()})


def misspelt(table: Mapping[str, object]) -> str:
    """What is wrong with a table that was meant to be a distribution: its name is nearly one; else ""."""
    for key, value in table.items():
        if isinstance(value, list) and (hint := did_you_mean(key, KINDS, cutoff=0.75)):
            return f"unknown distribution {key!r}{hint}"
    return ""


def distribution(value: object, path: str) -> Distribution:
    """What a file's value at this path stands for."""
    if not isinstance(value, Mapping):
        return Fixed(_value(value, path))
    kind = [key for key in value if key in KINDS]
    if len(kind) != 1:
        raise FieldError(path, f"one of {', '.join(KINDS)}", dict(value))
    name = kind[0]
    for key in value:
        if key not in (name, EXTRA.get(name)):
            allowed = [name, EXTRA[name]] if name in EXTRA else [name]
            raise FieldError(
                f"{path}.{key}", problem=f"unknown key; expected {' and '.join(allowed)}{did_you_mean(key, allowed)}"
            )
    where = f"{path}.{name}"
    if name in ("choice", "each"):
        return _options(value, name, path)
    if name == "integers":
        given = value[name]
        whole = isinstance(given, list) and len(given) == 2 and all(type(x) is int for x in given)
        if not whole or not isinstance(given, list) or given[0] > given[1]:
            raise FieldError(where, "two whole numbers, the least and the most", given)
        return Integers(*given)
    if name == "normal":
        mean, deviation = _two(value[name], where, "mean and standard deviation")
        if deviation <= 0.0:
            raise FieldError(where, "a standard deviation > 0", deviation)
        if "bounds" not in value:
            raise FieldError(f"{path}.bounds", "two numbers, the least and the most that is drawn")
        low, high = _ordered(value["bounds"], f"{path}.bounds")
        normal = NormalDist(mean, deviation)
        if normal.cdf(high) - normal.cdf(low) < 1e-9:
            raise FieldError(f"{path}.bounds", f"bounds near the mean, {mean:g}", [low, high])
        return Normal(mean, deviation, low, high)
    low, high = _ordered(value[name], where)
    if name == "uniform":
        return Uniform(low, high)
    if low <= 0.0:
        raise FieldError(where, "two numbers > 0, the least and the most", value[name])
    return LogUniform(low, high)


def _options(value: Mapping[str, object], name: str, path: str) -> Distribution:
    given = value[name]
    where = f"{path}.{name}"
    if not isinstance(given, list) or not given:
        raise FieldError(where, "a list of at least one value", given)
    options = tuple(_value(each, f"{where}[{k}]") for k, each in enumerate(given))
    if len({isinstance(each, str) for each in options}) > 1:
        raise FieldError(where, "values of one kind, numbers or words", given)
    if len(set(options)) < len(options):
        raise FieldError(where, "values that differ", given)
    if name == "each":
        return Each(options)
    weights = value.get("weights")
    if weights is None:
        return Choice(options)
    numbers = [as_number(each) for each in weights] if isinstance(weights, list) else []
    sound = [each for each in numbers if each is not None and each >= 0.0]
    if len(sound) != len(options) or len(numbers) != len(options) or not sum(sound) > 0.0:
        raise FieldError(f"{path}.weights", f"{len(options)} numbers >= 0, not all of them 0", weights)
    return Choice(options, tuple(sound))


def _value(value: object, path: str) -> Value:
    if isinstance(value, str | bool) or type(value) is int:
        return value
    if isinstance(value, list):
        return tuple(_number(each, f"{path}[{k}]") for k, each in enumerate(value))
    return _number(value, path)


def _number(value: object, path: str) -> float:
    found = as_number(value)
    if found is None:
        raise FieldError(path, "a finite number, a word, true or false, or a distribution", value)
    return found


def _two(value: object, path: str, what: str) -> tuple[float, float]:
    if not isinstance(value, Sequence) or isinstance(value, str) or len(value) != 2:
        raise FieldError(path, f"two numbers, {what}", value)
    return _number(value[0], f"{path}[0]"), _number(value[1], f"{path}[1]")


def _ordered(value: object, path: str) -> tuple[float, float]:
    low, high = _two(value, path, "the least and the most")
    if not low < high:
        raise FieldError(path, "two numbers, the least and the most, that differ", value)
    return low, high
