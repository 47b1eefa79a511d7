"""The catalogue: arms against closed forms, published figures and sources; every message of a bad file."""

from __future__ import annotations

import importlib.util
import math
import re
import tomllib
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

import elbowroom.model.catalogue as catalogue
from elbowroom.errors import ModelError, UnknownNameError
from elbowroom.model import Model, findings
from elbowroom.model.rotations import pose, rpy

SHELF = Path(catalogue.__file__).with_name("catalogue")
SHARED = Path(__file__).resolve().parents[3] / "shared" / "data" / "robots"
EXPECTED = ("iiwa14", "iiwa7", "panda", "planar2", "puma560", "scara", "stanford", "ur10e", "ur5e")
every = pytest.mark.parametrize("name", EXPECTED)


# What the tests compute with: products of matrices over the model's own fields, nothing of elbowroom's.


def frames(model: Model, q) -> list[np.ndarray]:
    """Link frames in the base, each (4, 4)."""
    T, found = np.eye(4), []
    for i in range(model.n):
        c, s = (math.cos(q[i]), math.sin(q[i])) if model.revolute(i) else (1.0, 0.0)
        slide = 0.0 if model.revolute(i) else q[i]
        motion = np.array([[c, -s, 0, 0], [s, c, 0, 0], [0, 0, 1, slide], [0, 0, 0, 1]])
        T = T @ pose(model.E[i], model.p[i]) @ motion
        found.append(T)
    return found


def jacobian(kinds: str, z, o, point, last: int) -> np.ndarray:
    """(6, n) of a point on link `last`, from the joints' axes z and points o on them."""
    J = np.zeros((6, len(kinds)))
    for j in range(last + 1):
        J[:, j] = np.r_[np.cross(z[j], point - o[j]), z[j]] if kinds[j] == "R" else np.r_[z[j], np.zeros(3)]
    return J


def mass_and_gravity(kinds: str, z, o, bodies, rotor) -> tuple[np.ndarray, np.ndarray]:
    """M = sum m Jv^T Jv + Jw^T I Jw + rotors, g = -sum m Jv^T gravity; bodies are (m, c, I) in the base."""
    M, g = np.diag(rotor).astype(float), np.zeros(len(kinds))
    for i, (mass, centre, inertia) in enumerate(bodies):
        Jv, Jw = np.split(jacobian(kinds, z, o, centre, i), 2)
        M += mass * Jv.T @ Jv + Jw.T @ inertia @ Jw
        g -= mass * Jv.T @ [0, 0, -9.81]
    return M, g


def of_model(model: Model, q) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Tool pose, M and g of an arm."""
    Ts = frames(model, q)
    z, o = [T[:3, 2] for T in Ts], [T[:3, 3] for T in Ts]
    bodies = [
        (model.mass[i], T[:3, :3] @ model.com[i] + T[:3, 3], T[:3, :3] @ model.inertia[i] @ T[:3, :3].T)
        for i, T in enumerate(Ts)
    ]
    return Ts[-1] @ model.tool, *mass_and_gravity(model.kinds, z, o, bodies, model.rotor_inertia)


def configurations(model: Model, count: int = 5) -> np.ndarray:
    """(count, n), uniform inside the limits."""
    return np.random.default_rng(7).uniform(model.lower, model.upper, (count, model.n))


def raw(name: str) -> dict:
    return tomllib.loads((SHELF / f"{name}.toml").read_text())


# Every arm.


def test_the_catalogue_has_these_arms_sorted():
    assert catalogue.names() == EXPECTED


@every
def test_loads_under_its_own_name_with_a_source_and_one_line_of_description(name):
    model = catalogue.load(name)
    assert model.name == name
    assert model.source
    assert model.description
    assert "\n" not in model.description + model.source


@every
def test_the_same_arm_twice_has_one_digest(name):
    assert catalogue.load(name).digest == catalogue.load(name).digest
    assert catalogue.load(name) == catalogue.from_toml(SHELF / f"{name}.toml")


def test_no_two_arms_are_equal():
    assert len({catalogue.load(name).digest for name in EXPECTED}) == len(EXPECTED)


@every
def test_nothing_makes_results_meaningless(name):
    assert [f for f in findings(catalogue.load(name)) if f.severity == "error"] == []


@every
def test_joint_and_link_names_are_different_ones(name):
    model = catalogue.load(name)
    assert len(set(model.joint_names)) == len(set(model.link_names)) == model.n


@every
def test_limits_are_known_and_ready_is_well_inside(name):
    model = catalogue.load(name)
    assert np.isfinite(model.lower).all()
    assert np.isfinite(model.upper).all()
    margin = 0.05 * (model.upper - model.lower)
    assert (model.ready > model.lower + margin).all()
    assert (model.ready < model.upper - margin).all()


@every
def test_ready_is_away_from_singularities(name):
    """The tool's Jacobian has all the rank it can; its least gain is 0.12 to 0.34 here, 0 when singular."""
    model = catalogue.load(name)
    rank = {"planar2": 2, "scara": 4}.get(name, 6)
    Ts = frames(model, model.ready)
    point = (Ts[-1] @ model.tool)[:3, 3]
    J = jacobian(model.kinds, [T[:3, 2] for T in Ts], [T[:3, 3] for T in Ts], point, model.n - 1)
    assert np.linalg.svd(J, compute_uv=False)[rank - 1] > 0.1


