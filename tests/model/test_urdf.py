"""URDF: the chain, what is merged into it, and what is refused, by name."""

from __future__ import annotations

import math
import re
import warnings
from pathlib import Path

import numpy as np
import pytest

import elbowroom as er
from elbowroom import export
from elbowroom.errors import ModelError, ModelNotice, ModelWarning
from elbowroom.model import findings, urdf
from elbowroom.model.rotations import pose, rpy, rz
from referees import error

EXACT = 1e-14  # a few roundings of numbers of size one
LIMIT = '<limit lower="-1" upper="2" velocity="3" effort="40"/>'


def link(name: str, mass: float | None = 1.0, com: str = "0 0 0", rest: str = "", moment: float = 0.1) -> str:
    if mass is None:
        return f'<link name="{name}"/>'
    return f"""<link name="{name}"><inertial><origin xyz="{com}" {rest}/><mass value="{mass}"/>
        <inertia ixx="{moment}" iyy="{2 * moment}" izz="{2.5 * moment}" ixy="0.01" iyz="0" ixz="0"/>
        </inertial></link>"""


def joint(
    name: str,
    parent: str,
    child: str,
    kind: str = "revolute",
    origin: str = "",
    axis: str | None = "0 0 1",
    rest: str = LIMIT,
) -> str:
    turn = "" if axis is None else f'<axis xyz="{axis}"/>'
    return f"""<joint name="{name}" type="{kind}"><origin {origin}/>
        <parent link="{parent}"/><child link="{child}"/>{turn}{rest}</joint>"""


def robot(*parts: str, name: str = 'name="toy"') -> str:
    return f"<robot {name}>{''.join(parts)}</robot>"


def fixed(name: str, parent: str, child: str, origin: str = "") -> str:
    return joint(name, parent, child, "fixed", origin, axis="0 0 0", rest="")


ONE_JOINT = (link("base"), link("arm"), joint("turn", "base", "arm"))


def frames(model, q):
    """The pose of every link frame and of the tool, as model.py states them."""
    T = model.base
    poses = []
    for i in range(model.n):
        T = T @ pose(model.E[i], model.p[i])
        T = T @ (pose(rz(q[i]), (0, 0, 0)) if model.revolute(i) else pose(np.eye(3), (0, 0, q[i])))
        poses.append(T)
    return poses, T @ model.tool


def world_bodies(model, poses):
    """Centre of mass and inertia of every link in the world."""
    for i, T in enumerate(poses):
        R = T[:3, :3]
        yield model.mass[i], R @ model.com[i] + T[:3, 3], R @ model.inertia[i] @ R.T


def rodrigues(axis, angle):
    k = np.asarray(axis, float) / np.linalg.norm(axis)
    K = np.array([[0, -k[2], k[1]], [k[2], 0, -k[0]], [-k[1], k[0], 0]])
    return np.eye(3) + math.sin(angle) * K + (1 - math.cos(angle)) * K @ K


# --- Closed form: the chain ---


def test_one_joint_field_by_field():
    model = urdf.parse(
        robot(
            link("base"),
            link("arm", 2.0, "0.1 0.2 0.3"),
            joint(
                "turn",
                "base",
                "arm",
                origin='xyz="0.5 0 1" rpy="1.57079632679 0 0"',
                rest=LIMIT + '<dynamics damping="0.7" friction="0.2"/>',
            ),
        )
    )
    assert (model.name, model.kinds, model.joint_names, model.link_names) == ("toy", "R", ("turn",), ("arm",))
    assert np.array_equal(model.E[0], [[1, 0, 0], [0, 0, -1], [0, 1, 0]])  # exact, though the file prints pi/2
    assert np.array_equal(model.p[0], [0.5, 0, 1])
    assert model.mass[0] == 2
    assert np.array_equal(model.com[0], [0.1, 0.2, 0.3])
    assert np.array_equal(model.inertia[0], [[0.1, 0.01, 0], [0.01, 0.2, 0], [0, 0, 0.25]])
    assert (model.lower[0], model.upper[0], model.velocity[0], model.effort[0]) == (-1, 2, 3, 40)
    assert (model.viscous[0], model.coulomb[0], model.rotor_inertia[0]) == (0.7, 0.2, 0)
    assert np.array_equal(model.base, np.eye(4))
    assert np.array_equal(model.tool, np.eye(4))
    assert model.ready[0] == 0


def test_inertial_rpy_turns_the_tensor():
    arm = link("arm", 2.0, "0.1 0.2 0.3", 'rpy="0 0 1.5707963267948966"')
    model = urdf.parse(robot(link("base"), arm, joint("turn", "base", "arm")))
    assert np.array_equal(model.com[0], [0.1, 0.2, 0.3])
    assert np.array_equal(model.inertia[0], [[0.2, -0.01, 0], [-0.01, 0.1, 0], [0, 0, 0.25]])


