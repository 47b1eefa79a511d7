"""Export: what MuJoCo, Pinocchio and our own reader make of the files must be the arm that was written.

`CLOSE` is the promise, a round trip within 1e-9; two correct programs in double precision differ by 1e-15 to 1e-11 for
these arms (see `referees.TOLERANCE`), and a wrong entry by far more.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import xml.etree.ElementTree as ET

import mujoco
import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given
from hypothesis import strategies as st

import elbowroom as er
from elbowroom import export, geometry
from elbowroom.errors import ModelError
from elbowroom.export import bodies
from elbowroom.export.write_mjcf import bare_mjcf
from elbowroom.export.write_urdf import NO_LIMIT, roll_pitch_yaw
from elbowroom.model import LinkCapsule, catalogue, chains, create, urdf
from elbowroom.model.rotations import pose, rpy, rx, ry, rz, z_to
from referees import CATALOGUE, Pinocchio, error, loop, mujoco_accepts, rotation, states, subject, thinned
from strategies import examples, robots

CLOSE = 1e-9
COUNT = 20  # states an arm
PHYSICAL = tuple(f"physical{n}" for n in range(1, 8))
every_urdf = pytest.mark.parametrize("name", [*CATALOGUE, *PHYSICAL, "gdahj8"])
every_mjcf = pytest.mark.parametrize("name", [*(n for n in CATALOGUE if n != "stanford"), *PHYSICAL])


def standard(model):
    """What a URDF can hold of a model: no rotors, the usual gravity."""
    return dataclasses.replace(model, rotor_inertia=np.zeros(model.n), gravity=(0, 0, -9.81))


def friction(model, qd):
    return model.viscous * qd + model.coulomb * np.sign(qd)


def within_limits(model):
    """States away from the limits, where MuJoCo's own limit forces begin, and fast: see `MuJoCo.inverse_dynamics`."""
    s = states(model, COUNT)
    low, high = (np.where(np.isfinite(x), x, y) for x, y in ((model.lower, s.q - 1), (model.upper, s.q + 1)))
    return s._replace(q=low + (high - low) * (0.01 + 0.98 * (s.q - low) / (high - low)))


# ---- URDF


def from_urdf(text: str) -> tuple[Pinocchio, object]:
    """Pinocchio's own reading of a URDF, behind the questions of `referees`; and what makes its q of ours."""
    engine = Pinocchio.__new__(Pinocchio)
    engine.model = m = pin.buildModelFromXML(text)
    engine.n, engine.data, engine.tool = m.nv, m.createData(), m.getFrameId("tool")

    def configuration(q):
        """A continuous joint is a point on the circle there."""
        parts = [[math.cos(x), math.sin(x)] if m.nqs[i + 1] == 2 else [x] for i, x in enumerate(q)]
        return np.concatenate(parts)

    return engine, configuration


@every_urdf
def test_our_own_reader_gives_the_same_arm(name):
    model = subject(name)
    read = urdf.parse(export.urdf(model))
    assert (read.name, read.kinds) == (model.name, model.kinds)
    assert (read.joint_names, read.link_names) == (model.joint_names, model.link_names)
    for what in ("lower", "upper", "velocity", "effort"):
        limit = getattr(model, what)
        if what in ("lower", "upper"):  # a joint that turns without limits comes back as one
            free = np.isinf(model.lower) & np.isinf(model.upper) & np.array([k == "R" for k in model.kinds])
            expected = np.where(free, limit, np.clip(limit, -NO_LIMIT, NO_LIMIT))
        else:
            expected = np.clip(limit, -NO_LIMIT, NO_LIMIT)
        np.testing.assert_array_equal(getattr(read, what), expected)
    for what in ("viscous", "coulomb", "mass", "com", "inertia"):  # digits are written out, so nothing is lost
        np.testing.assert_allclose(getattr(read, what), getattr(model, what), rtol=0, atol=1e-15)
    first = model.base @ pose(model.E[0], model.p[0])  # the reader has no base pose of its own
    for i, T in enumerate([first, *(pose(model.E[i], model.p[i]) for i in range(1, model.n))]):
        np.testing.assert_allclose(pose(read.E[i], read.p[i]), T, rtol=0, atol=1e-14)  # roundings of cos and sin
    np.testing.assert_allclose(read.tool, model.tool, rtol=0, atol=1e-14)


@pytest.mark.parametrize("name", thinned(["panda", "puma560", "scara", "physical3"], {"scara", "physical3"}))
def test_our_own_reader_gives_the_same_dynamics(name):
    arm, read = er.Arm(standard(subject(name))), er.Arm(urdf.parse(export.urdf(subject(name))))
    s = states(arm.model, COUNT)
    assert error(read.mass_matrix(s.q), arm.mass_matrix(s.q)) < CLOSE
    assert error(read.bias_torque(s.q, s.qd), arm.bias_torque(s.q, s.qd)) < CLOSE
    assert (
        error(read.inverse_dynamics(s.q, s.qd, s.qdd), arm.inverse_dynamics(s.q, s.qd, s.qdd)) < CLOSE
    )  # friction too
    assert error(read.poses(s.q), arm.poses(s.q)) < CLOSE
    assert error(read.pose(s.q), arm.pose(s.q)) < CLOSE


