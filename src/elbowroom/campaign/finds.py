"""Finds of a search as a TOML file: encounters with all that they depend on, to be run again.

write_finds("finds.toml", [find(parameters, row), ...])
for each in read_finds("examples/worst.toml"):
    replay(each.parameters)                             # the run again

[[find]]
title = "least distance -120 mm"
arm = "panda"               law = "K supervised"        seed = 51539607552
people = 1                  duration = 10.0             limb_speed = 2.5
least = -0.12               # m, when it was found
approach = false            # whether the arm's own motion closed a pair in contact
scripts = [[0.5, 0.2]]      # what each person does, numbers of bench/encounters/script.py
sensor.noise = 0.01         # and so on; limits and controller where they were set
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any

from ..avoidance.checks import FieldError, as_number
from ..bench.encounters.methods import method
from ..errors import ConfigError, did_you_mean
from ..reading import named, parse_toml, read_bytes, write_whole
from .draws import RunParameters
from .settings import LARGEST, PARTS, made

KEYS = ("title", "arm", "tip", "law", "seed", "people", "duration", "limb_speed", "least", "approach", "scripts")
NEEDED = ("arm", "law", "seed", "least", "scripts")


@dataclass(frozen=True)
class Find:
    """An encounter, and what came of it when it was found."""

    parameters: RunParameters
    least: float  # m
    approach: bool = False
    title: str = ""


def write_finds(path: str | Path, finds: Iterable[Find], head: str = "") -> None:
    """Writes the file, whole or not at all; `head` is its first lines."""
    text = "".join(f"# {line}\n" for line in head.splitlines()) + "".join(map(_text, finds))
    write_whole(path, text)


def _text(find: Find) -> str:
    of = find.parameters
    plain: dict[str, object] = {
        "title": find.title,
        "arm": of.arm,
        **({"tip": of.tip} if of.tip is not None else {}),
        "law": of.law,
        "seed": of.seed,
        "people": of.people,
        "duration": of.duration,
        "limb_speed": of.limb_speed,
        "least": find.least,
        "approach": find.approach,
        "scripts": [list(each) for each in of.scripts],
    }
    sensor = {f"sensor.{each.name}": getattr(of.sensor, each.name) for each in fields(of.sensor)}
    lines = {**plain, **sensor, **dict(of.limits), **dict(of.controller)}
    return "\n[[find]]\n" + "".join(f"{name} = {json.dumps(value)}\n" for name, value in lines.items())


def read_finds(path: str | Path) -> list[Find]:
    """The finds of a file; a ConfigError names file and find."""
    path = Path(path)
    source = named(path)
    table = parse_toml(read_bytes(path, LARGEST, ConfigError).decode("utf-8", "replace"), source, ConfigError)
    found = table.get("find")
    if not isinstance(found, list) or not all(isinstance(each, dict) for each in found) or set(table) != {"find"}:
        raise ConfigError(f"{source}: expected [[find]] tables and nothing else; got {', '.join(table) or 'nothing'}")
    finds = list[Find]()
    for number, each in enumerate(found):
        try:
            finds.append(_find(number, each))
        except FieldError as error:
            raise error.of(f"{source}, find {number + 1}") from error.__cause__
    return finds


def _find(number: int, table: Mapping[str, Any]) -> Find:
    for key in table:
        if key not in (*KEYS, *PARTS):
            raise FieldError(key, problem=f"unknown key{did_you_mean(key, (*KEYS, *PARTS))}")
    for key in NEEDED:
        if key not in table:
            raise FieldError(key, problem="is needed")
    scripts = table["scripts"]
    if not isinstance(scripts, list) or not all(isinstance(each, list) and all(map(_part, each)) for each in scripts):
        raise FieldError("scripts", "a list of numbers from 0 to 1 for each person", scripts)
    number_of = partial(_number, table)
    seed, people = table["seed"], table.get("people", 1)
    if type(seed) is not int or seed < 0 or type(people) is not int or not 1 <= people <= 8:
        raise FieldError("seed, people", "whole numbers, people from 1 to 8", [seed, people])
    parts = {part: _flat(table.get(part, {}), part) for part in PARTS}
    for part in ("limits", "controller"):
        made(part, parts[part])  # or an error that names the setting
    of = RunParameters(
        number,
        seed,
        str(table["arm"]),
        table.get("tip"),
        method(str(table["law"])),
        people,
        number_of("duration", 10.0),
        number_of("limb_speed", 2.9),
        made("sensor", parts["sensor"]),
        tuple(parts["limits"].items()),
        tuple(parts["controller"].items()),
        (),
        tuple(tuple(map(float, each)) for each in scripts),
    )
    return Find(of, number_of("least", 0.0), bool(table.get("approach", False)), str(table.get("title", "")))


def _part(value: object) -> bool:
    found = as_number(value)
    return found is not None and 0.0 <= found <= 1.0


def _number(table: Mapping[str, Any], key: str, default: float) -> float:
    found = as_number(table.get(key, default))
    if found is None:
        raise FieldError(key, "a finite number", table[key])
    return found


def _flat(table: Mapping[str, Any], path: str) -> dict[str, Any]:
    """Values by their dotted names."""
    found: dict[str, Any] = {}
    for key, value in table.items():
        if isinstance(value, Mapping):
            found |= _flat(value, f"{path}.{key}")
        else:
            found[f"{path}.{key}"] = tuple(value) if isinstance(value, list) else value
    return found