AXES = ("0 0 1", "0 0 -3", "1 0 0", "0 -1 0", "0.3 -0.4 0.5", "0 2 2", None)


@pytest.mark.parametrize("kind", ["revolute", "prismatic"])
@pytest.mark.parametrize("axis", AXES)
def test_any_axis_moves_the_links_as_the_urdf_says(axis, kind):
    """A walk over the URDF's own frames, with Rodrigues' formula, against our turned frames."""
    origins = ((0.1, -0.2, 0.3), (0.2, 0.1, -0.4)), ((0.5, 0.4, 0.1), (1.0, -0.5, 2.0))
    text = [link("l0")]
    for i, (xyz, angles) in enumerate(origins):
        where = f'xyz="{xyz[0]} {xyz[1]} {xyz[2]}" rpy="{angles[0]} {angles[1]} {angles[2]}"'
        text.append(link(f"l{i + 1}", 1.0 + i, "0.1 -0.3 0.2", 'rpy="0.3 0.2 0.1"'))
        text.append(joint(f"j{i}", f"l{i}", f"l{i + 1}", kind, where, axis))
    model = urdf.parse(robot(*text))
    q = np.array([0.7, -1.1])
    poses, tool = frames(model, q)
    direction = np.array([1.0, 0, 0] if axis is None else [float(x) for x in axis.split()])  # URDF's default is x
    direction /= np.linalg.norm(direction)
    tensor = rpy(0.3, 0.2, 0.1) @ np.array([[0.1, 0.01, 0], [0.01, 0.2, 0], [0, 0, 0.25]]) @ rpy(0.3, 0.2, 0.1).T
    T = np.eye(4)
    for i, (mass, com, inertia) in enumerate(world_bodies(model, poses)):
        xyz, angles = origins[i]
        motion = (rodrigues(direction, q[i]), (0, 0, 0)) if kind == "revolute" else (np.eye(3), q[i] * direction)
        T = T @ pose(rpy(*angles), xyz) @ pose(*motion)
        assert mass == 1.0 + i
        np.testing.assert_allclose(com, T[:3, :3] @ [0.1, -0.3, 0.2] + T[:3, 3], atol=EXACT)
        np.testing.assert_allclose(inertia, T[:3, :3] @ tensor @ T[:3, :3].T, atol=EXACT)
        assert np.array_equal(model.inertia[i], model.inertia[i].T)  # to the last bit: equal entries get one name
        np.testing.assert_allclose(poses[i][:3, 2], T[:3, :3] @ direction, atol=EXACT)
    np.testing.assert_allclose(tool, T, atol=EXACT)  # the tool is the tip link's own frame


def test_axis_along_a_coordinate_gives_exact_entries():
    turned = joint("turn", "base", "arm", origin='rpy="1.5707963267948966 0 3.141592653589793"', axis="0 -0.5 1e-17")
    model = urdf.parse(robot(link("base"), link("arm"), turned))
    assert np.isin(model.E, [-1, 0, 1]).all()
    assert np.isin(model.tool, [-1, 0, 1]).all()


@pytest.mark.parametrize("angle", [0.3, 0.7, 1.1, 2.2])
def test_rounding_noise_becomes_zero(angle):
    """All that the file says along and about the slanted axis is along and about our z, to the last bit."""
    axis = np.array([math.sin(angle), 0, math.cos(angle)])
    along = "{} {} {}".format(*(0.37 * axis))
    inertial = f'<inertial><origin xyz="{along}" rpy="0 {angle} 0"/><mass value="1"/>'
    body = inertial + '<inertia ixx="0.1" iyy="0.2" izz="0.21"/></inertial>'
    turned = {"kind": "revolute", "axis": "{} {} {}".format(*(3 * axis))}
    model = urdf.parse(
        robot(
            link("base"),
            f'<link name="arm">{body}</link><link name="fore">{body}</link>',
            link("end", None),
            joint("shoulder", "base", "arm", **turned),
            joint("elbow", "arm", "fore", origin=f'xyz="{along}"', **turned),
            fixed("f", "fore", "end", f'xyz="{along}" rpy="0 {angle} 0"'),
        )
    )
    assert np.array_equal(model.E[1], np.eye(3))
    assert np.array_equal(model.p[1, :2], [0, 0])
    assert np.array_equal(model.com[:, :2], np.zeros((2, 2)))
    assert np.array_equal(model.inertia[0], np.diag(np.diag(model.inertia[0])))
    assert np.array_equal(model.tool[:3, :3], np.eye(3))
    assert np.array_equal(model.tool[:2, 3], [0, 0])


def test_what_is_more_than_rounding_stays():
    assert np.array_equal(urdf._without_noise(np.array([3.0, 2e-15, -4e-15])), [3, 0, -4e-15])
    assert np.array_equal(urdf._snapped(np.array([1 - 2e-16, -5e-16, 1e-14])), [1, 0, 1e-14])


