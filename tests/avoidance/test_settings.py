"""Settings: TOML in and out, every complaint with the path to the key, floats as runtime inputs."""

from __future__ import annotations

import math
import pickle
import tomllib
from dataclasses import FrozenInstanceError, dataclass, field, replace
from dataclasses import fields as fields_of
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import elbowroom as er
from elbowroom.avoidance.control.attraction import Attraction
from elbowroom.avoidance.control.joint_limits import JointLimits
from elbowroom.avoidance.control.repulsion import PROFILES, GoalScaling, Repulsion, Waiting
from elbowroom.avoidance.control.smoothing import MovingAverage
from elbowroom.avoidance.control.workspace import Workspace
from elbowroom.avoidance.settings import FieldError, Settings, dumps, leaves, lifted, load, loads, read, rows, setting
from elbowroom.errors import ConfigError, ElbowroomError


@dataclass(frozen=True)
class Whole:
    """What a controller's settings look like: parts in parts."""

    name: str = "k"
    on: bool = True
    count: int = 3
    weights: tuple[float, ...] = (1.0, 2.0)
    norm: Literal["one", "two"] = "two"
    repulsion: Repulsion = field(default_factory=lambda: Repulsion(influence=0.8))
    attraction: Attraction = field(default_factory=Attraction)
    limits: JointLimits = field(default=JointLimits(margin=0.3))
    workspace: Workspace | None = None
    shells: tuple[Repulsion, ...] = ()
    speed: float | None = setting(None, "m/s", "cap")

    def __post_init__(self) -> None:
        if self.repulsion.influence < 2 * self.repulsion.floor:
            raise FieldError("repulsion.influence", "at least twice the floor", self.repulsion.influence)


@dataclass(frozen=True)
class Needed:
    """A part with a setting that has no default, and a plain ValueError."""

    must: float
    inner: MovingAverage = field(default_factory=MovingAverage)

    def __post_init__(self) -> None:
        if self.must == 13.0:
            raise ValueError("not that one")


numbers = st.floats(0.02, 1.4)
fields = st.builds(
    Repulsion,
    profile=st.sampled_from(sorted(PROFILES)),
    gain=st.floats(1e-300, 1e300),
    influence=st.floats(0.1, 10.0),
    ease=st.floats(0, 1),
)
spaces = st.builds(
    Workspace,
    floor=st.none() | st.floats(-1, 1),
    inner=st.none() | st.floats(0.1, 0.2),
    outer=st.none() | st.floats(0.5, 2),
    center=st.tuples(numbers, numbers, numbers),
)
wholes = st.builds(
    Whole,
    name=st.text(st.characters(exclude_categories=["Cs"])),
    on=st.booleans(),
    count=st.integers(-(2**63), 2**63 - 1),
    weights=st.lists(st.floats(allow_nan=False, allow_infinity=False)).map(tuple),
    repulsion=fields,
    workspace=st.none() | spaces,
    shells=st.lists(fields, max_size=3).map(tuple),
    speed=st.none() | numbers,
)


# ---- there and back


@given(wholes, st.booleans())
def test_what_is_written_reads_back_equal_to_the_bit(whole, comments):
    text = dumps(whole, comments=comments)
    assert loads(Whole, text) == whole
    assert dumps(loads(Whole, text), comments=comments) == text


def test_a_file_changes_what_it_names_and_nothing_else():
    """The rest of a table is its parent's default, not the bare class'."""
    got = loads(Whole, "[repulsion]\ngain = 0.3\n")
    assert got == Whole(repulsion=Repulsion(gain=0.3, influence=0.8))
    assert loads(Whole, "") == Whole()
    assert loads(Needed, "must = 1\n[inner]\nduration = 0.2") == Needed(1.0, MovingAverage(0.2))


def test_a_whole_number_serves_for_a_float_and_not_the_other_way():
    got = loads(Whole, "weights = [1, 2]\nspeed = 1\n")
    assert got.weights == (1.0, 2.0)
    assert [type(w) for w in got.weights] == [float, float]
    with pytest.raises(ConfigError, match=r"count: expected a whole number; got 3\.0"):
        loads(Whole, "count = 3.0")