@every
def test_the_mass_matrix_is_positive_definite(name):
    model = catalogue.load(name)
    for q in configurations(model):
        assert np.linalg.eigvalsh(of_model(model, q)[1]).min() > 0


@every
def test_right_angles_are_exact(name):
    """All placements here are quarter turns: a 6e-17 would cost a traced program operations."""
    assert set(np.unique(catalogue.load(name).E)) <= {-1.0, 0.0, 1.0}


# Closed forms and published figures.


@pytest.mark.parametrize("q", [(0.0, 0.0), (0.3, -1.2), (-2.0, 2.5)])
def test_planar2_is_the_closed_form_in_its_file(q):
    l1, r1, r2, m1, m2, J1, J2 = 0.5, 0.25, 0.2, 3.0, 2.0, 0.0625, 0.027
    c1, c2, c12 = math.cos(q[0]), math.cos(q[1]), math.cos(q[0] + q[1])
    coupling = J2 + m2 * (r2**2 + l1 * r2 * c2)
    top = J1 + J2 + m1 * r1**2 + m2 * (l1**2 + r2**2 + 2 * l1 * r2 * c2)
    T, M, g = of_model(catalogue.load("planar2"), q)
    np.testing.assert_allclose(M, [[top, coupling], [coupling, J2 + m2 * r2**2]], atol=1e-14)
    np.testing.assert_allclose(g, [9.81 * ((m1 * r1 + m2 * l1) * c1 + m2 * r2 * c12), 9.81 * m2 * r2 * c12], atol=1e-13)
    np.testing.assert_allclose(
        T[:3, 3], [l1 * c1 + 0.4 * c12, 0, l1 * math.sin(q[0]) + 0.4 * math.sin(sum(q))], atol=1e-15
    )


def test_scara_tool_in_closed_form():
    q = (0.4, -0.9, 0.12, 0.3)
    T = of_model(catalogue.load("scara"), q)[0]
    x = 0.325 * math.cos(0.4) + 0.275 * math.cos(-0.5)
    y = 0.325 * math.sin(0.4) + 0.275 * math.sin(-0.5)
    np.testing.assert_allclose(T[:3, 3], [x, y, 0.3 - 0.12], atol=1e-15)
    np.testing.assert_allclose(T[:3, 2], [0, 0, -1], atol=1e-15)


