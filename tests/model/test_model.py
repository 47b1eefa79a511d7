"""Model: immutable, validated, hashed by content; payload, tool, base; what looks wrong is said by name."""

from __future__ import annotations

import dataclasses
import math
import pickle
import warnings

import numpy as np
import pytest

import elbowroom as er
from elbowroom.errors import ModelError, ModelWarning
from elbowroom.model import Model, chains, create, findings
from elbowroom.model.rotations import cos_sin, rpy, z_to
from referees import CATALOGUE, physical_chain, physical_tensor

NO_ARRAYS = {"name", "kinds", "joint_names", "link_names", "description", "source"}
NO_ARRAYS |= {"capsules", "covers", "has_ready", "estimated"}
ARRAYS = [f.name for f in dataclasses.fields(Model) if f.name not in NO_ARRAYS]


def plain(**changes):
    """A sound arm of two links, with changes."""
    fields = {
        "kinds": "RP",
        "E": np.array([np.eye(3)] * 2),
        "p": np.zeros((2, 3)),
        "mass": np.ones(2),
        "com": np.zeros((2, 3)),
        "inertia": np.array([np.diag([0.1, 0.1, 0.1])] * 2),
        "lower": [-1, 0],
        "upper": [1, 0.5],
        "velocity": [1, 1],
        "effort": [10, 10],
        "joint_names": ["turn", "slide"],
        "link_names": ["column", "carriage"],
        "name": "plain",
    } | changes
    return create(**fields)


# Immutability.


@pytest.mark.parametrize("field", ARRAYS)
def test_every_array_is_read_only_and_of_floats(field):
    array = getattr(er.load("panda").model, field)
    assert array.dtype == np.float64
    with pytest.raises(ValueError, match="read-only"):
        array[...] = 0


def test_fields_cannot_be_set():
    with pytest.raises(dataclasses.FrozenInstanceError):
        plain().mass = np.zeros(2)


def test_the_callers_arrays_stay_the_callers():
    mass = np.ones(2)
    m = plain(mass=mass)
    mass[0] = 5.0
    assert m.mass[0] == 1.0
    assert mass.flags.writeable


# Content.


def test_equal_content_is_equal():
    assert plain() == plain()
    assert hash(plain()) == hash(plain())
    assert plain() != plain(mass=[1, 2])
    assert plain() != "plain"
    assert len({plain(), plain(), plain(effort=[1, 2])}) == 2


@pytest.mark.parametrize("field", ARRAYS)
def test_every_array_is_in_the_digest(field):
    m = physical_chain(3, seed=1)
    value = np.array(getattr(m, field))
    if field in ("E", "base", "tool"):
        R = rpy(0.1, 0.2, 0.3)
        value[..., :3, :3] = R @ value[..., :3, :3]
    elif field == "inertia":
        value = value * 1.001
    elif field in ("lower", "upper", "velocity", "effort"):
        value = np.array([1.0, 1.0, 1.0]) if field != "lower" else -np.ones(3)
    else:
        value = value + 1e-12
    assert dataclasses.replace(m, **{field: value}).digest != m.digest


def test_an_arm_with_a_ready_pose_of_its_own_is_another_with_the_same_kernels():
    given, searched = plain(ready=[0.0, 0.0]), plain()
    assert (given.has_ready, searched.has_ready) == (True, False)
    assert (given.ready == searched.ready).all()
    assert given.digest == searched.digest
    assert given != searched


def test_minus_zero_is_zero():
    assert plain(p=np.array([[0, -0.0, 0], [0, 0, 0]])).digest == plain().digest


def test_a_pickled_model_is_the_same():
    m = er.load("scara").model
    again = pickle.loads(pickle.dumps(m))
    assert again == m


