"""Mesh files as triangles: each kind, smooth and sharp edges, and files that are not what they say."""

from __future__ import annotations

import json
import struct

import defusedxml.ElementTree
import numpy as np
import pytest
import trimesh

from elbowroom.errors import ModelError
from elbowroom.model import meshes
from elbowroom.model.meshes import Surface
from elbowroom.viewer.scene3d import meshes as surfaces
from elbowroom.viewer.scene3d import primitives as solids
from elbowroom.viewer.scene3d.meshes import creased, read, surfaces_of

BOX = solids.box(0.2, 0.4, 0.6)


def stl(vertices, faces):
    head = b"solid no".ljust(80) + struct.pack("<I", len(faces))
    return head + b"".join(struct.pack("<12fH", 0, 0, 1, *vertices[face].reshape(-1), 0) for face in faces)


def stl_text(vertices, faces):
    facets = [
        "facet normal 0 0 1\nouter loop\n"
        + "".join(f"vertex {x} {y} {z}\n" for x, y, z in vertices[face])
        + "endloop\nendfacet\n"
        for face in faces
    ]
    return f"solid box\n{''.join(facets)}endsolid box\n".encode()


def obj(vertices, faces):
    lines = ["mtllib ../../etc/passwd", "usemtl red", *(f"v {x} {y} {z} 1 1 1" for x, y, z in vertices)]
    return "\n".join([*lines, "vn 0 0 1", *(f"f {a + 1}//1 {b + 1}//1 {c + 1}//1" for a, b, c in faces)]).encode()


def dae(vertices, faces, *, unit=1.0, node="", polygons=False, extra=""):
    """COLLADA with a red material, the normals' numbers between those of the vertices."""
    numbers = " ".join(map(str, np.asarray(vertices, dtype=float).reshape(-1)))
    corners = " ".join(f"{k} 0" for k in np.asarray(faces).reshape(-1))
    inputs = '<input semantic="VERTEX" source="#v" offset="0"/><input semantic="NORMAL" source="#n" offset="1"/>'
    counts = f"<vcount>{' '.join(str(len(face)) for face in faces)}</vcount>" if polygons else ""
    tag = "polylist" if polygons else "triangles"
    return f"""<?xml version="1.0"?><COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
    <asset><unit meter="{unit}"/><up_axis>Y_UP</up_axis></asset>
    <library_effects><effect id="e"><profile_COMMON><technique sid="c"><phong><diffuse><color>1 0 0 0.5</color>
    </diffuse></phong></technique></profile_COMMON></effect></library_effects>
    <library_materials><material id="m"><instance_effect url="#e"/></material></library_materials>
    <library_geometries><geometry id="g"><mesh>{_source("p", numbers)}{_source("n", "0 0 1")}
    <vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
    <{tag} material="s">{inputs}{counts}<p>{corners}</p></{tag}></mesh></geometry></library_geometries>
    <library_visual_scenes><visual_scene id="w"><node>{node}<instance_geometry url="#g"><bind_material>
    <technique_common><instance_material symbol="s" target="#m"/></technique_common></bind_material>
    </instance_geometry>{extra}</node></visual_scene></library_visual_scenes>
    <scene><instance_visual_scene url="#w"/></scene></COLLADA>""".encode()


def _source(name, numbers):
    count = len(numbers.split())
    params = "".join(f'<param name="{axis}" type="float"/>' for axis in "XYZ")
    return f"""<source id="{name}"><float_array id="{name}-array" count="{count}">{numbers}</float_array>
    <technique_common><accessor source="#{name}-array" count="{count // 3}" stride="3">{params}</accessor>
    </technique_common></source>"""


def glb(vertices, faces):
    return trimesh.Trimesh(vertices, faces, process=False).export(file_type="glb")


def made(kind):
    """A writer of trimesh's."""
    return lambda vertices, faces: _bytes(trimesh.Trimesh(vertices, faces, process=False).export(file_type=kind))