@every_urdf
def test_pinocchio_reads_the_same_arm(name):
    model = standard(subject(name))
    built, (engine, q_of) = Pinocchio(model), from_urdf(export.urdf(subject(name)))
    s = states(model, COUNT)
    q = [q_of(x) for x in s.q]
    for quantity, columns in (("mass_matrix", ()), ("bias_torque", (s.qd,)), ("inverse_dynamics", (s.qd, s.qdd))):
        theirs, ours = loop(getattr(engine, quantity), q, *columns), loop(getattr(built, quantity), s.q, *columns)
        assert error(theirs, ours) < CLOSE, quantity
    assert error(loop(engine.poses, q), loop(built.poses, s.q)) < CLOSE
    assert error(loop(engine.pose, q), loop(built.pose, s.q)) < CLOSE
    read = engine.model
    assert list(read.names)[1:] == list(model.joint_names)
    assert all(read.existBodyName(link) for link in (*model.link_names, "world", "base", "tool"))
    np.testing.assert_array_equal(read.effortLimit, np.minimum(model.effort, NO_LIMIT))
    np.testing.assert_array_equal(read.velocityLimit, np.minimum(model.velocity, NO_LIMIT))
    np.testing.assert_array_equal(read.damping, model.viscous)
    np.testing.assert_array_equal(read.friction, model.coulomb)
    if np.isfinite(model.lower).all():
        np.testing.assert_array_equal(read.lowerPositionLimit, model.lower)
        np.testing.assert_array_equal(read.upperPositionLimit, model.upper)


@examples(30)
@given(robots(max_joints=4), st.integers(0, 2**32 - 1))
def test_any_robot_survives_urdf(model, seed):
    """Right angles, zero offsets, poses of base and tool: against the engine built joint by joint from the model."""
    text = export.urdf(model)
    (engine, q_of), built = from_urdf(text), Pinocchio(standard(model))
    s = states(model, 3, seed)
    q = [q_of(x) for x in s.q]
    heavy = np.full(3, 1.0)  # the bias of one joint may vanish; masses and lengths are of size one
    assert error(loop(engine.mass_matrix, q), loop(built.mass_matrix, s.q)) < CLOSE
    assert error(loop(engine.bias_torque, q, s.qd), loop(built.bias_torque, s.q, s.qd), heavy) < CLOSE
    assert error(loop(engine.pose, q), loop(built.pose, s.q)) < CLOSE
    read = urdf.parse(text)
    assert error([read.inertia], [model.inertia]) < CLOSE
    assert error(loop(Pinocchio(read).pose, s.q), loop(built.pose, s.q)) < CLOSE


def test_a_file_of_ours_loads_without_a_word(tmp_path):
    path = tmp_path / "panda.urdf"
    path.write_text(export.urdf(catalogue.load("panda")))
    assert er.load(path).n == 7  # warnings are errors here


def test_mujoco_reads_the_urdf_too():
    """Its reader is yet another; it adds no rotors and takes friction as we do."""
    arm = er.load("panda")
    m = mujoco.MjModel.from_xml_string(export.urdf(arm.model))
    d = mujoco.MjData(m)
    q, qd, qdd = (x[0] for x in within_limits(arm.model)[:3])
    d.qpos[:], d.qvel[:], d.qacc[:] = q, qd, qdd
    m.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT  # it knows nothing of neighbours that overlap
    mujoco.mj_inverse(m, d)
    assert error([d.qfrc_inverse], [arm.inverse_dynamics(q, qd, qdd)]) < CLOSE


def test_what_urdf_cannot_hold_is_said():
    told = export.urdf_with_notes(catalogue.load("puma560"))
    rotors, limits = told.notes
    assert rotors.startswith("URDF has no rotor inertia; left out, joint by joint: 0.78403, 2.32481")
    assert "1e+09 stands for none" in limits
    assert all(f"<!-- {note} -->" in told.text for note in told.notes)
    assert export.urdf_with_notes(catalogue.load("panda")).notes == ()
    (gravity,) = export.urdf_with_notes(catalogue.load("panda").with_gravity([1, 2, 3])).notes
    assert "1, 2, 3 m/s2" in gravity


AWKWARD_TURNS = [
    *(rx(a) @ ry(b) @ rz(c) for a in (0, 0.3) for b in (math.pi / 2, -math.pi / 2) for c in (0, -2.0, math.pi)),
    *(rz(1.0) @ ry(math.pi / 2 + d) @ rx(0.5) for d in (1e-3, 1e-6, 1e-8, -1e-9, 1e-12, 1e-15)),
    np.diag([-1.0, -1.0, 1.0]),
    np.diag([1.0, -1.0, -1.0]),
    np.diag([-1.0, 1.0, -1.0]),
]


