"""Magnitudes: no way in takes a model that cannot be computed, and what it says names the link."""

from __future__ import annotations

import dataclasses
import math
import warnings

import numpy as np
import pytest

import elbowroom as er
from elbowroom.dynamics.whole_arm import LEAST, LOST, lost_joint
from elbowroom.errors import ModelError, ModelWarning
from elbowroom.model import LinkCapsule, check, create, urdf
from elbowroom.model.rotations import z_to

HUGE = (1e308, -1e308, 1e160, math.inf, math.nan)


def fields(**changes):
    """Two joints, as `create` takes them."""
    return {
        "kinds": "RP",
        "E": np.array([np.eye(3)] * 2),
        "p": np.zeros((2, 3)),
        "mass": np.ones(2),
        "com": np.zeros((2, 3)),
        "inertia": np.array([0.1 * np.eye(3)] * 2),
        "rotor_inertia": np.zeros(2),
        "viscous": np.zeros(2),
        "coulomb": np.zeros(2),
        "joint_names": ("turn", "slide"),
        "link_names": ("column", "carriage"),
        "name": "toy",
    } | changes


def with_one(array, value):
    """The array with one entry of its last row replaced; a tensor stays symmetric."""
    changed = np.array(array, dtype=float)
    changed[(-1,) + (0,) * (changed.ndim - 1)] = value
    return changed


MODEL = create(**fields())
OWNER = {"mass": "link 'carriage'", "com": "link 'carriage'", "inertia": "link 'carriage'"}


@pytest.mark.parametrize("value", HUGE)
@pytest.mark.parametrize("field", [f for f in check.FIELDS if f != "gravity"])
def test_the_constructor_refuses_by_name(field, value):
    changed = {field: with_one(getattr(MODEL, field), value)}
    owner = OWNER.get(field, "joint 'slide'")
    for make in (lambda: dataclasses.replace(MODEL, **changed), lambda: create(**fields(**changed))):
        with pytest.raises(ModelError, match=f"toy: {owner}: {field} must be (finite|at most)"):
            make()


@pytest.mark.parametrize("value", HUGE)
@pytest.mark.parametrize("what", ["base", "tool"])
def test_poses_are_bounded(what, value):
    T = np.eye(4)
    T[0, 3] = value
    arm = er.Arm(MODEL)
    with pytest.raises(
        ModelError, match=f"toy: ({what} must be finite|origin of the {what} pose must be at most 10000 m)"
    ):
        getattr(arm, f"with_{what}")(T)
    T = np.eye(4)
    T[0, 1] = value
    with pytest.raises(ModelError, match=f"toy: {what} (pose )?must be"):
        getattr(arm, f"with_{what}")(T)
    with pytest.raises(ModelError, match="toy: gravity must be"):
        arm.with_gravity([0, 0, value])
    with pytest.raises(ModelError, match=f"{what} must be numbers"):
        getattr(arm, f"with_{what}")("here")


def test_a_rotation_of_huge_entries_is_none():
    """Squares that overflow compared false with every tolerance, and the nearest rotation was taken."""
    E = np.array([np.eye(3), 1e200 * np.eye(3)])
    with pytest.raises(ModelError, match="joint 'slide': placement rotation E must be a rotation"):
        create(**fields(E=E))


@pytest.mark.parametrize("value", HUGE)
def test_payloads_are_bounded(value):
    arm = er.Arm(MODEL)
    with pytest.raises(ModelError, match="toy: payload mass must"):
        arm.with_payload(value)
    with pytest.raises(ModelError, match="toy: payload com must"):
        arm.with_payload(1.0, [value, 0, 0])
    with pytest.raises(ModelError, match="toy: payload inertia must"):
        arm.with_payload(1.0, [0, 0, 0], np.diag([value, 1, 1]))


DH = {"a": "DH column a", "d": "DH column d", "alpha": "DH column alpha", "theta": "DH column theta"}


@pytest.mark.parametrize("value", HUGE)
@pytest.mark.parametrize("maker", [er.Arm.from_mdh, er.Arm.from_dh])
def test_dh_tables_are_bounded(maker, value):
    table = {key: np.zeros(2) for key in DH}
    rest = {key: x for key, x in fields().items() if key not in ("E", "p")}
    for key, said in DH.items():
        with pytest.raises(ModelError, match=f"{said}(, row 1,)? must be"):
            maker(**(table | {key: with_one(table[key], value)}), **rest)
    for key in ("mass", "com", "inertia"):
        with pytest.raises(ModelError, match=f"link 'carriage': {key} must be"):
            maker(**table, **(rest | {key: with_one(rest[key], value)}))
    with pytest.raises(ModelError, match="gear_ratio must be at most"):
        maker(**table, **rest, gear_ratio=[1.0, value])
    with pytest.raises(ModelError, match="joint 'slide': rotor_inertia must be"):
        maker(**table, **(rest | {"rotor_inertia": with_one(np.zeros(2), value)}), gear_ratio=[1.0, 1e6])


