"""`elbowroom show` and `elbowroom robots`: everything that is known about one arm, and the catalogue.

`show NAME --structure` says which terms of an arm's equations of motion vanish identically.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from .terminal import Tip, What, console, heading, line, number, plain, table

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ..model import Model
    from ..model.model import Array

MARKS = {"ZERO": ("0", "dim"), "ROUNDING": ("~", "yellow"), "CONSTANT": ("c", "cyan"), "VARIES": ("x", "bold")}
"""How each kind of entry is printed (dynamics/structure.py): its letter and its style."""
BESIDE = 4  # matrices beside each other


def show_structure(model: Model) -> None:
    """Print the pattern of D and h, and the lists of what vanishes."""
    from ..dynamics.structure import EntryKind, structure

    found = structure(model)
    name = plain(model.name)
    name.stylize("bold")
    line(name, f"{model.n} joints ({model.kinds}): tau_i = sum D_ik qdd_k + sum h_ikm qd_k qd_m + gravity")
    line("0 vanishes identically, ~ zero to rounding at every pose tried, c constant, x varies with the pose")
    heading("D_ik, the inertia matrix (row i, column k)")
    _beside([("", found.inertia)])
    heading("h_ikm, the centrifugal and Coriolis coefficients: one matrix a joint i (row k, column m)")
    for first in range(0, model.n, BESIDE):
        if first:
            line("")
        block = range(first, min(first + BESIDE, model.n))
        _beside([(f"h_{i + 1}", found.velocity[i]) for i in block])
    for entry, what in ((EntryKind.ZERO, "Vanish identically"), (EntryKind.ROUNDING, "Zero to rounding, not proven")):
        inertia, velocity = found.vanishing(entry)
        heading(f"{what}: {len(inertia)} of D (i <= k), {len(velocity)} of h (k <= m)")
        for letter, indices in (("D", inertia), ("h", velocity)):
            if indices:
                names = (f"{letter}{_index(i, model.n)}" for i in indices)
                console().print(Text(" ".join(names)), soft_wrap=False)


def _index(joints: tuple[int, ...], n: int) -> str:
    return ("" if n < 10 else ",").join(map(str, joints))


def _beside(blocks: list[tuple[str, NDArray[np.int_]]]) -> None:
    """Matrices of marks beside each other, each under its title."""
    from ..dynamics.structure import EntryKind

    out = console()
    matrices = [(title, matrix.tolist()) for title, matrix in blocks]
    gap, width = "    ", 2 * len(matrices[0][1])
    if any(title for title, _ in matrices):
        out.print(Text("  " + gap.join(f"{title:<{width}}" for title, _ in matrices)), soft_wrap=True)
    for row in range(len(matrices[0][1])):
        cells = Text("  ")
        for k, (_, entries) in enumerate(matrices):
            cells.append(gap if k else "")
            for entry in entries[row]:
                mark, style = MARKS[EntryKind(entry).name]
                cells.append(f"{mark} ", style=style)
        out.print(cells, soft_wrap=True)


def robots() -> None:
    """List the arms that come with elbowroom.

    \b
    elbowroom robots
    """
    from ..model import catalogue

    models = [catalogue.load(name) for name in catalogue.names()]
    table(
        ["name", "joints", "description", "source of its numbers"],
        ([m.name, f"{m.n} {m.kinds}", m.description, m.source] for m in models),
        words=4,
    )
    line("\nR turns, P slides.  More about one: elbowroom show NAME")


COUNTED = (
    "mass_matrix",
    "mass_matrix_rate",
    "coriolis_matrix",
    "gravity_torque",
    "inverse_dynamics",
    "forward_dynamics",
    "pose",
    "jacobian",
)


def show(
    what: What,
    tip: Tip = None,
    structure: Annotated[bool, typer.Option("--structure", help="Which D_ik and h_ikm vanish identically.")] = False,
) -> None:
    """Show all about one arm, and operation counts.

    \b
    elbowroom show panda
    elbowroom show my.urdf --tip tool0
    elbowroom show puma560 --structure          which terms of its equations of motion vanish
    """
    from ..loading import load

    arm = load(what, tip)
    model = arm.model
    if structure:
        show_structure(model)
        return
    _summary(model)
    _joints(model, arm.ready)
    _links(model)
    _drives(model)
    _counts(model)


def _summary(model: Model) -> None:
    name = plain(model.name)
    name.stylize("bold")
    line(name)
    if model.description:
        line(plain(model.description))
    if model.source:
        line("Source:", plain(model.source))
    line(f"{model.n} joints ({model.kinds}, R turns, P slides); {number(model.mass.sum(), 5)} kg in motion")
    line(f"Tool at {_vector(model.tool[:3, 3])} m, rpy {_vector(_rpy(model.tool))} deg in the last joint's frame")
    line(f"Base at {_vector(model.base[:3, 3])} m, gravity {_vector(model.gravity)} m/s2 in the world")


def _vector(values: Iterable[float]) -> str:
    return f"({', '.join(map(number, values))})"


def _joints(model: Model, ready: Array) -> None:
    heading("Joints: limits and the `ready` configuration (rad, rad/s, N m; m, m/s, N of a slide; - is none)")
    rows = []
    for i in range(model.n):
        lower, upper = model.lower[i], model.upper[i]
        bounded = model.revolute(i) and math.isfinite(lower) and math.isfinite(upper)
        degrees = f"{math.degrees(lower):.0f} to {math.degrees(upper):.0f} deg" if bounded else ""
        kind = "revolute" if model.revolute(i) else "prismatic"
        values = (lower, upper, ready[i], model.velocity[i], model.effort[i])
        rows.append([model.joint_names[i], kind, *map(number, values), degrees])
    table(["joint", "kind", "lower", "upper", "ready", "speed", "effort", ""], rows, words=2)

    heading("Placement: each joint's frame in the one before, at q = 0; the joint moves about or along its z")
    table(
        ["joint", "x (m)", "y", "z", "roll (deg)", "pitch", "yaw"],
        (
            [model.joint_names[i], *map(number, model.p[i]), *(number(a, 6) for a in _rpy(model.E[i]))]
            for i in range(model.n)
        ),
    )


def _rpy(R: Array) -> tuple[float, float, float]:
    """Roll, pitch and yaw in degrees, R = Rz(yaw) Ry(pitch) Rx(roll); roll is 0 where only their sum matters."""
    level = math.hypot(R[0, 0], R[1, 0])
    pitch = math.atan2(-R[2, 0], level)
    if level > 1e-9:
        roll, yaw = math.atan2(R[2, 1], R[2, 2]), math.atan2(R[1, 0], R[0, 0])
    else:
        roll, yaw = 0.0, math.atan2(-R[0, 1], R[1, 1])
    return math.degrees(roll), math.degrees(pitch), math.degrees(yaw)


def _links(model: Model) -> None:
    heading("Links: mass and centre of mass, in the joint's frame (kg, m)")
    table(
        ["link", "mass", "x", "y", "z"],
        ([model.link_names[i], number(model.mass[i]), *map(number, model.com[i])] for i in range(model.n)),
    )
    heading("Inertia about the centre of mass, in the axes of the joint's frame (kg m2)")
    axes = ((0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (0, 2))
    table(
        ["link", "xx", "yy", "zz", "xy", "yz", "xz"],
        ([model.link_names[i], *(number(model.inertia[i][a, b]) for a, b in axes)] for i in range(model.n)),
    )


def _drives(model: Model) -> None:
    drive = (model.viscous, model.coulomb, model.rotor_inertia)
    if not any(column.any() for column in drive):
        line("\nNo friction and no rotor inertia are given.")
        return
    heading("Drives: friction and rotor inertia as the joint feels them (N m s/rad, N m, kg m2; N s/m, N, kg)")
    table(
        ["joint", "viscous", "Coulomb", "rotor inertia"],
        ([model.joint_names[i], *(number(column[i]) for column in drive)] for i in range(model.n)),
    )


def _counts(model: Model) -> None:
    from .. import dynamics

    heading("Operations for this very arm, its constants folded in (* what the library uses)")
    rows: list[list[object]] = []
    for name in COUNTED:
        what = dynamics.quantity(name)
        chosen, _ = dynamics.cheapest(model, name)
        for k, method in enumerate(what.formulations | what.variants):
            c = dynamics.program(model, name, method).count
            mark = " *" if method == chosen else ""
            rows.append(["" if k else name, method + mark, c.mul, c.add, c.div, c.sincos, c.mul + c.add + c.div])
    table(["quantity", "method", "mul", "add", "div", "sin, cos", "mul + add + div"], rows, words=2)
