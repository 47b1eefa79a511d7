"""Looks read from a URDF: shapes, places, colours, and what is not drawn."""

from __future__ import annotations

import pickle
import warnings
from pathlib import Path

import numpy as np
import pytest

from elbowroom.errors import ModelError, ModelWarning
from elbowroom.model import urdf, visuals
from elbowroom.model.visuals import visuals_of

HEAD = """<robot name="pair">
  <material name="steel"><color rgba="0.5 0.6 0.7 1"/></material>
  <link name="base">%s</link>
  <link name="upper"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial>%s</link>
  <link name="plate"><visual><origin xyz="0 0 0.1" rpy="0 0 0.4"/><geometry><sphere radius="0.05"/></geometry></visual>
    <collision><origin xyz="0 0 0.1"/><geometry><sphere radius="0.05"/></geometry></collision></link>
  <link name="fore"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial>%s</link>
  <joint name="a" type="revolute"><parent link="base"/><child link="upper"/><origin xyz="0.1 0 0.3" rpy="0.2 0.1 0"/>
    <axis xyz="0 1 0"/><limit lower="-2" upper="2" velocity="1" effort="1"/></joint>
  <joint name="bolt" type="fixed"><parent link="upper"/><child link="plate"/><origin xyz="0 0.2 0" rpy="1 0 0"/></joint>
  <joint name="b" type="revolute"><parent link="plate"/><child link="fore"/><origin xyz="0 0 0.4" rpy="0 0.3 0"/>
    <axis xyz="1 0 1"/><limit lower="-2" upper="2" velocity="1" effort="1"/></joint>
</robot>"""
BOX = '<visual><geometry><box size="0.1 0.2 0.3"/></geometry><material name="%s">%s</material></visual>'
MESH = '<visual><geometry><mesh filename="%s" scale="0.001 0.001 0.001"/></geometry></visual>'


def written(folder: Path, *parts: str) -> Path:
    path = folder / "pair.urdf"
    path.write_text(HEAD % (*parts, *[""] * (3 - len(parts))))
    return path


def quiet(path: Path, tip: str | None = None):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return visuals_of(path, tip)


def test_a_catalogue_arm_has_none_unless_its_file_says_where():
    assert quiet(Path("ur5e")) == () == quiet(Path(urdf.__file__).parent / "catalogue/ur5e.toml")


def test_shapes_and_sizes(tmp_path):
    shapes = "".join(
        f"<visual><geometry>{shape}</geometry></visual>"
        for shape in ('<cylinder radius="0.1" length="0.4"/>', '<capsule radius="0.1" length="0.2"/>')
    )
    found = quiet(written(tmp_path, BOX % ("", ""), shapes))
    assert [(v.name, v.link, v.kind, v.size) for v in found] == [
        ("base", 0, "box", (0.1, 0.2, 0.3)),
        ("upper", 1, "cylinder", (0.1, 0.4)),
        ("upper", 1, "capsule", (0.1, 0.2)),
        ("plate", 1, "sphere", (0.05,)),  # a fixed joint away from upper
    ]
    assert pickle.loads(pickle.dumps(found)) == found


def test_a_visual_stands_where_the_same_collision_shape_does(tmp_path):
    path = written(tmp_path)
    (visual,) = quiet(path)
    (capsule,) = urdf.load(path).capsules
    assert visual.link == capsule.link + 1
    # both go the same way through the same numbers, so they agree to rounding
    np.testing.assert_allclose(np.array(visual.pose)[:3, 3], capsule.a, atol=1e-15)


def test_poses_are_in_frames_whose_z_is_the_axis(tmp_path):
    path = written(tmp_path, "", "", BOX % ("", ""))
    found = {visual.name: np.array(visual.pose) for visual in quiet(path)}
    model = urdf.load(path)
    # the URDF's own way to the box at zero, and ours
    theirs = urdf_pose((0.1, 0, 0.3), (0.2, 0.1, 0)) @ urdf_pose((0, 0.2, 0), (1, 0, 0))
    theirs = theirs @ urdf_pose((0, 0, 0.4), (0, 0.3, 0))
    ours = np.eye(4)
    for E, p in zip(model.E, model.p, strict=True):
        step = np.eye(4)
        step[:3, :3], step[:3, 3] = E, p
        ours = ours @ step
    np.testing.assert_allclose(ours @ found["fore"], theirs, atol=1e-14)  # a dozen roundings of numbers below one


def urdf_pose(xyz, rpy):
    r, p, y = rpy
    x = np.array([[1, 0, 0], [0, np.cos(r), -np.sin(r)], [0, np.sin(r), np.cos(r)]])
    pitch = np.array([[np.cos(p), 0, np.sin(p)], [0, 1, 0], [-np.sin(p), 0, np.cos(p)]])
    yaw = np.array([[np.cos(y), -np.sin(y), 0], [np.sin(y), np.cos(y), 0], [0, 0, 1]])
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = yaw @ pitch @ x, xyz
    return T