@pytest.mark.parametrize("k", range(len(AWKWARD_TURNS)))
def test_angles_give_the_rotation_back_where_roll_and_yaw_are_one(k):
    R = AWKWARD_TURNS[k]
    c = [math.cos(a) for a in roll_pitch_yaw(R)]
    s = [math.sin(a) for a in roll_pitch_yaw(R)]
    again = (
        np.array([[c[2], -s[2], 0], [s[2], c[2], 0], [0, 0, 1]])
        @ np.array([[c[1], 0, s[1]], [0, 1, 0], [-s[1], 0, c[1]]])
        @ np.array([[1, 0, 0], [0, c[0], -s[0]], [0, s[0], c[0]]])
    )
    np.testing.assert_allclose(again, R, rtol=0, atol=2e-15)  # a handful of roundings; roll and yaw apart lose 1e-8


def test_angles_give_any_rotation_back():
    rng = np.random.default_rng(3)
    for _ in range(200):
        R = rotation(rng)
        np.testing.assert_allclose(rpy(*roll_pitch_yaw(R)), R, rtol=0, atol=2e-15)


# ---- MJCF


class InMuJoCo:
    """MuJoCo's answers about an exported arm, with friction, limits and shapes."""

    def __init__(self, text: str) -> None:
        self.model = mujoco.MjModel.from_xml_string(text)
        self.data = mujoco.MjData(self.model)

    def at(self, q, qd=None):
        self.data.qpos[:], self.data.qvel[:] = q, 0.0 if qd is None else qd
        mujoco.mj_forward(self.model, self.data)
        return self.data

    def mass_matrix(self, q):
        self.at(q)
        M = np.zeros((self.model.nv, self.model.nv))
        mujoco.mj_fullM(self.model, self.data, M)
        return M

    def bias_torque(self, q, qd):
        return self.at(q, qd).qfrc_bias.copy()

    def inverse_dynamics(self, q, qd, qdd):
        """Its Coulomb friction is a soft constraint, whole once the joint is fast beside its acceleration."""
        self.at(q, qd)
        self.data.qacc[:] = qdd
        mujoco.mj_inverse(self.model, self.data)
        return self.data.qfrc_inverse.copy()

    def tool(self, q):
        d = self.at(q)
        return pose(d.site("tool").xmat.reshape(3, 3), d.site("tool").xpos)

    def links(self, q, names):
        d = self.at(q)
        return np.array([pose(d.body(name).xmat.reshape(3, 3), d.body(name).xpos) for name in names])


def fast(model):
    """States with speeds of at least one, and small accelerations: see `InMuJoCo.inverse_dynamics`."""
    s = within_limits(model)
    return s._replace(qd=s.qd + np.sign(s.qd), qdd=s.qdd / 10)


@every_mjcf
def test_mujoco_has_the_same_dynamics(name):
    """Every catalogue arm but one, the PUMA with its massless link among them; friction and rotors too."""
    model, built = subject(name), Pinocchio(subject(name))
    engine = InMuJoCo(export.mjcf(model))
    s = fast(model)
    assert error(loop(engine.mass_matrix, s.q), loop(built.mass_matrix, s.q)) < CLOSE
    assert error(loop(engine.bias_torque, s.q, s.qd), loop(built.bias_torque, s.q, s.qd)) < CLOSE
    expected = loop(built.inverse_dynamics, s.q, s.qd, s.qdd) + friction(model, s.qd)
    assert error(loop(engine.inverse_dynamics, s.q, s.qd, s.qdd), expected) < CLOSE
    assert error(loop(engine.tool, s.q), loop(built.pose, s.q)) < CLOSE
    assert error([engine.links(q, model.link_names) for q in s.q], loop(built.poses, s.q)) < CLOSE


@pytest.mark.parametrize("name", ["puma560", "scara"])
def test_mujoco_agrees_with_the_arm_that_was_loaded(name):
    arm = er.load(name)
    engine = InMuJoCo(export.mjcf(arm.model))
    s = fast(arm.model)
    ours = arm.inverse_dynamics(s.q, s.qd, s.qdd)
    assert error(loop(engine.inverse_dynamics, s.q, s.qd, s.qdd), ours) < CLOSE
    assert error(loop(engine.mass_matrix, s.q), arm.mass_matrix(s.q)) < CLOSE


@every_mjcf
def test_mujoco_has_the_same_joints(name):
    model, m = subject(name), InMuJoCo(export.mjcf(subject(name))).model
    assert [m.joint(i).name for i in range(m.njnt)] == list(model.joint_names)
    assert [m.body(i).name for i in range(m.nbody)] == ["world", "base", *model.link_names]
    limited = np.isfinite(model.lower) | np.isfinite(model.upper)
    np.testing.assert_array_equal(m.jnt_limited, limited)
    np.testing.assert_array_equal(m.jnt_range[limited], np.c_[model.lower, model.upper][limited])
    np.testing.assert_array_equal(m.dof_armature, model.rotor_inertia)
    np.testing.assert_array_equal(m.dof_damping, model.viscous)
    np.testing.assert_array_equal(m.dof_frictionloss, model.coulomb)
    finite = np.isfinite(model.effort)
    np.testing.assert_array_equal(m.jnt_actfrclimited, finite)
    np.testing.assert_array_equal(m.jnt_actfrcrange[finite, 1], model.effort[finite])
    np.testing.assert_array_equal(m.opt.gravity, model.gravity)
    np.testing.assert_array_equal(m.key("ready").qpos, model.ready)


