"""What an arm is good for: reach, dexterity, cover, limits, masses."""

from __future__ import annotations

import dataclasses
import math
import warnings

import numpy as np
import pytest

import elbowroom as er
from elbowroom.cell import Cell, Scene
from elbowroom.cell.layout import STANDARD
from elbowroom.cell.runner import notes_of
from elbowroom.cell.suitability import (
    Verdict,
    conditioning,
    covers,
    mass_oddities,
    reach,
    standard_cell,
    suitability,
    unlimited,
)
from elbowroom.errors import ConfigError, MissingShapeWarning
from elbowroom.export.write_urdf import urdf
from elbowroom.geometry import Body
from elbowroom.model import catalogue
from elbowroom.model.capsules import LinkCapsule
from elbowroom.model.visuals import Visual, visuals_of
from referees import thinned

EYE = tuple(tuple(row) for row in np.eye(4).tolist())


def test_the_reach_of_a_planar_arm_is_the_sum_of_its_links():
    """Two links of the catalogue's planar arm, and samples that come within 1 % of stretched."""
    arm = er.load("planar2")
    stretched = float(np.linalg.norm(arm.pose(np.zeros(2))[:3, 3] - arm.model.base[:3, 3]))
    assert 0.99 * stretched < reach(arm) <= stretched + 1e-12


def test_a_stretched_arm_is_singular_and_a_bent_one_is_not():
    arm = er.load("planar2")
    length = reach(arm)
    straight, bent = (conditioning(arm, np.array([0.3, elbow]), length) for elbow in (0.0, math.pi / 2))
    assert straight[1] < 1e-12 < 0.01 < bent[1]
    ur = er.load("ur5e")
    assert conditioning(ur, np.array([0, -1, 0, 0, 0, 0.0]), 1.0)[0] < 1e-9  # elbow and wrist stretched
    assert conditioning(ur, ur.ready, 1.0)[0] > 0.05


def test_what_sticks_out_is_measured_by_link():
    arm = er.load("planar2")
    model = dataclasses.replace(arm.model, capsules=(LinkCapsule("rod", 0, (0, 0, 0), (0.5, 0, 0), 0.05),))
    seen = (
        Visual("a", 1, "box", (1.0, 0.02, 0.02), EYE),  # from -0.5 to 0.5: 0.45 m beyond the round end at 0
        Visual("b", 2, "sphere", (0.1,), EYE),
    )
    base, bare = covers(er.Arm(model), seen)
    assert base.sticks_out == pytest.approx(math.hypot(0.5, 0.01 * math.sqrt(2)) - 0.05)
    assert base.link == arm.model.link_names[0]
    assert math.isinf(bare.sticks_out)


def test_missing_limits_are_named_by_joint():
    arm = er.load("ur5e")
    assert unlimited(arm) == {}
    velocity = arm.model.velocity.copy()
    velocity[2] = math.inf
    assert unlimited(er.Arm(dataclasses.replace(arm.model, velocity=velocity))) == {"velocity": (arm.joint_names[2],)}


def test_masses_in_odd_places_are_named():
    model = er.load("panda").model
    assert mass_oddities(er.Arm(model)) == []
    com, mass = model.com.copy(), model.mass.copy()
    com[3] += 1.0
    mass[2] *= 1000
    told = mass_oddities(er.Arm(dataclasses.replace(model, com=com, mass=mass)))
    assert len(told) == 2
    assert f"link {model.link_names[2]!r}" in told[0]
    assert "kg/m^3" in told[0]
    assert f"link {model.link_names[3]!r}: its centre of mass lies" in told[1]
    same = dataclasses.replace(model, mass=np.ones(7), inertia=np.tile(np.eye(3) * 0.01, (7, 1, 1)))
    assert "7 links have the same mass and inertia" in mass_oddities(er.Arm(same))[0]


@pytest.mark.parametrize("name", thinned(catalogue.names(), {"panda", "planar2", "scara"}))
def test_the_catalogue_can_run_the_standard_cell(name):
    verdict = standard_cell(name)
    assert verdict == Verdict(True, "can run the standard cell")
    assert suitability(er.load(name), name).cell == verdict


