"""Looks of the catalogue's arms from an installed wheel: the right frames, or none."""

from __future__ import annotations

import dataclasses
import importlib.metadata
import warnings
from pathlib import Path

import numpy as np
import pytest

import elbowroom as er
from elbowroom.cell.suitability import STICKS_OUT, covers
from elbowroom.errors import ModelError, ModelNotice
from elbowroom.export.write_urdf import urdf
from elbowroom.model import catalogue, visuals
from elbowroom.model.visuals import visuals_of

SHOWN = [name for name in catalogue.names() if catalogue.looks_of(name)]


class Wheel:
    """A distribution with one file."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.files = [Path("share/toy/urdf/arm.urdf")]

    def locate_file(self, file) -> Path:
        return self.folder / file


@pytest.fixture
def wheel(tmp_path, monkeypatch):
    """Puts a URDF of an arm into a wheel: with a box on each link, all of them in one corner of its frame."""
    path = tmp_path / "share/toy/urdf/arm.urdf"
    path.parent.mkdir(parents=True)
    monkeypatch.setattr(visuals.importlib.metadata, "distribution", lambda name: Wheel(tmp_path))

    def put(text: str) -> Path:
        box = '<visual><origin xyz="0.1 0.2 0.3"/><geometry><box size="0.1 0.1 0.1"/></geometry></visual>'
        path.write_text(text.replace("<inertial>", f"{box}<inertial>"))
        return path

    return put


@pytest.fixture
def planar(tmp_path):
    """A TOML file of the planar arm that names its looks."""
    text = (Path(er.__file__).parent / "model/catalogue/planar2.toml").read_text()
    where = 'looks = { wheel = "toy", file = "toy/urdf/arm.urdf", tip = "tool" }\n'
    file = tmp_path / "planar.toml"
    file.write_text(where + text)
    return file


def test_a_model_is_the_same_with_looks(planar):
    assert er.load(planar).model.digest == er.load("planar2").model.digest


def test_what_is_fixed_to_their_link_is_fixed_to_ours(planar, wheel):
    """The URDF of the same arm with its link frames elsewhere: the first turned about its axis and moved along it."""
    model = catalogue.load("planar2")
    wheel(urdf(model))
    same = visuals_of(planar)
    assert [visual.link for visual in same] == [1, 2]
    for visual in same:
        assert np.allclose(np.array(visual.pose)[:3, 3], [0.1, 0.2, 0.3], atol=1e-12)  # frames are the same
    shift = np.array([0.0, 0.0, 0.25])  # along the axis of joint 1, and back again at joint 2
    p = model.p.copy()
    p[0] += model.E[0] @ shift
    p[1] -= shift
    wheel(urdf(_with(model, p)))
    first, second = visuals_of(planar)
    assert np.allclose(np.array(first.pose)[:3, 3], np.array([0.1, 0.2, 0.3]) + shift, atol=1e-12)
    assert np.allclose(np.array(second.pose)[:3, 3], [0.1, 0.2, 0.3], atol=1e-12)


def _with(model, p):
    return dataclasses.replace(model, p=p)


def test_another_arm_is_not_drawn_for_this_one(planar, wheel):
    model = catalogue.load("planar2")
    longer = model.p.copy()
    longer[1] *= 1.1
    wheel(urdf(_with(model, longer)))
    with pytest.warns(ModelNotice, match=r"drawn by its capsules, .*arm\.urdf is that of an arm of other dimensions"):
        assert visuals_of(planar) == ()
    wheel(urdf(catalogue.load("scara")))
    with pytest.warns(ModelNotice, match="has joints RRPR to 'tool'; expected RR"):
        assert visuals_of(planar) == ()
    wheel("<robot")
    with pytest.warns(ModelNotice, match="drawn by its capsules"):
        assert visuals_of(planar) == ()


def test_without_the_wheel_or_the_file_nothing_is_said(planar, wheel, monkeypatch):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert visuals_of(planar) == ()  # the wheel has no such file
        monkeypatch.setattr(visuals.importlib.metadata, "distribution", _missing)
        assert visuals_of(planar) == ()
        assert [visuals_of(name) for name in catalogue.names()] == [()] * len(catalogue.names())


def _missing(name):
    raise importlib.metadata.PackageNotFoundError(name)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('"panda.urdf"', "looks: expected a table"),
        ('{ wheel = "w", file = "f" }', "looks.tip: expected a string; it is missing"),
        ('{ wheel = "w", file = "f", tip = "t", scale = 2 }', "looks.scale: unknown key"),
        ('{ wheel = 3, file = "f", tip = "t" }', "looks.wheel: expected a string; got 3"),
    ],
)
def test_looks_that_are_none_are_refused(planar, text, said):
    planar.write_text(f"looks = {text}\n" + planar.read_text().partition("\n")[2])
    for read in (er.load, visuals_of):
        with pytest.raises(ModelError, match=said):
            read(planar)


# ---- with the wheels


@pytest.mark.parametrize("name", SHOWN)
def test_the_meshes_of_the_wheel_lie_in_the_capsules_of_the_catalogue(name):
    where = catalogue.looks_of(name)
    if visuals.installed(where) is None:
        pytest.skip(f"needs the wheel {where.wheel}")
    arm, shown = er.load(name), visuals_of(name)
    assert sorted({visual.link for visual in shown}) == list(range(arm.n + 1))  # the base and every link
    found = covers(arm, shown)
    assert all(cover.sticks_out <= STICKS_OUT for cover in found[1:])  # the base may have a plug


def test_nothing_hangs_on_the_flange():
    if visuals.installed(catalogue.looks_of("panda")) is None:
        pytest.skip("needs the wheel example-robot-data")
    assert not any("hand" in visual.name or "finger" in visual.name for visual in visuals_of("panda"))


def test_an_arm_of_other_dimensions_is_found_out():
    where = catalogue.looks_of("iiwa14")
    if visuals.installed(where) is None:
        pytest.skip("needs the wheel rtb-data")
    with pytest.warns(ModelNotice, match="other dimensions"):
        assert visuals.borrowed(catalogue.load("iiwa7"), where) is None
