"""A scene: an arm, its task, the people about it and how it keeps clear of them, as settings, in files of layers.

Scene files in layers: one file may stand on another, and hold what differs for an arm or in a variant.

    extends = "common.toml"          what is not said here is as there
    [robots.panda]                   what differs for that arm
    [variants.no_filter]             what differs in that variant

Later layers win, table by table and key by key: the file below, this file, the arm, the variant.  A person or a task of
another kind replaces the one below whole, and `people.NAME = false` takes one away.  With another arm than the file's
own, what belongs to that one alone (`OWN`) is dropped.

A scene: an arm, its task, the people about it and how it keeps clear of them, as settings.

    scene = Scene.load("cell.toml")
    scene = Scene(robot="panda", people={"visitor": WalkSettings(speed=0.4)}, task=GoTo((0.0, 0.3, 0.0)))

Points are in metres from the scene's origin: where the tool rests at the start (origin = "tool"), so that a scene fits
any arm, or the arm's base (origin = "base").  People stand on the floor.  With `face` the base is turned by quarter
turns until the resting tool is on the +x side: catalogues differ in where an arm looks.

A cell simulates the sensor of people too, and unless `limits.sensor` says otherwise it reports positions and velocities
as they are, without delay: `Sensor.exact()`.

A scene is written back as text, to stand in the notes of its recording:

    text = scene_text(scene)                  TOML, layers resolved, so that it stands alone
    scene_of(text, folder) == scene           read again, files looked for where they were and beside the recording

What is in other files, such as recorded motion or the URDF of an arm, stays there; the text has their names, whole.
"""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self, TypeGuard, TypeVar

from ..avoidance import Config, Limits, Sensor
from ..avoidance.checks import FieldError, Settings, refusal, setting
from ..avoidance.protocols import lacking
from ..avoidance.settings import dumps, read
from ..errors import ConfigError, did_you_mean, nearest_hint
from ..model.inertia import DENSITY
from ..reading import named, parse_toml, read_bytes
from .people.settings import KINDS, PersonSettings
from .pick_and_place import PickAndPlace
from .recording.csv_file import LONGEST
from .recording.csv_file import NOTE as NOTE
from .task import GoTo, Rest, TaskSettings

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
        result["people"] = {name: _with_whole_path(each, folder) for name, each in people.items()}
    for key in ("robots", "variants"):
        layers = result.get(key)
        if isinstance(layers, Mapping):
            result[key] = {n: _found(each, folder) if isinstance(each, Mapping) else each for n, each in layers.items()}
    return result


def _with_whole_path(person: object, folder: Path) -> object:
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


TASKS: Mapping[str, type[TaskSettings]] = MappingProxyType(
    {"rest": Rest, "go_to": GoTo, "pick_and_place": PickAndPlace}
)
"""What `kind` says in a scene's file."""
Kind = TypeVar("Kind", bound=TaskSettings | PersonSettings)
SUPERVISION = ("stop", "watch", "off")
PLANTS = ("kinematic", "rigid", "mujoco")
EXTRA = ("experiment",)
"""Tables of a scene's file that are not for the scene, but for those who use it."""
LONGEST_FRAME = 1.0  # s: a sensor cannot state more; with fewer pictures the arm stops between them
RETIRED = frozenset({"deceleration", "person_uncertainty"})
"""Settings of `Limits` that older recordings have."""
MOST = 5_000_000
"""Control steps of a run: its recording is kept in memory, half a kilobyte a step."""


@dataclass(frozen=True)
class PlantSettings(Settings):
    """What moves."""

    kind: str = setting("kinematic", PLANTS, "kinematic, rigid or mujoco")
    mass_error: float = setting(0.0, "[-0.9, 10]", "part by which links are heavier than controller and drive believe")
    payload: float = setting(0.0, "[0, 1000] kg", "that hangs at the tool, unknown to them")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.kind == "kinematic" and (self.mass_error or self.payload):
            raise refusal(self, "kind", "rigid or mujoco where there is a mass_error or a payload")