def test_puma_at_its_nominal_pose_is_as_printed_in_corkes_book():
    """Robotics, Vision and Control, Puma 560 at qn: fkine, gravload and inertia, to the decimals printed.

    The book's arm stands without its pedestal, 0.67183 m lower.
    """
    model = catalogue.load("puma560")
    T, M, g = of_model(model, np.radians([0, 45, 180, 0, 45, 0]))
    np.testing.assert_allclose(T[:3, 3], [0.5963, -0.1501, -0.01435 + 0.67183], atol=6e-5)
    np.testing.assert_allclose(T[:3, :3], [[0, 0, 1], [0, 1, 0], [-1, 0, 0]], atol=1e-15)
    np.testing.assert_allclose(g, [0, 31.6399, 6.0351, 0, 0.0283, 0], atol=6e-5)
    printed = [
        [3.6594, -0.4044, 0.1006, -0.0025, 0, 0],
        [-0.4044, 4.4137, 0.3509, 0, 0.0024, 0],
        [0.1006, 0.3509, 0.9378, 0, 0.0015, 0],
        [-0.0025, 0, 0, 0.1925, 0, 0],
        [0, 0.0024, 0.0015, 0, 0.1713, 0],
        [0, 0, 0, 0, 0, 0.1941],
    ]
    np.testing.assert_allclose(M, printed, atol=6e-5)


def test_puma_drives_are_reflected_to_the_joints():
    model = catalogue.load("puma560")
    assert model.rotor_inertia[0] == pytest.approx(200e-6 * 62.6111**2)
    assert model.viscous[1] == pytest.approx(0.817e-3 * 107.815**2)
    assert model.coulomb[5] == pytest.approx((3.96e-3 + 10.5e-3) / 2 * 76.686)  # the mean of both directions


@pytest.mark.parametrize("name", ["puma560", "stanford"])
def test_standard_tables_agree_with_the_far_frames_they_are_written_in(name):
    """T_i = Rz(theta) Tz(d) Tx(a) Rx(alpha) by hand: axis i is z of frame i-1, link i lies in frame i."""
    model, table = catalogue.load(name), raw(name)["joint"]
    for q in configurations(model):
        T, z, o, bodies = np.eye(4), [], [], []
        for qi, row in zip(q, table, strict=True):
            z.append(T[:3, 2])
            o.append(T[:3, 3])
            turn = math.radians(row.get("theta_deg", 0)) + (qi if row["kind"] == "revolute" else 0)
            rise = row.get("d", 0) + (0 if row["kind"] == "revolute" else qi)
            T = T @ pose(rpy(0, 0, turn), [0, 0, rise])
            T = T @ pose(rpy(math.radians(row.get("alpha_deg", 0)), 0, 0), [row.get("a", 0), 0, 0])
            link, R = row["link"], T[:3, :3]
            assert link["inertia"][3:] == [0, 0, 0]
            inertia = R @ np.diag(link["inertia"][:3]) @ R.T
            bodies.append((link["mass"], R @ link["com"] + T[:3, 3], inertia))
        M, g = mass_and_gravity(model.kinds, z, o, bodies, model.rotor_inertia)
        tool, mine, weight = of_model(model, q)
        # 1e-11: sums of terms up to 300 kg m^2 (Stanford's far-out masses) in double precision
        np.testing.assert_allclose(tool, T, atol=1e-14)
        np.testing.assert_allclose(mine, M, atol=1e-11)
        np.testing.assert_allclose(weight, g, atol=1e-11)


# The sources themselves, where they are installed or at hand.


def urdf_of(name: str) -> tuple[str, str]:
    """The source's XML, cut behind the last link of ours, and the name of its tool's frame."""
    folders = {"iiwa7": ("diff_robot_data", "kuka_iiwa/urdf/iiwa7.urdf", "iiwa_link_ee")}
    folders["panda"] = (
        "cmeel",
        "../cmeel.prefix/share/example-robot-data/robots/panda_description/urdf/panda.urdf",
        "panda_link8",
    )
    folders["iiwa14"] = ("pybullet_data", "kuka_iiwa/model.urdf", "lbr_iiwa_link_7")
    package, path, tip = folders[name]
    spec = importlib.util.find_spec(package)
    where = [Path(p) / path for p in (spec.submodule_search_locations or ())] if spec else []
    found = [p for p in where if p.exists()]
    if not found:
        pytest.skip(f"{path} is not installed")
    root = ET.parse(found[0]).getroot()
    for element in [e for e in root if any(part in e.get("name", "") for part in ("hand", "finger"))]:
        root.remove(element)
    return ET.tostring(root, encoding="unicode"), tip