@pytest.mark.slow
def test_the_size_of_the_task_is_that_of_the_cell(tmp_path):
    file = tmp_path / "little.urdf"
    model = catalogue.load("ur5e")
    little = [
        dataclasses.replace(c, a=tuple(0.3 * x for x in c.a), b=tuple(0.3 * x for x in c.b), radius=0.3 * c.radius)
        for c in model.capsules
    ]
    tool = model.tool.copy()
    tool[:3, 3] *= 0.3
    file.write_text(urdf(dataclasses.replace(model, p=0.3 * model.p, tool=tool, capsules=tuple(little))))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what a URDF file cannot hold
        scene = Cell(Scene.load(STANDARD, robot=str(file), variant="alone")).scene
    size = math.dist(scene.task.pick, scene.task.place) / 0.6
    assert size < 1.0
    assert standard_cell(file).sentence == f"can run the standard cell with its task at {size:.2f} of its size"


def test_why_the_standard_cell_cannot_be_run(tmp_path):
    file = tmp_path / "bare.urdf"
    bare = dataclasses.replace(catalogue.load("ur5e"), capsules=())
    file.write_text(urdf(bare))
    assert not standard_cell(file).possible
    assert standard_cell(file).sentence.startswith("cannot run the standard cell: robot: ")
    stiff = dataclasses.replace(catalogue.load("ur5e"), lower=np.full(6, -0.01), upper=np.full(6, 0.01))
    file.write_text(urdf(stiff))
    assert "expected an arm with room for pick and place" in standard_cell(file).sentence


def test_a_slide_without_limits_cannot_be_planned_for(tmp_path):
    """The standard cell plans; `demo --no-planning` does not."""
    file, slide = tmp_path / "lift.urdf", "prismatic"
    joints = "".join(
        f'<joint name="j{k}" type="{kind}"><parent link="l{k}"/><child link="l{k + 1}"/><origin xyz="{at} 0 0.05"/>'
        f'<axis xyz="{axis}"/><limit lower="-2" upper="2" velocity="1" effort="9"/></joint>'
        for k, (kind, at, axis) in enumerate(
            [(slide, 0.1, "0 0 1"), *[("revolute", 0.3, axis) for axis in ("0 0 1", "0 1 0", "0 1 0", "0 0 1")]]
        )
    )
    links = "".join(
        f'<link name="l{k}"><inertial><mass value="2"/>'
        '<inertia ixx="0.02" iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0"/>'
        '</inertial><collision><origin xyz="0.15 0 0" rpy="0 1.57 0"/><geometry><cylinder radius="0.04" length="0.3"/>'
        "</geometry></collision></link>"
        for k in range(6)
    )
    file.write_text(f'<robot name="lift">{links}{joints}</robot>')
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert standard_cell(file).possible
        file.write_text(file.read_text().replace('<limit lower="-2" upper="2" velocity="1" effort="9"/>', "", 1))
        verdict = standard_cell(file)
    assert not verdict.possible
    assert "slide 'j0' has no limits, which planning needs" in verdict.sentence