@examples(30)
@given(robots(max_joints=4), st.integers(0, 2**32 - 1))
def test_any_robot_survives_mjcf(model, seed):
    engine, built = InMuJoCo(export.mjcf(model)), Pinocchio(model)
    s = states(model, 3, seed)
    heavy = np.full(3, 1.0)  # as above
    assert error(loop(engine.mass_matrix, s.q), loop(built.mass_matrix, s.q)) < CLOSE
    assert error(loop(engine.bias_torque, s.q, s.qd), loop(built.bias_torque, s.q, s.qd), heavy) < CLOSE
    assert error(loop(engine.tool, s.q), loop(built.pose, s.q)) < CLOSE


@pytest.mark.parametrize("name", [n for n in CATALOGUE if n != "stanford"])
def test_distances_between_the_geoms_are_ours(name):
    arm = er.load(name)
    body = geometry.Body(arm)
    engine = InMuJoCo(export.mjcf(arm.model))
    m = engine.model
    pairs = [(i, j) for i in range(len(body)) for j in range(i) if abs(body.links[i] - body.links[j]) > 1]
    for q in states(arm.model, 3).q:
        data, capsules = engine.at(q), body.capsules(q)
        for i, j in pairs:
            x, y = (m.geom(body.names[k]).id for k in (i, j))
            theirs = mujoco.mj_geomDistance(m, data, x, y, 10.0, None)
            true = geometry.distance(capsules[i], capsules[j]).distance
            if true > 0:  # in penetration MuJoCo may measure otherwise
                assert theirs == pytest.approx(true, abs=1e-6)  # the tolerance of MuJoCo's own search
    assert pairs or name == "planar2"


def test_a_cover_by_name_can_be_the_shape():
    model = catalogue.load("puma560")
    thesis = dataclasses.replace(model, capsules=model.cover("thesis"))
    m = InMuJoCo(export.mjcf(thesis)).model
    assert {m.geom(i).name for i in range(m.ngeom)} == {capsule.name for capsule in model.cover("thesis")}


# ---- contacts

PERSON = (
    '<body name="person" mocap="true" pos="{x} {y} {z}"><geom name="torso" type="capsule" size="0.1 0.3"/></body>'
    '<geom name="floor" type="plane" size="5 5 0.1" pos="0 0 {floor}"/>'
)


def touching(text: str, q) -> set[frozenset[str]]:
    engine = InMuJoCo(text)
    data, m = engine.at(q), engine.model
    return {frozenset((m.geom(c.geom1).name, m.geom(c.geom2).name)) for c in data.contact}


@pytest.mark.parametrize("name", [n for n in CATALOGUE if n != "stanford"])
def test_an_arm_alone_touches_nothing(name):
    """Neighbours overlap, and covers are wider than the arm; no such pair may push."""
    arm = er.load(name)
    body = geometry.Body(arm)
    for text in (export.mjcf(arm.model), export.mjcf(arm.model, self_pairs=body.self_pairs)):
        assert touching(text, arm.ready) == set()


def test_the_arm_touches_the_world():
    arm = er.load("panda")
    x, y, z = arm.pose(arm.ready)[:3, 3]
    met = touching(export.mjcf(arm.model, extra=PERSON.format(x=x, y=y, z=z, floor=-1)), arm.ready)
    assert frozenset(("torso", "flange")) in met
    met = touching(export.mjcf(arm.model, extra=PERSON.format(x=9, y=9, z=9, floor=z)), arm.ready)
    assert frozenset(("floor", "flange")) in met
    silent = export.mjcf(arm.model, extra=PERSON.format(x=x, y=y, z=z, floor=-1), contacts=False)
    assert touching(silent, arm.ready) == set()


def test_the_arm_touches_itself_where_asked():
    """ur5e has bodies with several capsules, of which some pairs may meet and others overlap by construction."""
    arm = er.load("ur5e")
    body = geometry.Body(arm)
    text = export.mjcf(arm.model, self_pairs=body.self_pairs)
    asked = {frozenset((body.names[i], body.names[j])) for i, j in body.self_pairs}
    met = 0
    for q in np.random.default_rng(0).uniform(-3, 3, (200, arm.n)):
        capsules = body.capsules(q)
        overlapping = {
            frozenset((body.names[i], body.names[j]))
            for i, j in body.self_pairs
            if geometry.distance(capsules[i], capsules[j]).distance < -1e-6
        }
        found = touching(text, q)
        assert found <= asked
        assert overlapping <= found
        met += len(overlapping)
    assert met > 10


def test_neighbours_may_be_asked_for():
    model = catalogue.load("panda")
    met = touching(export.mjcf(model, self_pairs=[(2, 1)]), model.ready)
    assert met == {frozenset((model.capsules[1].name, model.capsules[2].name))}


@pytest.mark.parametrize("pair", [(0, 99), (-1, 2), (1, 1), (0, 1)])
def test_pairs_that_are_none_are_refused(pair):
    model = catalogue.load("puma560")  # its capsules 0 and 1 are both of the base
    with pytest.raises(ModelError, match="puma560: self_pairs must be"):
        export.mjcf(model, self_pairs=[pair])