def test_tables_optional_parts_and_lists_of_tables():
    got = loads(Whole, "[workspace]\nfloor = 0\n[[shells]]\ngain = 1\n[[shells]]\ngain = 2\n")
    assert got.workspace == Workspace(floor=0.0)
    assert [s.gain for s in got.shells] == [1.0, 2.0]
    assert "workspace" not in dumps(Whole())


def test_written_toml_is_plain():
    table = tomllib.loads(dumps(Whole(workspace=Workspace(floor=0.0), name='a "b"\\\n\x7f')))
    assert table["name"] == 'a "b"\\\n\x7f'
    assert table["workspace"]["center"] == [0.0, 0.0, 0.0]
    assert "inner" not in table["workspace"]


def test_comments_say_unit_and_meaning():
    field = Repulsion(influence=0.3)
    assert "influence = 0.3  # m: distance d0 at which the push begins" in dumps(field, comments=True)


def test_a_part_is_switched_off_by_false():
    @dataclass(frozen=True)
    class Fitted:
        speed: float | None = 1.0
        field: Repulsion | None = field(default=Repulsion(gain=0.3))

    assert dumps(Fitted(None, None)) == "speed = false\nfield = false\n"
    assert read(Fitted, {"speed": False, "field": False}) == Fitted(None, None)
    assert read(Fitted, {}) == Fitted()
    with pytest.raises(ConfigError, match=r"gain: expected a finite number > 0 \(m/s\); got False"):
        read(Repulsion, {"gain": False})


@pytest.mark.parametrize("bad", [(math.inf,), (math.nan,), (object(),)])
def test_what_toml_cannot_hold_is_not_written(bad):
    with pytest.raises(ConfigError, match="weights: expected a finite number"):
        dumps(replace(Whole(), weights=bad))


# ---- complaints: the file, the path to the key, what was expected, what came


@pytest.mark.parametrize(
    "text, message",
    [
        ("[repulsion]\ngain = -1.0", "repulsion.gain: expected a number > 0 (m/s); got -1.0"),
        ("[repulsion]\ninfluence = 0", "repulsion.influence: expected a number > 0 and <= 10 (m); got 0"),
        ("[repulsion]\ninfluence = 500", "repulsion.influence: expected a number > 0 and <= 10 (m); got 500"),
        ("[repulsion]\ninfluence_mm = 500", "repulsion.influence_mm: unknown key; did you mean influence (in m)?"),
        ("[repulsion]\ninfluense = 0.5", "repulsion.influense: unknown key; did you mean influence (in m)?"),
        ("[repulsion]\nprofil = 'linear'", "repulsion.profil: unknown key; did you mean profile?"),
        ("[repulsion]\nfloor = 0.9", "repulsion.floor: expected a number below influence = 0.8; got 0.9"),
        ("[repulsion]\ngain = true", "repulsion.gain: expected a finite number > 0 (m/s); got True"),
        ("[repulsion]\ngain = nan", "repulsion.gain: expected a finite number > 0 (m/s); got nan"),
        ("[repulsion]\ngain = inf", "repulsion.gain: expected a finite number > 0 (m/s); got inf"),
        ("[repulsion]\ngain = '0.1'", "repulsion.gain: expected a finite number > 0 (m/s); got '0.1'"),
        ("[repulsion]\ngain = [0.1]", "repulsion.gain: expected a finite number > 0 (m/s); got [0.1]"),
        (
            "[repulsion]\nprofile = 5",
            'repulsion.profile: expected "inverse" or "linear" or "cosine" or "power5"; got 5',
        ),
        (
            "[repulsion]\nprofile = 'linar'",
            'repulsion.profile: expected "inverse" or "linear" or "cosine" or "power5" '
            "(did you mean 'linear'?); got 'linar'",
        ),
        ("repulsion = 3", "repulsion: expected a table; got 3"),
        ("[limits]\nmargin = 10", "limits.margin: expected a number > 0 and <= 1.5708 (rad or m); got 10"),
        ("[limits]\nexponent = 2.5", "limits.exponent: expected a whole number from 1 to 8; got 2.5"),
        ("[limits]\nexponent = 99", "limits.exponent: expected a whole number from 1 to 8; got 99"),
        ("[attraction]\nkp = 1.7e400", "attraction.kp: expected a finite number >= 0 (1/s); got inf"),
        (f"[attraction]\nkp = 1{'0' * 400}", f"attraction.kp: expected a finite number >= 0 (1/s); got 1{'0' * 400}"),
        ("[workspace]\ncenter = [0, 0]", "workspace.center: expected a list of 3 numbers (m); got [0, 0]"),
        ("[workspace]\ncenter = [0, 0, 'x']", "workspace.center[2]: expected a finite number (m); got 'x'"),
        ("[workspace.repulsion]\ngain = -2", "workspace.repulsion.gain: expected a number > 0 (m/s); got -2"),
        ("[workspace]\ninner = 2\nouter = 1", "workspace.inner: expected a number below outer = 1.0; got 2.0"),
        ("[[shells]]\ngain = 1\n[[shells]]\nease = 2", "shells[1].ease: expected a number >= 0 and <= 1; got 2"),
        ("shells = 1", "shells: expected a list of entries; got 1"),
        ("norm = 'three'", 'norm: expected "one" or "two"; got \'three\''),
        ("on = 1", "on: expected true or false; got 1"),
        ("weights = 1", "weights: expected a list of numbers; got 1"),
        ("[repulsion]\ninfluence = 0.015", "repulsion.influence: expected at least twice the floor; got 0.015"),
        (
            "[workspace]\nzzz = 1",
            "workspace.zzz: unknown key; expected floor, inner, outer, center, repulsion",
        ),
    ],
)  # fmt: skip
def test_complaints(text, message, tmp_path):
    with pytest.raises(ConfigError) as caught:
        loads(Whole, text, "avoid.toml")
    assert str(caught.value) == f"avoid.toml: {message}"
    file = tmp_path / "mine.toml"
    file.write_text(text)
    for path in (file, str(file)):
        with pytest.raises(ConfigError) as caught:
            load(Whole, path)
        assert str(caught.value) == f"{file}: {message}"


