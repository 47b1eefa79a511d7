"""Mesh files: STL, OBJ, COLLADA and GLB, read for capsules and for drawing."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from xml.etree.ElementTree import Element, fromstring

import numpy as np

from elbowroom.errors import ElbowroomError, ModelError
from elbowroom.model.collision import shape_of

from ..mutate import xml_tree
from ..mutate.numbers import extreme
from ..mutate.text import changed, lines, raw, words
from ..target import Broken, Target

OBJ = b"""# a wedge
mtllib nowhere.mtl
v 0 0 0
v 1 0 0
v 1 1 0
v 0 1 0
v 0.5 0.5 1
vn 0 0 1
f 1//1 2//1 3//1 4//1
f 1 2 5
f 2 3 5
f -3 -2 -1
f 4 1 5
"""
TEXT_STL = b"""solid wedge
facet normal 0 0 1
outer loop
vertex 0 0 0
vertex 1 0 0
vertex 0 1 0
endloop
endfacet
facet normal 0 1 0
outer loop
vertex 0 0 0
vertex 1 0 0
vertex 0 0 1.5e0
endloop
endfacet
endsolid wedge
"""


def binary_stl(count: int) -> bytes:
    """So many triangles."""
    rng = np.random.default_rng(count)
    rows = [struct.pack("<12fH", 0, 0, 1, *rng.uniform(-1, 1, 9), 0) for _ in range(count)]
    return b"a part".ljust(80) + struct.pack("<I", count) + b"".join(rows)


def dae() -> bytes:
    """A COLLADA file with two nodes, a material and a unit."""
    return b"""<?xml version="1.0"?>
<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
 <asset><unit name="meter" meter="0.01"/><up_axis>Z_UP</up_axis></asset>
 <library_effects><effect id="red"><profile_COMMON><technique sid="c"><lambert><diffuse>
  <color>0.8 0.1 0.1 1</color></diffuse></lambert></technique></profile_COMMON></effect></library_effects>
 <library_materials><material id="paint"><instance_effect url="#red"/></material></library_materials>
 <library_geometries><geometry id="g"><mesh>
  <source id="p"><float_array id="pa" count="12">0 0 0 1 0 0 0 1 0 0 0 1</float_array>
   <technique_common><accessor source="#pa" count="4" stride="3"><param name="X" type="float"/>
   <param name="Y" type="float"/>   <param name="Z" type="float"/></accessor></technique_common></source>
  <vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
  <triangles material="m" count="2"><input semantic="VERTEX" source="#v" offset="0"/><p>0 1 2 0 2 3</p></triangles>
  <polylist material="m" count="1"><input semantic="VERTEX" source="#v" offset="0"/>
   <vcount>4</vcount><p>0 1 2 3</p></polylist>
 </mesh></geometry></library_geometries>
 <library_visual_scenes><visual_scene id="s">
  <node id="a"><translate>1 2 3</translate><rotate>0 0 1 30</rotate><scale>1 1 -1</scale>
   <instance_geometry url="#g"><bind_material><technique_common><instance_material symbol="m" target="#paint"/>
   </technique_common></bind_material></instance_geometry></node>
  <node id="b"><matrix>1 0 0 0 0 1 0 0 0 0 1 0.5 0 0 0 1</matrix><instance_node url="#a"/></node>
 </visual_scene></library_visual_scenes>
 <scene><instance_visual_scene url="#s"/></scene>