@pytest.mark.parametrize("name", ["panda", "iiwa7", "iiwa14"])
def test_urdf_arms_are_pinocchios_reading_of_their_source(name):
    """1e-9: the source prints right angles to eleven digits or more, and the arm is a metre long."""
    pin = pytest.importorskip("pinocchio")
    xml, tip = urdf_of(name)
    theirs, model = pin.buildModelFromXML(xml), catalogue.load(name)
    data, frame = theirs.createData(), theirs.getFrameId(tip)
    assert tuple(theirs.names)[1:] == model.joint_names
    for i, inertia in enumerate(list(theirs.inertias)[1:]):
        assert model.mass[i] == pytest.approx(inertia.mass, abs=1e-12)
        np.testing.assert_allclose(model.com[i], inertia.lever, atol=1e-12)
        np.testing.assert_allclose(model.inertia[i], inertia.inertia, atol=1e-12)
    limits = {"velocity": theirs.velocityLimit, "effort": theirs.effortLimit, "viscous": theirs.damping}
    limits |= {"lower": theirs.lowerPositionLimit, "upper": theirs.upperPositionLimit}
    for field, value in limits.items():
        np.testing.assert_allclose(getattr(model, field), value, atol=1e-11, err_msg=field)
    for q in configurations(model):
        T, M, g = of_model(model, q)
        pin.framesForwardKinematics(theirs, data, q)
        np.testing.assert_allclose(T, data.oMf[frame].homogeneous, atol=1e-9)
        upper = np.triu(pin.crba(theirs, data, q))
        np.testing.assert_allclose(M, upper + np.triu(upper, 1).T, atol=1e-8)
        np.testing.assert_allclose(g, pin.computeGeneralizedGravity(theirs, data, q), atol=1e-7)


def settings(path: Path) -> dict:
    """A YAML file of nested mappings, all that these are; values as text."""
    tree: dict = {}
    stack = [(-1, tree)]
    for line in path.read_text().splitlines():
        line = line.split("#")[0].replace("!degrees", "").rstrip()
        if not line:
            continue
        depth = len(line) - len(line.lstrip())
        key, value = (part.strip() for part in line.split(":", 1))
        while stack[-1][0] >= depth:
            stack.pop()
        stack[-1][1][key] = value or {}
        if not value:
            stack.append((depth, stack[-1][1][key]))
    return tree


@pytest.mark.parametrize("name, moving_mass", [("ur5e", 17.7), ("ur10e", 29.104)])
def test_ur_arms_are_the_makers_files(name, moving_mass):
    if not (SHARED / name).is_dir():
        pytest.skip(f"{SHARED / name} is not here")
    kinematics = settings(SHARED / name / "default_kinematics.yaml")["kinematics"]
    physical = settings(SHARED / name / "physical_parameters.yaml")["inertia_parameters"]
    limits = settings(SHARED / name / "joint_limits.yaml")["joint_limits"]
    model = catalogue.load(name)
    assert model.mass.sum() == pytest.approx(moving_mass)
    assert model.joint_names == tuple(limits)
    for i, link in enumerate(name.removesuffix("_link") for name in model.link_names):
        limit = {key: float(v) for key, v in limits[model.joint_names[i]].items() if key[:3] in ("max", "min")}
        assert model.mass[i] == float(physical[f"{link}_mass"])
        np.testing.assert_allclose(model.lower[i], math.radians(limit["min_position"]))
        np.testing.assert_allclose(model.upper[i], math.radians(limit["max_position"]))
        np.testing.assert_allclose(model.velocity[i], math.radians(limit["max_velocity"]))
        assert model.effort[i] == limit["max_effort"]
    for q in configurations(model):
        T, z, o, bodies = np.eye(4), [], [], []
        for qi, link in zip(q, (n.removesuffix("_link") for n in model.link_names), strict=True):
            place = {key: float(v) for key, v in kinematics[link].items()}
            tilt = {key: float(v) for key, v in physical["rotation"][link].items()}
            com = {key: float(v) for key, v in physical["center_of_mass"][f"{link}_cog"].items()}
            t = {key: float(v) for key, v in physical["tensor"][link].items()}
            T = T @ pose(turned(**place), [place[k] for k in "xyz"]) @ pose(rpy(0, 0, qi), [0, 0, 0])
            R = T[:3, :3] @ turned(**tilt)
            z.append(T[:3, 2])
            o.append(T[:3, 3])
            tensor = np.array([[t["i" + "".join(sorted(row + col))] for col in "xyz"] for row in "xyz"])
            centre = T[:3, :3] @ [com[k] for k in "xyz"] + T[:3, 3]
            bodies.append((float(physical[f"{link}_mass"]), centre, R @ tensor @ R.T))
        M, g = mass_and_gravity(model.kinds, z, o, bodies, np.zeros(6))
        tool, mine, weight = of_model(model, q)
        # 1e-9: the source's right angles are 2e-10 off and the arm is a metre long; g scales it by 290 N
        np.testing.assert_allclose(tool, T, atol=1e-9)
        np.testing.assert_allclose(mine, M, atol=1e-8)
        np.testing.assert_allclose(weight, g, atol=1e-7)


