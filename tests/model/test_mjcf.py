"""Arms from MJCF, against MuJoCo itself: masses, bias, poses, limits, shapes."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest

import elbowroom as er
from elbowroom.errors import ModelError, ModelNotice, ModelWarning
from elbowroom.model import mjcf
from elbowroom.model.capsules import distance_to_segment
from elbowroom.model.visuals import visuals_of

mujoco = pytest.importorskip("mujoco")

ROUNDING = 1e-12  # of both: relative to the largest entry, a hundred products of 1e-16 each

ARM = """<mujoco model="toy"><compiler angle="radian"/><option gravity="0.5 -0.3 -9.7"/>
<asset><mesh name="wedge" vertex="0 0 0  .1 0 0  0 .2 0  0 0 .3"/></asset>
<worldbody><geom type="plane" size="1 1 .1"/><body name="ball" pos="2 0 0"><freejoint/><geom size=".1"/></body>
<body name="upper" pos=".1 .2 .3" euler=".1 .2 .3"><geom type="capsule" fromto="0 0 0 0 0 .4" size=".05"/>
 <joint name="j1" axis="1 2 3" pos=".05 0 .1" ref=".4" damping=".2" frictionloss=".1" armature=".05" range="-2 2"/>
 <joint name="j2" axis="0 1 0" pos="0 0 .1" actuatorfrcrange="-30 30"/>
 <body name="fore" pos="0 0 .4" quat=".9 .1 .2 .3"><geom type="box" size=".1 .05 .2"/>
  <joint name="j3" type="slide" axis="1 0 1" ref=".2"/>
  <body name="hand" pos=".2 0 .1"><joint name="j4" axis="0 0 1"/><geom type="mesh" mesh="wedge"/>
   <geom type="sphere" size=".4" contype="0" conaffinity="0" mass="0" rgba="1 0 0 1"/>
   <site name="tcp" pos="0 0 .2" euler="0 .5 0"/>
   <body name="left" pos="0 .1 .1"><joint name="finger_left" type="slide" axis="0 1 0" ref=".01"/>
    <geom type="box" size=".01 .02 .03"/></body></body></body></body></worldbody>
<actuator><motor joint="j4" gear="2" forcerange="-5 5"/></actuator>
<keyframe><key name="home" qpos="0 0 0 1 0 0 0 .3 -.2 .1 .4 0"/></keyframe></mujoco>"""


@pytest.fixture
def file(tmp_path):
    (tmp_path / "toy.xml").write_text(ARM)
    return tmp_path / "toy.xml"


def quiet(path, tip=None):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return er.load(path, tip)


def compared(path, tip=None, states=10):
    """The greatest relative difference of mass matrix and bias from MuJoCo's own."""
    arm = quiet(path, tip)
    m = mujoco.MjModel.from_xml_path(str(path))
    d = mujoco.MjData(m)
    q_at = [m.joint(name).qposadr[0] for name in arm.joint_names]
    v_at = [m.joint(name).dofadr[0] for name in arm.joint_names]
    rng, worst = np.random.default_rng(0), 0.0
    for _ in range(states):
        q, qd = rng.uniform(-1, 1, arm.n), rng.normal(size=arm.n)
        mujoco.mj_resetData(m, d)
        d.qpos[q_at], d.qvel[v_at] = q, qd
        mujoco.mj_forward(m, d)
        M = np.zeros((m.nv, m.nv))
        for k in range(m.nv):  # columns of M: MuJoCo multiplies by it
            column = np.zeros(m.nv)
            mujoco.mj_mulM(m, d, column, np.eye(m.nv)[k])
            M[:, k] = column
        theirs = M[np.ix_(v_at, v_at)]
        worst = max(worst, np.abs(theirs - arm.mass_matrix(q)).max() / np.abs(theirs).max())
        bias = d.qfrc_bias[v_at]
        worst = max(worst, np.abs(bias - arm.bias_torque(q, qd)).max() / max(1.0, np.abs(bias).max()))
        if tip in (None, "tcp"):
            pose = arm.pose(q)
            np.testing.assert_allclose(pose[:3, 3], d.site("tcp").xpos, atol=ROUNDING)
            np.testing.assert_allclose(pose[:3, :3].reshape(-1), d.site("tcp").xmat, atol=ROUNDING)
    return worst


def test_masses_bias_and_tool_are_mujocos(file):
    assert compared(file) < ROUNDING
    assert compared(file, "fore") < ROUNDING  # the hand is merged


