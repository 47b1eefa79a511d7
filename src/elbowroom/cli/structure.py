"""`elbowroom show NAME --structure`: which terms of an arm's equations of motion vanish identically."""

from __future__ import annotations

from rich.text import Text

from ..dynamics.structure import Entry, structure
from ..model import Model
from .terminal import console, heading, line, plain

MARK = {Entry.ZERO: "0", Entry.ROUNDING: "~", Entry.CONSTANT: "c", Entry.VARIES: "x"}
STYLE = {Entry.ZERO: "dim", Entry.ROUNDING: "yellow", Entry.CONSTANT: "cyan", Entry.VARIES: "bold"}
BESIDE = 4  # matrices beside each other


def show_structure(model: Model) -> None:
    """Print the pattern of D and h, and the lists of what vanishes."""
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
    for entry, what in ((Entry.ZERO, "Vanish identically"), (Entry.ROUNDING, "Zero to rounding, not proven")):
        inertia, velocity = found.vanishing(entry)
        heading(f"{what}: {len(inertia)} of D (i <= k), {len(velocity)} of h (k <= m)")
        for letter, indices in (("D", inertia), ("h", velocity)):
            if indices:
                names = (f"{letter}{_index(i, model.n)}" for i in indices)
                console().print(Text(" ".join(names)), soft_wrap=False)


def _index(joints: tuple[int, ...], n: int) -> str:
    return ("" if n < 10 else ",").join(map(str, joints))


def _beside(blocks: list[tuple[str, object]]) -> None:
    """Matrices of marks beside each other, each under its title."""
    out = console()
    matrices = [(title, matrix.tolist()) for title, matrix in blocks]  # type: ignore[attr-defined]  # arrays
    gap, width = "    ", 2 * len(matrices[0][1])
    if any(title for title, _ in matrices):
        out.print(Text("  " + gap.join(f"{title:<{width}}" for title, _ in matrices)), soft_wrap=True)
    for row in range(len(matrices[0][1])):
        cells = Text("  ")
        for k, (_, entries) in enumerate(matrices):
            cells.append(gap if k else "")
            for entry in entries[row]:
                cells.append(f"{MARK[Entry(entry)]} ", style=STYLE[Entry(entry)])
        out.print(cells, soft_wrap=True)
