"""A campaign: what is drawn for each run, and from what, read from a TOML file and checked before anything runs.

    campaign = load("campaign.toml")
    campaign = loads(text, folder=Path("."), file="campaign.toml")

    title, seed          of the campaign
    arm                  a catalogue name, a URDF, MJCF or TOML file beside this one, or an arm of others: xarm7, z1
    [tips]               by such a file: the link where its arm ends
    law                  a method of `bench encounters`: "K supervised", "CBF-QP", ...
    people, duration, limb_speed
    [sensor]             of people: `SensorSettings`; a number for `latency` or `gap` is a fixed value of that run
    [limits]             of the supervisor: `Limits`, by their names in scene files
    [controller]         of the law: `Config`

Each of them, but for title, seed and tips, is a value or a distribution (distributions.py).  A ConfigError names file,
line and key.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from ..avoidance import Config, Limits, Workspace
from ..avoidance.checks import FieldError, joined
from ..avoidance.settings import read
from ..bench.encounters.methods import ALL, PlannedArm, controller, method, supervised
from ..bench.encounters.people import LIMB_SPEED
from ..bench.encounters.scene import DURATION, PERIOD, STAND, SensorSettings
from ..bench.planning.arms import FOREIGN, WHEEL, installed
from ..cell.scene import is_file
from ..errors import ConfigError, UnknownNameError, did_you_mean, pip_install
from ..model import catalogue
from ..reading import named, parse_toml, read_bytes
from .distributions import Distribution, Each, Fixed, Value, distribution, is_distribution, misspelt

LARGEST = 2**20  # bytes of a file
SEEDS = 2**20
"""Seeds of campaigns are below it: then a scene's seed is a whole number that a double holds, too."""
RUNS = 2**32  # of a campaign, at most
DEFAULTS: Mapping[str, Value] = {
    "arm": "panda",
    "law": "K supervised",
    "people": 1,
    "duration": DURATION,
    "limb_speed": LIMB_SPEED,
}
PLAIN = ("title", "seed", "tips")
OBJECTIVE = "search.objective"  # what only a search has
PARTS = ("sensor", "limits", "controller")
FIXED = {
    "controller.controller": "is given by the law: K or F",
    "controller.period": f"is {PERIOD:g} s in encounters",
    "limits.period": f"is {PERIOD:g} s in encounters",
}
"""Settings that a campaign cannot draw, and why."""
PAIRS = ("sensor.latency", "sensor.gap")
"""Ranges, of which a drawn number is both ends."""
CHECKED = 64  # runs whose settings are made when a file is read: what two drawn settings do not allow together shows


@dataclass(frozen=True)
class Points:
    """Runs whose parameters are given, not drawn: those of a search."""

    first: int  # number of the first
    seeds: tuple[int, ...]  # of their scenes
    values: Mapping[str, tuple[float, ...]]  # by parameter: for each run what of the distribution lies below its value


@dataclass(frozen=True)
class Campaign:
    """What is drawn, by its dotted name, and from what."""

    draws: Mapping[str, Distribution]
    seed: int = 0
    title: str = ""
    tips: Mapping[str, str] = field(default_factory=dict)  # by arm: the link where it ends
    source: str = field(default="", compare=False)
    text: str = field(default="", compare=False, repr=False)
    points: Points | None = field(default=None, compare=False, repr=False)

    @property
    def arms(self) -> tuple[str, ...]:
        """Every arm that may be drawn."""
        return tuple(map(str, self.draws["arm"].probes))

    @property
    def laws(self) -> tuple[str, ...]:
        """Every law that may be drawn."""
        return tuple(map(str, self.draws["law"].probes))

    @property
    def drawn(self) -> tuple[str, ...]:
        """The parameters with columns of their own: all that differ from run to run but arm, law, people, duration."""
        own = ("arm", "law", "people", "duration")
        return tuple(name for name, d in self.draws.items() if not isinstance(d, Fixed) and name not in own)

    @property
    def paired(self) -> int:
        """Runs that share a scene: one for every combination of what is `each`."""
        count = 1
        for each in self.draws.values():
            count *= len(each.options) if isinstance(each, Each) else 1
        return count

    def with_seed(self, seed: int) -> Campaign:
        """The same with other draws."""
        return replace(self, seed=_seed(seed))

    def data(self) -> dict[str, object]:
        """Everything that the table depends on, by name, but for the seed: what a resumed campaign must equal."""
        found = {name: d.data() for name, d in self.draws.items()}
        return found | {f"tips.{arm}": link for arm, link in self.tips.items()}