def turned(roll: float, pitch: float, yaw: float, **_: float) -> np.ndarray:
    """Rz(yaw) Ry(pitch) Rx(roll) with nothing snapped."""
    (cr, cp, cy), (sr, sp, sy) = np.cos([roll, pitch, yaw]), np.sin([roll, pitch, yaw])
    Rx = np.array([[1, 0, 0], [0, cr, -sr], [0, sr, cr]])
    Ry = np.array([[cp, 0, sp], [0, 1, 0], [-sp, 0, cp]])
    return np.array([[cy, -sy, 0], [sy, cy, 0], [0, 0, 1]]) @ Ry @ Rx


# A file of one's own.

GOOD = """
name = "mine"
convention = "frames"
gravity = [0, 0, -1.62]
ready_deg = [10, 20]
tool.xyz = [0.1, 0.2, 0.3]
tool.rpy_deg = [0, 0, 30]
[[joint]]
name = "first"
kind = "revolute"
xyz = [0, 0.1, 0.2]
rpy = [0.1, 0.2, 0.3]
axis = [0, -1, 0]
lower_deg = -90
upper_deg = 90
coulomb = [0.1, 0.3]
link.name = "one"
link.mass = 2
link.com = [0.1, 0.2, 0.3]
link.inertia = [3, 4, 5, 0.1, 0.2, 0.3]
link.com_rpy_deg = [0, 90, 0]
[[joint]]
name = "second"
kind = "revolute"
xyz = [0.5, 0, 0]
axis = [1, 2, 2]
gear_ratio = 10
motor_inertia = 0.001
motor_viscous = 0.002
motor_coulomb = 0.003
link = { name = "two", mass = 1, com = [0.1, 0, 0.3], inertia = [1, 1, 1, 0, 0, 0.1] }
"""


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "mine.toml"
    path.write_text(text)
    return path


def test_axes_other_than_z_are_re_expressed(tmp_path):
    """Against the frames as written: T_i = T_(i-1) placement Rot(axis, q) by Rodrigues, links in those."""
    model = catalogue.from_toml(written(tmp_path, GOOD))
    table = tomllib.loads(GOOD)["joint"]
    q, T, z, o, bodies = (0.3, -0.7), np.eye(4), [], [], []
    for qi, row in zip(q, table, strict=True):
        axis = np.array(row["axis"]) / np.linalg.norm(row["axis"])
        K = np.cross(np.eye(3), axis)  # K v = axis x v
        spin = np.eye(3) + math.sin(qi) * K + (1 - math.cos(qi)) * K @ K
        T = T @ pose(turned(*row.get("rpy", [0, 0, 0])), row["xyz"])
        z.append(T[:3, :3] @ axis)
        o.append(T[:3, 3])
        T = T @ pose(spin, [0, 0, 0])
        link = row["link"]
        ixx, iyy, izz, ixy, iyz, ixz = link["inertia"]
        R = T[:3, :3] @ turned(*np.radians(link.get("com_rpy_deg", [0, 0, 0])))
        inertia = R @ np.array([[ixx, ixy, ixz], [ixy, iyy, iyz], [ixz, iyz, izz]]) @ R.T
        bodies.append((link["mass"], T[:3, :3] @ link["com"] + T[:3, 3], inertia))
    M, g = mass_and_gravity(model.kinds, z, o, bodies, [0, 0.1])
    tool, mine, weight = of_model(model, q)
    np.testing.assert_allclose(tool, T @ pose(turned(0, 0, math.radians(30)), [0.1, 0.2, 0.3]), atol=1e-14)
    np.testing.assert_allclose(mine, M, atol=1e-13)
    np.testing.assert_allclose(weight, g, atol=1e-13)


