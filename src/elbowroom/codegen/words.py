"""What a header says about quantities and their inputs, and text from files made safe for a comment."""

from __future__ import annotations

import re

INPUTS = {
    "q": "joint positions, rad (m of a slide)",
    "qd": "joint speeds, rad/s (m/s)",
    "qdd": "joint accelerations, rad/s^2 (m/s^2)",
    "tau": "joint torques, N m (N)",
    "nu": "quasi-velocities",
    "epsilon": "quasi-forces",
}
WRENCHES = {
    "tool": "force (N) and moment (N m) on the arm at the tool, world axes",
    "links": "a row a link: force (N) and moment (N m) on it at its frame's origin, world axes",
}

MEANING = {
    "mass_matrix": "M, symmetric positive definite, rotors included",
    "mass_matrix_inverse": "The inverse of M",
    "mass_matrix_rate": "dM/dt along qd",
    "coriolis_matrix": "C with C qd the Coriolis and centrifugal torque",
    "centrifugal_matrix": "The part of C that multiplies each speed with itself",
    "coriolis_transpose_qd": "C^T qd with the Christoffel C, the momentum observer's term",
    "christoffel": "Christoffel symbols of the first kind: Gamma[i][j][k] qd_j qd_k summed is the Coriolis torque",
    "gravity_torque": "The torque that holds the arm still",
    "coriolis_torque": "C qd",
    "bias_torque": "C qd + gravity torque",
    "inverse_dynamics": "The torque for an acceleration: M qdd + C qd + gravity + friction",
    "forward_dynamics": "The acceleration that a torque gives; undoes inverse_dynamics",
    "kinetic_energy": "qd^T M qd / 2",
    "potential_energy": "Its gradient is gravity_torque",
    "diagonal_inertia": "D: the inertia each joint feels with the joints beyond it free",
    "quasi_velocities": "Velocities in which the kinetic energy is a sum of squares",
    "joint_velocities": "qd from the quasi-velocities",
    "quasi_forces": "The torques as the quasi-velocities feel them; friction is not in it",
    "joint_torques": "tau from the quasi-forces",
    "quasi_coriolis": "The Coriolis and gravity term of the diagonalized equations",
    "quasi_acceleration": "The rate of the quasi-velocities that torques give; friction is not in it",
    "friction_torque": "viscous qd + Coulomb sign(qd)",
    "pose": "The tool in the world, a homogeneous matrix (m)",
    "poses": "The link frames in the world, a homogeneous matrix each (m)",
    "jacobian": "v = Jv qd, w = Jw qd: the tool's velocity (m/s) and angular velocity (rad/s), world axes",
    "jacobian_rate": "The time derivatives of Jv and Jw along qd",
    "injected_accelerations": "The tool's acceleration (m/s^2) by the frame that injects it, world axes",
}


def safe(text: object) -> str:
    """Text for a comment or a plain text file: printable ASCII on one line that ends no comment and no line.

    A backslash, which joins lines, a slash beside a star and doubled question marks (trigraphs) do not survive.
    """
    words = "".join(c if " " <= c <= "~" else " " if c.isspace() else "?" for c in str(text))
    words = re.sub(r"\?+", "?", words.replace("\\", "/"))
    return re.sub(r"(?<=\*)(?=/)|(?<=/)(?=[*/])", " ", " ".join(words.split()))


def dimensions(shape: tuple[int, ...]) -> str:
    """A shape in words."""
    return " x ".join(map(str, shape)) or "1"


def indexing(name: str, shape: tuple[int, ...]) -> str:
    """Where an element is, row-major."""
    if len(shape) < 2:
        return ""
    letters = "ijk"[: len(shape)]
    place = letters[0]
    for letter, size in zip(letters[1:], shape[1:], strict=True):
        place = f"{place} * {size} + {letter}" if len(place) == 1 else f"({place}) * {size} + {letter}"
    return f"row-major, element ({', '.join(letters)}) is {name}[{place}]"