TOML = """
name = "toy"
convention = "frames"
tool.xyz = [0, 0, 0.15]
tool.rpy = [0, 0, 0.2]
[[joint]]
name = "turn"
kind = "revolute"
xyz = [0, 0, 0.3]
rpy = [0, 0, 0.4]
axis = [0, 3, 4]
motor_inertia = 0.5
motor_viscous = 0.6
motor_coulomb = [0.7, 0.7]
gear_ratio = 8
link.name = "column"
link.mass = 9
link.com = [0, 0.11, 0]
link.com_rpy = [0, 0.12, 0]
link.inertia = [1.3, 1.3, 1.3, 0, 0, 0]
"""
IN_TOML = {
    "0.15": "tool.xyz",
    "0.2": "tool.rpy",
    "0.3": r"joint\[0\].xyz",
    "0.4": r"joint\[0\].rpy",
    "0.5": "joint 'turn': rotor_inertia",
    "0.6": "joint 'turn': viscous",
    "[0.7, 0.7]": "joint 'turn': coulomb",
    "8": "gear_ratio",
    "9": r"joint\[0\].link.mass \(link 'column'\)",
    "0.11": r"joint\[0\].link.com \(link 'column'\)",
    "0.12": r"joint\[0\].link.com_rpy",
    "1.3, 1.3, 1.3": r"joint\[0\].link.inertia \(link 'column'\)",
}


@pytest.mark.parametrize("value", ["1e308", "-1e308", "1e160"])
@pytest.mark.parametrize("old", IN_TOML)
def test_robot_files_are_bounded(tmp_path, old, value):
    path = tmp_path / "toy.toml"
    assert TOML.count(old) == 1
    path.write_text(
        TOML.replace(old, {"[0.7, 0.7]": f"[{value}, {value}]", "1.3, 1.3, 1.3": f"{value}, 1.3, 1.3"}.get(old, value))
    )
    with pytest.raises(ModelError, match=f"{IN_TOML[old]} must (be|not be)"):
        er.load(path)


@pytest.mark.parametrize("scale", [1e-300, 1e-160, 1.0, 1e160, 1e300])
def test_an_axis_is_a_direction_whatever_its_length(tmp_path, scale):
    np.testing.assert_allclose(z_to([0, 3 * scale, 4 * scale])[:, 2], [0, 0.6, 0.8], rtol=1e-15)
    path = tmp_path / "toy.toml"
    path.write_text(TOML.replace("[0, 3, 4]", f"[0, {3 * scale!r}, {4 * scale!r}]"))
    np.testing.assert_allclose(er.load(path).model.E[0][:, 2] @ [0, 0, 1], 0.8, atol=1e-15)


URDF = """<robot name="toy"><link name="base"/>
<link name="column"><inertial><origin xyz="COM 0 0" rpy="TURN 0 0"/><mass value="MASS"/>
<inertia ixx="IXX" iyy="1" izz="1" ixy="IXY"/></inertial></link>
<link name="hook"><inertial><mass value="HOOK"/><inertia ixx="1" iyy="1" izz="1"/></inertial></link>
<joint name="turn" type="revolute"><parent link="base"/><child link="column"/><origin xyz="XYZ 0 0" rpy="RPY 0 0"/>
<axis xyz="0 0 1"/><limit lower="-1" upper="1" velocity="1" effort="1"/>
<dynamics damping="DAMPING" friction="FRICTION"/></joint>
<joint name="weld" type="fixed"><parent link="column"/><child link="hook"/><origin xyz="WELD 0 0"/></joint></robot>"""
IN_URDF = {
    "COM": "link 'column': xyz of <origin>",
    "TURN": "link 'column': rpy of <origin>",
    "MASS": "link 'column': mass",
    "IXX": "link 'column': <inertia>",
    "IXY": "link 'column': <inertia>",
    "HOOK": "link 'hook': mass",
    "XYZ": "joint 'turn': xyz of <origin>",
    "RPY": "joint 'turn': rpy of <origin>",
    "WELD": "joint 'weld': xyz of <origin>",
    "DAMPING": "joint 'turn': viscous",
    "FRICTION": "joint 'turn': coulomb",
}


def urdf_with(**values):
    text = URDF
    for key in IN_URDF:
        text = text.replace(key, values.get(key, "1" if key in ("MASS", "IXX", "HOOK") else "0"))
    return text