def test_parallel_oblique_axes_leave_an_exact_identity(tmp_path):
    """Z^T Z is off by 1e-16 as computed."""
    text = GOOD.replace("rpy = [0.1, 0.2, 0.3]\n", "").replace("axis = [0, -1, 0]", "axis = [1, 2, 2]")
    np.testing.assert_array_equal(catalogue.from_toml(written(tmp_path, text)).E[1], np.eye(3))


def test_the_rest_of_a_file_of_ones_own(tmp_path):
    model = catalogue.from_toml(str(written(tmp_path, GOOD)))
    np.testing.assert_allclose(model.ready, np.radians([10, 20]))
    np.testing.assert_allclose(model.gravity, [0, 0, -1.62])
    np.testing.assert_allclose(model.lower, [-math.pi / 2, -math.inf])
    np.testing.assert_allclose(model.coulomb, [0.2, 0.03])
    np.testing.assert_allclose(model.viscous, [0, 0.2])
    np.testing.assert_allclose(model.rotor_inertia, [0, 0.1])
    assert model.joint_names == ("first", "second")
    assert model.link_names == ("one", "two")


@pytest.mark.parametrize("key", ["gravity", "gravitation"])
def test_a_complaint_shows_the_beginning_of_what_came(tmp_path, key):
    text = GOOD.replace("gravity = [0, 0, -1.62]", f"{key} = {[0] * 100_000}")
    with pytest.raises(ModelError, match=f"{key}: .*got \\[0, 0, ") as caught:
        catalogue.from_toml(written(tmp_path, text))
    assert len(str(caught.value)) < 900


def test_left_out_ready_and_gravity_have_defaults(tmp_path):
    text = GOOD.replace("ready_deg = [10, 20]\n", "").replace("gravity = [0, 0, -1.62]\n", "")
    model = catalogue.from_toml(written(tmp_path, text))
    np.testing.assert_array_equal(model.ready, [0, 0])
    np.testing.assert_array_equal(model.gravity, [0, 0, -9.81])


