"""URDF files, with meshes beside them."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from elbowroom import loading
from elbowroom.export import urdf as export
from elbowroom.model import catalogue
from elbowroom.model.visuals import visuals_of

from ..mutate import xml_tree
from ..mutate.text import raw, words
from ..target import Target
from .meshes import GLB, OBJ, TEXT_STL, binary_stl, dae
from .models import use

MESHES = (
    "meshes/cube.stl", "meshes/part.obj", "meshes/text.stl", "meshes/part.dae", "meshes/part.glb",
    "package://arm/meshes/cube.stl", "meshes/broken.stl", "meshes/loop.stl", "meshes/empty.obj", "meshes",
    "../../etc/passwd", "/etc/passwd", "file:///etc/passwd", "http://example.com/a.stl",
    "meshes/" + "m" * 300 + ".stl", "m/" * 3000 + "x.stl", "", "a\0.stl", "meshes/é.stl", "\ud800.stl",
)  # fmt: skip
ARM = b"""<?xml version="1.0"?>
<robot name="arm">
  <material name="grey"><color rgba="0.5 0.5 0.5 1"/></material>
  <link name="base">
    <visual><geometry><mesh filename="meshes/part.dae" scale="1 1 1"/></geometry><material name="grey"/></visual>
    <collision><geometry><box size="0.2 0.2 0.1"/></geometry></collision>
  </link>
  <link name="shoulder">
    <inertial><origin xyz="0 0 0.1" rpy="0 0 0.3"/><mass value="3.0"/>
      <inertia ixx="0.02" iyy="0.03" izz="0.025" ixy="0.001" iyz="0" ixz="-0.002"/></inertial>
    <visual><origin xyz="0 0 0.1"/><geometry><cylinder radius="0.05" length="0.3"/></geometry></visual>
    <collision><origin xyz="0 0 0.1" rpy="0.1 0 0"/><geometry><cylinder radius="0.06" length="0.3"/></geometry></collision>
  </link>
  <link name="slide">
    <inertial><mass value="1.5"/><inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" iyz="0" ixz="0"/></inertial>
    <collision><geometry><mesh filename="meshes/cube.stl" scale="0.1 0.1 0.1"/></geometry></collision>
    <collision><origin xyz="0.1 0 0"/><geometry><capsule radius="0.03" length="0.2"/></geometry></collision>
  </link>
  <link name="wrist">
    <inertial><origin xyz="0.01 0 0"/><mass value="0.5"/>
      <inertia ixx="0.001" iyy="0.002" izz="0.002" ixy="0" iyz="0" ixz="0"/></inertial>
    <collision><geometry><sphere radius="0.04"/></geometry></collision>
    <visual><geometry><mesh filename="meshes/part.obj"/></geometry></visual>
  </link>
  <link name="camera"><inertial><mass value="0.1"/><inertia ixx="1e-4" iyy="1e-4" izz="1e-4" ixy="0" iyz="0" ixz="0"/></inertial></link>
  <link name="tool0"/>
  <joint name="j1" type="revolute"><origin xyz="0 0 0.3" rpy="0 0 0"/><parent link="base"/><child link="shoulder"/><axis xyz="0 0 1"/>
    <limit lower="-2.5" upper="2.5" velocity="2" effort="100"/><dynamics damping="0.5" friction="0.1"/></joint>
  <joint name="j2" type="prismatic"><origin xyz="0.1 0 0.3" rpy="1.5708 0 0.2"/><parent link="shoulder"/><child link="slide"/>
    <axis xyz="0.6 0 0.8"/><limit lower="0" upper="0.4" velocity="0.5" effort="200"/></joint>
  <joint name="j3" type="continuous"><origin xyz="0 0.2 0"/><parent link="slide"/><child link="wrist"/><axis xyz="0 1 0"/>
    <limit velocity="3" effort="20"/></joint>
  <joint name="look" type="fixed"><origin xyz="0.05 0 0"/><parent link="slide"/><child link="camera"/></joint>
  <joint name="mount" type="fixed"><origin xyz="0 0 0.1" rpy="0 1.57 0"/><parent link="wrist"/><child link="tool0"/></joint>
</robot>
"""  # noqa: E501


def with_meshes(folder: Path) -> Path:
    """A folder with an arm's meshes, sound and broken."""
    meshes = folder / "meshes"
    meshes.mkdir(exist_ok=True)
    for name, data in {
        "cube.stl": binary_stl(12),
        "text.stl": TEXT_STL,
        "part.obj": OBJ,
        "part.dae": dae(),
        "part.glb": GLB,
        "broken.stl": binary_stl(12)[:-7],
        "empty.obj": b"",
        "é.stl": TEXT_STL,
    }.items():
        (meshes / name).write_bytes(data)
    loop = meshes / "loop.stl"
    if not loop.is_symlink():
        loop.symlink_to("loop.stl")
    return folder


class Urdf(Target):
    """URDF: er.load, then dynamics, capsules, visuals and export of what is accepted."""

    name, suffix, share = "urdf", ".urdf", 14.0

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        with_meshes(folder)
        self.seeds = [xml_tree.parse(ARM)] * 3
        for name in ("planar2", "scara", "stanford", "panda"):
            self.seeds.append(xml_tree.parse(export(catalogue.load(name)).encode()))
        self.file = folder / "arm.urdf"

    def generate(self, rng: np.random.Generator) -> bytes:
        root = self.seeds[rng.integers(len(self.seeds))]
        how = rng.random()
        if how < 0.04:
            return raw(rng, xml_tree.text_of(root))
        if how < 0.08:
            return words(rng, xml_tree.text_of(root))
        if how < 0.2:
            root = xml_tree.parse(ARM)
            for mesh in root.iter("mesh"):
                mesh.set("filename", MESHES[rng.integers(len(MESHES))])
        return xml_tree.mutated(rng, root)

    def feed(self, data: bytes) -> bool:
        self.file.write_bytes(data)
        use(loading.read(self.file))
        for visual in visuals_of(self.file):
            if visual.kind not in ("box", "sphere", "cylinder", "capsule", "mesh", "missing"):
                raise AssertionError(visual)
        return True