def test_continuous_has_no_position_limits():
    model = urdf.parse(robot(link("base"), link("arm"), joint("turn", "base", "arm", "continuous")))
    assert (model.kinds, model.lower[0], model.upper[0], model.velocity[0]) == ("R", -math.inf, math.inf, 3)


def test_continuous_without_limit_element_does_not_warn():
    model = urdf.parse(robot(link("base"), link("arm"), joint("turn", "base", "arm", "continuous", rest="")))
    assert (model.upper[0], model.velocity[0]) == (math.inf, math.inf)


# --- Merging ---


def test_fixed_joints_merge_mass_and_end_in_the_tool():
    model = urdf.parse(
        robot(
            link("base"),
            link("plate", 100.0),  # fixed to the root: it does not move, so it is not there
            link("arm", 1.0),
            link("hand", 3.0),
            fixed("f0", "base", "plate"),
            joint("turn", "base", "arm", origin='xyz="0 0 1"', axis="1 0 0"),
            fixed("f1", "arm", "hand", 'xyz="0 0 0.4"'),
        )
    )
    poses, tool = frames(model, [0.0])
    ((mass, com, inertia),) = world_bodies(model, poses)
    assert mass == 4
    np.testing.assert_allclose(com, [0, 0, 1.3], atol=EXACT)  # 3/4 of the way
    steiner = 0.75 * 0.4**2  # reduced mass 1 * 3 / 4, distance 0.4
    np.testing.assert_allclose(inertia, [[0.2 + steiner, 0.02, 0], [0.02, 0.4 + steiner, 0], [0, 0, 0.5]], atol=EXACT)
    np.testing.assert_allclose(tool, pose(np.eye(3), (0, 0, 1.4)), atol=EXACT)


def test_fixed_joints_before_the_first_joint_go_into_its_placement():
    model = urdf.parse(
        robot(
            *(link(name, None) for name in ("world", "base")),
            link("arm"),
            fixed("f", "world", "base", 'xyz="1 2 3" rpy="0 0 1.5707963267948966"'),
            joint("turn", "base", "arm", origin='xyz="1 0 0"'),
        )
    )
    assert np.array_equal(model.p[0], [1, 3, 3])
    assert np.array_equal(model.base, np.eye(4))


GRIPPER = (
    link("base"),
    link("arm", 1.0),
    link("hand", None),
    link("left", 0.5),
    link("right", 0.5),
    joint("turn", "base", "arm"),
    fixed("f", "arm", "hand", 'xyz="0 0 1"'),
    joint("slide_left", "hand", "left", "prismatic", 'xyz="0 0.1 0"', "0 1 0"),
    joint(
        "slide_right",
        "hand",
        "right",
        "prismatic",
        'xyz="0 -0.1 0"',
        "0 1 0",
        LIMIT + '<mimic joint="slide_left"/>',
    ),
)


def test_what_hangs_off_the_chain_is_locked_merged_and_named_once():
    with pytest.warns(ModelWarning) as caught:
        model = urdf.parse(robot(*GRIPPER), tip="hand")
    (warning,) = caught
    assert str(warning.message) == "toy: joints off the chain to 'hand' are locked at zero: 'slide_left', 'slide_right'"
    assert warning.filename == __file__
    assert model.joint_names == ("turn",)
    assert model.mass[0] == 2
    np.testing.assert_allclose(model.com[0], [0, 0, 0.5], atol=EXACT)
    assert np.array_equal(model.tool, pose(np.eye(3), (0, 0, 1)))


def test_joints_beyond_a_tip_in_the_middle_are_locked_too():
    parts = (*ONE_JOINT, link("fore", 2.0), joint("elbow", "arm", "fore", origin='xyz="3 0 0"'))
    with pytest.warns(ModelWarning, match="'elbow'"):
        model = urdf.parse(robot(*parts), tip="arm")
    assert model.mass[0] == 3
    np.testing.assert_allclose(model.com[0], [2, 0, 0], atol=EXACT)


def test_joints_on_the_root_change_nothing_and_are_noted():
    parts = (*ONE_JOINT, link("head"), joint("nod", "base", "head"))
    with pytest.warns(ModelNotice, match="^toy: joints off the chain to 'arm' are locked at zero: 'nod'$"):
        assert urdf.parse(robot(*parts), tip="arm").mass[0] == 1


def test_of_a_long_branch_the_first_joint_is_named_and_the_others_counted():
    other = [link(f"o{k}") for k in range(5)]
    other += [joint(f"turn{k}", "base" if k == 0 else f"o{k - 1}", f"o{k}") for k in range(5)]
    parts = (*ONE_JOINT, link("head"), joint("nod", "base", "head"), *other)
    with pytest.warns(ModelNotice, match="locked at zero: 'nod', 5 joints from 'turn0' on$"):
        urdf.parse(robot(*parts), tip="arm")