@pytest.mark.parametrize(
    "old, new, message",
    [
        ('name = "mine"\n', "name = \n", "expected TOML; Invalid value"),
        ('name = "mine"\n', "", "name: expected a string; it is missing"),
        ('"frames"', '"urdf"', 'convention: expected "dh" or "mdh" or "frames"; got \'urdf\''),
        ('convention = "frames"\n', "", 'convention: expected "dh" or "mdh" or "frames"; it is missing'),
        ("gravity = [0, 0, -1.62]", "gravity = -1.62", "gravity: expected 3 finite numbers; got -1.62"),
        ("gravity", "gravitation", "gravitation: unknown key; expected gravity; got [0, 0, -1.62]"),
        ("tool.xyz", "tool.xy", "tool.xy: unknown key; expected xyz; got [0.1, 0.2, 0.3]"),
        ("[10, 20]", "[10]", "ready_deg: expected 2 finite numbers; got [10]"),
        ("[10, 20]", "[100, 20]", "ready[0]: expected a value from -1.5708 to 1.5708; got 1.74533"),
        (
            "ready_deg",
            "ready = [0, 0]\nready_deg",
            "ready: expected no such key beside ready_deg, which says the same; got [0, 0]",
        ),
        ('"revolute"', '"hinge"', 'joint[0].kind: expected "revolute" or "prismatic"; got \'hinge\''),
        ('kind = "revolute"\nxyz = [0.5', "xyz = [0.5", "joint[1].kind: expected"),
        ('"revolute"', '"prismatic"', "joint[0].lower_deg: unknown key; expected lower; got -90"),
        ('"revolute"\nxyz = [0.5', '"prismatic"\nxyz = [0.5', "ready_deg: unknown key; expected ready"),
        ("axis = [1, 2, 2]", "axis = [0, 0, 0]", "joint[1].axis: expected a direction; got [0, 0, 0]"),
        ("xyz = [0.5, 0, 0]", "d = 0.5", "joint[1].d: unknown key; expected"),
        ("coulomb = [0.1, 0.3]", "coulomb = [1]", "joint[0].coulomb: expected 2 finite numbers; got [1]"),
        ("lower_deg = -90", "lower_deg = nan", "joint[0].lower_deg: expected a finite number; got nan"),
        (
            "lower_deg = -90",
            f"lower_deg = 1{'0' * 400}",
            "joint[0].lower_deg: expected a finite number; got 10",
        ),
        ("lower_deg = -90", "lower_deg = true", "joint[0].lower_deg: expected a finite number; got True"),
        (
            "gear_ratio = 10\n",
            "",
            "gear_ratio: expected a ratio other than 0 exactly where motor_ keys need one; it is missing",
        ),
        ("coulomb = [0.1", "gear_ratio = 3\ncoulomb = [0.1", "motor_ keys need one; got 3"),
        ("gear_ratio = 10", "gear_ratio = 0", "motor_ keys need one; got 0"),
        (
            "gear_ratio = 10\n",
            "gear_ratio = 10\nrotor_inertia = 1\n",
            "joint[1].rotor_inertia: expected no such key beside motor_inertia, which says the same; got 1",
        ),
        ("link.mass = 2\n", "", "joint[0].link.mass: expected a finite number; it is missing"),
        ("mass = 2", 'mass = "2"', "joint[0].link.mass: expected a finite number; got '2'"),
        ("mass = 2", "mas = 2", "joint[0].link.mass: expected a finite number; it is missing"),
        ("mass = 2", "mass = 2\nlink.radius = 1", "joint[0].link.radius: unknown key; expected"),
        ("[3, 4, 5, 0.1, 0.2, 0.3]", "[3, 4, 5]", "joint[0].link.inertia: expected 6 finite numbers; got"),
        ("link = { name", "body = { name", "joint[1].link: expected a table; it is missing"),
        ("mass = 2", "mass = -2", "mine: link 'one': mass must not be negative; got -2 kg"),
        ("upper_deg = 90", "upper_deg = -91", "ready[0]: expected a value from"),
        ('name = "second"', 'name = "first"', "joint_names: expected different names; got 'first' twice"),
        ('name = "two"', 'name = "one"', "link_names: expected different names; got 'one' twice"),
    ],
)
def test_bad_file(tmp_path, old, new, message):
    assert old in GOOD
    path = written(tmp_path, GOOD.replace(old, new, 1))
    with pytest.raises(ModelError) as caught:
        catalogue.from_toml(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert message in str(caught.value)


@pytest.mark.parametrize("joints", ["", "joint = []", "joint = 3", "joint = [1]"])
def test_a_file_without_joints(tmp_path, joints):
    with pytest.raises(ModelError, match=r"mine.toml: joint: expected"):
        catalogue.from_toml(written(tmp_path, f'name = "mine"\nconvention = "dh"\n{joints}'))


def test_bytes_that_are_no_text(tmp_path):
    (tmp_path / "mine.toml").write_bytes(b'name = "\xff"')
    with pytest.raises(ModelError, match=r"mine.toml: expected TOML in UTF-8"):
        catalogue.from_toml(tmp_path / "mine.toml")


@pytest.mark.parametrize("name, near", [("pnada", "panda"), ("UR5E", "ur5e"), ("puma", "puma560")])
def test_an_unknown_name_gets_near_ones_and_all(name, near):
    with pytest.raises(UnknownNameError) as caught:
        catalogue.load(name)
    assert re.match(rf"no robot {name!r} in the catalogue; did you mean [^?]*\b{near}\b[^?]*\?", str(caught.value))
    assert all(known in str(caught.value) for known in EXPECTED)


@pytest.mark.parametrize("name", ["", "../catalogue/panda", "zzz"])
def test_an_unknown_name_without_near_ones_gets_all(name):
    with pytest.raises(UnknownNameError, match="It has: iiwa14, iiwa7, panda"):
        catalogue.load(name)
