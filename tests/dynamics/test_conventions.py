"""One robot in modified DH, in standard DH and as URDF text is one robot: the same torques to 1e-12."""

from __future__ import annotations

import math

import numpy as np
import pytest

import elbowroom as er
from elbowroom.model import from_dh, from_mdh, urdf
from elbowroom.model.rotations import pose, rx, rz
from referees import error, physical_tensor, states

SAME = 1e-12
"""Issue 2, section 2.  The three differ by how often a number was rotated on its way in: some 1e-16 each."""

# A six-joint arm with two slides, every DH parameter in use; the standard table is the given one.
KINDS = "RRPRPR"
A = np.array([0.3, 0.4, 0.0, -0.1, 0.2, 0.05])
ALPHA = np.array([math.pi / 2, 0.3, -math.pi / 2, math.pi / 2, -0.7, 0.4])
D = np.array([0.5, -0.1, 0.2, 0.3, 0.1, 0.15])
THETA = np.array([0.1, math.pi / 2, 0.2, -0.3, math.pi, 0.7])
DRIVE = {
    "viscous": np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6]),
    "coulomb": np.array([1.0, 0.5, 0.25, 0.2, 0.1, 0.0]),
    "lower": np.full(6, -2.0),
    "upper": np.full(6, 2.0),
    "velocity": np.full(6, 3.0),
    "effort": np.full(6, 100.0),
}
RNG = np.random.default_rng(6)
MASS = RNG.uniform(1, 5, 6)
COM = RNG.uniform(-0.2, 0.2, (6, 3))  # in the far (standard) frames
INERTIA = np.array([physical_tensor(RNG, m) for m in MASS])
TOOL = pose(rx(0.3) @ rz(-0.2), [0.02, 0.03, 0.1])  # in the last standard frame


def standard() -> er.Arm:
    return er.Arm(
        from_dh(
            a=A, alpha=ALPHA, d=D, theta=THETA, mass=MASS, com=COM, inertia=INERTIA, kinds=KINDS, tool=TOOL, **DRIVE
        )
    )


def far_frames() -> list[np.ndarray]:
    """Tx(a) Rx(alpha) of each row: the far frame in the near one."""
    return [pose(rx(alpha), [a, 0, 0]) for a, alpha in zip(A, ALPHA, strict=True)]


def modified() -> er.Arm:
    """The same arm by hand: row i takes a and alpha of standard row i-1, bodies move to the near frames."""
    far = far_frames()
    return er.Arm(
        from_mdh(
            a=[0, *A[:-1]],
            alpha=[0, *ALPHA[:-1]],
            d=D,
            theta=THETA,
            mass=MASS,
            com=[T[:3, :3] @ c + T[:3, 3] for T, c in zip(far, COM, strict=True)],
            inertia=[T[:3, :3] @ inertia @ T[:3, :3].T for T, inertia in zip(far, INERTIA, strict=True)],
            kinds=KINDS,
            tool=far[-1] @ TOOL,
            **DRIVE,
        )
    )


def roll_pitch_yaw(R: np.ndarray) -> np.ndarray:
    """The angles of Rz(yaw) Ry(pitch) Rx(roll), away from pitch = +-90 degrees."""
    return np.array([math.atan2(R[2, 1], R[2, 2]), math.asin(-R[2, 0]), math.atan2(R[1, 0], R[0, 0])])


def as_urdf() -> er.Arm:
    """Links in their *standard* frames: a moving joint about z, then a fixed joint to the far frame with the body."""

    def numbers(x):
        return " ".join(repr(float(v)) for v in x)

    def origin(T):
        return f'<origin xyz="{numbers(T[:3, 3])}" rpy="{numbers(roll_pitch_yaw(T[:3, :3]))}"/>'

    text = '<robot name="three_ways"><link name="base"/>'
    parent = "base"
    for i, far in enumerate(far_frames()):
        kind = "revolute" if KINDS[i] == "R" else "prismatic"
        xx, xy, xz, _, yy, yz, _, _, zz = map(float, INERTIA[i].ravel())
        text += f"""
        <link name="near{i}"/>
        <joint name="q{i}" type="{kind}">
          <parent link="{parent}"/><child link="near{i}"/>{origin(pose(rz(THETA[i]), [0, 0, D[i]]))}<axis xyz="0 0 1"/>
          <limit lower="-2" upper="2" velocity="3" effort="100"/>
          <dynamics damping="{DRIVE["viscous"][i]}" friction="{DRIVE["coulomb"][i]}"/>
        </joint>
        <link name="far{i}"><inertial>
          <origin xyz="{numbers(COM[i])}"/><mass value="{float(MASS[i])!r}"/>
          <inertia ixx="{xx!r}" iyy="{yy!r}" izz="{zz!r}" ixy="{xy!r}" iyz="{yz!r}" ixz="{xz!r}"/>
        </inertial></link>
        <joint name="f{i}" type="fixed"><parent link="near{i}"/><child link="far{i}"/>{origin(far)}</joint>
        """
        parent = f"far{i}"
    text += f"""<link name="tool"/>
        <joint name="t" type="fixed"><parent link="{parent}"/><child link="tool"/>{origin(TOOL)}</joint></robot>"""
    return er.Arm(urdf.parse(text))