def load(file: str | Path) -> Campaign:
    """The campaign in a TOML file."""
    path = Path(file)
    return loads(read_bytes(path, LARGEST, ConfigError).decode("utf-8", "replace"), path.parent, named(path))


def loads(text: str, folder: Path = Path(), file: str = "campaign") -> Campaign:
    """The campaign in a TOML text; arms' files are looked for in the folder."""
    table = parse_toml(text, file, ConfigError)
    try:
        return _campaign(table, folder, file, text)
    except FieldError as error:
        line = _line(text, error.key)
        raise error.of(f"{file}, line {line}" if line else file) from error.__cause__


def _campaign(table: dict[str, Any], folder: Path, file: str, text: str) -> Campaign:
    known = (*PLAIN, *DEFAULTS, *PARTS)
    for key in table:
        if key not in known:
            hint = did_you_mean(key, known) or f"; expected {', '.join(known)}"
            raise FieldError(key, problem=f"unknown key{hint}")
    draws: dict[str, Distribution] = {
        name: distribution(table[name], name) if name in table else Fixed(default) for name, default in DEFAULTS.items()
    }
    for part in PARTS:
        draws.update(_flat(table.get(part, {}), part))
    for name, each in draws.items():
        if isinstance(each, Each) and name not in ("arm", "law"):
            raise FieldError(name, problem="expected a value or a distribution; `each` is for arm and law alone")
        if name in FIXED:
            raise FieldError(name, problem=f"cannot be set: it {FIXED[name]}")
    draws["arm"] = _mapped(draws["arm"], "arm", partial(_arm, folder=folder))
    draws["law"] = _mapped(draws["law"], "law", _law)
    title, tips = table.get("title", ""), table.get("tips", {})
    if not isinstance(title, str) or not title.isprintable():
        raise FieldError("title", "one line of text", title)
    if not isinstance(tips, Mapping) or not all(isinstance(link, str) for link in tips.values()):
        raise FieldError("tips", "names of links by arm", tips)
    whole = {_arm(arm, f"tips.{arm}", folder=folder): link for arm, link in tips.items()}
    for arm, given in zip(whole, tips, strict=True):
        if arm not in draws["arm"].probes:
            raise FieldError(f"tips.{given}", "an arm of this campaign", given)
    found = Campaign(draws, _seed(table.get("seed", 0)), title, whole, file, text)
    _check_plain(draws)
    _check_parts(found)
    return found


def _flat(table: object, path: str) -> Iterator[tuple[str, Distribution]]:
    """Dotted names and distributions of a table of settings."""
    if not isinstance(table, Mapping):
        raise FieldError(path, "a table", table)
    for key, value in table.items():
        where = joined(path, key)
        if isinstance(value, Mapping) and not is_distribution(value):
            if problem := misspelt(value):
                raise FieldError(where, problem=problem)
            yield from _flat(value, where)
        else:
            yield where, distribution(value, where)


def _mapped(draw: Distribution, path: str, change: Callable[[Value, str], str]) -> Distribution:
    """The same with every option changed."""
    if isinstance(draw, Fixed):
        return Fixed(change(draw.value, path))
    if hasattr(draw, "options"):
        options = tuple(change(each, path) for each in draw.probes)
        if len(set(options)) < len(options):
            raise FieldError(path, "values that differ", list(draw.probes))
        return replace(draw, options=options)  # type: ignore[type-var]  # a Choice or an Each
    raise FieldError(path, "a name, a choice of names, or each of several", draw.data())


def _arm(name: Value, path: str, folder: Path) -> str:
    if is_file(name):
        whole = (folder / name).absolute()
        if not whole.is_file():
            raise FieldError(path, f"the file of an arm; there is none at {named(whole)}", name)
        return str(whole)
    known = (*catalogue.names(), *FOREIGN)
    if name not in known:
        raise FieldError(
            path,
            problem=f"expected an arm of the catalogue, or the name of its file; got {name!r:.100}"
            f"{did_you_mean(name, known)}",
        )
    if name in FOREIGN and not installed():
        raise FieldError(path, problem=f"{name} comes with {WHEEL}: {pip_install('foreign')}")
    return str(name)