def test_a_complaint_shows_the_beginning_of_what_came():
    with pytest.raises(ConfigError, match=r"weights\[0\]: expected .*; got \[\[1, 1, ") as caught:
        loads(Whole, f"weights = [[{[1] * 100_000}]]")
    assert len(str(caught.value)) < 700


def test_missing_keys_and_other_errors_carry_the_path_too():
    with pytest.raises(ConfigError, match=r"^f.toml: must: expected a finite number; it is missing$"):
        loads(Needed, "", "f.toml")
    with pytest.raises(ConfigError, match=r"^part: not that one$"):
        read(Needed, {"must": 13.0}, "part")
    with pytest.raises(ConfigError, match=r"^part\.inner\.duration: expected a number >= 0 and <= 10 \(s\); got -1.0$"):
        read(Needed, {"must": 1.0, "inner": {"duration": -1.0}}, "part")


def test_files_that_are_not_there_or_not_toml(tmp_path):
    with pytest.raises(ConfigError, match=r"^.*none\.toml: cannot be read: No such file"):
        load(Whole, tmp_path / "none.toml")
    with pytest.raises(ConfigError, match=r"cannot be read"):
        load(Whole, tmp_path)
    (tmp_path / "bad.toml").write_text("name = \n")
    with pytest.raises(ConfigError, match=r"bad\.toml: expected TOML; Invalid value \(at line 1"):
        load(Whole, tmp_path / "bad.toml")
    (tmp_path / "latin.toml").write_bytes(b"name = '\xe9'")
    with pytest.raises(ConfigError, match=r"latin\.toml: expected TOML in UTF-8"):
        load(Whole, tmp_path / "latin.toml")
    with pytest.raises(ConfigError, match="expected TOML"):
        loads(Whole, f"weights = {'[' * 100_000}")
    with pytest.raises(ConfigError, match="settings: expected TOML; Cannot overwrite"):
        loads(Repulsion, "gain = 1\ngain = 2")


def test_a_complaint_is_a_value_error_of_ours_with_its_parts():
    with pytest.raises(ValueError) as caught:
        loads(Whole, "[repulsion]\ngain = -1", "a.toml")
    error = caught.value
    assert isinstance(error, ElbowroomError)
    assert (error.place, error.key) == ("a.toml", "repulsion.gain")
    with pytest.raises(FieldError, match=r"^Repulsion: gain: "):
        Repulsion(gain=-1.0)


