"""A setting: its default, what it may be and its meaning side by side, and the error that names it.

    @dataclass(frozen=True)
    class Belt(Settings):
        speed: float = setting(0.2, "(0, 10] m/s", "of the belt")          above 0, at most 10
        side: str = setting("left", ("left", "right"), "where it stands")

`Settings` checks each field when it is made, by its type and by what stands there: numbers become floats (bools, NaN
and infinity are none), lists become tuples.  A FieldError names class, field, expectation and what came.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import re
import types
import typing
from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple, TypeGuard, TypeVar

import numpy as np

from ..errors import ConfigError, nearest_hint

T = TypeVar("T")
SHORTEST = 1e-5
"""s between cycles, at least: no arm takes commands faster, and what is kept of seconds has a row a cycle."""
_NOTHING = object()


class FieldError(ConfigError):
    """One setting that cannot be used: where it is, and what is wrong with it."""

    def __init__(
        self, key: str, expected: str = "", got: object = _NOTHING, *, problem: str | None = None, place: str = ""
    ) -> None:
        if problem is None:
            problem = f"expected {expected}; " + ("it is missing" if got is _NOTHING else f"got {got!r:.500}")
        self.key, self.problem, self.place = key, problem, place
        super().__init__(": ".join(part for part in (place, key, problem) if part))

    def inside(self, path: str) -> FieldError:
        """The same complaint seen from the table around it."""
        return FieldError(joined(path, self.key), problem=self.problem)

    def of(self, file: str) -> FieldError:
        """The same complaint with the name of the file, or of the class, in front."""
        return FieldError(self.key, problem=self.problem, place=file)


def joined(path: str, key: str) -> str:
    """A dotted path with one more key."""
    return f"{path}.{key}" if path and key else path or key


def as_number(value: object) -> float | None:
    """A finite number as a float; None for anything else (bools are not numbers here)."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.integer | np.floating):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


class Allowed(NamedTuple):
    """What a number, or each of a tuple, may be: in its unit from `least`, itself too unless `above`, to `most`; or
    which words there are."""

    unit: str = ""
    least: float = -math.inf
    most: float = math.inf
    above: bool = False
    options: Collection[str] = ()  # a registry stays one: what is added to it later counts
    below: str = ""  # another field that it stays below

    def holds(self, number: float) -> bool:
        """Whether a number is within the bounds."""
        return self.least <= number <= self.most and not (self.above and number == self.least)

    @property
    def in_unit(self) -> str:
        """The unit as a message ends with it."""
        return f" ({self.unit})" if self.unit else ""

    @property
    def bounds(self) -> str:
        """The bounds as a message says them."""
        low = f"{'>' if self.above else '>='} {self.least:g}" if self.least > -math.inf else ""
        return " and ".join(filter(None, (low, f"<= {self.most:g}" if self.most < math.inf else "")))


_ALLOWED = re.compile(r"(?:([(\[])(\S+), (?:(\S+)\]|inf\)) ?)?([^(\[].*)?")


def setting(default: T, allowed: str | Iterable[str], doc: str, *, below: str = "", traced: bool = True) -> T:
    """A dataclass field: its default, what it may be, and its meaning.

    `allowed` is a unit ("" for none), behind an interval where there are bounds, "(0, 10] m", which hold for each entry
    of a tuple; or the words to choose from.  `below` names another field that it stays below.  What is not `traced`
    neither chooses a compiled program nor is an input of one.
    """
    if isinstance(allowed, str):
        found = _ALLOWED.fullmatch(allowed)
        if found is None:
            raise ValueError(f'setting: expected a unit, or an interval and a unit, "(0, 10] m"; got {allowed!r}')
        bracket, low, high, unit = found.groups(default="")
        least, most = (int(x) if x.lstrip("-").isdigit() else float(x) for x in (low or "-inf", high or "inf"))
        may = Allowed(unit, least, most, above=bracket == "(", below=below)
    else:
        may = Allowed(options=allowed if isinstance(allowed, Mapping) else tuple(allowed))
    return dataclasses.field(default=default, metadata={"unit": may.unit, "doc": doc, "allowed": may, "traced": traced})