# ---- actuators


def test_motors_carry_the_effort_limits():
    model = catalogue.load("panda")
    m = InMuJoCo(export.mjcf(model, actuators="torque")).model
    assert [m.actuator(i).name for i in range(m.nu)] == list(model.joint_names)
    np.testing.assert_array_equal(m.actuator_forcerange, np.c_[-model.effort, model.effort])
    np.testing.assert_array_equal(m.actuator_ctrlrange, np.c_[-model.effort, model.effort])
    assert InMuJoCo(export.mjcf(model)).model.nu == 0


def test_torques_move_the_arm_as_ours_do():
    arm = er.load("panda")
    engine = InMuJoCo(export.mjcf(arm.model, actuators="torque"))
    q, qd = arm.ready, np.full(7, 0.3)
    tau = arm.gravity_torque(q) + 0.5
    data = engine.at(q, qd)
    data.ctrl[:] = tau
    mujoco.mj_forward(engine.model, data)
    assert error([data.qacc], [arm.forward_dynamics(q, qd, tau)]) < CLOSE


@pytest.mark.parametrize("name", ["panda", "puma560", "scara", "ur10e"])
@pytest.mark.parametrize("actuators", ["velocity", "position"])
def test_servos_hold_and_move(name, actuators):
    """Gravity does not pull them down, and after a second they are where or as fast as they were told."""
    model = catalogue.load(name)
    engine = InMuJoCo(export.mjcf(model, actuators=actuators, contacts=False))
    m, data = engine.model, engine.data
    mujoco.mj_resetDataKeyframe(m, data, 0)
    wanted = data.ctrl + 0.1
    data.ctrl[:] = wanted
    for _ in range(round(1.0 / m.opt.timestep)):
        mujoco.mj_step(m, data)
    got = data.qvel if actuators == "velocity" else data.qpos
    # A proportional servo leaves what friction takes: Coulomb over the gain, viscous over the gain times the speed.
    gain = m.actuator_gainprm[:, 0]
    lag = (model.coulomb + 0.1 * model.viscous) / gain
    assert (np.abs(got - wanted) <= lag + 0.02).all()  # 0.02: the other joints pull
    if actuators == "velocity":
        finite = np.isfinite(model.velocity)
        np.testing.assert_array_equal(m.actuator_ctrlrange[finite, 1], model.velocity[finite])


def test_servo_gains_follow_the_bandwidth():
    arm = er.load("scara")
    inertia = np.diag(arm.mass_matrix(arm.ready))
    m = InMuJoCo(export.mjcf(arm.model, actuators="velocity", bandwidth=10.0)).model
    np.testing.assert_allclose(m.actuator_gainprm[:, 0], 10.0 * inertia, rtol=1e-12)
    m = InMuJoCo(export.mjcf(arm.model, actuators="position", bandwidth=10.0)).model
    np.testing.assert_allclose(m.actuator_gainprm[:, 0], 100.0 * inertia, rtol=1e-12)
    np.testing.assert_allclose(-m.actuator_biasprm[:, 2], 20.0 * inertia, rtol=1e-12)


@pytest.mark.parametrize("wrong", [{"actuators": "torques"}, {"bandwidth": 0.0}, {"bandwidth": math.nan}])
def test_wrong_settings_are_refused(wrong):
    with pytest.raises(ModelError, match=f"{next(iter(wrong))} must be"):
        export.mjcf(catalogue.load("panda"), **wrong)


# ---- bodies that could not exist


def test_a_sound_arm_is_left_alone():
    model = catalogue.load("panda")
    assert bodies.realizable(model) == (model, ())
    assert bodies.realizable(model)[0] is model


def test_the_puma_is_healed_and_no_joint_feels_it():
    model = catalogue.load("puma560")
    assert not mujoco_accepts(model)
    healed, notes = bodies.realizable(model)
    assert mujoco_accepts(healed)
    assert [note.split(":")[0] for note in notes] == ["link 'link1'", "link 'link3'"]
    assert all(note.endswith("no joint feels it") for note in notes)
    s = states(model, COUNT)
    before, after = Pinocchio(model), Pinocchio(healed)
    # The parts that moved are of the size of what they were added to, so only roundings are left.
    assert error(loop(after.mass_matrix, s.q), loop(before.mass_matrix, s.q)) < 1e-14
    assert error(loop(after.bias_torque, s.q, s.qd), loop(before.bias_torque, s.q, s.qd)) < 1e-13


