"""Numbers on disk: capsules fitted to meshes and ready poses, found again, and never believed blindly."""

from __future__ import annotations

import dataclasses
import os
import struct

import numpy as np
import pytest

import elbowroom as er
from elbowroom import disk_cache
from elbowroom.arm import arm as arms
from elbowroom.model import catalogue, collision, urdf

CORNERS = np.array([[0.0, 0.0, 0.0], [0.1, 0.0, 0.0], [0.0, 0.1, 0.0], [0.05, 0.02, 0.4]])
FACES = np.array([[0, 1, 2], [0, 1, 3], [1, 2, 3], [0, 2, 3]])
INERTIAL = '<inertial><mass value="1"/><inertia ixx="0.1" iyy="0.1" izz="0.1"/></inertial>'


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("ELBOWROOM_CACHE", str(tmp_path / "cache"))
    forget()
    yield tmp_path / "cache" / "kernels"
    forget()


def forget() -> None:
    """As in another process."""
    collision._fitted.cache_clear()
    arms._searched.cache_clear()


def entries(folder):
    return sorted(folder.iterdir()) if folder.is_dir() else []


def stl(points) -> bytes:
    triangles = b"".join(struct.pack("<12fH", 0, 0, 0, *points[face].ravel(), 0) for face in FACES)
    return bytes(80) + struct.pack("<I", len(FACES)) + triangles


@pytest.fixture
def described(tmp_path):
    """A URDF whose one link is a mesh."""

    def write(points=CORNERS, scale="1 1 1"):
        (tmp_path / "part.stl").write_bytes(stl(points))
        (tmp_path / "arm.urdf").write_text(
            f"""<robot name="toy"><link name="base"/><link name="arm">{INERTIAL}
            <collision><geometry><mesh filename="part.stl" scale="{scale}"/></geometry></collision></link>
            <joint name="turn" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/>
            <limit lower="-1" upper="1" velocity="1" effort="1"/></joint></robot>"""
        )
        return tmp_path / "arm.urdf"

    return write


def capsules(path):
    forget()
    return urdf.load(path).capsules


def unposed():
    """An arm as if its file gave no ready pose, as another process would load it."""
    forget()
    model = catalogue.load("planar2")
    return er.Arm(dataclasses.replace(model, ready=np.zeros(model.n), has_ready=False))


@pytest.fixture
def fits(monkeypatch):
    """How often capsules are fitted."""
    calls = []
    real = collision.covering_capsules
    monkeypatch.setattr(collision, "covering_capsules", lambda *given: calls.append(1) or real(*given))
    return calls


def test_capsules_are_fitted_once(folder, described, fits):
    first = capsules(described())
    assert (len(fits), len(entries(folder))) == (1, 1)
    assert capsules(described()) == first  # to the last bit
    assert len(fits) == 1


@pytest.mark.parametrize("change", ["the mesh", "the scale", "the sources", "its reader"])
def test_what_the_capsules_depend_on_makes_others(folder, described, fits, monkeypatch, change):
    first = capsules(described())
    if change == "the mesh":
        assert capsules(described(points=1.5 * CORNERS)) != first
    elif change == "the scale":
        assert capsules(described(scale="1 1 2")) != first
    else:
        if change == "the sources":
            monkeypatch.setattr(disk_cache.SOURCES, "digest", "another source")
        else:
            monkeypatch.setattr(collision, "readers", lambda: ("trimesh 0",))
        assert capsules(described()) == first
    assert (len(fits), len(entries(folder))) == (2, 2)


def test_the_vertices_of_a_gltf_are_in_other_files_so_it_is_not_kept(folder, tmp_path, monkeypatch):
    (tmp_path / "part.gltf").write_bytes(b"{}")
    monkeypatch.setattr(collision, "mesh_points", lambda path, data: (CORNERS, FACES[:, :2]))
    assert collision._fitted(str(tmp_path / "part.gltf"), 0, 0, (1.0, 1.0, 1.0), "part.gltf")
    assert entries(folder) == []


def test_a_mesh_that_is_refused_is_refused_again(folder, described, fits):
    for _ in range(2):
        with pytest.warns(er.ModelWarning, match="its vertices, scaled"):
            assert capsules(described(scale="1e9 1 1")) == ()
    assert entries(folder) == []


def test_a_ready_pose_is_searched_for_once(folder, monkeypatch):
    first = unposed().ready
    assert len(entries(folder)) == 1
    monkeypatch.setattr(arms, "ready_pose", lambda model: pytest.fail("searched again"))
    assert (unposed().ready == first).all()


def test_another_limit_is_another_ready_pose(folder):
    first = unposed()
    first.ready  # noqa: B018  (it is searched for now)
    model = dataclasses.replace(first.model, upper=first.model.upper - 0.5)
    assert er.Arm(model).ready.shape == (2,)
    assert len(entries(folder)) == 2


@pytest.mark.parametrize("damage", ["truncated", "altered", "emptied", "of another", "for all to write", "a folder"])
def test_a_damaged_entry_is_ignored_and_made_again(folder, described, fits, damage):
    first, pose = capsules(described()), unposed().ready
    (path, other) = entries(folder)
    whole = path.read_bytes()
    for one, another in ((path, other), (other, path)):
        content = one.read_bytes()
        if damage == "truncated":
            one.write_bytes(content[:-8])
        elif damage == "altered":
            one.write_bytes(content[:-3] + bytes([content[-3] ^ 1]) + content[-2:])
        elif damage == "emptied":
            one.write_bytes(b"")
        elif damage == "of another":
            one.write_bytes(whole if one is other else another.read_bytes())
        elif damage == "for all to write":
            one.chmod(0o666)
        else:
            one.unlink()
            one.mkdir()
    assert capsules(described()) == first
    assert (unposed().ready == pose).all()
    assert len(fits) == 2


@pytest.mark.parametrize(
    ("facts", "code"),
    [
        ({"width": 7}, np.full(7, np.nan).tobytes()),
        ({"width": 7}, np.zeros(8).tobytes()),
        ({"width": 7}, b""),
        ({"width": 8}, np.zeros(8).tobytes()),
        ({}, np.zeros(7).tobytes()),
        ([], np.zeros(7).tobytes()),
    ],
)
def test_an_entry_with_a_right_checksum_but_other_content_is_ignored(folder, described, fits, facts, code):
    first = capsules(described())
    (path,) = entries(folder)
    disk_cache.store(path.name, facts, code)
    assert capsules(described()) == first
    assert len(fits) == 2


def test_without_a_cache_everything_is_made_again(folder, described, fits, monkeypatch):
    monkeypatch.setenv("ELBOWROOM_CACHE", "off")
    assert capsules(described()) == capsules(described())
    assert (unposed().ready == unposed().ready).all()
    assert len(fits) == 2
    assert entries(folder) == []


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() == 0, reason="root writes anywhere")
def test_a_folder_that_cannot_be_written_is_no_trouble(folder, described):
    folder.mkdir(parents=True, mode=0o700)
    folder.chmod(0o500)
    assert capsules(described())
    folder.chmod(0o700)