def _bytes(data):
    return data.encode() if isinstance(data, str) else data


def volume(surface):
    a, b, c = (surface.vertices[surface.faces[:, k]] for k in range(3))
    return float(np.einsum("ij,ij->", a, np.cross(b, c)) / 6)


@pytest.mark.parametrize(
    ("suffix", "write"),
    [
        ("stl", stl),
        ("STL", stl_text),
        ("obj", obj),
        ("dae", dae),
        ("glb", glb),
        ("ply", made("ply")),
        ("off", made("off")),
    ],
)
def test_a_box_is_read_back(tmp_path, suffix, write):
    path = tmp_path / f"box.{suffix}"
    path.write_bytes(write(*BOX))
    (found,) = read(path)
    np.testing.assert_allclose(np.abs(found.vertices).max(axis=0), (0.1, 0.2, 0.3), rtol=1e-6)
    assert volume(found) == pytest.approx(0.048)  # so it is closed, and its faces look outwards
    assert len(found.vertices) == 24  # each edge is sharp
    assert found.colour == ((1.0, 0.0, 0.0, 0.5) if suffix == "dae" else None)


def test_polygons_and_numbers_from_the_end(tmp_path):
    corners = "\n".join(f"v {x} {y} 0" for x, y in ((0, 0), (1, 0), (1, 1), (0, 1)))
    path = tmp_path / "square.obj"
    path.write_text(f"# a square\n{corners}\nf -4 -3 -2 -1\n")
    (found,) = read(path)
    assert len(found.faces) == 2
    assert len(found.vertices) == 4


def test_collada_units_nodes_and_polygons(tmp_path):
    path = tmp_path / "part.dae"
    square = np.array([(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0)])
    steps = "<translate>10 0 0</translate><rotate>0 0 1 90</rotate><scale>2 1 1</scale>"
    path.write_bytes(dae(square, [(0, 1, 2, 3)], unit=0.01, node=steps, polygons=True))
    (found,) = read(path)
    assert len(found.faces) == 2
    # scaled along x, turned so that x is y, moved, then centimetres
    np.testing.assert_allclose(found.vertices.min(axis=0), (0.09, 0.0, 0.0), atol=1e-9)
    np.testing.assert_allclose(found.vertices.max(axis=0), (0.10, 0.02, 0.0), atol=1e-9)
    matrix = "<matrix>-1 0 0 0 0 1 0 0 0 0 1 5 0 0 0 1</matrix>"
    path.write_bytes(dae(*BOX, node=matrix))
    (found,) = read(path)
    assert volume(found) == pytest.approx(0.048)  # a mirrored box is not turned inside out
    assert found.vertices[:, 2].max() == pytest.approx(5.3)


def test_smooth_and_sharp_edges():
    ball = creased(Surface(*solids.ball(), None))
    cylinder = creased(Surface(*solids.cylinder(0.1, 0.3), None))
    poles, rings = 2, solids.ROUND // 2 - 1
    assert len(ball.vertices) == poles + rings * solids.ROUND  # one of each corner: smooth everywhere
    assert len(cylinder.vertices) == 2 + 4 * solids.ROUND  # both caps' edges are doubled
    apart = Surface(ball.vertices[ball.faces].reshape(-1, 3), np.arange(ball.faces.size).reshape(-1, 3))
    assert len(creased(apart).vertices) == len(ball.vertices)  # however the file shares them


