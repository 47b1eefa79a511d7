"""TOML as a tree: keys removed, moved, misspelled, values of another type, size or magnitude; and its writer."""

from __future__ import annotations

import copy
import datetime as dt
import json
import math
import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from .numbers import extreme, gentle
from .text import encode, lines, raw, some, strange, words

Rng = np.random.Generator
Place = tuple[Any, Any]  # a table or a list, and the key or index in it


class Raw(str):
    """What stands for a value as it is, right or wrong."""


RAW = (
    "[" * 100, "0x" + "f" * 6000, "[" * 3000, "[" * 20000, "{a=" * 50, '"', '"""', "''", "1_0", "0x1F", "+1.0", "1e400",
    "-inf", "nan", "07:32:00", "1979-05-27", "1979-05-27T07:32:00Z", "1" * 400, "1" * 5000, "[1, 2", "{}", "[]", "[[]]",
    "\\u0000", '"\\ud800"', "true", "TRUE",
)  # fmt: skip


def dumps(table: dict[str, Any]) -> str:
    """TOML, a line for each key of the top, all below inline."""
    return "".join(f"{_key(key)} = {_value(value)}\n" for key, value in table.items())


def _key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else _string(key)


def _string(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _value(value: Any) -> str:
    if isinstance(value, Raw):
        return str(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _string(value)
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, int | dt.date | dt.time):
        return str(value)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_key(key)} = {_value(each)}" for key, each in value.items()) + "}"
    return "[" + ", ".join(map(_value, value)) + "]"


def changed(rng: Rng, text: bytes, table: dict[str, Any]) -> bytes:
    """A TOML file with something changed: now and then in its text, mostly in the table that it holds."""
    if rng.random() < 0.15:
        ways = (raw, words, lines)
        return ways[rng.integers(len(ways))](rng, text)
    return mutated(rng, table)


def mutated(rng: Rng, table: dict[str, Any], wild: float = 0.3) -> bytes:
    """A table after some changes, as text; one in ten of these is changed as text too."""
    table = copy.deepcopy(table)
    for _ in range(some(rng)):
        change(rng, table, wild)
    data = encode(dumps(table))
    if rng.random() < 0.1:
        data = raw(rng, data) if rng.random() < 0.5 else words(rng, data)
    return data


def places(node: Any) -> Iterator[Place]:
    """Every value in a tree, by where it is."""
    for key, value in node.items() if isinstance(node, dict) else enumerate(node):
        yield node, key
        if isinstance(value, dict | list):
            yield from places(value)


def change(rng: Rng, table: dict[str, Any], wild: float) -> None:
    """One change to a tree, in place."""
    found = list(places(table))
    if not found:
        table[strange(rng)] = value_like(rng, 1.0, wild)
        return
    numbers = [place for place in found if _is_number(place[0][place[1]])]
    if numbers and rng.random() < 0.55:
        node, key = numbers[rng.integers(len(numbers))]
        node[key] = value_like(rng, node[key], wild)
        return
    node, key = found[rng.integers(len(found))]
    other, foreign = found[rng.integers(len(found))]
    how = rng.random()
    if how < 0.25:
        del node[key]
    elif how < 0.5:
        node[key] = value_like(rng, node[key], wild)
    elif how < 0.65:
        node[key] = copy.deepcopy(other[foreign])
    elif how < 0.8 and isinstance(node, dict):
        node[_misspelled(rng, key)] = node.pop(key)
    elif how < 0.9 and isinstance(node, list):
        node.insert(key, copy.deepcopy(node[key]))
    elif isinstance(other, dict):
        value = copy.deepcopy(node[key])
        other[str(key) if rng.random() < 0.7 else strange(rng)] = value
    else:
        node[key] = Raw(RAW[rng.integers(len(RAW))])


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _misspelled(rng: Rng, key: str) -> str:
    ways = (key[:-1] or "x", key + "_mm", key.upper(), strange(rng), key + "_deg", key.removesuffix("_deg") or "x")
    return ways[rng.integers(len(ways))]


def value_like(rng: Rng, value: Any, wild: float) -> Any:
    """Another value in the place of this one; `wild` is how often it is of another size or type."""
    how = rng.random()
    if how < 0.15 * wild:
        return Raw(RAW[rng.integers(len(RAW))])
    if how < 0.4 * wild:
        return _other(rng)
    if _is_number(value):
        if how < wild or abs(value) > 1e300:  # an int may be no float
            return _tomlable(extreme(rng))
        found = gentle(rng, float(value))
        whole = isinstance(value, int) and math.isfinite(found) and rng.random() < 0.7
        return round(found) if whole else found
    if isinstance(value, bool):
        return not value
    if isinstance(value, str):
        return strange(rng)
    if isinstance(value, list):
        sizes = (value[:-1], value + value[-1:], value[::-1], [], value * 3, [value], value * 200)
        return copy.deepcopy(sizes[rng.integers(len(sizes))])
    return _other(rng)


def _tomlable(value: float) -> Any:
    """A whole number half of the time where it is one, as an int of any size."""
    return int(value) if math.isfinite(value) and value == int(value) and abs(value) > 1e6 else value


def _other(rng: Rng) -> Any:
    values: tuple[Any, ...] = (
        0,
        1,
        -1,
        2**63,
        10**400,
        0.0,
        math.nan,
        True,
        False,
        "",
        "text",
        [],
        {},
        [[]],
        [1.0, 2.0],
        {"a": 1},
        [{"a": 1}],
        ["a"],
        [math.nan] * 3,
        dt.date(2020, 1, 1),
        dt.time(1, 2),
        dt.datetime(2020, 1, 1),
        strange(rng),
    )
    return copy.deepcopy(values[rng.integers(len(values))])