@dataclass(frozen=True)
class _Plain(Settings):
    """The settings of a scene that need no choice of a kind."""

    title: str = setting("", "", "one line that says what happens")
    robot: str = setting(ROBOT, "", "an arm of the catalogue, or a URDF or TOML file")
    tip: str = setting("", "", "of a URDF file: the link that the arm ends at")
    cover: str = setting("", "", "another of the arm's covers as what the controller knows of its shape")
    face: bool = setting(True, "", "turn the base by quarter turns until the tool is on the +x side")
    start: tuple[float, ...] = setting((), "rad or m", "joints at the start and at rest; the arm's own if left out")
    lower: tuple[float, ...] = setting((), "rad or m", "the task's lower joint limits; the arm's own if left out")
    upper: tuple[float, ...] = setting((), "rad or m", "the task's upper joint limits")
    self_gaps: tuple[float, ...] = setting((), "m", "how near the task brings pairs of links; as at rest if left out")
    fit: bool = setting(False, "", "scale and move a pick-and-place task that the arm could not do as it is written")
    check_reach: bool = setting(True, "", "refuse points of the task that the tool does not reach")
    allow_bare: bool = setting(False, "", "run though links of the arm have no shape, which distances then ignore")
    density: float = setting(DENSITY, "[0, 1e5] kg/m^3", "of links whose file has no mass; 0: such an arm is refused")
    origin: str = setting("tool", ("tool", "base"), "what points count from: the resting tool, or the arm's base")
    floor: float = setting(0.0, "[-10, 10] m", "height of the floor that people stand on, in the base's frame")
    duration: float = setting(30.0, "(0, 86400] s", "of a run")
    supervision: str = setting("stop", SUPERVISION, "stop: the supervisor decides; watch: says what it would do; off")
    reset_after: float = setting(2.0, "[0, 3600] s", "an operator resets a stop after so long, every time; 0: never")
    noise: float = setting(0.0, "[0, 1] m", "standard deviation of the sensor's error, each axis, of a whole person")
    seed: int = setting(1, f"[0, {2**63 - 1}]", "of that noise")
    controller: Config = setting(Config(period=0.01), "", "how the arm keeps clear")
    limits: Limits = setting(Limits(sensor=Sensor.exact()), "", "what the supervisor allows")
    plant: PlantSettings = setting(PlantSettings(), "", "what moves")

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("title", "robot", "tip", "cover"):
            if not getattr(self, name).isprintable():
                raise refusal(self, name, "one line of text")
        if not self.robot:
            raise refusal(self, "robot", "an arm of the catalogue, or a URDF or TOML file")
        period = self.controller.period
        if self.duration / period > MOST:
            raise refusal(self, "duration", f"at most {MOST} control steps of {period:g} s")
        if self.limits.period not in (None, period):
            expected = f"the controller's, {period!r}, or nothing"
            raise FieldError("limits.period", expected, self.limits.period, place="Scene")


@dataclass(frozen=True)
class Scene(_Plain):
    """A scene; see the module's docstring.  `source` is the file that it was read from."""

    task: TaskSettings = field(default=Rest(), metadata={"doc": "what the arm does"})
    people: Mapping[str, PersonSettings] = field(default_factory=dict, metadata={"doc": "who is there, by name"})
    source: str = field(default="", compare=False, repr=False, metadata={"doc": "your file that it was read from"})

    def __post_init__(self) -> None:
        super().__post_init__()
        if why := lacking(self.task, TaskSettings):
            raise refusal(self, "task", f"a task, such as GoTo(point), but {why}")
        if not isinstance(self.people, Mapping):
            raise refusal(self, "people", 'people by name, {"anna": WalkSettings()}')
        for name, who in self.people.items():
            why = lacking(who, PersonSettings) if isinstance(name, str) else "the name is no text"
            if why:
                raise FieldError(f"people.{name}", f"a person, such as WalkSettings(), but {why}", who, place="Scene")

    @property
    def period(self) -> float:
        """Time between control steps, s: the controller's."""
        return self.controller.period

    @property
    def cycles(self) -> int:
        """How many control steps a run has."""
        return max(1, round(self.duration / self.period))

    @property
    def sensor(self) -> Sensor:
        """The sensor as the supervisor knows it: as `limits` states it, and no better than the scene makes it.

        That is the scene's `noise`, and the slowest `rate` at which recorded people are shown.
        """
        stated = self.limits.sensor
        rates = [rate for who in self.people.values() if (rate := getattr(who, "rate", 0.0))]
        slowest = min(1.0 / min(rates), LONGEST_FRAME) if rates else 0.0
        return dataclasses.replace(
            stated, noise=max(stated.noise, self.noise), frame_period=max(stated.frame_period, slowest)
        )

    def with_plant(self, kind: str) -> Self:
        """The same with another plant."""
        try:
            return dataclasses.replace(self, plant=dataclasses.replace(self.plant, kind=kind))
        except FieldError as error:
            raise error.inside("plant").of(self.source) from None

    @classmethod
    def load(cls, file: str | Path, *, robot: str | None = None, variant: str | None = None) -> Scene:
        """The scene in a TOML file, for another arm and in a variant if asked for.

        Files named in it are looked for beside it; a `robot` that is a file, from where the program runs.
        """
        name = named(Path(file))
        asked = str(Path(robot).absolute()) if is_file(robot) else robot
        try:
            found = scene(layered(read_file(file), asked, variant))
            return dataclasses.replace(found, source="" if packaged(file) else name)
        except FieldError as error:
            raise error.of(name) from error.__cause__
        except ConfigError as error:
            if str(error).startswith(name):
                raise
            raise ConfigError(f"{name}: {error}") from error


def packaged(file: str | Path) -> bool:
    """Whether a scene is one of elbowroom's own, whose file nobody named and no message should."""
    return Path(file).absolute().is_relative_to(Path(__file__).parent.parent)