@pytest.mark.parametrize("empty", [0, 1, None])
@pytest.mark.parametrize("kinds", ["RRR", "RPR", "PRP", "RRP", "PPP"])
def test_healing_is_never_felt(kinds, empty):
    """Links made impossible by giving away what the joint cannot feel; one of them all its mass, if it turns."""
    model = dataclasses.replace(subject("physical3"), kinds=kinds)
    on_axis = [[0.0, 0.0, 0.1] if i == empty else model.com[i] for i in range(3)]
    model = dataclasses.replace(model, com=on_axis)
    mass, com, inertia = model.mass.copy(), model.com.copy(), model.inertia.copy()
    given = np.zeros((4, 4))
    for i in reversed(range(3)):
        J = bodies.pseudo_inertia(bodies.MassProperties(mass[i], com[i], inertia[i])) + given
        K = np.diag([0.0, 0.0, 1.0, 0.0] if kinds[i] == "R" else [1.0, 1.0, 1.0, 0.0])
        if i == empty and kinds[i] == "R":
            K[2:, 3], K[3, 2:] = J[2:, 3], J[3, 2:]
        T = pose(model.E[i], model.p[i])
        J, given = J - K, T @ K @ T.T
        if J[3, 3] > 0:
            mass[i], com[i], inertia[i] = bodies.body_of(J)
        else:
            mass[i], com[i], inertia[i] = 0.0, 0.0, np.trace(J[:3, :3]) * np.eye(3) - J[:3, :3]
    broken = dataclasses.replace(model, mass=mass, com=com, inertia=inertia)
    assert not mujoco_accepts(broken)
    healed, notes = bodies.realizable(broken)
    assert mujoco_accepts(healed)
    assert notes
    s = states(model, COUNT)
    before, after = Pinocchio(model), Pinocchio(healed)  # Pinocchio would not take the broken one
    # Parts a hundred times the size of the bodies come and go, so two more digits than roundings are lost.
    assert error(loop(after.mass_matrix, s.q), loop(before.mass_matrix, s.q)) < 1e-12
    theirs = loop(before.bias_torque, s.q, s.qd)
    assert error(loop(after.bias_torque, s.q, s.qd), theirs, np.ones(COUNT)) < 1e-12


def test_what_cannot_be_healed_is_refused_by_name_or_adjusted():
    """A link of the Stanford arm has moments that no body has, about axes that the joints feel."""
    model = catalogue.load("stanford")
    with pytest.raises(ModelError, match=r"stanford: link 'link5': no body has its mass 0.63 kg .*--allow-adjust"):
        export.mjcf(model)
    told = export.mjcf_with_notes(model, adjust=True)
    assert told.notes[0].startswith("link 'link5': added up to 0.0013 kg m2")
    assert f"<!-- {told.notes[0]} -->" in told.text
    s = states(model, COUNT)
    theirs = loop(InMuJoCo(told.text).mass_matrix, s.q)
    off = np.abs(theirs - er.Arm(model).mass_matrix(s.q)).max()
    assert 1e-4 < off < 2e-3  # the 0.0013 kg m2 are felt, and nothing else is


def flat(thickness: float):
    """A plate that stands in the plane of x and z of its link, where the joint cannot help."""
    S = np.diag([0.02, thickness, 0.01])
    return create("R", np.eye(3)[None], np.zeros((1, 3)), [1.0], [[0.1, 0.2, 0.3]], [np.trace(S) * np.eye(3) - S])


def test_a_body_on_the_edge_is_one():
    """A plate or a rod has A + B = C to the last digit or nearly; MuJoCo has no tolerance, so it is lifted by 1e-12."""
    for thickness in (0.0, -1e-13):
        model = flat(thickness)
        healed, notes = bodies.realizable(model)
        assert notes == ()
        np.testing.assert_allclose(healed.inertia, model.inertia, rtol=0, atol=5e-12)
        mujoco.MjModel.from_xml_string(export.mjcf(model))
    rods = chains.planar(3)
    mujoco.MjModel.from_xml_string(export.mjcf(rods))


def test_an_arm_without_mass_is_refused():
    model = create("R", np.eye(3)[None], np.zeros((1, 3)), [0.0], np.zeros((1, 3)), np.zeros((1, 3, 3)))
    with pytest.raises(ModelError, match="an arm must have mass"):
        export.mjcf(model, adjust=True)


def test_a_link_without_anything_is_given_mass_that_is_felt_if_allowed():
    model = subject("physical3")
    mass, inertia = model.mass.copy(), model.inertia.copy()
    mass[1], inertia[1] = 0.0, 0.0
    hollow = dataclasses.replace(model, mass=mass, inertia=inertia)
    with pytest.raises(ModelError, match="link 'link2'"):
        export.mjcf(hollow)
    (note,) = (n for n in export.mjcf_with_notes(hollow, adjust=True).notes if "link2" in n)
    assert "which the joints feel" in note
    mujoco.MjModel.from_xml_string(export.mjcf(hollow, adjust=True))


def test_the_bare_chain_is_the_chain():
    """What benchmarks and referees build from: the same arm without its surroundings."""
    model = subject("physical5")
    m = mujoco.MjModel.from_xml_string(bare_mjcf(model))
    assert (m.nbody, m.ngeom, m.nsite, m.nu) == (model.n + 1, 0, 0, 0)
    assert not m.jnt_limited.any()
    assert not m.dof_frictionloss.any()


# ---- limits at the edge


def edge_of_limits():
    return dataclasses.replace(
        subject("physical5"),
        kinds="RRPPR",
        lower=[-math.inf, 0.0, -math.inf, 0.2, -1.0],
        upper=[2.0, 0.0, math.inf, 0.2, math.inf],
        effort=[0.0, math.inf, 3.0, 1.0, 1.0],
        velocity=[0.0, math.inf, 3.0, 1.0, 1.0],
        ready=np.zeros(5),
    )