BOMB = b"""<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "aaaaaaaaaa">]><COLLADA>&a;</COLLADA>"""
DEEP = b"<COLLADA><library_visual_scenes><visual_scene id='s'><node id='n'><instance_node url='#n'/></node>"
LOOP = DEEP + b"</visual_scene></library_visual_scenes></COLLADA>"


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("x.stl", b""),
        ("x.stl", b"solid\nvertex 1 2\n"),
        ("x.stl", stl(*BOX)[:-7]),
        ("x.stl", b"solid".ljust(80) + struct.pack("<I", 1) + struct.pack("<12fH", *[float("nan")] * 12, 0)),
        ("x.obj", b"v 0 0 0\nf 1 2 3\n"),
        ("x.obj", b"v 0 0 0\nv 1 0 0\nv 1 1 0\nvt 0 0\nf 1/1 2 3\n"),
        ("x.obj", b"v a b c\nf 1 1 1\n"),
        ("x.obj", b"v 0 0 0\nv 1 0 0\nv 1 1 0\nf 1 2 -9\n"),
        ("x.dae", b"<robot/>"),
        ("x.dae", b"<COLLADA>"),
        ("x.dae", BOMB),
        ("x.dae", LOOP),
        ("x.dae", dae(*BOX).replace(b"#p", b"#q")),
        ("x.glb", b"glTF\2\0\0\0"),
        ("x.glb", b""),
        ("x.ply", b"ply"),
        ("x.off", b"OFF\n3 1 0\n0 0 0\n"),
        ("x.xyz", b"0 0 0"),
    ],
)
def test_what_is_broken_is_refused_by_name(tmp_path, name, data):
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(ModelError, match=rf"mesh '{name}': "):
        read(path)


def test_a_glb_opens_no_other_file(tmp_path):
    """Its JSON may name buffers elsewhere; such a file is refused, whether they exist or not."""
    (tmp_path / "secret.bin").write_bytes(b"\0" * 36)
    text = b"""{"asset":{"version":"2.0"},"buffers":[{"uri":"secret.bin","byteLength":36}],
        "bufferViews":[{"buffer":0,"byteLength":36}],
        "accessors":[{"bufferView":0,"componentType":5126,"count":3,"type":"VEC3"}],
        "meshes":[{"primitives":[{"attributes":{"POSITION":0}}]}],"nodes":[{"mesh":0}],
        "scenes":[{"nodes":[0]}],"scene":0}"""
    text += b" " * (-len(text) % 4)
    data = b"glTF" + struct.pack("<II", 2, 20 + len(text)) + struct.pack("<I", len(text)) + b"JSON" + text
    path = tmp_path / "x.glb"
    path.write_bytes(data)
    with pytest.raises(ModelError, match=r"x\.glb"):
        read(path)


def test_large_files_are_refused(tmp_path, monkeypatch):
    path = tmp_path / "box.stl"
    path.write_bytes(stl(*BOX))
    monkeypatch.setattr(meshes, "MOST_TRIANGLES", 11)
    with pytest.raises(ModelError, match="more than 11 triangles"):
        read(path)
    monkeypatch.setattr(meshes, "MAX_BYTES", 100)
    with pytest.raises(ModelError, match="larger"):
        read(path)
    with pytest.raises(ModelError, match="cannot be read"):
        read(tmp_path / "none.stl")


def counted(monkeypatch, module, name):
    """The calls of a function, from now on."""
    calls, whole = [], getattr(module, name)

    def counting(*given, **named):
        calls.append(given)
        return whole(*given, **named)

    monkeypatch.setattr(module, name, counting)
    return calls


def refused(tmp_path, name, data, told):
    (tmp_path / name).write_bytes(data)
    with pytest.raises(ModelError, match=rf"mesh '{name}': .*{told}"):
        read(tmp_path / name)


AGAIN = '<instance_geometry url="#g"/>'


def test_a_small_collada_file_that_shows_much_is_refused_early(tmp_path, monkeypatch):
    """300 times a ball: no more is placed than is needed to see it."""
    ball = solids.ball()
    placed, smooth = counted(monkeypatch, meshes, "checked"), counted(monkeypatch, surfaces, "creased")
    monkeypatch.setattr(meshes, "MOST_TRIANGLES", 10 * len(ball[1]))
    refused(tmp_path, "x.dae", dae(*ball, extra=300 * AGAIN), "more than 10240 triangles")
    assert (len(placed), len(smooth)) == (11, 0)
    monkeypatch.setattr(meshes, "COLLADA_PLACED", 1_000_000)
    placed.clear()
    refused(tmp_path, "x.dae", dae(*ball, extra=300 * AGAIN), "each as often as it is placed")
    assert not placed
    (tmp_path / "x.dae").write_bytes(dae(*ball, extra=9 * AGAIN))  # as many as may be
    assert sum(len(surface.faces) for surface in read(tmp_path / "x.dae")) > 9 * len(ball[1])