class Spec(NamedTuple):
    """What a field may be, by its type and by its `setting`."""

    name: str
    hint: Any
    kind: Any  # float, int, bool, str or a dataclass, of an entry where it is a tuple; None: not checked
    size: int | None  # how many entries a tuple has, 0 for any number; None: it is no tuple
    optional: bool  # it may be None
    own: bool  # a function of one's own may stand in its place, which no file can hold
    allowed: Allowed
    traced: bool = True  # part of what compiled programs are made of

    @property
    def expected(self) -> str:
        """What it may be, in words, with bounds and unit."""
        if self.size is None:
            return self._words()
        many = "numbers" if self.kind is float else "entries"
        return f"a list of {f'{self.size} ' if self.size else ''}{many}{self.allowed.in_unit}"

    def _words(self, finite: bool = False) -> str:
        """What an entry may be; a number `finite`, if the bounds do not say so."""
        may, bounds = self.allowed, self.allowed.bounds
        if may.options:
            return " or ".join(f'"{option}"' for option in may.options)
        if self.kind is float:
            return f"a {'finite ' if finite or not bounds else ''}number {bounds}".rstrip() + may.in_unit
        if self.kind is int:
            return "a whole number" + (f" from {may.least} to {may.most}" if bounds else "")
        named = {bool: "true or false", str: "a string"}
        return named.get(self.kind, f"a {getattr(self.kind, '__name__', 'value')}")

    def fit(self, value: object, path: str) -> object:
        """The value as it is kept, or a FieldError at that path."""
        if (value is None and self.optional) or (self.own and callable(value)):
            return value
        if self.size is None:
            return self._entry(value, path)
        entries = tuple(value) if _listed(value) else None
        if entries is None or (self.size and len(entries) != self.size):
            raise FieldError(path, self.expected, value)
        return tuple(self._entry(entry, f"{path}[{k}]") for k, entry in enumerate(entries))

    def _entry(self, value: object, path: str) -> object:
        kept = value
        if self.kind is float:
            kept = as_number(value)
            fits = kept is not None and self.allowed.holds(kept)
        elif self.kind is int:
            fits = isinstance(value, int) and not isinstance(value, bool) and self.allowed.holds(value)
        elif self.kind is str:
            kept = value.__fspath__() if hasattr(value, "__fspath__") else value
            fits = isinstance(kept, str) and (not self.allowed.options or kept in self.allowed.options)
        else:
            fits = self.kind is None or isinstance(value, self.kind)
        if not fits:
            raise FieldError(path, self._words(kept is None) + nearest_hint(value, self.allowed.options), value)
        return kept


def _listed(value: object) -> TypeGuard[Iterable[object]]:
    """Whether this is several values in order: neither words, nor a table, nor an array that is one number."""
    plain = isinstance(value, str | bytes | bytearray | Mapping)
    return isinstance(value, Iterable) and not plain and getattr(value, "ndim", 1) > 0


def specs(cls: type) -> tuple[Spec, ...]:
    """What each field of a dataclass may be."""
    return _specs(cls)


@functools.cache
def _specs(cls: type) -> tuple[Spec, ...]:
    hints = typing.get_type_hints(cls)
    return tuple(_spec(field, hints[field.name]) for field in dataclasses.fields(cls))


def _spec(field: dataclasses.Field[object], hint: object) -> Spec:
    union = typing.get_args(hint) if typing.get_origin(hint) in (types.UnionType, typing.Union) else (hint,)
    own = any(getattr(part, "_is_protocol", False) for part in union)
    plain = [part for part in union if part is not type(None) and not getattr(part, "_is_protocol", False)]
    kind, size = plain[0] if len(plain) == 1 else None, None
    allowed = field.metadata.get("allowed", Allowed())
    if typing.get_origin(kind) is tuple:
        kind, *others = typing.get_args(kind)
        size = 0 if others == [...] else 1 + len(others)
    if typing.get_origin(kind) is typing.Literal:
        kind, allowed = str, Allowed(options=typing.get_args(kind))
    known = kind in (float, int, bool, str) or dataclasses.is_dataclass(kind)
    traced = field.metadata.get("traced", True)
    return Spec(field.name, hint, kind if known else None, size, type(None) in union, own, allowed, traced)


class Settings:
    """Base of a frozen dataclass of settings: one that is made has been checked, field by field."""

    def __post_init__(self) -> None:
        found = specs(type(self))
        try:
            for spec in found:
                object.__setattr__(self, spec.name, spec.fit(getattr(self, spec.name), spec.name))
        except FieldError as error:
            raise error.of(type(self).__name__) from None
        for name, other in ((spec.name, spec.allowed.below) for spec in found if spec.allowed.below):
            value, bound = getattr(self, name), getattr(self, other)
            if value is not None and bound is not None and not value < bound:
                raise refusal(self, name, f"a number below {other} = {bound!r}")


def refusal(settings: object, name: str, expected: str) -> FieldError:
    """The error of a field that is not as expected, for what one field alone does not show."""
    return FieldError(name, expected, getattr(settings, name), place=type(settings).__name__)


def bounded(settings: object, name: str, least: float = -math.inf, most: float = math.inf) -> None:
    """Refuses a field beyond bounds that depend on another field."""
    (spec,) = (spec for spec in specs(type(settings)) if spec.name == name)
    may = spec.allowed
    spec = spec._replace(allowed=may._replace(least=max(may.least, least), most=min(may.most, most)))
    if not spec.allowed.holds(getattr(settings, name)):
        raise refusal(settings, name, spec.expected)