def _law(name: Value, path: str) -> str:
    try:
        return method(str(name))
    except UnknownNameError as error:
        raise FieldError(path, problem=str(error)) from None


def _seed(seed: object) -> int:
    if type(seed) is not int or not 0 <= seed < SEEDS:
        raise FieldError("seed", f"a whole number from 0 to {SEEDS - 1}", seed)
    return seed


def _check_plain(draws: Mapping[str, Distribution]) -> None:
    for value in draws["people"].probes:
        if type(value) is not int or not 1 <= value <= 8:
            raise FieldError("people", "whole numbers from 1 to 8", draws["people"].data())
    for name, low, high, unit in (("duration", 0.1, 3600.0, "s"), ("limb_speed", 0.1, 10.0, "m/s")):
        for value in draws[name].probes:
            if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
                raise FieldError(name, f"numbers from {low:g} to {high:g} ({unit})", draws[name].data())


def _check_parts(campaign: Campaign) -> None:
    """Makes the settings of every end of every distribution, and those of the first runs."""
    from .draws import parameters  # which needs a Campaign

    parts = {part: [name for name in campaign.draws if name.startswith(f"{part}.")] for part in PARTS}
    for part, names in parts.items():
        if part != "sensor" and names and not any(part in overrides(law) for law in campaign.laws):
            raise FieldError(
                names[0], problem=f"no law of this campaign has {part} settings: {', '.join(campaign.laws)}"
            )
        first = {name: campaign.draws[name].probes[0] for name in names}
        for name in names:
            for value in campaign.draws[name].probes:
                made(part, first | {name: value})
    for run in parameters(campaign, 0, CHECKED if campaign.drawn else 1):
        for part in ("limits", "controller"):
            made(part, dict(getattr(run, part)))


def overrides(law: str) -> tuple[str, ...]:
    """Which settings a law has."""
    make = ALL[law]
    function = make.func if isinstance(make, partial) else make
    if function is supervised:
        return "controller", "limits"
    return ("controller",) if function is controller else ("limits",) if function is PlannedArm else ()


def made(part: str, values: Mapping[str, Value], base: Any = None) -> Any:
    """`SensorSettings`, `Limits` or `Config` from values by their dotted names, "limits.human_speed"."""
    if part == "sensor":
        pairs = {name: (v, v) if name in PAIRS and isinstance(v, int | float) else v for name, v in values.items()}
        return read(SensorSettings, nested(part, pairs), part, base)
    if part == "limits":
        return read(Limits, nested(part, values), part, base)
    plain = Config(period=PERIOD, workspace=Workspace(floor=-STAND))
    return read(Config, nested(part, values), part, plain if base is None else base)


def nested(part: str, values: Mapping[str, object]) -> dict[str, object]:
    """The tables of a part, without its own name: {"limits.sensor.noise": 1} is {"sensor": {"noise": 1}}."""
    table: dict[str, object] = {}
    for name, value in values.items():
        *tables, last = name.removeprefix(f"{part}.").split(".")
        inner: Any = table
        for key in tables:
            inner = inner.setdefault(key, {})
            if not isinstance(inner, dict):
                raise FieldError(name, problem=f"{key} is a value in this file, and a table, too")
        inner[last] = value
    return table


_HEADER = re.compile(r"\s*\[\s*([^\[\]]+?)\s*\]")
_KEY = re.compile(r"\s*([\w.\"'\- ]+?)\s*=")


def _line(text: str, key: str) -> int | None:
    """The line of a dotted key in a TOML text, or of the nearest table around it."""
    table, found, best = "", None, -1
    for number, line in enumerate(text.splitlines(), 1):
        header, entry = _HEADER.match(line), _KEY.match(line)
        here = table
        if header:
            here = table = re.sub(r"[\s\"']", "", header[1])
        elif entry:
            here = joined(table, re.sub(r"[\s\"']", "", entry[1]))
        else:
            continue
        if (key == here or key.startswith((f"{here}.", f"{here}["))) and len(here) > best:
            found, best = number, len(here)
    return found