def test_the_natural_tip_is_told_and_what_hangs_off_is_named(file):
    with pytest.warns() as caught:
        arm = er.load(file)
    told = [str(warning.message) for warning in caught]
    assert "toy: taken as the arm: 4 joints to 'tcp'; tip= names another end" in told
    assert "toy: joints off the chain to 'tcp' are locked at their reference: 'finger_left'" in told
    assert {warning.category for warning in caught} == {ModelNotice, ModelWarning}
    assert arm.joint_names == ("j1", "j2", "j3", "j4")


def test_limits_friction_rotors_and_the_home_keyframe(file):
    model = quiet(file).model
    assert (model.lower[0], model.upper[0]) == (-2, 2)
    assert math.isinf(model.upper[1])
    assert (model.viscous[0], model.coulomb[0], model.rotor_inertia[0]) == (0.2, 0.1, 0.05)
    assert model.effort.tolist() == [math.inf, 30, math.inf, 10]
    np.testing.assert_allclose(model.ready, [0.3, -0.2, 0.1, 0.4])
    np.testing.assert_allclose(model.gravity, [0.5, -0.3, -9.7])
    assert model.kinds == "RRPR"
    assert model.name == "toy"


def test_gravity_that_is_switched_off_is_off(tmp_path):
    text = ARM.replace('gravity="0.5 -0.3 -9.7"/>', 'gravity="0.5 -0.3 -9.7"><flag gravity="disable"/></option>')
    (tmp_path / "toy.xml").write_text(text)
    assert compared(tmp_path / "toy.xml") < ROUNDING


def test_geoms_that_touch_become_capsules_and_others_are_seen(file):
    arm = quiet(file)
    found = {(c.name.partition(":")[0], c.link) for c in arm.model.capsules}
    assert found == {("upper", 1), ("fore", 2), ("hand", 3), ("left", 3)}
    q = np.array([0.2, -0.4, 0.1, 0.7])
    m = mujoco.MjModel.from_xml_path(str(file))
    d = mujoco.MjData(m)
    d.qpos[[m.joint(name).qposadr[0] for name in arm.joint_names]] = q
    mujoco.mj_forward(m, d)
    geom = next(g for g in range(m.ngeom) if m.geom_type[g] == mujoco.mjtGeom.mjGEOM_MESH)
    corners = m.mesh_vert @ d.geom_xmat[geom].reshape(3, 3).T + d.geom_xpos[geom]  # in the world
    T = arm.poses(q)[3]
    away = []
    for hand in (c for c in arm.model.capsules if c.name.startswith("hand")):
        a, b = (T[:3, :3] @ np.array(end) + T[:3, 3] for end in (hand.a, hand.b))
        away.append(distance_to_segment(corners, a, b) - hand.radius)
    assert np.min(away, axis=0).max() == pytest.approx(0, abs=1e-6)  # mesh vertices are floats of 32 bits
    seen = [visual for visual in visuals_of(file) if visual.name == "hand"]
    assert [(visual.kind, visual.link, visual.colour) for visual in seen] == [("sphere", 4, (1.0, 0.0, 0.0, 1.0))]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("<worldbody>", "<worldbody"), "MuJoCo does not take it"),
        (('mesh="wedge"', 'mesh="nosuch"'), "MuJoCo does not take it: .*nosuch"),
        (('<joint name="j4" axis="0 0 1"/>', '<joint name="j4" type="ball"/>'), "ball joint cannot be on the chain"),
    ],
)
def test_what_cannot_be_used_is_an_error_that_names_it(tmp_path, change, message):
    path = tmp_path / "toy.xml"
    path.write_text(ARM.replace(*change).split("<keyframe>")[0].split("<actuator>")[0] + "</mujoco>")
    with pytest.raises(ModelError, match=message):
        quiet(path, "hand")


def test_an_unknown_tip_lists_near_names(file):
    with pytest.raises(ModelError, match="no body or site 'tpc' to be the tip; choose from 'tcp'"):
        er.load(file, "tpc")


def test_what_the_exporter_writes_is_read_back(tmp_path):
    from elbowroom.export import mjcf as write

    arm = er.load("ur5e")
    (tmp_path / "ur5e.xml").write_text(write(arm.model))
    back = quiet(tmp_path / "ur5e.xml")
    rng = np.random.default_rng(1)
    for q in rng.uniform(-1, 1, (5, 6)):
        np.testing.assert_allclose(back.mass_matrix(q), arm.mass_matrix(q), rtol=1e-9, atol=1e-9)  # printed digits


def test_urdf_files_called_xml_are_still_urdf(tmp_path):
    (tmp_path / "a.xml").write_text('<robot name="mujoco"/>')
    assert not mjcf.is_mjcf(tmp_path / "a.xml")