def test_the_urdf_without_a_change_is_sound():
    assert urdf.parse(urdf_with()).n == 1


@pytest.mark.parametrize("value", ["1e308", "1e160"])
@pytest.mark.parametrize("key", IN_URDF)
def test_urdf_files_are_bounded_by_the_name_of_the_link_that_says_it(key, value):
    with pytest.raises(ModelError, match=f"{IN_URDF[key]} must be at most"):
        urdf.parse(urdf_with(**{key: value}))


def test_capsules_are_bounded():
    for changes in ({"a": (1e308, 0, 0)}, {"b": (0, -1e5, 0)}, {"radius": 1e5}):
        with pytest.raises(ModelError, match=f"capsule 'rod': {next(iter(changes))} must be at most 10000 m"):
            LinkCapsule(**({"name": "rod", "link": 0, "a": (0, 0, 0), "b": (0, 0, 1), "radius": 0.1} | changes))


def test_limits_may_be_numbers_that_stand_for_none():
    far = dataclasses.replace(MODEL, lower=np.full(2, -1e308), upper=np.full(2, 1e308), effort=np.full(2, 1e308))
    assert np.isfinite(far.sampling_range()).all()
    np.testing.assert_array_equal(create(**fields(lower=[5, -1e308], upper=[1e308, -3])).ready, [5, -3])


# ---- within the bounds everything can be computed


def test_at_the_bounds_every_quantity_is_finite():
    n = 7
    most = {what: bound.most for what, bound in check.FIELDS.items()}
    model = create(
        "R" * n,
        E=[np.eye(3), *[np.array([[1.0, 0, 0], [0, 0, -1], [0, 1, 0]])] * (n - 1)],
        p=np.full((n, 3), most["p"]),
        mass=np.full(n, most["mass"]),
        com=np.full((n, 3), most["com"]),
        inertia=[most["inertia"] * np.eye(3)] * n,
        gravity=np.full(3, most["gravity"]),
        viscous=np.full(n, most["viscous"]),
        coulomb=np.full(n, most["coulomb"]),
        rotor_inertia=np.full(n, most["rotor_inertia"]),
    )
    arm = er.Arm(model)
    assert not [f for f in arm.examine() if f.severity == "error"]
    q = np.linspace(-1, 1, n)
    single = 0.01 * np.finfo(np.float32).max
    M, b = arm.mass_matrix(q), arm.inverse_dynamics(q, q, q)
    for found in (M, b, arm.christoffel(q), arm.coriolis_matrix(q, q), arm.mass_matrix_inverse(q)):
        assert np.abs(found).max() < single


def test_a_mass_matrix_that_is_lost_is_an_error_by_link_name():
    """Inertias of 1e-40 at the tip, which no bound on magnitude refuses."""
    light = fields(mass=[1, 1e-40], inertia=[0.1 * np.eye(3), 1e-40 * np.eye(3)])
    table = {key: np.zeros(2) for key in DH}
    light = {key: value for key, value in light.items() if key not in ("E", "p")}
    with pytest.raises(ModelError, match="link 'carriage': the mass matrix is not positive definite"):
        er.Arm.from_mdh(**table, **light)


def test_a_light_tip_on_a_heavy_arm_is_no_loss():
    """The unscaled matrix has a condition of 1e15; each joint has all of its digits."""
    table = {key: np.zeros(2) for key in DH} | {"alpha": [0, math.pi / 2]}
    light = fields(mass=[1e3, 1e-9], inertia=[1e6 * np.eye(3), 1e-12 * np.eye(3)], lower=[-1, 0], upper=[1, 1])
    with warnings.catch_warnings():
        warnings.simplefilter("error", ModelWarning)
        er.Arm.from_mdh(**table, **{key: value for key, value in light.items() if key not in ("E", "p")})


def test_the_joint_that_is_lost():
    assert lost_joint(np.diag([1.0, 2.0])) is None
    assert lost_joint(np.diag([1.0, 0.0])) == 1
    assert lost_joint(np.diag([-1.0, 1.0])) == 0
    assert lost_joint(np.diag([math.inf, 1.0])) == 0
    assert lost_joint(np.array([[1.0, math.nan], [math.nan, 1.0]])) == 1
    assert lost_joint(np.diag([1.0, LEAST / 2])) == 1
    assert lost_joint(np.array([[1.0, 1.0], [1.0, 1.0 + LOST / 2]])) == 0  # of the first nothing is left
    assert lost_joint(np.array([[1.0, 1.0], [1.0, 1.0 + 4 * LOST]])) is None
