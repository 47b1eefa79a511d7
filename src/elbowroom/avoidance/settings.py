"""Settings as data: frozen dataclasses in and out of TOML, checked, and their floats as runtime inputs.

A part of a controller is a frozen dataclass.  Its strings, bools and whole numbers choose structure; its floats are
gains.  Each field says what it may be, and `Settings` checks it (checks.py).

    read, loads, load, dumps    to and from TOML; every complaint begins with the file and the path to the key
    rows                        name, default, unit and meaning of every setting
    leaves, lifted              the floats in order, and the same tree with other values (Expr, say) in their place

A setting that may be None (a part that is not there) is None where the file says `name = false`, or where the file
leaves it out and None is its default.
"""

from __future__ import annotations

import dataclasses
import json
import math
import os
import typing
from collections.abc import Iterator, Mapping, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeGuard, TypeVar

from ..errors import ConfigError, close_names
from ..reading import named, parse_toml, read_bytes
from .checks import FieldError as FieldError
from .checks import Settings as Settings
from .checks import Spec, specs
from .checks import joined as _joined
from .checks import setting as setting

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T")
LARGEST = 2**20  # bytes of a file


# ---- data in


def read(cls: type[T], table: Mapping[str, object], path: str = "", base: T | None = None) -> T:
    """The settings that a table (of tomllib, say) holds.  `path` is where the table is in the file.

    What the table leaves out is as in `base`, else the class' default: the tables inside have their parent's default
    for a base, so that a file which changes one gain of a part changes nothing else of it.
    """
    if not isinstance(table, Mapping):
        raise FieldError(path or cls.__name__, "a table", table)
    known = {f.name: f for f in dataclasses.fields(cls) if f.init}  # type: ignore[arg-type]  # a dataclass
    for key in table:
        if key not in known:
            raise FieldError(_joined(path, key), problem=_unknown(key, known))
    values = {}
    for spec in specs(cls):
        if spec.name not in known:
            continue
        where, default = _joined(path, spec.name), _default(known[spec.name], base)
        if spec.name in table:
            values[spec.name] = _value(spec, table[spec.name], where, default)
        elif default is dataclasses.MISSING:
            raise FieldError(where, spec.expected)
        else:
            values[spec.name] = default
    try:
        return cls(**values)
    except FieldError as error:
        raise error.inside(path) from None
    except ValueError as error:
        raise FieldError(path, problem=str(error)) from error


def _default(spec: dataclasses.Field[object], base: object) -> object:
    """What a field is when it is left out, MISSING where it must not be."""
    if base is not None:
        return getattr(base, spec.name)
    return spec.default if spec.default_factory is dataclasses.MISSING else spec.default_factory()


def loads(cls: type[T], text: str | bytes, file: str = "") -> T:
    """The settings that a TOML text holds; `file` begins every complaint."""
    table = parse_toml(text, file or "settings", ConfigError)
    try:
        return read(cls, table)
    except FieldError as error:
        raise error.of(file) from error.__cause__


def load(cls: type[T], file: str | os.PathLike[str]) -> T:
    """The settings that a TOML file holds."""
    return loads(cls, read_bytes(file, LARGEST, ConfigError), named(file))


def _unknown(key: str, known: Mapping[str, dataclasses.Field[object]]) -> str:
    inside = [name for name in known if key.startswith(f"{name}_")]  # influence_mm: a unit in the name
    near = inside or close_names(key, known)
    if near:
        unit = known[near[0]].metadata.get("unit", "")
        return f"unknown key; did you mean {near[0]}{f' (in {unit})' if unit else ''}?"
    return f"unknown key; expected {', '.join(known)}"


def _value(spec: Spec, value: Any, path: str, default: object) -> object:
    if value is False and spec.optional:
        return None
    if spec.kind is None:
        raise TypeError(f"{path}: settings of type {spec.hint!r} cannot be read from a table")
    part = typing.cast(type, spec.kind)
    if dataclasses.is_dataclass(part):
        if spec.size is None:
            return read(part, value, path, default if type(default) is part else None)
        if isinstance(value, list | tuple):
            value = tuple(read(part, entry, f"{path}[{k}]") for k, entry in enumerate(value))
    return spec.fit(value, path)


# ---- data out