# Validation.


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"kinds": "RX"}, r"plain: kinds must be one letter a joint, R \(revolute\) or P \(prismatic\); got 'RX'"),
        ({"kinds": "", "lower": None, "upper": None}, "kinds must be one letter a joint"),
        ({"joint_names": ["one"]}, "joint_names must have 2 names; got 1"),
        ({"link_names": ["a", "b", "c"]}, "link_names must have 2 names; got 3"),
        ({"mass": [1, -2]}, "link 'carriage': mass must not be negative; got -2 kg"),
        ({"mass": [1, math.nan]}, r"mass must be finite; got nan at \(1,\)"),
        ({"mass": [1, math.inf]}, r"mass must be finite; got inf at \(1,\)"),
        ({"mass": [1, 2, 3]}, r"mass must have shape \(2,\); got \(3,\)"),
        ({"com": np.zeros((2, 2))}, r"com must have shape \(2, 3\); got \(2, 2\)"),
        ({"lower": [2, 0]}, "joint 'turn': lower limit must not exceed the upper one; got 2 > 1"),
        ({"lower": [math.nan, 0]}, "lower must be finite; got nan"),
        ({"lower": [0]}, r"lower must have shape \(2,\); got \(1,\)"),
        ({"viscous": [0, -1]}, "joint 'slide': viscous must not be negative; got -1"),
        ({"coulomb": [-1, 0]}, "joint 'turn': coulomb must not be negative; got -1"),
        ({"rotor_inertia": [-1, 0]}, "joint 'turn': rotor_inertia must not be negative"),
        ({"velocity": [-1, 0]}, "joint 'turn': velocity must not be negative"),
        ({"effort": [1, -3]}, "joint 'slide': effort must not be negative; got -3"),
        ({"E": np.array([np.eye(3), 2 * np.eye(3)])}, "joint 'slide': placement rotation E must be a rotation"),
        ({"E": np.array([np.diag([1, 1, -1]), np.eye(3)])}, "joint 'turn': placement rotation E must be a rotation"),
        ({"base": np.diag([1, 1, 1, 2])}, "last row of the base pose must be 0 0 0 1"),
        ({"tool": np.diag([1, -1, 1, 1])}, "tool pose must be a rotation"),
        ({"base": np.eye(3)}, r"base must have shape \(4, 4\); got \(3, 3\)"),
        ({"gravity": [0, 0]}, r"gravity must have shape \(3,\); got \(2,\)"),
        ({"ready": [math.inf, 0]}, "ready must be finite"),
    ],
)
def test_what_never_has_a_meaning_is_refused_by_name(changes, message):
    with pytest.raises(ModelError, match=message):
        plain(**changes)


def test_an_asymmetric_tensor_is_refused():
    tensor = np.diag([0.1, 0.1, 0.1])
    tensor[0, 1] = 0.01
    with pytest.raises(ModelError, match=r"link 'carriage': inertia must be symmetric; entries differ by 0\.01"):
        plain(inertia=[np.eye(3), tensor])


# Defaults.


def test_what_is_left_out():
    m = create("R", [np.eye(3)], [[0, 0, 0]], [1], [[0, 0, 0]], [np.eye(3)])
    assert m.joint_names == ("joint1",)
    assert m.link_names == ("link1",)
    assert (m.lower, m.upper, m.velocity, m.effort) == ([-np.inf], [np.inf], [np.inf], [np.inf])
    assert np.array_equal(m.gravity, [0, 0, -9.81])
    assert np.array_equal(m.base, np.eye(4))
    assert np.array_equal(m.tool, np.eye(4))


def test_ready_is_zero_where_the_limits_allow_it_else_the_middle():
    assert np.array_equal(plain(lower=[-1, 0.2], upper=[1, 0.6]).ready, [0, 0.4])


def test_gear_ratio_reflects_the_rotor():
    assert np.array_equal(plain(rotor_inertia=[1e-4, 2e-4], gear_ratio=[-100, 10]).rotor_inertia, [1.0, 0.02])


# Variants.


def test_with_payload_by_hand():
    """A point of 2 kg at 0.3 m beyond the tool of a 1 kg link: one body of 3 kg, parallel axes."""
    tool = np.eye(4)
    tool[0, 3] = 0.5
    m = plain(tool=tool).with_payload(2.0, (0.3, 0, 0))
    assert m.mass[-1] == 3.0
    assert np.allclose(m.com[-1], [1.6 / 3, 0, 0], rtol=1e-15)
    moved = 0.1 + (1 * 2 / 3) * 0.8**2
    assert np.allclose(m.inertia[-1], np.diag([0.1, moved, moved]), rtol=1e-14)
    assert np.array_equal(m.mass[:-1], plain().mass[:-1])
    assert plain(tool=tool).mass[-1] == 1.0


def test_no_payload_changes_nothing():
    m = er.load("panda").model
    assert np.allclose(m.with_payload(0.0).inertia, m.inertia, rtol=1e-15)


@pytest.mark.parametrize("mass", [-1.0, math.nan, math.inf])
def test_a_bad_payload_mass(mass):
    with pytest.raises(ModelError, match="payload mass must be finite and not negative"):
        plain().with_payload(mass)


