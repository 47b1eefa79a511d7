"""Where the files that a robot description names are found, and where they are not looked for."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from elbowroom.errors import ModelError
from elbowroom.model.packages import locate


@pytest.fixture(autouse=True)
def no_ros(monkeypatch):
    for key in ("ROS_PACKAGE_PATH", "AMENT_PREFIX_PATH"):
        monkeypatch.delenv(key, raising=False)


def write(path: Path, text: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


@pytest.fixture
def urdf(tmp_path):
    return write(tmp_path / "ws/src/arms/my_arm/urdf/arm.urdf")


def package_xml(name: str) -> str:
    return f"<package><name> {name} </name></package>"


@pytest.mark.parametrize("scheme", ["package", "model"])
@pytest.mark.parametrize(
    "mesh",
    [
        "ws/src/arms/my_arm/meshes/a.stl",  # the package that the file lies in
        "ws/src/arms/other/meshes/a.stl",  # one beside it
        "ws/src/other/meshes/a.stl",  # and beside the folder of both
    ],
)
def test_a_package_is_found_in_the_tree_of_the_file(tmp_path, urdf, mesh, scheme):
    file = write(tmp_path / mesh)
    name = Path(mesh).parts[-3]
    assert locate(f"{scheme}://{name}/meshes/a.stl", urdf) == (file, "")


def test_a_package_has_the_name_in_its_package_xml(tmp_path, urdf):
    file = write(tmp_path / "ws/src/arms/my_arm/meshes/a.stl")
    write(tmp_path / "ws/src/arms/my_arm/package.xml", package_xml("arm_description"))
    assert locate("package://arm_description/meshes/a.stl", urdf).path == file


@pytest.mark.parametrize("folder", ["arm_description", "deep/er/somewhere"])
def test_a_package_is_found_by_ros_package_path(tmp_path, urdf, monkeypatch, folder):
    file = write(tmp_path / "opt" / folder / "meshes/a.stl")
    if folder != "arm_description":
        write(tmp_path / "opt" / folder / "package.xml", package_xml("arm_description"))
        monkeypatch.setenv("ROS_PACKAGE_PATH", os.pathsep.join([str(tmp_path / "none"), str(tmp_path / "opt/deep")]))
    else:
        monkeypatch.setenv("ROS_PACKAGE_PATH", str(tmp_path / "opt"))
    assert locate("package://arm_description/meshes/a.stl", urdf) == (file, "")
    monkeypatch.delenv("ROS_PACKAGE_PATH")
    with pytest.raises(ModelError, match=r"no package 'arm_description' in .* \(ROS_PACKAGE_PATH is not set\)"):
        locate("package://arm_description/meshes/a.stl", urdf)


def test_a_package_is_found_by_ament_prefix_path(tmp_path, urdf, monkeypatch):
    file = write(tmp_path / "opt/share/arm_description/meshes/a.stl")
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(tmp_path / "opt"))
    assert locate("package://arm_description/meshes/a.stl", urdf).path == file


def test_a_copy_under_another_name_is_taken_from_the_models_folder_and_told(tmp_path, urdf):
    file = write(tmp_path / "ws/src/arms/my_arm/meshes/a.stl")
    found = locate("package://gone/meshes/a.stl", urdf)
    assert found.path == file
    assert found.instead == "package 'gone' was not found; its files were taken from the model's folder"


def test_a_missing_mesh_says_where_it_was_looked_for(tmp_path, urdf):
    with pytest.raises(ModelError) as error:
        locate("package://my_arm/meshes/none.stl", urdf)
    assert "mesh 'package://my_arm/meshes/none.stl': not found" in str(error.value)
    assert repr(str(tmp_path / "ws/src/arms/my_arm")) in str(error.value)


def test_a_package_leads_nowhere_else(tmp_path, urdf, monkeypatch):
    write(tmp_path / "secret.stl")
    write(tmp_path / "opt/arm_description/meshes/a.stl")
    (tmp_path / "opt/arm_description/out.stl").symlink_to(tmp_path / "secret.stl")
    monkeypatch.setenv("ROS_PACKAGE_PATH", str(tmp_path / "opt"))
    for name in ("../../secret.stl", "out.stl", f"{tmp_path}/secret.stl"):
        with pytest.raises(ModelError, match="leads out of the model's folder"):
            locate(f"package://arm_description/{name}", urdf)
    for name in ("", ".", "..", "../opt"):  # names of no package
        with pytest.raises(ModelError, match=r"not found|leads out"):
            locate(f"package://{name}/secret.stl", urdf)


def test_far_up_only_a_marked_folder_is_a_package(tmp_path):
    urdf = write(tmp_path / "a/b/c/d/arm.urdf")
    write(tmp_path / "tools/meshes/a.stl")
    with pytest.raises(ModelError, match="no package 'tools'"):
        locate("package://tools/meshes/a.stl", urdf)
    write(tmp_path / "tools/package.xml", package_xml("tools"))
    assert locate("package://tools/meshes/a.stl", urdf).path == tmp_path / "tools/meshes/a.stl"