@pytest.mark.parametrize("actuators", export.ACTUATORS)
def test_mujoco_takes_limits_of_every_kind(actuators):
    m = InMuJoCo(export.mjcf(edge_of_limits(), actuators=actuators)).model
    np.testing.assert_array_equal(m.jnt_limited, [1, 1, 0, 1, 1])
    np.testing.assert_allclose(m.jnt_range[[0, 1, 3, 4]], [[-1e10, 2], [0, 0], [0.2, 0.2], [-1, 1e10]], atol=1e-200)
    np.testing.assert_array_equal(m.jnt_actfrclimited, [1, 0, 1, 1, 1])
    np.testing.assert_allclose(m.jnt_actfrcrange[:, 1], [0, 0, 3, 1, 1], atol=1e-200)


def test_urdf_takes_limits_of_every_kind():
    model = edge_of_limits()
    text = export.urdf(model)
    kinds = [joint.get("type") for joint in ET.fromstring(text).findall("joint") if joint.get("type") != "fixed"]
    assert kinds == ["revolute", "revolute", "prismatic", "prismatic", "revolute"]
    read = urdf.parse(text)
    for what in ("lower", "upper", "velocity", "effort"):
        np.testing.assert_array_equal(getattr(read, what), np.clip(getattr(model, what), -NO_LIMIT, NO_LIMIT))
    assert pin.buildModelFromXML(text).nv == 5


# ---- shapes in URDF


def test_a_capsule_is_a_cylinder_and_two_spheres(tmp_path):
    """Read by Pinocchio and measured by Coal: the three together are as far from a ball as the capsule is."""
    import coal

    arm = er.Arm(catalogue.load("panda").with_base(pose(rx(0.3) @ rz(1.0), (0.1, -0.2, 0.3))))
    path = tmp_path / "arm.urdf"
    path.write_text(export.urdf(arm.model))
    model = pin.buildModelFromUrdf(str(path))
    shapes = pin.buildGeomFromUrdf(model, str(path), pin.GeometryType.COLLISION)
    data, places = model.createData(), shapes.createData()
    body = geometry.Body(arm)
    rng = np.random.default_rng(5)
    for q in states(arm.model, 5).q:
        pin.updateGeometryPlacements(model, data, shapes, places, q)
        centre = rng.uniform(-1, 1, 3) * 1.5
        ball, at = coal.Sphere(0.05), coal.Transform3s(np.eye(3), centre)
        apart: dict[int, float] = {}
        for g, shape in enumerate(shapes.geometryObjects):
            T = places.oMg[g]
            here = coal.Transform3s(T.rotation, T.translation)
            result = coal.DistanceResult()
            coal.distance(shape.geometry, here, ball, at, coal.DistanceRequest(), result)
            link = shape.parentJoint - 1  # -1 is the base, and each link of this arm has one capsule
            apart[link] = min(apart.get(link, math.inf), result.min_distance)
        for capsule, link in zip(body.capsules(q), body.links, strict=True):
            true = geometry.distance(capsule, geometry.Sphere(centre, 0.05)).distance
            if true > 0:
                assert apart[link] == pytest.approx(true, abs=1e-6)  # Coal's own tolerance


@pytest.mark.parametrize("name", CATALOGUE)
def test_our_reader_covers_every_capsule(name):
    """It keeps the spheres and puts a capsule about each cylinder, so nothing of the arm is left outside."""
    model = catalogue.load(name)
    read = urdf.parse(export.urdf(model)).capsules
    assert {c.link for c in read} == {c.link for c in model.capsules}
    for capsule in model.capsules:
        found = [geometry.Capsule(c.a, c.b, c.radius) for c in read if c.link == capsule.link]
        a, b = np.array(capsule.a), np.array(capsule.b)
        for end in (a, b):
            inside = [geometry.distance(geometry.Sphere(end, 0.0), c).distance for c in found]
            assert min(inside) < -capsule.radius + 1e-12  # so deep that the whole ball about the end is inside
        for x in around(a, b, capsule.radius):
            assert min(geometry.distance(geometry.Sphere(x, 0.0), c).distance for c in found) < 1e-6  # of a round fit


def around(a, b, radius):
    """Points on both rims of the cylinder about a segment; none where it has no length."""
    length = np.linalg.norm(b - a)
    if length == 0:
        return []
    R = z_to((b - a) / length)
    turns = [radius * (R @ [math.cos(x), math.sin(x), 0.0]) for x in np.linspace(0, 6, 7)]
    return [end + turn for end in (a, b) for turn in turns]


# ---- names

EVIL = ("<&\"'>", "-->", "Ärmel ü", "a\nb\tc", "")
SHAPES = (
    LinkCapsule("world", -1, (0, 0, 0), (0, 0, 0.1), 0.1),
    LinkCapsule("]]>", 0, (0, 0, 0), (0.1, 0, 0), 0.1),
    LinkCapsule("x\x1b[31m", 4, (0, 0, 0), (0, 0, 0), 0.1),
)