def test_a_bad_payload_body():
    with pytest.raises(ModelError, match=r"payload com must have shape \(3,\); got \(2,\)"):
        plain().with_payload(1.0, (0, 0))
    with pytest.raises(ModelError, match=r"payload inertia must have shape \(3, 3\)"):
        plain().with_payload(1.0, (0, 0, 0), [1, 1, 1])
    with pytest.raises(ModelError, match="payload com must be finite"):
        plain().with_payload(1.0, (0, math.nan, 0))


def test_a_bad_tool():
    with pytest.raises(ModelError, match="tool pose must be a rotation"):
        er.load("panda").with_tool(np.diag([1, 1, 2, 1]))
    with pytest.raises(ModelError, match=r"tool must have shape \(4, 4\)"):
        er.load("panda").with_tool(np.eye(3))


# What looks wrong, by name.


def test_a_sound_arm_has_no_findings():
    assert findings(plain()) == []
    assert findings(plain(velocity=[20, 1e9])) == []  # a quick joint, and one whose file says that it has no limit


@pytest.mark.parametrize(
    "changes, where, what",
    [
        ({"mass": [1, 0]}, "link 'carriage'", "mass is zero on a moving link"),
        ({"inertia": [np.eye(3), np.zeros((3, 3))]}, "link 'carriage'", "inertia is not positive definite"),
        ({"inertia": [np.diag([1, 1, -1]), np.eye(3)]}, "link 'column'", "inertia is not positive definite"),
        ({"inertia": [np.diag([1, 1, 2.1]), np.eye(3)]}, "link 'column'", "violates the triangle inequality"),
        ({"lower": [-1, -np.inf], "upper": [1, np.inf]}, "joint 'slide'", "a prismatic joint has no position limits"),
        ({"lower": [0, 0], "upper": [0, 1]}, "joint 'turn'", "position limits leave no room: both are 0"),
        ({"velocity": [0, 1]}, "joint 'turn'", "velocity limit is zero"),
        ({"velocity": [180, 1]}, "joint 'turn'", "velocity limit of 180 rad/s: is it in degrees a second?"),
        ({"velocity": [1, 250]}, "joint 'slide'", "velocity limit of 250 m/s: is it in millimetres a second?"),
        ({"lower": [-150, 0], "upper": [150, 1]}, "joint 'turn'", "150 rad is 24 turns: is it in degrees?"),
        ({"p": [(0, 0, 333.0), (0, 0, 0)]}, "joint 'turn'", "333 m from the joint before: is that in millimetres?"),
        ({"effort": [1, 0]}, "joint 'slide'", "effort limit is zero"),
    ],
)
def test_findings_name_the_link_or_joint(changes, where, what):
    found = findings(plain(**changes))
    assert [f.where for f in found] == [where]
    assert what in found[0].what
    assert found[0].severity == "warning"
    assert str(found[0]).startswith(where)


def test_the_boundary_of_the_triangle_inequality_is_silent():
    """A thin rod: moments 0, m l^2/12 twice would be singular; flat plates have I_x + I_y = I_z exactly."""
    assert findings(plain(inertia=[np.diag([1, 2, 3.0]), np.eye(3)])) == []


def arm_of(**changes):
    m = plain(**changes)
    columns = {f: getattr(m, f) for f in ("mass", "com", "inertia", "lower", "upper", "velocity", "effort")}
    names = {"joint_names": m.joint_names, "link_names": m.link_names, "name": "plain"}
    return er.Arm.from_mdh(a=[0, 0], alpha=[0, math.pi / 2], d=[0, 0], kinds=m.kinds, **columns, **names)


def test_a_tip_without_mass_is_an_error_that_names_its_link():
    """Nothing to move at the last joint: M is singular."""
    with pytest.raises(ModelError, match=r"link 'carriage'.*mass matrix is not positive definite"):
        arm_of(mass=[1, 0], inertia=[np.eye(3), np.zeros((3, 3))])


def test_a_negative_moment_that_shows_in_m_is_an_error():
    with pytest.raises(ModelError, match=r"link 'column'.*not positive definite"):
        arm_of(inertia=[np.diag([1, 1, -30]), np.eye(3)])


def test_what_may_be_so_by_design_is_a_warning():
    with pytest.warns(ModelWarning, match="plain: link 'column': inertia violates the triangle inequality"):
        arm_of(inertia=[np.diag([1, 1, 2.5]), np.eye(3)])
    with pytest.warns(ModelWarning, match="plain: joint 'turn': velocity limit is zero"):
        arm_of(velocity=[0, 1])


