"""Capsules as data: on a Model, in the catalogue's files, and turned with their links as centres of mass are."""

from __future__ import annotations

import dataclasses
import math
import pickle
import tomllib
from pathlib import Path

import numpy as np
import pytest

import elbowroom as er
from elbowroom.errors import ModelError, UnknownNameError
from elbowroom.model import LinkCapsule, catalogue, from_dh, from_mdh
from elbowroom.model.capsules import moved_capsule
from elbowroom.model.rotations import pose, rpy
from referees import physical_chain

ROD = LinkCapsule("rod", 0, (0, 0, 0), (0.1, 0.2, 0.3), 0.05)
SHELF = Path(catalogue.__file__).with_name("catalogue")


# --- One capsule ---


def test_a_capsule_holds_plain_numbers():
    capsule = LinkCapsule("x", np.int64(1), np.array([0.0, -0.0, 1.0]), [1, 2, 3], 1)
    assert capsule == LinkCapsule("x", 1, (0.0, 0.0, 1.0), (1.0, 2.0, 3.0), 1.0)
    assert type(capsule.link) is int
    assert all(type(value) is float for value in (*capsule.a, *capsule.b, capsule.radius))
    assert len({capsule, LinkCapsule("x", 1, (0, 0, 1), (1, 2, 3), 1)}) == 1
    with pytest.raises(dataclasses.FrozenInstanceError):
        capsule.radius = 2.0


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"name": ""}, "a capsule's name must be a text that is not empty; got ''"),
        ({"link": -2}, "capsule 'rod': link must be a whole number, at least -1; got -2"),
        ({"link": 0.0}, "capsule 'rod': link must be a whole number, at least -1; got 0.0"),
        ({"link": True}, "capsule 'rod': link must be a whole number"),
        ({"a": (0, 0)}, "capsule 'rod': a must be 3 finite numbers"),
        ({"b": (0, math.nan, 0)}, "capsule 'rod': b must be 3 finite numbers"),
        ({"a": "here"}, "capsule 'rod': a must be 3 finite numbers; got 'here'"),
        ({"radius": 0.0}, "capsule 'rod': radius must be positive and finite; got 0.0"),
        ({"radius": -0.1}, "capsule 'rod': radius must be positive and finite; got -0.1"),
        ({"radius": math.inf}, "capsule 'rod': radius must be positive and finite; got inf"),
        ({"radius": "thick"}, "capsule 'rod': radius must be a positive number; got 'thick'"),
    ],
)
def test_what_is_no_capsule_is_refused(changes, message):
    with pytest.raises(ModelError, match=message.replace("(", r"\(")):
        dataclasses.replace(ROD, **changes)


def test_moving_a_capsule_moves_its_ends():
    T = pose(rpy(0.1, 0.2, 0.3), (1, 2, 3))
    moved = moved_capsule(ROD, T)
    np.testing.assert_allclose(moved.b, T[:3, :3] @ ROD.b + T[:3, 3], atol=1e-15)
    assert (moved.name, moved.link, moved.radius) == (ROD.name, ROD.link, ROD.radius)


# --- On a model ---


def test_a_model_keeps_its_capsules_through_every_change():
    m = dataclasses.replace(physical_chain(3, seed=1), capsules=[ROD], covers={"other": [ROD]})
    assert m.capsules == (ROD,)
    for other in (m.with_payload(1.0), m.with_tool(np.eye(4)), m.with_base(np.eye(4)), m.with_gravity((0, 0, -1))):
        assert other.capsules == (ROD,)
        assert other.cover("other") == (ROD,)
    again = pickle.loads(pickle.dumps(m))
    assert again == m
    assert again.cover("other") == (ROD,)


def test_capsules_are_content_but_the_kernels_do_not_depend_on_them():
    m = physical_chain(3, seed=1)
    covered = dataclasses.replace(m, capsules=[ROD])
    assert covered != m
    assert covered == dataclasses.replace(m, capsules=(ROD,))
    assert dataclasses.replace(m, covers={"x": [ROD]}) != m
    assert covered.digest == m.digest  # an arm with capsules finds the kernels compiled without
    assert len({m, covered}) == 2