def test_types_that_no_table_can_hold_are_a_slip_of_ours():
    @dataclass(frozen=True)
    class Odd:
        x: complex = 1j

    with pytest.raises(TypeError, match="x: settings of type"):
        read(Odd, {"x": 1})


# ---- rows


def test_every_setting_of_every_part_says_what_it_is():
    for part in (Repulsion(), Waiting(), GoalScaling(), Attraction(), JointLimits(), Workspace(), MovingAverage()):
        for row in rows(part):
            assert row.doc, row.name
            if isinstance(row.default, float) and row.name.rpartition(".")[2] != "ease":
                assert row.unit, row.name
    assert ("repulsion.gain", 0.1, "m/s") in {r[:3] for r in rows(Whole())}


@pytest.mark.parametrize(
    "page, parts",
    [
        ("fields", (Repulsion(), Waiting(), GoalScaling(), Attraction())),
        ("limits", (JointLimits(), Workspace())),
        ("smoothing", (MovingAverage(),)),
    ],
)
def test_the_pages_list_every_setting_with_its_default(page, parts):
    text = (Path(__file__).parents[2] / f"docs/avoidance/{page}.md").read_text(encoding="utf-8")
    for part in parts:
        for spec in fields_of(part):
            default = getattr(part, spec.name)
            if isinstance(default, str | float | int):
                shown = f'`"{default}"`' if isinstance(default, str) else repr(default)
                assert f"| `{spec.name}` | {shown} |" in text
            else:
                assert f"| `{spec.name}` |" in text


# ---- floats as runtime inputs


def test_leaves_in_order_and_by_name():
    found = leaves(Whole(workspace=Workspace(floor=0.5), shells=(Repulsion(gain=7.0),)))
    names = [name for name, _ in found]
    assert names[:4] == ["weights[0]", "weights[1]", "repulsion.gain", "repulsion.influence"]
    assert dict(found)["workspace.floor"] == 0.5
    assert dict(found)["workspace.center[2]"] == 0.0
    assert dict(found)["shells[0].gain"] == 7.0
    assert "count" not in names
    assert "speed" not in names, "None is no float"
    assert len(set(names)) == len(names)


def test_an_unchecked_whole_number_in_a_float_field_is_a_leaf():
    @dataclass(frozen=True)
    class Loose:
        gain: float = 1
        count: int = 1

    assert leaves(Loose()) == [("gain", 1.0)]
    assert vars(lifted(Loose(), [5.0])) == {"gain": 5.0, "count": 1}


@given(wholes)
def test_lifting_the_leaves_changes_nothing(whole):
    def same(a, b):
        for name, value in vars(a).items():
            other = getattr(b, name)
            if hasattr(value, "__dict__"):
                same(value, other)
            elif isinstance(value, tuple) and value and hasattr(value[0], "__dict__"):
                for x, y in zip(value, other, strict=True):
                    same(x, y)
            else:
                assert value == other

    same(lifted(whole, [v for _, v in leaves(whole)]), whole)


def test_lifted_values_come_in_the_order_of_the_leaves():
    whole = Whole(workspace=Workspace(floor=0.5), shells=(Repulsion(), Repulsion()), speed=1.0)
    count = len(leaves(whole))
    tree = lifted(whole, list(range(count)))
    found = {name: k for k, (name, _) in enumerate(leaves(whole))}
    assert tree.weights == (0, 1)
    assert tree.repulsion.gain == found["repulsion.gain"]
    assert tree.workspace.center[2] == found["workspace.center[2]"]
    assert tree.shells[1].parting_speed == found["shells[1].parting_speed"]
    assert tree.speed == count - 1
    assert tree.repulsion.profile == "power5"
    assert tree.count == 3


def test_lifted_expressions_are_kept_as_they_are():
    graph = er.algebra.Graph()
    symbols = [graph.input(name) for name, _ in leaves(Repulsion())]
    assert lifted(Repulsion(), symbols).gain is symbols[0]