def test_a_massless_first_link_is_a_warning_where_m_is_sound():
    with pytest.warns(ModelWarning, match="link 'column': mass is zero"):
        arm = arm_of(mass=[0, 1])
    assert np.linalg.eigvalsh(arm.mass_matrix([0.3, 0.1])).min() > 0


@pytest.mark.parametrize("name", CATALOGUE)
def test_the_catalogue_loads_without_a_word(name):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        arm = er.load(name)
    assert not [f for f in arm.examine() if f.severity == "error"]


def test_the_puma_is_fine_and_says_why_when_asked():
    found = er.load("puma560").examine()
    assert any("mass is zero" in f.what for f in found)
    assert all(f.severity == "warning" for f in found)


# Chains.


@pytest.mark.parametrize("n", [1, 5, 20])
def test_random_chains_are_silent_and_the_same_each_time(n):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        a, b = er.chains.random(n, seed=1), er.chains.random(n, seed=1)
    assert a.model == b.model
    assert a.model != er.chains.random(n, seed=2).model
    assert a.n == n
    assert a.model.kinds == "R" * n


def test_random_chains_are_the_papers():
    m = chains.random(50, seed=3)
    assert m.mass.min() >= 1
    assert m.mass.max() <= 10
    assert m.inertia.min() >= 1
    assert m.inertia.max() <= 10
    assert np.linalg.eigvalsh(m.inertia).min() > 0
    assert any("triangle" in f.what for f in findings(m)), "as the paper's tensors do; the algorithms do not care"


def test_random_chain_pinned():
    """The same numbers on every machine and release: published counts and benchmarks rest on them."""
    m = chains.random(2, seed=0)
    assert np.allclose(m.mass, [5.89262492, 9.41565181], atol=1e-8)
    assert np.allclose(m.p[:, 0], [0.13696169, -0.23021329], atol=1e-8)


def test_kinds_of_a_random_chain():
    assert er.chains.random(3, seed=1, kinds="RPR").model.kinds == "RPR"
    with pytest.raises(ModelError, match="kinds must have 3 letters"):
        er.chains.random(3, seed=1, kinds="RP")


@pytest.mark.parametrize("n", [0, -1, 2.0, "3"])
@pytest.mark.parametrize("make", [er.chains.random, er.chains.planar])
def test_a_chain_needs_joints(make, n):
    with pytest.raises(ModelError, match="whole number of joints, at least 1"):
        make(n)


def test_planar_chain_in_closed_form():
    """Two equal rods hinged in the vertical plane: the double pendulum of every textbook."""
    m, length = 1.5, 0.8
    arm = er.chains.planar(2, length=length, mass=m)
    rng = np.random.default_rng(3)
    for q1, q2 in rng.uniform(-3, 3, (20, 2)):
        J, r = m * length**2 / 12, length / 2
        c2 = math.cos(q2)
        m22 = J + m * r * r
        m12 = m22 + m * length * r * c2
        m11 = 2 * J + m * r * r + m * (length**2 + r * r + 2 * length * r * c2)
        g2 = m * 9.81 * r * math.cos(q1 + q2)
        g1 = m * 9.81 * (r + length) * math.cos(q1) + g2
        assert np.allclose(arm.mass_matrix([q1, q2]), [[m11, m12], [m12, m22]], rtol=1e-13)
        assert np.allclose(arm.gravity_torque([q1, q2]), [g1, g2], rtol=1e-12, atol=1e-13)
        tip = length * np.array([math.cos(q1) + math.cos(q1 + q2), 0, math.sin(q1) + math.sin(q1 + q2)])
        assert np.allclose(arm.pose([q1, q2])[:3, 3], tip, atol=1e-15)


def test_planar_refuses_a_rod_of_nothing():
    with pytest.raises(ModelError, match=r"length and mass must be positive; got 0\.0 m and 1\.0 kg"):
        er.chains.planar(2, length=0.0)


# Rotations.