def test_parts_nodes_and_elements_are_few(tmp_path, monkeypatch):
    placed = counted(monkeypatch, meshes, "checked")
    monkeypatch.setattr(meshes, "MOST_SURFACES", 5)
    refused(tmp_path, "x.dae", dae(*BOX, extra=20 * AGAIN), "more than 5 parts")
    assert len(placed) == 6
    # nodes that show the next one ten times each, and nothing at the end
    nodes = [f"<node id='n{k}'>" + 10 * f"<instance_node url='#n{k + 1}'/>" + "</node>" for k in range(9)]
    data = dae(*BOX, extra='<instance_node url="#n0"/>' + "".join(nodes))
    placed.clear()
    refused(tmp_path, "x.dae", data, "fewer nodes")
    assert not placed
    parses = counted(monkeypatch, defusedxml.ElementTree, "fromstring")
    monkeypatch.setattr(meshes, "COLLADA_TAGS", 50)
    refused(tmp_path, "x.dae", dae(*BOX, extra=20 * AGAIN), "elements at most")
    assert not parses


def test_a_part_takes_its_own_vertices_alone(tmp_path):
    """Ten thousand vertices and one triangle, placed often."""
    many = np.concatenate([BOX[0], np.zeros((10_000, 3))])
    (tmp_path / "x.dae").write_bytes(dae(many, BOX[1][:1], extra=3 * AGAIN))
    assert [len(part.vertices) for part in meshes.surfaces(tmp_path / "x.dae")] == 4 * [3]


def test_polygons_that_ask_for_more_corners_than_there_are(tmp_path):
    data = dae(*BOX, polygons=True)
    counts = b"<vcount>" + b" ".join(12 * [b"3"]) + b"</vcount>"
    assert counts in data
    for wrong in (b"3 3 3 99", b"-3 3", b"9e18 9e18 9e18"):
        refused(tmp_path, "x.dae", data.replace(counts, b"<vcount>" + wrong + b"</vcount>"), "expected")


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("x", ["1e10", "1e308", "-1e200", "inf", "nan"])
def test_corners_no_arm_reaches_are_refused_without_a_word_of_numpy(tmp_path, x):
    refused(tmp_path, "x.obj", f"v 0 0 0\nv {x} 0 0\nv 0 1 0\nf 1 2 3\n".encode(), r"1e\+09 at most")
    matrix = f"<matrix>1 0 0 {x} 0 {x} 0 0 0 0 1 0 0 0 0 1</matrix>"
    refused(tmp_path, "x.dae", dae(*BOX, node=matrix), r"1e\+09 at most")


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("wrong", [b"nan", b"1e19", b"-inf", b"1e308"])
def test_lists_of_corners_hold_whole_numbers(tmp_path, wrong):
    for data, found in ((dae(*BOX), b"<p>0 "), (dae(*BOX, polygons=True), b"<vcount>3 ")):
        assert found in data
        spoiled = data.replace(found, found[: found.index(b">") + 1] + wrong + b" ")
        refused(tmp_path, "x.dae", spoiled, "expected")


@pytest.mark.parametrize("write", [stl, stl_text, obj, made("ply"), made("off")])
def test_triangles_are_counted_before_they_are_read(tmp_path, monkeypatch, write):
    loads = counted(monkeypatch, trimesh, "load_scene")
    monkeypatch.setattr(meshes, "MOST_TRIANGLES", 5)
    data = write(*BOX)
    suffix = {b"OFF": "off", b"ply": "ply", b"mtl": "obj"}.get(data[:3], "stl")
    refused(tmp_path, f"x.{suffix}", data, "more than 5 triangles")
    assert not loads