@pytest.mark.parametrize(
    "capsules, message",
    [
        ([dataclasses.replace(ROD, link=3)], r"capsule 'rod': link must be a number from -1 \(the base\) to 2; got 3"),
        ([ROD, dataclasses.replace(ROD, link=1)], "capsules must have different names; got 'rod' twice"),
        ([(0, 0, 0)], r"capsules must be LinkCapsule; got \(0, 0, 0\)"),
    ],
)
def test_a_model_refuses_capsules_that_cannot_be_its_own(capsules, message):
    m = physical_chain(3, seed=1)
    with pytest.raises(ModelError, match=f"physical3: {message}"):
        dataclasses.replace(m, capsules=capsules)
    with pytest.raises(ModelError, match=f"physical3: cover 'coarse': {message}"):
        dataclasses.replace(m, covers={"coarse": capsules})


def test_covers_are_by_name():
    m = er.load("puma560").model
    assert [name for name, _ in m.covers] == ["thesis"]
    assert [c.name for c in m.cover("thesis")] == ["upper_arm", "lower_arm"]
    with pytest.raises(UnknownNameError, match="no cover 'fine'; it has 'thesis'"):
        m.cover("fine")
    with pytest.raises(ModelError, match="covers must be capsules by name; got 3"):
        dataclasses.replace(m, covers=3)


@pytest.mark.parametrize("condition", ["general", "orthogonal"])
def test_a_symbolic_model_has_none(condition):
    assert er.load("panda").model.symbolic(condition).capsules == ()


# --- Conventions: a capsule stands where a centre of mass of the same numbers would ---


def test_standard_tables_turn_capsules_as_they_turn_centres_of_mass():
    n = 3
    random = np.random.default_rng(0)
    ends = random.normal(size=(2, n, 3))
    table = {"a": [0.1, 0.2, 0.3], "alpha": [0.4, -0.5, 0.6], "d": [0.7, 0.8, 0.9], "mass": np.ones(n)}
    table |= {"inertia": [np.eye(3) * 0.1] * n}
    capsules = [LinkCapsule(f"c{i}", i, tuple(ends[0, i]), tuple(ends[1, i]), 0.1) for i in range(n)]
    base = LinkCapsule("base", -1, (1, 2, 3), (4, 5, 6), 0.1)
    for maker in (from_dh, from_mdh):
        models = [maker(com=end, capsules=[base, *capsules], covers={"x": capsules}, **table) for end in ends]
        assert models[0].capsules[0] == base
        for i in range(n):
            for cover in (models[0].capsules[1:], models[0].cover("x")):
                np.testing.assert_allclose(cover[i].a, models[0].com[i], atol=1e-15)
                np.testing.assert_allclose(cover[i].b, models[1].com[i], atol=1e-15)


FILE = """
name = "toy"
convention = "{convention}"
base.capsules = [{{ name = "foot", a = [0, 0, 0.1], radius = 0.2 }}]
[[joint]]
name = "j1"
kind = "revolute"
{placement}
link.name = "l1"
link.mass = 1
link.com = [0.1, 0.2, 0.3]
link.inertia = [0.1, 0.1, 0.1, 0, 0, 0]
{capsules}
"""
CAPSULES = 'link.capsules = [{ name = "rod", a = [0.1, 0.2, 0.3], b = [-0.4, 0.5, 0.6], radius = 0.05 }]'
PLACEMENTS = {"dh": "a = 0.3\nalpha = 0.4\nd = 0.5", "mdh": "a = 0.3\nalpha = 0.4\nd = 0.5"}
PLACEMENTS["frames"] = "xyz = [0, 0, 0.1]\nrpy = [0.1, 0.2, 0.3]\naxis = [1, 2, 3]"


def toy(tmp_path, convention="mdh", capsules=CAPSULES):
    file = tmp_path / "toy.toml"
    file.write_text(FILE.format(convention=convention, placement=PLACEMENTS[convention], capsules=capsules))
    return catalogue.from_toml(file)


