"""xacro files: evaluated when that is allowed, in a process of its own, with limits."""

from __future__ import annotations

import importlib.util
import warnings

import pytest
import trimesh

import elbowroom as er
from elbowroom.errors import ModelError, ModelNotice
from elbowroom.model import xacro

needs_xacro = pytest.mark.skipif(importlib.util.find_spec("xacro") is None, reason="xacro is not installed")

ARM = """<robot name="toy" xmlns:xacro="http://www.ros.org/wiki/xacro"><xacro:property name="n" value="3"/>
<xacro:include filename="$(find parts)/link.xacro"/><link name="l0"/>
<xacro:macro name="chain" params="k"><xacro:part k="${k}"/>
<xacro:if value="${k &lt; n}"><xacro:chain k="${k + 1}"/></xacro:if></xacro:macro><xacro:chain k="1"/></robot>"""
PART = """<robot xmlns:xacro="http://www.ros.org/wiki/xacro"><xacro:macro name="part" params="k">
<link name="l${k}"><inertial><mass value="${k * 2}"/><inertia ixx="1" iyy="1" izz="1"/></inertial></link>
<joint name="j${k}" type="revolute"><parent link="l${k - 1}"/><child link="l${k}"/><axis xyz="0 0 1"/>
<origin xyz="${k / 10} 0 0"/><limit lower="${-pi}" upper="${pi}" velocity="1" effort="1"/></joint></xacro:macro>
</robot>"""


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.delenv(xacro.ALLOWED, raising=False)
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts/link.xacro").write_text(PART)
    (tmp_path / "arm.xacro").write_text(ARM)
    return tmp_path / "arm.xacro"


def test_a_xacro_file_is_not_evaluated_unasked(file, monkeypatch):
    monkeypatch.setattr(xacro.subprocess, "run", lambda *_, **__: pytest.fail("it ran"))
    with pytest.raises(ModelError, match=r"arm\.xacro: this is a xacro file, .* --xacro \(xacro=True in Python\)"):
        er.load(file)
    file.rename(file.with_suffix(".urdf"))
    with pytest.raises(ModelError, match=r"this is a xacro file; --xacro \(xacro=True\) evaluates it"):
        er.load(file.with_suffix(".urdf"))


@needs_xacro
@pytest.mark.parametrize("suffix", [".xacro", ".urdf"])
def test_a_xacro_file_is_evaluated_when_allowed(file, suffix, monkeypatch):
    file.rename(file.with_suffix(suffix))
    arm = er.load(file.with_suffix(suffix), xacro=True)
    assert arm.joint_names == ("j1", "j2", "j3")
    assert arm.model.mass.tolist() == [2, 4, 6]
    monkeypatch.setenv(xacro.ALLOWED, "1")
    assert er.load(file.with_suffix(suffix)).model == arm.model


@needs_xacro
def test_what_xacro_refuses_is_told(file):
    file.write_text(ARM.replace("find parts", "find nosuch"))
    with pytest.raises(ModelError, match=r"arm\.xacro: xacro does not take it: .*no package 'nosuch'"):
        er.load(file, xacro=True)
    file.write_text(ARM.replace("k * 2", "1"))
    (file.parent / "parts/link.xacro").write_text(PART.replace("${k * 2}", "${nosuch}"))
    with pytest.raises(ModelError, match="nosuch"):
        er.load(file, xacro=True)


@needs_xacro
def test_a_package_under_another_name_is_told(file, tmp_path):
    (tmp_path / "urdf").mkdir()
    inner = tmp_path / "urdf/arm.xacro"
    inner.write_text(ARM.replace("$(find parts)", "$(find gone)/parts"))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert er.load(inner, xacro=True).n == 3
    (notice,) = caught
    assert notice.category is ModelNotice
    assert "package 'gone' was not found" in str(notice.message)


@needs_xacro
def test_that_is_told_once_where_meshes_are_of_that_package_too(file, tmp_path):
    (tmp_path / "urdf").mkdir()
    inner = tmp_path / "urdf/arm.xacro"
    inner.write_text(ARM.replace("$(find parts)", "$(find gone)/parts"))
    solid = '<collision><geometry><mesh filename="package://gone/box.stl"/></geometry></collision>'
    (tmp_path / "parts/link.xacro").write_text(PART.replace("</inertial>", f"</inertial>{solid}"))
    trimesh.creation.box((0.1, 0.1, 0.2)).export(tmp_path / "box.stl")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        arm = er.load(inner, xacro=True)
    assert arm.model.capsules
    assert [str(each.message) for each in caught] == [
        "toy: package 'gone' was not found; its files were taken from the model's folder"
    ]


@needs_xacro
def test_a_file_is_evaluated_again_where_one_that_it_includes_has_changed(file, monkeypatch):
    assert er.load(file, xacro=True).model.mass.tolist() == [2, 4, 6]
    with monkeypatch.context() as patch:
        patch.setattr(xacro.subprocess, "run", lambda *_, **__: pytest.fail("it ran, and nothing had changed"))
        assert er.load(file, xacro=True).model.mass.tolist() == [2, 4, 6]
    (file.parent / "parts/link.xacro").write_text(PART.replace("${k * 2}", "${k * 10}"))
    assert er.load(file, xacro=True).model.mass.tolist() == [10, 20, 30]


@pytest.mark.slow
@needs_xacro
def test_a_file_without_end_is_stopped(file, monkeypatch):
    """The chain of macros is as long as its number says."""
    monkeypatch.setattr(xacro, "SECONDS", 3.0)
    file.write_text(ARM.replace('name="n" value="3"', 'name="n" value="${[x for x in range(10**12)]}"'))
    with pytest.raises(ModelError, match=r"did not end within 3 s|xacro does not take it"):
        er.load(file, xacro=True)


def test_a_missing_library_is_named(file, monkeypatch):
    monkeypatch.setattr(xacro, "_PROGRAM", f"import sys; sys.exit({xacro._MISSING})")
    with pytest.raises(ModelError, match=r"pip install (-e )?'\.\[xacro\]'"):
        er.load(file, xacro=True)