def test_mimic_joint_on_the_chain_is_refused_off_it_locked():
    with pytest.raises(
        ModelError, match="joint 'slide_right': a mimic joint cannot be on the chain to 'right'"
    ) as refused:
        urdf.parse(robot(*GRIPPER), tip="right")
    assert re.search(r"it follows joint '\w+', .* an arm that ends before it has tip= '\w+'", str(refused.value))
    with pytest.warns(ModelWarning, match="'slide_right'"):
        assert urdf.parse(robot(*GRIPPER), tip="left").kinds == "RP"


@pytest.mark.parametrize("kind", ["planar", "floating"])
def test_planar_and_floating_joints_are_refused_on_the_chain_only(kind):
    parts = (*ONE_JOINT, link("free"), joint("loose", "arm", "free", kind))
    with pytest.raises(ModelError, match=f"joint 'loose': a {kind} joint cannot be on the chain"):
        urdf.parse(robot(*parts), tip="free")
    with pytest.warns(ModelWarning, match="'loose'"):
        assert urdf.parse(robot(*parts), tip="arm").n == 1


@pytest.mark.parametrize("kind", ["planar", "floating"])
def test_a_base_that_floats_is_held_and_one_between_joints_is_refused(kind):
    """The world of many mobile robots: a joint of six freedoms, and the robot beyond it."""
    floats = (link("world", None), joint("loose", "world", "base", kind))
    with pytest.warns(ModelNotice, match="'loose'"):
        model = urdf.parse(robot(*ONE_JOINT, *floats), tip="arm")
    assert model.n == 1
    beyond = (
        *ONE_JOINT,
        link("free"),
        joint("loose", "arm", "free", kind),
        link("hand"),
        joint("grasp", "free", "hand"),
    )
    with pytest.raises(ModelError, match=f"joint 'loose': a {kind} joint cannot be on the chain"):
        urdf.parse(robot(*beyond), tip="hand")


# --- The tip ---


def test_tip_is_the_deepest_fixed_leaf_of_the_only_end():
    parts = (*ONE_JOINT, *(link(x, None) for x in ("flange", "tool0", "plate", "camera", "lens", "eye")))
    frames_ = (
        fixed("f1", "arm", "flange", 'xyz="0 0 1"'),
        fixed("f2", "flange", "tool0", 'xyz="0 0 2"'),
        fixed("f3", "arm", "plate"),
        fixed("f4", "base", "camera"),
        fixed("f5", "camera", "lens"),
        fixed("f6", "lens", "eye"),  # deeper, but it does not move
    )
    assert urdf.parse(robot(*parts, *frames_)).tool[2, 3] == 3


def test_a_fixed_branch_inside_the_chain_does_not_make_it_ambiguous():
    parts = (*ONE_JOINT, link("fore"), link("camera"), link("lens"), joint("elbow", "arm", "fore"))
    model = urdf.parse(robot(*parts, fixed("f", "arm", "camera"), fixed("g", "camera", "lens")))
    assert model.link_names == ("arm", "fore")
    assert list(model.mass) == [3, 1]


def test_of_equally_deep_leaves_the_one_with_the_best_name_is_taken_and_told():
    parts = (*ONE_JOINT, *(link(x, None) for x in ("ee_link", "tool0", "a", "b")))
    text = robot(*parts, fixed("f1", "arm", "ee_link", 'xyz="0 0 1"'), fixed("f2", "arm", "tool0", 'xyz="0 0 2"'))
    text = text.replace("</robot>", fixed("f3", "base", "a") + fixed("f4", "a", "b") + "</robot>")
    with pytest.warns(ModelNotice) as caught:
        assert urdf.parse(text).tool[2, 3] == 2
    (notice,) = caught
    told = "toy: taken as the arm: 1 joint to 'tool0'; tip= names another end"
    assert str(notice.message) == told
    assert notice.filename == __file__
    assert urdf.parse(text, tip="ee_link").tool[2, 3] == 1


def test_fingers_are_left_out_and_their_hand_is_the_tip():
    with pytest.warns() as caught:  # a plate that does not move is no tip
        model = urdf.parse(robot(*GRIPPER, link("plate"), fixed("g", "base", "plate")))
    assert {warning.category for warning in caught} == {ModelNotice, ModelWarning}
    assert (model.n, model.tool[2, 3]) == (1, 1)