def scene(table: Table, folder: Path | None = None) -> Scene:
    """The scene that a table (of tomllib, layers chosen) holds; relative file names in it count from `folder`."""
    known = [spec.name for spec in dataclasses.fields(Scene) if spec.name != "source"]
    table = {key: value for key, value in table.items() if key not in (*SPECIAL, *EXTRA)}
    for key in table:
        if key not in known:
            hint = did_you_mean(key, known) or f"; expected {', '.join(known)}"
            raise FieldError(key, problem=f"unknown key{hint}")
    settings = read(_Plain, {key: value for key, value in table.items() if key not in ("task", "people")})
    if folder is not None and is_file(settings.robot):
        settings = dataclasses.replace(settings, robot=str(folder / settings.robot))
    task = _kind(table.get("task", {"kind": "rest"}), TASKS, "task")
    tables = table.get("people", {})
    if not isinstance(tables, Mapping) and tables is not False:
        raise FieldError("people", "a table a person, [people.NAME]", tables)
    there = {name: each for name, each in (tables or {}).items() if each is not False}
    people = {name: _kind(each, KINDS, f"people.{name}") for name, each in there.items()}
    if folder is not None:
        people = {name: _with_file(who, lambda file: str(folder / file)) for name, who in people.items()}
    values = {spec.name: getattr(settings, spec.name) for spec in dataclasses.fields(settings)}
    return Scene(**values, task=task, people=people)


def _kind(table: object, kinds: Mapping[str, type[Kind]], path: str) -> Kind:
    """The settings of the kind that a table says."""
    if not isinstance(table, Mapping):
        raise FieldError(path, "a table with a kind", table)
    expected = " or ".join(f'"{k}"' for k in kinds)
    if "kind" not in table:
        raise FieldError(f"{path}.kind", expected)
    kind = table["kind"]
    if not isinstance(kind, str) or kind not in kinds:
        raise FieldError(f"{path}.kind", expected + nearest_hint(kind, kinds), kind)
    return read(kinds[kind], {key: value for key, value in table.items() if key != "kind"}, path)


# ---- a scene as text


@dataclasses.dataclass(frozen=True)
class _One:
    """A value that is written under another name."""

    value: object


def scene_text(given: Scene) -> str | None:
    """The scene as TOML, or None where no file could hold it: a person or a task of one's own making."""
    kinds: dict[type, str] = {kind: name for name, kind in (*TASKS.items(), *KINDS.items())}
    if not {type(given.task), *map(type, given.people.values())} <= set(kinds):
        return None
    whole = _whole(given)
    plain, tables = "", ""
    try:
        for spec in dataclasses.fields(whole):
            value = getattr(whole, spec.name)
            if spec.name in ("task", "people", "source"):
                continue
            if dataclasses.is_dataclass(value):
                tables += "\n" + _said(spec.name, value)
            else:
                plain += _said(spec.name, value)
        tables += "\n" + _said("task", whole.task, kinds[type(whole.task)])
        for name, who in whole.people.items():
            tables += "\n" + _said(f"people.{_key(name)}", who, kinds[type(who)])
    except FieldError:  # a number that TOML has no place for
        return None
    text = plain + tables
    return text if len(text) < LONGEST // 2 else None  # a note is one line, and lines have a longest


def _said(name: str, value: object, kind: str = "") -> str:
    """`name = value`, or a table of that name with the tables inside; with its kind, if it has one."""
    text = dumps(_One(value))
    if not dataclasses.is_dataclass(value):
        return name + text.removeprefix("value")
    text = re.sub(r"^(\[+)value(?=[].])", lambda found: found[1] + name, text, flags=re.MULTILINE)
    head, _, rest = text.partition("\n")
    return f'{head}\nkind = "{kind}"\n{rest}' if kind else text


def _key(name: str) -> str:
    """A person's name as a key; one with other signs than letters is in quotes."""
    quoted = dumps(_One(name)).removeprefix("value = ").strip()
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else quoted


def _whole(given: Scene) -> Scene:
    """With the names of its files whole."""
    people = {name: _with_file(who, _absolute) for name, who in given.people.items()}
    robot = _absolute(given.robot) if is_file(given.robot) else given.robot
    return dataclasses.replace(given, robot=robot, people=people)


def _with_file(who: PersonSettings, move: Callable[[str], str]) -> PersonSettings:
    """A person whose settings name a file, with that name changed; others as they are."""
    settings: Any = who  # a dataclass, which a protocol cannot say
    file = getattr(settings, "file", "")
    return dataclasses.replace(settings, file=move(file)) if file else who


def _absolute(file: str) -> str:
    return str(Path(file).absolute())


def scene_of(text: str, folder: Path | None = None) -> Scene:
    """The scene in a note; a file of it that is not where it was is looked for in `folder`, by its name."""
    table = dict(parse_toml(text, NOTE, ConfigError))
    limits = table.get("limits")
    if isinstance(limits, dict) and not RETIRED.isdisjoint(limits):
        del table["limits"]  # an older supervisor's; a replay does not need them
    found = scene(table)

    def here(file: str) -> str:
        beside = "" if folder is None else os.path.join(folder, os.path.basename(file))
        return beside if os.path.isfile(beside) and not os.path.isfile(file) else file

    people = {name: _with_file(who, here) for name, who in found.people.items()}
    return dataclasses.replace(found, robot=here(found.robot) if is_file(found.robot) else found.robot, people=people)