def test_a_mesh_takes_colours_from_its_own_folder_alone(tmp_path):
    (tmp_path / "inner").mkdir()
    for place in (tmp_path, tmp_path / "inner"):
        (place / "paint.mtl").write_text("newmtl red\nKd 1 0 0\n")
    data = obj(*BOX)
    for name, colour in (("paint.mtl", (1.0, 0.0, 0.0, 1.0)), ("../paint.mtl", None)):
        (tmp_path / "inner/box.obj").write_bytes(data.replace(b"../../etc/passwd", name.encode()))
        (found,) = read(tmp_path / "inner/box.obj")
        assert found.colour == colour


def changed_glb(change):
    """The box's, with another JSON."""
    data = glb(*BOX)
    size = int.from_bytes(data[12:16], "little")
    header = json.loads(data[20 : 20 + size])
    change(header)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 4)
    rest = data[20 + size :]
    return b"glTF" + struct.pack("<III", 2, 20 + len(text) + len(rest), len(text)) + b"JSON" + text + rest


def set_mesh(header, **changes):
    header["meshes"][0]["primitives"][0].update(changes)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda h: h["nodes"].extend(1000 * [{"mesh": 0}]), "more than 120 triangles"),
        (lambda h: h["meshes"].extend(1000 * h["meshes"]), "more than 120 triangles"),
        (lambda h: h["meshes"].extend(3000 * [{"primitives": []}, *h["meshes"]]), "more than 2000 parts"),
        (lambda h: h["nodes"].extend(30_000 * [{}]), "at most"),
        (lambda h: h["nodes"][0].update(children=30_000 * [0]), "at most"),
        (lambda h: h["accessors"].append({"count": 10**12, "componentType": 5126, "type": "MAT4"}), "unpacked"),
        (lambda h: h["bufferViews"].extend(10_000 * [{"buffer": 0, "byteLength": 10**5}]), "unpacked"),
        (lambda h: h["accessors"][0].update(count=-1), "expected a count"),
        (lambda h: h["accessors"].append({"count": "1", "type": "SCALAR"}), "expected a count"),
        (lambda h: set_mesh(h, extensions={"KHR_draco_mesh_compression": {}}), "without compression"),
        (lambda h: h.update(extras="x" * 6_000_000), "JSON at most"),
    ],
)
def test_a_glb_that_would_be_large_is_not_unpacked(tmp_path, monkeypatch, change, told):
    monkeypatch.setattr(meshes, "MOST_TRIANGLES", 120)
    loads = counted(monkeypatch, trimesh, "load_scene")
    (tmp_path / "box.glb").write_bytes(changed_glb(lambda h: h["nodes"].append({"mesh": 0})))
    assert read(tmp_path / "box.glb")
    assert len(loads) == 1
    refused(tmp_path, "x.glb", changed_glb(change), told)
    assert len(loads) == 1


def test_a_visual_is_scaled_mirrored_and_placed(tmp_path):
    from elbowroom.model.visuals import Visual

    path = tmp_path / "box.stl"
    path.write_bytes(stl(BOX[0] + np.float32(0.5), BOX[1]))
    pose = ((0.0, -1.0, 0.0, 1.0), (1.0, 0.0, 0.0, 0.0), (0.0, 0.0, 1.0, 0.0), (0.0, 0.0, 0.0, 1.0))
    (found,) = surfaces_of(Visual("a", 1, "mesh", (-2.0, 1.0, 1.0), pose, str(path)))
    assert volume(found) == pytest.approx(0.096)
    # x is doubled and mirrored, then x becomes y and y becomes -x, then moved by one along x
    np.testing.assert_allclose(found.vertices.min(axis=0), (1 - 0.7, -1.2, 0.2), rtol=1e-6)
    np.testing.assert_allclose(found.vertices.max(axis=0), (1 - 0.3, -0.8, 0.8), rtol=1e-6)