def test_two_arms_are_listed_with_their_joints_and_a_command():
    arms = [
        part
        for side in ("left", "right")
        for part in (
            link(f"{side}_upper"),
            link(f"{side}_fore"),
            joint(f"{side}_1", "base", f"{side}_upper"),
            joint(f"{side}_2", f"{side}_upper", f"{side}_fore", origin='xyz="1 0 0"'),
        )
    ]
    text = robot(link("base"), *arms, link("head"), joint("nod", "base", "head"))
    told = (
        "several tips, 2 of them at the end of 2 joints: 'left_fore' (2 joints), 'right_fore' (2 joints), "
        "'head' (1 joint); name one, or any other link, as tip=... in Python or in a command: "
        "elbowroom check arm.urdf --tip left_fore"
    )
    with pytest.raises(ModelError, match=f"^{re.escape(told)}$"):
        urdf.parse(text)
    with pytest.warns(ModelNotice, match="'left_1', 'nod', 'left_2'$"):
        assert urdf.parse(text, tip="right_fore").joint_names == ("right_1", "right_2")


def test_unknown_tip_lists_near_names():
    with pytest.raises(ModelError, match=r"no link 'tol0' .* choose from 'tool0'$"):
        urdf.parse(robot(*ONE_JOINT, link("tool0"), fixed("f", "arm", "tool0")), tip="tol0")
    with pytest.raises(ModelError, match=r"choose from 'base', 'arm'$"):
        urdf.parse(robot(*ONE_JOINT), tip="zzz")


def test_a_chain_without_a_moving_joint_is_refused():
    parts = (*ONE_JOINT, link("plate"), fixed("f", "base", "plate"))
    with pytest.raises(ModelError, match="no joint moves between the root 'base' and the tip 'plate'"):
        urdf.parse(robot(*parts), tip="plate")
    with pytest.raises(ModelError, match="no joint moves: every joint is fixed"):
        urdf.parse(robot(link("base"), link("plate"), fixed("f", "base", "plate")))


# --- Limits, and what the loader leaves to the model and to findings ---


def test_missing_limits_warn_by_joint_name():
    parts = (link("base"), link("arm"), link("fore"), joint("turn", "base", "arm", rest=""))
    elbow = joint("elbow", "arm", "fore", rest='<limit lower="-1" upper="1" effort="5"/>')
    message = "toy: taken as unlimited: joint 'turn' has no <limit>; joint 'elbow' has no velocity limit"
    with pytest.warns(ModelWarning, match=re.escape(message)):
        model = urdf.parse(robot(*parts, elbow))
    assert (model.lower[0], model.upper[0], model.effort[0]) == (-math.inf, math.inf, math.inf)
    assert (model.lower[1], model.velocity[1], model.effort[1]) == (-1, math.inf, 5)


def test_limit_without_positions_means_zero_and_is_found():
    model = urdf.parse(
        robot(link("base"), link("arm"), joint("turn", "base", "arm", rest='<limit velocity="1" effort="1"/>'))
    )
    assert [str(f) for f in findings(model)] == ["joint 'turn': position limits leave no room: both are 0"]


def test_reversed_limits_are_refused_by_joint_name():
    reversed_ = joint("turn", "base", "arm", rest=LIMIT.replace('"2"', '"-3"'))
    with pytest.raises(ModelError, match="joint 'turn': lower limit must not exceed"):
        urdf.parse(robot(link("base"), link("arm"), reversed_))


def test_missing_inertial_is_a_zero_mass_that_findings_names():
    model = urdf.parse(robot(link("base"), link("arm", None), joint("turn", "base", "arm")))
    assert model.mass[0] == 0
    (found,) = (str(f) for f in findings(model))
    assert found.startswith("link 'arm': mass is zero on a moving link, and so is its inertia")
    assert "it counts as massless" in found


def test_negative_mass_is_refused_even_where_a_merge_would_hide_it():
    with pytest.raises(ModelError, match=r"link 'hook': mass must not be negative; got -0\.5 kg"):
        urdf.parse(robot(*ONE_JOINT, link("hook", -0.5), fixed("f", "arm", "hook")))


# --- Bad content ---

