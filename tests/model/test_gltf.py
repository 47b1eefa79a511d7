"""glTF meshes: a file of text whose numbers stand in buffers, inside of it or beside it."""

from __future__ import annotations

import base64
import json

import numpy as np
import pytest

from elbowroom.errors import ModelError
from elbowroom.model.meshes import surfaces

trimesh = pytest.importorskip("trimesh")

TURN = np.array([[0.0, -1, 0, 0.5], [1, 0, 0, 0], [0, 0, 1, -0.25], [0, 0, 0, 1]])  # exact in 32 bits
WEDGE = trimesh.Trimesh([[0, 0, 0], [0.5, 0, 0], [0, 0.25, 0], [0, 0, 1]], [[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]])


def written(folder, change=lambda header: None):
    """A wedge, turned, in a file with its buffers beside it."""
    scene = trimesh.Scene()
    scene.add_geometry(WEDGE, transform=TURN)
    files = trimesh.exchange.gltf.export_gltf(scene)
    header = json.loads(files.pop("model.gltf"))
    folder.mkdir(exist_ok=True)
    for name, data in files.items():
        (folder / name).write_bytes(data)
    change(header)
    path = folder / "wedge.gltf"
    path.write_text(json.dumps(header))
    return path


def is_the_wedge(path):
    (found,) = surfaces(path)
    corners = found.vertices[found.faces]
    wanted = (WEDGE.vertices @ TURN[:3, :3].T + TURN[:3, 3])[WEDGE.faces]
    np.testing.assert_array_equal(corners, wanted)


def test_buffers_beside_the_file(tmp_path):
    is_the_wedge(written(tmp_path))


def test_buffers_in_the_file(tmp_path):
    def inside(header):
        for buffer in header["buffers"]:
            data = (tmp_path / buffer["uri"]).read_bytes()
            buffer["uri"] = "data:application/octet-stream;base64," + base64.b64encode(data).decode()

    path = written(tmp_path, inside)
    for beside in tmp_path.glob("*.bin"):
        beside.unlink()
    is_the_wedge(path)


def test_buffers_of_another_folder_are_not_opened(tmp_path):
    def away(header):
        for buffer in header["buffers"]:
            (tmp_path / buffer["uri"]).write_bytes((tmp_path / "inner" / buffer["uri"]).read_bytes())
            buffer["uri"] = f"../{buffer['uri']}"

    with pytest.raises(ModelError, match=r"wedge\.gltf.*\.\./"):
        surfaces(written(tmp_path / "inner", away))


def test_a_missing_buffer_is_named(tmp_path):
    path = written(tmp_path)
    missing = sorted(tmp_path.glob("*.bin"))[0]
    missing.unlink()
    with pytest.raises(ModelError, match=rf"wedge\.gltf.*{missing.stem}"):
        surfaces(path)


def test_what_would_be_large_is_not_unpacked(tmp_path):
    def many(header):
        header["nodes"] += [{"mesh": 0}] * 30_000

    with pytest.raises(ModelError, match=r"wedge\.gltf.*20000 accessors, meshes and nodes at most"):
        surfaces(written(tmp_path, many))


@pytest.mark.parametrize("text", ["", "{", "[]", '{"meshes": 3}', "null"])
def test_what_is_no_gltf_is_refused_by_name(tmp_path, text):
    path = tmp_path / "wedge.gltf"
    path.write_text(text)
    with pytest.raises(ModelError, match=r"wedge\.gltf"):
        surfaces(path)