def test_capsules_of_a_files_own_meshes_leave_nothing_out(tmp_path):
    box = "\n".join(f"v {x} {y} {z}" for x in (0, 0.1) for y in (0, 0.2) for z in (0, 0.5))
    faces = "\n".join(
        f"f {a} {b} {c}" for a, b, c in [(1, 2, 3), (4, 5, 6), (6, 7, 8), (1, 5, 8), (2, 4, 7), (3, 6, 1)]
    )
    (tmp_path / "box.obj").write_text(f"{box}\n{faces}\n")
    mesh = '<geometry><mesh filename="box.obj"/></geometry>'
    (tmp_path / "arm.urdf").write_text(
        f"""<robot name="toy"><link name="base"/><link name="arm"><inertial><mass value="1"/>
        <inertia ixx="1" iyy="1" izz="1"/></inertial><collision>{mesh}</collision><visual>{mesh}</visual></link>
        <joint name="turn" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="1 0 1"/>
        <limit lower="-1" upper="1" velocity="1" effort="1"/></joint></robot>"""
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        arm = er.load(tmp_path / "arm.urdf")
    (cover,) = suitability(arm, tmp_path / "arm.urdf").covers
    assert cover.link == "arm"
    assert cover.sticks_out <= 1e-9  # rounding of the placement


# ---- links without a shape

FAR_MESH = "package://nowhere/meshes/part.stl"
TINY = '<collision><geometry><box size="0.01 0.01 0.01"/></geometry></collision>'


def half_an_arm(folder, middle):
    """Three joints 0.3 m apart; the first and the last link have a shape, the middle one what is given."""
    inertial = '<inertial><mass value="0.5"/><inertia ixx="0.01" iyy="0.01" izz="0.01"/></inertial>'
    links = "".join(f'<link name="l{k}">{inertial}{shape}</link>' for k, shape in enumerate((TINY, TINY, middle, TINY)))
    joints = "".join(
        f'<joint name="j{k}" type="revolute"><parent link="l{k}"/><child link="l{k + 1}"/><origin xyz="0 0 0.3"/>'
        f'<axis xyz="{"0 0 1" if k == 0 else "0 1 0"}"/><limit lower="-2" upper="2" velocity="1" effort="9"/></joint>'
        for k in range(3)
    )
    path = folder / "half.urdf"
    path.write_text(f'<robot name="half">{links}{joints}</robot>')
    return path


@pytest.mark.filterwarnings("ignore::elbowroom.errors.ModelWarning")
def test_a_link_that_spans_something_must_have_a_shape(tmp_path):
    lost = f'<collision><geometry><mesh filename="{FAR_MESH}"/></geometry></collision>'
    path = half_an_arm(tmp_path, lost)
    scene = Scene(robot=str(path))
    with pytest.raises(ConfigError) as refused:
        Cell(scene)
    told = str(refused.value)
    assert told.startswith("robot: half: 1 of 3 moving links have no shape, so distances would ignore them: 'l2'; ")
    assert told.count("no package 'nowhere'") == 1
    assert "ROS_PACKAGE_PATH=/folder/that/holds/nowhere elbowroom ..." in told
    cell = Cell(dataclasses.replace(scene, allow_bare=True))
    assert cell.bare == ("l2",)
    assert notes_of(cell)["without shape"] == "1 link has no shape, and distances ignore it: l2"
    found = suitability(er.load(path), path)
    assert (found.bare, found.cell.possible) == (("l2",), False)
    assert Cell(Scene(robot=str(half_an_arm(tmp_path, TINY)))).bare == ()


def test_the_capsule_of_a_tool_is_no_shape_of_a_heavy_last_link():
    """`Body` draws one to a tip that sticks out: enough for a flange, not for 1.5 kg of which nothing is known."""
    tool = np.eye(4)
    tool[2, 3] = 0.4
    arm = er.load("planar2").with_tool(tool)
    shapes = [capsule for capsule in arm.model.capsules if capsule.link == 0]
    assert shapes
    for mass, bare in ((1.5, (arm.model.link_names[1],)), (0.5, ())):
        light = dataclasses.replace(arm.model, capsules=tuple(shapes), mass=np.array([1.0, mass]), covers=())
        body = Body(er.Arm(light))
        assert body.names[-1] == "tool"
        assert body.bare == bare


@pytest.mark.parametrize("name", catalogue.names())
def test_no_arm_of_the_catalogue_is_bare(name):
    assert Body(er.load(name)).bare == ()


def test_a_warning_points_at_the_caller(tmp_path):
    with pytest.warns(MissingShapeWarning, match="nowhere") as caught:
        er.load(half_an_arm(tmp_path, f'<collision><geometry><mesh filename="{FAR_MESH}"/></geometry></collision>'))
    assert {each.filename for each in caught} == {__file__}


def test_a_sleeve_that_a_neighbour_holds_does_not_stick_out(tmp_path):
    """What is seen of the second link lies in a capsule of the first, about the axis that it turns on; or beside it."""
    sleeve = '<collision><origin xyz="0 0 0.15"/><geometry><capsule radius="0.1" length="0.3"/></geometry></collision>'
    for x, covered in ((0.0, True), (0.15, False)):
        seen = f'<visual><origin xyz="{x} 0 -0.15"/><geometry><sphere radius="0.05"/></geometry></visual>'
        path = half_an_arm(tmp_path, TINY)
        text = path.read_text().replace('<link name="l1">', f'<link name="l1">{seen}')
        path.write_text(text.replace('<link name="l0">', f'<link name="l0">{sleeve}'))
        found = {cover.link: cover.sticks_out for cover in covers(er.load(path), visuals_of(path))}
        assert (found["l1"] <= 0.0) == covered, found


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"velocity": [0.0, 3.0]}, r"expected velocity limits above 0; got 0 for \w+: mend the file"),
        ({"capsules": (LinkCapsule("rod", 0, (0, 0, 0), (500, 0, 0), 50.0),)}, "are its meshes in millimetres"),
    ],
)
def test_what_check_says_can_run_does_run(changes, said, tmp_path):
    """An arm that cannot move, and one whose shapes are a thousand times too large, are refused by both."""
    model = dataclasses.replace(catalogue.load("planar2"), **changes)
    file = tmp_path / "odd.urdf"
    file.write_text(urdf(model))
    scene = dataclasses.replace(Scene.load(STANDARD, robot="planar2"), robot=str(file), start=(), allow_bare=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(ConfigError, match=said):
            Cell(scene)
        found = standard_cell(file)
    assert not found.possible