@pytest.fixture(scope="module")
def three():
    return {"standard": standard(), "modified": modified(), "urdf": as_urdf()}


@pytest.mark.parametrize("other", ["modified", "urdf"])
def test_the_same_torques_accelerations_and_poses(three, other):
    first, second = three["standard"], three[other]
    assert first.model.kinds == second.model.kinds == KINDS
    s = states(first.model, 200)
    for wrench in (None, s.tool_wrench):
        a, b = (x.inverse_dynamics(s.q, s.qd, s.qdd, wrench) for x in (first, second))
        assert error(a, b) < SAME
        a, b = (x.forward_dynamics(s.q, s.qd, s.tau, wrench) for x in (first, second))
        assert error(a, b) < SAME
    for name in ("mass_matrix", "gravity_torque", "pose", "potential_energy"):
        assert error(getattr(first, name)(s.q), getattr(second, name)(s.q)) < SAME
    for name in ("coriolis_matrix", "kinetic_energy", "mass_matrix_rate"):
        assert error(getattr(first, name)(s.q, s.qd), getattr(second, name)(s.q, s.qd)) < SAME


def test_standard_dh_is_its_own_product_of_matrices(three):
    """T = prod Rz(theta) Tz(d) Tx(a) Rx(alpha) tool, written out here."""
    for q in states(three["standard"].model, 20).q:
        T = np.eye(4)
        for i, far in enumerate(far_frames()):
            turn, slide = (q[i], 0) if KINDS[i] == "R" else (0, q[i])
            T = T @ pose(rz(THETA[i] + turn), [0, 0, D[i] + slide]) @ far
        assert np.abs(three["standard"].pose(q) - T @ TOOL).max() < 1e-14  # six products of matrices of order one


def test_the_drive_came_through(three):
    for arm in three.values():
        for what, values in DRIVE.items():
            assert np.array_equal(getattr(arm.model, what), values), what


def test_limits_of_a_wrong_table():
    with pytest.raises(er.ModelError, match=r"column alpha must have 2 entries.*got shape \(1,\)"):
        from_mdh(a=[0, 0], alpha=[0], d=[0, 0], mass=[1, 1], com=np.zeros((2, 3)), inertia=np.zeros((2, 3, 3)))
    with pytest.raises(er.ModelError, match="column d must be finite"):
        from_mdh(a=[0], alpha=[0], d=[math.nan], mass=[1], com=np.zeros((1, 3)), inertia=np.zeros((1, 3, 3)))
    with pytest.raises(er.ModelError, match=r"kinds must have 1 letters.*'RR'"):
        from_mdh(a=[0], alpha=[0], d=[0], mass=[1], com=np.zeros((1, 3)), inertia=np.zeros((1, 3, 3)), kinds="RR")
    with pytest.raises(er.ModelError, match=r"com must have shape \(1, 3\).*got \(2, 3\)"):
        from_dh(a=[0], alpha=[0], d=[0], mass=[1], com=np.zeros((2, 3)), inertia=np.zeros((1, 3, 3)))


@pytest.mark.parametrize("quarter", range(-4, 5))
def test_right_angles_are_exact_zeros_and_ones(quarter):
    """A traced program drops products with an exact zero; cos(pi/2) = 6e-17 would cost operations."""
    m = from_mdh(
        a=[0], alpha=[quarter * math.pi / 2], d=[0.5], theta=[quarter * math.pi / 2], mass=[1],
        com=np.zeros((1, 3)), inertia=[np.eye(3)],
    )  # fmt: skip
    assert set(np.abs(m.E).ravel()) <= {0.0, 1.0}
    assert set(np.abs(m.p).ravel()) <= {0.0, 0.5}