def _is_table(value: object) -> TypeGuard[DataclassInstance]:
    """Whether this is settings of a part, a table in the file."""
    return dataclasses.is_dataclass(value)


def dumps(settings: DataclassInstance, *, comments: bool = False) -> str:
    """TOML that `loads` reads back as equal settings; with comments, each line says its unit and meaning."""
    return "\n".join(_lines(settings, "", comments, None)).strip("\n") + "\n"


def _lines(settings: DataclassInstance, path: str, comments: bool, base: object) -> Iterator[str]:
    tables: list[str] = []
    for spec in dataclasses.fields(settings):
        value = getattr(settings, spec.name)
        where, default = _joined(path, spec.name), _default(spec, base)
        if value is None:
            if default is not None:
                yield f"{spec.name} = false"
        elif _is_table(value):
            tables += [
                "",
                f"[{where}]",
                *_lines(value, where, comments, default if type(default) is type(value) else None),
            ]
        elif isinstance(value, tuple) and value and all(map(_is_table, value)):
            for entry in value:
                tables += ["", f"[[{where}]]", *_lines(entry, where, comments, None)]
        else:
            note = "  # " + ": ".join(filter(None, (spec.metadata.get("unit"), spec.metadata.get("doc"))))
            yield f"{spec.name} = {_text(value, where)}" + (note if comments and note.strip(" #") else "")
    yield from tables


def _text(value: object, path: str) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float) and math.isfinite(value):
        return repr(value)
    if isinstance(value, tuple | list):
        return f"[{', '.join(_text(x, path) for x in value)}]"
    if callable(value):
        raise FieldError(
            path, problem=f"{getattr(value, '__name__', value)!r:.60} is a function, which no file can hold"
        )
    raise FieldError(path, "a finite number, a string, true or false, or a list of them", value)


class SettingRow(NamedTuple):
    """What one setting is: for tables in the docs and on the command line."""

    name: str
    default: object
    unit: str
    doc: str


def rows(settings: DataclassInstance, path: str = "") -> list[SettingRow]:
    """Every setting of an instance, dotted names, tables opened."""
    found: list[SettingRow] = []
    for spec in dataclasses.fields(settings):
        value, name = getattr(settings, spec.name), _joined(path, spec.name)
        if _is_table(value):
            found += rows(value, name)
        else:
            found.append(SettingRow(name, value, spec.metadata.get("unit", ""), spec.metadata.get("doc", "")))
    return found


# ---- the floats as runtime inputs


def leaves(settings: object) -> list[tuple[str, float]]:
    """(dotted name, value) of every traced float, in order: "repulsion.gain", "workspace.center[2]"."""
    return list(_leaves(settings, ""))


def _leaves(value: object, path: str) -> Iterator[tuple[str, float]]:
    if _is_table(value):
        for name, entry in _entries(value):
            yield from _leaves(entry, _joined(path, name))
    elif isinstance(value, tuple):
        for k, entry in enumerate(value):
            yield from _leaves(entry, f"{path}[{k}]")
    elif isinstance(value, float):
        yield path, value
    elif value is not None and not isinstance(value, int | str) and not callable(value):
        raise FieldError(path, "a float, a whole number, a string, true or false, a tuple or a dataclass", value)


def _entries(settings: object) -> Iterator[tuple[str, object]]:
    """Names and values of what is traced; a whole number in a field of floats is a float, checked or not."""
    for spec in specs(type(settings)):
        if not spec.traced:
            continue
        value = getattr(settings, spec.name)
        is_float = type(value) is int and spec.kind is float
        yield spec.name, float(value) if is_float else value


def lifted(settings: T, values: Sequence[object]) -> T:
    """The settings with their floats replaced by `values` in the order of `leaves`.

    These may be expressions: what comes back has the settings' attributes, but is a plain namespace.
    """
    count = len(leaves(settings))
    if len(values) != count:
        raise ConfigError(f"{type(settings).__name__} has {count} floats; got {len(values)} values")
    return typing.cast(T, _lifted(settings, iter(values)))


def _lifted(value: object, values: Iterator[object]) -> object:
    if _is_table(value):
        return SimpleNamespace(**{name: _lifted(entry, values) for name, entry in _entries(value)})
    if isinstance(value, tuple):
        return tuple(_lifted(entry, values) for entry in value)
    return next(values) if isinstance(value, float) else value