@pytest.mark.parametrize("convention", PLACEMENTS)
def test_a_file_turns_capsules_as_it_turns_the_centre_of_mass(tmp_path, convention):
    text = CAPSULES + '\nlink.covers.coarse = [{ name = "ball", a = [0.1, 0.2, 0.3], radius = 0.5 }]'
    model = toy(tmp_path, convention, text)
    foot, rod = model.capsules
    assert foot == LinkCapsule("foot", -1, (0, 0, 0.1), (0, 0, 0.1), 0.2)
    (ball,) = model.cover("coarse")
    for capsule in (rod, ball):
        assert capsule.link == 0
        np.testing.assert_allclose(capsule.a, model.com[0], atol=1e-15)
    assert ball.a == ball.b
    assert math.dist(rod.a, rod.b) == pytest.approx(math.dist((0.1, 0.2, 0.3), (-0.4, 0.5, 0.6)))


@pytest.mark.parametrize("name", ["puma560", "stanford"])
def test_capsules_of_standard_tables_stand_in_the_far_frames(name):
    """Tx(a) Rx(alpha) by hand, from the file's own numbers."""
    model = catalogue.load(name)
    table = tomllib.loads((SHELF / f"{name}.toml").read_text())["joint"]
    given = {c["name"]: (c, row) for row in table for c in row["link"]["capsules"]}
    for capsule in model.capsules:
        if capsule.link >= 0:
            told, row = given[capsule.name]
            alpha = math.radians(row.get("alpha_deg", 0))
            x, y, z = told["a"]
            c, s = math.cos(alpha), math.sin(alpha)
            np.testing.assert_allclose(capsule.a, [x + row.get("a", 0), c * y - s * z, s * y + c * z], atol=1e-15)


# --- Messages of a bad file ---


@pytest.mark.parametrize(
    "capsules, message",
    [
        ("link.capsules = 3", "joint[0].link.capsules: expected a list of {name, a, b, radius}; got 3"),
        ("link.capsules = [3]", "joint[0].link.capsules: expected a list of {name, a, b, radius}; got [3]"),
        (
            CAPSULES.replace("radius = 0.05", "radius = -1"),
            "link.capsules[0].radius: expected a positive number; got -1",
        ),
        (CAPSULES.replace("radius = 0.05", "radius = 0"), "link.capsules[0].radius: expected a positive number; got 0"),
        (CAPSULES.replace(", radius = 0.05", ""), "link.capsules[0].radius: expected a finite number; it is missing"),
        (CAPSULES.replace("radius", "radios"), "link.capsules[0].radius: expected a finite number; it is missing"),
        (CAPSULES.replace("radius", "r = 1, radius"), "link.capsules[0].r: unknown key; expected"),
        (CAPSULES.replace("[0.1, 0.2, 0.3]", "[0.1]"), "link.capsules[0].a: expected 3 finite numbers; got [0.1]"),
        (CAPSULES.replace('"rod"', "7"), "link.capsules[0].name: expected a string; got 7"),
        (CAPSULES.replace('"rod"', '""'), "link.capsules[0].name: expected a name; got ''"),
        (CAPSULES.replace('"rod"', '"foot"'), "toy: capsules must have different names; got 'foot' twice"),
        ("link.covers.x = [{}]", "joint[0].link.covers.x[0].name: expected a string; it is missing"),
        ("link.covers = 1", "joint[0].link.covers: expected a table; got 1"),
        ("link.capsule = []", "joint[0].link.capsule: unknown key; expected capsules"),
    ],
)
def test_a_bad_capsule_is_refused_with_file_and_path(tmp_path, capsules, message):
    with pytest.raises(ModelError) as caught:
        toy(tmp_path, capsules=capsules)
    assert str(caught.value).startswith(str(tmp_path / "toy.toml"))
    assert message in str(caught.value)


def test_a_bad_base_is_refused(tmp_path):
    file = tmp_path / "toy.toml"
    text = FILE.format(convention="mdh", placement=PLACEMENTS["mdh"], capsules="").replace(
        "base.capsules", "base.shape"
    )
    file.write_text(text)
    with pytest.raises(ModelError, match=r"base\.shape: unknown key; expected cap"):
        catalogue.from_toml(file)