BASE, ARM = link("base"), link("arm")
BAD_NUMBERS = {
    "link 'arm': value of <mass> must be a finite number; got 'nan'": (link("arm", math.nan),),
    "link 'arm': ixx of <inertia> must be a finite number; got 'inf'": (link("arm", moment=math.inf),),
    "link 'arm': xyz of <origin> must be 3 finite numbers; got '0 0'": (link("arm", com="0 0"),),
    "link 'arm': xyz of <origin> must be 3 finite numbers; got '0 0 0,1'": (link("arm", com="0 0 0,1"),),
    "link 'arm': rpy of <origin> must be 3 finite numbers; got 'x'": (link("arm", rest='rpy="x"'),),
    "link 'arm': value of <mass> must be a finite number; got nothing": (
        '<link name="arm"><inertial><inertia ixx="1" iyy="1" izz="1"/></inertial></link>',
    ),
    "link 'arm': ixx of <inertia> must be a finite number; got nothing": (
        '<link name="arm"><inertial><mass value="1"/></inertial></link>',
    ),
    "link 'arm': quat_xyzw of <origin> is not supported": (link("arm", rest='quat_xyzw="0 0 0 1"'),),
    "joint 'turn': xyz of <axis> must be 3 finite numbers; got '0 0 1 0'": (
        ARM,
        joint("turn", "base", "arm", axis="0 0 1 0"),
    ),
    "link 'arm': value of <mass> must be a finite number; got '1_0'": (link("arm", "1_0"),),
    "link 'arm': value of <mass> must be a finite number; got '\u0661'": (link("arm", "\u0661"),),
    "link 'arm': value of <mass> must be a finite number; got '0x10'": (link("arm", "0x10"),),
    "link 'arm': xyz of <origin> must be 3 finite numbers; got '0 0\\u20030'": (link("arm", com="0 0\u20030"),),
    "joint 'turn': axis must not be zero": (ARM, joint("turn", "base", "arm", axis="0 -0 0")),
    "joint 'turn': rpy of <origin> must be 3 finite numbers; got ''": (
        ARM,
        joint("turn", "base", "arm", origin='rpy=""'),
    ),
    "joint 'turn': effort of <limit> must be a finite number; got 'INF'": (
        ARM,
        joint("turn", "base", "arm", rest=LIMIT.replace("40", "INF")),
    ),
    "joint 'turn': friction of <dynamics> must be a finite number; got 'much'": (
        ARM,
        joint("turn", "base", "arm", rest=LIMIT + '<dynamics friction="much"/>'),
    ),
}


INERTIAL = '<inertial><mass value="2"/><inertia ixx="1" iyy="1" izz="1"/></inertial>'
TWICE = {
    "link 'arm': <link> must have one <inertial> at most; got 2": (
        link("arm").replace("</link>", f"{INERTIAL}</link>"),
    ),
    "link 'arm': <inertial> must have one <mass> at most; got 2": (
        link("arm").replace("<mass", '<mass value="3"/><mass'),
    ),
    "link 'arm': <inertial> must have one <inertia> at most; got 2": (
        link("arm").replace("<inertia ", '<inertia ixx="1" iyy="1" izz="1"/><inertia '),
    ),
    "link 'arm': <inertial> must have one <origin> at most; got 2": (
        link("arm").replace("<origin", "<origin/><origin"),
    ),
    **{
        f"joint 'turn': <joint> must have one <{tag}> at most; got 2": (
            ARM,
            joint("turn", "base", "arm", rest=LIMIT + "<dynamics/>").replace(f"<{tag}", f"<{tag}/><{tag}"),
        )
        for tag in ("origin", "axis", "limit", "dynamics", "parent", "child")
    },
}


@pytest.mark.parametrize("message", TWICE)
def test_an_element_that_is_there_twice_is_refused_by_name(message):
    """Which of two masses is meant nobody can say; other readers take the first, or the last."""
    parts = TWICE[message]
    rest = parts if len(parts) > 1 else (*parts, joint("turn", "base", "arm"))
    with pytest.raises(ModelError, match=re.escape(message)):
        urdf.parse(robot(BASE, *rest))


@pytest.mark.parametrize("message", BAD_NUMBERS)
def test_bad_numbers_name_element_and_attribute(message):
    parts = BAD_NUMBERS[message]
    turn = () if len(parts) > 1 else (joint("turn", "base", "arm"),)
    with pytest.raises(ModelError, match=re.escape(message)):
        urdf.parse(robot(BASE, *parts, *turn))


BAD_TREES = {
    "two links are named 'arm'": (*ONE_JOINT, ARM),
    "two joints are named 'turn'": (*ONE_JOINT, link("fore"), joint("turn", "arm", "fore")),
    "link number 1 has no name": ("<link/>",),
    "joint number 1 has no name": (BASE, "<joint/>"),
    "joint 'turn': there is no link 'amr'": (BASE, ARM, joint("turn", "base", "amr")),
    "joint 'turn': must name the link of its <parent> and of its <child>": (
        BASE,
        '<joint name="turn" type="revolute"><parent link="base"/></joint>',
    ),
    "joint 'turn': type must be one of revolute, continuous, prismatic, fixed, floating, planar; got 'hub'": (
        BASE,
        ARM,
        joint("turn", "base", "arm", "hub"),
    ),
    "link 'arm' has two parents, by joints 'turn' and 'again'": (*ONE_JOINT, joint("again", "base", "arm")),
    "expected one root link; these have no parent: 'base', 'lone'": (*ONE_JOINT, link("lone")),
    "these joints run in a cycle: 'there', 'turn'": (
        BASE,
        ARM,
        joint("turn", "base", "arm"),
        joint("there", "arm", "base"),
    ),
    "these joints run in a cycle: 'self'": (*ONE_JOINT, link("lone"), joint("self", "lone", "lone")),
    "the robot has no links": (),
}