def test_colours_by_name_in_place_and_in_passing(tmp_path):
    red = '<color rgba="1 0 0 0.5"/>'
    path = written(tmp_path, BOX % ("steel", ""), BOX % ("red", red), BOX % ("red", "") + BOX % ("nobody's", ""))
    assert [visual.colour for visual in quiet(path) if visual.kind == "box"] == [
        (0.5, 0.6, 0.7, 1.0),
        (1.0, 0.0, 0.0, 0.5),
        (1.0, 0.0, 0.0, 0.5),
        None,
    ]


@pytest.mark.parametrize("rgba", ["1 0 0", "nan 0 0 1", "red", ""])
def test_a_colour_without_sense_is_none(tmp_path, rgba):
    assert quiet(written(tmp_path, BOX % ("x", f'<color rgba="{rgba}"/>')))[0].colour is None


def test_a_mesh_is_found_beside_the_urdf(tmp_path):
    (tmp_path / "part.STL").write_bytes(b"solid")
    (mesh, *_) = quiet(written(tmp_path, MESH % "part.STL"))
    assert (mesh.kind, mesh.size, mesh.mesh) == ("mesh", (0.001,) * 3, str(tmp_path / "part.STL"))


@pytest.mark.parametrize(
    ("part", "told"),
    [
        (MESH % "gone.stl", "not found"),
        (MESH % "../secret.stl", "leads out"),
        (MESH % "/etc/passwd.stl", "leads out"),
        (MESH % "http://site/x.stl", "expected package://"),
        (MESH % "cloud.xyz", "expected a file of one of"),
        (MESH.replace("0.001 0.001 0.001", "0 1 1") % "part.stl", "must not be zero"),
        ('<visual><geometry><box size="1 -1 1"/></geometry></visual>', "must be positive"),
        ('<visual><geometry><sphere radius="nan"/></geometry></visual>', "must be a finite number"),
        ("<visual/>", "must be one of"),
        ('<visual><origin xyz="0 0"/><geometry><sphere radius="1"/></geometry></visual>', "3 finite numbers"),
    ],
)
def test_what_cannot_be_drawn_is_named_and_stands_as_missing(tmp_path, part, told):
    (tmp_path / "part.stl").write_bytes(b"solid")
    with pytest.warns(ModelWarning, match="pair: not drawn") as record:
        found = visuals_of(written(tmp_path, "", part))
    assert told in str(record[0].message)
    assert "link 'upper'" in str(record[0].message)
    assert [(v.kind, v.link) for v in found] == [("missing", 1), ("sphere", 1)]
    assert told in found[0].reason
    assert "link 'upper'" in found[0].reason
    assert found[1].reason == ""


def test_a_reason_names_link_and_file_and_is_short(tmp_path):
    with pytest.warns(ModelWarning, match="gone.stl"):
        (lost, _) = visuals_of(written(tmp_path, "", 3 * (MESH % "gone.stl")))
    assert lost.reason == (
        f"link 'upper': mesh 'gone.stl': not found in the model's folder; looked in {str(tmp_path)!r}; "
        "and 2 more of this link"
    )
    path = written(tmp_path, "", MESH % "gone.stl")
    path.write_text(path.read_text().replace("upper", "u" * 5000))
    with pytest.warns(ModelWarning, match="uuu"):
        (lost, _) = visuals_of(path)
    assert len(lost.reason) < 400


def test_large_files_and_crowds_are_missing(tmp_path, monkeypatch):
    (tmp_path / "part.stl").write_bytes(b"solid" * 100)
    path = written(tmp_path, MESH % "part.stl", 3 * (MESH % "part.stl"))
    monkeypatch.setattr(visuals, "MOST_BYTES", 1200)
    with pytest.warns(ModelWarning, match="MB of meshes"):
        found = visuals_of(path)
    assert [v.kind for v in found] == ["mesh", "mesh", "missing", "sphere"]
    assert "link 'upper': mesh 'part.stl': more than" in found[2].reason
    monkeypatch.setattr(visuals, "MAX_BYTES", 100)
    with pytest.warns(ModelWarning, match="larger"):
        assert [v.kind for v in visuals_of(path)] == ["missing", "missing", "sphere"]
    monkeypatch.setattr(visuals, "MOST", 0)
    with pytest.warns(ModelWarning, match="shapes"):
        assert {v.kind for v in visuals_of(path)} == {"missing"}


def test_the_same_errors_as_load(tmp_path):
    path = written(tmp_path)
    with pytest.raises(ModelError, match="no link 'nowhere'"):
        visuals_of(path, "nowhere")
    with pytest.raises(ModelError, match="cannot be read"):
        visuals_of(tmp_path / "none.urdf")