</COLLADA>
"""


def glb(header: dict[str, object] | None = None) -> bytes:
    """A GLB file of one triangle."""
    points, corners = struct.pack("<9f", 0, 0, 0, 1, 0, 0, 0, 1, 0), struct.pack("<3H", 0, 1, 2) + b"\0\0"
    said = header or {
        "asset": {"version": "2.0"},
        "scene": 0,
        "scenes": [{"nodes": [0]}],
        "nodes": [{"mesh": 0, "translation": [0.5, 0, 0]}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}, "indices": 1}]}],
        "accessors": [
            {"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3", "min": [0, 0, 0], "max": [1, 1, 0]},
            {"bufferView": 1, "componentType": 5123, "count": 3, "type": "SCALAR"},
        ],
        "bufferViews": [
            {"buffer": 0, "byteOffset": 0, "byteLength": 36},
            {"buffer": 0, "byteOffset": 36, "byteLength": 6},
        ],
        "buffers": [{"byteLength": 44}],
    }
    return glb_of(json.dumps(said).encode(), points + corners)


def glb_of(text: bytes, data: bytes) -> bytes:
    """The two chunks of a GLB."""
    text += b" " * (-len(text) % 4)
    chunks = struct.pack("<II", len(text), 0x4E4F534A) + text + struct.pack("<II", len(data), 0x004E4942) + data
    return struct.pack("<4sII", b"glTF", 2, 12 + len(chunks)) + chunks


GLB = glb()
SUFFIXES = (b".stl", b".obj", b".dae", b".glb")


class Meshes(Target):
    """Mesh files: vertices and a capsule about them; triangles to draw.  The first line of an input is its suffix."""

    name, suffix, share = "mesh", ".mesh", 10.0

    def __init__(self, folder: Path) -> None:
        from elbowroom.viewer.scene3d import meshes as surfaces

        super().__init__(folder)
        self.read = surfaces.read
        self.dae = xml_tree.parse(dae())

    def generate(self, rng: np.random.Generator) -> bytes:
        kind = SUFFIXES[rng.integers(4)]
        if kind == b".dae":
            data = xml_tree.mutated(rng, self.dae)
        elif kind == b".obj":
            data = changed(rng, OBJ, [(3, words), (3, lines), (1, raw)])
        elif kind == b".stl" and rng.random() < 0.5:
            data = changed(rng, TEXT_STL, [(3, words), (3, lines), (1, raw)])
        elif kind == b".stl":
            data = self._binary(rng)
        else:
            text = changed(rng, GLB[20 : 20 + struct.unpack_from("<I", GLB, 12)[0]], [(4, words), (1, raw)])
            data = glb_of(text, GLB[-44:])
            data = raw(rng, data) if rng.random() < 0.2 else data
        if rng.random() < 0.03:
            kind = SUFFIXES[rng.integers(4)]
        return kind + b"\n" + data

    def _binary(self, rng: np.random.Generator) -> bytes:
        data = bytearray(binary_stl(int(rng.choice([0, 1, 4, 12, 300]))))
        for _ in range(int(rng.integers(0, 4))):
            if len(data) > 134:
                at = 84 + 50 * int(rng.integers((len(data) - 84) // 50)) + 12 + 4 * int(rng.integers(9))
                with np.errstate(over="ignore"):
                    data[at : at + 4] = np.float32(extreme(rng)).tobytes()
        if rng.random() < 0.2:
            data[80:84] = struct.pack("<I", int(rng.choice([0, 1, 2**31, 2**32 - 1, 13])))
        return raw(rng, bytes(data)) if rng.random() < 0.2 else bytes(data)

    def feed(self, data: bytes) -> bool:
        kind, _, content = data.partition(b"\n")
        file = self.folder / f"part{kind.decode()}"
        file.write_bytes(content)
        taken = 0
        refusal: ElbowroomError | None = None
        shape = shape_of(self.link(file.name), "part", 0, np.eye(4), self.folder / "arm.urdf")
        for problem in shape.problems:  # what is wrong with it: the arm moves all the same
            refusal = ModelError(problem)
        for found in shape.capsules:
            if not np.isfinite([*found.a, *found.b, found.radius]).all():
                raise Broken("the capsule about an accepted mesh is not finite")
            taken += 1
        try:
            shown = self.read(file)
            taken += 1
        except ElbowroomError as error:
            refusal = error
        else:
            for surface in shown:
                if not np.isfinite(surface.vertices).all():
                    raise Broken("a surface to draw is not finite")
                if len(surface.faces) and not 0 <= surface.faces.min() <= surface.faces.max() < len(surface.vertices):
                    raise Broken("a triangle has a corner that is not there")
        if not taken and refusal is not None:
            raise refusal
        return True

    @staticmethod
    def link(file: str) -> Element:
        """A link of a URDF with the mesh."""
        return fromstring(f'<link><collision><geometry><mesh filename="{file}"/></geometry></collision></link>')