def evil(**changes):
    plain = {"name": "--evil-->", "joint_names": EVIL, "link_names": EVIL, "capsules": SHAPES}
    return dataclasses.replace(subject("physical5"), **(plain | changes))


def test_names_are_kept_whatever_they_hold():
    kept = (*EVIL[:4], "link5")
    m = InMuJoCo(export.mjcf(evil(), actuators="torque")).model
    assert [m.body(i).name for i in range(2, m.nbody)] == list(kept)
    assert [m.joint(i).name for i in range(m.njnt)] == [*EVIL[:4], "joint5"]
    assert [m.actuator(i).name for i in range(m.nu)] == [*EVIL[:4], "joint5"]
    assert {m.geom(i).name for i in range(m.ngeom)} == {"world", "]]>", "x_[31m"}
    read = urdf.parse(export.urdf(evil()))
    assert (read.name, read.link_names, read.joint_names) == ("--evil-->", kept, (*EVIL[:4], "joint5"))
    assert list(pin.buildModelFromXML(export.urdf(evil())).names)[1:] == [*EVIL[:4], "joint5"]


@pytest.mark.parametrize("write", [export.mjcf_with_notes, export.urdf_with_notes])
def test_names_that_had_to_change_are_told(write):
    told = write(evil())
    text = "\n".join(told.notes)
    assert "link '' is named 'link5' here" in text
    assert r"capsule 'x\x1b[31m' is named 'x_[31m' here" in text
    assert told.text.isascii()


@pytest.mark.parametrize("write", [export.mjcf_with_notes, export.urdf_with_notes])
def test_a_note_does_not_end_its_comment(write):
    told = write(evil(link_names=("--", "--", "---", "---", "-->"), joint_names=("-->",) * 5))
    assert sum("is named" in note for note in told.notes) >= 6
    ET.fromstring(told.text)


def test_one_name_twice_and_names_of_ours():
    """base, tool and world are ours to give; where the arm has them already, ours step aside."""
    taken = ("world", "base", "base", "tool", "base_2")
    model = evil(link_names=taken, joint_names=("world_to_base", "to_tool", "j", "j", "j"), capsules=())
    read = urdf.parse(export.urdf(model))
    assert read.link_names == ("world", "base", "base_2", "tool", "base_2_2")
    assert read.joint_names == ("world_to_base", "to_tool", "j", "j_2", "j_3")
    m = InMuJoCo(export.mjcf(model)).model
    names = [m.body(i).name for i in range(m.nbody)]
    assert names[0] == "world"
    assert names[2:] == ["world_2", "base", "base_2", "tool", "base_2_2"]
    assert len(set(names)) == len(names)


# ---- what the caller adds, and the text


def test_extra_goes_into_the_world():
    model = catalogue.load("panda")
    text = export.mjcf(model, extra='<light pos="0 0 3"/><body name="box"><geom name="b" size="0.1"/></body>')
    m = InMuJoCo(text).model
    assert m.body("box").parentid == 0
    assert m.nkey == 1
    free = '<body name="ball"><freejoint/><geom name="b" size="0.1"/></body>'
    m = InMuJoCo(export.mjcf(model, extra=free, actuators="position")).model
    assert (m.nq, m.nkey) == (14, 0)  # a keyframe of seven numbers would not fit


@pytest.mark.parametrize("extra", ["<body>", "</worldbody><body/>", "&nosuch;", '<!DOCTYPE x [<!ENTITY a "b">]>'])
def test_extra_that_is_no_xml_is_refused(extra):
    with pytest.raises(ModelError, match="extra must be well-formed XML"):
        export.mjcf(catalogue.load("panda"), extra=extra)


def test_short_capsules_and_spheres():
    shapes = [
        LinkCapsule("ball", 0, (0.1, 0.2, 0.3), (0.1, 0.2, 0.3), 0.1),
        LinkCapsule("grain", 1, (0, 0, 0), (0, 0, 1e-15), 0.1),
        LinkCapsule("short", 2, (0, 0, 0), (0, 0, 1.1e-6), 0.1),
    ]
    model = dataclasses.replace(subject("physical3"), capsules=tuple(shapes))
    m = InMuJoCo(export.mjcf(model)).model
    kinds = [mujoco.mjtGeom(m.geom(c.name).type[0]).name for c in shapes]
    assert kinds == ["mjGEOM_SPHERE", "mjGEOM_SPHERE", "mjGEOM_CAPSULE"]
    np.testing.assert_array_equal(m.geom("ball").pos, [0.1, 0.2, 0.3])
    assert pin.buildModelFromXML(export.urdf(model)).nv == 3


@pytest.mark.parametrize("name", CATALOGUE)
def test_the_same_arm_gives_the_same_text(name):
    for write in (export.urdf, functools.partial(export.mjcf, adjust=True, actuators="position")):
        assert write(catalogue.load(name)) == write(catalogue.load(name))


def test_numbers_are_written_to_the_last_digit():
    third = chains.planar(1, length=1 / 3)
    assert f'{1 / 3!r} 0 0"' in export.mjcf(third)  # the tool
    assert f'xyz="{1 / 3!r} 0 0"' in export.urdf(third)