@pytest.mark.parametrize("message", BAD_TREES)
def test_bad_trees_say_what_is_wrong(message):
    with pytest.raises(ModelError, match=re.escape(message)):
        urdf.parse(robot(*BAD_TREES[message]))


def test_joints_of_transmissions_are_not_joints_of_the_robot():
    drive = '<transmission name="t"><joint name="turn"><hardwareInterface/></joint></transmission>'
    assert urdf.parse(robot(*ONE_JOINT, drive)).n == 1


def test_a_long_chain_needs_no_recursion():
    n = 3000
    links = [link(f"l{i}", None) for i in range(n + 2)]
    joints = [fixed(f"f{i}", f"l{i}", f"l{i + 1}") for i in range(n)]
    text = robot(*links, *joints, joint("turn", f"l{n}", f"l{n + 1}"))
    assert urdf.parse(text).n == 1


# --- Bad XML ---

DOCTYPE = '<!DOCTYPE robot [<!ENTITY a "b">]>'
BAD_XML = {
    "a URDF must not have a DTD, entities or external references": DOCTYPE + robot(*ONE_JOINT),
    "a URDF must not have a DTD": '<!DOCTYPE robot SYSTEM "file:///etc/passwd">' + robot(*ONE_JOINT),
    "not well-formed XML: mismatched tag: line 2": "<robot>\n<link></robot>",
    "not well-formed XML: undefined entity": "<robot>&b;</robot>",
    "not well-formed XML: no element found": "",
    "the outermost element of a URDF must be <robot>; got <mujoco>": "<mujoco/>",
    "run xacro first, as in": '<robot xmlns:xacro="http://www.ros.org/wiki/xacro"><xacro:arm/></robot>',
    "this is a xacro file": '<robot><link name="${prefix}base"/></robot>',
    "if this is a xacro file, run xacro first": "<robot><xacro:arm/></robot>",
    "XML must not be nested deeper than 64 elements": "<robot>" * 100_000,
    "XML must not have more than 200000 elements": "<robot>" + "<a/>" * 200_000,
    "a URDF must not be larger than 10 MB": "<robot>" + " " * 10_000_000,
    "text that cannot be decoded": "<robot name='\ud800'/>",
    "not well-formed XML: not well-formed (invalid token): line 1": b"<robot name='\xff'/>",
    "text that cannot be decoded: unknown encoding": b"<?xml version='1.0' encoding='elvish'?><robot/>",
}


@pytest.mark.parametrize("message", BAD_XML)
def test_bad_xml_is_refused(message):
    with pytest.raises(ModelError, match=re.escape(message)):
        urdf.parse(BAD_XML[message])


def test_xacro_left_in_comments_and_namespaces_is_harmless():
    text = robot(*ONE_JOINT, "<!-- ${prefix} -->", name='name="toy" xmlns:xacro="http://www.ros.org/wiki/xacro"')
    assert urdf.parse(text).n == 1


def test_default_namespace_is_dropped():
    assert urdf.parse(robot(*ONE_JOINT, name='name="toy" xmlns="http://drake.mit.edu"')).name == "toy"


def test_declared_encodings_are_read():
    text = "<?xml version='1.0' encoding='{}'?>" + robot(*ONE_JOINT, name='name="Käfer"')
    for encoding in ("utf-8", "latin-1", "utf-16"):
        assert urdf.parse(text.format(encoding).encode(encoding)).name == "Käfer"
    assert urdf.parse(text.format("latin-1")).name == "Käfer"  # already text


# --- Files ---


def test_load_reads_a_file_and_keeps_no_folders(tmp_path):
    file = tmp_path / "beetle.urdf"
    file.write_text(robot(*ONE_JOINT), encoding="utf-8")
    model = urdf.load(file)
    assert (model.name, model.source) == ("toy", "beetle.urdf")
    assert urdf.load(str(file), "arm", name="mine").name == "mine"
    file.write_text(robot(*ONE_JOINT, name=""), encoding="utf-8")
    assert urdf.load(file).name == "beetle"
    assert urdf.parse(robot(*ONE_JOINT, name="")).name == "robot"


def test_load_names_the_file(tmp_path):
    missing = tmp_path / "none.urdf"
    with pytest.raises(ModelError, match=re.escape(f"{missing}: cannot be read: No such file")):
        urdf.load(missing)
    with pytest.raises(ModelError, match=re.escape(f"{tmp_path}: cannot be read")):
        urdf.load(tmp_path)
    bad = tmp_path / "bad.urdf"
    bad.write_text(robot(BASE, BASE), encoding="utf-8")
    with pytest.raises(ModelError, match=re.escape(f"{bad}: two links are named 'base'")):
        urdf.load(bad)


