"""Scene files in layers: one file may stand on another, and hold what differs for an arm or in a variant.

    extends = "common.toml"          what is not said here is as there
    [robots.panda]                   what differs for that arm
    [variants.no_filter]             what differs in that variant

Later layers win, table by table and key by key: the file below, this file, the arm, the variant.  A person or a task of
another kind replaces the one below whole, and `people.NAME = false` takes one away.  With another arm than the file's
own, what belongs to that one alone (`OWN`) is dropped.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TypeGuard

from ..errors import ConfigError, did_you_mean, nearest_hint
from ..reading import named, parse_toml, read_bytes

Table = Mapping[str, object]
"""A table of a TOML file."""
SPECIAL = ("extends", "robots", "variants")
ROBOT = "panda"
"""The arm of a file that names none."""
OWN = ("tip", "cover", "start", "lower", "upper")
"""Keys that mean nothing for another arm."""
FILES = (".urdf", ".xml", ".mjcf", ".xacro", ".toml")
"""How the name of an arm's file ends."""
LARGEST = 2**20  # bytes of a file
MOST_LAYERS = 32
"""Files that stand on one another."""


def is_file(robot: object) -> TypeGuard[str]:
    """Whether this names an arm's file rather than an arm of the catalogue."""
    return isinstance(robot, str) and robot.lower().endswith(FILES)


def merged(below: Table, above: Table, path: tuple[str, ...] = ()) -> dict[str, object]:
    """One table over another; tables within are merged too, anything else is replaced.  `path` is where they are."""
    result = dict(below)
    for key, value in above.items():
        under, here = result.get(key), (*path, key)
        if isinstance(under, Mapping) and isinstance(value, Mapping) and not _another(under, value, here):
            result[key] = merged(under, value, here)
        else:
            result[key] = value
    return result


def _another(below: Table, above: Table, path: tuple[str, ...]) -> bool:
    """Whether this is a person or a task of another kind, whose keys have nothing to do with those below."""
    who = path[-1] == "task" or path[-2:-1] == ("people",)
    return who and "kind" in above and "kind" in below and above["kind"] != below["kind"]


def read_file(file: str | Path) -> dict[str, object]:
    """A TOML file over those that it extends, its `robots` and `variants` still in it.

    Names of other files in it count from the folder of the file that says them, and are whole here.
    """
    return _read(Path(file), ())


def _read(path: Path, above: tuple[Path, ...]) -> dict[str, object]:
    table: dict[str, object] = parse_toml(read_bytes(path, LARGEST, ConfigError), named(path), ConfigError)
    below = table.pop("extends", None)
    table = _found(table, path.parent)
    if below is None:
        return table
    if not isinstance(below, str) or not below or "\0" in below:
        raise ConfigError(f"{path}: extends: expected the name of a file; got {below!r}")
    if len(above) >= MOST_LAYERS:
        raise ConfigError(f"{path}: extends: expected at most {MOST_LAYERS} files, each on the next; there are more")
    under = path.parent / below
    chain, real = (*above, _real(path)), _real(under)
    if real in chain:
        circle = " -> ".join(p.name for p in (*chain[chain.index(real) :], under))
        raise ConfigError(f"{path}: extends: expected a file that does not extend this one; got a circle, {circle}")
    return merged(_read(under, chain), table)


def _real(path: Path) -> Path:
    """With its links followed as far as they lead; `Path.resolve` raises where they lead in a loop."""
    return Path(os.path.realpath(path))


def _found(table: Table, folder: Path) -> dict[str, object]:
    """The table with its names of files made whole: of arms, of recordings, in its layers too."""
    result = dict(table)
    robot = result.get("robot")
    if is_file(robot):
        result["robot"] = str((folder / robot).absolute())
    people = result.get("people")
    if isinstance(people, Mapping):
        result["people"] = {name: _whole(each, folder) for name, each in people.items()}
    for key in ("robots", "variants"):
        layers = result.get(key)
        if isinstance(layers, Mapping):
            result[key] = {n: _found(each, folder) if isinstance(each, Mapping) else each for n, each in layers.items()}
    return result


def _whole(person: object, folder: Path) -> object:
    if not isinstance(person, Mapping):
        return person
    file = person.get("file")
    return {**person, "file": str((folder / file).absolute())} if isinstance(file, str) and file else person


def variants(table: Table) -> tuple[str, ...]:
    """The names of the variants, in the file's order."""
    return tuple(_tables(table, "variants"))


def layered(table: Table, robot: str | None = None, variant: str | None = None) -> dict[str, object]:
    """What holds for this arm (the file's own if None) in this variant (none of them if None)."""
    plain = {key: value for key, value in table.items() if key not in SPECIAL}
    chosen, robots = _tables(table, "variants"), _tables(table, "robots")
    if variant is not None and variant not in chosen:
        expected = (" or ".join(chosen) or "none: there are none") + nearest_hint(variant, chosen)
        raise ConfigError(f"variants: expected {expected}; got {variant!r}")
    _known(robots)
    top = dict(chosen[variant]) if variant is not None else {}
    below = plain.get("robot", ROBOT)
    above = top.get("robot", below)
    name = above if robot is None else robot
    plain, top = (
        each if name == own else {key: value for key, value in each.items() if key not in OWN}
        for each, own in ((plain, below), (top, above))
    )
    result = merged(merged(plain, _of(robots, name)), top)
    return result if robot is None else result | {"robot": robot}


def _of(robots: Mapping[str, Table], name: object) -> Table:
    """What is said for an arm; one from a file is also known by the file's name."""
    if not isinstance(name, str):
        return {}
    return robots.get(name) or (robots.get(Path(name).name, {}) if is_file(name) else {})


def _known(robots: Mapping[str, Table]) -> None:
    """A layer for an arm that does not exist would never be used, and nobody would know."""
    from ..model import catalogue  # read only if there are such layers

    for name, settings in robots.items():
        if not is_file(name) and name not in catalogue.names():
            hint = did_you_mean(name, catalogue.names())
            raise ConfigError(f"robots.{name}: expected an arm of the catalogue, or the name of its file{hint}")
        if "robot" in settings:
            raise ConfigError(f"robots.{name}.robot: expected settings for that arm; got {settings['robot']!r}")


def _tables(table: Table, key: str) -> Mapping[str, Table]:
    found = table.get(key, {})
    if not isinstance(found, Mapping) or not all(isinstance(each, Mapping) for each in found.values()):
        raise ConfigError(f"{key}: expected a table of tables, [{key}.NAME]; got {found!r:.60}")
    return found