@pytest.mark.parametrize("axis", [(1, 0, 0), (0, -1, 0), (0, 0, 1), (0, 0, -1), (1, 2, 3), (0, 3, -4), (1e-9, 0, 1)])
def test_z_to_carries_z_onto_the_axis(axis):
    R = z_to(axis)
    assert np.allclose(R @ [0, 0, 1], np.array(axis) / np.linalg.norm(axis), atol=1e-15)
    assert np.allclose(R @ R.T, np.eye(3), atol=1e-15)
    assert np.linalg.det(R) == pytest.approx(1.0)
    if np.count_nonzero(axis) == 1:
        assert set(np.abs(R).ravel()) == {0.0, 1.0}, "a signed permutation, exactly"


def test_rpy_is_urdfs():
    """Fixed axes: roll about x first, then pitch about y, then yaw about z."""
    R = rpy(0.1, 0.2, 0.3)
    assert R[2, 0] == pytest.approx(-math.sin(0.2))
    assert math.atan2(R[2, 1], R[2, 2]) == pytest.approx(0.1)
    assert math.atan2(R[1, 0], R[0, 0]) == pytest.approx(0.3)


def test_printed_right_angles_are_right_angles_and_others_not():
    assert cos_sin(1.57079632679) == (0.0, 1.0)
    assert cos_sin(-3.14159265359) == (-1.0, 0.0)
    assert cos_sin(1.5708) != (0.0, 1.0)
    assert cos_sin(1e-9) == (math.cos(1e-9), math.sin(1e-9))


def test_merged_tensor_is_that_of_all_particles():
    """with_payload on particles: the merged body equals the cloud of both."""
    rng = np.random.default_rng(9)
    a, b = rng.normal(size=(5, 3)), rng.normal(size=(4, 3))

    def body(x, m):
        c = x.mean(axis=0)
        S = (x - c).T @ (x - c) * m
        return len(x) * m, c, np.trace(S) * np.eye(3) - S

    mass, com, inertia = body(a, 0.3)
    m = plain(mass=[1, mass], com=[[0, 0, 0], com], inertia=[np.eye(3), inertia])
    both = m.with_payload(*body(b, 0.3))
    total, centre, tensor = body(np.vstack([a, b]), 0.3)
    assert both.mass[-1] == pytest.approx(total, rel=1e-15)
    assert np.allclose(both.com[-1], centre, atol=1e-14)
    assert np.allclose(both.inertia[-1], tensor, atol=1e-13)
    assert physical_tensor(rng, 1.0).shape == (3, 3)


def test_a_rotation_typed_with_six_decimals_becomes_one():
    exact = chains.random(3, 5)
    typed = dataclasses.replace(exact, E=np.round(exact.E, 6))
    assert np.abs(typed.E @ typed.E.transpose(0, 2, 1) - np.eye(3)).max() < 1e-14  # a few roundings
    assert np.abs(typed.E - exact.E).max() < 2e-6  # six decimals
    with pytest.raises(ModelError, match="must be a rotation matrix"):
        dataclasses.replace(exact, E=np.round(exact.E, 3))
    assert np.array_equal(chains.planar(3).E[0], [[1, 0, 0], [0, 0, -1], [0, 1, 0]])  # exact ones stay exact


def test_a_ready_configuration_outside_the_limits_is_noted():
    model = chains.planar(2)
    outside = dataclasses.replace(model, ready=np.array([0.0, 9.0]))
    assert any("ready configuration 9 is outside" in str(f) for f in findings(outside))
    assert not any("ready" in str(f) for f in findings(model))


def test_a_payload_that_cannot_be_is_refused():
    model = chains.planar(2)
    with pytest.raises(ModelError, match="negative moments"):
        model.with_payload(1.0, inertia=-np.eye(3))
    with pytest.raises(ModelError, match="symmetric"):
        model.with_payload(1.0, inertia=[[1, 2, 0], [0, 1, 0], [0, 0, 1]])


@pytest.mark.parametrize(
    "lower, upper",
    [(-math.inf, math.inf), (5.0, math.inf), (-math.inf, -5.0), (-1e308, 1e308), (0.1, 0.2), (-3.0, 3.0), (0.0, 0.0)],
)
def test_configurations_are_drawn_within_the_limits(lower, upper):
    model = dataclasses.replace(
        chains.planar(2), lower=np.full(2, lower), upper=np.full(2, upper), ready=np.full(2, np.clip(0, lower, upper))
    )
    low, high = model.sampling_range()
    assert np.isfinite([low, high]).all()
    assert (low <= high).all()
    assert (low >= lower).all()
    assert (high <= upper).all()
    assert (np.random.default_rng(0).uniform(low, high) <= upper).all()
    if upper - lower > 1:
        assert (high - low >= 1).all()