def test_load_warns_where_it_was_called(tmp_path):
    file = tmp_path / "gripper.urdf"
    file.write_text(robot(*GRIPPER), encoding="utf-8")
    with pytest.warns(ModelWarning) as caught:
        urdf.load(file, tip="hand")
    assert caught[0].filename == __file__


# --- Another engine ---

ROBOTS = {  # file under example-robot-data, tip
    "panda": ("panda_description/urdf/panda.urdf", "panda_hand_tcp"),  # fingers locked
    "ur5": ("ur_description/urdf/ur5_robot.urdf", "tool0"),  # axes y and z
    "xarm7": ("xarm_description/urdf/xarm7.urdf", "link_eef"),
    "kinova": ("kinova_description/robots/kinova.urdf", "j2s6s200_end_effector"),  # continuous joints
    "tiago": (
        "tiago_description/robots/tiago.urdf",
        "hand_tool_link",
    ),  # a prismatic torso, a head, many fingers
    "baxter": ("baxter_description/urdf/baxter.urdf", "left_gripper"),  # two arms
    "talos": ("talos_data/robots/talos_full_v2.urdf", "gripper_left_base_link"),  # axes x, y, z
}


def example(pin, file: str) -> Path:
    """A file of the example-robot-data wheel, which unpacks beside Pinocchio's."""
    for folder in Path(pin.__file__).parents:
        path = folder / "share/example-robot-data/robots" / file
        if path.is_file():
            return path
    pytest.skip(f"example-robot-data with {file} is not installed")


@pytest.mark.parametrize("name", ROBOTS)
def test_poses_and_bodies_equal_pinocchio(name):
    """1e-10: we take a printed 1.57079632679 as a right angle (1e-11 a joint at most, over metres)."""
    pin = pytest.importorskip("pinocchio")
    file, tip = ROBOTS[name]
    path = example(pin, file)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)  # locked joints
        model = urdf.load(path, tip)
    whole = pin.buildModelFromUrdf(str(path))
    off = [i for i in range(1, whole.njoints) if whole.names[i] not in model.joint_names]
    theirs = pin.buildReducedModel(whole, off, pin.neutral(whole))
    assert tuple(theirs.names)[1:] == model.joint_names
    data = theirs.createData()
    frame = theirs.getFrameId(tip)
    random = np.random.default_rng(1)
    for q in random.uniform(-3, 3, (5, model.n)):
        pin.framesForwardKinematics(theirs, data, pin.integrate(theirs, pin.neutral(theirs), q))
        poses, tool = frames(model, q)
        np.testing.assert_allclose(tool, data.oMf[frame].homogeneous, atol=1e-10)
        for i, (mass, com, inertia) in enumerate(world_bodies(model, poses)):
            body = data.oMi[i + 1].act(theirs.inertias[i + 1])
            np.testing.assert_allclose(mass, body.mass, rtol=1e-14)
            np.testing.assert_allclose(com, body.lever, atol=1e-10)
            np.testing.assert_allclose(inertia, body.inertia, atol=1e-10)
    limited = np.isfinite(model.upper)
    positions = [joint.idx_q for joint in list(theirs.joints)[1:]]
    np.testing.assert_array_equal(model.upper[limited], theirs.upperPositionLimit[positions][limited])
    np.testing.assert_array_equal(model.velocity, theirs.velocityLimit)
    np.testing.assert_array_equal(model.viscous, theirs.damping)


def test_printed_right_angles_are_all_that_torques_differ_by(tmp_path):
    """A file with 1.57079632679 for pi/2 gives Pinocchio other torques than us; with all digits both agree.

    `rounded`: some thousand operations of 1e-16, on terms that cancel by ten.  Printed: an angle is off by 5e-12 (pi by
    twice that), and the torques by as much beside the terms that they are sums of.
    """
    pin = pytest.importorskip("pinocchio")
    arm = er.load("ur5e")
    exact = export.urdf(arm.model)
    printed = exact.replace("1.5707963267948966", "1.57079632679").replace("3.141592653589793", "3.14159265359")
    angles = exact.count("1.5707963267948966") + 2 * exact.count("3.141592653589793")
    assert printed != exact
    rounded, ours, theirs = 1e-12, [], []
    for text in (exact, printed):
        file = tmp_path / "arm.urdf"
        file.write_text(text, encoding="utf-8")
        mine = er.Arm(urdf.load(file))
        model = pin.buildModelFromUrdf(str(file))
        data = model.createData()
        states = np.random.default_rng(0).uniform(-3, 3, (3, 200, mine.n))
        ours.append(mine.inverse_dynamics(*states) - mine.friction_torque(states[1]))
        theirs.append(np.array([pin.rnea(model, data, *state) for state in zip(*states, strict=True)]))
    assert error(ours[1], ours[0]) < rounded
    assert error(ours[0], theirs[0]) < rounded
    assert rounded < error(ours[1], theirs[1]) < angles * 5e-12