def test_a_wrong_number_of_values_or_a_strange_setting_is_refused():
    with pytest.raises(ConfigError, match="Repulsion has 7 floats; got 3 values"):
        lifted(Repulsion(), [1.0, 2.0, 3.0])

    @dataclass(frozen=True)
    class Array:
        table: object = None

    with pytest.raises(ConfigError, match="table: expected a float"):
        leaves(Array(np.zeros(3)))


# ---- what a setting may be, beside it


@dataclass(frozen=True)
class One(Settings):
    """A field of every kind."""

    positive: float = setting(1.0, "(0, inf) m", "above zero")
    non_negative: float = setting(1.0, "[0, inf) m", "zero or more")
    fraction: float = setting(1.0, "[0, 1]", "a part")
    number: float = setting(1.0, "m", "any")
    maybe: float | None = setting(None, "[-5, 5] m", "or none")
    flag: bool = setting(True, "", "on or off")
    whole: int = setting(1, "[1, 3]", "from 1 to 3")
    seed: int = setting(1, f"[0, {2**63 - 1}]", "to the last bit")
    word: str = setting("a", ("a", "b"), "one of two")
    text: str = setting("", "", "any")
    point: tuple[float, float, float] = setting((0.0, 0.0, 0.0), "m", "three")
    speeds: tuple[float, ...] = setting((), "(0, 10] m/s", "any number of them")
    part: MovingAverage | None = setting(MovingAverage(), "", "or none")


@pytest.mark.parametrize(
    "name, good, bad",
    [
        ("positive", [1e-300, 1, np.float64(2), np.int64(3)], [0.0, -1, math.nan, math.inf, True, "1", None, 10**400]),
        ("non_negative", [0, 0.0, 5.0], [-1e-300, math.inf, False]),
        ("fraction", [0, 1, 0.5], [-0.1, 1.0001]),
        ("number", [-5, 0.0, 1e300], [math.inf, math.nan, "x", np.bool_(True)]),
        ("maybe", [None, -5, 5.0], [-5.1, 6, False, math.nan]),
        ("flag", [True, False], [0, 1, "true", None]),
        ("whole", [1, 3], [0, 4, 1.0, True]),
        ("seed", [0, 2**63 - 1], [-1, 2**63]),
        ("word", ["a", "b"], ["c", 1, None]),
        ("text", ["", "\n", Path("a")], [1, None, b"a"]),
        ("point", [(1, 2, 3), [0, 0, 0.0], np.zeros(3)], [(1, 2), (1, 2, math.nan), "abc", 5, [[1]], {0: 1}]),
        ("speeds", [(), [1], np.ones(4), range(1, 4)], [(0.0,), (1.0, 11), (True,), "12", None]),
        ("part", [None, MovingAverage(0.1)], [0.1, {"duration": 0.1}, False, Attraction()]),
    ],
)  # fmt: skip
def test_checks(name, good, bad):
    for value in good:
        kept = getattr(One(**{name: value}), name)
        if name in ("positive", "non_negative", "fraction", "number") or (name == "maybe" and value is not None):
            assert (type(kept), kept) == (float, value)
        elif name in ("point", "speeds"):
            assert (type(kept), kept) == (tuple, tuple(value))
            assert {type(entry) for entry in kept} <= {float}
        elif name == "text":
            assert (type(kept), kept) == (str, str(value))
        else:
            assert kept is value
    for value in bad:
        with pytest.raises(FieldError, match=rf"^One: {name}(\[\d\])?: expected .*; got "):
            One(**{name: value})


@pytest.mark.parametrize("allowed", ["(0, 10 m", "(0,10] m", "[0 10]", "(a, b] m", "[0, 10) m"])
def test_an_interval_that_is_none_is_a_slip_of_ours(allowed):
    with pytest.raises(ValueError, match=r"expected|could not convert"):
        setting(1.0, allowed, "doc")


def test_settings_are_values():
    """Equal, hashed, copied with a change and pickled as any frozen dataclass; frozen."""
    one, other = One(number=2), One(number=2.0)
    assert one == other
    assert hash(one) == hash(other)
    assert pickle.loads(pickle.dumps(one)) == one
    assert replace(one, number=3).number == 3.0
    with pytest.raises(FieldError, match="One: whole: expected a whole number from 1 to 3; got 9"):
        replace(one, whole=9)
    with pytest.raises(FrozenInstanceError):
        one.number = 1.0
